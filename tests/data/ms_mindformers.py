"""MindFormers' training step on MindSpore, and the same cases for graphc.

`python ms_mindformers.py FOLDER > ms_mindformers.json`, with MindSpore 2.10, NumPy 1.26, and FOLDER the package folder of an
unpacked MindFormers 1.3.2, records them (the packages yaml and psutil must be there, too).
tests/nn/test_mindformers_cells_recorded.py runs the cases with graphc's own cells, tests/compat/test_mindformers.py with
MindFormers' files on graphc.
"""

import json
import sys
from pathlib import Path

import numpy as np

RNG = np.random.RandomState(3)
X, Y = RNG.randn(8, 4).astype(np.float32), RNG.randn(8, 3).astype(np.float32)
W, B = RNG.randn(3, 4).astype(np.float32), RNG.randn(3).astype(np.float32)

#: name -> (optimizer, its arguments, scale, options of the step, steps, those with a bad input)
CASES = {
    "plain": ("Momentum", {"learning_rate": 0.1, "momentum": 0.9}, 1.0, {}, 3, ()),
    "tensor scale": ("AdamWeightDecay", {"learning_rate": 0.1}, [64.0], {"use_clip_grad": True}, 4, (1,)),
    "dynamic": ("AdamW", {"learning_rate": 0.1}, ("dynamic", 1024.0, 2, 2), {"use_clip_grad": True}, 7, (1, 4)),
    "norms": (
        "AdamW",
        {"learning_rate": 0.1, "weight_decay": 0.05},
        128.0,
        {"use_clip_grad": True, "max_grad_norm": 0.5, "local_norm": True},
        4,
        (2,),
    ),
    "adaptive": (
        "Momentum",
        {"learning_rate": 0.05, "momentum": 0.9},
        ("adaptive", 256, 2, 2, 8, 2),
        {},
        24,
        (1, 5, 6, 7),
    ),
    "adaptive up": ("SGD", {"learning_rate": 0.01}, ("adaptive", 16.0, 2, 3, 4, 2), {}, 24, (20,)),
    "list": ("AdamW", {"learning_rate": [0.1, 0.2, 0.3, 0.4]}, 8.0, {"local_norm": True}, 4, (1,)),
    "cosine": ("AdamW", {"learning_rate": ("CosineWithWarmUpLR", 0.1, 2, 8)}, ("dynamic", 8.0, 2, 2), {}, 5, (0,)),
    "constant": ("AdamWeightDecay", {"learning_rate": ("ConstantWarmUpLR", 0.1, 3)}, 8.0, {}, 5, (2,)),
    "restarts": ("AdamW", {"learning_rate": ("CosineWithRestartsAndWarmUpLR", 0.1, 1, 5)}, 8.0, {}, 8, (2,)),
    "polynomial": ("AdamW", {"learning_rate": ("PolynomialWithWarmUpLR", 0.1, 5, 2)}, 8.0, {}, 8, (2,)),
    "rates of groups": (
        "AdamW",
        {"learning_rate": 0.05, "groups": ({"lr": 0.01, "weight_decay": 0.1}, {})},
        4.0,
        {},
        3,
        (1,),
    ),
    "schedules of groups": (
        "AdamWeightDecay",
        {"learning_rate": 0.05, "groups": ({"lr": ("LinearWithWarmUpLR", 0.1, 8, 2), "weight_decay": 0.1}, {})},
        ("dynamic", 64.0, 2, 2),
        {"use_clip_grad": True, "local_norm": True},
        5,
        (1,),
    ),
    "decays of groups": (
        "AdamW",
        {"learning_rate": ("LinearWithWarmUpLR", 0.1, 8, 2), "groups": ({"weight_decay": 0.1}, {})},
        4.0,
        {},
        4,
        (1,),
    ),
    "adafactor": ("AdaFactor", {}, 8.0, {}, 4, (1,)),
    "adafactor rate": (
        "AdaFactor",
        {"learning_rate": 0.1, "relative_step": False, "scale_parameter": False, "beta1": 0.0},
        8.0,
        {},
        4,
        (),
    ),
    "adafactor warm": ("AdaFactor", {"warmup_init": True, "weight_decay": 0.05, "decay_rate": 0.7}, 8.0, {}, 4, ()),
    "adafactor list": (
        "AdaFactor",
        {"learning_rate": [0.1, 0.2], "relative_step": False, "compression": True},
        8.0,
        {},
        2,
        (),
    ),
}


