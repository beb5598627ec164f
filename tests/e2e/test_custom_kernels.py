"""Ops whose kernel is a user's own njit function: numbers, gradients, threads, checked mode, errors, training."""

from __future__ import annotations

from contextlib import contextmanager
from unittest.mock import patch

import numba
import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, nn, ops
from graphc.debug import debug
from graphc.errors import ArgumentTypeError, ArgumentValueError, KernelError, ShapeError
from graphc.ir import NO_GRAD, Sample, TensorType
from graphc.ir.op import _REGISTRY
from graphc.lower import cost
from graphc.testing import check_op, transform
from tests.cells import Of

X = np.linspace(-3, 3, 24, dtype=np.float32).reshape(4, 6)


@numba.njit
def swish_kernel(x):
    """x times its sigmoid"""
    return x / (np.float32(1) + np.exp(-x))


@numba.njit
def swish_grad_kernel(x, dy, dx):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            s = 1 / (1 + np.exp(-x[i, j]))
            dx[i, j] = dy[i, j] * (s + x[i, j] * s * (1 - s))


@numba.njit
def fragile_kernel(x, limit):
    if x.max() > limit:
        raise ValueError("too large")
    return x * 2


@numba.njit
def extrema_kernel(x, low, high):
    low[()] = x.min()
    high[()] = x.max()


@pytest.fixture(autouse=True)
def registry():
    """Ops that a test declares are gone afterwards."""
    before = set(_REGISTRY)
    yield
    for name in set(_REGISTRY) - before:
        del _REGISTRY[name]


@pytest.fixture
def swish():
    ops.custom("SwishGrad", swish_grad_kernel, writes=1)
    return ops.custom(
        "Swish",
        swish_kernel,
        grad=lambda g, n, dy: [g.SwishGrad(n.x, dy)],
        samples=lambda: [Sample((X,), grad=(0,)), Sample((X[:1, :1],))],
    )


def expected(x):
    return x / (1 + np.exp(-x))


def slope(x):
    s = 1 / (1 + np.exp(-x))
    return s + x * s * (1 - s)


@contextmanager
def running(**mode):
    """A mode; several threads share all they can."""
    if mode.get("threads", 1) == 1:
        with debug(**mode):
            yield
    else:
        with debug(**mode), patch.multiple(cost, _MEET=-1e9, _MEET_EACH=0.0, _DISPATCH=-1e9):
            yield


