"""Functions of ops as layers, under MindSpore's names: reductions, triangles and diagonals, special functions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc import ops
from graphc.errors import DTypeError, user_loc
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.ops.tensor.dtype import to_name
from graphc.ops.tensor.tensor import Tensor, as_tensor

Axes = int | Sequence[int]


def _axes(owner: str, axis: Any) -> tuple[int, ...]:
    """Axes as a tuple; an empty one stands for all."""
    if not isinstance(axis, (tuple, list)):
        axis = (axis,)
    for a in axis:
        if not checks.is_int(a):
            raise checks.wrong_type(owner, "axis", "an int or a tuple of ints", a)
    return tuple(axis)


def _floats(owner: str, *given: Any, dtypes: tuple[str, ...] = ("float16", "float32", "float64")) -> list[Tensor]:
    """The operands, of one and the same float dtype."""
    made = [as_tensor(x, f"{owner}: an operand") for x in given]
    found = {x.tensor_type.dtype for x in made}
    if not found <= set(dtypes) or len(found) != 1:
        raise DTypeError(
            f"{owner}: operands must be {' or '.join(dtypes)}, of one dtype, got {', '.join(sorted(found))}",
            loc=user_loc(),
        )
    return made


# ---- reductions


class Norm(Cell):
    """The square root of the sum of squares over axes, () for all (MindSpore: nn.Norm)."""

    def __init__(self, axis: Axes = (), keep_dims: bool = False) -> None:
        super().__init__()
        self.axis, self.keep_dims = _axes("Norm", axis), checks.boolean("Norm", "keep_dims", keep_dims)

    def construct(self, x: Any) -> Tensor:
        return ops.sqrt(ops.reduce_sum(ops.square(x), self.axis, self.keep_dims))

    def extend_repr(self) -> str:
        return f"axis={self.axis}, keep_dims={self.keep_dims}"


class Moments(Cell):
    """(mean, variance) over axes, None or () for all; the variance divides by the count (MindSpore: nn.Moments).

    float16 is computed in float32. DTypeError for other dtypes than float16, float32 and float64.
    """

    def __init__(self, axis: int | tuple[int, ...] | None = None, keep_dims: bool | None = None) -> None:
        super().__init__()
        self.axis = () if axis is None else _axes("Moments", axis)
        self.keep_dims = False if keep_dims is None else checks.boolean("Moments", "keep_dims", keep_dims)

    def construct(self, x: Any) -> tuple[Tensor, Tensor]:
        (x,) = _floats("Moments", x)
        wide = ops.cast(x, "float32") if x.tensor_type.dtype == "float16" else x
        axes = self.axis or tuple(range(x.ndim))
        mean = ops.reduce_mean(wide, axes, True)
        variance = ops.reduce_mean(ops.square(wide - ops.stop_gradient(mean)), axes, True)
        if not self.keep_dims:
            mean, variance = (ops.reduce_sum(m, axes, False) for m in (mean, variance))
        return ops.cast(mean, x.dtype), ops.cast(variance, x.dtype)


class ReduceLogSumExp(Cell):
    """log(sum(exp(x))) over axes, () for all, without overflow (MindSpore: nn.ReduceLogSumExp)."""

    def __init__(self, axis: Axes, keep_dims: bool = False) -> None:
        super().__init__()
        self.axis = _axes("ReduceLogSumExp", axis)
        self.keep_dims = checks.boolean("ReduceLogSumExp", "keep_dims", keep_dims)

    def construct(self, x: Any) -> Tensor:
        return ops.logsumexp(x, self.axis or None, self.keep_dims)


# ---- made of numbers, moved


class Range(Cell):
    """start, start + delta, ... before limit; from 0 up to start where limit is None (MindSpore: nn.Range).

    int32 for integers, else float32. ArgumentValueError for a delta of 0.
    """

    def __init__(self, start: float, limit: float | None = None, delta: float = 1) -> None:
        super().__init__()
        for name, value in (("start", start), ("limit", 0 if limit is None else limit), ("delta", delta)):
            checks.real("Range", name, value)
        if delta == 0:
            raise checks.wrong_value("Range", "delta", "another number than 0", delta)
        made = np.arange(start, limit, delta) if limit is not None else np.arange(0, start, delta)
        self.result = Tensor(made.astype(np.float32 if made.dtype.kind == "f" else np.int32))

    def construct(self) -> Tensor:
        return self.result.value()


class OneHot(Cell):
    """on_value at the index along a new axis of size depth, off_value elsewhere (MindSpore: nn.OneHot)."""

    def __init__(
        self,
        axis: int = -1,
        depth: int = 1,
        on_value: float = 1.0,
        off_value: float = 0.0,
        dtype: Any = "float32",
    ) -> None:
        super().__init__()
        self.axis = checks.integer("OneHot", "axis", axis, least=-1)
        self.depth, self.dtype = checks.integer("OneHot", "depth", depth, least=0), to_name(dtype)
        self.on_value = checks.real("OneHot", "on_value", on_value)
        self.off_value = checks.real("OneHot", "off_value", off_value)

    def construct(self, indices: Any) -> Tensor:
        on, off = (ops.cast(Tensor(v, "float32"), self.dtype) for v in (self.on_value, self.off_value))
        return ops.one_hot(indices, self.depth, on, off, self.axis)


class Roll(Cell):
    """Elements moved along axes, those beyond the end coming in at the beginning (MindSpore: nn.Roll).

    shift, axis: an int each, or as many of one as of the other.
    """

    def __init__(self, shift: Axes, axis: Axes) -> None:
        super().__init__()
        self.shift, self.axis = _axes("Roll", shift), _axes("Roll", axis)
        if len(self.shift) != len(self.axis):
            raise checks.wrong_value("Roll", "shift", f"{len(self.axis)} numbers, as many as axes", shift)

    def construct(self, input_x: Any) -> Tensor:
        return ops.roll(input_x, self.shift, self.axis)


# ---- matrices: the last two axes


class Tril(Cell):
    """Zeros above the k-th diagonal (MindSpore: nn.Tril)."""

    def construct(self, x: Any, k: int = 0) -> Tensor:
        return ops.tril(x, k)


class Triu(Cell):
    """Zeros below the k-th diagonal (MindSpore: nn.Triu)."""

    def construct(self, x: Any, k: int = 0) -> Tensor:
        return ops.triu(x, k)


class MatrixDiag(Cell):
    """The last axis as the main diagonal of square matrices (MindSpore: nn.MatrixDiag)."""

    def construct(self, input_x: Any) -> Tensor:
        return ops.matrix_diag(input_x)


class MatrixDiagPart(Cell):
    """The main diagonals (MindSpore: nn.MatrixDiagPart)."""

    def construct(self, input_x: Any) -> Tensor:
        return ops.matrix_diag_part(input_x)


class MatrixSetDiag(Cell):
    """input_x with other main diagonals (MindSpore: nn.MatrixSetDiag)."""

    def construct(self, input_x: Any, diagonal: Any) -> Tensor:
        return ops.matrix_set_diag(input_x, diagonal)


class MatMul(Cell):
    """The matrix product, either operand transposed if asked for; vectors are not (MindSpore: nn.MatMul).

    Axes before the last two are broadcast.
    """

    def __init__(self, transpose_x1: bool = False, transpose_x2: bool = False) -> None:
        super().__init__()
        self.transpose_x1 = checks.boolean("MatMul", "transpose_x1", transpose_x1)
        self.transpose_x2 = checks.boolean("MatMul", "transpose_x2", transpose_x2)

    def construct(self, x1: Any, x2: Any) -> Tensor:
        if self.transpose_x1 and x1.ndim > 1:
            x1 = ops.swapaxes(x1, -1, -2)
        if self.transpose_x2 and x2.ndim > 1:
            x2 = ops.swapaxes(x2, -1, -2)
        return ops.matmul(x1, x2)


class MatDet(Cell):
    """The determinant of square matrices; they need not be symmetric, as MindSpore's (MindSpore: nn.MatDet)."""

    def construct(self, a: Any) -> Tensor:
        return ops.det(a)


