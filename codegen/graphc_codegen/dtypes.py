"""The dtypes that kernels know."""

from __future__ import annotations

#: Bytes per element of every dtype that kernels know. Booleans are one byte, 0 or 1.
ITEMSIZE = {
    "float32": 4, "int32": 4, "int64": 8, "bool": 1, "float16": 2, "bfloat16": 2,
    "float64": 8, "int8": 1, "int16": 2, "uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8,
}  # fmt: skip

#: Floats of 16 bits. Loop kernels compute them in float32 and round after every instruction.
HALVES = ("float16", "bfloat16")
FLOATS = ("float32", "float64", *HALVES)
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTEGERS = ("int8", "int16", "int32", "int64", *UNSIGNED)


def integer_limits(dtype: str) -> tuple[int, int]:
    """The smallest and the largest number of an integer dtype."""
    bits = 8 * ITEMSIZE[dtype]
    return (0, (1 << bits) - 1) if dtype in UNSIGNED else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
