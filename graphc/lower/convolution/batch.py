"""How fast Winograd's kernels with images as lanes make a convolution, and what memory they take.

F(points + 1 - kh, kh) along columns only: so many products, one for each point, for a tile of outputs and a column of the kernel.
For few channels and many images.
"""

from __future__ import annotations

import math
from typing import Any

from graphc.debug import threads
from graphc.lower.convolution.sizes import Sizes, Window, meetings

#: Images that are done at a time.
_IMAGES = 16
#: With 8 points, kernels of fewer rows or sums of fewer products have errors of more than three times the direct kernel's.
_LEAST_ROWS, _LEAST_TERMS = 4, 16
#: Cycles for a vector: to move it into lanes and out of them, to sum up its lanes. Cycles for the weights of a pair of channels,
#: for each column.
_IN, _OUT, _SUM, _WEIGHTS = 9, 10, 6, 15
#: The same for a pixel that is pooled.
_POOL = 3
#: Elements of scratch memory of a thread, which is in its second-level cache.
_MOST = 192 * 1024


def points(z: Sizes, *, transposed: bool) -> int:
    """The number of points with which the convolution is fastest; 0 if the kernel cannot make it within the cache."""
    fit = [p for p in _points(z, z.ci * z.kw) if z.top < z.kh and _elements(z, p, transposed) <= _MOST]
    return min(fit, key=lambda p: cost(z, p, transposed=transposed), default=0)


def cost(z: Sizes, points: int, *, transposed: bool) -> float:
    """Cycles of the convolution, for a vector of one lane."""
    tiles, columns = _tiles(z, points, transposed), meetings(z.w, z.ow, z.kw, z.left)
    # Results come back from points in registers: only their memory counts, which input gradients add to.
    source, result = (_narrow(z, points), 3 * points) if transposed else (_wide(points), 2 * (points + 1 - z.kh))
    transforms = tiles * (source * z.ci * z.w + result * z.co * z.ow)
    block = points * z.ci * z.co * tiles * columns + transforms + _IN * z.ci * z.h * z.w + _OUT * z.co * z.oh * z.ow
    return _IMAGES * (_rounds(z) * block + _WEIGHTS * z.ci * z.co * z.kw)


def pooled_cost(z: Sizes, points: int, window: Window) -> float:
    """Cycles of the convolution and of max pooling, for a vector of one lane."""
    fewer = _OUT * (z.oh * z.ow - math.prod(z.pooled(window)))
    return cost(z, points, transposed=False) + _IMAGES * _rounds(z) * z.co * (_POOL * z.oh * z.ow - fewer)


def params(z: Sizes, *, transposed: bool) -> dict[str, int]:
    """What the kernel is told besides the sizes: points, threads that have scratch memory, and elements of that."""
    p, parts = points(z, transposed=transposed), _parts(z)
    size = _full(p * z.kw * z.ci * z.co) + 16 + parts * _elements(z, p, transposed)
    return {"points": p, "parts": parts, "scratch": size}


def pooled_params(z: Sizes, window: Window, *, indexed: bool) -> dict[str, Any]:
    """All that the kernel is told if it pools; `indexed` if it also stores where each maximum was."""
    return {**z.params(), **params(z, transposed=False), "transposed": False, "pool": window, "indexed": indexed}


def index_size(z: Sizes, window: Window) -> int:
    """Elements of the index of the maxima."""
    return _blocks(z) * _IMAGES * z.co * math.prod(z.pooled(window))


def gradient_points(z: Sizes) -> int:
    """The number of points with which the gradient with respect to the weights is fastest; 0 as above."""
    fit = [p for p in _points(z, z.n * z.ow) if _gradient_elements(z, p, 1) <= _MOST]
    return min(fit, key=lambda p: gradient_cost(z, p), default=0)


def gradient_cost(z: Sizes, points: int) -> float:
    """Cycles of the gradient, for a vector of one lane."""
    tiles = _tiles(z, points, False)
    sums = points * z.ci * z.co * z.kw * (tiles * z.ow + _SUM * tiles // _rows(z, points))
    transforms = tiles * (_wide(points) * z.ci * z.w + _narrow(z, points) * z.co * z.ow)
    images = transforms + _IN * (z.ci * z.h * z.w + z.co * z.oh * z.ow)
    return _IMAGES * (_rounds(z) * (sums + images) + _WEIGHTS * z.ci * z.co)


def gradient_params(z: Sizes) -> dict[str, int]:
    """What its kernel is told besides the sizes."""
    p, parts = gradient_points(z), _parts(z)
    return {"points": p, "parts": parts, "scratch": parts * _gradient_elements(z, p, _rows(z, p))}


def _points(z: Sizes, terms: int) -> list[int]:
    """Numbers of points that suit sums of so many terms."""
    if z.kh < 2 or min(z.top, z.left) < 0:
        return []
    return [6] * (z.kh < 6) + [8] * (_LEAST_ROWS <= z.kh < 8 and terms >= _LEAST_TERMS)


def _wide(points: int) -> int:
    """Cycles to transform a column of a patch to points."""
    return points * (points // 2 + 2)


def _narrow(z: Sizes, points: int) -> int:
    """Cycles to transform a column of a tile of outputs to points."""
    return 2 * points + (points + 1 - z.kh) * (points // 2)


def _blocks(z: Sizes) -> int:
    return -(-z.n // _IMAGES)


def _parts(z: Sizes) -> int:
    return min(threads(), _blocks(z))


def _rounds(z: Sizes) -> int:
    """Blocks of images one after another, times threads: those without a block wait."""
    return -(-_blocks(z) // threads()) * threads()


def _tiles(z: Sizes, points: int, transposed: bool) -> int:
    """In a column, each for as many rows of results, or of the source if `transposed`."""
    return -(-(z.h if transposed else z.oh) // (points + 1 - z.kh))


def _elements(z: Sizes, points: int, transposed: bool) -> int:
    """Of a block's images, points and results."""
    rows, reach = _tiles(z, points, transposed) * (points + 1 - z.kh), z.kh - 1
    source = max(rows, z.h) if transposed else max(rows + reach, z.top + z.h)
    result = max(rows + reach, reach - z.top + z.oh) if transposed else rows
    transformed = max(points * z.ci * z.w, -(-z.oh * z.ow // 4) * 4)
    return _IMAGES * (z.ci * source * z.w + transformed + z.co * result * z.ow + 3)


def _gradient_elements(z: Sizes, points: int, rows: int) -> int:
    """Of a block's images, of the points of so many rows of tiles, and of the sums."""
    reach = _tiles(z, points, False) * (points + 1 - z.kh)
    images = z.ci * max(reach + z.kh - 1, z.top + z.h) * z.w + z.co * reach * z.ow
    transformed = points * rows * (z.ci * (z.ow + z.kw - 1) + z.co * z.ow)
    return _IMAGES * (images + transformed) + _full(points * z.ci * z.co * z.kw)


def _rows(z: Sizes, points: int) -> int:
    """Rows of tiles whose points are in memory at a time."""
    tiles = _tiles(z, points, False)
    fit = [r for r in range(1, tiles + 1) if tiles % r == 0 and _gradient_elements(z, points, r) <= _MOST]
    return max(fit, default=1)


def _full(count: int) -> int:
    return -(-count // 16) * 16
