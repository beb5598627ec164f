"""Ops that rearrange elements: reshape, transpose, slices, concatenation, indexing."""

from __future__ import annotations

import math
import operator

import numpy as np

from graphc.errors import ArgumentValueError, DTypeError, ShapeError
from graphc.ir import REQUIRED, Builder, NodeView, Sample, TensorType, Value, op
from graphc.ir.lowering import CallBuilder, ExpressionBuilder, Handle
from graphc.ir.op import Alias, Attrs, Kernel, Operands, Scalar, Strided, Types
from graphc.ir.types import contiguous_strides
from graphc.ops.declared import padding, padding_places
from graphc.ops.declared.batching import SIZE, Mapped, along, prefixed
from graphc.ops.declared.rules import (
    MOVED,
    Array,
    booleans,
    broadcast_shape,
    floats,
    integers,
    require_axis,
    same_dtype,
    unbroadcast,
)


def _reshape_infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    (x,) = types
    if math.prod(attrs["shape"]) != x.size or any(d < 0 for d in attrs["shape"]):
        raise ShapeError(
            f"Reshape: {x} has {x.size} elements, shape {attrs['shape']} needs {math.prod(attrs['shape'])}",
            code="GC103",
            help="one size may be -1: it follows from the others",
        )
    return (TensorType(x.dtype, attrs["shape"]),)


op(
    "Reshape",
    "x",
    attrs={"shape": REQUIRED},
    infer=_reshape_infer,
    ref=lambda x, shape: x.reshape(shape),
    grad=lambda g, n, dy: [g.Reshape(dy, shape=n.type(n.x).shape)],
    lower=Alias(),
    view=True,
    batch=prefixed(shape=SIZE),
    pad=padding.reshape,
    samples=lambda: [
        Sample((floats(3, 4, 5),), {"shape": (12, 5)}, grad=(0,)),
        Sample((floats(1),), {"shape": ()}, grad=(0,)),
        Sample((integers(6),), {"shape": (3, 1, 2)}),
    ],
    doc="the same elements in row-major order under another shape",
)


def _transpose_infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    (x,) = types
    if sorted(attrs["perm"]) != list(range(x.rank)):
        raise ArgumentValueError(f"Transpose: {attrs['perm']} is no permutation of the {x.rank} axes of {x}")
    return (TensorType(x.dtype, tuple(x.shape[i] for i in attrs["perm"])),)


def _transpose_access(x: TensorType, attrs: Attrs) -> tuple[int, tuple[int, ...]]:
    strides = contiguous_strides(x.shape)
    return 0, tuple(strides[i] for i in attrs["perm"])


def _transpose_grad(g: Builder, n: NodeView, dy: Value) -> list[Value]:
    """dy with its axes back; where that is the product of a column and a row, the product of these the other way round."""
    perm = tuple(sorted(range(len(n.perm)), key=n.perm.__getitem__))
    product = g.graph.node(dy.node)
    shapes = [g.type(v).shape for v in product.inputs]
    if product.op.name == "Mul" and all(len(s) == len(perm) and sum(d != 1 for d in s) <= 1 for s in shapes):
        return [
            g.Mul(*(g.Reshape(v, shape=tuple(s[i] for i in perm)) for v, s in zip(product.inputs, shapes, strict=True)))
        ]
    return [g.Transpose(dy, perm=perm)]


op(
    "Transpose",
    "x",
    attrs={"perm": REQUIRED},
    infer=_transpose_infer,
    ref=lambda x, perm: np.transpose(x, perm),
    grad=_transpose_grad,
    lower=Strided(_transpose_access),
    view=True,
    batch=lambda g, m: m.again(*m.inputs, perm=(0, *(i + 1 for i in m.perm))),
    pad=lambda p: [tuple(p.axes[0][i] for i in p.node.attrs["perm"])],
    samples=lambda: [
        Sample((floats(17, 5),), {"perm": (1, 0)}, grad=(0,)),
        Sample((floats(2, 3, 4),), {"perm": (2, 0, 1)}, grad=(0,)),
        Sample((integers(4, 3, dtype="int64"),), {"perm": (1, 0)}),
        Sample((booleans(3, 18),), {"perm": (1, 0)}),
        Sample((floats(5),), {"perm": (0,)}, grad=(0,)),
    ],
    doc="axes in another order",
)


def _broadcast_infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    (x,) = types
    shape = attrs["shape"]
    if broadcast_shape("BroadcastTo", [x, TensorType(x.dtype, shape)]) != shape:
        raise ShapeError(f"BroadcastTo: {x} cannot be broadcast to {shape}", code="GC102")
    return (TensorType(x.dtype, shape),)


