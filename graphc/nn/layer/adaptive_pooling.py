"""Pooling to a given size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphc import ops
from graphc.errors import ShapeError, user_loc
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.ops.functional.adaptive_pooling import adaptive
from graphc.ops.tensor.tensor import Tensor, as_tensor


class _Adaptive(Cell):
    """Windows that divide the last axes into parts as equal as possible; None keeps a size."""

    _axes = 2

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        sizes = output_size if isinstance(output_size, tuple) else (output_size,) * self._axes
        owner = type(self).__name__
        if len(sizes) != self._axes:
            raise checks.wrong_value(owner, "output_size", f"an int or {self._axes}", output_size)
        self.output_size = tuple(
            None if s is None and self._axes > 1 else checks.integer(owner, "output_size", s) for s in sizes
        )

    def pooled(self, input: Any, reduce: Callable[[Tensor, int], Tensor]) -> Tensor:
        """The last axes reduced, one window after the other."""
        x = as_tensor(input, f"{type(self).__name__}: x")
        if x.ndim not in (self._axes + 1, self._axes + 2):
            raise ShapeError(
                f"{type(self).__name__}: x is {x.tensor_type}, which has another number of axes", loc=user_loc()
            )
        return adaptive(x, self.output_size, reduce)

    def extend_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool2d(_Adaptive):
    """Means of windows that divide H and W of [N, C, H, W] into output_size parts (MindSpore: nn.AdaptiveAvgPool2d)."""

    def construct(self, input: Any) -> Tensor:
        return self.pooled(input, ops.reduce_mean)


class AdaptiveMaxPool2d(_Adaptive):
    """Maxima of windows that divide H and W of [N, C, H, W] into output_size parts (MindSpore: nn.AdaptiveMaxPool2d).

    return_indices: also the int64 places of the maxima in the flattened plane.
    """

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = checks.boolean(type(self).__name__, "return_indices", return_indices)

    def construct(self, input: Any) -> Any:
        if self.return_indices:
            pool = ops.adaptive_max_pool2d if self._axes == 2 else ops.adaptive_max_pool3d
            return pool(input, self.output_size, True)
        return self.pooled(input, ops.reduce_max)


class AdaptiveAvgPool1d(AdaptiveAvgPool2d):
    """Means of windows that divide L of [N, C, L] into output_size parts (MindSpore: nn.AdaptiveAvgPool1d)."""

    _axes = 1


class AdaptiveMaxPool1d(_Adaptive):
    """Maxima of windows that divide L of [N, C, L] into output_size parts (MindSpore: nn.AdaptiveMaxPool1d)."""

    _axes = 1

    def construct(self, input: Any) -> Tensor:
        return self.pooled(input, ops.reduce_max)


class AdaptiveAvgPool3d(AdaptiveAvgPool2d):
    """Means of windows that divide D, H and W of [N, C, D, H, W] into output_size parts."""

    _axes = 3


class AdaptiveMaxPool3d(AdaptiveMaxPool2d):
    """Maxima of windows that divide D, H and W of [N, C, D, H, W] into output_size parts; places are int32."""

    _axes = 3


__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
]
