"""A program tied to memory: its arena, parameters and constants, and what can be read of them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphc_codegen.errors import CanaryError
from graphc_codegen.forks import lock
from graphc_codegen.program import ALIGNMENT, Buffer, Call, Program
from graphc_codegen.scalars.halves import numpy_dtype
from graphc_codegen.text.render import Rendered
from graphc_codegen.thread_context import COUNTED

Array = np.ndarray[Any, np.dtype[Any]]
_CANARY = 0xC5


def aligned_bytes(count: int, *, zeros: bool = True) -> Array:
    """Bytes that start at a multiple of ALIGNMENT, zeroed or not."""
    block = (np.zeros if zeros else np.empty)(count + ALIGNMENT, np.uint8)
    skip = -int(block.ctypes.data) % ALIGNMENT
    return block[skip : skip + count]


class Bound(ABC):
    """A program with its memory: arena, parameters, constants. One thread at a time can run it."""

    def __init__(self, rendered: Rendered, params: Sequence[Array], consts: Sequence[Array]) -> None:
        self._rendered = rendered
        program = rendered.program
        self._buffers = {b.id: b for b in program.buffers}
        self._inputs = sorted((b for b in program.buffers if b.space == "input"), key=lambda b: b.position)
        self._params = _arrays(program, "param", params)
        self._consts = _arrays(program, "const", consts)
        self._arena = aligned_bytes(program.arena)
        self._gaps = _gaps(program) if program.gap > 0 else []
        if self._gaps:
            # NaN: what nobody has written should not pass for a zero.
            self._arena[:] = 0xFF
        for start, stop, _ in self._gaps:
            self._arena[start:stop] = _CANARY
        self._lock = lock()

    @abstractmethod
    def run(self, inputs: Sequence[Array]) -> None:
        """Run one step on inputs in the order of their positions.

        The caller guarantees their dtypes, shapes and C-contiguity. Raises RuntimeError when another thread
        is running the same object, or when the number of inputs is wrong.
        """

    def run_many(self, queue: Sequence[Array], steps: int, kept: Sequence[int]) -> list[Array]:
        """Run `steps` steps; step i takes `queue[k][i]` as its input k, all of which the caller guarantees as for `run`.

        Returns for every buffer id in `kept`, none of them an input's, an array with its value after each step. What `run`
        raises is raised by the step that fails; those before it are done.
        """
        arrays = [np.empty((steps, *b.shape), numpy_dtype(b.dtype)) for b in map(self._buffers.__getitem__, kept)]
        read = [self.reader(id) for id in kept]
        for step in range(steps):
            self.run([batches[step, ...] for batches in queue])
            for array, value in zip(arrays, read, strict=True):
                array[step] = value()
        return arrays

    def counts(self) -> list[tuple[Call, Array]]:
        """Every call in the order of the program, with what each thread has counted of it in all runs so far, int64 [threads,
        words]: the words are `writer.COUNTED`. None but in a profiling build.
        """
        return []

    def tick(self) -> float:
        """Seconds of a tick of the clock that a profiling build counts by. Raises RuntimeError in others."""
        raise RuntimeError("only a profiling build has a clock")

    def timings(self) -> list[tuple[Call, Array]]:
        """Every call with seconds [threads, 2] spent waiting before it and working in it; none but in a profiling build."""
        counted = self.counts()
        tick = self.tick() if counted else 0.0
        return [(call, count[:, [COUNTED["waited"], COUNTED["worked"]]] * tick) for call, count in counted]

    @abstractmethod
    def _input(self, buffer: Buffer) -> Array:
        """The array that stood for an input in the last run."""

    def read(self, buffer_id: int, shape: tuple[int, ...] | None = None, dtype: str | None = None) -> Array:
        """A copy of a buffer, maybe as `memory` says. Raises KeyError for an unknown buffer."""
        return self.reader(buffer_id, shape, dtype)()

    def reader(
        self, buffer_id: int, shape: tuple[int, ...] | None = None, dtype: str | None = None
    ) -> Callable[[], Array]:
        """What returns a copy of a buffer at the time of the call, maybe as `memory` says. Raises KeyError as `read`."""
        if self._buffers[buffer_id].space == "input":  # each run may have another array
            return lambda: self.memory(buffer_id, shape, dtype).copy()
        return self.memory(buffer_id, shape, dtype).copy

    def readers(
        self, results: Sequence[tuple[int, tuple[int, ...], str]], *, kept: bool = False
    ) -> list[Callable[[], Array]]:
        """A `reader` for every buffer, shape and dtype. Unless they are `kept`, runs may make large results in memory that their
        reader gives away, where nothing else finds them.
        """
        return [self.reader(id, shape, dtype) for id, shape, dtype in results]

    def memory(self, buffer_id: int, shape: tuple[int, ...] | None = None, dtype: str | None = None) -> Array:
        """The memory of a buffer itself, maybe in another shape and dtype, as where pairs of floats are complex numbers; an
        input's is that of the last run. KeyError as `read`.
        """
        buffer = self._buffers[buffer_id]
        view = self._view(buffer)
        if dtype is not None and dtype != buffer.dtype:
            view = view.view(numpy_dtype(dtype))
        return view.reshape(buffer.shape if shape is None else shape)

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
        if buffer.space == "window":
            raise KeyError(f"buffer {buffer.id} lies elsewhere in each turn of a loop")
        return (self._params if buffer.space == "param" else self._consts)[buffer.position].reshape(-1)


def _arrays(program: Program, space: str, arrays: Sequence[Array]) -> list[Array]:
    buffers = [b for b in program.buffers if b.space == space]
    needed = 1 + max((b.position for b in buffers), default=-1)
    if len(arrays) < needed:
        raise ValueError(f"the program needs {needed} {space}s, got {len(arrays)}")
    for b in buffers:
        a, name = as_pairs(arrays[b.position]), f"{space} {b.position} (buffer {b.id})"
        if a.dtype.name != b.dtype or a.size != b.size:
            raise ValueError(f"{name} must be {b.dtype} with {b.size} elements, not {a.dtype.name} with {a.size}")
        if not a.flags.c_contiguous or not a.flags.aligned or not a.dtype.isnative:
            raise ValueError(f"{name} must be a C-contiguous, aligned array")
        if space == "param" and not a.flags.writeable:
            raise ValueError(f"{name} is read-only, but parameters are updated in place")
    return [as_pairs(a) for a in arrays]


def as_pairs(a: Array) -> Array:
    """Complex numbers as pairs of floats along a new last axis, in the same memory if contiguous; others as they are."""
    return a[..., None].view(a.real.dtype) if a.dtype.kind == "c" and a.flags.c_contiguous else a


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
