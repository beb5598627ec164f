"""MindFormers' training step: loss scale, clipping, norms, learning rate for the log; and a moving average of the weights."""

from __future__ import annotations

import logging
from typing import Any

from graphc import dispatch, ops
from graphc.errors import ArgumentTypeError, user_loc
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.nn.train.clip import ClipGradNorm
from graphc.nn.train.loss_scale import DynamicLossScaleUpdateCell, TrainOneStepWithLossScaleCell
from graphc.nn.train.wrap import check_loss
from graphc.ops.tensor.parameter import Parameter, ParameterTuple
from graphc.ops.tensor.tensor import Tensor

_logger = logging.getLogger("graphc")


class MFTrainOneStepCell(TrainOneStepWithLossScaleCell):
    """One training step as in MindFormers (mindformers.wrapper.MFTrainOneStepCell).

    network: a Cell that returns the loss; wrap it in nn.GradAccumulationCell to accumulate gradients. optimizer: an
    Optimizer. scale_sense: a manager Cell, a Tensor of shape () or (1,), or a number (float: float32, int: int64).
    use_clip_grad: scale gradients down to the norm max_grad_norm, after the overflow check (nn.ClipGradNorm).
    use_ema: after each update that is not skipped, ema = ema_decay * ema + (1 - ema_decay) * weight for every weight, in
    Parameters "ema.<name>" (`ema_weights`); graphc's own, 0 < ema_decay < 1. Other keyword arguments are accepted without
    effect, as MindFormers does.

    Returns (loss, overflow, scale, learning rate, global norm), with local_norm also (local norm, size):
    loss        as the network gives it
    overflow    bool without axes: whether the update was skipped; what the manager returned
    scale       after the manager's update, shape () or (1,)
    learning rate  float32 without axes, of the step being made; a tuple, one per parameter, for groups with fixed rates; the
                last parameter's for groups whose rates change with the step
    global norm    float32[1], before clipping; None without use_clip_grad
    local norm     float32, the sum of squares of each parameter's gradient, unscaled, before reduction and clipping
    size        a tuple of ints: the number of elements of each gradient
    Gradients are unscaled in float32. Raises ArgumentTypeError or ArgumentValueError as TrainOneStepWithLossScaleCell does.
    """

    def __init__(
        self,
        network: Cell,
        optimizer: Any,
        use_clip_grad: bool = False,
        max_grad_norm: float = 1.0,
        scale_sense: Any = 1.0,
        local_norm: bool = False,
        **kwargs: Any,
    ) -> None:
        scale = Tensor(scale_sense) if checks.is_number(scale_sense) else scale_sense
        super().__init__(network, optimizer, scale)
        owner = type(self).__name__
        if not callable(getattr(optimizer, "get_lr", None)):
            raise ArgumentTypeError(
                f"{owner}: optimizer must be an Optimizer, {type(optimizer).__name__} has no get_lr()", loc=user_loc()
            )
        self.use_clip_grad = checks.boolean(owner, "use_clip_grad", use_clip_grad)
        self.clip_grad_norm = ClipGradNorm(max_norm=max_grad_norm) if self.use_clip_grad else None
        self.local_norm = checks.boolean(owner, "local_norm", local_norm)
        self.parallel_config = kwargs.pop("parallel_config", None)
        self.use_ema = checks.boolean(owner, "use_ema", kwargs.pop("use_ema", False))
        self.ema_decay = checks.real(owner, "ema_decay", kwargs.pop("ema_decay", 0.999), above=0)
        if self.ema_decay >= 1:
            raise checks.wrong_value(owner, "ema_decay", "a number between 0 and 1", self.ema_decay)
        self.ema_weights = self._averages() if self.use_ema else ParameterTuple(())

    def _averages(self) -> ParameterTuple:
        made: ParameterTuple = self.weights.clone("ema")
        for p in made:
            p.requires_grad, p.is_named = False, True
            self._params[p.name] = p
        return made

    # ---- parts of a step

    def unscale(self, gradients: tuple[Tensor, ...], scale: Tensor) -> tuple[Tensor, ...]:
        """gradient * (1 / scale), in float32."""
        with dispatch.region("overflow"):
            inverse = ops.cast(ops.div(1.0, ops.reshape(scale, ())), "float32")
            return tuple(ops.cast(g, "float32") * inverse for g in gradients)

    def local_norms(self, gradients: tuple[Tensor, ...]) -> tuple[Tensor, tuple[int, ...]]:
        """(the sum of squares of each gradient, its number of elements)."""
        squares = [ops.reduce_sum(ops.square(ops.cast(g, "float32"))) for g in gradients]
        return ops.stack(squares), tuple(g.size for g in gradients)

    def current_rate(self) -> Any:
        """The learning rate of the step about to be made, as it is returned."""
        rate = self.optimizer.get_lr()
        several = isinstance(rate, (tuple, list))
        return rate[-1] if several and getattr(self.optimizer, "dynamic_lr", False) else rate

    def apply_update(self, gradients: tuple[Tensor, ...]) -> Any:
        """Let the optimizer use the gradients, then move the averages."""
        done = self.optimizer(gradients)
        if not self.use_ema:
            return done
        keep = self.ema_decay
        moved = [done]
        with dispatch.region("optimizer"):
            for average, weight in zip(self.ema_weights, self.weights, strict=True):
                # A parameter is read when it is used: after the optimizer.
                moved.append(ops.assign(average, average * keep + weight * (1.0 - keep)))
        return moved

    def construct(self, *inputs: Any) -> tuple[Any, ...]:
        loss = check_loss(type(self).__name__, self.network, self.network(*inputs))
        status, scale = self.start_overflow_check(loss, self.scale_sense)
        sens = self.scaled_sens(loss, scale)
        grads = self.unscale(self.grad(self.network, self.weights)(*inputs, sens), scale)
        norms = self.local_norms(grads) if self.local_norm else ()
        grads = self.grad_reducer(grads)
        cond = self.get_overflow_status(status, grads)
        overflow = self.process_loss_scale(cond)
        global_norm = None
        if self.clip_grad_norm is not None:
            grads, global_norm = self.clip_grad_norm(grads)
        rate = self.current_rate()
        loss = self.update_unless(overflow, loss, grads)
        return (loss, overflow, self.scale_sense, rate, global_norm, *norms)


