"""The contract between `graphc.lower` and the code generator: a finished program.

Every decision is already taken here: which nodes are fused, where each buffer lives, in which order
kernels run. The generator lays it out as text and compiles it. This module knows no graphs.

A program is a list of statements over numbered buffers. A kernel is a frozen value without addresses or
buffer numbers, so two equal kernels are one function in the generated code.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from graphc_codegen.dtypes import ITEMSIZE
from graphc_codegen.errors import CodegenError
from graphc_codegen.kernel_facts import FAILING, KERNEL_FACTS, KernelFacts
from graphc_codegen.scalars.table import SCALAR_OPS

#: The contract: what lies in other modules is handed on.
__all__ = [
    "ALIGNMENT", "ITEMSIZE", "MARKS", "SCALAR_OPS",
    "Access", "Buffer", "Call", "ChainKernel", "For", "If", "Instr", "Kernel", "LoopKernel", "NamedKernel", "Output", "Param",
    "Program", "Space", "Stmt", "While", "Window",
    "blocks", "collective_groups", "contiguous_strides", "divisible", "exchanges", "facts", "has_loops", "has_windows", "in_rows",
    "may_overwrite", "predicates", "reach", "result_domain",
    "symbol", "watches", "windows", "written",
]  # fmt: skip

Space = Literal["input", "param", "const", "arena", "window"]

#: Elements in each thread's row of marks (`kernels.epilogue`): a cache line, so that threads do not share one.
MARKS = 16

#: Every arena buffer starts at a multiple of this many bytes.
ALIGNMENT = 64


@dataclass(frozen=True, slots=True)
class Buffer:
    """A contiguous row-major array.

    `position` is a byte offset in the arena for space "arena", for "window" the buffer in which a loop moves it (`Window`),
    else the index among the arrays of that space, which the caller passes when it binds or runs the program.
    """

    id: int
    dtype: str
    shape: tuple[int, ...]
    space: Space
    position: int

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * ITEMSIZE[self.dtype]


@dataclass(frozen=True, slots=True)
class Access:
    """How a loop kernel reads or writes one operand: element `offset + sum(index[i] * strides[i])`.

    `strides` has one entry (in elements, 0 to broadcast) per axis of the kernel's domain; `size` is the number of
    elements of the operand, for the checks of the checked mode.
    """

    dtype: str
    strides: tuple[int, ...]
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class Instr:
    """One scalar operation of a loop body (`SCALAR_OPS`); its result is named by its position in the body.

    `args` are positions of earlier instructions. `dtype` is the result's. `imm` is the operand index of
    "input", the value of "const", the axis of "iota". A result of a half type is computed in float32 and
    rounded to nearest even, a constant is rounded too. A constant of an integer dtype must be one of its numbers.
    """

    op: str
    args: tuple[int, ...] = ()
    dtype: str = "float32"
    imm: float | int | bool | None = None


@dataclass(frozen=True, slots=True)
class Output:
    """Value `value` of the body, stored at `access`; or reduced over the kernel's reduced axes first.

    `reduce` is "sum", "max", "min", "prod", "any" or "all"; the stored result is multiplied by `scale` (a mean).
    Half types are reduced and scaled in float32, and rounded once, at the end.
    `block`, of a sum or product of float32 or a half type, is the number of terms that an accumulator takes at most before it is
    brought into one of float64; with 1 terms are folded in float64, with 0 all of them in float32.
    """

    access: Access
    value: int
    reduce: str | None = None
    scale: float = 1.0
    block: int = 0


class _Named:
    """Kernels are named by their content. Its hash is kept: equal layers have one kernel, which is looked up again and again."""

    @cached_property
    def _hash(self) -> int:
        fields: Any = self
        return hash(tuple([getattr(self, each) for each in fields.__dataclass_fields__]))

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the whole content; two kernels that compare equal may differ, as 0.0 and -0.0 do."""
        return hashlib.sha256(repr(self).encode()).hexdigest()

    @cached_property
    def _written(self) -> int:
        kernel: Any = self
        return _count_written(kernel)


