"""One loop on several sets of operands."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from graphc_codegen.errors import CheckedError
from graphc_codegen.loops import twin
from graphc_codegen.program import Access, Instr, LoopKernel, Output, exchanges, written
from graphc_codegen.validate import operands
from tests.codegen.loop_harness import AVX2, HOST, Array, contiguous, expected, run


def product(rows: int, columns: int, *, summed: bool) -> LoopKernel:
    """a * b, or its sums over rows."""
    a = contiguous((rows, columns))
    body = (Instr("input", (), "float32", 0), Instr("input", (), "float32", 1), Instr("mul", (0, 1)))
    total = Access("float32", (0, 0), 0, 1)
    output = Output(total, 2, "sum", 0.5) if summed else Output(a, 2)
    return LoopKernel((rows, columns), (summed, summed), (a, a), body, (output,))


def arrays(kernel: LoopKernel) -> list[Array]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal(d.size).astype(np.float32) for d in operands(kernel)]


@pytest.mark.parametrize("target", [HOST, AVX2], ids=["host", "avx2"])
@pytest.mark.parametrize("summed", [False, True])
@pytest.mark.parametrize("times", [2, 3, 7, 16])
@pytest.mark.parametrize(("rows", "columns"), [(1, 1), (3, 17), (5, 200)])
def test_every_set_is_computed(times: int, rows: int, columns: int, summed: bool, target: object) -> None:
    kernel = replace(product(rows, columns, summed=summed), times=times)
    given = arrays(kernel)
    assert len(given) == 3 * times
    assert written(kernel) == times
    assert not exchanges(kernel)
    for got, want in zip(run(kernel, given, target), expected(kernel, given), strict=True):  # type: ignore[arg-type]
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=2e-5)
    one = product(rows, columns, summed=summed)
    separate = run(one, [given[2], given[3], given[2 * times + 1]])
    np.testing.assert_allclose(run(kernel, given)[2 * times + 1], separate[2], rtol=1e-6, atol=1e-6)


def test_a_wrong_number_of_operands_is_refused() -> None:
    kernel = replace(product(2, 2, summed=False), times=2)
    with pytest.raises(CheckedError, match="2 sets of operands got 5"):
        twin(kernel, *arrays(kernel)[:5])
