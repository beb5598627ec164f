"""Layers with torch's arguments and defaults (MindSpore: mindspore.mint.nn)."""

from graphc.mint.nn import functional
from graphc.mint.nn.activations import *
from graphc.mint.nn.activations import __all__ as _activations
from graphc.mint.nn.layers import *
from graphc.mint.nn.layers import __all__ as _layers
from graphc.mint.nn.losses import *
from graphc.mint.nn.losses import __all__ as _losses
from graphc.mint.nn.normalization import *
from graphc.mint.nn.normalization import __all__ as _normalization
from graphc.mint.nn.padding import *
from graphc.mint.nn.padding import __all__ as _padding
from graphc.mint.nn.pooling import *
from graphc.mint.nn.pooling import __all__ as _pooling
from graphc.nn.cell.cell import Cell as Cell
from graphc.validation.signatures import accept

__all__ = [*_activations, *_layers, *_losses, *_normalization, *_padding, *_pooling, "functional"]

accept(globals(), __all__, __name__)
