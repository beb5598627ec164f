"""MindSpore's name for `graphc.nn.metrics`."""

from typing import TYPE_CHECKING

from graphc.nn import metrics as _metrics
from graphc.nn.metrics import *

if not TYPE_CHECKING:
    __all__ = _metrics.__all__

#: A package to Python: `graphc.paths` finds what is in it.
__path__: list[str] = []
