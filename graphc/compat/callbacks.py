"""What training loops of scripts' own take from the inside of MindSpore's callbacks."""

from __future__ import annotations

from contextlib import ExitStack
from types import TracebackType
from typing import Any

from graphc.train.callbacks.base import Callback, as_list
from graphc.train.context import CallbackParams

InternalCallbackParam = _InternalCallbackParam = CallbackParams


class CallbackManager(Callback):
    """Callbacks as one: each hook calls that of all of them, in their order. callbacks: None, one, or a list."""

    def __init__(self, callbacks: Any) -> None:
        super().__init__()
        self._callbacks = as_list(callbacks)
        self._stack = ExitStack()

    def __enter__(self) -> CallbackManager:
        for callback in self._callbacks:
            self._stack.enter_context(callback)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.__exit__(kind, error, trace)


def _of_all(hook: str) -> Any:
    def call(self: CallbackManager, run_context: Any) -> None:
        for callback in self._callbacks:
            getattr(callback, hook)(run_context)

    call.__name__, call.__doc__ = hook, f"{hook} of all of them."
    return call


for _hook, _method in vars(Callback).items():
    if callable(_method) and not _hook.startswith("_") and _hook != "joint_work":
        setattr(CallbackManager, _hook, _of_all(_hook))

_CallbackManager = CallbackManager

__all__ = ["CallbackManager", "InternalCallbackParam"]
