"""What graphc is called with: arguments that a function or class of its own has not, misses or is given twice are one kind of
error, whoever is called.

`accept(globals(), __all__, __name__)` at the end of a module puts what users call there in its hands: functions get a wrapper
in their place, constructors and methods of classes one where they stand.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterable
from copy import deepcopy
from enum import EnumMeta
from types import CodeType, FrameType, FunctionType
from typing import Any, ParamSpec, TypeVar

from graphc import dispatch
from graphc.errors import ArgumentTypeError, user_loc
from graphc.tracebacks import clean
from graphc.validation.numbers import refuse_unknown, with_numbers
from graphc.validation.wrong_arguments import refuse_kind

P = ParamSpec("P")
R = TypeVar("R")

#: The wrapper of each function that has one, and of each wrapper itself: names of one function stay names of one function.
wrappers: dict[Any, Any] = {}
#: Classes whose members are wrapped.
_classes: set[type] = set()
#: Code that makes the calls of converted functions for them.
passing: set[CodeType] = set()
#: Methods that tracing calls, which tells about their arguments itself.
_TRACED = frozenset(("construct", "bprop"))


def accept(members: dict[str, Any], names: Iterable[str], module: str) -> None:
    """Refuse wrong arguments of the functions and classes of these names, which are found in `module`."""
    for name in names:
        members[name] = accepting(members[name], module)


def accepting(member: Any, module: str) -> Any:
    """A function with the wrapper around it; a class whose own members, and those of its bases, have theirs; else the member."""
    if isinstance(member, FunctionType):
        if not is_ours(member.__module__):
            return member
        if member not in wrappers:
            made = wrapper(member)
            made.__module__ = module  # By which it is pickled.
            wrappers[member] = wrappers[made] = made
        return wrappers[member]
    if isinstance(member, type) and not (issubclass(member, BaseException) or isinstance(member, EnumMeta)):
        for base in member.__mro__:
            if base not in _classes and is_ours(base.__module__):
                _classes.add(base)
                _wrap_members(base)
    return member


def wrapper(function: Callable[P, R], owner: str = "") -> Callable[P, R]:
    """A function that refuses other arguments than those of its signature (ArgumentTypeError, GC100); what it raises has the
    user's frames alone. owner: of a constructor, the name of its class; where it takes numbers, tensors and NumPy's numbers whose
    values are known count as such.
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            try:
                return function(*args, **kwargs)
            except Exception as error:
                known = with_numbers(function, error, args, kwargs) if owner else None
                if known is not None:
                    return call(*known[0], **known[1])
                name = owner and _known_as(owner, args[0])
                refuse_unknown(function, error, args, kwargs, name)
                refuse_kind(function, error, args, kwargs, name)
                raise
        except Exception as error:
            if dispatch.recorder.get() is None:
                clean(error)
            raise

    return call


def constructor(function: Callable[P, None], owner: str) -> Callable[P, None]:
    """`wrapper` for the `__init__` of a class."""
    made = wrapper(function, owner)
    wrappers[made] = made
    return made


class Remembers:
    """A class whose objects know what they were made with: `made_with` is (positional arguments, arguments by name) of the
    constructor that was called; None of classes that `accept` has not in its hands. Lists, dicts and arrays are copied, for it
    and for the constructor: what becomes of them later changes neither.
    """

    made_with: tuple[tuple[Any, ...], dict[str, Any]] | None = None


class Plain:
    """A class whose objects are data that may change, of which `Remembers` has copies."""


def _constructor_of(cls: type, function: Callable[..., None]) -> Callable[..., None]:
    """`constructor` for a class, which also leaves what it was given in `made_with` if objects of the class remember it; of
    several in a row the outermost.
    """
    checked = constructor(function, cls.__name__)
    return _remembering(checked) if issubclass(cls, Remembers) else checked


