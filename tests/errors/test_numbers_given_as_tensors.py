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
from graphc.ops.tensor.tree import flatten
from graphc.trace import trace
from graphc.validation.annotations import kinds

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
    "histc: bins": (lambda x, a: ops.histc(x, a, -1.0, 1.0), 4),
    "range: end": (lambda x, a: ops.range(0, a, 1), 4),
    "Range: end": (lambda x, a: ops.Range()(0, a, 1), 4),
    "Tile: dims": (lambda x, a: ops.Tile()(x, (a, 1)), 2),
    "Slice: size": (lambda x, a: ops.Slice()(x, (0, 0), (a, 2)), 2),
    "ReduceSum: axis": (lambda x, a: ops.ReduceSum()(x, (a, 0)), 1),
    "max_pool2d: kernel_size": (lambda x, a: ops.max_pool2d(IMAGES, (a, 2)), 2),
    "interpolate: size": (lambda x, a: ops.interpolate(IMAGES, size=(a, 3)), 2),
    "adaptive_avg_pool2d: output_size": (lambda x, a: ops.adaptive_avg_pool2d(IMAGES, (a, None)), 2),
    "tensor_dot: axes": (lambda x, a: ops.tensor_dot(x, Y, a), 2),
    "split: split_size_or_sections": (lambda x, a: ops.split(x, a)[0], 2),
    "polygamma: n": (lambda x, a: ops.polygamma(a, ops.abs(x) + 5), 1),
    "Dropout: p": (lambda x, a: nn.Dropout(p=a)(x), 0.0),
}


