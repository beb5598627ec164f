"""What a lowered program is made of, and whether its threads may come into each other's way."""

from __future__ import annotations

from collections.abc import Sequence

from graphc.lower import Lowered
from graphc_codegen.program import Call, For, If, LoopKernel, Program, Stmt, While, blocks, predicates, written

#: (space, first byte, last byte + 1, written, by all threads)
_Touched = tuple[str, int, int, bool, bool]
#: The notes of statements since the last meeting of the threads, and what they touched.
_Since = list[tuple[str, list[_Touched]]]


def calls(lowered: Lowered) -> list[Call]:
    """Every call of a program, in branches and loops too."""
    found: list[Call] = []
    stack: list[Stmt] = list(reversed(lowered.program.body))
    while stack:
        statement = stack.pop()
        if isinstance(statement, Call):
            found.append(statement)
        else:
            stack += reversed([s for block in blocks(statement) for s in block])
    return found


def copies(lowered: Lowered) -> int:
    """How many buffers are only copied."""
    found = [c.kernel for c in calls(lowered) if c.note.startswith("copy")]
    return sum(k.times for k in found if isinstance(k, LoopKernel))


def races(program: Program) -> list[str]:
    """Pairs of calls that different threads may run at the same time though one writes what the other touches.

    Follows every way through the program, loops twice; knows nothing of how the meetings were chosen.
    """
    buffers = {b.id: b for b in program.buffers}
    found: list[str] = []
    moved: dict[int, int] = {}  # Where windows lie in their buffers now.

    def touched(stmt: Stmt) -> list[_Touched]:
        ids = stmt.args if isinstance(stmt, Call) else predicates(stmt)
        first_written = len(ids) - (written(stmt.kernel) if isinstance(stmt, Call) else 0)
        everybody = not isinstance(stmt, Call) or stmt.kernel.threads > 1
        found = []
        for k, b in enumerate(map(buffers.__getitem__, ids)):
            start, size = 0, b.nbytes
            while b.space == "window":
                start, b = start + moved[b.id], buffers[b.position]
            space = b.space if b.space == "arena" else f"{b.space} {b.position}"
            start += b.position if b.space == "arena" else 0
            found.append((space, start, start + size, k >= first_written, everybody))
        return found

    def step(stmt: Stmt, since: _Since) -> _Since:
        """The statements since the last meeting, after this one."""
        here = (stmt.note, touched(stmt))
        if stmt.wait or isinstance(stmt, While):  # All threads meet before each turn of a While.
            return [here]
        for note, before in since:
            for a in here[1]:
                for b in before:
                    if a[0] == b[0] and a[1] < b[2] and b[1] < a[2] and (a[3] or b[3]) and (a[4] or b[4]):
                        found.append(f"{note} / {stmt.note}: bytes {a[1:3]} and {b[1:3]} of {a[0]}")
        return [*since, here]

    def walk(body: Sequence[Stmt], since: _Since) -> list[_Since]:
        """What may have run since the last meeting at the end of a body, per way through it."""
        ways = [since]
        for stmt in body:
            if isinstance(stmt, Call):
                ways = [step(stmt, way) for way in ways]
            elif isinstance(stmt, If):
                ways = [end for way in ways for part in blocks(stmt) for end in walk(part, step(stmt, way))]
            elif isinstance(stmt, For):
                ways = [[]] if stmt.wait else ways
                for number in range(min(stmt.count, 2)):
                    moved.update((w.buffer, w.begin + number * w.step) for w in stmt.windows)
                    ways = [end for way in ways for end in walk(stmt.body, way)][:64]
            else:
                assert isinstance(stmt, While)
                after = []
                for way in ways:
                    for once in walk(stmt.condition, way):
                        for turn in walk(stmt.body, step(stmt, once)):
                            after += [step(stmt, w) for w in walk(stmt.condition, turn)]
                        after.append(step(stmt, once))
                ways = after
            ways = ways[:64]
        return ways

    walk(program.body, [])
    return found
