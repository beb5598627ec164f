"""`mindspore.log`: the functions of Python's logging, under the logger "graphc"."""

import logging

_logger = logging.getLogger("graphc")
debug, info, warning, error, critical = _logger.debug, _logger.info, _logger.warning, _logger.error, _logger.critical
