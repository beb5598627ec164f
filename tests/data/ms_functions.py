"""Numbers of functions and primitives from MindSpore, for tests/ops/test_functions_recorded.py.

Run with MindSpore's Python in an empty folder: python ms_functions.py OUTPUT.json
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np


def array(*shape: int, seed: int = 0, low: float = -1.0, high: float = 1.0) -> Any:
    """float32 numbers between two bounds."""
    return np.random.default_rng(seed + sum(shape)).uniform(low, high, shape).astype(np.float32)


X, Y, V = array(3, 4), array(3, 4, seed=1), array(5)
IMAGES, POSITIVE = array(2, 3, 4, 6), array(3, 4, low=0.1, high=4.0)
SORTED = np.sort(array(3, 5), axis=1)

#: name -> (function or primitive, arguments of the primitive or None, operands, further arguments by position and name).
CASES: dict[str, tuple[str, Any, tuple[Any, ...], tuple[Any, ...], dict[str, Any]]] = {
    "ger": ("ger", None, (V, array(3)), (), {}),
    "lgamma": ("lgamma", None, (np.array([-2.5, -0.3, 0.2, 0.9, 1.0, 2.0, 3.7, 30.0], np.float32),), (), {}),
    "digamma": ("digamma", None, (np.array([-2.5, -0.3, 0.2, 0.9, 1.5, 3.7, 30.0], np.float32),), (), {}),
    "lrn": ("LRN", (2, 1.0, 0.5, 0.75), (IMAGES,), (), {}),
    "searchsorted": ("searchsorted", None, (SORTED, X), (), {}),
    "space_to_batch": ("SpaceToBatchND", ([2, 3], [[0, 2], [1, 2]]), (IMAGES,), (), {}),
    "batch_to_space": ("BatchToSpaceND", ([2, 2], [[0, 1], [1, 0]]), (array(4, 3, 2, 3),), (), {}),
    "diag_embed": ("diag_embed", None, (X,), (1, 0, 2), {}),
    "logcumsumexp": ("logcumsumexp", None, (X * 5, 1), (), {}),
    "unfold": ("unfold", None, (IMAGES, (2, 3)), (), {"stride": (1, 2), "padding": 1}),
    "adaptive_max_pool1d": ("adaptive_max_pool1d", None, (array(2, 3, 6), 3), (), {}),
    "dist": ("dist", None, (X, Y), (), {"p": 3}),
    "cov": ("cov", None, (X,), (), {}),
    "block_diag": ("block_diag", None, (X, Y[:2].copy(), V), (), {}),
    "renorm": ("renorm", None, (X, 2, 0, 0.8), (), {}),
    "select_scatter": ("select_scatter", None, (X, array(3), 1, 2), (), {}),
    "slice_scatter": ("slice_scatter", None, (X, array(3, 2), 1, 0, 4, 2), (), {}),
}
GRADIENTS = {
    "ReluGrad": (X, Y), "ReLU6Grad": (X, 5 * POSITIVE), "SigmoidGrad": (POSITIVE, X), "TanhGrad": (Y, X),
    "SqrtGrad": (POSITIVE, X), "RsqrtGrad": (POSITIVE, X), "ReciprocalGrad": (POSITIVE, X), "InvGrad": (POSITIVE, X),
    "AbsGrad": (X, Y), "ACosGrad": (X, Y), "AsinGrad": (X, Y), "AtanGrad": (X, Y), "AsinhGrad": (X, Y),
    "AcoshGrad": (POSITIVE, Y), "SoftplusGrad": (X, Y), "EluGrad": (X, Y), "HSigmoidGrad": (X, 4 * Y), "SiLUGrad": (X, Y),
    "LogSoftmaxGrad": (X, Y), "BiasAddGrad": (IMAGES,), "SigmoidCrossEntropyWithLogitsGrad": (X, POSITIVE / 4, Y),
}  # fmt: skip


def measured(ops: Any, gradients: Any, tensor: Any, name: str) -> Any:
    """The result of a case in either framework."""

    def given(x: Any) -> Any:
        return tensor(x) if isinstance(x, np.ndarray) else x

    if name in GRADIENTS:
        return getattr(gradients, name)()(*map(given, GRADIENTS[name])).asnumpy()
    function, attrs, operands, rest, options = CASES[name]
    made = getattr(ops, function)
    if attrs is not None:
        made = made(*attrs)
    return made(*map(given, operands), *rest, **options).asnumpy()


def main() -> None:
    """Record all cases."""
    import mindspore as ms
    from mindspore.ops.operations import _grad_ops

    made = {}
    for name in [*CASES, *GRADIENTS]:
        a = measured(ms.ops, _grad_ops, ms.Tensor, name)
        made[name] = {
            "shape": a.shape,
            "dtype": str(a.dtype),
            "values": [float(f"{v:.7g}") for v in a.ravel().tolist()],
        }
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(made, file)
        file.write("\n")


if __name__ == "__main__":
    main()
