"""What schedulers share: the rates they write, and the step."""

from __future__ import annotations

from typing import Any

from graphc import dispatch, ops
from graphc.errors import ArgumentTypeError, ArgumentValueError, TraceError, user_loc
from graphc.experimental.optim.optimizer import Optimizer
from graphc.nn import checks
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor


def between_steps(scheduler: object) -> None:
    if dispatch.recorder.get() is not None:
        raise TraceError(
            f"{type(scheduler).__name__}.step() is called inside a step that is compiled",
            loc=user_loc(),
            help="call it between steps: the compiled step reads the rate that it writes",
        )


def counted(scheduler: object, epoch: int) -> Parameter:
    data = Tensor(epoch, "float32")
    return Parameter(data, name=f"last_epoch_{type(scheduler).__name__}", requires_grad=False)


def checked_optimizer(owner: str, optimizer: Any) -> Any:
    if not isinstance(optimizer, Optimizer):
        raise checks.wrong_type(owner, "optimizer", "an optimizer of graphc.experimental.optim", optimizer)
    return optimizer


def held_rates(optimizer: Any) -> list[Parameter]:
    """The Parameters that hold the rates of the groups; a number that the user has put in place becomes one's contents."""
    for group, held in zip(optimizer.param_groups, optimizer.lrs, strict=True):
        if group["lr"] is not held:
            held.set_data(Tensor(checks.real(type(optimizer).__name__, "lr", group["lr"], least=0), "float32"))
            group["lr"] = held
    return list(optimizer.lrs)


class LRScheduler:
    """Base of the schedulers: subclasses define `get_lr()`, a list with the rate of each group.

    optimizer: one of graphc.experimental.optim. last_epoch: -1 to start; another int resumes, and groups must have "initial_lr".
    `last_epoch` is a float32 Parameter, `base_lrs` the rates to begin with, as tensors; making a scheduler makes its first step.
    """

    def __init__(self, optimizer: Any, last_epoch: int = -1) -> None:
        owner = type(self).__name__
        self.optimizer = checked_optimizer(owner, optimizer)
        checks.integer(owner, "last_epoch", last_epoch, -1)
        self._last_lr = held_rates(optimizer)
        for k, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", group["lr"].value())
            elif "initial_lr" not in group:
                raise ArgumentValueError(
                    f"{owner}: group {k} has no 'initial_lr', which is needed to go on after epoch {last_epoch}",
                    loc=user_loc(),
                )
        self.base_lrs = [group["initial_lr"] for group in optimizer.param_groups]
        self.groups_num = len(optimizer.param_groups)
        self.last_epoch = counted(self, last_epoch)
        self.step()

    def get_lr(self) -> list[Any]:
        """The rates of `last_epoch`, one per group."""
        raise ArgumentTypeError(f"{type(self).__name__} does not define get_lr()", loc=user_loc())

    def get_last_lr(self) -> list[Tensor]:
        """The rates that are set, one per group."""
        return [rate.value() for rate in self._last_lr]

    def step(self, epoch: Any = None) -> bool:
        """Go to the next epoch, or to `epoch`, and write its rates."""
        between_steps(self)
        if epoch is None:
            ops.assign_add(self.last_epoch, 1)
            values = self.get_lr()
        else:
            self.last_epoch.set_data(Tensor(epoch, "float32"))
            values = getattr(self, "_get_closed_form_lr", self.get_lr)()
        for rate, value in zip(self._last_lr, values, strict=True):
            rate.set_data(ops.cast(value, "float32") if isinstance(value, Tensor) else Tensor(value, "float32"))
        return True

    @property
    def _epoch(self) -> float:
        return float(self.last_epoch.asnumpy())


def per_group(owner: str, name: str, value: Any, optimizer: Any) -> list[float]:
    groups = len(optimizer.param_groups)
    given = list(value) if isinstance(value, (list, tuple)) else [value] * groups
    if len(given) != groups:
        raise checks.wrong_value(owner, name, f"a number, or one for each of {groups} groups", value)
    return [checks.real(owner, name, v, least=0) for v in given]
