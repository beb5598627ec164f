"""The networks of `chains` for graphc and MindSpore: one source, as `cells` has it."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from chains import Layer, groups, walk
from workloads import NORM_EPS

ms: Any = importlib.import_module("mindspore" if "mindspore" in sys.modules else "graphc")
nn, ops = ms.nn, ms.ops


class Attention(nn.Cell):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.per_head = heads, width // heads
        self.qkv, self.out = nn.Dense(width, 3 * width), nn.Dense(width, width)

    def split(self, x: Any) -> Any:
        """[batch, length, width] to [batch, heads, length, width / heads]."""
        batch, length, _ = x.shape
        return x.view(batch, length, self.heads, self.per_head).transpose(0, 2, 1, 3)

    def construct(self, x: Any, hidden: Any) -> Any:
        q, k, v = ops.split(self.qkv(x), x.shape[2], 2)
        q, k, v = self.split(q), self.split(k), self.split(v)
        scores = ops.matmul(q, k.transpose(0, 1, 3, 2)) * self.per_head**-0.5
        attended = ops.matmul(ops.softmax(ops.masked_fill(scores, hidden, -1e9), -1), v)
        return self.out(attended.transpose(0, 2, 1, 3).reshape(x.shape))


class Nothing(nn.Cell):
    def construct(self, x: Any) -> Any:
        return x


class Chain(nn.Cell):
    def __init__(self, chain: tuple[Layer, ...], channels: int, dimensions: int) -> None:
        super().__init__()
        self.kinds = [layer.kind for layer in chain]
        self.layers = nn.CellList([self._made(layer, given, dimensions) for layer, given in walk(chain, channels)])

    def _made(self, layer: Layer, channels: int, dimensions: int) -> Any:
        if layer.kind == "conv":
            kind = nn.Conv2d if dimensions == 2 else nn.Conv1d
            sizes = {"stride": layer.stride, "dilation": layer.dilation, "group": groups(layer, channels)}
            return kind(channels, layer.out, layer.size, pad_mode="pad", padding=layer.border, has_bias=False, **sizes)
        if layer.kind == "up":
            sizes = {"stride": layer.stride, "pad_mode": "pad", "padding": layer.border, "has_bias": False}
            return nn.Conv2dTranspose(channels, layer.out, 2 * layer.stride, **sizes)
        if layer.kind == "norm":
            return (nn.BatchNorm2d if dimensions == 2 else nn.BatchNorm1d)(channels, NORM_EPS)
        made = {
            "relu": nn.ReLU,
            "gelu": lambda: nn.GELU(approximate=True),
            "pool": lambda: nn.MaxPool2d(2, 2),
            "dense": lambda: nn.Dense(channels, layer.out),
            "embed": lambda: nn.Embedding(layer.size, layer.out),
            "layernorm": lambda: nn.LayerNorm((channels,), epsilon=NORM_EPS),
            "attention": lambda: Attention(channels, layer.groups),
        }
        return made.get(layer.kind, Nothing)()

    def construct(self, x: Any) -> Any:
        hidden, kept = None, ()  # MindSpore compiles tuples, of lists less.
        for kind, layer in zip(self.kinds, self.layers):  # noqa: B905 - MindSpore's compiler knows no strict.
            if kind == "keep":
                kept = (*kept, x)
            elif kind == "add":
                x, kept = x + kept[-1], kept[:-1]
            elif kind == "join":
                x, kept = ops.concat((kept[-1], x), 1), kept[:-1]
            elif kind == "mean":
                x = x.mean(1) if hidden is not None else x.reshape(x.shape[0], x.shape[1], -1).mean(2)
            elif kind == "attention":
                x = layer(x, hidden)
            else:
                if kind == "embed":
                    hidden = ops.equal(x, 0).expand_dims(1).expand_dims(1)
                x = layer(x)
        return x
