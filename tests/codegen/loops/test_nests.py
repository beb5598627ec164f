"""Random loop kernels: native code, the NumPy twin and plain NumPy agree; nothing outside the operands
changes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphc_codegen import loops
from graphc_codegen.declarations import Declarations
from graphc_codegen.errors import CheckedError, CodegenError
from graphc_codegen.loops.emit import _OWN, _divided
from graphc_codegen.loops.nest import plan
from graphc_codegen.program import Access, Instr, LoopKernel, Output
from graphc_codegen.text import render
from graphc_codegen.writer import Writer
from tests.codegen.loop_harness import AVX2, HOST, as_the_twin, contiguous, expected, run

SIZES = st.sampled_from([1, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 50, 65, 130])
DTYPES = st.sampled_from(["float32", "float32", "float32", "int32", "int64", "bool"])
BLOCKS = st.sampled_from([0, 1, 2, 3, 7, 32])
SETTINGS = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))


@st.composite
def accesses(draw: st.DrawFn, domain: tuple[int, ...], dtype: str, zero: tuple[bool, ...] | None = None) -> Access:
    """A one-to-one access in any axis order and direction, with gaps; stride 0 where `zero` says (None:
    anywhere).
    """
    order = draw(st.permutations(range(len(domain))))
    strides = [0] * len(domain)
    step = draw(st.sampled_from([1, 1, 1, 2, 3]))
    offset = draw(st.sampled_from([0, 0, 1, 5]))
    size = offset + 1
    for axis in order:
        broadcast = draw(st.integers(0, 3)) == 0 if zero is None else zero[axis]
        if broadcast:
            continue
        reach = step * (domain[axis] - 1)
        backwards = draw(st.integers(0, 3)) == 0
        strides[axis] = -step if backwards else step
        offset += reach if backwards else 0
        size += reach
        step = step * domain[axis] + draw(st.sampled_from([0, 0, 0, 1, 4]))
    return Access(dtype, tuple(strides), offset, size + draw(st.sampled_from([0, 3])))


@st.composite
def bodies(draw: st.DrawFn, inputs: tuple[Access, ...], rank: int) -> tuple[Instr, ...]:
    body = [Instr("input", (), a.dtype, k) for k, a in enumerate(inputs)]
    if rank and draw(st.booleans()):
        body.append(
            Instr(
                "iota",
                (),
                draw(st.sampled_from(["float32", "int32", "int64"])),
                draw(st.integers(0, rank - 1)),
            )
        )
    if draw(st.booleans()) or not body:
        body.append(Instr("const", (), "float32", draw(st.sampled_from([-1.0, 0.5, 2.0]))))
    for _ in range(draw(st.integers(0, 5))):
        a = draw(st.integers(0, len(body) - 1))
        same = [k for k, i in enumerate(body) if i.dtype == body[a].dtype]
        b = draw(st.sampled_from(same))
        op = draw(st.sampled_from(["add", "max", "min", "lt", "cast", "select", "sub"]))
        tests = [k for k, i in enumerate(body) if i.dtype == "bool"]
        if op == "lt":
            body.append(Instr("lt", (a, b), "bool"))
        elif op == "cast":
            body.append(Instr("cast", (a,), draw(DTYPES)))
        elif op == "select" and tests:
            body.append(Instr("select", (draw(st.sampled_from(tests)), a, b), body[a].dtype))
        elif op != "select" and not (op == "sub" and body[a].dtype == "bool"):
            body.append(Instr(op, (a, b), body[a].dtype))
    return tuple(body)


@st.composite
def kernels(draw: st.DrawFn) -> LoopKernel:
    rank = draw(st.integers(0, 4))
    domain = tuple(draw(st.lists(SIZES, min_size=rank, max_size=rank)))
    while math.prod(domain) > 30_000:
        domain = tuple(max(1, n // 2) for n in domain)
    reduced = tuple(draw(st.booleans()) for _ in domain) if draw(st.booleans()) else (False,) * rank
    inputs = tuple(draw(accesses(domain, draw(DTYPES))) for _ in range(draw(st.integers(0, 3))))
    body = draw(bodies(inputs, rank))
    outputs = []
    for _ in range(draw(st.integers(1, 3))):
        value = draw(st.integers(0, len(body) - 1))
        dtype = body[value].dtype
        how = None
        if draw(st.booleans()):
            how = draw(st.sampled_from(["any", "all", "max", "min"] if dtype == "bool" else ["sum", "max", "min"]))
        zero = reduced if how else (False,) * rank
        rounds = how == "sum" and dtype == "float32"
        scale, block = 0.25 if rounds else 1.0, draw(BLOCKS) if rounds else 0
        outputs.append(Output(draw(accesses(domain, dtype, zero)), value, how, scale, block))
    return LoopKernel(domain, reduced, inputs, body, tuple(outputs))


def data(kernel: LoopKernel, seed: int = 0) -> list[np.ndarray[Any, Any]]:
    """Small whole numbers, so that every sum of the tests is exact."""
    rng = np.random.default_rng(seed)
    arrays: list[np.ndarray[Any, Any]] = []
    for access in kernel.accesses():
        values = rng.integers(-4, 5, access.size)
        arrays.append((values > 0) if access.dtype == "bool" else values.astype(access.dtype))
    return arrays


@SETTINGS
@given(st.lists(kernels(), min_size=4, max_size=4), st.booleans())
def test_native_code_agrees_with_the_twin(some: list[LoopKernel], wide: bool) -> None:
    as_the_twin([(k, data(k)) for k in some], HOST if wide else AVX2)


def index(access: Access, at: tuple[int, ...]) -> int:
    return access.offset + sum(i * s for i, s in zip(at, access.strides, strict=True))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_twin_agrees_with_a_loop_over_elements(draw: st.DataObject) -> None:
    domain = tuple(draw.draw(st.lists(st.integers(1, 4), max_size=3)))
    reduced = tuple(draw.draw(st.booleans()) for _ in domain)
    a, b = (draw.draw(accesses(domain, "float32")) for _ in range(2))
    kept = draw.draw(accesses(domain, "float32", (False,) * len(domain)))
    folded = draw.draw(accesses(domain, "float32", reduced))
    body = (Instr("input", (), "float32", 0), Instr("input", (), "float32", 1), Instr("sub", (0, 1)))
    kernel = LoopKernel(domain, reduced, (a, b), body, (Output(kept, 2), Output(folded, 2, "sum", 0.5)))
    arrays = data(kernel)
    got = expected(kernel, arrays)
    stored, total = arrays[2].copy(), arrays[3].copy()
    sums: dict[int, float] = {}
    for at in np.ndindex(*domain):
        value = arrays[0][index(a, at)] - arrays[1][index(b, at)]
        stored[index(kept, at)] = value
        sums[index(folded, at)] = sums.get(index(folded, at), 0.0) + value
    for where, value in sums.items():
        total[where] = value * 0.5
    np.testing.assert_array_equal(got[2], stored)
    np.testing.assert_array_equal(got[3], total)


@pytest.mark.parametrize("target", [HOST, AVX2], ids=["host", "avx2"])
@pytest.mark.parametrize("n", [1, 2, 15, 16, 17, 63, 64, 65, 100, 1000, 4097])
def test_reductions_of_a_row(n: int, target: Any) -> None:
    rng = np.random.default_rng(n)
    x = rng.normal(size=n).astype(np.float32)
    access, one = contiguous((n,)), Access("float32", (0,), 0, 1)
    body = (Instr("input", (), "float32", 0),)
    hows = ("sum", "max", "min", "prod")
    kernel = LoopKernel((n,), (True,), (access,), body, tuple(Output(one, 0, how) for how in hows))
    got = run(kernel, [x, *np.zeros((4, 1), np.float32)], target)[1:]
    exact = x.astype(np.float64)
    for value, want in zip(got, (exact.sum(), exact.max(), exact.min(), exact.prod()), strict=True):
        np.testing.assert_allclose(value[0], want, rtol=2e-6, atol=2e-6 * np.sqrt(n))


@pytest.mark.parametrize("shape", [(32, 10), (10, 1000), (64, 300), (3, 1), (1, 3), (257, 17), (5, 384)])
@pytest.mark.parametrize("axis", [0, 1])
def test_row_and_column_sums(shape: tuple[int, int], axis: int) -> None:
    x = np.random.default_rng(1).normal(size=shape).astype(np.float32)
    reduced = (axis == 0, axis == 1)
    out = Access("float32", (1, 0) if axis else (0, 1), 0, shape[1 - axis])
    kernel = LoopKernel(
        shape,
        reduced,
        (contiguous(shape),),
        (Instr("input", (), "float32", 0),),
        (Output(out, 0, "sum", 1 / shape[axis]),),
    )
    got = run(kernel, [x.ravel(), np.zeros(shape[1 - axis], np.float32)])[1]
    np.testing.assert_allclose(got, x.astype(np.float64).mean(axis), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("columns", [1, 127, 128, 300, 768])
@pytest.mark.parametrize("sums", [1, 2, 3])
def test_columns_summed_and_stored(columns: int, sums: int) -> None:
    x = np.random.default_rng(2).normal(size=(9, columns)).astype(np.float32)
    out = Access("float32", (0, 1), 0, columns)
    body = (Instr("input", (), "float32", 0), Instr("mul", (0, 0)), Instr("neg", (0,)))
    kernel = LoopKernel(
        x.shape,
        (True, False),
        (contiguous(x.shape),),
        body,
        (*(Output(out, k, "sum") for k in range(sums)), Output(contiguous(x.shape), 1)),
    )
    _, *found = run(kernel, [x.ravel(), *[np.zeros(columns, np.float32)] * sums, np.zeros(x.size, np.float32)])
    for got, want in zip(found, [*[x.sum(0), (x * x).sum(0), -x.sum(0)][:sums], (x * x).ravel()], strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("how", ["max", "min", "sum", "prod"])
@pytest.mark.parametrize("place", [0, 15, 16, 63, 99])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_reductions_pass_nan_and_inf_on(how: str, place: int, value: float) -> None:
    x = np.ones((3, 100), np.float32)
    x[1, place] = value
    one = Access("float32", (1, 0), 0, 3)
    kernel = LoopKernel(
        (3, 100),
        (False, True),
        (contiguous((3, 100)),),
        (Instr("input", (), "float32", 0),),
        (Output(one, 0, how),),
    )
    got = run(kernel, [x.ravel(), np.zeros(3, np.float32)])[1]
    function = {"max": np.max, "min": np.min, "sum": np.sum, "prod": np.prod}[how]
    np.testing.assert_array_equal(got, function(x, axis=1))


def test_an_output_in_place_of_an_input() -> None:
    shape = (7, 33)
    access = contiguous(shape)
    row = Access("float32", (0, 1), 0, 33)
    body = (Instr("input", (), "float32", 0), Instr("input", (), "float32", 1), Instr("sub", (0, 1)))
    for target in (HOST, AVX2):
        x, b = np.arange(231, dtype=np.float32), np.arange(33, dtype=np.float32)
        kernel = LoopKernel(shape, (False, False), (access, row), body, (Output(access, 2),))
        got = run(kernel, [x, b, x], target, shared={2: 0})
        np.testing.assert_array_equal(got[2], (x.reshape(shape) - b).ravel())
        flipped = Access("float32", (33, -1), 32, 231)
        kernel = LoopKernel(shape, (False, False), (flipped, row), body, (Output(flipped, 2),))
        got = run(kernel, [x, b, x], target, shared={2: 0})
        np.testing.assert_array_equal(got[2], (x.reshape(shape) - b[::-1]).ravel())


def test_a_reduced_output_in_place_of_an_input() -> None:
    total = Access("float32", (0, 1), 0, 40)
    body = (Instr("input", (), "float32", 0), Instr("input", (), "float32", 1), Instr("mul", (0, 1)))
    kernel = LoopKernel((9, 40), (True, False), (contiguous((9, 40)), total), body, (Output(total, 2, "sum"),))
    x, t = np.arange(360, dtype=np.float32), np.arange(40, dtype=np.float32)
    got = run(kernel, [x, t, t], shared={2: 1})
    np.testing.assert_array_equal(got[2], (x.reshape(9, 40) * t).sum(0))


def test_domains_without_elements() -> None:
    body = (Instr("input", (), "float32", 0),)
    empty = Access("float32", (0, 1), 0, 0)
    nothing = LoopKernel((0, 3), (False, False), (empty,), body, (Output(empty, 0),))
    run(nothing, [np.zeros(0, np.float32)] * 2)
    row = Access("float32", (0, 1), 0, 3)
    kernel = LoopKernel(
        (0, 3), (True, False), (empty,), body, (Output(row, 0, "sum", 2.0), Output(row, 0, "prod", 3.0))
    )
    arrays = [np.zeros(0, np.float32), np.ones(3, np.float32), np.ones(3, np.float32)]
    for got in (run(kernel, arrays), expected(kernel, arrays)):
        assert got[1].tolist() == [0, 0, 0]
        assert got[2].tolist() == [3, 3, 3]
    with pytest.raises(CodegenError, match="max over no elements"):
        run(LoopKernel((0, 3), (True, False), (empty,), body, (Output(row, 0, "max"),)), arrays[:2])


def test_a_single_element_domain() -> None:
    point = Access("float32", (), 2, 3)
    body = (Instr("input", (), "float32", 0), Instr("mul", (0, 0)))
    kernel = LoopKernel((), (), (point,), body, (Output(point, 1), Output(point, 0, "sum", 0.5)))
    got = run(kernel, [np.array([1, 2, 3], np.float32), np.zeros(3, np.float32), np.zeros(3, np.float32)])
    assert [g.tolist() for g in got[1:]] == [[0, 0, 9], [0, 0, 1.5]]


def test_adjacent_axes_become_one_loop() -> None:
    shape = (4, 5, 6, 7)
    kernel = LoopKernel(
        shape,
        (False,) * 4,
        (contiguous(shape),),
        (Instr("input", (), "float32", 0),),
        (Output(contiguous(shape), 0),),
    )
    own = render.render_kernels({"k": kernel}, HOST).partition("@k(")[2].partition("\n}")[0]
    assert own.count("phi i64") == 1


_GOOD = LoopKernel(
    (4, 6), (False, True), (contiguous((4, 6)),), (Instr("input", (), "float32", 0),),
    (Output(Access("float32", (1, 0), 0, 4), 0, "sum"),),
)  # fmt: skip


@pytest.mark.parametrize(
    ("kernel", "match"),
    [
        (LoopKernel((4, 6), (False,), _GOOD.inputs, _GOOD.body, _GOOD.outputs), "reduced"),
        (LoopKernel((5, 6), _GOOD.reduced, _GOOD.inputs, _GOOD.body, _GOOD.outputs), "touches"),
        (LoopKernel((4, 6), (True, False), _GOOD.inputs, _GOOD.body, _GOOD.outputs), "stride 0"),
        (
            LoopKernel((4, 6), _GOOD.reduced, _GOOD.inputs, _GOOD.body, (Output(_GOOD.outputs[0].access, 0, "any"),)),
            "any",
        ),
        (
            LoopKernel((4, 6), _GOOD.reduced, _GOOD.inputs, _GOOD.body, (Output(_GOOD.outputs[0].access, 1, "sum"),)),
            "names value",
        ),
        (LoopKernel((4, 6), _GOOD.reduced, (), _GOOD.body, _GOOD.outputs), "input"),
        (
            LoopKernel((4, 6), _GOOD.reduced, (Access("float32", (6, -1), 0, 24),), _GOOD.body, _GOOD.outputs),
            "touches",
        ),
        (
            LoopKernel((4, 6), _GOOD.reduced, (Access("float32", (6,), 0, 24),), _GOOD.body, _GOOD.outputs),
            "one stride",
        ),
    ],
)
def test_kernels_that_are_not_well_formed(kernel: LoopKernel, match: str) -> None:
    with pytest.raises(CodegenError, match=match):
        render.render_kernels({"k": kernel}, HOST)
    with pytest.raises(CodegenError, match=match):
        loops.twin(kernel, np.zeros(24, np.float32), np.zeros(4, np.float32))


def test_the_twin_refuses_arrays_of_another_size() -> None:
    with pytest.raises(CheckedError, match="declared float32"):
        loops.twin(_GOOD, np.zeros(25, np.float32), np.zeros(4, np.float32))
    with pytest.raises(CheckedError, match="2 operands"):
        loops.twin(_GOOD, np.zeros(24, np.float32))


@pytest.mark.parametrize("threads", [2, 4])
@pytest.mark.parametrize("lanes", [8, 16])
def test_threads_write_to_lines_of_their_own(threads: int, lanes: int) -> None:
    """Columns of a convolution: the images of 20 pixels each, which come first by how far they are apart, share lines."""
    domain = (96, 7, 7, 4, 20)
    pixels = Access("float32", (90, 10, 1, 9600, 20), 0, 4 * 9600)
    body = (Instr("input", (), "float32", 0),)
    kernel = LoopKernel(domain, (False,) * 5, (pixels,), body, (Output(contiguous(domain), 0),))
    made = plan(kernel, lanes)
    (line,) = made.outputs
    level = _divided(made, Writer(Declarations(), lanes, threads=threads))
    assert level is not None
    assert line.strides[level] * (made.sizes[level] // threads) >= _OWN
    assert made.sizes[0] == 4  # Which the outermost loop would not be.


@pytest.mark.parametrize("target", [HOST, AVX2], ids=["host", "avx2"])
@pytest.mark.parametrize("rows", [2, 3, 5])
def test_short_rows_that_are_turned_go_on_along_their_lines(rows: int, target: Any) -> None:
    """Axes reversed: lines of the result hold several of its short rows, which follow each other inside of the long axis."""
    domain = (64, 40, rows)
    body = (Instr("input", (), "float32", 0),)
    x = Access("float32", (1, 64, 2560), 0, rows * 2560)
    kernel = LoopKernel(domain, (False,) * 3, (x,), body, (Output(contiguous(domain), 0),))
    made = plan(kernel, 8)
    assert (made.sizes, made.vector) == (domain, 0)
    data = np.arange(rows * 2560, dtype=np.float32)
    _, got = run(kernel, [data, np.zeros_like(data)], target)
    np.testing.assert_array_equal(got, data.reshape(rows, 40, 64).transpose().ravel())


@pytest.mark.parametrize(("images", "row", "fetches"), [(64, 512, True), (4, 512, False), (1, 32768, False)])
def test_sums_of_runs_that_lie_apart_ask_for_the_next_one(images: int, row: int, fetches: bool) -> None:
    """A channel of all images, if they are more than the caches hold."""
    shape = (images, 4, row)
    source = Access("float32", (4 * row, row, 1), 0, math.prod(shape))
    made = Output(Access("float32", (0, 1, 0), 0, 4), 0, "sum", block=32)
    kernel = LoopKernel(shape, (True, False, True), (source,), (Instr("input", (), "float32", 0),), (made,))
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    got = run(kernel, [x.reshape(-1), np.zeros(4, np.float32)], HOST)[-1]
    np.testing.assert_allclose(got, x.sum((0, 2), dtype=np.float64), rtol=1e-5, atol=1e-3)
    w = Writer(Declarations(), 16)
    loops.emit(w, kernel, ["%p0", "%p1"])
    assert any("llvm.prefetch" in line for line in w.lines) == fetches
