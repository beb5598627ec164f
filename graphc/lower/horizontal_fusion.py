"""Calls of one loop kernel on different operands become one call: the updates of all parameters of one shape, say.

Fewer calls compile faster, and threads can share small ones by giving each whole sets of operands.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from graphc.lower.rewrite import Context, Statements
from graphc.lower.statements import nodes_of, operands, touched, with_blocks
from graphc_codegen.program import Call, LoopKernel, Stmt

#: Larger loops stay alone: their operands would push each other out of the cache.
_LARGEST = 1 << 18


@dataclass(slots=True)
class _Set:
    """Calls that become one, at the place of the first: number `at` among the statements; and what they read and write."""

    at: int
    calls: list[Call] = field(default_factory=list)
    read: set[int] = field(default_factory=set)
    wrote: set[int] = field(default_factory=set)

    def add(self, call: Call) -> None:
        inputs, outputs = operands(call)
        self.calls.append(call)
        self.read.update(inputs)
        self.wrote.update(outputs)


def join_calls(body: Statements, context: Context) -> Statements:
    """Join calls of equal loops where the later one may run as early as the first one.

    before:  b4 = map(b0, b2)       b5 = map(b1, b3)
    after:   b4, b5 = map(b0, b2, b1, b3) 2 times
    """
    reads: dict[int, int] = {}
    writes: dict[int, int] = {}
    sets: dict[LoopKernel, _Set] = {}
    done: list[Stmt | _Set] = []
    for stmt in body:
        if not isinstance(stmt, Call):
            stmt = with_blocks(stmt, lambda block: join_calls(block, context))
            for buffer in touched(stmt):
                reads[buffer] = writes[buffer] = len(done)
            done.append(stmt)
            continue
        inputs, outputs = operands(stmt)
        # Everything that this call depends on stands at or before this place.
        known = [writes.get(b, -1) for b in (*inputs, *outputs)] + [reads.get(b, -1) for b in outputs]
        after = max(known, default=-1)
        group = sets.get(stmt.kernel) if isinstance(stmt.kernel, LoopKernel) else None
        if group is not None and after < group.at and _apart(group, stmt):
            at = group.at
        else:
            at = len(done)
            group = _Set(at)
            if isinstance(stmt.kernel, LoopKernel) and _is_small(stmt.kernel):
                sets[stmt.kernel] = group
            done.append(group)
        group.add(stmt)
        for b in inputs:
            reads[b] = max(reads.get(b, -1), at)
        for b in outputs:
            writes[b] = max(writes.get(b, -1), at)
    return tuple(_joined(each) if isinstance(each, _Set) else each for each in done)


def _is_small(kernel: LoopKernel) -> bool:
    return 0 < math.prod(kernel.domain) <= _LARGEST


def _apart(group: _Set, call: Call) -> bool:
    """Whether a call touches nothing that the calls of the set write, and they nothing that it writes."""
    inputs, outputs = operands(call)
    return group.wrote.isdisjoint(inputs) and group.wrote.isdisjoint(outputs) and group.read.isdisjoint(outputs)


def _joined(group: _Set) -> Call:
    first, *others = group.calls
    if not others:
        return first
    assert isinstance(first.kernel, LoopKernel)
    sets = [operands(call) for call in group.calls]
    args = [b for inputs, _ in sets for b in inputs] + [b for _, outputs in sets for b in outputs]
    kernel = replace(first.kernel, times=len(group.calls))
    return Call(kernel, tuple(args), f"{first.note} ({len(group.calls)} times)", nodes=nodes_of(*group.calls))
