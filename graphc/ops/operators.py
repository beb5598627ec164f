"""The operators of Tensor: each is the function of `graphc.ops.functional` of that meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphc.ops.methods import Methods
from graphc.ops.methods import functions as _f

if TYPE_CHECKING:
    from graphc.ops.tensor import Tensor


def _kept(x: Any, made: Tensor) -> Tensor:
    """What the name holds after an augmented assignment: the Parameter, assigned, while a Cell is compiled."""
    from graphc.ops import dispatch
    from graphc.ops.tensor import Parameter

    active = dispatch.recorder.get()
    if active is None or getattr(active, "immediate", False) or not isinstance(x, Parameter):
        return made
    _f().assign(x, made)
    return x


class Operators(Methods):
    """Base of Tensor."""

    __slots__ = ()

    def __add__(self, other: Any) -> Tensor:
        return _f().add(self, other)  # type: ignore[no-any-return]

    def __radd__(self, other: Any) -> Tensor:
        return _f().add(other, self)  # type: ignore[no-any-return]

    def __sub__(self, other: Any) -> Tensor:
        return _f().sub(self, other)  # type: ignore[no-any-return]

    def __rsub__(self, other: Any) -> Tensor:
        return _f().sub(other, self)  # type: ignore[no-any-return]

    def __mul__(self, other: Any) -> Tensor:
        return _f().mul(self, other)  # type: ignore[no-any-return]

    def __rmul__(self, other: Any) -> Tensor:
        return _f().mul(other, self)  # type: ignore[no-any-return]

    def __truediv__(self, other: Any) -> Tensor:
        return _f().div(self, other)  # type: ignore[no-any-return]

    def __rtruediv__(self, other: Any) -> Tensor:
        return _f().div(other, self)  # type: ignore[no-any-return]

    def __floordiv__(self, other: Any) -> Tensor:
        return _f().floor_div(self, other)  # type: ignore[no-any-return]

    def __rfloordiv__(self, other: Any) -> Tensor:
        return _f().floor_div(other, self)  # type: ignore[no-any-return]

    def __mod__(self, other: Any) -> Tensor:
        return _f().floor_mod(self, other)  # type: ignore[no-any-return]

    def __rmod__(self, other: Any) -> Tensor:
        return _f().floor_mod(other, self)  # type: ignore[no-any-return]

    def __pow__(self, other: Any) -> Tensor:
        return _f().pow_(self, other)  # type: ignore[no-any-return]

    def __rpow__(self, other: Any) -> Tensor:
        return _f().pow_(other, self)  # type: ignore[no-any-return]

    def __matmul__(self, other: Any) -> Tensor:
        return _f().matmul(self, other)  # type: ignore[no-any-return]

    def __rmatmul__(self, other: Any) -> Tensor:
        return _f().matmul(other, self)  # type: ignore[no-any-return]

    def __neg__(self) -> Tensor:
        return _f().neg(self)  # type: ignore[no-any-return]

    def __pos__(self) -> Tensor:
        return self  # type: ignore[return-value]

    def __abs__(self) -> Tensor:
        return _f().abs_(self)  # type: ignore[no-any-return]

    def __invert__(self) -> Tensor:
        return _f().logical_not(self)  # type: ignore[no-any-return]

    def __lt__(self, other: Any) -> Tensor:
        return _f().less(self, other)  # type: ignore[no-any-return]

    def __le__(self, other: Any) -> Tensor:
        return _f().less_equal(self, other)  # type: ignore[no-any-return]

    def __gt__(self, other: Any) -> Tensor:
        return _f().greater(self, other)  # type: ignore[no-any-return]

    def __ge__(self, other: Any) -> Tensor:
        return _f().greater_equal(self, other)  # type: ignore[no-any-return]

    def __and__(self, other: Any) -> Tensor:
        return _f().bitwise_and(self, other)  # type: ignore[no-any-return]

    def __rand__(self, other: Any) -> Tensor:
        return _f().bitwise_and(other, self)  # type: ignore[no-any-return]

    def __or__(self, other: Any) -> Tensor:
        return _f().bitwise_or(self, other)  # type: ignore[no-any-return]

    def __ror__(self, other: Any) -> Tensor:
        return _f().bitwise_or(other, self)  # type: ignore[no-any-return]

    def __xor__(self, other: Any) -> Tensor:
        return _f().bitwise_xor(self, other)  # type: ignore[no-any-return]

    def __rxor__(self, other: Any) -> Tensor:
        return _f().bitwise_xor(other, self)  # type: ignore[no-any-return]

    def __eq__(self, other: Any) -> Tensor:  # type: ignore[override]
        # None, a text or a type equals no tensor: a Python bool, not one per element.
        if other is None or isinstance(other, (str, type)):
            return False  # type: ignore[return-value]
        return _f().equal(self, other)  # type: ignore[no-any-return]

    def __ne__(self, other: Any) -> Tensor:  # type: ignore[override]
        if other is None or isinstance(other, (str, type)):
            return True  # type: ignore[return-value]
        return _f().not_equal(self, other)  # type: ignore[no-any-return]

    def __hash__(self) -> int:
        return id(self)

    # Augmented assignments write a Parameter inside a compiled Cell, as in MindSpore; other tensors are not changed.

    def __iadd__(self, other: Any) -> Tensor:
        return _kept(self, _f().add(self, other))

    def __isub__(self, other: Any) -> Tensor:
        return _kept(self, _f().sub(self, other))

    def __imul__(self, other: Any) -> Tensor:
        return _kept(self, _f().mul(self, other))

    def __itruediv__(self, other: Any) -> Tensor:
        return _kept(self, _f().div(self, other))

    def __ifloordiv__(self, other: Any) -> Tensor:
        return _kept(self, _f().floor_div(self, other))

    def __imod__(self, other: Any) -> Tensor:
        return _kept(self, _f().floor_mod(self, other))

    def __getitem__(self, index: Any) -> Tensor:
        from graphc.ops.functional.extra_index import index_

        return index_(self, index)  # type: ignore[arg-type]

    def __setitem__(self, index: Any, value: Any) -> None:
        from graphc.ops.functional.extra_index import write

        write(self, index, value)  # type: ignore[arg-type]
