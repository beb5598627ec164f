"""Schedulers: they write the rates of an optimizer's groups, between steps.

(MindSpore: mindspore.experimental.optim.lr_scheduler.) `scheduler.step()` goes to the next epoch, or whatever the user counts; a
compiled training step reads the new rates. Arithmetic is in float32, as MindSpore's.
"""

from graphc.experimental.optim.lr_scheduler.base import LRScheduler
from graphc.experimental.optim.lr_scheduler.cycles import CosineAnnealingLR, CosineAnnealingWarmRestarts, CyclicLR
from graphc.experimental.optim.lr_scheduler.decays import (
    ConstantLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from graphc.experimental.optim.lr_scheduler.plateau import ReduceLROnPlateau
from graphc.experimental.optim.lr_scheduler.sequence import SequentialLR
from graphc.validation.signatures import accept

__all__ = [
    "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR", "LRScheduler", "LambdaLR",
    "LinearLR", "MultiStepLR", "MultiplicativeLR", "PolynomialLR", "ReduceLROnPlateau", "SequentialLR", "StepLR",
]  # fmt: skip

accept(globals(), __all__, __name__)
