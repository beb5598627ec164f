"""data_sink: a function or a Cell that takes its inputs from a data set, many steps per call."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.ops.tensor.tensor import Tensor
from graphc.steps.buckets import pad_calls
from graphc.steps.jit import FunctionCell
from graphc.train.batches import Batches, size_of
from graphc.train.sink import Sink
from graphc.validation.unused_arguments import no_effect, only


def data_sink(
    fn: Callable[..., Any],
    dataset: Any,
    sink_size: int = 1,
    jit_config: Any = None,
    input_signature: Any = None,
    *,
    buckets: Any = None,
) -> Callable[[], Any]:
    """A function without arguments that runs fn on the next sink_size batches of a data set, and returns what the last one gave
    (MindSpore: train.data_sink).

    fn: a Cell, or a function, which is compiled; called with the columns of a batch. All the steps of a call are one native
    loop. The data set is gone through again and again. The function has `losses`, float64 [sink_size], the mean of what the
    steps of the last call returned (of a tuple its first item), NaN for what is no float. jit_config has no effect, which is
    said once; input_signature is None. buckets: sizes to which batches are padded, as for `graphc.compile`
    (docs/shapes.md). Raises ArgumentTypeError or ArgumentValueError.
    """
    owner = "data_sink"
    if not callable(fn) or isinstance(fn, type):
        raise checks.wrong_type(owner, "fn", "a function or a Cell", fn)
    checks.integer(owner, "sink_size", sink_size)
    only(owner, "input_signature", input_signature, None)
    if jit_config is not None:
        no_effect(owner, "jit_config", "there is one way of compiling")
    size_of(owner, "dataset", dataset)
    cell = fn if isinstance(fn, Cell) else FunctionCell(fn)
    if buckets is not None:
        pad_calls(cell, buckets)
    sink = Sink(cell, Batches(dataset, -1), _any_batch)

    def sink_process() -> Any:
        sunk = sink.run(sink_size)
        sink_process.losses = sunk.losses  # type: ignore[attr-defined]
        return sunk.outputs

    if not isinstance(fn, Cell):
        functools.update_wrapper(sink_process, fn)
        del sink_process.__wrapped__  # type: ignore[attr-defined]  # Its arguments are not these.
    return sink_process


def _any_batch(batch: tuple[Tensor, ...]) -> None:
    """What the function does not take it refuses itself."""


__all__ = ["data_sink"]
