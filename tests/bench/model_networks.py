"""Networks of these years, each written once, with what torch and `graphc.mint` have in common; small inputs for them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


class Framework(NamedTuple):
    """torch or `mint`, its `nn` and `nn.functional`, the base of networks, whose method `body` computes, a parameter and a
    constant of an array, and a list of networks.
    """

    t: Any
    nn: Any
    f: Any
    Base: Any
    parameter: Callable[[Array], Any]
    constant: Callable[[Array], Any]
    several: Callable[[list[Any]], Any]


class Model(NamedTuple):
    """How a network is made, its loss, and its inputs; the last one is what the loss compares with."""

    made: Callable[[Framework], Any]
    inputs: Callable[[np.random.Generator], tuple[Array, ...]]
    squares: bool = False


def floats(r: np.random.Generator, *shape: int) -> Array:
    return r.standard_normal(shape, np.float32)


def numbers(r: np.random.Generator, below: int, *shape: int) -> Array:
    return r.integers(0, below, shape)


# ---- of text


def llama(of: Framework) -> Any:
    """Two layers of a decoder: rotary embeddings, two heads for each key, gated layers, root mean squares; 128 tokens."""
    t, nn, f = of.t, of.nn, of.f
    width, heads, inside, tokens, words = 256, 8, 688, 128, 1000
    angles = np.arange(tokens)[:, None] * 10000.0 ** -(np.arange(0, width // heads, 2) / (width // heads))
    cos, sin = (of.constant(g(angles).astype(np.float32)) for g in (np.cos, np.sin))
    mask = of.constant(np.triu(np.full((tokens, tokens), -1e9, np.float32), 1))

    def turned(x: Any) -> Any:
        even, odd = x[..., ::2], x[..., 1::2]
        made = t.stack((even * cos - odd * sin, even * sin + odd * cos), -1)
        return t.reshape(made, (*x.shape[:-1], x.shape[-1]))

    def split(x: Any, count: int) -> Any:
        return t.transpose(t.reshape(x, (x.shape[0], tokens, count, width // heads)), 1, 2)

    class Norm(of.Base):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.scale = of.parameter(np.ones(width, np.float32))

        def body(self, x: Any) -> Any:
            return x * t.rsqrt(t.mean(x * x, -1, keepdim=True) + 1e-6) * self.scale

    class Layer(of.Base):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = Norm(), Norm()
            self.q, self.k, self.v, self.o = (
                nn.Linear(width, n, bias=False) for n in (width, width // 2, width // 2, width)
            )
            self.gate, self.up, self.down = (
                nn.Linear(a, b, bias=False) for a, b in ((width, inside), (width, inside), (inside, width))
            )

        def body(self, x: Any) -> Any:
            y = self.first(x)
            q, k, v = (
                turned(split(self.q(y), heads)),
                turned(split(self.k(y), heads // 2)),
                split(self.v(y), heads // 2),
            )
            k, v = t.repeat_interleave(k, 2, 1), t.repeat_interleave(v, 2, 1)
            scores = t.matmul(q, t.transpose(k, -2, -1)) * (width // heads) ** -0.5 + mask
            y = t.transpose(t.matmul(f.softmax(scores, -1), v), 1, 2)
            x = x + self.o(t.reshape(y, x.shape))
            y = self.second(x)
            return x + self.down(f.silu(self.gate(y)) * self.up(y))

    class Decoder(of.Base):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.words, self.norm, self.out = nn.Embedding(words, width), Norm(), nn.Linear(width, words, bias=False)
            self.layers = of.several([Layer(), Layer()])

        def body(self, x: Any) -> Any:
            x = self.words(x)
            for layer in self.layers:
                x = layer(x)
            return t.reshape(self.out(self.norm(x)), (-1, words))

    return Decoder()


def mixture(of: Framework) -> Any:
    """Eight experts of two layers, all of which are computed, the best two of each sample count."""
    t, nn, f = of.t, of.nn, of.f
    rng = np.random.default_rng(0)

    class Experts(of.Base):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.gate, self.out = nn.Linear(128, 8), nn.Linear(128, 10)
            self.up, self.down = (of.parameter(0.05 * floats(rng, 8, a, b)) for a, b in ((128, 256), (256, 128)))

        def body(self, x: Any) -> Any:
            shares = f.softmax(self.gate(x), -1)
            best, places = t.topk(shares, 2, -1)
            weights = t.scatter(t.zeros_like(shares), 1, places, best)
            inside = f.gelu(t.einsum("bd,edf->ebf", x, self.up))
            made = t.einsum("ebf,efd->ebd", inside, self.down)
            return self.out(t.sum(made * t.permute(weights, (1, 0))[:, :, None], 0) + x)

    return Experts()


# ---- of images


def mixer(of: Framework) -> Any:
    """Four layers of an MLP-Mixer on 64 patches."""
    t, nn, f = of.t, of.nn, of.f
    width, patches = 192, 64

    class Layer(of.Base):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
            self.across = of.several([nn.Linear(patches, 128), nn.Linear(128, patches)])
            self.along = of.several([nn.Linear(width, 4 * width), nn.Linear(4 * width, width)])

        def body(self, x: Any) -> Any:
            y = self.across[1](f.gelu(self.across[0](t.transpose(self.first(x), 1, 2))))
            x = x + t.transpose(y, 1, 2)
            return x + self.along[1](f.gelu(self.along[0](self.second(x))))

    class Mixer(of.Base):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.patches, self.out = nn.Conv2d(3, width, 8, 8), nn.Linear(width, 10)
            self.layers = of.several([Layer() for _ in range(4)])

        def body(self, x: Any) -> Any:
            x = self.patches(x)
            x = t.transpose(t.reshape(x, (x.shape[0], width, patches)), 1, 2)
            for layer in self.layers:
                x = layer(x)
            return self.out(t.mean(x, 1))

    return Mixer()


def swin(of: Framework) -> Any:
    """Two layers of attention in windows of 7 x 7, the second one shifted, on 28 x 28 patches."""
    t, nn, f = of.t, of.nn, of.f
    width, heads, window = 96, 3, 7

    class Layer(of.Base):  # type: ignore[misc]
        def __init__(self, shift: int) -> None:
            super().__init__()
            self.shift = shift
            self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.o = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
            self.bias = of.parameter(np.zeros((heads, window**2, window**2), np.float32))

        def body(self, x: Any) -> Any:
            n, h, w, _ = x.shape
            y = self.first(x)
            if self.shift:
                y = t.roll(y, (-self.shift, -self.shift), (1, 2))
            y = t.permute(t.reshape(y, (n, h // window, window, w // window, window, width)), (0, 1, 3, 2, 4, 5))
            qkv = t.reshape(self.qkv(t.reshape(y, (-1, window**2, width))), (-1, window**2, 3, heads, width // heads))
            q, k, v = t.unbind(t.permute(qkv, (2, 0, 3, 1, 4)), 0)
            shares = f.softmax(t.matmul(q, t.transpose(k, -2, -1)) * (width // heads) ** -0.5 + self.bias, -1)
            y = self.o(t.reshape(t.transpose(t.matmul(shares, v), 1, 2), (-1, window**2, width)))
            y = t.permute(t.reshape(y, (n, h // window, w // window, window, window, width)), (0, 1, 3, 2, 4, 5))
            y = t.reshape(y, (n, h, w, width))
            x = x + (t.roll(y, (self.shift, self.shift), (1, 2)) if self.shift else y)
            return x + self.down(f.gelu(self.up(self.second(x))))

    class Swin(of.Base):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.patches, self.out = nn.Conv2d(3, width, 4, 4), nn.Linear(width, 10)
            self.layers = of.several([Layer(0), Layer(3)])

        def body(self, x: Any) -> Any:
            x = t.permute(self.patches(x), (0, 2, 3, 1))
            for layer in self.layers:
                x = layer(x)
            return self.out(t.mean(x, (1, 2)))

    return Swin()


def convnext(of: Framework) -> Any:
    """Three layers of a ConvNeXt of 64 channels on 16 x 16 patches."""
    t, nn, f = of.t, of.nn, of.f
    width = 64

    class Layer(of.Base):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.norm = nn.Conv2d(width, width, 7, padding=3, groups=width), nn.LayerNorm(width)
            self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
            self.scale = of.parameter(np.full(width, 0.01, np.float32))

        def body(self, x: Any) -> Any:
            y = self.norm(t.permute(self.conv(x), (0, 2, 3, 1)))
            return x + t.permute(self.scale * self.down(f.gelu(self.up(y))), (0, 3, 1, 2))

    class ConvNeXt(of.Base):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.patches, self.out = nn.Conv2d(3, width, 4, 4), nn.Linear(width, 10)
            self.layers = of.several([Layer() for _ in range(3)])

        def body(self, x: Any) -> Any:
            x = self.patches(x)
            for layer in self.layers:
                x = layer(x)
            return self.out(t.mean(x, (2, 3)))

    return ConvNeXt()


def excited(of: Framework) -> Any:
    """Three residual convolutions of 64 channels with batch norm, hard swish, and channels that are weighed."""
    t, nn, f = of.t, of.nn, of.f
    width = 64

    class Layer(of.Base):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.conv, self.norm = nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width)
            self.squeeze, self.excite = nn.Linear(width, width // 4), nn.Linear(width // 4, width)

        def body(self, x: Any) -> Any:
            y = f.hardswish(self.norm(self.conv(x)))
            weights = t.sigmoid(self.excite(f.relu(self.squeeze(t.mean(y, (2, 3))))))
            return x + y * weights[:, :, None, None]

    class Net(of.Base):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.stem, self.out = nn.Conv2d(3, width, 3, 2, 1), nn.Linear(width, 10)
            self.layers = of.several([Layer() for _ in range(3)])

        def body(self, x: Any) -> Any:
            x = f.hardswish(self.stem(x))
            for layer in self.layers:
                x = layer(x)
            return self.out(t.mean(x, (2, 3)))

    return Net()


def diffusion(of: Framework) -> Any:
    """The UNet of a diffusion model: group norm, SiLU, the time in every block, attention over 8 x 8 pixels; 32 x 32 images."""
    t, nn, f = of.t, of.nn, of.f
    times = 128
    rates = of.constant(np.exp(-math.log(1e4) * np.arange(32) / 32).astype(np.float32))

    def conv(a: int, b: int, window: int = 3, stride: int = 1) -> Any:
        return nn.Conv2d(a, b, window, stride, window // 2)

    class Block(of.Base):  # type: ignore[misc]
        def __init__(self, a: int, b: int) -> None:
            super().__init__()
            self.norms = of.several([nn.GroupNorm(8, a), nn.GroupNorm(8, b)])
            self.convs, self.time = of.several([conv(a, b), conv(b, b)]), nn.Linear(times, b)
            self.skip = conv(a, b, 1) if a != b else nn.Identity()

        def body(self, x: Any, time: Any) -> Any:
            y = self.convs[0](f.silu(self.norms[0](x))) + self.time(f.silu(time))[:, :, None, None]
            return self.convs[1](f.silu(self.norms[1](y))) + self.skip(x)

    class Attention(of.Base):  # type: ignore[misc]
        def __init__(self, width: int) -> None:
            super().__init__()
            self.norm, self.qkv, self.o = nn.GroupNorm(8, width), conv(width, 3 * width, 1), conv(width, width, 1)

        def body(self, x: Any) -> Any:
            n, c, h, w = x.shape
            q, k, v = t.unbind(t.reshape(self.qkv(self.norm(x)), (n, 3, 4, c // 4, h * w)), 1)
            shares = f.softmax(t.matmul(t.transpose(q, -2, -1), k) * (c // 4) ** -0.5, -1)
            return x + self.o(t.reshape(t.matmul(v, t.transpose(shares, -2, -1)), (n, c, h, w)))

    class UNet(of.Base):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.time, self.first = nn.Linear(64, times), conv(3, 32)
            self.down = of.several([Block(32, 32), conv(32, 32, 3, 2), Block(32, 64), conv(64, 64, 3, 2)])
            self.middle, self.attention = Block(64, 64), Attention(64)
            self.up = of.several([Block(128, 64), Block(96, 32)])
            self.norm, self.last = nn.GroupNorm(8, 32), conv(32, 3)

        def body(self, x: Any, times: Any) -> Any:
            angles = times[:, None] * rates[None]
            time = self.time(t.cat((t.sin(angles), t.cos(angles)), 1))
            one = self.down[0](self.first(x), time)
            two = self.down[2](self.down[1](one), time)
            y = self.attention(self.middle(self.down[3](two), time))
            for block, beside in ((self.up[0], two), (self.up[1], one)):
                y = f.interpolate(y, scale_factor=2.0, mode="nearest")
                y = block(t.cat((y, beside), 1), time)
            return self.last(f.silu(self.norm(y)))

    return UNet()


# ---- of graphs, points and tables


def messages(of: Framework) -> Any:
    """Three rounds of messages along 10,000 edges of a graph of 2,000 nodes."""
    t, nn, f = of.t, of.nn, of.f
    width = 64

    class Graph(of.Base):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(32, width), nn.Linear(width, 7)
            self.sent, self.kept = (of.several([nn.Linear(2 * width, width) for _ in range(3)]) for _ in range(2))

        def body(self, x: Any, senders: Any, receivers: Any) -> Any:
            x = f.relu(self.first(x))
            for sent, kept in zip(self.sent, self.kept):  # noqa: B905, of three each
                both = t.cat((t.index_select(x, 0, senders), t.index_select(x, 0, receivers)), 1)
                taken = t.index_add(t.zeros_like(x), 0, receivers, f.relu(sent(both)))
                x = x + f.relu(kept(t.cat((x, taken), 1)))
            return self.last(x)

    return Graph()


def points(of: Framework) -> Any:
    """A PointNet: three convolutions of single points with batch norm, and the maximum over 512 points."""
    t, nn, f = of.t, of.nn, of.f
    sizes = ((3, 64), (64, 128), (128, 512))

    class PointNet(of.Base):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.convs = of.several([nn.Conv2d(a, b, 1) for a, b in sizes])
            self.norms = of.several([nn.BatchNorm2d(b) for _, b in sizes])
            self.inside, self.out = nn.Linear(512, 256), nn.Linear(256, 40)

        def body(self, x: Any) -> Any:
            for conv, norm in zip(self.convs, self.norms):  # noqa: B905, of three each
                x = f.relu(norm(conv(x)))
            return self.out(f.relu(self.inside(t.amax(x, (2, 3)))))

    return PointNet()


def recommender(of: Framework) -> Any:
    """A DLRM: eight tables of 10,000 rows, all pairs of products of what they give."""
    t, nn, f = of.t, of.nn, of.f
    rows, columns = (of.constant(i.astype(np.int64)) for i in np.triu_indices(9, 1))

    class DLRM(of.Base):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.tables = of.several([nn.Embedding(10000, 16) for _ in range(8)])
            self.dense = of.several([nn.Linear(13, 64), nn.Linear(64, 16)])
            self.top = of.several([nn.Linear(52, 64), nn.Linear(64, 2)])

        def body(self, x: Any, places: Any) -> Any:
            dense = self.dense[1](f.relu(self.dense[0](x)))
            found = [table(places[:, k]) for k, table in enumerate(self.tables)]
            all = t.stack((dense, *found), 1)
            pairs = t.matmul(all, t.transpose(all, 1, 2))[:, rows, columns]
            return self.top[1](f.relu(self.top[0](t.cat((dense, pairs), 1))))

    return DLRM()


MODELS = {
    "decoder with rotary embeddings": Model(llama, lambda r: (numbers(r, 1000, 4, 128), numbers(r, 1000, 512))),
    "mixture of experts": Model(mixture, lambda r: (floats(r, 256, 128), numbers(r, 10, 256))),
    "mixer": Model(mixer, lambda r: (floats(r, 16, 3, 64, 64), numbers(r, 10, 16))),
    "attention in shifted windows": Model(swin, lambda r: (floats(r, 4, 3, 112, 112), numbers(r, 10, 4))),
    "ConvNeXt": Model(convnext, lambda r: (floats(r, 8, 3, 64, 64), numbers(r, 10, 8))),
    "squeeze and excitation": Model(excited, lambda r: (floats(r, 16, 3, 48, 48), numbers(r, 10, 16))),
    "UNet of a diffusion model": Model(
        diffusion, lambda r: (floats(r, 4, 3, 32, 32), floats(r, 4), floats(r, 4, 3, 32, 32)), squares=True
    ),
    "messages along edges": Model(
        messages,
        lambda r: (floats(r, 2000, 32), numbers(r, 2000, 10000), numbers(r, 2000, 10000), numbers(r, 7, 2000)),
    ),
    "PointNet": Model(points, lambda r: (floats(r, 8, 3, 1, 512), numbers(r, 40, 8))),
    "DLRM": Model(recommender, lambda r: (floats(r, 512, 13), numbers(r, 10000, 512, 8), numbers(r, 2, 512))),
}
