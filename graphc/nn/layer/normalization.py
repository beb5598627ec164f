"""Normalization layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphc import ops
from graphc.errors import ArgumentValueError, ShapeError, user_loc
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.nn.initializer.make import initializer
from graphc.nn.layer.inner import Inner, held
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor, as_tensor
from graphc.validation.unused_arguments import only


class _BatchNorm(Cell):
    """(x - mean) / sqrt(variance + eps) * gamma + beta for each channel (axis 1).

    In training mode by the mean and variance of the batch, and the moving ones become momentum old + (1 - momentum)
    new, the new variance unbiased; in evaluation mode by the moving ones. use_batch_statistics True or False instead
    of None chooses for both modes. Parameters, each [num_features]: gamma, beta (trainable if affine), mean, variance
    (MindSpore: nn.BatchNorm2d). Statistics are float32 whatever x is.
    Raises ArgumentTypeError or ArgumentValueError for arguments, ShapeError for an x of another rank or other channels.
    """

    _ranks: tuple[int, ...] = ()
    _expected = ""
    _owner: str | None = None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.9,
        affine: bool = True,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        moving_mean_init: Any = "zeros",
        moving_var_init: Any = "ones",
        use_batch_statistics: bool | None = None,
        data_format: str = "NCHW",
        dtype: Any = "float32",
    ) -> None:
        super().__init__()
        owner = self._named()
        self.num_features = checks.integer(owner, "num_features", num_features)
        self.eps = checks.real(owner, "eps", eps, least=0)
        #: The share of the batch's statistics, as in MindSpore: 1 less the argument.
        self.momentum = 1.0 - checks.real(owner, "momentum", momentum)
        if not 0 <= momentum <= 1:
            raise checks.wrong_value(owner, "momentum", "in [0, 1]", momentum)
        self.affine = checks.boolean(owner, "affine", affine)
        if use_batch_statistics is not None and not isinstance(use_batch_statistics, bool):
            raise checks.wrong_value(owner, "use_batch_statistics", "True, False or None", use_batch_statistics)
        self.use_batch_statistics = use_batch_statistics
        if data_format != "NCHW":
            raise checks.wrong_value(owner, "data_format", "'NCHW'", data_format)
        shape = (self.num_features,)
        made = {
            name: initializer(init, shape, dtype)
            for name, init in (
                ("mean", moving_mean_init),
                ("variance", moving_var_init),
                ("gamma", gamma_init),
                ("beta", beta_init),
            )
        }
        self.moving_mean = Parameter(made["mean"], name="mean", requires_grad=False)
        self.moving_variance = Parameter(made["variance"], name="variance", requires_grad=False)
        self.gamma = Parameter(made["gamma"], name="gamma", requires_grad=self.affine)
        self.beta = Parameter(made["beta"], name="beta", requires_grad=self.affine)

    def _named(self) -> str:
        """What errors call the layer."""
        return self._owner or type(self).__name__

    def construct(self, x: Any) -> Tensor:
        owner = self._named()
        x = as_tensor(x, f"{owner}: x")
        if x.ndim not in self._ranks:
            raise ShapeError(
                f"{owner}: x has {x.ndim} axes, expected {self._expected}",
                loc=user_loc(),
                details=[f"x: {x.tensor_type}"],
            )
        if x.shape[1] != self.num_features:
            raise ShapeError(
                f"{owner}: x has {x.shape[1]} channels (axis 1), the layer expects {self.num_features}",
                loc=user_loc(),
                details=[f"x: {x.tensor_type}", f"gamma: {checks.named(self.gamma)}"],
                help=f"make the layer nn.{owner}({x.shape[1]})",
            )
        by_batch = self.training if self.use_batch_statistics is None else self.use_batch_statistics
        moving = (self.moving_mean, self.moving_variance)
        return ops.batch_norm(x, *moving, self.gamma, self.beta, by_batch, self.momentum, self.eps)

    def extend_repr(self) -> str:
        momentum = 1.0 - self.momentum
        return f"num_features={self.num_features}, eps={self.eps}, momentum={momentum}, affine={self.affine}"


class BatchNorm1d(_BatchNorm):
    __doc__ = f"Of x [N, C] or [N, C, L]: {_BatchNorm.__doc__}"
    _ranks, _expected = (2, 3), "2 or 3: [N, channels] or [N, channels, length]"


class BatchNorm2d(_BatchNorm):
    __doc__ = f"Of images x [N, C, H, W]: {_BatchNorm.__doc__}"
    _ranks, _expected = (4,), "4: [N, channels, H, W]"


class _OfPlanes(BatchNorm2d):
    """What BatchNorm3d holds: errors name that."""

    _owner = "BatchNorm3d"


class BatchNorm3d(Cell):
    __doc__ = (
        "Of volumes x [N, C, D, H, W], by a BatchNorm2d named bn2d, under which the parameters stand, as in MindSpore:"
        f" {_BatchNorm.__doc__}"
    )

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.9,
        affine: bool = True,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        moving_mean_init: Any = "zeros",
        moving_var_init: Any = "ones",
        use_batch_statistics: bool | None = None,
        dtype: Any = "float32",
    ) -> None:
        super().__init__()
        inits = (gamma_init, beta_init, moving_mean_init, moving_var_init)
        self.bn2d = _OfPlanes(num_features, eps, momentum, affine, *inits, use_batch_statistics, dtype=dtype)

    def construct(self, x: Any) -> Tensor:
        x = as_tensor(x, "BatchNorm3d: x")
        if x.ndim != 5:
            raise ShapeError(
                f"BatchNorm3d: x has {x.ndim} axes, expected 5: [N, channels, D, H, W]",
                loc=user_loc(),
                details=[f"x: {x.tensor_type}"],
            )
        n, c, d, h, w = x.shape
        y: Tensor = ops.reshape(self.bn2d(ops.reshape(x, (n, c, d * h, w))), x.shape)
        return y


class SyncBatchNorm(_BatchNorm):
    __doc__ = f"As BatchNorm over the batches of all processes, of which there is one. {_BatchNorm.__doc__}"
    _ranks, _expected = (2, 4), "2 or 4: [N, channels] or [N, channels, H, W]"

    def __init__(self, num_features: int, *args: Any, process_groups: Any = None, **kwargs: Any) -> None:
        only("SyncBatchNorm", "process_groups", process_groups, None)
        super().__init__(num_features, *args, **kwargs)


class _InstanceNorm(Cell):
    """Each channel of each sample standardized, times gamma plus beta per channel (Ulyanov et al., 2016).

    Parameters, each [num_features]: gamma, beta (trainable if affine), and mean, variance, which stand in MindSpore's
    checkpoints: nothing reads them, and they keep their values. Raises ArgumentTypeError or ArgumentValueError for
    arguments, ShapeError for an x of another rank or other channels.
    """

    _rank = 4

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = True,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        dtype: Any = "float32",
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        self.num_features = checks.integer(owner, "num_features", num_features)
        self.eps = checks.real(owner, "eps", eps, least=0)
        self.momentum = checks.real(owner, "momentum", momentum)
        if not 0 <= momentum <= 1:
            raise checks.wrong_value(owner, "momentum", "in [0, 1]", momentum)
        self.affine = checks.boolean(owner, "affine", affine)
        self.moving_mean = Parameter(initializer("zeros", num_features, dtype), name="mean", requires_grad=False)
        self.moving_variance = Parameter(initializer("ones", num_features, dtype), name="variance", requires_grad=False)
        self.gamma = Parameter(initializer(gamma_init, num_features, dtype), name="gamma", requires_grad=affine)
        self.beta = Parameter(initializer(beta_init, num_features, dtype), name="beta", requires_grad=affine)

    def construct(self, x: Any) -> Tensor:
        x = as_tensor(x, f"{type(self).__name__}: x")
        if x.ndim != self._rank or x.shape[1] != self.num_features:
            raise ShapeError(
                f"{type(self).__name__}: x is {x.tensor_type}, expected {self._rank} axes and {self.num_features} channels",
                loc=user_loc(),
            )
        return ops.group_norm(x, self.num_features, self.gamma, self.beta, self.eps)

    def extend_repr(self) -> str:
        return f"num_features={self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}"


class InstanceNorm1d(_InstanceNorm):
    __doc__ = f"Of x [N, C, L]: {_InstanceNorm.__doc__}"
    _rank = 3


class InstanceNorm2d(_InstanceNorm):
    __doc__ = f"Of images x [N, C, H, W]: {_InstanceNorm.__doc__}"


class InstanceNorm3d(_InstanceNorm):
    __doc__ = f"Of volumes x [N, C, D, H, W]: {_InstanceNorm.__doc__}"
    _rank = 5


class LayerNorm(Cell):
    """(x - mean) / sqrt(variance + epsilon) * gamma + beta (MindSpore: nn.LayerNorm).

    Mean and variance are over the axes from begin_norm_axis on.
    gamma and beta have shape `normalized_shape`, which x has from begin_params_axis on. Raises ArgumentTypeError or
    ArgumentValueError for arguments, ShapeError for an x that does not fit.
    """

    layer_norm = Inner(lambda layer: ops.LayerNorm(layer.begin_norm_axis, layer.begin_params_axis, layer.epsilon))

    def __init__(
        self,
        normalized_shape: Sequence[int],
        begin_norm_axis: int = -1,
        begin_params_axis: int = -1,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        epsilon: float = 1e-7,
        dtype: Any = "float32",
    ) -> None:
        super().__init__()
        if not isinstance(normalized_shape, (tuple, list)):
            help = f"nn.LayerNorm(({normalized_shape},))" if isinstance(normalized_shape, int) else None
            raise checks.wrong_type("LayerNorm", "normalized_shape", "a tuple or list", normalized_shape, help)
        if not normalized_shape:
            raise checks.wrong_value("LayerNorm", "normalized_shape", "at least one size", normalized_shape)
        self.normalized_shape = tuple(checks.integer("LayerNorm", "normalized_shape", d) for d in normalized_shape)
        for name, axis in (("begin_norm_axis", begin_norm_axis), ("begin_params_axis", begin_params_axis)):
            if not checks.is_int(axis):
                raise checks.wrong_type("LayerNorm", name, "an int", axis)
        self.begin_norm_axis, self.begin_params_axis = begin_norm_axis, begin_params_axis
        self.epsilon = checks.real("LayerNorm", "epsilon", epsilon, least=0)
        self.gamma = Parameter(initializer(gamma_init, self.normalized_shape, dtype), name="gamma")
        self.beta = Parameter(initializer(beta_init, self.normalized_shape, dtype), name="beta")

    def construct(self, input_x: Any) -> Tensor:
        x = as_tensor(input_x, "LayerNorm: input_x")
        begin, params = self._axis(x, "begin_norm_axis"), self._axis(x, "begin_params_axis")
        if x.shape[params:] != self.normalized_shape:
            raise ShapeError(
                f"LayerNorm: the axes of x from {params} on have shape {x.shape[params:]},"
                f" the layer expects {self.normalized_shape}",
                loc=user_loc(),
                details=[f"x: {x.tensor_type}", f"gamma: {checks.named(self.gamma)}"],
                help=f"make the layer nn.LayerNorm({x.shape[params:]})",
            )
        inner = held(self, "layer_norm")
        if inner is not None:  # It gives mean and variance, too.
            y: Tensor = inner(x, self.gamma, self.beta)[0]
            return y
        return ops.layer_norm_over(x, self.gamma, self.beta, begin, self.epsilon)

    def _axis(self, x: Tensor, name: str) -> int:
        axis: int = getattr(self, name)
        if not -x.ndim <= axis < x.ndim:
            raise ArgumentValueError(
                f"LayerNorm: {name} = {axis} is no axis of x, which is {x.tensor_type}", loc=user_loc()
            )
        return axis % x.ndim

    def extend_repr(self) -> str:
        return (
            f"normalized_shape={self.normalized_shape}, begin_norm_axis={self.begin_norm_axis}"
            f", begin_params_axis={self.begin_params_axis}"
        )


class LayerNormExt(Cell):
    """(x - mean) / sqrt(variance + eps) * weight + bias over the last axes (MindSpore: nn.LayerNormExt).

    normalized_shape: the sizes of those axes, or an int for one. weight and bias have that shape; without
    elementwise_affine there is neither, without bias no bias. dtype None is float32. Raises ArgumentTypeError or
    ArgumentValueError for arguments, ShapeError for an x that does not fit.
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        owner = "LayerNormExt"
        sizes = (normalized_shape,) if checks.is_int(normalized_shape) else normalized_shape
        if not isinstance(sizes, (tuple, list)):
            raise checks.wrong_type(owner, "normalized_shape", "an int, a tuple or a list", normalized_shape)
        if not sizes:
            raise checks.wrong_value(owner, "normalized_shape", "at least one size", normalized_shape)
        self.normalized_shape = tuple(checks.integer(owner, "normalized_shape", d) for d in sizes)
        self.eps = checks.real(owner, "eps", eps, least=0)
        self.elementwise_affine = checks.boolean(owner, "elementwise_affine", elementwise_affine)
        self.weight: Parameter | None = None
        self.bias: Parameter | None = None
        if elementwise_affine:
            self.weight = Parameter(
                initializer("ones", self.normalized_shape, "float32" if dtype is None else dtype), name="weight"
            )
        if checks.boolean(owner, "bias", bias) and elementwise_affine:
            self.bias = Parameter(
                initializer("zeros", self.normalized_shape, "float32" if dtype is None else dtype), name="bias"
            )

    def construct(self, input: Any) -> Tensor:
        return ops.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extend_repr(self) -> str:
        return f"normalized_shape={self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Cell):
    """Each group of channels of each sample standardized, times gamma plus beta per channel (MindSpore: nn.GroupNorm).

    x is [N, num_channels, ...]. Raises ArgumentTypeError, ArgumentValueError (channels that do not divide into the
    groups among them) or, for x, ShapeError.
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        dtype: Any = "float32",
    ) -> None:
        super().__init__()
        self.num_groups = checks.integer("GroupNorm", "num_groups", num_groups)
        self.num_channels = checks.integer("GroupNorm", "num_channels", num_channels)
        if num_channels % num_groups:
            raise checks.wrong_value(
                "GroupNorm", "num_channels", f"a multiple of num_groups = {num_groups}", num_channels
            )
        self.eps = checks.real("GroupNorm", "eps", eps, least=0)
        self.affine = checks.boolean("GroupNorm", "affine", affine)
        self.gamma = Parameter(initializer(gamma_init, num_channels, dtype), name="gamma", requires_grad=affine)
        self.beta = Parameter(initializer(beta_init, num_channels, dtype), name="beta", requires_grad=affine)

    def construct(self, x: Any) -> Tensor:
        x = as_tensor(x, "GroupNorm: x")
        if x.ndim < 2 or x.shape[1] != self.num_channels:
            raise ShapeError(
                f"GroupNorm: x is {x.tensor_type}, the layer expects [N, {self.num_channels}, ...]",
                loc=user_loc(),
                details=[f"gamma: {checks.named(self.gamma)}"],
            )
        return ops.group_norm(x, self.num_groups, self.gamma, self.beta, self.eps)

    def extend_repr(self) -> str:
        return f"num_groups={self.num_groups}, num_channels={self.num_channels}, affine={self.affine}"


class LRN(Cell):
    """x / (bias + alpha sum of squares)^beta, the sum over depth_radius channels on either side; see `ops.lrn`
    (Krizhevsky et al., 2012; MindSpore: nn.LRN).
    """

    def __init__(
        self,
        depth_radius: int = 5,
        bias: float = 1.0,
        alpha: float = 1.0,
        beta: float = 0.5,
        norm_region: str = "ACROSS_CHANNELS",
    ) -> None:
        super().__init__()
        self.depth_radius = checks.integer("LRN", "depth_radius", depth_radius, least=0)
        self.bias, self.alpha = checks.exact_float("LRN", "bias", bias), checks.exact_float("LRN", "alpha", alpha)
        self.beta = checks.exact_float("LRN", "beta", beta)
        only("LRN", "norm_region", norm_region, "ACROSS_CHANNELS")

    def construct(self, input_x: Any) -> Tensor:
        return ops.lrn(input_x, self.depth_radius, self.bias, self.alpha, self.beta)


__all__ = [
    "LRN",
    "BatchNorm1d",
    "BatchNorm2d",
    "BatchNorm3d",
    "GroupNorm",
    "InstanceNorm1d",
    "InstanceNorm2d",
    "InstanceNorm3d",
    "LayerNorm",
    "LayerNormExt",
    "SyncBatchNorm",
]
