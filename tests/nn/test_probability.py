"""Distributions and bijectors against numbers from MindSpore (tests/data/ms_probability.py), SciPy and finite differences."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
import scipy.stats as st

import graphc
from graphc import Tensor, nn, ops
from graphc.nn.probability import bijector as msb
from graphc.nn.probability import distribution as msd
from tests.data.ms_probability import BIJECTORS, DISTRIBUTIONS, answers, bijected, transformed

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "ms_probability.json").read_text())


def compare(got, wanted, what):
    expected = np.array(wanted["values"]).reshape(wanted["shape"])
    assert list(got.shape) == wanted["shape"], what
    # Where MindSpore takes the logarithm of what has become 0, or nearly, SciPy's number counts.
    known = expected > -10 if what.endswith(("log_cdf", "log_survival")) else np.full(expected.shape, True)
    np.testing.assert_allclose(got[known].astype(np.float64), expected[known], rtol=3e-4, atol=2e-5, err_msg=what)


def test_every_case_is_recorded():
    assert list(RECORDED["distributions"]) == list(DISTRIBUTIONS)
    assert list(RECORDED["bijectors"]) == list(BIJECTORS)


@pytest.mark.parametrize("kind", DISTRIBUTIONS)
def test_distributions(kind):
    wanted = RECORDED["distributions"][kind]
    found = answers(msd, Tensor, kind, wanted)
    for name in wanted:
        compare(found[name], wanted[name], f"{kind} {name}")


@pytest.mark.parametrize("name", BIJECTORS)
def test_bijectors(name):
    for i, (got, wanted) in enumerate(zip(bijected(msb, Tensor, name), RECORDED["bijectors"][name], strict=True)):
        compare(got, wanted, f"{name} {i}")


def test_transformed_distribution():
    found = transformed(msd, msb, Tensor)
    for name, wanted in RECORDED["transformed"].items():
        compare(found[name].asnumpy(), wanted, name)
    bent = msd.TransformedDistribution(msb.Exp(), msd.Normal(0.5, 1.5))
    with pytest.raises(NotImplementedError, match="no mean in closed form"):
        bent.mean()
    assert bent.sample((3,)).shape == (3,)


#: class -> (parameters, SciPy's distribution)
SCIPY = {
    "Normal": ((0.5, 2.0), st.norm(0.5, 2.0)),
    "Logistic": ((0.5, 2.0), st.logistic(0.5, 2.0)),
    "Laplace": ((0.5, 2.0), st.laplace(0.5, 2.0)),
    "Cauchy": ((0.5, 2.0), st.cauchy(0.5, 2.0)),
    "StudentT": ((3.0, 0.5, 2.0), st.t(3.0, 0.5, 2.0)),
    "HalfNormal": ((0.5, 2.0), st.halfnorm(0.5, 2.0)),
    "Exponential": ((0.5,), st.expon(scale=2.0)),
    "Gamma": ((2.5, 0.5), st.gamma(2.5, scale=2.0)),
    "Beta": ((2.5, 0.5), st.beta(2.5, 0.5)),
    "Uniform": ((-1.0, 2.0), st.uniform(-1.0, 3.0)),
    "LogNormal": ((0.5, 0.5), st.lognorm(0.5, scale=math.exp(0.5))),
    "Gumbel": ((0.5, 2.0), st.gumbel_r(0.5, 2.0)),
    "Bernoulli": ((0.3,), st.bernoulli(0.3)),
    "Geometric": ((0.3,), st.geom(0.3, loc=-1)),
    "Poisson": ((3.5,), st.poisson(3.5)),
}
DISCRETE = ("Bernoulli", "Geometric", "Poisson")
UNKNOWN = {  # What MindSpore has no formula for, nor graphc.
    **dict.fromkeys(("Laplace", "StudentT", "HalfNormal"), "cdf mean var entropy sample"),
    "Cauchy": "mean var",
    "Beta": "cdf",
    "Poisson": "entropy",
}


@pytest.mark.parametrize("kind", SCIPY)
def test_the_whole_range_against_scipy(kind):
    parameters, known = SCIPY[kind]
    cell = getattr(msd, kind)(*parameters)
    unknown = UNKNOWN.get(kind, "").split()
    whole = np.arange(0, 12) if kind in DISCRETE else np.array([-40, -3, -0.5, 0.2, 0.7, 1.9, 9, 40.0])
    if kind == "Beta":
        whole = np.array([1e-4, 0.2, 0.7, 0.999])
    elif kind in ("Gamma", "LogNormal"):
        whole = whole[whole > 0]
    elif kind == "Bernoulli":
        whole = np.arange(0, 2)
    log = known.logpmf if kind in DISCRETE else known.logpdf
    pairs = [(cell.log_prob, log)]
    if "cdf" not in unknown:
        pairs += [(cell.cdf, known.cdf), (cell.survival_function, known.sf)]
    if kind in ("Exponential", "Logistic"):
        pairs += [(cell.log_survival, known.logsf)]
    for ours, theirs in pairs:
        got = ours(Tensor(whole, graphc.float32)).asnumpy()
        np.testing.assert_allclose(got, theirs(whole), rtol=2e-5, atol=1e-6 if ours is cell.log_prob else 1e-30)
    for ours, theirs in ((cell.mean, known.mean), (cell.var, known.var), (cell.entropy, known.entropy)):
        if ours.__name__ not in unknown:
            np.testing.assert_allclose(ours().asnumpy(), theirs(), rtol=1e-5)
    if kind != "Gumbel":  # Of a gamma function's value minus 1.
        for name in unknown[1:]:
            with pytest.raises(NotImplementedError, match="there is no"):
                getattr(cell, name)()


@pytest.mark.parametrize("kind", [k for k in SCIPY if "sample" not in UNKNOWN.get(k, "")])
def test_samples_have_the_distribution(kind):
    graphc.set_seed(3)
    parameters, known = SCIPY[kind]
    drawn = getattr(msd, kind)(*parameters).sample((2, 2000))
    assert drawn.shape == (2, 2000)
    if kind in DISCRETE:
        # The largest distance of what is counted from what is expected, in standard deviations of it.
        at = np.arange(0, 8)
        share = np.array([(drawn.asnumpy() == k).mean() for k in at])
        apart = np.abs(share - known.pmf(at)) / np.sqrt(np.maximum(known.pmf(at), 1e-3) / 4000)
        assert apart.max() < 5
        assert str(drawn.dtype) == ("Float32" if kind == "Poisson" else "Int32")
    else:
        assert st.kstest(drawn.asnumpy().ravel(), known.cdf).pvalue > 1e-4


def test_samples_of_classes():
    graphc.set_seed(3)
    cell = msd.Categorical([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])
    drawn = cell.sample((4000,)).asnumpy()
    assert drawn.shape == (4000, 2)
    for k in range(2):
        np.testing.assert_allclose(np.bincount(drawn[:, k]) / 4000, cell.parameters["probs"][k], atol=0.04)
    assert cell.log_prob(Tensor([0.0, 7.0])).asnumpy()[1] != cell.log_prob(Tensor([0.0, 7.0])).asnumpy()[1]  # NaN
    assert cell.sample().shape == (2,)


class Cost(nn.Cell):
    """log_prob, entropy and a divergence of a distribution whose parameters are the cell's."""

    def __init__(self, kind, count):
        super().__init__()
        self.first = getattr(msd, kind)()
        self.kind, self.count = kind, count

    def construct(self, value, *parameters):
        total = self.first("log_prob", value, *parameters).sum()
        if self.kind not in UNKNOWN:
            total = total + self.first("entropy", *parameters).sum()
        if self.kind not in ("Logistic", *UNKNOWN):
            other = [p * 1.25 for p in parameters]
            total = total + self.first("kl_loss", self.kind, *other, *parameters).sum()
        return total


