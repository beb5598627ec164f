"""Activations as Cells."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphc import ops
from graphc.errors import ArgumentValueError
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.nn.initializer.distributions import Constant
from graphc.nn.initializer.make import initializer
from graphc.nn.layer.inner import Inner
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor, as_tensor


def _plain(name: str, function: Callable[[Any], Tensor], inner: str = "", make: Any = None) -> type[Cell]:
    """A Cell without attributes that applies one function, or the primitive that it holds under a name."""

    def construct(self: Cell, x: Any) -> Tensor:
        y: Tensor = getattr(self, inner)(x) if inner else function(x)
        return y

    members: dict[str, Any] = {"construct": construct, "__doc__": function.__doc__, "__module__": __name__}
    if inner:
        members[inner] = Inner(lambda layer: make())
    made = type(name, (Cell,), members)
    construct.__qualname__ = f"{name}.construct"
    return made


ReLU6, SiLU, Mish = (
    _plain("ReLU6", ops.relu6, "relu6", ops.ReLU6),
    _plain("SiLU", ops.silu),
    _plain("Mish", ops.mish),
)
HSwish, HSigmoid = (
    _plain("HSwish", ops.hardswish, "hswish", ops.HSwish),
    _plain("HSigmoid", ops.hardsigmoid, "hsigmoid", ops.HSigmoid),
)
LogSigmoid, Softsign = (
    _plain("LogSigmoid", ops.logsigmoid),
    _plain("Softsign", ops.softsign, "softsign", ops.Softsign),
)
FastGelu, SeLU, Tanhshrink = (
    _plain("FastGelu", ops.fast_gelu, "fast_gelu", ops.FastGeLU),
    _plain("SeLU", ops.selu, "selu", ops.SeLU),
    _plain("Tanhshrink", ops.tanhshrink),
)


class ReLU(Cell):
    """max(x, 0); NaN stays NaN."""

    relu = Inner(lambda layer: ops.ReLU())

    def construct(self, x: Any) -> Tensor:
        y: Tensor = self.relu(x)
        return y


class Tanh(Cell):
    """tanh(x) of a float tensor."""

    tanh = Inner(lambda layer: ops.Tanh())

    def construct(self, x: Any) -> Tensor:
        y: Tensor = self.tanh(x)
        return y


class Sigmoid(Cell):
    """1 / (1 + exp(-x)) of a float tensor."""

    sigmoid = Inner(lambda layer: ops.Sigmoid())

    def construct(self, x: Any) -> Tensor:
        y: Tensor = self.sigmoid(x)
        return y


class GELU(Cell):
    """Gaussian error linear unit: by tanh if `approximate` (the default), else exactly, by erf; see `ops.gelu`."""

    def __init__(self, approximate: bool = True) -> None:
        super().__init__()
        self.approximate = checks.boolean("GELU", "approximate", approximate)

    def construct(self, x: Any) -> Tensor:
        return ops.gelu(x, "tanh" if self.approximate else "none")

    def extend_repr(self) -> str:
        return f"approximate={self.approximate}"


class ELU(Cell):
    """x if x > 0, else alpha (exp(x) - 1)."""

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self.alpha = checks.real("ELU", "alpha", alpha)

    def construct(self, x: Any) -> Tensor:
        return ops.elu(x, self.alpha)


class CELU(Cell):
    """max(x, 0) + min(alpha (exp(x / alpha) - 1), 0). ArgumentValueError for alpha 0."""

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self.alpha = checks.real("CELU", "alpha", alpha)
        if alpha == 0:
            raise checks.wrong_value("CELU", "alpha", "a number other than 0", alpha)

    def construct(self, x: Any) -> Tensor:
        return ops.celu(x, self.alpha)


class LeakyReLU(Cell):
    """x if x >= 0, else alpha x."""

    def __init__(self, alpha: float = 0.2) -> None:
        super().__init__()
        self.alpha = checks.real("LeakyReLU", "alpha", alpha)

    def construct(self, x: Any) -> Tensor:
        return ops.leaky_relu(x, self.alpha)


class RReLU(Cell):
    """x where it is positive, a x with a random slope a, uniform from lower up to upper, where it is negative; see `ops.rrelu`
    (Xu et al., 2015; MindSpore: nn.RReLU).
    """

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3) -> None:
        super().__init__()
        self.lower, self.upper = checks.real("RReLU", "lower", lower), checks.real("RReLU", "upper", upper)
        if self.lower > self.upper:
            raise checks.wrong_value("RReLU", "lower", f"at most upper = {upper}", lower)

    def construct(self, x: Any) -> Tensor:
        return ops.rrelu(x, self.lower, self.upper)


class PReLU(Cell):
    """x if x >= 0, else w x, with a trainable w for all channels or one for each (axis 1).

    w: a number, or a list or 1-d Tensor of `channel` numbers. Raises ArgumentTypeError or ArgumentValueError.
    """

    def __init__(self, channel: int = 1, w: Any = 0.25) -> None:
        super().__init__()
        size = checks.integer("PReLU", "channel", channel)
        if isinstance(w, list):
            w = Tensor([checks.real("PReLU", "an element of w", x) for x in w])
        if isinstance(w, Tensor):
            if w.shape != (size,):
                raise checks.wrong_value("PReLU", "w", f"{size} numbers, as channel is {size}", w.shape)
        else:
            w = initializer(Constant(checks.real("PReLU", "w", w)), size)
        self.w = Parameter(w, name="a")

    def construct(self, x: Any) -> Tensor:
        x = as_tensor(x, "PReLU: x")
        return ops.prelu(x, ops.cast(self.w, x.dtype))


class PReLUExt(Cell):
    """PReLU with other names (MindSpore: nn.PReLUExt): num_parameters weights that start as init, of a dtype."""

    def __init__(self, num_parameters: int = 1, init: float = 0.25, dtype: Any = None) -> None:
        super().__init__()
        size = checks.integer("PReLUExt", "num_parameters", num_parameters)
        start = Constant(checks.real("PReLUExt", "init", init))
        self.weight = Parameter(initializer(start, (size,), "float32" if dtype is None else dtype), name="weight")

    def construct(self, x: Any) -> Tensor:
        return ops.prelu(x, self.weight)


class Softplus(Cell):
    """log(1 + exp(beta x)) / beta; x itself where beta x > threshold."""

    def __init__(self, beta: float = 1, threshold: float = 20) -> None:
        super().__init__()
        self.beta, self.threshold = checks.real("Softplus", "beta", beta), threshold
        if beta == 0:
            raise checks.wrong_value("Softplus", "beta", "a number other than 0", beta)

    def construct(self, x: Any) -> Tensor:
        return ops.softplus(x, self.beta, self.threshold)


class Hardtanh(Cell):
    """x held between two bounds. ArgumentValueError unless min_val < max_val."""

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0) -> None:
        super().__init__()
        self.min_val = checks.real("Hardtanh", "min_val", min_val)
        self.max_val = checks.real("Hardtanh", "max_val", max_val)
        if not min_val < max_val:
            raise checks.wrong_value("Hardtanh", "max_val", f"greater than min_val = {min_val}", max_val)

    def construct(self, x: Any) -> Tensor:
        return ops.hardtanh(x, self.min_val, self.max_val)


class HShrink(Cell):
    """x where |x| > lambd, else 0."""

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = checks.real("HShrink", "lambd", lambd)

    def construct(self, x: Any) -> Tensor:
        return ops.hardshrink(x, self.lambd)


class SoftShrink(Cell):
    """x moved towards 0 by lambd, 0 within it."""

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = checks.real("SoftShrink", "lambd", lambd, least=0)

    def construct(self, x: Any) -> Tensor:
        return ops.softshrink(x, self.lambd)


class Threshold(Cell):
    """x where x > threshold, else value."""

    def __init__(self, threshold: float, value: float) -> None:
        super().__init__()
        self.threshold = checks.real("Threshold", "threshold", threshold)
        self.value = checks.real("Threshold", "value", value)

    def construct(self, x: Any) -> Tensor:
        return ops.threshold(x, self.threshold, self.value)


class _Over(Cell):
    """An activation along one axis."""

    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        if not checks.is_int(axis):
            raise checks.wrong_type(type(self).__name__, "axis", "an int", axis)
        self.axis = int(axis)

    def extend_repr(self) -> str:
        return f"axis={self.axis}"


class Softmax(_Over):
    """exp(x) / sum exp(x) along an axis."""

    softmax = Inner(lambda layer: ops.Softmax(layer.axis))

    def construct(self, x: Any) -> Tensor:
        y: Tensor = self.softmax(x)
        return y


class Softmin(_Over):
    """Softmax of -x along an axis."""

    def construct(self, x: Any) -> Tensor:
        return ops.softmax(-x, self.axis)


class Softmax2d(Softmax):
    """Softmax over the channels of [N, C, H, W] (MindSpore: nn.Softmax2d)."""

    def __init__(self) -> None:
        super().__init__(axis=-3)


class LogSoftmax(_Over):
    """log of softmax along an axis."""

    log_softmax = Inner(lambda layer: ops.LogSoftmax(layer.axis))

    def construct(self, x: Any) -> Tensor:
        y: Tensor = self.log_softmax(x)
        return y


class LogSoftmaxExt(Cell):
    """log of softmax along an axis; None: the first one of tensors with 0, 1 or 3 axes, else the second (MindSpore:
    nn.LogSoftmaxExt).
    """

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        if dim is not None and not checks.is_int(dim):
            raise checks.wrong_type("LogSoftmaxExt", "dim", "an int or None", dim)
        self.dim = dim

    def construct(self, x: Any) -> Tensor:
        axis = self.dim if self.dim is not None else 0 if x.ndim in (0, 1, 3) else 1
        return ops.log_softmax(x, axis)


class GLU(_Over):
    """a sigmoid(b) with a and b the halves of x along an axis."""

    def construct(self, x: Any) -> Tensor:
        return ops.glu(x, self.axis)


#: MindSpore's names of activations, under its own private name, which published scripts import.
_activation: dict[str, type[Cell]] = {
    "relu": ReLU,
    "tanh": Tanh,
    "sigmoid": Sigmoid,
    "softmax": Softmax,
    "logsoftmax": LogSoftmax,
    "softmin": Softmin,
    "relu6": ReLU6,
    "silu": SiLU,
    "gelu": GELU,
    "fast_gelu": FastGelu,
    "elu": ELU,
    "softsign": Softsign,
    "prelu": PReLU,
    "leakyrelu": LeakyReLU,
    "hswish": HSwish,
    "hsigmoid": HSigmoid,
    "logsigmoid": LogSigmoid,
    "mish": Mish,
    "softshrink": SoftShrink,
    "hshrink": HShrink,
    "hardtanh": Hardtanh,
    "logsoftmaxExt": LogSoftmaxExt,
    "preluExt": PReLUExt,
    "rrelu": RReLU,
    "softmax2d": Softmax2d,
    "tanhshrink": Tanhshrink,
    "threshold": Threshold,
}


class NoActivationError(ArgumentValueError, KeyError, shown_as="KeyError"):
    """A name that no activation has."""


def get_activation(name: str | None, prim_name: str | None = None) -> Cell | None:
    """A new activation by its name; None for None. NoActivationError, a KeyError as in MindSpore, for an unknown name."""
    if name is None:
        return None
    return _activation[
        checks.one_of(prim_name or "get_activation", "name", name, tuple(_activation), NoActivationError)
    ]()


__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "FastGelu",
    "HShrink",
    "HSigmoid",
    "HSwish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "LogSoftmaxExt",
    "Mish",
    "PReLU",
    "PReLUExt",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SeLU",
    "SiLU",
    "Sigmoid",
    "SoftShrink",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
    "get_activation",
]
