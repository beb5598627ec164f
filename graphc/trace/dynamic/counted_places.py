"""Places that a compiled step counts: results whose size only values tell.

In the graph such an axis has room for all there can be. The sizes of these rooms come from whoever traces: a second trace with
others shows which axes have to do with them (`graphc/passes/padding.py`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any

from graphc.errors import GraphcError, ShapeError, TraceError, user_loc
from graphc.ir import Node, TensorType, Value
from graphc.ops import functional as F
from graphc.ops.tensor.deferred import Deferred
from graphc.ops.tensor.tensor import Tensor, TracedTensor
from graphc.trace.dynamic.size_numbers import Shape, Size
from graphc.trace.dynamic.size_sums import Count, Extreme, Length, Product, Sum
from graphc.tracebacks import may_be_caught

if TYPE_CHECKING:
    from graphc.trace.recorder import GraphRecorder

#: The size that a trace gives to what is counted: of which one, from 0 on, among how many elements.
RoomOf = Callable[[int, int], int]
Types = tuple[TensorType, ...]
_END = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "__init__.py")  # Where traces begin.
#: Graphs in which a step can count: the names that recorders of branches, and of bodies of loops, have.
_BRANCHES = ("then", "else", "body", "probe")


#: An axis: the node, its output, and which.
Key = tuple[int, int, int]
#: Of axes: what they are of what is counted.
Found = dict[Key, Sum]


@dataclass(frozen=True)
class Lengths:
    """The sizes of a call's axes that vary, as a trace has them.

    sizes   of each, in this trace
    bounds  the least and the largest that each may be
    names   of the inputs for them
    apart   whether nothing else has these sizes, so that axes are found by them
    called  whether they are those of a call, for which the cell raises what it raises
    """

    sizes: Sequence[int] = ()
    bounds: Sequence[tuple[int, int]] = ()
    names: Sequence[str] = ()
    apart: bool = False
    called: bool = False

    def of(self, size: int) -> Sum | None:
        """A size that is so many times one of these, or several of them multiplied."""
        made, left = None, size
        for symbol, (own, (least, most)) in enumerate(zip(self.sizes, self.bounds, strict=True)):
            while left and left % own == 0:
                one, left = Sum(0, ((Length(symbol, least, most), 1),)), left // own
                made = one if made is None else Sum(0, ((Product(made, one), 1),))
        return None if made is None else made.times(left)


class Coincidence(BaseException):
    """An axis only happened to be as large as what is counted. Not for users, and past what they catch."""

    def __init__(self, key: Key) -> None:
        super().__init__(key)
        self.key = key


class Begun(BaseException):
    """Something is counted. Not for users, and past what they catch."""


class Counting:
    """What a trace counts.

    room     of whoever traces
    sizes    axes that have been found to be what is counted; None: nothing is known of another trace, and sizes are as they are
    finds    whether this trace finds them
    others   axes that only happen to be as large
    ends     whether the first place that is counted ends the trace
    fixed    whether all other sizes are the same in every call
    lengths  those that come with the call, where they are numbers of the run
    wanted   the types that the node of this id, of an op, is to have where its own rule refuses; None: it raises
    seen     the nodes of this trace, if it finds sizes, by their ids
    nodes    of all places that have been counted, those of parts that have been thrown away too; `recorders`: of their graphs
    owners   for each the innermost branch, or body of a loop, around it, which need not be run: its number, -1 for none
    entered  the recorders of subgraphs, by number
    errors   what has been raised inside of a branch, which one, and has been gone on from; for which node, by id
    caught   those of them that a `try` of the user's may catch
    inside   in which branch the trace has failed
    at       in front of which node, by id
    """

    def __init__(
        self,
        room: RoomOf,
        wanted: Callable[[int, str], Types | None] | None = None,
        sizes: Found | None = None,
        others: Collection[Key] | None = None,
        ends: bool = False,
        fixed: bool = True,
        lengths: Lengths | None = None,
    ) -> None:
        self.fixed, self.lengths = fixed, lengths or Lengths()
        self._given: list[Node] = []  # Inputs for the lengths.
        #: Sizes that axes are made as large as, if this trace finds those that the call brings.
        self.rooms: dict[int, Sum] = {}
        self._ends = ends
        self.room, self.finds, self.others = room, others is not None, others or ()
        self.sizes: Found | None = {} if sizes is None and self.finds else sizes
        self.wanted: Callable[[int, str], Types | None] = wanted or (lambda id, op: None)
        self.seen: dict[int, Node] = {}
        self.nodes: list[Node] = []
        self.recorders: list[GraphRecorder] = []
        self.owners: list[int] = []
        self.entered: list[GraphRecorder] = []
        self.errors: list[tuple[int, Exception, int]] = []
        self.caught: list[Exception] = []
        self.inside, self.at = -1, -1
        self._goes_on = wanted is not None
        self._failed: BaseException | None = None
        self._waiting: tuple[int, Exception] | None = None  # What has been raised in front of a node.

    @property
    def sure(self) -> bool:
        """Whether it is known of another trace that something is counted."""
        return self.sizes is not None

    def note(self, node: Node) -> None:
        """Keep a node in mind, of which nothing may be left in the graph."""
        if self.finds:
            self.seen[node.id] = node

    def enter(self, recorder: GraphRecorder) -> int:
        """The number of a recorder of a subgraph."""
        self.entered.append(recorder)
        return len(self.entered) - 1

    def around(self, number: int) -> list[int]:
        """A branch or body and those around it, the outermost last."""
        recorder, found = (self.entered[number] if number >= 0 else None), []
        while recorder is not None and recorder.parent is not None:
            if recorder.graph.name in _BRANCHES:
                found.append(recorder.number)
            recorder = recorder.parent
        return [*found, -1]

    def count(self, recorder: GraphRecorder, mask: Tensor) -> Node:
        """A node that counts the true elements of a vector. Raises Begun."""
        if self._ends:
            raise Begun
        node = recorder.add_node("Nonzero", [mask], {"size": self.room(len(self.nodes), mask.size)})
        recorder.counted.append(node)
        self.recorders.append(recorder)
        self.nodes.append(node)
        self.owners.append(self.around(recorder.number)[0])
        return node

    def shape(self, x: TracedTensor) -> tuple[int, ...]:
        """The shape of a tensor, with sizes that know what is counted."""
        if self.sizes is None:
            return x.shape
        maker, value = x.handle
        made = [self._size(maker, (*value, axis), size) for axis, size in enumerate(x.shape)]
        return Shape(made) if any(isinstance(size, Size) for size in made) else x.shape

    def _size(self, recorder: GraphRecorder, key: Key, size: int) -> int:
        assert self.sizes is not None
        if self.finds and key not in self.sizes and key not in self.others:
            made = (self.rooms.get(size) or self.lengths.of(size)) if self.lengths.apart else None
            made = made or self._multiple(recorder, size) or self._part(recorder, key, size)
            if made is not None:
                self.sizes[key] = made
        if key not in self.sizes:
            return size
        if size != self.sizes[key].value(self._room):
            raise Coincidence(key)
        return Size.of(size, self.sizes[key])

    def _room(self, place: int) -> int:
        """What stands in this trace for what is counted in a place, or, below 0, for a length."""
        return self.lengths.sizes[-1 - place] if place < 0 else int(self.nodes[place].attrs["size"])

    def _multiple(self, recorder: GraphRecorder, size: int) -> Sum | None:
        """A size that is so many times what is counted here or around."""
        around: GraphRecorder | None = recorder
        while around is not None:
            for node in around.counted:
                if size and size % node.attrs["size"] == 0:
                    count = Count(self.nodes.index(node), node.types[2].size)
                    return Sum(0, ((count, size // node.attrs["size"]),))
            around = around.parent
        return None

    def _part(self, recorder: GraphRecorder, key: Key, size: int) -> Sum | None:
        """What a slice leaves of an axis, but for a few; and axes one behind the other."""
        id, _, axis = key
        graph = recorder.graph
        while id in graph and graph.node(id).op.name not in ("Slice", "Concat"):
            types = ((v, graph.type(v).shape) for v in graph.node(id).inputs)
            id = next((v.node for v, shape in types if len(shape) > axis and shape[axis] == size), -1)
        if id not in graph:
            return None
        node = graph.node(id)
        whole = [
            Sum.of(self._size(recorder, (*value, axis), graph.type(value).shape[axis]))
            for value in node.inputs
            if (node.op.name, node.attrs.get("step", (1,) * (axis + 1))[axis]) == ("Slice", 1)
            or (node.op.name, node.attrs.get("axis")) == ("Concat", axis)
        ]
        made = reduce(Sum.plus, whole, Sum(0, ()))
        if not made.parts:
            return None
        if node.op.name == "Concat":
            return made
        return _sliced(made, graph.type(node.inputs[0]).shape[axis], node.attrs["begin"][axis], size)

    def tensor(self, recorder: GraphRecorder, place: int) -> Tensor:
        """How many there are in one place, as a number."""
        count = self.recorders[place].wrap(self.nodes[place].outputs[1], is_number=True)
        return recorder.wrap(recorder.resolve(F.cast(count, "int64")), is_number=True)

    def length(self, recorder: GraphRecorder, symbol: int) -> Tensor:
        """A length that comes with the call, as a number: an input of the whole graph."""
        root = recorder.root
        for name in self.lengths.names[len(self._given) :]:
            self._given.append(root.graph.add("Input", types=(TensorType("int32", ()),), name=name))
        given = root.wrap(self._given[symbol].outputs[0], is_number=True)
        return recorder.wrap(recorder.resolve(F.cast(given, "int64")), is_number=True)

    def explain(self, error: GraphcError) -> None:
        """Say in an error that has ended the trace which sizes stand for others; of shapes that do not fit, who can do it."""
        if not self.nodes:
            return
        sizes = ", ".join(f"{n.attrs['size']} for those at {n.loc}" for n in self.nodes)
        error.details = (*error.details, f"sizes stand for what only values tell: {sizes}")
        error.on_sizes = isinstance(error, ShapeError)
        if error.code == "GC103":
            error.help = (
                "keep the shape of x in x[mask]: ops.where(mask, x, 0); or let it run op by op, where the size is known, and one "
                "that cannot be divided is an error of the run: set_context(mode=PYNATIVE_MODE)"
            )

    @staticmethod
    def is_thrown_away(recorder: GraphRecorder) -> bool:
        """Whether it records a turn of a loop that only shows what the loop changes."""
        around: GraphRecorder | None = recorder
        while around is not None and around.graph.name != "probe":
            around = around.parent
        return around is not None

    def fail(self, recorder: GraphRecorder, error: BaseException) -> None:
        """Note where an error was raised first."""
        if error is not self._failed:
            self._failed, self.inside, self.at = error, self.around(recorder.number)[0], recorder.graph.ids.next

    def forgives(self, recorder: GraphRecorder, error: Exception, refused: bool = False) -> bool:
        """Whether to go on in spite of an error, to show what else is done for few: inside of a branch, which may not be taken
        when it happens.

        refused: in front of the node of this line, whose own error it stands for.
        """
        inside = self.around(recorder.number)[0]
        if not self._goes_on or inside < 0:
            return False
        if self.is_thrown_away(recorder):
            return True
        waiting, self._waiting = self._waiting, (inside, error) if refused else None
        if waiting and not refused and waiting[0] == inside and _at(waiting[1]) == _at(error):
            self.errors[-1] = *waiting, recorder.graph.ids.next
            return True
        if may_be_caught(_END):
            self.caught.append(error)
        self.errors.append((inside, error, recorder.graph.ids.next))
        return True


def _sliced(whole: Sum, room: int, begin: int, size: int) -> Sum:
    """What a slice leaves of a size that a trace has this room for; what lies beyond all there can be counts from the end."""
    if size == room:
        return whole
    most, none = whole.bounds[1], Sum(0, ())

    def extreme(largest: bool, one: Sum, other: Sum) -> Sum:
        return Sum(0, ((Extreme(largest, one, other), 1),))

    def end(place: int) -> Sum:
        if place > most and room - place <= most:
            return extreme(True, whole.plus(Sum(place - room, ())), none)
        return extreme(False, whole, Sum(place, ())) if place else none

    first, last = end(begin), end(begin + size)
    if begin + size == room:
        last = whole
    return extreme(True, last.plus(first, -1), none)


def _at(error: Exception) -> Any:
    return getattr(error, "loc", None)


def may_raise(recorder: GraphRecorder) -> bool:
    """Whether what is computed here may raise something for some counts, and can be a branch that does."""
    counting = recorder.root.counting
    return counting is not None and counting.sure and _why_not(recorder) is None


def is_place(recorder: GraphRecorder, x: Tensor) -> bool:
    """Whether numbers are places that a sort or a search has found: none is negative."""
    if recorder.immediate or not isinstance(x, TracedTensor):
        return False
    maker, value = x.handle
    while value.node in maker.graph and (node := maker.graph.node(value.node)).op.name in ("Cast", "Reshape"):
        value = node.inputs[0]
    return value.node in maker.graph and maker.graph.node(value.node).op.name in ("Argsort", "Nonzero")


def found(recorder: GraphRecorder, mask: Tensor, name: str) -> Tensor:
    """The places of what is true of a vector: int32[room]. Masks that are the same have the same places.

    Raises TraceError GC120 where sizes are fixed.
    """
    counting = recorder.root.counting
    refused = _why_not(recorder)
    if refused is not None or counting is None:
        why, help = refused or ("", "")
        raise TraceError(
            f"the size of what {name} returns depends on the values of {mask.tensor_type}",
            code="GC120",
            loc=user_loc(),
            details=[why],
            help=help,
        )
    known = _counted(recorder, mask)
    if known is not None:
        return known[0].wrap(known[1].outputs[0])
    return recorder.wrap(counting.count(recorder, mask).outputs[0])


def places_before(recorder: GraphRecorder, size: Deferred) -> Tensor:
    """The places before a number that is not negative: int32. For one that no axis has as its size they are counted."""
    if size.is_room:
        return F.arange(size, dtype="int32")
    return found(recorder, F.less(F.arange(size.bounds[1], dtype="int32"), size.tensor()), "a size")


def note_room(recorder: GraphRecorder, size: Deferred) -> None:
    """That an axis is made as large as this: of others that are as large it is known what they have to do with the call."""
    counting = recorder.root.counting
    if counting is not None and counting.lengths.apart and isinstance(size, Size) and size.is_given:
        counting.rooms[int(size)] = size.sum


def size_of(recorder: GraphRecorder, x: Tensor) -> int | None:
    """How many elements of a mask are true, as a size, of a tensor that is their sum; None for another one."""
    counting = recorder.root.counting
    if counting is None or not counting.fixed or not isinstance(x, TracedTensor) or _why_not(recorder) is not None:
        return None
    maker, value = outermost(*x.handle)
    node = _maker(maker, value)
    if node is None or node.op.name != "ReduceSum" or maker.graph.type(node.inputs[0]).rank != len(node.attrs["axis"]):
        return None
    mask: Value | None = node.inputs[0]
    while mask is not None and maker.graph.type(mask).dtype != "bool":
        inner = _maker(maker, mask)
        mask = inner.inputs[0] if inner is not None and inner.op.name == "Cast" else None
    if mask is None:
        return None
    return recorder.shape_of(found(recorder, F.reshape(maker.wrap(mask), (-1,)), "a size"))[0]


def _maker(recorder: GraphRecorder, value: Value) -> Node | None:
    """The node of a value, past casts of numbers."""
    while value.node in recorder.graph:
        node = recorder.graph.node(value.node)
        if node.op.name not in ("Cast", "Reshape") or recorder.graph.type(node.inputs[0]).size != 1:
            return node
        value = node.inputs[0]
    return None


def ranks(recorder: GraphRecorder, mask: Tensor, size: int) -> Tensor | None:
    """Of a mask whose places have been found, with room of this size: how many true elements stand before each; else None."""
    known = _counted(recorder, mask)
    return known[0].wrap(known[1].outputs[2]) if known is not None and known[1].attrs["size"] == size else None


def _why_not(recorder: GraphRecorder) -> tuple[str, str] | None:
    """Why places cannot be counted here, and what to do about it; None where they can."""
    if recorder.root.counting is None:
        why = "steps that PYNATIVE_MODE makes of functions, and exported networks, have fixed sizes"
        return why, "keep the shape: ops.where(mask, x + 1, x) for x[mask] += 1, ops.where(mask, x, 0).sum() for a sum"
    around: GraphRecorder | None = recorder
    while around is not None and around.parent is not None:
        if around.graph.name not in _BRANCHES:
            where = (
                "the condition of a loop" if around.graph.name == "cond" else f"a function under {around.graph.name}"
            )
            return f"inside of {where} sizes are fixed", "keep the shape: ops.where(mask, x, 0).sum() for a sum"
        around = around.parent
    return None


def _counted(recorder: GraphRecorder, mask: Tensor) -> tuple[GraphRecorder, Node] | None:
    """What has counted a mask like this, here or in a graph around, and in which."""
    value = recorder.resolve(mask)
    around: GraphRecorder | None = recorder
    while around is not None:
        for node in around.counted:
            if _same(recorder, value, around, node.inputs[0]):
                return around, node
        around = around.parent
    return None


def outermost(recorder: GraphRecorder, value: Value) -> tuple[GraphRecorder, Value]:
    """A value that a branch has from outside, as what it is there."""
    outer = next((o for o, inner in recorder.captures.items() if inner == value), None)
    return (recorder, value) if outer is None or recorder.parent is None else outermost(recorder.parent, outer)


def _same(here: GraphRecorder, a: Value, there: GraphRecorder, b: Value) -> bool:
    """Whether two values, of a graph and of one around it, are made in the same way."""
    left, known = [(outermost(here, a), outermost(there, b))], set()
    while left:
        pair = (mine, x), (other, y) = left.pop()
        if pair[0] == pair[1] or pair in known:
            continue
        known.add(pair)
        one, two = mine.graph.node(x.node), other.graph.node(y.node)
        alike = one.op is two.op and x.slot == y.slot and one.attrs == two.attrs and one.after == two.after
        if not alike or one.op.effect or one.op.name in ("Input", "Param") or len(one.inputs) != len(two.inputs):
            return False
        left += ((outermost(mine, v), outermost(other, w)) for v, w in zip(one.inputs, two.inputs, strict=True))
    return True
