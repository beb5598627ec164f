"""What functions take, by the annotations of their parameters.

An annotation is read as what it is, a type, where it is asked for the first time: `Axis`, which is `int | Sequence[int] | None`,
takes what that takes. What is not known of a type, as of `Any`, is not said of a value.
"""

from __future__ import annotations

import collections.abc
import functools
import inspect
import types
import typing
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

#: Beside a type, in `Annotated`: tensors are taken too, where their values are known while a Cell is compiled.
KNOWN = "tensors whose values are known"
#: By what a kind of number is made of, from the narrowest on.
_WIDTHS = ("bool", "integer", "number")
_SEQUENCES = (list, tuple, Sequence, collections.abc.Iterable)
#: How deep nests are looked into.
_DEPTH = 4


#: What tuples and lists of something hold.
_MANY = {
    "a Tensor": "Tensors",
    "an int": "ints",
    "a number": "numbers",
    "a tuple or list of ints": "ints",
    "a tuple or list of numbers": "numbers",
}


class Kind(NamedTuple):
    """What a parameter takes.

    words   of the types, for messages: "an int or a Tensor"; "" where nothing is known
    tests   whether a value is of one of them
    number  the widest that it takes, "bool", "integer" or "number", if it takes nothing but such and tuples or lists of them;
            else ""
    """

    words: str = ""
    tests: tuple[Callable[[Any], bool], ...] = ()
    number: str = ""

    def lacks(self, value: Any) -> bool:
        """Whether it is known that a value is of no type that the parameter takes."""
        return bool(self.words) and not any(test(value) for test in self.tests)


_ANYTHING = Kind()


@functools.cache
def kinds(function: Callable[..., Any]) -> dict[str, Kind]:
    """By its parameters, what a function takes."""
    annotated = inspect.unwrap(getattr(function, "annotated", function))
    scope = getattr(annotated, "__globals__", {})
    return {name: _kind(p.annotation, scope) for name, p in inspect.signature(function).parameters.items()}


def _kind(annotation: Any, scope: dict[str, Any]) -> Kind:
    if annotation is inspect.Parameter.empty:
        return _ANYTHING
    if isinstance(annotation, str):
        try:
            annotation = eval(annotation, scope)  # Of graphc's own source.
        except (NameError, AttributeError, TypeError):
            return _ANYTHING  # A name that only type checkers know.
    read = [_read(each) for each in _members(annotation)]
    if None in read:
        return _ANYTHING
    found = [each for each in read if each is not None]
    numbers: set[Any] = {number for _, _, number in found} - {None}
    plain = bool(numbers) and "" not in numbers
    words = dict.fromkeys(words for words, _, _ in found)
    covered = {"an int", "a bool"} if "a number" in words else set()
    return Kind(
        " or ".join(each for each in words if each not in covered),
        tuple(test for _, test, _ in found),
        max(numbers, key=_WIDTHS.index) if plain else "",
    )


def _members(annotation: Any) -> Iterator[Any]:
    """The types of a union. A tensor that must be known stands for numbers, which the other types are."""
    if typing.get_origin(annotation) is typing.Annotated:
        inner, *said = typing.get_args(annotation)
        yield from (KNOWN if KNOWN in said and is_tensor(t) else t for t in _members(inner))
    elif typing.get_origin(annotation) in (typing.Union, types.UnionType):
        for each in typing.get_args(annotation):
            yield from _members(each)
    else:
        yield annotation


#: Words, a test, and which number: "" for what is none, None for None, which may be beside numbers.
_Read = tuple[str, Callable[[Any], bool], str | None]


def _read(annotation: Any) -> _Read | None:
    """What one type says; None where nothing is known of it."""
    if annotation is type(None) or annotation is None:
        return "None", lambda value: value is None, None
    if annotation == KNOWN:
        return "a Tensor", is_tensor, None
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    origin, inner = typing.get_origin(annotation) or annotation, typing.get_args(annotation)
    if origin is collections.abc.Callable:
        return "a function", callable, ""
    if origin in _SEQUENCES:
        return _sequence(origin, inner)
    if isinstance(origin, type) and origin is not object and origin.__module__ != "typing":
        article = "an" if origin.__name__[0] in "AEIOU" else "a"
        return f"{article} {origin.__name__}", lambda value: isinstance(value, origin), ""
    return None


def _sequence(origin: Any, inner: tuple[Any, ...]) -> _Read | None:
    """A tuple or list; which of both is not told apart, but for what is no sequence of any kind."""
    held = {each for part in inner if part is not Ellipsis for each in _members(part)}
    items = [_read(each) for each in held]
    if not items or None in items:
        return None
    words = {_MANY.get(word, "") for word, _, _ in items if word != "None"}  # type: ignore[misc]
    if len(words) != 1 or not any(words):
        return None
    tests = [test for _, test, _ in items]  # type: ignore[misc]

    def holds(value: Any) -> bool:
        return _is_list(value) and all(any(test(x) for test in tests) for x in value)

    number = next(number for word, _, number in items if word != "None")  # type: ignore[misc]
    return f"a tuple or list of {words.pop()}", holds, number


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def is_tensor(value: Any) -> bool:
    """Whether a value, or a class, is a Tensor."""
    return hasattr(value, "tensor_type")


def is_numpys(value: Any, *names: str) -> bool:
    """Whether a value is of one of these classes of NumPy's, which is not loaded for it."""
    return any(each.__module__ == "numpy" and each.__name__ in names for each in type(value).__mro__)


def within(value: Any) -> Iterator[Any]:
    """A value, or what its tuples and lists hold, level by level: a list may hold itself."""
    level = [value]
    for _ in range(_DEPTH):
        yield from (x for x in level if not isinstance(x, (tuple, list)))
        level = [item for nest in level if isinstance(nest, (tuple, list)) for item in nest]


def is_int(value: Any) -> bool:
    return isinstance(value, int) or is_numpys(value, "integer")


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) or is_numpys(value, "number")


_PLAIN: dict[Any, _Read] = {
    bool: ("a bool", lambda value: isinstance(value, bool) or is_numpys(value, "bool", "bool_"), "bool"),
    int: ("an int", is_int, "integer"),
    float: ("a number", is_number, "number"),
    # Beside numbers a text is the name of one, as "inf" of a norm.
    str: ("a str", lambda value: isinstance(value, str), None),
}
