"""The geometry of convolutions: sizes, taps, and how output pixels are packed into vectors.

Lanes are output pixels. A narrow row does not fill a vector, so a vector may take pixels of several rows:
it is loaded in pieces, one masked load each. Which packing is best is decided by an estimate of cycles.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from graphc_codegen.kernels.base import Array, Params
from graphc_codegen.kernels.microkernel import Pieces, strips

#: Along rows of an image, and along columns.
Pair = tuple[int, int]
#: Accumulators that must be in flight to hide the latency of a multiply-add (two units, four cycles).
IN_FLIGHT = 8


@dataclass(frozen=True)
class Sizes:
    """Static sizes of a convolution, see `CONV2D`; `plane` is one phase plane, `image` a channel's phases.

    Strides and dilations are (vertical, horizontal). With `groups` of channels ci and co are those of one group.
    """

    n: int
    ci: int
    co: int
    h: int
    w: int
    kh: int
    kw: int
    oh: int
    ow: int
    stride: Pair
    dilation: Pair
    groups: int = 1

    @classmethod
    def of(cls, p: Params) -> Sizes:
        return cls(**{name: p[name] for name in cls.__dataclass_fields__ if name in p})

    @cached_property
    def plane(self) -> int:
        return self.h * self.w

    @cached_property
    def image(self) -> int:
        return math.prod(self.stride) * self.plane

    @cached_property
    def taps(self) -> int:
        return self.kh * self.kw

    @cached_property
    def pixels(self) -> int:
        return self.oh * self.ow

    def tap(self, ky: int, kx: int) -> int:
        """Offset of a tap's pixel from the output pixel's own."""
        (sh, sw), y, x = self.stride, ky * self.dilation[0], kx * self.dilation[1]
        return (y % sh * sw + x % sw) * self.plane + y // sh * self.w + x // sw

    @cached_property
    def period(self) -> int:
        """Kernel rows this far apart lie in the same phase."""
        return self.stride[0] // math.gcd(self.stride[0], self.dilation[0])

    @cached_property
    def row_step(self) -> int:
        """Distance in x between such rows."""
        return self.period * self.dilation[0] // self.stride[0] * self.w

    def kernel_rows(self) -> list[tuple[int, int]]:
        """(first row, number of rows) of every run of kernel rows in the same phase."""
        return [(first, math.ceil((self.kh - first) / self.period)) for first in range(min(self.period, self.kh))]

    def window(self, x: Array, ky: int, kx: int) -> Array:
        """The pixels that a tap multiplies: a view [n, groups, ci, oh, ow] of an array of the size of x."""
        (sh, sw), y, x0 = self.stride, ky * self.dilation[0], kx * self.dilation[1]
        plane = x.reshape(self.n, self.groups, self.ci, sh, sw, self.h, self.w)[:, :, :, y % sh, x0 % sw]
        return plane[:, :, :, y // sh : y // sh + self.oh, x0 // sw : x0 // sw + self.ow]


@dataclass(frozen=True, slots=True)
class Group:
    """Some output rows, or a part of one, as vectors: `count` groups of `rows` rows from row `start`.

    `across` parts of a row from `column`, `width` apart, make a group each. `image` are the pieces of each
    vector in the input plane, `result` in the output plane, both relative to the first pixel of the group.
    """

    start: int
    count: int
    rows: int
    column: int
    across: int
    width: int
    image: tuple[Pieces, ...]
    result: tuple[Pieces, ...]


#: Estimated cycles of one tap for a group.
Cost = Callable[[Group], float]


def _vectors(rows: int, columns: int, lanes: int, pitch: int) -> tuple[Pieces, ...]:
    """Rows of pixels one after another, cut into vectors; pieces of an image whose rows are `pitch` apart."""
    result = []
    total = rows * columns
    for first in range(0, total, lanes):
        pieces: list[tuple[int, int, int]] = []
        last = min(first + lanes, total)
        at = first
        while at < last:
            row, column = divmod(at, columns)
            offset, count = row * pitch + column, min(columns - column, last - at)
            if pieces and pieces[-1][0] + pieces[-1][2] == offset:
                pieces[-1] = (pieces[-1][0], pieces[-1][1], pieces[-1][2] + count)
            else:
                pieces.append((offset, at - first, count))
            at += count
        result.append(tuple(pieces))
    return tuple(result)


def _rows(z: Sizes, lanes: int, start: int, count: int, rows: int) -> Group:
    image, result = _vectors(rows, z.ow, lanes, z.w), _vectors(rows, z.ow, lanes, z.ow)
    return Group(start, count, rows, 0, 1, z.ow, image, result)


def _apart(z: Sizes, lanes: int, start: int, count: int, rows: int) -> Group:
    """Rows whose vectors are their own: fewer loads, and lanes that are not used."""
    cut = [(column, min(lanes, z.ow - column)) for column in range(0, z.ow, lanes)]

    def vectors(pitch: int) -> tuple[Pieces, ...]:
        return tuple(((row * pitch + column, 0, width),) for row in range(rows) for column, width in cut)

    return Group(start, count, rows, 0, 1, z.ow, vectors(z.w), vectors(z.ow))


def _parts(z: Sizes, lanes: int, vectors: int) -> list[Group]:
    """Single rows, cut into strips."""
    groups = []
    for column, across, widths in strips(z.ow, lanes, vectors):
        pieces = _vectors(1, sum(widths), lanes, 0)
        groups.append(Group(0, z.oh, 1, column, across, sum(widths), pieces, pieces))
    return groups


def packings(z: Sizes, lanes: int, vectors: int) -> list[list[Group]]:
    """Ways to cover the output plane by groups of at most `vectors` vectors each.

    Long rows are cut into strips. Else there are two ways for each number of rows per group, with vectors that go on from row to
    row and without; the last rows make a smaller group.
    """
    if z.ow > lanes * vectors:
        return [_parts(z, lanes, vectors)]
    choices = []
    for pack, most in ((_rows, lanes * vectors // z.ow), (_apart, vectors // -(-z.ow // lanes))):
        # With whole vectors, or one row, both are the same.
        for rows in range(1, min(z.oh, most) + 1) if pack is _rows or z.ow % lanes else ():
            count, rest = divmod(z.oh, rows)
            groups = [pack(z, lanes, 0, count, rows)]
            if rest:
                groups.append(pack(z, lanes, count * rows, 1, rest))
            choices.append(groups)
    return choices


def total(groups: list[Group], cost: Cost) -> float:
    """Estimated cycles per tap for the whole plane."""
    return sum(g.count * g.across * cost(g) for g in groups)


def loads(vectors: Sequence[Pieces], lanes: int) -> int:
    """Estimated load cycles of some vectors. Masked loads cost more without the mask registers of AVX-512."""

    def one(pieces: Pieces) -> int:
        if len(pieces) > 1:
            return (3 if lanes >= 16 else 4) * len(pieces)
        return 1 if lanes >= 16 or pieces[0][2] == lanes else 2

    return sum(one(pieces) for pieces in vectors)
