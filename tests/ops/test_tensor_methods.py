"""Methods of Tensor beyond those of test_primitives: in place, indices, conversions; primitives as classes."""

from __future__ import annotations

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, nn, ops
from graphc import numpy as mnp
from graphc.ops.tensor.tree import tensors
from tests.data.ms_functions import X as ROWS

X = np.array([[3.25, 1.0, 2.0], [5.5, -5.0, 0.5]], np.float32)

IN_PLACE = [
    ("add_", (2.0,), lambda x: x + 2),
    ("sub_", (2.0,), lambda x: x - 2),
    ("mul_", (2.0,), lambda x: x * 2),
    ("div_", (2.0,), lambda x: x / 2),
    ("floor_divide_", (2.0,), lambda x: x // 2),
    ("remainder_", (2.0,), lambda x: x % 2),
    ("exp_", (), np.exp),
    ("floor_", (), np.floor),
    ("sign_", (), np.sign),
    ("tanh_", (), np.tanh),
    ("clamp_", (0.0, 2.0), lambda x: x.clip(0, 2)),
    ("fill_", (1.5,), lambda x: np.full_like(x, 1.5)),
    ("zero_", (), np.zeros_like),
]


@pytest.mark.parametrize(("name", "args", "wanted"), IN_PLACE)
def test_in_place(name, args, wanted):
    class Net(nn.Cell):
        def construct(self, x):
            y = x * 1
            same = getattr(y, name)(*args)
            return y, same

    x = Tensor(X)
    for y in Net()(x):
        np.testing.assert_allclose(y.asnumpy(), wanted(X), rtol=1e-6)
    np.testing.assert_array_equal(x.asnumpy(), X)
    assert getattr(x, name)(*args) is x
    np.testing.assert_allclose(x.asnumpy(), wanted(X), rtol=1e-6)


def test_a_parameter_in_place():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = Parameter(X, name="w")

        def construct(self, x):
            w = self.w
            w.mul_(x)
            w += 1.0
            return self.w + 0

    net = Net()
    np.testing.assert_allclose(net(Tensor(2.0)).asnumpy(), X * 2 + 1)
    np.testing.assert_allclose(net.w.asnumpy(), X * 2 + 1)


def test_augmented_assignment_leaves_other_tensors():
    class Net(nn.Cell):
        def construct(self, x):
            y = x
            y += 1
            y *= 2
            y -= 3
            y /= 4
            y //= 2
            y %= 3
            return x, y

    x, y = Net()(Tensor(X))
    np.testing.assert_array_equal(x.asnumpy(), X)
    np.testing.assert_allclose(y.asnumpy(), ((X + 1) * 2 - 3) / 4 // 2 % 3)


INDICES = [
    0,
    -1,
    (slice(None), 1),
    (..., 0),
    (None, 1),
    (slice(None, None, -1), slice(0, 2)),
    [1, 0, 1],
    ([0, 1], [2, -1]),
    (slice(None), [2, 0]),
    (1, [0, 2]),
    ([0], slice(None), None),
    ([[0, 1], [1, 1]],),
    ([[0], [1]], [0, 2]),
    [True, False],
    True,
    np.array([True, False]),
    np.array([1, 0]),
    (np.newaxis, [1, 0], ..., 0),
]


@pytest.mark.parametrize("index", INDICES, ids=str)
def test_reading_and_writing_by_index(index):
    class Net(nn.Cell):
        def construct(self, x, v):
            y = x + 0
            y[index] = v
            return x[index], y

    wanted = X[index]
    written = X.copy()
    written[index] = 7
    read, y = Net()(Tensor(X), Tensor(7.0))
    np.testing.assert_array_equal(read.asnumpy(), wanted)
    np.testing.assert_array_equal(y.asnumpy(), written)
    outside = Tensor(X)
    np.testing.assert_array_equal(outside[index].asnumpy(), wanted)
    outside[index] = Tensor(np.full(wanted.shape, 7, np.float32))
    np.testing.assert_array_equal(outside.asnumpy(), written)


def test_what_is_broadcast_is_written_without_its_origin():
    x = Tensor(np.ones((2, 3), np.float32))
    y = ops.broadcast_to(x, (2, 2, 3))
    y[0] = 5.0
    assert (x.asnumpy().sum(), y.asnumpy().sum()) == (6, 36)


def test_indices_known_only_when_the_step_runs():
    class Net(nn.Cell):
        def construct(self, x, i, j, mask):
            y = x + 0
            y[i, j] = -1.0
            z = x + 0
            z[mask] = 0.0
            return x[i], x[i, j], x[:, j], y, z

    i, j = np.array([1, -1], np.int64), np.array(2, np.int32)
    y, z = X.copy(), X.copy()
    y[i, j], z[X > 2] = -1, 0
    got = Net()(Tensor(X), Tensor(i), Tensor(j), Tensor(X > 2))
    for a, b in zip(got, (X[i], X[i, j], X[:, j], y, z), strict=True):
        np.testing.assert_array_equal(a.asnumpy(), b)


@pytest.mark.parametrize(
    ("index", "error"),
    [
        (5, IndexError),
        ((0, 0, 0), graphc.ArgumentValueError),
        ("a", graphc.ArgumentTypeError),
        (1.5, graphc.ArgumentTypeError),
        (False, graphc.ArgumentTypeError),
        (([0], 0, [0]), graphc.ArgumentValueError),
        (np.array([True]), IndexError),
        ((..., np.array([True])), IndexError),
        ((slice(None), np.zeros(9, bool)), IndexError),
    ],
    ids=str,
)
def test_indices_that_do_not_fit(index, error):
    with pytest.raises(error):
        Tensor(X)[index]


@pytest.mark.parametrize("function", [lambda x: x[x > 2], ops.nonzero, ops.unique, lambda x: x.masked_select(x > 2)])
def test_results_without_a_fixed_shape_are_counted_in_a_step(function):
    class Net(nn.Cell):
        def construct(self, x):
            return function(x)

    for made, wanted in zip(*(tensors(f(Tensor(X))) for f in (Net(), function)), strict=True):
        np.testing.assert_array_equal(made.asnumpy(), wanted.asnumpy(), strict=True)


def test_results_without_a_fixed_shape_outside():
    np.testing.assert_array_equal(ops.nonzero(Tensor(X > 2)).asnumpy(), np.argwhere(X > 2))
    np.testing.assert_array_equal(Tensor(X).masked_select(Tensor(X > 2)).asnumpy(), X[X > 2])
    values, places = ops.unique(Tensor([3, 1, 3, 2]))
    assert (values.tolist(), places.tolist()) == ([3, 1, 2], [0, 1, 0, 2])


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda x: (ops.masked_select(x, x > 1) ** 2).sum(), [0, 4, 0, 6]),
        (lambda x: (x[x > 1] ** 2).sum(), [0, 4, 0, 6]),
        (lambda x: (ops.unique(x)[0] ** 2).sum(), [2, 4, 0, 6]),
        (lambda x: (x.unique() ** 2).sum(), [2, 4, 0, 6]),
        (lambda x: (ops.unique_consecutive(x) ** 2).sum(), [2, 4, 2, 6]),
        (
            lambda x: ops.LogSpace(3, 2)(x[0], x[1]).sum(),
            [(2 + 2**1.5 / 2) * np.log(2), (4 + 2**1.5 / 2) * np.log(2), 0, 0],
        ),
    ],
)
def test_what_is_taken_outside_of_a_step_has_its_gradient(function, expected):
    graphc.set_context(mode=graphc.PYNATIVE_MODE)
    try:
        made = graphc.grad(function)(Tensor(np.array([1, 2, 1, 3], np.float32)))
    finally:
        graphc.set_context(mode=graphc.GRAPH_MODE)
    np.testing.assert_allclose(made.asnumpy(), expected, rtol=1e-6)


