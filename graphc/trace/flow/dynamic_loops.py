"""`for` statements over as many as only the run tells that are a Scan: its turns make the items of lists to which they append,
and these become lists of as many as there are turns.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

from graphc.errors import TraceError, user_loc
from graphc.ir import walk
from graphc.ops import functional as F
from graphc.ops.functional.traced_numbers import as_number
from graphc.ops.tensor.deferred import Deferred, least_of
from graphc.ops.tensor.tensor import Tensor, as_tensor
from graphc.ops.tensor.tree import Structure, unflatten
from graphc.trace.conversion.truth import active_recorder, shape_of
from graphc.trace.flow import conditions, merging
from graphc.trace.flow.branches import state_after, undefined
from graphc.trace.flow.dynamic_lists import Item, Listed, differing, item_of, merged, numbers_of, require_alike
from graphc.trace.flow.dynamic_ranges import Turns, in_every_turn
from graphc.trace.mutation import inplace
from graphc.trace.recorder import GraphRecorder
from graphc.trace.standins import Appended, InFront, Many, Opened, UnreadError

#: References to a list that nothing but what its name was in front of a loop holds: that tuple, and whoever counts them.
_OWN = 2

State = tuple[Any, ...]
#: The structure of items, which of their tensors are numbers, and whether only the run tells how many a turn makes; None of none.
_Kind = tuple[Structure, list[bool], bool] | None
#: What gives the names that a loop changes, what sets them, what is to be done at its end, and the dicts among them.
Opening = tuple[Callable[[], State], Callable[[State], None], Callable[[], None], Sequence[dict[Any, Any]]]
#: What a loop carries: which of the names, as they begin, and what they are after a turn.
Carried = tuple[list[int], State, State]


def in_dicts(get_state: Callable[[], State], set_state: Callable[[State], None]) -> Opening:
    """Names that a loop changes, with what dicts that have lists among their values hold in place of these; see `Opening`."""
    entry = get_state()
    keys = {i: list(x) for i, x in enumerate(entry) if type(x) is dict and any(map(_is_list, x.values()))}

    def get() -> State:
        made: list[Any] = []
        for i, x in enumerate(get_state()):
            if i in keys and not (isinstance(x, dict) and list(x) == keys[i]):
                raise differing()
            made += x.values() if i in keys else [x]
        return tuple(made)

    def put(values: State, whole: Callable[[int, Any], Any] = lambda i, x: Opened(x)) -> None:
        left = iter(values)
        given = ({k: next(left) for k in keys[i]} if i in keys else next(left) for i in range(len(entry)))
        set_state(tuple(whole(i, x) if i in keys else x for i, x in enumerate(given)))

    def original(i: int, values: dict[Any, Any]) -> Any:
        entry[i].update(values)
        return entry[i]

    if not keys:
        return get_state, set_state, lambda: None, ()
    return get, put, lambda: put(get(), original), [entry[i] for i in keys]


def as_scan(
    turns: Turns,
    body: Callable[[Any], Any],
    get_state: Callable[[], State],
    set_state: Callable[[State], None],
    carried_by: Callable[[Callable[[], Any], Callable[[], State], Callable[[State], None], State], Carried],
    dicts: Sequence[dict[Any, Any]] = (),
) -> Turns | None:
    """Make a Scan of a `for` statement where it appends to lists, or goes over as many as the call brings, of which a bucket has
    few more; the turns that are left otherwise. Where the first turn gives names other types it is made apart.

    dicts: which hold lists among these names. carried_by: what a loop with this turn, and these names, carries. TraceError GC124
    for lists beside prints, which a Scan would make in turns that are not real, or beside tensors that are written in place.
    """
    count = turns.count
    if not isinstance(count, Deferred) or not (count.is_given or any(map(_is_list, get_state()))):
        return turns
    lists, has_effects = _looked_at(turns, body, get_state, set_state)
    if lists and has_effects:
        raise TraceError(
            "a loop of as many turns as only the run tells appends to a list, and prints or writes to a tensor in place",
            code="GC124",
            loc=user_loc(),
            help="do one of these in another loop",
        )
    if not lists and (has_effects or not count.is_given):
        return turns
    if _scan(turns, body, get_state, set_state, lists, carried_by, dicts):
        return None
    if not count.is_given or count.bounds[0] < 1 or turns.is_behind_first:
        return turns
    body(turns.turn(0))
    return as_scan(turns.behind_first(), body, get_state, set_state, carried_by, dicts)


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
    return turns.behind_first()


def _is_list(x: Any) -> bool:
    return type(x) in (list, Listed, Appended)


def _looked_at(
    turns: Turns, body: Callable[[Any], Any], get_state: Callable[[], State], set_state: Callable[[State], None]
) -> tuple[list[int], bool]:
    """Which of the names that a loop changes are lists to which each turn appends; and whether a turn prints, or writes to a
    tensor in place. A turn is traced and thrown away.
    """
    entry = get_state()
    try:
        branch, after = _turn_after(turns, body, get_state, set_state, only_new=True)
        lists = [
            i for i, x in enumerate(entry) if _is_list(x) and isinstance(after[i], Appended) and list.__len__(after[i])
        ]
    except UnreadError as error:
        error.with_traceback(None)  # Whose frames would hold the lists.
        branch, after = _turn_after(turns, body, get_state, set_state)
        lists = [i for i, x in enumerate(entry) if _is_list(x) and _has_grown(x, after[i])]
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
            mine = tuple(_begun(_end(x)) if _is_list(x) else x for x in mine)
        set_state(mine)
        active_recorder().in_scan = True
        number = active_recorder().carry(as_number(as_tensor(0), "int64"))
        run = partial(state_after, lambda: body(turns.turn(number)), get_state)
        after.extend(inplace.unchanged(run, mine, partial(set_state, mine), entry)())

    try:
        branch, _, _ = conditions.trace_branch(active_recorder(), "probe", turn)
    finally:
        set_state(entry)
    return branch, tuple(after)


def _has_grown(before: Any, after: Any) -> bool:
    if isinstance(before, Listed):
        return isinstance(after, Listed) and after.rows[0].shape[0] > before.rows[0].shape[0]
    if isinstance(before, Appended):
        return isinstance(after, Appended) and list.__len__(after) > list.__len__(before)
    if not isinstance(after, list) or len(after) <= len(before):
        return False
    return all(a is b for a, b in zip(before, after, strict=False))


def _end(items: Any) -> Item | None:
    """The last item of a list, if it has one in any case."""
    if isinstance(items, Listed):
        rows = shape_of(items.rows[0])[0]
        return item_of(items[-1]) if least_of(rows) > 0 else None
    if isinstance(items, Appended):
        return None if items.end() is None else item_of(items.end())
    return item_of(items[-1]) if items else None


def _scan(
    turns: Turns,
    body: Callable[[Any], Any],
    get_state: Callable[[], State],
    set_state: Callable[[State], None],
    lists: list[int],
    carried_by: Callable[[Callable[[], Any], Callable[[], State], Callable[[State], None], State], Carried],
    dicts: Sequence[dict[Any, Any]],
) -> bool:
    """Make the Scan, if one body is that of all turns. lists: which of the names are lists to which each turn appends."""
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

    #: Of each list what a turn puts in front of it and appends: the structure of all items, and which tensors are numbers.
    kinds: list[tuple[_Kind, _Kind]] = []
    rebound: tuple[int, ...] = ()
    # What each list ends with: what an item is that a turn reads at -1, before it has appended any.
    ends = {i: end for i in lists if (end := _end(entry[i])) is not None}

    def run(number: Any, last: dict[int, Item]) -> None:
        set_state(tuple(_begun(last.get(i)) if i in lists else x for i, x in enumerate(get_state())))
        body(turns.turn(number))

    def first() -> None:
        carry = active_recorder().carry
        active_recorder().in_scan = True
        run(carry(number), {i: (list(map(carry, leaves)), structure) for i, (leaves, structure) in ends.items()})

    start = own()
    number: Tensor = as_number(as_tensor(0), "int64")
    carried, initial, _ = carried_by(first, own, put, start)

    def turn(given: Any, place: Tensor) -> Any:
        nonlocal kinds, rebound
        values, last = given
        state = list(inplace.own(initial))
        for i, value in zip(carried, values, strict=True):
            state[i] = value
        mine = inplace.own(tuple(state))
        put(mine)
        run(as_number(place, "int64"), {i: (x, ends[i][1]) for i, x in zip(ends, last, strict=True)})
        made = own()
        rebound = (*rebound, *inplace.rebound(mine, made))
        appended = [get_state()[i] for i in lists]
        inplace.refuse_kept([mine[i] for i in carried], appended)
        found = [_new(x) for x in appended]
        kinds = [(_kind(front), _kind(back)) for front, back in found]
        put(made)
        values = tuple(merging.lowered(made[i], initial[i]) for i in carried)
        ended = [_ending(found[lists.index(i)][1], item) for i, item in zip(ends, last, strict=True)]
        return (values, ended), [(_leaves(front), _leaves(back)) for front, back in found]

    begin, places = (tuple(initial[i] for i in carried), [x for x, _ in ends.values()]), F.arange(turns.count)
    done = active_recorder().scan(inplace.unchanged(in_every_turn(turn, turns)), begin, places, places.shape[0], False)
    if done is None:
        set_state(entry)
        return False
    (final, _), made = done
    state = list(initial)
    for i, value in zip(carried, final, strict=True):
        state[i] = value
    put(inplace.given_back(start, tuple(state), rebound))
    whole = list(get_state())
    for i, (front, back), (in_front, behind) in zip(lists, made, kinds, strict=True):
        whole[i] = _listed(entry[i], _of_turns(front, in_front, reverse=True), _of_turns(back, behind))
    set_state(tuple(whole))
    inside = [id(x) for held in dicts for x in held.values()]
    mine = [i for i in lists if not isinstance(entry[i], Appended)]
    if any(sys.getrefcount(entry[i]) > _OWN + inside.count(id(entry[i])) for i in mine):
        raise TraceError(
            "a list to which a loop of as many turns as only the run tells appends has another name, or is held by something",
            code="GC124",
            loc=user_loc(),
            help="append to a list that nothing else holds: let the function that appends to it make it, too, and return it",
        )
    return True


def _begun(last: Item | None) -> Appended:
    """A list as a turn is given it."""
    made = Appended()
    made.last = None if last is None else unflatten(last[1], last[0])
    return made


#: What a turn has put into a list: items one by one, or as many as only the run tells.
_Parts = list[Item] | Listed


def _new(value: Any) -> tuple[_Parts, _Parts]:
    """What a turn has put in front of a list, and what it has appended. TraceError GC124 where it is no list any more."""
    if not isinstance(value, list):
        raise differing()
    found = list(list.__iter__(value))
    front = [x.item for x in found if isinstance(x, InFront)]
    return _parts(front), _parts(found[len(front) :])


def _parts(items: list[Any]) -> _Parts:
    if not any(isinstance(x, Many) for x in items):
        return [item_of(x) for x in items]
    each = [x.items if isinstance(x, Many) else Listed.of([x]) for x in items]
    return reduce(Listed.__add__, each)


def _kind(items: _Parts) -> _Kind:
    if isinstance(items, Listed):
        return items.structure, list(items.numbers), True
    return (require_alike(items), numbers_of(items), False) if items else None


def _leaves(items: _Parts) -> list[list[Tensor]]:
    return [list(items.rows)] if isinstance(items, Listed) else [x for x, _ in items]


def _ending(items: _Parts, before: list[Tensor]) -> list[Tensor]:
    """The last item of a list after a turn."""
    if isinstance(items, Listed):
        return item_of(items[-1])[0] if least_of(shape_of(items.rows[0])[0]) > 0 else before
    return items[-1][0] if items else before


def _of_turns(items: list[list[Tensor]], kind: _Kind, reverse: bool = False) -> Listed | None:
    """The items that all turns have made, each of which has made these; reverse: those of the last turn come first."""
    if kind is None:
        return None
    structure, numbers, many = kind
    rows = []
    for each in zip(*items, strict=True):
        made = each[0] if len(each) == 1 else F.stack(list(each), 1)
        made = made[::-1] if reverse else made
        rows.append(merged(made) if many or len(each) > 1 else made)
    return Listed(rows, structure, numbers)


def _listed(before: list[Any] | Listed, front: Listed | None, back: Listed | None) -> list[Any] | Listed:
    """The list: what it held, and what all turns have put in front of it and appended."""
    if isinstance(before, Appended):
        if front is not None:
            before.insert(0, Many(front))
        if back is not None:
            before.append(Many(back))
        return before
    (first, *others) = [x for x in (front, before, back) if isinstance(x, Listed) or x]
    whole: Listed = first if isinstance(first, Listed) else Listed.of(first)
    for x in others:
        whole = whole + x
    return whole
