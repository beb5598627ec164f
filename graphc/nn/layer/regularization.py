"""What keeps a network from learning its samples by heart: Dropout, of elements and of channels, L1Regularizer."""

from __future__ import annotations

from typing import Any

from graphc import ops
from graphc.errors import ShapeError, user_loc
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.nn.layer.inner import Inner, held
from graphc.ops.functional.random import drop, uniform_from
from graphc.ops.tensor.dtype import to_name
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.seed import new_state
from graphc.ops.tensor.tensor import Tensor, as_tensor
from graphc.validation.unused_arguments import only


class _Masking(ops.Primitive):
    """(x / keep_prob where kept, else 0; the mask as zeros and ones of x's dtype), from a layer's random state."""

    def __init__(self, keep_prob: float, state: Parameter) -> None:
        super().__init__("Dropout")
        self.keep_prob = keep_prob
        self._state = state

    def __call__(self, x: Any) -> tuple[Tensor, Tensor]:
        kept = ops.less(uniform_from(self._state, x.shape), self.keep_prob)
        return ops.select(kept, x * (1.0 / self.keep_prob), 0.0), ops.cast(kept, x.dtype)


class Dropout(Cell):
    """Zeros with probability p, everything else divided by 1 - p, in training mode; x itself otherwise (MindSpore:
    nn.Dropout).

    keep_prob: 1 - p, float in (0, 1]; it counts unless p is given, a number in [0, 1).
    `state` is the layer's random state, a Parameter of one int64: each forward reads it and moves it on by one, on
    overflow steps too. It starts from `graphc.set_seed` and is not among the cell's parameters (MindSpore's has none),
    but in its checkpoint.
    Raises ArgumentTypeError or ArgumentValueError.
    """

    state: Parameter
    dropout = Inner(lambda layer: _Masking(layer._kept(), layer.state))

    def __init__(self, keep_prob: float = 0.5, p: float | None = None, dtype: Any = "float32") -> None:
        super().__init__()
        if p is None:
            if not isinstance(keep_prob, float):
                raise checks.wrong_type("Dropout", "keep_prob", "a float", keep_prob)
            if not 0 < keep_prob <= 1:
                raise checks.wrong_value("Dropout", "keep_prob", "in (0, 1]", keep_prob)
        elif not 0 <= checks.real("Dropout", "p", p) < 1:
            raise checks.wrong_value("Dropout", "p", "in [0, 1)", p)
        to_name(dtype)  # The mask has the input's dtype; this one must exist.
        self.p, self.keep_prob = p, keep_prob
        # Past Cell's registration of parameters.
        object.__setattr__(self, "state", new_state("Dropout"))

    def construct(self, x: Any) -> Tensor:
        tensor = as_tensor(x, "Dropout: x")
        kept = self._kept()
        if not self.training or kept == 1:
            return tensor.value()
        if kept == 0:
            return tensor * 0.0
        inner = held(self, "dropout")
        if inner is not None:  # It gives the mask, too.
            y: Tensor = inner(tensor)[0]
            return y
        return drop(tensor, kept, self.state)

    def _kept(self) -> float:
        return self.keep_prob if self.p is None else 1.0 - self.p

    def extend_repr(self) -> str:
        return f"keep_prob={self.keep_prob}" if self.p is None else f"p={self.p}"


class _ByShare(Dropout):
    """Dropout by p alone, a number in [0, 1]: 1 leaves zeros."""

    def __init__(self, p: float = 0.5) -> None:
        owner = type(self).__name__
        if checks.real(owner, "p", p, least=0) > 1:
            raise checks.wrong_value(owner, "p", "in [0, 1]", p)
        super().__init__(p=0.0)
        self.p = p


class _ChannelDropout(_ByShare):
    """Whole channels are zero with probability p, the others divided by 1 - p, in training mode (Tompson et al., 2015)."""

    _ranks: tuple[int, ...] = (4,)

    def construct(self, x: Any) -> Tensor:
        tensor = as_tensor(x, f"{type(self).__name__}: x")
        if tensor.ndim not in self._ranks:
            raise ShapeError(
                f"{type(self).__name__}: x is {tensor.tensor_type}, which has another number of axes", loc=user_loc()
            )
        lead = 1 if tensor.ndim < max(self._ranks) else 2
        ones = ops.ones((*tensor.shape[:lead], *[1] * (tensor.ndim - lead)), tensor.dtype)
        return tensor * super().construct(ones)


class Dropout1d(_ChannelDropout):
    __doc__ = f"{_ChannelDropout.__doc__} x is [N, C, L] or [C, L]."
    _ranks = (2, 3)


class Dropout2d(_ChannelDropout):
    __doc__ = f"{_ChannelDropout.__doc__} x is [N, C, H, W]."


class Dropout3d(_ChannelDropout):
    __doc__ = f"{_ChannelDropout.__doc__} x is [N, C, D, H, W]."
    _ranks = (5,)


class DropoutExt(_ByShare):
    """As Dropout, by p alone, a number in [0, 1] (MindSpore: nn.DropoutExt).

    inplace True is refused (GC112): x stays what it is.
    """

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        only(type(self).__name__, "inplace", inplace, False)
        super().__init__(p)
        self.inplace = False

    def construct(self, input: Any) -> Tensor:
        return super().construct(input)


class Dropout2dExt(DropoutExt):
    """Whole channels of x [N, C, L] or [N, C, H, W] as DropoutExt drops elements (MindSpore: nn.Dropout2dExt)."""

    def construct(self, input: Any) -> Tensor:
        if input.ndim not in (3, 4):
            raise ShapeError(
                f"Dropout2dExt: x is {input.tensor_type}, which has another number of axes", loc=user_loc()
            )
        ones = ops.ones((*input.shape[:2], *[1] * (input.ndim - 2)), input.dtype)
        made: Tensor = input * super().construct(ones) if self.training else input
        return made


class L1Regularizer(Cell):
    """scale times the sum of absolute values (MindSpore: nn.L1Regularizer)."""

    def __init__(self, scale: float) -> None:
        super().__init__()
        self.scale = checks.real("L1Regularizer", "scale", scale, above=0)

    def construct(self, weights: Any) -> Tensor:
        return ops.reduce_sum(ops.abs(weights)) * Tensor(self.scale, "float32")


__all__ = ["Dropout", "Dropout1d", "Dropout2d", "Dropout2dExt", "Dropout3d", "DropoutExt", "L1Regularizer"]
