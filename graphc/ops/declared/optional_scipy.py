"""SciPy, an optional package behind the extra `scipy`: it is imported when a function of it is computed."""

from __future__ import annotations

import functools
from importlib import import_module
from typing import Any

from graphc.errors import MissingPackageError, user_loc


def scipy_part(name: str) -> Any:
    """A module of SciPy; MissingPackageError, an ImportError, that names the extra."""
    try:
        return import_module(f"scipy.{name}")
    except ImportError as error:
        raise MissingPackageError(
            f"this is computed by scipy.{name}, and SciPy is not installed",
            loc=user_loc(),
            help="pip install 'graphc[scipy]'",
        ) from error


@functools.cache
def lapack() -> Any:
    """SciPy's module of LAPACK's functions for what has a loop of its own beside it: None without SciPy."""
    try:
        return import_module("scipy.linalg.lapack")
    except ImportError:
        return None
