"""Converted loops: `while` over tensors becomes a While node, `for` is unrolled."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Any

from graphc.errors import Loc, TraceError
from graphc.ops.functional.traced_numbers import as_number
from graphc.ops.tensor.deferred import Deferred
from graphc.ops.tensor.tensor import as_tensor
from graphc.ops.tensor.tree import flatten, map_leaves
from graphc.trace.conversion.expressions import and_
from graphc.trace.conversion.truth import active_recorder, is_traced, one_element
from graphc.trace.dynamic.size_numbers import decided, is_size, turning
from graphc.trace.flow import conditions, dynamic_loops, merging, mixed_kinds, raising
from graphc.trace.flow.branches import if_stmt, same, state_after, undefined, unset
from graphc.trace.flow.counter_loops import Ticks, ticks_of
from graphc.trace.flow.dynamic_ranges import Turns, in_every_turn, range_, turns_of
from graphc.trace.mutation import inplace


def while_stmt(
    test: Callable[[], Any],
    body: Callable[[], Any],
    get_state: Callable[[], tuple[Any, ...]],
    set_state: Callable[[tuple[Any, ...]], None],
    symbol_names: tuple[str, ...],
    opts: Any,
    moving: Collection[int] = (),
) -> None:
    """A `while` statement: Python's as long as its condition is a Python value, then a While node.

    moving: names that each turn changes.
    """
    test = turning(test)
    more, ticks = ticks_of(test)
    if ticks is not None and _as_count(ticks, body, get_state, set_state, symbol_names):
        return
    while not is_traced(more := decided(more)):
        if not more:
            return
        body()
        more = test()
    inplace.refuse_setters(symbol_names, get_state)
    entry = tuple(
        _first_set_inside(name) if undefined(x) and not mixed_kinds.is_returned(name) else x
        for name, x in zip(symbol_names, get_state(), strict=True)
    )
    carried, initial, after = _carried(test, body, get_state, set_state, entry, moving)
    # What a function returns is set before anybody reads it.
    carried = [i for i in carried if mixed_kinds.is_returned(symbol_names[i]) or not undefined(entry[i])]
    initial = tuple(raising.zeros_of(after[i]) if undefined(a) and i in carried else a for i, a in enumerate(initial))

    rebound: set[int] = set()

    def place(values: tuple[Any, ...]) -> tuple[Any, ...]:
        state = list(inplace.own(entry))
        for i, value in zip(carried, values, strict=True):
            state[i] = value
        set_state(tuple(state))
        return tuple(state)

    def check(*values: Any) -> Any:
        place(values)
        return one_element(as_tensor(test()))

    def turn(*values: Any) -> tuple[Any, ...]:
        mine = place(values)
        body()
        made = get_state()
        rebound.update(inplace.rebound(mine, made))
        return tuple(merging.lowered(made[i], initial[i]) for i in carried)

    recorder = active_recorder()
    final = place(conditions.while_loop(recorder, check, turn, tuple(initial[i] for i in carried)))
    set_state(inplace.given_back(entry, final, rebound))


def _carried(
    test: Callable[[], Any],
    body: Callable[[], Any],
    get_state: Callable[[], tuple[Any, ...]],
    set_state: Callable[[tuple[Any, ...]], None],
    entry: tuple[Any, ...],
    moving: Collection[int] = (),
) -> tuple[list[int], tuple[Any, ...], tuple[Any, ...]]:
    """Which symbols a loop changes; all of them as it begins, with tensors for the numbers that it changes; and after a turn.

    Turns are traced and thrown away until no further symbol changes: what a turn does with a number that is known at first
    is decided by Python, what it does with one that an earlier turn has changed is not.
    """
    carried = set(moving)
    initial = entry
    while True:
        turn: list[tuple[Any, ...]] = []

        def probe(
            turn: list[tuple[Any, ...]] = turn,
            initial: tuple[Any, ...] = initial,
            carried: frozenset[int] = frozenset(carried),
        ) -> None:
            active = active_recorder()
            # Each tensor is its own in a turn, even where some begin as one.
            state = tuple(map_leaves(active.carry, x) if i in carried else x for i, x in enumerate(initial))
            mine = inplace.own(state)
            set_state(mine)
            inplace.unchanged(test, mine)()
            way = inplace.unchanged(partial(state_after, body, get_state), mine, partial(set_state, mine), entry)
            turn.extend((state, way()))

        conditions.trace_branch(active_recorder(), "probe", probe)
        set_state(entry)
        before, after = turn
        changed = {i for i, (a, b) in enumerate(zip(before, after, strict=True)) if not same(a, b)}
        begins = tuple(merging.lifted(x, after[i]) if i in changed else x for i, x in enumerate(initial))
        if changed <= carried and all(map(_same_types, begins, initial)):
            inplace.refuse_two_names([entry[i] for i in carried])
            return sorted(carried), initial, after
        carried |= changed
        initial = begins


def _same_types(a: Any, b: Any) -> bool:
    """Whether a loop can carry either value."""
    leaves, others = flatten(a)[0], flatten(b)[0]
    return len(leaves) == len(others) and all(
        x is y or (x.tensor_type == y.tensor_type and x.is_number == y.is_number)
        for x, y in zip(leaves, others, strict=True)
    )


def _first_set_inside(name: str) -> Any:
    """What stands for a name that a loop over tensors sets first: it may make no turn, and need not set it in the one before."""

    def error(use: Loc | None) -> TraceError:
        return TraceError(
            f"{name!r} is first set inside a loop over tensors, and used after it",
            code="GC124",
            loc=use,
            help=f"set {name} to a tensor of its shape and dtype before the loop",
        )

    return unset(name, error)


def for_stmt(
    iter_: Any,
    extra_test: Callable[[], Any] | None,
    body: Callable[[Any], Any],
    get_state: Callable[[], tuple[Any, ...]],
    set_state: Callable[[tuple[Any, ...]], None],
    symbol_names: tuple[str, ...],
    opts: Any,
) -> None:
    """A `for` statement: unrolled. After a `break` that depends on a tensor the turns that follow stand in branches. How often it
    runs may be known only when the step runs: then it is a `while` statement.
    """
    turns = turns_of(iter_)
    if turns is not None:
        _as_while(turns, extra_test, body, get_state, set_state, symbol_names)
        return
    for item in iter_:
        go_on = True if extra_test is None else decided(extra_test())
        if is_traced(go_on):
            if_stmt(go_on, partial(body, item), lambda: None, get_state, set_state, symbol_names, len(symbol_names))
        elif go_on:
            body(item)
        else:
            return


# ---- as often as the run tells


def _as_count(
    ticks: Ticks,
    body: Callable[[], Any],
    get_state: Callable[[], tuple[Any, ...]],
    set_state: Callable[[tuple[Any, ...]], None],
    names: tuple[str, ...],
) -> bool:
    """Whether a `while` statement is a `for` statement over numbers, which is made then: where the lengths of the call tell how
    many turns it makes.
    """
    if not all(map(is_size, (ticks.number, ticks.bound))) or ticks.name not in names:
        return False
    turns = range_(ticks.number, ticks.stop, ticks.step)
    if not isinstance(turns, Turns) or not isinstance(turns.count, Deferred) or not turns.count.is_given:
        return False
    place = names.index(ticks.name)

    def put(number: Any) -> None:
        state = get_state()
        set_state((*state[:place], number, *state[place + 1 :]))

    def turn(number: Any) -> None:
        put(number)
        body()

    _as_while(turns, None, turn, get_state, set_state, names)
    put(ticks.number + turns.count * ticks.step)
    return True


def _as_while(
    turns: Turns,
    extra_test: Callable[[], Any] | None,
    body: Callable[[Any], Any],
    get_state: Callable[[], tuple[Any, ...]],
    set_state: Callable[[tuple[Any, ...]], None],
    names: tuple[str, ...],
) -> None:
    """A `for` statement as a `while` statement, which carries the number of the turn as well; or as a Scan."""
    if extra_test is None:
        turns = dynamic_loops.behind_first(turns, body, get_state, set_state)
    if extra_test is None:
        opened, place_all, end, dicts = dynamic_loops.in_dicts(get_state, set_state)
        left = dynamic_loops.as_scan(turns, body, opened, place_all, partial(_carried, lambda: True), dicts)
        end()
        if left is None:
            return
        turns = left
    # No number that Python knows: a row at it may not be there in what a trace has.
    place = [as_number(as_tensor(decided(turns.start)), "int64")]

    def test() -> Any:
        more = place[0] < turns.stop if turns.step > 0 else place[0] > turns.stop
        return more if extra_test is None else and_(lambda: more, extra_test)

    def turn() -> None:
        number = place[0]
        body(turns.item(number))
        place[0] = number + turns.step

    def put(state: tuple[Any, ...]) -> None:
        place[0], *rest = state
        set_state(tuple(rest))

    every = in_every_turn(turn, turns) if extra_test is None else turn
    while_stmt(test, every, lambda: (place[0], *get_state()), put, ("the number of the turn", *names), None, (0,))