def test_a_constant_of_the_step_cannot_be_changed():
    constant = Tensor(X)

    class Net(nn.Cell):
        def construct(self, x):
            constant[0] = x[0]
            return constant

    with pytest.raises(graphc.TraceError, match="constant of the compiled Cell"):
        Net()(Tensor(X))


def test_equality_with_what_is_no_tensor():
    x = Tensor(X)
    assert (x == None) is False  # noqa: E711
    assert (x != None) is True  # noqa: E711
    assert (x == "a") is False


def test_methods_about_the_tensor():
    x = Tensor(X)
    assert (x.strides, x.itemsize, x.nbytes, x.dim(), x.numel()) == ((12, 4), 4, 24, 2, 6)
    assert x.tolist() == X.tolist()
    assert not x.has_init
    assert x.is_contiguous()
    assert x.copy() is not x
    for name, dtype in {"int": "int32", "long": "int64", "half": "float16", "bool": "bool", "float": "float32"}.items():
        assert getattr(x, name)().dtype.name == dtype


# ---- primitives as classes


def test_attributes_of_primitives():
    p = ops.ReduceSum(keep_dims=True)
    assert (p.name, p.keep_dims, p.attrs) == ("ReduceSum", True, {"keep_dims": True, "skip_mode": False})
    assert repr(ops.Concat(1)) == "Prim[Concat]<axis=1>"
    assert isinstance(p, ops.Primitive)
    assert p.add_prim_attr("x", 1).del_prim_attr("y") is p
    assert not hasattr(p, "instance_name")
    # As MindSpore has it: the op keeps its own name.
    assert p.set_prim_instance_name("total") is p
    assert (p.name, p.instance_name, p.attrs) == ("ReduceSum", "total", {"keep_dims": True, "skip_mode": False, "x": 1})
    for call in (
        lambda: ops.ReduceSum(keep=True),
        lambda: ops.Concat(1, 2),
        lambda: ops.BroadcastTo(),
        lambda: ops.Concat(1, axis=1),
    ):
        with pytest.raises(graphc.ArgumentTypeError, match="its attributes are"):
            call()


