"""What MindSpore keeps beside a Parameter's data, for code that clones parameters by it."""

from __future__ import annotations

from typing import Any


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

    is_init = True
    is_param_ps = False
    init_in_server = False
    cache_enable = False
    cache_shape: Any = ()
    requires_aggr = True
    parallel_optimizer = True
    comm_fusion = 1
    layerwise_parallel = False
    parallel_optimizer_comm_recompute = False
    inited_param: Any = None
    key = -1
    sliced = False


__all__ = [
    "ParamInfo",
    "ParameterExtras",
]
