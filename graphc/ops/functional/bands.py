"""Bands of diagonals of matrices: made of vectors, taken out, replaced, kept alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

from graphc.errors import ArgumentValueError, ShapeError, user_loc
from graphc.ops.declared.rules import Array
from graphc.ops.functional.core import Count, Operand, call, cast, is_number, number
from graphc.ops.functional.create import arange
from graphc.ops.functional.dynamic import known_number, known_values
from graphc.ops.functional.elementwise import less, less_equal, logical_and, logical_or, sub
from graphc.ops.functional.logic import select
from graphc.ops.functional.operand_checks import require_alike
from graphc.ops.functional.shapes import expand_dims, reshape
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.annotations import KNOWN
from graphc.validation.checks import one_of

Offsets = Annotated[int | Sequence[int] | Tensor, KNOWN]
Align = str

_ALIGNS = ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT")


def _offsets(owner: str, k: Offsets) -> tuple[int, int]:
    """The lowest and the highest diagonal: 0 is the main one, positive ones are above it."""
    given = known_values(owner, k) if isinstance(k, Tensor) else np.asarray(k)
    both = [int(v) for v in np.ravel(given)]
    if len(both) not in (1, 2) or both[0] > both[-1]:
        raise ArgumentValueError(f"{owner}: k must be an int or (low, high), got {both}", loc=user_loc())
    return both[0], both[-1]


def _size(owner: str, value: int | Tensor) -> int:
    return known_number(owner, value) if isinstance(value, Tensor) else int(value)


def _longest(low: int, high: int, rows: int, columns: int) -> int:
    """How long the longest diagonal of a band is."""
    return min(rows + min(high, 0), columns - max(low, 0))


def _lengths(owner: str, low: int, high: int, rows: int, columns: int) -> None:
    if not (-rows < low <= high < columns or low == high == 0):
        raise ArgumentValueError(
            f"{owner}: {rows} x {columns} matrices have no diagonals {low} to {high}", loc=user_loc()
        )


def _aligned(owner: str, align: Align, d: int, length: int, longest: int) -> int:
    """Where in its row of `longest` places a diagonal begins."""
    one_of(owner, "align", align, _ALIGNS)
    above, below = align.split("_")
    return longest - length if (above if d >= 0 else below) == "RIGHT" else 0


def _places(
    owner: str, low: int, high: int, rows: int, columns: int, align: Align
) -> tuple[Array, Array, tuple[int, int]]:
    """For the diagonals [count, longest]: which element of the flattened matrix is where, and which places hold none."""
    longest = max(_longest(low, high, rows, columns), 0)
    places, empty = np.zeros((high - low + 1, longest), np.int32), np.ones((high - low + 1, longest), bool)
    for row, d in enumerate(range(high, low - 1, -1)):
        length = min(rows + min(d, 0), columns - max(d, 0))
        start = _aligned(owner, align, d, length, longest)
        along = np.arange(length)
        places[row, start : start + length] = (along - min(d, 0)) * columns + along + max(d, 0)
        empty[row, start : start + length] = False
    return places, empty, (high - low + 1, longest)


def _spread(owner: str, x: Tensor, low: int, high: int, rows: int, columns: int, align: Align) -> tuple[Tensor, Tensor]:
    """Diagonals [..., count, longest] as matrices, with anything elsewhere; and where the band is."""
    places, empty, (count, longest) = _places(owner, low, high, rows, columns, align)
    wanted = (longest,) if low == high else (count, longest)
    shape = x.shape[-len(wanted) :] if x.ndim >= len(wanted) else x.shape
    if shape != wanted and not (low == high and x.shape[-2:] == (1, longest)):
        raise ShapeError(
            f"{owner}: diagonals {low} to {high} of {rows} x {columns} matrices are {wanted}, got {x.tensor_type}",
            loc=user_loc(),
        )
    lead = x.shape[: -len(wanted)] if shape == wanted else x.shape[:-2]
    source, inside = np.zeros(rows * columns, np.int32), np.zeros(rows * columns, bool)
    held = np.arange(count * longest, dtype=np.int32).reshape(count, longest)
    source[places[~empty]], inside[places[~empty]] = held[~empty], True
    flat = reshape(x, (*lead, count * longest))
    made = call("Gather", flat, Tensor.wrap(source.reshape(rows, columns)), axis=len(lead))
    return made, Tensor.wrap(inside.reshape(rows, columns))


def _matrices(owner: str, x: Tensor) -> tuple[int, ...]:
    """The numbers of rows and columns of matrices; ShapeError for what has fewer than two axes."""
    if x.ndim < 2:
        raise ShapeError(f"{owner}: x is {x.tensor_type}, expected matrices [..., rows, columns]", loc=user_loc())
    return x.shape[-2:]


def _padding(x: Tensor, value: Operand) -> Tensor:
    return number(value, x.tensor_type.dtype) if is_number(value) else reshape(cast(value, x.dtype), ())


def matrix_diag(
    x: Tensor,
    k: Offsets = 0,
    num_rows: Count = -1,
    num_cols: Count = -1,
    padding_value: Operand = 0,
    align: Align = "RIGHT_LEFT",
) -> Tensor:
    """Matrices with the given diagonals, `padding_value` elsewhere.

    x               [..., M]: one diagonal; [..., count, M] for k = (low, high): each row one of them, the highest first
    k               0 for the main diagonal, positive above it
    num_rows, num_cols  the size of the matrices; -1 for the smallest that fits, square if both are -1
    align           on which side of its row a shorter diagonal above, and one below, stands: "RIGHT_LEFT", ...
    """
    low, high = _offsets("matrix_diag", k)
    rows, columns = _size("matrix_diag", num_rows), _size("matrix_diag", num_cols)
    least = (x.shape[-1] - min(high, 0), x.shape[-1] + max(low, 0))
    if rows == columns == -1:
        rows = columns = max(least)
    rows, columns = (least[0] if rows == -1 else rows), (least[1] if columns == -1 else columns)
    _lengths("matrix_diag", low, high, rows, columns)
    made, inside = _spread("matrix_diag", x, low, high, rows, columns, align)
    return select(inside, made, _padding(x, padding_value))


def matrix_diag_part(x: Tensor, k: Offsets = 0, padding_value: Operand = 0, align: Align = "RIGHT_LEFT") -> Tensor:
    """Diagonals of matrices: [..., M], for k = (low, high) [..., count, M]; shorter ones are padded. See `matrix_diag`."""
    low, high = _offsets("matrix_diag_part", k)
    rows, columns = _matrices("matrix_diag_part", x)
    _lengths("matrix_diag_part", low, high, rows, columns)
    places, empty, (_, longest) = _places("matrix_diag_part", low, high, rows, columns, align)
    flat = reshape(x, (*x.shape[:-2], rows * columns))
    made = call("Gather", flat, Tensor.wrap(places), axis=x.ndim - 2)
    if empty.any():
        made = select(Tensor.wrap(empty), _padding(x, padding_value), made)
    return reshape(made, (*x.shape[:-2], longest)) if low == high else made


def matrix_set_diag(x: Tensor, diagonal: Tensor, k: Offsets = 0, align: Align = "RIGHT_LEFT") -> Tensor:
    """Matrices with other diagonals, which are given as `matrix_diag_part` gives them."""
    low, high = _offsets("matrix_set_diag", k)
    rows, columns = _matrices("matrix_set_diag", x)
    _lengths("matrix_set_diag", low, high, rows, columns)
    made, inside = _spread("matrix_set_diag", diagonal, low, high, rows, columns, align)
    require_alike("matrix_set_diag", x=x, matrices_of_diagonal=made)
    return select(inside, made, x)


def matrix_band_part(x: Tensor, lower: int | Tensor, upper: int | Tensor) -> Tensor:
    """Matrices with zeros but for `lower` diagonals below the main one and `upper` above it; all of them where negative.

    Tensors of bounds have one element, or one for each matrix.
    """
    rows, columns = (arange(0, n, dtype="int32") for n in _matrices("matrix_band_part", x))
    below = sub(expand_dims(rows, 1), columns)

    def within(distance: Tensor, bound: int | Tensor) -> Tensor:
        most: Any = bound
        if isinstance(bound, Tensor):
            most = cast(reshape(bound, (*bound.shape, 1, 1) if bound.size > 1 else ()), "int32")
        return logical_or(less(most, 0), less_equal(distance, most))

    kept = logical_and(within(below, lower), within(sub(0, below), upper))
    return select(kept, x, number(0, x.tensor_type.dtype))


__all__ = [
    "matrix_band_part",
    "matrix_diag",
    "matrix_diag_part",
    "matrix_set_diag",
]
