"""Passes that make the graph smaller without changing what it computes, bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphc.ir import Data, Graph, Node, Value
from graphc.ir.types import HALVES
from graphc.ops.declared import reference
from graphc.passes.tools import in_subgraphs
from graphc.passes.unread_carries import narrow_loops

#: Results of more elements are not computed at compile time, nor such as are larger than their operands.
FOLD_LIMIT = 256
#: But casts of constants to no wider dtypes are, up to so many elements: a mask, say.
CAST_LIMIT = 1 << 18


def prune(graph: Graph) -> Graph:
    """Remove what no result and no update depends on; what loops carry, too.

    before:  %3 = Exp(%1)   %4 = Log(%1)   return %4
    after:   %4 = Log(%1)   return %4
    """
    while True:
        before = graph
        if graph.dead():
            graph = graph.copy()
            graph.prune()
        # What a narrower loop does not read, another one may have carried for it.
        graph = in_subgraphs(narrow_loops(graph), prune)
        if graph is before or not graph.owners():
            return graph


def _pruned(copy: Graph) -> Graph:
    """`prune` for a graph that nobody else holds."""
    copy = in_subgraphs(copy, prune)
    copy.prune()
    return copy


# ---- simplify: rows of (name, rule); a rule returns the value that replaces the node's result, or None


def _same_type(graph: Graph, node: Node) -> Value | None:
    x = node.inputs[0]
    return x if graph.type(x) == node.type else None


def _no_axes(graph: Graph, node: Node) -> Value | None:
    return node.inputs[0] if not node.attrs["axis"] else None


def _through(graph: Graph, node: Node) -> Value | None:
    """Reshape of a reshape, back to where it began."""
    inner = graph.node(node.inputs[0].node)
    if inner.op.name == "Reshape" and graph.type(inner.inputs[0]) == node.type:
        return inner.inputs[0]
    return None


def _whole(graph: Graph, node: Node) -> Value | None:
    return _same_type(graph, node) if all(step == 1 for step in node.attrs["step"]) else None


def _is_one(graph: Graph, value: Value) -> bool:
    node = graph.node(value.node)
    if node.op.name == "Constant":
        data: Data = node.attrs["value"]
        return data.type.size == 1 and data.array is not None and bool(data.array.reshape(()) == 1)
    return node.op.name == "Fill" and bool(node.attrs["value"] == 1)


def _times_one(graph: Graph, node: Node) -> Value | None:
    x, y = node.inputs
    if _is_one(graph, y) and graph.type(x) == node.type:
        return x
    if node.op.name == "Mul" and _is_one(graph, x) and graph.type(y) == node.type:
        return y
    return None


def _double(graph: Graph, node: Node) -> Value | None:
    inner = graph.node(node.inputs[0].node)
    return inner.inputs[0] if inner.op is node.op else None


RULES: dict[str, tuple[tuple[str, Callable[[Graph, Node], Value | None]], ...]] = {
    "Reshape": (("same_shape", _same_type), ("there_and_back", _through)),
    "BroadcastTo": (("same_shape", _same_type),),
    "Cast": (("same_dtype", _same_type),),
    "Slice": (("whole", _whole),),
    "ReduceSum": (("no_axes", _no_axes),),
    "ReduceMean": (("no_axes", _no_axes),),
    "ReduceMax": (("no_axes", _no_axes),),
    "ReduceMin": (("no_axes", _no_axes),),
    "Mul": (("times_one", _times_one),),
    "Div": (("by_one", _times_one),),
    "Neg": (("twice", _double),),
    "LogicalNot": (("twice", _double),),
}


def simplify(graph: Graph) -> Graph:
    """Apply RULES, compute what is known at compile time, and let halves be made, and widened, beside what else is computed: a
    reshape would be between the two, in other loops.

    before:  %3 = Reshape(%1) {shape=...same...}   %4 = Mul(%3, 1.0)   return %4
    after:   return %1

    before:  %2: f32[6] = Reshape(%1)    %3: bf16[6] = Cast(%2)     %4: f32[6] = Cast(%3)     %5: f32[2,3] = Reshape(%4)
    after:   %6: bf16[2,3] = Cast(%1)    %3: bf16[6] = Reshape(%6)  %7: bf16[2,3] = Reshape(%3)  %5: f32[2,3] = Cast(%7)
    """
    graph = in_subgraphs(graph, simplify)
    copy: Graph | None = None
    for id in graph.order():
        current = copy or graph
        node = current.node(id)
        rewritten = _rewrite(current, node) if node.op.name in RULES else None
        if rewritten is not None:
            rule, replacement = rewritten
            copy = copy or graph.copy()
            copy.replace_node(id, [replacement], rule)
        elif _is_known(current, node):
            copy = copy or graph.copy()
            _fold(copy, node)
        elif _casts_far(current, node):
            copy = copy or graph.copy()
            _swap(copy, node)
    return _pruned(copy) if copy else graph


def _rewrite(graph: Graph, node: Node) -> tuple[str, Value] | None:
    """The rule that applies, and what replaces the node's result."""
    if node.after:
        return None  # Its order edges mean something.
    for name, rule in RULES[node.op.name]:
        value = rule(graph, node)
        if value is not None:
            return None if _is_all_that_is_tested(graph, node, value) else (name, value)
    return None


