"""Rows: some samples, or batches, of a stream, held column by column."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphc.dataset.checks import misfit
from graphc.dataset.core.faults import fault
from graphc.errors import DataError, DataKindError
from graphc.ops.tensor.arrays import is_masked

Array = np.ndarray[Any, np.dtype[Any]]

#: One column of some rows: packed into one array whose first axis counts the rows, or one value each.
Column = Array | list[Any]

_SHAPE, _DTYPE = operator.attrgetter("shape"), operator.attrgetter("dtype")


@dataclass(slots=True)
class Rows:
    """`count` rows. columns: see Column. ids: which samples of the source they are, int64 [count, ...]."""

    count: int
    columns: list[Column]
    ids: Array

    def part(self, start: int, end: int) -> Rows:
        """Rows start .. end, without a copy."""
        return Rows(end - start, [c[start:end] for c in self.columns], self.ids[start:end])


def joined(parts: Sequence[Rows]) -> Rows:
    """Rows one after the other."""
    if len(parts) == 1:
        return parts[0]
    columns = [_joined_column([p.columns[k] for p in parts]) for k in range(len(parts[0].columns))]
    return Rows(sum(p.count for p in parts), columns, _joined_ids([p.ids for p in parts]))


def _joined_column(pieces: list[Column]) -> Column:
    if all(isinstance(p, np.ndarray) for p in pieces):
        first = pieces[0]
        assert isinstance(first, np.ndarray)
        if all(p.shape[1:] == first.shape[1:] and p.dtype == first.dtype for p in pieces):  # type: ignore[union-attr]
            return np.concatenate(pieces)
    return [value for piece in pieces for value in piece]


def _joined_ids(pieces: list[Array]) -> Array:
    if len({p.shape[1:] for p in pieces}) == 1:
        return np.concatenate(pieces)
    return np.concatenate([first_ids(p) for p in pieces])


def apart(rows: Rows) -> Rows:
    """The same rows, in memory that nobody else writes to."""
    columns: list[Column] = [c.copy() if isinstance(c, np.ndarray) else list(map(np.copy, c)) for c in rows.columns]
    return Rows(rows.count, columns, rows.ids.copy())


def first_ids(ids: Array) -> Array:
    """int64 [count]: the first sample of each row. What rows of batches of different sizes have in common."""
    return ids.reshape(len(ids), -1)[:, 0]


def to_array(value: Any) -> Array:
    """A sample's value as an array: Python floats become float64, ints int64; a dict is held by one without axes, which `unheld`
    takes it from. DataKindError for what else is no number or text.
    """
    if type(value) is np.ndarray:
        array = value
    elif hasattr(value, "asnumpy"):
        array = value.asnumpy()
    elif is_masked(value):
        raise DataError("a value has no mask: give array.filled(value), and the mask as a column", code="GC201")
    elif isinstance(value, dict):
        return _held(value)
    elif isinstance(value, set) or value is None:
        raise DataKindError(f"a value must be an array, a number or a text, got {_kind(value)}", code="GC201")
    else:
        try:
            array = np.asarray(value)
        except ValueError:
            raise DataError("a list of different lengths is no array", code="GC201") from None
    if array.dtype == object and array.ndim == 0 and isinstance(array.item(), dict):
        return array
    if array.dtype.kind not in "biufUSV" or (array.dtype.kind == "V" and array.dtype.name != "bfloat16"):
        raise DataKindError(
            f"a value must be an array, a number or a text, got {_kind(value)} of dtype {array.dtype}", code="GC201"
        )
    return array


def _held(value: dict[Any, Any]) -> Array:
    array = np.empty((), object)
    array[()] = value
    return array


def unheld(value: Any) -> Any:
    """A value as users know it: an array, or the dict that it holds."""
    array = np.asarray(value)
    return array.item() if array.dtype == object and array.ndim == 0 else array


def _kind(value: Any) -> str:
    return "None" if value is None else f"{type(value).__module__}.{type(value).__name__}".removeprefix("builtins.")


#: Python's numbers -> what a column of them is.
_SCALARS: dict[type, type[np.generic]] = {int: np.int64, float: np.float64, bool: np.bool_}


def of_numbers(values: Sequence[Any], kinds: set[type]) -> Array | None:
    """[len(values)]: Python's numbers of one type as an array; None for anything else. kinds: the types of the values."""
    dtype = _SCALARS.get(next(iter(kinds))) if len(kinds) == 1 else None
    try:
        return None if dtype is None else np.array(values, dtype)
    except OverflowError:  # Integers beyond int64: each is looked at by itself.
        return None


