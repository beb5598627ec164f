"""jit of functions and methods; mutable numbers and containers; nests through a compiled cell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, nn, ops
from graphc.ops.tensor.mutable import mutable

A = np.array([1.0, -2.0, 3.0], np.float32)


class Traces:
    """A function that counts how often it is traced."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, x: Any, *more: Any, **named: Any) -> Any:
        self.count += 1
        return x, more, named


# ---- jit


def test_a_function_is_compiled_once_per_signature() -> None:
    traced = []

    @graphc.jit
    def double(x: Tensor, times: int = 2) -> Tensor:
        """Doc."""
        traced.append(x.shape)
        return x * times

    for x in (Tensor(A), Tensor(A + 1), Tensor(A[:2])):
        np.testing.assert_array_equal(double(x).asnumpy(), x.asnumpy() * 2)
    assert traced == [(3,), (2,)]
    np.testing.assert_array_equal(double(Tensor(A), times=5).asnumpy(), A * 5)
    assert len(traced) == 3
    assert (double.__name__, double.__doc__) == ("double", "Doc.")


def test_control_flow_parameters_and_gradients_in_a_function() -> None:
    net = nn.Dense(3, 1, weight_init=Tensor(A[None]), bias_init="zeros")
    optimizer = nn.SGD(net.trainable_params(), 0.1)
    count = Parameter(Tensor(0, "int32"), name="count")

    def forward(x: Tensor) -> Tensor:
        return net(x).sum()

    gradient = graphc.value_and_grad(forward, None, optimizer.parameters)

    @graphc.jit
    def train(x: Tensor) -> Tensor:
        loss, grads = gradient(x)
        if loss > 0:
            ops.assign_add(count, 1)
        return ops.depend(loss, optimizer(grads))

    x = Tensor(np.ones((1, 3), np.float32))
    assert float(train(x)) == pytest.approx(2.0)
    np.testing.assert_allclose(net.weight.asnumpy(), A[None] - 0.1, rtol=1e-6)
    assert (int(count), int(optimizer.global_step.asnumpy()[0])) == (1, 1)


