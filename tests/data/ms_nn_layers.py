"""Numbers of nn's transformer, its small layers of functions and those around others, from MindSpore, and their gradients.

Run with MindSpore's Python in this folder: python ms_nn_layers.py OUTPUT.json. tests/nn/test_nn_layers_recorded.py reads it.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np


def array(*shape: int, seed: int = 0, low: float = -1.0, high: float = 1.0) -> Any:
    """float32 numbers between two bounds."""
    return np.random.default_rng(seed + sum(shape)).uniform(low, high, shape).astype(np.float32)


ROWS, CUBE = array(4, 3), array(2, 3, 4)
POSITIVE = array(4, 5, low=0.1, high=20.0)
WIDE = np.array([[-2.5, -0.75, -0.1, 0.3], [0.5, 1.0, 7.25, 30.0]], np.float32)
SOURCE, TARGET = array(5, 2, 6), array(3, 2, 6, seed=1)
CAUSAL = np.triu(np.ones((3, 3), bool), 1)
ADDED = np.where(CAUSAL, np.float32(-1e4), np.float32(0.25))
PADDING = np.array([[False, False, False, True, True], [False] * 5])
IDS = np.array([[2, 0], [1, 3]], np.int32)

PLAIN = {"dropout": 0.0}
#: Layers whose parameters' names and order are recorded, too.
NAMED: dict[str, tuple[Any, ...]] = {
    "Transformer": (6, 2, 2, 2, 5),
    "TransformerDecoderLayer": (6, 2, 5),
    "Linear": (3, 2),
    "LayerNormExt": (4,),
    "PReLUExt": (),
    "EmbeddingExt": (3, 2),
    "Conv2dBnAct": (3, 2, 3, 1, "same", 0, 1, 1, True, "normal", "zeros", True),
}


def names(nn: Any, kind: str) -> list[str]:
    """Names of a layer's parameters, held by another cell."""
    return [p.name for p in nn.SequentialCell(getattr(nn, kind)(*NAMED[kind])).get_parameters()]


Case = tuple[str, tuple[Any, ...], dict[str, Any], tuple[Any, ...]]
#: name -> (class, arguments, keyword arguments, inputs). Arguments of the form ("a cell", class, ...) are made first.
CASES: dict[str, Case] = {
    "encoder_layer_masks": (
        "TransformerEncoderLayer",
        (6, 2, 5),
        {**PLAIN, "activation": "gelu"},
        (SOURCE, np.triu(np.ones((5, 5), bool), 1), PADDING),
    ),
    "decoder_layer": ("TransformerDecoderLayer", (6, 2, 5), PLAIN, (TARGET, SOURCE)),
    "decoder_layer_masks": (
        "TransformerDecoderLayer",
        (6, 3, 5),
        {**PLAIN, "norm_first": True},
        (TARGET, SOURCE, ADDED, None, None, PADDING),
    ),
    "encoder": ("TransformerEncoder", (("a cell", "TransformerEncoderLayer", (6, 2, 5, 0.0)), 2), {}, (SOURCE,)),
    "decoder": (
        "TransformerDecoder",
        (("a cell", "TransformerDecoderLayer", (6, 2, 5, 0.0)), 2, ("a cell", "LayerNorm", ((6,),))),
        {},
        (TARGET, SOURCE, CAUSAL),
    ),
    "transformer": ("Transformer", (6, 2, 2, 1, 5, 0.0), {}, (SOURCE, TARGET, None, CAUSAL, None, PADDING)),
    "transformer_batch_first": (
        "Transformer",
        (6, 2, 1, 1, 5, 0.0),
        {"batch_first": True, "norm_first": True},
        (array(2, 5, 6), array(2, 3, 6)),
    ),
    "norm_all": ("Norm", (), {}, (ROWS,)),
    "norm": ("Norm", (-1, True), {}, (CUBE,)),
    "norm_axes": ("Norm", ((0, 2),), {}, (CUBE,)),
    "moments": ("Moments", ((0, 2),), {}, (CUBE,)),
    "moments_all": ("Moments", (), {"keep_dims": True}, (CUBE,)),
    "log_sum_exp": ("ReduceLogSumExp", (1,), {}, (CUBE * 30,)),
    "log_sum_exp_all": ("ReduceLogSumExp", ((),), {"keep_dims": True}, (CUBE,)),
    "range": ("Range", (1, 8, 2), {}, ()),
    "range_floats": ("Range", (1.5, 0.0, -0.5), {}, ()),
    "range_end": ("Range", (4,), {}, ()),
    "one_hot": ("OneHot", (), {"depth": 3, "on_value": 2.0, "off_value": -1.0}, (IDS,)),
    "one_hot_axis": ("OneHot", (0, 4), {}, (IDS,)),
    "tril": ("Tril", (), {}, (CUBE,)),
    "tril_below": ("Tril", (), {}, (CUBE, -1)),
    "triu_above": ("Triu", (), {}, (CUBE, 1)),
    "matmul": ("MatMul", (), {"transpose_x1": True}, (array(2, 3, 4), array(3, 5))),
    "matmul_both": ("MatMul", (True, True), {}, (array(3, 4), array(5, 3))),
    "matmul_vector": ("MatMul", (), {}, (array(3), array(2, 3, 4))),
    # Elsewhere MindSpore's gradient is NaN.
    "lgamma": ("LGamma", (), {}, (WIDE[:, [0, 2]],)),
    "digamma": ("DiGamma", (), {}, (WIDE,)),
    "lbeta": ("LBeta", (), {}, (POSITIVE, POSITIVE[::-1].copy())),
    "conv_bn_act": (
        "Conv2dBnAct",
        (3, 4, 3),
        {"has_bn": True, "activation": "relu", "has_bias": True},
        (array(2, 3, 5, 4),),
    ),
    "conv_act": ("Conv2dBnAct", (3, 2, 3, 2), {"activation": "leakyrelu", "alpha": 0.1}, (array(2, 3, 5, 4),)),
    "dense_bn_act": ("DenseBnAct", (3, 5), {"has_bn": True, "activation": "tanh"}, (ROWS,)),
    "time_distributed": ("TimeDistributed", (("a cell", "Dense", (4, 2)), 1), {}, (CUBE,)),
    "time_distributed_merged": ("TimeDistributed", (("a cell", "Dense", (4, 2)), 1, 0), {}, (CUBE,)),
    "linear": ("Linear", (3, 2), {}, (ROWS,)),
    "prelu": ("PReLUExt", (3, 0.4), {}, (ROWS,)),
    "dropout_off": ("DropoutExt", (0.0,), {}, (ROWS,)),
}


