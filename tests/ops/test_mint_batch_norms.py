"""The parts of a batch normalization over several batches make the one over all of them: the formulas in float64."""

from __future__ import annotations

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, mint, nn

RANDOM = np.random.RandomState(5)
WHOLE = RANDOM.randn(7, 3, 4, 2) * 2 + 0.5
PARTS = (WHOLE[:2], WHOLE[2:])
AXES = (0, 2, 3)


def f32(x):
    return Tensor(np.asarray(x, np.float32))


def of_each(parts, eps):
    stats = [mint.batch_norm_stats(f32(x), eps) for x in parts]
    return [mint.stack([s[k] for s in stats]) for k in (0, 1)]


COUNTS = f32([x.size // 3 for x in PARTS])


def test_moments_of_parts_are_those_of_the_whole():
    mean, rate = mint.batch_norm_gather_stats_with_counts(
        f32(PARTS[0]), *of_each(PARTS, 1e-3), None, None, 0.1, 1e-3, COUNTS
    )
    np.testing.assert_allclose(mean.asnumpy(), WHOLE.mean(AXES), rtol=1e-5)
    np.testing.assert_allclose(rate.asnumpy(), 1 / np.sqrt(WHOLE.var(AXES) + 1e-3), rtol=1e-5)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.mean, self.var = Parameter(f32([1, 2, 3]), name="m"), Parameter(f32([4, 5, 6]), name="v")

    def construct(self, means, rates, x, counts):
        return mint.batch_norm_gather_stats_with_counts(x, means, rates, self.mean, self.var, 0.3, 1e-3, counts)


@pytest.mark.parametrize("mode", [graphc.GRAPH_MODE, graphc.PYNATIVE_MODE])
def test_running_statistics_move(mode, mode_again):
    graphc.set_context(mode=mode)
    net = Net()
    net(*of_each(PARTS, 1e-3), f32(PARTS[0]), COUNTS)
    np.testing.assert_allclose(net.mean.asnumpy(), 0.7 * np.array([1, 2, 3]) + 0.3 * WHOLE.mean(AXES), rtol=1e-5)
    unbiased = WHOLE.var(AXES, ddof=1)
    np.testing.assert_allclose(net.var.asnumpy(), 0.7 * np.array([4, 5, 6]) + 0.3 * unbiased, rtol=1e-5)


def test_without_counts_all_are_as_large_as_the_input():
    means, rates = of_each((WHOLE[:2], WHOLE[2:4]), 0.0)
    mean, rate = mint.batch_norm_gather_stats_with_counts(f32(WHOLE[:2]), means, rates, eps=0.0)
    np.testing.assert_allclose(mean.asnumpy(), WHOLE[:4].mean(AXES), rtol=1e-5)
    np.testing.assert_allclose(rate.asnumpy(), 1 / WHOLE[:4].std(AXES), rtol=1e-5)


def whole(x, weight=None, bias=None):
    return mint.nn.functional.batch_norm(x, None, None, weight, bias, True, 0.1, 1e-3)


def test_elements_are_those_of_batch_norm():
    weight, bias = f32([1, 2, 3]), f32([0.1, 0.2, 0.3])
    mean, rate = mint.batch_norm_stats(f32(WHOLE), 1e-3)
    made = mint.batch_norm_elemt(f32(WHOLE), weight, bias, mean, rate)
    np.testing.assert_allclose(made.asnumpy(), whole(f32(WHOLE), weight, bias).asnumpy(), rtol=1e-5, atol=1e-5)
    assert mint.batch_norm_elemt(f32(WHOLE).astype("float16"), mean=mean).dtype == graphc.float16


def test_gradients():
    x = f32(WHOLE[:2, :, :2])
    flow = f32(np.cos(np.arange(x.size)).reshape(x.shape))

    def parts(x):
        return (mint.batch_norm_elemt(x, None, None, *mint.batch_norm_stats(x, 1e-3)) * flow).sum()

    wanted = graphc.grad(lambda x: (whole(x) * flow).sum())(x)
    np.testing.assert_allclose(graphc.grad(parts)(x).asnumpy(), wanted.asnumpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: mint.batch_norm_stats(f32([1, 2]), 1e-5), "expected .N, channels"),
        (lambda: mint.batch_norm_stats(Tensor([[1, 2]]), 1e-5), "expected floats"),
        (lambda: mint.batch_norm_elemt(f32(WHOLE), f32([1, 2])), "weight is .* one number per channel"),
        (
            lambda: mint.batch_norm_gather_stats_with_counts(f32(WHOLE), f32([1, 2, 3]), f32([1, 2, 3])),
            "expected .batches, 3",
        ),
    ],
)
def test_what_does_not_fit_is_said(call, says):
    with pytest.raises((TypeError, ValueError), match=says):
        call()
