"""What this project promises of its op and its pass. The golden files are collected by graphc's plugin."""

import numpy as np
import pytest
from own_passes import drop_unsmoothed
from smoothing import smooth

import graphc
from graphc import nn, ops
from graphc.testing import op_cases

X = np.random.default_rng(1).standard_normal((4, 50)).astype(np.float32)


@pytest.mark.parametrize("case", op_cases(["Smooth", "SmoothGrad"]), ids=str)
def test_ops(case):
    case.check()


class Net(nn.Cell):
    def construct(self, x):
        return ops.reduce_sum(smooth(smooth(x, alpha=0.0)) * 2.0)


def test_in_a_step_with_the_pass():
    step = graphc.compile(Net(), X, passes=(*graphc.passes.PIPELINE, drop_unsmoothed))
    assert str(step.graph).count("Smooth(") == 1
    assert step.passes[-1][0] == "drop_unsmoothed"
    np.testing.assert_allclose(step(X).asnumpy(), graphc.compile(Net(), X)(X).asnumpy(), rtol=1e-4)
