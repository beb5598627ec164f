"""What a training takes from a data set: batches one by one, or blocks of them for sinks.

A data set has `create_tuple_iterator(num_epochs, output_numpy)` or can be iterated again and again; it gives tuples, lists
or dicts of Tensors or arrays, and knows its size. Nothing else is asked of it.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.ops.tensor.arrays import native
from graphc.ops.tensor.tensor import Tensor, require_array

Array = np.ndarray[Any, np.dtype[Any]]


def size_of(owner: str, name: str, dataset: Any) -> int:
    """The steps of an epoch. ArgumentTypeError for what is no data set, ArgumentValueError for an empty one."""
    size = getattr(dataset, "get_dataset_size", None)
    if size is None and isinstance(dataset, Iterable) and not isinstance(dataset, (str, bytes, Iterator)):
        size = getattr(dataset, "__len__", None)
    if size is None:
        raise ArgumentTypeError(
            f"{owner}: {name} must be a data set, got {type(dataset).__name__}",
            loc=user_loc(),
            help="a data set of graphc.dataset, or what can be iterated in every epoch and has a length, as a list of tuples",
        )
    count = int(size())
    if count < 1:
        raise ArgumentValueError(
            f"{owner}: {name} is empty",
            code="GC210",
            loc=user_loc(),
            help="with drop_remainder=True a data set of fewer samples than a batch has none",
        )
    return count


def as_tensors(element: Any) -> tuple[Tensor, ...]:
    """What a data set gives, as a tuple of Tensors. ArgumentTypeError for anything that is no batch."""
    if isinstance(element, dict):
        element = tuple(element.values())
    elif not isinstance(element, (tuple, list)):
        element = (element,)
    made = []
    for x in element:
        if type(x) is np.ndarray and x.dtype.kind in "fiub" and x.dtype.isnative and x.flags.c_contiguous:
            made.append(Tensor.wrap(x))  # Most of them.
            continue
        if isinstance(x, np.ndarray) and x.dtype.kind not in "OUSMm":
            x = Tensor.wrap(np.ascontiguousarray(native(x)).reshape(x.shape))
        elif isinstance(x, (bool, int, float, np.generic)):
            x = Tensor(x)
        if not isinstance(x, Tensor):
            held = f"an array of {x.dtype}" if isinstance(x, np.ndarray) else type(x).__name__
            raise ArgumentTypeError(
                f"the data set gives {held} among its columns, Tensors or arrays of numbers are needed",
                code="GC210",
                loc=user_loc(),
            )
        made.append(x)
    return tuple(made)


def exhausted() -> ArgumentValueError:
    """The error for a data set that gives nothing where a pass begins."""
    return ArgumentValueError(
        "the data set has no batch any more",
        code="GC210",
        loc=user_loc(),
        help="every epoch is a pass of its own: a generator, for one, can be gone through once only",
    )


class Batches:
    """The batches of a data set, pass by pass."""

    def __init__(self, dataset: Any, passes: int) -> None:
        self._dataset = dataset
        make = getattr(dataset, "create_tuple_iterator", None)
        self._source: Any = dataset
        if make is not None:
            options = {"num_epochs": passes, "output_numpy": False, "do_copy": False}
            known = inspect.signature(make).parameters
            self._source = make(**{name: value for name, value in options.items() if name in known})
        self._blocks = getattr(self._source, "blocks", None)
        self._pass: Iterator[Any] | None = None
        self._held: tuple[Tensor, ...] | None = None

    def described(self, batch: tuple[Tensor, ...]) -> str:
        """The columns of a batch: "image f32[32,1,28,28], label i32[32]"."""
        names: Any = ()
        with contextlib.suppress(Exception):  # The data set may be what has failed.
            names = self._dataset.get_col_names()
        names = [f"{name} " for name in names] if len(names) == len(batch) else [""] * len(batch)
        return ", ".join(f"{name}{x.tensor_type}" for name, x in zip(names, batch, strict=True))

    def one_pass(self) -> Iterator[tuple[Tensor, ...]]:
        """The batches of the next pass."""
        for element in self._source:
            yield as_tensors(element)

    def block(self, steps: int) -> list[Array]:
        """For every column an array (n, *shape of a batch) with the next n <= steps batches; fewer at the end of a pass, and
        where a batch has another shape. The next pass follows by itself.
        """
        if self._blocks is not None:
            # None, or nothing, at the end of a pass.
            found = self._blocks(None, steps) or self._blocks(None, steps)
            if not found:
                raise exhausted()
            return list(found)
        batch: tuple[Tensor, ...] | None = self._next()
        types = [x.tensor_type for x in batch or ()]
        made = [np.empty((steps, *t.shape), t.numpy) for t in types]
        count = 0
        while batch is not None and [x.tensor_type for x in batch] == types:
            # Copied at once: a data set may fill the same memory again.
            for column, x in zip(made, batch, strict=True):
                column[count] = require_array(x)
            count += 1
            if count == steps:
                return made
            batch = self._next_of_pass()
        self._held = batch
        return [column[:count] for column in made]

    def state(self) -> dict[str, Any] | None:
        """Where the data set is, for its `load_state_dict`: the batches given so far do not come again. None if it cannot say."""
        describe = getattr(self._source, "state_dict", None)
        if describe is None:
            return None
        found = dict(describe())
        if found.get("position") == self._dataset.get_dataset_size():  # The next batch is that of the next pass.
            found |= {"epoch": found["epoch"] + 1, "position": 0}
        return found

    def close(self) -> None:
        """Let the data set's workers go."""
        if self._pass is not None:
            self._pass.close()  # type: ignore[attr-defined]
        self._pass = None
        release = getattr(self._source, "release", None)
        if release is not None and self._source is not self._dataset:
            release()

    def _next(self) -> tuple[Tensor, ...]:
        """The next batch, of the next pass where this one is over."""
        found = self._next_of_pass()
        if found is None:
            found = self._next_of_pass()
        if found is None:
            raise exhausted()
        return found

    def _next_of_pass(self) -> tuple[Tensor, ...] | None:
        """The next batch; None, once, at the end of a pass."""
        if self._held is not None:
            held, self._held = self._held, None
            return held
        if self._pass is None:
            self._pass = self.one_pass()
        found = next(self._pass, None)
        if found is None:
            self._pass = None
        return found
