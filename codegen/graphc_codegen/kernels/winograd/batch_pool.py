"""Max pooling of images that lie in lanes, and its gradient: windows tile the image from its first corner.

`pool` = (rows, columns) of a window makes a convolution store the largest pixel of each window only, NaN if there is one, and
with `indexed` also where in its window that was, counted row by row; with `bias` each channel has a number added before.
`unpool` makes a kernel read the gradient of such a result: a window's gradient goes to the pixel that the index tells, all other
pixels are zero. Rows and columns beyond the last whole window count for nothing.

The index is uint8 [blocks of 16 images, channels, windows, 16]; images beyond the last are copies of that one.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from graphc_codegen.kernels.base import Array, Operand
from graphc_codegen.kernels.pool.windows import takes
from graphc_codegen.kernels.winograd.batch_plan import Put
from graphc_codegen.writer import Writer

#: Images of a block of the index, whatever the number of lanes.
BLOCK = 16

Window = tuple[int, int]


def windows(h: int, w: int, window: Window) -> int:
    """How many windows an image has."""
    return h // window[0] * (w // window[1])


def index_operand(n: int, channels: int, count: int, role: str) -> Operand:
    """The index of `count` windows of each channel."""
    return Operand("uint8", -(-n // BLOCK) * BLOCK * channels * count, "in" if role == "in" else "out")


def index_of(w: Writer, index: str, channels: int, count: int, block: str | int) -> Callable[[str | int], str]:
    """Where the index of a channel of a block of as many images as there are lanes begins."""
    whole, part = (block, 0) if w.lanes == BLOCK else w.divided(block, BLOCK // w.lanes)
    start = w.at(index, w.linear((whole, channels * count * BLOCK), (part, w.lanes)), "i8")
    return lambda c: w.at(start, w.mul(c, count * BLOCK), "i8")


def pool_lanes(
    w: Writer, plane: str, width: int, window: Window, rows: tuple[str | int, str | int], bias: str, index: str
) -> None:
    """Rows of windows, from the first to before the second, of a channel of vectors to their maxima in the same place.

    `bias` is the address of a number that is added before; it may be "", and `index`, too, is not stored if that is.
    """
    lanes, across = w.lanes, width // window[1]
    added = w.load_splat(bias) if bias else ""

    def pixel(place: str) -> str:
        value = w.vload(place)
        return w.binary("fadd", value, added) if added else value

    def one(y: str | int, x: str | int) -> None:
        corner = w.at(plane, w.linear((y, window[0] * width * lanes), (x, window[1] * lanes)))
        best, which = pixel(corner), "zeroinitializer"
        for k in range(1, window[0] * window[1]):
            value = pixel(w.at(corner, _offset(k, window, width) * lanes))
            take = takes(w, value, best)
            best = w.select(take, value, best)
            which = w.select(take, w.constant(k, "i8"), which, "i8")
        # No window is overwritten before it is read: those before it have fewer results than pixels.
        place = w.linear((y, across), (x, 1))
        w.vstore(best, w.at(plane, w.mul(place, lanes)))
        if index:
            w.vstore(which, w.at(index, w.mul(place, BLOCK), "i8"), type="i8")

    w.turns(rows, lambda y, _: w.repeat(across, lambda x: one(y, x)))


def unpooled(
    w: Writer, target: str, distance: int, width: int, window: Window, index: Callable[[str | int], str]
) -> Put:
    """Spreads gradients of windows over images `width` wide at `target`, channels so many vectors apart."""
    lanes = w.lanes

    def put(c: str | int, value: str, pixel: str | int, further: int) -> None:
        place = w.add(pixel, further)
        y, x = w.divided(place, width // window[1])
        winner = w.vload(w.at(index(c), w.mul(place, BLOCK), "i8"), type="i8")
        at = w.linear((c, distance * lanes), (y, window[0] * width * lanes), (x, window[1] * lanes))
        corner = w.at(target, at)
        for k in range(window[0] * window[1]):
            share = w.select(w.binary("icmp eq", winner, w.constant(k, "i8"), "i8"), value, "zeroinitializer")
            w.vstore(share, w.at(corner, _offset(k, window, width) * lanes))

    return put


def _offset(k: int, window: Window, width: int) -> int:
    """Of a window's pixel from its first, in an image so wide."""
    return k // window[1] * width + k % window[1]


def _tiles(image: Array, window: Window) -> Array:
    """[n, c, rows of windows, windows, pixels of a window], a copy of what whole windows hold of [n, c, h, w]."""
    n, c, h, w = image.shape
    rows, columns = h // window[0], w // window[1]
    cut = image[:, :, : rows * window[0], : columns * window[1]]
    split = cut.reshape(n, c, rows, window[0], columns, window[1]).transpose(0, 1, 2, 4, 3, 5)
    return split.reshape(n, c, rows, columns, -1)


def pool_twin(image: Array, window: Window) -> tuple[Array, Array]:
    """The maxima [n, c, rows, columns] of an image [n, c, h, w], and the index, flat."""
    tiles = _tiles(image, window)
    winner = tiles.argmax(-1)  # the first NaN, if there is one
    n, c, *_ = winner.shape
    blocks = -(-n // BLOCK)
    images = np.minimum(np.arange(blocks * BLOCK), n - 1)
    index = winner.reshape(n, c, -1)[images].reshape(blocks, BLOCK, c, -1).transpose(0, 2, 3, 1)
    return np.take_along_axis(tiles, winner[..., None], -1)[..., 0], index.reshape(-1).astype(np.uint8)


def unpool_twin(gradient: Array, index: Array, shape: tuple[int, int, int, int], window: Window) -> Array:
    """The gradient of an image of this shape [n, c, h, w] from that of the maxima."""
    n, c, h, w = shape
    rows, columns = h // window[0], w // window[1]
    winner = index.reshape(-1, c, rows * columns, BLOCK).transpose(0, 3, 1, 2).reshape(-1, c, rows, columns)[:n]
    image = np.zeros(shape, np.float32)
    values = gradient.reshape(n, c, rows, columns)
    for k in range(window[0] * window[1]):
        y, x = divmod(k, window[1])
        part = image[:, :, y : rows * window[0] : window[0], x : columns * window[1] : window[1]]
        np.copyto(part, values, where=winner == k)
    return image
