"""`mindspore.log`: the functions of Python's logging, under the logger "graphc"."""

import logging
import os
from collections.abc import Callable
from functools import wraps
from typing import Any

_logger = logging.getLogger("graphc")
debug, info, warning, error, critical = _logger.debug, _logger.info, _logger.warning, _logger.error, _logger.critical


def _get_logger() -> logging.Logger:
    """The logger "graphc"."""
    return _logger


#: Levels as MindSpore numbers them, in the variable GLOG_v.
_NUMBERS = {logging.DEBUG: "0", logging.INFO: "1", logging.WARNING: "2", logging.ERROR: "3", logging.CRITICAL: "4"}


def get_level() -> str | None:
    """The level from which on the logger writes, as in GLOG_v: "0" debug, "1" info, "2" warning, "3" error, "4" critical; None
    for one between.
    """
    return _NUMBERS.get(_logger.getEffectiveLevel())


def get_log_config() -> dict[str, Any]:
    """How the logger writes, under the names of MindSpore's variables: GLOG_v, the level, and GLOG_logtostderr, "1"; with a
    handler that writes files "0", and its folder, sizes, and the level of what goes to the console as well.
    """
    config: dict[str, Any] = {"GLOG_v": get_level(), "GLOG_logtostderr": "1"}
    for handler in _logger.handlers:
        if isinstance(handler, logging.FileHandler):
            config |= {
                "GLOG_logtostderr": "0",
                "GLOG_log_dir": os.path.dirname(handler.baseFilename),
                "logger_maxBytes": getattr(handler, "maxBytes", 0),
                "logger_backupCount": getattr(handler, "backupCount", 0),
            }
        elif isinstance(handler, logging.StreamHandler):
            config["GLOG_stderrthreshold"] = _NUMBERS.get(handler.level)
    if config["GLOG_logtostderr"] == "1":
        config.pop("GLOG_stderrthreshold", None)
    return config


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


__all__ = ["critical", "debug", "error", "get_level", "get_log_config", "info", "logging", "warning"]
