"""Elements put at places, in copies and in place, against NumPy; what tensors say of themselves."""

from __future__ import annotations

import numpy as np
import pytest

import graphc
from graphc import ArgumentTypeError, ArgumentValueError, Parameter, Tensor, nn, ops
from graphc.compat import exchange
from graphc.errors import DTypeError, ShapeError

X = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
MASK = np.array([[True, False], [False, True], [True, False]])


def f(*values):
    return Tensor(np.array(values, np.float32))


def i(*values):
    return Tensor(np.array(values, np.int64))


def put(array, places, values, how=None):
    made = array.copy()
    flat = made.reshape(-1)
    if how is None:
        flat[places] = values
    else:
        how.at(flat, places, values)
    return made


def along(array, index, values, how=None):
    """Elements at places along axis 0."""
    flat = np.array(index) * array.shape[1] + np.arange(np.shape(index)[1])
    return put(array, flat.ravel(), np.ravel(values), how)


#: name -> (what changes a tensor and returns it, what becomes of X)
IN_PLACE = {
    "put_": (lambda x: x.put_(i(0, -1), f(9, 8)), put(X, [0, 5], [9, 8])),
    "put_adds": (lambda x: ops.put_(x, i([0], [0]), f(9, 8), True), put(X, [0, 0], [9, 8], np.add)),
    "index_copy_": (lambda x: x.index_copy_(0, i(2, 0), f([9, 8], [7, 6])), put(X, [4, 5, 0, 1], [9, 8, 7, 6])),
    "index_copy_last": (lambda x: x.index_copy_(-1, i(1), f([9], [8], [7])), put(X, [1, 3, 5], [9, 8, 7])),
    "index_fill_": (lambda x: x.index_fill_(0, i(1, -1), 9), put(X, [2, 3, 4, 5], 9)),
    "index_add_": (lambda x: x.index_add_(0, i(1, 1), f([9, 8], [1, 1]), alpha=2), put(X, [2, 3], [20, 18], np.add)),
    "inplace_index_add": (lambda x: ops.inplace_index_add(x, i(1), f([9, 8]), 0), put(X, [2, 3], [9, 8], np.add)),
    "InplaceIndexAdd": (lambda x: ops.InplaceIndexAdd(0)(x, i(1), f([9, 8])), put(X, [2, 3], [9, 8], np.add)),
    "scatter_": (lambda x: x.scatter_(0, i([1, 0]), f([9, 8], [7, 7])), along(X, [[1, 0]], [9, 8])),
    "scatter_number": (lambda x: x.scatter_(0, i([1, 0]), 7), along(X, [[1, 0]], [7, 7])),
    "scatter_adds": (lambda x: x.scatter_(0, i([1, 0]), f([9, 8]), reduce="add"), along(X, [[1, 0]], [9, 8], np.add)),
    "scatter_multiplies": (
        lambda x: x.scatter_(0, i([1, 0], [1, 1]), f([9, 8], [2, 3]), reduce="multiply"),
        along(X, [[1, 0], [1, 1]], [9, 8, 2, 3], np.multiply),
    ),
    "scatter_add_": (lambda x: x.scatter_add_(0, i([1, 0]), f([9, 8])), along(X, [[1, 0]], [9, 8], np.add)),
    "index_put_": (lambda x: x.index_put_((i(0, 2), i(1, 1)), f(9, 8)), put(X, [1, 5], [9, 8])),
    "index_put_adds": (lambda x: x.index_put_([i(0, 0), i(1, 1)], f(9, 8), True), put(X, [1, 1], [9, 8], np.add)),
    "index_put_rows": (lambda x: x.index_put_((i(0, 2),), 9.0), put(X, [0, 1, 4, 5], 9)),
    "masked_scatter_": (lambda x: x.masked_scatter_(Tensor(MASK), f(9, 8, 7, 6)), put(X, [0, 3, 4], [9, 8, 7])),
    "masked_scatter_row": (
        lambda x: x.masked_scatter_(Tensor(np.array([False, True])), f([9], [8], [7])),
        put(X, [1, 3, 5], [9, 8, 7]),
    ),
    "fill_diagonal_": (lambda x: x.fill_diagonal_(9), put(X, [0, 3], 9)),
    "copy_": (lambda x: x.copy_(i(7, 8)), np.tile(np.array([7, 8], np.float32), (3, 1))),
    "zero_": (lambda x: ops.zero_(x), np.zeros_like(X)),
    "clamp_": (lambda x: ops.clamp_(x, 2, 5), X.clip(2, 5)),
    "tanh_": (lambda x: ops.tanh_(x), np.tanh(X)),
    "inplace_sigmoid": (lambda x: ops.inplace_sigmoid(x), 1 / (1 + np.exp(-X))),
    "addmm_": (lambda x: x.addmm_(Tensor(X), f([1, 0], [0, 2]), beta=2), 2 * X + X @ np.diag([1.0, 2.0])),
    "erfinv_": (lambda x: x.mul_(0).add_(0.5).erfinv_(), np.full_like(X, 0.47693628)),
    **{
        f"scatter_{n}": (
            lambda x, n=n: getattr(ops, f"scatter_{n}")(x, i(2, 2), f([2, 4], [3, 1])),
            put(X, [4, 5, 4, 5], [2, 4, 3, 1], how),
        )
        for n, how in (("mul", np.multiply), ("div", np.divide), ("max", np.maximum), ("min", np.minimum))
    },
    **{
        f"scatter_nd_{n}": (
            lambda x, n=n: getattr(ops, f"scatter_nd_{n}")(x, i([2, 0], [2, 0], [0, 1]), f(2, 4, 8)),
            put(X, [4, 4, 1], [2, 4, 8], how),
        )
        for n, how in (
            ("sub", np.subtract),
            ("mul", np.multiply),
            ("div", np.divide),
            ("max", np.maximum),
            ("min", np.minimum),
        )
    },
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place(name):
    change, wanted = IN_PLACE[name]
    tensor = Tensor(X)
    returned = change(tensor)
    np.testing.assert_allclose(tensor.asnumpy(), wanted, rtol=1e-6)
    np.testing.assert_allclose(returned.asnumpy(), wanted, rtol=1e-6)

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.p = Parameter(X, name="p")

        def construct(self, x):
            y = x + 0
            change(y)
            change(self.p)
            return y

    net = Net()
    np.testing.assert_allclose(net(Tensor(X)).asnumpy(), wanted, rtol=1e-6)
    np.testing.assert_allclose(net.p.asnumpy(), wanted, rtol=1e-6)


def test_gradients_of_what_is_put():
    weight = Tensor(np.arange(1, 7, dtype=np.float32).reshape(3, 2))
    for function, kept, taken in (
        (lambda x, s: x.masked_scatter(Tensor(MASK), s), [0, 2, 3, 0, 0, 6], [1, 4, 5]),
        (lambda x, s: x.index_put((i(0, 1, 2), i(1, 1, 0)), s), [1, 0, 3, 0, 0, 6], [2, 4, 5]),
        (lambda x, s: x.index_put((i(0, 0, 2), i(1, 1, 0)), s, True), [1, 2, 3, 4, 5, 6], [2, 2, 5]),
        (lambda x, s: x.scatter_add(1, i([0], [1], [1]), s.reshape(3, 1)), [1, 2, 3, 4, 5, 6], [1, 4, 6]),
    ):
        dx, ds = graphc.grad(lambda x, s, f=function: (f(x, s) * weight).sum(), (0, 1))(Tensor(X), f(7, 8, 9))
        assert (dx.asnumpy().ravel().tolist(), ds.asnumpy().tolist()) == (kept, taken)
    dx, ds = graphc.grad(lambda x, s: ops.tensor_scatter_div(x, i([0], [0]), s).sum(), (0, 1))(f(8, 2), f(2, 4))
    assert (dx.asnumpy().tolist(), ds.asnumpy().tolist()) == ([0.125, 1], [-0.5, -0.25])


def test_places_along_an_axis_stay_in_their_row():
    """What is out of range is no element of the next row; an index may have fewer rows than the tensor."""
    x = Tensor(X)
    calls = {
        "read": (lambda x: ops.gather_elements(x, 1, i([0, 1, -1], [-2, 1, -2])), [[1, 2, 2], [3, 4, 3]]),
        "read columns": (lambda x: ops.gather_elements(x, 0, i([2], [-3], [-1])), [[5], [1], [5]]),
        "written": (lambda x: x.scatter(1, i([0, 2], [-3, -1]), f([9, 8], [7, 6])), [[9, 2], [3, 6], [5, 6]]),
        "added": (lambda x: x.scatter_add(0, i([2], [3], [2]), f([9], [8], [7])), [[1, 2], [3, 4], [21, 6]]),
    }
    for name, (call, wanted) in calls.items():
        for made in (call(x), graphc.jit(call)(x)):
            assert made.asnumpy().tolist() == wanted, name
    for bad in (lambda: ops.gather_elements(x, 1, i(0, 1)), lambda: ops.gather_elements(x, 1, i([0], [1], [0], [1]))):
        with pytest.raises(ShapeError, match=r"gather_elements: the index is .* expected 2 axes"):
            bad()


def test_diagonals_are_those_of_numpy():
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    for offset, dim1, dim2 in ((0, 0, 1), (1, 1, 2), (-1, 2, 0), (2, -1, 1), (-3, 0, 2)):
        wanted = x.copy()
        view = np.moveaxis(wanted, (dim1, dim2), (-2, -1))
        rows = np.arange(min(view.shape[-2] - max(-offset, 0), view.shape[-1] - max(offset, 0)))
        src = -1 - np.arange(view.shape[0] * max(rows.size, 0), dtype=np.float32).reshape(view.shape[0], -1)
        if rows.size:
            view[..., rows + max(-offset, 0), rows + max(offset, 0)] = src
        made = Tensor(x).diagonal_scatter(Tensor(src), offset, dim1, dim2)
        assert (made.asnumpy() == wanted).all()
    for shape, wrap in (
        ((5, 3), True),
        ((7, 2), True),
        ((3, 5), True),
        ((4, 4, 4), False),
        ((2, 5), False),
        ((0, 3), False),
    ):
        wanted = np.zeros(shape, np.int32)
        if wanted.size:
            np.fill_diagonal(wanted, 7, wrap)
        assert (ops.zeros(shape, graphc.int32).fill_diagonal(7, wrap).asnumpy() == wanted).all()


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "int64", "float16", "float32", "float64"])
def test_dtypes(dtype):
    kind = np.dtype(dtype)
    x, new = np.array([1, 0, 1, 1], kind), np.array([0, 1], kind)
    for change in (
        lambda t: t.put_(i(0, 3), Tensor(new)),
        lambda t: t.masked_scatter_(Tensor(np.array([True, False, False, True])), Tensor(new)),
        lambda t: t.index_copy_(0, i(0, 3), Tensor(new)),
        lambda t: t.index_put_((i(0, 3),), Tensor(new)),
        lambda t: t.scatter_(0, i(0, 3), Tensor(new)),
    ):
        made = change(Tensor(x))
        assert made.asnumpy().dtype == kind
        assert made.asnumpy().tolist() == np.array([0, 0, 1, 1], kind).tolist()


