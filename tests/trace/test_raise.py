"""`raise` and `assert` in a construct: at once where Python decides, at the end of the run where a tensor does."""

from __future__ import annotations

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, nn, ops


def tensor(*values):
    return Tensor(np.asarray(values, np.float32))


class Guarded(nn.Cell):
    def __init__(self):
        super().__init__()
        self.calls = Parameter(Tensor(0, "int32"), name="calls", requires_grad=False)

    def construct(self, x, limit=None):
        if limit is not None and x.shape[0] > limit:
            raise ValueError(f"at most {limit} elements, got {x.shape[0]}")
        self.calls = self.calls + 1
        if x.sum() > 10:
            print("large", x)
            raise OverflowError("the sum is large")
        elif x.sum() < -10:
            y = -x
        else:
            y = x * 2
        assert x[0] >= 0 or x[1] >= 0, "one must not be negative"
        return y


def test_a_tensor_decides_when_the_step_runs(capsys):
    net = Guarded()
    for _ in range(2):
        assert net(tensor(1, 2)).asnumpy().tolist() == [2, 4]
        with pytest.raises(OverflowError, match="the sum is large"):
            net(tensor(20, 1))
        assert "large" in capsys.readouterr().out
        with pytest.raises(AssertionError, match="one must not be negative"):
            net(tensor(-1, -2))
    assert net.calls.asnumpy() == 6


class Refused(ValueError):
    def __init__(self, what, code):
        super().__init__(f"refused: {what}")
        self.code = code


def test_exceptions_with_constructors_of_their_own():
    def guarded(x):
        if x.sum() > 10:
            raise Refused("the sum", code=7) from KeyError("sum")
        return x * 2

    step = graphc.jit(guarded)
    for _ in range(2):
        with pytest.raises(Refused) as caught:
            step(tensor(20, 1))
        assert (str(caught.value), caught.value.code) == ("refused: the sum", 7)
        assert isinstance(caught.value.__cause__, KeyError)
        assert step(tensor(1, 2)).asnumpy().tolist() == [2, 4]


def test_python_decides_when_the_cell_is_compiled():
    with pytest.raises(ValueError, match="at most 1 elements, got 2"):
        graphc.compile(Guarded(), tensor(1, 2), limit=1)


def test_both_branches_raise_and_gradients_pass():
    def either(x):
        if x.sum() > 0:
            raise KeyError("above")
        else:
            raise IndexError("below")
        return x

    def checked(x):
        if x.sum() > 5:
            raise ValueError("too large")
        return (x * x).sum()

    jitted = graphc.jit(either)
    for value, error in ((1.0, KeyError), (-1.0, IndexError)):
        with pytest.raises(error):
            jitted(tensor(value))
    assert ops.grad(checked)(tensor(1, 2)).asnumpy().tolist() == [2, 4]
    with pytest.raises(ValueError, match="too large"):
        ops.grad(checked)(tensor(4, 2))


def test_not_inside_a_loop_over_tensors():
    @graphc.jit
    def looped(x):
        while x.sum() < 10:
            x = x * 2
            if x[0] > 3:
                raise ValueError("x")
        return x

    with pytest.raises(graphc.TraceError, match="ValueError is raised inside a `while` over tensors"):
        looped(tensor(1.0))


def test_an_error_of_the_ops_is_no_exception_of_the_program():
    @graphc.jit
    def wrong(x):
        return x @ x if x.sum() > 0 else x

    with pytest.raises(graphc.ShapeError):
        wrong(Tensor(np.ones((2, 3), np.float32)))


class Picked(nn.Cell):
    """What a number that only the run tells takes of a tensor."""

    def construct(self, x, k):
        return x[k.item()] * 2


class Walked(nn.Cell):
    def construct(self, x, k):
        i, total = 0, x[0]
        while i < k:
            total = total * x[i - 2]
            i += 1
        return total


class Written(nn.Cell):
    def construct(self, x, k):
        i = 0
        while i < k:
            x[i] = x[i] + 1
            i += 2
        return x


class Asked(nn.Cell):
    def construct(self, x, k):
        i, total = 0, x[0]
        while i < k:
            if i < 4:
                total = total + x[i]
            i += 1
        return total


@pytest.mark.parametrize("cell", [Picked(), Walked(), Written(), Asked()])
@pytest.mark.parametrize("k", [0, 3, 4, 6, 7, -4, -5])
def test_places_that_an_axis_lacks_are_told_by_the_run(cell, k, mode_again):
    found = []
    for mode in (graphc.PYNATIVE_MODE, graphc.GRAPH_MODE):
        graphc.set_context(mode=mode)
        x = Tensor(np.array([0.5, -1.5, 2.0, 3.0], np.float32))
        try:
            value = cell(x, Tensor(k)).asnumpy()
            found.append((None, value, graphc.grad(lambda x: cell(x, Tensor(k)).sum())(x).asnumpy()))
        except IndexError as error:
            found.append((type(error), (), ()))
    (one, *wanted), (other, *got) = found
    assert one is other
    for a, b in zip(wanted, got, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-6)


