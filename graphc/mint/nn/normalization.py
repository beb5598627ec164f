"""Normalization; parameters are weight and bias, as torch calls them."""

from __future__ import annotations

from typing import Any

from graphc import ops
from graphc.errors import ShapeError, user_loc
from graphc.mint.nn import functional
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.nn.initializer import initializer
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.unused_arguments import only


class _BatchNorm(Cell):
    """Each channel (axis 1) standardized, times weight plus bias (Ioffe and Szegedy, 2015).

    In training mode, and always with track_running_stats=False, by the statistics of the batch, to which the running ones move by
    momentum (None: they are means of all batches). Parameters: weight, bias (if affine), running_mean, running_var and
    num_batches_tracked, an int64 (if track_running_stats).
    """

    _ranks: tuple[int, ...] = ()

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        owner = type(self).__name__
        self.num_features = checks.integer(owner, "num_features", num_features)
        self.eps = checks.real(owner, "eps", eps, least=0)
        self.momentum = None if momentum is None else checks.real(owner, "momentum", momentum)
        self.affine = checks.boolean(owner, "affine", affine)
        self.track_running_stats = checks.boolean(owner, "track_running_stats", track_running_stats)
        self.weight: Any = None
        self.bias: Any = None
        if affine:
            self.weight, self.bias = _affine(num_features, dtype)
        self.running_mean: Any = None
        self.running_var: Any = None
        self.num_batches_tracked: Any = None
        if track_running_stats:
            self.running_mean = self._state("running_mean", "zeros", dtype)
            self.running_var = self._state("running_var", "ones", dtype)
            self.num_batches_tracked = Parameter(Tensor(0, "int64"), name="num_batches_tracked", requires_grad=False)

    def _state(self, name: str, init: str, dtype: Any) -> Parameter:
        return Parameter(
            initializer(init, (self.num_features,), "float32" if dtype is None else dtype),
            name=name,
            requires_grad=False,
        )

    def construct(self, input: Any) -> Tensor:
        if input.ndim not in self._ranks or input.shape[1] != self.num_features:
            ranks = " or ".join(map(str, self._ranks))
            raise ShapeError(
                f"{type(self).__name__}: input is {input.tensor_type}, expected {ranks} axes and {self.num_features} channels",
                loc=user_loc(),
            )
        if not self.track_running_stats:
            return functional.batch_norm(input, None, None, self.weight, self.bias, True, 0.0, self.eps)
        momentum: Any = self.momentum
        if self.training:
            ops.assign_add(self.num_batches_tracked, 1)
            if momentum is None:
                momentum = 1.0 / ops.cast(self.num_batches_tracked, "float32")
        return functional.batch_norm(
            input, self.running_mean, self.running_var, self.weight, self.bias, self.training, momentum, self.eps
        )


class BatchNorm1d(_BatchNorm):
    __doc__ = f"Of [N, C] or [N, C, L]: {_BatchNorm.__doc__}"
    _ranks = (2, 3)


class BatchNorm2d(_BatchNorm):
    __doc__ = f"Of images [N, C, H, W]: {_BatchNorm.__doc__}"
    _ranks = (4,)


class BatchNorm3d(_BatchNorm):
    __doc__ = f"Of volumes [N, C, D, H, W]: {_BatchNorm.__doc__}"
    _ranks = (5,)


class SyncBatchNorm(_BatchNorm):
    __doc__ = f"Over the batches of all processes, of which there is one. {_BatchNorm.__doc__}"
    _ranks = (2, 3, 4, 5)

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        dtype: Any = None,
    ) -> None:
        only("SyncBatchNorm", "process_group", process_group, None)
        super().__init__(num_features, eps, momentum, affine, track_running_stats, dtype)


class GroupNorm(Cell):
    """Each of num_groups groups of channels of a sample standardized, times weight plus bias per channel (Wu and He, 2018)."""

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_groups = checks.integer("GroupNorm", "num_groups", num_groups)
        self.num_channels = checks.integer("GroupNorm", "num_channels", num_channels)
        if num_channels % num_groups:
            raise checks.wrong_value("GroupNorm", "num_channels", f"a multiple of {num_groups}", num_channels)
        self.eps = checks.real("GroupNorm", "eps", eps, least=0)
        self.weight, self.bias = _affine(num_channels, dtype)
        self.weight.requires_grad = self.bias.requires_grad = checks.boolean("GroupNorm", "affine", affine)

    def construct(self, input: Any) -> Tensor:
        return functional.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)


class LayerNorm(Cell):
    """The last axes, of the lengths normalized_shape, standardized, times weight plus bias of that shape (Ba et al., 2016)."""

    def __init__(
        self,
        normalized_shape: Any,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        shape = (normalized_shape,) if checks.is_int(normalized_shape) else tuple(normalized_shape)
        self.normalized_shape = tuple(checks.integer("LayerNorm", "normalized_shape", n) for n in shape)
        self.eps = checks.real("LayerNorm", "eps", eps, least=0)
        affine = checks.boolean("LayerNorm", "elementwise_affine", elementwise_affine)
        self.weight: Any = None
        self.bias: Any = None
        if affine:
            self.weight, self.bias = _affine(shape, dtype)
        if not checks.boolean("LayerNorm", "bias", bias):
            self.bias = None

    def construct(self, input: Any) -> Tensor:
        return functional.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


def _affine(shape: Any, dtype: Any) -> tuple[Parameter, Parameter]:
    """Weight of ones, bias of zeros."""
    ones, zeros = (initializer(init, shape, "float32" if dtype is None else dtype) for init in ("ones", "zeros"))
    return Parameter(ones, name="weight"), Parameter(zeros, name="bias")


__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "GroupNorm", "LayerNorm", "SyncBatchNorm"]
