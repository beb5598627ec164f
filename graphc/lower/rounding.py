"""Weights that products want in bfloat16 are rounded while they are copied: no copy of all of them is made and kept."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from graphc.lower.buffers import Buffers
from graphc.lower.packing import reads_rounded
from graphc.lower.rewrite import Context, Statements
from graphc.lower.statements import operands, params_of, touched, uses, with_blocks, without_half
from graphc_codegen.program import Call, LoopKernel, NamedKernel


def round_factors(body: Statements, context: Context) -> Statements:
    """Let products read parameters of float32 where they multiply bfloat16 that they copy in any case.

    before:  b3 = map(b0)  ; to bfloat16   b4 = gemm(b1, b3) {halves=(('bfloat16', (0, 1)),)}
    after:   b4 = gemm(b1, b0) {halves=(('bfloat16', (0,)),), rounds=(1,)}
    """
    return _rounded(body, uses(body, context.results), context.buffers)


def _rounded(body: Statements, count: Counter[int], buffers: Buffers) -> Statements:
    done = [
        stmt if isinstance(stmt, Call) else with_blocks(stmt, lambda b: _rounded(b, count, buffers)) for stmt in body
    ]
    gone = set()
    for at, cast in enumerate(done):
        if not isinstance(cast, Call) or not _is_cast_of_parameter(cast, buffers):
            continue
        source, made = cast.args
        readers = [k for k in range(at + 1, len(done)) if made in touched(done[k])]
        calls = {k: stmt for k in readers if isinstance(stmt := done[k], Call) and _reads_factor(stmt, made, buffers)}
        if not calls or len(calls) < count[made] - 1:
            continue
        if any(_writes(done[k], source) for k in range(at + 1, readers[-1])):
            continue
        gone.add(at)
        for k, call in calls.items():
            done[k] = _reading(call, made, source)
    return tuple(stmt for at, stmt in enumerate(done) if at not in gone)


def _is_cast_of_parameter(call: Call, buffers: Buffers) -> bool:
    """Whether a call does nothing but round a whole parameter to bfloat16."""
    kernel = call.kernel
    if not isinstance(kernel, LoopKernel) or len(kernel.inputs) != 1 or len(kernel.outputs) != 1 or kernel.times != 1:
        return False
    (source,), (target,) = kernel.inputs, kernel.outputs
    return (
        buffers.space(call.args[0]) == "param"
        and buffers.space(call.args[1]) == "arena"
        and [i.op for i in kernel.body] == ["input", "cast"]
        and (source.dtype, target.access.dtype, target.value) == ("float32", "bfloat16", 1)
        and replace(source, dtype="bfloat16") == target.access
        and buffers.type(call.args[0]).size == buffers.type(call.args[1]).size
    )


def _reads_factor(call: Call, buffer: int, buffers: Buffers) -> bool:
    """Whether a call is a product of bfloat16 that rounds what it copies, of which a buffer is one factor, and nothing else."""
    if call.kernel.family != "gemm" or call.args.count(buffer) != 1 or buffer not in call.args[:2]:
        return False
    p = params_of(call)
    short = {*dict(p.get("halves", ())).get("bfloat16", ()), *p.get("rounds", ())}
    return {0, 1} <= short and reads_rounded(p, buffers.bfloat16())


def _writes(stmt: object, buffer: int) -> bool:
    return buffer in operands(stmt)[1] if isinstance(stmt, Call) else buffer in touched(stmt)  # type: ignore[arg-type]


def _reading(call: Call, made: int, source: int) -> Call:
    """The product that rounds what it reads of `source`."""
    place, p = call.args.index(made), params_of(call)
    rounds = (*p.pop("rounds", ()), place)
    kernel = NamedKernel("gemm", (*without_half(p, place).items(), ("rounds", rounds)))
    return replace(call, kernel=kernel, args=(*call.args[:place], source, *call.args[place + 1 :]))
