"""JAX: one jitted step; parameters, statistics and optimizer state are donated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from chain_jax import Tree, chain_of, dense, layer_norm, statistics
from chains import CHAINS
from jax.sharding import NamedSharding
from jax.sharding import PartitionSpec as P
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


def version() -> str:
    return f"jax {jax.__version__}"


def start() -> None:
    jax.jit(lambda x: x + 1)(jnp.ones(1)).block_until_ready()


# ---- networks: (parameters, running statistics, input) -> (logits, new statistics)


def mlp(p: Tree, s: Tree, x: Any) -> Any:
    x = jax.nn.relu(dense(p, "fc1", x))
    return dense(p, "fc3", jax.nn.relu(dense(p, "fc2", x))), s


def lenet(p: Tree, s: Tree, x: Any) -> Any:
    for name in ("conv1", "conv2"):
        x = jax.lax.conv_general_dilated(x, p[f"{name}.weight"], (1, 1), "VALID")
        x = jax.nn.relu(x + p[f"{name}.bias"][:, None, None])
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    return mlp(p, s, x.reshape(x.shape[0], -1))


def resnet20(p: Tree, s: Tree, x: Any) -> Any:
    new: Tree = {}

    def layer(conv: str, norm: str, x: Any, stride: int = 1) -> Any:
        w = p[f"{conv}.weight"]
        border = (w.shape[-1] // 2,) * 2
        x = jax.lax.conv_general_dilated(x, w, (stride, stride), (border, border))
        mean, variance = x.mean((0, 2, 3)), x.var((0, 2, 3))
        for name, now in (("mean", mean), ("variance", variance)):
            new[f"{norm}.{name}"] = 0.9 * s[f"{norm}.{name}"] + 0.1 * now
        factor = p[f"{norm}.weight"] * jax.lax.rsqrt(variance + NORM_EPS)
        return (x - mean[:, None, None]) * factor[:, None, None] + p[f"{norm}.bias"][:, None, None]

    x = jax.nn.relu(layer("conv", "norm", x))
    for i, (_, _, stride) in enumerate(residual_blocks()):
        b = f"blocks.{i}."
        y = jax.nn.relu(layer(b + "conv1", b + "norm1", x, stride))
        y = layer(b + "conv2", b + "norm2", y)
        x = jax.nn.relu(y + (layer(b + "project", b + "norm3", x, stride) if stride > 1 else x))
    return dense(p, "fc", x.mean((2, 3))), new


def lstm(p: Tree, s: Tree, x: Any) -> Any:
    given = x @ p["rnn.weight_ih_l0"].T + p["rnn.bias_ih_l0"] + p["rnn.bias_hh_l0"]
    zeros = jnp.zeros((x.shape[1], p["rnn.weight_hh_l0"].shape[1]), x.dtype)

    def turn(state: Any, given: Any) -> Any:
        h, c = state
        i, f, g, o = jnp.split(given + h @ p["rnn.weight_hh_l0"].T, 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        return (jax.nn.sigmoid(o) * jnp.tanh(c), c), None

    (h, _), _ = jax.lax.scan(turn, (zeros, zeros), given)
    return dense(p, "fc", h), s


def recommender(p: Tree, s: Tree, ids: Any) -> Any:
    x = p["table.weight"][ids].reshape(ids.shape[0], -1)
    return dense(p, "fc2", jax.nn.relu(dense(p, "fc1", x))), s


def gpt(p: Tree, s: Tree, tokens: Any) -> Any:
    batch, context = tokens.shape
    x = p["tokens.weight"][tokens] + p["positions.weight"]
    causal = jnp.tril(jnp.ones((context, context), bool))
    for i in range(GPT.layers):
        b = f"blocks.{i}."
        parts = jnp.split(dense(p, b + "qkv", layer_norm(p, b + "norm1", x)), 3, -1)
        q, k, v = (t.reshape(batch, context, GPT.heads, -1).transpose(0, 2, 1, 3) for t in parts)
        scores = q @ k.swapaxes(-1, -2) * float(q.shape[-1]) ** -0.5
        attended = jax.nn.softmax(jnp.where(causal, scores, -jnp.inf), -1) @ v
        x = x + dense(p, b + "out", attended.transpose(0, 2, 1, 3).reshape(x.shape))
        up = jax.nn.gelu(dense(p, b + "up", layer_norm(p, b + "norm2", x)), approximate=True)
        x = x + dense(p, b + "down", up)
    return (layer_norm(p, "norm", x) @ p["head.weight"].T).reshape(-1, GPT.vocabulary), s


# ---- optimizers: (parameters, state, gradients) -> (parameters, state)


def momentum(p: Tree, state: Any, gradients: Tree) -> Any:
    state = jax.tree.map(lambda m, g: MOMENTUM * m + g, state, gradients)
    return jax.tree.map(lambda w, m: w - LEARNING_RATE * m, p, state), state


def plain(p: Tree, state: Any, gradients: Tree) -> Any:
    return jax.tree.map(lambda w, g: w - LEARNING_RATE * g, p, gradients), state


def clipped_adamw(p: Tree, state: Any, gradients: Tree) -> Any:
    norm = jnp.sqrt(sum(jnp.square(g).sum() for g in gradients.values()))
    gradients = jax.tree.map(lambda g: g * (CLIP / jnp.maximum(norm, CLIP)), gradients)
    t, first, second = state
    t = t + 1
    first = jax.tree.map(lambda m, g: BETAS[0] * m + (1 - BETAS[0]) * g, first, gradients)
    second = jax.tree.map(lambda v, g: BETAS[1] * v + (1 - BETAS[1]) * g * g, second, gradients)
    rate, correction = ADAM_RATE / (1 - BETAS[0] ** t), 1 - BETAS[1] ** t

    def updated(w: Any, m: Any, v: Any) -> Any:
        return w * (1 - ADAM_RATE * WEIGHT_DECAY) - rate * m / (jnp.sqrt(v / correction) + EPS)

    return jax.tree.map(updated, p, first, second), (t, first, second)


def build(
    workload: str, variant: str, weights: dict[str, Array], x: Array, y: Array, mesh: Any = None
) -> Callable[[], Any]:
    """With a `mesh` of processes x and y are this one's rows, and gradients are means over them all."""
    family = WORKLOADS[workload].family
    named = {"mlp": mlp, "lenet": lenet, "resnet20": resnet20, "gpt": gpt, "lstm": lstm, "recommender": recommender}
    network = chain_of(CHAINS[workload]) if family == "chain" else named[family]
    update = {"gpt": clipped_adamw, "recommender": plain}.get(family, momentum)

    whole, rows = (None, None) if mesh is None else (NamedSharding(mesh, P()), NamedSharding(mesh, P("rank")))

    def shared(array: Any) -> Any:
        return jnp.asarray(array) if mesh is None else jax.make_array_from_process_local_data(whole, np.asarray(array))

    def arrays(x: Array, y: Array) -> tuple[Any, Any]:
        if mesh is None:
            return jnp.asarray(x), jnp.asarray(y).reshape(-1)
        return tuple(jax.make_array_from_process_local_data(rows, a) for a in (x, y.reshape(-1)))

    given = arrays(x, y)

    def loss_of(p: Tree, s: Tree, inputs: Any, labels: Any, scale: Any) -> Any:
        logits, s = network(p, s, inputs)
        loss = -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], 1).mean()
        return loss * scale, (loss, s)

    def train(p: Tree, s: Tree, state: Any, inputs: Any, labels: Any, scale: Any) -> Any:
        gradients, (loss, s) = jax.grad(loss_of, has_aux=True)(p, s, inputs, labels, scale)
        if mesh is not None:
            gradients, loss = jax.lax.pmean((gradients, loss), "rank")
        if variant != "scaled":
            return *update(p, state, gradients), s, loss
        gradients = jax.tree.map(lambda g: g * (1 / scale), gradients)
        finite = jnp.all(jnp.array([jnp.isfinite(g).all() for g in jax.tree.leaves(gradients)]))
        p, state = jax.lax.cond(finite, update, lambda p, state, g: (p, state), p, state, gradients)
        return p, state, s, loss

    if mesh is not None:
        # What batch normalization keeps is each process's own.
        given_to = (P(), P(), P(), P("rank"), P("rank"), P())
        train = jax.shard_map(train, mesh=mesh, in_specs=given_to, out_specs=P(), check_vma=False)
    train = jax.jit(train, donate_argnums=(0, 1, 2))

    def compile() -> Callable[..., float]:
        p = {name: jnp.asarray(w) for name, w in weights.items()}
        zeros = [jax.tree.map(jnp.zeros_like, p) for _ in range(2)]
        state = {"gpt": (jnp.float32(0), *zeros), "recommender": ()}.get(family, zeros[0])
        first = _statistics(p) if family == "resnet20" else statistics(p, CHAINS.get(workload, ()))
        kept = jax.tree.map(shared, [p, first, state])
        scale = shared(jnp.float32(SCALE if variant == "scaled" else 1.0))

        def step(*fresh: Array) -> float:
            kept[0], kept[2], kept[1], loss = train(*kept, *(arrays(*fresh) if fresh else given), scale)
            return float(loss)

        return step

    return compile


def _statistics(p: Tree) -> Tree:
    """Mean 0 and variance 1 for every batch normalization."""
    made = {}
    for name, w in p.items():
        layer, _, kind = name.rpartition(".")
        if "norm" in layer and kind == "weight":
            made |= {f"{layer}.mean": jnp.zeros_like(w), f"{layer}.variance": jnp.ones_like(w)}
    return made
