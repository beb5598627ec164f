"""Attributes of Cells that `construct` sets: Python would set them at every call, and so does the step, when it has run.

A set attribute is state of the Cell's, as a Parameter is. While the Cell is traced it holds what was set last, symbols among it,
and what it held before when the trace is over. Tensors that it holds at the end are written to memory of the step's, from which
they are copied into the Cell after each run; what is read before it is set comes from there, too. Which attributes these are is
found out by tracing: the first trace that sets one ends there, and begins anew. Lists and dicts that a trace has put tensors into
are such attributes as well.
"""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NoReturn
from weakref import WeakKeyDictionary

from graphc import dispatch
from graphc.errors import TraceError, user_loc
from graphc.nn.cell.cell import Cell, holds_state
from graphc.ops.tensor.tensor import Tensor
from graphc.ops.tensor.tree import flatten
from graphc.trace.conversion.code_names import sets
from graphc.trace.mutation.cell_state import MISSING, Kept, turns
from graphc.trace.mutation.containers import Growing, Swapped, containers_in, is_container

#: What a step has to do with an attribute: it sets it; appends to a list of whose items it knows nothing; reads what it holds.
SETS, GROWS, READS = range(3)
#: The names of attributes that any Cell's construct sets. Nobody is told when a step sets one.
names: set[str] = set()


class Again(BaseException):
    """Ends a trace that has found an attribute which nobody knew to be set: no `except` of the user's is meant."""


