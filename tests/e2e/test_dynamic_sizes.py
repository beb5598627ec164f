"""Sizes that only values tell: what compiled steps choose by masks is what eager calls choose, with its gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, nn, ops
from graphc.debug import debug
from graphc.errors import ExportError, GraphcError, PaddingError, ShapeError, TraceError, TraceTypeError
from graphc.ops.declared.bounds import IndexRangeError
from graphc.ops.tensor.tree import tensors
from tests.e2e.changing import close
from tests.e2e.chosen import Function, Net, agrees, floats, masks, refused


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
    "distinct of the chosen": lambda x, m: (*ops.unique(ops.floor(x[m] * 2)), ops.unique(x[m])[0]),
    "numbers of the chosen": lambda x, m: graphc.mint.unique(ops.floor(x[m]), return_inverse=True, return_counts=True),
    "runs of the chosen": lambda x, m: ops.unique_consecutive(ops.floor(x[m]), True, True),
}  # fmt: skip
OF_SOME: dict[str, Function] = {
    "extrema": lambda x, m: (x[m].max(), x[m].min(), ops.logsumexp(x[m], 0)),
    "ends": lambda x, m: (x[m][0], x[m][-1]),
    "largest": lambda x, m: x[m].argmax(),
}


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
    "one more": lambda x, m: (lambda y, z: (y * y, ops.exp(z) / y, ops.softmax(y, 0), y.mean(), y.max()))(
        ops.cat((x[m], x[:1])), ops.cat((ops.ones((1, 3)), x[m]))
    ),
    "looked at": lambda x, m: (lambda h: (ops.softmax(x @ h.T, -1) @ h, ops.softmax(h @ h.T, -1) @ h))(x[m] * 2 + 1),
    "looked at, logarithms": lambda x, m: (lambda h: ops.log_softmax(x @ h.T, -1) @ h)(x[m] * 2 + 1),
    "softmax across": lambda x, m: (ops.softmax(x.T[:, m], 0), ops.log_softmax(ops.tile(x, (1, 7))[m], 0)),
    "brought": lambda x, m: ops.index_add(ops.zeros(x.shape), ops.nonzero(m).reshape(-1).astype(graphc.int32), x[m], 0),
}  # fmt: skip


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


@pytest.mark.parametrize("name", OF_ROWS)
def test_rows(name: str) -> None:
    agrees(OF_ROWS[name], floats(6, 3), masks((6,)))


@pytest.mark.parametrize("how", [{"jit": False}, {"threads": 2, "canary": True}])
def test_however_it_runs(how: dict[str, Any]) -> None:
    with debug(**how):
        for name in ("differences", "put back", "joined", "distinct"):
            agrees(OF_ANY[name], floats(67), masks((67,)))
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
    "Python's number": (lambda x, m: (x, x[m].shape), PaddingError, r"the Python value \d+, or \d+ for other counts"),
    "the least of two": (lambda x, m: x[m].sum() / min(len(x[m]), len(x[~m])), PaddingError, "how many elements there are"),
    "all of them": (lambda x, m: x[m] if x[m].shape == x.shape else -x[m], PaddingError, "padding would change"),
    "none of both": (lambda x, m: x if len(x[m]) + len(x[m & (x > 0)]) == 0 else x * 2, PaddingError, "padding would change"),
    "two or more": (lambda x, m: x[m].sum() / (len(x[m]) or 2), PaddingError, "another number for count0 1"),
    "at most two": (lambda x, m: x[m].sum() / min(len(x[m]), 2), PaddingError, "another number for count0 0"),
    "a text of it": (lambda x, m: (x, str(x[m].shape)), PaddingError, "the Python value"),
    "rows one by one": (lambda x, m: sum(y for y in x[m]), TraceTypeError, "how many rows there are is not known"),
    "cut": (lambda x, m: x[m].reshape(2, -1), ShapeError, r"sizes stand for what only values tell: \d+ for those at"),
    "under vmap": (lambda x, m: graphc.vmap(lambda v, k: v[k].sum())(x[None], m[None]), TraceError, "a function under vmap"),
    "other sizes": (lambda x, m: x[m] + x, GraphcError, r"\(\d+,\) and \(9,\)"),
    "one beside others": (lambda x, m: x[x.sum() > 0, 1], TraceError, "must be known when the Cell is compiled"),
    "an index of other sizes": (lambda x, m: x[ops.cat((m, m))], IndexRangeError, "has other sizes than"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be(case: str) -> None:
    body, kind, why = REFUSED[case]
    refused(lambda: graphc.compile(Net(body), floats(9), masks((9,))[2]), "test_dynamic_sizes.py", kind, why)


def test_exports_have_fixed_sizes(tmp_path: Any) -> None:
    with pytest.raises(TraceError, match="exported network"):
        graphc.export(Net(lambda x: x[x > 0]), Tensor(floats(5)), file_name=tmp_path / "net")
    step = graphc.compile(Net(lambda x: x[x > 0]), floats(5))
    with pytest.raises(ExportError, match="result 0 has another size"):
        step.export(tmp_path / "step.onnx")
    with pytest.raises(GraphcError, match="counts no places"):
        step.entry  # noqa: B018
