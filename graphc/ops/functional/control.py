"""Conditions and loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphc import dispatch
from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.ops.functional.core import Operand, as_bool, is_number
from graphc.ops.functional.joining import stack
from graphc.ops.functional.shapes import reshape
from graphc.ops.tensor.tensor import Tensor, as_tensor


def choose(pred: Operand, true_fn: Callable[..., Any], false_fn: Callable[..., Any], *operands: Any) -> Any:
    """true_fn(*operands) or false_fn(*operands), by a bool of one element. Only the chosen one runs.

    Both must return the same structure, dtypes and shapes. A Python bool is decided at once.
    """
    if not isinstance(pred, Tensor):
        return true_fn(*operands) if pred else false_fn(*operands)
    if pred.size != 1:
        raise ArgumentValueError(f"the condition of ops.cond is {pred.type}, expected one element", loc=user_loc())
    active = dispatch.recorder.get()
    if active is None or pred.array is not None:
        return true_fn(*operands) if bool(pred) else false_fn(*operands)
    return active.cond(reshape(as_bool(pred), ()), true_fn, false_fn, operands)


def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], *carried: Any) -> Any:
    """`while cond_fn(*carried): carried = body_fn(*carried)`; returns the carried values, alone if there is one.

    Carried values are tensors or nests of tensors that keep their shapes and dtypes. Forward only: a loop whose number
    of turns depends on data has no gradient; `fori_loop` with fixed bounds has.
    """

    def body(*values: Any) -> tuple[Any, ...]:
        made = body_fn(*values)
        return made if len(values) > 1 else (made,)

    active = dispatch.recorder.get()
    state = tuple(_numbers_as_tensors(x) for x in carried)
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


def scan(loop_func: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Tensor, length: int | None = None) -> Any:
    """carry, y = loop_func(carry, xs[i]) along axis 0; returns the last carry and the ys stacked. Has gradients."""
    count = len(xs) if length is None else length
    if count > len(xs):
        raise ArgumentValueError(f"scan: length {length} is more than xs has: {xs.type}", loc=user_loc())
    carry, ys = init, []
    for i in range(count):
        carry, y = loop_func(carry, xs[i])
        ys.append(y)
    return carry, stack(ys)


__all__ = [
    "fori_loop",
    "scan",
    "while_loop",
]
