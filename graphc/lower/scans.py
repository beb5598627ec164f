"""Lowers a Scan to a native loop. What turns read and make of stacks is not copied: windows move through these.

A carried value of which all states are kept lives in that stack: a turn reads row t and writes row t + 1. Any other has one
buffer that every turn writes anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphc.ir import Graph, Node, TensorType, Value
from graphc.ir.lowering import Operand
from graphc.lower.calls import note_of
from graphc_codegen.program import For, Window

if TYPE_CHECKING:
    from graphc.lower.body import Body


def lower_scan(outer: Body, node: Node) -> None:
    """Emit a Scan, one of the nodes of a body."""
    _Scan(outer, node).run()


class _Scan:
    def __init__(self, outer: Body, node: Node) -> None:
        self.outer, self.node, self.buffers = outer, node, outer.buffers
        c, s = node.attrs["carried"], node.attrs["scanned"]
        self.carried, self.scanned, self.captures = node.inputs[:c], node.inputs[c : c + s], node.inputs[c + s :]
        self.turns: int = node.attrs["length"]
        self.reverse = bool(node.attrs["reverse"])
        self.body: Graph = node.attrs["body"]
        self.windows: list[Window] = []
        stacks = zip(node.attrs["stacks"], node.outputs[len(self.carried) :], strict=True)
        #: The stacks, by the result of the body that they hold.
        self.stacks: dict[int, list[Value]] = {}
        for k, value in stacks:
            self.stacks.setdefault(k, []).append(value)

    def run(self) -> None:
        outer = self.outer
        captures = [outer.of(v) for v in self.captures]
        initial = [outer.of(v) for v in self.carried]
        stacks = {k: [outer.new(v) for v in values] for k, values in self.stacks.items()}
        finals = [outer.new(v) for v in self.node.outputs[: len(self.carried)]]
        if not self.turns:
            for source, target in zip(self._saved(initial, finals), finals, strict=True):
                self._copy(source, target)
            for k, made in stacks.items():
                for stack in made if k < len(initial) else ():
                    self._copy(initial[k], stack)
            return
        # Where a loop writes memory that is also a capture or the beginning of something else, that is saved first.
        own = [b for k, b in enumerate(finals) if k not in stacks]
        captures = [self._apart(b, own) for b in captures]
        scanned = [self._slices(v, own) for v in self.scanned]
        initial = self._saved(initial, finals)
        given, targets = self._states(initial, finals, stacks)
        inputs = [*given, *scanned, *captures]
        bound = {Value(i): b for i, b in zip(self.body.inputs, inputs, strict=True)}
        results = [r.value for r in self.body.results]
        wanted = list(zip(results, targets, strict=False))
        for k, made in stacks.items():
            row = self.body.type(results[k])
            for stack in made if k >= len(initial) else made[1:]:
                wanted.append((results[k], self._row(stack, row, 1 if k < len(initial) and not self.reverse else 0)))
        statements = outer.inner(self.body, bound, wanted)
        outer.emit(For(self.turns, tuple(self.windows), tuple(statements), note_of([self.node]), nodes=(self.node.id,)))
        self._ends(finals, stacks)

    def _states(
        self, initial: list[int], finals: list[int], stacks: dict[int, list[int]]
    ) -> tuple[list[int], list[int]]:
        """Where each carried value is at the beginning of a turn, and where the turn puts its next one."""
        given, targets = [], []
        for k, (source, final) in enumerate(zip(initial, finals, strict=True)):
            type = self.buffers.type(final)
            for stack in stacks.get(k, []):
                self._put(source, stack, self.turns if self.reverse else 0)
            if k in stacks:
                first = stacks[k][0]
                given.append(self._row(first, type, 1 if self.reverse else 0))
                targets.append(self._row(first, type, 0 if self.reverse else 1))
            else:
                if source != final:
                    self._copy(source, final)
                given.append(final)
                targets.append(final)
        return given, targets

    def _ends(self, finals: list[int], stacks: dict[int, list[int]]) -> None:
        """The last state of what lives in a stack, where anybody reads that."""
        for k, final in enumerate(finals):
            value = self.node.outputs[k]
            if k in stacks and (value in self.outer.leaving or self._is_read(value)):
                type, at = self.buffers.type(final), 0 if self.reverse else self.turns
                source = Operand(stacks[k][0], self.buffers.type(stacks[k][0]))
                calls = self.outer.builder("copy")
                calls.copy(source, Operand(final, type), (type.size,), at * type.size, (1,), 0, (1,))

    def _is_read(self, value: Value) -> bool:
        graph = self.outer.graph
        return any(value in graph.node(user).inputs for user in graph.users(value.node))

    def _slices(self, value: Value, written: list[int]) -> int:
        """The window that is a scanned operand's slice, in that itself or in what it is a view of."""
        type, view = self.outer.graph.type(value), self.outer.views.read(value)
        whole = self._apart(self.outer.of(value), written)
        row = TensorType(type.dtype, type.shape[1:])
        if view is None:
            return self._row(whole, row, 0)
        return self._window(whole, row, view.offset, view.strides[0])

    def _row(self, stack: int, row: TensorType, first: int) -> int:
        """A window on the rows of a stack, from `first` on."""
        return self._window(stack, row, first * row.size, row.size)

    def _window(self, within: int, row: TensorType, begin: int, step: int) -> int:
        """A window that begins at an element in turn 0, or in the last one of a loop that runs backwards."""
        size = row.nbytes // row.size if row.size else 1
        if self.reverse:
            begin, step = begin + (self.turns - 1) * step, -step
        made = self.buffers.new(row, "window", within)
        self.windows.append(Window(made, within, begin * size, step * size))
        return made

    def _saved(self, initial: list[int], finals: list[int]) -> list[int]:
        """The buffers of initial values, copied where they are memory in which another value is to stand."""
        return [self._apart(b, [f for f in finals if f != own]) for b, own in zip(initial, finals, strict=True)]

    def _apart(self, buffer: int, written: list[int]) -> int:
        """A buffer, copied where the loop writes that very memory."""
        if buffer not in written:
            return buffer
        copy = self.buffers.new(self.buffers.type(buffer))
        self._copy(buffer, copy)
        return copy

    def _copy(self, source: int, target: int) -> None:
        self._put(source, target, 0)

    def _put(self, source: int, target: int, row: int) -> None:
        """Copy a buffer to a row of another one."""
        a, b = (Operand(x, self.buffers.type(x)) for x in (source, target))
        self.outer.builder("copy").copy(a, b, (a.type.size,), 0, (1,), row * a.type.size, (1,))
