"""Products by AMX' tiles against float64; on processors that have none these are emulated."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from graphc_codegen.errors import CodegenError
from graphc_codegen.kernels import emitter
from graphc_codegen.kernels.gemm.pieces import pieces_of, terms
from graphc_codegen.kernels.gemm.tiled import Sizes, memory
from graphc_codegen.program import NamedKernel
from graphc_codegen.scalars.halves import numpy_dtype
from graphc_codegen.target import host
from tests.codegen.emulated_tiles import tiles_here
from tests.codegen.kernel_harness import AFFINE_RELU, Array, ir_text, random, run_kernel, run_twin
from tests.codegen.threaded import THREADS, same

SIZE = st.one_of(st.integers(1, 20), st.sampled_from([31, 32, 33, 48, 64, 65, 97]))
#: Emulated products take longer.
EXAMPLES = 40 if host().tiles else 20
DTYPE = st.sampled_from(["float32", "float32", "float16", "bfloat16"])
#: Terms, rows and columns of a part: of one unit, of some, and more than there is of anything.
PARTS = [(32, 32, 32), (32, 64, 96), (64, 96, 32), (512, 128, 128)]


@pytest.fixture(autouse=True, scope="module")
def with_tiles() -> Iterator[None]:
    with tiles_here():
        yield


def _params(
    m: int, n: int, k: int, ta: bool, tb: bool, parts: tuple[int, int, int] = PARTS[-1],
    dtypes: tuple[str, str] = ("float32", "float32"), **more: Any,
) -> dict[str, Any]:  # fmt: skip
    """Factors lie in memory as `dtypes`; with `rounds` b, of float32, is rounded to bfloat16."""
    p: dict[str, Any] = {
        "m": m,
        "n": n,
        "k": k,
        "ta": ta,
        "tb": tb,
        "accumulate": False,
        "batch": 1,
        "tiles": parts,
        **more,
    }
    pieces = [pieces_of(dtype, q in p.get("rounds", ())) for q, dtype in enumerate(dtypes)]
    p["scratch"] = -(-memory(p, Sizes(*parts), (pieces[0], pieces[1]))[-1] // 4) * THREADS
    halves = tuple((dtype, (q,)) for q, dtype in enumerate(dtypes) if dtype != "float32")
    return {**p, **({"halves": halves} if halves else {})}


def _run(p: dict[str, Any], *inputs: Array, before: Array | None = None) -> dict[str, list[Array]]:
    """The outputs, but for the memory, of one thread, of several, which make the same, and of the twin."""
    given = [] if before is None else [np.zeros(p["scratch"], np.float32), before]
    found = {"alone": run_kernel("gemm", p, *inputs, before=given)[1:]}
    if before is None:
        found["threads"] = run_kernel("gemm", p, *inputs, divided=True)[1:]
        stored = len(p.get("stores", (0,)))
        for got, want in zip(found["threads"][:stored], found["alone"][:stored], strict=True):
            np.testing.assert_array_equal(got, want)
    return {**found, "twin": run_twin("gemm", p, *inputs, before=given)[1:]}


def _laid(p: dict[str, Any], a: Array, b: Array) -> tuple[Array, Array]:
    """Factors [batch, m, k] and [batch, k, n] as they lie in memory."""
    left, right = a.swapaxes(1, 2) if p["ta"] else a, b.swapaxes(1, 2) if p["tb"] else b
    return np.ascontiguousarray(left), np.ascontiguousarray(right)


def _exact(p: dict[str, Any], a: Array, b: Array) -> tuple[Array, Array]:
    """The product of what is multiplied, in float64, and that of sizes plus one."""
    if "rounds" in p:
        b = b.astype(numpy_dtype("bfloat16"))
    left, right = a.astype(np.float64), b.astype(np.float64)
    return left @ right, np.abs(left) @ np.abs(right) + 1


@settings(max_examples=EXAMPLES, deadline=None, phases=(Phase.generate,))
@given(
    m=SIZE, n=SIZE, k=SIZE, ta=st.booleans(), tb=st.booleans(), parts=st.sampled_from(PARTS), dtypes=st.tuples(DTYPE, DTYPE),
    accumulate=st.booleans(), batch=st.integers(1, 3), rounds=st.booleans(),
)  # fmt: skip
def test_product(
    m: int, n: int, k: int, ta: bool, tb: bool, parts: tuple[int, int, int], dtypes: tuple[str, str], accumulate: bool,
    batch: int, rounds: bool,
) -> None:  # fmt: skip
    """As near to float64 as products of multiply-adds, whatever lies in memory."""
    if rounds:
        dtypes = ("bfloat16", "float32")
    p = _params(
        m, n, k, ta, tb, parts, dtypes, accumulate=accumulate, batch=batch, **({"rounds": (1,)} if rounds else {})
    )
    a, b = random(m + n, batch, m, k), random(k + 1, batch, k, n)
    a, b = a.astype(numpy_dtype(dtypes[0])), b.astype(numpy_dtype(dtypes[1]))
    exact, scale = _exact(p, a, b)
    before = random(9, batch, m, n)
    exact = exact + accumulate * before
    for where, (c,) in _run(p, *_laid(p, a, b), before=before if accumulate else None).items():
        assert (np.abs(c.reshape(exact.shape) - exact) <= 4e-7 * scale).all(), where


@pytest.mark.parametrize(("ta", "tb"), [(False, False), (True, False), (False, True), (True, True)])
def test_sums_are_exact(ta: bool, tb: bool) -> None:
    """Equal terms, whose sum a single accumulator of float32 is off by 1e-4."""
    m, n, k = 33, 40, 4096
    p = _params(m, n, k, ta, tb, (512, 64, 64))
    a, b = np.full((1, m, k), 0.1, np.float32), np.full((1, k, n), 0.3, np.float32)
    exact, scale = _exact(p, a, b)
    for where in ("alone", "threads"):
        (c,) = _run(p, *_laid(p, a, b))[where]
        assert (np.abs(c.reshape(exact.shape) - exact) <= 6e-7 * scale).all(), where


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, 3.4e38, -3.3999e38, 1e-30])
@pytest.mark.parametrize("factor", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_what_is_not_finite(value: float, factor: int, dtype: str) -> None:
    """Infinite and NaN is what is so in float64; the largest and small numbers are multiplied like others."""
    m, n, k = 50, 70, 90
    a, b = random(1, 1, m, k), random(2, 1, k, n)
    a[0, 3], b[0, :, 5] = 0, 0
    for x, at in zip((a, b)[factor], ((7, 40), (20, 89), (49, 0)), strict=False):
        x[at if factor == 0 else at[::-1]] = value
    with np.errstate(all="ignore"):
        a, b = a.astype(dtype), b.astype(dtype)
    # Finite results of float32 stay so.
    shrunk = (a, b * np.asarray(2.0**-8, dtype)) if factor == 0 else (a * np.asarray(2.0**-8, dtype), b)
    p = _params(m, n, k, False, True, (32, 64, 64), (dtype, dtype))
    with np.errstate(all="ignore"):
        exact, scale = _exact(p, *shrunk)
        for where, (c,) in _run(p, *_laid(p, *shrunk)).items():
            got = c.reshape(exact.shape)
            np.testing.assert_array_equal(np.isnan(got), np.isnan(exact), err_msg=where)
            np.testing.assert_array_equal(np.sign(got[np.isinf(exact)]), np.sign(exact[np.isinf(exact)]), err_msg=where)
            fine = np.isfinite(exact)
            assert np.isfinite(got[fine]).all(), where
            assert (np.abs(got - exact)[fine] <= 4e-7 * scale[fine]).all(), where


def test_small_numbers_keep_their_first_piece() -> None:
    """Pieces below 2^-126 count as zero (docs/decisions.md): numbers below 2^-110 have 8 bits at the least."""
    a, b = np.full((1, 16, 32), 1.2345e-34, np.float32), np.full((1, 32, 16), 1.5e30, np.float32)
    p = _params(16, 16, 32, False, False)
    for c in (_run(p, a, b)[where][0] for where in ("alone", "threads")):
        np.testing.assert_allclose(c, 32 * 1.2345e-34 * 1.5e30, rtol=2.0**-7)


@pytest.mark.parametrize("parts", [(32, 32, 64), (64, 64, 96)])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_epilogue_and_marks(parts: tuple[int, int, int], dtype: str) -> None:
    """The larger of 0 and the result times a row, plus a column; and the result. Each element once, when all terms are in it."""
    m, n, k = 37, 75, 50
    more = {"epilogue": AFFINE_RELU, "extras": ((0, 1, 0), (0, 0, 1)), "stores": (6, 0), "marks": (THREADS, 1)}
    p = _params(m, n, k, False, True, parts, (dtype, dtype), batch=2, **more)
    a, b = (random(seed, 2, *shape).astype(numpy_dtype(dtype)) for seed, shape in ((1, (m, k)), (2, (k, n))))
    exact, scale = _exact(p, a, b)
    row, column = random(7, m), random(8, n)
    for bad in (False, True):
        if bad:
            a[1, 30, 49] = np.inf
        # The memory lies between the operands of the epilogue and what is stored.
        for where, (after, plain, marks) in _run(p, *_laid(p, a, b), row, column).items():
            fine = plain.reshape(exact.shape)[0]
            assert (np.abs(fine - exact[0]) <= 1e-6 * scale[0]).all(), where
            want = np.maximum(exact[0] * row[:, None] + column, 0)
            assert np.abs(after.reshape(exact.shape)[0] - want).max() <= 1e-5 * scale.max(), where
            assert np.isnan(marks).any() == bad, where


@pytest.mark.parametrize(("m", "n"), [(33, 15), (97, 14), (15, 33), (14, 97), (5, 9)])
def test_sums_of_smaller_units(m: int, n: int) -> None:
    """Units of up to 16 rows or columns are smaller; blocks that have room for more of them keep all their sums apart."""
    p = _params(m, n, 65, True, True, (32, 64, 96))
    a, b = random(1, 1, m, 65), random(2, 1, 65, n)
    exact, scale = _exact(p, a, b)
    for where, (c,) in _run(p, *_laid(p, a, b)).items():
        assert (np.abs(c.reshape(exact.shape) - exact) <= 4e-7 * scale).all(), where


def test_parts_of_larger_matrices() -> None:
    whole, m, n, k = random(1, 60, 70), 33, 41, 29
    strides = {"a": (4200, 72, 70), "b": (4200, 5, 70), "c": (4200, 143, 70)}
    p = _params(m, n, k, False, True, (32, 32, 32), axes=(), **strides)
    a, b = whole[1 : 1 + m, 2 : 2 + k].astype(np.float64), whole[:n, 5 : 5 + k].astype(np.float64)
    exact, scale = a @ b.T, np.abs(a) @ np.abs(b).T + 1
    before = random(3, 60, 70)
    for where, (c,) in _run(p, whole, whole, before=before).items():
        got = c.reshape(60, 70)
        assert (np.abs(got[2 : 2 + m, 3 : 3 + n] - exact) <= 4e-7 * scale).all(), where
        got[2 : 2 + m, 3 : 3 + n] = before[2 : 2 + m, 3 : 3 + n]
        same(got, before)


@settings(max_examples=EXAMPLES // 2, deadline=None, phases=(Phase.generate,))
@given(
    m=SIZE, n=SIZE, k=SIZE, tb=st.booleans(), columns=st.sampled_from([32, 64, 128]), dtypes=st.tuples(DTYPE, DTYPE),
    rounds=st.booleans(),
)  # fmt: skip
def test_a_factor_that_is_packed_before(
    m: int, n: int, k: int, tb: bool, columns: int, dtypes: tuple[str, str], rounds: bool
) -> None:
    """The same bits as that of a product that copies it itself."""
    if rounds:
        dtypes = ("bfloat16", "float32")
    told: dict[str, Any] = {"rounds": (1,)} if rounds else {}
    p = _params(m, n, k, False, tb, (512, m, columns), dtypes, **told)
    a = random(1, 1, m, k).astype(numpy_dtype(dtypes[0]))
    b = random(2, 1, k, n).astype(numpy_dtype(dtypes[1]))
    left, right = _laid(p, a, b)
    packed = "bfloat16" if rounds else dtypes[1]
    how = {"n": n, "k": k, "tb": tb, "packed": packed, "rounds": rounds, "apart": "bfloat16" not in (dtypes[0], packed)}
    if dtypes[1] != "float32":
        how["halves"] = ((dtypes[1], (0,)),)
    for divided in (False, True):
        (made,) = run_kernel("pack_factor", how, right, divided=divided)
        q = {**p, "packed": packed, "halves": ((dtypes[0], (0,)),) if dtypes[0] != "float32" else ()}
        q.pop("rounds", None)
        got, want = run_kernel("gemm", q, left, made, divided=divided)[1], run_kernel("gemm", p, left, right)[1]
        np.testing.assert_array_equal(got, want)
        (plain,) = run_twin("pack_factor", how, right)
        same(run_twin("gemm", q, left, plain)[1], want)


def test_which_pieces_are_multiplied() -> None:
    """Those that make at least 2^-21 of the product; those of one piece after the other."""
    assert terms(1, 1) == [(0, 0)]
    assert sorted(terms(2, 2)) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert sorted(terms(3, 3)) == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (2, 0)]


def test_a_processor_without_tiles_is_told() -> None:
    p = _params(32, 32, 32, False, False)
    made = emitter(NamedKernel("gemm", tuple(p.items())))
    with pytest.raises(CodegenError, match="has the parameter `tiles`"):
        ir_text(lambda w, pointers: made.emit(w, p, pointers), len(made.operands(p)), 16)
