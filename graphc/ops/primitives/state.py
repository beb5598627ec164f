"""Primitives that write parameters, or order what does: assignments and scatters."""

from __future__ import annotations

from typing import Any

from graphc.ops import functional as F
from graphc.ops.functional.scattering import scatter_into, scatter_nd_into
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.primitive import Hint, declare
from graphc.ops.tensor.tensor import Tensor

Assign, AssignAdd, AssignSub = (
    declare("Assign", F.assign),
    declare("AssignAdd", F.assign_add),
    declare("AssignSub", F.assign_sub),
)

Depend, AllFinite = declare("Depend", F.depend), declare("AllFinite", F.all_finite)

StopGradient = declare("StopGradient", F.stop_gradient)


def _load(variable: Tensor, state: Any = None) -> Tensor:
    """The current value of a parameter."""
    return F.add(variable, 0) if variable.tensor_type.dtype != "bool" else F.logical_or(variable, False)


Load = declare("Load", _load)


def _after(state: Any, *values: Any) -> Any:
    """`state`, not before the values."""
    return F.depend(state, values)


UpdateState = declare("UpdateState", _after)

# ---- scatters


def _rows(mode: str) -> Any:
    def run(input_x: Parameter, indices: Any, updates: Tensor) -> Tensor:
        return scatter_into(mode, input_x, indices, updates)

    run.__doc__ = f"Combine rows of a parameter with updates ({mode})."
    return run


def _slices(mode: str) -> Any:
    def run(input_x: Parameter, indices: Any, updates: Tensor) -> Tensor:
        return scatter_nd_into(mode, input_x, indices, updates)

    run.__doc__ = f"Combine slices of a parameter at coordinates with updates ({mode})."
    return run


ScatterUpdate, ScatterAdd, ScatterSub = (
    declare(f"Scatter{m.title()}", _rows(m), use_locking=Hint(m == "update")) for m in ("update", "add", "sub")
)

ScatterMul, ScatterDiv, ScatterMax, ScatterMin = (
    declare(f"Scatter{m.title()}", _rows(m), use_locking=Hint(False)) for m in ("mul", "div", "max", "min")
)

ScatterNdUpdate, ScatterNdAdd, ScatterNdSub = (
    declare(f"ScatterNd{m.title()}", _slices(m), use_locking=Hint(m == "update")) for m in ("update", "add", "sub")
)

#: MindSpore's name for indices that name no slice twice.
ScatterNonAliasingAdd = declare("ScatterNonAliasingAdd", _slices("add"))

ScatterNdMul, ScatterNdDiv, ScatterNdMax, ScatterNdMin = (
    declare(f"ScatterNd{m.title()}", _slices(m), use_locking=Hint(False)) for m in ("mul", "div", "max", "min")
)
