"""vjp, jvp, Jacobians, vmap, Taylor series: what they return, against MindSpore's recorded results."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, nn, ops
from graphc.errors import GradientError, GraphcError
from graphc.ir import Sample, all_ops
from graphc.testing.gradients import gradient_graph
from graphc.testing.ops import sample_graph
from tests.cells import Of
from tests.data import ms_transforms

X, Y = np.array([1.0, 2.0], np.float32), np.array([3.0, 4.0], np.float32)


def f(x, y):
    return x * y * y


def close(got, *wanted):
    items = got if isinstance(got, tuple) else (got,)
    for a, b in zip(items, wanted, strict=True):
        np.testing.assert_allclose(a.asnumpy(), b, rtol=1e-6)


@pytest.mark.parametrize("wrap", [lambda run: run, Of], ids=["outside", "compiled"])
def test_products_with_vectors(wrap):
    def run(x, y):
        out, pull = ops.vjp(f, x, y)
        return out, pull(x), ops.jvp(f, (x, y), (y, x))

    out, pulled, (again, tangent) = wrap(run)(Tensor(X), Tensor(Y))
    close(out, X * Y**2)
    close(again, X * Y**2)
    close(pulled, X * Y**2, X * 2 * X * Y)
    close(tangent, Y * Y**2 + X * 2 * X * Y)


@pytest.mark.parametrize("wrap", [lambda run: run, Of], ids=["outside", "compiled"])
def test_jacobians(wrap):
    by_x, by_y = wrap(lambda x, y: ops.jacrev(f, (0, 1))(x, y))(Tensor(X), Tensor(Y))
    close((by_x, by_y), np.diag(Y**2), np.diag(2 * X * Y))
    close(ops.jacfwd(f, 1)(Tensor(X), Tensor(Y)), np.diag(2 * X * Y))


def test_auxiliary_outputs_and_weights():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = Parameter(X, name="w")

        def construct(self, x):
            return x * self.w, x + 1

    net = Net()
    out, pull, aux = ops.vjp(net, Tensor(Y), weights=graphc.ParameterTuple([net.w]), has_aux=True)
    close(out, X * Y)
    close(aux, Y + 1)
    (by_input,), (by_weight,) = pull(Tensor(X))
    close((by_input, by_weight), X * X, X * Y)
    jacobian, aux = ops.jacrev(net, has_aux=True)(Tensor(Y))
    close(jacobian, np.diag(X))
    close(aux, Y + 1)
    out, tangent, aux = ops.jvp(net, Tensor(Y), Tensor(X), has_aux=True)
    close((out, tangent), X * Y, X * X)


def test_several_outputs():
    _out, tangents = ops.jvp(lambda x: (x * x, (x + 1,)), Tensor(X), Tensor(Y))
    close(tangents[0], 2 * X * Y)
    close(tangents[1], Y)


def test_arguments_that_do_not_fit():
    with pytest.raises(graphc.ArgumentTypeError, match="2 inputs, 1 tangents"):
        ops.jvp(f, (Tensor(X), Tensor(Y)), Tensor(X))
    with pytest.raises(graphc.TransformError, match="input 1 is f32"):
        ops.jvp(f, (Tensor(X), Tensor(Y)), (Tensor(X), Tensor(1.0)))
    with pytest.raises(graphc.ArgumentTypeError, match="tensors of numbers"):
        ops.jacrev(lambda x: x > 0)(Tensor(X))


RECORDED = json.loads((Path(__file__).parents[1] / "data" / "ms_transforms.json").read_text())


@pytest.mark.parametrize("mode", [graphc.GRAPH_MODE, graphc.PYNATIVE_MODE], ids=["compiled", "eager"])
def test_recorded_results(mode):
    """Numbers and structure, lists and tuples alike."""
    before = graphc.get_context("mode")
    graphc.set_context(mode=mode)
    try:
        made = ms_transforms.results(ops, nn, Tensor)
    finally:
        graphc.set_context(mode=before)
    assert list(made) == list(RECORDED)
    for name, value in made.items():
        same(name, ms_transforms.plain(value), RECORDED[name])


def same(name, got, wanted):
    assert type(got) is type(wanted), name
    if isinstance(got, dict):
        assert np.shape(got["values"]) == np.shape(wanted["values"]), name
        np.testing.assert_allclose(got["values"], wanted["values"], 3e-6, 3e-6, err_msg=name)
        return
    assert len(got) == len(wanted), name
    for a, b in zip(got, wanted, strict=True):
        same(name, a, b)


def test_series_that_do_not_fit():
    x = Tensor(X)
    with pytest.raises(graphc.ArgumentValueError, match=r"primals are f32\[2\], series f32\[3\]"):
        ops.jet(ops.sin, x, Tensor(np.ones(3, np.float32)))
    with pytest.raises(graphc.ArgumentValueError, match="2 primals, 1 series"):
        ops.jet(f, (x, x), Tensor(np.ones((3, 2), np.float32)))
    with pytest.raises(graphc.ArgumentValueError, match="order must be at least 1"):
        ops.derivative(ops.sin, x, 0)
    with pytest.raises(graphc.ArgumentTypeError, match="order must be an int"):
        ops.derivative(ops.sin, x, 1.0)
    values, slopes = ops.derivative(lambda x: (x * x, x), Tensor(np.array([1, 2])), 2)
    close((*values, *slopes), [1, 4], [1, 2], [2, 2], [0, 0])


@pytest.mark.parametrize("transform", [ops.jacrev, ops.jacfwd, ops.hessian])
@pytest.mark.parametrize(
    ("position", "error"),
    [
        (-1, graphc.ArgumentValueError),
        (True, graphc.ArgumentTypeError),
        ((0, 0), graphc.ArgumentValueError),
        (2, IndexError),
    ],
)
def test_positions_that_do_not_fit(transform, position, error):
    with pytest.raises(error, match="grad_position"):
        transform(lambda x, y: ops.sum(x * y), position)(Tensor(X), Tensor(Y))


def test_integers_have_tangents_and_jacobians():
    made = ops.jvp(lambda a: a * a, Tensor(np.array([1, 2], np.int32)), Tensor(np.array([1, 2], np.int32)))[1]
    assert made.asnumpy().tolist() == [2, 8]
    assert made.dtype == graphc.int32
    assert ops.jacfwd(lambda a: a * a)(Tensor(np.array([1, 2], np.int32))).asnumpy().tolist() == [[2, 0], [0, 4]]


@pytest.mark.parametrize("wrap", [lambda run: run, Of], ids=["outside", "compiled"])
def test_products_with_the_jacobian_of_a_gradient(wrap):
    """What was called before is not called again; the parameters that it read are still read by what encloses it."""
    w = Parameter(Tensor(Y), name="w")
    gradient = ops.grad(lambda x: (x * x * w * w * w).sum(), 0, w)

    def pulled(x):
        (by_x, by_w), pull = ops.vjp(gradient, x, weights=w)
        (back,), back_w = pull((by_x, by_w))
        return by_x, by_w, back, back_w

    # By x 2 x w^3, by w 3 x^2 w^2; their Jacobian is [[2 w^3, 6 x w^2], [6 x w^2, 6 x^2 w]].
    gx, gw = 2 * X * Y**3, 3 * X**2 * Y**2
    back, back_w = 2 * Y**3 * gx + 6 * X * Y**2 * gw, 6 * X * Y**2 * gx + 6 * X**2 * Y * gw
    close(wrap(pulled)(Tensor(X)), gx, gw, back, back_w)


def test_a_gradient_of_what_calls_a_gradient_that_was_taken_before():
    w = Parameter(Tensor(Y), name="w")

    class Net(nn.Cell):
        def construct(self, x):
            gradient = ops.grad(lambda x: (x * x * w * w * w).sum(), None, w)
            squared = lambda x: ops.square(gradient(x)).sum()  # noqa: E731
            return squared(x), ops.grad(squared, None, w)(x)

    close(Net()(Tensor(X)), (9 * X**4 * Y**4).sum(), 36 * X**4 * Y**3)


def test_every_gradient_is_made_of_integers_too():
    """Where an op of integers gives integers, they are differentiated as in MindSpore: none has a rule for floats alone."""
    tried = 0
    for name, definition in all_ops().items():
        for sample in definition.samples() if definition.samples else ():
            operands = [
                np.nan_to_num(x).clip(-9, 9).astype(np.int64) if np.asarray(x).dtype == np.float32 else x
                for x in sample.operands
            ]
            try:
                graph, inputs = sample_graph(name, [Sample(tuple(operands), sample.attrs)])
            except GraphcError:
                continue  # It takes no integers.
            y = graph.results[0].value
            for operand in sample.grad if graph.type(y).dtype == "int64" else ():
                wrt = list(inputs)[operand]
                if graph.node(wrt).type.dtype == "int64":
                    tried += 1
                    assert_has_gradient(graph, y, wrt)
    assert tried > 100


def assert_has_gradient(graph, y, wrt):
    """For one of the inputs; an op may refuse it by name."""
    try:
        gradient_graph(graph, y, wrt)
    except GradientError:
        return
    except GraphcError as error:
        pytest.fail(f"{graph.node(y.node)}: {error}")


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32"])
def test_gradients_of_integers_are_those_of_floats(dtype):
    x, two = Tensor(np.array([2, 1, 3], dtype)), Tensor(np.array([2, 2, 2], dtype))
    for function, expected in (
        (lambda x: x**2, [4, 2, 6]),
        (lambda x: x**3, [12, 3, 27]),
        (lambda x: ops.prod(x), [3, 6, 2]),
        (lambda x: ops.cumprod(x, 0), [5, 8, 2]),
        (lambda x: x.max() * two, [0, 0, 6]),
        (lambda x: ops.pow(two * two, x).sum(), [22, 5, 88]),
    ):
        gradient = graphc.jit(graphc.grad(function))(x)
        assert gradient.tensor_type.dtype == dtype
        assert gradient.asnumpy().astype(int).tolist() == expected