class Known:
    """The attributes that are set when one Cell is called, and what its step has to do with what they hold before that."""

    def __init__(self) -> None:
        self._found: WeakKeyDictionary[Cell, dict[str, int]] = WeakKeyDictionary()
        #: How many things were learned.
        self.size = 0

    def __iter__(self) -> Iterator[tuple[Cell, str]]:
        yield from ((cell, name) for cell, held in list(self._found.items()) for name in held)

    def learn(self, cell: Cell, name: str, how: int) -> None:
        """Note an attribute. What was looked at before is looked at anew."""
        held = self._found.setdefault(cell, {})
        self._latest = name, user_loc()
        if held.get(name, -1) < how:
            held[name] = how
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
                    self.learn(cell, name, SETS)

    def of(self, cell: Cell) -> dict[str, int]:
        """The names for one Cell, and what a step has to do with them."""
        return self._found.get(cell, {})


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
        self._swapped = Swapped()
        #: Copies of Cells that stand for them while their construct runs, and hold what they hold.
        self._copies: list[tuple[Cell, Cell]] = []
        #: What other attributes hold containers.
        self._others: list[tuple[str, Any]] | None = None

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
        with turns:
            try:
                for cell, name in self._that_have_other_names(found):
                    self._known.learn(cell, name, READS)
                for cell, name in found:
                    path = paths.get(id(cell), type(cell).__name__)
                    self._take(cell, name, path, unasked or hasattr(type(cell), name))
                self._swap()
                yield
            finally:
                self._swapped.put_back()
                self._put_back()

    def recall(self, cell: Cell, name: str) -> bool:
        """Whether an attribute that is not there is known: it is now, and holds what it did before the step."""
        key = id(cell), name
        if key not in self._before or key in self._given:
            return False
        held = self._before[key][2]
        if type(held) is list and self._known.of(cell)[name] < READS:
            self._known.learn(cell, name, GROWS)
            self._given[key] = Growing(self._recorder, partial(self._reads, cell, name))
        else:
            self._known.learn(cell, name, READS)
            self._given[key] = self._kept[key].enters(self._recorder, held)
        if self._given[key] is MISSING:
            return False
        self._hold(cell, name, self._given[key])
        return True

    def set(self, cell: Cell, name: str, value: Any) -> None:
        """Set an attribute. Raises Again if it was not known to be set."""
        if not self._is_known(cell, name):
            self._known.learn(cell, name, SETS)
            raise Again
        self._kept[id(cell), name].loc = user_loc()
        self._hold(cell, name, value)

    def write(self, x: Tensor) -> None:
        """A tensor that is a constant is about to be written. Raises Again if it is an attribute."""
        for _, cell in self._root.cells_and_names():
            for name, value in vars(cell).items():
                if self._is_known(cell, name):
                    continue
                if value is x or (is_container(value) and any(leaf is x for leaf in flatten(value)[0])):
                    self._reads(cell, name)

    def change(self, held: Any) -> None:
        """A container is changed on one way through the program. Raises Again if it is a part of an attribute that was not known:
        the next trace has a copy of it for each way.
        """
        for _, cell, name, value in self._unknown():
            if any(x is held for _, x in containers_in(value)):
                self._reads(cell, name)

    def keeps(self, cell: Cell, name: str, value: Any) -> bool:
        """Whether a container into which a trace has put a tensor is one that a step can change: the next trace knows it."""
        if self._is_known(cell, name) or not is_container(value) or not holds_state(cell, name):
            return False
        self._known.learn(cell, name, GROWS if type(value) is list else READS)
        return True

    def end(self, opened: Callable[[Any], Any]) -> list[Kept]:
        """Let the step write what the attributes hold now that all is traced; those that it reads or sets."""
        for key, (cell, name, _) in self._before.items():
            value, kept = vars(cell).get(name, MISSING), self._kept[key]
            is_given = value is self._given.get(key, MISSING)
            if value is not MISSING and not (is_given and kept.is_as_found(self._recorder, value)):
                kept.leaves(self._recorder, value, is_given, opened)
        return [k for key, k in self._kept.items() if key in self._given or k.loc is not None]

    def _reads(self, cell: Cell, name: str) -> NoReturn:
        self._known.learn(cell, name, READS)
        raise Again

    def forget(self) -> None:
        """Let go of the Cells, which the trace and what it has made would keep, in circles, for a while."""
        self._orders.clear()
        self._before.clear()
        self._kept.clear()
        self._given.clear()
        self._others = None
        del self._root, self._by_any_name, self._recorder

    def containers(self) -> frozenset[int]:
        """The ids of containers that the attributes hold now: what a trace changes of these, the step changes."""
        held = (vars(cell).get(name) for cell, name, _ in self._before.values())
        return frozenset(id(x) for value in held for _, x in containers_in(value))

    def _is_known(self, cell: Cell, name: str) -> bool:
        return (id(cell), name) in self._before

    def mark(self) -> dict[tuple[int, str], Any]:
        """What the attributes hold now, as far as they were read or set."""
        return {key: vars(cell).get(name, MISSING) for key, (cell, name, _) in self._before.items()}

    def beside(self, named: Collection[tuple[int, str]]) -> Beside:
        """Those that a way through the program may set besides `named`, the ids of Cells and the names of attributes for which it
        has names.
        """
        keys = [
            key
            for key, (cell, name, _) in self._before.items()
            if key not in named and not isinstance(vars(cell).get(name), Growing)
        ]
        return Beside(self, keys)

    def get(self, key: tuple[int, str]) -> Any:
        """What an attribute holds now; MISSING if it was neither read nor set."""
        cell, name, _ = self._before[key]
        return vars(cell).get(name, MISSING)

    def put(self, key: tuple[int, str], value: Any) -> None:
        """Let an attribute hold what it has held while the Cell was traced; MISSING: what it did before it was read or set."""
        cell, name, _ = self._before[key]
        value = self._given.get(key, MISSING) if value is MISSING else value
        self._hold(cell, name, value)

    @contextmanager
    def copied(self, cell: Cell, copy: Cell) -> Iterator[None]:
        """While a copy stands for a Cell."""
        self._copies.append((cell, copy))
        try:
            yield
        finally:
            self._copies.pop()

    def _hold(self, cell: Cell, name: str, value: Any) -> None:
        """Let a Cell hold something, and those that stand for it; MISSING: nothing."""
        for each in (cell, *(copy for of, copy in self._copies if of is cell)):
            if value is MISSING:
                vars(each).pop(name, None)
            else:
                vars(each)[name] = value

    def kept_value(self, key: tuple[int, str]) -> Any:
        """What an attribute holds behind a way that does not set it, as another does. TraceError GC133 where that is nothing."""
        cell, name, held = self._before[key]
        self.put(key, MISSING)
        if key not in self._given and type(held) is list and self._known.of(cell)[name] < READS:
            self._reads(cell, name)
        if self.get(key) is MISSING and not self.recall(cell, name):
            raise self._kept[key].refused("under a condition that is known only when the step runs")
        return self.get(key)

    def shown(self, key: tuple[int, str]) -> str:
        """An attribute as the outermost Cell has it."""
        return self._kept[key].path

    def changeable(self) -> Iterator[tuple[str, Any]]:
        """The containers that attributes of Cells hold, by the names that they have; they need not be known to be set."""
        if self._others is None:
            self._others = [(_shown(path, name), value) for path, _, name, value in self._unknown()]
        for shown, value in (*self._others, *((self.shown(key), self.get(key)) for key in self._before)):
            for keys, held in containers_in(value):
                yield shown + "".join(f"[{k!r}]" for k in keys), held

    def _unknown(self) -> Iterator[tuple[str, Cell, str, Any]]:
        """(path, Cell, attribute, container) of what attributes hold that are not known to be set, and may be."""
        for path, cell in self._root.cells_and_names():
            for name, value in vars(cell).items():
                if is_container(value) and not self._is_known(cell, name) and holds_state(cell, name):
                    yield path, cell, name, value

    def refuse_changed(self, mark: dict[tuple[int, str], Any]) -> None:
        """TraceError GC133 if one was set since then."""
        for key, value in self.mark().items():
            if value is not mark[key] and not (mark[key] is MISSING and value is self._given.get(key)):
                raise self._kept[key].refused("under a condition that is known only when the step runs")

    def _take(self, cell: Cell, name: str, path: str, unasked: bool) -> None:
        """Take an attribute out of its Cell; `unasked`: it may be read without asking the Cell, which is given it at once."""
        space = vars(cell)
        key = id(cell), name
        self._orders[key] = cell, list(space)
        self._before[key] = cell, name, space.pop(name, MISSING)
        self._kept[key] = Kept(cell, name, _shown(path, name))
        if unasked and not self._is_swapped(key):
            self.recall(cell, name)

    def _is_swapped(self, key: tuple[int, str]) -> bool:
        cell, name, held = self._before[key]
        return is_container(held) and self._known.of(cell)[name] == READS

    def _swap(self) -> None:
        """Let containers hold symbols, in the Cells that they were taken out of."""
        keys = [key for key in self._before if self._is_swapped(key)]
        # All are looked at first: one may be a part of another.
        found = {key: self._kept[key].finds(self._before[key][2]) for key in keys}
        for key, leaves in found.items():
            cell, name, held = self._before[key]
            self._kept[key].swaps(self._recorder, held, leaves, self._swapped)
            self._given[key] = held
            object.__setattr__(cell, name, held)

    @staticmethod
    def _that_have_other_names(found: list[tuple[Cell, str]]) -> Iterator[tuple[Cell, str]]:
        """Attributes whose lists others hold, too: they must be the same one while the Cell is traced."""
        held = [(cell, name, vars(cell).get(name)) for cell, name in found]
        names = Counter(id(x) for _, _, value in held for _, x in containers_in(value))
        yield from ((cell, name) for cell, name, value in held if is_container(value) and names[id(value)] > 1)

    def _put_back(self) -> None:
        for cell, name, value in self._before.values():
            vars(cell).pop(name, None)
            if value is not MISSING:
                vars(cell)[name] = value
        for cell, order in reversed(self._orders.values()):  # In which what a step depends on is compared.
            space = vars(cell)
            held = dict(space)
            space.clear()
            space.update((n, held.pop(n)) for n in order if n in held)
            space.update(held)


