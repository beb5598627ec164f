"""The callback that finds the first value of a training that is not finite."""

from __future__ import annotations

import warnings
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any

from graphc.debug import debug
from graphc.errors import NonFiniteError, NonFiniteWarning, stacklevel
from graphc.nn import checks
from graphc.train.callbacks.base import Callback

if TYPE_CHECKING:
    from graphc.find_nan import NonFinite


class FindNan(Callback):
    """Finds the first infinity or NaN of a training, and where it comes from: `find_nan` as a callback, in sinks, too.

    limit: so many steps that a loss scale skips are looked into, each with a NonFiniteWarning; the rest pass in silence.
    bound: name the first value above it in such a report; None: 65504 where a step has float16 values. raises: a loss or a
    parameter that is not finite ends the training with NonFiniteError, the parameters as they were before that step; else a
    warning, `limit` of them, too. reports: all that was found.
    Every step copies the parameters it writes and looks at its results; docs/debugging.md says what that costs. Raises
    ArgumentTypeError or ArgumentValueError for other arguments.
    """

    def __init__(self, limit: int = 3, bound: float | None = None, raises: bool = True) -> None:
        super().__init__()
        self._limit = checks.integer("FindNan", "limit", limit)
        self._bound = None if bound is None else float(checks.real("FindNan", "bound", bound, above=0))
        self._raises = checks.boolean("FindNan", "raises", raises)
        self.reports: list[NonFinite] = []
        self._stack = ExitStack()

    def __enter__(self) -> FindNan:
        from graphc import find_nan  # Few trainings are watched.

        self._stack.enter_context(debug(find_nan=True))
        self._stack.enter_context(
            find_nan.watching(limit=self._limit, bound=self._bound, raises=self._raises, tell=self._tell)
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()
        report: Any = error.report if isinstance(error, NonFiniteError) else None
        if report is not None:
            self.reports.append(report)

    def _tell(self, report: Any) -> None:
        self.reports.append(report)
        warnings.warn(str(report), NonFiniteWarning, stacklevel=stacklevel())


__all__ = ["FindNan"]
