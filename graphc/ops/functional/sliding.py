"""Windows over the last axes of sequences, images and volumes: how many there are, and what they read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, ShapeError, user_loc
from graphc.ops.functional.slicing import getitem
from graphc.ops.tensor.tensor import Tensor

Sizes = tuple[int, ...]


def per_axis(owner: str, name: str, value: Any, axes: int, least: int = 1) -> Sizes:
    """An int for every axis, or one for each. ArgumentTypeError and ArgumentValueError for anything else."""
    sizes = tuple(value) if isinstance(value, (tuple, list)) else (value,) * axes
    sizes = sizes * axes if len(sizes) == 1 else sizes
    if any(isinstance(s, bool) or not isinstance(s, (int, np.integer)) for s in sizes):
        raise ArgumentTypeError(f"{owner}: {name} must be an int or a tuple of {axes}, got {value!r}", loc=user_loc())
    if len(sizes) != axes or min(sizes) < least:
        raise ArgumentValueError(
            f"{owner}: {name} must be an int or {axes} of them, at least {least}, got {value!r}", loc=user_loc()
        )
    return tuple(int(s) for s in sizes)


def both_ends(owner: str, name: str, value: Any, axes: int) -> tuple[tuple[int, int], ...]:
    """(before, after) of each axis: of an int, of one int per axis, or of two."""
    if isinstance(value, (tuple, list)) and len(value) == 2 * axes:
        ends = per_axis(owner, name, value, 2 * axes, least=0)
        return tuple((ends[2 * i], ends[2 * i + 1]) for i in range(axes))
    return tuple((p, p) for p in per_axis(owner, name, value, axes, least=0))


def same_ends(sizes: Sequence[int], kernel: Any, stride: Any, dilation: Any, axes: int) -> list[tuple[int, int]]:
    """(before, after) of each of some axes for ceil(size / stride) windows; an odd element goes to the end."""
    given = (("kernel", kernel), ("stride", stride), ("dilation", dilation))
    checked = (per_axis("same_pad", name, value, axes) for name, value in given)
    made = []
    for n, k, s, d in zip(sizes, *checked, strict=True):
        total = max((-(-n // s) - 1) * s + d * (k - 1) + 1 - n, 0)
        made.append((total // 2, total - total // 2))
    return made


class Windows(NamedTuple):
    """Windows over some axes: per axis their size, step and spread, the padding (before, after), and their number."""

    kernel: Sizes
    stride: Sizes
    dilation: Sizes
    ends: tuple[tuple[int, int], ...]
    counts: Sizes

    def seen(self, x: Tensor, axis: int, i: int) -> list[Tensor]:
        """For each tap of a window of axis number i, what all windows read there of x, which is padded; axis: x's."""
        before = (slice(None),) * axis
        span = (self.counts[i] - 1) * self.stride[i] + 1
        starts = [tap * self.dilation[i] for tap in range(self.kernel[i])]
        return [getitem(x, (*before, slice(start, start + span, self.stride[i]))) for start in starts]


def windows_over(
    owner: str,
    sizes: Sequence[int],
    kernel: Sizes,
    stride: Sizes,
    ends: Sequence[tuple[int, int]],
    dilation: Sizes | None = None,
    ceil: bool = False,
) -> Windows:
    """Windows over axes of these sizes. ceil: a last window may reach beyond the end, if it begins before it.

    ShapeError GC104 where a window does not fit.
    """
    dilation = dilation or (1,) * len(kernel)
    if len(sizes) != len(kernel):
        raise ShapeError(
            f"{owner}: a window of {len(kernel)} axes does not slide over {len(sizes)}", code="GC104", loc=user_loc()
        )
    counts, padded = [], []
    for size, k, s, (before, after), d in zip(sizes, kernel, stride, ends, dilation, strict=True):
        reach = d * (k - 1) + 1
        room = size + before + after - reach
        if room < 0:
            raise ShapeError(
                f"{owner}: the window does not fit: {size} + {before + after} padding, the window reaches over {reach}",
                code="GC104",
                loc=user_loc(),
                help="use a smaller kernel or dilation, more padding, or a larger input",
            )
        count = (-(-room // s) if ceil else room // s) + 1
        if ceil and (count - 1) * s >= size + before:
            count -= 1
        counts.append(count)
        padded.append((before, max((count - 1) * s + reach - size - before, after)))
    return Windows(kernel, stride, dilation, tuple(padded), tuple(counts))
