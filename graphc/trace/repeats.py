"""Runs of ops that differ in their operands alone, as the updates of parameters of one type: traced once, then copied.

The nodes are those that tracing once more would give, with the same ids. What would not be the same is traced: another type of an
operand, one that is here already where the first was not, operands that coincide, calls of Cells, subgraphs.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from graphc.ir import Node, Value
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor, TracedTensor

if TYPE_CHECKING:
    from graphc.trace.recorder import GraphRecorder

#: What a run did to a state: which of its tensors is the parameter, the version, whether it was written.
Touch = tuple[int, Value, bool]


@dataclass(frozen=True, slots=True)
class Run:
    """What was recorded once.

    values    what each tensor was; None for one that was not read
    steps     the nodes, in order; in place of one that brings a tensor into the graph the tensor's number
    """

    values: tuple[Value | None, ...]
    steps: tuple[Node | int, ...]
    touched: tuple[Touch, ...]
    result: Value
    is_number: bool


def repeat(
    recorder: GraphRecorder,
    runs: dict[Hashable, Run | None],
    key: Hashable,
    function: Callable[[], Tensor],
    tensors: Sequence[Tensor],
) -> Tensor:
    """function(), from a run of the same pattern among `runs` if there is one."""
    counting = recorder.root.counting
    # Nobody compares this trace with others, nor looks for nodes in it.
    alone = not (recorder.compared or recorder.counts or (counting is not None and counting.finds))
    if recorder.immediate or not alone or not all([type(x) in (Parameter, TracedTensor) for x in tensors]):
        return function()
    found = [_found(recorder, x) for x in tensors]
    who = [value or id(x) for x, (_, value) in zip(tensors, found, strict=True)]
    kinds = [
        (type(x), x.is_number, x.tensor_type, away, who.index(name))
        for x, (away, _), name in zip(tensors, found, who, strict=True)
    ]
    pattern, values = (key, *kinds), [value for _, value in found]
    if pattern not in runs:
        made, runs[pattern] = _recorded(recorder, function, tensors, values)
        return made
    run = runs[pattern]
    return function() if run is None else _copied(recorder, run, tensors, values)


def _found(recorder: GraphRecorder, x: Any) -> tuple[int, Value | None]:
    """From how many graphs outwards a tensor must be fetched, and its value if it is in this one."""
    parent = recorder.parent
    if isinstance(x, Parameter):
        if id(x) in recorder.state:
            return 0, recorder.state[id(x)]
        return (1 if parent is None else 1 + _found(parent, x)[0]), None
    if x.handle[0] is recorder:
        return 0, x.handle[1]
    if parent is None:
        return 1, None  # It is none of this trace's: using it is an error.
    away, outer = _found(parent, x)
    here = recorder.captures.get(outer) if outer is not None else None
    return (0, here) if here is not None else (1 + away, None)


def _recorded(
    recorder: GraphRecorder, function: Callable[[], Tensor], tensors: Sequence[Tensor], values: list[Value | None]
) -> tuple[Tensor, Run | None]:
    """The result of a function, and what it recorded; None if that cannot be copied."""
    graph, first, start = recorder.graph, recorder.graph.ids.next, len(recorder.touched)
    before = _effects(recorder)
    made = function()
    if _effects(recorder) != before or type(made) is not TracedTensor or made.handle[0] is not recorder:
        return made, None
    numbers = {id(x): k for k, x in enumerate(tensors)}
    touched: list[Touch] = []
    for key, version, written in recorder.touched[start:]:
        if key not in numbers:
            return made, None
        touched.append((numbers[key], version, written))
        if values[numbers[key]] is None:
            values[numbers[key]] = version
    values = [
        v if v is not None or isinstance(x, Parameter) else _found(recorder, x)[1]
        for x, v in zip(tensors, values, strict=True)
    ]
    steps: list[Node | int] = []
    for node in [graph.node(id) for id in range(first, graph.ids.next) if id in graph]:
        if node.op.name in ("Param", "Input"):
            if node.outputs[0] not in values:
                return made, None
            steps.append(values.index(node.outputs[0]))
        elif node.op.name == "Constant" and node.type.size == 1:
            pass  # The same number is the same node from now on.
        elif node.op.name == "Constant" or node.graphs():
            return made, None
        else:
            steps.append(node)
    return made, Run(tuple(values), tuple(steps), tuple(touched), made.handle[1], made.is_number)


def _effects(recorder: GraphRecorder) -> tuple[int, ...]:
    """How much was done besides recording nodes and reading and writing parameters."""
    return len(recorder.calls), len(recorder.overwrites), len(recorder.root.requests)


def _copied(recorder: GraphRecorder, run: Run, tensors: Sequence[Tensor], values: list[Value | None]) -> Tensor:
    """What a run gives for other tensors."""
    graph, start = recorder.graph, len(recorder.touched)
    now: dict[Value | None, Value] = {
        old: new for old, new in zip(run.values, values, strict=True) if old is not None and new is not None
    }
    ids: dict[int, int] = {}
    for step in run.steps:
        if isinstance(step, int):
            now[run.values[step]] = recorder.resolve(tensors[step])
            continue
        made = graph.repeat(step, [now.get(v, v) for v in step.inputs], [ids.get(id, id) for id in step.after])
        ids[step.id] = made.id
        for old, new in zip(step.outputs, made.outputs, strict=True):
            now[old] = new
    del recorder.touched[start:]
    for number, version, written in run.touched:
        x, value = tensors[number], now[version]
        if written and isinstance(x, Parameter):
            recorder.write(x, value)
        else:
            recorder.touched.append((id(x), value, False))
    return recorder.wrap(now[run.result], run.is_number)
