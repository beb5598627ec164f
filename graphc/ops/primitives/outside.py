"""Primitives whose effect is outside the step, or that are of no concern to it."""

from __future__ import annotations

from typing import Any

from graphc.errors import ArgumentValueError, TraceError, user_loc
from graphc.ops import functional as F
from graphc.ops.gradients.hypermap import partial
from graphc.ops.tensor.primitive import Primitive, declare
from graphc.ops.tensor.tensor import Tensor


class Print(Primitive):
    """Print its operands at every run: texts, numbers, tensors, one per line. Returns the first operand."""

    def __call__(self, *input_x: Any) -> Any:
        F.print_(*input_x)
        return input_x[0] if input_x else None


class Assert(Primitive):
    """ArgumentValueError with the data unless the condition, whose value must be known, holds."""

    def __init__(self, summarize: int = 3) -> None:
        super().__init__()
        self.summarize = summarize

    def __call__(self, condition: Any, input_data: Any) -> None:
        if isinstance(condition, Tensor) and condition.array is None:
            raise TraceError(
                "Assert needs a condition that is known when the Cell is compiled",
                code="GC120",
                loc=user_loc(),
                help="return the condition and test it in Python",
            )
        if not bool(condition):
            raise ArgumentValueError(f"Assert failed: {', '.join(str(x) for x in input_data)}", loc=user_loc())


def _nothing(*operands: Any) -> Any:
    """Accepted for MindSpore scripts: graphc writes no summaries. Returns the last operand."""
    return operands[-1] if operands else None


ScalarSummary, TensorSummary = declare("ScalarSummary", _nothing), declare("TensorSummary", _nothing)

ImageSummary, HistogramSummary = declare("ImageSummary", _nothing), declare("HistogramSummary", _nothing)


class Partial(Primitive):
    """A function with its first arguments given: called with (function, *arguments)."""

    def __call__(self, fn: Any, *args: Any) -> Any:
        return partial(fn, *args)
