"""The overflow check of a gradient happens where it is made: the product that stores it marks what is not finite.

`float_status` would read every gradient once more; of those that a product marks it reads the marks alone.
"""

from __future__ import annotations

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
    wrote: dict[int, int] = {}  # The last place where a buffer is written.
    for stmt in body:
        if not isinstance(stmt, Call):
            stmt = with_blocks(stmt, lambda block: watch_overflow(block, context))
        elif stmt.kernel.family == "float_status":
            stmt = _watched(stmt, done, wrote, context.buffers, context.most_threads)
        wrote.update(dict.fromkeys(operands(stmt)[1] if isinstance(stmt, Call) else touched(stmt), len(done)))
        done.append(stmt)
    return tuple(done)


def _watched(check: Call, done: list[Stmt], wrote: dict[int, int], buffers: Buffers, threads: int) -> Call:
    """The check with marks in place of what the kernels before it can mark; `done` gets those kernels."""
    status, *checked, flag = check.args
    for k, buffer in enumerate(checked):
        at = wrote.get(buffer)
        call = None if at is None else done[at]
        if at is None or not isinstance(call, Call) or not isinstance(call.kernel, NamedKernel):
            continue
        if not watches(call.kernel):
            continue
        place = operands(call)[1].index(buffer)
        checked[k] = buffers.new(TensorType("float32", (threads * MARKS,)))
        marks = ("marks", (threads, place))
        done[at] = replace(
            call, kernel=NamedKernel(call.kernel.name, (*call.kernel.params, marks)), args=(*call.args, checked[k])
        )
    sizes = tuple(buffers.type(b).size for b in checked)
    return replace(check, kernel=NamedKernel("float_status", (("sizes", sizes),)), args=(status, *checked, flag))
