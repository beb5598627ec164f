"""Attributes of Cells that `construct` sets: Python would set them at every call, and so does the step, when it has run.

A set attribute is state of the Cell's, as a Parameter is. While the Cell is traced it holds what was set last, symbols among it,
and what it held before when the trace is over. Tensors that it holds at the end are written to memory of the step's, from which
they are copied into the Cell after each run; what is read before it is set comes from there, too. Which attributes these are is
found out by tracing: the first trace that sets one ends there, and begins anew.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn
from weakref import WeakKeyDictionary, ref

import numpy as np

from graphc import dispatch
from graphc.errors import ExportError, Loc, SignatureError, TraceError, user_loc
from graphc.ir import TensorType
from graphc.nn.cell.cell import Cell, holds_state
from graphc.ops.functional.index import write_now
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor, TracedTensor, require_array
from graphc.ops.tensor.tree import Fixed, Leaf, Structure, flatten, unflatten
from graphc.trace.mentioned import sets
from graphc.trace.sizes import measured
from graphc.trace.standins import Joined
from graphc_codegen.forks import rlock

#: Python values that are compared as values.
_PLAIN = (str, bytes, bool, int, float, complex, type(None))
#: What an attribute holds that is not there.
_MISSING: Any = object()
#: Held while Cells hold symbols, and while their attributes are set after a run.
_turns = rlock()
#: The names of attributes that any Cell's construct sets. Nobody is told when a step sets one.
names: set[str] = set()


class Again(BaseException):
    """Ends a trace that has found an attribute which nobody knew to be set: no `except` of the user's is meant."""


class Known:
    """The attributes that are set when one Cell is called, and whether they are read before that."""

    def __init__(self) -> None:
        self._found: WeakKeyDictionary[Cell, dict[str, bool]] = WeakKeyDictionary()
        #: How many things were learned.
        self.size = 0

    def __iter__(self) -> Iterator[tuple[Cell, str]]:
        yield from ((cell, name) for cell, held in list(self._found.items()) for name in held)

    def learn(self, cell: Cell, name: str, is_read: bool) -> None:
        """Note an attribute. What was looked at before is looked at anew."""
        held = self._found.setdefault(cell, {})
        self._latest = name, user_loc()
        if held.get(name) != (is_read or held.get(name, False)):
            held[name] = is_read
            names.add(name)
            self.size += 1
            dispatch.touch()

    def refuse_latest(self) -> NoReturn:
        """TraceError GC133 for the attribute that was noted last: what has happened before it is set cannot happen twice."""
        name, loc = self._latest
        raise TraceError(
            f"self.{name} is set inside construct, which has changed by then what cannot go back, such as an iterator",
            code="GC133",
            loc=loc,
            help="take the item before the call, and give it as an argument",
        )

    def expect(self, root: Cell) -> None:
        """Note what the code of each `construct` sets, so that a trace need not end there."""
        for _, cell in root.cells_and_names():
            code = getattr(inspect.unwrap(type(cell).construct), "__code__", None)
            for name in () if code is None else sets(code):
                if name not in self.of(cell) and holds_state(cell, name):
                    self.learn(cell, name, is_read=False)

    def of(self, cell: Cell) -> dict[str, bool]:
        """The names for one Cell, and whether they are read first."""
        return self._found.get(cell, {})


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
        self._in_place = False

    @property
    def is_read(self) -> bool:
        """Whether a step reads what the attribute holds before it."""
        return self._entry is not None

    @property
    def changes(self) -> bool:
        """Whether a step finds something of another kind, or another Python value, than it leaves: it fits one call."""
        if self._entry is None or self._exit is None:
            return False
        return bool(_kind(*self._entry) != _kind(*self._exit[:2]))

    def enters(self, recorder: Any, value: Any) -> Any:
        """What the attribute holds before the step, with symbols for its tensors."""
        leaves, structure = flatten(value)
        states = [x if isinstance(x, Parameter) else self._state(k, x.tensor_type) for k, x in enumerate(leaves)]
        self._entry = states, structure
        pairs = zip(states, leaves, strict=True)
        return unflatten(structure, [s if s is x else _symbol(recorder, s, x) for s, x in pairs])

    def is_as_found(self, recorder: Any, value: Any) -> bool:
        """Whether the value that stood for what the attribute held has not been changed in place either."""
        assert self._entry is not None
        states, structure = self._entry
        leaves, now = flatten(value)
        if _form(now) != _form(structure) or len(leaves) != len(states):
            return False
        pairs = [(x, s) for x, s in zip(leaves, states, strict=True) if x is not s]
        return all([isinstance(x, TracedTensor) and x.handle[1] == recorder.state[id(s)] for x, s in pairs])

    def leaves(self, recorder: Any, value: Any, in_place: bool, opened: Callable[[Any], Any]) -> None:
        """Let the step write what the attribute holds at its end. in_place: the object that it held before, changed."""
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
        if self._entry is None or cell is None:
            return None
        states, structure = self._entry
        leaves, held = flatten(vars(cell).get(self._name, _MISSING))
        if _kind(leaves, held) != _kind(states, structure):
            raise SignatureError(
                f"{self.path} holds something else than this step was compiled for",
                loc=user_loc(),
                help="compile again, or call the cell itself, which compiles for what it holds",
            )
        for state, x in zip(states, leaves, strict=True):
            if isinstance(state, State):
                state.storage[...] = require_array(x)
        return 1 if self.changes else None

    def __call__(self, count: int) -> None:
        """Set the attribute, `count` steps having been made."""
        cell = self._cell()
        if self._exit is None or cell is None:
            return
        ends, structure, numbers = self._exit
        made: list[Any] = []
        for x, is_number in zip(ends, numbers, strict=True):
            x = Tensor.wrap(x.storage.copy()) if isinstance(x, State) else x
            made.append(x.item() if is_number else x)
        value = unflatten(structure, made)
        with _turns:
            held = vars(cell).get(self._name, _MISSING)
            kind = _kind(*flatten(held))
            if not (self._in_place and _put_into(held, value)):
                object.__setattr__(cell, self._name, value)
        if (isinstance(held, Tensor) and self._in_place) or kind != _kind(*flatten(value)):
            dispatch.touch()

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


