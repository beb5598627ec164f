"""Draws against their distribution functions (Kolmogorov and Smirnov), with fixed seeds, in PYNATIVE_MODE and compiled."""

from __future__ import annotations

import math

import numpy as np
import pytest

import graphc
from graphc import ArgumentTypeError, ArgumentValueError, Generator, Parameter, Tensor, nn, ops
from graphc.errors import DTypeError, ShapeError, TraceError
from graphc.ops.declared.distributions import _slope
from tests.cells import Of

N = 6000


@pytest.fixture
def eager():
    graphc.set_context(mode=graphc.PYNATIVE_MODE)
    yield
    graphc.set_context(mode=graphc.GRAPH_MODE)


def normal(z):
    return 0.5 * (1 + math.erf(z / 2**0.5))


def gamma_function(a):
    """The distribution function of gamma numbers, by its series."""

    def share(x):
        term = total = 1.0
        k = 0
        while term > 1e-17 * total or a + k < x:
            k += 1
            term *= x / (a + k)
            total += term
        return math.exp(a * math.log(x) - x - math.lgamma(a + 1)) * total

    return share


def distance(values, share):
    """sqrt(n) times the largest difference of the distribution functions; above 1.95 in one of 1000 samples."""
    x = np.sort(np.asarray(values, np.float64).ravel())
    wanted = np.array([share(v) for v in x.tolist()])
    steps = np.arange(x.size + 1) / x.size
    return max((steps[1:] - wanted).max(), (wanted - steps[:-1]).max()) * x.size**0.5


def empty():
    return ops.zeros((N,), graphc.float32)


DRAWS = {
    "uniform_": (lambda: empty().uniform_(2, 3), lambda x: x - 2),
    "uniform": (lambda: empty().uniform(-1.0, 1.0), lambda x: (x + 1) / 2),
    "normal_": (lambda: empty().normal_(2, 3), lambda x: normal((x - 2) / 3)),
    "exponential_": (lambda: empty().exponential_(2), lambda x: 1 - math.exp(-2 * x)),
    "log_normal": (lambda: empty().log_normal(0.5, 0.7), lambda x: normal((math.log(x) - 0.5) / 0.7)),
    "LogNormalReverse": (lambda: ops.LogNormalReverse()(empty()), lambda x: normal((math.log(x) - 1) / 2)),
    "cauchy": (lambda: empty().cauchy(1.0, 2.0), lambda x: 0.5 + math.atan((x - 1) / 2) / math.pi),
    "Cauchy": (lambda: ops.Cauchy([N])(), lambda x: 0.5 + math.atan(x) / math.pi),
    "laplace": (
        lambda: ops.laplace((N,), Tensor(1.0), Tensor(2.0)),
        lambda x: 0.5 * math.exp((x - 1) / 2) if x < 1 else 1 - 0.5 * math.exp((1 - x) / 2),
    ),
    "gamma_small": (lambda: ops.random_gamma((N,), Tensor([0.3])), gamma_function(0.3)),
    "gamma": (lambda: ops.gamma((N,), Tensor([4.5]), Tensor([2.0])), lambda x: gamma_function(4.5)(2 * x)),
    "RandomGamma": (lambda: ops.RandomGamma(3)((N,), Tensor([1.0])), lambda x: 1 - math.exp(-x)),
}


@pytest.mark.parametrize("name", DRAWS)
def test_distributions(name):
    draw, share = DRAWS[name]
    graphc.set_seed(5)
    compiled = Of(draw)().asnumpy()
    assert distance(compiled, share) < 1.95
    graphc.set_seed(5)
    np.testing.assert_allclose(draw().asnumpy(), compiled, rtol=2e-3, atol=1e-5)


def test_poisson_numbers():
    graphc.set_seed(5)
    values = ops.random_poisson((N,), Tensor([0.0, 3.5, 400.0]), dtype=graphc.int64).asnumpy()
    assert values.dtype == np.int64
    assert values.shape == (N, 3)
    rates = np.array([0.0, 3.5, 400.0])
    np.testing.assert_allclose(values.mean(0), rates, atol=1e-12 + 5 * np.sqrt(rates.max() / N))
    np.testing.assert_allclose(values.var(0), rates, rtol=0.1)
    counts = np.bincount(values[:, 1], minlength=12)[:12] / N
    exact = [math.exp(-3.5) * 3.5**k / math.factorial(k) for k in range(12)]
    np.testing.assert_allclose(counts, exact, atol=0.025)
    assert ops.poisson((3, 2), Tensor([1.0, 2.0])).shape == (3, 2)
    assert (ops.Poisson(1)((2,), Tensor([1.0, 2.0])).dtype, ops.RandomPoisson()((2,), Tensor([1.0])).dtype) == (
        graphc.int32,
        graphc.int64,
    )
    draw = Of(lambda rate: ops.random_poisson((N,), rate))
    one, other = (draw(Tensor([3.5])).asnumpy() for _ in range(2))
    assert (one != other).any()
    np.testing.assert_allclose(one.mean(), 3.5, atol=5 * np.sqrt(3.5 / N))
    with pytest.raises(graphc.KernelError, match="RandomPoisson raised ValueError: lam < 0"):
        draw(Tensor([-3.5]))


