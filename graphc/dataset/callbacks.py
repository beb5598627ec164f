"""Callbacks of `map`: called where rows are computed (MindSpore: DSCallback)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from graphc.dataset.checks import INT32_MAX, integer
from graphc.dataset.core.faults import fault, interrupts
from graphc.dataset.core.streams import Run
from graphc.errors import ArgumentTypeError, ArgumentValueError, DataError, user_loc


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

    def does_nothing(self) -> bool:
        """Whether none of the stages is overridden."""
        return not any(map(self._overrides, self.stages))

    def _overrides(self, stage: str) -> bool:
        return getattr(type(self), stage) is not getattr(DSCallback, stage)


def checked(callbacks: Any) -> list[DSCallback]:
    """The callbacks of `map`; ArgumentTypeError for what is none, ArgumentValueError for one that does nothing."""
    if callbacks is None:
        return []
    given = callbacks if isinstance(callbacks, list) else [callbacks]
    for callback in given:
        if not isinstance(callback, DSCallback):
            raise ArgumentTypeError(
                f"map: callbacks must be a DSCallback or a list of them, got {type(callback).__name__}", loc=user_loc()
            )
        if callback.does_nothing():
            raise ArgumentValueError(
                f"map: the callback {type(callback).__name__} overrides none of {', '.join(callback.stages)}",
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


__all__ = ["DSCallback"]
