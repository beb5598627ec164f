"""Communication of Python objects, as pickle writes them: whoever sends them decides what is run where they arrive."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.ops.communication.checks import eager, member, place, run
from graphc.ops.communication.peers import communicator_of, peer_of
from graphc.ops.tensor.tensor import Array
from graphc.processes import Group, transfers

_USE = "objects are Python's: call it outside of the step"


def all_gather_object(object_list: list[Any], obj: Any, group: str | None = None) -> None:
    """Write the objects of a group's processes into a list with a place for each."""
    owner = "all_gather_object"
    found = _begun(owner, group)
    _require_list(owner, "object_list", object_list, found.size)
    object_list[:] = _exchanged(found, owner, [_written(owner, obj)] * found.size)


def gather_object(
    obj: Any, object_gather_list: list[Any] | None = None, dst: int = 0, group: str | None = None
) -> None:
    """Write the objects of a group's processes into a list of the process `dst`, with a place for each."""
    owner = "gather_object"
    found = _begun(owner, group)
    root = place(owner, "dst", found, dst)
    if found.rank == root:
        _require_list(owner, "object_gather_list", object_gather_list, found.size)
    sent: list[Array | None] = [None] * found.size
    sent[root] = _written(owner, obj)
    made = _exchanged(found, f"{owner} to rank {dst}", sent)
    if found.rank == root and object_gather_list is not None:
        object_gather_list[:] = made


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int = 0,
    group: str | None = None,
) -> None:
    """Write this process's object of a list of the process `src` into the first place of a list."""
    owner = "scatter_object_list"
    found = _begun(owner, group)
    root = place(owner, "src", found, src)
    _require_list(owner, "scatter_object_output_list", scatter_object_output_list)
    sent: Sequence[Array | None] = [None] * found.size
    if found.rank == root:
        given = _require_list(owner, "scatter_object_input_list", scatter_object_input_list, found.size)
        sent = [_written(owner, each) for each in given]
    scatter_object_output_list[0] = _exchanged(found, f"{owner} from rank {src}", sent)[root]


def broadcast_object_list(object_list: list[Any], src: int = 0, group: str | None = None, device: Any = None) -> None:
    """Write the objects of a list of the process `src` into those of all processes of a group, of the same length.

    device has no meaning here.
    """
    owner = "broadcast_object_list"
    found = _begun(owner, group)
    root = place(owner, "src", found, src)
    count = len(_require_list(owner, "object_list", object_list))
    sent: list[Array | None] = [None] * found.size
    if found.rank == root:
        sent = [_written(owner, list(object_list))] * found.size
    made = _exchanged(found, f"{owner} of {count} objects from rank {src}", sent)[root]
    if found.rank != root:
        object_list[:] = made


def send_object_list(object_list: list[Any], dst: int, group: str | None = None, device: Any = None) -> None:
    """Send the objects of a list to a process of a group. device has no meaning here."""
    owner = "send_object_list"
    eager(owner, _USE)
    given = _require_list(owner, "object_list", object_list)
    found, peer = peer_of(owner, "dst", dst, group, 0, alone=False)
    transfers.send(communicator_of(found), peer, 0, _how_long(len(given)), _written(owner, list(given)))


def recv_object_list(object_list: list[Any], src: int = 0, group: str | None = None, device: Any = None) -> int:
    """Write the objects that a process of a group sends into a list of that length. 0 when they have come.

    device has no meaning here. DisagreementError GC191 for a list of another length.
    """
    owner = "recv_object_list"
    eager(owner, _USE)
    given = _require_list(owner, "object_list", object_list)
    found, peer = peer_of(owner, "src", src, group, 0, alone=False)
    message = transfers.Receiving(communicator_of(found), peer, 0, _how_long(len(given)), None)
    message.wait()
    assert message.data is not None
    object_list[:] = pickle.loads(message.data.tobytes())
    return 0


def _how_long(count: int) -> str:
    return f"a list of {count} objects"


def _begun(owner: str, group: Any) -> Group:
    eager(owner, _USE)
    return member(owner, group)


def _require_list(owner: str, name: str, value: Any, count: int | None = None) -> list[Any]:
    """A list of objects that is not empty, of a length that may be given."""
    if not isinstance(value, list) or not value:
        raise ArgumentTypeError(f"{owner}: {name} must be a list that is not empty, got {value!r}", loc=user_loc())
    if count not in (None, len(value)):
        raise ArgumentValueError(
            f"{owner}: {name} must have {count} places, one per process, got {len(value)}", loc=user_loc()
        )
    return value


def _written(owner: str, value: Any) -> Array:
    """What pickle writes of an object. ArgumentTypeError where it cannot."""
    try:
        return np.frombuffer(pickle.dumps(value), np.uint8)
    except Exception as error:
        raise ArgumentTypeError(
            f"{owner}: a {type(value).__name__} cannot be sent: {error}", loc=user_loc(), help="pickle must write it"
        ) from error


def _exchanged(found: Group, said: str, sent: Sequence[Array | None]) -> list[Any]:
    """The objects that the processes of a group send to this one, by their numbers there; None of those that send none."""
    received: list[Array | None] = [None] * found.size

    def act(communicator: Any) -> None:
        lengths = [np.array([-1 if x is None else x.size], np.int64) for x in sent]
        wanted = [np.zeros(1, np.int64) for _ in sent]
        transfers.exchange(communicator, lengths, wanted)
        received[:] = [None if n[0] < 0 else np.empty(int(n[0]), np.uint8) for n in wanted]
        transfers.exchange(communicator, sent, received)

    run(found, said, act, async_op=False)
    return [None if data is None else pickle.loads(data.tobytes()) for data in received]
