"""Initial values of parameters, bit for bit those of MindSpore 2.10.

Every random tensor takes one seed, an int64 in 1 .. 2**63 - 1, from NumPy's global generator
(`graphc.set_seed`). The seed starts a stream of Philox4x32-10 (Salmon et al., "Parallel random numbers: as
easy as 1, 2, 3", 2011) with key (low, high half of the seed) and counter (block number, seed). The transforms
to uniform and normal numbers were found by comparing bits with MindSpore's; tests/data/ms_initializers.py
records the numbers they are tested with.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, ArgumentValueError, ShapeError, user_loc
from graphc.nn import checks
from graphc.ops.tensor import Array, Tensor

Shape = tuple[int, ...]

_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_CHUNK = 1 << 20  # Numbers made at once: bounds the memory that the 64-bit products take.


def philox(seed: int, start: int, count: int) -> Array:
    """uint32[count]: the numbers from `start` on of the stream of a seed; both must be multiples of 4."""
    low, high = seed & 0xFFFFFFFF, seed >> 32
    block = np.arange(start // 4, (start + count) // 4, dtype=np.uint64)
    c0, c1 = block & _LOW, block >> _HALF
    c2, c3 = np.full_like(block, low), np.full_like(block, high)
    key0, key1 = low, high
    for _ in range(10):
        p, q = c0 * np.uint64(0xD2511F53), c2 * np.uint64(0xCD9E8D57)
        c0, c1, c2, c3 = (
            (q >> _HALF) ^ c1 ^ np.uint64(key0),
            q & _LOW,
            (p >> _HALF) ^ c3 ^ np.uint64(key1),
            p & _LOW,
        )
        key0, key1 = (key0 + 0x9E3779B9) & 0xFFFFFFFF, (key1 + 0xBB67AE85) & 0xFFFFFFFF
    return np.stack([c0, c1, c2, c3], axis=1).astype(np.uint32).reshape(-1)


def _draw(shape: Shape, transform: Callable[[Array], Array]) -> Array:
    """float32 numbers: `transform` of a fresh stream, piece by piece."""
    seed = int(np.random.randint(1, 1 << 63, dtype=np.int64))
    size = math.prod(shape)
    made = np.empty(size, np.float32)
    for start in range(0, size, _CHUNK):
        count = min(_CHUNK, size - start)
        made[start : start + count] = transform(philox(seed, start, -(-count // 4) * 4))[:count]
    return made.reshape(shape)


def uniform(shape: Shape, low: float, high: float) -> Array:
    """float32 uniform in [low, high): u / 2**32 * (high - low) + low, in float64 from float32 bounds."""
    a, b = float(np.float32(low)), float(np.float32(high))
    return _draw(shape, lambda u: u / 2.0**32 * (b - a) + a)


def normal(shape: Shape, mean: float, sigma: float) -> Array:
    """float32 normal numbers by the method of Box and Muller: a pair (cos, sin) from two of 23 bits."""
    m, s = float(np.float32(mean)), float(np.float32(sigma))
    two_pi = 2 * float(np.float32(3.1415926))  # Not the nearest float32 to pi, but MindSpore's.

    def transform(u: Array) -> Array:
        parts = ((u & np.uint32(0x7FFFFF)) | np.uint32(0x3F800000)).view(np.float32).astype(np.float64) - 1
        parts = np.maximum(parts, 1e-7)
        radius = np.sqrt(-2 * np.log(parts[0::2]))
        angle = two_pi * parts[1::2]
        return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).reshape(-1) * s + m

    return _draw(shape, transform)


def truncated_normal(shape: Shape, low: float, high: float, mean: float, sigma: float) -> Array:
    """float32 normal numbers between low and high, by inversion of the distribution function."""
    a, b, m, s = (float(np.float32(x)) for x in (low, high, mean, sigma))
    root = float(np.float32(math.sqrt(2)))  # MindSpore has it in float32, which shows in the last bits.
    p, q = (0.5 * (1 + math.erf((x - m) / s / root)) for x in (a, b))
    if not p < q:
        raise ArgumentValueError(
            f"TruncatedNormal: the interval [{low}, {high}] holds no numbers of mean {mean}, sigma {sigma}"
        )
    from statistics import NormalDist  # Brings fractions and decimals along.

    inverse = np.frompyfunc(NormalDist().inv_cdf, 1, 1)

    def transform(u: Array) -> Array:
        # The clip only keeps the inverse finite where the interval reaches into the far tails.
        inside = np.clip(u / 2.0**32 * (q - p) + p, 2.0**-1022, 1 - 2.0**-53)
        return np.asarray(inverse(inside), np.float64) * (root / math.sqrt(2)) * s + m

    return _draw(shape, transform)


def fans(shape: Shape) -> tuple[int, int]:
    """(inputs, outputs) of one unit of a weight [out, in, *window]; ShapeError below two axes."""
    if len(shape) < 2:
        raise ShapeError(f"fan-in and fan-out need a weight [out, in, ...], the shape is {shape}", loc=user_loc())
    window = math.prod(shape[2:])
    return shape[1] * window, shape[0] * window


def _gain(nonlinearity: str, negative_slope: float) -> float:
    """Gain of a nonlinearity for He's initialization (He et al., 2015)."""
    gains = {
        "linear": 1.0,
        "sigmoid": 1.0,
        "tanh": 5.0 / 3,
        "relu": math.sqrt(2.0),
        "leaky_relu": math.sqrt(2.0 / (1 + negative_slope**2)),
    }
    return gains[checks.one_of("initializer", "nonlinearity", nonlinearity, tuple(gains))]


