"""Assignments against SciPy's by their sums, and the exchanges that make an order against making it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from graphc_codegen import KernelError, compile_program
from graphc_codegen.kernels import EMITTERS
from graphc_codegen.program import Buffer, Call, NamedKernel, Program
from tests.codegen.kernel_harness import Array, run_all


def solved(cost: Array, limit: int, maximize: bool, checked: bool) -> tuple[Array, Array]:
    """Rows and columns of the pairs, by a program."""
    params = {"rows": cost.shape[0], "cols": cost.shape[1], "maximize": maximize}
    operands = EMITTERS["assignment"].operands(params)
    arrays = [np.zeros(o.size, o.dtype) for o in operands]
    kinds = [("input", 0), ("input", 1), *(("param", k) for k in range(3))]
    buffers = [Buffer(k, o.dtype, (o.size,), *kinds[k]) for k, o in enumerate(operands)]
    body = (Call(NamedKernel("assignment", tuple(sorted(params.items()))), tuple(range(5)), "n1"),)
    made = compile_program(Program("p", tuple(buffers), body, 64, threads=1), cache_dir=None, checked=checked)
    made.bind(arrays[2:], []).run([np.ravel(cost).astype(np.float64), np.array([limit], np.int64)])
    return arrays[3], arrays[4]


@settings(max_examples=40, deadline=None)
@given(
    shape=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    share=st.floats(0, 1),
    kind=st.sampled_from(["numbers", "ties", "infinities"]),
    maximize=st.booleans(),
    checked=st.booleans(),
    seed=st.integers(0, 99),
)
def test_sums(shape: tuple[int, int], share: float, kind: str, maximize: bool, checked: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    cost = rng.integers(0, 4, shape).astype(float) if kind == "ties" else rng.standard_normal(shape)
    if kind == "infinities":  # Such that there are finite sums.
        infinite = rng.random(shape) < 0.3
        infinite[np.arange(min(shape)), np.arange(min(shape))] = False
        cost[infinite], share = -np.inf if maximize else np.inf, 1
    limit = max(1, round(share * shape[1]))
    want = linear_sum_assignment(cost[:, :limit], maximize)
    row, column = solved(cost, limit, maximize, checked)
    found = len(want[0])
    assert (row[found:] == -1).all()
    assert (column[found:] == -1).all()
    assert (np.diff(row[:found]) > 0).all()
    assert len(set(column[:found])) == found
    np.testing.assert_allclose(cost[row[:found], column[:found]].sum(), cost[want].sum(), atol=1e-12)


@pytest.mark.parametrize(
    ("cost", "limit", "says"),
    [
        ([[1, np.nan], [2, 3]], 2, "NaN, or infinite on the better side"),
        ([[1, -np.inf], [2, 3]], 2, "NaN, or infinite on the better side"),
        ([[1, np.inf], [2, np.inf]], 2, "infinite sums alone"),
        ([[1, 2], [2, 3]], 0, "dimension_limit 0 for 2 columns"),
        ([[1, 2], [2, 3]], 3, "dimension_limit 3 for 2 columns"),
    ],
)
@pytest.mark.parametrize("checked", [False, True])
def test_what_has_no_assignment_is_an_error(cost: list[list[float]], limit: int, says: str, checked: bool) -> None:
    with pytest.raises(KernelError, match=says):
        solved(np.array(cost), limit, False, checked)


@settings(max_examples=20, deadline=None)
@given(batch=st.integers(1, 3), size=st.integers(1, 40), seed=st.integers(0, 99))
def test_exchanges(batch: int, size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    order = np.stack([rng.permutation(size) for _ in range(batch)]).astype(np.int32)
    for where, (_, made) in run_all("exchanges", {"batch": batch, "size": size}, order).items():
        for wanted, exchanges in zip(order, made.reshape(order.shape), strict=True):
            rows = np.arange(size)
            for k, other in enumerate(exchanges):
                rows[[k, other]] = rows[[other, k]]
            np.testing.assert_array_equal(rows, wanted, err_msg=where)
            assert (exchanges >= np.arange(size)).all(), where
        for here, (again,) in run_all("row_order", {"batch": batch, "count": size, "size": size}, made).items():
            np.testing.assert_array_equal(again.reshape(order.shape), order, err_msg=f"{where}, {here}")


def test_exchanges_with_no_row_are_left_out() -> None:
    given = np.array([-1, 3, 4, 2**31 - 1], np.int32)
    for where, (order,) in run_all("row_order", {"batch": 2, "count": 2, "size": 4}, given).items():
        assert order.tolist() == [0, 3, 2, 1, 0, 1, 2, 3], where
    with pytest.raises(ValueError, match="5 exchanges of 4 rows"):
        EMITTERS["row_order"].operands({"batch": 1, "count": 5, "size": 4})
