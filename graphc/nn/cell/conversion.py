"""Other memory for what a Cell holds: `to` and `to_empty`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from graphc.errors import ArgumentTypeError, user_loc
from graphc.nn.cell.state import StateDict
from graphc.nn.cell.structure import Child
from graphc.ops.functional.core import cast
from graphc.ops.tensor.dtype import DType, to_name
from graphc.ops.tensor.tensor import Tensor, to_array
from graphc.validation.unused_arguments import refusal


class Conversion(StateDict[Child]):
    """The part of Cell that changes dtypes of parameters and buffers."""

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Cast float parameters and buffers, here and in all cells below; the parameters stay the same objects (MindSpore:
        Cell.to). Returns self.

        to(device=None, dtype=None, non_blocking=False), to(dtype, non_blocking=False) or to(tensor, non_blocking=False),
        which means the tensor's dtype. device: "CPU" or None, any other is refused (GC112); non_blocking says how, not what.
        Integers and bools stay. Raises ArgumentTypeError for a dtype that is no float, and for other arguments.
        """
        device, dtype = _parsed(args, kwargs)
        _refuse_device("to", device)
        if dtype is None:
            return self
        name = to_name(dtype)

        def changed(x: Tensor) -> Tensor:
            return cast(x, name) if x.tensor_type.is_float else x

        if "float" not in name:
            raise ArgumentTypeError(f"to: dtype must be a float, got {name}", loc=user_loc())
        self._convert(changed, True)
        return self

    def to_empty(self, *, device: Any = None, recurse: bool = True) -> Self:
        """New memory for parameters and buffers, of any contents (zeros here), to be filled by load_state_dict (MindSpore:
        Cell.to_empty). device as for `to`. Returns self.
        """
        _refuse_device("to_empty", device)
        self._convert(lambda x: Tensor(np.zeros(x.shape, x.tensor_type.numpy)), recurse)
        return self

    def _convert(self, change: Callable[[Tensor], Tensor], recurse: bool) -> None:
        """Let parameters and buffers, each once, hold what a function makes of them."""
        cells: Any = [cell for _, cell in self.cells_and_names()] if recurse else [self]
        made: dict[int, Tensor] = {}
        for cell in cells:
            for p in dict(cell._here()).values():
                if id(p) not in made:
                    made[id(p)] = p
                    p.move(to_array(change(p)))
            for name, value in cell._buffers.items():
                if value is not None:
                    if id(value) not in made:
                        made[id(value)] = change(value)
                    setattr(cell, name, made[id(value)])


def _parsed(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """(device, dtype) of the arguments of `to`."""
    names: tuple[str, ...] = ("device", "dtype", "non_blocking")
    given = dict(kwargs)
    first = args[0] if args else given.pop("tensor", None)
    if isinstance(first, Tensor):
        args, given = args[1:], {"dtype": first.dtype, **given}
        names = ("non_blocking",)
    elif isinstance(first, DType):
        names = ("dtype", "non_blocking")
    given |= dict(zip(names, args, strict=False))
    unknown = sorted(set(given) - {"device", "dtype", "non_blocking"})
    wrong = len(args) > len(names) or set(kwargs) & set(names[: len(args)])
    if unknown or wrong or not isinstance(given.get("non_blocking", False), bool):
        raise ArgumentTypeError(
            "to: takes (device, dtype, non_blocking), (dtype, non_blocking) or (tensor, non_blocking)",
            loc=user_loc(),
            details=[f"unknown: {', '.join(unknown)}"] if unknown else [],
        )
    return given.get("device"), given.get("dtype")


def _refuse_device(owner: str, device: Any) -> None:
    """GC112 for another device than the one there is."""
    if device is not None and str(device).lower() != "cpu":
        raise refusal(owner, "device", device, "CPU", None)


__all__ = ["Conversion"]
