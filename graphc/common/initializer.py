"""MindSpore's `common.initializer`: the names of `graphc.nn.initializer`."""

from typing import TYPE_CHECKING

from graphc.nn import initializer as _initializers
from graphc.nn.initializer import *

if not TYPE_CHECKING:
    __all__ = _initializers.__all__
