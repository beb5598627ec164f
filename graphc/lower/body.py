"""Lowers one graph body, the step's or a branch's, to statements.

Values get storage: inputs and parameters their own, aliases that of their operand, everything else a buffer of the arena. The
final version of a parameter is made right in the parameter's memory when nobody reads the old version any more; else it is
made elsewhere and copied at the end. On the way not taken by an If nothing is written: what a branch returns unchanged is
already where it belongs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from graphc.errors import LoweringError
from graphc.ir import Graph, Node, TensorType, Value
from graphc.ir.lowering import Operand
from graphc.ir.op import Alias, Kernel, Lowering
from graphc.lower.buffers import Buffers, Constants, Held
from graphc.lower.calls import Calls, LoopBuilder, kernel_node, note_of, walk
from graphc.lower.fuse import Group, Step, fuse, uniform_values
from graphc.lower.recompute import recompute
from graphc.lower.scans import lower_scan
from graphc.lower.statements import row_major
from graphc.lower.views import Views
from graphc_codegen.program import Call, If, Stmt, While


class _Sources(dict[Value, Value]):
    """Values by what is made of them, found when they are first asked for."""

    def __init__(self, find: Callable[[Value], Value]) -> None:
        self.find = find

    def __missing__(self, value: Value) -> Value:
        found = self[value] = self.find(value)
        return found


@dataclass(slots=True)
class Body:
    """One body while it is lowered.

    bound       storage of Input and Param values, given from outside
    targets     (value, buffer): where a value must stand when the body ends
    """

    graph: Graph
    buffers: Buffers
    constants: Constants
    bound: dict[Value, int]
    targets: list[tuple[Value, int]]
    statements: list[Stmt] = field(default_factory=list)
    storage: dict[Value, int] = field(default_factory=dict)
    uniform: dict[Value, float] = field(default_factory=dict)
    claimed: dict[Value, int] = field(default_factory=dict)
    step_of: dict[int, int] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    leaving: set[Value] = field(default_factory=set)
    written: set[int] = field(default_factory=set)
    views: Views = field(init=False)
    #: The value whose memory holds another: behind aliases and views, and behind Assign the assigned value.
    source: Callable[[Value], Value] = field(init=False)

    def __post_init__(self) -> None:
        self.leaving = {r.value for r in self.graph.results} | {v for v, _ in self.targets}
        self.views = Views(self.graph, self.leaving)
        self.source = _Sources(self._behind).__getitem__

    def run(self) -> list[Stmt]:
        """Emit everything; returns the statements."""
        self.storage.update(self.bound)
        self.buffers.held.append(Held(self.graph, self.storage, self.views.nodes))
        self.uniform.update(uniform_values(self.graph))
        self.leaving |= {v for v, _ in self.targets}
        self.written = {buffer for _, buffer in self.targets}
        steps = [s for s in fuse(self.graph, self.uniform) if self._without_views(s)]
        self.steps, is_stored = recompute(self.graph, steps, self.uniform, self.source, self._stays)
        for index, step in enumerate(self.steps):
            for id in step.members if isinstance(step, Group) else (step.id,):
                self.step_of[id] = index
        late = self._claim()
        for step in self.steps:
            if isinstance(step, Group):
                self._group(step, is_stored)
            elif step.op.name == "If":
                self._if(step)
            elif step.op.name == "While":
                self._while(step)
            elif step.op.name == "Scan":
                lower_scan(self, step)
            elif step.op.name == "Assign" or isinstance(step.lower, Alias):
                pass  # No code: `source` looks through it.
            else:
                self._kernel(step)
        for value, buffer in late:
            self._copy(self.of(value), buffer)
        return self.statements

    def _without_views(self, step: Step) -> bool:
        """Take the nodes out of a group that no loop needs to compute; whether anything is left."""
        if not isinstance(step, Group):
            return True
        step.nodes = [n for n in step.nodes if n.id not in self.views.nodes]
        step.members -= self.views.nodes
        return bool(step.nodes)

    # ---- storage

    def _stays(self, value: Value) -> bool:
        """Whether something outside reads a value, or something may be written over it."""
        return value in self.leaving or self.bound.get(self.source(value)) in self.written

    def _is_alias(self, node: Node) -> bool:
        """Whether a node's result is, perhaps with other strides, operand 0's memory."""
        lower = node.lower
        return isinstance(lower, Alias) or _is_in_place(lower) or node.id in self.views.nodes

    def _behind(self, value: Value) -> Value:
        while True:
            node = self.graph.node(value.node)
            if node.op.name == "Assign":
                value = node.inputs[1]
            elif self._is_alias(node):
                value = node.inputs[0]
            else:
                return value

    def of(self, value: Value) -> int:
        """The buffer that holds a value; constants are placed on first use."""
        value = self.source(value)
        if value in self.storage:
            return self.storage[value]
        node = self.graph.node(value.node)
        if value in self.uniform:
            buffer = self.buffers.new(self.graph.type(value))
            target = Operand(buffer, self.graph.type(value))
            self.builder(node).fill(target, self.uniform[value])
        elif node.op.name == "Constant":
            buffer = self.constants.new(node.attrs["value"].array, node.type, self.buffers)
        else:
            raise AssertionError(f"{value} is used before it is made")
        self.storage[value] = buffer
        return buffer

    def new(self, value: Value) -> int:
        """Storage for a value that is about to be made, perhaps a part of another one's."""
        if value not in self.storage and value in self.views.parts:
            self.storage[value] = self.new(self.views.parts[value])
        if value not in self.storage:
            type = self.graph.type(value)
            self.storage[value] = self.claimed[value] if value in self.claimed else self.buffers.new(type)
        return self.storage[value]

    def _claim(self) -> list[tuple[Value, int]]:
        """Decide which target is made in place; returns those to be copied at the end.

        Targets whose value is bound memory that another target overwrites are saved first.
        """
        late: list[tuple[Value, int]] = []
        held: dict[int, list[Value]] = {}
        for value, buffer in self.bound.items():
            held.setdefault(buffer, []).append(value)
        for value, buffer in self.targets:
            core = self.source(value)
            if self.storage.get(core) == buffer:
                continue  # It stands there already.
            if core in self.bound:
                if self.bound[core] in self.written:
                    self._save(core)
                late.append((value, buffer))
            elif core in self.uniform or core in self.claimed or not self._in_place(core, held.get(buffer, [])):
                late.append((value, buffer))
            else:
                self.claimed[core] = buffer
        return late

    def _save(self, value: Value) -> None:
        """Copy bound memory before anything overwrites it; later reads of the value see the copy."""
        old = self.storage[value]
        copy = self.buffers.new(self.buffers.type(old))
        self._copy(old, copy)
        self.storage[value] = copy

    def _in_place(self, core: Value, held: list[Value]) -> bool:
        """Whether every reader of what the memory `held` is done when the step that makes `core` writes."""
        if core.node not in self.step_of or core in self.views.wholes:
            return False
        when = self.step_of[core.node]
        maker = self.steps[when]
        for old in held:
            for reader in self._readers(old):
                if reader not in self.step_of:
                    return False
                at = self.step_of[reader]
                if at > when or (at == when and not self._may_overlap(maker, reader, old, core)):
                    return False
        return True

    def _readers(self, value: Value) -> list[int]:
        """Nodes that read a value's memory, through aliases; -1 for a result of the body that is no target of it."""
        readers: list[int] = []
        stack = [value]
        while stack:
            v = stack.pop()
            for user in self.graph.users(v.node):
                node = self.graph.node(user)
                if self._is_alias(node) and v in node.inputs:
                    stack.append(node.outputs[0])
                elif node.op.name == "Assign":
                    if v == node.inputs[1]:
                        stack.append(node.outputs[0])
                elif v in node.inputs:
                    readers.append(user)
        return readers

    def _may_overlap(self, maker: Step, reader: int, old: Value, core: Value) -> bool:
        """Whether one step may read the old contents and write the new: an If, a loop element by element, what writes rows."""
        if not isinstance(maker, Group):
            return maker.op.name in ("If", "While") or self._is_over(maker, old)
        if maker.axes is not None:
            return False
        node, type = self.graph.node(reader), self.graph.type(core)
        whole = (0, row_major(type.shape))
        return type.shape == maker.domain and all(
            walk(self.graph, maker.domain, node, i) == whole for i, v in enumerate(node.inputs) if self.source(v) == old
        )

    def _is_over(self, node: Node, old: Value) -> bool:
        """Whether a node's calls may write over its operand 0, which is the memory of a value, as no other operand is."""
        over = node.lower.over if isinstance(node.lower, Kernel) else None
        return over is not None and over(node.attrs) and old not in map(self.source, node.inputs[1:])

    # ---- steps

    def inner(self, graph: Graph, bound: dict[Value, int], targets: list[tuple[Value, int]]) -> list[Stmt]:
        """The statements of a subgraph."""
        return Body(graph, self.buffers, self.constants, bound, targets).run()

    def builder(self, what: Node | str) -> Calls:
        """For the calls of a node, or for such as belong to none and say what they do."""
        if isinstance(what, str):
            return Calls(self.buffers, self.constants, self.emit, what)
        return Calls(self.buffers, self.constants, self.emit, note_of([what]), (what.id,))

    def emit(self, statement: Stmt) -> None:
        self.statements.append(statement)

    def _group(self, group: Group, is_stored: Callable[[Value], bool]) -> None:
        outputs = [n.outputs[0] for n in group.nodes if n.id not in group.again and is_stored(n.outputs[0])]
        for value in outputs:
            if not self.graph.type(value).size:
                self.new(value)  # A place, though nothing is written to it.
        outputs = [v for v in outputs if self.graph.type(v).size]
        if not outputs:
            return
        builder = LoopBuilder(self.graph, group, self.uniform, self.of, self.buffers)
        targets = [self.new(v) for v in outputs]
        try:
            kernel, operands = builder.build(outputs, targets)
        except LoweringError as error:
            error.loc = error.loc or group.nodes[0].loc
            raise
        self.emit(Call(kernel, operands, note_of(group.nodes), nodes=tuple([n.id for n in group.nodes])))

    def _kernel(self, node: Node) -> None:
        inputs = [Operand(self.of(v), self.graph.type(v), self.views.read(v)) for v in node.inputs]
        place = self.of if _is_in_place(node.lower) else self.new
        outputs = [Operand(place(v), self.graph.type(v), self.views.written(v)) for v in node.outputs]
        kernel_node(node, inputs, outputs, self.builder(node))

    def _copy(self, source: int, target: int) -> None:
        type = self.buffers.type(source)
        self.builder("copy").duplicate(Operand(source, type), Operand(target, type))

    def _if(self, node: Node) -> None:
        pred = self.of(node.inputs[0])
        captures = [self.of(v) for v in node.inputs[1:]]
        outputs = [self.new(v) for v in node.outputs]
        branches: list[tuple[Stmt, ...]] = []
        for _, sub in node.graphs():
            bound = {Value(i): b for i, b in zip(sub.inputs, captures, strict=True)}
            targets = [(r.value, b) for r, b in zip(sub.results, outputs, strict=True)]
            branches.append(tuple(self.inner(sub, bound, targets)))
        self.statements.append(If(pred, branches[0], branches[1], note_of([node]), nodes=(node.id,)))

    def _while(self, node: Node) -> None:
        """The carried values have one buffer each, written anew by every turn."""
        count = node.attrs["carried"]
        initial, captures = node.inputs[:count], [self.of(v) for v in node.inputs[count:]]
        state = [self.new(v) for v in node.outputs]
        saved = [self._copy_of(v, state, b) for v, b in zip(initial, state, strict=True)]
        captures = [self._apart(b, state) for b in captures]
        for source, target in zip(saved, state, strict=True):
            if source != target:
                self._copy(source, target)
        pred = self.buffers.new(TensorType("bool", ()))
        parts: list[tuple[Stmt, ...]] = []
        for name, targets in (("cond", [pred]), ("body", state)):
            sub: Graph = node.attrs[name]
            bound = {Value(i): b for i, b in zip(sub.inputs, [*state, *captures], strict=True)}
            wanted = [(r.value, b) for r, b in zip(sub.results, targets, strict=True)]
            parts.append(tuple(self.inner(sub, bound, wanted)))
        self.statements.append(While(parts[0], pred, parts[1], note_of([node]), nodes=(node.id,)))

    def _copy_of(self, value: Value, state: list[int], own: int) -> int:
        """The buffer of an initial value, saved where it is memory that another carried value begins with."""
        buffer = self.of(value)
        if buffer != own and buffer in state:
            copy = self.buffers.new(self.buffers.type(buffer))
            self._copy(buffer, copy)
            return copy
        return buffer

    def _apart(self, buffer: int, state: list[int]) -> int:
        """A captured buffer, copied where the loop writes that very memory."""
        if buffer not in state:
            return buffer
        copy = self.buffers.new(self.buffers.type(buffer))
        self._copy(buffer, copy)
        return copy


def _is_in_place(lower: Lowering | None) -> bool:
    """Whether calls of a node with this lowering write operand 0's memory."""
    return isinstance(lower, Kernel) and lower.in_place
