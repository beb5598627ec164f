"""What a compiled step does with the attributes of Cells that `construct` sets: takes what they hold before a run, and sets them
after it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any
from weakref import ref

import numpy as np

from graphc import dispatch
from graphc.errors import ExportError, Loc, SignatureError, TraceError, user_loc
from graphc.ir import TensorType
from graphc.nn.cell.cell import Cell
from graphc.ops.functional.index import write_now
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor, TracedTensor, require_array
from graphc.ops.tensor.tree import Fixed, Leaf, Structure, flatten, unflatten
from graphc.trace.dynamic.size_numbers import measured
from graphc.trace.mutation.containers import Growing, Path, Swapped, containers_in, into_held
from graphc.trace.standins import Joined
from graphc_codegen.forks import rlock

#: Python values that are compared as values.
_PLAIN = (str, bytes, bool, int, float, complex, type(None))
#: What an attribute holds that is not there.
MISSING: Any = object()
#: Held while Cells hold symbols, and while their attributes are set after a run.
turns = rlock()


class State(Parameter):
    """A tensor in an attribute, as the step has it. Each process has its own."""

    def __init__(self, type: TensorType, name: str) -> None:
        super().__init__(Tensor.wrap(np.zeros(type.shape, type.numpy)), name=name, requires_grad=False)
        self.layerwise_parallel = True


class Kept:
    """An attribute as a step finds and leaves it: called before and after each run."""

    def __init__(self, cell: Cell, name: str, path: str) -> None:
        self._cell, self._name, self.path = ref(cell), name, path
        #: The user's line that sets it.
        self.loc: Loc | None = None
        self._entry: tuple[list[Parameter], Structure] | None = None
        self._exit: tuple[list[Tensor], Structure, tuple[bool, ...]] | None = None
        #: What stands for tensors that are found, and the numbers of those that stay where they were: unchanged, and written to.
        self._symbols: list[Tensor] = []
        self._stay: set[int] = set()
        self._written: set[int] = set()
        self._in_place = self._grows = False
        #: The kinds of what it finds and leaves, once they were asked for; what is left has one where no Python numbers are.
        self._kinds: list[Any] = [None, None]
        #: Where those of its containers are that the step has found, and where they were.
        self._places: dict[Path, Path] = {}

    @property
    def is_read(self) -> bool:
        """Whether it matters to a step what the attribute holds before it."""
        return self._entry is not None or self._grows

    @property
    def changes(self) -> bool:
        """Whether a step finds something of another kind, or another Python value, than it leaves: it fits one call."""
        if self._entry is None or self._exit is None:
            return False
        return bool(self._kind_of(0, *self._entry) != self._kind_of(1, *self._exit[:2]))

    def _kind_of(self, end: int, leaves: Sequence[Tensor], structure: Structure) -> Any:
        """The kind of what a step finds (0) or leaves (1), which is made once."""
        if self._kinds[end] is None:
            self._kinds[end] = _kind(leaves, structure)
        return self._kinds[end]

    def enters(self, recorder: Any, value: Any) -> Any:
        """What the attribute holds before the step, with symbols for its tensors."""
        leaves = self.finds(value)
        assert self._entry is not None
        return unflatten(self._entry[1], self._symbols_of(recorder, leaves))

    def finds(self, value: Any) -> list[Tensor]:
        """Note what the attribute holds before the step. Its tensors."""
        leaves, structure = flatten(value)
        states = [x if isinstance(x, Parameter) else self._state(k, x.tensor_type) for k, x in enumerate(leaves)]
        self._entry = states, structure
        self._found = {id(x): path for path, x in containers_in(value)}
        return leaves

    def swaps(self, recorder: Any, value: Any, leaves: list[Tensor], swapped: Swapped) -> None:
        """Put symbols into the containers that the attribute holds. leaves: as `finds` has told them."""
        self._symbols = self._symbols_of(recorder, leaves)
        swapped.swap(value, dict(zip(map(id, leaves), self._symbols, strict=True)))

    def _symbols_of(self, recorder: Any, leaves: list[Tensor]) -> list[Tensor]:
        assert self._entry is not None
        return [s if s is x else _symbol(recorder, s, x) for s, x in zip(self._entry[0], leaves, strict=True)]

    def is_as_found(self, recorder: Any, value: Any) -> bool:
        """Whether the value that stood for what the attribute held has not been changed in place either."""
        if isinstance(value, Growing):
            return not value.own()
        assert self._entry is not None
        states, structure = self._entry
        leaves, now = flatten(value)
        if _form(now) != _form(structure) or len(leaves) != len(states):
            return False
        pairs = [(x, s) for x, s in zip(leaves, states, strict=True) if x is not s]
        return all([isinstance(x, TracedTensor) and x.handle[1] == recorder.state[id(s)] for x, s in pairs])

    def leaves(self, recorder: Any, value: Any, in_place: bool, opened: Callable[[Any], Any]) -> None:
        """Let the step write what the attribute holds at its end. in_place: the object that it held before, changed."""
        if isinstance(value, Growing):
            self._grows, value = True, value.own()
        found = self._found if self._entry is not None else {}
        self._places = {path: found[id(x)] for path, x in containers_in(value) if id(x) in found}
        held, structure = flatten(measured(value), opened=opened)
        ends: list[Tensor] = []
        for k, x in enumerate(held):
            if isinstance(x, Joined):
                raise x.error()
            if not isinstance(x, TracedTensor):
                ends.append(x)
                continue
            if x.handle[0] is not recorder:
                raise self.refused("inside of a branch, loop or function that is traced by itself")
            state = self._state(k, x.tensor_type)
            stays = k < len(self._symbols) and x is self._symbols[k]
            self._stay.update([k] if stays else [])
            if stays and x.handle[1] == recorder.state[id(state)]:
                ends.append(state)
                continue
            self._written.update([k] if stays else [])
            made = recorder.assign(state, x)
            recorder.graph.set_node(made.handle[1].node, loc=self.loc)
            ends.append(state)
        self._exit, self._in_place = (ends, structure, tuple(x.is_number for x in held)), in_place

    def refused(self, where: str) -> TraceError:
        """The error for one that is set where a step cannot."""
        return TraceError(
            f"{self.path} is set {where}: what it holds then is known there alone",
            code="GC133",
            loc=self.loc,
            help="use a local variable, or a Parameter and ops.assign for state that changes at every step",
        )

    def before(self) -> int | None:
        """Take what the Cell holds now. How many steps may follow: one, where it holds something else afterwards.

        SignatureError GC170 if it is of another kind than the step was compiled for.
        """
        cell = self._cell()
        if cell is None:
            return None
        value = vars(cell).get(self._name, MISSING)
        if self._grows:
            if type(value) is not list:
                raise self._other()
            return 1
        if self._entry is None:
            return None
        states, structure = self._entry
        leaves, held = flatten(value)
        if _kind(leaves, held) != self._kind_of(0, states, structure):
            raise self._other()
        for state, x in zip(states, leaves, strict=True):
            if isinstance(state, State):
                state.storage[...] = require_array(x)
        return 1 if self.changes else None

    def _other(self) -> SignatureError:
        return SignatureError(
            f"{self.path} holds something else than this step was compiled for",
            loc=user_loc(),
            help="compile again, or call the cell itself, which compiles for what it holds",
        )

    def __call__(self, count: int) -> None:
        """Set the attribute, `count` steps having been made."""
        cell = self._cell()
        if self._exit is None or cell is None:
            return
        with turns:
            held = vars(cell).get(self._name, MISSING)
            before, form = flatten(held)
            kind = _kind(before, form)
            value = self._made(before)
            if self._grows and type(held) is list:
                held.extend(value)
                return
            value = into_held(held, value, self._places)
            if value is not held and not (self._in_place and _put_into(held, value)):
                object.__setattr__(cell, self._name, value)
        left = _kind(*flatten(value)) if any(self._exit[2]) else self._kind_of(1, *self._exit[:2])
        if (isinstance(held, Tensor) and self._in_place) or kind != left:
            dispatch.touch()

    def _made(self, before: list[Tensor]) -> Any:
        """What a run has left. before: the tensors that the attribute held."""
        assert self._exit is not None
        ends, structure, numbers = self._exit
        made: list[Any] = []
        for k, (x, is_number) in enumerate(zip(ends, numbers, strict=True)):
            if k in self._stay and k < len(before) and before[k].tensor_type == x.tensor_type:
                if k in self._written:
                    write_now(before[k], x.storage)
                made.append(before[k])
                continue
            x = Tensor.wrap(x.storage.copy()) if isinstance(x, State) else x
            made.append(x.item() if is_number else x)
        return unflatten(structure, made)

    def limit(self) -> int | None:
        """How many steps may follow each other."""
        return None

    def _state(self, number: int, type: TensorType) -> State:
        """The memory of a tensor: what a step finds and leaves is one, where it is of one type."""
        known = self._entry[0][number] if self._entry is not None and number < len(self._entry[0]) else None
        if isinstance(known, State) and known.tensor_type == type:
            return known
        return State(type, self.path.removeprefix("self.") + (f".{number}" if number else ""))


def _symbol(recorder: Any, state: Parameter, held: Tensor) -> Tensor:
    made: Tensor = recorder.wrap(recorder.read(state), held.is_number)
    return made


def _put_into(held: Any, value: Any) -> bool:
    """Change an object in place, so that it equals another one; whether that can be."""
    if isinstance(held, Tensor) and isinstance(value, Tensor) and held.tensor_type == value.tensor_type:
        write_now(held, require_array(value))
    elif type(held) is type(value) and isinstance(held, list):
        held[:] = value
    elif type(held) is type(value) and isinstance(held, dict):
        held.clear()
        held.update(value)
    else:
        return False
    return True


def kind_of(value: Any) -> Any:
    """What two values have in common for which one step will do."""
    return _kind(*flatten(value))


def _kind(leaves: Sequence[Tensor], structure: Structure) -> Any:
    """What two values have in common for which one step will do: types of tensors, Parameters, and Python values."""
    parts = [id(x) if isinstance(x, Parameter) and not isinstance(x, State) else x.tensor_type for x in leaves]
    return parts, _form(structure)


def _form(structure: Structure) -> Any:
    return form(structure, lambda x: (type(x), repr(x)) if isinstance(x, _PLAIN) else id(x))


def form(part: Structure, said: Callable[[Any], Any]) -> Any:
    """A structure as what can be compared: `said` tells of values and keys."""
    if isinstance(part, Leaf):
        return part.number
    if isinstance(part, Fixed):
        return said(part.value)
    keys = [tuple(map(said, k)) if isinstance(k, tuple) else said(k) for k in part.keys]
    return (part.kind, *keys, *(form(x, said) for x in part.items))


def refuse_changing(kept: Iterable[Kept]) -> None:
    """TraceError GC133 for a step that is compiled for good, if it would find something else in an attribute the next time."""
    for each in kept:
        if each.changes:
            raise TraceError(
                f"{each.path} holds something else after each run than a step was compiled for",
                code="GC133",
                loc=each.loc,
                help="call the cell itself, which compiles for what it holds; or use a Parameter for what changes",
            )


def refuse_export(kept: Iterable[Kept]) -> None:
    """ExportError GC193 where a step sets attributes, which only Python has."""
    for each in kept:
        raise ExportError(
            f"the step sets {each.path}, an attribute of a Cell", loc=each.loc, help="return it from construct"
        )
