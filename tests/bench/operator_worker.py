"""Operators in one process: operator_worker.py graphc|torch SECONDS DTYPE. Answers each line of standard input, an object with
"case", a name of CASES, with the seconds of a call: "forward", and "both" with the gradients for all inputs of floats, null
without any.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from convolution_worker import median, with_gradients

Runs = tuple[Callable[[], Any], Callable[[], Any] | None]


class Case(NamedTuple):
    """What is called with torch, or `mint`, its `nn.functional`, and the inputs; their shapes, and what they hold: normal
    numbers, or integers below a number."""

    called: Callable[..., Any]
    shapes: tuple[tuple[int, ...], ...]
    below: dict[int, int] = {}  # noqa: RUF012
    gradients: bool = True


_ROWS, _IMAGES, _FLAT = (512, 1024), (16, 32, 56, 56), (1 << 20,)
_TOKENS = (8, 256, 512)


def _solve(t: Any, a: Any, b: Any) -> Any:
    """`mint` has no solve, MindSpore's is in `ops`."""
    if hasattr(t.linalg, "solve"):
        return t.linalg.solve(a, b)
    from graphc import ops

    return ops.matrix_solve(a, b)


def _transformed(t: Any, name: str, x: Any) -> Any:
    """By torch.fft, which `mint` has not."""
    if hasattr(t, "fft"):
        return getattr(t.fft, name)(x)
    from graphc import ops

    return getattr(ops, name)(x)


