"""Arguments that a function has not, or that are of another kind than it takes: found when they have made it fail."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from graphc.errors import ArgumentTypeError, GraphcError, ShapeError, StepMemoryError, user_loc
from graphc.frames import is_own
from graphc.suggest import NOTHING, nearest_argument, question

#: Nests are looked through so deep.
_DEPTH = 4
_TENSORS = "a tuple or list of Tensors"
_ARRAY = "Tensor(array) makes a tensor of a NumPy array"
#: How Python and NumPy name the type of what they can make nothing of.
_NAMED = (
    re.compile(r"'([\w.]+)' object"),
    re.compile(r"not '?([\w.]+)'?$"),
    re.compile(r"of type '([\w.]+)'"),
    re.compile(r"instances of '([\w.]+)'"),
    re.compile(r"instances of '[\w.]+' and '([\w.]+)'"),
    re.compile(r"operand type\(s\) for [^:]+: '([\w.]+)'"),
    re.compile(r"operand type\(s\) for [^:]+: '[\w.]+' and '([\w.]+)'"),
    re.compile(r"bad operand type for [^:]+: '([\w.]+)'"),
    re.compile(r"^Value after \* must be an iterable, not (\w+)$"),
    re.compile(r"^expected number, got (\w+)$"),
)
#: What they say of a value without its type, and that type.
_UNNAMED = (
    (re.compile(r"invalid literal for int|could not convert string to float|ufunc '\w+' not supported"), str),
    (
        re.compile(r"values to unpack|scalar arguments expected|zip\(\) argument|truth value of an"),
        (tuple, list, str, dict),
    ),
    (re.compile(r"setting an array element|inhomogeneous"), (tuple, list)),
    (re.compile(r"too large to convert|cannot fit 'int'|int too (big|large)|cannot convert float"), (int, float)),
)


#: What NumPy says of an array.
_OF_ARRAYS = re.compile(r"truth value of an|only .*arrays can be converted|operands could not be broadcast")
#: What Python and NumPy say of sizes that no memory could hold.
TOO_LARGE = re.compile(
    r"Maximum allowed (dimension|size) exceeded|array is too big|Python int too large|cannot fit 'int'|`pad_width` must be of"
)


def refuse_kind(
    function: Callable[..., Any], error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any], name: str = ""
) -> None:
    """Raise ArgumentTypeError (GC100) in place of an exception that nobody expects, if an argument is of another kind than the
    function's signature says, or of the type that the exception names; StepMemoryError for sizes beyond any memory, ShapeError
    where a shape has ended too early. `name` is what users know the function by, if not its own.
    """
    if isinstance(error, TypeError):
        refuse_call(function, error, name)
    if isinstance(error, (GraphcError, RecursionError)) or is_own(error):
        return
    name = name or function.__name__.strip("_")
    if isinstance(error, MemoryError) or TOO_LARGE.search(str(error)):
        raise StepMemoryError(f"{name}: out of memory: {error}", loc=user_loc()) from None
    signature = inspect.signature(function)
    try:
        given = signature.bind(*args, **kwargs).arguments
    except TypeError:
        return
    for parameter, value in given.items():
        if parameter == "self":
            continue
        wanted = _other_kind(signature.parameters[parameter].annotation, value)
        if not wanted and isinstance(error, AttributeError):
            items = value if isinstance(value, (tuple, list)) else ()
            wanted = "a Tensor" if error.obj is value else "Tensors" if any(x is error.obj for x in items) else ""
            value = error.obj if wanted else value
        if wanted:
            raise ArgumentTypeError(
                f"{name}: {parameter} must be {wanted}, got {_shown(value, wanted)}",
                loc=user_loc(),
                help=NOTHING if value is None else _ARRAY if _is_numpys(value, "ndarray") else None,
            ) from None
    types = ", ".join(str(x.tensor_type) for x in given.values() if _is_tensor(x))
    if isinstance(error, IndexError) and types:
        raise ShapeError(f"{name} of {types}: an axis is needed that is not there", loc=user_loc()) from None
    _refuse_blamed(name, error, signature, given)


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
        return f"a {kind} with {next(type(x).__name__ for x in value if not _is_tensor(x))}"
    return kind


def _refuse_blamed(name: str, error: Exception, signature: inspect.Signature, given: dict[str, Any]) -> None:
    """Refuse the argument that an exception speaks of: the first that differs from its default and is, or holds, such a value."""
    text = str(error).partition("\n")[0]
    primitive = given.get("self")
    attributes = {n: vars(primitive)[n] for n in getattr(primitive, "attributes", ()) if n in vars(primitive)}
    for parameter, value in {**given, **attributes}.items():
        known = signature.parameters.get(parameter)
        if parameter == "self" or (known is not None and value is known.default):
            continue
        blamed = next((x for x in _within(value) if _spoken_of(x, error, text)), inspect.Parameter.empty)
        if blamed is not inspect.Parameter.empty:
            raise ArgumentTypeError(
                f"{name}: {parameter} {_holds(value, blamed)}, of which nothing can be made: {text}",
                loc=user_loc(),
                help=_ARRAY if _is_numpys(blamed, "ndarray") else None,
            ) from None


def _within(value: Any) -> Iterator[Any]:
    """A value, and what it holds, level by level."""
    level = [value]
    for _ in range(_DEPTH):
        yield from level
        nests = [x for x in level if isinstance(x, (tuple, list, dict))]
        level = [item for nest in nests for item in (nest.values() if isinstance(nest, dict) else nest)]


def _spoken_of(value: Any, error: Exception, text: str) -> bool:
    if isinstance(error, AttributeError):
        return error.obj is value
    if not isinstance(error, (TypeError, ValueError, OverflowError)):
        return False
    names = {found[1].rpartition(".")[2] for pattern in _NAMED if (found := pattern.search(text))}
    kinds = tuple(kind for pattern, kind in _UNNAMED if pattern.search(text))
    if _OF_ARRAYS.search(text) and _is_numpys(value, "ndarray"):
        return True
    return type(value).__name__ in names or (isinstance(value, kinds) and not isinstance(value, bool))


def _holds(value: Any, blamed: Any) -> str:
    return f"{'is' if blamed is value else 'holds'} {type(blamed).__name__}"


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "tensor_type")


def _is_numpys(value: Any, kind: str) -> bool:
    """Whether a value is of a class of NumPy's, which is not loaded for it."""
    return any(each.__module__ == "numpy" and each.__name__ == kind for each in type(value).__mro__)


