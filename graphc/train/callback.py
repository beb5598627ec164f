"""What a training loop calls at its stages (MindSpore: train.Callback)."""

from __future__ import annotations

from types import TracebackType
from typing import Any


class Callback:
    """Base of callbacks: override the stages of interest. Each gets a run context. Works in a `with` block."""

    def __enter__(self) -> Callback:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing to release."""

    def on_train_begin(self, run_context: Any) -> None:
        """Before the first epoch."""

    def on_train_epoch_begin(self, run_context: Any) -> None:
        """Before each epoch."""

    def on_train_step_begin(self, run_context: Any) -> None:
        """Before each step."""

    def on_train_step_end(self, run_context: Any) -> None:
        """After each step."""

    def on_train_epoch_end(self, run_context: Any) -> None:
        """After each epoch."""

    def on_train_end(self, run_context: Any) -> None:
        """After the last epoch."""
