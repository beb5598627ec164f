"""Networks as lists of layers, which every peer puts together from its own. NumPy only.

A layer takes the last result and returns a new one. Images are [batch, channels, height, width], sequences of features
[batch, channels, length], those of tokens [batch, length, width]. Layers without channels of their own keep those they get.

conv       convolution to `out` channels, padded so that a stride of 1 keeps the size, no bias; groups 0: one for each channel
up         transposed convolution with `size` 2 * `stride`, padded by stride / 2: the size times the stride; without bias
norm       batch normalization in training; its statistics are updated
relu, gelu
pool       maxima of 2 x 2
keep       remembers the result;  add: adds what was last remembered;  join: puts it in front, channel by channel
mean       over all but batch and channels; of tokens over the length
dense      to `out`, with bias
embed      rows of a table of `size` tokens, `out` wide
layernorm  over the last axis
attention  of all tokens to those that are not 0, `groups` heads; "q, k, v" and the projection behind it with biases
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Layer:
    kind: str
    out: int = 0
    size: int = 3
    stride: int = 1
    groups: int = 1
    dilation: int = 1

    @property
    def border(self) -> int:
        return self.stride // 2 if self.kind == "up" else self.size // 2 * self.dilation


RELU, NORM, KEEP, ADD, JOIN, MEAN = map(Layer, ("relu", "norm", "keep", "add", "join", "mean"))
END = (MEAN, Layer("dense", 10))


def _conv(out: int, **sizes: int) -> tuple[Layer, ...]:
    return Layer("conv", out, **sizes), NORM, RELU


def _separable(channels: int, out: int, stride: int) -> tuple[Layer, ...]:
    return *_conv(channels, stride=stride, groups=0), *_conv(out, size=1)


def _basic(out: int) -> tuple[Layer, ...]:
    return KEEP, *_conv(out), Layer("conv", out), NORM, ADD, RELU


def _dilated(channels: int, dilation: int) -> tuple[Layer, ...]:
    return KEEP, Layer("conv", channels, dilation=dilation), RELU, Layer("conv", channels, dilation=dilation), RELU, ADD


def _encoder(width: int, heads: int) -> tuple[Layer, ...]:
    attention = KEEP, Layer("attention", width, groups=heads), ADD, Layer("layernorm")
    return *attention, KEEP, Layer("dense", 4 * width), Layer("gelu"), Layer("dense", width), ADD, Layer("layernorm")


def _unet(channels: int) -> tuple[Layer, ...]:
    def twice(out: int) -> tuple[Layer, ...]:
        return *_conv(out), *_conv(out)

    down = (*twice(channels), KEEP, Layer("pool"), *twice(2 * channels), KEEP, Layer("pool"), *twice(4 * channels))
    up = (Layer("up", 2 * channels, stride=2), JOIN, *twice(2 * channels), Layer("up", channels, stride=2), JOIN)
    return *down, *up, *twice(channels)


def _inverted(channels: int, out: int, stride: int = 1, size: int = 3) -> tuple[Layer, ...]:
    wide = 4 * channels
    return *_conv(wide, size=1), *_conv(wide, stride=stride, groups=0, size=size), Layer("conv", out, size=1), NORM


def _bottleneck(channels: int, out: int, stride: int = 1, groups: int = 1) -> tuple[Layer, ...]:
    inner = *_conv(channels, size=1), *_conv(channels, stride=stride, groups=groups)
    return *inner, Layer("conv", out, size=1), NORM, RELU


def _stem(channels: int) -> tuple[Layer, ...]:
    return *_conv(channels, size=7, stride=2), Layer("pool")


def _five(dilation: int) -> tuple[Layer, ...]:
    return KEEP, Layer("conv", 48, size=5, dilation=dilation), NORM, RELU, Layer("conv", 48, size=1), ADD


CHAINS: dict[str, tuple[Layer, ...]] = {
    "depthwise": (
        *_conv(32),
        *(layer for sizes in ((32, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2)) for layer in _separable(*sizes)),
        *END,
    ),
    "generator": (
        *(Layer("conv", 32, stride=2), RELU, Layer("conv", 64, stride=2), RELU),
        *(Layer("up", 64, stride=2), NORM, RELU, Layer("up", 32, stride=2), NORM, RELU),
        *(Layer("conv", 3), *END),
    ),
    "resnet_wide": (*_conv(64), *_basic(64), *_basic(64), *_conv(128, stride=2), *_basic(128), *END),
    "resnet_deep": (
        *(*_conv(64), *_basic(64), *_conv(128, stride=2), *_basic(128), *_conv(256, stride=2), *_basic(256)),
        *(*_conv(512, stride=2), *_basic(512), *END),
    ),
    "vgg": (
        *(Layer("conv", 64), RELU, Layer("pool"), Layer("conv", 128), RELU, Layer("pool")),
        *(Layer("conv", 256), RELU, Layer("conv", 256), RELU, Layer("pool")),
        *(Layer("conv", 512), RELU, Layer("conv", 512), RELU, Layer("pool"), *END),
    ),
    "dilated": (
        Layer("conv", 64),
        *(layer for dilation in (1, 2, 4, 8) for layer in _dilated(64, dilation)),
        *END,
    ),
    "unet": (*_unet(16), *END),
    "bert": (Layer("embed", 128, 1000), *_encoder(128, 4), *_encoder(128, 4), *END),
    "inverted": (
        *_conv(16, stride=2),
        *(*_inverted(16, 24, 2), *_inverted(24, 24), *_inverted(24, 40, 2, 5), *_inverted(40, 40, 1, 5)),
        *(*_inverted(40, 80, 2), *_inverted(80, 112, 1, 5), *_inverted(112, 160, 2), *_conv(640, size=1), *END),
    ),
    "bottlenecks": (
        *(*_stem(32), *_bottleneck(32, 128), *_bottleneck(32, 128), *_bottleneck(64, 256, 2), *_bottleneck(64, 256)),
        *(*_bottleneck(128, 512, 2), *_bottleneck(256, 1024, 2), *END),
    ),
    "grouped": (
        *(*_stem(32), *_bottleneck(64, 128, groups=8), *_bottleneck(64, 128, groups=8)),
        *(*_bottleneck(128, 256, 2, 8), *_bottleneck(256, 512, 2, 16), *END),
    ),
    "deep": (
        *(*_conv(32), *_conv(32), Layer("pool"), *_conv(64), *_conv(64), Layer("pool")),
        *(*_conv(128), *_conv(128), *_conv(128), Layer("pool"), *_conv(256), *_conv(256), *END),
    ),
    "octaves": (
        Layer("conv", 32),
        *(layer for dilation in (1, 2, 4, 8, 16, 32, 64) for layer in _dilated(32, dilation)),
        *(Layer("conv", 64, size=1), RELU, *END),
    ),
    "long_windows": (
        *(Layer("conv", 48, size=5), RELU, *_five(1), *_five(3), *_five(9)),
        *(Layer("conv", 96, size=7, stride=2), RELU, Layer("conv", 96, size=9, stride=2), RELU, *END),
    ),
    "atrous": (
        *(*_conv(32, stride=2), *_conv(64, stride=2), *_conv(64, dilation=2), *_conv(64, dilation=4)),
        *(*_conv(64, dilation=6), *_conv(64, dilation=12), *END),
    ),
    "encoder": (Layer("embed", 192, 1000), *(layer for _ in range(4) for layer in _encoder(192, 3)), *END),
}


def shapes(chain: tuple[Layer, ...], channels: int, dimensions: int) -> Iterator[tuple[str, tuple[int, ...]]]:
    """(name, shape) of the weights of a chain for inputs of so many channels, with so many axes behind them."""
    for i, (layer, given) in enumerate(walk(chain, channels)):
        name = f"layers.{i}"
        if layer.kind == "conv":
            yield f"{name}.weight", (layer.out, given // groups(layer, given), *(layer.size,) * dimensions)
        elif layer.kind == "up":
            yield f"{name}.weight", (given, layer.out, *(2 * layer.stride,) * dimensions)
        elif layer.kind in ("norm", "layernorm"):
            yield from ((f"{name}.weight", (given,)), (f"{name}.bias", (given,)))
        elif layer.kind == "dense":
            yield from ((f"{name}.weight", (layer.out, given)), (f"{name}.bias", (layer.out,)))
        elif layer.kind == "embed":
            yield f"{name}.weight", (layer.size, layer.out)
        elif layer.kind == "attention":
            for part, rows in (("qkv", 3 * layer.out), ("out", layer.out)):
                yield from ((f"{name}.{part}.weight", (rows, given)), (f"{name}.{part}.bias", (rows,)))


def walk(chain: tuple[Layer, ...], channels: int) -> Iterator[tuple[Layer, int]]:
    """Each layer with the channels that it gets."""
    kept: list[int] = []
    for layer in chain:
        yield layer, channels
        if layer.kind == "keep":
            kept.append(channels)
        channels = layer.out or channels
        if layer.kind in ("add", "join"):
            channels += kept.pop() * (layer.kind == "join")


def groups(layer: Layer, channels: int) -> int:
    """How many groups a convolution of so many channels has."""
    return layer.groups or channels