#: Functions of a tensor and a number that says where they begin, and the number.
PLACES = {
    "narrow": (lambda x, a: ops.narrow(x, 0, a, 2), 1),
    "narrow from the end": (lambda x, a: mint.narrow(x, 1, a, 2), -2),
    "select": (lambda x, a: mint.select(x, 1, a), 2),
    "slice": (lambda x, a: ops.slice(x, (a, 0), (2, 2)), 1),
    "Slice": (lambda x, a: ops.Slice()(x, (0, a), (-1, 1)), 1),
    "triu": (lambda x, a: ops.triu(x, a), 1),
    "tril": (lambda x, a: ops.tril(x, a), -1),
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


class OfHeld(nn.Cell):
    """A function of a tensor and of a number that the Cell holds, or makes of one that it holds."""

    def __init__(self, function, number, made=False):
        super().__init__()
        self.function, self.number, self.made = function, number, made

    def construct(self, x):
        return self.function(x, self.number * 1 + 0 if self.made else self.number)


@pytest.mark.parametrize("case", [*COMPUTED, *PLACES])
def test_numbers_of_the_run(case):
    function, number = {**COMPUTED, **PLACES}[case]
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


@pytest.mark.parametrize("case", [*COMPUTED, *PLACES, *KNOWN])
def test_numbers_that_a_cell_holds(case):
    """A tensor, one that is made of it, one with an axis, and NumPy's numbers and arrays without axes."""
    function, number = {**COMPUTED, **PLACES, **KNOWN}[case]
    graphc.set_seed(1)
    wanted = function(X, number)
    numpys = np.float32 if isinstance(number, float) else np.int64
    held = [OfHeld(function, tensor(number), made) for made in (False, True)]
    held += [OfHeld(function, each) for each in (numpys(number), np.array(number, numpys))]
    if case in KNOWN:
        held.append(OfHeld(function, Tensor(np.array([number], numpys))))
    for cell in held:
        graphc.set_seed(1)
        made = cell(X)
        assert made.shape == wanted.shape
        np.testing.assert_allclose(made.asnumpy(), wanted.asnumpy(), rtol=3e-6, atol=1e-6)


@pytest.mark.parametrize("start", [3, -5, 2**31])
def test_places_of_the_run_are_looked_at(start):
    for function in (ops.narrow, mint.narrow):
        with pytest.raises((IndexError, ValueError)):
            Of(lambda x, a, function=function: function(x, 0, a, 2))(X, tensor(start))


def test_gradients_pass_through_what_begins_where_the_run_tells():
    got = graphc.grad(Of(lambda x, a: ops.reduce_sum(ops.narrow(x, 0, a, 2) * X[:2])))(X, tensor(1))
    assert got.asnumpy().tolist() == [[0.0] * 3, *X.asnumpy()[:2].tolist(), [0.0] * 3]


def test_slices_by_what_is_made_of_constants_have_sizes():
    class Cut(nn.Cell):
        def __init__(self):
            super().__init__()
            self.count = Tensor(1)

        def construct(self, x):
            k = self.count + 1
            rows = x[:k]
            assert rows.shape == (2, 3)
            return rows.reshape((k, -1)), x[::k], x[k:], x.tile((k, 1)), x[k] if k > 1 else x[0]

    made = Cut()(X)
    x = X.asnumpy()
    for got, wanted in zip(made, (x[:2], x[::2], x[2:], np.tile(x, (2, 1)), x[2]), strict=True):
        np.testing.assert_array_equal(got.asnumpy(), wanted)


def test_a_held_number_that_changes_is_taken_anew():
    cell = OfHeld(ops.cumsum, Tensor(0), True)
    np.testing.assert_allclose(cell(X).asnumpy(), np.cumsum(X.asnumpy(), 0), rtol=1e-6)
    cell.number = Tensor(1)
    np.testing.assert_allclose(cell(X).asnumpy(), np.cumsum(X.asnumpy(), 1), rtol=1e-6)


def test_a_parameter_is_no_number_that_is_known():
    with pytest.raises(TypeError, match="cumsum: axis must be known while the Cell is compiled"):
        OfHeld(ops.cumsum, graphc.Parameter(Tensor(0), name="a"), True)(X)


def test_numbers_of_numpy_have_no_dtype_of_their_own():
    """As in MindSpore 2.10."""
    assert mint.full((2,), np.float64(1.5)).dtype == graphc.float32
    assert ops.one_hot(LABELS, 3, np.float64(2.5), 0.0).dtype == graphc.float32
    assert ops.softshrink(X, Tensor(np.float64(0.3))).dtype == graphc.float32
    assert ops.pad(X, (1, 1), "constant", np.array(1)).shape == (4, 5)


def test_constructors_take_numbers_that_are_known():
    """Recorded from MindSpore 2.10, which takes these; also NumPy's, which it mostly refuses."""
    x = Tensor(np.ones((2, 4, 6, 6), np.float32))
    for make in (
        lambda n: nn.BatchNorm2d(4, n(0.5), n(0.5)),
        lambda n: nn.Conv2d(4, 4, 3, dilation=n(2)),
        lambda n: nn.ELU(n(1.0)),
        lambda n: nn.LogSoftmax(n(1)),
        lambda n: nn.GroupNorm(n(2), n(4)),
    ):
        wanted = make(lambda number: number)(x)
        for number in (tensor, lambda v: np.array(v), lambda v: (np.float32 if isinstance(v, float) else np.int32)(v)):
            assert make(number)(x).shape == wanted.shape
    for call, words in (
        (lambda: nn.Dense(Tensor([2, 3]), 4), "Dense: in_channels must be"),
        (lambda: nn.Dense(np.float32(3), 4), "Dense: in_channels must be"),
        (lambda: nn.Dense(Tensor(3.0), 4), "Dense: in_channels must be"),
        (lambda: nn.Dropout(p=Tensor(True)), "Dropout: p must be"),
    ):
        with pytest.raises(TypeError, match=words):
            call()


def test_an_item_of_a_tuple_that_the_run_chooses():
    with pytest.raises(TypeError, match=r"(?s)GC130.*ops.stack\(items\)\[k\]"):
        graphc.compile(Of(lambda x, a: (x, Y)[a]), X, tensor(1))
    np.testing.assert_array_equal(Of(lambda x, a: (x, Y)[a])(X, tensor(1)).asnumpy(), Y.asnumpy())


@pytest.mark.parametrize("case", KNOWN)
def test_the_error_names_the_argument(case):
    function, number = KNOWN[case]
    with pytest.raises(TypeError, match=f"{case} must be known while the Cell is compiled") as error:
        graphc.compile(Of(function), X, tensor(number))
    assert "give a Python number" in str(error.value)
    assert error.value.loc.file.endswith("tensors.py")


@pytest.mark.parametrize("case", [c for c, (_, number) in KNOWN.items() if isinstance(number, int)])
def test_a_called_cell_is_compiled_for_the_integer(case):
    function, number = KNOWN[case]
    made, wanted = Of(function)(X, tensor(number)), Of(function)(X, number)
    for a, b in zip(*(x if isinstance(x, tuple) else (x,) for x in (made, wanted)), strict=True):
        np.testing.assert_array_equal(a.asnumpy(), b.asnumpy())


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


#: Numbers that may be tensors all the same, as nothing is computed with them in this test.
UNUSED = {
    "graphc.ops.embedding norm_type", "graphc.ops.flash_attention_score inner_precise", "graphc.ops.hamming_window alpha",
    "graphc.ops.hamming_window beta", "graphc.ops.kaiser_window beta", "graphc.ops.range maxlen",
    "graphc.ops.tensor_range maxlen", "graphc.ops.unique_with_pad pad_num",
}  # fmt: skip


def test_no_function_says_only_that_a_tensor_is_traced():
    """Of all functions, for each of their numbers; where tensors of the run are taken, too, the annotation says it."""
    unclear, taken, refused = [], set(), 0
    for name, function in FUNCTIONS.items():
        numbers = {n: kind.number for n, kind in kinds(function.__wrapped__).items() if kind.number}
        for argument in numbers:
            try:
                trace(Fails(function, argument), *flatten(((X, Tensor(1)), {})))
                if numbers[argument] != "bool":
                    taken.add(f"{name} {argument}")
            except GraphcError as error:
                refused += "must be known while" in error.message
                known = argument in error.message or name.rpartition(".")[2].strip("_") in error.message
                if not known and error.code in ("GC120", "GC130", "GC131"):
                    unclear.append(f"{name}({argument}=): {error.message}")
    assert not unclear
    assert taken <= UNUSED
    assert refused > 150
