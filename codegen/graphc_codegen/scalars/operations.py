"""Writes scalar operations on vectors of `lanes` values in registers; `table` says what they mean."""

from __future__ import annotations

import math
from collections.abc import Sequence

from graphc_codegen.dtypes import FLOATS, HALVES, integer_limits
from graphc_codegen.errors import CodegenError
from graphc_codegen.program import Instr
from graphc_codegen.scalars import halves
from graphc_codegen.scalars.arithmetic import Operand
from graphc_codegen.scalars.conversion import cast
from graphc_codegen.scalars.table import SCALAR_OPS
from graphc_codegen.writer import Writer


def emit(w: Writer, instr: Instr, args: Sequence[Operand]) -> str:
    """Write `instr` on vectors and return the result's name.

    Raises CodegenError when the operation has no meaning for the dtypes.
    """
    if instr.op == "cast":
        return cast(w, args[0].name, args[0].dtype, instr.dtype)
    op = SCALAR_OPS.get(instr.op)
    write = op.emitter(args[-1].dtype) if op is not None else None
    if op is None or write is None:
        raise CodegenError(f"loop operation {instr.op!r} is not defined for {args[-1].dtype}")
    result = write(w, args)
    return halves.rounded(w, result, instr.dtype) if instr.dtype in HALVES and not op.exact else result


def combine(w: Writer, how: str, a: str, b: str, dtype: str) -> str:
    """One step of the reduction `how` on vectors; `a` is the accumulator. Halves are not rounded."""
    if dtype in HALVES:
        dtype = "float32"
    op = {"sum": "add", "prod": "mul", "any": "or", "all": "and"}.get(how, how)
    return emit(w, Instr(op, (0, 1), dtype), (Operand(a, dtype), Operand(b, dtype)))


def neutral(how: str, dtype: str) -> float | int:
    """The value that changes nothing in a reduction."""
    if how in ("sum", "any"):
        return 0
    if how in ("prod", "all"):
        return 1
    if dtype == "bool":
        return 0 if how == "max" else 1
    if dtype in FLOATS:
        return -math.inf if how == "max" else math.inf
    return integer_limits(dtype)[how == "min"]
