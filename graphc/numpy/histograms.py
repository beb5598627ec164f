"""Places in order, and counts by place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc import ops
from graphc.errors import ArgumentTypeError, ArgumentValueError, DTypeError, ShapeError, user_loc
from graphc.numpy.convert import count, tensor, tensors
from graphc.numpy.creation import linspace
from graphc.ops.functional.core import cast_to
from graphc.ops.functional.dynamic import known_values
from graphc.ops.functional.index import scattered
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.checks import integer, one_of

# ---- places in order


def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Tensor:
    """int32: how many elements of an ascending vector are less than each of v, with side "right" not greater.

    sorter: the places that sort the vector.
    """
    one_of("searchsorted", "side", side, ("left", "right"))
    table, values = cast_to(_vector("searchsorted", "a", a), "float32"), tensor("searchsorted", v, "v")
    values = cast_to(values, "float64" if values.tensor_type.dtype == "float64" else "float32")
    if sorter is not None:
        order = _vector("searchsorted", "sorter", sorter)
        if order.size != table.size:
            raise ShapeError(f"searchsorted: a is {table.tensor_type}, sorter is {order.tensor_type}", loc=user_loc())
        table = ops.gather_elements(table, 0, order)
    return ops.searchsorted(table, values, out_int32=True, right=side == "right")


def _vector(owner: str, name: str, x: Any) -> Tensor:
    made = tensor(owner, x, name)
    if made.ndim != 1:
        raise ShapeError(f"{owner}: {name} is {made.tensor_type}, expected a vector", loc=user_loc())
    return made


def digitize(x: Any, bins: Any, right: bool = False) -> Tensor:
    """int32: the number of the bin of each element, 0 before the first edge. bins: edges, ascending or descending.

    right: whether a bin holds its right edge instead of its left one.
    """
    given, edges = tensor("digitize", x), _vector("digitize", "bins", bins)
    if not edges.size:
        return ops.zeros(given.shape, "int32")
    side = "left" if right else "right"
    up = searchsorted(edges, given, side)
    down = ops.sub(edges.size, searchsorted(ops.flip(edges, (0,)), given, side))
    falling = ops.greater(cast_to(edges[0], "float32"), cast_to(edges[edges.size - 1], "float32"))
    return ops.select(falling, down, up)


# ---- counts


def bincount(x: Any, weights: Any = None, minlength: int = 0, length: int | None = None) -> Tensor:
    """float32: how often 0, 1, 2, ... stand in a vector, or the sum of the weights there. Negative numbers count as 0.

    length: how many are counted; without it as many as there are, at least `minlength`, which a compiled Cell does not know:
    TraceError GC120.
    """
    given = _vector("bincount", "x", x)
    if given.tensor_type.is_float or given.tensor_type.dtype == "bool":
        raise DTypeError(f"bincount: x is {given.tensor_type}, expected integers", loc=user_loc())
    if length is None:
        least = count("bincount", "minlength", minlength)
        known = known_values("bincount", given)
        length = max(int(known.max()) + 1 if known.size else 0, least)
    w = ops.ones(given.shape) if weights is None else cast_to(tensor("bincount", weights, "weights"), "float32")
    if w.shape != given.shape:
        raise ShapeError(f"bincount: x is {given.tensor_type}, weights are {w.tensor_type}", loc=user_loc())
    places = ops.maximum(cast_to(given, "int64"), 0)
    counts = ops.zeros((integer("bincount", "length", length),))
    return scattered("add", counts, ops.reshape(places, (-1,)), ops.reshape(w, (-1,)))


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Tensor:
    """The edges of `bins` bins of one size from the least to the largest element, or over `range`; or the edges given.

    weights have no influence but must fit. ArgumentValueError GC112 for a rule by name.
    """
    x = tensor("histogram_bin_edges", a, "a")
    if weights is not None and tensor("histogram_bin_edges", weights, "weights").shape != x.shape:
        raise ShapeError("histogram_bin_edges: a and weights must have one shape", loc=user_loc())
    if isinstance(bins, str):
        raise ArgumentValueError(
            f"histogram_bin_edges: bins={bins!r} is not supported, only a number or edges", code="GC112", loc=user_loc()
        )
    if isinstance(bins, (tuple, list)) or (isinstance(bins, Tensor) and bins.ndim):
        return _vector("histogram_bin_edges", "bins", bins)
    number = count("histogram_bin_edges", "bins", bins, 1)
    flat = cast_to(ops.ravel(x), "float32")
    if range is None:
        start, end = ops.reduce_min(flat), ops.reduce_max(flat)
    else:
        start, end = _range(range)
    none = ops.equal(end, start)
    made = linspace(ops.select(none, ops.sub(start, 0.5), start), ops.select(none, ops.add(end, 0.5), end), number + 1)
    assert isinstance(made, Tensor)
    return made


def _range(range: Any) -> tuple[Tensor, ...]:
    if not isinstance(range, (tuple, list)) or len(range) != 2:
        raise ArgumentValueError(f"range must be (start, end), got {range!r}", loc=user_loc())
    if range[0] > range[1]:
        raise ArgumentValueError(f"range must be ascending, got {range!r}", loc=user_loc())
    return tuple(cast_to(v, "float32") for v in tensors("range", *range))


def _bins(x: Tensor, edges: Tensor) -> Tensor:
    """The number of each element's bin, from 1; the last bin holds its right edge, what lies beyond has others."""
    last = edges.size - 1
    inside = searchsorted(edges, x, "right")
    return ops.select(ops.equal(cast_to(x, "float32"), cast_to(edges[last], "float32")), last, inside)


