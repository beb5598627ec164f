"""Collective primitives."""

from __future__ import annotations

from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.ops.declared.collective import REDUCTIONS, WORLD
from graphc.ops.functional.collective import ReduceOp, all_reduce
from graphc.ops.tensor.primitive import Primitive
from graphc.ops.tensor.tensor import Tensor


class AllReduce(Primitive):
    """all_reduce with its reduction and group fixed (MindSpore: ops.AllReduce)."""

    def __init__(self, op: str = ReduceOp.SUM, group: str = WORLD) -> None:
        for name, value in (("op", op), ("group", group)):
            if not isinstance(value, str):
                raise ArgumentTypeError(
                    f"AllReduce: {name} must be a string, got {type(value).__name__}", loc=user_loc()
                )
        if op not in REDUCTIONS:
            raise ArgumentValueError(
                f"AllReduce: op must be one of {', '.join(REDUCTIONS)}, got {op!r}", loc=user_loc()
            )
        super().__init__()
        self.op, self.group = op, group

    def __call__(self, x: Tensor) -> Tensor:
        return all_reduce(x, self.op, self.group)
