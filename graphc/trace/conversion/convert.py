"""Python's `if`, `while`, `for`, `and`, `or`, `not` and ternaries on traced tensors, by diastatic-malt.

The only module that knows malt. A function is converted when it, or a plain function it calls, branches or loops; what is
decided by Python values is still decided by Python and leaves no node. Converted code calls the hooks below.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
import os
import textwrap
import types
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from graphc.attached import attached
from graphc.errors import (
    ORIGINALS,
    SKIPPED,
    SOURCE_MAPS,
    GraphcError,
    Loc,
    TraceError,
)
from graphc.errors.source_lines import display_path
from graphc.nn.cell.cell import Cell
from graphc.trace.conversion.code_names import bound_call, defines
from graphc.trace.conversion.expressions import BUILT_IN, and_, chained, in_, or_
from graphc.trace.conversion.generators import is_suspended
from graphc.trace.conversion.math_calls import MATH
from graphc.trace.conversion.needed import needs_conversion, sees_sizes
from graphc.trace.conversion.rewrite import is_, lazy, print_, raising, read, rewritten, set_item, set_nested, sized
from graphc.trace.conversion.simplify import simplified
from graphc.trace.conversion.subscripts import item_at
from graphc.trace.conversion.truth import active_recorder, not_, truth
from graphc.trace.dynamic.size_numbers import arithmetic
from graphc.trace.flow.branches import if_exp, if_stmt
from graphc.trace.flow.counter_loops import ticking
from graphc.trace.flow.dynamic_ranges import (
    comprehended,
    displayed,
    enumerate_,
    listed,
    map_,
    nested,
    range_,
    reversed_,
    sum_,
    unzipped,
    zip_,
)
from graphc.trace.flow.loops import for_stmt, while_stmt
from graphc.trace.flow.match_patterns import is_mapping, is_of, is_sequence, part_of, rest_of, starred
from graphc.trace.flow.try_statements import caught, handled, with_handled
from graphc.trace.mutation import traced_once
from graphc.trace.mutation.inplace import changed
from graphc.validation.signatures import passing


def converted(fn: Callable[..., Any], given: tuple[Any, ...] = ()) -> Callable[..., Any]:
    """`fn` with control flow on tensors made traceable; `fn` itself where there is none, nor in what it may call. Bound methods
    stay bound, an object that is called becomes its `__call__`. given: its arguments, if known.

    Raises TraceError GC124 for Python that cannot be converted.
    """
    if isinstance(fn, partial):
        inner = converted(fn.func, (*fn.args, *fn.keywords.values(), *given))
        return fn if inner is fn.func else partial(inner, *fn.args, **fn.keywords)
    traced_once.notice(fn)
    bound: Any = bound_call(fn) or fn
    function: Any = getattr(bound, "__func__", bound)
    if is_suspended(function):
        return fn
    if needs_conversion(bound, given):
        made = attached(function, "converted", lambda: _convert(function))
    elif active_recorder().knows_sizes and sees_sizes(bound):
        made = attached(function, "converted", lambda: _sized(function))
    else:
        return fn
    return types.MethodType(made, bound.__self__) if inspect.ismethod(bound) else made


# ---- conversion


@cache
def _malt() -> Any:
    """malt's API with graphc's hooks in the namespace that converted code calls; imported here, as most cells need none."""
    # malt uses importlib.util without importing it.
    assert importlib.util
    # Its modules import each other in circles: threads that came in by different ones would get some of them half made.
    import malt  # noqa: F401
    from malt.converters import break_statements as breaks
    from malt.converters import call_trees, control_flow, directives, functions, variables
    from malt.converters import continue_statements as continues
    from malt.converters import return_statements as returns
    from malt.core import converter, unsupported_features_checker
    from malt.impl import api

    SKIPPED.add(os.path.dirname(os.path.dirname(os.path.abspath(api.__file__))) + os.sep)

    from graphc.trace.conversion.generated import InMemory  # It imports malt, which few programs need.

    class Transpiler(InMemory):
        def get_extra_locals(self) -> dict[str, Any]:
            fresh = self._extra_locals is None
            made: dict[str, Any] = super().get_extra_locals()
            if fresh:
                space = made["ag__"]
                for hook in _HOOKS:
                    setattr(space, hook.__name__, hook)
            return made

        def transform_ast(self, node: ast.AST, ctx: Any) -> Any:
            node = rewritten(simplified(node))
            unsupported_features_checker.verify(node)
            node = self.initial_analysis(node, ctx)
            for part in (functions, directives, breaks, continues, returns, call_trees, control_flow):
                node = part.transform(node, ctx)
            return variables.transform(lazy(with_handled(node)), ctx)

    options = converter.ConversionOptions(recursive=True, user_requested=True, optional_features=())
    return Transpiler(), converter.ProgramContext(options=options), api


def _convert(function: types.FunctionType) -> Callable[..., Any]:
    transpiler, context, _ = _malt()
    try:
        # Of the function itself, not of what `functools.wraps` has made it look like.
        tree = ast.parse(textwrap.dedent(inspect.getsource(function.__code__))).body[0]
    except (OSError, SyntaxError):
        # Typed at a prompt: run as it is; a condition on a traced tensor then says that it cannot be decided.
        return function
    if not defines(tree, function.__code__):
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
    result: Callable[..., Any] = made
    return result


def _sized(function: types.FunctionType) -> Callable[..., Any]:
    """A function that tells sizes which the step counts; as it is where it cannot be converted, which nothing else asks for."""
    try:
        return _convert(function)
    except TraceError:
        return function


# ---- hooks


def converted_call(
    f: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None, scope: Any = None, options: Any = None
) -> Any:
    """A call in converted code: plain functions of the user's are converted first, everything else is called as it is."""
    _, _, api = _malt()
    kwargs = kwargs or {}
    if f is super:
        from malt.operators import py_builtins

        return py_builtins.super_in_original_context(f, args, scope)
    if isinstance(f, (types.BuiltinFunctionType, type)) and f in _BUILT_IN:
        return _BUILT_IN[f](*args, **kwargs)
    if isinstance(f, Cell) or api.is_autograph_artifact(f):
        return f(*args, **kwargs)
    return converted(f, (*args, *kwargs.values()))(*args, **kwargs)


passing.add(converted_call.__code__)

_BUILT_IN: dict[Any, Callable[..., Any]] = {
    **BUILT_IN,
    **MATH,
    range: range_,
    enumerate: enumerate_,
    zip: zip_,
    reversed: reversed_,
    sum: sum_,
    map: map_,
    list: listed(list),
    tuple: listed(tuple),
}

#: What converted code calls, besides malt's own.
_HOOKS = (
    if_stmt, while_stmt, for_stmt, if_exp, and_, or_, not_, in_, chained, truth, converted_call, set_item, set_nested, changed,
    unzipped, nested, displayed, ticking, print_, raising, caught, handled, is_, read, sized, comprehended, arithmetic, item_at,
    is_sequence, starred, is_mapping, rest_of, is_of, part_of,
)  # fmt: skip
