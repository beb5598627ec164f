"""`mindspore.numpy`: NumPy's functions on Tensors, thin ones over graphc.ops, with MindSpore's parameters and dtypes.

Python's integers are int32 here and its floats float32. The functions run at once, are compiled inside a Cell, and have the
gradients of the ops they are made of; those whose result may have any size, such as `bincount`, are refused there (GC120).
"""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

from graphc.errors.suggestions import no_member
from graphc.internal_errors import doors
from graphc.numpy import fft as fft
from graphc.numpy.calculus import *
from graphc.numpy.choosing import *
from graphc.numpy.creation import *
from graphc.numpy.elementwise import *
from graphc.numpy.grids import *
from graphc.numpy.histograms import *
from graphc.numpy.logic import *
from graphc.numpy.padding import *
from graphc.numpy.polynomials import *
from graphc.numpy.products import *
from graphc.numpy.random import *
from graphc.numpy.reductions import *
from graphc.numpy.shapes import *
from graphc.ops.tensor.dtype import BY_NAME
from graphc.tracebacks import clean

pi, e, inf, nan, newaxis = 3.141592653589793, 2.718281828459045, float("inf"), float("nan"), None
PINF, NINF = inf, -inf
int_, float_, bool_ = BY_NAME["int32"], BY_NAME["float32"], BY_NAME["bool"]

# Names that would hide Python's own in the modules above.
abs, divmod, sum, max, min, round = abs_, divmod_, sum_, amax, amin, around

if not TYPE_CHECKING:
    # The dtypes there are, but for the one that NumPy does not know.
    globals().update({name: dtype for name, dtype in BY_NAME.items() if name not in ("bool", "bfloat16")})
    _HERE = (
        "TYPE_CHECKING", "Any", "BY_NAME", "ModuleType", "annotations", "clean", "doors", "no_member",
        "abs_", "divmod_", "sum_",
    )  # fmt: skip
    __all__ = [
        name
        for name, value in globals().items()
        if not (name.startswith("_") or isinstance(value, ModuleType) or name in _HERE)
    ]
    doors(globals(), __all__, __name__)

    def __getattr__(name: str) -> Any:
        try:
            return no_member("graphc.numpy", name, __all__)
        except (AttributeError, ImportError) as error:
            clean(error)
            raise
