"""Gradients of tables of which few rows are used: those rows alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphc import dispatch
from graphc.errors import ArgumentTypeError, ShapeError, user_loc
from graphc.ir import get_op
from graphc.ir.types import TensorType
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Array, Tensor, as_tensor, require_array


class RowTensor(Tensor):
    """A tensor that is zero but for some of its rows (MindSpore: RowTensor).

    indices: int32 or int64 [n], the rows; equal ones are added up, and those out of range are left out. values: [n, ...], one
    per index. shape: (rows, ...), kept as `dense_shape`. Or row_tensor alone, whose parts are taken.
    The gradient of a table that only `nn.EmbeddingLookup(sparse=True)` reads is one, in the order of the rows; optimizers that
    move only what is used (LazyAdam, FTRL, ProximalAdagrad) then read and write these rows alone. Everything else may use it as
    the Tensor that it stands for: that is made where it is needed.
    Products with one number keep the rows. ArgumentTypeError or ShapeError for parts that do not fit.
    """

    is_rows = True

    def __init__(self, indices: Any = None, values: Any = None, shape: Any = None, row_tensor: Any = None) -> None:
        self._array = None
        if row_tensor is not None:
            if not isinstance(row_tensor, RowTensor) or any(part is not None for part in (indices, values, shape)):
                raise ArgumentTypeError(
                    "RowTensor: row_tensor must be a RowTensor, without other parts", loc=user_loc()
                )
            indices, values, shape = row_tensor.indices, row_tensor.values, row_tensor.dense_shape
        self.indices: Tensor = as_tensor(indices, "RowTensor: indices")
        self.values: Tensor = as_tensor(values, "RowTensor: values")
        if not isinstance(shape, (tuple, list)) or not all(type(n) is int and n >= 0 for n in shape):
            raise ArgumentTypeError(f"RowTensor: shape must be a tuple of sizes, got {shape!r}", loc=user_loc())
        self.dense_shape: tuple[int, ...] = tuple(shape)
        index = self.indices.tensor_type
        if index.dtype not in ("int32", "int64") or index.rank != 1:
            raise ShapeError(f"RowTensor: indices are {index}, expected int32 or int64 with one axis", loc=user_loc())
        if not self.dense_shape or self.values.shape != (index.size, *self.dense_shape[1:]):
            raise ShapeError(
                f"RowTensor: values are {self.values.tensor_type}, for {index.size} rows of a tensor of shape {self.dense_shape}",
                loc=user_loc(),
            )
        #: Whether no index in range stands twice.
        self.is_merged = False
        self._dense: tuple[Any, Tensor] | None = None

    @property
    def writes(self) -> Any:
        return self.values.writes, self.indices.writes

    @property
    def tensor_type(self) -> TensorType:
        return TensorType(self.values.tensor_type.dtype, self.dense_shape)

    @property
    def array(self) -> Array | None:
        return self.dense().array if self.values.array is not None and dispatch.recorder.get() is None else None

    def dense(self) -> Tensor:
        """The tensor with all its rows."""
        active: Any = dispatch.recorder.get()
        # What is written into the parts makes another tensor.
        state = (active, *((x.writes, getattr(x, "handle", None)) for x in (self.values, self.indices)))
        if self._dense is None or self._dense[0] != state or self._holds_parameters():
            attrs = {"shape": self.dense_shape, "axis": 0}
            if active is not None:
                made = active.record("GatherGrad", (self.values, self.indices), attrs)[0]
            else:
                ref: Any = get_op("GatherGrad").ref
                made = Tensor.wrap(ref(require_array(self.values), require_array(self.indices), **attrs))
            self._dense = (state, made)
        return self._dense[1]

    def _holds_parameters(self) -> bool:
        return isinstance(self.values, Parameter) or isinstance(self.indices, Parameter)

    def _value(self, asked: str) -> Array:
        return self.dense()._value(asked)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self.dense().__array__(dtype, copy)

    def with_values(self, values: Tensor) -> RowTensor:
        """The same rows with other values."""
        made = RowTensor(self.indices, values, self.dense_shape)
        made.is_merged = self.is_merged
        return made

    def __repr__(self) -> str:
        return f"RowTensor(indices={self.indices!r}, values={self.values!r}, shape={self.dense_shape})"

    __hash__ = Tensor.__hash__


#: Ops of one operand that keep zeros, once equal rows have been added up.
_KEEP = frozenset({"Cast", "Neg", "Square", "StopGradient"})
#: Ops for which zeros make no difference, in the same way.
_CHECKS = frozenset({"AllFinite", "GetFloatStatus"})


def tested(x: Tensor) -> Tensor:
    """What a check for infinities and NaN has to look at: the rows alone of a RowTensor in which none stands twice."""
    return x.values if isinstance(x, RowTensor) and x.is_merged else x


def by_rows(op: str, operands: tuple[Tensor, ...], attrs: dict[str, Any], call: Callable[..., Any]) -> Any:
    """What an op makes of operands some of which are RowTensors: of the rows alone where that is the same, else of the tensors
    that they stand for.
    """
    first, *others = operands
    if isinstance(first, RowTensor):
        alone = not any(x.is_rows or x.size != 1 or x.ndim > first.values.ndim for x in others)
        keeps = op in _KEEP and first.is_merged and attrs.get("dtype") != "bool"  # Rows of bool cannot be added up.
        if keeps or (op in ("Mul", "Div") and alone):
            return first.with_values(call(op, first.values, *others, **attrs))
        if op == "ReduceSum" and first.is_merged and 0 in attrs["axis"]:
            return call(op, first.values, **attrs)
    elif op == "Mul" and isinstance(others[0], RowTensor) and first.size == 1 and first.ndim <= others[0].values.ndim:
        return others[0].with_values(call(op, first, others[0].values, **attrs))
    if op in _CHECKS:
        operands = tuple(map(tested, operands))
    return call(op, *(x.dense() if isinstance(x, RowTensor) else x for x in operands), **attrs)


__all__ = ["RowTensor", "by_rows", "tested"]
