"""Metrics: what a trained network is measured by. NumPy only: they run between compiled steps."""

from typing import TYPE_CHECKING

from graphc.nn.metrics import base, bleu, by_name, classification, confusion, curves, numbers, occlusion, surface
from graphc.nn.metrics.base import *
from graphc.nn.metrics.bleu import *
from graphc.nn.metrics.by_name import *
from graphc.nn.metrics.classification import *
from graphc.nn.metrics.confusion import *
from graphc.nn.metrics.curves import *
from graphc.nn.metrics.numbers import *
from graphc.nn.metrics.occlusion import *
from graphc.nn.metrics.surface import *
from graphc.validation.signatures import accept

if not TYPE_CHECKING:
    __all__ = [
        name
        for module in (base, bleu, by_name, classification, confusion, curves, numbers, occlusion, surface)
        for name in module.__all__
    ]
    accept(globals(), __all__, __name__)
