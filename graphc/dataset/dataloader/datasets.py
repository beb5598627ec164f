"""Data sets of a DataLoader: objects whose samples have numbers, or that give them one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Generic, TypeVar

from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.ops.tensor.tensor import Tensor

T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """Base of data sets whose samples have numbers: override __getitem__, and __len__ for samplers."""

    def __init__(self) -> None:
        pass

    def __getitem__(self, index: int) -> T_co:
        raise NotImplementedError(f"{type(self).__name__} must implement __getitem__")


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """Base of data sets that give samples one after the other: override __iter__. Every worker has a copy that gives all of them,
    unless __iter__ asks get_worker_info() for its share.
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError(f"{type(self).__name__} must implement __iter__")


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Samples that are slices of Tensors along their first axes, which have one size."""

    def __init__(self, *tensors: Tensor) -> None:
        super().__init__()
        if not tensors or not all(isinstance(t, Tensor) and t.ndim for t in tensors):
            raise ArgumentTypeError("TensorDataset needs Tensors of one axis or more", loc=user_loc())
        sizes = [t.shape[0] for t in tensors]
        if len(set(sizes)) > 1:
            raise ArgumentValueError(f"TensorDataset: first axes differ in size: {sizes}", loc=user_loc())
        self.tensors = tensors

    def __getitem__(self, index: int) -> tuple[Any, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return int(self.tensors[0].shape[0])
