"""Record the bits of MindSpore's initializers: `python ms_initializers.py > ms_initializers.json`, with
MindSpore 2.10 and NumPy.

Each case names an initializer with its arguments, a NumPy seed and a shape; it holds the SHA-256 of the
float32 data and the first numbers as unsigned integers. tests/nn/test_initializer.py compares.
"""

import hashlib
import json
import sys

import mindspore
import numpy as np
from mindspore.common import initializer as init

CASES = [
    ("Uniform", {}, (3, 4)),
    ("Uniform", {"scale": 1 / 3}, (1,)),
    ("Uniform", {"scale": 0.5}, (7,)),
    ("Uniform", {"scale": 0.05}, (1024, 1025)),
    ("Normal", {}, (3, 4)),
    ("Normal", {"sigma": 0.3, "mean": 0.7}, (5,)),
    ("Normal", {"sigma": 1.0}, (1024, 1025)),
    ("TruncatedNormal", {}, (3, 4)),
    ("TruncatedNormal", {"sigma": 1.0}, (30, 33)),
    ("TruncatedNormal", {"sigma": 0.02, "mean": 0.25, "a": -0.5, "b": 0.5}, (30, 33)),
    ("XavierUniform", {}, (5, 6)),
    ("XavierUniform", {"gain": 2}, (5, 6, 3, 3)),
    ("HeUniform", {"negative_slope": 5**0.5}, (120, 400)),
    ("HeUniform", {"mode": "fan_out", "nonlinearity": "relu"}, (5, 6, 3, 3)),
    ("HeNormal", {}, (5, 6)),
    ("HeNormal", {"mode": "fan_out", "nonlinearity": "relu"}, (64, 3, 7, 7)),
    ("HeNormal", {"nonlinearity": "tanh"}, (9, 11)),
]


def record(name: str, kwargs: dict, shape: tuple, seed: int) -> dict:
    np.random.seed(seed)
    data = init.initializer(getattr(init, name)(**kwargs), shape, mindspore.float32).init_data().asnumpy()
    bits = np.ascontiguousarray(data).view(np.uint32).reshape(-1)
    return {
        "name": name,
        "kwargs": kwargs,
        "shape": shape,
        "seed": seed,
        "first": bits[:8].tolist(),
        "sha256": hashlib.sha256(bits.tobytes()).hexdigest(),
    }


if __name__ == "__main__":
    cases = [record(*case, seed) for i, case in enumerate(CASES) for seed in (i, 1000 + i)]
    json.dump({"mindspore": mindspore.__version__, "numpy": np.__version__, "cases": cases}, sys.stdout, indent=1)
