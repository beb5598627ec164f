"""DatasetHelper: the batches of a data set for loops that users write, one by one or sink by sink."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from graphc.errors import ArgumentValueError, user_loc
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.ops.tensor.tensor import Tensor
from graphc.train.batches import Batches, as_tensors, size_of
from graphc.train.sink import Sink


class DatasetHelper:
    """What a training loop goes through (MindSpore: train.DatasetHelper).

    Without dataset_sink_mode every `for` is a pass over the data set, of which there are epoch_num, and gives lists of
    Tensors. With it a `for` is one sink of sink_size steps, -1 for as many as the data set has: it gives an empty tuple once,
    for a call of what `connect_network_with_dataset` returns. Raises ArgumentTypeError or ArgumentValueError.
    """

    def __init__(self, dataset: Any, dataset_sink_mode: bool = True, sink_size: int = -1, epoch_num: int = 1) -> None:
        owner = "DatasetHelper"
        size = size_of(owner, "dataset", dataset)
        self._dataset = dataset
        self.sinks = checks.boolean(owner, "dataset_sink_mode", dataset_sink_mode)
        self._sink_size = size if sink_size == -1 else checks.integer(owner, "sink_size", sink_size)
        checks.integer(owner, "epoch_num", epoch_num)
        self.batches = Batches(dataset, -1 if self.sinks else epoch_num)

    def __iter__(self) -> Iterator[Sequence[Tensor]]:
        return iter([()]) if self.sinks else map(list, self.batches.one_pass())

    def types_shapes(self) -> tuple[list[Any], list[tuple[int, ...]]]:
        """The dtypes and shapes of a batch's columns."""
        first = as_tensors(next(iter(self._dataset)))
        return [x.dtype for x in first], [x.shape for x in first]

    def sink_size(self) -> int:
        """The steps of a sink, 1 without sinks."""
        return self._sink_size if self.sinks else 1

    def release(self) -> None:
        """Let the data set's workers go."""
        self.batches.close()

    stop_send = release

    def continue_send(self) -> None:
        """Nothing: the next sink goes on where the last one has ended."""


class Sinking(Cell):
    """A network that takes its inputs from a data set: a call without arguments is one sink."""

    def __init__(self, network: Cell, helper: DatasetHelper) -> None:
        super().__init__(auto_prefix=False)
        self.network = network
        self._sink = Sink(network, helper.batches, lambda batch: None)
        self._steps = helper.sink_size()

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        if inputs or named:
            raise ArgumentValueError(
                f"{type(self.network).__name__} takes its inputs from the data set, it is called without any",
                loc=user_loc(),
            )
        return self._sink.run(self._steps).outputs


def connect_network_with_dataset(network: Cell, dataset_helper: DatasetHelper) -> Cell:
    """A Cell whose call, without arguments, runs the network on the helper's next sink, in one native loop, and returns what the
    last step returned (MindSpore: train.connect_network_with_dataset).

    Raises ArgumentTypeError; ArgumentValueError for a helper without dataset_sink_mode.
    """
    owner = "connect_network_with_dataset"
    if not isinstance(network, Cell):
        raise checks.wrong_type(owner, "network", "a Cell", network)
    if not isinstance(dataset_helper, DatasetHelper):
        raise checks.wrong_type(owner, "dataset_helper", "a DatasetHelper", dataset_helper)
    if not dataset_helper.sinks:
        raise ArgumentValueError(f"{owner}: the helper needs dataset_sink_mode=True", loc=user_loc())
    return network if isinstance(network, Sinking) else Sinking(network, dataset_helper)
