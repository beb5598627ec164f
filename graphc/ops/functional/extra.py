"""The functions beyond the basic ones, by module."""

from graphc.ops.functional import (
    extra_bits,
    extra_further,
    extra_index,
    extra_linalg,
    extra_math,
    extra_more,
    extra_print,
    extra_random,
    extra_reduce,
    extra_scalar,
    extra_shape,
    extra_solve,
)
from graphc.ops.functional.extra_bits import *  # noqa: F403
from graphc.ops.functional.extra_further import *  # noqa: F403
from graphc.ops.functional.extra_index import *  # noqa: F403
from graphc.ops.functional.extra_linalg import *  # noqa: F403
from graphc.ops.functional.extra_math import *  # noqa: F403
from graphc.ops.functional.extra_more import *  # noqa: F403
from graphc.ops.functional.extra_print import *  # noqa: F403
from graphc.ops.functional.extra_random import *  # noqa: F403
from graphc.ops.functional.extra_reduce import *  # noqa: F403
from graphc.ops.functional.extra_scalar import *  # noqa: F403
from graphc.ops.functional.extra_shape import *  # noqa: F403
from graphc.ops.functional.extra_solve import *  # noqa: F403

#: What the modules above define. There is no `__all__` here: checkers of types cannot read a computed one.
NAMES = [
    *extra_bits.__all__, *extra_further.__all__, *extra_index.__all__, *extra_linalg.__all__,
    *extra_math.__all__, *extra_more.__all__, *extra_print.__all__, *extra_random.__all__,
    *extra_reduce.__all__, *extra_scalar.__all__, *extra_shape.__all__, *extra_solve.__all__,
]  # fmt: skip
