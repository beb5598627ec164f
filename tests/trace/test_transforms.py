"""Function transforms together: with each other, with control flow, with networks; compiled and op by op."""

from __future__ import annotations

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, nn, ops
from graphc.ops.tensor.tree import flatten
from tests.cells import Of

RNG = np.random.default_rng(7)
X, V = (RNG.normal(size=(4, 3)).astype(np.float32) for _ in range(2))
A = RNG.normal(size=(3, 3)).astype(np.float32)
pytestmark = pytest.mark.usefixtures("mode_again")
MODES = pytest.mark.parametrize("mode", [graphc.GRAPH_MODE, graphc.PYNATIVE_MODE], ids=["compiled", "eager"])


def close(got, wanted, tolerance=2e-5):
    np.testing.assert_allclose(got.asnumpy(), wanted, tolerance, tolerance)


def f(x):
    """Scalar, of a row; its derivatives in float64 are below."""
    return ops.sum(ops.sin(ops.matmul(x, Tensor(A))) * x)


def gradient(x):
    z = x @ A
    return np.sin(z) + A @ (np.cos(z) * x)


def hessian(x):
    z = x @ A
    cross = A * np.cos(z)
    return cross + cross.T - (A * (np.sin(z) * x)) @ A.T


@MODES
def test_transforms_of_transforms(mode):
    graphc.set_context(mode=mode)

    def everything(x, v):
        row, direction = x[0], v[0]
        grad = graphc.grad(f)
        return {
            "vmap of grad": graphc.vmap(grad)(x),
            "grad of vmap": graphc.grad(lambda a: ops.sum(ops.vmap(f)(a)))(x),
            "jvp of vmap": graphc.jvp(graphc.vmap(f), x, v)[1],
            "vmap of jvp": graphc.vmap(lambda a, b: graphc.jvp(f, a, b)[1])(x, v),
            "jvp of grad": graphc.jvp(grad, row, direction)[1],
            "grad of jvp": graphc.grad(lambda a: graphc.jvp(f, a, direction)[1])(row),
            "grad of grad": graphc.grad(lambda a: ops.sum(grad(a) * direction))(row),
            "jvp of jvp": graphc.jvp(lambda a: graphc.jvp(f, a, direction)[1], row, direction)[1],
            "hessian": graphc.hessian(f)(row),
            "jacrev of grad": graphc.jacrev(grad)(row),
            "jacfwd of jacfwd": graphc.jacfwd(graphc.jacfwd(f))(row),
            "vmap of hessian": graphc.vmap(graphc.hessian(f))(x),
            "vmap of vmap": ops.vmap(ops.vmap(lambda a, b: ops.sum(a * b), (None, 0)), (0, None))(x, v),
            "grad of hessian": graphc.grad(lambda a: ops.sum(graphc.hessian(lambda b: ops.sum(b * b * b))(a)))(row),
        }

    x, v = X.astype(np.float64), V.astype(np.float64)
    grads, hessians = np.stack([gradient(r) for r in x]), np.stack([hessian(r) for r in x])
    product = hessians[0] @ v[0]
    wanted = {
        "vmap of grad": grads,
        "grad of vmap": grads,
        "jvp of vmap": (grads * v).sum(1),
        "vmap of jvp": (grads * v).sum(1),
        **dict.fromkeys(("jvp of grad", "grad of jvp", "grad of grad"), product),
        "jvp of jvp": v[0] @ product,
        **dict.fromkeys(("hessian", "jacrev of grad", "jacfwd of jacfwd"), hessians[0]),
        "vmap of hessian": hessians,
        "vmap of vmap": x @ v.T,
        "grad of hessian": np.full(3, 6.0),
    }
    made = Of(everything)(Tensor(X), Tensor(V))
    assert list(made) == list(wanted)
    for name, value in made.items():
        np.testing.assert_allclose(value.asnumpy(), wanted[name], 1e-4, 1e-4, err_msg=name)


# ---- control flow


def branches(x):
    if ops.sum(x) > 0:
        y = x * x
    else:
        y = ops.sin(x)
    return y


def grows(x):
    """As many turns as the row needs."""
    while ops.sum(x * x) < 50.0:
        x = x * 1.5 + ops.sin(x)
    return x


def counts(x):
    """The same number of turns for every row."""
    i = Tensor(0)
    while i < 3:
        x = ops.sin(x) + x
        i = i + 1
    return x


def numpy_of(function, x):
    if function is branches:
        return x * x if x.sum() > 0 else np.sin(x)
    if function is grows:
        while (x * x).sum() < 50:
            x = x * 1.5 + np.sin(x)
        return x
    for _ in range(3):
        x = np.sin(x) + x
    return x


