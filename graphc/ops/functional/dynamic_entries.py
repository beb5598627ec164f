"""Single numbers as indices of axes that are as long as only the run tells: one axis after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphc.ir.types import INTEGERS
from graphc.ops.functional.bounds import in_bounds
from graphc.ops.functional.core import shape_of
from graphc.ops.functional.slicing import one_ellipsis
from graphc.ops.tensor.deferred import Deferred
from graphc.ops.tensor.tensor import Tensor


def numbers_first(
    x: Tensor, axes: list[int], indices: list[Tensor], rows: Callable[[Tensor, Tensor, int], Tensor]
) -> tuple[Tensor, list[int], list[Tensor]]:
    """What single numbers take of x, one axis after the other, and the indices that are left: two axes of which one is as long as
    only the run tells are no single one, in which real elements would stand together. rows: those at places of an axis.
    """
    left: list[tuple[int, Tensor]] = []
    for taken, (axis, index) in enumerate(zip(axes, indices, strict=True)):
        own = axis - taken + len(left)
        if index.shape:
            left.append((own, index))
        else:
            x = rows(x, in_bounds("", index, shape_of(x)[own]), own)
    return x, [axis for axis, _ in left], [index for _, index in left]


def numbers_of(x: Tensor, index: Any, known: Callable[[Any], Any]) -> dict[int, Any] | None:
    """The single numbers of an index, by their axes, where it has nothing else but whole axes, and an axis is as long as only the
    run tells: all axes as one would have padding in between. None otherwise. known: an item as what indexing knows.
    """
    if not any(isinstance(size, Deferred) for size in shape_of(x)):
        return None
    items = [known(i) for i in (index if isinstance(index, tuple) else (index,))]
    used = sum(i is not Ellipsis for i in items)
    one_ellipsis(items)
    at = next((k for k, i in enumerate(items) if i is Ellipsis), len(items))
    items[at : at + 1] = [slice(None)] * (x.ndim - used)
    whole = [isinstance(i, slice) and i == slice(None) for i in items]
    made = {k: i for k, i in enumerate(items) if not whole[k]}
    fits = len(items) == x.ndim and all(_is_number(i) for i in made.values())
    return made if made and fits else None


def _is_number(item: Any) -> bool:
    if isinstance(item, Tensor):
        return not item.shape and item.tensor_type.dtype in INTEGERS
    return isinstance(item, (int, np.integer)) and not isinstance(item, (bool, np.bool_))
