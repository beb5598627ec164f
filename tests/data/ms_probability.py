"""Numbers of distributions and bijectors, and of their gradients, from MindSpore, for tests/nn/test_probability.py.

Run with MindSpore's Python in this folder: python ms_probability.py OUTPUT.json. What MindSpore has no kernels for on a CPU is
left out.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

REAL = np.array([-3.0, -0.7, 0.0, 0.4, 2.5], np.float32)
POSITIVE = np.array([0.05, 0.3, 1.0, 2.5, 7.0], np.float32)
UNIT = np.array([0.02, 0.3, 0.5, 0.9], np.float32)
COUNTS = np.array([-1.0, 0.0, 1.0, 2.5, 4.0], np.float32)
BATCH = [[0.5], [1.5]]
CHANCES = [[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]]

#: class -> (parameters, those of another distribution, values)
DISTRIBUTIONS: dict[str, tuple[tuple[Any, ...], tuple[Any, ...], Any]] = {
    "Normal": ((0.5, BATCH), (1.0, 2.0), REAL),
    "Logistic": ((0.5, BATCH), (1.0, 2.0), REAL),
    "Laplace": ((0.5, BATCH), (1.0, 2.0), REAL),
    "Cauchy": ((0.5, BATCH), (1.0, 2.0), REAL),
    "StudentT": ((3.0, 0.5, BATCH), (2.0, 1.0, 2.0), REAL),
    "HalfNormal": ((0.0, BATCH), (0.0, 2.0), REAL),
    "Exponential": ((BATCH,), (2.0,), REAL),
    "Gamma": ((BATCH, [2.0]), (1.0, 0.5), POSITIVE),
    "Beta": ((BATCH, [2.0]), (3.0, 0.5), UNIT),
    "Uniform": ((-1.0, BATCH), (-2.0, 3.0), REAL),
    "LogNormal": ((0.5, BATCH), (1.0, 2.0), POSITIVE),
    "Gumbel": ((0.5, BATCH), (1.0, 2.0), REAL),
    "Bernoulli": (([[0.2], [0.7]],), (0.4,), np.array([0.0, 1.0], np.float32)),
    "Geometric": (([[0.2], [0.7]],), (0.4,), COUNTS),
    "Poisson": ((BATCH,), (2.0,), np.array([-1.0, 0.0, 1.0, 4.0], np.float32)),
    "Categorical": ((CHANCES,), ([0.3, 0.3, 0.4],), np.array([0.0, 2.0], np.float32)),
}
AT_VALUES = ("prob", "log_prob", "cdf", "log_cdf", "survival_function", "log_survival")
WHOLE = ("mean", "sd", "var", "mode", "entropy")

#: name -> (class, arguments, x)
BIJECTORS: dict[str, tuple[str, tuple[Any, ...], Any]] = {
    "exp": ("Exp", (), REAL),
    "gumbel_cdf": ("GumbelCDF", (0.5, 2.0), REAL),
    "power": ("PowerTransform", (0.5,), POSITIVE),
    "power_0": ("PowerTransform", (0.0,), REAL),
    "affine": ("ScalarAffine", (-2.0, 0.5), REAL),
    "softplus": ("Softplus", (1.5,), REAL),
}


def asked(msd: Any, tensor: Any, kind: str) -> dict[str, Any]:
    """Every question to a distribution that there is an answer to, and the answers, as functions of the value."""
    parameters, other, values = DISTRIBUTIONS[kind]
    cell = getattr(msd, kind)(*parameters)
    x, b = tensor(values), [tensor(np.array(v, np.float32)) for v in other]
    made: dict[str, Any] = {}
    for name in AT_VALUES:
        made[name] = lambda name=name: getattr(cell, name)(x)
        if kind not in ("Gumbel",):
            made[f"{name} of another"] = lambda name=name: getattr(cell, name)(x, *b)
    for name in WHOLE:
        made[name] = lambda name=name: getattr(cell, name)()
    for name in ("kl_loss", "cross_entropy"):
        made[name] = lambda name=name: getattr(cell, name)(kind, *b)
    return made


def answers(msd: Any, tensor: Any, kind: str, names: Any = None) -> dict[str, Any]:
    """The answers as arrays; those that raise are left out unless names are given."""
    found = {}
    for name, ask in asked(msd, tensor, kind).items():
        if names is not None and name not in names:
            continue
        try:
            found[name] = ask().asnumpy()
        except Exception as error:
            if names is not None:
                raise
            sys.stderr.write(f"{kind} {name}: {type(error).__name__} {str(error).strip()[:60]!r}\n")
    return found


def transformed(msd: Any, msb: Any, tensor: Any) -> dict[str, Any]:
    """Answers of a transformed distribution."""
    cell = msd.TransformedDistribution(msb.ScalarAffine(2.0, 0.5), msd.Normal(0.5, 1.5))
    x = tensor(REAL)
    return {"prob": cell.prob(x), "log_prob": cell.log_prob(x), "cdf": cell.cdf(x), "mean": cell.mean()}


def bijected(msb: Any, tensor: Any, name: str) -> list[Any]:
    """forward, its log of the derivative, both ways, and the inverted bijector's forward."""
    kind, args, values = BIJECTORS[name]
    cell = getattr(msb, kind)(*args)
    x = tensor(values)
    y = cell.forward(x)
    made = [y, cell.inverse(y), cell.forward_log_jacobian(x), cell.inverse_log_jacobian(y), msb.Invert(cell).forward(y)]
    return [m.asnumpy() for m in made]


def rounded(array: Any) -> dict[str, Any]:
    return {"shape": list(array.shape), "values": [float(f"{v:.6g}") for v in array.ravel().tolist()]}


def main() -> None:
    """Record all cases."""
    import mindspore as ms
    import mindspore.nn.probability.bijector as msb
    import mindspore.nn.probability.distribution as msd

    ms.set_context(mode=ms.PYNATIVE_MODE)
    made: dict[str, Any] = {"distributions": {}, "bijectors": {}}
    for kind in DISTRIBUTIONS:
        made["distributions"][kind] = {n: rounded(a) for n, a in answers(msd, ms.Tensor, kind).items()}
    made["transformed"] = {n: rounded(x.asnumpy()) for n, x in transformed(msd, msb, ms.Tensor).items()}
    for name in BIJECTORS:
        made["bijectors"][name] = [rounded(a) for a in bijected(msb, ms.Tensor, name)]
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(made, file)
        file.write("\n")


if __name__ == "__main__":
    main()
