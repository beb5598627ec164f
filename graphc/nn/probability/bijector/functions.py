"""The bijectors: Exp, GumbelCDF, Invert, PowerTransform, ScalarAffine, Softplus."""

from __future__ import annotations

from typing import Any

from graphc import ops
from graphc.errors import ArgumentTypeError, user_loc
from graphc.nn.probability.bijector.base import Bijector
from graphc.nn.probability.parameters import require
from graphc.ops.tensor.tensor import Tensor


class PowerTransform(Bijector):
    """y = (1 + x power)**(1 / power), exp(x) where power, which is not negative, is 0."""

    def __init__(self, power: Any = 0.0, name: str = "PowerTransform") -> None:
        super().__init__(name=name, param={"power": power})
        require(name, "power", self.held["power"], ">= 0")

    def _parts(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Value, power and a power that is not 0, of one shape, and where it is 0."""
        whole = self._at(x, "power") + 0.0 * ops.stop_gradient(x)
        none = ops.equal(whole, 0.0)
        return x + 0.0 * whole, whole, ops.select(none, ops.ones_like(whole), whole), none

    def _forward(self, x: Tensor) -> Tensor:
        x, _, safe, none = self._parts(x)
        base = ops.select(none, ops.zeros_like(x), x * safe)
        return ops.select(none, ops.exp(x), ops.exp(ops.log1p(base) / safe))

    def _inverse(self, y: Tensor) -> Tensor:
        y, _, safe, none = self._parts(y)
        return ops.select(none, ops.log(y), ops.expm1(ops.log(y) * safe) / safe)

    def _forward_log_jacobian(self, x: Tensor) -> Tensor:
        x, _, safe, none = self._parts(x)
        base = ops.select(none, ops.zeros_like(x), x * safe)
        return ops.select(none, x, (1.0 / safe - 1.0) * ops.log1p(base))

    def _inverse_log_jacobian(self, y: Tensor) -> Tensor:
        y, power, _, _ = self._parts(y)
        return (power - 1.0) * ops.log(y)


class Exp(PowerTransform):
    """y = exp(x)."""

    def __init__(self, name: str = "Exp") -> None:
        super().__init__(0.0, name)


class GumbelCDF(Bijector):
    """y = exp(-exp(-(x - loc) / scale)), scale > 0."""

    def __init__(self, loc: Any = 0.0, scale: Any = 1.0, name: str = "GumbelCDF") -> None:
        super().__init__(name=name, param={"loc": loc, "scale": scale})
        require(name, "scale", self.held["scale"], "> 0")

    def _z(self, x: Tensor) -> Tensor:
        return (x - self._at(x, "loc")) / self._at(x, "scale")

    def _forward(self, x: Tensor) -> Tensor:
        return ops.exp(-ops.exp(-self._z(x)))

    def _inverse(self, y: Tensor) -> Tensor:
        return self._at(y, "loc") - self._at(y, "scale") * ops.log(-ops.log(y))

    def _forward_log_jacobian(self, x: Tensor) -> Tensor:
        z = self._z(x)
        return -z - ops.exp(-z) - ops.log(self._at(x, "scale"))

    def _inverse_log_jacobian(self, y: Tensor) -> Tensor:
        return ops.log(self._at(y, "scale") / (-y * ops.log(y)))


class Invert(Bijector):
    """The inverse of another bijector."""

    def __init__(self, bijector: Any, name: str = "") -> None:
        if not isinstance(bijector, Bijector):
            raise ArgumentTypeError(
                f"Invert: bijector must be a Bijector, got {type(bijector).__name__}", loc=user_loc()
            )
        name = name or f"Invert{bijector.name}"
        super().__init__(bijector.is_constant_jacobian, bijector.is_injective, name, bijector.dtype)
        self.bijector = bijector
        self.batch_shape, self.is_scalar_batch = bijector.batch_shape, bijector.is_scalar_batch

    def _forward(self, x: Tensor) -> Tensor:
        return self.bijector.inverse(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.bijector.forward(y)

    def _forward_log_jacobian(self, x: Tensor) -> Tensor:
        return self.bijector.inverse_log_jacobian(x)

    def _inverse_log_jacobian(self, y: Tensor) -> Tensor:
        return self.bijector.forward_log_jacobian(y)


class ScalarAffine(Bijector):
    """y = scale x + shift."""

    def __init__(self, scale: Any = 1.0, shift: Any = 0.0, name: str = "ScalarAffine") -> None:
        super().__init__(is_constant_jacobian=True, name=name, param={"scale": scale, "shift": shift})

    def _forward(self, x: Tensor) -> Tensor:
        return self._at(x, "scale") * x + self._at(x, "shift")

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self._at(y, "shift")) / self._at(y, "scale")

    def _forward_log_jacobian(self, x: Tensor) -> Tensor:
        return ops.log(ops.abs(self._at(x, "scale")))

    def _inverse_log_jacobian(self, y: Tensor) -> Tensor:
        return -self._forward_log_jacobian(y)


class Softplus(Bijector):
    """y = log(1 + exp(sharpness x)) / sharpness."""

    def __init__(self, sharpness: Any = 1.0, name: str = "Softplus") -> None:
        super().__init__(name=name, param={"sharpness": sharpness})

    def _forward(self, x: Tensor) -> Tensor:
        scaled = self._at(x, "sharpness") * x
        # By the absolute value: exp of what is below 0 cannot overflow.
        return (ops.maximum(scaled, 0.0) + ops.log1p(ops.exp(-ops.abs(scaled)))) / self._at(x, "sharpness")

    def _inverse(self, y: Tensor) -> Tensor:
        sharpness = self._at(y, "sharpness")
        scaled = sharpness * y
        return (scaled + ops.log(-ops.expm1(-scaled))) / sharpness

    def _forward_log_jacobian(self, x: Tensor) -> Tensor:
        scaled = self._at(x, "sharpness") * x
        return ops.minimum(scaled, 0.0) - ops.log1p(ops.exp(-ops.abs(scaled)))

    def _inverse_log_jacobian(self, y: Tensor) -> Tensor:
        return -ops.log(-ops.expm1(-self._at(y, "sharpness") * y))


__all__ = ["Exp", "GumbelCDF", "Invert", "PowerTransform", "ScalarAffine", "Softplus"]
