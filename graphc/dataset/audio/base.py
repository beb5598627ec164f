"""What transforms of sounds share: how their arguments are described and checked, and which arrays they take."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from graphc.dataset.checks import INT32_MAX, integer, truth
from graphc.dataset.checks import number as real_number
from graphc.dataset.sources.parameters import REQUIRED, Check, Described, Parameter, number
from graphc.dataset.transforms.base import Transform
from graphc.errors import ArgumentTypeError, ArgumentValueError, DataError, DataKindError, user_loc

Array = np.ndarray[Any, np.dtype[Any]]

#: The largest number that MindSpore takes where it computes with float32.
LARGEST = 2.0**24
__all__ = [
    "INT32_MAX", "LARGEST", "REQUIRED", "Array", "Parameter", "Sound", "above", "count", "flag", "kind", "misfit", "nonzero",
    "number", "one_kind", "optional", "real",
]  # fmt: skip


def one_kind(known: type[Enum], owner: str, name: str, value: Any) -> Any:
    """A member of an enumeration; ArgumentTypeError for anything else."""
    if not isinstance(value, known):
        raise ArgumentTypeError(
            f"{owner}: {name} must be one of {known.__name__}, got {type(value).__name__}", loc=user_loc()
        )
    return value


def flag(name: str, default: bool) -> Parameter:
    """A parameter that is True or False."""
    return Parameter(name, default, truth)


def kind(name: str, default: Enum) -> Parameter:
    """A parameter that is a member of its default's enumeration."""
    return Parameter(name, default, partial(one_kind, type(default)))


def _between(low: float, high: float, owner: str, name: str, value: Any) -> float:
    return real_number(owner, name, value, low, high)


def real(name: str, default: Any, low: float = -LARGEST, high: float = LARGEST) -> Parameter:
    """A number between two."""
    return Parameter(name, default, partial(_between, low, high))


def _above(high: float, owner: str, name: str, value: Any) -> float:
    found = real_number(owner, name, value, 0.0, high)
    if not found:
        raise ArgumentValueError(f"{owner}: {name} must be above 0, got {value}", loc=user_loc())
    return found


def above(name: str, default: Any, high: float = LARGEST) -> Parameter:
    """A number above 0."""
    return Parameter(name, default, partial(_above, high))


def count(name: str, default: Any) -> Parameter:
    """An int of 1 or more."""
    return number(name, default, 1, INT32_MAX)


def _nonzero(owner: str, name: str, value: Any) -> int:
    found = integer(owner, name, value, -INT32_MAX - 1, INT32_MAX)
    if not found:
        raise ArgumentValueError(f"{owner}: {name} must not be 0", loc=user_loc())
    return found


def nonzero(name: str, default: Any = REQUIRED) -> Parameter:
    """An int but 0."""
    return Parameter(name, default, _nonzero)


def _or_none(check: Check, owner: str, name: str, value: Any) -> Any:
    return None if value is None else check(owner, name, value)


def optional(parameter: Parameter) -> Parameter:
    """The parameter, which may be None, too, and is by default."""
    assert parameter.check is not None
    return Parameter(parameter.name, None, partial(_or_none, parameter.check))


def misfit(owner: str, what: str) -> DataError:
    """The error of a sound that cannot be transformed so."""
    return DataError(f"{owner}: {what}", code="GC201")


class Sound(Transform, Described):
    """A transform of one sound, or what was made of one: `computed` gets it in float64 if it is so kept, else in float32.

    `prepare` looks at arguments together, which are the attributes of `given`.
    """

    #: The last axes of what it takes; "complex" has the real and the imaginary part.
    axes: tuple[str, ...] = ("time",)
    #: Whether it takes no integers; float16 stays as it is then.
    floats = False

    def build(self, given: SimpleNamespace) -> None:
        """Keep the arguments, checked one by one."""
        self.given = given
        self.prepare()

    def prepare(self) -> None:
        """Look at the arguments together, and compute what depends on them alone."""

    def wrong(self, what: str) -> ArgumentValueError:
        """The error of arguments that do not fit each other."""
        return ArgumentValueError(f"{type(self).__name__}: {what}", loc=user_loc())

    def misfit(self, what: str) -> DataError:
        """The error of a sound that cannot be transformed so."""
        return misfit(type(self).__name__, what)

    def __call__(self, *inputs: Any) -> Any:
        for value in inputs:
            if not isinstance(value, (np.ndarray, list)) and not hasattr(value, "asnumpy"):
                raise DataKindError(
                    f"{type(self).__name__}: a sound must be an array, got {type(value).__name__}", code="GC201"
                )
        return super().__call__(*inputs)

    def apply(self, value: Array) -> Any:
        pairs = self.axes[-1] == "complex"
        kinds = "f" if self.floats else "biuf"
        if value.dtype.kind not in kinds or value.ndim < len(self.axes) or (pairs and value.shape[-1] != 2):
            wanted = ", ".join(("...", *self.axes[:-1], "2" if pairs else self.axes[-1]))
            what = "floats" if self.floats else "numbers"
            raise self.misfit(f"a sound must be {what} [{wanted}], got {value.dtype} {list(value.shape)}")
        if not value.size:
            raise self.misfit(f"the sound {list(value.shape)} is empty")
        if value.dtype == np.float64 or (self.floats and value.dtype == np.float16):
            return self.computed(value)
        return self.computed(value.astype(np.float32, copy=False))

    def computed(self, sound: Array) -> Any:
        """The transformed sound; `sound` itself stays as it is."""
        raise NotImplementedError


def by_rows(function: Callable[[Array], Array], sound: Array) -> Array:
    """What a function of [n, time] makes of [..., time], with the axes before the last one as they were."""
    made = function(np.ascontiguousarray(sound.reshape(-1, sound.shape[-1])))
    return made.reshape(*sound.shape[:-1], *made.shape[1:])
