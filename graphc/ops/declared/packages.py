"""SciPy, an optional package behind the extra `scipy`: it is imported when a function of it is computed."""

from __future__ import annotations

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
