"""Layers that MindSpore has in `mindspore.nn.layer` alone, because `nn` has another thing of that name."""

from __future__ import annotations

from typing import Any

from graphc import ops
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.ops.tensor.tensor import Tensor, as_tensor
from graphc.validation.signatures import accept


class CosineSimilarity(Cell):
    """The cosine of the angle between x1 and x2 along an axis; the product of their norms counts as eps where it is less.

    `nn.CosineSimilarity` is the metric. Raises ArgumentTypeError for what is no tensor.
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        if not checks.is_int(dim):
            raise checks.wrong_type("CosineSimilarity", "dim", "an int", dim)
        self.dim, self.eps = dim, checks.real("CosineSimilarity", "eps", eps)

    def construct(self, x1: Any, x2: Any) -> Tensor:
        x1, x2 = (as_tensor(x, "CosineSimilarity: an operand") for x in (x1, x2))
        both, first, second = (ops.sum(a * b, self.dim) for a, b in ((x1, x2), (x1, x1), (x2, x2)))
        return ops.div_no_nan(both, ops.sqrt(ops.maximum(first * second, self.eps**2)))

    def extend_repr(self) -> str:
        return f"dim={self.dim}, eps={self.eps}"


__all__ = ["CosineSimilarity"]

accept(globals(), __all__, __name__)
