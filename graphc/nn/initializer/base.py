"""What an initializer is, and the names under which `initializer` knows them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from graphc.errors import ArgumentTypeError, user_loc
from graphc.nn.initializer.draws import Shape
from graphc.ops.tensor.tensor import Array


class Initializer:
    """Base of the initializers. Subclasses define `values(shape)`, which gives a float array; or, as in MindSpore,
    `_initialize(array)`, which writes into a float32 array.
    """

    def __init__(self, **settings: Any) -> None:
        self.__dict__.update(settings)

    def values(self, shape: Shape) -> Array:
        fill = getattr(self, "_initialize", None)
        if fill is None:
            raise ArgumentTypeError(f"{type(self).__name__} does not define values(shape)", loc=user_loc())
        array = np.zeros(shape, np.float32)
        fill(array)
        return array

    def __call__(self, array: Array) -> None:
        """Write initial values into an array."""
        array[...] = self.values(array.shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v}' for k, v in vars(self).items())})"


#: Classes by the names under which `initializer` knows them.
BY_NAME: dict[str, Callable[[], Initializer]] = {}

C = TypeVar("C", bound=Callable[..., Initializer])


def named(*names: str) -> Callable[[C], C]:
    """A decorator: `initializer` knows the class by these names. Its arguments must have defaults."""

    def registered(maker: C) -> C:
        BY_NAME.update(dict.fromkeys(names, maker))
        return maker

    return registered


__all__ = ["Initializer"]
