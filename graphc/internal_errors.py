"""What nobody expects: an exception from the insides of the compiler becomes an error with the user's line and a code."""

from __future__ import annotations

import contextlib
import functools
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import FunctionType, TracebackType
from typing import Any, ParamSpec, TypeVar

from graphc import dispatch
from graphc.attached import behind
from graphc.debug import switches
from graphc.errors import (
    GraphcError,
    GraphcWarning,
    InternalError,
    Loc,
    NestingError,
    StepMemoryError,
    user_loc,
)
from graphc.errors.source_lines import display_path
from graphc.tracebacks import clean, is_own, place
from graphc.validation.numbers import refuse_unknown, with_numbers
from graphc.validation.signatures import accepting, wrappers
from graphc.validation.wrong_arguments import TOO_LARGE, refuse_kind
from graphc_codegen.forks import lock

P = ParamSpec("P")
R = TypeVar("R")

#: Classes that an InternalError takes over from the exception behind it: callers may expect them.
_KINDS = (
    KeyError, IndexError, AttributeError, TypeError, NotImplementedError, ZeroDivisionError, OverflowError, ValueError,
    AssertionError,
)  # fmt: skip
_REPORT = "this is a bug in graphc: please report it with what GRAPHC_TRACEBACK=full shows"
_ARGUMENTS = "look at the arguments in this line; if they are right, report it with what GRAPHC_TRACEBACK=full shows"
#: Of the calls around a recursion so many are named.
_NAMED = 6

#: What a value that the compiler was dealing with says of the nodes that it is for, "" for nothing.
Notes = Callable[[Any], str]


class failing:
    """`with failing("pass cse"):`

    An exception that is neither graphc's own nor the user's becomes an InternalError; memory that
    is not there a StepMemoryError, calls that nest too deeply a NestingError. All of these, and errors of graphc's that have
    no line, get the user's: that of the node which the compiler was dealing with, else that which has called it.

    locations: the user's lines by node id. notes: what else tells the nodes that a value is for. outermost: whether the line
    of the caller is taken where nothing tells a node. tracing: whether the user's own code runs inside. deep: whether calls may
    nest deeper than usual.
    """

    def __init__(
        self,
        what: str,
        *,
        locations: Callable[[], Mapping[int, Loc]] = dict,
        notes: Notes = lambda value: "",
        outermost: bool = False,
        tracing: bool = False,
        deep: bool = False,
    ) -> None:
        self.what = what
        self.locations = locations
        self.notes = notes
        self.outermost = outermost
        self.tracing = tracing
        self.deep = deep

    def __enter__(self) -> None:
        if self.deep:
            _depth.begin()

    def __exit__(self, kind: object, error: BaseException | None, traceback: TracebackType | None) -> None:
        if self.deep:
            _depth.end()
        if isinstance(error, GraphcWarning):
            return  # Somebody asked for an error in place of it.
        if isinstance(error, GraphcError):
            if error.loc is None:
                self._locate(error, error)
        elif isinstance(error, (RecursionError, MemoryError)) or (isinstance(error, Exception) and not is_own(error)):
            made = self._made(error)
            self._locate(made, error)
            raise made.with_traceback(traceback) from (error if switches().full_traceback else None)

    def _locate(self, made: GraphcError, error: BaseException) -> None:
        """Give an error the line of the node that was dealt with when the exception was raised."""
        if self.tracing:
            made.loc = place(error.__traceback__)
        if made.loc is None:
            nodes, loc = made.nodes, None
            for raised in (error, error.__cause__, error.__context__):
                if raised is not None and not nodes:
                    nodes, loc = _dealt_with(raised.__traceback__, self.notes)
            made.nodes = nodes
            known = self.locations()
            made.loc = loc or next((known[id] for id in nodes if id in known), None)
        if made.loc is None and self.outermost:
            made.loc = place(error.__traceback__) or user_loc()

    def _made(self, error: Exception) -> GraphcError:
        text = (str(error).strip() or "no message").splitlines()[0]
        if isinstance(error, RecursionError):
            return NestingError(
                f"{self.what}: calls nest more deeply than Python bears",
                details=_chain(error.__traceback__),
                help="a function that calls itself needs an end that Python can decide; over tensors, write a `while` loop"
                if self.tracing
                else "nest fewer Cells, or fewer tuples and lists",
            )
        if isinstance(error, MemoryError) or TOO_LARGE.search(text):
            return StepMemoryError(f"{self.what}: out of memory: {text}", help="smaller shapes, or a smaller batch")
        return _internal(type(error))(
            f"{self.what} failed: {type(error).__name__}: {text}",
            details=_raised_at(error.__traceback__),
            help=_ARGUMENTS if self.tracing else _REPORT,
        )