@dataclass(frozen=True)
class LoopKernel(_Named):
    """A loop nest over `domain` with a scalar body: fused elementwise operations, copies, reductions.

    `reduced[i]` says that axis i is summed (or ...) away by every output that has `reduce` set; such an output's
    access has stride 0 there. An output may share its buffer with an input only when both accesses are equal.
    Operands of a call: the inputs, then the outputs; with `times` > 1 the loop runs on so many sets of operands: first the
    inputs of each set, then the outputs of each. Sets do not touch what another one writes. `threads` as for `NamedKernel`.
    """

    domain: tuple[int, ...]
    reduced: tuple[bool, ...]
    inputs: tuple[Access, ...]
    body: tuple[Instr, ...]
    outputs: tuple[Output, ...]
    threads: int = 1
    times: int = 1

    __hash__ = _Named.__hash__

    @property
    def family(self) -> str:
        return "reduce" if any(self.reduced) else "map"

    def accesses(self) -> tuple[Access, ...]:
        """How the operands of one set are accessed, in their order."""
        return (*self.inputs, *(o.access for o in self.outputs))


@dataclass(frozen=True, repr=False)
class UserFunction:
    """A user's function that a "custom" kernel calls: jitted by Numba, or plain Python for the checked mode only.

    It gets arrays, then the `constants`. It `returns` its results, or it writes them into its last arrays. Two of one `name`
    in a program are the same function, unless they have a number in `python`: those are plain Python that the step calls back.
    """

    name: str
    function: Any
    returns: bool = True
    constants: tuple[int | float | bool | str | tuple[Any, ...], ...] = ()
    python: int = 0

    def __repr__(self) -> str:
        return f"UserFunction({self.name!r}, {self.returns}, {self.constants!r}, {self.python})"


#: What a named kernel may have as parameter.
Param = (
    int | float | bool | str | tuple[int, ...] | tuple[tuple[int, ...], ...] | tuple[Instr, ...]
    | tuple[tuple[str, tuple[int, ...]], ...] | UserFunction
)  # fmt: skip


@dataclass(frozen=True)
class NamedKernel(_Named):
    """A kernel with an emitter of its own in `graphc_codegen.kernels`, e.g. "gemm"; `params` are its static sizes.

    All the `threads` of a step share its work; with 1 the first thread does it alone.
    """

    name: str
    params: tuple[tuple[str, Param], ...]
    threads: int = 1

    __hash__ = _Named.__hash__

    @property
    def family(self) -> str:
        return self.name

    def __getitem__(self, key: str) -> Param:
        return dict(self.params)[key]


@dataclass(frozen=True)
class ChainKernel(_Named):
    """Loops that run one after the other on each row: what one makes is near when the next one reads it.

    The first `rows` axes of all their domains, which are not empty, are the same, and none of them is reduced. What a loop
    writes no other one writes; only later ones read it, each row of it in the same row (`in_rows`).
    Operands of a call: what is only read, then what is written. `places` has the numbers of each loop's operands among them.
    Numbers behind those are of `private` operands: memory for one row, which each thread has for itself.
    """

    rows: int
    loops: tuple[LoopKernel, ...]
    places: tuple[tuple[int, ...], ...]
    private: int = 0
    threads: int = 1

    __hash__ = _Named.__hash__

    @property
    def family(self) -> str:
        return "chain"

    def accesses(self) -> dict[int, list[Access]]:
        """How operands are accessed, by number."""
        found: dict[int, list[Access]] = {}
        for loop, places in zip(self.loops, self.places, strict=True):
            for place, access in zip(places, loop.accesses(), strict=True):
                found.setdefault(place, []).append(access)
        return found

    def outputs(self) -> set[int]:
        """The numbers of the operands that are written, private ones among them."""
        return {p for loop, places in zip(self.loops, self.places, strict=True) for p in places[len(loop.inputs) :]}


