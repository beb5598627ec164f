"""Quantiles of the normal distribution, for whole arrays.

Algorithm AS 241 (PPND16) of M. J. Wichura, "The Percentage Points of the Normal Distribution", 1988, which Python's
`statistics.NormalDist` evaluates for one number at a time.
"""

from __future__ import annotations

import numpy as np

from graphc.ops.tensor.tensor import Array

#: Above and below the line, highest power first: in 0.425^2 - (p - 1/2)^2 near the middle, then by sqrt(-log p).
_MIDDLE = (
    (2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4, 4.5921953931549871457e4,
     1.3731693765509461125e4, 1.9715909503065514427e3, 1.3314166789178437745e2, 3.3871328727963666080e0),
    (5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4, 2.1213794301586595867e4,
     5.3941960214247511077e3, 6.8718700749205790830e2, 4.2313330701600911252e1, 1.0),
)  # fmt: skip

_TAIL = (
    (7.74545014278341407640e-4, 2.27238449892691845833e-2, 2.41780725177450611770e-1, 1.27045825245236838258e0,
     3.64784832476320460504e0, 5.76949722146069140550e0, 4.63033784615654529590e0, 1.42343711074968357734e0),
    (1.05075007164441684324e-9, 5.47593808499534494600e-4, 1.51986665636164571966e-2, 1.48103976427480074590e-1,
     6.89767334985100004550e-1, 1.67638483018380384940e0, 2.05319162663775882187e0, 1.0),
)  # fmt: skip

_FAR_TAIL = (
    (2.01033439929228813265e-7, 2.71155556874348757815e-5, 1.24266094738807843860e-3, 2.65321895265761230930e-2,
     2.96560571828504891230e-1, 1.78482653991729133580e0, 5.46378491116411436990e0, 6.65790464350110377720e0),
    (2.04426310338993978564e-15, 1.42151175831644588870e-7, 1.84631831751005468180e-5, 7.86869131145613259100e-4,
     1.48753612908506148525e-2, 1.36929880922735805310e-1, 5.99832206555887937690e-1, 1.0),
)  # fmt: skip

_PIECE = 1 << 14  # Numbers at once: what a piece needs stays in the cache.


def _horner(r: Array, coefficients: tuple[float, ...]) -> Array:
    y = r * coefficients[0]
    for c in coefficients[1:-1]:
        y += c
        y *= r
    y += coefficients[-1]
    return y


def _outside(p: Array) -> Array:
    """float64: the quantiles of p <= 0.075."""
    r = np.sqrt(-np.log(p))
    near, far = r - 1.6, r - 5.0
    y = _horner(near, _TAIL[0]) / _horner(near, _TAIL[1])
    if np.any(far > 0):
        y = np.where(far > 0, _horner(far, _FAR_TAIL[0]) / _horner(far, _FAR_TAIL[1]), y)
    return -y


def normal_quantile(p: Array) -> Array:
    """float64, shaped like the float64 `p` in (0, 1): the numbers that a normal number is below with probability p."""
    made = np.empty_like(p)
    flat, into = p.reshape(-1), made.reshape(-1)
    for start in range(0, flat.size, _PIECE):
        piece = flat[start : start + _PIECE]
        q = piece - 0.5
        r = 0.180625 - q * q
        y = _horner(r, _MIDDLE[0]) * q / _horner(r, _MIDDLE[1])
        outside = np.flatnonzero(r < 0)
        if outside.size:
            p_out, q_out = piece[outside], q[outside]
            y[outside] = np.copysign(_outside(np.where(q_out < 0, p_out, 1 - p_out)), q_out)
        into[start : start + _PIECE] = y
    return made
