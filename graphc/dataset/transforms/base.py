"""What a transform is: a callable object that takes the values of a sample and gives new ones.

One whose `whole` exists does the same for many samples at once, held in one array whose first axis counts them.
"""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from graphc.dataset.core.rows import to_array
from graphc.errors import ArgumentTypeError, user_loc
from graphc.validation.signatures import Remembers

Array = np.ndarray[Any, np.dtype[Any]]


Function = TypeVar("Function")


def not_random(func: Function) -> Function:
    """The function, with MindSpore's mark `random = False`; graphc asks for no marks."""
    func.random = False  # type: ignore[attr-defined]
    return func


class Transform(Remembers):
    """Base of graphc's transforms: `apply` is called with arrays."""

    def __call__(self, *inputs: Any) -> Any:
        if not inputs:
            raise ArgumentTypeError(f"{type(self).__name__} needs a value to transform", loc=user_loc())
        results = tuple(self.apply(to_array(value)) for value in inputs)
        return results[0] if len(results) == 1 else results

    def apply(self, value: Array) -> Any:
        """The transformed value."""
        raise NotImplementedError


class WholeTransform(Transform):
    """A transform of which one sample is a special case of many."""

    def apply(self, value: Array) -> Any:
        # A value without axes stays an array: an index alone would make a NumPy number of it.
        return self.whole(value[None])[0, ...]

    def whole(self, values: Array) -> Array:
        """[n, ...]: each of n values, transformed."""
        raise NotImplementedError
