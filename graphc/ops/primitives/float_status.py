"""Float status as older training scripts ask for it: primitives that allocate, clear and read a status register.

On an NPU the register collects every overflow between clearing and reading. Here reading tests what the status was made to
`depend` on: in `status = F.depend(status, gradients); NPUGetFloatStatus()(status)` the gradients. A status that depends on
nothing means the order of the program, as in scripts of MindSpore 1.0: between the statements `clear_status(status)` and
`get_status(status)` stands what is tested.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import networkx as nx
import numpy as np

from graphc import dispatch
from graphc.errors import TraceError, user_loc
from graphc.ir import Graph, Node, Value
from graphc.ops import functional as F
from graphc.ops.primitives import Primitive
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.row_tensor import tested
from graphc.ops.tensor.tensor import Tensor


class StatusRegister(Parameter):
    """A status that is written in place while a Cell is traced; no parameter of any step."""

    def __init__(self) -> None:
        super().__init__(np.zeros(8, np.float32), name="float_status", requires_grad=False)
        #: The nodes that it was made to depend on, where it is not wrapped for that.
        self.after: tuple[int, ...] = ()

    __hash__ = Parameter.__hash__


class NPUAllocFloatStatus(Primitive):
    """A status, float32[8], zero while nothing has overflowed: a reference, which NPUGetFloatStatus writes."""

    def __call__(self) -> Tensor:
        status = StatusRegister()
        active: Any = dispatch.recorder.get()
        if active is not None:
            # A state of this trace, not of the step.
            active.write(status, active.resolve(F.zeros(8)))
        return status


class NPUClearFloatStatus(Primitive):
    """Clear the status: what is computed after the result (float32[8], zeros) is what NPUGetFloatStatus checks."""

    def __call__(self, status: Tensor) -> Tensor:
        cleared = F.cast(F.clear_float_status(after=status), "float32")
        _store(status, cleared)
        return cleared


class NPUGetFloatStatus(Primitive):
    """Write into the status, and return, ones (float32[8]) if anything it depends on since the clearing is not finite."""

    def __call__(self, status: Tensor) -> Tensor:
        flags = F.broadcast_to(F.cast(read_status(status), "float32"), (8,))
        _store(status, flags)
        return flags


class NPUClearFloatStatusV2(Primitive):
    """As NPUClearFloatStatus, for a status that is an int32[8] tensor of zeros. Returns one."""

    def __call__(self, status: Tensor) -> Tensor:
        return F.clear_float_status(after=status)


class NPUGetFloatStatusV2(Primitive):
    """Ones (int32[8]) if anything the status depends on since the clearing is not finite, else zeros. Writes nothing."""

    def __call__(self, status: Tensor) -> Tensor:
        return F.broadcast_to(F.cast(read_status(status), "int32"), (8,))


class FloatStatus(Primitive):
    """1.0 if any element of x is infinite or NaN, else 0.0; float32[1]."""

    def __call__(self, x: Tensor) -> Tensor:
        return F.reshape(F.cast(F.logical_not(F.all_finite((x,))), "float32"), (1,))


def read_status(status: Any, outputs: Sequence[Tensor] = ()) -> Tensor:
    """bool: anything in `outputs`, or that the status depends on since it was cleared, is infinite or NaN.

    status: what a clearing or allocating function returned, or any tensor, behind any number of `depend`; without a tensor
    (older scripts have False) only the outputs are tested. So it is outside a trace, where `depend` leaves nothing to find.
    So it is, too, where the status is a constant and nothing is ever cleared: what is given is all there is to test.
    Where neither outputs nor dependences say what to test it is what has been computed since the clearing.
    Raises TraceError GC161 if nothing has cleared the status, if nothing has been computed since, and outside a trace without
    outputs; VerifyError GC161 for outputs computed before the clearing.
    """
    active: Any = dispatch.recorder.get()
    if active is None or not isinstance(status, Tensor):
        if not outputs:
            raise _nothing_tested("outside a compiled Cell nothing is known of what was computed before")
        return F.logical_not(F.all_finite(tuple(outputs)))
    node = _source(active, status)
    if node.op.name == "Constant" and outputs and not _clears(active):
        return F.logical_not(F.all_finite(tuple(outputs)))
    cleared = node if node.op.name == "ClearFloatStatus" else _last_clear(active)
    # Where each op runs at once the order of the ids is that of the program.
    after = set(active.graph.nx) if active.immediate else nx.descendants(active.graph.nx, cleared.id)
    waited = [v for v in _depends_on(active, status) if v.node in after and v.node > cleared.id]
    given = [active.resolve(tested(x)) for x in outputs]
    if not given and not waited:
        waited = _since(active, cleared)
        if not waited:
            raise _nothing_tested("nothing has been computed since it was cleared")
    values = [active.wrap(v) for v in dict.fromkeys([*given, *waited])]
    return F.get_float_status(active.wrap(cleared.outputs[0]), values)


def _nothing_tested(why: str) -> TraceError:
    return TraceError(
        f"the float status is read, but there is nothing that it could tell of: {why}",
        code="GC161",
        loc=user_loc(),
        help="read it after the gradients, as get_status(F.depend(status, gradients)); ops.all_finite tests tensors as they are",
    )


def _since(active: Any, cleared: Node) -> list[Value]:
    """The float values computed since the clearing, in the order of the program, that are the last of their kind: nothing is
    computed from them. What they are computed from is ordered after the clearing, as the statements are.
    """
    graph: Graph = active.graph
    later = sorted((n for n in graph.nodes() if n.id > cleared.id), key=lambda n: n.id)
    status = {cleared.id}  # What is computed from the cleared status itself tells nothing.
    for n in later:
        if any(v.node in status for v in n.inputs):
            status.add(n.id)
    made = [n for n in later if n.inputs and n.id not in status]
    used = {v for n in made for v in n.inputs}
    found = [v for n in made for v in n.outputs if graph.type(v).is_float and v not in used]
    if not active.immediate:
        _order_after(active, cleared, made)
    return found


def _order_after(active: Any, cleared: Node, nodes: Sequence[Node]) -> None:
    """Let nodes that do not come after the clearing wait for it, by an operand that does."""
    graph: Graph = active.graph
    after = nx.descendants(graph.nx, cleared.id)
    for node in nodes:
        if node.id not in after and not any(p in after for p in node.predecessors()):
            place = (
                node.attrs["ys"] if node.op.name in ("Grad", "Jvp") else 0
            )  # Of a gradient its sens, of a tangent that of an input: the forward may be older.
            inputs = list(node.inputs)
            inputs[place] = active.resolve(active.depend_on(active.wrap(inputs[place]), (cleared.id,)))
            graph.set_node(node.id, inputs=inputs)
        after.add(node.id)


def _source(active: Any, status: Tensor) -> Node:
    """The node that made a status, behind Depend."""
    node: Node = active.graph.node(active.resolve(status).node)
    while node.op.name == "Depend":
        node = active.graph.node(node.inputs[0].node)
    return node


def _clears(active: Any) -> list[Node]:
    nodes = (n["node"] for _, n in active.graph.nx.nodes(data=True))
    return [n for n in nodes if n.op.name == "ClearFloatStatus"]


def _last_clear(active: Any) -> Node:
    found = _clears(active)
    if not found:
        raise TraceError(
            "the float status is read, but nothing has cleared it",
            code="GC161",
            loc=user_loc(),
            help="call start_overflow_check, or NPUClearFloatStatus, before what is to be checked",
        )
    latest: Node = max(found, key=lambda n: int(n.id))
    return latest


def _depends_on(active: Any, status: Any) -> list[Value]:
    """The float results of the nodes that a status was made to wait for."""
    after = list(getattr(status, "after", ()))
    if isinstance(status, Tensor) and not isinstance(status, Parameter) and not after:
        value = active.resolve(status)
        node = active.graph.node(value.node)
        while node.op.name == "Depend":
            after += node.after
            node = active.graph.node(node.inputs[0].node)
    found = [v for i in after if i in active.graph for v in active.graph.node(i).outputs]
    return list(dict.fromkeys(v for v in found if active.graph.type(v).is_float))


def _store(status: Any, value: Tensor) -> None:
    """Write a status that is a reference; a plain tensor has nothing to write."""
    target = getattr(status, "parameter", status)
    active: Any = dispatch.recorder.get()
    if isinstance(target, Parameter) and active is not None:
        active.write(target, active.resolve(value))
    elif isinstance(target, Parameter):
        target.set_data(value)
