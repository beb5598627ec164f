"""The networks of `chains` in PyTorch."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from chains import Layer, groups, walk
from torch import nn
from workloads import NORM_EPS


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Any, seen: Any) -> Any:
        batch, length, width = x.shape
        parts = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in self.qkv(x).split(width, 2))
        attended = F.scaled_dot_product_attention(*parts, attn_mask=seen[:, None, None])
        return self.out(attended.transpose(1, 2).reshape(batch, length, width))


class Chain(nn.Module):
    def __init__(self, chain: tuple[Layer, ...], channels: int, dimensions: int) -> None:
        super().__init__()
        self.chain, self.layers = chain, nn.ModuleList()
        for layer, given in walk(chain, channels):
            self.layers.append(self._made(layer, given, dimensions))

    def _made(self, layer: Layer, channels: int, dimensions: int) -> Any:
        if layer.kind == "conv":
            kind = nn.Conv2d if dimensions == 2 else nn.Conv1d
            size, step = (layer.size, layer.stride), {"dilation": layer.dilation, "groups": groups(layer, channels)}
            return kind(channels, layer.out, *size, layer.border, bias=False, **step)
        if layer.kind == "up":
            size = 2 * layer.stride, layer.stride, layer.border
            return nn.ConvTranspose2d(channels, layer.out, *size, bias=False)
        if layer.kind == "norm":
            return (nn.BatchNorm2d if dimensions == 2 else nn.BatchNorm1d)(channels, NORM_EPS)
        made = {
            "relu": nn.ReLU,
            "gelu": lambda: nn.GELU(approximate="tanh"),
            "pool": lambda: nn.MaxPool2d(2),
            "dense": lambda: nn.Linear(channels, layer.out),
            "embed": lambda: nn.Embedding(layer.size, layer.out),
            "layernorm": lambda: nn.LayerNorm(channels, NORM_EPS),
            "attention": lambda: Attention(channels, layer.groups),
        }
        return made.get(layer.kind, nn.Identity)()

    def forward(self, x: Any) -> Any:
        seen, kept = x != 0, []
        tokens = self.chain[0].kind == "embed"
        for layer, made in zip(self.chain, self.layers, strict=True):
            if layer.kind == "keep":
                kept.append(x)
            elif layer.kind == "add":
                x = x + kept.pop()
            elif layer.kind == "join":
                x = torch.cat((kept.pop(), x), 1)
            elif layer.kind == "mean":
                x = x.mean(1) if tokens else x.flatten(2).mean(2)
            else:
                x = made(x, seen) if layer.kind == "attention" else made(x)
        return x
