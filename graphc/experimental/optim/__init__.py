"""Optimizers of groups (MindSpore: mindspore.experimental.optim), and `lr_scheduler`, what changes their rates between steps."""

from graphc.experimental.optim import lr_scheduler
from graphc.experimental.optim.adam import Adam, Adamax, AdamW, NAdam, RAdam
from graphc.experimental.optim.adaptive import ASGD, Adadelta, Adagrad, RMSprop, Rprop
from graphc.experimental.optim.optimizer import Optimizer
from graphc.experimental.optim.sgd import SGD
from graphc.validation.signatures import accept

__all__ = [
    "ASGD",
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "lr_scheduler",
]  # fmt: skip

accept(globals(), __all__, __name__)
