"""`mindspore.ops.communication`: eager communication between processes that mpiexec has started, of tensors and of objects.

Functions write into the tensors that they are given, unless `set_comm_ops_inplace` says otherwise; `mint.distributed` has them
in place always. In a step that is compiled those that are one node of a graph are that node (`graphc.ops.communication.nodes`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.ops.communication import lists, objects, peers, returned, tensors
from graphc.ops.communication.checks import CommHandle as CommHandle
from graphc.ops.communication.groups import (
    destroy_process_group,
    get_backend,
    get_global_rank,
    get_group_rank,
    get_process_group_ranks,
    get_rank,
    get_world_size,
    init_process_group,
    is_available,
    is_initialized,
    new_group,
)
from graphc.ops.communication.peers import P2POp, isend, send
from graphc.ops.communication.tensors import barrier
from graphc.ops.functional.collective import ReduceOp
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.checks import boolean
from graphc.validation.signatures import accept

#: What `graphc.ops` has of it, too: `gather` and `scatter` are others there.
__all__ = [
    "P2POp", "all_gather", "all_gather_into_tensor", "all_gather_into_tensor_uneven", "all_gather_object",
    "all_reduce", "all_to_all", "all_to_all_single", "all_to_all_v_c", "barrier", "batch_isend_irecv", "broadcast",
    "broadcast_object_list", "destroy_process_group", "gather_into_tensor", "gather_object", "get_backend",
    "get_global_rank", "get_group_rank", "get_process_group_ranks", "get_rank", "get_world_size",
    "init_process_group", "irecv", "is_available", "is_initialized", "isend", "new_group", "recv", "recv_object_list",
    "reduce", "reduce_scatter", "reduce_scatter_tensor", "reduce_scatter_tensor_uneven", "scatter_object_list",
    "scatter_tensor", "send", "send_object_list", "set_comm_ops_inplace",
]  # fmt: skip

#: Whether a function writes in place: those that write nothing, those with two forms, and `_in_place_only`.
_in_place = dict.fromkeys(
    (
        *("barrier", "isend", "send"),
        *(
            "all_reduce",
            "all_gather_into_tensor",
            "reduce_scatter_tensor",
            "all_to_all",
            "all_to_all_single",
            "recv",
            "irecv",
        ),
    ),
    True,
)


def set_comm_ops_inplace(is_enable: bool, func_list: Sequence[str] | None = None) -> None:
    """Whether functions of these names, or all, write in place. Where they do not, they return what they make.

    Those that have one form alone are refused then. Raises ArgumentTypeError, and ArgumentValueError for an unknown name.
    """
    boolean("set_comm_ops_inplace", "is_enable", is_enable)
    names = list(_in_place) if func_list is None else func_list
    if not isinstance(names, (list, tuple)):
        raise ArgumentTypeError(
            f"set_comm_ops_inplace: func_list must be a list of names, got {func_list!r}", loc=user_loc()
        )
    for name in names:
        if name not in _in_place:
            raise ArgumentValueError(
                f"set_comm_ops_inplace: {name!r} is none of {', '.join(sorted(_in_place))}", loc=user_loc()
            )
    _in_place.update(dict.fromkeys(names, is_enable))


def _in_place_only(function: Callable[..., Any]) -> Any:
    """A function that has no other form."""
    name = function.__name__

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Any:
        if not _in_place[name]:
            raise ArgumentValueError(
                f"{name} writes in place, it has no other form",
                code="GC112",
                loc=user_loc(),
                help=f"set_comm_ops_inplace(True, [{name!r}])",
            )
        return function(*args, **kwargs)

    _in_place[name] = True
    return checked


all_gather_into_tensor_uneven = _in_place_only(tensors.all_gather_into_tensor_uneven)
reduce_scatter_tensor_uneven = _in_place_only(tensors.reduce_scatter_tensor_uneven)
gather_into_tensor, scatter_tensor = _in_place_only(tensors.gather_into_tensor), _in_place_only(tensors.scatter_tensor)
broadcast, reduce = _in_place_only(tensors.broadcast), _in_place_only(tensors.reduce)
all_to_all_v_c = _in_place_only(tensors.all_to_all_v_c)
gather, scatter = _in_place_only(lists.gather), _in_place_only(lists.scatter)
all_gather, reduce_scatter = _in_place_only(lists.all_gather), _in_place_only(lists.reduce_scatter)
batch_isend_irecv = _in_place_only(peers.batch_isend_irecv)
all_gather_object, gather_object = _in_place_only(objects.all_gather_object), _in_place_only(objects.gather_object)
scatter_object_list = _in_place_only(objects.scatter_object_list)
broadcast_object_list = _in_place_only(objects.broadcast_object_list)
send_object_list, recv_object_list = _in_place_only(objects.send_object_list), _in_place_only(objects.recv_object_list)


def all_reduce(tensor: Tensor, op: str = ReduceOp.SUM, group: str | None = None, async_op: bool = False) -> Any:
    """Reduce a tensor over the processes of a group: the handle, see `tensors.all_reduce`. Not in place: (tensor, handle)."""
    if _in_place["all_reduce"]:
        return tensors.all_reduce(tensor, op, group, async_op)
    return returned.all_reduce("all_reduce", tensor, op, group, async_op)


def all_gather_into_tensor(
    output_tensor: Tensor | None, input_tensor: Tensor, group: str | None = None, async_op: bool = False
) -> Any:
    """Write the inputs of a group's processes, joined along their first axis, into an output: the handle. Not in place the
    output is not looked at: (tensor, handle).
    """
    if _in_place["all_gather_into_tensor"]:
        return tensors.all_gather_into_tensor(output_tensor, input_tensor, group, async_op)  # type: ignore[arg-type]
    return returned.all_gather("all_gather_into_tensor", input_tensor, group, async_op)


def reduce_scatter_tensor(
    output: Tensor | None, input: Tensor, op: str = ReduceOp.SUM, group: str | None = None, async_op: bool = False
) -> Any:
    """Write this process's part of the inputs, reduced over a group, into an output: the handle. Not in place the output is
    not looked at: (tensor, handle).
    """
    if _in_place["reduce_scatter_tensor"]:
        return tensors.reduce_scatter_tensor(output, input, op, group, async_op)  # type: ignore[arg-type]
    return returned.reduce_scatter("reduce_scatter_tensor", input, op, group, async_op)


def all_to_all(
    output_tensor_list: list[Any], input_tensor_list: list[Tensor], group: str | None = None, async_op: bool = False
) -> Any:
    """Send a tensor of a list to each process of a group, and write what comes into those of another list: the handle. Not in
    place outputs may be shapes: (tuple of tensors, handle).
    """
    if _in_place["all_to_all"]:
        return lists.all_to_all(output_tensor_list, input_tensor_list, group, async_op)
    return returned.all_to_all("all_to_all", output_tensor_list, input_tensor_list, group, async_op)


def all_to_all_single(
    output: Any,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: str | None = None,
    async_op: bool = False,
) -> Any:
    """Send rows of an input to the processes of a group, and write what comes into an output: the handle. Not in place the
    output may be a shape: (tensor, handle).
    """
    sizes = (output_split_sizes, input_split_sizes)
    if _in_place["all_to_all_single"]:
        return tensors.all_to_all_single(output, input, *sizes, group, async_op)
    return returned.all_to_all_single("all_to_all_single", output, input, *sizes, group, async_op)


def recv(tensor: Tensor, src: int = 0, group: str | None = None, tag: int = 0) -> Any:
    """Write what a process of a group sends into a tensor of that shape and dtype: 0. Not in place: the tensor."""
    if _in_place["recv"]:
        return peers.recv(tensor, src, group, tag)
    return returned.recv(tensor, src, group, tag)


def irecv(tensor: Tensor, src: int = 0, group: str | None = None, tag: int = 0) -> Any:
    """`recv` that returns at once: the handle. Not in place: (tensor, handle)."""
    if _in_place["irecv"]:
        return peers.irecv(tensor, src, group, tag)
    return returned.irecv("irecv", tensor, src, group, tag)


accept(globals(), (*__all__, "gather", "scatter"), __name__)
