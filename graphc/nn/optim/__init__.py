"""Optimizers: Cells that write parameters."""

from graphc.nn.optim.adam import Adam
from graphc.nn.optim.base import Optimizer
from graphc.nn.optim.momentum import Momentum
from graphc.nn.optim.sgd import SGD

__all__ = ["SGD", "Adam", "Momentum", "Optimizer"]
