"""Loops over functions: ops.WhileLoop, ops.ForiLoop and ops.Scan against the loops that they stand for."""

from __future__ import annotations

import numpy as np
import pytest

import graphc
from graphc import PYNATIVE_MODE, Parameter, Tensor, nn, ops, set_context
from graphc.errors import ArgumentTypeError, ArgumentValueError


def summed(carry, x):
    carry = carry + x
    return carry, carry


def one_more(x):
    return x + 1


def turned(i, x):
    return ops.tanh(x * 1.1 + i * 0.01)


class Doubled(nn.Cell):
    """A loop whose end a tensor decides, with a choice inside and a number that it counts."""

    def construct(self, x, turns):
        def turn(state):
            i, y = state
            return i + 1, y * 0.5 if y.sum() > 100 else y * 2

        return ops.WhileLoop()(lambda state: state[0] < turns, turn, (0, x))[1]


class Named(nn.Cell):
    def construct(self, x, turns):
        def turn(state):
            return {"i": state["i"] + 1, "x": state["x"] * state["i"] + turns}

        return ops.WhileLoop()(lambda state: state["i"] < 3, turn, {"i": 0, "x": x})["x"]


class Counted(nn.Cell):
    """A loop over tensors as bounds."""

    def construct(self, x, turns):
        return ops.ForiLoop()(turns - 3, turns, turned, x)


class Weighted(nn.Cell):
    def __init__(self, unroll):
        super().__init__()
        self.unroll = unroll
        self.w = Parameter(np.full(3, 0.5, np.float32))

    def construct(self, x, turns):
        return ops.ForiLoop()(0, 40, lambda i, y: ops.tanh(y * self.w + i * 0.01), x, self.unroll) * turns


class Scanned(nn.Cell):
    """Over a list, and over nothing."""

    def __init__(self, unroll):
        super().__init__()
        self.unroll = unroll

    def construct(self, x, turns):
        items = [(x * k, {"a": x + k}) for k in range(12)]
        last, made = ops.Scan()(
            lambda carry, item: (carry * 0.9 + item[0], [carry + item[1]["a"]]), x, items, unroll=self.unroll
        )
        end, more = ops.Scan()(lambda carry, item: (carry * 0.9, carry + turns), last, None, 5, self.unroll)
        assert len(made) == 12
        assert len(more) == 5
        return sum((part[0] for part in made), last) + end + ops.stack(more).sum(0)


@pytest.mark.parametrize(
    "cell", [Doubled(), Named(), Counted(), Weighted(True), Weighted(False), Scanned(True), Scanned(False)]
)
def test_a_loop_and_its_gradient_are_those_of_python(cell, mode_again):
    x, turns = Tensor(np.array([1.5, -0.5, 3.0], np.float32)), Tensor(6)
    weights = [p for p in cell.get_parameters()]
    found = []
    for mode in (PYNATIVE_MODE, graphc.GRAPH_MODE):
        set_context(mode=mode)
        value = cell(x, turns)
        gradients = graphc.grad(lambda x: cell(x, turns).sum(), 0, weights or None)(x)
        dx, dw = gradients if weights else (gradients, ())
        found.append([value.asnumpy(), dx.asnumpy(), *(d.asnumpy() for d in dw)])
    for one, other in zip(*found, strict=True):
        np.testing.assert_allclose(other, one, rtol=2e-5, atol=1e-5)


def test_a_loop_of_one_turn_is_traced_once():
    x, turns = Tensor(np.ones(3, np.float32)), Tensor(6)
    few = [graphc.compile(cell, x, turns).graph.count() for cell in (Weighted(False), Doubled())]
    assert max(few) < 30


def test_numbers_stay_numbers_outside_of_the_run():
    assert ops.WhileLoop()(lambda x: x < 100, one_more, 10) == 100
    assert ops.ForiLoop()(0, 4, lambda i, x: i + x, 0) == 6
    assert ops.ForiLoop()(Tensor(1), Tensor(4), lambda i, x: i + x, 0) == 6
    assert ops.ForiLoop()(3, 1, lambda i, x: i + x, 7) == 7
    assert ops.Scan()(summed, 0, [1, 2, 3, 4]) == (10, [1, 3, 6, 10])
    assert ops.Scan()(summed, 0, ()) == (0, [])
    assert ops.Scan()(lambda carry, _: (carry + 1, carry), 0, None, 3) == (3, [0, 1, 2])


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: ops.WhileLoop()(3, one_more, 1), ArgumentTypeError, "cond_func must be a function"),
        (lambda: ops.WhileLoop()(lambda: True, one_more, 1), ArgumentValueError, "cond_func does not take"),
        (lambda: ops.ForiLoop()(0.5, 3, turned, 1), ArgumentTypeError, "lower must be an int or a Tensor"),
        (lambda: ops.ForiLoop()(0, Tensor([1, 2]), turned, 1), ArgumentTypeError, "upper must be an int"),
        (lambda: ops.ForiLoop()(0, 3, one_more, 1), ArgumentValueError, "loop_func does not take two"),
        (lambda: ops.ForiLoop()(0, 3, turned, 1, 3), ArgumentTypeError, "unroll must be a bool"),
        (lambda: ops.Scan()(summed, 0, 3), ArgumentTypeError, "xs must be a list"),
        (lambda: ops.Scan()(summed, 0, None), ArgumentTypeError, "length must be an int"),
        (lambda: ops.Scan()(summed, 0, [1], 2), ArgumentValueError, "length is 2, of xs of 1"),
        (lambda: ops.Scan()(lambda a, b: a, 0, [1]), ArgumentValueError, "must return two values"),
    ],
)
def test_what_is_no_loop_is_refused(call, error, said):
    with pytest.raises(error, match=said):
        call()
