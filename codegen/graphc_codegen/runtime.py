"""Compiled programs, and their binding to memory."""

from __future__ import annotations

import ctypes
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from graphc_codegen.errors import CanaryError, CodegenError
from graphc_codegen.halves import numpy_dtype
from graphc_codegen.program import ALIGNMENT, Buffer, Call, Program, is_custom
from graphc_codegen.render import Rendered, render
from graphc_codegen.target import Target, host
from graphc_codegen.threads import Pool, pool
from graphc_codegen.writer import CONTEXT, SCRATCH, WORDS

Array = np.ndarray[Any, np.dtype[Any]]
_CANARY = 0xC5
_Byte = ctypes.c_char


@dataclass(frozen=True)
class Executable:
    """A compiled program and how it came to be.

    `cache_hit` says that the object code was found in the cache; `compile_seconds` the time of every stage.
    With `checked` the step runs as plain Python on NumPy kernels.
    """

    program: Program
    checked: bool
    cache_hit: bool
    compile_seconds: dict[str, float]
    _rendered: Rendered = field(repr=False)
    _loaded: Any = field(repr=False)
    _cache_dir: Path | None = field(repr=False, default=None)

    @property
    def source(self) -> str:
        """The generated step, Python for Numba."""
        return self._rendered.source

    @property
    def kernels(self) -> str:
        """The generated kernels, LLVM IR."""
        return self._rendered.kernels

    @property
    def entry_address(self) -> int:
        """Address of the C entry `int32 (int64 ctx)`, for a user's njit loop: see `NativeBound.context`.

        Raises CodegenError in checked mode, which has no native code.
        """
        if self._loaded is None:
            raise CodegenError("a checked program has no native entry")
        from graphc_codegen.build import ENTRY

        return int(self._loaded.addresses[ENTRY])

    def bind(self, params: Sequence[Array], consts: Sequence[Array]) -> Bound:
        """Allocate the arena and tie the program to its parameters and constants.

        Arrays of bfloat16 buffers, here, as inputs and as read, have the dtype `ml_dtypes.bfloat16`.
        Raises ValueError when an array does not have its buffer's dtype and size, is not C-contiguous, or is
        a parameter that cannot be written.
        """
        if self.checked:
            from graphc_codegen.checked import CheckedBound

            return CheckedBound(self, params, consts)
        return NativeBound(self, params, consts)


def compile_program(
    program: Program,
    *,
    cache_dir: Path | None,
    checked: bool = False,
    target: Target | None = None,
    compile_threads: int = 1,
) -> Executable:
    """Compile a program for this machine (or `target`).

    `cache_dir` is the directory of the object cache, None for no cache. With `checked` nothing is compiled:
    the step runs in Python, every kernel as its NumPy twin, and every access is checked. LLVM works on
    `compile_threads` threads, beside the caller's. Raises CodegenError when the program contradicts itself or a
    compiler refuses it, KernelError when Numba refuses a user's function.
    """
    seconds: dict[str, float] = {}
    started = time.perf_counter()
    target = target or host()
    rendered = render(program, target)
    seconds["layout"] = time.perf_counter() - started
    if checked:
        from graphc_codegen.validate import validate

        validate(program)
        return Executable(program, checked, False, seconds, rendered, None, cache_dir)
    loaded, hit = _load(rendered, cache_dir, compile_threads, seconds)
    return Executable(program, checked, hit, seconds, rendered, loaded, cache_dir)


def _load(
    rendered: Rendered, cache_dir: Path | None, compile_threads: int, seconds: dict[str, float]
) -> tuple[Any, bool]:
    from graphc_codegen import build, cache

    functions: Mapping[str, build.Imported] = {}
    if any(map(is_custom, rendered.program.kernels().values())):
        functions = _functions(rendered.program, seconds)
    # What a user's function does, its globals and what it calls, is in no key: such programs stay out of the cache.
    store = cache.ObjectCache(cache_dir) if cache_dir is not None and not functions else None
    name = cache.key(rendered.key_material, rendered.target.key)
    objects = store.load(name) if store else None
    hit = objects is not None
    if objects is None:
        from graphc_codegen.validate import validate

        validate(rendered.program)  # A hit is a program that has been valid before.
        objects = build.compile_objects(rendered, seconds, cache_dir, compile_threads, functions)
        if store:
            store.store(name, objects, build.ENTRY)
    started = time.perf_counter()
    loaded = build.load(objects, [build.ENTRY], rendered.target, functions)
    seconds["load"] = time.perf_counter() - started
    return loaded, hit


def _functions(program: Program, seconds: dict[str, float]) -> Mapping[str, Any]:
    """The users' functions of a valid program, compiled. Raises CodegenError, KernelError."""
    from graphc_codegen.custom import compile_functions
    from graphc_codegen.validate import validate

    validate(program)
    started = time.perf_counter()
    found = compile_functions(program)
    seconds["functions"] = time.perf_counter() - started
    return found


