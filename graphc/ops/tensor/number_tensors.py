"""What Python does with numbers and not with tensors, for those traced tensors that stand for numbers (`Tensor.is_number`).

The operators of `TracedTensor`, which does not inherit them: a Tensor of another layout could not become one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphc.internal_errors import door
from graphc.ops.tensor.operators import Operators, functions

Binary = Callable[[Any, Any], Any]


def _of_numbers(name: str, compute: Binary) -> Binary:
    """An operator that tensors do not have."""

    def operator(self: Any, other: Any) -> Any:
        return compute(self, other) if self.is_number else NotImplemented

    operator.__name__ = name
    return door(operator, __name__)


left_shift = _of_numbers("__lshift__", lambda a, b: functions["bitwise_left_shift"](a, b))
left_shift_by = _of_numbers("__rlshift__", lambda a, b: functions["bitwise_left_shift"](b, a))
right_shift = _of_numbers("__rshift__", lambda a, b: functions["bitwise_right_shift"](a, b))
right_shift_by = _of_numbers("__rrshift__", lambda a, b: functions["bitwise_right_shift"](b, a))
divided = _of_numbers("__divmod__", lambda a, b: (a // b, a % b))
divided_by = _of_numbers("__rdivmod__", lambda a, b: (b // a, b % a))


def inverted(self: Any) -> Any:
    """`~x`: of a number that of an integer."""
    return functions["sub"](-1, functions["cast_to"](self, "int64")) if self.is_number else Operators.__invert__(self)


def rounded(self: Any, digits: int | None = None) -> Any:
    """`round(x)`: of a number an integer."""
    made = Operators.__round__(self, digits)
    return functions["cast_to"](made, "int64") if self.is_number and digits is None else made
