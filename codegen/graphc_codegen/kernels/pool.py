"""Max and average pooling over the last two axes, and their gradients.

The planes are [planes, h, w] -> [planes, oh, ow]. Window (oy, ox) starts at (oy * sh - pt, ox * sw - pl)
and is clipped to the image; every window must hold at least one pixel (`ValueError` otherwise).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from graphc_codegen.kernels.base import Array, Emitter, Operand, Params
from graphc_codegen.kernels.microkernel import each_strip
from graphc_codegen.kernels.vectors import deinterleave, fill_zero, interleave, iota, maximum_or_nan
from graphc_codegen.writer import Writer, float_literal, mask, vec

#: Windows of at most this many pixels are unrolled.
_UNROLLED = 16


@dataclass(frozen=True, slots=True)
class Sizes:
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


def _sizes(p: Params) -> Sizes:
    z = Sizes(*(p[name] for name in Sizes.__dataclass_fields__))
    for out, stride, before, window, size in ((z.oh, z.sh, z.pt, z.kh, z.h), (z.ow, z.sw, z.pl, z.kw, z.w)):
        if before >= window or (out - 1) * stride - before >= size:
            raise ValueError("a pooling window lies outside the image")
    return z


def operands(p: Params) -> tuple[Operand, ...]:
    """x [planes, h, w] -> y [planes, oh, ow], float32."""
    z = _sizes(p)
    return (
        Operand("float32", z.planes * z.h * z.w, "in"),
        Operand("float32", z.planes * z.oh * z.ow, "out"),
    )


def _gradient_operands(p: Params, with_x: bool) -> tuple[Operand, ...]:
    x, y = operands(p)
    image = (x,) if with_x else ()
    return (*image, Operand("float32", y.size, "in"), Operand("float32", x.size, "out"))


# ---- forward


def _pool(
    w: Writer,
    z: Sizes,
    pointers: Sequence[str],
    start: float,
    combine: Callable[[str, str], str],
    finish: Callable[[str, str | int, str | int], str],
) -> None:
    """Fold each window by `combine` from `start`; `finish(folded, oy, ox)` gives what is stored."""
    x, y = pointers

    def strip(plane: str | int, oy: str | int, ox: str | int, active: int) -> None:
        if z.vectors:
            corner = w.linear((plane, z.h * z.w), (oy, z.sh * z.w), (ox, z.sw))
            rows = [_row_taps(w, z, w.at(w.at(x, corner), ky * z.w), active) for ky in range(z.kh)]
            taps = [v for row in rows for v in row]
            value = taps[0]
            for v in taps[1:]:
                value = combine(value, v)
        else:
            value = _gathered(w, z, w.at(x, w.mul(plane, z.h * z.w)), (oy, ox, active), start, combine)
        place = w.linear((plane, z.oh * z.ow), (oy, z.ow), (ox, 1))
        w.vstore(finish(value, oy, ox), w.at(y, place), active)

    def row(plane: str | int, oy: str | int) -> None:
        each_strip(w, z.ow, 1, lambda ox, widths: strip(plane, oy, ox, widths[0]))

    w.repeat(z.planes, lambda plane: w.repeat(z.oh, lambda oy: row(plane, oy)))


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


def _store_double(w: Writer, low: str, high: str, pointer: str, active: int) -> None:
    w.vstore(low, pointer, min(active, w.lanes))
    if active > w.lanes:
        w.vstore(high, w.at(pointer, w.lanes), active - w.lanes)


def _bounds(w: Writer, at: str | int, window: int, size: int) -> tuple[str, str]:
    """First and last + 1 of the offsets in a window from `at` that lie in [0, size)."""
    low = w.op(f"sub nsw i64 0, {at}")
    high = w.op(f"sub nsw i64 {size}, {at}")
    first = w.call("llvm.smax.i64", "i64", [("i64", low), ("i64", "0")])
    return first, w.call("llvm.smin.i64", "i64", [("i64", high), ("i64", str(window))])


def _gathered(
    w: Writer,
    z: Sizes,
    plane: str,
    at: tuple[str | int, str | int, int],
    start: float,
    combine: Callable[[str, str], str],
) -> str:
    """Any stride, any padding: clip rows by the loop's bounds and columns by the mask of a gather."""
    oy, ox, active = at
    top = w.linear((oy, z.sh), (-z.pt, 1))
    left = _lane_columns(w, z, ox)
    v, initial = vec("float", w.lanes), w.constant(start)

    def tap(ky: str, kx: str, values: list[str]) -> list[str]:
        column = w.binary("add", left, w.splat(w.op(f"trunc i64 {kx} to i32"), "i32"), "i32")
        in_image = w.binary("icmp ult", column, w.constant(z.w, "i32"), "i32")
        on = w.binary("and", in_image, mask(active, w.lanes), "i1")
        row = w.at(plane, w.mul(w.add(top, ky), z.w))
        places = w.op(f"getelementptr float, ptr {row}, {vec('i32', w.lanes)} {column}")
        arguments = [(vec("ptr", w.lanes), places), ("i32", "4"), (vec("i1", w.lanes), on), (v, initial)]
        pixel = w.call(f"llvm.masked.gather.v{w.lanes}f32.v{w.lanes}p0", v, arguments)
        return [combine(values[0], pixel)]

    def row(ky: str, values: list[str]) -> list[str]:
        return w.loop(z.kw, lambda kx, inner: tap(ky, kx, inner), [(v, values[0])])

    first, last = _bounds(w, top, z.kh, z.h)
    return w.loop(last, row, [(v, initial)], start=first)[0]


