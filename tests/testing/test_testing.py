"""graphc.testing fails where it should: wrong gradients, ops, kernels and passes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from graphc.errors import ArgumentValueError, GradientError, ParseError, VerifyError
from graphc.ir import Graph, Sample, get_op, op
from graphc.ir.op import _REGISTRY, Scalar
from graphc.ops.declared.rules import elementwise, floats
from graphc.testing import check_gradient, check_op, graph_of, op_cases, programs, transform
from graphc_codegen import compile_program

TEXT = """\
graph @g {
  forward:
    %0 x: f32[3] = Input()
    %1 i: i32[3] = Input()
    %2: f32[3] = Tanh(%0)
    %3: f32[3] = Tanh(%0)
    %4: f32[3] = Mul(%2, %3)
    %5: f32[3] = Neg(%4)
  return y=%4
}"""


@pytest.fixture
def declare():
    """Declares ops that are gone after the test."""
    before = set(_REGISTRY)
    yield op
    for name in set(_REGISTRY) - before:
        del _REGISTRY[name]


def twice(declare, name="Twice", **changes):
    rules = {
        "infer": elementwise(name, ("float32", "float64")),
        "ref": lambda x: x + x,
        "grad": lambda g, n, dy: [g.Mul(dy, g.like(2.0, dy))],
        "lower": Scalar(lambda e, x: e.add(x, x)),
        "samples": lambda: [Sample((floats(3, 5),), grad=(0,)), Sample((floats(),))],
        "doc": "twice x",
    }
    return declare(name, "x", **(rules | changes))


def test_an_op_of_ones_own_is_checked(declare):
    twice(declare)
    check_op("Twice")
    assert [str(c) for c in op_cases(["Twice"])] == [
        "Twice-declaration",
        "Twice-type_rule",
        "Twice-text",
        "Twice-native_kernel",
        "Twice-checked_kernel",
        "Twice-dtypes",
        "Twice-vmap",
        "Twice-complex_gradients",
        "Twice-special_values",
        "Twice-gradient-0-operand0",
    ]


@pytest.mark.parametrize(
    ("changes", "where", "message"),
    [
        ({"doc": ""}, "declaration", "Twice has no doc"),
        ({"grad": None}, "declaration", "has no gradient, and its doc does not say"),
        ({"ref": lambda x: x * 3}, "native_kernel", "Not equal to tolerance"),
        ({"lower": Scalar(lambda e, x: e.mul(x, x))}, "native_kernel", "result 0"),
        ({"grad": lambda g, n, dy: [dy]}, "gradient-0-operand0", "the gradient of .* differences give"),
        ({"jvp": lambda g, n, t: [t]}, "gradient-0-operand0", "the tangent of .* differences give"),
        ({"batch": lambda g, m: [m.inputs[0]]}, "vmap", "result 0, mapped operands"),
    ],
)
def test_a_wrong_op_is_found(declare, changes, where, message):
    twice(declare, **changes)
    with pytest.raises(AssertionError, match=message) as caught:
        check_op("Twice")
    assert caught.value.__notes__ == [f"in Twice-{where}"]


def test_a_kernel_that_is_wrong_in_one_dtype_is_found(declare):
    twice(declare, lower=Scalar(lambda e, x: e.add(x, x) if e.dtype(x) != "float64" else e.mul(x, x)))
    with pytest.raises(AssertionError, match="Twice of float64: result 0") as caught:
        check_op("Twice")
    assert caught.value.__notes__ == ["in Twice-dtypes"]


def test_ops_that_cannot_be_checked(declare):
    with pytest.raises(ArgumentValueError, match="did you mean"):
        op_cases(["Tahn"])
    twice(declare, samples=None)
    with pytest.raises(ArgumentValueError, match="op Twice has no samples"):
        check_op("Twice")


def test_gradients_of_graphs(declare):
    graph = graph_of(TEXT)
    feed = {0: np.array([0.1, -0.5, 2], np.float32), 1: np.zeros(3, np.int32)}
    check_gradient(graph, feed, 0)
    with pytest.raises(ArgumentValueError, match="%1 is no Input or Param with floats"):
        check_gradient(graph, feed, 1)
    for grad, error in ((lambda g, n, dy: [dy], AssertionError), (None, GradientError)):
        _REGISTRY.pop("Twice", None)
        twice(declare, grad=grad)
        made = graph.copy()
        made.set_node(2, op=get_op("Twice"))
        with pytest.raises(error):
            check_gradient(made, feed, 0)


def test_passes_on_text():
    assert len(transform(TEXT, "cse", "prune")) == 4
    assert str(transform(TEXT)) == TEXT
    with pytest.raises(ParseError):
        transform("graph", "cse")
    with pytest.raises(ArgumentValueError, match="did you mean prune"):
        transform(TEXT, "prun")


def exchanged(graph: Graph) -> Graph:
    made = graph.copy()
    made.set_node(2, op=get_op("Exp"))
    return made


def test_meaning_on_request():
    assert len(transform(TEXT, exchanged)) == 6
    with pytest.raises(VerifyError, match="pass exchanged changed what the graph computes"):
        transform(TEXT, exchanged, meaning=True)


@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs(max_threads=2))
def test_random_programs_are_valid(program):
    compile_program(program, cache_dir=None, checked=True)
