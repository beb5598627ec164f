"""Loops over functions as primitives."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from graphc import dispatch
from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.ops import functional as F
from graphc.ops.functional.control import with_tensors
from graphc.ops.tensor.primitive import declare
from graphc.ops.tensor.tensor import Tensor
from graphc.ops.tensor.tree import flatten, map_tensors, unflatten
from graphc.validation.checks import boolean


def _while_loop(cond_func: Callable[[Any], Any], loop_func: Callable[[Any], Any], init_val: Any) -> Any:
    """`while cond_func(x): x = loop_func(x)` from `init_val` on; the last x (MindSpore: ops.WhileLoop).

    init_val: a tensor, a number, or a nest of them. Where Python can tell whether there is a further turn, as of numbers, the
    turns are taken while a Cell is traced; else the loop is one of the run: numbers are tensors then, and all keep their shapes,
    dtypes and structure. Has gradients.

    Raises ArgumentTypeError for what is no function, ArgumentValueError for a function that does not take `init_val`, TraceError
    or ShapeError GC123 for what changes its type in a loop of the run.
    """
    _check("WhileLoop", "cond_func", cond_func, 1)
    _check("WhileLoop", "loop_func", loop_func, 1)
    x = init_val
    while _is_told(more := cond_func(x)):
        if not more:
            return x
        x = loop_func(x)
    return F.while_loop(cond_func, loop_func, x)


WhileLoop = declare("WhileLoop", _while_loop)


def _for_loop(
    lower: int | Tensor, upper: int | Tensor, loop_func: Callable[[Any, Any], Any], init_val: Any, unroll: bool = True
) -> Any:
    """`for i in range(lower, upper): x = loop_func(i, x)` from `init_val` on; the last x (MindSpore: ops.ForiLoop).

    lower, upper: integers, or int tensors of one element; where only the run tells them, i and the numbers of `init_val` are
    tensors. init_val: a tensor, a number, or a nest of them. unroll: without it the function is traced for one turn, in which i
    is a tensor; with it for each, where the bounds are known. Equal turns are compiled once either way. Has gradients.

    Raises ArgumentTypeError for a bound, a function or `unroll` of another kind, ArgumentValueError for a function that does not
    take (i, init_val).
    """
    bounds = [_bound("lower", lower), _bound("upper", upper)]
    _check("ForiLoop", "loop_func", loop_func, 2)
    _check_flag("ForiLoop", unroll)
    if any(isinstance(bound, Tensor) for bound in bounds):
        _, x = F.while_loop(
            lambda i, _: F.less(i, bounds[1]), lambda i, x: (F.add(i, 1), loop_func(i, x)), bounds[0], init_val
        )
        return x
    turns = range(*bounds)
    if not unroll and turns and _is_compiled():
        return F.scan(lambda x, i: (loop_func(i, x), ()), init_val, F.arange(*bounds))[0]
    x = init_val
    for i in turns:
        x = loop_func(i, x)
    return x


ForiLoop = declare("ForiLoop", _for_loop)


def _scan(
    loop_func: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: list[Any] | tuple[Any, ...] | None,
    length: int | None = None,
    unroll: bool = True,
) -> tuple[Any, list[Any]]:
    """carry, y = loop_func(carry, x) for each x of `xs`, from `init` on: the last carry, and a list of ys (MindSpore: ops.Scan).

    init: a tensor, a number, or a nest of them. xs: a list or tuple of these; or None for `length` turns that get None. unroll:
    without it the function is traced for one turn, where the xs are tensors or numbers of one type; with it for each. Equal
    turns are compiled once either way. Has gradients. `ops.scan` takes and returns stacks in place of lists.

    Raises ArgumentTypeError for an argument of another kind, ArgumentValueError for a `length` that is not that of xs, or a
    function that does not take (init, x) or does not return two values.
    """
    _check("Scan", "loop_func", loop_func, 2)
    _check_flag("Scan", unroll)
    if xs is not None and not isinstance(xs, (list, tuple)):
        raise ArgumentTypeError(f"Scan: xs must be a list, a tuple or None, got {type(xs).__name__}", loc=user_loc())
    if isinstance(length, bool) or not isinstance(length, (int, type(None) if xs is not None else int)):
        raise ArgumentTypeError(f"Scan: length must be an int, got {type(length).__name__}", loc=user_loc())
    if xs is not None and length not in (None, len(xs)):
        raise ArgumentValueError(f"Scan: length is {length}, of xs of {len(xs)}", loc=user_loc())
    items = [None] * (length or 0) if xs is None else list(xs)

    def turn(carry: Any, x: Any) -> tuple[Any, Any]:
        made = loop_func(carry, x)
        if not isinstance(made, (tuple, list)) or len(made) != 2:
            raise ArgumentValueError("Scan: loop_func must return two values, a carry and a y", loc=user_loc())
        return made[0], made[1]

    if not unroll and items and _is_compiled():
        if xs is None:
            carry, ys = F.scan(lambda carry, _: turn(carry, None), init, None, len(items))
            return carry, _taken_apart(ys, len(items))
        rows = _stacked(items)
        if rows is not None:
            carry, ys = F.scan(turn, init, rows)
            return carry, _taken_apart(ys, len(items))
    carry, results = init, []
    for x in items:
        carry, y = turn(carry, x)
        results.append(y)
    return carry, results


Scan = declare("Scan", _scan)


def _stacked(items: list[Any]) -> Any:
    """Nests of one structure, shapes and dtypes as one nest of stacks; None if they differ."""
    made = [flatten(with_tensors(x)) for x in items]
    leaves, structures = zip(*made, strict=True)
    alike = all(s == structures[0] for s in structures) and leaves[0]
    if not alike or any([x.tensor_type for x in row] != [x.tensor_type for x in leaves[0]] for row in leaves):
        return None
    return unflatten(structures[0], [F.stack(list(same)) for same in zip(*leaves, strict=True)])


def _taken_apart(ys: Any, count: int) -> list[Any]:
    return [map_tensors(lambda y: y[k], ys) for k in range(count)]  # noqa: B023


def _is_compiled() -> bool:
    """Whether a Cell is traced, whose turns can be a loop of the run."""
    active = dispatch.recorder.get()
    return active is not None and not active.immediate


def _is_told(condition: Any) -> bool:
    """Whether Python can tell what a condition is."""
    return not (_is_compiled() and isinstance(condition, Tensor) and condition.array is None)


def _bound(name: str, value: Any) -> int | Tensor:
    """A bound of a loop: an integer where it is known."""
    if isinstance(value, Tensor):
        if value.size != 1 or not value.tensor_type.dtype.startswith(("int", "uint")):
            raise ArgumentTypeError(
                f"ForiLoop: {name} must be an int, or an int tensor of one element, got {value.tensor_type}",
                loc=user_loc(),
            )
        return int(value) if _is_told(value) else F.reshape(value, ())
    if isinstance(value, bool) or not isinstance(value, int):
        raise ArgumentTypeError(
            f"ForiLoop: {name} must be an int or a Tensor, got {type(value).__name__}", loc=user_loc()
        )
    return value


def _check(owner: str, name: str, function: Any, arguments: int) -> None:
    """Refuse what is no function of so many arguments."""
    if not callable(function):
        raise ArgumentTypeError(f"{owner}: {name} must be a function, got {type(function).__name__}", loc=user_loc())
    try:
        inspect.signature(function).bind(*range(arguments))
    except TypeError as error:
        what = "the value carried" if arguments == 1 else "two arguments"
        raise ArgumentValueError(f"{owner}: {name} does not take {what}: {error}", loc=user_loc()) from None


def _check_flag(owner: str, unroll: Any) -> None:
    boolean(owner, "unroll", unroll)
