"""The thread pool that runs steps of several threads.

A step is one function that all its threads run, each with a context of its own (SPMD). The pool has a worker for every thread
but the first, which is the caller's. Workers are daemon threads of Python inside one native call, so they hold no lock of the
interpreter. Between steps they spin for a moment, then sleep.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import threading
from functools import cache
from pathlib import Path

import numpy as np

from graphc_codegen.errors import CodegenError
from graphc_codegen.forks import lock, renew
from graphc_codegen.object_code.loading import Loaded, load
from graphc_codegen.object_code.support import compiled_once
from graphc_codegen.target import Target, host
from graphc_codegen.text.render import template, waiting
from graphc_codegen.thread_context import CONTEXT

#: The words of a pool's memory, by name. What different threads write lies in cache lines apart. Worker k has
#: `stride` words from `first` + k * `stride`: whether it sleeps, then a semaphore to wake it, or a pipe's ends.
WORDS = {
    "run": 0, "task": 1, "context": 2, "workers": 3, "stop": 4, "patience": 5, "lock": 8, "queue": 9, "watch": 10, "round": 16,
    "left": 24, "finished": 32, "sleepers": 33, "first": 40, "stride": 16,
}  # fmt: skip
#: Turns that a worker waits for the next step before it sleeps: very roughly a millisecond.
_IDLE_SPINS = 30_000
_RUN, _WORK = "graphc_pool_run", "graphc_pool_work"


class _Semaphores:
    """What wakes workers of Linux: a semaphore of the C library at the address of each."""

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None)

    def make(self, address: int) -> None:
        """Raises CodegenError when the system has none."""
        if self._libc.sem_init(ctypes.c_void_p(address), 0, 0):
            raise CodegenError("this system has no semaphores to wake threads with; set GRAPHC_NUM_THREADS=1")

    def wake(self, address: int) -> None:
        self._libc.sem_post(ctypes.c_void_p(address))

    def close(self) -> None:
        """They are memory of the pool's."""


class _Pipes:
    """What wakes workers elsewhere, as on macOS, which has no semaphores without a name: a byte that goes through a pipe. Its
    ends are two words of int32 at the address.
    """

    def __init__(self) -> None:
        self._open: list[int] = []

    def make(self, address: int) -> None:
        """Raises CodegenError when the process may open no more files."""
        try:
            ends = os.pipe()
        except OSError as error:
            self.close()
            raise CodegenError(f"there is no pipe to wake a thread with ({error}); set GRAPHC_NUM_THREADS=1") from None
        self._open += ends
        (ctypes.c_int32 * 2).from_address(address)[:] = list(ends)

    def wake(self, address: int) -> None:
        os.write((ctypes.c_int32 * 2).from_address(address)[1], b"\0")

    def close(self) -> None:
        while self._open:
            os.close(self._open.pop())


class Pool:
    """`threads - 1` workers, started on first use and again after a fork. `address` is what contexts refer to."""

    def __init__(self, threads: int, cache_dir: Path | None) -> None:
        self.threads = threads
        self._code = _native(cache_dir)
        memory = np.zeros(WORDS["first"] + WORDS["stride"] * threads + 8, np.int64)
        skip = -int(memory.ctypes.data) % 64 // 8
        self._memory = memory[skip:]
        self.address = int(self._memory.ctypes.data)
        #: What tells whether others want the CPUs, see wait.ll.j2.
        self.watch = self.address + 8 * WORDS["watch"]
        self._workers: list[threading.Thread] = []
        self._wakes = _Semaphores() if host().futex else _Pipes()
        self.ready = False
        self._starting = lock()
        renew(self)

    def start(self) -> None:
        """Start the workers. Raises CodegenError when the system has no threads, or nothing to wake them with."""
        with self._starting:
            if self.ready:
                return
            words = self._memory
            words[:] = 0
            words[WORDS["run"]] = self._code.addresses[_RUN]
            words[WORDS["workers"]] = self.threads - 1
            words[WORDS["watch"] + 3] = apart(self.threads)
            for k in range(self.threads - 1):
                self._wakes.make(self._semaphore(k))
            work = self._code.function(_WORK, words=3)
            self._workers = [
                threading.Thread(target=work, args=(self.address, k, 0), daemon=True, name=f"graphc-{k + 1}")
                for k in range(self.threads - 1)
            ]
            try:
                for worker in self._workers:
                    worker.start()
            except RuntimeError as error:
                self._end()
                raise CodegenError(
                    f"cannot start {self.threads - 1} threads ({error}); set GRAPHC_NUM_THREADS"
                ) from None
            self.ready = True

    def forget(self) -> None:
        """In the child of a fork: the workers exist no more."""
        self.ready = False
        self._workers = []
        self._wakes.close()

    def stop(self) -> None:
        """End the workers, and wait for them."""
        if self.ready:
            self.ready = False
            self._end()

    def _end(self) -> None:
        self._memory[WORDS["stop"]] = 1
        self._memory[WORDS["round"]] += 1
        for k, worker in enumerate(self._workers):
            self._wakes.wake(self._semaphore(k))
            if worker.ident is not None:
                worker.join(1.0)
        if not any(worker.is_alive() for worker in self._workers):
            self._wakes.close()

    def _semaphore(self, worker: int) -> int:
        return self.address + 8 * (WORDS["first"] + WORDS["stride"] * worker + 1)


_pools: dict[int, Pool] = {}
_making = lock()


def pool(threads: int, cache_dir: Path | None) -> Pool:
    """The pool of this process for steps of so many threads."""
    with _making:
        if threads not in _pools:
            if not _pools:
                atexit.register(_stop_all)
            _pools[threads] = Pool(threads, cache_dir)
        return _pools[threads]


def _stop_all() -> None:
    for each in _pools.values():
        each.stop()


def apart(threads: int) -> int:
    """Nanoseconds in which it is not rare that a process of so many threads must leave a CPU to others: on two CPUs shared by two
    such processes a thread does every 30 to 500 us, alone every 20 ms and more.
    """
    return 2_000_000 // threads


def render_pool(target: Target) -> str:
    """The IR of the pool's functions."""
    text: str = template("pool.ll.j2").render(words=WORDS, context=CONTEXT, idle_spins=_IDLE_SPINS, **waiting(target))
    return text


@cache
def _native(cache_dir: Path | None) -> Loaded:
    """The loaded functions of the pool."""
    return load(pool_objects(cache_dir), [_RUN, _WORK], host())


def pool_objects(cache_dir: Path | None) -> list[bytes]:
    """The object code of the pool."""

    def make(target: Target) -> list[bytes]:
        from graphc_codegen.object_code import llvm_modules  # A step from the object cache needs no emitter.

        return [llvm_modules.compile_module(render_pool(target), target)]

    return compiled_once("pool", _RUN, cache_dir, make)
