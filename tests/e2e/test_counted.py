"""Sizes that only values tell: what compiled steps choose by masks is what eager calls choose, with its gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, nn, ops
from graphc.debug import debug
from graphc.errors import ExportError, GraphcError, PaddingError, ShapeError, TraceError
from graphc.ops.functional.core import IndexRangeError
from graphc.ops.tensor.tree import tensors
from tests.e2e.changing import close

Function = Callable[..., Any]


class Net(nn.Cell):
    def __init__(self, body: Function) -> None:
        super().__init__()
        self.body = body

    def construct(self, *inputs: Any) -> Any:
        return self.body(*inputs)


def floats(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return np.random.default_rng(seed + sum(shape)).normal(size=shape).astype(np.float32)


def masks(shape: tuple[int, ...]) -> list[np.ndarray[Any, Any]]:
    """None, all, some, one."""
    some, one = np.random.default_rng(3).random(shape) > 0.5, np.zeros(shape, bool)
    one[tuple(n // 2 for n in shape)] = True
    return [np.zeros(shape, bool), np.ones(shape, bool), some, one]


def changed(x: Any, m: Any, by: Function, value: bool = True) -> Any:
    x = x * 1
    x[m] = by(x[m])
    return x


def stepped(x: Any, m: Any) -> Any:
    x = x * 1
    x[m] += x[m] * 2
    x[m] = 0.5
    x[~m] -= x[~m].sum()
    return x


#: Of x, and m of its shape. Those of the second kind need something to be there.
OF_ANY: dict[str, Function] = {
    "elements": lambda x, m: x[m],
    "selected": lambda x, m: ops.masked_select(x, m) * 2,
    "mean": lambda x, m: x[m].mean(),
    "statistics": lambda x, m: (x[m].sum(), x[m].std(), x[m].prod(), ops.norm(x[m] - 5), (x[m] > 0).any(), (x[m] > 0).all()),
    "differences": lambda x, m: ((x[m] - (x * 3)[m]) ** 2).sum(),
    "of the chosen": lambda x, m: (lambda y: (y[y > 0], y[y > 0].sum()))(x[m]),
    "two masks": lambda x, m: x[m].sum() * x[~m].sum(),
    "in order": lambda x, m: (ops.sort(x[m]), ops.sort(x[m], descending=True)[0], x[m].argsort()),
    "running": lambda x, m: (ops.cumsum(x[m], 0), ops.softmax(x[m], 0), ops.log_softmax(x[m], 0)),
    "stacked": lambda x, m: (ops.stack((x[m], x[m] * 2)), ops.tile(x[m], (2,)), ops.repeat_interleave(x[m], 2), x[m][None]),
    "joined": lambda x, m: (ops.cat((x[m], ops.ones(2))), ops.cat((x[m], x[~m], x[m] * 2)), ops.cat((x[m] > 0, x[~m] > 0))),
    "backwards": lambda x, m: (ops.flip(x[m], (0,)), ops.cat((x[m], x[~m]))[::-1]),
    "steps": lambda x, m: (x[m][1:], x[m][1:] - x[m][:-1]),
    "put back": lambda x, m: changed(x, m, lambda y: y - y.sum()),
    "written": stepped,
    "how many": lambda x, m: (x[m].sum() / (x[m].shape[0] + 0.0), x[m] * x[m].size, ops.arange(x[m].shape[0])),
    "at least one": lambda x, m: (x[m].sum() / max(len(x[m]), 1), x[~m].sum() / max(x[~m].size, 3.0), x[m] * (len(x[m]) or 1)),
    "at most five": lambda x, m: (x[m][:5], x[m][:2].mean(), x[m][1:3], ops.sort(x[m], descending=True)[0][:3].sum()),
    "the last ones": lambda x, m: (x[m][-3:], x[m][:-1][:2], ops.cat((x[m][:2], x[~m][:2])), ops.cat((x[m], x[~m]))[:6][1:]),
    "of the first": lambda x, m: (lambda y: (y[y > 0], ops.softmax(y, 0), y[:2].sum()))(x[m][:4]),
    "products": lambda x, m: (ops.matmul(x[m].reshape(1, -1), x[m].reshape(-1, 1)), ops.outer(x[m], x[m]).sum()),
    "places": lambda x, m: (ops.nonzero(m), *ops.nonzero(x, as_tuple=True), ops.argwhere(m), ops.nonzero(m).sum()),
    "at places": lambda x, m: ops.gather(x.reshape(-1), ops.nonzero(m.reshape(-1)).reshape(-1), 0),
    "other dtypes": lambda x, m: ((x > 0)[m], ops.floor(x * 3).astype(graphc.int32)[m], x.astype(graphc.float16)[m]),
    "losses": lambda x, m: (nn.SmoothL1Loss()(x[m], x[m] * 0.3), nn.MSELoss(reduction="sum")(x[m], x[m] * 0.3)),
    "distinct": lambda x, m: (*ops.unique(ops.floor(x * 2)), ops.unique(x)[0]),
    "distinct in order": lambda x, m: ops.floor(x * 2).unique(return_inverse=True, return_counts=True),
    "distinct of numbers": lambda x, m: graphc.mint.unique(ops.floor(x * 2), return_inverse=True, return_counts=True),
    "all or nothing": lambda x, m: (x[x.sum() > 0], x[m.sum() > 0].sum()),
    "runs": lambda x, m: ops.unique_consecutive(ops.floor(x), True, True),
}  # fmt: skip
OF_SOME: dict[str, Function] = {
    "extrema": lambda x, m: (x[m].max(), x[m].min(), ops.logsumexp(x[m], 0)),
    "ends": lambda x, m: (x[m][0], x[m][-1]),
    "largest": lambda x, m: x[m].argmax(),
}


def a_loss(x: Any, m: Any) -> Any:
    loss = x.sum() * 0
    if m.any():
        loss = loss + (x[m] ** 2).mean() / x[m].shape[0]
    return loss


def the_largest(x: Any, m: Any) -> Any:
    """Raises where nobody comes by, and where somebody does."""
    few, all_of_them = x[m & (x > 0.5)], x[m].sum()
    made = few.sum()
    if m.any():
        made = made + x[m].max() + x[m][0] * x[m][-1] + ops.topk(x[m], 1)[0].sum()
    if (x[m] > 0.5).any():
        made = made * few.max() + few[0]
    return made, all_of_them


def either_way(x: Any, m: Any) -> Any:
    if x[m].sum() > 0:
        made, rest = x[m] * 2, x[m].max()
    else:
        made, rest = -x[m], x.sum()
        if (~m).any():
            rest = x[~m].min()
            if x[~m].sum() > 0:
                rest = rest * x[~m].max()
    return made, made.sum() * rest


def put_back(x: Any, m: Any) -> Any:
    y = x * 1
    if m.any():
        y[m] = x[m] - x[m].mean()
        y[m] += x[m].max()
    return y


def in_turns(x: Any, m: Any) -> Any:
    turn, made = ops.zeros((), graphc.int32), x.sum() * 0
    while turn < 3:
        some = (x * turn)[m & (x > turn.astype(graphc.float32) * 0.3)]
        made = made + some.sum() + x[m].std()
        if (m & (x > 0)).any():
            made = made * x[m & (x > 0)].min()
        turn = turn + 1
    return made


def in_branches(x: Any, m: Any) -> Any:
    made = x.sum() * 0
    for k in range(4):
        if (x > k * 0.4).any():
            made = made + x[x > k * 0.4].min() * k
    return made


def in_a_scan(x: Any, m: Any) -> Any:
    def turn(total: Any, row: Any) -> Any:
        return total + x[m & (x > row)].sum() * total, ops.cond(m.any(), lambda: x[m].max() * row, lambda: row)

    return ops.scan(turn, ops.ones(()), x.reshape(-1), None)


def in_short(x: Any, m: Any) -> Any:
    """Python computes the second operand only if the first does not tell."""
    few, made = x[m], x.sum() * 0
    if (m.any() and few.max() > 0.5) or (few.sum() < 1 and (~m).any() and x[~m].min() < -1):
        made = made + 1
    return made * few.sum()


def as_many_as_needed(x: Any, m: Any) -> Any:
    """Branches need more of it than what follows."""
    few, made = x[m], x.sum() * 0
    if few.sum() > 100:
        made = made + few[3] * few[-2]
    elif few.sum() > 200:
        made = made + few[1]
    return made + few[:4].sum() + few[:3].sum() * few[-2:].sum()


#: What branches and loops count themselves.
INSIDE: dict[str, Function] = {
    f.__name__: f
    for f in (a_loss, the_largest, either_way, put_back, in_turns, in_branches, in_a_scan, in_short, as_many_as_needed)
}


def looked_at(x: Any, m: Any) -> Any:
    while x[m].sum() > 3:
        x = x * 0.5
    return x


def decided(x: Any, m: Any) -> Any:
    if m.any():
        x = x * (2 if x[m].shape[0] > 4 else 3)
    return x


def of_the_chosen(x: Any, m: Any) -> Any:
    some, made = x[m], x.sum() * 0
    while made < 3:
        made = made + some.max() + 1
    return made


def of_either(x: Any, m: Any) -> Any:
    made = x.sum() * 0
    while made < 3:
        made = made + ops.cat((x[m & (x > made)], x[x < -made])).max() ** 2 + 1
    return made


def caught(x: Any, m: Any) -> Any:
    made = x.sum()
    if made > -100:
        try:
            made = made + x[m].max()
        except ShapeError:
            made = made - 1
    return made


def caught_around(x: Any, m: Any) -> Any:
    made = x.sum()
    try:
        if made > -100:
            made = made + x[m][1]
    except IndexError:
        made = made - 1
    return made


#: Of x with two axes and a mask of its rows.
OF_ROWS: dict[str, Function] = {
    "rows": lambda x, m: (x[m], x[m].sum(0), x[m] @ x.T, ops.relu(x[m]).mean()),
    "columns": lambda x, m: (x.T[:, m], x.T[..., m].sum()),
    "rows and a column": lambda x, m: (x[m, 1], x[m, 1:], x[m][:, 0]),
    "rows put back": lambda x, m: changed(x, m, lambda y: y * 2 + y.sum(0)),
    "rows set": lambda x, m: changed(x, m, lambda y: 7.0),
    "runs of rows": lambda x, m: ops.unique_consecutive(ops.floor(x), True, True, dim=0),
    "norms": lambda x, m: (ops.layer_norm(x[m], (3,), ops.ones(3), ops.zeros(3), 1e-5), ops.norm(x[m], dim=1)),
    "attention": lambda x, m: ops.matmul(ops.softmax(ops.matmul(x[m], x[m].T), -1), x[m]),
    "softmax across": lambda x, m: (ops.softmax(x.T[:, m], 0), ops.log_softmax(ops.tile(x, (1, 7))[m], 0)),
    "brought": lambda x, m: ops.index_add(ops.zeros(x.shape), ops.nonzero(m).reshape(-1).astype(graphc.int32), x[m], 0),
}  # fmt: skip


def of_both(body: Function) -> Function:
    """What a function gives, with the gradient of a sum of it if it has one."""

    def loss(x: Any, m: Any) -> Any:
        return sum((y * y).sum() for y in tensors(body(x, m)) if y.tensor_type.is_float)

    def both(x: Any, m: Any) -> Any:
        made = body(x, m)
        if not any(y.tensor_type.dtype == "float32" for y in tensors(made)):
            return made
        return made, graphc.grad(loss, 0)(x, m)

    return both


def agrees(body: Function, x: np.ndarray[Any, Any], chosen: list[np.ndarray[Any, Any]]) -> None:
    """A compiled step beside eager calls, one step for all masks."""
    both = of_both(body)
    step = graphc.compile(Net(both), x, chosen[0])
    for mask in chosen:
        close(step(x, mask), both(Tensor(x), Tensor(mask)))


@pytest.mark.parametrize("shape", [(9,), (4, 5), (1,), (2, 1, 3)])
@pytest.mark.parametrize("name", OF_ANY)
def test_what_is_chosen(name: str, shape: tuple[int, ...]) -> None:
    agrees(OF_ANY[name], floats(*shape), masks(shape))


@pytest.mark.parametrize("name", OF_SOME)
def test_what_needs_some(name: str) -> None:
    none, *chosen = masks((9,))
    agrees(OF_SOME[name], floats(9), chosen)
    step = graphc.compile(Net(OF_SOME[name]), floats(9), none)
    with pytest.raises((ShapeError, IndexRangeError)):
        step(floats(9), none)
    close(step(floats(9), chosen[1]), OF_SOME[name](Tensor(floats(9)), Tensor(chosen[1])))


@pytest.mark.parametrize("shape", [(9,), (4, 5), (1,)])
@pytest.mark.parametrize("name", INSIDE)
def test_what_branches_and_loops_choose(name: str, shape: tuple[int, ...]) -> None:
    agrees(INSIDE[name], floats(*shape), masks(shape))


def test_only_branches_that_are_taken_raise() -> None:
    def body(x: Any, m: Any, to_it: Any) -> Any:
        some, made = x[m], x.sum()
        if to_it:
            made = some.max() + x[~m].min()
        return made + some.sum()

    x, (none, every, *others) = floats(9), masks((9,))
    step = graphc.compile(Net(body), x, none, np.array(True))
    for mask in (none, every):
        close(step(x, mask, np.array(False)), body(Tensor(x), Tensor(mask), False))
        with pytest.raises(ShapeError, match="nothing to reduce"):
            step(x, mask, np.array(True))
    for mask in others:
        close(step(x, mask, np.array(True)), body(Tensor(x), Tensor(mask), True))


#: Of x, and m of its shape, with several errors where there are few: the first one is raised.
FIRST: dict[str, Function] = {
    "one after the other": lambda x, m: x[m].max() + x[m][1],
    "the other way round": lambda x, m: x[m][1] + x[m].max(),
    "a branch before": lambda x, m: ops.cond(x[0] > -9, lambda: x[m & (x > 0)][0], lambda: x[0]) + x[m].max(),
    "of two branches": lambda x, m: (
        ops.cond(x[0] > -9, lambda: x[m][1], lambda: x[0]) + ops.cond(x[1] > -9, lambda: x[m].max(), lambda: x[1])
    ),
    "of either branch": lambda x, m: (lambda q: ops.cond(x[0] > 0, lambda: q[3], lambda: q[1] * q.max()))(x[m]),
    "nested": lambda x, m: ops.cond(
        x[0] > -9, lambda: x[m].max() + ops.cond(x[1] > -9, lambda: x[m][2], lambda: x[m].min()), lambda: x[m].min()
    ),
}


@pytest.mark.parametrize("name", FIRST)
def test_the_first_error_is_raised(name: str) -> None:
    x, chosen = floats(9), masks((9,))
    step = graphc.compile(Net(FIRST[name]), x, chosen[0])
    for mask in chosen:
        try:
            wanted = FIRST[name](Tensor(x), Tensor(mask))
        except (ShapeError, IndexRangeError) as error:
            with pytest.raises(type(error)):
                step(x, mask)
        else:
            close(step(x, mask), wanted)


@pytest.mark.parametrize("name", OF_ROWS)
def test_rows(name: str) -> None:
    agrees(OF_ROWS[name], floats(6, 3), masks((6,)))


@pytest.mark.parametrize("how", [{"jit": False}, {"threads": 2, "canary": True}])
def test_however_it_runs(how: dict[str, Any]) -> None:
    with debug(**how):
        for name in ("differences", "put back", "joined", "distinct"):
            agrees(OF_ANY[name], floats(67), masks((67,)))
        for name in ("the_largest", "in_turns", "in_a_scan"):
            agrees(INSIDE[name], floats(67), masks((67,)))
        agrees(OF_ROWS["rows"], floats(67, 9), masks((67,)))


class Weighted(nn.Cell):
    """A function of w and the inputs."""

    def __init__(self, body: Function) -> None:
        super().__init__()
        self.body = body
        self.w = Parameter(np.array(1.5, np.float32), name="w")

    def construct(self, *inputs: Any) -> Any:
        return self.body(self.w, *inputs)


#: Of w, x and a mask: what is made of no elements must reach the gradient of w neither as NaN nor as a number.
DOMAINS: dict[str, Function] = {
    "roots": lambda w, x, m: (w * ops.sqrt(x[m])).sum() + (w * ops.sqrt(-x[m & (x < 0)])).sum(),
    "logs": lambda w, x, m: (w * ops.log(x[m] - 3)).sum() + (ops.log(x[m]) / x[m] * w).sum(),
    "differences": lambda w, x, m: ops.sqrt((x[m] - (x - 1)[m]) ** 2 * w).sum(),
    "from the mean": lambda w, x, m: (w * (x[m] - x[m].mean())).sum(),
    "deviation": lambda w, x, m: (w * (x[m] - x[m].mean()) / (x[m].std() + 1e-5)).sum(),
    "shares": lambda w, x, m: (w * x[m] / (w * x[m]).sum()).sum() + (w * x[m] / ops.norm(x[m])).sum(),
    "places": lambda w, x, m: (w / (ops.nonzero(m).reshape(-1).astype(graphc.float32) + 1)).sum(),
    "bools": lambda w, x, m: (w * ops.log((x > 0)[m].astype(graphc.float32))).sum(),
    "integers": lambda w, x, m: (w / (x * 0).astype(graphc.int32)[m].astype(graphc.float32)).sum(),
    "joined": lambda w, x, m: (w * ops.log(ops.concat((x[m], x[m & (x > 3)])))).sum(),
    "nested": lambda w, x, m: (lambda y: (w * y[y > 1] / y[y > 1].sum()).sum())(x[m]),
    "products": lambda w, x, m: ops.matmul(ops.log_softmax(x[m], 0).reshape(1, -1), (x[m] * w).reshape(-1, 1)).sum(),
    "centred products": lambda w, x, m: ops.matmul((x[m] - x[m].mean()).reshape(1, -1) * w, x[m].reshape(-1, 1)).sum(),
}


@pytest.mark.parametrize("name", DOMAINS)
def test_nothing_chosen_has_no_gradient(name: str) -> None:
    net = Weighted(DOMAINS[name])
    x, none = floats(8), np.zeros(8, bool)
    step = graphc.compile(Net(lambda x, m: graphc.grad(net, 0, net.trainable_params())(x, m)), x, none)
    for found in tensors(step(x, none)):
        assert not found.asnumpy().any()


@pytest.mark.parametrize(
    "body",
    [
        lambda w, x: ops.matmul(ops.log_softmax(x, 0), w * ops.ones((3, 1))).sum(),
        lambda w, x: ops.cumprod(w * x * 1e6, 0)[0].sum(),
    ],
)
def test_what_padding_makes_infinite_reaches_no_gradient(body: Function) -> None:
    x, mask = floats(6, 3), np.array([1, 1, 0, 0, 0, 0], bool)
    net = Weighted(body)
    gradient = graphc.grad(net, None, net.trainable_params())
    wanted = gradient(Tensor(x[:2]))
    close(graphc.compile(Net(gradient), x[:2], buckets=(16,))(x[:2]), wanted, 1e-4)
    close(graphc.compile(Net(lambda x, m: gradient(x[m])), x, mask)(x, mask), wanted, 1e-4)


def test_counts_are_told_apart() -> None:
    x, y = floats(10), floats(8)
    m, k = np.arange(10) < 5, np.arange(8) < 3
    several: list[Function] = [
        lambda x, y, m, k: (x[m].sum(), y[k].sum() / y[k].shape[0], x[m].sum() / len(x[m])),
        lambda x, y, m, k: (x[m].sum(), x[2:][m[2:]].sum() / len(x[2:][m[2:]])),
        lambda x, y, m, k: (x[m], y[k], ops.arange(0, y[k].shape[0]), ops.ones(len(x[m])).sum()),
        lambda x, y, m, k: x[m].sum() * (x[m].shape[0] + 0.0) + y[k].sum() * len(y[k]),
    ]
    for body in several:
        step = graphc.compile(Net(body), x, y, m, k)
        for first, second in ((m, k), (~m, ~k), (m, ~k), (x > 9, k)):
            close(step(x, y, first, second), body(*map(Tensor, (x, y, first, second))))


def test_many_layers_in_front_of_two_masks_are_compared_once() -> None:
    def deep(x: Any) -> Any:
        for _ in range(40):
            x = x + ops.relu(x) * 0.01
        return x

    x = floats(5)
    close(Net(lambda x: x[deep(x) > 0].sum() + (x * x)[deep(x) > 0].sum())(x), Tensor((x[x > 0] + x[x > 0] ** 2).sum()))


def test_a_training_step_with_a_mask() -> None:
    def loss(out: Any, labels: Any) -> Any:
        seen = labels >= 0
        return ops.cross_entropy(out[seen], ops.maximum(labels, 0)[seen])

    class WithLoss(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Dense(4, 3, has_bias=False)

        def construct(self, x: Any, labels: Any) -> Any:
            return loss(self.net(x), labels)

    x, w = floats(8, 4), floats(3, 4)
    labels = np.array([0, -1, 2, 1, -1, -1, 2, 0], np.int32)
    found = []
    for kept in (None, labels >= 0):
        net = WithLoss()
        net.net.weight.set_data(w)
        step = nn.TrainOneStepCell(net, nn.Momentum(net.trainable_params(), 0.1, 0.9)).set_train()
        inputs = (x, labels) if kept is None else (x[kept], labels[kept])
        found.append([step(*map(Tensor, inputs)).item() for _ in range(4)] + net.net.weight.asnumpy().ravel().tolist())
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5)


def test_a_queue_of_batches() -> None:
    x, m = floats(5, 7), np.stack([*masks((7,)), masks((7,))[2]])
    step = graphc.compile(Net(lambda x, m: (x[m].sum(), x[m])), x[0], m[0])
    last, (sums,) = step.run_many([x, m], kept=(0,))
    np.testing.assert_allclose(sums, [a[b].sum() for a, b in zip(x, m, strict=True)], rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(last[1].asnumpy(), x[4][m[4]])
    with pytest.raises(GraphcError, match="result 1 has another size in every step"):
        step.run_many([x, m], kept=(1,))


REFUSED: dict[str, tuple[Function, type[GraphcError], str]] = {
    "Python's way": (lambda x, m: x * 2 if x[m].shape[0] > 3 else x, PaddingError, "Python decides by the size"),
    "a number of it": (lambda x, m: x.sum() * (x[m].shape[0] // 2), PaddingError, "elements there are, which only the run"),
    "Python's number": (lambda x, m: (x, x[m].shape), PaddingError, r"the Python value 21, or 18 for other counts"),
    "two of them": (
        lambda x, m: (x[m].sum() + x[~m].sum()) * (2 if len(x[m]) > len(x[~m]) else 1), PaddingError, "Python decides|else for",
    ),
    "the least of two": (lambda x, m: x[m].sum() / min(len(x[m]), len(x[~m])), PaddingError, "how many elements there are"),
    "all of them": (lambda x, m: x[m] if x[m].shape == x.shape else -x[m], PaddingError, "padding would change"),
    "none of both": (lambda x, m: x if len(x[m]) + len(x[m & (x > 0)]) == 0 else x * 2, PaddingError, "padding would change"),
    "two or more": (lambda x, m: x[m].sum() / (len(x[m]) or 2), PaddingError, "another number for count0 1"),
    "at most two": (lambda x, m: x[m].sum() / min(len(x[m]), 2), PaddingError, "another number for count0 0"),
    "a text of it": (lambda x, m: (x, str(x[m].shape)), PaddingError, "the Python value"),
    "rows one by one": (lambda x, m: sum(y for y in x[m]), PaddingError, "Python decides by the size"),
    "cut": (lambda x, m: x[m].reshape(2, -1), ShapeError, "sizes stand for what only values tell: 21 for those at"),
    "under vmap": (lambda x, m: graphc.vmap(lambda v, k: v[k].sum())(x[None], m[None]), TraceError, "a function under vmap"),
    "in a condition": (looked_at, TraceError, "inside of the condition of a loop"),
    "out of a branch": (lambda x, m: ops.cond(x.sum() > 0, lambda: x[m], lambda: x * 2), ShapeError, "different shapes"),
    "Python's way in a branch": (decided, PaddingError, "padding would change"),
    "few outside of a loop": (of_the_chosen, PaddingError, "raises ShapeError for few of what is counted outside of it"),
    "few of two in a loop": (of_either, PaddingError, "for few of several things that it counts"),
    "caught in a branch": (caught, PaddingError, "`try` may catch ShapeError"),
    "caught around a branch": (caught_around, PaddingError, "`try` may catch IndexError"),
    "other sizes": (lambda x, m: x[m] + x, GraphcError, r"\(21,\) and \(9,\)"),
    "one beside others": (lambda x, m: x[x.sum() > 0, 1], TraceError, "must be known when the Cell is compiled"),
    "distinct of the chosen": (lambda x, m: ops.unique(x[m]), PaddingError, "an index may mean padding"),
    "an index of other sizes": (lambda x, m: x[ops.cat((m, m))], IndexRangeError, "has other sizes than"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be(case: str) -> None:
    body, kind, why = REFUSED[case]
    with pytest.raises(kind, match=why) as caught:
        graphc.compile(Net(body), floats(9), masks((9,))[2])
    assert caught.value.loc is not None
    assert caught.value.loc.file.endswith("test_counted.py")


def test_exports_have_fixed_sizes(tmp_path: Any) -> None:
    with pytest.raises(TraceError, match="exported network"):
        graphc.export(Net(lambda x: x[x > 0]), Tensor(floats(5)), file_name=tmp_path / "net")
    step = graphc.compile(Net(lambda x: x[x > 0]), floats(5))
    with pytest.raises(ExportError, match="result 0 has another size"):
        step.export(tmp_path / "step.onnx")
    with pytest.raises(GraphcError, match="counts no places"):
        step.entry  # noqa: B018
