"""MindSpore's name for `graphc.amp`."""

from graphc import amp as _amp
from graphc.amp import *

__all__ = _amp.__all__
