"""Loss-scale managers: what Model and build_train_network take; they make the Cell that adapts the scale in the step."""

from __future__ import annotations

from abc import ABC, abstractmethod

from graphc.errors import TraceError, user_loc
from graphc.nn import Cell, DynamicLossScaleUpdateCell, FixedLossScaleUpdateCell, checks


class LossScaleManager(ABC):
    """Base of the managers (MindSpore: amp.LossScaleManager)."""

    @abstractmethod
    def get_loss_scale(self) -> float:
        """The scale as it is now."""

    @abstractmethod
    def update_loss_scale(self, overflow: bool) -> None:
        """Adapt the scale on the host, after a step that overflowed or did not."""

    @abstractmethod
    def get_update_cell(self) -> Cell | None:
        """A Cell that adapts the scale inside the step; None where the step needs no overflow check."""


class FixedLossScaleManager(LossScaleManager):
    """A scale that stays (MindSpore: amp.FixedLossScaleManager).

    loss_scale: a number >= 1. drop_overflow_update: skip the updates of steps that overflow.
    Raises ArgumentTypeError or ArgumentValueError.
    """

    def __init__(self, loss_scale: float = 128.0, drop_overflow_update: bool = True) -> None:
        owner = "FixedLossScaleManager"
        checks.real(owner, "loss_scale", loss_scale, least=1)
        self.loss_scale = loss_scale
        self.drop_overflow_update = checks.boolean(owner, "drop_overflow_update", drop_overflow_update)

    def get_loss_scale(self) -> float:
        """The scale."""
        return self.loss_scale

    def get_drop_overflow_update(self) -> bool:
        """Whether updates of steps that overflow are skipped."""
        return self.drop_overflow_update

    def update_loss_scale(self, overflow: bool) -> None:
        """Nothing: the scale stays."""

    def get_update_cell(self) -> Cell | None:
        """nn.FixedLossScaleUpdateCell, or None if no update is to be skipped."""
        return FixedLossScaleUpdateCell(self.loss_scale) if self.drop_overflow_update else None


class DynamicLossScaleManager(LossScaleManager):
    """A scale that falls with every overflow and grows after every scale_window steps without (MindSpore).

    init_loss_scale: a number >= 1; scale_factor: a number > 1; scale_window: an int >= 1. On the host: overflow gives
    max(scale / scale_factor, 1); else scale * scale_factor whenever the steps since the last overflow are a multiple of
    scale_window. Raises ArgumentTypeError or ArgumentValueError.
    """

    #: So many overflows in a row mean that no scale helps.
    MOST_OVERFLOWS = 1000

    def __init__(self, init_loss_scale: float = 2**24, scale_factor: float = 2, scale_window: int = 2000) -> None:
        owner = "DynamicLossScaleManager"
        checks.real(owner, "init_loss_scale", init_loss_scale, least=1)
        checks.real(owner, "scale_factor", scale_factor, above=1)
        self.loss_scale, self.scale_factor = init_loss_scale, scale_factor
        self.scale_window = checks.integer(owner, "scale_window", scale_window)
        self.step, self.last_overflow, self.in_a_row = 1, 0, 0

    def get_loss_scale(self) -> float:
        """The scale as `update_loss_scale` left it."""
        return self.loss_scale

    def get_drop_overflow_update(self) -> bool:
        """True: the updates of steps that overflow are skipped."""
        return True

    def update_loss_scale(self, overflow: bool) -> None:
        """Adapt the scale; TraceError (a RuntimeError) after more than 1000 overflows in a row."""
        if overflow:
            self.loss_scale = max(self.loss_scale * (1 / self.scale_factor), 1)
            self.last_overflow = self.step
            self.in_a_row += 1
        else:
            if (self.step - self.last_overflow) % self.scale_window == 0:
                self.loss_scale *= self.scale_factor
            self.in_a_row = 0
        if self.in_a_row > self.MOST_OVERFLOWS:
            raise TraceError(
                f"the gradients have overflowed in {self.in_a_row} steps in a row, at a loss scale of {self.loss_scale:g}",
                code="GC100",
                loc=user_loc(),
                help="the network itself gives infinities or NaN: look at the loss and the data",
            )
        self.step += 1

    def get_update_cell(self) -> Cell | None:
        """nn.DynamicLossScaleUpdateCell with the scale as it is now."""
        return DynamicLossScaleUpdateCell(self.loss_scale, self.scale_factor, self.scale_window)
