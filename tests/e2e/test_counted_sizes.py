"""What Python does with sizes that a step counts - decides, computes, loops, returns - is done when the step runs."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, ops
from graphc.errors import PaddingError, ShapeError, TraceError, TraceTypeError
from graphc.trace.dynamic.size_numbers import Count, Decision, Size, Sum, extreme
from tests.e2e.changing import close
from tests.e2e.chosen import Function, Net, does_or_raises, floats, masks, refused


def any_of_them(x: Any, m: Any) -> Any:
    s = x[m]
    if len(s) > 0:
        return s.mean()
    return x.sum() * 0


def one_number_of_them(x: Any, m: Any) -> Any:
    s = x[m]
    return s.sum() if s.shape[0] == 5 else -s.sum()


def numbers_of_it(x: Any, m: Any) -> Any:
    n = len(x[m])
    return (
        n,
        n * 2 + 1,
        3 - n,
        n // 2,
        n % 3,
        divmod(n + 1, 2),
        n > 2,
        -n,
        max(n, 2),
        min(n, 1, 7),
        [n],
        {"n": n},
        abs(2 - n),
        n * (n - 1),
    )


def weights_of_it(x: Any, m: Any) -> Any:
    s, n = x[m], len(x[m])
    return (
        s.sum() / (n + 1),
        s.sum() * n,
        s.sum() / max(n, 3),
        min(n, 2) * s.sum(),
        (n or 2) * s.sum(),
        n / (s.sum() + 9),
    )


def sizes_and_shapes(x: Any, m: Any) -> Any:
    s = x[m]
    if s.size == 0 or ops.numel(s) > 16:
        return x.sum(), s.shape
    if s.shape == x.shape or s.shape != (2, 4):
        return x.min(), s.T.shape
    return s.max(), ops.shape(s)


def in_a_branch(x: Any, m: Any) -> Any:
    if m.any():
        x = x * (2 if x[m].shape[0] > 4 else 3)
    return x


def between(x: Any, m: Any) -> Any:
    s = x[m].reshape(-1)
    return s.mean() if 4 < s.shape[0] <= 12 and len(s) != 8 else s.sum() * 0


def two_of_them(x: Any, m: Any) -> Any:
    a, b = x[m], x[~m]
    if len(a) > len(b):
        return a.sum(), len(a) - len(b)
    if len(a) == len(b):
        return b.sum() * 2, 100
    return b.sum(), len(a) + len(b)


def more_than_there_are(x: Any, m: Any) -> Any:
    s = x[m]
    assert len(s) <= len(x)
    if not 0 <= len(s) < len(x) + 1:
        raise ValueError("never")
    return s.sum() / len(s)


def raises_for_none(x: Any, m: Any) -> Any:
    s = x[m]
    if not len(s):
        raise ValueError("none")
    assert len(s) != 2, "two"
    return s.max()


def chosen_of_the_chosen(x: Any, m: Any) -> Any:
    a = x[m]
    if len(a) == 0:
        return x.sum(), 0
    b = a[a[:, 0] > 0]
    if len(b) == 0:
        return a.sum(), len(a)
    return b.max(), len(b) - len(a)


def parts_of_them(x: Any, m: Any) -> Any:
    s, both = x[m], ops.cat((x[m], x[~m][:-1] * 2))
    t = x.sum() * 0
    if len(s[1:]) > 1:
        t = s[1:].sum()
    return t, len(s[:-2]), len(both), len(both[2:])


def row_by_row(x: Any, m: Any) -> Any:
    s, i, t = x[m], 0, x.sum() * 0
    while i < len(s):
        t = t + s[i].sum() * (i + 1)
        i += 1
    for row in s:
        if row.sum() < 0:
            continue
        t = t * 0.5 + row.max()
    return t


def numbered(x: Any, m: Any) -> Any:
    t, k = x.sum() * 0, 0
    for i, row in enumerate(x[m], 1):
        if i > 3:
            break
        t, k = t + row.max() * i, k + 1
    for row in x[m][1:]:
        t = t + row.min()
    return t, k


def written_row_by_row(x: Any, m: Any) -> Any:
    s = x[m]
    made = ops.zeros_like(s)
    for i in range(1, s.shape[0]):
        made[i] = made[i - 1] * 0.5 + s[i]
    return made


def pairs(x: Any, m: Any) -> Any:
    """As where overlapping boxes are left out."""
    s, far, kept = x[m], x[0] * 0, 0
    for i in range(len(s)):
        for j in range(i + 1, len(s)):
            if ((s[i] - s[j]) ** 2).sum() < 8:
                kept += 1
                far = far + s[j]
    return far, kept


def the_first_that(x: Any, m: Any) -> Any:
    for row in x[m]:
        if row.sum() > 0:
            return row
    return x[0]


def a_number_of_a_tensor(x: Any, m: Any) -> Any:
    t = x.sum() * 0
    for i in range(m.sum()):
        t = t + x[i].sum()
    for i in range(m.sum(), 0, -2):
        t = t + x[i - 1].sum() * 10
    return t


def open_slices(x: Any, m: Any) -> Any:
    n = m.sum()
    rest = x[:-n].sum(0) if n > 0 else x.sum(0)
    return x[:n], x[n:], x[1:n].sum(), rest, x[..., :n].sum(0), x[:, None, :n].shape, x[n : n + 2], x[:n, :n]


def slices_by_sizes(x: Any, m: Any) -> Any:
    s, n = x[m], len(x[m])
    parts = s[: n // 2].sum(), s[n // 2 :], s[n // 2 : n].mean() if n else s.sum()
    return parts, x[n - 1] if n > 0 else x[0], x[max(-n, -5)], x[n // 2 : n, : n // 3 + 1].sum()


def written_slices(x: Any, m: Any) -> Any:
    n, y = len(x[m]), x * 1
    y[:n] = 0
    y[n:, 1] = 5.0
    y[1:n] += 2
    return y


def windows(x: Any, m: Any) -> Any:
    k, t = m.sum(), x.sum() * 0
    while k > 0:
        t = t * 0.5 + x[:k].sum()
        k = k - 1
    return t


def real_numbers(x: Any, m: Any) -> Any:
    n = len(x[m])
    large = x * 2 if n / 6 > 0.4 else x
    return n / 4, n * 0.5 + 1.5, n - 0.5, 3 / max(n, 1), large, float(n), bool(n), (n + 1) / 2


def as_tensors(x: Any, m: Any) -> Any:
    n = len(x[m])
    made = (
        ops.full((2,), n),
        ops.full_like(x, n),
        Tensor(n, graphc.float32),
        ops.scalar_to_tensor(n),
        ops.cast(n, graphc.float32),
    )
    chosen = (
        ops.select(Tensor(n > 2), x, -x),
        ops.where(n > 2, x, -x),
        ops.clamp(x, 0, n),
        ops.maximum(x, n),
        ops.pow(x, n),
    )
    return (
        made,
        chosen,
        ops.stack([Tensor(n), Tensor(n + 1)]),
        ops.one_hot(Tensor(n), 7, Tensor(1.0), Tensor(0.0)),
        ops.zeros((n, 2)),
    )


def recurrences(x: Any, m: Any) -> Any:
    c, ys = ops.scan(lambda c, r: (ops.tanh(c + r), c * r), x[0] * 0, x[m], None)
    return c, ys, graphc.grad(lambda x: (ops.scan(lambda c, r: (c * 0.5 + r, c.sum()), x[0], x[m])[1] ** 2).sum())(x)


def gradients(x: Any, m: Any) -> Any:
    def loss(x: Any) -> Any:
        s, h = x[m], x[0] * 0
        for row in s:
            h = ops.tanh(h + row) if len(s) > 2 else h + row * s[-1]
        return h.sum() / max(len(s), 1)

    return graphc.grad(loss)(x)


def floats_beside_sizes(x: Any, m: Any) -> Any:
    n, half = len(x[m]), 0.5
    k, far = int(half * n), n > 2.5
    rest = x[k:].sum() if half - 1 >= n * -half else x.max()
    return x[:k], rest, far, half + n, half - n, 2.5 / (n + 1), half**n, share_of(0.7, n)


def share_of(ratio: float, n: int) -> Any:
    return int(ratio * n)


def powers(x: Any, m: Any) -> Any:
    n = len(x[m])
    return x * 0.9**n, n**0.5, n**2, x * n**3, 2**n, n << 1, n >> 1, n & 1, x * (n + 1) ** -0.5


def over_nothing(x: Any, m: Any) -> Any:
    return x, 1 / len(x[m])


def shares(x: Any, m: Any) -> Any:
    """As precision and recall are told."""
    hits, wrong, missed = len(x[m & (x[:, 0] > 0)]), len(x[~m & (x[:, 0] > 0)]), len(x[m & (x[:, 0] <= 0)])
    p = hits / (hits + wrong) if hits + wrong > 0 else 0.0
    r = hits / (hits + missed) if hits + missed else 0.0
    return p, r, 2 * p * r / (p + r) if p + r > 0 else 0.0


def rows_at_sizes(x: Any, m: Any) -> Any:
    s = ops.sort(x[m], 0)[0]
    n = len(s)
    if n == 0:
        return x.sum(0) * 0
    middle = s[n // 2] if n % 2 else (s[n // 2 - 1] + s[n // 2]) / 2
    return middle + s[n - 1] * s[n - 2] + s[-min(n, 2)]


def the_middle(x: Any, m: Any) -> Any:
    return x[m][len(x[m]) // 2]


def made_as_large(x: Any, m: Any) -> Any:
    s, a = x[m], x[~m]
    n, k = len(s), min(len(s), len(a))
    return (
        ops.cat([s, ops.zeros((6 - n, 4))]),
        ops.ones(6 - n),
        ops.arange(min(n, 3)),
        ops.full((n // 2, 2), 3.0),
        s[:k] - a[:k],
        x[: min(n, 3)] * s[: min(n, 3)],
        ops.zeros((n + len(a) * 2, 2)) + 1,
    )


def packed(x: Any, m: Any) -> Any:
    made, more, n = ops.zeros_like(x), ops.zeros((8, 4)), m.sum()
    made[: len(x[m])] = x[m]
    more[:n] = x[m] * 2
    more[6:] = x[:2]
    return made, more, x[:n] + x[m], ops.zeros(n), ops.zeros((int(n), 4)) + x[m]


def every_few(x: Any, m: Any) -> Any:
    s, n = x[m], len(x[m])
    return s[::2], s[1::2], s[:n:3], s[1:n:2], x[m.sum() :: 2], x[: m.sum() : 2], s[-3::2], s[:-1:2], s[::-1]


def largest_of_few(x: Any, m: Any) -> Any:
    s, n = x[m], len(x[m])
    few = ops.topk(s[:, 0], max(int(n * 0.5), min(n, 1)))
    return few, ops.topk(s[:, 0], min(n, 3)), ops.topk(s, n // 2, 0, False), ops.topk(x, min(n, 4))[0]


def by_mathematics(x: Any, m: Any) -> Any:
    n = len(x[m])
    return x[m].sum() / math.sqrt(n + 1), math.log(n + 2, 2), x[: math.ceil(n / 2)], math.floor(n * 0.5), math.ceil(n)


def sizes_of_ends(x: Any, m: Any) -> Any:
    s = x[m]
    parts = s[1:], s[:-1], s[-3:], s[2:4], s[:6], s[:7], s[5:], s[:1][:1], s[1:][:2], s[:3][1:]
    return [len(v) for v in parts], s[:2].sum() if len(s[:2]) == 2 else s.sum() * 0


def ends_row_by_row(x: Any, m: Any) -> Any:
    a, b = x[m][:3], x[m][-2:]
    t = sum(r.max() for r in a) + x[0, 0]
    for r, q in zip(a, b, strict=False):
        t = t + (r * q).sum()
    for i in range(len(b)):
        t = t + b[i].sum() * i
    rows = [r * 2 for r in a]
    return t, a / max(len(a), 1), rows[0] if len(a) else x[0]


WORKS = [
    sizes_of_ends, ends_row_by_row, by_mathematics,
    floats_beside_sizes, powers, over_nothing, shares, rows_at_sizes, the_middle, made_as_large, packed, every_few,
    largest_of_few,
    any_of_them, one_number_of_them, in_a_branch, numbers_of_it, weights_of_it, sizes_and_shapes, between, two_of_them,
    more_than_there_are, raises_for_none, chosen_of_the_chosen, parts_of_them, row_by_row, numbered, written_row_by_row, pairs,
    the_first_that, a_number_of_a_tensor, open_slices, slices_by_sizes, written_slices, windows, real_numbers, as_tensors,
    recurrences, gradients,
]  # fmt: skip


@pytest.mark.parametrize("body", WORKS)
def test_a_step_does_what_eager_calls_do(body: Function) -> None:
    does_or_raises(body, (ValueError, AssertionError, ShapeError, ZeroDivisionError), slice(20))


class Detector(nn.Cell):
    """Functions and cells that do not branch themselves tell sizes, too."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Dense(4, 1)

    def count(self, x: Any) -> Any:
        return x.shape[0]

    def construct(self, x: Any, m: Any) -> Any:
        found = x[m]
        if self.count(found) == 0:
            return self.dense(x).sum() * 0
        return (self.dense(found) ** 2).mean() / self.count(found)


