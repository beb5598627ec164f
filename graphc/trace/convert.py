"""Python's `if`, `while`, `for`, `and`, `or`, `not` and ternaries on traced tensors, by diastatic-malt.

The only module that knows malt. A function is converted when it, or a plain function it calls, branches or loops; what is
decided by Python values is still decided by Python and leaves no node. Converted code calls the hooks below.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import os
import sys
import textwrap
import types
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from graphc import dispatch
from graphc.attached import attached
from graphc.errors import (
    ORIGINALS,
    SKIPPED,
    SOURCE_MAPS,
    GraphcError,
    Loc,
    TraceError,
    TraceTypeError,
    display_path,
    user_loc,
)
from graphc.nn.cell.cell import Cell
from graphc.ops import functional as F
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor, as_tensor
from graphc.ops.tensor.tree import flatten, map_leaves, unflatten
from graphc.trace import control, frozen, inplace, joined, raised
from graphc.trace.decided import bound_call, needs_conversion
from graphc.trace.inplace import appended
from graphc.trace.recorder import GraphRecorder
from graphc.trace.rewrite import is_, print_, raising, rewritten, set_item, set_nested
from graphc.trace.simplify import simplified
from graphc.trace.suspended import is_suspended


class UnboundError(TraceError, UnboundLocalError):
    """A name that only one branch sets is used after the conditional."""


def converted(fn: Callable[..., Any]) -> Callable[..., Any]:
    """`fn` with control flow on tensors made traceable; `fn` itself where there is none. Bound methods stay bound, an object
    that is called becomes its `__call__`.

    Raises TraceError GC124 for Python that cannot be converted.
    """
    if isinstance(fn, partial):
        inner = converted(fn.func)
        return fn if inner is fn.func else partial(inner, *fn.args, **fn.keywords)
    frozen.notice(fn)
    bound: Any = bound_call(fn) or fn
    function: Any = getattr(bound, "__func__", bound)
    if is_suspended(function) or not needs_conversion(bound):
        return fn
    made = attached(function, "converted", lambda: _convert(function))
    return types.MethodType(made, bound.__self__) if inspect.ismethod(bound) else made


# ---- conversion


@cache
def _malt() -> Any:
    """malt's API with graphc's hooks in the namespace that converted code calls; imported here, as most cells need none."""
    # malt uses importlib.util without importing it.
    assert importlib.util
    # Its modules import each other in circles: threads that came in by different ones would get some of them half made.
    import malt  # noqa: F401
    from malt.core import converter
    from malt.impl import api

    SKIPPED.add(os.path.dirname(os.path.dirname(os.path.abspath(api.__file__))) + os.sep)

    from malt import operators

    from graphc.trace.generated import InMemory

    class Scope(operators.FunctionScope):  # type: ignore[misc]
        """What a converted function runs in; refuses a function that may end without returning what it returns elsewhere."""

        def __init__(self, function_name: str, scope_name: str, options: Any) -> None:
            super().__init__(function_name, scope_name, options)
            self.complete = _COMPLETE.get(sys._getframe(1).f_code, True)

        def ret(self, value: Any, did_return: Any) -> Any:
            if _is_traced(did_return) and not self.complete:
                raise TraceTypeError(
                    f"{self.name} returns a tensor on one way and nothing on another",
                    code="GC122",
                    loc=user_loc(),
                    help="return a value of the same kind at the end",
                )
            return super().ret(value, did_return)

    class Transpiler(InMemory):
        def get_extra_locals(self) -> dict[str, Any]:
            fresh = self._extra_locals is None
            made: dict[str, Any] = super().get_extra_locals()
            if fresh:
                space = made["ag__"]
                space.FunctionScope = Scope
                for hook in (
                    if_stmt,
                    while_stmt,
                    for_stmt,
                    if_exp,
                    and_,
                    or_,
                    not_,
                    converted_call,
                    set_item,
                    set_nested,
                    print_,
                    raising,
                    is_,
                    appended,
                ):
                    setattr(space, hook.__name__, hook)
            return made

        def transform_ast(self, node: ast.AST, ctx: Any) -> Any:
            return super().transform_ast(rewritten(simplified(node)), ctx)

    options = converter.ConversionOptions(recursive=True, user_requested=True, optional_features=())
    return Transpiler(), converter.ProgramContext(options=options), api


def _convert(function: types.FunctionType) -> Callable[..., Any]:
    transpiler, context, _ = _malt()
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    except (OSError, SyntaxError):
        # Typed at a prompt: run as it is; a condition on a traced tensor then says that it cannot be decided.
        return function
    try:
        made, module, source_map = transpiler.transform(function, context)
    except GraphcError:
        raise
    except Exception as error:
        # malt raises its own classes, AssertionError and OSError alike for what it cannot read.
        if function.__name__ == "<lambda>":
            return function  # One of several in a line, or within brackets: what was said of a prompt holds here, too.
        text = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise TraceError(
            f"{function.__qualname__} cannot be converted: {text}",
            code="GC124",
            loc=Loc(
                display_path(function.__code__.co_filename), function.__code__.co_firstlineno, function.__qualname__
            ),
            help="write the choice with ops.cond, ops.while_loop or ops.select",
        ) from error
    ORIGINALS[module.__file__] = function.__code__
    lines = SOURCE_MAPS.setdefault(module.__file__, {})
    for generated, origin in source_map.items():
        if generated.filename == module.__file__:
            file = display_path(origin.loc.filename)
            lines[generated.lineno] = Loc(file, origin.loc.lineno, origin.function_name or function.__qualname__)
    _COMPLETE[made.__code__] = _ends_with_return(tree)
    result: Callable[..., Any] = made
    return result


#: Of converted code: whether the function it was made from returns on every way.
_COMPLETE: dict[types.CodeType, bool] = {}


def _ends_with_return(node: Any) -> bool:
    """Whether the last statement of a function, or of both branches it ends with, is a return or raise."""
    body = getattr(node, "body", None)
    if not isinstance(body, list):
        return True  # A lambda.
    last = body[-1]
    if isinstance(last, ast.If):
        return _ends_with_return(last) and bool(last.orelse) and _ends_with_return(ast.Module(last.orelse, []))
    if isinstance(last, ast.With):
        return _ends_with_return(last)
    return isinstance(last, (ast.Return, ast.Raise))


def _is_traced(x: Any) -> bool:
    """Whether a value is known only when the step runs; a Parameter's is, though it has one now."""
    return isinstance(x, Parameter) or (isinstance(x, Tensor) and x.array is None)


