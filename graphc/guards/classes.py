"""What there is to know of a class: whose it is, and what its code reads."""

from __future__ import annotations

import abc
import inspect
import sys
import typing
from dataclasses import dataclass
from functools import cached_property
from types import FunctionType
from typing import Any
from weakref import WeakKeyDictionary

from graphc.errors import is_library
from graphc.guards.mentions import mentions
from graphc.nn.cell.cell import Cell
from graphc.ops.gradients.reverse import GradFunction, GradOperation, ValueAndGrad
from graphc.ops.gradients.transforms import TRANSFORMS
from graphc.ops.tensor.primitive import Primitive
from graphc.trace.conversion.code_names import is_users_file

#: Bases that add nothing to what an object is: its attributes say it all.
_NEUTRAL = (object, abc.ABC, typing.Generic, typing.Protocol)
#: Objects of graphc's own that are what their attributes say.
_VALUES = (Primitive, GradFunction, GradOperation, ValueAndGrad, *TRANSFORMS)
#: Methods that Python calls while it makes, prints, copies or frees an object, and not when one is used.
_APART = frozenset(
    f"__{name}__"
    for name in (
        "init", "new", "post_init", "init_subclass", "class_getitem", "set_name", "repr", "str", "del", "reduce", "reduce_ex",
        "getstate", "setstate", "copy", "deepcopy", "sizeof", "dir",
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Kind:
    """One class.

    users     the classes of the user's among it and its bases, in the order of method resolution
    plain     whether its objects are what their attributes say
    free      of a Cell: whether only the user's own code, and Cell, can read its attributes
    names     what the code of the other classes among its bases reads
    dynamic   whether that code may read any attribute
    """

    users: tuple[type, ...]
    plain: bool
    free: bool
    names: frozenset[str]
    dynamic: bool


_kinds: WeakKeyDictionary[type, Kind] = WeakKeyDictionary()
_MACHINERY = frozenset(Cell.__mro__)


def kind_of(cls: type) -> Kind:
    """What there is to know of a class."""
    found = _kinds.get(cls)
    if found is None:
        found = _kinds[cls] = _read(cls)
    return found


def _read(cls: type) -> Kind:
    users = tuple(c for c in cls.__mro__ if is_users_class(c))
    others = [c for c in cls.__mro__ if c not in users and c not in _NEUTRAL and c not in _MACHINERY]
    functions = [v for c in others for v in vars(c).values() if isinstance(v, FunctionType)]
    # With what stands inside: a constructor of graphc's is one around it, see `graphc.validation.signatures.constructor`.
    read = [mentions(f.__code__) for v in functions for f in {v, inspect.unwrap(v)}]
    return Kind(
        users,
        plain=all(c in _VALUES for c in others) and Cell not in cls.__mro__,
        free=not others,
        names=frozenset().union(*(m.names for m in read)),
        dynamic=any(m.dynamic for m in read) and not is_library(_file(cls)),
    )


def _file(cls: type) -> str:
    return getattr(sys.modules.get(cls.__module__), "__file__", None) or ""


def is_users_class(cls: type) -> bool:
    """Whether a class is the user's: of no library, and no builtin."""
    file = _file(cls)
    if not file:
        return cls.__module__ not in sys.builtin_module_names and cls.__module__ not in sys.stdlib_module_names
    return is_users_file(file)


def is_used(name: str, value: Any) -> bool:
    """Whether Python itself may call this member of a class when an object is used."""
    return name[:2] == name[-2:] == "__" and name not in _APART and isinstance(value, FunctionType)


def members(value: Any) -> tuple[Any, ...]:
    """What stands behind a member of a class: functions of methods and properties; else the value itself."""
    if isinstance(value, (staticmethod, classmethod)):
        return (value.__func__,)
    if isinstance(value, property):
        return (value.fget,)
    if isinstance(value, cached_property):
        return (value.func,)
    return (value,)