def histogram(
    a: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool = False
) -> tuple[Tensor, Tensor]:
    """(float32 counts, edges) of the elements by bins, or the sums of their weights; see `histogram_bin_edges`.

    density: the counts divided by their sum and by the sizes of the bins.
    """
    x = tensor("histogram", a, "a")
    edges = histogram_bin_edges(x, bins, range, weights)
    flat = None if weights is None else ops.ravel(tensor("histogram", weights, "weights"))
    made = bincount(_bins(ops.ravel(x), edges), flat, length=edges.size)[1:]
    if density:
        widths = cast_to(ops.diff(cast_to(edges, "float32")), "float32")
        made = ops.div(ops.div(made, widths), ops.reduce_sum(made))
    return made, edges


def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool = False
) -> tuple[Tensor, list[Tensor]]:
    """(float32 counts by bins along each axis, list of edges) of points: a tensor [points, axes], or a list of their coordinates.

    bins: one number, or one number or vector of edges per axis. range: None, or one (start, end) or None per axis.
    """
    points = (
        ops.stack(tensors("histogramdd", *sample), -1)
        if isinstance(sample, (tuple, list))
        else tensor("histogramdd", sample)
    )
    if points.ndim != 2:
        raise ShapeError(f"histogramdd: sample is {points.tensor_type}, expected [points, axes]", loc=user_loc())
    axes = points.shape[1]
    each = _per_axis("bins", (bins,) * axes if isinstance(bins, int) else bins, axes)
    spans = _per_axis("range", (None,) * axes if range is None else range, axes)
    columns = [points[:, k] for k in np.arange(axes).tolist()]
    edges = [histogram_bin_edges(c, b, s, weights) for c, b, s in zip(columns, each, spans, strict=True)]
    flat: Any = None
    for column, edge in zip(columns, edges, strict=True):
        number = _bins(column, edge)
        flat = number if flat is None else ops.add(ops.mul(flat, edge.size + 1), number)
    sizes = [edge.size + 1 for edge in edges]
    whole = ops.reshape(bincount(flat, weights, length=int(np.prod(sizes))), sizes)
    made = whole[tuple(slice(1, -1) for _ in edges)]
    if density:
        total = ops.reduce_sum(made)
        for k, edge in enumerate(edges):
            widths = ops.diff(cast_to(edge, "float32"))
            made = ops.div(
                made, ops.reshape(widths, tuple(widths.size if i == k else 1 for i in np.arange(axes).tolist()))
            )
        made = ops.div(made, total)
    return made, edges


def _per_axis(name: str, given: Any, axes: int) -> Sequence[Any]:
    if not isinstance(given, (tuple, list, Tensor)):
        raise ArgumentTypeError(f"histogramdd: {name} must be one per axis, got {type(given).__name__}", loc=user_loc())
    made = list(given)
    if len(made) != axes:
        raise ArgumentValueError(f"histogramdd: {len(made)} {name} do not fit {axes} axes", loc=user_loc())
    return made


def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool = False
) -> tuple[Tensor, Tensor, Tensor]:
    """(float32 counts, edges along x, edges along y) of points in a plane; see `histogramdd`."""
    made, edges = histogramdd((x, y), bins, range, weights, density)
    return made, edges[0], edges[1]


__all__ = [
    "bincount", "digitize", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd", "searchsorted",
]  # fmt: skip
