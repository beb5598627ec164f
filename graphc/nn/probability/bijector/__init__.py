"""Functions with an inverse and a derivative, which change distributions (MindSpore: nn.probability.bijector)."""

from typing import TYPE_CHECKING

from graphc.nn.probability.bijector import base, functions
from graphc.nn.probability.bijector.base import *
from graphc.nn.probability.bijector.functions import *
from graphc.validation.signatures import accept

if not TYPE_CHECKING:
    __all__ = [name for module in (base, functions) for name in module.__all__]
    accept(globals(), __all__, __name__)
