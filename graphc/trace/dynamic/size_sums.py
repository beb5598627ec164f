"""What sizes that only the run tells are made of: sums of counts and of lengths, each some times, and of a number."""

from __future__ import annotations

import operator
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial, reduce
from typing import Any

from graphc import dispatch
from graphc.ops import functional as F
from graphc.ops.tensor.deferred import Deferred
from graphc.ops.tensor.tensor import Tensor, as_tensor

#: What a trace counts in one place; below 0 the lengths that it has been given, the first at -1.
RoomAt = Callable[[int], int]
#: Differences of sizes, and the signs which compare them with 0.
Tests = tuple[tuple[str, "Sum"], ...]
SIGNS: Mapping[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_TESTS: Mapping[str, Callable[[Any, Any], Tensor]] = {
    "==": F.equal, "!=": F.not_equal, "<": F.less, "<=": F.less_equal, ">": F.greater, ">=": F.greater_equal,
}  # fmt: skip
#: How many lengths are tried to tell what sizes they make.
_FEW = 512


@dataclass(frozen=True)
class Atom:
    """A part of a size."""

    @property
    @abstractmethod
    def bounds(self) -> tuple[int, int]:
        """The least and the largest number it may be."""

    @abstractmethod
    def tensor(self) -> Tensor:
        """The number of the run."""

    @abstractmethod
    def value(self, room: RoomAt) -> int:
        """The number of a trace."""

    @property
    def inner(self) -> tuple[Sum, ...]:
        """The sizes that it is made of."""
        return ()


@dataclass(frozen=True)
class Count(Atom):
    """What is counted in one place, `most` at the most."""

    place: int
    most: int

    @property
    def bounds(self) -> tuple[int, int]:
        return 0, self.most

    def tensor(self) -> Tensor:
        active: Any = dispatch.recorder.get()
        made: Tensor = active.root.counting.tensor(active, self.place)
        return made

    def value(self, room: RoomAt) -> int:
        return room(self.place)


@dataclass(frozen=True)
class Length(Atom):
    """What a call brings as the size of an axis that varies: which one, and between what."""

    symbol: int
    least: int
    most: int

    @property
    def bounds(self) -> tuple[int, int]:
        return self.least, self.most

    def tensor(self) -> Tensor:
        active: Any = dispatch.recorder.get()
        made: Tensor = active.root.counting.length(active, self.symbol)
        return made

    def value(self, room: RoomAt) -> int:
        return room(-1 - self.symbol)


@dataclass(frozen=True)
class Sum:
    """A number and atoms, each some times."""

    rest: int
    parts: tuple[tuple[Atom, int], ...]

    @classmethod
    def of(cls, x: int) -> Sum:
        """That of a size; of an int, which is no deferred number, it is that."""
        found = getattr(x, "sum", None) if isinstance(x, Deferred) else None
        return found if isinstance(found, Sum) else cls(int(x), ())

    def plus(self, other: Sum, times: int = 1) -> Sum:
        made = dict(self.parts)
        for atom, n in other.parts:
            made[atom] = made.get(atom, 0) + times * n
        return Sum(self.rest + times * other.rest, tuple((atom, n) for atom, n in made.items() if n))

    def value(self, room: RoomAt) -> int:
        return self.rest + sum(n * atom.value(room) for atom, n in self.parts)

    def is_among(self, part: Sum, largest: bool) -> bool:
        """Whether it is the largest, or the smallest, of several sizes of which this is one."""
        ((atom, times), *others) = self.parts or ((None, 0),)
        if others or times != 1 or self.rest or not isinstance(atom, Extreme) or atom.largest != largest:
            return False
        return any(x == part or x.is_among(part, largest) for x in (atom.one, atom.other))

    @property
    def is_given(self) -> bool:
        """Whether the call brings all of it, so that nothing is counted."""
        return all(isinstance(a, Length) or (a.inner and all(x.is_given for x in a.inner)) for a, _ in self.parts)

    def times(self, factor: int) -> Sum:
        return Sum(0, ()).plus(self, factor)

    @property
    def bounds(self) -> tuple[int, int]:
        low = high = self.rest
        for atom, n in self.parts:
            ends = [n * end for end in atom.bounds]
            low, high = low + min(ends), high + max(ends)
        exact = _tried(self) if low < high and len(self.parts) > 1 else None
        return exact or (low, high)

    def from_none(self) -> Sum:
        """The same of lengths of which there may be none."""
        return Sum(self.rest, tuple((replace(a, least=0) if isinstance(a, Length) else a, n) for a, n in self.parts))

    def tensor(self) -> Any:
        """A tensor that stands for a number, or a number where nothing is counted."""
        made: Any = self.rest
        for atom, n in self.parts:
            part = atom.tensor() if n == 1 else F.mul(atom.tensor(), n)
            made = part if made is self.rest and not self.rest else F.add(part, made)
        return made


@lru_cache(maxsize=1024)
def _tried(size: Sum) -> tuple[int, int] | None:
    """The least and the largest of what several parts make of one length, where there are few of it: 2 * (n // 2) is never more
    than n, which their own bounds do not say.
    """
    lengths = _lengths_in(size)
    if lengths is None or len({each.symbol for each in lengths}) != 1:
        return None
    least, most = min(each.least for each in lengths), max(each.most for each in lengths)
    if most - least >= _FEW:
        return None
    made = [size.value(partial(_itself, n)) for n in range(least, most + 1)]
    return min(made), max(made)


def _itself(length: int, place: int) -> int:
    return length


def _lengths_in(size: Sum) -> list[Length] | None:
    """The lengths that a size is made of; None if anything is counted."""
    made: list[Length] = []
    for atom, _ in size.parts:
        if isinstance(atom, Length):
            made.append(atom)
            continue
        inner = [_lengths_in(each) for each in atom.inner]
        if not inner or None in inner:
            return None
        made += [length for each in inner if each is not None for length in each]
    return made


@dataclass(frozen=True)
class Part(Atom):
    """The quotient, or the remainder, of a size and a positive number."""

    sign: str
    size: Sum
    divisor: int

    @property
    def bounds(self) -> tuple[int, int]:
        if self.sign == "%":
            return 0, self.divisor - 1
        low, high = self.size.bounds
        return low // self.divisor, high // self.divisor

    @property
    def inner(self) -> tuple[Sum, ...]:
        return (self.size,)

    def tensor(self) -> Tensor:
        return (F.floor_divide if self.sign == "//" else F.floor_mod)(self.size.tensor(), self.divisor)

    def value(self, room: RoomAt) -> int:
        whole = self.size.value(room)
        return whole // self.divisor if self.sign == "//" else whole % self.divisor


@dataclass(frozen=True)
class Extreme(Atom):
    """The larger, or the smaller, of two sizes."""

    largest: bool
    one: Sum
    other: Sum

    @property
    def bounds(self) -> tuple[int, int]:
        choose = max if self.largest else min
        (low, high), (others_low, others_high) = self.one.bounds, self.other.bounds
        return choose(low, others_low), choose(high, others_high)

    @property
    def inner(self) -> tuple[Sum, ...]:
        return self.one, self.other

    def tensor(self) -> Tensor:
        return (F.maximum if self.largest else F.minimum)(self.one.tensor(), self.other.tensor())

    def value(self, room: RoomAt) -> int:
        return (max if self.largest else min)(self.one.value(room), self.other.value(room))


@dataclass(frozen=True)
class Chosen(Atom):
    """One of two sizes: the first where all tests of sizes hold, or, if it is `inverse`, not all."""

    tests: Tests
    inverse: bool
    one: Sum
    other: Sum

    @property
    def bounds(self) -> tuple[int, int]:
        exact = _tried(Sum(0, ((self, 1),)))
        (low, high), (others_low, others_high) = self.one.bounds, self.other.bounds
        return exact or (min(low, others_low), max(high, others_high))

    @property
    def inner(self) -> tuple[Sum, ...]:
        return (self.one, self.other, *(size for _, size in self.tests))

    def tensor(self) -> Tensor:
        one, other = (F.cast(as_tensor(x.tensor()), "int64") for x in (self.one, self.other))
        made = F.select(held(self.tests, self.inverse), one, other)
        active: Any = dispatch.recorder.get()
        number: Tensor = active.wrap(active.resolve(made), True)
        return number

    def value(self, room: RoomAt) -> int:
        holds = all(SIGNS[sign](size.value(room), 0) for sign, size in self.tests)
        return (self.one if holds != self.inverse else self.other).value(room)


def held(tests: Tests, inverse: bool) -> Tensor:
    """Whether all tests hold, or, `inverse`, not all: a tensor that the run knows."""
    made = reduce(F.logical_and, [_TESTS[sign](Sum(0, x.parts).tensor(), -x.rest) for sign, x in tests])
    return F.logical_not(made) if inverse else made


@dataclass(frozen=True)
class Product(Atom):
    """Two sizes multiplied."""

    one: Sum
    other: Sum

    @property
    def bounds(self) -> tuple[int, int]:
        ends = [a * b for a in self.one.bounds for b in self.other.bounds]
        return min(ends), max(ends)

    @property
    def inner(self) -> tuple[Sum, ...]:
        return self.one, self.other

    def tensor(self) -> Tensor:
        return F.mul(self.one.tensor(), self.other.tensor())

    def value(self, room: RoomAt) -> int:
        return self.one.value(room) * self.other.value(room)