def network(ms):
    """A linear layer with its squared error."""

    class Net(ms.nn.Cell):
        def __init__(self):
            super().__init__()
            self.fc = ms.nn.Dense(4, 3, weight_init=ms.Tensor(W), bias_init=ms.Tensor(B))

        def construct(self, x, y):
            return ((self.fc(x) - y) ** 2).mean()

    return Net()


class Library:
    """MindSpore, or graphc in its place, and what has MindFormers' names: MindFormers, or graphc.nn."""

    def __init__(self, ms, mindformers):
        self.ms, self.mf = ms, mindformers

    def rate(self, value):
        """A learning rate: schedules are written as tuples."""
        return getattr(self.mf, value[0])(*value[1:]) if isinstance(value, tuple) else value

    def optimizer(self, net, name, learning_rate=None, groups=None, **options):
        """AdamW is MindFormers', the others are MindSpore's."""
        made = self.mf.AdamW if name == "AdamW" else getattr(self.ms.nn, name)
        params = net.trainable_params()
        if groups is not None:
            own = [{k: self.rate(v) for k, v in g.items()} for g in groups]
            params = [{"params": [p], **g} for p, g in zip(params, own, strict=True)]
        if learning_rate is not None:
            options["learning_rate"] = self.rate(learning_rate)
        return made(params, **options)

    def scale(self, given):
        """A number, a Tensor (written as a list) or a manager (as a tuple)."""
        if isinstance(given, list):
            return self.ms.Tensor(given)
        if not isinstance(given, tuple):
            return given
        kind, *args = given
        return (self.ms.nn.DynamicLossScaleUpdateCell if kind == "dynamic" else self.mf.AdaptiveLossScaleUpdateCell)(
            *args
        )

    def plain(self, value):
        """Results as JSON has them."""
        if isinstance(value, self.ms.Tensor):
            array = value.asnumpy()
            return {"dtype": array.dtype.name, "shape": list(array.shape), "data": array.astype(np.float64).tolist()}
        return [self.plain(v) for v in value] if isinstance(value, (tuple, list)) else value

    def run(self, case):
        """What each step returns, and weights and state afterwards."""
        name, arguments, scale, options, steps, bad = CASES[case]
        net = network(self.ms)
        optimizer = self.optimizer(net, name, **arguments)
        step = self.mf.MFTrainOneStepCell(net, optimizer, scale_sense=self.scale(scale), **options)
        # MindSpore's default detection of overflows has no CPU kernel; graphc takes no notice.
        step.ascend_910b_target, step.enable_allfinite = True, False
        step.set_train()
        rows = []
        for i in range(steps):
            x = X.copy()
            if i in bad:
                x[0, 0] = np.inf
            rows.append(self.plain(step(self.ms.Tensor(x), self.ms.Tensor(Y))))
        return {"rows": rows, "state": {n: self.plain(p.value()) for n, p in state(step).items()}}


#: What is compared of the state; names of learning rates and counters depend on who holds them.
KEPT = ("fc.", "adam_", "exp_avg", "moments.", "scale_sense", "global_step")


def state(step):
    """Weights and state by name, without the name of the attribute that holds the optimizer."""
    found = {p.name.removeprefix("optimizer."): p for p in step.get_parameters()}
    return {n: p for n, p in found.items() if n.startswith(KEPT)}


if __name__ == "__main__":
    import mindspore

    sys.path.insert(0, str(Path(__file__).parents[1] / "compat"))
    from mindformers_files import files

    library = Library(mindspore, files(sys.argv[1]))
    made = {case: library.run(case) for case in CASES}
    versions = {"mindspore": mindspore.__version__, "mindformers": "1.3.2", "numpy": np.__version__}
    json.dump({**versions, "cases": made}, sys.stdout)
