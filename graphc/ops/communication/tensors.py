"""Communication of one tensor of each process, written into tensors that are given. Ranks are those among all processes.

Each returns None, or with `async_op` a handle whose `wait()` returns when it is done; until then neither what is sent nor what is
written may be used. Errors of all: ArgumentTypeError and ArgumentValueError for arguments, ShapeError and DTypeError for tensors
that do not go together, DisagreementError GC191 where the processes of the group do not make the same call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, ShapeError, user_loc
from graphc.ir import TensorType
from graphc.ops.communication import nodes
from graphc.ops.communication.checks import (
    CommHandle,
    Room,
    cut,
    eager,
    flat,
    is_traced,
    member,
    of_type,
    place,
    reduction,
    run,
    splits,
    tensor_of,
)
from graphc.ops.functional.collective import ReduceOp
from graphc.ops.tensor.tensor import Array, Tensor
from graphc.processes import transfers
from graphc.validation.checks import boolean

_USE = "use ops.AllGather, ops.ReduceScatter and the like, which have parts of one size"


def barrier(group: str | None = None, async_op: bool = False, device_ids: Any = None) -> CommHandle | None:
    """Wait until every process of a group has come here. device_ids has no meaning here."""
    eager("barrier", "collectives of a step wait for each other")
    found = member("barrier", group)
    return run(found, "barrier", transfers.barrier, boolean("barrier", "async_op", async_op))


def all_reduce(
    tensor: Tensor, op: str = ReduceOp.SUM, group: str | None = None, async_op: bool = False
) -> CommHandle | None:
    """Reduce a tensor over the processes of a group, in place: "sum", "prod", "max", "min", or "avg", the sum divided by their
    number (of integers without its fraction).
    """
    x = tensor_of("all_reduce", "tensor", tensor)
    found = member("all_reduce", group)
    reduction("all_reduce", op, x)
    boolean("all_reduce", "async_op", async_op)
    if is_traced():
        return nodes.into(x, nodes.all_reduce(x, op, found.name), async_op)
    said = f"all_reduce of {x.tensor_type}, op={op!r}"
    return _in_place(found, said, x, lambda c, array: transfers.reduce(c, array, op), async_op)


def reduce(
    tensor: Tensor, dst: int, op: str = ReduceOp.SUM, group: str | None = None, async_op: bool = False
) -> CommHandle | None:
    """Reduce a tensor over the processes of a group into that of the process `dst`; the others keep theirs."""
    x = tensor_of("reduce", "tensor", tensor)
    found = member("reduce", group)
    root = place("reduce", "dst", found, dst)
    reduction("reduce", op, x)
    boolean("reduce", "async_op", async_op)
    if is_traced():
        made = nodes.reduce(x, root, op, found.name)
        return nodes.into(x, made if found.rank == root else x, async_op)
    said = f"reduce of {x.tensor_type} to rank {dst}, op={op!r}"
    return _in_place(found, said, x, lambda c, array: transfers.reduce(c, array, op, root), async_op)


def broadcast(tensor: Tensor, src: int, group: str | None = None, async_op: bool = False) -> CommHandle | None:
    """Write the tensor of the process `src` into those of all processes of a group."""
    x = tensor_of("broadcast", "tensor", tensor)
    found = member("broadcast", group)
    root = place("broadcast", "src", found, src)
    boolean("broadcast", "async_op", async_op)
    if is_traced():
        return nodes.into(x, nodes.broadcast(x, root, found.name), async_op)
    said = f"broadcast of {x.tensor_type} from rank {src}"
    return _in_place(found, said, x, lambda c, array: transfers.broadcast(c, array, root), async_op)


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: str | None = None, async_op: bool = False
) -> CommHandle | None:
    """Write the inputs of a group's processes, joined along their first axis in the order of ranks, into an output."""
    owner = "all_gather_into_tensor"
    x, out = tensor_of(owner, "input_tensor", input_tensor), tensor_of(owner, "output_tensor", output_tensor)
    found = member(owner, group)
    boolean(owner, "async_op", async_op)
    of_type(owner, "output_tensor", out, joined(x, found.size))
    if is_traced():
        return nodes.into(out, nodes.all_gather(x, found.name), async_op)
    return _gather(owner, out, x, [flat(x).size] * found.size, found, async_op, alike=True)


def all_gather_into_tensor_uneven(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    group: str | None = None,
    async_op: bool = False,
) -> CommHandle | None:
    """`all_gather_into_tensor` of inputs with `output_split_sizes` rows each; by default all have the same number."""
    owner = "all_gather_into_tensor_uneven"
    eager(owner, _USE)
    x, out = tensor_of(owner, "input", input), tensor_of(owner, "output", output)
    found = member(owner, group)
    boolean(owner, "async_op", async_op)
    row = _rows(owner, "output", out)
    sizes = splits(owner, "output_split_sizes", output_split_sizes, out.shape[0], found.size)
    of_type(owner, "input", x, TensorType(out.tensor_type.dtype, (sizes[found.rank], *out.shape[1:])))
    return _gather(owner, out, x, [n * row for n in sizes], found, async_op)


