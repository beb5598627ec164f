"""Elements of one and two bytes: a tail of any length writes its own bytes and no others.

LLVM 22.1 made four bytes of a masked store of one lane. The harness looks at the bytes beyond every operand.
"""

from __future__ import annotations

import numpy as np
import pytest

from graphc_codegen.program import Access, Instr, LoopKernel, Output
from graphc_codegen.scalars.halves import numpy_dtype
from tests.codegen.loop_harness import AVX2, HOST, run

NARROW = ("float16", "bfloat16", "int8", "uint8", "int16", "bool")


def kernel(dtype: str, n: int, column: bool) -> LoopKernel:
    """x + x, or not x, for n elements; of the first of 8 columns, so that the result is narrower than what is read."""
    read = Access(dtype, (8,), 0, 8 * (n - 1) + 1) if column else Access(dtype, (1,), 0, n)
    made = Instr("not", (0,), dtype=dtype) if dtype == "bool" else Instr("add", (0, 0), dtype=dtype)
    return LoopKernel(
        (n,), (False,), (read,), (Instr("input", imm=0, dtype=dtype), made), (Output(Access(dtype, (1,), 0, n), 1),)
    )


@pytest.mark.parametrize("target", [HOST, AVX2], ids=["host", "avx2"])
@pytest.mark.parametrize("column", [False, True], ids=["row", "column"])
@pytest.mark.parametrize("dtype", NARROW)
def test_a_tail_of_any_length(dtype, column, target):
    for n in range(1, 2 * target.lanes + 2):
        k = kernel(dtype, n, column)
        x = (np.arange(k.inputs[0].size) % 3).astype(numpy_dtype(dtype))
        out = np.zeros(n, numpy_dtype(dtype))
        made = run(k, [x, out], target)[1]
        taken = x[::8] if column else x
        want = np.logical_not(taken) if dtype == "bool" else taken + taken
        assert made.tobytes() == want.tobytes(), n
