"""What MindSpore keeps beside a Parameter's data, for code that clones parameters by it."""

from __future__ import annotations

from typing import Any

from graphc.errors import ArgumentTypeError, user_loc
from graphc.validation.checks import boolean
from graphc.validation.unused_arguments import no_effect, only


class ParamInfo:
    """Name and flags of a Parameter (MindSpore: Parameter.param_info); scripts may set further attributes.

    It is what the parameter had when it was asked for; `parameter.param_info = info` gives a parameter name and flags.
    """

    def __init__(self, name: str, requires_grad: bool, layerwise_parallel: bool) -> None:
        self.name = name
        self.requires_grad = requires_grad
        self.layerwise_parallel = layerwise_parallel

    def clone(self) -> ParamInfo:
        """Another of the same name and flags, without attributes that were added."""
        return ParamInfo(self.name, self.requires_grad, self.layerwise_parallel)

    def __repr__(self) -> str:
        inside = ", ".join(f"{k}={v!r}" for k, v in vars(self).items() if k in ("name", "requires_grad"))
        return f"ParamInfo({inside})"


class ParameterExtras:
    """Attributes of MindSpore's Parameter that say how it is initialised, cached and communicated.

    They keep what is written to them and mean nothing here: data are made at once, in one process.
    """

    is_init = False
    is_param_ps = False
    init_in_server = False
    cache_enable = False
    cache_shape: Any = ()
    requires_aggr = True
    comm_fusion = 1
    layerwise_parallel = False
    parallel_optimizer_comm_recompute = False
    inited_param: Any = None
    key = -1
    sliced = False
    _parallel_optimizer = True

    @property
    def parallel_optimizer(self) -> bool:
        """Whether optimizers of several processes may share its state: there is one. Keeps what is written, a bool."""
        return self._parallel_optimizer

    @parallel_optimizer.setter
    def parallel_optimizer(self, value: bool) -> None:
        boolean("", "parallel_optimizer", value)
        self._parallel_optimizer = value

    def add_pipeline_stage(self, stage: int) -> None:
        """Nothing, said once: a Cell has a stage, `cell.pipeline_stage`. ArgumentTypeError unless stage is an int >= 0."""
        if isinstance(stage, bool) or not isinstance(stage, int) or stage < 0:
            raise ArgumentTypeError(f"add_pipeline_stage: stage must be an int >= 0, got {stage!r}", loc=user_loc())
        no_effect("Parameter", "add_pipeline_stage", "a stage is that of a Cell: set cell.pipeline_stage")


def only_here(storage_format: str, device: str | None) -> None:
    """Refuse formats of storage, and devices, that are not a CPU's."""
    only("Parameter", "storage_format", storage_format, "")
    only("Parameter", "device", device, None, "CPU")


__all__ = [
    "ParamInfo",
    "ParameterExtras",
    "only_here",
]
