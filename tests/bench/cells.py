"""The networks and training steps of graphc and of MindSpore: one source. Whoever has imported MindSpore before gets its.

Parameter names are those of `workloads.weights`, but for the framework's own words for the weights of normalization and
embedding layers, see `load`.
"""

from __future__ import annotations

import importlib
import sys
from itertools import pairwise
from typing import Any

import numpy as np
from chain_cells import Chain
from chains import CHAINS
from workloads import (
    ADAM_RATE,
    BETAS,
    CLIP,
    GPT,
    LEARNING_RATE,
    MOMENTUM,
    NORM_EPS,
    SCALE,
    WEIGHT_DECAY,
    WORKLOADS,
    Array,
    residual_blocks,
)

ms: Any = importlib.import_module("mindspore" if "mindspore" in sys.modules else "graphc")
nn, ops, Tensor = ms.nn, ms.ops, ms.Tensor


class MLP(nn.Cell):
    def __init__(self, dims: tuple[int, ...]) -> None:
        super().__init__()
        self.fc1, self.fc2, self.fc3 = (nn.Dense(a, b) for a, b in pairwise(dims))

    def construct(self, x: Any) -> Any:
        return self.fc3(ops.relu(self.fc2(ops.relu(self.fc1(x)))))


class LeNet5(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="valid", has_bias=True)
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid", has_bias=True)
        self.fc1, self.fc2, self.fc3 = nn.Dense(400, 120), nn.Dense(120, 84), nn.Dense(84, 10)
        self.pool, self.flatten = nn.MaxPool2d(2, 2), nn.Flatten()

    def construct(self, x: Any) -> Any:
        x = self.pool(ops.relu(self.conv1(x)))
        x = self.flatten(self.pool(ops.relu(self.conv2(x))))
        return self.fc3(ops.relu(self.fc2(ops.relu(self.fc1(x)))))


class LSTM(nn.Cell):
    """Classifies a sequence by the last output of one layer."""

    def __init__(self, inputs: int, states: int, classes: int) -> None:
        super().__init__()
        self.rnn, self.fc = nn.LSTM(inputs, states), nn.Dense(states, classes)

    def construct(self, x: Any) -> Any:
        return self.fc(self.rnn(x)[0][-1])


