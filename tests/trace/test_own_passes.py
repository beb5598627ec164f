"""A user's own passes in graphc.compile: what they do, where they are named, how they fail."""

from __future__ import annotations

import functools

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, ops
from graphc.debug import debug
from graphc.errors import LoweringError, VerifyError
from graphc.ir import Value, get_op

X = np.linspace(-1, 1, 6, dtype=np.float32)


class Net(nn.Cell):
    def construct(self, x):
        return ops.exp(x) * 2.0


class Slope(nn.Cell):
    def __init__(self):
        super().__init__()
        self.grad = ops.GradOperation()

    def construct(self, x):
        return self.grad(ops.tanh)(x)


def exp_to_tanh(graph):
    """y = exp(x)  ->  y = tanh(x)"""
    found = [n for n in graph if n.op.name == "Exp"]
    made = graph.copy() if found else graph
    for node in found:
        made.set_node(node.id, op=get_op("Tanh"))
    return made


def test_a_pass_of_ones_own_runs_and_is_named(tmp_path, capsys):
    with debug(debug=1, dump=tmp_path):
        step = graphc.compile(Net(), X, passes=(*graphc.passes.PIPELINE, exp_to_tanh))
    np.testing.assert_allclose(step(X).asnumpy(), 2 * np.tanh(X), rtol=1e-6)
    assert [n for n, _ in step.passes] == ["trace", *(p.__name__ for p in graphc.passes.PIPELINE), "exp_to_tanh"]
    assert "graphc: exp_to_tanh " in capsys.readouterr().err
    assert (tmp_path / "passes" / f"{len(graphc.passes.PIPELINE) + 1}_exp_to_tanh.ir").is_file()


def test_it_belongs_to_the_step_alone(tmp_path):
    """The cell, called itself, and a step compiled without the pass, are not affected: not by the object cache either."""
    net = Net()
    with debug(cache=True, cache_dir=tmp_path / "cache"):
        steps = [graphc.compile(net, X, passes=p) for p in ((exp_to_tanh,), (), (exp_to_tanh,))]
        results = [s(X).asnumpy() for s in steps] + [net(Tensor(X)).asnumpy()]
    for got, function in zip(results, (np.tanh, np.exp, np.tanh, np.exp), strict=True):
        np.testing.assert_allclose(got, 2 * function(X), rtol=1e-6)
    assert [s.cache_hit for s in steps] == [False, False, True]


def test_a_pipeline_needs_autodiff_for_gradients():
    np.testing.assert_allclose(
        graphc.compile(Slope(), X, passes=[graphc.passes.autodiff])(X).asnumpy(), 1 - np.tanh(X) ** 2, rtol=1e-5
    )
    with pytest.raises(LoweringError, match="no pass of the pipeline expands it"):
        graphc.compile(Slope(), X, passes=())


def broken(graph):
    made = graph.copy()
    made.set_results([("y", Value(99))])
    return made


def failing(graph):
    raise KeyError("nothing here")


def forgetful(graph):
    graph.copy()


def in_place(graph):
    graph.set_results([])
    return graph


def fewer(graph):
    made = graph.copy()
    made.set_results([])
    return made


@pytest.mark.parametrize(
    ("own", "error", "message", "note"),
    [
        (broken, VerifyError, "pass broken made an invalid graph", None),
        (failing, KeyError, "nothing here", "in pass failing, after trace, autodiff"),
        (forgetful, TypeError, "pass forgetful gives NoneType, a pass gives a Graph", None),
        (in_place, VerifyError, "is frozen and cannot be changed", "in pass in_place, after trace, autodiff"),
        (fewer, VerifyError, "pass fewer changed the results of the graph", None),
    ],
)
def test_errors_name_the_pass(own, error, message, note):
    with pytest.raises(error, match=message) as caught:
        graphc.compile(Net(), X, passes=(graphc.passes.autodiff, own))
    assert getattr(caught.value, "__notes__", [None])[0] == note


def test_its_meaning_is_compared_on_request():
    with debug(verify=2), pytest.raises(VerifyError, match="pass exp_to_tanh changed what the graph computes"):
        graphc.compile(Net(), X, passes=(exp_to_tanh,))


@pytest.mark.parametrize(
    ("passes", "message"),
    [
        ("cse", "passes= takes a tuple of passes, got str"),
        (exp_to_tanh, "passes= takes a tuple of passes, got function"),
        (("cse",), "a pass is a function that takes a Graph and gives one, got 'cse'"),
        ((functools.partial(exp_to_tanh),), "needs a __name__"),
    ],
)
def test_what_is_no_pass_is_refused(passes, message):
    with pytest.raises(TypeError, match=message):
        graphc.compile(Net(), X, passes=passes)
