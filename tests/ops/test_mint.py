"""graphc.mint against torch in float64, recorded (tests/data/torch_mint.py): results, dtypes, gradients; eager and compiled."""

from __future__ import annotations

import json
import pickle
from operator import attrgetter
from pathlib import Path
from types import FunctionType

import numpy as np
import pytest

import graphc
import graphc.mint.nn.functional
from graphc import Tensor, mint, nn, ops
from tests.data.torch_mint import CASES, cotangent

RECORDED = json.loads((Path(__file__).parents[1] / "data" / "torch_mint.json").read_text())


def tensors(x):
    if isinstance(x, np.ndarray):
        return Tensor(x)
    return tuple(map(tensors, x)) if isinstance(x, tuple) and any(isinstance(e, np.ndarray) for e in x) else x


def arrays(x):
    """The arrays among arguments, in order."""
    if isinstance(x, np.ndarray):
        return [x]
    return [a for e in x for a in arrays(e)] if isinstance(x, tuple) else []


def parts(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


def compare(name, found):
    expected = RECORDED[name]["parts"]
    assert len(found) == len(expected)
    for got, want in zip(found, expected, strict=True):
        assert list(got.shape) == want["shape"]
        assert np.dtype(got.asnumpy().dtype).name == want["dtype"]
        np.testing.assert_allclose(got.asnumpy().ravel(), want["values"], rtol=3e-6, atol=3e-6)


class Several(nn.Cell):
    """Functions of cases, of the arrays among their arguments: the results of each; summed, what is differentiated."""

    def __init__(self, names, summed=False):
        super().__init__()
        self.names, self.summed = names, summed

    def construct(self, *given):
        left, results = list(given), []

        def put(x):
            if isinstance(x, np.ndarray):
                return left.pop(0)
            return tuple(map(put, x)) if isinstance(x, tuple) and arrays(x) else x

        for name in self.names:
            function, args, kwargs = CASES[name]
            args = [put(a) for a in args]
            results.append(tuple(parts(attrgetter(function)(mint)(*args, **{k: put(v) for k, v in kwargs.items()}))))
        if not self.summed:
            return tuple(results)
        floats = [r for result in results for r in result if r.dtype in (graphc.float32, graphc.float64)]
        return sum(ops.reduce_sum(ops.reshape(r, (-1,)) * Tensor(cotangent(r.size))) for r in floats)


@pytest.mark.parametrize("name", CASES)
def test_results_are_torchs(name):
    function, args, kwargs = CASES[name]
    result = attrgetter(function)(mint)(*map(tensors, args), **{k: tensors(v) for k, v in kwargs.items()})
    compare(name, parts(result))


def given(names):
    """The operands of several cases, and where those of each begin."""
    found, starts = [], []
    for name in names:
        _, args, kwargs = CASES[name]
        starts.append(len(found))
        found += [Tensor(a) for a in (*arrays(tuple(args)), *arrays(tuple(kwargs.values())))]
    return found, starts


#: Shapes that are known by the values only.
EAGER = ("nn.functional.one_hot_counted", "bincount", "unique_rows")
COMPILED = [n for n in CASES if arrays(CASES[n][1]) and n not in EAGER and CASES[n][0] not in EAGER]


@pytest.mark.parametrize("start", range(0, len(COMPILED), 20))
def test_compiled_results_are_torchs(start):
    names = COMPILED[start : start + 20]
    for name, result in zip(names, Several(names)(*given(names)[0]), strict=True):
        compare(name, list(result))


DIFFERENTIATED = [n for n in COMPILED if RECORDED[n]["gradient"] is not None]


@pytest.mark.parametrize("start", range(0, len(DIFFERENTIATED), 20))
def test_gradients_are_torchs(start):
    names = DIFFERENTIATED[start : start + 20]
    operands, starts = given(names)
    gradients = ops.grad(Several(names, summed=True), tuple(starts))(*operands)
    for name, found in zip(names, gradients, strict=True):
        np.testing.assert_allclose(
            found.asnumpy().ravel(), RECORDED[name]["gradient"], rtol=1e-5, atol=1e-5, err_msg=name
        )


# ---- draws


def test_draws_come_of_their_generator():
    one, two = graphc.Generator().manual_seed(3), graphc.Generator().manual_seed(3)

    def drawn(g):
        return [
            mint.rand(2, 3, generator=g), mint.randn((2, 3), generator=g), mint.randint(5, (40,), generator=g),
            mint.randint(-3, 2, (40,), generator=g), mint.randperm(9, generator=g), mint.normal(1.0, 2.0, (3,), generator=g),
            mint.bernoulli(Tensor(np.full(40, 0.3, np.float32)), generator=g),
            mint.multinomial(Tensor([0.1, 0.0, 0.9]), 2, generator=g),
        ]  # fmt: skip

    first = drawn(one)
    for a, b in zip(first, drawn(two), strict=True):
        np.testing.assert_array_equal(a.asnumpy(), b.asnumpy())
    rand, randn, small, signed, order, normal, coins, chosen = (x.asnumpy() for x in first)
    assert rand.shape == randn.shape == (2, 3)
    assert (rand >= 0).all()
    assert (rand < 1).all()
    assert set(small) <= set(range(5))
    assert len(set(small)) > 2
    assert set(signed) <= set(range(-3, 2))
    assert len(set(signed)) > 2
    assert sorted(order) == list(range(9))
    assert normal.shape == (3,)
    assert set(coins) == {0, 1}
    assert sorted(chosen) == [0, 2]
    assert [x.dtype.name for x in (small, order, chosen, rand)] == ["int64", "int64", "int64", "float32"]


def test_draws_like_a_tensor():
    x = Tensor(np.zeros((500, 40), np.float16))
    assert mint.rand_like(x).dtype == mint.randn_like(x).dtype == graphc.float16
    values = mint.randint_like(x, 2, 5).asnumpy()
    assert values.dtype == np.float16
    assert set(values.ravel()) == {2, 3, 4}
    normal = mint.normal(Tensor(np.full(20000, 3.0, np.float32)), 2.0).asnumpy()
    assert abs(normal.mean() - 3) < 0.1
    assert abs(normal.std() - 2) < 0.1


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: mint.normal(0.0, 1.0), graphc.ArgumentValueError, "size is given where"),
        (lambda: mint.normal(Tensor([0.0]), 1.0, (2,)), graphc.ArgumentValueError, "size is given where"),
        (lambda: mint.randint(3), graphc.ArgumentTypeError, "takes .high, size."),
        (lambda: mint.randint(2.5, (3,)), graphc.ArgumentTypeError, "high must be an int"),
        (lambda: mint.randint(3, 3, (3,)), graphc.ArgumentValueError, "there are none"),
        (lambda: mint.rand(3, device="GPU"), graphc.ArgumentValueError, "device='GPU'"),
        (
            lambda: mint.randn((2, 3), graphc.float32),
            graphc.ArgumentTypeError,
            "nothing is given by position, got Float32",
        ),
        (lambda: mint.rand(3, generator=1), graphc.ArgumentTypeError, "must be a graphc.Generator"),
        (lambda: mint.div(Tensor([1.0]), 2.0, rounding_mode="up"), graphc.ArgumentValueError, "rounding_mode"),
        (lambda: mint.sort(Tensor([1.0]), stable=None), graphc.ArgumentValueError, "stable=None"),
        (lambda: mint.nn.functional.relu(Tensor([1.0]), 1), graphc.ArgumentValueError, "inplace=1"),
    ],
)
def test_bad_arguments(make, error, message):
    with pytest.raises(error, match=message):
        make()


