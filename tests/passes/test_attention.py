"""Attention that a pass finds: the same numbers as the products and the softmax that it stands for, in less memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, ops, passes
from graphc.debug import debug
from graphc.lower import lower
from graphc.passes import attention
from graphc.testing import close_to_reference, graph_of

PLAIN = tuple(p for p in passes.PIPELINE if p is not passes.fuse_attention)
LENGTH, OTHERS, WIDTH, HEADS = 40, 50, 32, 4
RNG = np.random.default_rng(0)
X, Z, SENS = (
    RNG.standard_normal(s).astype(np.float32) for s in ((2, LENGTH, WIDTH), (2, OTHERS, WIDTH), (2, LENGTH, WIDTH))
)
PADDED = np.arange(LENGTH) >= np.array([[33], [12]])
AHEAD = np.triu(np.ones((LENGTH, LENGTH), bool), 1)


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Short contexts, too."""
    monkeypatch.setattr(attention, "_KEYS", 2)
    monkeypatch.setattr(attention, "_KEYS_IF_LESS", 2)


class Own(nn.Cell):
    """As it is written by hand, with a mask made of constants."""

    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.drop = nn.Dense(WIDTH, 3 * WIDTH), nn.Dropout(p=0.25)

    def construct(self, x: Any) -> Any:
        parts = ops.split(self.qkv(x), WIDTH, 2)
        q, k, v = (p.view(2, LENGTH, HEADS, -1).transpose(0, 2, 1, 3) for p in parts)
        scores = ops.masked_fill(ops.matmul(q, k.transpose(0, 1, 3, 2)) / 2.5, Tensor(AHEAD), -1e9)
        return ops.matmul(self.drop(ops.softmax(scores, -1)), v).transpose(0, 2, 1, 3).reshape(x.shape)


class Layer(nn.Cell):
    def __init__(self, dropout: float, padded: bool, ahead: bool) -> None:
        super().__init__()
        self.layer = nn.MultiheadAttention(WIDTH, HEADS, dropout=dropout, batch_first=True)
        self.padding = Tensor(PADDED) if padded else None
        self.ahead = Tensor(AHEAD) if ahead else None

    def construct(self, x: Any) -> Any:
        return self.layer(x, x, x, self.padding, attn_mask=self.ahead)[0]


