"""Gradients as functions of functions, own gradients, functions over nests: what the recorded cases leave open."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Parameter, ParameterTuple, Tensor, nn, ops
from graphc.passes import run
from tests.cells import Of

RNG = np.random.default_rng(17)
A, B = RNG.normal(size=3).astype(np.float32), RNG.normal(size=3).astype(np.float32)


def close(got: Any, wanted: Any) -> None:
    if isinstance(wanted, tuple):
        assert isinstance(got, tuple)
        assert len(got) == len(wanted)
        for g, w in zip(got, wanted, strict=True):
            close(g, w)
    else:
        np.testing.assert_allclose(got.asnumpy(), wanted, rtol=1e-5, atol=1e-6)


def product(x: Tensor, y: Tensor) -> Tensor:
    return x * y * x


@pytest.mark.parametrize("inside", [False, True])
def test_a_gradient_inside_and_outside_a_cell(inside: bool) -> None:
    transform: Any = ops.grad(product, (0, 1))
    cell = Of(transform) if inside else transform
    close(cell(Tensor(A), Tensor(B)), (2 * A * B, A * A))


def test_gradients_of_gradients_through_cells_and_branches() -> None:
    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.w = Parameter(Tensor(B), name="w")

        def construct(self, x: Tensor) -> Tensor:
            if x.sum() > 0:
                y = x * x * x * self.w
            else:
                y = x * x * self.w
            return y

    net = Net()
    first = ops.GradOperation()(net)
    second = ops.GradOperation()(first)
    for x in (np.abs(A), -np.abs(A)):
        positive = x.sum() > 0
        close(first(Tensor(x)), 3 * x * x * B if positive else 2 * x * B)
        close(second(Tensor(x)), 6 * x * B if positive else 2 * B)

    def mixed(x: Tensor) -> Tensor:
        return ops.GradOperation(get_by_list=True)(net, ParameterTuple([net.w]))(x)[0]

    close(ops.GradOperation()(mixed)(Tensor(np.abs(A))), 3 * A * A)


def test_a_gradient_of_a_gradient_function_is_compiled_once() -> None:
    traces = []

    def cube(x: Tensor) -> Tensor:
        traces.append(1)
        return x * x * x

    for _ in range(3):
        ops.GradOperation()(ops.GradOperation()(cube))(Tensor(A))
    assert len(traces) == 1


def test_arguments_by_name() -> None:
    close(ops.GradOperation(get_all=True)(product)(Tensor(A), y=Tensor(B)), (2 * A * B, A * A))
    close(ops.grad(product, 1)(y=Tensor(B), x=Tensor(A)), A * A)

    def only(x: Tensor, *, k: float) -> Tensor:
        return x * k

    with pytest.raises(TypeError, match="cannot take k by name only"):
        ops.grad(only)(Tensor(A), k=2.0)


def test_the_value_is_computed_once() -> None:
    class Net(nn.Cell):
        def construct(self, x: Tensor) -> Tensor:
            return ops.exp(x)

    step = graphc.compile(Of(ops.value_and_grad(Net())), Tensor(A))
    assert [n.op.name for n in step.graph].count("Exp") == 1
    close(step(Tensor(A)), (np.exp(A), np.exp(A)))


def test_modes_of_a_differentiated_network_count() -> None:
    """set_train of a Cell that only a function's closure knows compiles the gradient anew."""

    class Net(nn.Cell):
        def construct(self, x: Tensor) -> Tensor:
            return x * 2 if self.training else x * 3

    net = Net()

    def loss(x: Tensor) -> Tensor:
        return net(x).sum()

    gradient = ops.grad(loss)
    compiled = graphc.jit(loss)
    for training, factor in ((False, 3), (True, 2), (False, 3)):
        net.set_train(training)
        close(gradient(Tensor(A)), np.full(3, factor, np.float32))
        close(compiled(Tensor(A)), np.float32(factor * A.sum()))


def test_sens_weights_several_outputs() -> None:
    def outputs(x: Tensor) -> dict[str, Tensor]:
        return {"square": x * x, "triple": x * 3}

    gradient = ops.GradOperation(sens_param=True)(outputs)
    close(gradient(Tensor(A), {"square": Tensor(B), "triple": Tensor(A)}), 2 * A * B + 3 * A)


