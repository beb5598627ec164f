"""Record learning rates, groups of parameters and clipping: `python ms_learning_rates.py WHEEL >
ms_learning_rates.json`, with MindSpore 2.10, NumPy, and WHEEL the file of MindFormers 1.3.2 (`pip download
mindformers==1.3.2 --no-deps`), of which three modules are read without importing the package.

tests/nn/test_rates.py, test_optimizer_rates.py, test_optimizer_groups.py and test_clip.py compare.
"""

import json
import pathlib
import sys
import tempfile
import types
import zipfile

import mindspore
import numpy as np
from mindspore import Parameter, Tensor, nn, ops

STEPS = 13
MINDSPORE = [
    ("ExponentialDecayLR", [0.1, 0.9, 4], {}),
    ("ExponentialDecayLR", [0.1, 0.9, 4, True], {}),
    ("NaturalExpDecayLR", [0.1, 0.9, 4], {}),
    ("NaturalExpDecayLR", [0.1, 0.9, 4, True], {}),
    ("InverseDecayLR", [0.1, 0.5, 4], {}),
    ("InverseDecayLR", [0.1, 0.5, 4, True], {}),
    ("CosineDecayLR", [0.01, 0.1, 10], {}),
    ("PolynomialDecayLR", [0.1, 0.01, 4, 0.5], {}),
    ("PolynomialDecayLR", [0.1, 0.01, 4, 0.5, True], {}),
    ("PolynomialDecayLR", [0.1, 0.01, 5, 2.0, True], {}),
    ("WarmUpLR", [0.1, 4], {}),
]
MINDFORMERS = [
    ("ConstantWarmUpLR", [0.1], {"warmup_steps": 4, "warmup_lr_init": 0.01}),
    ("ConstantWarmUpLR", [0.1], {"warmup_ratio": 0.3, "total_steps": 10}),
    ("LinearWithWarmUpLR", [0.1, 10], {"warmup_steps": 3}),
    ("LinearWithWarmUpLR", [0.1, 10], {"warmup_steps": 0}),
    ("CosineWithWarmUpLR", [0.1], {"warmup_steps": 3, "total_steps": 10, "lr_end": 0.02}),
    ("CosineWithWarmUpLR", [0.1], {"warmup_steps": 2, "total_steps": 12, "num_cycles": 1.25, "decay_steps": 9}),
    ("CosineWithWarmUpLR", [0.1], {"warmup_steps": 4, "total_steps": 12, "lr_end": 0.02, "decay_steps": 2}),
    ("CosineWithRestartsAndWarmUpLR", [0.1], {"warmup_steps": 2, "total_steps": 11, "num_cycles": 2.5, "lr_end": 0.01}),
    ("CosineWithRestartsAndWarmUpLR", [0.1], {"warmup_steps": 0, "total_steps": 6, "lr_end": 0.01, "decay_steps": 11}),
    ("PolynomialWithWarmUpLR", [0.1, 10], {"warmup_steps": 3, "power": 2.0, "lr_end": 0.01}),
    ("PolynomialWithWarmUpLR", [0.1, 10], {"warmup_steps": 2, "decay_steps": 6, "power": 1.0}),
    ("CosineAnnealingLR", [0.1, 5], {"eta_min": 0.01}),
    ("CosineAnnealingWarmRestarts", [0.1, 4], {"eta_min": 0.01}),
    ("CosineAnnealingWarmRestarts", [0.1, 3], {"t_mult": 2, "eta_min": 0.01}),
]
LISTS = [
    ("piecewise_constant_lr", [[2, 5, 10], [0.1, 0.05, 0.01]]),
    ("exponential_decay_lr", [0.1, 0.9, 6, 2, 1]),
    ("exponential_decay_lr", [0.1, 0.9, 9, 2, 3, True]),
    ("natural_exp_decay_lr", [0.1, 0.9, 6, 2, 2]),
    ("natural_exp_decay_lr", [0.1, 0.9, 6, 2, 2, True]),
    ("inverse_decay_lr", [0.1, 0.5, 6, 1, 2]),
    ("inverse_decay_lr", [0.1, 0.5, 6, 1, 2, True]),
    ("cosine_decay_lr", [0.01, 0.1, 8, 2, 2]),
    ("polynomial_decay_lr", [0.1, 0.01, 8, 2, 2, 0.5]),
    ("polynomial_decay_lr", [0.1, 0.01, 12, 2, 2, 0.5, True]),
    ("warmup_lr", [0.1, 8, 2, 3]),
]
#: A list is a list; a schedule and a decay of the step are their names and arguments.
COSINE = {"CosineDecayLR": [0.01, 0.1, 5]}
GROUPS = [
    ("Momentum", {"learning_rate": 0.1, "momentum": 0.9},
     [{"params": [0], "lr": 0.01, "weight_decay": 0.1}, {"params": [1]}]),
    ("Momentum", {"learning_rate": 0.1, "momentum": 0.9, "weight_decay": 0.2, "loss_scale": 4.0},
     [{"params": [1], "lr": 0.01, "weight_decay": 0.0}, {"params": [0]}, {"order_params": [0, 1]}]),
    ("Momentum", {"learning_rate": 0.1, "momentum": 0.9}, [{"params": [0], "lr": COSINE}, {"params": [1]}]),
    ("Momentum", {"learning_rate": COSINE, "momentum": 0.9},
     [{"params": [1], "lr": [0.1, 0.2, 0.3, 0.4, 0.5]}, {"params": [0]}]),
    ("Momentum", {"learning_rate": 0.1, "momentum": 0.9}, [{"params": [0], "weight_decay": "step"}, {"params": [1]}]),
    ("Momentum", {"learning_rate": 0.1, "momentum": 0.9, "weight_decay": "step", "loss_scale": 4.0}, None),
    ("Adam", {"learning_rate": 0.1, "weight_decay": "step"}, [{"params": [1]}, {"params": [0], "weight_decay": 0.1}]),
    ("Adam", {"learning_rate": 0.1}, [{"params": [0], "lr": 0.01}, {"params": [1], "lr": 0.2, "weight_decay": 0.1}]),
    ("AdamWeightDecay", {"learning_rate": 0.1, "weight_decay": "step"}, None),
    ("AdamWeightDecay", {"learning_rate": 0.1, "weight_decay": 0.2},
     [{"params": [0], "lr": COSINE}, {"params": [1], "weight_decay": 0.0}]),
    ("Rprop", {"learning_rate": 0.1}, [{"params": [0], "lr": COSINE}, {"params": [1]}]),
    ("ASGD", {"learning_rate": 0.1}, [{"params": [0], "lr": COSINE, "weight_decay": 0.1}, {"params": [1]}]),
    ("AdamW", {"learning_rate": 0.1, "weight_decay": 0.2}, None),
    ("AdamW", {"learning_rate": COSINE, "betas": [0.8, 0.9], "eps": 1e-3},
     [{"params": [0], "weight_decay": 0.1}, {"params": [1]}]),
]  # fmt: skip
START = {"fc.weight": [[1.0, -2.0, 3.0], [0.5, 0.0, -1.0]], "norm.beta": [0.1, -0.2]}
CLIPPED = [
    ([[[3.0, 4.0]], [12.0]], "float32"),
    ([[[3e-3, 4e-3]], [1.2e-2]], "float32"),
    ([[[300.0, 400.0]], [1.0]], "float16"),
    ([[[float("inf"), 4.0]], [1.0]], "float32"),
    ([[[float("nan"), 4.0]], [1.0]], "float32"),
]


