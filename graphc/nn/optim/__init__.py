"""Optimizers: Cells that write parameters. Learning rates that change are in `graphc.nn.rates`."""

from typing import TYPE_CHECKING

from graphc.nn.optim import adafactor, adam, adaptive, asgd, base, decoupled, lars, lazy, momentum, sgd
from graphc.nn.optim.adafactor import *
from graphc.nn.optim.adam import *
from graphc.nn.optim.adaptive import *
from graphc.nn.optim.asgd import *
from graphc.nn.optim.base import *
from graphc.nn.optim.decoupled import *
from graphc.nn.optim.lars import *
from graphc.nn.optim.lazy import *
from graphc.nn.optim.momentum import *
from graphc.nn.optim.sgd import *

if not TYPE_CHECKING:
    __all__ = [
        name
        for module in (adafactor, adam, adaptive, asgd, base, decoupled, lars, lazy, momentum, sgd)
        for name in module.__all__
    ]
