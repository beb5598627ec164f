"""What all metrics share: the protocol clear, update, eval; inputs as arrays; their checks."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, GraphcError, user_loc
from graphc.nn import checks
from graphc.ops.tensor.tensor import Tensor

Array = np.ndarray[Any, np.dtype[Any]]
EVAL_TYPES = ("classification", "multilabel")


class MetricError(GraphcError, RuntimeError):
    """A metric without a value: nothing has been measured yet."""

    default_code = "GC211"


def rearrange_inputs(func: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator of `update`: it gets the inputs that `set_indexes` chose, in that order (MindSpore: rearrange_inputs)."""

    @functools.wraps(func)
    def update(self: Any, *inputs: Any) -> Any:
        indexes = self.indexes
        if not indexes:
            return func(self, *inputs)
        if max(indexes) >= len(inputs):
            raise misfit(type(self).__name__, f"indexes {indexes} choose among {len(inputs)} inputs")
        return func(self, *(inputs[i] for i in indexes))

    return update


class Metric(ABC):
    """Base of metrics, also of users' own (MindSpore: train.Metric).

    clear() forgets everything, update(*inputs) takes in one batch, eval() gives the value of all batches since.
    metric(*inputs) is the value of one batch alone. Inputs are Tensors, arrays or lists.
    """

    def __init__(self) -> None:
        self._indexes: list[int] | None = None

    @property
    def indexes(self) -> list[int] | None:
        """Which inputs `update` gets, in order; None for all."""
        return getattr(self, "_indexes", None)

    def set_indexes(self, indexes: list[int]) -> Metric:
        """Choose and order the inputs of `update`, which must be decorated with `rearrange_inputs`. Returns the metric.

        Raises ArgumentValueError unless indexes is a list of ints >= 0.
        """
        if not isinstance(indexes, list) or not all(checks.is_int(i) and i >= 0 for i in indexes):
            raise checks.wrong_value(type(self).__name__, "indexes", "a list of ints >= 0", indexes)
        self._indexes = indexes
        return self

    def _convert_data(self, data: Any) -> Array:
        """An input as an array. ArgumentTypeError unless it is a Tensor, an array or a list."""
        if isinstance(data, Tensor):
            return data.asnumpy()
        if not isinstance(data, (list, np.ndarray)):
            raise checks.wrong_type(type(self).__name__, "an input", "a Tensor, an array or a list", data)
        return np.asarray(data)

    def __call__(self, *inputs: Any) -> Any:
        """The value of one batch: clear, update, eval."""
        self.clear()
        self.update(*inputs)
        return self.eval()

    @abstractmethod
    def clear(self) -> None:
        """Forget everything."""

    @abstractmethod
    def eval(self) -> Any:
        """The value of all batches since `clear`."""

    @abstractmethod
    def update(self, *inputs: Any) -> None:
        """Take in one batch."""


def misfit(owner: str, message: str) -> ArgumentValueError:
    """The error for inputs that do not fit the metric or each other."""
    return ArgumentValueError(f"{owner}: {message}", code="GC211", loc=user_loc())


def counted(owner: str, inputs: tuple[Any, ...], *names: str) -> tuple[Any, ...]:
    """The inputs, if they are as many as `names`; else ArgumentValueError."""
    if len(inputs) != len(names):
        raise misfit(owner, f"update takes {len(names)} inputs ({', '.join(names)}), got {len(inputs)}")
    return inputs


def measured(owner: str, count: Any) -> None:
    """MetricError unless something has been measured."""
    if not count:
        raise MetricError(
            f"{owner} has no value: it has seen nothing since clear()",
            loc=user_loc(),
            help="call update(...) with at least one batch before eval()",
        )


class TwoInputs(Metric):
    """Metrics of a prediction and the truth."""

    def _pair(self, inputs: tuple[Any, ...]) -> tuple[Array, Array]:
        prediction, truth = counted(type(self).__name__, inputs, "prediction", "truth")
        return self._convert_data(prediction), self._convert_data(truth)


class EvaluationBase(TwoInputs):
    """Base of metrics of classes (MindSpore: EvaluationBase).

    eval_type: "classification", predictions [n, classes, ...] and labels [n, ...] or one-hot like the predictions; or
    "multilabel", both [n, classes, ...] of zeros and ones. ArgumentTypeError for anything else, as in MindSpore.
    """

    def __init__(self, eval_type: str = "classification") -> None:
        super().__init__()
        if eval_type not in EVAL_TYPES:
            raise ArgumentTypeError(
                f"{type(self).__name__}: eval_type must be one of {', '.join(map(repr, EVAL_TYPES))}, got {eval_type!r}",
                loc=user_loc(),
            )
        self._type = eval_type
        self._class_num = 0

    def _check_shape(self, y_pred: Array, y: Array) -> None:
        """ArgumentValueError unless the shapes fit."""
        owner = type(self).__name__
        if self._type == "multilabel":
            if y_pred.shape != y.shape:
                raise misfit(owner, f"prediction and truth must have one shape, got {y_pred.shape} and {y.shape}")
        elif y_pred.ndim < 2 or y.shape != (y_pred.shape[0], *y_pred.shape[2:]):
            raise misfit(
                owner,
                f"labels must have the shape of the predictions without axis 1, or be one-hot; got {y.shape} "
                f"for predictions {y_pred.shape}",
            )

    def _check_value(self, y_pred: Array, y: Array) -> None:
        """ArgumentValueError for "multilabel" inputs that are not all 0 or 1."""
        if self._type == "multilabel" and not all(is_binary(a) for a in (y_pred, y)):
            raise misfit(type(self).__name__, "multilabel predictions and truths are zeros and ones")

    def _checked(self, inputs: tuple[Any, ...]) -> tuple[Array, Array]:
        """Prediction [n, classes, ...] and labels, no longer one-hot in a classification; classes as before."""
        y_pred, y = self._pair(inputs)
        if self._type == "classification":
            y = indices(y_pred, y)
        self._check_shape(y_pred, y)
        self._check_value(y_pred, y)
        self._class_num = same_classes(type(self).__name__, self._class_num, y_pred)
        return y_pred, y


def is_binary(a: Array) -> bool:
    """Whether all elements are 0 or 1."""
    return bool(np.logical_or(a == 0, a == 1).all())


def indices(y_pred: Array, y: Array) -> Array:
    """Labels as indices: one-hot ones, which have as many axes as the prediction, are turned."""
    one_hot = y_pred.ndim == y.ndim > 1 and is_binary(y) and bool((y.sum(axis=1) == 1).all())
    return np.asarray(y.argmax(axis=1)) if one_hot else y


def same_classes(owner: str, before: int, y_pred: Array) -> int:
    """The number of classes; ArgumentValueError if it was another one before."""
    count = int(y_pred.shape[1])
    if before not in (0, count):
        raise misfit(owner, f"the predictions have {count} classes, those before had {before}")
    return count


def labels_within(owner: str, y: Array, classes: int) -> Array:
    """Labels, whole numbers, as int64[n]; ArgumentValueError if one is no class."""
    if y.size and not ((y >= 0) & (y < classes) & (y == np.floor(y))).all():
        raise misfit(owner, f"labels must be whole numbers from 0 to {classes - 1}, got {y.min():g} to {y.max():g}")
    return y.reshape(-1).astype(np.int64)


__all__ = ["Metric", "rearrange_inputs"]
