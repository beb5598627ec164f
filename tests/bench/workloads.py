"""What every peer trains: sizes, the same initial weights, the same batch. NumPy only: any environment can import it.

Mean softmax cross entropy; momentum 0.9 at learning rate 0.01, for the transformer AdamW (betas 0.9 and 0.999, eps 1e-8,
learning rate 0.001, weight decay 0.01) after gradients are clipped to a global norm of 1; for the recommender no
momentum. A scaled step multiplies the loss by 1024, divides the gradients again, and leaves weights and optimizer state alone
when a gradient is not finite.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from chains import CHAINS, shapes

Array = np.ndarray[Any, np.dtype[Any]]

LEARNING_RATE, MOMENTUM, SCALE = 0.01, 0.9, 1024.0
ADAM_RATE, BETAS, EPS, WEIGHT_DECAY, CLIP = 1e-3, (0.9, 0.999), 1e-8, 0.01, 1.0
#: Of layer and batch normalization.
NORM_EPS = 1e-5


@dataclass(frozen=True)
class Workload:
    """A network of a `family`: "mlp" with the layer sizes `dims`, "lenet", "resnet20", "gpt", "lstm" with
    `dims` steps, inputs, states, classes, "recommender" with `dims` rows and width of a table, numbers of rows a sample
    reads, hidden units, classes, or "chain": the one of `chains.CHAINS` that has the workload's name, with `dims` a sample's
    axes; one axis: tokens below 1000 as many, of which the last ones are 0.

    `goal` is the wanted quotient of graphc's step time and the best peer's.
    """

    title: str
    family: str
    batch: int
    goal: float
    dims: tuple[int, ...] = ()


#: Of "gpt", and of "resnet20"; other numbers show what a layer more costs to compile: BENCH_LAYERS=32, BENCH_DEPTH=110.
LAYERS = int(os.environ.get("BENCH_LAYERS", "4"))
DEPTH = int(os.environ.get("BENCH_DEPTH", "20"))

WORKLOADS = {
    "mlp_small": Workload("MLP 64-64-32-10, batch 32", "mlp", 32, 0.25, (64, 64, 32, 10)),
    "mlp": Workload("MLP 784-512-512-10, batch 64", "mlp", 64, 0.5, (784, 512, 512, 10)),
    "lenet": Workload("LeNet-5, batch 32", "lenet", 32, 0.2),
    "lenet256": Workload("LeNet-5, batch 256", "lenet", 256, 0.2),
    "resnet20": Workload(f"ResNet-{DEPTH}, batch 32", "resnet20", 32, 0.5),
    "gpt": Workload(f"GPT, {LAYERS} layers, batch 12", "gpt", 12, 0.5),
    "lstm16": Workload("LSTM 64-128, 16 steps, batch 32", "lstm", 32, 0.6, (16, 64, 128, 10)),
    "lstm64": Workload("LSTM 64-128, 64 steps, batch 32", "lstm", 32, 0.6, (64, 64, 128, 10)),
    "lstm256": Workload("LSTM 64-128, 256 steps, batch 32", "lstm", 32, 0.6, (256, 64, 128, 10)),
    "recommender": Workload(
        "table of 200,000 x 64, 8 rows a sample, batch 512", "recommender", 512, 0.5, (200_000, 64, 8, 128, 10)
    ),
    "mlp_wide": Workload("MLP 2048-2048-2048-10, batch 64", "mlp", 64, 0.5, (2048, 2048, 2048, 10)),
    "depthwise": Workload("depthwise-separable, 32 x 32, batch 32", "chain", 32, 0.6, (3, 32, 32)),
    "generator": Workload("encoder and generator, 32 x 32, batch 32", "chain", 32, 0.6, (3, 32, 32)),
    "resnet_wide": Workload("residual, 64 and 128 channels, 32 x 32, batch 8", "chain", 8, 0.6, (3, 32, 32)),
    "dilated": Workload("dilated 1-D convolutions, length 256, batch 16", "chain", 16, 0.6, (16, 256)),
    "unet": Workload("UNet, 64 x 64, batch 8", "chain", 8, 0.6, (3, 64, 64)),
    "bert": Workload("encoder of 2 layers with padding, length 128, batch 16", "chain", 16, 0.6, (128,)),
    "inverted": Workload("inverted bottlenecks, 96 x 96, batch 16", "chain", 16, 0.6, (3, 96, 96)),
    "bottlenecks": Workload("bottlenecks, 96 x 96, batch 8", "chain", 8, 0.6, (3, 96, 96)),
    "grouped": Workload("grouped bottlenecks, 96 x 96, batch 8", "chain", 8, 0.6, (3, 96, 96)),
    "resnet_deep": Workload("residual, 64 to 512 channels, 32 x 32, batch 8", "chain", 8, 0.6, (3, 32, 32)),
    "vgg": Workload("3 x 3 windows and pooling, 64 to 512 channels, 32 x 32, batch 8", "chain", 8, 0.6, (3, 32, 32)),
    "deep": Workload("nine convolutions, 48 x 48, batch 16", "chain", 16, 0.6, (3, 48, 48)),
    "octaves": Workload("dilations of 1 to 64, length 500, batch 8", "chain", 8, 0.6, (16, 500)),
    "long_windows": Workload("windows of 5, 7 and 9, length 300, batch 16", "chain", 16, 0.6, (9, 300)),
    "atrous": Workload("dilations of 2 to 12, 80 x 80, batch 4", "chain", 4, 0.6, (3, 80, 80)),
    "encoder": Workload("encoder of 4 layers with padding, length 197, batch 8", "chain", 8, 0.6, (197,)),
}
#: Networks of the same families that are run when they are asked for.
OTHERS = (
    *("inverted", "bottlenecks", "grouped", "resnet_deep", "vgg", "deep", "octaves", "long_windows", "atrous"),
    "encoder",
)
VARIANTS = ("plain", "scaled")


@dataclass(frozen=True)
class Transformer:
    """Sizes of "gpt": a decoder with normalization before each part, learned positions, no dropout."""

    layers: int = LAYERS
    heads: int = 4
    width: int = 128
    context: int = 64
    vocabulary: int = 65


GPT = Transformer()
#: Stages of "resnet20": channels, and the stride of the first of its blocks, which have two convolutions each.
STAGES = ((16, 1), (32, 2), (64, 2))
BLOCKS = (DEPTH - 2) // (2 * len(STAGES))


def residual_blocks() -> Iterator[tuple[int, int, int]]:
    """Channels in, channels out, stride of the blocks of "resnet20"; one with a stride has a projection shortcut."""
    channels = STAGES[0][0]
    for out, stride in STAGES:
        for i in range(BLOCKS):
            yield channels, out, stride if i == 0 else 1
            channels = out


def weights(workload: str) -> dict[str, Array]:
    """Initial weights by name, "fc1.weight": normal with deviation 1/sqrt(fan in), float32; biases 0, scales 1.

    Shapes are [out, in] and [out, in, height, width]; of embeddings [number, width].
    """
    rng = np.random.default_rng(0)
    made: dict[str, Array] = {}
    w = WORKLOADS[workload]
    named = shapes(CHAINS[workload], w.dims[0], len(w.dims) - 1) if w.family == "chain" else _shapes(w)
    for name, shape in named:
        if len(shape) == 1:
            made[name] = np.full(shape, float(name.endswith("weight")), np.float32)
        else:
            deviation = 0.02 if name.startswith(("tokens", "positions", "table")) else np.prod(shape[1:]) ** -0.5
            made[name] = (rng.standard_normal(shape) * deviation).astype(np.float32)
    return made


def untouched(workload: str) -> int:
    """Bytes of weights that no batch reads: of a table the rows beyond those that it names."""
    w = WORKLOADS[workload]
    if w.family != "recommender":
        return 0
    return 4 * w.dims[1] * (w.dims[0] - len(np.unique(batch(workload)[0])))


def batch(workload: str) -> tuple[Array, Array]:
    """One batch: normal float32 inputs and int32 labels below ten; for "gpt" int32 tokens and the ones that follow, for
    "recommender" int32 rows of the table.
    """
    rng = np.random.default_rng(1)
    w = WORKLOADS[workload]
    if w.family == "gpt":
        tokens = rng.integers(0, GPT.vocabulary, (w.batch, GPT.context + 1)).astype(np.int32)
        return tokens[:, :-1].copy(), tokens[:, 1:].copy()
    if w.family == "lstm":
        x = rng.standard_normal((w.dims[0], w.batch, w.dims[1])).astype(np.float32)
        return x, rng.integers(0, 10, w.batch).astype(np.int32)
    if w.family == "recommender":
        x = rng.integers(0, w.dims[0], (w.batch, w.dims[2])).astype(np.int32)
        return x, rng.integers(0, 10, w.batch).astype(np.int32)
    if w.family == "chain" and len(w.dims) == 1:
        x = rng.integers(1, 1000, (w.batch, *w.dims)).astype(np.int32)
        x[np.arange(w.dims[0]) >= rng.integers(w.dims[0] // 2, w.dims[0] + 1, (w.batch, 1))] = 0
        return x, rng.integers(0, 10, w.batch).astype(np.int32)
    if w.family == "chain":
        x = rng.standard_normal((w.batch, *w.dims)).astype(np.float32)
        return x, rng.integers(0, 10, w.batch).astype(np.int32)
    image = {"mlp": w.dims[:1], "lenet": (1, 32, 32), "resnet20": (3, 32, 32)}[w.family]
    return rng.standard_normal((w.batch, *image)).astype(np.float32), rng.integers(0, 10, w.batch).astype(np.int32)


# ---- names and shapes


Shapes = Iterator[tuple[str, tuple[int, ...]]]


def _shapes(w: Workload) -> Shapes:
    if w.family == "mlp":
        for i, (a, b) in enumerate(pairwise(w.dims), 1):
            yield from _dense(f"fc{i}", a, b)
    elif w.family == "lenet":
        yield from (("conv1.weight", (6, 1, 5, 5)), ("conv1.bias", (6,)))
        yield from (("conv2.weight", (16, 6, 5, 5)), ("conv2.bias", (16,)))
        for i, (a, b) in enumerate(((400, 120), (120, 84), (84, 10)), 1):
            yield from _dense(f"fc{i}", a, b)
    elif w.family == "lstm":
        _, inputs, states, classes = w.dims
        yield from (("rnn.weight_ih_l0", (4 * states, inputs)), ("rnn.weight_hh_l0", (4 * states, states)))
        yield from (("rnn.bias_ih_l0", (4 * states,)), ("rnn.bias_hh_l0", (4 * states,)))
        yield from _dense("fc", states, classes)
    elif w.family == "recommender":
        rows, width, fields, hidden, classes = w.dims
        yield "table.weight", (rows, width)
        yield from _dense("fc1", fields * width, hidden)
        yield from _dense("fc2", hidden, classes)
    elif w.family == "resnet20":
        yield from _residual()
    else:
        yield from _transformer()


def _dense(name: str, a: int, b: int) -> Shapes:
    yield f"{name}.weight", (b, a)
    yield f"{name}.bias", (b,)


def _norm(name: str, size: int) -> Shapes:
    yield f"{name}.weight", (size,)
    yield f"{name}.bias", (size,)


def _residual() -> Shapes:
    """Convolutions have no bias: a batch normalization follows each."""
    yield "conv.weight", (16, 3, 3, 3)
    yield from _norm("norm", 16)
    for i, (a, b, stride) in enumerate(residual_blocks()):
        yield f"blocks.{i}.conv1.weight", (b, a, 3, 3)
        yield from _norm(f"blocks.{i}.norm1", b)
        yield f"blocks.{i}.conv2.weight", (b, b, 3, 3)
        yield from _norm(f"blocks.{i}.norm2", b)
        if stride > 1:
            yield f"blocks.{i}.project.weight", (b, a, 1, 1)
            yield from _norm(f"blocks.{i}.norm3", b)
    yield from _dense("fc", STAGES[-1][0], 10)


def _transformer() -> Shapes:
    width = GPT.width
    yield "tokens.weight", (GPT.vocabulary, width)
    yield "positions.weight", (GPT.context, width)
    for i in range(GPT.layers):
        yield from _norm(f"blocks.{i}.norm1", width)
        yield from _dense(f"blocks.{i}.qkv", width, 3 * width)
        yield from _dense(f"blocks.{i}.out", width, width)
        yield from _norm(f"blocks.{i}.norm2", width)
        yield from _dense(f"blocks.{i}.up", width, 4 * width)
        yield from _dense(f"blocks.{i}.down", 4 * width, width)
    yield from _norm("norm", width)
    yield "head.weight", (GPT.vocabulary, width)
