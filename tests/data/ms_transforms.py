"""Results of function transforms from MindSpore, for tests/ops/test_derivatives.py.

Run with MindSpore's Python in an empty folder: python ms_transforms.py OUTPUT.json
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

X, Y = np.array([1.0, 2.0], np.float32), np.array([3.0, 4.0], np.float32)
ROWS = np.array([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]], np.float32)
SERIES = np.array([[1.0, -0.5], [0.25, 2.0], [-1.0, 0.75]], np.float32)


def results(ops: Any, nn: Any, tensor: Any) -> dict[str, Any]:
    """Every case in either framework: nests of tensors."""
    x, y, rows, series = map(tensor, (X, Y, ROWS, SERIES))

    def square(a):
        return a * a

    def product(a, b):
        return a * b

    def two(a, b):
        return a * b * b, a + b

    def wave(a):
        return ops.exp(ops.sin(a))

    def soft(a):
        return ops.softmax(a, -1)

    def paired(p):
        return p[0] * p[1]

    def constant(a, b):
        return a * b, b, 3.0

    return {
        "vjp": ops.vjp(square, x)[1](y),
        "vjp of two inputs": ops.vjp(product, x, y)[1](x),
        "vjp of two outputs": ops.vjp(two, x, y)[1](x, y),
        "vjp with aux": ops.vjp(two, x, y, has_aux=True)[2],
        "jvp": ops.jvp(square, x, y),
        "jvp of two": ops.jvp(two, (x, y), (y, x)),
        "jvp with aux": ops.jvp(two, (x, y), (y, x), has_aux=True),
        "linearize": ops.linearize(square, x)[1](y),
        "jacrev": ops.jacrev(square)(x),
        "jacrev of a tuple of one": ops.jacrev(square, (0,))(x),
        "jacrev of two": ops.jacrev(two, (0, 1))(x, y),
        "jacrev with aux": ops.jacrev(two, (0, 1), has_aux=True)(x, y),
        "jacfwd of two": ops.jacfwd(two, (0, 1))(x, y),
        "jacfwd of one of two": ops.jacfwd(two, 1)(x, y),
        "jacfwd with aux": ops.jacfwd(two, 0, has_aux=True)(x, y),
        "vmap": ops.vmap(soft)(rows),
        "vmap of columns": ops.vmap(soft, 1, 1)(rows),
        "vmap of one": ops.vmap(product, (None, 0), 1)(x, y),
        "vmap of a nest": ops.vmap(paired, ((0, None),))((x, y)),
        "vmap without axes": ops.vmap(constant, (0, None), (0, None, 0))(x, y),
        "jet": ops.jet(wave, x, series),
        "derivative": ops.derivative(wave, x, 3),
        "derivative of two": ops.derivative(product, (x, y), 2),
        "nn.Jvp": nn.Jvp(product)(x, y, (y, x)),
        "nn.Vjp": nn.Vjp(square)(x, y),
        "nn.Vjp of two": nn.Vjp(product)(x, y, x),
    }


def plain(made: Any) -> Any:
    """Nests of lists."""
    if isinstance(made, (tuple, list)):
        return [plain(x) for x in made]
    return {"values": np.asarray(made.asnumpy(), np.float64).round(7).tolist()}


if __name__ == "__main__":
    import mindspore

    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(
            {k: plain(v) for k, v in results(mindspore.ops, mindspore.nn, mindspore.Tensor).items()}, file, indent=0
        )
