"""Gradients reduced over the processes of a data-parallel training."""

from __future__ import annotations

from typing import Any

from graphc import ops
from graphc.context import ParallelMode, is_data_parallel, parallel_settings
from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.ir import Region
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.ops.declared.collective import WORLD
from graphc.ops.functional.collective import in_order
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor
from graphc.processes import DATA


class DistributedGradReducer(Cell):
    """The sum of every gradient over the processes, times 1 / degree with `mean` (MindSpore: nn.DistributedGradReducer).

    parameters: a tuple or list of Parameters, in the order of the gradients; those with `layerwise_parallel` are not
    reduced. mean, degree: from the parallel settings (gradients_mean, device_num) unless given; where a network lies over several
    processes (model_parallel, pipeline_stages) gradients are reduced over those that have other data. Sums are taken in
    float32, and with the setting wire_dtype="bfloat16" travel as that; each gradient keeps its dtype. fusion_type says how,
    not what. Called with a tuple of gradients; returns a tuple. With one process the sum is the gradient itself: what
    remains of it in the graph is AllReduce nodes, in order.
    Raises ArgumentTypeError for other arguments, ArgumentValueError unless degree is an int of at least 1, and GC112
    for wire_dtype="bfloat16" in a mode that is not data-parallel.
    """

    region: Region | None = "backward"

    def __init__(
        self,
        parameters: Any,
        mean: bool | None = None,
        degree: int | None = None,
        fusion_type: int = 1,
        group: str = WORLD,
    ) -> None:
        super().__init__(auto_prefix=False)
        owner = "DistributedGradReducer"
        if not isinstance(parameters, (tuple, list)) or not all(isinstance(p, Parameter) for p in parameters):
            raise checks.wrong_type(owner, "parameters", "a tuple of Parameters", parameters)
        settings = parallel_settings()
        parts = settings.parts
        if parts > 1 and group == WORLD:
            group = DATA
            if degree not in (None, settings.device_num // parts):
                raise ArgumentValueError(
                    f"{owner}: degree={degree!r} is not {settings.device_num // parts}, the number of processes with other data:"
                    f" the network lies over {parts}",
                    loc=user_loc(),
                    help="leave degree out",
                )
        self.mean = settings.gradients_mean if mean is None else checks.boolean(owner, "mean", mean)
        degree = settings.device_num // parts if degree is None else degree
        if not checks.is_int(degree) or degree < 1:
            raise ArgumentValueError(f"{owner}: degree must be an int of at least 1, got {degree!r}", loc=user_loc())
        self.degree = int(degree)
        self.group = group
        self.wire = _wire(owner, settings.wire_dtype)
        self.reduced = tuple(not p.layerwise_parallel for p in parameters)

    def construct(self, grads: Any) -> tuple[Tensor, ...]:
        if not isinstance(grads, (tuple, list)) or len(grads) != len(self.reduced):
            held = f"{len(grads)} gradients" if isinstance(grads, (tuple, list)) else type(grads).__name__
            raise ArgumentTypeError(
                f"DistributedGradReducer: got {held} for {len(self.reduced)} parameters", loc=user_loc()
            )
        return tuple(self.reduce(g) if flag else g for g, flag in zip(grads, self.reduced, strict=True))

    def reduce(self, gradient: Tensor) -> Tensor:
        """One gradient, reduced."""
        x = ops.cast(gradient, "float32")
        total = in_order("AllReduce", x, "all_reduce", self.group, reduction="sum", wire=self.wire)
        if self.mean:
            total = total * (1.0 / self.degree)
        return ops.cast(total, gradient.dtype)

    def extend_repr(self) -> str:
        return f"{len(self.reduced)} parameters, mean={self.mean}, degree={self.degree}"


def _wire(owner: str, dtype: str) -> str | None:
    """What sums of float32 travel as, where it is something else."""
    if dtype == "float32":
        return None
    if not is_data_parallel():
        raise ArgumentValueError(
            f"{owner}: wire_dtype={dtype!r} needs a data-parallel mode",
            code="GC112",
            loc=user_loc(),
            help=f"set_auto_parallel_context(parallel_mode={ParallelMode.DATA_PARALLEL!r}, wire_dtype={dtype!r})",
        )
    return dtype


__all__ = ["DistributedGradReducer"]