def test_refused():
    x = Tensor(X)
    for call, error, message in (
        (lambda: x.put_(i(0, 1), f(1)), ShapeError, "not as many elements"),
        (lambda: x.put_(i(0), i(1)), DTypeError, "put_: the tensor is f32"),
        (lambda: x.masked_scatter(Tensor(MASK), f(1, 2)), ArgumentValueError, "source has 2 elements"),
        (lambda: x.masked_scatter(Tensor(X), f(1, 2)), DTypeError, "expected bool"),
        (lambda: x.fill_diagonal(f(1, 2)), ArgumentTypeError, "must be a number"),
        (lambda: ops.zeros((2, 2, 3)).fill_diagonal(1), ShapeError, "axes of one size"),
        (lambda: x.diagonal_scatter(f(1)), ShapeError, "has 2"),
        (lambda: x.diagonal_scatter(f(1), 0, 1, 1), ShapeError, "both axis 1"),
        (lambda: x.copy_(f(1, 2, 3)), ShapeError, "cannot be broadcast"),
        (lambda: x.scatter_(0, i([0, 0]), f([1, 1]), reduce="max"), ArgumentTypeError, "reduce must be"),
        (lambda: x.scatter_(0, i([0, 0]), f([1])), ShapeError, "src is"),
        (lambda: x.index_put(i(0), f(1)), ArgumentTypeError, "tuple or list"),
        (lambda: ops.scatter_mul(X, i(0), f(1)), ArgumentTypeError, "must be a Parameter or Tensor"),
        (lambda: x.move_to("Ascend"), ArgumentValueError, "GC112"),
        (lambda: x.to_("Ascend"), ArgumentValueError, "GC112"),
        (lambda: x.set_const_arg(), ArgumentValueError, "GC112"),
        (lambda: x.searchsorted(f(1), "middle"), ArgumentValueError, "GC112"),
        (lambda: x.requires_grad_(), ArgumentTypeError, "only a Parameter"),
        (lambda: Tensor.from_numpy([1]), ArgumentTypeError, "from_numpy"),
        (lambda: Tensor.from_dlpack(5), ArgumentTypeError, "from_dlpack"),
    ):
        with pytest.raises(error, match=message):
            call()
    assert (x.asnumpy() == X).all()