def _lane_columns(w: Writer, z: Sizes, ox: str | int) -> str:
    """First column of each lane's window, as i32; may be negative."""
    left = w.linear((ox, z.sw), (-z.pl, 1))
    base = w.splat(w.op(f"trunc i64 {left} to i32"), "i32")
    steps = w.binary("mul", iota(w), w.constant(z.sw, "i32"), "i32")
    return w.binary("add", base, steps, "i32")


def max_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """Vector loads for unclipped windows at stride 1 or 2, else gathers. NaN in a window gives NaN."""
    _pool(w, _sizes(p), pointers, -math.inf, lambda a, b: maximum_or_nan(w, a, b), lambda v, _y, _x: v)


def avg_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """Divides by kh * kw if `count_include_pad`, else by the number of pixels in the clipped window."""
    z = _sizes(p)

    def finish(total: str, oy: str | int, ox: str | int) -> str:
        if z.inside or p["count_include_pad"]:
            return w.binary("fdiv", total, w.constant(z.kh * z.kw))
        first, last = _bounds(w, w.linear((oy, z.sh), (-z.pt, 1)), z.kh, z.h)
        rows = w.splat(w.op(f"trunc i64 {w.op(f'sub nsw i64 {last}, {first}')} to i32"), "i32")
        left = _lane_columns(w, z, ox)
        right = w.binary("add", left, w.constant(z.kw, "i32"), "i32")
        v, suffix = vec("i32", w.lanes), f"v{w.lanes}i32"
        right = w.call(f"llvm.smin.{suffix}", v, [(v, right), (v, w.constant(z.w, "i32"))])
        left = w.call(f"llvm.smax.{suffix}", v, [(v, left), (v, "zeroinitializer")])
        count = w.binary("mul", rows, w.binary("sub", right, left, "i32"), "i32")
        return w.binary("fdiv", total, w.convert("sitofp", count, "i32", "float"))

    _pool(w, z, pointers, 0.0, lambda a, b: w.binary("fadd", a, b), finish)


# ---- gradients


def max_grad_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """A window's gradient goes to its first maximum in row-major order; the first NaN counts as maximum."""
    z = _sizes(p)
    x, dy, dx = pointers
    if not (z.vectors and z.tiled):
        _scatter(w, z, dy, dx, lambda plane, window: _to_maximum(w, z, x, plane, window))
        return

    def values(g: str, corner: str | int, active: int) -> list[str]:
        taps = [v for ky in range(z.kh) for v in _row_taps(w, z, w.at(w.at(x, corner), ky * z.w), active)]
        best, displaced = taps[0], []
        for v in taps[1:]:
            larger = w.binary("fcmp ugt", v, best)
            take = w.binary("and", larger, w.binary("fcmp ord", best, best), "i1")
            best = w.select(take, v, best)
            displaced.append(take)
        # A tap wins when it took the lead and no later one did.
        won, open_ = [], w.constant(1, "i1")
        for take in reversed(displaced):
            won.append(w.binary("and", take, open_, "i1"))
            open_ = w.binary("and", open_, w.binary("xor", take, w.constant(1, "i1"), "i1"), "i1")
        return [w.select(c, g, "zeroinitializer") for c in (open_, *reversed(won))]

    _spread(w, z, dy, dx, values)


def avg_grad_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """Every pixel of a window gets dy divided by the count the forward kernel divides by."""
    z = _sizes(p)
    dy, dx = pointers
    if z.vectors and z.tiled:

        def values(g: str, _corner: str | int, _active: int) -> list[str]:
            return [w.binary("fdiv", g, w.constant(z.kh * z.kw))] * (z.kh * z.kw)

        _spread(w, z, dy, dx, values)
        return
    whole = z.inside or bool(p["count_include_pad"])
    _scatter(w, z, dy, dx, lambda _plane, window: _to_all(w, z, window, whole))