class MatInverse(Cell):
    """The inverse of square matrices; they need not be symmetric, as MindSpore's (MindSpore: nn.MatInverse)."""

    def construct(self, a: Any) -> Tensor:
        return ops.inverse(a)


# ---- special functions


class LGamma(Cell):
    """The logarithm of the absolute value of the gamma function; infinity at 0, -1, -2, ... (MindSpore: nn.LGamma).

    DTypeError for other dtypes than floats.
    """

    def construct(self, x: Any) -> Tensor:
        return ops.lgamma(*_floats("LGamma", x))


class DiGamma(Cell):
    """The derivative of log gamma; NaN at -1, -2, ... (MindSpore: nn.DiGamma). DTypeError for other dtypes than floats."""

    def construct(self, x: Any) -> Tensor:
        return ops.digamma(*_floats("DiGamma", x))


class IGamma(Cell):
    """The regularized lower incomplete gamma function P(a, x), by `ops.igamma` (MindSpore: nn.IGamma).

    DTypeError for other dtypes than floats, or two dtypes.
    """

    def construct(self, a: Any, x: Any) -> Tensor:
        return ops.igamma(*_floats("IGamma", a, x))


class LBeta(Cell):
    """lgamma(x) + lgamma(y) - lgamma(x + y) for positive x and y, by `log_beta` (MindSpore: nn.LBeta).

    DTypeError for other dtypes than floats, or two dtypes.
    """

    def construct(self, x: Any, y: Any) -> Tensor:
        return log_beta(*_floats("LBeta", x, y))


