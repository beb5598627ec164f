"""How sums are kept exact: the one place where that is decided. Kernels only do what they are told.

A float32 accumulator of n equal terms is off by up to n / 2 units in the last place of its sum, 6e-8 each. So one takes a block of
terms, few enough that this does not show; blocks are brought together in float64.
"""

from __future__ import annotations

from typing import Any

from graphc.ir.types import HALVES
from graphc_codegen.program import NamedKernel, facts

#: Terms that an accumulator of a sum takes at most: 16 units, 1e-6.
_SUM = 32
#: Factors of a product whose roundings add up to no more; longer ones are multiplied in float64, as blocks would not help.
_PRODUCT = 16
#: Terms of an accumulator of a matrix product, which has dozens of them: with fewer, bringing them together would show in the
#: time. Products that are not much longer have no blocks.
_MATRIX, _LONG_MATRIX = 256, 1024
#: Terms that sums along rows have at least, to have blocks: with vectors of 8 lanes that is a block.
_ROW = 8 * _SUM


def block(combine: str, dtype: str, terms: int) -> int:
    """`program.Output.block` of so many terms."""
    if dtype not in ("float32", *HALVES):
        return 0
    if combine == "prod":
        return int(terms > _PRODUCT)
    return _SUM if combine == "sum" and terms > _SUM else 0


def kernel(name: str, params: dict[str, Any]) -> NamedKernel:
    """The named kernel with its `block`, if it has a sum that is long enough."""
    made = NamedKernel(name, tuple(params.items()))
    terms = facts(made).terms
    if terms is None:
        return made
    most, least = (_MATRIX, _LONG_MATRIX) if name == "gemm" else (_SUM, _ROW)
    return NamedKernel(name, (*made.params, ("block", most))) if terms(params) > least else made