class Initializer:
    """Base of the initializers. Subclasses define `values(shape)`, which gives a float array; or, as in MindSpore,
    `_initialize(array)`, which writes into a float32 array.
    """

    def __init__(self, **settings: Any) -> None:
        self.__dict__.update(settings)

    def values(self, shape: Shape) -> Array:
        fill = getattr(self, "_initialize", None)
        if fill is None:
            raise ArgumentTypeError(f"{type(self).__name__} does not define values(shape)", loc=user_loc())
        array = np.zeros(shape, np.float32)
        fill(array)
        return array

    def __call__(self, array: Array) -> None:
        """Write initial values into an array."""
        array[...] = self.values(array.shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v}' for k, v in vars(self).items())})"


class Constant(Initializer):
    """Every element is `value`."""

    def __init__(self, value: float) -> None:
        self.value = value

    def values(self, shape: Shape) -> Array:
        return np.full(shape, self.value)


class Zero(Constant):
    """Zeros."""

    def __init__(self) -> None:
        super().__init__(0)


class One(Constant):
    """Ones."""

    def __init__(self) -> None:
        super().__init__(1)


class Uniform(Initializer):
    """Uniform in [-scale, scale)."""

    def __init__(self, scale: float = 0.07) -> None:
        self.scale = checks.real("Uniform", "scale", scale)

    def values(self, shape: Shape) -> Array:
        return uniform(shape, -self.scale, self.scale)


class Normal(Initializer):
    """Normal with standard deviation sigma around mean."""

    def __init__(self, sigma: float = 0.01, mean: float = 0.0) -> None:
        self.sigma = checks.real("Normal", "sigma", sigma, least=0)
        self.mean = checks.real("Normal", "mean", mean)

    def values(self, shape: Shape) -> Array:
        return normal(shape, self.mean, self.sigma)


class TruncatedNormal(Initializer):
    """Normal with standard deviation sigma around mean, between a and b. The bounds are values, not multiples
    of sigma.
    """

    def __init__(self, sigma: float = 0.01, mean: float = 0.0, a: float = -2.0, b: float = 2.0) -> None:
        self.sigma = checks.real("TruncatedNormal", "sigma", sigma, above=0)
        self.mean = checks.real("TruncatedNormal", "mean", mean)
        self.a, self.b = checks.real("TruncatedNormal", "a", a), checks.real("TruncatedNormal", "b", b)
        if not self.a < self.b:
            raise checks.wrong_value("TruncatedNormal", "b", f"greater than a = {a}", b)

    def values(self, shape: Shape) -> Array:
        return truncated_normal(shape, self.a, self.b, self.mean, self.sigma)


