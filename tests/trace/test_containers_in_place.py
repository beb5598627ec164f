"""Containers that a program changes in place while it is traced: each way of a branch has its own, or it is an error."""

from __future__ import annotations

from collections import Counter, OrderedDict
from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, ops

X = np.ones((2, 2), np.float32)


def run(function: Any, x: Any) -> Any:
    class Of(nn.Cell):
        construct = function

    return Of()(Tensor(x))


def either(self, x):
    made = []
    if x.sum() > 10:
        made.append(x)
    else:
        made.append(x * 2)
    return made[0]


def turns(self, x):
    made = []
    for i in range(3):
        x = x * 2
        if x.sum() > 20:
            made.append(x)
        else:
            made.append(x * 0)
        if i == 1:
            made.append(x)
    return ops.stack(made)


def alias(self, x):
    made = other = [x]
    if x.sum() > 10:
        made.append(x)
    else:
        made.append(x * 3)
    return other[1]


def unused(self, x):
    made = []
    if x.sum() > 10:
        made.append(x)
    return x


def kept(self, x):
    made = []
    while x.sum() < 20:
        inner = []
        inner.append(x)
        x = inner[0] * 2
    made.append(x)
    return made[0]


@pytest.mark.parametrize(
    ("function", "oracle"),
    [
        (either, lambda x: x if x.sum() > 10 else x * 2),
        (turns, lambda x: np.stack([y if y.sum() > 20 else y * 0 for y in (x * 2, x * 4)] + [x * 4] + [x * 8 * (x.sum() > 2.5)])),
        (alias, lambda x: x if x.sum() > 10 else x * 3),
        (unused, lambda x: x),
        (kept, lambda x: x * 2.0 ** max(0, np.ceil(np.log2(20 / x.sum())))),
    ],
)  # fmt: skip
@pytest.mark.parametrize("factor", [0.25, 1, 4])
def test_each_way_appends_for_itself(function: Any, oracle: Any, factor: float) -> None:
    x = X * np.float32(factor)
    np.testing.assert_array_equal(run(function, x).asnumpy(), oracle(x))


def breaks(self, x):
    made = []
    for i in range(3):
        made.append(x * i)
        if made[-1].sum() > 100:
            break
    return ops.stack(made)


def breaks_before(self, x):
    made = []
    for _ in range(2):
        x = x + 1
        if x.sum() > 100:
            break
        made = [*made, x]
    return ops.stack(made)


def one_way(self, x):
    made = []
    if x.sum() > 10:
        made.append(x)
    return made[0]


def grows(self, x):
    made = []
    while x.sum() < 10:
        x = x + 1
        made.append(x)
    return ops.stack(made)


def one_way_alias(self, x):
    made = other = [x]
    if x.sum() > 10:
        made.append(x)
    return other[0]


def a_set(self, x):
    made = {1}
    if x.sum() > 10:
        made.add(2)
    return x * len(made)


def helped(self, x):
    made = []

    def add(y):
        made.append(y)

    if x.sum() > 10:
        add(x)
    return x


SEEN: list[Any] = []


def outer(self, x):
    seen = SEEN

    def more():
        return seen

    if x.sum() > 10:
        more().append(x)
    return x


class Counts:
    def __init__(self) -> None:
        self.number = 0

    def more(self) -> int:
        self.number += 1
        return self.number


def nested(self, x):
    made = [[1, 2]]
    if x.sum() > 10:
        made[0][1] = 5
    return x * made[0][1]


def in_a_tuple(self, x):
    made = ({"a": 1}, 2)
    if x.sum() > 10:
        made[0]["a"] = 5
    return x * made[0]["a"]


def other_kinds(kind):
    def changed(self, x):
        made = kind()
        if x.sum() > 10:
            made["a"] = 5
        return x * len(made)

    return changed


def of_an_array(self, x):
    made = np.ones(2)
    if x.sum() > 10:
        made[0] = 5
    return x * float(made[0])


def of_a_set(self, x):
    made = {1}
    if x.sum() > 10:
        made |= {2}
    return x * len(made)


def of_an_object(self, x):
    made = Counts()
    if x.sum() > 10:
        made.more()
    return x * made.number


def of_an_iterator(self, x):
    made = iter([1, 2, 3])
    while x.sum() < 10:
        x = x + next(made)
    return x


def in_a_ternary(self, x):
    made = [1, 2]
    return x * (made.pop() if x.sum() > 10 else 1) + len(made)


def in_an_operand(self, x):
    made = Counts()
    return (x.sum() > 10 and made.more() > 0), made.number


def in_a_test(self, x):
    made = Counts()
    while x.sum() < 10 + made.more():
        x = x + 1
    return x * made.number


