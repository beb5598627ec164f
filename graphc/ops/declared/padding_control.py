"""Padding rules of control flow and gradients."""

from __future__ import annotations

from collections.abc import Sequence

from graphc.ops.declared.padding import Axes, Axis, Factor, Padded, is_padded, loosened, met, plain, tight


def branches(p: Padded) -> list[Axes]:
    """Both branches give results that are padded alike."""
    if any(map(is_padded, p.axes[0])):
        raise p.refuse("its condition is padded")
    made = [p.inside(graph, p.axes[1:]) for _, graph in p.node.graphs()]
    return _meeting(p, made[0], made[1], "its branches give results that are padded differently")


def turns(p: Padded) -> list[Axes]:
    """What a loop carries is padded in each turn as it was before; its condition looks at nothing padded."""
    count = p.node.attrs["carried"]
    begins = p.carries(count)
    axes = [*begins, *p.axes[count:]]
    p.inside(p.node.attrs["cond"], axes)
    return _carried(p, p.inside(p.node.attrs["body"], axes), begins)


def scanned(p: Padded) -> list[Axes]:
    """Turns over padding leave what is carried as it is; what they stack is padding."""
    attrs = p.node.attrs
    c, s, turns = attrs["carried"], attrs["scanned"], attrs["length"]
    rows = met(*(a[0] for a in p.axes[c : c + s])) if s else plain(turns)
    if rows is None or (turns != p.probe.attrs["length"] and not is_padded(rows)):
        raise p.refuse("how many turns there are is padded differently for what it goes over")
    body = attrs["body"]
    begins = p.carries(c)
    made = p.inside(body, [*begins, *(a[1:] for a in p.axes[c : c + s]), *p.axes[c + s :]])
    final = _carried(p, made, begins)
    if is_padded(rows):
        p.hold(body, p.real(rows, turns))
    return [*final, *((_stacked(p, rows, k), *made[k]) for k in attrs["stacks"])]


def _stacked(p: Padded, rows: Axis, entry: int) -> Axis:
    """The rows of a stack; of a carried value there is the initial one, too."""
    attrs = p.node.attrs
    if not is_padded(rows):
        return plain(attrs["length"] + (entry < attrs["carried"]))
    if entry >= attrs["carried"]:
        return loosened(rows, 2)
    if len(rows) > 1:
        raise p.refuse("real turns do not follow each other")
    (f,) = rows
    return (Factor(f.size + 1, f.symbol, f.less - 1, 2),)


def _carried(p: Padded, made: Sequence[Axes], begins: Sequence[Axes]) -> list[Axes]:
    met = _meeting(p, made[: len(begins)], begins, "what it carries is padded differently from turn to turn")
    looser = [k for k, (a, b) in enumerate(zip(met, begins, strict=True)) if a != b]
    if looser:
        p.carry_loosely(looser)
    return met


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
