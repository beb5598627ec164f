"""A batch in several parts: the network runs once per part, and the losses, hence the gradients, are added up."""

from __future__ import annotations

from typing import Any

from graphc import dispatch, ops
from graphc.context import parallel_settings
from graphc.errors import ArgumentTypeError, ArgumentValueError, ShapeError, user_loc
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.ops.tensor.tensor import Tensor


class MicroBatch(Cell):
    """Part `number` of `micro_size` equal parts of every input along axis 0, as a tuple (MindSpore: _MicroBatch).

    Inputs are tensors; Python values go into every part as they are. Raises ShapeError if axis 0 does not divide.
    """

    def __init__(self, micro_size: int) -> None:
        super().__init__(auto_prefix=False)
        self.micro_size = micro_size
        self.strided_slice = ops.StridedSlice()

    def construct(self, number: int, *inputs: Any) -> tuple[Any, ...]:
        return tuple(self.part(number, x) if isinstance(x, Tensor) else x for x in inputs)

    def part(self, number: int, x: Tensor) -> Tensor:
        """One part of one input."""
        rows = x.shape[0] if x.shape else 0
        if not x.shape or rows % self.micro_size:
            raise ShapeError(
                f"GradAccumulationCell: axis 0 of an input {x.tensor_type} cannot be divided into {self.micro_size} equal parts",
                loc=user_loc(),
                help=f"make the batch a multiple of {self.micro_size}",
            )
        size = rows // self.micro_size
        begin, end = (number * size, *(0,) * (x.ndim - 1)), ((number + 1) * size, *x.shape[1:])
        made: Tensor = self.strided_slice(x, begin, end, (1,) * x.ndim)
        return made


class GradAccumulationCell(Cell):
    """The sum of network's losses over micro_size equal parts of the batch (MindSpore: nn.GradAccumulationCell).

    network: a Cell that returns the loss; it is called once per part, with every tensor input sliced along axis 0. In a
    training cell the gradients are the sum, too: divide the learning rate, or the loss, by micro_size for their mean.
    micro_size: an int of at least 1. Raises ArgumentTypeError or ArgumentValueError for other arguments; when called,
    ShapeError if axis 0 of an input does not divide.
    """

    def __init__(self, network: Cell, micro_size: int) -> None:
        super().__init__(auto_prefix=False)
        owner = type(self).__name__
        if not isinstance(network, Cell):
            raise ArgumentTypeError(f"{owner}: network must be a Cell, got {type(network).__name__}", loc=user_loc())
        if not checks.is_int(micro_size):
            raise checks.wrong_type(owner, "micro_size", "an int", micro_size)
        if micro_size < 1:
            raise ArgumentValueError(f"{owner}: micro_size must be at least 1, got {micro_size}", loc=user_loc())
        self.network = network
        self.micro_size = int(micro_size)
        self.slices = MicroBatch(self.micro_size)

    def construct(self, *inputs: Any) -> Any:
        loss = self._of_part(0, *inputs)
        for number in range(1, self.micro_size):
            loss = ops.add(loss, self._of_part(number, *inputs))
        return loss

    def _of_part(self, number: int, *inputs: Any) -> Any:
        with dispatch.of_micro_batch(number):
            return self.network(*self.slices(number, *inputs))

    def extend_repr(self) -> str:
        return f"micro_size={self.micro_size}"


class PipelineCell(GradAccumulationCell):
    """As GradAccumulationCell; with the setting pipeline_stages the parts go through the stages one behind the other (MindSpore:
    nn.PipelineCell).

    stage_config: {path of a cell in network: its `pipeline_stage`}; segment_config: the same for `pipeline_segment`, which has no
    effect. ArgumentValueError for paths that lead nowhere, and for fewer parts than stages.
    """

    def __init__(
        self,
        network: Cell,
        micro_size: int,
        stage_config: dict[str, int] | None = None,
        segment_config: dict[str, int] | None = None,
    ) -> None:
        super().__init__(network, micro_size)
        stages = parallel_settings().pipeline_stages
        if micro_size < stages:
            raise ArgumentValueError(
                f"PipelineCell: micro_size={micro_size} is less than pipeline_stages={stages}: some would have nothing to do",
                loc=user_loc(),
            )
        cells = dict(network.cells_and_names())
        for name, config in (("stage", stage_config or {}), ("segment", segment_config or {})):
            for path, number in config.items():
                if path not in cells:
                    raise ArgumentValueError(
                        f"PipelineCell: {name}_config names {path!r}, no cell of network", loc=user_loc()
                    )
                setattr(cells[path], f"pipeline_{name}", number)


class MicroBatchInterleaved(GradAccumulationCell):
    """As GradAccumulationCell (MindSpore: nn.MicroBatchInterleaved, which computes one part while another communicates)."""

    def __init__(self, network: Cell, interleave_num: int = 2) -> None:
        super().__init__(network, interleave_num)


__all__ = ["GradAccumulationCell", "MicroBatchInterleaved", "PipelineCell"]
