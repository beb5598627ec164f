"""Which convolutions become Winograd's, and that whole programs with them are right."""

from __future__ import annotations

import pytest

from graphc.ir import Graph
from graphc.lower import Lowered, lower
from graphc.lower.convolution import choice
from graphc.lower.convolution.sizes import Sizes
from graphc.testing import calls, close_to_reference, graph_of, races
from graphc_codegen.program import NamedKernel

#: A residual block's convolutions and all their gradients, one of stride 2.
BLOCK = """graph @g {
  forward:
    %0 x: f32[2,16,32,32] = Input()
    %1 w: f32[16,16,3,3] = Input()
    %2 dy: f32[2,16,32,32] = Input()
    %3 dz: f32[2,16,16,16] = Input()
    %4: f32[2,16,32,32] = Conv2D(%0, %1) {pad=(1, 1, 1, 1)}
    %5: f32[2,16,32,32] = ReLU(%4)
    %6: f32[2,16,32,32] = Conv2D(%5, %1) {pad=(1, 1, 1, 1)}
    %7: f32[2,16,32,32] = Add(%6, %0)
    %8: f32[16,16,3,3] = Conv2DBackpropFilter(%2, %5) {pad=(1, 1, 1, 1), shape=(16, 16, 3, 3)}
    %9: f32[2,16,32,32] = Conv2DBackpropInput(%2, %1) {pad=(1, 1, 1, 1), shape=(2, 16, 32, 32)}
    %10: f32[2,16,32,32] = Conv2DBackpropInput(%3, %1) {pad=(0, 1, 0, 1), shape=(2, 16, 32, 32), stride=(2, 2)}
  return a=%7, b=%8, c=%9, d=%10
}"""

#: Along rows with a dilation, of an image of several rows, and along columns; all their gradients.
LINES = """graph @g {
  forward:
    %0 x: f32[2,64,1,127] = Input()
    %1 w: f32[64,64,1,3] = Input()
    %2 z: f32[2,48,20,16] = Input()
    %3 v: f32[48,48,3,1] = Input()
    %4: f32[2,64,1,128] = Conv2D(%0, %1) {pad=(0, 0, 4, 5), dilation=(2, 4)}
    %5: f32[2,64,1,128] = ReLU(%4)
    %6: f32[64,64,1,3] = Conv2DBackpropFilter(%5, %0) {pad=(0, 0, 4, 5), shape=(64, 64, 1, 3), dilation=(2, 4)}
    %7: f32[2,64,1,127] = Conv2DBackpropInput(%5, %1) {pad=(0, 0, 4, 5), shape=(2, 64, 1, 127), dilation=(2, 4)}
    %8: f32[2,48,20,16] = Conv2D(%2, %3) {pad=(1, 1, 0, 0)}
    %9: f32[2,48,20,16] = Add(%8, %2)
    %10: f32[48,48,3,1] = Conv2DBackpropFilter(%9, %2) {pad=(1, 1, 0, 0), shape=(48, 48, 3, 1)}
    %11: f32[2,48,20,16] = Conv2DBackpropInput(%9, %3) {pad=(1, 1, 0, 0), shape=(2, 48, 20, 16)}
    %12 u: f32[2,64,4,64] = Input()
    %13: f32[2,64,4,64] = Conv2D(%12, %1) {pad=(0, 0, 1, 1)}
  return a=%6, b=%7, c=%10, d=%11, e=%13
}"""

#: Along both axes, with all gradients; pads and sizes are no multiples of the dilations.
DILATED = """graph @g {
  forward:
    %0 x: f32[2,32,29,31] = Input()
    %1 w: f32[32,32,3,3] = Input()
    %2: f32[2,32,28,29] = Conv2D(%0, %1) {pad=(2, 1, 1, 3), dilation=(2, 3)}
    %3: f32[2,32,28,29] = ReLU(%2)
    %4: f32[32,32,3,3] = Conv2DBackpropFilter(%3, %0) {pad=(2, 1, 1, 3), shape=(32, 32, 3, 3), dilation=(2, 3)}
    %5: f32[2,32,29,31] = Conv2DBackpropInput(%3, %1) {pad=(2, 1, 1, 3), shape=(2, 32, 29, 31), dilation=(2, 3)}
    %6: f32[2,32,29,31] = Conv2D(%5, %1) {pad=(2, 2, 2, 2), dilation=(2, 2)}
  return a=%4, b=%6
}"""


def names(graph: Graph) -> list[str]:
    return [c.kernel.name for c in calls(lower(graph)) if isinstance(c.kernel, NamedKernel)]


def conv(x: str, w: str, y: str, attrs: str) -> Graph:
    return graph_of(
        f"graph @g {{\n  forward:\n    %0 x: f32[{x}] = Input()\n    %1 w: f32[{w}] = Input()\n"
        f"    %2: f32[{y}] = Conv2D(%0, %1) {{{attrs}}}\n  return y=%2\n}}"
    )


