"""Numbers of mindspore.experimental.optim from MindSpore, for tests/nn/test_experimental_optim.py.

Run with MindSpore's Python in an empty folder: python ms_experimental.py OUTPUT.json
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np


def array(*shape: int, seed: int) -> Any:
    """float32 numbers of both signs, some of them zero."""
    made = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
    made[np.abs(made) < 0.2] = 0
    return made


WEIGHTS = array(2, 3, seed=1), array(4, seed=2)
GRADIENTS = [(array(2, 3, seed=10 + k), array(4, seed=20 + k)) for k in range(6)]

#: name -> (optimizer, options, options of the second parameter's group or None).
OPTIMIZERS: dict[str, tuple[str, dict[str, Any], dict[str, Any] | None]] = {
    "sgd": ("SGD", {"lr": 0.1}, None),
    "sgd_momentum": ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.2, "weight_decay": 0.01}, None),
    "sgd_nesterov": ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True}, {"lr": 0.05}),
    "adam": ("Adam", {"lr": 0.01, "betas": (0.8, 0.9), "weight_decay": 0.02}, {"lr": 0.1, "weight_decay": 0.1}),
    "adam_maximize": ("Adam", {"lr": 0.01, "eps": 1e-3, "maximize": True}, None),
    "adamw": ("AdamW", {"lr": 0.01, "weight_decay": 0.1}, {"lr": 0.02}),
    "adamw_amsgrad": ("AdamW", {"lr": 0.01, "betas": (0.7, 0.8), "amsgrad": True, "maximize": True}, None),
    "adamax": ("Adamax", {"lr": 0.02, "weight_decay": 0.01}, {"betas": (0.5, 0.9)}),
    "nadam": ("NAdam", {"lr": 0.02, "weight_decay": 0.01, "momentum_decay": 0.01}, None),
    "radam": ("RAdam", {"lr": 0.02, "betas": (0.9, 0.95), "weight_decay": 0.01}, None),
    "adadelta": ("Adadelta", {"lr": 0.5, "rho": 0.8, "weight_decay": 0.01}, {"lr": 1.0}),
    "adagrad": ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "initial_accumulator_value": 0.1, "maximize": True}, None),
    "rmsprop": ("RMSprop", {"lr": 0.01, "alpha": 0.9, "weight_decay": 0.01}, None),
    "rmsprop_centered": ("RMSprop", {"lr": 0.01, "momentum": 0.9, "centered": True}, {"lr": 0.02}),
    "rprop": ("Rprop", {"lr": 0.05, "step_sizes": (1e-3, 0.08)}, None),
    "asgd": ("ASGD", {"lr": 0.1, "lambd": 0.01, "t0": 2.0, "weight_decay": 0.1}, None),
}

#: name -> (scheduler, arguments); rates of two groups, 0.1 and 0.4.
SCHEDULERS: dict[str, tuple[str, dict[str, Any]]] = {
    "step": ("StepLR", {"step_size": 3, "gamma": 0.5}),
    "multistep": ("MultiStepLR", {"milestones": [2, 4, 4], "gamma": 0.5}),
    "constant": ("ConstantLR", {"factor": 0.5, "total_iters": 3}),
    "linear": ("LinearLR", {"start_factor": 0.25, "total_iters": 4}),
    "exponential": ("ExponentialLR", {"gamma": 0.9}),
    "polynomial": ("PolynomialLR", {"total_iters": 5, "power": 2.0}),
    "cosine": ("CosineAnnealingLR", {"T_max": 4, "eta_min": 0.01}),
    "restarts": ("CosineAnnealingWarmRestarts", {"T_0": 2, "T_mult": 2, "eta_min": 0.001}),
    "cyclic": ("CyclicLR", {"base_lr": 0.01, "max_lr": [0.1, 0.2], "step_size_up": 3, "step_size_down": 2}),
    "cyclic_triangular2": ("CyclicLR", {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 2, "mode": "triangular2"}),
    "cyclic_exp": ("CyclicLR", {"base_lr": 0.01, "max_lr": 0.1, "step_size_up": 2, "mode": "exp_range", "gamma": 0.9}),
}
METRICS = [1.0, 0.9, 0.91, 0.92, 0.93, 0.95, 0.94, 0.5, 0.6, 0.6, 0.6, 0.6]


def trained(framework: Any, optim: Any, name: str) -> list[list[float]]:
    """The weights after each of the steps."""
    kind, options, second = OPTIMIZERS[name]
    weights = [framework.Parameter(framework.Tensor(w), name=f"w{k}") for k, w in enumerate(WEIGHTS)]
    given: Any = weights if second is None else [{"params": weights[:1]}, {"params": weights[1:], **second}]
    optimizer = getattr(optim, kind)(given, **options)
    found = []
    for gradients in GRADIENTS:
        optimizer(tuple(framework.Tensor(g) for g in gradients))
        found.append([float(x) for w in weights for x in w.asnumpy().ravel()])
    return found


def _groups(framework: Any, optim: Any) -> Any:
    weights = [framework.Parameter(framework.Tensor(w), name=f"w{k}") for k, w in enumerate(WEIGHTS)]
    return optim.SGD([{"params": weights[:1], "lr": 0.1}, {"params": weights[1:], "lr": 0.4}], lr=0.1)


def rates(framework: Any, optim: Any, schedulers: Any, name: str) -> list[list[float]]:
    """The rates of both groups, at first and after each step."""
    optimizer = _groups(framework, optim)
    metrics: list[tuple[Any, ...]] = [()] * 10
    if name == "plateau":
        scheduler = schedulers.ReduceLROnPlateau(optimizer, patience=1, factor=0.5, cooldown=1, min_lr=[0.03, 0.01])
        metrics = [(framework.Tensor(m, framework.float32),) for m in METRICS]
    elif name == "sequential":
        parts = [schedulers.ConstantLR(optimizer, 0.1, 2), schedulers.ExponentialLR(optimizer, 0.9)]
        scheduler = schedulers.SequentialLR(optimizer, parts, [4])
    elif name == "lambda":
        scheduler = schedulers.LambdaLR(optimizer, [lambda epoch: 0.9**epoch, lambda epoch: 1.0 / (epoch + 1.0)])
    elif name == "multiplicative":
        scheduler = schedulers.MultiplicativeLR(optimizer, lambda epoch: 0.95)
    else:
        kind, arguments = SCHEDULERS[name]
        scheduler = getattr(schedulers, kind)(optimizer, **arguments)
    found = [[float(r.asnumpy()) for r in scheduler.get_last_lr()]]
    for given in metrics:
        scheduler.step(*given)
        found.append([float(r.asnumpy()) for r in scheduler.get_last_lr()])
    return found


SCHEDULED = (*SCHEDULERS, "plateau", "sequential", "lambda", "multiplicative")


def main() -> None:
    import mindspore
    from mindspore.experimental import optim
    from mindspore.experimental.optim import lr_scheduler

    found = {
        "optimizers": {name: trained(mindspore, optim, name) for name in OPTIMIZERS},
        "schedulers": {name: rates(mindspore, optim, lr_scheduler, name) for name in SCHEDULED},
    }
    with open(sys.argv[1], "w") as file:
        json.dump(found, file)


if __name__ == "__main__":
    main()
