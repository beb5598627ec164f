"""Ops as objects, MindSpore's older style: `ops.MatMul()(x, y)`. Each calls functions of `graphc.ops.functional`."""

from __future__ import annotations

from graphc.ops.primitives import arrays, base, further, fused, maths, more, network, outside, states
from graphc.ops.primitives.arrays import *  # noqa: F403
from graphc.ops.primitives.base import *  # noqa: F403
from graphc.ops.primitives.further import *  # noqa: F403
from graphc.ops.primitives.fused import *  # noqa: F403
from graphc.ops.primitives.maths import *  # noqa: F403
from graphc.ops.primitives.more import *  # noqa: F403
from graphc.ops.primitives.network import *  # noqa: F403
from graphc.ops.primitives.outside import *  # noqa: F403
from graphc.ops.primitives.states import *  # noqa: F403

#: What the modules above define. There is no `__all__` here: checkers of types cannot read a computed one.
NAMES = [
    *arrays.__all__, *base.__all__, *further.__all__, *fused.__all__, *maths.__all__, *more.__all__,
    *network.__all__, *outside.__all__, *states.__all__,
]  # fmt: skip