def _broadcast_scalar(e: ExpressionBuilder, x: Handle, shape: tuple[int, ...]) -> Handle:
    # The result's shape is the loop's domain, so broadcasting is what operands do anyway.
    return x


def _broadcast_batch(g: Builder, m: Mapped) -> tuple[Value, ...]:
    return m.again(m.lined(0, len(m.shape)), shape=(m.size, *m.shape))


op(
    "BroadcastTo",
    "x",
    attrs={"shape": REQUIRED},
    infer=_broadcast_infer,
    ref=lambda x, shape: np.broadcast_to(x, shape),
    grad=lambda g, n, dy: [unbroadcast(g, dy, n.x)],
    lower=Scalar(_broadcast_scalar),
    batch=_broadcast_batch,
    pad=padding.broadcast,
    samples=lambda: [
        Sample((floats(3, 1),), {"shape": (2, 3, 19)}, grad=(0,)),
        Sample((floats(),), {"shape": (4,)}, grad=(0,)),
        Sample((integers(5),), {"shape": (3, 5)}),
    ],
    doc="repeated along axes of size 1 and new leading axes",
)

# ---- slices and their inverse


def _slice_infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    (x,) = types
    begin, size, step = attrs["begin"], attrs["size"], attrs["step"]
    if not len(begin) == len(size) == len(step) == x.rank:
        raise ArgumentValueError(f"Slice: begin, size and step need {x.rank} numbers each for {x}")
    for b, n, s, d in zip(begin, size, step, x.shape, strict=True):
        if n < 0 or (n and not (0 <= b < d and 0 <= b + (n - 1) * s < d)):
            raise ArgumentValueError(f"Slice: begin {begin}, size {size}, step {step} leave {x}")
    return (TensorType(x.dtype, size),)


def _slices(begin: tuple[int, ...], size: tuple[int, ...], step: tuple[int, ...]) -> tuple[slice, ...]:
    # An end before element 0 must be None for a negative step.
    return tuple(
        slice(b, (e if (e := b + n * s) >= 0 else None) if n else b, s)
        for b, n, s in zip(begin, size, step, strict=True)
    )


def _slice_access(x: TensorType, attrs: Attrs) -> tuple[int, tuple[int, ...]]:
    strides = contiguous_strides(x.shape)
    offset = sum(b * s for b, s in zip(attrs["begin"], strides, strict=True)) if 0 not in attrs["size"] else 0
    return offset, tuple(s * t for s, t in zip(strides, attrs["step"], strict=True))


op(
    "Slice",
    "x",
    attrs={"begin": REQUIRED, "size": REQUIRED, "step": REQUIRED},
    infer=_slice_infer,
    ref=lambda x, begin, size, step: x[_slices(begin, size, step)],
    grad=lambda g, n, dy: [g.SliceGrad(dy, shape=n.type(n.x).shape, begin=n.begin, step=n.step)],
    lower=Strided(_slice_access),
    view=True,
    batch=prefixed(begin=0, size=SIZE, step=1),
    pad=padding_places.window,
    samples=lambda: [
        Sample((floats(6, 35),), {"begin": (1, 3), "size": (4, 20), "step": (1, 1)}, grad=(0,)),
        Sample((floats(6, 35),), {"begin": (0, 34), "size": (3, 12), "step": (2, -3)}, grad=(0,)),
        Sample((integers(9),), {"begin": (2,), "size": (1,), "step": (1,)}),
    ],
    doc="`size` elements per axis from `begin`, every `step`-th",
)


def _slice_grad_lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    dy, dx = inputs[0], outputs[0]
    size = dy.type.shape
    offset, strides = _slice_access(dx.type, {**attrs, "size": size})
    k.fill(dx, 0.0)
    k.copy(dy, dx, size, 0, contiguous_strides(size), offset, strides)


def _slice_grad_ref(dy: Array, shape: tuple[int, ...], begin: tuple[int, ...], step: tuple[int, ...]) -> Array:
    dx = np.zeros(shape, dy.dtype)
    dx[_slices(begin, dy.shape, step)] = dy
    return dx


op(
    "SliceGrad",
    "dy",
    attrs={"shape": REQUIRED, "begin": REQUIRED, "step": REQUIRED},
    infer=lambda types, attrs: (TensorType(types[0].dtype, attrs["shape"]),),
    ref=_slice_grad_ref,
    grad=lambda g, n, d: [g.Slice(d, begin=n.begin, size=n.type(n.dy).shape, step=n.step)],
    lower=Kernel(_slice_grad_lower, MOVED),
    batch=prefixed(shape=SIZE, begin=0, step=1),
    samples=lambda: [
        Sample((floats(2, 20),), {"shape": (5, 40), "begin": (1, 3), "step": (2, 1)}, grad=(0,)),
        Sample((floats(3),), {"shape": (7,), "begin": (6,), "step": (-2,)}, grad=(0,)),
    ],
    doc="zeros with dy written where Slice read",
)


