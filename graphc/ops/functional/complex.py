"""Complex numbers: parts, conjugates, angles, and how they are made."""

from __future__ import annotations

from graphc.errors import DTypeError, user_loc
from graphc.ops.functional.arithmetic import div
from graphc.ops.functional.core import Operand, call, cast_to
from graphc.ops.functional.create import ones_like, zeros_like
from graphc.ops.functional.elementwise import abs_, atan2, cos, equal, mul, sign, sin
from graphc.ops.functional.joining import stack
from graphc.ops.functional.logic import select
from graphc.ops.functional.operand_checks import require_alike
from graphc.ops.tensor.methods import method
from graphc.ops.tensor.tensor import Tensor, as_tensor


def _complex_only(op: str, x: Operand) -> Tensor:
    tensor = as_tensor(x, f"{op}: input")
    if not tensor.tensor_type.is_complex:
        raise DTypeError(
            f"{op}: input is {tensor.tensor_type}, expected a complex tensor",
            loc=user_loc(),
            help="ops.cast(x, graphc.complex64)",
        )
    return tensor


def complex_(real: Tensor, imag: Tensor) -> Tensor:
    """real + i imag, broadcast: complex64 of two float32 tensors, complex128 of two float64 ones. DTypeError for others."""
    return call("Complex", as_tensor(real, "Complex: real"), as_tensor(imag, "Complex: imag"))


def polar(abs: Tensor, angle: Tensor) -> Tensor:
    """abs e^(i angle), of two tensors of one shape of float32 or of float64. DTypeError for others."""
    size, turn = as_tensor(abs, "polar: abs"), as_tensor(angle, "polar: angle")
    for name, x in (("abs", size), ("angle", turn)):
        if x.tensor_type.dtype not in ("float32", "float64"):
            raise DTypeError(f"polar: {name} is {x.tensor_type}, expected dtype float32 or float64", loc=user_loc())
    require_alike("polar", abs=size, angle=turn)
    return complex_(mul(size, cos(turn)), mul(size, sin(turn)))


@method()
def real(input: Tensor) -> Tensor:
    """The real part; of real numbers themselves."""
    x = as_tensor(input)
    return call("Real", x) if x.tensor_type.is_complex else x.twin()


@method()
def imag(input: Tensor) -> Tensor:
    """The imaginary part; of real numbers zeros."""
    x = as_tensor(input)
    return call("Imag", x) if x.tensor_type.is_complex else zeros_like(x)


@method()
def conj(input: Tensor) -> Tensor:
    """The conjugate; of real numbers themselves."""
    x = as_tensor(input)
    return call("Conj", x) if x.tensor_type.is_complex else x.twin()


@method()
def angle(input: Tensor) -> Tensor:
    """The angle of complex numbers, in [-pi, pi]: a float. DTypeError for real ones, as in MindSpore."""
    x = _complex_only("angle", input)
    return atan2(call("Imag", x), call("Real", x))


@method()
def isreal(input: Tensor) -> Tensor:
    """bool: whether the imaginary part is 0."""
    x = as_tensor(input)
    return equal(call("Imag", x), 0) if x.tensor_type.is_complex else ones_like(x, "bool")


def view_as_real(input: Tensor) -> Tensor:
    """Real and imaginary parts along a new last axis of size 2. DTypeError for real tensors."""
    x = _complex_only("view_as_real", input)
    return stack([call("Real", x), call("Imag", x)], -1)


def complex_abs(input: Tensor) -> Tensor:
    """The absolute values of complex numbers: a float. DTypeError for real ones."""
    return abs_(_complex_only("ComplexAbs", input))


@method()
def sgn(input: Operand) -> Tensor:
    """-1, 0 or 1; of complex numbers x / |x|, and 0 at 0."""
    x = as_tensor(input, "sgn: input")
    if not x.tensor_type.is_complex:
        return sign(x)
    size = abs_(x)
    none = equal(size, 0)
    return select(none, zeros_like(x), div(x, select(none, 1.0, size)))


def as_complex(x: Tensor) -> Tensor:
    """x itself if it is complex, else with imaginary parts of 0: of float64 in complex128, of other dtypes in complex64."""
    if x.tensor_type.is_complex:
        return x
    return cast_to(x, "complex128" if x.tensor_type.dtype == "float64" else "complex64")


__all__ = ["angle", "conj", "imag", "isreal", "polar", "real", "sgn", "view_as_real"]
