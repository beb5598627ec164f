"""What a step or a Cell is called with, as tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.ops.tensor.arrays import native, require_dtype
from graphc.ops.tensor.mutable import NESTS, NUMBERS, host_number
from graphc.ops.tensor.tensor import Tensor
from graphc.ops.tensor.traced_queries import no_value
from graphc.ops.tensor.tree import is_named, with_items


def as_inputs(tree: Any) -> Any:
    """The arguments with NumPy arrays, and numbers marked by `mutable`, as tensors; other Python values stay."""
    if isinstance(tree, np.ndarray):
        require_dtype(tree.dtype, "an input")
        return Tensor.wrap(np.ascontiguousarray(native(tree)).reshape(tree.shape))
    if type(tree) in NUMBERS:
        return host_number(tree)
    if isinstance(tree, Tensor) and tree.open_shape is not None:
        raise no_value(tree.open_shape)
    if isinstance(tree, dict):
        if type(tree) is not dict and not isinstance(tree, NESTS):
            return with_items(tree, map(as_inputs, tree.values()))
        return type(tree)((k, as_inputs(v)) for k, v in tree.items())
    if isinstance(tree, (tuple, list)):
        made = map(as_inputs, tree)
        if is_named(tree):
            return type(tree)(*made)
        return type(tree)(made) if isinstance(tree, NESTS) else tuple(made) if isinstance(tree, tuple) else list(made)
    return tree
