"""Convolutions whose lanes are images: sizes, and moving images into lanes and back.

The pixels at one place of as many images as there are lanes make a vector. So all vectors are full, whatever the width of images
and the number of channels, and outputs near the edges leave out taps that would only meet padding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Self

import numpy as np

from graphc_codegen.errors import CodegenError
from graphc_codegen.kernels.base import Array, Params
from graphc_codegen.kernels.winograd.points import BY_COUNT, Points
from graphc_codegen.kernels.winograd.transforms import load_columns, transpose_quads
from graphc_codegen.writer import Writer, vec


@dataclass(frozen=True)
class Batch:
    """Sizes of a call whose source is [n, ci, h, w] and whose result is [n, co, oh, ow]. Memory is counted in vectors."""

    n: int
    ci: int
    co: int
    h: int
    w: int
    kh: int
    kw: int
    oh: int
    ow: int
    top: int
    left: int
    parts: int
    scratch: int
    points: int
    transposed: bool = False
    pool: tuple[int, int] = (1, 1)
    unpool: tuple[int, int] = (1, 1)
    lanes: int = 16
    threads: int = 1

    @classmethod
    def of(cls, p: Params, w: Writer | None = None) -> Self:
        names = ("n", "ci", "co", "h", "w", "kh", "kw", "oh", "ow", "top", "left", "parts", "scratch", "points")
        more = {name: p[name] for name in ("transposed", "pool", "unpool") if name in p}
        machine: dict[str, Any] = {"lanes": w.lanes, "threads": w.threads} if w else {}
        made = cls(**{name: p[name] for name in names}, **more, **machine)
        if made.fixed + made.parts * made.region > made.scratch:
            raise CodegenError(f"scratch memory of {made.scratch} elements has no room for images as lanes")
        return made

    @cached_property
    def out(self) -> int:
        """Output rows of a tile."""
        return self.points + 1 - self.kh

    @cached_property
    def axis(self) -> Points:
        return BY_COUNT[self.points]

    @cached_property
    def blocks(self) -> int:
        """Blocks of as many images as there are lanes."""
        return -(-self.n // self.lanes)

    @cached_property
    def regions(self) -> int:
        """Threads that work."""
        return min(self.parts, self.threads)

    @cached_property
    def fixed(self) -> int:
        """Elements of scratch memory that all threads share."""
        return 0

    @cached_property
    def region(self) -> int:
        """Elements of scratch memory of a thread."""
        raise NotImplementedError

    def image(self, w: Writer, block: str | int, lane: str | int) -> str | int:
        """The number of the image in a lane; lanes beyond the last image do that one again."""
        number = w.linear((block, self.lanes), (lane, 1))
        if self.n % self.lanes == 0:
            return number
        return w.call("llvm.smin.i64", "i64", [("i64", str(number)), ("i64", str(self.n - 1))])

    def pointers(self, w: Writer, images: str, size: int, block: str | int, at: str | int) -> list[str]:
        """The addresses of element `at` of a block's images, each of `size` elements."""
        if self.n % self.lanes == 0:
            first = w.at(images, w.linear((block, self.lanes * size), (at, 1)))
            return [w.at(first, lane * size) for lane in range(self.lanes)]
        numbers = [self.image(w, block, lane) for lane in range(self.lanes)]
        return [w.at(images, w.linear((number, size), (at, 1))) for number in numbers]

    def padded(self, x: Array) -> Array:
        """x inside zeros, as far as outputs read."""
        height, width = self.oh + self.kh - 1, self.ow + self.kw - 1
        wide = np.zeros((self.n, self.ci, self.top + self.h + height, self.left + self.w + width), np.float32)
        wide[:, :, self.top : self.top + self.h, self.left : self.left + self.w] = x.reshape(
            self.n, self.ci, self.h, self.w
        )
        return wide[:, :, :height, :width]


#: Stores the vector of a channel's pixel: (channel, value, pixel, and how many pixels further).
Put = Callable[[str | int, str, str | int, int], None]


def into_lanes(
    w: Writer, images: Callable[[str | int], list[str]], channels: int, pixels: int, put: Put, on: str | None = None
) -> None:
    """A block of images to vectors. `images` gives the addresses of an element in all images.

    Lanes that are not in the mask `on` become zero.
    """

    def made(value: str) -> str:
        return w.select(on, value, "zeroinitializer") if on else value

    def four(c: str | int, k: str | int) -> None:
        for j, value in enumerate(load_columns(w, images(w.linear((c, pixels), (k, 4))))):
            put(c, made(value), w.mul(k, 4), j)

    def one(c: str | int, k: str | int) -> None:
        at, v = w.linear((c, pixels), (k, 1), (pixels // 4 * 4, 1)), vec("float", w.lanes)
        value = "poison"
        for lane, address in enumerate(images(at)):
            value = w.op(f"insertelement {v} {value}, float {w.load(address)}, i64 {lane}")
        put(c, made(value), k, pixels // 4 * 4)

    def channel(c: str | int) -> None:
        w.repeat(pixels // 4, partial(four, c))
        w.repeat(pixels % 4, partial(one, c))

    w.repeat(channels, channel)


def planes(w: Writer, target: str, distance: int) -> Put:
    """Pixels one after another at `target`, channels so many vectors apart."""

    def put(c: str | int, value: str, pixel: str | int, further: int) -> None:
        place = w.at(target, w.mul(c, distance * w.lanes))
        w.vstore(value, w.at(place, w.linear((pixel, w.lanes), (further * w.lanes, 1))))

    return put


def whole_quads(pixels: int) -> int:
    return -(-pixels // 4) * 4


def out_of_lanes(w: Writer, source: str, pixels: int, target: str) -> None:
    """Vectors to rows, one for each lane, `whole_quads(pixels)` elements apart; vectors up to such a number are read."""
    lanes, row = w.lanes, whole_quads(pixels)

    def four(k: str | int) -> None:
        loaded = [w.vload(w.at(source, w.linear((k, 4 * lanes), (j * lanes, 1)))) for j in range(4)]
        place = w.at(target, w.mul(k, 4))
        for j, value in enumerate(transpose_quads(w, loaded)):
            for q in range(0, lanes, 4):
                choice = ", ".join(f"i32 {q + i}" for i in range(4))
                quad = w.op(
                    f"shufflevector {vec('float', lanes)} {value}, {vec('float', lanes)} poison, <4 x i32> <{choice}>"
                )
                w.store_four(quad, w.at(place, (q + j) * row))

    w.repeat(row // 4, four)