def _pad_infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    (x,) = types
    pads = attrs["paddings"]
    if len(pads) != x.rank or any(a < 0 or b < 0 for a, b in pads):
        raise ArgumentValueError(f"Pad: paddings {pads} need one pair of non-negative numbers per axis of {x}")
    return (TensorType(x.dtype, tuple(d + a + b for d, (a, b) in zip(x.shape, pads, strict=True))),)


def _pad_lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    x, y = inputs[0], outputs[0]
    strides = contiguous_strides(y.type.shape)
    offset = sum(a * s for (a, _), s in zip(attrs["paddings"], strides, strict=True))
    k.fill(y, attrs["value"])
    k.copy(x, y, x.type.shape, 0, contiguous_strides(x.type.shape), offset, strides)


op(
    "Pad",
    "x",
    attrs={"paddings": REQUIRED, "value": 0.0},
    infer=_pad_infer,
    ref=lambda x, paddings, value: np.pad(x, paddings, constant_values=value),
    grad=lambda g, n, dy: [
        g.Slice(dy, begin=tuple(a for a, _ in n.paddings), size=n.type(n.x).shape, step=(1,) * n.type(n.x).rank)
    ],
    lower=Kernel(_pad_lower, MOVED),
    batch=prefixed(paddings=(0, 0)),
    pad=padding_places.bordered,
    samples=lambda: [
        Sample((floats(3, 17),), {"paddings": ((1, 0), (2, 3))}, grad=(0,)),
        Sample((floats(4),), {"paddings": ((0, 0),), "value": 7.0}, grad=(0,)),
        Sample((integers(2, 2),), {"paddings": ((0, 1), (1, 0)), "value": 3}),
    ],
    doc="x with a border of `value`",
)


def _concat_infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    axis = attrs["axis"]
    if not types:
        raise ArgumentValueError("Concat: needs at least one operand")
    dtype = same_dtype("Concat", types)
    first = types[0]
    require_axis("Concat", first, axis)
    for t in types:
        if t.rank != first.rank or any(
            a != b for i, (a, b) in enumerate(zip(t.shape, first.shape, strict=True)) if i != axis
        ):
            raise ShapeError(f"Concat: {' and '.join(map(str, types))} differ outside axis {axis}")
    shape = list(first.shape)
    shape[axis] = sum(t.shape[axis] for t in types)
    return (TensorType(dtype, tuple(shape)),)


def _concat_grad(g: Builder, n: NodeView, dy: Value) -> list[Value]:
    grads, start = [], 0
    for x in n.inputs:
        shape = n.type(x).shape
        begin = tuple(start if i == n.axis else 0 for i in range(len(shape)))
        grads.append(g.Slice(dy, begin=begin, size=shape, step=(1,) * len(shape)))
        start += shape[n.axis]
    return grads


def _concat_lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    strides = contiguous_strides(outputs[0].type.shape)
    start = 0
    for x in inputs:
        shape = x.type.shape
        if not k.holds(outputs[0], x):
            offset, own = (0, contiguous_strides(shape)) if x.view is None else x.view[1:]
            k.copy(x, outputs[0], shape, offset, own, start * strides[attrs["axis"]], strides)
        start += shape[attrs["axis"]]


op(
    "Concat",
    "*xs",
    attrs={"axis": REQUIRED},
    infer=_concat_infer,
    ref=lambda *xs, axis: np.concatenate(xs, axis),
    grad=_concat_grad,
    lower=Kernel(_concat_lower, MOVED),
    batch=along("axis"),
    pad=padding_places.joined,
    samples=lambda: [
        Sample((floats(2, 5), floats(2, 17)), {"axis": 1}, grad=(0, 1)),
        Sample((floats(2, 3), floats(1, 3), floats(4, 3)), {"axis": 0}, grad=(0, 2)),
        Sample((integers(3), integers(2)), {"axis": 0}),
    ],
    doc="operands one after the other along an axis",
)


def check_axis(op_name: str, axis: int, rank: int) -> int:
    """A single axis as a non-negative number: any integer, also one in a tensor whose value is known."""
    if isinstance(axis, bool) or not hasattr(axis, "__index__"):
        raise DTypeError(f"{op_name}: axis must be an integer, got {type(axis).__name__}")
    place = operator.index(axis)
    if not -rank <= place < rank:
        raise ArgumentValueError(f"{op_name}: axis {place} is out of range for a tensor of rank {rank}")
    return place % rank