def inverse(share, u, x, density):
    for _ in range(60):
        step = (share(x) - u) / density(x)
        x = max(x - step, x / 10)
    return x


@pytest.mark.parametrize(("a", "x"), [(0.1, 1e-4), (0.1, 2.0), (1.0, 0.2), (2.5, 6.0), (100.0, 130.0), (600.0, 560.0)])
def test_how_gamma_numbers_change_with_their_shape(a, x):
    u, h = gamma_function(a)(x), 1e-5 * a

    def at(b):
        return inverse(gamma_function(b), u, x, lambda y: math.exp((b - 1) * math.log(y) - y - math.lgamma(b)))

    wanted = (at(a + h) - at(a - h)) / (2 * h)
    got = _slope(np.array([a, 2.0]), np.array([x, 0.0]))
    np.testing.assert_allclose(got, [wanted, 0.0], rtol=1e-6)


def test_what_is_no_gamma_number_does_not_change_with_its_shape():
    """And takes no longer than others."""
    assert np.isnan(_slope(np.array([-1e12, -2.0, 1.0, np.nan]), np.array([1.0, 1.0, -1e9, 1.0]))).all()


def test_gradients_of_gamma_numbers(eager):
    graphc.set_seed(1)

    def mean(alpha, beta):
        return ops.gamma((N,), alpha, beta).mean()

    # The mean is alpha / beta.
    alpha, beta = graphc.grad(mean, (0, 1))(Tensor([2.0]), Tensor([4.0]))
    assert alpha.item() == pytest.approx(1 / 4, rel=0.05)
    assert beta.item() == pytest.approx(-2 / 16, rel=0.05)


def test_compiled_gradients_of_gamma_numbers():
    def mean(alpha, beta):
        return ops.gamma((N,), alpha, beta).mean()

    assert graphc.grad(mean, 1)(Tensor([2.0]), Tensor([4.0])).item() == pytest.approx(-2 / 16, rel=0.05)
    assert graphc.grad(mean, 0)(Tensor([2.0]), Tensor([4.0])).item() == pytest.approx(1 / 4, rel=0.05)


def test_gumbel_softmax():
    graphc.set_seed(2)
    logits = np.log(np.array([0.1, 0.2, 0.7], np.float32))
    x = Tensor(np.broadcast_to(logits, (N, 3)).copy())
    hard = Of(lambda x: ops.gumbel_softmax(x, 0.5, True))(x).asnumpy()
    assert set(np.unique(hard)) == {0.0, 1.0}
    np.testing.assert_allclose(hard.mean(0), [0.1, 0.2, 0.7], atol=0.02)
    soft = ops.gumbel_softmax(Tensor(np.zeros((2, 3), np.float16)), dim=0)
    assert soft.dtype == graphc.float16
    np.testing.assert_allclose(soft.asnumpy().sum(0), 1, atol=2e-3)
    weight = Tensor([1.0, 2.0, 4.0])
    slopes = graphc.grad(lambda x: (ops.gumbel_softmax(x, hard=True) * weight).sum())(
        Tensor([[0.1, 0.2, 0.3]])
    ).asnumpy()
    assert np.abs(slopes).min() > 1e-6
    assert slopes.sum() == pytest.approx(0, abs=1e-6)


def test_integers_of_any_range():
    graphc.set_seed(3)
    small = ops.zeros((N,), graphc.int32).random_(-3, 4).asnumpy()
    np.testing.assert_allclose(np.bincount(small + 3) / N, np.full(7, 1 / 7), atol=0.02)
    wide = Of(lambda: ops.zeros((N,), graphc.int64).random_())().asnumpy()
    assert distance(wide / 2.0**63, lambda x: x) < 1.95
    assert len(set((wide % 256).tolist())) == 256
    assert ops.zeros((N,), graphc.uint8).random_().asnumpy().max() == 255
    assert ops.zeros((N,), graphc.float16).random_().asnumpy().max() <= 2048
    both = ops.randint(-(2**40), 2**40, (N,)).asnumpy()
    assert distance(both / 2.0**41 + 0.5, lambda x: x) < 1.95
    every = ops.NonDeterministicInts(graphc.int32)((N,)).asnumpy()
    assert every.min() < -(2**30) < 2**30 < every.max()


