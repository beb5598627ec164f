"""Values of one name on two ways through the program: whether they are the same, and how they become one value.

Tensors are one value if their types agree, containers if their items are. Python numbers that differ become tensors that stand
for numbers (`Tensor.is_number`). Anything else must be the same on both ways.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from graphc.ops.functional.traced_numbers import as_number
from graphc.ops.tensor.deferred import Deferred, Stacked
from graphc.ops.tensor.dtype import DType, promote_scalar
from graphc.ops.tensor.row_tensor import RowTensor
from graphc.ops.tensor.sparse import Sparse
from graphc.ops.tensor.tensor import Tensor, as_tensor
from graphc.ops.tensor.tree import Fixed, Leaf, Structure, flatten, is_named
from graphc.trace.dynamic.size_numbers import Size, decided
from graphc.trace.recorder import GraphRecorder
from graphc.trace.standins import Joined

NUMBERS = (bool, int, float)
#: Objects of these are the same if they are equal and of one type.
_VALUES = (
    bool, int, str, bytes, slice, range, set, frozenset, np.generic, np.dtype, DType, types.MethodType, types.EllipsisType,
)  # fmt: skip


# ---- the same


def same(a: Any, b: Any) -> bool:
    """Whether two values are one: the very same tensors, in containers of one kind, and equal Python values."""
    leaves_a, structure_a = flatten(a)
    leaves_b, structure_b = flatten(b)
    if type(a) is not type(b) or len(leaves_a) != len(leaves_b):
        return False
    return all(x is y for x, y in zip(leaves_a, leaves_b, strict=True)) and same_structure(structure_a, structure_b)


def same_structure(a: Structure, b: Structure) -> bool:
    """Whether two structures have the same containers, keys and Python values."""
    if isinstance(a, Leaf) or isinstance(b, Leaf):
        return isinstance(a, Leaf) and isinstance(b, Leaf)
    if isinstance(a, Fixed) or isinstance(b, Fixed):
        return isinstance(a, Fixed) and isinstance(b, Fixed) and same_object(a.value, b.value)
    return (
        (a.kind, a.keys, len(a.items)) == (b.kind, b.keys, len(b.items))
        and all(map(same_type, a.keys, b.keys))
        and all(map(same_structure, a.items, b.items))
    )


def same_type(a: Any, b: Any) -> bool:
    """Whether two equal keys are of one type, which 1 and True are not."""
    return type(a) is type(b)


def same_object(a: Any, b: Any) -> bool:
    """Whether two objects that are no tensors are the same for a program: identical, or equal values. Never by their text,
    which two cells, or two long arrays, may share.
    """
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, (float, complex)):
        return repr(a) == repr(b)  # NaN is itself, and 0.0 is not -0.0.
    if isinstance(a, Deferred):
        return bool(vars(a) == vars(b))
    if isinstance(a, np.ndarray):
        return bool(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes())
    if isinstance(a, partial):
        return same_object(a.func, b.func) and same((a.args, a.keywords), (b.args, b.keywords))
    if dataclasses.is_dataclass(a):
        return all(same(getattr(a, f.name, None), getattr(b, f.name, None)) for f in dataclasses.fields(a))
    return isinstance(a, _VALUES) and bool(a == b)


# ---- one value


def is_number(x: Any) -> bool:
    """Whether it is a Python number, or a tensor that stands for one."""
    return isinstance(x, NUMBERS) or (isinstance(x, Tensor) and not isinstance(x, Joined) and x.is_number)


def kind_of(x: Any) -> str:
    """Of a number: "bool", "int" or "float"."""
    if isinstance(x, NUMBERS):
        return type(x).__name__ if not isinstance(x, Deferred) else "int" if isinstance(x, Size) else "bool"
    type_ = x.tensor_type
    return "bool" if type_.dtype == "bool" else "float" if type_.is_float else "int"


def paired(first: GraphRecorder, a: Any, second: GraphRecorder, b: Any) -> tuple[Any, Any] | None:
    """Two values, from two branches, with numbers as tensors where they differ; None where they cannot become one value.

    Whether the types of tensors agree is not looked at.
    """
    if isinstance(a, Joined) or isinstance(b, Joined):
        return None
    if (isinstance(a, Deferred) or isinstance(b, Deferred)) and not same(a, b):
        a, b = (_in(recorder, partial(decided, x)) for recorder, x in ((first, a), (second, b)))
    if isinstance(a, RowTensor) or isinstance(b, RowTensor):
        return (a, b) if isinstance(a, RowTensor) and isinstance(b, RowTensor) else None
    if is_number(a) and is_number(b):
        return (a, b) if same(a, b) else _numbers(first, a, second, b)
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return a, b
    if is_number(a) and isinstance(b, Tensor) and not b.shape:
        return _beside(a, b), b
    if is_number(b) and isinstance(a, Tensor) and not a.shape:
        return a, _beside(b, a)
    if isinstance(a, Stacked) and isinstance(b, Stacked) and same_structure(a.structure, b.structure):
        return a, b
    items = _pairs(a, b)
    if items is None:
        return (a, b) if same(a, b) else None
    made = [paired(first, x, second, y) for x, y in items]
    if any(pair is None for pair in made):
        return None
    firsts, seconds = ([pair[k] for pair in made if pair] for k in (0, 1))
    return rebuilt(a, firsts), rebuilt(b, seconds)


def _numbers(first: GraphRecorder, a: Any, second: GraphRecorder, b: Any) -> tuple[Tensor, Tensor]:
    """Two numbers as tensors; an int beside a float is a float."""
    a, b = as_tensor(a), as_tensor(b)
    kinds = kind_of(a), kind_of(b)
    if kinds == ("int", "float"):
        a = _in(first, lambda: as_number(a, b.tensor_type.dtype))
    elif kinds == ("float", "int"):
        b = _in(second, lambda: as_number(b, a.tensor_type.dtype))
    return a, b


def _in(branch: GraphRecorder, make: Callable[[], Tensor]) -> Tensor:
    with branch.active():
        return make()


def _beside(number: Any, tensor: Tensor) -> Tensor:
    """A Python number as a tensor of the dtype of that beside it, if it loses nothing by that."""
    dtype = tensor.tensor_type.dtype
    if not isinstance(number, NUMBERS) or promote_scalar(dtype, number) != dtype:
        return as_tensor(number)
    return Tensor(number, tensor.dtype)


def _pairs(a: Any, b: Any) -> list[tuple[Any, Any]] | None:
    """The items of two containers of one kind; None for anything else."""
    if type(a) is not type(b):
        return None
    if isinstance(a, dict):
        return [(x, b[k]) for k, x in a.items()] if list(a) == list(b) else None
    if isinstance(a, Sparse):
        return list(zip(a.parts, b.parts, strict=True)) if a.shape == b.shape else None
    return list(zip(a, b, strict=True)) if isinstance(a, (tuple, list)) and len(a) == len(b) else None


def rebuilt(container: Any, items: list[Any]) -> Any:
    """A tuple, list, dict or sparse tensor with other items."""
    if isinstance(container, Sparse):
        return container.with_parts(*items)
    if isinstance(container, dict):
        return type(container)(zip(container, items, strict=True))
    return type(container)(*items) if is_named(container) else type(container)(items)


# ---- what loops carry

#: Kinds of numbers, and of those that take them without a loss.
_FITS = frozenset({("int", "int"), ("bool", "int"), ("int", "float"), ("float", "float")})


def lifted(before: Any, after: Any) -> Any:
    """What a loop carries in, `before`, with tensors in place of the Python numbers that a turn changes.

    They get the kind that they have after a turn: a number beside a tensor becomes a tensor, an int beside a float a float.
    """
    if isinstance(before, Deferred) and not same(before, after):
        before = decided(before)
    if is_number(before) and not isinstance(before, Tensor):
        if isinstance(after, Tensor) and not isinstance(after, Joined) and not after.is_number and not after.shape:
            return _beside(before, after)
        if is_number(after) and not same(before, after):
            return as_tensor(float(before) if (kind_of(before), kind_of(after)) == ("int", "float") else before)
        return before
    if isinstance(before, Tensor) and before.is_number and before.array is not None and isinstance(after, Tensor):
        return lifted(before.item(), after)
    items = _pairs(before, after)
    return before if items is None else rebuilt(before, [lifted(x, y) for x, y in items])


def lowered(made: Any, carried: Any) -> Any:
    """What a turn has made, with its numbers as tensors of the dtypes that the loop carries."""
    if isinstance(carried, Tensor):
        made = decided(made)
    if isinstance(carried, Tensor) and not isinstance(carried, (Joined, RowTensor)):
        if isinstance(made, NUMBERS) and not carried.is_number and not carried.shape:
            return _beside(made, carried)
        if not is_number(made) or not carried.is_number:
            return made
        fits = (kind_of(made), kind_of(carried)) in _FITS
        return as_number(as_tensor(made), carried.tensor_type.dtype) if fits else as_tensor(made)
    items = _pairs(made, carried)
    return made if items is None else rebuilt(made, [lowered(x, y) for x, y in items])
