"""Streams: what a data set is while it is read. One is made per node of the pipeline and iterator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from graphc.dataset.core.rows import Rows, joined
from graphc.errors import DataError

#: More rows than any data set has.
ALL = 1 << 62
#: Rows that one worker gets at a time, at most.
_SHARE = 128
#: Seconds of work that are worth handing over to another process.
_WORTH = 0.002


class Follower(Protocol):
    """Who is told when passes begin and end."""

    def pass_begins(self, epoch: int) -> None: ...

    def pass_ends(self) -> None: ...


@dataclass
class Run:
    """What the streams of one iterator share. Closed once, by whoever ends the iterator."""

    seed: int
    prefetch: int
    #: Whether threads and processes may be used.
    parallel: bool
    #: Whether rows are only counted: an endless repeat is read once.
    counting: bool = False
    closers: list[Callable[[], None]] = field(default_factory=list)
    #: Who is told of the passes of the whole pipeline.
    followers: list[Follower] = field(default_factory=list)
    nodes: int = 0
    #: How many passes of the whole pipeline are over; what `repeat` repeats are none.
    epoch: int = 0

    def number(self) -> int:
        """A number for a node: the same one in each run of a pipeline."""
        self.nodes += 1
        return self.nodes

    def close(self) -> None:
        """End all workers, whatever one of them raises."""
        while self.closers:
            try:
                self.closers.pop()()
            except BaseException:
                self.close()
                raise


class Stream(ABC):
    """Rows, pass after pass."""

    @abstractmethod
    def begin(self) -> None:
        """Start the next pass: the first one, or the one after that which was left."""

    @abstractmethod
    def read(self, count: int) -> Rows | None:
        """The next rows of the pass: at least one and at most `count`; None at its end."""

    def skip(self, count: int) -> int:
        """Leave out the next `count` rows; returns how many there were. Those that need not be computed are not."""
        left = count
        while left > 0 and (rows := self.read(min(left, _SHARE))) is not None:
            left -= rows.count
        return count - left

    @abstractmethod
    def leave(self) -> None:
        """End the pass, however much of it was read: the next one begins as it would have after its last row. Rows that need not
        be computed for that are not.
        """


class OfOne(Stream):
    """A stream of what becomes of another's rows."""

    def __init__(self, child: Stream) -> None:
        self._child = child

    def begin(self) -> None:
        self._child.begin()

    def leave(self) -> None:
        self._child.leave()


class Epochs(OfOne):
    """The whole pipeline's stream: it counts the passes, and leaves each before the next."""

    def __init__(self, child: Stream, run: Run, endless: bool) -> None:
        super().__init__(child)
        self._run, self._endless = run, endless
        self._inside = False
        run.epoch = -1

    def begin(self) -> None:
        self.leave()
        self._run.epoch += 1
        for follower in self._run.followers:
            follower.pass_begins(self._run.epoch)
        self._child.begin()
        self._inside = True

    def leave(self) -> None:
        if self._inside:
            self._child.leave()
        self._inside = False

    def read(self, count: int) -> Rows | None:
        rows = self._child.read(count)
        if rows is None:
            for follower in self._run.followers:
                follower.pass_ends()
        return rows

    def skip(self, count: int) -> int:
        return self._child.skip(count)

    def pass_over(self) -> None:
        """Leave out the next pass. DataError GC206 where a node repeats for ever: how far it was read is not known."""
        if self._endless:
            raise DataError("an endless repeat has no end to go on after", code="GC206")
        self._run.epoch += 1
        self._child.begin()
        self._child.leave()


@dataclass(slots=True)
class Done:
    """What became of a task: rows, and what was raised after them."""

    rows: Rows | None
    error: DataError | None = None
    #: How long it took, where that is worth knowing.
    seconds: float = 0.0


def fill(stream: Stream, count: int) -> Rows | None:
    """The next `count` rows, fewer at the end of the pass, None where there are none."""
    done = filled(stream, count)
    if done.error is not None:
        raise done.error
    return done.rows


def filled(stream: Stream, count: int) -> Done:
    """The next `count` rows: fewer at the end of the pass or where something was raised, None where there are none."""
    parts: list[Rows] = []
    have, error = 0, None
    try:
        while have < count and (rows := stream.read(count - have)) is not None:
            parts.append(rows)
            have += rows.count
    except DataError as raised:
        error = raised
    return Done(joined(parts) if parts else None, error)


class Pool(Protocol):
    """Workers that do tasks in the order in which they are given."""

    def submit(self, task: Any) -> None: ...

    def result(self) -> Done:
        """Of the oldest task that was submitted and not yet fetched."""
        ...


class Worked(Stream):
    """A stream whose rows are computed by the user's functions: here, or ahead by workers, in the same order."""

    def __init__(self, pool: Pool | None, ahead: int) -> None:
        self._pool, self._ahead = pool, ahead
        self._flying = 0
        self._seconds_a_row = 0.0
        self._ready: deque[Rows] = deque()
        self._failure: DataError | None = None
        self._exhausted = False

    @abstractmethod
    def task(self, count: int) -> Any | None:
        """What is to be done for the next rows, at most `count`; None at the end of the pass."""

    @abstractmethod
    def do(self, task: Any) -> Done:
        """Do it. It is called by any thread, and in other processes by what stands for it there."""

    @abstractmethod
    def leave_out(self, count: int) -> int:
        """Skip rows for which no task has been made."""

    def leave(self) -> None:
        for _ in range(self._flying):
            assert self._pool is not None
            self._pool.result()
        self._flying = 0
        self._ready.clear()
        self._failure, self._exhausted = None, False

    def read(self, count: int) -> Rows | None:
        while not self._ready:
            if self._failure is not None:
                raise self._failure
            done = self._next(min(count, _SHARE))
            if done is None:
                return None
            if done.rows is not None and done.rows.count:
                self._ready.append(done.rows)
            self._failure = done.error
        rows = self._ready.popleft()
        if rows.count > count:
            self._ready.appendleft(rows.part(count, rows.count))
            rows = rows.part(0, count)
        return rows

    def _next(self, count: int) -> Done | None:
        if self._pool is None:
            task = self.task(count)
            return None if task is None else self.do(task)
        share = self._share(count)
        while self._flying < self._ahead and not self._exhausted:
            task = self.task(share)
            if task is None:
                self._exhausted = True
            else:
                self._pool.submit(task)
                self._flying += 1
        if not self._flying:
            return None
        self._flying -= 1
        done = self._pool.result()
        if done.rows is not None and done.rows.count:
            self._seconds_a_row = done.seconds / done.rows.count
        return done

    def _share(self, count: int) -> int:
        """Rows of a task: `count`, up to four times as many where handing them over takes longer than computing them."""
        if not self._seconds_a_row:
            return count
        return max(count, min(4 * count, int(_WORTH / self._seconds_a_row)))

    def skip(self, count: int) -> int:
        left = count
        while left > 0 and (self._ready or self._flying or self._failure):
            rows = self.read(left)
            if rows is None:
                return count - left
            left -= rows.count
        return count - left + (self.leave_out(left) if left else 0)