def test_what_a_tensor_says_of_itself():
    x = Tensor(X)
    assert (x.stride(), x.stride(-1), x.storage_offset()) == ([2, 1], 1, 0)
    assert (x.device, x.is_meta, x.is_pinned(), x.is_shared(), x.const_arg) == ("CPU", False, False, False, False)
    assert (x.is_signed(), Tensor(np.uint8(1)).is_signed(), x.is_complex(), ops.is_complex(x)) == (
        True,
        False,
        False,
        False,
    )
    assert x.data.asnumpy().tolist() == x.numpy().tolist() == X.tolist()
    assert Parameter(X).data_ptr() % 64 == 0
    assert (x.H.asnumpy() == X.T).all()
    assert x.mH.shape == (2, 3)
    assert (x.new_empty(2, 3).shape, x.new_empty((4,), dtype=graphc.int8).dtype) == ((2, 3), graphc.int8)
    assert (x.byte().dtype, x.short().dtype) == (graphc.uint8, graphc.int16)
    assert (x.hooks(), ops.view_as(x, Tensor(np.zeros(6))).shape) == ([], (6,))
    assert (ops.is_nonzero(f(2)), ops.is_nonzero(Tensor(False))) == (True, False)
    assert (Tensor.from_dlpack(x.to_dlpack()).asnumpy() == X).all()
    assert (exchange.from_dlpack(exchange.to_dlpack(x)).asnumpy() == X).all()
    with pytest.raises(ArgumentTypeError, match="to_dlpack: expected a Tensor, got ndarray"):
        exchange.to_dlpack(X)
    assert bool(x.allclose(x + 1e-9))
    assert (i(12, 7).gcd(i(8, 7)).tolist(), i(4, 6).lcm(i(6, 0)).tolist()) == ([4, 7], [12, 0])
    p = Parameter(X, name="p")
    assert p.requires_grad_(False) is p
    assert (p.requires_grad, p.layerwise_parallel, p.sliced, p.key) == (False, False, False, -1)
    assert (ops.tuple_div((4, 6.0), (2, 4)), ops.scalar_max(1, 2), ops.scalar_min(1, 2), ops.scalar_log(1.0)) == (
        (2, 1.5),
        2,
        1,
        0.0,
    )


