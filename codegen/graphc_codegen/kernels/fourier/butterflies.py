"""Transforms of a few complex numbers that stand in registers; each lane of a vector belongs to a transform of its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from graphc_codegen.writer import Writer

#: Vectors of real and of imaginary parts.
Number = tuple[str, str]
Numbers = Sequence[Number]


def butterfly(w: Writer, x: Numbers) -> list[Number]:
    """y[k] = sum of x[j] e^(-2 pi i j k / n) over j: n is 2, 4, 8 or odd."""
    if len(x) == 1:
        return list(x)
    small: dict[int, Callable[[Writer, Numbers], list[Number]]] = {2: _two, 4: _four, 8: _eight}
    return small.get(len(x), _odd)(w, x)


def times(w: Writer, x: Number, by: Number) -> Number:
    """The product of complex numbers."""
    (a, b), (c, d) = x, by
    minus = w.negative(b)
    return w.fma(minus, d, w.binary("fmul", a, c)), w.fma(a, d, w.binary("fmul", b, c))


def _sum(w: Writer, x: Number, y: Number) -> Number:
    return w.binary("fadd", x[0], y[0]), w.binary("fadd", x[1], y[1])


def _difference(w: Writer, x: Number, y: Number) -> Number:
    return w.binary("fsub", x[0], y[0]), w.binary("fsub", x[1], y[1])


def _two(w: Writer, x: Numbers) -> list[Number]:
    return [_sum(w, x[0], x[1]), _difference(w, x[0], x[1])]


def _turned_sum(w: Writer, x: Number, y: Number) -> tuple[Number, Number]:
    """x - i y and x + i y."""
    less = w.binary("fadd", x[0], y[1]), w.binary("fsub", x[1], y[0])
    more = w.binary("fsub", x[0], y[1]), w.binary("fadd", x[1], y[0])
    return less, more


def _four(w: Writer, x: Numbers) -> list[Number]:
    (a, b), (c, d) = _two(w, (x[0], x[2])), _two(w, (x[1], x[3]))
    one, three = _turned_sum(w, b, d)
    return [_sum(w, a, c), one, _difference(w, a, c), three]


def _eight(w: Writer, x: Numbers) -> list[Number]:
    """Even terms and odd ones; those are turned by eighths of a circle."""
    even, odd = _four(w, x[0::2]), _four(w, x[1::2])
    half = w.constant(math.sqrt(0.5))

    def eighth(y: Number) -> Number:
        """(1 - i) y / sqrt 2"""
        return (
            w.binary("fmul", w.binary("fadd", y[0], y[1]), half),
            w.binary("fmul", w.binary("fsub", y[1], y[0]), half),
        )

    first, third = eighth(odd[1]), eighth(odd[3])
    low, high = [_sum(w, even[0], odd[0]), _sum(w, even[1], first)], [_difference(w, even[0], odd[0])]
    high.append(_difference(w, even[1], first))
    for pair in (_turned_sum(w, even[2], odd[2]), _turned_sum(w, even[3], third)):
        low.append(pair[0])
        high.append(pair[1])
    return [*low, *high]


def _odd(w: Writer, x: Numbers) -> list[Number]:
    """Terms j and n - j have equal cosines and opposite sines."""
    n = len(x)
    pairs = [(_sum(w, x[j], x[n - j]), _difference(w, x[j], x[n - j])) for j in range(1, n // 2 + 1)]
    total = x[0]
    for both, _ in pairs:
        total = _sum(w, total, both)
    made = [total] * n
    for k in range(1, n // 2 + 1):
        cosines, sines = x[0], None
        for j, (both, apart) in enumerate(pairs, 1):
            angle = 2 * math.pi * (j * k % n) / n
            cosine, sine = w.constant(math.cos(angle)), w.constant(math.sin(angle))
            cosines = w.fma(both[0], cosine, cosines[0]), w.fma(both[1], cosine, cosines[1])
            if sines is None:
                sines = w.binary("fmul", apart[0], sine), w.binary("fmul", apart[1], sine)
            else:
                sines = w.fma(apart[0], sine, sines[0]), w.fma(apart[1], sine, sines[1])
        assert sines is not None
        made[k], made[n - k] = _turned_sum(w, cosines, sines)
    return made
