"""Which kernel makes a convolution: the direct one or one of Winograd's; and what the latter are told.

F(4x4, 3x3) makes 4 x 4 outputs with 36 products for a pair of channels instead of 144, but transforms images and weights. For few
channels and many images see `batch`, for windows along one axis `lines`, for others `blocks`, for few pixels `columns`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

from graphc.debug import threads
from graphc.ir.lowering import Geometry
from graphc.lower.convolution import batch
from graphc.lower.convolution.blocks import PLAIN, Blocks
from graphc.lower.convolution.columns import in_rows, shares
from graphc.lower.convolution.lines import Lines
from graphc.lower.convolution.phases import Spread
from graphc.lower.convolution.sizes import DIRECT, Pair, Sizes, Window

#: Multiply-adds that take as long as the transforms of a tile of one channel, and of the weights of one pair of channels: with up
#: to so many pairs, which stay in the second-level cache or in the third, and with more.
_TILE, _WEIGHTS, _FAR_WEIGHTS = 150, ((8192, 500), (65536, 800)), 1500
#: Windows that F(4x4, taps) has points for.
_WINDOWS = ((2, 2), (3, 3))
#: It must be so many times as fast as the direct kernel: its rounding errors are larger. With images as lanes they are less so.
_WORTH, _WORTH_BATCH = 1.25, 1.1
#: Sums of fewer products have errors of more than four times the direct kernel's, up to six times with a single channel; with
#: more it is two to three times. A gradient of weights sums tiles: of 64 to 512 it is off by 5e-7 to 8e-7 of its size, which is
#: three to seven times the direct kernel's.
_LEAST_TERMS, _LEAST_SUMMED = 72, 64
#: How many times as long the direct kernel takes that walks over phases, which are copied first.
_STRIDED = 1.15
#: How many times as many products phases as channels may take, for taps that there are not; the same for gradients with respect
#: to images of few channels, and how many are few; the longest stride that blocks are read with.
_SPREAD, _SPREAD_FEW, _FEW_CHANNELS, _READ = 1.35, 1.5, 4, 2
#: Cycles to add to each element of sums for the weights, for a vector of one lane, if they are so many that memory has them.
_SUMMED_FAR, _FAR_SUMS = 80, 1 << 21
#: Transformed images of a thread stay below so many elements, but for so many tiles there is room anyway.
_CACHE, _LEAST_TILES = 128 * 1024, 48
#: Cycles for a vector of pixels that are pooled by a kernel of its own, and of their gradients. Windows have so many pixels at
#: most: there is code for each.
_POOL, _POOL_GRADIENT, _MOST_POOLED = 4, 10, 16
#: Multiply-adds that take as long as moving an element of an image to its phase or column, or back.
_MOVE = 15
#: The same on its way back from one of so many phases of a row or more: the row is gathered from as many images.
_GATHER, _PHASES = 700, 8
#: Cycles for each vector of multiply-adds of a product of columns, of one of pairs of bfloat16, also of one that makes columns of
#: gradients, and for each element of these, on its way there, in rows of a window or not, or back, and of images that are summed.
_PRODUCT, _PAIRS, _PAIRS_BACK, _COLUMN, _IN_ROWS, _RETURN, _ADD = 1.15, 0.62, 0.9, 16, 6, 17, 17
#: How many times as fast as the direct kernel it must be, and as that of the weights' gradient; the most elements that columns
#: have.
_WORTH_COLUMNS, _WORTH_SUMMED, _MOST = 1.1, 1.2, 1 << 24
#: Taps of a window whose columns are added up: there is code for each.
_MOST_TAPS = 100
#: Cycles of the direct kernel whose lanes are channels for each vector of multiply-adds, and for each weight that is moved there;
#: how many times as fast as the direct kernel it must be.
_CHANNELS, _PACKED, _WORTH_CHANNELS = 1.35, 40, 1.05
#: A product of pixels needs so many of them and so many channels to be faster than the direct kernel.
_LEAST_PIXELS, _LEAST_SEEN = 128, 16
#: Of patches: how much longer a product for each image may take than with full vectors, and terms of one that are many.
_FULL, _LEAST_SUMS = 1.03, 128
#: Pixels of all images that a product sums up for a weight.
_MOST_SUMMED = 1 << 14
#: Elements of an image in the second-level cache; how many times as long a larger one takes.
_NEAR_IMAGE, _FAR_IMAGE = 256 * 1024, 1.5
#: Tiles are counted in full vectors; channels too where they are lanes.
_LANES = 16


class _Candidate(NamedTuple):
    """A kernel, its cost in cycles for a vector of one lane, and how many times as fast as the direct one it must be."""

    name: str
    cost: float
    worth: float


def kernel(z: Sizes, dilation: Pair = (1, 1), *, transposed: bool) -> str:
    """The kernel that should make the convolution, which is an input gradient if `transposed`."""
    candidates = _along_lines(z, dilation) + (_plain(z, transposed) if dilation == (1, 1) else [])
    return _fastest("conv2d", z.direct(step=dilation[0], transposed=transposed), candidates)


def gradient_kernel(z: Sizes, dilation: Pair = (1, 1)) -> str:
    """The kernel that should make the gradient of such a convolution with respect to its weights."""
    candidates = _along_lines_gradient(z, dilation) + (_plain_gradient(z) if dilation == (1, 1) else [])
    return _fastest("conv2d_filter_grad", z.direct_gradient(), candidates)


def phases(z: Sizes, dilation: Pair, *, transposed: bool) -> str:
    """The kernel that should make a convolution with a dilation from images of its phases; "" if none is worth it."""
    if dilation == (1, 1) or _along_lines(z, dilation):
        return ""
    results = (_GATHER if dilation[1] >= _PHASES else _MOVE) * z.n * z.co * z.oh * z.ow
    moves = _MOVE * z.n * z.ci * z.h * z.w + results
    candidates = [c._replace(cost=c.cost + moves) for c in _plain(z.phases(dilation), transposed)]
    return _fastest("", z.direct(step=dilation[0], transposed=transposed), candidates)


def gradient_phases(z: Sizes, dilation: Pair) -> str:
    """The same for the gradient with respect to the weights."""
    if dilation == (1, 1) or _along_lines_gradient(z, dilation):
        return ""
    moves = _MOVE * z.n * (z.ci * z.h * z.w + z.co * z.oh * z.ow)
    candidates = [c._replace(cost=c.cost + moves) for c in _plain_gradient(z.phases(dilation))]
    return _fastest("", z.direct_gradient(), candidates)


def in_blocks(blocks: Blocks, z: Sizes, geometry: Geometry, *, transposed: bool) -> bool:
    """Whether the convolution z, or its gradient with respect to the images, should be one of blocks of taps."""
    made = blocks.sizes
    if not _exact(made):
        return False
    back, others = _small(z, geometry, transposed)
    others += _plain(back, transposed) if _is_plain(geometry) else []
    direct = _direct(z, geometry, transposed=transposed) * (1 if geometry.stride == (1, 1) else _STRIDED)
    return _blocks_cost(blocks) * _needed(z) < min([direct, *(c.cost for c in others)])


def gradient_in_blocks(blocks: Blocks, geometry: Geometry) -> bool:
    """The same for the gradient with respect to the weights."""
    z, made = blocks.z, blocks.sizes
    if _summed(made) < _LEAST_SUMMED:
        return False
    cost = _cost(made, _full(made.ci)) + _MOVE * made.weights
    sums = _products(made) * made.ci * made.co
    if sums > _FAR_SUMS:
        cost += _SUMMED_FAR * sums * _summed(made) / _LEAST_TILES
    others = [_wide(z, geometry) * z.few_gradient()]
    if _has_room(z) and z.n * z.oh * z.ow <= _MOST_SUMMED:
        others.append(_columns_cost(z, _COLUMN))
    if _is_plain(geometry):
        others += [c.cost for c in _plain_gradient(z)]
    return cost * _needed(z) < min(others)


def spreads(spread: Spread, geometry: Geometry, *, transposed: bool) -> bool:
    """Whether phases should be channels of a convolution with a stride, or of its gradient with respect to the images: the latter
    has a convolution for each phase otherwise, of as few channels as the images.
    """
    z = spread.z
    if transposed:
        pays = z.ci <= _FEW_CHANNELS and spread.sizes.weights <= _SPREAD_FEW * z.weights
    else:
        pays = _is_long(spread)
    return pays and not few(z, geometry, transposed=transposed)


def gradient_spreads(spread: Spread, geometry: Geometry) -> bool:
    """The same for the gradient with respect to the weights."""
    return _is_long(spread) and not gradient_columns(spread.z, geometry)


def _is_long(spread: Spread) -> bool:
    """Whether the stride is one that kernels do not read as it is, or there are no channels to sum over; and whether that takes
    not many more products.
    """
    z = spread.z
    return (max(spread.stride) > _READ or z.ci == 1) and spread.sizes.weights <= _SPREAD * z.weights


def _blocks_cost(blocks: Blocks) -> float:
    """Cycles for a vector of one lane, with the weights' way to their blocks."""
    made = blocks.sizes
    return _cost(made, made.ci) + _MOVE * made.weights


