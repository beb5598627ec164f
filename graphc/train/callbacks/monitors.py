"""Callbacks that print: the loss, the time of an epoch."""

from __future__ import annotations

import math
import time
from typing import Any

from graphc.errors import ArgumentValueError, user_loc
from graphc.nn import checks
from graphc.train.callbacks.base import Callback
from graphc.train.outputs import loss_of


def step_in_epoch(params: Any) -> int:
    """The number of the step within its epoch, from 1."""
    return int((params.cur_step_num - 1) % params.batch_num + 1)


class LossMonitor(Callback):
    """Prints `epoch: 1 step: 1, loss is 2.3025` every per_print_times steps, 0 for never (MindSpore: train.LossMonitor).

    Ends the training with ArgumentValueError GC212 when the loss, of a step that returns nothing else, is infinite or NaN. In
    `fit` it prints what an evaluation gave. In sink mode: the loss of the last step, at the first sink's end that is due.
    Raises ArgumentTypeError or ArgumentValueError unless per_print_times is an int >= 0.
    """

    in_fit_eval = False

    def __init__(self, per_print_times: int = 1) -> None:
        super().__init__()
        self._per_print_times = checks.integer("LossMonitor", "per_print_times", per_print_times, least=0)
        self._last_print_time = 0

    def begin(self, run_context: Any) -> None:
        """Count from the start."""
        self._last_print_time = 0

    def step_end(self, run_context: Any) -> None:
        """Print the loss when it is due."""
        params = run_context.original_args()
        epoch, step = params.get("cur_epoch_num", 1), step_in_epoch(params)
        loss = loss_of(params.net_outputs)
        if isinstance(loss, float) and not math.isfinite(loss):
            raise ArgumentValueError(
                f"In epoch: {epoch} step: {step}, loss is NAN or INF, training process cannot continue, "
                "terminating training.",
                code="GC212",
                loc=user_loc(),
                help="GRAPHC_FIND_NAN=1 in the environment names the first such value and its line; a smaller learning rate"
                " may do; steps with such gradients are skipped by nn.TrainOneStepWithLossScaleCell",
            )
        if self._per_print_times and params.cur_step_num - self._last_print_time >= self._per_print_times:
            self._last_print_time = params.cur_step_num
            print(f"epoch: {epoch} step: {step}, loss is {loss!s}", flush=True)

    def on_train_epoch_end(self, run_context: Any) -> None:
        """In `fit`: print what the evaluation gave."""
        params = run_context.original_args()
        if params.get("metrics"):
            print(f"Eval result: epoch {params.cur_epoch_num}, metrics: {params.metrics}", flush=True)


class TimeMonitor(Callback):
    """Prints `Train epoch time: 241.909 ms, per step time: 80.636 ms` after each epoch (MindSpore: train.TimeMonitor).

    data_size: the steps of an epoch where the run does not know them. data_time: adds how long a step waited for its data;
    in sink mode batches are taken in blocks, and their time is divided by the steps.
    Raises ArgumentTypeError or ArgumentValueError unless data_size is an int >= 1 or None and data_time a bool.
    """

    def __init__(self, data_size: int | None = None, data_time: bool = False) -> None:
        super().__init__()
        self.data_size = None if data_size is None else checks.integer("TimeMonitor", "data_size", data_size)
        self.data_time = checks.boolean("TimeMonitor", "data_time", data_time)
        self.epoch_time = self.data_time_start = self._eval_began = time.time()
        self.data_time_sum = 0.0

    def on_eval_epoch_begin(self, run_context: Any) -> None:
        """Start another clock: an evaluation in `fit` lies within an epoch of the training."""
        self._eval_began = time.time()

    def on_eval_epoch_end(self, run_context: Any) -> None:
        """Print the time of the evaluation."""
        self._print(run_context.original_args(), self._eval_began, "Eval")

    def epoch_begin(self, run_context: Any) -> None:
        """Start the clock."""
        self.epoch_time = self.data_time_start = time.time()
        self.data_time_sum = 0.0

    def on_train_step_begin(self, run_context: Any) -> None:
        """The data are there."""
        sunk = run_context.original_args().get("sink_data_seconds")
        self.data_time_sum += time.time() - self.data_time_start if sunk is None else 0.0

    def on_train_step_end(self, run_context: Any) -> None:
        """The wait for the next data begins."""
        self.data_time_sum += run_context.original_args().get("sink_data_seconds") or 0.0
        self.data_time_start = time.time()

    def epoch_end(self, run_context: Any) -> None:
        """Print the times."""
        params = run_context.original_args()
        self._print(params, self.epoch_time, params.get("mode", "").title())

    def _print(self, params: Any, began: float, mode: str) -> None:
        took = (time.time() - began) * 1000
        steps = params.get("batch_num") or self.data_size
        if not steps:
            raise checks.wrong_value("TimeMonitor", "data_size", "given where the data set has no size", self.data_size)
        line = f"{mode} epoch time: {took:5.3f} ms, per step time: {took / steps:5.3f} ms"
        if self.data_time and mode == "Train":
            line += f" (data time: {self.data_time_sum * 1000 / steps:5.3f} ms)"
        print(line, flush=True)
