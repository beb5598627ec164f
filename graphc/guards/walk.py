"""One look at all that tracing may read, from a Cell or from the arguments of a call.

Values are compared as values where that is known to tell all: numbers, strings, containers, arrays, functions with the same
code, objects of the user's whose attributes are the same. Everything else counts by identity. Objects are looked into as far
as code that can be reached mentions the names of their attributes; so are globals, variables around functions and members of
classes. Code of libraries is taken to stay as it is.
"""

from __future__ import annotations

import functools
import sys
import weakref
from array import array
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from enum import Enum
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from graphc.attached import KEY, behind
from graphc.guards.classes import is_used, kind_of, members
from graphc.guards.mentions import Mentions, mentions
from graphc.guards.watch import Watch
from graphc.nn.cell.cell import Cell
from graphc.nn.cell.marks import COMPILES
from graphc.ops.gradients.reverse import GradFunction
from graphc.ops.tensor.arrays import writes_to
from graphc.ops.tensor.dtype import DType
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.primitive import Primitive
from graphc.ops.tensor.sparse import Sparse
from graphc.ops.tensor.tensor import Tensor
from graphc.ops.tensor.tree import flatten
from graphc.trace.conversion.code_names import is_users, is_users_file
from graphc.trace.mutation import attributes, cell_state
from graphc.trace.mutation.containers import is_container

#: Attributes of a Cell that its class does not read, or that have a place of their own.
_INTERNAL = frozenset(
    (
        "_params",
        "_cells",
        "_buffer_names",
        "_state_hooks",
        "_auto_prefix",
        "_made_at",
        "_names_are_settled",
        COMPILES,
        "training",
        KEY,
    )
)
#: Attributes of a Cell that graphc itself reads.
_ALWAYS = frozenset(
    (
        "compute_dtype",
        "result_dtype",
        "low_dtype",
        "region",
        "_hooks",
        "_hook_changes",
        "_parameter_hooks",
        "_made_in_construct",
    )
)
#: Members of a module or class that are nobody's values.
_UNREAD = frozenset(("__dict__", "__weakref__", "__doc__", "__module__", "__annotations__", "__builtins__"))
_TRUE, _FALSE = ("True",), ("False",)

Token = Any


class Names:
    """The names that code reads which was found so far; it only grows."""

    def __init__(self) -> None:
        self.known = {"construct", "bprop"}
        self.everything = False
        self.grown = False

    @property
    def size(self) -> int:
        """Grows with what is found."""
        return len(self.known) + self.everything

    def add(self, found: Mentions) -> None:
        self._add(found.names, found.dynamic)

    def _add(self, names: frozenset[str], dynamic: bool) -> None:
        if not names <= self.known or (dynamic and not self.everything):
            self.known |= names
            self.everything |= dynamic
            self.grown = True

    def of_class(self, cls: type) -> None:
        """What code of libraries among the bases of a class reads."""
        kind = kind_of(cls)
        self._add(kind.names, kind.dynamic)

    def __contains__(self, name: str) -> bool:
        return self.everything or name in self.known


#: Attributes that tensors and parameters have of their own: what they say is looked at by itself.
_OF_TENSORS = frozenset(
    ("_array", "_name", "_parallel_optimizer", "_requires_grad", "cut", "is_named", "is_state", "layerwise_parallel")
)