class DecayOfStep(nn.Cell):
    """0.1 * (step + 1)."""

    def construct(self, step):
        return 0.1 * (ops.cast(step, mindspore.float32) + 1.0).reshape(())


def from_wheel(wheel: str, path: str) -> types.ModuleType:
    """A module of MindFormers, with stand-ins for its registry and its logger."""
    for name in ("mindformers", "mindformers.tools", "mindformers.tools.register", "mindformers.tools.logger"):
        sys.modules.setdefault(name, types.ModuleType(name))
    register = sys.modules["mindformers.tools.register"]
    register.MindFormerModuleType = types.SimpleNamespace(LR="lr", OPTIMIZER="optimizer")
    register.MindFormerRegister = types.SimpleNamespace(register=lambda kind: lambda cls: cls)
    sys.modules["mindformers.tools.logger"].logger = types.SimpleNamespace(
        info=lambda *a: None, warning=lambda *a: None
    )
    # Graph mode reads the source of what it compiles, so there must be a file.
    file = zipfile.ZipFile(wheel).extract(path, tempfile.mkdtemp())
    module = types.ModuleType(path.replace("/", "_"))
    module.__file__ = file
    sys.modules[module.__name__] = module
    exec(compile(pathlib.Path(file).read_text(), file, "exec"), module.__dict__)
    return module