@MODES
@pytest.mark.parametrize("function", [branches, grows, counts])
def test_control_flow_under_transforms(function, mode):
    graphc.set_context(mode=mode)
    x = X.astype(np.float64)
    values = np.stack([numpy_of(function, r) for r in x])
    step = 1e-6
    slopes = np.stack([(numpy_of(function, r + step) - numpy_of(function, r - step)) / (2 * step) for r in x])

    def everything(x):
        along = ops.vmap(lambda r: graphc.jvp(function, r, ops.ones_like(r))[1])(x)
        gradients = graphc.grad(lambda a: ops.sum(ops.vmap(function)(a)))(x)
        singly = ops.vmap(graphc.grad(lambda r: ops.sum(function(r))))(x)
        return ops.vmap(function)(x), graphc.jvp(ops.vmap(function), x, ops.ones_like(x))[1], along, gradients, singly

    mapped, tangent, along, gradients, singly = Of(everything)(Tensor(X))
    close(mapped, values, 1e-4)
    close(tangent, slopes, 1e-4)
    close(along, slopes, 1e-4)
    # Each function works element by element, but for the choice of its way.
    close(gradients, slopes, 1e-4)
    close(singly, slopes, 1e-4)


def test_a_way_that_is_the_same_for_all_indices_is_the_only_one_that_runs():
    def function(x, flag):
        if flag:
            y = x * 2
        else:
            y = x / 0
        return y

    step = graphc.compile(Of(ops.vmap(function, (0, None))), X, np.array(True))
    assert [n.op.name for n in step.graph if n.op.name in ("If", "Select")] == ["If"]
    close(step(X, np.array(True)), X * 2)


# ---- networks


def network():
    graphc.set_seed(4)  # Differences tell nothing where a ReLU or a maximum changes between them.
    net = nn.SequentialCell(
        nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten(), nn.Dense(18, 3)
    )
    return net.set_train(False)


@MODES
def test_gradients_of_each_sample(mode):
    graphc.set_context(mode=mode)
    net, criterion = network(), nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    weights = tuple(net.trainable_params())

    def loss(image, label):
        return criterion(net(ops.expand_dims(image, 0)), ops.expand_dims(label, 0))

    images = Tensor(np.random.default_rng(0).normal(size=(3, 1, 6, 6)).astype(np.float32))
    labels = Tensor(np.array([0, 2, 1], np.int32))
    gradients = graphc.grad(loss, None, weights)
    together = ops.vmap(gradients)(images, labels)
    singly = [gradients(images[k], labels[k]) for k in range(3)]
    for i, made in enumerate(together):
        close(made, np.stack([row[i].asnumpy() for row in singly]))


def test_second_derivatives_of_a_network_are_differences_of_its_gradients():
    net, criterion = network(), nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    rng = np.random.default_rng(1)
    images, direction = (rng.normal(size=(2, 1, 6, 6)).astype(np.float32) for _ in range(2))
    gradient_of = graphc.grad(lambda x: criterion(net(x), Tensor(np.array([0, 2], np.int32))))
    product = graphc.jvp(gradient_of, Tensor(images), Tensor(direction))[1].asnumpy()
    ends = [gradient_of(Tensor(images + s * direction)).asnumpy().astype(np.float64) for s in (-1e-3, 1e-3)]
    np.testing.assert_allclose(product, (ends[1] - ends[0]) / 2e-3, atol=5e-4)


def test_forward_mode_costs_as_much_again_as_the_function():
    net = nn.SequentialCell(*[nn.Dense(8, 8, activation="tanh") for _ in range(4)])
    x = np.ones((2, 8), np.float32)
    step = graphc.compile(Of(lambda x, v: graphc.jvp(net, x, v)), x, x)
    names = [n.op.name for n in step.graph]
    assert (names.count("MatMul"), names.count("Tanh")) == (8, 4)


@MODES
def test_gradients_that_users_write(mode):
    graphc.set_context(mode=mode)

    class Triple(nn.Cell):
        def __init__(self):
            super().__init__()
            self.factor = Tensor(3.0)

        def construct(self, x, w):
            return x * x * w

        def bprop(self, x, w, out, dout):
            return dout * self.factor * x, dout * self.factor

    cell, w = Triple(), Tensor(V[0])
    close(graphc.jvp(lambda x: cell(x, w), Tensor(X[0]), Tensor(V[1]))[1], 3 * X[0] * V[1])
    by_x, by_w = graphc.grad(lambda x, w: ops.sum(ops.vmap(cell, (0, None))(x, w)), (0, 1))(Tensor(X), w)
    close(by_x, 3 * X)
    close(by_w, np.full(3, 12.0))
    close(ops.vmap(graphc.grad(cell), (0, None))(Tensor(X), w), 3 * X)