#: By name. Nobody tuned for these sizes.
CASES: dict[str, Case] = {
    # One number after the other.
    "gelu": Case(lambda t, f, x: f.gelu(x), (_TOKENS,)),
    "silu": Case(lambda t, f, x: f.silu(x), (_TOKENS,)),
    "mish": Case(lambda t, f, x: f.mish(x), (_TOKENS,)),
    "softplus": Case(lambda t, f, x: f.softplus(x), (_TOKENS,)),
    "elu": Case(lambda t, f, x: f.elu(x), (_TOKENS,)),
    "prelu": Case(lambda t, f, x, w: f.prelu(x, w), (_IMAGES, (32,))),
    "erf": Case(lambda t, f, x: t.erf(x), (_FLAT,)),
    "sin": Case(lambda t, f, x: t.sin(x), (_FLAT,)),
    "exp": Case(lambda t, f, x: t.exp(x), (_FLAT,)),
    "log of sizes": Case(lambda t, f, x: t.log(t.abs(x) + 1.0), (_FLAT,)),
    "pow 1.5": Case(lambda t, f, x: t.pow(t.abs(x) + 0.5, 1.5), (_FLAT,)),
    "atan2": Case(lambda t, f, x, y: t.atan2(x, y), (_FLAT, _FLAT)),
    "where": Case(lambda t, f, x, y: t.where(x > y, x, y), (_FLAT, _FLAT)),
    "clamp": Case(lambda t, f, x: t.clamp(x, -0.5, 0.5), (_FLAT,)),
    "remainder": Case(lambda t, f, x: t.remainder(x, 0.7), (_FLAT,)),
    "lerp": Case(lambda t, f, x, y: t.lerp(x, y, 0.3), (_FLAT, _FLAT)),
    "a column times rows": Case(lambda t, f, x, y: x * y, (_ROWS, (512, 1))),
    "outer sum": Case(lambda t, f, x, y: x + y, ((1024, 1), (1, 1024))),
    "channels times images": Case(lambda t, f, x, y: x * y, (_IMAGES, (1, 32, 1, 1))),
    "leaky_relu": Case(lambda t, f, x: f.leaky_relu(x, 0.1), (_FLAT,)),
    "hardswish": Case(lambda t, f, x: f.hardswish(x), (_FLAT,)),
    "selu": Case(lambda t, f, x: f.selu(x), (_FLAT,)),
    "logsigmoid": Case(lambda t, f, x: f.logsigmoid(x), (_FLAT,)),
    "tanh": Case(lambda t, f, x: t.tanh(x), (_FLAT,)),
    "sigmoid": Case(lambda t, f, x: t.sigmoid(x), (_FLAT,)),
    "rsqrt": Case(lambda t, f, x: t.rsqrt(t.abs(x) + 0.1), (_FLAT,)),
    "erfinv": Case(lambda t, f, x: t.erfinv(x * 0.1), (_FLAT,)),
    "atan": Case(lambda t, f, x: t.atan(x), (_FLAT,)),
    "asin": Case(lambda t, f, x: t.asin(x * 0.1), (_FLAT,)),
    "expm1": Case(lambda t, f, x: t.expm1(x), (_FLAT,)),
    "log1p": Case(lambda t, f, x: t.log1p(t.abs(x)), (_FLAT,)),
    "floor": Case(lambda t, f, x: t.floor(x), (_FLAT,), gradients=False),
    "round": Case(lambda t, f, x: t.round(x), (_FLAT,), gradients=False),
    "pow 3": Case(lambda t, f, x: t.pow(x, 3), (_FLAT,)),
    "x to the y": Case(lambda t, f, x, y: t.pow(t.abs(x) + 0.1, y), (_FLAT, _FLAT)),
    "masked_fill": Case(lambda t, f, x, y: x.masked_fill(y > 0, -1.0), (_ROWS, _ROWS)),
    "isnan": Case(lambda t, f, x: t.isnan(x), (_FLAT,), gradients=False),
    "nan_to_num": Case(lambda t, f, x: t.nan_to_num(x), (_FLAT,)),
    "maximum": Case(lambda t, f, x, y: t.maximum(x, y), (_FLAT, _FLAT)),
    "swiglu": Case(lambda t, f, x, y: f.silu(x) * y, (_TOKENS, _TOKENS)),
    # Sums and others along axes.
    "sum": Case(lambda t, f, x: t.sum(x), (_FLAT,)),
    "sum of columns": Case(lambda t, f, x: t.sum(x, 0), (_ROWS,)),
    "sum of rows": Case(lambda t, f, x: t.sum(x, 1), (_ROWS,)),
    "mean of the middle": Case(lambda t, f, x: t.mean(x, 1), (_TOKENS,)),
    "mean of images": Case(lambda t, f, x: t.mean(x, (2, 3)), (_IMAGES,)),
    "mean of batch and pixels": Case(lambda t, f, x: t.mean(x, (0, 2, 3)), (_IMAGES,)),
    "max of rows": Case(lambda t, f, x: t.max(x, 1)[0], (_ROWS,)),
    "max of columns": Case(lambda t, f, x: t.max(x, 0)[0], (_ROWS,)),
    "argmax of rows": Case(lambda t, f, x: t.argmax(x, 1), (_ROWS,), gradients=False),
    "argmax of columns": Case(lambda t, f, x: t.argmax(x, 0), (_ROWS,), gradients=False),
    "var of rows": Case(lambda t, f, x: t.var(x, 1), (_ROWS,)),
    "std of columns": Case(lambda t, f, x: t.std(x, 0), (_ROWS,)),
    "norm": Case(lambda t, f, x: t.norm(x), (_FLAT,)),
    "logsumexp": Case(lambda t, f, x: t.logsumexp(x, 1), (_ROWS,)),
    "prod of rows": Case(lambda t, f, x: t.prod(x * 0.01 + 1.0, 1), (_ROWS,)),
    "cumsum of rows": Case(lambda t, f, x: t.cumsum(x, 1), (_ROWS,)),
    "cumsum of columns": Case(lambda t, f, x: t.cumsum(x, 0), (_ROWS,)),
    "cumsum of the middle": Case(lambda t, f, x: t.cumsum(x, 1), (_TOKENS,)),
    "cummax of rows": Case(lambda t, f, x: t.cummax(x, 1)[0], (_ROWS,)),
    "any of rows": Case(lambda t, f, x: t.any(x > 3.0, 1), (_ROWS,), gradients=False),
    "min": Case(lambda t, f, x: t.min(x), (_FLAT,)),
    "amax of rows": Case(lambda t, f, x: t.amax(x, 1), (_ROWS,)),
    "min of the middle": Case(lambda t, f, x: t.min(x, 1)[0], (_TOKENS,)),
    "norm of rows": Case(lambda t, f, x: t.norm(x, dim=1), (_ROWS,)),
    "norm 1 of columns": Case(lambda t, f, x: t.norm(x, 1, 0), (_ROWS,)),
    "var_mean of images": Case(lambda t, f, x: t.var_mean(x, (2, 3))[0], (_IMAGES,)),
    "logsumexp of columns": Case(lambda t, f, x: t.logsumexp(x, 0), (_ROWS,)),
    "cumprod": Case(lambda t, f, x: t.cumprod(x * 0.01 + 1.0, 1), (_ROWS,)),
    "argmin of the middle": Case(lambda t, f, x: t.argmin(x, 1), (_TOKENS,), gradients=False),
    "count_nonzero": Case(lambda t, f, x: t.count_nonzero(x > 1.0), (_FLAT,), gradients=False),
    "all of columns": Case(lambda t, f, x: t.all(x > -9.0, 0), (_ROWS,), gradients=False),
    "std of all": Case(lambda t, f, x: t.std(x), (_FLAT,)),
    "sum of the first axes": Case(lambda t, f, x: t.sum(x, (0, 1)), (_TOKENS,)),
    "sum of channels": Case(lambda t, f, x: t.sum(x, 1), (_IMAGES,)),
    # Elements in other places.
    "transpose": Case(lambda t, f, x: t.permute(x, (1, 0)) * 2.0, ((1000, 1000),)),
    "heads": Case(lambda t, f, x: t.permute(t.reshape(x, (8, 256, 8, 64)), (0, 2, 1, 3)) * 2.0, (_TOKENS,)),
    "channels last": Case(lambda t, f, x: t.permute(x, (0, 2, 3, 1)) * 2.0, (_IMAGES,)),
    "axes reversed": Case(lambda t, f, x: t.permute(x, (2, 1, 0)) * 2.0, (_TOKENS,)),
    "cat of rows": Case(lambda t, f, x, y: t.cat((x, y), 0), (_ROWS, _ROWS)),
    "cat of columns": Case(lambda t, f, x, y: t.cat((x, y), 1), (_ROWS, _ROWS)),
    "cat of channels": Case(lambda t, f, x, y: t.cat((x, y), 1), (_IMAGES, _IMAGES)),
    "stack": Case(lambda t, f, x, y: t.stack((x, y), -1), (_ROWS, _ROWS)),
    "flip": Case(lambda t, f, x: t.flip(x, (1,)), (_ROWS,)),
    "roll": Case(lambda t, f, x: t.roll(x, 5, 1), (_ROWS,)),
    "tile": Case(lambda t, f, x: t.tile(x, (2, 2)), (_ROWS,)),
    "repeat_interleave": Case(lambda t, f, x: t.repeat_interleave(x, 2, 1), (_ROWS,)),
    "every second column": Case(lambda t, f, x: x[:, ::2] * 2.0, (_ROWS,)),
    "a window of columns": Case(lambda t, f, x: x[:, 100:900] * 2.0, (_ROWS,)),
    "tril": Case(lambda t, f, x: t.tril(x), ((1024, 1024),)),
    "pad": Case(lambda t, f, x: f.pad(x, (1, 1, 1, 1)), (_IMAGES,)),
    "pad, reflected": Case(lambda t, f, x: f.pad(x, (2, 2, 2, 2), mode="reflect"), (_IMAGES,)),
    "pixel_shuffle": Case(lambda t, f, x: f.pixel_shuffle(x, 2), (_IMAGES,)),
    "unfold": Case(lambda t, f, x: f.unfold(x, (3, 3), padding=1), ((4, 16, 56, 56),)),
    "unfold, windows side by side": Case(lambda t, f, x: f.unfold(x, (2, 2), stride=2), (_IMAGES,)),
    "fold": Case(lambda t, f, x: f.fold(x, (56, 56), (3, 3), padding=1), ((4, 144, 3136),)),
    "index_select of rows": Case(lambda t, f, x, i: t.index_select(x, 0, i), (_ROWS, (2000,)), {1: 512}),
    "index_select of columns": Case(lambda t, f, x, i: t.index_select(x, 1, i), (_ROWS, (700,)), {1: 1024}),
    "gather": Case(lambda t, f, x, i: t.gather(x, 1, i), (_ROWS, (512, 300)), {1: 1024}),
    "rows by index": Case(lambda t, f, x, i: x[i], (_ROWS, (2000,)), {1: 512}),
    "scatter_add": Case(lambda t, f, x, i, y: t.scatter_add(x, 1, i, y), (_ROWS, (512, 300), (512, 300)), {1: 1024}),
    "index_add": Case(lambda t, f, x, i, y: t.index_add(x, 0, i, y), (_ROWS, (2000,), (2000, 1024)), {1: 512}),
    "embedding": Case(lambda t, f, i, w: f.embedding(i, w), ((32, 128), (5000, 256)), {0: 5000}),
    "one_hot": Case(lambda t, f, i: f.one_hot(i, 1000), ((2048,),), {0: 1000}, gradients=False),
    "sort": Case(lambda t, f, x: t.sort(x, dim=1)[0], (_ROWS,)),
    "argsort of columns": Case(lambda t, f, x: t.argsort(x, 0), (_ROWS,), gradients=False),
    "topk": Case(lambda t, f, x: t.topk(x, 10, 1)[0], (_ROWS,)),
    "median of rows": Case(lambda t, f, x: t.median(x, 1)[0], (_ROWS,)),
    "searchsorted": Case(
        lambda t, f, x, y: t.searchsorted(t.cumsum(t.abs(x), 0), y * 100), ((10000,), (50000,)), gradients=False
    ),
    "split": Case(lambda t, f, x: t.split(x, 256, 1)[1] * 2.0, (_ROWS,)),
    "chunk and product": Case(lambda t, f, x: t.chunk(x, 2, 1)[0] * t.chunk(x, 2, 1)[1], (_ROWS,)),
    "unbind": Case(lambda t, f, x: t.unbind(x, 1)[3] + 1.0, (_TOKENS,)),
    "broadcast_to": Case(lambda t, f, x: t.broadcast_to(x, (512, 1024)) * 2.0, ((512, 1),)),
    "stack of the first": Case(lambda t, f, x, y: t.stack((x, y), 0), (_ROWS, _ROWS)),
    "rotated halves": Case(lambda t, f, x, c: x * c + t.cat((-x[..., 32:], x[..., :32]), -1) * c, ((8, 8, 128, 64), (128, 64))),
    "triu": Case(lambda t, f, x: t.triu(x, 1), ((8, 256, 256),)),
    "meshed": Case(lambda t, f, x, y: t.meshgrid(x, y, indexing="ij")[0] * 1.0, ((1000,), (1000,))),
    "shuffled channels": Case(
        lambda t, f, x: t.reshape(t.permute(t.reshape(x, (16, 4, 8, 56, 56)), (0, 2, 1, 3, 4)), (16, 32, 56, 56)) * 1.0,
        (_IMAGES,),
    ),
    "windows": Case(lambda t, f, x: t.permute(t.reshape(x, (16, 8, 7, 8, 7, 32)), (0, 1, 3, 2, 4, 5)) * 1.0, ((16, 56, 56, 32),)),
    "scatter": Case(lambda t, f, x, i, y: t.scatter(x, 1, i, y), (_ROWS, (512, 300), (512, 300)), {1: 1024}, False),
    "gather of rows": Case(lambda t, f, x, i: t.gather(x, 0, i), (_ROWS, (300, 1024)), {1: 512}),
    "embedding, wide": Case(lambda t, f, i, w: f.embedding(i, w), ((64, 64), (20000, 512)), {0: 20000}),
    "constant pad of columns": Case(lambda t, f, x: f.pad(x, (3, 0)), (_TOKENS,)),
    "pad, replicated": Case(lambda t, f, x: f.pad(x, (1, 1, 1, 1), mode="replicate"), (_IMAGES,)),
    "sort of short rows": Case(lambda t, f, x: t.sort(x, dim=1)[0], ((10000, 30),)),
    "topk of gates": Case(lambda t, f, x: t.topk(x, 2, 1)[0], ((8192, 16),)),
    "topk of words": Case(lambda t, f, x: t.topk(x, 50, 1)[0], ((16, 50257),)),
    "topk of 100": Case(lambda t, f, x: t.topk(x, 100, 1)[0], ((64, 20000),)),
    "median of long rows": Case(lambda t, f, x: t.median(x, 1)[0], ((64, 20000),)),
    "bmm of few rows": Case(lambda t, f, x, y: t.bmm(x, y), ((50, 3, 2), (50, 2, 2000))),
    "cholesky": Case(
        lambda t, f, x: (t.matmul(x, t.permute(x, (1, 0))) + 300.0 * t.eye(300)).cholesky(), ((300, 300),)
    ),
    "inverse of many rows": Case(lambda t, f, x: t.inverse(x + 3.0 * t.eye(300)), ((300, 300),)),
    "inverse of small matrices": Case(lambda t, f, x: t.inverse(x + 3.0 * t.eye(4)), ((10000, 4, 4),)),
    "det of small matrices": Case(lambda t, f, x: (x + 3.0 * t.eye(4)).det(), ((10000, 4, 4),)),
    "solve": Case(lambda t, f, x, y: _solve(t, x + 3.0 * t.eye(64), y), ((32, 64, 64), (32, 64, 8))),
    "mean of the chosen": Case(lambda t, f, x: x[x > 0].mean(), (_ROWS,)),
    "mean of chosen rows": Case(lambda t, f, x: x[x[:, 0] > 0].mean(0), ((8192, 128),)),
    "places of the chosen": Case(lambda t, f, x: t.nonzero(x > 0), (_ROWS,), gradients=False),
    "distinct numbers": Case(lambda t, f, x: t.unique(t.floor(x * 1000)), ((100000,),), gradients=False),
    "rfft2": Case(lambda t, f, x: t.abs(_transformed(t, "rfft2", x)), ((16, 3, 64, 64),)),
    "rfft of rows": Case(lambda t, f, x: _transformed(t, "rfft", x), ((64, 1024),), gradients=False),
    "rfft of long rows": Case(lambda t, f, x: _transformed(t, "rfft", x), ((8, 8192),), gradients=False),
    "fft of rows": Case(lambda t, f, x: _transformed(t, "fft", x), ((64, 1024),), gradients=False),
    "rfft of odd rows": Case(lambda t, f, x: t.abs(_transformed(t, "rfft", x)), ((64, 729),)),
    "sort of one row": Case(lambda t, f, x: t.sort(x)[0], ((200000,),)),
    # Layers.
    "softmax of short rows": Case(lambda t, f, x: f.softmax(x, -1), ((8, 8, 256, 64),)),
    "softmax of rows": Case(lambda t, f, x: f.softmax(x, -1), (_ROWS,)),
    "softmax of long rows": Case(lambda t, f, x: f.softmax(x, -1), ((16, 50257),)),
    "softmax of channels": Case(lambda t, f, x: f.softmax(x, 1), (_IMAGES,)),
    "log_softmax": Case(lambda t, f, x: f.log_softmax(x, -1), (_ROWS,)),
    "cross_entropy, 1000 classes": Case(lambda t, f, x, i: f.cross_entropy(x, i), ((512, 1000), (512,)), {1: 1000}),
    "cross_entropy, 50257 classes": Case(lambda t, f, x, i: f.cross_entropy(x, i), ((64, 50257), (64,)), {1: 50257}),
    "cross_entropy of pixels": Case(lambda t, f, x, i: f.cross_entropy(x, i), ((4, 21, 64, 64), (4, 64, 64)), {1: 21}),
    "bce with logits": Case(lambda t, f, x, y: f.binary_cross_entropy_with_logits(x, t.sigmoid(y)), (_ROWS, _ROWS)),
    "mse_loss": Case(lambda t, f, x, y: f.mse_loss(x, y), (_ROWS, _ROWS)),
    "smooth_l1_loss": Case(lambda t, f, x, y: f.smooth_l1_loss(x, y), (_ROWS, _ROWS)),
    "kl_div": Case(lambda t, f, x, y: f.kl_div(x, f.softmax(y, -1), reduction="batchmean"), (_ROWS, _ROWS)),
    "layer_norm 512": Case(lambda t, f, x, w, b: f.layer_norm(x, (512,), w, b), (_TOKENS, (512,), (512,))),
    "layer_norm 48": Case(lambda t, f, x, w, b: f.layer_norm(x, (48,), w, b), ((8, 1000, 48), (48,), (48,))),
    "group_norm": Case(lambda t, f, x, w, b: f.group_norm(x, 8, w, b), (_IMAGES, (32,), (32,))),
    "batch_norm": Case(lambda t, f, x, w, b: f.batch_norm(x, None, None, w, b, True), (_IMAGES, (32,), (32,))),
    "normalize": Case(lambda t, f, x: f.normalize(x, dim=1), (_ROWS,)),
    "max_pool2d 2": Case(lambda t, f, x: f.max_pool2d(x, 2), (_IMAGES,)),
    "max_pool2d 3, stride 2": Case(lambda t, f, x: f.max_pool2d(x, 3, 2, 1), (_IMAGES,)),
    "max_pool2d 5, stride 1": Case(lambda t, f, x: f.max_pool2d(x, 5, 1, 2), (_IMAGES,)),
    "avg_pool2d 2": Case(lambda t, f, x: f.avg_pool2d(x, 2), (_IMAGES,)),
    "avg_pool2d 3, stride 1": Case(lambda t, f, x: f.avg_pool2d(x, 3, 1, 1), (_IMAGES,)),
    "adaptive_avg_pool2d 7": Case(lambda t, f, x: f.adaptive_avg_pool2d(x, (7, 7)), (_IMAGES,)),
    "adaptive_avg_pool2d 1": Case(lambda t, f, x: f.adaptive_avg_pool2d(x, (1, 1)), (_IMAGES,)),
    "avg_pool1d": Case(lambda t, f, x: f.avg_pool1d(x, 3, 2, 1), ((16, 64, 1000),)),
    "upsample nearest": Case(lambda t, f, x: f.interpolate(x, scale_factor=2.0, mode="nearest"), ((8, 32, 28, 28),)),
    "upsample bilinear": Case(
        lambda t, f, x: f.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=False), ((8, 32, 28, 28),)
    ),
    "grid_sample": Case(
        lambda t, f, x, g: f.grid_sample(x, t.tanh(g), align_corners=False), ((4, 16, 64, 64), (4, 64, 64, 2))
    ),
    "glu": Case(lambda t, f, x: f.glu(x), (_TOKENS,)),
    "dropout": Case(lambda t, f, x: f.dropout(x, 0.3), (_TOKENS,)),
    "softmax of attention": Case(lambda t, f, x, m: f.softmax(x * 0.1 + m, -1), ((4, 8, 196, 196), (196, 196))),
    "softmax of ten": Case(lambda t, f, x: f.softmax(x, -1), ((20000, 10),)),
    "log_softmax of ten": Case(lambda t, f, x: f.log_softmax(x, -1), ((20000, 10),)),
    "cross_entropy of ten": Case(lambda t, f, x, i: f.cross_entropy(x, i), ((20000, 10), (20000,)), {1: 10}),
    "smoothed cross_entropy": Case(
        lambda t, f, x, i: f.cross_entropy(x, i, label_smoothing=0.1), ((512, 1000), (512,)), {1: 1000}
    ),
    "nll_loss": Case(lambda t, f, x, i: f.nll_loss(x, i), ((512, 1000), (512,)), {1: 1000}),
    "l1_loss": Case(lambda t, f, x, y: f.l1_loss(x, y), (_ROWS, _ROWS)),
    "layer_norm of images": Case(
        lambda t, f, x, w, b: f.layer_norm(x, (32, 56, 56), w, b), (_IMAGES, (32, 56, 56), (32, 56, 56))
    ),
    "layer_norm 4096": Case(lambda t, f, x, w, b: f.layer_norm(x, (4096,), w, b), ((256, 4096), (4096,), (4096,))),
    "rms norm": Case(lambda t, f, x, w: x * t.rsqrt(t.mean(x * x, -1, keepdim=True) + 1e-6) * w, (_TOKENS, (512,))),
    "group_norm of one": Case(lambda t, f, x, w, b: f.group_norm(x, 1, w, b), (_IMAGES, (32,), (32,))),
    "batch_norm of rows": Case(lambda t, f, x, w, b: f.batch_norm(x, None, None, w, b, True), (_ROWS, (1024,), (1024,))),
    "batch_norm of sequences": Case(lambda t, f, x, w, b: f.batch_norm(x, None, None, w, b, True), ((16, 64, 500), (64,), (64,))),
    "batch_norm, predicting": Case(
        lambda t, f, x, m, v, w, b: f.batch_norm(x, m, t.abs(v) + 1.0, w, b, False),
        (_IMAGES, (32,), (32,), (32,), (32,)),
        gradients=False,
    ),
    "avg_pool3d": Case(lambda t, f, x: f.avg_pool3d(x, 2), ((4, 16, 16, 28, 28),)),
    "adaptive_max_pool2d": Case(lambda t, f, x: f.adaptive_max_pool2d(x, 7), (_IMAGES,)),
    "adaptive_avg_pool1d": Case(lambda t, f, x: f.adaptive_avg_pool1d(x, 10), ((16, 64, 500),)),
    "upsample bicubic": Case(
        lambda t, f, x: f.interpolate(x, scale_factor=2.0, mode="bicubic", align_corners=False), ((4, 16, 28, 28),)
    ),
    "upsample linear": Case(
        lambda t, f, x: f.interpolate(x, scale_factor=2.0, mode="linear", align_corners=False), ((16, 64, 250),)
    ),
    "downsample bilinear": Case(
        lambda t, f, x: f.interpolate(x, size=(20, 20), mode="bilinear", align_corners=False), ((8, 32, 56, 56),)
    ),
    "dropout2d": Case(lambda t, f, x: f.dropout2d(x, 0.3), (_IMAGES,)),
    # Products.
    "linear": Case(lambda t, f, x, w, b: f.linear(x, w, b), ((300, 300), (500, 300), (500,))),
    "matmul of odd sizes": Case(lambda t, f, x, y: t.matmul(x, y), ((333, 217), (217, 401))),
    "bmm": Case(lambda t, f, x, y: t.bmm(x, y), ((32, 100, 50), (32, 50, 70))),
    "small bmm": Case(lambda t, f, x, y: t.bmm(x, y), ((2000, 8, 8), (2000, 8, 8))),
    "mv": Case(lambda t, f, x, y: t.mv(x, y), ((2000, 1000), (1000,))),
    "outer": Case(lambda t, f, x, y: t.outer(x, y), ((1000,), (1000,))),
    "einsum bhid,bhjd": Case(lambda t, f, x, y: t.einsum("bhid,bhjd->bhij", x, y), ((4, 8, 128, 32), (4, 8, 128, 32))),
    "einsum bij,kj": Case(lambda t, f, x, y: t.einsum("bij,kj->bik", x, y), ((8, 100, 64), (96, 64))),
    "addmm": Case(lambda t, f, b, x, y: t.addmm(b, x, y), ((256, 300), (256, 200), (200, 300))),
    "linear of one": Case(lambda t, f, x, w, b: f.linear(x, w, b), ((1, 1000), (1000, 1000), (1000,))),
    "linear of tokens": Case(lambda t, f, x, w, b: f.linear(x, w, b), ((8, 100, 96), (384, 96), (384,))),
    "linear to one": Case(lambda t, f, x, w, b: f.linear(x, w, b), ((4096, 256), (1, 256), (1,))),
    "linear from three": Case(lambda t, f, x, w, b: f.linear(x, w, b), ((20000, 3), (64, 3), (64,))),
    "matmul of two terms": Case(lambda t, f, x, y: t.matmul(x, y), ((1024, 2), (2, 1024))),
    "linear from two": Case(lambda t, f, x, w, b: f.linear(x, w, b), ((4096, 2), (512, 2), (512,))),
    "matmul with a batch": Case(lambda t, f, x, y: t.matmul(x, y), ((16, 1, 50, 60), (8, 60, 70))),
    "vectors": Case(lambda t, f, x, y: t.dot(x, y), (_FLAT, _FLAT)),
    "einsum bilinear": Case(lambda t, f, x, y, z: t.einsum("bi,oij,bj->bo", x, y, z), ((64, 40), (50, 40, 40), (64, 40))),
    "einsum of outer products": Case(lambda t, f, x, y: t.einsum("bi,bj->bij", x, y), ((256, 64), (256, 64))),
    "gram": Case(lambda t, f, x: t.matmul(x, t.permute(x, (1, 0))), ((300, 200),)),
    "baddbmm": Case(lambda t, f, b, x, y: t.baddbmm(b, x, y), ((32, 50, 60), (32, 50, 40), (32, 40, 60))),
    "attention": Case(
        lambda t, f, q, k, v: t.matmul(f.softmax(t.matmul(q, t.permute(k, (0, 1, 3, 2))) * 0.2, -1), v),
        ((4, 4, 197, 32),) * 3,
    ),
    "inverse": Case(lambda t, f, x: t.inverse(x * 0.02 + t.eye(64)), ((16, 64, 64),)),
    "cdist": Case(lambda t, f, x, y: t.cdist(x, y), ((300, 64), (400, 64))),
}  # fmt: skip


