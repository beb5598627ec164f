"""Lengths that a call brings, as numbers of the run: what they decide, loops over them, lists that these make, parts of few."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, ops
from graphc.errors import PaddingError
from tests.e2e.changing import close
from tests.e2e.test_buckets import Net, floats


def decided(x: Any) -> Any:
    n = x.shape[0]
    if n < 3:
        return x.sum() * 2
    return x.max() if n % 2 else x.min() / n


def helped(x: Any) -> Any:
    def scale(n: int) -> float:
        return 0.5 if n > 5 else 2.0

    return x * scale(x.shape[0]), scale(len(x)), len(x) > 4


def gone_over(x: Any) -> Any:
    h = ops.zeros((4,))
    for k in range(x.shape[0]):
        h = ops.tanh(h * 0.5 + x[k])
    return h


def rows_gone_over(x: Any) -> Any:
    h, n = ops.zeros((4,)), 0
    for row in x:
        h, n = ops.tanh(h * 0.5 + row), n + 1
    return h / n


def waited(x: Any) -> Any:
    i, s = 1, x[0]
    while i < x.shape[0]:
        s, i = s * 0.5 + x[i], i + 2
    return s


def broken_off(x: Any) -> Any:
    s = ops.zeros(())
    for k in range(x.shape[0]):
        if s > 4:
            break
        s = s + ops.abs(x[k]).sum()
    return s


def pairs(x: Any) -> Any:
    s = ops.zeros(())
    for i in range(x.shape[0]):
        for j in range(i):
            s = s + ops.exp(-((x[i] - x[j]) ** 2).sum())
    return s


def written(x: Any) -> Any:
    y = x * 1
    for k in range(1, x.shape[0]):
        y[k] = y[k] + y[k - 1] * 0.5
    return y


def neighbours(x: Any) -> Any:
    s = ops.zeros(())
    for a, b in zip(x[:-1], x[1:], strict=False):  # noqa: RUF007
        s = s + (a * b).sum()
    return s


def halves(x: Any) -> Any:
    n = x.shape[0]
    return x[: n // 2].sum(), x[n // 2 :].sum(0), x[max(n - 3, 0) :].mean(0), ops.zeros((n // 2 + 1, 2)) + n


def spans(x: Any) -> Any:
    s, h = ops.zeros((4,)), ops.zeros((1, 4))
    for k in range(x.shape[0]):
        h = ops.tanh(h + x[k : k + 1])
    for k in range(x.shape[0] - 1):
        s = s * 0.5 + (x[k : k + 2] * x[k : k + 2]).sum(0) + x[k + 1]
    for k in range(0, x.shape[0], 3):
        s = s + x[k : k + 3].mean(0)
    return s, h


def kept_in_a_dict(x: Any) -> Any:
    d = {"sum": ops.zeros((4,)), "count": 0}
    for row in x:
        d["sum"] = d["sum"] * 0.9 + row
        d["count"] += 1
    return d["sum"] / d["count"], d["count"]


def collected(x: Any) -> Any:
    h, outs, sums = ops.zeros((4,)), [ops.ones((4,))], []
    for k in range(x.shape[0]):
        h = ops.tanh(h * 0.5 + x[k])
        outs.append(h)
        outs.append(h * 2)
        sums.append(h.sum())
    return ops.stack(outs), ops.stack(sums), len(outs), outs[-1], outs[0], sum(sums)


def collected_by_ways(x: Any) -> Any:
    outs, t = [], ops.zeros((4,))
    for i, row in enumerate(x):
        if row.sum() > 0:
            outs.append(row)
        else:
            outs.append(row * -i)
    for each in outs:
        t = ops.tanh(t + each)
    return t, ops.cat([o[None] for o in outs])


def collected_twice(x: Any) -> Any:
    outs = []
    for i in range(x.shape[0]):
        products = []
        for j in range(x.shape[0]):
            products += [(x[i] * x[j]).sum()]
        outs = outs + [ops.stack(products)]  # noqa: RUF005
    return ops.stack(outs)


def of_few(x: Any) -> Any:
    return x[:4], x[-2:], x[2:5].sum(0), x[1:].sum()


def behind(x: Any) -> Any:
    z = ops.concat((x, ops.ones((2, 4)), x * 0.5))
    n = z.shape[0]
    scores = z @ z.T - 10.0 * ops.eye(n, n, graphc.float32)
    return ops.cross_entropy(scores, (ops.arange(n) + n // 2) % n), z.mean(0), ops.concat((x, x[1:]))


def in_ways(x: Any) -> Any:
    y = ops.zeros((4,))
    if x.sum() > 0:
        y = ops.concat((x, x)).sum(0) * x.shape[0]
    return y


def of_what_is_counted(x: Any) -> Any:
    taken = x[x[:, 0] > 0]
    s = x.sum() * 2 if x.shape[0] > 6 else x.sum()
    if len(taken) > x.shape[0] // 2:
        s = s + taken.sum()
    return s, taken, x.shape[0] - len(taken)


TABLE = Tensor(floats(16, 4))
SEEN = Tensor(np.tril(np.ones((16, 16), np.float32)))


def of_tables(x: Any) -> Any:
    n = x.shape[0]
    y = x + TABLE[:n] - TABLE[16 - n :] + ops.concat((TABLE[:1], TABLE[1:n])) * TABLE[n - 1] + TABLE[-n:]
    y = ops.softmax((y @ y.T).masked_fill(SEEN[:n, :n] == 0, -1e9), -1) @ y
    return y * 2 if n % 2 else y


def of_few_beside_halves(x: Any) -> Any:
    n = x.shape[0]
    return x[: n // 2].sum(0), x[n // 2 :].sum(0), x[-3:].sum(0)


def paired(x: Any) -> Any:
    half = x.shape[0] // 2
    a, b = x[:half], x[half : 2 * half]
    return (a * b).sum(1), ops.concat((b, a)).sum(0)


def distances(x: Any) -> Any:
    n = x.shape[0]
    d = ops.zeros((n + 1, n + 1))
    for i in range(1, n + 1):
        for j in range(1, n + 1):
            d[i, j] = ops.minimum(d[i - 1, j], d[i, j - 1]) + (x[i - 1] - x[j - 1]).abs().sum()
    return d[n, n], d


def one_by_one(x: Any) -> Any:
    y = ops.zeros((x.shape[0],))
    for i, row in enumerate(x):
        y[i] = row.sum() + (y[i - 1] if i > 0 else 0.0)
    return y


def made_of_none(x: Any) -> Any:
    steps = []
    for i in range(1, x.shape[0]):
        steps.append(x[i] - x[i - 1])
    if not steps:
        return x.sum()
    return ops.stack(steps).sum()


def begun_by_none(x: Any) -> Any:
    h, outs = None, []
    for row in x:
        h = row if h is None else ops.tanh(h * 0.5 + row)
        outs.append(h)
    return ops.stack(outs), h, bool(outs)


def begun_by_the_first(x: Any) -> Any:
    for t, row in enumerate(x):
        if t == 0:
            h = row
        else:
            h = h * 0.5 + row
    last = x[t] * 2 if outs_of(x) else row
    return h / (t + 1), last, t


def outs_of(x: Any) -> list[Any]:
    outs = []
    for k in range(2, x.shape[0]):
        outs.append(x[k])
    return outs


def taken_in_turns(x: Any) -> Any:
    s = ops.zeros((4,))
    for i in range(x.shape[0]):
        s = s + x[(x * x[i]).sum(-1) > 0].sum(0) * (i + 1)
    return s


def from_the_last(x: Any) -> Any:
    outs, numbers = [ops.ones((4,))], [0]
    for i, row in enumerate(x):
        if row.sum() > 0:
            outs.append(ops.tanh(outs[-1] * 0.5 + row))
        else:
            outs.append(outs[-1])
        outs.append(outs[-1] + 1)
        numbers.append(numbers[-1] + i)
    return ops.stack(outs), outs[-1], numbers[-1]


CASES = (
    decided, helped, gone_over, rows_gone_over, waited, broken_off, pairs, written, neighbours, halves, spans, kept_in_a_dict,
    collected, collected_by_ways, collected_twice, of_few, behind, in_ways, of_what_is_counted, of_tables, of_few_beside_halves,
    paired, distances, one_by_one, made_of_none, taken_in_turns, begun_by_none, begun_by_the_first,
    from_the_last,
)  # fmt: skip


def both_ways(body: Callable[[Any], Any]) -> nn.Cell:
    """What a body returns, and the gradient of all floats among it."""

    def loss(x: Any) -> Any:
        made = body(x)
        made = made if isinstance(made, tuple) else (made,)
        tensors = [m for m in made if isinstance(m, Tensor) and m.dtype == graphc.float32]
        return sum([(ops.sin(m) * (k + 1)).sum() for k, m in enumerate(tensors)])

    return Net(lambda self, x: (body(x), graphc.value_and_grad(loss, 0)(x)))


@pytest.mark.parametrize("body", CASES)
def test_lengths_are_numbers_of_the_run(body: Callable[[Any], Any]) -> None:
    net = both_ways(body)
    with graphc.debug(canary=True):
        step = graphc.compile(net, floats(8, 4), buckets=(4, 8))
        for n in (8, 5, 7, 6, 4, 3, 2, 1):
            close(step(floats(n, 4)), graphc.compile(net, floats(n, 4))(floats(n, 4)), 1e-4)
    assert len(step.steps) == 2


def test_two_lengths_are_told_apart() -> None:
    class Rows(nn.Cell):
        def construct(self, x: Any) -> Any:
            (b, t), outs = x.shape[:2], []
            h = ops.zeros((b, 3))
            for k in range(t):
                h = ops.tanh(h + x[:, k])
                outs.append(h)
            y = ops.stack(outs, 1)
            if b > t:
                y = y * 2
            return y, y.mean(), b * t

    step = graphc.compile(Rows(), floats(4, 8, 3), buckets={"x": {0: (4, 8), 1: (8,)}})
    for b, t in ((4, 8), (3, 7), (8, 8), (5, 4), (1, 1), (6, 1), (2, 8)):
        close(step(floats(b, t, 3)), graphc.compile(Rows(), floats(b, t, 3))(floats(b, t, 3)))


def test_two_axes_at_once() -> None:
    """Elements of rows that are padded, read and written; both axes as one."""

    class Both(nn.Cell):
        def construct(self, x: Any) -> Any:
            b, t, _ = x.shape
            s, y = ops.zeros((3,)), ops.zeros((b, t + 1))
            for i in range(b):
                for j in range(t):
                    if i < j:
                        s = s * 0.9 + x[i, j]
                    elif i == j:
                        s = s + x[i, j] * 2
                y[i, 0] = x[i, -1].sum()
            for j in range(t):
                y[:, j + 1] = y[:, j] * 0.5 + x[:, j].sum(-1)
            z = ops.tanh(x.reshape(b * t, 3))
            return s, y, z.mean(0) if b > t else z.sum(0), y[-1, -1]

    step = graphc.compile(Both(), floats(8, 8, 3), buckets={"x": {0: (8,), 1: (8,)}})
    for b, t in ((8, 8), (3, 7), (7, 3), (2, 2)):
        close(step(floats(b, t, 3)), graphc.compile(Both(), floats(b, t, 3))(floats(b, t, 3)), 1e-4)


def test_what_two_traces_do_not_show_is_decided_when_it_comes() -> None:
    """A third of all lengths goes another way, and neither trace has one of these."""

    class Third(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Dense(4, 2, weight_init="ones", has_bias=False)

        def construct(self, x: Any) -> Any:
            return self.layer(x * 2 if x.shape[0] % 3 == 0 else x).mean()

    def train(net: nn.Cell) -> nn.Cell:
        return nn.TrainOneStepCell(net, nn.Momentum(net.trainable_params(), 0.1, 0.9))

    one, other = train(Third()), train(Third())
    step = graphc.compile(one, floats(8, 4), buckets=(8,))
    for n in (8, 6, 5, 3, 7, 6, 1):
        close(step(floats(n, 4)), graphc.compile(other, floats(n, 4))(floats(n, 4)))
    for p, q in zip(one.get_parameters(), other.get_parameters(), strict=True):
        np.testing.assert_allclose(p.asnumpy(), q.asnumpy(), rtol=1e-5, atol=1e-6)


def test_what_the_cell_raises_for_a_length_a_call_raises() -> None:
    class Some(nn.Cell):
        def construct(self, x: Any) -> Any:
            assert x.shape[0] > 2, "too few"
            if x.shape[0] == 7:
                raise ValueError("seven")
            return x[2] * x.shape[0]

    step = graphc.compile(Some(), floats(8, 4), buckets=(4, 8))
    for n, error, said in ((2, AssertionError, "too few"), (7, ValueError, "seven"), (1, AssertionError, "too few")):
        with pytest.raises(error, match=said):
            step(floats(n, 4))
    for n in (3, 8, 5):
        close(step(floats(n, 4)), Tensor(floats(n, 4)[2] * n))
    row = graphc.compile(Net(lambda self, x: x[3]), floats(4, 4), buckets=(4,))
    close(row(floats(4, 4)), Tensor(floats(4, 4)[3]))
    with pytest.raises(IndexError, match="index 3 is out of range"):
        row(floats(3, 4))


@pytest.mark.parametrize("raising", [(8,), (5, 3), (8, 4, 5, 3)])
def test_what_the_cell_raises_for_a_length_says_nothing_of_others(raising: tuple[int, ...]) -> None:
    """Also where it is one that is traced for all of its bucket."""

    class Some(nn.Cell):
        def construct(self, x: Any) -> Any:
            for n in raising:
                assert x.shape[0] != n, f"not {n}"
            return x * 2

    for first in (7, 2):
        step = graphc.compile(Some(), floats(first, 4), buckets=(4, 8))
        for n in (7, 8, 5, 6, 4, 3, 2):
            if n in raising:
                with pytest.raises(AssertionError, match=f"not {n}"):
                    step(floats(n, 4))
            else:
                close(step(floats(n, 4)), Tensor(floats(n, 4) * 2))


def beyond_a_table(x: Any) -> Any:
    s = ops.zeros((4,))
    for i, row in enumerate(x):
        s = s + row * TABLE[:6][i]
    return s


def written_beyond(x: Any) -> Any:
    y = ops.zeros((6, 4))
    for k in range(x.shape[0]):
        y[k] = x[k]
    return y


@pytest.mark.parametrize("body", [beyond_a_table, written_beyond])
def test_a_turn_whose_number_is_no_place_is_an_error(body: Callable[[Any], Any]) -> None:
    """Not a row of zeros, as at a number that only the run tells."""
    net = Net(lambda self, x: body(x))
    step = graphc.compile(net, floats(5, 4), buckets=(8,))
    for n in (6, 8, 5, 7):
        if n > 6:
            with pytest.raises(IndexError, match=f"index {n - 1} is out of range"):
                step(floats(n, 4))
        else:
            close(step(floats(n, 4)), graphc.compile(net, floats(n, 4))(floats(n, 4)))


def test_numbers_that_some_turns_ask_are_no_error() -> None:
    def asked(x: Any) -> Any:
        s = ops.zeros((4,))
        for i, row in enumerate(x):
            if i < 6:
                s = s + row * TABLE[:6][i]
        if x.shape[0] <= 6:
            for k in range(x.shape[0]):
                s = s + TABLE[:6][k]
        for _ in range(6, x.shape[0]):
            for k in range(x.shape[0]):
                s = s + TABLE[:6][k - 6]
        return s, sum(TABLE[:6][i] for i in range(x.shape[0]) if i < 6)

    net = Net(lambda self, x: asked(x))
    step = graphc.compile(net, floats(8, 4), buckets=(8,))
    for n in (8, 5, 6):
        close(step(floats(n, 4)), graphc.compile(net, floats(n, 4))(floats(n, 4)))


def test_what_a_branch_raises_that_need_not_be_taken_is_no_error_of_the_cell() -> None:
    class Last(nn.Cell):
        def construct(self, x: Any) -> Any:
            i, s = 0, x[0]
            while True:
                i += 1
                if i >= x.shape[0]:
                    break
                s = s * 0.5 + x[i]
            return s

    step = graphc.compile(Last(), floats(3, 4), buckets=(4,))
    close(step(floats(3, 4)), graphc.compile(Last(), floats(3, 4))(floats(3, 4)))
    with pytest.raises(PaddingError, match="construct raises IndexError for length0 2, where it need not come"):
        step(floats(2, 4))


def read_inside(x: Any) -> Any:
    outs = []
    for row in x:
        outs.append(row if len(outs) == 0 else row + outs[-1])
    return ops.stack(outs)


def asked_inside(x: Any) -> Any:
    outs: list[Any] = []
    for row in x:
        outs.append(outs[-1] + row if outs else row)
    return ops.stack(outs)


def held_by_another_name(x: Any) -> Any:
    outs = other = []
    for row in x:
        outs.append(row)
    return ops.stack(other)


def grown_elsewhere(x: Any) -> Any:
    def grow(outs: list[Any]) -> None:
        for row in x:
            outs.append(row)

    outs: list[Any] = []
    grow(outs)
    return x * len(outs)


def of_chunks(x: Any) -> Any:
    outs = []
    for k in range(0, x.shape[0], 2):
        outs.append(x[k : k + 2] @ x.T @ x)
    return ops.cat(outs)


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (read_inside, "is read inside of it"),
        (asked_inside, "is read inside of it"),
        (held_by_another_name, "has another name"),
        (grown_elsewhere, "has another name"),
        (of_chunks, "in each turn or branch anew"),
    ],
)
def test_what_no_length_can_decide_is_refused(body: Callable[[Any], Any], why: str) -> None:
    with pytest.raises(PaddingError, match=f"with sizes as numbers of the run: .*{why}"):
        graphc.compile(Net(lambda self, x: body(x)), floats(8, 4), buckets=(8,))