def aligned_bytes(count: int) -> Array:
    """Zeroed bytes that start at a multiple of ALIGNMENT."""
    block = np.zeros(count + ALIGNMENT, np.uint8)
    skip = -int(block.ctypes.data) % ALIGNMENT
    return block[skip : skip + count]


class Bound(ABC):
    """A program with its memory: arena, parameters, constants. One thread at a time can run it."""

    def __init__(self, executable: Executable, params: Sequence[Array], consts: Sequence[Array]) -> None:
        self.executable = executable
        program = executable.program
        self._buffers = {b.id: b for b in program.buffers}
        self._inputs = sorted((b for b in program.buffers if b.space == "input"), key=lambda b: b.position)
        self._params = _arrays(program, "param", params)
        self._consts = _arrays(program, "const", consts)
        self._arena = aligned_bytes(program.arena)
        self._gaps = _gaps(program) if program.gap > 0 else []
        for start, stop, _ in self._gaps:
            self._arena[start:stop] = _CANARY
        self._lock = threading.Lock()

    @abstractmethod
    def run(self, inputs: Sequence[Array]) -> None:
        """Run one step on inputs in the order of their positions.

        The caller guarantees their dtypes, shapes and C-contiguity. Raises RuntimeError when another thread
        is running the same object, or when the number of inputs is wrong; KernelError when a user's function fails:
        nothing of the step has been done after it.
        """

    def timings(self) -> list[tuple[Call, Array]]:
        """Every call with seconds [threads, 2] spent waiting before it and working in it; none but in a profile build."""
        return []

    @abstractmethod
    def _input(self, buffer: Buffer) -> Array:
        """The array that stood for an input in the last run."""

    def read(self, buffer_id: int) -> Array:
        """A copy of a buffer, with its shape and dtype. Raises KeyError for an unknown buffer."""
        return self.reader(buffer_id)()

    def reader(self, buffer_id: int, shape: tuple[int, ...] | None = None) -> Callable[[], Array]:
        """What returns a copy of a buffer at the time of the call, maybe in another shape. Raises KeyError as `read`."""
        buffer = self._buffers[buffer_id]
        shape = buffer.shape if shape is None else shape
        if buffer.space == "input":  # each run may have another array
            return lambda: self._view(buffer).reshape(shape).copy()
        return self._view(buffer).reshape(shape).copy

    def check_canaries(self) -> None:
        """Raise CanaryError, naming the neighbours, if bytes between arena buffers changed since the binding.

        Only programs with a gap have canaries; for others nothing happens.
        """
        for start, stop, neighbours in self._gaps:
            changed = np.flatnonzero(self._arena[start:stop] != _CANARY)
            if changed.size:
                raise CanaryError(
                    f"bytes {start + changed[0]}..{start + changed[-1]} of the arena were overwritten, "
                    "beside buffers " + ", ".join(map(str, neighbours))
                )

    def _view(self, buffer: Buffer) -> Array:
        """The flat array behind a buffer."""
        if buffer.space == "arena":
            return self._arena[buffer.position : buffer.position + buffer.nbytes].view(numpy_dtype(buffer.dtype))
        if buffer.space == "input":
            return self._input(buffer).reshape(-1)
        return (self._params if buffer.space == "param" else self._consts)[buffer.position].reshape(-1)


def _arrays(program: Program, space: str, arrays: Sequence[Array]) -> list[Array]:
    buffers = [b for b in program.buffers if b.space == space]
    needed = 1 + max((b.position for b in buffers), default=-1)
    if len(arrays) < needed:
        raise ValueError(f"the program needs {needed} {space}s, got {len(arrays)}")
    for b in buffers:
        a, name = arrays[b.position], f"{space} {b.position} (buffer {b.id})"
        if a.dtype.name != b.dtype or a.size != b.size:
            raise ValueError(f"{name} must be {b.dtype} with {b.size} elements, not {a.dtype.name} with {a.size}")
        if not a.flags.c_contiguous or not a.flags.aligned or not a.dtype.isnative:
            raise ValueError(f"{name} must be a C-contiguous, aligned array")
        if space == "param" and not a.flags.writeable:
            raise ValueError(f"{name} is read-only, but parameters are updated in place")
    return list(arrays)


def _gaps(program: Program) -> list[tuple[int, int, list[int]]]:
    """Byte ranges of the arena that belong to no buffer at any time, and the buffers beside them."""
    buffers = sorted((b for b in program.buffers if b.space == "arena" and b.nbytes), key=lambda b: b.position)
    gaps: list[tuple[int, int]] = []
    end = 0
    for b in buffers:
        if b.position > end:
            gaps.append((end, b.position))
        end = max(end, b.position + b.nbytes)
    if program.arena > end:
        gaps.append((end, program.arena))
    return [
        (start, stop, [b.id for b in buffers if b.position + b.nbytes == start or b.position == stop])
        for start, stop in gaps
    ]


