"""The checked mode: the generated `step.py` as plain Python, kernels as NumPy twins, every access looked at.

It is the debugger of the native step and its oracle. Nothing of Numba is used. While the step runs, its calls
are compared with the program; every buffer read must have been written in this step, be alive and still own
its bytes of the arena; dead buffers are filled with NaN or 0xA5. Partial writes count: a buffer is written
once any part is.
"""

from __future__ import annotations

import hashlib
import linecache
from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np

from graphc_codegen.dtypes import FLOATS, ITEMSIZE
from graphc_codegen.errors import CheckedError, KernelError
from graphc_codegen.loops import chain_twin, twin
from graphc_codegen.program import (
    ALIGNMENT,
    Buffer,
    Call,
    ChainKernel,
    For,
    If,
    Kernel,
    LoopKernel,
    NamedKernel,
    Stmt,
    While,
    contiguous_strides,
    facts,
    may_overwrite,
    result_domain,
    symbol,
    written,
)
from graphc_codegen.run.bound import Array, Bound, as_pairs
from graphc_codegen.scalars.halves import numpy_dtype
from graphc_codegen.text.functions import LOOP_WORDS, WINDOW_WORDS, safe
from graphc_codegen.text.render import Rendered
from graphc_codegen.validate import Declared, operands

_POISON = 0xA5
_NOBODY = -1


class CheckedBound(Bound):
    """A bound program that runs in Python and raises CheckedError at the first wrong access.

    `observe`, if it is set, is called after every call with it, the arrays that it read and those that it wrote.
    """

    observe: Callable[[Call, list[Array], list[Array]], None] | None = None

    def __init__(self, rendered: Rendered, params: Sequence[Array], consts: Sequence[Array]) -> None:
        super().__init__(rendered, params, consts)
        self._given: list[Array] = []
        self._operands = {name: operands(kernel) for name, kernel in rendered.program.kernels().items()}
        namespace: dict[str, Any] = {name: _kernel(name) for name in self._operands}
        namespace |= {
            "njit": _no_compiler,
            "load_flag": _load_flag,
            "goes_on": _load_flag,
            "ended": _never,
            "turns": _turns,
            "move": _move,
            "__name__": "graphc_step",
        }
        exec(compile(rendered.source, _remember(rendered.source), "exec"), namespace)
        self._step: Callable[[_Step], None] = namespace["step"]

    def run(self, inputs: Sequence[Array]) -> None:
        """Run one step; raises CheckedError also for inputs that do not fit their buffers."""
        if not self._lock.acquire(blocking=False):
            raise RuntimeError("another thread is running this bound program")
        try:
            self._take(inputs)
            step = _Step(self._rendered, self._operands, self._buffers, self._view, self._arena, self.observe)
            self._step(step)
            step.finish()
        finally:
            self._lock.release()

    def _take(self, inputs: Sequence[Array]) -> None:
        needed = 1 + max((b.position for b in self._inputs), default=-1)
        if len(inputs) != needed:
            raise RuntimeError(f"the program has {needed} inputs, got {len(inputs)}")
        for b in self._inputs:
            a = as_pairs(inputs[b.position])
            if a.dtype.name != b.dtype or a.shape != b.shape or not a.flags.c_contiguous:
                raise CheckedError(
                    f"input {b.position} (buffer {b.id}) must be a contiguous {b.dtype}{list(b.shape)}, "
                    f"not {a.dtype.name}{list(a.shape)}"
                )
        self._given = [as_pairs(a) for a in inputs]

    def _input(self, buffer: Buffer) -> Array:
        if not self._given:
            raise RuntimeError(f"input {buffer.position} (buffer {buffer.id}) has no value before the first run")
        return self._given[buffer.position]


def _no_compiler(*args: Any, **options: Any) -> Callable[[Any], Any]:
    """Stands for `numba.njit(signature, ...)`."""
    return lambda function: function


def _kernel(name: str) -> Callable[[_Step, int], None]:
    return lambda step, first: step.call(name, first)


def _load_flag(step: _Step, first: int) -> int:
    return step.flag(first)


def _turns(step: _Step, place: int) -> int:
    return step.turn(place)


def _never(step: _Step) -> int:
    return 0


