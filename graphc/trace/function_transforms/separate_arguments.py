"""Arguments of a differentiated call as values of their own: where the same tensor is given twice, or the function holds it, too,
the gradient for one place is not that for all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from types import FunctionType, MethodType
from typing import Any

from graphc.ir import Value
from graphc.nn.cell.cell import Cell
from graphc.ops.functional.core import call
from graphc.ops.gradients.reverse import GradFunction
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor, TracedTensor
from graphc.ops.tensor.tree import map_tensors, tensors
from graphc.trace.recorder import GraphRecorder


def separated(recorder: GraphRecorder, fn: Callable[..., Any], args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments; a tensor that occurs twice, or that fn holds, as a new value at each place."""
    values = [recorder.resolve(x) for x in tensors(args) if not isinstance(x, Parameter)]
    held = {recorder.resolve(x) for x in _held(fn) if _is_around(recorder, x.handle[0])}
    several: set[Value] = {v for v, n in Counter(values).items() if n > 1 or v in held}
    if not several:
        return args

    def one(x: Tensor) -> Tensor:
        return x if isinstance(x, Parameter) or recorder.resolve(x) not in several else apart(x)

    made: tuple[Any, ...] = map_tensors(one, args)
    return made


def _is_around(recorder: GraphRecorder, other: GraphRecorder) -> bool:
    """Whether the values of another recorder can be used here."""
    return recorder is other or (recorder.parent is not None and _is_around(recorder.parent, other))


def apart(x: Tensor) -> Tensor:
    """x as a value of its own, which stays when x is written."""
    made = call("Reshape", x, shape=x.shape)
    made = made.twin() if isinstance(made, TracedTensor) else made
    made.is_number = x.is_number
    return made


def _held(fn: Any) -> Iterator[TracedTensor]:
    """The traced tensors that a function holds: in closures, defaults, arguments of `partial`, and functions among these."""
    stack: list[Any] = [fn]
    seen: set[int] = set()
    while stack:
        item = stack.pop()
        if id(item) in seen or isinstance(item, Cell):
            continue
        seen.add(id(item))
        if isinstance(item, TracedTensor):
            yield item
        elif isinstance(item, GradFunction):
            stack.append(item.fn)
        elif isinstance(item, MethodType):
            stack.append(item.__func__)
        elif isinstance(item, partial):
            stack += [item.func, *item.args, *item.keywords.values()]
        elif isinstance(item, FunctionType):
            stack += [item.__defaults__, item.__kwdefaults__, *map(_contents, item.__closure__ or ())]
        elif isinstance(item, (tuple, list)):
            stack += item
        elif isinstance(item, dict):
            stack += item.values()


def _contents(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None  # A name that is not yet set.
