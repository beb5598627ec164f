"""Members of MindSpore's Optimizer that optimizers written for it use: there for them, without meaning for graphc's own."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from graphc import ops
from graphc.errors import ArgumentValueError, user_loc
from graphc.ops.primitives import AssignAdd
from graphc.ops.tensor.parameter import Parameter, ParameterTuple
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.checks import boolean


class MindSporeBase:
    """Mapping functions, constants and marks of MindSpore's Optimizer, for subclasses that define `construct`.

    In one process every parameter is updated here (`optim_filter`), and there is nobody to send it to.
    """

    parameters: ParameterTuple
    loss_scale: float
    dynamic_lr: bool
    dynamic_weight_decay: bool

    map_, map_reverse = ops.Map(), ops.Map(None, True)
    hyper_map, hyper_map_reverse = ops.HyperMap(), ops.HyperMap(None, True)
    assignadd = AssignAdd()
    global_step_increase_tensor = Tensor([1], "int32")
    use_parallel, dev_num, param_rank = False, 1, None
    grad_centralization = False
    _unique = True

    def _prepare_base(self) -> None:
        """Set what depends on the parameters."""
        self._parameters = self.parameters
        self.param_length = len(self.parameters)
        self.optim_filter = (True,) * self.param_length
        self.need_scale = self.loss_scale != 1.0
        self.reciprocal_scale = Tensor(1.0 / self.loss_scale, "float32")

    def _members(self, held: ParameterTuple) -> Iterator[Parameter]:
        """State that a subclass keeps in tuples: the parameters that are trained belong to the network."""
        trained = set(map(id, self.parameters))
        return (p for p in held if id(p) not in trained)

    @property
    def unique(self) -> bool:
        """Whether sparse gradients are made unique: graphc has none. Keeps what is written."""
        return self._unique

    @unique.setter
    def unique(self, value: bool) -> None:
        boolean("", "unique", value)
        self._unique = value

    @property
    def target(self) -> str:
        """Where parameters are updated: "CPU". Writing anything else is ArgumentValueError."""
        return "CPU"

    @target.setter
    def target(self, value: str) -> None:
        self._set_base_target(value)

    def _set_base_target(self, value: str) -> None:
        if value != "CPU":
            raise ArgumentValueError(f"target must be 'CPU', got {value!r}", loc=user_loc())

    def _is_dynamic_lr_or_weight_decay(self) -> bool:
        """Whether a learning rate or a weight decay depends on the step."""
        return self.dynamic_lr or self.dynamic_weight_decay

    def _grad_sparse_indices_deduplicate(self, gradients: Any) -> Any:
        """The gradients themselves: none is sparse."""
        return gradients

    def flatten_gradients(self, gradients: Any) -> Any:
        """The gradients themselves: parameters are not kept in one piece."""
        return gradients

    def broadcast_params(self, optim_result: Any) -> Any:
        """The result of the update: this process is the only one."""
        return optim_result


def opt_init_args_register(fn: Callable[..., None]) -> Callable[..., None]:
    """A decorator for `__init__` of an Optimizer; keeps what it was called with: `init_params` (a dict), `init_learning_rate`
    (a tensor as a list, None for a schedule) and `init_args`, a dict of the rest, defaults included.
    """
    signature = inspect.signature(fn)

    @functools.wraps(fn)
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        bound = signature.bind(self, *args, **kwargs)
        fn(self, *args, **kwargs)
        bound.apply_defaults()
        given = dict(list(bound.arguments.items())[1:])
        rate = given.pop("learning_rate", None)
        self.init_params = {"params": given.pop("params", None)}
        rate = rate.asnumpy().tolist() if isinstance(rate, Tensor) else rate
        self.init_learning_rate = None if callable(rate) else rate
        self.init_args = given

    return init


__all__ = ["MindSporeBase", "opt_init_args_register"]
