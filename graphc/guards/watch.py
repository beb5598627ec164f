"""Watching what a compiled step depends on and graphc is not told of: globals, class attributes, objects, containers, arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sized
from operator import attrgetter, is_, itemgetter
from types import CellType
from typing import Any

import numpy as np

_contents = attrgetter("cell_contents")


class Watch:
    """Remembers values and says whether they are still there, by identity: quick enough for every call of a step."""

    def __init__(self) -> None:
        self._mappings: dict[int, tuple[Any, dict[str, None]]] = {}
        self._variables: dict[int, CellType] = {}
        self._values: list[tuple[Callable[[Any], Any], Any, tuple[Any, ...]]] = []
        self._sizes: list[tuple[Sized, int]] = []
        self._arrays: list[tuple[np.ndarray[Any, Any], Any, bytes]] = []
        self._buffers: list[tuple[Any, bytes]] = []
        self._outcomes: list[tuple[Callable[[Any], Any], Any, Any]] = []
        self._moves = False

    @classmethod
    def of_what_moves(cls) -> Watch:
        """One that finds a change whenever it is asked."""
        made = cls()
        made._moves = True
        return made

    def mapping(self, mapping: Any, names: Iterable[str], sized: bool = False) -> None:
        """Watch the values of these keys, which are there; with `sized` also whether keys come or go."""
        held = self._mappings.setdefault(id(mapping), (mapping, {}))[1]
        held.update(dict.fromkeys(names))
        if sized:
            self._sizes.append((mapping, len(mapping)))

    def variables(self, cells: Iterable[CellType]) -> None:
        """Watch what variables around a function hold; all of them hold something."""
        self._variables.update((id(c), c) for c in cells)

    def attributes(self, owner: Any, names: list[str]) -> None:
        """Watch attributes that are there, of an object without a `__dict__`."""
        if names:
            self._values.append((_getter(attrgetter, names), owner, tuple(getattr(owner, n) for n in names)))

    def items(self, container: Any) -> None:
        """Watch the items of a list, set or deque."""
        self._values.append((iter, container, tuple(container)))
        self._sizes.append((container, len(container)))

    def entries(self, container: dict[Any, Any]) -> None:
        """Watch keys and values of a dict."""
        self._values += [(dict.keys, container, tuple(container)), (dict.values, container, tuple(container.values()))]
        self._sizes.append((container, len(container)))

    def array(self, array: np.ndarray[Any, Any]) -> None:
        """Watch the contents of an array."""
        self._arrays.append((array, _kind(array), array.tobytes()))

    def buffer(self, value: Any) -> None:
        """Watch the contents of memory that is no array of NumPy's."""
        self._buffers.append((value, bytes(memoryview(value))))

    def results(self, get: Callable[[Any], Any], source: Any) -> None:
        """Watch what a function gives of something."""
        self._values.append((get, source, tuple(get(source))))

    def outcome(self, get: Callable[[Any], Any], source: Any) -> None:
        """Watch what a function gives of something, which is compared as a value."""
        self._outcomes.append((get, source, get(source)))

    def start(self) -> None:
        """Nothing more is added: look at what there is."""
        for mapping, names in self._mappings.values():
            if names:
                keys = list(names)
                self._values.append((_getter(itemgetter, keys), mapping, tuple(mapping[k] for k in keys)))
        if self._variables:
            cells = tuple(self._variables.values())
            self._values.append((_all_contents, cells, tuple(map(_contents, cells))))
        self._mappings, self._variables = {}, {}

    def changed(self) -> bool:
        """Whether something else is there now."""
        if self._moves:
            return True
        try:
            for get, source, expected in self._values:
                if not all(map(is_, get(source), expected)):
                    return True
            for sized, size in self._sizes:
                if len(sized) != size:
                    return True
            for array, kind, contents in self._arrays:
                if _kind(array) != kind or array.tobytes() != contents:
                    return True
            if any(get(source) != expected for get, source, expected in self._outcomes):
                return True
            for buffer, held in self._buffers:
                if bytes(memoryview(buffer)) != held:
                    return True
        except (KeyError, AttributeError, ValueError, RuntimeError):
            return True  # Something is there no longer.
        return False


def _getter(maker: Any, names: list[str]) -> Callable[[Any], Any]:
    """What gets several values at once; a single one twice, so that it is a tuple, too."""
    made: Callable[[Any], Any] = maker(*names) if len(names) > 1 else maker(names[0], names[0])
    return made


def _all_contents(cells: tuple[CellType, ...]) -> Any:
    return map(_contents, cells)


def _kind(array: np.ndarray[Any, Any]) -> Any:
    return array.dtype, array.shape
