"""Record MindSpore's layers, losses and functions: `python ms_layers.py > ms_layers.json`, with MindSpore 2.10.

The cases run on any module with MindSpore's names: tests/nn/test_layers_recorded.py runs them on graphc. Inputs and
parameters are made from seeds, so that the file holds results only.
"""

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

#: (class, arguments, shape of x, training)
LAYERS: list[tuple[str, dict[str, Any], tuple[int, ...], bool]] = [
    (
        "Conv2d",
        {"in_channels": 4, "out_channels": 6, "kernel_size": 3, "group": 2, "has_bias": True},
        (2, 4, 6, 5),
        True,
    ),
    ("Conv2d", {"in_channels": 3, "out_channels": 3, "kernel_size": 3, "group": 3, "stride": 2}, (2, 3, 7, 6), True),
    (
        "Conv2d",
        {
            "in_channels": 2,
            "out_channels": 6,
            "kernel_size": (2, 3),
            "group": 2,
            "pad_mode": "pad",
            "padding": (1, 0, 2, 1),
        },
        (2, 2, 5, 6),
        True,
    ),
    (
        "Conv2d",
        {"in_channels": 2, "out_channels": 3, "kernel_size": 3, "stride": (2, 1), "pad_mode": "valid"},
        (1, 2, 8, 7),
        True,
    ),
    ("Conv2d", {"in_channels": 2, "out_channels": 3, "kernel_size": 3, "stride": (3, 2)}, (1, 2, 8, 7), True),
    (
        "Conv2d",
        {"in_channels": 2, "out_channels": 3, "kernel_size": 3, "dilation": (1, 2), "pad_mode": "pad", "padding": 2},
        (1, 2, 8, 7),
        True,
    ),
    ("Conv1d", {"in_channels": 3, "out_channels": 4, "kernel_size": 3, "has_bias": True}, (2, 3, 9), True),
    (
        "Conv1d",
        {"in_channels": 3, "out_channels": 2, "kernel_size": 4, "stride": 2, "pad_mode": "pad", "padding": 1},
        (2, 3, 9),
        True,
    ),
    ("BatchNorm1d", {"num_features": 5}, (6, 5), True),
    ("BatchNorm1d", {"num_features": 5, "momentum": 0.6, "eps": 1e-3}, (6, 5), True),
    ("BatchNorm1d", {"num_features": 5}, (6, 5), False),
    ("BatchNorm2d", {"num_features": 3}, (4, 3, 3, 5), True),
    ("BatchNorm2d", {"num_features": 3}, (4, 3, 3, 5), False),
    ("BatchNorm2d", {"num_features": 3, "use_batch_statistics": True}, (4, 3, 3, 5), False),
    ("BatchNorm2d", {"num_features": 3, "use_batch_statistics": False}, (4, 3, 3, 5), True),
    ("LayerNorm", {"normalized_shape": [7]}, (3, 2, 7), True),
    ("LayerNorm", {"normalized_shape": [2, 7], "begin_norm_axis": 1, "begin_params_axis": 1}, (3, 2, 7), True),
    ("LayerNorm", {"normalized_shape": [7], "begin_norm_axis": 1, "epsilon": 1e-2}, (3, 2, 7), True),
    ("GroupNorm", {"num_groups": 2, "num_channels": 4}, (3, 4, 5, 2), True),
    ("PReLU", {}, (2, 3, 4), True),
    ("PReLU", {"channel": 3, "w": 0.1}, (2, 3, 4), True),
    ("GELU", {}, (4, 9), True),
    ("GELU", {"approximate": False}, (4, 9), True),
    ("FastGelu", {}, (4, 9), True),
    ("ELU", {}, (4, 9), True),
    ("CELU", {"alpha": 0.7}, (4, 9), True),
    ("LeakyReLU", {}, (4, 9), True),
    ("LeakyReLU", {"alpha": 0.05}, (4, 9), True),
    ("SiLU", {}, (4, 9), True),
    ("Mish", {}, (4, 9), True),
    ("HSwish", {}, (4, 9), True),
    ("HSigmoid", {}, (4, 9), True),
    ("ReLU6", {}, (4, 9), True),
    ("LogSigmoid", {}, (4, 9), True),
    ("Softsign", {}, (4, 9), True),
    ("HShrink", {"lambd": 1.0}, (4, 9), True),
    ("SoftShrink", {"lambd": 1.0}, (4, 9), True),
    ("Threshold", {"threshold": 0.5, "value": 2.0}, (4, 9), True),
    ("Hardtanh", {"min_val": -2.0, "max_val": 1.5}, (4, 9), True),
    ("Softmin", {}, (4, 9), True),
    ("GLU", {}, (4, 8), True),
    ("Dropout", {"p": 0.5}, (4, 9), False),
    ("Dropout", {"p": 0.0}, (4, 9), True),
    ("Dropout1d", {"p": 1.0}, (2, 3, 4), True),
]

