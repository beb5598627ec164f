"""Arguments that a function has not, or that are of another kind than it takes: found when they have made it fail."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

from graphc.errors import ArgumentTypeError, GraphcError, ShapeError, StepMemoryError, user_loc
from graphc.errors.suggestions import NOTHING, nearest_argument, question
from graphc.tracebacks import is_own
from graphc.validation.annotations import Kind, is_numpys, is_tensor, kinds, within

#: What Python and NumPy raise of arguments of which they can make nothing.
_OF_ARGUMENTS = (TypeError, ValueError, LookupError, AttributeError, AssertionError, OverflowError)
_TENSORS = "a tuple or list of Tensors"
_ARRAY = "Tensor(array) makes a tensor of a NumPy array"
#: What Python and NumPy say of sizes that no memory could hold.
TOO_LARGE = re.compile(
    r"Maximum allowed (dimension|size) exceeded|array is too big|Python int too large|cannot fit 'int'|`pad_width` must be of"
)


def refuse_kind(
    function: Callable[..., Any], error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any], name: str = ""
) -> None:
    """Raise ArgumentTypeError (GC100) in place of an exception that nobody expects, if an argument is of another kind than the
    function's annotations say, or is unusual where they leave that open; StepMemoryError for sizes beyond any memory, ShapeError
    where a shape has ended too early. `name` is what users know the function by, if not its own.
    """
    if isinstance(error, TypeError):
        refuse_call(function, error, name)
    # What is wrong with a file says nothing of arguments.
    if isinstance(error, (GraphcError, RecursionError, OSError)) or is_own(error):
        return
    name = name or function.__name__.strip("_")
    if isinstance(error, MemoryError) or TOO_LARGE.search(str(error)):
        raise StepMemoryError(f"{name}: out of memory: {error}", loc=user_loc(), help="smaller shapes") from None
    signature = inspect.signature(function)
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError:
        return
    primitive: Any = given.get("self")
    made_with = {n: vars(primitive)[n] for n in getattr(primitive, "attributes", ()) if n in vars(primitive)}
    found = {**(kinds(primitive.function) if made_with else {}), **kinds(function)}
    for parameter, value in {**given, **made_with}.items():
        if parameter == "self":
            continue
        kind = found.get(parameter, Kind())
        wanted = kind.words if kind.lacks(value) else ""
        if not wanted and isinstance(error, AttributeError):
            items = value if isinstance(value, (tuple, list)) else ()
            wanted = "a Tensor" if error.obj is value else "Tensors" if any(x is error.obj for x in items) else ""
            value = error.obj if wanted else value
        if wanted:
            raise ArgumentTypeError(
                f"{name}: {parameter} must be {wanted}, got {_shown(value, wanted)}",
                loc=user_loc(),
                help=NOTHING if value is None else _ARRAY if is_numpys(value, "ndarray") else None,
            ) from None
    types = ", ".join(str(x.tensor_type) for x in given.values() if is_tensor(x))
    if isinstance(error, IndexError) and types:
        raise ShapeError(f"{name} of {types}: an axis is needed that is not there", loc=user_loc()) from None
    if not isinstance(error, _OF_ARGUMENTS):
        return
    left_open = {
        k: v
        for k, v in {**given, **made_with}.items()
        if k != "self"
        and not found.get(k, Kind()).words
        and v is not getattr(signature.parameters.get(k), "default", Ellipsis)
    }
    _refuse_unusual(name, error, left_open)


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


def _shown(value: Any, wanted: str) -> str:
    """The type of a value; of a tuple or list where one of others was wanted, the type of what it should not hold."""
    kind = type(value).__name__
    if isinstance(value, (tuple, list)) and wanted == _TENSORS:
        return f"a {kind} with {next(type(x).__name__ for x in value if not is_tensor(x))}"
    return kind


def _refuse_unusual(name: str, error: Exception, left_open: dict[str, Any]) -> None:
    """Refuse one of the arguments of which annotations do not say what they may be: the first that is, or holds, something
    unusual, else one that is a number or a text.
    """
    for usual in (_USUAL, (bool, type(None))):
        for parameter, value in left_open.items():
            odd = next((x for x in within(value) if not (is_tensor(x) or isinstance(x, usual))), Ellipsis)
            if odd is not Ellipsis or value is Ellipsis:
                raise ArgumentTypeError(
                    f"{name}: {parameter} {_holds(value, odd)}, of which nothing can be made: {str(error).partition(chr(10))[0]}",
                    loc=user_loc(),
                    help=_ARRAY if is_numpys(odd, "ndarray") else None,
                ) from None


#: What arguments are, and tuples and lists of it.
_USUAL = (bool, int, float, str, type(None))


def _holds(value: Any, odd: Any) -> str:
    return f"{'is' if odd is value else 'holds'} {type(odd).__name__}"


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