def agreeing(graph: Graph, threads: int) -> Lowered:
    """The graph lowered for so many threads, if it has no races and gives the interpreter's results."""
    lowered = lower(graph, canary=threads == 1, threads=threads)
    assert races(lowered.program) == []
    close_to_reference(graph, lowered)
    return lowered


@pytest.mark.parametrize("threads", [1, 3])
def test_programs_agree_with_the_interpreter(threads: int) -> None:
    graph = graph_of(BLOCK)
    # The phases of the strided one are three small convolutions and, of one pixel, a product.
    assert sorted(names(graph)) == ["conv2d"] * 3 + ["conv2d_filter_grad_winograd"] + ["conv2d_winograd"] * 3 + ["gemm"]
    assert agreeing(graph, threads).program.threads == threads


@pytest.mark.parametrize("threads", [1, 3])
def test_convolutions_along_one_axis_agree_with_the_interpreter(threads: int) -> None:
    graph = graph_of(LINES)
    made = sorted(names(graph))
    assert made == ["conv2d_filter_grad_line_winograd"] * 2 + ["conv2d_line_winograd"] * 5
    assert agreeing(graph, threads).program.threads == threads


@pytest.mark.parametrize("threads", [1, 3])
def test_convolutions_with_dilations_agree_with_the_interpreter(threads: int) -> None:
    graph = graph_of(DILATED)
    assert sorted(names(graph)) == ["conv2d_filter_grad_winograd"] + ["conv2d_winograd"] * 3
    agreeing(graph, threads)


@pytest.mark.parametrize(
    ("x", "w", "y", "attrs"),
    [
        ("2,2,32,32", "4,2,5,5", "2,4,32,32", "pad=(2, 2, 2, 2)"),
        ("2,16,32,32", "16,16,3,3", "2,16,16,16", "pad=(0, 1, 0, 1), stride=(2, 2)"),
        ("2,16,14,14", "16,16,3,3", "2,16,8,8", "pad=(1, 1, 1, 1), dilation=(4, 4)"),
        ("2,32,8,96", "32,32,1,3", "2,32,10,96", "pad=(1, 1, 1, 1)"),
        ("2,32,1,96", "32,32,1,3", "2,32,1,48", "pad=(0, 0, 1, 1), stride=(1, 2)"),
        ("2,3,1,96", "32,3,1,3", "2,32,1,96", "pad=(0, 0, 1, 1)"),
        ("2,4,32,32", "64,4,3,3", "2,64,32,32", "pad=(1, 1, 1, 1)"),
    ],
    ids=[
        "window",
        "stride",
        "dilation",
        "line and border",
        "line and stride",
        "line of few channels",
        "few channels",
    ],
)
def test_others_stay_direct(x: str, w: str, y: str, attrs: str) -> None:
    assert names(conv(x, w, y, attrs)) == ["conv2d"]


#: Of windows of several blocks of taps, with strides and paddings that differ by axis: the gradients after the forward pass.
BLOCKS = {
    "4 x 4 by phases": ("4,16,32,30", "48,16,4,4", "4,48,16,15", "pad=(1, 1, 1, 1), stride=(2, 2)"),
    "5 x 5": ("2,24,28,28", "32,24,5,5", "2,32,28,28", "pad=(2, 2, 2, 2)"),
    "7 x 6, one stride": ("3,16,20,41", "32,16,7,6", "3,32,22,20", "pad=(5, 3, 2, 1), stride=(1, 2)"),
    "2 x 2": ("3,32,17,29", "32,32,2,2", "3,32,16,28", "pad=(0, 0, 0, 0)"),
    "2 x 3": ("3,32,17,29", "32,32,2,3", "3,32,17,29", "pad=(1, 0, 1, 1)"),
    "rows between windows": ("4,16,54,32", "48,16,4,4", "4,48,17,16", "pad=(0, 0, 1, 1), stride=(3, 2)"),
}


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("shapes", BLOCKS.values(), ids=BLOCKS)
def test_other_windows_are_blocks_of_taps(shapes: tuple[str, str, str, str], threads: int) -> None:
    x, w, y, attrs = shapes
    graph = graph_of(f"""graph @g {{
  forward:
    %0 x: f32[{x}] = Input()
    %1 w: f32[{w}] = Input()
    %2: f32[{y}] = Conv2D(%0, %1) {{{attrs}}}
    %3: f32[{y}] = ReLU(%2)
    %4: f32[{w}] = Conv2DBackpropFilter(%3, %0) {{{attrs}, shape=({w.replace(",", ", ")})}}
    %5: f32[{x}] = Conv2DBackpropInput(%3, %1) {{{attrs}, shape=({x.replace(",", ", ")})}}
  return a=%4, b=%5
}}""")
    made = names(graph)
    assert made[:2] == ["conv2d_winograd", "conv2d_filter_grad_winograd"]
    assert "conv2d_winograd" in made[2:]
    agreeing(graph, threads)


