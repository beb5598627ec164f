"""What one process sends to another. Ranks are those among all; messages of a tag arrive in the order they were sent in."""

from __future__ import annotations

from typing import Any

from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.ops.communication.checks import CommHandle, Room, flat, is_traced, member, place, tensor_of
from graphc.ops.functional import collective
from graphc.ops.functional.index import write
from graphc.ops.tensor.tensor import Tensor
from graphc.processes import Group, transfers
from graphc.validation.checks import exact_int


def send(tensor: Tensor, dst: int = 0, group: str | None = None, tag: int = 0) -> None:
    """Send a tensor to a process of a group, which receives it by the same tag. It returns at once, the tensor may change.

    ArgumentValueError for this process itself.
    """
    _send("send", tensor, dst, group, tag)


def isend(tensor: Tensor, dst: int = 0, group: str | None = None, tag: int = 0) -> CommHandle:
    """`send`, with a handle that has nothing to wait for."""
    _send("isend", tensor, dst, group, tag)
    return CommHandle()


def recv(tensor: Tensor, src: int = 0, group: str | None = None, tag: int = 0) -> int:
    """Write what a process of a group sends by the same tag into a tensor of that shape and dtype. 0 when it has come.

    DisagreementError GC191 where the sender's has another shape or dtype.
    """
    _receive("recv", tensor, src, group, tag).wait()
    return 0


def irecv(tensor: Tensor, src: int = 0, group: str | None = None, tag: int = 0) -> CommHandle:
    """`recv` that returns at once: the tensor is written when the handle's `wait()` returns."""
    return _receive("irecv", tensor, src, group, tag)


class P2POp:
    """A part of `batch_isend_irecv` (MindSpore: P2POp).

    op: `isend` or `irecv`, or the name of one. peer: the other process, by its rank among all. tag: 0.
    """

    def __init__(self, op: Any, tensor: Tensor, peer: int, group: str | None = None, tag: int = 0) -> None:
        name = op if isinstance(op, str) else getattr(op, "__name__", None)
        if name not in ("isend", "irecv"):
            raise ArgumentTypeError(f"P2POp: op must be isend or irecv, got {op!r}", loc=user_loc())
        if exact_int("P2POp", "tag", tag) != 0:
            raise ArgumentValueError(f"P2POp: tag={tag} is not supported, only 0", code="GC112", loc=user_loc())
        self.op, self.tensor = op, tensor_of("P2POp", "tensor", tensor)
        self.peer, self.group, self.tag = exact_int("P2POp", "peer", peer), group, tag
        #: Whether the tensor is sent, not received.
        self.is_sent = name == "isend"


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[CommHandle]:
    """Begin to send and receive what a list of P2POp says, of one group. A list of one handle: of all of them.

    A process may send to itself here.
    """
    owner = "batch_isend_irecv"
    if not isinstance(p2p_op_list, (list, tuple)) or not p2p_op_list:
        raise ArgumentTypeError(f"{owner}: p2p_op_list must be a list of P2POp, got {p2p_op_list!r}", loc=user_loc())
    for each in p2p_op_list:
        if not isinstance(each, P2POp):
            raise ArgumentTypeError(
                f"{owner}: p2p_op_list must be a list of P2POp, it has a {type(each).__name__}", loc=user_loc()
            )
        if each.group != p2p_op_list[0].group:
            raise ArgumentValueError(
                f"{owner}: all must be of one group, got {p2p_op_list[0].group!r} and {each.group!r}", loc=user_loc()
            )
    handles = [
        _receive(owner, each.tensor, each.peer, each.group, 0, alone=True) for each in p2p_op_list if not each.is_sent
    ]
    for each in p2p_op_list:
        if each.is_sent:
            _send(owner, each.tensor, each.peer, each.group, 0, alone=True)
    return [CommHandle(_All(handles))]


class _All:
    """Of several handles."""

    def __init__(self, handles: list[CommHandle]) -> None:
        self._handles = handles

    def wait(self) -> None:
        for handle in self._handles:
            handle.wait()


class _Received:
    """A message, and the tensor that it is written into."""

    def __init__(self, message: transfers.Receiving, room: Room) -> None:
        self._message, self._room = message, room

    def wait(self) -> None:
        self._message.wait()
        self._room.settle()


def peer_of(owner: str, name: str, rank: Any, group: Any, tag: Any, alone: bool) -> tuple[Group, int]:
    """The group, and the other process's number there."""
    found = member(owner, group)
    peer = place(owner, name, found, rank)
    if peer == found.rank and (found.talk is None or not alone):
        raise ArgumentValueError(f"{owner}: {name}={rank} is this process itself", loc=user_loc())
    if not 0 <= exact_int(owner, "tag", tag) < 1 << 15:
        raise ArgumentValueError(f"{owner}: tag must be from 0 to 32767, got {tag}", loc=user_loc())
    return found, peer


def _send(owner: str, tensor: Any, dst: Any, group: Any, tag: Any, alone: bool = False) -> None:
    x = tensor_of(owner, "tensor", tensor)
    found, peer = peer_of(owner, "dst", dst, group, tag, alone)
    if is_traced():
        collective.send(x, peer, tag, found.name)
    else:
        transfers.send(communicator_of(found), peer, tag, _said(x), flat(x))


def _receive(owner: str, tensor: Any, src: Any, group: Any, tag: Any, alone: bool = False) -> CommHandle:
    x = tensor_of(owner, "tensor", tensor)
    found, peer = peer_of(owner, "src", src, group, tag, alone)
    if is_traced():
        write(x, ..., collective.receive(x.shape, x.dtype, peer, tag, found.name))
        return CommHandle()
    room = Room(x)
    return CommHandle(_Received(transfers.Receiving(communicator_of(found), peer, tag, _said(x), room.array), room))


def communicator_of(found: Group) -> Any:
    """Who talks to whom; None in a process alone."""
    return None if found.talk is None else found.talk.communicator


def _said(x: Tensor) -> str:
    return str(x.tensor_type)
