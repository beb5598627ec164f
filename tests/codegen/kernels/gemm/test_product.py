"""Matrix products against float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphc_codegen.kernels.gemm.plan import Way, choose
from graphc_codegen.kernels.microkernel import blocks, strips
from graphc_codegen.kernels.transposition import transpose_into
from graphc_codegen.program import Instr, NamedKernel, result_domain
from tests.codegen.kernel_harness import (
    Array,
    Guarded,
    compile_text,
    ir_text,
    kernel,
    random,
    run_all,
    run_kernel,
    run_twin,
)

SIZE = st.one_of(st.integers(1, 20), st.sampled_from([28, 31, 32, 33, 48, 65]))


def _params(m: int, n: int, k: int, ta: bool, tb: bool, accumulate: bool, batch: int) -> dict[str, object]:
    return {"m": m, "n": n, "k": k, "ta": ta, "tb": tb, "accumulate": accumulate, "batch": batch}


def _operands(seed: int, m: int, n: int, k: int, batch: int) -> tuple[Array, Array]:
    return random(seed, batch, m, k), random(seed + 1, batch, k, n)


def _stored(x: Array, transposed: bool) -> Array:
    return np.ascontiguousarray(x.transpose(0, 2, 1) if transposed else x)


@settings(max_examples=60, deadline=None)
@given(
    m=SIZE,
    n=SIZE,
    k=SIZE,
    ta=st.booleans(),
    tb=st.booleans(),
    accumulate=st.booleans(),
    batch=st.integers(1, 3),
    dtype=st.sampled_from(["float32", "float64"]),
)
def test_product(m: int, n: int, k: int, ta: bool, tb: bool, accumulate: bool, batch: int, dtype: str) -> None:
    a, b = (x.astype(dtype) for x in _operands(m + n + k, m, n, k, batch))
    before = random(9, batch, m, n).astype(dtype)
    exact = a.astype(np.float64) @ b.astype(np.float64) + accumulate * before
    scale = np.abs(a).astype(np.float64) @ np.abs(b) + 1
    params = _params(m, n, k, ta, tb, accumulate, batch) | ({"dtype": dtype} if dtype == "float64" else {})
    for where, (c,) in run_all("gemm", params, _stored(a, ta), _stored(b, tb), before=[before]).items():
        error = np.abs(c.reshape(exact.shape) - exact)
        assert (error <= (1e-14 if dtype == "float64" else 1e-6) * scale).all(), where


@pytest.mark.parametrize(("ta", "tb"), [(False, False), (False, True), (True, False)])
def test_larger_product(ta: bool, tb: bool) -> None:
    m, n, k = 64, 131, 400
    a, b = _operands(0, m, n, k, 1)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    for where, (c,) in run_all("gemm", _params(m, n, k, ta, tb, False, 1), _stored(a, ta), _stored(b, tb)).items():
        assert np.abs(c.reshape(exact.shape) - exact).max() <= 1e-6 * k, where


#: m, n, k, ta, tb -> how 16 and 8 lanes do it
WAYS = {
    (5, 37, 70, False, False): (Way(), Way()),
    (300, 256, 43, False, False): (Way(), Way(packs=True)),
    (96, 75, 39, False, True): (Way(packs=True), Way(packs=True)),
    (66, 70, 512, False, True): (Way(dots=True), Way(packs=True)),
    (3, 10, 600, False, True): (Way(dots=True), Way(dots=True)),
    (40, 96, 530, False, True): (Way(dots=True), Way(packs=True)),
    (41, 6, 33, True, False): (Way(swaps=True), Way()),
    (22, 61, 33, True, False): (Way(), Way()),
    (99, 48, 51, True, True): (Way(packs=True), Way(packs=True)),
    (48, 9, 1050, True, True): (Way(swaps=True), Way(swaps=True)),
    # A large result: along its rows.
    (601, 450, 3, True, False): (Way(), Way()),
    (601, 450, 20, False, False): (Way(), Way()),
    (520, 1024, 2, False, False): (Way(), Way()),
    (601, 450, 3, False, True): (Way(packs=True), Way(packs=True)),
    (513, 517, 8, True, True): (Way(packs=True), Way(packs=True)),
    # A matrix from memory, and a few rows or one column.
    (3, 519, 520, False, False): (Way(sweeps=True), Way(sweeps=True)),
    (519, 1, 521, True, False): (Way(swaps=True, sweeps=True), Way(swaps=True, sweeps=True)),
}


@pytest.mark.parametrize(("accumulate", "block"), [(False, 0), (True, 0), (False, 3), (True, 32)])
@pytest.mark.parametrize("shape", WAYS, ids=str)
def test_every_way(shape: tuple[int, int, int, bool, bool], accumulate: bool, block: int) -> None:
    m, n, k, ta, tb = shape
    params = _params(m, n, k, ta, tb, accumulate, 1) | {"block": block}
    assert (choose(params, 16), choose(params, 8)) == WAYS[shape]
    a, b = _operands(m + n, m, n, k, 1)
    before = random(9, 1, m, n)
    exact = a.astype(np.float64) @ b.astype(np.float64) + accumulate * before
    scale = np.abs(a).astype(np.float64) @ np.abs(b) + 1
    for where, (c,) in run_all("gemm", params, _stored(a, ta), _stored(b, tb), before=[before]).items():
        assert (np.abs(c.reshape(exact.shape) - exact) <= 1e-6 * scale).all(), where


def _inside(axes: tuple[int, ...], rows: int, columns: int, spare: int, seed: int) -> tuple[Array, Array]:
    """A flat array, and a matrix per batch index in it: rows outside the batch axes, and `spare` columns around."""
    whole = random(seed, rows, *axes[::-1], columns + 2 * spare)
    order = (*range(len(axes), 0, -1), 0, len(axes) + 1)
    return whole.reshape(-1), whole.transpose(order)[..., spare : spare + columns]


def _view_of(flat: Array, view: Array) -> tuple[int, ...]:
    strides = [s // 4 for s in view.strides]
    assert strides.pop() == 1 or view.shape[-1] == 1
    offset = (view.ctypes.data - flat.ctypes.data) // 4
    return (flat.size, offset, strides.pop(), *strides)


@settings(max_examples=40, deadline=None)
@given(
    m=SIZE,
    n=SIZE,
    k=SIZE,
    ta=st.booleans(),
    tb=st.booleans(),
    accumulate=st.booleans(),
    axes=st.lists(st.integers(1, 3), max_size=3).map(tuple),
    spare=st.integers(0, 2),
    strided=st.sets(st.sampled_from("abc")),
)
def test_strided_operands(
    m: int,
    n: int,
    k: int,
    ta: bool,
    tb: bool,
    accumulate: bool,
    axes: tuple[int, ...],
    spare: int,
    strided: set[str],
) -> None:
    shapes = {"a": (k, m) if ta else (m, k), "b": (n, k) if tb else (k, n), "c": (m, n)}
    params: dict[str, Any] = {**_params(m, n, k, ta, tb, accumulate, int(np.prod(axes))), "axes": axes}
    flat, views = {}, {}
    for seed, (name, shape) in enumerate(shapes.items()):
        if name in strided:
            flat[name], views[name] = _inside(axes, *shape, spare, seed)
            params[name] = _view_of(flat[name], views[name])
        else:
            views[name] = random(seed, *axes, *shape)
            flat[name] = views[name].reshape(-1)
    a = (views["a"].swapaxes(-1, -2) if ta else views["a"]).astype(np.float64)
    b = (views["b"].swapaxes(-1, -2) if tb else views["b"]).astype(np.float64)
    start = flat["c"].copy()
    exact = a @ b + (views["c"] if accumulate else 0)
    views["c"][...] = np.nan
    touched = np.isnan(flat["c"])
    views["c"][...] = exact
    for where, (c,) in run_all("gemm", params, flat["a"], flat["b"], before=[start]).items():
        np.testing.assert_allclose(c, flat["c"], rtol=0, atol=1e-6 * (10 * k + 1), err_msg=where)
        assert (c[~touched] == start[~touched]).all(), where


@settings(max_examples=30, deadline=None)
@given(
    rows=st.integers(1, 37),
    columns=st.integers(1, 21),
    spare=st.integers(0, 3),
    add=st.booleans(),
    lanes=st.sampled_from([8, 16]),
)
def test_transposed(rows: int, columns: int, spare: int, add: bool, lanes: int) -> None:
    lead, wide = columns + spare, rows + spare
    source, target = random(1, rows, lead), Guarded(random(2, columns, wide).reshape(-1))
    want = target.array.reshape(columns, wide).copy()
    want[:, :rows] = source[:, :columns].T + (want[:, :rows] if add else 0)
    text = ir_text(lambda w, p: transpose_into(w, p[0], lead, rows, columns, p[1], wide, add=add), 2, lanes)
    compiled = compile_text(text, 2, lanes)
    compiled.call(source.ctypes.data, target.array.ctypes.data)
    target.check()
    assert (target.array.reshape(columns, wide) == want).all()


@pytest.mark.parametrize("ta", [False, True])
@pytest.mark.parametrize("tb", [False, True])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("m", [19, 80])
def test_non_finite_reaches_exactly_its_row(ta: bool, tb: bool, bad: float, m: int) -> None:
    a, b = _operands(3, m, 21, 18, 1)
    a[0, 7, 17] = bad
    for where, (c,) in run_all("gemm", _params(m, 21, 18, ta, tb, False, 1), _stored(a, ta), _stored(b, tb)).items():
        finite = np.isfinite(c.reshape(m, 21))
        assert not finite[7].any(), where
        assert np.delete(finite, 7, axis=0).all(), where


@given(total=st.integers(1, 1000), limit=st.integers(1, 40))
def test_blocks_cover_and_balance(total: int, limit: int) -> None:
    covered = [start + i * size for start, count, size in blocks(total, limit) for i in range(count)]
    sizes = [size for _, count, size in blocks(total, limit) for _ in range(count)]
    assert covered == [sum(sizes[:i]) for i in range(len(sizes))]
    assert sum(sizes) == total
    assert max(sizes) <= limit
    assert max(sizes) - min(sizes) <= 1


@given(total=st.integers(1, 1000), lanes=st.sampled_from([8, 16]), vectors=st.integers(1, 3))
def test_strips_cover(total: int, lanes: int, vectors: int) -> None:
    covered = 0
    for start, count, widths in strips(total, lanes, vectors):
        assert start == covered
        assert all(width == lanes for width in widths[:-1])
        covered += count * sum(widths)
    assert covered == total


#: result * row + column + full, its maximum with 0, and the sum: two values to store.
BODY = (
    Instr("input", (), "float32", 0),
    Instr("input", (), "float32", 1),
    Instr("mul", (0, 1)),
    Instr("input", (), "float32", 2),
    Instr("add", (2, 3)),
    Instr("input", (), "float32", 3),
    Instr("add", (4, 5)),
    Instr("const", (), "float32", 0.0),
    Instr("max", (6, 7)),
)


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("shape", [s for s in (*WAYS, (1, 1, 1, False, True)) if not (s[3] and s[4])], ids=str)
def test_epilogue(shape: tuple[int, int, int, bool, bool], batch: int) -> None:
    m, n, k, ta, tb = shape
    params = _params(m, n, k, ta, tb, False, batch)
    a, b = _operands(m + n, m, n, k, batch)
    row, column, full = random(7, m, 1), random(8, n), random(9, batch, m, n)
    total = (a.astype(np.float64) @ b.astype(np.float64)) * row + column + full
    scale = np.abs(a).astype(np.float64) @ np.abs(b) * np.abs(row) + np.abs(total) + 1
    fused = params | {"epilogue": BODY, "extras": ((0, 1, 0), (0, 0, 1), (m * n, n, 1)), "stores": (8, 6)}
    for where, found in run_all("gemm", fused, _stored(a, ta), _stored(b, tb), row, column, full).items():
        for got, want in zip(found, (np.maximum(total, 0), total), strict=True):
            assert (np.abs(got.reshape(want.shape) - want) <= 2e-6 * scale).all(), where


@settings(max_examples=25, deadline=None)
@given(m=SIZE, n=SIZE, k=SIZE, ta=st.booleans(), tb=st.booleans(), lanes=st.sampled_from([8, 16]))
def test_an_epilogue_writes_what_it_reads(m: int, n: int, k: int, ta: bool, tb: bool, lanes: int) -> None:
    params = _params(m, n, k, ta, tb and not ta, False, 1)
    a, b = _operands(m + n, m, n, k, 1)
    inputs = [_stored(a, ta), _stored(b, tb and not ta), random(7, m), random(8, n)]
    full = random(9, m, n)
    fused = params | {"epilogue": BODY, "extras": ((0, 1, 0), (0, 0, 1), (m * n, n, 1)), "stores": (6,)}
    (want,) = run_kernel("gemm", fused, *inputs, full, lanes=lanes)
    held, both = [Guarded(x.reshape(-1)) for x in inputs], Guarded(full.reshape(-1))
    kernel("gemm", fused, lanes).call(*(g.array.ctypes.data for g in (*held, both, both)))
    both.check()
    np.testing.assert_array_equal(both.array, want)


#: result + full, and that times two.
SUM = (Instr("input", (), "float32", 0), Instr("input", (), "float32", 1), Instr("add", (0, 1)), Instr("add", (2, 2)))


@settings(max_examples=40, deadline=None)
@given(
    m=SIZE,
    n=SIZE,
    k=SIZE,
    ta=st.booleans(),
    tb=st.booleans(),
    batch=st.integers(1, 3),
    bad=st.sampled_from([None, np.inf, -np.inf, np.nan, 3e38]),
    watched=st.integers(0, 1),
    data=st.data(),
)
def test_marks_say_whether_an_output_is_finite(
    m: int, n: int, k: int, ta: bool, tb: bool, batch: int, bad: float | None, watched: int, data: st.DataObject
) -> None:
    params = _params(m, n, k, ta, tb and not ta, False, batch)
    a, b = _operands(m + n, m, n, k, batch)
    full = random(9, batch, m, n)
    if bad is not None:
        at = tuple(data.draw(st.integers(0, size - 1)) for size in full.shape)
        full[at] = bad
    fused = params | {"epilogue": SUM, "extras": ((m * n, n, 1),), "stores": (2, 3)}
    inputs = [_stored(a, ta), _stored(b, tb and not ta), full]
    rows = 3 + watched
    plain = _everywhere(fused, inputs)
    for where, (*found, marks) in _everywhere(fused | {"marks": (rows, watched)}, inputs).items():
        for got, want in zip(found, plain[where], strict=True):
            np.testing.assert_array_equal(got, want, err_msg=where)
        assert np.isfinite(marks).all() == np.isfinite(found[watched]).all(), where
        assert (marks[np.isfinite(marks)] == 0).all()


def _everywhere(params: dict[str, Any], inputs: list[Array]) -> dict[str, list[Array]]:
    """`run_all` without its comparison of threads: each of them marks in a row of its own."""
    return {
        "16 lanes": run_kernel("gemm", params, *inputs, lanes=16),
        "8 lanes": run_kernel("gemm", params, *inputs, lanes=8),
        "threads": run_kernel("gemm", params, *inputs, divided=True),
        "twin": run_twin("gemm", params, *inputs),
    }


@settings(max_examples=40, deadline=None)
@given(m=SIZE, n=SIZE, k=SIZE, ta=st.booleans(), tb=st.booleans(), bad=st.booleans(), data=st.data())
@np.errstate(invalid="ignore")
def test_a_product_without_epilogue_marks_too(
    m: int, n: int, k: int, ta: bool, tb: bool, bad: bool, data: st.DataObject
) -> None:
    params = _params(m, n, k, ta, tb and not ta, False, 1) | {"marks": (3, 0)}
    a, b = _operands(m + n, m, n, k, 1)
    if bad:
        b[0, data.draw(st.integers(0, k - 1)), data.draw(st.integers(0, n - 1))] = np.inf
    exact = a.astype(np.float64) @ b
    scale = np.abs(a).astype(np.float64) @ np.abs(b) + 1
    for where, (got, marks) in _everywhere(params, [_stored(a, ta), _stored(b, tb and not ta)]).items():
        close = np.abs(got.reshape(exact.shape) - exact) <= 1e-6 * scale
        assert (close | ~np.isfinite(exact)).all(), where
        assert np.isfinite(marks).all() == np.isfinite(got).all() == (not bad), where


def test_which_products_take_an_epilogue() -> None:
    params = _params(2, 3, 4, False, False, False, 5)
    others = ({"accumulate": True}, {"ta": True, "tb": True}, {"axes": (5,), "c": (30, 0, 3, 6)})
    domains = [result_domain(NamedKernel("gemm", tuple((params | p).items()))) for p in ({}, *others)]
    assert domains == [(5, 2, 3), None, None, None]


#: m, n, k, ta, tb and how 16 and 8 lanes do it, for a that is square (m = k).
TRIANGLES = {
    (64, 32, 64, False, False): (Way(), Way()),
    (64, 32, 64, True, False): (Way(), Way()),
    (33, 70, 33, False, True): (Way(packs=True), Way(packs=True)),
    (130, 9, 130, True, False): (Way(swaps=True), Way(swaps=True)),
    (100, 40, 100, True, True): (Way(swaps=True), Way(packs=True)),
    (128, 2, 128, False, True): (Way(dots=True), Way(dots=True)),
    (300, 512, 300, False, False): (Way(), Way(packs=True)),
    (5, 3, 5, False, False): (Way(), Way()),
    (1, 1, 1, False, False): (Way(), Way()),
}


@pytest.mark.parametrize("accumulate", [False, True])
@pytest.mark.parametrize("shape", TRIANGLES, ids=str)
def test_triangle_of_zeros(shape: tuple[int, int, int, bool, bool], accumulate: bool) -> None:
    """Nothing is lost if what is above the diagonal is zero; far above it, nothing is read."""
    m, n, k, ta, tb = shape
    params = _params(m, n, k, ta, tb, accumulate, 2) | {"triangle": "a", "block": 5 * accumulate}
    assert (choose(params, 16), choose(params, 8)) == TRIANGLES[shape]
    a, b = np.tril(random(m, 2, m, m)), random(n, 2, k, n)
    before = random(9, 2, m, n)
    left = (a.transpose(0, 2, 1) if ta else a).astype(np.float64)
    exact = left @ b + accumulate * before
    for where, (c,) in run_all("gemm", params, a, _stored(b, tb), before=[before]).items():
        np.testing.assert_allclose(c.reshape(exact.shape), exact, rtol=0, atol=2e-6 * k, err_msg=where)


@pytest.mark.parametrize("ta", [False, True])
def test_far_above_the_diagonal_of_zeros_nothing_is_read(ta: bool) -> None:
    a, b = np.tril(random(1, 2, 128, 128)), random(2, 2, 128, 40)
    a[:, :64, 96:] = np.nan
    params = _params(128, 40, 128, ta, False, False, 2) | {"triangle": "a"}
    for where, (c,) in run_all("gemm", params, a, b).items():
        assert np.isfinite(c).all(), where


@pytest.mark.parametrize("epilogue", [False, True])
@pytest.mark.parametrize(
    ("m", "k", "ta", "tb"),
    [
        (64, 32, False, True),
        (64, 700, False, True),
        (70, 20, False, False),
        (100, 9, True, False),
        (3, 3, False, False),
        (1, 2, False, True),
    ],
)
def test_triangle_of_results(m: int, k: int, ta: bool, tb: bool, epilogue: bool) -> None:
    """On the diagonal and below it, a product has its results."""
    params: dict[str, object] = _params(m, m, k, ta, tb, False, 3) | {"triangle": "c"}
    if epilogue:
        twice = Instr("const", (), "float32", 2.0), Instr("mul", (0, 1), "float32")
        params |= {"epilogue": (Instr("input", (), "float32", 0), *twice), "extras": (), "stores": (2,)}
    a, b = _operands(m, m, m, k, 3)
    exact = np.tril((1 + epilogue) * (a.astype(np.float64) @ b))
    for where, (c,) in run_all("gemm", params, _stored(a, ta), _stored(b, tb)).items():
        got = np.where(np.tri(m, dtype=bool), c.reshape(exact.shape), np.float32(0))
        np.testing.assert_allclose(got, exact, rtol=0, atol=2e-6 * k, err_msg=where)


def test_far_above_the_diagonal_nothing_is_computed() -> None:
    a, b = _operands(1, 128, 128, 40, 1)
    (c,) = run_kernel("gemm", _params(128, 128, 40, False, False, False, 1) | {"triangle": "c"}, a, b)
    assert np.isnan(c.reshape(128, 128)[:64, 96:]).all()  # As it was before.
