"""Cells with MindSpore's names: layers, losses, optimizers, training steps. No ops of their own, and no compiler.

Each is an ordinary Cell over `graphc.ops`. Initial values of parameters are in `graphc.nn.initializer`.
"""

from typing import TYPE_CHECKING, Any

from graphc.frames import clean
from graphc.nn import cell, initializer, layer, loss, optim, rates, train
from graphc.nn.cell import *
from graphc.nn.layer import *
from graphc.nn.loss import *
from graphc.nn.optim import *
from graphc.nn.rates import *
from graphc.nn.train import *
from graphc.nn.train.accumulate import MicroBatch as _MicroBatch  # noqa: F401, the name that wrappers import
from graphc.suggest import no_member

if not TYPE_CHECKING:
    __all__ = ["initializer", *(name for module in (cell, layer, loss, rates, train, optim) for name in module.__all__)]

    def __getattr__(name: str) -> Any:
        try:
            no_member("graphc.nn", name, __all__)
        except (AttributeError, ImportError) as error:
            clean(error)
            raise
