"""Distribution: what all distributions are asked, and how one answer gives another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from graphc import ops
from graphc.errors import ArgumentTypeError, ArgumentValueError, NoFormulaError, user_loc
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.nn.probability.parameters import common_shape, parameter
from graphc.ops.tensor.dtype import BY_NAME, DType, to_name
from graphc.ops.tensor.tensor import Tensor, as_tensor

#: What a distribution may be asked by name: `cell("prob", value)`.
QUESTIONS = (
    "prob", "log_prob", "cdf", "log_cdf", "survival_function", "log_survival", "mean", "sd", "var", "mode", "entropy",
    "kl_loss", "cross_entropy", "sample", "get_dist_args", "get_dist_type",
)  # fmt: skip


class Distribution(Cell):
    """Base of the distributions (MindSpore: nn.probability.distribution.Distribution).

    Parameters are given once, as numbers, lists, arrays or Tensors, or None; or at each call as Tensors, behind the value and
    in the constructor's order or by name. Results are in the parameters' dtype: dtype if that is a float, else float32. seed:
    the stream that samples are drawn from, None or 0 for the one that all random functions share.
    A subclass defines what it knows of `_log_prob` or `_prob`, `_cdf` ..., each with the value and all parameters, of `_mean`,
    `_var` ... with a tuple of them, of `_kl_loss` with two such tuples, of `_sample` with a shape and all parameters; the rest
    follows where it can, and what cannot be told raises NoFormulaError. param: a dict of the parameters. All of it may
    be compiled and differentiated.
    """

    #: The names of the parameters, in order.
    names: ClassVar[tuple[str, ...]] = ()
    #: Whether mean, entropy and the like have the shape that the parameters are broadcast to.
    one_each: ClassVar[bool] = True

    def __init__(self, seed: int | None, dtype: Any, name: str, param: dict[str, Any]) -> None:
        super().__init__()
        if not isinstance(name, str):
            raise checks.wrong_type(type(self).__name__, "name", "a string", name)
        self.name = name
        self.seed = 0 if seed is None else checks.integer(name, "seed", seed, least=0)
        self._dtype = to_name(dtype)
        given = param.get("param_dict", param)
        self.names = tuple(given)  # type: ignore[misc]  # those of an object may be others
        self.parameters = dict(given)
        self.parameter_dtype = self._dtype if "float" in self._dtype else "float32"
        self.defaults = {n: parameter(name, n, value, self.parameter_dtype) for n, value in given.items()}
        self._note_shapes()

    def _note_shapes(self) -> None:
        known = [x.shape for x in self.defaults.values() if x is not None]
        whole = len(known) == len(self.defaults)
        self.batch_shape: tuple[int, ...] | None = common_shape(self.name, *known) if whole else None
        self.is_scalar_batch = all(isinstance(v, (int, float)) for v in self.parameters.values() if v is not None)

    def __getattr__(self, name: str) -> Any:
        defaults = self.__dict__.get("defaults", {})
        return defaults[name] if name in defaults else super().__getattr__(name)

    @property
    def dtype(self) -> DType:
        """The dtype of samples."""
        return BY_NAME[self._dtype]

    @property
    def parameter_type(self) -> DType:
        """The dtype of parameters and of results."""
        return BY_NAME[self.parameter_dtype]

    @property
    def broadcast_shape(self) -> tuple[int, ...] | None:
        """The shape that the parameters are broadcast to; None where some are given at each call."""
        return self.batch_shape

    # ---- arguments

    def get_dist_args(self, *args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
        """The parameters in order, those given in place of the constructor's. ArgumentTypeError for what is no Tensor,
        ArgumentValueError for a parameter that is given nowhere.
        """
        if len(args) > len(self.names) or not set(kwargs) <= set(self.names):
            raise ArgumentTypeError(
                f"{self.name}: the parameters are {', '.join(self.names) or 'none'}", loc=user_loc()
            )
        given = {**dict(zip(self.names, args, strict=False)), **kwargs}
        return tuple(self._one(n, given.get(n)) for n in self.names)

    def _one(self, name: str, value: Any) -> Tensor:
        if value is None:
            value = self.defaults[name]
            if value is None:
                raise ArgumentValueError(
                    f"{self.name}: {name} is given neither to the constructor nor to this call", loc=user_loc()
                )
        if not isinstance(value, Tensor):
            raise ArgumentTypeError(f"{self.name}: {name} must be a Tensor, got {type(value).__name__}", loc=user_loc())
        return ops.cast(value, self.parameter_dtype)

    def get_dist_type(self) -> str:
        """The name of the class."""
        return type(self).__name__

    def _value(self, value: Any) -> Tensor:
        if not isinstance(value, Tensor):
            raise ArgumentTypeError(
                f"{self.name}: the value must be a Tensor, got {type(value).__name__}", loc=user_loc()
            )
        return ops.cast(value, self.parameter_dtype)

    def _answers(self, *names: str) -> tuple[str, Callable[..., Tensor]]:
        """The first of these methods that there is, with its name."""
        for name in names:
            found = getattr(type(self), f"_{name}", None)
            if found is not None:
                return name, getattr(self, f"_{name}")
        raise NoFormulaError(f"{self.name}: there is no {names[0]}, or none in closed form", loc=user_loc())

    # ---- at a value

    def _at(self, value: Any, args: tuple[Any, ...], kwargs: dict[str, Any], *names: str) -> tuple[str, Tensor]:
        name, method = self._answers(*names)
        return name, method(self._value(value), *self.get_dist_args(*args, **kwargs))

    def prob(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """The density, or the probability of a discrete value."""
        name, made = self._at(value, args, kwargs, "prob", "log_prob")
        return made if name == "prob" else ops.exp(made)

    def log_prob(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """The logarithm of `prob`."""
        name, made = self._at(value, args, kwargs, "log_prob", "prob")
        return made if name == "log_prob" else ops.log(made)

    def cdf(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """The probability of at most the value."""
        name, made = self._at(value, args, kwargs, "cdf", "log_cdf", "survival_function", "log_survival")
        return {
            "cdf": lambda: made,
            "log_cdf": lambda: ops.exp(made),
            "survival_function": lambda: 1.0 - made,
            "log_survival": lambda: -ops.expm1(made),
        }[name]()

    def survival_function(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """The probability of more than the value."""
        name, made = self._at(value, args, kwargs, "survival_function", "log_survival", "cdf", "log_cdf")
        return {
            "survival_function": lambda: made,
            "log_survival": lambda: ops.exp(made),
            "cdf": lambda: 1.0 - made,
            "log_cdf": lambda: -ops.expm1(made),
        }[name]()

    def log_cdf(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """The logarithm of `cdf`."""
        if hasattr(type(self), "_log_cdf"):
            return self._at(value, args, kwargs, "log_cdf")[1]
        return ops.log(self.cdf(value, *args, **kwargs))

    def log_survival(self, value: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """The logarithm of `survival_function`."""
        if hasattr(type(self), "_log_survival"):
            return self._at(value, args, kwargs, "log_survival")[1]
        return ops.log(self.survival_function(value, *args, **kwargs))

    # ---- as a whole

    def _number(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
        _, method = self._answers(name)
        parameters = self.get_dist_args(*args, **kwargs)
        made = method(parameters)
        shape = common_shape(self.name, *(p.shape for p in parameters))
        return ops.broadcast_to(made, shape) if self.one_each and made.shape != shape else made

    def mean(self, *args: Any, **kwargs: Any) -> Tensor:
        """The mean."""
        return self._number("mean", args, kwargs)

    def mode(self, *args: Any, **kwargs: Any) -> Tensor:
        """The value of the largest density or probability."""
        return self._number("mode", args, kwargs)

    def var(self, *args: Any, **kwargs: Any) -> Tensor:
        """The variance."""
        if hasattr(type(self), "_var"):
            return self._number("var", args, kwargs)
        return ops.square(self._number("sd", args, kwargs))

    def sd(self, *args: Any, **kwargs: Any) -> Tensor:
        """The standard deviation."""
        if hasattr(type(self), "_sd"):
            return self._number("sd", args, kwargs)
        return ops.sqrt(self._number("var", args, kwargs))

    def entropy(self, *args: Any, **kwargs: Any) -> Tensor:
        """The entropy, in nats."""
        return self._number("entropy", args, kwargs)

    def kl_loss(self, dist: str, *args: Any, **kwargs: Any) -> Tensor:
        """The Kullback-Leibler divergence of this distribution (a) from another of the same kind (b).

        dist: the name of the class. Then the parameters of b, by name with `_b` at the end, and those of a if they are not
        the constructor's. ArgumentValueError for another kind.
        """
        _, method = self._answers("kl_loss")
        own, other = self._both(dist, args, kwargs)
        return method(own, other)

    def cross_entropy(self, dist: str, *args: Any, **kwargs: Any) -> Tensor:
        """The cross entropy of this distribution and another of the same kind; arguments as for kl_loss."""
        _, method = self._answers("kl_loss")
        own, other = self._both(dist, args, kwargs)
        return self._number("entropy", own, {}) + method(own, other)

    def _both(
        self, dist: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """The parameters of this distribution and of the other one."""
        if dist != type(self).__name__:
            raise ArgumentValueError(
                f"{self.name}: there is a closed form for dist={type(self).__name__!r} only, got {dist!r}",
                loc=user_loc(),
            )
        count = len(self.names)
        b = {n: kwargs[f"{n}_b"] for n in self.names if f"{n}_b" in kwargs}
        rest = {n.removesuffix("_a"): v for n, v in kwargs.items() if not n.endswith("_b")}
        b = {**dict(zip(self.names, args[:count], strict=False)), **b}
        for n in self.names:
            if b.get(n) is None:
                raise ArgumentValueError(f"{self.name}: {n}_b is missing", loc=user_loc())
        return self.get_dist_args(*args[count:], **rest), tuple(self._one(n, b[n]) for n in self.names)

    def sample(self, shape: tuple[int, ...] = (), *args: Any, **kwargs: Any) -> Tensor:
        """[*shape, *shape of the parameters]: random values, in `dtype`."""
        if not isinstance(shape, tuple) or not all(checks.is_int(d) for d in shape):
            raise ArgumentTypeError(f"{self.name}: shape must be a tuple of ints, got {shape!r}", loc=user_loc())
        _, method = self._answers("sample")
        parameters = self.get_dist_args(*args, **kwargs)
        whole = (*shape, *common_shape(self.name, *(p.shape for p in parameters)))
        return ops.cast(method(whole, *parameters), self._dtype)

    def _unit(self, shape: tuple[int, ...]) -> Tensor:
        """Uniform numbers above 0 and below 1."""
        drawn = ops.uniform(shape, as_tensor(0.0), as_tensor(1.0), seed=self.seed)
        return ops.maximum(drawn, 1.1754944e-38)

    # ---- as a Cell

    def construct(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """What the method of this name gives. The kind of distribution is the same with whatever parameters."""
        if name == "get_dist_type":
            return self.get_dist_type()
        if name not in QUESTIONS:
            raise ArgumentValueError(f"{self.name}: there is no {name!r}", loc=user_loc(), help=", ".join(QUESTIONS))
        return getattr(self, name)(*args, **kwargs)

    def extend_repr(self) -> str:
        if not self.is_scalar_batch:
            return f"batch_shape={self.batch_shape}"
        return ", ".join(f"{n}={v}" for n, v in self.parameters.items())


__all__ = ["Distribution"]