@pytest.mark.parametrize("kind", ["Normal", "Beta", "StudentT", "LogNormal", "Geometric"])
def test_compiled_with_gradients(kind):
    parameters = [np.array([p, p * 1.1], np.float32) for p in SCIPY[kind][0]]
    value = np.array([1.0, 0.0] if kind in DISCRETE else [0.7, 0.2], np.float32)
    cell = Cost(kind, len(parameters))
    given = [Tensor(value), *map(Tensor, parameters)]
    grads = ops.grad(cell, tuple(range(1, len(given))))(*given)
    eager = type(cell).construct(cell, *given)
    np.testing.assert_allclose(cell(*given).asnumpy(), eager.asnumpy(), rtol=1e-5)
    for i, got in enumerate(grads if isinstance(grads, tuple) else (grads,)):
        for k in range(2):
            step = 1e-2
            ends = []
            for sign in (1, -1):
                moved = [p.astype(np.float64) for p in parameters]
                moved[i][k] += sign * step
                ends.append(type(cell).construct(cell, given[0], *(Tensor(m.astype(np.float32)) for m in moved)))
            slope = (ends[0].item() - ends[1].item()) / (2 * step)
            assert got.asnumpy()[k] == pytest.approx(slope, rel=0.03, abs=0.02), (i, k)


