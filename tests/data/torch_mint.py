"""Numbers of torch in float64 for tests/ops/test_mint.py: mindspore.mint has torch's functions, and runs on few processors.

Run with a Python that has torch: python torch_mint.py OUTPUT.json
"""

from __future__ import annotations

import json
import sys
from operator import attrgetter
from typing import Any

import numpy as np


def array(*shape: int, seed: int = 0, low: float = -2.0, high: float = 2.0) -> Any:
    """float32 numbers between two bounds, no two of them equal."""
    made = np.random.default_rng(seed + sum(shape)).uniform(low, high, shape)
    return made.astype(np.float32)


X, Y, POSITIVE, INSIDE = (
    array(3, 4),
    array(3, 4, seed=1),
    array(3, 4, low=0.1, high=4.0),
    array(3, 4, low=-0.9, high=0.9),
)
V, W, CUBE, SQUARE = array(4), array(4, seed=3), array(2, 3, 4), array(3, 3) + 3 * np.eye(3, dtype=np.float32)
TIES = np.array([[1, 3, 3, 0], [2, 2, 2, 2], [-1, 5, 0, 5]], np.float32)
INTS, BITS = np.array([[3, -5, 0], [7, 2, -8]], np.int32), np.array([[1, 2, 3], [-4, 5, 6]], np.int32)
TRUTH = np.array([[True, False, True], [False, False, True]])
PLACES = np.array([[0, 2, 1, 0], [2, 2, 0, 1], [1, 0, 2, 2]], np.int64)
ODD = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e30], np.float32)
EMPTY = np.zeros((0, 3), np.float32)