#: Few pixels, some of them beside steps; all gradients.
FEW = """graph @g {
  forward:
    %0 x: f32[3,96,5,4] = Input()
    %1 w: f32[80,96,3,2] = Input()
    %2: f32[3,80,2,2] = Conv2D(%0, %1) {pad=(2, 0, 1, 0), stride=(3, 2), dilation=(1, 2)}
    %3: f32[3,80,2,2] = ReLU(%2)
    %4: f32[80,96,3,2] = Conv2DBackpropFilter(%3, %0) {pad=(2, 0, 1, 0), shape=(80, 96, 3, 2), stride=(3, 2), dilation=(1, 2)}
    %5: f32[3,96,5,4] = Conv2DBackpropInput(%3, %1) {pad=(2, 0, 1, 0), shape=(3, 96, 5, 4), stride=(3, 2), dilation=(1, 2)}
    %6 z: f32[8,96,2,2] = Input()
    %7: f32[8,80,2,1] = Conv2D(%6, %1) {pad=(1, 1, 1, 1), dilation=(1, 3)}
  return a=%4, b=%5, c=%7
}"""


@pytest.mark.parametrize("threads", [1, 3])
def test_convolutions_of_few_pixels_are_products(threads: int) -> None:
    graph = graph_of(FEW)
    assert names(graph) == ["gemm"] * 4
    agreeing(graph, threads)


#: Windows of one pixel, with what follows in the products, and their gradients.
PIXELS = """graph @g {
  forward:
    %0 x: f32[3,20,13,11] = Input()
    %1 w: f32[37,20,1,1] = Input()
    %2 b: f32[37] = Input()
    %3: f32[3,37,13,11] = Conv2D(%0, %1)
    %4: f32[1,37,1,1] = Reshape(%2) {shape=(1, 37, 1, 1)}
    %5: f32[3,37,13,11] = Add(%3, %4)
    %6: f32[3,37,13,11] = ReLU(%5)
    %7: f32[37,20,1,1] = Conv2DBackpropFilter(%6, %0) {shape=(37, 20, 1, 1)}
    %8: f32[3,20,13,11] = Conv2DBackpropInput(%6, %1) {shape=(3, 20, 13, 11)}
    %9 u: f32[1,20,13,11] = Input()
    %10: f32[1,37,13,11] = Conv2D(%9, %1)
  return a=%6, b=%7, c=%8, d=%10
}"""


@pytest.mark.parametrize("threads", [1, 3])
def test_convolutions_of_single_pixels_are_products(threads: int) -> None:
    graph = graph_of(PIXELS)
    kernels = [c.kernel for c in calls(lower(graph))]
    assert sorted(k.family for k in kernels) == ["conv2d_filter_grad", "gemm", "gemm", "gemm"]
    agreeing(graph, threads)


@pytest.mark.parametrize(("size", "columns"), [(56, 3 * 196), (64, 256)])
def test_windows_side_by_side_are_one_product_where_images_would_leave_vectors_empty(size: int, columns: int) -> None:
    out = size // 4
    graph = conv(f"3,8,{size},{size}", "64,8,4,4", f"3,64,{out},{out}", "stride=(4, 4)")
    (kernel,) = [c.kernel for c in calls(lower(graph)) if isinstance(c.kernel, NamedKernel)]
    assert (kernel.name, kernel["n"]) == ("gemm", columns)
    agreeing(graph, 1)


def test_gradients_of_few_pixels_stay_direct() -> None:
    one, four = (Sizes(n, 64, 64, 24, 24, 3, 3, 24, 24, 1, 1) for n in (1, 4))
    assert choice.kernel(one, transposed=False) == "conv2d_winograd"
    assert choice.gradient_kernel(one) == "conv2d_filter_grad"
    assert choice.gradient_kernel(four) == "conv2d_filter_grad_winograd"
    # Small planes count as well: four tiles each.
    few, many = (Sizes(n, 64, 64, 8, 8, 3, 3, 8, 8, 1, 1) for n in (15, 16))
    assert choice.gradient_kernel(few) == "conv2d_filter_grad"
    assert choice.gradient_kernel(many) == "conv2d_filter_grad_winograd"


@pytest.mark.parametrize("threads", [1, 5, 64])
def test_scratch_memory_has_room_for_each_thread(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRAPHC_NUM_THREADS", str(threads))
    kernels = [c.kernel for c in calls(lower(graph_of(BLOCK))) if isinstance(c.kernel, NamedKernel)]
    assert {k["parts"] for k in kernels if "winograd" in k.name} == {min(threads, 16)}
