"""Tokens a second of a GPT that generates with kept keys and values, side by side.

    python tests/bench/generate.py --peers torch=PYTHON,jax=PYTHON

PYTHON is an interpreter in whose environment that peer is installed; graphc runs in this one. Everyone has the same weights and
the same beginning, and takes the most probable token: the texts are compared. graphc and JAX make a whole text in one compiled
loop, eager torch a token at a time. Beside the speeds stands the bound: a token reads every weight once, so it takes at least
their bytes divided by the speed at which this machine reads memory, or a cache that holds them, which is measured.

--sizes nano,char  6 layers, 6 heads, width 384, context 256 as in nanoGPT's smallest model; 4, 4, 128, 64 as in its CPU setting
--batch N          so many texts at a time (default: 1)
--rounds N         peers take turns so often; the best round counts (default: 3)
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from processes import HERE, environment, interpreters

SIZES = {
    "nano": {"vocabulary": 65, "layers": 6, "heads": 6, "width": 384, "context": 256},
    "char": {"vocabulary": 65, "layers": 4, "heads": 4, "width": 128, "context": 64},
}
#: Texts that each round makes.
TEXTS = 3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", default="")
    parser.add_argument("--sizes", default="nano,char")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.only:
        print(json.dumps(measure(args.only, args.sizes, args.batch)))
        return 0
    pythons, left_out = interpreters(args.peers)
    for line in left_out:
        print(line, file=sys.stderr)
    print("| tokens/s | threads | bound | graphc | others | graphc / best peer |\n|---|---|---:|---:|---|---:|")
    for size in args.sizes.split(","):
        for cpu in (0, None):
            print(_row(size, cpu, {"graphc": sys.executable, **pythons}, args))
    return 0


def _row(size: str, cpu: int | None, pythons: dict[str, str], args: argparse.Namespace) -> str:
    best: dict[str, float] = {}
    texts: dict[str, Any] = {}
    bound = 0.0
    for _ in range(args.rounds):
        for name, python in pythons.items():
            found = _run(name, python, size, cpu, args.batch)
            if found is None:
                continue
            best[name] = max(best.get(name, 0.0), found["speed"])
            bound = max(bound, found.get("bound", 0.0))
            texts[name] = found["text"]
    peers = {n: s for n, s in best.items() if n != "graphc"}
    others = ", ".join(
        f"{n} {s:,.0f}{'' if texts[n] == texts['graphc'] else ' (another text)'}" for n, s in peers.items()
    )
    ratio = f"{best['graphc'] / max(peers.values()):.2f}" if peers else ""
    threads = "one" if cpu is not None else "all"
    return f"| {size}, batch {args.batch} | {threads} | {bound:,.0f} | {best['graphc']:,.0f} | {others} | {ratio} |"


def _run(name: str, python: str, size: str, cpu: int | None, batch: int) -> Any:
    """What one process measures; None, with a line that says why, for one that fails."""
    pin = [] if cpu is None else ["taskset", "-c", str(cpu)]
    command = [*pin, python, str(HERE / "generate.py"), "--only", name, "--sizes", size, "--batch", str(batch)]
    with tempfile.TemporaryDirectory() as cache:
        made = subprocess.run(command, env=environment(cache, cpu), capture_output=True, text=True, timeout=600)
    if made.returncode:
        print(f"{name} left out: {made.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return None
    return json.loads(made.stdout.splitlines()[-1])


def measure(name: str, size: str, batch: int) -> dict[str, Any]:
    """Tokens a second of one framework in this process, its first text, and with graphc the bound."""
    sizes = SIZES[size]
    weights = made_weights(sizes)
    generate = MAKERS[name](sizes, weights, batch)
    text = generate()
    seconds = []
    for _ in range(TEXTS):
        start = time.perf_counter()
        generate()
        seconds.append(time.perf_counter() - start)
    found: dict[str, Any] = {"text": np.asarray(text).tolist(), "speed": batch * (sizes["context"] - 1) / min(seconds)}
    if name == "graphc":
        read = sum(w.nbytes for k, w in weights.items() if k not in ("tokens", "places"))
        found["bound"] = batch / (read / reading(read))
    return found


def reading(bytes: int) -> float:
    """Bytes a second at which graphc's matrix-vector product reads a weight of this size, at its best."""
    import graphc
    from graphc import nn

    columns = 384
    rows = bytes // 4 // columns
    cell = nn.Dense(columns, rows, has_bias=False)
    entry = graphc.compile(cell, np.zeros((1, columns), np.float32)).entry
    best = np.inf
    for _ in range(40):
        start = time.perf_counter()
        entry.call(entry.context)
        best = min(best, time.perf_counter() - start)
    return float(4 * rows * columns / best)


def made_weights(sizes: dict[str, int]) -> dict[str, np.ndarray[Any, Any]]:
    """[out, in] of every product, and the embeddings; biases are 0 and norms 1 in every framework."""
    rng = np.random.default_rng(0)
    width = sizes["width"]
    shapes = {
        "tokens": (sizes["vocabulary"], width),
        "places": (sizes["context"], width),
        "head": (sizes["vocabulary"], width),
    }
    for k in range(sizes["layers"]):
        shapes |= {f"{k}.qkv": (3 * width, width), f"{k}.out": (width, width)}
        shapes |= {f"{k}.up": (4 * width, width), f"{k}.down": (width, 4 * width)}
    return {name: rng.normal(scale=0.1, size=shape).astype(np.float32) for name, shape in shapes.items()}