def test_a_parameter_that_is_not_trained_has_a_gradient_when_asked() -> None:
    p = Parameter(Tensor(A), name="p", requires_grad=False)
    close(ops.grad(lambda x: x * p, None, p)(Tensor(B)), B)


def test_a_parameter_may_be_an_input() -> None:
    p = Parameter(Tensor(A), name="p")
    close(ops.GradOperation(get_all=True)(product)(p, Tensor(B)), (2 * A * B, A * A))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda x: ops.GradOperation(get_all=1), TypeError, "get_all must be a bool, got int"),
        (lambda x: ops.GradOperation()(3), TypeError, "fn must be a Cell or a function, got int"),
        (lambda x: ops.GradOperation()(product)(x), TypeError, "missing a required argument: 'y'"),
        (lambda x: ops.GradOperation()(product)(x, x, x), TypeError, "too many positional arguments"),
        (lambda x: ops.GradOperation(sens_param=True)(product)(), TypeError, "needs sens"),
        (lambda x: ops.GradOperation(sens_param=True)(product)(x, x), TypeError, "missing a required argument"),
        (lambda x: ops.GradOperation(sens_param=True)(product)(x, x, 1.0), TypeError, "sens is a float"),
        (lambda x: ops.GradOperation(sens_param=True)(product)(x, x, (x,)), TypeError, "sens is a tuple of 1"),
        (
            lambda x: ops.GradOperation(sens_param=True)(product)(x, x, x[:2]),
            ValueError,
            r"sens of a gradient is f32\[2\]",
        ),
        (
            lambda x: ops.GradOperation(sens_param=True)(product)(x, x, x > 0),
            TypeError,
            r"sens of a gradient is b1\[3\]",
        ),
        (lambda x: ops.GradOperation(get_by_list=True)(product, 3)(x, x), TypeError, "weights must be a Parameter"),
        (lambda x: ops.GradOperation(get_by_list=True)(product, [x])(x, x), TypeError, "weights must be Parameters"),
        (lambda x: ops.grad(3), TypeError, "fn must be a Cell or a function, got int"),
        (lambda x: ops.grad(product, "a"), TypeError, "must be an int or a tuple of ints, got str"),
        (lambda x: ops.grad(product, True), TypeError, "must be an int or a tuple of ints, got bool"),
        (lambda x: ops.grad(product, -1), ValueError, "at least 0, got -1"),
        (lambda x: ops.grad(product, (0, 0)), ValueError, "names a position twice"),
        (lambda x: ops.grad(product, None), ValueError, "cannot both be None"),
        (lambda x: ops.grad(product, 2)(x, x), IndexError, "grad_position 2 of product"),
        (lambda x: ops.grad(product, 2)(x, x), ValueError, "grad_position 2 of product"),
        (lambda x: ops.grad(product, has_aux=True)(x, x), RuntimeError, "returns several outputs, product returns one"),
        (lambda x: ops.grad(product, has_aux=1), TypeError, "has_aux must be a bool"),
        (lambda x: ops.get_grad((), 0), RuntimeError, "there is no gradient for 0"),
        (lambda x: ops.get_grad((), "a"), TypeError, "identifier must be an int or a Parameter, got str"),
    ],
)
def test_refused(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        make(Tensor(A))
    assert isinstance(caught.value, graphc.GraphcError)


def test_get_grad() -> None:
    p = Parameter(Tensor(B), name="p")

    def fn(x: Tensor, y: Tensor) -> Tensor:
        return x * p + y

    made = ops.grad(fn, (0, 1), [p], return_ids=True)(Tensor(A), Tensor(A))
    close(ops.get_grad(made, 0), B)
    close(ops.get_grad(made, 1), np.ones(3))
    close(ops.get_grad(made, p), A)
    with pytest.raises(RuntimeError, match="there is no gradient for 2"):
        ops.get_grad(made, 2)


# ---- gradients that users write


class Halved(nn.Cell):
    """x * y; its gradients are whatever `rule` makes."""

    def __init__(self, rule: Any) -> None:
        super().__init__()
        self.rule = rule
        self.k = Parameter(Tensor([2.0, 2.0, 2.0]), name="k")

    def construct(self, x: Tensor, y: Any = 1.0) -> Tensor:
        return x * y

    def bprop(self, x: Tensor, y: Any, out: Tensor, dout: Tensor) -> Any:
        return self.rule(self, x, y, out, dout)


def test_bprop_replaces_the_gradient() -> None:
    cell = Halved(lambda self, x, y, out, dout: (x * self.k * dout, out + dout))
    close(cell(Tensor(A), Tensor(B)), A * B)
    close(ops.GradOperation(get_all=True)(cell)(Tensor(A), Tensor(B)), (2 * A, A * B + 1))
    outer = Of(lambda x, y: cell(x * 3, y) * 5)
    close(ops.GradOperation(get_all=True)(outer)(Tensor(A), Tensor(B)), (3 * (3 * A * 2 * 5), 3 * A * B + 5))


def test_bprop_in_a_training_step() -> None:
    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.w = Parameter(Tensor(A), name="w")
            self.cell = Halved(lambda self, x, y, out, dout: (dout * 10, dout * 0))

        def construct(self, x: Tensor) -> Tensor:
            return self.cell(self.w, x).sum()

    net = Net()
    step = nn.TrainOneStepWithLossScaleCell(net, nn.SGD([net.w], 0.1), Tensor(8.0))
    loss, _, _ = step(Tensor(B))
    assert float(loss) == pytest.approx(float((A * B).sum()), rel=1e-5)
    close(net.w, A - 1.0)
    graph = graphc.compile(step, Tensor(B)).graph
    assert not any(n.op.name == "CustomGrad" for n in graph)
    assert {n.region for n in graph if n.op.name == "Mul" and "10" in str(n.attrs)} <= {"backward"}


def test_bprop_inside_a_branch_and_by_name() -> None:
    cell = Halved(lambda self, x, y, out, dout: (dout * 10, dout * 20))

    class Net(nn.Cell):
        def construct(self, x: Tensor, y: Tensor) -> Tensor:
            if x.sum() > 100:
                z = x
            else:
                z = cell(y=y, x=x)
            return z * 2

    close(ops.GradOperation(get_all=True)(Net())(Tensor(A), Tensor(B)), (np.full(3, 20), np.full(3, 40)))


def test_bprop_with_python_values_and_captured_tensors() -> None:
    cell = Halved(lambda self, x, y, out, dout: (dout * y, None))
    close(ops.GradOperation(get_all=True)(cell)(Tensor(A), 3.0), (np.full(3, 3.0),))
    close(ops.GradOperation(get_all=True)(cell)(Tensor(A)), (np.full(3, 1.0),))

    seen: list[Tensor] = []
    capturing = Halved(lambda self, x, y, out, dout: (dout * seen[0], dout))

    def fn(x: Tensor, y: Tensor) -> Tensor:
        seen[:] = [y * 7]
        return capturing(x, x)

    close(ops.GradOperation()(fn)(Tensor(A), Tensor(B)), 7 * B + 1)


def test_an_output_that_is_not_used_has_gradient_zero() -> None:
    class Pair(nn.Cell):
        def construct(self, x: Tensor) -> tuple[Tensor, Tensor]:
            return x * 2, x * 3

        def bprop(self, x: Tensor, out: Any, dout: Any) -> Tensor:
            return out[0] + dout[0] * 100 + dout[1] * 10

    pair = Pair()
    close(ops.grad(lambda x: pair(x)[0] * 5)(Tensor(A)), 2 * A + 500)
    close(ops.grad(lambda x: pair(x)[1] * 5)(Tensor(A)), 2 * A + 50)


def test_a_bprop_is_differentiated_too() -> None:
    cell = Halved(lambda self, x, y, out, dout: (x * x * dout, y * 0))
    first = ops.GradOperation()(cell)
    close(ops.GradOperation()(first)(Tensor(A), Tensor(B)), 2 * A)


def test_bprop_in_pynative_mode() -> None:
    cell = Halved(lambda self, x, y, out, dout: (x * self.k * dout, out + dout))
    graphc.set_context(mode=graphc.PYNATIVE_MODE)
    try:
        close(cell(Tensor(A), Tensor(B)), A * B)
        close(ops.GradOperation(get_all=True)(cell)(Tensor(A), Tensor(B)), (2 * A, A * B + 1))
    finally:
        graphc.set_context(mode=graphc.GRAPH_MODE)


class OnHost(nn.Cell):
    """sin(x), and its gradient, by NumPy; `rule` makes the gradients of x and n of NumPy's."""

    def __init__(self, rule: Any = lambda g, n: (Tensor(g), None)) -> None:
        super().__init__()
        self.rule = rule

    def construct(self, x: Tensor, n: Tensor) -> Tensor:
        self.slope = np.cos(x.asnumpy())
        return Tensor(np.sin(x.asnumpy()))

    def bprop(self, x: Tensor, n: Tensor, out: Tensor, dout: Tensor) -> Any:
        return self.rule(self.slope * dout.asnumpy() if float(dout.sum()) else dout.asnumpy(), n)


def test_a_bprop_that_asks_for_values(mode_again: None) -> None:
    graphc.set_context(mode=graphc.PYNATIVE_MODE)
    n = Tensor(np.arange(2))
    for rule in (lambda g, n: (Tensor(g), None), lambda g, n: (Tensor(g), n * 0)):
        cell = OnHost(rule)
        made = ops.grad(lambda x, cell=cell: (cell(x * x, n) * x).sum())(Tensor(A))
        close(made, np.sin(A * A) + 2 * A * A * np.cos(A * A))
    again = ops.grad(lambda x: ops.grad(lambda x: cell(x, n).sum())(x).sum())
    for action, message in (
        (lambda: again(Tensor(A)), "HostCall has no gradient"),
        (lambda: ops.grad(OnHost(lambda g, n: (Tensor(g[:2]), n)))(Tensor(A), n), r"f32\[2\] as the gradient"),
        (lambda: ops.grad(OnHost(lambda g, n: (Tensor(g),)))(Tensor(A), n), "returns 1 gradients for 2 inputs"),
    ):
        with pytest.raises(graphc.GradientError, match=message):
            action()
    graphc.set_context(mode=graphc.GRAPH_MODE)
    with pytest.raises(graphc.TraceError, match="asnumpy"):
        ops.grad(OnHost())(Tensor(A), n)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (lambda self, x, y, out, dout: (dout,), "returns 1 gradients for 2 inputs"),
        (lambda self, x, y, out, dout: dout, "returns Tensor for 2 inputs"),
        (lambda self, x, y, out, dout: (dout, dout, dout), "returns 3 gradients for 2 inputs"),
        (
            lambda self, x, y, out, dout: (dout[:2], dout),
            r"gives f32\[2\] as the gradient of an input that is f32\[3\]",
        ),
        (lambda self, x, y, out, dout: (ops.cast(dout, "int32"), dout), r"gives i32\[3\] as the gradient"),
        (lambda self, x, y, out, dout: ((dout, dout), dout), "gives 2 gradients for an input of 1 tensors"),
        (lambda self, x, y, out, dout: (ops.assign(self.k, dout), dout), "assigns 'k'"),
    ],
)
def test_a_bprop_that_does_not_fit(rule: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message) as caught:
        ops.GradOperation()(Halved(rule))(Tensor(A), Tensor(B))
    assert isinstance(caught.value, graphc.GradientError)
    assert caught.value.code == "GC153"


