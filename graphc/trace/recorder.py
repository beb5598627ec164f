"""The recorder: turns the op calls of a running `construct` into nodes of a graph. What calls of cells, control flow and
gradients mean is the tracer's, which stands on it.

State is SSA. Each Parameter is mapped to its current Value: a read resolves when the value is used, `assign` and the results
of `cond` replace it. Every Cell call leaves a record of its arguments, its results and the versions of the states it touched,
so that a gradient asked for later reuses that forward instead of tracing it again.
"""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

from graphc import dispatch
from graphc.errors import GraphcError, Loc, Places, TraceError, user_loc
from graphc.ir import Data, Graph, Ids, Node, Region, TensorType, Value, get_op
from graphc.nn.cell.cell import Cell
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.row_tensor import RowTensor
from graphc.ops.tensor.tensor import Tensor, TracedTensor, require_array
from graphc.ops.tensor.tree import flatten, map_leaves
from graphc.processes import StageCut
from graphc.trace.dynamic.counted_places import Counting
from graphc.trace.dynamic.size_numbers import plain
from graphc.trace.function_transforms.untrained import Request
from graphc.trace.mutation.attributes import Attributes
from graphc.trace.standins import DeferredDepend, Joined


@dataclass(slots=True)
class CallRecord:
    """One call made while tracing: what went in, what came out, and the versions of the states it touched."""

    fn: Callable[..., Any]
    arguments: tuple[Any, ...]
    result: Any = None
    entry: dict[int, Value] = field(default_factory=dict)
    exit: dict[int, Value] = field(default_factory=dict)
    #: By id, what tensors among the arguments were before the call, which may have written into them.
    found: dict[int, Value] = field(default_factory=dict)


#: The versions of parameters at one time, which were written by then, and how many accesses, calls and overwritten tensors
#: there were.
Mark = tuple[dict[int, Value], set[int], int, int, int]


