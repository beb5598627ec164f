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

__all__ = [
    "Constant", "HeNormal", "HeUniform", "Initializer", "Normal", "One", "TruncatedNormal", "Uniform", "XavierUniform",
    "Zero", "initializer",
]  # fmt: skip
