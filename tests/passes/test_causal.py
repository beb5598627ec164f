"""What a causal softmax cannot see is not computed, and only where that changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, ops
from graphc.ir import Graph
from graphc.lower import Lowered, lower
from graphc.ops.declared import reference
from graphc.testing import calls, close_to_reference
from graphc_codegen import compile_program
from graphc_codegen.program import NamedKernel

SIZE = 40
ABOVE = np.triu(np.ones((SIZE, SIZE), bool), 1)


def _added(low: float, seen: float = 0.0, hidden: Any = ABOVE) -> Callable[[Any], Any]:
    mask = Tensor(np.where(hidden, np.float32(low), np.float32(seen)))
    return lambda scores: scores + mask


def _filled(low: float) -> Callable[[Any], Any]:
    hidden = Tensor(ABOVE)
    return lambda scores: ops.masked_fill(scores, hidden, low)


def _selected(low: float) -> Callable[[Any], Any]:
    seen, other = Tensor(~ABOVE), Tensor(np.float32(low))
    return lambda scores: ops.select(seen, scores, ops.broadcast_to(other, scores.shape))


def _biased(scores: Any) -> Any:
    """A mask that also says how far things are apart."""
    apart = np.abs(np.subtract.outer(np.arange(SIZE), np.arange(SIZE))).astype(np.float32)
    return scores + Tensor(np.where(ABOVE, np.float32(-np.inf), -apart))


class Attention(nn.Cell):
    def __init__(self, mask: Callable[[Any], Any], after: Callable[[Any], Any] | None = None) -> None:
        super().__init__()
        self.mask, self.after = mask, after

    def construct(self, q: Any, k: Any, v: Any) -> Any:
        shares = ops.softmax(self.mask(ops.matmul(q, k.transpose(0, 1, 3, 2)) * 0.3), -1)
        return ops.matmul(self.after(shares) if self.after else shares, v)


class Gradients(nn.Cell):
    """The result, and the gradients of a weighted sum of it."""

    def __init__(self, net: nn.Cell) -> None:
        super().__init__()
        self.net = net

    def construct(self, q: Any, k: Any, v: Any, weight: Any) -> Any:
        def total(q: Any, k: Any, v: Any) -> Any:
            return (self.net(q, k, v) * weight).sum()

        return self.net(q, k, v), ops.grad(total, (0, 1, 2))(q, k, v)


def _arrays(size: int = SIZE) -> list[Any]:
    rng = np.random.default_rng(0)
    return [Tensor(rng.standard_normal((2, 3, size, 5)).astype(np.float32)) for _ in range(4)]


def _graph(net: nn.Cell, size: int = SIZE) -> Graph:
    return graphc.compile(Gradients(net), *_arrays(size)).graph


def _told(lowered: Lowered) -> tuple[int, int, int]:
    """How many softmaxes and gradients are causal; products that make, and that read, a triangle."""
    params = [dict(c.kernel.params) for c in calls(lowered) if isinstance(c.kernel, NamedKernel)]
    kinds = [p.get("triangle") for p in params]
    return sum("causal" in p for p in params), kinds.count("c"), kinds.count("a")


MASKS = {
    "added": _added(-1e9),
    "added, minus infinity": _added(-np.inf),
    "added, the least number": _added(float(np.finfo(np.float32).min)),
    "with what is seen changed": _biased,
    "filled": _filled(-1e9),
    "filled, minus infinity": _filled(-np.inf),
    "selected": _selected(-np.inf),
}


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS.keys())
def test_what_is_hidden_is_skipped(mask: Callable[[Any], Any]) -> None:
    graph = _graph(Attention(mask))
    for threads in (1, 3):
        lowered = lower(graph, canary=True, threads=threads)
        assert _told(lowered) == (2, 2, 4)
        close_to_reference(graph, lowered)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_what_is_hidden_is_skipped_in_halves(dtype: str) -> None:
    """-1e9 is infinite in float16, and a little less in bfloat16."""

    def masked(scores: Any) -> Any:
        return scores + ops.cast(Tensor(np.where(ABOVE, np.float32(-1e9), np.float32(0.0))), dtype)

    graph = graphc.compile(Gradients(Attention(masked)), *(ops.cast(x, dtype) for x in _arrays())).graph
    assert _told(lower(graph)) == (2, 2, 4)


OTHERS: dict[str, tuple[Callable[[Any], Any], tuple[int, int, int]]] = {
    "not low enough": (_added(-1e4), (0, 0, 0)),
    "low somewhere else too": (_added(-1e9, hidden=ABOVE | (np.arange(SIZE) == 3)), (0, 0, 0)),
    "one is seen": (_added(-1e9, hidden=ABOVE & (np.arange(SIZE) != 9)), (0, 0, 0)),
    "the other half": (_added(-1e9, hidden=ABOVE.T), (0, 0, 0)),
    "none": (lambda scores: scores + 1.0, (0, 0, 0)),
}


@pytest.mark.parametrize(("mask", "told"), OTHERS.values(), ids=OTHERS.keys())
def test_what_is_not_causal(mask: Callable[[Any], Any], told: tuple[int, int, int]) -> None:
    graph = _graph(Attention(mask))
    lowered = lower(graph)
    assert _told(lowered) == told
    close_to_reference(graph, lowered)


def test_what_is_seen_must_not_be_large() -> None:
    assert _told(lower(_graph(Attention(_added(-1e9, seen=1e8))))) == (0, 0, 0)


def test_few_rows_are_computed_as_they_are() -> None:
    graph = _graph(Attention(lambda scores: scores + Tensor(np.triu(np.full((9, 9), -1e9, np.float32), 1))), 9)
    assert _told(lower(graph)) == (0, 0, 0)


def test_scores_that_are_read_elsewhere_are_whole() -> None:
    class Both(nn.Cell):
        def construct(self, q: Any, k: Any, v: Any) -> Any:
            scores = _added(-1e9)(ops.matmul(q, k.transpose(0, 1, 3, 2)))
            return ops.matmul(ops.softmax(scores, -1), v), scores

    graph = graphc.compile(Both(), *_arrays()[:3]).graph
    lowered = lower(graph)
    assert _told(lowered) == (0, 0, 0)
    close_to_reference(graph, lowered)


def test_shares_that_are_changed_have_no_zeros_to_skip() -> None:
    """What is added to them is multiplied."""
    graph = _graph(Attention(_added(-1e9), lambda shares: shares + 0.01))
    lowered = lower(graph)
    assert _told(lowered) == (2, 2, 2)
    close_to_reference(graph, lowered)


def test_shares_are_whole_for_others() -> None:
    class Shares(nn.Cell):
        def construct(self, q: Any, k: Any, v: Any) -> Any:
            shares = ops.softmax(_added(-np.inf)(ops.matmul(q, k.transpose(0, 1, 3, 2))), -1)
            return ops.matmul(shares, v), shares, shares.sum((0, 2))

    graph = graphc.compile(Shares(), *_arrays()[:3]).graph
    lowered = lower(graph)
    assert _told(lowered) == (1, 1, 1)
    close_to_reference(graph, lowered)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("operand", range(3))
def test_what_is_not_finite_reaches_the_rows_that_see_it(operand: int, bad: float) -> None:
    graph = graphc.compile(Attention(_added(-np.inf)), *_arrays()[:3]).graph
    lowered = lower(graph)
    feed = {i: x.asnumpy().copy() for i, x in zip(graph.inputs, _arrays(), strict=False)}
    feed[graph.inputs[operand]][1, 2, 30, 4] = bad
    step = compile_program(lowered.program, cache_dir=None).bind([], list(lowered.constants))
    step.run([feed[i] for i in lowered.inputs])
    got = np.isfinite(step.read(lowered.results[0][0]).reshape(2, 3, SIZE, 5)).all(-1)
    (exact,) = reference.run(graph, feed).results
    want = np.isfinite(exact).all(-1)
    assert not want[1, 2, 30:].all()
    np.testing.assert_array_equal(got[:, :, 30:], want[:, :, 30:])
    # The interpreter multiplies shares of zero by what is not finite, too; a tile may do so.
    assert (got | ~want).all()
