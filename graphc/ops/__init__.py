"""The ops: one declaration each (elementwise, reduce, shape, linalg, image, loss, state), the NumPy interpreter, Tensor and
Parameter, and the functions users call. Knows the IR; knows no Cells, no compiler.
"""

from graphc.ops import elementwise, image, linalg, loss, reduce, shape, state  # noqa: F401  the declarations
from graphc.ops.composite import GradOperation
from graphc.ops.functional import (
    add, all_finite, argmax, assign, assign_add, assign_sub, avg_pool2d, bias_add, broadcast_to, cast, cat,
    clear_float_status, clip_by_value, concat, cond, conv2d, depend, div, equal, erf, exp, expand_dims, fill, flatten, floor,
    floor_div, floor_mod, full, gather, get_float_status, greater, greater_equal, isfinite, less, less_equal, log,
    log_softmax, logical_and, logical_not, logical_or, matmul, max_pool2d, maximum, mean, minimum, mul, neg, not_equal,
    one_hot, ones, ones_like, pad, reciprocal, reduce_all, reduce_any, reduce_max, reduce_mean, reduce_min, reduce_sum, relu,
    reshape, rsqrt, select, sigmoid, sign, softmax, softmax_cross_entropy_with_logits,
    sparse_softmax_cross_entropy_with_logits, split, sqrt, square, squeeze, stack, stop_gradient, sub, swapaxes, tanh,
    transpose, where, zeros, zeros_like,
)  # fmt: skip
from graphc.ops.functional import abs_ as abs
from graphc.ops.functional import pow_ as pow
from graphc.ops.functional import sum_ as sum
from graphc.ops.primitives import (
    Abs, Add, AllFinite, Assign, AssignAdd, AssignSub, Cast, Concat, Depend, Div, Equal, Exp, Greater, GreaterEqual, IsFinite,
    Less, LessEqual, Log, LogicalAnd, LogicalNot, LogicalOr, MatMul, Maximum, Minimum, Mul, Neg, NotEqual, OneHot, OnesLike,
    Pow, RealDiv, Reciprocal, ReduceAll, ReduceAny, ReduceMax, ReduceMean, ReduceMin, ReduceSum, ReLU, Reshape, Select,
    Sigmoid, Softmax, Sqrt, Square, Sub, Tanh, Transpose, ZerosLike,
)  # fmt: skip
from graphc.ops.tensor import Parameter, ParameterTuple, Tensor

__all__ = [
    "Abs", "Add", "AllFinite", "Assign", "AssignAdd", "AssignSub", "Cast", "Concat", "Depend", "Div",
    "Equal", "Exp", "GradOperation", "Greater", "GreaterEqual", "IsFinite", "Less", "LessEqual", "Log",
    "LogicalAnd", "LogicalNot", "LogicalOr", "MatMul", "Maximum", "Minimum", "Mul", "Neg", "NotEqual",
    "OneHot", "OnesLike", "Parameter", "ParameterTuple", "Pow", "ReLU", "RealDiv", "Reciprocal",
    "ReduceAll", "ReduceAny", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum", "Reshape", "Select",
    "Sigmoid", "Softmax", "Sqrt", "Square", "Sub", "Tanh", "Tensor", "Transpose", "ZerosLike", "abs", "add",
    "all_finite", "argmax", "assign", "assign_add", "assign_sub", "avg_pool2d", "bias_add", "broadcast_to",
    "cast", "cat", "clear_float_status", "clip_by_value", "concat", "cond", "conv2d", "depend", "div",
    "equal", "erf", "exp", "expand_dims", "fill", "flatten", "floor", "floor_div", "floor_mod", "full",
    "gather", "get_float_status", "greater", "greater_equal", "isfinite", "less", "less_equal", "log",
    "log_softmax", "logical_and", "logical_not", "logical_or", "matmul", "max_pool2d", "maximum", "mean",
    "minimum", "mul", "neg", "not_equal", "one_hot", "ones", "ones_like", "pad", "pow", "reciprocal",
    "reduce_all", "reduce_any", "reduce_max", "reduce_mean", "reduce_min", "reduce_sum", "relu", "reshape",
    "rsqrt", "select", "sigmoid", "sign", "softmax", "softmax_cross_entropy_with_logits",
    "sparse_softmax_cross_entropy_with_logits", "split", "sqrt", "square", "squeeze", "stack",
    "stop_gradient", "sub", "sum", "swapaxes", "tanh", "transpose", "where", "zeros", "zeros_like",
]  # fmt: skip
