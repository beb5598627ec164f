"""Padding rules: what an op makes of values that have rows of padding behind their real ones.

An axis is a product of factors, the slowest first. A padded factor has room for a size of which only the first `length` are real
when the step runs; what stands in the rest are copies of real rows, or what has become of these. So [B, T] reshaped to [B * T]
is one axis of two factors, and it is known which of its places are real.

Lengths are given with each call, or counted while the step runs: of the places that a `Nonzero` finds.

A rule says what the axes of the results are, and sees to it that no real element depends on padding: by masks where there is a
value that takes no part (0 for a sum, the lowest number for a maximum), else it refuses. Gradients need no rules: they are made
afterwards, of a graph in which nothing real depends on padding, so that what reaches padding is zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Never, Protocol

import numpy as np

from graphc.ir import Builder, Graph, Node, OpDef, TensorType, Value
from graphc.ir.op import Reduce, Scalar
from graphc.ir.types import HALVES


class Factor(NamedTuple):
    """A part of an axis: of `size` places. With a symbol, places from that symbol's length minus `less` on are padding.

    loose: what the padding holds. 0: what the last real place does, so that nothing happens to it alone; 1: zeros; 2: anything
    finite, if real elements are; 3: anything.
    """

    size: int
    symbol: int = -1
    less: int = 0
    loose: int = 0


Axis = tuple[Factor, ...]
Axes = tuple[Axis, ...]
PadRule = Callable[["Padded"], Sequence[Axes]]


def plain(size: int) -> Axis:
    """An axis without padding."""
    return () if size == 1 else (Factor(size),)


def plains(type: TensorType) -> Axes:
    return tuple(map(plain, type.shape))


def is_padded(axis: Axis) -> bool:
    return any(f.symbol >= 0 for f in axis)


def length(axis: Axis, lengths: Sequence[int]) -> int:
    """How many places of an axis are real."""
    return math.prod(f.size if f.symbol < 0 else max(lengths[f.symbol] - f.less, 0) for f in axis)


def loosened(axis: Axis, loose: int) -> Axis:
    """The axis, of whose padding at least this holds."""
    return tuple(f._replace(loose=max(loose, f.loose)) if f.symbol >= 0 else f for f in axis)


def tight(axis: Axis) -> Axis:
    """The axis as it is where padding has been filled: what is to be equal where two values meet."""
    return tuple(f._replace(loose=0) for f in axis)


def looseness(axis: Axis) -> int:
    return max((f.loose for f in axis), default=0)


def met(*axes: Axis) -> Axis | None:
    """The axis of values that have these; None where they are padded differently."""
    if len({tight(a) for a in axes}) != 1:
        return None
    return tuple(max(each, key=lambda f: f.loose) for each in zip(*axes, strict=True))


def normal(factors: Sequence[Factor]) -> Axis:
    """The same places with as few factors as can be."""
    made: list[Factor] = []
    for f in factors:
        if f.symbol < 0 and f.size == 1:
            continue
        if made and f.symbol < 0 and made[-1].symbol < 0:
            made[-1] = Factor(made[-1].size * f.size)
        else:
            made.append(f)
    return tuple(made)


def regrouped(axes: Axes, shape: Sequence[int]) -> Axes | None:
    """The axes of a reshaped value; None where a padded factor would be cut."""
    queue = [f for axis in axes for f in axis]
    made: list[Axis] = []
    for wanted in shape:
        axis: list[Factor] = []
        size = 1
        while size < wanted:
            if not queue:
                return None
            f = queue.pop(0)
            part = wanted // size
            if wanted % (size * f.size) == 0:
                axis.append(f)
                size *= f.size
            elif f.symbol < 0 and wanted % size == 0 and f.size % part == 0:
                axis.append(Factor(part))
                queue.insert(0, Factor(f.size // part))
                size = wanted
            else:
                return None
        made.append(normal(axis))
    return None if queue else tuple(made)


class Padded(Protocol):
    """A node as its padding rule sees it.

    node, probe  the node, and the same one of a trace with other sizes
    types, axes  of its operands
    b            writes nodes in front of it
    """

    node: Node
    probe: Node
    types: Sequence[TensorType]
    axes: Sequence[Axes]
    b: Builder

    def mask(self, index: int, over: Sequence[int], value: float | int | bool) -> None:
        """Put a value in place of the padding that operand `index` has along these axes."""
        ...

    def use(self, index: int, value: Value) -> None:
        """Put a value of its type in the place of operand `index`."""
        ...

    def count(self, axes: Sequence[Axis], dtype: str) -> Value:
        """How many real places these axes have together, as a number."""
        ...

    def input(self, index: int) -> Value:
        """Operand `index`, masked if it has been."""
        ...

    def real(self, axis: Axis, size: int) -> Value:
        """bool[size]: which places of an axis are real."""
        ...

    def some(self, axis: Axis) -> Value | None:
        """bool[]: whether there is anything along an axis; None where there is in any case."""
        ...

    def carries(self, count: int) -> list[Axes]:
        """The axes of what a loop begins with: of these, with looser padding where turns are known to leave that."""
        ...

    def carry_loosely(self, places: Sequence[int]) -> Never:
        """Begin again, as turns leave looser padding in what the loop carries there than it begins with."""
        ...

    def counts(self) -> int:
        """The symbol of what the node counts."""
        ...

    def counts_parts(self, found: Node, parts: Sequence[Axis]) -> int:
        """The symbol of what a new node counts: the real places of these axes, one after the other."""
        ...

    def capped(self, axis: Axis, most: int) -> int | None:
        """The symbol of as many as an axis has, at most `most`; None for a node that needs so many."""
        ...

    def first_of(self, axis: Axis, most: int) -> int:
        """The symbol of as many as an axis has, at most `most`."""
        ...

    def takes_all(self, axis: int) -> bool:
        """Whether in the second trace a slice takes an axis of its operand up to its end."""
        ...

    def means(self, index: int, axis: Axis) -> bool:
        """Whether operand `index` are places that were counted, among those of an axis or along those found."""
        ...

    def only_means(self) -> bool:
        """Whether the places that the node finds are nothing but indices of what it counts."""
        ...

    def moves(self, axis: int) -> None:
        """Note that the slice begins along this axis as far from the end for every length."""
        ...

    def need(self, symbol: int, least: int, why: str) -> None:
        """Refuse lengths below `least`: now where they are known to occur, or when they do."""
        ...

    def become(self, value: Value) -> None:
        """Put a value in the node's place."""
        ...

    def hold(self, graph: Graph, real: Value) -> None:
        """Let a Scan's body leave what is carried as it is in turns that are not real: bool[turns]."""
        ...

    def inside(self, graph: Graph, axes: Sequence[Axes]) -> list[Axes]:
        """The axes of the results of a subgraph whose inputs have these."""
        ...

    def refuse(self, why: str) -> Exception:
        """The error for a node that cannot be exact."""
        ...


