"""Cells that see other parameters than they hold: cast on the way in, as the inputs are (`Cell.to_float`), or what hooks make of
them (`Cell.register_parameter_forward_hook`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphc import dispatch
from graphc.nn.cell.cell import Cell
from graphc.ops import functional as F
from graphc.ops.tensor.autocast import computing
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor
from graphc.ops.tensor.tree import map_tensors


def sees_others(cell: Cell) -> bool:
    """Whether construct of a cell is to be run by `construct_of`."""
    modes = cell.compute_dtype, cell.low_dtype
    return any(dtype is not None for dtype in modes) or "_parameter_hooks" in cell.__dict__


def construct_of(cell: Cell, prepared: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Callable[..., Any]:
    """cell.construct with float inputs and the cell's own weights, frozen ones too, cast to its dtype, parameters after their
    hooks.

    Results keep the dtype they come out in, or get the cell's `result_dtype`. Parameters that were made to be state keep theirs:
    the cell writes them.
    """
    dtype, hooks = cell.compute_dtype, cell.__dict__.get("_parameter_hooks", {})

    def cast(x: Tensor) -> Tensor:
        if dtype is None or not x.tensor_type.is_float or x.tensor_type.dtype == dtype or isinstance(x, Parameter):
            return x
        return F.cast(x, dtype)

    def seen(name: str, p: Parameter) -> Tensor:
        x: Tensor = p
        for hook in hooks.get(name, ()):
            x = prepared(hook)(x)
        if dtype is not None and not p.is_state and x.tensor_type.is_float and x.tensor_type.dtype != dtype:
            x = F.cast(x, dtype)
        return x

    def run(*args: Any, **kwargs: Any) -> Any:
        # construct sees a copy of the cell whose parameters are the changed ones; the cell itself stays as it is.
        view = object.__new__(type(cell))
        view.__dict__.update(cell.__dict__)
        for name, p in cell._params.items():
            if p is cell.__dict__.get(name):
                view.__dict__[name] = seen(name, p)
        # What to_float says comes before level "auto" of a network around.
        low = cell.low_dtype or (dispatch.low.get() if dtype is None else None)
        with computing(low):
            made = prepared(view.construct)(*map_tensors(cast, args), **map_tensors(cast, kwargs))
        wanted = cell.result_dtype
        return made if wanted is None else map_tensors(lambda x: _as(x, wanted), made)

    return run


def _as(x: Tensor, dtype: str) -> Tensor:
    """A float of at most 32 bits in another dtype; anything else as it is."""
    floats = ("float16", "bfloat16", "float32")
    return F.cast(x, dtype) if x.tensor_type.dtype in floats and x.tensor_type.dtype != dtype else x
