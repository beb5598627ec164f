"""Max pooling over the last two axes and its gradient; geometry in `windows`."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from graphc_codegen.kernels import epilogue
from graphc_codegen.kernels.base import Array, Emitter, Operand, Params
from graphc_codegen.kernels.pool.windows import (
    Sizes,
    Strip,
    add_to,
    each_window_strip,
    gathered_taps,
    loaded_taps,
    operands,
    spread,
    takes,
    taps,
)
from graphc_codegen.kernels.vectors import maximum_or_nan
from graphc_codegen.writer import Writer, vec


def max_operands(p: Params) -> tuple[Operand, ...]:
    """x [planes, h, w] -> y [planes, oh, ow], float32. May have an epilogue."""
    x, y = operands(p)
    return (x, *epilogue.operands(p, (y.size,)))


def emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """Vector loads for unclipped windows at stride 1 or 2, else gathers. NaN in a window gives NaN."""
    z = Sizes.of(p)
    x, *rest = pointers
    finish = epilogue.Finish(w, p, (z.planes * z.oh * z.ow,), rest)

    def one(strip: Strip) -> None:
        if z.vectors:
            value, *others = loaded_taps(w, z, x, strip)
            for v in others:
                value = maximum_or_nan(w, value, v)
        else:
            start = [(vec("float", w.lanes), w.constant(-math.inf))]
            (value,) = gathered_taps(
                w, z, x, strip, -math.inf, start, lambda acc, v, _on, _at: [maximum_or_nan(w, acc[0], v)]
            )
        finish.store(value, (strip.place(w, z),), strip.active)

    each_window_strip(w, z, one)


def grad_operands(p: Params) -> tuple[Operand, ...]:
    """x [planes, h, w], dy [planes, oh, ow] -> dx [planes, h, w], float32. May have an epilogue, see `result_domain`."""
    x, y = operands(p)
    return (x, Operand("float32", y.size, "in"), *epilogue.operands(p, (x.size,)))


def grad_emit(w: Writer, p: Params, pointers: Sequence[str]) -> None:
    """A window's gradient goes to its first maximum in row-major order; the first NaN counts as maximum."""
    z = Sizes.of(p)
    x, dy, *rest = pointers
    if z.vectors and z.tiled:
        finish = epilogue.Finish(w, p, (z.planes * z.h * z.w,), rest)
        spread(
            w, z, dy,
            lambda value, place, active: finish.store(value, (place,), active),
            lambda g, strip: _shares(w, g, loaded_taps(w, z, x, strip)),
            clear="" if z.covered else rest[0],
        )  # fmt: skip
        return
    (dx,) = rest
    each_window_strip(w, z, lambda strip: _scatter(w, z, x, dy, dx, strip), clear=dx)


def _shares(w: Writer, g: str, pixels: list[str]) -> list[str]:
    """The gradient for each tap of windows that lie in vectors."""
    best, displaced = pixels[0], []
    for v in pixels[1:]:
        take = takes(w, v, best)
        best = w.select(take, v, best)
        displaced.append(take)
    # A tap wins when it took the lead and no later one did.
    won, still = [], w.constant(1, "i1")
    for take in reversed(displaced):
        won.append(w.binary("and", take, still, "i1"))
        still = w.binary("and", still, w.binary("xor", take, w.constant(1, "i1"), "i1"), "i1")
    return [w.select(c, g, "zeroinitializer") for c in (still, *reversed(won))]


def _scatter(w: Writer, z: Sizes, x: str, dy: str, dx: str, strip: Strip) -> None:
    """Find the winners of all windows of a strip at once, then add to them one by one, as windows overlap."""
    f, i = vec("float", w.lanes), vec("i32", w.lanes)

    def fold(values: list[str], v: str, on: str, at: str) -> list[str]:
        best, winner = values
        unset = w.binary("icmp slt", winner, "zeroinitializer", "i32")
        take = w.binary("and", w.binary("or", takes(w, v, best), unset, "i1"), on, "i1")
        return [w.select(take, v, best), w.select(take, at, winner, "i32")]

    start = [(f, w.constant(-math.inf)), (i, w.constant(-1, "i32"))]
    _, winner = gathered_taps(w, z, x, strip, -math.inf, start, fold)
    target, source = w.at(dx, w.mul(strip.plane, z.h * z.w)), w.at(dy, strip.place(w, z))
    for lane in range(strip.active):
        index = w.op(f"extractelement {i} {winner}, i64 {lane}")
        add_to(w, w.at(target, w.op(f"sext i32 {index} to i64")), w.load(w.at(source, lane)))


@np.errstate(all="ignore")
def twin(p: Params, x: Array, *rest: Array) -> None:
    z = Sizes.of(p)
    image, out = x.reshape(z.planes, z.h, z.w), np.full((z.planes, z.oh, z.ow), -np.inf, np.float32)
    for oy, ox, iy, ix in taps(z):
        out[:, oy, ox] = np.maximum(out[:, oy, ox], image[:, iy, ix])
    epilogue.twin(p, (out.size,), out.reshape(-1), *rest)


@np.errstate(all="ignore")
def grad_twin(p: Params, x: Array, dy: Array, *rest: Array) -> None:
    z = Sizes.of(p)
    image, out = x.reshape(z.planes, z.h, z.w), np.zeros((z.planes, z.h, z.w), np.float32)
    g = dy.reshape(z.planes, z.oh, z.ow)
    best = np.full(g.shape, -np.inf, np.float32)
    winner = np.full(g.shape, -1)
    cut = taps(z)
    for t, (oy, ox, iy, ix) in enumerate(cut):
        v, b, n = image[:, iy, ix], best[:, oy, ox], winner[:, oy, ox]
        take = (n < 0) | (~np.isnan(b) & ((v > b) | np.isnan(v)))
        np.copyto(b, v, where=take)
        np.copyto(n, t, where=take)
    for t, (oy, ox, iy, ix) in enumerate(cut):
        out[:, iy, ix] += np.where(winner[:, oy, ox] == t, g[:, oy, ox], np.float32(0))
    epilogue.twin(p, (out.size,), out.reshape(-1), *rest)


MAX_POOL = Emitter(max_operands, emit, twin)
MAX_POOL_GRAD = Emitter(grad_operands, grad_emit, grad_twin)
