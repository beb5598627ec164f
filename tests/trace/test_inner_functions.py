"""Functions inside of functions, `try` that fails halfway, methods of containers: in compiled functions as in PYNATIVE_MODE."""

from __future__ import annotations

import functools

import pytest

import graphc
from graphc import GRAPH_MODE, PYNATIVE_MODE, Tensor, nn
from tests.trace.likewise import SAMPLES, outcome, refuses


def fails_halfway(self, x):
    k, made, turns = 4, [], 0
    if x.sum() > 0:
        k = 5
    try:
        k = int("a")
    except ValueError:
        made.append(x)
    for i in range(4):
        try:
            turns += 1
            if i == 1:
                raise KeyError(i)
            if x.sum() > i:
                x = x + i
            made.append([1, 2, 3][i])
        except KeyError:
            continue
        except IndexError as error:
            made.append(str(error))
            break
        else:
            if x.max() > 2:
                turns += 10
        finally:
            turns += 100
    return x, k, made, turns


def returns_from_a_handler(self, x):
    def last(items):
        found = items[0]
        try:
            for item in items:
                if item.sum() > 0:
                    found = found + item
            found = items[-1] + items[len(items)]
        except IndexError:
            return found * 2
        return found

    return last([x, -x, x + 1])


def names_of_inner_functions(self, x):
    k, factor, items = 1, 0.5, [x, x + 1]
    scaled = [lambda v: v * factor]
    later = (item * k for item in items)

    def count(v):
        nonlocal k, x
        if v.sum() > 1:
            k = 2
        halve()
        k = k * 2
        x = x + 1
        return v

    def halve():
        nonlocal k
        k = k + 5

    if x.sum() > 0:
        factor = 3
        count(x)
    y = scaled[0](x)
    factor = 7
    turns = x * 0
    while turns.sum() < 3:
        turns = turns + count(x) * 0 + 1
    for q, w in ((1, 2), (3, 4)):
        x = x + q * w
    quick = lambda q: q + factor  # noqa: E731
    return x, y, k, quick(q), list(later)


class Latest:
    """An object whose methods are called as those of lists and dicts are."""

    def __init__(self, v):
        self.v = v

    def append(self, v):
        if v.sum() > 0:
            self.v = self.v + v


def methods_of_containers(self, x):
    d, items, latest = {"a": x}, [3, 1, 2], Latest(x)
    latest.append(x)
    if x.sum() > 0:
        d.update(a=x + 1)
        d.update({"b": x * 2}, c=x)
        items.sort()
        items.remove(3)
        items.append(7)
    else:
        d.setdefault("b", x)
        d["c"] = x
        items.sort(key=lambda v: -v)
    while d["a"].sum() < 9:
        d.update(a=d["a"] + 2)
    return d, items, latest.v


def items_at_numbers(self, x):
    n, items, pairs, numbers = 0, [x, x * 2, x + 5], [(x, 1), (x * 3, 2)], (5, 6)
    if x.sum() > 0:
        n = 1
    v, k = pairs[n]
    y = items[n] + items[-n] + items[n - 1] + v * numbers[n] * k
    while y.sum() > 0 and n < 2:
        y = y - items[n]
        n = n + 1
    return y, k, numbers[-n // 2]


def names_set_by_handlers(self, x):
    """What a handler sets a function made before reads."""
    n, made = 1.0, []

    def scaled(v):
        return v * n

    for i in range(3):
        try:
            if i != 1:
                raise KeyError(i)
        except KeyError:
            if x.sum() > i:
                n = n + 1.0
        made.append(scaled(x))
    n = 3.0
    return made, n


BODIES = [
    items_at_numbers,
    names_set_by_handlers,
    fails_halfway,
    returns_from_a_handler,
    names_of_inner_functions,
    methods_of_containers,
]


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
def test_as_without_a_compiler(body, monkeypatch):
    monkeypatch.setenv("GRAPHC_JIT", "0")
    for sample in SAMPLES:
        assert outcome(body, sample, GRAPH_MODE) == outcome(body, sample, PYNATIVE_MODE), sample


def longer_list(self, x):
    made = [x]
    if x.sum() > 0:
        made = [x, x]
    return made + [x]  # noqa: RUF005


def method_of_a_dict(self, x):
    made = None
    if x.sum() > 0:
        made = {"a": x}
    return made.items()


class Doubled:
    kept = 0

    @property
    def value(self):
        return self.kept

    @value.setter
    def value(self, v):
        self.kept = v * 2


def set_by_a_property(self, x):
    held = Doubled()
    if x.sum() > 0:
        held.value = x
    return held.value


def turned_by_a_property(self, x):
    held = Doubled()
    held.value = x
    while held.value.sum() < 9:
        held.value = held.value + 1
    return held.value


def text_of_a_test(self, x):
    return "a" if x.sum(axis=0) > 0 and x.max() > 0 else "b"


def counts_in_a_ternary(self, x):
    k = 0

    def count():
        nonlocal k
        k += 1
        return x

    return (count() if x.sum() > 0 else x) * k


@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        (longer_list, TypeError, "'made' is a list of 2 if the condition holds and a list of 1 if not"),
        (method_of_a_dict, TypeError, "'made' is a dict of 1 if the condition holds and the Python value None if not"),
        *(
            (body, RuntimeError, "held.value is set by Doubled.value under a condition that is known only when")
            for body in (set_by_a_property, turned_by_a_property)
        ),
        (text_of_a_test, TypeError, "'x.sum(axis=0) > 0 and x.max() > 0' is the Python value 'a'"),
        (counts_in_a_ternary, RuntimeError, "k is changed in place under a condition that is known only when"),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_what_cannot_be_one_value_is_refused(body, error, message):
    refuses(body, error, message)


def test_an_item_that_is_not_there_is_told_by_the_run():
    def third(x):
        n = 2 if x.sum() > 0 else 0
        return [x, -x][n]

    made = graphc.jit(third)
    assert made(Tensor([-1.0])).asnumpy().tolist() == [-1.0]
    with pytest.raises(IndexError, match="out of range"):
        made(Tensor([1.0]))


def test_gradients_pass_by_items_at_numbers():
    def chosen(x):
        n = 1 if x.sum() > 0 else 0
        return ([x, x * 3][n] * x).sum()

    made = graphc.jit(graphc.grad(chosen))
    assert [made(Tensor([v])).asnumpy().tolist() for v in (2.0, -2.0)] == [[12.0], [-4.0]]


def as_it_is(method):
    @functools.wraps(method)
    def call(self, *args):
        return method(self, *args)

    return call


def scaled(by):
    def decorate(function):
        def call(*args):
            return function(*args) * by

        return call

    return decorate


class Decorated(nn.Cell):
    def branching(self, x):
        return x * 2 if x.sum() > 0 else x - 2

    @as_it_is
    def through(self, x):
        return self.branching(x)

    @as_it_is
    def looping(self, x):
        while x.sum() < 5:
            x = x + 1
        return x

    @scaled(3)
    def construct(self, x):
        return self.through(self.looping(x))


def test_decorators_of_methods():
    for sample, expected in (([1.0, 2.0], [12.0, 18.0]), ([5.0, 5.0], [30.0, 30.0])):
        assert Decorated()(Tensor(sample)).asnumpy().tolist() == expected
