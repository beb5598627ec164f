"""Callbacks that keep what a run gives, or call functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphc.nn import checks
from graphc.train.callbacks.base import Callback
from graphc.train.outputs import mean_loss


class History(Callback):
    """Keeps the loss of each epoch's last step, and in `fit` what evaluations gave (MindSpore: train.History).

    epoch: {"epoch": [1, 2, ...]}. history: {"net_output": [...], name of a metric: [...]}.
    """

    in_fit_eval = False

    def __init__(self) -> None:
        super().__init__()
        self.history: dict[str, list[Any]] = {}
        self.epoch: dict[str, list[int]] | None = None

    def begin(self, run_context: Any) -> None:
        """Count epochs anew."""
        self.epoch = {"epoch": []}

    def epoch_end(self, run_context: Any) -> None:
        """Keep what there is."""
        params = run_context.original_args()
        assert self.epoch is not None
        self.epoch["epoch"].append(params.get("cur_epoch_num", 1))
        for name, value in {"net_output": mean_loss(params.get("net_outputs")), **params.get("metrics", {})}.items():
            self.history.setdefault(name, []).append(value)


class LambdaCallback(Callback):
    """Calls a function at each stage that has one, with the RunContext (MindSpore: train.LambdaCallback). ArgumentTypeError for
    what is no function.
    """

    def __init__(
        self,
        on_train_epoch_begin: Callable[[Any], Any] | None = None,
        on_train_epoch_end: Callable[[Any], Any] | None = None,
        on_train_step_begin: Callable[[Any], Any] | None = None,
        on_train_step_end: Callable[[Any], Any] | None = None,
        on_train_begin: Callable[[Any], Any] | None = None,
        on_train_end: Callable[[Any], Any] | None = None,
        on_eval_epoch_begin: Callable[[Any], Any] | None = None,
        on_eval_epoch_end: Callable[[Any], Any] | None = None,
        on_eval_step_begin: Callable[[Any], Any] | None = None,
        on_eval_step_end: Callable[[Any], Any] | None = None,
        on_eval_begin: Callable[[Any], Any] | None = None,
        on_eval_end: Callable[[Any], Any] | None = None,
    ) -> None:
        super().__init__()
        given = {
            "on_train_epoch_begin": on_train_epoch_begin,
            "on_train_epoch_end": on_train_epoch_end,
            "on_train_step_begin": on_train_step_begin,
            "on_train_step_end": on_train_step_end,
            "on_train_begin": on_train_begin,
            "on_train_end": on_train_end,
            "on_eval_epoch_begin": on_eval_epoch_begin,
            "on_eval_epoch_end": on_eval_epoch_end,
            "on_eval_step_begin": on_eval_step_begin,
            "on_eval_step_end": on_eval_step_end,
            "on_eval_begin": on_eval_begin,
            "on_eval_end": on_eval_end,
        }
        for name, function in given.items():
            if function is None:
                continue
            if not callable(function):
                raise checks.wrong_type("LambdaCallback", name, "a function or None", function)
            setattr(self, name, function)
