"""Parameters of layers that are cut over the processes of a model group, of which each holds its part (Megatron-LM, 2019)."""

from __future__ import annotations

import numpy as np

from graphc import processes
from graphc.context import ParallelMode, is_data_parallel, parallel_settings
from graphc.errors import ArgumentValueError, user_loc
from graphc.nn import checks
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor
from graphc.processes import AxisCut

COLUMNS, ROWS = "columns", "rows"


def parts_of(owner: str, shard: str | None) -> int:
    """Over how many processes a layer is cut. ArgumentValueError for another `shard`, and GC112 for one in a mode that is not
    data-parallel.
    """
    if shard is None:
        return 1
    checks.one_of(owner, "shard", shard, (COLUMNS, ROWS))
    parts = parallel_settings().model_parallel
    if parts > 1 and not is_data_parallel():
        raise ArgumentValueError(
            f"{owner}: shard={shard!r} needs a data-parallel mode, parallel_mode is {parallel_settings().parallel_mode!r}",
            code="GC112",
            loc=user_loc(),
            help=f"set_auto_parallel_context(parallel_mode={ParallelMode.DATA_PARALLEL!r}, model_parallel={parts})",
        )
    return parts


def own_size(owner: str, name: str, size: int, parts: int) -> int:
    """How much of a size each process has. ArgumentValueError where it cannot be divided."""
    if size % parts:
        raise ArgumentValueError(
            f"{owner}: {name}={size} cannot be cut into {parts} equal parts, for so many processes", loc=user_loc()
        )
    return size // parts


def parameter(whole: Tensor, name: str, axis: int, parts: int) -> Parameter:
    """A Parameter of initial values, or of this process's part along an axis of those of the first process. Then all call it."""
    if parts == 1:
        return Parameter(whole, name=name)
    array = np.array(whole.asnumpy(), order="C")
    line = f"{name}: {whole.tensor_type} cut along axis {axis}"
    processes.agree("layer that is cut", [line], line)
    processes.share_from_first([array.view(np.uint8)])
    cut = AxisCut(array.shape, axis)
    made = Parameter(Tensor(cut.part(array)), name=name)
    made.cut = cut
    return made


__all__ = ["COLUMNS", "ROWS", "own_size", "parameter", "parts_of"]
