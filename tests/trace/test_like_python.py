"""What stands in compiled functions gives what Python gives in PYNATIVE_MODE: values, dtypes, containers, kinds of numbers, how
often something is written."""

from __future__ import annotations

import numpy as np
import pytest

import graphc
from graphc import GRAPH_MODE, PYNATIVE_MODE, Parameter, Tensor, ops
from tests.trace.likewise import SAMPLES, outcome, refuses


def and_or(self, x):
    a = x.sum() and x.max()
    b = x.sum() or x.max() + 7
    return a, b, x.sum() > 0 and x.max() > 1.5, not x.sum()


def written_only_where_it_counts(self, x):
    a = x.sum() > 0 and self.counted(x)
    if x.sum() > 0 or self.counted(x):
        x = x + 1
    if -2 < x.sum() < 10 and self.counted(x):
        x = x * 2
    return x, a


def chain(self, x):
    def once():
        self.counted(x)
        return x.sum()

    return x + 1 if 0 < once() < 10 else x


def numbers_in_tests(self, x):
    k, items = 0, [1]
    if x.sum() > 0 and k:
        x = x + 1
    if (x.max() > 0 or k) and items:
        x = x * 2
    return x if not (x.sum() > 5 and items) else -x


def ternaries(self, x):
    k = 1 if x.sum() > 2 else 2 if x.sum() > -1 else 3
    return (x if x.max() > 1 else -x if x.min() < 0 else x + 5) * k, k


def numbers(self, x):
    k, t, flag, d = 1, (1, 2), False, {"a": x, "k": 1}
    if x.sum() > 0:
        t, d = (3, 4), {"a": x * 2, "k": 3}
        if x.max() > 1:
            k, flag = 2, True
    elif x.sum() < -100:
        k = 3
    i = ops.cast(x, "int32")
    return x * t[0] + t[1], i * k, k / 2, k // 2, k**2, not flag, max(k, 1), int(k), float(k), isinstance(k, int), d


def operators_of_numbers(self, x):
    k, part = (5, 2.5) if x.sum() > 0 else (-2, 0.5)
    shifted = (k << 1, k >> 1, 1 << abs(k), 64 >> abs(k), k & 6, 6 | k, k ^ 3, ~k)
    return (
        x * shifted[0],
        shifted,
        divmod(k, 3),
        divmod(17, k),
        divmod(part, 2),
        round(part),
        round(part, 0),
        round(k),
    )


def returns(self, x):
    if x.sum() > 0:
        if x.max() > 1:
            return x * 2, 1, 0.5
        x = x + 100
    for i in range(3):
        for j in range(2):
            x = x + 1
            if x.sum() > 5:
                return x, i, j * 0.5
    return -x, 5, 1.5


def after_a_break(self, x):
    k = 8
    for i in range(5):  # noqa: B007
        x = x + 1
        if x.sum() > 6:
            break
    while x.sum() < 50:
        x, k = x + 10, k / 2
    return x * i, i, k


def a_tensor_counts_from_a_number(self, x):
    k, t = 0, (0, 1)
    while k < 3 + x.sum() * 0:
        k, t = k + Tensor(1, "int32"), (t[1], t[0] + t[1])
    return k, t


def built_in(self, x):
    y, z = x.sum(), x.max()
    return (
        any([y > 0, z > 100]),
        all(v > 0 for v in (y, z)),
        max(y, z),
        min(x),
        max(y * 0.5, z),
        max(v * 2 for v in (y, z)),
        min(len(v) for v in ("ab", "c")),
        int(y),
        float(z),
        bool(y),
    )


def within(self, x):
    return x.sum() in [1.0, 3.0], 2.0 in x, x.sum() not in (0, 1)


def chosen(self, x):
    if x.sum() > 0:
        act, layer = self.relu, self.first
    else:
        act, layer = self.tanh, self.second
    scale = (lambda v: v * 2) if x.max() > 1.5 else (lambda v: v * 3)
    return act(scale(x)), layer(ops.reshape(x, (1, 2)))


