"""A loss scale that cannot fall further while gradients overflow: every step is skipped, and no scale will help.

Looked at on the host after each step, or, while the scale is high, when it can have fallen so far.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Set
from typing import Any, Protocol

import numpy as np

from graphc.attached import attached
from graphc.errors import GraphcError, LossScaleError, LossScaleWarning, stacklevel, user_loc
from graphc.ops.tensor.parameter import Parameter

#: The scale below which no manager goes.
FLOOR = 1.0


class Manager(Protocol):
    """What is watched of a manager of the loss scale."""

    cur_iter: Parameter
    last_overflow_iter: Parameter
    loss_scale_value: float
    scale_factor: float
    floor_warning: int
    floor_error: int | None


class FloorWatch:
    """Counts the overflows in a row at the floor of one loss scale; to be called after each step."""

    def __init__(self, manager: Manager, scale: Parameter, written: Set[Parameter]) -> None:
        self.scale, self.step, self.last = scale, manager.cur_iter, manager.last_overflow_iter
        self.warning, self.error = manager.floor_warning, manager.floor_error
        self.factor = manager.scale_factor
        self.fall = _steps_to_floor(manager.loss_scale_value, self.factor)
        #: In so many steps from now it is not looked at: the scale cannot get there.
        self.rest = 0
        self.trained = [p for p in written if p.requires_grad]
        self.count = 0

    def limit(self) -> int | None:
        """How many steps may be made before it is called again: one while it counts, else any number."""
        return 1 if self.count else None

    def __call__(self, steps: int) -> None:
        """`steps` have been made since the last call. Warns, or raises LossScaleError, as its manager says."""
        if self.rest >= steps:
            self.rest -= steps
            return
        self.rest = 0
        scale = self.scale.storage.item()
        if scale > FLOOR:
            self.count, self.rest = 0, _steps_to_floor(scale, self.factor)
            return
        # The counter stands at the next step already.
        self.count = self.count + 1 if self.last.storage.item() == self.step.storage.item() - 1 else 0
        if self.count == self.warning:
            warnings.warn(str(self._text(None)), LossScaleWarning, stacklevel=stacklevel())
        if self.error is not None and self.count >= self.error:
            raise LossScaleError(**self._parts("set floor_error to None to go on"))

    def _text(self, end: str | None) -> GraphcError:
        return GraphcError(**self._parts(end))

    def _parts(self, end: str | None) -> dict[str, Any]:
        broken = [
            p for p in self.trained if p.tensor_type.is_float and not np.isfinite(p.storage.astype(np.float32)).all()
        ]
        details = [f"parameter {p.name!r} holds infinities or NaN" for p in sorted(broken, key=lambda p: p.name)[:4]]
        if not broken and self.count + self.fall >= self.step.storage.item() - 1:
            details.append("every step since the first has overflowed: the loss itself is not finite, or its gradient")
        help = "no scale helps: look at the loss, at the data and at what the gradients are computed from"
        return {
            "message": f"the gradients have overflowed in {self.count} steps in a row with the loss scale at its floor, "
            f"{FLOOR:g}: nothing is trained",
            "code": "GC154",
            "loc": user_loc(),
            "details": details,
            "help": f"{help}; {end}" if end else help,
        }


def _steps_to_floor(scale: float, factor: float) -> int:
    """How many overflows a scale takes before it is at its floor, the last one not counted."""
    return max(0, math.ceil(math.log(scale, factor)) - 1) if FLOOR < scale < math.inf and factor > 1 else 0


def note_scale(manager: Any, scale: Any) -> Parameter | None:
    """Remember the Parameter that a manager moves. What `depend` makes of a parameter is still that parameter."""
    held = getattr(scale, "parameter", scale)
    if not isinstance(held, Parameter):
        return None
    attached(manager, "scales", dict)[id(held)] = held
    return held


def watch(manager: Any, written: Set[Parameter]) -> FloorWatch | None:
    """What to call after a step that writes these parameters, among them a scale that the manager moves; else None."""
    if manager.cur_iter not in written:
        return None
    scales = attached(manager, "scales", dict).values()
    scale = next((p for p in scales if p in written), None)
    return None if scale is None else FloorWatch(manager, scale, written)
