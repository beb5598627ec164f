"""Tokens that go to experts and back, against MindSpore's documentation and loops; operators as functions."""

from __future__ import annotations

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, ops
from tests.cells import Of

DRAWS = np.random.default_rng(7)
X = np.array([[0.1, 0.2, 0.3], [0.2, 0.7, 0.8], [0.3, 0.3, 0.5]], np.float16)
EXPERTS = np.array([[0, 1, 1], [2, 1, 1], [0, 0, 0]], np.int32)


def both(function, *arrays):
    """The results outside of a Cell, which are those in one and those in PYNATIVE_MODE."""
    given = [Tensor(a) for a in arrays]
    graphc.set_context(mode=graphc.PYNATIVE_MODE)
    try:
        ways = [Of(function)(*given)]
    finally:
        graphc.set_context(mode=graphc.GRAPH_MODE)
    ways += [Of(function)(*given), function(*given)]
    first, *others = ([x.asnumpy() for x in (y if isinstance(y, tuple) else (y,))] for y in ways)
    for other in others:
        for x, y in zip(first, other, strict=True):
            assert (x.dtype, x.shape) == (y.dtype, y.shape)
            np.testing.assert_allclose(
                x.astype(np.float64), y.astype(np.float64), rtol=2e-3 if x.itemsize == 2 else 1e-6
            )
    return first


def test_the_example_of_the_documentation():
    routed, places = both(lambda x, e: ops.moe_init_routing_v2(x, e, 3, 2, 3, 1, 0, False), X, EXPERTS)
    assert (routed.dtype, places.dtype) == (np.float16, np.int32)
    np.testing.assert_array_equal(routed, np.stack([X[[0, 2]], X[[0, 0]], X[[1, 1]] * [[1], [0]]]).astype(np.float16))
    assert places.tolist() == [0, 2, 3, 4, -1, -1, 1, -1, -1]


def routed_by_loops(x, experts, number, capacity):
    """What comes to each expert, in order; where each choice stands."""
    queues = [[] for _ in range(number)]
    places = []
    for row, chosen in enumerate(experts):
        for e in chosen:
            places.append((e, len(queues[e])))
            queues[e].append(x[row])
    return queues, places


@pytest.mark.parametrize("seed", range(3))
def test_rows_come_to_their_experts(seed):
    draw = np.random.default_rng(seed)
    n, choices, number, width = draw.integers(1, 7, 4)
    x = draw.standard_normal((n, width)).astype(np.float32)
    experts = draw.integers(0, number, (n, choices)).astype(np.int32)
    queues, places = routed_by_loops(x, experts, number, n)
    lengths = [len(q) for q in queues]
    before = np.cumsum([0, *lengths])
    rows = np.array([row for q in queues for row in q])
    made = both(lambda x, e: ops.moe_init_routing_v2(x, e, 0, 0, int(number), 0, 2, False), x, experts)
    for got, wanted in zip(made, (rows, [before[e] + k for e, k in places], lengths), strict=True):
        np.testing.assert_array_equal(got, wanted)
    made = both(lambda x, e: ops.moe_init_routing_v2(x, e, 2, 0, int(number), 0, 1, True), x, experts)
    for got, wanted in zip(made, (rows[:2], [before[e] + k for e, k in places], before[1:]), strict=True):
        np.testing.assert_array_equal(got, wanted)
    capacity = int(draw.integers(1, n + 1))
    made = both(lambda x, e: ops.moe_init_routing_v2(x, e, 0, capacity, int(number), 1, 1, True), x, experts)
    wanted = np.zeros((number, capacity, width), np.float32)
    for e, queue in enumerate(queues):
        for k, row in enumerate(queue[:capacity]):
            wanted[e, k] = row
    stand = [e * capacity + k if k < capacity else -1 for e, k in places]
    for got, expected in zip(made, (wanted, stand, lengths), strict=True):
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize("mode", [0, 1])
def test_gradients_of_what_is_routed_go_back_to_the_rows(mode):
    x, experts = DRAWS.standard_normal((3, 2)).astype(np.float32), Tensor(EXPERTS)
    weights = DRAWS.standard_normal((9, 2) if mode == 0 else (3, 2, 2)).astype(np.float32)

    def loss(x):
        return (ops.moe_init_routing_v2(x, experts, 0, 2, 3, mode, 0, False)[0] * Tensor(weights)).sum()

    made = graphc.grad(loss)(Tensor(x)).asnumpy()
    # The loss is linear in x: its gradient is what each element counts.
    units = np.eye(6, dtype=np.float32).reshape(6, 3, 2)
    np.testing.assert_allclose(made.ravel(), [float(loss(Tensor(u))) for u in units], rtol=1e-5, atol=1e-6)


def finalized(expanded, x1, x2, bias, scales, rows, experts):
    n, choices = scales.shape
    made = x1.astype(np.float64) + (0 if x2 is None else x2)
    for i in range(n):
        for k in range(choices):
            made[i] += scales[i, k].astype(np.float64) * (
                expanded[rows[i + k * n]].astype(np.float64) + bias[experts[i, k]]
            )
    return made