def _move(step: _Step, at: int) -> None:
    step.base = at


def _remember(source: str) -> str:
    """A file name under which tracebacks and debuggers find the source."""
    name = f"<graphc step {hashlib.sha256(source.encode()).hexdigest()[:12]}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    return name


class _Step:
    """One run: what `ctx` is in the generated code. Follows the program statement by statement."""

    def __init__(
        self,
        rendered: Rendered,
        declared: dict[str, tuple[Declared, ...]],
        buffers: dict[int, Buffer],
        view: Callable[[Buffer], Array],
        arena: Array,
        observe: Callable[[Call, list[Array], list[Array]], None] | None,
    ) -> None:
        self.base = 0
        self._observe = observe
        self._program = rendered.program
        self._slots = rendered.slots
        self._words = list(rendered.loops)
        self._declared = declared
        self._buffers = buffers
        self._view_of = view
        #: Where windows lie now, in bytes.
        self._at: dict[int, int] = {}
        self._arena = arena
        # Buffers start at multiples of ALIGNMENT, so no block of that size belongs to two of them at a time.
        self._owner = np.full(-(-arena.size // ALIGNMENT), _NOBODY, np.int64)
        self._written: set[int] = set()
        self._dead: set[int] = set()
        self._walk = self._statements(self._program.body)
        self._next: Stmt | None = next(self._walk, None)

    # ---- following the program

    def _statements(self, body: Sequence[Stmt]) -> Generator[Stmt, bool, None]:
        """The statements that run, in order. The value of a predicate is sent back."""
        for stmt in body:
            if isinstance(stmt, While):
                yield from self._statements(stmt.condition)
                while (yield stmt):
                    yield from self._statements(stmt.body)
                    yield from self._statements(stmt.condition)
            elif isinstance(stmt, For):
                for turn in range(stmt.count):
                    if not (yield stmt):
                        raise CheckedError(f"{_where(stmt)} ends before turn {turn}")
                    self._at.update((w.buffer, w.begin + turn * w.step) for w in stmt.windows)
                    yield from self._statements(stmt.body)
                if (yield stmt):
                    raise CheckedError(f"{_where(stmt)} has more than {stmt.count} turns")
                for w in stmt.windows:
                    del self._at[w.buffer]
            else:
                taken = yield stmt
                if isinstance(stmt, If):
                    yield from self._statements(stmt.then if taken else stmt.orelse)
            self._bury(stmt.dead)

    def _advance(self, taken: bool = False) -> None:
        try:
            self._next = self._walk.send(taken)
        except StopIteration:
            self._next = None

    def finish(self) -> None:
        """After the last call: nothing of the program may be left."""
        if self._next is not None:
            raise CheckedError(f"the generated step ended before {_where(self._next)}")

    def flag(self, first: int) -> int:
        """The generated code reads a predicate at `first`, or at `~first` if all threads meet before."""
        stmt = self._next
        waits, first = first < 0, max(first, ~first)
        if not isinstance(stmt, (If, While)) or self._slots[first] != stmt.pred or waits != stmt.wait:
            raise CheckedError(f"the generated step reads a predicate where the program has {_where(stmt)}")
        value = bool(self._readable(stmt, stmt.pred)[0])
        self._advance(value)
        return int(value)

    def turn(self, place: int) -> int:
        """The generated code asks whether a For, with the words from `place` on, has another turn; `~place` if all threads meet
        before the first one.
        """
        stmt = self._next
        waits, place = place < 0, max(place, ~place)
        if not isinstance(stmt, For) or self._words[place + 1] != stmt.count or waits != stmt.wait:
            raise CheckedError(f"the generated step begins a turn where the program has {_where(stmt)}")
        turn = self._words[place]
        more = turn < stmt.count
        self._words[place] = turn + 1 if more else 0
        self._advance(more)
        for entry, within, begin, step in self._moving(place) if more else ():
            have, inside = self._slots[entry], self._slots[within]
            if self._at[have] != begin + turn * step or self._buffers[have].position != inside:
                raise CheckedError(f"turn {turn} of {_where(stmt)} puts buffer {have} to a wrong place")
        return int(more)

    def _moving(self, place: int) -> list[list[int]]:
        """(entry, entry of the buffer around it, bytes to its begin, bytes of a turn) of what a For moves."""
        first = place + LOOP_WORDS
        words = self._words[first : first + WINDOW_WORDS * self._words[place + 2]]
        return [words[k : k + WINDOW_WORDS] for k in range(0, len(words), WINDOW_WORDS)]

    def call(self, name: str, first: int) -> None:
        """The generated code calls a kernel with `first`, or `~first` if all threads meet before."""
        stmt = self._next
        waits, first = first < 0, max(first, ~first) + self.base
        if (
            not isinstance(stmt, Call)
            or waits != stmt.wait
            or symbol(stmt.kernel) != name
            or self._slots[first : first + len(stmt.args)] != stmt.args
        ):
            raise CheckedError(f"the generated step calls {name} where the program has {_where(stmt)}")
        self._run(stmt, self._declared[name])
        self._advance()

    # ---- one call

    def _run(self, call: Call, declared: tuple[Declared, ...]) -> None:
        views: list[Array] = []
        read_too = _read_too(call.kernel)
        for id, want in zip(call.args, declared, strict=True):
            if want.role == "in":
                views.append(self._readable(call, id))
                continue
            if read_too:
                self._readable(call, id)
                read_too -= 1
            views.append(self._view(self._buffers[id]))
        arrays = _separate(call, declared, views)
        try:
            _twin(call.kernel)(*arrays)
        except CheckedError as error:
            raise CheckedError(f"{_where(call)}: {error}") from error
        except KernelError as error:
            error.note = call.note
            raise
        except (ValueError, IndexError, TypeError) as error:
            raise CheckedError(f"{_where(call)}: the kernel's twin failed: {error}") from error
        for id, want in zip(call.args, declared, strict=True):
            if want.role == "out":
                self._wrote(id)
        if self._observe is not None:
            roles = [want.role for want in declared]
            read = [a for a, role in zip(arrays, roles, strict=True) if role == "in"]
            self._observe(call, read, [v for v, role in zip(views, roles, strict=True) if role != "in"])

    def _whole(self, id: int) -> Buffer:
        """The buffer in which a window lies; any other is its own."""
        buffer = self._buffers[id]
        while buffer.space == "window":
            buffer = self._buffers[buffer.position]
        return buffer

    def _view(self, buffer: Buffer) -> Array:
        """The flat array behind a buffer, a window where it is now."""
        if buffer.space != "window":
            return self._view_of(buffer)
        if buffer.id not in self._at:
            raise CheckedError(f"buffer {buffer.id} is used outside of its loop")
        first = self._at[buffer.id] // ITEMSIZE[buffer.dtype]
        return self._view(self._buffers[buffer.position])[first : first + buffer.size]

    def _readable(self, stmt: Stmt, id: int) -> Array:
        """The array of a buffer that may be read now."""
        buffer = self._whole(id)
        id, own = buffer.id, self._buffers[id]
        if buffer.space == "arena" and own.size:  # Nobody needs to write an empty one.
            if id in self._dead:
                raise CheckedError(f"{_where(stmt)} reads buffer {id} after its last use")
            if id not in self._written:
                raise CheckedError(f"{_where(stmt)} reads buffer {id}, which nothing has written in this step")
            others = np.unique(self._owner[self._blocks(buffer)])
            others = others[others != id]
            if others.size:
                raise CheckedError(f"{_where(stmt)} reads buffer {id}, but buffer {others[0]} has been written over it")
        view = self._view(own).view()
        view.flags.writeable = False
        return view

    def _wrote(self, id: int) -> None:
        buffer = self._whole(id)
        id = buffer.id
        if buffer.space == "arena":
            self._owner[self._blocks(buffer)] = id
            self._written.add(id)
            self._dead.discard(id)

    def _bury(self, ids: Sequence[int]) -> None:
        """Poison buffers that will not be used again, where nobody else has taken their bytes."""
        for id in ids:
            buffer = self._buffers[id]
            if buffer.space != "arena":
                continue
            self._dead.add(id)
            mine = np.repeat(self._owner[self._blocks(buffer)] == id, ALIGNMENT)[: buffer.nbytes]
            pattern = np.zeros(buffer.size, numpy_dtype(buffer.dtype))
            if buffer.dtype in FLOATS:
                pattern[:] = np.nan
                poison = pattern.view(np.uint8)
            else:
                poison = np.full(buffer.nbytes, _POISON, np.uint8)
            target = self._arena[buffer.position : buffer.position + buffer.nbytes]
            target[mine] = poison[mine]

    def _blocks(self, buffer: Buffer) -> slice:
        first = buffer.position // ALIGNMENT
        return slice(first, -(-(buffer.position + buffer.nbytes) // ALIGNMENT))


def _where(stmt: Stmt | None) -> str:
    if stmt is None:
        return "nothing more"
    note = f" ({safe(stmt.note)})" if stmt.note else ""
    if isinstance(stmt, For):
        return f"a loop of {stmt.count} turns{note}"
    return f"{symbol(stmt.kernel)}{note}" if isinstance(stmt, Call) else f"if buffer {stmt.pred}{note}"


def _read_too(kernel: Kernel) -> int:
    """How many of its outputs, the first ones, a kernel reads, too: all that it adds to; what is sent and received at once."""
    params = dict(kernel.params) if isinstance(kernel, NamedKernel) else {}
    return written(kernel) if params.get("accumulate") is True else int("in_place" in params)


def _twin(kernel: Kernel) -> Callable[..., None]:
    if isinstance(kernel, LoopKernel):
        return lambda *arrays: twin(kernel, *arrays)
    if isinstance(kernel, ChainKernel):
        return lambda *arrays: chain_twin(kernel, *arrays)
    from graphc_codegen.kernels import emitter  # A step from the object cache needs no emitter.

    return lambda *arrays: emitter(kernel).twin(dict(kernel.params), *arrays)


def _separate(call: Call, declared: tuple[Declared, ...], views: Sequence[Array]) -> list[Array]:
    """The arrays for the twin. An input that an output may be written over becomes a copy."""
    arrays = list(views)
    outputs = [k for k, want in enumerate(declared) if want.role == "out"]
    for k in outputs:
        for j in range(len(views)):
            if j == k or not _overlap(views[j], views[k]):
                continue
            if j in outputs:
                if isinstance(call.kernel, NamedKernel) and facts(call.kernel).parts:
                    continue
                raise CheckedError(f"{_where(call)} writes buffers {call.args[j]} and {call.args[k]} to the same bytes")
            if not _same_elements(call.kernel, j, k) or views[j].ctypes.data != views[k].ctypes.data:
                raise CheckedError(
                    f"{_where(call)} writes buffer {call.args[k]} over buffer {call.args[j]} while reading it"
                )
            arrays[j] = views[j].copy()
            arrays[j].flags.writeable = False
    return arrays


def _overlap(a: Array, b: Array) -> bool:
    start, stop = a.ctypes.data, a.ctypes.data + a.nbytes
    return bool(start < b.ctypes.data + b.nbytes and b.ctypes.data < stop)


def _same_elements(kernel: Kernel, j: int, k: int) -> bool:
    """Whether a kernel reads operand j and writes operand k in step, element for element."""
    if isinstance(kernel, ChainKernel):
        return False
    if not isinstance(kernel, LoopKernel):
        return _is_extra(kernel, j)
    inputs, outputs = len(kernel.inputs), len(kernel.outputs)
    (own, j), (other, k) = divmod(j, inputs), divmod(k - inputs * kernel.times, outputs)
    if own != other:
        return False
    read, write = kernel.inputs[j], kernel.outputs[k].access
    return (read.strides, read.offset, ITEMSIZE[read.dtype]) == (write.strides, write.offset, ITEMSIZE[write.dtype])


def _is_extra(kernel: NamedKernel, j: int) -> bool:
    """Whether operand j is one of an epilogue that may be written over: it has the elements of the result, in their order."""
    domain, extras = result_domain(kernel), dict(kernel.params).get("extras", ())
    if domain is None or not may_overwrite(kernel) or not isinstance(extras, tuple) or not 2 <= j < 2 + len(extras):
        return False
    steps = zip(domain, contiguous_strides(domain), strict=True)
    return extras[j - 2] == tuple(0 if n == 1 else step for n, step in steps)
