"""Ops as objects, MindSpore's older style: `ops.MatMul()(x, y)`. Each calls the function of `graphc.ops.functional`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphc.ops import functional as F
from graphc.ops.tensor import Tensor


class Primitive:
    """Base: an op with its attributes fixed at construction."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def _plain(name: str, function: Callable[..., Any]) -> type[Primitive]:
    """A primitive without attributes."""

    def call(self: Primitive, *operands: Any) -> Any:
        return function(*operands)

    return type(name, (Primitive,), {"__call__": call, "__doc__": function.__doc__, "__module__": __name__})


Abs, Neg, Exp, Log = (_plain(n, f) for n, f in (("Abs", F.abs_), ("Neg", F.neg), ("Exp", F.exp), ("Log", F.log)))
Sqrt, Square, Reciprocal = (
    _plain("Sqrt", F.sqrt),
    _plain("Square", F.square),
    _plain("Reciprocal", F.reciprocal),
)
Tanh, Sigmoid, ReLU, IsFinite = (
    _plain("Tanh", F.tanh),
    _plain("Sigmoid", F.sigmoid),
    _plain("ReLU", F.relu),
    _plain("IsFinite", F.isfinite),
)
Add, Sub, Mul, RealDiv, Div = (
    _plain("Add", F.add),
    _plain("Sub", F.sub),
    _plain("Mul", F.mul),
    _plain("RealDiv", F.div),
    _plain("Div", F.div),
)
Pow, Maximum, Minimum = _plain("Pow", F.pow_), _plain("Maximum", F.maximum), _plain("Minimum", F.minimum)
Equal, NotEqual = _plain("Equal", F.equal), _plain("NotEqual", F.not_equal)
Less, LessEqual = _plain("Less", F.less), _plain("LessEqual", F.less_equal)
Greater, GreaterEqual = _plain("Greater", F.greater), _plain("GreaterEqual", F.greater_equal)
LogicalAnd, LogicalOr, LogicalNot = (
    _plain("LogicalAnd", F.logical_and),
    _plain("LogicalOr", F.logical_or),
    _plain("LogicalNot", F.logical_not),
)
Select, Cast, Reshape, Transpose = (
    _plain("Select", F.select),
    _plain("Cast", F.cast),
    _plain("Reshape", F.reshape),
    _plain("Transpose", F.transpose),
)
OnesLike, ZerosLike = _plain("OnesLike", F.ones_like), _plain("ZerosLike", F.zeros_like)
Assign, AssignAdd, AssignSub = (
    _plain("Assign", F.assign),
    _plain("AssignAdd", F.assign_add),
    _plain("AssignSub", F.assign_sub),
)
Depend, AllFinite = _plain("Depend", F.depend), _plain("AllFinite", F.all_finite)


class MatMul(Primitive):
    """Matrix product with optional transposition."""

    def __init__(self, transpose_a: bool = False, transpose_b: bool = False) -> None:
        self.transpose_a, self.transpose_b = transpose_a, transpose_b

    def __call__(self, x: Tensor, y: Tensor) -> Tensor:
        return F.matmul(x, y, self.transpose_a, self.transpose_b)


class Softmax(Primitive):
    """Softmax along an axis."""

    def __init__(self, axis: int = -1) -> None:
        self.axis = axis

    def __call__(self, x: Tensor) -> Tensor:
        return F.softmax(x, self.axis)


class Concat(Primitive):
    """Tensors one after the other along an axis."""

    def __init__(self, axis: int = 0) -> None:
        self.axis = axis

    def __call__(self, tensors: Any) -> Tensor:
        return F.concat(tensors, self.axis)


class OneHot(Primitive):
    """One-hot rows: called with (indices, depth, on_value, off_value); the new axis comes last."""

    def __call__(self, indices: Tensor, depth: int, on_value: Any, off_value: Any) -> Tensor:
        hit = F.one_hot(indices, depth, 1.0, 0.0)
        return F.select(F.greater(hit, 0.5), on_value, off_value)


def _reduction(name: str, function: Callable[..., Tensor]) -> type[Primitive]:
    def init(self: Any, keep_dims: bool = False) -> None:
        self.keep_dims = keep_dims

    def call(self: Any, x: Tensor, axis: Any = ()) -> Tensor:
        return function(x, axis, self.keep_dims)

    return type(
        name,
        (Primitive,),
        {"__init__": init, "__call__": call, "__doc__": function.__doc__, "__module__": __name__},
    )


ReduceSum, ReduceMean = _reduction("ReduceSum", F.reduce_sum), _reduction("ReduceMean", F.reduce_mean)
ReduceMax, ReduceMin = _reduction("ReduceMax", F.reduce_max), _reduction("ReduceMin", F.reduce_min)
ReduceAll, ReduceAny = _reduction("ReduceAll", F.reduce_all), _reduction("ReduceAny", F.reduce_any)