def test_the_pass_is_seen_in_the_pipeline() -> None:
    cell = Halved(lambda self, x, y, out, dout: (dout, dout))
    step = graphc.compile(Of(ops.grad(cell)), Tensor(A), Tensor(B))
    graphs = dict(step.passes)
    assert any(n.op.name == "CustomGrad" for n in graphs["trace"])
    assert not any(n.op.name == "CustomGrad" for n in graphs["autodiff"])
    assert [s.name for s in run(graphs["trace"])] == [name for name, _ in step.passes]
    assert str(graphs["trace"]) == str(graphc.ir.parse(str(graphs["trace"])))


def test_hook_backward_sees_and_changes_the_gradient() -> None:
    def through(hook: Any) -> Any:
        marked = ops.HookBackward(hook)
        return ops.grad(lambda x, y: marked(x * y) * 3, (0, 1))(Tensor(A), Tensor(B))

    close(through(lambda gradient: None), (3 * B, 3 * A))
    close(through(lambda gradient: gradient[0] * 2), (6 * B, 6 * A))
    close(through(lambda gradient: (gradient[0] * 2,)), (6 * B, 6 * A))
    close(ops.HookBackward(lambda g: g)(Tensor(A)), A)
    for make in (ops.HookBackward, ops.InsertGradientOf):
        with pytest.raises(TypeError, match="must be a function, got int"):
            make(3)