def _is_int(value: Any) -> bool:
    return isinstance(value, int) or _is_numpys(value, "integer")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) or _is_numpys(value, "number")


#: What annotations of parameters say, as a test and in words.
_ANNOTATED: dict[str, tuple[Callable[[Any], bool], str]] = {
    "Tensor": (_is_tensor, "a Tensor"),
    "Sequence[Tensor]": (
        lambda value: isinstance(value, Sequence) and not isinstance(value, str) and all(map(_is_tensor, value)),
        _TENSORS,
    ),
    "Callable[..., Any]": (callable, "a function"),
    "Operand": (lambda value: _is_tensor(value) or _is_number(value), "a Tensor or a number"),
    "bool": (lambda value: isinstance(value, bool), "a bool"),
    "int": (_is_int, "an int"),
    "float": (_is_number, "a number"),
    "str": (lambda value: isinstance(value, str), "a str"),
    "Sequence[int]": (
        lambda value: isinstance(value, Sequence) and all(map(_is_int, value)),
        "a tuple or list of ints",
    ),
    "None": (lambda value: value is None, "None"),
}
_SHORT = {"Axis": "int | Sequence[int] | None"}


def _other_kind(annotation: Any, value: Any) -> str:
    """In words what an annotation wants, if the value is something else; "" where it is not, or where that is not known."""
    kinds = _SHORT.get(annotation, annotation).split(" | ") if isinstance(annotation, str) else []
    if not kinds or any(kind not in _ANNOTATED or _ANNOTATED[kind][0](value) for kind in kinds):
        return ""
    return " or ".join(_ANNOTATED[kind][1] for kind in kinds)


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
