"""Helpers that op declarations share: type rules, the one undoing of broadcasting, products of matrices, sample makers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from graphc.errors import ArgumentValueError, DTypeError, ShapeError
from graphc.ir import Builder, TensorType, Value
from graphc.ir.op import Attrs, TypeRule, Types
from graphc.ir.types import COMPLEX, FLOATS, HALVES, INTEGERS

Array = np.ndarray[Any, np.dtype[Any]]

Shape = tuple[int, ...]

NUMERIC = INTEGERS + FLOATS

#: The dtypes of kernels that move elements, and combine some of them: halves go through float32. And of those that only move.
MOVED = ("float32", "float64", "bool", *INTEGERS)
ONLY_MOVED = (*MOVED, *HALVES)


def check_dtype(op: str, operand: str, type: TensorType, allowed: Sequence[str]) -> None:
    """Raise DTypeError unless `type` has one of the dtypes."""
    if type.dtype not in allowed:
        raise DTypeError(
            f"{op}: {operand} is {type}, expected dtype {' or '.join(allowed)}",
            help=f"take a part of it first: ops.real({operand}), ops.abs({operand})"
            if type.is_complex
            else f"cast it first: ops.cast({operand}, graphc.{([d for d in allowed if d not in COMPLEX] or allowed)[-1]})",
        )


def exact_sum(
    x: Array, axis: int | tuple[int, ...], keepdims: bool = False, fold: Callable[..., Any] = np.sum
) -> Array:
    """The sum, or another fold that takes a dtype, of float32 in float64 and rounded once, as of complex64; others keep theirs.

    NumPy adds up pairwise along a contiguous axis only: 2^20 equal rows have a sum that is off by 1 %.
    """
    wide = {"float32": np.float64, "complex64": np.complex128}.get(x.dtype.name)
    return np.asarray(fold(x, axis=axis, keepdims=keepdims, dtype=wide)).astype(x.dtype, copy=False)


def require_axis(op: str, x: TensorType, axis: int) -> None:
    """Raise ArgumentValueError unless x has the axis, counted from the first."""
    if not 0 <= axis < x.rank:
        raise ArgumentValueError(f"{op}: axis {axis} is out of range for {x}")


def around(x: TensorType, axis: int) -> dict[str, Any]:
    """x as a kernel sees it that goes along one axis: [outer, size, inner] of a dtype."""
    outer, inner = math.prod(x.shape[:axis]), math.prod(x.shape[axis + 1 :])
    return {"outer": outer, "size": x.shape[axis], "inner": inner, "dtype": x.dtype}


def broadcast_shape(op: str, types: Types) -> Shape:
    """The shape that NumPy broadcasting gives; ShapeError with the shapes in columns."""
    return broadcast_shapes(op, *[t.shape for t in types])


def broadcast_shapes(op: str, *shapes: Shape, of: str = "") -> Shape:
    """The shape that shapes are broadcast to; ShapeError with the shapes in columns. `of`: whose shapes they are, in words."""
    shape = _broadcast(shapes)
    if shape is None:
        padded = _padded(shapes)
        width = max(len(str(s)) for p in padded for s in p)
        rows = ["  ".join(str(s).rjust(width) for s in p) for p in padded]
        bad = ["^" * width if len({*c} - {1}) > 1 else " " * width for c in zip(*padded, strict=True)]
        raise ShapeError(
            f"{op}: shapes {' and '.join(map(str, shapes))}{of and f' {of}'} cannot be broadcast together",
            code="GC102",
            details=[*rows, "  ".join(bad).rstrip()],
        )
    return shape


@lru_cache(maxsize=4096)
def _broadcast(shapes: tuple[Shape, ...]) -> Shape | None:
    """The shape to which all broadcast, or None."""
    columns = [{*sizes} - {1} for sizes in zip(*_padded(shapes), strict=True)]
    return None if any(len(c) > 1 for c in columns) else tuple(c.pop() if c else 1 for c in columns)


def _padded(shapes: tuple[Shape, ...]) -> list[Shape]:
    """The shapes with axes of size 1 in front, so that all have the same rank."""
    rank = max(map(len, shapes), default=0)
    return [(1,) * (rank - len(s)) + s for s in shapes]


def same_dtype(op: str, types: Types) -> str:
    """The common dtype; DTypeError if they differ."""
    if len({t.dtype for t in types}) > 1:
        raise DTypeError(
            f"{op}: operands have different dtypes: {', '.join(map(str, types))}",
            help=_cast(types),
        )
    return types[0].dtype


def _cast(types: Types) -> str:
    """What to cast: to float32, the dtype of weights, or else to the widest there is, which is the last float or integer."""
    order = [*INTEGERS, *(d for d in FLOATS if d != "float32"), *COMPLEX, "float32"]
    wanted = max((t.dtype for t in types), key=lambda d: order.index(d) if d in order else -1)
    other = next(t for t in types if t.dtype != wanted)
    return f"cast the {other}, for example with ops.cast(x, graphc.{wanted})"


def elementwise(op: str, allowed: Sequence[str] = NUMERIC, result: str | None = None) -> TypeRule:
    """Type rule: operands of one dtype among `allowed`, broadcast; the result has dtype `result` or theirs."""

    def infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
        dtype = same_dtype(op, types)
        check_dtype(op, "x", types[0], allowed)
        return (TensorType(result or dtype, broadcast_shape(op, types)),)

    return infer


def normalize_axes(op: str, axis: Any, rank: int) -> tuple[int, ...]:
    """Axes as sorted non-negative numbers; None or () means all. They may be in a tensor whose values are known.

    DTypeError for what is no integer, ArgumentValueError for an axis out of range or repeated.
    """
    axis = axis.tolist() if hasattr(axis, "tolist") else axis
    axes = () if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
    # MindSpore lets a tensor without axes be reduced along its first or last one.
    if not axes or (not rank and axes in ((0,), (-1,))):
        return tuple(range(rank))
    for a in axes:
        if not isinstance(a, (int, np.integer)):
            raise DTypeError(f"{op}: axis must be integers, got {type(a).__name__}")
        if not -rank <= a < rank:
            raise ArgumentValueError(f"{op}: axis {a} is out of range for a tensor of rank {rank}")
    normal = sorted(int(a) % rank for a in axes)
    if len(set(normal)) != len(normal):
        raise ArgumentValueError(f"{op}: an axis is given twice in {axis}")
    return tuple(normal)


def reduced_shape(shape: Shape, axes: Sequence[int], keep_dims: bool) -> Shape:
    if keep_dims:
        return tuple(1 if i in axes else d for i, d in enumerate(shape))
    return tuple(d for i, d in enumerate(shape) if i not in axes)


def unbroadcast(g: Builder, dy: Value, x: Value) -> Value:
    """Sum a gradient over the axes along which `x` was broadcast, so that it has x's shape."""
    want, have = g.type(x).shape, g.type(dy).shape
    if want == have:
        return dy
    lead = len(have) - len(want)
    axes = (*range(lead), *(i + lead for i, d in enumerate(want) if d == 1 and have[i + lead] != 1))
    if axes:
        dy = g.ReduceSum(dy, axis=axes, keep_dims=False)
    return dy if g.type(dy).shape == want else g.Reshape(dy, shape=want)