def _is_all_that_is_tested(graph: Graph, node: Node, value: Value) -> bool:
    """Whether an overflow check would be left with what only waits for the status: it tests what is computed after that."""
    return graph.node(value.node).op.name == "Depend" and any(
        graph.node(user).op.name == "GetFloatStatus" for user in graph.users(node.id)
    )


def _is_known(graph: Graph, node: Node) -> bool:
    """A small pure node all of whose operands are constants."""
    if node.op.ref is None or node.op.effect or node.after or not node.inputs or len(node.types) != 1:
        return False
    for v in node.inputs:
        if not _is_constant(graph.node(v.node)):
            return False
    if node.op.name == "TakePart":
        return False  # A part is another one in each process: all keep the same graph.
    if node.op.name == "Cast" and node.type.nbytes <= graph.type(node.inputs[0]).nbytes:
        return node.type.size <= CAST_LIMIT
    return node.type.size <= min(FOLD_LIMIT, max(graph.type(v).size for v in node.inputs))


def _is_constant(node: Node) -> bool:
    return node.op.name == "Constant" and node.attrs["value"].array is not None


def _fold(graph: Graph, node: Node) -> None:
    arrays = [graph.node(v.node).attrs["value"].array for v in node.inputs]
    (array,) = reference.apply(node.op, node.types, arrays, node.attrs, exact=False)
    data = Data(array, type=node.type)
    made = graph.add(
        "Constant",
        attrs={"value": data},
        types=node.types,
        name=node.name,
        scope=node.scope,
        loc=node.loc,
        region=node.region,
        fwd=node.fwd,
        origin=node.origin,
    )
    graph.replace_node(node.id, made.outputs, "known")


def _casts_far(graph: Graph, node: Node) -> bool:
    """Whether a node makes halves of what has been reshaped, or reshapes what has been made float32 of halves."""
    if node.op.name not in ("Cast", "Reshape") or node.after:
        return False
    inner = graph.node(node.inputs[0].node)
    if {node.op.name, inner.op.name} != {"Cast", "Reshape"} or inner.after:
        return False
    before, after = graph.type(inner.inputs[0]).dtype, node.type.dtype
    return (
        (before, after in HALVES) == ("float32", True)
        if node.op.name == "Cast"
        else (before in HALVES and after == "float32")
    )


def _swap(graph: Graph, node: Node) -> None:
    """Let a node come before the one that makes its operand."""
    inner = graph.node(node.inputs[0].node)

    def made(op: str, x: Value, attrs: dict[str, Any], name: str = "") -> Node:
        return graph.add(
            op, [x], attrs, name=name, scope=node.scope, loc=node.loc, region=node.region, fwd=node.fwd,
            origin=node.origin,
        )  # fmt: skip

    first = made(node.op.name, inner.inputs[0], dict(node.attrs))
    second = made(inner.op.name, first.outputs[0], dict(inner.attrs), node.name)
    graph.replace_node(node.id, second.outputs, "cast_nearby")
    if _casts_far(graph, graph.node(first.id)):
        _swap(graph, graph.node(first.id))


# ---- common subexpressions


def cse(graph: Graph) -> Graph:
    """Let equal nodes be one: same op, operands and attributes, no effects, no order of their own.

    before:  %3 = Exp(%1)   %4 = Exp(%1)   %5 = Add(%3, %4)
    after:   %3 = Exp(%1)   %5 = Add(%3, %3)
    """
    graph = in_subgraphs(graph, cse)
    copy: Graph | None = None
    seen: dict[Any, Node] = {}
    for id in graph.order():
        current = copy or graph
        node = current.node(id)
        if node.op.effect or node.after or node.op.name in ("Input", "Param"):
            continue
        # repr tells 0.0 from -0.0, which are equal but not the same.
        attrs = (
            tuple([(k, repr(v) if isinstance(v, float) else v) for k, v in node.attrs.items()]) if node.attrs else ()
        )
        first = seen.setdefault((node.op.name, node.inputs, attrs), node)
        if first.types != node.types:  # Declared ones: no rule says them.
            first = seen.setdefault((node.op.name, node.inputs, attrs, node.types), node)
        if first is not node:
            copy = copy or graph.copy()
            copy.replace_node(id, first.outputs, "equal")
    return _pruned(copy) if copy else graph
