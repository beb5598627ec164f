"""The ops as functions, with MindSpore's names, promotion of operands and defaults, one subject a module.

They work on Tensors at once (by the NumPy reference), and record nodes while a Cell is traced. No gradients of functions
(`graphc.ops.gradients`), no ops as objects (`graphc.ops.primitives`).
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from graphc.internal_errors import doors
from graphc.ops.functional import methods as methods
from graphc.ops.functional.activation import *
from graphc.ops.functional.adaptive_pooling import *
from graphc.ops.functional.arithmetic import *
from graphc.ops.functional.attention import *
from graphc.ops.functional.attributes import *
from graphc.ops.functional.augmented import *
from graphc.ops.functional.bands import *
from graphc.ops.functional.blocks import *
from graphc.ops.functional.boxes import *
from graphc.ops.functional.candidates import *
from graphc.ops.functional.channel_dropout import *
from graphc.ops.functional.clipping import *
from graphc.ops.functional.collective import *
from graphc.ops.functional.combining import *
from graphc.ops.functional.complex import *
from graphc.ops.functional.control import *
from graphc.ops.functional.conv import *
from graphc.ops.functional.conv_transpose import *
from graphc.ops.functional.core import *
from graphc.ops.functional.counting import *
from graphc.ops.functional.create import *
from graphc.ops.functional.ctc import *
from graphc.ops.functional.cumulative import *
from graphc.ops.functional.decompositions import *
from graphc.ops.functional.describe import *
from graphc.ops.functional.diagonals import *
from graphc.ops.functional.distributions import *
from graphc.ops.functional.dynamic import *
from graphc.ops.functional.einsum import *
from graphc.ops.functional.element_updates import *
from graphc.ops.functional.elements import *
from graphc.ops.functional.elementwise import *
from graphc.ops.functional.experts import *
from graphc.ops.functional.extended import *
from graphc.ops.functional.extrema import *
from graphc.ops.functional.filling import *
from graphc.ops.functional.fourier import *
from graphc.ops.functional.fused_primitives import *
from graphc.ops.functional.grids import *
from graphc.ops.functional.in_place import *
from graphc.ops.functional.index import *
from graphc.ops.functional.integers import *
from graphc.ops.functional.joining import *
from graphc.ops.functional.linear_systems import *
from graphc.ops.functional.logic import *
from graphc.ops.functional.loss import *
from graphc.ops.functional.margin_losses import *
from graphc.ops.functional.names import *
from graphc.ops.functional.normalization import *
from graphc.ops.functional.norms import *
from graphc.ops.functional.padding import *
from graphc.ops.functional.pooling import *
from graphc.ops.functional.printing import *
from graphc.ops.functional.products import *
from graphc.ops.functional.python_values import *
from graphc.ops.functional.quantiles import *
from graphc.ops.functional.random import *
from graphc.ops.functional.reduce import *
from graphc.ops.functional.reordering import *
from graphc.ops.functional.resizing import *
from graphc.ops.functional.sampling import *
from graphc.ops.functional.scattering import *
from graphc.ops.functional.sets import *
from graphc.ops.functional.shapes import *
from graphc.ops.functional.slicing import *
from graphc.ops.functional.solve import *
from graphc.ops.functional.sorting import *
from graphc.ops.functional.sparse_elementwise import *
from graphc.ops.functional.sparse_functions import *
from graphc.ops.functional.sparse_parts import *
from graphc.ops.functional.special import *
from graphc.ops.functional.special_functions import *
from graphc.ops.functional.state import *
from graphc.ops.functional.statistics import *
from graphc.ops.functional.transcendental import *
from graphc.ops.functional.unique import *
from graphc.ops.functional.unpooling import *
from graphc.ops.functional.windows import *
from graphc.ops.tensor.autocast import mark

if not TYPE_CHECKING:
    #: What the modules above export: all that is here but the modules themselves.
    __all__ = [
        name
        for name, value in globals().items()
        if not (
            name.startswith("_")
            or isinstance(value, ModuleType)
            or name in ("ModuleType", "TYPE_CHECKING", "annotations", "doors", "mark")
        )
    ]
    mark(globals(), __all__)
    doors(globals(), __all__, __name__)
