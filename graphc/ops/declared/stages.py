"""Where a value enters a stage of a pipeline over processes: the mark that the pass `cut_stages` cuts at."""

from __future__ import annotations

from graphc.errors import ArgumentValueError
from graphc.ir import REQUIRED, Sample, TensorType, op
from graphc.ir.op import Alias, Attrs, Types
from graphc.ops.declared import padding
from graphc.ops.declared.batching import leading
from graphc.ops.declared.rules import floats, integers


def _entered(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    for name in ("stage", "micro"):
        if type(attrs[name]) is not int or attrs[name] < 0:
            raise ArgumentValueError(f"ToStage: {name} must be an int of at least 0, got {attrs[name]!r}")
    return (types[0],)


op(
    "ToStage",
    "x",
    attrs={"stage": REQUIRED, "micro": 0},
    infer=_entered,
    ref=lambda x, stage, micro: x,
    grad=lambda g, n, dy: [dy],
    lower=Alias(),
    batch=leading,
    pad=padding.alike,
    samples=lambda: [Sample((floats(3, 5),), {"stage": 1}, grad=(0,)), Sample((integers(4),), {"stage": 0})],
    doc="x, as an operand of what a stage of a pipeline computes of micro batch `micro`",
)
