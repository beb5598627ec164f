"""What the functions share: operands, promotion, casts."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Annotated, Any
from typing import cast as _typed

import numpy as np
from ml_dtypes import finfo

from graphc import dispatch
from graphc.errors import ArgumentValueError, DTypeError, GraphcWarning, stacklevel, user_loc
from graphc.ir.types import COMPLEX, numpy_dtype
from graphc.ops.tensor.call import at_once
from graphc.ops.tensor.call import call as call_op
from graphc.ops.tensor.deferred import Deferred
from graphc.ops.tensor.dtype import promote, promote_scalar, promote_scaled, to_name
from graphc.ops.tensor.tensor import Tensor, as_tensor
from graphc.validation.annotations import KNOWN

Axis = int | Sequence[int] | None

Number = bool | int | float

Operand = Tensor | Number

#: The same along each axis, or one for each.
Ints = int | Sequence[int]

#: A number that must be known, in a tensor too.
Count = Annotated[int | Tensor, KNOWN]

#: The same, of any kind of numbers.
Real = Annotated[Tensor | Number, KNOWN]

#: Sizes of axes, or one. In a tensor they must be known.
Shape = Annotated[int | Sequence[int] | Tensor, KNOWN]

#: The same, None where the operand, or a default, says them.
Extents = Annotated[int | Sequence[int | None] | Tensor | None, KNOWN]


def call(op: str, *operands: Tensor, **attrs: Any) -> Tensor:
    return _typed(Tensor, call_op(op, *operands, **attrs))


def shape_of(x: Tensor) -> tuple[int, ...]:
    """The shape of a tensor, with sizes that the step counts."""
    active = dispatch.recorder.get()
    return x.shape if active is None else active.shape_of(x)


def is_eager() -> bool:
    """Whether what is called is computed at once, outside of a compiled Cell."""
    active = dispatch.recorder.get()
    return active is None or active.immediate


def is_compared() -> bool:
    """Whether traces for several sizes are compared, so that nothing may be chosen by a size."""
    active = dispatch.recorder.get()
    return active is not None and active.compared


def is_number(x: Any) -> bool:
    return isinstance(x, (bool, int, float, np.generic)) and not isinstance(x, np.complexfloating)


def pythons(x: Any) -> Any:
    """A number of NumPy's as Python's, which has no dtype of its own; anything else as it is."""
    return x.item() if isinstance(x, np.generic) else x


def number(x: Any, dtype: str) -> Tensor:
    """A Python number as a 0-d tensor of a dtype; an integer that the dtype lacks as `in_range` says."""
    if isinstance(x, Deferred):
        return cast_to(x.tensor(), dtype)
    with np.errstate(over="ignore"):  # What a dtype lacks is infinite, as where a tensor is cast.
        made = Tensor.wrap(np.asarray(in_range(x, dtype), numpy_dtype(dtype)))
    made.is_number = True
    return made


def in_range(x: Any, dtype: str) -> Any:
    """A Python number; an integer that an integer dtype lacks, modulo the dtype's range, with a GraphcWarning (GC113): 300 is
    44 in int8 and uint8, as in MindSpore.

    ArgumentValueError for what MindSpore refuses: integers beyond int64, and any that uint16, uint32 and uint64 lack.
    """
    kind = np.dtype(numpy_dtype(dtype))
    if isinstance(x, bool) or not isinstance(x, int) or kind.kind not in "iu":
        return x
    limits = np.iinfo(kind)
    if limits.min <= x <= limits.max:
        return x
    if dtype in ("uint16", "uint32", "uint64") or not -(2**63) <= x < 2**63:
        raise ArgumentValueError(
            f"{x} is no number of dtype {dtype}",
            loc=user_loc(),
            help="a Python integer takes the dtype of the tensor beside it: cast that to a wider dtype first",
        )
    wrapped = (x - int(limits.min)) % 2**limits.bits + int(limits.min)
    warnings.warn(
        f"[GC113] {x} is no number of dtype {dtype}, which a Python integer beside a tensor takes: it counts as {wrapped}",
        GraphcWarning,
        stacklevel=stacklevel(),
    )
    return wrapped


def pair(op: str, x: Any, y: Any) -> tuple[Tensor, Tensor]:
    """Both operands as tensors of the dtype in which MindSpore computes them."""
    x, y = (v.tensor() if isinstance(v, Deferred) else v for v in (x, y))
    if isinstance(x, Tensor) and isinstance(y, Tensor):
        return _pair_of_tensors(op, x, y)
    if is_number(x) and is_number(y):
        x = as_tensor(x)
    if is_number(x):
        second, first = pair(op, y, x)
        return first, second
    x = as_tensor(x, f"{op}: x")
    if is_number(y):
        y = y.item() if isinstance(y, np.generic) else y
        dtype = promote_scalar(x.tensor_type.dtype, y)
        return cast_to(x, dtype), number(y, dtype)
    return _pair_of_tensors(op, x, as_tensor(y, f"{op}: y"))


def _pair_of_tensors(op: str, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    one, other = x.tensor_type, y.tensor_type
    if x.is_number != y.is_number:
        tensor, scalar = (other, one) if x.is_number else (one, other)
        kind = True if scalar.dtype == "bool" else 1.0 if scalar.is_float else 1
        dtype = promote_scalar(tensor.dtype, kind)
    elif op in ("Mul", "Div", "fmod"):
        dtype = promote_scaled(op, one.dtype, other.dtype, one.rank, other.rank)
    else:
        dtype = promote(op, one.dtype, other.dtype)
    return cast_to(x, dtype), cast_to(y, dtype)


def cast_to(x: Tensor, dtype: str) -> Tensor:
    """x in the dtype named as in the IR; x itself if it has it. DTypeError where that would drop an imaginary part."""
    if x.tensor_type.dtype == dtype:
        return x
    if x.tensor_type.is_complex and dtype not in ("bool", *COMPLEX):
        raise DTypeError(
            f"{x.tensor_type} is complex, what is computed here is {dtype}",
            loc=user_loc(),
            help="take a part of it first: ops.real(x), ops.imag(x), ops.abs(x)",
        )
    return call("Cast", x, dtype=dtype)


def greatest(dtype: str) -> float:
    """The greatest finite number of a float dtype; the least one is its opposite."""
    limits: Any = finfo
    return float(limits(numpy_dtype(dtype)).max)


def halves_widened(x: Tensor) -> Tensor:
    """float16 and bfloat16 in float32, in which their sums are taken; others as they are."""
    return cast(x, "float32") if x.tensor_type.dtype in ("float16", "bfloat16") else x


def real_only(op: str, *xs: Any) -> None:
    """DTypeError for a complex operand, where what is computed of real numbers would mean nothing, or something else."""
    for x in xs:
        if isinstance(x, Tensor) and x.tensor_type.is_complex:
            raise DTypeError(
                f"{op}: an operand is {x.tensor_type}, expected real numbers",
                loc=user_loc(),
                help="take a part of it first: ops.real(x), ops.imag(x), ops.abs(x)",
            )


def cast(input: Operand, dtype: Any) -> Tensor:
    """input in another dtype. Of a number it makes a tensor, whose dtype counts beside others."""
    name = to_name(dtype)
    if is_number(input) and not isinstance(input, Deferred):
        # In float64 first: float32 would round twice what becomes float64.
        exact = Tensor.wrap(np.asarray(input)) if isinstance(input, float) else as_tensor(input)
        return at_once("Cast", (exact,), {"dtype": name})[0]
    tensor = as_tensor(input)
    made = (tensor if tensor.tensor_type.dtype == name else call("Cast", tensor, dtype=name)).value()
    if made.is_number:
        # The same value, no longer standing for a Python number.
        active: Any = dispatch.recorder.get()
        made = Tensor.wrap(made.array) if made.array is not None else active.wrap(active.resolve(made))
    return made


def bound_in(x: Operand, dtype: str) -> Tensor:
    """`cast` of what is brought into a dtype unasked: DTypeError where that would drop an imaginary part."""
    return cast_to(x, dtype) if isinstance(x, Tensor) else cast(x, dtype)


def as_bool(x: Operand) -> Tensor:
    return cast_to(as_tensor(x), "bool")


# ---- one operand


def as_float(x: Operand) -> Tensor:
    """x itself if it is a float or complex tensor, else in float32."""
    tensor = as_tensor(x)
    return tensor if tensor.tensor_type.is_inexact else cast_to(tensor, "float32")


def type_as(input: Tensor, other: Tensor) -> Tensor:
    """x in the dtype of another tensor."""
    return cast(input, other.dtype)


def cast_pair(results: Any) -> tuple[Tensor, Tensor]:
    first, second = results
    return first, second


__all__ = [
    "cast",
    "type_as",
]
