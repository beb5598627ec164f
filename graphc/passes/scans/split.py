"""What no turn of a loop must wait for leaves it: products of all turns become one before the loop, or one behind it."""

from __future__ import annotations

from collections.abc import Iterable

from graphc.ir import Builder, Graph, Node, TensorType, Value
from graphc.ops.declared.scan import rows as rows_of
from graphc.passes.cleanup import cse
from graphc.passes.scans.loop import Loop, is_cheap, is_product, may_batch, may_move, rearranges, scans
from graphc.passes.tools import in_subgraphs, redirect
from graphc.passes.vectorize import Vectorizer

#: Rows of a product's operands that are multiplied at a time: as many as stay in the nearer caches.
_ROWS = 512


def split_scans(graph: Graph) -> Graph:
    """Take out of Scans what depends on nothing that they carry, and products on which nothing that they carry depends.

    before:  %5 = Scan(%1, %2, %3) {body: (h, x, w) -> tanh(h + x w)}
    after:   %6 = MatMul(Reshape(%2), %3)    %5 = Scan(%1, Reshape(%6)) {body: (h, a) -> tanh(h + a)}

    before:  %5 = Scan(%1, %2, %3) {body: (sum, x, y) -> sum + x' y}
    after:   %6 = MatMul(Reshape(%2), Reshape(%3)) {transpose_a=True}

    Sums of products over all turns are added up in another order than turn by turn.
    """
    original = graph = in_subgraphs(graph, split_scans)
    ids = scans(graph)
    if not ids:
        return graph
    before = _look(graph)
    graph = graph.copy()
    for id in ids:
        loop = Loop(graph, graph.node(id), "split_scans")
        loop.shrink()
        if loop.turns:
            _share_states(loop)
            _sums(loop)
            _before(loop)
            _behind(loop)
            loop.shrink()
    graph.prune()
    graph = cse(graph)
    return graph if _look(graph) != before else original


def _look(graph: Graph) -> tuple[int, list[str]]:
    """What changes where a Scan does."""
    nodes = [graph.node(id) for id in scans(graph)]
    return len(graph), [f"{node.inputs} {node.attrs['stacks']} {node.attrs['body']}" for node in nodes]


# ---- before the loop


def _before(loop: Loop) -> None:
    """Compute before the loop what depends only on captures, and products of what is scanned."""
    body = loop.body
    turning = set(loop.slices)
    outside = {*loop.slices, *loop.held}
    heavy: set[Value] = set()
    for node in body:
        turns = any(v in turning for v in node.inputs)
        if not (may_batch if turns else may_move)(node) or not all(v in outside for v in node.inputs):
            continue
        outside.update(node.outputs)
        if turns:
            turning.update(node.outputs)
            # Products of two turning matrices are as many outside.
            heavy.update(node.outputs if is_product(node) and not turning.issuperset(node.inputs) else ())
        elif node.inputs and not is_cheap(node):
            heavy.update(node.outputs)
        if any(v in heavy for v in node.inputs):
            heavy.update(node.outputs)
    wanted: dict[Value, None] = {}
    for value in _used_outside(loop, outside):
        for found in _without_rearranging(body, value):
            if found in heavy:
                wanted[found] = None
    fixed = [v for v in wanted if v not in turning]
    moving = [v for v in wanted if v in turning]
    made = _vectorized(loop, body, [*fixed, *moving], [*(False for _ in fixed), *(True for _ in moving)])
    for value, new in zip(fixed, made, strict=False):
        loop.replace(value, loop.capture(new))
    for value, new in zip(moving, made[len(fixed) :], strict=True):
        loop.replace(value, loop.scan(new))
    loop.shrink()


def _used_outside(loop: Loop, inside: set[Value]) -> list[Value]:
    """The values of a set that something else uses."""
    found: dict[Value, None] = {}
    for node in loop.body:
        if not node.outputs or node.outputs[0] not in inside:
            found.update((v, None) for v in node.inputs if v in inside)
    found.update((v, None) for v in loop.results if v in inside)
    return list(found)


def _without_rearranging(body: Graph, value: Value) -> Iterable[Value]:
    """What a value is a rearrangement of; that is left to who reads it."""
    node = body.node(value.node)
    while rearranges(node):
        value = node.inputs[0]
        node = body.node(value.node)
    return (value,)


