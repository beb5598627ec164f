"""The networks of `chains` in JAX: (parameters, running statistics, input) -> (logits, new statistics)."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from chains import Layer, groups
from workloads import NORM_EPS

Tree = dict[str, Any]


def norm(p: Tree, s: Tree, new: Tree, name: str, x: Any) -> Any:
    axes, shape = (0, *range(2, x.ndim)), (-1, *(1,) * (x.ndim - 2))
    mean, variance = x.mean(axes), x.var(axes)
    for kind, now in (("mean", mean), ("variance", variance)):
        new[f"{name}.{kind}"] = 0.9 * s[f"{name}.{kind}"] + 0.1 * now
    factor = p[f"{name}.weight"] * jax.lax.rsqrt(variance + NORM_EPS)
    return (x - mean.reshape(shape)) * factor.reshape(shape) + p[f"{name}.bias"].reshape(shape)


def layer_norm(p: Tree, name: str, x: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    factor = jax.lax.rsqrt(jnp.square(centred).mean(-1, keepdims=True) + NORM_EPS)
    return centred * factor * p[f"{name}.weight"] + p[f"{name}.bias"]


def dense(p: Tree, name: str, x: Any) -> Any:
    return x @ p[f"{name}.weight"].T + p[f"{name}.bias"]


def attention(p: Tree, name: str, heads: int, x: Any, seen: Any) -> Any:
    batch, length, _ = x.shape
    parts = jnp.split(dense(p, f"{name}.qkv", x), 3, -1)
    q, k, v = (t.reshape(batch, length, heads, -1).transpose(0, 2, 1, 3) for t in parts)
    scores = q @ k.swapaxes(-1, -2) * float(q.shape[-1]) ** -0.5
    attended = jax.nn.softmax(jnp.where(seen[:, None, None], scores, -jnp.inf), -1) @ v
    return dense(p, f"{name}.out", attended.transpose(0, 2, 1, 3).reshape(x.shape))


def convolution(layer: Layer, w: Any, x: Any) -> Any:
    dimensions = x.ndim - 2
    border = ((layer.border, layer.border),) * dimensions
    strides, dilation = (layer.stride,) * dimensions, (layer.dilation,) * dimensions
    return jax.lax.conv_general_dilated(
        x, w, strides, border, rhs_dilation=dilation, feature_group_count=groups(layer, x.shape[1])
    )


def transposed(layer: Layer, w: Any, x: Any) -> Any:
    border = ((2 * layer.stride - 1 - layer.border,) * 2,) * 2
    kernel = jnp.flip(w, (2, 3)).swapaxes(0, 1)
    return jax.lax.conv_general_dilated(x, kernel, (1, 1), border, lhs_dilation=(layer.stride,) * 2)


def chain_of(chain: tuple[Layer, ...]) -> Any:
    def network(p: Tree, s: Tree, x: Any) -> Any:
        new: Tree = {}
        seen, kept, tokens = x != 0, [], chain[0].kind == "embed"
        for i, layer in enumerate(chain):
            name = f"layers.{i}"
            if layer.kind == "keep":
                kept.append(x)
            elif layer.kind == "add":
                x = x + kept.pop()
            elif layer.kind == "join":
                x = jnp.concatenate((kept.pop(), x), 1)
            elif layer.kind == "mean":
                x = x.mean(1) if tokens else x.mean(tuple(range(2, x.ndim)))
            elif layer.kind == "conv":
                x = convolution(layer, p[f"{name}.weight"], x)
            elif layer.kind == "up":
                x = transposed(layer, p[f"{name}.weight"], x)
            elif layer.kind == "norm":
                x = norm(p, s, new, name, x)
            elif layer.kind == "attention":
                x = attention(p, name, layer.groups, x, seen)
            elif layer.kind == "embed":
                x = p[f"{name}.weight"][x]
            elif layer.kind == "pool":
                window = (1, 1, 2, 2)
                x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, window, window, "VALID")
            elif layer.kind in ("relu", "gelu"):
                x = getattr(jax.nn, layer.kind)(x)
            else:
                x = {"dense": dense, "layernorm": layer_norm}[layer.kind](p, name, x)
        return x, new

    return network


def statistics(p: Tree, chain: tuple[Layer, ...]) -> Tree:
    """Mean 0 and variance 1 for every batch normalization."""
    made = {}
    for i, layer in enumerate(chain):
        if layer.kind == "norm":
            w = p[f"layers.{i}.weight"]
            made |= {f"layers.{i}.mean": jnp.zeros_like(w), f"layers.{i}.variance": jnp.ones_like(w)}
    return made