def _gather(
    owner: str, out: Tensor, x: Tensor, sizes: Sequence[int], found: Any, async_op: bool, alike: bool = False
) -> CommHandle | None:
    given, room = flat(x), Room(out)
    said = f"{owner} of {x.tensor_type if alike else x.tensor_type.dtype}"
    return exchanged(found, said, [given] * found.size, cut(room.array, sizes), [room], async_op)


def gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, dst: int = 0, group: str | None = None, async_op: bool = False
) -> CommHandle | None:
    """Write the inputs of a group's processes, joined along their first axis, into the output of the process `dst`."""
    owner = "gather_into_tensor"
    eager(owner, "use ops.AllGather")
    x, out = tensor_of(owner, "input_tensor", input_tensor), tensor_of(owner, "output_tensor", output_tensor)
    found = member(owner, group)
    root = place(owner, "dst", found, dst)
    boolean(owner, "async_op", async_op)
    sent: list[Array | None] = [None] * found.size
    sent[root] = flat(x)
    received: list[Array | None] = [None] * found.size
    rooms = []
    if found.rank == root:
        of_type(owner, "output_tensor", out, joined(x, found.size))
        rooms = [Room(out)]
        received = [*cut(rooms[0].array, [flat(x).size] * found.size)]
    return exchanged(found, f"{owner} of {x.tensor_type} to rank {dst}", sent, received, rooms, async_op)


def scatter_tensor(
    output_tensor: Tensor, input_tensor: Tensor, src: int = 0, group: str | None = None, async_op: bool = False
) -> CommHandle | None:
    """Write this process's part, along the first axis, of the input of the process `src` into an output."""
    owner = "scatter_tensor"
    eager(owner, "use ops.Broadcast, and take the part")
    x, out = tensor_of(owner, "input_tensor", input_tensor), tensor_of(owner, "output_tensor", output_tensor)
    found = member(owner, group)
    root = place(owner, "src", found, src)
    boolean(owner, "async_op", async_op)
    sent: list[Array | None] = [None] * found.size
    if found.rank == root:
        of_type(owner, "output_tensor", out, part_of(owner, x, found.size))
        sent = [*cut(flat(x), [out.size] * found.size)]
    room = Room(out)
    received: list[Array | None] = [None] * found.size
    received[root] = room.array
    return exchanged(found, f"{owner} into {out.tensor_type} from rank {src}", sent, received, [room], async_op)


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: str = ReduceOp.SUM, group: str | None = None, async_op: bool = False
) -> CommHandle | None:
    """Write this process's part, along the first axis, of the inputs, reduced over a group, into an output."""
    owner = "reduce_scatter_tensor"
    x, out = tensor_of(owner, "input", input), tensor_of(owner, "output", output)
    found = member(owner, group)
    reduction(owner, op, x)
    boolean(owner, "async_op", async_op)
    of_type(owner, "output", out, part_of(owner, x, found.size))
    if is_traced():
        return nodes.into(out, nodes.reduce_scatter(x, op, found.name), async_op)
    parts = cut(flat(x), [out.size] * found.size)
    return reduced(found, f"{owner} of {x.tensor_type}, op={op!r}", parts, out, op, async_op)


def reduce_scatter_tensor_uneven(
    output: Tensor,
    input: Tensor,
    input_split_sizes: Sequence[int] | None = None,
    op: str = ReduceOp.SUM,
    group: str | None = None,
    async_op: bool = False,
) -> CommHandle | None:
    """`reduce_scatter_tensor` with `input_split_sizes` rows for each process; by default all get the same number. No "prod"."""
    owner = "reduce_scatter_tensor_uneven"
    eager(owner, _USE)
    x, out = tensor_of(owner, "input", input), tensor_of(owner, "output", output)
    found = member(owner, group)
    reduction(owner, op, x, ("sum", "min", "max", "avg"))
    boolean(owner, "async_op", async_op)
    row = _rows(owner, "input", x)
    sizes = splits(owner, "input_split_sizes", input_split_sizes, x.shape[0], found.size)
    of_type(owner, "output", out, TensorType(x.tensor_type.dtype, (sizes[found.rank], *x.shape[1:])))
    parts = cut(flat(x), [n * row for n in sizes])
    return reduced(found, f"{owner} of {x.tensor_type} by {sizes}, op={op!r}", parts, out, op, async_op)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: str | None = None,
    async_op: bool = False,
) -> CommHandle | None:
    """Send `input_split_sizes` rows of an input to the processes of a group, and write the `output_split_sizes` that come from
    them into an output; by default the same number to and from each.
    """
    owner = "all_to_all_single"
    x, out = tensor_of(owner, "input", input), tensor_of(owner, "output", output)
    found = member(owner, group)
    boolean(owner, "async_op", async_op)
    sent, received = _rows(owner, "input", x), _rows(owner, "output", out)
    to = splits(owner, "input_split_sizes", input_split_sizes, x.shape[0], found.size)
    back = splits(owner, "output_split_sizes", output_split_sizes, out.shape[0], found.size)
    of_type(owner, "output", out, TensorType(x.tensor_type.dtype, out.shape))
    if is_traced() and len({*to, *back}) == 1 and x.shape == out.shape:
        return nodes.into(out, nodes.all_to_all(x, found.name), async_op)
    eager(f"{owner} of parts that differ", "use ops.AlltoAll, which has parts of one size")
    room = Room(out)
    parts, places = cut(flat(x), [n * sent for n in to]), cut(room.array, [n * received for n in back])
    return exchanged(found, f"{owner} of {x.tensor_type.dtype}", parts, places, [room], async_op)


