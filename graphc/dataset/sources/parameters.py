"""What sources are called with, said once: each parameter has a name, a default and a check, and a source lists its own.

class FoodDataset(Listed):
    parameters = (DIRECTORY, choice("usage", "all", "train", "test", "all"), *READING, DECODE, *SHARDS, CACHE)

gives the class an `__init__` with these arguments, which hands them over as attributes of one object, checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from graphc.dataset.checks import function, integer, no_cache, truth
from graphc.dataset.sources.files import a_file, directory
from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc

#: The default of a parameter that has none.
REQUIRED: Any = object()
#: Whose function it is, the name of the parameter, what was given -> what it means.
Check = Callable[[str, str, Any], Any]


@dataclass(frozen=True)
class Parameter:
    """One argument. check: is called with whose it is, its name and its value, and gives what it means; None for any value."""

    name: str
    default: Any = None
    check: Check | None = None


def described(parameters: Sequence[Parameter]) -> Callable[..., None]:
    """An `__init__` with these parameters, which calls `self.build` with an object that has their checked values."""
    defaults = {f"_{p.name}": p.default for p in parameters if p.default is not REQUIRED}
    head = ", ".join(p.name if p.default is REQUIRED else f"{p.name}=_{p.name}" for p in parameters)
    names = ", ".join(f"{p.name}={p.name}" for p in parameters)
    # A function of its own, as of dataclasses: wrong calls of it read, and are refused, as those of any other.
    scope: dict[str, Any] = {**defaults, "_checked": lambda owner, given: _checked(owner, parameters, given)}
    text = f"def __init__(self, {head}):\n    self.build(_checked(type(self).__name__, dict({names})))\n"
    exec(compile(text, __file__, "exec"), scope)
    made: Callable[..., None] = scope["__init__"]
    made.__module__ = __name__
    return made


def _checked(owner: str, parameters: Sequence[Parameter], given: dict[str, Any]) -> SimpleNamespace:
    checked = (
        (p.name, given[p.name] if p.check is None else p.check(owner, p.name, given[p.name])) for p in parameters
    )
    return SimpleNamespace(**dict(checked))


class Described:
    """A source with `parameters`. `build(given)` makes it of their values."""

    parameters: tuple[Parameter, ...] = ()

    def __init_subclass__(cls, **named: Any) -> None:
        super().__init_subclass__(**named)
        if "parameters" in vars(cls):
            cls.__init__ = described(cls.parameters)  # type: ignore[method-assign]

    def __init__(self, *args: Any, **given: Any) -> None:
        raise NotImplementedError

    def build(self, given: Any) -> None:
        """Make the data set of the arguments, which `given` has as attributes."""
        raise NotImplementedError


# ---- the parameters that most have


def _true_or_not(owner: str, name: str, value: Any) -> bool:
    return value is not None and truth(owner, name, value)


def _function_or_not(owner: str, name: str, value: Any) -> Any:
    return None if value is None else function(owner, name, value)


DIRECTORY = Parameter("dataset_dir", REQUIRED, directory)
NUM_SAMPLES, WORKERS = Parameter("num_samples"), Parameter("num_parallel_workers")
SHUFFLE, SAMPLER = Parameter("shuffle"), Parameter("sampler")
NUM_SHARDS, SHARD_ID = Parameter("num_shards"), Parameter("shard_id")
CACHE = Parameter("cache", None, no_cache)
DECODE = Parameter("decode", False, _true_or_not)
DECRYPT = Parameter("decrypt", None, _function_or_not)
EXTRA = Parameter("extra_metadata", False, _true_or_not)
#: Parameters that nearly always follow each other.
READING = (NUM_SAMPLES, WORKERS, SHUFFLE)
SHARDS = (SAMPLER, NUM_SHARDS, SHARD_ID)


def choice(name: str, default: Any, *values: Any, none: Any = REQUIRED) -> Parameter:
    """One of some values; None means `none`, where it is given. ArgumentTypeError or ArgumentValueError for others."""

    def check(owner: str, name: str, value: Any) -> Any:
        if value is None and none is not REQUIRED:
            return none
        if not isinstance(value, type(values[0])) or isinstance(value, bool):
            kind = type(values[0]).__name__
            raise ArgumentTypeError(
                f"{owner}: {name} must be of type {kind}, got {type(value).__name__}", loc=user_loc()
            )
        if value not in values:
            listed = ", ".join(map(repr, values))
            raise ArgumentValueError(f"{owner}: {name} must be one of {listed}, got {value!r}", loc=user_loc())
        return value

    return Parameter(name, default, check)


def usage(*values: str) -> Parameter:
    """The parameter `usage`: one of these, the first of which None means."""
    return choice("usage", None, *values, none=values[0])


def flag(name: str, default: bool | None, none: bool = False) -> Parameter:
    """True or False; None means `none`."""
    return Parameter(name, default, lambda owner, name, value: none if value is None else truth(owner, name, value))


def file(name: str) -> Parameter:
    """A file that is there, as a path."""
    return Parameter(name, REQUIRED, a_file)


def number(name: str, default: Any, low: int, high: int) -> Parameter:
    """An int between two."""
    return Parameter(name, default, lambda owner, name, value: integer(owner, name, value, low, high))


def class_numbers(owner: str, name: str, value: Any) -> dict[str, int] | None:
    """{class: number}, or None."""
    if value is None:
        return None
    if not isinstance(value, dict):
        raise ArgumentTypeError(f"{owner}: {name} must be a dict, got {type(value).__name__}", loc=user_loc())
    for key, label in value.items():
        if not isinstance(key, str) or isinstance(label, bool) or not isinstance(label, int):
            raise ArgumentTypeError(f"{owner}: {name} must be {{class: int}}, got {key!r}: {label!r}", loc=user_loc())
    return value


CLASS_INDEXING = Parameter("class_indexing", None, class_numbers)


def endings(owner: str, name: str, value: Any) -> list[str] | None:
    """A list of endings of files, or None."""
    if value is not None and (not isinstance(value, list) or not all(isinstance(e, str) for e in value)):
        raise ArgumentTypeError(f'{owner}: {name} must be a list such as [".png"]', loc=user_loc())
    return value


EXTENSIONS = Parameter("extensions", None, endings)