UNARY = {
    "abs": X, "acos": INSIDE, "acosh": POSITIVE + 1, "arccos": INSIDE, "arccosh": POSITIVE + 1, "arcsin": INSIDE,
    "arcsinh": X, "arctan": X, "arctanh": INSIDE, "asin": INSIDE, "asinh": X, "atan": X, "atanh": INSIDE, "ceil": X,
    "cos": X, "cosh": X, "erf": X, "erfc": X, "erfinv": INSIDE, "exp": X, "exp2": X, "expm1": X, "floor": X, "frac": X,
    "isfinite": ODD, "isinf": ODD, "isnan": ODD, "isneginf": ODD, "log": POSITIVE, "log10": POSITIVE, "log1p": POSITIVE,
    "log2": POSITIVE, "logical_not": TRUTH, "neg": X, "negative": X, "reciprocal": POSITIVE, "round": 3 * X,
    "rsqrt": POSITIVE, "sigmoid": X, "sign": TIES, "sin": X, "sinc": X, "sinh": X, "sqrt": POSITIVE, "square": X, "tan": INSIDE,
    "tanh": X, "bitwise_not": INTS, "clone": X, "ravel": X, "t": X, "trace": SQUARE, "inverse": SQUARE,
    "ones_like": X, "zeros_like": INTS,
}  # fmt: skip
BINARY = {
    "add": (X, Y), "sub": (X, V), "mul": (X, Y), "div": (X, POSITIVE), "divide": (X, POSITIVE), "floor_divide": (X, Y),
    "fmod": (3 * X, Y), "remainder": (3 * X, Y), "atan2": (X, Y), "arctan2": (X, Y), "pow": (POSITIVE, X),
    "float_power": (POSITIVE, X), "maximum": (X, Y), "minimum": (X, Y), "logaddexp": (X, Y), "logaddexp2": (X, Y),
    "xlogy": (X, POSITIVE), "eq": (TIES, TIES[::-1].copy()), "ne": (TIES, TIES[::-1].copy()), "gt": (X, Y), "ge": (X, Y),
    "lt": (X, Y), "le": (X, Y), "greater": (X, Y), "greater_equal": (X, Y), "less": (X, Y), "less_equal": (X, Y),
    "not_equal": (X, Y), "bitwise_and": (INTS, BITS), "bitwise_or": (INTS, BITS), "bitwise_xor": (INTS, BITS),
    "logical_and": (TRUTH, ~TRUTH), "logical_or": (TRUTH, ~TRUTH), "logical_xor": (TRUTH, ~TRUTH), "isclose": (X, X + 1e-7),
    "dot": (V, W), "outer": (V, W), "mm": (X, SQUARE[:, :1].T.repeat(4, 0)[:, :3].copy()), "mv": (X, V),
    "bmm": (CUBE, CUBE.transpose(0, 2, 1).copy()), "matmul": (CUBE, V), "cross": (SQUARE, SQUARE.T.copy()),
}  # fmt: skip
#: name of the case -> (function, arguments by position, arguments by name)
CASES: dict[str, tuple[str, tuple[Any, ...], dict[str, Any]]] = {
    **{name: (name, (x,), {}) for name, x in UNARY.items()},
    **{name: (name, pair, {}) for name, pair in BINARY.items()},
    # ---- integers, of functions that give floats
    **{f"{name}_ints": (name, (np.abs(INTS),), {}) for name in ("sqrt", "exp", "log1p", "rsqrt")},
    **{f"{name}_ints": (name, (BITS,), {}) for name in ("cos", "sin", "tanh", "erf", "sigmoid", "expm1", "round")},
    "log_truths": ("log", (TRUTH,), {}),
    "float_power_ints": ("float_power", (BITS, 2), {}),
    # ---- linalg, special
    "linalg.inv": ("linalg.inv", (SQUARE,), {}),
    "linalg.norm": ("linalg.norm", (X,), {}),
    "linalg.norm_axis": ("linalg.norm", (CUBE, 1), {"dim": -2, "keepdim": True}),
    "linalg.vector_norm": ("linalg.vector_norm", (CUBE, 3), {"dim": (0, 2)}),
    "linalg.matrix_norm": ("linalg.matrix_norm", (CUBE,), {}),
    "linalg.matrix_norm_rows": ("linalg.matrix_norm", (CUBE, float("inf")), {"dim": (0, 1), "keepdim": True}),
    "special.round": ("special.round", (X,), {"decimals": 1}),
    "special.log_softmax": ("special.log_softmax", (X, 1), {}),
    "add_alpha": ("add", (X, Y), {"alpha": 3}),
    "sub_alpha": ("sub", (X, 2.0), {"alpha": 0.5}),
    "div_floor": ("div", (X, Y), {"rounding_mode": "floor"}),
    "div_trunc": ("div", (X, Y), {"rounding_mode": "trunc"}),
    "div_ints": ("div", (INTS, BITS), {}),
    "div_ints_trunc": ("div", (INTS, BITS), {"rounding_mode": "trunc"}),
    "div_ints_floor": ("div", (INTS, BITS), {"rounding_mode": "floor"}),
    "addcdiv": ("addcdiv", (X, Y, POSITIVE), {"value": 0.5}),
    "clamp": ("clamp", (X, -0.5, 1.0), {}),
    "clamp_min": ("clamp", (X,), {"min": 0.0}),
    "clip": ("clip", (X, -1.0, 0.5), {}),
    "trunc": ("trunc", (3 * X,), {}),
    "fix": ("fix", (3 * X,), {}),
    "trunc_ints": ("trunc", (INTS,), {}),
    "addcmul": ("addcmul", (X, Y, POSITIVE), {"value": 0.5}),
    "lerp": ("lerp", (X, Y, 0.3), {}),
    "round_decimals": ("round", (X,), {"decimals": 2}),
    "softmax": ("softmax", (X, -1), {}),
    "where": ("where", (TRUTH, BITS.astype(np.float32), INTS.astype(np.float32)), {}),
    "nan_to_num_values": ("nan_to_num", (ODD,), {"nan": 1.0, "posinf": 2.0, "neginf": 3.0}),
    "all": ("all", (TRUTH,), {}),
    "all_dim": ("all", (TRUTH, 0), {"keepdim": True}),
    "any_dim": ("any", (TRUTH, -1), {}),
    "amax": ("amax", (TIES,), {}),
    "amax_dim": ("amax", (CUBE, (0, 2)), {"keepdim": True}),
    "amin_dim": ("amin", (X, 1), {}),
    "argmax": ("argmax", (X,), {}),
    "argmax_dim": ("argmax", (TIES, 1), {"keepdim": True}),
    "argmin_dim": ("argmin", (X, 0), {}),
    "max": ("max", (X,), {}),
    "max_dim": ("max", (X, 1), {}),
    "max_keepdim": ("max", (X,), {"dim": 0, "keepdim": True}),
    "max_other": ("max", (X, Y), {}),
    "min_dim": ("min", (X, 0), {}),
    "median": ("median", (X,), {}),
    "median_dim": ("median", (X, 1), {}),
    "count_nonzero": ("count_nonzero", (TIES,), {}),
    "count_nonzero_dim": ("count_nonzero", (TIES,), {"dim": 1}),
    "sum": ("sum", (X,), {}),
    "sum_dims": ("sum", (CUBE, (0, -1)), {"keepdim": True}),
    "sum_ints": ("sum", (INTS, 0), {}),
    "sum_truth": ("sum", (TRUTH,), {}),
    "sum_empty": ("sum", (EMPTY, 0), {}),
    "nansum": ("nansum", (np.array([[1, np.nan], [2, 3]], np.float32), 0), {}),
    "mean": ("mean", (X,), {}),
    "mean_dims": ("mean", (CUBE, (0, 1)), {}),
    "prod": ("prod", (X,), {}),
    "prod_dim": ("prod", (X, 1), {"keepdim": True}),
    "prod_ints": ("prod", (INTS,), {}),
    "var": ("var", (X,), {}),
    "var_dim": ("var", (X, 1), {"correction": 0, "keepdim": True}),
    "std_dims": ("std", (CUBE, (0, 2)), {"correction": 2}),
    "var_mean": ("var_mean", (X, 0), {}),
    "std_mean": ("std_mean", (X, 0), {"correction": 0}),
    "logsumexp": ("logsumexp", (50 * X, 1), {}),
    "logsumexp_dims": ("logsumexp", (X, (0, 1)), {"keepdim": True}),
    "cumsum": ("cumsum", (X, 1), {}),
    "cumsum_ints": ("cumsum", (INTS, 0), {}),
    "cumprod": ("cumprod", (X, 0), {}),
    "cummax": ("cummax", (X, 1), {}),
    "cummin": ("cummin", (X, 0), {}),
    "diff": ("diff", (X,), {"n": 2}),
    "diff_prepend": ("diff", (X,), {"dim": 0, "prepend": Y[:1].copy(), "append": Y[1:].copy()}),
    "kthvalue": ("kthvalue", (X, 2), {"dim": 0, "keepdim": True}),
    "histc": ("histc", (X,), {"bins": 5, "min": -1, "max": 2}),
    "bincount": ("bincount", (PLACES.ravel(),), {"weights": X.ravel(), "minlength": 5}),
    "gcd": ("gcd", (INTS, BITS), {}),
    "unique_consecutive": ("unique_consecutive", (TIES[1],), {"return_inverse": True, "return_counts": True}),
    "unique": ("unique", (TIES,), {}),
    "unique_places": ("unique", (PLACES,), {"return_inverse": True, "return_counts": True}),
    "unique_rows": ("unique", (TIES[[0, 1, 0, 2]],), {"return_inverse": True, "return_counts": True, "dim": 0}),
    "unique_nan": ("unique", (ODD[[6, 0, 6, 4]],), {"return_counts": True}),
    "triangular_solve": ("triangular_solve", (SQUARE, SQUARE.T.copy()), {"upper": False}),
    "addbmm": ("addbmm", (X[:, :3].copy(), CUBE[:, :, :2].copy(), CUBE[:, :2, :3].copy()), {"beta": 0.5, "alpha": 2}),
    "addmm": ("addmm", (SQUARE, X, X.T.copy()), {"beta": 0.5, "alpha": 2}),
    "addmv": ("addmv", (array(3), X, V), {"beta": 2, "alpha": 0.5}),
    "baddbmm": ("baddbmm", (array(2, 3, 3), CUBE, CUBE.transpose(0, 2, 1).copy()), {"beta": 2, "alpha": 0.5}),
    "cdist": ("cdist", (X, Y), {"p": 1.0}),
    "norm": ("norm", (X,), {}),
    "norm_inf": ("norm", (CUBE, float("inf"), 1), {"keepdim": True}),
    "norm_axes": ("norm", (CUBE, 3, (0, 2)), {"keepdim": True}),
    "norm_fro": ("norm", (CUBE,), {"p": "fro", "dim": (2, 0)}),
    "vdot": ("vdot", (V, W), {}),
    "einsum": ("einsum", ("bij,j->bi", CUBE, V), {}),
    "arange": ("arange", (1, 10, 3), {}),
    "arange_end": ("arange", (4,), {}),
    "linspace": ("linspace", (-1, 2.5, 6), {}),
    "linspace_one": ("linspace", (3, 5, 1), {}),
    "full": ("full", ((2, 3), 1.5), {}),
    "full_like": ("full_like", (X, 2.0), {}),
    "eye": ("eye", (3, 4), {}),
    "zeros": ("zeros", ((2, 0, 3),), {}),
    "ones": ("ones", ((2, 3),), {}),
    "cat": ("cat", ((X, Y), 1), {}),
    "concat": ("concat", ((X, Y),), {"dim": -1}),
    "stack": ("stack", ((X, Y), -1), {}),
    "hstack": ("hstack", ((X, Y),), {}),
    "dstack": ("dstack", ((X, Y),), {}),
    "chunk": ("chunk", (X, 3, 1), {}),
    "split": ("split", (X, 3, 1), {}),
    "split_sections": ("split", (X, [1, 0, 3]), {"dim": 1}),
    "unbind": ("unbind", (X, 1), {}),
    "narrow": ("narrow", (X, 1, 1, 2), {}),
    "select": ("select", (CUBE, 1, -1), {}),
    "flatten": ("flatten", (CUBE,), {}),
    "flatten_part": ("flatten", (CUBE, 1), {"end_dim": 2}),
    "reshape": ("reshape", (CUBE, (4, -1)), {}),
    "broadcast_to": ("broadcast_to", (V, (2, 3, -1)), {}),
    "permute": ("permute", (CUBE, (2, 0, 1)), {}),
    "transpose": ("transpose", (CUBE, 0, -1), {}),
    "swapaxes": ("swapaxes", (CUBE, 1, 2), {}),
    "squeeze": ("squeeze", (X[None, :, None],), {}),
    "squeeze_dims": ("squeeze", (X[None, :, None], (0, 1)), {}),
    "squeeze_dim": ("squeeze", (X[None], 1), {}),
    "unsqueeze": ("unsqueeze", (X, -1), {}),
    "flip": ("flip", (CUBE, (0, 2)), {}),
    "roll": ("roll", (X, (1, -1), (0, 1)), {}),
    "roll_flat": ("roll", (X, 5), {}),
    "tile": ("tile", (X, (2, 1, 3)), {}),
    "repeat_interleave": ("repeat_interleave", (X, 2), {}),
    "repeat_interleave_dim": ("repeat_interleave", (X, 3), {"dim": 1, "output_size": 12}),
    "diag": ("diag", (V, -1), {}),
    "diag_of": ("diag", (X, 1), {}),
    "tril": ("tril", (X, -1), {}),
    "triu": ("triu", (X, 1), {}),
    "meshgrid": ("meshgrid", (V, W[:2].copy()), {"indexing": "ij"}),
    "meshgrid_xy": ("meshgrid", (V, W[:2].copy()), {"indexing": "xy"}),
    "gather": ("gather", (X, 0, PLACES), {}),
    "gather_smaller": ("gather", (X, 1, PLACES[:2, :2].copy()), {}),
    "index_select": ("index_select", (X, 1, np.array([3, 0, 0])), {}),
    "index_add": ("index_add", (X, 0, np.array([2, 0, 2]), Y), {"alpha": 2}),
    "index_add_columns": ("index_add", (X, -1, np.array([1, 1, 3, 0]), Y), {}),
    "scatter": ("scatter", (X, 1, np.array([[0, 3], [1, 2], [2, 0]]), Y[:, :2].copy()), {}),
    "scatter_number": ("scatter", (X, 0, np.array([[0, 2, 1, 0]]), 7.0), {}),
    "scatter_add": ("scatter_add", (X, 0, PLACES, Y), {}),
    "take": ("take", (X, np.array([[0, 11], [-1, 5]])), {}),
    "searchsorted": ("searchsorted", (np.sort(X), Y), {"right": True}),
    "sort": ("sort", (X,), {"dim": 0, "descending": True}),
    "sort_stable": ("sort", (TIES,), {"stable": True}),
    "argsort": ("argsort", (X, 0), {"descending": True}),
    "topk": ("topk", (X, 2), {}),
    "topk_least": ("topk", (X, 2, 0, False), {}),
}

