"""Loops that follow a kernel are taken into it, and only where that changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

from graphc.ir import Graph
from graphc.lower import lower
from graphc.testing import agree_everywhere, calls, close_to_reference, graph_of
from graphc_codegen.program import NamedKernel

HEAD = """graph @g {
  forward:
    %0 x: f32[2,2,6,6] = Input()
    %1 w: f32[3,2,3,3] = Input()
    %2 r: f32[2,3,4,4] = Input()
    %3 b: f32[3] = Input()
    %4: f32[2,3,4,4] = Conv2D(%0, %1)
"""


def text(nodes: str, results: str) -> Graph:
    return graph_of(HEAD + "\n".join(f"    {line}" for line in nodes.splitlines()) + f"\n  return {results}\n}}")


def fused(graph: Graph) -> list[list[str]]:
    """The notes of every call of a convolution, per node."""
    lowered = lower(graph)
    return [c.note.split(", ") for c in calls(lowered) if isinstance(c.kernel, NamedKernel)]


CASES = {
    "activation": ("%5: f32[2,3,4,4] = ReLU(%4)", "y=%5", True),
    "bias and activation": (
        "%5: f32[2,3,4,4] = BiasAdd(%4, %3)\n%6: f32[2,3,4,4] = ReLU(%5)", "y=%6", True
    ),
    "the result itself is read too": ("%5: f32[2,3,4,4] = ReLU(%4)", "y=%5, z=%4", True),
    "two results": ("%5: f32[2,3,4,4] = Neg(%4)\n%6: f32[2,3,4,4] = ReLU(%5)", "y=%6, z=%5", True),
    "residual": ("%5: f32[2,3,4,4] = Add(%4, %2)\n%6: f32[2,3,4,4] = ReLU(%5)", "y=%6", True),
    "residual made after the convolution": (
        "%5: f32[2,3,4,4] = Square(%2)\n%6: f32[2,3] = ReduceSum(%5) {axis=(2, 3)}\n"
        "%7: f32[2,3,1,1] = Reshape(%6) {shape=(2, 3, 1, 1)}\n%8: f32[2,3,4,4] = Add(%4, %7)", "y=%8", True
    ),
    "a reshape between": (
        "%5: f32[2,48] = Reshape(%4) {shape=(2, 48)}\n%6: f32[2,48] = Neg(%5)", "y=%6", True
    ),
    "a transposition between": (
        "%5: f32[3,2,4,4] = Transpose(%4) {perm=(1, 0, 2, 3)}\n%6: f32[3,2,4,4] = Neg(%5)", "y=%6", False
    ),
    "a reduction": ("%5: f32[3] = ReduceSum(%4) {axis=(0, 2, 3)}", "y=%5", False),
    "into a part of something larger": (
        "%5: f32[2,6,4,4] = SliceGrad(%4) {begin=(0, 0, 0, 0), shape=(2, 6, 4, 4), step=(1, 1, 1, 1)}", "y=%5", False
    ),
    "read twice": ("%5: f32[2,3,4,4] = Mul(%4, %4)", "y=%5", True),
    "used before": (
        "%5: f32[2,3] = ReduceMax(%4) {axis=(2, 3)}\n%6: f32[2,3,4,4] = ReLU(%4)", "y=%6, z=%5", None
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", list(CASES))
def test_a_convolution_and_what_follows_it(name: str) -> None:
    nodes, results, joined = CASES[name]
    graph = text(nodes, results)
    agree_everywhere(graph)
    (notes,) = fused(graph)
    if joined is not None:
        assert (len(notes) > 1) == joined, notes


def test_the_unread_result_of_the_convolution_needs_no_memory() -> None:
    alone = lower(text("%5: f32[2,3,4,4] = ReLU(%4)", "y=%5"))
    both = lower(text("%5: f32[2,3,4,4] = ReLU(%4)", "y=%5, z=%4"))
    assert both.memory["arena"] - alone.memory["arena"] == 4 * 2 * 3 * 4 * 4


def test_bias_and_activation_of_lenet_cost_no_pass_of_their_own() -> None:
    import graphc
    from graphc import Tensor, nn
    from graphc.examples.lenet import LeNet5

    graphc.set_seed(0)
    net = LeNet5()
    loss = nn.WithLossCell(net, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"))
    train = nn.TrainOneStepCell(loss, nn.Momentum(net.trainable_params(), 0.1, 0.9))
    train.set_train()
    x = Tensor(np.zeros((4, 1, 32, 32), np.float32))
    step = graphc.compile(train, x, Tensor(np.zeros(4, np.int32)))
    notes = [c.note for c in calls(step._lowered)]
    assert sum("Conv2D, " in n and "BiasAdd" in n for n in notes) == 2
    assert sum("MaxPool, " in n and "ReLU" in n for n in notes) == 2
    assert not any("ReLU" in n and "MaxPool" not in n and "BiasAdd" not in n for n in notes)


def test_the_gradient_of_max_pooling_takes_the_activation_s() -> None:
    graph = graph_of("""graph @g {
  forward:
    %0 x: f32[2,3,4,4] = Input()
    %1 dy: f32[2,3,2,2] = Input()
    %2: f32[2,3,4,4] = MaxPoolGrad(%0, %1) {kernel=(2, 2), stride=(2, 2)}
    %3: f32[2,3,4,4] = ReluGrad(%2, %0)
  return y=%3
}""")
    agree_everywhere(graph)
    assert fused(graph) == [["%2 MaxPoolGrad", "%3 ReluGrad"]]


def test_the_gradient_of_softmax_takes_the_scale_of_its_input() -> None:
    graph = graph_of("""graph @g {
  forward:
    %0 x: f32[2,3,5] = Input()
    %1 dy: f32[2,3,5] = Input()
    %2: f32[2,3,5] = Softmax(%0)
    %3: f32[2,3,5] = SoftmaxGrad(%2, %1)
    %4: f32[] = Fill() {dtype="float32", shape=(), value=0.5}
    %5: f32[2,3,5] = Mul(%3, %4)
  return dx=%5
}""")
    close_to_reference(graph, lower(graph))
    assert [len(notes) for notes in fused(graph)] == [1, 2]


def test_a_winograd_convolution_takes_it_too() -> None:
    graph = graph_of("""graph @g {
  forward:
    %0 x: f32[4,32,16,16] = Input()
    %1 w: f32[32,32,3,3] = Input()
    %2 b: f32[32] = Input()
    %3: f32[4,32,16,16] = Conv2D(%0, %1) {pad=(1, 1, 1, 1)}
    %4: f32[4,32,16,16] = BiasAdd(%3, %2)
    %5: f32[4,32,16,16] = ReLU(%4)
  return y=%5
}""")
    (call,) = [c for c in calls(lower(graph)) if isinstance(c.kernel, NamedKernel)]
    assert call.kernel.family == "conv2d_winograd"
    assert call.note.split(", ") == ["%3 Conv2D", "%4 BiasAdd", "%5 ReLU"]


PRODUCT = """graph @g {
  state:
    %0 w: f32[5,7] = Param()
    %1 v: f32[5,7] = Param()
  forward:
    %2 dy: f32[3,5] = Input()
    %3 x: f32[3,7] = Input()
    %4: f32[5,7] = MatMul(%2, %3) {transpose_a=True}
"""
UPDATE = """    %5: f32[5,7] = Add(%1, %4)
    %6: f32[5,7] = Sub(%0, %5)
"""


def product_notes(graph: Graph) -> list[list[str]]:
    agree_everywhere(graph)
    return [c.note.split(", ") for c in calls(lower(graph))]


def test_a_product_updates_parameters_in_place() -> None:
    graph = graph_of(PRODUCT + UPDATE + "  return g=%6\n  update %0 = %6  ; w\n  update %1 = %5  ; v\n}")
    assert product_notes(graph) == [["%4 MatMul", "%5 Add", "%6 Sub"]]


def test_not_before_their_old_values_have_been_read() -> None:
    read = "    %7: f32[3,7] = MatMul(%2, %0)\n    %8: f32[3,7] = Neg(%7)\n"
    after = UPDATE.replace("Sub(%0, %5)", "Sub(%0, %5) after(%7)")
    graph = graph_of(PRODUCT + read + after + "  return y=%8\n  update %0 = %6  ; w\n  update %1 = %5  ; v\n}")
    assert product_notes(graph) == [["%7 MatMul", "%8 Neg"], ["%4 MatMul", "%5 Add", "%6 Sub"]]


def test_a_loop_joins_the_product_where_that_stands() -> None:
    graph = graph_of("""graph @g {
  forward:
    %0 x: f32[9,9] = Input()
    %1 s: f32[] = Input()
    %2: f32[9,9] = MatMul(%0, %0)
    %3: f32[9,9] = MatMul(%0, %2)
    %4: f32[9,9] = MatMul(%3, %2)
    %5: f32[9,9] = Neg(%3)
    %6: f32[9,9] = Mul(%2, %1)
  return a=%4, b=%5, c=%6
}""")
    notes = product_notes(graph)
    assert notes == [["%2 MatMul", "%6 Mul"], ["%3 MatMul", "%5 Neg"], ["%4 MatMul"]]