def test_methods() -> None:
    class Net(nn.Cell):
        def __init__(self, k: float) -> None:
            super().__init__()
            self.k = k
            self.w = Parameter(Tensor(A), name="w")

        @graphc.jit
        def scaled(self, x: Tensor) -> Tensor:
            return x * self.k * self.w

        @graphc.jit
        def construct(self, x: Tensor) -> Tensor:
            return self.scaled(x) + 1

    class Plain:
        k = 3.0

        @graphc.jit(jit_level="O1")
        def scaled(self, x: Tensor) -> Tensor:
            return x * self.k

    first, second = Net(2.0), Net(5.0)
    np.testing.assert_array_equal(first.scaled(Tensor(A)).asnumpy(), A * A * 2)
    np.testing.assert_array_equal(second.scaled(Tensor(A)).asnumpy(), A * A * 5)
    np.testing.assert_array_equal(second(Tensor(A)).asnumpy(), A * A * 5 + 1)
    np.testing.assert_array_equal(Plain().scaled(Tensor(A)).asnumpy(), A * 3)
    np.testing.assert_array_equal(graphc.jit(first.scaled)(Tensor(A)).asnumpy(), A * A * 2)
    assert graphc.jit(first) is first
    assert graphc.jit_class(Plain) is Plain
    np.testing.assert_array_equal(graphc.ms_function(lambda x: x * 2)(Tensor(A)).asnumpy(), A * 2)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"jit_level": "O5"}, ValueError, "jit_level must be 'O0' or 'O1', got 'O5'"),
        ({"capture_mode": "x"}, ValueError, "capture_mode must be"),
        ({"dynamic": 3}, ValueError, "dynamic must be 0 or 1, got 3"),
        ({"fullgraph": 3}, TypeError, "fullgraph must be a bool, got int"),
        ({"backend": "x"}, RuntimeError, "there is no backend 'x'"),
        ({"function": 3}, TypeError, "function must be a function or a Cell, got int"),
        ({"function": nn.ReLU}, TypeError, "function must be a function or a Cell, got type"),
    ],
)
def test_refused(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        graphc.jit(**{"function": lambda x: x, **options})


def test_generators_and_other_classes_are_refused() -> None:
    def numbers() -> Any:
        yield 1

    with pytest.raises(TypeError, match="is a generator"):
        graphc.jit(numbers)
    with pytest.raises(TypeError, match="cls must be a class"):
        graphc.jit_class(3)


# ---- mutable


class Same(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.traced = Traces()

    def construct(self, x: Any, *more: Any, **named: Any) -> Any:
        return self.traced(x, *more, **named)


def test_a_mutable_number_is_no_part_of_the_signature() -> None:
    cell = Same()
    for value in (3, 4, -5):
        assert cell(mutable(value))[0] == value
    assert cell.traced.count == 1
    for flag in (True, False):
        got = cell(mutable(flag))[0]
        assert got is flag
    assert cell.traced.count == 2
    for other in (3, 4):
        assert cell(other)[0] == other
    assert cell.traced.count == 4
    assert cell(Tensor(3))[0].asnumpy() == 3
    assert cell.traced.count == 5


def test_mutable_numbers_compute() -> None:
    class Net(nn.Cell):
        def construct(self, x: Tensor, k: Any) -> Any:
            n = 0
            while n < k:
                x = x * 2
                n = n + 1
            return x, n, k + 0.5

    net = Net()
    for k in (0, 1, 3):
        x, n, more = net(Tensor(A), mutable(k))
        np.testing.assert_array_equal(x.asnumpy(), A * 2**k)
        assert (n, more) == (k, k + 0.5)
        assert (type(n), type(more)) == (int, float)


def test_the_gradient_for_a_mutable_number_is_a_number() -> None:
    first, second = ops.GradOperation(get_all=True)(lambda x, k: x * k)(Tensor(A), mutable(3.0))
    np.testing.assert_array_equal(first.asnumpy(), np.full(3, 3.0))
    assert second == pytest.approx(2.0)
    assert isinstance(second, float)


def test_mutable_keeps_what_it_is_given() -> None:
    data = {"a": (1, 2.5, True), "b": [Tensor(A)]}
    made = mutable(data)
    assert made == data
    assert (isinstance(made, dict), isinstance(made["a"], tuple), isinstance(made["b"], list)) == (True,) * 3
    assert repr(made["a"]) == "(1, 2.5, True)"
    assert mutable(mutable(made)) == data
    got = Same()(made)[0]
    assert got["a"] == (1, 2.5, True)
    np.testing.assert_array_equal(got["b"][0].asnumpy(), A)
    assert mutable((1, 2), dynamic_len=True) == (1, 2)


@pytest.mark.parametrize(
    ("data", "dynamic", "message"),
    [
        ("a", False, "got str"),
        (None, False, "got NoneType"),
        ((1, {"a": "b"}), False, "got str"),
        (A, False, "got ndarray"),
        (Tensor(A), True, "dynamic_len needs a tuple or list, got Tensor"),
        ({}, True, "dynamic_len needs a tuple or list, got dict"),
    ],
)
def test_what_mutable_refuses(data: Any, dynamic: bool, message: str) -> None:
    with pytest.raises(graphc.ArgumentTypeError, match=message):
        mutable(data, dynamic)


# ---- nests through a cell


def test_nests_none_strings_and_names_go_in_and_out() -> None:
    cell = Same()
    x, more, named = cell({"a": [Tensor(A), None], "s": "text"}, (1, (Tensor(A), 2.5)), flag=True, last=Tensor(A))
    np.testing.assert_array_equal(x["a"][0].asnumpy(), A)
    assert (x["a"][1], x["s"], more[0][0], more[0][1][1], named["flag"]) == (None, "text", 1, 2.5, True)
    np.testing.assert_array_equal(named["last"].asnumpy(), A)
    assert cell.traced.count == 1
    cell({"a": [Tensor(A + 1), None], "s": "text"}, (1, (Tensor(A), 2.5)), flag=True, last=Tensor(A))
    assert cell.traced.count == 1
    cell({"a": [Tensor(A), None], "s": "other"}, (1, (Tensor(A), 2.5)), flag=True, last=Tensor(A))
    assert cell.traced.count == 2
