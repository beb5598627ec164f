"""Conversions of vectors between dtypes."""

from __future__ import annotations

from graphc_codegen.dtypes import FLOATS, HALVES, REGISTER, UNSIGNED
from graphc_codegen.scalars import halves, maths_float64
from graphc_codegen.writer import MANGLED, Writer, vec


def cast(w: Writer, x: str, source: str, target: str) -> str:
    """Convert a vector between two dtypes."""
    a, b = REGISTER[source], REGISTER[target]
    if source == target:
        return x
    if (source, target) == ("float64", "float16"):
        return halves.rounded(w, maths_float64.to_float(w, x), target)
    if target in HALVES:
        return halves.rounded(w, cast(w, x, source, "float32"), target)
    if source in HALVES:
        return cast(w, x, "float32", target)
    if target == "bool":
        return truth(w, x, source)
    if source in FLOATS:
        return _from_float(w, x, a, target)
    unsigned = source == "bool" or source in UNSIGNED
    if target in FLOATS:
        return w.convert("uitofp" if unsigned else "sitofp", x, a, b)
    return _resized(w, x, a, b, unsigned)


def _from_float(w: Writer, x: str, a: str, target: str) -> str:
    """float or double to the other one, or to an integer."""
    b = REGISTER[target]
    if target in FLOATS:
        return w.convert("fpext" if b == "double" else "fptrunc", x, a, b)
    name = "fptoui" if target in UNSIGNED else "fptosi"
    name = f"llvm.{name}.sat.v{w.lanes}{b}.v{w.lanes}{MANGLED[a]}"
    return w.call(name, vec(b, w.lanes), [(vec(a, w.lanes), x)])


def _resized(w: Writer, x: str, a: str, b: str, unsigned: bool) -> str:
    """An integer of another width; of the same width it has the same bits."""
    if a == b:
        return x
    wider = int(b[1:]) > int(a[1:])
    return w.convert("trunc" if not wider else "zext" if unsigned else "sext", x, a, b)


def truth(w: Writer, x: str, dtype: str) -> str:
    """`x != 0` as a vector of i1; NaN is true."""
    compare = "fcmp une" if dtype in FLOATS else "icmp ne"
    return w.binary(compare, x, "zeroinitializer", REGISTER[dtype])
