"""Blocks and windows of images, moved into other axes and back."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, ShapeError, user_loc
from graphc.ops.functional.core import Extents, Ints
from graphc.ops.functional.dynamic import known_values
from graphc.ops.functional.elementwise import add
from graphc.ops.functional.joining import stack
from graphc.ops.functional.padding import bordered
from graphc.ops.functional.shapes import expand_dims, reshape, transpose
from graphc.ops.functional.slicing import getitem
from graphc.ops.functional.sliding import Windows, per_axis, windows_over
from graphc.ops.tensor.methods import method
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.checks import integer

#: Numbers of a window up to which each has a copy of the image of its own, at once.
_FEW_TAPS = 9

# ---- images


def _check_block(owner: str, x: Tensor, size: Any, *, spread: bool) -> None:
    """Whether channels (to be spread), or rows and columns, divide into blocks of size x size pixels: else ShapeError."""
    integer(owner, "the size of a block", size)
    if size < 1:
        raise ArgumentValueError(f"{owner}: the size of a block must be at least 1, got {size}", loc=user_loc())
    if x.ndim < 3 or (x.shape[-3] % size**2 if spread else x.shape[-2] % size or x.shape[-1] % size):
        wanted = f"a multiple of {size**2} channels" if spread else f"multiples of {size} rows and columns"
        raise ShapeError(f"{owner}: x is {x.tensor_type}, expected [..., C, H, W] with {wanted}", loc=user_loc())


def _images(owner: str, x: Tensor) -> tuple[int, ...]:
    if x.ndim != 4:
        raise ShapeError(f"{owner}: x is {x.tensor_type}, expected [N, C, H, W]", loc=user_loc())
    return x.shape


def depth_to_space(x: Tensor, block_size: int) -> Tensor:
    """Channels of [N, C, H, W] spread into blocks of pixels."""
    _check_block("depth_to_space", x, block_size, spread=True)
    n, c, h, w = _images("depth_to_space", x)
    split = reshape(x, (n, block_size, block_size, c // block_size**2, h, w))
    return reshape(transpose(split, (0, 3, 4, 1, 5, 2)), (n, c // block_size**2, h * block_size, w * block_size))


def space_to_depth(x: Tensor, block_size: int) -> Tensor:
    """Blocks of pixels of [N, C, H, W] as channels."""
    _check_block("space_to_depth", x, block_size, spread=False)
    n, c, h, w = _images("space_to_depth", x)
    split = reshape(x, (n, c, h // block_size, block_size, w // block_size, block_size))
    return reshape(transpose(split, (0, 3, 5, 1, 2, 4)), (n, c * block_size**2, h // block_size, w // block_size))


def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """Channels of [..., C r r, H, W] spread into r x r pixels."""
    _check_block("pixel_shuffle", input, upscale_factor, spread=True)
    *lead, c, h, w = input.shape
    r, k = upscale_factor, len(lead)
    split = reshape(input, (*lead, c // r**2, r, r, h, w))
    moved = transpose(split, (*range(k), k, k + 3, k + 1, k + 4, k + 2))
    return reshape(moved, (*lead, c // r**2, h * r, w * r))


def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """r x r pixels of [..., C, H, W] as channels."""
    _check_block("pixel_unshuffle", input, downscale_factor, spread=False)
    *lead, c, h, w = input.shape
    r, k = downscale_factor, len(lead)
    split = reshape(input, (*lead, c, h // r, r, w // r, r))
    moved = transpose(split, (*range(k), k, k + 2, k + 4, k + 1, k + 3))
    return reshape(moved, (*lead, c * r**2, h // r, w // r))


# ---- blocks and windows


def space_to_batch_nd(input_x: Tensor, block_size: Ints, paddings: Ints) -> Tensor:
    """Blocks of the padded axes behind the second as entries of axis 0 (MindSpore: ops.space_to_batch_nd)."""
    blocks, n = _blocks("space_to_batch_nd", input_x, block_size)
    ends = _ends("space_to_batch_nd", "paddings", paddings, blocks)
    x = bordered(input_x, [*[(0, 0)] * (input_x.ndim - len(blocks)), *ends])
    lead, spatial = x.shape[:n], x.shape[n:]
    if any(s % b for s, b in zip(spatial, blocks, strict=True)):
        raise ShapeError(f"space_to_batch_nd: blocks {blocks} do not divide {spatial}", loc=user_loc())
    parts = tuple(d for s, b in zip(spatial, blocks, strict=True) for d in (s // b, b))
    x = reshape(x, (*lead, *parts))
    inner = [n + 2 * i + 1 for i in range(len(blocks))]
    outer = [n + 2 * i for i in range(len(blocks))]
    x = transpose(x, (*inner, *range(n), *outer))
    return reshape(x, (math.prod(blocks) * lead[0], *lead[1:], *parts[::2]))


def batch_to_space_nd(input_x: Tensor, block_shape: Ints, crops: Ints) -> Tensor:
    """The reverse of space_to_batch_nd; (before, after) elements of each axis are taken away at the end."""
    blocks, n = _blocks("batch_to_space_nd", input_x, block_shape)
    ends = _ends("batch_to_space_nd", "crops", crops, blocks)
    batch, lead, spatial = input_x.shape[0] // math.prod(blocks), input_x.shape[1:n], input_x.shape[n:]
    if input_x.shape[0] % math.prod(blocks) or any(
        a + b > s * k for (a, b), s, k in zip(ends, spatial, blocks, strict=True)
    ):
        raise ShapeError(
            f"batch_to_space_nd: {input_x.tensor_type} does not divide into blocks of {blocks}, less crops {ends}",
            loc=user_loc(),
        )
    x = reshape(input_x, (*blocks, batch, *lead, *spatial))
    k = len(blocks)
    order = [*range(k, k + n)]
    for i in range(k):
        order += [k + n + i, i]
    sizes = tuple(s * b for s, b in zip(spatial, blocks, strict=True))
    x = reshape(transpose(x, tuple(order)), (batch, *lead, *sizes))
    cut = tuple(slice(a, s - b) for (a, b), s in zip(ends, sizes, strict=True))
    return getitem(x, (*[slice(None)] * n, *cut))


def _ends(owner: str, name: str, value: Any, blocks: Sequence[int]) -> list[Sequence[int]]:
    """(before, after) for each axis that is divided, none of them negative."""
    if isinstance(value, Tensor):
        value = known_values(owner, value).tolist()
    if not isinstance(value, (tuple, list)) or len(value) != len(blocks):
        raise ArgumentValueError(f"{owner}: {name} must be {len(blocks)} pairs of ints, got {value!r}", loc=user_loc())
    return [per_axis(owner, name, pair, 2, least=0) for pair in value]


def _blocks(owner: str, x: Tensor, block: Any) -> tuple[tuple[int, ...], int]:
    """Sizes of a block, and how many axes stand before those that are divided."""
    blocks = tuple(block) if isinstance(block, (tuple, list)) else (block,) * (x.ndim - 2)
    if any(isinstance(b, bool) or not isinstance(b, (int, np.integer)) for b in blocks):
        raise ArgumentTypeError(f"{owner}: the sizes of a block must be ints, got {block!r}", loc=user_loc())
    if not 0 < len(blocks) < x.ndim or any(b < 1 for b in blocks):
        raise ArgumentValueError(f"{owner}: blocks of {blocks} do not fit {x.tensor_type}", loc=user_loc())
    return blocks, x.ndim - len(blocks)


def _windows(owner: str, sizes: Sequence[int], kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Windows:
    """The windows over the rows and columns of an image of these sizes."""
    kernel, spread, steps = (
        per_axis(owner, name, value, 2)
        for name, value in (("kernel_size", kernel_size), ("dilation", dilation), ("stride", stride))
    )
    ends = [(p, p) for p in per_axis(owner, "padding", padding, 2, least=0)]
    return windows_over(owner, sizes, kernel, steps, ends, spread)


@method()
def unfold(input: Tensor, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1) -> Tensor:
    """The windows of [N, C, H, W] as columns: [N, C kh kw, number of windows]."""
    if input.ndim != 4:
        raise ShapeError(f"unfold: the input is {input.tensor_type}, expected [N, C, H, W]", loc=user_loc())
    n, c, *sizes = input.shape
    over = _windows("unfold", sizes, kernel_size, dilation, padding, stride)
    (kh, kw), (sh, sw), (dh, dw), (oh, ow) = over.kernel, over.stride, over.dilation, over.counts
    if _apart_from_each_other(over):
        (ph, _), (pw, _) = over.ends
        x = _span(_span(input, 2, -ph, oh * sh - ph), 3, -pw, ow * sw - pw)
        x = reshape(x, (n, c, oh, sh, ow, sw))
        if (kh, kw) != (sh, sw):
            x = getitem(x, (..., slice(0, (kh - 1) * dh + 1, dh), slice(None), slice(0, (kw - 1) * dw + 1, dw)))
        return reshape(transpose(x, (0, 1, 3, 5, 2, 4)), (n, c * kh * kw, oh * ow))
    x = bordered(input, [(0, 0), (0, 0), *over.ends]) if any(map(any, over.ends)) else input
    rows = [slice(i * dh, i * dh + (oh - 1) * sh + 1, sh) for i in range(kh)]
    columns = [slice(j * dw, j * dw + (ow - 1) * sw + 1, sw) for j in range(kw)]
    if kh * kw <= _FEW_TAPS:
        made = stack([getitem(x, (..., i, j)) for i in rows for j in columns], 2)
    else:  # By one axis after the other: kh + kw parts, not kh kw.
        x = stack([getitem(x, (..., j)) for j in columns], 2)
        made = stack([getitem(x, (..., i, slice(None))) for i in rows], 2)
    return reshape(made, (n, c * kh * kw, oh * ow))


def _apart_from_each_other(over: Windows) -> bool:
    """Whether no pixel is in two windows: then these are pieces of the image, and nothing is read, or added up, twice."""
    each = zip(over.kernel, over.dilation, over.stride, strict=True)
    return all((kernel - 1) * dilation < stride for kernel, dilation, stride in each)


def _span(x: Tensor, axis: int, start: int, stop: int) -> Tensor:
    """Entries `start` to `stop` of an axis, zeros where it has none."""
    size = x.shape[axis]
    before = max(0, -start)
    borders = [(0, 0)] * x.ndim
    borders[axis] = (before, max(0, stop - size))
    x = bordered(x, borders) if any(map(any, borders)) else x
    if (start, stop) == (-before, x.shape[axis] - before):
        return x
    return getitem(x, (*[slice(None)] * axis, slice(start + before, stop + before)))


def _added_up(parts: list[Tensor], starts: list[dict[int, int]], sizes: dict[int, int]) -> Tensor:
    """The sum of tensors that begin, along some axes, at places of their own in one of these sizes."""
    total: Tensor | None = None
    for part, start in zip(parts, starts, strict=True):
        borders = [(0, 0)] * part.ndim
        for axis, size in sizes.items():
            borders[axis] = (start[axis], size - start[axis] - part.shape[axis])
        placed = bordered(part, borders)
        total = placed if total is None else add(total, placed)
    assert total is not None
    return total


@method()
def fold(
    input: Tensor, output_size: Extents, kernel_size: Ints, dilation: Ints = 1, padding: Ints = 0, stride: Ints = 1
) -> Tensor:
    """Columns [N, C kh kw, number of windows], or [N, C, kh kw, number of windows], added up where their windows lie:
    [N, C, H, W].
    """
    known = output_size.asnumpy().tolist() if isinstance(output_size, Tensor) else output_size
    height, width = per_axis("fold", "output_size", known, 2)
    over = _windows("fold", (height, width), kernel_size, dilation, padding, stride)
    (kh, kw), (sh, sw), (dh, dw), (oh, ow) = over.kernel, over.stride, over.dilation, over.counts
    (ph, _), (pw, _) = over.ends
    h, w = height + 2 * ph, width + 2 * pw
    if input.ndim == 4 and input.shape[2] == kh * kw:
        input = reshape(input, (input.shape[0], input.shape[1] * kh * kw, input.shape[3]))
    if input.ndim != 3 or input.shape[1] % (kh * kw) or input.shape[2] != oh * ow:
        raise ShapeError(
            f"fold: the input is {input.tensor_type}, expected [N, C {kh * kw}, {oh * ow}] or [N, C, {kh * kw}, {oh * ow}] "
            "by the other arguments",
            loc=user_loc(),
        )
    n, c = input.shape[0], input.shape[1] // (kh * kw)
    if _apart_from_each_other(over):
        x = transpose(reshape(input, (n, c, kh, kw, oh, ow)), (0, 1, 4, 2, 5, 3))
        for axis, step, size in ((3, dh, sh), (5, dw, sw)):
            x = _span(apart(x, axis, step), axis, 0, size)
        x = reshape(x, (n, c, oh * sh, ow * sw))
        return _span(_span(x, 2, ph, ph + height), 3, pw, pw + width)
    every = (slice(None), slice(None))
    # Taps along one axis: the gradients of parts along one are joined, not added up.
    x = reshape(input, (n, c, kh * kw, oh, ow))
    if kh * kw <= _FEW_TAPS:
        taps = [(i, j) for i in range(kh) for j in range(kw)]
        parts = [apart(apart(getitem(x, (*every, i * kw + j)), 2, sh), 3, sw) for i, j in taps]
        total = _added_up(parts, [{2: i * dh, 3: j * dw} for i, j in taps], {2: h, 3: w})
    else:  # By one axis after the other: kh + kw parts, not kh kw.
        x = reshape(x, (n, c, kh, kw, oh, ow))
        parts = [apart(getitem(x, (*every, i)), 3, sh) for i in range(kh)]
        x = _added_up(parts, [{3: i * dh} for i in range(kh)], {3: h})
        parts = [apart(getitem(x, (*every, j)), 3, sw) for j in range(kw)]
        total = _added_up(parts, [{3: j * dw} for j in range(kw)], {3: w})
    return getitem(total, (slice(None), slice(None), slice(ph, ph + height), slice(pw, pw + width)))


@method()
def col2im(
    input_x: Tensor, output_size: Extents, kernel_size: Ints, dilation: Ints, padding_value: Ints, stride: Ints
) -> Tensor:
    """[N, C, kh kw, number of windows] added up where their windows lie: [N, C, H, W] (MindSpore: ops.col2im).

    output_size: (H, W), also as a tensor that is known; padding_value: how many rows and columns the windows reach beyond.
    """
    if input_x.ndim != 4:
        raise ShapeError(f"col2im: the input is {input_x.tensor_type}, expected [N, C, kh kw, windows]", loc=user_loc())
    n, c, taps, count = input_x.shape
    columns = reshape(input_x, (n, c * taps, count))
    return fold(columns, output_size, kernel_size, dilation, padding_value, stride)


def channel_shuffle(x: Tensor, groups: int) -> Tensor:
    """The channels of each of the groups of [N, C, ...], one of each group in turn (Zhang et al., 2018; MindSpore:
    ops.channel_shuffle).
    """
    integer("channel_shuffle", "groups", groups)
    if x.ndim < 3 or groups < 1 or x.shape[1] % groups:
        raise ArgumentValueError(
            f"channel_shuffle: {groups} groups do not divide the channels of {x.tensor_type}", loc=user_loc()
        )
    n, channels, *rest = x.shape
    parts = reshape(x, (n, groups, channels // groups, *rest))
    order = (0, 2, 1, *range(3, parts.ndim))
    return reshape(transpose(parts, order), x.shape)


def apart(x: Tensor, axis: int, step: int) -> Tensor:
    """x with step - 1 zeros between the entries of an axis."""
    if step == 1:
        return x
    shape = x.shape
    spread = bordered(expand_dims(x, axis + 1), [(0, step - 1) if i == axis + 1 else (0, 0) for i in range(x.ndim + 1)])
    joined = reshape(spread, (*shape[:axis], shape[axis] * step, *shape[axis + 1 :]))
    return getitem(joined, (*[slice(None)] * axis, slice(0, (shape[axis] - 1) * step + 1)))


__all__ = [
    "batch_to_space_nd",
    "channel_shuffle",
    "col2im",
    "depth_to_space",
    "fold",
    "pixel_shuffle",
    "pixel_unshuffle",
    "space_to_batch_nd",
    "space_to_depth",
    "unfold",
]
