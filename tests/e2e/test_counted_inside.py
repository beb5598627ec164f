"""What branches and loops choose by masks is what eager calls choose, with its gradients and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, ops
from graphc.debug import debug
from graphc.errors import GraphcError, PaddingError, ShapeError, TraceError
from graphc.ops.declared.bounds import IndexRangeError
from tests.e2e.changing import close
from tests.e2e.chosen import Function, Net, agrees, floats, masks, refused


def a_loss(x: Any, m: Any) -> Any:
    loss = x.sum() * 0
    if m.any():
        loss = loss + (x[m] ** 2).mean() / x[m].shape[0]
    return loss


def the_largest(x: Any, m: Any) -> Any:
    """Raises where nobody comes by, and where somebody does."""
    few, all_of_them = x[m & (x > 0.5)], x[m].sum()
    made = few.sum()
    if m.any():
        made = made + x[m].max() + x[m][0] * x[m][-1] + ops.topk(x[m], 1)[0].sum()
    if (x[m] > 0.5).any():
        made = made * few.max() + few[0]
    return made, all_of_them


def either_way(x: Any, m: Any) -> Any:
    if x[m].sum() > 0:
        made, rest = x[m] * 2, x[m].max()
    else:
        made, rest = -x[m], x.sum()
        if (~m).any():
            rest = x[~m].min()
            if x[~m].sum() > 0:
                rest = rest * x[~m].max()
    return made, made.sum() * rest


def put_back(x: Any, m: Any) -> Any:
    y = x * 1
    if m.any():
        y[m] = x[m] - x[m].mean()
        y[m] += x[m].max()
    return y


def in_turns(x: Any, m: Any) -> Any:
    turn, made = ops.zeros((), graphc.int32), x.sum() * 0
    while turn < 3:
        some = (x * turn)[m & (x > turn.astype(graphc.float32) * 0.3)]
        made = made + some.sum() + x[m].std()
        if (m & (x > 0)).any():
            made = made * x[m & (x > 0)].min()
        turn = turn + 1
    return made


def in_branches(x: Any, m: Any) -> Any:
    made = x.sum() * 0
    for k in range(4):
        if (x > k * 0.4).any():
            made = made + x[x > k * 0.4].min() * k
    return made


def in_a_scan(x: Any, m: Any) -> Any:
    def turn(total: Any, row: Any) -> Any:
        return total + x[m & (x > row)].sum() * total, ops.cond(m.any(), lambda: x[m].max() * row, lambda: row)

    return ops.scan(turn, ops.ones(()), x.reshape(-1), None)


def in_short(x: Any, m: Any) -> Any:
    """Python computes the second operand only if the first does not tell."""
    few, made = x[m], x.sum() * 0
    if (m.any() and few.max() > 0.5) or (few.sum() < 1 and (~m).any() and x[~m].min() < -1):
        made = made + 1
    return made * few.sum()


def as_many_as_needed(x: Any, m: Any) -> Any:
    """Branches need more of it than what follows."""
    few, made = x[m], x.sum() * 0
    if few.sum() > 100:
        made = made + few[3] * few[-2]
    elif few.sum() > 200:
        made = made + few[1]
    return made + few[:4].sum() + few[:3].sum() * few[-2:].sum()


#: What branches and loops count themselves.
INSIDE: dict[str, Function] = {
    f.__name__: f
    for f in (a_loss, the_largest, either_way, put_back, in_turns, in_branches, in_a_scan, in_short, as_many_as_needed)
}


def looked_at(x: Any, m: Any) -> Any:
    while x[m].sum() > 3:
        x = x * 0.5
    return x


def of_the_chosen(x: Any, m: Any) -> Any:
    some, made = x[m], x.sum() * 0
    while made < 3:
        made = made + ops.abs(some.max()) + 1
    return made


def of_either(x: Any, m: Any) -> Any:
    made = x.sum() * 0
    while made < 3:
        made = made + ops.cat((x[m & (x > made)], x[x < -made])).max() ** 2 + 1
    return made


def caught(x: Any, m: Any) -> Any:
    made = x.sum()
    if made > -100:
        try:
            made = made + x[m].max()
        except ShapeError:
            made = made - 1
    return made


def caught_around(x: Any, m: Any) -> Any:
    made = x.sum()
    try:
        if made > -100:
            made = made + x[m][1]
    except IndexError:
        made = made - 1
    return made


@pytest.mark.parametrize("shape", [(9,), (4, 5), (1,)])
@pytest.mark.parametrize("name", INSIDE)
def test_what_branches_and_loops_choose(name: str, shape: tuple[int, ...]) -> None:
    agrees(INSIDE[name], floats(*shape), masks(shape))


def test_only_branches_that_are_taken_raise() -> None:
    def body(x: Any, m: Any, to_it: Any) -> Any:
        some, made = x[m], x.sum()
        if to_it:
            made = some.max() + x[~m].min()
        return made + some.sum()

    x, (none, every, *others) = floats(9), masks((9,))
    step = graphc.compile(Net(body), x, none, np.array(True))
    for mask in (none, every):
        close(step(x, mask, np.array(False)), body(Tensor(x), Tensor(mask), False))
        with pytest.raises(ShapeError, match="nothing to reduce"):
            step(x, mask, np.array(True))
    for mask in others:
        close(step(x, mask, np.array(True)), body(Tensor(x), Tensor(mask), True))


@pytest.mark.parametrize("how", [{"jit": False}, {"threads": 2, "canary": True}])
def test_however_they_run(how: dict[str, Any]) -> None:
    with debug(**how):
        for name in ("the_largest", "in_turns", "in_a_scan"):
            agrees(INSIDE[name], floats(67), masks((67,)))


class Normalized(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(4)

    def construct(self, x: Any, m: Any) -> Any:
        made = x.sum(0)
        if m.sum() > 1:
            s = x[m]
            made = self.norm(s)[0] + s.var(0, ddof=1) + graphc.mint.std(s, 0)
        return made


def test_what_is_divided_by_one_less_than_there_are() -> None:
    cell, other = Normalized().set_train(), Normalized().set_train()
    step, x = graphc.compile(cell, floats(6, 4), np.ones(6, bool)), floats(6, 4)
    for count in (6, 3, 0, 2, 1, 5):
        mask = np.arange(6) < count
        graphc.set_context(mode=graphc.PYNATIVE_MODE)
        wanted = other(Tensor(x), Tensor(mask))
        graphc.set_context(mode=graphc.GRAPH_MODE)
        close(step(x, mask), wanted)
    for mine, others in zip(cell.get_parameters(), other.get_parameters(), strict=True):
        close(mine.value(), others.value())


def for_nobody(x: Any, m: Any) -> Any:
    """What a branch computes for nobody is not computed, and raises nothing."""
    s, made = x[m], x.sum()
    if 0 < len(s) <= 3:
        middle = s[len(s) // 2] if len(s) > 1 else x.min()  # noqa: F841
        made = made * 2
    return made


def few_of_outside(x: Any, m: Any) -> Any:
    """What a branch asks the size of is sliced outside of it."""
    s, few, made = x[m], x[m][:2], x.sum()
    if s.sum() > 0:
        if 0 < len(few) <= 1:
            made = made + few.sum()
        made = made * 2
    return made, ops.softmax(x[9:], 0)


@pytest.mark.parametrize("body", [for_nobody, few_of_outside])
def test_what_branches_ask_and_nobody_needs(body: Function) -> None:
    step = graphc.compile(Net(body), floats(9), np.ones(9, bool))
    for count in range(9):
        mask = np.arange(9) < count
        close(step(floats(9), mask), body(Tensor(floats(9)), Tensor(mask)))


#: Of x, and m of its shape, with several errors where there are few: the first one is raised.
FIRST: dict[str, Function] = {
    "one after the other": lambda x, m: x[m].max() + x[m][1],
    "the other way round": lambda x, m: x[m][1] + x[m].max(),
    "a branch before": lambda x, m: ops.cond(x[0] > -9, lambda: x[m & (x > 0)][0], lambda: x[0]) + x[m].max(),
    "of two branches": lambda x, m: (
        ops.cond(x[0] > -9, lambda: x[m][1], lambda: x[0]) + ops.cond(x[1] > -9, lambda: x[m].max(), lambda: x[1])
    ),
    "of either branch": lambda x, m: (lambda q: ops.cond(x[0] > 0, lambda: q[3], lambda: q[1] * q.max()))(x[m]),
    "few outside of a loop": of_the_chosen,
    "nested": lambda x, m: ops.cond(
        x[0] > -9, lambda: x[m].max() + ops.cond(x[1] > -9, lambda: x[m][2], lambda: x[m].min()), lambda: x[m].min()
    ),
}


@pytest.mark.parametrize("name", FIRST)
def test_the_first_error_is_raised(name: str) -> None:
    x, chosen = floats(9), masks((9,))
    step = graphc.compile(Net(FIRST[name]), x, chosen[0])
    for mask in chosen:
        try:
            wanted = FIRST[name](Tensor(x), Tensor(mask))
        except (ShapeError, IndexRangeError) as error:
            with pytest.raises(type(error)):
                step(x, mask)
        else:
            close(step(x, mask), wanted)


REFUSED: dict[str, tuple[Function, type[GraphcError], str]] = {
    "in a condition": (looked_at, TraceError, "inside of the condition of a loop"),
    "out of a branch": (lambda x, m: ops.cond(x.sum() > 0, lambda: x[m], lambda: x * 2), ShapeError, "different shapes"),
    "few of two in a loop": (of_either, PaddingError, "for few of several things that it counts"),
    "caught in a branch": (caught, PaddingError, "`try` may catch ShapeError"),
    "caught around a branch": (caught_around, PaddingError, "`try` may catch IndexError"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be(case: str) -> None:
    body, kind, why = REFUSED[case]
    refused(lambda: graphc.compile(Net(body), floats(9), masks((9,))[2]), "test_counted_inside.py", kind, why)
