"""Record MindSpore's optimizers: `python ms_optimizers.py > ms_optimizers.json`, with MindSpore 2.10 and
NumPy.

Each case is five steps of one optimizer on two parameters with given gradients; it holds every parameter and
state afterwards. tests/nn/test_optimizers.py compares.

Not recorded, because MindSpore's CPU kernels do not do what its documentation says: Momentum's use_nesterov and
Adagrad's update_slots=False, which they ignore, and FTRL's l1, which they add where the linear term is negative.
"""

import json
import sys

import mindspore
import numpy as np
from mindspore import Parameter, Tensor, nn

CASES = [
    ("SGD", {"learning_rate": 0.1}),
    ("SGD", {"learning_rate": 0.1, "momentum": 0.9}),
    ("SGD", {"learning_rate": 0.1, "momentum": 0.9, "dampening": 0.5}),
    ("SGD", {"learning_rate": 0.1, "momentum": 0.9, "nesterov": True}),
    ("SGD", {"learning_rate": 0.1, "momentum": 0.9, "weight_decay": 0.1, "loss_scale": 4.0}),
    ("Momentum", {"learning_rate": 0.1, "momentum": 0.9}),
    ("Momentum", {"learning_rate": 0.1, "momentum": 0.9, "weight_decay": 0.1}),
    ("Momentum", {"learning_rate": 0.1, "momentum": 0.9, "loss_scale": 1024.0}),
    ("Adam", {}),
    ("Adam", {"learning_rate": 0.1}),
    ("Adam", {"learning_rate": 0.1, "use_nesterov": True}),
    ("Adam", {"learning_rate": 0.1, "use_amsgrad": True}),
    ("Adam", {"learning_rate": 0.1, "beta1": 0.8, "beta2": 0.9, "eps": 1e-3, "weight_decay": 0.1}),
    ("AdamWeightDecay", {}),
    ("AdamWeightDecay", {"learning_rate": 0.1, "beta1": 0.8, "beta2": 0.9, "eps": 1e-3, "weight_decay": 0.1}),
    ("AdaMax", {"learning_rate": 0.1}),
    ("AdaMax", {"learning_rate": 0.1, "beta1": 0.8, "beta2": 0.9, "eps": 1e-3, "weight_decay": 0.1, "loss_scale": 4.0}),
    ("Adagrad", {"learning_rate": 0.1}),
    ("Adagrad", {"learning_rate": 0.1, "accum": 0.5, "weight_decay": 0.1, "loss_scale": 4.0}),
    ("Adadelta", {}),
    ("Adadelta", {"learning_rate": 0.5, "rho": 0.8, "epsilon": 1e-2, "weight_decay": 0.1, "loss_scale": 4.0}),
    ("RMSProp", {}),
    ("RMSProp", {"learning_rate": 0.05, "decay": 0.8, "momentum": 0.9, "epsilon": 1e-3, "weight_decay": 0.1}),
    ("RMSProp", {"learning_rate": 0.05, "momentum": 0.9, "centered": True, "loss_scale": 4.0}),
    ("FTRL", {"learning_rate": 0.1}),
    ("FTRL", {"learning_rate": 0.1, "initial_accum": 0.5, "l2": 0.3, "weight_decay": 0.1, "loss_scale": 4.0}),
    ("FTRL", {"learning_rate": 0.1, "lr_power": -0.8}),
    ("ASGD", {}),
    ("ASGD", {"learning_rate": 0.2, "lambd": 0.05, "alpha": 0.5, "t0": 2.0, "weight_decay": 0.1}),
    ("Rprop", {}),
    ("Rprop", {"learning_rate": 0.2, "etas": (0.25, 2.0), "step_sizes": (0.1, 0.7), "weight_decay": 0.1}),
    ("ProximalAdagrad", {"learning_rate": 0.1}),
    (
        "ProximalAdagrad",
        {"learning_rate": 0.2, "accum": 0.5, "l1": 0.05, "l2": 0.3, "weight_decay": 0.1, "loss_scale": 4.0},
    ),
    ("LazyAdam", {"learning_rate": 0.1, "weight_decay": 0.1}),
    ("SGD", {"learning_rate": [0.1, 0.2, 0.3, 0.4, 0.5], "momentum": 0.9}),
    ("Adam", {"learning_rate": [0.1, 0.2, 0.3, 0.4, 0.5]}),
    ("ASGD", {"learning_rate": [0.1, 0.2, 0.3, 0.4, 0.5]}),
    ("Rprop", {"learning_rate": [0.1, 0.2, 0.3, 0.4, 0.5]}),
]
START = {"fc.weight": [[1.0, -2.0, 3.0], [0.5, 0.0, -1.0]], "norm.beta": [0.1, -0.2]}
STEPS = 5


def gradients(step: int) -> list:
    """The gradients of a step, one per parameter."""
    w, b = (np.array(v, np.float32) for v in START.values())
    return [w * np.float32(0.1 * (step + 1)) + np.float32(0.05), b * np.float32(step + 1) - np.float32(0.3)]


def record(name: str, kwargs: dict) -> dict:
    params = [Parameter(Tensor(np.array(v, np.float32)), name=k) for k, v in START.items()]
    optimizer = getattr(nn, name)(params, **kwargs)
    for step in range(STEPS):
        optimizer(tuple(Tensor(g) for g in gradients(step)))
    state = {p.name: p for p in [*params, *optimizer.get_parameters()]}
    return {
        "name": name,
        "kwargs": kwargs,
        "state": {k: {"dtype": p.asnumpy().dtype.name, "value": p.asnumpy().tolist()} for k, p in state.items()},
    }


if __name__ == "__main__":
    mindspore.set_context(mode=mindspore.GRAPH_MODE)
    cases = [record(*case) for case in CASES]
    record_of = {"mindspore": mindspore.__version__, "numpy": np.__version__, "start": START, "steps": STEPS}
    json.dump({**record_of, "cases": cases}, sys.stdout, indent=1)
