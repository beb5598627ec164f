"""Inputs, parameters, order, float status, gradients: the ops that make a graph a program."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from graphc.errors import DTypeError, ShapeError, TransformError
from graphc.ir import NO_GRAD, REQUIRED, Builder, Graph, Node, Sample, TensorType, Value, op
from graphc.ir.lowering import CallBuilder, ExpressionBuilder, Handle, Operand
from graphc.ir.op import Alias, Attrs, Kernel, Operands, Scalar, Structural, Types
from graphc.ir.types import FLOATS
from graphc.ops.declared import overflow_rules, padding, padding_control
from graphc.ops.declared.batching import Mapped, leading
from graphc.ops.declared.rules import Array, floats, integers

# ---- leaves: their types are declared

op(
    "Input",
    infer=None,
    grad=NO_GRAD,
    lower=Structural(),
    doc="an input of the step, or a captured value of a subgraph",
)

op(
    "Param",
    attrs={"trainable": True, "stage": None},
    infer=None,
    grad=NO_GRAD,
    lower=Structural(),
    doc="the value of a parameter when the step begins; `stage`: which stage of a pipeline alone holds it",
)

op(
    "Constant",
    attrs={"value": REQUIRED},
    infer=None,
    ref=lambda value: value.array,
    grad=NO_GRAD,
    lower=Structural(),
    doc="a value known at compile time",
)

# ---- state and order


def _assign_infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    variable, value = types
    if variable.dtype != value.dtype:
        raise DTypeError(f"Assign: the parameter is {variable}, the value {value}; a parameter keeps its dtype")
    if variable.shape != value.shape:
        raise ShapeError(f"Assign: the parameter is {variable}, the value {value}; a parameter keeps its shape")
    return (variable,)


def _assign_check(graph: Graph, node: Node) -> Iterator[str]:
    producer = graph.node(node.inputs[0].node)
    if producer.op.name not in ("Param", "Assign", "If", "While", "Scan", "Input", "Depend"):
        yield f"operand 0 is the result of {producer.op.name}, not a version of a parameter"


op(
    "Assign",
    "variable value",
    infer=_assign_infer,
    ref=lambda variable, value: value,
    # As in MindSpore, all reads are reads of one parameter, whatever it holds by then: what is written gets no gradient.
    grad=lambda g, n, dy: [dy, None],
    lower=Structural(),
    check=_assign_check,
    effect=True,
    samples=lambda: [Sample((floats(3, 18), floats(3, 18, seed=4))), Sample((integers(), integers(seed=5)))],
    doc="a new version of a parameter: `value`. Which parameter, operand 0 and the graph's updates say",
)


def _identity(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    return (types[0],)


def _depend_batch(g: Builder, m: Mapped) -> tuple[Value, ...]:
    return g.node("Depend", *m.inputs, attrs={}, after=m.after).outputs


op(
    "Depend",
    "x",
    infer=_identity,
    ref=lambda x: x,
    grad=lambda g, n, dy: [dy],
    lower=Alias(),
    view=True,
    batch=_depend_batch,
    pad=padding.alike,
    effect=True,
    samples=lambda: [Sample((floats(4, 5),), grad=(0,)), Sample((integers(),))],
    doc="x, not before the nodes it is `after`",
)

op(
    "StopGradient",
    "x",
    infer=_identity,
    ref=lambda x: x,
    grad=NO_GRAD,
    lower=Alias(),
    view=True,
    batch=leading,
    pad=padding.alike,
    samples=lambda: [Sample((floats(4, 5),))],
    doc="x as a constant of differentiation",
)

# ---- float status


def _clear_infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    return (TensorType("int32", (8,)),)


def _clear_scalar(e: ExpressionBuilder) -> Handle:
    return e.number(0, "int32")


op(
    "ClearFloatStatus",
    infer=_clear_infer,
    ref=lambda: np.zeros(8, np.int32),
    grad=NO_GRAD,
    lower=Scalar(_clear_scalar),
    effect=True,
    samples=lambda: [Sample(())],
    doc="a cleared status. What is to be checked comes after it",
)


def _status_infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    if types[0] != TensorType("int32", (8,)):
        raise DTypeError(f"GetFloatStatus: status is {types[0]}, expected the i32[8] of ClearFloatStatus")
    for t in types[1:]:
        if not t.is_float:
            raise DTypeError(f"GetFloatStatus: cannot check {t}: only floats overflow to infinity")
    return (TensorType("bool", ()),)


def _any_nonfinite(status: Array, *outs: Array) -> Array:
    return np.asarray(bool(np.any(status)) or any(not np.isfinite(x).all() for x in outs))


def _status_batch(g: Builder, m: Mapped) -> list[Value]:
    raise TransformError(
        "the float status of a mapped value is asked for: it is one for all indices of the axis",
        loc=m.node.loc,
        help="use ops.all_finite, which gives a flag for each, or check what vmap returns",
    )


def _status_lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    outs = [_in_float32(k, x) for x in inputs[1:] if x.type.size]
    k.call("float_status", (inputs[0], *outs), outputs, sizes=tuple(x.type.size for x in outs))


op(
    "GetFloatStatus",
    "status *outs",
    infer=_status_infer,
    ref=_any_nonfinite,
    grad=NO_GRAD,
    lower=Kernel(_status_lower, ("int32", "float32")),
    batch=_status_batch,
    pad=padding.one_value,
    check=overflow_rules.problems,
    effect=True,
    doc="true when the status is set or any element of `outs` is infinite or NaN",
)


def _finite_infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    for t in types:
        if t.dtype not in FLOATS:
            raise DTypeError(f"AllFinite: cannot check {t}: only floats overflow to infinity")
    return (TensorType("bool", ()),)


def _in_float32(k: CallBuilder, x: Operand) -> Operand:
    """What the kernel looks at in place of a float64 operand: x - x, which is 0 or NaN."""
    if x.type.dtype != "float64":
        return x
    made = k.temp(TensorType("float32", x.type.shape))
    k.elementwise(lambda e, v: e.cast(e.sub(v, v), "float32"), (x,), made)
    return made


def _finite_batch(g: Builder, m: Mapped) -> list[Value]:
    """One flag for each index: of every operand all elements behind the batch axis."""
    flags = []
    for x, type, mapped in zip(m.inputs, m.types, m.mapped, strict=True):
        axes = tuple(range(int(mapped), int(mapped) + type.rank))
        flags.append(g.ReduceAll(g.IsFinite(x), axis=axes))
    every = flags[0]
    for flag in flags[1:]:
        every = g.LogicalAnd(every, flag)
    return [every]


def _finite_lower(k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
    status, flag = k.temp(TensorType("int32", (8,))), k.temp(TensorType("bool", ()))
    k.fill(status, 0)
    outs = [_in_float32(k, x) for x in inputs if x.type.size]
    k.call("float_status", (status, *outs), (flag,), sizes=tuple(x.type.size for x in outs))
    k.elementwise(lambda e, x: e.logical_not(x), (flag,), outputs[0])


_WITH_INF = np.array([1, np.inf, 2], np.float32)

op(
    "AllFinite",
    "*xs",
    infer=_finite_infer,
    ref=lambda *xs: np.asarray(all(np.isfinite(x).all() for x in xs)),
    grad=NO_GRAD,
    lower=Kernel(_finite_lower, ("float32", "float64")),
    batch=_finite_batch,
    pad=padding.one_value,
    samples=lambda: [
        Sample((floats(3, 40), floats(2))),
        Sample((floats(3, 40), _WITH_INF)),
        Sample((-_WITH_INF,)),
        Sample((np.array([0, np.nan], np.float32),)),
        Sample(()),
    ],
    doc="whether every element of every operand is finite",
)

# ---- gradient request, expanded by the autodiff pass


def _grad_infer(types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
    count = attrs["ys"]
    ys, sens, cut = types[:count], types[count : 2 * count], types[2 * count :]
    for y, s in zip(ys, sens, strict=True):
        if y.dtype != s.dtype:
            raise DTypeError(f"the sens of a gradient is {s}, the output it belongs to is {y}", code="GC152")
        if y.shape != s.shape:
            raise ShapeError(f"the sens of a gradient is {s}, the output it belongs to is {y}", code="GC152")
    return tuple(cut[i] for i in attrs["wrt"])


op(
    "Grad",
    "*operands",
    attrs={"ys": REQUIRED, "wrt": REQUIRED, "names": ()},
    infer=_grad_infer,
    pad=padding_control.differentiated,
    doc="gradients of the first `ys` operands, weighted by the next `ys` (sens), for the values wrt[i] of the rest (cut)."
    " The autodiff pass walks from the ys back to the cut and replaces the node",
)
