"""Samples made one batch, and values made Tensors, whatever nests of dicts, lists and tuples they are in."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, DataError
from graphc.ops.tensor.dtype import float64
from graphc.ops.tensor.tensor import Tensor


def default_convert(data: Any) -> Any:
    """Arrays and NumPy's numbers as Tensors, in nests of dicts, lists and tuples; arrays of texts and all else as they are."""
    if isinstance(data, (np.number, np.bool_)) or (isinstance(data, np.ndarray) and data.dtype.kind not in "SUO"):
        return Tensor(data)
    if isinstance(data, Mapping):
        return _alike(data, {key: default_convert(value) for key, value in data.items()})
    if isinstance(data, tuple):
        made = [default_convert(value) for value in data]
        return type(data)(*made) if hasattr(data, "_fields") else made
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _alike(data, [default_convert(value) for value in data])
    return data


def default_collate(batch: Sequence[Any]) -> Any:
    """Samples as one batch: Tensors, arrays and numbers stacked into a Tensor, texts as they are; dicts, lists and tuples by
    key or place, each a batch of its own. Python's floats become float64, ints int64. DataError for samples that differ in
    length, ArgumentTypeError for values of other types.
    """
    first = batch[0]
    if isinstance(first, Tensor):
        return Tensor(np.stack([value.asnumpy() for value in batch]))
    if isinstance(first, np.ndarray) and first.dtype.kind not in "SUO":
        return Tensor(np.stack(batch))
    if isinstance(first, (float, int, np.number, np.bool_)):
        return _numbers(list(batch))
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        return _alike(first, {key: default_collate([sample[key] for sample in batch]) for key in first})
    if isinstance(first, Sequence):
        if len({len(sample) for sample in batch}) > 1:
            raise DataError("default_collate: samples of one batch have different numbers of values", code="GC203")
        made = [default_collate(values) for values in zip(*batch, strict=True)]
        if isinstance(first, tuple):
            return type(first)(*made) if hasattr(first, "_fields") else made
        return _alike(first, made)
    kind = f"an array of {first.dtype}" if isinstance(first, np.ndarray) else type(first).__name__
    raise ArgumentTypeError(f"default_collate: values must be Tensors, arrays, numbers or texts, one is {kind}")


def _numbers(batch: list[Any]) -> Tensor:
    """NumPy's numbers keep their dtype; of Python's the first says which."""
    if isinstance(batch[0], np.generic):
        return Tensor(np.array(batch))
    return Tensor(batch, dtype=float64) if isinstance(batch[0], float) else Tensor(batch)


def _alike(given: Any, made: Any) -> Any:
    """What was made, a dict or a list, as what was given: with its attributes if it can be changed, else of its type."""
    build: Callable[[], Any] = lambda: type(given)(made)  # noqa: E731
    if isinstance(given, (MutableMapping, MutableSequence)):
        build = lambda: _changed(copy.copy(given), made)  # noqa: E731
    try:
        return build()
    except TypeError:
        return made


def _changed(given: Any, made: Any) -> Any:
    for key, value in made.items() if isinstance(made, dict) else enumerate(made):
        given[key] = value
    return given
