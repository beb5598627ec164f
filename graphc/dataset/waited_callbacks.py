"""Callbacks of `map` that wait for the training (MindSpore: WaitedDSCallback)."""

from __future__ import annotations

import threading
from typing import Any

from graphc.dataset import config
from graphc.dataset.callbacks import DSCallback
from graphc.errors import DataError
from graphc.train.callbacks.base import Callback


class WaitedDSCallback(Callback, DSCallback):
    """Base of callbacks of `map` that are callbacks of the training, too: a row, or a pass, waits for what the training makes of
    the one before. Override sync_step_begin or sync_epoch_begin; neither is called before the first.

    step_size: how many rows make a step of the training, such as the size of a batch. It is given to `map` and to `Model.train`,
    which must not sink. A wait of more than dataset.config.get_callback_timeout() seconds is a DataError, a RuntimeError.
    """

    stages = ("sync_step_begin", "sync_epoch_begin")

    def __init__(self, step_size: int = 1) -> None:
        super().__init__()
        DSCallback.__init__(self, step_size)
        self.step_event, self.epoch_event = threading.Event(), threading.Event()
        self.step_run_context: Any = None
        self.epoch_run_context: Any = None
        self.training_ended = False

    def sync_epoch_begin(self, train_run_context: Any, ds_run_context: Any) -> None:
        """Before each pass but the first, when the training has ended its epoch."""

    def sync_step_begin(self, train_run_context: Any, ds_run_context: Any) -> None:
        """Before the rows of each step but the first, when the training has ended its step."""

    def epoch_end(self, run_context: Any) -> None:
        """The training has ended an epoch: the next pass may begin."""
        self.epoch_run_context = run_context
        self.epoch_event.set()

    def step_end(self, run_context: Any) -> None:
        """The training has ended a step: the next rows may be computed."""
        self.step_run_context = run_context
        self.step_event.set()

    def end(self, run_context: Any) -> None:
        """The training is over: nothing waits any more."""
        self.training_ended = True
        self.epoch_end(run_context)
        self.step_end(run_context)

    def ds_epoch_begin(self, ds_run_context: Any) -> None:
        """Wait for the epoch of the training before this pass."""
        if ds_run_context.cur_epoch_num > 1 and self._overrides("sync_epoch_begin"):
            self._wait(self.epoch_event, "epoch")
            self.sync_epoch_begin(self.epoch_run_context, ds_run_context)

    def ds_step_begin(self, ds_run_context: Any) -> None:
        """Wait for the step of the training before this row."""
        if ds_run_context.cur_step_num > self.step_size and self._overrides("sync_step_begin"):
            self._wait(self.step_event, "step")
            self.sync_step_begin(self.step_run_context, ds_run_context)

    def _overrides(self, stage: str) -> bool:
        return getattr(type(self), stage) is not getattr(WaitedDSCallback, stage)

    def _wait(self, event: threading.Event, what: str) -> None:
        if self.training_ended:
            return
        seconds = config.get_callback_timeout()
        if not event.wait(seconds):
            raise DataError(
                f"{type(self).__name__}: the training has not ended its {what} for {seconds} seconds",
                code="GC202",
                help=f"give it to Model.train, too: callbacks=[...]; step_size={self.step_size} must be the rows of a step",
            )
        event.clear()


__all__ = ["WaitedDSCallback"]
