"""What a Cell with a `pipeline_stage` is given enters that stage, where there is a pipeline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphc import dispatch
from graphc.context import parallel_settings
from graphc.errors import ArgumentValueError, user_loc
from graphc.nn.cell.cell import Cell
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor, TracedTensor
from graphc.ops.tensor.tree import map_leaves
from graphc.trace.recorder import GraphRecorder


def entering(recorder: GraphRecorder, cell: Cell, construct: Callable[..., Any]) -> Callable[..., Any]:
    """The cell's construct, behind marks on the tensors that it is given. ArgumentValueError for a stage that is not there, and
    GC112 op by op and inside a choice or a loop.
    """
    stage, stages = cell.own_stage, parallel_settings().pipeline_stages
    if stage is None or stages == 1:
        return construct
    owner = type(cell).__name__
    if stage >= stages:
        raise ArgumentValueError(
            f"{owner}: pipeline_stage={stage}, there are {stages} stages, from 0", loc=user_loc(), help=None
        )
    if recorder.immediate or recorder.parent is not None:
        where = "op by op" if recorder.immediate else "inside a choice or a loop that tensors decide"
        raise ArgumentValueError(
            f"{owner}: a cell with a pipeline_stage is not available {where}",
            code="GC112",
            loc=user_loc(),
            help="set_context(mode=GRAPH_MODE)"
            if recorder.immediate
            else "call it outside, and choose between results",
        )
    attrs = {"stage": stage, "micro": dispatch.micro_batch.get()}

    def enter(x: Tensor) -> Tensor:
        # A parameter, too: it comes to this stage once, and not what is made of it here for each micro batch.
        return recorder.record("ToStage", [x], attrs)[0] if isinstance(x, (TracedTensor, Parameter)) else x

    return lambda *args, **kwargs: construct(*map_leaves(enter, args), **map_leaves(enter, kwargs))
