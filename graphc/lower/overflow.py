"""The overflow check of a gradient happens where it is made: the product that stores it marks what is not finite.

`float_status` would read every gradient once more; of those that a product marks it reads the marks alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from graphc.ir import TensorType
from graphc.lower.buffers import Buffers
from graphc.lower.rewrite import Context, Statements
from graphc.lower.statements import operands, touched, with_blocks
from graphc_codegen.program import MARKS, Call, NamedKernel, Stmt, watches


def watch_overflow(body: Statements, context: Context) -> Statements:
    """Move overflow checks into the products that make what is checked, where possible.

    before:  b2 = gemm(b0, b1)                                b4 = float_status(b3, b2)
    after:   b2, b5 = gemm(b0, b1) {marks=(1, 0)}             b4 = float_status(b3, b5)
    """
    done: list[Stmt] = []
    for stmt in body:
        if not isinstance(stmt, Call):
            stmt = with_blocks(stmt, lambda block: watch_overflow(block, context))
        elif stmt.kernel.family == "float_status":
            stmt = _watched(stmt, done, context.buffers, context.most_threads)
        done.append(stmt)
    return tuple(done)


def _watched(check: Call, done: list[Stmt], buffers: Buffers, threads: int) -> Call:
    """The check with marks in place of what the kernels before it can mark; `done` gets those kernels."""
    status, *checked, flag = check.args
    for k, buffer in enumerate(checked):
        at = _maker(buffer, done)
        if at is None:
            continue
        call = done[at]
        assert isinstance(call, Call)
        assert isinstance(call.kernel, NamedKernel)
        place = operands(call)[1].index(buffer)
        checked[k] = buffers.new(TensorType("float32", (threads * MARKS,)))
        marks = ("marks", (threads, place))
        done[at] = replace(
            call, kernel=NamedKernel(call.kernel.name, (*call.kernel.params, marks)), args=(*call.args, checked[k])
        )
    sizes = tuple(buffers.type(b).size for b in checked)
    return replace(check, kernel=NamedKernel("float_status", (("sizes", sizes),)), args=(status, *checked, flag))


def _maker(buffer: int, done: Sequence[Stmt]) -> int | None:
    """Where the kernel stands that makes the whole buffer and can mark it; None if something else writes there last."""
    for at in reversed(range(len(done))):
        stmt = done[at]
        if isinstance(stmt, Call):
            if buffer in operands(stmt)[1]:
                return at if isinstance(stmt.kernel, NamedKernel) and watches(stmt.kernel) else None
        elif buffer in touched(stmt):
            return None
    return None
