"""Checks a whole program before anything is generated: native kernels trust every address and size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from graphc_codegen.dtypes import ITEMSIZE
from graphc_codegen.errors import CodegenError
from graphc_codegen.loops import check, check_chain
from graphc_codegen.program import (
    ALIGNMENT,
    Buffer,
    Call,
    ChainKernel,
    For,
    Kernel,
    LoopKernel,
    Program,
    Stmt,
    blocks,
    divisible,
    is_custom,
    predicates,
    symbol,
)
from graphc_codegen.text.functions import safe


@dataclass(frozen=True, slots=True)
class Declared:
    """What a kernel expects of one operand."""

    dtype: str
    size: int
    role: Literal["in", "out"]


def operands(kernel: Kernel) -> tuple[Declared, ...]:
    """The operands of a kernel in the order of a call. Raises CodegenError for an unknown kernel."""
    if isinstance(kernel, LoopKernel):
        inputs = [Declared(a.dtype, a.size, "in") for a in kernel.inputs] * kernel.times
        outputs = [Declared(o.access.dtype, o.access.size, "out") for o in kernel.outputs] * kernel.times
        return (*inputs, *outputs)
    if isinstance(kernel, ChainKernel):
        accesses, written = kernel.accesses(), kernel.outputs()
        return tuple(
            Declared(accesses[k][0].dtype, accesses[k][0].size, "out" if k in written else "in")
            for k in range(len(accesses) - kernel.private)
        )
    from graphc_codegen.kernels import emitter  # A step from the object cache needs no emitter.

    found = emitter(kernel).operands(dict(kernel.params))
    return tuple(Declared(o.dtype, o.size, o.role) for o in found)


def validate(program: Program) -> None:
    """Raise CodegenError when the program contradicts itself.

    Buffers must be distinct, known and inside the arena; every call must get operands of the declared number,
    dtypes and sizes and write only to parameters and the arena; predicates are single booleans.
    """
    buffers: dict[int, Buffer] = {}
    for buffer in program.buffers:
        if buffer.id in buffers:
            raise CodegenError(f"buffer {buffer.id} is declared twice")
        buffers[buffer.id] = buffer
        _check_buffer(program, buffer)
    _check_functions(program)
    declared: dict[str, tuple[Declared, ...]] = {}
    for name, kernel in program.kernels().items():
        if isinstance(kernel, LoopKernel):
            check(kernel)
        elif isinstance(kernel, ChainKernel):
            check_chain(kernel)
        if kernel.threads not in (1, program.threads) or (kernel.threads > 1 and not divisible(kernel)):
            raise CodegenError(f"kernel {name} cannot run on {kernel.threads} threads of {program.threads}")
        declared[name] = operands(kernel)
    _check_body(program.body, program.threads, buffers, declared)


def _check_functions(program: Program) -> None:
    """Kernels are told apart by their content, users' functions by their names."""
    known: dict[str, Kernel] = {}
    for call in program.calls():
        if is_custom(call.kernel) and known.setdefault(symbol(call.kernel), call.kernel) != call.kernel:
            raise CodegenError(f"two functions of users have the same name: {safe(call.note)}")


def _check_buffer(program: Program, buffer: Buffer) -> None:
    name = f"buffer {buffer.id}"
    if buffer.dtype not in ITEMSIZE or any(n < 0 for n in buffer.shape) or buffer.position < 0:
        raise CodegenError(f"{name} has a wrong dtype, shape or position: {buffer}")
    if buffer.space == "arena":
        if buffer.position % ALIGNMENT:
            raise CodegenError(f"{name} does not start at a multiple of {ALIGNMENT} bytes")
        if buffer.position + buffer.nbytes > program.arena:
            raise CodegenError(f"{name} ends at byte {buffer.position + buffer.nbytes} of {program.arena}")


def _check_body(
    body: Sequence[Stmt], threads: int, buffers: dict[int, Buffer], declared: dict[str, tuple[Declared, ...]]
) -> None:
    for stmt in body:
        used = [*stmt.dead, *(stmt.args if isinstance(stmt, Call) else predicates(stmt))]
        if stmt.wait and threads == 1:
            raise CodegenError(f"statement {safe(stmt.note)!r} waits for other threads, but there are none")
        unknown = [i for i in used if i not in buffers]
        if unknown:
            raise CodegenError(f"statement {safe(stmt.note)!r} uses unknown buffers {unknown}")
        if isinstance(stmt, Call):
            _check_call(stmt, buffers, declared[symbol(stmt.kernel)])
            continue
        for pred in map(buffers.__getitem__, predicates(stmt)):
            if pred.dtype != "bool" or pred.size != 1:
                raise CodegenError(f"the predicate of {safe(stmt.note)!r}, buffer {pred.id}, is no single bool")
        if isinstance(stmt, For):
            _check_windows(stmt, buffers)
        for block in blocks(stmt):
            _check_body(block, threads, buffers, declared)


def _check_windows(loop: For, buffers: dict[int, Buffer]) -> None:
    """Windows stay inside what they lie in, at whole elements, in every turn."""
    where = f"loop {safe(loop.note)!r}"
    if loop.count < 1:
        raise CodegenError(f"{where} has {loop.count} turns")
    for w in loop.windows:
        if w.buffer not in buffers or w.within not in buffers:
            raise CodegenError(f"{where} moves unknown buffers: {w}")
        own, whole = buffers[w.buffer], buffers[w.within]
        ends = w.begin, w.begin + (loop.count - 1) * w.step
        if own.space != "window" or own.position != w.within or own.dtype != whole.dtype:
            raise CodegenError(f"{where}: buffer {own.id} is no window in buffer {whole.id}")
        if min(ends) < 0 or max(ends) + own.nbytes > whole.nbytes or any(e % ITEMSIZE[own.dtype] for e in ends):
            raise CodegenError(f"{where}: buffer {own.id} leaves buffer {whole.id}, at bytes {ends[0]} to {ends[1]}")


def _check_call(call: Call, buffers: dict[int, Buffer], declared: tuple[Declared, ...]) -> None:
    where = f"call {symbol(call.kernel)} ({safe(call.note)})"
    if len(call.args) != len(declared):
        raise CodegenError(f"{where} has {len(call.args)} operands, the kernel {len(declared)}")
    for position, (id, want) in enumerate(zip(call.args, declared, strict=True)):
        have = buffers[id]
        if (have.dtype, have.size) != (want.dtype, want.size):
            raise CodegenError(
                f"{where}: operand {position}, buffer {id}, is {have.dtype}[{have.size}]; "
                f"the kernel expects {want.dtype}[{want.size}]"
            )
        while have.space == "window":
            have = buffers[have.position]
        if want.role == "out" and have.space in ("input", "const"):
            raise CodegenError(f"{where}: operand {position}, buffer {id}, is a {have.space} and may not be written")
