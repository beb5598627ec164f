"""What graphc is called with: arguments that a function or class of its own has not, misses or is given twice are one kind of
error, whoever is called.

`accept(globals(), __all__, __name__)` at the end of a module puts what users call there in its hands: functions get a wrapper
in their place, constructors and methods of classes one where they stand.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable
from enum import EnumMeta
from types import FrameType, FunctionType
from typing import Any, ParamSpec, TypeVar

from graphc import dispatch
from graphc.errors import ArgumentTypeError, GraphcError, user_loc
from graphc.frames import clean
from graphc.suggest import nearest_argument, question

P = ParamSpec("P")
R = TypeVar("R")

#: The wrapper of each function that has one, and of each wrapper itself: names of one function stay names of one function.
wrappers: dict[Any, Any] = {}
#: Classes whose members are wrapped.
_classes: set[type] = set()
#: Methods that tracing calls, which tells about their arguments itself.
_TRACED = frozenset(("construct", "bprop"))


def accept(members: dict[str, Any], names: Iterable[str], module: str) -> None:
    """Refuse wrong arguments of the functions and classes of these names, which are found in `module`."""
    for name in names:
        members[name] = accepting(members[name], module)


def accepting(member: Any, module: str) -> Any:
    """A function with the wrapper around it; a class whose own members, and those of its bases, have theirs; else the member."""
    if isinstance(member, FunctionType):
        if not _is_ours(member.__module__):
            return member
        if member not in wrappers:
            made = wrapper(member)
            made.__module__ = module  # By which it is pickled.
            wrappers[member] = wrappers[made] = made
        return wrappers[member]
    if isinstance(member, type) and not (issubclass(member, BaseException) or isinstance(member, EnumMeta)):
        for base in member.__mro__:
            if base not in _classes and _is_ours(base.__module__):
                _classes.add(base)
                _wrap_members(base)
    return member


def wrapper(function: Callable[P, R], owner: str = "") -> Callable[P, R]:
    """A function that refuses other arguments than those of its signature (ArgumentTypeError, GC100); what it raises has the
    user's frames alone. owner: of a constructor, the name of its class.
    """

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            try:
                return function(*args, **kwargs)
            except TypeError as error:
                refuse_call(function, error, owner and _known_as(owner, args[0]))
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


def caller() -> FrameType:
    """The frame that calls what calls this, wrappers left out."""
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    frame = frame.f_back.f_back
    while frame is not None and frame.f_code.co_filename == __file__ and frame.f_back is not None:
        frame = frame.f_back
    assert frame is not None
    return frame


def without_annotations(signature: inspect.Signature) -> inspect.Signature:
    """A signature as errors show it: names and defaults."""
    return inspect.Signature([p.replace(annotation=p.empty) for p in signature.parameters.values()])


def refuse_call(function: Callable[..., Any], error: TypeError, name: str = "") -> None:
    """Raise ArgumentTypeError (GC100) in place of an error that the call of a function raised before its first line: that of
    arguments which it has not, or which are missing. So too if it hands its arguments on to a function that has them not.
    `name` is what users know the function by, if not its own.
    """
    if isinstance(error, GraphcError) or not (_before_first_line(error) or _handed_on(function, error)):
        return
    name = name or function.__name__.strip("_")
    known = list(without_annotations(inspect.signature(function)).parameters.values())
    bound = known and known[0].name in ("self", "cls")
    accepted = inspect.Signature(known[1:] if bound else known)
    # From Python 3.13 on a suggestion may follow, which the arguments make needless.
    what = str(error).partition("() ")[2].partition(". Did you mean")[0]
    given = re.search(r"unexpected keyword argument '(\w+)'", what)
    raise ArgumentTypeError(
        f"{name}: {_without_self(what) if bound else what}; {_how_called(function, accepted)}",
        loc=user_loc(),
        help=question(nearest_argument(given[1], accepted.parameters)) if given else None,
    ) from None


def _wrap_members(cls: type) -> None:
    """Wrap the constructor and the methods that a class defines itself."""
    for name, member in list(vars(cls).items()):
        held = member.__func__ if isinstance(member, (staticmethod, classmethod)) else member
        if not isinstance(held, FunctionType) or held in wrappers:
            continue
        if name in ("__init__", "__new__"):
            made: Any = constructor(held, cls.__name__)
        elif name == "__call__" or not (name.startswith("_") or name in _TRACED):
            if _takes_anything(held):
                continue
            made = wrapper(held)
            wrappers[made] = made
        else:
            continue
        type.__setattr__(cls, name, made if held is member else type(member)(made))
    if _is_inherited(cls, "__init__") and _is_inherited(cls, "__new__"):
        type.__setattr__(cls, "__init__", constructor(_nothing_to_set(cls), cls.__name__))


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
    return next((c.__name__ for c in mro if _is_ours(c.__module__)), owner)


def _is_ours(module: str) -> bool:
    return module.partition(".")[0] == "graphc" and not module.startswith("graphc.examples")


def _takes_anything(function: FunctionType) -> bool:
    both = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
    code = function.__code__
    return code.co_flags & both == both and code.co_argcount + code.co_kwonlyargcount <= 1


def _without_self(what: str) -> str:
    """What Python says of numbers of arguments, which count the object whose method is called."""

    def fewer(found: re.Match[str]) -> str:
        least, most, given = (n and str(int(n) - 1) for n in found.group(1, 2, 3))
        many = "" if most == "1" and not least else "s"
        were = "was" if given == "1" and found[4] == "" else "were"
        return f"takes {f'from {least} to ' if least else ''}{most} positional argument{many} but {given}{found[4]} {were} given"

    return re.sub(r"takes (?:from (\d+) to )?(\d+) positional arguments? but (\d+)(.*) w\w+ given", fewer, what)


def _how_called(function: Callable[..., Any], accepted: inspect.Signature) -> str:
    """What arguments a function takes; where its signature leaves that open, as its docstring begins."""
    kinds = {p.kind for p in accepted.parameters.values()}
    told = (inspect.getdoc(function) or "").partition("\n\n")[0]
    open_ended = kinds and kinds <= {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    return " ".join(told.split()) if told and open_ended else f"its arguments are {accepted}"


def _before_first_line(error: TypeError) -> bool:
    return error.__traceback__ is not None and error.__traceback__.tb_next is None


def _handed_on(function: Callable[..., Any], error: TypeError) -> bool:
    """Whether an error is that of a call in a function's own lines, which has arguments of any number or name to hand on."""
    inside = error.__traceback__ and error.__traceback__.tb_next
    code = getattr(function, "__code__", None)
    if inside is None or inside.tb_next is not None or code is None or inside.tb_frame.f_code is not code:
        return False
    any_number = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    return bool(any_number and re.match(r"\S+\(\) (missing|takes|got an unexpected|got multiple)", str(error)))
