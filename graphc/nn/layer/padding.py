"""Padding: more elements at the ends of axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphc.errors import ShapeError, user_loc
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.ops.functional.padding import bordered, continued
from graphc.ops.tensor.tensor import Tensor, as_tensor

Ends = Sequence[tuple[int, int]]


def padded(x: Tensor, ends: Ends, mode: str = "constant", value: float = 0.0) -> Tensor:
    """x with (before, after) elements more per axis: a constant, or what NumPy's pad gives for modes "reflect", "symmetric"
    and "edge". Negative numbers take elements away.
    """
    cut = tuple(slice(max(-a, 0), size - max(-b, 0)) for (a, b), size in zip(ends, x.shape, strict=True))
    if any(a < 0 or b < 0 for a, b in ends):
        x = x[cut]
    ends = [(max(a, 0), max(b, 0)) for a, b in ends]
    if mode == "constant":
        return bordered(x, ends, value)
    return continued(x, ends, mode)


class Pad(Cell):
    """x with more elements at the ends of its axes (MindSpore: nn.Pad).

    paddings: (before, after) for each axis of x. mode: "CONSTANT" (zeros), "REFLECT" (mirrored without the edge) or
    "SYMMETRIC" (with it). Raises ArgumentTypeError or ArgumentValueError; for x, ShapeError.
    """

    def __init__(self, paddings: Any, mode: str = "CONSTANT") -> None:
        super().__init__()
        if not isinstance(paddings, tuple):
            raise checks.wrong_type("Pad", "paddings", "a tuple of pairs", paddings)
        if any(not isinstance(p, (tuple, list)) or len(p) != 2 for p in paddings):
            raise checks.wrong_value("Pad", "paddings", "pairs (before, after)", paddings)
        self.paddings = tuple((int(a), int(b)) for a, b in paddings)
        self.mode = checks.one_of("Pad", "mode", mode, ("constant", "reflect", "symmetric"))

    def construct(self, x: Any) -> Tensor:
        x = as_tensor(x, "Pad: x")
        if x.ndim != len(self.paddings):
            raise ShapeError(f"Pad: paddings are for {len(self.paddings)} axes, x is {x.tensor_type}", loc=user_loc())
        return padded(x, self.paddings, self.mode)


class _EndPad(Cell):
    """Padding of the last axes: an int, or (left, right, top, bottom, ...) from the last axis on."""

    _axes = 1
    _mode = "constant"

    def __init__(self, padding: Any, value: float = 0.0) -> None:
        super().__init__()
        owner = type(self).__name__
        if checks.is_int(padding):
            padding = (padding,) * (2 * self._axes)
        if not isinstance(padding, tuple):
            raise checks.wrong_type(owner, "padding", "an int or a tuple", padding)
        if len(padding) not in range(2, 2 * self._axes + 1, 2):
            raise checks.wrong_value(owner, "padding", f"an int or {2 * self._axes} ints", padding)
        self.padding, self.value = padding, value

    def construct(self, x: Any) -> Tensor:
        x = as_tensor(x, f"{type(self).__name__}: x")
        pairs = list(zip(self.padding[::2], self.padding[1::2], strict=True))
        if x.ndim < len(pairs):
            raise ShapeError(f"{type(self).__name__}: x is {x.tensor_type}, which has too few axes", loc=user_loc())
        return padded(x, [(0, 0)] * (x.ndim - len(pairs)) + pairs[::-1], self._mode, self.value)

    def extend_repr(self) -> str:
        return f"padding={self.padding}"


class ConstantPad1d(_EndPad):
    """A constant at the ends of the last axis: padding is an int or (left, right)."""


class ConstantPad2d(_EndPad):
    """A constant around the last two axes: padding is an int or (left, right, top, bottom)."""

    _axes = 2


class ConstantPad3d(_EndPad):
    """A constant around the last three axes: padding is an int or (left, right, top, bottom, front, back)."""

    _axes = 3


class ZeroPad2d(_EndPad):
    """Zeros around the last two axes."""

    _axes = 2

    def __init__(self, padding: Any) -> None:
        super().__init__(padding)


class ReflectionPad1d(_EndPad):
    """The last axis mirrored at its ends, without the end itself."""

    _mode = "reflect"


class ReflectionPad2d(ReflectionPad1d):
    """The last two axes mirrored at their ends, without the ends themselves."""

    _axes = 2


class ReflectionPad3d(ReflectionPad1d):
    """The last three axes mirrored at their ends, without the ends themselves."""

    _axes = 3


class ReplicationPad1d(_EndPad):
    """The first and last element of the last axis repeated."""

    _mode = "edge"


class ReplicationPad2d(ReplicationPad1d):
    """The edges of the last two axes repeated."""

    _axes = 2


class ReplicationPad3d(ReplicationPad1d):
    """The edges of the last three axes repeated."""

    _axes = 3


__all__ = [
    "ConstantPad1d", "ConstantPad2d", "ConstantPad3d", "Pad", "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d",
    "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d", "ZeroPad2d",
]  # fmt: skip
