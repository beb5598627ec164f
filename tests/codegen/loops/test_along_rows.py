"""Sums over rows with the sums in memory: every result is that of the twin, whatever the vectors and threads."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from graphc_codegen.declarations import Declarations
from graphc_codegen.loops import along_rows
from graphc_codegen.loops.along_rows import piece_of
from graphc_codegen.loops.nest import plan
from graphc_codegen.program import Access, Instr, LoopKernel, Output
from graphc_codegen.target import Target
from graphc_codegen.writer import Writer
from tests.codegen.loop_harness import AVX2, HOST, as_the_twin, contiguous, random_operands, random_sums, run, run_many
from tests.codegen.threaded import THREADS, same


def _piece(kernel: LoopKernel, threads: int = 1) -> int:
    w = Writer(Declarations(), 8, threads=threads)
    return piece_of(w, kernel, plan(kernel, w.lanes))


def _stored(rows: int, columns: int, block: int = 32) -> LoopKernel:
    """x y, where y is a row, and the sums of x y and of x over rows."""
    shape, total = (rows, columns), Access("float32", (0, 1), 0, columns)
    body = (Instr("input", (), "float32", 0), Instr("input", (), "float32", 1), Instr("mul", (0, 1), "float32"))
    outputs = (Output(contiguous(shape), 2), Output(total, 2, "sum", 1.0, block), Output(total, 0, "sum", 0.5, block))
    return LoopKernel(shape, (True, False), (contiguous(shape), total), body, outputs)


def _in_blocks(kernel: LoopKernel, block: int) -> LoopKernel:
    outputs = (replace(o, reduce="sum", block=block) if o.reduce else o for o in kernel.outputs)
    return replace(kernel, outputs=tuple(outputs))


@pytest.mark.parametrize("target", [HOST, AVX2], ids=["host", "avx2"])
def test_random_sums(monkeypatch: pytest.MonkeyPatch, target: Target) -> None:
    for name, value in (("_NEAR", 0), ("_ROWS", 2), ("_COLUMNS", 1), ("_PIECE", 48)):
        monkeypatch.setattr(along_rows, name, value)
    rng = np.random.default_rng(4)
    kernels = [_in_blocks(random_sums(rng), int(rng.choice([2, 3, 32]))) for _ in range(60)]
    assert sum(_piece(k) > 0 for k in kernels) > 20
    as_the_twin([(k, random_operands(k, rng)) for k in kernels], target, same)


@pytest.mark.parametrize("shape", [(700, 1500), (3001, 400), (512, 2048)])
def test_large_ones(shape: tuple[int, int]) -> None:
    """Several pieces, the last one smaller; rows that are no whole blocks. Sums are those of float64, rounded once."""
    kernel = _stored(*shape)
    assert 0 < _piece(kernel) <= 1024
    rng = np.random.default_rng(5)
    operands = random_operands(kernel, rng)
    operands[0][:] = 0.1
    x, y = operands[0].reshape(shape), operands[1]
    _, _, product, first, second = run(kernel, operands)
    np.testing.assert_array_equal(product.reshape(shape), x * y)
    np.testing.assert_allclose(first, (x * y).sum(0, dtype=np.float64), rtol=1e-6)
    np.testing.assert_allclose(second, 0.5 * x.sum(0, dtype=np.float64), rtol=1e-6)


def test_in_place() -> None:
    shape = (600, 1000)
    operands = random_operands(_stored(*shape), np.random.default_rng(6))
    x, _, product, first, _ = run(_stored(*shape), operands, shared={2: 0})
    want = operands[0].reshape(shape) * operands[1]
    assert x is product
    np.testing.assert_array_equal(x.reshape(shape), want)
    np.testing.assert_allclose(first, want.sum(0, dtype=np.float64), rtol=1e-6)


def test_what_is_not_finite_reaches_its_column() -> None:
    kernel = _stored(2000, 600)
    operands = random_operands(kernel, np.random.default_rng(7))
    operands[0].reshape(2000, 600)[[5, 400, 700, 1999], [3, 4, 5, 5]] = np.nan, np.inf, np.inf, -np.inf
    _, _, _, first, _ = run_many([(kernel, operands)])[0]
    assert np.isnan(first[[3, 5]]).all()
    assert first[4] == np.inf
    assert np.isfinite(np.delete(first, [3, 4, 5])).all()


def _matrices(count: int) -> LoopKernel:
    """The sums over the rows of each of some matrices of 700 x 600."""
    shape, total = (count, 700, 600), Access("float32", (600, 0, 1), 0, 600 * count)
    body, outputs = (Instr("input", (), "float32", 0),), (Output(total, 0, "sum", 1.0, 32),)
    return LoopKernel(shape, (False, True, False), (contiguous(shape),), body, outputs)


@pytest.mark.parametrize("count", [4, 12])
def test_several_matrices(count: int) -> None:
    """Threads share them, if there are enough."""
    kernel = _matrices(count)
    assert _piece(kernel) == 600
    assert (_piece(kernel, THREADS) > 0) == (count % THREADS == 0)
    operands = random_operands(kernel, np.random.default_rng(8))
    _, sums = run(kernel, operands)
    want = operands[0].reshape(count, 700, 600).sum(1, dtype=np.float64)
    np.testing.assert_allclose(sums.reshape(count, 600), want, rtol=1e-6)


def test_where_sums_stay_in_registers() -> None:
    good = _stored(2048, 512)
    assert _piece(good) == 512
    assert _piece(good, THREADS) == 0  # They do not divide the columns.
    assert _piece(_stored(2048, 128 * THREADS), THREADS) == 128
    assert _piece(_stored(100, 20_000)) == 0  # There are few rows.
    assert _piece(_stored(20_000, 100)) == 0  # Rows are short.
    assert _piece(_stored(500, 500)) == 0  # All is near.
    assert _piece(_stored(2048, 512, block=1)) == 0  # Every term is added in float64.
    highest = tuple(replace(o, reduce="max", block=0) if o.reduce else o for o in good.outputs)
    assert _piece(replace(good, outputs=highest)) == 0
    assert _piece(replace(good, outputs=(*good.outputs, *good.outputs[1:], good.outputs[1]))) == 0  # Too many sums.
