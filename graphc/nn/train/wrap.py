"""Cells around a network: loss, evaluation, gradient, one training step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphc import dispatch, ops
from graphc.context import is_data_parallel, parallel_settings
from graphc.errors import ArgumentTypeError, user_loc
from graphc.nn import checks
from graphc.nn.cell.cell import Cell
from graphc.nn.train.grad_reducer import DistributedGradReducer
from graphc.ops.gradients.reverse import GradOperation, ValueAndGrad
from graphc.ops.tensor.parameter import Parameter, ParameterTuple
from graphc.ops.tensor.tensor import Tensor
from graphc.ops.tensor.tree import map_values
from graphc.tracebacks import clean


def check_cell(owner: str, name: str, value: Any) -> Cell:
    """A Cell, or ArgumentTypeError."""
    if not isinstance(value, Cell):
        made = f", such as {value.__name__}(...)" if isinstance(value, type) and issubclass(value, Cell) else ""
        raise ArgumentTypeError(
            f"{owner}: {name} must be a Cell, got {type(value).__name__}",
            loc=user_loc(),
            help=f"give an instance{made}" if made else None,
        )
    return value


def check_loss(owner: str, network: Cell, loss: Any) -> Tensor:
    """What a network returned, if it is one float tensor; else ArgumentTypeError GC151 that says what came
    back.
    """
    if isinstance(loss, Tensor) and loss.tensor_type.is_float:
        return loss
    made = type(network).__name__
    if isinstance(loss, Tensor):
        held = f"{loss.tensor_type}, which has no gradient"
    elif isinstance(loss, (tuple, list)):
        held = f"a {type(loss).__name__} of {len(loss)}: {', '.join(_kind(x) for x in loss[:6])}"
    else:
        held = _kind(loss)
    raise ArgumentTypeError(
        f"{owner}: the network {made} must return one float tensor, the loss; it returned {held}",
        code="GC151",
        loc=user_loc(),
        help="return the loss alone; nn.WithLossCell(backbone, loss_fn) adds a loss to a network",
    )


def _kind(x: Any) -> str:
    return str(x.tensor_type) if isinstance(x, Tensor) else type(x).__name__


class WithLossCell(Cell):
    """loss_fn(backbone(data), label) (MindSpore: nn.WithLossCell). Raises ArgumentTypeError unless both are
    Cells.
    """

    def __init__(self, backbone: Cell, loss_fn: Cell) -> None:
        super().__init__(auto_prefix=False)
        self._backbone = check_cell("WithLossCell", "backbone", backbone)
        self._loss_fn = check_cell("WithLossCell", "loss_fn", loss_fn)

    def construct(self, data: Any, label: Any) -> Any:
        return self._loss_fn(self._backbone(data), label)

    @property
    def backbone_network(self) -> Cell:
        """The network without the loss."""
        return self._backbone


class WithEvalCell(Cell):
    """(loss, outputs, label) of a network, for evaluation (MindSpore: nn.WithEvalCell).

    With add_cast_fp32 outputs and float labels are cast to float32 first.
    Raises ArgumentTypeError unless network and loss_fn are Cells and add_cast_fp32 a bool.
    """

    def __init__(self, network: Cell, loss_fn: Cell, add_cast_fp32: bool = False) -> None:
        super().__init__(auto_prefix=False)
        self._network = check_cell("WithEvalCell", "network", network)
        self._loss_fn = check_cell("WithEvalCell", "loss_fn", loss_fn)
        self.add_cast_fp32 = checks.boolean("WithEvalCell", "add_cast_fp32", add_cast_fp32)

    def construct(self, data: Any, label: Any) -> tuple[Any, Any, Any]:
        outputs = self._network(data)
        if self.add_cast_fp32:
            outputs = ops.cast(outputs, "float32")
            label = ops.cast(label, "float32") if label.tensor_type.is_float else label
        return self._loss_fn(outputs, label), outputs, label


class ForwardValueAndGrad(Cell):
    """(network(*inputs), gradient) (MindSpore: nn.ForwardValueAndGrad).

    network: a Cell, function or method. The flags are those of ops.GradOperation; with sens_param the last
    input weights the output. weights: a tuple or list of Parameters, needed for get_by_list.
    Raises ArgumentTypeError for other arguments.
    """

    def __init__(
        self,
        network: Callable[..., Any],
        weights: Any = None,
        get_all: bool = False,
        get_by_list: bool = False,
        sens_param: bool = False,
    ) -> None:
        super().__init__(auto_prefix=False)
        if not isinstance(network, Cell) and (isinstance(network, type) or not callable(network)):
            raise checks.wrong_type("ForwardValueAndGrad", "network", "a Cell, function or method", network)
        self.get_all = checks.boolean("ForwardValueAndGrad", "get_all", get_all)
        self.get_by_list = checks.boolean("ForwardValueAndGrad", "get_by_list", get_by_list)
        self.sens_param = checks.boolean("ForwardValueAndGrad", "sens_param", sens_param)
        if self.get_by_list and not isinstance(weights, (tuple, list)):
            raise checks.wrong_type("ForwardValueAndGrad", "weights", "a tuple of Parameters with get_by_list", weights)
        self.network = network.set_grad() if isinstance(network, Cell) else network
        self.weights = ParameterTuple(weights) if self.get_by_list else None
        selection = GradOperation(self.get_all, self.get_by_list, self.sens_param)
        self.grad = ValueAndGrad(sens_param=self.sens_param, with_value=True, selection=selection)

    def construct(self, *inputs: Any) -> tuple[Any, Any]:
        # One call: a function or method runs once for both.
        value, gradients = self.grad(self.network, self.weights)(*inputs)
        return value, gradients


class WithGradCell(Cell):
    """The gradients of a network's trainable parameters, in a tuple (MindSpore: nn.WithGradCell).

    Without loss_fn the network is differentiated itself; with one, loss_fn(network(data), label). sens, a number, tensor or
    tuple of tensors, weights the outputs; None means ones. Sets training mode.
    Raises ArgumentTypeError unless network, and loss_fn if given, are Cells and sens is one of these.
    """

    def __init__(self, network: Cell, loss_fn: Cell | None = None, sens: Any = None) -> None:
        super().__init__(auto_prefix=False)
        owner = "WithGradCell"
        self.network = check_cell(owner, "network", network)
        self.loss_fn = None if loss_fn is None else check_cell(owner, "loss_fn", loss_fn)
        if not (sens is None or checks.is_number(sens) or isinstance(sens, (Tensor, tuple))):
            raise checks.wrong_type(owner, "sens", "None, a number, a Tensor or a tuple of Tensors", sens)
        self.weights = ParameterTuple(network.trainable_params())
        self.sens = sens
        self.whole = network if loss_fn is None else WithLossCell(network, loss_fn)
        self.grad = GradOperation(get_by_list=True, sens_param=sens is not None)
        self.set_train()

    def construct(self, *inputs: Any) -> Any:
        if self.sens is None:
            return self.grad(self.whole, self.weights)(*inputs)
        sens = self.sens
        if checks.is_number(sens):
            outputs = self.whole(*inputs)
            sens = map_values(lambda y: ops.fill(y.dtype, y.shape, float(self.sens)), outputs)
        return self.grad(self.whole, self.weights)(*inputs, sens)


def _nothing() -> None:
    """What a Cell that is no Optimizer has to check before a step."""


class TrainOneStepCell(Cell):
    """One training step (MindSpore: nn.TrainOneStepCell): the loss, computed before the optimizer has used
    its gradients.

    In parallel modes data_parallel and hybrid_parallel the gradients pass a DistributedGradReducer.
    network: a Cell that returns the loss, of any shape. optimizer: an Optimizer, or a Cell with `parameters`
    that takes the gradients. sens: what fills the gradient of the loss, 1 by default. With return_grad the
    step returns (loss, {parameter name: gradient}).
    Raises ArgumentTypeError for other arguments, ArgumentValueError for sens 0; when called,
    ArgumentTypeError GC151 if the network returns anything but one float tensor, and RateListExhausted if the optimizer's
    list of learning rates has none for the step.
    """

    def __init__(self, network: Cell, optimizer: Any, sens: float | None = None, return_grad: bool = False) -> None:
        super().__init__(auto_prefix=False)
        owner = type(self).__name__
        self.network = check_cell(owner, "network", network).set_grad()
        self.optimizer = check_cell(owner, "optimizer", optimizer)
        if not isinstance(getattr(optimizer, "parameters", None), tuple):
            raise ArgumentTypeError(
                f"{owner}: optimizer must have a tuple `parameters`, {type(optimizer).__name__} has none",
                loc=user_loc(),
                help="nn.Momentum(net.trainable_params(), learning_rate, momentum), for example",
            )
        self.weights = optimizer.parameters
        self.grad = GradOperation(get_by_list=True, sens_param=True)
        self.grad_no_sens = GradOperation(get_by_list=True)
        self.sens = 1.0 if sens is None else checks.real(owner, "sens", sens)
        if self.sens == 0:
            raise checks.wrong_value(owner, "sens", "different from 0", sens, "leave it out for 1")
        self.return_grad = checks.boolean(owner, "return_grad", return_grad)
        self.parallel_mode = parallel_settings().parallel_mode
        self.reducer_flag = is_data_parallel()
        self.grad_reducer: Callable[[tuple[Tensor, ...]], tuple[Tensor, ...]] = ops.identity
        if self.reducer_flag:
            self.grad_reducer = DistributedGradReducer(self.weights)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if dispatch.recorder.get() is None:
                # Before the step: a list of learning rates that has come to its end must not reach the weights.
                getattr(self.optimizer, "check_step", _nothing)()
            return super().__call__(*args, **kwargs)
        except BaseException as error:
            if dispatch.recorder.get() is None:
                clean(error)
            raise

    def construct(self, *inputs: Any) -> Any:
        loss = check_loss(type(self).__name__, self.network, self.network(*inputs))
        sens = ops.fill(loss.dtype, loss.shape, self.sens)
        grads = self.grad(self.network, self.weights)(*inputs, sens)
        grads = self.grad_reducer(grads)
        loss = ops.depend(loss, self.optimizer(grads))
        if self.return_grad:
            return loss, {p.name: g for p, g in zip(self.weights, grads, strict=True)}
        return loss


class ParameterUpdate(Cell):
    """Assigns its input to a parameter, and returns it (MindSpore: nn.ParameterUpdate). ArgumentTypeError for no Parameter."""

    def __init__(self, param: Parameter) -> None:
        super().__init__(auto_prefix=False)
        if not isinstance(param, Parameter):
            raise checks.wrong_type("ParameterUpdate", "param", "a Parameter", param)
        self._param = param

    def construct(self, x: Any) -> Tensor:
        made: Tensor = ops.depend(x, ops.assign(self._param, x))
        return made


__all__ = ["ForwardValueAndGrad", "ParameterUpdate", "TrainOneStepCell", "WithEvalCell", "WithGradCell", "WithLossCell"]
