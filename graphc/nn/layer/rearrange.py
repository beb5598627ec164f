"""Layers that rearrange elements: other axes, other sizes, another order of channels."""

from __future__ import annotations

from typing import Any

from graphc import ops
from graphc.arguments import only
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.ops.tensor.tensor import Tensor, as_tensor


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
        x = as_tensor(x, "ChannelShuffle: x")
        n, channels, *rest = x.shape
        if channels % self.groups:
            raise checks.wrong_value("ChannelShuffle", "groups", f"a divisor of {channels} channels", self.groups)
        parts = ops.reshape(x, (n, self.groups, channels // self.groups, *rest))
        return ops.reshape(ops.swapaxes(parts, 1, 2), x.shape)


class Upsample(Cell):
    """Images [N, C, H, W] in another size, by nearest neighbours (MindSpore: nn.Upsample; other modes are refused)."""

    def __init__(
        self,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        only("Upsample", "align_corners", align_corners, None)
        only("Upsample", "recompute_scale_factor", recompute_scale_factor, None, False)
        self.size, self.scale_factor = size, scale_factor
        self.mode = checks.one_of("Upsample", "mode", mode, ("nearest",))

    def construct(self, x: Any) -> Tensor:
        return ops.interpolate(x, self.size, self.scale_factor, self.mode)


__all__ = ["ChannelShuffle", "Flatten", "PixelShuffle", "PixelUnshuffle", "Unflatten", "Upsample"]
