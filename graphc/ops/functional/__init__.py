"""The ops as functions, with MindSpore's names, promotion of operands and defaults.

They work on Tensors at once (by the NumPy reference), and record nodes while a Cell is traced.
"""

from graphc.ops.functional import activation, conv, extra, loss, normalization, random
from graphc.ops.functional.activation import *  # noqa: F403
from graphc.ops.functional.control import cond, fori_loop, scan, while_loop
from graphc.ops.functional.conv import *  # noqa: F403
from graphc.ops.functional.core import Axis, Number, Operand, cast, cast_to
from graphc.ops.functional.create import fill, full, ones, ones_like, zeros, zeros_like
from graphc.ops.functional.extra import *  # noqa: F403
from graphc.ops.functional.loss import *  # noqa: F403
from graphc.ops.functional.math import (
    abs_,
    add,
    addn,
    bias_add,
    ceil,
    clip_by_value,
    cos,
    div,
    equal,
    erf,
    exp,
    expm1,
    floor,
    floor_div,
    floor_mod,
    greater,
    greater_equal,
    isfinite,
    isinf,
    isnan,
    less,
    less_equal,
    log,
    log1p,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    masked_fill,
    maximum,
    minimum,
    mul,
    neg,
    not_equal,
    pow_,
    reciprocal,
    relu,
    round_,
    rsqrt,
    select,
    sigmoid,
    sign,
    sin,
    sqrt,
    square,
    sub,
    tanh,
    where,
)  # fmt: skip
from graphc.ops.functional.network import (
    avg_pool2d,
    log_softmax,
    matmul,
    max_pool2d,
    softmax,
    softmax_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits,
)  # fmt: skip
from graphc.ops.functional.normalization import *  # noqa: F403
from graphc.ops.functional.random import *  # noqa: F403
from graphc.ops.functional.reduce import (
    all_,
    any_,
    argmax,
    mean,
    reduce_all,
    reduce_any,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_sum,
    sum_,
)  # fmt: skip
from graphc.ops.functional.shape import (
    as_shape,
    broadcast_to,
    cat,
    chunk,
    concat,
    cumsum,
    expand_dims,
    flatten,
    gather,
    getitem,
    one_hot,
    pad,
    reshape,
    size,
    split,
    squeeze,
    stack,
    swapaxes,
    tile,
    transpose,
    unsqueeze,
)  # fmt: skip
from graphc.ops.functional.state import (
    all_finite,
    assign,
    assign_add,
    assign_sub,
    clear_float_status,
    depend,
    get_float_status,
    stop_gradient,
)  # fmt: skip

__all__ = [
    "Axis", "Number", "Operand", "abs_", "add", "addn", "all_", "all_finite", "any_", "argmax", "as_shape", "assign",
    "assign_add", "assign_sub", "avg_pool2d", "bias_add", "broadcast_to", "cast", "cast_to", "cat", "ceil", "chunk",
    "clear_float_status", "clip_by_value", "concat", "cond", "cos", "cumsum", "depend", "div", "equal", "erf", "exp",
    "expand_dims", "expm1", "fill", "flatten", "floor", "floor_div", "floor_mod", "fori_loop", "full", "gather",
    "get_float_status", "getitem", "greater", "greater_equal", "isfinite", "isinf", "isnan", "less", "less_equal",
    "log", "log1p", "log_softmax", "logical_and", "logical_not", "logical_or", "logical_xor", "masked_fill", "matmul",
    "max_pool2d", "maximum", "mean", "minimum", "mul", "neg", "not_equal", "one_hot", "ones", "ones_like", "pad",
    "pow_", "reciprocal", "reduce_all", "reduce_any", "reduce_max", "reduce_mean", "reduce_min", "reduce_sum", "relu",
    "reshape", "round_", "rsqrt", "scan", "select", "sigmoid", "sign", "sin", "size", "softmax",
    "softmax_cross_entropy_with_logits", "sparse_softmax_cross_entropy_with_logits", "split", "sqrt", "square",
    "squeeze", "stack", "stop_gradient", "sub", "sum_", "swapaxes", "tanh", "tile", "transpose", "unsqueeze", "where",
    "while_loop", "zeros", "zeros_like",
]  # fmt: skip
__all__ += activation.__all__ + conv.__all__ + loss.__all__ + normalization.__all__ + random.__all__
__all__ += extra.NAMES
