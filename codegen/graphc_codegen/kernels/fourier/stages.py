"""A transform of many numbers in stages of a few (Stockham's autosort), each lane of a vector for a transform of its own.

A stage of radix r takes numbers n / r apart and puts what it makes of them s apart, where s is the product of the radices before:
y[q + s (r p + k)] = w^(s p k) sum over j of x[q + s (p + n / (r s) j)] e^(-2 pi i j k / r), with w = e^(-2 pi i / n), q < s (Van
Loan, "Computational frameworks for the fast Fourier transform", 1992). After the last one they are in order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from graphc_codegen.kernels.fourier.butterflies import Number, butterfly, times
from graphc_codegen.writer import Writer

Place = str | int
#: Of a place, and how many further on.
Load = Callable[[Place, int], Number]
Store = Callable[[Place, int, Number], None]


@dataclass(frozen=True, slots=True)
class Block:
    """Memory for complex numbers of all lanes: at each place a vector of real parts, then one of imaginary parts."""

    pointer: str

    def load(self, w: Writer, place: Place, further: int) -> Number:
        """The number at a place, so many further on."""
        first = self._at(w, place, further)
        return w.vload(first), w.vload(w.at(first, w.lanes))

    def store(self, w: Writer, place: Place, further: int, x: Number) -> None:
        """Write the number at a place, so many further on."""
        first = self._at(w, place, further)
        w.vstore(x[0], first)
        w.vstore(x[1], w.at(first, w.lanes))

    def _at(self, w: Writer, place: Place, further: int) -> str:
        # In two steps: known distances cost nothing.
        return w.at(w.at(self.pointer, w.mul(place, 2 * w.lanes)), further * 2 * w.lanes)


def transform(
    w: Writer, radices: Sequence[int], turns: str, load: Load, store: Store, blocks: tuple[Block, Block]
) -> None:
    """The transform of what `load` gives at each place, to where `store` puts it.

    radices: their product is the number of numbers. turns: the address of a table of e^(-2 pi i k / n), cosines and negative
    sines in turn. blocks: memory for what the stages hand on, of which the first one must not be what `load` reads; the last
    stage reads the one that `last_block` does not give.
    """
    count, done = math.prod(radices), 1
    for number, radix in enumerate(radices):
        source, target = blocks[(number + 1) % 2], blocks[number % 2]
        taken: Load = load if number == 0 else partial(source.load, w)
        put: Store = store if number == len(radices) - 1 else partial(target.store, w)
        _stage(w, radix, (count, done), turns, taken, put)
        done *= radix


def last_block(radices: Sequence[int], blocks: tuple[Block, Block]) -> Block:
    """The block in which the last stage may leave what it makes."""
    return blocks[(len(radices) - 1) % 2]


def _stage(w: Writer, radix: int, sizes: tuple[int, int], turns: str, load: Load, store: Store) -> None:
    """One stage of a transform of so many numbers, so many of which are in the sums that there are already."""
    count, done = sizes
    rest = count // (done * radix)

    def one(p: Place, q: Place) -> None:
        source, target = w.linear((p, done), (q, 1)), w.linear((p, done * radix), (q, 1))
        taken = [load(source, j * done * rest) for j in range(radix)]
        for k, x in enumerate(butterfly(w, taken)):
            if rest > 1 and k:
                place = w.at(turns, w.mul(p, 2 * done * k))
                x = times(w, x, (w.load_splat(place), w.load_splat(w.at(place, 1))))
            store(target, k * done, x)

    w.repeat(rest, lambda p: w.repeat(done, lambda q: one(p, q)))