IN_PLACE = [
    (lambda f, x: f.relu(x), lambda f, x: f.relu_(x)),
    (lambda f, x: f.relu(x), lambda f, x: f.relu(x, True)),
    (lambda f, x: f.relu6(x), lambda f, x: f.relu6(x, inplace=True)),
    (lambda f, x: f.silu(x), lambda f, x: f.silu(x, inplace=True)),
    (lambda f, x: f.sigmoid(x), lambda f, x: f.sigmoid_(x)),
    (lambda f, x: f.elu(x, 0.7), lambda f, x: f.elu_(x, 0.7)),
    (lambda f, x: f.hardtanh(x, -0.5, 1.0), lambda f, x: f.hardtanh_(x, -0.5, 1.0)),
    (lambda f, x: f.threshold(x, 0.3, -2.0), lambda f, x: f.threshold_(x, 0.3, -2.0)),
    (
        lambda f, x: ops.addr(x, x[:, 0], x[0], beta=0.5, alpha=2.0),
        lambda f, x: mint.addr_(x, x[:, 0], x[0], 0.5, 2.0),
    ),
]


@pytest.mark.parametrize(("new", "changed"), IN_PLACE)
def test_functions_that_change_their_operand(new, changed):
    f, values = mint.nn.functional, np.linspace(-2, 2, 15, dtype=np.float32).reshape(3, 5)
    x, expected = Tensor(values), new(f, Tensor(values)).asnumpy()
    assert changed(f, x) is x
    assert np.array_equal(x.asnumpy(), expected)

    def total(function):
        return lambda x: ops.reduce_sum(ops.sin(function(f, x * 1.0)))

    class Net(graphc.nn.Cell):
        def construct(self, x):
            y = x * 1.0
            changed(f, y)
            return y

    assert np.allclose(graphc.compile(Net(), values)(values).asnumpy(), expected, atol=1e-6)
    gradients = [graphc.grad(total(function))(Tensor(values)).asnumpy() for function in (new, changed)]
    assert np.allclose(*gradients, rtol=1e-6, atol=1e-7)


def test_convolution_of_time_batch_channels():
    random = np.random.default_rng(0)
    x, w, b = (random.standard_normal(s).astype(np.float32) for s in ((5, 2, 3), (3, 3, 4), (4,)))
    framed = np.pad(x.astype(np.float64), ((2, 2), (0, 0), (0, 0)))
    expected = sum(np.einsum("lnc,co->lno", framed[k : k + 7], w[k].astype(np.float64)) for k in range(3)) + b
    assert np.allclose(mint.conv_tbc(Tensor(x), Tensor(w), Tensor(b), 2).asnumpy(), expected, atol=1e-5)
    with pytest.raises(graphc.ShapeError, match="conv_tbc"):
        mint.conv_tbc(Tensor(x[0]), Tensor(w), Tensor(b))


def test_equal_asks_for_shape_and_elements():
    x = Tensor([1.0, 2.0])
    assert mint.equal(x, Tensor([1.0, 2.0])) is True
    assert mint.equal(x, Tensor([1.0, 3.0])) is False
    assert mint.equal(x, Tensor([[1.0, 2.0]])) is False


@pytest.mark.parametrize("module", [mint, mint.linalg, mint.special, mint.nn.functional], ids=lambda m: m.__name__)
def test_arguments_that_a_function_has_not_are_refused_in_the_house_form(module):
    for name in module.__all__:
        function = getattr(module, name)
        if isinstance(function, FunctionType):
            with pytest.raises(graphc.ArgumentTypeError, match=r"GC100\] \w+: .*; its arguments are \("):
                function(no_such_argument=1)
            assert pickle.loads(pickle.dumps(function)) is function
    assert mint.special.expm1 is mint.expm1
