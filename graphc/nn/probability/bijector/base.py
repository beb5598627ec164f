"""Bijector: what all of them are asked."""

from __future__ import annotations

from typing import Any

from graphc import ops
from graphc.errors import ArgumentTypeError, ArgumentValueError, DTypeError, user_loc
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.nn.probability.parameters import common_shape, float_dtype, parameter
from graphc.ops.tensor.tensor import Tensor

QUESTIONS = ("forward", "inverse", "forward_log_jacobian", "inverse_log_jacobian")


class Bijector(Cell):
    """Base of the bijectors (MindSpore: nn.probability.bijector.Bijector).

    A subclass defines `_forward`, `_inverse`, `_forward_log_jacobian` and `_inverse_log_jacobian`: x to y, y to x, and the
    logarithms of the derivatives' absolute values, each at a Tensor of floats. is_constant_jacobian: the derivative is the
    same everywhere. dtype: that of values, None for any float. param: a dict of parameters. Raises ArgumentTypeError,
    ArgumentValueError or DTypeError.
    """

    def __init__(
        self,
        is_constant_jacobian: bool = False,
        is_injective: bool = True,
        name: str | None = None,
        dtype: Any = None,
        param: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(name, str):
            raise checks.wrong_type(type(self).__name__, "name", "a string", name)
        self.name = name or type(self).__name__
        self.is_constant_jacobian = checks.boolean(self.name, "is_constant_jacobian", is_constant_jacobian)
        self.is_injective = checks.boolean(self.name, "is_injective", is_injective)
        self.dtype = None if dtype is None else float_dtype(self.name, dtype)
        given = (param or {}).get("param_dict", param or {})
        self.parameters = dict(given)
        self.held: dict[str, Tensor] = {}
        for n, value in given.items():
            made = parameter(self.name, n, value, self.dtype or "float32")
            if made is None:
                raise ArgumentTypeError(f"{self.name}: {n} must be a number or a Tensor, got None", loc=user_loc())
            self.held[n] = made
        self.batch_shape = common_shape(self.name, *(x.shape for x in self.held.values())) if given else None
        self.is_scalar_batch = bool(given) and all(isinstance(v, (int, float)) for v in given.values())

    def __getattr__(self, name: str) -> Any:
        held = self.__dict__.get("held", {})
        return held[name] if name in held else super().__getattr__(name)

    def _value(self, value: Any) -> Tensor:
        if not isinstance(value, Tensor):
            raise ArgumentTypeError(
                f"{self.name}: the value must be a Tensor, got {type(value).__name__}", loc=user_loc()
            )
        if not value.tensor_type.is_float or self.dtype not in (None, value.tensor_type.dtype):
            raise DTypeError(
                f"{self.name}: the value is {value.tensor_type}, expected {self.dtype or 'floats'}", loc=user_loc()
            )
        return value

    def _at(self, x: Tensor, name: str) -> Tensor:
        """A parameter in the dtype of a value."""
        return ops.cast(self.held[name], x.dtype)

    def forward(self, value: Tensor) -> Tensor:
        """y of x."""
        return self._forward(self._value(value))

    def inverse(self, value: Tensor) -> Tensor:
        """x of y."""
        return self._inverse(self._value(value))

    def forward_log_jacobian(self, value: Tensor) -> Tensor:
        """log |dy/dx| at x."""
        return self._forward_log_jacobian(self._value(value))

    def inverse_log_jacobian(self, value: Tensor) -> Tensor:
        """log |dx/dy| at y."""
        return self._inverse_log_jacobian(self._value(value))

    def _forward(self, x: Tensor) -> Tensor:
        raise self._undefined("forward")

    def _inverse(self, y: Tensor) -> Tensor:
        raise self._undefined("inverse")

    def _forward_log_jacobian(self, x: Tensor) -> Tensor:
        raise self._undefined("forward_log_jacobian")

    def _inverse_log_jacobian(self, y: Tensor) -> Tensor:
        raise self._undefined("inverse_log_jacobian")

    def _undefined(self, name: str) -> ArgumentTypeError:
        return ArgumentTypeError(f"{type(self).__name__} does not define _{name}", loc=user_loc())

    def construct(self, name: str, *args: Any, **kwargs: Any) -> Tensor:
        """What the method of this name gives."""
        if name not in QUESTIONS:
            raise ArgumentValueError(f"{self.name}: there is no {name!r}", loc=user_loc(), help=", ".join(QUESTIONS))
        made: Tensor = getattr(self, name)(*args, **kwargs)
        return made


__all__ = ["Bijector"]