def rule_of(op: OpDef) -> PadRule:
    """The padding rule of an op: its own, or that of its class; an op of another class is refused."""
    if op.pad is not None:
        return op.pad
    if isinstance(op.lower, Scalar):
        return elementwise
    return reduction if isinstance(op.lower, Reduce) else refused


#: Ops that make nothing infinite of what is finite, nor do their gradients: they may see padding of any kind.
_EASY = frozenset({
    "Add", "Sub", "Neg", "Cast", "Select", "ReLU", "Less", "LessEqual", "Greater", "GreaterEqual", "Equal", "NotEqual",
    "LogicalAnd", "LogicalOr", "LogicalNot", "Reshape", "Transpose", "BroadcastTo", "Slice", "Concat", "Pad", "BorderPad",
    "StopGradient", "Depend", "ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceAll",
    "ReduceAny", "Grad",
})  # fmt: skip


def is_easy(op: OpDef) -> bool:
    """Whether an op makes nothing infinite of what is finite, nor do its gradients."""
    return op.name in _EASY


def harmless(op: OpDef, operands: Sequence[Axes]) -> bool:
    """Whether an op may see the padding of these: all there is in an unfilled one must come to nothing behind a mask."""
    found = max((looseness(a) for axes in operands for a in axes), default=0)
    most = 3 if op.name in _EASY else 2 if op.name in ("MatMul", "BatchMatMul") else 1 if op.name == "Mul" else 0
    return found <= most


# ---- rules of classes


def refused(p: Padded) -> Sequence[Axes]:
    raise p.refuse("it may mix real elements with padding")


