"""Numbers of mindspore.scipy, for tests/ops/test_scipy_recorded.py.

Run with MindSpore's Python in an empty folder: python ms_scipy.py OUTPUT.json. What its CPU refuses or gets wrong is compared
with SciPy in tests/ops/test_scipy.py.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np


def array(*shape: int, seed: int = 0, dtype: str = "float32") -> Any:
    """Numbers between -1 and 1."""
    return np.random.default_rng(seed + sum(shape)).uniform(-1, 1, shape).astype(dtype)


A, B, V = array(5, 5), array(5, 2), array(5)
BATCH = array(2, 3, 3)
POSITIVE = (A @ A.T + np.eye(5)).astype(np.float32)
WHOLE = np.array([[5, 1, 2], [1, 7, 3], [2, 3, 9]])
WIDE = array(3, 5)
COMPLEX = (A + 1j * array(5, 5, seed=1)).astype(np.complex64)
STRONG = COMPLEX + 2 * np.eye(5, dtype=np.complex64)
DRIVERS = (None, "gels", "gelsy", "gelss", "gelsd")
TALL, SIDES = array(5, 3), array(5, 2, seed=3)
DEFICIENT = np.outer(array(5), array(3)).astype(np.float32)
COSTS = array(4, 6, dtype="float64")
LU_FACTORS = (np.triu(POSITIVE), np.array([1, 1, 3, 3, 4], np.int32))

#: name -> (module, function, arguments, further arguments by name).
CASES: dict[str, tuple[str, str, tuple[Any, ...], dict[str, Any]]] = {
    # ---- linalg
    **{
        f"solve_triangular_{trans}_{lower}_{unit}": (
            "linalg", "solve_triangular", (POSITIVE, V if unit else B), {"trans": trans, "lower": lower, "unit_diagonal": unit},
        )
        for trans in (0, "T", 2) for lower in (False, True) for unit in (False, True)
    },
    **{
        f"solve_triangular_{dtype}": ("linalg", "solve_triangular", (WHOLE.astype(dtype), np.arange(1, 4).astype(dtype)), {})
        for dtype in ("int8", "int16", "int32", "int64", "float16", "float64")
    },
    "solve_triangular_batch": ("linalg", "solve_triangular", (BATCH, array(2, 3)), {"lower": True}),
    "solve_triangular_batch_matrix": ("linalg", "solve_triangular", (BATCH, array(2, 3, 4)), {}),
    "solve_triangular_complex": ("linalg", "solve_triangular", (STRONG, COMPLEX[:, :2].copy()), {"lower": True}),
    "solve_triangular_complex_T": ("linalg", "solve_triangular", (STRONG, COMPLEX[0].copy()), {"trans": 1}),
    "block_diag": ("linalg", "block_diag", (A, V, np.float32(3), B), {}),
    "block_diag_integers": ("linalg", "block_diag", (np.ones((2, 1), np.int32), WHOLE.astype(np.int32)), {}),
    "block_diag_mixed": ("linalg", "block_diag", (np.ones((1, 2), np.int32), A), {}),
    "block_diag_none": ("linalg", "block_diag", (), {}),
    **{
        f"{function}_{a.dtype}": ("linalg", function, (a,), {})
        for function in ("inv", "det", "cholesky", "cho_factor", "lu_factor")
        for a in (POSITIVE, POSITIVE.astype(np.float64), WHOLE.astype(np.int32), WHOLE)
    },
    "det_2": ("linalg", "det", (A[:2, :2].copy(),), {}),
    "cholesky_lower": ("linalg", "cholesky", (POSITIVE,), {"lower": True}),
    "cho_factor_lower": ("linalg", "cho_factor", (POSITIVE,), {"lower": True}),
    "cho_solve": ("linalg", "cho_solve", ((np.linalg.cholesky(POSITIVE), True), B), {}),
    "cho_solve_upper": ("linalg", "cho_solve", ((np.linalg.cholesky(POSITIVE).T.copy(), False), V), {}),
    "cho_solve_integers": ("linalg", "cho_solve", ((WHOLE, True), np.arange(3)), {}),
    "eigh_values": ("linalg", "eigh", (A,), {"eigvals_only": True}),
    "eigh_values_upper": ("linalg", "eigh", (A,), {"eigvals_only": True, "lower": False}),
    "eigh_values_integers": ("linalg", "eigh", (WHOLE,), {"eigvals_only": True}),
    "lu": ("linalg", "lu", (A,), {}),
    "lu_integers": ("linalg", "lu", (WHOLE,), {}),
    "lu_wide": ("linalg", "lu", (WIDE,), {}),
    "lu_solve": ("linalg", "lu_solve", (LU_FACTORS, B), {}),
    **{f"lstsq_{d}": ("linalg", "lstsq", (TALL, SIDES), {"driver": d}) for d in DRIVERS},
    **{f"lstsq_vector_{d}": ("linalg", "lstsq", (TALL, V), {"driver": d}) for d in (None, "gels", "gelss")},
    **{f"lstsq_wide_{d}": ("linalg", "lstsq", (WIDE, array(3, 2)), {"driver": d}) for d in (None, "gels", "gelss")},
    **{f"lstsq_batch_{d}": ("linalg", "lstsq", (array(2, 4, 3), array(2, 4)), {"driver": d}) for d in (None, "gels", "gelsd")},
    "lstsq_deficient": ("linalg", "lstsq", (DEFICIENT, SIDES), {}),
    **{
        f"lstsq_{dtype}": ("linalg", "lstsq", (TALL.astype(dtype), SIDES.astype(dtype)), {"driver": d})
        for dtype, d in (("float16", "gels"), ("float64", "gelss"))
    },
    "lstsq_complex": ("linalg", "lstsq", (COMPLEX[:, :3].copy(), COMPLEX[:, 3:].copy()), {"driver": "gelss"}),
    # ---- fft
    **{
        f"{function}_{dtype}": ("fft", function, ((9 * WIDE).astype(dtype),), {})
        for function in ("dct", "idct", "dctn", "idctn")
        for dtype in ("int16", "int32", "int64", "float16", "float32", "float64", "complex64")
    },
    **{f"{f}_{n}": ("fft", f, (WIDE,), {"n": n, "norm": "ortho"}) for f in ("dct", "idct") for n in (1, 4, 8)},
    **{f"{function}_axis": ("fft", function, (BATCH,), {"axis": 1}) for function in ("dct", "idct")},
    **{f"{function}_s": ("fft", function, (BATCH,), {"s": (4, 2)}) for function in ("dctn", "idctn")},
    **{f"{function}_axes": ("fft", function, (BATCH,), {"s": (3, 2), "axes": (0, -1)}) for function in ("dctn", "idctn")},
    # ---- optimize
    **{
        f"linear_sum_assignment_{maximize}_{turned}": (
            "optimize", "linear_sum_assignment", (COSTS.T.copy() if turned else COSTS, maximize), {},
        )
        for maximize in (False, True) for turned in (False, True)
    },
    **{
        f"linear_sum_assignment_{dtype}": ("optimize", "linear_sum_assignment", ((9 * COSTS + 9).astype(dtype), False), {})
        for dtype in ("float16", "float32", "int64", "uint8")
    },
    **{
        f"linear_sum_assignment_limit_{limit}": ("optimize", "linear_sum_assignment", (COSTS, True, np.array(limit)), {})
        for limit in (1, 3, 6)
    },
    # ---- ops
    "LU": ("ops", "LU", (A,), {}),
    "LU_wide": ("ops", "LU", (array(2, 3, 4),), {}),
    "LU_float16": ("ops", "LU", (A.astype(np.float16),), {}),
    "SolveTriangular": ("ops", "SolveTriangular", (POSITIVE, B), {}),
    "LinearSumAssignment": ("ops", "LinearSumAssignment", (COSTS, np.array(2, np.int64), False), {}),
}  # fmt: skip

#: name -> (function, operands): gradients of the sum of the results times numbers, for all operands.
GRADIENTS: dict[str, tuple[str, tuple[Any, ...], dict[str, Any]]] = {
    "solve_triangular": ("solve_triangular", (POSITIVE, B), {"lower": True}),
    "solve_triangular_unit": ("solve_triangular", (POSITIVE, V), {"trans": 1, "unit_diagonal": True}),
    "inv": ("inv", (POSITIVE,), {}),
    "det": ("det", (BATCH[0].copy(),), {}),
    "eigh_values": ("eigh", (POSITIVE,), {"eigvals_only": True}),
    "eigh_values_upper": ("eigh", (POSITIVE,), {"eigvals_only": True, "lower": False}),
    "lstsq": ("lstsq", (TALL, SIDES), {}),
    "idct": ("idct", (WIDE,), {"n": 7}),
    "idctn": ("idctn", (BATCH,), {}),
}


def rosenbrock(x: Any) -> Any:
    return ((1 - x[:-1]) ** 2 + 100 * (x[1:] - x[:-1] ** 2) ** 2).sum()


def himmelblau(p: Any) -> Any:
    x, y = p[0], p[1]
    return (x**2 + y - 11.0) ** 2 + (x + y**2 - 7.0) ** 2


def bowl(x: Any) -> Any:
    return ((x - 1.5) ** 2).sum() + (x[0] - x[1]) ** 2


#: name -> (function, method, x0, options).
MINIMA: dict[str, tuple[Any, str, Any, dict[str, Any]]] = {
    "bowl": (bowl, "BFGS", np.zeros(3, np.float32), {}),
    "bowl_lbfgs": (bowl, "LBFGS", np.zeros(3, np.float32), {}),
    "bowl_float64": (bowl, "BFGS", np.zeros(3), {"norm": 2}),
    "himmelblau": (himmelblau, "BFGS", np.zeros(2, np.float32), {"gtol": 1e-3}),
    "himmelblau_lbfgs": (himmelblau, "LBFGS", np.zeros(2, np.float32), {"gtol": 1e-3, "history_size": 3}),
    "few": (rosenbrock, "BFGS", np.array([-1.2, 1.0], np.float32), {"maxiter": 2}),
    "few_lbfgs": (rosenbrock, "LBFGS", np.array([-1.2, 1.0], np.float32), {"maxiter": 2}),
}


def cubic(x: Any) -> Any:
    return x[0] ** 2 - x[1] ** 3


#: name -> (function, x, direction, further arguments by name).
LINES: dict[str, tuple[Any, Any, Any, dict[str, Any]]] = {
    "cubic": (cubic, np.ones(2, np.float32), np.array([-1, -1], np.float32), {}),
    "bowl": (bowl, np.zeros(3, np.float32), np.array([1, 1, 1], np.float32), {}),
    "bowl_far": (bowl, np.zeros(3, np.float32), np.array([9, 9, 9], np.float32), {"c2": 0.1}),
    "bowl_near": (bowl, np.zeros(3, np.float32), np.array([0.01, 0.02, 0.01], np.float32), {"c2": 0.1}),
    "bowl_short": (bowl, np.zeros(3, np.float32), np.array([0.01, 0.02, 0.01], np.float32), {"c2": 0.1, "maxiter": 3}),
    "himmelblau": (himmelblau, np.zeros(2, np.float32), np.array([14, 22], np.float32), {"old_old_fval": 200.0}),
}


def made(framework: Any, scipy: Any, name: str) -> Any:
    """The results of a case in either framework."""
    module, function, arguments, options = CASES[name]

    def given(x: Any) -> Any:
        if isinstance(x, tuple):
            return tuple(map(given, x))
        return framework.Tensor(x) if isinstance(x, (np.ndarray, np.generic)) else x

    called = getattr(getattr(scipy, module), function)
    return (called() if module == "ops" else called)(*map(given, arguments), **options)


def flat(x: Any) -> list[Any]:
    """Tensors and Python's values as they follow each other."""
    return [y for item in x for y in flat(item)] if isinstance(x, (tuple, list)) else [x]


