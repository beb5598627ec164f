"""Optimizers: Cells that write parameters."""

from graphc.nn.optim.adafactor import AdaFactor
from graphc.nn.optim.adam import Adam, AdaMax
from graphc.nn.optim.adaptive import FTRL, Adadelta, Adagrad, ProximalAdagrad, RMSProp, Rprop
from graphc.nn.optim.asgd import ASGD
from graphc.nn.optim.base import Optimizer
from graphc.nn.optim.decoupled import AdamW, AdamWeightDecay, Lamb
from graphc.nn.optim.lars import LARS
from graphc.nn.optim.lazy import AdamOffload, LazyAdam
from graphc.nn.optim.momentum import Momentum
from graphc.nn.optim.sgd import SGD

__all__ = [
    "ASGD", "FTRL", "LARS", "SGD", "AdaFactor", "AdaMax", "Adadelta", "Adagrad", "Adam", "AdamOffload", "AdamW",
    "AdamWeightDecay", "Lamb", "LazyAdam", "Momentum", "Optimizer", "ProximalAdagrad", "RMSProp", "Rprop",
]  # fmt: skip
