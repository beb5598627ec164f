"""Chains of loops: each row goes through all loops, so that it stays in the nearest cache."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from graphc_codegen.dtypes import FLOATS, MEMORY
from graphc_codegen.errors import CodegenError
from graphc_codegen.loops.check import check
from graphc_codegen.loops.emit import emit
from graphc_codegen.loops.twin import twin
from graphc_codegen.program import ALIGNMENT, Access, ChainKernel, LoopKernel, in_rows, reach, symbol
from graphc_codegen.scalars.halves import numpy_dtype
from graphc_codegen.scalars.twins import Array
from graphc_codegen.writer import Writer


def check_chain(kernel: ChainKernel) -> None:
    """Raise CodegenError for a chain that is not well formed, or that would not compute what its loops do one by one."""
    try:
        for loop in kernel.loops:
            check(loop)
            _check_rows(kernel, loop)
        _check_places(kernel)
        _check_order(kernel)
    except CodegenError as error:
        raise CodegenError(f"chain {symbol(kernel)}: {error}") from None


def _check_rows(kernel: ChainKernel, loop: LoopKernel) -> None:
    rows = kernel.rows
    if not 1 <= rows <= len(loop.domain) or loop.domain[:rows] != kernel.loops[0].domain[:rows]:
        raise CodegenError("the loops have no common rows")
    if any(loop.reduced[:rows]) or 0 in loop.domain or loop.times != 1:
        raise CodegenError("a loop reduces rows, is empty, or runs on several sets of operands")
    if any(i.op == "iota" and int(i.imm or 0) < rows for i in loop.body):
        raise CodegenError("a loop counts rows")


def _check_places(kernel: ChainKernel) -> None:
    accesses, written = kernel.accesses(), kernel.outputs()
    count = len(accesses)
    first = count - len(written)
    if set(accesses) != set(range(count)) or written != set(range(first, count)) or kernel.private > len(written):
        raise CodegenError("operands must be numbered: what is read, what is written, what is private")
    for place, found in accesses.items():
        if len({(a.dtype, a.size) for a in found}) > 1:
            raise CodegenError(f"operand {place} is declared in several ways")


def _check_order(kernel: ChainKernel) -> None:
    written: dict[int, tuple[LoopKernel, Access]] = {}
    read: set[int] = set()
    for loop, places in zip(kernel.loops, kernel.places, strict=True):
        split = len(loop.inputs)
        for place, access in zip(places[:split], loop.inputs, strict=True):
            read.add(place)
            if place in written:
                maker, write = written[place]
                if not in_rows(write, maker.domain, access, loop.domain, kernel.rows):
                    raise CodegenError(f"operand {place} is read in another row than it is written in")
        for place, output in zip(places[split:], loop.outputs, strict=True):
            if place in written or place in read:
                raise CodegenError(f"operand {place} is read before it is written, or written twice")
            written[place] = loop, output.access


def chain_twin(kernel: ChainKernel, *arrays: Array) -> None:
    """Evaluate a chain on flat arrays in the order of a call, loop by loop; private operands are arrays of their own."""
    check_chain(kernel)
    accesses = kernel.accesses()
    private = [_poisoned(accesses[k][0]) for k in range(len(accesses) - kernel.private, len(accesses))]
    operands = [*arrays, *private]
    for loop, places in zip(kernel.loops, kernel.places, strict=True):
        twin(loop, *(operands[p] for p in places))


def _poisoned(access: Access) -> Array:
    return np.full(access.size, np.nan if access.dtype in FLOATS else 1, numpy_dtype(access.dtype))


def emit_chain(writer: Writer, kernel: ChainKernel, pointers: Sequence[str]) -> None:
    """Write the body of a chain; `pointers` are the SSA names of its operands' addresses, without private ones.

    Threads share the rows. Raises CodegenError when the kernel is not well formed.
    """
    check_chain(kernel)
    _Emission(writer, kernel, pointers).run()


class _Emission:
    """One row at a time. Several would fill vectors with numbers that a row has one of; but a processor looks ahead only so far,
    and from the last loops on a row it can begin to read the next one."""

    def __init__(self, w: Writer, kernel: ChainKernel, pointers: Sequence[str]) -> None:
        self.w, self.kernel = w, kernel
        self.shared = len(pointers)
        self.axes = self._axes()
        self.pointers = [*pointers, *map(self._private, sorted(kernel.accesses())[self.shared :])]

    def run(self) -> None:
        """The loops, inside a loop over the rows that threads share."""
        counts = [n for n, _ in self.axes]
        self.w.share(math.prod(counts), lambda k: self._row(self._indices(k, counts)), hand_out=True)

    def _axes(self) -> list[tuple[int, int]]:
        """Axes of rows: neighbours are one where all operands allow it. Each has its size and the axis whose strides it has."""
        axes: list[tuple[int, int]] = []
        shared = [a for place, found in self.kernel.accesses().items() if place < self.shared for a in found]
        for k, n in enumerate(self.kernel.loops[0].domain[: self.kernel.rows]):
            if axes and all(a.strides[axes[-1][1]] == n * a.strides[k] for a in shared):
                axes[-1] = (axes[-1][0] * n, k)
            elif n > 1:
                axes.append((n, k))
        return axes

    def _private(self, place: int) -> str:
        """Memory for a row of a private operand."""
        rows, dtype = self.kernel.rows, self.kernel.accesses()[place][0].dtype
        size = max(
            reach(access, loop.domain, rows)[1] + 1
            for loop, places in zip(self.kernel.loops, self.kernel.places, strict=True)
            for p, access in zip(places, loop.accesses(), strict=True)
            if p == place
        )
        return self.w.op(f"alloca [{size} x {MEMORY[dtype]}], align {ALIGNMENT}")

    def _indices(self, k: str | int, counts: Sequence[int]) -> list[str | int]:
        """The index along every axis of row number k."""
        indices: list[str | int] = []
        for n in reversed(counts[1:]):
            k, index = self.w.divided(k, n)
            indices.append(index)
        return [k, *reversed(indices)]

    def _row(self, indices: Sequence[str | int]) -> None:
        for loop, places in zip(self.kernel.loops, self.kernel.places, strict=True):
            starts = [self._start(p, a, indices) for p, a in zip(places, loop.accesses(), strict=True)]
            emit(self.w, _on_a_row(loop, self.kernel.rows), starts)

    def _start(self, place: int, access: Access, indices: Sequence[str | int]) -> str:
        """The address of an operand for the row at such indices."""
        if place >= self.shared:
            return self.pointers[place]
        steps = [access.strides[k] for _, k in self.axes]
        offset = self.w.linear(*zip(indices, steps, strict=False))
        return self.w.at(self.pointers[place], offset, MEMORY[access.dtype])


def _on_a_row(loop: LoopKernel, rows: int) -> LoopKernel:
    """The loop without its first axes."""

    def cut(access: Access) -> Access:
        return replace(access, strides=access.strides[rows:])

    body = tuple(replace(i, imm=int(i.imm or 0) - rows) if i.op == "iota" else i for i in loop.body)
    outputs = tuple(replace(o, access=cut(o.access)) for o in loop.outputs)
    return LoopKernel(loop.domain[rows:], loop.reduced[rows:], tuple(map(cut, loop.inputs)), body, outputs)
