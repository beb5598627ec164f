"""Loops over the same rows become one chain: it takes each row through all of them while it is in the nearest cache.

A layer norm is four loops over its rows; on their own they each walk the whole array, and threads meet between them.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphc.lower.buffers import Buffers
from graphc.lower.recompute import SMALLEST
from graphc.lower.rewrite import Context, Statements
from graphc.lower.statements import nodes_of, operands, touched, uses, with_blocks
from graphc_codegen.program import (
    ITEMSIZE,
    Access,
    Call,
    ChainKernel,
    Kernel,
    LoopKernel,
    Stmt,
    in_rows,
    reach,
)

#: Loops of a chain.
_MOST_LOOPS = 8
#: Rows are leading axes, so that each lies together: channels of images, say, are pieces at large powers of two from each other,
#: which a cache cannot hold. They are shared by threads. Shorter ones would not fill a loop's vectors. In the last loops on a
#: row a processor begins to read the next one, but only if that is not too many instructions ahead: longer rows lose, unless the
#: second cache is large, behind which memory is far: several such rows fit there.
_LEAST_ROWS, _SHORTEST, _LONGEST = 16, 64, 1024
_LARGE_CACHE, _OF_CACHE = 1 << 21, 16
#: Rows may lie beside each other, as pixels do whose channels are normalized: so many are taken at a time, by vectors.
_BESIDE = 16
#: Bytes of rows that a thread has for itself.
_MOST_PRIVATE = 1 << 14


@dataclass(slots=True)
class _Chain:
    """Calls that become one, at the place of the first; leading axes that are rows for all, and the turns of the largest loop.

    `written` has how each buffer is written, and over which domain.
    """

    calls: list[Call]
    rows: int
    turns: int
    read: set[int]
    written: dict[int, tuple[Access, tuple[int, ...]]]


def chain_loops(body: Statements, context: Context) -> Statements:
    """Join loops that read each other's results row by row.

    before:  b2 = reduce(b0)     b3 = map(b0, b2)
    after:   b3 = chain(b0) by the first 1 axes     p0 = reduce(b0)  b3 = map(b0, p0)
    """
    longest = context.cache // _OF_CACHE if context.cache >= _LARGE_CACHE else _LONGEST
    return _Chains(uses(body, context.results), context, longest).block(body)


@dataclass(slots=True)
class _Chains:
    count: Counter[int]
    context: Context
    longest: int

    def block(self, body: Statements) -> Statements:
        used: dict[int, int] = {}  # By buffer, the place of the last statement that touches or writes it.
        wrote: dict[int, int] = {}
        done: list[Stmt | _Chain] = []
        open_from = 0  # A loop does not rise over other kernels: its results would be alive for longer.
        for stmt in body:
            if not isinstance(stmt, Call):
                stmt = with_blocks(stmt, self.block)
            inputs, outputs = operands(stmt) if isinstance(stmt, Call) else (touched(stmt), touched(stmt))
            if isinstance(stmt, Call) and isinstance(stmt.kernel, LoopKernel):
                # What the call depends on stands at or before this place.
                after = max([wrote.get(b, -1) for b in inputs] + [used.get(b, -1) for b in outputs], default=-1)
                beside = [used.get(b, -1) for b in inputs if self.context.buffers.type(b).size >= SMALLEST]
                begun = _begun(stmt, stmt.kernel)
                for at in sorted({after, max((after, *beside))}, reverse=True):
                    if at >= open_from and self._extended(done[at], begun):
                        break
                else:
                    at = len(done)
                    done.append(begun)
            else:
                at = len(done)
                done.append(stmt)
                open_from = len(done)
            for b in outputs:
                wrote[b] = used[b] = at
            for b in inputs:
                used[b] = max(used.get(b, -1), at)
        return tuple(self._joined(each) if isinstance(each, _Chain) else each for each in done)

    def _extended(self, chain: Stmt | _Chain, begun: _Chain) -> bool:
        """Add the only call of another chain to one if it fits there."""
        if not isinstance(chain, _Chain) or len(chain.calls) == _MOST_LOOPS or not (chain.rows and begun.rows):
            return False
        (call,) = begun.calls
        loop = call.kernel
        assert isinstance(loop, LoopKernel)
        _, domain = next(iter(chain.written.values()))
        rows = min(chain.rows, begun.rows, _rows(loop, domain))
        read, turns = chain.read | begun.read, max(chain.turns, begun.turns)
        if not rows or not (read.isdisjoint(begun.written) and chain.written.keys().isdisjoint(begun.written)):
            return False
        while rows and not _in_rows(call, loop, chain.written, rows):
            rows -= 1
        again = self.context.once(_read_again, loop, *(c.kernel for c in chain.calls))
        longest = self.longest if again else _LONGEST
        if not rows or not self._pays(turns, math.prod(domain[:rows]), longest):
            return False
        chain.calls.append(call)
        chain.rows, chain.turns, chain.read = rows, turns, read
        chain.written.update(begun.written)
        return True

    def _pays(self, turns: int, rows: int, longest: int) -> bool:
        """Whether there is enough to do, and rows are many, neither short nor long; `turns` are those of the largest loop."""
        enough = turns >= SMALLEST and rows >= max(_LEAST_ROWS, 4 * self.context.most_threads)
        return enough and _SHORTEST <= turns // rows <= longest

    def _joined(self, group: _Chain) -> Call:
        calls = group.calls
        if len(calls) == 1:
            return calls[0]
        loops = tuple(c.kernel for c in calls if isinstance(c.kernel, LoopKernel))
        made = [b for c in calls for b in operands(c)[1]]
        rows = self._apart(group, loops)
        private = _private(calls, loops, rows, self.count, self.context.buffers)
        args = list(dict.fromkeys(b for c in calls for b in operands(c)[0] if b not in made))
        args += [b for b in made if b not in private]
        number = {b: k for k, b in enumerate([*args, *private])}
        places = tuple([tuple([number[b] for b in c.args]) for c in calls])
        kernel = self.context.once(_chained, *loops, how=(rows, places, len(private)))
        return Call(kernel, tuple(args), ", ".join(c.note for c in calls), nodes=nodes_of(*calls))

    def _apart(self, group: _Chain, loops: Sequence[LoopKernel]) -> int:
        """How many leading axes go one by one: those that rows have in common, without the last ones along which rows that are
        summed up lie beside each other. One row after the other would read such memory once for each.
        """
        summed = [a for loop in loops if any(o.reduce for o in loop.outputs) for a in loop.accesses()]
        rows, beside, domain = group.rows, 1, loops[0].domain
        while rows > 1 and beside < _BESIDE and any(_lies_across(a, rows, beside) for a in summed):
            rows -= 1
            beside *= domain[rows]
        enough = math.prod(domain[:rows]) >= 4 * self.context.most_threads
        pairs = zip(group.calls, loops, strict=True)
        return rows if enough and all(_in_rows(c, loop, group.written, rows) for c, loop in pairs) else group.rows


def _chained(*what: Any) -> ChainKernel:
    *loops, rows, places, private = what
    return ChainKernel(rows, tuple(loops), places, private)


def _lies_across(access: Access, rows: int, beside: int) -> bool:
    """Whether elements of a row are farther apart than those of the next row are from its own."""
    return access.strides[rows - 1] == beside < max(map(abs, access.strides[rows:]), default=0)


def _read_again(*loops: Kernel) -> bool:
    """Whether a row, however long, is read by some loops behind a reduction of it, and in each once.

    Copies gain nothing from each other. Loops over pairs have operands that are read for every row.
    """
    made = [loop for loop in loops if isinstance(loop, LoopKernel)]

    def once(loop: LoopKernel) -> bool:
        return any(all(s or n == 1 for s, n in zip(a.strides, loop.domain, strict=True)) for a in loop.accesses())

    return any(any(loop.reduced) for loop in made) and all(map(once, made))


def _in_rows(call: Call, loop: LoopKernel, written: Mapping[int, tuple[Access, tuple[int, ...]]], rows: int) -> bool:
    """Whether the loop reads what others have written in the same row only."""
    read = zip(call.args, loop.inputs, strict=False)
    return all(b not in written or in_rows(*written[b], access, loop.domain, rows) for b, access in read)


def _begun(call: Call, loop: LoopKernel) -> _Chain:
    """A chain of one loop; without rows, so that no other one fits, if that cannot be part of a chain."""
    inputs, outputs = map(set, operands(call))
    written = {b: (o.access, loop.domain) for b, o in zip(call.args[len(loop.inputs) :], loop.outputs, strict=False)}
    apart = inputs.isdisjoint(outputs) and len(outputs) == len(loop.outputs)  # Not so with several sets of operands.
    rows = _rows(loop, loop.domain) if apart and 0 not in loop.domain else 0
    return _Chain([call], rows, math.prod(loop.domain), inputs, written)


def _rows(loop: LoopKernel, domain: Sequence[int]) -> int:
    """How many leading axes a loop has in common with a domain, reduces in no output, and does not count."""
    counted = [int(i.imm or 0) for i in loop.body if i.op == "iota"]
    rows = 0
    for n, reduced, other in zip(loop.domain, loop.reduced, domain, strict=False):
        if reduced or n != other or rows in counted:
            break
        rows += 1
    return rows


def _private(
    calls: Sequence[Call], loops: Sequence[LoopKernel], rows: int, count: Counter[int], buffers: Buffers
) -> list[int]:
    """The buffers that only a chain uses, as far as there is private memory for a row of them."""
    inside = Counter(b for c in calls for b in c.args)
    sizes: dict[int, int] = {}
    for call, loop in zip(calls, loops, strict=True):
        for b, access in zip(call.args, loop.accesses(), strict=True):
            last = reach(access, loop.domain, rows)[1]
            sizes[b] = max(sizes.get(b, 0), (last + 1) * ITEMSIZE[access.dtype])
    found: list[int] = []
    room = _MOST_PRIVATE
    for b in (b for c in calls for b in operands(c)[1]):
        if buffers.space(b) == "arena" and inside[b] == count[b] and sizes[b] <= room:
            found.append(b)
            room -= sizes[b]
    return found
