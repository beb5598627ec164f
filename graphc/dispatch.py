"""Hooks: who declares the ops, the recorder that traces, and who runs Cells and gradients that are called outside a trace.

What stands higher installs itself here, so that `ir`, `ops` and `nn` never import it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from graphc.ir import Region
    from graphc.ops.tensor.tensor import Tensor


class Recorder(Protocol):
    """What a tracer does with the calls made while it is active."""

    #: Whether what is recorded is computed at once (PYNATIVE_MODE).
    immediate: bool
    #: Whether a turn of a Scan is recorded, which had better write nothing.
    in_scan: bool
    #: Whether what asks for a value is called again when there is one.
    calls_again: bool

    @property
    def counts(self) -> bool: ...

    def shape_of(self, x: Tensor) -> tuple[int, ...]: ...

    def is_place(self, x: Tensor) -> bool: ...

    def value_of(self, x: Tensor) -> Any: ...

    def forgives(self, error: Exception, refused: bool = False) -> bool: ...

    @property
    def compared(self) -> bool: ...

    def record(
        self, op: str, operands: Sequence[Tensor], attrs: dict[str, Any], after: Any = ()
    ) -> tuple[Tensor, ...]: ...

    def call_cell(self, cell: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any: ...

    def call_function(
        self, fn: Callable[..., Any], cell: Callable[[], Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any: ...

    def cond(
        self, pred: Tensor, then: Callable[..., Any], orelse: Callable[..., Any], operands: tuple[Any, ...]
    ) -> Any: ...

    def while_loop(
        self, test: Callable[..., Any], body: Callable[..., Any], carried: tuple[Any, ...]
    ) -> tuple[Any, ...]: ...

    def scan(
        self, turn: Callable[[Any, Any], Any], carried: Any, rows: Any, turns: int, reverse: bool
    ) -> tuple[Any, Any] | None: ...

    def depend(self, value: Any, on: Any) -> Any: ...

    def depend_on(self, value: Tensor, after: tuple[int, ...]) -> Tensor: ...

    def assign(self, variable: Any, value: Tensor) -> Tensor: ...

    def recalls(self, cell: Any, name: str) -> bool: ...

    def sets(self, cell: Any, name: str, value: Any) -> bool: ...

    def writes_constant(self, x: Tensor) -> None: ...

    def gradient(self, fn: Callable[..., Any], weights: Any, args: tuple[Any, ...], options: Any) -> Any: ...

    def found(self, mask: Tensor, name: str) -> Tensor: ...

    def ranks(self, mask: Tensor, size: int) -> Tensor | None: ...

    def custom_gradient(self, name: str, args: tuple[Any, ...], result: Any, bprop: Callable[..., Any]) -> Any: ...

    def overwrite(self, x: Any, made: Any) -> None: ...

    def prepared(self, fn: Callable[..., Any], given: tuple[Any, ...] = ()) -> Callable[..., Any]: ...

    def region(self, name: Region) -> AbstractContextManager[None]: ...


#: The active tracer of this thread, or None.
recorder: ContextVar[Recorder | None] = ContextVar("graphc_recorder", default=None)


def known_array(x: Any) -> Any:
    """The contents of a tensor that are the same in every run: of one that is there, or that a step would make of such alone;
    None of others.
    """
    array, active = x.array, recorder.get()
    return active.value_of(x) if array is None and active is not None else array


def refuse(error: Exception) -> None:
    """Raise an error about sizes, unless whoever traces wants to see how it goes on."""
    active = recorder.get()
    if active is None or not active.forgives(error, refused=True):
        raise error


#: Which part of a batch is computed, where it is taken in parts.
micro_batch: ContextVar[int] = ContextVar("graphc_micro_batch", default=0)

#: Fills the registry of ops; set by graphc, called when an op is not there.
declare_ops: Callable[[], object] | None = None

#: The low dtype in which functions of lists compute (`graphc.ops.tensor.autocast`); None: all as they are given.
low: ContextVar[str | None] = ContextVar("graphc_low", default=None)

#: Whether what is computed is constant to gradients (`graphc.compat.gradients`).
detached: ContextVar[bool] = ContextVar("graphc_detached", default=False)

#: Runs a Cell that is called outside a trace; set by graphc.steps.calls.
execute_cell: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any] | None = None

#: Compiles a Cell for arguments ahead of a call; set by graphc.steps.calls.
compile_cell: Callable[[Any, tuple[Any, ...], dict[str, Any]], object] | None = None

#: Runs a gradient function that is called outside a trace; set by graphc.steps.calls.
execute_gradient: Callable[[Callable[..., Any], Any, tuple[Any, ...], Any], Any] | None = None

#: Grows whenever a Cell's structure, training mode or a parameter's requires_grad changes; see `touch`.
version = 0


def touch() -> None:
    """Note that compiled steps of some Cell may no longer fit it."""
    global version
    version += 1


@contextmanager
def of_micro_batch(number: int) -> Iterator[None]:
    """What is recorded inside is of that part of the batch."""
    token = micro_batch.set(number)
    try:
        yield
    finally:
        micro_batch.reset(token)


@contextmanager
def region(name: Region) -> Iterator[None]:
    """Nodes recorded inside belong to this part of the training step. Nothing happens outside a trace."""
    active = recorder.get()
    if active is None:
        yield
        return
    with active.region(name):
        yield
