"""The accumulators of a loop kernel's reduced outputs: vectors in registers, folded and brought together.

A float32 accumulator of n equal numbers may be off by n / 2 units in the last place. An output with a `block` therefore adds up
no more terms than that in one; then it is added to a float64 accumulator and starts anew.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from graphc_codegen.dtypes import HALVES, REGISTER
from graphc_codegen.loops.nest import Nest
from graphc_codegen.program import Output
from graphc_codegen.scalars import halves, operations
from graphc_codegen.writer import Carry, Writer, mask, vec

#: Accumulators of a reduction whose loop is not the vectorised one.
_CHAINS = 4

#: The vectors that a loop carries, by name.
Names = list[str]
Bounds = tuple[str | int, str | int]
#: A turn of a loop: from its number and what it gets to what it hands on.
Body = Callable[[str | int, Names], Names]


def neutral(w: Writer, how: str, dtype: str) -> str:
    """A vector that changes nothing in a reduction."""
    return w.constant(operations.neutral(how, dtype), REGISTER[dtype])


@dataclass(frozen=True, slots=True)
class Cut:
    """Where sums are cut into blocks: the loop, and how many of its turns are one."""

    level: int
    turns: int


@dataclass(frozen=True)
class Folds:
    """The accumulators at one place inside the kept loops, where `slots` vectors are handled side by side.

    Each output has `copies` of them: those of the slots, then, if there are several `chains`, those of the slots again.
    Around the blocks of a `cut` an output with blocks has one float64 accumulator for each slot instead.
    """

    w: Writer
    nest: Nest
    outputs: tuple[Output, ...]
    slots: int

    @cached_property
    def chains(self) -> int:
        nest = self.nest
        if len(nest.sizes) == nest.kept:
            return 1
        if self.across:
            return min(nest.unroll, math.ceil(nest.sizes[nest.vector or 0] / self.w.lanes))
        wanted = _CHAINS if nest.unroll > 1 else 2
        return max(1, min(wanted // self.slots, nest.sizes[-1] // 2))

    @property
    def across(self) -> bool:
        """Whether the lanes of a vector are folded, too."""
        return self.nest.vector is not None and self.nest.vector >= self.nest.kept

    @property
    def copies(self) -> int:
        return self.chains * self.slots

    @cached_property
    def cut(self) -> Cut | None:
        """The innermost loop in which an accumulator gets more terms than a block has."""
        block = min((o.block for o in self.outputs if o.block > 1), default=0)
        terms = 1
        for level in range(len(self.nest.sizes) - 1, self.nest.kept - 1, -1) if block else ():
            size = self.nest.sizes[level]
            if level == self.nest.vector:
                turns = math.ceil(size / (self.w.lanes * self.nest.unroll))
            else:
                turns = math.ceil(size / self.chains) if level == len(self.nest.sizes) - 1 else size
            if terms * turns > block:
                return Cut(level, block // terms)
            terms *= turns
        return None

    # ---- their dtypes

    def _inside(self, o: Output) -> str:
        """The dtype in which terms are folded."""
        return "float64" if o.block == 1 else o.access.dtype

    def _is_cut(self, o: Output) -> bool:
        return o.block > 1 and self.cut is not None

    def dtype(self, n: int) -> str:
        """The dtype in which output `n` is brought together."""
        o = self.outputs[n]
        return "float64" if self._is_cut(o) else self._inside(o)

    def _types(self, outside: bool) -> list[str]:
        """The types of what a loop carries, inside a block or outside of all."""
        found: list[str] = []
        for o in self.outputs:
            wide = outside and self._is_cut(o)
            dtype, count = ("float64", self.slots) if wide else (self._inside(o), self.copies)
            found += [vec(REGISTER[dtype], self.w.lanes)] * count
        return found

    def carried(self, level: int, names: Names) -> list[tuple[str, str]]:
        """What is carried through the loop at this level, with its types."""
        outside = self.cut is not None and level <= self.cut.level
        return list(zip(self._types(outside), names, strict=True))

    # ---- loops

    def loop(self, level: int, bounds: Bounds, names: Names, body: Body, step: int = 1) -> Names:
        """`for i in range(*bounds, step)`, which carries the accumulators; where sums are cut, block by block."""
        if self.cut is None or level != self.cut.level:
            return self._loop(bounds, step, self.carried(level, names), body)
        w, (start, end), turns = self.w, bounds, step * self.cut.turns

        def block(i: str | int, outside: Names) -> Names:
            whole = isinstance(start, int) and isinstance(end, int) and (end - start) % turns == 0
            stop = w.add(i, turns) if whole else w.smaller(w.add(i, turns), end)
            inside = list(zip(self._types(False), self._begun(outside), strict=True))
            if self.cut == Cut(level, 1):
                return self._settled(body(i, [name for _, name in inside]), outside)
            return self._settled(w.loop(stop, body, inside, step=step, start=i), outside)

        return self._loop(bounds, turns, self.carried(level, names), block)

    def _loop(self, bounds: Bounds, step: int, carry: Carry, body: Body) -> Names:
        """`for i in range(*bounds, step)`; no loop for a single turn."""
        start, end = bounds
        if start != 0 or not isinstance(end, int):
            return self.w.turns(bounds, body, carry, step=step)
        names = [name for _, name in carry]
        if end <= step:
            return body(0, names) if end > 0 else names
        return self.w.loop(end, body, carry, step=step)

    def once(self, level: int, names: Names, body: Callable[[Names], Names]) -> Names:
        """What is left behind a loop, with the accumulators that the loop has: a block of its own where sums are cut."""
        if self.cut is None or level != self.cut.level:
            return body(names)
        return self._settled(body(self._begun(names)), names)

    # ---- folding

    def start(self) -> Names:
        """What the outermost reduced loop begins with."""
        names: Names = []
        for n, o in enumerate(self.outputs):
            count = self.slots if self._is_cut(o) else self.copies
            names += [neutral(self.w, o.reduce or "", self.dtype(n))] * count
        return names

    def _begun(self, state: Names) -> Names:
        """What a block begins with; accumulators of outputs without blocks go on."""
        names: Names = []
        for o, held in zip(self.outputs, self._parts(state), strict=True):
            fresh = [neutral(self.w, o.reduce or "", self._inside(o))] * self.copies
            names += fresh if self._is_cut(o) else held
        return names

    def _settled(self, inside: Names, state: Names) -> Names:
        """What is carried on after a block that has ended with `inside`."""
        names: Names = []
        for n, (o, held) in enumerate(zip(self.outputs, self._parts(state), strict=True)):
            mine = list(inside[n * self.copies : (n + 1) * self.copies])
            if self._is_cut(o):
                how, dtype = o.reduce or "", self._inside(o)
                mine = [
                    operations.combine(self.w, how, total, self._wide(value), "float64")
                    for total, value in zip(held, self._chained(mine, how, dtype), strict=True)
                ]
            names += mine
        return names

    def _wide(self, value: str) -> str:
        return self.w.convert("fpext", value, "float", "double")

    def _parts(self, state: Names) -> list[Names]:
        """What is carried around blocks, by output."""
        parts, at = [], 0
        for o in self.outputs:
            count = self.slots if self._is_cut(o) else self.copies
            parts.append(list(state[at : at + count]))
            at += count
        return parts

    def fold(self, inside: Names, at: tuple[int, int], value: str, active: int) -> None:
        """Fold the `active` lanes of a value into an accumulator: of which output, and which of its copies."""
        (n, copy), w = at, self.w
        o = self.outputs[n]
        how, dtype = o.reduce or "", self._inside(o)
        if self.across and active < w.lanes:
            value = w.select(mask(active, w.lanes), value, neutral(w, how, o.access.dtype), REGISTER[o.access.dtype])
        if dtype != o.access.dtype:
            value = self._wide(value)
        place = n * self.copies + copy
        inside[place] = operations.combine(w, how, inside[place], value, dtype)

    # ---- results

    def gathered(self, names: Names) -> list[Names]:
        """The accumulators after all loops brought together: of each output one for each slot."""
        made = []
        for n, (o, held) in enumerate(zip(self.outputs, self._parts(names), strict=True)):
            how, dtype = o.reduce or "", self.dtype(n)
            values = self._chained(held, how, dtype)
            made.append([self._across(v, how, dtype) for v in values] if self.across else values)
        return made

    def _chained(self, values: Names, how: str, dtype: str) -> Names:
        while len(values) > self.slots:
            half = math.ceil(len(values) / self.slots / 2) * self.slots
            for c in range(len(values) - half):
                values[c] = self._combined(values[c], values[half + c], how, dtype)
            values = values[:half]
        return values

    def _combined(self, a: str, b: str, how: str, dtype: str) -> str:
        nothing = neutral(self.w, how, dtype)  # Of chains that a short block has no terms for.
        if nothing in (a, b):
            return b if a == nothing else a
        return operations.combine(self.w, how, a, b, dtype)

    def _across(self, value: str, how: str, dtype: str) -> str:
        """Fold the lanes of a vector; the result is in lane 0."""
        lanes = self.w.lanes
        width = lanes // 2
        while width:
            moved = self.w.shuffle(value, "poison", [(k + width) % lanes for k in range(lanes)], REGISTER[dtype])
            value = operations.combine(self.w, how, value, moved, dtype)
            width //= 2
        return value

    def finished(self, n: int, value: str) -> str:
        """A result of output `n` as it is stored: scaled, and rounded once."""
        o, w, dtype = self.outputs[n], self.w, self.dtype(n)
        if o.scale != 1.0:
            t = REGISTER[dtype]
            value = w.binary("fmul", value, w.constant(o.scale, t), t)
        if dtype == "float64" != o.access.dtype:
            value = w.convert("fptrunc", value, "double", "float")
        return halves.rounded(w, value, o.access.dtype) if o.access.dtype in HALVES else value
