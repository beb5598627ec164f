"""How sums are kept exact: the one place where that is decided. Kernels only do what they are told.

A float32 accumulator of n equal terms is off by up to n / 2 roundings of its sum, 6e-8 each. So one takes a block of terms, few
enough that this does not show; blocks are brought together in float64. docs/decisions.md says what accuracy that gives.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from graphc.ir.types import HALVES
from graphc_codegen.program import NamedKernel, facts

#: Terms that an accumulator of a sum takes at most: 1e-6.
_SUM = 32
#: Factors of a product whose roundings add up to no more; longer ones are multiplied in float64, as blocks would not help.
_PRODUCT = 16
#: Matrix products up to _SHORT_MATRIX terms have no blocks, up to _LONG_MATRIX blocks of _MATRIX terms, beyond those of sums. A
#: tile has dozens of accumulators: with blocks of 32 terms it takes 13 % of the time to bring them together, with 128 3 %.
_SHORT_MATRIX, _MATRIX, _LONG_MATRIX = 1024, 128, 1 << 14
#: The longest rows without blocks: with vectors of 8 lanes an accumulator takes no more than a block there.
_ROW = 8 * _SUM
#: Elements of the largest vectors.
_VECTOR = 16
#: Elements of float64 that are soon at hand.
_NEAR = 1 << 14


def block(combine: str, dtype: str, terms: int) -> int:
    """`program.Output.block` of so many terms."""
    if dtype not in ("float32", *HALVES):
        return 0
    if combine == "prod":
        return int(terms > _PRODUCT)
    return _SUM if combine == "sum" and terms > _SUM else 0


def kernel(name: str, params: dict[str, Any]) -> NamedKernel:
    """The named kernel with its `block`, if it has a sum that is long enough."""
    given = tuple(params.items())
    # By what tells kernels apart: equal layers have one, of which all is found out once.
    key = name, repr(given)
    known = _KERNELS.get(key)
    if known is None:
        if len(_KERNELS) >= _MOST_KERNELS:
            _KERNELS.clear()
        known = _KERNELS[key] = _with_block(NamedKernel(name, given), params)
    return known


#: Named kernels by name and parameters.
_KERNELS: dict[tuple[str, str], NamedKernel] = {}
_MOST_KERNELS = 4096


def _with_block(made: NamedKernel, params: dict[str, Any]) -> NamedKernel:
    terms = facts(made).terms if params.get("dtype") != "float64" else None
    most = _kernel_block(made.name, params, terms(params)) if terms is not None else 0
    return replace(made, params=(*made.params, ("block", most))) if most else made


def by_rows(kernel: NamedKernel) -> bool:
    """Whether rows are added up in registers of float64, so that no table of such numbers is needed.

    They fill vectors, and that table would not stay in the nearest cache, where it is as fast.
    """
    p: dict[str, Any] = dict(kernel.params)
    large = kernel.name in ("gather_grad", "scatter") and p["inner"] >= _VECTOR and p["size"] * p["inner"] > _NEAR
    return large and in_float64(kernel)


def in_parts(block: int, terms: int) -> int:
    """The block of a matrix product whose terms are added up in parts of some hundred, and these in turn: 0 where that is exact
    enough.
    """
    return block if terms > _LONG_MATRIX else 0


def in_float64(kernel: NamedKernel) -> bool:
    """Whether the kernel's result is float64, which is to be rounded."""
    return facts(kernel).float64 and "block" in dict(kernel.params)


def _kernel_block(name: str, params: dict[str, Any], terms: int) -> int:
    if name in ("gather_grad", "scatter", "scatter_elements"):
        # A table of float64 should not be larger than what is added.
        return int(terms > _SUM and terms >= params["size"])
    if name in ("gemm", "conv2d", "conv2d_channels"):
        return 0 if terms <= _SHORT_MATRIX else _MATRIX if terms <= _LONG_MATRIX else _SUM
    if name == "conv2d_filter_grad":  # Its lanes run along the pixels.
        return _MATRIX if terms > 8 * _MATRIX else 0
    return _SUM if terms > _ROW else 0
