"""jit: plain functions and methods, compiled like Cells."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any

from graphc import dispatch
from graphc.attached import attached
from graphc.errors import ArgumentTypeError, ArgumentValueError, TraceError, user_loc
from graphc.nn.cell.cell import Cell
from graphc.nn.cell.marks import COMPILES
from graphc.ops.gradients.reverse import GradFunction
from graphc.steps.bucket_axes import varying_of
from graphc.steps.buckets import pad_calls
from graphc.tracebacks import clean
from graphc.validation.unused_arguments import no_effect, only


class FunctionCell(Cell):
    """A function as a Cell: its children are the Cells that the function refers to, so that their modes count."""

    is_network = False
    always_compiles = True

    def __init__(self, fn: Callable[..., Any]) -> None:
        super().__init__(auto_prefix=False)
        self.fn = fn
        object.__setattr__(self, "_function", fn)
        self._cells.update(referenced_cells(fn))
        dispatch.touch()

    def construct(self, *args: Any, **kwargs: Any) -> Any:
        active = dispatch.recorder.get()
        assert active is not None
        return active.prepared(self.fn, (*args, *kwargs.values()))(*args, **kwargs)


def referenced_cells(fn: Any) -> dict[str, Cell]:
    """The Cells that a function reaches, by the names it has for them: the object it is a method of, closure variables,
    globals it names, arguments of `partial`, what it differentiates; through the functions among these, too.
    """
    found: dict[str, Cell] = {}
    stack: list[tuple[str, Any]] = [("function", fn)]
    seen: set[int] = set()
    while stack:
        name, item = stack.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        if isinstance(item, Cell):
            found[name if name not in found else f"{name}_{len(found)}"] = item
        else:
            stack += reversed(list(_parts(name, item)))
    return found


def _parts(name: str, item: Any) -> Iterator[tuple[str, Any]]:
    """What a function-like object refers to, with names."""
    if isinstance(item, types.MethodType):
        yield from (("self", item.__self__), ("method", item.__func__))
    elif isinstance(item, functools.partial):
        yield from ((name, x) for x in (item.func, *item.args, *item.keywords.values()))
    elif isinstance(item, GradFunction):
        yield name, item.fn
    elif isinstance(item, types.FunctionType):
        yield name, getattr(item, "__wrapped__", None)
        yield from ((name, x) for x in item.__defaults__ or ())
        for variable, cell in zip(item.__code__.co_freevars, item.__closure__ or (), strict=True):
            try:
                yield variable, cell.cell_contents
            except ValueError:
                continue  # Not assigned yet.
        yield from ((n, item.__globals__[n]) for n in item.__code__.co_names if n in item.__globals__)
    elif isinstance(item, (tuple, list)):
        yield from ((name, x) for x in item)


def jit(
    function: Callable[..., Any] | None = None,
    *,
    capture_mode: str = "ast",
    jit_level: str = "O0",
    dynamic: int = 0,
    fullgraph: bool = False,
    backend: str = "",
    buckets: Any = None,
    **options: Any,
) -> Any:
    """`function` compiled, once per signature of its arguments, when it is called (MindSpore: mindspore.jit); a decorator.

    function: a function, a method of a Cell or of any object, or a Cell. Arguments and results may be tensors, nests of them
    and Python values, which are constants of the compiled step. Inside a compiled Cell the function is part of that Cell. In
    PYNATIVE_MODE it is compiled all the same (docs/debugging.md, "Op by op").
    capture_mode "ast", "bytecode" or "trace", jit_level "O0" or "O1", dynamic 0 or 1, fullgraph and backend "" or
    "ms_backend" are accepted; of further options it is said once that they have no effect: graphc has one way of capturing
    and one back end. buckets: sizes of axis 0 of all tensors, or by the arguments' names, to which inputs are padded, as for
    `graphc.compile` (docs/shapes.md).
    Raises ArgumentValueError or ArgumentTypeError for other values, TraceError for another backend.
    """
    if capture_mode not in ("ast", "bytecode", "trace"):
        raise ArgumentValueError(
            f"jit: capture_mode must be 'ast', 'bytecode' or 'trace', got {capture_mode!r}", loc=user_loc()
        )
    if jit_level not in ("O0", "O1"):
        raise ArgumentValueError(f"jit: jit_level must be 'O0' or 'O1', got {jit_level!r}", loc=user_loc())
    if dynamic not in (0, 1) or isinstance(dynamic, bool):
        raise ArgumentValueError(f"jit: dynamic must be 0 or 1, got {dynamic!r}", loc=user_loc())
    if not isinstance(fullgraph, bool):
        raise ArgumentTypeError(f"jit: fullgraph must be a bool, got {type(fullgraph).__name__}", loc=user_loc())
    for name in options:
        no_effect("jit", name, "graphc has one way of capturing and one back end")
    if backend not in ("", "ms_backend"):
        raise TraceError(f"jit: there is no backend {backend!r}", code="GC100", loc=user_loc(), help="leave it out")
    if buckets is not None:
        varying_of(buckets)  # What is wrong with them is said here, not where the function is called.
    return (lambda fn: _compiled(fn, buckets)) if function is None else _compiled(function, buckets)


def ms_function(
    fn: Callable[..., Any] | None = None, input_signature: Any = None, hash_args: Any = None, jit_config: Any = None
) -> Any:
    """The older name of `jit`. Raises ArgumentValueError GC112 for an input_signature: shapes are those of the call."""
    only("ms_function", "input_signature", input_signature, None)
    if hash_args is not None or jit_config is not None:
        no_effect("ms_function", "hash_args, jit_config", "there is one way of compiling")
    return _compiled if fn is None else _compiled(fn)


def jit_class(cls: type) -> type:
    """A class whose objects may be used in compiled functions: every class may. Returns it (MindSpore: jit_class)."""
    if not isinstance(cls, type):
        raise ArgumentTypeError(f"jit_class: cls must be a class, got {type(cls).__name__}", loc=user_loc())
    return cls


def _compiled(function: Any, buckets: Any = None) -> Any:
    if isinstance(function, Cell):
        if buckets is not None:
            pad_calls(function, buckets)
        function.__dict__[COMPILES] = True
        return function
    if not callable(function) or isinstance(function, type):
        raise ArgumentTypeError(
            f"jit: function must be a function or a Cell, got {type(function).__name__}", loc=user_loc()
        )
    if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
        raise ArgumentTypeError(f"jit: {function.__qualname__} is a generator or coroutine", loc=user_loc())

    def method_of(args: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """The function, and its arguments: a method becomes that of its object."""
        if args and _is_own_method(function, args[0]):
            return types.MethodType(function, args[0]), args[1:]
        return function, args

    def cell_for(args: tuple[Any, ...]) -> tuple[FunctionCell, tuple[Any, ...]]:
        """The Cell to run, and its arguments."""
        bound, rest = method_of(args)
        if isinstance(bound, types.MethodType) and bound is not function:
            return attached(bound.__self__, function, lambda: made(bound)), rest
        return attached(call, "alone", lambda: made(function)), rest

    def made(fn: Callable[..., Any]) -> FunctionCell:
        cell = FunctionCell(fn)
        if buckets is not None:
            pad_calls(cell, buckets)
        return cell

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        active = dispatch.recorder.get()
        if active is not None:
            bound, rest = method_of(args)
            return active.call_function(bound, lambda: cell_for(args), rest, kwargs)
        try:
            cell, rest = cell_for(args)
            return cell(*rest, **kwargs)
        except BaseException as error:
            clean(error)
            raise

    call.__dict__[COMPILES] = True
    return call


def _is_own_method(function: Any, owner: Any) -> bool:
    """Whether a function stands, perhaps decorated, in the class of its first argument."""
    held = inspect.getattr_static(type(owner), getattr(function, "__name__", ""), None)
    return held is not None and inspect.unwrap(held) is function if callable(held) else False
