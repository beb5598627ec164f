"""More elements at the ends of axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc.errors import ArgumentValueError, user_loc
from graphc.ops.functional.core import Number, call
from graphc.ops.functional.slicing import gather
from graphc.ops.tensor.tensor import Tensor


def bordered(x: Tensor, paddings: Sequence[Sequence[int]], value: Number = 0.0) -> Tensor:
    """x with (before, after) more elements per axis."""
    if any(len(pair) != 2 for pair in paddings):
        raise ArgumentValueError(
            f"pad: padding must come in pairs (before, after), got {paddings}",
            loc=user_loc(),
            help="(1, 1) is one more on both sides of the last axis",
        )
    return call("Pad", x, paddings=tuple((int(a), int(b)) for a, b in paddings), value=value)


def pad(input_x: Tensor, padding: Any, mode: str = "constant", value: Any = None) -> Tensor:
    """x with a border: `padding` is (before, after) of the last axis, then of the one before it, and so on.

    mode: "constant" (`value`, 0 by default), "reflect" or "replicate" (the last elements again). Pairs, one per axis from
    the first, are taken too.
    """
    if isinstance(padding, Tensor):
        padding = padding.asnumpy().tolist()
    if padding and isinstance(padding[0], (tuple, list)):
        pairs = [tuple(p) for p in padding]
    else:
        given = [tuple(padding[i : i + 2]) for i in range(0, len(padding), 2)]
        pairs = [(0, 0)] * (input_x.ndim - len(given)) + given[::-1]
    if mode == "constant":
        return bordered(input_x, pairs, 0 if value is None else value)
    kinds = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    if mode not in kinds:
        raise ArgumentValueError(f"pad: mode must be constant, {', '.join(kinds)}, got {mode!r}", loc=user_loc())
    for axis, pair in enumerate(pairs):
        if pair != (0, 0):
            kind: Any = kinds[mode]
            input_x = gather(input_x, Tensor(np.pad(np.arange(input_x.shape[axis], dtype=np.int32), pair, kind)), axis)
    return input_x.value()


def mirror_pad(input_x: Tensor, paddings: Any, mode: str) -> Tensor:
    """x continued beyond its borders by its mirror image: SYMMETRIC repeats the border, REFLECT does not."""
    pads = np.asarray(paddings.asnumpy() if isinstance(paddings, Tensor) else paddings).tolist()
    for axis, pair in enumerate(pads):
        if any(pair):
            kind: Any = "symmetric" if mode == "SYMMETRIC" else "reflect"
            places = np.pad(np.arange(input_x.shape[axis], dtype=np.int32), pair, kind)
            input_x = gather(input_x, Tensor(places), axis)
    return input_x.value()


__all__ = [
    "mirror_pad",
    "pad",
]
