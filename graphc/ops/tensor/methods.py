"""How functions become methods of Tensor: they are written where the functions are, and install themselves here."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

from graphc.failures import door
from graphc.ops.tensor.tensor import Tensor

F = TypeVar("F", bound=Callable[..., Any])


def method(*names: str) -> Callable[[F], F]:
    """A decorator: the function, whose first argument is the tensor, is a method of Tensor under these names.

    Without names under its own, less the underscore that keeps it apart from a built-in one.
    """

    def installed(function: F) -> F:
        for name in names or (function.__name__.rstrip("_"),):
            install(name, function)
        return function

    return installed


def install(name: str, member: Any) -> None:
    """Give Tensor a method or property. ValueError if it has one of that name."""
    if name in vars(Tensor):
        raise ValueError(f"Tensor has {name!r} already")
    setattr(Tensor, name, door(member, member.__module__) if isinstance(member, FunctionType) else member)
