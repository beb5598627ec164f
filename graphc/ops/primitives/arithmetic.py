"""Elementwise primitives beyond those that `graphc.ops.functional.elementwise` makes with their functions."""

from __future__ import annotations

from graphc.ops import functional as F
from graphc.ops.functional.arithmetic import real_div
from graphc.ops.functional.complex import complex_, complex_abs
from graphc.ops.functional.operand_checks import require_alike
from graphc.ops.tensor.primitive import declare
from graphc.ops.tensor.tensor import Tensor

# ---- one operand

Erfinv = declare("Erfinv", F.erfinv)
Inv = declare("Inv", F.inv)
Invert = declare("Invert", F.bitwise_not)
Lgamma = declare("Lgamma", F.lgamma)
Digamma = declare("Digamma", F.digamma)
Logit = declare("Logit", lambda x, eps: F.logit(x, None if eps == -1 else eps), F.logit.__doc__, eps=-1.0)
NanToNum = declare("NanToNum", F.nan_to_num, nan=None, posinf=None, neginf=None)
PopulationCount = declare("PopulationCount", F.population_count)
Rint = declare("Rint", F.rint)
Round = declare("Round", F.round)
Sinc = declare("Sinc", F.sinc)
Trunc = declare("Trunc", F.trunc)

Angle = declare("Angle", F.angle)
ComplexAbs = declare("ComplexAbs", complex_abs)
Conj = declare("Conj", F.conj)
Imag = declare("Imag", F.imag)
Real = declare("Real", F.real)

# ---- two operands

Complex = declare("Complex", complex_)
Polar = declare("Polar", F.polar)
BitwiseAnd = declare("BitwiseAnd", F.bitwise_and)
BitwiseOr = declare("BitwiseOr", F.bitwise_or)
BitwiseXor = declare("BitwiseXor", F.bitwise_xor)
Div = declare("Div", F.div)
DivNoNan = declare("DivNoNan", F.div_no_nan)
FloorDiv = declare("FloorDiv", F.floor_divide)
Fmax = declare("Fmax", F.fmax)
Fmin = declare("Fmin", F.fmin)
Gcd = declare("Gcd", F.gcd)
Heaviside = declare("Heaviside", F.heaviside)
Hypot = declare("Hypot", F.hypot)
Lcm = declare("Lcm", F.lcm)
LeftShift = declare("LeftShift", F.bitwise_left_shift)
Mod = declare("Mod", F.truncate_mod)
MulNoNan = declare("MulNoNan", F.mul_no_nan)
RealDiv = declare("RealDiv", real_div)
RightShift = declare("RightShift", F.bitwise_right_shift)
SquaredDifference = declare("SquaredDifference", F.squared_difference)
TensorAdd = declare("TensorAdd", F.add)
TruncateDiv = declare("TruncateDiv", F.truncate_div)
TruncateMod = declare("TruncateMod", F.truncate_mod)
Xdivy = declare("Xdivy", F.xdivy)
Xlogy = declare("Xlogy", F.xlogy)
ApproximateEqual = declare("ApproximateEqual", F.approximate_equal, tolerance=1e-5)
IsClose = declare("IsClose", F.isclose, rtol=1e-5, atol=1e-8, equal_nan=False)


def _equal_count(x: Tensor, y: Tensor) -> Tensor:
    """How many elements are equal: one number of x's dtype, shape [1]."""
    require_alike("EqualCount", x=x, y=y)
    return F.reshape(F.reduce_sum(F.cast(F.equal(x, y), x.dtype)), (1,))


EqualCount = declare("EqualCount", _equal_count)

# ---- more than two

Addcdiv = declare("Addcdiv", F.addcdiv)
Addcmul = declare("Addcmul", F.addcmul)
AddN = declare("AddN", F.addn)
AccumulateNV2 = declare("AccumulateNV2", F.addn)
Lerp, LerpScalar = declare("Lerp", F.lerp), declare("LerpScalar", F.lerp)
