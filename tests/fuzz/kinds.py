"""What a random program is made of: each kind of step as graphc has it and as NumPy has it, and the choice of its attributes.

The NumPy side is independent of graphc's references. It computes in the dtype of its operands: float64 where the oracle asks
for it. Integers and bools are exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphc import Tensor, ops

Array = np.ndarray[Any, np.dtype[Any]]
Attrs = dict[str, Any]
#: Chooses attributes for operands, or None where the step cannot have them.
Choice = Callable[[np.random.Generator, Sequence[Array]], Attrs | None]


@dataclass(frozen=True)
class Kind:
    """One kind of step: `count` operands; `smooth` where small changes of floats change the result smoothly."""

    name: str
    count: int
    choose: Choice
    graphc: Callable[..., Any]
    numpy: Callable[..., Any]
    smooth: bool = True


KINDS: dict[str, Kind] = {}


def kind(
    name: str, count: int, choose: Choice, graphc: Callable[..., Any], numpy: Callable[..., Any], smooth: bool = True
) -> None:
    KINDS[name] = Kind(name, count, choose, graphc, numpy, smooth)


def is_float(x: Array) -> bool:
    return x.dtype.kind == "f" or x.dtype.name == "bfloat16"


def wide(x: Array) -> Array:
    """Floats of less than four bytes in float32, as both sides compute them."""
    return x.astype(np.float32) if is_float(x) and x.dtype.itemsize < 4 else x


def floats(rng: np.random.Generator, args: Sequence[Array]) -> Attrs | None:
    return {} if all(map(is_float, args)) and len({a.dtype for a in args}) == 1 else None


def numbers(rng: np.random.Generator, args: Sequence[Array]) -> Attrs | None:
    return {} if all(a.dtype.kind != "b" for a in args) and len({a.dtype for a in args}) == 1 else None


def integers(rng: np.random.Generator, args: Sequence[Array]) -> Attrs | None:
    return {} if all(a.dtype.kind == "i" for a in args) and len({a.dtype for a in args}) == 1 else None


def bools(rng: np.random.Generator, args: Sequence[Array]) -> Attrs | None:
    return {} if all(a.dtype.kind == "b" for a in args) else None


# ---- elementwise

_erf = np.vectorize(math.erf, otypes=[float])


def erf(x: Array) -> Array:
    return _erf(x).astype(x.dtype).reshape(x.shape) if x.size else x


def _sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


for _name, _g, _n, _smooth in (
    ("neg", ops.neg, np.negative, True),
    ("square", ops.square, np.square, True),
    ("tanh", ops.tanh, np.tanh, True),
    ("sigmoid", ops.sigmoid, _sigmoid, True),
    ("sin", ops.sin, np.sin, True),
    ("cos", ops.cos, np.cos, True),
    ("erf", ops.erf, erf, True),
    ("atan", ops.atan, np.arctan, True),
    ("asinh", ops.asinh, np.arcsinh, True),
    ("silu", ops.silu, lambda x: x * _sigmoid(x), True),
    ("softplus", ops.softplus, lambda x: np.logaddexp(x, 0), True),
    ("abs", ops.abs, np.abs, False),
    ("relu", ops.relu, lambda x: np.maximum(x, 0), False),
    ("exp of a little", lambda x: ops.exp(x * 0.25), lambda x: np.exp(x * x.dtype.type(0.25)), True),
    ("log of more than one", lambda x: ops.log(x * x + 1.5), lambda x: np.log(x * x + x.dtype.type(1.5)), True),
    ("root", lambda x: ops.sqrt(x * x + 0.5), lambda x: np.sqrt(x * x + x.dtype.type(0.5)), True),
    ("one by", lambda x: ops.reciprocal(x * x + 1), lambda x: 1 / (x * x + 1), True),
    ("log1p", lambda x: ops.log1p(x * x), lambda x: np.log1p(x * x), True),
    ("python number", lambda x: 2 - x * 3, lambda x: 2 - x * 3, True),
):
    kind(_name, 1, floats, _g, _n, _smooth)


def _steady(rng: np.random.Generator, args: Sequence[Array]) -> Attrs | None:
    """Floats that rounding moves neither over a whole number nor over zero."""
    (x,) = args
    if not is_float(x):
        return None
    wide = x.astype(np.float64)
    return {} if (np.abs(wide - np.rint(wide)) > 1e-3 * (1 + np.abs(wide))).all() else None


kind("floor", 1, _steady, ops.floor, np.floor, False)
kind("sign", 1, _steady, ops.sign, np.sign, False)

for _name, _g, _n, _smooth in (
    ("add", ops.add, np.add, True),
    ("sub", ops.sub, np.subtract, True),
    ("mul", ops.mul, np.multiply, True),
    ("maximum", ops.maximum, np.maximum, False),
    ("minimum", ops.minimum, np.minimum, False),
):
    kind(_name, 2, numbers, _g, _n, _smooth)
kind("div", 2, floats, lambda x, y: x / (y * y + 0.5), lambda x, y: x / (y * y + y.dtype.type(0.5)))
kind("atan2", 2, floats, lambda x, y: ops.atan2(x, y * y + 1), lambda x, y: np.arctan2(x, y * y + 1))
kind("pow", 2, floats, lambda x, y: (x * x + 1) ** ops.tanh(y), lambda x, y: (x * x + 1) ** np.tanh(y))
kind("fused multiply", 3, floats, lambda x, y, z: x * y + z, lambda x, y, z: x * y + z)
for _name, _g, _n in (
    ("less", ops.less, np.less),
    ("greater_equal", ops.greater_equal, np.greater_equal),
    ("equal", ops.equal, np.equal),
):
    kind(_name, 2, integers, _g, _n, False)
kind("and", 2, bools, ops.logical_and, np.logical_and, False)
kind("not", 1, bools, ops.logical_not, np.logical_not, False)
kind("bits", 2, integers, ops.bitwise_xor, np.bitwise_xor, False)
kind("floor_div", 2, integers, lambda x, y: x // (y * y + 1), lambda x, y: x // (y * y + 1), False)
kind("floor_mod", 2, integers, lambda x, y: x % (y * y + 1), lambda x, y: x % (y * y + 1), False)


def _select(rng: np.random.Generator, args: Sequence[Array]) -> Attrs | None:
    return {} if args[0].dtype.kind == "b" and args[1].dtype == args[2].dtype else None


kind("select", 3, _select, ops.select, np.where)

_DTYPES = ("float32", "float16", "int32")


def _to(rng: np.random.Generator, args: Sequence[Array]) -> Attrs | None:
    (x,) = args
    wanted = str(rng.choice(_DTYPES))
    if is_float(x) and wanted.startswith("int"):
        return None  # What is a hair below a whole number would be cut to another one.
    return {"dtype": wanted}


kind("cast", 1, _to, lambda x, dtype: ops.cast(x, dtype), lambda x, dtype: _cast(x, dtype), False)


def _cast(x: Array, dtype: str) -> Array:
    """In the oracle a float stays as wide as it is."""
    if dtype.startswith("float") and x.dtype == np.float64:
        return x
    return x.astype(dtype)


# ---- reductions


def _axes(rng: np.random.Generator, args: Sequence[Array]) -> Attrs | None:
    (x,) = args
    if not is_float(x) or x.ndim == 0 or x.size == 0:
        return None
    chosen = tuple(sorted(int(a) for a in rng.choice(x.ndim, int(rng.integers(1, x.ndim + 1)), replace=False)))
    return {"axis": chosen, "keep": bool(rng.integers(2))}


for _name, _g, _n, _smooth in (
    ("sum", ops.reduce_sum, np.sum, True),
    ("mean", ops.reduce_mean, np.mean, True),
    ("max", ops.reduce_max, np.max, False),
    ("min", ops.reduce_min, np.min, False),
):
    kind(
        _name,
        1,
        _axes,
        lambda x, axis, keep, _g=_g: _g(x, axis, keep),
        lambda x, axis, keep, _n=_n: _n(wide(x), axis=axis, keepdims=keep).astype(x.dtype),
        _smooth,
    )


def _one_axis(rng: np.random.Generator, args: Sequence[Array]) -> Attrs | None:
    (x,) = args
    if not is_float(x) or x.ndim == 0 or 0 in x.shape:
        return None
    return {"axis": int(rng.integers(x.ndim))}


def _softmax(x: Array, axis: int) -> Array:
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


kind("softmax", 1, _one_axis, ops.softmax, lambda x, axis: _softmax(wide(x), axis).astype(x.dtype))
kind(
    "log_softmax",
    1,
    _one_axis,
    ops.log_softmax,
    lambda x, axis: (wide(x) - np.logaddexp.reduce(wide(x), axis=axis, keepdims=True)).astype(x.dtype),
)
kind("cumsum", 1, _one_axis, ops.cumsum, lambda x, axis: np.cumsum(wide(x), axis=axis).astype(x.dtype))

# ---- rearranging


def _reshape(rng: np.random.Generator, args: Sequence[Array]) -> Attrs | None:
    sizes = list(args[0].shape)
    rng.shuffle(sizes)
    while len(sizes) > 1 and rng.integers(2):
        sizes = [sizes[0] * sizes[1], *sizes[2:]]
    if rng.integers(3) == 0:
        sizes.insert(int(rng.integers(len(sizes) + 1)), 1)
    return {"shape": tuple(int(s) for s in sizes)}


def _transpose(rng: np.random.Generator, args: Sequence[Array]) -> Attrs | None:
    return {"axes": tuple(int(a) for a in rng.permutation(args[0].ndim))} if args[0].ndim else None


def _slice(rng: np.random.Generator, args: Sequence[Array]) -> Attrs | None:
    (x,) = args
    if x.ndim == 0 or 0 in x.shape:
        return None
    cuts = []
    for d in x.shape:
        start = int(rng.integers(d))
        cuts.append((start, int(rng.integers(start + 1, d + 1)), int(rng.integers(1, 4))))
    return {"cuts": tuple(cuts)}


def _cut(x: Any, cuts: Sequence[tuple[int, int, int]]) -> Any:
    return x[tuple(slice(*c) for c in cuts)]


def _broadcast(rng: np.random.Generator, args: Sequence[Array]) -> Attrs | None:
    shape = tuple(int(rng.integers(1, 4)) if d == 1 else d for d in args[0].shape)
    return {"shape": (*((2,) if rng.integers(2) else ()), *shape)}


def _pad(rng: np.random.Generator, args: Sequence[Array]) -> Attrs | None:
    if not is_float(args[0]) or args[0].ndim == 0:
        return None
    return {"ends": tuple((int(a), int(b)) for a, b in rng.integers(0, 3, (args[0].ndim, 2)))}


def _border(rng: np.random.Generator, args: Sequence[Array]) -> Attrs | None:
    if not args[0].size or args[0].ndim == 0:
        return None
    mode = str(rng.choice(["SYMMETRIC", "REFLECT"]))
    most = [min(size - (mode == "REFLECT"), 3) for size in args[0].shape]
    return {"ends": tuple(tuple(int(n) for n in rng.integers(0, m + 1, 2)) for m in most), "mode": mode}


def _along(rng: np.random.Generator, args: Sequence[Array]) -> Attrs | None:
    x, y = args
    if x.ndim != y.ndim or x.ndim == 0 or x.dtype != y.dtype or x.dtype.kind == "b":
        return None
    free = [i for i in range(x.ndim) if x.shape[:i] + x.shape[i + 1 :] == y.shape[:i] + y.shape[i + 1 :]]
    return {"axis": int(rng.choice(free))} if free else None


kind("reshape", 1, _reshape, lambda x, shape: ops.reshape(x, shape), lambda x, shape: x.reshape(shape))
kind("transpose", 1, _transpose, lambda x, axes: ops.transpose(x, axes), lambda x, axes: x.transpose(axes))
kind("slice", 1, _slice, _cut, _cut)
kind(
    "broadcast_to",
    1,
    _broadcast,
    lambda x, shape: ops.broadcast_to(x, shape),
    lambda x, shape: np.broadcast_to(x, shape),
)
kind("pad", 1, _pad, lambda x, ends: ops.pad(x, paddings=ends), lambda x, ends: np.pad(x, ends))
kind(
    "mirror_pad",
    1,
    _border,
    lambda x, ends, mode: ops.mirror_pad(x, ends, mode),
    lambda x, ends, mode: np.pad(x, ends, mode.lower()),
)
kind("concat", 2, _along, lambda x, y, axis: ops.concat((x, y), axis), lambda x, y, axis: np.concatenate((x, y), axis))
kind(
    "flip",
    1,
    lambda rng, a: {"axis": int(rng.integers(a[0].ndim))} if a[0].ndim else None,
    lambda x, axis: ops.flip(x, (axis,)),
    lambda x, axis: np.flip(x, axis),
)

# ---- indices


def _gather(rng: np.random.Generator, args: Sequence[Array]) -> Attrs | None:
    (x,) = args
    if not is_float(x) or x.ndim == 0 or 0 in x.shape:
        return None
    axis = int(rng.integers(x.ndim))
    count = int(rng.choice((1, 3, 17)))
    return {"axis": axis, "places": tuple(int(i) for i in rng.integers(0, x.shape[axis], count))}


def _rows_added(x: Array, places: Sequence[int], axis: int) -> Array:
    made = wide(np.zeros_like(x))
    np.add.at(made, (slice(None),) * axis + (np.array(places),), wide(np.take(x, places, axis)))
    return made.astype(x.dtype)


def _scatter(x: Any, places: Sequence[int], axis: int) -> Any:
    index = Tensor(np.array(places, np.int32))
    rows = ops.moveaxis(ops.gather(x, index, axis), axis, 0)
    made = ops.scatter_nd(ops.reshape(index, (-1, 1)), rows, (x.shape[axis], *rows.shape[1:]))
    return ops.moveaxis(made, 0, axis)


kind(
    "gather",
    1,
    _gather,
    lambda x, places, axis: ops.gather(x, Tensor(np.array(places, np.int32)), axis),
    lambda x, places, axis: np.take(x, places, axis),
)
kind("scatter", 1, _gather, _scatter, lambda x, places, axis: _rows_added(x, places, axis))

# ---- products and images


def _matmul(rng: np.random.Generator, args: Sequence[Array]) -> Attrs | None:
    x, y = args
    if x.dtype != np.float32 or y.dtype != np.float32 or min(x.ndim, y.ndim) < 2 or x.size == 0 or y.size == 0:
        return None
    ways = [(a, b) for a in (False, True) for b in (False, True)]
    ways = [(a, b) for a, b in ways if x.shape[-2 if a else -1] == y.shape[-1 if b else -2]]
    if not ways or (x.ndim > 2 and y.ndim > 2 and x.shape[:-2] != y.shape[:-2]):
        return None
    a, b = ways[int(rng.integers(len(ways)))]
    return {"a": a, "b": b}


def _product(x: Array, y: Array, a: bool, b: bool) -> Array:
    return np.matmul(x.swapaxes(-1, -2) if a else x, y.swapaxes(-1, -2) if b else y)


kind("matmul", 2, _matmul, lambda x, y, a, b: ops.matmul(x, y, a, b), _product)


def _self_product(rng: np.random.Generator, args: Sequence[Array]) -> Attrs | None:
    return {} if args[0].dtype == np.float32 and args[0].ndim >= 2 and args[0].size else None


kind(
    "gram",
    1,
    _self_product,
    lambda x: ops.matmul(x, ops.swapaxes(x, -1, -2)) * 0.1,
    lambda x: np.matmul(x, x.swapaxes(-1, -2)) * x.dtype.type(0.1),
)


def _image(x: Array) -> bool:
    return x.dtype == np.float32 and x.ndim == 4 and min(x.shape) > 0


def _conv(rng: np.random.Generator, args: Sequence[Array]) -> Attrs | None:
    (x,) = args
    if not _image(x):
        return None
    out, size = int(rng.choice((1, 2, 5, 17))), int(rng.integers(1, 1 + min(3, *x.shape[2:])))
    return {"out": out, "size": size, "stride": int(rng.integers(1, 3)), "seed": int(rng.integers(1000))}


def _weight(channels: int, out: int, size: int, seed: int) -> Array:
    return np.random.default_rng(seed).standard_normal((out, channels, size, size)).astype(np.float32) * np.float32(0.3)


def _windows(x: Array, size: int, stride: int) -> Array:
    seen = np.lib.stride_tricks.sliding_window_view(x, (size, size), axis=(2, 3))
    return seen[:, :, ::stride, ::stride]


kind(
    "conv2d",
    1,
    _conv,
    lambda x, out, size, stride, seed: ops.conv2d(
        x, Tensor(_weight(x.shape[1], out, size, seed)), stride=stride, pad_mode="valid"
    ),
    lambda x, out, size, stride, seed: np.einsum(
        "nchwij,ocij->nohw", _windows(x, size, stride), _weight(x.shape[1], out, size, seed).astype(x.dtype)
    ),
)


def _pool(rng: np.random.Generator, args: Sequence[Array]) -> Attrs | None:
    (x,) = args
    if not _image(x):
        return None
    size = int(rng.integers(1, 1 + min(3, *x.shape[2:])))
    return {"size": size, "stride": int(rng.integers(1, 3))}


kind(
    "max_pool2d",
    1,
    _pool,
    lambda x, size, stride: ops.max_pool2d(x, (size, size), (stride, stride)),
    lambda x, size, stride: _windows(x, size, stride).max(axis=(4, 5)),
    False,
)
kind(
    "avg_pool2d",
    1,
    _pool,
    lambda x, size, stride: ops.avg_pool2d(x, (size, size), (stride, stride)),
    lambda x, size, stride: _windows(x, size, stride).mean(axis=(4, 5)),
)

# ---- control flow


def _whole(rng: np.random.Generator, args: Sequence[Array]) -> Attrs | None:
    """A bound that no rounding moves the sum of the operand across."""
    (x,) = args
    if not is_float(x) or x.size == 0:
        return None
    total = float(wide(x).sum(dtype=np.float64))
    return {"bound": round(total + float(rng.choice((-1.0, 1.0))) * (1 + abs(total)), 3)}


kind(
    "cond",
    1,
    _whole,
    lambda x, bound: ops.cond(
        ops.reduce_sum(ops.cast(x, "float32")) > bound, lambda y: y * 2, lambda y: ops.sin(y) + y, x
    ),
    lambda x, bound: x * 2 if wide(x).sum() > bound else np.sin(x) + x,
)


def _turns(rng: np.random.Generator, args: Sequence[Array]) -> Attrs | None:
    return {"turns": int(rng.integers(0, 4))} if args[0].dtype == np.float32 and args[0].size else None


def _while(x: Any, turns: int) -> Any:
    start = ops.cast(ops.zeros_like(ops.reduce_sum(x)), "int32")
    return ops.while_loop(lambda i, y: i < turns, lambda i, y: (i + 1, ops.tanh(y) * 1.5), start, x)[1]


def _while_ref(x: Array, turns: int) -> Array:
    for _ in range(turns):
        x = np.tanh(x) * x.dtype.type(1.5)
    return x


kind("while", 1, _turns, _while, _while_ref)
