"""What the functions of this package take: tensors, groups, ranks, reductions; and how they run what they have checked."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from graphc import dispatch, processes
from graphc.errors import ArgumentTypeError, ArgumentValueError, DTypeError, ShapeError, TraceError, user_loc
from graphc.ir import TensorType
from graphc.ops.functional.index import write
from graphc.ops.tensor.arrays import note_write
from graphc.ops.tensor.tensor import Array, Tensor, require_array
from graphc.processes import WORLD, Act, Group
from graphc.validation.checks import exact_int, one_of, string

REDUCTIONS = ("sum", "prod", "max", "min", "avg")


class CommHandle:
    """Of a communication that may still be under way (MindSpore: CommHandle)."""

    def __init__(self, handle: Any = None) -> None:
        self.handle = handle

    def wait(self) -> None:
        """Return when it is done. Raises what it has failed with, DisagreementError where processes do not agree."""
        handle, self.handle = self.handle, None
        if handle is not None:
            handle.wait()

    def __repr__(self) -> str:
        return f"CommHandle(handle={self.handle})"


class Room:
    """The memory that something is written into for a tensor: its own where it lies in order, else what is copied there."""

    def __init__(self, tensor: Tensor) -> None:
        array = require_array(tensor)
        own = dispatch.recorder.get() is None and not tensor.is_parameter
        self._own = own and array.flags.writeable and array.flags.c_contiguous
        self._tensor = tensor
        #: Flat, and what the tensor holds.
        self.array: Array = array.reshape(-1) if self._own else array.flatten()

    def settle(self) -> None:
        """The tensor holds what has been written."""
        if self._own:
            note_write(require_array(self._tensor))
            dispatch.touch()
        else:
            write(self._tensor, ..., Tensor.wrap(self.array.reshape(self._tensor.shape)))


def flat(tensor: Tensor) -> Array:
    """The elements in order, without a copy where they lie so."""
    return np.ascontiguousarray(require_array(tensor)).reshape(-1)


def is_traced() -> bool:
    """Whether the call is one of a graph, which has gradients: of a step, or op by op."""
    return dispatch.recorder.get() is not None


def run(
    found: Group, said: str, act: Act, async_op: bool, sends: Sequence[int] = (), receives: Sequence[int] = ()
) -> CommHandle | None:
    """Let the processes of a group do what they have agreed on: the handle where it is asked for, see `processes.Talk.call`."""
    if found.talk is None:
        if sends:
            processes.require_fit(said, np.array([[sends, receives]]), found.ranks)
        act(None)
        return CommHandle() if async_op else None
    work = found.talk.call(said, act, sends, receives, later=async_op and not is_traced())
    return CommHandle(work) if async_op else None


def eager(owner: str, use: str) -> None:
    """TraceError while a step is traced: only a call at once has a meaning."""
    active = dispatch.recorder.get()
    if active is not None and not getattr(active, "immediate", False):
        raise TraceError(f"{owner} has no place in a compiled step", loc=user_loc(), help=use)


def member(owner: str, group: Any) -> Group:
    """A group that this process is in, by its name; None: all. ArgumentTypeError, ArgumentValueError."""
    processes.start()
    return processes.group(name_of(owner, group))


def name_of(owner: str, group: Any) -> str:
    """The name of a group; None: that of all processes. ArgumentTypeError."""
    return WORLD if group is None else string(owner, "group", group)


def place(owner: str, name: str, found: Group, rank: Any) -> int:
    """The number in a group of a process, which is given by its number among all. ArgumentTypeError, ArgumentValueError."""
    exact_int(owner, name, rank)
    if rank not in found.ranks:
        known = ", ".join(map(str, found.ranks))
        raise ArgumentValueError(
            f"{owner}: there is no rank {name}={rank} in the group {found.name!r}, only {known}",
            loc=user_loc(),
            help="ranks are those among all processes" if found.name != WORLD else None,
        )
    return found.ranks.index(rank)


def tensor_of(owner: str, name: str, x: Any) -> Tensor:
    """A Tensor. ArgumentTypeError."""
    if not isinstance(x, Tensor):
        raise ArgumentTypeError(f"{owner}: {name} must be a Tensor, got {type(x).__name__}", loc=user_loc())
    if x.is_rows:
        raise ArgumentTypeError(f"{owner}: {name} must be a dense Tensor, got a RowTensor", loc=user_loc())
    return x


def tensors_of(owner: str, name: str, xs: Any, count: int, type: TensorType | None = None) -> list[Tensor]:
    """`count` tensors of one dtype, and of one type where it is given. ArgumentTypeError, ArgumentValueError, DTypeError,
    ShapeError.
    """
    if not isinstance(xs, (list, tuple)):
        raise ArgumentTypeError(
            f"{owner}: {name} must be a list of tensors, got {xs.__class__.__name__}", loc=user_loc()
        )
    found = [tensor_of(owner, f"{name}[{k}]", x) for k, x in enumerate(xs)]
    if len(found) != count:
        raise ArgumentValueError(
            f"{owner}: expected {count} tensors in {name}, one per process, got {len(found)}", loc=user_loc()
        )
    for k, x in enumerate(found):
        wanted = type or TensorType(found[0].tensor_type.dtype, x.shape)
        of_type(owner, f"{name}[{k}]", x, wanted)
    return found


def of_type(owner: str, name: str, x: Tensor, wanted: TensorType) -> None:
    """DTypeError or ShapeError for a tensor of another type."""
    if x.tensor_type.dtype != wanted.dtype:
        raise DTypeError(f"{owner}: {name} is {x.tensor_type}, expected {wanted}", loc=user_loc())
    if x.shape != wanted.shape:
        raise ShapeError(f"{owner}: {name} is {x.tensor_type}, expected {wanted}", loc=user_loc())


def reduction(owner: str, op: Any, x: Tensor, known: tuple[str, ...] = REDUCTIONS) -> str:
    """How x is reduced. ArgumentTypeError, ArgumentValueError; DTypeError for what cannot be."""
    reduced = one_of(owner, "op", string(owner, "op", op), known)
    if x.tensor_type.dtype == "bool" or (x.tensor_type.is_complex and reduced not in ("sum", "avg")):
        what = "numbers" if x.tensor_type.dtype == "bool" else f"real numbers for op={reduced!r}"
        raise DTypeError(f"{owner}: the tensor is {x.tensor_type}, expected {what}", loc=user_loc())
    return reduced


def splits(owner: str, name: str, given: Any, length: int, count: int) -> list[int]:
    """How many rows of `length` are each process's: as given, or alike. ArgumentTypeError, ArgumentValueError, ShapeError."""
    if given is None or (isinstance(given, (list, tuple)) and not given):
        if length % count:
            raise ShapeError(
                f"{owner}: {length} rows cannot be cut into {count} equal parts", loc=user_loc(), help=f"give {name}"
            )
        return [length // count] * count
    if not isinstance(given, (list, tuple)) or not all(type(n) is int and n >= 0 for n in given):
        raise ArgumentTypeError(f"{owner}: {name} must be a list of ints from 0 on, got {given!r}", loc=user_loc())
    if len(given) != count:
        raise ArgumentValueError(f"{owner}: {name} must have {count} sizes, got {len(given)}", loc=user_loc())
    if sum(given) != length:
        raise ShapeError(
            f"{owner}: {name}={list(given)} are {sum(given)} rows, the tensor has {length}", loc=user_loc()
        )
    return list(given)


def cut(array: Array, sizes: Sequence[int]) -> list[Array]:
    """Parts of a flat array, of so many elements each."""
    return [array[a:b] for a, b in pairwise([0, *accumulate(sizes)])]