@MODES
def test_cells_of_a_list_take_an_index_each(mode):
    graphc.set_context(mode=mode)
    cells = nn.CellList([nn.Dense(3, 2) for _ in range(4)])
    got = ops.vmap(cells, 0, 1)(Tensor(X))
    close(got, np.stack([cell(Tensor(x)).asnumpy() for cell, x in zip(cells, X, strict=True)], 1))
    # Of one argument for all of them nothing but the cells is mapped.
    close(ops.vmap(cells, None)(Tensor(X)), np.stack([cell(Tensor(X)).asnumpy() for cell in cells]))


# ---- state


@MODES
def test_draws_are_the_same_for_every_index(mode):
    graphc.set_context(mode=mode)
    dropout = nn.Dropout(p=0.5).set_train()
    graphc.set_seed(3)
    ones = Tensor(np.ones((3, 40), np.float32))
    first, second = ops.vmap(dropout)(ones).asnumpy(), ops.vmap(dropout)(ones).asnumpy()
    assert (first == first[0]).all()
    assert set(np.unique(first)) == {0.0, 2.0}
    assert (first != second).any()
    noise = ops.vmap(lambda x: x + ops.rand(3))(Tensor(X)).asnumpy() - X
    np.testing.assert_allclose(noise, np.tile(noise[0], (4, 1)), atol=1e-6)


@MODES
def test_a_jacobian_draws_once_and_writes_once(mode):
    graphc.set_context(mode=mode)

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.drop = nn.Dropout(p=0.5)
            self.calls = Parameter(0, name="calls", requires_grad=False)

        def construct(self, x):
            ops.assign_add(self.calls, 1)
            y = self.drop(x)
            return y * x, y

    net = Net().set_train()
    x = Tensor(np.linspace(1, 2, 30).astype(np.float32))
    for transform in (graphc.jacrev, graphc.jacfwd):
        jacobian, dropped = transform(net, has_aux=True)(x)
        close(jacobian, np.diag(2 * dropped.asnumpy()))
    assert int(net.calls) == 2


class Writes(nn.Cell):
    def __init__(self):
        super().__init__()
        self.total = Parameter(np.zeros(3, np.float32), name="total")

    def construct(self, x):
        ops.assign_add(self.total, x)
        return x


def prints(x):
    print(x)
    return x


@MODES
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: ops.vmap(Writes())(x), r"writes parameter 'total'.*\n.*test_transforms\.py"),
        (lambda x: ops.vmap(prints)(x), "it prints"),
        (lambda x: ops.vmap(lambda r: r, 0, None)(x), "result 0, f32.3., differs from index to index"),
        (lambda x: ops.vmap(lambda a, b: a)(x, x[:2]), "different sizes(.|\n)*2: f32"),
        (lambda x: ops.vmap(lambda a, b: a * b)(x, 2.0), "argument 1 is no tensor"),
        (lambda x: ops.vmap(lambda r: r, 2)(x), "has 2 axes, in_axes says axis 2"),
        (lambda x: ops.vmap(lambda r: r, 0, 2)(x), "has 2 axes, out_axes says axis 2"),
        (lambda x: ops.vmap(lambda r: r, (0, 0))(x), "2 entries, the call 1 arguments"),
        (lambda x: ops.vmap(lambda p: p[0], ((0, None, 0),))((x, x)), "a tuple of 2, in_axes says"),
        (lambda x: ops.vmap(lambda r: r, 0, (0, 0))(x), "out_axes says"),
        (lambda x: ops.vmap(nn.CellList([nn.ReLU()] * 3))(x), "different sizes(.|\n)*3 cells"),
        (lambda x: ops.vmap(lambda r: r, None)(x), "maps no argument"),
        (lambda x: ops.jvp(ops.sin, x, x[0]), "input 0 is f32.4,3., its tangent f32.3."),
    ],
)
def test_what_is_refused(call, message, mode):
    graphc.set_context(mode=mode)
    with pytest.raises(graphc.TransformError, match=message):
        call(Tensor(X))


# ---- axes


@MODES
def test_axes_and_nests(mode):
    graphc.set_context(mode=mode)
    x, v = Tensor(X), Tensor(V)
    close(ops.vmap(lambda a, b: a + b, (1, None), -1)(x, v[:, 0]), X + V[:, :1])
    close(ops.vmap(lambda p, s: p["a"] * p["b"][0] * s, (0, None))({"a": x, "b": [v]}, 2.0), 2 * X * V)
    product, same, number = ops.vmap(lambda p: (p[0] * p[1], {"k": p[1]}, 3), ((0, None),), (1, None, 0))((x, v[0]))
    close(product, (X * V[0]).T)
    close(same["k"], V[0])
    assert number.asnumpy().tolist() == [3] * 4
    assert ops.vmap(lambda a: a + 1)(Tensor(np.zeros((0, 3), np.float32))).shape == (0, 3)
    close(ops.vmap(lambda a, b: a - b)(b=v, a=x), X - V)


