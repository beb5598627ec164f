"""The watch: a dead, stopped or failing process ends the whole job with one message, instead of leaving the others waiting.

Each process has a thread that tells the next one, around a ring, that it lives, and how many processes up to it make no
progress. Who hears nothing from the one before for too long, or learns that all wait for each other, ends the job; so does one
that raises. What a process does between two messages does not matter: it may compile or read data for hours.
"""

from __future__ import annotations

import atexit
import fcntl
import logging
import os
import sys
import termios
import threading
import time
from types import TracebackType
from typing import Any

import numpy as np

from graphc.debug import switches
from graphc.processes.world import World, started
from graphc_codegen.links import WORDS, table

_logger = logging.getLogger("graphc")
#: Messages per time after which a process counts as lost, and the longest time between two, in seconds.
_BEATS, _PAUSE = 8, 1.0
#: What a message holds: how many processes in a row, up to this one, make no progress, and how many have come to their ends.
_STUCK, _LEFT = range(2)


class Watch:
    """The watch of one process over the one before it."""

    def __init__(self, world: World, limit: float) -> None:
        self._world = world
        self._limit = limit
        self._before, self._next = (world.rank - 1) % world.size, (world.rank + 1) % world.size
        self._pid = os.getpid()
        self._heard = np.zeros(2, np.int64)
        self._heard_at = self._moved_at = self._ticked_at = time.monotonic()
        self._stuck_at: float | None = None
        self._done = -1
        self._sends: list[tuple[Any, Any]] = []
        self._leaving = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True, name="graphc-watch")

    def start(self) -> None:
        """From now on, and until the process ends."""
        self._hook = sys.excepthook
        sys.excepthook = self._raised
        self._thread.start()
        atexit.register(self._leave)

    def _run(self) -> None:
        pause = min(_PAUSE, self._limit / _BEATS)
        while not self._tick(pause):
            self._leaving.wait(pause)
            if self._leaving.is_set():
                time.sleep(min(pause, 0.02))
        # Nobody sends any more behind the barrier; what is still there is taken.
        barrier = self._world.pulse.Ibarrier()
        while not barrier.Test():
            self._listen()
            time.sleep(0.002)
        self._listen()

    def _listen(self) -> bool:
        """Take what the process before has sent; whether there was anything."""
        pulse, heard = self._world.pulse, False
        while pulse.Iprobe(self._before):
            pulse.Recv(self._heard, self._before)
            heard = True
        return heard

    def _tick(self, pause: float) -> bool:
        """Tell, listen, judge. Whether all processes have come to their ends."""
        now = time.monotonic()
        if now - self._ticked_at > pause + self._limit / 2:
            self._heard_at = self._moved_at = now  # This process itself was stopped, and has not listened.
        self._ticked_at = now
        if self._listen():
            self._heard_at = now
        left, done = self._leaving.is_set(), int(table[WORDS["done"]])
        if done != self._done or not table[WORDS["waits"]]:
            self._done, self._moved_at = done, now
        waits = now - self._moved_at > self._limit
        stuck = 1 + int(self._heard[_STUCK]) if waits or left else 0
        gone = 1 + int(self._heard[_LEFT]) if left else 0
        self._sends = [(request, message) for request, message in self._sends if not request.Test()]
        if len(self._sends) < _BEATS or gone >= self._world.size:
            message = np.array([stuck, gone], np.int64)
            self._sends.append((self._world.pulse.Isend(message, self._next), message))
        if now - self._heard_at > self._limit and gone < self._world.size:
            self.end(
                f"rank {self._before} has not answered for {self._limit:g} s; the last completed step is {steps_done()}"
            )
        if not waits or stuck < self._world.size:
            self._stuck_at = None
        elif self._stuck_at is None:
            self._stuck_at = now
        if self._stuck_at is not None and now - self._stuck_at >= self._patience(pause):
            them = "has come to its end" if self._heard[_LEFT] else "waits, too"
            self.end(
                f"rank {self._world.rank} has waited {self._limit:g} s for the others after step {steps_done()}, and rank"
                f" {self._before} {them}: they do not make the same calls"
            )
        return gone >= self._world.size

    def _patience(self, pause: float) -> float:
        """How long one that knows that all wait lets another say so: there is to be one message, and the news goes around."""
        if self._world.rank == 0 or self._heard[_LEFT]:
            return 0.0
        return min(2 * pause * self._world.size, self._limit / 2)

    def end(self, message: str) -> None:
        """Say why, and end all processes. What this one has printed is not lost."""
        # Neither a reader that has stopped nor an abort that does not come through may leave this one.
        last = threading.Timer(5.0, os._exit, (1,))
        last.daemon = True
        last.start()
        print(f"graphc: {message}. All processes end.", file=sys.stderr, flush=True)
        for stream in (sys.stdout, sys.stderr):
            _until_taken(stream, 1.0)
        self._world.mpi.COMM_WORLD.Abort(1)

    def _raised(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        """What Python calls with an exception that nobody has caught."""
        self._hook(kind, error, trace)
        if os.getpid() == self._pid:
            sys.stderr.flush()
            lines = str(error).splitlines() or [""]
            self.end(f"rank {self._world.rank} raised {kind.__name__} after step {steps_done()}: {lines[0]}")

    def _leave(self) -> None:
        """At the end of the process: it stays until the one before has come to its end, too."""
        if os.getpid() == self._pid:
            self._leaving.set()
            self._thread.join()


def _until_taken(stream: Any, seconds: float) -> None:
    """Write what a stream holds, and wait until whoever reads the pipe has taken it, at most so long: launchers drop the rest
    when a process aborts.
    """
    left, ends = bytearray(4), time.monotonic() + seconds
    try:
        stream.flush()
        while time.monotonic() < ends:
            fcntl.ioctl(stream.fileno(), termios.FIONREAD, left)
            if not any(left):
                return
            time.sleep(0.001)
    except (OSError, ValueError, AttributeError):
        return  # No pipe, a closed stream, or one that a program has put in its place.


def steps_done() -> int:
    """How many steps of several processes this one has done."""
    return int(table[WORDS["steps"]])


def count_steps(steps: int) -> None:
    """Steps of several processes have been done."""
    table[WORDS["steps"]] += steps


def watch() -> None:
    """Watch over the others from now on. GRAPHC_RANK_TIMEOUT=0, or an MPI that lets only one thread in: say so, and do not."""
    world, limit = started(), switches().rank_timeout
    if world is None or limit <= 0:
        return
    if world.mpi.Query_thread() < world.mpi.THREAD_MULTIPLE:
        _logger.warning("this MPI lets one thread in at a time: processes do not watch over each other")
        return
    Watch(world, limit).start()
