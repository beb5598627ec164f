"""A character-level GPT, trained on text that comes with Python, and text of its own.

The sizes are those that nanoGPT's README gives for a CPU: 4 layers, 4 heads, width 128, context 64, batches of 12, 2000 steps.

    python docs/examples/char_gpt.py                  # about a minute on two CPUs
    python docs/examples/char_gpt.py --steps 200 --length 200
"""

from __future__ import annotations

import argparse
import time
from pydoc_data import topics

import numpy as np

import graphc
from graphc import Tensor, nn, ops

LAYERS, HEADS, WIDTH, CONTEXT, BATCH = 4, 4, 128, 64, 12


class Text:
    """Python's language reference as numbers, one per character; the last tenth is held out."""

    def __init__(self) -> None:
        text = "".join(topics.topics[name] for name in sorted(topics.topics))
        self.characters = sorted(set(text))
        number = {c: i for i, c in enumerate(self.characters)}
        tokens = np.array([number[c] for c in text], np.int32)
        self.train, self.held_out = np.split(tokens, [len(tokens) * 9 // 10])

    def batch(self, rng: np.random.Generator, tokens: np.ndarray, size: int = BATCH) -> tuple[np.ndarray, np.ndarray]:
        """Pieces of the text, and the same moved on by one character: int32 [size, CONTEXT] both."""
        starts = rng.integers(0, len(tokens) - CONTEXT, size)
        pieces = tokens[starts[:, None] + np.arange(CONTEXT + 1)]
        return np.ascontiguousarray(pieces[:, :-1]), np.ascontiguousarray(pieces[:, 1:])

    def encode(self, text: str) -> list[int]:
        return [self.characters.index(c) for c in text]

    def decode(self, tokens: np.ndarray) -> str:
        return "".join(self.characters[t] for t in tokens)


class Block(nn.Cell):
    """Attention to what came before, then a network of two layers; each adds to its input."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm((WIDTH,), epsilon=1e-5), nn.LayerNorm((WIDTH,), epsilon=1e-5)
        self.qkv, self.out = nn.Dense(WIDTH, 3 * WIDTH), nn.Dense(WIDTH, WIDTH)
        self.up, self.down = nn.Dense(WIDTH, 4 * WIDTH), nn.Dense(4 * WIDTH, WIDTH)
        self.gelu = nn.GELU(approximate=True)
        self.mask = Tensor(np.triu(np.full((CONTEXT, CONTEXT), -1e9, np.float32), 1))

    def heads(self, x: Tensor) -> Tensor:
        """[batch, CONTEXT, WIDTH] to [batch, HEADS, CONTEXT, WIDTH / HEADS]."""
        return x.view(x.shape[0], CONTEXT, HEADS, WIDTH // HEADS).transpose(0, 2, 1, 3)

    def construct(self, x: Tensor) -> Tensor:
        q, k, v = ops.split(self.qkv(self.norm1(x)), WIDTH, 2)
        scores = ops.matmul(self.heads(q), self.heads(k).transpose(0, 1, 3, 2)) * (WIDTH // HEADS) ** -0.5
        seen = ops.matmul(ops.softmax(scores + self.mask, -1), self.heads(v))
        x = x + self.out(seen.transpose(0, 2, 1, 3).reshape(x.shape))
        return x + self.down(self.gelu(self.up(self.norm2(x))))


class GPT(nn.Cell):
    """Tokens int32[batch, CONTEXT] to logits of the next one, float32[batch, CONTEXT, vocabulary]."""

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.CellList([Block() for _ in range(LAYERS)])
        self.norm, self.head = nn.LayerNorm((WIDTH,), epsilon=1e-5), nn.Dense(WIDTH, vocabulary, has_bias=False)
        self.order = Tensor(np.arange(CONTEXT, dtype=np.int32))

    def construct(self, tokens: Tensor) -> Tensor:
        x = self.tokens(tokens) + self.places(self.order)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Loss(nn.Cell):
    """The mean cross entropy of every next character, in nats."""

    def __init__(self, network: GPT) -> None:
        super().__init__()
        self.network = network
        self.entropy = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")

    def construct(self, tokens: Tensor, targets: Tensor) -> Tensor:
        logits = self.network(tokens)
        return self.entropy(logits.reshape(-1, logits.shape[-1]), targets.reshape(-1))


class ClippedStep(nn.TrainOneStepCell):
    """A training step whose gradients have a norm of at most 1 together."""

    def construct(self, *inputs: Tensor) -> Tensor:
        loss = self.network(*inputs)
        gradients = self.grad(self.network, self.weights)(*inputs, ops.ones_like(loss))
        return ops.depend(loss, self.optimizer(ops.clip_by_global_norm(gradients, 1.0)))


class Generate(nn.Cell):
    """`length` more tokens behind a beginning, each drawn from the `top` most probable ones.

    The window that the network sees has one size. What is not written yet lies behind the last token, which sees nothing that
    comes after it; a full window moves on by one. So there is one compilation, whatever is asked for, and the loop over tokens
    is a loop of the compiled step.
    """

    def __init__(self, network: GPT, length: int, temperature: float = 0.8, top: int = 20) -> None:
        super().__init__()
        self.network, self.length, self.temperature, self.top = network, length, temperature, top
        self.places = Tensor(np.arange(CONTEXT, dtype=np.int32))
        self.made = Tensor(np.arange(length, dtype=np.int32))

    def construct(self, window: Tensor, known: Tensor) -> Tensor:
        """window: int32[CONTEXT], of which the first `known`, an int32 of at least 1, are given. Returns int32[length]."""
        text = ops.zeros_like(self.made)
        i = ops.zeros_like(known)
        while i < self.length:
            logits = self.network(window.reshape(1, CONTEXT))[0]
            best, which = ops.topk(ops.gather(logits, known - 1, 0), self.top)
            drawn = ops.multinomial(ops.softmax(best / self.temperature), 1)
            token = ops.gather(which, drawn, 0)[0]
            full = known == CONTEXT
            moved = ops.select(full, ops.concat((window[1:], window[:1])), window)
            known = ops.select(full, known, known + 1)
            window = ops.select(self.places == known - 1, token, moved)
            text = ops.select(self.made == i, token, text)
            i = i + 1
        return text


def evaluate(loss: Loss, text: Text, batches: int) -> float:
    """The mean loss of pieces of the text that is held out."""
    rng = np.random.default_rng(1)
    loss.set_train(False)
    losses = [float(loss(*map(Tensor, text.batch(rng, text.held_out)))) for _ in range(batches)]
    return float(np.mean(losses))


def main() -> float:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--length", type=int, default=400, help="characters to generate")
    parser.add_argument("--prompt", default="The assignment", help="what the generated text begins with")
    options = parser.parse_args()
    graphc.set_seed(1)
    text, rng = Text(), np.random.default_rng(0)
    network = GPT(len(text.characters))
    loss = Loss(network)
    # The rate falls to a tenth along half a cosine.
    rate = nn.cosine_decay_lr(1e-4, 1e-3, options.steps, options.steps, 1)
    optimizer = nn.AdamWeightDecay(network.trainable_params(), rate, beta2=0.99, weight_decay=0.1)
    cell = ClippedStep(loss, optimizer).set_train()
    start = time.perf_counter()
    step = graphc.compile(cell, *text.batch(rng, text.train))
    print(
        f"{len(text.train):,} characters of {len(text.characters)} kinds; compiled in {time.perf_counter() - start:.1f} s"
    )
    start = time.perf_counter()
    for i in range(1, options.steps + 1):
        value = step(*text.batch(rng, text.train))
        if i % max(1, options.steps // 10) == 0:
            print(f"step {i:5}  loss {float(value):.3f}  {(time.perf_counter() - start) / i * 1e3:.1f} ms a step")
    held_out = evaluate(loss, text, 20)
    print(f"loss of text not seen: {held_out:.3f}")
    window = np.zeros(CONTEXT, np.int32)
    prompt = text.encode(options.prompt)[-CONTEXT:]
    window[: len(prompt)] = prompt
    generate = Generate(network, options.length).set_train(False)
    generate(Tensor(window), Tensor(len(prompt), graphc.int32))  # Compiled.
    start = time.perf_counter()
    made = generate(Tensor(window), Tensor(len(prompt), graphc.int32)).asnumpy()
    seconds = time.perf_counter() - start
    print(f"{options.prompt}{text.decode(made)}\n{options.length / seconds:,.0f} characters a second")
    return held_out


if __name__ == "__main__":
    main()
