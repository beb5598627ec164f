"""PYNATIVE_MODE: `construct` runs in plain Python, op by op on the NumPy reference, with values one can print and step through.

The tracer still writes the graph, so that gradients are the very ones of graph mode: a gradient is taken by the autodiff
pass over what has been recorded, and evaluated at once. A call that was already made is not made again for its gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from graphc import dispatch
from graphc.ir import Graph, Node, Value
from graphc.nn.cell.cell import Cell
from graphc.ops.declared import reference
from graphc.ops.declared.rules import Array
from graphc.ops.declared.transforms import REQUESTS
from graphc.ops.functional.index import write_now
from graphc.ops.primitives.float_status import StatusRegister
from graphc.ops.tensor.arrays import in_order
from graphc.ops.tensor.call import constants
from graphc.ops.tensor.inputs import as_inputs
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor, TracedTensor, require_array
from graphc.ops.tensor.tree import flatten, map_leaves, unflatten
from graphc.trace.eager_views import EagerTensor, EagerView
from graphc.trace.recorder import GraphRecorder
from graphc.trace.tracer import Tracer


class Step(Protocol):
    """What runs a call that is compiled: it returns what the function does, and writes parameters."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...


class Call(Protocol):
    """The same as a function of arrays, which has gradients: what it reads, in the order of its operands (None: the next
    tensor among the arguments), and which parameters it writes, their new values being its last results.
    """

    @property
    def function(self) -> Any: ...

    @property
    def reads(self) -> tuple[Parameter | None, ...]: ...

    @property
    def writes(self) -> tuple[Parameter, ...]: ...


#: Of a Cell and its arguments: how the call is compiled; None where it runs op by op.
Compiled = Callable[[Cell, tuple[Any, ...], dict[str, Any]], tuple[Step, Call] | None]


