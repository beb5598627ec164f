"""What all optimizers share: parameters, learning rate, weight decay, step counter."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from graphc import ops
from graphc.errors import ArgumentTypeError, ArgumentValueError, ShapeError, user_loc
from graphc.ir import Region
from graphc.nn import checks
from graphc.nn.cell import Cell
from graphc.ops.tensor import Parameter, ParameterTuple, Tensor


class Optimizer(Cell):
    """Base of the optimizers (MindSpore: nn.Optimizer).

    learning_rate: a number >= 0, or a tensor of one element; kept as the float32 Parameter "learning_rate".
    parameters: float Parameters with distinct names. weight_decay: a number >= 0; adds `weight_decay *
    parameter` to the gradient, except for parameters with "beta" or "gamma" in their names. loss_scale: a
    number > 0 that gradients are divided by. State: `global_step` (int32[1]), counted by every call, and what
    subclasses own; it keeps the names it has, whatever cell holds the optimizer.

    optimizer(gradients): a tuple with the gradient of each parameter. Returns a tuple of True, one per
    parameter. Subclasses define `update`, and `step_rate` where the rate depends on the step.
    Raises ArgumentTypeError or ArgumentValueError for arguments; learning rates that change with the step, a
    weight decay that does, and groups of parameters are not supported yet. ShapeError for gradients that do
    not fit.
    """

    region: Region | None = "optimizer"

    def __init__(self, learning_rate: Any, parameters: Any, weight_decay: float = 0.0, loss_scale: float = 1.0) -> None:
        super().__init__(auto_prefix=False)
        owner = type(self).__name__
        self.parameters = _parameters(owner, parameters)
        self.learning_rate = Parameter(_rate(owner, learning_rate), name="learning_rate", requires_grad=False)
        self.global_step = Parameter(Tensor([0], "int32"), name="global_step", requires_grad=False)
        if isinstance(weight_decay, (Cell, Tensor)):
            raise _unsupported(owner, "weight_decay must be a number: one that changes with the step", "a number")
        self.weight_decay = checks.real(owner, "weight_decay", weight_decay, least=0)
        self.loss_scale = checks.real(owner, "loss_scale", loss_scale, above=0)
        self.decay_flags = tuple("beta" not in p.name and "gamma" not in p.name for p in self.parameters)

    def state(self, prefix: str, init: str = "zeros") -> ParameterTuple:
        """A state tensor like each parameter, named `prefix.<parameter>`, filled with "zeros" or "ones"."""
        made = self.parameters.clone(prefix, init)
        for p in made:
            p.requires_grad = False
            self._params[p.name] = p
        return made

    def update_parameters_name(self, prefix: str = "", recurse: bool = True) -> None:
        """State is named after the parameters it belongs to: the cell that holds the optimizer adds no
        prefix.
        """

    # ---- one step

    def construct(self, gradients: Any) -> tuple[Tensor, ...]:
        grads = self.scale_grad(self.decay_weight(self.checked(gradients)))
        lr = self.step_rate(self.get_lr())
        ops.assign_add(self.global_step, 1)
        return tuple(ops.depend(Tensor(True), self.update(i, g, lr)) for i, g in enumerate(grads))

    def update(self, index: int, gradient: Tensor, lr: Tensor) -> Tensor | tuple[Tensor, ...]:
        """Write parameter `index` and its state. Returns the results of the assignments."""
        raise ArgumentTypeError(f"{type(self).__name__} does not define update(index, gradient, lr)")

    def step_rate(self, lr: Tensor) -> Tensor:
        """The rate that `update` gets: lr itself. May write state, once per step."""
        return lr

    def get_lr(self) -> Tensor:
        """The learning rate of the step about to be made, float32 without axes."""
        return self.learning_rate

    def get_lr_parameter(self, param: Any) -> Any:
        """The learning rate of a parameter, or a list of them for several: all have the same."""
        return self.learning_rate if isinstance(param, Parameter) else [self.learning_rate for _ in param]

    def get_weight_decay(self) -> Tensor:
        """The weight decay, float32 without axes."""
        return Tensor(self.weight_decay, "float32")

    def checked(self, gradients: Any) -> tuple[Tensor, ...]:
        """The gradients, if there is one of the right shape for each parameter."""
        owner = type(self).__name__
        if not isinstance(gradients, (tuple, list)) or not all(isinstance(g, Tensor) for g in gradients):
            held = (
                f"a {type(gradients).__name__} of {', '.join(sorted({type(g).__name__ for g in gradients}))}"
                if isinstance(gradients, (tuple, list))
                else type(gradients).__name__
            )
            raise ArgumentTypeError(f"{owner}: gradients must be a tuple of Tensors, got {held}", loc=user_loc())
        if len(gradients) != len(self.parameters):
            raise ArgumentValueError(
                f"{owner}: got {len(gradients)} gradients for {len(self.parameters)} parameters",
                loc=user_loc(),
                details=[checks.named(p) for p in self.parameters[:6]],
                help="differentiate for optimizer.parameters, in their order",
            )
        for p, g in zip(self.parameters, gradients, strict=True):
            if g.shape != p.shape:
                raise ShapeError(
                    f"{owner}: the gradient of {p.name} is {g.type}, the parameter {p.type}",
                    loc=user_loc(),
                    help="differentiate for optimizer.parameters, in their order",
                )
        return tuple(gradients)

    def decay_weight(self, gradients: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """gradient + weight_decay * loss_scale * parameter: `scale_grad` divides both by the loss scale."""
        if self.weight_decay == 0:
            return gradients
        decay = self.weight_decay * self.loss_scale
        triples = zip(gradients, self.parameters, self.decay_flags, strict=True)
        return tuple(g + ops.cast(p * decay, g.dtype) if flag else g for g, p, flag in triples)

    def scale_grad(self, gradients: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """gradient * (1 / loss_scale)."""
        if self.loss_scale == 1.0:
            return gradients
        return tuple(g * (1.0 / self.loss_scale) for g in gradients)

    def extend_repr(self) -> str:
        count = len(self.parameters)
        return f"{count} parameters, weight_decay={self.weight_decay:g}, loss_scale={self.loss_scale:g}"


def _unsupported(owner: str, what: str, instead: str) -> ArgumentTypeError:
    return ArgumentTypeError(f"{owner}: {what} is not supported yet", loc=user_loc(), help=f"give {instead}")


def _parameters(owner: str, parameters: Any) -> ParameterTuple:
    if isinstance(parameters, (Parameter, Cell, str)) or not isinstance(parameters, Iterable):
        raise ArgumentTypeError(
            f"{owner}: parameters must be a list of Parameters, got {type(parameters).__name__}",
            loc=user_loc(),
            help="net.trainable_params()",
        )
    made = list(parameters)
    if not made:
        raise ArgumentValueError(
            f"{owner}: there are no parameters to optimize",
            loc=user_loc(),
            help="net.trainable_params() is empty when no Cell attribute of the network holds a Parameter",
        )
    for p in made:
        if isinstance(p, dict):
            raise _unsupported(owner, "a group of parameters (a dict)", "a list of Parameters")
        if not isinstance(p, Parameter):
            raise ArgumentTypeError(f"{owner}: parameters must be Parameters, got {type(p).__name__}", loc=user_loc())
        if not p.type.is_float:
            raise ArgumentTypeError(
                f"{owner}: {checks.named(p)} cannot be trained: only float parameters have gradients",
                code="GC142",
                loc=user_loc(),
                help=f"make it Parameter(..., name={p.name!r}, requires_grad=False)",
            )
    return ParameterTuple(made)


def _rate(owner: str, learning_rate: Any) -> Tensor:
    """The learning rate as float32 without axes."""
    rate = learning_rate
    if isinstance(rate, Cell) or (isinstance(rate, Tensor) and rate.ndim) or isinstance(rate, (list, tuple)):
        raise _unsupported(owner, f"a learning rate that changes with the step ({type(rate).__name__})", "a number")
    if isinstance(rate, Tensor):
        rate = rate.item()
    elif isinstance(rate, bool):
        rate = float(rate)
    return Tensor(checks.real(owner, "learning_rate", rate, least=0), "float32")
