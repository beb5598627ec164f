"""What `Cell.set_inputs` says of a cell's inputs."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from graphc import dispatch
from graphc.errors import ArgumentValueError, user_loc
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.unused_arguments import no_effect

if TYPE_CHECKING:
    from graphc.nn.cell.cell import Cell

#: Name, dtype and shape of an input whose size varies.
Open = tuple[str, str, tuple[int | None, ...]]


def declare_inputs(cell: Cell, inputs: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Note them, and which sizes vary. Raises ArgumentValueError for more inputs than construct takes."""
    try:
        bound = inspect.signature(cell.construct).bind_partial(*inputs, **kwargs).arguments
    except TypeError as error:
        raise ArgumentValueError(f"set_inputs: {type(cell).__name__}.construct: {error}", loc=user_loc()) from None
    found: list[Open] = []
    for name, value in bound.items():
        items = [(f"{name}{k}", x) for k, x in enumerate(value)] if isinstance(value, tuple) else [(name, value)]
        found += [
            (n, x.open_dtype, x.open_shape) for n, x in items if isinstance(x, Tensor) and x.open_shape is not None
        ]
    object.__setattr__(cell, "_given_inputs", inputs or tuple(kwargs.values()))
    object.__setattr__(cell, "_open_inputs", tuple(found))
    dispatch.touch()
    if not found:
        no_effect("Cell", "set_inputs", "a cell is compiled for the shapes it is called with; None lets a size vary")


def open_inputs(cell: Cell) -> tuple[Open, ...]:
    """The inputs of a cell whose sizes vary."""
    found: tuple[Open, ...] = cell.__dict__.get("_open_inputs", ())
    return found