def test_a_detector_trains() -> None:
    cell = Detector()
    step = nn.TrainOneStepCell(cell, nn.SGD(cell.trainable_params(), 0.1)).set_train()
    weight = cell.dense.weight.asnumpy()
    for mask in masks((6,)):
        before = cell.dense.weight.asnumpy()
        loss = step(Tensor(floats(6, 4)), Tensor(mask))
        assert np.isfinite(loss.asnumpy())
        assert np.array_equal(before, cell.dense.weight.asnumpy()) != mask.any()
    assert not np.array_equal(weight, cell.dense.weight.asnumpy())


@pytest.mark.parametrize("body", [row_by_row, numbers_of_it, any_of_them])
def test_in_buckets(body: Callable[..., Any]) -> None:
    step = graphc.compile(Net(body), floats(4, 4), masks((4,))[2], buckets=(4, 8))
    for n in (4, 3, 7, 5):
        for mask in masks((n,)):
            close(step(floats(n, 4), mask), body(Tensor(floats(n, 4)), Tensor(mask)))


def test_an_axis_may_be_as_large_by_coincidence() -> None:
    def body(x: Any, m: Any, wide: Any) -> Any:
        n = wide.shape[0]
        return x[m].sum() if len(x[m]) > n - 15 else wide.sum(), n

    for n in range(12, 40):
        step = graphc.compile(Net(body), floats(6), np.ones(6, bool), floats(n))
        for mask in masks((6,)):
            close(step(floats(6), mask, floats(n)), body(*map(Tensor, (floats(6), mask, floats(n)))))


