"""Random functions: distributions, seeds, the same numbers compiled and not."""

from __future__ import annotations

import sys
import threading
from statistics import NormalDist

import numpy as np
import pytest

import graphc
from graphc import PYNATIVE_MODE, Tensor, nn, ops
from graphc.ops.tensor.seed import generator

N = 20000
DRAWS = {
    "uniform": (lambda: ops.uniform((N,), -1.0, 3.0), 1.0, 4 / 12**0.5, -1, 3),
    "normal": (lambda: ops.normal((N,), 2.0, 0.5), 2.0, 0.5, -1, 5),
    "randn": (lambda: ops.randn(N // 2, 2), 0.0, 1.0, -6, 6),
    "standard_laplace": (lambda: ops.standard_laplace((N,)), 0.0, 2**0.5, -20, 20),
    "TruncatedNormal": (lambda: ops.TruncatedNormal()((N,)), 0.0, 0.8796, -2.001, 2.001),
    "randint": (lambda: ops.randint(2, 6, (N,)), 3.5, 1.25**0.5, 2, 5),
    "bernoulli": (lambda: ops.bernoulli(ops.zeros((N,)), 0.25), 0.25, (3 / 16) ** 0.5, 0, 1),
}


@pytest.mark.parametrize("name", DRAWS)
def test_distributions(name):
    draw, mean, deviation, low, high = DRAWS[name]

    class Net(nn.Cell):
        def construct(self):
            return draw()

    graphc.set_seed(7)
    values = Net()().asnumpy().astype(np.float64)
    # Five standard errors.
    assert abs(values.mean() - mean) < 5 * deviation / N**0.5
    assert values.std() == pytest.approx(deviation, rel=0.03)
    assert low <= values.min()
    assert values.max() <= high
    graphc.set_seed(7)
    graphc.set_context(mode=PYNATIVE_MODE)
    try:
        np.testing.assert_allclose(Net()().asnumpy(), values, rtol=1e-4, atol=1e-5)
    finally:
        graphc.set_context(mode=graphc.GRAPH_MODE)


def test_normal_numbers_are_quantiles_of_uniform_ones():
    class Net(nn.Cell):
        def construct(self):
            return ops.rand(3000, seed=5), ops.randn(3000, seed=6)

    for seed in (5, 6):
        generator(seed).set_data(Tensor(0, "int64"))
    uniform, normal = (x.asnumpy() for x in Net()())
    expected = [NormalDist().inv_cdf(u + 2.0**-25) for u in uniform.astype(np.float64)]
    np.testing.assert_allclose(normal, expected, rtol=4e-6, atol=1e-7)


def test_permutations():
    graphc.set_seed(1)
    first, second = ops.randperm(50).tolist(), ops.randperm(50).tolist()
    assert first != second
    assert sorted(first) == sorted(second) == list(range(50))
    rows = ops.shuffle(Tensor(np.arange(60, dtype=np.float32).reshape(20, 3))).asnumpy()
    assert sorted(rows[:, 0].tolist()) == list(range(0, 60, 3))
    np.testing.assert_array_equal(rows[:, 1] - rows[:, 0], np.ones(20))


def test_dtypes_and_shapes_like_others():
    x = Tensor(np.zeros((3, 2), np.float16))
    for made in (ops.randn_like(x), ops.rand_like(x)):
        assert (made.shape, made.dtype) == ((3, 2), graphc.float16)
    assert ops.randint_like(x, 0, 3).dtype == graphc.int64
    assert ops.StandardNormal(seed=3)((4,)).shape == (4,)
    assert ops.UniformInt()((5,), Tensor(0, "int32"), Tensor(3, "int32")).dtype == graphc.int32


def test_random_functions() -> None:
    graphc.set_seed(2)
    x = Tensor(np.ones((40, 50), np.float32))
    first, second = ops.dropout(x, 0.3).asnumpy(), ops.dropout(x, 0.3).asnumpy()
    assert (first != second).any()
    graphc.set_seed(2)
    np.testing.assert_array_equal(ops.dropout(x, 0.3).asnumpy(), first)
    of_seed = ops.dropout(x, 0.3, seed=7).asnumpy()
    assert (of_seed != first).any()
    assert generator(7) is generator(7)
    assert ops.dropout(x, 0.3, training=False) is x
    assert not ops.dropout(x, 1.0).asnumpy().any()
    numbers = ops.rand(100, 200).asnumpy()
    assert numbers.min() >= 0
    assert numbers.max() < 1
    assert abs(numbers.mean() - 0.5) < 5 / np.sqrt(12 * numbers.size)
    assert np.histogram(numbers, 16, (0, 1))[0].min() > numbers.size / 16 * 0.85
    with pytest.raises(graphc.ArgumentValueError, match=r"p must lie in \[0, 1\], got 1.5"):
        ops.dropout(x, 1.5)
    with pytest.raises(graphc.ArgumentTypeError, match="p must be a number, got str"):
        ops.dropout(x, "0.5")  # type: ignore[arg-type]


class Draw(nn.Cell):
    def __init__(self, draw):
        super().__init__()
        self.draw = draw

    def construct(self, p):
        return self.draw(p)


WEIGHTS = np.array([[0.5, 0, 3, 1.5], [2, 2, 0, 1e-3]], np.float32)
LOGITS = np.log(WEIGHTS, out=np.full_like(WEIGHTS, -np.inf), where=WEIGHTS > 0)


@pytest.mark.parametrize("mode", [graphc.GRAPH_MODE, PYNATIVE_MODE])
@pytest.mark.parametrize(
    ("draw", "given"),
    [
        (lambda p: ops.multinomial(p, N), WEIGHTS),
        (lambda p: ops.multinomial(p, N), WEIGHTS * 1e30),
        (lambda p: p.multinomial(N), WEIGHTS * 1e-34),
        (lambda p: ops.Multinomial(dtype="int64")(p, N), WEIGHTS),
        (lambda p: ops.random_categorical(p, N), LOGITS),
        (lambda p: ops.RandomCategorical("int16")(p, N), LOGITS + 200),
    ],
)
def test_draws_follow_their_probabilities(draw, given, mode):
    graphc.set_seed(3)
    graphc.set_context(mode=mode)
    try:
        places = Draw(draw)(Tensor(given)).asnumpy()
    finally:
        graphc.set_context(mode=graphc.GRAPH_MODE)
    assert places.shape == (2, N)
    for row, weights in zip(places, WEIGHTS, strict=True):
        p = weights.astype(np.float64) / weights.sum()
        found = np.bincount(row, minlength=4) / N
        assert found[p == 0] == 0
        assert (np.abs(found - p) <= 5 * np.sqrt(p * (1 - p) / N)).all()


def test_draws_without_replacement():
    graphc.set_seed(4)
    of = Draw(lambda p: ops.multinomial(p, 3, replacement=False))
    drawn = [of(Tensor(np.array([1, 0, 5, 2, 0], np.float32))).tolist() for _ in range(60)]
    assert all(sorted(d) == [0, 2, 3] for d in drawn)
    first = [d[0] for d in drawn]
    assert 25 < first.count(2) < 52  # 5/8 of 60 is 37.5, its deviation 3.75
    assert len({tuple(d) for d in drawn}) > 2


@pytest.mark.parametrize(
    ("draw", "given"),
    [
        (lambda p: ops.multinomial(p, 2), [1, -1]),
        (lambda p: ops.multinomial(p, 2), [0, 0]),
        (lambda p: ops.multinomial(p, 2), [np.nan, 1]),
        (lambda p: ops.multinomial(p, 2), [np.inf, 1]),
        (lambda p: ops.multinomial(p, 2, False), [0, 1]),
        (lambda p: ops.random_categorical(p.reshape((1, 2)), 2), [np.nan, 1]),
        (lambda p: ops.random_categorical(p.reshape((1, 2)), 2), [-np.inf, -np.inf]),
    ],
)
def test_what_is_no_probability_raises(draw, given):
    x, good = Tensor(np.array(given, np.float32)), Tensor(np.array([1, 2], np.float32))
    for call in (draw, Draw(draw)):
        with pytest.raises(ValueError, match=r"multinomial|random_categorical"):
            call(x)
        assert call(good).size == 2  # What raised has left nothing behind.


def test_draws_in_a_loop_over_tensors():
    def draw(p):
        i, total = Tensor(0, "int32"), Tensor(0, "int32")
        while i < 4:
            total = total + ops.multinomial(p, 1)[0]
            i = i + 1
        return total

    assert Draw(draw)(Tensor(np.array([0, 1], np.float32))).tolist() == 4
    with pytest.raises(ValueError, match="not all zero"):
        Draw(draw)(Tensor(np.array([0, 0], np.float32)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: ops.multinomial(Tensor(np.ones((2, 2, 2), np.float32)), 1),
            r"expected probabilities \[n\] or \[rows, n\]",
        ),
        (lambda: ops.multinomial(Tensor(np.ones(2, np.float32)), 3, False), "3 samples without replacement of 2"),
        (lambda: ops.multinomial(Tensor(np.ones(2, np.float32)), 0), "at least 1"),
        (lambda: ops.multinomial(Tensor(np.ones(2, np.float32)), 1.5), "must be an int"),
        (lambda: ops.Multinomial(dtype="float32")(Tensor(np.ones(2, np.float32)), 1), "int32 or int64"),
        (lambda: ops.random_categorical(Tensor(np.ones(2, np.float32)), 1), r"expected floats \[rows, n\]"),
        (
            lambda: ops.random_categorical(Tensor(np.ones((1, 2), np.float32)), 1, dtype="uint8"),
            "int16, int32 or int64",
        ),
    ],
)
def test_draws_that_have_no_meaning(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()


def test_threads_draw_different_numbers():
    """Eagerly, and by two compiled cells that draw of the state which all random functions share."""

    class Net(nn.Cell):
        def construct(self, x):
            return ops.dropout(x, 0.5)

    nets = [Net(), Net()]
    x = Tensor(np.ones(256, np.float32))
    for net in nets:
        net(x)
    graphc.set_seed(3)
    draws = [
        lambda: ops.dropout(x, 0.5),
        lambda: ops.dropout(x, 0.5),
        lambda: ops.rand(256),
        *(lambda net=net: net(x) for net in nets),
    ]
    drawn: list[bytes] = []
    start = threading.Barrier(len(draws))

    def run(draw):
        start.wait()
        drawn.extend((draw().asnumpy() >= 0.5).tobytes() for _ in range(300))

    threads = [threading.Thread(target=run, args=(draw,)) for draw in draws]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert len(set(drawn)) == len(drawn) == 300 * len(draws)
