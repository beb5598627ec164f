"""The gradient of a convolution along one axis with respect to its weights, by the transposed form of Winograd's
F(4, 3) or F(4, 2). That of F(4, 5) would be off by ten times as much as the direct kernel.

dW = G^T [sum over tiles of (A dy) * (B^T x)]: as in `filter_grad`, with the tiles of `lines`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from graphc_codegen.errors import CodegenError
from graphc_codegen.kernels.base import Array, Emitter, Operand, Params
from graphc_codegen.kernels.winograd.filter_grad import add_products
from graphc_codegen.kernels.winograd.line_forward import line_windows
from graphc_codegen.kernels.winograd.lines import Lines, to_points
from graphc_codegen.kernels.winograd.plan import Sums
from graphc_codegen.kernels.winograd.transforms import clear, nth_of
from graphc_codegen.writer import Writer


@dataclass(frozen=True, kw_only=True)
class _Plan(Sums, Lines):
    """V and dy's tiles (in the place of M) of a block; besides, V of one point with channels as lanes, and the bracket."""

    @cached_property
    def per_tile(self) -> int:
        return super().per_tile + self.channels

    @cached_property
    def fixed(self) -> int:
        return super().fixed + self.products * self.u

    def cycles(self, vectors: int) -> float:
        return self.sum_cycles(vectors) + self.transform_cycles(vectors)


def operands(p: Params) -> tuple[Operand, ...]:
    """x [n, ci, h, w], dy [n, co, h, ow] -> scratch, dw [co, ci, taps]. See `CONV2D_LINE_WINOGRAD` for the parameters.

    dw[o, i, k] = sum of x[n, i, l, q - left + k * step] * dy[n, o, l, q], where x is zero outside.
    """
    z = _Plan.of_lines(p)
    if z.taps > 3:
        raise CodegenError(
            f"gradients of {z.taps} taps along an axis are not made by Winograd's algorithm, only of 2 or 3"
        )
    return (
        Operand("float32", z.n * z.channels_in * z.h * z.w, "in"),
        Operand("float32", z.n * z.co * z.h * z.ow, "in"),
        Operand("float32", z.scratch, "out"),
        Operand("float32", z.co * z.ci * z.taps, "out"),
    )


def emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """Each thread sums over its blocks; then each transforms its part of the sums."""
    z = _Plan.of_lines(p, w.threads, w.lanes)
    x, dy, scratch, dw = pointers

    def lines(r: str | int) -> None:
        v = w.at(scratch, w.mul(r, z.region))
        m = w.at(v, z.products * z.v)
        temporary = w.at(m, z.products * z.m)
        bracket = w.at(temporary, z.tiles * z.channels)
        clear(w, temporary, z.tiles * z.channels + z.products * z.u)
        w.part(r, z.regions, z.blocks, partial(block, v, m, temporary, bracket))

    def block(v: str, m: str, temporary: str, bracket: str, b: str | int) -> None:
        if z.total % z.vectors:
            # Products are summed over all the tiles of a block: those that are none must be zeros.
            clear(w, v, z.products * (z.v + z.m))
        to_points(w, z, b, x, v, gradient=False, distance=z.v)
        to_points(w, z, b, dy, m, gradient=True, distance=z.m)
        w.stage([m, v, temporary, bracket], [], lambda w, pointers, _: add_products(w, z, *pointers))

    def results(r: str | int) -> None:
        brackets = w.at(scratch, z.region - z.products * z.u)
        w.part(r, z.regions, z.co, lambda o: _results(w, z, brackets, w.at(dw, w.mul(o, z.taps * z.ci)), o))

    w.share(z.regions, lines)
    w.meet()
    w.share(z.regions, results)


def _results(w: Writer, z: _Plan, brackets: str, target: str, o: str | int) -> None:
    """dW of one output channel from the brackets of all threads, lanes being input channels."""
    lanes, width = w.lanes, min(w.lanes, z.ci)

    def strip(j: str | int) -> None:
        # The last strip may do channels of the one before again.
        first = w.mul(j, lanes)
        if z.ci % lanes and z.ci > lanes:
            first = w.smaller(first, z.ci - lanes)
        source = w.at(brackets, w.linear((o, z.channels), (first, 1)))
        points = []
        for e in range(z.products):
            value = w.vload(w.at(source, e * z.u))
            for k in range(1, z.regions):
                value = w.binary("fadd", value, w.vload(w.at(source, e * z.u + k * z.region)))
            points.append(value)
        place = w.at(target, w.mul(first, z.taps))
        for k, value in enumerate(nth_of(w, z.points.weight_gradient(w, points, z.taps))):
            left = min(lanes, z.taps * width - k * lanes)
            if left > 0:
                w.vstore(value, w.at(place, k * lanes), left)

    w.repeat(-(-z.ci // lanes), strip)


@np.errstate(all="ignore")
def twin(p: Params, x: Array, dy: Array, scratch: Array, dw: Array) -> None:
    z = _Plan.of_lines(p)
    gradient, out = dy.reshape(z.n, z.co, z.h, z.ow), dw.reshape(z.co, z.ci, z.taps)
    for k in range(z.taps):
        out[:, :, k] = np.einsum("nihw,nohw->oi", line_windows(z, x, k), gradient, optimize=True)


CONV2D_FILTER_GRAD_LINE_WINOGRAD = Emitter(operands, emit, twin)
