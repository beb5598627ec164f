"""Numbers among the arguments of functions that may be tensors of one element, too: known ones, and those only the run tells."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from graphc import dispatch
from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.ir.types import FLOATS, INTEGERS
from graphc.ops.functional.require import require
from graphc.ops.functional.shapes import reshape
from graphc.ops.tensor.deferred import Deferred
from graphc.ops.tensor.tensor import Tensor

_TESTS: dict[str, Callable[[Any, Any], Any]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<=": operator.le,
    "!=": operator.ne,
}

#: A comparison, by its sign, and what a number is compared with.
Test = tuple[str, Any]


def scalar(owner: str, name: str, value: Any, *tests: Test, wanted: str = "") -> Any:
    """A number that an argument is, or that a tensor of one element holds; where only the run tells it, a tensor without axes
    that counts as a Python number beside others, with its gradient.

    wanted: what is said of a number that fails a test, an ArgumentValueError: at once, or when a compiled step has run.
    ArgumentTypeError for anything else.
    """
    number = _held(owner, name, value)
    for sign, bound in tests:
        holds = _TESTS[sign](number, bound)
        if isinstance(holds, Tensor):
            require(holds, f"{owner}: {name} must {wanted}")
        elif not holds:
            raise ArgumentValueError(f"{owner}: {name} must {wanted}, got {number!r}", loc=user_loc())
    return number


def is_told(x: Any) -> bool:
    """Whether an argument is a tensor whose value only the run tells, or that a gradient may be taken for."""
    return isinstance(x, Tensor) and (x._is_traced() or x._is_state())


def _held(owner: str, name: str, value: Any) -> Any:
    if isinstance(value, Deferred):
        value = value.tensor()
    if isinstance(value, Tensor) and value.size == 1 and value.tensor_type.dtype in (*FLOATS, *INTEGERS):
        recorded = dispatch.recorder.get() is not None and is_told(value)
        return _as_number(reshape(value, ())) if recorded else value.item()
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        got = value.tensor_type if isinstance(value, Tensor) else type(value).__name__
        raise ArgumentTypeError(f"{owner}: {name} must be a number, got {got}", loc=user_loc())
    return value


def _as_number(x: Tensor) -> Tensor:
    """The same value as a Python number beside others: they keep their dtypes."""
    active: Any = dispatch.recorder.get()
    made: Tensor = active.wrap(active.resolve(x))
    made.is_number = True
    return made
