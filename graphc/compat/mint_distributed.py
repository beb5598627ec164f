"""`mindspore.mint.distributed`: communication that writes into the tensors it is given, as torch's does."""

from __future__ import annotations

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
from graphc.ops.communication.lists import all_gather, all_to_all, gather, reduce_scatter, scatter
from graphc.ops.communication.objects import (
    all_gather_object,
    broadcast_object_list,
    gather_object,
    recv_object_list,
    scatter_object_list,
    send_object_list,
)
from graphc.ops.communication.peers import P2POp, batch_isend_irecv, irecv, isend, recv, send
from graphc.ops.communication.tensors import (
    all_gather_into_tensor,
    all_gather_into_tensor_uneven,
    all_reduce,
    all_to_all_single,
    barrier,
    broadcast,
    gather_into_tensor,
    reduce,
    reduce_scatter_tensor,
    reduce_scatter_tensor_uneven,
    scatter_tensor,
)
from graphc.validation.signatures import accept

__all__ = [
    "P2POp", "all_gather", "all_gather_into_tensor", "all_gather_into_tensor_uneven", "all_gather_object", "all_reduce",
    "all_to_all", "all_to_all_single", "barrier", "batch_isend_irecv", "broadcast", "broadcast_object_list",
    "destroy_process_group", "gather", "gather_into_tensor", "gather_object", "get_backend", "get_global_rank",
    "get_group_rank", "get_process_group_ranks", "get_rank", "get_world_size", "init_process_group", "irecv", "is_available",
    "is_initialized", "isend", "new_group", "recv", "recv_object_list", "reduce", "reduce_scatter", "reduce_scatter_tensor",
    "reduce_scatter_tensor_uneven", "scatter", "scatter_object_list", "scatter_tensor", "send", "send_object_list",
]  # fmt: skip

accept(globals(), __all__, __name__)
