"""Cells that see other parameters than they hold: cast on the way in, as the inputs are (`Cell.to_float`), or what hooks make of
them (`Cell.register_parameter_forward_hook`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from graphc import dispatch
from graphc.nn.cell.cell import Cell, is_set_by_class
from graphc.ops import functional as F
from graphc.ops.tensor.autocast import computing
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor
from graphc.ops.tensor.tree import map_tensors
from graphc.trace.mutation.attributes import attributes_of_trace


def sees_others(cell: Cell) -> bool:
    """Whether construct of a cell is to be run by `construct_of`."""
    modes = cell.compute_dtype, cell.low_dtype
    return any(dtype is not None for dtype in modes) or "_parameter_hooks" in cell.__dict__


class _Behind:
    """A cell, of which construct sees a copy whose parameters are the changed ones. What the copy sets, the cell is given."""

    def __init__(self, cell: Cell, seen: Callable[[str, Parameter], Tensor]) -> None:
        self.cell, self._seen = cell, seen

    @contextmanager
    def view(self) -> Iterator[Any]:
        """The copy, which holds what the cell holds for as long as construct runs."""
        view, attributes = object.__new__(type(self.cell)), attributes_of_trace()
        view.__dict__.update(self.cell.__dict__)
        for name in self.cell._params:
            self._show(view, name)
        view.__dict__["_behind"] = self
        with nullcontext() if attributes is None else attributes.copied(self.cell, view):
            yield view

    def set(self, view: Any, name: str, value: Any) -> None:
        """Set an attribute."""
        if is_set_by_class(type(view), name):
            object.__setattr__(view, name, value)
            return
        setattr(self.cell, name, value)
        if name in self.cell.__dict__:
            view.__dict__[name] = self.cell.__dict__[name]
        self._show(view, name)

    def _show(self, view: Any, name: str) -> None:
        held = self.cell.__dict__.get(name)
        if isinstance(held, Parameter) and held is self.cell._params.get(name):
            view.__dict__[name] = self._seen(name, held)


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
            x.taken_of = p, ...  # What is written to it is written to the parameter.
        return x

    def run(*args: Any, **kwargs: Any) -> Any:
        # What to_float says comes before level "auto" of a network around.
        low = cell.low_dtype or (dispatch.low.get() if dtype is None else None)
        with computing(low), _Behind(cell, seen).view() as view:
            made = prepared(view.construct)(*map_tensors(cast, args), **map_tensors(cast, kwargs))
        wanted = cell.result_dtype
        return made if wanted is None else map_tensors(lambda x: _as(x, wanted), made)

    return run


def _as(x: Tensor, dtype: str) -> Tensor:
    """A float of at most 32 bits in another dtype; anything else as it is."""
    floats = ("float16", "bfloat16", "float32")
    return F.cast(x, dtype) if x.tensor_type.dtype in floats and x.tensor_type.dtype != dtype else x
