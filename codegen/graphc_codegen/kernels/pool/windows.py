"""What max and average pooling share: sizes, windows as vectors, the walk over strips of windows.

The planes are [planes, h, w] -> [planes, oh, ow]. Window (oy, ox) starts at (oy * sh - pt, ox * sw - pl) and
is clipped to the image; every window must hold at least one pixel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from graphc_codegen.kernels.base import Operand, Params
from graphc_codegen.kernels.microkernel import each_strip
from graphc_codegen.kernels.vectors import deinterleave, fill_zero, gathered, interleave, iota
from graphc_codegen.writer import Carry, Writer, mask

#: Windows of at most this many pixels are unrolled.
_UNROLLED = 16


@dataclass(frozen=True, slots=True)
class Sizes:
    """Static sizes of a pooling; `of` raises `ValueError` if a window lies outside the image."""

    planes: int
    h: int
    w: int
    oh: int
    ow: int
    kh: int
    kw: int
    sh: int
    sw: int
    pt: int
    pl: int

    @property
    def inside(self) -> bool:
        """No window is clipped."""
        below, right = (self.oh - 1) * self.sh + self.kh, (self.ow - 1) * self.sw + self.kw
        return self.pt == self.pl == 0 and below <= self.h and right <= self.w

    @property
    def tiled(self) -> bool:
        """Windows neither overlap nor leave gaps between each other."""
        return self.kh == self.sh and self.kw == self.sw

    @property
    def vectors(self) -> bool:
        """Rows of windows can be loaded as whole vectors."""
        return self.inside and self.sw in (1, 2) and self.kh * self.kw <= _UNROLLED

    @property
    def covered(self) -> bool:
        """Every pixel lies in a window."""
        return (self.oh * self.kh, self.ow * self.kw) == (self.h, self.w)

    @classmethod
    def of(cls, p: Params) -> Sizes:
        z = cls(*(p[name] for name in cls.__dataclass_fields__))
        axes = ((z.oh, z.sh, z.pt, z.kh, z.h), (z.ow, z.sw, z.pl, z.kw, z.w))
        for out, stride, before, window, size in axes:
            if before >= window or (out - 1) * stride - before >= size:
                raise ValueError("a pooling window lies outside the image")
        return z


def operands(p: Params) -> tuple[Operand, ...]:
    """x [planes, h, w] -> y [planes, oh, ow], float32."""
    z = Sizes.of(p)
    return (
        Operand("float32", z.planes * z.h * z.w, "in"),
        Operand("float32", z.planes * z.oh * z.ow, "out"),
    )


@dataclass(frozen=True, slots=True)
class Strip:
    """Some neighbouring windows of one row: `active` of them from window (plane, oy, ox)."""

    plane: str | int
    oy: str | int
    ox: str | int
    active: int

    def corner(self, w: Writer, z: Sizes) -> str | int:
        """Index in x of the first window's first pixel, for unclipped windows."""
        return w.linear((self.plane, z.h * z.w), (self.oy, z.sh * z.w), (self.ox, z.sw))

    def place(self, w: Writer, z: Sizes) -> str | int:
        """Index in y of the first window."""
        return w.linear((self.plane, z.oh * z.ow), (self.oy, z.ow), (self.ox, 1))


def each_window_strip(w: Writer, z: Sizes, body: Callable[[Strip], None], *, clear: str = "") -> None:
    """Every window of every plane, in order; threads share the planes. With `clear` = dx its plane is set to zero first."""

    def row(plane: str | int, oy: str | int) -> None:
        each_strip(w, z.ow, 1, lambda ox, widths: body(Strip(plane, oy, ox, widths[0])))

    def one(plane: str | int) -> None:
        if clear:
            fill_zero(w, w.at(clear, w.mul(plane, z.h * z.w)), z.h * z.w)
        w.repeat(z.oh, lambda oy: row(plane, oy))

    w.share(z.planes, one)


def loaded_taps(w: Writer, z: Sizes, x: str, strip: Strip) -> list[str]:
    """The pixels of unclipped windows at stride 1 or 2, tap by tap, each a vector over the windows."""
    corner = w.at(x, strip.corner(w, z))
    return [v for ky in range(z.kh) for v in _row_taps(w, z, w.at(corner, ky * z.w), strip.active)]


def _row_taps(w: Writer, z: Sizes, pointer: str, active: int) -> list[str]:
    """The kw pixels of `active` neighbouring windows in one row, each as a vector over the windows."""
    if z.sw == 1:
        return [w.vload(w.at(pointer, kx), active) for kx in range(z.kw)]
    taps = []
    for kx in range(0, z.kw, 2):
        both = kx + 1 < z.kw
        low, high = _load_double(w, w.at(pointer, kx), 2 * active if both else 2 * active - 1)
        taps.append(deinterleave(w, low, high, 0))
        if both:
            taps.append(deinterleave(w, low, high, 1))
    return taps


def _load_double(w: Writer, pointer: str, active: int) -> tuple[str, str]:
    low = w.vload(pointer, min(active, w.lanes))
    return low, w.vload(w.at(pointer, w.lanes), active - w.lanes) if active > w.lanes else "zeroinitializer"


