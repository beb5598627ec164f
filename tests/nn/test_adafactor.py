"""nn.AdaFactor: its arguments, groups and state. Its numbers are in test_mindformers_cells_recorded.py and, for the rule,
in tests/ops/test_parameters.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, nn

RNG = np.random.default_rng(2)
W, B = RNG.normal(size=(3, 4)).astype(np.float32), RNG.normal(size=5).astype(np.float32)


def parameters():
    return [Parameter(Tensor(W), name="w"), Parameter(Tensor(B), name="b")]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"learning_rate": 0.1}, ValueError, "learning_rate or relative_step, both are given"),
        ({"relative_step": False}, ValueError, "learning_rate or relative_step, neither is given"),
        (
            {"learning_rate": 0.1, "relative_step": False, "warmup_init": True},
            ValueError,
            "warmup_init needs relative_step",
        ),
        ({"eps": (1e-3,)}, ValueError, "eps must be two floats"),
        ({"eps": (1e-3, 1)}, TypeError, r"eps\[1\] must be a float"),
        ({"clip_threshold": 0.0}, ValueError, "clip_threshold must be a finite number > 0"),
        ({"decay_rate": 1.5}, ValueError, "decay_rate must be at most 1"),
        ({"beta1": "a"}, TypeError, "beta1 must be a number"),
        ({"compression": 1}, TypeError, "compression must be a bool"),
    ],
)
def test_refused(options, error, message):
    with pytest.raises(error, match=message) as caught:
        nn.AdaFactor(parameters(), **options)
    assert isinstance(caught.value, graphc.GraphcError)


def test_state():
    names = {p.name: (p.shape, p.dtype.name) for p in nn.AdaFactor(parameters(), compression=True).get_parameters()}
    assert names == {
        "learning_rate": ((), "float32"),
        "global_step": ((1,), "int32"),
        "afactor_step": ((1,), "float32"),
        "exp_avg.w": ((3, 4), "float32"),
        "exp_avg.b": ((5,), "float32"),
        "exp_avg_sq_row_w": ((3,), "float32"),
        "exp_avg_sq_row_b": ((1,), "float32"),
        "exp_avg_sq_col_w": ((4,), "float32"),
        "exp_avg_sq_col_b": ((1,), "float32"),
        "exp_avg_sq_w": ((1,), "float32"),
        "exp_avg_sq_b": ((5,), "float16"),
    }


def test_rates_and_decays_of_groups():
    w, b = parameters()
    groups = [{"params": [w], "lr": 0.2, "weight_decay": 0.5}, {"params": [b]}]
    made = nn.AdaFactor(groups, 0.1, relative_step=False, scale_parameter=False, beta1=0.0)
    made((Tensor(np.ones_like(W)), Tensor(np.ones_like(B))))
    # The first update of equal gradients is 1 everywhere.
    np.testing.assert_allclose(w.asnumpy(), W - 0.2 * (1 + 0.5 * W), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(b.asnumpy(), B - 0.1, rtol=1e-5, atol=1e-6)
