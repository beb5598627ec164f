"""LeNet-5 by JAX, one jitted step. data.npz as for lenet_mindspore.py."""

import argparse
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, random

parser = argparse.ArgumentParser()
parser.add_argument("data")
parser.add_argument("--epochs", type=int, default=20)
options = parser.parse_args()

SHAPES = [(6, 1, 5, 5), (16, 6, 5, 5), (400, 120), (120, 84), (84, 10)]


def initial(key):
    made = []
    for shape, k in zip(SHAPES, random.split(key, len(SHAPES)), strict=True):
        fan_in = int(np.prod(shape[1:])) if len(shape) == 4 else shape[0]
        bias = shape[0] if len(shape) == 4 else shape[1]
        made.append((random.uniform(k, shape, minval=-1, maxval=1) / fan_in**0.5, jnp.zeros(bias)))
    return made


def forward(parameters, x):
    for w, b in parameters[:2]:
        x = lax.conv_general_dilated(x, w, (1, 1), "VALID", dimension_numbers=("NCHW", "OIHW", "NCHW"))
        x = jax.nn.relu(x + b[:, None, None])
        x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    x = x.reshape(len(x), -1)
    for i, (w, b) in enumerate(parameters[2:]):
        x = x @ w + b
        x = jax.nn.relu(x) if i < 2 else x
    return x


def loss(parameters, images, labels):
    logits = jax.nn.log_softmax(forward(parameters, images))
    return -jnp.take_along_axis(logits, labels[:, None], 1).mean()


@partial(jax.jit, donate_argnums=(0, 1))
def step(parameters, moments, images, labels):
    value, gradients = jax.value_and_grad(loss)(parameters, images, labels)
    moments = jax.tree.map(lambda m, g: 0.9 * m + g, moments, gradients)
    return jax.tree.map(lambda p, m: p - 0.01 * m, parameters, moments), moments, value


@jax.jit
def right(parameters, images, labels):
    return (forward(parameters, images).argmax(1) == labels).mean()


data = np.load(options.data)
images, labels = data["train_images"], data["train_labels"]
parameters = initial(random.PRNGKey(1))
moments = jax.tree.map(jnp.zeros_like, parameters)
rng, steps = np.random.default_rng(1), len(images) // 32
for epoch in range(1, options.epochs + 1):
    for rows in rng.permutation(len(images))[: steps * 32].reshape(steps, 32):
        parameters, moments, value = step(parameters, moments, images[rows], labels[rows])
    print(f"epoch: {epoch} step: {steps}, loss is {float(value)}")
images, labels = data["test_images"], data["test_labels"]
pieces = [slice(i, i + 32) for i in range(0, len(images) - 31, 32)]
print("accuracy", float(np.mean([right(parameters, images[p], labels[p]) for p in pieces])))