@pytest.mark.parametrize("value", ["a", None, {}, {1}, b"x", [1, "b"], [[1, 2], [3]], object(), [None, 1, 2]])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_what_is_no_number_is_not_written(value, dtype):
    x = Tensor(np.ones((2, 3), dtype))

    class Net(nn.Cell):
        def construct(self, x):
            y = x * 1
            y[0] = value
            return y

    for write in (lambda: x.__setitem__(0, value), lambda: Net()(x)):
        with pytest.raises(TypeError, match="must be a Tensor, a number or a list of numbers"):
            write()
    np.testing.assert_array_equal(x.asnumpy(), 1)


def test_no_imaginary_part_is_dropped_where_it_is_written():
    x = Tensor(np.ones(2, np.float32))
    with pytest.raises(TypeError, match="complex"):
        x[0] = 1j


def test_lists_of_tensors_are_written():
    class Net(nn.Cell):
        def construct(self, x):
            y = x * 1
            y[0] = [x[0, 1], x[0, 0].sum(), 3]
            y[1:] = ([x[1, 2], 1.5, 2.5],)
            return y

    x = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    expected = [[1, 0, 3], [5, 1.5, 2.5]]
    np.testing.assert_array_equal(Net()(x).asnumpy(), expected)
    y = x.copy()
    y[0], y[1:] = [x[0, 1], x[0, 0].sum(), 3], ([x[1, 2], 1.5, 2.5],)
    np.testing.assert_array_equal(y.asnumpy(), expected)


def test_elements_are_looked_for():
    x = Tensor(np.array([[1, 2], [3, 4]], np.int32))
    assert 3 in x
    assert 2.0 in x
    assert Tensor(4) in x
    assert Tensor([9, 2]) in x
    assert np.int64(1) in x
    assert not any(e in x for e in (5, Tensor(0), "a", None, [1]))

    class Net(nn.Cell):
        def construct(self, x, e):
            return 3 in x, e in x, "a" in x, None not in x

    assert tuple(map(bool, Net()(x, Tensor(9)))) == (True, False, False, True)