def _exact(z: Sizes) -> bool:
    """Whether sums are of so many products that errors of F(4x4, taps) are a few times the direct kernel's."""
    return z.ci * z.kh * z.kw >= _LEAST_TERMS


def _needed(z: Sizes) -> float:
    """How many times as fast as the direct kernel F(4x4, taps) must be: as fast where results of bfloat16 hide its errors."""
    return 1.0 if z.pairs else _WORTH


def _summed(z: Sizes) -> int:
    """Tiles that a gradient of weights sums up."""
    return z.n * _tiles(z.oh) * _tiles(z.ow)


def pixels(z: Sizes, geometry: Geometry) -> bool:
    """Whether a convolution of single pixels, or its gradient with respect to the images, should be a product for every image."""
    if (z.kh, z.kw) != (1, 1) or z.groups > 1 or any(geometry.pad) or not _is_plain(geometry):
        return False
    if (z.h, z.w) != (z.oh, z.ow):  # A phase of images whose last pixels nothing sees.
        return False
    return z.oh * z.ow >= _LEAST_PIXELS and min(z.ci, z.co) >= _LEAST_SEEN


def patches_in_columns(z: Sizes, geometry: Geometry) -> bool:
    """Whether windows side by side should be columns of all images: a product for each image would leave vectors partly empty."""
    pixels = z.oh * z.ow
    if z.groups > 1 or z.n == 1:
        return False
    if pixels < _LEAST_PIXELS:
        return in_rows((z.kh, z.kw), geometry) and z.n * pixels >= _LEAST_PIXELS
    return _full(pixels) > _FULL * pixels and z.ci * z.kh * z.kw >= _LEAST_SUMS


