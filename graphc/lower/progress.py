"""Messages move while kernels run: MPI moves them only when it is called, so it is called now and then."""

from __future__ import annotations

from collections.abc import Sequence

from graphc.lower.cost import nanoseconds
from graphc.lower.rewrite import Context, Statements
from graphc.lower.statements import with_blocks
from graphc_codegen.program import Call, NamedKernel, Stmt

#: So many nanoseconds of kernels, as the cost model has them, are between two calls. A call that finds nothing to do takes a
#: microsecond; at 10 Gbit/s this is the time of 120 KB, which the buffers of a socket hold.
_EVERY = 100_000.0
_MOVE = NamedKernel("collective_move", (("in_place", True),))


def keep_moving(body: Statements, context: Context) -> Statements:
    """Let MPI move what has begun, between kernels, until it is waited for.

    before:  b2, b3 = collective_start(b1)   b5 = gemm(...)                        b2 = collective_wait(b3)
    after:   b2, b3 = collective_start(b1)   b5 = gemm(...)   b3 = collective_move()   b2 = collective_wait(b3)

    It asks for the latest that has begun: once that is there, all are, and asking costs next to nothing.
    """
    return _Moving(context).block(body)


class _Moving:
    def __init__(self, context: Context) -> None:
        self._buffers = context.buffers
        self._begun: list[int] = []
        self._since = 0.0

    def block(self, body: Sequence[Stmt]) -> tuple[Stmt, ...]:
        done: list[Stmt] = []
        for stmt in body:
            if not isinstance(stmt, Call):
                done.append(with_blocks(stmt, self.block))
                continue
            done.append(stmt)
            family = stmt.kernel.family
            if family == "collective_start":
                self._begun.append(stmt.args[-1])
                self._since = 0.0
            elif family in ("collective_wait", "message_wait"):
                self._begun = [b for b in self._begun if b != stmt.args[0]]
                self._since = 0.0
            elif self._begun:
                self._since += nanoseconds(stmt.kernel, [self._buffers.type(b).size for b in stmt.args])
                if self._since >= _EVERY:
                    done.append(Call(_MOVE, (self._begun[-1],), "what has begun"))
                    self._since = 0.0
        return tuple(done)
