"""PyTorch, eager; loss scaling by torch.amp.GradScaler, which a fused optimizer understands."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F
from chain_torch import Chain
from chains import CHAINS
from torch import nn
from workloads import (
    ADAM_RATE,
    BETAS,
    CLIP,
    EPS,
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

if "OMP_NUM_THREADS" in os.environ:
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))


class MLP(nn.Module):
    def __init__(self, dims: tuple[int, ...]) -> None:
        super().__init__()
        self.fc1, self.fc2, self.fc3 = (nn.Linear(a, b) for a, b in pairwise(dims))

    def forward(self, x: Any) -> Any:
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x)))))


class LeNet5(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 6, 5), nn.Conv2d(6, 16, 5)
        self.fc1, self.fc2, self.fc3 = nn.Linear(400, 120), nn.Linear(120, 84), nn.Linear(84, 10)

    def forward(self, x: Any) -> Any:
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc3(F.relu(self.fc2(F.relu(self.fc1(x.flatten(1))))))


class LSTM(nn.Module):
    def __init__(self, inputs: int, states: int, classes: int) -> None:
        super().__init__()
        self.rnn, self.fc = nn.LSTM(inputs, states), nn.Linear(states, classes)

    def forward(self, x: Any) -> Any:
        return self.fc(self.rnn(x)[0][-1])


class Recommender(nn.Module):
    def __init__(self, rows: int, width: int, fields: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.table = nn.Embedding(rows, width, sparse=True)
        self.fc1, self.fc2 = nn.Linear(fields * width, hidden), nn.Linear(hidden, classes)

    def forward(self, ids: Any) -> Any:
        return self.fc2(F.relu(self.fc1(self.table(ids).flatten(1))))


def convolution(channels: int, out: int, size: int, stride: int) -> Any:
    return nn.Conv2d(channels, out, size, stride, padding=size // 2, bias=False)


class Residual(nn.Module):
    def __init__(self, channels: int, out: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.norm1 = convolution(channels, out, 3, stride), nn.BatchNorm2d(out, NORM_EPS)
        self.conv2, self.norm2 = convolution(out, out, 3, 1), nn.BatchNorm2d(out, NORM_EPS)
        self.projects = stride > 1
        if self.projects:
            self.project, self.norm3 = convolution(channels, out, 1, stride), nn.BatchNorm2d(out, NORM_EPS)

    def forward(self, x: Any) -> Any:
        y = self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x)))))
        if self.projects:
            x = self.norm3(self.project(x))
        return F.relu(x + y)


class ResNet20(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = convolution(3, 16, 3, 1), nn.BatchNorm2d(16, NORM_EPS)
        self.blocks = nn.Sequential(*(Residual(*sizes) for sizes in residual_blocks()))
        self.fc = nn.Linear(64, 10)

    def forward(self, x: Any) -> Any:
        return self.fc(self.blocks(F.relu(self.norm(self.conv(x)))).mean((2, 3)))


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        width = GPT.width
        self.norm1, self.norm2 = nn.LayerNorm(width, NORM_EPS), nn.LayerNorm(width, NORM_EPS)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: Any) -> Any:
        batch, context, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).split(width, 2)
        q, k, v = (t.view(batch, context, GPT.heads, -1).transpose(1, 2) for t in (q, k, v))
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, context, width))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Decoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(GPT.vocabulary, GPT.width)
        self.positions = nn.Embedding(GPT.context, GPT.width)
        self.blocks = nn.Sequential(*(Block() for _ in range(GPT.layers)))
        self.norm = nn.LayerNorm(GPT.width, NORM_EPS)
        self.head = nn.Linear(GPT.width, GPT.vocabulary, bias=False)

    def forward(self, tokens: Any) -> Any:
        x = self.tokens(tokens) + self.positions.weight
        return self.head(self.norm(self.blocks(x))).view(-1, GPT.vocabulary)


def version() -> str:
    return f"torch {torch.__version__}"


def start() -> None:
    torch.ones(1, requires_grad=True).square().backward()


def build(
    workload: str,
    variant: str,
    weights: dict[str, Array],
    x: Array,
    y: Array,
    wrap: Callable[..., Any] = lambda f: f,
    share: Callable[[Any], Any] = lambda network: network,
) -> Callable[[], Any]:
    """`wrap` wraps the function from a batch to its loss, `share` the network."""
    w = WORKLOADS[workload]
    made = {"mlp": lambda: MLP(w.dims), "lenet": LeNet5, "resnet20": ResNet20, "gpt": Decoder}
    made |= {"lstm": lambda: LSTM(*w.dims[1:]), "recommender": lambda: Recommender(*w.dims)}
    made["chain"] = lambda: Chain(CHAINS[workload], w.dims[0], len(w.dims) - 1)
    network = made[w.family]()
    # The statistics of batch normalization keep their initial values.
    _, unknown = network.load_state_dict({k: torch.from_numpy(v) for k, v in weights.items()}, strict=False)
    assert not unknown, unknown
    parameters = list(network.parameters())
    network = share(network)
    clipped = w.family == "gpt"
    if clipped:
        optimizer: Any = torch.optim.AdamW(parameters, ADAM_RATE, BETAS, EPS, WEIGHT_DECAY, fused=True)
    elif w.family == "recommender":  # Fused updates know no sparse gradients.
        optimizer = torch.optim.SGD(parameters, LEARNING_RATE)
    else:
        optimizer = torch.optim.SGD(parameters, LEARNING_RATE, momentum=MOMENTUM, fused=True)

    def tensors(x: Array, y: Array) -> tuple[Any, Any]:
        return torch.from_numpy(x), torch.from_numpy(y).long().view(-1)

    given = tensors(x, y)
    scaler = torch.amp.GradScaler("cpu", init_scale=SCALE, growth_interval=1_000_000, enabled=variant == "scaled")

    def compile() -> Callable[..., float]:
        loss_of = wrap(lambda inputs, labels: F.cross_entropy(network(inputs), labels))

        def step(*fresh: Array) -> float:
            optimizer.zero_grad(set_to_none=True)
            loss = loss_of(*(tensors(*fresh) if fresh else given))
            # A scaler that is not enabled does nothing.
            scaler.scale(loss).backward()
            if clipped:
                scaler.unscale_(optimizer)
                nn.utils.clip_grad_norm_(parameters, CLIP)
            scaler.step(optimizer)
            scaler.update()
            return float(loss.item())

        return step

    return compile
