"""The loops over a data set: training step by step or sink by sink, and evaluation."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from graphc.errors import ArgumentValueError, ShapeError, user_loc
from graphc.nn.cell.cell import Cell
from graphc.nn.metrics import Loss
from graphc.ops.tensor.tensor import Tensor, require_array
from graphc.train.batches import Batches, exhausted
from graphc.train.callbacks.base import CallbackList
from graphc.train.context import CallbackParams, RunContext
from graphc.train.outputs import overflow_of
from graphc.train.rank_callbacks import Stopping
from graphc.train.sink import Sink

_logger = logging.getLogger("graphc")


@dataclass
class Training:
    """One training of a network: what it runs on, and what happens at its stages.

    evaluate: called at the end of the epochs of which `evaluates` is true. resume: called before a step or a sink, to put the
    network into training mode again if it was evaluated. pairs: the batches must be pairs, for the network
    and for the loss. update_scale: gets whether a step overflowed, where somebody on the host counts that; else None.
    said: what has been said and is not said again. stopping: whether to end before the time.
    """

    network: Cell
    batches: Batches
    params: CallbackParams
    callbacks: CallbackList
    context: RunContext
    first_epoch: int
    last_epoch: int
    pairs: bool
    evaluates: Callable[[int], bool]
    evaluate: Callable[[], None]
    resume: Callable[[], None]
    update_scale: Callable[[bool], None] | None
    said: set[str]
    stopping: Stopping
    _rows: int | None = None
    _batch: tuple[Tensor, ...] = ()

    def run(self, sink_size: int | None) -> None:
        """All epochs: sinks of so many steps, or step by step for None."""
        params = self.params
        params.dataset_state = self.batches.state
        sink = None if sink_size is None else Sink(self.network, self.batches, self.check)
        try:
            self.network.set_train(True)
            self.callbacks.call("on_train_begin", self.context)
            for epoch in range(self.first_epoch, self.last_epoch):
                params.cur_epoch_num = epoch + 1
                self.callbacks.call("on_train_epoch_begin", self.context)
                if sink is None:
                    self._steps()
                else:
                    self._one_sink(sink, sink_size or 0)
                if self.evaluates(epoch + 1):
                    self.evaluate()
                self.callbacks.call("on_train_epoch_end", self.context)
                params.pop("metrics", None)
                params.pop("eval_results", None)
                if self.stopping.after_epoch(self.context):
                    break
        except BaseException as error:
            if not getattr(error, "__notes__", None):
                error.add_note(f"broken off in epoch {params.cur_epoch_num} at step {params.cur_step_num}")
                if isinstance(error, (ShapeError, TypeError)) and self._batch:
                    error.add_note(f"the data set gives {self.batches.described(self._batch)}, in this order")
            self.callbacks.finish("on_train_end", self.context, error)
        else:
            self.callbacks.finish("on_train_end", self.context)
        finally:
            self.batches.close()

    def _steps(self) -> None:
        """An epoch, step by step."""
        params, network, call, context = self.params, self.network, self.callbacks.call, self.context
        before = params.cur_step_num
        for batch in self.batches.one_pass():
            self.check(batch)
            params["cur_step_num"] += 1
            params["train_dataset_element"] = batch
            call("on_train_step_begin", context)
            self.resume()
            params["net_outputs"] = outputs = network(*batch)
            if self.update_scale is not None:
                self.update_scale(bool(overflow_of(outputs)))
            call("on_train_step_end", context)
            if self.stopping.after_step(context):
                break
        if params.cur_step_num == before:
            raise exhausted()

    def _one_sink(self, sink: Sink, steps: int) -> None:
        """An epoch that is one sink."""
        params = self.params
        params.cur_step_num += steps
        self.callbacks.call("on_train_step_begin", self.context)
        self.resume()
        sunk = sink.run(steps)
        params.net_outputs, params.train_dataset_element = sunk.outputs, sunk.inputs
        params.sink_losses, params.sink_overflows, params.sink_scales = sunk.losses, sunk.overflows, sunk.scales
        params.sink_data_seconds = sunk.data_seconds
        if self.update_scale is not None:
            for overflow in [False] * steps if sunk.overflows is None else sunk.overflows:
                self.update_scale(bool(overflow))
        self.callbacks.call("on_train_step_end", self.context)

    def check(self, batch: tuple[Tensor, ...]) -> None:
        """ArgumentValueError for a batch that is no pair where it must be one; says once that a batch is a partial one."""
        if self.pairs and len(batch) != 2:
            raise ArgumentValueError(
                f"with a loss_fn the data set must give (data, label), it gives {len(batch)} column{'s' * (len(batch) != 1)}",
                code="GC210",
                loc=user_loc(),
                help="project([...]) chooses two columns; or let the network compute its loss, and leave out loss_fn",
            )
        self._batch = batch
        shape = require_array(batch[0]).shape if batch else ()
        rows = shape[0] if shape else None
        if self._rows is None:
            self._rows = rows
        elif rows != self._rows and "partial" not in self.said:
            self.said.add("partial")
            _logger.warning(
                "a batch has %s rows instead of %s, which is one more compilation; batch(..., drop_remainder=True) "
                "leaves out the last rows of an epoch",
                rows,
                self._rows,
            )


def evaluate(
    network: Cell,
    dataset: Any,
    params: CallbackParams,
    callbacks: CallbackList,
    update: Callable[[Any], None],
    values: Callable[[], dict[str, Any]],
    loss_at: int | None,
) -> dict[str, Any]:
    """One pass over a data set. `update` takes in what the network returns for a batch, `values` gives the metrics.

    loss_at: which of the results is the loss, if its mean is wanted, as "eval_loss" in `params.eval_results`.
    """
    context = RunContext(params)
    batches = Batches(dataset, 1)
    loss = Loss()
    try:
        callbacks.call("on_eval_begin", context)
        callbacks.call("on_eval_epoch_begin", context)
        network.set_train(False)
        for batch in batches.one_pass():
            params.cur_step_num += 1
            params.eval_dataset_element = batch
            callbacks.call("on_eval_step_begin", context)
            params.net_outputs = outputs = network(*batch)
            callbacks.call("on_eval_step_end", context)
            update(outputs)
            if loss_at is not None:
                loss.update(outputs[loss_at])
            if context.get_stop_requested():
                break
        callbacks.call("on_eval_epoch_end", context)
        params.metrics = values()
        if loss_at is not None:
            params.eval_results = {**copy.deepcopy(params.metrics), "eval_loss": loss.eval()}
    except BaseException as error:
        callbacks.finish("on_eval_end", context, error)
    else:
        callbacks.finish("on_eval_end", context)
    finally:
        batches.close()
    return dict(params.metrics)
