"""Sparse tensors: against SciPy, in compiled steps with sizes that these count, as what programs hand around, and refused."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse

import graphc
from graphc import COOTensor, CSRTensor, GraphcError, Parameter, Tensor, nn, ops

i32 = graphc.int32
DENSE = np.arange(1, 13).reshape(3, 4).astype(np.float32)
WIDE = np.linspace(-1, 1, 12).reshape(4, 3).astype(np.float32)


def coo(values=(1.0, -2.0, 4.0), index="int32"):
    return COOTensor(Tensor(np.array([[0, 1], [2, 0], [0, 1]], index)), Tensor(np.array(values, np.float32)), (3, 4))


def csr(values=(1.0, -2.0, 3.0), index="int32"):
    begins, columns = (Tensor(np.array(x, index)) for x in ([0, 2, 2, 3], [0, 3, 1]))
    return CSRTensor(begins, columns, Tensor(np.array(values, np.float32)), (3, 4))


def random_csr(rows, columns, count, seed=0, index="int32"):
    """A CSRTensor, its columns in any order, and the same of SciPy's."""
    draw = np.random.default_rng(seed)
    flat = draw.choice(rows * columns, count, replace=False)
    flat = flat[np.argsort(flat // columns, kind="stable")]
    begins = np.searchsorted(flat // columns, np.arange(rows + 1)).astype(index)
    values = draw.integers(1, 9, count).astype("float32")
    parts = values, (flat % columns).astype(index), begins
    made = CSRTensor(*(Tensor(x) for x in reversed(parts)), (rows, columns))
    return made, scipy.sparse.csr_matrix(parts, shape=(rows, columns))


def array(x):
    return x.to_dense().asnumpy() if isinstance(x, (COOTensor, CSRTensor)) else x.asnumpy()


def parts(x):
    return [p.asnumpy().tolist() for p in x.parts]


@pytest.fixture(params=["compiled", "eager"])
def mode(request):
    graphc.set_context(mode=graphc.PYNATIVE_MODE if request.param == "eager" else graphc.GRAPH_MODE)
    yield request.param
    graphc.set_context(mode=graphc.GRAPH_MODE)


class Everything(nn.Cell):
    """What is computed of a CSRTensor, beside what SciPy makes of it."""

    def construct(self, x, y, dense, wide):
        return (
            x.mm(wide), x.mv(wide[:, :1]), x.sum(1), x * dense, dense * x, x / dense, x * dense[:1], x * dense[:, 1:2], -x,
            x.to_coo(), x.to_coo().to_csr(), x + y, x - y, x.add(y, Tensor(2.0), Tensor(-1.0)), x.to_coo() + y.to_coo(),
            x.to_coo() - y.to_coo(), x.mm(y_transposed(y)), x.to_coo() + dense, dense - x.to_coo(),
        )  # fmt: skip


def y_transposed(y):
    places = y.to_coo().indices
    return COOTensor(ops.stack((places[:, 1], places[:, 0]), 1), y.values, y.shape[::-1]).to_csr()


def expected(x, y, dense, wide):
    a, b = x.toarray().astype(np.float64), y.toarray().astype(np.float64)
    with np.errstate(all="ignore"):
        over = np.where(a != 0, a / dense, 0)
    return [
        a @ wide, a @ wide[:, :1], a.sum(1, keepdims=True), a * dense, a * dense, over, a * dense[:1], a * dense[:, 1:2], -a,
        a, a, a + b, a - b, 2 * a - b, a + b, a - b, a @ b.T, a + dense, dense - a,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "columns", "counts", "index"),
    [(5, 7, (11, 20), "int32"), (40, 3, (60, 1), "int64"), (2, 50, (30, 80), "int16")],
)
def test_against_scipy(mode, rows, columns, counts, index):
    (x, a), (y, b) = (random_csr(rows, columns, n, seed=k, index=index) for k, n in enumerate(counts))
    dense = np.random.default_rng(3).integers(1, 9, (rows, columns)).astype(np.float32)
    wide = np.random.default_rng(4).standard_normal((columns, 19)).astype(np.float32)
    made = Everything()(x, y, Tensor(dense), Tensor(wide))
    for k, (got, wanted) in enumerate(zip(made, expected(a, b, dense, wide), strict=True)):
        np.testing.assert_allclose(array(got), wanted, rtol=1e-5, atol=1e-5, err_msg=str(k))
    assert made[11].indices.dtype == x.indices.dtype
    assert made[11].size == (abs(a) + abs(b)).nnz


@pytest.mark.parametrize("dtype", ["float64", "float16", "int32", "int64"])
def test_products_of_other_dtypes(mode, dtype):
    x, a = random_csr(6, 9, 20)
    x = x.astype(dtype)
    wide = np.arange(-9, 9).reshape(9, 2).astype(dtype)
    made = ops.csr_mv(x, Tensor(wide[:, :1])), x.mm(Tensor(wide)), x.sum(-1)
    assert {str(y.asnumpy().dtype) for y in made} == {dtype}
    np.testing.assert_array_equal(made[1].asnumpy(), a.toarray() @ wide)
    np.testing.assert_array_equal(made[2].asnumpy(), a.toarray().sum(1, keepdims=True))


def test_softmax_of_rows_is_that_of_what_they_hold(mode):
    x = CSRTensor(Tensor([0, 3, 3, 4], i32), Tensor([0, 3, 1, 2], i32), Tensor([1.0, 900.0, 899.0, -5.0]), (3, 4))
    made = ops.csr_softmax(x, graphc.float32).values.asnumpy()
    np.testing.assert_allclose(made, [0, 1 / (1 + np.exp(-1)), 1 / (1 + np.exp(1)), 1], atol=1e-6)


def test_rows_and_where_they_begin(mode):
    assert ops.csr2coo(Tensor([0, 2, 2, 5], i32), 5).asnumpy().tolist() == [0, 0, 2, 2, 2]
    assert ops.coo2csr(Tensor([0, 0, 2], graphc.int64), 4).asnumpy().tolist() == [0, 2, 2, 3, 3]
    gathered = ops.csr_gather(Tensor([0, 2, 2, 3], i32), Tensor([0, 3, 1], i32), Tensor(DENSE), (3, 4))
    assert gathered.asnumpy().tolist() == [1, 4, 10]


def test_equal_places_are_added_up(mode):
    assert coo().to_dense().asnumpy()[0, 1] == 5
    assert parts(coo().coalesce()) == [[[0, 1], [2, 0]], [5, -2]]
    assert parts(coo().to_csr()) == [[0, 2, 2, 3], [1, 1, 0], [1, 4, -2]]
    twice = CSRTensor(Tensor([0, 2], i32), Tensor([1, 1], i32), Tensor([2.0, 3.0]), (1, 3))
    assert array(twice).tolist() == array(twice.to_coo()).tolist() == [[0, 5, 0]]
    assert ops.SparseToDense()(*coo().to_tuple()).asnumpy()[0, 1] == nn.SparseToDense()(coo()).asnumpy()[0, 1] == 4


class Whole(nn.Cell):
    """What takes a COOTensor as a whole, by a name."""

    def __init__(self, name):
        super().__init__()
        self.name = name

    def construct(self, x, dense):
        if self.name == "coo_concat":
            return ops.coo_concat((x, x), 1).values
        if self.name in ("to_dense", "to_csr", "coalesce"):
            return getattr(x, self.name)()
        return {"+": lambda: x + x, "-": lambda: dense - x, "*": lambda: x * dense, "/": lambda: x / dense}[self.name]()


@pytest.mark.parametrize("name", ["to_dense", "to_csr", "coalesce", "coo_concat", "+", "-", "*", "/"])
@pytest.mark.parametrize("place", [(0, 4), (3, 0), (-1, 0), (0, -1)])
def test_no_element_stands_in_another_row(mode, name, place):
    if mode == "compiled" and place != (0, 4):
        return
    x = COOTensor(Tensor(np.array([place, (1, 0)], np.int32)), Tensor([1.0, 2.0]), (3, 4))
    with pytest.raises(IndexError, match=r"COOTensor: index -?[0-9] is out of range for a size of [34]"):
        array(Whole(name)(x, Tensor(DENSE)))


class Rows(nn.Cell):
    """A product with what is made of parts, and what stands at their places."""

    def construct(self, indptr, indices, values, wide):
        made = CSRTensor(indptr, indices, values, (3, 4))
        return made.mm(wide), ops.csr_gather(indptr, indices, wide.T, (3, 4))


@pytest.mark.parametrize("index", ["int16", "int32", "int64"])
@pytest.mark.parametrize(
    ("indptr", "indices", "error"),
    [
        ([0, 2, 2, 3], [0, 3, 1], None),
        ([0, 2, 1, 3], [0, 3, 1], ValueError),
        ([0, 1, 2, 2], [0, 3, 1], ValueError),
        ([0, 2, 2, 4], [0, 3, 1], ValueError),
        ([1, 2, 2, 3], [0, 3, 1], ValueError),
        ([-1, 2, 2, 3], [0, 3, 1], ValueError),
        ([0, 2, 2, 3], [0, 4, 1], IndexError),
        ([0, 2, 2, 3], [0, -1, 1], IndexError),
    ],
)
def test_rows_begin_where_they_can(mode, index, indptr, indices, error):
    """MindSpore takes anything, and reads there."""
    if mode == "compiled" and index != "int32":
        return
    places = [Tensor(np.array(x, index)) for x in (indptr, indices)]
    values, wide = np.array([1, -2, 3], np.float32), Tensor(WIDE)
    if error is None:
        product, gathered = Rows()(*places, Tensor(values), wide)
        exact = scipy.sparse.csr_matrix((values, indices, indptr), (3, 4))
        np.testing.assert_allclose(product.asnumpy(), exact @ WIDE, rtol=1e-6)
        np.testing.assert_array_equal(gathered.asnumpy(), WIDE.T[[0, 0, 2], indices])
        return
    says = (
        "indptr must begin with 0, never fall and end with 3"
        if error is ValueError
        else "index -?[0-9] is out of range"
    )
    with pytest.raises(error, match=says):
        Rows()(*places, Tensor(values), wide)
    with pytest.raises(error, match=f"csr_gather: {says}"):
        ops.csr_gather(*places, wide.T, (3, 4))


# ---- sizes that are counted


class Held(nn.Cell):
    def construct(self, x, wide):
        made = (x * (x > 4)).to_csr()
        places = made.to_coo().coalesce()
        softened = ops.csr_softmax(made, graphc.float32)
        more = made.add(x.to_csr(), Tensor(1.0), Tensor(2.0))
        return made, made.mm(wide), places, made.size, made.sum(1), (made * x).to_dense(), softened, more


@pytest.mark.parametrize("less", [0, 3, 8, 20])
def test_a_step_counts_what_is_held(less):
    graphc.set_context(mode=graphc.PYNATIVE_MODE)
    x = DENSE - less
    eager = Held()(Tensor(x), Tensor(WIDE))
    graphc.set_context(mode=graphc.GRAPH_MODE)
    for got, wanted in zip(Held()(Tensor(x), Tensor(WIDE)), eager, strict=True):
        if isinstance(wanted, int):
            assert got == wanted == (x > 4).sum()
        elif isinstance(wanted, Tensor):
            np.testing.assert_allclose(got.asnumpy(), wanted.asnumpy(), rtol=1e-6)
        else:
            assert type(got) is type(wanted)
            for a, b in zip(got.parts, wanted.parts, strict=True):
                np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-6)


def squares(x, wide):
    made = (x * (x > 4)).to_csr()
    return (made.mm(wide) ** 2).sum() + (ops.csr_softmax(made, graphc.float32).values ** 2).sum()


def test_gradients_through_what_is_counted(mode):
    x = Tensor(DENSE / 9 + 3.5)
    held = np.where(x.asnumpy() > 4, x.asnumpy(), 0).astype(np.float64)
    made = graphc.grad(squares, (0, 1))(x, Tensor(WIDE))

    def loss(a, w):
        softened = [np.exp(row[row > 4]) / np.exp(row[row > 4]).sum() for row in a]
        return ((np.where(a > 4, a, 0) @ w) ** 2).sum() + sum((s**2).sum() for s in softened)

    exact = x.asnumpy().astype(np.float64)
    for place in ((0, 0), (1, 2), (2, 3)):
        step = np.zeros((3, 4))
        step[place] = 1e-6
        wanted = (loss(exact + step, WIDE) - loss(exact - step, WIDE)) / 2e-6 if held[place] else 0
        np.testing.assert_allclose(made[0].asnumpy()[place], wanted, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(made[1].asnumpy(), 2 * held.T @ (held @ WIDE), rtol=1e-5)


# ---- gradients


def weighted(x, dense):
    return (x * dense).values.sum()


def product(x, wide):
    return (x.mm(wide) ** 2).sum()


def test_the_gradient_of_a_sparse_tensor_stands_where_its_values_do(mode):
    of_coo, of_dense = graphc.grad(weighted, (0, 1))(coo(), Tensor(DENSE))
    assert parts(of_coo) == [[[0, 1], [2, 0], [0, 1]], [2, 9, 2]]
    assert of_dense.asnumpy().tolist() == [[0, 5, 0, 0], [0] * 4, [-2, 0, 0, 0]]
    of_csr, of_wide = graphc.grad(product, (0, 1))(csr(), Tensor(WIDE))
    a = array(csr())
    np.testing.assert_allclose(array(of_csr), np.where(a != 0, 2 * (a @ WIDE) @ WIDE.T, 0), rtol=1e-5)
    np.testing.assert_allclose(of_wide.asnumpy(), 2 * a.T @ (a @ WIDE), rtol=1e-5)
    assert parts(ops.GradOperation(get_all=True)(product)(csr(), Tensor(WIDE))[0]) == parts(of_csr)
    value, again = graphc.value_and_grad(product)(csr(), Tensor(WIDE))
    np.testing.assert_allclose(float(value), ((a @ WIDE) ** 2).sum(), rtol=1e-5)
    assert parts(again) == parts(of_csr)


class Scaled(nn.Cell):
    def construct(self, x):
        return x * Tensor(DENSE)


def test_a_sparse_result_is_weighted_by_a_sparse_sens(mode):
    assert parts(graphc.grad(Scaled())(csr()))[2] == [1, 4, 10]
    assert parts(graphc.grad(Scaled(), sens_param=True)(csr(), csr((1.0, 2.0, 3.0))))[2] == [1, 8, 30]


# ---- as what programs hand around


class Graph(nn.Cell):
    """A layer whose attribute is sparse, which a parameter is multiplied with."""

    def __init__(self):
        super().__init__()
        self.edges, self.weight = csr(), Parameter(Tensor(WIDE), name="weight")

    def construct(self, x):
        return self.edges.mm(self.weight * x), self.edges


def test_an_attribute_of_a_cell(mode):
    net = Graph()
    made, edges = net(Tensor(2.0))
    np.testing.assert_allclose(made.asnumpy(), array(csr()) @ WIDE * 2, rtol=1e-6)
    assert parts(edges) == parts(csr())
    net.edges = csr((5.0, 5.0, 5.0))
    np.testing.assert_allclose(net(Tensor(1.0))[0].asnumpy(), array(csr((5.0, 5.0, 5.0))) @ WIDE, atol=1e-6)


class Ways(nn.Cell):
    def construct(self, x, y, c):
        made = x if c.sum() > 0 else y * Tensor(np.ones((3, 4), np.float32))
        i = Tensor(0, i32)
        while i < 2:
            made = made * Tensor(DENSE)
            i = i + 1
        for _ in range(2):
            made = made + made
        return {"made": made, "dense": made.to_dense()}


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_branches_and_loops(mode, sign):
    made = Ways()(csr(), csr((5.0, 6.0, 7.0)), Tensor(sign))
    wanted = array(csr() if sign > 0 else csr((5.0, 6.0, 7.0))) * DENSE * DENSE * 4
    np.testing.assert_allclose(array(made["made"]), wanted)
    np.testing.assert_allclose(made["dense"].asnumpy(), wanted)


@graphc.jit
def total(x, pair):
    return x.to_dense().sum() + pair[0].values.sum()


class Either(nn.Cell):
    def construct(self, x, y):
        if x.values.sum() > 0:
            made = x
        else:
            made = y
        return made


class Turned(nn.Cell):
    def construct(self, x, y):
        turn = x.values.sum()
        while turn > 0:
            x = y
            turn = turn - 1
        return x


def test_a_shape_is_a_constant_of_a_compiled_step():
    wide = CSRTensor(*csr().parts, (3, 5))
    made = [float(total(x, (coo(),))) for x in (csr(), wide, csr((2.0, 2.0, 2.0)))]
    assert made == [5, 5, 9]
    step = graphc.compile(Scaled(), csr())
    with pytest.raises(GraphcError, match=r"a CSRTensor \(3, 5\) is given, it was compiled for a CSRTensor \(3, 4\)"):
        step(wide)
    with pytest.raises(
        GraphcError, match=r"a CSRTensor \(3, 4\) of f32\[3\] if .* and a CSRTensor \(3, 5\) of f32\[3\] if not"
    ):
        Either()(csr(), wide)
    with pytest.raises(
        GraphcError, match=r"(?s)before a turn: +tuple of 2 \(a CSRTensor \(3, 4\).*after it: .*\(3, 5\)"
    ):
        Turned()(csr(), wide)


def test_what_python_does_with_them(mode):
    x, y = csr(), coo()
    assert repr(y) == (
        "COOTensor(shape=[3, 4], dtype=Float32, indices=Tensor(shape=[3, 2], dtype=Int32, value=\n[[0 1]\n [2 0]\n [0 1]]),"
        " values=Tensor(shape=[3], dtype=Float32, value=[ 1.00000000e+00 -2.00000000e+00  4.00000000e+00]))"
    )
    assert str(x) == (
        "CSRTensor(shape=[3, 4], dtype=Float32, indptr=Tensor(shape=[4], dtype=Int32, value=[0 2 2 3]),"
        " indices=Tensor(shape=[3], dtype=Int32, value=[0 3 1]),"
        " values=Tensor(shape=[3], dtype=Float32, value=[ 1.00000000e+00 -2.00000000e+00  3.00000000e+00]))"
    )
    assert (x.size, x.ndim, x.itemsize, x.shape, str(x.dtype), x.to_tuple()[3]) == (3, 2, 4, (3, 4), "Float32", (3, 4))
    assert [x == csr(), x == x, Tensor(DENSE) == x, len({x, y})] == [False, True, False, 2]
    assert parts(copy.deepcopy(x)) == parts(pickle.loads(pickle.dumps(x))) == parts(CSRTensor(csr_tensor=x)) == parts(x)
    assert graphc.mutable((x, 1.0))[0] is x
    z = Tensor(DENSE)
    z += y
    assert z.asnumpy()[0, 1] == 7
    empty = COOTensor(Tensor(np.zeros(0, np.int32)), Tensor(np.zeros(0, np.float32)), (3, 4))
    assert not empty.to_dense().asnumpy().any()
    assert (empty.coalesce().size, empty.to_csr().indptr.shape) == (0, (4,))


class Doubled(nn.Cell):
    """Sparse tensors of a Parameter, which is written behind them."""

    def __init__(self):
        super().__init__()
        self.w = Parameter(Tensor(np.array([1.0, 2.0, 3.0], np.float32)), name="w")

    def construct(self):
        in_rows = CSRTensor(csr().indptr, csr().indices, self.w, (3, 4))
        at_places = COOTensor(coo().indices, self.w, (3, 4))
        ops.assign(self.w, self.w * 2)
        return in_rows.values, at_places.values


def test_of_a_parameter_what_it_held_is_held(mode):
    for held in Doubled()():
        np.testing.assert_array_equal(held.asnumpy(), [1, 2, 3])


def test_what_maps_tensors_leaves_the_places(mode):
    scaler = graphc.amp.StaticLossScaler(4.0)
    for x in (csr(), coo()):
        for made, values in (
            (ops.zeros_like(x), 0 * x.values),
            (ops.ones_like((x,))[0], 0 * x.values + 1),
            (ops.stop_gradient(x), x.values),
            (scaler.scale((x,))[0], 4 * x.values),
            (scaler.unscale((x,))[0], x.values / 4),
        ):
            assert type(made) is type(x)
            for one, other in zip(made.parts, (*x.parts[:-1], values), strict=True):
                np.testing.assert_array_equal(one.asnumpy(), other.asnumpy())


def test_parts_by_functions():
    x, y = coo(), csr()
    found = ops.coo_tensor_get_indices(x), ops.coo_tensor_get_values(x)
    assert all(a is b for a, b in zip(found, x.parts, strict=True))
    found = ops.csr_tensor_get_indptr(y), ops.csr_tensor_get_indices(y), ops.csr_tensor_get_values(y)
    assert all(a is b for a, b in zip(found, y.parts, strict=True))
    assert ops.coo_tensor_get_dense_shape(x) == ops.csr_tensor_get_dense_shape(y) == (3, 4)
    assert parts(ops.make_coo_tensor(*x.to_tuple())) == parts(ops.make_sparse_tensor(*x.to_tuple())) == parts(x)
    assert parts(ops.make_csr_tensor(*y.to_tuple())) == parts(y)
    rows = ops.make_row_tensor(Tensor([1], i32), Tensor([[2.0, 3.0]]), (3, 2))
    assert ops.row_tensor_get_dense_shape(ops.make_row_tensor_inner(rows.indices, rows.values, (3, 2))) == (3, 2)
    assert ops.row_tensor_get_indices(rows) is rows.indices
    assert ops.row_tensor_get_values(rows) is rows.values
    assert ops.row_tensor_add(rows, Tensor(np.ones((3, 2), np.float32))).asnumpy().tolist() == [[1, 1], [3, 4], [1, 1]]
    assert parts(graphc.SparseTensor(*x.to_tuple())) == parts(x)


# ---- refused

NONE = Tensor(np.zeros((0, 2), np.int32))
REFUSED = {
    "indices must be a Tensor, got list": lambda: COOTensor([[0, 1]], Tensor([1.0]), (2, 2)),
    "indices is f32.*expected int16, int32, int64": lambda: COOTensor(Tensor([[0.0, 1.0]]), Tensor([1.0]), (2, 2)),
    "shape must be a tuple of ints": lambda: COOTensor(NONE, Tensor(np.zeros(0)), [2, 2]),
    "shape must be two sizes": lambda: COOTensor(NONE, Tensor(np.zeros(0)), (2, 2, 2)),
    "sizes must be positive": lambda: COOTensor(NONE, Tensor(np.zeros(0)), (0, 2)),
    r"expected \[n, 2\] and \[n\]": lambda: COOTensor(NONE, Tensor([1.0]), (2, 2)),
    "coo_tensor must be a COOTensor": lambda: COOTensor(coo_tensor=csr()),
    "csr_tensor must be a CSRTensor, without other parts": lambda: CSRTensor(csr().indptr, csr_tensor=csr()),
    r"expected \[rows \+ 1\]": lambda: CSRTensor(*csr().parts, (2, 4)),
    r"no \+ of CSRTensor and Tensor": lambda: csr() + Tensor(DENSE),
    "no - of CSRTensor and Tensor": lambda: Tensor(DENSE) - csr(),
    r"no \* of COOTensor and int": lambda: coo() * 2,
    "no / of COOTensor and Tensor": lambda: Tensor(DENSE) / coo(),
    "no @ of CSRTensor and Tensor": lambda: csr() @ Tensor(WIDE),
    "no < of CSRTensor and CSRTensor": lambda: csr() < csr(),
    "neither true nor false": lambda: bool(coo()),
    "shapes are": lambda: coo() + Tensor(WIDE),
    "more places than int64 counts": lambda: COOTensor(NONE, Tensor(np.zeros(0)), (2**32, 2**31)).coalesce(),
    "CSRTensor has no attribute 'to_dens'.*x.to_dense": lambda: csr().to_dens,
    "CSRTensor has no attribute 'tensor_type'.*x.to_dense": lambda: ops.matmul(csr(), Tensor(WIDE)),
    "csr_exp: x must be a CSRTensor, got COOTensor": lambda: ops.csr_exp(coo()),
    "Abs: x must be a Tensor or a number, got CSRTensor": lambda: ops.abs(csr()),
    r"expected \[4, 1\]": lambda: csr().mv(Tensor(WIDE)),
    r"f32\[3,4\] beside a CSRTensor \(3, 4\)": lambda: csr().mm(Tensor(DENSE)),
    "axis must be 1 or -1": lambda: csr().sum(0),
    r"csr_mul: the dense tensor is f32\[2,4\]": lambda: csr() * Tensor(DENSE[:2]),
    "csr_mm: trans_a": lambda: ops.csr_mm(csr(), csr(), trans_a=True),
    "dtype must be float32 or float64": lambda: ops.csr_softmax(csr(), graphc.float16),
    "expected a matrix": lambda: Tensor([1.0]).to_coo(),
    "x_indices must lie within x_shape": lambda: ops.coalesce(*(Tensor(x) for x in ([[0], [3]], [1.0], [3, 3]))),
    "concat_dim must be 0 or 1": lambda: ops.coo_concat((coo(), coo()), 2),
    "two or more COOTensors": lambda: ops.coo_concat((coo(),)),
    "thresh is": lambda: coo().add(coo(), Tensor([1.0, 2.0])),
    "alpha must be a Tensor": lambda: csr().add(csr(), 1.0, Tensor(1.0)),
    "a COOTensor or CSRTensor is mapped": lambda: ops.vmap(lambda x: x.values)(csr()),
    "expected one dtype": lambda: ops.SparseTensorDenseAdd()(*coo().to_tuple(), Tensor(DENSE, i32)),
    "SparseToDense: indices": lambda: ops.SparseToDense()(coo().indices, coo().values, (3,)),
    "adjoint_st must be a bool": lambda: ops.SparseTensorDenseMatmul(1)(*coo().to_tuple(), Tensor(WIDE)),
}


class Product(nn.Cell):
    def construct(self, x, wide):
        return x.mm(wide)


def test_parts_have_no_buckets():
    for buckets in ((4, 8), {"x2": (4, 8)}):
        with pytest.raises(graphc.SignatureError, match=r"'x[02]' is a part of a sparse tensor: its size cannot vary"):
            graphc.compile(Product(), csr(), Tensor(WIDE), buckets=buckets)
    step = graphc.compile(Product(), csr(), Tensor(WIDE), buckets={"wide": {1: (2, 4)}})
    np.testing.assert_allclose(step(csr(), Tensor(WIDE)).asnumpy(), array(csr()) @ WIDE, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("message", REFUSED)
def test_refused(message):
    with pytest.raises((GraphcError, AttributeError), match="(?s)" + message):
        REFUSED[message]()