def test_it_is_printed(capfd: Any) -> None:
    def body(x: Any, m: Any) -> Any:
        print(len(x[m]), x[m].shape)
        return x.sum()

    graphc.compile(Net(body), floats(6, 4), np.ones(6, bool))(floats(6, 4), np.arange(6) < 2)
    assert capfd.readouterr().out.split() == ["2", "2", "4"]


def beyond(x: Any, m: Any) -> Any:
    return x[len(x[m])]


def every_second(x: Any, m: Any) -> Any:
    return x[m.sum() :: -1]


def negative(x: Any, m: Any) -> Any:
    return ops.zeros(3 - len(x[m]))


def listed(x: Any, m: Any) -> Any:
    return ops.stack([row * 2 for row in range(len(x[m]))])


def steps_of_it(x: Any, m: Any) -> Any:
    t = x.sum()
    for i in range(0, 9, len(x[m])):
        t = t + i
    return t


def numbers_of_floats(x: Any, m: Any) -> Any:
    t = x.sum()
    for i in range(t):
        t = t + i
    return t


def other_shapes(x: Any, m: Any) -> Any:
    s = x[m]
    if len(s) < 3:
        s = s[1:]
    return s.sum()


def by_the_root(x: Any, m: Any) -> Any:
    return x.sum() if round(np.sqrt(len(x[m]))) > 1 else x.max()


