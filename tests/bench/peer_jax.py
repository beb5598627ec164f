"""JAX: one jitted step; parameters and momentum are donated."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from workloads import LEARNING_RATE, MOMENTUM, SCALE, Array


def version() -> str:
    return f"jax {jax.__version__}"


def start() -> None:
    jax.jit(lambda x: x + 1)(jnp.ones(1)).block_until_ready()


def lenet(p: dict[str, Any], x: Any) -> Any:
    for name in ("conv1", "conv2"):
        x = jax.lax.conv_general_dilated(x, p[f"{name}.weight"], (1, 1), "VALID")
        x = jax.nn.relu(x + p[f"{name}.bias"][:, None, None])
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    return mlp(p, x.reshape(x.shape[0], -1))


def mlp(p: dict[str, Any], x: Any) -> Any:
    for name in ("fc1", "fc2", "fc3"):
        x = x @ p[f"{name}.weight"].T + p[f"{name}.bias"]
        if name != "fc3":
            x = jax.nn.relu(x)
    return x


def build(workload: str, variant: str, weights: dict[str, Array], x: Array, y: Array) -> Callable[[], Any]:
    network = lenet if workload == "lenet" else mlp
    images, labels = jnp.asarray(x), jnp.asarray(y)

    def loss_of(p: dict[str, Any], images: Any, labels: Any, scale: Any) -> Any:
        logits = jax.nn.log_softmax(network(p, images))
        loss = -jnp.take_along_axis(logits, labels[:, None], 1).mean()
        return loss * scale, loss

    def updated(p: Any, moments: Any, gradients: Any) -> Any:
        moments = jax.tree.map(lambda m, g: MOMENTUM * m + g, moments, gradients)
        return jax.tree.map(lambda w, m: w - LEARNING_RATE * m, p, moments), moments

    @partial(jax.jit, donate_argnums=(0, 1))
    def train(p: Any, moments: Any, images: Any, labels: Any, scale: Any) -> Any:
        gradients, loss = jax.grad(loss_of, has_aux=True)(p, images, labels, scale)
        if variant != "scaled":
            return *updated(p, moments, gradients), loss
        gradients = jax.tree.map(lambda g: g * (1 / scale), gradients)
        finite = jnp.all(jnp.array([jnp.isfinite(g).all() for g in jax.tree.leaves(gradients)]))
        p, moments = jax.lax.cond(finite, updated, lambda p, m, g: (p, m), p, moments, gradients)
        return p, moments, loss

    def compile() -> Callable[[], float]:
        state = [jax.tree.map(jnp.asarray, weights), jax.tree.map(jnp.zeros_like, jax.tree.map(jnp.asarray, weights))]
        scale = jnp.float32(SCALE if variant == "scaled" else 1.0)

        def step() -> float:
            state[0], state[1], loss = train(*state, images, labels, scale)
            return float(loss)

        return step

    return compile