def few(z: Sizes, geometry: Geometry, *, transposed: bool) -> str:
    """What should make a convolution, which may have a stride, or its gradient with respect to the images, as these are small:
    "columns", the kernel "conv2d_channels", or nothing in particular ("").
    """
    if z.groups > 1:
        return ""
    back, candidates = _small(z, geometry, transposed)
    direct = _direct(z, geometry, transposed=transposed)
    if transposed and geometry.stride != (1, 1):
        # Phases are convolutions of stride 1, which may have their own way.
        direct = min(direct, _channels_cost(replace(z, ci=z.co, co=z.ci)) + 2 * _MOVE * z.n * z.ci * z.h * z.w)
        direct = min(direct, _phases_cost(z, geometry))
    others = _plain(back, transposed) if _is_plain(geometry) else []
    if geometry.stride == (1, 1):
        others += _along_lines(back, geometry.dilation)
    least = _least(direct, others)
    return _fastest("", direct, [c for c in candidates if c.cost < least])


def _small(z: Sizes, geometry: Geometry, transposed: bool) -> tuple[Sizes, list[_Candidate]]:
    """The convolution that is made, and the ways for small images that there are."""
    back = _back(z, geometry.dilation) if transposed and geometry.stride == (1, 1) else z
    candidates = []
    if _has_room(z) and not (transposed and z.kh * z.kw > _MOST_TAPS):
        cost = _back_cost(z, geometry) if transposed else _columns_cost(z, _COLUMN)
        candidates.append(_Candidate("columns", cost, _WORTH_COLUMNS))
    if geometry.stride == (1, 1) or not transposed:
        candidates.append(_Candidate("conv2d_channels", _channels_cost(back), _WORTH_CHANNELS))
    return back, candidates


