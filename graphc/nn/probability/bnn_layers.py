"""Layers whose weights are distributions: each call draws some (MindSpore: nn.probability.bnn_layers)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphc import ops
from graphc.errors import ArgumentTypeError, user_loc
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.nn.layer.activation import get_activation
from graphc.nn.layer.conv import Conv2d
from graphc.nn.probability.distribution import Normal
from graphc.nn.train.wrap import WithLossCell
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.signatures import accept


class NormalPrior(Cell):
    """What is believed of weights before: normal numbers. A call asks `normal`, the distribution, for what is named first."""

    def __init__(self, dtype: Any = "float32", mean: float = 0, std: float = 0.1) -> None:
        super().__init__()
        self.normal = Normal(mean, std, dtype=dtype)

    def construct(self, *inputs: Any) -> Any:
        return self.normal(*inputs)


class NormalPosterior(Cell):
    """Normal numbers whose `mean` and log(1 + exp(`untransformed_std`)), the deviation, are trained; called as NormalPrior.

    Both parameters are of this shape; their first values are normal numbers, too, of the means and deviations loc_mean, loc_std,
    untransformed_scale_mean and untransformed_scale_std. Raises ArgumentTypeError or ArgumentValueError for arguments.
    """

    def __init__(
        self,
        name: str,
        shape: Sequence[int],
        dtype: Any = "float32",
        loc_mean: float = 0,
        loc_std: float = 0.1,
        untransformed_scale_mean: float = -5,
        untransformed_scale_std: float = 0.1,
    ) -> None:
        super().__init__()
        owner = "NormalPosterior"
        if not isinstance(name, str):
            raise checks.wrong_type(owner, "name", "a str", name)
        if not isinstance(shape, (tuple, list)):
            raise checks.wrong_type(owner, "shape", "a tuple or a list", shape)
        centre = checks.real(owner, "loc_mean", loc_mean), checks.real(owner, "loc_std", loc_std, least=0)
        width = (
            checks.real(owner, "untransformed_scale_mean", untransformed_scale_mean),
            checks.real(owner, "untransformed_scale_std", untransformed_scale_std, least=0),
        )
        drawn = [Tensor(np.random.normal(*numbers, shape), dtype) for numbers in (centre, width)]
        self.mean = Parameter(drawn[0], name=f"{name}_mean")
        self.untransformed_std = Parameter(drawn[1], name=f"{name}_untransformed_std")
        self.normal = Normal()

    def construct(self, *inputs: Any) -> Any:
        # Never zero, whatever the parameter is.
        deviation = ops.log(ops.exp(self.untransformed_std) + 1) + 1e-6
        return self.normal(*inputs, mean=self.mean, sd=deviation)


def normal_post_fn(name: str, shape: Sequence[int]) -> NormalPosterior:
    """A NormalPosterior of the shape of a layer's parameter."""
    return NormalPosterior(name, shape)


def _normal(owner: str, name: str, given: Any) -> Cell:
    """A prior or posterior; ArgumentTypeError for another one than a Cell with `normal`, a Normal."""
    if not isinstance(given, Cell) or not isinstance(getattr(given, "normal", None), Normal):
        raise ArgumentTypeError(
            f"{owner}: {name} must give a Cell with a Normal as `normal`, got {type(given).__name__}", loc=user_loc()
        )
    return given


def _divergence(prior: Cell, posterior: Cell) -> Tensor:
    return ops.reduce_sum(prior("kl_loss", posterior("get_dist_type"), *posterior("get_dist_args")))


class _Variational(Cell):
    """What layers with a weight, and perhaps a bias, that are distributions share."""

    weight_prior: Cell
    weight_posterior: Cell
    bias_prior: Cell
    bias_posterior: Cell
    has_bias: bool

    def _believe(self, prior_fn: Any, posterior_fn: Callable[..., Any], what: str, shape: tuple[int, ...]) -> None:
        """Have a prior and a posterior of the weight or the bias: `what`."""
        owner = type(self).__name__
        prior = prior_fn if isinstance(prior_fn, Cell) else prior_fn()
        setattr(self, f"{what}_prior", _normal(owner, f"{what}_prior_fn", prior))
        posterior = posterior_fn(shape=list(shape), name=f"bnn_{what}")
        setattr(self, f"{what}_posterior", _normal(owner, f"{what}_posterior_fn", posterior))

    def _biased(self, outputs: Tensor) -> Tensor:
        made: Tensor = ops.bias_add(outputs, self.bias_posterior("sample")) if self.has_bias else outputs
        return made

    def compute_kl_loss(self) -> Tensor:
        """The divergence of the posteriors from the priors, over all parameters."""
        loss = _divergence(self.weight_prior, self.weight_posterior)
        return loss + _divergence(self.bias_prior, self.bias_posterior) if self.has_bias else loss


