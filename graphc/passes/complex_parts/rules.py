"""What becomes of each op when complex values become their parts: one table, by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from graphc.ir import Builder, Node
from graphc.ir.op import Alias, OpDef, Strided
from graphc.passes.complex_parts import arithmetic, fourier, functions
from graphc.passes.complex_parts.parts import Parts, imaginary

#: (g, node, operands) -> the result; that of a real one has no imaginary part.
Rule = Callable[..., Parts]
#: Which operand is no number but an index or a condition.
_OTHERS = {
    "Gather": 1,
    "GatherElements": 1,
    "GatherElementsGrad": 1,
    "GatherGrad": 1,
    "Scatter": 1,
    "ScatterElements": 1,
    "Select": 0,
}


def each_part(g: Builder, node: Node, *operands: Parts) -> Parts:
    """The op on real parts, and on imaginary ones. Indices and conditions are the same for both; borders are real."""
    own = _OTHERS.get(node.op.name)
    re = g.node(node.op.name, *(x.re for x in operands), attrs=node.attrs, after=node.after)
    if all(x.im is None for x in operands):
        return Parts(re.outputs[0])
    attrs: Mapping[str, Any] = {**node.attrs, "value": 0.0} if node.op.name == "Pad" else node.attrs
    parts = [x.re if k == own else imaginary(g, x) for k, x in enumerate(operands)]
    return Parts(re.outputs[0], g.node(node.op.name, *parts, attrs=attrs, after=node.after).outputs[0])


def _linear(op: OpDef) -> bool:
    """Whether an op moves elements, adds them up or chooses some."""
    return isinstance(op.lower, (Alias, Strided)) or op.name in _LINEAR


_LINEAR = frozenset({
    "Neg", "BroadcastTo", "Select", "Concat", "Pad", "BorderPad", "BorderPadGrad", "SliceGrad", "ReduceSum", "ReduceMean",
    "Cumsum", *_OTHERS,
})  # fmt: skip

_RULES: dict[str, Rule] = {
    "Constant": arithmetic.constant,
    "Fill": arithmetic.fill,
    "Cast": arithmetic.cast,
    "Complex": arithmetic.whole,
    "Conj": arithmetic.conjugate,
    "Real": arithmetic.real_part,
    "Imag": arithmetic.imaginary_part,
    "Abs": arithmetic.absolute,
    "Add": arithmetic.add,
    "Sub": arithmetic.sub,
    "Mul": arithmetic.mul,
    "Div": arithmetic.div,
    "Square": arithmetic.square,
    "Reciprocal": arithmetic.reciprocal,
    "MatMul": arithmetic.product,
    "BatchMatMul": arithmetic.product,
    "Equal": arithmetic.equal,
    "NotEqual": arithmetic.not_equal,
    "Exp": functions.exp,
    "Expm1": functions.expm1,
    "Log": functions.log,
    "Log1p": functions.log1p,
    "Sqrt": functions.sqrt,
    "Rsqrt": functions.rsqrt,
    "Pow": functions.power,
    "Sin": functions.sin,
    "Cos": functions.cos,
    "Tan": functions.tan,
    "Sinh": functions.sinh,
    "Cosh": functions.cosh,
    "Tanh": functions.tanh,
    "Sigmoid": functions.sigmoid,
    "Asin": functions.asin,
    "Acos": functions.acos,
    "Atan": functions.atan,
    "Asinh": functions.asinh,
    "Acosh": functions.acosh,
    "Atanh": functions.atanh,
    "FFT": fourier.transform,
    "RFFT": fourier.of_real,
    "IRFFT": fourier.to_real,
    "FourierParts": fourier.parts,
    "RealFourierParts": fourier.parts,
    "HalfFourierParts": fourier.parts,
}

#: How Scatter would mix parts.
_MIXED = ("mul", "max", "min")


def rule_of(node: Node) -> Rule | None:
    """What becomes of a node that has to do with complex numbers; None where there is no rule."""
    if node.op.name in _RULES:
        return _RULES[node.op.name]
    return each_part if _linear(node.op) and node.attrs.get("mode") not in _MIXED else None
