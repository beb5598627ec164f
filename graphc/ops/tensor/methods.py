"""How functions become methods of Tensor: they are written where the functions are, and install themselves here."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

from graphc.errors import ArgumentTypeError, user_loc
from graphc.internal_errors import door
from graphc.ops.tensor.autocast import marked
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.wrong_arguments import refuse_call

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


#: Methods of Tensor, and what MindSpore calls their parameters in another form of the call, with what they are called here.
_FORMS = (
    ("all any mean prod", "dim=axis keepdim=keep_dims"),
    ("argmax argmin median nansum sum", "dim=axis keepdim=keepdims"),
    ("argsort chunk count_nonzero cumsum index_select narrow", "dim=axis"),
    ("repeat_interleave scatter sort unbind", "dim=axis"),
    ("split", "dim=axis split_size=split_size_or_sections"),
    ("expand_as", "x=other"),
    ("fill_", "value=fill_value"),
    ("isclose", "x2=other"),
    ("matmul", "tensor2=other"),
    ("mm", "mat2=other"),
    ("remainder", "other=y divisor=y"),
    ("remainder_", "other=y"),
    ("scatter_", "value=src"),
    ("sub", "y=other"),
    ("take", "indices=index"),
    ("tile", "reps=dims"),
    ("true_divide", "other=divisor value=divisor"),
)
_ALSO = {m: dict(pair.split("=") for pair in names.split()) for methods, names in _FORMS for m in methods.split()}


def _also(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, whose parameters may be given by their other names, too."""
    others = _ALSO.get(name)
    if others is None:
        return function

    @functools.wraps(function)
    def called(*args: Any, **kwargs: Any) -> Any:
        for other, own in others.items():
            if other in kwargs:
                if own in kwargs:
                    raise ArgumentTypeError(f"{name}: {other} and {own} are one argument", loc=user_loc())
                kwargs[own] = kwargs.pop(other)
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            refuse_call(function, error)
            raise

    return called


def install(name: str, member: Any) -> None:
    """Give Tensor a method or property. ValueError if it has one of that name."""
    if name in vars(Tensor):
        raise ValueError(f"Tensor has {name!r} already")
    if isinstance(member, FunctionType):
        member = _also(name, marked(member))
    setattr(Tensor, name, door(member, member.__module__) if isinstance(member, FunctionType) else member)