def _undefined(x: Any) -> bool:
    return type(x).__name__ in ("Undefined", "UndefinedReturnValue") and type(x).__module__.startswith("malt.")


# ---- hooks


def if_stmt(
    cond: Any,
    body: Callable[[], Any],
    orelse: Callable[[], Any],
    get_state: Callable[[], tuple[Any, ...]],
    set_state: Callable[[tuple[Any, ...]], None],
    symbol_names: tuple[str, ...],
    nouts: int,
) -> None:
    """An `if` statement. The first `nouts` symbols are used after it."""
    if not _is_traced(cond):
        (body if cond else orelse)()
        return
    entry = get_state()

    def run(part: Callable[[], Any]) -> Callable[[], Any]:
        def traced() -> Any:
            mine = inplace.own(entry)
            set_state(mine)
            inplace.unchanged(part, mine)()
            return get_state()

        return traced

    joined_state = _joined(cond, run(body), run(orelse), symbol_names, nouts, entry)
    set_state(inplace.given_back(entry, joined_state))


def _joined(
    cond: Tensor,
    body: Callable[[], tuple[Any, ...]],
    orelse: Callable[[], tuple[Any, ...]],
    names: tuple[str, ...],
    nouts: int,
    entry: tuple[Any, ...],
) -> tuple[Any, ...]:
    """The symbols after both branches have been traced: equal Python values stay, tensors become results of an If."""
    recorder = _recorder()
    pred = F.reshape(F.cast(_one_element(cond), "bool"), ())
    parts = (("then", body), ("else", orelse))
    branches = [control.trace_branch(recorder, name, raised.caught(part, recorder)) for name, part in parts]
    then, other = raised.settled([unflatten(structure, leaves) for _, leaves, structure in branches], entry)
    results: list[Any] = []
    moved: list[int] = []
    for i, (a, b) in enumerate(zip(then, other, strict=True)):
        # A list may be read by another name that it has.
        if i >= nouts and not (i < len(entry) and type(entry[i]) is list):
            results.append(entry[i] if i < len(entry) else None)
        elif _same(a, b):
            results.append(a)
        else:
            results.append(None)
            moved.append(i)
    left = _returns(names, then), _returns(names, other)
    apart = {i for i in moved if joined.apart(then[i], other[i])}
    pairs = [
        joined.tokens(branches[0][0], then[i], branches[1][0], other[i])
        if i in apart
        else _pair(names[i], then[i], other[i], left)
        for i in moved
    ]
    flat = [flatten(tuple(p[k] for p in pairs)) for k in (0, 1)]
    merged = control.merge(recorder, pred, (branches[0][0], *flat[0]), (branches[1][0], *flat[1]))
    for i, value in zip(moved, merged, strict=True):
        results[i] = joined.of(names[i], then[i], other[i], value) if i in apart else value
    return tuple(results)