def test_primitives_of_users():
    class Scaled(ops.Primitive):
        @ops.prim_attr_register
        def __init__(self, factor, offset=1.0):
            pass

        def __call__(self, x):
            return x * self.factor + self.offset

    class Named(ops.PrimitiveWithInfer):
        @ops.prim_attr_register
        def __init__(self, axis=0):
            self.init_prim_io_names(inputs=["x"], outputs=["y"])

        def infer_shape(self, x):
            return x

    class Net(nn.Cell):
        def __init__(self, op):
            super().__init__()
            self.op = op

        def construct(self, x):
            return self.op(x)

    np.testing.assert_allclose(Net(Scaled(2.0))(Tensor(X)).asnumpy(), X * 2 + 1)
    assert Named(3).axis == 3
    with pytest.raises(graphc.TraceError, match="primitive 'Named' says what it is"):
        Net(Named())(Tensor(X))
    with pytest.raises(graphc.TraceError, match="primitive 'Other'"):
        ops.Primitive("Other")(Tensor(X))


def test_an_index_that_an_axis_does_not_have():
    class Beyond(nn.Cell):
        def construct(self, x):
            return x[5]

    for call in (lambda: Beyond()(Tensor(ROWS)), lambda: Tensor(ROWS)[0, 0, 0]):
        with pytest.raises(IndexError) as caught:
            call()
        assert isinstance(caught.value, graphc.GraphcError)
        assert "test_tensor_methods.py" in str(caught.value)


def test_the_methods_that_give_places_and_values_give_values_first():
    values, places = Tensor(ROWS).argmax_with_value(1)
    assert (values.asnumpy() == ROWS.max(1)).all()
    assert (places.asnumpy() == ROWS.argmax(1)).all()
    assert places.dtype == graphc.int64
    values, places = Tensor(ROWS).argmin_with_value(0, keep_dims=True)
    assert (values.asnumpy() == ROWS.min(0, keepdims=True)).all()
    assert places.shape == (1, 4)