class GraphRecorder(dispatch.Recorder):
    """The part of `graphc.dispatch.Recorder` that records, for one graph; branches of `cond` get recorders of their own."""

    immediate = False
    calls_again = False
    #: Whether the call in PYNATIVE_MODE that this traced has returned.
    over = False

    def __init__(self, name: str, parent: GraphRecorder | None = None) -> None:
        self.parent = parent
        #: Of a branch: the recorder of the whole graph.
        self._root: GraphRecorder | None = parent.root if parent else None
        self.in_scan: bool = parent is not None and parent.in_scan
        #: Whether what is printed looks as in PYNATIVE_MODE.
        self.plain: bool = parent is not None and parent.plain
        self.graph: Graph = Graph(name, parent.graph.ids if parent else Ids())
        self.params: dict[int, Parameter] = {}  # by Param node id, root only
        self.named: set[str] = set()  # what the graph calls them
        self.places: dict[int, int] = {}  # by Input nodes, which of the arguments' tensors they are
        self.state: dict[int, Value] = {}  # current version by id(parameter)
        self.known: dict[int, Parameter] = {}  # keeps parameters alive while their id() is a key
        self.written: set[int] = set()
        self.captures: dict[Value, Value] = {}  # value of the parent -> Input here
        self.touched: list[tuple[int, Value, bool]] = []  # (parameter, version, written), in order
        self.calls: list[CallRecord] = []
        self.requests: list[Request] = []  # gradients for parameters, root only
        self.scopes: list[str] = [parent.scopes[-1] if parent else ""]
        self.regions: list[Region] = [parent.regions[-1] if parent else "forward"]
        #: Tensors that were written in place, in order, with what they stood for before.
        self.overwrites: list[tuple[TracedTensor, Any, Any]] = []
        #: By id, tensors of the graph around this one that were overwritten here, and what they are at its end.
        self.overwritten: dict[int, tuple[TracedTensor, Value]] = {}
        #: Of the outermost one: what is counted, if it can be.
        self.counting: Counting | None = None
        self.counted: list[Node] = []  # The nodes of this graph that count.
        self.number = -1  # Of one of a branch, where something is counted: which it is.
        if parent is not None and parent.root.counting is not None:
            self.number = parent.root.counting.enter(self)
        #: Of the outermost one: whether equal numbers are constants of their own, of which each may depend on a size.
        self.apart = False
        #: Of a gradient that a user writes: what the last print there has left.
        self.printed: list[TracedTensor] | None = None
        #: Of the outermost one: what branches raise when the step runs.
        self.raised: list[Exception] = []
        #: Of the outermost one: the arguments of the whole graph.
        self.given: Any = ()
        #: The attributes of Cells that may be set; None: that is refused.
        self.attributes: Attributes | None = parent.attributes if parent else None
        self.row_reads: set[Value] = set()  # rows read from tables whose gradients may be RowTensors
        self._places: Places = parent._places if parent else {}
        self._constants: dict[Any, tuple[Value, Any]] = {}

    @property
    def counts(self) -> bool:
        """Whether the graph counts something, so that sizes may depend on it."""
        counting = self.root.counting
        return counting is not None and bool(counting.nodes)

    @property
    def knows_sizes(self) -> bool:
        """Whether sizes that are counted are told to users' functions."""
        counting = self.root.counting
        return counting is not None and counting.sure

    def shape_of(self, x: Tensor) -> tuple[int, ...]:
        """The shape of a tensor as users see it: sizes that are counted know it."""
        counting = self.root.counting
        return counting.shape(x) if counting is not None and type(x) is TracedTensor else x.shape

    @property
    def compared(self) -> bool:
        """Whether the traces for several sizes are compared, so that nothing may be chosen by a size."""
        return self.root.apart

    @property
    def root(self) -> GraphRecorder:
        """The recorder of the whole graph, of which this one may record a branch."""
        return self._root or self

    @abstractmethod
    def branch(self, name: str) -> GraphRecorder:
        """A recorder for a subgraph of this graph."""

    @contextmanager
    def active(self) -> Iterator[Self]:
        """Calls of ops made inside are recorded here."""
        token = dispatch.recorder.set(self)
        try:
            yield self
        except Exception as error:
            if self.root.counting is not None:
                self.root.counting.fail(self, error)
            raise
        finally:
            dispatch.recorder.reset(token)

    def prune(self) -> None:
        """Remove what no result of a subgraph depends on; what is counted may have been made a number of."""
        self.graph.prune(n.id for n in self.counted)

    # ---- nodes

    def line(self, executed: Loc | None) -> Loc | None:
        """The user's line that a node has, from the one that is executed."""
        return executed

    def record(
        self, op: str, operands: Sequence[Tensor], attrs: dict[str, Any], after: Any = ()
    ) -> tuple[TracedTensor, ...]:
        """Add a node for an op call of the user's."""
        node = self.add_node(op, operands, attrs, after)
        numbers = bool(operands) and all([x.is_number for x in operands])
        return tuple([self.wrap(v, numbers) for v in node.outputs])

    def add_node(self, op: str, operands: Sequence[Tensor], attrs: dict[str, Any], after: Any = ()) -> Node:
        """The node alone; an error names the operands as the user knows them."""
        executed = user_loc(sys._getframe(1), self._places)
        loc = self.line(executed)
        if self.root.counting is not None:
            attrs = {name: plain(value) for name, value in attrs.items()}

        def add(types: tuple[TensorType, ...] | None = None) -> Node:
            return self.graph.add(
                op,
                values,
                attrs,
                after=self.producers(after),
                types=types,
                trusted=types is not None,
                scope=self.scopes[-1],
                loc=loc,
                region=self.regions[-1],
            )

        try:
            values = [
                x.handle[1] if type(x) is TracedTensor and x.handle[0] is self else self.resolve(x) for x in operands
            ]
            node = add()
            if self.root.counting is not None:
                self.root.counting.note(node)
            return node
        except GraphcError as error:
            if error.loc is loc:
                error.loc = executed
            self._explain(error, op, operands)
            counting = self.root.counting
            wanted = counting.wanted(self.graph.ids.next, op) if counting is not None else None
            if counting is None or wanted is None or not counting.forgives(self, error):
                raise
            return add(wanted)

    def _explain(self, error: GraphcError, op: str, operands: Sequence[Tensor]) -> None:
        """Name the operands of a failed op as the user knows them."""
        *names, last = get_op(op).operands or ("",)
        names += [f"{last[1:]}[{i}]" for i in range(len(operands))] if last.startswith("*") else [last]
        lines = [f"in {self.scopes[-1]}"] if self.scopes[-1] else []
        lines += [f"{name}: {x.tensor_type}  {self._describe(x)}" for name, x in zip(names, operands[:4], strict=False)]
        error.details = (*error.details, *lines)

    def _describe(self, x: Tensor) -> str:
        if isinstance(x, (Parameter, DeferredDepend)):
            return f"Parameter {(x if isinstance(x, Parameter) else x.parameter).name!r}"
        if isinstance(x, TracedTensor):
            recorder, value = x.handle
            if value.node not in recorder.graph:
                return f"made inside `{recorder.graph.name}`"  # Nobody needed it there: it is gone.
            node = recorder.graph.node(value.node)
            while node.op.name == "InBounds":  # A check of what it lets through.
                node = recorder.graph.node(node.inputs[0].node)
            if node.op.name == "Input":
                return f"input {node.name!r}" if node.name else "carried by a loop"
            where = f" at {node.loc}" if node.loc else ""
            return f"made by {node.op.name}{where}{' in ' + node.scope if node.scope else ''}"
        return "a constant"

    def wrap(self, value: Value, is_number: bool = False) -> TracedTensor:
        traced = TracedTensor(self.graph.type(value), (self, value))
        if is_number:
            traced.is_number = True
        return traced

    def resolve(self, x: Tensor) -> Value:
        """The Value of this graph that a tensor stands for."""
        if isinstance(x, Parameter):
            return self.read(x)
        if isinstance(x, DeferredDepend):
            return self._resolve_deferred(x)
        if isinstance(x, Joined):
            raise x.error()
        if isinstance(x, RowTensor):
            return self.resolve(x.dense())
        if isinstance(x, TracedTensor):
            recorder, value = x.handle
            if recorder.root.over and x.array is not None:
                return self.constant(Tensor.wrap(x.array))  # Of PYNATIVE_MODE, kept: a value, and without its graph.
            return self.capture(recorder, value)
        return self.constant(x)

    def capture(self, recorder: GraphRecorder, value: Value) -> Value:
        """A value of this graph or, through Input nodes, of a graph around it."""
        if recorder is self:
            return value
        if self.parent is None:
            raise TraceError(
                "a traced tensor is used outside the trace that made it",
                code="GC132",
                loc=user_loc(),
                help="return it from construct, or assign it to a Parameter",
            )
        outer = self.parent.capture(recorder, value)
        if outer not in self.captures:
            source = self.parent.graph.node(outer.node)
            node = self.graph.add("Input", types=(self.parent.graph.type(outer),), name=source.name, region="state")
            self.captures[outer] = node.outputs[0]
        return self.captures[outer]

    def carry(self, x: Tensor) -> TracedTensor:
        """A value that a loop carries, as it is at the beginning of a turn."""
        node = self.graph.add("Input", types=(x.tensor_type,), region="state")
        return self.wrap(node.outputs[0], x.is_number)

    def carry_parameter(self, p: Parameter) -> None:
        """The version of a parameter at the beginning of a turn of a loop that writes it."""
        node = self.graph.add("Input", types=(p.tensor_type,), name=p.name, region="state")
        self.known[id(p)] = p
        self.state[id(p)] = node.outputs[0]

    def constant(self, x: Tensor) -> Value:
        """A tensor that is known now. The same tensor, and equal single numbers, become one node."""
        array = require_array(x)
        type = x.tensor_type
        key = (type, array.tobytes()) if array.size == 1 and not self.root.apart else id(x)
        if key not in self._constants:
            node = self.graph.add(
                "Constant",
                attrs={"value": Data(array, type=type)},
                types=(type,),
                scope=self.scopes[-1],
                loc=self.line(user_loc(sys._getframe(1), self._places)),
                region=self.regions[-1],
            )
            self._constants[key] = (node.outputs[0], x)
        return self._constants[key][0]

    # ---- state

    def read(self, p: Parameter) -> Value:
        """The parameter's current version."""
        key = id(p)
        if key not in self.state:
            self.known[key] = p
            self.state[key] = self._entry(p) if self.parent is None else self.capture(self.parent, self.parent.read(p))
        value = self.state[key]
        self.touched.append((key, value, False))
        return value

    def _entry(self, p: Parameter) -> Value:
        # Two networks of one class in one function, and copies, have parameters of one name.
        name = p.name if p.name not in self.named else f"{p.name}.copy{len(self.params)}"
        self.named.add(name)
        stage = p.cut.stage if isinstance(p.cut, StageCut) else None
        node = self.graph.add(
            "Param",
            attrs={"trainable": p.requires_grad, "stage": stage},
            types=(p.tensor_type,),
            name=name,
            region="state",
        )
        self.params[node.id] = p
        return node.outputs[0]

    def write(self, p: Parameter, value: Value) -> None:
        """Make `value` the parameter's current version."""
        self.known[id(p)] = p
        self.state[id(p)] = value
        self.written.add(id(p))
        self.touched.append((id(p), value, True))

    def recalls(self, cell: Cell, name: str) -> bool:
        """Whether a Cell has an attribute that it seemed to lack, being one that construct sets."""
        return self.attributes is not None and self.attributes.recall(cell, name)

    def sets(self, cell: Cell, name: str, value: Any) -> bool:
        """Set an attribute of a Cell, at the end of each run, too; whether that can be."""
        if self.attributes is not None:
            self.attributes.set(cell, name, value)
        return self.attributes is not None

    def writes_constant(self, x: Tensor) -> None:
        """A tensor is about to be written that is none of this trace's."""
        if self.attributes is not None:
            self.attributes.write(x)

    def mark(self) -> Mark:
        """The state as it is now."""
        return dict(self.state), set(self.written), len(self.touched), len(self.calls), len(self.overwrites)

    def written_since(self, mark: Mark) -> bool:
        """Whether a parameter or tensor was written since then; printing and raising are such writes."""
        return len(self.overwrites) > mark[4] or any(written for _, _, written in self.touched[mark[2] :])

    def rewind(self, mark: Mark) -> None:
        """Forget what was written and called since then; nodes that nobody needs are pruned."""
        found = {id(p): self.graph.node(node).outputs[0] for node, p in self.params.items()}
        self.state, self.written = {**found, **mark[0]}, set(mark[1])
        del self.touched[mark[2] :], self.calls[mark[3] :]
        for x, handle, array in reversed(self.overwrites[mark[4] :]):
            x.handle, x._array = handle, array
        del self.overwrites[mark[4] :]

    # ---- tensors that are written in place

    def overwrite(self, x: TracedTensor, made: TracedTensor) -> None:
        """Let the object x stand for another tensor of its type, for all who hold it."""
        self.overwrites.append((x, x.handle, x.array))
        x.handle, x._array = made.handle, made.array

    @contextmanager
    def ending(self) -> Iterator[None]:
        """At the end of a subgraph: note what tensors of the graph around it are there, and let them be what they were."""
        yield
        first = {id(x): (x, handle, array) for x, handle, array in reversed(self.overwrites)}
        self.overwrites.clear()
        for x, handle, array in first.values():
            if handle[0] is not self:
                self.overwritten[id(x)] = (x, self.capture(*x.handle))
                x.handle, x._array = handle, array

    @contextmanager
    def unshared(self) -> Iterator[None]:
        """The same where such a change has no meaning. TraceError GC124."""
        with self.ending():
            yield
        for x, _ in self.overwritten.values():
            raise TraceError(
                f"a tensor {x.tensor_type} from outside is changed in place inside a function of ops.scan or vmap",
                code="GC124",
                loc=user_loc(),
                help="make a copy first, x = x + 0, and return it",
            )

    def final(self, x: Tensor) -> Value:
        """What a tensor is when the subgraph ends."""
        return self.overwritten[id(x)][1] if id(x) in self.overwritten else self.resolve(x)

    def assign(self, variable: Parameter, value: Tensor) -> Tensor:
        old = self.read(variable)
        (new,) = self.record("Assign", [self.wrap(old), value], {})
        self.write(variable, new.handle[1])
        return new

    # ---- order

    def producers(self, tree: Any) -> tuple[int, ...]:
        """The nodes that compute the traced tensors of a nest."""
        if isinstance(tree, tuple) and not tree:
            return ()
        ids: dict[int, None] = {}
        for leaf in flatten(tree)[0]:
            x = leaf.token if isinstance(leaf, Joined) else leaf
            if isinstance(x, (TracedTensor, Parameter, DeferredDepend)):
                value = self.resolve(x)
                if self.graph.node(value.node).op.name not in ("Param", "Constant"):
                    ids[value.node] = None
        return tuple(ids)

    def depend(self, value: Any, on: Any) -> Any:
        after = self.producers(on)
        if not after:
            return value

        def one(x: Tensor) -> Tensor:
            if isinstance(x, Parameter):
                return DeferredDepend(x, after)
            if isinstance(x, DeferredDepend):
                return DeferredDepend(x.parameter, tuple(dict.fromkeys((*x.after, *after))))
            return self._depend(self.resolve(x), after)

        return map_leaves(one, value)

    def depend_on(self, value: Tensor, after: tuple[int, ...]) -> Tensor:
        """value, but not before those of the given nodes that are in this graph: others come before the whole of it."""
        inside = tuple(i for i in after if i in self.graph)
        return self._depend(self.resolve(value), inside) if inside else value

    def _depend(self, value: Value, after: tuple[int, ...]) -> TracedTensor:
        node = self.graph.add(
            "Depend",
            [value],
            after=[i for i in after if i != value.node],
            scope=self.scopes[-1],
            loc=self.line(user_loc(sys._getframe(1), self._places)),
            region=self.regions[-1],
        )
        return self.wrap(node.outputs[0])

    def _resolve_deferred(self, x: DeferredDepend) -> Value:
        current = self.read(x.parameter)
        if any(i not in self.graph for i in x.after):
            return current  # Made around this branch, which already comes after those nodes.
        if current not in x.resolved:
            x.resolved[current] = self._depend(current, x.after).handle[1]
        return x.resolved[current]

    @contextmanager
    def region(self, name: Region) -> Iterator[None]:
        self.regions.append(name)
        try:
            yield
        finally:
            self.regions.pop()

    # ---- calls

    def recorded_call(
        self, fn: Callable[..., Any], run: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """run(*args, **kwargs), remembered as the call of fn that it is."""
        record = CallRecord(fn, self.argument_key((args, kwargs), fn))
        start = len(self.touched)
        record.result = run(*args, **kwargs)
        for key, version, written in self.touched[start:]:
            if written:
                record.exit[key] = version
            elif key not in record.entry:
                record.entry[key] = version
        self.calls.append(record)
        return record.result

    def touch_again(self, record: CallRecord) -> None:
        """Note that a call's record stands for a call now: one that encloses it touches the same states."""
        self.touched += [(key, version, False) for key, version in record.entry.items()]
        self.touched += [(key, version, True) for key, version in record.exit.items()]

    def argument_key(self, tree: Any, fn: Callable[..., Any]) -> tuple[Any, ...]:
        """What must be equal for two calls to compute the same: traced values, constants by identity, structure, mode."""
        leaves, structure = flatten(tree)
        parts: list[Any] = [self._leaf_key(x) for x in leaves]
        modes = tuple(c.training for _, c in fn.cells_and_names()) if isinstance(fn, Cell) else ()
        # The Python values of a structure need not be hashable; their repr tells 1 from 1.0 and True.
        return (*parts, repr(structure), modes)

    def _leaf_key(self, x: Tensor) -> Value | tuple[str, int | Value]:
        if isinstance(x, Parameter):
            return ("parameter", id(x))
        if isinstance(x, (TracedTensor, DeferredDepend, Joined)):
            return self.resolve(x)
        return ("constant", self.constant(x))
