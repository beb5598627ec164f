"""Collectives of eager calls and of the checked mode, by mpi4py. Compiled steps call MPI themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from graphc.errors import DisagreementError, Loc, user_loc
from graphc.processes.extrema import are_ordered, keys_of, of_keys
from graphc.processes.groups import by_number
from graphc.processes.world import World, started, waiting
from graphc_codegen.links import REDUCTIONS

__all__ = ["REDUCTIONS", "exchange", "other_message"]

Array = np.ndarray[Any, np.dtype[Any]]

#: The collectives that reduce.
REDUCED = ("all_reduce", "reduce", "reduce_scatter")
#: What has been sent and may not have come yet, with MPI's requests.
_going: list[tuple[Any, Array]] = []


def exchange(call: Mapping[str, Any], x: Array | None, out: Array) -> None:
    """Do the collective `call`["call"] in the group number `call`["group"], on flat contiguous arrays of one dtype; in a process
    alone as if all processes had the same.

    Without x, what is sent lies where the result goes, as with MPI_IN_PLACE. What is added up has a dtype that MPI knows: no
    float16, bfloat16 or bool. Everything else travels as bytes. `call`["type"] is what the processes must agree on, where it is
    more than dtype and size. DisagreementError, in all of them, where they do not.
    """
    world = started()
    if world is None:
        out[...] = 0 if call["call"] == "receive" else _of_alike(call, out if x is None else x)[: out.size]
        return
    kind, group = call["call"], by_number(call["group"])
    if kind in ("send", "receive"):
        with waiting():
            _to_one(world, call, x, out)
        return
    given = out if x is None else x
    said = f"primitive {kind} of {call.get('type') or f'{given.dtype}[{given.size}]'}"
    if kind in REDUCED:
        said += f", op={call['reduction']!r}"
    if kind in ("reduce", "broadcast"):
        said += f", root {call['root']}"
    assert group.talk is not None
    group.talk.call(said, lambda _: _exchange(world, call, x, out))


def _exchange(world: World, call: Mapping[str, Any], x: Array | None, out: Array) -> None:
    mpi, group, kind = world.mpi, by_number(call["group"]).communicator, call["call"]
    if kind in REDUCED and are_ordered(out, call["reduction"]):
        made = np.empty(out.size, f"int{8 * out.itemsize}")
        _exchange(world, call, keys_of(out if x is None else x, call["reduction"]), made)
        out[...] = of_keys(made, call["reduction"])
        return
    reduction, root = getattr(mpi, call["reduction"].upper()), call["root"]
    given = mpi.IN_PLACE if x is None else x
    if kind == "all_reduce":
        group.Allreduce(given, out, reduction)
    elif kind == "reduce":
        out[...] = 0
        group.Reduce(given, out if group.Get_rank() == root else None, reduction, root)
    elif kind == "reduce_scatter":
        group.Reduce_scatter_block(given, out, reduction)
    elif kind == "all_gather":
        group.Allgather(given if x is None else _bytes(x), _bytes(out))
    elif kind == "all_to_all":
        group.Alltoall(given if x is None else _bytes(x), _bytes(out))
    else:
        assert kind == "broadcast"
        if x is not None:
            out[...] = x
        group.Bcast(_bytes(out), root)


def _to_one(world: World, call: Mapping[str, Any], x: Array | None, out: Array) -> None:
    """Send x, or receive into `out`: the other may be a compiled step, so bytes are all that is sent."""
    group, peer, tag = by_number(call["group"]), call["root"], call["tag"]
    if call["call"] == "send":
        # The others may send first, too.
        _going[:] = [(request, sent) for request, sent in _going if not request.Test()]
        sent = _bytes(out if x is None else x).copy()
        _going.append((group.communicator.Isend(sent, peer, tag), sent))
        return
    status = world.mpi.Status()
    group.communicator.Recv(_bytes(out), peer, tag, status)
    if status.Get_count() != out.nbytes:
        raise other_message(peer, group.name, status.Get_count(), out.nbytes, user_loc())


def other_message(peer: int, group: str, came: int, expected: int, loc: Loc | None) -> DisagreementError:
    """The error of a message that is not what is received, in bytes."""
    return DisagreementError(
        f"rank {peer} of group {group!r} has sent {came} bytes, expected {expected}",
        loc=loc,
        help="Send and Receive of one tag must have the same shape and dtype",
    )


def _of_alike(call: Mapping[str, Any], x: Array) -> Array:
    """What the first one of some processes gets if all have the same x: so a process alone computes a graph made for several."""
    kind, count = call["call"], call["size"]
    if kind in REDUCED:
        total: Array = {"sum": x * count, "prod": x**count}.get(call["reduction"], x).astype(x.dtype)
        return np.zeros_like(x) if kind == "reduce" and call["root"] else total
    if kind in ("all_gather", "all_to_all"):
        return np.tile(x if kind == "all_gather" else x[: x.size // count], count)
    return x


def _bytes(array: Array) -> Array:
    return array.reshape(-1).view(np.uint8)
