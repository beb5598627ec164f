"""Writes scalar operations on vectors of `lanes` values in registers; `table` says what they mean."""

from __future__ import annotations

import math
from collections.abc import Sequence

from graphc_codegen.dtypes import FLOATS, HALVES, integer_limits
from graphc_codegen.errors import CodegenError
from graphc_codegen.scalars import halves
from graphc_codegen.scalars.arithmetic import Operand
from graphc_codegen.scalars.conversion import cast
from graphc_codegen.scalars.table import SCALAR_OPS
from graphc_codegen.writer import Writer


def emit(w: Writer, op: str, args: Sequence[Operand], dtype: str) -> str:
    """Write an operation on vectors and return the name of the result, which is of `dtype`.

    Raises CodegenError when the operation has no meaning for the dtypes.
    """
    if op == "cast":
        return cast(w, args[0].name, args[0].dtype, dtype)
    row = SCALAR_OPS.get(op)
    write = row.emitter(args[-1].dtype) if row is not None else None
    if row is None or write is None:
        raise CodegenError(f"loop operation {op!r} is not defined for {args[-1].dtype}")
    result = write(w, args)
    return halves.rounded(w, result, dtype) if dtype in HALVES and not row.exact else result


def combine(w: Writer, how: str, a: str, b: str, dtype: str) -> str:
    """One step of the reduction `how` on vectors; `a` is the accumulator. Halves are not rounded."""
    if dtype in HALVES:
        dtype = "float32"
    op = {"sum": "add", "prod": "mul", "any": "or", "all": "and"}.get(how, how)
    return emit(w, op, (Operand(a, dtype), Operand(b, dtype)), dtype)


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
