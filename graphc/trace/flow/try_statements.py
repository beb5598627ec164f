"""`try` statements of converted code: `else`, names that a `try` may or may not have set, and what is handled.

try:                complete = False            To malt a `try` runs from its first to its last statement. So what is read
    x = f(y)        try:                        when it has failed is read before it is set, where nobody comes by: what a name
except KeyError:        if False:               held before counts, too.
    x = y                   read(x)
else:                   x = f(y)                A handler does not see what only the trace raises; and what is raised on one of
    x = x + 1           complete = True         two ways, of which the run takes one, has no handler that could be run for it
                    except KeyError:            alone.
                        caught()
                        x = y
                    if complete:
                        x = x + 1
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from typing import Any

from graphc.errors import TraceError, user_loc
from graphc.trace.conversion.rewrite import hook, later, located
from graphc.trace.conversion.truth import active_recorder
from graphc.trace.flow.raising import is_one_way
from graphc.tracebacks import place

_LEAVING = (ast.Return, ast.Break, ast.Continue, ast.Raise)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


# ---- statements


def read_after(node: ast.Try, function: ast.AST) -> set[str]:
    """The names that may be read when a `try` of this function has failed."""
    inside = [n for statement in node.body for n in ast.walk(statement)]
    within = set(map(id, inside))
    read = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and _is_load(n) and id(n) not in within}
    read.update(n for outer in ast.walk(function) if isinstance(outer, (ast.Nonlocal, ast.Global)) for n in outer.names)
    first: dict[str, int] = {}  # The line in which the `try` sets it.
    for n in sorted((n for n in inside if isinstance(n, ast.Name) and not _is_load(n)), key=lambda n: -n.lineno):
        first[n.id] = n.lineno
    # The next turn of a loop reads it.
    return read | {n.id for n in inside if isinstance(n, ast.Name) and _is_load(n) and n.lineno <= first.get(n.id, 0)}


def _is_load(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Load)


def with_reads(body: list[ast.stmt], read: set[str], ends: bool = False) -> list[ast.stmt]:
    """Statements: each of these names that one of them sets is read before. ends: and at the end of blocks."""
    made: list[ast.stmt] = []
    for statement in body:
        names = sorted(_set_by(statement) & read)
        if names:
            made.append(located(looked_at(names), statement))
        for block in ("body", "orelse", "finalbody"):
            inner = getattr(statement, block, None)
            if inner and not isinstance(statement, _SCOPES) and not is_look(statement):
                setattr(statement, block, with_reads(inner, read, ends and isinstance(statement, (ast.For, ast.While))))
        for handler in getattr(statement, "handlers", ()):
            handler.body = with_reads(handler.body, read)
        made.append(statement)
    if ends:
        made.insert(len(made) - isinstance(made[-1], _LEAVING), located(looked_at(sorted(read)), made[-1]))
    return made


def looked_at(names: list[str], changed: bool = False) -> ast.If:
    """A statement that seems to read names, and may seem to change them."""
    loaded = hook("read", *(ast.Name(n, ast.Load()) for n in names))
    stored = [ast.Assign([ast.Name(n, ast.Store())], ast.Constant(None), type_comment=None) for n in names]
    return ast.If(test=ast.Constant(False), body=[ast.Expr(loaded), *(stored if changed else [])], orelse=[])


def is_look(statement: ast.stmt) -> bool:
    """Whether a statement only seems to read names."""
    return isinstance(statement, ast.If) and isinstance(statement.test, ast.Constant) and statement.test.value is False


def _set_by(statement: ast.stmt) -> set[str]:
    """The names that a statement gives a value, but for those of statements and functions inside it."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return set()
    names: set[str] = set()
    parts: list[ast.AST] = [
        n for n in ast.iter_child_nodes(statement) if not isinstance(n, (ast.stmt, ast.excepthandler))
    ]
    while parts:
        part = parts.pop()
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            names.add(part.id)
        if not isinstance(part, _SCOPES):
            parts += ast.iter_child_nodes(part)
    return names


def with_else(node: ast.Try, complete: str) -> list[ast.stmt]:
    """A `try` with `else` as statements that have none. complete: a name that says whether the `try` has come to its end."""

    def told(value: bool) -> ast.stmt:
        return ast.Assign([ast.Name(complete, ast.Store())], ast.Constant(value), type_comment=None)

    tried = ast.Try([*node.body, told(True)], node.handlers, [], [])
    made: list[ast.stmt] = [told(False), tried, ast.If(ast.Name(complete, ast.Load()), node.orelse, [])]
    if node.finalbody:
        made = [ast.Try(made, [], [], node.finalbody)]
    return [located(statement, node) for statement in made]


def with_caught(handler: ast.ExceptHandler) -> ast.ExceptHandler:
    """A handler that begins with a look at what it handles, and gives it its name."""
    call = hook("caught")
    first: ast.stmt = ast.Expr(call)
    if handler.name is not None:
        first = ast.Assign([ast.Name(handler.name, ast.Store())], call, type_comment=None)
        handler.name = None
    handler.body.insert(0, located(first, handler))
    return handler


def with_handled(function: ast.AST) -> ast.AST:
    """The syntax tree of a function, once malt is through: each `try` of the user's tells `handled` what its handlers handle."""
    for node in ast.walk(function):
        # malt has some of its own, around `return`.
        if isinstance(node, ast.Try) and node.handlers and all(map(_looks, node.handlers)):
            types = [ast.Name("BaseException", ast.Load()) if h.type is None else h.type for h in node.handlers]
            manager = hook("handled", later(ast.Tuple(types, ast.Load())))
            around = ast.With([ast.withitem(located(manager, node))], node.body, type_comment=None)
            node.body = [ast.fix_missing_locations(ast.copy_location(around, node))]
    return function


def _looks(handler: ast.ExceptHandler) -> bool:
    """Whether a handler begins with a call of `caught`."""
    return any(isinstance(n, ast.Attribute) and n.attr == "caught" for n in ast.walk(handler.body[0]))


# ---- what converted code calls


def caught() -> BaseException:
    """What a handler of a `try` statement handles; raises it again if it is a TraceError. TraceError GC124 if it was raised on
    one of several ways, of which the run takes one.
    """
    error = sys.exception()
    assert error is not None
    if isinstance(error, TraceError):
        raise error
    if is_one_way(error):
        raise _refused(error) from error
    return error


class handled:
    """Around what handlers of such exceptions stand for. TraceError GC124 if one is raised there when the step runs."""

    def __init__(self, types: Callable[[], tuple[Any, ...]]) -> None:
        self._types = types
        self._raised = active_recorder().root.raised
        self._before = len(self._raised)

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None:
        for error in self._raised[self._before :]:
            if isinstance(error, self._types()):
                raise _refused(error) from error


def _refused(error: BaseException) -> TraceError:
    return TraceError(
        f"a handler of {type(error).__name__}, of which only the run tells whether it is raised",
        code="GC124",
        loc=user_loc(),
        details=[f"it may be raised at {at}" for at in [place(error.__traceback__)] if at is not None],
        help="ask before it is raised, with an `if`, and leave the `try` out",
    )
