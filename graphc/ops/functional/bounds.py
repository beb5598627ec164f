"""Indices and labels that must lie in range."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc import dispatch
from graphc.errors import user_loc
from graphc.ir.types import INTEGERS
from graphc.ops.declared.bounds import IndexKindError, first_outside, moved, out_of_range
from graphc.ops.declared.indexing import INDEX_DTYPES
from graphc.ops.functional.core import call, cast_to, is_compared
from graphc.ops.functional.elementwise import equal
from graphc.ops.functional.logic import select
from graphc.ops.tensor.deferred import Deferred
from graphc.ops.tensor.tensor import Tensor, as_tensor, to_array


def as_index(x: Any) -> Tensor:
    """An index of any integer dtype in one that kernels know. IndexKindError for other dtypes."""
    index = as_tensor(x if isinstance(x, Tensor) else to_array(x))
    if index.tensor_type.dtype not in INTEGERS:
        raise IndexKindError(f"an index is {index.tensor_type}, expected integers", loc=user_loc())
    return index if index.tensor_type.dtype in INDEX_DTYPES else cast_to(index, "int32")


def in_bounds(owner: str, index: Tensor, size: int) -> Tensor:
    """Indices (int32, int64) of an axis of so many places; negative ones, counted from its end, become those they mean.

    IndexRangeError where one is out of range: at once where the indices are known; else the run of the step ends there, before
    it has changed a parameter of what it computes from them. owner: who is to be named, "" for an index in brackets.
    """
    active = dispatch.recorder.get()
    if active is not None and active.is_place(index):
        return index
    says = f"{owner}{': ' if owner else ''}index {{index}} is out of range for a size of {{size}}"
    return _looked_at(index, size, says, negative=True)


def classes_in_bounds(owner: str, labels: Tensor, scores: Tensor, axis: int, ignored: Any = None) -> Tensor:
    """Labels that are numbers of the classes along an axis of the scores, or `ignored`. IndexRangeError as for `in_bounds`.

    They are looked at behind the scores, so that the graph has this where the loss is.
    """
    says = f"{owner}: label {{index}} is out of range for {{size}} classes"
    if isinstance(
        ignored, Tensor
    ):  # Known when the step runs: those of its number are taken out while the others are looked at.
        of_it = equal(labels, ignored)
        others = _looked_at(select(of_it, 0, labels), scores.shape[axis], says, negative=False, after=(scores,))
        return select(of_it, labels, others)
    return _looked_at(labels, scores.shape[axis], says, negative=False, ignored=ignored, after=(scores,))


def elements_in_bounds(owner: str, index: Tensor, size: int) -> Tensor:
    """Indices none of which counts from the end, as rows of a sparse matrix's elements. IndexRangeError as for `in_bounds`.

    Where the step counts the elements, there may be anything behind the last one, and they are not looked at.
    """
    index = as_index(index)
    if are_counted(index):
        return index
    return _looked_at(index, size, f"{owner}: index {{index}} is out of range for a size of {{size}}", negative=False)


def are_counted(index: Tensor) -> bool:
    """Whether the step counts how many elements there are."""
    active = dispatch.recorder.get()
    return active is not None and isinstance(active.shape_of(index)[0], Deferred)


def lengths_in_bounds(owner: str, name: str, lengths: Tensor, most: int, of: str) -> Tensor:
    """Lengths from 0 to as many as there are `of` something. IndexRangeError as for `in_bounds`."""
    says = f"{owner}: {name} has {{index}}, expected 0 to {most}, the {of}"
    return _looked_at(lengths, most + 1, says, negative=False)


def exchanges_in_bounds(owner: str, places: Tensor, size: int) -> Tensor:
    """With which of so many rows others are exchanged, counted from 0. IndexRangeError as for `in_bounds`."""
    says = f"{owner}: row {{index}}, counted from 0, is out of range for {{size}} rows"
    return _looked_at(places, size, says, negative=False)


def _looked_at(
    index: Tensor, size: int, says: str, *, negative: bool, ignored: int | None = None, after: tuple[Tensor, ...] = ()
) -> Tensor:
    active = dispatch.recorder.get()
    now = active is None or active.immediate or type(index) is Tensor
    known, varies = index.array if now else None, is_compared() or isinstance(size, Deferred)
    if known is not None and not varies:
        bad = first_outside(known, size, negative, ignored)
        if bad is not None:
            raise out_of_range(says, bad, size, user_loc())
        if type(index) is Tensor:  # Else a gradient may ask for it.
            return Tensor.wrap(moved(known, size, negative, ignored))
    # Behind the last turn of a length there are others, of which nothing is kept.
    checked = active is None or not active.in_scan
    how: dict[str, Any] = {"negative": negative, "ignored": ignored, "checked": checked, "says": says}
    operands = [index]
    if varies:
        dtype = index.tensor_type.dtype
        end = cast_to(size.tensor(), dtype) if isinstance(size, Deferred) else Tensor.wrap(np.asarray(size, dtype))
        operands.append(end)
    else:
        how["size"] = size
    if active is None or not after:
        return call("InBounds", *operands, **how)
    made: Tensor = active.record("InBounds", operands, how, after=after)[0]
    return made
