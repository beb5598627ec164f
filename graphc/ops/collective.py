"""Collective ops, and the settings of parallel training. One process: a sum over all processes is the value itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

from graphc.errors import ArgumentTypeError, ArgumentValueError, DTypeError, user_loc
from graphc.ir import Builder, Graph, NodeView, Sample, TensorType, Value, op
from graphc.ir.op import Alias, Attrs, Types
from graphc.ops import dispatch
from graphc.ops.functional import assign_add, cast
from graphc.ops.primitives import Primitive
from graphc.ops.rules import floats, integers
from graphc.ops.tensor import Parameter, Tensor, as_tensor

WORLD = "graphc_world_group"
REDUCTIONS = ("sum", "max", "min", "prod")

# ---- the op


def _infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    if attrs["reduction"] not in REDUCTIONS:
        raise ArgumentValueError(f"AllReduce: op must be one of {', '.join(REDUCTIONS)}, got {attrs['op']!r}")
    if types[0].dtype == "bool":
        raise DTypeError(f"AllReduce: x is {types[0]}, expected numbers")
    return (types[0],)


def _grad(g: Builder, n: NodeView, dy: Value) -> list[Value | None]:
    if n.reduction != "sum":
        return [dy]  # One process: it holds the only, hence the extreme, value.
    return [g.AllReduce(dy, reduction="sum", group=n.group)]


op(
    "AllReduce",
    "x",
    attrs={"reduction": "sum", "group": WORLD},
    infer=_infer,
    ref=lambda x, reduction, group: x,
    grad=_grad,
    lower=Alias(),
    effect=True,
    samples=lambda: [Sample((floats(3, 5),), grad=(0,)), Sample((integers(4),), {"reduction": "max"})],
    doc="x reduced over the processes of a group. Every process must reach its AllReduces in the same order: order edges keep"
    " that of the program. With one process the result is x, without a copy",
)

#: The last AllReduce of each graph that is being traced.
_last: WeakKeyDictionary[Graph, Value] = WeakKeyDictionary()


def all_reduce(x: Tensor, op: str = "sum", group: str = WORLD) -> Tensor:
    """x reduced over the processes of a group ("sum", "max", "min", "prod"), after every earlier all_reduce."""
    x = as_tensor(x, "all_reduce: x")
    active: Any = dispatch.recorder.get()
    if active is None:
        made: Tensor = dispatch.call("AllReduce", x, reduction=op, group=group)
        return made
    before = _last.get(active.graph)
    after = () if before is None else active.wrap(before)
    result: Tensor = active.record("AllReduce", (x,), {"reduction": op, "group": group}, after=after)[0]
    _last[active.graph] = active.resolve(result)
    return result


class ReduceOp:
    """Names of reductions (MindSpore: ops.ReduceOp)."""

    SUM, MAX, MIN, PROD = REDUCTIONS


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


# ---- settings


class ParallelMode:
    """How training is spread over processes (MindSpore: mindspore.ParallelMode)."""

    STAND_ALONE = "stand_alone"
    DATA_PARALLEL = "data_parallel"
    HYBRID_PARALLEL = "hybrid_parallel"
    SEMI_AUTO_PARALLEL = "semi_auto_parallel"
    AUTO_PARALLEL = "auto_parallel"
    MODE_LIST = (STAND_ALONE, DATA_PARALLEL, HYBRID_PARALLEL, SEMI_AUTO_PARALLEL, AUTO_PARALLEL)


@dataclass(frozen=True)
class ParallelSettings:
    """Settings that training cells read: one process, so that every mode computes what stand_alone does."""

    parallel_mode: str = ParallelMode.STAND_ALONE
    gradients_mean: bool = False
    device_num: int = 1
    global_rank: int = 0
    parameter_broadcast: bool = False
    enable_parallel_optimizer: bool = False
    full_batch: bool = False
    pipeline_stages: int = 1


_settings = ParallelSettings()


def parallel_settings() -> ParallelSettings:
    """The settings as they are now."""
    return _settings


def set_parallel(**changes: Any) -> None:
    """Change settings. ArgumentValueError for unknown ones and for values that need more than this process."""
    global _settings
    known = ParallelSettings.__dataclass_fields__
    only = {"device_num": 1, "global_rank": 0, "pipeline_stages": 1, "enable_parallel_optimizer": False}
    for name, value in changes.items():
        if name not in known:
            raise ArgumentValueError(
                f"there is no parallel setting {name!r}; there are {', '.join(known)}", loc=user_loc()
            )
        if name == "parallel_mode" and value not in ParallelMode.MODE_LIST:
            modes = ", ".join(ParallelMode.MODE_LIST)
            raise ArgumentValueError(f"parallel_mode must be one of {modes}, got {value!r}", loc=user_loc())
        kind = type(known[name].default)
        if type(value) is not kind:
            raise ArgumentTypeError(
                f"{name} must be of type {kind.__name__}, got {type(value).__name__}", loc=user_loc()
            )
        if value != only.get(name, value):
            raise ArgumentValueError(
                f"{name}={value} needs several processes; graphc trains in one, where {name} is {only[name]}",
                loc=user_loc(),
            )
    _settings = replace(_settings, **changes)


def accumulate(parameters: Sequence[Parameter], gradients: Sequence[Tensor]) -> None:
    """In modes semi_auto_parallel and auto_parallel add each gradient to the parameter's accumulator, if it has one.

    An accumulator is what `weights.clone("accu_grads", "zeros")` made for it last. As in MindSpore, where the compiler of
    these modes adds up the gradients of micro batches, whoever takes the sum writes zeros for the next step.
    """
    if _settings.parallel_mode not in (ParallelMode.SEMI_AUTO_PARALLEL, ParallelMode.AUTO_PARALLEL):
        return
    for p, g in zip(parameters, gradients, strict=True):
        if p.accumulator is not None:
            assign_add(p.accumulator, cast(g, p.accumulator.dtype))


def reset_parallel() -> None:
    """All settings as they are at the start."""
    global _settings
    _settings = ParallelSettings()
