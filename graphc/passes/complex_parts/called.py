"""Ops of complex numbers whose reference a step calls back: arrays come to it, and leave it, in their parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from graphc.ir import Builder, Node, TensorType, Value
from graphc.ops.declared.python_call import called
from graphc.passes.complex_parts.parts import Parts, imaginary

_REAL = {"complex64": "float32", "complex128": "float64"}


def by_parts(g: Builder, node: Node, operands: Sequence[Parts]) -> list[Value]:
    """The results of a node with a `ByReference` lowering, of the parts of its operands."""
    types = [g.graph.type(v) for v in node.inputs]
    values = [
        part
        for x, t in zip(operands, types, strict=True)
        for part in ((x.re, imaginary(g, x)) if t.is_complex else (x.re,))
    ]
    reference = node.op.ref

    def computed(*arrays: Any, **attrs: Any) -> list[Any]:
        rest = iter(arrays)
        whole = [(next(rest) + 1j * next(rest)).astype(t.numpy) if t.is_complex else next(rest) for t in types]
        made = reference(*whole, **attrs) if reference is not None else ()
        results = made if isinstance(made, tuple) else (made,)
        return [
            part
            for x, t in zip(results, node.types, strict=True)
            for part in ((x.real, x.imag) if t.is_complex else (x,))
        ]

    parts = [part for t in node.types for part in _parts_of(t)]
    function = called(node.op.name, computed, node.attrs, [g.graph.type(v).dtype for v in values], parts)
    outputs = iter(g.node("PythonCall", *values, attrs={"function": function}).outputs)
    return [g.Complex(next(outputs), next(outputs)) if t.is_complex else next(outputs) for t in node.types]


def _parts_of(type: TensorType) -> Iterator[TensorType]:
    for _ in range(1 + type.is_complex):
        yield TensorType(_REAL.get(type.dtype, type.dtype), type.shape)
