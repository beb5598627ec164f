"""Conditions and loops."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from graphc import dispatch
from graphc.errors import ArgumentTypeError, ArgumentValueError, GraphcWarning, stacklevel, user_loc
from graphc.ops.functional.core import Operand, as_bool, is_number
from graphc.ops.functional.create import zeros
from graphc.ops.functional.joining import stack
from graphc.ops.functional.shapes import reshape
from graphc.ops.tensor.tensor import Tensor, as_tensor
from graphc.ops.tensor.tree import flatten, map_tensors, unflatten


def choose(pred: Operand, true_fn: Callable[..., Any], false_fn: Callable[..., Any], *operands: Any) -> Any:
    """true_fn(*operands) or false_fn(*operands), by a bool of one element. Only the chosen one runs.

    Both must return the same structure, dtypes and shapes. A Python bool is decided at once.
    """
    if not isinstance(pred, Tensor):
        return true_fn(*operands) if pred else false_fn(*operands)
    if pred.size != 1:
        raise ArgumentValueError(
            f"the condition of ops.cond is {pred.tensor_type}, expected one element", loc=user_loc()
        )
    active = dispatch.recorder.get()
    if active is None or pred.array is not None:
        return true_fn(*operands) if bool(pred) else false_fn(*operands)
    return active.cond(reshape(as_bool(pred), ()), true_fn, false_fn, operands)


def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], *carried: Any) -> Any:
    """`while cond_fn(*carried): carried = body_fn(*carried)`; returns the carried values, alone if there is one.

    Carried values are tensors or nests of tensors that keep their shapes and dtypes. Its gradient runs turns again, of which
    it keeps a fixed number of states; `fori_loop` with fixed bounds keeps all.
    """

    def body(*values: Any) -> tuple[Any, ...]:
        made = body_fn(*values)
        return made if len(values) > 1 else (made,)

    active = dispatch.recorder.get()
    state = tuple(with_tensors(x) for x in carried)
    if active is not None:
        state = active.while_loop(cond_fn, body, state)
    else:
        while bool(cond_fn(*state)):
            state = body(*state)
    return state if len(state) > 1 else state[0]


def _numbers_as_tensors(x: Any) -> Any:
    return as_tensor(x) if is_number(x) else x


def fori_loop(lower: int, upper: int, body_fn: Callable[[int, Any], Any], init_val: Any) -> Any:
    """`for i in range(lower, upper): val = body_fn(i, val)`, with bounds known at compile time; has gradients."""
    if not isinstance(lower, int) or not isinstance(upper, int):
        raise ArgumentTypeError(
            "fori_loop: the bounds must be Python integers",
            loc=user_loc(),
            help="ops.while_loop takes bounds that are tensors",
        )
    value = init_val
    for i in range(lower, upper):
        value = body_fn(i, value)
    return value


def scan(
    loop_func: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any,
    length: int | None = None,
    reverse: bool = False,
) -> Any:
    """carry, y = loop_func(carry, xs[i]) along axis 0; returns the last carry and the ys stacked. Has gradients.

    init, xs and y are tensors or nests of tensors; the axes 0 of xs are of one length, of which the first `length` places are
    taken. With `reverse` the last one comes first; y[i] is still what xs[i] gives. In a compiled Cell loop_func is called to
    be traced, not for each place: the time to compile does not grow with the length. Where carry changes its shapes, dtypes or
    structure from turn to turn the turns are compiled one by one, and a GraphcWarning says so. Where there are no places it is
    called once, with zeros, for the shapes of ys without rows.

    Raises ArgumentValueError where xs has fewer places than `length`, or places of different number.
    """
    rows, _ = flatten(xs)
    sizes = {x.shape[0] if x.shape else 0 for x in rows}
    if len(sizes) > 1 or (not rows and length is None):
        types = ", ".join(str(x.tensor_type) for x in rows) or "no tensor"
        raise ArgumentValueError(f"scan: xs must have axes 0 of one length, got {types}", loc=user_loc())
    count = min(sizes, default=0) if length is None else length
    if rows and count > min(sizes):
        raise ArgumentValueError(f"scan: length {length} is more than xs has: {rows[0].tensor_type}", loc=user_loc())
    active = dispatch.recorder.get()
    # Where traces for several sizes are compared, one turn is a loop, too.
    if active is not None and not active.immediate and (count > 1 or active.compared):
        taken = xs if not rows or count == min(sizes) else map_tensors(lambda x: x[:count], xs)
        init = with_tensors(init)
        done = active.scan(loop_func, init, taken, count, reverse)
        if done is not None:
            return done
        warnings.warn(
            "[GC123] ops.scan: what a turn carries on differs from what it begins with in shape, dtype or structure; its"
            f" {count} turns are compiled one by one",
            GraphcWarning,
            stacklevel=stacklevel(),
        )
    if not count:
        _, y = loop_func(init, map_tensors(lambda x: zeros(x.shape[1:], x.dtype), xs))
        return init, map_tensors(lambda x: zeros((0, *x.shape), x.dtype), y)
    carry, ys = init, []
    for i in reversed(range(count)) if reverse else range(count):
        carry, y = loop_func(carry, _place(xs, i))
        ys.append(y)
    return carry, _stacked(ys[::-1] if reverse else ys)


def _place(xs: Any, i: int) -> Any:
    return map_tensors(lambda x: x[i], xs)


def _stacked(ys: list[Any]) -> Any:
    """Nests of one structure as one of stacks."""
    leaves = [flatten(y) for y in ys]
    if not leaves:
        return stack(ys)
    return unflatten(leaves[0][1], [stack(same) for same in zip(*(each for each, _ in leaves), strict=True)])


def with_tensors(x: Any) -> Any:
    """A nest with tensors in place of Python's numbers."""
    if isinstance(x, (tuple, list)):
        return type(x)(with_tensors(y) for y in x)
    if isinstance(x, dict):
        return {k: with_tensors(y) for k, y in x.items()}
    return _numbers_as_tensors(x)


__all__ = [
    "fori_loop",
    "scan",
    "while_loop",
]