def _vectorized(loop: Loop, body: Graph, values: list[Value], fronts: list[bool]) -> list[Value]:
    """Values of the body that depend on no carried one, in the graph: for all turns at once."""
    if not values:
        return []
    source = body.copy()
    source.set_results((str(k), v) for k, v in enumerate(values))
    source.prune()
    at = dict(
        zip([*loop.states, *loop.slices, *loop.held], [*loop.carried, *loop.scanned, *loop.captures], strict=True)
    )
    arguments = [at[Value(i)] for i in source.inputs]
    mapped = [Value(i) in loop.slices for i in source.inputs]
    return Vectorizer(loop.turns).run(loop.outside, source, arguments, mapped, fronts)


# ---- behind the loop


def _share_states(loop: Loop) -> None:
    """Where what is stacked is what is carried next, the stack of the states serves."""
    c = len(loop.carried)
    for j, k in enumerate(list(loop.stacks)):
        if k >= c and loop.results[k] in loop.results[:c]:
            slot = Value(loop.id, c + j)
            _use(loop, slot, loop.stack_of(loop.results[k]))


def _use(loop: Loop, old: Value, new: Value) -> None:
    """Let the users of a result of the loop use another value."""
    redirect(loop.graph, lambda v: new if v == old else v, loop.id)


def _sums(loop: Loop) -> None:
    """Sums over all turns that the loop carries, of products and of sums, become products and sums of stacks."""
    graph, body = loop.graph, loop.body
    for k, state in enumerate(list(loop.states)):
        add = body.node(loop.results[k].node)
        if k in loop.stacks or add.op.name != "Add" or body.users(state.node) != [add.id] or state in loop.results:
            continue
        terms = [v for v in add.inputs if v != state]
        if len(terms) != 1 or body.type(terms[0]) != add.type or not _can_add_up(body, terms[0]):
            continue
        total = _added_up(loop, terms[0])
        first = graph.node(loop.carried[k].node)
        if not (first.op.name == "Fill" and first.attrs["value"] == 0):
            total = loop.outside.Add(loop.carried[k], total)
        _use(loop, Value(loop.id, k), total)
    loop.shrink()


def _can_add_up(body: Graph, value: Value) -> bool:
    node = body.node(value.node)
    if not may_move(node):
        return False
    if node.op.name == "Add":
        return all(body.type(v) == node.type and _can_add_up(body, v) for v in node.inputs)
    if node.op.name in ("Reshape", "Transpose", "Neg"):
        return _can_add_up(body, node.inputs[0])
    if node.op.name == "MatMul":
        # Turns of so many rows gain nothing by being one product.
        rows = body.type(node.inputs[0]).shape[0 if node.attrs["transpose_a"] else 1]
        return 2 * rows < _ROWS
    return node.op.name == "ReduceSum"


def _added_up(loop: Loop, value: Value) -> Value:
    """The sum of a value of the body over all turns."""
    b, node = loop.outside, loop.body.node(value.node)
    made: Value
    if node.op.name == "Add":
        made = b.Add(*(_added_up(loop, v) for v in node.inputs))
    elif node.op.name == "ReduceSum":
        made = b.ReduceSum(loop.stack_of(node.inputs[0]), axis=(0, *(a + 1 for a in node.attrs["axis"])))
    elif node.op.name == "MatMul":
        x, y = (loop.stack_of(v) for v in node.inputs)
        x = x if node.attrs["transpose_a"] else b.Transpose(x, perm=(0, 2, 1))
        made = _product(b, x, b.Transpose(y, perm=(0, 2, 1)) if node.attrs["transpose_b"] else y)
    else:
        made = b.node(node.op.name, _added_up(loop, node.inputs[0]), attrs=node.attrs).outputs[0]
    return made