def aliases(self, x):
    a = x + 1
    b, held, d = a, [a], {"a": x}
    if x.sum() > 0:
        a[0] = 9
        d["a"] = x * 2
        if x.max() > 1.5:
            b[1] = x.sum()
    i = 0
    while i < 2 + x.sum() * 0:
        a[1] = a[1] + 1
        i += 1
    return a, b, held, d


def fill(t, value):
    t[0] = value
    if value > 0:
        t[1] = 5
    return t.sum() > 0


def writes_of_helpers(self, x):
    a = x + 1
    fill(a, x[0])
    return a, x.sum() > 0 and fill(a, -x[0])


def own_in_a_branch(self, x):
    b = x
    if x.sum() > 0:
        b = b + 0
        b[0] = 1.5
    return b


def outer_name(self, x):
    k = 1

    def grow():
        nonlocal k
        if x.sum() > 0:
            k = k + 1

    grow()
    return x * k


def outer_name_behind_jumps(self, x):
    k, w = 1 if x.sum() > 2 else 3, 0

    def grow(by):
        nonlocal k
        k += by

    while w < 2:
        w += 1
        if k > 2:
            break
        grow(2)
    for i in range(3):
        if x.max() < i:
            continue
        grow(1)
    if x.min() > 0:
        return x, k
    grow(100)
    return x * k, k


def inner_functions_return(self, x):
    def first(v):
        for i in range(2):
            if v[i] > 1:
                return v[i], i
        return v.sum(), -1

    def add(v):
        if v.sum() > 0:
            return
        ops.assign_add(self.p, v)

    add(x)
    (a, i), (b, j) = first(x), first(-x)
    return a + b, i, j


def leaves_a_loop_by_return(self, x):
    i = 0
    while True:
        i += 1
        if x.sum() > 5:
            return x, i
        if i > 3:
            return -x, 0
        x = x + 1


def names_given_in_tests(self, x):
    b = d = x.mean()
    if (a := x.sum()) > 2 and (b := x.max()) > 1.5:
        a = a + b
    elif (c := x.min()) < -1 or (self.n is None and (d := x.max()) > 0):
        a = a - c
    while (left := 9 - x.sum()) > 0:
        x = x + 1
        if left < 2:
            break
    else:
        x = x * 2
    return x, a, b, d, left


def several_targets(self, x):
    y, k, m = x + 1, 0, [1, 2, 3]
    if x.sum() > 0:
        k = 1
        y[k], k, *m[1:] = y[0] * 3, 0, 7, 8
    else:
        y[k], (y[1], m[k]) = x[1], (x[0], 5)
        k = 1
    held = y[0] = top = x.max()
    a: Tensor = y[k]
    return y, k, m, held, top, a


def items_of_tensors(self, x):
    k, total, several = x.max().astype("int32").item(), x.sum().item(), (x > 0).any().item()
    if total > 2:
        x = x + k
    elif x.min().item() < 0 and several:
        x = x * total
    n = self.n.item()
    return x * n, k, total, several, k + n, total / 2


def lists_of_tensors(self, x):
    numbers, of_one, of_parameter = (x * 2).reshape(1, 2).tolist(), x.sum().tolist(), self.n.tolist()
    if numbers[0][1] > 3:
        x = x + numbers[0][0]
    return x, numbers, (x > 1).tolist(), of_one + of_parameter, Tensor([1.5, 2.5]).tolist()


def contents_set(self, x):
    for i in range(2):
        self.n.set_data(Tensor(i + 1))
    if x.sum() > 0:
        self.p.set_data(Tensor([5.0, 6.0]))
    else:
        self.p.set_data(x * 3)
    return self.p * self.n


BODIES = [
    items_of_tensors, lists_of_tensors, contents_set,
    written_only_where_it_counts, chain, numbers_in_tests, ternaries, numbers, operators_of_numbers, returns, after_a_break,
    a_tensor_counts_from_a_number, built_in,
    chosen, aliases, writes_of_helpers, own_in_a_branch, outer_name, outer_name_behind_jumps,
    inner_functions_return, leaves_a_loop_by_return, names_given_in_tests, several_targets,
]  # fmt: skip