Kernel = LoopKernel | ChainKernel | NamedKernel


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides of an array of this shape, in elements, whose elements follow each other."""
    return tuple(math.prod(shape[k + 1 :]) for k in range(len(shape)))


def reach(access: Access, domain: Sequence[int], rows: int) -> tuple[int, int]:
    """The lowest and the highest element that an access touches in the first row: where the first `rows` indices are 0."""
    far = [(n - 1) * s for n, s in zip(domain[rows:], access.strides[rows:], strict=True)]
    return access.offset + sum(min(f, 0) for f in far), access.offset + sum(max(f, 0) for f in far)


def in_rows(write: Access, written: Sequence[int], read: Access, domain: Sequence[int], rows: int) -> bool:
    """Whether what a loop over `written` writes is read over `domain` in the same row only; rows are the first `rows` indices."""
    pairs = zip(written[:rows], write.strides, read.strides[:rows], strict=False)
    lead = sorted((abs(s), n, s == t) for n, s, t in pairs if n > 1)
    spans = reach(write, written, rows), reach(read, domain, rows)
    size = 1 + max(high for _, high in spans) - min(low for low, _ in spans)
    for stride, n, same in lead:
        if not same or stride < size:
            return False
        size += (n - 1) * stride
    return True


def symbol(kernel: Kernel) -> str:
    """The kernel's name in generated code: its family and a hash of its content."""
    return f"{kernel.family}_{kernel.digest[:12]}"


def facts(kernel: NamedKernel) -> KernelFacts:
    """The row of a named kernel. Raises CodegenError for an unknown one."""
    if kernel.name not in KERNEL_FACTS:
        raise CodegenError(f"there is no kernel named {kernel.name!r}; known are {', '.join(sorted(KERNEL_FACTS))}")
    return KERNEL_FACTS[kernel.name]


def result_domain(kernel: NamedKernel) -> tuple[int, ...] | None:
    """The axes of a kernel's only result, as an epilogue sees them; None for a kernel that takes none."""
    return facts(kernel).result(dict(kernel.params))


def watches(kernel: NamedKernel) -> bool:
    """Whether the kernel can be told to mark what is not finite as it stores its result, and has not been yet."""
    return facts(kernel).watches and result_domain(kernel) is not None and "marks" not in dict(kernel.params)


def may_overwrite(kernel: NamedKernel) -> bool:
    """Whether the epilogue may write over a further operand that it reads like the result."""
    return facts(kernel).overwrites


def written(kernel: Kernel) -> int:
    """How many of a call's operands, the last ones, are written. Scratch memory counts."""
    return kernel._written  # Counted once: it is asked for each call, again and again.


def _count_written(kernel: Kernel) -> int:
    if isinstance(kernel, LoopKernel):
        return kernel.times * len(kernel.outputs)
    if isinstance(kernel, ChainKernel):
        return len(kernel.outputs()) - kernel.private
    p: dict[str, Any] = dict(kernel.params)
    if is_custom(kernel):
        return len(p["outputs"])
    outputs = facts(kernel).outputs
    stored = len(p["stores"]) if "stores" in p else outputs if isinstance(outputs, int) else outputs(p)
    return (
        stored
        + (facts(kernel).scratch or bool(p.keys() & {"panels", "tiles"}))
        + bool(p.get("indexed"))
        + ("marks" in p)
    )


def divisible(kernel: Kernel) -> bool:
    """Whether threads can share the work."""
    return not isinstance(kernel, NamedKernel) or facts(kernel).divisible(dict(kernel.params))


def exchanges(kernel: Kernel) -> bool:
    """Whether threads that share the work exchange partial results, in memory that the step has once for that."""
    if isinstance(kernel, LoopKernel):
        return any(kernel.reduced) and kernel.times == 1
    return isinstance(kernel, NamedKernel) and facts(kernel).exchanges


def is_custom(kernel: Kernel) -> bool:
    """Whether a kernel is a user's function."""
    return isinstance(kernel, NamedKernel) and kernel.name == "custom"


def may_fail(kernel: Kernel) -> bool:
    """Whether a kernel may end the step."""
    return isinstance(kernel, NamedKernel) and kernel.name in FAILING


def collective_groups(kernels: Iterable[Kernel]) -> set[int]:
    """The numbers of the groups of processes in which kernels begin collectives."""
    begun = (dict(k.params) for k in kernels if isinstance(k, NamedKernel) and k.name == "collective_start")
    return {group for p in begun if isinstance(group := p["group"], int)}


def windows(kernels: Iterable[Kernel]) -> dict[int, int]:
    """By group of processes, how many bytes of a window kernels use."""
    found: dict[int, int] = {}
    puts = [k for k in kernels if isinstance(k, NamedKernel) and k.name == "window_put"]
    for p in (dict[str, Any](k.params) for k in puts):
        end = int(p["at"]) + int(p["room"]) * ITEMSIZE[str(p["dtype"])]
        found[int(p["group"])] = max(found.get(int(p["group"]), 0), end)
    return found