REFUSED: list[tuple[Function, type[Exception], str]] = [
    (listed, TypeError, "tensors must be Tensors"),
    (steps_of_it, TraceTypeError, "the step of a range"),
    (numbers_of_floats, TraceTypeError, "which is no integer"),
    (other_shapes, ShapeError, "tensors of different shapes"),
    (by_the_root, PaddingError, "Python decides by the size"),
    (beyond, TraceError, "a number between 0 and 6, which axis 0 of"),
    (every_second, TraceError, "a step that is known and positive"),
    (negative, TraceError, "the size of an axis is a number between -3 and 3"),
]


@pytest.mark.parametrize(("body", "kind", "why"), REFUSED)
def test_what_cannot_be(body: Function, kind: Any, why: str) -> None:
    refused(lambda: graphc.compile(Net(body), floats(6), masks((6,))[2]), "test_counted_sizes.py", kind, why)


def test_what_the_bounds_decide_is_no_question() -> None:
    def size(value: int, place: int, most: int) -> Any:
        return Size.of(value, Sum(0, ((Count(place, most), 1),)))

    n, k = size(3, 0, 9), size(5, 1, 4)
    certain = [n >= 0, n < 10, n - 1 < 9, n == n, n - n == 0, 2 * n <= 18, n != -1, n > -0.5, n % 4 < 4, n // 2 <= 4]
    certain += [n + k <= 13, extreme(n, 10, True) == 10, n + 1 > n]
    assert certain == [True] * len(certain)
    assert {type(x) for x in certain} == {bool}
    asked = [
        n > 0,
        n >= 1,
        n == 3,
        n != 3,
        n < 9,
        n <= 8.5,
        n == k,
        n > k,
        n // 2 == 1,
        extreme(n, 2, True) == 3,
        n + k == 13,
    ]
    assert {type(x) for x in asked} == {Decision}
    assert [bool(x) for x in asked] == [True, True, True, False, True, True, False, False, True, True, False]
    assert repr(n > 0) == "True"
    assert (n == 3.5) is False
    assert (n != 3.5) is True
