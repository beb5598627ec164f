"""Tensors that stand for what is no value yet: a parameter that is read later, and a name that holds values of several kinds."""

from __future__ import annotations

from typing import Any

from graphc import dispatch
from graphc.errors import Loc, TraceTypeError, user_loc
from graphc.ir import TensorType, Value
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor


class DeferredDepend(Tensor):
    """`depend(parameter, ...)`: still a reference to the parameter, read when used, but not before the given nodes."""

    def __init__(self, parameter: Parameter, after: tuple[int, ...]) -> None:
        self._array = None
        self.parameter = parameter
        self.after = after
        self.resolved: dict[Value, Value] = {}

    @property
    def tensor_type(self) -> TensorType:
        return self.parameter.tensor_type

    def value(self) -> Tensor:
        """What the parameter holds now, after the given nodes."""
        active: Any = dispatch.recorder.get()
        snapshot: Tensor = active.wrap(active.resolve(self))
        return snapshot

    __hash__ = Tensor.__hash__


class Joined(Tensor):
    """What a name holds after an `if` whose ways leave it values of different kinds, such as False and a tuple: it can be
    waited for, by its token, and not be used. Whatever else is done with it raises TraceTypeError GC122.
    """

    def __init__(self, token: Tensor, message: str, help: str, loc: Loc | None) -> None:
        self._array = None
        self.token = token
        self._said = (message, help, loc)

    @property
    def tensor_type(self) -> TensorType:
        raise self.error()

    def error(self, returned: bool = False) -> TraceTypeError:
        """That it is used, at the line of the use; that it is `returned`, at the line of the `if`."""
        message, help, loc = self._said
        use = None if returned else user_loc()
        if returned:
            message += ", and is returned"
        made = [f"the `if` is at {loc}"] if loc and loc != use else []
        return TraceTypeError(message, code="GC122", loc=use or loc, details=made, help=help)

    __hash__ = Tensor.__hash__
