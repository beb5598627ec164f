"""What is gone over as often as only the run tells: `range(n)`, the rows of `x[mask]`, and what `enumerate`, `zip` and `reversed`
make of them; comprehensions over them, whose items are computed by one loop of the step.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from typing import Any

from graphc.errors import TraceTypeError, user_loc
from graphc.ops import functional as F
from graphc.ops.declared.bounds import IndexRangeError
from graphc.ops.functional.traced_numbers import as_number
from graphc.ops.tensor.deferred import Deferred, least_of
from graphc.ops.tensor.tensor import Tensor, TracedTensor, as_tensor
from graphc.ops.tensor.tree import Structure, flatten, unflatten
from graphc.trace.conversion.truth import active_recorder, is_traced, one_element, shape_of, truth
from graphc.trace.dynamic.size_numbers import decided, extreme, is_size
from graphc.trace.flow.dynamic_lists import Item, Listed, item_of, merged, numbers_of, require_alike
from graphc.trace.recorder import GraphRecorder

_HELP = "write a `for` statement over range(n), or over the rows themselves"


@dataclass(frozen=True)
class Turns:
    """What a `for` statement goes over whose turns are counted when the step runs: `item` of each number of a range, which may
    have begun behind the first.
    """

    start: Any
    stop: Any
    step: int
    item: Callable[[Any], Any]
    is_behind_first: bool = False

    def __iter__(self) -> Iterator[Any]:
        raise _unknown()

    def __reversed__(self) -> Iterator[Any]:
        raise _unknown()

    @property
    def count(self) -> Any:
        """How many there are."""
        first, last, step = (self.start, self.stop, self.step)
        if step < 0:
            first, last, step = last, first, -step
        whole = _less(last, first)
        if step > 1:
            whole = _plus(whole, step - 1)
            whole = F.floor_divide(whole, step) if isinstance(whole, Tensor) else whole // step
        return _extreme(whole, 0, largest=True)

    def behind_first(self) -> Turns:
        """Those behind the first."""
        return Turns(1, self.count, 1, self.turn, True)

    def turn(self, number: Any) -> Any:
        """What comes as turn `number`, from 0 on."""
        return self.item(_plus(self.start, number if self.step == 1 else number * self.step))


class Turn(TracedTensor):
    """The number of a range that a turn has, and some more: how far two of them are apart is known."""

    def __init__(self, number: TracedTensor, turns: Turns, more: int = 0) -> None:
        super().__init__(number.tensor_type, number.handle)
        self.is_number = number.is_number
        self.turns, self.more = turns, more

    def __add__(self, other: Any) -> Any:
        made = super().__add__(other)
        return self._moved(made, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        made = super().__sub__(other)
        return self._moved(made, -other if type(other) is int else other)

    def _moved(self, made: Any, by: Any) -> Any:
        moved = type(by) is int and isinstance(made, TracedTensor)
        return Turn(made, self.turns, self.more + by) if moved else made

    def span_to(self, stop: Any, size: int) -> int | None:
        """How many places there are from here to a stop, where all of them are among so many in every turn; None otherwise."""
        turns, last = self.turns, self.turns.stop
        if not isinstance(stop, Turn) or stop.turns is not turns or not is_size(last) or type(turns.start) is not int:
            return None
        left = size - last - (stop.more - 1)
        least = least_of(left)
        span = stop.more - self.more
        return span if span > 0 and turns.step > 0 and turns.start + self.more >= 0 and least >= 0 else None

    def require_place(self, size: int) -> None:
        """IndexRangeError where some turn's number is no place of an axis, if every turn comes here, and this trace is that of a
        call: what the run would take there are zeros.
        """
        active = active_recorder()
        counting = active.root.counting
        if counting is None or not counting.lengths.called or not (active is _whole.get()[0] is self.handle[0]):
            return
        turns = self.turns
        if not all(isinstance(x, int) for x in (turns.start, turns.stop)):
            return
        numbers = range(int(turns.start), int(turns.stop), turns.step)
        for number in (numbers[0], numbers[-1]) if numbers else ():
            if not -int(size) <= number + self.more < int(size):
                said = f"index {number + self.more} is out of range for an axis of {int(size)}"
                error = IndexRangeError(said, loc=user_loc())
                error.__dict__["in_every_turn"] = True  # So that it is the cell's own, though it stands in a loop.
                raise error

    __hash__ = TracedTensor.__hash__


#: The body of the loop of which every turn is run, as far as its own graph goes, and whether there is a turn at all.
_whole: ContextVar[tuple[GraphRecorder | None, bool]] = ContextVar("graphc_whole", default=(None, False))


def in_every_turn(turn: Callable[..., Any], turns: Turns) -> Callable[..., Any]:
    """A turn of a loop that is run for all of them; that is known where the loop stands in no branch that need not be taken."""

    def run(*args: Any) -> Any:
        active = active_recorder()
        known = active.parent is not None and (active.parent.parent is None or _whole.get() == (active.parent, True))
        count = turns.count
        token = _whole.set((active if known else None, isinstance(count, int) and least_of(count) > 0))
        try:
            return turn(*args)
        finally:
            _whole.reset(token)

    return run


def _unknown() -> TraceTypeError:
    return TraceTypeError(
        "how many turns there are is not known while the Cell is compiled", code="GC120", loc=user_loc(), help=_HELP
    )


def _plus(a: Any, b: Any) -> Any:
    return F.add(decided(a), decided(b)) if isinstance(a, Tensor) or isinstance(b, Tensor) else a + b


def _less(a: Any, b: Any) -> Any:
    return F.sub(decided(a), decided(b)) if isinstance(a, Tensor) or isinstance(b, Tensor) else a - b


def _extreme(a: Any, b: Any, largest: bool) -> Any:
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        return (F.maximum if largest else F.minimum)(as_tensor(decided(a)), decided(b))
    return extreme(a, b, largest)


# ---- Python's functions


def range_(*args: Any) -> Any:
    """`range(...)`, of numbers that the run tells, too. TraceTypeError GC120 for what is no integer."""
    if not any(is_traced(x) or isinstance(x, Deferred) for x in args):
        return range(*args)
    start, stop, step = (0, *args, 1) if len(args) == 1 else (*args, 1)[:3]
    for x in (start, stop):
        if is_traced(x) and one_element(x).tensor_type.is_inexact:
            raise TraceTypeError(
                f"range() of {x.tensor_type}, which is no integer",
                code="GC120",
                loc=user_loc(),
                help="cast it: ops.cast(x, graphc.int64)",
            )
    if not isinstance(step, int) or isinstance(step, Deferred) or not step:
        raise TraceTypeError(
            "the step of a range() must be known while the Cell is compiled, and not zero",
            code="GC120",
            loc=user_loc(),
            help="loop with `while i < n`",
        )
    made = Turns(_integer(start), _integer(stop), step, lambda i: Turn(i, made) if isinstance(i, TracedTensor) else i)
    return made


def _integer(x: Any) -> Any:
    return as_number(x, "int64") if is_traced(x) else x


def enumerate_(iterable: Any, start: Any = 0) -> Any:
    """`enumerate(...)`, of rows that are counted, too."""
    turns = turns_of(iterable)
    if turns is None:
        return enumerate(iterable, start)
    first, item, step = turns.start, turns.item, turns.step
    numbers = Turns(start, _plus(start, turns.count), 1, _number) if type(start) is int else None

    def numbered(i: Any) -> Any:
        number = (i - first) // step + start
        known = numbers is not None and isinstance(number, TracedTensor)
        return Turn(number, numbers) if known and numbers is not None else number, item(i)

    return replace(turns, item=numbered)


def _number(i: Any) -> Any:
    return i


def zip_(*iterables: Any, strict: bool = False) -> Any:
    """`zip(...)`: where one is counted, as many turns as the shortest has."""
    if not any(turns_of(x) is not None for x in iterables):
        return zip(*iterables, strict=strict)
    each = [_beside(x) for x in iterables]
    counts = [t.count for t in each]
    if strict and not all(a is b or (a == b) is True for a, b in pairwise(counts)):
        raise TraceTypeError(
            "zip(strict=True) of what only the run tells the lengths of",
            code="GC120",
            loc=user_loc(),
            help="compare them first, assert len(a) == len(b), and leave `strict` out",
        )
    shortest = reduce(lambda a, b: _extreme(a, b, largest=False), counts)
    return Turns(0, shortest, 1, lambda i: tuple(t.turn(i) for t in each))


def unzipped(items: Any, strict: bool = False) -> Any:
    """`zip(*items)`: of a list of tuples, of as many as only the run tells, a list for each place."""
    if turns_of(items) is not None and not isinstance(items, Listed):
        items = stacked(items)
    if not isinstance(items, Listed):
        return zip_(*items, strict=strict)
    kind = getattr(items.structure, "kind", None)
    if kind not in ("tuple", "list", "named tuple"):
        raise items.refused()
    return tuple(_part(items, part) for part in items.structure.items)


def _part(items: Listed, part: Structure) -> Listed:
    """What lies in one place of all items."""
    leaves, structure = flatten(unflatten(part, items.rows))
    numbers = {id(x): is_number for x, is_number in zip(items.rows, items.numbers, strict=True)}
    return Listed(leaves, structure, [numbers[id(x)] for x in leaves])


def _beside(x: Any) -> Turns:
    """How to go over what stands in a `zip` beside what is counted."""
    found = turns_of(x)
    if found is not None:
        return found
    if isinstance(x, Tensor) and x.shape:
        return Turns(0, x.shape[0], 1, lambda i: x[i])
    if isinstance(x, (list, tuple)) and x:
        items = Listed.of(x)
        return Turns(0, len(x), 1, lambda i: items[i])
    if isinstance(x, range):
        return Turns(x.start, x.stop, x.step, lambda i: i)
    raise TraceTypeError(
        f"zip() of a {type(x).__name__} beside what only the run tells the length of",
        code="GC120",
        loc=user_loc(),
        help="go over tensors: ops.stack(items), or Tensor(items)",
    )


def reversed_(iterable: Any) -> Any:
    """`reversed(...)`, of rows that are counted, too."""
    turns = turns_of(iterable)
    if turns is None:
        return reversed(iterable)
    last = _less(turns.count, 1)
    return Turns(0, turns.count, 1, lambda i: turns.turn(_less(last, i)))


def map_(function: Callable[..., Any], *iterables: Any) -> Any:
    """`map(...)`, over rows that are counted, too."""
    if not any(turns_of(x) is not None for x in iterables):
        return map(function, *iterables)
    called = active_recorder().prepared(function)
    return _computed(zip_(*iterables), lambda items: called(*items))


def sum_(iterable: Any, /, start: Any = 0) -> Any:
    """`sum(...)`, of as many as only the run tells, too."""
    found = stacked(iterable)
    if found is None:
        return sum(iterable, start)
    total = F.sum(_numbers(found.tensor), 0)
    total = as_number(total, total.tensor_type.dtype) if found.are_numbers else total
    return total if is_size(start) and start == 0 else start + total


def _numbers(x: Tensor) -> Tensor:
    return F.cast(x, "int64") if x.tensor_type.dtype == "bool" else x


def turns_of(iterable: Any) -> Turns | None:
    """How a `for` statement goes over what only the run knows the length of."""
    if isinstance(iterable, Turns):
        return iterable
    x = iterable.rows[0] if isinstance(iterable, Listed) else iterable
    if not isinstance(x, Tensor) or not x.shape:
        return None
    rows = shape_of(x)[0]
    if not isinstance(rows, Deferred):
        return None
    # Their numbers are places, which nothing need look for.
    turns = Turns(0, rows, 1, lambda i: iterable[Turn(i, turns) if isinstance(i, TracedTensor) else i])
    return turns


# ---- comprehensions


def stacked(iterable: Any) -> Listed | None:
    """The items of what is counted, computed by one loop; None for what is not."""
    if isinstance(iterable, Listed):
        return iterable
    turns = turns_of(iterable)
    return None if turns is None else _computed(turns, lambda x: x)


def listed(kind: Callable[..., Any]) -> Callable[..., Any]:
    """`list(...)` or `tuple(...)`, of as many items as only the run tells, too."""

    def made(*iterables: Any) -> Any:
        found = stacked(iterables[0]) if len(iterables) == 1 else None
        return kind(*iterables) if found is None else found.copy()

    return made


def comprehended(
    iterable: Any, plain: Callable[[Any], Any], element: Callable[[Any], Any], keep: Callable[[Any], Any] | None
) -> Any:
    """A comprehension or generator: `plain` of what Python goes over; of what is counted its elements in one tensor.

    keep: its `if`.
    """
    turns = turns_of(iterable)
    if turns is None:
        return plain(iterable)
    return _kept(turns, element, keep)


def nested(
    iterable: Any,
    plain: Callable[[Any], Any],
    inner: Callable[[Any], Any],
    keep: Callable[[Any], Any] | None,
    lazy: bool,
) -> Any:
    """A comprehension with several `for`: `inner` is what those behind the first make of one of its items, in a list; lazy: it is
    a generator.
    """
    turns = turns_of(iterable)
    if turns is None:
        if not active_recorder().knows_sizes or not isinstance(iterable, (list, tuple, range, Tensor)):
            return plain(iterable)
        parts = [inner(x) for x in iterable if keep is None or keep(x)]
        if any(isinstance(x, Listed) for x in parts):
            return reduce(operator.add, parts)
        whole = [x for part in parts for x in part]
        return iter(whole) if lazy else whole
    made = _kept(turns, lambda item: _as_listed(inner(item)), keep)
    (_, structure, numbers) = made.structure.keys
    return Listed([merged(x) for x in made.rows], structure, numbers)


def displayed(*parts: Any) -> Any:
    """`[*a, b, *c]`, of lists: of what is counted, too."""
    if not any(turns_of(x) is not None for x in parts):
        return [x for part in parts for x in part]
    each = [stacked(x) if turns_of(x) is not None else list(x) for x in parts]
    return reduce(operator.add, each, [])


def _as_listed(items: Any) -> Listed:
    return items if isinstance(items, Listed) else Listed.of(items)


def _kept(turns: Turns, element: Callable[[Any], Any], keep: Callable[[Any], Any] | None) -> Listed:
    """The items of the turns that are kept; of all where nothing says which."""
    made = _computed(turns, element, some=keep is not None)
    if keep is None:
        return made
    kept = _computed(turns, lambda item: F.cast(as_tensor(truth(keep(item))), "bool"))
    mask = F.reshape(kept.tensor, (-1,))
    return made.with_rows([x[mask] for x in made.rows])


def _computed(turns: Turns, element: Callable[[Any], Any], some: bool = False) -> Listed:
    """The items in tensors. some: only some of them are kept."""
    count = turns.count
    made: list[Item] = []
    if not isinstance(count, Deferred):
        raise _unknown()

    def turn(carried: Any, number: Tensor) -> Any:
        made[:] = [item_of(element(turns.turn(as_number(number, "int64"))))]
        return carried, made[0][0]

    _, rows = F.scan(turn if some else in_every_turn(turn, turns), F.zeros((), "int32"), F.arange(count))
    return Listed(rows, require_alike(made), numbers_of(made))
