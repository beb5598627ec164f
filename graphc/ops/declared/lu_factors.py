"""LU factors as results of their own: with a gradient for the matrices, and with the exchanges of rows that LAPACK gives."""

from __future__ import annotations

import math

import numpy as np

from graphc.errors import ShapeError
from graphc.ir import NO_GRAD, REQUIRED, Builder, NodeView, Sample, TensorType, Value, op
from graphc.ir.lowering import CallBuilder
from graphc.ir.op import Alias, Attrs, Kernel, Operands, Types
from graphc.ops.declared import padding
from graphc.ops.declared.batching import leading
from graphc.ops.declared.lu import _lu, _regular
from graphc.ops.declared.rules import Array, check_dtype, matrix_product, turned
from graphc.ops.declared.triangular import half, square

# ---- factors


def _factor_types(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    packed, a, order = types
    square("LUFactors", "a", a)
    if packed != a or order != TensorType("int32", a.shape[:-1]):
        raise ShapeError(f"LUFactors: a is {a}, factors are {packed} and {order}, expected what LU makes of a")
    return (packed,)


def _factor_grad(g: Builder, n: NodeView, dy: Value) -> list[Value | None]:
    """Of rows as they stand in the factors L^-T (tril(L^T dL) + triu(dU U^T)) U^-T, the diagonal of the former left out."""
    # The result, which has a gradient itself, for one of second order.
    packed = n.out()
    unit = half(g, packed, True, strict=True)
    dl, du = half(g, dy, True, strict=True), half(g, dy, False)
    # L^T dL is what is below the diagonal and that, because L is ones on it.
    below = g.Add(matrix_product(g, unit, dl, ta=True), dl)
    above = matrix_product(g, du, half(g, packed, False), tb=True)
    inner = g.Add(half(g, below, True, strict=True), half(g, above, False))
    inner = g.SolveTriangular(packed, inner, transposed=True, unit=True)
    rows = turned(g, g.SolveTriangular(packed, turned(g, inner), lower=False))
    type = g.type(n.a)
    lead, size = type.shape[:-2], type.shape[-1]
    order = g.Reshape(n.order, shape=(*lead, 1, size))
    places = g.Equal(order, g.matrix(np.arange(size, dtype=np.int32)[:, None]))
    return [None, matrix_product(g, g.Cast(places, dtype=type.dtype), rows), None]


op(
    "LUFactors",
    "packed a order",
    infer=_factor_types,
    ref=lambda packed, a, order: packed.copy(),
    grad=_factor_grad,
    lower=Alias(),
    batch=leading,
    pad=padding.matrices,
    samples=lambda: [Sample((_lu(x)[0], x, _lu(x)[1])) for x in (_regular(2, size=3), _regular(size=4))],
    doc="packed, as LU makes it of a. The gradient is for a; it is not finite where a is singular",
)

# ---- exchanges


def _exchange_types(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    (order,) = types
    check_dtype("Exchanges", "order", order, ("int32",))
    if not order.rank:
        raise ShapeError(f"Exchanges: order is {order}, expected at least one axis")
    return (order,)


def _exchanges(order: Array) -> Array:
    made = np.empty_like(order)
    flat = math.prod(order.shape[:-1]), order.shape[-1]
    for wanted, exchanges in zip(order.reshape(flat), made.reshape(flat), strict=True):
        rows, places = list(range(flat[1])), list(range(flat[1]))
        for k, row in enumerate(wanted.tolist()):
            there, here = places[row], rows[k]
            exchanges[k], rows[there], places[here] = there, here, there
    return made


def _exchange_lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    *lead, size = inputs[0].type.shape
    if inputs[0].type.size:
        scratch = k.temp(TensorType("int32", (2 * size,)))
        k.call("exchanges", inputs, (scratch, *outputs), batch=math.prod(lead), size=size)


def _order(*shape: int) -> Array:
    rng = np.random.default_rng(sum(shape))
    return rng.permuted(np.broadcast_to(np.arange(shape[-1], dtype=np.int32), shape), axis=-1)


op(
    "Exchanges",
    "order",
    infer=_exchange_types,
    ref=_exchanges,
    grad=NO_GRAD,
    lower=Kernel(_exchange_lower, ("int32",)),
    batch=leading,
    samples=lambda: [Sample((_order(*shape),)) for shape in ((5,), (2, 3, 37), (1,), (2, 0))],
    doc="int32: with which place each place is exchanged, one after the other, so that rows come into the order, which has all"
    " of them",
)

# ---- the order that they make


def _order_types(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    (exchanges,) = types
    check_dtype("RowOrder", "exchanges", exchanges, ("int32",))
    if not exchanges.rank or exchanges.shape[-1] > attrs["size"]:
        raise ShapeError(f"RowOrder: exchanges are {exchanges}, expected no more than {attrs['size']}")
    return (TensorType("int32", (*exchanges.shape[:-1], attrs["size"])),)


def _row_order(exchanges: Array, size: int) -> Array:
    count = exchanges.shape[-1]
    lead = exchanges.shape[:-1]
    made = np.empty((*lead, size), np.int32)
    batch = math.prod(lead)
    for given, order in zip(exchanges.reshape(batch, count), made.reshape(batch, size), strict=True):
        rows = list(range(size))
        for k, there in enumerate(given.tolist()):
            if 0 <= there < size:
                rows[k], rows[there] = rows[there], rows[k]
        order[:] = rows
    return made


def _order_lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    *lead, count = inputs[0].type.shape
    size = attrs["size"]
    if inputs[0].type.size:
        k.call("row_order", inputs, outputs, batch=math.prod(lead), count=count, size=size)
    elif outputs[0].type.size:  # Without exchanges.
        domain, strides = (math.prod(lead), size), (size, 1)
        k.copy(k.table(np.arange(size, dtype=np.int32)), outputs[0], domain, 0, (0, 1), 0, strides)


op(
    "RowOrder",
    "exchanges",
    attrs={"size": REQUIRED},
    infer=_order_types,
    ref=_row_order,
    grad=NO_GRAD,
    lower=Kernel(_order_lower, ("int32",)),
    batch=leading,
    samples=lambda: [
        Sample((_exchanges(_order(*shape)),), {"size": size})
        for shape, size in (((5,), 5), ((2, 3, 37), 40), ((1,), 1), ((2, 0), 0), ((2, 0), 3))
    ],
    doc="int32: which row comes to each of `size` places by exchanges, one after the other, of each place with another; one of"
    " them that there is not is left out",
)
