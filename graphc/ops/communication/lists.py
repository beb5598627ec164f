"""Communication of lists with a tensor for each process of a group, see `graphc.ops.communication.tensors`."""

from __future__ import annotations

from graphc.ir import TensorType
from graphc.ops.communication.checks import (
    CommHandle,
    Room,
    eager,
    flat,
    member,
    of_type,
    place,
    reduction,
    tensor_of,
    tensors_of,
)
from graphc.ops.communication.tensors import exchanged, reduced
from graphc.ops.functional.collective import ReduceOp
from graphc.ops.tensor.tensor import Array, Tensor
from graphc.validation.checks import boolean


def all_gather(
    tensor_list: list[Tensor], tensor: Tensor, group: str | None = None, async_op: bool = False
) -> CommHandle | None:
    """Write the tensors of a group's processes into those of a list, which may have other shapes each, as those have."""
    owner = "all_gather"
    eager(owner, "use ops.AllGather")
    x = tensor_of(owner, "tensor", tensor)
    found = member(owner, group)
    outs = tensors_of(owner, "tensor_list", tensor_list, found.size)
    boolean(owner, "async_op", async_op)
    of_type(owner, "tensor", x, outs[found.rank].tensor_type)
    alike = all(out.tensor_type == x.tensor_type for out in outs)
    rooms = [Room(out) for out in outs]
    said = f"{owner} of {x.tensor_type if alike else x.tensor_type.dtype}"
    return exchanged(found, said, [flat(x)] * found.size, [r.array for r in rooms], rooms, async_op)


def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int = 0,
    group: str | None = None,
    async_op: bool = False,
) -> CommHandle | None:
    """Write the tensors of a group's processes into those of a list of the process `dst`; the lists of others are not used."""
    owner = "gather"
    eager(owner, "use ops.AllGather")
    x = tensor_of(owner, "tensor", tensor)
    found = member(owner, group)
    root = place(owner, "dst", found, dst)
    boolean(owner, "async_op", async_op)
    rooms = []
    received: list[Array | None] = [None] * found.size
    if found.rank == root:
        rooms = [Room(out) for out in tensors_of(owner, "gather_list", gather_list, found.size, x.tensor_type)]
        received = [room.array for room in rooms]
    sent: list[Array | None] = [None] * found.size
    sent[root] = flat(x)
    return exchanged(found, f"{owner} of {x.tensor_type} to rank {dst}", sent, received, rooms, async_op)


def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int = 0,
    group: str | None = None,
    async_op: bool = False,
) -> CommHandle | None:
    """Write this process's tensor of a list of the process `src` into another; the lists of others are not used."""
    owner = "scatter"
    eager(owner, "use ops.Broadcast, and take the part")
    out = tensor_of(owner, "tensor", tensor)
    found = member(owner, group)
    root = place(owner, "src", found, src)
    boolean(owner, "async_op", async_op)
    sent: list[Array | None] = [None] * found.size
    if found.rank == root:
        given = tensors_of(owner, "scatter_list", scatter_list, found.size, out.tensor_type)
        sent = [flat(x) for x in given]
    room = Room(out)
    received: list[Array | None] = [None] * found.size
    received[root] = room.array
    return exchanged(found, f"{owner} of {out.tensor_type} from rank {src}", sent, received, [room], async_op)


def reduce_scatter(
    output: Tensor,
    input_list: list[Tensor],
    op: str = ReduceOp.SUM,
    group: str | None = None,
    async_op: bool = False,
) -> CommHandle | None:
    """Write this process's tensor of the lists of a group, reduced over it, into an output. They may have other shapes each."""
    owner = "reduce_scatter"
    eager(owner, "use ops.ReduceScatter")
    out = tensor_of(owner, "output", output)
    found = member(owner, group)
    given = tensors_of(owner, "input_list", input_list, found.size)
    reduction(owner, op, out)
    boolean(owner, "async_op", async_op)
    of_type(owner, "output", out, given[found.rank].tensor_type)
    said = f"{owner} of {', '.join(str(x.tensor_type) for x in given)}, op={op!r}"
    return reduced(found, said, [flat(x) for x in given], out, op, async_op)


def all_to_all(
    output_tensor_list: list[Tensor], input_tensor_list: list[Tensor], group: str | None = None, async_op: bool = False
) -> CommHandle | None:
    """Send a tensor of a list to each process of a group, and write what comes from them into those of another list; as many
    elements as are sent, in whatever shape.
    """
    owner = "all_to_all"
    eager(owner, "use ops.AlltoAll")
    found = member(owner, group)
    given = tensors_of(owner, "input_tensor_list", input_tensor_list, found.size)
    outs = tensors_of(owner, "output_tensor_list", output_tensor_list, found.size)
    boolean(owner, "async_op", async_op)
    dtype = given[0].tensor_type.dtype
    of_type(owner, "output_tensor_list[0]", outs[0], TensorType(dtype, outs[0].shape))
    rooms = [Room(out) for out in outs]
    return exchanged(found, f"{owner} of {dtype}", [flat(x) for x in given], [r.array for r in rooms], rooms, async_op)
