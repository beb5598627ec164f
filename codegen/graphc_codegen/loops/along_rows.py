"""Sums over the rows of a matrix, row after row, with the sums in memory.

Otherwise sums stay in registers while a loop goes down some columns. What it reads and stores lies a row apart then, and many
rows come from memory and go there at half of its rate. A sum has as many terms in float32 as a block has, which are added to one
of float64 then, as those of `folds` are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from graphc_codegen.dtypes import MEMORY
from graphc_codegen.loops.nest import Line, Nest
from graphc_codegen.program import Access, Instr, LoopKernel, Output
from graphc_codegen.writer import Writer

#: The most elements that are near enough to be read in any order; the fewest rows and columns; the most columns whose sums are in
#: memory at a time, and the most sums.
_NEAR, _ROWS, _COLUMNS, _PIECE, _SUMS = 1 << 20, 128, 128, 1024, 4
#: Matrices for each thread that it shares with others well enough.
_MATRICES = 4

#: Writes a kernel for operands at these addresses.
Write = Callable[[LoopKernel, Sequence[str]], None]


def piece_of(w: Writer, kernel: LoopKernel, nest: Nest) -> int:
    """How many columns should be summed at a time, so that rows go from end to end; 0 where they should not."""
    sums = [o for o in kernel.outputs if o.reduce is not None]
    if not 0 < len(sums) <= _SUMS or w.looping or nest.iotas:
        return 0
    if nest.kept not in (1, 2) or len(nest.sizes) != nest.kept + 1:
        return 0
    rows, columns = nest.sizes[nest.kept], nest.sizes[nest.kept - 1]
    whole = sum(all(line.strides) for line in (*nest.inputs, *nest.outputs))
    if nest.vector != nest.kept - 1 or rows < _ROWS or whole * math.prod(kernel.domain) <= _NEAR:
        return 0
    if not all(_is_plain(kernel, o) for o in sums) or any(nest.step(line) != 1 for line in nest.outputs):
        return 0
    parts = w.threads if w.divides and nest.kept == 1 else 1
    if columns % parts or columns // parts < _COLUMNS or not _is_shared(w, nest):
        return 0
    pieces = parts * math.ceil(columns / parts / _PIECE)
    if parts == 1:
        return min(columns, math.ceil(columns / pieces / w.lanes) * w.lanes)
    return 0 if columns % pieces else columns // pieces


def _is_shared(w: Writer, nest: Nest) -> bool:
    """Whether threads have about as many of the matrices, if there are several."""
    count = nest.sizes[0]
    return nest.kept == 1 or not w.divides or count % w.threads == 0 or count >= _MATRICES * w.threads


def _is_plain(kernel: LoopKernel, o: Output) -> bool:
    float32 = o.access.dtype == kernel.body[o.value].dtype == "float32"
    return float32 and o.reduce == "sum" and o.block > 1


def emit_along_rows(
    w: Writer, kernel: LoopKernel, nest: Nest, pointers: Sequence[str], piece: int, write: Write
) -> None:
    """Write the kernel whose rows are those of `nest`, `piece` columns at a time."""
    lines: tuple[Line, ...] = (*nest.inputs, *nest.outputs)
    types = [MEMORY[a.dtype] for a in kernel.accesses()]
    folded = [k for k, o in enumerate(kernel.outputs) if o.reduce is not None]
    first, vector = len(kernel.inputs), nest.kept - 1
    columns, rows = nest.sizes[vector], nest.sizes[nest.kept]
    block = min(kernel.outputs[k].block for k in folded)
    some = w.op(f"alloca [{len(folded) * piece} x float], align 64")
    total = w.op(f"alloca [{len(folded) * piece} x double], align 64")
    clear, settle = _clear(len(folded) * piece), _settle(len(folded) * piece)

    def moved(at: Sequence[str], level: int, index: str | int) -> list[str]:
        return [w.at(p, w.mul(index, line.strides[level]), t) for p, line, t in zip(at, lines, types, strict=True)]

    def sums(at: str, dtype: str) -> list[str]:
        return [w.at(at, n * piece, dtype) for n in range(len(folded))]

    def summed(at: Sequence[str], size: int) -> None:
        row = _row(kernel, nest, size)

        def turn(index: str) -> None:
            here, held = moved(at, nest.kept, index), sums(some, "float")
            stored = [here[first + k] for k, o in enumerate(kernel.outputs) if o.reduce is None]
            write(row, [*here[:first], *held, *stored, *held])

        def turns(begin: str) -> None:
            end = w.smaller(w.add(begin, block), rows) if rows % block else w.add(begin, block)
            w.turns((begin, end), lambda index, _: turn(index))
            write(settle, [some, total, total, some])

        write(clear, [some, total])
        w.loop(rows, lambda begin, _: turns(begin), step=block)
        for k, made in zip(folded, sums(total, "double"), strict=True):
            write(_result(kernel.outputs[k], nest.outputs[k].strides[vector], size), [made, at[first + k]])

    def pieces(at: Sequence[str]) -> None:
        whole, rest = divmod(columns, piece)
        w.share(whole, lambda n: summed(moved(at, vector, w.mul(n, piece)), piece))
        if rest:
            summed(moved(at, vector, whole * piece), rest)

    start = [w.at(p, line.offset, t) for p, line, t in zip(pointers, lines, types, strict=True)]
    if nest.kept == 2:
        w.share(nest.sizes[0], lambda n: pieces(moved(start, 0, n)))
    else:
        pieces(start)


def _lined(dtype: str, size: int, step: int = 1) -> Access:
    return Access(dtype, (step,), 0, 1 + (size - 1) * step)


def _row(kernel: LoopKernel, nest: Nest, size: int) -> LoopKernel:
    """One row: stores what is not summed, and adds to the sums, which come behind the inputs and what is stored."""
    at, count, body = nest.kept - 1, len(kernel.inputs), list(kernel.body)
    inputs = [_lined(a.dtype, size, line.strides[at]) for a, line in zip(kernel.inputs, nest.inputs, strict=True)]
    stored: list[Output] = []
    added: list[Output] = []
    for o, line in zip(kernel.outputs, nest.outputs, strict=True):
        if o.reduce is None:
            stored.append(replace(o, access=_lined(o.access.dtype, size, line.strides[at])))
            continue
        body.append(Instr("input", (), "float32", count + len(added)))
        body.append(Instr("add", (len(body) - 1, o.value), "float32"))
        added.append(Output(_lined("float32", size), len(body) - 1))
    inputs += [_lined("float32", size)] * len(added)
    return LoopKernel((size,), (False,), tuple(inputs), tuple(body), (*stored, *added))


def _clear(size: int) -> LoopKernel:
    body = (Instr("const", (), "float32", 0.0), Instr("const", (), "float64", 0.0))
    outputs = (Output(_lined("float32", size), 0), Output(_lined("float64", size), 1))
    return LoopKernel((size,), (False,), (), body, outputs)


def _settle(size: int) -> LoopKernel:
    """The sums of all get those of a block, which begin anew."""
    some, total = _lined("float32", size), _lined("float64", size)
    body = (
        Instr("input", (), "float32", 0),
        Instr("cast", (0,), "float64"),
        Instr("input", (), "float64", 1),
        Instr("add", (2, 1), "float64"),
        Instr("const", (), "float32", 0.0),
    )
    return LoopKernel((size,), (False,), (some, total), body, (Output(total, 3), Output(some, 4)))


def _result(o: Output, step: int, size: int) -> LoopKernel:
    """A sum as it is stored: scaled, and rounded once."""
    body = [Instr("input", (), "float64", 0)]
    if o.scale != 1.0:
        body += [Instr("const", (), "float64", o.scale), Instr("mul", (0, 1), "float64")]
    body.append(Instr("cast", (len(body) - 1,), "float32"))
    made = Output(_lined("float32", size, step), len(body) - 1)
    return LoopKernel((size,), (False,), (_lined("float64", size),), tuple(body), (made,))
