"""Sums over the rows of a matrix on several threads: each adds up rows of its own, then they bring their sums together.

The result's elements could be divided instead. But then every thread would read a piece of each row, which lies near the one
that made the row; and short rows have few pieces.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

from graphc_codegen.program import Access, Instr, LoopKernel, Output, contiguous_strides
from graphc_codegen.thread_context import SCRATCH

#: The fewest elements that are worth another meeting, and the fewest rows for each thread.
_ELEMENTS, _ROWS = 1 << 16, 16


class Sum(NamedTuple):
    """A reduced output: its number among the outputs, the first element in scratch memory, and what brings it together."""

    output: int
    place: int
    kernel: LoopKernel


class Split(NamedTuple):
    """A kernel that leaves its reduced outputs in every thread's scratch memory, and what brings these together."""

    first: LoopKernel
    sums: tuple[Sum, ...]


def by_rows(kernel: LoopKernel, threads: int) -> Split | None:
    """The two kernels instead of one that adds up many rows; None where the threads should divide something else.

    In the first the axis of rows becomes two, the threads and the rows of each; threads must divide it.
    """
    folded = [k for k, o in enumerate(kernel.outputs) if o.reduce is not None]
    kept = [n for n, reduced in zip(kernel.domain, kernel.reduced, strict=True) if not reduced]
    rows, columns = math.prod(kernel.domain) // max(1, math.prod(kept)), math.prod(kept)
    axis = next((k for k, n in enumerate(kernel.domain) if kernel.reduced[k] and n % threads == 0), None)
    if (
        axis is None
        or not folded
        or kernel.reduced[-1]
        or columns == 1  # Bringing one number together takes scratch memory itself.
        or rows * columns < _ELEMENTS
        or rows < _ROWS * threads
        or 4 * columns * len(folded) > SCRATCH
        or any(kernel.outputs[k].access.dtype != "float32" for k in folded)
        or any(i.op == "iota" for i in kernel.body)
    ):
        return None
    held = [1 if reduced else n for n, reduced in zip(kernel.domain, kernel.reduced, strict=True)]
    strides = contiguous_strides(held)
    lead = SCRATCH // 4
    partial = Access(
        "float32",
        (lead, *(0 if reduced else s for s, reduced in zip(strides, kernel.reduced, strict=True))),
        0,
        lead * threads,
    )
    sums = tuple(
        Sum(k, n * columns, _second(kernel.outputs[k], (threads, *held), partial)) for n, k in enumerate(folded)
    )
    return Split(_first(kernel, threads, axis, partial), sums)


def _first(kernel: LoopKernel, threads: int, axis: int, partial: Access) -> LoopKernel:
    size = kernel.domain[axis] // threads

    def cut(access: Access) -> Access:
        return replace(access, strides=(size * access.strides[axis], *access.strides))

    def output(o: Output) -> Output:
        return replace(o, access=partial, scale=1.0) if o.reduce is not None else replace(o, access=cut(o.access))

    return replace(
        kernel,
        domain=(threads, *kernel.domain[:axis], size, *kernel.domain[axis + 1 :]),
        reduced=(False, *kernel.reduced),
        inputs=tuple(map(cut, kernel.inputs)),
        outputs=tuple(map(output, kernel.outputs)),
        threads=1,
    )


def _second(output: Output, domain: tuple[int, ...], partial: Access) -> LoopKernel:
    """Adds up the threads' parts, which lie along the first axis."""
    access = replace(output.access, strides=(0, *output.access.strides))
    reduced = (True, *(False for _ in domain[1:]))
    body = (Instr("input", (), "float32", 0),)
    return LoopKernel(domain, reduced, (partial,), body, (replace(output, access=access, value=0),))