# ---- every function


def test_functions_of_one_tensor_under_vmap_and_forward_mode():
    """A function under vmap is the function for each index; forward mode is the transpose of reverse mode. What depends on
    values in its shape, or on draws, is left out.
    """
    graphc.set_context(mode=graphc.PYNATIVE_MODE)
    rng = np.random.default_rng(0)
    rows, direction = rng.uniform(0.1, 0.9, (2, 4, 4)).astype(np.float32), rng.uniform(0, 1, (4, 4)).astype(np.float32)
    tried = 0
    for name in sorted(ops.functional.__all__):
        function = getattr(ops, name)
        results = [_results(function, x) for x in (*rows, rows[0])]
        if results[0] is None or not _alike(results[0], results[2]):
            continue
        mapped = _mapped(name, function, rows)
        if mapped is None:
            continue
        for got, *wanted in zip(mapped, *results[:2], strict=True):
            np.testing.assert_allclose(got.asnumpy(), np.stack([w.asnumpy() for w in wanted]), 1e-5, 1e-5, err_msg=name)
        if any(y.tensor_type.is_float for y in results[0]):
            _check_duality(name, function, Tensor(rows[0]), Tensor(direction))
        tried += 1
    assert tried > 150


def _results(function, x):
    """What a function makes of one tensor; None if it needs something else."""
    try:
        made = flatten(function(Tensor(x)))[0]
    except Exception:
        return None
    return made or None


def _mapped(name, function, rows):
    """The results under vmap; None where no traced tensor will do, or values are checked, which vmap refuses."""
    try:
        return flatten(ops.vmap(function)(Tensor(rows)))[0]
    except graphc.GraphcError as error:
        if error.code not in ("GC120", "GC130", "GC131", "GC156", "GC182"):
            raise AssertionError(f"{name} under vmap") from error
        return None


def _alike(first, second):
    return all(
        a.tensor_type == b.tensor_type and np.array_equal(a.asnumpy(), b.asnumpy(), True)
        for a, b in zip(first, second, strict=True)
    )


def _check_duality(name, function, x, direction):
    ys, tangents = (flatten(made)[0] for made in ops.jvp(function, x, direction))
    weights = [Tensor(np.cos(np.arange(y.size)).reshape(y.shape).astype(y.tensor_type.numpy)) for y in ys]

    def total(x):
        made = flatten(function(x))[0]
        return sum(ops.sum(y * w) for y, w in zip(made, weights, strict=True) if y.tensor_type.is_float)

    forward = sum(float(ops.sum(t * w)) for t, w in zip(tangents, weights, strict=True) if t.tensor_type.is_float)
    assert forward == pytest.approx(float(ops.sum(ops.grad(total)(x) * direction)), rel=1e-4, abs=1e-4, nan_ok=True), (
        name
    )


@pytest.mark.parametrize("mode", [graphc.GRAPH_MODE, graphc.PYNATIVE_MODE])
def test_a_function_that_writes_into_its_argument_is_differentiated_at_what_it_was_given(mode):
    def writing(x):
        ops.erfinv_(x)
        return ops.reduce_sum(x * x)

    def pure(x):
        y = ops.erfinv(x)
        return ops.reduce_sum(y * y)

    graphc.set_context(mode=mode)
    x, v = np.array([0.1, -0.5, 0.7], np.float32), Tensor([1.0, 2.0, -1.0])
    for transform in (ops.grad, ops.jacrev, ops.jacfwd, ops.hessian):
        wanted = transform(pure)(Tensor(x)).asnumpy()
        np.testing.assert_allclose(transform(writing)(Tensor(x)).asnumpy(), wanted, rtol=1e-5)
    wanted = ops.jvp(pure, Tensor(x), v)[1].asnumpy()
    np.testing.assert_allclose(ops.jvp(writing, Tensor(x), v)[1].asnumpy(), wanted, rtol=1e-5)
    value, gradient = ops.value_and_grad(writing)(Tensor(x))
    np.testing.assert_allclose(value.asnumpy(), pure(Tensor(x)).asnumpy(), rtol=1e-5)
    np.testing.assert_allclose(gradient.asnumpy(), ops.grad(pure)(Tensor(x)).asnumpy(), rtol=1e-5)
