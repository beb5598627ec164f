"""An op of this project's own: smoothing along rows, a recurrence that array functions cannot say."""

import numba
import numpy as np

from graphc import ops
from graphc.ir import Sample


@numba.njit
def smooth_kernel(x, y, alpha):
    """every row smoothed: y[t] = alpha * y[t - 1] + (1 - alpha) * x[t]"""
    for row in range(x.shape[0]):
        last = 0.0
        for t in range(x.shape[1]):
            last = alpha * last + (1 - alpha) * x[row, t]
            y[row, t] = last


@numba.njit
def smooth_grad_kernel(dy, dx, alpha):
    """the gradient of Smooth, the same recurrence backwards; it has no gradient itself"""
    for row in range(dy.shape[0]):
        last = 0.0
        for t in range(dy.shape[1] - 1, -1, -1):
            last = alpha * last + dy[row, t]
            dx[row, t] = (1 - alpha) * last


def rows(*shape):
    return np.random.default_rng(0).uniform(-2, 2, shape).astype(np.float32)


smooth_grad = ops.custom(
    "SmoothGrad", smooth_grad_kernel, writes=1, attrs={"alpha": 0.9}, samples=lambda: [Sample((rows(2, 7),))]
)
smooth = ops.custom(
    "Smooth",
    smooth_kernel,
    writes=1,
    attrs={"alpha": 0.9},
    grad=lambda g, n, dy: [g.SmoothGrad(dy, alpha=n.alpha)],
    samples=lambda: [Sample((rows(3, 9),), grad=(0,)), Sample((rows(1, 1),), {"alpha": 0.5}, grad=(0,))],
)
