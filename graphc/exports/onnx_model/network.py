"""Rules of convolutions and pooling, and of their gradients, which ONNX has no operators for."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from graphc.exports.onnx_model.table import rule
from graphc.exports.onnx_model.writer import View, Writer
from graphc.ir import TensorType


def _edges(pad: Sequence[int]) -> list[int]:
    """(top, bottom, left, right) as ONNX has it: before every axis, then behind."""
    top, bottom, left, right = pad
    return [top, left, bottom, right]


def _groups(n: View) -> dict[str, int]:
    """The attribute of a convolution of channels in groups."""
    groups = n.node.attrs.get("groups", 1)
    return {"group": groups} if groups > 1 else {}


@rule("Conv2D", "GroupedConv2D")
def _conv(w: Writer, n: View, x: str, weight: str) -> str:
    attrs = {"pads": _edges(n["pad"]), "strides": list(n["stride"]), "dilations": list(n["dilation"])}
    return w("Conv", x, weight, **attrs, **_groups(n))


@rule("Conv2DBackpropInput", "GroupedConv2DBackpropInput")
def _conv_input(w: Writer, n: View, dy: str, weight: str) -> str:
    """The transposed convolution with the weight as it is."""
    covered = _covered(n.types[0].shape[2:], n.types[1].shape[2:], n["stride"], n["dilation"], n["pad"])
    missing = [whole - c for whole, c in zip(n["shape"][2:], covered, strict=True)]
    attrs = {"pads": _edges(n["pad"]), "strides": list(n["stride"]), "dilations": list(n["dilation"])}
    return w("ConvTranspose", dy, weight, output_padding=missing, **attrs, **_groups(n))


def _covered(
    out: Sequence[int], kernel: Sequence[int], stride: Sequence[int], dilation: Sequence[int], pad: Sequence[int]
) -> list[int]:
    """The length of a plane's axes that windows reach: rows behind it are read by none."""
    return [
        (o - 1) * s + (k - 1) * d + 1 - sum(edges)
        for o, k, s, d, edges in zip(out, kernel, stride, dilation, (pad[:2], pad[2:]), strict=True)
    ]


@rule("Conv2DBackpropFilter", "GroupedConv2DBackpropFilter")
def _conv_filter(w: Writer, n: View, dy: str, x: str) -> str:
    """A convolution over the batch: images and channels change places, so do strides and dilations."""
    groups, (count, channels, *plane) = n.node.attrs.get("groups", 1), n.types[1].shape
    planes = w("Transpose", dy, perm=[1, 0, 2, 3])
    if groups == 1:
        images = w("Transpose", x, perm=[1, 0, 2, 3])
    else:
        # To [channels of a group, group and image, ...].
        apart = w.reshape(x, (count, groups, channels // groups, *plane))
        images = w.reshape(w("Transpose", apart, perm=[2, 1, 0, 3, 4]), (channels // groups, groups * count, *plane))
    attrs = {"pads": _edges(n["pad"]), "strides": list(n["dilation"]), "dilations": list(n["stride"])}
    made = w("Conv", images, planes, **attrs, **_groups(n))
    kh, kw = n["shape"][2:]
    made = w("Slice", made, w.ints(0, 0), w.ints(kh, kw), w.ints(2, 3))
    return w("Transpose", made, perm=[1, 0, 2, 3])


@rule("MaxPool")
def _max_pool(w: Writer, n: View, x: str) -> str:
    return w("MaxPool", x, **_window(n))


def _window(n: View) -> dict[str, list[int]]:
    return {"kernel_shape": list(n["kernel"]), "strides": list(n["stride"]), "pads": _edges(n["pad"])}


@rule("MaxPoolGrad")
def _max_pool_grad(w: Writer, n: View, x: str, dy: str) -> str:
    """The second result of MaxPool says where in x each maximum stands."""
    half = n.dtype == "float16"
    _, places = w.nodes("MaxPool", [w.cast(x, "float32") if half else x], 2, **_window(n))
    zeros = w.filled(0, TensorType("float32" if half else n.dtype, (math.prod(n.types[0].shape),)))
    given = w.reshape(w.cast(dy, "float32") if half else dy, (-1,))
    flat = w("ScatterElements", zeros, w.reshape(places, (-1,)), given, reduction="add")
    made = w.reshape(flat, n.types[0].shape)
    return w.cast(made, "float16") if half else made


@rule("AvgPool")
def _avg_pool(w: Writer, n: View, x: str) -> str:
    return w("AveragePool", x, count_include_pad=int(n["count_include_pad"]), **_window(n))


@rule("AvgPoolGrad")
def _avg_pool_grad(w: Writer, n: View, dy: str) -> str:
    """A transposed convolution of every plane with ones."""
    (count, channels, height, width), (kh, kw) = n["shape"], n["kernel"]
    shape = n.types[0].shape
    parts = w("Div", dy, w.array(_counts(n, (height, width), shape[2:])))
    planes = w.reshape(parts, (count * channels, 1, *shape[2:]))
    covered = _covered(shape[2:], (kh, kw), n["stride"], (1, 1), n["pad"])
    missing = [whole - c for whole, c in zip((height, width), covered, strict=True)]
    ones = w.array(np.ones((1, 1, kh, kw), n.dtype))
    attrs = {"pads": _edges(n["pad"]), "strides": list(n["stride"]), "output_padding": missing}
    return w.reshape(w("ConvTranspose", planes, ones, **attrs), n["shape"])


def _counts(n: View, plane: Sequence[int], out: Sequence[int]) -> np.ndarray[tuple[int, ...], np.dtype[np.generic]]:
    """How many pixels each window averages over."""
    (kh, kw), (sh, sw) = n["kernel"], n["stride"]
    if n["count_include_pad"]:
        return np.array(kh * kw, n.dtype)
    top, _, left, _ = n["pad"]
    rows, columns = (
        [min(i * s - first + k, whole) - max(i * s - first, 0) for i in range(count)]
        for s, first, k, whole, count in ((sh, top, kh, plane[0], out[0]), (sw, left, kw, plane[1], out[1]))
    )
    return np.outer(rows, columns).astype(n.dtype)