def _recorder() -> GraphRecorder:
    """The active recorder: converted code runs only while one traces."""
    active = dispatch.recorder.get()
    assert isinstance(active, GraphRecorder)
    return active


def _one_element(cond: Tensor) -> Tensor:
    if cond.shape not in ((), (1,)):
        raise TraceError(
            f"a condition must be one element, this one is {cond.tensor_type}",
            code="GC120",
            loc=user_loc(),
            help="reduce it first, for example with .any() or .all()",
        )
    return cond


def _same(a: Any, b: Any) -> bool:
    """Whether a symbol has one and the same value on both ways."""
    leaves_a, structure_a = flatten(a)
    leaves_b, structure_b = flatten(b)
    same = len(leaves_a) == len(leaves_b) and all(x is y for x, y in zip(leaves_a, leaves_b, strict=True))
    if not same or type(a) is not type(b):
        return False
    return a is b or (repr(structure_a) == repr(structure_b) and not _undefined(a))


def _returns(names: tuple[str, ...], values: tuple[Any, ...]) -> bool:
    """Whether a way through an `if` always ends with `return`."""
    return any(n == "do_return" and v is True for n, v in zip(names, values, strict=False))


def _one_sided(name: str, a: Any, b: Any, left: tuple[bool, bool]) -> tuple[Any, Any]:
    """Both values of a symbol that one way leaves undefined: a placeholder that nobody reads for the return value, and
    for any symbol on a way that has `left` the function.
    """
    if name == "retval_" or (left[0] and _undefined(a)) or (left[1] and _undefined(b)):
        given = b if _undefined(a) else a
        placeholder = raised.zeros_of(given)
        return (placeholder, given) if given is b else (given, placeholder)
    branch = "else" if _undefined(b) else "if"
    raise UnboundError(
        f"{name!r} is not set in the `{branch}` branch",
        code="GC121",
        loc=user_loc(),
        help=f"set {name} before the `if`, or in both branches",
    )


def _pair(name: str, a: Any, b: Any, left: tuple[bool, bool]) -> tuple[Any, Any]:
    """Both values of a symbol, made to fit each other."""
    return _one_sided(name, a, b, left) if _undefined(a) or _undefined(b) else _unified(name, a, b)


def _unified(name: str, a: Any, b: Any) -> tuple[Any, Any]:
    """Two values of a symbol, with Python numbers as tensors where they differ."""
    numbers = (bool, int, float)
    if isinstance(a, numbers) and isinstance(b, numbers):
        if isinstance(a, float) != isinstance(b, float) and not isinstance(a, bool) and not isinstance(b, bool):
            a, b = float(a), float(b)
        return as_tensor(a), as_tensor(b)
    if isinstance(a, numbers) and isinstance(b, Tensor) and not b.shape:
        return Tensor(a, b.dtype), b
    if isinstance(b, numbers) and isinstance(a, Tensor) and not a.shape:
        return a, Tensor(b, a.dtype)
    if type(a) is not type(b) and not (isinstance(a, Tensor) and isinstance(b, Tensor)):
        raise TraceTypeError(joined.message(name, a, b), code="GC122", loc=user_loc(), help=joined.advice(name))
    return a, b


def if_exp(cond: Any, if_true: Callable[[], Any], if_false: Callable[[], Any], expr_repr: str) -> Any:
    """`a if cond else b`."""
    if not _is_traced(cond):
        return if_true() if cond else if_false()
    return _joined(cond, lambda: (if_true(),), lambda: (if_false(),), (expr_repr,), 1, ())[0]


def while_stmt(
    test: Callable[[], Any],
    body: Callable[[], Any],
    get_state: Callable[[], tuple[Any, ...]],
    set_state: Callable[[tuple[Any, ...]], None],
    symbol_names: tuple[str, ...],
    opts: Any,
) -> None:
    """A `while` statement: Python's as long as its condition is a Python value, then a While node."""
    while not _is_traced(more := test()):
        if not more:
            return
        body()
    entry = get_state()
    carried, after = _carried(body, get_state, set_state, entry)
    entry = tuple(_defined(symbol_names[i], a, after[i]) if i in carried else a for i, a in enumerate(entry))
    numbers = {i: as_tensor(entry[i]) for i in carried if isinstance(entry[i], (bool, int, float))}

    def place(values: tuple[Any, ...]) -> None:
        state = list(inplace.own(entry))
        for i, value in zip(carried, values, strict=True):
            state[i] = value
        set_state(tuple(state))

    def check(*values: Any) -> Any:
        place(values)
        return _one_element(as_tensor(test()))

    def turn(*values: Any) -> tuple[Any, ...]:
        place(values)
        body()
        made = get_state()
        return tuple(_numeric(made[i], numbers.get(i)) for i in carried)

    recorder = _recorder()
    place(recorder.while_loop(check, turn, tuple(numbers.get(i, entry[i]) for i in carried)))


