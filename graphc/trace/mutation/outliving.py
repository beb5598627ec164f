"""What tracing changes for good: containers and objects that outlive the call. Python would change them at every call, and the
step, once it is compiled, never.

What functions of the user's reach is noted before they run, and compared when the step is made. `traced_once` reads from the code
what is sure to happen; here counts what has happened, wherever: in methods of other objects, setters, generators, `with`.
"""

from __future__ import annotations

import dis
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar, Token
from types import FunctionType
from typing import Any

import numpy as np

from graphc.errors import Loc
from graphc.errors.source_lines import display_path
from graphc.nn.cell.cell import Cell
from graphc.trace.conversion.code_names import mentioned
from graphc.trace.mutation import inplace
from graphc.trace.mutation.attributes import attributes_of_trace
from graphc.trace.recorder import GraphRecorder
from graphc.validation.unused_arguments import once

#: The name of a list or dict, it, and its items at some time.
Container = tuple[str, Any, list[Any]]
#: What is said of a change, where, and what helps.
Notice = tuple[str, Loc, str]
#: What a compilation looks at; None where nobody asks.
_watching: ContextVar[Outliving | None] = ContextVar("graphc_outliving", default=None)


class Outliving:
    """Notes, within a `with`, what the functions reach that are traced; `tell` says afterwards what of it has changed."""

    def __init__(self) -> None:
        self._found: list[tuple[FunctionType, str, Any, list[Any]]] = []
        self._looked: dict[tuple[int, ...], tuple[FunctionType, Any]] = {}
        self._seen: set[int] = set()
        #: What is to be said of it where it has changed, by the names that functions have for it.
        self._notices: dict[str, Notice] = {}

    def __enter__(self) -> Outliving:
        self._token: Token[Outliving | None] = _watching.set(self)
        return self

    def __exit__(self, *error: Any) -> None:
        _watching.reset(self._token)

    def look(self, function: FunctionType, owner: Any, notices: Mapping[str, Notice]) -> None:
        """Note what a function reaches before it runs: by its variables, its defaults, globals and what it is a method of."""
        # The functions that one `lambda` makes in a loop reach the same.
        around = (function.__code__, function.__globals__, function.__defaults__, function.__kwdefaults__, owner)
        key = tuple(map(id, (*around, *(function.__closure__ or ()))))
        if key in self._looked:
            return
        for name, notice in notices.items():
            self._notices.setdefault(name, notice)
        attributes = attributes_of_trace()
        set_by_step = attributes.containers() if attributes is not None and attributes.are_there else ()
        self._looked[key] = function, owner
        for root, value in _reachable(function, owner):
            for name, held in inplace.reached(root, value, self._seen):
                # The contents of arrays are part of what a step is compiled for.
                if not (isinstance(held, np.ndarray) or id(held) in set_by_step):
                    self._found.append((function, name, held, inplace.items_of(held)))

    @property
    def changes(self) -> bool:
        """Whether anything has changed."""
        return any(not inplace.is_unchanged(held, items) for _, _, held, items in self._found)

    def undone(self, only: Callable[[Any], bool] = lambda held: True) -> bool:
        """Put back what has changed, or that of it alone; whether all is as it was."""
        for _, _, held, items in self._found:
            if not inplace.is_unchanged(held, items) and only(held):
                inplace.put_back(held, items)
        return not self.changes

    def tell(self) -> None:
        """Say what has changed, once per line (GC134)."""
        for function, name, held, items in self._found:
            if inplace.is_unchanged(held, items):
                continue
            if name not in self._notices:
                self._notices[name] = (
                    f"{name} is changed once, when the Cell is compiled, not at every step",
                    _mention([function, *(f for f, _ in self._looked.values())], name),
                    "keep what changes in a Parameter, or return it",
                )
            message, loc, help = self._notices[name]
            once(message, loc=loc, help=help)


def look(function: FunctionType, owner: Any, notices: Mapping[str, Notice]) -> None:
    """Tell a compilation that asks of a function that is about to run. notices: by its names, of what it seems to change."""
    watching = _watching.get()
    if watching is not None:
        watching.look(function, owner, notices)


def put_back() -> bool:
    """Put back what has changed by now, where a compilation asks; whether all is as it was."""
    watching = _watching.get()
    return watching is None or watching.undone()


def let_go(recorder: GraphRecorder) -> None:
    """Put back what has been given tensors of a trace that has failed, where a compilation asks."""
    watching = _watching.get()
    if watching is not None:
        watching.undone(only=lambda held: inplace.has_kept(held, recorder))


def containers(arguments: Mapping[str, Any]) -> list[Container]:
    """The lists and dicts among arguments as they are now, with their names."""
    seen: set[int] = set()
    found = [each for name, value in arguments.items() for each in inplace.reached(name, value, seen)]
    return [(name, held, inplace.items_of(held)) for name, held in found if isinstance(held, (list, dict))]


def tell_of_arguments(before: Iterable[Container], returned: Any, construct: Callable[..., Any]) -> None:
    """Say which of the lists and dicts that a construct was given it has changed, and does not return (GC134): the caller's own
    stay as they are.
    """
    function = getattr(construct, "__func__", construct)
    for name, held, items in before:
        if not inplace.is_unchanged(held, items) and not inplace.holds(returned, {id(held)}):
            once(
                f"the {type(held).__name__} {name} is changed for this function alone, not for who calls it",
                loc=_mention([function], name) if isinstance(function, FunctionType) else None,
                help="return it",
            )


def _reachable(function: FunctionType, owner: Any) -> Iterator[tuple[str, Any]]:
    arguments = function.__code__.co_varnames[: function.__code__.co_argcount]
    yield "", function
    if isinstance(owner, Cell) and arguments:  # Other objects are reached by a name, or made by the call.
        yield arguments[0], owner
    yield from zip(reversed(arguments), reversed(function.__defaults__ or ()), strict=False)
    yield from (function.__kwdefaults__ or {}).items()
    for name in mentioned(function.__code__)[1]:
        if name in function.__globals__:
            yield name, function.__globals__[name]


def _mention(functions: list[FunctionType], name: str) -> Loc:
    """The line where one of some functions first names the root of `name`, else that of the first function."""
    root = name.split(".")[0].split("[")[0]
    for code in (f.__code__ for f in functions):
        for i in dis.get_instructions(code):
            named = i.argval if isinstance(i.argval, tuple) else (i.argval,)
            if i.opname.startswith("LOAD") and root in named and i.positions and i.positions.lineno:
                return Loc(display_path(code.co_filename), i.positions.lineno, code.co_qualname)
    code = functions[0].__code__
    return Loc(display_path(code.co_filename), code.co_firstlineno, code.co_qualname)
