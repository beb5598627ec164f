"""Tensors of which only some elements are held: a structure of dense tensors and the shape of the whole."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Self

from graphc import dispatch
from graphc.errors import ArgumentTypeError, user_loc
from graphc.errors.suggestions import no_attribute
from graphc.ops.tensor.dtype import DType
from graphc.ops.tensor.operators import OwnOperators
from graphc.ops.tensor.tensor import Tensor


def no_operator(x: Any, sign: str, other: Any) -> ArgumentTypeError:
    """The error for an operator that there is not, the sparse tensor on either side."""
    return ArgumentTypeError(
        f"there is no {sign} of {type(x).__name__} and {type(other).__name__}, as in MindSpore",
        loc=user_loc(),
        help="compute with its values, or with x.to_dense()",
    )


def _refused(sign: str) -> Callable[[Any, Any], Any]:
    def operator(self: Any, other: Any) -> NoReturn:
        raise no_operator(self, sign, other)

    return operator


class Sparse(OwnOperators):
    """Base of COOTensor and CSRTensor: `parts`, the last of which are the values, and `shape`.

    It is a container of its parts wherever nests are taken apart (`graphc.ops.tensor.tree`), so that it may be an argument, a
    result, an attribute of a Cell, and what branches and loops carry. The shape is a constant of a compiled step.
    """

    #: NumPy leaves operators to it.
    __array_ufunc__ = None

    #: The names of the parts.
    PARTS: ClassVar[tuple[str, ...]]

    def __init__(self, parts: tuple[Tensor, ...], shape: tuple[int, ...]) -> None:
        self.parts, self.shape = parts, shape

    @classmethod
    def of(cls, parts: tuple[Any, ...] | list[Any], shape: tuple[int, ...]) -> Any:
        """One of parts that fit; a plain tuple of what stands in place of them."""
        if not all(isinstance(x, Tensor) for x in parts):
            return tuple(parts)
        made = cls.__new__(cls)
        Sparse.__init__(made, tuple(parts), shape)
        return made

    def with_parts(self, *parts: Any) -> Self:
        """The same shape with other parts."""
        made: Self = self.of(parts, self.shape)
        return made

    def with_values(self, values: Tensor) -> Self:
        """The same places with other values."""
        return self.with_parts(*self.parts[:-1], values)

    @property
    def values(self) -> Tensor:
        """The elements that are held."""
        return self.parts[-1]

    @property
    def dtype(self) -> DType:
        """The dtype of the values."""
        return self.values.dtype

    @property
    def size(self) -> int:
        """How many elements are held."""
        active = dispatch.recorder.get()
        return math.prod(self.values.shape if active is None else active.shape_of(self.values))

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.values.itemsize

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    __add__ = __radd__ = _refused("+")
    __sub__ = __rsub__ = _refused("-")
    __mul__ = __rmul__ = _refused("*")
    __truediv__ = __rtruediv__ = _refused("/")
    __floordiv__ = __rfloordiv__ = _refused("//")
    __mod__ = __rmod__ = _refused("%")
    __pow__ = __rpow__ = _refused("**")
    __matmul__ = __rmatmul__ = _refused("@")
    __lt__ = __gt__ = _refused("<")
    __le__ = __ge__ = _refused("<=")

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            dense = "x.to_dense() is a Tensor, and has it" if hasattr(Tensor, name) else None
            no_attribute(type(self).__name__, name, dir(type(self)), "x.", dense)

    def __repr__(self) -> str:
        named = ", ".join(f"{name}={_said(x)}" for name, x in zip(self.PARTS, self.parts, strict=True))
        return f"{type(self).__name__}(shape={list(self.shape)}, dtype={self.dtype}, {named})"

    def __bool__(self) -> bool:
        raise ArgumentTypeError(f"a {type(self).__name__} is neither true nor false", loc=user_loc())


def _said(x: Tensor) -> str:
    """A part as MindSpore writes it here: without commas."""
    if x.array is None:
        return f"<{x.tensor_type}>"
    head, _, value = repr(x).partition("value=")
    return f"{head}value={value.lstrip(' ').replace(',', '')}"


__all__ = ["Sparse", "no_operator"]
