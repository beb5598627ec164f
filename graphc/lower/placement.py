"""Every buffer of the arena gets its place there."""

from __future__ import annotations

import math

from graphc.lower.lifetimes import Lives, lives, mark_dead
from graphc.lower.memory import Lifetime, lower_bound, plan
from graphc.lower.rewrite import Context, Layout, Statements
from graphc_codegen.program import ITEMSIZE, Buffer


def place_buffers(body: Statements, context: Context) -> Statements:
    """Give the buffers that are used their places, and tell statements which of them nobody uses any more after them.

    before:  b2 = map(b0)   b3 = map(b2)               b4 = map(b3)
    after:   b2 = map(b0)   b3 = map(b2)  (b2 dies)    b4 = map(b3)  (b3 dies)     b2 at 0, b3 at 64, b4 at 0
    """
    found = lives(body, context.results)
    context.layout = _layout(found, context)
    return mark_dead(body, found, {b.id for b in context.layout.buffers if b.space == "arena"})


def _layout(found: Lives, context: Context) -> Layout:
    made = list(enumerate(context.buffers.made))
    lifetimes = {
        b: Lifetime(found.first[b], found.last[b], math.prod(type.shape) * ITEMSIZE[type.dtype])
        for b, (type, space, _) in made
        if space == "arena" and b in found.first
    }
    offsets, size = plan(lifetimes, gap=context.canary, reuse=not context.canary)
    placed = tuple(
        Buffer(b, type.dtype, type.shape, space, offsets[b] if space == "arena" else index)
        for b, (type, space, index) in made
        if space != "arena" or b in offsets
    )
    return Layout(placed, size, lower_bound(lifetimes))
