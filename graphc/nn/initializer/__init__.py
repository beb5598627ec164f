"""Initial values of parameters, bit for bit those of MindSpore 2.10. Nothing of training."""

from typing import TYPE_CHECKING

from graphc.nn.initializer import base, distributions, make, structured
from graphc.nn.initializer.base import *
from graphc.nn.initializer.distributions import *
from graphc.nn.initializer.make import *
from graphc.nn.initializer.structured import *
from graphc.validation.signatures import accept

if not TYPE_CHECKING:
    __all__ = [name for module in (base, distributions, make, structured) for name in module.__all__]
    accept(globals(), __all__, __name__)