class Attributes:
    """The attributes that one trace sets."""

    def __init__(self, known: Known, root: Cell, by_any_name: Callable[[], bool]) -> None:
        """by_any_name: whether code that the Cell reaches reads attributes past their Cell, as `vars` does."""
        self._known, self._root, self._by_any_name = known, root, by_any_name
        #: Whether any are known.
        self.are_there = False
        self._recorder: Any = None
        self._orders: dict[tuple[int, str], tuple[Cell, list[str]]] = {}
        self._before: dict[tuple[int, str], tuple[Cell, str, Any]] = {}
        self._kept: dict[tuple[int, str], Kept] = {}
        self._given: dict[tuple[int, str], Any] = {}

    @contextmanager
    def traced(self, recorder: Any) -> Iterator[None]:
        """While a Cell is traced: what is known to be set is taken out of the Cells until it is read or set."""
        self._recorder = recorder
        found = list(self._known)
        if not found:
            yield
            return
        unasked, self.are_there = self._by_any_name(), True
        paths = {id(cell): path for path, cell in self._root.cells_and_names()}
        with _turns:
            try:
                for cell, name in found:
                    path = paths.get(id(cell), type(cell).__name__)
                    self._take(cell, name, path, unasked or hasattr(type(cell), name))
                yield
            finally:
                self._put_back()

    def recall(self, cell: Cell, name: str) -> bool:
        """Whether an attribute that is not there is known: it is now, and holds what it did before the step."""
        key = id(cell), name
        if key not in self._before or key in self._given:
            return False
        if not self._known.of(cell)[name]:
            self._known.learn(cell, name, is_read=True)
        self._given[key] = self._kept[key].enters(self._recorder, self._before[key][2])
        if self._given[key] is _MISSING:
            return False
        object.__setattr__(cell, name, self._given[key])
        return True

    def set(self, cell: Cell, name: str, value: Any) -> None:
        """Set an attribute. Raises Again if it was not known to be set."""
        if not self._is_known(cell, name):
            self._known.learn(cell, name, is_read=False)
            raise Again
        self._kept[id(cell), name].loc = user_loc()
        object.__setattr__(cell, name, value)

    def write(self, x: Tensor) -> None:
        """A tensor that is a constant is about to be written. Raises Again if it is an attribute."""
        for _, cell in self._root.cells_and_names():
            for name, value in vars(cell).items():
                if value is x and not self._is_known(cell, name):
                    self._known.learn(cell, name, is_read=True)
                    raise Again

    def end(self, opened: Callable[[Any], Any]) -> list[Kept]:
        """Let the step write what the attributes hold now that all is traced; those that it reads or sets."""
        for key, (cell, name, _) in self._before.items():
            value, kept = vars(cell).get(name, _MISSING), self._kept[key]
            is_given = value is self._given.get(key, _MISSING)
            if value is not _MISSING and not (is_given and kept.is_as_found(self._recorder, value)):
                kept.leaves(self._recorder, value, is_given, opened)
        return [k for key, k in self._kept.items() if key in self._given or k.loc is not None]

    def forget(self) -> None:
        """Let go of the Cells, which the trace and what it has made would keep, in circles, for a while."""
        self._orders.clear()
        self._before.clear()
        self._kept.clear()
        self._given.clear()
        del self._root, self._by_any_name, self._recorder

    def _is_known(self, cell: Cell, name: str) -> bool:
        return (id(cell), name) in self._before

    def mark(self) -> dict[tuple[int, str], Any]:
        """What the attributes hold now, as far as they were read or set."""
        return {key: vars(cell).get(name, _MISSING) for key, (cell, name, _) in self._before.items()}

    def refuse_changed(self, mark: dict[tuple[int, str], Any]) -> None:
        """TraceError GC133 if one was set since then."""
        for key, value in self.mark().items():
            if value is not mark[key] and not (mark[key] is _MISSING and value is self._given.get(key)):
                raise self._kept[key].refused("under a condition that is known only when the step runs")

    def _take(self, cell: Cell, name: str, path: str, unasked: bool) -> None:
        """Take an attribute out of its Cell; `unasked`: it may be read without asking the Cell, which is given it at once."""
        space = vars(cell)
        key, shown = (id(cell), name), f"self.{path}.{name}" if path else f"self.{name}"
        self._orders[key] = cell, list(space)
        self._before[key] = cell, name, space.pop(name, _MISSING)
        self._kept[key] = Kept(cell, name, shown)
        if unasked:
            self.recall(cell, name)

    def _put_back(self) -> None:
        for cell, name, value in self._before.values():
            vars(cell).pop(name, None)
            if value is not _MISSING:
                vars(cell)[name] = value
        for cell, order in reversed(self._orders.values()):  # In which what a step depends on is compared.
            space = vars(cell)
            held = dict(space)
            space.clear()
            space.update((n, held.pop(n)) for n in order if n in held)
            space.update(held)


__all__ = ["Again", "Attributes", "Kept", "Known", "names"]
