"""Callbacks of `map`: called where rows are computed, and those that wait for the training (MindSpore: DSCallback)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from graphc.dataset import config
from graphc.dataset.checks import INT32_MAX, integer
from graphc.dataset.core.faults import fault, interrupts
from graphc.dataset.core.streams import Run
from graphc.errors import ArgumentTypeError, ArgumentValueError, DataError, user_loc
from graphc.train.callbacks.base import Callback


@dataclass(frozen=True)
class Place:
    """Where a data set is: which pass, from 1 on, and which rows `map` has come to, in the pass and in all passes."""

    cur_epoch_num: int
    cur_step_num_in_epoch: int
    cur_step_num: int


class DSCallback:
    """Base of callbacks of `map`: override what is to be called, before and after a pass or every step_size-th row. Each gets a
    run context with cur_epoch_num, cur_step_num_in_epoch and cur_step_num.

    A row is begun when the one before it has ended, so that what a callback changes is seen from that row on.
    """

    #: The methods that are called.
    stages: tuple[str, ...] = ("ds_begin", "ds_epoch_begin", "ds_epoch_end", "ds_step_begin", "ds_step_end")

    def __init__(self, step_size: int = 1) -> None:
        self.step_size = integer(type(self).__name__, "step_size", step_size, 1, INT32_MAX)

    def ds_begin(self, ds_run_context: Any) -> None:
        """Before the first pass."""

    def ds_epoch_begin(self, ds_run_context: Any) -> None:
        """Before each pass."""

    def ds_epoch_end(self, ds_run_context: Any) -> None:
        """After each pass."""

    def ds_step_begin(self, ds_run_context: Any) -> None:
        """Before a row is computed: the first of a pass, and every step_size-th from there on."""

    def ds_step_end(self, ds_run_context: Any) -> None:
        """After such a row has been computed."""


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


def checked(callbacks: Any) -> list[DSCallback]:
    """The callbacks of `map`; ArgumentTypeError for what is none, ArgumentValueError for one that does nothing."""
    if callbacks is None:
        return []
    given = list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks]
    for callback in given:
        if not isinstance(callback, DSCallback):
            raise ArgumentTypeError(
                f"map: callbacks must be a DSCallback or a list of them, got {type(callback).__name__}", loc=user_loc()
            )
        base = WaitedDSCallback if isinstance(callback, WaitedDSCallback) else DSCallback
        if all(getattr(type(callback), stage) is getattr(base, stage) for stage in base.stages):
            raise ArgumentValueError(
                f"map: the callback {type(callback).__name__} overrides none of {', '.join(base.stages)}",
                loc=user_loc(),
            )
    return given


class Told:
    """What tells the callbacks of a `map` in one run. Questions about the data set, which count no passes, tell them nothing."""

    def __init__(self, callbacks: list[DSCallback], run: Run) -> None:
        self._callbacks = callbacks
        self._place: Place | None = None
        run.followers.append(self)

    def pass_begins(self, epoch: int) -> None:
        """Pass number `epoch` of the whole pipeline, from 0 on, begins."""
        if self._place is None:
            self._place = Place(0, 0, 0)
            self._call("ds_begin")
        self._place = Place(epoch + 1, 0, self._place.cur_step_num)
        self._call("ds_epoch_begin")

    def pass_ends(self) -> None:
        """The pass has given all of its rows."""
        self._call("ds_epoch_end")

    def row_begins(self) -> None:
        """A row is about to be computed."""
        if self._place is not None:
            at = self._place
            self._place = Place(at.cur_epoch_num, at.cur_step_num_in_epoch + 1, at.cur_step_num + 1)
            self._call("ds_step_begin", self._chosen)

    def row_ends(self) -> None:
        """It has been computed."""
        if self._place is not None:
            self._call("ds_step_end", self._chosen)

    def _chosen(self, callback: DSCallback) -> bool:
        assert self._place is not None
        return (self._place.cur_step_num_in_epoch - 1) % callback.step_size == 0

    def _call(self, stage: str, chosen: Callable[[DSCallback], bool] = lambda callback: True) -> None:
        for callback in filter(chosen, self._callbacks):
            try:
                getattr(callback, stage)(self._place)
            except interrupts():
                raise
            except BaseException as raised:
                error = fault(f"map: {stage} of the callback {type(callback).__name__}", None, raised)
                raise error from (None if isinstance(raised, DataError) else raised)
