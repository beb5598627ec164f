"""Where a function takes a number, a tensor of one gives the same: its value where that is known, that of the run where the
function computes with it; else the error names the function, the argument and the way out.
"""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import graphc
from graphc import Tensor, mint, nn, ops
from graphc.errors import GraphcError
from graphc.kinds import kinds
from graphc.ops.tensor.tree import flatten
from graphc.trace import trace

F = mint.nn.functional
RNG = np.random.default_rng(3)
X, Y, Z = (Tensor(RNG.standard_normal((4, 3)).astype(np.float32)) for _ in range(3))
LABELS = Tensor(np.array([0, 1, 2, 1], np.int32))
SIGNS = Tensor(np.array([1, -1, 1, -1], np.int32))
IMAGES = Tensor(RNG.random((2, 4, 4, 3)).astype(np.float32))
BOX, FIRST = Tensor([[0.0, 0.0, 1.5, 1.5]]), Tensor(np.array([0], np.int32))

#: Functions of a tensor and a number with which they compute, and the number.
COMPUTED = {
    "softplus beta": (lambda x, a: ops.softplus(x, a), 1.5),
    "softplus threshold": (lambda x, a: ops.softplus(x, 1, a), 0.5),
    "mint softplus": (lambda x, a: F.softplus(x, a, 1), 2.0),
    "celu": (lambda x, a: ops.celu(x, a), 1.5),
    "huber_loss": (lambda x, a: ops.huber_loss(x, Y, delta=a), 0.7),
    "smooth_l1_loss": (lambda x, a: ops.smooth_l1_loss(x, Y, beta=a), 0.7),
    "cross_entropy label_smoothing": (lambda x, a: ops.cross_entropy(x, LABELS, label_smoothing=a), 0.2),
    "cross_entropy of probabilities": (lambda x, a: ops.cross_entropy(x, Y, label_smoothing=a), 0.2),
    "cross_entropy ignore_index": (lambda x, a: ops.cross_entropy(x, LABELS, ignore_index=a), 1),
    "nll_loss label_smoothing": (lambda x, a: ops.nll_loss(x, LABELS, label_smoothing=a), 0.2),
    "nll_loss ignore_index": (lambda x, a: ops.nll_loss(x, LABELS, ignore_index=a), 1),
    "cosine_embedding_loss": (lambda x, a: ops.cosine_embedding_loss(x, Y, SIGNS, margin=a), 0.1),
    "gaussian_nll_loss": (lambda x, a: ops.gaussian_nll_loss(x, Y, ops.square(Z), eps=a), 0.5),
    "multi_margin_loss": (lambda x, a: ops.multi_margin_loss(x, LABELS, margin=a), 0.5),
    "triplet_margin_loss p": (lambda x, a: ops.triplet_margin_loss(x, Y, Z, p=a), 3),
    "triplet_margin_loss eps": (lambda x, a: ops.triplet_margin_loss(x, Y, Z, eps=a), 0.1),
    "clip_by_norm": (lambda x, a: ops.clip_by_norm(x, a), 0.5),
    "clip_by_norm norm_type": (lambda x, a: ops.clip_by_norm(ops.abs(x), 0.5, norm_type=a), 3.0),
    "clip_by_norm infinity": (lambda x, a: ops.clip_by_norm(x, 0.5, norm_type=a), float("inf")),
    "clip_by_global_norm": (lambda x, a: ops.clip_by_global_norm((x, Y), a)[0], 0.5),
    "rrelu": (lambda x, a: ops.rrelu(x, 0.25, a), 0.25),
    "lp_pool1d": (lambda x, a: ops.lp_pool1d(ops.abs(x), a, 2), 3.0),
    "crop_and_resize": (lambda x, a: ops.crop_and_resize(IMAGES, BOX, FIRST, (2, 2), extrapolation_value=a), 3.0),
}

#: Functions of a tensor and a number that says what is computed, and the number; what the error names.
KNOWN = {
    "norm: ord": (lambda x, a: ops.norm(x, a, 1), 3),
    "vector_norm: ord": (lambda x, a: ops.vector_norm(x, a), 3.0),
    "cdist: p": (lambda x, a: ops.cdist(x, x, a), 1.5),
    "dropout: p": (lambda x, a: ops.dropout(x, a, training=False), 0.5),
    "topk: k": (lambda x, a: ops.topk(x, a)[0], 2),
    "cumsum: axis": (lambda x, a: ops.cumsum(x, a), 1),
    "sum: axis": (lambda x, a: x.sum(a), 1),
    "softmax: axis": (lambda x, a: ops.softmax(x, a), 1),
    "concat: axis": (lambda x, a: ops.concat((x, Y), a), 1),
    "fft: n": (lambda x, a: ops.abs(ops.fft(x, a)), 2),
    "tile: dims": (lambda x, a: ops.tile(x, (a, 1)), 2),
    "eye: n": (lambda x, a: ops.eye(a), 2),
    "matrix_power: n": (lambda x, a: ops.matrix_power(x[:3], a), 2),
    "select: index": (lambda x, a: mint.select(x, 1, a), 2),
    "histc: bins": (lambda x, a: ops.histc(x, a, -1.0, 1.0), 4),
    "range: end": (lambda x, a: ops.range(0, a, 1), 4),
}


