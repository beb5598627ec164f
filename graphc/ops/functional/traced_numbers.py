"""Numbers that a tensor decides: what stands for them while a Cell is traced."""

from __future__ import annotations

from typing import Any

from graphc import dispatch
from graphc.errors import TraceTypeError, user_loc
from graphc.ops.functional.core import cast_to
from graphc.ops.functional.shapes import reshape
from graphc.ops.functional.slicing import getitem
from graphc.ops.functional.state import stop_gradient
from graphc.ops.tensor.tensor import Tensor

#: How many elements of a traced tensor may become numbers of a list.
LISTED = 1024


def as_number(x: Tensor, dtype: str) -> Tensor:
    """A tensor of one element, in a dtype, as one that stands for a number."""
    made = reshape(cast_to(x, dtype), ())
    if made.array is not None:
        number = Tensor.wrap(made.array)
        number.is_number = True
    else:
        active: Any = dispatch.recorder.get()
        number = active.wrap(active.resolve(made), True)
    return number


def python_number(x: Tensor, dtype: str) -> Tensor:
    """What stands for the number that Python would make of x: a constant to every gradient, as that number is."""
    return as_number(stop_gradient(x) if x.tensor_type.is_float else x, dtype)


def item_of(x: Tensor) -> Tensor:
    """What `x.item()` is while x is traced, as `int(x)`, `float(x)` or `bool(x)` are: of one element, which is real."""
    dtype = x.tensor_type.dtype
    if dtype not in ("bool", "float64"):
        dtype = "float32" if x.tensor_type.is_float else "int64"
    return python_number(x, dtype)


def list_of(x: Tensor) -> Any:
    """What `x.tolist()` is: nested lists of numbers; while x is traced, of what stands for them (`item_of`).

    TraceTypeError GC130 for more than LISTED elements of a traced tensor.
    """
    active = dispatch.recorder.get()
    if active is None or (x.array is not None and not x._is_state()) or x.tensor_type.is_complex:
        return x.asnumpy().tolist()
    if x.size > LISTED:
        raise TraceTypeError(
            f"tolist() of a traced tensor of {x.size} elements, of which {LISTED} at most become numbers",
            loc=user_loc(),
            help="keep the computation in graphc.ops",
        )
    return [list_of(getitem(x, k)) for k in range(x.shape[0])] if x.shape else item_of(x)


__all__ = ["as_number", "item_of", "list_of", "python_number"]
