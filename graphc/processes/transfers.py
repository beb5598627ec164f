"""What travels in the calls of a group, by MPI, of arrays that are flat and contiguous. Nothing of it is checked here:
`Talk.call` has agreed on it before. A communicator that is None is that of a process alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc.errors import DisagreementError, user_loc
from graphc.processes.extrema import are_ordered, keys_of, of_keys
from graphc.processes.group_calls import SAID, spoken, text_of, until
from graphc.processes.world import started, waiting

Array = np.ndarray[Any, np.dtype[Any]]

#: The most bytes of one message.
_MOST = 1 << 30
#: More bytes than MPI moves at once.
_MUCH = 1 << 16
#: Bytes ahead of a message: what it is, and how many bytes it has.
_HEAD = SAID + 8
#: The tag of what the calls of a group move; messages of the user's tags have the tags behind it, two each.
_MOVED = 0
#: Messages that have been sent and may not have come yet, with their bytes.
_going: list[tuple[Any, Array]] = []


def reduce(communicator: Any, x: Array, reduction: str, root: int | None = None) -> None:
    """Reduce x over the processes, where it lies: in all of them, or in the process `root`; the others keep theirs then.

    "avg" is the sum divided by their number, without its fraction for integers. Halves are added up in float32 and rounded
    once; complex numbers have sums alone. Of NaN and other numbers NaN is the largest and the least.
    """
    if communicator is None or not x.size:
        return
    size, here = communicator.Get_size(), root in (None, communicator.Get_rank())
    parts = x.view(x.real.dtype) if np.iscomplexobj(x) else x
    made = parts.astype(np.float32) if parts.dtype.itemsize == 2 and not _is_integer(parts) else parts
    if are_ordered(made, reduction):
        keys = keys_of(made, reduction)
        _reduce(communicator, keys, reduction, root)
        made = of_keys(keys, reduction)
    else:
        _reduce(communicator, made, "sum" if reduction == "avg" else reduction, root)
    if not here:
        return
    if reduction == "avg":
        made[...] = (made - np.fmod(made, size)) // size if _is_integer(made) else made / size
    if made is not parts:
        parts[...] = made


def _is_integer(x: Array) -> bool:
    return x.dtype.kind in "iu"


def _reduce(communicator: Any, x: Array, reduction: str, root: int | None) -> None:
    world = started()
    assert world is not None
    combine = getattr(world.mpi, reduction.upper())
    for part in _cut(x):
        if root is None:
            _until(part.nbytes, communicator.Iallreduce(world.mpi.IN_PLACE, part, combine))
        elif communicator.Get_rank() == root:
            _until(part.nbytes, communicator.Ireduce(world.mpi.IN_PLACE, part, combine, root))
        else:
            _until(part.nbytes, communicator.Ireduce(part, None, combine, root))


def broadcast(communicator: Any, x: Array, root: int) -> None:
    """Write x of the process `root` into that of all."""
    if communicator is not None:
        for part in _cut(x.view(np.uint8)):
            _until(part.nbytes, communicator.Ibcast(part, root))


def exchange(communicator: Any, sent: Sequence[Array | None], received: Sequence[Array | None]) -> None:
    """Send an array to each process, and write what comes from each into another one; None: nothing."""
    here = 0 if communicator is None else communicator.Get_rank()
    own, out = sent[here], received[here]
    if own is not None and out is not None:
        out[...] = own
    if communicator is None:
        return
    others = [k for k in range(len(sent)) if k != here]
    requests = [communicator.Irecv(part, k, _MOVED) for k in others for part in _cut(_bytes(received[k]))]
    requests += [communicator.Isend(part, k, _MOVED) for k in others for part in _cut(_bytes(sent[k]))]
    if requests:
        _until(sum(0 if x is None else x.nbytes for x in (*sent, *received)), *requests)


def barrier(communicator: Any) -> None:
    """Wait until all have come here."""
    if communicator is not None:
        until(communicator.Ibarrier())


def _until(nbytes: int, *requests: Any) -> None:
    """Return when so much has been moved."""
    until(*requests, hurry=nbytes > _MUCH)


def _cut(x: Array) -> list[Array]:
    """Parts of an array of at most _MOST bytes; none of one without elements."""
    length = max(1, _MOST // x.itemsize)
    return [x[k : k + length] for k in range(0, x.size, length)]


def _bytes(x: Array | None) -> Array:
    return np.empty(0, np.uint8) if x is None else x.reshape(-1).view(np.uint8)


# ---- from one process to another


class Receiving:
    """A message that may not have come yet; `said` is what the receiver takes it for. It is written to `out`, where there is one;
    `data` has its bytes.

    What a message is comes ahead of it, so that another one than was expected is taken in full and does no harm to those behind.
    """

    def __init__(self, communicator: Any, peer: int, tag: int, said: str, out: Array | None) -> None:
        self._communicator, self._peer, self._tag = communicator, peer, tag
        self._said, self.data = said, None if out is None else _bytes(out)
        self._head = np.empty(_HEAD, np.uint8)
        self._request = communicator.Irecv(self._head, peer, 2 * tag + 1)
        #: What the other has said, when that has come.
        self._told: str | None = None
        self._fits = False
        self._line = _lines.setdefault((id(communicator), peer, tag), deque())
        self._line.append(self)

    def wait(self) -> None:
        """Return when it has come, behind those that were sent before. DisagreementError if it is another one than expected."""
        with waiting():
            while self._told is None:
                self._line[0]._take()
                self._line.popleft()
        if not self._fits:
            raise DisagreementError(
                "what is sent is not what is received",
                loc=user_loc(),
                details=[f"rank {self._peer} of the group sends: {self._told}", f"this one receives: {self._said}"],
                help="both must give the same shape and dtype",
            )

    def _take(self) -> None:
        """Wait for the message, and write it where it belongs."""
        until(self._request)
        told, size = text_of(self._head[:SAID]), int(self._head[SAID:].view(np.int64)[0])
        self._fits = told == text_of(spoken(self._said)) and (self.data is None or size == self.data.size)
        out = self.data if self._fits and self.data is not None else np.empty(size, np.uint8)
        parts = [self._communicator.Irecv(part, self._peer, 2 * self._tag + 2) for part in _cut(out)]
        if parts:
            _until(size, *parts)
        self._told, self.data = told, out


#: Messages that are expected from a process by a tag, in the order that they come in.
_lines: dict[tuple[int, int, int], deque[Receiving]] = {}


def is_expected(communicator: Any) -> bool:
    """Whether a message of a communicator is expected that nobody has waited for. If not, nothing is remembered of it."""
    own = [key for key in _lines if key[0] == id(communicator)]
    if any(_lines[key] for key in own):
        return True
    for key in own:
        del _lines[key]
    return False


def send(communicator: Any, peer: int, tag: int, said: str, x: Array) -> None:
    """Begin to send a copy of x to a process, which receives it by the same tag: the others may send first, too."""
    _going[:] = [(request, sent) for request, sent in _going if not request.Test()]
    data = _bytes(x).copy()
    head = np.concatenate([spoken(said), np.array([data.size], np.int64).view(np.uint8)])
    _going.append((communicator.Isend(head, peer, 2 * tag + 1), head))
    _going.extend((communicator.Isend(part, peer, 2 * tag + 2), part) for part in _cut(data))
