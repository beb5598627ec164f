"""Bound programs that run as machine code."""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from graphc_codegen.forks import renew
from graphc_codegen.links import table
from graphc_codegen.object_code.loading import Loaded
from graphc_codegen.object_code.numba_step import ENTRY, INTERRUPTED
from graphc_codegen.program import ALIGNMENT, Buffer, Call, may_fail
from graphc_codegen.run.bound import Array, Bound, aligned_bytes
from graphc_codegen.run.interrupts import watch
from graphc_codegen.run.peak import Clock
from graphc_codegen.run.queue import loop, make_plan, run_plan
from graphc_codegen.run.threads import Pool
from graphc_codegen.scalars.halves import numpy_dtype
from graphc_codegen.text.render import Rendered
from graphc_codegen.thread_context import CONTEXT, COUNTED, SCRATCH, WORDS

#: Bytes of a result that is sooner made in new memory than copied there.
_LARGE = 1 << 16

_Byte = ctypes.c_char
Made = TypeVar("Made")


class NativeBound(Bound):
    """A bound program that runs as machine code.

    `context` is the address to call the entry with; it stays valid, with the inputs of the last run, as long
    as this object lives. A step of several threads needs a `pool` of as many.
    """

    def __init__(
        self,
        rendered: Rendered,
        loaded: Loaded,
        pool: Pool | None,
        params: Sequence[Array],
        consts: Sequence[Array],
        cache_dir: Path | None = None,
    ) -> None:
        super().__init__(rendered, params, consts)
        self._cache_dir = cache_dir
        renew(self)
        program, slots = rendered.program, rendered.slots
        self._threads = program.threads
        # Windows move: then each thread has a table of its own.
        tables = self._threads if rendered.loops else 1
        width = -(-max(1, len(slots)) * 8 // ALIGNMENT) * ALIGNMENT
        self._tables = aligned_bytes(tables * width).view(np.int64).reshape(tables, -1)
        width = -(-max(1, len(rendered.loops)) * 8 // ALIGNMENT) * ALIGNMENT
        self._turns = aligned_bytes(self._threads * width).view(np.int64).reshape(self._threads, -1)
        self._pool = pool
        if pool is not None:
            pool.start()
        self._loops = program.has_loops()
        self._clock = Clock(cache_dir) if program.profile else None
        self._contexts = self._make_contexts(len(slots) if program.profile else 0)
        self.context = int(self._contexts.ctypes.data)
        self._interrupt = self._contexts[0, WORDS["interrupt"] :]
        self._interrupted = self._contexts[:, WORDS["interrupted"]]
        self._loaded = loaded  # with the last reference the code would go
        self._entry = loaded.function(ENTRY)
        self._begin_loops()
        base = self._base = int(self._arena.ctypes.data)
        entries: dict[int, list[int]] = {}
        for slot, id in enumerate(slots):
            buffer = self._buffers[id]
            if buffer.space == "arena":
                self._tables[:, slot] = base + buffer.position
            elif buffer.space == "input":
                entries.setdefault(buffer.position, []).append(slot)
            elif buffer.space != "window":
                self._tables[:, slot] = self._view(buffer).ctypes.data
        # Results that are made in new memory, with their places in all tables; the memory of the last run's.
        self._places = self._tables.reshape(-1)
        self._given: list[tuple[Buffer, list[int], _Results]] = []
        self._fresh: dict[int, Array] = {}
        self._count = 1 + max((b.position for b in self._inputs), default=-1)
        self._entries = [np.array(entries.get(k, []), np.intp) for k in range(self._count)]
        self._bound: list[Any] = [None] * self._count

    def _make_contexts(self, counted: int) -> Array:
        """One row of words per thread, see `writer.WORDS`; with counters for so many places of the pointer table."""
        count = self._threads
        self._shared = aligned_bytes(2 * ALIGNMENT + count * SCRATCH)
        # At which meeting of the threads loops end, beside the number of their last one: see `goes_on` in kernels.ll.j2.
        self._meeting = self._shared[ALIGNMENT:].view(np.int64)[2:3]
        # Lines of the first cache are not shared by the tickets of different threads.
        self._tickets = aligned_bytes(count * self._tables[0].nbytes).reshape(count, -1)
        self._profile = np.zeros((count, counted, len(COUNTED)), np.int64)
        self._failure = aligned_bytes(ALIGNMENT).view(np.int64)
        rows = aligned_bytes(count * CONTEXT).view(np.int64).reshape(count, -1)
        base = int(self._shared.ctypes.data)
        tables = np.broadcast_to(self._tables, (count, self._tables.shape[1]))
        rows[:, WORDS["table"]] = [int(t.ctypes.data) for t in tables]
        rows[:, WORDS["loops"]] = [int(t.ctypes.data) for t in self._turns]
        rows[:, WORDS["thread"]] = range(count)
        rows[:, WORDS["barrier"]] = base
        rows[:, WORDS["scratch"]] = base + 2 * ALIGNMENT
        rows[:, WORDS["pool"]] = self._pool.address if self._pool else 0
        rows[:, WORDS["watch"]] = self._pool.watch if self._pool else 0
        rows[:, WORDS["tickets"]] = [int(t.ctypes.data) for t in self._tickets]
        rows[:, WORDS["links"]] = table.ctypes.data
        rows[:, WORDS["failure"]] = self._failure.ctypes.data
        rows[:, WORDS["profile"]] = [int(p.ctypes.data) for p in self._profile]
        return rows

    def forget(self) -> None:
        """In the child of a fork: no thread has come to a meeting, and none has asked for turns."""
        for memory in (self._shared, self._tickets, self._failure):
            memory[:] = 0

    def counts(self) -> list[tuple[Call, Array]]:
        if self._clock is None:
            return []
        places: dict[int, list[int]] = {}
        for call, first in self._rendered.calls:  # In the order in which they were laid out.
            places.setdefault(id(call), []).append(first)
        return [(call, self._profile[:, places[id(call)].pop(0)].copy()) for call in self._rendered.program.calls()]

    def tick(self) -> float:
        if self._clock is None:
            return super().tick()
        return self._clock.seconds()

    def run(self, inputs: Sequence[Array]) -> None:
        if not self._lock.acquire(blocking=False):
            raise RuntimeError("another thread is running this bound program")
        try:
            self._take(inputs)
            self._put_results()
            status = self._interruptible(self._entry) if self._loops else self._entry(self.context)
        finally:
            self._put_back()
            self._lock.release()
        if status:
            raise self._failed(status)

    def readers(
        self, results: Sequence[tuple[int, tuple[int, ...], str]], *, kept: bool = False
    ) -> list[Callable[[], Array]]:
        readers = super().readers(results, kept=kept)
        times = Counter(id for id, *_ in results)
        windows = {b.position for b in self._buffers.values() if b.space == "window"}
        slots: dict[int, list[int]] = {}
        for slot, id in enumerate(self._rendered.slots):
            slots.setdefault(id, []).append(slot)
        self._given = []
        for k, (id, shape, dtype) in enumerate(results):
            buffer = self._buffers[id]
            alone = times[id] == 1 and id not in windows and id in slots
            if kept or not alone or buffer.space != "arena" or buffer.nbytes < _LARGE:
                continue
            each = range(0, self._tables.size, self._tables.shape[1])
            self._given.append((buffer, [table + slot for table in each for slot in slots[id]], _Results(shape, dtype)))
            readers[k] = partial(self._give, buffer, (shape, dtype), readers[k])
        return readers

    def _give(self, buffer: Buffer, type: tuple[tuple[int, ...], str], copied: Callable[[], Array]) -> Array:
        """The memory of a result of the last run; if it was given away, or the entry was called otherwise, a copy of the
        program's.
        """
        made = self._fresh.pop(buffer.id, None)
        if made is None:
            return copied()
        return made if made.shape == type[0] else made.view(numpy_dtype(type[1])).reshape(type[0])

    def _put_results(self) -> None:
        """Write addresses of new memory into the pointer table."""
        for buffer, places, results in self._given:
            memory = results.spare.pop() if results.spare else results.made(buffer.nbytes)
            self._fresh[buffer.id] = np.asarray(_Lent(memory, results.spare))
            for place in places:
                self._places[place] = memory.address

    def _put_back(self) -> None:
        for buffer, places, _ in self._given:
            for place in places:
                self._places[place] = self._base + buffer.position

    def run_many(self, queue: Sequence[Array], steps: int, kept: Sequence[int]) -> list[Array]:
        buffers = [self._buffers[id] for id in kept]
        arrays = [np.empty((steps, *b.shape), numpy_dtype(b.dtype)) for b in buffers]
        if not steps:
            return arrays
        inputs = [
            (int(table.ctypes.data) + 8 * int(slot), int(batches.ctypes.data), batches[0, ...].nbytes)
            for batches, slots in zip(queue, self._entries, strict=True)
            for slot in slots
            for table in self._tables
        ]
        results = [
            (int(self._view(b).ctypes.data), int(array.ctypes.data), b.nbytes)
            for b, array in zip(buffers, arrays, strict=True)
        ]
        plan = make_plan(self._loaded.addresses[ENTRY], steps, inputs, results)
        code = loop(self._cache_dir)
        if not self._lock.acquire(blocking=False):
            raise RuntimeError("another thread is running this bound program")
        try:
            self._take([batches[0, ...] for batches in queue])
            whole = partial(run_plan, code, plan=plan)
            done, status = self._interruptible(whole) if self._loops else whole(self.context)
            # The table's last addresses are those of the last step.
            self._bound = [batches[min(done, steps - 1), ...] for batches in queue]
        finally:
            self._lock.release()
        if status:
            raise self._failed(status)
        return arrays

    def bind_inputs(self, inputs: Sequence[Array]) -> None:
        """Let the entry read these arrays, which the caller guarantees as for `run`, when it is called by address."""
        self._take(inputs)

    def _take(self, inputs: Sequence[Array]) -> None:
        """Write the addresses of the inputs into the pointer table, and forget results that nobody has read; the pool's threads
        are there, also after a fork.
        """
        if self._pool is not None and not self._pool.ready:
            self._pool.start()
        self._fresh.clear()
        bound = self._bound
        if len(inputs) != len(bound):
            raise RuntimeError(f"the program has {len(bound)} inputs, got {len(inputs)}")
        for k, array in enumerate(inputs):
            if array is not bound[k]:
                # The reference keeps the address valid until the next array takes its place.
                bound[k] = array
                self._tables[:, self._entries[k]] = _address(array)

    def _interruptible(self, entry: Callable[[int], Made]) -> Made:
        """entry(context) of a step with loops, which Ctrl-C ends. Raises what Python's handler of the signal does."""
        self._resume()
        try:
            return watch.call(entry, self.context, self._interrupt)
        except BaseException:
            self._resume()
            raise

    def _resume(self) -> None:
        """Forget an interrupt: a user's own loop may call the entry next."""
        self._interrupt[0] = self._meeting[0] = 0
        self._interrupted[:] = 0
        self._begin_loops()

    def _begin_loops(self) -> None:
        """No For is in the middle of its turns."""
        self._turns[:, : len(self._rendered.loops)] = self._rendered.loops

    def _failed(self, status: int) -> BaseException:
        """What made the step end with a status that is not 0."""
        if status == INTERRUPTED:
            # Python's handler has run, and has raised nothing.
            self._resume()
            return KeyboardInterrupt("a compiled loop was ended by Ctrl-C")
        place = int(self._failure[0]) - 1
        for call, first in self._rendered.calls:
            if first == place and may_fail(call.kernel):
                from graphc_codegen.run.failures import failed  # A step from the object cache needs no emitter.

                return failed(call, [self._view(self._buffers[b]) for b in call.args])
        return RuntimeError(f"the compiled step returned status {status}")

    def _input(self, buffer: Buffer) -> Array:
        array = self._bound[buffer.position]
        if array is None:
            raise RuntimeError(f"input {buffer.position} (buffer {buffer.id}) has no value before the first run")
        return np.asarray(array)


class _Memory(NamedTuple):
    """Memory of a result, its address, and what NumPy is told of it: both take longer to make than an array."""

    array: Array
    address: int
    interface: dict[str, Any]


class _Results:
    """The memory of one of a program's results: what is `spare` for the next run."""

    def __init__(self, shape: tuple[int, ...], dtype: str) -> None:
        self.spare: list[_Memory] = []
        type = numpy_dtype(dtype)
        # Types that NumPy has no name for are bytes to it.
        self._type = (shape, type.str) if np.dtype(type.str) == type else None

    def made(self, size: int) -> _Memory:
        """Memory of so many bytes."""
        array = aligned_bytes(size, zeros=False)
        address, (shape, type) = _address(array), self._type or ((size,), "|u1")
        return _Memory(array, address, {"shape": shape, "typestr": type, "data": (address, False), "version": 3})


class _Lent:
    """Memory of a result, by NumPy's array interface. With the last array of it gone it is `spare` for the next run, unless
    there is other memory: if it went back to the system with each run, its pages would be made anew as often.
    """

    def __init__(self, memory: _Memory, spare: list[_Memory]) -> None:
        self._memory, self._spare = memory, spare
        self.__array_interface__ = memory.interface

    def __del__(self) -> None:
        if not self._spare:
            self._spare.append(self._memory)


def _address(array: Array) -> int:
    """The address of an array's first element, the cheapest way there is (0.3 us instead of 1)."""
    try:
        return ctypes.addressof(_Byte.from_buffer(array))  # type: ignore[arg-type]
    except (TypeError, ValueError, BufferError):  # read-only, or without elements
        return int(array.__array_interface__["data"][0])
