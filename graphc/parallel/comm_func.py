"""`mindspore.communication.comm_func`: functions that return what has been received. Ranks are those among all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.ir import TensorType
from graphc.ops.communication import peers, returned, tensors
from graphc.ops.communication.checks import CommHandle, reduction, tensor_of
from graphc.ops.communication.peers import isend, send
from graphc.ops.communication.tensors import all_to_all_v_c
from graphc.ops.functional.collective import ReduceOp
from graphc.ops.tensor.dtype import to_name
from graphc.ops.tensor.tensor import Tensor
from graphc.processes import WORLD
from graphc.validation.signatures import accept

__all__ = [
    "CommHandle", "P2POp", "all_gather_into_tensor", "all_reduce", "all_to_all_single_with_output_shape", "all_to_all_v_c",
    "all_to_all_with_output_shape", "barrier", "batch_isend_irecv", "broadcast", "gather_into_tensor", "irecv", "isend", "recv",
    "reduce", "reduce_scatter_tensor", "scatter_tensor", "send",
]  # fmt: skip

_REDUCTIONS = ("sum", "prod", "min", "max")


def barrier(group: str = WORLD) -> None:
    """Wait until every process of a group has come here."""
    tensors.barrier(group)


def all_reduce(
    tensor: Tensor, op: str = ReduceOp.SUM, group: str = WORLD, async_op: bool = False
) -> tuple[Tensor, CommHandle | None]:
    """(tensor reduced over the processes of a group, the handle of `async_op`)."""
    reduction("all_reduce", op, tensor_of("all_reduce", "tensor", tensor), _REDUCTIONS)
    return returned.all_reduce("all_reduce", tensor, op, group, async_op)


def all_gather_into_tensor(
    tensor: Tensor, group: str = WORLD, async_op: bool = False
) -> tuple[Tensor, CommHandle | None]:
    """(the tensors of a group's processes joined along their first axis, the handle of `async_op`)."""
    return returned.all_gather("all_gather_into_tensor", tensor, group, async_op)


def reduce_scatter_tensor(
    tensor: Tensor, op: str = ReduceOp.SUM, group: str = WORLD, async_op: bool = False
) -> tuple[Tensor, CommHandle | None]:
    """(this process's part of a tensor reduced over a group, the handle of `async_op`)."""
    reduction("reduce_scatter_tensor", op, tensor_of("reduce_scatter_tensor", "tensor", tensor), _REDUCTIONS)
    return returned.reduce_scatter("reduce_scatter_tensor", tensor, op, group, async_op)


def broadcast(tensor: Tensor, src: int = 0, group: str = WORLD) -> Tensor:
    """The tensor of the process `src` of a group."""
    return returned.broadcast("broadcast", tensor, src, group)


def reduce(tensor: Tensor, dst: int, op: str = ReduceOp.SUM, group: str = WORLD) -> Tensor:
    """A tensor reduced over a group, in its process `dst`; zeros in the others."""
    reduction("reduce", op, tensor_of("reduce", "tensor", tensor), _REDUCTIONS)
    return returned.reduce("reduce", tensor, dst, op, group)


def gather_into_tensor(tensor: Tensor, dst: int = 0, group: str = WORLD) -> Tensor:
    """The tensors of a group's processes joined along their first axis, in its process `dst`; one zero in the others."""
    return returned.gather("gather_into_tensor", tensor, dst, group)


def scatter_tensor(tensor: Tensor, src: int = 0, group: str = WORLD) -> Tensor:
    """This process's part, along the first axis, of the tensor of the process `src` of a group."""
    return returned.scatter("scatter_tensor", tensor, src, group)


def all_to_all_with_output_shape(
    output_shape_list: Sequence[Any],
    input_tensor_list: Sequence[Tensor],
    group: str | None = None,
    async_op: bool = False,
) -> tuple[tuple[Tensor, ...], CommHandle | None]:
    """(tensors of these shapes, which come from the processes of a group, to each of which one of a list is sent; the handle)."""
    return returned.all_to_all("all_to_all_with_output_shape", output_shape_list, input_tensor_list, group, async_op)


def all_to_all_single_with_output_shape(
    output_shape: Any,
    tensor: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: str | None = None,
    async_op: bool = False,
) -> tuple[Tensor, CommHandle | None]:
    """(a tensor of this shape: rows that come from the processes of a group, to each of which rows are sent; the handle)."""
    sizes = (output_split_sizes, input_split_sizes)
    return returned.all_to_all_single(
        "all_to_all_single_with_output_shape", output_shape, tensor, *sizes, group, async_op
    )


def recv(tensor: Tensor, src: int = 0, group: str = WORLD, tag: int = 0) -> Tensor:
    """What a process of a group sends, in the shape and dtype of a tensor."""
    return returned.recv(tensor, src, group, tag)


def irecv(tensor: Tensor, src: int = 0, group: str = WORLD, tag: int = 0) -> tuple[Tensor, CommHandle]:
    """(what `recv` gives, which may be used when the handle's `wait()` has returned; the handle)."""
    return returned.irecv("irecv", tensor, src, group, tag)


class P2POp(peers.P2POp):
    """A part of `batch_isend_irecv` (MindSpore: comm_func.P2POp). tensor: of "irecv" also a shape, with `recv_dtype`."""

    def __init__(
        self, op: Any, tensor: Any, peer: int, group: str | None = None, tag: int = 0, *, recv_dtype: Any = None
    ) -> None:
        if isinstance(tensor, tuple):
            if recv_dtype is None:
                raise ArgumentValueError("P2POp: a shape needs recv_dtype", loc=user_loc())
            tensor = returned.empty(TensorType(to_name(recv_dtype), tensor))
        super().__init__(op, tensor, peer, group, tag)
        self.recv_dtype = recv_dtype


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> tuple[Tensor, ...]:
    """Send and receive what a list of P2POp says: what each receives, and a zero for those that send."""
    if not isinstance(p2p_op_list, list) or not p2p_op_list:
        raise ArgumentTypeError(
            f"batch_isend_irecv: p2p_op_list must be a list of P2POp, got {p2p_op_list!r}", loc=user_loc()
        )
    made = [_apart(each) for each in p2p_op_list]
    for handle in peers.batch_isend_irecv(made):
        handle.wait()
    return tuple(
        returned.empty(TensorType(each.tensor.tensor_type.dtype, ())) if each.is_sent else each.tensor for each in made
    )


def _apart(each: Any) -> peers.P2POp:
    """The same, of a tensor of its own where something is received. ArgumentTypeError."""
    if not isinstance(each, peers.P2POp):
        raise ArgumentTypeError(
            f"batch_isend_irecv: p2p_op_list must be a list of P2POp, it has a {type(each).__name__}", loc=user_loc()
        )
    if each.is_sent:
        return each
    return peers.P2POp("irecv", returned.empty(each.tensor.tensor_type), each.peer, each.group)


accept(globals(), __all__, __name__)