def gradients(framework: Any, scipy: Any, name: str) -> list[Any]:
    function, operands, options = GRADIENTS[name]
    called = getattr(scipy.linalg, function, None) or getattr(scipy.fft, function)

    def total(*xs: Any) -> Any:
        y = called(*xs, **options)
        y = y[0] if isinstance(y, tuple) else y
        weights = np.sin(np.arange(1, 1 + int(np.prod(y.shape)))).astype(np.float32).reshape(y.shape)
        return (y * framework.Tensor(weights)).sum()

    return flat(framework.grad(total, tuple(range(len(operands))))(*map(framework.Tensor, operands)))


def record(x: Any) -> Any:
    """Shape, dtype and numbers; complex ones as pairs."""
    if not hasattr(x, "asnumpy"):
        return x
    a = x.asnumpy()
    numbers = a.view(a.real.dtype) if a.dtype.kind == "c" and a.size else a
    return {"shape": a.shape, "dtype": str(a.dtype), "values": [float(f"{v:.7g}") for v in np.ravel(numbers).tolist()]}


def main() -> None:
    """Record all cases."""
    import mindspore as ms
    import mindspore.scipy as scipy
    import mindspore.scipy.ops

    ms.set_context(mode=ms.PYNATIVE_MODE)
    optimize = scipy.optimize
    found: dict[str, Any] = {
        "results": {name: [record(x) for x in flat(made(ms, scipy, name))] for name in CASES},
        "gradients": {name: [record(x) for x in gradients(ms, scipy, name)] for name in GRADIENTS},
        "minima": {
            name: [record(x) for x in optimize.minimize(f, ms.Tensor(x), method=method, options=options)]
            for name, (f, method, x, options) in MINIMA.items()
        },
        "lines": {
            name: [record(x) for x in optimize.line_search(f, ms.Tensor(x), ms.Tensor(p), **options)]
            for name, (f, x, p, options) in LINES.items()
        },
    }
    with open(sys.argv[1], "w") as file:
        json.dump(found, file, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main()
