"""Plans which calls threads share: the cheapest choice for a whole program under the cost model.

A call that is shared begins with a meeting, and so does one that is the first thread's behind it; calls of the first thread
behind each other need none. So whether a call is worth sharing depends on its neighbours: the choice is the shortest way through
the calls, each on all threads or on one (Viterbi, "Error bounds for convolutional codes", 1967).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from graphc.lower.cost import NEARBY, Apart, Cost, Team, team
from graphc_codegen.program import Call, For, Stmt, blocks

#: Several threads take so much of one's time at most: where they gain less, the model errs by more, they take a CPU from others,
#: and on a busy machine each meeting waits for one.
_WORTH = 0.9

#: The choices on a way from its end: the way before, and a call and whether it is shared, or a way through a loop.
_Path: TypeAlias = "tuple[_Path | None, int | _Path | None, bool] | None"


class _Way(NamedTuple):
    """The cheapest way to a place: nanoseconds, and what was chosen."""

    cost: float
    path: _Path


class Plan(NamedTuple):
    """Threads, the ids of the calls that they share, and nanoseconds of the step."""

    team: Team
    shared: frozenset[int]
    cost: float


#: A state is whose the last call was: the first thread's, or all threads'.
_States = tuple[_Way, _Way]
_NO_WAY = _Way(math.inf, None)


def best_plan(body: Sequence[Stmt], costs: Mapping[int, Cost], most: int, apart: Apart = NEARBY) -> Plan | None:
    """For up to `most` threads on processors so far apart; None where one thread is as good. `costs` are those of calls by id."""
    alone = _alone(body, costs)
    plans = [plan(body, costs, team(threads, most, apart)) for threads in range(2, most + 1)]
    best = min(plans, key=lambda p: p.cost, default=None)
    return best if best is not None and best.cost < _WORTH * alone else None


def plan(body: Sequence[Stmt], costs: Mapping[int, Cost], team: Team) -> Plan:
    """The cheapest choice for these threads."""
    ends = _through(body, (_Way(0.0, None), _NO_WAY), costs, team)
    best = min(ends, key=lambda way: way.cost)
    return Plan(team, frozenset(_shared(best.path)), best.cost + team.dispatch)


def _alone(body: Sequence[Stmt], costs: Mapping[int, Cost]) -> float:
    """The time of one thread; both branches of an If and one turn of a While count."""
    total = 0.0
    for stmt in body:
        if isinstance(stmt, Call):
            total += costs[id(stmt)].alone
        else:
            times = stmt.count if isinstance(stmt, For) else 1
            total += times * sum([_alone(block, costs) for block in blocks(stmt)])
    return total


def _through(body: Sequence[Stmt], states: _States, costs: Mapping[int, Cost], team: Team) -> _States:
    """The ways that go on through statements."""
    speed, meeting, crossing = team.speed, team.meeting, team.crossing
    for stmt in body:
        if isinstance(stmt, Call):
            alone, nbytes, divisible = costs[id(stmt)]
            mine, ours = states
            met = ours.cost + meeting
            least = mine if mine.cost <= met else ours
            to_one = _Way(min(mine.cost, met) + alone, (least.path, id(stmt), False))
            if divisible:
                least = mine if mine.cost <= ours.cost else ours
                cost = least.cost + meeting + alone / speed + crossing * nbytes
                states = to_one, _Way(cost, (least.path, id(stmt), True))
            else:
                states = to_one, _NO_WAY
        elif isinstance(stmt, For):
            states = _turns(stmt, states, costs, team)
        else:
            for block in blocks(stmt):
                states = _through(block, states, costs, team)
    return states


def _turns(loop: For, states: _States, costs: Mapping[int, Cost], team: Team) -> _States:
    """Every turn has the same choices. So each begins in the state in which it ends; to come into the first one costs a meeting
    at most, which is left out.
    """
    before = min(states, key=lambda way: way.cost)
    ends = []
    for state in (0, 1):
        begin = (_Way(0.0, None), _NO_WAY) if state == 0 else (_NO_WAY, _Way(0.0, None))
        end = _through(loop.body, begin, costs, team)[state]
        ends.append(_Way(before.cost + loop.count * end.cost, (before.path, end.path, False)))
    return ends[0], ends[1]


def _shared(path: _Path) -> Iterator[int]:
    """The calls that are shared on a way."""
    left = [path]
    while left:
        at = left.pop()
        while at is not None:
            at, what, shared = at
            if not isinstance(what, int):
                left.append(what)
            elif shared:
                yield what
