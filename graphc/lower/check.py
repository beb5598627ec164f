"""The rules that statements keep between rewrites. What kernels make of their parameters is the code generator's to check."""

from __future__ import annotations

from collections.abc import Sequence

from graphc.errors import VerifyError
from graphc.lower.rewrite import Context, Statements
from graphc.lower.statements import operands
from graphc_codegen.program import Access, Call, ChainKernel, For, If, Kernel, LoopKernel, Stmt, written


def check(body: Statements, context: Context) -> None:
    """Raise VerifyError unless the statements can run one after the other.

    What is read has been written, or is from outside. Inputs and constants are not written. Nobody uses a buffer that is
    dead. Kernels get as many operands as they take, and loops those that they walk. Where buffers have places, all have one,
    and what is written lies on nothing that is still needed.
    """
    checker = _Checker(context)
    checker.block(body)
    for buffer in context.results:
        checker.read(buffer, "after the end")


class _Checker:
    def __init__(self, context: Context) -> None:
        self.buffers = context.buffers
        outside = (b for b, (_, space, _) in enumerate(self.buffers.made) if space != "arena")
        #: Buffers that hold something, and those that are dead.
        self.full = set(outside) - self.buffers.windows()
        #: The buffers in which the windows of the loops around lie.
        self.within: dict[int, int] = {}
        self.dead: set[int] = set()
        placed = context.layout.buffers if context.layout is not None else ()
        self.places = {b.id: (b.position, b.position + b.nbytes) for b in placed if b.space == "arena"}
        self.is_placed = context.layout is not None

    def block(self, body: Sequence[Stmt]) -> None:
        for stmt in body:
            where = f"at {stmt.note!r}"
            if isinstance(stmt, Call):
                self._call(stmt, where)
            elif isinstance(stmt, If):
                self.read(stmt.pred, where)
                # A predicate that dies here is not needed any more once it is known which branch runs.
                self.full -= {stmt.pred} & set(stmt.dead)
                before = set(self.full)
                self.block(stmt.then)
                # What dies in one branch is not needed in the other either.
                after, self.full = self.full, before - self.dead
                self.block(stmt.orelse)
                self.full &= after
            elif isinstance(stmt, For):
                self._windows(stmt, where)
                self.block(stmt.body)
                for w in stmt.windows:
                    del self.within[w.buffer]
            else:
                self.block(stmt.condition)
                self.read(stmt.pred, where)
                before = set(self.full)
                self.block(stmt.body)
                self.full = before - self.dead  # There may be no turn.
            self.dead |= set(stmt.dead)
            self.full -= set(stmt.dead)

    def _windows(self, loop: For, where: str) -> None:
        for w in loop.windows:
            self._use(w.within, where)
            own, whole = self.buffers.type(w.buffer), self.buffers.type(w.within)
            ends = w.begin, w.begin + (loop.count - 1) * w.step
            if min(ends) < 0 or max(ends) + own.nbytes > whole.nbytes:
                raise VerifyError(f"b{w.buffer} leaves b{w.within} {where}: it is at bytes {ends[0]} to {ends[1]}")
            self.within[w.buffer] = w.within

    def _call(self, call: Call, where: str) -> None:
        for buffer in call.args:
            self._use(buffer, where)
        self._check_operands(call, where)
        inputs, outputs = operands(call)
        for buffer in inputs:
            self.read(buffer, where)
        for buffer in outputs:
            self._write(buffer, where)

    def _check_operands(self, call: Call, where: str) -> None:
        """Raise VerifyError unless a kernel gets its operands. Of a named kernel it is known what it writes, no more."""
        walked = _walked(call.kernel)
        if walked is None:
            if len(call.args) < written(call.kernel):
                raise VerifyError(
                    f"{call.kernel.family} has {len(call.args)} operands {where}, it writes {written(call.kernel)}"
                )
            return
        if len(walked) != len(call.args):
            raise VerifyError(f"{call.kernel.family} has {len(call.args)} operands {where}, it takes {len(walked)}")
        for buffer, access in zip(call.args, walked, strict=True):
            type = self.buffers.type(buffer)
            if (type.dtype, type.size) != (access.dtype, access.size):
                raise VerifyError(
                    f"b{buffer} is {type} {where}, {call.kernel.family} walks {access.size} elements of {access.dtype}"
                )

    def read(self, buffer: int, where: str) -> None:
        """Raise VerifyError unless a buffer holds something."""
        self._use(buffer, where)
        buffer = self._whole(buffer, where)
        if buffer not in self.full and self.buffers.type(buffer).size:
            raise VerifyError(f"b{buffer} is read {where}, but nothing has been written to it")

    def _write(self, buffer: int, where: str) -> None:
        buffer = self._whole(buffer, where)
        space = self.buffers.space(buffer)
        if space in ("input", "const"):
            raise VerifyError(f"b{buffer}, which is {space} memory, is written {where}")
        self.full.add(buffer)
        begin, end = self.places.get(buffer, (0, 0))
        for other in self.full & self.places.keys() if begin < end else ():
            start, stop = self.places[other]
            if other != buffer and start < end and begin < stop:
                raise VerifyError(f"b{buffer} is written {where} over b{other}, which is still needed")

    def _whole(self, buffer: int, where: str) -> int:
        """The buffer in which a window lies; any other is its own."""
        while self.buffers.space(buffer) == "window":
            if buffer not in self.within:
                raise VerifyError(f"b{buffer} is used {where}, outside of its loop")
            buffer = self.within[buffer]
        return buffer

    def _use(self, buffer: int, where: str) -> None:
        if not 0 <= buffer < len(self.buffers.made):
            raise VerifyError(f"b{buffer} is used {where}, but there is no such buffer")
        if buffer in self.dead:
            raise VerifyError(f"b{buffer} is used {where}, where it is dead")
        if self.is_placed and self.buffers.space(buffer) == "arena" and buffer not in self.places:
            raise VerifyError(f"b{buffer} is used {where}, but has no place in the arena")


def _walked(kernel: Kernel) -> list[Access] | None:
    """How loops walk each operand of a call; None for a kernel that is no loop."""
    if isinstance(kernel, LoopKernel):
        return [*kernel.inputs] * kernel.times + [o.access for o in kernel.outputs] * kernel.times
    if isinstance(kernel, ChainKernel):
        accesses = kernel.accesses()
        return [accesses[k][0] for k in range(len(accesses) - kernel.private)]
    return None
