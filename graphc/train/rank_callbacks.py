"""What the processes of a data-parallel training do together beside its steps: some callbacks act in all of them or in none, and
where one is asked to stop, all stop behind the same step.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from graphc import processes
from graphc.checkpoint.saving import holds_parts
from graphc.context import is_data_parallel
from graphc.errors import DisagreementError, user_loc
from graphc.nn.cell.cell import Cell
from graphc.train.callbacks.base import Callback
from graphc.train.context import RunContext

#: Where a callback may ask for the end within an epoch.
_STEPS = ("on_train_step_begin", "on_train_step_end", "step_begin", "step_end")


def several() -> bool:
    """Whether this is one of the processes of a data-parallel training."""
    return is_data_parallel() and processes.size() > 1


def agree_on_callbacks(callbacks: Sequence[Callback], network: Cell) -> None:
    """DisagreementError GC191 in all processes if one lacks a callback that acts together with those of the others: it would
    wait for them without end.
    """
    if several():
        lines = [line for each in callbacks if (line := each.joint_work(network))]
        processes.agree("list of callbacks", lines, repr(lines))


def found_by_all(file: Path, network: Cell) -> bool:
    """Whether there is a file to go on from. Where each process holds parts of a network, all must see it or none: else
    DisagreementError GC191 in all of them.
    """
    here = file.is_file()
    if holds_parts(network):
        found = processes.gather("file to go on from", here)
        if len(set(found)) > 1:
            raise DisagreementError(
                f"rank {found.index(True)} finds {str(file)!r}, rank {found.index(False)} does not",
                loc=user_loc(),
                help="each process loads its own part of the optimizer's state: all need the file, as on a shared disk",
            )
    return here


class Stopping:
    """Whether a training ends before its time, which the processes of a data-parallel one decide together.

    One small message per epoch; one per step only where a callback may ask within an epoch: OnRequestExit, and those
    of a user that are called there.
    """

    def __init__(self, callbacks: Sequence[Callback]) -> None:
        self._several = several()
        self._each_step = self._several and processes.anybody("callbacks", any(map(_asks_in_steps, callbacks)))

    def after_step(self, context: RunContext) -> bool:
        """Whether the training ends behind this step."""
        if not self._several:
            return context.get_stop_requested()
        return self._each_step and self.after_epoch(context)

    def after_epoch(self, context: RunContext) -> bool:
        """Whether it ends behind this epoch."""
        if self._several and processes.anybody("wish to stop", context.get_stop_requested()):
            context.request_stop()
        return context.get_stop_requested()


def _asks_in_steps(callback: Callback) -> bool:
    hooks = (getattr(callback, name) for name in _STEPS)
    return callback.asks_in_steps or any(not getattr(h, "__module__", "").startswith("graphc.") for h in hooks)


__all__ = ["Stopping", "agree_on_callbacks", "found_by_all", "several"]