def made_of(nn: Any, value: Any) -> Any:
    """An argument: a cell where it describes one."""
    if isinstance(value, tuple) and value and value[0] == "a cell":
        return getattr(nn, value[1])(*(made_of(nn, v) for v in value[2]))
    return value


def measured(nn: Any, ops: Any, tensor: Any, name: str) -> list[Any]:
    """Results of a case and their gradients by float inputs and parameters, in either framework."""
    kind, args, kwargs, inputs = CASES[name]
    cell = getattr(nn, kind)(*(made_of(nn, a) for a in args), **kwargs)
    cell.set_train()
    parameters = cell.trainable_params()
    for i, p in enumerate(parameters):
        p.set_data(tensor(array(*p.shape, seed=10 + i, low=-0.5, high=0.5)))
    given = [tensor(x) if isinstance(x, np.ndarray) else x for x in inputs]
    at = tuple(i for i, x in enumerate(inputs) if isinstance(x, np.ndarray) and x.dtype == np.float32)

    def results(*xs: Any) -> tuple[Any, ...]:
        made = cell(*xs)
        return made if isinstance(made, tuple) else (made,)

    def total(*xs: Any) -> Any:
        whole = 0.0
        for y in results(*xs):
            weights = ops.cos(ops.reshape(ops.arange(y.size), y.shape).astype(y.dtype)) if y.shape else 1.0
            whole = whole + (y * weights).sum()
        return whole

    found = list(results(*given))
    if at:
        by_input = ops.grad(total, at)(*given)
        found += by_input if isinstance(by_input, tuple) else (by_input,)
    if parameters:
        found += ops.grad(total, None, parameters)(*given)
    return [x.asnumpy() for x in found]


def main() -> None:
    """Record all cases."""
    import mindspore as ms

    ms.set_context(mode=ms.PYNATIVE_MODE)
    made: dict[str, Any] = {"names": {kind: names(ms.nn, kind) for kind in NAMED}}
    for name in CASES:
        arrays = measured(ms.nn, ms.ops, ms.Tensor, name)
        made[name] = [{"shape": a.shape, "values": [float(f"{v:.6g}") for v in a.ravel().tolist()]} for a in arrays]
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(made, file)
        file.write("\n")


if __name__ == "__main__":
    main()
