"""`mindspore.log`: the functions of Python's logging, under the logger "graphc"."""

import logging
from collections.abc import Callable
from functools import wraps
from typing import Any

_logger = logging.getLogger("graphc")
debug, info, warning, error, critical = _logger.debug, _logger.info, _logger.warning, _logger.error, _logger.critical


def _get_logger() -> logging.Logger:
    """The logger "graphc"."""
    return _logger


class _LogActionOnce:
    """A decorator: the logger's warnings of a function's first call are written, those of later calls with the same key are not;
    with no_warning none are.
    """

    is_logged: dict[str, bool] = {}  # noqa: RUF012 -- one for all decorators, as keys are

    def __init__(self, logger: Any, key: str, no_warning: bool = False) -> None:
        self.logger, self.key, self.no_warning = logger, key, no_warning

    def __call__(self, func: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            silent = self.no_warning or self.key in self.is_logged
            warn = self.logger.warning
            if silent:
                self.logger.warning = lambda *args, **kwargs: None
            else:
                self.is_logged[self.key] = True
            try:
                return func(*args, **kwargs)
            finally:
                self.logger.warning = warn

        return wrapper