def _spread(w: Writer, z: Sizes, dy: str, dx: str, values: Callable[[str, str | int, int], list[str]]) -> None:
    """Windows that tile the image: write all pixels; `values(dy, corner, active)` gives a vector per tap."""
    if (z.oh * z.kh, z.ow * z.kw) != (z.h, z.w):
        fill_zero(w, dx, z.planes * z.h * z.w)

    def strip(plane: str | int, oy: str | int, ox: str | int, active: int) -> None:
        corner = w.linear((plane, z.h * z.w), (oy, z.sh * z.w), (ox, z.sw))
        place = w.linear((plane, z.oh * z.ow), (oy, z.ow), (ox, 1))
        taps = values(w.vload(w.at(dy, place), active), corner, active)
        target = w.at(dx, corner)
        for ky in range(z.kh):
            row = w.at(target, ky * z.w)
            if z.kw == 1:
                w.vstore(taps[ky], row, active)
            else:
                low, high = interleave(w, taps[2 * ky], taps[2 * ky + 1])
                _store_double(w, low, high, row, 2 * active)

    def line(plane: str | int, oy: str | int) -> None:
        each_strip(w, z.ow, 1, lambda ox, widths: strip(plane, oy, ox, widths[0]))

    w.repeat(z.planes, lambda plane: w.repeat(z.oh, lambda oy: line(plane, oy)))


@dataclass(frozen=True, slots=True)
class Window:
    """A clipped window as SSA values: corner, bounds of its offsets, gradient, and the plane's dx."""

    top: str | int
    left: str | int
    rows: tuple[str, str]
    columns: tuple[str, str]
    gradient: str
    target: str


def _scatter(w: Writer, z: Sizes, dy: str, dx: str, window: Callable[[str | int, Window], None]) -> None:
    """Any stride, any padding, one window after another in scalars; overlapping windows add up."""
    fill_zero(w, dx, z.planes * z.h * z.w)

    def one(plane: str | int, oy: str | int, ox: str | int) -> None:
        top, left = w.linear((oy, z.sh), (-z.pt, 1)), w.linear((ox, z.sw), (-z.pl, 1))
        g = w.load(w.at(dy, w.linear((plane, z.oh * z.ow), (oy, z.ow), (ox, 1))))
        rows, columns = _bounds(w, top, z.kh, z.h), _bounds(w, left, z.kw, z.w)
        window(plane, Window(top, left, rows, columns, g, w.at(dx, w.mul(plane, z.h * z.w))))

    def plane(i: str | int) -> None:
        w.repeat(z.oh, lambda oy: w.repeat(z.ow, lambda ox: one(i, oy, ox)))

    w.repeat(z.planes, plane)


def _add_to(w: Writer, place: str, value: str) -> None:
    w.store(w.op(f"fadd float {w.load(place)}, {value}"), place)


def _to_maximum(w: Writer, z: Sizes, x: str, plane: str | int, window: Window) -> None:
    image = w.at(x, w.mul(plane, z.h * z.w))

    def tap(ky: str, kx: str, values: list[str]) -> list[str]:
        best, at, unset = values
        place = w.linear((w.add(window.top, ky), z.w), (w.add(window.left, kx), 1))
        v = w.load(w.at(image, place))
        larger = w.op(f"fcmp ugt float {v}, {best}")
        known = w.op(f"fcmp ord float {best}, {best}")
        take = w.op(f"or i1 {w.op(f'and i1 {larger}, {known}')}, {unset}")
        best = w.op(f"select i1 {take}, float {v}, float {best}")
        return [best, w.op(f"select i1 {take}, i64 {place}, i64 {at}"), "false"]

    def row(ky: str, values: list[str]) -> list[str]:
        carry = list(zip(("float", "i64", "i1"), values, strict=True))
        first, last = window.columns
        return w.loop(last, lambda kx, inner: tap(ky, kx, inner), carry, start=first)

    initial = [("float", float_literal(-math.inf)), ("i64", "0"), ("i1", "true")]
    first, last = window.rows
    _, at, _ = w.loop(last, row, initial, start=first)
    _add_to(w, w.at(window.target, at), window.gradient)


