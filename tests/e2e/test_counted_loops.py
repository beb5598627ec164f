"""`zip`, `reversed`, `sum`, `map` and comprehensions over what a step counts are loops of the step; what loops carry."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Tensor, ops
from graphc.errors import GraphcError, PaddingError, ShapeError, TraceError, TraceTypeError
from tests.e2e.changing import close
from tests.e2e.chosen import Function, Net, does_or_raises, floats, refused


def side_by_side(x: Any, m: Any) -> Any:
    t = x.sum() * 0
    for i, (a, b) in enumerate(zip(x[m], x[~m], strict=False)):
        t = t + (a * b).sum() * (i + 1)
    for a, i, b in zip(x[m], range(2, 20, 3), x, strict=False):
        t = t * 0.5 + (a * b).sum() * i
    return t


def backwards(x: Any, m: Any) -> Any:
    t, s = x[0] * 0, x[m]
    for i in reversed(range(1, len(s), 2)):
        t = t * 0.5 + s[i]
    for i, row in enumerate(reversed(s)):
        t = t * 0.5 + row * i
    for i in reversed(range(m.sum())):
        t = t * 0.3 + x[i]
    return t


def sums(x: Any, m: Any) -> Any:
    s = x[m]
    pairs = sum((a * b).sum() for a, b in zip(s[1:], s, strict=False)) if len(s) > 1 else x.sum()
    return sum((row for row in s), x[0]), sum(s, x[1]), pairs, x[0] + sum(map(lambda r: r * 2, s))


def numbers(x: Any, m: Any) -> Any:
    s = x[m]
    return sum(1 for r in s if r.sum() > 0), any(r.sum() > 1 for r in s), all(r.sum() > -3 for r in s)


def extremes(x: Any, m: Any) -> Any:
    s = x[m]
    return (max(r.sum() for r in s) + min([r.max() for r in s])) if len(s) else x.sum() * 0


def lists(x: Any, m: Any) -> Any:
    s = x[m]
    if len(s) == 0:
        return x.sum()
    rows, t = [r * 2 for r in s], x.sum() * 0
    for r in rows:
        t = t * 0.5 + r.max()
    return t + rows[0].sum() + rows[-1].sum() * len(rows)


def stacks(x: Any, m: Any) -> Any:
    s = x[m]
    return (
        ops.stack([r.sum() for r in s]),
        ops.cat([r[:2] for r in s]),
        ops.cat([r[:2].reshape(1, 2) for r in s], 1),
        ops.stack([s[i] * i for i in range(len(s))], 1),
        ops.stack([a + b for a, b in zip(s, s * 2, strict=True)]),
        ops.stack([sum((a * b).sum() for b in s) for a in s]),
    )


def some_of_them(x: Any, m: Any) -> Any:
    rows = [r * 2 for r in x[m] if r.sum() > 0 and r[0] < 1]
    return sum(rows, x[0]), len(rows)


def overlapping(x: Any, m: Any) -> Any:
    """What a loop carries has padding at first that is as the rest is, and then another one."""
    s = x[m]
    keep = ops.ones(len(s), graphc.bool_)
    for i in range(len(s)):
        if keep[i]:
            far = ((s - s[i]) ** 2).sum(1) > 6.0
            keep = keep & (far | (ops.arange(len(s)) <= i))
    return s[keep], keep


def listed(x: Any, m: Any) -> Any:
    rows, pairs = list(x[m]), [(r, i) for i, r in enumerate(x[m])]
    return sum(reversed(rows), ops.zeros((4,))), sum([r * i for r, i in pairs], ops.zeros((4,))), len(rows)


def beside_a_list(x: Any, m: Any) -> Any:
    return sum((a.sum() * b for a, b in zip(x[m], [1.0, 2.0], strict=False)), ops.zeros(()))


@pytest.mark.parametrize(
    "body",
    [side_by_side, backwards, sums, numbers, extremes, lists, stacks, some_of_them, overlapping, listed, beside_a_list],
)
def test_a_step_goes_over_what_eager_calls_do(body: Function) -> None:
    does_or_raises(body, (GraphcError,), slice(8, 28))


def test_gradients_of_sums() -> None:
    def body(x: Any, m: Any) -> Any:
        return graphc.grad(lambda x: sum(ops.tanh(r).sum() ** 2 for r in x[m] if r[0] > -0.5))(x)

    step = graphc.compile(Net(body), floats(6, 4), np.ones(6, bool))
    for count in range(7):
        mask, x = np.arange(6) < count, floats(6, 4)
        taken = (mask & (x[:, 0] > -0.5))[:, None]
        t = np.tanh(x)
        wanted = np.where(taken, 2 * t.sum(1, keepdims=True) * (1 - t * t), 0)
        np.testing.assert_allclose(step(x, mask).asnumpy(), wanted, rtol=1e-4, atol=1e-5)


def unpacked(x: Any, m: Any) -> Any:
    a, b = x[m]
    return a + b


def both(x: Any, m: Any) -> Any:
    return sum(a.sum() * b.sum() for a in x[m] for b in x[~m])


def of_texts(x: Any, m: Any) -> Any:
    return ops.stack([(r, 1) for r in x[m]])


def left_over(x: Any, m: Any) -> Any:
    s, k = x[m], 0
    while len(s) > 0:
        s, k = s[((s - s[0]) ** 2).sum(1) > 1.0], k + 1
    return k


@pytest.mark.parametrize(
    ("body", "kind", "why"),
    [
        (unpacked, TraceTypeError, "how many rows there are"),
        (both, PaddingError, "counted inside of it"),
        (of_texts, TraceTypeError, "each item of this one has 2 tensors"),
        (left_over, ShapeError, "the loop carries"),
    ],
)
def test_what_cannot_be_gone_over(body: Function, kind: Any, why: str) -> None:
    refused(lambda: graphc.compile(Net(body), floats(6, 4), np.ones(6, bool)), "test_counted_loops.py", kind, why)


@pytest.mark.parametrize("body", [overlapping, numbers, extremes, listed])
def test_in_buckets(body: Function) -> None:
    step = graphc.compile(Net(body), floats(4, 4), np.ones(4, bool), buckets=(4, 8))
    for n in (4, 2, 7, 5):
        for count in range(0, n + 1, 2):
            mask = np.arange(n) < count
            close(step(floats(n, 4), mask), body(Tensor(floats(n, 4)), Tensor(mask)))


def of_a_list(x: Any, m: Any) -> Any:
    return x * [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0][len(x[m])]


def of_a_number(x: Any, m: Any) -> Any:
    return ops.zeros((int(len(x[m]) * 0.5), 2))


@pytest.mark.parametrize(
    ("body", "kind", "why"),
    [
        (of_a_list, TraceError, "IndexError: list index out of range, where sizes stand for"),
        (of_a_number, TypeError, "whose value only the run tells"),
    ],
)
def test_what_sizes_cannot_tell(body: Function, kind: Any, why: str) -> None:
    refused(lambda: graphc.compile(Net(body), floats(6, 4), np.ones(6, bool)), "test_counted_loops.py", kind, why)
