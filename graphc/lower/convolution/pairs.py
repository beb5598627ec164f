"""Direct convolutions that multiply pairs of bfloat16: two input channels at once.

Images and weights are copied so that the numbers of two channels lie side by side: images with their padding, split by phase.
"""

from __future__ import annotations

from graphc.ir import TensorType
from graphc.ir.lowering import CallBuilder, Geometry, Operand
from graphc.lower.convolution.sizes import Pair, Sizes


def convolve(k: CallBuilder, x: Operand, weight: Operand, out: Operand, z: Sizes, geometry: Geometry) -> None:
    """out = the convolution z of x."""
    (top, bottom, left, right), (sh, sw) = geometry.pad, geometry.stride
    phases = 1 if z.kh == 1 else sh, 1 if z.kw == 1 else sw
    plane = -(-(z.h + top + bottom) // sh), -(-(z.w + left + right) // sw)
    image = _images(k, x, z, plane, (top, left), geometry.stride, phases)
    border = {"border": (top, bottom)} if geometry.stride == (1, 1) and (top or bottom) else {}
    factor = _paired_weights(k, weight, z.groups * z.co, z.ci)
    steps = {"stride": phases, "dilation": geometry.dilation}
    _call(k, (image, factor), out, z, plane, {**steps, **border, "transposed": False})


def convolve_input(k: CallBuilder, dy: Operand, weight: Operand, dx: Operand, z: Sizes, dilation: Pair) -> None:
    """dx = the convolution z of dy with the flipped weight, without a stride."""
    plane = z.oh + (z.kh - 1) * dilation[0], z.ow + (z.kw - 1) * dilation[1]
    image = _images(k, dy, z, plane, (z.top, z.left), (1, 1), (1, 1))
    border = max(0, z.top), max(0, plane[0] - z.top - z.h)
    factor = _paired_weights(k, weight, z.groups, z.ci)
    steps = {"stride": (1, 1), "dilation": dilation, "border": border}
    _call(k, (image, factor), dx, z, plane, {**steps, "transposed": True})


def _call(
    k: CallBuilder, factors: tuple[Operand, Operand], out: Operand, z: Sizes, plane: Pair, steps: dict[str, object]
) -> None:
    sizes = {**z.padded_params(*plane), "ci": z.words}
    k.call("conv2d", factors, (out,), **sizes, **steps, pairs=True)


def _images(k: CallBuilder, x: Operand, z: Sizes, plane: Pair, before: Pair, stride: Pair, phases: Pair) -> Operand:
    """Pairs of channels of x after so many rows and columns of zeros: planes of its phases."""
    made = k.temp(TensorType("float32", (z.n * z.groups, z.words, *phases, *plane)))
    sizes = {"n": z.n * z.groups, "c": z.ci, "h": z.h, "w": z.w, "top": before[0], "left": before[1]}
    k.call("pair_channels", (x,), (made,), **sizes, ph=plane[0], pw=plane[1], stride=stride, phases=phases)
    return made


def _paired_weights(k: CallBuilder, weight: Operand, count: int, channels: int) -> Operand:
    """Pairs of the `channels` that are summed over, which `count` parts of the weight have each."""
    rest = weight.type.size // (count * channels)
    made = k.temp(TensorType("float32", (count, -(-channels // 2), rest)))
    sizes = {"n": count, "c": channels, "h": 1, "w": rest, "top": 0, "left": 0, "ph": 1, "pw": rest}
    k.call("pair_channels", (weight,), (made,), **sizes, stride=(1, 1), phases=(1, 1))
    return made
