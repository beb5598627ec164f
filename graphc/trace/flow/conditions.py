"""Tracing `ops.cond`: both branches become closed subgraphs of one If node."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from graphc.errors import DTypeError, ShapeError, TraceError, user_loc
from graphc.ir import Value
from graphc.ops import functional as F
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor, TracedTensor
from graphc.ops.tensor.tree import Fixed, Leaf, Structure, a_sparse, flatten, unflatten
from graphc.trace.flow.merging import same_structure
from graphc.trace.flow.raising import one_way
from graphc.trace.recorder import GraphRecorder

#: A traced branch: its recorder, and the tensors and structure of what it returns.
Branch = tuple[GraphRecorder, list[Tensor], Structure]


def cond(
    recorder: GraphRecorder,
    pred: Tensor,
    then: Callable[..., Any],
    orelse: Callable[..., Any],
    operands: tuple[Any, ...],
) -> Any:
    """The results of the branch that `pred` chooses.

    Both branches start from the same state; every parameter that either writes becomes a result of the If. Raises
    TraceError GC122 when the branches return different structures, DTypeError or ShapeError GC122 for
    different types.
    """
    first, second = (trace_branch(recorder, n, partial(f, *operands)) for n, f in (("then", then), ("else", orelse)))
    return merge(recorder, pred, first, second)


def merge(recorder: GraphRecorder, pred: Tensor, then: Branch, orelse: Branch) -> Any:
    """The If of two traced branches, whose results must have one structure."""
    (first, leaves_a, structure_a), (second, leaves_b, structure_b) = then, orelse
    if not same_structure(structure_a, structure_b):
        raise TraceError(
            "the branches of ops.cond return different structures",
            code="GC122",
            loc=user_loc(),
            details=[f"if true:  {_words(structure_a)}", f"if false: {_words(structure_b)}"],
            help="return the same number of tensors, and the same Python values, from both",
        )
    leaves_a, leaves_b = _with_axis(first, leaves_a, leaves_b), _with_axis(second, leaves_b, leaves_a)
    written = {k: p for b in (first, second) for k, p in b.known.items() if k in first.written | second.written}
    objects = {k: x for branch in (first, second) for k, (x, _) in branch.overwritten.items()}
    for branch, leaves in ((first, leaves_a), (second, leaves_b)):
        results = [(str(i), branch.final(x)) for i, x in enumerate(leaves)]
        results += [(p.name, branch.read(p)) for p in written.values()]
        results += [("", branch.final(x)) for x in objects.values()]
        branch.graph.set_results(results)
    _check_types(first, second, len(leaves_a))
    captures = _align_captures(first, second)
    for branch in (first, second):
        branch.prune()
    condition = recorder.resolve(pred)
    node = recorder.graph.add(
        "If",
        [condition, *captures],
        {"then": first.graph, "else": second.graph},
        scope=recorder.scopes[-1],
        loc=recorder.line(user_loc()),
        region=recorder.regions[-1],
    )
    numbers = [a.is_number and b.is_number for a, b in zip(leaves_a, leaves_b, strict=True)]
    outputs = [recorder.wrap(v, k < len(numbers) and numbers[k]) for k, v in enumerate(node.outputs)]
    for p, new in zip(written.values(), outputs[len(leaves_a) :], strict=False):
        recorder.read(p)
        recorder.write(p, new.handle[1])
    for x, new in zip(objects.values(), outputs[len(leaves_a) + len(written) :], strict=True):
        recorder.overwrite(x, new)
    return unflatten(structure_a, outputs[: len(leaves_a)])


def _with_axis(branch: GraphRecorder, leaves: list[Tensor], others: list[Tensor]) -> list[Tensor]:
    """A branch's results; one without axes gets the axis of length 1 that the other branch's has."""
    with branch.active():
        return [
            F.reshape(x, (1,)) if not x.shape and y.shape == (1,) else x for x, y in zip(leaves, others, strict=True)
        ]


def _check_types(first: GraphRecorder, second: GraphRecorder, count: int) -> None:
    """DTypeError or ShapeError GC122 unless both branches return the same types."""
    types = [[b.graph.type(r.value) for r in b.graph.results[:count]] for b in (first, second)]
    different = [
        f"result {k}: {a} if true, {b} if false" for k, (a, b) in enumerate(zip(*types, strict=True)) if a != b
    ]
    if different:
        kinds = [[t.dtype for t in side] for side in types]
        raise (ShapeError if kinds[0] == kinds[1] else DTypeError)(
            "the branches of a conditional return tensors of different shapes or dtypes",
            code="GC122",
            loc=user_loc(),
            details=different[:6],
            help="make them alike with ops.reshape, ops.broadcast_to or ops.cast",
        )


def while_loop(
    recorder: GraphRecorder, test: Callable[..., Any], body: Callable[..., Any], carried: tuple[Any, ...]
) -> tuple[Any, ...]:
    """`while test(*carried): carried = body(*carried)` as one While node; returns the final carried values.

    Parameters that the body writes are carried too. Raises TraceError GC123 when a carried value changes its structure,
    ShapeError GC123 when it changes its type.
    """
    leaves, structure = flatten(carried)
    # A first look at the body tells which parameters and tensors it writes, so that both subgraphs can carry them.
    probe, _, _ = _trace_loop(recorder, "probe", body, leaves, structure, [], [])
    written = [probe.known[k] for k in probe.known if k in probe.written]
    objects = [x for x, _ in probe.overwritten.values()]
    loop, results, result_structure = _trace_loop(recorder, "body", body, leaves, structure, written, objects)
    if not same_structure(result_structure, structure):
        raise TraceError(
            "the values that a while loop carries change their structure",
            code="GC123",
            loc=user_loc(),
            details=[f"before a turn: {_words(structure)}", f"after it:      {_words(result_structure)}"],
            help="give every name that the loop changes a tensor of its final kind before the loop",
        )
    check, flags, _ = _trace_loop(recorder, "cond", test, leaves, structure, written, objects)
    finals = [(str(i), loop.final(x)) for i, x in enumerate(results)]
    finals += [(p.name, loop.read(p)) for p in written]
    loop.graph.set_results(finals + [("", loop.final(x)) for x in objects])
    check.graph.set_results([("more", check.resolve(flags[0]))])
    initial = [recorder.resolve(x) for x in leaves] + [recorder.read(p) for p in written]
    initial += [recorder.resolve(x) for x in objects]
    captures = _align_loop(loop, check, len(initial))
    for sub in (loop, check):
        sub.prune()
    node = recorder.graph.add(
        "While",
        [*initial, *captures],
        {"carried": len(initial), "cond": check.graph, "body": loop.graph},
        scope=recorder.scopes[-1],
        loc=recorder.line(user_loc()),
        region=recorder.regions[-1],
    )
    outputs = [recorder.wrap(v, k < len(leaves) and leaves[k].is_number) for k, v in enumerate(node.outputs)]
    for p, new in zip(written, outputs[len(leaves) :], strict=False):
        recorder.write(p, new.handle[1])
    for x, new in zip(objects, outputs[len(leaves) + len(written) :], strict=True):
        recorder.overwrite(x, new)
    final: tuple[Any, ...] = unflatten(structure, outputs[: len(leaves)])
    return final


def _trace_loop(
    recorder: GraphRecorder,
    name: str,
    fn: Callable[..., Any],
    leaves: list[Tensor],
    structure: Structure,
    written: list[Parameter],
    objects: list[TracedTensor],
) -> Branch:
    """Trace one part of a loop with Input nodes for the carried tensors, parameters and overwritten tensors, in this order."""
    inner = recorder.branch(name)
    symbols = [inner.carry(x) for x in leaves]
    for p in written:
        inner.carry_parameter(p)
    for x in objects:
        inner.overwrite(x, inner.carry(x))
    with one_way(), inner.active(), inner.ending():
        made, made_structure = flatten(fn(*unflatten(structure, symbols)))
        if name == "cond":
            made = [F.reshape(F.cast(x, "bool"), ()) for x in made]
    return inner, made, made_structure


def _align_loop(loop: GraphRecorder, check: GraphRecorder, carried: int) -> list[Value]:
    """Give body and condition the same captures after the carried values."""
    union = list(dict.fromkeys([*loop.captures, *check.captures]))
    for sub in (loop, check):
        assert sub.parent is not None
        own = sub.graph.inputs[:carried]
        for outer in union:
            sub.capture(sub.parent, outer)
        sub.graph.inputs = (*own, *(sub.captures[outer].node for outer in union))
    return union


def trace_branch(recorder: GraphRecorder, name: str, fn: Callable[[], Any]) -> Branch:
    """Trace fn() into a subgraph."""
    branch = recorder.branch(name)
    with one_way(), branch.active(), branch.ending():
        leaves, structure = flatten(fn())
    return branch, leaves, structure


def _align_captures(first: GraphRecorder, second: GraphRecorder) -> list[Value]:
    """Give both branches the same signature: the union of what they capture, in one order."""
    union = list(dict.fromkeys([*first.captures, *second.captures]))
    for branch in (first, second):
        assert branch.parent is not None
        for outer in union:
            branch.capture(branch.parent, outer)
        branch.graph.inputs = tuple(branch.captures[outer].node for outer in union)
    return union


def _words(structure: Structure) -> str:
    if isinstance(structure, Leaf):
        return "a tensor"
    if isinstance(structure, Fixed):
        return repr(structure.value)
    if structure.kind == "sparse":
        return a_sparse(structure)
    return f"{structure.kind} of {len(structure.items)} ({', '.join(map(_words, structure.items))})"
