"""Divides a program among threads: which calls they share, and where they must meet.

Every thread runs every statement. A call that is not shared is the first thread's alone. Threads meet before a statement that
touches bytes which another thread has touched since they last met, if one of the two writes them. Bytes are compared, not
buffers: a buffer of the arena may lie where another one was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from graphc.lower.cost import best_threads, is_shared, nanoseconds
from graphc.lower.rewrite import Context, Layout, Statements
from graphc.lower.statements import calls, operands
from graphc_codegen.program import Call, If, Stmt, exchanges, is_custom


class _Touch(NamedTuple):
    """Bytes [start, end) that were read or written, by all threads or by the first one only."""

    start: int
    end: int
    writes: bool
    everybody: bool


#: Ranges of bytes that have been touched, by `writes` and `everybody`.
_Ranges = dict[tuple[bool, bool], list[tuple[int, int]]]
#: What the threads have touched since they last met; None: anything.
_Touched = _Ranges | None


def share_calls(body: Statements, context: Context) -> Statements:
    """Choose as many threads as pay, and tell calls which of them they share, and statements where threads must meet.

    before:    b2 = gemm(b0, b1)                     b3 = reduce(b2)
    after:     b2 = gemm(b0, b1) on 2 threads      ~ b3 = reduce(b2)
    """
    layout = context.placed()
    sizes = {b.id: b.size for b in layout.buffers}

    def alone(call: Call) -> float:
        return nanoseconds(call.kernel, [sizes[b] for b in call.args])

    most = context.most_threads
    # Both branches of an If and one turn of a While count: which are taken is not known.
    context.threads = best_threads([(c.kernel, alone(c)) for c in calls(body)], most) if most > 1 else 1
    if context.threads == 1:
        return body
    shared, _ = _Sharer(layout, sizes, context.threads).block(body, {})
    return shared


class _Sharer:
    def __init__(self, layout: Layout, sizes: dict[int, int], threads: int) -> None:
        self.threads = threads
        self.sizes = sizes
        self.place: dict[int, tuple[int, int]] = {}
        end = layout.arena
        params: dict[int, tuple[int, int]] = {}
        for b in layout.buffers:
            if b.space == "arena":
                self.place[b.id] = (b.position, b.position + b.nbytes)
            elif b.space == "param":
                if b.position not in params:
                    params[b.position] = (end, end + b.nbytes)
                    end += b.nbytes
                self.place[b.id] = params[b.position]
        self.scratch = (end, end + 1)

    def block(self, body: Sequence[Stmt], touched: _Touched) -> tuple[tuple[Stmt, ...], _Touched]:
        """The statements with their meetings, and what is touched after them."""
        done: list[Stmt] = []
        for stmt in body:
            if isinstance(stmt, Call):
                stmt, touched = self._call(stmt, touched)
            elif isinstance(stmt, If):
                wait, before = self._meet(self._touch(stmt.pred, False, True), touched)
                then, after = self.block(stmt.then, before)
                orelse, other = self.block(stmt.orelse, before)
                stmt = replace(stmt, then=then, orelse=orelse, wait=wait)
                touched = None if after is None or other is None else _union(after, other)
            else:
                # The condition follows what stands before the loop or a turn of its body.
                condition, touched = self.block(stmt.condition, None)
                wait, touched = self._meet(self._touch(stmt.pred, False, True), touched)
                inner, _ = self.block(stmt.body, touched)
                stmt = replace(stmt, condition=condition, body=inner, wait=wait)
            done.append(stmt)
        return tuple(done), touched

    def _call(self, call: Call, touched: _Touched) -> tuple[Call, _Touched]:
        if is_custom(call.kernel):  # It may fail, which all threads must know before they go on.
            return replace(call, wait=True), None
        sizes = [self.sizes[b] for b in call.args]
        shared = is_shared(call.kernel, nanoseconds(call.kernel, sizes), self.threads)
        kernel = replace(call.kernel, threads=self.threads if shared else 1)
        read, written = operands(call)
        touches = [t for b in read for t in self._touch(b, False, shared)]
        touches += [t for b in written for t in self._touch(b, True, shared)]
        if shared and exchanges(call.kernel):
            touches.append(_Touch(*self.scratch, True, True))
        wait, touched = self._meet(touches, touched)
        return replace(call, kernel=kernel, wait=wait), touched

    def _touch(self, buffer: int, writes: bool, everybody: bool) -> list[_Touch]:
        """Inputs and constants, which nobody writes, do not count."""
        return [_Touch(*self.place[buffer], writes, everybody)] if buffer in self.place else []

    def _meet(self, touches: list[_Touch], touched: _Touched) -> tuple[bool, _Touched]:
        """Whether the threads must meet before these touches, and what they have touched after them."""
        new: _Ranges = {}
        for start, end, writes, everybody in touches:
            new.setdefault((writes, everybody), []).append((start, end))
        if touched is None or any(_clashes(touch, touched) for touch in touches):
            return True, new
        return False, _union(touched, new)


def _clashes(touch: _Touch, touched: _Ranges) -> bool:
    begin, stop, mine, shared = touch
    for (writes, everybody), ranges in touched.items():
        if (mine or writes) and (shared or everybody):
            for start, end in ranges:
                if begin < end and start < stop:
                    return True
    return False


def _union(a: _Ranges, b: _Ranges) -> _Ranges:
    return {kind: [*a.get(kind, ()), *b.get(kind, ())] for kind in {**a, **b}}
