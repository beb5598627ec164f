"""Record MindSpore's primitives of optimizers: `python ms_updates.py > ms_updates.json`, with MindSpore 2.10.

Each case is the construction of a primitive and a call of it with parameters a, b, c, d, a gradient g and numbers. Its record
holds the parameters after two calls, and the last result where no parameter of a network moves. h is a gradient for three
rows: i names one of them twice, j some that are not there, k is for the two of g. A case that MindSpore cannot run on a CPU
is left out, with a line on stderr.
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
    ("ApplyAdagradDA()", "(a, b, c, g, 0.1, 0.01, 0.02, t(3, mindspore.int32))"),
    ("ApplyAdagradDA()", "(a, b, c, g, 0.1, 0.0, 0.02, 3)"),
    ("AdamNoUpdateParam()", "(b, c, t(0.9), t(0.99), t(0.1), t(0.9), t(0.99), t(1e-3), g)"),
    ("AdamNoUpdateParam(use_nesterov=True)", "(b, c, t(0.9), t(0.99), t(0.1), t(0.9), t(0.99), t(1e-3), g)"),
    (
        "FusedAdaFactorWithGlobalNorm(True, True, True)",
        "((1e-30, 1e-3), 1.0, 0.9, 0.8, 0.1, 0.03, g, a, b, p, q, c, t(2.0))",
    ),
    ("FusedAdaFactorWithGlobalNorm()", "((1e-30, 1e-3), 1.0, 0.9, 0.8, 0.1, 0.03, g, a, b, p, q, c, t(0.5))"),
    *((f"SparseApplyAdagrad({how})", f"(a, b, h, {x})") for how in ("0.1", "0.1, update_slots=False") for x in "ij"),
    ("SparseApplyAdagradV2(0.1, 1e-2)", "(a, b, g, k)"),
    ("SparseApplyAdagradV2(0.1, 1e-2, update_slots=False)", "(a, b, g, k)"),
    ("SparseApplyFtrl(0.1, 0.01, 0.02, -0.5)", "(a, b, c, g, k)"),
    ("SparseApplyFtrl(0.1, 0.0, 0.0, -0.6)", "(a, b, c, g, k)"),
    ("SparseApplyRMSProp(0.9, 0.5, 1e-2)", "(a, b, c, 0.1, g, k)"),
    *(
        (f"FusedSparse{name}({how})", f"(a, b, c, t(0.9), t(0.99), t(0.1), t(0.9), t(0.99), t(1e-3), h, {x})")
        for name in ("Adam", "LazyAdam")
        for how in ("", "use_nesterov=True")
        for x in "ij"
    ),
    ("FusedSparseFtrl(0.1, 0.01, 0.02, -0.5)", "(a, b, c, h, i)"),
    ("FusedSparseFtrl(0.1, 0.01, 0.02, -0.5)", "(a, b, c, h, j)"),
    ("FusedSparseProximalAdagrad()", "(a, b, t(0.1), t(0.3), t(0.2), h, i)"),
    ("SparseApplyCenteredRMSProp()", "(a, e, f, c, 0.1, 0.9, 0.5, 1e-3, g, k)"),
    ("SparseApplyMomentum()", "(a, b, 0.1, g, k, 0.9)"),
    ("SparseApplyMomentum(use_nesterov=True)", "(a, b, 0.1, g, k, 0.9)"),
    ("SparseApplyAdagradDA()", "(a, b, c, g, k, 0.1, 0.01, 0.02, t(3, mindspore.int32))"),
    ("SparseApplyProximalGradientDescent()", "(a, 0.1, 0.3, 0.2, g, k)"),
    ("SGD()", "(a, g, t(0.1), b, t(0.9), s)"),
    ("SGD(dampening=0.1, weight_decay=0.05)", "(a, g, t(0.1), b, t(0.9), s)"),
    ("SGD(nesterov=True)", "(a, g, t(0.1), b, t(0.9), s)"),
]

#: What is no parameter.
GIVEN = "ghijk"


def values() -> dict[str, np.ndarray]:
    """The parameters and the gradient of every case. e is small and f is large: the mean and the mean square of a gradient."""
    draws = np.random.RandomState(7)
    made = {name: draws.rand(2, 3) + (0.0 if name == "a" else 0.1) for name in "abcd"}
    made.update(e=made["b"] / 10, f=made["c"] + 1, g=draws.randn(2, 3), s=np.ones((2, 3)))
    made.update(h=draws.randn(3, 3), p=np.zeros(2), q=np.zeros(3))
    rows = {"i": [1, 0, 1], "j": [1, 7, -1], "k": [1, 0]}
    return {n: v.astype(np.float32) for n, v in made.items()} | {n: np.array(v, np.int32) for n, v in rows.items()}


if __name__ == "__main__":
    import mindspore
    from mindspore import Parameter, Tensor
    from mindspore.ops.operations import nn_ops

    records = []
    for make, call in CASES:
        made = values()
        scope = {n: Tensor(v) if n in GIVEN else Parameter(Tensor(v), name=n) for n, v in made.items()}
        scope.update(
            t=lambda x, dtype=mindspore.float32: Tensor(x, dtype),
            mindspore=mindspore,
            op=eval(make, {**vars(nn_ops), **vars(mindspore.ops)}),
        )
        record = {"make": make, "call": call}
        try:
            for _ in range(2):
                result = eval(f"op{call}", scope)
            record["after"] = {n: p.asnumpy().tolist() for n, p in scope.items() if isinstance(p, Parameter)}
            if "NoUpdate" in make:
                record["result"] = result.asnumpy().tolist()
        except Exception as error:
            print(f"left out {make}: {str(error)[:90]!r}", file=sys.stderr)
            continue
        records.append(record)
    lines = ",\n".join(json.dumps(r, separators=(",", ":")) for r in records)
    print(f'{{"mindspore": "{mindspore.__version__}", "cases": [\n{lines}\n]}}')
