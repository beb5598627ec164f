"""Communication that returns what it makes, and leaves what it is given as it was: (tensor, handle), see
`graphc.ops.communication.tensors`. Until the handle's `wait()` returns the tensor may not be used.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, user_loc
from graphc.ir import TensorType
from graphc.ops.communication import lists, nodes, peers, tensors
from graphc.ops.communication.checks import CommHandle, is_traced, member, place, reduction, tensor_of
from graphc.ops.tensor.tensor import Tensor, require_array
from graphc.validation.checks import boolean

Returned = tuple[Tensor, CommHandle | None]


def all_reduce(owner: str, tensor: Any, op: Any, group: Any, async_op: Any) -> Returned:
    """A tensor reduced over the processes of a group."""
    x = tensor_of(owner, "tensor", tensor)
    if is_traced():
        found = member(owner, group)
        return nodes.all_reduce(x, reduction(owner, op, x), found.name), _done(owner, async_op)
    made = _copy(x)
    return made, tensors.all_reduce(made, op, group, async_op)


def all_gather(owner: str, tensor: Any, group: Any, async_op: Any) -> Returned:
    """The tensors of a group's processes, joined along their first axis."""
    x, found = tensor_of(owner, "tensor", tensor), member(owner, group)
    if is_traced():
        return nodes.all_gather(x, found.name), _done(owner, async_op)
    made = empty(tensors.joined(x, found.size))
    return made, tensors.all_gather_into_tensor(made, x, group, async_op)


def reduce_scatter(owner: str, tensor: Any, op: Any, group: Any, async_op: Any) -> Returned:
    """This process's part, along the first axis, of a tensor reduced over a group."""
    x, found = tensor_of(owner, "tensor", tensor), member(owner, group)
    type = tensors.part_of(owner, x, found.size)
    if is_traced():
        return nodes.reduce_scatter(x, reduction(owner, op, x), found.name), _done(owner, async_op)
    made = empty(type)
    return made, tensors.reduce_scatter_tensor(made, x, op, group, async_op)


def broadcast(owner: str, tensor: Any, src: Any, group: Any) -> Tensor:
    """The tensor of the process `src`."""
    x, found = tensor_of(owner, "tensor", tensor), member(owner, group)
    if is_traced():
        return nodes.broadcast(x, place(owner, "src", found, src), found.name)
    made = _copy(x)
    tensors.broadcast(made, src, group)
    return made


def reduce(owner: str, tensor: Any, dst: Any, op: Any, group: Any) -> Tensor:
    """A tensor reduced over a group, in its process `dst`; zeros in the others."""
    x, found = tensor_of(owner, "tensor", tensor), member(owner, group)
    root = place(owner, "dst", found, dst)
    if is_traced():
        return nodes.reduce(x, root, reduction(owner, op, x), found.name)
    made = _copy(x)
    tensors.reduce(made, dst, op, group)
    return made if found.rank == root else empty(x.tensor_type)


def gather(owner: str, tensor: Any, dst: Any, group: Any) -> Tensor:
    """The tensors of a group's processes, joined along their first axis, in the process `dst`; a zero in the others."""
    x, found = tensor_of(owner, "tensor", tensor), member(owner, group)
    here = found.rank == place(owner, "dst", found, dst)
    made = empty(tensors.joined(x, found.size) if here else TensorType(x.tensor_type.dtype, (1,)))
    tensors.gather_into_tensor(made, x, dst, group)
    return made


def scatter(owner: str, tensor: Any, src: Any, group: Any) -> Tensor:
    """This process's part, along the first axis, of the tensor of the process `src`, which has the same shape in all."""
    x, found = tensor_of(owner, "tensor", tensor), member(owner, group)
    made = empty(tensors.part_of(owner, x, found.size))
    tensors.scatter_tensor(made, x, src, group)
    return made


def recv(tensor: Any, src: Any, group: Any, tag: Any) -> Tensor:
    """What a process of a group sends, in the shape and dtype of a tensor."""
    made, handle = irecv("recv", tensor, src, group, tag)
    handle.wait()
    return made


def irecv(owner: str, tensor: Any, src: Any, group: Any, tag: Any) -> tuple[Tensor, CommHandle]:
    """`recv`, and a handle."""
    x = tensor_of(owner, "tensor", tensor)
    made = _copy(x)
    return made, peers.irecv(made, src, group, tag)


def all_to_all(
    owner: str, outputs: Any, given: Any, group: Any, async_op: Any
) -> tuple[tuple[Tensor, ...], CommHandle | None]:
    """What comes from the processes of a group, to each of which a tensor of a list is sent. outputs: shapes, or tensors."""
    if not isinstance(given, (list, tuple)) or not isinstance(outputs, (list, tuple)):
        raise ArgumentTypeError(f"{owner}: both must be lists, got {outputs!r} and {given!r}", loc=user_loc())
    dtype = tensor_of(owner, "input_tensor_list[0]", given[0]).tensor_type.dtype if given else "float32"
    made = [empty(TensorType(dtype, _shape(owner, each))) for each in outputs]
    return tuple(made), lists.all_to_all(made, list(given), group, async_op)


def all_to_all_single(
    owner: str,
    output: Any,
    tensor: Any,
    output_split_sizes: Sequence[int] | None,
    input_split_sizes: Sequence[int] | None,
    group: Any,
    async_op: Any,
) -> Returned:
    """What comes from the processes of a group, in one tensor. output: its shape, or a tensor of that."""
    x = tensor_of(owner, "tensor", tensor)
    shape, found = _shape(owner, output), member(owner, group)
    if is_traced() and not output_split_sizes and not input_split_sizes and shape == x.shape:
        return nodes.all_to_all(x, found.name), _done(owner, async_op)
    made = empty(TensorType(x.tensor_type.dtype, shape))
    return made, tensors.all_to_all_single(made, x, output_split_sizes, input_split_sizes, group, async_op)


def empty(type: TensorType) -> Tensor:
    """A tensor of zeros."""
    return Tensor.wrap(np.zeros(type.shape, type.numpy))


def _copy(x: Tensor) -> Tensor:
    return empty(x.tensor_type) if is_traced() else Tensor.wrap(require_array(x).copy())


def _done(owner: str, async_op: Any) -> CommHandle | None:
    return CommHandle() if boolean(owner, "async_op", async_op) else None


def _shape(owner: str, given: Any) -> tuple[int, ...]:
    """A shape, or that of a tensor. ArgumentTypeError."""
    if isinstance(given, Tensor):
        return given.shape
    if not isinstance(given, (list, tuple)) or not all(type(n) is int and n >= 0 for n in given):
        raise ArgumentTypeError(f"{owner}: expected a shape or a Tensor, got {given!r}", loc=user_loc())
    return tuple(given)