IMAGES, WINDOWS, CLASSES = array(2, 4, 5, 6), array(6, 2, 3, 3), np.array([1, 3, 0], np.int64)
SIGNS = np.array([1, -1, 1], np.int64)
FUNCTIONAL: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "relu": ((X,), {}),
    "relu6": ((4 * X,), {}),
    "elu": ((X, 0.5), {}),
    "gelu": ((X,), {}),
    "gelu_tanh": ((X,), {"approximate": "tanh"}),
    "glu": ((X, 1), {}),
    "hardtanh": ((X, -0.5, 1.0), {}),
    "hardshrink": ((X, 0.6), {}),
    "hardsigmoid": ((3 * X,), {}),
    "hardswish": ((3 * X,), {}),
    "mish": ((X,), {}),
    "selu": ((X,), {}),
    "softplus": ((X, 2, 1.5), {}),
    "softshrink": ((X, 0.6), {}),
    "leaky_relu": ((X,), {}),
    "leaky_relu_slope": ((X, 0.3), {}),
    "logsigmoid": ((20 * X,), {}),
    "prelu": ((X[:, :, None].copy(), np.float32([0.1, 0.2, 0.3, 0.4])), {}),
    "sigmoid": ((X,), {}),
    "silu": ((X,), {}),
    "tanh": ((X,), {}),
    "threshold": ((X, 0.5, -1.0), {}),
    "softmax": ((CUBE,), {"dim": 1}),
    "log_softmax": ((9 * X,), {"dim": 0}),
    "binary_cross_entropy": ((POSITIVE / 5, INSIDE**2), {}),
    "binary_cross_entropy_sum": ((POSITIVE / 5, INSIDE**2, POSITIVE), {"reduction": "sum"}),
    "binary_cross_entropy_with_logits": ((9 * X, INSIDE**2), {"pos_weight": V**2}),
    "kl_div": ((X, POSITIVE), {"reduction": "batchmean"}),
    "kl_div_logarithms": ((X, Y), {"log_target": True}),
    "kl_div_none": ((X, Y), {"log_target": True, "reduction": "none"}),
    "nll_loss": ((X, CLASSES), {"weight": POSITIVE[0].copy()}),
    "cross_entropy": ((X, CLASSES), {"label_smoothing": 0.1, "ignore_index": 3}),
    "cosine_embedding_loss": ((X, Y, SIGNS), {"margin": 0.2}),
    "mse_loss": ((X, Y), {"reduction": "sum"}),
    "l1_loss": ((X, Y), {}),
    "smooth_l1_loss": ((X, Y), {"beta": 0.5}),
    "smooth_l1_loss_sum": ((X, Y), {"reduction": "sum"}),
    "soft_margin_loss": ((X, np.sign(Y)), {}),
    "linear": ((CUBE, array(5, 4)), {"bias": array(5)}),
    "linear_vector": ((X, V), {}),
    "embedding": ((np.array([[0, 2], [1, 1]]), X), {}),
    "one_hot": ((CLASSES, 5), {}),
    "one_hot_counted": ((CLASSES,), {}),
    "normalize": ((X,), {}),
    "normalize_p": ((CUBE,), {"p": 1.0, "dim": -1}),
    "batch_norm": ((IMAGES, V, V**2, W, V), {}),
    "batch_norm_training": ((IMAGES, None, None), {"training": True}),
    "layer_norm": ((CUBE, (3, 4), X, Y), {}),
    "group_norm": ((IMAGES, 2, V, W), {}),
    "pad": ((X, (1, 2)), {}),
    "pad_reflect": ((IMAGES, (1, 2, 2, 1)), {"mode": "reflect"}),
    "pad_circular": ((IMAGES, (1, 2, 2, 1)), {"mode": "circular"}),
    "pad_value": ((X, (-1, 1, 1, 0)), {"value": 2.0}),
    "conv2d": ((IMAGES, WINDOWS), {"groups": 2, "padding": 1, "stride": (2, 1)}),
    "conv2d_same": ((IMAGES, WINDOWS, array(6)), {"groups": 2, "padding": "same", "dilation": 2}),
    "conv1d": ((CUBE, array(6, 3, 2), array(6)), {"padding": 1, "stride": 2}),
    "conv3d": ((IMAGES[:, None].copy(), array(3, 1, 2, 2, 2)), {"stride": (1, 2, 1)}),
    "adaptive_avg_pool1d": ((CUBE, 3), {}),
    "adaptive_avg_pool2d": ((IMAGES, (2, 3)), {}),
    "adaptive_avg_pool3d": ((IMAGES[:, None].copy(), (2, 3, 1)), {}),
    "adaptive_max_pool1d": ((CUBE, 2), {"return_indices": True}),
    "adaptive_max_pool2d": ((IMAGES, (2, 4)), {"return_indices": True}),
    "avg_pool1d": ((CUBE[0], 2), {}),
    "avg_pool2d": ((IMAGES, (2, 3), 1, (1, 0)), {"count_include_pad": False}),
    "avg_pool3d": ((IMAGES[:, None].copy(), 2), {"padding": 1, "divisor_override": 5}),
    "conv_transpose2d": ((IMAGES, array(4, 2, 2, 3)), {"stride": (2, 1), "padding": 1, "dilation": 2}),
    "grid_sample": ((IMAGES, INSIDE.reshape(2, 2, 3, 1).repeat(2, 3)), {"align_corners": True}),
    "interpolate": ((IMAGES,), {"size": (3, 8), "mode": "bicubic", "align_corners": True}),
    "max_pool2d": ((IMAGES, 2), {"padding": 1, "return_indices": True}),
    "max_unpool2d": ((IMAGES[:1, :1, :2, :2].copy(), np.array([[[[0, 3], [9, 14]]]])), {"kernel_size": 2}),
    "upsample": ((CUBE,), {"scale_factor": 2.0, "mode": "linear", "align_corners": False}),
    "fold": ((array(1, 8, 6), (3, 4), 2), {}),
    "unfold": ((IMAGES, (2, 3)), {"padding": 1, "stride": 2}),
    "pixel_shuffle": ((IMAGES, 2), {}),
}
#: Cases of a function are named after it and what they add: these words.
_SUFFIXES = (
    "tanh", "slope", "sum", "logarithms", "none", "vector", "counted", "p", "training", "reflect", "circular", "value", "same",
)  # fmt: skip


