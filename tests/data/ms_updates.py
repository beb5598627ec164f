"""Record MindSpore's primitives of optimizers: `python ms_updates.py > ms_updates.json`, with MindSpore 2.10.

Each case is the construction of a primitive and a call of it with parameters a, b, c, d, a gradient g and numbers. Its record
holds the parameters after two calls. A case that MindSpore cannot run on a CPU is left out, with a line on stderr.
`tests/nn/test_updates.py` does the same.
"""

import json
import sys

import numpy as np

CASES = [
    ("ApplyMomentum()", "(a, b, 0.1, g, 0.9)"),
    ("ApplyMomentum(use_nesterov=True, gradient_scale=0.5)", "(a, b, 0.1, g, 0.9)"),
    ("Adam()", "(a, b, c, 0.9, 0.99, 0.1, 0.9, 0.99, 1e-8, g)"),
    ("Adam(use_nesterov=True)", "(a, b, c, 0.9, 0.99, 0.1, 0.9, 0.99, 1e-8, g)"),
    ("AdamWeightDecay()", "(a, b, c, 0.1, 0.9, 0.99, 1e-8, 0.05, g)"),
    ("ApplyAdamWithAmsgrad(0.8, 0.99, 1e-6)", "(a, b, c, d, t(0.9), t(0.99), t(0.1), g)"),
    ("ApplyAdamWithAmsgradV2()", "(a, b, c, d, 0.9, 0.99, 0.1, 0.8, 0.99, 1e-8, g)"),
    ("ApplyKerasMomentum()", "(a, b, t(0.1), g, t(0.9))"),
    ("ApplyKerasMomentum(use_nesterov=True)", "(a, b, t(0.1), g, t(0.9))"),
    ("ApplyAdagrad()", "(a, b, 0.1, g)"),
    ("ApplyAdagrad(update_slots=False)", "(a, b, 0.1, g)"),
    ("ApplyAdagradV2(epsilon=1e-3)", "(a, b, 0.1, g)"),
    ("ApplyAdagradV2(epsilon=1e-3, update_slots=False)", "(a, b, 0.1, g)"),
    ("ApplyRMSProp()", "(a, b, c, 0.1, g, 0.9, 0.5, 1e-3)"),
    ("ApplyCenteredRMSProp()", "(a, e, f, c, g, 0.1, 0.9, 0.5, 1e-3)"),
    ("ApplyFtrl()", "(a, b, c, g, 0.1, 0.01, 0.02, -0.5)"),
    ("ApplyFtrl()", "(a, b, c, g, 0.1, 0.0, 0.0, -0.6)"),
    ("ApplyGradientDescent()", "(a, 0.1, g)"),
    ("ApplyProximalGradientDescent()", "(a, 0.1, 0.3, 0.2, g)"),
    ("ApplyProximalAdagrad()", "(a, b, 0.1, 0.3, 0.2, g)"),
    ("ApplyAdaMax()", "(a, b, c, 0.9, 0.1, 0.9, 0.99, 1e-8, g)"),
    ("ApplyAdadelta()", "(a, b, c, 0.1, 0.9, 1e-3, g)"),
    ("ApplyAddSign()", "(a, b, 0.1, 0.9, 0.8, 0.7, g)"),
    ("ApplyPowerSign()", "(a, b, 0.1, 1.2, 0.8, 0.7, g)"),
    ("SGD()", "(a, g, t(0.1), b, t(0.9), s)"),
    ("SGD(dampening=0.1, weight_decay=0.05)", "(a, g, t(0.1), b, t(0.9), s)"),
    ("SGD(nesterov=True)", "(a, g, t(0.1), b, t(0.9), s)"),
]


def values() -> dict[str, np.ndarray]:
    """The parameters and the gradient of every case. e is small and f is large: the mean and the mean square of a gradient."""
    draws = np.random.RandomState(7)
    made = {name: draws.rand(2, 3) + (0.0 if name == "a" else 0.1) for name in "abcd"}
    made.update(e=made["b"] / 10, f=made["c"] + 1, g=draws.randn(2, 3), s=np.ones((2, 3)))
    return {name: value.astype(np.float32) for name, value in made.items()}


if __name__ == "__main__":
    import mindspore
    from mindspore import Parameter, Tensor

    records = []
    for make, call in CASES:
        made = values()
        scope = {n: Tensor(v) if n == "g" else Parameter(Tensor(v), name=n) for n, v in made.items()}
        scope.update(t=lambda x: Tensor(x, mindspore.float32), op=eval(f"ops.{make}"))
        record = {"make": make, "call": call}
        try:
            for _ in range(2):
                eval(f"op{call}", scope)
            record["after"] = {n: p.asnumpy().tolist() for n, p in scope.items() if isinstance(p, Parameter)}
        except Exception as error:
            print(f"left out {make}: {str(error)[:90]!r}", file=sys.stderr)
            continue
        records.append(record)
    lines = ",\n".join(json.dumps(r, separators=(",", ":")) for r in records)
    print(f'{{"mindspore": "{mindspore.__version__}", "cases": [\n{lines}\n]}}')
