"""A complex value as its parts, and what rules share."""

from __future__ import annotations

from typing import NamedTuple

from graphc.ir import Builder, TensorType, Value


class Parts(NamedTuple):
    """Real and imaginary parts; `im` is None where they are known to be zero, as those of a real value."""

    re: Value
    im: Value | None = None


def imaginary(g: Builder, x: Parts) -> Value:
    """The imaginary parts, of the shape of the real ones."""
    return x.im if x.im is not None else zeros(g, g.type(x.re))


def zeros(g: Builder, type: TensorType) -> Value:
    """Zeros of a type."""
    zero = g.constant(0.0, type.dtype)
    return broadcast(g, zero, type.shape)


def broadcast(g: Builder, x: Value, shape: tuple[int, ...]) -> Value:
    """x in a shape to which it can be broadcast."""
    if g.type(x).shape == shape:
        return x
    made: Value = g.BroadcastTo(x, shape=shape)
    return made