class Walk:
    """What was found: `tokens` are equal where all is the same. `places` says what each of them stands for: the number of
    the object and the name in it; `origins` where each object was found first. `kept` are objects that count by identity
    and that nothing but this keeps alive; `iterators` are those among them that do not tell which item comes next, with
    the numbers of the objects.
    """

    def __init__(self, names: Names, known: attributes.Known | None = None) -> None:
        self.names, self.known = names, known
        self.tokens: list[Token] = []
        self.places: list[tuple[int, str]] = []
        self.origins: list[tuple[int, str]] = []
        self.kept: list[Any] = []
        self.iterators: list[tuple[int, Iterator[Any]]] = []
        self.watch = Watch()
        self._numbers: dict[int, int] = {}
        self._found: list[Any] = []

    def run(self, roots: Iterable[tuple[str, Any]]) -> Walk:
        """Look at values and at all that they lead to."""
        self._current = -1
        for label, value in roots:
            self._add(label, value)
        for number, value in enumerate(self._found):  # It grows meanwhile.
            self._current = number
            self._look_into(value)
        self._found = []
        return self

    # ---- tokens

    def _add(self, label: str, value: Any) -> None:
        self._put(label, self._token(value, label))

    def _put(self, label: str, token: Token) -> None:
        self.places.append((self._current, label))
        self.tokens.append(token)

    def _token(self, value: Any, label: str) -> Token:
        """A value that is compared at once; a number for what has to be looked into."""
        kind = type(value)
        if value is None or kind is str or kind is int:
            return value
        if kind is bool:
            return _TRUE if value else _FALSE
        if kind in (float, complex):
            return (kind, repr(value))  # NaN is NaN, and -0.0 is not 0.0.
        if kind is tuple:
            return (tuple, *[self._token(x, f"{label}[{i}]") for i, x in enumerate(value)])
        if kind in weakref.ProxyTypes:
            return self._token(behind(value), label)
        if isinstance(value, Tensor):
            return self._tensor(value, label)
        make = _ATOMS.get(kind)
        if make is not None:
            return (kind, make(value))
        if isinstance(value, (np.generic, np.dtype)):
            return (kind, value.tobytes() if isinstance(value, np.generic) else value)
        if kind is np.ndarray and value.dtype != object:
            return self._array(value)
        if kind in _BUFFERS:
            self.watch.buffer(value)
            return (kind, memoryview(value).format, memoryview(value).shape, memoryview(value).tobytes())
        if isinstance(value, Enum) or kind in _IDENTICAL:
            return self._same(value)
        if isinstance(value, type) and value in kind_of(value).users:
            made = [getattr(value, n, None) for n in ("__init__", "__new__", "__post_init__")]
            return (type, self._node(value, label), *[self._token(f, f"{label}()") for f in made])
        return self._node(value, label)

    def _node(self, value: Any, label: str) -> Token:
        """The number of an object that is looked into once."""
        number = self._numbers.get(id(value))
        if number is None:
            number = self._numbers[id(value)] = len(self._found)
            self._found.append(value)  # Which keeps its id its own until the end.
            self.origins.append((self._current, label))
        return ("#", number)

    def _same(self, value: Any) -> Token:
        """What tells an object from all others, even when it is gone. Only a weak reference where no code of the user's decides
        whether two are equal.
        """
        if isinstance(value, (Cell, Tensor, CodeType, type, ModuleType, FunctionType)):
            return (id(value), weakref.ref(value))
        self.kept.append(value)
        return (id(value), None)

    def _tensor(self, value: Tensor, label: str) -> Token:
        space, same = vars(value), self._same(value)
        others = space.keys() - _OF_TENSORS
        names = [n for n in others if n in self.names and not n.startswith("_")] if others else []
        self.watch.mapping(space, names, sized=True)
        if names:
            same = (*same, *[self._token(space[n], f"{label}.{n}") for n in sorted(names)])
        if isinstance(value, Parameter):
            storage = value.storage
            more = [self._token(value.__dict__.get(n), f"{label}.{n}") for n in ("grad_hooks", "accumulator")]
            return (*same, value.name, value.requires_grad, storage.shape, storage.dtype, *more)
        if value.array is not None and not value.is_rows and writes_to(value.array) < 0:
            return (*same, self._array(value.array))
        return (*same, value.writes)

    def _array(self, value: np.ndarray[Any, Any]) -> Token:
        ma = sys.modules.get("numpy.ma")
        if ma is not None and isinstance(value, ma.MaskedArray):
            mask = ma.getmask(value)
            self.watch.results(_mask, value)
            return (type(value), self._array(ma.getdata(value)), mask is not ma.nomask and self._array(mask))
        if value.dtype.hasobject or not (value.flags.writeable or value.base is not None):
            return self._same(value)
        self.watch.array(value)
        return (type(value), value.shape, value.dtype, value.tobytes())

    # ---- objects

    def _look_into(self, value: Any) -> None:
        kind = type(value)
        if isinstance(value, Cell):
            self._cell(value)
        elif kind is FunctionType:
            self._function(value)
        elif kind is MethodType:
            self._add("", value.__func__)
            self._add("", value.__self__)
        elif kind is functools.partial:
            self._put("", kind)
            for label, part in (("", value.func), (".args", value.args), (".keywords", value.keywords)):
                self._add(label, part)
        elif kind is BuiltinFunctionType:
            self._put("", value.__name__)
            self._add("", value.__self__)
        elif isinstance(value, type):
            self._class(value)
        elif isinstance(value, ModuleType):
            self._module(value)
        else:
            self._object(value)

    def _cell(self, cell: Cell) -> None:
        cls = type(cell)
        self._put("", self._same(cell))
        self._put("", self._node(cls, cls.__qualname__))
        self._put(".training", cell.training)
        kind = kind_of(cls)
        self.names.of_class(cls)
        children = {**cell._cells, **cell._params}
        for name, value in children.items():
            self._add(f".{name}", value)
        set_by_step = self.known.of(cell) if self.known is not None and self.known.size else {}
        watched: list[str] = []
        for name, value in vars(cell).items():
            if name in _INTERNAL or name in children:
                continue
            if name in set_by_step:
                if set_by_step[name] == attributes.READS:
                    self._put(f".{name}", self._kind(value, f".{name}"))
                elif set_by_step[name] == attributes.GROWS:
                    self._put(f".{name}", self._same(type(value)))
            elif not kind.free or name in _ALWAYS or name in self.names or name in cell._buffer_names:
                self._add(f".{name}", value)
                watched += [name] if name in attributes.names else []
        if watched:
            self.watch.mapping(vars(cell), watched)

    def _kind(self, value: Any, label: str) -> Token:
        """A value whose tensors are inputs of the step: their types alone."""
        leaves, structure = flatten(value)
        if not leaves:
            return self._token(value, label)
        parts = [self._token(x, label) if isinstance(x, Parameter) else x.tensor_type for x in leaves]
        if is_container(value):  # Which may be changed past its Cell.
            self.watch.outcome(cell_state.kind_of, value)
        return ("kind", *parts, cell_state.form(structure, lambda x: self._token(x, label)))

    def _function(self, function: FunctionType) -> None:
        code, users = function.__code__, is_users(function)
        self._put("", self._same(code))
        self._add(" defaults", function.__defaults__)
        if function.__kwdefaults__:
            self._add(" defaults", function.__kwdefaults__)
        space = vars(function)
        names = [n for n in space if n == "__wrapped__" or (n != KEY and n in self.names)]
        for name in names:
            self._add(f".{name}", space[name])
        found = mentions(code)
        if users:
            self.watch.mapping(space, names, sized=True)
            self.watch.attributes(function, ["__code__", "__defaults__", "__kwdefaults__"])
            self.names.add(found)
        self._around(function, found if users else None)
        if users:
            self._globals(function.__globals__, found)

    def _around(self, function: FunctionType, found: Mentions | None) -> None:
        """Variables around a function: all that its code reads; of a library's function, what can be called."""
        filled = []
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            try:
                value = cell.cell_contents
            except ValueError:
                continue  # Not assigned yet.
            if name in found.around if found is not None else callable(value):
                filled.append(cell)
                self._add(name, value)
        self.watch.variables(filled)

    def _globals(self, space: dict[str, Any], found: Mentions) -> None:
        names = [n for n in found.globals if n in space]
        self._put("", id(space))
        for name in names:
            self._add(name, space[name])
        self.watch.mapping(space, names)
        for name in found.modules:
            if name in sys.modules:
                self._add(name, sys.modules[name])

    def _class(self, cls: type) -> None:
        """A class: what the user's classes among its bases define, under names that are read."""
        self._put("", self._same(cls))
        self.names.of_class(cls)
        kind = kind_of(cls)
        if type(cls) is not type:
            self._put("", self._node(type(cls), f"type({cls.__qualname__})"))
        if cls not in kind.users:
            return
        for base in kind.users[1:]:
            self._put("", self._node(base, base.__qualname__))
        space = vars(cls)
        names = [n for n, v in space.items() if (n in self.names and n not in _UNREAD) or is_used(n, v)]
        for name in names:
            for value in members(space[name]):
                self._add(f".{name}", value)
        self.watch.mapping(space, names, sized=True)

    def _module(self, module: ModuleType) -> None:
        self._put("", self._same(module))
        file = getattr(module, "__file__", None)
        if file is None or not is_users_file(file):
            return
        names = [n for n in vars(module) if n in self.names.known and n not in _UNREAD]
        for name in names:
            self._add(f".{name}", vars(module)[name])
        self.watch.mapping(vars(module), names)

    def _object(self, value: Any) -> None:
        cls = type(value)
        kind = kind_of(cls)
        look = _CONTENTS.get(cls) or next((f for base, f in _CONTENTS.items() if isinstance(value, base)), None)
        whole = isinstance(value, (Primitive, GradFunction))
        if look is None and not kind.plain:
            self._put("", self._same(value))
            if isinstance(value, Iterator) and not hasattr(value, "__dict__"):
                self.iterators.append((self._current, value))
        self._put("", self._node(cls, cls.__qualname__))
        if look is not None:
            look(self, value)
        space = getattr(value, "__dict__", None)
        if isinstance(space, dict):
            names = [n for n in space if n != KEY and (whole or n in self.names or n == "__wrapped__")]
            for name in names:
                self._add(f".{name}", space[name])
            self.watch.mapping(space, names, sized=True)
        self._slots(value, kind.users)

    def _slots(self, value: Any, users: tuple[type, ...]) -> None:
        slots = [n for c in users for n in _names(vars(c).get("__slots__", ())) if n in self.names]
        names = [n for n in slots if hasattr(value, n)]
        for name in names:
            self._add(f".{name}", getattr(value, name))
        self.watch.attributes(value, names)

    # ---- containers

    def _items(self, value: Any) -> None:
        self._put("", ("length", len(value)))
        for i, item in enumerate(value):
            self._add(f"[{i}]", item)
        if not isinstance(value, (tuple, frozenset)):
            self.watch.items(value)

    def _parts(self, value: Sparse) -> None:
        self._add(".shape", value.shape)
        for name, part in zip(value.PARTS, value.parts, strict=True):
            self._add(f".{name}", part)

    def _elements(self, value: np.ndarray[Any, Any]) -> None:
        """What an array holds, of objects or of a class of its own."""
        if value.dtype != object:
            self._put("", self._array(value))
            return
        self._put("", ("shape", value.shape))
        for i, item in enumerate(value.flat):
            self._add(f".flat[{i}]", item)
        self.watch.results(_flat, value)

    def _of_context(self, value: ContextVar[Any]) -> None:
        self._add(".get()", value.get(None))
        self.watch.results(_in_context, value)

    def _entries(self, value: dict[Any, Any]) -> None:
        self._put("", ("length", len(value)))
        for key, item in value.items():
            self._add(" keys", key)
            self._add(f"[{key!r}]" if isinstance(key, (str, int)) else "[...]", item)
        self.watch.entries(value)