def test_insert_gradient_of_with_control_flow() -> None:
    def clipped(dx: Tensor) -> Tensor:
        if dx.sum() > 3:
            result = dx * 0.5
        else:
            result = dx
        return result

    insert = ops.InsertGradientOf(clipped)

    def fn(x: Tensor, y: Tensor) -> Tensor:
        return insert(x) * y

    for y, factor in ((np.full(3, 2.0, np.float32), 0.5), (np.full(3, 0.5, np.float32), 1.0)):
        close(ops.grad(fn)(Tensor(A), Tensor(y)), y * factor)
    bad = ops.InsertGradientOf(lambda dx: dx[:2])
    with pytest.raises(RuntimeError, match=r"gives f32\[2\] as the gradient"):
        ops.grad(lambda x: bad(x) * 2)(Tensor(A))


# ---- functions over nests


def test_a_registered_function_may_branch_on_tensors() -> None:
    clip = ops.MultitypeFuncGraph("clip")

    @clip.register("Number", "Tensor")
    def _clip(limit: float, x: Tensor) -> Tensor:
        if x.sum() > limit:
            y = x * 0
        else:
            y = x
        return y

    class Net(nn.Cell):
        def construct(self, xs: Any) -> Any:
            return ops.HyperMap()(ops.partial(clip, 1.0), xs)

    close(Net()((Tensor(A), Tensor(np.ones(3, np.float32)))), (A if A.sum() <= 1 else A * 0, np.zeros(3)))


