"""Cells around a network: loss, gradient, one training step, loss scale, accumulation, clipping. No loop over data."""

from typing import TYPE_CHECKING

from graphc.nn.train import accumulate, clip, grad_reducer, loss_scale, mindformers, products, wrap
from graphc.nn.train.accumulate import *
from graphc.nn.train.clip import *
from graphc.nn.train.grad_reducer import *
from graphc.nn.train.loss_scale import *
from graphc.nn.train.mindformers import *
from graphc.nn.train.products import *
from graphc.nn.train.wrap import *

if not TYPE_CHECKING:
    __all__ = [
        name
        for module in (accumulate, clip, grad_reducer, loss_scale, mindformers, products, wrap)
        for name in module.__all__
    ]
