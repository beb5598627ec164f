"""A GPT, and text made with it by a loop inside one compiled step that keeps keys and values (docs/shapes.md).

network = GPT(Sizes(vocabulary=65)).set_train(False)
generate = Generate(network).set_train(False)
text = generate(Tensor(prompt), Tensor(known), Tensor(length))
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import graphc
from graphc import Tensor, nn, ops

#: Scores of what is not to be seen.
HIDDEN = -1e9


@dataclass(frozen=True)
class Sizes:
    """Those of nanoGPT's smallest model by default."""

    vocabulary: int
    layers: int = 6
    heads: int = 6
    width: int = 384
    context: int = 256

    @property
    def weights(self) -> int:
        """How many numbers a token is multiplied with: all but the embeddings'."""
        return 12 * self.layers * self.width**2 + self.width * self.vocabulary


class Block(nn.Cell):
    """Attention to what came before, then a network of two layers; each adds to its input."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        width = sizes.width
        self.heads, self.scale = sizes.heads, (width // sizes.heads) ** -0.5
        self.norm1, self.norm2 = nn.LayerNorm((width,), epsilon=1e-5), nn.LayerNorm((width,), epsilon=1e-5)
        self.qkv, self.out = nn.Dense(width, 3 * width), nn.Dense(width, width)
        self.up, self.down = nn.Dense(width, 4 * width), nn.Dense(4 * width, width)
        self.gelu = nn.GELU(approximate=True)
        self.mask = Tensor(np.triu(np.full((sizes.context, sizes.context), HIDDEN, np.float32), 1))

    def construct(self, x: Tensor) -> Tensor:
        """All tokens at once: x [batch, context, width]."""
        batch, count, width = x.shape
        q, k, v = (
            part.view(batch, count, self.heads, -1).transpose(0, 2, 1, 3)
            for part in ops.split(self.qkv(self.norm1(x)), width, 2)
        )
        scores = ops.matmul(q, k.transpose(0, 1, 3, 2)) * self.scale + self.mask[:count, :count]
        seen = ops.matmul(ops.softmax(scores, -1), v)
        return self.further(x, seen.transpose(0, 2, 1, 3).reshape(x.shape))

    def follow(
        self, x: Tensor, place: Tensor, hidden: Tensor, keys: Tensor, values: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The token at `place` alone: x [batch, width], behind those whose keys and values, [context, batch, width], there are.

        hidden: [context], what is added to scores. Returns x for the next block, and keys and values with this token's.
        """
        batch, width = x.shape
        q, k, v = ops.split(self.qkv(self.norm1(x)), width, 1)
        # One row is written where the cache lies: nobody reads the old one any more.
        at = place.reshape(1, 1)
        keys = ops.tensor_scatter_update(keys, at, k.reshape(1, batch, width))
        values = ops.tensor_scatter_update(values, at, v.reshape(1, batch, width))
        all_keys, all_values = (c.view(c.shape[0], batch, self.heads, -1) for c in (keys, values))
        scores = ops.matmul(q.view(batch, self.heads, 1, -1), all_keys.transpose(1, 2, 3, 0)) * self.scale + hidden
        seen = ops.matmul(ops.softmax(scores, -1), all_values.transpose(1, 2, 0, 3))
        return self.further(x, seen.reshape(batch, width)), keys, values

    def further(self, x: Tensor, seen: Tensor) -> Tensor:
        """What follows attention."""
        x = x + self.out(seen)
        made: Tensor = x + self.down(self.gelu(self.up(self.norm2(x))))
        return made


class GPT(nn.Cell):
    """Tokens int32 [batch, count], count up to the context, to logits of the next ones, float32 [batch, count, vocabulary]."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.sizes = sizes
        self.tokens, self.places = nn.Embedding(sizes.vocabulary, sizes.width), nn.Embedding(sizes.context, sizes.width)
        self.blocks = nn.CellList([Block(sizes) for _ in range(sizes.layers)])
        self.norm = nn.LayerNorm((sizes.width,), epsilon=1e-5)
        self.head = nn.Dense(sizes.width, sizes.vocabulary, has_bias=False)
        self.order = Tensor(np.arange(sizes.context, dtype=np.int32))

    def construct(self, tokens: Tensor) -> Tensor:
        x = self.tokens(tokens) + self.places(self.order[: tokens.shape[1]])
        for block in self.blocks:
            x = block(x)
        logits: Tensor = self.head(self.norm(x))
        return logits

    def follow(
        self, token: Tensor, place: Tensor, keys: tuple[Tensor, ...], values: tuple[Tensor, ...]
    ) -> tuple[Tensor, tuple[Tensor, ...], tuple[Tensor, ...]]:
        """The logits [batch, vocabulary] behind one token, int32 [batch], and the keys and values of every block."""
        x = self.tokens(token) + self.places(place.reshape(1))
        hidden = ops.select(self.order <= place, 0.0, HIDDEN)
        made = []
        for block, k, v in zip(self.blocks, keys, values, strict=True):
            x, k, v = block.follow(x, place, hidden, k, v)
            made.append((k, v))
        return self.head(self.norm(x)), tuple(k for k, _ in made), tuple(v for _, v in made)


class Generate(nn.Cell):
    """Texts of `length` tokens from their first `known` ones, one token after the other in a loop of the compiled step.

    A token reads the weights and the cache once, and writes a row of the cache. What is asked for are inputs: there is one
    compilation for all beginnings and lengths. With `top` tokens are drawn from so many of the most probable ones, at a
    temperature; without, the most probable one is taken.
    """

    def __init__(self, network: GPT, top: int = 0, temperature: float = 1.0) -> None:
        super().__init__()
        self.network, self.top, self.temperature = network, top, temperature

    def construct(self, text: Tensor, known: Tensor, length: Tensor) -> Tensor:
        """text: int32 [batch, context], the first `known` tokens of which are given; known, length: int32. Returns one."""
        sizes, order = self.network.sizes, self.network.order
        batch = text.shape[0]
        empty = ops.zeros((sizes.context, batch, sizes.width), graphc.float32)
        keys = values = (empty,) * sizes.layers
        place = ops.zeros_like(known)
        while place < length - 1:
            token = ops.gather(text, place, 1)
            logits, keys, values = self.network.follow(token, place, keys, values)
            place = place + 1
            new = (order == place) & (place >= known)
            text = ops.select(new, self.choose(logits).reshape(batch, 1), text)
        return text

    def choose(self, logits: Tensor) -> Tensor:
        """A token for each row of logits: int32 [batch]."""
        if not self.top:
            return logits.argmax(-1).astype(graphc.int32)
        best, which = ops.topk(logits, self.top)
        drawn = ops.multinomial(ops.softmax(best / self.temperature, -1), 1)
        return ops.gather_elements(which, 1, drawn).reshape(-1)
