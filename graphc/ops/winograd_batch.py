"""How fast Winograd's kernels with images as lanes make a convolution, and what memory they take.

F(7 - kh, kh) along columns only: 6 products for 7 - kh outputs and a column of the kernel. For few channels and many images.
"""

from __future__ import annotations

from graphc.debug import threads
from graphc.ops.conv_sizes import Sizes, meetings

#: It must be so many times as fast as the direct kernel.
WORTH = 1.1
#: Images that are done at a time.
_IMAGES = 16
_POINTS = 6
#: Cycles for a vector: to move it into lanes and out of them, to transform a column of a patch to points, of points to results,
#: and the same where patches overlap.
_IN, _OUT, _PATCH, _RESULT, _OVERLAPPING = 16, 14, 26, 12, 30
#: Cycles for a column of the kernel of one pair of channels, and for a sum of a vector's lanes.
_WEIGHTS, _SUM = 15, 6
#: Elements of scratch memory of a thread, which is in its second-level cache.
_MOST = 192 * 1024


def suits(z: Sizes, *, transposed: bool) -> bool:
    """Whether the kernel can make the convolution, and within the cache."""
    return _fits(z) and z.top < z.kh and _elements(z, transposed) <= _MOST


def cost(z: Sizes, *, transposed: bool) -> float:
    """Its cycles, for a vector of one lane."""
    tiles, columns = _tiles(z, transposed), meetings(z.w, z.ow, z.kw, z.left)
    products = _POINTS * z.ci * z.co * tiles * columns
    results = (_OVERLAPPING if transposed else _RESULT) * z.co * tiles * z.ow
    block = products + _PATCH * z.ci * tiles * z.w + results + _IN * z.ci * z.h * z.w + _OUT * z.co * z.oh * z.ow
    return _IMAGES * (_rounds(z) * block + _WEIGHTS * z.ci * z.co * z.kw)


def memory(z: Sizes, *, transposed: bool) -> tuple[int, int]:
    """Elements of scratch memory, and threads that have some."""
    parts = _parts(z)
    return _full(_POINTS * z.kw * z.ci * z.co) + 16 + parts * _elements(z, transposed), parts


def suits_gradient(z: Sizes) -> bool:
    """Whether the kernel can make the gradient with respect to the weights, and within the cache."""
    return _fits(z) and _gradient_elements(z, 1) <= _MOST


def gradient_cost(z: Sizes) -> float:
    """Its cycles, for a vector of one lane."""
    tiles = _tiles(z, False)
    sums = _POINTS * z.ci * z.co * z.kw * (tiles * z.ow + _SUM * tiles // _rows(z))
    images = z.ci * (_PATCH * tiles * z.w + _IN * z.h * z.w) + z.co * (_PATCH * tiles * z.ow + _IN * z.oh * z.ow)
    return _IMAGES * (_rounds(z) * (sums + images) + _WEIGHTS * z.ci * z.co)


def gradient_memory(z: Sizes) -> tuple[int, int]:
    """Elements of scratch memory, and threads that have some."""
    parts = _parts(z)
    return parts * _gradient_elements(z, _rows(z)), parts


def _fits(z: Sizes) -> bool:
    return 2 <= z.kh < _POINTS and min(z.top, z.left) >= 0


def _blocks(z: Sizes) -> int:
    return -(-z.n // _IMAGES)


def _parts(z: Sizes) -> int:
    return min(threads(), _blocks(z))


def _rounds(z: Sizes) -> int:
    """Blocks of images one after another, times threads: those without a block wait."""
    return -(-_blocks(z) // threads()) * threads()


def _tiles(z: Sizes, transposed: bool) -> int:
    """In a column, each for as many rows of results, or of the source if `transposed`."""
    return -(-(z.h if transposed else z.oh) // (_POINTS + 1 - z.kh))


def _elements(z: Sizes, transposed: bool) -> int:
    """Of a block's images, points and results."""
    rows, reach = _tiles(z, transposed) * (_POINTS + 1 - z.kh), z.kh - 1
    source = max(rows, z.h) if transposed else max(rows + reach, z.top + z.h)
    result = max(rows + reach, reach - z.top + z.oh) if transposed else rows
    points = max(_POINTS * z.ci * z.w, -(-z.oh * z.ow // 4) * 4)
    return _IMAGES * (z.ci * source * z.w + points + z.co * result * z.ow + 3)


def _gradient_elements(z: Sizes, rows: int) -> int:
    """Of a block's images, of the points of so many rows of tiles, and of the sums."""
    reach = _tiles(z, False) * (_POINTS + 1 - z.kh)
    images = z.ci * max(reach + z.kh - 1, z.top + z.h) * z.w + z.co * reach * z.ow
    points = _POINTS * rows * (z.ci * (z.ow + z.kw - 1) + z.co * z.ow)
    return _IMAGES * (images + points) + _full(_POINTS * z.ci * z.co * z.kw)


def _rows(z: Sizes) -> int:
    """Rows of tiles whose points are in memory at a time."""
    tiles = _tiles(z, False)
    return max(r for r in range(1, tiles + 1) if tiles % r == 0 and (r == 1 or _gradient_elements(z, r) <= _MOST))


def _full(count: int) -> int:
    return -(-count // 16) * 16