def _back(z: Sizes, dilation: Pair) -> Sizes:
    """Of the convolution that makes the gradient with respect to the images, without a stride."""
    top, left = dilation[0] * (z.kh - 1) - z.top, dilation[1] * (z.kw - 1) - z.left
    return replace(z, ci=z.co, co=z.ci, h=z.oh, w=z.ow, oh=z.h, ow=z.w, top=top, left=left)


def _phases_cost(z: Sizes, geometry: Geometry) -> float:
    """Cycles of the phases of a gradient with respect to the images by F(4x4, taps), and of moving them; infinite without any."""
    (sh, sw), back = geometry.stride, _back(z, (1, 1))
    kh, kw = -(-z.kh // sh), -(-z.kw // sw)
    phase = replace(back, kh=kh, kw=kw, oh=-(-z.h // sh), ow=-(-z.w // sw), top=kh - 1, left=kw - 1)
    blocks = Blocks.of(phase, PLAIN) if geometry.dilation == (1, 1) else None
    if blocks and _exact(blocks.sizes):
        cost = _blocks_cost(blocks)
    elif geometry.dilation == (1, 1) and z.groups == 1 and (kh, kw) in _WINDOWS and _exact(phase):
        cost = _cost(phase, phase.ci)
    else:
        return math.inf
    return _WORTH * (sh * sw * cost + _MOVE * z.n * z.ci * z.h * z.w)


def _channels_cost(z: Sizes) -> float:
    """Cycles of the kernel whose lanes are output channels, and of the weights' way there, for a vector of one lane."""
    return z.ci * z.kh * z.kw * (_CHANNELS * z.n * z.oh * z.ow * _full(z.co) + _PACKED * z.co)


def gradient_columns(z: Sizes, geometry: Geometry) -> bool:
    """The same for the gradient with respect to the weights. Longer sums over pixels are left to kernels that are exacter."""
    if z.n * z.oh * z.ow > _MOST_SUMMED:
        return False
    others = _plain_gradient(z) if _is_plain(geometry) else []
    if geometry.stride == (1, 1):
        others += _along_lines_gradient(z, geometry.dilation)
    others = _worth(z.direct_gradient(), others)
    cost = _columns_cost(z, _IN_ROWS if in_rows((z.kh, z.kw), geometry) else _COLUMN)
    direct = _wide(z, geometry) * z.few_gradient() * (1 if geometry.stride == (1, 1) else _STRIDED)
    return z.groups == 1 and _has_room(z) and cost * _WORTH_SUMMED < direct and cost < _least(direct, others)


def by_pairs(z: Sizes, geometry: Geometry) -> bool:
    """Whether the direct kernel should multiply pairs of channels, if there are some and its images can be made."""
    return z.pairs and z.ci > 1 and geometry.stride[1] <= _READ


def _direct(z: Sizes, geometry: Geometry, *, transposed: bool) -> float:
    """Cycles of the direct kernel, which may have a stride. Without one a gradient with respect to the images meets zeros around
    what it reads, of which only whole rows are skipped.
    """
    z = replace(z, pairs=by_pairs(z, geometry))
    if geometry.stride != (1, 1):
        return _wide(z, geometry) * z.direct(transposed=transposed)
    made = _back(z, geometry.dilation) if transposed else z
    return _wide(z, geometry) * made.direct(step=geometry.dilation[0], transposed=transposed)


def _wide(z: Sizes, geometry: Geometry) -> float:
    """How many times as long the direct kernel takes whose image, for a dilation in a wide border, has left the cache."""
    (dh, dw), channels = geometry.dilation, max(z.ci, z.co)
    far = channels * (z.h + dh * (z.kh - 1)) * (z.w + dw * (z.kw - 1)) > _NEAR_IMAGE
    return _FAR_IMAGE if far and geometry.dilation != (1, 1) else 1


def _is_plain(geometry: Geometry) -> bool:
    return geometry.stride == geometry.dilation == (1, 1)


def _has_room(z: Sizes) -> bool:
    """Whether there may be columns of a convolution."""
    return 0 < z.ci * z.kh * z.kw * z.n * z.oh * z.ow <= _MOST


def _columns_cost(z: Sizes, move: int) -> float:
    """Cycles of a product of columns, for a vector of one lane, if each element takes so many to move."""
    pixels, seen = z.n * z.oh * z.ow, z.ci * z.kh * z.kw
    return (_PAIRS if z.pairs else _PRODUCT) * z.co * seen * _full(pixels) + pixels * (move * seen + _MOVE * z.co)


def _back_cost(z: Sizes, geometry: Geometry) -> float:
    """The same for the gradient with respect to the images, of which there are some that are added up."""
    down, across = shares((z.kh, z.kw), (z.oh, z.ow), geometry)
    columns = z.n * z.oh * z.ow * z.ci * z.kh * z.kw
    images = z.n * z.h * z.w * z.ci * (1 + max(down)) * (1 + max(across))
    slower = (_PAIRS_BACK - _PAIRS) * z.co * z.ci * z.kh * z.kw * _full(z.n * z.oh * z.ow) if z.pairs else 0
    return _columns_cost(z, 0) + slower + _RETURN * columns + _ADD * images


def _along_lines(z: Sizes, dilation: Pair) -> list[_Candidate]:
    line = Lines.of(z, dilation)
    return [] if line is None else [_Candidate("conv2d_line_winograd", line.cost(), _needed(z))]


def _along_lines_gradient(z: Sizes, dilation: Pair) -> list[_Candidate]:
    line = Lines.of(z, dilation, gradient=True)
    if line is None or line.tiles() < _LEAST_SUMMED:
        return []
    return [_Candidate("conv2d_filter_grad_line_winograd", line.gradient_cost(), _needed(z))]


def _plain(z: Sizes, transposed: bool) -> list[_Candidate]:
    """The kernels for convolutions without dilation."""
    candidates: list[_Candidate] = []
    if z.groups > 1:
        return candidates
    if (z.kh, z.kw) in _WINDOWS and _exact(z):
        candidates.append(_Candidate("conv2d_winograd", _cost(z, z.ci), _needed(z)))
    if points := batch.points(z, transposed=transposed):
        cost = batch.cost(z, points, transposed=transposed)
        candidates.append(_Candidate("conv2d_batch_winograd", cost, _WORTH_BATCH))
    return candidates


def _plain_gradient(z: Sizes) -> list[_Candidate]:
    candidates: list[_Candidate] = []
    if z.groups > 1:
        return candidates
    if (z.kh, z.kw) in _WINDOWS and _summed(z) >= _LEAST_SUMMED:
        candidates.append(_Candidate("conv2d_filter_grad_winograd", _cost(z, _full(z.ci)), _needed(z)))
    if points := batch.gradient_points(z):
        cost = batch.gradient_cost(z, points)
        candidates.append(_Candidate("conv2d_filter_grad_batch_winograd", cost, _WORTH_BATCH))
    return candidates


def pools(z: Sizes, window: Window, gradients: int) -> bool:
    """Whether a kernel should make such a convolution and max pooling at once; `gradients` of the pooling then cost nothing."""
    points = batch.points(z, transposed=False)
    if z.groups > 1 or not points or window[0] * window[1] > _MOST_POOLED:
        return False
    pooling = (_POOL + _POOL_GRADIENT * gradients) * z.n * z.co * z.oh * z.ow
    pooled, apart = batch.pooled_cost(z, points, window), batch.cost(z, points, transposed=False)
    return pooled * _WORTH_BATCH < z.direct() + pooling and pooled < apart + pooling


def _fastest(direct: str, cost: float, candidates: list[_Candidate]) -> str:
    """The candidate of the least cost among those that are worth it; else the direct kernel, which has that cost."""
    worth = _worth(cost, candidates)
    return min(worth, key=lambda c: c.cost).name if worth else direct


def _worth(cost: float, candidates: list[_Candidate]) -> list[_Candidate]:
    return [c for c in candidates if c.cost * c.worth < cost]


def _least(cost: float, candidates: list[_Candidate]) -> float:
    """What the fastest of a direct kernel of this cost and of candidates takes."""
    return min((c.cost for c in _worth(cost, candidates)), default=cost)


def params(name: str, z: Sizes, dilation: Pair = (1, 1), *, transposed: bool) -> dict[str, Any]:
    """What one of Winograd's kernels is told: sizes and scratch memory above all."""
    if name == "conv2d_line_winograd" and (line := Lines.of(z, dilation)):
        return line.params()
    if name == "conv2d_batch_winograd":
        return {**z.params(), **batch.params(z, transposed=transposed)}
    return _memory(z, _products(z) * (z.ci * z.co + 32), 0, 0)


def gradient_params(name: str, z: Sizes, dilation: Pair = (1, 1)) -> dict[str, Any]:
    """The same for the gradient with respect to the weights."""
    if name == "conv2d_filter_grad_line_winograd" and (line := Lines.of(z, dilation, gradient=True)):
        return line.gradient_params()
    if name == "conv2d_filter_grad_batch_winograd":
        return {**z.params(), **batch.gradient_params(z)}
    channels = _full(z.ci)
    return _memory(z, 0, channels, _products(z) * (z.co * channels + 16))


def _products(z: Sizes) -> int:
    """Of a tile of F(4x4, taps), for a pair of channels."""
    return (z.kh + 3) ** 2


def _cost(z: Sizes, ci: int) -> float:
    """Cycles of F(4x4, taps), for a vector of one lane."""
    weights = next((each for most, each in _WEIGHTS if ci * z.co <= most), _FAR_WEIGHTS) * ci * z.co
    tiles, products = _full(z.n * _tiles(z.oh) * _tiles(z.ow)), _products(z)
    return DIRECT * (tiles * (products * ci * z.co + products / 36 * _TILE * (ci + z.co)) + products / 36 * weights)


def _memory(z: Sizes, common: int, per_tile: int, fixed: int) -> dict[str, int]:
    """Scratch memory, and threads that have some; the last three say what a kernel wants for all, per tile, per thread."""
    each_tile, side = _products(z) * (z.ci + z.co), z.kh + 3
    across, rows = _tiles(z.ow + 2), z.n * _tiles(z.oh)
    parts = min(threads(), rows)
    tiles = _full(min(max(_CACHE // each_tile, _LEAST_TILES, across), -(-rows // parts) * across))
    each = tiles * (each_tile + 4 * side + per_tile) + fixed + max(z.w, z.ow) + 1360
    return {**z.params(), "parts": parts, "scratch": common + parts * each}


def _tiles(size: int) -> int:
    return -(-size // 4)


def _full(count: int) -> int:
    return -(-count // _LANES) * _LANES