def _shown(path: str, name: str) -> str:
    return f"self.{path}.{name}" if path else f"self.{name}"


class Beside:
    """Attributes that a way through the program may set besides the names that it has for them, as a Cell does that it calls:
    what they hold is joined behind a branch, as what names hold is.
    """

    def __init__(self, attributes: Attributes | None = None, keys: list[tuple[int, str]] | None = None) -> None:
        self._attributes, self._keys = attributes, keys or []

    @property
    def names(self) -> tuple[str, ...]:
        """As the outermost Cell has them."""
        return tuple(self._attributes.shown(key) for key in self._keys) if self._attributes is not None else ()

    def __len__(self) -> int:
        return len(self._keys)

    def get(self) -> tuple[Any, ...]:
        """What they hold now."""
        return tuple(self._attributes.get(key) for key in self._keys) if self._attributes is not None else ()

    def put(self, values: tuple[Any, ...]) -> None:
        """Let them hold these, and what follows be others'."""
        for key, value in zip(self._keys, values, strict=False):
            assert self._attributes is not None
            self._attributes.put(key, value)

    def completed(self, then: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """The symbols behind both ways, they first: one that only one way sets keeps on the other what it held."""
        ways = list(then), list(other)
        for i, key in enumerate(self._keys):
            for way, another in (ways, ways[::-1]):
                if way[i] is MISSING and another[i] is not MISSING:
                    assert self._attributes is not None
                    way[i] = self._attributes.kept_value(key)
        return tuple(ways[0]), tuple(ways[1])


_NONE = Beside()


def attributes_of_trace() -> Attributes | None:
    """Those of the trace that is made now; None outside of one."""
    found: Attributes | None = getattr(dispatch.recorder.get(), "attributes", None)
    return found


def beside(named: Callable[[], Collection[tuple[int, str]]]) -> Beside:
    """Those that the trace which is made now may set besides what `named` gives."""
    found = attributes_of_trace()
    return found.beside(named()) if found is not None and found.are_there else _NONE
