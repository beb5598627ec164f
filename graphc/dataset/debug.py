"""`dataset.debug`: hooks that see the values between the operations of `map` (MindSpore: mindspore.dataset.debug)."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Sized
from typing import Any

import numpy as np


class DebugHook(ABC):
    """Base of hooks for dataset.config.set_debug_mode, or among the operations of `map` in debug mode: override `compute`, which
    is called with one tuple, a value for each column. Rows go on as they are.
    """

    def __init__(self, prev_op_name: str | None = None) -> None:
        self.prev_op_name = prev_op_name
        self.is_first_op: bool | None = None

    def __call__(self, *args: Any) -> Any:
        if self.prev_op_name:
            which = "INPUT" if self.is_first_op else "OUTPUT"
            print(f"[Dataset debugger] Print the [{which}] of the operation [{self.prev_op_name}].", flush=True)
        self.compute(args)
        return args

    @abstractmethod
    def compute(self, *args: Any) -> Any:
        """What is done with the values of a row."""

    def set_previous_op_name(self, prev_op_name: str | None) -> None:
        """Behind which operation it stands; before which, where it is the first."""
        self.prev_op_name = prev_op_name

    def set_is_first(self, is_first_op: bool) -> None:
        """Whether it stands before the first operation."""
        self.is_first_op = is_first_op


class PrintMetaDataHook(DebugHook):
    """Prints dtype and shape of arrays, type and size of other values."""

    def compute(self, *args: Any) -> Any:
        for number, value in enumerate(*args):
            print(f"Column {number}. {_described(value)}", flush=True)
        return args


class PrintDataHook(DebugHook):
    """Prints the values."""

    def compute(self, *args: Any) -> Any:
        for number, value in enumerate(*args):
            print(f"Column {number}. The data is [{np.asarray(value) if _is_image(value) else value}].", flush=True)
        return args


def _described(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"The dtype is [{value.dtype}]. The shape is [{value.shape}]."
    if _is_image(value):
        return f"The type is [{type(value)}]. The shape is [{value.size}]."
    return f"The type is [{type(value)}]. The size is [{len(value)}]." if isinstance(value, Sized) else ""


def _is_image(value: Any) -> bool:
    """Whether it is an image of Pillow's, which need not be there."""
    return type(value).__module__.startswith("PIL.")


def with_hooks(operations: list[Any], hooks: list[DebugHook]) -> list[Any]:
    """The operations, those of a Compose one by one, with a copy of each hook before the first and behind every one."""
    single = [o for operation in operations for o in _parts(operation)]
    made: list[Any] = _copies(hooks, _name(single[0]), True)
    for operation in single:
        made.append(operation)
        made.extend(_copies(hooks, _name(operation), False))
    return made


def _parts(operation: Any) -> list[Any]:
    parts = getattr(operation, "parts", None)
    return [operation] if parts is None else [p for part in parts for p in _parts(part)]


def _copies(hooks: list[DebugHook], name: str, first: bool) -> list[Any]:
    made = [copy.deepcopy(hook) for hook in hooks]
    for hook in made:
        hook.set_previous_op_name(name)
        hook.set_is_first(first)
    return made


def _name(operation: Any) -> str:
    return str(getattr(operation, "__name__", type(operation).__name__))


__all__ = ["DebugHook", "PrintDataHook", "PrintMetaDataHook"]
