"""Numbers of counting, ordering and scattering functions from MindSpore, for tests/ops/test_counts_recorded.py.

Run with MindSpore's Python in an empty folder: python ms_counts.py OUTPUT.json
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

NAN, INF = float("nan"), float("inf")
HOLES = np.array([[3, 1, NAN, 2], [5, 4, 7, 6]], np.float32)
ROWS = np.array([[1, 2], [3, 4]], np.float32)
TABLE = np.array([[1, 8, 5, 2, 7], [4, 9, 1, 3, 5]], np.float32)


def f(*values: Any) -> Any:
    """float32"""
    return np.array(values, np.float32)


def i(*values: Any) -> Any:
    """int32"""
    return np.array(values, np.int32)


def j(*values: Any) -> Any:
    """int64"""
    return np.array(values, np.int64)


#: name -> function of (functions, primitives, tensor, parameter).
Case = Callable[[Any, Any, Any, Any], Any]
CASES: dict[str, Case] = {
    "nanmedian": lambda o, p, t, q: o.nanmedian(t(HOLES), 1),
    "nanmedian_of_none": lambda o, p, t, q: o.nanmedian(t(f(NAN, NAN))),
    "median_keeps": lambda o, p, t, q: o.median(t(f([3, 1, 2], [6, 5, 4])), 0, True),
    "nanmean": lambda o, p, t, q: o.nanmean(t(HOLES), 1),
    "nanmean_keeps": lambda o, p, t, q: o.nanmean(t(HOLES), (0, 1), True),
    "nanmean_of_none": lambda o, p, t, q: o.nanmean(t(f(NAN, NAN))),
    "Median": lambda o, p, t, q: o.Median(False, 0)(t(f(3, 1, 2, 5))),
    "histc": lambda o, p, t, q: o.histc(t(f(1, 2, 3, 4, 5)), 4),
    "histc_of_integers": lambda o, p, t, q: o.histc(t(i(1, 2, 3, 4, 5)), 4, 2, 5),
    "histc_of_one": lambda o, p, t, q: o.histc(t(f(2, 2)), 4),
    "histc_of_one_bound": lambda o, p, t, q: o.histc(t(f(2, 2)), 4, 2, 2),
    "histc_one_bin": lambda o, p, t, q: o.histc(t(f(1, 2)), 1),
    "Histogram": lambda o, p, t, q: p.Histogram(3, 0.0, 2.0)(t(f(-1, 0, 1, 1.5, 2, 3))),
    "bincount": lambda o, p, t, q: o.bincount(t(j(1, 1, 3))),
    "bincount_weights": lambda o, p, t, q: o.bincount(t(i(1, 1, 3)), t(f(1, 2, 0.5)), 6),
    "bincount_integer_weights": lambda o, p, t, q: o.bincount(t(i(1, 1, 3)), t(i(1, 2, 5)), 6),
    "Bincount": lambda o, p, t, q: p.Bincount()(t(i(1, 1, 3)), t(np.array(3, np.int32)), t(f(1, 2, 0.5))),
    "unique_consecutive": lambda o, p, t, q: o.unique_consecutive(t(i(1, 1, 2, 2, 1)), True, True),
    "unique_consecutive_flat": lambda o, p, t, q: o.unique_consecutive(t(f([1, 1, 2], [2, 1, 3])), True, True),
    "unique_consecutive_axis": lambda o, p, t, q: o.unique_consecutive(t(f([1, 1, 2], [1, 1, 3])), True, True, -1),
    "unique_consecutive_counts": lambda o, p, t, q: o.unique_consecutive(t(f(1, 1, 2)), False, True),
    "unique_with_pad": lambda o, p, t, q: o.unique_with_pad(t(i(3, 1, 3, 2, 1)), 0),
    "intopk": lambda o, p, t, q: o.intopk(t(TABLE), t(i(1, 3)), 3),
    "intopk_tie": lambda o, p, t, q: o.intopk(t(f([1, 1, 1])), t(i(2)), 1),
    "intopk_beyond": lambda o, p, t, q: o.intopk(t(TABLE), t(i(7, -1)), 3),
    "intopk_infinite": lambda o, p, t, q: o.intopk(t(f([1, NAN, 5], [4, INF, 1])), t(i(1, 1)), 3),
    **{
        n: lambda o, p, t, q, n=n: getattr(p, n)()(t(f(1, 2, 3, 4)), t(i(0, 0, 2, 3)))
        for n in ("SegmentSum", "SegmentMean", "SegmentMax", "SegmentMin", "SegmentProd")
    },
    "SegmentMean_of_integers": lambda o, p, t, q: p.SegmentMean()(t(i(1, 2, 3, 4)), t(i(0, 0, 2, 3))),
    "SegmentMean_of_rows": lambda o, p, t, q: p.SegmentMean()(t(f([1, 2], [3, 4], [5, 7])), t(j(0, 0, 2))),
    "sparse_segment_mean": lambda o, p, t, q: o.sparse_segment_mean(
        t(f([1, 2], [3, 4], [5, 6])), t(i(0, 1, 2)), t(i(0, 0, 2))
    ),
    "ListDiff": lambda o, p, t, q: p.ListDiff()(t(i(1, 2, 3, 2, 4)), t(i(2))),
    "SubAndFilter": lambda o, p, t, q: p.SubAndFilter()(t(i(1, 3, 2, 4)), 3, 1),
    "NthElement": lambda o, p, t, q: p.NthElement()(t(f([3, 1, 2], [6, 5, 4])), 1),
    "NthElement_reverse": lambda o, p, t, q: p.NthElement(True)(t(f([3, 1, 2], [6, 5, 4])), 0),
    "UnravelIndex": lambda o, p, t, q: p.UnravelIndex()(t(i(7, 3)), t(i(3, 4))),
    "RaggedRange": lambda o, p, t, q: p.RaggedRange(q)(t(i(2, 5, 8)), t(i(3, 5, 12)), t(i(1, 1, 1))),
    "LowerBound": lambda o, p, t, q: p.LowerBound()(t(f([0, 2, 2, 4], [1, 2, 3, 4])), t(f([2, 5], [0, 3]))),
    "UpperBound": lambda o, p, t, q: p.UpperBound()(t(f([0, 2, 2, 4], [1, 2, 3, 4])), t(f([2, 5], [0, 3]))),
    "EditDistance": lambda o, p, t, q: p.EditDistance(True)(
        t(j([0, 0, 0], [1, 0, 1])), t(j(1, 2)), t(j(2, 1, 2)), t(j([0, 1, 0], [0, 0, 1])), t(j(1, 3)), t(j(2, 2, 2))
    ),
    "FillDiagonal": lambda o, p, t, q: p.FillDiagonal(9.0)(t(np.ones((5, 2), np.float32))),
    "FillDiagonal_wrap": lambda o, p, t, q: p.FillDiagonal(9.0, True)(t(np.ones((5, 2), np.float32))),
    "FillDiagonal_of_three": lambda o, p, t, q: p.FillDiagonal(9.0)(t(np.ones((3, 3, 3), np.float32))),
    "FillDiagonal_wide": lambda o, p, t, q: p.FillDiagonal(9.0, True)(t(np.ones((2, 5), np.float32))),
    "IndexPut": lambda o, p, t, q: p.IndexPut(0)(t(ROWS), t(f(5)), [t(i(0, 1))]),
    "IndexPut_adds": lambda o, p, t, q: p.IndexPut(1)(t(ROWS), t(f(5, 6)), [t(i(0, 0)), t(i(1, 1))]),
    "ScatterAddWithAxis": lambda o, p, t, q: p.ScatterAddWithAxis(0)(t(ROWS), t(i([1, 0])), t(f([9, 8]))),
    "masked_scatter": lambda o, p, t, q: t(f(1, 2, 3, 4)).masked_scatter(
        t(np.array([True, False, True, False])), t(f(9, 8))
    ),
    "diagonal_scatter": lambda o, p, t, q: t(f([1, 2, 3], [3, 4, 5])).diagonal_scatter(t(f(9, 8)), 1),
    "scatter_div": lambda o, p, t, q: o.scatter_div(t(ROWS), t(i(0, 0)), t(f([2, 2], [4, 4]))),
    "scatter_nd_add": lambda o, p, t, q: o.scatter_nd_add(t(ROWS), t(i([0], [1])), t(f([2, 2], [4, 4]))),
    "tensor_scatter_div": lambda o, p, t, q: o.tensor_scatter_div(t(i(7, -7)), t(i([0], [1])), t(i(2, 2))),
    **{
        f"Tensor.scatter_{n}": lambda o, p, t, q, n=n: getattr(t(ROWS), f"scatter_{n}")(
            t(i([1, 0], [0, 0])), t(f(9, -8))
        )
        for n in ("add", "sub", "mul", "div", "max", "min")
    },
    "Tensor.searchsorted": lambda o, p, t, q: t(f(1, 3, 5)).searchsorted(t(f(2, 4))),
    "Tensor.cov": lambda o, p, t, q: t(f([1, 3, 5], [2, 2, 1])).cov(),
    "Tensor.short": lambda o, p, t, q: t(f(-1, 300.5)).short(),
    "eps": lambda o, p, t, q: o.eps(t(f(1, 2))),
    "Tensor.copy_": lambda o, p, t, q: t(f(1, 2)).copy_(t(i(3, 4))),
    "log_uniform_candidate_sampler": lambda o, p, t, q: o.log_uniform_candidate_sampler(
        t(j([0, 2], [1, 4])), 2, 4, False, 5
    )[1],
    "uniform_candidate_sampler": lambda o, p, t, q: o.uniform_candidate_sampler(t(j([0, 2], [1, 4])), 2, 4, False, 5)[
        1
    ],
    "choice_with_mask_of_all": lambda o, p, t, q: o.choice_with_mask(t(np.array([[False, False], [True, False]])), 3),
}


def measured(functions: Any, primitives: Any, tensor: Any, dtype: Any, name: str) -> list[Any]:
    """The results of a case in either framework, as arrays. dtype: its int64."""
    made = CASES[name](functions, primitives, tensor, dtype)
    return [x.asnumpy() for x in (made if isinstance(made, (tuple, list)) else (made,))]


def main() -> None:
    """Record all cases."""
    import mindspore as ms
    from mindspore.ops import operations

    made = {}
    for name in CASES:
        made[name] = [
            {"shape": a.shape, "dtype": str(a.dtype), "values": [float(f"{v:.7g}") for v in a.ravel().tolist()]}
            for a in measured(ms.ops, operations, ms.Tensor, ms.int64, name)
        ]
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(made, file)
        file.write("\n")


if __name__ == "__main__":
    main()
