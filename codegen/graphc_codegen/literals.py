"""Numbers as LLVM text."""

from __future__ import annotations

import struct


def float_literal(x: float) -> str:
    """`x` rounded to float32, as LLVM's exact hexadecimal literal."""
    rounded = struct.unpack("f", struct.pack("f", x))[0] if abs(x) <= 3.4028235677973366e38 or x != x else x
    return f"0x{struct.unpack('<Q', struct.pack('<d', rounded))[0]:016X}"


def literal(x: float, type: str) -> str:
    """A constant of an element type as LLVM text."""
    if type == "float":
        return float_literal(float(x))
    if type == "double":
        return f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"
    if type == "i1":
        return "true" if x else "false"
    number, bits = int(x), int(type[1:])
    # Numbers of unsigned dtypes: LLVM's integers are written with a sign.
    return str(number - (1 << bits) if number >= 1 << (bits - 1) else number)