class Recommender(nn.Cell):
    """Two dense layers over some rows of a large table; MindSpore's SGD has no kernel for gradients by rows."""

    def __init__(self, rows: int, width: int, fields: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.table = nn.EmbeddingLookup(rows, width, target="DEVICE", sparse=ms.__name__ == "graphc")
        self.fc1, self.fc2 = nn.Dense(fields * width, hidden), nn.Dense(hidden, classes)

    def construct(self, ids: Any) -> Any:
        x = self.table(ids)
        return self.fc2(ops.relu(self.fc1(x.reshape(x.shape[0], -1))))


def convolution(channels: int, out: int, size: int, stride: int) -> Any:
    return nn.Conv2d(channels, out, size, stride, pad_mode="pad", padding=size // 2, has_bias=False)


class Residual(nn.Cell):
    def __init__(self, channels: int, out: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.norm1 = convolution(channels, out, 3, stride), nn.BatchNorm2d(out, NORM_EPS)
        self.conv2, self.norm2 = convolution(out, out, 3, 1), nn.BatchNorm2d(out, NORM_EPS)
        self.projects = stride > 1
        if self.projects:
            self.project, self.norm3 = convolution(channels, out, 1, stride), nn.BatchNorm2d(out, NORM_EPS)

    def construct(self, x: Any) -> Any:
        y = self.norm2(self.conv2(ops.relu(self.norm1(self.conv1(x)))))
        if self.projects:
            x = self.norm3(self.project(x))
        return ops.relu(x + y)


class ResNet20(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = convolution(3, 16, 3, 1), nn.BatchNorm2d(16, NORM_EPS)
        self.blocks = nn.CellList([Residual(*sizes) for sizes in residual_blocks()])
        self.fc = nn.Dense(64, 10)

    def construct(self, x: Any) -> Any:
        x = ops.relu(self.norm(self.conv(x)))
        for block in self.blocks:
            x = block(x)
        return self.fc(x.mean((2, 3)))


class Block(nn.Cell):
    """Causal self-attention and two dense layers with GELU, each behind a layer normalization and added to its input."""

    def __init__(self) -> None:
        super().__init__()
        width = GPT.width
        self.heads, self.per_head, self.width = GPT.heads, width // GPT.heads, width
        self.norm1, self.norm2 = (nn.LayerNorm((width,), epsilon=NORM_EPS) for _ in range(2))
        self.qkv, self.out = nn.Dense(width, 3 * width), nn.Dense(width, width)
        self.up, self.down = nn.Dense(width, 4 * width), nn.Dense(4 * width, width)
        self.gelu = nn.GELU(approximate=True)
        self.mask = Tensor(np.triu(np.full((GPT.context, GPT.context), -1e9, np.float32), 1))

    def split(self, x: Any) -> Any:
        """[batch, context, width] to [batch, heads, context, width / heads]."""
        batch, context, _ = x.shape
        return x.view(batch, context, self.heads, self.per_head).transpose(0, 2, 1, 3)

    def construct(self, x: Any) -> Any:
        batch, context, width = x.shape
        q, k, v = ops.split(self.qkv(self.norm1(x)), width, 2)
        q, k, v = self.split(q), self.split(k), self.split(v)
        scores = ops.matmul(q, k.transpose(0, 1, 3, 2)) * self.per_head**-0.5
        attended = ops.matmul(ops.softmax(scores + ops.cast(self.mask, scores.dtype), -1), v)
        x = x + self.out(attended.transpose(0, 2, 1, 3).reshape(batch, context, width))
        return x + self.down(self.gelu(self.up(self.norm2(x))))


class Decoder(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(GPT.vocabulary, GPT.width)
        self.positions = nn.Embedding(GPT.context, GPT.width)
        self.blocks = nn.CellList([Block() for _ in range(GPT.layers)])
        self.norm = nn.LayerNorm((GPT.width,), epsilon=NORM_EPS)
        self.head = nn.Dense(GPT.width, GPT.vocabulary, has_bias=False)
        self.places = Tensor(np.arange(GPT.context, dtype=np.int32))

    def construct(self, tokens: Any) -> Any:
        x = self.tokens(tokens) + self.positions(self.places)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)).reshape(-1, GPT.vocabulary)


class WithLoss(nn.Cell):
    def __init__(self, network: Any) -> None:
        super().__init__()
        self.network = network
        self.loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")

    def construct(self, x: Any, labels: Any) -> Any:
        return self.loss(self.network(x), labels.reshape(-1))


class ClippedStep(nn.TrainOneStepCell):
    """A training step with clipped gradients."""

    def construct(self, *inputs: Any) -> Any:
        loss = self.network(*inputs)
        gradients = self.grad_reducer(self.grad(self.network, self.weights)(*inputs, ops.ones_like(loss)))
        return ops.depend(loss, self.optimizer(ops.clip_by_global_norm(gradients, CLIP)))


class ClippedScaledStep(nn.TrainOneStepWithLossScaleCell):
    """A training step with loss scale; gradients are clipped after they have been unscaled and checked."""

    def construct(self, *inputs: Any) -> Any:
        loss = self.network(*inputs)
        scale = self.scale_sense
        status, scale = self.start_overflow_check(loss, scale)
        sens = ops.ones_like(loss) * ops.cast(scale, loss.dtype)
        gradients = self.grad_reducer(self.grad(self.network, self.weights)(*inputs, sens))
        unscaled = ()
        for gradient in gradients:
            unscaled += (gradient / scale,)
        found = self.get_overflow_status(status, unscaled)
        overflow = self.process_loss_scale(found)
        if not overflow:
            loss = ops.depend(loss, self.optimizer(ops.clip_by_global_norm(unscaled, CLIP)))
        return loss, found, scale


#: Layers call these otherwise than `workloads.weights`.
_NAMES = {"gamma": "weight", "beta": "bias", "embedding_table": "weight"}


def load(network: Any, weights: dict[str, Array]) -> None:
    """Set every trainable parameter. The statistics of batch normalization keep their initial values."""
    for p in network.trainable_params():
        layer, _, name = p.name.rpartition(".")
        # A convolution of one axis has a weight for two.
        p.set_data(Tensor(weights[f"{layer}.{_NAMES.get(name, name)}"].reshape(p.shape)))


def training_cell(workload: str, variant: str, weights: dict[str, Array], adamw: Any) -> Any:
    """The whole step, plain, scaled, or in half precision ("O2-bfloat16").

    `adamw(parameters, rate, betas, weight_decay)` makes the optimizer of the transformer.
    """
    w = WORKLOADS[workload]
    made = {"mlp": lambda: MLP(w.dims), "lenet": LeNet5, "resnet20": ResNet20, "gpt": Decoder}
    made |= {"lstm": lambda: LSTM(*w.dims[1:]), "recommender": lambda: Recommender(*w.dims)}
    made["chain"] = lambda: Chain(CHAINS[workload], w.dims[0], len(w.dims) - 1)
    network = made[w.family]()
    load(network, weights)
    level, _, half = variant.partition("-")
    if half:
        network = ms.amp.auto_mixed_precision(network, level, getattr(ms, half))
    clipped = w.family == "gpt"
    parameters = network.trainable_params()
    optimizer = (
        adamw(parameters, ADAM_RATE, BETAS, weight_decay=WEIGHT_DECAY)
        if clipped
        else nn.SGD(parameters, LEARNING_RATE)
        if w.family == "recommender"
        else nn.Momentum(parameters, LEARNING_RATE, MOMENTUM)
    )
    if variant == "scaled":
        manager = nn.DynamicLossScaleUpdateCell(SCALE, 2, 1_000_000)
        scaled = ClippedScaledStep if clipped else nn.TrainOneStepWithLossScaleCell
        cell = scaled(WithLoss(network), optimizer, manager)
    else:
        cell = (ClippedStep if clipped else nn.TrainOneStepCell)(WithLoss(network), optimizer)
    cell.set_train()
    return cell