def of_functions(self, x):
    made = [1]

    def more():
        made.append(2)
        return x

    return ops.cond(x.sum() > 10, more, lambda: x) * len(made)


def of_a_loop_function(self, x):
    made = Counts()
    return ops.while_loop(lambda v: v.sum() < 10, lambda v: v + made.more(), x)


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (nested, "made[0]"),
        (in_a_tuple, "made[0]"),
        *((other_kinds(kind), "made") for kind in (OrderedDict, Counter)),
        *(
            (f, "made")
            for f in (of_an_array, of_a_set, of_an_object, of_an_iterator, in_a_ternary, in_an_operand, in_a_test)
        ),
        *((f, "made") for f in (of_functions, of_a_loop_function)),
    ],
)
def test_whatever_is_changed_in_place_on_one_way_is_refused(function: Any, name: str) -> None:
    with pytest.raises(graphc.TraceError) as caught:
        run(function, X)
    assert str(caught.value).startswith(f"[GC124] {name} is changed in place under a condition")


def leaves_objects_alone(self, x):
    held, other = Counts(), Counts()
    if x.sum() > 10:
        held.number = 5
        inner = Counts()
        inner.more()
        x = x * inner.number
    return x * held.number + other.more()


def test_attributes_that_are_set_by_name_are_names() -> None:
    for factor in (1, 100):
        assert run(leaves_objects_alone, X * factor).asnumpy().tolist() == (X * factor * 5 * (factor > 1) + 1).tolist()


@pytest.mark.parametrize(
    ("function", "code", "message"),
    [
        (
            breaks,
            "GC122",
            "'made' is a list of 2 if the condition holds and a list of 1 if not\n  {file}  made.append(x * i)",
        ),
        (breaks_before, "GC122", "'made' is a list of 1 if the condition holds and a list of 0 if not"),
        (
            one_way,
            "GC122",
            "'made' is a list of 1 if the condition holds and a list of 0 if not\n  {file}  return made[0]",
        ),
        (
            one_way_alias,
            "GC122",
            "'made' is a list of 2 if the condition holds and a list of 1 if not, and is returned\n  {file}  if x.sum() > 10:",
        ),
        (grows, "GC123", "the values that a while loop carries change their structure"),
        (a_set, "GC124", "made is changed in place under a condition\n"),
        (helped, "GC124", "made is changed in place"),
        (outer, "GC124", "seen is changed in place"),
    ],
)
def test_what_cannot_be_followed_says_where(function: Any, code: str, message: str) -> None:
    with pytest.raises(graphc.GraphcError) as caught:
        run(function, X)
    assert caught.value.code == code
    text = str(caught.value)
    wanted = message.replace("a condition\n", "a condition that is known only when the step runs\n")
    head, _, line = wanted.partition("{file}")
    assert head.strip() in text
    assert line.strip() in text
    assert "test_containers_in_place.py:" in text
    assert "help: " in text


class Holder:
    pass


class Keeps(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.held, self.some, self.listed, self.named = Holder(), set(), [], {}


class InObject(Keeps):
    def construct(self, x):
        y = x * 2
        self.held.value = y
        return y


class InSet(Keeps):
    def construct(self, x):
        y = x * 2
        self.some.add(y)
        return y


@pytest.mark.parametrize(
    ("kind", "place"),
    [(InObject, "self.held.value"), (InSet, "self.some")],
)
def test_a_tensor_that_stays_in_an_object(kind: Any, place: str) -> None:
    with pytest.raises(graphc.TraceError) as caught:
        kind()(Tensor(X))
    assert caught.value.code == "GC133"
    assert str(caught.value).startswith(f"[GC133] {place} is given a tensor that is known only when the step runs")
    assert "y = x * 2" in str(caught.value)


class Clears(Keeps):
    """Collects tensors on the way and leaves nothing behind."""

    def construct(self, x):
        self.listed.append(x * 2)
        self.held.value = x * 3
        result = self.listed.pop() + self.held.value
        del self.held.value
        return result


def test_what_is_taken_out_again_may_stand_in_an_object() -> None:
    assert Clears()(Tensor(X)).asnumpy().tolist() == (X * 5).tolist()


def is_none(self, x):
    made = None
    if x.sum() > 10:
        made = x * 2
    if made is None:
        return x
    return made


def test_none_on_one_way_is_not_asked_for() -> None:
    """Python would say that a name which holds a placeholder is not None, whatever the step does."""
    with pytest.raises(
        TypeError, match=r"'made' is a tensor f32\[2,2\] if the condition holds and the Python value None if not"
    ):
        run(is_none, X)