#: (class, arguments, shape of the logits, kind of the labels). Lists among the arguments become tensors.
LOSSES: list[tuple[str, dict[str, Any], tuple[int, ...], str]] = [
    *[("SmoothL1Loss", {"reduction": r}, (3, 5), "numbers") for r in ("none", "mean", "sum")],
    ("SmoothL1Loss", {"beta": 0.3}, (3, 5), "numbers"),
    *[("HuberLoss", {"reduction": r, "delta": 0.7}, (3, 5), "numbers") for r in ("none", "mean", "sum")],
    ("MAELoss", {}, (3, 5), "numbers"),
    ("RMSELoss", {}, (3, 5), "numbers"),
    ("HingeEmbeddingLoss", {"margin": 0.8}, (3, 5), "signs"),
    ("BCELoss", {}, (3, 5), "of probabilities"),
    ("BCELoss", {"reduction": "sum", "weight": [[0.5, 1.0, 2.0, 0.1, 3.0]] * 3}, (3, 5), "of probabilities"),
    *[("BCEWithLogitsLoss", {"reduction": r}, (3, 5), "bits") for r in ("none", "mean", "sum")],
    (
        "BCEWithLogitsLoss",
        {"weight": [[0.5, 1.0, 2.0, 0.1, 3.0]], "pos_weight": [[2.0, 0.5, 1.0, 1.0, 4.0]]},
        (3, 5),
        "bits",
    ),
    *[("KLDivLoss", {"reduction": r}, (3, 5), "probabilities") for r in ("none", "mean", "batchmean", "sum")],
    *[("CrossEntropyLoss", {"reduction": r}, (4, 5), "classes") for r in ("none", "mean", "sum")],
    ("CrossEntropyLoss", {"label_smoothing": 0.2}, (4, 5), "classes"),
    ("CrossEntropyLoss", {"ignore_index": 3, "reduction": "none"}, (4, 5), "classes"),
    ("CrossEntropyLoss", {"ignore_index": 3}, (4, 5), "classes"),
    ("CrossEntropyLoss", {"weight": [0.5, 1.0, 2.0, 0.1, 3.0]}, (4, 5), "classes"),
    (
        "CrossEntropyLoss",
        {"weight": [0.5, 1.0, 2.0, 0.1, 3.0], "ignore_index": 3, "label_smoothing": 0.3},
        (4, 5),
        "classes",
    ),
    ("CrossEntropyLoss", {}, (4, 5), "probabilities"),
    (
        "CrossEntropyLoss",
        {"weight": [0.5, 1.0, 2.0, 0.1, 3.0], "label_smoothing": 0.3, "reduction": "none"},
        (4, 5),
        "probabilities",
    ),
    ("CrossEntropyLoss", {}, (2, 5, 3, 2), "classes"),
    ("CrossEntropyLoss", {"reduction": "none", "weight": [0.5, 1.0, 2.0, 0.1, 3.0]}, (2, 5, 3), "classes"),
    *[("NLLLoss", {"reduction": r}, (4, 5), "classes") for r in ("none", "mean", "sum")],
    ("NLLLoss", {"weight": [0.5, 1.0, 2.0, 0.1, 3.0], "ignore_index": 1}, (4, 5), "classes"),
    ("SoftmaxCrossEntropyWithLogits", {}, (4, 5), "numbers"),
    ("SoftmaxCrossEntropyWithLogits", {"reduction": "mean"}, (4, 5), "probabilities"),
    ("CosineEmbeddingLoss", {"margin": 0.2}, (4, 5), "pairs"),
    ("MarginRankingLoss", {"margin": 0.3}, (3, 5), "ranks"),
]