def test_places_in_buckets_that_a_table_lacks_are_told_by_the_run():
    class Looked(nn.Cell):
        def __init__(self):
            super().__init__()
            self.table = Parameter(np.arange(6, dtype=np.float32) + 1)

        def construct(self, x):
            i, total = 0, x.sum() * 0
            while i < x.shape[0]:
                total = total + self.table[i]
                i += 1
            return total

    step = graphc.compile(Looked(), Tensor(np.ones((8, 2), np.float32)), buckets=(4, 8))
    for n in (1, 4, 6):
        assert step(Tensor(np.ones((n, 2), np.float32))).asnumpy() == n * (n + 1) / 2
    with pytest.raises(IndexError, match=r"out of range for a(n axis of 6|xis 0)"):
        step(Tensor(np.ones((7, 2), np.float32)))


class Handled(nn.Cell):
    """Handlers that name what they catch, one with a branch in it, one that raises another exception from it."""

    def construct(self, x, place, again):
        try:
            y = x[place]
        except (IndexError, ValueError) as error:
            if again:
                raise KeyError("no such row") from error
            y = x[0] * len(type(error).__mro__[-2].__name__)
            if x.sum() > 0:
                y = y + 1
        return y


def test_handlers_that_name_what_they_catch(mode_again):
    x = Tensor(np.ones((2, 3), np.float32))
    for mode in (graphc.PYNATIVE_MODE, graphc.GRAPH_MODE):
        graphc.set_context(mode=mode)
        assert Handled()(x, 1, True).asnumpy().tolist() == [1, 1, 1]
        assert Handled()(x, 5, False).asnumpy().tolist() == [14, 14, 14]  # Of BaseException.
        with pytest.raises(KeyError, match="no such row") as caught:
            Handled()(x, 5, True)
        assert isinstance(caught.value.__cause__, IndexError)


def returned_or_failed(x):
    try:
        if x.sum() > 0:
            return x
        x = x + [1.0, 2.0][2]
    except IndexError:
        x = x + 5
    return x


def turned_and_failed(x):
    try:
        while x.sum() > 0:
            x = x - {"a": 1.0}["b"]
    except KeyError:
        x = x + 5
    return x


def raised_and_handled(x):
    try:
        if x.sum() > 0:
            raise OverflowError("large")
    except (KeyError, ArithmeticError):
        x = x + 5
    return x


def an_item_or_none(x):
    n = 1 if x.sum() > 0 else 0
    try:
        x = [x][n]
    except IndexError:
        x = x + 5
    return x


def only_traced(x):
    try:
        return x * float(x.asnumpy().sum())
    except:  # noqa: E722
        return x + 5


@pytest.mark.parametrize(
    ("function", "error", "words"),
    [
        (returned_or_failed, RuntimeError, "a handler of IndexError, of which only the run tells"),
        (turned_and_failed, RuntimeError, "a handler of KeyError, of which only the run tells"),
        (raised_and_handled, RuntimeError, "a handler of OverflowError, of which only the run tells"),
        (an_item_or_none, RuntimeError, "a handler of IndexError, of which only the run tells"),
        (only_traced, TypeError, "its value is not known while the Cell is compiled"),
    ],
)
def test_handlers_of_what_only_the_run_or_the_trace_raises(function, error, words):
    """In place of one way's handler for both."""
    with pytest.raises(error, match=words) as caught:
        graphc.jit(function)(tensor(1, 2))
    assert isinstance(caught.value, graphc.TraceError)
    assert caught.value.loc.file.endswith("test_raise.py")


def test_handlers_of_others_leave_what_a_tensor_raises_to_the_run():
    def guarded(x):
        try:
            assert x.sum() > 0, "small"
        except KeyError:
            x = x + 5
        return x

    assert graphc.jit(guarded)(tensor(1, 2)).asnumpy().tolist() == [1, 2]
    with pytest.raises(AssertionError, match="small"):
        graphc.jit(guarded)(tensor(-1, 0))


def test_in_gradients_of_what_jit_marks_the_exception_is_the_programs_own(mode_again):
    @graphc.jit
    def checked(x):
        if x.sum() > 0:
            raise KeyError("positive")
        return x

    graphc.set_context(mode=graphc.PYNATIVE_MODE)
    with pytest.raises(KeyError, match="positive") as caught:
        graphc.grad(lambda x: checked(x).sum())(tensor(1, 2))
    assert type(caught.value) is KeyError


@pytest.mark.parametrize("mode", [graphc.GRAPH_MODE, graphc.PYNATIVE_MODE])
def test_the_primitive_assert(mode, mode_again, capsys):
    class Checked(nn.Cell):
        def construct(self, x, n):
            while n > 0:
                ops.Assert(2)(x.sum() > 0, [x, x * 2])
                x, n = x - 1, n - 1
            return x

    graphc.set_context(mode=mode)
    assert Checked()(tensor(1, 2, 4), Tensor(1)).asnumpy().tolist() == [0, 1, 3]
    for _ in range(2):
        with pytest.raises(RuntimeError, match="assert failed"):
            Checked()(tensor(1, -2, 4), Tensor(2))
        if mode == graphc.GRAPH_MODE:
            said = capsys.readouterr().out
            assert said.startswith("For 'Assert' condition is false.\ninput data:\nTensor(shape=[2]")
            assert "[ 0.00000000e+00 -3.00000000e+00]" in said
            assert "[ 0.00000000e+00 -6.00000000e+00]" in said
