"""Where an op call goes: to the recorder that is tracing, else to the NumPy reference. Where a Cell call goes: likewise.

`graphc.trace` and `graphc.api` install themselves here, so that ops and nn never import them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

from graphc.errors import TraceError, user_loc
from graphc.ir import Region, get_op
from graphc.ops import reference

if TYPE_CHECKING:
    from graphc.ops.tensor import Tensor


class Recorder(Protocol):
    """What a tracer does with the calls made while it is active."""

    #: Whether what is recorded is computed at once (PYNATIVE_MODE).
    immediate: bool

    def record(
        self, op: str, operands: Sequence[Tensor], attrs: dict[str, Any], after: Any = ()
    ) -> tuple[Tensor, ...]: ...

    def call_cell(self, cell: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any: ...

    def cond(
        self, pred: Tensor, then: Callable[..., Any], orelse: Callable[..., Any], operands: tuple[Any, ...]
    ) -> Any: ...

    def while_loop(
        self, test: Callable[..., Any], body: Callable[..., Any], carried: tuple[Any, ...]
    ) -> tuple[Any, ...]: ...

    def depend(self, value: Any, on: Any) -> Any: ...

    def depend_on(self, value: Tensor, after: tuple[int, ...]) -> Tensor: ...

    def assign(self, variable: Any, value: Tensor) -> Tensor: ...

    def gradient(self, fn: Callable[..., Any], weights: Any, args: tuple[Any, ...], options: Any) -> Any: ...

    def custom_gradient(self, name: str, args: tuple[Any, ...], result: Any, bprop: Callable[..., Any]) -> Any: ...

    def prepared(self, fn: Callable[..., Any]) -> Callable[..., Any]: ...

    def region(self, name: Region) -> AbstractContextManager[None]: ...


#: The active tracer of this thread, or None.
recorder: ContextVar[Recorder | None] = ContextVar("graphc_recorder", default=None)

#: Runs a Cell that is called outside a trace; set by graphc.api.
execute_cell: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any] | None = None

#: Runs a gradient function that is called outside a trace; set by graphc.api.
execute_gradient: Callable[[Callable[..., Any], Any, tuple[Any, ...], Any], Any] | None = None


#: Grows whenever a Cell's structure, training mode or a parameter's requires_grad changes; see `touch`.
version = 0


def touch() -> None:
    """Note that compiled steps of some Cell may no longer fit it."""
    global version
    version += 1


def call(op: str, *operands: Tensor, **attrs: Any) -> Any:
    """Apply an op to tensors; returns a Tensor, or a tuple when the op has several results."""
    active = recorder.get()
    results = active.record(op, operands, attrs) if active is not None else _eager(op, operands, attrs)
    return results[0] if len(results) == 1 else results


def _eager(op: str, operands: Sequence[Tensor], attrs: dict[str, Any]) -> tuple[Tensor, ...]:
    from graphc.ops.tensor import Tensor

    definition = get_op(op)
    definition.check_arity(len(operands))
    full = definition.complete(attrs)
    arrays = [require_array(x) for x in operands]
    if definition.infer is None:
        raise TraceError(f"{op} has no meaning outside a compiled Cell")
    types = definition.infer([x.type for x in operands], full)
    made = reference.apply(definition, types, arrays, full, exact=False)
    return tuple(Tensor.wrap(a) for a in made)


def require_array(x: Tensor) -> Any:
    """The contents of a tensor; TraceError if it is a traced one that outlived its trace."""
    array = x.array
    if array is None:
        raise TraceError(
            "a traced tensor is used outside the trace that made it: its value exists only inside the compiled step",
            code="GC132",
            loc=user_loc(),
            help="return it from construct, or assign it to a Parameter",
        )
    return array


@contextmanager
def region(name: Region) -> Iterator[None]:
    """Nodes recorded inside belong to this part of the training step. Nothing happens outside a trace."""
    active = recorder.get()
    if active is None:
        yield
        return
    with active.region(name):
        yield
