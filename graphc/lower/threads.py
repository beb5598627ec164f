"""Divides a program among threads: which calls they share, and where they must meet.

Every thread runs every statement. A call that is not shared is the first thread's alone. Threads meet before a statement that
touches bytes which another thread has touched since they last met, if one of the two writes them. Bytes are compared, not
buffers: a buffer of the arena may lie where another one was.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from graphc.lower.cost import Cost, nanoseconds
from graphc.lower.rewrite import Context, Layout, Statements
from graphc.lower.statements import calls, operands, params_of
from graphc.lower.thread_plan import Plan, best_plan
from graphc_codegen.program import (
    ITEMSIZE,
    Call,
    For,
    If,
    Kernel,
    Stmt,
    While,
    blocks,
    divisible,
    exchanges,
    may_fail,
    written,
)


class _Touch(NamedTuple):
    """Bytes [start, end) that were read or written, by all threads or by the first one only."""

    start: int
    end: int
    writes: bool
    everybody: bool


class _Ranges:
    """Bytes, as ranges apart from each other in ascending order: those that meet become one."""

    def __init__(self, starts: Sequence[int] = (), ends: Sequence[int] = ()) -> None:
        self.starts, self.ends = list(starts), list(ends)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Ranges) and (self.starts, self.ends) == (other.starts, other.ends)

    def add(self, start: int, end: int) -> None:
        first, last = bisect_left(self.ends, start), bisect_right(self.starts, end)
        if first < last:
            start, end = min(start, self.starts[first]), max(end, self.ends[last - 1])
        self.starts[first:last] = [start]
        self.ends[first:last] = [end]

    def meets(self, start: int, end: int) -> bool:
        """Whether one of these bytes is one of the range's."""
        at = bisect_right(self.ends, start)
        return at < len(self.starts) and self.starts[at] < end

    def copy(self) -> _Ranges:
        return _Ranges(self.starts, self.ends)


class _Touched:
    """What the threads have touched since they last met, by `writes` and `everybody`. Not known at first: that is anything."""

    def __init__(self) -> None:
        self.known = False
        self.ranges: dict[tuple[bool, bool], _Ranges] = {}

    def meet(self, touches: Sequence[_Touch]) -> bool:
        """Touch bytes; whether the threads must meet before."""
        wait = not self.known or any(map(self._clashes, touches))
        if wait:
            self.meet_all()
        for start, end, writes, everybody in touches:
            ranges = self.ranges.get((writes, everybody))
            if ranges is None:
                ranges = self.ranges[writes, everybody] = _Ranges()
            ranges.add(start, end)
        return wait

    def _clashes(self, touch: _Touch) -> bool:
        start, end, one_writes, one_everybody = touch
        for (writes, everybody), ranges in self.ranges.items():
            if (one_writes or writes) and (one_everybody or everybody) and ranges.meets(start, end):
                return True
        return False

    def forget(self) -> None:
        self.known, self.ranges = False, {}

    def become(self, other: _Touched) -> None:
        self.known, self.ranges = other.known, other.ranges

    def meet_all(self) -> None:
        self.known, self.ranges = True, {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Touched) and (self.known, self.ranges) == (other.known, other.ranges)

    def copy(self) -> _Touched:
        other = _Touched()
        other.known = self.known
        other.ranges = {kind: ranges.copy() for kind, ranges in self.ranges.items()}
        return other

    def join(self, other: _Touched) -> None:
        """Add what may have been touched on another way."""
        if not (self.known and other.known):
            self.forget()
            return
        for kind, ranges in other.ranges.items():
            mine = self.ranges.setdefault(kind, _Ranges())
            for start, end in zip(ranges.starts, ranges.ends, strict=True):
                mine.add(start, end)


def share_calls(body: Statements, context: Context) -> Statements:
    """Choose as many threads as pay, and tell calls which of them they share, and statements where threads must meet.

    before:    b2 = gemm(b0, b1)                     b3 = reduce(b2)
    after:     b2 = gemm(b0, b1) on 2 threads      ~ b3 = reduce(b2)

    How far processors are apart is asked only where several threads would pay if they were near.
    """
    layout, most = context.placed(), context.most_threads
    context.threads = 1
    if most == 1:
        return body
    every = list(calls(body))
    sizes = {b.id: b.size for b in layout.buffers}
    nbytes = {b.id: sizes[b.id] * ITEMSIZE[b.dtype] for b in layout.buffers}
    # What products copy is each thread's own.
    for call in every:
        if params_of(call).keys() & {"panels", "tiles"}:
            nbytes[call.args[-written(call.kernel)]] = 0

    def cost(call: Call) -> Cost:
        alone = nanoseconds(call.kernel, [sizes[b] for b in call.args])
        return Cost(alone, sum([nbytes[b] for b in call.args]), divisible(call.kernel))

    costs = {id(call): cost(call) for call in every}
    best = best_plan(body, costs, most)
    if best is not None and context.apart is not None and not (apart := context.apart()).is_near:
        best = best_plan(body, costs, most, apart)
    if best is None:
        return body
    context.threads = best.team.threads
    # A step begins when all threads have met.
    touched = _Touched()
    touched.known = True
    return _Sharer(layout, best).block(body, touched)