def _names(slots: Any) -> tuple[str, ...]:
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _mask(array: Any) -> tuple[Any]:
    return (np.ma.getmask(array),)


def _flat(array: np.ndarray[Any, Any]) -> Iterable[Any]:
    return array.flat


def _in_context(variable: ContextVar[Any]) -> tuple[Any]:
    return (variable.get(None),)


#: Memory that is no array of NumPy's.
_BUFFERS = frozenset((bytearray, array, memoryview))
_ATOMS: dict[type, Callable[[Any], Any]] = {
    bytes: lambda x: x,
    range: lambda x: (x.start, x.stop, x.step),
    DType: lambda x: x.name,
}
#: Immutable, or without anything that could be compared.
_IDENTICAL = frozenset((np.ufunc, type(Ellipsis), type(NotImplemented), CodeType))
_CONTENTS: dict[type, Callable[[Walk, Any], None]] = {
    list: Walk._items,
    tuple: Walk._items,
    set: Walk._items,
    frozenset: Walk._items,
    deque: Walk._items,
    dict: Walk._entries,
    Sparse: Walk._parts,
    np.ndarray: Walk._elements,
    ContextVar: Walk._of_context,
}


def walk(names: Names, roots: list[tuple[str, Any]], known: attributes.Known | None = None) -> Walk:
    """Look again as long as code is found that reads more. known: the attributes that the step sets."""
    while True:
        names.grown = False
        made = Walk(names, known).run(roots)
        if not names.grown:
            made.watch.start()
            return made
