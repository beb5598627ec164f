"""More elements at the ends of axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, ShapeError, user_loc
from graphc.ops.declared import pad_modes
from graphc.ops.functional.core import Number, Operand, call, cast_to
from graphc.ops.functional.create import ones_like
from graphc.ops.functional.joining import concat
from graphc.ops.functional.logic import select
from graphc.ops.functional.shapes import broadcast_to, reshape, whole_numbers
from graphc.ops.functional.slicing import gather, getitem
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.checks import boolean, exact_int, one_of


def bordered(x: Tensor, paddings: Sequence[Sequence[int]], value: Number | Tensor = 0.0) -> Tensor:
    """x with (before, after) more elements per axis. value: a number, or a tensor of one, which has a gradient. Raises
    ArgumentValueError, ShapeError.
    """
    if any(len(pair) != 2 for pair in paddings):
        raise ArgumentValueError(
            f"pad: padding must come in pairs (before, after), got {paddings}",
            loc=user_loc(),
            help="(1, 1) is one more on both sides of the last axis",
        )
    ends = tuple((int(a), int(b)) for a, b in paddings)
    if not isinstance(value, Tensor):
        return call("Pad", x, paddings=ends, value=value)
    if value.size != 1:
        raise ShapeError(f"pad: value is {value.tensor_type}, expected one number", loc=user_loc())
    inside = call("Pad", ones_like(x, "bool"), paddings=ends, value=False)
    around = cast_to(reshape(value, ()), x.tensor_type.dtype)
    return select(inside, call("Pad", x, paddings=ends, value=0), around)


def pad(
    input_x: Tensor, padding: Any = None, mode: str = "constant", value: Operand | None = None, *, paddings: Any = None
) -> Tensor:
    """x with a border: `padding` is (before, after) of the last axis, then of the one before it, and so on.

    mode: "constant" (`value`, 0 by default; a negative number takes elements off), "reflect" or "replicate" (the last
    elements again). Pairs, one per axis from the first, are taken too, and by MindSpore 1's name `paddings`.
    """
    if (padding is None) == (paddings is None):
        raise ArgumentTypeError("pad: expected one of padding and paddings", loc=user_loc())
    padding = paddings if padding is None else padding
    if isinstance(padding, Tensor):
        padding = padding.asnumpy().tolist()
    padding = padding if isinstance(padding, (tuple, list)) else whole_numbers("pad", "padding", padding)
    if padding and isinstance(padding[0], (tuple, list)):
        pairs = [tuple(p) for p in padding]
    elif len(padding) % 2:
        raise ArgumentValueError(f"pad: padding must come in pairs (before, after), got {padding}", loc=user_loc())
    else:
        given = [tuple(padding[i : i + 2]) for i in range(0, len(padding), 2)]
        pairs = [(0, 0)] * (input_x.ndim - len(given)) + given[::-1]
    if mode == "constant":
        if len(pairs) == input_x.ndim and any(int(n) < 0 for pair in pairs for n in pair):
            input_x, pairs = _without(input_x, pairs)
        return bordered(input_x, pairs, 0 if value is None else value)
    kinds = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    if mode not in kinds:
        raise ArgumentValueError(f"pad: mode must be constant, {', '.join(kinds)}, got {mode!r}", loc=user_loc())
    return continued(input_x, pairs, kinds[mode])


def _without(x: Tensor, pairs: Sequence[Sequence[int]]) -> tuple[Tensor, list[tuple[int, int]]]:
    """x less the elements at the ends of axes that negative numbers are for, and the numbers that are left."""
    parts = []
    for size, (before, after) in zip(x.shape, pairs, strict=True):
        first, end = max(-int(before), 0), size - max(-int(after), 0)
        if first > end:
            raise ShapeError(
                f"pad: {x.tensor_type} has an axis with fewer elements than {pairs} takes off", loc=user_loc()
            )
        parts.append(slice(first, end))
    return getitem(x, tuple(parts)), [(max(int(a), 0), max(int(b), 0)) for a, b in pairs]


def continued(x: Tensor, pairs: Sequence[Sequence[int]], kind: str, *, again: bool = False) -> Tensor:
    """x with (before, after) more of its elements along each axis, chosen as NumPy's pad does by "reflect", "symmetric", "edge"
    and "wrap". Mirror images are no longer than the axis unless they may begin `again`. Raises ArgumentValueError, ShapeError.
    """
    paddings = tuple((int(before), int(after)) for before, after in pairs)
    if any(n < 0 for pair in paddings for n in pair):
        raise ArgumentValueError(f"pad: only constant borders may be negative, got {paddings}", loc=user_loc())
    if len(paddings) != x.ndim or any(any(p) and not n for n, p in zip(x.shape, paddings, strict=True)):
        raise ShapeError(f"pad: {x.tensor_type} cannot be continued by {paddings}, one pair an axis", loc=user_loc())
    if pad_modes.fits(kind, x.shape, paddings):
        return call("BorderPad", x, paddings=paddings, mode=kind) if any(map(any, paddings)) else x.value()
    for axis, pair in enumerate(paddings):
        if not again and kind in ("reflect", "symmetric") and max(pair) > pad_modes.longest(kind, x.shape[axis]):
            raise ShapeError(
                f"pad: a border of {max(pair)} does not fit axis {axis} of {x.tensor_type}, which is mirrored",
                loc=user_loc(),
            )
        if any(pair):
            x = _continued_far(x, axis, pair, kind)
    return x.value()


def _continued_far(x: Tensor, axis: int, pair: Sequence[int], kind: Any) -> Tensor:
    """The same along one axis, by more than it has."""
    size, before = x.shape[axis], int(pair[0])
    places = np.pad(np.arange(size, dtype=np.int32), pair, kind)
    ends = [_stretch(x, axis, p) for p in (places[:before], places[before + size :])]
    if any(part is None for part in ends):
        return gather(x, Tensor(places), axis)
    return concat([part for part in (ends[0], x, ends[1]) if part is not None and part.shape[axis]], axis)


def _stretch(x: Tensor, axis: int, places: Any) -> Tensor | None:
    """The elements of an axis at places that go up or down by one, or stay the same; None where these do not."""
    steps = {int(step) for step in np.diff(places)} or {1}
    if len(steps) > 1 or not steps <= {-1, 0, 1}:
        return None
    (step,), shape = steps, list(x.shape)
    begin = tuple(int(places[0]) if i == axis and len(places) else 0 for i in range(x.ndim))
    shape[axis] = len(places)
    taken = tuple(1 if i == axis and not step else n for i, n in enumerate(shape))
    along = tuple(step or 1 if i == axis else 1 for i in range(x.ndim))
    part = call("Slice", x, begin=begin, size=taken, step=along)
    return part if step else broadcast_to(part, shape)


def mirror_pad(input_x: Tensor, paddings: Any, mode: str) -> Tensor:
    """x continued beyond its borders by its mirror image: SYMMETRIC repeats the border, REFLECT does not."""
    pads = np.asarray(paddings.asnumpy() if isinstance(paddings, Tensor) else paddings)
    if pads.shape != (input_x.ndim, 2):
        raise ShapeError(
            f"mirror_pad: paddings have the shape {pads.shape}, expected {(input_x.ndim, 2)} for {input_x.tensor_type}",
            loc=user_loc(),
        )
    return continued(input_x, pads.tolist(), "symmetric" if mode == "SYMMETRIC" else "reflect")


def pad_by_axes(x: Tensor, paddings: Any, constant_value: Any, mode: str, paddings_contiguous: bool) -> Tensor:
    """x padded as by `pad`. paddings, also as a tensor that is known: (before, after) of the last axis, then of the one before
    it, or, not contiguous, all befores in that order, then all afters. mode: "constant", "reflect", "edge" or "circular".
    """
    kinds = {"constant": "constant", "reflect": "reflect", "edge": "replicate", "circular": "circular"}
    one_of("PadV3", "mode", mode, kinds)
    boolean("PadV3", "paddings_contiguous", paddings_contiguous)
    given = paddings.asnumpy().reshape(-1).tolist() if isinstance(paddings, Tensor) else list(paddings)
    if len(given) % 2 or len(given) > 2 * x.ndim:
        raise ArgumentValueError(f"PadV3: {len(given)} numbers of padding for {x.tensor_type}", loc=user_loc())
    half = len(given) // 2
    flat = given if paddings_contiguous else [n for pair in zip(given[:half], given[half:], strict=True) for n in pair]
    if mode != "constant" and constant_value is not None:
        raise ArgumentValueError(f"PadV3: mode {mode!r} has no constant_value", loc=user_loc())
    return pad(x, tuple(int(n) for n in flat), kinds[mode], constant_value)


def padding(x: Tensor, pad_dim_size: int = 8) -> Tensor:
    """x, whose last axis has the size 1, with zeros behind it up to pad_dim_size (MindSpore: ops.padding)."""
    exact_int("padding", "pad_dim_size", pad_dim_size)
    if pad_dim_size < 1 or x.ndim < 2 or x.shape[-1] != 1:
        raise ArgumentValueError(
            f"padding: expected a last axis of size 1 and a positive pad_dim_size, got {x.tensor_type} and {pad_dim_size}",
            loc=user_loc(),
        )
    return bordered(x, [*[(0, 0)] * (x.ndim - 1), (0, pad_dim_size - 1)], 0)


__all__ = [
    "mirror_pad",
    "pad",
    "padding",
]
