"""Sums over the rows of a matrix on several threads: each adds up rows of its own, then they bring their sums together.

The result's elements could be divided instead. But then every thread would read a piece of each row, which lies near the one
that made the row; and short rows have few pieces.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from graphc_codegen.program import Access, Instr, LoopKernel, Output
from graphc_codegen.writer import SCRATCH

#: The fewest elements that are worth another meeting, and the fewest rows for each thread.
_ELEMENTS, _ROWS = 1 << 16, 16


class Split(NamedTuple):
    """A kernel that leaves its reduced outputs in every thread's scratch memory, and one that brings each together.

    `places` are the reduced outputs: position among the kernel's outputs, first element in scratch memory.
    """

    first: LoopKernel
    second: tuple[LoopKernel, ...]
    places: tuple[tuple[int, int], ...]


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
    places = tuple((k, n * columns) for n, k in enumerate(folded))
    return Split(_first(kernel, threads, axis), tuple(_second(kernel, threads, k) for k in folded), places)


def _first(kernel: LoopKernel, threads: int, axis: int) -> LoopKernel:
    size = kernel.domain[axis] // threads
    partial = Access("float32", (SCRATCH // 4, *_contiguous(kernel)), 0, SCRATCH // 4 * threads)

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


def _second(kernel: LoopKernel, threads: int, k: int) -> LoopKernel:
    output = kernel.outputs[k]
    domain = [1 if reduced else n for n, reduced in zip(kernel.domain, kernel.reduced, strict=True)]
    partial = Access("float32", (SCRATCH // 4, *_contiguous(kernel)), 0, SCRATCH // 4 * threads)
    return LoopKernel(
        (threads, *domain),
        (True, *(False for _ in domain)),
        (partial,),
        (Instr("input", (), "float32", 0),),
        (replace(output, access=replace(output.access, strides=(0, *output.access.strides)), value=0),),
    )


def _contiguous(kernel: LoopKernel) -> Sequence[int]:
    """The strides of an array with the axes that are not reduced."""
    strides, step = [], 1
    for n, reduced in reversed(list(zip(kernel.domain, kernel.reduced, strict=True))):
        strides.append(0 if reduced else step)
        step *= 1 if reduced else n
    return strides[::-1]