def test_rows_come_back_from_their_experts():
    expanded = np.repeat(np.array([0.1, 0.2, 0.3, 0.1, 0.2, 0.3], np.float16)[:, None], 4, 1)
    x1 = np.repeat(np.array([1, 0.2, 0.3], np.float16)[:, None], 4, 1)
    bias = np.repeat(np.array([0.1, 0.2, 0.3, 0.4], np.float16)[:, None], 4, 1)
    scales = np.array([[0.7, 0.3], [0.8, 0.2], [0.8, 0.2]], np.float16)
    rows, experts = np.array([2, 3, 1, 0, 5, 4], np.int32), np.array([[0, 1], [0, 2], [1, 3]], np.int32)
    back = ops.MoeFinalizeRouting()
    (made,) = both(lambda e, x, b, s, r, i: back(e, x, None, b, s, r, i), expanded, x1, bias, scales, rows, experts)
    assert made.dtype == np.float16
    # The example of MindSpore's documentation.
    np.testing.assert_allclose(made[:, 0].astype(float), [1.37, 0.48, 0.74], atol=1e-3)
    given = [DRAWS.standard_normal(a.shape).astype(np.float32) for a in (expanded, x1, x1, bias, scales)]
    (made,) = both(back, *given, rows, experts)
    np.testing.assert_allclose(made, finalized(*given, rows, experts), rtol=1e-5, atol=1e-6)
    got = graphc.grad(lambda *a: (back(*a, Tensor(rows), Tensor(experts)) ** 2).sum(), tuple(range(5)))(
        *map(Tensor, given)
    )
    value = lambda arrays: (finalized(*arrays, rows, experts) ** 2).sum()  # noqa: E731
    for k, gradient in enumerate(got):
        at = DRAWS.integers(0, given[k].size)
        moved = [[a.astype(np.float64) for a in given] for _ in range(2)]
        for sign, arrays in zip((1e-6, -1e-6), moved, strict=True):
            arrays[k].ravel()[at] += sign
        slope = (value(moved[0]) - value(moved[1])) / 2e-6
        assert abs(gradient.asnumpy().ravel()[at] - slope) <= 1e-3 * max(1, abs(slope))


def route(x=X, experts=EXPERTS, active=0, capacity=2, number=3, drops=1, counts=0, before=False):
    return ops.moe_init_routing_v2(Tensor(x), Tensor(experts), active, capacity, number, drops, counts, before)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: route(x=X[0]), graphc.ShapeError, "x is"),
        (lambda: route(experts=EXPERTS[:2]), graphc.ShapeError, "expert_idx"),
        (lambda: route(x=EXPERTS), graphc.DTypeError, "expected floats and int32"),
        (lambda: route(experts=EXPERTS.astype(np.int64)), graphc.DTypeError, "expected floats and int32"),
        (lambda: route(active=-1), graphc.ArgumentValueError, "active_num must be at least 0"),
        (lambda: route(active=1.0), graphc.ArgumentTypeError, "active_num must be an int"),
        (lambda: route(drops=2), graphc.ArgumentValueError, r"drop_pad_mode must lie in 0 \.\. 1"),
        (lambda: route(counts=3), graphc.ArgumentValueError, r"flag must lie in 0 \.\. 2"),
        (lambda: route(number=0), graphc.ArgumentValueError, "expert_num must be at least 1"),
        (lambda: route(capacity=4), graphc.ArgumentValueError, r"expert_capacity must lie in 1 \.\. 3"),
        (lambda: route(before=1), graphc.ArgumentTypeError, "must be a bool"),
    ],
)
def test_routes_that_do_not_fit(call, error, says):
    with pytest.raises(error, match=says):
        call()


def test_operands_that_do_not_come_back():
    wide, n = ops.ones((2, 3)), Tensor(np.zeros((2, 1), np.int32))
    back, rows = ops.MoeFinalizeRouting(), Tensor(np.zeros(2, np.int32))
    good = (wide, wide, None, wide, ops.ones((2, 1)), rows, n)
    assert back(*good).shape == (2, 3)
    for k, (value, error) in enumerate(
        [
            (wide[:1], graphc.ShapeError), (wide[:1], graphc.ShapeError), (wide[:1], graphc.ShapeError),
            (wide[:, :1], graphc.ShapeError), (wide.astype("float16")[:, :1], graphc.DTypeError),
            (rows.astype("int64"), graphc.DTypeError), (n[:1], graphc.ShapeError),
        ]
    ):  # fmt: skip
        with pytest.raises(error, match="MoeFinalizeRouting"):
            back(*good[:k], value, *good[k + 1 :])


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("add", 9), ("sub", 5), ("mul", 14), ("div", 3.5), ("floordiv", 3), ("mod", 1)],
)
def test_operators_as_functions(name, wanted):
    apply = getattr(ops, f"augassign_{name}")
    assert apply(7, 2) == wanted
    x = Tensor([7.0, -7.0])
    # As MindSpore 2.10 gives them, and x stays.
    wanted = {"add": [9, -5], "sub": [5, -9], "mul": [14, -14], "div": [3.5, -3.5], "floordiv": [3, -4], "mod": [1, 1]}[
        name
    ]
    assert (both(lambda a: apply(a, 2), x.asnumpy())[0].tolist(), x.tolist()) == (wanted, [7, -7])
    if name == "add":
        assert (apply((1,), (2,)), apply("a", "b")) == ((1, 2), "ab")


def test_a_deep_copy_is_a_tensor_of_its_own():
    x = Tensor([1.0, 2.0])
    y = ops.deepcopy(x)
    x[0] = 5
    assert y.tolist() == [1, 2]
    assert both(ops.deepcopy, np.ones(2, np.int8))[0].dtype == np.int8
    assert graphc.grad(lambda a: (ops.deepcopy(a) * a).sum())(Tensor([1.0, 2.0])).tolist() == [2, 4]
    assert type(ops.deepcopy(Parameter(x, name="p"))) is Tensor
    with pytest.raises(graphc.ArgumentTypeError, match="input_x must be a Tensor, got int"):
        ops.deepcopy(3)
