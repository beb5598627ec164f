"""Padding rules of control flow and gradients."""

from __future__ import annotations

from collections.abc import Sequence

from graphc.ops.declared.padding import Axes, Padded, is_padded, loosened, met, plain, tight


def branches(p: Padded) -> list[Axes]:
    """Both branches give results that are padded alike."""
    if any(map(is_padded, p.axes[0])):
        raise p.refuse("its condition is padded")
    made = [p.inside(graph, p.axes[1:]) for _, graph in p.node.graphs()]
    return _meeting(p, made[0], made[1], "its branches give results that are padded differently")


def turns(p: Padded) -> list[Axes]:
    """What a loop carries is padded in each turn as it was before; its condition looks at nothing padded."""
    count = p.node.attrs["carried"]
    p.inside(p.node.attrs["cond"], p.axes)
    return _carried(p, p.inside(p.node.attrs["body"], p.axes), count)


def scanned(p: Padded) -> list[Axes]:
    """The turns go over an axis that is not padded."""
    attrs = p.node.attrs
    c, s = attrs["carried"], attrs["scanned"]
    if any(is_padded(a[0]) for a in p.axes[c : c + s]):
        raise p.refuse("it would make turns over padding")
    made = p.inside(attrs["body"], [*p.axes[:c], *(a[1:] for a in p.axes[c : c + s]), *p.axes[c + s :]])
    lengths = [t.shape[0] for t in p.node.types[c:]]
    stacks = [(plain(n), *made[k]) for n, k in zip(lengths, attrs["stacks"], strict=True)]
    return [*_carried(p, made, c), *stacks]


def _carried(p: Padded, made: Sequence[Axes], count: int) -> list[Axes]:
    why = "what it carries is padded differently from turn to turn"
    if _meeting(p, made[:count], p.axes[:count], why) != list(p.axes[:count]):
        raise p.refuse(why)
    return list(p.axes[:count])


def _meeting(p: Padded, one: Sequence[Axes], other: Sequence[Axes], why: str) -> list[Axes]:
    made = []
    for x, y in zip(one, other, strict=True):
        axes = [met(a, b) for a, b in zip(x, y, strict=True)]
        if None in axes:
            raise p.refuse(why)
        made.append(tuple(a for a in axes if a is not None))
    return made


def differentiated(p: Padded) -> list[Axes]:
    """Weights of padded results are masked: what real elements get from padding is zero."""
    count, wrt = p.node.attrs["ys"], p.node.attrs["wrt"]
    for i, (y, sens) in enumerate(zip(p.axes[:count], p.axes[count : 2 * count], strict=True)):
        if [tight(a) for a in y] != [tight(a) for a in sens]:
            raise p.refuse("a result and its weight are padded differently")
        padded = [k for k, a in enumerate(y) if is_padded(a)]
        if padded:
            p.mask(count + i, padded, 0)
    return [tuple(loosened(a, 2) for a in p.axes[2 * count + i]) for i in wrt]
