"""When a 3 x 3 convolution takes Winograd's kernels, and how they are called.

F(4x4, 3x3) makes 4 x 4 outputs with 36 products for a pair of channels instead of 144, but transforms images and weights.
"""

from __future__ import annotations

from typing import Any

from graphc.debug import threads
from graphc.ir import TensorType

#: Multiply-adds that take as long as the transforms of a tile of one channel, and of the weights of one pair of channels; the
#: latter with up to so many pairs, which stay in the second-level cache, and with more.
_TILE, _WEIGHTS, _NEAR, _FAR_WEIGHTS = 250, 500, 8192, 1500
#: It must be so many times as fast as the direct kernel: its rounding errors are larger.
_WORTH = 1.25
#: Sums of fewer terms have errors of more than four times the direct kernel's, up to six times with a single one: channels for
#: an output, tiles for the gradient of a weight. With more terms it is two to three times.
_LEAST_CHANNELS, _LEAST_SUMMED = 8, 128
#: Transformed images of a thread stay below so many elements, but for so many tiles there is room anyway.
_CACHE, _LEAST_TILES = 128 * 1024, 48
#: Tiles are counted in full vectors; channels too where they are lanes.
_LANES = 16


def suits(n: int, ci: int, co: int, oh: int, ow: int, kernel: tuple[int, int], top: int, left: int) -> bool:
    """Whether Winograd's kernel should make the convolution, of stride 1 and padded by top and left, from ci to co channels."""
    return kernel == (3, 3) and min(top, left) >= 0 and ci >= _LEAST_CHANNELS and _pays(n, ci, co, oh, ow)


def suits_weight_gradient(n: int, ci: int, co: int, oh: int, ow: int, kernel: tuple[int, int]) -> bool:
    """Whether it should be the gradient of such a convolution with respect to its weights."""
    summed = n * _tiles(oh) * _tiles(ow)
    return kernel == (3, 3) and summed >= _LEAST_SUMMED and _pays(n, _full(ci), co, oh, ow, ci / _full(ci))


def _pays(n: int, ci: int, co: int, oh: int, ow: int, used: float = 1.0) -> bool:
    """Whether it is faster; of the ci channels only some may be `used`."""
    weights = (_WEIGHTS if ci * co <= _NEAR else _FAR_WEIGHTS) * ci * co
    winograd = _full(n * _tiles(oh) * _tiles(ow)) * (36 * ci * co + _TILE * (ci + co)) + weights
    return _WORTH * winograd < used * 9 * n * ci * co * oh * ow


def convolve(k: Any, x: Any, weight: Any, out: Any, top: int, left: int, *, transposed: bool) -> None:
    """out = the convolution of x after so many rows and columns of zeros; with the weight turned around if `transposed`."""
    sizes = _sizes(k.type(x).shape, k.type(out).shape, top, left)
    ci, co = sizes["ci"], sizes["co"]
    scratch, memory = _memory(k, sizes, 36 * (ci * co + 32), 0, 0)
    k.call("conv2d_winograd", (x, weight), (scratch, out), **sizes, transposed=transposed, **memory)


def weight_gradient(k: Any, x: Any, dy: Any, out: Any, top: int, left: int) -> None:
    """out = the gradient of such a convolution with respect to its weights."""
    sizes = _sizes(k.type(x).shape, k.type(dy).shape, top, left)
    channels = _full(sizes["ci"])
    scratch, memory = _memory(k, sizes, 0, channels, 36 * (sizes["co"] * channels + 16))
    k.call("conv2d_filter_grad_winograd", (x, dy), (scratch, out), **sizes, **memory)


def _sizes(x: tuple[int, ...], y: tuple[int, ...], top: int, left: int) -> dict[str, int]:
    (n, ci, h, w), (_, co, oh, ow) = x, y
    return dict(n=n, ci=ci, co=co, h=h, w=w, kh=3, kw=3, oh=oh, ow=ow, top=top, left=left)


def _memory(k: Any, z: dict[str, int], common: int, per_tile: int, fixed: int) -> tuple[Any, dict[str, int]]:
    """Scratch memory for each thread that may take part; the last three say what a kernel wants for all, per tile, per thread."""
    channels = z["ci"] + z["co"]
    across, rows = _tiles(z["ow"] + 2), z["n"] * _tiles(z["oh"])
    parts = min(threads(), rows)
    tiles = _full(min(max(_CACHE // (36 * channels), _LEAST_TILES, across), -(-rows // parts) * across))
    each = tiles * (36 * channels + 24 + per_tile) + fixed + max(z["w"], z["ow"]) + 1360
    size = common + parts * each
    return k.temp(TensorType("float32", (size,))), {"parts": parts, "scratch": size}


def _tiles(size: int) -> int:
    return -(-size // 4)


def _full(count: int) -> int:
    return -(-count // _LANES) * _LANES
