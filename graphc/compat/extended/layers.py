"""Layers of mindspore.mint.nn by the names that they have beneath `mindspore.nn.layer`."""

from graphc.mint.nn import Fold as Fold
from graphc.mint.nn import Softmax, Unfold, Upsample

SoftmaxExt, UnfoldExt, UpsampleExt = Softmax, Unfold, Upsample

__all__ = ["Fold", "SoftmaxExt", "UnfoldExt", "UpsampleExt"]