class XavierUniform(Initializer):
    """Uniform within gain * sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio, 2010)."""

    def __init__(self, gain: float = 1) -> None:
        self.gain = checks.real("XavierUniform", "gain", gain)

    def values(self, shape: Shape) -> Array:
        bound = self.gain * math.sqrt(6.0 / sum(fans(shape)))
        return uniform(shape, -bound, bound)


class _He(Initializer):
    def __init__(self, negative_slope: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu") -> None:
        owner = type(self).__name__
        self.negative_slope = checks.real(owner, "negative_slope", negative_slope)
        self.mode = checks.one_of(owner, "mode", mode, ("fan_in", "fan_out"))
        self.nonlinearity = nonlinearity
        _gain(nonlinearity, self.negative_slope)

    def deviation(self, shape: Shape) -> float:
        """Standard deviation: gain / sqrt(fan)."""
        return _gain(self.nonlinearity, self.negative_slope) / math.sqrt(fans(shape)[self.mode == "fan_out"])


class HeUniform(_He):
    """Uniform within sqrt(3) * gain / sqrt(fan) (He et al., 2015)."""

    def values(self, shape: Shape) -> Array:
        bound = math.sqrt(3.0) * self.deviation(shape)
        return uniform(shape, -bound, bound)


class HeNormal(_He):
    """Normal with standard deviation gain / sqrt(fan) (He et al., 2015)."""

    def values(self, shape: Shape) -> Array:
        return normal(shape, 0.0, self.deviation(shape))


_BY_NAME: dict[str, Callable[[], Initializer]] = {
    "zeros": Zero,
    "zero": Zero,
    "ones": One,
    "one": One,
    "uniform": Uniform,
    "normal": Normal,
    "truncated_normal": TruncatedNormal,
    "truncatednormal": TruncatedNormal,
    "he_uniform": HeUniform,
    "heuniform": HeUniform,
    "he_normal": HeNormal,
    "henormal": HeNormal,
    "xavier_uniform": XavierUniform,
    "xavieruniform": XavierUniform,
}


def register(name: str, maker: Callable[[], Initializer]) -> None:
    """Make an initializer known to `initializer` by a name."""
    _BY_NAME[name] = maker


def initializer(init: Any, shape: int | Sequence[int] | None = None, dtype: Any = "float32") -> Tensor:
    """A Tensor with initial values (MindSpore: common.initializer.initializer, whose data come later).

    init: a name ("he_uniform", ...), a number, an Initializer, or a Tensor of this shape, which is returned.
    Raises ArgumentTypeError for anything else, ArgumentValueError for unknown names and sizes below 1,
    ShapeError for a Tensor of another shape and for He and Xavier initialization of fewer than two axes.
    """
    wanted = _shape(shape)
    if isinstance(init, Tensor):
        if wanted is not None and init.shape != wanted:
            raise ShapeError(f"initializer: init is {init.type}, the shape asked for is {wanted}", loc=user_loc())
        return init
    if wanted is None:
        raise ArgumentValueError("initializer: shape must be given unless init is a Tensor", loc=user_loc())
    if isinstance(init, str):
        init = _BY_NAME[checks.one_of("initializer", "init", init.lower(), tuple(_BY_NAME))]()
    elif checks.is_number(init) or isinstance(init, bool):
        init = Constant(init)
    if not isinstance(init, Initializer):
        raise checks.wrong_type("initializer", "init", "a name, a number, an Initializer or a Tensor", init)
    return Tensor(init.values(wanted), dtype)


def _shape(shape: int | Sequence[int] | None) -> Shape | None:
    if shape is None:
        return None
    sizes = (shape,) if checks.is_int(shape) else shape
    if not isinstance(sizes, (tuple, list)):
        raise checks.wrong_type("initializer", "shape", "an int or a tuple of ints", shape)
    return tuple(checks.integer("initializer", "a size in shape", d) for d in sizes)


def _assignment(array: Array, values: Any) -> Array:
    """Write values into an array: the name that user-defined initializers call."""
    array[...] = values
    return array


_calculate_fan_in_and_fan_out = fans
