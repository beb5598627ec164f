"""Functions of networks with torch's arguments (MindSpore: mindspore.mint.nn.functional)."""

from graphc.internal_errors import doors
from graphc.mint.nn.functional.activations import *
from graphc.mint.nn.functional.activations import __all__ as _activations
from graphc.mint.nn.functional.in_place import *
from graphc.mint.nn.functional.in_place import __all__ as _in_place
from graphc.mint.nn.functional.layers import *
from graphc.mint.nn.functional.layers import __all__ as _layers
from graphc.mint.nn.functional.losses import *
from graphc.mint.nn.functional.losses import __all__ as _losses
from graphc.mint.nn.functional.windows import *
from graphc.mint.nn.functional.windows import __all__ as _windows
from graphc.ops.tensor.autocast import mark

__all__ = [*_windows, *_activations, *_in_place, *_layers, *_losses]

mark(globals(), __all__)
doors(globals(), __all__, __name__)