def _remembering(function: Callable[..., None]) -> Callable[..., None]:

    @functools.wraps(function)
    def made(self: Any, *args: Any, **kwargs: Any) -> None:
        kept = tuple(map(_kept, args)), {name: _kept(value) for name, value in kwargs.items()}
        try:
            function(self, *map(_kept, args), **{name: _kept(value) for name, value in kwargs.items()})
        except Exception as error:
            if dispatch.recorder.get() is None:
                clean(error)
            raise
        self.made_with = kept

    wrappers[made] = made
    return made


def _kept(value: Any) -> Any:
    """A value that nobody else changes: of the user's own kinds, and of functions, the same one."""
    if type(value) in (list, tuple):
        return type(value)(map(_kept, value))
    if type(value) is dict:
        return {key: _kept(held) for key, held in value.items()}
    return deepcopy(value) if isinstance(value, Plain) or _is_array(value) else value


def _is_array(value: Any) -> bool:
    numpy = sys.modules.get("numpy")  # Which much of graphc does without.
    return numpy is not None and isinstance(value, numpy.ndarray)


def caller(of: object = None) -> FrameType:
    """The frame that calls what calls this; left out are wrappers, what calls for a converted function, and methods of the
    object `of`, which somebody may have put in the place of others.
    """
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    frame = frame.f_back.f_back
    while frame is not None and frame.f_back is not None:
        passes_on = frame.f_code.co_filename == __file__ or frame.f_code in passing
        if not passes_on and (of is None or not _is_given(frame, of)):
            break
        frame = frame.f_back
    assert frame is not None
    return frame


def _is_given(frame: FrameType, instance: object) -> bool:
    """Whether a frame is of a function that has an object as its first argument."""
    names = frame.f_code.co_varnames
    first = frame.f_locals.get(names[0]) if names else None
    return first is instance or (type(first) is tuple and bool(first) and first[0] is instance)


def _wrap_members(cls: type) -> None:
    """Wrap the constructor and the methods that a class defines itself."""
    for name, member in list(vars(cls).items()):
        held = member.__func__ if isinstance(member, (staticmethod, classmethod)) else member
        if not isinstance(held, FunctionType) or held in wrappers:
            continue
        if name == "__init__":
            made: Any = _constructor_of(cls, held)
        elif name == "__new__":
            made = constructor(held, cls.__name__)
        elif name == "__call__" or not (name.startswith("_") or name in _TRACED):
            if _takes_anything(held):
                continue
            made = wrapper(held)
            wrappers[made] = made
        else:
            continue
        type.__setattr__(cls, name, made if held is member else type(member)(made))
    if _is_inherited(cls, "__init__") and _is_inherited(cls, "__new__"):
        type.__setattr__(cls, "__init__", _constructor_of(cls, _nothing_to_set(cls)))


def _nothing_to_set(cls: Any) -> Callable[..., None]:
    """An `__init__` for a class without one; a subclass of the user's may have other bases behind it, which get theirs."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        following: Any = super(cls, self).__init__
        if getattr(following, "__objclass__", None) is not object:
            following(*args, **kwargs)
        elif (args or kwargs) and _is_inherited(type(self), "__new__"):
            raise ArgumentTypeError(f"{_known_as(cls.__name__, self)}: takes no arguments", loc=user_loc())

    __init__.__signature__ = inspect.Signature(_SELF)  # type: ignore[attr-defined]
    return __init__


def _is_inherited(cls: type, name: str) -> bool:
    """Whether a class has a method of `object`'s."""
    return getattr(cls, name) is getattr(object, name)


_SELF = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]


def _known_as(owner: str, made: Any) -> str:
    """By which name users know the class whose constructor makes this."""
    mro = (made if isinstance(made, type) else type(made)).__mro__
    return next((c.__name__ for c in mro if is_ours(c.__module__)), owner)


def is_ours(module: str) -> bool:
    """Whether a module is one of graphc, its examples left out."""
    return module.partition(".")[0] == "graphc" and not module.startswith("graphc.examples")


def _takes_anything(function: FunctionType) -> bool:
    both = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
    code = function.__code__
    return code.co_flags & both == both and code.co_argcount + code.co_kwonlyargcount <= 1
