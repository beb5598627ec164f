"""Further initializers: of given variance, orthogonal, sparse, identities."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graphc.errors import ArgumentValueError, user_loc
from graphc.nn import checks
from graphc.nn.initializer import Initializer, Shape, fans, normal, register, truncated_normal, uniform
from graphc.ops.tensor import Array


class XavierNormal(Initializer):
    """Normal with standard deviation gain * sqrt(2 / (fan_in + fan_out)) (Glorot and Bengio, 2010)."""

    def __init__(self, gain: float = 1) -> None:
        self.gain = checks.real("XavierNormal", "gain", gain)

    def values(self, shape: Shape) -> Array:
        return normal(shape, 0.0, self.gain * math.sqrt(2.0 / sum(fans(shape))))


class Identity(Initializer):
    """Ones on the diagonal of a matrix; ArgumentValueError for another number of axes."""

    def values(self, shape: Shape) -> Array:
        if len(shape) != 2:
            raise ArgumentValueError(f"Identity: a matrix is needed, the shape is {shape}", loc=user_loc())
        return np.eye(*shape)


class Orthogonal(Initializer):
    """Orthonormal rows (or columns, whichever are fewer) times gain, all but the first axis taken as one (Saxe et al., 2014)."""

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = checks.real("Orthogonal", "gain", gain)

    def values(self, shape: Shape) -> Array:
        rows, columns = _matrix("Orthogonal", shape)
        drawn = normal((max(rows, columns), min(rows, columns)), 0.0, 1.0)
        q, r = np.linalg.qr(drawn)
        q = q * np.sign(np.diag(r))
        return self.gain * (q.T if rows < columns else q).reshape(shape)


class VarianceScaling(Initializer):
    """Variance scale / fan, with the fan of `mode` ("fan_in", "fan_out", "fan_avg"), drawn by `distribution`
    ("uniform", "truncated_normal", "untruncated_normal").
    """

    def __init__(self, scale: float = 1.0, mode: str = "fan_in", distribution: str = "truncated_normal") -> None:
        self.scale = checks.real("VarianceScaling", "scale", scale, above=0)
        self.mode = checks.one_of("VarianceScaling", "mode", mode, ("fan_in", "fan_out", "fan_avg"))
        kinds = ("uniform", "truncated_normal", "untruncated_normal")
        self.distribution = checks.one_of("VarianceScaling", "distribution", distribution, kinds)

    def values(self, shape: Shape) -> Array:
        fan_in, fan_out = fans(shape)
        fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self.mode]
        variance = self.scale / max(1.0, fan)
        if self.distribution == "uniform":
            bound = math.sqrt(3.0 * variance)
            return uniform(shape, -bound, bound)
        if self.distribution == "untruncated_normal":
            return normal(shape, 0.0, math.sqrt(variance))
        # What is cut off at two standard deviations leaves this much of the deviation.
        sigma = math.sqrt(variance) / 0.87962566103423978
        return truncated_normal(shape, -2 * sigma, 2 * sigma, 0.0, sigma)


class Sparse(Initializer):
    """Normal with standard deviation sigma, and a share `sparsity` of each column set to 0 (Martens, 2010)."""

    def __init__(self, sparsity: float, sigma: float = 0.01) -> None:
        self.sparsity = checks.real("Sparse", "sparsity", sparsity, least=0)
        self.sigma = checks.real("Sparse", "sigma", sigma)

    def values(self, shape: Shape) -> Array:
        if len(shape) != 2:
            raise ArgumentValueError(f"Sparse: a matrix is needed, the shape is {shape}", loc=user_loc())
        rows, columns = shape
        made = np.array(normal(shape, 0.0, self.sigma))
        for column in range(columns):
            made[np.random.permutation(rows)[: math.ceil(self.sparsity * rows)], column] = 0
        return made


class Dirac(Initializer):
    """A convolution that keeps as many channels as it can: weights [out, in, *window] with a 1 at the window's centre.

    groups: output channels are divided into so many, and each group keeps the channels.
    """

    def __init__(self, groups: int = 1) -> None:
        self.groups = checks.integer("Dirac", "groups", groups)

    def values(self, shape: Shape) -> Array:
        if len(shape) not in (3, 4, 5) or shape[0] % self.groups:
            raise ArgumentValueError(
                f"Dirac: the shape is {shape}, expected 3 to 5 axes, the first a multiple of groups = {self.groups}",
                loc=user_loc(),
            )
        made = np.zeros(shape)
        each = shape[0] // self.groups
        centre = tuple(n // 2 for n in shape[2:])
        for group in range(self.groups):
            for channel in range(min(each, shape[1])):
                made[(group * each + channel, channel, *centre)] = 1
        return made


def _matrix(owner: str, shape: Shape) -> tuple[int, int]:
    if len(shape) < 2:
        raise ArgumentValueError(f"{owner}: at least two axes are needed, the shape is {shape}", loc=user_loc())
    return shape[0], math.prod(shape[1:])


_NAMES: dict[str, Any] = {
    "xavier_normal": XavierNormal,
    "xaviernormal": XavierNormal,
    "identity": Identity,
    "orthogonal": Orthogonal,
    "variance_scaling": VarianceScaling,
    "variancescaling": VarianceScaling,
    "dirac": Dirac,
}
for _name, _cls in _NAMES.items():
    register(_name, _cls)

__all__ = ["Dirac", "Identity", "Orthogonal", "Sparse", "VarianceScaling", "XavierNormal"]