def test_an_axis_by_position_gives_places_unless_a_name_says_that_it_is_axis():
    x = Tensor(ROWS)
    for names in ({"keepdims": True}, {"keepdims": False}, {"initial": 0.5}):
        np.testing.assert_array_equal(x.max(-2, **names).asnumpy(), ROWS.max(-2, **names))
    for args, names in (((-2,), {}), ((-2, True), {}), ((-2,), {"keepdim": True}), ((-2,), {"return_indices": True})):
        assert isinstance(x.min(*args, **names), tuple)


def test_the_functions_that_make_tensors():
    made = graphc.tensor([1.5, 2], graphc.float16, device="CPU")
    assert isinstance(made, Tensor)
    assert made.dtype == graphc.float16
    array = np.arange(3, dtype=np.int32)
    copied = graphc.from_numpy(array)
    array[:] = 9
    assert copied.dtype == graphc.int32
    assert copied.asnumpy().tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="Tensor: device='Ascend' is not supported, only 'CPU'"):
        graphc.tensor([1.0], device="Ascend")


def test_a_tensor_of_a_traced_one_is_its_value():
    def both(x, n):
        return graphc.tensor([1, 2]) + Tensor(x, graphc.int64), Tensor(n), graphc.tensor(n.shape)

    total, same, shape = graphc.jit(both)(Tensor([3.7, 4.0]), Tensor(2.5))
    assert total.dtype == graphc.int64
    assert total.asnumpy().tolist() == [4, 6]
    assert (same.item(), shape.shape) == (2.5, (0,))
    assert graphc.grad(lambda x: Tensor(x) * Tensor(x, graphc.float64))(Tensor(2.5)).item() == 5

    class Scaled(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = Parameter(Tensor([2.0, 3.0]), name="w")

        def construct(self, x):
            y = Tensor(x)
            y[0] = 9.0  # x keeps its value.
            return (y + x) * graphc.tensor(self.w)

    scaled = Scaled()
    for mode in (graphc.GRAPH_MODE, graphc.PYNATIVE_MODE):
        graphc.set_context(mode=mode)
        assert scaled(Tensor([1.0, 2.0])).asnumpy().tolist() == [20, 12]
        (change,) = graphc.grad(scaled, None, scaled.trainable_params())(Tensor([1.0, 2.0]))
        assert change.asnumpy().tolist() == [10, 4]
    graphc.set_context(mode=graphc.GRAPH_MODE)
    with pytest.raises(TypeError, match=r"GC131.*made of a list that holds a traced tensor(.|\n)*ops\.stack"):
        graphc.jit(lambda x: Tensor([[x], [1.0]]))(Tensor(2.5))


def test_descriptions_for_set_inputs_have_a_shape_and_a_dtype():
    for sizes in ((None, 3), [-1, 3]):
        x = Tensor(shape=sizes, dtype=graphc.float16)
        assert (x.shape, x.dtype, x.ndim, x.size, x.itemsize, x.nbytes) == ((-1, 3), graphc.float16, 2, 0, 2, 0)
        assert x.strides == (6, 2)
        for use in (
            lambda x: x + 1,
            lambda x: x.asnumpy(),
            lambda x: x.copy(),
            lambda x: bool(x),
            lambda x: x.tolist(),
        ):
            with pytest.raises(ValueError, match="holds nothing: it is a description for set_inputs"):
                use(x)


def test_arange_of_tensors_is_of_floats():
    """As in MindSpore (tests/data has no records of it): int32 of numbers alone."""
    for made in (mnp.arange(Tensor(3)), mnp.arange(0, Tensor(3)), mnp.arange(0, 3, Tensor(1))):
        assert (made.dtype, made.asnumpy().tolist()) == (graphc.float32, [0, 1, 2])
    assert mnp.arange(3).dtype == graphc.int32