def elementwise(p: Padded) -> list[Axes]:
    """Operands broadcast against each other; where two have an axis it must be padded alike."""
    lower, rank = p.node.op.lower, p.node.type.rank
    walked: Sequence[Sequence[int | None]]
    if isinstance(lower, Scalar) and lower.align is not None:
        walked = lower.align(p.types, p.node.attrs)
    else:
        walked = [[k - rank + t.rank if k >= rank - t.rank else None for k in range(rank)] for t in p.types]
    made = []
    for k, size in enumerate(p.node.type.shape):
        found = [a[w[k]] for a, w in zip(p.axes, walked, strict=True) if w[k] is not None and a[w[k]]]  # type: ignore[index]
        axis = met(*found) if found else plain(size)
        if axis is None:
            raise p.refuse(f"its operands are padded differently along axis {k}")
        made.append(axis)
    return [tuple(made)]


#: What takes no part in a reduction.
NEUTRAL: dict[str, Callable[[np.dtype[Any]], Any]] = {
    "sum": lambda d: 0,
    "prod": lambda d: 1,
    "any": lambda d: False,
    "all": lambda d: True,
    "max": lambda d: np.iinfo(d).min if d.kind in "iu" else -np.inf,
    "min": lambda d: np.iinfo(d).max if d.kind in "iu" else np.inf,
}


def reduction(p: Padded) -> list[Axes]:
    """Padding along the axes that go is masked; a mean divides by how many real elements there are."""
    (axes,), (type,) = p.axes, p.types
    lower, gone, keep = p.node.op.lower, p.node.attrs["axis"], p.node.attrs["keep_dims"]
    assert isinstance(lower, Reduce)
    padded = [k for k in gone if is_padded(axes[k])]
    if padded:
        p.mask(0, padded, NEUTRAL[lower.combine](type.numpy))
        if lower.mean:
            p.become(_mean(p, gone, keep))
    return [tuple(() if k in gone else a for k, a in enumerate(axes) if keep or k not in gone)]


def _mean(p: Padded, gone: Sequence[int], keep: bool) -> Value:
    dtype = p.types[0].dtype
    x = p.input(0)
    # Halves do not reach far enough for a count.
    wide = "float32" if dtype in HALVES else dtype
    total = p.b.ReduceSum(x if wide == dtype else p.b.Cast(x, dtype=wide), axis=tuple(gone), keep_dims=keep)
    mean: Value = p.b.Div(total, p.count([p.axes[0][k] for k in gone], wide))
    return mean if wide == dtype else p.b.Cast(mean, dtype=dtype)


# ---- rules that several ops have


def alike(p: Padded) -> list[Axes]:
    """All results have the axes of operand 0, whose elements do not meet each other."""
    return [p.axes[0] for _ in p.node.types]


def softmax(p: Padded) -> list[Axes]:
    """Rows along the last axis: padding has the probability 0, whatever is in the row."""
    (axes,), last = p.axes, p.types[0].rank - 1
    if not is_padded(axes[last]):
        return alike(p)
    p.mask(0, [last], -np.inf)
    some = p.some(axes[last])
    if some is not None and p.node.op.name == "Softmax":
        # Of nothing at all it is NaN, by which a product may go on.
        p.become(p.b.Select(some, p.b.Softmax(p.input(0)), p.b.constant(0, p.types[0].dtype)))
    return [(*axes[:last], loosened(axes[last], 1 if p.node.op.name == "Softmax" else 3))]


def entropies(p: Padded) -> list[Axes]:
    """Cross entropy of each row: classes that are padding have the probability 0, and are no label."""
    (logits, labels), (type, kind) = p.axes, p.types
    row = met(logits[0], labels[0])
    if row is None or (len(labels) > 1 and met(logits[1], labels[1]) is None):
        raise p.refuse("its operands are padded differently")
    classes = logits[1]
    if is_padded(classes):
        # 0 times what the lowest number gives is 0, and times infinity it would be NaN.
        p.mask(0, [1], float(np.finfo(np.float16 if type.dtype in HALVES else type.numpy).min) / 2)
        if len(labels) > 1:
            p.mask(1, [1], 0)
        elif len(classes) > 1:
            raise p.refuse("real classes do not stand together")
        else:
            among = p.b.Less(p.input(1), p.count([classes], kind.dtype))
            p.use(1, p.b.Select(among, p.input(1), p.b.constant(-1, kind.dtype)))
    return [(row,), (row, loosened(classes, 1))]


def largest(p: Padded) -> list[Axes]:
    """The place of the largest element along attribute `axis`."""
    axis, (axes,) = p.node.attrs["axis"], p.axes
    if is_padded(axes[axis]):
        if len(axes[axis]) > 1:
            raise p.refuse("real elements do not stand together along the axis")
        p.mask(0, [axis], NEUTRAL["max"](p.types[0].numpy))
    return [axes[:axis] + axes[axis + 1 :]]