def made(value: object, of: object) -> object:
    """A learning rate or weight decay from its description."""
    if value == "step":
        return DecayOfStep()
    if isinstance(value, dict):
        return getattr(of, next(iter(value)))(*next(iter(value.values())))
    return value


def group_case(source: object, name: str, kwargs: dict, groups: list | None) -> dict:
    params = [Parameter(Tensor(np.array(v, np.float32)), name=k) for k, v in START.items()]
    given = params
    if groups is not None:
        given = [
            {k: [params[i] for i in v] if k in ("params", "order_params") else made(v, nn) for k, v in group.items()}
            for group in groups
        ]
    optimizer = getattr(source, name)(given, **{k: made(v, nn) for k, v in kwargs.items()})
    names = [p.name for p in optimizer.parameters]
    rates = []
    for step in range(5):
        now = optimizer.get_lr()
        rates.append([float(r.asnumpy()) for r in now] if isinstance(now, tuple) else float(now.asnumpy()))
        grads = {
            "fc.weight": np.array(START["fc.weight"], np.float32) * np.float32(0.1 * (step + 1)) + np.float32(0.05),
            "norm.beta": np.array(START["norm.beta"], np.float32) * np.float32(step + 1) - np.float32(0.3),
        }
        optimizer(tuple(Tensor(grads[n]) for n in names))
    return {
        "name": name, "kwargs": kwargs, "groups": groups, "order": names, "rates": rates,
        "state": sorted({p.name for p in [*params, *optimizer.get_parameters()]}),
        "values": {p.name: p.asnumpy().tolist() for p in params},
    }  # fmt: skip


def clip_cases(mindformers_clip: object) -> list:
    cases = []

    def add(name: str, x: list, dtype: str, made: object, args: dict) -> None:
        flat = [
            np.asarray(t.asnumpy(), np.float64).tolist() for t in (made if isinstance(made, (tuple, list)) else [made])
        ]
        cases.append({"name": name, "x": x, "dtype": dtype, "args": args, "made": flat})

    for x, dtype in CLIPPED:
        tensors = tuple(Tensor(np.array(v, dtype)) for v in x)
        add("clip_by_global_norm", x, dtype, ops.clip_by_global_norm(tensors, 1.0), {"clip_norm": 1.0})
        if not np.isnan(x[0]).any():  # MindSpore's CPU maximum turns NaN into the bound.
            made_ = ops.clip_by_value(tensors, 0.0, 3.5)
            add("clip_by_value", x, dtype, made_, {"clip_value_min": 0.0, "clip_value_max": 3.5})
        clipped, norm = mindformers_clip.ClipGradNorm(2.0)(tensors)
        add("ClipGradNorm", x, dtype, (*clipped, norm), {"max_norm": 2.0})
        if dtype == "float32":
            for order in (2.0, 1.0, 3, float("inf")):
                args = {"max_norm": 2.5, "norm_type": order}
                add("clip_by_norm", x, dtype, ops.clip_by_norm(tensors, **args), args)
            for axis in (None, 1):
                made_ = nn.ClipByNorm(axis)(tensors[0], Tensor(1.5))
                add("ClipByNorm", x[:1], dtype, made_, {"axis": axis, "clip_norm": 1.5})
    return cases


def main(wheel: str) -> None:
    mindspore.set_context(mode=mindspore.GRAPH_MODE)
    schedules = from_wheel(wheel, "mindformers/core/lr/lr_schedule.py")
    adamw = from_wheel(wheel, "mindformers/core/optim/adamw.py")
    clip = from_wheel(wheel, "mindformers/core/clip_grad.py")
    rates = []
    for source, cases in ((nn, MINDSPORE), (schedules, MINDFORMERS)):
        for name, args, kwargs in cases:
            schedule = getattr(source, name)(*args, **kwargs)
            values = [float(schedule(Tensor(i, mindspore.int32)).asnumpy()) for i in range(STEPS)]
            rates.append({"name": name, "args": args, "kwargs": kwargs, "values": values})
    record = {
        "mindspore": mindspore.__version__, "mindformers": "1.3.2", "numpy": np.__version__, "start": START,
        "schedules": rates,
        "lists": [{"name": n, "args": a, "values": getattr(nn, n)(*a)} for n, a in LISTS],
        "groups": [group_case(adamw if case[0] == "AdamW" else nn, *case) for case in GROUPS],
        "clip": clip_cases(clip),
    }  # fmt: skip
    json.dump(record, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
