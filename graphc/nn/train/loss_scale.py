"""Training with a scaled loss: keeps small float16 gradients from vanishing, and skips updates whose
gradients overflow.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from graphc import dispatch, ops, processes
from graphc.attached import attached
from graphc.context import is_data_parallel
from graphc.errors import ArgumentTypeError, ArgumentValueError, ShapeError, user_loc
from graphc.ir import Region
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.nn.train import floor
from graphc.nn.train.wrap import TrainOneStepCell, check_loss
from graphc.ops.functional.collective import all_reduce
from graphc.ops.primitives.float_status import read_status
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor
from graphc.ops.tensor.tree import tensors


class DynamicLossScaleUpdateCell(Cell):
    """Halves the scale when gradients overflow, doubles it after a while without (MindSpore:
    DynamicLossScaleUpdateCell).

    manager(loss_scale, overflow) writes the Parameter loss_scale: on overflow max(scale / scale_factor, 1);
    otherwise scale * scale_factor when scale_window steps have passed since the last change. There is no
    upper bound. Returns overflow.
    State, int32 without axes: "current_iterator_step", from 1, and "last_overflow_iterator_step", the step of
    the last change. loss_scale_value: the first scale. scale_factor: a number > 1, scale_window: an int >= 1.
    floor_warning, graphc's own: after so many overflows in a row with the scale at its floor, 1, a LossScaleWarning (GC154)
    says so. floor_error: after so many LossScaleError, a RuntimeError, is raised; None: never.
    Raises ArgumentTypeError or ArgumentValueError for other arguments.
    """

    region: Region | None = "overflow"

    def __init__(
        self,
        loss_scale_value: float,
        scale_factor: float,
        scale_window: int,
        *,
        floor_warning: int = 100,
        floor_error: int | None = None,
    ) -> None:
        super().__init__()
        owner = "DynamicLossScaleUpdateCell"
        checks.real(owner, "loss_scale_value", loss_scale_value, above=0)
        self.loss_scale_value = loss_scale_value
        self.scale_factor = checks.real(owner, "scale_factor", scale_factor, above=1)
        self.scale_window = checks.integer(owner, "scale_window", scale_window)
        self.floor_warning = checks.integer(owner, "floor_warning", floor_warning)
        self.floor_error = None if floor_error is None else checks.integer(owner, "floor_error", floor_error)
        self.cur_iter = Parameter(Tensor(1, "int32"), name="current_iterator_step", requires_grad=False)
        self.last_overflow_iter = Parameter(Tensor(0, "int32"), name="last_overflow_iterator_step", requires_grad=False)

    def get_loss_scale(self) -> float:
        """The scale the manager was made with."""
        return self.loss_scale_value

    def construct(self, loss_scale: Any, overflow: Any) -> Any:
        self.move_scale(loss_scale, overflow)
        return overflow

    def move_scale(self, loss_scale: Any, overflow: Any) -> Tensor:
        """Write the new scale and count the step. Returns whether the window has passed: the scale grows unless overflow."""
        scale = floor.note_scale(self, loss_scale)
        step, last = self.cur_iter, self.last_overflow_iter
        rested = step - last >= self.scale_window
        smaller = ops.maximum(loss_scale * (1.0 / self.scale_factor), 1.0)
        larger = ops.select(rested, loss_scale * self.scale_factor, loss_scale)
        ops.assign(loss_scale, ops.select(overflow, smaller, larger))
        ops.assign(last, ops.select(ops.logical_or(overflow, rested), step, last))
        ops.assign(step, step + 1)
        if scale is not None and getattr(dispatch.recorder.get(), "immediate", False):
            attached(self, ("floor", id(scale)), lambda: floor.FloorWatch(self, scale, set()))(1)
        return rested

    def check_after(self, written: Set[Parameter]) -> floor.FloorWatch | None:
        """What to call after a compiled step that writes these parameters: it looks at the scale, if this manager moves it."""
        return floor.watch(self, written)

    def extend_repr(self) -> str:
        return f"{self.loss_scale_value}, scale_factor={self.scale_factor:g}, scale_window={self.scale_window}"


class FixedLossScaleUpdateCell(Cell):
    """A manager that leaves the scale alone (MindSpore: nn.FixedLossScaleUpdateCell). loss_scale_value: a
    number > 0.
    """

    region: Region | None = "overflow"

    def __init__(self, loss_scale_value: float) -> None:
        super().__init__()
        checks.real("FixedLossScaleUpdateCell", "loss_scale_value", loss_scale_value, above=0)
        self.loss_scale_value = loss_scale_value

    def get_loss_scale(self) -> float:
        """The scale the manager was made with."""
        return self.loss_scale_value

    def construct(self, loss_scale: Any, overflow: Any) -> Any:
        return overflow

    def extend_repr(self) -> str:
        return f"{self.loss_scale_value}"


class TrainOneStepWithLossScaleCell(TrainOneStepCell):
    """One training step with a scaled loss (MindSpore: nn.TrainOneStepWithLossScaleCell).

    scale_sense: a manager (a Cell with `get_loss_scale()`, called as manager(scale, overflow) after each
    step), or a Tensor of shape () or (1,). The scale is kept as Parameter "scale_sense", float32 for a
    manager, else of the Tensor's dtype.
    Returns (loss, overflow, scale): the loss unscaled; a bool, whether any gradient is infinite or NaN, in
    which case no parameter and no optimizer state changed; the scale after the manager's update. Subclasses
    may override `construct` and use start_overflow_check, get_overflow_status and process_loss_scale, in this
    order, and scaled_sens, unscale and update_unless.
    Raises ArgumentTypeError (GC152) for another scale_sense, ArgumentValueError (GC152) for another shape.
    """

    # What subclasses that follow MindSpore's construct step by step use: primitives, constants, kinds of devices.
    base, base0 = Tensor(1, "float32"), Tensor(0, "int32")
    reduce_sum, reduce_all = ops.ReduceSum(False), ops.ReduceAll(False)
    equal, less_equal, logic_not = ops.Equal(), ops.LessEqual(), ops.LogicalNot()
    allreduce = ops.AllReduce()
    gpu_target = ascend_910a_target = ascend_910b_target = False

    def __init__(self, network: Cell, optimizer: Any, scale_sense: Any) -> None:
        super().__init__(network, optimizer)
        owner = type(self).__name__
        self.loss_scaling_manager: Cell | None = None
        if isinstance(scale_sense, Cell):
            if not hasattr(scale_sense, "get_loss_scale"):
                raise ArgumentTypeError(
                    f"{owner}: {type(scale_sense).__name__} has no get_loss_scale()",
                    code="GC152",
                    loc=user_loc(),
                )
            self.loss_scaling_manager = scale_sense
            value = Tensor(scale_sense.get_loss_scale(), "float32")
        elif isinstance(scale_sense, Tensor):
            value = scale_sense
        else:
            raise ArgumentTypeError(
                f"{owner}: scale_sense must be a Cell or a Tensor, got {type(scale_sense).__name__}",
                code="GC152",
                loc=user_loc(),
                help="graphc.Tensor(1024.0), or nn.DynamicLossScaleUpdateCell(1024.0, 2, 1000)",
            )
        if value.shape not in ((), (1,)):
            raise ArgumentValueError(
                f"{owner}: scale_sense has shape {value.shape}, expected () or (1,)",
                code="GC152",
                loc=user_loc(),
            )
        self.scale_sense = Parameter(value, name="scale_sense", requires_grad=False)
        self.hyper_map = ops.HyperMap()
        self.is_distributed = is_data_parallel()

    def set_sense_scale(self, sens: Any) -> None:
        """Write a new scale. ArgumentTypeError unless sens is a Tensor, ShapeError if its shape is another
        (GC152).
        """
        if not isinstance(sens, Tensor):
            raise ArgumentTypeError(
                f"set_sense_scale: sens must be a Tensor, got {type(sens).__name__}",
                code="GC152",
                loc=user_loc(),
            )
        if sens.shape != self.scale_sense.shape:
            raise ShapeError(
                f"set_sense_scale: sens has shape {sens.shape}, the scale {self.scale_sense.shape}",
                code="GC152",
                loc=user_loc(),
            )
        self.scale_sense.set_data(sens)

    # ---- the hooks

    def start_overflow_check(self, pre_cond: Any, compute_input: Any) -> tuple[Tensor, Any]:
        """(cleared status, compute_input): cleared after pre_cond, and before whatever uses the returned
        compute_input.
        """
        with dispatch.region("overflow"):
            status = ops.clear_float_status(after=pre_cond)
            return status, ops.depend(compute_input, status)

    def get_overflow_status(self, status: Any, compute_output: Any) -> Tensor:
        """bool without axes: whether anything in compute_output, a tensor or a nest of them, is infinite or NaN.

        status: the first result of start_overflow_check, or what NPUAllocFloatStatus gave if a subclass clears it itself.
        In a data-parallel mode anything in any process counts: all skip the same steps.
        """
        with dispatch.region("overflow"):
            found = read_status(status, tuple(tensors(compute_output)))
            if self.is_distributed and processes.size() > 1:
                # Of gradients that are reduced already the compiler takes the flag as it is.
                found = ops.cast(all_reduce(ops.cast(found, "int32"), "max"), "bool")
            return found

    def process_loss_scale(self, overflow: Any) -> Any:
        """Let the manager, if there is one, adapt the scale. Returns whether to skip the update: its result,
        else overflow.
        """
        if self.loss_scaling_manager is None:
            return overflow
        with dispatch.region("overflow"):
            return self.loss_scaling_manager(self.scale_sense, overflow)

    def scaled_sens(self, loss: Tensor, scale: Tensor) -> Tensor:
        """The scale, in the loss's shape and dtype."""
        with dispatch.region("overflow"):
            return ops.ones_like(loss) * ops.cast(ops.reshape(scale, ()), loss.dtype)

    def unscale(self, gradients: tuple[Tensor, ...], scale: Tensor) -> tuple[Tensor, ...]:
        """gradient * (1 / scale), each in its own dtype."""
        with dispatch.region("overflow"):
            inverse = ops.div(1.0, ops.reshape(scale, ()))
            return tuple(g * ops.cast(inverse, g.dtype) for g in gradients)

    def apply_update(self, gradients: tuple[Tensor, ...]) -> Any:
        """What happens on a step that is not skipped: the optimizer uses the gradients. Returns its results."""
        return self.optimizer(gradients)

    def update_unless(self, overflow: Tensor, loss: Any, gradients: tuple[Tensor, ...]) -> Any:
        """The loss, after the optimizer has used the gradients unless they overflowed."""
        with dispatch.region("overflow"):
            updated = ops.cond(
                ops.logical_not(overflow),
                lambda: ops.depend(Tensor(True), self.apply_update(gradients)),
                lambda: Tensor(False),
            )
            return ops.depend(loss, updated)

    def construct(self, *inputs: Any) -> tuple[Any, Any, Any]:
        loss = check_loss(type(self).__name__, self.network, self.network(*inputs))
        status, scale = self.start_overflow_check(loss, self.scale_sense)
        sens = self.scaled_sens(loss, scale)
        grads = self.grad(self.network, self.weights)(*inputs, sens)
        grads = self.grad_reducer(self.unscale(grads, scale))
        cond = self.get_overflow_status(status, grads)
        overflow = self.process_loss_scale(cond)
        loss = self.update_unless(overflow, loss, grads)
        # The parameter itself: a result is read when the step ends, after the update of the scale.
        return loss, cond, self.scale_sense


__all__ = ["DynamicLossScaleUpdateCell", "FixedLossScaleUpdateCell", "TrainOneStepWithLossScaleCell"]