def running(p: Padded) -> list[Axes]:
    """What goes along attribute `axis`: padding stands behind the real elements, or with `reverse` counts 0."""
    axis, (axes,), reverse = p.node.attrs["axis"], p.axes, p.node.attrs.get("reverse", False)
    if not is_padded(axes[axis]):
        return alike(p)
    if len(axes[axis]) > 1:
        raise p.refuse("real elements do not stand together along the axis")
    if p.node.op.name == "Cumprod":
        p.mask(0, [axis], 1)
    elif reverse:
        p.mask(0, [axis], 0)
    return [(*axes[:axis], loosened(axes[axis], 1 if reverse else 3), *axes[axis + 1 :])] * len(p.node.types)


def rows(*own: int) -> PadRule:
    """An op that treats each index of these axes of operand 0 alike; its results have them, too. No other axis is padded."""

    def rule(p: Padded) -> list[Axes]:
        axes = p.axes[0]
        others = [k for k, a in enumerate(axes) if is_padded(a) and k not in own]
        others += [k for a in p.axes[1:] for k, x in enumerate(a) if is_padded(x) and (k not in own or x != axes[k])]
        if others:
            raise p.refuse(f"it mixes elements along axis {others[0]}")
        return [tuple(axes[k] if k in own else plain(size) for k, size in enumerate(t.shape)) for t in p.node.types]

    return rule


def along(attribute: str) -> PadRule:
    """An op that goes along the axis, or axes, which an attribute says, and treats all others alike. Those are not padded."""

    def rule(p: Padded) -> list[Axes]:
        (axes,), given = p.axes, p.node.attrs[attribute]
        over = (given,) if isinstance(given, int) else given
        padded = [k for k in over if is_padded(axes[k])]
        if padded:
            raise p.refuse(f"it mixes elements along axis {padded[0]}")
        return [tuple(plain(n) if k in over else axes[k] for k, n in enumerate(t.shape)) for t in p.node.types]

    return rule


def matrices(p: Padded) -> list[Axes]:
    """An op that treats matrices alike, which are in the last two axes of its operands; these are not padded."""
    return list(rows(*range(max(t.rank for t in p.types) - 2))(p))


def product(p: Padded) -> list[Axes]:
    """Padding of the axis that is added up over is masked in the smaller operand."""
    (x, y), attrs = p.axes, p.node.attrs
    row, inner = (x[-1], x[-2]) if attrs["transpose_a"] else (x[-2], x[-1])
    other, column = (y[-1], y[-2]) if attrs["transpose_b"] else (y[-2], y[-1])
    if met(inner, other) is None:
        raise p.refuse("its operands are padded differently along the axis that it adds up over")
    if is_padded(inner):
        rank, states = p.types[0].rank, (looseness(inner), looseness(other))
        # 0 times a copy of a real element is as real as can be; 0 times anything is not.
        masked = {k for k in (0, 1) if states[k] >= 2}
        if not masked and 1 not in states:
            masked = {0 if p.types[0].size <= p.types[1].size else 1}
        if 0 in masked:
            p.mask(0, [rank - 2 if attrs["transpose_a"] else rank - 1], 0)
        if 1 in masked:
            p.mask(1, [rank - 1 if attrs["transpose_b"] else rank - 2], 0)
    lead = [met(a, b) for a, b in zip(x[:-2], y[:-2], strict=True)]
    if None in lead:
        raise p.refuse("its operands are padded differently along a leading axis")
    return [(*(a for a in lead if a is not None), row, column)]


def reshape(p: Padded) -> list[Axes]:
    made = regrouped(p.axes[0], p.node.attrs["shape"])
    if made is None:
        raise p.refuse("it cuts a padded axis")
    return [made]


def broadcast(p: Padded) -> list[Axes]:
    """New and repeated axes have no padding; their sizes must not vary."""
    (axes,), shape = p.axes, p.node.attrs["shape"]
    lead = len(shape) - len(axes)
    return [tuple(axes[k - lead] if k >= lead and axes[k - lead] else plain(d) for k, d in enumerate(shape))]


def one_value(p: Padded) -> list[Axes]:
    """A result that copies of real rows do not change."""
    return [plains(t) for t in p.node.types]
