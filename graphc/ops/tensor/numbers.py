"""What Python does with numbers and not with tensors, for those traced tensors that stand for numbers (`Tensor.is_number`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphc.failures import door
from graphc.ops.tensor.operators import Operators, functions


def _of_numbers(name: str, function: str, reflected: bool = False) -> Callable[[Any, Any], Any]:
    """An operator that tensors do not have."""

    def operator(self: Any, other: Any) -> Any:
        if not self.is_number:
            return NotImplemented
        return functions[function](other, self) if reflected else functions[function](self, other)

    operator.__name__ = name
    return door(operator, __name__)


class Numbers(Operators):
    """Base of traced tensors. `~` is that of integers, and `round` gives one, where they stand for numbers."""

    __slots__ = ()

    __lshift__ = _of_numbers("__lshift__", "bitwise_left_shift")
    __rlshift__ = _of_numbers("__rlshift__", "bitwise_left_shift", reflected=True)
    __rshift__ = _of_numbers("__rshift__", "bitwise_right_shift")
    __rrshift__ = _of_numbers("__rrshift__", "bitwise_right_shift", reflected=True)

    def __divmod__(self: Any, other: Any) -> Any:
        return (self // other, self % other) if self.is_number else NotImplemented

    def __rdivmod__(self: Any, other: Any) -> Any:
        return (other // self, other % self) if self.is_number else NotImplemented

    def __invert__(self: Any) -> Any:
        if not self.is_number:
            return super().__invert__()
        return functions["sub"](-1, functions["cast_to"](self, "int64"))

    def __round__(self: Any, digits: int | None = None) -> Any:
        made = super().__round__(digits)
        return functions["cast_to"](made, "int64") if self.is_number and digits is None else made
