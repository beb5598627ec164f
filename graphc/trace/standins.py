"""What stands for what is no value yet: a parameter that is read later, a name that holds values of several kinds, and a list
that a loop appends to.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any, NamedTuple

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

    # What containers, objects and functions are asked for, and tensors are not, or for something else.

    def _use(self, *_: Any, **__: Any) -> Any:
        raise self.error()

    __add__ = __radd__ = __mul__ = __rmul__ = __or__ = __eq__ = __ne__ = __call__ = _use

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise self.error()

    __hash__ = Tensor.__hash__


class Opened(dict[Any, Any]):
    """A dict, for one way through the program, whose values are looked at one by one."""


class InFront(NamedTuple):
    """What a turn of a loop puts in front of a list."""

    item: Any


class Many(NamedTuple):
    """As many items as only the run tells, which a loop inside of a turn appends to a list."""

    items: Any


class Appended(list[Any]):
    """What a turn of a loop appends to a list, behind what it puts in front of it. The rest of the list is not known while the
    turn is traced: of it the last item, if there is one in every turn, is all that can be read.
    """

    last: Any = None

    def __getitem__(self, place: Any) -> Any:
        """The last item, where it is known; nothing else."""
        if type(place) is int and place == -1 and (last := self.end()) is not None:
            return last
        if not _joins(sys._getframe(1)):
            raise _unread()
        return list.__getitem__(self, place)

    def end(self) -> Any:
        """The last item: what the turn has appended, or what the list ends with before; None where only the run tells."""
        end = list.__getitem__(self, -1) if list.__len__(self) else None
        if isinstance(end, Many):
            return None
        return self.last if end is None or isinstance(end, InFront) else end

    def __add__(self, other: Any) -> Any:
        return self._with([*list.__iter__(self), *other]) if type(other) is list else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return self._with([*map(InFront, other), *list.__iter__(self)]) if type(other) is list else NotImplemented

    def insert(self, place: Any, item: Any) -> None:
        """In front of all others, nowhere else."""
        if type(place) is not int or place != 0:
            raise _unread()
        list.insert(self, 0, InFront(item))

    def holds_any(self) -> bool:
        """Whether there is an item in every turn. TraceError GC120 where only the run tells."""
        if not list.__len__(self) and self.last is None:
            raise _unread()
        return True

    def copied(self) -> Appended:
        """The same, for one way through the program."""
        return self._with(list.__iter__(self))

    def _with(self, items: Iterable[Any]) -> Appended:
        made = Appended(items)
        made.last = self.last
        return made


#: Modules that join what ways through the program have made of a list, whatever it holds.
_JOINING = {
    "graphc.ops.tensor.tree",
    "graphc.trace.flow.branches",
    "graphc.trace.flow.dynamic_lists",
    "graphc.trace.flow.dynamic_loops",
    "graphc.trace.flow.merging",
    "graphc.trace.flow.mixed_kinds",
    "graphc.trace.mutation.inplace",
}
_READING = (
    "__setitem__", "__delitem__", "__len__", "__iter__", "__contains__", "__reversed__", "__eq__", "__lt__",
    "__le__", "__gt__", "__ge__", "__mul__", "__imul__", "__rmul__", "pop", "remove", "clear", "index", "count",
    "sort", "reverse", "copy",
)  # fmt: skip


def _joins(frame: FrameType) -> bool:
    return frame.f_globals.get("__name__") in _JOINING


def _guarded(name: str) -> Callable[..., Any]:
    own = getattr(list, name)

    def read(self: Appended, *args: Any, **kwargs: Any) -> Any:
        if not _joins(sys._getframe(1)):
            raise _unread()
        return own(self, *args, **kwargs)

    return read


class UnreadError(TraceTypeError):
    """A list is read of which a turn knows only what it appends."""


def _unread() -> UnreadError:
    return UnreadError(
        "a list that a loop appends to is read inside of it, where only the run tells how many turns there have been",
        code="GC120",
        loc=user_loc(),
        help="begin with a list of one item, whose last one can be read; or keep what you read under a name of its own",
    )


for _name in _READING:
    setattr(Appended, _name, _guarded(_name))
