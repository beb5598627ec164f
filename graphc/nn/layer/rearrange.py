"""Layers that rearrange elements: other axes, other sizes, another order of channels."""

from __future__ import annotations

from typing import Any

from graphc import ops
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.ops.functional.patches import patches
from graphc.ops.functional.resizing import MODES
from graphc.ops.tensor.tensor import Tensor, as_tensor
from graphc.validation.unused_arguments import only


class Flatten(Cell):
    """The axes start_dim to end_dim as one (MindSpore: nn.Flatten); by default all but the first."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        for name, value in (("start_dim", start_dim), ("end_dim", end_dim)):
            if not checks.is_int(value):
                raise checks.wrong_type("Flatten", name, "an int", value)
        self.start_dim, self.end_dim = int(start_dim), int(end_dim)

    def construct(self, x: Any) -> Tensor:
        return ops.flatten(x, start_dim=self.start_dim, end_dim=self.end_dim)

    def extend_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Cell):
    """An axis as several, of the sizes unflattened_size (MindSpore: nn.Unflatten)."""

    def __init__(self, axis: int, unflattened_size: Any) -> None:
        super().__init__()
        if not checks.is_int(axis):
            raise checks.wrong_type("Unflatten", "axis", "an int", axis)
        if not isinstance(unflattened_size, (tuple, list)):
            raise checks.wrong_type("Unflatten", "unflattened_size", "a tuple or list", unflattened_size)
        self.axis, self.unflattened_size = axis, tuple(unflattened_size)

    def construct(self, input_x: Any) -> Tensor:
        x = as_tensor(input_x, "Unflatten: input_x")
        at = self.axis % x.ndim
        return ops.reshape(x, (*x.shape[:at], *self.unflattened_size, *x.shape[at + 1 :]))


class PixelShuffle(Cell):
    """Channels as blocks of upscale_factor x upscale_factor pixels (Shi et al., 2016; MindSpore: nn.PixelShuffle)."""

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = checks.integer("PixelShuffle", "upscale_factor", upscale_factor)

    def construct(self, input: Any) -> Tensor:
        return ops.pixel_shuffle(input, self.upscale_factor)


class PixelUnshuffle(Cell):
    """Blocks of downscale_factor x downscale_factor pixels as channels (MindSpore: nn.PixelUnshuffle)."""

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = checks.integer("PixelUnshuffle", "downscale_factor", downscale_factor)

    def construct(self, input: Any) -> Tensor:
        return ops.pixel_unshuffle(input, self.downscale_factor)


class ChannelShuffle(Cell):
    """The channels of each of the groups, one of each group in turn (Zhang et al., 2018; MindSpore: nn.ChannelShuffle)."""

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = checks.integer("ChannelShuffle", "groups", groups)

    def construct(self, x: Any) -> Tensor:
        return ops.channel_shuffle(as_tensor(x, "ChannelShuffle: x"), self.groups)


class Unfold(Cell):
    """The windows of [N, C, H, W], each a vector at its place: [N, kh kw C, rows, columns] (MindSpore: nn.Unfold).

    ksizes, strides, rates: [1, vertical, horizontal, 1], the window, its step and the step between its taps. padding: "valid", or
    "same", which pads by zeros. The vector has the channels of the first tap first.
    """

    def __init__(self, ksizes: Any, strides: Any, rates: Any, padding: str = "valid") -> None:
        super().__init__()
        self.ksizes, self.strides = self._pair("ksizes", ksizes), self._pair("strides", strides)
        self.rates = self._pair("rates", rates)
        self.padding = checks.one_of("Unfold", "padding", padding, ("same", "valid"))

    def _pair(self, name: str, value: Any) -> tuple[int, int]:
        if not isinstance(value, (tuple, list)):
            raise checks.wrong_type("Unfold", name, "a tuple or list", value)
        if len(value) != 4 or (value[0], value[3]) != (1, 1):
            raise checks.wrong_value("Unfold", name, "[1, vertical, horizontal, 1]", value)
        return checks.pair("Unfold", name, tuple(value[1:3]))

    def construct(self, input_x: Any) -> Tensor:
        x = as_tensor(input_x, "Unfold: input_x")
        return patches("Unfold", x, self.ksizes, self.strides, self.rates, self.padding)


class Upsample(Cell):
    """Sequences, images and volumes in another size, as `ops.interpolate` (MindSpore: nn.Upsample)."""

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.size, self.scale_factor = size, scale_factor
        self.mode = checks.one_of("Upsample", "mode", mode, tuple(MODES))
        if not MODES[self.mode][1]:
            only("Upsample", "align_corners", align_corners, None)
        self.align_corners, self.recompute_scale_factor = align_corners, recompute_scale_factor

    def construct(self, x: Any) -> Tensor:
        return ops.interpolate(
            x, self.size, self.scale_factor, self.mode, self.align_corners, self.recompute_scale_factor
        )


__all__ = ["ChannelShuffle", "Flatten", "PixelShuffle", "PixelUnshuffle", "Unflatten", "Unfold", "Upsample"]