def door(function: Callable[P, R], module: str) -> Callable[P, R]:
    """A function of graphc's as users call it: arguments that are not those of its signature are an ArgumentTypeError, those
    of another kind than it says too, where they make it fail. Outside a trace, what it raises is in the house's form, with
    the user's frames alone. It says that it belongs to `module`, where it is found by name.
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if dispatch.recorder.get() is not None:
            try:
                return function(*args, **kwargs)
            except Exception as error:
                return _settled(function, error, args, kwargs)
        try:
            with failing(function.__name__, outermost=True, tracing=True):
                try:
                    return function(*args, **kwargs)
                except Exception as error:
                    return _settled(function, error, args, kwargs)
        except BaseException as error:
            clean(error)
            raise

    call.__module__ = module
    wrappers[call] = call
    return call


def _settled(function: Callable[..., R], error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any]) -> R:
    """What a function that has raised an error returns for the numbers that tensors hold, where it takes numbers only. Arguments
    that do not fit are refused.
    """
    known = with_numbers(function, error, args, kwargs)
    if known is None:
        refuse_unknown(function, error, args, kwargs)
        refuse_kind(function, error, args, kwargs)
        raise error
    args, kwargs = known
    try:
        return function(*args, **kwargs)
    except Exception as another:
        return _settled(function, another, args, kwargs)


def doors(members: dict[str, Any], names: Iterable[str], module: str) -> None:
    """Put doors in the place of functions among the members of a module: names of one function stay names of one function.
    For classes it is `graphc.validation.signatures.accept`.
    """
    for name in names:
        function = members[name]
        if isinstance(function, FunctionType):
            if function not in wrappers:
                made = door(function, module)
                made.__qualname__ = name  # By which it is pickled.
                wrappers[function] = made
            members[name] = wrappers[function]
        else:
            accepting(function, module)


class _Depth:
    """Python's limit of nested calls, raised while something compiles: a Cell in a Cell takes eight of them."""

    #: At 1 kB of C stack per call of an object, within the 8 MB that a thread has.
    LIMIT = 5000

    def __init__(self) -> None:
        self._lock = lock()
        self._users = 0
        self._before = 0

    def begin(self) -> None:
        with self._lock:
            if not self._users:
                self._before = sys.getrecursionlimit()
                sys.setrecursionlimit(max(self._before, self.LIMIT))
            self._users += 1

    def end(self) -> None:
        with self._lock:
            self._users -= 1
            if not self._users and sys.getrecursionlimit() == max(self._before, self.LIMIT):
                with contextlib.suppress(RecursionError):  # Called from deeper down than it allows.
                    sys.setrecursionlimit(self._before)


_depth = _Depth()


def _internal(kind: type[Exception]) -> type[InternalError]:
    base = next((k for k in _KINDS if issubclass(kind, k)), None)
    return InternalError if base is None else _also(base)


@functools.lru_cache
def _also(base: Any) -> type[InternalError]:
    made: type[InternalError] = type("InternalError", (InternalError, base), {"__module__": "graphc"})
    return made


def _entries(traceback: TracebackType | None) -> list[TracebackType]:
    """A traceback, outermost first."""
    found = []
    while traceback is not None:
        found.append(traceback)
        traceback = traceback.tb_next
    return found


def _raised_at(traceback: TracebackType | None) -> list[str]:
    if traceback is None:
        return []
    last = _entries(traceback)[-1]
    code = last.tb_frame.f_code
    return [f"raised at {display_path(code.co_filename)}:{last.tb_lineno} in {code.co_qualname}"]


def _chain(traceback: TracebackType | None) -> list[str]:
    """The names of the user's functions that call each other at the end of a traceback."""
    names: dict[str, None] = {}
    for entry in reversed(_entries(traceback)[-200:]):
        loc = place(TracebackType(None, entry.tb_frame, entry.tb_lasti, entry.tb_lineno))
        if loc is not None and loc.function:
            names[loc.function.rpartition("<locals>.")[2]] = None
    shown = list(names)[:_NAMED]
    return [f"the last calls are in {', '.join(reversed(shown))}"] if shown else []


def _dealt_with(traceback: TracebackType | None, notes: Notes) -> tuple[tuple[int, ...], Loc | None]:
    """The nodes that the innermost frame knows of, and the user's line of one of them."""
    for entry in reversed(_entries(traceback)):
        for value in map(behind, _values(entry.tb_frame.f_locals)):
            if _is_node(value):
                return (value.id,), value.loc
            note = getattr(value, "note", None)
            text = note if isinstance(note, str) else notes(value)
            ids = tuple(map(int, re.findall(r"%(\d+)", text)))
            if ids:
                return ids, None
    return (), None


def _values(variables: Mapping[str, Any]) -> Iterator[Any]:
    """The values of a frame's variables, with those in short lists of nodes."""
    for value in list(variables.values()):
        yield value
        members = getattr(value, "nodes", value)
        if isinstance(members, Sequence) and not isinstance(members, str) and members and _is_node(members[0]):
            yield members[0]


def _is_node(value: Any) -> bool:
    """Whether a value is a node of the IR, about which this module knows nothing else."""
    return type(value).__name__ == "Node" and type(value).__module__ == "graphc.ir.node"
