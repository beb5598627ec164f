"""Callbacks that watch a number from epoch to epoch: stop, or lower the learning rate, when it no longer improves."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np

from graphc.errors import ArgumentValueError, user_loc
from graphc.nn import checks
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor
from graphc.processes import gather
from graphc.train.callbacks.base import Callback
from graphc.train.outputs import mean_loss
from graphc.train.rank_callbacks import several

_logger = logging.getLogger("graphc")
#: What is better when it is smaller.
_SMALLER = (
    "hausdorff_distance", "mae", "mse", "loss", "perplexity", "mean_surface_distance", "root_mean_square_distance",
    "eval_loss",
)  # fmt: skip
_MODES = ("auto", "min", "max")


class _Watch(Callback):
    """A monitored number and the best it has been. Arguments as those of the callbacks below."""

    in_fit_eval = False

    def __init__(self, monitor: str, min_delta: float, patience: int, verbose: bool, mode: str) -> None:
        super().__init__()
        owner = type(self).__name__
        if not isinstance(monitor, str):
            raise checks.wrong_type(owner, "monitor", "a string", monitor)
        self.monitor = monitor
        self.min_delta = abs(checks.real(owner, "min_delta", min_delta))
        self.patience = checks.integer(owner, "patience", patience, least=0)
        self.verbose = checks.boolean(owner, "verbose", verbose)
        if not isinstance(mode, str):
            raise checks.wrong_type(owner, "mode", "a string", mode)
        if mode not in _MODES:
            raise checks.wrong_value(owner, "mode", "'auto', 'min' or 'max'", mode)
        self.mode = mode
        self._falls = mode == "min" or (mode == "auto" and monitor in _SMALLER)
        self._restart()

    def _restart(self) -> None:
        self.wait = 0
        self.best = np.inf if self._falls else -np.inf

    def joint_work(self, network: Any) -> str | None:
        """What comes of the number."""
        return f"{type(self).__name__}: monitor={self.monitor!r}"

    def on_train_begin(self, run_context: Any) -> None:
        """Forget an earlier training."""
        self._restart()

    def is_improvement(self, value: float, best: float) -> bool:
        """Whether a value is better than another by more than min_delta."""
        return value < best - self.min_delta if self._falls else value > best + self.min_delta

    def _value(self, params: Any) -> float | None:
        """The monitored number, its mean over the processes of a data-parallel training; None, and a warning in the log, where
        there is none. ArgumentValueError for an array.
        """
        results = params.get("eval_results", {})
        found = mean_loss(params.get("net_outputs")) if self.monitor == "loss" else results.get(self.monitor)
        if found is None:
            _logger.warning(
                "%s watches %r, which is not there; there are: %s",
                type(self).__name__,
                self.monitor,
                ", ".join(["loss", *results]),
            )
            return None
        if np.ndim(found) != 0:
            raise ArgumentValueError(
                f"{type(self).__name__}: {self.monitor!r} is an array of shape {np.shape(found)}, a number is needed",
                loc=user_loc(),
            )
        return float(np.mean(gather(self.monitor, float(found)))) if several() else float(found)


class EarlyStopping(_Watch):
    """Stops when a number has not improved for `patience` epochs, at least one (MindSpore: train.EarlyStopping, which with
    patience 0 stops after the first epoch whatever happens).

    monitor: "loss", or in `fit` "eval_loss" and the names of metrics. min_delta: what counts as improvement. mode: "min",
    "max", or "auto" by the name. baseline: improvements that are no better do not end the waiting. restore_best_weights: at
    the stop, back to the parameters of the best epoch. verbose prints it.
    Raises ArgumentTypeError or ArgumentValueError; at an epoch's end ArgumentValueError for a metric that is no number.
    """

    def __init__(
        self,
        monitor: str = "eval_loss",
        min_delta: float = 0,
        patience: int = 0,
        verbose: bool = False,
        mode: str = "auto",
        baseline: float | None = None,
        restore_best_weights: bool = False,
    ) -> None:
        super().__init__(monitor, min_delta, patience, verbose, mode)
        owner = "EarlyStopping"
        self.baseline = None if baseline is None else checks.real(owner, "baseline", baseline)
        self.restore_best_weights = checks.boolean(owner, "restore_best_weights", restore_best_weights)

    def _restart(self) -> None:
        super()._restart()
        self.stopped_epoch = 0
        self.best_weights_param_dict: dict[str, np.ndarray[Any, Any]] | None = None

    def on_train_epoch_end(self, run_context: Any) -> None:
        """Look at the number; ask for the end when the patience is over."""
        params = run_context.original_args()
        value = self._value(params)
        if value is None:
            return
        self.wait += 1
        better = self.is_improvement(value, self.best)
        if self.restore_best_weights and (better or self.best_weights_param_dict is None):
            self.best_weights_param_dict = {p.name: p.asnumpy() for p in params.train_network.get_parameters()}
        if better:
            self.best = value
            if self.baseline is None or self.is_improvement(value, self.baseline):
                self.wait = 0
        if self.wait and self.wait >= self.patience:
            self.stopped_epoch = params.cur_epoch_num
            run_context.request_stop()
            if self.best_weights_param_dict is not None:
                if self.verbose:
                    print("Restoring model weights from the end of the best epoch.", flush=True)
                for p in params.train_network.get_parameters():
                    p.set_data(Tensor(self.best_weights_param_dict[p.name]))

    def on_train_end(self, run_context: Any) -> None:
        """Say which epoch it was."""
        if self.stopped_epoch and self.verbose and run_context.error is None:
            print(f"Epoch {self.stopped_epoch:05d}: early stopping", flush=True)


class ReduceLROnPlateau(_Watch):
    """Multiplies the learning rate by factor when a number has not improved for `patience` epochs (MindSpore:
    train.ReduceLROnPlateau).

    monitor, min_delta, mode, verbose: as EarlyStopping. factor: a float between 0 and 1. cooldown: epochs after a reduction
    that do not count. min_lr: the lowest rate. Only for optimizers with one fixed rate: ArgumentValueError at an epoch's end
    for lists, schedules and groups of rates. Raises ArgumentTypeError or ArgumentValueError.
    """

    def __init__(
        self,
        monitor: str = "eval_loss",
        factor: float = 0.1,
        patience: int = 10,
        verbose: bool = False,
        mode: str = "auto",
        min_delta: float = 1e-4,
        cooldown: int = 0,
        min_lr: float = 0,
    ) -> None:
        super().__init__(monitor, min_delta, patience, verbose, mode)
        owner = "ReduceLROnPlateau"
        self.factor = checks.exact_float(owner, "factor", factor, above=0)
        if self.factor >= 1:
            raise checks.wrong_value(owner, "factor", "less than 1", factor)
        self.cooldown = checks.integer(owner, "cooldown", cooldown, least=0)
        self.min_lr = checks.real(owner, "min_lr", min_lr)

    def _restart(self) -> None:
        super()._restart()
        self.cooldown_counter = 0

    def on_train_epoch_end(self, run_context: Any) -> None:
        """Look at the number; lower the rate when the patience is over."""
        params = run_context.original_args()
        rate = fixed_rate("ReduceLROnPlateau", params)
        value = self._value(params)
        if value is None:
            return
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.wait = 0
        if self.is_improvement(value, self.best):
            self.best, self.wait = value, 0
        elif self.cooldown_counter <= 0:
            self.wait += 1
            if self.wait >= self.patience:
                self._reduce(rate, params.cur_epoch_num)
                self.cooldown_counter, self.wait = self.cooldown, 0

    def _reduce(self, rate: Parameter, epoch: int) -> None:
        now = rate.item()
        if now > self.min_lr:
            new = max(now * self.factor, self.min_lr)
            rate.set_data(Tensor(new, "float32"))
            if self.verbose:
                print(f"Epoch {epoch:05d}: ReduceLROnPlateau reducing learning rate to {new}.", flush=True)


def fixed_rate(owner: str, params: Any) -> Parameter:
    """The learning rate of a run's optimizer, if it is one number; ArgumentValueError for anything else."""
    optimizer = params.get("optimizer")
    rate = getattr(optimizer, "learning_rate", None)
    if not isinstance(rate, Parameter):
        held = "no optimizer" if optimizer is None else f"{type(optimizer).__name__} with {type(rate).__name__}"
        raise ArgumentValueError(
            f"{owner}: the optimizer must have one fixed learning rate, the Model has {held}",
            loc=user_loc(),
            help="a list, a schedule or groups of learning rates cannot be changed from outside",
        )
    return rate


class LearningRateScheduler(Callback):
    """After each step the learning rate becomes learning_rate_function(rate, step number) (MindSpore:
    train.LearningRateScheduler). In sink mode: after each sink.

    Only for optimizers with one fixed rate, as ReduceLROnPlateau. ArgumentTypeError unless it is a function; the function
    must return a finite number >= 0.
    """

    in_fit_eval = False

    def __init__(self, learning_rate_function: Any) -> None:
        super().__init__()
        if not callable(learning_rate_function):
            raise checks.wrong_type(
                "LearningRateScheduler", "learning_rate_function", "a function", learning_rate_function
            )
        self.learning_rate_function = learning_rate_function

    def step_end(self, run_context: Any) -> None:
        """Ask the function, and write a new rate."""
        owner = "LearningRateScheduler"
        params = run_context.original_args()
        rate = fixed_rate(owner, params)
        now = float(str(rate.storage.reshape(())))  # 0.1, not the 0.10000000149 that float32 holds
        new = self.learning_rate_function(now, params.cur_step_num)
        new = checks.real(owner, "what learning_rate_function returns", new, least=0)
        if new != now:
            rate.set_data(Tensor(new, "float32"))