def all_to_all_v_c(
    output: Tensor, input: Tensor, send_count_matrix: list[int], group: str | None = None, async_op: bool = False
) -> CommHandle | None:
    """`all_to_all_single` where all processes know what each sends to each: element `i * n + j` of the list is how many rows the
    process i of the group's n sends to j.
    """
    owner = "all_to_all_v_c"
    found = member(owner, group)
    count = found.size
    if not isinstance(send_count_matrix, list) or not all(type(n) is int and n >= 0 for n in send_count_matrix):
        raise ArgumentTypeError(f"{owner}: send_count_matrix must be a list of ints from 0 on", loc=user_loc())
    if len(send_count_matrix) != count * count:
        raise ArgumentValueError(
            f"{owner}: send_count_matrix must have {count} x {count} numbers, got {len(send_count_matrix)}",
            loc=user_loc(),
        )
    to = send_count_matrix[found.rank * count : (found.rank + 1) * count]
    return all_to_all_single(output, input, send_count_matrix[found.rank :: count], to, found.name, async_op)


# ---- what they have in common


def joined(x: Tensor, count: int) -> TensorType:
    """The type of `count` tensors like x, joined along the first axis; of single elements a vector."""
    first, *rest = x.shape or (1,)
    return TensorType(x.tensor_type.dtype, (first * count, *rest))


def part_of(owner: str, x: Tensor, count: int) -> TensorType:
    """The type of one of `count` parts of x along its first axis. ShapeError."""
    if not x.ndim or x.shape[0] % count:
        raise ShapeError(
            f"{owner}: the first axis of {x.tensor_type} cannot be cut into {count} equal parts", loc=user_loc()
        )
    return TensorType(x.tensor_type.dtype, (x.shape[0] // count, *x.shape[1:]))


def _rows(owner: str, name: str, x: Tensor) -> int:
    """How many elements a row has. ShapeError for a tensor without axes."""
    if not x.ndim:
        raise ShapeError(f"{owner}: {name} is {x.tensor_type}, expected at least one axis", loc=user_loc())
    return TensorType(x.tensor_type.dtype, x.shape[1:]).size


def _in_place(
    found: Any, said: str, x: Tensor, move: Callable[[Any, Array], None], async_op: bool
) -> CommHandle | None:
    """Let `move(communicator, array)` change the elements of a tensor."""
    room = Room(x)

    def act(communicator: Any) -> None:
        move(communicator, room.array)
        room.settle()

    return run(found, said, act, async_op)


def exchanged(
    found: Any,
    said: str,
    sent: Sequence[Array | None],
    received: Sequence[Array | None],
    rooms: Sequence[Room],
    async_op: bool,
) -> CommHandle | None:
    """Let each process of a group send arrays to the others, into rooms of theirs."""
    given = _apart(sent, received, found.rank)

    def act(communicator: Any) -> None:
        transfers.exchange(communicator, given, received)
        for room in rooms:
            room.settle()

    return run(found, said, act, async_op, _nbytes(sent), _nbytes(received))


def _apart(sent: Sequence[Array | None], received: Sequence[Array | None], here: int) -> list[Array | None]:
    """What is sent, apart from memory that is written meanwhile. What this process sends to itself may stay where it lies."""
    own, out = sent[here], received[here]
    stays = own is not None and out is not None and own.ctypes.data == out.ctypes.data
    written = [x for k, x in enumerate(received) if x is not None and not (stays and k == here)]
    return [x.copy() if x is not None and any(np.may_share_memory(x, w) for w in written) else x for x in sent]


def _nbytes(arrays: Sequence[Array | None]) -> list[int]:
    return [0 if x is None else x.nbytes for x in arrays]


def reduced(found: Any, said: str, parts: Sequence[Array], out: Tensor, op: str, async_op: bool) -> CommHandle | None:
    """Let each process of a group get its part, reduced over them."""
    room = Room(out)
    written: list[Array | None] = [None] * found.size
    written[found.rank] = room.array
    given = _apart(parts, written, found.rank)

    def act(communicator: Any) -> None:
        for k, part in enumerate(given):
            assert part is not None
            if k == found.rank:
                room.array[...] = part
            transfers.reduce(communicator, room.array if k == found.rank else part, op, k)
        room.settle()

    return run(found, said, act, async_op)
