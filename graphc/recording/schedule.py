"""The calls of a program in the order of execution, and how long its buffers live."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from graphc.inspect.document import CallRow
from graphc.lower.lifetimes import lives
from graphc.lower.statements import operands
from graphc.recording.work import bytes_of, flops_of
from graphc_codegen.program import Buffer, Call, For, If, Program, Stmt, While, blocks, symbol

#: Names of the arms of an If and of the parts of a loop, in the order of `graphc_codegen.program.blocks`.
_ARMS = {If: ("then", "else"), While: ("cond", "body"), For: ("body",)}

Branch = tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Placed:
    """A call, the statements around it, and its number among all statements as `graphc.lower.lifetimes` counts them."""

    call: Call
    branch: Branch
    position: int


@dataclass(slots=True)
class Schedule:
    """All calls in order; `spans` are the numbers of the last call up to each statement's number."""

    calls: list[Placed]
    reached: list[int]

    @staticmethod
    def of(body: Sequence[Stmt]) -> Schedule:
        made = Schedule([], [-1])
        made._walk(body, ())
        return made

    def _walk(self, body: Sequence[Stmt], branch: Branch) -> None:
        for stmt in body:
            if isinstance(stmt, Call):
                self.calls.append(Placed(stmt, branch, len(self.reached)))
                self.reached.append(len(self.calls) - 1)
                continue
            self.reached.append(len(self.calls) - 1)
            holder = stmt.nodes[0] if stmt.nodes else -1
            for name, arm in zip(_ARMS[type(stmt)], blocks(stmt), strict=True):
                self._walk(arm, (*branch, (holder, name)))
            self.reached.append(len(self.calls) - 1)

    def first(self, position: int) -> int:
        """The first call that a statement of this number is, or holds, or that follows it."""
        at = self.reached[min(position, len(self.reached) - 1)]
        is_call = at >= 0 and self.calls[at].position == position
        return max(0, min(at if is_call else at + 1, len(self.calls) - 1))

    def last(self, position: int) -> int:
        """The last call until the end of the statement of this number."""
        return max(0, self.reached[min(position, len(self.reached) - 1)])


def lifetimes(program: Program, schedule: Schedule, results: Sequence[int]) -> dict[int, tuple[int, int]]:
    """The first and the last call at which each buffer that is used is alive. What is from outside is so all the time."""
    found = lives(program.body, results)
    end = max(len(schedule.calls) - 1, 0)
    spaces = {b.id: b.space for b in program.buffers}
    return {
        b: (schedule.first(found.first[b]), schedule.last(found.last[b])) if spaces.get(b) == "arena" else (0, end)
        for b in found.first
    }


def windows_of(body: Sequence[Stmt]) -> dict[int, int]:
    """For each window the buffer in which it lies in the end: what a turn of a loop reads there, it reads of that one."""
    found: dict[int, int] = {}
    for stmt in body:
        if isinstance(stmt, For):
            found |= {w.buffer: w.within for w in stmt.windows}
        for block in blocks(stmt):
            found |= windows_of(block)
    for window in found:
        while found[window] in found:
            found[window] = found[found[window]]
    return found


def call_rows(program: Program, schedule: Schedule, lines: Sequence[int | None]) -> tuple[CallRow, ...]:
    """The table of calls; `lines` are their lines in step.py."""
    buffers: Mapping[int, Buffer] = {b.id: b for b in program.buffers}
    windows = windows_of(program.body)
    rows = []
    for index, (placed, line) in enumerate(zip(schedule.calls, lines, strict=True)):
        call = placed.call
        read, written = operands(call)
        rows.append(
            CallRow(
                index=index,
                kernel=symbol(call.kernel),
                family=call.kernel.family,
                nodes=call.nodes,
                reads=tuple(dict.fromkeys(windows.get(b, b) for b in read)),
                writes=tuple(dict.fromkeys(windows.get(b, b) for b in written)),
                branch=placed.branch,
                line=line,
                flops=flops_of(call.kernel),
                bytes=bytes_of(call, buffers),
                threads=call.kernel.threads,
            )
        )
    return tuple(rows)


def lines_of(source: str, program: Program) -> list[int | None]:
    """For every call its line in step.py, whose text is `source`; None for all if the text is not that of the program."""
    found = _Source(source).lines()
    wanted = list(_texts(program.body))
    if [name for name, _ in found] != [name for name, _ in wanted]:
        return [None] * sum(1 for _ in program.calls())
    return [line for (_, line), (_, first) in zip(found, wanted, strict=True) if first]


def _texts(body: Sequence[Stmt], first: bool = True) -> Iterator[tuple[str, bool]]:
    """The kernels in the order in which step.py names them, and whether it is for the first time: a While's condition stands
    before the loop and at its end.
    """
    for stmt in body:
        if isinstance(stmt, Call):
            yield symbol(stmt.kernel), first
        elif isinstance(stmt, If):
            yield from _texts(stmt.then, first)
            yield from _texts(stmt.orelse, first)
        elif isinstance(stmt, For):
            yield from _texts(stmt.body, first)
        else:
            yield from _texts(stmt.condition, first)
            yield from _texts(stmt.body, first)
            yield from _texts(stmt.condition, False)


class _Source:
    """step.py as lines by function: which kernels and functions each calls, in order."""

    _NOT_KERNELS = frozenset(("move", "load_flag", "goes_on", "ended", "turns", "njit", "step"))

    def __init__(self, source: str) -> None:
        self.functions: dict[str, list[tuple[str, int]]] = {}
        current: list[tuple[str, int]] = []
        for number, line in enumerate(source.split("\n"), 1):
            text = line.strip()
            if text.startswith("def "):
                current = self.functions.setdefault(text[4:].partition("(")[0], [])
            elif line.startswith(" ") and not text.startswith("#"):
                name, bracket, _ = text.partition("(ctx")
                if bracket and name.isidentifier() and name not in self._NOT_KERNELS:
                    current.append((name, number))

    def lines(self) -> list[tuple[str, int]]:
        """Every kernel call in the order of execution, in the functions that step calls, with its line."""
        made: list[tuple[str, int]] = []

        def follow(function: str) -> None:
            for name, line in self.functions.get(function, ()):
                if name in self.functions:
                    follow(name)
                else:
                    made.append((name, line))

        follow("step")
        return made
