"""Losses as Cells, over the functions of the same names. No cells that train with them."""

from typing import TYPE_CHECKING

from graphc.nn.loss import base, classification, overlap, ranking, regression
from graphc.nn.loss.base import *
from graphc.nn.loss.classification import *
from graphc.nn.loss.overlap import *
from graphc.nn.loss.ranking import *
from graphc.nn.loss.regression import *

if not TYPE_CHECKING:
    __all__ = [name for module in (base, classification, overlap, ranking, regression) for name in module.__all__]
