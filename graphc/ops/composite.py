"""Functions of functions: gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from graphc.errors import ArgumentTypeError, user_loc
from graphc.ops import dispatch


@dataclass(frozen=True)
class GradOperation:
    """`GradOperation(get_all, get_by_list, sens_param)(fn, weights)(*inputs[, sens])`: the gradient of fn.

    Without flags the gradient for the first input; `get_all` a tuple over the inputs; `get_by_list` a tuple over `weights`;
    both: (inputs, weights). With `sens_param` the last argument weights the output; otherwise it is ones. Integer and bool
    inputs have gradient zero. Raises ArgumentTypeError for flags that are not bool (MindSpore: GradOperation).
    """

    get_all: bool = False
    get_by_list: bool = False
    sens_param: bool = False

    def __post_init__(self) -> None:
        for name in ("get_all", "get_by_list", "sens_param"):
            if not isinstance(getattr(self, name), bool):
                raise ArgumentTypeError(
                    f"GradOperation: {name} must be a bool, got {type(getattr(self, name)).__name__}"
                )

    def __call__(self, fn: Callable[..., Any], weights: Any = None) -> Callable[..., Any]:
        if not callable(fn):
            raise ArgumentTypeError(
                f"GradOperation: fn must be a Cell or a function, got {type(fn).__name__}", loc=user_loc()
            )

        def gradient(*args: Any) -> Any:
            active = dispatch.recorder.get()
            if active is not None:
                return active.gradient(fn, weights, args, self)
            assert dispatch.execute_gradient is not None
            return dispatch.execute_gradient(fn, weights, args, self)

        return gradient
