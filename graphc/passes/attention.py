"""Attention written as products and a softmax becomes one op, which does without a matrix of scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from graphc.ir import Builder, Graph, Node, Value
from graphc.ir.op import Structural
from graphc.ir.types import Array
from graphc.passes.tools import in_subgraphs, only_reader

#: What a mask holds, at the most, where nothing is to be seen: added to a score it leaves nothing of it.
_HIDDEN = -1e9
#: The fewest keys for which one op is quicker than products of whole matrices; where nobody sees what is ahead, and for narrow
#: heads, these are quicker for longer.
_KEYS, _KEYS_IF_LESS = 64, 512
#: The width that is not narrow, the widest heads that there is one op for, and the fewest queries.
_NARROW, _WIDE, _QUERIES = 64, 256, 32
#: The most elements of a mask that is computed to see what it hides.
_KNOWN = 1 << 26


def fuse_attention(graph: Graph) -> Graph:
    """softmax(scale q k^T + masks) v is an Attention where there are many keys, dropout of the softmax included.

    before:  %3 = BatchMatMul(%q, %k) {transpose_b=True}   %4 = Mul(%3, 0.125)   %5 = Add(%4, %mask)   %6 = Softmax(%5)
             %7 = BatchMatMul(%6, %v)
    after:   %8, %9, %10 = Attention(%q, %k, %v, %mask) {scale=0.125}

    A mask may be added, or be what is put in the place of hidden scores, -1e9 or less: that is added, too. One that is known to
    hide what is ahead of each query is no operand, but `ahead`. What lies in between must have no other reader.
    """
    if "Softmax" not in graph.ops():
        return graph
    graph = in_subgraphs(graph, fuse_attention)
    copy: Graph | None = None
    dead: set[int] | None = None
    for id in [n.id for n in graph.nodes() if n.op.name == "Softmax"]:
        if dead is None:
            dead = set(graph.dead())
        found = _Finder(graph, dead).attention(graph.node(id)) if id not in dead else None
        if found is not None:
            copy = copy or graph.copy()
            _put(copy, found)
    if copy is not None:
        copy.prune()
    return copy or graph


class _Mask(NamedTuple):
    """What is added to scores, `factor` times: a value, or where `value` is `hides` a number, zero elsewhere."""

    value: Value
    factor: float = 1.0
    number: float | None = None
    hides: bool = True


@dataclass(frozen=True, slots=True)
class _Scores:
    """`product` times `scale`, and masks."""

    product: Node
    scale: float = 1.0
    masks: tuple[_Mask, ...] = ()

    def times(self, factor: float) -> _Scores:
        return _Scores(
            self.product, self.scale * factor, tuple(m._replace(factor=m.factor * factor) for m in self.masks)
        )


class _Found(NamedTuple):
    """An attention: its last product, its scores, the values; `keep` is 1 or goes with the key of dropout."""

    last: Node
    scores: _Scores
    value: Value
    ahead: int
    keep: float
    key: Value | None


class _Finder:
    """Looks for attention in a graph some of whose nodes are dead."""

    def __init__(self, graph: Graph, dead: set[int]) -> None:
        self.graph, self.dead = graph, dead

    def attention(self, softmax: Node) -> _Found | None:
        type = softmax.type
        if type.dtype != "float32" or type.rank < 2 or type.shape[-1] < _KEYS or type.shape[-2] < _QUERIES:
            return None
        shares, keep, key = self._dropout(softmax)
        last = self._reader(shares)
        if last is None or not _is_product(last) or last.attrs["transpose_a"] or last.inputs[0] != shares.outputs[0]:
            return None
        scores = self._scores(softmax.inputs[0], softmax)
        if scores is None or last.inputs[1] == shares.outputs[0]:
            return None
        q, v = scores.product.inputs[0], last.inputs[1]
        widths = self.graph.type(q).shape[-2 if scores.product.attrs["transpose_a"] else -1], last.type.shape[-1]
        if max(widths) > _WIDE or 0 in widths:
            return None
        ahead, masks = self._ahead(scores.masks, type.shape)
        if type.shape[-1] < _KEYS_IF_LESS and (ahead >= 0 or min(widths) < _NARROW):
            return None
        return _Found(last, replace(scores, masks=masks), v, ahead, keep, key)

    # ---- what follows the softmax

    def _reader(self, node: Node) -> Node | None:
        return only_reader(self.graph, node, self.dead)

    def _dropout(self, softmax: Node) -> tuple[Node, float, Value | None]:
        """What dropout makes of a softmax, the probability to keep a share, and the key; else the softmax itself."""
        none = softmax, 1.0, None
        scaled = self._reader(softmax)
        if scaled is None or scaled.op.name != "Mul":
            return none
        dropped = self._reader(scaled)
        if dropped is None or dropped.op.name != "Select" or dropped.inputs[1] != scaled.outputs[0]:
            return none
        less = self.graph.node(dropped.inputs[0].node)
        if less.op.name != "Less" or self._number(dropped.inputs[2]) != 0 or self._reader(less) is None:
            return none
        uniform, keep = self.graph.node(less.inputs[0].node), self._number(less.inputs[1])
        factor = self._number(self._other(scaled, softmax))
        if uniform.op.name != "RandomUniform" or uniform.type.shape != softmax.type.shape or keep is None:
            return none
        if factor is None or not 0 < keep < 1 or not np.isclose(factor * keep, 1, rtol=1e-6):
            return none
        return dropped, keep, uniform.inputs[0]

    @staticmethod
    def _other(node: Node, operand: Node) -> Value:
        """The operand of two that is not the result of a node."""
        return node.inputs[1] if node.inputs[0] == operand.outputs[0] else node.inputs[0]

    # ---- what comes before it

    def _scores(self, value: Value, reader: Node) -> _Scores | None:
        """How scores were made that only `reader` reads."""
        node = self.graph.node(value.node)
        only = self._reader(node)
        if only is None or only.id != reader.id or node.type.shape != reader.type.shape:
            return None
        if _is_product(node):
            return _Scores(node)
        name = node.op.name
        if name in ("Add", "Sub"):
            return self._added(node)
        if name in ("Mul", "Div"):
            first, second = (self._number(v) for v in node.inputs)
            if second:
                found = self._scores(node.inputs[0], node)
                return None if found is None else found.times(1 / second if name == "Div" else second)
            if name == "Mul" and first:
                found = self._scores(node.inputs[1], node)
                return None if found is None else found.times(first)
            return None
        return self._chosen(node) if name == "Select" else None

    def _added(self, node: Node) -> _Scores | None:
        """Scores and a mask, added or subtracted."""
        ways = ((0, 1),) if node.op.name == "Sub" else ((0, 1), (1, 0))
        for one, other in ways:
            found = self._scores(node.inputs[one], node)
            if found is not None:
                mask = _Mask(node.inputs[other], -1.0 if node.op.name == "Sub" else 1.0)
                return replace(found, masks=(*found.masks, mask))
        return None

    def _chosen(self, node: Node) -> _Scores | None:
        """Scores, or a number where a condition hides them."""
        condition, one, other = node.inputs
        for hides, hidden, seen in ((True, one, other), (False, other, one)):
            number = self._number(hidden)
            if number is not None and number <= _HIDDEN:
                found = self._scores(seen, node)
                return found and replace(found, masks=(*found.masks, _Mask(condition, 1.0, number, hides)))
        return None

    # ---- constants

    def _number(self, value: Value) -> float | None:
        """The number that a value holds everywhere, if that is known."""
        node = self.graph.node(value.node)
        if node.op.name == "BroadcastTo":
            return self._number(node.inputs[0])
        if node.op.name == "Fill":
            return float(node.attrs["value"])
        if node.op.name != "Constant" or node.type.size != 1 or node.attrs["value"].array is None:
            return None
        return float(node.attrs["value"].array.reshape(()))

    def _known(self, value: Value) -> Array | None:
        """What a value holds, if it comes of constants alone."""
        node = self.graph.node(value.node)
        if node.op.name == "Constant":
            found: Array | None = node.attrs["value"].array
            return found
        if isinstance(node.lower, Structural) or node.op.ref is None or node.op.effect or node.after:
            return None
        if (
            len(node.types) > 1
            or node.type.size > _KNOWN
            or node.graphs()
            or (not node.inputs and node.op.name != "Fill")
        ):
            return None
        operands = []
        for v in node.inputs:
            known = self._known(v)
            if known is None:
                return None
            operands.append(known)
        return np.asarray(node.op.ref(*operands, **node.attrs))

    def _ahead(self, masks: Sequence[_Mask], shape: tuple[int, ...]) -> tuple[int, tuple[_Mask, ...]]:
        """How far ahead each query sees, -1 if that has no end, and the masks that say more than that."""
        far, left = shape[-1], []
        for mask in masks:
            known = self._known(mask.value)
            ahead = None if known is None else _triangle(_mask_array(mask, known), shape)
            if ahead is None or not ahead[1]:
                left.append(mask)
            if ahead is not None:
                far = min(far, ahead[0])
        return (-1 if far >= shape[-1] - 1 else far), tuple(left)


def _is_product(node: Node) -> bool:
    return node.op.name in ("MatMul", "BatchMatMul")


def _mask_array(mask: _Mask, known: Array) -> Array:
    if mask.number is not None:
        known = np.where(known == mask.hides, np.float32(mask.number), np.float32(0))
    return np.asarray(known * np.float32(mask.factor))


def _triangle(mask: Array, shape: tuple[int, ...]) -> tuple[int, bool] | None:
    """How far ahead of each query a mask lets see, and whether it is zero there; None if it hides something else."""
    if mask.shape[-2:] != shape[-2:] or mask.size != shape[-2] * shape[-1]:
        return None
    mask = mask.reshape(shape[-2:])
    seen = mask > _HIDDEN
    ahead = int(seen[0].sum()) - 1
    if ahead < 0 or not np.array_equal(seen, np.tri(shape[-2], shape[-1], ahead, dtype=bool)):
        return None
    return ahead, not mask[seen].any()


# ---- the op


def _put(graph: Graph, found: _Found) -> None:
    """Let an Attention stand for what was found."""
    last, product = found.last, found.scores.product
    g = Builder(graph, last.region, last.scope, last.loc, last.fwd, last.origin)
    q = _turned(g, product.inputs[0]) if product.attrs["transpose_a"] else product.inputs[0]
    k = product.inputs[1] if product.attrs["transpose_b"] else _turned(g, product.inputs[1])
    v = _turned(g, found.value) if last.attrs["transpose_b"] else found.value
    masks = map(partial(_added, g), found.scores.masks)
    key = () if found.key is None else (found.key,)
    attrs = {"scale": found.scores.scale, "ahead": found.ahead, "keep": found.keep}
    node = g.node("Attention", q, k, v, *masks, *key, attrs=attrs)
    graph.replace_node(last.id, node.outputs[:1], "one_attention")


def _turned(g: Builder, value: Value) -> Value:
    """A matrix transposed; where it has been already, what it was before."""
    node, rank = g.graph.node(value.node), g.type(value).rank
    swap = (*range(rank - 2), rank - 1, rank - 2)
    if node.op.name == "Transpose" and tuple(node.attrs["perm"]) == swap:
        return node.inputs[0]
    made: Value = g.Transpose(value, perm=swap)
    return made


def _added(g: Builder, mask: _Mask) -> Value:
    """A mask as what is added."""
    value = mask.value
    if mask.number is not None:
        ways = [g.constant(mask.number * mask.factor, "float32"), g.constant(0.0, "float32")]
        made: Value = g.Select(value, *(ways if mask.hides else ways[::-1]))
        return made
    made = value if mask.factor == 1 else g.Mul(value, g.constant(mask.factor, "float32"))
    return made