MODES = [{"threads": 1}, {"threads": 2}, {"jit": False}, {"canary": True}]


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_numbers_in_a_step(swish, mode):
    def function(x):
        return swish(swish(x * 2.0) + 1.0), ops.reduce_sum(swish(x))

    with running(**mode):
        step = graphc.compile(Of(function), X)
        for x in (X, X + 1):
            y, total = step(x)
            np.testing.assert_allclose(y.asnumpy(), expected(expected(2 * x) + 1), rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(total.asnumpy(), expected(x).sum(), rtol=1e-5)
    assert str(step.graph).count("= Swish(") == 3
    assert ("threads run it" in step.source) == (mode.get("threads") == 2)


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_gradients(swish, mode):
    with running(**mode):
        got = graphc.grad(lambda x: ops.reduce_sum(swish(x) * 3.0))(Tensor(X)).asnumpy()
    np.testing.assert_allclose(got, 3 * slope(X), rtol=1e-5, atol=1e-6)


def test_the_op_holds_to_what_every_op_must(swish):
    check_op("Swish")


def test_outside_a_step_and_in_pynative_mode(swish):
    np.testing.assert_allclose(swish(Tensor(X)).asnumpy(), expected(X), rtol=1e-6)
    graphc.set_context(mode=graphc.PYNATIVE_MODE)
    try:
        np.testing.assert_allclose(Of(swish)(Tensor(X)).asnumpy(), expected(X), rtol=1e-6)
    finally:
        graphc.set_context(mode=graphc.GRAPH_MODE)
    assert swish.__name__ == "swish_kernel"
    assert swish.__doc__ == "x times its sigmoid"


def test_passes_see_an_ordinary_op(swish):
    text = """\
graph @g {
  forward:
    %0 x: f32[4,6] = Input()
    %1: f32[4,6] = Swish(%0)
    %2: f32[4,6] = Swish(%0)
    %3: f32[4,6] = Add(%1, %2)
  return y=%3
}"""
    assert str(transform(text, "cse", meaning=True)).count("Swish") == 1


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_several_results_and_a_branch(mode):
    extrema = ops.custom(
        "Extrema", extrema_kernel, writes=2, grad=NO_GRAD, infer=lambda x: (TensorType(x.dtype, ()),) * 2
    )

    class Net(nn.Cell):
        def construct(self, x, flag):
            low, high = extrema(x)
            if flag:
                high, low = extrema(x * 2.0)
            return low, high

    with running(**mode):
        step = graphc.compile(Net(), X, np.array(True))
        assert [float(v) for v in step(X, np.array(True))] == [6, -6]
        assert [float(v) for v in step(X, np.array(False))] == [-3, 3]


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_in_a_loop(swish, mode):
    class Net(nn.Cell):
        def construct(self, x, n):
            i = Tensor(0, graphc.int32)
            while i < n:
                x = swish(x)
                i = i + 1
            return x

    with running(**mode):
        got = graphc.compile(Net(), X, np.array(0, np.int32))(X, np.array(3, np.int32)).asnumpy()
    np.testing.assert_allclose(got, expected(expected(expected(X))), rtol=1e-5, atol=1e-6)


def test_halves_and_empty_arrays():
    twice = ops.custom("Twice", numba.njit(lambda x: x * np.float32(2)))
    half = X.astype(np.float16)
    np.testing.assert_array_equal(graphc.compile(Of(twice), half)(half).asnumpy(), 2 * half)
    assert graphc.compile(Of(twice), X[:0])(X[:0]).shape == (0, 6)
    total = ops.custom("Total", numba.njit(lambda x: x.sum()), infer=lambda x: TensorType(x.dtype, ()))
    assert float(graphc.compile(Of(total), X[:0])(X[:0])) == 0
    assert float(graphc.compile(Of(total), X)(X)) == pytest.approx(X.sum(), abs=1e-5)


def test_a_transposed_operand_reaches_it_contiguous():
    rows = ops.custom("Rows", numba.njit(lambda x: x.ravel().reshape(x.shape) * np.float32(1)))
    got = graphc.compile(Of(lambda x: rows(ops.transpose(x, (1, 0)))), X)(X).asnumpy()
    np.testing.assert_array_equal(got, X.T)
    got = graphc.compile(Of(lambda x: rows(x[:, ::2])), X)(X).asnumpy()
    np.testing.assert_array_equal(got, X[:, ::2])


def test_it_may_read_one_array_twice_and_parameters_that_change():
    multiply = ops.custom("Product", numba.njit(lambda x, y: x * y))

    class Counter(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = Parameter(np.full((4, 6), 2, np.float32), name="w")

        def construct(self):
            ops.assign(self.w, multiply(self.w, self.w))
            return self.w + 0.0

    for mode in MODES:
        counter = Counter()
        with running(**mode):
            step = graphc.compile(counter)
            assert [float(step()[0, 0]) for _ in range(3)] == [4, 16, 256]


def test_the_object_cache_keeps_out(swish, tmp_path):
    with debug(cache=True, cache_dir=tmp_path, threads=1):
        for _ in range(2):
            assert not graphc.compile(Of(swish), X).cache_hit
    assert list(tmp_path.glob("*.o")) == []


# ---- failures


@pytest.mark.parametrize("mode", [*MODES, {"threads": 2, "profile": True}], ids=str)
def test_an_exception_stops_the_step_and_is_reported(mode):
    """Nothing after it has been done; the next call is a new one."""
    fragile = ops.custom("Fragile", fragile_kernel, attrs={"limit": 3.5})

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = Parameter(np.zeros((4, 6), np.float32), name="w")

        def construct(self, x):
            ops.assign(self.w, fragile(x))
            if self.w.sum() > 1000:
                x = x + 1.0
            return x + self.w

    net = Net()
    with running(**mode):
        step = graphc.compile(net, X)
        step(X)
        before = net.w.asnumpy().copy()
        for _ in range(2):
            with pytest.raises(
                KernelError, match=r"\[GC183\] the kernel of Fragile raised ValueError: too large"
            ) as caught:
                step(X + 1)
            assert caught.value.loc.file.endswith("test_custom_kernels.py")
            assert isinstance(caught.value.__cause__, ValueError)
            np.testing.assert_array_equal(net.w.asnumpy(), before)
        np.testing.assert_array_equal(step(X).asnumpy(), 3 * X)


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_an_exception_inside_a_loop_ends_it(mode):
    fragile = ops.custom("Fragile", fragile_kernel, attrs={"limit": 100.0})

    class Net(nn.Cell):
        def construct(self, x):
            while x.max() < 1000.0:
                x = fragile(x)
            return x

    with running(**mode):
        step = graphc.compile(Net(), X)
        with pytest.raises(KernelError, match="too large"):
            step(X)
        np.testing.assert_array_equal(step(X + 1000).asnumpy(), X + 1000)


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_another_shape_than_the_rule_says(mode):
    wrong = ops.custom("Wrong", numba.njit(lambda x: x[1:] * np.float32(2)))
    with running(**mode):
        step = graphc.compile(Of(wrong), X)
        with pytest.raises(
            KernelError, match=r"the kernel of Wrong returns float32\[3,6\] as result 0, .* float32\[4,6\]"
        ):
            step(X)
    with pytest.raises(ShapeError, match=r"Wrong: its kernel gives \[3, 6\], its type rule says f32\[4,6\]"):
        wrong(Tensor(X))


@numba.njit
def writes_its_input(x):
    x[0, 0] = 1
    return x * 2


@pytest.mark.parametrize(
    ("kernel", "options", "message"),
    [
        (numba.njit(lambda x: x.sum()), {}, "returns float32 as result 0, the type rule says"),
        (numba.njit(lambda x: (x, x)), {}, "returns 2 results, the type rule says 1"),
        (numba.njit(lambda x: x * 1.5), {"infer": lambda x: TensorType("int32", x.shape)}, r"returns .* as result 0"),
        (numba.njit(lambda x, y: x * 2), {"writes": 1}, "it is to write into its last arguments"),
        (writes_its_input, {}, "cannot be compiled"),
        (numba.njit(lambda x: x.no_such_method()), {}, "cannot be compiled"),
    ],
)
def test_kernels_that_cannot_work_are_refused_when_compiled(kernel, options, message):
    wrong = ops.custom("Wrong", kernel, **options)
    with pytest.raises(KernelError, match=message) as caught:
        graphc.compile(Of(wrong), X)
    assert len(str(caught.value).splitlines()) <= 20
    with debug(jit=False), pytest.raises(KernelError):
        graphc.compile(Of(wrong), X)(X)


def test_declarations_that_cannot_be_used():
    with pytest.raises(ArgumentTypeError, match=r"decorate it with @numba.njit"):
        ops.custom("Plain", lambda x: x)
    with pytest.raises(ArgumentValueError, match="an identifier with a capital first"):
        ops.custom("plain", swish_kernel)
    with pytest.raises(ArgumentValueError, match="already declared"):
        ops.custom("Add", swish_kernel)
    with pytest.raises(ArgumentTypeError, match=r"takes \(x\), expected operands, then alpha"):
        ops.custom("Alpha", swish_kernel, attrs={"alpha": 1.0})
    with pytest.raises(ArgumentTypeError, match="expected operands, then 2 arrays to write"):
        ops.custom("Alpha", swish_kernel, writes=2)
    no_rule = ops.custom("Nothing", numba.njit(lambda: 1.0))
    with pytest.raises(ArgumentTypeError, match="it needs a type rule"):
        no_rule()
    wrong = ops.custom("Rule", swish_kernel, infer=lambda x: x.shape)
    with pytest.raises(ArgumentTypeError, match="its type rule gives"):
        wrong(Tensor(X))
    with pytest.raises(TypeError, match="Swish2"):
        ops.custom("Swish2", swish_kernel)(Tensor(X), Tensor(X))


def test_a_gradient_that_nobody_gave():
    plain = ops.custom("Plain", swish_kernel)
    with pytest.raises(graphc.GradientError, match="Plain has no gradient"):
        graphc.grad(lambda x: ops.reduce_sum(plain(x)))(Tensor(X))


# ---- training


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_a_loss_scaled_training_step(swish, mode):
    """The same losses and weights as with functions of graphc's, an overflow included."""

    def trained(function):
        graphc.set_seed(3)

        class Net(nn.Cell):
            def __init__(self):
                super().__init__()
                self.first, self.second = nn.Dense(6, 8), nn.Dense(8, 3)

            def construct(self, x):
                return self.second(function(self.first(x)))

        net = Net()
        with_loss = nn.WithLossCell(net, nn.MSELoss())
        optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
        manager = nn.DynamicLossScaleUpdateCell(2.0**10, 2, 2)
        cell = nn.TrainOneStepWithLossScaleCell(with_loss, optimizer, manager)
        y = np.ones((4, 3), np.float32)
        steps = [[float(v) for v in cell(Tensor(x), Tensor(y))] for x in (X, X / 2, X * np.inf, X)]
        return steps, [p.asnumpy() for p in net.trainable_params()]

    with running(**mode):
        steps, weights = trained(swish)
        wanted, others = trained(lambda x: x * ops.sigmoid(x))
    np.testing.assert_allclose(steps, wanted, rtol=1e-4)
    assert [s[1] for s in steps] == [0, 0, 1, 0]
    for got, want in zip(weights, others, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)
