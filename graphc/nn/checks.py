"""Checks of constructor arguments. Each returns the argument in one form, or raises with the owner's name in
front.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, CountError, KindError, user_loc
from graphc.errors.suggestions import nearest, question
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor
from graphc.validation import checks
from graphc.validation.checks import boolean, is_int, wrong_type, wrong_value

__all__ = [
    "boolean",
    "exact_float",
    "integer",
    "is_int",
    "is_number",
    "named",
    "one_of",
    "pair",
    "real",
    "several",
    "trained",
    "wrong_type",
    "wrong_value",
]


def is_number(value: Any) -> bool:
    """An int or float that is not a bool."""
    return is_int(value) or isinstance(value, (float, np.floating))


def trained(owner: str, p: Parameter, complex_numbers: bool = False) -> None:
    """ArgumentTypeError GC142 for a parameter that is no float one; complex_numbers: nor a complex one."""
    kind = p.tensor_type
    if kind.is_float or (kind.is_complex and complex_numbers):
        return
    raise ArgumentTypeError(
        f"{owner}: {named(p)} cannot be trained: "
        + ("its updates are those of real numbers" if kind.is_complex else "only float parameters have gradients"),
        code="GC142",
        loc=user_loc(),
        help="keep its parts as two float Parameters, of which ops.Complex() makes one; mint.optim.SGD takes complex ones"
        if kind.is_complex
        else f"make it Parameter(..., name={p.name!r}, requires_grad=False)",
    )


def integer(owner: str, name: str, value: Any, least: int = 1) -> int:
    """An int of at least `least`."""
    return checks.integer(owner, name, value, least)


def real(owner: str, name: str, value: Any, *, least: float = -math.inf, above: float = -math.inf) -> float:
    """A finite int or float, at least `least` and greater than `above`."""
    if not is_number(value):
        raise wrong_type(owner, name, "a number", value)
    if not math.isfinite(value) or value < least or value <= above:
        bounds = f" > {above:g}" if above > -math.inf else f" >= {least:g}" if least > -math.inf else ""
        raise wrong_value(owner, name, f"a finite number{bounds}", value)
    return float(value)


def exact_float(
    owner: str, name: str, value: Any, *, least: float = -math.inf, above: float = -math.inf, most: float = math.inf
) -> float:
    """A finite float (an int is refused, as by MindSpore), at least `least`, greater than `above`, at most `most`."""
    if not isinstance(value, (float, np.floating)):
        raise wrong_type(owner, name, "a float", value)
    if value > most:
        raise wrong_value(owner, name, f"at most {most:g}", value)
    return real(owner, name, value, least=least, above=above)


def one_of(
    owner: str, name: str, value: Any, known: Sequence[str], error: type[ArgumentValueError] = ArgumentValueError
) -> str:
    """One of the strings, as it is or else in lower case; KindError for no string, `error` for another one."""
    if not isinstance(value, str):
        raise KindError(f"{owner}: {name} must be a string, got {type(value).__name__}", loc=user_loc())
    chosen = value if value in known else value.lower()
    if chosen not in known:
        near = nearest(value, known) or [k for k in known if k.startswith(chosen + "_")]
        expected = f"one of {', '.join(map(repr, known))}"
        raise error(f"{owner}: {name} must be {expected}, got {value!r}", loc=user_loc(), help=question(near))
    return chosen


_COUNTS = {2: "two", 3: "three"}


def several(owner: str, name: str, value: Any, count: int, least: int = 1) -> tuple[int, ...]:
    """An int of at least `least` for each of two or three axes, or one for all."""
    if is_int(value):
        value = (value,) * count
    if not isinstance(value, (tuple, list)):
        raise wrong_type(owner, name, f"an int or a tuple of {_COUNTS[count]}", value)
    if len(value) == 1:
        value = (value[0],) * count
    if len(value) != count:
        raise CountError(
            f"{owner}: {name} must be an int or a tuple of {_COUNTS[count]}, got {value!r}", loc=user_loc()
        )
    return tuple(integer(owner, name, v, least) for v in value)


def pair(owner: str, name: str, value: Any) -> tuple[int, int]:
    """A positive int, or two of them: (vertical, horizontal)."""
    first, second = several(owner, name, value, 2)
    return first, second


def named(x: Tensor, fallback: str = "x") -> str:
    """`fc.weight f32[4,5]`: a tensor as the user knows it."""
    return f"{x.name if isinstance(x, Parameter) else fallback} {x.tensor_type}"
