"""Primitives whose effect is outside the step, or that are of no concern to it."""

from __future__ import annotations

from typing import Any

from graphc.errors import AssertFailedError, user_loc
from graphc.ops import functional as F
from graphc.ops.functional.printing import raise_later
from graphc.ops.gradients.hypermap import partial
from graphc.ops.tensor.primitive import Primitive, declare
from graphc.ops.tensor.tensor import Tensor


class Print(Primitive):
    """Print its operands at every run: texts, numbers, tensors, one per line. Returns the first operand."""

    def __call__(self, *input_x: Any) -> Any:
        F.print_(*input_x)
        return input_x[0] if input_x else None


class Assert(Primitive):
    """AssertFailedError, a RuntimeError, with the data unless the condition holds; of each tensor `summarize` elements are shown.

    Of a condition that only the run tells, the step raises it when it has run, and prints the data.
    """

    def __init__(self, summarize: int = 3) -> None:
        super().__init__()
        self.summarize = summarize

    def __call__(self, condition: Any, input_data: Any) -> None:
        shown = [F.reshape(x, (-1,))[: self.summarize] if isinstance(x, Tensor) else x for x in input_data]
        if isinstance(condition, Tensor) and condition.array is None:
            error = AssertFailedError("assert failed", loc=user_loc())
            F.cond(condition, lambda: None, lambda: _fail_later(error, shown))
        elif not bool(condition):
            raise AssertFailedError(f"assert failed: {', '.join(str(x) for x in shown)}", loc=user_loc())


def _fail_later(error: Exception, shown: list[Any]) -> None:
    F.print_("For 'Assert' condition is false.")
    for x in shown:
        F.print_("input data:", x)
    raise_later(error)


def _nothing(*operands: Any) -> Any:
    """Accepted for MindSpore scripts: graphc writes no summaries. Returns the last operand."""
    return operands[-1] if operands else None


ScalarSummary, TensorSummary = declare("ScalarSummary", _nothing), declare("TensorSummary", _nothing)

ImageSummary, HistogramSummary = declare("ImageSummary", _nothing), declare("HistogramSummary", _nothing)


class Partial(Primitive):
    """A function with its first arguments given: called with (function, *arguments)."""

    def __call__(self, fn: Any, *args: Any) -> Any:
        return partial(fn, *args)
