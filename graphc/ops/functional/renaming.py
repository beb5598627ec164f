"""The same function under another name, whose parameters are called otherwise."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from graphc.validation.wrong_arguments import refuse_call


def renamed(name: str, function: Callable[..., Any], *parameters: str) -> Callable[..., Any]:
    """`function` as one called `name`, whose first parameters have these names; the others keep theirs."""
    signature = inspect.signature(function)
    own = list(signature.parameters.values())
    names = dict(zip(parameters, (p.name for p in own), strict=False))

    def made(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **{names.get(key, key): value for key, value in kwargs.items()})
        except TypeError as error:
            text = str(error)
            for given, key in names.items():
                text = text.replace(repr(key), repr(given))
            refuse_call(made, TypeError(text).with_traceback(error.__traceback__))
            raise

    made.__name__ = made.__qualname__ = name
    made.__doc__ = function.__doc__
    new = [p.replace(name=given) for p, given in zip(own, parameters, strict=False)]
    made.__signature__ = signature.replace(parameters=[*new, *own[len(parameters) :]])  # type: ignore[attr-defined]
    return made