def test_the_best_fit_is_taken() -> None:
    f = ops.MultitypeFuncGraph("f")
    for names in (("Number",), ("Int",), ("Tensor",), ("Float",), ("Tuple",), ("Function",)):
        f.register(*names)(lambda x, kind=names[0]: kind)
    assert [f(x) for x in (1, 2.0, True, Tensor(1.0), (1,), len)] == [
        "Int",
        "Float",
        "Number",
        "Tensor",
        "Tuple",
        "Function",
    ]
    g = ops.MultitypeFuncGraph("g")
    g.register(Tensor, graphc.float32)(lambda x, y: "dtype")
    g.register("Tensor, Tensor")(lambda x, y: "both")
    assert g(Tensor(1.0), 2.0) == "dtype"
    assert g(1, 2) == "both"
    assert repr(g) == "MultitypeFuncGraph('g', 2 functions)"


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda f, x: f(x, "a"), TypeError, r"f has no function for \(Tensor f32\[3\], String\)"),
        (lambda f, x: f(x), TypeError, r"registered are \(Tensor, Tensor\)"),
        (lambda f, x: f.register(3), TypeError, "a type is registered by its name, got int"),
        (lambda f, x: f.register("Tensor")(3), TypeError, "cannot register int, expected a function"),
        (lambda f, x: ops.MultitypeFuncGraph(3), TypeError, "name must be a string, got int"),
        (lambda f, x: ops.HyperMap()(f, (x, x), (x,)), RuntimeError, "the sequences differ in length: 2, 1"),
        (lambda f, x: ops.HyperMap()(f, (x,), [x]), RuntimeError, "the arguments nest differently: Tuple, List"),
        (lambda f, x: ops.Map()(f, {"a": x}, {"b": x}), RuntimeError, r"differ in length: \['a'\], \['b'\]"),
        (lambda f, x: ops.HyperMap(3), TypeError, "ops must be a function, got int"),
        (lambda f, x: ops.HyperMap(reverse=1), TypeError, "reverse must be a bool, got int"),
        (lambda f, x: ops.HyperMap()(x), TypeError, "the first argument must be a function, got Tensor"),
        (lambda f, x: ops.Map()(), TypeError, "the first argument must be a function, got nothing"),
        (lambda f, x: ops.partial(3), TypeError, "fn must be a function, got int"),
    ],
)
def test_nests_refused(make: Any, error: type[Exception], message: str) -> None:
    f = ops.MultitypeFuncGraph("f")
    f.register("Tensor", "Tensor")(lambda a, b: a + b)
    with pytest.raises(error, match=message) as caught:
        make(f, Tensor(A))
    assert isinstance(caught.value, graphc.GraphcError)


def test_the_order_of_a_map() -> None:
    seen: list[int] = []
    assert ops.Map(reverse=True)(lambda x: seen.append(x) or x * 2, [1, 2, 3]) == [2, 4, 6]
    assert seen == [3, 2, 1]
    assert ops.HyperMap()(lambda x, y: x + y, ((1, 2), [3]), 10) == ((11, 12), [13])
