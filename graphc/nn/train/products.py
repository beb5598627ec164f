"""Cells that multiply a Jacobian with a vector, which MindSpore keeps for older scripts: nn.Jvp, nn.Vjp."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphc import ops
from graphc.errors import ArgumentTypeError, user_loc
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.ops.gradients.reverse import GradOperation, ValueAndGrad


class _Product(Cell):
    def __init__(self, fn: Callable[..., Any]) -> None:
        super().__init__(auto_prefix=False)
        if isinstance(fn, type) or not callable(fn):
            raise checks.wrong_type(type(self).__name__, "fn", "a Cell or a function", fn)
        self.fn = fn

    def _split(self, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], Any]:
        """The inputs of fn, and the vector behind them."""
        if len(args) < 2:
            raise ArgumentTypeError(
                f"{type(self).__name__} takes the inputs of fn and a vector, got {len(args)} arguments", loc=user_loc()
            )
        return args[:-1], args[-1]


class Jvp(_Product):
    """(fn(*inputs), the Jacobian times v) of (*inputs, v), by forward mode (MindSpore: nn.Jvp).

    fn: a Cell or function of tensors. v: a tensor for one input, else a tuple or list of one per input, of their types.
    Raises ArgumentTypeError for another fn, and what `ops.jvp` raises.
    """

    def construct(self, *args: Any) -> Any:
        inputs, v = self._split(args)
        return ops.jvp(self.fn, inputs, v)


class Vjp(_Product):
    """(fn(*inputs), v times the Jacobian) of (*inputs, v) (MindSpore: nn.Vjp).

    fn: a Cell or function of tensors. v: a tensor for one output, else a tuple of one per output, of their types. The second
    result is a tensor for one input, else a tuple over the inputs. Raises ArgumentTypeError for another fn or v (GC152).
    """

    def construct(self, *args: Any) -> Any:
        self._split(args)
        selection = GradOperation(get_all=len(args) > 2, sens_param=True)
        options = ValueAndGrad(sens_param=True, with_value=True, selection=selection)
        return options(self.fn)(*args)


__all__ = ["Jvp", "Vjp"]