def _product(b: Builder, x: Value, y: Value) -> Value:
    """x[0]' y[0] + x[1]' y[1] + ... of [turns, rows, columns]: the product of two long matrices, in parts of as many rows as
    stay near: a loop, and the last one behind it, which others can go on with.
    """
    turns, rows, _ = b.type(x).shape
    some = max(1, _ROWS // max(rows, 1))
    parts = (turns - 1) // some
    if turns <= 2 * some or not b.type(x).size:
        return _times(b, *(_long(b, v, 0, 1, turns, matrix=True) for v in (x, y)))
    last = _times(b, *(_long(b, v, parts * some, 1, turns - parts * some, matrix=True) for v in (x, y)))
    type = b.type(last)
    scanned = [_long(b, v, 0, parts, some, matrix=False) for v in (x, y)]
    body = Graph("part", b.graph.ids)
    kinds = [type, *(TensorType(type.dtype, b.type(v).shape[1:]) for v in scanned)]
    inner = Builder(body, b.region, b.scope, b.loc)
    total, p, q = (body.add("Input", types=(t,), region="state").outputs[0] for t in kinds)
    body.set_results([("0", inner.Add(total, _times(inner, p, q)))])
    zeros = b.Fill(dtype=type.dtype, shape=type.shape, value=0.0)
    attrs = {"length": parts, "carried": 1, "scanned": 2, "body": body.freeze()}
    made: Value = b.Add(b.node("Scan", zeros, *scanned, attrs=attrs).outputs[0], last)
    return made


def _times(b: Builder, x: Value, y: Value) -> Value:
    made: Value = b.MatMul(x, y, transpose_a=True, transpose_b=False)
    return made


def _long(b: Builder, x: Value, begin: int, parts: int, some: int, *, matrix: bool) -> Value:
    """So many parts of `some` turns each, one above the other, of [turns, rows, columns]; or as one `matrix`."""
    turns, rows, columns = b.type(x).shape
    if parts * some < turns:
        x = rows_of(b, x, begin, parts * some)
    shape = (some * rows, columns) if matrix else (parts, some * rows, columns)
    made: Value = b.Reshape(x, shape=shape)
    return made


def _behind(loop: Loop) -> None:
    """Compute behind the loop, for all turns at once, what is only stacked and needs a product."""
    c, body = len(loop.carried), loop.body
    needed = _nodes_behind(body, loop.results[:c])
    for j, k in enumerate(list(loop.stacks)):
        value = loop.results[k]
        own = [n for n in _nodes_behind(body, [value]) if n not in needed] if k >= c else []
        nodes: list[Node] = [body.node(i) for i in own]
        nodes = [n for n in nodes if n.op.name != "Input"]
        if not any(is_product(n) for n in nodes) or not all(map(may_batch, nodes)):
            continue
        ids = {n.id for n in nodes} | {n.id for n in body if may_move(n) and not n.inputs}
        edges = dict.fromkeys(v for n in nodes for v in n.inputs if v.node not in ids)
        _use(loop, Value(loop.id, c + j), _after(loop, value, list(edges)))


def _nodes_behind(body: Graph, values: Iterable[Value]) -> set[int]:
    found: set[int] = set()
    stack = [v.node for v in values]
    while stack:
        id = stack.pop()
        if id not in found:
            found.add(id)
            stack += [*(v.node for v in body.node(id).inputs), *body.node(id).after]
    return found


def _after(loop: Loop, value: Value, edges: list[Value]) -> Value:
    """A value of the body for all turns, from what the loop makes at its edges."""
    part = Graph("behind", loop.graph.ids)
    at: dict[Value, Value] = {}
    for v in edges:
        at[v] = part.add("Input", types=(loop.body.type(v),), region="state").outputs[0]
    _copy_into(part, loop.body, value, at)
    part.set_results([("0", at[value])])
    mapped = [v not in loop.held for v in edges]
    outer = [loop.captures[loop.held.index(v)] if v in loop.held else loop.stack_of(v) for v in edges]
    (made,) = Vectorizer(loop.turns).run(loop.outside, part, outer, mapped, [True])
    return made


def _copy_into(part: Graph, body: Graph, value: Value, at: dict[Value, Value]) -> None:
    """Copy the nodes that make a value, down to what is there."""
    if value in at:
        return
    node = body.node(value.node)
    for v in node.inputs:
        _copy_into(part, body, v, at)
    made = part.add(
        node.op, [at[v] for v in node.inputs], node.attrs, types=node.types, scope=node.scope, loc=node.loc,
        region=node.region,
    )  # fmt: skip
    at.update(zip(node.outputs, made.outputs, strict=True))
