"""The scalar operations of loop bodies: a row for each, and what all the rest of the compiler knows of it follows from that.

Meanings are NumPy's in the given dtype, with these decisions where NumPy leaves room or raises:

- integer arithmetic wraps; unsigned numbers have no sign in division, comparison, `max`, `min`, `sign` and `cast`;
- integer `floordiv` and `mod` by zero give 0; the smallest integer divided by -1 wraps;
- integer `pow` wraps; a negative exponent gives 0 unless the base is 1 or -1;
- `cast` of a float to an integer truncates; out of range saturates and NaN gives 0; integers lose their high bits;
- `and`, `or`, `xor`, `not` are logical on bool and bitwise on integers; `shr` shifts integers right, zeros coming in,
  by less than their width;
- `add`, `mul`, `max`, `min` of bool are or, and, or, and.

`max` and `min` give NaN if either operand is NaN. Denormal floats count as zero while the step runs.

float16 and bfloat16 are floats in registers: every operation computes in float32 and is rounded to the half
type; see `halves`. Reductions of them are float32 until their end.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from graphc_codegen.dtypes import FLOATS, UNSIGNED
from graphc_codegen.scalars import (
    arithmetic,
    maths_float32,
    maths_float64,
    power_float32,
    power_float64,
    trigonometry_float32,
    trigonometry_float64,
    twins,
)
from graphc_codegen.scalars.arithmetic import Write, extremum, integer_extremum, intrinsic, one_of_two, plain, unary


@dataclass(frozen=True, slots=True)
class ScalarOp:
    """What is known of a scalar operation.

    operands    their number
    twin        the same in NumPy, on arrays; halves come as float32. None where only the loop around it can tell
    weight      what it costs, relative to an addition
    result      the rule for the dtype of its result. "same": that of all operands; "test": bool, the operands have one dtype;
                "choice": that of the operands behind the first one, which is bool; "own": the instruction says it
    floats ...  what writes it for operands of these dtypes, None where it is not defined. `float64` and `unsigned` are for what
                differs from all floats and all integers
    exact       whether a result computed from halves is one, so that it need not be rounded
    """

    name: str
    operands: int
    twin: Callable[..., Any] | None = None
    weight: int = 1
    result: Literal["same", "test", "choice", "own"] = "same"
    floats: Write | None = None
    float64: Write | None = None
    integers: Write | None = None
    unsigned: Write | None = None
    bools: Write | None = None
    exact: bool = False

    def emitter(self, dtype: str) -> Write | None:
        """What writes the operation for operands of a dtype; None where it is not defined."""
        if dtype == "bool":
            return self.bools
        if dtype in FLOATS:
            return self.float64 or self.floats if dtype == "float64" else self.floats
        return self.unsigned or self.integers if dtype in UNSIGNED else self.integers

    def result_dtype(self, operands: Sequence[str]) -> str:
        """The dtype of the result, from those of the operands. Raises ValueError where the instruction says it."""
        if self.result == "own":
            raise ValueError(f"operation {self.name!r} does not get its dtype from its operands")
        return "bool" if self.result == "test" else operands[self.result == "choice"]


def _comparison(name: str, twin: Callable[..., Any], floats: str, signed: str, unsigned: str) -> ScalarOp:
    """A row; the others are LLVM's predicates."""
    return ScalarOp(
        name, 2, twin, result="test", floats=plain(f"fcmp {floats}"),
        integers=plain(f"icmp {signed}"), unsigned=plain(f"icmp {unsigned}"), bools=plain(f"icmp {unsigned}"),
    )  # fmt: skip


