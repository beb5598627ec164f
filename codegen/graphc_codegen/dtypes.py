"""The dtypes that kernels know."""

from __future__ import annotations

#: Bytes per element of every dtype that kernels know. Booleans are one byte, 0 or 1.
ITEMSIZE = {
    "float32": 4, "int32": 4, "int64": 8, "bool": 1, "float16": 2, "bfloat16": 2,
    "float64": 8, "int8": 1, "int16": 2, "uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8,
}  # fmt: skip
#: LLVM type of one element in a register, and in memory. `graphc_codegen.scalars.halves` converts the 16-bit floats.
REGISTER = {
    "float32": "float", "float64": "double", "float16": "float", "bfloat16": "float", "bool": "i1",
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "uint8": "i8", "uint16": "i16", "uint32": "i32", "uint64": "i64",
}  # fmt: skip
MEMORY = {**REGISTER, "bool": "i8", "float16": "i16", "bfloat16": "i16"}

#: Floats of 16 bits. Loop kernels compute them in float32 and round after every instruction.
HALVES = ("float16", "bfloat16")
FLOATS = ("float32", "float64", *HALVES)
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = ("int8", "int16", "int32", "int64", *UNSIGNED)


def integer_limits(dtype: str) -> tuple[int, int]:
    """The smallest and the largest number of an integer dtype."""
    bits = 8 * ITEMSIZE[dtype]
    return (0, (1 << bits) - 1) if dtype in UNSIGNED else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