def bounds(w: Writer, at: str | int, window: int, size: int) -> tuple[str, str]:
    """First and last + 1 of the offsets in a window from `at` that lie in [0, size)."""
    low = w.op(f"sub nsw i64 0, {at}")
    high = w.op(f"sub nsw i64 {size}, {at}")
    first = w.call("llvm.smax.i64", "i64", [("i64", low), ("i64", "0")])
    return first, w.call("llvm.smin.i64", "i64", [("i64", high), ("i64", str(window))])


def gathered_taps(
    w: Writer,
    z: Sizes,
    x: str,
    strip: Strip,
    fill: float,
    carry: Carry,
    fold: Callable[[list[str], str, str, str], list[str]],
) -> list[str]:
    """Any stride, any padding: `fold(values, pixels, valid lanes, indices in the plane)` for tap after tap.

    Rows are clipped by the bounds of the loop, columns by the mask of a gather; lanes that are not valid hold
    `fill`.
    """
    plane = w.at(x, w.mul(strip.plane, z.h * z.w))
    top = w.linear((strip.oy, z.sh), (-z.pt, 1))
    left = lane_columns(w, z, strip.ox)

    def tap(ky: str, kx: str, values: list[str]) -> list[str]:
        column = w.binary("add", left, w.splat(w.op(f"trunc i64 {kx} to i32"), "i32"), "i32")
        in_image = w.binary("icmp ult", column, w.constant(z.w, "i32"), "i32")
        on = w.binary("and", in_image, mask(strip.active, w.lanes), "i1")
        row = w.op(f"trunc i64 {w.mul(w.add(top, ky), z.w)} to i32")
        index = w.binary("add", column, w.splat(row, "i32"), "i32")
        pixels = gathered(w, plane, index, ("float", "i32"), on=on, other=w.constant(fill))
        return fold(values, pixels, on, index)

    def row(ky: str, values: list[str]) -> list[str]:
        inner = list(zip((type for type, _ in carry), values, strict=True))
        return w.loop(z.kw, lambda kx, current: tap(ky, kx, current), inner)

    first, last = bounds(w, top, z.kh, z.h)
    return w.loop(last, row, carry, start=first)


def lane_columns(w: Writer, z: Sizes, ox: str | int) -> str:
    """First column of each lane's window, as i32; may be negative."""
    left = w.linear((ox, z.sw), (-z.pl, 1))
    base = w.splat(w.op(f"trunc i64 {left} to i32"), "i32")
    steps = w.binary("mul", iota(w), w.constant(z.sw, "i32"), "i32")
    return w.binary("add", base, steps, "i32")


def spread(
    w: Writer,
    z: Sizes,
    dy: str,
    store: Callable[[str, str | int, int], None],
    values: Callable[[str, Strip], list[str]],
    clear: str = "",
) -> None:
    """Windows that tile the image: write all pixels; `values(dy, strip)` gives a vector per tap.

    `store(vector, place, active)` writes to dx. Pixels in no window are set to zero first, in the array `clear`.
    """

    def one(strip: Strip) -> None:
        taps = values(w.vload(w.at(dy, strip.place(w, z)), strip.active), strip)
        corner = strip.corner(w, z)
        for ky in range(z.kh):
            row = w.add(corner, ky * z.w)
            if z.kw == 1:
                store(taps[ky], row, strip.active)
                continue
            low, high = interleave(w, taps[2 * ky], taps[2 * ky + 1])
            store(low, row, min(2 * strip.active, w.lanes))
            if 2 * strip.active > w.lanes:
                store(high, w.add(row, w.lanes), 2 * strip.active - w.lanes)

    each_window_strip(w, z, one, clear=clear)


def takes(w: Writer, v: str, best: str) -> str:
    """Lanes where v displaces best as the maximum: it is larger or the first NaN."""
    return w.binary("and", w.binary("fcmp ugt", v, best), w.binary("fcmp ord", best, best), "i1")


def add_to(w: Writer, place: str, value: str) -> None:
    """Add a scalar to memory."""
    w.store(w.op(f"fadd float {w.load(place)}, {value}"), place)


def taps(z: Sizes) -> list[tuple[slice, slice, slice, slice]]:
    """For each tap, row-major: the windows that hold it (rows, columns) and their pixels (rows, columns)."""
    cut = []
    for ky in range(z.kh):
        for kx in range(z.kw):
            ys = [o for o in range(z.oh) if 0 <= o * z.sh - z.pt + ky < z.h]
            xs = [o for o in range(z.ow) if 0 <= o * z.sw - z.pl + kx < z.w]
            if ys and xs:
                y, x = ys[0] * z.sh - z.pt + ky, xs[0] * z.sw - z.pl + kx
                pixels = (slice(y, y + len(ys) * z.sh, z.sh), slice(x, x + len(xs) * z.sw, z.sw))
                cut.append((slice(ys[0], ys[-1] + 1), slice(xs[0], xs[-1] + 1), *pixels))
    return cut
