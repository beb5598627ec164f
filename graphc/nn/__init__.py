"""Cells with MindSpore's names: layers, losses, optimizers, training steps; and metrics. No ops of their own, and no compiler.

Each is an ordinary Cell over `graphc.ops`. Initial values of parameters are in `graphc.nn.initializer`.
"""

from typing import TYPE_CHECKING

from graphc.nn import cell, initializer, layer, loss, metrics, optim, rates, train
from graphc.nn.cell import *
from graphc.nn.layer import *
from graphc.nn.loss import *
from graphc.nn.metrics import *
from graphc.nn.optim import *
from graphc.nn.rates import *
from graphc.nn.train import *
from graphc.nn.train.accumulate import MicroBatch as _MicroBatch  # noqa: F401, the name that wrappers import

if not TYPE_CHECKING:
    __all__ = [
        "initializer",
        *(name for module in (cell, layer, loss, metrics, rates, train, optim) for name in module.__all__),
    ]
