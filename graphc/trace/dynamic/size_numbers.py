"""Sizes that the step counts, as Python's numbers: `len(x[mask])` is an int, and what it decides is decided when the step runs.

What follows from the bounds of what is counted alone, as that there are not more than there can be, Python decides.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from functools import reduce
from typing import Any, Self

from graphc import dispatch
from graphc.errors import is_library
from graphc.ops import functional as F
from graphc.ops.tensor.deferred import Deferred
from graphc.ops.tensor.tensor import Tensor
from graphc.ops.tensor.tree import Fixed, Nest, Structure, fixed_values, flatten, unflatten
from graphc.trace.dynamic.size_sums import SIGNS, Chosen, Count, Extreme, Length, Part, Product, Sum, Tests, held

#: Whether it is decided if a loop goes on.
_turning: ContextVar[bool] = ContextVar("graphc_turning", default=False)


def turning(test: Callable[[], Any]) -> Callable[[], Any]:
    """The condition of a loop. That a length is so much at least does not decide it: as many turns would stand in the graph."""

    def decide() -> Any:
        token = _turning.set(True)
        try:
            return test()
        finally:
            _turning.reset(token)

    return decide


class Size(Deferred):
    """A size that the step counts; `sum` tells of what. Arithmetic with ints gives sizes where it is a sum again, or a quotient
    or a remainder by a number, else what it is for this trace.
    """

    sum: Sum

    @classmethod
    def of(cls, value: int, made: Sum) -> int:
        """A size that is `value` in this trace; an int where nothing is counted."""
        if not made.parts:
            return int(value)
        self = cls(value)
        self.sum = made
        return self

    @property
    def bounds(self) -> tuple[int, int]:
        return self.sum.bounds

    def tensor(self) -> Tensor:
        made: Tensor = self.sum.tensor()
        return made

    @property
    def is_given(self) -> bool:
        return self.sum.is_given

    @property
    def is_room(self) -> bool:
        """So it is with a count, several times one, and one less some; with a length and some more, too."""
        (((atom, times), *others), rest) = self.sum.parts, self.sum.rest
        if others or not isinstance(atom, (Count, Length)):
            return False
        some = rest < 0 or (isinstance(atom, Length) and rest > 0)
        return (times > 0 and rest == 0) or (times == 1 and some)

    def at_most(self, other: int) -> int:
        return extreme(self, other, largest=False)

    def at_least(self, other: int) -> int:
        return extreme(self, other, largest=True)

    def _shifted(self, other: Any, value: Any, times: int, own: int = 1) -> Any:
        """The sum of this and of another number, each some times, if it is one; `value` is it here."""
        if not is_size(other):
            return value
        return Size.of(value, self.sum.times(own).plus(Sum.of(other), times))

    def __add__(self, other: Any) -> Any:
        if _is_real(other):
            return F.add(self.tensor(), other)
        return self._shifted(other, int.__add__(self, other), 1)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        if _is_real(other):
            return F.sub(self.tensor(), other)
        return self._shifted(other, int.__sub__(self, other), -1)

    def __rsub__(self, other: Any) -> Any:
        return self._shifted(other, int.__rsub__(self, other), 1, -1)

    def __mul__(self, other: Any) -> Any:
        if _is_real(other):
            return F.mul(self.tensor(), other)
        value = int.__mul__(self, other)
        if isinstance(other, Size):
            return Size.of(value, Sum(0, ((Product(self.sum, other.sum), 1),)))
        return Size.of(value, self.sum.times(other)) if is_size(other) else value

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return F.div(self.tensor(), decided(other)) if _divides(other) else int.__truediv__(self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return F.div(other, self.tensor()) if _divides(self) else int.__rtruediv__(self, other)

    def __pow__(self, other: Any, *modulus: Any) -> Any:
        if modulus or isinstance(other, Tensor) or not _is_users():
            return int.__pow__(self, other, *modulus)
        if type(other) is int and 0 < other < 5:
            return reduce(operator.mul, [self] * other)
        return F.pow(_real(self), decided(other)) if isinstance(other, (int, float)) else NotImplemented

    def __rpow__(self, other: Any, *modulus: Any) -> Any:
        if modulus or not _is_users() or not isinstance(other, int) or other < 1 or self.bounds[0] < 0:
            return int.__rpow__(self, other, *modulus)
        return F.pow(other, self.tensor())

    def __lshift__(self, other: Any) -> Any:
        return self * 2**other if _is_shift(other) else int.__lshift__(self, other)

    def __rshift__(self, other: Any) -> Any:
        return self // 2**other if _is_shift(other) else int.__rshift__(self, other)

    def __and__(self, other: Any) -> Any:
        if type(other) is int and other > 0 and other & (other + 1) == 0 and self.bounds[0] >= 0:
            return self % (other + 1)
        return int.__and__(self, other)

    __rand__ = __and__

    def __neg__(self) -> Any:
        return self * -1

    def __abs__(self) -> Any:
        return extreme(self, -self, largest=True)

    def __pos__(self) -> Self:
        return self

    def __floordiv__(self, other: Any) -> Any:
        return self._part("//", other, int.__floordiv__(self, other))

    def __mod__(self, other: Any) -> Any:
        return self._part("%", other, int.__mod__(self, other))

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def _part(self, sign: str, other: Any, value: Any) -> Any:
        if not is_size(other) or isinstance(other, Size) or other <= 0:
            return value
        return Size.of(value, Sum(0, ((Part(sign, self.sum, int(other)), 1),)))

    def _compared(self, sign: str, other: Any) -> Any:
        if isinstance(other, float) and math.isfinite(other):
            whole = math.ceil(other) if sign in ("<", ">=") else math.floor(other)
            if sign in ("==", "!=") and whole != other:
                return sign == "!="
            other = whole
        if not is_size(other):
            return getattr(int, _METHODS[sign])(self, other)
        return Decision.of(SIGNS[sign](int(self), int(other)), sign, self.sum.plus(Sum.of(other), -1))

    def __eq__(self, other: Any) -> Any:
        return self._compared("==", other)

    def __ne__(self, other: Any) -> Any:
        return self._compared("!=", other)

    def __lt__(self, other: Any) -> Any:
        return self._compared("<", other)

    def __le__(self, other: Any) -> Any:
        return self._compared("<=", other)

    def __gt__(self, other: Any) -> Any:
        return self._compared(">", other)

    def __ge__(self, other: Any) -> Any:
        return self._compared(">=", other)

    __hash__ = int.__hash__


class Shape(tuple[int, ...]):
    """A shape with sizes that the step counts: whether it is another one may be decided when the step runs."""

    __slots__ = ()

    def __eq__(self, other: object) -> Any:
        return Decision.alike(self, other) if isinstance(other, tuple) else NotImplemented

    def __ne__(self, other: object) -> Any:
        return Decision.alike(self, other, inverse=True) if isinstance(other, tuple) else NotImplemented

    __hash__ = tuple.__hash__


def _is_users() -> bool:
    """Whether it is a user's line that computes; the library's own compute for this trace."""
    frame: Any = sys._getframe(1)
    while frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return not is_library(frame.f_code.co_filename)


def _is_real(x: Any) -> bool:
    return type(x) is float and _is_users()


def _is_shift(x: Any) -> bool:
    return type(x) is int and 0 <= x < 62


def _real(size: Deferred) -> Tensor:
    """A size as a float32 number."""
    active: Any = dispatch.recorder.get()
    made: Tensor = active.wrap(active.resolve(F.cast(size.tensor(), "float32")), True)
    return made


def _divides(x: Any) -> bool:
    """Whether to divide by it when the step runs. Where it is zero the error is noted, as it is zero for these counts alone."""
    if not isinstance(x, (int, float)) or not _is_users():
        return False
    if isinstance(x, Deferred) and int(x) == 0:
        dispatch.refuse(ZeroDivisionError("division by zero"))
    return isinstance(x, Deferred) or x != 0


def arithmetic(sign: str, a: Any, b: Any) -> Any:
    """`a + b` and the like. A float on the left computes with the number that a size is in this trace."""
    if type(a) is float and isinstance(b, Deferred) and (sign != "/" or _divides(b)):
        b = _real(b) if sign == "**" else b.tensor()
        return _OF_FLOATS[sign](a, b)
    return _OPERATORS[sign](a, b)


_OF_FLOATS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": F.add, "-": F.sub, "*": F.mul, "/": F.div, "**": F.pow,
    "<": F.less, "<=": F.less_equal, ">": F.greater, ">=": F.greater_equal, "==": F.equal, "!=": F.not_equal,
}  # fmt: skip
_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "**": operator.pow, **SIGNS,
}  # fmt: skip


def is_size(x: Any) -> bool:
    return isinstance(x, int) and not isinstance(x, Decision)


def extreme(a: int, b: int, largest: bool) -> int:
    """`max(a, b)` or `min(a, b)` of sizes and ints."""
    made = Extreme(largest, Sum.of(a), Sum.of(b))
    low, high = made.one.plus(made.other, -1).bounds
    if low >= 0 or high <= 0:
        return a if (low >= 0) == largest else b
    for whole, part, found in ((a, made.other, made.one), (b, made.one, made.other)):
        if found.is_among(part, largest):
            return whole
    return Size.of((max if largest else min)(int(a), int(b)), Sum(0, ((made, 1),)))


class Decision(Deferred):
    """How sizes compare with others: 0 or 1 in this trace. `tests` are differences and the signs which compare them with 0; all
    hold, or, if it is `inverse`, not all.
    """

    tests: Tests
    inverse: bool

    @classmethod
    def of(cls, value: bool, sign: str, difference: Sum) -> int:
        """A bool where the bounds decide."""
        bounds = (difference.from_none() if _turning.get() else difference).bounds
        certain = _certain(sign, *bounds)
        return cls._made(value, ((sign, difference),)) if certain is None else certain

    @classmethod
    def _made(cls, value: bool, tests: Tests, inverse: bool = False) -> Decision:
        self = cls(value)
        self.tests, self.inverse = tests, inverse
        return self

    @classmethod
    def alike(cls, one: Sequence[Any], other: Sequence[Any], inverse: bool = False) -> int:
        """Whether two shapes are one; `inverse`: whether not."""
        pairs = [a == b for a, b in zip(one, other, strict=False)]
        open = [x for x in pairs if isinstance(x, Decision)]
        if len(one) != len(other) or not all(x for x in pairs if not isinstance(x, Decision)):
            return inverse
        if not open:
            return not inverse
        return cls._made(all(open) != inverse, tuple(test for x in open for test in x.tests), inverse)

    @property
    def bounds(self) -> tuple[int, int]:
        return 0, 1

    def tensor(self) -> Tensor:
        return held(self.tests, self.inverse)

    @property
    def is_given(self) -> bool:
        return all(x.is_given for _, x in self.tests)

    def chosen(self, one: int, other: int) -> int:
        """The first of two sizes where it holds, else the other."""
        made = Chosen(self.tests, self.inverse, Sum.of(one), Sum.of(other))
        return Size.of(one if self else other, Sum(0, ((made, 1),)))

    def __repr__(self) -> str:
        return repr(bool(self))

    __str__ = __repr__


def _certain(sign: str, low: int, high: int) -> bool | None:
    """How a number between two others compares with 0; None where that is not known."""
    if sign in ("!=", ">=", ">"):
        opposite = _certain({"!=": "==", ">=": "<", ">": "<="}[sign], low, high)
        return None if opposite is None else not opposite
    if sign == "==":
        return (False if low > 0 or high < 0 else None) if low != high else low == 0
    compare = SIGNS[sign]
    return True if compare(high, 0) else None if compare(low, 0) else False


_METHODS = {"==": "__eq__", "!=": "__ne__", "<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__"}


def decided(x: Any) -> Any:
    """What stands for x where it decides: of a number that the step counts, the tensor."""
    return x.tensor() if isinstance(x, Deferred) else x


def measured(tree: Any) -> Any:
    """The same with tensors in place of sizes, in containers, too."""
    leaves, structure = flatten(tree)
    if not any(isinstance(x, Deferred) for x in fixed_values(structure)):
        return tree

    def told(part: Structure) -> Structure:
        if isinstance(part, Nest):
            return part._replace(items=tuple(map(told, part.items)))
        return Fixed(decided(part.value)) if isinstance(part, Fixed) else part

    return unflatten(told(structure), leaves)


def plain(x: Any) -> Any:
    """The same with ints in place of sizes, in tuples and lists, too."""
    if isinstance(x, Deferred):
        return int(x)
    if type(x) in (tuple, list):
        return type(x)(map(plain, x))
    return x