_ROWS = (
    # What only the loop around it can tell.
    ScalarOp("input", 0, weight=0, result="own"),
    ScalarOp("const", 0, weight=0, result="own"),
    ScalarOp("iota", 0, result="own"),
    ScalarOp("cast", 1, result="own"),
    # Arithmetic. Contraction lets a product and a sum become one multiply-add.
    ScalarOp("add", 2, np.add, floats=plain("fadd contract"), integers=plain("add"), bools=plain("or")),
    ScalarOp("sub", 2, np.subtract, floats=plain("fsub contract"), integers=plain("sub")),
    ScalarOp("mul", 2, np.multiply, floats=plain("fmul contract"), integers=plain("mul"), bools=plain("and")),
    ScalarOp("div", 2, np.divide, 4, floats=plain("fdiv")),
    ScalarOp(
        "floordiv", 2, np.floor_divide, 60,
        floats=one_of_two(power_float32.floor_divide, 0), float64=one_of_two(power_float64.floor_divide, 0),
        integers=arithmetic.integer_quotient, unsigned=arithmetic.unsigned_division("udiv"),
    ),
    ScalarOp(
        "mod", 2, np.remainder, 60,
        floats=one_of_two(power_float32.floor_divide, 1), float64=one_of_two(power_float64.floor_divide, 1),
        integers=arithmetic.integer_remainder, unsigned=arithmetic.unsigned_division("urem"),
    ),
    ScalarOp(
        "pow", 2, twins.power, 60,
        floats=arithmetic.float_pow(power_float32.pow), float64=arithmetic.float_pow(power_float64.pow),
        integers=arithmetic.integer_pow(), unsigned=arithmetic.integer_pow(unsigned=True),
    ),
    ScalarOp(
        "max", 2, np.maximum, floats=extremum("fcmp ogt"),
        integers=integer_extremum("icmp sgt"), unsigned=integer_extremum("icmp ugt"), bools=plain("or"), exact=True,
    ),
    ScalarOp(
        "min", 2, np.minimum, floats=extremum("fcmp olt"),
        integers=integer_extremum("icmp slt"), unsigned=integer_extremum("icmp ult"), bools=plain("and"), exact=True,
    ),
    ScalarOp("neg", 1, np.negative, floats=arithmetic.neg, integers=arithmetic.integer_neg, exact=True),
    ScalarOp(
        "abs", 1, np.abs, floats=intrinsic("fabs"),
        integers=arithmetic.integer_abs, unsigned=arithmetic.same, bools=arithmetic.same, exact=True,
    ),
    ScalarOp(
        "sign", 1, np.sign, floats=arithmetic.sign,
        integers=arithmetic.integer_sign, unsigned=arithmetic.unsigned_sign, exact=True,
    ),
    ScalarOp("floor", 1, np.floor, floats=intrinsic("floor"), integers=arithmetic.same, exact=True),
    ScalarOp("round", 1, np.round, floats=intrinsic("roundeven"), integers=arithmetic.same, exact=True),
    # Functions of floats.
    ScalarOp("sqrt", 1, np.sqrt, 4, floats=intrinsic("sqrt")),
    ScalarOp(
        "rsqrt", 1, lambda x: 1 / np.sqrt(x), 8,
        floats=unary(maths_float32.rsqrt), float64=unary(maths_float64.rsqrt),
    ),
    ScalarOp("exp", 1, np.exp, 14, floats=unary(maths_float32.exp), float64=unary(maths_float64.exp)),
    ScalarOp("log", 1, np.log, 20, floats=unary(maths_float32.log), float64=unary(maths_float64.log)),
    ScalarOp("tanh", 1, np.tanh, 24, floats=unary(maths_float32.tanh), float64=unary(maths_float64.tanh)),
    ScalarOp(
        "sigmoid", 1, lambda x: 1 / (1 + np.exp(-x)), 18,
        floats=unary(maths_float32.sigmoid), float64=unary(maths_float64.sigmoid),
    ),
    ScalarOp("erf", 1, twins.erf, 20, floats=unary(maths_float32.erf), float64=unary(maths_float64.erf)),
    ScalarOp("sin", 1, np.sin, 30, floats=unary(trigonometry_float32.sin), float64=unary(trigonometry_float64.sin)),
    ScalarOp("cos", 1, np.cos, 30, floats=unary(trigonometry_float32.cos), float64=unary(trigonometry_float64.cos)),
    # Tests; floats are ordered except for "ne".
    _comparison("eq", np.equal, "oeq", "eq", "eq"),
    _comparison("ne", np.not_equal, "une", "ne", "ne"),
    _comparison("lt", np.less, "olt", "slt", "ult"),
    _comparison("le", np.less_equal, "ole", "sle", "ule"),
    _comparison("gt", np.greater, "ogt", "sgt", "ugt"),
    _comparison("ge", np.greater_equal, "oge", "sge", "uge"),
    ScalarOp(
        "isfinite", 1, np.isfinite, result="test",
        floats=arithmetic.isfinite, integers=arithmetic.true, bools=arithmetic.true,
    ),
    # Bits and booleans.
    ScalarOp(
        "and", 2, twins.bits_or_logical(np.bitwise_and, np.logical_and), integers=plain("and"), bools=plain("and"),
    ),
    ScalarOp("or", 2, twins.bits_or_logical(np.bitwise_or, np.logical_or), integers=plain("or"), bools=plain("or")),
    ScalarOp(
        "xor", 2, twins.bits_or_logical(np.bitwise_xor, np.logical_xor), integers=plain("xor"), bools=plain("xor"),
    ),
    ScalarOp("shr", 2, twins.shift_right, integers=plain("lshr")),
    ScalarOp(
        "not", 1, twins.bits_or_logical(np.invert, np.logical_not),
        integers=arithmetic.invert, bools=arithmetic.invert,
    ),
    ScalarOp(
        "select", 3, np.where, result="choice",
        floats=arithmetic.choose, integers=arithmetic.choose, bools=arithmetic.choose, exact=True,
    ),
)  # fmt: skip

#: The scalar operations by name.
SCALAR_OPS = {row.name: row for row in _ROWS}
