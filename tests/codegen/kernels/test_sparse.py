"""A matrix held row by row times a dense one, against SciPy, whatever indices hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.codegen.kernel_harness import run_all


@settings(max_examples=40, deadline=None)
@given(
    rows=st.integers(1, 40), columns=st.integers(1, 30), width=st.sampled_from([1, 1, 1, 3, 17, 64, 131]),
    count=st.one_of(st.integers(1, 60), st.integers(300, 900)), dtype=st.sampled_from(["float32", "float64"]),
    kinds=st.sampled_from([("int32", "int32"), ("int64", "int64"), ("int64", "int32")]), outside=st.booleans(),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_csr_product(
    rows: int, columns: int, width: int, count: int, dtype: str, kinds: tuple[str, str], outside: bool, seed: int
) -> None:
    draw = np.random.default_rng(seed)
    begins = np.concatenate([[0], np.sort(draw.integers(0, count + 1, rows))]).astype(kinds[0])
    index = draw.integers(-3 if outside else 0, columns + 3 * outside, count).astype(kinds[1])
    values, dense = draw.standard_normal(count).astype(dtype), draw.standard_normal((columns, width)).astype(dtype)
    want = np.zeros((rows, width))
    for r in range(rows):
        for k in range(begins[r], begins[r + 1]):
            if 0 <= index[k] < columns:
                want[r] += values[k] * dense[index[k]].astype(np.float64)
    # What no element asks for may hold anything.
    dense[~np.isin(np.arange(columns), index)] = np.nan
    params = {"dtype": dtype, "pointer_dtype": kinds[0], "index_dtype": kinds[1]}
    params |= {"count": count, "rows": rows, "columns": columns, "width": width}
    for where, (y,) in run_all("csr_product", params, values, begins, index, dense).items():
        np.testing.assert_allclose(y.reshape(rows, width), want, rtol=1e-4, atol=1e-4, err_msg=where)


@pytest.mark.parametrize("width", [1, 5])
def test_rows_that_begin_anywhere_read_nothing_beyond_their_elements(width: int) -> None:
    begins = np.array([-7, 5, 2, 90, 3, 4], np.int32)
    values, dense = np.ones(6, np.float32), np.ones((4, width), np.float32)
    params = {"dtype": "float32", "pointer_dtype": "int32", "index_dtype": "int32"}
    params |= {"count": 6, "rows": 5, "columns": 4, "width": width}
    index = np.array([0, 1, 2, 3, 0, 1], np.int32)
    for where, (y,) in run_all("csr_product", params, values, begins, index, dense).items():
        np.testing.assert_array_equal(y.reshape(5, width)[:, 0], [5, 0, 4, 0, 1], err_msg=where)