class Cross(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
        self.other = Tensor(Z)

    def construct(self, x: Any) -> Any:
        return self.layer(x, self.other, self.other)[0]


class Flash(nn.Cell):
    def construct(self, x: Any) -> Any:
        return ops.flash_attention_score(x, x, x, HEADS, attn_mask=Tensor(AHEAD), scalar_value=0.3)


class Gradients(nn.Cell):
    def __init__(self, net: nn.Cell) -> None:
        super().__init__()
        self.net = net
        weights = list(net.trainable_params())
        self.grad = ops.GradOperation(get_all=True, get_by_list=bool(weights), sens_param=True)(
            net, *([weights] if weights else [])
        )

    def construct(self, x: Any, sens: Any) -> Any:
        return self.net(x), self.grad(x, sens)


def leaves(value: Any) -> list[Any]:
    return [x for part in value for x in leaves(part)] if isinstance(value, tuple) else [value.asnumpy()]


def trained(make: Any, chosen: Any) -> tuple[list[Any], Any]:
    """The result and gradients of one step, and the step."""
    graphc.set_seed(1)
    cell = Gradients(make())
    cell.set_train()
    for i, p in enumerate(cell.trainable_params()):
        p.set_data(Tensor(np.random.default_rng(i).normal(0, 0.3, p.shape).astype(np.float32)))
    step = graphc.compile(cell, Tensor(X), Tensor(SENS), passes=chosen)
    return leaves(step(Tensor(X), Tensor(SENS))), step


def found(step: Any) -> list[Any]:
    return [n for n in step.graph if n.op.name.startswith("Attention")]


CASES = {
    "own": Own,
    "plain": lambda: Layer(0.0, False, False),
    "padded": lambda: Layer(0.1, True, False),
    "causal": lambda: Layer(0.0, False, True),
    "both": lambda: Layer(0.2, True, True),
    "cross": Cross,
    "flash": Flash,
}


@pytest.mark.parametrize("name", CASES)
def test_results_and_gradients_are_those_of_the_parts(name):
    made, step = trained(CASES[name], passes.PIPELINE)
    wanted, plain = trained(CASES[name], PLAIN)
    ops_found = found(step)
    assert [n.op.name for n in ops_found] == ["Attention", "AttentionGrad"]
    assert not found(plain)
    # A mask that hides what is ahead is none that is read.
    assert ops_found[0].attrs["ahead"] == (0 if name in ("own", "causal", "both", "flash") else -1)
    compare(made, wanted)


def compare(made: Any, wanted: Any) -> None:
    """At the scale of each."""
    for got, want in zip(made, wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=3e-6 * max(1.0, np.abs(want).max()))


def test_operands_and_results_lie_where_the_projections_put_them():
    _, step = trained(Own, passes.PIPELINE)
    assert not [line for line in step.source.splitlines() if "Transpose" in line or "Split" in line or "Slice" in line]


@pytest.mark.parametrize("name", ["own", "both"])
def test_checked_mode_gives_the_same(name):
    native, _ = trained(CASES[name], passes.PIPELINE)
    with debug(jit=False):
        checked, _ = trained(CASES[name], passes.PIPELINE)
    compare(checked, native)


def test_no_scores_are_stored():
    """At 1024 keys the arena is a fraction of what one matrix of scores of each head takes."""

    class Net(nn.Cell):
        def construct(self, q: Any, k: Any, v: Any) -> Any:
            return ops.matmul(ops.softmax(ops.matmul(q, ops.swapaxes(k, -1, -2)) * 0.125, -1), v)

    x = Tensor(np.zeros((1, 4, 1024, 64), np.float32))

    def arena(chosen: Any) -> int:
        return graphc.compile(Net(), x, x, x, passes=chosen).memory["arena"]

    assert arena(passes.PIPELINE) * 8 < 4 * 4 * 1024 * 1024 <= arena(PLAIN)


def test_second_derivatives():
    """The gradient of a weighted sum of the gradient, by both ways."""

    class Net(nn.Cell):
        def construct(self, q: Any, k: Any, v: Any) -> Any:
            scores = ops.matmul(q, ops.swapaxes(k, -1, -2)) * 0.3
            return ops.reduce_sum(ops.square(ops.matmul(ops.softmax(scores, -1), v)))

    class Twice(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.first = ops.GradOperation(get_all=True)(Net())

        def construct(self, q: Any, k: Any, v: Any) -> Any:
            first = self.first(q, k, v)
            return sum(ops.reduce_sum(ops.sin(x)) for x in first)

    arrays = [Tensor(RNG.standard_normal((2, 32, 4)).astype(np.float32)) for _ in range(3)]
    twice = ops.GradOperation(get_all=True)(Twice())

    class Outer(nn.Cell):
        def construct(self, q: Any, k: Any, v: Any) -> Any:
            return twice(q, k, v)

    results = [leaves(graphc.compile(Outer(), *arrays, passes=p)(*arrays)) for p in (passes.PIPELINE, PLAIN)]
    for got, want in zip(*results, strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-3, atol=2e-4)


def test_the_gradient_of_the_greatest_score_goes_to_that_score():
    """Though scores that the gradient computes again may be off by a rounding."""
    graph = graph_of("""\
graph @greatest {
  forward:
    %0 q: f32[1,16,16] = Input()
    %1 k: f32[1,17,16] = Input()
    %2 v: f32[1,17,4] = Input()
    %3 mask: f32[1,17] = Input()
    %4 sens: f32[1,16] = Input()
    %5: (f32[1,16,4], f32[1,16], f32[1,16]) = Attention(%0, %1, %2, %3) {scale=0.3, ahead=1}
    %6: f32[1,16,16] = Grad(%5#1, %4, %0, %1, %2, %3, %4) {ys=1, wrt=(0,), names=("",)}
  return dq=%6
}""")
    expanded = passes.autodiff(graph)
    close_to_reference(expanded, lower(expanded, canary=True))