class _DenseVariational(_Variational):
    """What both dense layers share: a weight [out_channels, in_channels] and a bias [out_channels]."""

    #: x times the weight.
    _products: Callable[[Any], Tensor]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        activation: str | Cell | None = None,
        has_bias: bool = True,
        weight_prior_fn: Any = NormalPrior,
        weight_posterior_fn: Callable[..., Any] = normal_post_fn,
        bias_prior_fn: Any = NormalPrior,
        bias_posterior_fn: Callable[..., Any] = normal_post_fn,
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        self.in_channels = checks.integer(owner, "in_channels", in_channels)
        self.out_channels = checks.integer(owner, "out_channels", out_channels)
        self.has_bias = checks.boolean(owner, "has_bias", has_bias)
        self._believe(weight_prior_fn, weight_posterior_fn, "weight", (self.out_channels, self.in_channels))
        if self.has_bias:
            self._believe(bias_prior_fn, bias_posterior_fn, "bias", (self.out_channels,))
        if activation is not None and not isinstance(activation, (str, Cell)):
            raise checks.wrong_type(owner, "activation", "a name or a Cell", activation)
        self.activation = get_activation(activation, owner) if isinstance(activation, str) else activation

    def construct(self, x: Any) -> Tensor:
        outputs = self._biased(self._products(x))
        return outputs if self.activation is None else self.activation(outputs)

    def extend_repr(self) -> str:
        return f"in_channels={self.in_channels}, out_channels={self.out_channels}, has_bias={self.has_bias}"


class DenseReparam(_DenseVariational):
    """As nn.Dense with a weight and a bias that are drawn of distributions at each call (Kingma and Welling, 2014).

    activation: a name, or a Cell. weight_prior_fn, bias_prior_fn: NormalPrior, or a Cell of that kind, or what makes one.
    weight_posterior_fn, bias_posterior_fn: called with name and shape, they give a Cell like NormalPosterior, by default one.
    Raises ArgumentTypeError or ArgumentValueError for arguments.
    """

    def _products(self, x: Any) -> Tensor:
        return ops.matmul(x, self.weight_posterior("sample"), transpose_b=True)


class DenseLocalReparam(_DenseVariational):
    """As DenseReparam, but the products with the weight are drawn, of the distributions that they have (Kingma et al., 2015)."""

    def _products(self, x: Any) -> Tensor:
        mean = ops.matmul(x, self.weight_posterior("mean"), transpose_b=True)
        variance = ops.matmul(ops.square(x), ops.square(self.weight_posterior("sd")), transpose_b=True)
        drawn: Tensor = self.weight_posterior.normal("sample", mean=mean, sd=ops.sqrt(variance))
        return drawn


class ConvReparam(Conv2d, _Variational):
    """As nn.Conv2d with a weight and a bias that are drawn of distributions at each call.

    `weight` and `bias` themselves are not used, nor trained. Arguments as of nn.Conv2d and DenseReparam.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int],
        stride: int | tuple[int, int] = 1,
        pad_mode: str = "same",
        padding: int | tuple[int, int, int, int] = 0,
        dilation: int | tuple[int, int] = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_prior_fn: Any = NormalPrior,
        weight_posterior_fn: Callable[..., Any] = normal_post_fn,
        bias_prior_fn: Any = NormalPrior,
        bias_posterior_fn: Callable[..., Any] = normal_post_fn,
    ) -> None:
        window = (kernel_size, stride, pad_mode, padding, dilation, group)
        super().__init__(in_channels, out_channels, *window, has_bias, weight_init="normal", bias_init="zeros")
        self.weight.requires_grad = False
        self._believe(weight_prior_fn, weight_posterior_fn, "weight", self.weight.shape)
        if self.bias is not None:
            self.bias.requires_grad = False
            self._believe(bias_prior_fn, bias_posterior_fn, "bias", self.bias.shape)

    def _convolve(self, x: Tensor) -> Tensor:
        return self._biased(self.conv2d(x, self.weight_posterior("sample")))


class WithBNNLossCell(WithLossCell):
    """dnn_factor * loss_fn(backbone(x), label) + bnn_factor * the sum of compute_kl_loss() of the layers above.

    Raises ArgumentTypeError, and ArgumentValueError for factors below 0.
    """

    def __init__(self, backbone: Cell, loss_fn: Cell, dnn_factor: float = 1, bnn_factor: float = 1) -> None:
        super().__init__(backbone, loss_fn)
        self.dnn_factor = checks.real("WithBNNLossCell", "dnn_factor", dnn_factor, least=0)
        self.bnn_factor = checks.real("WithBNNLossCell", "bnn_factor", bnn_factor, least=0)

    def construct(self, x: Any, label: Any) -> Any:
        loss = super().construct(x, label) * self.dnn_factor
        for cell in self._backbone.cells():
            for _, layer in cell.cells_and_names():
                if isinstance(layer, _Variational):
                    loss = loss + layer.compute_kl_loss() * self.bnn_factor
        return loss


__all__ = [
    "ConvReparam",
    "DenseLocalReparam",
    "DenseReparam",
    "NormalPosterior",
    "NormalPrior",
    "WithBNNLossCell",
]

accept(globals(), __all__, __name__)
