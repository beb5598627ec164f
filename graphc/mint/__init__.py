"""Functions with the names, arguments and defaults of torch (MindSpore: mindspore.mint), over those of graphc.ops."""

from graphc.internal_errors import doors
from graphc.mint import linalg, nn, optim, special
from graphc.mint.batch_norms import *
from graphc.mint.batch_norms import __all__ as _batch_norms
from graphc.mint.elementwise import *
from graphc.mint.elementwise import __all__ as _elementwise
from graphc.mint.nn import functional as functional
from graphc.mint.nn.functional import conv2d
from graphc.mint.nn.functional.layers import conv_tbc
from graphc.mint.products import *
from graphc.mint.products import __all__ as _products
from graphc.mint.random import *
from graphc.mint.random import __all__ as _random
from graphc.mint.reductions import *
from graphc.mint.reductions import __all__ as _reductions
from graphc.mint.shapes import *
from graphc.mint.shapes import __all__ as _shapes
from graphc.ops.tensor.autocast import mark

__all__ = [
    *_batch_norms,
    *_elementwise,
    *_products,
    *_random,
    *_reductions,
    *_shapes,
    "conv2d",
    "conv_tbc",
    "linalg",
    "nn",
    "optim",
    "special",
]

mark(globals(), __all__)
doors(globals(), __all__, __name__)
