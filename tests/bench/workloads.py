"""What every peer trains: sizes, the same initial weights, the same batch. NumPy only: any environment can import it.

Momentum 0.9, learning rate 0.01, mean softmax cross entropy over ten classes; a loss-scaled step multiplies the loss by
1024, divides the gradients again, and leaves weights and momentum alone when a gradient is not finite.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

LEARNING_RATE, MOMENTUM, SCALE = 0.01, 0.9, 1024.0

#: Layers in order of use: name and weight shape, [out, in] or [out, in, height, width]. Each also has a bias [out].
LAYERS: dict[str, dict[str, tuple[int, ...]]] = {
    "lenet": {
        "conv1": (6, 1, 5, 5),
        "conv2": (16, 6, 5, 5),
        "fc1": (120, 400),
        "fc2": (84, 120),
        "fc3": (10, 84),
    },
    "mlp": {"fc1": (512, 784), "fc2": (512, 512), "fc3": (10, 512)},
}
INPUT: dict[str, tuple[int, ...]] = {"lenet": (32, 1, 32, 32), "mlp": (64, 784)}
TITLES = {"lenet": "LeNet-5, batch 32", "mlp": "MLP 784-512-512-10, batch 64"}
VARIANTS = ("plain", "scaled")


def weights(workload: str) -> dict[str, Array]:
    """Initial weights by name, "fc1.weight" and "fc1.bias": normal with deviation 1/sqrt(fan in), float32."""
    rng = np.random.default_rng(0)
    made: dict[str, Array] = {}
    for name, shape in LAYERS[workload].items():
        fan_in = float(np.prod(shape[1:]))
        made[f"{name}.weight"] = (rng.standard_normal(shape) / np.sqrt(fan_in)).astype(np.float32)
        made[f"{name}.bias"] = np.zeros(shape[0], np.float32)
    return made


def batch(workload: str) -> tuple[Array, Array]:
    """One batch: normal float32 inputs, int32 labels below ten."""
    rng = np.random.default_rng(1)
    shape = INPUT[workload]
    return rng.standard_normal(shape).astype(np.float32), rng.integers(0, 10, shape[0]).astype(np.int32)
