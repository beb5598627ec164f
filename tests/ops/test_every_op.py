"""Every op of the registry, on the samples of its own declaration: nobody edits this file when an op is added."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from graphc.debug import debug
from graphc.ir import Graph, Value, all_ops, parse, verify
from graphc.ir.op import Kernel, Structural
from graphc.ir.types import TensorType
from graphc.lower import lower
from graphc.ops.declared import reference
from graphc.passes import autodiff
from graphc_codegen import compile_program
from graphc_codegen.program import ITEMSIZE

OPS = {name: definition for name, definition in all_ops().items() if definition.samples is not None}
#: float32 arithmetic, a few operations deep, against float64.
TOLERANCE = {"rtol": 2e-5, "atol": 2e-5}


def samples_of(name):
    return list(OPS[name].samples())


def graph_of(name, samples):
    """One graph with a node per sample, and the inputs it needs."""
    graph, inputs, results = Graph(name), {}, []
    for sample in samples:
        values = []
        for x in sample.operands:
            x = np.asarray(x)
            node = graph.add("Input", types=(TensorType(x.dtype.name, x.shape),), name=f"x{len(inputs)}")
            inputs[node.id] = x
            values.append(node.outputs[0])
        results += graph.add(name, values, sample.attrs).outputs
    graph.set_results([(f"r{i}", v) for i, v in enumerate(results)])
    return graph, inputs


@functools.cache
def oracle(name):
    graph, inputs = graph_of(name, samples_of(name))
    return reference.run(graph, inputs).results


def test_an_op_with_a_kernel_or_gradient_has_samples():
    structural = {"If", "While", "CustomGrad", "Grad", "Input", "Param", "Constant", "GetFloatStatus", "HostCall"}
    assert {n for n, d in all_ops().items() if d.samples is None} == structural


@pytest.mark.parametrize("name", OPS)
def test_declaration_is_complete(name):
    definition = OPS[name]
    assert definition.doc
    assert definition.ref is not None
    assert definition.grad is not None or "no gradient" in definition.doc


@pytest.mark.parametrize("name", OPS)
def test_type_rule_agrees_with_the_reference(name):
    graph, inputs = graph_of(name, samples_of(name))
    outcome = reference.run(graph, inputs, exact=False)
    for result, array in zip(graph.results, outcome.results, strict=True):
        assert graph.type(result.value) == TensorType(array.dtype.name, array.shape)


@pytest.mark.parametrize("name", OPS)
def test_text_round_trip(name):
    graph, _ = graph_of(name, samples_of(name))
    verify(graph)
    assert str(parse(str(graph))) == str(graph)


@pytest.mark.parametrize("mode", ["native", "checked"])
@pytest.mark.parametrize("name", OPS)
def test_kernel_agrees_with_the_oracle(name, mode):
    graph, inputs = graph_of(name, samples_of(name))
    if not all(graph.node(i).type.dtype in ITEMSIZE for i in graph.inputs):
        pytest.fail("samples must have dtypes that kernels know")
    before = {i: x.copy() for i, x in inputs.items()}
    lowered = lower(graph, canary=True)
    bound = compile_program(lowered.program, cache_dir=None, checked=mode == "checked").bind(
        [], list(lowered.constants)
    )
    bound.run([np.ascontiguousarray(inputs[i]).reshape(inputs[i].shape) for i in lowered.inputs])
    bound.check_canaries()
    for (buffer, type), expected in zip(lowered.results, oracle(name), strict=True):
        got = bound.read(buffer).reshape(type.shape)
        assert got.dtype == type.numpy
        np.testing.assert_allclose(got, expected, **TOLERANCE)
    for i, x in inputs.items():
        np.testing.assert_array_equal(x, before[i])


def differentiable():
    for name in OPS:
        for number, sample in enumerate(samples_of(name)):
            for operand in sample.grad:
                yield pytest.param(name, number, operand, id=f"{name}-{number}-operand{operand}")


@pytest.mark.parametrize(("name", "number", "operand"), list(differentiable()))
def test_gradient_agrees_with_finite_differences(name, number, operand):
    sample = samples_of(name)[number]
    graph, inputs = graph_of(name, [sample])
    y = graph.results[0].value
    rng = np.random.default_rng(3)
    sens = graph.add("Input", types=(graph.type(y),), name="sens")
    weights = rng.uniform(0.5, 1.5, sens.type.shape)
    cut = [Value(i) for i in inputs]
    grad = graph.add("Grad", [y, sens.outputs[0], *cut], {"ys": 1, "wrt": (operand,), "names": ("",)})
    graph.set_results([("y", y), ("dx", grad.outputs[0])])
    expanded = autodiff(graph)
    verify(expanded)
    feed = {
        **{i: np.asarray(x, np.float64 if np.asarray(x).dtype.kind == "f" else None) for i, x in inputs.items()},
        sens.id: weights,
    }
    analytic = reference.run(expanded, feed).results[1]

    target = list(inputs)[operand]
    x = feed[target]
    forward = graph.copy()
    forward.set_results([("y", y)])
    forward.prune()

    def loss(at):
        return float((reference.run(forward, {**feed, target: at}).results[0] * weights).sum())

    direction = rng.standard_normal(x.shape)
    step = 1e-6
    numeric = (loss(x + step * direction) - loss(x - step * direction)) / (2 * step)
    assert numeric == pytest.approx(float((analytic * direction).sum()), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize(
    "name", [n for n, d in OPS.items() if d.lower is not None and not isinstance(d.lower, Structural)]
)
def test_special_values_pass_through(name):
    """NaN and infinity give what the reference gives in float32, for elementwise ops."""
    definition = OPS[name]
    if isinstance(definition.lower, Kernel) or len(definition.operands) not in (1, 2) or definition.attrs:
        pytest.skip("not an elementwise op without attributes")
    sample = samples_of(name)[0]
    if any(np.asarray(x).dtype != np.float32 for x in sample.operands):
        pytest.skip("no float operands")
    special = np.array(
        [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 3e38, -3e38, 2.5, 1e-30, 88.8, -104.0], np.float32
    )
    if name in ("Sin", "Cos", "Tan"):
        # Beyond 2**51 the kernels give NaN; see docs/decisions.md.
        special = special[~((np.abs(special) > 2.0**51) & np.isfinite(special))]
    operands = (
        [special] if len(sample.operands) == 1 else [np.repeat(special, special.size), np.tile(special, special.size)]
    )
    if name == "BiasAdd":
        operands = [special[:, None] * np.ones((1, 3), np.float32), np.array([np.nan, np.inf, 1], np.float32)]
    graph, inputs = graph_of(name, [type(sample)(tuple(operands))])
    expected = reference.run(graph, inputs, exact=False).results[0]
    with debug(cache=False):
        lowered = lower(graph)
        bound = compile_program(lowered.program, cache_dir=None).bind([], [])
        bound.run([inputs[i] for i in lowered.inputs])
    got = bound.read(lowered.results[0][0])
    tiny = (
        np.abs(expected.astype(np.float64)) < 1.2e-38 if expected.dtype.kind == "f" else np.zeros(expected.shape, bool)
    )
    np.testing.assert_array_equal(np.isnan(got[~tiny]), np.isnan(expected[~tiny]))
    np.testing.assert_allclose(got[~tiny], expected[~tiny], rtol=1e-5)
