"""Functions over nests: HyperMap, Map, and MultitypeFuncGraph, which chooses a function by the types of its arguments."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphc import dispatch
from graphc.errors import ArgumentTypeError, TraceError, user_loc
from graphc.ops.tensor.dtype import DType
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor, TracedTensor
from graphc.validation.checks import boolean, string

_INTS = ("Int", "Int8", "Int16", "Int32", "Int64", "UInt8")

_FLOATS = ("Float", "Float16", "Float32", "Float64", "BFloat16")


def _fit(name: str, x: Any) -> int:
    """How well a value fits a type name: 3 exactly, 2 as one of a kind, 1 for a number where a Tensor is named, 0 not at all."""
    kind = kind_of(x)
    number = kind in ("Bool", "Int", "Float")
    if name in ("Tensor", "TensorType"):
        return 3 if kind == "Tensor" else 2 if kind == "RowTensor" else int(number)
    if name in ("Ref", "RefType", "Parameter"):
        return 3 if isinstance(x, Parameter) else 0
    if name == "Number":
        return 2 if number else 0
    if name in _INTS or name in _FLOATS:
        return 3 if kind == ("Int" if name in _INTS else "Float") else 0
    alike = {"Str": "String", "NoneType": "None", "TypeNone": "None", "Dict": "Dictionary", "Type": "TypeType"}
    return 3 if alike.get(name, name) == kind else 0


def kind_of(x: Any) -> str:
    """The type name under which functions for a value are registered: "Tensor", "Bool", "Int", "Float", "Tuple", ..."""
    if isinstance(x, Tensor) and x.is_number:
        return (
            "Bool"
            if x.tensor_type.dtype == "bool"
            else "Complex"
            if x.tensor_type.is_complex
            else "Float"
            if x.tensor_type.is_float
            else "Int"
        )
    if isinstance(x, Tensor):
        return "RowTensor" if x.is_rows else "Tensor"
    if x is None:
        return "None"
    if isinstance(x, (type, DType)):
        return "TypeType"
    kinds: tuple[tuple[Any, str], ...] = (
        ((bool, np.bool_), "Bool"),
        ((int, np.integer), "Int"),
        ((float, np.floating), "Float"),
        (str, "String"),
        (tuple, "Tuple"),
        (list, "List"),
        (dict, "Dictionary"),
        (slice, "Slice"),
        (type(Ellipsis), "Ellipsis"),
    )
    for classes, kind in kinds:
        if isinstance(x, classes):
            return kind
    return "Function" if callable(x) else type(x).__name__


def _type_name(given: Any) -> str:
    """The name of a type given as a string, or as one of the objects that MindSpore names types with."""
    if isinstance(given, str):
        return given.strip()
    named = {
        Tensor: "Tensor",
        bool: "Bool",
        int: "Int",
        float: "Float",
        tuple: "Tuple",
        list: "List",
        str: "String",
        dict: "Dictionary",
    }
    if isinstance(given, type) and given in named:
        return named[given]
    if isinstance(given, DType):
        return str(given)
    raise ArgumentTypeError(
        f"a type is registered by its name, got {type(given).__name__}",
        loc=user_loc(),
        help='for example @f.register("Tensor", "Number")',
    )


def prepared(fn: Callable[..., Any]) -> Callable[..., Any]:
    """`fn`, made ready for tracing where a Cell is being compiled; looks into `partial`."""
    active = dispatch.recorder.get()
    if active is None:
        return fn
    if isinstance(fn, functools.partial):
        return functools.partial(prepared(fn.func), *fn.args, **fn.keywords)
    return active.prepared(fn)


class MultitypeFuncGraph:
    """A function with one implementation per combination of argument types (MindSpore: ops.MultitypeFuncGraph).

    `@f.register("Tensor", "Number")` adds one. Type names: Tensor, Number (Bool, Int, Float), String, Tuple, List,
    Dictionary, None, Function, ... A call takes the registered function whose names fit best: an exact name before Number,
    and a number goes to Tensor where nothing else is registered for it.
    A RowTensor goes to Tensor where nothing is registered for it. MapTensor, which graphc does not have, never fits.
    Raises ArgumentTypeError, with the types given and those registered, where none fits.
    """

    def __init__(self, name: str, read_value: bool = False, need_raise: bool = False, doc_url: str = "") -> None:
        string("MultitypeFuncGraph", "name", name)
        self.name = name
        self.entries: list[tuple[tuple[str, ...], Callable[..., Any]]] = []

    def register(self, *type_names: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """A decorator that adds a function for these types. It returns the function itself."""
        names = tuple(
            _type_name(part)
            for given in type_names
            for part in (given.split(",") if isinstance(given, str) else [given])
        )

        def add(fn: Callable[..., Any]) -> Callable[..., Any]:
            if not callable(fn):
                raise ArgumentTypeError(
                    f"{self.name}: cannot register {type(fn).__name__}, expected a function", loc=user_loc()
                )
            self.entries = [(n, f) for n, f in self.entries if n != names] + [(names, fn)]
            return fn

        return add

    def find(self, args: Sequence[Any]) -> Callable[..., Any]:
        """The registered function for these arguments."""
        best: tuple[int, Callable[..., Any] | None] = (-1, None)
        for names, fn in self.entries:
            if len(names) != len(args):
                continue
            fits = [_fit(n, x) for n, x in zip(names, args, strict=True)]
            if all(fits) and sum(fits) > best[0]:
                best = (sum(fits), fn)
        if best[1] is None:
            known = [", ".join(names) for names, _ in self.entries]
            raise ArgumentTypeError(
                f"{self.name} has no function for ({', '.join(map(_described, args))})",
                loc=user_loc(),
                details=[f"registered are {'; '.join(f'({k})' for k in known) or 'none'}"],
                help=f"register one: @{self.name}.register({', '.join(repr(kind_of(x)) for x in args)})",
            )
        return best[1]

    def __call__(self, *args: Any) -> Any:
        return prepared(self.find(args))(*args)

    def __repr__(self) -> str:
        return f"MultitypeFuncGraph({self.name!r}, {len(self.entries)} functions)"


def _described(x: Any) -> str:
    kind = kind_of(x)
    return f"{kind} {x.tensor_type}" if isinstance(x, Tensor) else kind


class Map:
    """Map(fn)(*sequences), or Map()(fn, *sequences): fn of the items, one level deep (MindSpore: ops.Map).

    Sequences are tuples, lists or dicts of one kind, length and keys; an argument that is no sequence goes with every item.
    With `reverse` the items are taken from the last to the first; the result keeps their places.
    Raises ArgumentTypeError if fn is no function, TraceError for sequences that do not match.
    """

    deep = False

    def __init__(self, ops: Callable[..., Any] | None = None, reverse: bool = False) -> None:
        owner = type(self).__name__
        if ops is not None and not callable(ops):
            raise ArgumentTypeError(f"{owner}: ops must be a function, got {type(ops).__name__}", loc=user_loc())
        boolean(owner, "reverse", reverse)
        self.fn, self.reverse = ops, reverse

    def __call__(self, *args: Any) -> Any:
        if self.fn is None:
            if not args or not callable(args[0]):
                given = type(args[0]).__name__ if args else "nothing"
                raise ArgumentTypeError(
                    f"{type(self).__name__}: the first argument must be a function, got {given}", loc=user_loc()
                )
            return self._apply(args[0], args[1:], True)
        return self._apply(self.fn, args, True)

    def _apply(self, fn: Callable[..., Any], args: tuple[Any, ...], top: bool) -> Any:
        nests = [x for x in args if isinstance(x, (tuple, list, dict))]
        if not nests or not (top or self.deep):
            return fn(*args) if isinstance(fn, MultitypeFuncGraph) else prepared(fn)(*args)
        first = nests[0]
        kind = type_of_nest(first)
        if any(type_of_nest(x) != kind for x in nests):
            kinds = ", ".join(kind_of(x) for x in args)
            raise TraceError(
                f"{type(self).__name__}: the arguments nest differently: {kinds}", code="GC100", loc=user_loc()
            )
        if any(len(x) != len(first) for x in nests) or (kind is dict and any(list(x) != list(first) for x in nests)):
            sizes = ", ".join(str(list(x) if kind is dict else len(x)) for x in nests)
            raise TraceError(
                f"{type(self).__name__}: the sequences differ in length: {sizes}", code="GC100", loc=user_loc()
            )
        keys = list(first) if kind is dict else list(range(len(first)))
        made = {
            k: self._apply(fn, tuple(x[k] if isinstance(x, (tuple, list, dict)) else x for x in args), False)
            for k in (reversed(keys) if self.reverse else keys)
        }
        if kind is dict:
            return {k: made[k] for k in keys}
        items = [made[k] for k in keys]
        return tuple(items) if kind is tuple else items

    def __repr__(self) -> str:
        return f"{type(self).__name__}({'' if self.fn is None else self.fn!r})"


def type_of_nest(x: Any) -> type:
    """tuple, list or dict."""
    return tuple if isinstance(x, tuple) else list if isinstance(x, list) else dict


class HyperMap(Map):
    """As Map, but into nests of any depth: fn sees what is no tuple, list or dict (MindSpore: ops.HyperMap)."""

    deep = True


def partial(fn: Callable[..., Any], *args: Any) -> Callable[..., Any]:
    """fn with its first arguments given (MindSpore: ops.partial). ArgumentTypeError if fn is no function."""
    if not callable(fn):
        raise ArgumentTypeError(f"partial: fn must be a function, got {type(fn).__name__}", loc=user_loc())
    return functools.partial(fn, *args)


def identity(x: Any) -> Any:
    """x itself; in a compiled Cell a tensor is one of its own."""
    return x.value() if isinstance(x, TracedTensor) else x


__all__ = ["HyperMap", "Map", "MultitypeFuncGraph", "identity", "partial"]
