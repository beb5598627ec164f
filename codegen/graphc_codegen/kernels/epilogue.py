"""Elementwise operations that a kernel applies to its result as it stores it.

Params of such a kernel: `epilogue`, the instructions (see `program.Instr`), whose input 0 is the result and whose other
inputs are further operands; `extras`, for each of these its strides along the axes of `program.result_domain`, where the last
one is 0 or 1; `stores`, the values to store, one per output. Operands have the dtypes of their instructions: float32 or a half
type. The kernel makes float32, which is rounded where input 0 is a half.

Params of a matrix product may say (`marks`: a number of rows, that of an output) that it watches what it stores there: one
more output, rows of MARKS elements, one per thread at least, holds a NaN if an element of that output is infinite or NaN, and
zeros otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graphc_codegen.dtypes import HALVES, REGISTER
from graphc_codegen.kernels.base import Array, Operand, Params
from graphc_codegen.loops.twin import twin as loop_twin
from graphc_codegen.program import MARKS, Access, Instr, LoopKernel, Output, contiguous_strides
from graphc_codegen.scalars import arithmetic, halves, operations
from graphc_codegen.writer import Writer, mask, vec


def _size(strides: Sequence[int], domain: Sequence[int]) -> int:
    return 1 + sum((n - 1) * s for n, s in zip(domain, strides, strict=True))


def operands(p: Params, domain: Sequence[int]) -> tuple[Operand, ...]:
    """The further inputs and the outputs of a kernel whose result has the axes `domain`."""
    whole = _size(contiguous_strides(domain), domain)
    read, stored = dtypes(p)
    extras = [Operand(t, _size(s, domain), "in") for t, s in zip(read[1:], p.get("extras", ()), strict=True)]
    marks = [Operand("float32", MARKS * p["marks"][0], "out")] if "marks" in p else []
    return (*extras, *(Operand(t, whole, "out") for t in stored), *marks)


def dtypes(p: Params) -> tuple[list[str], list[str]]:
    """The dtypes of the kernel's own result and of the further inputs, and those of the outputs."""
    body: tuple[Instr, ...] = p.get("epilogue", ())
    read = ["float32"] * (1 + len(p.get("extras", ())))
    for instr in body:
        if instr.op == "input":
            read[int(instr.imm or 0)] = instr.dtype
    return read, [body[k].dtype if body else "float32" for k in p.get("stores", (0,))]


@dataclass(frozen=True, slots=True)
class Finish:
    """Stores results of one kernel. `pointers` are those of the extras, then of the outputs, then of the marks."""

    w: Writer
    p: Params
    domain: tuple[int, ...]
    pointers: Sequence[str]

    def store(self, value: str, at: Sequence[str | int], active: int | str | None = None) -> None:
        """Store a vector that begins at these indices and goes along the last axis; only its first `active` lanes, or those that
        are on in a mask.
        """
        self._stored(value, at, active)

    def watch(self, value: str, at: Sequence[str | int], active: int) -> str:
        """`store`; returns what `mark` wants of this vector: zeros, and NaN for what is not finite."""
        w, stored = self.w, self._stored(value, at, active)
        if "marks" not in self.p:
            return ""
        watched = stored[self.p["marks"][1]]
        difference = w.binary("fsub", watched, watched)
        if active == w.lanes:
            return difference
        v = vec("float", w.lanes)
        return w.op(f"select {vec('i1', w.lanes)} {mask(active, w.lanes)}, {v} {difference}, {v} zeroinitializer")

    def _stored(self, value: str, at: Sequence[str | int], active: int | str | None) -> list[str]:
        """Store what belongs to a vector of the result; returns that."""
        w = self.w
        place = w.linear(*zip(at, contiguous_strides(self.domain), strict=True))
        values = self._evaluate(value, at, active) if "epilogue" in self.p else [value]
        stored = [values[k] for k in self.p.get("stores", (0,))]
        for n, pointer in zip(range(len(stored)), self.pointers[len(self.p.get("extras", ())) :], strict=False):
            if "marks" in self.p:
                stored[n] = w.as_stored(stored[n], pointer)
            w.vstore(stored[n], w.at(pointer, place), active)
        return stored

    def begin(self) -> None:
        """Clear the marks: each thread its own row, the first one what nobody uses."""
        w = self.w
        if "marks" not in self.p:
            return
        for offset in range(0, MARKS, w.lanes):
            w.vstore("zeroinitializer", w.at(self._marks(), offset))
        unused = range(MARKS * w.threads, MARKS * self.p["marks"][0], w.lanes)

        def clear() -> None:
            for k in unused:
                w.vstore("zeroinitializer", w.at(self.pointers[-1], k))

        if unused:
            w.by_one(clear)

    def mark(self, watched: Sequence[str]) -> None:
        """Remember what `watch` gave for some vectors."""
        w = self.w
        if "marks" not in self.p:
            return
        total = w.vload(self._marks())
        for value in watched:
            total = w.binary("fadd", total, value)
        w.vstore(total, self._marks())

    def _marks(self) -> str:
        """This thread's row."""
        w = self.w
        return w.at(self.pointers[-1], w.mul("%thread", MARKS) if w.threads > 1 else 0)

    def _evaluate(self, value: str, at: Sequence[str | int], active: int | str | None) -> list[str]:
        w, body = self.w, self.p["epilogue"]
        values: list[str] = []
        for instr in body:
            if instr.op == "input":
                own = halves.rounded(w, value, instr.dtype) if instr.dtype in HALVES and instr.imm == 0 else value
                values.append(own if instr.imm == 0 else self._load(int(instr.imm) - 1, at, active))
            elif instr.op == "const":
                values.append(w.constant(halves.number(instr.imm, instr.dtype), REGISTER[instr.dtype]))
            else:
                args = []
                for a in instr.args:
                    number = halves.number(body[a].imm, body[a].dtype) if body[a].op == "const" else None
                    args.append(arithmetic.Operand(values[a], body[a].dtype, number))
                values.append(operations.emit(w, instr.op, args, instr.dtype))
        return values

    def _load(self, k: int, at: Sequence[str | int], active: int | str | None) -> str:
        w, strides = self.w, self.p["extras"][k]
        pointer = w.at(self.pointers[k], w.linear(*zip(at, strides, strict=True)))
        return w.vload(pointer, active) if strides[-1] else w.load_splat(pointer)


def twin(p: Params, domain: Sequence[int], result: Array, *rest: Array) -> None:
    """The same in NumPy: `result` is what the kernel itself makes, `rest` are extras, outputs and marks."""
    if "marks" in p:
        *others, marks = rest
        twin({key: value for key, value in p.items() if key != "marks"}, domain, result, *others)
        watched = others[len(p.get("extras", ())) + p["marks"][1]]
        marks[:] = 0 if np.isfinite(watched).all() else np.nan
        return
    if "epilogue" not in p:
        rest[0][:] = result
        return
    read, stored = dtypes(p)
    strides = (contiguous_strides(domain), *p["extras"])
    inputs = tuple(Access(t, tuple(s), 0, _size(s, domain)) for t, s in zip(read, strides, strict=True))
    body: tuple[Instr, ...] = p["epilogue"]
    outputs = tuple(Output(Access(t, strides[0], 0, result.size), k) for t, k in zip(stored, p["stores"], strict=True))
    kernel = LoopKernel(tuple(domain), (False,) * len(domain), inputs, body, outputs)
    loop_twin(kernel, result.astype(halves.numpy_dtype(read[0])), *rest)
