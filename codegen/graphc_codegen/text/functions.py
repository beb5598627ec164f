"""Cuts a program into the functions of `step.py`, and gives the operands of its calls their places in the pointer table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graphc_codegen.program import Call, For, If, Stmt, While, blocks, has_loops, symbol
from graphc_codegen.text.repeats import repeated

#: Calls in one generated function; the time numba needs grows faster than their number.
CALLS_PER_FUNCTION = 250
#: Behind whatever an interrupt may have ended early.
_LEAVE = ("if ended(ctx):", "    return")


@dataclass(frozen=True, slots=True)
class Function:
    """A function of step.py. A `shared` one takes the entry of the table from which its calls count."""

    name: str
    lines: tuple[str, ...]
    shared: bool = False


#: Words of a For before those of its windows: the turn that comes next, how many there are, and the number of entries that
#: move; words of each of these: its place, that of the buffer it lies in, and bytes: where it begins there, and a turn's step.
LOOP_WORDS, WINDOW_WORDS = 3, 4


class Layout:
    """Gives every distinct tuple of operands a range of the pointer table; with `distinct` every call its own.

    `loops` has the words of every For, which `turns` of step.py reads (`LOOP_WORDS`).
    """

    def __init__(self, distinct: bool = False) -> None:
        self.slots: list[int] = []
        self.calls: list[tuple[Call, int]] = []
        self.loops: list[int] = []
        self._distinct = distinct
        self._known: dict[tuple[int, ...], int] = {}

    def enter(self, loop: For) -> str:
        """The words of a For whose body has its entries; what `turns` is called with in step.py."""
        moving: list[int] = []
        for window in loop.windows:
            within = self._first((window.within,))
            for entry in [k for k, buffer in enumerate(self.slots) if buffer == window.buffer]:
                moving += [entry, within, window.begin, window.step]
        place = len(self.loops)
        self.loops += [0, loop.count, len(moving) // WINDOW_WORDS, *moving]
        return _argument(place, loop.wait)

    def place(self, stmt: Call | If | While) -> str:
        """What a kernel, `load_flag` or `goes_on` is called with in step.py."""
        first = self._first(stmt.args if isinstance(stmt, Call) else (stmt.pred,))
        if isinstance(stmt, Call):
            self.calls.append((stmt, first))
        return _argument(first, stmt.wait)

    def run(self, calls: Sequence[Call]) -> int:
        """The first of consecutive entries for calls one after the other."""
        base = len(self.slots)
        for call in calls:
            self.calls.append((call, len(self.slots)))
            self.slots.extend(call.args)
        return base

    def _first(self, args: tuple[int, ...]) -> int:
        if self._distinct or args not in self._known:
            self._known[args] = len(self.slots)
            self.slots.extend(args)
        return self._known[args]


def safe(text: str) -> str:
    """`text` without anything that could end a comment or string: other characters become an underscore."""
    return re.sub(r"[^A-Za-z0-9_.,:%()\[\]<>=+*/ -]", "_", text)[:200].strip()


def step_functions(body: Sequence[Stmt], layout: Layout) -> list[Function]:
    """The functions of step.py, callees first, `step` last."""
    return _Cutter(layout).run(body)


class _Cutter:
    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.made: list[Function] = []

    def run(self, body: Sequence[Stmt]) -> list[Function]:
        main = self._block(body) or ["pass"]
        return [*self.made, Function("step", tuple(main))]

    def _block(self, stmts: Sequence[Stmt]) -> list[str]:
        """Lines for statements, in functions of their own where they are many."""
        uses = self._shared(stmts)
        pieces = list(_pieces(stmts, uses))
        if len(pieces) == 1:
            return self._lines(stmts, pieces[0], uses)
        calls: list[str] = []
        for piece in pieces:
            lines = tuple(self._lines(stmts, piece, uses))  # First: they may make functions, too.
            made = Function(f"part_{len(self.made)}", lines)
            self.made.append(made)
            calls.append(f"{made.name}(ctx)")
            if any(has_loops(stmts[k]) for k in piece):
                calls += _LEAVE
        return calls

    def _shared(self, stmts: Sequence[Stmt]) -> dict[int, tuple[int, list[str]]]:
        """Runs of calls that are made into functions: by position, their length and the lines that use them."""
        keys = [(symbol(s.kernel), s.wait) if isinstance(s, Call) else None for s in stmts]
        uses: dict[int, tuple[int, list[str]]] = {}
        for starts, length in repeated(keys):
            runs = [[s for s in stmts[k : k + length] if isinstance(s, Call)] for k in starts]
            name = f"shared_{len(self.made)}"
            self.made.append(Function(name, tuple(_shared_lines(runs)), shared=True))
            for start, run in zip(starts, runs, strict=True):
                note = safe(f"{run[0].note} ... {run[-1].note}")
                uses[start] = (length, [f"# {note}: {length} calls", f"{name}(ctx, {self.layout.run(run)})"])
        return uses

    def _lines(self, stmts: Sequence[Stmt], piece: Sequence[int], uses: dict[int, tuple[int, list[str]]]) -> list[str]:
        result: list[str] = []
        for k in piece:
            result += uses[k][1] if k in uses else self._statement(stmts[k])
        return result

    def _statement(self, stmt: Stmt) -> list[str]:
        result = [f"# {safe(stmt.note)}"] if stmt.note else []
        if isinstance(stmt, Call):
            return [*result, f"{symbol(stmt.kernel)}(ctx, {self.layout.place(stmt)})"]
        if isinstance(stmt, While):
            condition = self._block(stmt.condition)
            result += [*condition, f"while goes_on(ctx, {self.layout.place(stmt)}):"]
            return [*result, *_indented([*self._block(stmt.body), *condition] or ["pass"]), *_LEAVE]
        if isinstance(stmt, For):
            body = self._block(stmt.body)
            result.append(f"while turns(ctx, {self.layout.enter(stmt)}):")
            return [*result, *_indented(body or ["pass"]), *(_LEAVE if any(map(has_loops, stmt.body)) else ())]
        result.append(f"if load_flag(ctx, {self.layout.place(stmt)}):")
        result += _indented(self._block(stmt.then) or ["pass"])
        if stmt.orelse:
            result.append("else:")
            result += _indented(self._block(stmt.orelse))
        return result


def _shared_lines(runs: Sequence[Sequence[Call]]) -> list[str]:
    """The lines of a function that makes the calls of each of these equal runs; comments name the nodes of all."""
    lines = ["move(ctx, at)"]
    first = 0
    for same in zip(*runs, strict=True):
        notes = [safe(call.note) for call in same if call.note]
        if notes:
            lines.append(f"# {' | '.join(notes)}"[:200])
        lines.append(f"{symbol(same[0].kernel)}(ctx, {_argument(first, same[0].wait)})")
        first += len(same[0].args)
    return [*lines, "move(ctx, 0)"]


def _argument(first: int, wait: bool) -> str:
    return f"{'~' if wait else ''}{first}"


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _count(stmt: Stmt) -> int:
    return 1 + sum(_count(inner) for block in blocks(stmt) for inner in block)


def _pieces(stmts: Sequence[Stmt], uses: dict[int, tuple[int, list[str]]]) -> Iterator[list[int]]:
    """Positions of statements in pieces of at most about CALLS_PER_FUNCTION calls; one piece if they are few.

    A run that is a function counts as one call and stands at its first position.
    """
    piece: list[int] = []
    size = k = 0
    while k < len(stmts):
        n = 1 if k in uses else _count(stmts[k])
        if piece and size + n > CALLS_PER_FUNCTION:
            yield piece
            piece, size = [], 0
        piece.append(k)
        size += n
        k += uses[k][0] if k in uses else 1
    yield piece