@pytest.mark.parametrize("dtype", ["int32", "int64", "bool", "float16"])
def test_private_methods_take_whole_numbers_of_any_dtype(dtype):
    """Published programs call them with parameters, past what casts values for the public ones."""
    value = Tensor(np.array([0, 1, 1])).astype(dtype)
    p, classes = Tensor([0.25], "float32"), Tensor(np.array([[0.25, 0.75]], np.float32))
    expected = np.log([0.25, 0.75, 0.75])
    np.testing.assert_allclose(msd.Categorical()._log_prob(value=value, probs=classes).asnumpy(), expected, 1e-6)
    np.testing.assert_allclose(msd.Categorical()._cdf(value, classes).asnumpy(), [0.25, 1, 1], 1e-6)
    np.testing.assert_allclose(msd.Bernoulli()._cdf(value, p).asnumpy(), [0.75, 1, 1], 1e-6)
    np.testing.assert_allclose(msd.Geometric()._log_prob(value, p).asnumpy(), np.log([0.25, 0.1875, 0.1875]), 1e-6)
    np.testing.assert_allclose(msd.Poisson()._cdf(value, p).asnumpy(), st.poisson.cdf([0, 1, 1], 0.25), 1e-6)


def test_what_is_wrong_is_refused():
    x = Tensor([1.0])
    with pytest.raises(ValueError, match="sd must be > 0, got -1"):
        msd.Normal(0.0, -1.0)
    with pytest.raises(ValueError, match="low must be less than high"):
        msd.Uniform(1.0, 1.0)
    with pytest.raises(ValueError, match=r"add up to 1, not 0\.9"):
        msd.Categorical([0.5, 0.4])
    with pytest.raises(ValueError, match=r"probs must be in \(0, 1\)"):
        msd.Bernoulli(1.0)
    with pytest.raises(TypeError, match="dtype must be a float, got int32"):
        msd.Normal(0.0, 1.0, dtype=graphc.int32)
    with pytest.raises(ValueError, match="sd is given neither to the constructor nor to this call"):
        msd.Normal(0.0).prob(x)
    with pytest.raises(TypeError, match="mean must be a Tensor, got float"):
        msd.Normal().prob(x, 0.0, x)
    with pytest.raises(TypeError, match="the value must be a Tensor"):
        msd.Normal(0.0, 1.0).prob(1.0)
    with pytest.raises(ValueError, match="dist='Normal' only, got 'Uniform'"):
        msd.Normal(0.0, 1.0).kl_loss("Uniform", x, x)
    with pytest.raises(ValueError, match="sd_b is missing"):
        msd.Normal(0.0, 1.0).kl_loss("Normal", x)
    with pytest.raises(ValueError, match="there is no 'quantile'"):
        msd.Normal(0.0, 1.0)("quantile", x)
    with pytest.raises(TypeError, match="bijector must be a Bijector"):
        msd.TransformedDistribution(ops.exp, msd.Normal(0.0, 1.0))
    with pytest.raises(ValueError, match=r"shapes .* cannot be broadcast together"):
        msd.Normal([0.0, 1.0], [1.0, 2.0, 3.0])
    with pytest.raises(TypeError, match="expected floats"):
        msb.Exp().forward(Tensor([1]))
    by_name = msd.Normal(0.0, 1.0).kl_loss("Normal", mean_b=x, sd_b=x, mean=x)
    assert by_name.asnumpy() == pytest.approx(0.0, abs=1e-6)
