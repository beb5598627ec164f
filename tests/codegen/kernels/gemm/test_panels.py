"""Products that copy what they multiply, part by part, against float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from graphc.lower.packing import panels as chosen
from graphc_codegen.errors import CodegenError
from graphc_codegen.kernels.gemm import panels as panels_module
from graphc_codegen.kernels.gemm.panels import tile_rows
from graphc_codegen.kernels.gemm.product import GEMM
from graphc_codegen.program import Instr
from tests.codegen.kernel_harness import AFFINE_RELU, Array, ir_text, random, run_kernel, run_twin
from tests.codegen.threaded import THREADS, same

SIZE = st.one_of(st.integers(1, 20), st.sampled_from([31, 32, 33, 48, 65, 97]))
#: Terms, rows and columns of a part, and rows of A at a time: of one tile, of some, and more than there is of anything.
PARTS = [(4, 3, 32, 3), (7, 15, 32, 6), (16, 40, 64, 13), (16, 28, 64, 28), (24, 40, 96, 40), (128, 128, 128, 128)]


def _params(
    m: int, n: int, k: int, ta: bool, tb: bool, panels: tuple[int, int, int, int], **more: Any
) -> dict[str, Any]:
    depth, rows, columns, _ = panels
    # Whatever the tiles are: room for whole ones of every machine.
    each = 2 * (rows + 16 + columns + 32) * (depth + 8) + 3 * (rows + 32) * (columns + 64) + 4096
    sizes = {"m": m, "n": n, "k": k, "ta": ta, "tb": tb, "accumulate": False, "batch": 1}
    return {**sizes, "panels": panels, "scratch": 64 * -(-each // 64) * THREADS, **more}


def _run(params: dict[str, Any], *inputs: Array, before: Array | None = None) -> dict[str, list[Array]]:
    """The outputs, but for the memory, of the kernel with vectors of each width and with threads, and of its twin."""
    dtype = params.get("dtype", "float32")
    given = [] if before is None else [np.zeros(params["scratch"], dtype), before]
    found = {f"{n} lanes": run_kernel("gemm", params, *inputs, lanes=n, before=given)[1:] for n in (16, 8, 4)}
    if before is None:
        found["threads"] = run_kernel("gemm", params, *inputs, divided=True)[1:]
        # Each thread has marks of its own.
        stored = len(params.get("stores", (0,)))
        for got, want in zip(found["threads"][:stored], found["16 lanes"][:stored], strict=True):
            same(got, want)
    return {**found, "twin": run_twin("gemm", params, *inputs, before=given)[1:]}


def _operands(params: dict[str, Any], dtype: str = "float32") -> tuple[Array, Array, Array, Array]:
    """Both factors as they lie in memory, their product and that of what they are without signs, in float64."""
    batch, m, n, k = (params[name] for name in ("batch", "m", "n", "k"))
    a, b = random(m + n, batch, m, k).astype(dtype), random(k + 1, batch, k, n).astype(dtype)
    exact, scale = a.astype(np.float64) @ b.astype(np.float64), np.abs(a).astype(np.float64) @ np.abs(b) + 1
    left, right = a.swapaxes(1, 2) if params["ta"] else a, b.swapaxes(1, 2) if params["tb"] else b
    return np.ascontiguousarray(left), np.ascontiguousarray(right), exact, scale


@settings(max_examples=15, deadline=None, phases=(Phase.generate,))
@given(
    m=SIZE,
    n=SIZE,
    k=SIZE,
    ta=st.booleans(),
    tb=st.booleans(),
    panels=st.sampled_from(PARTS),
    dtype=st.sampled_from(["float32", "float64"]),
    accumulate=st.booleans(),
    batch=st.integers(1, 3),
    block=st.sampled_from([0, 3, 8]),
)
def test_product(
    m: int, n: int, k: int, ta: bool, tb: bool, panels: Any, dtype: str, accumulate: bool, batch: int, block: int
) -> None:
    more = {"dtype": dtype} if dtype == "float64" else {"block": block} if block else {}
    params = _params(m, n, k, ta, tb, panels, accumulate=accumulate, batch=batch, **more)
    a, b, exact, scale = _operands(params, dtype)
    before = random(9, batch, m, n).astype(dtype)
    exact = exact + accumulate * before
    for where, (c,) in _run(params, a, b, before=before if accumulate else None).items():
        error = np.abs(c.reshape(exact.shape) - exact)
        assert (error <= (1e-14 if dtype == "float64" else 1e-6) * scale).all(), where


@settings(max_examples=15, deadline=None, phases=(Phase.generate,))
@given(
    m=SIZE,
    n=SIZE,
    k=SIZE,
    tb=st.booleans(),
    panels=st.sampled_from(PARTS),
    dtype=st.sampled_from(["float32", "float64"]),
    block=st.sampled_from([0, 3]),
)
def test_a_factor_that_is_packed_before(m: int, n: int, k: int, tb: bool, panels: Any, dtype: str, block: int) -> None:
    """The same bits as those of a product that copies it itself."""
    more = {"dtype": dtype} if dtype == "float64" else {"block": block} if block else {}
    p = _params(m, n, k, False, tb, panels, **more)
    left, right, *_ = _operands(p, dtype)
    how = {"n": n, "k": k, "tb": tb, "part": panels[::2], **({"dtype": dtype} if dtype == "float64" else {})}
    for vectors in ({"lanes": 16}, {"lanes": 8}, {"lanes": 4}, {"divided": True}):
        (made,) = run_kernel("pack_panels", how, right, **vectors)
        got = run_kernel("gemm", p | {"packed": dtype}, left, made, **vectors)[1]
        np.testing.assert_array_equal(got, run_kernel("gemm", p, left, right, **vectors)[1])
    (plain,) = run_twin("pack_panels", how, right)
    same(run_twin("gemm", p | {"packed": dtype}, left, plain)[1], run_twin("gemm", p, left, right)[1])


@settings(max_examples=15, deadline=None, phases=(Phase.generate,))
@given(
    m=SIZE,
    n=SIZE,
    k=SIZE,
    ta=st.booleans(),
    tb=st.booleans(),
    panels=st.sampled_from(PARTS),
    dtype=st.sampled_from(["float32", "float64"]),
    block=st.sampled_from([0, 3]),
)
def test_rows_that_come_beside_the_turns(
    m: int, n: int, k: int, ta: bool, tb: bool, panels: Any, dtype: str, block: int
) -> None:
    """As of a first factor that is far away, of which each tile would ask for too many lines at once."""
    more = {"dtype": dtype} if dtype == "float64" else {"block": block} if block else {}
    params = _params(m, n, k, ta, tb, panels, **more)
    a, b, exact, scale = _operands(params, dtype)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(panels_module, "_FAR", 0)
        patch.setattr(panels_module, "_AT_ONCE", 0)
        found = _run(params, a, b)
    for where, (c,) in found.items():
        error = np.abs(c.reshape(exact.shape) - exact)
        assert (error <= (1e-14 if dtype == "float64" else 1e-6) * scale).all(), where


@pytest.mark.parametrize(("m", "n", "k", "ta"), [(1031, 97, 130, False), (130, 97, 1031, True), (2048, 32, 64, False)])
def test_a_first_factor_that_is_far_away(m: int, n: int, k: int, ta: bool) -> None:
    sizes, _ = chosen({"m": m, "n": n, "k": k}, 1)
    params = _params(m, n, k, ta, True, sizes)
    a, b, exact, scale = _operands(params)
    for where, (c,) in _run(params, a, b).items():
        assert (np.abs(c.reshape(exact.shape) - exact) <= 1e-6 * scale).all(), where


@pytest.mark.parametrize(("ta", "tb"), [(False, False), (True, False), (False, True), (True, True)])
def test_sizes_as_they_are_chosen(ta: bool, tb: bool) -> None:
    """With few rows and terms long vectors do without the panels. 30 rows at a time, and all of them."""
    for m, k, some, more in ((75, 701, 30, {"block": 128}), (75, 701, 75, {"block": 128}), (33, 339, 33, {})):
        params = _params(m, 530, k, ta, tb, (240, 75, 256, some), **more)
        a, b, exact, scale = _operands(params)
        for where, (c,) in _run(params, a, b).items():
            assert (np.abs(c.reshape(exact.shape) - exact) <= 4e-7 * scale).all(), where


@pytest.mark.parametrize("some", [30, 75])
def test_a_result_that_an_epilogue_adds_to(some: int) -> None:
    """A matrix that is not near, which is fetched beside the turns of a tile; a single part."""
    m, n = 75, 530
    body = (*AFFINE_RELU[:2], Instr("add", (0, 1)))
    params = _params(m, n, 200, False, True, (200, 75, 256, some), epilogue=body, extras=((0, n, 1),), stores=(2,))
    a, b, exact, scale = _operands(params)
    before = random(5, m, n)
    for where, (c,) in _run(params, a, b, before).items():
        assert (np.abs(c.reshape(exact.shape) - exact - before) <= 4e-7 * (scale + 1)).all(), where


@pytest.mark.parametrize("panels", [(16, 28, 64, 14), (64, 64, 96, 64)])
def test_epilogue_and_marks(panels: tuple[int, int, int, int]) -> None:
    """The larger of 0 and the result times a row, plus a column; and the result. Each element once, when all terms are in it."""
    m, n, k = 37, 75, 50
    more = {
        "epilogue": AFFINE_RELU,
        "extras": ((0, 1, 0), (0, 0, 1)),
        "stores": (6, 0),
        "marks": (THREADS, 1),
        "batch": 2,
    }
    params = _params(m, n, k, False, True, panels, **more)
    a, b, exact, scale = _operands(params)
    row, column = random(7, m), random(8, n)
    for bad in (False, True):
        if bad:
            a[1, 30, 49] = np.inf
        # The memory lies between the operands of the epilogue and what is stored.
        for where, (after, plain, marks) in _run(params, a, b, row, column).items():
            fine = plain.reshape(exact.shape)[0]
            assert (np.abs(fine - exact[0]) <= 1e-6 * scale[0]).all(), where
            want = np.maximum(exact[0] * row[:, None] + column, 0)
            assert np.abs(after.reshape(exact.shape)[0] - want).max() <= 1e-5 * scale.max(), where
            assert np.isnan(marks).any() == bad, where


def test_parts_of_larger_matrices() -> None:
    whole, m, n, k = random(1, 60, 70), 33, 41, 29
    params = _params(
        m, n, k, False, True, (8, 15, 32, 15), a=(4200, 72, 70), b=(4200, 5, 70), c=(4200, 143, 70), axes=()
    )
    a, b = whole[1 : 1 + m, 2 : 2 + k], whole[:n, 5 : 5 + k]
    before = random(3, 4200)
    want = before.copy()
    want.reshape(60, 70)[2 : 2 + m, 3 : 3 + n] = a.astype(np.float64) @ b.T
    for where, (c,) in _run(params | {"accumulate": False}, whole, whole, before=before).items():
        np.testing.assert_allclose(c, want, rtol=0, atol=1e-4, err_msg=where)


def test_too_little_memory_is_refused() -> None:
    params = _params(5, 6, 7, False, False, (7, 5, 32, 5)) | {"scratch": 64}
    with pytest.raises(CodegenError, match="64 elements has no room for the panels"):
        ir_text(lambda w, p: GEMM.emit(w, params, p), 4, 16)


@given(rows=st.integers(1, 2000), limit=st.sampled_from([6, 14]))
def test_rows_of_tiles(rows: int, limit: int) -> None:
    """Never much more is computed than there is."""
    tall = tile_rows(rows, limit)
    assert limit // 2 < tall <= limit
    assert rows < 2 * limit or -(-rows // tall) * tall <= 1.2 * rows
