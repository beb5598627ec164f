"""A thread that reads a stream ahead of whoever takes its rows, pass after pass."""

from __future__ import annotations

import threading
from collections import deque

from graphc.dataset.core.rows import Rows
from graphc.dataset.core.streams import Epochs
from graphc.errors import DataError, user_loc
from graphc_codegen.forks import lock

_END = object()


class _Shared:
    """What the thread and the taker share; the thread holds nothing else that could keep the taker alive."""

    def __init__(self, stream: Epochs, depth: int, epoch: int, position: int, epochs: int) -> None:
        self.stream, self.depth = stream, depth
        self.epoch, self.position, self.epochs = epoch, position, epochs
        self.changed = threading.Condition(lock())
        self.items: deque[Rows | BaseException | object] = deque()
        self.rows = 0
        self.at_once = 1
        #: How many pass ends wait in `items`: the next pass is begun, but the one after it is not.
        self.ends = 0
        self.stopped = False


def _produce(shared: _Shared) -> None:
    try:
        for _ in range(shared.epoch):
            shared.stream.pass_over()
        epoch = shared.epoch
        while epoch != shared.epochs:
            shared.stream.begin()
            if epoch == shared.epoch and shared.position:
                shared.stream.skip(shared.position)
            epoch += 1
            while True:
                with shared.changed:
                    while shared.rows >= shared.depth and not shared.stopped:
                        shared.changed.wait()
                    count = max(1, min(shared.at_once, shared.depth - shared.rows))
                if shared.stopped:
                    return
                rows = shared.stream.read(count)
                with shared.changed:
                    shared.items.append(_END if rows is None else rows)
                    shared.rows += rows.count if rows is not None else 0
                    shared.ends += rows is None
                    shared.changed.notify_all()
                    while rows is None and shared.ends and not shared.stopped:
                        shared.changed.wait()
                if rows is None:
                    break
    except BaseException as error:
        with shared.changed:
            shared.items.append(error)
            shared.changed.notify_all()


class ReadAhead:
    """`read` as a stream's, of a stream that a thread reads up to `depth` rows ahead. The next pass begins after the end of one
    has been taken.
    """

    def __init__(self, stream: Epochs, depth: int, epoch: int, position: int, epochs: int) -> None:
        """epoch, position: how much has been read already; epochs: how many passes there are, -1 for ever."""
        self._shared = _Shared(stream, depth, epoch, position, epochs)
        self._thread = threading.Thread(target=_produce, args=(self._shared,), name="graphc-dataset", daemon=True)
        self._thread.start()

    def read(self, count: int) -> Rows | None:
        """Rows, at least one and at most `count`; None at the end of a pass. Raises what the stream raised."""
        shared = self._shared
        with shared.changed:
            shared.at_once = count
            while not shared.items:
                if not self._thread.is_alive():
                    raise DataError(
                        "the thread that reads this data set is in another process",
                        code="GC202",
                        loc=user_loc(),
                        help="make the iterator in the process that reads it",
                    )
                shared.changed.wait()
            item = shared.items.popleft()
            if isinstance(item, Rows):
                if item.count > count:
                    shared.items.appendleft(item.part(count, item.count))
                    item = item.part(0, count)
                shared.rows -= item.count
            elif item is _END:
                shared.ends -= 1
            shared.changed.notify_all()
        if isinstance(item, BaseException):
            raise item
        return item if isinstance(item, Rows) else None

    def stop(self) -> None:
        """Let the thread end after the rows that it is at."""
        with self._shared.changed:
            self._shared.stopped = True
            self._shared.changed.notify_all()

    def join(self) -> None:
        """Wait until it has ended."""
        if threading.current_thread() is not self._thread:
            self._thread.join()
