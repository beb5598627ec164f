"""Elementwise loops that follow a kernel become part of it: it applies them to its result as it stores it.

A matrix product with bias and activation, or a convolution with a residual sum, then goes over its result once.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from graphc.ir.types import HALVES
from graphc.lower.cost import weight
from graphc.lower.rewrite import Context, Statements
from graphc.lower.statements import nodes_of, operands, row_major, uses, with_blocks
from graphc_codegen.program import (
    Access,
    Call,
    Instr,
    LoopKernel,
    NamedKernel,
    Param,
    Stmt,
    may_overwrite,
    result_domain,
)

#: Further operands and instructions of an epilogue: more would not fit into registers beside the results.
_MOST_EXTRAS, _MOST_INSTRUCTIONS = 5, 40
#: The dtypes of what an epilogue reads, computes and stores.
_FLOATS = ("float32", *HALVES)
#: What an epilogue of a matrix product may cost, in additions: its tiles have many registers, each with code of its own.
_MOST_AFTER_GEMM = 8


def absorb_loops(body: Statements, context: Context) -> Statements:
    """Take loops into the kernels before them where that is possible.

    before:  b3 = gemm(b0, b1) {m=4, n=8, k=3}      b4 = map(b3, b2)  t2 = add(x0, x1)  t3 = max(t2, 0.0)
    after:   b4 = gemm(b0, b1, b2) {m=4, n=8, k=3, extras=((0, 0, 1),), stores=(3,)}  t2 = add(x0, x1)  t3 = max(t2, 0.0)
    """
    return _absorb(body, uses(body, context.results), context)


@dataclass(slots=True)
class _Done:
    """A block as far as it has been gone through.

    made        the place of the kernel that made a buffer
    used        the last place where a buffer is an operand; a place that is empty now is never the last one of a buffer that
    wrote       is still used. The same where it is written
    block       the last place that is no call
    """

    body: list[Stmt | None] = field(default_factory=list)
    made: dict[int, int] = field(default_factory=dict)
    used: dict[int, int] = field(default_factory=dict)
    wrote: dict[int, int] = field(default_factory=dict)
    block: int = -1

    def add(self, stmt: Stmt) -> None:
        self.body.append(stmt)
        if isinstance(stmt, Call):
            self._note(stmt, len(self.body) - 1)
        else:
            self.block = len(self.body) - 1

    def put(self, at: int, call: Call | None) -> None:
        """Put a call, or nothing, in the place of a kernel."""
        self.body[at] = call
        if call is not None:
            self._note(call, at)

    def _note(self, call: Call, at: int) -> None:
        for b in call.args:
            self.used[b] = max(self.used.get(b, -1), at)
        for b in operands(call)[1]:
            self.wrote[b] = max(self.wrote.get(b, -1), at)

    def may_rise(self, at: int, loop: Call) -> bool:
        """Whether a loop may run right after a place, where the kernel stands that makes one of its operands."""
        read, outputs = operands(loop)
        free = all(self.used.get(b, -1) <= at for b in outputs) and all(self.wrote.get(b, -1) <= at for b in read)
        return free and self.block < at

    def may_move(self, at: int, producer: Call) -> bool:
        """Whether the kernel at a place may run last instead: nothing since then touches its result nor changes its operands."""
        *inputs, result = producer.args
        free = self.used.get(result, -1) <= at and all(self.wrote.get(b, -1) <= at for b in inputs)
        return free and self.block < at


def _absorb(body: Statements, count: Counter[int], context: Context) -> Statements:
    done = _Done()
    for stmt in body:
        if not isinstance(stmt, Call):
            stmt = with_blocks(stmt, lambda block: _absorb(block, count, context))
        elif (
            isinstance(stmt.kernel, LoopKernel)
            and not any(stmt.kernel.reduced)
            and _absorb_loop(stmt, done, count, context)
        ):
            continue
        if isinstance(stmt, Call) and isinstance(stmt.kernel, NamedKernel) and _takes_epilogue(stmt.kernel):
            done.made[stmt.args[-1]] = len(done.body)
        done.add(stmt)
    return tuple(s for s in done.body if s is not None)


def _absorb_loop(loop: Call, done: _Done, count: Counter[int], context: Context) -> bool:
    """Put a loop and a kernel that makes one of its operands into `done` as one call, if there is such a kernel.

    Rather at the kernel's place than at the loop's: there the kernel's operands have just been used.
    """
    for at in sorted({done.made[b] for b in loop.args if b in done.made}, reverse=True):
        producer = done.body[at]
        assert isinstance(producer, Call)
        early, late = done.may_rise(at, loop), done.may_move(at, producer)
        joined = _joined(producer, loop, count, context) if early or late else None
        if joined is None:
            continue
        del done.made[producer.args[-1]]
        done.put(at, joined if early else None)
        if not early:
            done.add(joined)
        return True
    return False


def _takes_epilogue(kernel: NamedKernel) -> bool:
    return result_domain(kernel) is not None and "epilogue" not in dict(kernel.params)


def _joined(producer: Call, loop: Call, count: Counter[int], context: Context) -> Call | None:
    """Both calls in one; None where the loop does not fit."""
    kernel, named = loop.kernel, producer.kernel
    assert isinstance(kernel, LoopKernel)
    assert isinstance(named, NamedKernel)
    inputs, (*scratch, result) = operands(producer)
    read, outputs = operands(loop)
    if read.count(result) != 1:
        return None
    if set(outputs) & {*inputs, result}:  # The kernel might still read there.
        return None
    own = read.index(result)
    over = tuple([b in outputs for b in read])
    kept = count[result] > 2  # Somebody else reads the result itself.
    joined = context.once(_with_epilogue, named, kernel, how=(len(producer.args) - 1, own, over, kept))
    if joined is None:
        return None
    others = [b for k, b in enumerate(read) if k != own]
    return Call(
        joined,
        (*inputs, *others, *scratch, *outputs, *((result,) if kept else ())),
        f"{producer.note}, {loop.note}",
        nodes=nodes_of(producer, loop),
    )


def _with_epilogue(
    named: NamedKernel, kernel: LoopKernel, result: int, own: int, over: Sequence[bool], kept: bool
) -> NamedKernel | None:
    """A kernel whose operand `result` a loop reads as its operand `own`, with that loop; it writes over those operands that
    are `over`, and the result itself is `kept`. None where the loop does not fit.
    """
    domain = result_domain(named)
    if domain is None or not _fits(kernel, domain) or (named.name == "gemm" and weight(kernel) > _MOST_AFTER_GEMM):
        return None
    if _regrouped(kernel.inputs[own], kernel.domain, domain) != row_major(domain):
        return None
    others = [k for k in range(len(over)) if k != own]
    extras = [_regrouped(kernel.inputs[k], kernel.domain, domain) for k in others]
    if any(e is None or e[-1] not in (0, 1) for e in extras):
        return None
    written_over = [e for k, e in zip(others, extras, strict=True) if over[k]]
    if written_over and not (may_overwrite(named) and all(e == row_major(domain) for e in written_over)):
        return None
    if any(kernel.inputs[k].size != _reach(e, domain) for k, e in zip(others, extras, strict=True) if e is not None):
        return None  # A part of a larger buffer.
    number = {own: 0} | {k: 1 + n for n, k in enumerate(others)}
    body = tuple(replace(i, imm=number[int(i.imm or 0)]) if i.op == "input" else i for i in kernel.body)
    stores = [o.value for o in kernel.outputs]
    if kept:
        stores.append(next(k for k, i in enumerate(body) if i.op == "input" and i.imm == 0))
    params = (
        *_in_float32(named, result),
        ("epilogue", body),
        ("extras", tuple(extras)),
        ("stores", tuple(stores)),
    )
    return NamedKernel(named.name, params)  # type: ignore[arg-type]


def _in_float32(kernel: NamedKernel, result: int) -> tuple[tuple[str, Param], ...]:
    """The params of a kernel whose result, operand number `result`, an epilogue takes, which rounds it: it is no half itself."""
    params = dict(kernel.params)
    halves: Any = params.pop("halves", ())
    kept = tuple((dtype, places) for dtype, given in halves if (places := tuple(k for k in given if k != result)))
    return (*params.items(), ("halves", kept)) if kept else tuple(params.items())


def _fits(kernel: LoopKernel, domain: Sequence[int]) -> bool:
    """Whether a loop is small, all of float32 or halves, and stores whole results."""
    size = math.prod(domain)
    return (
        math.prod(kernel.domain) == size
        and all(o.access.size == size for o in kernel.outputs)
        and len(kernel.inputs) <= 1 + _MOST_EXTRAS
        and len(kernel.body) <= _MOST_INSTRUCTIONS
        and all(a.dtype in _FLOATS and a.offset == 0 for a in kernel.accesses())
        and all(_supported(i) for i in kernel.body)
        and all(_regrouped(o.access, kernel.domain, domain) == row_major(domain) for o in kernel.outputs)
    )


def _reach(strides: Sequence[int], domain: Sequence[int]) -> int:
    """How many elements an operand has that is walked with these strides to its end."""
    return 1 + sum((n - 1) * s for n, s in zip(domain, strides, strict=True))


def _supported(instr: Instr) -> bool:
    return instr.op != "iota" and instr.dtype in (*_FLOATS, "bool")


def _regrouped(access: Access, axes: Sequence[int], domain: Sequence[int]) -> tuple[int, ...] | None:
    """The strides of an access along other axes of the same elements; None if it does not walk along them."""
    rest = [(n, s) for n, s in zip(axes, access.strides, strict=True) if n > 1]
    found: list[int] = []
    for size in reversed(domain):
        stride, reach = 0, 1
        while reach < size:
            if not rest:
                return None
            n, s = rest.pop()
            part = math.gcd(n, size // reach) if size % reach == 0 else 1
            if part == 1:
                return None
            if part < n:  # The rest of the axis belongs to the next one.
                rest.append((n // part, s * part))
            if reach == 1:
                stride = s
            elif s != stride * reach:
                return None
            reach *= part
        found.append(stride)
    return tuple(reversed(found))