def _to_all(w: Writer, z: Sizes, window: Window, whole: bool) -> None:
    if whole:
        share = w.op(f"fdiv float {window.gradient}, {float_literal(z.kh * z.kw)}")
    else:
        lengths = [w.op(f"sub nsw i64 {last}, {first}") for first, last in (window.rows, window.columns)]
        count = w.op(f"sitofp i64 {w.mul(*lengths)} to float")
        share = w.op(f"fdiv float {window.gradient}, {count}")

    def pixel(ky: str, kx: str) -> None:
        place = w.linear((w.add(window.top, ky), z.w), (w.add(window.left, kx), 1))
        _add_to(w, w.at(window.target, place), share)

    def row(ky: str) -> None:
        first, last = window.columns
        w.loop(last, lambda kx, _: pixel(ky, kx), start=first)

    first, last = window.rows
    w.loop(last, lambda ky, _: row(ky), start=first)


# ---- twins


def _taps(z: Sizes) -> list[tuple[slice, slice, slice, slice]]:
    """For each tap, row-major: the windows that hold it (rows, columns) and their pixels (rows, columns)."""
    taps = []
    for ky in range(z.kh):
        for kx in range(z.kw):
            ys = [o for o in range(z.oh) if 0 <= o * z.sh - z.pt + ky < z.h]
            xs = [o for o in range(z.ow) if 0 <= o * z.sw - z.pl + kx < z.w]
            if ys and xs:
                y, x = ys[0] * z.sh - z.pt + ky, xs[0] * z.sw - z.pl + kx
                pixels = (slice(y, y + len(ys) * z.sh, z.sh), slice(x, x + len(xs) * z.sw, z.sw))
                taps.append((slice(ys[0], ys[-1] + 1), slice(xs[0], xs[-1] + 1), *pixels))
    return taps


def _counts(z: Sizes, include_pad: bool) -> Array:
    count = np.zeros((z.oh, z.ow), np.float32)
    for oy, ox, _, _ in _taps(z):
        count[oy, ox] += 1
    return np.full_like(count, z.kh * z.kw) if include_pad else count


@np.errstate(all="ignore")
def max_twin(p: Params, x: Array, y: Array) -> None:
    z = _sizes(p)
    image, out = x.reshape(z.planes, z.h, z.w), y.reshape(z.planes, z.oh, z.ow)
    out[...] = -np.inf
    for oy, ox, iy, ix in _taps(z):
        out[:, oy, ox] = np.maximum(out[:, oy, ox], image[:, iy, ix])


@np.errstate(all="ignore")
def avg_twin(p: Params, x: Array, y: Array) -> None:
    z = _sizes(p)
    image, out = x.reshape(z.planes, z.h, z.w), y.reshape(z.planes, z.oh, z.ow)
    out[...] = 0
    for oy, ox, iy, ix in _taps(z):
        out[:, oy, ox] += image[:, iy, ix]
    out /= _counts(z, p["count_include_pad"])


@np.errstate(all="ignore")
def max_grad_twin(p: Params, x: Array, dy: Array, dx: Array) -> None:
    z = _sizes(p)
    image, out = x.reshape(z.planes, z.h, z.w), dx.reshape(z.planes, z.h, z.w)
    g = dy.reshape(z.planes, z.oh, z.ow)
    best = np.full(g.shape, -np.inf, np.float32)
    winner = np.full(g.shape, -1)
    taps = _taps(z)
    for t, (oy, ox, iy, ix) in enumerate(taps):
        v, b, n = image[:, iy, ix], best[:, oy, ox], winner[:, oy, ox]
        take = (n < 0) | (~np.isnan(b) & ((v > b) | np.isnan(v)))
        np.copyto(b, v, where=take)
        np.copyto(n, t, where=take)
    out[...] = 0
    for t, (oy, ox, iy, ix) in enumerate(taps):
        out[:, iy, ix] += np.where(winner[:, oy, ox] == t, g[:, oy, ox], np.float32(0))


@np.errstate(all="ignore")
def avg_grad_twin(p: Params, dy: Array, dx: Array) -> None:
    z = _sizes(p)
    out = dx.reshape(z.planes, z.h, z.w)
    share = dy.reshape(z.planes, z.oh, z.ow) / _counts(z, p["count_include_pad"])
    out[...] = 0
    for oy, ox, iy, ix in _taps(z):
        out[:, iy, ix] += share[:, oy, ox]


MAX_POOL = Emitter(operands, max_emit, max_twin)
MAX_POOL_GRAD = Emitter(lambda p: _gradient_operands(p, True), max_grad_emit, max_grad_twin)
AVG_POOL = Emitter(operands, avg_emit, avg_twin)
AVG_POOL_GRAD = Emitter(lambda p: _gradient_operands(p, False), avg_grad_emit, avg_grad_twin)
