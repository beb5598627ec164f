"""MindSpore's `common.initializer`: the names of `graphc.nn.initializer`."""

from graphc.nn.initializer import (
    Constant,
    HeNormal,
    HeUniform,
    Initializer,
    Normal,
    One,
    TruncatedNormal,
    Uniform,
    XavierUniform,
    Zero,
    initializer,
)  # fmt: skip
from graphc.nn.more_initializers import Dirac, Identity, Orthogonal, Sparse, VarianceScaling, XavierNormal

__all__ = [
    "Constant", "Dirac", "HeNormal", "HeUniform", "Identity", "Initializer", "Normal", "One", "Orthogonal", "Sparse",
    "TruncatedNormal", "Uniform", "VarianceScaling", "XavierNormal", "XavierUniform", "Zero", "initializer",
]  # fmt: skip
