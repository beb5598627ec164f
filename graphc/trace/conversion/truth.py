"""Truth values of tensors in converted code: of what is known only when the step runs, a tensor of dtype bool."""

from __future__ import annotations

from typing import Any

from graphc import dispatch
from graphc.errors import TraceValueError, user_loc
from graphc.ops import functional as F
from graphc.ops.functional.traced_numbers import as_number
from graphc.ops.tensor.deferred import Stacked
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor
from graphc.trace.dynamic.size_numbers import decided
from graphc.trace.recorder import GraphRecorder
from graphc.trace.standins import Appended


def active_recorder() -> GraphRecorder:
    """The active recorder: converted code runs only while one traces."""
    active = dispatch.recorder.get()
    assert isinstance(active, GraphRecorder)
    return active


def is_traced(x: Any) -> bool:
    """Whether a value is known only when the step runs; a Parameter's is, though it has one now."""
    return isinstance(x, Parameter) or (isinstance(x, Tensor) and x.array is None)


def one_element(cond: Tensor) -> Tensor:
    """A condition; TraceValueError GC120 if it has several elements."""
    if cond.shape not in ((), (1,)):
        raise TraceValueError(
            f"a condition must be one element, this one is {cond.tensor_type}",
            code="GC120",
            loc=user_loc(),
            help="reduce it first, for example with .any() or .all()",
        )
    return cond


def truth(x: Any) -> Any:
    """What stands for x where only its truth value counts: of a tensor that is not known, whether it is nonzero."""
    x = decided(held(x))
    if not is_traced(x) or is_flag(x):
        return x if isinstance(x, Tensor) else bool(x)
    return as_number(x, "bool") if x.is_number else F.cast(one_element(x), "bool")


def held(x: Any) -> Any:
    """The same; of a list of as many items as only the run tells, whether it has any."""
    if isinstance(x, Appended):
        return x.holds_any()
    return shape_of(x.rows[0])[0] > 0 if isinstance(x, Stacked) else x


def is_flag(x: Any) -> bool:
    """Whether x is True, False or one element of dtype bool."""
    return isinstance(x, bool) or (isinstance(x, Tensor) and x.tensor_type.dtype == "bool" and x.shape in ((), (1,)))


def shape_of(x: Tensor) -> tuple[int, ...]:
    """The shape of a tensor, with sizes that the step counts."""
    return active_recorder().shape_of(x)


def not_(x: Any) -> Any:
    """`not x`."""
    x = decided(held(x))
    return F.logical_not(truth(x)) if is_traced(x) else not x
