"""What the processes of a group do together when they call: in one order, and only what all of them mean.

Before anything travels each tells the others, in one small message, what it is about to do; a difference is an error in all of
them. What need not be waited for is done by a thread, one call of a group after the other; no call of a group overtakes another.
"""

from __future__ import annotations

import hashlib
import os
import queue
import threading
import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from graphc.debug import cpus
from graphc.errors import DisagreementError, Loc, user_loc
from graphc.processes.world import require_membership, started, waiting
from graphc_codegen.forks import lock

Array = np.ndarray[Any, np.dtype[Any]]
#: Does what a call is for, given the group's communicator (None for a process alone).
Act = Callable[[Any], None]

#: Bytes of what a process says it is about to do.
SAID = 160
#: So long MPI is asked without a pause, in seconds, with a CPU for each process and without; how pauses begin and end then.
_EAGER, _CROWDED, _PAUSE, _LONGEST = 1e-3, 1e-4, 2e-5, 1e-3


class Work:
    """A call that may still be under way."""

    def __init__(self) -> None:
        self._ended = threading.Event()
        self._error: BaseException | None = None

    def end(self, error: BaseException | None = None) -> None:
        """It is done, or has failed."""
        self._error = error
        self._ended.set()

    @property
    def is_done(self) -> bool:
        """Whether there is nothing more to be told of it."""
        return self._ended.is_set() and self._error is None

    def block(self) -> None:
        """Return when it is done, or has failed."""
        self._ended.wait()

    def wait(self) -> None:
        """Return when it is done. Raises what it has failed with, once."""
        if not self._ended.is_set():
            with waiting():
                self.block()
        error, self._error = self._error, None
        if error is not None:
            raise error


class Talk:
    """The calls of one group in this process. `ranks` are those of its processes among all."""

    def __init__(self, communicator: Any, ranks: tuple[int, ...]) -> None:
        self.communicator = communicator
        self._ranks = ranks
        self._order = lock()
        #: What the thread is to do; None lets it end.
        self._later: queue.SimpleQueue[tuple[Work, Callable[[], None]] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        #: The works of the thread that nobody has heard the end of.
        self._open: list[Work] = []

    def call(
        self, said: str, act: Act, sends: Sequence[int] = (), receives: Sequence[int] = (), later: bool = False
    ) -> Work | None:
        """Do what all processes of the group have said the same of. sends, receives: how many bytes this one sends to each
        of them and wants from each, if that is more than `said` tells. later: return at once, the work is under way (or done,
        where MPI lets only one thread in).

        DisagreementError, in all of them, if they do not mean the same; the work raises it where there is one. So is an error
        of an earlier work that nobody has waited for, by the next call that returns when it is done: that is the same in all.
        """
        require_membership()
        self._open = [work for work in self._open if not work.is_done]
        if later and _takes_threads():
            return self._begin(said, act, sends, receives)
        with waiting():
            for work in self._open:
                work.block()
            with self._order:
                self._agree(said, sends, receives, None)
                act(self.communicator)
        for work in self._open:
            work.wait()
        return None

    def end(self) -> bool:
        """Let its thread end, where nothing is under way: whether that is so."""
        if any(not work.is_done for work in self._open):
            return False
        if self._thread is not None:
            self._later.put(None)
            self._thread.join()
        return True

    def _begin(self, said: str, act: Act, sends: Sequence[int], receives: Sequence[int]) -> Work:
        """The thread does it when it has done what it is to do before."""
        loc, work = user_loc(), Work()

        def do() -> None:
            with self._order:
                self._agree(said, sends, receives, loc)
                act(self.communicator)

        self._open.append(work)
        self._later.put((work, do))
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, daemon=True, name="graphc-talk")
            self._thread.start()
        return work

    def _run(self) -> None:
        while (task := self._later.get()) is not None:
            work, do = task
            del task
            try:
                do()
            except BaseException as error:
                work.end(error)
            else:
                work.end()
            del work, do  # And the tensors that they hold.

    def _agree(self, said: str, sends: Sequence[int], receives: Sequence[int], loc: Loc | None) -> None:
        """DisagreementError unless all say the same, and each wants what the others send."""
        count = len(self._ranks)
        sizes = np.zeros((2, count), np.int64)
        for row, given in zip(sizes, (sends, receives), strict=True):
            row[: len(given)] = given
        own = np.concatenate([spoken(said), sizes.reshape(-1).view(np.uint8)])
        heard = np.empty((count, own.size), np.uint8)
        until(self.communicator.Iallgather(own, heard))
        words = heard[:, :SAID]
        other = next((k for k in range(count) if (words[k] != words[0]).any()), None)
        if other is not None:
            told = [f"rank {self._ranks[k]}: {text_of(words[k])}" for k in (0, other)]
            raise _disagree("the processes of a group do not make the same call", told, loc)
        numbers = np.ascontiguousarray(heard[:, SAID:]).view(np.int64).reshape(count, 2, count)
        require_fit(said, numbers, self._ranks, loc)


def require_fit(said: str, numbers: Array, ranks: Sequence[int], loc: Loc | None = None) -> None:
    """DisagreementError unless each process gets what it expects. numbers: of each how many bytes it sends to each, and how many
    it expects from each.
    """
    wrong = np.argwhere(numbers[:, 0] != numbers[:, 1].T)
    if wrong.size:
        sender, receiver = (int(k) for k in wrong[0])
        told = [
            f"rank {ranks[sender]} sends {numbers[sender, 0, receiver]} bytes to rank {ranks[receiver]}",
            f"rank {ranks[receiver]} expects {numbers[receiver, 1, sender]} bytes from it",
        ]
        raise _disagree(f"the sizes of {said} do not go together", told, loc)


def _disagree(message: str, told: list[str], loc: Loc | None) -> DisagreementError:
    return DisagreementError(
        message,
        loc=loc or user_loc(),
        details=told,
        help="every process of the group must make the same calls in the same order, with the same shapes and dtypes",
    )


def until(*requests: Any, hurry: bool = False) -> None:
    """Return when MPI has done all of these. Other threads and processes may have the CPU meanwhile; where they are about to
    send much, `hurry`, pauses stay short: MPI moves data when it is asked.
    """
    test, left, pause = type(requests[0]).Testall, list(requests), _PAUSE
    eager = time.monotonic() + (_CROWDED if _is_crowded() and not hurry else _EAGER)
    while not test(left):
        if time.monotonic() < eager:
            os.sched_yield()
        else:
            time.sleep(pause)
            if not hurry:
                pause = min(pause * 1.2, _LONGEST)


@cache
def _takes_threads() -> bool:
    """Whether several threads may call MPI."""
    world = started()
    return world is not None and bool(world.mpi.Query_thread() >= world.mpi.THREAD_MULTIPLE)


@cache
def _is_crowded() -> bool:
    """Whether processes on this machine share CPUs."""
    world = started()
    near = 1 if world is None else world.hosts.count(world.hosts[world.rank])
    return near > cpus()


def spoken(said: str) -> Array:
    """What is said, in SAID bytes; of what is longer the end is a digest."""
    text = said.encode()
    if len(text) > SAID:
        digest = hashlib.sha256(text).hexdigest()[:16].encode()
        text = text[: SAID - len(digest) - 4] + b" ..." + digest
    return np.frombuffer(text.ljust(SAID, b"\0"), np.uint8)


def text_of(words: Array) -> str:
    """What has been said."""
    return words.tobytes().rstrip(b"\0").decode(errors="replace")
