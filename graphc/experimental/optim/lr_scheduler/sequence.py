"""Schedulers one after the other."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from graphc import ops
from graphc.errors import ArgumentValueError, user_loc
from graphc.experimental.optim.lr_scheduler.base import between_steps, checked_optimizer, counted, held_rates
from graphc.nn import checks
from graphc.ops.tensor.tensor import Tensor


class SequentialLR:
    """One scheduler after the other: the next takes over at each of the milestones.

    schedulers: of this optimizer; milestones: ints, one fewer.
    """

    def __init__(
        self, optimizer: Any, schedulers: Sequence[Any], milestones: Sequence[int], last_epoch: int = -1
    ) -> None:
        self.optimizer = checked_optimizer("SequentialLR", optimizer)
        for k, scheduler in enumerate(schedulers):
            if scheduler.optimizer is not optimizer:
                raise ArgumentValueError(f"SequentialLR: scheduler {k} is of another optimizer", loc=user_loc())
        if len(milestones) != len(schedulers) - 1:
            raise ArgumentValueError(
                f"SequentialLR: {len(schedulers)} schedulers need {len(schedulers) - 1} milestones, not {len(milestones)}",
                loc=user_loc(),
            )
        checks.integer("SequentialLR", "last_epoch", last_epoch, -1)
        self._schedulers, self.milestones = list(schedulers), list(milestones)
        self.last_epoch = counted(self, last_epoch + 1)
        for rate, group in zip(held_rates(optimizer), optimizer.param_groups, strict=True):
            rate.set_data(group["initial_lr"])
        for scheduler in self._schedulers:
            ops.assign_sub(scheduler.last_epoch, 1)
        self._schedulers[0].step()
        self._last_lr = self._schedulers[0]._last_lr

    def step(self) -> None:
        """Go to the next epoch."""
        between_steps(self)
        ops.assign_add(self.last_epoch, 1)
        epoch = int(self.last_epoch.asnumpy())
        at = bisect_right(self.milestones, epoch)
        if at > 0 and self.milestones[at - 1] == epoch:
            self._schedulers[at].step(0)
        else:
            self._schedulers[at].step()

    def get_last_lr(self) -> list[Tensor]:
        """The rates that are set, one per group."""
        return [rate.value() for rate in self._last_lr]