def test_chances():
    graphc.set_seed(4)
    x = ops.zeros((N,), graphc.int32)
    assert x.bernoulli_(0.3).asnumpy().mean() == pytest.approx(0.3, abs=0.03)
    shares = Tensor(np.tile(np.array([0.0, 0.25, 1.0], np.float32), (N, 1)))
    for made in (shares.bernoulli(), ops.bernoulli_ext(shares), ops.Bernoulli()(shares, shares)):
        np.testing.assert_allclose(made.asnumpy().mean(0), [0, 0.25, 1], atol=0.03)
        assert made.dtype == graphc.float32


def test_places_of_a_mask():
    mask = np.random.default_rng(0).random((50, 40)) < 0.02
    graphc.set_seed(6)
    drawn = [
        run(Tensor(mask))
        for run in (lambda m: ops.choice_with_mask(m, 16), Of(lambda m: ops.RandomChoiceWithMask(16)(m)))
    ]
    for places, there in drawn:
        places = places.asnumpy()
        assert places.shape == (16, 2)
        assert there.asnumpy().all()
        assert mask[tuple(places.T)].all()
        assert len({tuple(p) for p in places.tolist()}) == 16
    assert (drawn[0][0].asnumpy() != drawn[1][0].asnumpy()).any()
    few, there = ops.choice_with_mask(Tensor(np.array([True, False, True])), 4, seed=1)
    assert sorted(few.asnumpy()[:2, 0].tolist()) == [0, 2]
    assert there.asnumpy().tolist() == [True, True, False, False]
    first = [ops.choice_with_mask(Tensor(np.ones(4, bool)), 1)[0].item() for _ in range(400)]
    np.testing.assert_allclose(np.bincount(first) / 400, np.full(4, 0.25), atol=0.08)


def test_classes_beside_the_true_ones():
    graphc.set_seed(7)
    true = Tensor(np.array([[0, 2], [1, 4]]))
    drawn = [ops.log_uniform_candidate_sampler(true, 2, 50, False, 5)[0].asnumpy() for _ in range(40)]
    exact = np.log((np.arange(5) + 2) / (np.arange(5) + 1)) / math.log(6)
    np.testing.assert_allclose(np.bincount(np.concatenate(drawn), minlength=5) / 2000, exact, atol=0.04)
    once, expected, sampled = ops.UniformCandidateSampler(2, 5, True, 5)(true)
    assert sorted(once.asnumpy().tolist()) == [0, 1, 2, 3, 4]
    assert (expected.shape, sampled.shape) == ((2, 2), (5,))
    assert ((expected.asnumpy() > 0) & (expected.asnumpy() <= 1)).all()
    kept = ops.uniform_candidate_sampler(true, 2, 9, False, 5, 3, True)[0].asnumpy()
    assert set(kept.tolist()) == {3}
    with pytest.raises(ArgumentValueError, match="5 different classes of 1"):
        ops.uniform_candidate_sampler(true, 2, 5, True, 5, 0, True)
    beyond = Tensor(
        np.array([[1, 7], [0, 4]])
    )  # MindSpore's example has such classes; its numbers, of 5 and of 3 draws.
    found = ops.log_uniform_candidate_sampler(beyond, 2, 3, False, 5)[1].asnumpy()
    np.testing.assert_allclose(found, 3 * np.log([[3 / 2, 9 / 8], [2, 6 / 5]]) / math.log(6), rtol=1e-6)
    assert found[0, 1] == pytest.approx(0.1972079)
    assert ops.uniform_candidate_sampler(beyond, 2, 3, False, 5)[1].asnumpy() == pytest.approx(0.6)
    assert set(ops.uniform_candidate_sampler(beyond, 2, 9, False, 5, 0, True)[0].asnumpy().tolist()) <= {2, 3}
    with pytest.raises(ArgumentValueError, match="true_classes must be 0 or more"):
        ops.uniform_candidate_sampler(-beyond, 2, 3, False, 5)
    with pytest.raises(TraceError, match="uniform_candidate_sampler cannot be compiled"):
        Of(lambda t: ops.uniform_candidate_sampler(t, 2, 5, True, 5)[0])(true)


def test_draws_with_replacement_and_permutations():
    p = Tensor([0.1, 0.9])
    made = ops.multinomial_with_replacement(p, -1, 0, 2000, True)
    assert made.dtype == graphc.int64
    assert made.asnumpy().mean() == pytest.approx(0.9, abs=0.05)
    assert sorted(ops.MultinomialWithReplacement(2)(p, Tensor(3), Tensor(1)).asnumpy().tolist()) == [0, 1]
    run = Of(lambda n: ops.Randperm(6, -7)(n))
    values = run(Tensor(np.array([4], np.int32))).asnumpy()
    assert sorted(values[:4].tolist()) == [0, 1, 2, 3]
    assert values[4:].tolist() == [-7, -7]
    assert sorted(ops.RandpermV2(3, 1)(5).asnumpy().tolist()) == list(range(5))


