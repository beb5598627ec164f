"""Functions of functions: gradients, Jacobians, gradients that users write, functions over nests. No gradient rules of ops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphc.ops.gradients import custom, derivatives, hypermap, reverse
from graphc.ops.gradients.custom import *
from graphc.ops.gradients.derivatives import *
from graphc.ops.gradients.hypermap import *
from graphc.ops.gradients.reverse import *
from graphc.validation.signatures import accept

if not TYPE_CHECKING:
    __all__ = [name for module in (custom, derivatives, hypermap, reverse) for name in module.__all__]
    accept(globals(), __all__, __name__)
