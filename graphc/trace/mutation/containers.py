"""Lists and dicts of Cells that `construct` changes in place, as the step does after each run.

While the Cell is traced they hold symbols in place of their tensors, and are the objects that they were, so that whoever else
holds them sees what is done to them; when the trace is over they hold what they did before. A list that is only appended to is
not read: what a trace appends is kept apart.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from graphc import dispatch
from graphc.ops.tensor.tensor import Tensor
from graphc.ops.tensor.tree import is_named, map_leaves

#: The keys and numbers that lead to a container in a nest.
Path = tuple[Any, ...]

_LISTS, _DICTS = (list,), (dict, OrderedDict, defaultdict)


def is_container(value: Any) -> bool:
    """Whether a step may change it in place."""
    return type(value) in (*_LISTS, *_DICTS)


def iter_of(items: Any) -> Iterator[Any]:
    """The items of a list or another collection, of what a trace or a turn appends to a list, too, for those who look through
    all that there is: the program itself reads nothing by that.
    """
    return list.__iter__(items) if isinstance(items, list) else iter(items)


def containers_in(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The lists and dicts of a nest, outer ones first."""
    if is_container(value) or isinstance(value, Growing):
        yield path, value
    items: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, (list, tuple)):
        items = enumerate(iter_of(value))
    for key, x in items:
        if isinstance(x, (list, tuple, dict)):
            yield from containers_in(x, (*path, key))


class Swapped:
    """Containers that hold symbols while a Cell is traced."""

    def __init__(self) -> None:
        self._items: dict[int, tuple[Any, Any]] = {}

    def __contains__(self, value: Any) -> bool:
        return id(value) in self._items

    def swap(self, value: Any, symbols: dict[int, Tensor]) -> Any:
        """Put symbols in place of the tensors of these ids; what then is in the value's place."""
        if isinstance(value, Tensor):
            return symbols.get(id(value), value)
        if is_container(value):
            if value not in self:
                self._items[id(value)] = value, value.copy()
                for key, x in list(value.items() if isinstance(value, dict) else enumerate(value)):
                    value[key] = self.swap(x, symbols)
            return value
        if isinstance(value, tuple):
            made = [self.swap(x, symbols) for x in value]
            if all(x is y for x, y in zip(made, value, strict=True)):
                return value
            return type(value)(*made) if is_named(value) else type(value)(made)
        return map_leaves(lambda x: symbols.get(id(x), x), value)

    def put_back(self) -> None:
        """Let them hold again what they did."""
        for held, before in self._items.values():
            held.clear()
            (held.update if isinstance(held, dict) else held.extend)(before)
        self._items.clear()


def into_held(held: Any, made: Any, places: dict[Path, Path]) -> Any:
    """A nest that a run has made, where those containers of it that the step has found are the ones that it has found, changed in
    place. places: where they are now, and where in what is `held` they were.
    """
    found = dict(containers_in(held))

    def put(value: Any, path: Path) -> Any:
        if isinstance(value, dict):
            items = {k: put(x, (*path, k)) for k, x in value.items()}
            target = found.get(places[path]) if path in places else value
            if type(target) is not type(value):
                target = value
            target.clear()
            target.update(items)
            return target
        if not isinstance(value, (list, tuple)):
            return value
        parts = [put(x, (*path, i)) for i, x in enumerate(value)]
        if isinstance(value, tuple):
            return type(value)(*parts) if is_named(value) else type(value)(parts)
        target = found.get(places[path]) if path in places else value
        target = target if type(target) is type(value) else value
        target[:] = parts
        return target

    return put(made, ()) if places else made


class Growing(list[Any]):
    """What a trace appends to a list whose items it does not know. Reading it, but for `iter_of`, and appending where not
    every run does, calls `is_read`, which raises.
    """

    def __init__(self, recorder: Any, is_read: Callable[[], None]) -> None:
        super().__init__()
        self._recorder, self._is_read = recorder, is_read

    def append(self, item: Any) -> None:
        """Put an item at the end."""
        self._require_every_run()
        list.append(self, item)

    def extend(self, items: Iterable[Any]) -> None:
        """Put items at the end."""
        self._require_every_run()
        list.extend(self, items)

    def __iadd__(self, items: Iterable[Any]) -> Any:  # type: ignore[misc]
        self.extend(items)
        return self

    def _require_every_run(self) -> None:
        if dispatch.recorder.get() is not self._recorder:
            self._is_read()

    def own(self) -> list[Any]:
        """The items."""
        return list(iter_of(self))


def _reading(name: str) -> Callable[..., Any]:
    own = getattr(list, name, None)

    def read(self: Growing, *args: Any, **kwargs: Any) -> Any:
        self._is_read()
        assert own is not None
        return own(self, *args, **kwargs)

    return read


for _name in (
    "__getitem__", "__setitem__", "__delitem__", "__len__", "__iter__", "__contains__", "__reversed__", "__eq__", "__ne__",
    "__lt__", "__le__", "__gt__", "__ge__", "__add__", "__radd__", "__mul__", "__imul__", "__rmul__", "__repr__", "__bool__",
    "__reduce_ex__", "insert", "pop", "remove", "clear", "index", "count", "sort", "reverse", "copy",
):  # fmt: skip
    setattr(Growing, _name, _reading(_name))
