"""Updates of parameters of one type are copied from the first one's: the graph is the one that tracing each of them gives."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from graphc import Parameter, Tensor, dispatch, nn, ops
from graphc.ops.tensor.tree import flatten
from graphc.trace import repeats, trace

SHAPES = ((4, 3), (3,), (4, 3), (3,), (4, 3), (3,))


def parameters(dtypes: tuple[str, ...] = ("float32",) * 6) -> list[Parameter]:
    made = zip(SHAPES, dtypes, strict=True)
    return [Parameter(Tensor(np.ones(s, np.float32)).astype(d), name=f"p{i}") for i, (s, d) in enumerate(made)]


class Steps(nn.Cell):
    """Updates by gradients that `gradients` makes of the parameters and an input; in a branch if `choice`."""

    def __init__(self, optimizer: nn.Optimizer, gradients: Callable[..., Any], choice: bool = False) -> None:
        super().__init__()
        self.optimizer, self.gradients, self.choice = optimizer, gradients, choice

    def construct(self, x):
        found = self.gradients(self.optimizer.parameters, x)
        if self.choice:
            return ops.cond(x.sum() > 0, lambda: self.optimizer(found), lambda: tuple(Tensor(True) for _ in found))
        return self.optimizer(found)


def scaled(params: Any, x: Tensor) -> tuple[Any, ...]:
    return tuple(ops.ones_like(p) * x for p in params)


def clipped(params: Any, x: Tensor) -> tuple[Any, ...]:
    return ops.clip_by_global_norm(scaled(params, x), 1.0)


def one_for_all(params: Any, x: Tensor) -> tuple[Any, ...]:
    """Some gradients are one tensor, some are the parameters themselves, some numbers."""
    big, small = ops.ones((4, 3)) * x, ops.ones((3,)) * x
    return big, small, big, small, params[0] * 1.0, ops.ones((3,))


def themselves(params: Any, x: Tensor) -> tuple[Any, ...]:
    return tuple(params)


def grouped(p: list[Parameter]) -> list[dict[str, Any]]:
    return [{"params": p[:3], "weight_decay": 0.1}, {"params": p[3:5], "lr": 0.5}, {"params": p[5:], "lr": 0.25}]


class Counts(nn.AdamW):
    """A class of the user's whose updates differ."""

    def __init__(self, params: Any) -> None:
        super().__init__(params)
        self.numbers = itertools.count()

    def moved(self, weight, m, v, shared):
        return weight - m * float(next(self.numbers))


CASES: dict[str, tuple[Callable[[], nn.Cell], bool]] = {
    "plain": (lambda: Steps(nn.AdamW(parameters()), scaled), True),
    "clipped": (lambda: Steps(nn.AdamW(parameters()), clipped), True),
    "in a branch": (lambda: Steps(nn.AdamW(parameters()), clipped, choice=True), True),
    "decay": (lambda: Steps(nn.AdamWeightDecay(parameters(), weight_decay=0.1), scaled), True),
    "norms": (lambda: Steps(nn.Lamb(parameters(), 0.1), scaled), True),
    "groups": (lambda: Steps(nn.AdamW(grouped(parameters())), scaled), True),
    "rates": (lambda: Steps(nn.AdamWeightDecay(parameters(), [0.1, 0.2, 0.3]), scaled), True),
    "dtypes": (lambda: Steps(nn.AdamW(parameters(("float16", "float32") * 3)), scaled), True),
    "one gradient": (lambda: Steps(nn.AdamW(parameters()), one_for_all), True),
    "parameters as gradients": (lambda: Steps(nn.AdamW(parameters()), themselves), True),
    "a user's class": (lambda: Steps(Counts(parameters()), scaled), False),
}


def graphs(make: Callable[[], nn.Cell]) -> tuple[Any, str]:
    traced = trace(make(), *flatten(((Tensor(np.float32(2.0)),), {})))
    kept = [(n.id, n.loc, n.scope, n.region, n.ruled) for n in traced.graph.nodes()]
    return kept, str(traced.graph)


@pytest.mark.parametrize("name", CASES)
def test_what_is_copied_is_what_tracing_gives(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    make, copies = CASES[name]
    made: list[str] = []
    copied = repeats._copied
    monkeypatch.setattr(repeats, "_copied", lambda *args: (made.append("copy"), copied(*args))[1])
    quick = graphs(make)
    # What did something besides is not copied.
    monkeypatch.setattr(repeats, "_effects", lambda recorder: object())
    assert quick == graphs(make)
    assert bool(made) == copies


def test_a_rate_that_is_optimized_is_not_taken_for_a_weight() -> None:
    rate = Parameter(Tensor(np.float32(0.5)), name="rate")

    class Moved(nn.Cell):
        def construct(self, x):
            runs: dict[Any, Any] = {}
            weights = [rate, Parameter(Tensor(np.float32(3.0)), name="other")]
            return tuple(dispatch.repeated(runs, "", lambda w=w: w * rate, (w, rate)) for w in weights)

    first, second = Moved()(Tensor(np.float32(1.0)))
    assert (float(first), float(second)) == (0.25, 1.5)