# ---- streams


def test_generators():
    first, second = Generator(), Generator()
    assert (first.initial_seed(), first.manual_seed(5) is first, first.initial_seed()) == (0, True, 5)
    second.manual_seed(5)
    x = ops.zeros((4,), graphc.float32)
    a, state = x.normal_(generator=first).asnumpy().copy(), first.get_state()
    b = Of(lambda: ops.zeros((4,), graphc.float32).normal_(generator=second))().asnumpy()
    np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    c = x.uniform_(generator=first).asnumpy().copy()
    first.set_state(state)
    assert (x.uniform_(generator=first).asnumpy() == c).all()
    assert first.initial_seed() == 5
    assert 0 <= first.seed() == first.initial_seed() < 1 << 32


def test_the_default_generator():
    graphc.set_seed(11)
    assert graphc.initial_seed() == 11
    assert graphc.manual_seed(4) is graphc.default_generator
    first = ops.rand(3).asnumpy()
    assert graphc.initial_seed() == 4
    graphc.manual_seed(4)
    assert (ops.rand(3).asnumpy() == first).all()
    assert graphc.seed() == graphc.initial_seed()
    graphc.set_seed(11)
    assert graphc.initial_seed() == 11


# ---- errors, dtypes, parameters


def test_what_is_no_distribution():
    x = ops.zeros((3,), graphc.float32)
    whole = ops.zeros((3,), graphc.int32)
    for call, error in (
        (lambda: ops.gamma((2,), Tensor([-1.0]), Tensor([1.0])), "gamma: alpha must be finite, and above 0"),
        (lambda: ops.gamma((2,), Tensor([1.0]), Tensor([0.0])), "gamma: beta"),
        (lambda: ops.random_gamma((2,), Tensor([float("nan")])), "random_gamma: alpha"),
        (lambda: ops.random_poisson((2,), Tensor([-1.0])), "rates must be finite"),
        (lambda: x.exponential_(0), "lambd must be above 0"),
        (lambda: x.normal_(0, -1), "std must not be negative"),
        (lambda: x.uniform_(2, 1), "from_ is 2"),
        (lambda: x.bernoulli_(1.5), "p must lie in"),
        (lambda: ops.bernoulli(x, -0.5), "p must lie in"),
        (lambda: x.cauchy(0.0, 0.0), "sigma must be"),
        (lambda: whole.random_(3, 3), "no range from 3 to 3"),
        (lambda: ops.zeros((2,), graphc.int8).random_(0, 300), "int8 has no range"),
        (lambda: ops.gumbel_softmax(x, 0.0), "tau must be above 0"),
        (lambda: ops.choice_with_mask(Tensor(np.ones(2, bool)), 0), "count must be at least 1"),
        (lambda: Of(lambda a: ops.random_gamma((2,), a))(Tensor([-1.0])), "random_gamma: alpha"),
    ):
        with pytest.raises(ArgumentValueError, match=error):
            call()
    for call in (
        lambda: whole.normal_(),
        lambda: whole.exponential_(),
        lambda: x.random_(0.5),
        lambda: whole.log_normal(),
    ):
        with pytest.raises(ArgumentTypeError):
            call()
    with pytest.raises(ArgumentTypeError, match="generator must be a graphc"):
        x.normal_(generator=5)
    with pytest.raises(ShapeError, match="cannot be broadcast"):
        ops.gamma((3,), Tensor([1.0, 2.0]), Tensor([1.0]))
    with pytest.raises(DTypeError):
        ops.gamma((3,), Tensor([1, 2, 3]), Tensor([1.0]))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_dtypes_stay(dtype):
    x = ops.zeros((3, 2), dtype)
    for made in (x.normal_(), x.uniform_(), x.exponential_(), x.bernoulli_(), x.random_(), x.uniform(), x.log_normal()):
        assert made.dtype == x.dtype
        assert np.isfinite(made.asnumpy().astype(np.float64)).all()
    assert ops.random_gamma((2,), ops.ones((3,), dtype)).dtype == x.dtype
    assert ops.random_gamma((2,), ops.ones((0,), dtype)).shape == (2, 0)


def test_a_parameter_is_filled_in_a_step():
    class Fill(nn.Cell):
        def __init__(self):
            super().__init__()
            self.p = Parameter(np.zeros((4,), np.float32), name="p")

        def construct(self):
            self.p.normal_(3.0, 0.1)
            return self.p + 0

    cell = Fill()
    first, second = cell().asnumpy(), cell().asnumpy()
    assert (first != second).all()
    assert (cell.p.asnumpy() == second).all()
    assert np.abs(second - 3).max() < 1
