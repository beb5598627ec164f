"""Padding rules of what reads or writes at places: slices, pieces and borders, indices, order, and places that are counted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from graphc.ir import Value
from graphc.ops.declared.padding import (
    NEUTRAL,
    Axes,
    Axis,
    Factor,
    Padded,
    is_padded,
    loosened,
    met,
    plain,
)

# ---- parts and pieces


def window(p: Padded) -> list[Axes]:
    """A slice. Of a padded axis it may take the first elements, or leave out the first or last ones, or go by the end."""
    attrs, made, by_end = p.node.attrs, [], {}
    for k, (axis, size) in enumerate(zip(p.axes[0], attrs["size"], strict=True)):
        begin, step = attrs["begin"][k], attrs["step"][k]
        unclear = f"where it reads along axis {k} depends on the padding"
        moves = begin != p.probe.attrs["begin"][k]
        if not moves and (not is_padded(axis) or (begin, size, step) == (0, p.types[0].shape[k], 1)):
            made.append(axis if is_padded(axis) else plain(size))
            continue
        if len(axis) != 1 or (step != 1 and not moves):
            raise p.refuse(unclear)
        (f,) = axis
        fixed = size == p.probe.attrs["size"][k]
        if moves:
            if not fixed and (begin, size, step) != (f.size - 1, f.size, -1):
                raise p.refuse(unclear)
            p.moves(k)
            by_end[k] = _from_end(p, axis, begin, size, step)
        behind = () if moves else (f._replace(size=f.size - begin, less=f.less + begin),)
        if not (fixed or moves) and begin + size < f.size and p.takes_all(k):
            made.append((Factor(size, p.first_of(behind, size), 0, 2),))
        elif fixed:
            symbol = p.capped(behind or axis, size)
            if symbol is None:
                few = f"it reads padding along axis {k} where there are few real elements"
                p.need(f.symbol, (f.size - begin if moves else begin + size) + f.less, few)
            made.append(plain(size) if symbol is None else (Factor(size, symbol, 0, 2),))
        else:
            cut = moves or begin + size < f.size  # The last real row is gone, its copies are not.
            made.append((Factor(size, f.symbol, f.less + f.size - size, 2 if cut else f.loose),))
    if by_end:
        p.become(_taken(p, by_end))
    return [tuple(made)]


def _from_end(p: Padded, axis: Axis, begin: int, size: int, step: int) -> Value:
    """The places of a slice that begins so far from the real end of an axis as it does from the end: int32[size]."""
    b, room = p.b, axis[0].size
    first = b.Maximum(b.Add(p.count([axis], "int32"), b.constant(begin - room, "int32")), b.constant(0, "int32"))
    places = b.Add(b.matrix((np.arange(size) * step).astype(np.int32)), first)
    made: Value = b.Minimum(b.Maximum(places, b.constant(0, "int32")), b.constant(room - 1, "int32"))
    return made


def _taken(p: Padded, places: Mapping[int, Value]) -> Value:
    """What a slice takes, along some axes at such places."""
    shape = p.types[0].shape

    def cut(name: str, whole: Sequence[int]) -> tuple[int, ...]:
        return tuple(whole[k] if k in places else v for k, v in enumerate(p.node.attrs[name]))

    begin, step = cut("begin", [0] * len(shape)), cut("step", [1] * len(shape))
    made: Value = p.b.Slice(p.input(0), begin=begin, size=cut("size", shape), step=step)
    for k, index in places.items():
        made = p.b.Gather(made, index, axis=k)
    return made


def joined(p: Padded) -> list[Axes]:
    """Operands one after the other. What follows padding along the axis follows the real elements: these are counted."""
    axis = p.node.attrs["axis"]
    beside = [() if k == axis else met(*each) for k, each in enumerate(zip(*p.axes, strict=True))]
    if None in beside:
        raise p.refuse("its operands are padded differently")
    *first, last = (axes[axis] for axes in p.axes)
    if any(map(is_padded, first)) or len(last) > 1:
        own = _packed(p, axis, [*first, last])
    else:
        own = _behind(last, sum(t.shape[axis] for t in p.types[:-1]), p.node.type.shape[axis])
    return [tuple(own if k == axis else a for k, a in enumerate(beside) if a is not None)]


def _packed(p: Padded, axis: int, parts: Sequence[Axis]) -> Axis:
    """The operands without the padding between them."""
    b, dtype = p.b, p.node.type.dtype
    flags = [p.real(part, t.shape[axis]) for part, t in zip(parts, p.types, strict=True)]
    found = b.node("Nonzero", b.Concat(*flags, axis=0), attrs={"size": p.node.type.shape[axis]})
    made = b.Concat(*(p.input(i) for i in range(len(parts))), axis=axis)
    # Rows of bools have no kernel.
    rows = b.Gather(b.Cast(made, dtype="int32") if dtype == "bool" else made, found.outputs[0], axis=axis)
    p.become(b.NotEqual(rows, b.constant(0, "int32")) if dtype == "bool" else rows)
    size, padded = p.node.type.shape[axis], [part for part in parts if is_padded(part)]
    if len(padded) > 1 or len(padded[0]) > 1:
        return (Factor(size, p.counts_parts(found, parts)),)
    (f,) = padded[0]
    return (Factor(size, f.symbol, f.less - (size - f.size)),)


def bordered(p: Padded) -> list[Axes]:
    """A border in front of a padded axis, none behind it."""
    made = []
    for k, (axis, (front, back)) in enumerate(zip(p.axes[0], p.node.attrs["paddings"], strict=True)):
        if is_padded(axis) and (back or (front and len(axis) > 1)):
            raise p.refuse(f"a border follows the padding along axis {k}")
        size = p.node.type.shape[k]
        made.append(_behind(axis, front, size) if front else axis if is_padded(axis) else plain(size))
    return [tuple(made)]


def repeated_border(p: Padded) -> list[Axes]:
    """Borders of axes that are not padded."""
    made = []
    for k, (axis, pair) in enumerate(zip(p.axes[0], p.node.attrs["paddings"], strict=True)):
        if is_padded(axis) and any(pair):
            raise p.refuse(f"the border along axis {k} would repeat padding")
        made.append(axis if is_padded(axis) else plain(p.node.type.shape[k]))
    return [tuple(made)]


def _behind(axis: Axis, before: int, size: int) -> Axis:
    """The axis behind so many real places."""
    if not is_padded(axis):
        return plain(size)
    (f,) = axis
    return (Factor(size, f.symbol, f.less - before, f.loose),)


# ---- indices


def _leave_padding_out(p: Padded, axis: Axis) -> None:
    """Let operand 1, indices into an axis, be out of range where they mean its padding, unless they are places found in it."""
    if not is_padded(axis) or p.means(1, axis):
        return
    if any(is_padded((f,)) for f in axis[1:]):
        raise p.refuse("real elements do not stand together along the axis")
    dtype, index = p.types[1].dtype, p.input(1)
    count = p.count([axis], "int32")
    if dtype == "int64":
        count = p.b.Cast(count, dtype=dtype)
    elif dtype != "int32":
        dtype, index = "int32", p.b.Cast(index, dtype="int32")
    p.use(1, p.b.Select(p.b.Less(index, count), index, p.b.constant(-1, dtype)))


def gathered(p: Padded) -> list[Axes]:
    """Rows of a table: those of its padding are none."""
    (x, indices), axis = p.axes, p.node.attrs["axis"]
    _leave_padding_out(p, x[axis])
    return [(*x[:axis], *indices, *x[axis + 1 :])]


def brought(p: Padded) -> list[Axes]:
    """Rows brought into a table: those of padding nowhere, and none into its padding."""
    (x, indices, updates), axis = p.axes, p.node.attrs["axis"]
    _leave_padding_out(p, x[axis])
    end = axis + len(indices)
    met_axes = [met(*each) for each in zip((*x[:axis], *indices, *x[axis + 1 :]), updates, strict=True)]
    if None in met_axes:
        raise p.refuse("its operands are padded differently")
    padded = [k for k, a in enumerate(indices) if is_padded(a)]
    if padded:
        p.mask(1, padded, -1)
    return [tuple(a for k, a in enumerate((*met_axes[:axis], x[axis], *met_axes[end:])) if a is not None)]


def elements(p: Padded) -> list[Axes]:
    """Elements along attribute `axis`, which is padded nowhere, or at places in the order of its own; other axes go together."""
    axis = p.node.attrs["axis"]
    padded = any(is_padded(axes[axis]) for axes in p.axes)
    if padded and not (p.node.op.name == "GatherElements" and p.means(1, p.axes[0][axis])):
        raise p.refuse("an index may mean padding")
    beside = [met(*each) if k != axis else () for k, each in enumerate(zip(*p.axes, strict=True))]
    if None in beside:
        raise p.refuse("its operands are padded differently")
    along = p.axes[1][axis] if padded else plain(p.node.type.shape[axis])
    return [tuple(along if k == axis else a for k, a in enumerate(beside) if a is not None)]


# ---- order, and places that are counted


def counted(p: Padded) -> list[Axes]:
    """Places of what is true, which padding is not: as many as the run finds. Behind them the last one stands again."""
    (axis,) = p.axes[0]
    if is_padded(axis):
        if len(axis) > 1 and not p.only_means():
            raise p.refuse("the places of real elements do not follow each other")
        p.mask(0, [0], False)
    places = (Factor(p.node.attrs["size"], p.counts()),)
    return [(places,), (), (axis,)]


def sorted_rows(p: Padded) -> list[Axes]:
    """Rows along the last axis in order: padding comes last, behind NaN."""
    (axes,), (type,), attrs = p.axes, p.types, p.node.attrs
    count, axis = attrs["count"], axes[-1]
    if not is_padded(axis):
        return [(*axes[:-1], plain(p.node.type.shape[-1]))]
    if len(axis) > 1:
        raise p.refuse("real elements do not stand together along the axis")
    integer = type.numpy.kind in "iu"
    p.mask(0, [type.rank - 1], NEUTRAL["max" if attrs["descending"] else "min"](type.numpy) if integer else math.nan)
    if count:
        p.need(axis[0].symbol, count + axis[0].less, f"it takes {count} of the real elements")
    return [(*axes[:-1], plain(p.node.type.shape[-1]) if count else loosened(axis, 2))]
