"""Probability distributions: densities, moments, divergences, samples (MindSpore: nn.probability.distribution)."""

from typing import TYPE_CHECKING

from graphc.nn.probability.distribution import base, bell, discrete, positive, transformed
from graphc.nn.probability.distribution.base import *
from graphc.nn.probability.distribution.bell import *
from graphc.nn.probability.distribution.discrete import *
from graphc.nn.probability.distribution.positive import *
from graphc.nn.probability.distribution.transformed import *
from graphc.validation.signatures import accept

if not TYPE_CHECKING:
    __all__ = [name for module in (base, bell, discrete, positive, transformed) for name in module.__all__]
    accept(globals(), __all__, __name__)