#: Functions of one tensor [3, 4] of numbers.
FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "gelu": lambda ops, x: ops.gelu(x),
    "gelu tanh": lambda ops, x: ops.gelu(x, "tanh"),
    "softplus": lambda ops, x: ops.softplus(x, 2.0),
    "tile": lambda ops, x: ops.tile(x, (2, 1, 3)),
    "cumsum 0": lambda ops, x: ops.cumsum(x, 0),
    "cumsum 1": lambda ops, x: ops.cumsum(x, 1),
    "sin": lambda ops, x: ops.sin(x),
    "cos": lambda ops, x: ops.cos(x),
    "log1p": lambda ops, x: ops.log1p(x * x),
    "expm1": lambda ops, x: ops.expm1(x),
    "norm": lambda ops, x: ops.norm(x),
    "norm 1": lambda ops, x: ops.norm(x, 1, 1),
    "norm 3": lambda ops, x: ops.norm(x, 3, 0, True),
    "norm inf": lambda ops, x: ops.norm(x, float("inf"), 1),
    "std": lambda ops, x: ops.std(x, 1, 1),
    "var": lambda ops, x: ops.var(x, 0, 0, True),
    "addn": lambda ops, x: ops.addn((x, x * 2, x * x)),
    "masked_fill": lambda ops, x: ops.masked_fill(x, x > 0, 7.0),
    "chunk": lambda ops, x: ops.chunk(x, 3, 1)[1],
    "group_norm": lambda ops, x: ops.group_norm(x, 2),
    "cross_entropy": lambda ops, x: ops.cross_entropy(x, ops.softmax(x)),
    "smooth_l1_loss": lambda ops, x: ops.smooth_l1_loss(x, x * x),
    "kl_div": lambda ops, x: ops.kl_div(x, ops.softmax(x), "sum"),
}
#: Functions without gradient.
TESTS: dict[str, Callable[[Any, Any], Any]] = {
    "round": lambda ops, x: ops.round(x * 4),
    "ceil": lambda ops, x: ops.ceil(x),
    "isnan": lambda ops, x: ops.isnan(x),
    "isinf": lambda ops, x: ops.isinf(x),
    "logical_xor": lambda ops, x: ops.logical_xor(x > 0, x > 1),
}


def numbers(seed: int, shape: tuple[int, ...]) -> Any:
    return np.asarray(np.random.RandomState(seed).standard_normal(shape), np.float32)


