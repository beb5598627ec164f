"""Average pooling over the last two axes and its gradient; geometry in `windows`.

A window is divided by kh * kw if `count_include_pad`, else by the number of its pixels inside the image.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphc_codegen.kernels.base import Array, Emitter, Operand, Params
from graphc_codegen.kernels.pool.windows import (
    Sizes,
    Strip,
    add_to,
    bounds,
    each_window_strip,
    gathered_taps,
    lane_columns,
    loaded_taps,
    operands,
    spread,
    taps,
)
from graphc_codegen.kernels.vectors import fill_zero, first, sum_along, widened
from graphc_codegen.literals import float_literal
from graphc_codegen.writer import Writer, vec


def emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """A window of the whole plane is one run. Else vector loads for unclipped windows at stride 1 or 2, or gathers."""
    z = Sizes.of(p)
    x, y = pointers
    if z.inside and (z.kh, z.kw) == (z.h, z.w):
        w.repeat(z.planes, lambda plane: _whole_plane(w, p, w.at(x, w.mul(plane, z.h * z.w)), w.at(y, plane)))
        return

    def one(strip: Strip) -> None:
        if z.vectors:
            total, *others = loaded_taps(w, z, x, strip)
            for v in others:
                total = w.binary("fadd", total, v)
        else:
            total = _gathered(w, z, x, strip, bool(p.get("block")))
        whole = z.inside or p["count_include_pad"]
        count = w.constant(z.kh * z.kw) if whole else _counts_of(w, z, strip)
        w.vstore(w.binary("fdiv", total, count), w.at(y, strip.place(w, z)), strip.active)

    each_window_strip(w, z, one)


def _gathered(w: Writer, z: Sizes, x: str, strip: Strip, wide: bool) -> str:
    """The sums of windows; of large ones in float64, as gathering takes longer than adding."""
    type = "double" if wide else "float"

    def add(total: list[str], pixels: str, _on: str, _at: str) -> list[str]:
        return [widened(w, total[0], pixels) if wide else w.binary("fadd", total[0], pixels)]

    (total,) = gathered_taps(w, z, x, strip, 0.0, [(vec(type, w.lanes), "zeroinitializer")], add)
    return w.convert("fptrunc", total, "double", "float") if wide else total


def _whole_plane(w: Writer, p: Params, x: str, y: str) -> None:
    pixels = p["h"] * p["w"]
    total = sum_along(w, pixels, lambda i, active: w.vload(w.at(x, i), active), p.get("block", 0), masked=True)
    w.store(w.op(f"fdiv float {first(w, total)}, {float_literal(pixels)}"), y)


def _counts_of(w: Writer, z: Sizes, strip: Strip) -> str:
    """The number of pixels in each clipped window, as floats."""
    low, high = bounds(w, w.linear((strip.oy, z.sh), (-z.pt, 1)), z.kh, z.h)
    rows = w.splat(w.op(f"trunc i64 {w.op(f'sub nsw i64 {high}, {low}')} to i32"), "i32")
    left = lane_columns(w, z, strip.ox)
    right = w.binary("add", left, w.constant(z.kw, "i32"), "i32")
    v, suffix = vec("i32", w.lanes), f"v{w.lanes}i32"
    right = w.call(f"llvm.smin.{suffix}", v, [(v, right), (v, w.constant(z.w, "i32"))])
    left = w.call(f"llvm.smax.{suffix}", v, [(v, left), (v, "zeroinitializer")])
    count = w.binary("mul", rows, w.binary("sub", right, left, "i32"), "i32")
    return w.convert("sitofp", count, "i32", "float")


def grad_operands(p: Params) -> tuple[Operand, ...]:
    """dy [planes, oh, ow] -> dx [planes, h, w], float32."""
    x, y = operands(p)
    return (Operand("float32", y.size, "in"), Operand("float32", x.size, "out"))


def grad_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """Every pixel of a window gets dy divided by the count the forward kernel divides by."""
    z = Sizes.of(p)
    dy, dx = pointers
    if z.vectors and z.tiled:

        def store(value: str, place: str | int, active: int) -> None:
            w.vstore(value, w.at(dx, place), active)

        def share(g: str, _: Strip) -> list[str]:
            return [w.binary("fdiv", g, w.constant(z.kh * z.kw))] * (z.kh * z.kw)

        spread(w, z, dy, store, share, clear="" if z.covered else dx)
        return
    whole = z.inside or bool(p["count_include_pad"])

    def plane(i: str | int) -> None:
        target = w.at(dx, w.mul(i, z.h * z.w))
        fill_zero(w, target, z.h * z.w)
        w.repeat(z.oh, lambda oy: w.repeat(z.ow, lambda ox: _to_all(w, z, dy, target, (i, oy, ox), whole)))

    w.share(z.planes, plane)


def _to_all(w: Writer, z: Sizes, dy: str, target: str, at: tuple[str | int, str | int, str | int], whole: bool) -> None:
    """One window after another in scalars, as they may overlap."""
    plane, oy, ox = at
    top, left = w.linear((oy, z.sh), (-z.pt, 1)), w.linear((ox, z.sw), (-z.pl, 1))
    rows, columns = bounds(w, top, z.kh, z.h), bounds(w, left, z.kw, z.w)
    share = w.load(w.at(dy, w.linear((plane, z.oh * z.ow), (oy, z.ow), (ox, 1))))
    if whole:
        share = w.op(f"fdiv float {share}, {float_literal(z.kh * z.kw)}")
    else:
        lengths = [w.op(f"sub nsw i64 {high}, {low}") for low, high in (rows, columns)]
        share = w.op(f"fdiv float {share}, {w.op(f'sitofp i64 {w.mul(*lengths)} to float')}")

    def pixel(ky: str, kx: str) -> None:
        add_to(w, w.at(target, w.linear((w.add(top, ky), z.w), (w.add(left, kx), 1))), share)

    def row(ky: str) -> None:
        w.loop(columns[1], lambda kx, _: pixel(ky, kx), start=columns[0])

    w.loop(rows[1], lambda ky, _: row(ky), start=rows[0])


def _counts(z: Sizes, include_pad: bool) -> Array:
    count = np.zeros((z.oh, z.ow), np.float32)
    for oy, ox, _, _ in taps(z):
        count[oy, ox] += 1
    return np.full_like(count, z.kh * z.kw) if include_pad else count


@np.errstate(all="ignore")
def twin(p: Params, x: Array, y: Array) -> None:
    z = Sizes.of(p)
    image, out = x.reshape(z.planes, z.h, z.w), y.reshape(z.planes, z.oh, z.ow)
    out[...] = 0
    for oy, ox, iy, ix in taps(z):
        out[:, oy, ox] += image[:, iy, ix]
    out /= _counts(z, p["count_include_pad"])


@np.errstate(all="ignore")
def grad_twin(p: Params, dy: Array, dx: Array) -> None:
    z = Sizes.of(p)
    out = dx.reshape(z.planes, z.h, z.w)
    share = dy.reshape(z.planes, z.oh, z.ow) / _counts(z, p["count_include_pad"])
    out[...] = 0
    for oy, ox, iy, ix in taps(z):
        out[:, iy, ix] += share[:, oy, ox]


AVG_POOL = Emitter(operands, emit, twin)
AVG_POOL_GRAD = Emitter(grad_operands, grad_emit, grad_twin)
