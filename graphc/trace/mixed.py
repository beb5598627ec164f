"""Cells that compute in another dtype (`Cell.to_float`): their inputs and trainable parameters are cast on the way in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphc.nn.cell.cell import Cell
from graphc.ops import functional as F
from graphc.ops.tensor.tensor import Parameter, Tensor
from graphc.ops.tensor.tree import map_tensors


def in_dtype(
    cell: Cell, dtype: str, prepared: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> Callable[..., Any]:
    """cell.construct with float inputs and the cell's own trainable parameters cast to a dtype.

    Results keep the dtype they come out in, or get the cell's `result_dtype`. Parameters that are not trained keep theirs:
    they are state that the cell writes.
    """

    def cast(x: Tensor) -> Tensor:
        return F.cast(x, dtype) if x.type.is_float and x.type.dtype != dtype and not isinstance(x, Parameter) else x

    def run(*args: Any, **kwargs: Any) -> Any:
        # construct sees a copy of the cell whose parameters are the cast ones; the cell itself stays as it is.
        view = object.__new__(type(cell))
        view.__dict__.update(cell.__dict__)
        for name, p in cell._params.items():
            held = p is cell.__dict__.get(name)
            if held and p.requires_grad and p.type.is_float and p.type.dtype != dtype:
                view.__dict__[name] = F.cast(p, dtype)
        made = prepared(view.construct)(*map_tensors(cast, args), **map_tensors(cast, kwargs))
        wanted = cell.result_dtype
        return made if wanted is None else map_tensors(lambda x: _as(x, wanted), made)

    return run


def _as(x: Tensor, dtype: str) -> Tensor:
    """A float of at most 32 bits in another dtype; anything else as it is."""
    floats = ("float16", "bfloat16", "float32")
    return F.cast(x, dtype) if x.type.dtype in floats and x.type.dtype != dtype else x