class NativeBound(Bound):
    """A bound program that runs as machine code.

    `context` is the address to call the entry with; it stays valid, with the inputs of the last run, as long
    as this object lives.
    """

    def __init__(self, executable: Executable, params: Sequence[Array], consts: Sequence[Array]) -> None:
        super().__init__(executable, params, consts)
        from graphc_codegen.build import ENTRY

        slots = executable._rendered.slots
        self._table = np.zeros(max(1, len(slots)), np.int64)
        self._threads = executable.program.threads
        self._pool: Pool | None = None
        if self._threads > 1:
            self._pool = pool(self._threads, executable._cache_dir)
            self._pool.start()
        self._profiles, self._seconds = executable.program.profile, 0.0
        self._contexts = self._make_contexts(len(slots) if self._profiles else 0)
        self.context = int(self._contexts.ctypes.data)
        self._entry: Callable[..., int] = executable._loaded.function(ENTRY)
        base = int(self._arena.ctypes.data)
        entries: dict[int, list[int]] = {}
        for slot, id in enumerate(slots):
            buffer = self._buffers[id]
            if buffer.space == "arena":
                self._table[slot] = base + buffer.position
            elif buffer.space == "input":
                entries.setdefault(buffer.position, []).append(slot)
            else:
                self._table[slot] = self._view(buffer).ctypes.data
        self._count = 1 + max((b.position for b in self._inputs), default=-1)
        self._entries = [np.array(entries.get(k, []), np.intp) for k in range(self._count)]
        self._bound: list[Any] = [None] * self._count

    def _make_contexts(self, counted: int) -> Array:
        """One row of words per thread, see `writer.WORDS`; with counters for so many places of the pointer table."""
        count = self._threads
        self._shared = aligned_bytes(2 * ALIGNMENT + count * SCRATCH)
        # Lines of the first cache are not shared by the tickets of different threads.
        self._tickets = aligned_bytes(count * -(-self._table.nbytes // ALIGNMENT) * ALIGNMENT).reshape(count, -1)
        self._profile = np.zeros((count, counted, 2), np.int64)
        self._failure = aligned_bytes(ALIGNMENT).view(np.int64)
        rows = aligned_bytes(count * CONTEXT).view(np.int64).reshape(count, -1)
        base = int(self._shared.ctypes.data)
        rows[:, WORDS["table"]] = self._table.ctypes.data
        rows[:, WORDS["thread"]] = range(count)
        rows[:, WORDS["barrier"]] = base
        rows[:, WORDS["scratch"]] = base + 2 * ALIGNMENT
        rows[:, WORDS["pool"]] = self._pool.address if self._pool else 0
        rows[:, WORDS["tickets"]] = [int(t.ctypes.data) for t in self._tickets]
        rows[:, WORDS["failure"]] = self._failure.ctypes.data
        rows[:, WORDS["profile"]] = [int(p.ctypes.data) for p in self._profile]
        return rows

    def timings(self) -> list[tuple[Call, Array]]:
        # The processor counts cycles; the first thread's are taken to fill the wall time of all runs.
        total = int(self._profile[0].sum())
        scale = self._seconds / total if total else 0.0
        return [(call, self._profile[:, first] * scale) for call, first in self.executable._rendered.calls]

    def run(self, inputs: Sequence[Array]) -> None:
        if not self._lock.acquire(blocking=False):
            raise RuntimeError("another thread is running this bound program")
        try:
            if self._pool is not None and not self._pool.ready:  # after a fork
                self._pool.start()
            bound = self._bound
            if len(inputs) != len(bound):
                raise RuntimeError(f"the program has {len(bound)} inputs, got {len(inputs)}")
            for k, array in enumerate(inputs):
                if array is not bound[k]:
                    # The reference keeps the address valid until the next array takes its place.
                    bound[k] = array
                    self._table[self._entries[k]] = _address(array)
            if self._profiles:
                began = time.perf_counter()
                status = self._entry(self.context)
                self._seconds += time.perf_counter() - began
            else:
                status = self._entry(self.context)
        finally:
            self._lock.release()
        if status:
            raise self._failed(status)

    def _failed(self, status: int) -> RuntimeError:
        """What made the step end with a status that is not 0; the next run may begin."""
        place, self._failure[0] = int(self._failure[0]) - 1, 0
        for call, first in self.executable._rendered.calls:
            if first == place and is_custom(call.kernel):
                from graphc_codegen.custom import failed

                return failed(call, [self._view(self._buffers[b]) for b in call.args])
        return RuntimeError(f"the compiled step returned status {status}")

    def _input(self, buffer: Buffer) -> Array:
        array = self._bound[buffer.position]
        if array is None:
            raise RuntimeError(f"input {buffer.position} (buffer {buffer.id}) has no value before the first run")
        return np.asarray(array)


def _address(array: Array) -> int:
    """The address of an array's first element, the cheapest way there is (0.3 us instead of 1)."""
    try:
        return ctypes.addressof(_Byte.from_buffer(array))  # type: ignore[arg-type]
    except (TypeError, ValueError, BufferError):  # read-only, or without elements
        return int(array.__array_interface__["data"][0])
