"""Writes LLVM IR text: one `Writer` per function, one `Declarations` per module.

Emitters compute lines here (loops, phis, tiles); the template `kernels.ll.j2` lays the functions out.
No user text ever reaches this module: operands are SSA names and numbers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Self

from graphc_codegen.declarations import Declarations
from graphc_codegen.thread_context import CONTEXT, SCRATCH, WORDS
from graphc_codegen.vector_writer import MANGLED, Carry, VectorWriter, constant_mask, mask, vec

#: A loop whose turns are handed out has at least so many per thread; a thread takes some of its own about so many times; so
#: many threads may take turns from a part, its own one among them.
_LEAST_TURNS, _TAKES, _ASKERS = 12, 64, 4

#: The turns of a loop that are one thread's own: the first, the end, and what a turn does.
_Part = tuple[str | int, str | int, Callable[[str | int], None]]

#: What names of stages begin with.
STAGE = "stage_"


@dataclass(frozen=True, slots=True)
class Stage:
    """A part of kernels as a function of its own: those that have the same part share it. Its name says what is in it."""

    name: str
    parameters: tuple[tuple[str, str], ...]
    lines: tuple[str, ...]
    declarations: Declarations

    @property
    def types(self) -> tuple[str, ...]:
        return tuple(type for type, _ in self.parameters)

    @property
    def head(self) -> str:
        """The beginning of its definition."""
        return f"define void @{self.name}({', '.join(f'{type} {name}' for type, name in self.parameters)})"


class Writer(VectorWriter):
    """Builds the body of a function. With `threads` > 1 all of them run it; the number of each is in `%thread`, and `share`
    divides a loop among them. `stages` has what it calls of its own making.
    """

    def __init__(
        self, declarations: Declarations, lanes: int, *, fused: bool = True, threads: int = 1, bfloat16: bool = False
    ) -> None:
        super().__init__(declarations, lanes, fused=fused, bfloat16=bfloat16)
        self.threads = threads
        self.stages: dict[str, Stage] = {}
        self._divided = False
        self._handed = False

    def shared_range(
        self, count: int, *, last_first: bool = False, thread: int | str = "%thread"
    ) -> tuple[int | str, int | str]:
        """The first and the end of a thread's part of `range(count)`, this one's by default.

        Parts differ by one at most; the longer ones are those of the last threads, or with `last_first` of the first.
        """
        if self.threads == 1:
            return 0, count
        if last_first:
            thread = self.op(f"sub nsw i64 {self.threads - 1}, {thread}")
        start = self.op(f"udiv i64 {self.mul(thread, count)}, {self.threads}")
        end = self.op(f"udiv i64 {self.mul(self.add(thread, 1), count)}, {self.threads}")
        return start, end

    @property
    def divides(self) -> bool:
        """Whether `share` divides here: there are several threads, and no loop around is divided already."""
        return self.threads > 1 and not self._divided

    def share(
        self, count: int, body: Callable[[str | int], None], *, last_first: bool = False, hand_out: bool = False
    ) -> None:
        """`repeat`, its turns divided among the threads; inside a divided loop it is just `repeat`.

        With `hand_out` threads that are ahead may take turns from those behind, where that is possible: in one loop of a
        kernel between two meetings, which stands in no other. What a turn does must not depend on the thread.
        """
        if not self.divides:
            self.repeat(count, body)
        elif hand_out and self.can_hand_out(count):
            self._hand_out(count, lambda whose: (*self.shared_range(count, thread=whose), body))
        elif count:
            bounds = self.shared_range(count, last_first=last_first)
            self._divided = True
            self.turns(bounds, lambda i, _: body(i))
            self._divided = False

    def can_hand_out(self, count: int) -> bool:
        """Whether `share` would hand out the turns of a loop here."""
        return self.divides and not self._handed and not self.looping and count >= _LEAST_TURNS * self.threads

    def _hand_out(self, count: int, part: Callable[[str], _Part]) -> None:
        """Every thread takes the turns of its own part, some at a time, then those that are left of its neighbours' parts.

        A part has a word that counts how often somebody has asked for turns. All who may take of it ask until there are none;
        the last one to hear that sets the word back to zero. There are `count` turns in all parts.
        """
        some, askers = max(1, count // (_TAKES * self.threads)), min(self.threads, _ASKERS)

        def take(n: str | int) -> None:
            whose = self.op(f"urem i64 {self.add('%thread', n)}, {self.threads}")
            start, end, body = part(whose)
            word = self._tickets(whose)
            asked = self._take(word, (start, end), some, body)
            size = self.op(f"sub nsw i64 {end}, {start}")
            times = self.op(f"udiv i64 {self.add(size, some - 1)}, {some}")
            last = self.op(f"icmp eq i64 {asked}, {self.add(times, askers - 1)}")
            self.when(last, lambda: self.do(f"store atomic i64 0, ptr {word} monotonic, align 8"))

        self._divided = self._handed = True
        self.repeat(askers, take)
        self._divided = False

    def _tickets(self, thread: str) -> str:
        """The address of a thread's word of this call."""
        away = self.op(f"sub nsw i64 {thread}, %thread")
        context = self.at("%context", self.mul(away, CONTEXT), "i8")
        words = self.load(self.at(context, WORDS["tickets"], "i64"), "ptr")
        return self.at(words, "%first", "i64")

    def _take(
        self, word: str, bounds: tuple[str | int, str | int], some: int, body: Callable[[str | int], None]
    ) -> str:
        """Ask for `some` turns of a part and run them, until there are none; returns the number of that question."""
        start, end = bounds
        self._names += 1
        k = self._names
        self.do(f"br label %ask{k}")
        self._label(f"ask{k}")
        asked = self.op(f"atomicrmw add ptr {word}, i64 1 monotonic")
        first = self.add(self.mul(asked, some), start)
        stop = self.smaller(self.add(first, some), end)
        left = self.op(f"icmp slt i64 {first}, {end}")
        self.do(f"br i1 {left}, label %some{k}, label %none{k}")
        self._label(f"some{k}")
        with self._conditional():
            self.loop(stop, lambda i, _: body(i), start=first)
            self.do(f"br label %ask{k}")
        self._label(f"none{k}")
        return asked

    def share_pairs(self, outer: int, inner: int, body: Callable[[str | int, str | int], None], **how: bool) -> None:
        """`body(i, j)` for every pair of indices, i outermost; the pairs are divided among the threads."""
        if not self.divides:
            self.repeat(outer, lambda i: self.repeat(inner, lambda j: body(i, j)))
        elif inner == 1:
            self.share(outer, lambda i: body(i, 0), **how)
        elif outer == 1:
            self.share(inner, lambda j: body(0, j), **how)
        else:
            self.share(outer * inner, lambda u: body(*self.divided(u, inner)), **how)

    def hand_out_inner(self, outer: int, inner: int, body: Callable[[str | int, str | int], None]) -> None:
        """`share_pairs` that hands out, where each thread's own part are the pairs of some j."""

        def part(whose: str) -> _Part:
            first, end = self.shared_range(inner, thread=whose)
            size = self.op(f"sub nsw i64 {end}, {first}")

            def turn(u: str | int) -> None:
                i, j = (self.op(f"{op} i64 {u}, {size}") for op in ("udiv", "urem"))
                body(i, self.add(first, j))

            return 0, self.mul(outer, size), turn

        self._hand_out(outer * inner, part)

    def by_one(self, body: Callable[[], None]) -> None:
        """Run `body` in the first thread only; inside a divided loop in the thread whose turn it is."""
        if not self.divides:
            body()
        else:
            self.when(self.op("icmp eq i64 %thread, 0"), body)

    def meet(self) -> None:
        """Wait until every thread has come here; what they wrote before is visible afterwards."""
        if self.threads > 1:
            self.do("call void @graphc_barrier(ptr %context)")
            self._handed = False

    def stage(
        self,
        pointers: Sequence[str],
        numbers: Sequence[str | int],
        body: Callable[[Writer, list[str], list[str | int]], None],
    ) -> None:
        """What `body(writer, pointers, numbers)` writes, as a function that is called here; the thread does all of it alone.

        The body sees nothing of what was written before but those; numbers that are known stay so.
        """
        inner = self._within()
        places = [f"%p{k}" for k in range(len(pointers))]
        for outside, place in zip(pointers, places, strict=True):
            inner.take(self, outside, place)
        inside = [n if isinstance(n, int) else f"%n{k}" for k, n in enumerate(numbers)]
        body(inner, places, inside)
        passed = [("ptr", place, x) for place, x in zip(places, pointers, strict=True)]
        passed += [("i64", f"{name}", n) for name, n in zip(inside, numbers, strict=True) if isinstance(n, str)]
        parameters = tuple([(type, name) for type, name, _ in passed])
        text = "\n".join((repr(parameters), *inner.lines))
        name = f"{STAGE}{hashlib.sha256(text.encode()).hexdigest()[:12]}"
        self.stages |= {**inner.stages, name: Stage(name, parameters, tuple(inner.lines), inner.declarations)}
        self.do(f"call void @{name}({', '.join(f'{type} {x}' for type, _, x in passed)})")

    def _within(self) -> Self:
        """A writer of a function that is called here."""
        inner = type(self)(Declarations(), self.floats, fused=self.fused, threads=self.threads, bfloat16=self.bfloat16)
        inner.lanes, inner.element = self.lanes, self.element
        inner.tiles, inner.converts = self.tiles, self.converts
        inner._divided = True
        return inner

    def take(self, outside: Writer, pointer: str, place: str) -> None:
        """Know of the memory at an address of this function what a writer knows of it by another name."""

    def scratch(self, thread: int | str) -> str:
        """The address of a thread's SCRATCH bytes for partial results."""
        return self.op(f"getelementptr i8, ptr %scratch, i64 {self.mul(thread, SCRATCH)}")


__all__ = ["MANGLED", "STAGE", "Carry", "Stage", "Writer", "constant_mask", "mask", "vec"]