def labels_of(kind: str, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """What a loss is called with after its logits."""
    x = numbers(2, shape)
    classes = (np.abs(x.sum(1)) * 10).astype(np.int32) % shape[1] if len(shape) > 1 else None
    soft = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    return {
        "numbers": (x,),
        "signs": (np.where(x > 0, 1, -1).astype(np.float32),),
        "bits": ((x > 0).astype(np.float32),),
        "of probabilities": ((x > 0).astype(np.float32),),
        "probabilities": (soft.astype(np.float32),),
        "classes": (classes,),
        "pairs": (x, np.where(x[:, 0] > 0, 1, -1).astype(np.int32)),
        "ranks": (x, np.where(numbers(3, shape) > 0, 1, -1).astype(np.float32)),
    }[kind]


def run_layer(ms: Any, name: str, kwargs: dict[str, Any], shape: tuple[int, ...], train: bool) -> dict[str, Any]:
    """Output, parameters afterwards, gradients for x and the trainable parameters of one layer."""
    layer = getattr(ms.nn, name)(**kwargs)
    layer.set_train(train)
    for i, p in enumerate(layer.get_parameters()):
        p.set_data(ms.Tensor(np.abs(numbers(10 + i, p.shape)) + np.float32(0.1)))
    x = numbers(1, shape) * np.float32(2)
    out = layer(ms.Tensor(x)).asnumpy()
    # A copy: MindSpore's arrays share the parameter's memory, which the gradient's forward moves on.
    after = {p.name: p.asnumpy().copy() for p in layer.get_parameters() if not p.requires_grad}
    sens = ms.Tensor(numbers(3, out.shape))
    weights = ms.ParameterTuple(layer.trainable_params())
    if weights:
        grad = ms.ops.GradOperation(get_all=True, get_by_list=True, sens_param=True)(layer, weights)
        inputs, params = grad(ms.Tensor(x), sens)
    else:
        inputs, params = ms.ops.GradOperation(get_all=True, sens_param=True)(layer)(ms.Tensor(x), sens), ()
    grads = [g.asnumpy() for g in (*inputs, *params)]
    return {"out": out, "after": after, "grads": grads}


def run_loss(ms: Any, name: str, kwargs: dict[str, Any], shape: tuple[int, ...], kind: str) -> dict[str, Any]:
    """Value and gradient for the logits of one loss."""
    given = {k: ms.Tensor(np.array(v, np.float32)) if isinstance(v, list) else v for k, v in kwargs.items()}
    loss = getattr(ms.nn, name)(**given)
    x = numbers(1, shape)
    if kind == "of probabilities":
        x = np.float32(1) / (np.float32(1) + np.exp(-x))
    labels = [ms.Tensor(v) for v in labels_of(kind, shape)]
    grad = ms.ops.GradOperation()(loss)(ms.Tensor(x), *labels)
    return {"out": loss(ms.Tensor(x), *labels).asnumpy(), "grads": [grad.asnumpy()]}


def run_function(ms: Any, name: str) -> dict[str, Any]:
    """Value and gradient of one function, inside a Cell."""
    function = {**FUNCTIONS, **TESTS}[name]

    class Apply(ms.nn.Cell):  # type: ignore[misc, name-defined]
        def construct(self, x: Any) -> Any:
            return function(ms.ops, x)

    x = ms.Tensor(numbers(1, (3, 4)))
    out = Apply()(x).asnumpy()
    if name in TESTS:
        return {"out": out, "grads": []}
    sens = ms.Tensor(numbers(3, out.shape))
    return {"out": out, "grads": [ms.ops.GradOperation(sens_param=True)(Apply())(x, sens).asnumpy()]}


def runs() -> dict[str, Callable[[Any], dict[str, Any]]]:
    """By name of the case, what runs it on a module."""
    made: dict[str, Callable[[Any], dict[str, Any]]] = {}
    for i, layer in enumerate(LAYERS):
        made[f"layer {i} {layer[0]}"] = lambda ms, case=layer: run_layer(ms, *case)  # type: ignore[misc]
    for i, loss in enumerate(LOSSES):
        made[f"loss {i} {loss[0]}"] = lambda ms, case=loss: run_loss(ms, *case)  # type: ignore[misc]
    for name in (*FUNCTIONS, *TESTS):
        made[f"function {name}"] = lambda ms, name=name: run_function(ms, name)  # type: ignore[misc]
    return made


def plain(x: Any) -> Any:
    """Arrays as lists of numbers with nine digits."""
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    if isinstance(x, list):
        return [plain(v) for v in x]
    if x.dtype.kind != "f":
        return x.tolist()
    return np.vectorize(lambda v: float(f"{v:.9g}"), otypes=[np.float64])(x).tolist()


if __name__ == "__main__":
    import mindspore

    made = {}
    for name, run in runs().items():
        # Its graph mode cannot read the lambdas of FUNCTIONS.
        mode = mindspore.PYNATIVE_MODE if name.startswith("function") else mindspore.GRAPH_MODE
        mindspore.set_context(mode=mode)
        made[name] = plain(run(mindspore))
    json.dump({"mindspore": mindspore.__version__, "cases": made}, sys.stdout, separators=(",", ":"))
    sys.stdout.write("\n")
