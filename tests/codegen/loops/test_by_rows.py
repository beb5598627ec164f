"""Reductions whose rows the threads divide among them: every result is that of the kernel on one thread."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from graphc_codegen import loops
from graphc_codegen.loops import by_rows as module
from graphc_codegen.loops.by_rows import by_rows
from graphc_codegen.program import Access, Instr, LoopKernel, Output
from graphc_codegen.target import Target
from tests.codegen.loop_harness import AVX2, HOST, Array, as_the_twin, contiguous, run_many
from tests.codegen.threaded import THREADS, same


def _access(shape: tuple[int, ...], held: tuple[bool, ...]) -> Access:
    """Row-major over the axes that `held` names, broadcast along the others."""
    strides, step = [], 1
    for n, holds in reversed(list(zip(shape, held, strict=True))):
        strides.append(step if holds else 0)
        step *= n if holds else 1
    return Access("float32", tuple(strides[::-1]), 0, step)


def _random(rng: np.random.Generator) -> LoopKernel:
    """sum (max, ...) of x * y over some axes but not the last, perhaps the product too, and the sum of x."""
    rank = int(rng.integers(2, 5))
    shape = (
        *(int(n) for n in rng.choice([1, 2, 3, 5, 6, 9, 12, 17], rank - 1)),
        int(rng.choice([1, 3, 16, 33, 130])),
    )
    reduced = (*(bool(b) for b in rng.integers(0, 2, rank - 1)), False)
    if not any(reduced):
        reduced = (True, *reduced[1:])
    inputs = (_access(shape, (True,) * rank), _access(shape, tuple(bool(b) for b in rng.integers(0, 2, rank))))
    body = (Instr("input", (), "float32", 0), Instr("input", (), "float32", 1), Instr("mul", (0, 1), "float32"))
    folded = _access(shape, tuple(not r for r in reduced))
    how = str(rng.choice(["sum", "max", "min", "prod"]))
    block = int(rng.choice([0, 1, 2, 32])) if how in ("sum", "prod") else 0
    outputs = [Output(folded, 2, how, float(rng.choice([1.0, 0.25])), block)]
    if rng.integers(2):
        outputs.append(Output(_access(shape, (True,) * rank), 2))
    if rng.integers(2):
        outputs.append(Output(folded, 0, "sum", 1 / math.prod(n for n, r in zip(shape, reduced, strict=True) if r)))
    return LoopKernel(shape, reduced, inputs, body, tuple(outputs))


def _operands(kernel: LoopKernel, rng: np.random.Generator) -> list[Array]:
    inputs = [rng.uniform(0.5, 1.5, a.size).astype(np.float32) for a in kernel.inputs]
    return inputs + [np.full(o.access.size, 7, np.float32) for o in kernel.outputs]


@pytest.mark.parametrize("target", [HOST, AVX2], ids=["host", "avx2"])
def test_random_reductions(monkeypatch: pytest.MonkeyPatch, target: Target) -> None:
    monkeypatch.setattr(module, "_ELEMENTS", 1)
    monkeypatch.setattr(module, "_ROWS", 1)
    rng = np.random.default_rng(3)
    kernels = [_random(rng) for _ in range(60)]
    assert sum(by_rows(k, THREADS) is not None for k in kernels) > 10
    as_the_twin([(k, _operands(k, rng)) for k in kernels], target, same)


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
