"""Ops as objects: `ops.MatMul()(x, y)`. Each calls functions of `graphc.ops.functional`; none computes itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphc.ops.functional.elementwise import *
from graphc.ops.functional.special_functions import *
from graphc.ops.primitives.arithmetic import *
from graphc.ops.primitives.arrays import *
from graphc.ops.primitives.attention import *
from graphc.ops.primitives.collective import *
from graphc.ops.primitives.counts import *
from graphc.ops.primitives.ctc import *
from graphc.ops.primitives.device_recurrent import *
from graphc.ops.primitives.draws import *
from graphc.ops.primitives.float_status import *
from graphc.ops.primitives.fused import *
from graphc.ops.primitives.gradients import *
from graphc.ops.primitives.images import *
from graphc.ops.primitives.layouts import *
from graphc.ops.primitives.linear_algebra import *
from graphc.ops.primitives.loops import *
from graphc.ops.primitives.losses import *
from graphc.ops.primitives.network import *
from graphc.ops.primitives.optimizers import *
from graphc.ops.primitives.outside import *
from graphc.ops.primitives.patches import *
from graphc.ops.primitives.pooling import *
from graphc.ops.primitives.products import *
from graphc.ops.primitives.pulled import *
from graphc.ops.primitives.pulled_norms import *
from graphc.ops.primitives.pulled_pixels import *
from graphc.ops.primitives.pulled_rows import *
from graphc.ops.primitives.pulled_windows import *
from graphc.ops.primitives.python import *
from graphc.ops.primitives.recurrent import *
from graphc.ops.primitives.reduction import *
from graphc.ops.primitives.resizing import *
from graphc.ops.primitives.sampling import *
from graphc.ops.primitives.sparse import *
from graphc.ops.primitives.sparse_optimizers import *
from graphc.ops.primitives.special import *
from graphc.ops.primitives.state import *
from graphc.ops.tensor.primitive import *

if not TYPE_CHECKING:
    __all__ = [
        "prim_attr_register",
        *(n for n, v in globals().items() if isinstance(v, type) and issubclass(v, Primitive)),
    ]
