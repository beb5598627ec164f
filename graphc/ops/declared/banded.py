"""An axis times a matrix that has few numbers in each row, side by side: what resizing by interpolation is."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from graphc.errors import DTypeError, ShapeError
from graphc.ir import REQUIRED, Builder, NodeView, Sample, TensorType, Value, op
from graphc.ir.lowering import CallBuilder
from graphc.ir.op import Attrs, Kernel, Operands, Types
from graphc.ir.types import FLOATS
from graphc.ops.declared.batching import Mapped, loop
from graphc.ops.declared.padding import Axes, Padded, is_padded, plain
from graphc.ops.declared.rules import Array, check_dtype, floats, require_axis


def bands(matrix: Array) -> tuple[Array, Array]:
    """(starts int32[rows], weights [width, rows]) of a matrix [rows, columns]: row r has weights[t, r] in column starts[r] + t.

    The width is that of the widest row or a little more, at least 1: bands may have zeros at their ends. Kernels read four
    numbers at once.
    """
    columns = matrix.shape[1]
    there = matrix != 0
    first = np.where(there.any(1), there.argmax(1), 0)
    last = np.where(there.any(1), columns - 1 - there[:, ::-1].argmax(1), 0)
    width = int((last - first).max(initial=0)) + 1
    width = min(width if width < 3 else -(-width // 4) * 4, columns)
    starts = np.minimum(first, columns - width)
    places = starts[:, None] + np.arange(width)
    return starts.astype(np.int32), np.ascontiguousarray(np.take_along_axis(matrix, places, 1).T)


def _infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    x, axis = types[0], attrs["axis"]
    check_dtype("BandedProduct", "x", x, FLOATS)
    require_axis("BandedProduct", x, axis)
    wanted = _check_bands("weights", types[1], types[2], x)
    if _check_bands("back_weights", types[3], types[4], x) != x.shape[axis]:
        raise ShapeError(f"BandedProduct: back_weights is {types[4]}, expected rows for axis {axis} of {x}")
    widest = types[2].shape[0], types[4].shape[0]
    if widest[0] > x.shape[axis] or widest[1] > wanted:
        raise ShapeError(
            f"BandedProduct: bands of {widest[0]} and {widest[1]} numbers for {x.shape[axis]} and {wanted} elements"
        )
    return (TensorType(x.dtype, (*x.shape[:axis], wanted, *x.shape[axis + 1 :])),)


def _check_bands(name: str, starts: TensorType, weights: TensorType, x: TensorType) -> int:
    """The number of rows."""
    dtype = "float64" if x.dtype == "float64" else "float32"
    if starts.dtype != "int32" or weights.dtype != dtype:
        raise DTypeError(f"BandedProduct: {name} and its starts are {weights} and {starts}, expected {dtype} and int32")
    if weights.rank != 2 or starts.shape != weights.shape[1:] or not weights.shape[0]:
        raise ShapeError(f"BandedProduct: {name} is {weights}, expected a row of each of {starts}'s bands at least")
    return weights.shape[1]


def _ref(x: Array, starts: Array, weights: Array, back_starts: Array, back_weights: Array, axis: int) -> Array:
    wide = x.astype(np.float64) if x.dtype != np.float64 else x
    width, rest = len(weights), (1,) * (x.ndim - axis - 1)
    first = np.clip(starts, 0, x.shape[axis] - width)
    made = sum(np.take(wide, first + t, axis) * weights[t].reshape(-1, *rest) for t in range(width))
    return np.asarray(made).astype(x.dtype, copy=False)


def _grad(g: Builder, n: NodeView, dy: Value) -> list[Value | None]:
    back = g.BandedProduct(dy, n.back_starts, n.back_weights, n.starts, n.weights, axis=n.axis)
    return [back, None, None, None, None]


def _lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    x, y, axis = inputs[0].type, outputs[0].type, attrs["axis"]
    if not y.size:
        return
    params = {"outer": math.prod(x.shape[:axis]), "inner": math.prod(x.shape[axis + 1 :]), "dtype": x.dtype}
    sizes = {"have": x.shape[axis], "wanted": y.shape[axis], "width": inputs[2].type.shape[0]}
    k.call("banded", inputs[:3], outputs, **params, **sizes)


def _batch(g: Builder, m: Mapped) -> Sequence[Value]:
    return loop(g, m) if any(m.mapped[1:]) else m.again(*m.inputs, axis=m.axis + 1)


def _pad(p: Padded) -> list[Axes]:
    axis, axes = p.node.attrs["axis"], p.axes[0]
    if is_padded(axes[axis]) or any(is_padded(a) for others in p.axes[1:] for a in others):
        raise p.refuse(f"it mixes elements along axis {axis}")
    return [(*axes[:axis], plain(p.node.type.shape[axis]), *axes[axis + 1 :])]


def _sample(shape: tuple[int, ...], axis: int, wanted: int, width: int) -> Sample:
    rng = np.random.default_rng(wanted)
    matrix = np.zeros((wanted, shape[axis]))
    for row, first in enumerate(rng.integers(0, shape[axis] - width + 1, wanted)):
        matrix[row, first : first + width] = rng.standard_normal(width)
    parts = [
        part.astype(np.float32) if part.dtype.kind == "f" else part for m in (matrix, matrix.T) for part in bands(m)
    ]
    return Sample((floats(*shape), *parts), {"axis": axis}, grad=(0,))


op(
    "BandedProduct",
    "x starts weights back_starts back_weights",
    attrs={"axis": REQUIRED},
    infer=_infer,
    ref=_ref,
    grad=_grad,
    lower=Kernel(_lower, ("float32", "float64")),
    batch=_batch,
    pad=_pad,
    samples=lambda: [
        _sample((3, 20), 1, 37, 2),
        _sample((2, 9, 5), 1, 4, 3),
        _sample((2, 5, 33), 1, 8, 1),
        _sample((40, 3), 0, 11, 4),
        _sample((2, 50), 1, 7, 12),
        _sample((0, 6), 1, 9, 2),
    ],
    doc="an axis times a matrix whose row r has weights[:, r] from column starts[r] on; back_starts and back_weights are its"
    " transpose's, and have no gradient, as all but x",
)
