"""Numbers of several transforms between memory and the lanes of vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graphc_codegen.kernels.fourier.stages import Place
from graphc_codegen.kernels.transposition import transpose_into
from graphc_codegen.writer import Writer, vec


@dataclass(frozen=True, slots=True)
class Lines:
    """Operands of which each has `width` floats at each of `size` places of each of `active` transforms.

    walk: steps between groups, along the axis and between transforms, in numbers of `width` floats. Where numbers of a transform
    follow each other, they are turned in a block of memory, in which each operand has a vector for each of its floats at a
    place. Others are read and written where they are: whole vectors, those of pairs by exchanging lanes, or single elements.
    """

    w: Writer
    walk: Sequence[int]
    pointers: Sequence[str]
    width: int
    size: int
    active: int
    block: str

    @property
    def turned(self) -> bool:
        """Whether it is the block that is read and written at each place."""
        return self.walk[1] == 1 and self.walk[2] != 1 and self.size > 1

    def fetch(self) -> None:
        """Bring what is in memory into the block, if there is one."""
        for pointer, part in self._parts():
            lead, columns = self.width * self.walk[2], self.width * self.size
            transpose_into(self.w, pointer, lead, self.active, columns, part, self.w.lanes)

    def finish(self) -> None:
        """Bring what has been put into the block to memory."""
        for pointer, part in self._parts():
            rows, wide = self.width * self.size, self.width * self.walk[2]
            transpose_into(self.w, part, self.w.lanes, rows, self.active, pointer, wide)

    def _parts(self) -> list[tuple[str, str]]:
        """The operands, each with its part of the block."""
        each = self.width * self.size * self.w.lanes
        return [(x, self.w.at(self.block, k * each)) for k, x in enumerate(self.pointers)] if self.turned else []

    def vectors(self, place: Place, further: int = 0) -> list[str]:
        """What all operands have at a place, so many further on."""
        w, made = self.w, []
        for first in self._at(place, further):
            if self.turned:
                made += [w.vload(w.at(first, k * w.lanes)) for k in range(self.width)]
            elif self.walk[2] != 1 and self.active > 1:
                made += [self._gathered(w.at(first, k)) for k in range(self.width)]
            elif self.width == 1:
                made.append(w.vload(first, self.active))
            else:
                made += self._apart(first)
        return made

    def put(self, place: Place, values: Sequence[str], further: int = 0) -> None:
        """Write what all operands have at a place, so many further on."""
        w, left = self.w, list(values)
        for first in self._at(place, further):
            own, left = left[: self.width], left[self.width :]
            if self.turned:
                for k, value in enumerate(own):
                    w.vstore(value, w.at(first, k * w.lanes))
            elif self.walk[2] != 1 and self.active > 1:
                for k, value in enumerate(own):
                    self._scatter(value, w.at(first, k))
            elif self.width == 1:
                w.vstore(own[0], first, self.active)
            else:
                self._together(own, first)

    def _at(self, place: Place, further: int) -> list[str]:
        """The addresses of a place of all operands. In two steps: known distances cost nothing."""
        pointers = [part for _, part in self._parts()] if self.turned else self.pointers
        step = self.width * (self.w.lanes if self.turned else self.walk[1])
        return [self.w.at(self.w.at(x, self.w.mul(place, step)), further * step) for x in pointers]

    # ---- pairs side by side

    def _spans(self, first: str) -> list[tuple[str, int]]:
        """The vectors from an address on that hold the pairs, with their lanes in use."""
        w = self.w
        uses = (min(2 * self.active, w.lanes), 2 * self.active - w.lanes)
        return [(w.at(first, k * w.lanes), used) for k, used in enumerate(uses) if used > 0]

    def _apart(self, first: str) -> list[str]:
        """Vectors of first and of second elements of pairs."""
        w = self.w
        found = [w.vload(pointer, used) for pointer, used in self._spans(first)]
        low, high = (*found, "poison")[:2]
        return [w.shuffle(low, high, range(k, 2 * w.lanes, 2)) for k in range(2)]

    def _together(self, values: Sequence[str], first: str) -> None:
        w = self.w
        for k, (pointer, used) in enumerate(self._spans(first)):
            lanes = range(k * w.lanes // 2, (k + 1) * w.lanes // 2)
            w.vstore(
                w.shuffle(values[0], values[1], [i for lane in lanes for i in (lane, w.lanes + lane)]), pointer, used
            )

    # ---- single elements

    def _gathered(self, pointer: str) -> str:
        w = self.w
        type, value = vec(w.element, w.lanes), "zeroinitializer"
        for lane in range(self.active):
            single = w.load(w.at(pointer, lane * self.walk[2] * self.width))
            value = w.op(f"insertelement {type} {value}, {w.element} {single}, i64 {lane}")
        return value

    def _scatter(self, value: str, pointer: str) -> None:
        w = self.w
        for lane in range(self.active):
            single = w.op(f"extractelement {vec(w.element, w.lanes)} {value}, i64 {lane}")
            w.store(single, w.at(pointer, lane * self.walk[2] * self.width))
