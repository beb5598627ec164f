"""dtype objects with MindSpore's names, and its promotion of operands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from graphc.errors import DTypeError, user_loc
from graphc.errors.suggestions import nearest, question
from graphc.ir.types import COMPLEX, DTYPES, FLOATS, INTEGERS, UNSIGNED, dtype_name, numpy_dtype


@dataclass(frozen=True, slots=True)
class DType:
    """A dtype as users name it: `graphc.float32`. Prints as MindSpore's `Float32`, inside of containers by that name."""

    name: str

    def __str__(self) -> str:
        for start, shown in (("bf", "BF"), ("ui", "UI")):
            if self.name.startswith(start):
                return shown + self.name[2:]
        return self.name.capitalize()

    def __repr__(self) -> str:
        return f"{_package}.{self.name}"

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return _named, (self.name,)

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return numpy_dtype(self.name).itemsize


#: The package that scripts have dtypes of.
_package = "graphc"


def of_package(name: str) -> None:
    """Let dtypes be shown as those of a package, "graphc" or "mindspore"."""
    global _package
    _package = name


def _named(name: str) -> DType:
    """The object of that name: copies and unpickled dtypes are the same objects."""
    return BY_NAME[name]


#: One object for each dtype, so that `x.dtype is graphc.float32` holds, too.
BY_NAME = {name: DType(name) for name in DTYPES}

bool_ = BY_NAME["bool"]

int8, int16, int32, int64 = (BY_NAME[f"int{bits}"] for bits in (8, 16, 32, 64))

uint8, uint16, uint32, uint64 = (BY_NAME[f"uint{bits}"] for bits in (8, 16, 32, 64))

float16, bfloat16, float32, float64 = (BY_NAME[name] for name in ("float16", "bfloat16", "float32", "float64"))

complex64, complex128 = BY_NAME["complex64"], BY_NAME["complex128"]

#: C's and NumPy's names, as MindSpore has them.
byte, short, intc, long, intp = int8, int16, int32, int64, int64
ubyte, ushort, uintc, uintp = uint8, uint16, uint32, uint64
half, single, double, cfloat, cdouble = float16, float32, float64, complex64, complex128


#: Python's types as dtypes. (A Python float, without a dtype, becomes a float32 tensor.)
_OF_PYTHON = {bool: "bool", int: "int64", float: "float64", complex: "complex128"}


def to_name(dtype: Any) -> str:
    """The IR's name of a dtype given as DType, NumPy dtype, Python type or string; DTypeError if it is none."""
    if isinstance(dtype, DType):
        return dtype.name
    if isinstance(dtype, type) and dtype in _OF_PYTHON:
        return _OF_PYTHON[dtype]
    # NumPy may not know bfloat16 by its name.
    name = dtype if isinstance(dtype, str) and dtype in DTYPES else dtype_name(dtype)
    if name is None:
        tensor = getattr(dtype, "tensor_type", None)
        raise DTypeError(
            f"{f'a tensor {tensor}' if tensor else repr(dtype)} is no dtype that graphc knows",
            loc=user_loc(),
            details=[f"dtypes are {', '.join(DTYPES)}"],
            help="x.dtype is that of a tensor"
            if tensor
            else question(nearest(dtype, DTYPES))
            if isinstance(dtype, str)
            else None,
        )
    return name


_WIDTH = {
    "int8": 8,
    "uint8": 8,
    "int16": 16,
    "int32": 32,
    "int64": 64,
    "uint16": 16,
    "uint32": 32,
    "uint64": 64,
    "float16": 16,
    "bfloat16": 16,
    "float32": 32,
    "float64": 64,
}


#: Integers that MindSpore converts to no other number.
_ALONE = UNSIGNED[1:]


def promote(op: str, a: str, b: str) -> str:
    """The dtype in which MindSpore computes two tensors of dtypes a and b.

    DTypeError for two bools, and for unsigned integers of more than 8 bits with anything but themselves and bools.
    """
    if a == b == "bool":
        raise DTypeError(f"{op} is not defined for two bool tensors", help="cast one: ops.cast(x, graphc.int32)")
    if a == b or b == "bool":
        return a
    if a == "bool":
        return b
    for one, other in ((a, b), (b, a)):
        if one in _ALONE:
            raise DTypeError(
                f"{op}: {one} and {other} are not converted to a common dtype, as in MindSpore",
                loc=user_loc(),
                help="cast one: ops.cast(x, graphc.int64)",
            )
    if a in COMPLEX or b in COMPLEX:
        return "complex128" if {a, b} & {"complex128", "float64"} else "complex64"
    if (a in FLOATS) != (b in FLOATS):
        return a if a in FLOATS else b
    if {a, b} == {"uint8", "int8"}:
        return "int16"
    if {a, b} == {"float16", "bfloat16"}:
        return "float32"
    return a if _WIDTH[a] >= _WIDTH[b] else b


def promote_scaled(op: str, a: str, b: str, a_rank: int, b_rank: int) -> str:
    """The dtype of a product or quotient: a factor without axes takes the dtype of a tensor of its kind that has some."""
    same_kind = (a in FLOATS and b in FLOATS) or (a in INTEGERS and b in INTEGERS)
    if same_kind and (a_rank == 0) != (b_rank == 0):
        return b if a_rank == 0 else a
    return promote(op, a, b)


def promote_scalar(dtype: str, scalar: bool | int | float) -> str:
    """The dtype of tensor and Python number: the tensor's, but a float lifts integers and an int lifts bools."""
    if isinstance(scalar, bool):
        return dtype
    if isinstance(scalar, int):
        return "int64" if dtype == "bool" else dtype
    return "float32" if dtype in INTEGERS or dtype == "bool" else dtype


__all__ = [
    "DType", "bfloat16", "bool_", "byte", "cdouble", "cfloat", "complex64", "complex128", "double", "float16",
    "float32", "float64", "half", "int8", "int16", "int32", "int64", "intc", "intp", "long", "short", "single",
    "ubyte", "uint8", "uint16", "uint32", "uint64", "uintc", "uintp", "ushort",
]  # fmt: skip