def _graphc(sizes: dict[str, int], weights: dict[str, Any], batch: int) -> Callable[[], Any]:
    import graphc
    from graphc import Tensor
    from graphc.examples.gpt import GPT, Generate, Sizes

    network = GPT(Sizes(**sizes)).set_train(False)
    network.tokens.embedding_table.set_data(weights["tokens"])
    network.places.embedding_table.set_data(weights["places"])
    network.head.weight.set_data(weights["head"])
    for k, block in enumerate(network.blocks):
        for name in ("qkv", "out", "up", "down"):
            layer = getattr(block, name)
            layer.weight.set_data(weights[f"{k}.{name}"])
            layer.bias.set_data(np.zeros(layer.bias.shape, np.float32))
    text = Tensor(np.ones((batch, sizes["context"]), np.int32))
    numbers = Tensor(1, graphc.int32), Tensor(sizes["context"], graphc.int32)
    step = graphc.compile(Generate(network).set_train(False), text, *numbers)
    return lambda: step(text, *numbers).asnumpy()


def _torch(sizes: dict[str, int], weights: dict[str, Any], batch: int) -> Callable[[], Any]:
    import os

    import torch
    import torch.nn.functional as F

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", 0)) or len(os.sched_getaffinity(0)))
    w = {k: torch.tensor(v) for k, v in weights.items()}
    width, heads, context = sizes["width"], sizes["heads"], sizes["context"]

    def block(x: Any, k: int, place: int, keys: Any, values: Any) -> Any:
        q, new, v = F.linear(F.layer_norm(x, (width,)), w[f"{k}.qkv"]).view(batch, 3, heads, -1).unbind(1)
        keys[:, :, place], values[:, :, place] = new, v
        seen = F.scaled_dot_product_attention(q[:, :, None], keys[:, :, : place + 1], values[:, :, : place + 1])
        x = x + F.linear(seen.reshape(batch, width), w[f"{k}.out"])
        up = F.gelu(F.linear(F.layer_norm(x, (width,)), w[f"{k}.up"]), approximate="tanh")
        return x + F.linear(up, w[f"{k}.down"])

    @torch.inference_mode()
    def generate() -> Any:
        keys = torch.zeros(sizes["layers"], batch, heads, context, width // heads)
        values = torch.zeros_like(keys)
        text = torch.ones(batch, context, dtype=torch.int64)
        for place in range(context - 1):
            x = w["tokens"][text[:, place]] + w["places"][place]
            for k in range(sizes["layers"]):
                x = block(x, k, place, keys[k], values[k])
            text[:, place + 1] = F.linear(F.layer_norm(x, (width,)), w["head"]).argmax(-1)
        return text.numpy()

    return generate


def _jax(sizes: dict[str, int], weights: dict[str, Any], batch: int) -> Callable[[], Any]:
    import jax
    import jax.numpy as jnp

    width, heads, context, layers = sizes["width"], sizes["heads"], sizes["context"], sizes["layers"]
    # As JAX's own code has them: [in, out].
    held = {k: jnp.asarray(v if k in ("tokens", "places") else v.T.copy()) for k, v in weights.items()}

    def norm(x: Any) -> Any:
        mean = x.mean(-1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5)

    def block(w: Any, x: Any, k: int, place: Any, keys: Any, values: Any) -> Any:
        parts = (norm(x) @ w[f"{k}.qkv"]).reshape(batch, 3, heads, 1, -1)
        keys, values = (
            jax.lax.dynamic_update_slice(cache, parts[None, :, i], (k, 0, 0, place, 0))
            for cache, i in ((keys, 1), (values, 2))
        )
        scores = jnp.einsum("bhd,bhtd->bht", parts[:, 0, :, 0], keys[k]) * (width // heads) ** -0.5
        share = jax.nn.softmax(jnp.where(jnp.arange(context) <= place, scores, -1e9), -1)
        x = x + jnp.einsum("bht,bhtd->bhd", share, values[k]).reshape(batch, width) @ w[f"{k}.out"]
        return x + jax.nn.gelu(norm(x) @ w[f"{k}.up"], approximate=True) @ w[f"{k}.down"], keys, values

    @jax.jit
    def generate(w: Any) -> Any:
        def turn(place: Any, carried: Any) -> Any:
            text, keys, values = carried
            x = w["tokens"][text[:, place]] + w["places"][place]
            for k in range(layers):
                x, keys, values = block(w, x, k, place, keys, values)
            return text.at[:, place + 1].set((norm(x) @ w["head"]).argmax(-1)), keys, values

        empty = jnp.zeros((layers, batch, heads, context, width // heads))
        return jax.lax.fori_loop(0, context - 1, turn, (jnp.ones((batch, context), jnp.int32), empty, empty))[0]

    return lambda: np.asarray(generate(held))


MAKERS: dict[str, Callable[..., Callable[[], Any]]] = {"graphc": _graphc, "torch": _torch, "jax": _jax}


if __name__ == "__main__":
    sys.exit(main())
