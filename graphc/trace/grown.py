"""`for` statements over as many as only the run tells that are a Scan: its turns make the items of lists to which they append,
and these become lists of as many as there are turns.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from graphc.errors import TraceError, user_loc
from graphc.ir import walk
from graphc.ops import functional as F
from graphc.ops.functional.decided import as_number
from graphc.ops.tensor.deferred import Deferred, Stacked
from graphc.ops.tensor.tensor import Tensor, as_tensor
from graphc.trace import alike, control, inplace
from graphc.trace.branches import state_after, undefined
from graphc.trace.recorder import GraphRecorder
from graphc.trace.sizes import decided
from graphc.trace.standins import Appended, UnreadError
from graphc.trace.truth import active_recorder
from graphc.trace.turns import Turns, in_every_turn

#: References to a list that nothing but what its name was in front of a loop holds: that tuple, and whoever counts them.
_OWN = 2

State = tuple[Any, ...]
#: What a loop carries: which of the names, as they begin, and what they are after a turn.
Carried = tuple[list[int], State, State]


def as_scan(
    turns: Turns,
    body: Callable[[Any], Any],
    get_state: Callable[[], State],
    set_state: Callable[[State], None],
    carried_by: Callable[[Callable[[], Any], Callable[[], State], Callable[[State], None], State], Carried],
) -> bool:
    """Whether a `for` statement is a Scan, which is made then: where it appends to lists, or goes over as many as the call
    brings, of which a bucket has few more.

    carried_by: what a loop with this turn, and these names, carries. TraceError GC124 for lists beside prints, which a Scan would
    make in turns that are not real, or beside tensors that are written in place.
    """
    count = turns.count
    if not isinstance(count, Deferred) or not (count.is_given or any(type(x) is list for x in get_state())):
        return False
    lists, has_effects = _looked_at(turns, body, get_state, set_state)
    if lists and has_effects:
        raise TraceError(
            "a loop of as many turns as only the run tells appends to a list, and prints or writes to a tensor in place",
            code="GC124",
            loc=user_loc(),
            help="do one of these in another loop",
        )
    if not lists and (has_effects or not count.is_given):
        return False
    return _scan(turns, body, get_state, set_state, lists, carried_by)


def behind_first(
    turns: Turns, body: Callable[[Any], Any], get_state: Callable[[], State], set_state: Callable[[State], None]
) -> Turns:
    """The turns of a `for` statement that are left: where the call brings one at least, and that gives names their first values,
    or others in place of None, it is made apart.
    """
    count, entry = turns.count, get_state()
    if not (isinstance(count, Deferred) and count.is_given and count.bounds[0] > 0):
        return turns
    open = [i for i, x in enumerate(entry) if x is None or undefined(x)]
    if not open:
        return turns
    try:
        after = _turn_after(turns, body, get_state, set_state)[1]
    except (UnboundLocalError, TypeError, AttributeError):
        pass  # Of what is None, or nothing yet, where not every turn asks for it.
    else:
        if all(after[i] is None or undefined(after[i]) for i in open):
            return turns
    body(turns.turn(0))
    return Turns(1, count, 1, turns.turn)


def _looked_at(
    turns: Turns, body: Callable[[Any], Any], get_state: Callable[[], State], set_state: Callable[[State], None]
) -> tuple[dict[int, int], bool]:
    """Which of the names that a loop changes are lists to which each turn appends, and how many; and whether a turn prints, or
    writes to a tensor in place. A turn is traced and thrown away.
    """
    entry = get_state()
    try:
        branch, after = _turn_after(turns, body, get_state, set_state, only_new=True)
        before: State = tuple([] if type(x) is list else x for x in entry)
    except UnreadError:
        branch, after = _turn_after(turns, body, get_state, set_state)
        before = entry
    lists = {i: len(b) - len(a) for i, (a, b) in enumerate(zip(before, after, strict=True)) if _has_grown(a, b)}
    does_more = branch.overwritten or any(node.op.effect and not node.graphs() for _, node in walk(branch.graph))
    return lists, bool(does_more)


def _turn_after(
    turns: Turns,
    body: Callable[[Any], Any],
    get_state: Callable[[], State],
    set_state: Callable[[State], None],
    only_new: bool = False,
) -> tuple[GraphRecorder, State]:
    """The graph of a turn that is traced and thrown away, and what the names are after it; only_new: of lists what it appends.

    UnreadError then for a turn that does something else with one.
    """
    entry, after = get_state(), []

    def turn() -> None:
        mine = inplace.own(entry)
        if only_new:
            mine = tuple(_begun(x[-1] if x else None) if type(x) is list else x for x in mine)
        set_state(mine)
        active_recorder().in_scan = True
        number = active_recorder().carry(as_number(as_tensor(0), "int64"))
        run = partial(state_after, lambda: body(turns.turn(number)), get_state)
        after.extend(inplace.unchanged(run, mine, partial(set_state, mine))())

    try:
        branch, _, _ = control.trace_branch(active_recorder(), "probe", turn)
    finally:
        set_state(entry)
    return branch, tuple(after)


def _has_grown(before: Any, after: Any) -> bool:
    if type(before) is not list or not isinstance(after, list) or len(after) <= len(before):
        return False
    kept, new = after[: len(before)], after[len(before) :]
    return all(a is b for a, b in zip(before, kept, strict=True)) and all(
        isinstance(x, Tensor) or alike.is_number(x) for x in new
    )


def _scan(
    turns: Turns,
    body: Callable[[Any], Any],
    get_state: Callable[[], State],
    set_state: Callable[[State], None],
    lists: dict[int, int],
    carried_by: Callable[[Callable[[], Any], Callable[[], State], Callable[[State], None], State], Carried],
) -> bool:
    """Make the Scan, if one body is that of all turns. lists: by place among the names, how many items each turn appends."""
    entry = get_state()
    others = [i for i in range(len(entry)) if i not in lists]

    def own() -> State:
        state = get_state()
        return tuple(state[i] for i in others)

    def put(values: State) -> None:
        state = list(entry)
        for i, value in zip(others, values, strict=True):
            state[i] = value
        set_state(tuple(state))

    numbers: dict[int, bool] = {}  # Of each list whether a turn appends numbers to it.
    # What each list ends with: what an item is that a turn reads at -1, before it has appended any.
    ends = {i: as_tensor(decided(entry[i][-1])) for i in lists if entry[i]}

    def run(number: Any, last: dict[int, Tensor]) -> None:
        set_state(tuple(_begun(last.get(i)) if i in lists else x for i, x in enumerate(get_state())))
        body(turns.turn(number))

    def first() -> None:
        carry = active_recorder().carry
        active_recorder().in_scan = True
        run(carry(number), {i: carry(x) for i, x in ends.items()})

    start = own()
    number: Tensor = as_number(as_tensor(0), "int64")
    carried, initial, _ = carried_by(first, own, put, start)

    def turn(given: Any, place: Tensor) -> Any:
        nonlocal numbers
        values, last = given
        state = list(inplace.own(initial))
        for i, value in zip(carried, values, strict=True):
            state[i] = value
        put(inplace.own(tuple(state)))
        run(as_number(place, "int64"), dict(zip(ends, last, strict=True)))
        made = own()
        items = {i: _items(get_state()[i], count) for i, count in lists.items()}
        numbers = {i: all(x.is_number for x in each) for i, each in items.items()}
        put(made)
        values = tuple(alike.lowered(made[i], initial[i]) for i in carried)
        return (values, tuple(items[i][-1] for i in ends)), list(items.values())

    begin, places = (tuple(initial[i] for i in carried), tuple(ends.values())), F.arange(turns.count)
    done = active_recorder().scan(inplace.unchanged(in_every_turn(turn, turns)), begin, places, places.shape[0], False)
    if done is None:
        set_state(entry)
        return False
    (final, _), made = done
    state = list(initial)
    for i, value in zip(carried, final, strict=True):
        state[i] = value
    put(tuple(state))
    whole = list(get_state())
    for (i, _), items in zip(lists.items(), made, strict=True):
        whole[i] = _listed(entry[i], items, numbers[i])
    set_state(tuple(whole))
    if any(sys.getrefcount(entry[i]) > _OWN for i in lists):
        raise TraceError(
            "a list to which a loop of as many turns as only the run tells appends has another name, or is held by something",
            code="GC124",
            loc=user_loc(),
            help="append to a list that nothing else holds: let the function that appends to it make it, too, and return it",
        )
    return True


def _begun(last: Any) -> Appended:
    """A list as a turn is given it."""
    made = Appended()
    made.last = last
    return made


def _items(value: Any, count: int) -> list[Tensor]:
    """What a turn has appended."""
    found = list.__getitem__(value, slice(None)) if isinstance(value, list) else []
    if len(found) != count or not all(isinstance(x, Tensor) or alike.is_number(x) for x in found):
        raise _differing()
    return [as_tensor(decided(x)) for x in found]


def _differing() -> TraceError:
    return TraceError(
        "a loop of as many turns as only the run tells appends other things to a list in some of its turns",
        code="GC124",
        loc=user_loc(),
        help="append one tensor of the same shape and dtype in each turn",
    )


def _listed(before: list[Any], items: list[Tensor], numbers: bool) -> Stacked:
    """The list: what it held, and what all turns have appended."""
    rows = items[0] if len(items) == 1 else F.stack(items, 1)
    if len(items) > 1:
        rows = F.reshape(rows, (rows.shape[0] * len(items), *rows.shape[2:]))
    if before:
        first = [as_tensor(decided(x)) for x in before]
        numbers = numbers and all(map(alike.is_number, before))
        if any((x.tensor_type.dtype, x.shape) != (rows.tensor_type.dtype, rows.shape[1:]) for x in first):
            raise _differing()
        rows = F.concat((F.stack(first), rows))
    return Stacked(rows, numbers)
