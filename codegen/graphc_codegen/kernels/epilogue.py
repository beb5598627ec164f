"""Elementwise operations that a kernel applies to its result as it stores it.

Params of such a kernel: `epilogue`, the instructions (see `program.Instr`), whose input 0 is the result and whose other
inputs are further operands; `extras`, for each of these its strides along the axes of `program.result_domain`, where the last
one is 0 or 1; `stores`, the values to store, one per output. All is float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graphc_codegen import scalar_ops
from graphc_codegen.kernels.base import Array, Operand, Params
from graphc_codegen.loops.twin import twin as loop_twin
from graphc_codegen.program import Access, Instr, LoopKernel, Output
from graphc_codegen.writer import REGISTER, Writer


def _strides(domain: Sequence[int]) -> tuple[int, ...]:
    strides = [1] * len(domain)
    for k in range(len(domain) - 2, -1, -1):
        strides[k] = strides[k + 1] * domain[k + 1]
    return tuple(strides)


def _size(strides: Sequence[int], domain: Sequence[int]) -> int:
    return 1 + sum((n - 1) * s for n, s in zip(domain, strides, strict=True))


def operands(p: Params, domain: Sequence[int]) -> tuple[Operand, ...]:
    """The further inputs and the outputs of a kernel whose result has the axes `domain`."""
    whole = _size(_strides(domain), domain)
    extras = [Operand("float32", _size(s, domain), "in") for s in p.get("extras", ())]
    return (*extras, *(Operand("float32", whole, "out") for _ in p.get("stores", (0,))))


@dataclass(frozen=True, slots=True)
class Finish:
    """Stores results of one kernel. `pointers` are those of the extras, then of the outputs."""

    w: Writer
    p: Params
    domain: tuple[int, ...]
    pointers: Sequence[str]

    def store(self, value: str, at: Sequence[str | int], active: int | None = None) -> None:
        """Store a vector that begins at these indices and goes along the last axis; only its first `active` lanes."""
        w = self.w
        place = w.linear(*zip(at, _strides(self.domain), strict=True))
        if "epilogue" not in self.p:
            w.vstore(value, w.at(self.pointers[0], place), active)
            return
        extras: Sequence[tuple[int, ...]] = self.p["extras"]
        values = self._evaluate(value, at, active)
        for pointer, k in zip(self.pointers[len(extras) :], self.p["stores"], strict=True):
            w.vstore(values[k], w.at(pointer, place), active)

    def _evaluate(self, value: str, at: Sequence[str | int], active: int | None) -> list[str]:
        w, body = self.w, self.p["epilogue"]
        values: list[str] = []
        for instr in body:
            if instr.op == "input":
                values.append(value if instr.imm == 0 else self._load(int(instr.imm) - 1, at, active))
            elif instr.op == "const":
                values.append(w.constant(instr.imm, REGISTER[instr.dtype]))
            else:
                args = []
                for a in instr.args:
                    number = body[a].imm if body[a].op == "const" else None
                    args.append(scalar_ops.Operand(values[a], body[a].dtype, number))
                values.append(scalar_ops.emit(w, instr, args))
        return values

    def _load(self, k: int, at: Sequence[str | int], active: int | None) -> str:
        w, strides = self.w, self.p["extras"][k]
        pointer = w.at(self.pointers[k], w.linear(*zip(at, strides, strict=True)))
        return w.vload(pointer, active) if strides[-1] else w.splat(w.load(pointer))


def twin(p: Params, domain: Sequence[int], result: Array, *rest: Array) -> None:
    """The same in NumPy: `result` is what the kernel itself makes, `rest` are extras and outputs."""
    if "epilogue" not in p:
        rest[0][:] = result
        return
    whole = Access("float32", _strides(domain), 0, result.size)
    inputs = [Access("float32", tuple(s), 0, _size(s, domain)) for s in p["extras"]]
    body: tuple[Instr, ...] = p["epilogue"]
    outputs = tuple(Output(whole, k) for k in p["stores"])
    kernel = LoopKernel(tuple(domain), (False,) * len(domain), (whole, *inputs), body, outputs)
    loop_twin(kernel, result, *rest)
