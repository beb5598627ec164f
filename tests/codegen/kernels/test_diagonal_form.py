"""Diagonal forms: what they are, of any matrix, and the products of their diagonals, against NumPy's in float64."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.codegen.kernel_harness import run_all

TOLERANCES = {"float32": 2e-5, "float64": 1e-13}


@settings(max_examples=30, deadline=None)
@given(
    batch=st.integers(1, 3),
    size=st.sampled_from([1, 2, 3, 4, 9, 17]),
    dtype=st.sampled_from(["float32", "float64"]),
    parts=st.sampled_from([1, 2]),
    kind=st.sampled_from(["numbers", "singular", "zeros", "nilpotent"]),
    seed=st.integers(0, 99),
)
def test_forms(batch: int, size: int, dtype: str, parts: int, kind: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((parts, batch, size, size))
    rank = max(size - 2, 0)
    change = {
        "numbers": x,
        "singular": np.concatenate([x[..., :rank], x[..., :1] @ np.ones((1, size - rank))], -1),
        "zeros": 0 * x,
        "nilpotent": x * np.eye(size, k=1),
    }
    given_parts = change[kind].astype(dtype)
    x = given_parts.astype(np.float64)
    x = x[0] if parts == 1 else x[0] + 1j * x[1]
    params = {"batch": batch, "size": size, "dtype": dtype, "parts": parts}
    for where, (_, *results) in run_all("diagonal_form", params, *given_parts).items():
        pairs = [[y.astype(np.float64) for y in results[k : k + parts]] for k in range(0, 5 * parts, parts)]
        made = [y[0] if parts == 1 else y[0] + 1j * y[1] for y in pairs]
        left, right, seconds = (made[k].reshape(x.shape) for k in (0, 1, 4))
        diagonal, firsts = (made[k].reshape(batch, size) for k in (2, 3))
        close = {"atol": TOLERANCES[dtype] * (1 + abs(x).max()) ** 2 * size, "err_msg": where}
        wanted = diagonal[..., None] * np.eye(size)
        np.testing.assert_allclose(left @ x @ right.swapaxes(1, 2), wanted, **close)
        ones = np.linalg.det(left) * np.linalg.det(right)
        np.testing.assert_allclose(ones, np.ones(batch), **close)
        for i in range(size):
            rest = np.delete(diagonal, i, 1)
            np.testing.assert_allclose(firsts[:, i], rest.prod(1), rtol=1e-4, err_msg=where)
            for j in range(size):
                others = np.delete(diagonal, [i, j], 1).prod(1) * (i != j)
                np.testing.assert_allclose(seconds[:, i, j], others, rtol=1e-4, err_msg=where)
