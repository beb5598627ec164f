"""What annotations say of arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import numpy as np
import pytest

from graphc import Parameter, Tensor
from graphc.validation.annotations import KNOWN, kinds

Axis = int | Sequence[int] | None
Shape = Annotated[int | Sequence[int] | Tensor, KNOWN]


def function(
    axis: Axis,
    size: Shape,
    operand: Tensor | bool | int | float,
    rate: float | str | None,
    window: int | Sequence[int | Sequence[int]],
    xs: Sequence[Tensor],
    flag: bool,
    weight: Parameter,
    call: Callable[..., Any],
    anything: Any,
    unknown: NotThere,  # noqa: F821
    name: str | None = None,
) -> None:
    """What has a parameter of each kind."""


@pytest.mark.parametrize(
    ("name", "words", "number"),
    [
        ("axis", "an int or a tuple or list of ints or None", "integer"),
        ("size", "an int or a tuple or list of ints or a Tensor", "integer"),
        ("operand", "a Tensor or a number", ""),
        ("rate", "a number or a str or None", "number"),
        ("window", "an int or a tuple or list of ints", "integer"),
        ("xs", "a tuple or list of Tensors", ""),
        ("flag", "a bool", "bool"),
        ("weight", "a Parameter", ""),
        ("call", "a function", ""),
        ("anything", "", ""),
        ("unknown", "", ""),
        ("name", "a str or None", ""),
    ],
)
def test_what_annotations_say(name, words, number):
    kind = kinds(function)[name]
    assert (kind.words, kind.number) == (words, number)


def test_what_a_value_lacks():
    x = Tensor(1.0)
    for name, fits, others in (
        ("axis", (1, (0, 1), [2], None, np.int32(1)), (1.5, "a", x, (0, 1.5))),
        ("size", (1, (0, 1), x), (None, 1.5, "a")),
        ("operand", (1, 1.5, True, x, np.float32(1)), ("a", None, (1,))),
        ("window", (1, (1, 2), ((1, 2), (3, 4))), ("12", 1.5)),
        ("xs", ((x, x), [], [x]), ((x, 1), x)),
        ("flag", (True, np.True_), (1, None)),
        ("weight", (Parameter(x, name="w"),), (x,)),
        ("anything", (1, "a", x, None), ()),
    ):
        kind = kinds(function)[name]
        assert not any(map(kind.lacks, fits)), name
        assert all(map(kind.lacks, others)), name