def _numeric(value: Any, like: Tensor | None) -> Any:
    """A carried number as a tensor of the dtype it began with."""
    if like is None:
        return value
    tensor = as_tensor(value)
    return (
        F.cast(tensor, like.dtype)
        if tensor.tensor_type.dtype != like.tensor_type.dtype and not tensor.tensor_type.is_float
        else tensor
    )


def _carried(
    body: Callable[[], Any],
    get_state: Callable[[], tuple[Any, ...]],
    set_state: Callable[[tuple[Any, ...]], None],
    entry: tuple[Any, ...],
) -> tuple[list[int], tuple[Any, ...]]:
    """Which symbols a loop changes, and all of them after a turn.

    Turns are traced and thrown away until no further symbol changes: what a turn does with a number that is known at first
    is decided by Python, what it does with one that an earlier turn has changed is not.
    """
    carried: set[int] = set()
    while True:
        turn: list[tuple[Any, ...]] = []

        def probe(turn: list[tuple[Any, ...]] = turn, carried: frozenset[int] = frozenset(carried)) -> None:
            active = _recorder()
            state = tuple(_unknown(x, active) if i in carried else x for i, x in enumerate(entry))
            mine = inplace.own(state)
            set_state(mine)
            inplace.unchanged(body, mine)()
            turn.extend((state, get_state()))

        control.trace_branch(_recorder(), "probe", probe)
        set_state(entry)
        before, after = turn
        changed = {i for i, (a, b) in enumerate(zip(before, after, strict=True)) if not _same(a, b)}
        if changed <= carried:
            return sorted(carried), after
        carried |= changed


def _unknown(x: Any, recorder: GraphRecorder) -> Any:
    """What a loop carries as it is in a turn: tensors of which nothing is known, each its own even where some begin as one."""
    if isinstance(x, (bool, int, float)):
        return recorder.carry(as_tensor(x))
    return map_leaves(recorder.carry, x)


def _defined(name: str, value: Any, after: Any) -> Any:
    """What a loop carries in at first for a symbol that it changes."""
    if not _undefined(value):
        return value
    if name == "retval_":
        return raised.zeros_of(after)
    raise TraceError(
        f"{name!r} is first set inside a loop over tensors, and used after it",
        code="GC124",
        loc=user_loc(),
        help=f"set {name} to a tensor of its shape and dtype before the loop",
    )


def for_stmt(
    iter_: Any,
    extra_test: Callable[[], Any] | None,
    body: Callable[[Any], Any],
    get_state: Callable[[], tuple[Any, ...]],
    set_state: Callable[[tuple[Any, ...]], None],
    symbol_names: tuple[str, ...],
    opts: Any,
) -> None:
    """A `for` statement: unrolled. After a `break` that depends on a tensor the turns that follow stand in branches."""
    for item in iter_:
        go_on = True if extra_test is None else extra_test()
        if _is_traced(go_on):
            if_stmt(go_on, partial(body, item), lambda: None, get_state, set_state, symbol_names, len(symbol_names))
        elif go_on:
            body(item)
        else:
            return


def and_(a: Callable[[], Any], b: Callable[[], Any]) -> Any:
    """`a and b`."""
    first = a()
    return F.logical_and(first, b()) if _is_traced(first) else first and b()


def or_(a: Callable[[], Any], b: Callable[[], Any]) -> Any:
    """`a or b`."""
    first = a()
    return F.logical_or(first, b()) if _is_traced(first) else first or b()


def not_(x: Any) -> Any:
    """`not x`."""
    return F.logical_not(x) if _is_traced(x) else not x


def converted_call(
    f: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None, scope: Any = None, options: Any = None
) -> Any:
    """A call in converted code: plain functions of the user's are converted first, everything else is called as it is."""
    _, _, api = _malt()
    kwargs = kwargs or {}
    if f is super:
        from malt.operators import py_builtins

        return py_builtins.super_in_original_context(f, args, scope)
    if f is range and any(map(_is_traced, args)):
        raise TraceTypeError(
            "range() of a traced tensor: how often the loop runs is not known while the Cell is compiled",
            code="GC120",
            loc=user_loc(),
            help="loop with `while i < n`, or make the bound a Python integer",
        )
    if isinstance(f, Cell) or api.is_autograph_artifact(f):
        return f(*args, **kwargs)
    return converted(f)(*args, **kwargs)
