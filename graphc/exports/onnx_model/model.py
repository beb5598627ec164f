"""A graph as an ONNX model: the signature, the state, the protocol buffers, the check."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from graphc.errors import ExportError, MissingPackageError, in_words, user_loc
from graphc.exports.onnx_model.control import translate
from graphc.exports.onnx_model.writer import Array, Body, Made, Scope, Writer, dtype_number
from graphc.ir import Graph, Node, TensorType, Value

#: IsInf and IsNaN of all floats came with this version; it belongs to IR 9.
OPSET, IR = 20, 9
#: Protocol buffers hold no more.
_MOST = 2**31 - 2**20


class Names(NamedTuple):
    """What the user calls the first inputs and results, in order."""

    inputs: Sequence[str] = ()
    results: Sequence[str] = ()


NAMES = Names()
#: Key of the model's metadata under which stands, as JSON, the name of every new state -> the input it is for.
STATE = "graphc.state"


def model_of(
    graph: Graph,
    values: Mapping[int, Array],
    version: str,
    *,
    names: Names = NAMES,
    parameters_are_inputs: bool = False,
) -> Any:
    """The checked onnx.ModelProto of a graph; `values` are those of its Param nodes by id, all or none.

    Inputs are the graph's. If it updates parameters, all of them are inputs, too, with `values` as their defaults, and there is
    a result NAME.next for each that is updated; otherwise they are constants, unless `parameters_are_inputs`. Raises ExportError
    GC193 with the user's line for what has no rule, MissingPackageError without the package onnx.
    """
    onnx = _package()
    size = sum(v.nbytes for v in values.values())
    if size > _MOST:
        raise ExportError(
            f"the parameters take {in_words(size)}, an ONNX file holds 2 GiB",
            loc=user_loc(),
            help="step.export writes a library",
        )
    w = Writer(Body(graph.name))
    state = parameters_are_inputs or bool(graph.updates) or not values
    # The user's first: of the others one that is the same gets a number.
    named_inputs, named_results = (iter([w.name(n) for n in own]) for own in (names.inputs, names.results))
    scope: Scope = {}
    defaults: dict[str, Array] = {}
    for node in map(graph.node, graph.inputs):
        own = next(named_inputs, None) if node.op.name == "Input" else None
        name = scope[Value(node.id)] = own or w.name(node.name or f"input_{node.id}")
        if node.op.name == "Param" and node.id in values:
            defaults[name] = values[node.id]
        if node.op.name == "Input" or state:
            w.body.inputs.append((name, _checked(node)))
    results = [(next(named_results, None) or w.name(_result_name(r.name)), r.value) for r in graph.results]
    nexts = [(w.name(f"{scope[Value(u.param)]}.next"), u) for u in graph.updates]
    translate(w, graph, scope)
    for name, value in [*results, *((name, u.value) for name, u in nexts)]:
        w.named(name, scope[value])
        w.body.outputs.append((name, graph.type(value)))
    model = onnx.helper.make_model(
        _body(onnx, w.body, _initializers(onnx, w, defaults)),
        producer_name="graphc",
        producer_version=version,
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        ir_version=IR,
    )
    if nexts:
        renewed = {name: scope[Value(u.param)] for name, u in nexts}
        onnx.helper.set_model_props(model, {STATE: json.dumps(renewed)})
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception as error:
        first = str(error).strip().splitlines()[:6]
        raise ExportError(
            f"the ONNX model of {graph.name} is not valid: a bug in graphc", details=first, help="please report it"
        ) from error
    return model


def _package() -> Any:
    try:
        onnx = import_module("onnx")
        import_module("onnx.checker")
        import_module("onnx.helper")
        import_module("onnx.numpy_helper")
    except ImportError:
        raise MissingPackageError(
            "the package onnx is needed to make an ONNX model, and it is not installed",
            loc=user_loc(),
            help="pip install 'graphc[onnx]'",
        ) from None
    return onnx


def _checked(node: Node) -> TensorType:
    dtype_number(node.type.dtype, node)
    return node.type


def _result_name(name: str) -> str:
    """Results of a tuple are numbered."""
    return f"result_{name}" if name.isdigit() else name


def _initializers(onnx: Any, w: Writer, defaults: Mapping[str, Array]) -> list[Any]:
    """Parameters, of which inputs keep theirs as defaults, and the constants that nodes read."""
    used = _used(w.body) | {name for name, _ in w.body.inputs}
    both = {**defaults, **w.constants}
    return [onnx.numpy_helper.from_array(array, name) for name, array in both.items() if name in used]


def _used(body: Body) -> set[str]:
    """Names that nodes read, those of subgraphs too."""
    found = {name for made in body.nodes for name in made.inputs}
    for made in body.nodes:
        for attr in made.attrs.values():
            if isinstance(attr, Body):
                found |= _used(attr)
    return found


def _body(onnx: Any, body: Body, constants: list[Any]) -> Any:
    def infos(values: list[tuple[str, TensorType]]) -> list[Any]:
        return [onnx.helper.make_tensor_value_info(n, dtype_number(t.dtype), list(t.shape)) for n, t in values]

    nodes = [_node(onnx, made) for made in body.nodes]
    return onnx.helper.make_graph(nodes, body.name or "graph", infos(body.inputs), infos(body.outputs), constants)


def _node(onnx: Any, made: Made) -> Any:
    """A node, with the path of its Cell in its name and the user's line as documentation."""
    attrs = {
        key: _body(onnx, value, []) if isinstance(value, Body)
        else onnx.numpy_helper.from_array(value) if hasattr(value, "dtype") else value
        for key, value in made.attrs.items()
    }  # fmt: skip
    source = made.source
    path = f"{source.scope}/" if source is not None and source.scope else ""
    line = str(source.loc) if source is not None and source.loc is not None else None
    return onnx.helper.make_node(
        made.op, made.inputs, made.outputs, name=f"{path}{made.outputs[0]}", doc_string=line, **attrs
    )
