"""Reductions whose rows the threads divide among them: every result is that of the kernel on one thread."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from graphc_codegen import loops
from graphc_codegen.loops import by_rows as module
from graphc_codegen.loops.by_rows import by_rows
from graphc_codegen.program import Access, Instr, LoopKernel, Output
from graphc_codegen.target import Target
from tests.codegen.loop_harness import AVX2, HOST, as_the_twin, contiguous, random_operands, random_sums, run_many
from tests.codegen.threaded import THREADS, same


@pytest.mark.parametrize("target", [HOST, AVX2], ids=["host", "avx2"])
def test_random_reductions(monkeypatch: pytest.MonkeyPatch, target: Target) -> None:
    monkeypatch.setattr(module, "_ELEMENTS", 1)
    monkeypatch.setattr(module, "_ROWS", 1)
    rng = np.random.default_rng(3)
    kernels = [random_sums(rng) for _ in range(60)]
    assert sum(by_rows(k, THREADS) is not None for k in kernels) > 10
    as_the_twin([(k, random_operands(k, rng)) for k in kernels], target, same)


def _columns(rows: int, columns: int) -> LoopKernel:
    shape = (rows, columns)
    total = Output(Access("float32", (0, 1), 0, columns), 0, "sum", 1 / rows)
    return LoopKernel(shape, (True, False), (contiguous(shape),), (Instr("input", (), "float32", 0),), (total,))


def test_what_is_not_finite_reaches_its_column() -> None:
    kernel = _columns(768, 130)
    assert by_rows(kernel, THREADS) is not None
    x = np.ones((768, 130), np.float32)
    x[5, 3], x[400, 4], x[700, 5], x[767, 5] = np.nan, np.inf, np.inf, -np.inf
    (_, mean) = run_many([(kernel, [x.reshape(-1), np.zeros(130, np.float32)])])[0]
    want = np.ones(130, np.float32)
    want[3:6] = np.nan, np.inf, np.nan
    np.testing.assert_array_equal(mean, want)


def test_where_rows_are_not_divided() -> None:
    good = _columns(768, 128)
    assert by_rows(good, THREADS) is not None
    assert by_rows(_columns(767, 128), THREADS) is None  # The threads do not divide the rows.
    assert by_rows(_columns(768, 64), THREADS) is None  # It is too small.
    assert by_rows(_columns(9, 1000), THREADS) is None  # There are few rows.
    assert by_rows(_columns(3 << 16, 1), THREADS) is None  # There is one sum.
    assert by_rows(_columns(768, 1025), THREADS) is None  # The sums do not fit.
    assert by_rows(replace(good, body=(Instr("iota", (), "float32", 0),), inputs=()), THREADS) is None
    along = LoopKernel(
        (128, 768), (False, True), (contiguous((128, 768)),), good.body,
        (Output(Access("float32", (1, 0), 0, 128), 0, "sum"),),
    )  # fmt: skip
    assert by_rows(along, THREADS) is None  # Whole rows are added up.


def test_both_kernels_by_the_twin() -> None:
    """The two kernels one after the other compute what the one does."""
    kernel = _columns(768, 128)
    split = by_rows(kernel, THREADS)
    assert split is not None
    x = np.random.default_rng(0).normal(size=768 * 128).astype(np.float32)
    want, got = np.zeros(128, np.float32), np.zeros(128, np.float32)
    loops.twin(kernel, x, want)
    partial = np.zeros(split.first.outputs[0].access.size, np.float32)
    loops.twin(split.first, x, partial)
    loops.twin(split.sums[0].kernel, partial, got)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
