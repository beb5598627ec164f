"""MindSpore's classes and groups of dtypes: `isinstance(dtype, Float)`, `dtype in number_type`."""

from __future__ import annotations

from typing import Any

from graphc.compat.toplevel import number
from graphc.errors import ArgumentValueError, user_loc
from graphc.ir.types import DTYPES
from graphc.ops.tensor.dtype import BY_NAME, DType


class _Kind(type):
    """A class whose instances are the dtypes of a kind: those whose names are its prefix and a number of bits."""

    prefix: str

    def __instancecheck__(cls, dtype: Any) -> bool:
        return isinstance(dtype, DType) and _kind(dtype) == cls.prefix

    def __call__(cls, bits: int) -> DType:
        name = f"{cls.prefix}{bits}"
        if name not in DTYPES:
            known = ", ".join(d for d in DTYPES if _kind(BY_NAME[d]) == cls.prefix)
            raise ArgumentValueError(f"there is no dtype {name}, only {known}", loc=user_loc())
        return BY_NAME[name]


def _kind(dtype: DType) -> str:
    return dtype.name.rstrip("0123456789")


class Float(metaclass=_Kind):
    """float16, float32, float64: `Float(32)` is float32."""

    prefix = "float"


class BFloat(metaclass=_Kind):
    """bfloat16."""

    prefix = "bfloat"


class Int(metaclass=_Kind):
    """int8 to int64."""

    prefix = "int"


class UInt(metaclass=_Kind):
    """uint8 and what wider ones there are."""

    prefix = "uint"


uint = UInt


def _of(*kinds: str) -> tuple[DType, ...]:
    return tuple(d for d in BY_NAME.values() if _kind(d) in kinds)


int_type, uint_type, float_type = _of("int"), _of("uint"), _of("float", "bfloat")
signed_type = _of("int", "float", "bfloat", "complex")
number_type = _of("int", "uint", "float", "bfloat", "complex")
all_types = _of("bool", "int", "uint", "float", "bfloat", "complex")
complex_type = _of("complex")


def type_size_in_bytes(dtype: DType) -> int:
    """Bytes of an element."""
    return dtype.itemsize


def _issubclass_(type_: Any, dtype: Any) -> bool:
    """Whether a dtype is another, or one of a class of dtypes or of `number`."""
    if not isinstance(type_, DType):
        return False
    if dtype == number:
        return type_ in number_type
    return isinstance(type_, dtype) if isinstance(dtype, _Kind) else type_ == dtype


__all__ = [
    "BFloat", "Float", "Int", "UInt", "all_types", "complex_type", "float_type", "int_type", "number", "number_type",
    "signed_type", "type_size_in_bytes", "uint", "uint_type",
]  # fmt: skip