# ---- gradients


def in_float64(g: Builder, made: Callable[..., Value], *operands: Value) -> Value:
    """What `made` gives for operands in float64, in the dtype of the first one: for integers without the fraction."""
    wide = made(*(g.Cast(x, dtype="float64") for x in operands))
    narrow: Value = g.Cast(wide, dtype=g.type(operands[0]).dtype)
    return narrow


def divided(g: Builder, x: Value, y: Value) -> Value:
    """x / y; of integers without the fraction."""
    if g.type(x).dtype in INTEGERS:
        return in_float64(g, g.Div, x, y)
    made: Value = g.Div(x, y)
    return made


def others_multiplied(
    g: Builder, x: Value, multiplied: Callable[[Value], Value], summed: Callable[[Value], Value]
) -> Value:
    """The product of all other factors of its group, at each factor x: by division; around zeros the product of what is not zero,
    times sums of the zeros, which are 0 and have the derivatives of their products.

    multiplied, summed: the product and the sum of its group, at each factor.
    """
    none, one, two = (g.like(number, x) for number in (0.0, 1.0, 2.0))
    zero = g.Equal(x, none)
    others, zeros = g.Select(zero, one, x), g.Select(zero, x, none)
    product, total = multiplied(others), summed(zeros)
    count = summed(g.Select(zero, one, none))
    single = g.Equal(count, one)
    if g.type(x).dtype in FLOATS:  # What has overflown is nothing times 0.
        beside = g.Mul(g.Select(g.IsFinite(product), product, none), total)
    else:
        beside = g.Mul(product, total)
    at_zero = g.Select(single, product, g.Select(g.Equal(count, two), g.Mul(product, g.Sub(total, zeros)), none))
    elsewhere = g.Select(g.Equal(count, none), product, g.Select(single, beside, none))
    made: Value = g.Select(zero, at_zero, divided(g, elsewhere, others))
    return made


# ---- matrices


def matrix_product(g: Builder, x: Value, y: Value, ta: bool = False, tb: bool = False) -> Value:
    """The product of matrices, one for each leading index."""
    product = g.MatMul if g.type(x).rank == 2 else g.BatchMatMul
    made: Value = product(x, y, transpose_a=ta, transpose_b=tb)
    return made


def turned(g: Builder, x: Value) -> Value:
    """The last two axes exchanged."""
    rank = g.type(x).rank
    made: Value = g.Transpose(x, perm=(*range(rank - 2), rank - 1, rank - 2))
    return made


def conjugate(g: Builder, x: Value) -> Value:
    """The conjugate; real numbers as they are."""
    made: Value = g.Conj(x) if g.type(x).is_complex else x
    return made


def adjoint(g: Builder, x: Value) -> Value:
    """The last two axes exchanged, of complex matrices the conjugate."""
    return conjugate(g, turned(g, x))


def without_imaginary(g: Builder, x: Value) -> Value:
    """The real parts, as complex numbers if these are."""
    made: Value = g.Cast(g.Real(x), dtype=g.type(x).dtype) if g.type(x).is_complex else x
    return made


# ---- samples


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def floats(*shape: int, low: float = -2.0, high: float = 2.0, seed: int = 0) -> Array:
    """Uniform float32 numbers."""
    return rng(seed + 7 * len(shape) + sum(shape)).uniform(low, high, shape).astype(np.float32)


def integers(*shape: int, low: int = -9, high: int = 9, dtype: str = "int32", seed: int = 0) -> Array:
    return rng(seed + sum(shape)).integers(low, high + 1, shape).astype(dtype)


def booleans(*shape: int, seed: int = 0) -> Array:
    return rng(seed + sum(shape)).integers(0, 2, shape).astype(bool)
