"""Learning rates that change: schedules as Cells, lists by the epoch, warm-ups. No optimizers."""

from typing import TYPE_CHECKING

from graphc.nn.rates import lists, schedules, warmup
from graphc.nn.rates.lists import *
from graphc.nn.rates.schedules import *
from graphc.nn.rates.warmup import *

if not TYPE_CHECKING:
    __all__ = [name for module in (lists, schedules, warmup) for name in module.__all__]
