"""How sums are kept exact: the one place where that is decided. Kernels only do what they are told.

A float32 accumulator of n equal terms is off by up to n / 2 units in the last place of its sum, 6e-8 each. So one takes a block of
terms, few enough that this does not show; blocks are brought together in float64.
"""

from __future__ import annotations

from graphc.ir.types import HALVES

#: Terms that an accumulator of a sum takes at most: 16 units, 1e-6.
_SUM = 32
#: Factors of a product whose roundings add up to no more; longer ones are multiplied in float64, as blocks would not help.
_PRODUCT = 16


def block(combine: str, dtype: str, terms: int) -> int:
    """`program.Output.block` of so many terms."""
    if dtype not in ("float32", *HALVES):
        return 0
    if combine == "prod":
        return int(terms > _PRODUCT)
    return _SUM if combine == "sum" and terms > _SUM else 0