@pytest.mark.parametrize("body", BODIES, ids=lambda body: body.__name__)
def test_as_without_a_compiler(body, monkeypatch):
    monkeypatch.setenv("GRAPHC_JIT", "0")
    for sample in SAMPLES:
        assert outcome(body, sample, GRAPH_MODE) == outcome(body, sample, PYNATIVE_MODE), sample


@pytest.mark.parametrize("body", [and_or, within], ids=lambda body: body.__name__)
def test_truth_values_of_tensors_stay_tensors(body, monkeypatch):
    """As in MindSpore's graph mode; Python's `not` gives a bool."""
    monkeypatch.setenv("GRAPHC_JIT", "0")
    for sample in SAMPLES[:2]:
        (first, *_), (second, *_) = (outcome(body, sample, mode) for mode in (GRAPH_MODE, PYNATIVE_MODE))
        for a, b in zip(first, second, strict=True):
            assert a[1] == b[1], sample


def test_a_number_beside_a_tensor_takes_its_dtype():
    for dtype in ("float16", "float64"):
        made = graphc.jit(lambda x: max(x.mean(), 0.25))(Tensor([1.0], dtype))
        assert (str(made.dtype).lower(), made.asnumpy().tolist()) == (dtype, 1.0)


def test_what_is_traced_has_the_type_tensor():
    def f(x):
        return x * 2 if type(x) in (list, Tensor) and type(x) is Tensor else x

    assert graphc.jit(f)(Tensor([1.0])).asnumpy().tolist() == [2.0]


def scaled_by_float(x):
    return (x * float(x.sum())).sum()


def scaled_by_item(x):
    k = x.max().item() if x.sum() > 0 else 2
    return (x * x.sum().item() * k).sum()


@pytest.mark.parametrize("mode", [GRAPH_MODE, PYNATIVE_MODE])
@pytest.mark.parametrize("function", [scaled_by_float, scaled_by_item])
def test_a_number_made_of_a_tensor_is_a_constant_to_gradients(function, mode, mode_again):
    graphc.set_context(mode=mode)
    x = Tensor([1.0, 2.0])
    expected = {scaled_by_float: [3, 3], scaled_by_item: [6, 6]}[function]
    np.testing.assert_array_equal(graphc.grad(graphc.jit(function))(x).asnumpy(), expected)


def test_a_gradient_sees_what_was_written_for_all_names():
    def f(x):
        a = x * x
        b = a
        if x.sum() > 0:
            a[0] = x[1] * 3
        else:
            b[1] = x[0] * 2
        return (a * b).sum()

    found = [graphc.jit(ops.grad(f))(Tensor(np.asarray(s, np.float32))).asnumpy().tolist() for s in SAMPLES[:2]]
    assert found == [[0.0, 68.0], [-132.0, 0.0]]


def strings(self, x):
    return "positive" if x.sum() > 0 else "negative"


def loses(self, x):
    k = 2.5
    if x.sum() > 0:
        k = ops.cast(x.sum(), "int32")
    return x * k


def several(self, x):
    return not x


def flag_and_sum(self, x):
    k = True
    while x.sum() > 0:
        k, x = k + 1, x - 1
    return k


def looked_up(self, x):
    k = 2 if x.sum() > 0 else 3
    return {2: x}.get(k, -x)


def makes_a_parameter(self, x):
    w = Parameter(Tensor([1.0, 2.0]), name="w")
    return x * w if x.sum() > 0 else x


def member(self, x):
    k = 2 if x.sum() > 0 else 3
    return x * len({k, 2})


@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        *(
            (body, TypeError, "a number that a tensor decides is a key of a dict or set")
            for body in (looked_up, member)
        ),
        (makes_a_parameter, graphc.TraceError, "a Parameter is made inside construct"),
        (strings, TypeError, "'positive' if the condition holds and the Python value 'negative' if not"),
        (loses, TypeError, "different shapes or dtypes"),
        (several, ValueError, "a condition must be one element, this one is f32[2]"),
        (flag_and_sum, ValueError, "the loop carries"),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_what_cannot_be_one_value_is_refused(body, error, message):
    refuses(body, error, message)