class AdaptiveLossScaleUpdateCell(DynamicLossScaleUpdateCell):
    """A dynamic manager whose window adapts, too (MindFormers: AdaptiveLossScaleUpdateCell).

    The scale moves as with DynamicLossScaleUpdateCell, over the current window. Windows form a ladder (`windows`) from about
    min_scale_window to max_scale_window: below a rung w > 100 comes w / 2 rounded down to hundreds, below 100 comes 50, below
    the others w - min_scale_window / 2, until min_scale_window is reached. It begins at the rung scale_window, or, with a
    warning in the log, at the lowest if that is none. The third increase of the scale, counted from the last change of the
    window, moves up one rung; at the top every fourth begins the count anew. The third decrease with no increase between
    them sets the window to 1, below the ladder, unless it is there or on the lowest rung.
    State, int32 without axes: "scale_window", "list_index" (the rung; -1 below the ladder), "scale_window_up_count" and
    "scale_window_down_count" beside those of the base.
    Raises ArgumentTypeError or ArgumentValueError unless the windows are ints with 1 <= min < max.
    """

    #: How many moves of the scale move the window.
    MOVES = 3

    def __init__(
        self,
        loss_scale_value: float,
        scale_factor: float,
        scale_window: int,
        max_scale_window: int = 1000,
        min_scale_window: int = 20,
        *,
        floor_warning: int = 100,
        floor_error: int | None = None,
    ) -> None:
        super().__init__(
            loss_scale_value, scale_factor, scale_window, floor_warning=floor_warning, floor_error=floor_error
        )
        owner = "AdaptiveLossScaleUpdateCell"
        low = checks.integer(owner, "min_scale_window", min_scale_window)
        high = checks.integer(owner, "max_scale_window", max_scale_window, low + 1)
        self.windows = _ladder(low, high)
        if scale_window not in self.windows:
            _logger.warning("scale_window %d is none of %s: beginning with the lowest", scale_window, self.windows)
        start = self.windows.index(scale_window) if scale_window in self.windows else 0
        self.scale_window: Any = _state(self.windows[start], "scale_window")
        self.list_index = _state(start, "list_index")
        self.window_up_count = _state(0, "scale_window_up_count")
        self.window_down_count = _state(0, "scale_window_down_count")

    def construct(self, loss_scale: Any, overflow: Any) -> Any:
        rested = self.move_scale(loss_scale, overflow)
        self.move_window(ops.logical_and(rested, ops.logical_not(overflow)), overflow)
        return overflow

    def move_window(self, grew: Tensor, shrank: Tensor) -> None:
        """Count the moves of the scale, and move the window with every third."""
        rung, window = self.list_index, self.scale_window
        # Counts go on to the fourth where the window cannot move.
        ups = ops.select(grew, ops.floor_mod(self.window_up_count + 1, self.MOVES + 1), self.window_up_count)
        downs = ops.select(shrank, ops.floor_mod(self.window_down_count + 1, self.MOVES + 1), self.window_down_count)
        downs = ops.select(grew, 0, downs)
        up = ops.logical_and(ops.equal(ups, self.MOVES), ops.not_equal(rung, len(self.windows) - 1))
        down = ops.logical_and(shrank, ops.logical_and(ops.equal(downs, self.MOVES), ops.greater(rung, 0)))
        higher = ops.gather(Tensor(list(self.windows), "int32"), ops.minimum(rung + 1, len(self.windows) - 1))
        ops.assign(window, ops.select(down, 1, ops.select(up, higher, window)))
        ops.assign(self.window_up_count, ops.select(ops.logical_or(up, down), 0, ups))
        ops.assign(self.window_down_count, ops.select(down, 0, downs))
        ops.assign(rung, ops.select(down, -1, rung + ops.cast(up, "int32")))

    def extend_repr(self) -> str:
        return f"{self.loss_scale_value}, scale_factor={self.scale_factor:g}, windows={self.windows}"


def _state(value: int, name: str) -> Parameter:
    return Parameter(Tensor(value, "int32"), name=name, requires_grad=False)


def _ladder(low: int, high: int) -> tuple[int, ...]:
    """The windows, ascending."""
    rungs, window = [high], float(high)
    while window > low:
        window = 100.0 * int(window / 200) if window > 100 else 50.0 if window == 100 else window - low / 2
        rungs.append(int(window))
    return tuple(reversed(rungs))


__all__ = ["AdaptiveLossScaleUpdateCell", "MFTrainOneStepCell"]
