"""The transforms of Winograd's algorithm along one axis, F(m, r): m outputs of a correlation with r taps from m + r - 1 products.

Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks" (2015): y = A^T [(G g) * (B^T d)]. Polynomials are evaluated
at as many points as there are products: 0, pairs of numbers of opposite sign, and perhaps infinity. The rows of B^T are the
products of the linear factors of all other points, with leading coefficients of 1; A and G evaluate, G with the factors that this
leaves.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from graphc_codegen.writer import Writer


@dataclass(frozen=True)
class Points:
    """0, plus and minus the roots of `squares`, and infinity; every method but `matrix` works on vectors."""

    squares: tuple[float, ...]
    infinity: bool = True

    @cached_property
    def count(self) -> int:
        return 2 * len(self.squares) + 1 + self.infinity

    @property
    def _last(self) -> int:
        """Behind the last of the pairs."""
        return 2 * len(self.squares) + 1

    @cached_property
    def roots(self) -> tuple[float, ...]:
        return tuple(float(np.float32(math.sqrt(s))) for s in self.squares)

    @cached_property
    def _all(self) -> list[float]:
        """Coefficients of the product of all x^2 - square, in powers of x^2."""
        return _product(self.squares)

    @cached_property
    def _others(self) -> list[list[float]]:
        """The same for each root without its own factor."""
        return [_product([s for s in self.squares if s != own]) for own in self.squares]

    @cached_property
    def _scales(self) -> list[float]:
        """The factors of G: for 0, then for each pair of roots."""
        pairs = [2 * own * math.prod(own - s for s in self.squares if s != own) for own in self.squares]
        return [1 / x for x in (math.prod(-s for s in self.squares), *pairs)]

    def _power(self, root: int, k: int) -> float:
        return math.prod([self.squares[root]] * (k // 2) + [self.roots[root]] * (k % 2))

    def input(self, w: Writer, d: Sequence[str]) -> list[str]:
        """B^T d: as many pixels as points to points."""
        evens, odds = d[2 : self._last : 2], d[1 : self._last - 1 : 2]
        made = [_sum(w, zip(self._all, d[: self._last : 2], strict=True))]
        for root, factors in zip(self.roots, self._others, strict=True):
            even, odd = (_sum(w, zip(factors, half, strict=True)) for half in (evens, odds))
            made += [w.fma(w.constant(sign * root), odd, even) for sign in (1, -1)]
        return [*made, _sum(w, zip(self._all, d[1::2], strict=True))] if self.infinity else made

    def patch(self, w: Writer, u: Sequence[str]) -> list[str]:
        """B u, the transpose of `input`: points to an input's gradient."""
        terms: list[list[tuple[float, str]]] = [[] for _ in range(self.count)]
        for k, factor in enumerate(self._all):
            terms[2 * k].append((factor, u[0]))
            if self.infinity:
                terms[2 * k + 1].append((factor, u[-1]))
        pairs = self._pairs(w, u)
        for root, factors, (total, less) in zip(self.roots, self._others, pairs, strict=True):
            for k, factor in enumerate(factors):
                terms[2 * k + 1].append((factor * root, less))
                terms[2 * k + 2].append((factor, total))
        return [_sum(w, t) for t in terms]

    def output(self, w: Writer, m: Sequence[str], count: int) -> list[str]:
        """A^T m: points to `count` outputs, 2 at least."""
        return self._back(w, m, count, [1.0] * (len(self.roots) + 1))

    def gradient(self, w: Writer, y: Sequence[str]) -> list[str]:
        """A y, the transpose of `output`: an output's gradient to points."""
        made = [y[0]]
        for i, root in enumerate(self.roots):
            even, odd = (_sum(w, [(self._power(i, 2 * k), x) for k, x in enumerate(y[start::2])]) for start in (0, 1))
            made += [w.fma(w.constant(sign * root), odd, even) for sign in (1, -1)]
        return [*made, y[-1]] if self.infinity else made

    def weights(self, w: Writer, g: Sequence[str]) -> list[str]:
        """G g: taps, 2 at least, to points."""
        made = [_sum(w, [(self._scales[0], g[0])])]
        for i, scale in enumerate(self._scales[1:]):
            terms = [(scale * self._power(i, k), x) for k, x in enumerate(g)]
            even, odd = _sum(w, terms[::2]), _sum(w, terms[1::2])
            made += [w.binary(op, even, odd) for op in ("fadd", "fsub")]
        return [*made, g[-1]] if self.infinity else made

    def weight_gradient(self, w: Writer, u: Sequence[str], count: int) -> list[str]:
        """G^T u, the transpose of `weights`: points to `count` taps."""
        return self._back(w, u, count, self._scales)

    def matrix(self, count: int) -> list[list[float]]:
        """G for so many taps, 2 at least: a row for each point."""
        first, *scales = self._scales
        rows = [
            [scale * self._power(i, k) * sign**k for k in range(count)]
            for i, scale in enumerate(scales)
            for sign in (1, -1)
        ]
        ends = [[first] + [0.0] * (count - 1), [0.0] * (count - 1) + [1.0]]
        return [ends[0], *rows, ends[1]] if self.infinity else [ends[0], *rows]

    def _back(self, w: Writer, u: Sequence[str], count: int, scales: Sequence[float]) -> list[str]:
        """The transpose of an evaluation with these factors."""
        pairs = self._pairs(w, u)
        terms = [
            [(scales[i + 1] * self._power(i, k), pair[k % 2]) for i, pair in enumerate(pairs)] for k in range(count)
        ]
        terms[0].append((scales[0], u[0]))
        if self.infinity:
            terms[-1].append((1.0, u[-1]))
        return [_sum(w, t) for t in terms]

    def _pairs(self, w: Writer, u: Sequence[str]) -> list[tuple[str, str]]:
        """Sum and difference of each pair of points."""
        firsts = range(1, self._last, 2)
        return [(w.binary("fadd", u[i], u[i + 1]), w.binary("fsub", u[i], u[i + 1])) for i in firsts]


def _product(squares: Sequence[float]) -> list[float]:
    return [float(c) for c in np.polynomial.polynomial.polyfromroots(squares)]


def _sum(w: Writer, terms: Iterable[tuple[float, str]]) -> str:
    """The sum of products of constants and vectors."""
    (factor, value), *rest = sorted(terms, key=lambda term: term[0] != 1)
    if factor != 1:
        value = w.binary("fmul", w.constant(factor), value)
    for factor, x in rest:
        value = w.binary("fadd", value, x) if factor == 1 else w.fma(w.constant(factor), x, value)
    return value


#: Rounding errors of F(4, 3) along both axes are two to four times those of a sum of products; with the usual points 0, 1, -1, 2,
#: -2 and infinity five to ten times. Along one axis they are at most twice, for F(2, 5) 1.3 times.
SIX = Points((0.5, 2.0))
#: Two and a half times for F(4, 5) along one axis.
EIGHT = Points((0.25, 1.0, 4.0))
#: Those of F(4, 2) along both axes are two to three times.
FIVE = Points((0.64, 4.0), infinity=False)
BY_COUNT = {p.count: p for p in (FIVE, SIX, EIGHT)}
