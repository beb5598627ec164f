"""Worker processes: tasks dealt out in turn, results in order, arrays in memory that both sides map.

The memory has no name and belongs to no folder: it is gone with the processes that map it, however they end.
"""

from __future__ import annotations

import ast
import mmap
import multiprocessing
import os
import pickle
import queue
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import cache
from multiprocessing import reduction
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import numpy as np

from graphc.dataset import config
from graphc.dataset.core.faults import packable, unpacked
from graphc.dataset.core.rows import Rows
from graphc.dataset.core.streams import Done, Run
from graphc.errors import DataError

_ALIGNMENT = 64
#: Whether memory can be handed over as a file descriptor.
_CAN_SHARE = hasattr(os, "memfd_create") and hasattr(reduction, "send_handle")


#: How often an ended process is asked whether it has ended, 10 ms apart.
_TRIES = 100


class Unpicklable(Exception):
    """Why a job cannot go to another process."""


class ProcessWorkers:
    """A Pool (graphc.dataset.core.streams) of processes. Raises Unpicklable if the job cannot be sent to them."""

    def __init__(
        self,
        job: Callable[[Any], Done],
        workers: int,
        ahead: int,
        run: Run,
        method: str | None = None,
        patience: float | None = None,
    ) -> None:
        """method: how they begin, by default as `config` says; patience: how many seconds a result may take, None for ever."""
        method = method or config.get_multiprocessing_start_method()
        context: Any = multiprocessing.get_context(method)
        sent: Any = job
        if method != "fork":
            sent = _pickled(job)
        slots = -(-ahead // workers)
        share = config.get_enable_shared_mem() and _CAN_SHARE
        self._workers: list[_Worker] = []
        closing = self._workers
        run.closers.append(lambda: _end(closing))
        for _ in range(workers):
            here, there = context.Pipe(duplex=True)
            process = context.Process(
                target=_work, args=(there, sent, slots if share else 0), name="graphc-dataset-worker", daemon=True
            )
            process.start()
            there.close()
            self._workers.append(_Worker(process, here, patience))
        self._turns: deque[_Worker] = deque()
        self._submitted = 0

    def from_the_first(self) -> None:
        """The next task is the first worker's."""
        self._submitted = 0

    def submit(self, task: Any) -> None:
        worker = self._workers[self._submitted % len(self._workers)]
        self._submitted += 1
        self._turns.append(worker)
        worker.send(task)

    def result(self) -> Done:
        return self._turns.popleft().receive()


def _pickled(job: Any) -> bytes:
    """The job as bytes that a spawned process can load; Unpicklable if it could not, or would run the whole program again."""
    try:
        sent = pickle.dumps(job, protocol=5)
    except Exception as error:
        raise Unpicklable(f"{type(error).__name__}: {error}") from error
    main = sys.modules.get("__main__")
    file = getattr(main, "__file__", None)
    if getattr(main, "__spec__", None) is None and file is not None and not _is_guarded(file):
        raise Unpicklable('the program has no if __name__ == "__main__":, so a process would run all of it again')
    if b"__main__" in sent and file is None:
        raise Unpicklable("it is defined in an interactive session, which a process cannot import")
    compat = sys.modules.get("graphc.compat.modules")
    if compat is not None and compat.installed():
        raise Unpicklable("in this process `import mindspore` means graphc, in a new one it does not")
    return sent


@cache
def _is_guarded(file: str) -> bool:
    """Whether a program has an `if __name__ == "__main__":` (True where its text is not to be had)."""
    try:
        tree = ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return True
    tests = (n.test for n in tree.body if isinstance(n, ast.If))
    only_definitions = all(isinstance(n, _HARMLESS) for n in tree.body)
    return only_definitions or any("__name__" in ast.unparse(t) for t in tests)


#: Statements that do nothing when a program is imported.
_HARMLESS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)


class _Worker:
    """A worker process as seen from here."""

    def __init__(self, process: Any, connection: Connection, patience: float | None) -> None:
        self.process, self.connection, self._patience = process, connection, patience
        self._maps: dict[int, mmap.mmap] = {}
        self._has_answered = False

    def send(self, task: Any) -> None:
        try:
            self.connection.send(task)
        except OSError as error:
            raise self._death() from error

    def receive(self) -> Done:
        try:
            ready = wait([self.connection, self.process.sentinel], self._patience)
            if not ready:
                raise DataError(
                    f"worker process {self.process.pid} of the data set has given nothing for {self._patience} seconds",
                    code="GC202",
                )
            if self.connection not in ready and not self.connection.poll():
                raise self._death()
            answer = self.connection.recv()
            self._has_answered = True
            return self._done(answer)
        except (EOFError, OSError) as error:
            raise self._death() from error

    def _done(self, answer: tuple[Any, ...]) -> Done:
        count, ids, columns, slot, size, failure, seconds = answer
        if size:
            handle = reduction.recv_handle(self.connection)
            self._maps[slot] = mmap.mmap(handle, size)
            os.close(handle)
        rows = None
        if count:
            rows = Rows(count, [self._column(c, slot) for c in columns], ids)
        return Done(rows, None if failure is None else unpacked(failure), seconds)

    def _column(self, column: Any, slot: int) -> Any:
        """A column that came through the pipe, or a copy of what lies in shared memory."""
        if not isinstance(column, tuple):
            return column
        dtype, shape, offset = column
        size = int(np.prod(shape))
        return np.frombuffer(self._maps[slot], dtype, size, offset).reshape(shape).copy()

    def _death(self) -> DataError:
        self.process.join(1)
        code = self.process.exitcode
        how = f"was killed by signal {-code}" if code is not None and code < 0 else f"ended with exit code {code}"
        help = None
        if not self._has_answered and (code or 0) > 0:
            help = "its own message stands above; python_multiprocessing=False uses threads"
        return DataError(f"worker process {self.process.pid} of the data set {how}", code="GC202", help=help)


