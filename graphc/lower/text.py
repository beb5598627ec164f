"""A program as text, for people: its buffers, its statements, and what each kernel does."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from graphc.ir import TensorType
from graphc.lower.statements import operands
from graphc_codegen.program import (
    Access,
    Buffer,
    Call,
    ChainKernel,
    If,
    Instr,
    Kernel,
    LoopKernel,
    Program,
    Stmt,
    symbol,
)


def program_text(program: Program) -> str:
    """The whole program, without a final newline. Buffers are b0, b1, ...; `wait` says that all threads meet before.

    A call reads `kernel(read buffers) -> (written buffers)`; behind `#` stand the nodes that it computes.
    """
    threads = f", {program.threads} threads" if program.threads > 1 else ""
    lines = [f"program @{program.name} {{  # arena of {program.arena} bytes{threads}", "  buffers:"]
    lines += [f"    {_buffer(b)}" for b in program.buffers]
    lines += ["  statements:", *_block(program.body, "    "), "  kernels:"]
    for name, kernel in program.kernels().items():
        lines += [f"    {line}" for line in _kernel(name, kernel)]
    return "\n".join([*lines, "}"])


def _buffer(b: Buffer) -> str:
    place = f"arena at {b.position}" if b.space == "arena" else f"{b.space} {b.position}"
    return f"b{b.id}: {TensorType(b.dtype, b.shape)} = {place}"


def _block(body: Sequence[Stmt], indent: str) -> Iterator[str]:
    for stmt in body:
        note = f"  # {stmt.note}" if stmt.note else ""
        wait = "wait " if stmt.wait else ""
        if isinstance(stmt, Call):
            read, written = operands(stmt)
            yield f"{indent}{wait}{symbol(stmt.kernel)}({_names(read)}) -> ({_names(written)}){note}"
        elif isinstance(stmt, If):
            yield f"{indent}{wait}if b{stmt.pred} {{{note}"
            yield from _block(stmt.then, indent + "  ")
            yield f"{indent}}} else {{"
            yield from _block(stmt.orelse, indent + "  ")
            yield f"{indent}}}"
        else:
            yield f"{indent}while {{{note}"
            yield from _block(stmt.condition, indent + "  ")
            yield f"{indent}}} {wait}b{stmt.pred} {{"
            yield from _block(stmt.body, indent + "  ")
            yield f"{indent}}}"


def _names(buffers: Sequence[int]) -> str:
    return ", ".join(f"b{b}" for b in buffers)


def _kernel(name: str, kernel: Kernel) -> Iterator[str]:
    shared = f", shared by {kernel.threads} threads" if kernel.threads > 1 else ""
    if isinstance(kernel, LoopKernel):
        times = f", {kernel.times} times" if kernel.times > 1 else ""
        yield f"{name}: for {_domain(kernel)}{times}{shared}"
        yield from _loop(kernel, "  ", [f"in{i}" for i in range(len(kernel.inputs))], "out")
    elif isinstance(kernel, ChainKernel):
        rows = " x ".join(map(str, kernel.loops[0].domain[: kernel.rows]))
        yield f"{name}: for each of {rows} rows{shared}"
        for loop, places in zip(kernel.loops, kernel.places, strict=True):
            yield f"  for {_domain(loop)}"
            split = len(loop.inputs)
            yield from _loop(loop, "    ", [f"x{p}" for p in places[:split]], "x", places[split:])
    else:
        yield f"{name}: {', '.join(f'{k}={_param(v)}' for k, v in kernel.params)}{shared}"


def _param(value: object) -> str:
    if isinstance(value, tuple) and value and isinstance(value[0], Instr):
        return f"{len(value)} scalar operations"
    return repr(value)


def _domain(loop: LoopKernel) -> str:
    axes = [f"{n} (reduced)" if r else str(n) for n, r in zip(loop.domain, loop.reduced, strict=True)]
    return f"[{', '.join(axes)}]"


def _loop(
    loop: LoopKernel, indent: str, inputs: Sequence[str], written: str, places: Sequence[int] | None = None
) -> Iterator[str]:
    """The scalar operations of a loop's body, and where their results go."""
    for number, instr in enumerate(loop.body):
        if instr.op == "input":
            assert isinstance(instr.imm, int)
            value = _access(inputs[instr.imm], loop.inputs[instr.imm])
        elif instr.op == "const":
            value = repr(instr.imm)
        else:
            arguments = [f"t{a}" for a in instr.args] + ([str(instr.imm)] if instr.imm is not None else [])
            value = f"{instr.op}({', '.join(arguments)})"
        yield f"{indent}t{number}: {instr.dtype} = {value}"
    for number, output in enumerate(loop.outputs):
        place = number if places is None else places[number]
        value = f"t{output.value}" if output.reduce is None else f"{output.reduce}(t{output.value})"
        scale = f" * {output.scale!r}" if output.scale != 1.0 else ""
        yield f"{indent}{_access(f'{written}{place}', output.access)} = {value}{scale}"


def _access(name: str, access: Access) -> str:
    """An element: the offset, and the stride of every axis of the domain."""
    offset = f"{access.offset} + " if access.offset else ""
    return f"{name}[{offset}{' '.join(map(str, access.strides)) or '0'}]"
