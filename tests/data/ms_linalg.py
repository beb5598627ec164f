"""Numbers of linear algebra, special functions and windows from MindSpore, for tests/ops/test_linalg_recorded.py.

Run with MindSpore's Python in an empty folder: python ms_linalg.py OUTPUT.json. What its CPU refuses
(einsum, ormqr, matrix_exp, EuclideanNorm) is compared with SciPy or NumPy in tests/ops/test_linalg.py.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np


def array(*shape: int, seed: int = 0, low: float = -1.0, high: float = 1.0) -> Any:
    """float32 numbers between two bounds."""
    return np.random.default_rng(seed + sum(shape)).uniform(low, high, shape).astype(np.float32)


def ints(*values: Any, dtype: str = "int32") -> Any:
    return np.array(values, dtype)


A, B = array(3, 3), array(2, 3, 3)
POSITIVE = (B @ B.swapaxes(1, 2) + np.eye(3)).astype(np.float32)
FACTOR = np.linalg.cholesky(POSITIVE)
TALL, WIDE, RIGHT = array(5, 3), array(2, 3, 5), array(2, 3, 2, seed=3)
X, V, W = array(3, 4), array(4), array(3)
BAND = array(2, 3, 4)
DIAGONALS = array(2, 2, 3)
ROWS = array(4, 3, seed=5)
PLUS = np.array([0.05, 0.5, 1.0, 2.0, 4.5, 20.0], np.float32)
SIGNED = np.array([-20.0, -3.0, -0.1, 0.0, 0.1, 1.0, 3.0, 20.0], np.float32)

#: name -> (function or primitive, arguments of the primitive or None, operands, further arguments by position and name).
CASES: dict[str, tuple[str, Any, tuple[Any, ...], tuple[Any, ...], dict[str, Any]]] = {
    # ---- systems
    "det": ("det", None, (B,), (), {}),
    "slogdet": ("slogdet", None, (B,), (), {}),
    "logdet": ("logdet", None, (POSITIVE,), (), {}),
    "log_matrix_determinant": ("log_matrix_determinant", None, (B,), (), {}),
    "inverse": ("inverse", None, (B,), (), {}),
    "inverse_singular": ("det", None, (np.ones((2, 2), np.float32),), (), {}),
    "cholesky": ("cholesky", None, (POSITIVE,), (), {"upper": True}),
    "cholesky_inverse": ("cholesky_inverse", None, (FACTOR[0],), (), {}),
    "cholesky_inverse_upper": ("cholesky_inverse", None, (FACTOR[0].T.copy(),), (True,), {}),
    "cholesky_solve": ("cholesky_solve", None, (RIGHT[0], FACTOR[0]), (), {}),
    "cholesky_solve_upper": ("cholesky_solve", None, (RIGHT[0], FACTOR[0].T.copy()), (True,), {}),
    "matrix_solve": ("matrix_solve", None, (B, RIGHT), (), {}),
    "matrix_solve_adjoint": ("matrix_solve", None, (B, RIGHT, True), (), {}),
    "MatrixTriangularSolve": ("MatrixTriangularSolve", (False, True), (B, RIGHT), (), {}),
    "MatrixTriangularSolve_lower": ("MatrixTriangularSolve", (), (B, RIGHT), (), {}),
    "lu_solve": ("lu_solve", None, (RIGHT[0], A, ints(2, 3, 3)), (), {}),
    "lu_unpack": ("lu_unpack", None, (A, ints(2, 3, 3)), (), {}),
    "lu_unpack_wide": ("lu_unpack", None, (array(3, 5), ints(3, 2, 3)), (), {}),
    "lstsq": ("lstsq", None, (TALL, array(5, 2)), (), {}),
    "lstsq_vector": ("lstsq", None, (TALL, array(5)), (), {}),
    "lstsq_wide": ("lstsq", None, (TALL.T.copy(), W), (), {}),
    "pinv": ("pinv", None, (TALL,), (), {}),
    "pinv_hermitian": ("pinv", None, (A,), (), {"hermitian": True}),
    # ---- decompositions
    "svd_values": ("svd", None, (WIDE,), (), {"compute_uv": False}),
    "qr": ("qr", None, (TALL,), (), {}),
    "qr_complete": ("qr", None, (TALL,), ("complete",), {}),
    "qr_wide": ("qr", None, (WIDE,), (), {}),
    "geqrf": ("geqrf", None, (TALL,), (), {}),
    "geqrf_wide": ("geqrf", None, (WIDE[0],), (), {}),
    "orgqr": ("orgqr", None, (TALL, W), (), {}),
    "matrix_power": ("matrix_power", None, (B, 5), (), {}),
    "matrix_power_negative": ("matrix_power", None, (B, -2), (), {}),
    # ---- norms
    **{
        f"matrix_norm_{o}": ("matrix_norm", None, (WIDE,), (), {"ord": o, "axis": (2, 0), "keepdims": True})
        for o in ("fro", 1, -1, float("inf"), -float("inf"))
    },
    **{f"matrix_norm_{o}": ("matrix_norm", None, (WIDE,), (), {"ord": o}) for o in ("nuc", 2, -2)},
    **{f"norm_{o}": ("norm", None, (X,), (o,), {}) for o in (None, "fro", "nuc", 1, -1, 2, -2, float("inf"))},
    **{f"norm_of_rows_{o}": ("norm", None, (X,), (o, 1), {}) for o in (None, 0, 1, 3, -float("inf"))},
    **{f"vector_norm_{o}": ("vector_norm", None, (WIDE, o), (), {}) for o in (0, 1, 2.5, float("inf"))},
    **{f"cond_{o}": ("cond", None, (A,), (o,), {}) for o in (None, "fro", "nuc", 1, -1, 2, -2)},
    "NuclearNorm": ("NuclearNorm", ((0, 2), True), (WIDE,), (), {}),
    "LpNorm": ("LpNorm", ([0, 1], 3), (X,), (), {}),
    # ---- products and choices
    "vander": ("vander", None, (V,), (), {}),
    "vander_3": ("vander", None, (V, 3), (), {}),
    "batch_dot": ("batch_dot", None, (WIDE, array(2, 5, 2)), (), {}),
    "batch_dot_axes": ("batch_dot", None, (WIDE, array(2, 4, 3, 2)), ([1, 2],), {}),
    "batch_dot_vectors": ("batch_dot", None, (X, X), (), {}),
    "row_stack": ("row_stack", None, ((V, V),), (), {}),
    "cartesian_prod": ("cartesian_prod", None, (V, W), (), {}),
    "combinations": ("combinations", None, (V,), (), {}),
    "combinations_again": ("combinations", None, (V, 3, True), (), {}),
    "pdist": ("pdist", None, (ROWS, 3.0), (), {}),
    "pdist_inf": ("pdist", None, (ROWS, float("inf")), (), {}),
    "pdist_0": ("pdist", None, (ROWS, 0.0), (), {}),
    "bidense": ("bidense", None, (array(2, 3), array(2, 4), array(5, 3, 4), array(5)), (), {}),
    "TridiagonalMatMul": ("TridiagonalMatMul", (), (array(1, 4), array(1, 4, seed=1), array(1, 4, seed=2), array(4, 3)), (), {}),
    # ---- bands
    "matrix_band_part": ("matrix_band_part", None, (BAND, 1, 0), (), {}),
    "matrix_band_part_negative": ("matrix_band_part", None, (BAND, -1, 1), (), {}),
    **{
        f"matrix_diag_{a}": ("matrix_diag", None, (DIAGONALS,), (), {"k": k, "padding_value": 9.0, "align": a})
        for a, k in (
            ("RIGHT_LEFT", ints(0, 1)), ("LEFT_RIGHT", ints(-1, 0)), ("LEFT_LEFT", ints(1, 2)), ("RIGHT_RIGHT", ints(-2, -1)),
        )
    },
    "matrix_diag_sizes": ("matrix_diag", None, (array(2, 3),), (), {"k": 1, "num_rows": 3, "num_cols": 5}),
    **{
        f"matrix_diag_part_{a}": ("matrix_diag_part", None, (BAND, k, np.float32(9.0), a), (), {})
        for a, k in (
            ("RIGHT_LEFT", ints(-1, 2)), ("LEFT_RIGHT", ints(-2, 1)), ("LEFT_LEFT", ints(-1, 3)), ("RIGHT_RIGHT", ints(-1, 1)),
        )
    },
    "matrix_set_diag": ("matrix_set_diag", None, (BAND, DIAGONALS, ints(0, 1)), (), {"align": "LEFT_RIGHT"}),
    "matrix_set_diag_low": ("matrix_set_diag", None, (BAND, array(2, 2)), (), {"k": -1}),
    # ---- special functions
    **{f"bessel_{n}": (f"bessel_{n}", None, (SIGNED,), (), {}) for n in ("i0", "i0e", "i1", "i1e", "j0", "j1")},
    **{f"bessel_{n}": (f"bessel_{n}", None, (PLUS,), (), {}) for n in ("k0", "k0e", "k1", "k1e", "y0", "y1")},
    "igamma": ("igamma", None, (PLUS, PLUS[::-1].copy()), (), {}),
    "igammac": ("igammac", None, (PLUS, PLUS[::-1].copy()), (), {}),
    "polygamma": ("polygamma", None, (np.array(2, np.int64), PLUS), (), {}),
    "zeta": ("zeta", None, (PLUS[2:] + 0.5, PLUS[:4]), (), {}),
    "mvlgamma": ("mvlgamma", None, (PLUS[3:], 3), (), {}),
    "nextafter": ("nextafter", None, (SIGNED, SIGNED[::-1].copy()), (), {}),
    "Betainc": ("Betainc", (), (PLUS[:4], PLUS[1:5].copy(), PLUS[:4] / 4), (), {}),
    # ---- windows
    **{f"{n}_window_{p}": (f"{n}_window", None, (np.array(7) if n[0] == "b" else 7,), (p,), {})
       for n in ("bartlett", "blackman", "hamming", "hann", "kaiser") for p in (True, False)},
    "hamming_window_ab": ("hamming_window", None, (5,), (), {"alpha": 0.6, "beta": 0.3}),
    # ---- parameters
    "div_floor": ("div", None, (SIGNED, PLUS[2:3]), (), {"rounding_mode": "floor"}),
    "div_trunc": ("div", None, (ints(-7, 7, 5), ints(2, -2, 5)), (), {"rounding_mode": "trunc"}),
    "diff_around": ("diff", None, (X, 1, 0), (), {"prepend": X[:1].copy(), "append": X[:2].copy()}),
    "flatten_f": ("flatten", None, (BAND, "F"), (), {"start_dim": 0}),
    "gather_batch": ("gather", None, (WIDE, ints([0, 4], [2, 1]), 2), (1,), {}),
    "gather_batch_middle": ("gather", None, (WIDE, ints([0, 2], [2, 1]), 1), (1,), {}),
    "softmax_dtype": ("softmax", None, (X,), (), {"dtype": "float64"}),
}  # fmt: skip


def measured(framework: Any, ops: Any, tensor: Any, name: str) -> list[Any]:
    """The results of a case in either framework, as arrays."""

    def given(x: Any) -> Any:
        if isinstance(x, tuple) and any(isinstance(v, np.ndarray) for v in x):
            return tuple(map(given, x))
        return tensor(x) if isinstance(x, (np.ndarray, np.generic)) else x

    function, attrs, operands, rest, options = CASES[name]
    made = getattr(ops, function)
    if attrs is not None:
        made = made(*attrs)
    if "dtype" in options:
        options = {**options, "dtype": getattr(framework, options["dtype"])}
    got = made(*map(given, operands), *rest, **{k: given(v) for k, v in options.items()})
    return [x.asnumpy() for x in (got if isinstance(got, (tuple, list)) else [got])]


def main() -> None:
    """Record all cases."""
    import mindspore as ms

    made: dict[str, Any] = {}
    for name in CASES:
        results = measured(ms, ms.ops, ms.Tensor, name)
        made[name] = [
            {"shape": a.shape, "dtype": str(a.dtype), "values": [float(f"{v:.7g}") for v in a.ravel().tolist()]}
            for a in results
        ]
    with open(sys.argv[1], "w") as file:
        json.dump(made, file, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main()
