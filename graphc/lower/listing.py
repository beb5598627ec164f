"""Statements as text, for people: what runs on which buffers, and what loops compute."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from graphc.lower.buffers import Buffers
from graphc.lower.rewrite import Layout, Statements
from graphc.lower.statements import operands, params_of, row_major, touched
from graphc_codegen.program import Access, Call, ChainKernel, For, If, Instr, LoopKernel, Stmt

_INDENT = "  "


def listing(body: Statements, buffers: Buffers, layout: Layout | None = None) -> str:
    """The buffers that statements use, with their places if they have some, then the statements.

    A `~` before a statement says that threads meet there. Names in loops: x0, x1, ... are operands, t0, t1, ... instructions.
    """
    at = {b.id: f" at {b.position}" for b in layout.buffers} if layout is not None else {}
    used = sorted(set().union(*map(touched, body)))
    lines = ["buffers"]
    lines += [f"{_INDENT}b{b}: {buffers.type(b)} {buffers.space(b)}{at.get(b, '')}" for b in used]
    lines += ["statements", *_block(body)]
    return "\n".join(lines)


def _block(body: Sequence[Stmt]) -> Iterator[str]:
    for stmt in body:
        lines = list(_call(stmt) if isinstance(stmt, Call) else _branches(stmt))
        yield ("~ " if stmt.wait else _INDENT) + lines[0]
        yield from (_INDENT + line for line in lines[1:])


def _branches(stmt: Stmt) -> Iterator[str]:
    assert not isinstance(stmt, Call)
    end = _end(stmt)
    if isinstance(stmt, If):
        yield f"if b{stmt.pred}{end}"
        yield from _block(stmt.then)
        yield "else"
        yield from _block(stmt.orelse)
    elif isinstance(stmt, For):
        yield f"for {stmt.count} turns{end}"
        for w in stmt.windows:
            yield f"{_INDENT}b{w.buffer}: b{w.within} from byte {w.begin} by {w.step}"
        yield from _block(stmt.body)
    else:
        yield f"while{end}"
        yield from _block(stmt.condition)
        yield f"b{stmt.pred} do"
        yield from _block(stmt.body)


def _call(call: Call) -> Iterator[str]:
    kernel, (inputs, outputs) = call.kernel, operands(call)
    names = [f"b{b}" for b in call.args]
    head = f"{_names(outputs)} = {kernel.family}({_names(inputs)})"
    if kernel.threads > 1:
        head += f" on {kernel.threads} threads"
    if isinstance(kernel, LoopKernel):
        times = f" {kernel.times} times" if kernel.times > 1 else ""
        yield head + times + _end(call)
        yield from _loop(kernel, names)
    elif isinstance(kernel, ChainKernel):
        yield f"{head} by the first {kernel.rows} axes{_end(call)}"
        names += [f"p{k}" for k in range(kernel.private)]
        for loop, places in zip(kernel.loops, kernel.places, strict=True):
            own = [names[p] for p in places]
            split = len(loop.inputs)
            yield f"{_INDENT}{', '.join(own[split:])} = {loop.family}({', '.join(own[:split])})"
            yield from (_INDENT + line for line in _loop(loop, own))
    else:
        p = params_of(call)
        epilogue = p.pop("epilogue", ())
        yield f"{head} {{{', '.join(f'{name}={value}' for name, value in p.items())}}}{_end(call)}"
        yield from (_INDENT * 2 + line for line in _instructions(epilogue))


def _loop(kernel: LoopKernel, names: Sequence[str]) -> Iterator[str]:
    """What a loop computes; of several sets of operands, the names of the first one's."""
    reduced = [i for i, flag in enumerate(kernel.reduced) if flag]
    over = f", axes {reduced} reduced" if reduced else ""
    yield f"{_INDENT}for {list(kernel.domain)}{over}"
    for k, access in enumerate(kernel.inputs):
        if walk := _walk(access, kernel.domain):
            yield f"{_INDENT * 2}x{k}{walk}"
    yield from (_INDENT * 2 + line for line in _instructions(kernel.body))
    whole = tuple(0 if flag else n for n, flag in zip(kernel.domain, kernel.reduced, strict=True))
    for k, output in enumerate(kernel.outputs):
        value = _value(kernel.body, output.value)
        if output.reduce is not None:
            value = (
                f"{output.reduce} {value}"
                + (f" * {output.scale!r}" if output.scale != 1 else "")
                + _blocks(output.block)
            )
        walk = "" if 0 in whole else _walk(output.access, kernel.domain)
        yield f"{_INDENT * 2}{names[len(kernel.inputs) * kernel.times + k]} <- {value}{walk}"


def _blocks(terms: int) -> str:
    return f" in blocks of {terms}" if terms > 1 else " in float64" if terms else ""


def _instructions(body: Sequence[Instr]) -> Iterator[str]:
    """The instructions, but for operands and constants, which stand where they are used."""
    for k, instr in enumerate(body):
        if instr.op in ("input", "const"):
            continue
        args = [_value(body, a) for a in instr.args]
        if instr.imm is not None:
            args.append(repr(instr.imm))
        yield f"t{k}: {instr.dtype} = {instr.op}({', '.join(args)})"


def _value(body: Sequence[Instr], at: int) -> str:
    instr = body[at]
    return f"x{instr.imm}" if instr.op == "input" else repr(instr.imm) if instr.op == "const" else f"t{at}"


def _walk(access: Access, domain: Sequence[int]) -> str:
    """How a loop walks an operand, unless it does so element by element."""
    if access.offset == 0 and access.strides == row_major(domain):
        return ""
    return f" from {access.offset} by {list(access.strides)}"


def _names(buffers: Sequence[int]) -> str:
    return ", ".join(f"b{b}" for b in buffers)


def _end(stmt: Stmt) -> str:
    """Which buffers die, and the nodes that a statement is for."""
    dead = (
        f"  ({_names(stmt.dead)} dies)" if len(stmt.dead) == 1 else f"  ({_names(stmt.dead)} die)" if stmt.dead else ""
    )
    return f"{dead}  ; {stmt.note}"
