"""MindSpore's `ops.composite`: the names of `graphc.ops.gradients`, as scripts import them."""

from typing import TYPE_CHECKING

from graphc.ops import gradients as _gradients
from graphc.ops.gradients import *
from graphc.ops.gradients.reverse import GradFunction as GradFunction

if not TYPE_CHECKING:
    __all__ = _gradients.__all__