class EagerTracer(Tracer):
    """Records and evaluates. `expand` is the pass that replaces Grad, Jvp and Vmap nodes, `compiled` gives the step of a call
    that is compiled.
    """

    #: Effects on the outside, such as printing, happen when they are called.
    immediate = True

    def __init__(self, name: str, expand: Callable[[Graph], Graph], compiled: Compiled) -> None:
        super().__init__(name)
        self.expand = expand
        self.compiled = compiled
        self.cell_calls = None
        self.values: dict[Value, Array] = {}
        #: Tensors from outside that the call has written, by their identity, and what they stand for since.
        self._written: dict[int, tuple[Tensor, Value]] = {}

    def record(
        self, op: str, operands: Sequence[Tensor], attrs: dict[str, Any], after: Any = ()
    ) -> tuple[TracedTensor, ...]:
        node = self.add_node(op, operands, attrs, after)
        if op == "Vmap":
            arrays = self._alone(node)
        elif op in REQUESTS:
            arrays = self._gradients(node.outputs)
        else:
            inputs = [self.values[v] for v in node.inputs]
            if node.op.view and not inputs[0].flags.writeable:  # Elements that stand for several.
                inputs[0] = self.values[node.inputs[0]] = inputs[0].copy()
            arrays = reference.apply(node.op, node.types, inputs, node.attrs, exact=False)
            if node.op.view:
                return (self._viewed(node, operands[0], inputs[0], arrays[0]),)
        self.values.update(zip(node.outputs, map(in_order, arrays), strict=True))
        return tuple(self.wrap(v) for v in node.outputs)

    def _viewed(self, node: Node, of: Tensor, array: Array, made: Array) -> TracedTensor:
        """The result of an op that only rearranges: a view of its operand, unless that took a copy."""
        (value,) = node.outputs
        self.values[value] = made
        whole = EagerTensor(node.type, (self, value), made)
        shared = np.may_share_memory(made, array)
        return EagerView(whole, of, node.inputs[0], node.op.name, node.attrs) if shared else whole

    def _gradients(self, outputs: Sequence[Value]) -> list[Array]:
        graph = self.graph.copy()
        graph.set_results((str(v), v) for v in outputs)
        expanded = self.expand(graph)
        if "Call" in expanded.ops():
            expanded = _narrowed(expanded)
        feed = {i: self.values[Value(i)] for i in expanded.inputs}
        return reference.run(expanded, feed, exact=False, known=self.values).results

    def _alone(self, node: Node) -> list[Array]:
        """What a node makes of its operands, by the pass that replaces it."""
        graph = Graph(node.op.name, self.graph.ids)
        inputs = [graph.add("Input", types=(self.graph.type(v),)).outputs[0] for v in node.inputs]
        made = graph.add(node.op, inputs, node.attrs, loc=node.loc, scope=node.scope)
        graph.set_results((str(v), v) for v in made.outputs)
        expanded = self.expand(graph)
        feed = {new.node: self.values[v] for new, v in zip(inputs, node.inputs, strict=True)}
        return reference.run(expanded, feed, exact=False).results

    def wrap(self, value: Value, is_number: bool = False) -> EagerTensor:
        # Python's own numbers stay what they are; there is nothing to remember.
        return EagerTensor(self.graph.type(value), (self, value), self.values[value])

    def constant(self, x: Tensor) -> Value:
        if id(x) in self._written:
            return self._written[id(x)][1]
        value = super().constant(x)
        self.values.setdefault(value, require_array(x))
        return value

    def note_written(self, x: Tensor, made: TracedTensor) -> None:
        """x, a tensor from outside, is about to be written: what has been recorded of it keeps its elements, and x stands for
        `made` from here on. Its gradient ends with the call.
        """
        array = require_array(x)
        self.values.update({v: a.copy() for v, a in self.values.items() if np.may_share_memory(a, array)})
        # Others with this memory stand for what they hold from here on.
        others = {id(y): y for y, _ in self._written.values()} | {id(y): y for _, y in self._constants.values()}
        lost = {k for k, y in others.items() if np.may_share_memory(require_array(y), array)}
        self._written = {k: pair for k, pair in self._written.items() if k not in lost}
        self._constants = {k: pair for k, pair in self._constants.items() if id(pair[1]) not in lost}
        self._written[id(x)] = x, self.resolve(made)

    def input(self, name: str, x: Tensor) -> TracedTensor:
        """An argument of the call."""
        node = self.graph.add("Input", types=(x.tensor_type,), name=name)
        self.values[node.outputs[0]] = require_array(x)
        return self.wrap(node.outputs[0])

    def _entry(self, p: Parameter) -> Value:
        value = super()._entry(p)
        self.values[value] = p.storage.copy()
        return value

    def write(self, p: Parameter, value: Value) -> None:
        super().write(p, value)
        p.set_data(Tensor.wrap(self.values[value]))

    def prepared(self, fn: Callable[..., Any], given: tuple[Any, ...] = ()) -> Callable[..., Any]:
        return fn

    # ---- what is compiled

    def call_cell(self, cell: Cell, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if not cell.always_compiles:
            return super().call_cell(cell, args, kwargs)

        def run(*args: Any, **kwargs: Any) -> Any:
            made = self._compiled(cell, args, kwargs)
            return super(EagerTracer, self).call_cell(cell, args, kwargs) if made is None else made[0]

        return self.recorded_call(cell, run, args, kwargs)

    def call_function(
        self, fn: Callable[..., Any], cell: Callable[[], Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        own, rest = cell()
        made = self._compiled(own, rest, kwargs)
        return super().call_function(fn, cell, args, kwargs) if made is None else made[0]

    def _compiled(self, cell: Cell, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any] | None:
        """What a compiled call returns, in one node for all of it. None where it cannot be compiled."""
        args, kwargs = as_inputs((args, kwargs))
        given, structure = flatten((args, kwargs))
        traced = [x if isinstance(x, Parameter) else self.wrap(self.resolve(x), x.is_number) for x in given]
        known = [x if isinstance(x, Parameter) else _known(x) for x in traced]
        outer, inner = unflatten(structure, known)
        token, constant = dispatch.recorder.set(None), dispatch.detached.set(False)
        try:
            found = self.compiled(cell, outer, inner)
            if found is None:
                return None
            step, call = found
            rest = iter(x for x in traced if not isinstance(x, Parameter))
            operands = [next(rest) if p is None else self.wrap(self.read(p)) for p in call.reads]
            made = step(*outer, **inner)
        finally:
            dispatch.recorder.reset(token)
            dispatch.detached.reset(constant)
        node = self.add_node("Call", operands, {"function": call.function})
        results, structure = flatten(made)
        arrays = [require_array(x) for x in results] + [p.storage.copy() for p in call.writes]
        self.values.update(zip(node.outputs, arrays, strict=True))
        for p, value in zip(call.writes, node.outputs[len(results) :], strict=True):
            GraphRecorder.write(self, p, value)  # It has been written.
        outputs: tuple[Tensor, ...] = tuple(self.wrap(v) for v in node.outputs[: len(results)])
        return (unflatten(structure, constants(self, outputs) if dispatch.detached.get() else outputs),)

    # Python's own order and control flow are those of the program.

    def depend(self, value: Any, on: Any) -> Any:
        """The value, in which only the graph remembers what it waits for: a float status is read by that."""
        after = self.producers(on)

        def one(x: Tensor) -> Tensor:
            if isinstance(x, StatusRegister):
                x.after = (*x.after, *after)
            if isinstance(x, Parameter):
                return x
            value = self.resolve(x)
            return EagerView(self._depend(value, after), x, value, "Depend", {})

        return map_leaves(one, value) if after else value

    def _depend(self, value: Value, after: tuple[int, ...]) -> EagerTensor:
        node = self.graph.add("Depend", [value], after=[i for i in after if i != value.node])
        self.values[node.outputs[0]] = self.values[value]
        return self.wrap(node.outputs[0])

    def while_loop(
        self, test: Callable[..., Any], body: Callable[..., Any], carried: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        while bool(test(*carried)):
            carried = body(*carried)
        return carried

    def scan(
        self, turn: Callable[[Any, Any], Any], carried: Any, rows: Any, turns: int, reverse: bool
    ) -> tuple[Any, Any] | None:
        return None


def _known(x: Tensor) -> Tensor:
    made = Tensor.wrap(require_array(x))
    made.is_number = x.is_number
    return made


def _narrowed(graph: Graph) -> Graph:
    """The graph with compiled calls that make those results only which somebody uses."""
    graph = graph.copy()
    ends = {r.value for r in graph.results}
    for node in reversed([n for n in graph if n.op.name == "Call"]):
        used = ends | {v for user in graph.users(node.id) for v in graph.node(user).inputs}
        wanted = tuple(k for k, v in enumerate(node.outputs) if v in used)
        graph.set_node(node.id, attrs={**node.attrs, "wanted": wanted})
    return graph


def run(
    cell: Cell,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    callers: Any,
    expand: Callable[[Graph], Graph],
    compiled: Compiled,
) -> Any:
    """Run a cell in plain Python; returns its results as Tensors. What is written to one of the `callers` tensors, it holds."""
    tracer = EagerTracer(type(cell).__name__, expand, compiled)

    given: list[tuple[Tensor, TracedTensor, Array]] = []

    def known(x: Tensor) -> Any:
        # A number marked by `mutable` is what it is here: a number.
        if isinstance(x, Parameter) or x.is_number:
            return x if isinstance(x, Parameter) else x.item()
        made = tracer.input("", x)
        given.append((x, made, require_array(made)))
        return made

    args, kwargs = map_leaves(known, (args, kwargs))
    try:
        with tracer.active():
            outputs = tracer.run(cell, args, kwargs)
    finally:
        written = [(x, made.array) for x, made, array in given if made.array is not array]
        theirs = {id(x) for x in flatten(callers)[0]} if written else ()
        for x, elements in written:
            if id(x) in theirs:  # Else an array, which is only read.
                write_now(x, elements)
        tracer.over = True
        tracer.values.clear()  # A tensor that is kept somewhere keeps its own contents, not those of the whole call.
    tracer.names.clear()
    return map_leaves(lambda x: Tensor(x.array) if x.array is not None else x, outputs)