def _begun(before: _Touched) -> Iterator[_Touched]:
    """What may have been touched when a turn of a loop begins, which becomes what is touched at its end: until another turn adds
    nothing.
    """
    head = before.copy()
    while True:
        end = head.copy()
        yield end
        longer = head.copy()
        longer.join(end)
        if longer == head:
            return
        head = longer


def _meetings(body: Sequence[Stmt]) -> int:
    """How many statements threads meet before, those inside included."""
    return sum(stmt.wait + sum(map(_meetings, blocks(stmt))) for stmt in body)


class _Sharer:
    """Writes a plan into statements, with the meetings that it needs."""

    def __init__(self, layout: Layout, plan: Plan) -> None:
        self.threads, self.shared = plan.team.threads, plan.shared
        self.divided: dict[tuple[int, bool], Kernel] = {}
        self.place: dict[int, tuple[int, int]] = {}
        end = layout.arena
        known = {b.id: b for b in layout.buffers}
        params: dict[int, tuple[int, int]] = {}
        for b in layout.buffers:
            if b.space == "arena":
                self.place[b.id] = (b.position, b.position + b.nbytes)
            elif b.space == "param":
                if b.position not in params:
                    params[b.position] = (end, end + b.nbytes)
                    end += b.nbytes
                self.place[b.id] = params[b.position]
        # A window may be anywhere in the buffer in which it lies.
        for b in layout.buffers:
            within = b
            while within.space == "window":
                within = known[within.position]
            if within.id in self.place:
                self.place[b.id] = self.place[within.id]
        self.scratch = (end, end + 1)

    def block(self, body: Sequence[Stmt], touched: _Touched) -> tuple[Stmt, ...]:
        """The statements with their meetings; `touched` becomes what is touched after them."""
        done: list[Stmt] = []
        for stmt in body:
            if isinstance(stmt, Call):
                stmt = self._call(stmt, touched)
            elif isinstance(stmt, If):
                wait = touched.meet(self._touch(stmt.pred, False, True))
                other = touched.copy()
                then, orelse = self.block(stmt.then, touched), self.block(stmt.orelse, other)
                touched.join(other)
                stmt = replace(stmt, then=then, orelse=orelse, wait=wait)
            elif isinstance(stmt, For):
                stmt = self._loop(stmt, touched)
            else:
                stmt = self._while(stmt, touched)
            done.append(stmt)
        return tuple(done)

    def _loop(self, loop: For, touched: _Touched) -> For:
        """A meeting before the first turn spares those before each, where these are for what stands before the loop."""
        body, last = self._turns(loop.body, touched)
        meetings, wait = _meetings(body), False
        if meetings:
            met = _Touched()
            met.meet_all()
            other, after = self._turns(loop.body, met)
            wait = _meetings(other) < meetings
            if wait:
                body, last = other, after
        touched.become(last)
        return replace(loop, body=body, wait=wait)

    def _turns(self, body: Sequence[Stmt], before: _Touched) -> tuple[tuple[Stmt, ...], _Touched]:
        """The body of a loop, of which a turn follows what stands before the loop or another turn; what is touched after it."""
        done, end = tuple(body), before
        for end in _begun(before):
            done = self.block(body, end)
        return done, end

    def _while(self, loop: While, touched: _Touched) -> While:
        """The condition follows what stands before the loop or a turn of its body; between these two all threads meet."""
        after = touched
        for end in _begun(touched):
            condition = self.block(loop.condition, end)
            wait = end.meet(self._touch(loop.pred, False, True))
            after = _Touched()
            after.meet_all()
            after.meet(self._touch(loop.pred, False, True))
            end.become(after.copy())
            body = self.block(loop.body, end)
            done = replace(loop, condition=condition, body=body, wait=wait)
        touched.become(after)
        return done

    def _call(self, call: Call, touched: _Touched) -> Call:
        if may_fail(call.kernel):  # All threads must know whether it has before they go on.
            touched.forget()
            return replace(call, wait=True)
        shared = id(call) in self.shared
        read, written = operands(call)
        place = self.place  # Inputs and constants, which nobody writes, do not count.
        touches = [_Touch(*place[b], False, shared) for b in read if b in place]
        touches += [_Touch(*place[b], True, shared) for b in written if b in place]
        if shared and exchanges(call.kernel):
            touches.append(_Touch(*self.scratch, True, True))
        kernel = self._divided(call.kernel, shared)
        return Call(kernel, call.args, call.note, call.dead, touched.meet(touches), call.nodes)

    def _divided(self, kernel: Kernel, shared: bool) -> Kernel:
        """A kernel on all threads or on one: the same for all its calls, which keep it alive meanwhile."""
        made = self.divided.get((id(kernel), shared))
        if made is None:
            made = self.divided[id(kernel), shared] = replace(kernel, threads=self.threads if shared else 1)
        return made

    def _touch(self, buffer: int, writes: bool, everybody: bool) -> list[_Touch]:
        return [_Touch(*self.place[buffer], writes, everybody)] if buffer in self.place else []
