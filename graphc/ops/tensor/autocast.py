"""Level "auto" of mixed precision: while it is on, functions that users and layers call compute in the dtype that a list says.

    low     products and convolutions: their float tensors are cast to float16 or bfloat16
    full    what sums up or grows fast: to float32
    widest  to the widest float dtype of the operands

Others compute in the dtype of what they are given. A function is one thing: what it is made of is not cast. The lists are
MindSpore's (amp.auto_mixed_precision), which are of primitives, and what functions make there of these.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any, ParamSpec, TypeVar

from graphc import dispatch
from graphc.ops.tensor.tensor import Tensor
from graphc.ops.tensor.tree import map_tensors, tensors
from graphc.validation.wrong_arguments import refuse_call

P = ParamSpec("P")
R = TypeVar("R")

_LISTS = {
    "low": """
        Conv2D Conv3D Conv2DTranspose Conv3DTranspose Conv2DBackpropInput MatMul BatchMatMul PReLU Einsum
        conv1d conv2d conv3d conv_transpose2d conv2d_transpose conv3d_transpose
        matmul bmm mm mv dense linear prelu einsum dot inner batch_dot cov
        mint.addmv mint.baddbmm
        """,
    "full": """
        Pow ACos Asin Cosh Erfinv Exp Expm1 Log Log1p Reciprocal Inv Rsqrt Sinh Tan Softplus LayerNorm BatchNorm
        KLDivLoss SmoothL1Loss MultilabelMarginLoss SoftMarginLoss TripletMarginLoss MultiMarginLoss BCEWithLogitsLoss Cdist
        Renorm ReduceProd Softmax LogSoftmax CumProd CumSum NLLLoss
        pow float_power acos arccos asin arcsin cosh erfinv exp expm1 log log10 log1p log2 reciprocal rsqrt sinh tan
        softplus layer_norm layer_norm_over batch_norm group_norm kl_div smooth_l1_loss multilabel_margin_loss soft_margin_loss
        triplet_margin_loss multi_margin_loss binary_cross_entropy_with_logits pdist cdist renorm prod softmax log_softmax
        cumprod cumsum sum nll_loss cross_entropy logsumexp logaddexp logaddexp2 logdet logsigmoid ldexp exp2 std var addbmm
        sum_to_size trapz vecdot cosine_similarity softmin gumbel_softmax gaussian_nll_loss multilabel_soft_margin_loss
        mint.norm
        """,
    "widest": "Addcdiv Addcmul Cross BiasAdd AddN Concat addcdiv addcmul cross grid_sample bias_add addn concat cat",
}
#: By name, in which list a function or primitive is. One that only `mint` has in it stands with that name.
_KINDS = {name: kind for kind, names in _LISTS.items() for name in names.split()}
_WIDTHS = ("float16", "bfloat16", "float32", "float64")
_marked: dict[Any, Any] = {}


@contextmanager
def computing(low: str | None) -> Iterator[None]:
    """Functions that are called inside compute by the lists, in this dtype where it is a low one; None: as they are given."""
    token = dispatch.low.set(low)
    try:
        yield
    finally:
        dispatch.low.reset(token)


def marked(function: Callable[P, R], name: str = "") -> Callable[P, R]:
    """The function, which casts what it is given while the level is on, if it is in a list. name: if it is not its own."""
    name = name or function.__name__.strip("_")
    inside = "mint." if function.__module__.startswith("graphc.mint") else ""
    kind = _KINDS.get(inside + name) or _KINDS.get(name)
    if kind is None or getattr(function, "casts_by", None):
        return function
    if (function, kind) not in _marked:
        _marked[function, kind] = _casting(function, kind)
    made: Callable[P, R] = _marked[function, kind]
    return made


def mark(members: dict[str, Any], names: Iterable[str]) -> None:
    """Put functions that cast in the place of those of these names, where they are in a list."""
    for name in names:
        if isinstance(members[name], FunctionType):
            members[name] = marked(members[name])


def _casting(function: Callable[P, R], kind: str) -> Callable[P, R]:
    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        low = dispatch.low.get()
        if low is None:
            try:
                return function(*args, **kwargs)
            except TypeError as error:
                refuse_call(function, error)
                raise
        given: Any = args, kwargs
        args, kwargs = map_tensors(functools.partial(_as, low if kind == "low" else _wide(kind, given)), given)
        with computing(None):
            return function(*args, **kwargs)

    call.casts_by = kind  # type: ignore[attr-defined]
    return call


def meet(x: Tensor, y: Tensor) -> bool:
    """Whether a product of the two has operands of one dtype: they have, or the level makes them so."""
    dtypes = {x.tensor_type.dtype, y.tensor_type.dtype}
    return len(dtypes) == 1 or (dispatch.low.get() is not None and dtypes <= set(_WIDTHS))


def _wide(kind: str, given: Any) -> str:
    """The dtype of what computes in full, or in the widest that it is given."""
    if kind == "full":
        return "float32"
    widths = [_WIDTHS.index(x.tensor_type.dtype) for x in tensors(given) if x.tensor_type.dtype in _WIDTHS]
    mixed = {0, 1} <= set(widths)
    return _WIDTHS[max([*widths, 2 if mixed else 0])]


def _as(dtype: str, x: Tensor) -> Any:
    cast: Any = x
    return cast.astype(dtype) if x.tensor_type.dtype in _WIDTHS and x.tensor_type.dtype != dtype else x
