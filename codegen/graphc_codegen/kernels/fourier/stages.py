"""A transform of many numbers in stages of a few (Stockham's autosort), each lane of a vector for a transform of its own.

A stage of radix r takes numbers n / r apart and puts what it makes of them s apart, where s is the product of the radices before:
y[q + s (r p + k)] = w^(s p k) sum over j of x[q + s (p + n / (r s) j)] e^(-2 pi i j k / r), with w = e^(-2 pi i / n), q < s (Van
Loan, "Computational frameworks for the fast Fourier transform", 1992). After the last one they are in order.

A radix may be a product itself: its numbers are transformed in stages within memory of their own, which is so little that it
stays in the nearest cache. All numbers go through a farther one only once for such a radix.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from graphc_codegen.kernels.fourier.butterflies import Number, butterfly, times
from graphc_codegen.writer import Writer

Place = str | int
Load = Callable[[Place], Number]
Store = Callable[[Place, Number], None]
#: Radices of the stages, each itself a product of such that can be computed in registers.
Radices = Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True)
class Block:
    """Memory for complex numbers of all lanes: at each place a vector of real parts, then one of imaginary parts."""

    pointer: str

    def load(self, w: Writer, place: Place) -> Number:
        """The number at a place."""
        first = w.at(self.pointer, w.mul(place, 2 * w.lanes))
        return w.vload(first), w.vload(w.at(first, w.lanes))

    def store(self, w: Writer, place: Place, x: Number) -> None:
        """Write the number at a place."""
        first = w.at(self.pointer, w.mul(place, 2 * w.lanes))
        w.vstore(x[0], first)
        w.vstore(x[1], w.at(first, w.lanes))


@dataclass(frozen=True, slots=True)
class Turns:
    """A table of e^(-2 pi i k / size): cosines and negative sines in turn."""

    pointer: str
    size: int

    def turn(self, w: Writer, x: Number, step: int, *factors: Place) -> Number:
        """x w^k for k = step times the factors, which is less than the size, with w = e^(-2 pi i step / size) ..."""
        k: Place = step
        for factor in factors:
            k = w.mul(k, factor)
        if k == 0:
            return x
        place = w.at(self.pointer, w.mul(k, 2))
        return times(w, x, (w.load_splat(place), w.load_splat(w.at(place, 1))))


def transform(
    w: Writer,
    radices: Radices,
    turns: Turns,
    load: Load,
    store: Store,
    blocks: tuple[Block, Block],
    small: tuple[Block, Block],
) -> None:
    """The transform of what `load` gives at each place, to where `store` puts it.

    blocks: memory for what the stages hand on, of which the first one must not be what `load` reads, nor the last one used what
    `store` writes; small: for a radix that is a product.
    """
    count = math.prod(map(math.prod, radices))
    done = 1
    for number, radix in enumerate(radices):
        first, last = number == 0, number == len(radices) - 1
        source, target = blocks[(number + 1) % 2], blocks[number % 2]
        _stage(
            w,
            radix,
            count,
            done,
            turns,
            load if first else lambda place, block=source: block.load(w, place),
            store if last else lambda place, x, block=target: block.store(w, place, x),
            small,
        )
        done *= math.prod(radix)


def _stage(
    w: Writer,
    radix: Sequence[int],
    count: int,
    done: int,
    turns: Turns,
    load: Load,
    store: Store,
    small: tuple[Block, Block],
) -> None:
    """One stage of a transform of `count` numbers, `done` of which are in the sums that there are already."""
    r = math.prod(radix)
    rest, step = count // (done * r), turns.size // count

    def one(p: Place, q: Place) -> None:
        def taken(j: Place) -> Number:
            return load(w.linear((p, done), (q, 1), (j, done * rest)))

        def put(k: Place, x: Number) -> None:
            if rest > 1:
                x = turns.turn(w, x, step * done, p, k)
            store(w.linear((p, done * r), (q, 1), (k, done)), x)

        if len(radix) == 1:
            for k, x in enumerate(butterfly(w, [taken(j) for j in range(r)])):
                put(k, x)
        else:
            inner = Turns(turns.pointer, turns.size)
            transform(w, [(f,) for f in radix], inner, taken, put, small, small)

    w.repeat(rest, lambda p: w.repeat(done, lambda q: one(p, q)))
