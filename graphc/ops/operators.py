"""The operators and methods of Tensor: each is the function of `graphc.ops.functional` of that meaning."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import ModuleType

    from graphc.ops.tensor import Tensor


@cache
def _f() -> ModuleType:
    # functional imports Tensor, which derives from this class.
    from graphc.ops import functional

    return functional


class Operators:
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
        return _f().logical_and(self, other)  # type: ignore[no-any-return]

    def __or__(self, other: Any) -> Tensor:
        return _f().logical_or(self, other)  # type: ignore[no-any-return]

    def __eq__(self, other: Any) -> Tensor:  # type: ignore[override]
        return _f().equal(self, other)  # type: ignore[no-any-return]

    def __ne__(self, other: Any) -> Tensor:  # type: ignore[override]
        return _f().not_equal(self, other)  # type: ignore[no-any-return]

    def __hash__(self) -> int:
        return id(self)

    def __getitem__(self, index: Any) -> Tensor:
        return _f().getitem(self, index)  # type: ignore[no-any-return]

    @property
    def T(self) -> Tensor:
        return _f().transpose(self)  # type: ignore[no-any-return]

    def astype(self, dtype: Any) -> Tensor:
        return _f().cast(self, dtype)  # type: ignore[no-any-return]

    def reshape(self, *shape: Any) -> Tensor:
        return _f().reshape(self, _f().as_shape(shape))  # type: ignore[no-any-return]

    def view(self, *shape: Any) -> Tensor:
        return self.reshape(*shape)

    def transpose(self, *perm: Any) -> Tensor:
        return _f().transpose(self, *perm)  # type: ignore[no-any-return]

    def swapaxes(self, axis0: int, axis1: int) -> Tensor:
        return _f().swapaxes(self, axis0, axis1)  # type: ignore[no-any-return]

    def flatten(self, start_dim: int = 0, end_dim: int = -1) -> Tensor:
        return _f().flatten(self, start_dim, end_dim)  # type: ignore[no-any-return]

    def squeeze(self, axis: Any = None) -> Tensor:
        return _f().squeeze(self, axis)  # type: ignore[no-any-return]

    def expand_dims(self, axis: int) -> Tensor:
        return _f().expand_dims(self, axis)  # type: ignore[no-any-return]

    def broadcast_to(self, shape: Any) -> Tensor:
        return _f().broadcast_to(self, shape)  # type: ignore[no-any-return]

    def split(self, split_size_or_sections: Any, axis: int = 0) -> tuple[Tensor, ...]:
        return _f().split(self, split_size_or_sections, axis)  # type: ignore[no-any-return]

    def sum(self, axis: Any = None, keepdims: bool = False) -> Tensor:
        return _f().reduce_sum(self, axis, keepdims)  # type: ignore[no-any-return]

    def mean(self, axis: Any = None, keepdims: bool = False) -> Tensor:
        return _f().reduce_mean(self, axis, keepdims)  # type: ignore[no-any-return]

    def max(self, axis: Any = None, keepdims: bool = False) -> Tensor:
        return _f().reduce_max(self, axis, keepdims)  # type: ignore[no-any-return]

    def min(self, axis: Any = None, keepdims: bool = False) -> Tensor:
        return _f().reduce_min(self, axis, keepdims)  # type: ignore[no-any-return]

    def all(self, axis: Any = None, keepdims: bool = False) -> Tensor:
        return _f().reduce_all(self, axis, keepdims)  # type: ignore[no-any-return]

    def any(self, axis: Any = None, keepdims: bool = False) -> Tensor:
        return _f().reduce_any(self, axis, keepdims)  # type: ignore[no-any-return]

    def argmax(self, axis: int = -1) -> Tensor:
        return _f().argmax(self, axis)  # type: ignore[no-any-return]

    def exp(self) -> Tensor:
        return _f().exp(self)  # type: ignore[no-any-return]

    def log(self) -> Tensor:
        return _f().log(self)  # type: ignore[no-any-return]

    def sqrt(self) -> Tensor:
        return _f().sqrt(self)  # type: ignore[no-any-return]

    def tanh(self) -> Tensor:
        return _f().tanh(self)  # type: ignore[no-any-return]

    def sigmoid(self) -> Tensor:
        return _f().sigmoid(self)  # type: ignore[no-any-return]

    def square(self) -> Tensor:
        return _f().square(self)  # type: ignore[no-any-return]

    def abs(self) -> Tensor:
        return _f().abs_(self)  # type: ignore[no-any-return]
