"""`sync_wait`: rows that are held back until the training says that it has come so far."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from graphc.dataset import config
from graphc.dataset.checks import INT32_MAX, function, integer
from graphc.dataset.core.dataset import Dataset, maker, node
from graphc.dataset.core.rows import Rows
from graphc.dataset.core.streams import OfOne, Run, Stream
from graphc.errors import ArgumentTypeError, ArgumentValueError, DataError, user_loc
from graphc.validation.checks import string
from graphc_codegen.forks import lock

_logger = logging.getLogger("graphc")


class Gate:
    """How many rows may pass. One for all iterators of a data set; a new one begins with as many as at first."""

    def __init__(self, name: str, rows: int, callback: Callable[[Any], Any] | None) -> None:
        self.name, self.rows, self.callback = name, rows, callback
        self._changed = threading.Condition(lock())
        self._free = rows
        self._open = False

    def reset(self) -> None:
        """A new iterator begins."""
        with self._changed:
            self._free = self.rows
            self._changed.notify_all()

    def release(self, rows: int | None, data: Any) -> None:
        """Let rows more pass, by default as many as at first, and tell the callback."""
        with self._changed:
            self._free += self.rows if rows is None else rows
            if self.callback is not None:
                self.callback(data)
            self._changed.notify_all()

    def open(self) -> None:
        """Let everything pass from now on."""
        with self._changed:
            self._open = True
            self._changed.notify_all()

    def pass_through(self, wait: bool) -> int:
        """How many rows may pass now, after a wait for the first; without `wait` there is always one."""
        with self._changed:
            seconds = config.get_callback_timeout()
            if wait and not self._changed.wait_for(lambda: self._free > 0 or self._open, seconds):
                _logger.warning(
                    "sync_wait: no sync_update(%r) for %s seconds: nothing waits any more", self.name, seconds
                )
                self._open = True
            return INT32_MAX if self._open else max(self._free, 1)

    def passed(self, rows: int) -> None:
        """So many have passed."""
        with self._changed:
            self._free -= rows


class _WaitStream(OfOne):
    def __init__(self, child: Stream, gate: Gate, run: Run) -> None:
        super().__init__(child)
        self._gate, self._run = gate, run
        self._closed = False

    def close(self) -> None:
        """The iterator is closed: a thread that waits here goes on, to find that there is nothing more to do."""
        self._closed = True
        self._gate.open()

    def read(self, count: int) -> Rows | None:
        # Without a thread rows are computed when they are asked for: whoever asks would wait for itself.
        free = self._gate.pass_through(wait=self._run.parallel)
        rows = None if self._closed else self._child.read(min(count, free))
        if rows is not None:
            self._gate.passed(rows.count)
        return rows

    def skip(self, count: int) -> int:
        return self._child.skip(count)


@node("sync_wait")
class SyncWaitDataset(Dataset):
    """A data set whose rows wait for sync_update (MindSpore: SyncWaitDataset)."""

    in_python = True
    waits = True

    def __init__(self, child: Dataset, condition_name: str, num_batch: int, callback: Any) -> None:
        string("sync_wait", "condition_name", condition_name)
        if callback is not None:
            function("sync_wait", "callback", callback)
        rows = integer("sync_wait", "num_batch", num_batch, 1, INT32_MAX)
        if condition_name in child.get_sync_notifiers():
            raise DataError(f"sync_wait: there is a condition {condition_name!r} already", loc=user_loc())
        self.gate = Gate(condition_name, rows, callback)
        super().__init__((child,), child.get_col_names())

    def open(self, run: Run) -> Stream:
        stream = _WaitStream(self.children[0].open(run), self.gate, run)
        self.gate.reset()
        run.closers.append(stream.close)
        return stream

    def count(self) -> int | None:
        return self.children[0].count()


def gates(dataset: Dataset) -> list[Gate]:
    """Those of a pipeline, from its end to its sources."""
    own = [dataset.gate] if isinstance(dataset, SyncWaitDataset) else []
    return [*own, *(gate for child in dataset.children for gate in gates(child))]


def update(dataset: Dataset, condition_name: str, num_batch: int | None, data: Any) -> None:
    """sync_update. DataError, a RuntimeError, for a condition that is not there; nothing waits any more then."""
    known = {gate.name: gate for gate in gates(dataset)}
    try:
        string("sync_update", "condition_name", condition_name)
        if condition_name not in known:
            there = ", ".join(map(repr, known)) or "none"
            raise DataError(f"sync_update: there is no condition {condition_name!r}, there are {there}", loc=user_loc())
        rows = None if num_batch is None else integer("sync_update", "num_batch", num_batch, 1, INT32_MAX)
    except (ArgumentTypeError, ArgumentValueError, DataError):
        for gate in known.values():
            gate.open()
        raise
    known[condition_name].release(None if rows is None else rows * max(dataset.get_batch_size(), 1), data)


maker("gates", gates)
maker("sync_update", update)
