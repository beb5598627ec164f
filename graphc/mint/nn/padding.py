"""Borders: (before, after) of the last axis, then of the one before it, and so on; or one number for all of them."""

from __future__ import annotations

from typing import Any, ClassVar

from graphc.mint.nn import functional
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.ops.tensor.tensor import Tensor


class _Pad(Cell):
    _axes: ClassVar[int]
    _mode = "constant"
    value: Any = None

    def __init__(self, padding: Any) -> None:
        super().__init__()
        owner = type(self).__name__
        given = (padding,) * (2 * self._axes) if checks.is_int(padding) else tuple(padding)
        if len(given) != 2 * self._axes:
            raise checks.wrong_value(owner, "padding", f"an int or {2 * self._axes} of them", padding)
        least = -(2**31) if self._mode == "constant" else 0
        self.padding = tuple(checks.integer(owner, "padding", n, least) for n in given)

    def construct(self, input: Any) -> Tensor:
        return functional.pad(input, self.padding, self._mode, self.value)


class _ConstantPad(_Pad):
    def __init__(self, padding: Any, value: Any) -> None:
        super().__init__(padding)
        self.value = value


def _made(kind: str, base: type[_Pad], axes: int, what: str, **members: Any) -> type[_Pad]:
    name = f"{kind}{axes}d"
    text = f"The last {'axis' if axes == 1 else f'{axes} axes'} with a border {what}."
    return type(name, (base,), {"__doc__": text, "__module__": __name__, "_axes": axes, **members})


ConstantPad1d, ConstantPad2d, ConstantPad3d = (
    _made("ConstantPad", _ConstantPad, axes, "of one value") for axes in (1, 2, 3)
)
ZeroPad1d, ZeroPad2d, ZeroPad3d = (_made("ZeroPad", _Pad, axes, "of zeros", value=0.0) for axes in (1, 2, 3))
ReflectionPad1d, ReflectionPad2d, ReflectionPad3d = (
    _made("ReflectionPad", _Pad, axes, "that mirrors them", _mode="reflect") for axes in (1, 2, 3)
)
ReplicationPad1d, ReplicationPad2d, ReplicationPad3d = (
    _made("ReplicationPad", _Pad, axes, "of the outermost elements", _mode="replicate") for axes in (1, 2, 3)
)

__all__ = [
    "ConstantPad1d", "ConstantPad2d", "ConstantPad3d", "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d",
    "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d", "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]  # fmt: skip