def arrays(case: Case) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [
        rng.integers(0, case.below[k], shape) if k in case.below else rng.standard_normal(shape, np.float32)
        for k, shape in enumerate(case.shapes)
    ]


def with_graphc(case: Case, dtype: str) -> Runs:
    import graphc
    from graphc import Tensor, mint, nn

    def placed(x: np.ndarray) -> Tensor:
        return Tensor(x) if x.dtype.kind == "i" else Tensor(x).astype(getattr(graphc, dtype))

    class Forward(nn.Cell):
        def construct(self, *x: Any) -> Any:
            return case.called(mint, mint.nn.functional, *x)

    x = list(map(placed, arrays(case)))
    forward = graphc.compile(Forward(), *x)
    if not case.gradients:
        return lambda: forward(*x), None
    made = forward(*x)
    dy = Tensor(np.ones(made.shape, np.float32)).astype(made.dtype)
    both = graphc.compile(with_gradients(Forward()), *x, dy)
    return lambda: forward(*x), lambda: both(*x, dy)


def with_torch(case: Case, dtype: str) -> Runs:
    import torch

    if "OMP_NUM_THREADS" in os.environ:
        torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    x = [t if t.dtype == torch.int64 else t.to(getattr(torch, dtype)) for t in map(torch.from_numpy, arrays(case))]

    def call() -> Any:
        return case.called(torch, torch.nn.functional, *x)

    def forward() -> None:
        with torch.no_grad():
            call().contiguous()

    if not case.gradients:
        return forward, None
    dy = torch.ones_like(call()).contiguous()
    for k, t in enumerate(x):
        t.requires_grad_(k not in case.below)

    def both() -> None:
        for t in x:
            t.grad = None
        call().contiguous().backward(dy)

    return forward, both


def main() -> None:
    make, seconds = {"graphc": with_graphc, "torch": with_torch}[sys.argv[1]], float(sys.argv[2])
    for line in sys.stdin:
        forward, both = make(CASES[json.loads(line)["case"]], sys.argv[3])
        times = {"forward": median(forward, seconds), "both": None if both is None else median(both, seconds)}
        print(json.dumps(times), flush=True)


if __name__ == "__main__":
    main()