def _end(workers: list[_Worker]) -> None:
    for worker in workers:
        worker.connection.close()
    deadline = time.monotonic() + 0.5
    for worker in workers:
        worker.process.join(max(0.0, deadline - time.monotonic()))
        if worker.process.is_alive():
            worker.process.kill()
            worker.process.join()
        _close(worker.process)
    workers.clear()


def _close(process: Any) -> None:
    """Give back what an ended process takes. The system tells one thread alone that it has ended; that may have been the one that
    reads, which passes it on in a moment.
    """
    for _ in range(_TRIES):
        try:
            process.close()
        except ValueError:
            time.sleep(0.01)
        else:
            return


# ---- in the worker process


def _work(connection: Connection, sent: Any, slots: int) -> None:
    """Do tasks until the other end is gone. Ctrl-C is for the main process, which ends this one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        job = pickle.loads(sent) if isinstance(sent, bytes) else sent
    except Exception as error:
        job = _cannot(error)
    tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
    # Tasks are taken in at once, so that neither side waits for the other to read.
    threading.Thread(target=_take_in, args=(connection, tasks), daemon=True).start()
    memory = [_Slot() for _ in range(slots)]
    turn = 0
    while (task := tasks.get()) is not _NO_MORE:
        start = time.perf_counter()
        done = job(task)
        done.seconds = time.perf_counter() - start
        try:
            _answer(connection, done, memory, turn)
        except OSError:
            return
        turn += 1


def _cannot(error: Exception) -> Callable[[Any], Done]:
    """A job that says why the one that was sent cannot be done."""
    refused = DataError(
        f"a worker process cannot load what it should run: {type(error).__name__}: {error}",
        code="GC202",
        help="define it where it can be imported from, or give python_multiprocessing=False",
    )
    refused.__cause__ = error
    return lambda task: Done(None, refused)


_NO_MORE = object()


def _take_in(connection: Connection, tasks: queue.SimpleQueue[Any]) -> None:
    parent = os.getppid()
    try:
        while True:
            # Copies of the other end may live on in processes that were forked from its own.
            while not connection.poll(2):
                if os.getppid() != parent:
                    raise EOFError
            tasks.put(connection.recv())
    except (EOFError, OSError):
        tasks.put(_NO_MORE)


class _Slot:
    """Memory of one result that has not been fetched yet."""

    def __init__(self) -> None:
        self.map: mmap.mmap | None = None
        self.size = 0

    def grow(self, size: int) -> int:
        """A descriptor of new memory of at least that size."""
        self.size = -(-size * 5 // 4 // mmap.PAGESIZE) * mmap.PAGESIZE
        handle = os.memfd_create("graphc-dataset")
        os.ftruncate(handle, self.size)
        self.map = mmap.mmap(handle, self.size)
        return handle


def _answer(connection: Connection, done: Done, memory: list[_Slot], turn: int) -> None:
    rows, failure = done.rows, None if done.error is None else packable(done.error)
    if rows is None:
        connection.send((0, None, [], 0, 0, failure, done.seconds))
        return
    number = turn % len(memory) if memory else 0
    columns: list[Any] = []
    offset = 0
    for column in rows.columns:
        if memory and isinstance(column, np.ndarray) and column.dtype.kind in "biuf" and column.size:
            columns.append((column.dtype, column.shape, offset))
            offset += -(-column.nbytes // _ALIGNMENT) * _ALIGNMENT
        else:
            columns.append(column)
    handle = None
    if offset:
        slot = memory[number]
        if slot.size < offset:
            handle = slot.grow(offset)
        for column, place in zip(rows.columns, columns, strict=True):
            if isinstance(place, tuple):
                dtype, shape, start = place
                assert slot.map is not None
                np.frombuffer(slot.map, dtype, column.size, start).reshape(shape)[...] = column  # type: ignore[union-attr]
    size = memory[number].size if handle is not None else 0
    connection.send((rows.count, rows.ids, columns, number, size, failure, done.seconds))
    if handle is not None:
        reduction.send_handle(connection, handle, os.getppid())
        os.close(handle)
