"""Sizes of windows are sizes of windows, in every function that takes some: strides, paddings, dilations and their like."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest

import graphc.mint
from graphc import GraphcError, InternalError, Tensor, ops

x = Tensor(np.ones(3, np.float32))

#: What tells where windows lie: nothing below `least`, no fractions, one for every axis or one each.
WINDOWS = {
    **dict.fromkeys(
        ["kernel_size", "dilation", "block_size", "block_shape", "upscale_factor", "downscale_factor", "groups"], 1
    ),
    **dict.fromkeys(["stride", "padding", "pads", "output_padding", "output_size"], 0),
}
NO_SIZES = [-1, (-1,) * 2, 2.5, np.float32(2), (2.5,), "a", ((1,),), (1, 2, 3, 4, 5, 6, 7)]
#: Their images are not what follows from the name.
OTHER_OPERANDS = {
    "fold": {"input": (1, 16, 49), "output_size": (8, 8)},
    "col2im": {"input_x": (1, 4, 4, 49), "output_size": (8, 8), "dilation": 1, "stride": 1, "padding_value": 0},
    "space_to_batch_nd": {"paddings": ((0, 0), (0, 0))},
    "batch_to_space_nd": {"input_x": (4, 4, 8, 8), "crops": ((0, 0), (0, 0))},
    "lp_pool1d": {"norm_type": 2},
    "lp_pool2d": {"norm_type": 2},
    "fractional_max_pool2d": {"output_size": 3},
    "fractional_max_pool3d": {"output_size": 3},
    "conv3d_transpose": {"inputs": (1, 4, 8, 8, 8)},
}


def windowed():
    """Functions over windows by name, with operands that they take and those of their arguments that WINDOWS names."""
    for owner in (ops, graphc.mint.nn.functional):
        for name in owner.__all__:
            function = getattr(owner, name)
            parameters = inspect.signature(function).parameters if inspect.isfunction(function) else {}
            named = [p for p in parameters if p in WINDOWS]
            if named:
                axes = next((int(n) for n in "123" if f"{n}d" in name), 2)
                given = {p: 2 for p in named if parameters[p].default is inspect.Parameter.empty}
                shapes = {
                    "weight": (4, 4, *[3] * axes),
                    **dict.fromkeys(("input", "x", "input_x"), (1, 4, *[8] * axes)),
                }
                given |= {p: shapes[p] for p in parameters if p in shapes} | OTHER_OPERANDS.get(name, {})
                for p in {"input", "x", "input_x", "inputs", "weight"} & given.keys():
                    given[p] = Tensor(np.ones(given[p], np.float32))
                if "indices" in parameters:
                    places = np.arange(8**axes).reshape(1, 1, *[8] * axes)
                    given["indices"] = Tensor(np.broadcast_to(places, (1, 4, *[8] * axes)).copy())
                yield name, function, given, named


def test_sizes_of_windows_are_sizes_of_windows():
    wrong, tried = {}, set()
    for name, function, given, named in windowed():
        try:
            function(**given)
        except GraphcError:
            continue
        tried.add(name)
        for parameter in named:
            for value in (*NO_SIZES, *([0, (0, 0)] if WINDOWS[parameter] else [])):
                try:
                    made = function(**given | {parameter: value})
                    wrong[f"{name} {parameter}={value!r}"] = made
                except GraphcError as error:
                    # Not the message of an op inside, whose name begins with a capital.
                    if isinstance(error, InternalError) or not re.match(r"\[GC1\d\d\] [a-z]", str(error)):
                        wrong[f"{name} {parameter}={value!r}"] = str(error).partition("\n")[0]
    assert not wrong
    assert {"unfold", "fold", "col2im", "conv2d", "conv3d", "avg_pool1d", "max_pool3d", "pixel_shuffle"} <= tried
    assert len(tried) > 25


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"padding": (1, 2, 0, 1)}, ValueError, "unfold: padding must be an int or 2 of them"),
        ({"kernel_size": (2, 2, 2)}, ValueError, "unfold: kernel_size must be an int or 2 of them"),
        ({"dilation": 0}, ValueError, "unfold: dilation must be an int or 2 of them, at least 1"),
        ({"kernel_size": (6, 2)}, ValueError, "unfold: the window does not fit"),
        ({"input": x}, ValueError, r"unfold: the input is f32\[3\], expected \[N, C, H, W\]"),
    ],
)
def test_windows_that_mindspore_refuses(given, error, message):
    image = Tensor(np.ones((1, 2, 5, 5), np.float32))
    with pytest.raises(error, match=message):
        ops.unfold(**{"input": image, "kernel_size": 2, **given})