#: Of Stirling's series, log gamma(z) - ((z - 1/2) log z - z + log(2 pi) / 2), in 1 / z, 1 / z**3, ...
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188)
#: From here on the series is exact to float64's rounding but for 1e-12.
_LARGE = 10.0


def log_beta(x: Tensor, y: Tensor) -> Tensor:
    """log of the beta function of positive numbers, broadcast; the large terms of large numbers cancel on paper."""
    low, high = ops.minimum(x, y), ops.maximum(x, y)
    # Each way gets numbers in its own range: nothing infinite comes into the gradient of the others.
    big_low, big_high = ops.maximum(low, _LARGE), ops.maximum(high, _LARGE)
    small_low, small_high = ops.minimum(low, _LARGE), ops.minimum(high, _LARGE)
    shared = ops.log1p(low / big_high)
    tail = _correction(big_high) - _correction(low + big_high)
    one = ops.lgamma(small_low) + low - low * ops.log(low + big_high) - (big_high - 0.5) * shared + tail
    ratio = ops.log1p(big_low / big_high)
    both = (
        0.5 * math.log(2 * math.pi)
        - 0.5 * ops.log(big_low)
        - big_low * ops.log1p(big_high / big_low)
        - (big_high - 0.5) * ratio
        + _correction(big_low)
        + _correction(big_high)
        - _correction(big_low + big_high)
    )
    plain = ops.lgamma(small_low) + ops.lgamma(small_high) - ops.lgamma(small_low + small_high)
    return ops.select(low >= _LARGE, both, ops.select(high >= _LARGE, one, plain))


def _correction(z: Tensor) -> Tensor:
    square = 1 / (z * z)
    made: Any = _STIRLING[-1]
    for c in reversed(_STIRLING[:-1]):
        made = made * square + c
    corrected: Tensor = made / z
    return corrected


__all__ = [
    "DiGamma",
    "IGamma",
    "LBeta",
    "LGamma",
    "MatDet",
    "MatInverse",
    "MatMul",
    "MatrixDiag",
    "MatrixDiagPart",
    "MatrixSetDiag",
    "Moments",
    "Norm",
    "OneHot",
    "Range",
    "ReduceLogSumExp",
    "Roll",
    "Tril",
    "Triu",
]
