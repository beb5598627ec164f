"""The operators of Tensor: each is a function of `graphc.ops.functional`, which puts them here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from graphc import dispatch
from graphc.internal_errors import door

if TYPE_CHECKING:
    from graphc.ops.tensor.tensor import Tensor

#: The functions behind the operators, by name.
functions: dict[str, Callable[..., Any]] = {}


class OwnOperators:
    """Base of what is no tensor, but has operators of its own with one: those of Tensor leave it to them."""

    __slots__ = ()


P = ParamSpec("P")
R = TypeVar("R")
Unary = Callable[[Any], "Tensor"]
Binary = Callable[[Any, Any], "Tensor"]


def _door(name: str, operator: Callable[P, R]) -> Callable[P, R]:
    operator.__name__ = name
    return door(operator, __name__)


def _unary(name: str) -> Unary:
    def operator(self: Any) -> Tensor:
        made: Tensor = functions[name](self)
        return made

    return _door(name, operator)


def _binary(name: str) -> Binary:
    def operator(self: Any, other: Any) -> Any:
        return NotImplemented if isinstance(other, OwnOperators) else functions[name](self, other)

    return _door(name, operator)


def _reflected(name: str) -> Binary:
    def operator(self: Any, other: Any) -> Tensor:
        made: Tensor = functions[name](other, self)
        return made

    return _door(name, operator)


def _augmented(name: str) -> Callable[[Any, Any], Any]:
    """Writes a Parameter inside a compiled Cell, as in MindSpore; other tensors are not changed."""

    def operator(self: Any, other: Any) -> Any:
        if isinstance(other, OwnOperators):
            return NotImplemented
        made = functions[name](self, other)
        active = dispatch.recorder.get()
        if active is None or active.immediate or not self.is_parameter:
            return made
        functions["assign"](self, made)
        return self

    return _door(name, operator)


def _equality(name: str, of_others: bool) -> Callable[[Any, object], Any]:
    def operator(self: Any, other: object) -> Any:
        # None, a text, a type or a sparse tensor equals no tensor: a Python bool, not one per element.
        if other is None or isinstance(other, (str, type, OwnOperators)):
            return of_others
        return functions[name](self, other)

    return _door(name, operator)


class Operators:
    """Base of Tensor."""

    __slots__ = ()

    __neg__, __abs__, __invert__ = _unary("neg"), _unary("abs_"), _unary("logical_not")

    def __round__(self: Any, digits: int | None = None) -> Tensor:
        made: Tensor = functions["round_"](self, decimals=digits or 0)
        return made

    __add__, __radd__, __iadd__ = _binary("add"), _reflected("add"), _augmented("add")
    __sub__, __rsub__, __isub__ = _binary("sub"), _reflected("sub"), _augmented("sub")
    __mul__, __rmul__, __imul__ = _binary("mul"), _reflected("mul"), _augmented("mul")
    __truediv__, __rtruediv__, __itruediv__ = _binary("div"), _reflected("div"), _augmented("div")
    __floordiv__, __rfloordiv__, __ifloordiv__ = _binary("floor_div"), _reflected("floor_div"), _augmented("floor_div")
    __mod__, __rmod__, __imod__ = _binary("floor_mod"), _reflected("floor_mod"), _augmented("floor_mod")
    __pow__, __rpow__ = _binary("pow_"), _reflected("pow_")
    __matmul__, __rmatmul__ = _binary("matmul"), _reflected("matmul")

    __and__, __rand__ = _binary("bitwise_and"), _reflected("bitwise_and")
    __or__, __ror__ = _binary("bitwise_or"), _reflected("bitwise_or")
    __xor__, __rxor__ = _binary("bitwise_xor"), _reflected("bitwise_xor")

    __lt__, __le__, __gt__, __ge__ = (_binary(n) for n in ("less", "less_equal", "greater", "greater_equal"))
    __eq__, __ne__ = _equality("equal", False), _equality("not_equal", True)

    __getitem__ = _binary("index_")

    def __pos__(self: Any) -> Any:
        return self.value()

    def __hash__(self) -> int:
        return id(self)

    def __setitem__(self, index: Any, value: Any) -> None:
        functions["set_item"](self, index, value)