def _function(case: str) -> str:
    for suffix in _SUFFIXES:
        if case != suffix and case.endswith("_" + suffix):
            case = case.removesuffix("_" + suffix)
    return case


CASES |= {f"nn.functional.{case}": (f"nn.functional.{_function(case)}", *given) for case, given in FUNCTIONAL.items()}


#: What cannot be differentiated, by name or by its operands.
CONSTANT = ("ceil", "floor", "sign", "round", "floor_divide", "sum_empty", "ones_like", "arange", "full", "full_like")


def differentiable(name: str) -> bool:
    """Whether the gradient for the first operand is compared."""
    _, args, _ = CASES[name]
    first = args[0] if args else None
    return (
        isinstance(first, np.ndarray) and first.dtype == np.float32 and name not in CONSTANT and first is not ODD
        and CASES[name][0] not in ("unique_consecutive", "histc", "bincount", "ceil", "floor", "sign", "round", "special.round")
        and CASES[name][0] not in ("floor_divide", "full_like", "unique", "fix")
        and "floor" not in name and "trunc" not in name
    )  # fmt: skip


def cotangent(count: int) -> Any:
    """What results are multiplied by before the sum that is differentiated."""
    return np.cos(np.arange(count, dtype=np.float32))


def main() -> None:
    import torch

    found: dict[str, Any] = {}
    for name, (function, args, kwargs) in CASES.items():

        def given(x: Any) -> Any:
            if isinstance(x, tuple) and any(isinstance(e, np.ndarray) for e in x):
                return tuple(map(given, x))
            if not isinstance(x, np.ndarray):
                return x
            made = torch.from_numpy(np.ascontiguousarray(x))
            return made.double() if made.is_floating_point() else made

        tensors = list(map(given, args))
        named = {k: given(v) for k, v in kwargs.items()}
        if differentiable(name):
            tensors[0].requires_grad_()
        result = attrgetter(function)(torch)(*tensors, **named)
        parts = list(result) if isinstance(result, (tuple, list)) else [result]
        wide = "float64" if function == "float_power" else "float32"  # What torch gives for float32.
        gradient = None
        if differentiable(name) and any(p.is_floating_point() and p.requires_grad for p in parts):
            total = sum(
                (p.reshape(-1) * torch.from_numpy(cotangent(p.numel())).double()).sum()
                for p in parts
                if p.is_floating_point() and p.requires_grad
            )
            (made,) = torch.autograd.grad(total, tensors[0])
            gradient = [round(v, 9) for v in made.reshape(-1).tolist()]
        found[name] = {
            "parts": [
                {
                    "shape": list(p.shape),
                    "dtype": str(p.dtype).removeprefix("torch.").replace("float64", wide),
                    "values": [round(v, 9) if isinstance(v, float) else v for v in p.reshape(-1).tolist()],
                }
                for p in parts
            ],
            "gradient": gradient,
        }
    with open(sys.argv[1], "w") as file:
        json.dump(found, file, separators=(",", ":"))


if __name__ == "__main__":
    main()
