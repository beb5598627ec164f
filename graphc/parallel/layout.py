"""Layout: how tensors would be cut over devices, written down by names of axes."""

from __future__ import annotations

import copy
import math
from typing import Any, Self

from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc

_VIRTUAL = "interleaved_parallel"


class Layout:
    """A grid of devices with a name for each axis (MindSpore: parallel.Layout).

    device_matrix: a tuple of ints, the grid's shape; alias_name: a tuple of as many distinct names, "interleaved_parallel" at
    the end if at all; rank_list: the devices in order, by default 0, 1, .... Called with a name, "None", or a tuple of names
    per axis of a tensor, it gives the layout of that tensor. It is written down for `shard`, and cuts nothing: there is one
    process. Raises ArgumentTypeError or ArgumentValueError.
    """

    def __init__(
        self, device_matrix: tuple[int, ...], alias_name: tuple[str, ...], rank_list: list[int] | None = None
    ) -> None:
        self._device_shape = _tuple_of("device_matrix", device_matrix, int)
        self._alias_name = _tuple_of("alias_name", alias_name, str)
        if len(device_matrix) != len(alias_name):
            raise _wrong(f"{len(alias_name)} names for {len(device_matrix)} axes of devices")
        if len(set(alias_name)) != len(alias_name) or "" in alias_name or "None" in alias_name:
            raise _wrong(f'alias_name must be distinct names other than "" and "None", got {alias_name}')
        if _VIRTUAL in alias_name[:-1]:
            raise _wrong(f"{_VIRTUAL!r} must be the last of alias_name, got {alias_name}")
        count = math.prod(device_matrix)
        if rank_list is not None:
            if not isinstance(rank_list, list) or not all(type(r) is int for r in rank_list):
                raise ArgumentTypeError(f"Layout: rank_list must be a list of ints, got {rank_list!r}", loc=user_loc())
            if len(rank_list) != count:
                raise _wrong(f"rank_list has {len(rank_list)} devices, device_matrix {count}")
        self._rank_list = list(range(count)) if rank_list is None else list(rank_list)
        self._tensor_map: tuple[Any, ...] | None = None

    def __call__(self, *tensor_map: str | tuple[str, ...]) -> Self:
        """The layout of a tensor whose axes are cut along these axes of devices, each of them once at most."""
        used: set[str] = set()

        def place(name: Any) -> int:
            if name == "None":
                return -1
            if name not in self._alias_name:
                raise _wrong(f"there is no axis {name!r} of devices, only {self._alias_name}")
            if name in used:
                raise _wrong(f"the axis {name!r} of devices is used twice")
            used.add(name)
            return len(self._alias_name) - 1 - self._alias_name.index(name)

        made = copy.copy(self)
        made._tensor_map = tuple(tuple(map(place, n)) if isinstance(n, tuple) else place(n) for n in tensor_map)
        return made

    def to_dict(self) -> dict[str, Any]:
        """What it says, as a dict; ArgumentValueError for the grid alone."""
        if self._tensor_map is None:
            raise _wrong("it says nothing of a tensor yet: call it with a name for each axis")
        return {
            "device_matrix": self._device_shape,
            "tensor_map": self._tensor_map,
            "interleaved_parallel": _VIRTUAL in self._alias_name,
            "alias_name": self._alias_name,
            "rank_list": list(self._rank_list),
        }


def _tuple_of(name: str, value: Any, kind: type) -> tuple[Any, ...]:
    if not isinstance(value, tuple) or not all(type(v) is kind for v in value):
        raise ArgumentTypeError(f"Layout: {name} must be a tuple of {kind.__name__}s, got {value!r}", loc=user_loc())
    return value


def _wrong(problem: str) -> ArgumentValueError:
    return ArgumentValueError(f"Layout: {problem}", loc=user_loc())


__all__ = ["Layout"]
