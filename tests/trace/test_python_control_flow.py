"""Python's control flow on tensors: compiled (natively and checked) it gives what plain Python gives in PYNATIVE_MODE."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import graphc
from graphc import GRAPH_MODE, PYNATIVE_MODE, Parameter, Tensor, nn, ops
from graphc.debug import debug
from graphc.ir import parse, verify, walk
from graphc.ops.tensor.tree import flatten


def tensor(*values):
    return Tensor(np.asarray(values, np.float32))


def run(make, calls, mode, jit=True):
    """Results of calling a fresh cell, and what its parameters hold afterwards."""
    graphc.set_context(mode=mode)
    try:
        with debug(jit=jit):
            cell = make()
            results = [[x.asnumpy() for x in flatten(cell(*args))[0]] for args in calls]
            return results, [p.asnumpy() for p in cell.get_parameters()]
    finally:
        graphc.set_context(mode=GRAPH_MODE)


def check(make, *calls):
    expected, parameters = run(make, calls, PYNATIVE_MODE)
    for jit in (True, False):
        results, after = run(make, calls, GRAPH_MODE, jit)
        for got, want in zip(results, expected, strict=True):
            assert len(got) == len(want)
            for a, b in zip(got, want, strict=True):
                assert a.shape == b.shape
                np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
        for a, b in zip(after, parameters, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


class Stateful(nn.Cell):
    def __init__(self):
        super().__init__()
        self.p = Parameter(tensor(1.0), name="p")
        self.count = Parameter(Tensor(0), name="count", requires_grad=False)


class IfElse(Stateful):
    def construct(self, x):
        before = self.p + 0
        if x.sum() > 0:
            ops.assign_add(self.p, x)
            y = x * 2
        elif x.sum() < -5:
            y = x - 1
        else:
            ops.assign(self.count, self.count + 1)
            y = -x
        return before, y, self.p * 1, self.count


class Whiles(Stateful):
    def construct(self, x):
        turns = Tensor(0)
        while x.sum() < 50:
            x = x + x * x + 1
            turns = turns + 1
            if turns > 3:
                ops.assign_add(self.p, x)
        while not x.sum() < 10:
            x = x / 2
        return x, turns


class BreakContinue(nn.Cell):
    def construct(self, x):
        total = x * 0
        for i in range(6):
            if i == 1:
                continue
            total = total + x * i
            if total.sum() > 10:
                break
        while True:
            total = total - 3
            if total.sum() < 0:
                break
            if total.sum() < 4:
                total = total - 1
                continue
            total = total * 0.9
        return total


class EarlyReturn(nn.Cell):
    def grown(self, x):
        return x * 3 if x.sum() > 10 else x

    def construct(self, x):
        if x.sum() > 0 and x.max() < 100:
            return self.grown(x)
        elif not x.any():
            return x + 5
        for i in range(3):
            if x.sum() < -8:
                return x - i
            x = x * 2
        return x


class Overriding(EarlyReturn):
    def construct(self, x):
        y = super().construct(x)
        if y.sum() > 0 or x.sum() < -100:
            y = y + 1
        return y


def halved(x):
    if x.sum() > 1:
        x = x / 2
    return x


class Helpers(nn.Cell):
    def construct(self, x):
        pick = (lambda a: a if a.sum() > 3 else -a)(x)
        values = [v * 2 if v.sum() > 1 else v for v in (x, pick)]
        a, b = (x, pick) if x.sum() > 0 else (pick, x)
        return halved(values[0]) + values[1], a, b, 0 < x.sum() < 5


class NestedLoops(nn.Cell):
    def construct(self, x, n):
        i = 0
        while i < n:
            j = 0
            while x.sum() < 5 * i and j < 3:
                x = x + 1
                j += 1
            i += 1
        return x + i


class Rows(nn.Cell):
    def construct(self, x):
        best = x[0]
        for row in x:
            if row.sum() > best.sum():
                best = row
        return best


class ReturnInLoop(nn.Cell):
    def construct(self, x):
        while x.sum() < 100:
            if x.max() > 20:
                return x - 1
            x = x * 3 + 1
        return x


class Called:
    """An object that is called: what it decides by is seen behind attributes, partial, and `super()`."""

    def __init__(self, factor):
        self.factor = factor

    def __call__(self, x):
        if x.sum() > 0:
            return x * self.factor
        return x - 1


class CalledAbove(Called):
    def __call__(self, x):
        return super().__call__(x) + 3


def by_parts(factor, x):
    return x * factor if x.sum() > 2 else x


OUTSIDE = partial(by_parts, 4.0)


class Objects(nn.Cell):
    def __init__(self):
        super().__init__()
        self.plain, self.listed = Called(2.0), [CalledAbove(5.0)]

    def construct(self, x):
        return self.plain(x) + self.listed[0](x) + OUTSIDE(x) + Called(3.0)(x)


SAMPLES = [(tensor(v),) for v in (3.0, -4.0, 0.0, 0.5, -9.0, 20.0, 250.0)]


@pytest.mark.parametrize("cell", [IfElse, EarlyReturn, Overriding, Helpers, Objects])
def test_like_python(cell):
    check(cell, *SAMPLES)


@pytest.mark.parametrize("cell", [Whiles, BreakContinue, ReturnInLoop])
def test_loops_like_python(cell):
    check(cell, *[(tensor(v),) for v in (3.0, 0.5, 60.0, 7.0)])


def test_a_bound_that_is_a_tensor_and_one_that_is_not():
    check(NestedLoops, (tensor(0.5), Tensor(4)), (tensor(-3.0), 3), (tensor(100.0), Tensor(0)))


def test_ranges_of_tensors():
    check(RangeOfTensor, *[(Tensor(n), tensor(v)) for n, v in ((0, 1.0), (1, -3.0), (3, 9.0), (5, 0.0), (-2, 1.0))])


def test_rows_of_a_tensor():
    check(Rows, (Tensor(np.array([[1, 2], [5, 1], [3, 2]], np.float32)),))


def test_one_graph_serves_every_way():
    cell = EarlyReturn()
    step = graphc.compile(cell, tensor(1.0))
    verify(step.graph)
    assert str(parse(str(step.graph))) == str(step.graph)
    for v in (3.0, 20.0, 0.0, -1.0, -3.0, 200.0):
        graphc.set_context(mode=PYNATIVE_MODE)
        expected = cell(tensor(v)).asnumpy()
        graphc.set_context(mode=GRAPH_MODE)
        np.testing.assert_allclose(step(tensor(v)).asnumpy(), expected)


class ByPython(nn.Cell):
    def __init__(self, deep):
        super().__init__()
        self.deep = deep

    def construct(self, x, times, scale=None):
        if self.deep:
            x = x * 2
        for _ in range(times):
            x = x + 1
        if scale is not None and x.shape[0] == 1:
            x = x * scale
        return x


def test_what_python_decides_leaves_no_node():
    step = graphc.compile(ByPython(True), tensor(1.0), 2)
    assert sorted(n.op.name for n in step.graph if n.op.name not in ("Input", "Constant")) == ["Add", "Add", "Mul"]
    assert ByPython(False)(tensor(1.0), 3, scale=2.0).asnumpy() == 8


class Gradient(nn.Cell):
    def __init__(self, fn):
        super().__init__()
        self.grad = ops.GradOperation()(fn)

    def construct(self, x):
        return self.grad(x)


def branchy(x):
    y = x * x
    if x.sum() > 0:
        y = ops.exp(y * 0.1) * x
    elif x.sum() < -3:
        return (x * 3).sum()
    for i in range(3):
        y = y * x + i
        if y.sum() > 5:
            break
    return y.sum()


@pytest.mark.parametrize("value", [1.5, -1.0, -4.0, 0.25])
def test_gradients_through_if_and_fixed_loops(value):
    got = Gradient(branchy)(tensor(value, value / 2)).asnumpy()
    graphc.set_context(mode=PYNATIVE_MODE)
    try:
        step = 1e-3
        for k in range(2):
            low, high = (np.array([value, value / 2], np.float32) for _ in range(2))
            low[k] -= step
            high[k] += step
            numeric = (float(branchy(Tensor(high))) - float(branchy(Tensor(low)))) / (float(high[k]) - float(low[k]))
            assert got[k] == pytest.approx(numeric, rel=5e-3, abs=5e-3)
    finally:
        graphc.set_context(mode=GRAPH_MODE)


class Switch(nn.Cell):
    """A condition that is a Parameter: what it holds when the step runs decides."""

    def __init__(self):
        super().__init__()
        self.on = Parameter(Tensor([False]), name="on", requires_grad=False)

    def construct(self, x):
        y = x if not self.on else x * 3
        if self.on:
            y = y * 2
        else:
            self.on = Tensor([True])
        return y


def test_a_parameter_as_condition_is_read_at_every_step():
    net = Switch()
    assert [float(net(tensor(1.0))) for _ in range(3)] == [1, 6, 6]
    net.on.set_data(Tensor([False]))
    assert float(net(tensor(1.0))) == 1


class OneSided(nn.Cell):
    def construct(self, x):
        if x.sum() > 0:
            y = x
        return y


class AttributeOneSided(nn.Cell):
    def construct(self, x):
        held = Held()
        if x.sum() > 0:
            held.y = x
        return held.y


class Held:
    """Has attributes."""


class FirstInLoop(nn.Cell):
    def construct(self, x):
        while x.sum() < 10:
            x = x * 2
            seen = x
        return seen


class SometimesNothing(nn.Cell):
    def construct(self, x):
        if x.sum() > 0:
            return x


class Grows(nn.Cell):
    def construct(self, x):
        while x.sum() < 10:
            x = ops.concat([x, x])
        return x


class Kinds(nn.Cell):
    def construct(self, x):
        y = x if x.sum() > 0 else "none"
        return y


class Many(nn.Cell):
    def construct(self, x):
        if x > 0:
            x = x + 1
        return x


class RangeOfTensor(nn.Cell):
    """The bound is read once; the number is what the loop left it at, and may be that of a list."""

    def construct(self, x, y):
        i, made = 0, [y]
        for _ in range(x):
            x = x + 1
        for i in range(2 * x, x - 1, -3):
            if i == 7:
                continue
            made[0] = made[0] * 0.5 + i
            if made[0] > 20:
                break
        return x, i, made


class RangeOfFloat(nn.Cell):
    def construct(self, x):
        for _ in range(x):
            x = x + 1
        return x


class StepOfTensor(nn.Cell):
    def construct(self, x):
        y = x
        for i in range(0, 9, x):
            y = y + i
        return y


@pytest.mark.parametrize(
    ("cell", "argument", "code", "words"),
    [
        (OneSided, tensor(1.0), "GC121", "'y' is not set in the `else` branch"),
        (AttributeOneSided, tensor(1.0), "GC121", "'held.y' is not set in the `else` branch"),
        (FirstInLoop, tensor(1.0), "GC124", "'seen' is first set inside a loop"),
        (
            SometimesNothing,
            tensor(1.0),
            "GC122",
            "the returned value is a tensor f32\\[1\\] if the condition holds and the Python value None",
        ),
        (Grows, tensor(1.0), "GC123", "the loop carries"),
        (Kinds, tensor(1.0), "GC122", "if the condition holds"),
        (Many, tensor(1.0, 2.0), "GC120", "a condition must be one element"),
        (RangeOfFloat, tensor(3.0), "GC120", "range\\(\\) of f32\\[1\\], which is no integer"),
        (StepOfTensor, Tensor(3), "GC120", "the step of a range\\(\\) must be known"),
    ],
)
def test_what_cannot_be_converted_says_so(cell, argument, code, words):
    with pytest.raises(graphc.GraphcError, match=words) as caught:
        cell()(argument)
    assert caught.value.code == code
    assert caught.value.loc.file.endswith("test_python_control_flow.py")


def test_nodes_of_converted_code_have_the_users_lines():
    step = graphc.compile(IfElse(), tensor(1.0))
    lines = {n.loc.line for _, n in walk(step.graph) if n.loc is not None}
    files = {n.loc.file.split("/")[-1] for _, n in walk(step.graph) if n.loc is not None}
    first = IfElse.construct.__code__.co_firstlineno
    assert files == {"test_python_control_flow.py"}
    assert {first + 1, first + 2, first + 3, first + 4, first + 5, first + 6, first + 8, first + 9} <= lines


class PrintsAndDebugs(nn.Cell):
    def construct(self, x):
        self_seen.append(float(x.sum()))
        return x * 2


self_seen: list[float] = []


def test_pynative_has_values_to_look_at():
    graphc.set_context(mode=PYNATIVE_MODE)
    try:
        assert PrintsAndDebugs()(tensor(1.0, 2.0)).asnumpy().tolist() == [2, 4]
    finally:
        graphc.set_context(mode=GRAPH_MODE)
    assert self_seen == [3.0]


def test_what_branches_disagree_on_is_the_builtin_error_too():
    class Dtypes(nn.Cell):
        def construct(self, x):
            return x if x.sum() > 0 else ops.cast(x, "float16")

    with pytest.raises(TypeError, match="different shapes or dtypes"):
        Dtypes()(tensor(1.0))
    with pytest.raises(UnboundLocalError, match="'y' is not set in the `else` branch"):
        OneSided()(tensor(1.0))


class EarlierTurns(nn.Cell):
    """Names that begin as one tensor, and hold what the last turns left."""

    def construct(self, x, turns):
        now = last = before = x
        pair = [x, x]
        number = earlier = 0
        t = ops.zeros((), "int32")
        while t < turns:
            before, last, now = last, now, now * 2.0
            pair = [pair[0] + 1.0, pair[0]]
            earlier = number
            number = number + 1
            t = t + 1
        return now, last, before, pair[0], pair[1], x + number, x + earlier


class EarlierStates(nn.Cell):
    def __init__(self):
        super().__init__()
        self.state = Parameter(tensor(1.0, 2.0), name="state")

    def construct(self, turns):
        now = last = self.state
        t = ops.zeros((), "int32")
        while t < turns:
            last = now
            now = now * 3.0
            t = t + 1
        return now, last


def test_names_that_begin_as_one_tensor_are_carried_apart():
    check(EarlierTurns, *((tensor(1.0, -2.0), Tensor(n, "int32")) for n in (0, 1, 2, 4)))
    check(EarlierStates, *((Tensor(n, "int32"),) for n in (0, 1, 3)))
