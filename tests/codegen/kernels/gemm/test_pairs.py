"""Products of pairs of bfloat16 against float64, on processors that have them; elsewhere only what is written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from graphc_codegen.errors import CodegenError
from graphc_codegen.kernels import emitter
from graphc_codegen.program import Instr, NamedKernel
from graphc_codegen.scalars.halves import numpy_dtype
from graphc_codegen.target import host
from tests.codegen.kernel_harness import Array, ir_text, random, run_kernel, run_twin
from tests.codegen.threaded import THREADS, same

has_pairs = pytest.mark.skipif(not host().bfloat16, reason="this processor has no products of bfloat16")
BF16 = numpy_dtype("bfloat16")
SIZE = st.one_of(st.integers(1, 20), st.sampled_from([31, 32, 33, 48, 64, 65, 97]))
#: Terms, rows and columns of a part, and rows of A at a time; None for products that have no memory for parts.
PARTS = [None, None, (4, 3, 32, 3), (7, 15, 32, 6), (16, 28, 64, 28), (128, 128, 128, 128)]


def _params(m: int, n: int, k: int, ta: bool, tb: bool, panels: Any, **more: Any) -> dict[str, Any]:
    """Both factors are bfloat16; with `rounds` b is float32."""
    sizes: dict[str, Any] = {"m": m, "n": n, "k": k, "ta": ta, "tb": tb, "accumulate": False, "batch": 1}
    if panels is not None:
        depth, rows, columns, _ = panels
        each = 2 * (rows + 16 + columns + 32) * (depth + 8) + 3 * (rows + 32) * (columns + 64) + 4096
        sizes |= {"panels": panels, "scratch": 64 * -(-each // 64) * THREADS}
    narrow = (0,) if "rounds" in more else (0, 1)
    return {**sizes, "halves": (("bfloat16", narrow),), **more}


def _operands(p: dict[str, Any]) -> tuple[Array, Array, Array, Array]:
    """Both factors as they lie in memory, the product of what is multiplied in float64, and that of sizes plus one."""
    batch, m, n, k = (p[name] for name in ("batch", "m", "n", "k"))
    a, b = random(m + n, batch, m, k), random(k + 1, batch, k, n)
    if p.get("triangle") == "a":
        a = np.triu(a) if p["ta"] else np.tril(a)
    left, right = a.astype(BF16), b.astype(BF16)
    wide = [x.astype(np.float64) for x in (left, right)]
    exact, scale = wide[0] @ wide[1], np.abs(wide[0]) @ np.abs(wide[1]) + 1
    first = left.swapaxes(1, 2) if p["ta"] else left
    second = b if "rounds" in p else right
    second = second.swapaxes(1, 2) if p["tb"] else second
    return np.ascontiguousarray(first), np.ascontiguousarray(second), exact, scale


def _run(p: dict[str, Any], *inputs: Array, before: Array | None = None) -> dict[str, list[Array]]:
    """The outputs, but for the memory, of one thread, of several, and of the twin."""
    first = 1 if "panels" in p else 0
    given = [] if before is None else [*([np.zeros(p["scratch"], np.float32)] if first else []), before]
    found = {"alone": run_kernel("gemm", p, *inputs, before=given, bfloat16=True)[first:]}
    if before is None:
        found["threads"] = run_kernel("gemm", p, *inputs, divided=True)[first:]
        for got, want in zip(found["threads"][:1], found["alone"][:1], strict=True):
            if p.get("triangle") != "c":
                same(got, want)
    return {**found, "twin": run_twin("gemm", p, *inputs, before=given)[first:]}


@has_pairs
@settings(max_examples=25, deadline=None, phases=(Phase.generate,))
@given(
    m=SIZE,
    n=SIZE,
    k=SIZE,
    ta=st.booleans(),
    tb=st.booleans(),
    panels=st.sampled_from(PARTS),
    accumulate=st.booleans(),
    batch=st.integers(1, 3),
    rounds=st.booleans(),
)
def test_product(
    m: int, n: int, k: int, ta: bool, tb: bool, panels: Any, accumulate: bool, batch: int, rounds: bool
) -> None:
    """float32 sums of exact products: as near to float64 as products of float32 are."""
    more = {"rounds": (1,)} if rounds and panels is not None else {}
    p = _params(m, n, k, ta, tb, panels, accumulate=accumulate, batch=batch, **more)
    a, b, exact, scale = _operands(p)
    before = random(9, batch, m, n)
    exact = exact + accumulate * before
    for where, (c,) in _run(p, a, b, before=before if accumulate else None).items():
        assert (np.abs(c.reshape(exact.shape) - exact) <= 1e-6 * scale).all(), where


@has_pairs
@pytest.mark.parametrize(("ta", "tb"), [(False, False), (True, False), (False, True), (True, True)])
@pytest.mark.parametrize("spare", [1, 2])
def test_operands_that_lie_apart(ta: bool, tb: bool, spare: int) -> None:
    """Rows of A that are an odd number of elements apart have no whole pairs at even places."""
    m, n, k, axes = 19, 40, 34, (2, 3)
    p = _params(m, n, k, ta, tb, None, axes=axes)
    del p["batch"]
    wanted, factors = [], []
    for name, (rows, columns), seed in (("a", (k, m) if ta else (m, k), 1), ("b", (n, k) if tb else (k, n), 2)):
        whole = random(seed, *axes, rows + 1, columns + spare).astype(BF16)
        lead = columns + spare
        p[name] = (whole.size, 1, lead, 3 * (rows + 1) * lead, (rows + 1) * lead)
        shifted = np.concatenate([whole.reshape(-1)[1:], whole.reshape(-1)[:1]]).reshape(whole.shape)
        part = shifted[..., :rows, :columns].astype(np.float64)
        wanted.append(part.swapaxes(-1, -2) if (ta if name == "a" else tb) else part)
        factors.append(whole)
    exact, scale = wanted[0] @ wanted[1], np.abs(wanted[0]) @ np.abs(wanted[1]) + 1
    for where, (c,) in _run(p, *factors).items():
        assert (np.abs(c.reshape(exact.shape) - exact) <= 1e-6 * scale).all(), where


@has_pairs
@pytest.mark.parametrize("m", [16, 33, 64])
@pytest.mark.parametrize(("kind", "ta"), [("a", False), ("a", True), ("c", False), ("c", True)])
def test_triangles(m: int, kind: str, ta: bool) -> None:
    n, k = (m, 24) if kind == "c" else (40, m)
    p = _params(m, n, k, ta, kind == "c", None, triangle=kind, batch=2)
    a, b, exact, scale = _operands(p)
    for where, (c,) in _run(p, a, b).items():
        error = np.abs(c.reshape(exact.shape) - exact) / scale
        assert (np.tril(error) if kind == "c" else error).max() <= 1e-6, where


@has_pairs
@pytest.mark.parametrize("panels", [None, (16, 28, 64, 14)])
@pytest.mark.parametrize("value", [2.0**60, 2.0**64, np.nan])
def test_what_is_stored_is_rounded_once_and_watched(panels: Any, value: float) -> None:
    """bfloat16 of the sum, and of one that is too large for float32; only its row is not finite then."""
    body = (Instr("input", (), "bfloat16", 0), Instr("cast", (0,), "float32"))
    p = _params(30, 40, 50, False, True, panels, epilogue=body, extras=(), stores=(0, 1), marks=(THREADS, 0))
    a, b, *_ = _operands(p)
    a[0, 7, 3], b[0, :, 3] = value, 2.0**64
    for where, (stored, wide, marks) in _run(p, a, b).items():
        np.testing.assert_array_equal(stored.astype(np.float32), wide, err_msg=where)
        finite = np.isfinite(wide.reshape(30, 40))
        assert np.isnan(marks).any() == (value != 2.0**60) == (not finite[7].any()), where
        assert np.delete(finite, 7, 0).all(), where


def test_where_pairs_are_multiplied() -> None:
    """Not on other processors, nor in products too small for copies."""

    def text(m: int, n: int, k: int, bfloat16: bool, **more: Any) -> str:
        p = _params(m, n, k, False, False, more.pop("panels", None), **more)
        made = emitter(NamedKernel("gemm", tuple(p.items())))
        count = len(made.operands(p))
        return ir_text(lambda w, pointers: made.emit(w, p, pointers), count, 16, bfloat16=bfloat16)

    assert "dpbf16ps" in text(16, 32, 16, True)
    assert "dpbf16ps" in text(16, 32, 16, True, panels=(16, 28, 64, 28))
    for m, n, k in ((7, 32, 16), (16, 15, 16), (16, 32, 14)):
        assert "dpbf16ps" not in text(m, n, k, True)
    assert "dpbf16ps" not in text(16, 32, 16, False)
    with pytest.raises(CodegenError, match="this processor has no instructions"):
        text(16, 32, 16, False, rounds=(1,), panels=(16, 28, 64, 28))
