"""Collective primitives."""

from __future__ import annotations

from typing import Any

from graphc import processes
from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.ops.declared.collective import REDUCTIONS, WORLD
from graphc.ops.functional import collective
from graphc.ops.functional.collective import ReduceOp
from graphc.ops.tensor.primitive import Primitive
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.checks import exact_int, one_of, string
from graphc.validation.unused_arguments import only


class _InGroup(Primitive):
    """A collective with its group fixed."""

    def __init__(self, group: str = WORLD) -> None:
        owner = type(self).__name__
        string(owner, "group", group)
        super().__init__()
        self.group = group


class _Reducing(_InGroup):
    """A collective with its reduction and group fixed."""

    def __init__(self, op: str = ReduceOp.SUM, group: str = WORLD) -> None:
        owner = type(self).__name__
        string(owner, "op", op)
        one_of(owner, "op", op, REDUCTIONS)
        super().__init__(group)
        self.op = op


class AllReduce(_Reducing):
    """all_reduce with its reduction and group fixed (MindSpore: ops.AllReduce)."""

    def __call__(self, x: Tensor) -> Tensor:
        return collective.all_reduce(x, self.op, self.group)


class AllGather(_InGroup):
    """all_gather with its group fixed (MindSpore: ops.AllGather)."""

    def __call__(self, x: Tensor) -> Tensor:
        return collective.all_gather(x, self.group)


class ReduceScatter(_Reducing):
    """reduce_scatter with its reduction and group fixed (MindSpore: ops.ReduceScatter)."""

    def __call__(self, x: Tensor) -> Tensor:
        return collective.reduce_scatter(x, self.op, self.group)


class Broadcast(_InGroup):
    """broadcast of a tuple of tensors with its rank and group fixed (MindSpore: ops.Broadcast)."""

    def __init__(self, root_rank: int, group: str = WORLD) -> None:
        self.root_rank = exact_int("Broadcast", "root_rank", root_rank)
        super().__init__(group)

    def __call__(self, xs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        if not isinstance(xs, (tuple, list)):
            raise ArgumentTypeError(f"Broadcast takes a tuple of tensors, got {type(xs).__name__}", loc=user_loc())
        return tuple(collective.broadcast(x, self.root_rank, self.group) for x in xs)


class Reduce(_InGroup):
    """reduce with its rank, reduction and group fixed (MindSpore: ops.Reduce)."""

    def __init__(self, dest_rank: int, op: str = ReduceOp.SUM, group: str = WORLD) -> None:
        self.dest_rank = exact_int("Reduce", "dest_rank", dest_rank)
        if string("Reduce", "op", op) not in REDUCTIONS:
            raise ArgumentValueError(f"Reduce: op must be one of {', '.join(REDUCTIONS)}, got {op!r}", loc=user_loc())
        super().__init__(group)
        self.op = op

    def __call__(self, x: Tensor) -> Tensor:
        return collective.reduce(x, self.dest_rank, self.op, self.group)


class AlltoAll(_InGroup):
    """all_to_all with its axes and group fixed; split_count is the group's size (MindSpore: ops.AlltoAll)."""

    def __init__(self, split_count: int, split_dim: int, concat_dim: int, group: str = WORLD) -> None:
        self.split_count = exact_int("AlltoAll", "split_count", split_count)
        self.split_dim = exact_int("AlltoAll", "split_dim", split_dim)
        self.concat_dim = exact_int("AlltoAll", "concat_dim", concat_dim)
        super().__init__(group)

    def __call__(self, x: Tensor) -> Tensor:
        size = processes.size(self.group)
        if self.split_count != size:
            raise ArgumentValueError(
                f"AlltoAll: split_count is {self.split_count}, group {self.group!r} has {size} processes",
                loc=user_loc(),
            )
        return collective.all_to_all(x, self.split_dim, self.concat_dim, self.group)


class _ToOne(_InGroup):
    """With another process, tag and group fixed; the gradient goes back in the same group."""

    def __init__(self, sr_tag: int, group: str, group_back: str) -> None:
        owner = type(self).__name__
        super().__init__(group)
        self.sr_tag = exact_int(owner, "sr_tag", sr_tag)
        only(owner, "group_back", group_back, *dict.fromkeys((group, WORLD)))


class Send(_ToOne):
    """send with its tag, rank and group fixed (MindSpore: ops.Send); returns its operand."""

    def __init__(self, sr_tag: int, dest_rank: int, group: str = WORLD, group_back: str = WORLD) -> None:
        super().__init__(sr_tag, group, group_back)
        self.dest_rank = exact_int("Send", "dest_rank", dest_rank)

    def __call__(self, x: Tensor) -> Tensor:
        return collective.send(x, self.dest_rank, self.sr_tag, self.group)


class Receive(_ToOne):
    """receive with its tag, rank, shape, dtype and group fixed (MindSpore: ops.Receive)."""

    def __init__(
        self, sr_tag: int, src_rank: int, shape: Any, dtype: Any, group: str = WORLD, group_back: str = WORLD
    ) -> None:
        super().__init__(sr_tag, group, group_back)
        self.src_rank = exact_int("Receive", "src_rank", src_rank)
        if not isinstance(shape, (list, tuple)) or not all(type(n) is int and n >= 0 for n in shape):
            raise ArgumentTypeError(f"Receive: shape must be a list of ints, got {shape!r}", loc=user_loc())
        self.shape, self.dtype = tuple(shape), dtype

    def __call__(self) -> Tensor:
        return collective.receive(self.shape, self.dtype, self.src_rank, self.sr_tag, self.group)


class Barrier(_InGroup):
    """barrier with its group fixed (MindSpore: ops.Barrier)."""

    def __call__(self) -> None:
        collective.barrier(self.group)
