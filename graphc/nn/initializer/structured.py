"""Initial values with a structure: identities, orthogonal and sparse matrices."""

from __future__ import annotations

import math

import numpy as np

from graphc.errors import ArgumentValueError, user_loc
from graphc.nn import checks
from graphc.nn.initializer.base import Initializer, named
from graphc.nn.initializer.draws import Shape, normal
from graphc.ops.tensor.tensor import Array


@named("identity")
class Identity(Initializer):
    """Ones on the diagonal of a matrix; ArgumentValueError for another number of axes."""

    def values(self, shape: Shape) -> Array:
        if len(shape) != 2:
            raise ArgumentValueError(f"Identity: a matrix is needed, the shape is {shape}", loc=user_loc())
        return np.eye(*shape)


@named("orthogonal")
class Orthogonal(Initializer):
    """Orthonormal rows (or columns, whichever are fewer) times gain, all but the first axis taken as one (Saxe et al., 2014)."""

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = checks.real("Orthogonal", "gain", gain)

    def values(self, shape: Shape) -> Array:
        rows, columns = _matrix("Orthogonal", shape)
        drawn = normal((rows, columns), 0.0, 1.0)
        q, r = np.linalg.qr(drawn.T if rows < columns else drawn)
        q = q * np.sign(np.diag(r))
        return self.gain * (q.T if rows < columns else q).reshape(shape)


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


@named("dirac")
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


__all__ = ["Dirac", "Identity", "Orthogonal", "Sparse"]
