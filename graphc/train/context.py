"""What callbacks are given: the state of a run by name, and the request to stop it."""

from __future__ import annotations

from typing import Any

from graphc.errors import ArgumentTypeError, user_loc


class NoSuchParam(AttributeError, KeyError):
    """A name that the run does not have, or not yet (MindSpore: KeyError)."""

    __str__ = AttributeError.__str__


class CallbackParams(dict[str, Any]):
    """The state of a run: a dict whose items are attributes, too. docs/training.md lists the names."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise NoSuchParam(f"this run has no {name!r}; it has {', '.join(self)}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


class RunContext:
    """The state of a run, and whether it is to stop (MindSpore: train.RunContext). ArgumentTypeError unless original_args is
    a dict.
    """

    def __init__(self, original_args: dict[str, Any]) -> None:
        if not isinstance(original_args, dict):
            raise ArgumentTypeError(
                f"RunContext: original_args must be a dict, got {type(original_args).__name__}", loc=user_loc()
            )
        self._original_args = original_args
        self._stop_requested = False
        #: What has ended the run before its time, in `on_train_end` and `on_eval_end`; None if nothing has.
        self.error: BaseException | None = None

    def original_args(self) -> Any:
        """The state of the run, in which callbacks may put what they like."""
        return self._original_args

    def request_stop(self) -> None:
        """End the run after this step, or this sink."""
        self._stop_requested = True

    def get_stop_requested(self) -> bool:
        """Whether somebody has asked for the end."""
        return self._stop_requested
