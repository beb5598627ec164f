"""MindSpore's `ops.composite`: the names of `graphc.ops.gradients`, as scripts import them."""

from typing import TYPE_CHECKING

from graphc.ops import gradients as _gradients
from graphc.ops.gradients import *
from graphc.ops.gradients.reverse import GradFunction as GradFunction
from graphc.paths import others_of

if not TYPE_CHECKING:
    __all__ = _gradients.__all__
    __getattr__ = others_of(__name__)

#: A package to Python: `graphc.paths` finds what is in it.
__path__: list[str] = []