def alike(arrays: Sequence[Array]) -> bool:
    """Whether all have one shape and one dtype."""
    return len(set(map(_SHAPE, arrays))) == 1 and len(set(map(_DTYPE, arrays))) == 1


def joined_alike(arrays: Sequence[Array]) -> Array:
    """[len(arrays), ...]: arrays of one shape and dtype as one. Half the time of np.stack, which makes a view of each."""
    shape = arrays[0].shape
    return np.concatenate(arrays).reshape((len(arrays), *shape)) if shape else np.array(arrays)


def stack(values: Sequence[Any], name: str, ids: Array) -> Array:
    """[len(values), ...]: values of one shape and dtype as one array. DataError that names the column and the sample else."""
    kinds = set(map(type, values))
    if (numbers := of_numbers(values, kinds)) is not None:
        return numbers
    arrays = values if kinds == {np.ndarray} else [to_array(v) for v in values]
    if len(set(map(_SHAPE, arrays))) > 1:
        raise _ragged(arrays, name, ids)
    dtypes = set(map(_DTYPE, arrays))
    if len(dtypes) > 1 and any(d.kind not in "US" for d in dtypes):
        raise mixed(arrays, name, ids)
    return np.array(arrays) if len(dtypes) > 1 else joined_alike(arrays)


def _sample(ids: Array, k: int) -> str:
    return "sample " + ", ".join(map(str, np.atleast_1d(ids[k])[:4])) if k < len(ids) else "a sample"


def _ragged(arrays: Sequence[Array], name: str, ids: Array) -> DataError:
    odd = next(k for k, a in enumerate(arrays) if a.shape != arrays[0].shape)
    return DataError(
        f"batch: column {name!r} has samples of different shapes, {list(arrays[0].shape)} and {list(arrays[odd].shape)}",
        code="GC203",
        details=[f"{_sample(ids, 0)}: {list(arrays[0].shape)}", f"{_sample(ids, odd)}: {list(arrays[odd].shape)}"],
        help="padded_batch fills up the shorter ones; map can crop or pad them",
    )


def mixed(arrays: Sequence[Array], name: str, ids: Array) -> DataError:
    """The error of a batch whose samples differ in dtype; names the first two that do."""
    odd = next(k for k, a in enumerate(arrays) if a.dtype != arrays[0].dtype)
    return DataError(
        f"batch: column {name!r} has samples of different dtypes, {arrays[0].dtype} and {arrays[odd].dtype}",
        code="GC203",
        details=[f"{_sample(ids, 0)}: {arrays[0].dtype}", f"{_sample(ids, odd)}: {arrays[odd].dtype}"],
        help="transforms.TypeCast makes them alike",
    )


def packed(column: Column, name: str, ids: Array) -> Array:
    """The column as one array."""
    return column if isinstance(column, np.ndarray) else stack(column, name, ids)


def values(column: Column) -> list[Any]:
    """The column as one array, or dict, per row."""
    return list(column) if isinstance(column, np.ndarray) and column.ndim > 1 else [unheld(v) for v in column]


def collated(
    owner: str, collate: Callable[..., Any], columns: list[list[Any]], names: Sequence[str], ids: Array, *info: Any
) -> list[Array]:
    """One array per name: what the user's function makes of lists of values, one list per column."""
    try:
        made = collate(*columns, *info)
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as raised:
        raise fault(f"{owner}: the function of the batch", _samples(ids), raised) from raised
    given = made if isinstance(made, tuple) else (made,)
    if len(given) != len(names):
        raise DataError(f"{owner}: the function of the batch gave {misfit(len(given), names)}", code="GC201")
    arrays = []
    for value, name in zip(given, names, strict=True):
        try:
            arrays.append(stack(value, name, ids) if isinstance(value, (list, tuple)) else to_array(value))
        except DataError as error:
            error.message = f"{owner}: the function of the batch, column {name!r}: {error.message}"
            raise
    return arrays


def _samples(ids: Array) -> str:
    flat = ids.reshape(-1).tolist()
    shown = ", ".join(map(str, flat[:4]))
    return shown if len(flat) <= 4 else f"{shown}, ..."