class Of(nn.Cell):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def construct(self, x, a):
        return self.function(x, a)


def tensor(number):
    return Tensor(number, graphc.float32 if isinstance(number, float) else graphc.int64)


@pytest.fixture
def pynative():
    graphc.set_context(mode=graphc.PYNATIVE_MODE)
    yield
    graphc.set_context(mode=graphc.GRAPH_MODE)


@pytest.mark.parametrize("case", COMPUTED)
def test_numbers_of_the_run(case):
    function, number = COMPUTED[case]
    graphc.set_seed(1)
    wanted = function(X, number)
    graphc.set_seed(1)
    made = Of(function)(X, tensor(number))
    assert made.dtype == wanted.dtype
    np.testing.assert_allclose(made.asnumpy(), wanted.asnumpy(), rtol=3e-6, atol=1e-6)


@pytest.mark.parametrize("case", [*COMPUTED, *KNOWN])
def test_numbers_that_are_known(case, pynative):
    function, number = {**COMPUTED, **KNOWN}[case]
    graphc.set_seed(1)
    wanted = function(X, number)
    for call in (function, Of(function)):
        graphc.set_seed(1)
        np.testing.assert_allclose(call(X, tensor(number)).asnumpy(), wanted.asnumpy(), rtol=3e-6, atol=1e-6)


@pytest.mark.parametrize("case", KNOWN)
def test_the_error_names_the_argument(case):
    function, number = KNOWN[case]
    with pytest.raises(TypeError, match=f"{case} must be known while the Cell is compiled") as error:
        Of(function)(X, tensor(number))
    assert "give a Python number" in str(error.value)
    assert error.value.loc.file.endswith("tensors.py")


@pytest.mark.parametrize("case", ["softplus beta", "celu", "huber_loss", "smooth_l1_loss", "clip_by_norm"])
def test_numbers_of_the_run_have_gradients(case):
    function, number = COMPUTED[case]
    x, step = Tensor(X.asnumpy().astype(np.float64)), 1e-6

    def total(a):
        return ops.reduce_sum(function(x, a))

    got = graphc.grad(Of(lambda x, a: ops.reduce_sum(function(x, a))), 1)(x, Tensor(np.float64(number)))
    low, high = (float(total(number + d).asnumpy()) for d in (-step, step))
    assert abs(float(got) - (high - low) / (2 * step)) < 1e-6


def test_numbers_of_the_run_are_looked_at():
    step = Of(lambda x, a: ops.softplus(x, a))
    step(X, Tensor(2.0))
    with pytest.raises(ValueError, match="softplus: beta must not be 0"):
        step(X, Tensor(0.0))


def test_numbers_keep_the_dtype_of_tensors():
    half = Tensor(np.ones(3, np.float16))
    assert Of(lambda x, a: ops.softplus(x, a))(half, Tensor(2.0)).dtype == graphc.float16


#: Each function once, by one of its names.
FUNCTIONS = {
    name: function
    for function, name in {
        getattr(module, name): f"{module.__name__}.{name}"
        for module in (ops, mint, F)
        for name in sorted(module.__all__)
        if hasattr(getattr(module, name), "__wrapped__")
    }.items()
}


class Fails(nn.Cell):
    """Calls a function with a traced tensor in the place of one number, and the other arguments that it must have."""

    def __init__(self, function, argument):
        super().__init__()
        self.function, self.argument = function, argument

    def construct(self, x, a):
        given = {self.argument: a}
        for name, parameter in inspect.signature(self.function).parameters.items():
            if parameter.default is parameter.empty and name != self.argument and parameter.kind.name[:3] != "VAR":
                given[name] = 1 if kinds(self.function.__wrapped__)[name].number else x
        return self.function(**given)


def test_no_function_says_only_that_a_tensor_is_traced():
    """Of all functions, for each of their numbers."""
    unclear, refused = [], 0
    for name, function in FUNCTIONS.items():
        for argument in (n for n, kind in kinds(function.__wrapped__).items() if kind.number):
            try:
                trace(Fails(function, argument), *flatten(((X, Tensor(1)), {})))
            except GraphcError as error:
                refused += "must be known while" in error.message
                known = argument in error.message or name.rpartition(".")[2].strip("_") in error.message
                if not known and error.code in ("GC120", "GC130", "GC131"):
                    unclear.append(f"{name}({argument}=): {error.message}")
    assert not unclear
    assert refused > 150
