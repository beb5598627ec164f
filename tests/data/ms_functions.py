"""Numbers of functions and primitives from MindSpore, for tests/ops/test_functions_recorded.py.

Run with MindSpore's Python in an empty folder: python ms_functions.py OUTPUT.json
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np


def array(*shape: int, seed: int = 0, low: float = -1.0, high: float = 1.0) -> Any:
    """float32 numbers between two bounds."""
    return np.random.default_rng(seed + sum(shape)).uniform(low, high, shape).astype(np.float32)


X, Y, V = array(3, 4), array(3, 4, seed=1), array(5)
IMAGES, POSITIVE = array(2, 3, 4, 6), array(3, 4, low=0.1, high=4.0)
SORTED = np.sort(array(3, 5), axis=1)

#: name -> (function or primitive, arguments of the primitive or None, operands, further arguments by position and name).
CASES: dict[str, tuple[str, Any, tuple[Any, ...], tuple[Any, ...], dict[str, Any]]] = {
    "ger": ("ger", None, (V, array(3)), (), {}),
    "lgamma": ("lgamma", None, (np.array([-2.5, -0.3, 0.2, 0.9, 1.0, 2.0, 3.7, 30.0], np.float32),), (), {}),
    "digamma": ("digamma", None, (np.array([-2.5, -0.3, 0.2, 0.9, 1.5, 3.7, 30.0], np.float32),), (), {}),
    "lrn": ("LRN", (2, 1.0, 0.5, 0.75), (IMAGES,), (), {}),
    "searchsorted": ("searchsorted", None, (SORTED, X), (), {}),
    "space_to_batch": ("SpaceToBatchND", ([2, 3], [[0, 2], [1, 2]]), (IMAGES,), (), {}),
    "batch_to_space": ("BatchToSpaceND", ([2, 2], [[0, 1], [1, 0]]), (array(4, 3, 2, 3),), (), {}),
    "diag_embed": ("diag_embed", None, (X,), (1, 0, 2), {}),
    "logcumsumexp": ("logcumsumexp", None, (X * 5, 1), (), {}),
    "unfold": ("unfold", None, (IMAGES, (2, 3)), (), {"stride": (1, 2), "padding": 1}),
    "adaptive_max_pool1d": ("adaptive_max_pool1d", None, (array(2, 3, 6), 3), (), {}),
    "dist": ("dist", None, (X, Y), (), {"p": 3}),
    "cov": ("cov", None, (X,), (), {}),
    "block_diag": ("block_diag", None, (X, Y[:2].copy(), V), (), {}),
    "renorm": ("renorm", None, (X, 2, 0, 0.8), (), {}),
    "select_scatter": ("select_scatter", None, (X, array(3), 1, 2), (), {}),
    "slice_scatter": ("slice_scatter", None, (X, array(3, 2), 1, 0, 4, 2), (), {}),
}
GRADIENTS = {
    "ReluGrad": (X, Y), "ReLU6Grad": (X, 5 * POSITIVE), "SigmoidGrad": (POSITIVE, X), "TanhGrad": (Y, X),
    "SqrtGrad": (POSITIVE, X), "RsqrtGrad": (POSITIVE, X), "ReciprocalGrad": (POSITIVE, X), "InvGrad": (POSITIVE, X),
    "AbsGrad": (X, Y), "ACosGrad": (X, Y), "AsinGrad": (X, Y), "AtanGrad": (X, Y), "AsinhGrad": (X, Y),
    "AcoshGrad": (POSITIVE, Y), "SoftplusGrad": (X, Y), "EluGrad": (X, Y), "HSigmoidGrad": (X, 4 * Y), "SiLUGrad": (X, Y),
    "LogSoftmaxGrad": (X, Y), "BiasAddGrad": (IMAGES,), "SigmoidCrossEntropyWithLogitsGrad": (X, POSITIVE / 4, Y),
}  # fmt: skip

#: Operands of the calls below.
OPERANDS = {
    "x": np.array([[2.5, -1, 0, 4], [1, 3, -2.5, 1.5], [6, 0.5, 5, -3]], np.float32),
    "i": np.array([[5, -1, 2], [0, 7, -3]], np.int32),
    "n": np.array([4, 2, 4, -7]),
    "b": np.array([[True, False], [False, False]]),
    "c": np.array([[1 + 1j, 2], [3, -4j]], np.complex64),
    "s": np.array(1.5, np.float32),
    "p": np.array([0, 2], np.int32),
    "e": np.zeros((0, 2), np.float32),
    "u": np.array([1, 5, 2], np.uint8),
    "v": np.array([2, 3, 2], np.uint8),
    "m": np.array([1.0, 1.0], np.float32),
}
#: Calls as texts, in which a method, or a function of integers, of a tensor without axes or without elements, has its own form.
CALLS = """
x.sum(dim=0)
x.sum(0, keepdim=True)
x.sum(dim=(0, 1), keepdim=True, dtype=float64)
i.sum(dim=0)
x.mean(dim=0)
x.mean(0, keepdim=True, dtype=float64)
i.mean(dim=0, dtype=float32)
x.prod(dim=0, keepdim=True, dtype=float64)
b.all(dim=0, keepdim=True)
x.argmax(dim=0, keepdim=True)
x.argmin(dim=1)
x.argmax(None, True)
x.argsort(dim=0, descending=True, stable=True)
x.sort(dim=0)
x.max(dim=0, keepdim=True)
x.max(0, keepdim=True)
x.max(axis=0)
x.min(dim=1)
x.median(dim=0, keepdim=True)
x.cumsum(dim=0)
x.chunk(2, dim=1)
x.split(split_size=2, dim=1)
x.split((1, 3), dim=1)
x.unbind(dim=1)
x.index_select(dim=0, index=p)
x.repeat_interleave(2, dim=0)
x.tile(2, 1)
x.tile(reps=(2, 1))
x.take(indices=p, axis=1)
x.std(0, correction=0)
x.std(0)
x.flatten(0, 1)
x.transpose(0, 1)
x.expand_dims(0).transpose(-1, 1)
x.transpose(dim0=0, dim1=1)
x.permute(dims=(1, 0))
x.broadcast_to(2, 3, 4)
x.reshape(shape=(4, 3))
x.new_zeros(size=(2, 3))
x.add(x, alpha=2)
x.astype(float16).sub(i[:1, :1], alpha=0.5)
i.subtract(i, alpha=3)
x.remainder(divisor=2.0)
x.isclose(x2=x)
x.matmul(tensor2=x.T)
x.round(0)
x.softmax(0, float16)
x.view(int32)
x.to("CPU", float16)
x.to(i)
x.to(dtype=float64, copy=True)
x.scatter(dim=1, index=n[:2].reshape(1, 2) // 4, src=x[:1, :2])
x.select(dim=0, index=1)
x.select(condition=x > 0, y=2.0)
x.index_add(p, x[:2] * 2, 0)
x.addr(x[:, 0], x[0], 2, 3)
x.argmax_with_value(axis=None)
n[:2].choose([[1, 2], [3, 4]])
x.allclose(x)
i.trace()
x.diag()
c.mH
ops.adjoint(c)
ops.sgn(c)
ops.DiagPart()(ops.diag(x))
ops.CumulativeLogsumexp(True, True)(x, Tensor(0))
ops.CumulativeLogsumexp(True)(x.astype(float16), Tensor(1))
ops.Bucketize([1.0, 3.0])(x)
ops.float_power(i, 2)
ops.clip_by_value([x, i], 0, 1)
ops.clamp(i, 0.5, 2.5)
ops.stop_gradient((x, 3.0))
ops.ones(Tensor([2, 3]))
ops.zeros(Tensor(2))
ops.FillV2()(p + 1, s)
ops.HammingWindow()(Tensor([6]))
ops.TruncatedNormal()(p + 2).shape
ops.mean(i)
ops.mean(i * -1, 1)
i.cov()
ops.Unique()(n)
ops.Inv()(i - 1)
ops.RealDiv()(i, p[1])
i.sum_to_size((1, 3))
ops.mse_loss(i, i * 2)
ops.LayerNorm()(x.astype(float16), x[0].astype(float16), x[0].astype(float16))[1].dtype
ops.linspace(s.astype(float64), Tensor(2.5, float64), 3)
ops.unsorted_segment_max(x.astype(float16), Tensor([0, 0, 2], int32), 3)
ops.split(e, 2)
ops.softmax(e)
ops.sqrt(i * i)
ops.lgamma(i)
ops.round(i)
ops.isnan(i)
ops.isfinite(b)
ops.sum(s, 0)
ops.amax(s, -1)
ops.logsumexp(s, 0)
ops.argmin(s)
ops.median(s)
ops.shuffle(s)
ops.min(x, 1, initial=0, where=x > 2)
round(x)
x[(0, 2), (1, 3)]
Tensor([0.1, 2.3], float64)
Tensor(0.1, float64)
repr(x)
repr(e)
repr(s)
repr(c)
repr(x.astype(float16))
repr(x.astype(bfloat16))
repr(Tensor([1.5, float("nan"), float("-inf")]))
repr(Tensor(np.arange(30)))
repr(Tensor(np.arange(24.0)))
repr(Tensor(np.arange(1001)))
repr(Tensor(np.arange(24).reshape(2, 3, 4) > 6))
repr(Tensor(np.arange(7 * 8 * 7).reshape(7, 8, 7)))
str(x.astype(bfloat16))
str(x.astype(bfloat16).dtype)
ops.gather(x, p * 0 - 1, 0)
ops.gather(x, Tensor([[-1], [0], [2]], int32), 1, 1)
ops.Gather()(x, p - 2, 1)
x.gather(p - 1, 0)
ops.index_select(x, 0, p - 1)
ops.gather_elements(x, 1, Tensor([[-1, 0], [3, -4]]))
ops.transpose(input=x, dims=(1, 0))
ops.permute(x, axis=(1, 0))
ops.sum(s, [0])
ops.amax(s, [-1])
ops.hardtanh(i, -1.5, 2.7)
ops.threshold(i, 0.5, 2.7)
ops.threshold(x.astype(float16), 1, 2)
ops.leaky_relu(i, 0.5)
ops.hardsigmoid(i)
ops.hardswish(i)
ops.tanhshrink(i // 4)
ops.hinge_embedding_loss(x, x - 1, 2.0, "none")
ops.lcm(i, 2)
ops.squeeze(x, 0)
ops.squeeze(x.expand_dims(0), [0, 1])
x.squeeze(0)
ops.pad(x, (1, -1))
ops.pad(x, (-1, -1, 1, 0), value=9.0)
ops.pad(i, (0, 0, -1, 0))
ops.linspace(s, s + 2, 3)
grad(lambda x: ops.norm(x, 2, 1).sum())(x * 0)
grad(lambda x: ops.cdist(x, x * 1.0).sum())(x)
grad(lambda x: ops.dist(x, x * 1.0))(x)
grad(lambda x: ops.nextafter(x, x + 1.0).sum())(x)
grad(lambda x: (ops.gather_elements(x, 1, Tensor([[-1, 0], [3, -4]])) * Tensor([[1.0, 2], [3, 4]])).sum())(x)
grad(lambda x: ops.softmax(x, 0)[0].sum())(x)
grad(lambda x: ops.hardtanh(x, -2.0, 2.0).sum())(x)
x[[[0, 1], [1, 0]]]
x[[[0, 1], [1, 0]], 0]
x[[Tensor(0), Tensor(1)]]
x[[None, 0]]
x[True, [0, 1]]
x[[0, 1], True, 0]
x.dtype is float32
x.astype(float)
Tensor(shape=(2, 3), dtype=int32)
ops.isclose(u, v, 0.1, 1.0)
ops.isclose(b, b)
ops.mse_loss(u, v)
ops.trapz(u, v)
ops.vander(u)
ops.vecdot(u, v)
ops.nll_loss(i, p, label_smoothing=0.1)
ops.clamp(x.astype(float16), s, None)
ops.clamp(u, n[0], None)
ops.copysign(x.astype(float16), x)
ops.fmod(x.astype(float16), s)
ops.fmod(i, n[0])
ops.truncate_mod(x.astype(float16), s)
ops.tensor_div(i, 2)
ops.amax(i, initial=1.5)
i.max(axis=0, initial=1.5)
ops.nanmean(x, dtype=int32)
ops.flatten(n)
ops.flatten(s)
ops.Flatten()(n)
ops.cartesian_prod(n)
ops.tile(x, (0, 2))
x.max(None, False, return_indices=True)
x.min(return_indices=True)
ops.logaddexp2(x.astype(float16), x)
ops.gather(x, Tensor([[0, 1], [1, 2], [0, 0]]), 1, -1)
ops.gather(x, Tensor([[0, 1], [1, 2], [0, 0]]), 1, -2)
ops.sum(x, Tensor(0))
ops.mean(x, Tensor([0, 1]))
ops.cumsum(x, Tensor(1))
x.argmax(axis=Tensor(0))
ops.cosine_similarity(x * 0.1, x, 1, 5.0)
grad(lambda m: m.max(axis=0))(m)
grad(lambda m: ops.aminmax(m)[1])(m)
grad(lambda m: ops.amax(m, 0))(m)
raised(IndexError, lambda: x["a"])
raised(IndexError, lambda: x[1.5])
raised(IndexError, lambda: x[False])
raised(IndexError, lambda: x[..., ..., p])
raised(TypeError, lambda: ops.median(np.ones(3)))
raised(TypeError, lambda: ops.lgamma(True))
raised(TypeError, lambda: ops.Median()([1.0]))
raised(TypeError, lambda: ops.arcsin())
raised(TypeError, lambda: ops.dot(x, 2))
raised(ValueError, lambda: ops.tril(s))
""".strip().split("\n")


def raised(kind: type[Exception], call: Any) -> bool:
    """Whether a call raises an exception of a class."""
    try:
        call()
    except kind:
        return True
    return False


def of_call(framework: Any, text: str) -> Any:
    """What a call gives in either framework: tensors as shape, dtype and values, anything else as its text."""
    names = ("float16", "bfloat16", "float32", "float64", "int32")
    known = {
        "ops": framework.ops,
        "Tensor": framework.Tensor,
        "np": np,
        "grad": framework.grad,
        "raised": raised,
        "__name__": "calls",
        **{n: getattr(framework, n) for n in names},
    }
    result = eval(text, known | {name: framework.Tensor(a) for name, a in OPERANDS.items()})

    def shown(x: Any) -> Any:
        if isinstance(x, (tuple, list)):
            return [type(x).__name__, *map(shown, x)]
        if not isinstance(x, framework.Tensor):
            return str(x)
        a = x.asnumpy().reshape(-1)
        numbers = [*a.real.tolist(), *a.imag.tolist()] if a.dtype.kind == "c" else a.tolist()
        return {"shape": list(x.shape), "dtype": str(x.dtype), "values": [float(f"{v:.7g}") for v in numbers]}

    return shown(result)


def measured(ops: Any, gradients: Any, tensor: Any, name: str) -> Any:
    """The result of a case in either framework."""

    def given(x: Any) -> Any:
        return tensor(x) if isinstance(x, np.ndarray) else x

    if name in GRADIENTS:
        return getattr(gradients, name)()(*map(given, GRADIENTS[name])).asnumpy()
    function, attrs, operands, rest, options = CASES[name]
    made = getattr(ops, function)
    if attrs is not None:
        made = made(*attrs)
    return made(*map(given, operands), *rest, **options).asnumpy()


def main() -> None:
    """Record all cases."""
    import mindspore as ms
    from mindspore.ops.operations import _grad_ops

    made: dict[str, Any] = {}
    for name in [*CASES, *GRADIENTS]:
        a = measured(ms.ops, _grad_ops, ms.Tensor, name)
        made[name] = {
            "shape": a.shape,
            "dtype": str(a.dtype),
            "values": [float(f"{v:.7g}") for v in a.ravel().tolist()],
        }
    made |= {text: of_call(ms, text) for text in CALLS}
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump(made, file)
        file.write("\n")


if __name__ == "__main__":
    main()