@dataclass(frozen=True, slots=True)
class Call:
    """Run a kernel on buffers (ids). `note` goes into a comment of the generated step: node ids and op names only.

    `dead` are the buffers whose last use this is: the checked mode poisons them. With `wait` all threads meet before it.
    `nodes` are the ids of all nodes that it is for; to the generator they mean nothing.
    """

    kernel: Kernel
    args: tuple[int, ...]
    note: str = ""
    dead: tuple[int, ...] = ()
    wait: bool = False
    nodes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class If:
    """Run `then` when the one-element bool buffer `pred` is true, else `orelse`. With `wait` all threads meet before.

    `nodes` as for `Call`.
    """

    pred: int
    then: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]
    note: str = ""
    dead: tuple[int, ...] = ()
    wait: bool = False
    nodes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class While:
    """Run `condition`; as long as the one-element bool buffer `pred` is true, run `body` and `condition` again.

    All threads meet each time before `pred` is read; `wait` says that this is needed for what they compute, too. `nodes` as
    for `Call`.
    """

    condition: tuple[Stmt, ...]
    pred: int
    body: tuple[Stmt, ...]
    note: str = ""
    dead: tuple[int, ...] = ()
    wait: bool = False
    nodes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Window:
    """Where a buffer of space "window" lies in another one: in turn t of its loop from byte `begin` + t * `step` on."""

    buffer: int
    within: int
    begin: int
    step: int


@dataclass(frozen=True, slots=True)
class For:
    """Run `body` `count` times, at least once. In each turn its `windows`, which nothing else has, lie elsewhere. With `wait` all
    threads meet before the first turn.
    """

    count: int
    windows: tuple[Window, ...]
    body: tuple[Stmt, ...]
    note: str = ""
    dead: tuple[int, ...] = ()
    wait: bool = False
    nodes: tuple[int, ...] = ()


Stmt = Call | If | While | For


def blocks(stmt: Stmt) -> tuple[tuple[Stmt, ...], ...]:
    """The blocks inside a statement, in the order in which they may run."""
    if isinstance(stmt, If):
        return stmt.then, stmt.orelse
    if isinstance(stmt, For):
        return (stmt.body,)
    return (stmt.condition, stmt.body) if isinstance(stmt, While) else ()


def predicates(stmt: If | While | For) -> tuple[int, ...]:
    """The buffer that says whether a block runs; none for a For."""
    return () if isinstance(stmt, For) else (stmt.pred,)


def has_windows(body: Sequence[Stmt]) -> bool:
    """Whether there is a For among the statements or in their blocks."""
    return any(isinstance(stmt, For) or any(map(has_windows, blocks(stmt))) for stmt in body)


def has_loops(stmt: Stmt) -> bool:
    """Whether a statement is a While or holds one."""
    return isinstance(stmt, While) or any(has_loops(inner) for block in blocks(stmt) for inner in block)


@dataclass(frozen=True, slots=True)
class Program:
    """A whole step. `arena` is its size in bytes; `gap` the bytes of canary after each buffer (0 in release builds).

    Each of its `threads` runs all statements. In a `profile` build every call counts the cycles that it takes.
    """

    name: str
    buffers: tuple[Buffer, ...]
    body: tuple[Stmt, ...]
    arena: int
    gap: int = 0
    threads: int = 1
    profile: bool = False

    def calls(self) -> Iterator[Call]:
        """Every call, in program order, with all that branches and loops hold."""
        yield from _calls(self.body)

    def has_loops(self) -> bool:
        """Whether there is a While anywhere."""
        return any(map(has_loops, self.body))

    def has_windows(self) -> bool:
        """Whether there is a For anywhere."""
        return has_windows(self.body)

    def kernels(self) -> dict[str, Kernel]:
        """The distinct kernels by symbol, in order of first use."""
        return {symbol(c.kernel): c.kernel for c in self.calls()}


def _calls(body: tuple[Stmt, ...]) -> Iterator[Call]:
    for stmt in body:
        if isinstance(stmt, Call):
            yield stmt
        for block in blocks(stmt):
            yield from _calls(block)
