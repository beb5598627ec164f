"""Rows of a trainable table: Embedding, EmbeddingLookup, MultiFieldEmbeddingLookup, EmbeddingExt."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc import ops
from graphc.errors import DTypeError, ShapeError, user_loc
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.nn.initializer.distributions import Normal
from graphc.nn.initializer.make import initializer
from graphc.nn.layer import cut_layers
from graphc.nn.layer.cut_layers import COLUMNS, ROWS
from graphc.ops.functional import tensor_parts
from graphc.ops.functional.bounds import in_bounds
from graphc.ops.functional.index import one_hot_rows
from graphc.ops.functional.slicing import rows_at
from graphc.ops.functional.table_rows import gather_rows
from graphc.ops.tensor.dtype import to_name
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor, as_tensor
from graphc.processes import MODEL
from graphc.validation.unused_arguments import only


class Embedding(Cell):
    """Rows of a trainable table at the given numbers (MindSpore: nn.Embedding).

    ids: int32 or int64 of any shape; the result has one axis more, of embedding_size. `embedding_table` is
    [vocab_size, embedding_size]: whatever `initializer` takes, by default normal numbers of deviation 0.01. An id out
    of range gives zeros. With use_one_hot rows are taken by a matrix product. padding_idx: a row that starts as zeros.
    shard, graphc's own: with the setting model_parallel=m each of m processes in a row holds a part of the table. "rows": of
    vocab_size, and all give the whole result; "columns": of embedding_size, and each gives these alone, [..., embedding_size /
    m]. Without the setting it means nothing. docs/parallel.md.
    Raises ArgumentTypeError or ArgumentValueError for arguments, GC112 for a shard with use_one_hot, DTypeError for ids.
    """

    def __init__(
        self,
        vocab_size: int,
        embedding_size: int,
        use_one_hot: bool = False,
        embedding_table: Any = "normal",
        dtype: Any = "float32",
        padding_idx: int | None = None,
        *,
        shard: str | None = None,
    ) -> None:
        super().__init__()
        self.vocab_size = checks.integer("Embedding", "vocab_size", vocab_size)
        self.embedding_size = checks.integer("Embedding", "embedding_size", embedding_size)
        self.use_one_hot = checks.boolean("Embedding", "use_one_hot", use_one_hot)
        self.dtype = to_name(dtype)
        table = initializer(embedding_table, (self.vocab_size, self.embedding_size), dtype)
        self.padding_idx = padding_idx
        if padding_idx is not None:
            row = checks.integer("Embedding", "padding_idx", padding_idx, least=0)
            if row >= vocab_size:
                raise checks.wrong_value("Embedding", "padding_idx", f"less than vocab_size = {vocab_size}", row)
            values = table.asnumpy()
            values[row] = 0
            table = Tensor(values)
        count = cut_layers.parts_of("Embedding", shard)
        if shard is not None:
            only("Embedding", "use_one_hot", self.use_one_hot, False)
        self._columns, self._rows = (count if shard == name else 1 for name in (COLUMNS, ROWS))
        self._own_size = cut_layers.own_size("Embedding", "embedding_size", self.embedding_size, self._columns)
        self._own_rows = cut_layers.own_size("Embedding", "vocab_size", self.vocab_size, self._rows)
        self.embedding_table = cut_layers.parameter(table, "embedding_table", int(shard == COLUMNS), count)

    def construct(self, ids: Any) -> Tensor:
        ids = as_tensor(ids, "Embedding: ids")
        if ids.tensor_type.dtype not in ("int32", "int64"):
            raise DTypeError(
                f"Embedding: ids are {ids.tensor_type}, expected int32 or int64",
                loc=user_loc(),
                help="cast them: ops.cast(ids, graphc.int32)",
            )
        if self._rows > 1:
            # This process's first row, from all of them: every process has the same graph.
            first = Tensor(np.arange(self._rows, dtype=ids.tensor_type.numpy) * self._own_rows)
            own = ids - tensor_parts.take_part(first, MODEL)
            return tensor_parts.summed(rows_at(self.embedding_table, own), MODEL)
        if not self.use_one_hot:
            return rows_at(self.embedding_table, in_bounds("Embedding", ids, self.vocab_size))
        rows = one_hot_rows(ops.reshape(ids, (-1,)), self.vocab_size, dtype=self.embedding_table.dtype)
        return ops.reshape(ops.matmul(rows, self.embedding_table), (*ids.shape, self.embedding_size))

    def extend_repr(self) -> str:
        return (
            f"vocab_size={self.vocab_size}, embedding_size={self.embedding_size}, use_one_hot={self.use_one_hot}"
            f", padding_idx={self.padding_idx}"
        )


class _Lookup(Cell):
    """A trainable table, and its rows at given numbers."""

    def __init__(
        self,
        vocab_size: int,
        embedding_size: int,
        param_init: Any = "normal",
        target: str = "CPU",
        slice_mode: str = "batch_slice",
        manual_shapes: Any = None,
        max_norm: float | None = None,
        sparse: bool = True,
        dtype: Any = "float32",
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        self.vocab_size = checks.integer(owner, "vocab_size", vocab_size)
        self.embedding_size = checks.integer(owner, "embedding_size", embedding_size)
        only(owner, "slice_mode", slice_mode, "batch_slice")
        only(owner, "manual_shapes", manual_shapes, None)
        self.sparse = checks.boolean(owner, "sparse", sparse)
        self.target = checks.one_of(owner, "target", target, ("cpu", "device"))
        self.max_norm = None if max_norm is None else checks.real(owner, "max_norm", max_norm, above=0)
        table = initializer(param_init, (vocab_size, embedding_size), dtype)
        self.embedding_table = Parameter(table, name="embedding_table")

    def _rows(self, indices: Any) -> Tensor:
        rows = (gather_rows if self.sparse else rows_at)(self.embedding_table, indices)
        if self.max_norm is None:
            return rows
        norms = ops.sqrt(ops.reduce_sum(ops.square(rows), -1, keep_dims=True))
        return rows * (self.max_norm / ops.maximum(norms, self.max_norm))


class EmbeddingLookup(_Lookup):
    """Rows of a trainable table at the given numbers (MindSpore: nn.EmbeddingLookup on one device).

    sparse: whether the gradient of the table, if nothing else reads it, is a RowTensor of the rows that were used; optimizers
    say what they make of one, and everything else takes it as the tensor that it stands for. An index out of range gives zeros.
    target: how, not what. One device has no other slice_mode, no manual_shapes (GC112).
    """

    def construct(self, indices: Any) -> Tensor:
        return self._rows(indices)


class MultiFieldEmbeddingLookup(_Lookup):
    """Rows of a trainable table, weighted and brought together by fields (MindSpore: nn.MultiFieldEmbeddingLookup on one device).

    input_indices [B, L], of ints: which rows; input_values [B, L], of floats: their weights; field_ids [B, L], of ints: the
    field, from 0 to field_size - 1, that each belongs to; another one belongs to none. Gives [B, field_size, embedding_size]:
    operator "SUM" adds the weighted rows of a field up, "MAX" takes the largest elements, "MEAN" divides their sum by that of
    the weights' sizes. A field whose weights are all zero, or that has no row, is zeros. The other arguments are those of
    EmbeddingLookup; nothing is sliced, so there is no feature_num_list (GC112). ShapeError for inputs of other shapes.
    """

    def __init__(
        self,
        vocab_size: int,
        embedding_size: int,
        field_size: int,
        param_init: Any = "normal",
        target: str = "CPU",
        slice_mode: str = "batch_slice",
        feature_num_list: tuple[int, ...] | None = None,
        max_norm: float | None = None,
        sparse: bool = True,
        operator: str = "SUM",
        dtype: Any = "float32",
    ) -> None:
        owner = "MultiFieldEmbeddingLookup"
        super().__init__(vocab_size, embedding_size, param_init, target, slice_mode, None, max_norm, sparse, dtype)
        only(owner, "feature_num_list", feature_num_list, None)
        self.field_size = checks.integer(owner, "field_size", field_size)
        only(owner, "operator", operator, "SUM", "MEAN", "MAX")
        self.operator = operator

    def construct(self, input_indices: Any, input_values: Any, field_ids: Any) -> Tensor:
        names = ("input_indices", "input_values", "field_ids")
        given = (input_indices, input_values, field_ids)
        ids, values, fields = (
            as_tensor(x, f"MultiFieldEmbeddingLookup: {name}") for x, name in zip(given, names, strict=True)
        )
        if ids.ndim != 2 or values.shape != ids.shape or fields.shape != ids.shape:
            shapes = ", ".join(f"{n} {x.tensor_type}" for n, x in zip(names, (ids, values, fields), strict=True))
            raise ShapeError(
                f"MultiFieldEmbeddingLookup: the inputs must be [batch, length] all, got {shapes}", loc=user_loc()
            )
        batch, count = ids.shape[0], self.field_size
        rows = self._rows(ids) * ops.expand_dims(values, -1)
        known = ops.logical_and(fields >= 0, fields < count)
        places = ops.where(known, fields + ops.expand_dims(ops.arange(batch), 1) * count, -1).reshape(-1)
        rows, sizes = rows.reshape(-1, self.embedding_size), ops.abs(values).reshape(-1)
        sizes = ops.expand_dims(ops.unsorted_segment_sum(sizes, places, batch * count), -1)
        if self.operator == "MAX":
            most = ops.unsorted_segment_max(rows, places, batch * count)
            found = ops.where(sizes > 0, most, ops.zeros_like(most))
        else:
            found = ops.unsorted_segment_sum(rows, places, batch * count)
            if self.operator == "MEAN":
                found = ops.div_no_nan(found, sizes)
        return found.reshape(batch, count, self.embedding_size)


class EmbeddingExt(Cell):
    """Rows of a trainable table at the given numbers, with other names and initial values (MindSpore: nn.EmbeddingExt).

    `weight` is [num_embeddings, embedding_dim]: _weight, else standard normal numbers; _freeze: it is not trainable.
    padding_idx: a row that starts as zeros, unless _weight is given, and gets no gradient. dtype None is float32.
    max_norm: rows that are asked for and whose norm_type-norm is greater are scaled down to it first, in weight itself.
    scale_grad_by_freq and sparse are refused (GC112). Raises ArgumentTypeError or ArgumentValueError for
    arguments, DTypeError for an input that is not int32 or int64.
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        owner = "EmbeddingExt"
        self.num_embeddings = checks.integer(owner, "num_embeddings", num_embeddings)
        self.embedding_dim = checks.integer(owner, "embedding_dim", embedding_dim)
        self.max_norm = None if max_norm is None else checks.real(owner, "max_norm", max_norm, least=0)
        only(owner, "scale_grad_by_freq", scale_grad_by_freq, False)
        only(owner, "sparse", sparse, False)
        self.norm_type = checks.real(owner, "norm_type", norm_type)  # Of max_norm.
        self.padding_idx = padding_idx
        if padding_idx is not None:
            row = checks.integer(owner, "padding_idx", padding_idx, least=-num_embeddings)
            if row >= num_embeddings:
                raise checks.wrong_value(owner, "padding_idx", f"less than num_embeddings = {num_embeddings}", row)
            self.padding_idx = row % num_embeddings
        shape = (self.num_embeddings, self.embedding_dim)
        if _weight is None:
            values = initializer(Normal(1.0, 0.0), shape, "float32" if dtype is None else dtype).asnumpy()
            if self.padding_idx is not None:
                values[self.padding_idx] = 0
            _weight = Tensor(values)
        if not isinstance(_weight, Tensor):
            raise checks.wrong_type(owner, "_weight", "a Tensor", _weight)
        if _weight.shape != shape:
            raise checks.wrong_value(owner, "_weight", f"of shape {shape}", _weight.shape)
        self.weight = Parameter(_weight, "weight", not checks.boolean(owner, "_freeze", _freeze))

    def construct(self, input: Any) -> Tensor:
        ids = as_tensor(input, "EmbeddingExt: input")
        if ids.tensor_type.dtype not in ("int32", "int64"):
            raise DTypeError(f"EmbeddingExt: the input is {ids.tensor_type}, expected int32 or int64", loc=user_loc())
        return ops.embedding(ids, self.weight, self.padding_idx, self.max_norm, self.norm_type)

    def extend_repr(self) -> str:
        return (
            f"num_embeddings={self.num_embeddings}, embedding_dim={self.embedding_dim}, padding_idx={self.padding_idx}"
        )


__all__ = ["Embedding", "EmbeddingExt", "EmbeddingLookup", "MultiFieldEmbeddingLookup"]
