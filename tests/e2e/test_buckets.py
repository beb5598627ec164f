"""Steps for buckets: whatever the size, the numbers are those of a step compiled for it; what cannot be exact is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, ops, train
from graphc.attached import KEY
from graphc.debug import debug
from graphc.errors import ArgumentTypeError, ArgumentValueError, PaddingError, SignatureError
from tests.e2e.changing import close, compiled_times


class Net(nn.Cell):
    """`body(self, *inputs)` over layers given by name."""

    def __init__(self, body: Callable[..., Any], **layers: Any) -> None:
        super().__init__()
        self.body = body
        for name, layer in layers.items():
            setattr(self, name, layer)

    def construct(self, *inputs: Any) -> Any:
        return self.body(self, *inputs)


def floats(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


def tokens(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(sum(shape)).integers(0, 7, shape).astype(np.int32)


def attention(self: Any, x: Any) -> Any:
    """Of [batch, length, 8], two heads, softmax over a length that may be padded; the mean over it at the end."""
    b, t, c = x.shape
    q, k, v = (f(x).reshape(b, t, 2, c // 2).transpose(0, 2, 1, 3) for f in (self.q, self.k, self.v))
    weights = ops.softmax(ops.matmul(q, k.transpose(0, 1, 3, 2)) * 0.5, -1)
    seen = ops.matmul(weights, v).transpose(0, 2, 1, 3).reshape(b, t, c)
    return self.norm(x + seen).reshape(-1, c), seen.mean(1), ops.log_softmax(x.sum(-1), -1).max(1)


def attentive() -> Net:
    return Net(attention, q=nn.Dense(8, 8), k=nn.Dense(8, 8), v=nn.Dense(8, 8), norm=nn.LayerNorm((8,)))


BOTH = {"inputs0": {0: (4, 8), 1: (8, 16)}}
CASES: dict[str, tuple[Callable[[], Any], Any, list[tuple[Any, ...]]]] = {
    "rows": (
        lambda: Net(lambda self, x: ops.relu(self.a(x)), a=nn.Dense(5, 3)),
        (4, 8),
        [(floats(n, 5),) for n in (1, 2, 3, 4, 5, 7, 8)],
    ),
    "reductions": (
        lambda: Net(lambda self, x: (x.sum(0), x.mean(), x.max(0), x.min(), x.prod(0), (x > 0).all(0), x.argmax(0), x.std(0))),
        (4, 8),
        [(floats(n, 5),) for n in (1, 2, 3, 6, 8)],
    ),
    "next tokens": (
        lambda: Net(
            lambda self, t: ops.cross_entropy(self.e(t)[:, :-1].reshape(-1, 8), t[:, 1:].reshape(-1)),
            e=nn.Embedding(7, 8),
        ),
        {"inputs0": {1: (4, 8, 16)}},
        [(tokens(3, n),) for n in (2, 3, 4, 7, 12)],
    ),
    "order in rows": (
        lambda: Net(lambda self, x: (*ops.topk(x, 2), *ops.sort(x, 1), *ops.cummax(x, 1), ops.cumprod(x, 1))),
        (4, 8),
        [(floats(n, 5),) for n in (1, 3, 4, 7)],
    ),
    "up to each": (
        lambda: Net(lambda self, x: (*ops.cummin(x, 0), ops.cumprod(x, 0), ops.cumsum(x, 0))),
        (4, 8),
        [(floats(n, 5),) for n in (1, 3, 4, 7)],
    ),
    "order and ends": (
        lambda: Net(lambda self, x: (*ops.sort(x, 0), ops.sort(x, 0, True)[0], x[-1], ops.flip(x, (0,)), x[:, ::-1] - x[-1])),
        (4, 8),
        [(floats(n, 5),) for n in (1, 3, 4, 7)],
    ),
    "chosen": (
        lambda: Net(lambda self, x: (x[x > 0], x[x[:, 0] > 0], (x[x > 0] ** 2).mean(), ops.nonzero(x.sum(1) > 0))),
        (4, 8),
        [(floats(n, 5),) for n in (1, 2, 3, 4, 7)],
    ),
    "integers": (lambda: Net(lambda self, x: (x.max(0), x.min(0), x.sum())), (8,), [(tokens(n, 3) - 9,) for n in (2, 5, 8)]),
    "attention, length": (attentive, {"inputs0": {1: (8, 16)}}, [(floats(2, n, 8),) for n in (1, 3, 8, 9, 15)]),
    "attention, both": (attentive, BOTH, [(floats(b, t, 8),) for b, t in ((1, 1), (3, 7), (4, 8), (5, 11), (2, 16))]),
    "images": (
        lambda: Net(
            lambda self, x: self.pool(self.norm(self.conv(x))).mean((2, 3)),
            conv=nn.Conv2d(2, 4, 3), norm=nn.BatchNorm2d(4), pool=nn.MaxPool2d(2, 2),
        ).set_train(),
        (4,),
        [(floats(n, 2, 6, 6),) for n in (2, 3, 4)],
    ),
    "transforms": (
        lambda: Net(
            lambda self, x: (
                ops.abs(ops.rfft(x, dim=1)), ops.irfft(ops.rfft(x) * Tensor(2j)), ops.imag(ops.fft2(x)).mean(0),
                ops.real(ops.ifft(x, 37, 1)).sum(0), ops.hfft(x, dim=2), ops.fft(ops.Complex()(x, x * x)).sum(0),
            )
        ),
        (4, 8),
        [(floats(n, 6, 5),) for n in (1, 3, 4, 7)],
    ),
    "volumes": (
        lambda: Net(
            lambda self, x: self.back(self.conv(x)).mean((2, 3)), conv=nn.Conv3d(2, 3, 3), back=nn.Conv3dTranspose(3, 2, 2, 2)
        ),
        (4, 8),
        [(floats(n, 2, 4, 5, 6),) for n in (2, 4, 7)],
    ),
    "embedding": (
        lambda: Net(lambda self, x: (self.e(x[:, :-1]).mean(1), self.e(x[:, 1:]), ops.one_hot(x, 7)), e=nn.Embedding(7, 4)),
        {"inputs0": {0: (4,), 1: (8, 16)}},
        [(tokens(b, t),) for b, t in ((1, 2), (3, 5), (4, 9), (2, 16))],
    ),
    "recurrence": (
        lambda: Net(lambda self, x: self.rnn(x)[0], rnn=nn.LSTM(3, 4, batch_first=True)),
        (4, 8),
        [(floats(n, 6, 3),) for n in (1, 3, 5)],
    ),
    "recurrences along what varies": (
        lambda: Net(
            lambda self, x: (self.lstm(x), self.gru(x)[0].mean((1, 2)), self.rnn(x)[1].sum(0)),
            lstm=nn.LSTM(3, 4, 2, batch_first=True, bidirectional=True), gru=nn.GRU(3, 2, batch_first=True),
            rnn=nn.RNN(3, 2, batch_first=True, bidirectional=True),
        ),
        {"inputs0": {0: (4,), 1: (8, 20)}},
        [(floats(b, n, 3),) for b, n in ((2, 1), (3, 5), (4, 8), (3, 13))],
    ),
    "scans": (
        lambda: Net(lambda self, x: (
            ops.scan(lambda c, r: (ops.tanh(c * 0.9 + r[0]), (c * r[1], c.sum())), x[0] * 0, (x, x * x), reverse=True),
            ops.scan(lambda c, r: (c + r, c), x[0, 0] * 0, x.reshape(-1, 3))[1].reshape(x.shape).sum((1, 2)),
        )),
        (4, 8),
        [(floats(n, 2, 3),) for n in (1, 3, 4, 7)],
    ),
    "sizes in Python": (
        lambda: Net(lambda self, x: (x.sum() / x.shape[0], x * np.linspace(0, 1, x.shape[0], dtype=np.float32)[:, None])),
        (4, 8),
        [(floats(n, 3),) for n in (2, 3, 7)],
    ),
    "along unpadded axes": (
        lambda: Net(lambda self, x: (ops.interpolate(x, size=37, mode="linear"), ops.pad(x, (3, 2), "reflect"),
                                     ops.cumsum(x, 2), ops.group_norm(x.reshape(-1, 2, 40), 1))),
        (4, 8),
        [(floats(n, 2, 40),) for n in (1, 3, 5)],
    ),
    "softmax across what varies": (
        lambda: Net(lambda self, x: (ops.softmax(x, 1), ops.cross_entropy(x[..., :-1], ops.argmax(x[..., 1:], 1)))),
        {"inputs0": {2: (8, 20)}},
        [(floats(2, 3, n),) for n in (5, 9, 18, 20)],
    ),
    "rows at any places": (
        lambda: Net(lambda self, x, k: (
            x[ops.arange(1)], ops.gather(x, k, 0), x[k[0]] * x[k] + ops.index_add(x * 1, k, x[k], 0).sum(),
        )),
        {"inputs0": (4, 8)},
        [(floats(n, 3), np.array([0, n - 1, -1, -n, n // 2], np.int64)) for n in (1, 3, 4, 7)],
    ),
    "joined": (
        lambda: Net(lambda self, x: (lambda first: (ops.concat((first, x), 1).sum(1), ops.concat((first, x * 2, first), 1)))(
                        self.first.broadcast_to((x.shape[0], 1, 4))),
                    first=graphc.Parameter(floats(1, 1, 4), name="first")),
        {"inputs0": {1: (8,)}},
        [(floats(2, n, 4),) for n in (1, 4, 8)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_results_are_those_of_the_size(case: str) -> None:
    make, buckets, inputs = CASES[case]
    net = make()
    held = {p.name: p.asnumpy() for p in net.get_parameters()}
    step = graphc.compile(net, *inputs[-1], buckets=buckets)
    for each in inputs:
        wanted = graphc.compile(net, *each)(*each)
        after = {p.name: p.asnumpy() for p in net.get_parameters()}
        for p in net.get_parameters():
            p.set_data(held[p.name])
        close(step(*each), wanted)
        for p in net.get_parameters():
            np.testing.assert_allclose(p.asnumpy(), after[p.name], rtol=2e-5, atol=2e-5)
            p.set_data(held[p.name])
    assert len(step.steps) < len(inputs)


def test_checked_mode_runs_them() -> None:
    make, buckets, inputs = CASES["sizes in Python"]
    net = make()
    with debug(jit=False):
        step = graphc.compile(net, *inputs[-1], buckets=buckets)
        for each in inputs:
            close(step(*each), graphc.compile(net, *each)(*each))


#: (cell, lengths that are right): what padding that is no copy of a real row would make infinite, or another size another way.
PARTLY: dict[str, tuple[Callable[..., Any], tuple[int, ...]]] = {
    "differences": (lambda self, x: (1 / (x[1:] - x[:-1])).sum(0), (8, 3, 5)),
    "running sums": (lambda self, x: (lambda s: s[:-1] / s[1:])(ops.cumsum(x * x + 1, 0)), (8, 3, 5)),
    "log of softmax": (lambda self, x: ops.log(ops.softmax(x, 0)), (8, 1, 3)),
    "entropy": (lambda self, x: (lambda p: (p * ops.log(p)).sum(0))(ops.softmax(x, 0)), (8, 1, 3)),
    "log weights": (lambda self, x: ops.matmul(ops.log(ops.softmax(ops.matmul(x, x.T), -1)), x), (8, 1, 3)),
    "all hidden": (lambda self, x: ops.softmax(x.T * 0 - 3.4028234663852886e38, -1), (8, 1, 3)),
    "numbers that go on": (lambda self, x: x / (4 - ops.arange(x.shape[0]).astype(graphc.float32))[:, None], (4, 1, 3)),
    "contrastive": (lambda self, x: ops.cross_entropy(ops.matmul(x, x.T), ops.arange(x.shape[0])), (8, 1, 3)),
    "of shares": (lambda self, x: ops.cross_entropy(ops.matmul(x, x.T), ops.softmax(ops.matmul(x, x.T), -1)), (8, 1, 3)),
    "ordered alike": (lambda self, x: (lambda v, i: x[i] * v[:, None] + x[:, 2][i][:, None])(*ops.sort(x[:, 0])), (8, 1, 3)),
    "one is another way": (lambda self, x: x * 2 if x.shape[0] == 1 else x, (8, 1, 3)),
    "odd": (lambda self, x: x * 2 if x.shape[0] % 2 else x, (7, 3, 5)),
    "a number that seems fixed": (lambda self, x: x * (x.shape[0] // 6), (7, 6)),
    "loops": (
        lambda self, x: ops.while_loop(lambda v: v[0] < 3, lambda v: (v[0] + 1, ops.tanh(v[1]) * 2), (x.sum() * 0, x))[1],
        (8, 1, 3),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", PARTLY)
def test_each_length_is_right_or_refused(case: str) -> None:
    body, sizes = PARTLY[case]
    loss = Net(lambda self, x: (body(self, x).astype(graphc.float32) ** 2).sum())
    net = Net(lambda self, x: (body(self, x), graphc.value_and_grad(self.loss, 0)(x)), loss=loss)
    try:
        step = graphc.compile(net, floats(sizes[0], 3), buckets=(8,))
    except PaddingError:
        assert case in ("odd", "a number that seems fixed")
        return
    for n in (*sizes, 7, 6, 2):
        try:
            found = step(floats(n, 3))
        except PaddingError:
            assert n not in sizes or case == "a number that seems fixed"
            continue
        close(found, graphc.compile(net, floats(n, 3))(floats(n, 3)), 1e-4)


def test_a_size_that_is_returned_is_that_of_the_call() -> None:
    net = Net(lambda self, x: (x.sum(), x.shape[0], f"{x.shape}", x[x > 0]))
    step = graphc.compile(net, floats(4, 3), buckets=(4, 8))
    for n in (4, 1, 3, 2, 7, 3):
        assert step(floats(n, 3))[1:3] == (n, f"({n}, 3)")
    counted = Net(lambda self, x: (x.sum(), x[x > 0].shape))
    assert graphc.compile(counted, floats(4, 3), buckets=(4, 8))(floats(3, 3))[1] == ((floats(3, 3) > 0).sum(),)


def test_sizes_that_vary_together_are_told_apart() -> None:
    both = {"inputs0": {0: (8,), 1: (8,)}}
    for body in (
        lambda self, x: x.sum() * (x.shape[0] - x.shape[1]),
        lambda self, x: x.sum(0) * np.arange(x.shape[1], dtype=np.float32),
    ):
        net = Net(body)
        step = graphc.compile(net, floats(8, 8), buckets=both)
        close(step(floats(3, 5)), graphc.compile(net, floats(3, 5))(floats(3, 5)))
    with pytest.raises(PaddingError):
        graphc.compile(Net(lambda self, x: x.reshape(x.shape[1], x.shape[0])), floats(8, 8), buckets=both)
    hidden = Net(lambda self, x, k: ops.cond(k > 0, lambda: k * x.shape[0], lambda: k * 1))
    step = graphc.compile(hidden, floats(5, 2), np.array(2, np.float32), buckets={"inputs0": (8,)})
    assert [float(step(floats(5, 2), np.array(k, np.float32))) for k in (2, -1)] == [10, -1]


def language_model(self: Any, x: Any) -> Any:
    logits = self.head(self.body_of(self.e(x[:, :-1]))[0])
    return self.entropy(logits.reshape(-1, 7), x[:, 1:].reshape(-1))


def classifier(self: Any, x: Any, labels: Any) -> Any:
    return self.entropy(self.b(ops.tanh(self.norm(self.a(x)))), labels)


def training(kind: str) -> nn.Cell:
    entropy = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    if kind == "classifier":
        net = Net(classifier, a=nn.Dense(6, 5), norm=nn.BatchNorm1d(5), b=nn.Dense(5, 7), entropy=entropy)
    else:
        norm = Net(lambda self, x: attention(self, x)[1:], **dict(attentive().name_cells()))
        trunk = Net(lambda self, x: (self.mix(x)[0][:, None] + self.up(x),), mix=norm, up=nn.Dense(8, 8))
        if kind == "recurrent language":
            trunk = nn.GRU(8, 8, batch_first=True)
        net = Net(language_model, e=nn.Embedding(7, 8), body_of=trunk, head=nn.Dense(8, 7), entropy=entropy)
    scale = nn.DynamicLossScaleUpdateCell(64.0, 2, 3)
    return nn.TrainOneStepWithLossScaleCell(net, nn.Momentum(net.trainable_params(), 0.1, 0.9), scale).set_train()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("kind", ["classifier", "language", "recurrent language"])
def test_training_steps_are_those_of_the_size(kind: str, threads: int) -> None:
    one, other = training(kind), training(kind)
    for p, q in zip(one.get_parameters(), other.get_parameters(), strict=True):
        q.set_data(p.asnumpy())
    sizes = [(3, 6), (4, 8), (5, 3), (8, 8), (6, 2)]
    batches: list[tuple[Any, ...]] = [
        (floats(n, 6), tokens(n)) if kind == "classifier" else (tokens(n, t),) for n, t in sizes
    ]
    buckets: Any = (4, 8) if kind == "classifier" else {"inputs0": {0: (4, 8), 1: (8,)}}
    with graphc.debug(threads=threads, canary=threads == 2):
        step = graphc.compile(other, *batches[0], buckets=buckets)
        for batch in batches:
            close(step(*batch), graphc.compile(one, *batch)(*batch), 1e-4)
    assert len(step.steps) == 2
    for p, q in zip(one.get_parameters(), other.get_parameters(), strict=True):
        np.testing.assert_allclose(p.asnumpy(), q.asnumpy(), rtol=1e-4, atol=1e-4, err_msg=p.name)


def test_gradients_for_padded_inputs_are_cut_and_weights_of_padding_are_nothing() -> None:
    net = Net(lambda self, x: ops.tanh(self.a(x)), a=nn.Dense(3, 2))
    cell = Net(lambda self, x, w: graphc.value_and_grad(self.net, 0, self.net.trainable_params())(x), net=net)
    weighted = Net(lambda self, x, w: ops.GradOperation(get_all=True, sens_param=True)(self.net)(x, w), net=net)
    for made in (cell, weighted):
        step = graphc.compile(made, floats(3, 3), floats(3, 2), buckets=(8,))
        for n in (1, 5, 8):
            close(
                step(floats(n, 3), floats(n, 2)),
                graphc.compile(made, floats(n, 3), floats(n, 2))(floats(n, 3), floats(n, 2)),
            )


REFUSED: dict[str, tuple[Callable[..., Any], str]] = {
    "a transform along it": (lambda self, x: ops.abs(ops.rfft(x, dim=0)), "RFFT: it mixes elements along axis 0"),
    "every second row from the end": (lambda self, x: x[::-2], "where it reads along axis 0 depends on the padding"),
    "cut": (lambda self, x: x.reshape(3, -1), "it cuts a padded axis"),
    "Python's way": (lambda self, x: x * 2 if x.shape[0] > 3 else x + 1, "Python decides by the size"),
    "filled": (lambda self, x: x.sum() + ops.full((2,), x.shape[0]), "for another size"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_exact_is_refused_with_its_line(case: str) -> None:
    body, why = REFUSED[case]
    with pytest.raises(PaddingError) as caught:
        graphc.compile(Net(body), floats(4, 3), buckets=(6,))
    assert "GC172" in str(caught.value)
    assert why in str(caught.value)
    assert caught.value.loc is not None
    assert caught.value.loc.file.endswith("test_buckets.py")


def test_sizes_and_names_that_do_not_fit_are_said() -> None:
    net = Net(lambda self, x, y: x.sum() + y.sum())
    step = graphc.compile(net, floats(3, 2), floats(3), buckets=(4, 8))
    for inputs, why in (
        ((floats(9, 2), floats(9)), "has size 9, the largest bucket is 8"),
        ((floats(0, 2), floats(0)), "has size 0"),
        ((floats(3, 2), floats(4)), "vary together, but have sizes 3 and 4"),
        ((floats(3, 3), floats(3)), "compiled for other inputs"),
    ):
        with pytest.raises(SignatureError, match=why):
            step(*inputs)
    for buckets in ((), (8, 4), (1, 4), (2**40,), {"z": (4,)}, {"inputs0": {-1: (4,)}}):
        with pytest.raises(ArgumentValueError):
            graphc.compile(net, floats(3, 2), floats(3), buckets=buckets)
    for buckets in ("8", {0: (4,)}, (4.0,)):
        with pytest.raises(ArgumentTypeError):
            graphc.compile(net, floats(3, 2), floats(3), buckets=buckets)
    step = graphc.compile(net, floats(3, 2), floats(3), dynamic={"inputs0": 0, "inputs1": (0,)})
    for size in (3, 5, 4):
        close(step(floats(size, 2), floats(size)), Tensor(floats(size, 2).sum() + floats(size).sum()))
    assert sorted(step.steps) == [(4,), (8,)]
    for dynamic, why in (
        (True, "must be"),
        ({0: 0}, "names of inputs"),
        ({"inputs0": -1}, "from 0 on"),
        ({"z": 0}, "z"),
    ):
        with pytest.raises((ArgumentTypeError, ArgumentValueError), match=why):
            graphc.compile(net, floats(3, 2), floats(3), dynamic=dynamic)
    with pytest.raises(ArgumentValueError, match="one of them"):
        graphc.compile(net, floats(3, 2), floats(3), buckets=(4,), dynamic={"inputs0": 0})


def test_a_bucket_is_compiled_when_it_is_needed() -> None:
    step = graphc.compile(Net(lambda self, x: x * 2), floats(3, 2), buckets={"inputs0": None})
    assert list(step.steps) == [(4,)]
    for n in (4, 1, 2, 9, 16):
        assert step(floats(n, 2)).asnumpy().tolist() == (floats(n, 2) * 2).tolist()
    assert list(step.steps) == [(4,), (2,), (16,)]
    assert step.step(floats(11, 2)) is step.steps[16,]
    assert "(4,), (2,), (16,)" in repr(step)


def test_the_memory_of_buckets_is_bounded_with_that_of_other_steps() -> None:
    step = graphc.compile(Net(lambda self, x: ops.tanh(x) @ ops.exp(x).T), floats(4, 200_000), buckets=(4, 8, 16))
    with debug(steps_mb=16):
        for size in (5, 12, 3, 7):
            close(
                step(floats(size, 200_000)),
                Net(lambda self, x: ops.tanh(x) @ ops.exp(x).T)(Tensor(floats(size, 200_000))),
                1e-3,
            )
            assert step.held() <= 16 * 2**20 or len(step.steps) == 1
        assert list(step.steps)[-1] == (8,)


def test_functions_pad_to_buckets_by_the_names_of_their_arguments() -> None:
    @graphc.jit(buckets={"x": (4, 8)})
    def norm(scale: Any, x: Any) -> Any:
        return ops.sqrt(ops.sum(x * x)) * scale, x - ops.mean(x)

    times = []
    for size in (3, 4, 7, 6):
        x = floats(size)
        close(norm(Tensor(2.0), Tensor(x)), (Tensor(np.float32(2 * np.sqrt((x * x).sum()))), Tensor(x - x.mean())))
        times.append(compiled_times(getattr(norm, KEY).values["alone"]))
    assert times == [1, 1, 2, 2]
    with pytest.raises(SignatureError, match="the largest bucket is 8"):
        norm(Tensor(2.0), Tensor(floats(9)))
    with pytest.raises(ArgumentValueError, match="sizes rise from 2 on"):
        graphc.jit(buckets=(8, 4))


def trained_by(buckets: Any, sink: bool) -> tuple[list[np.ndarray[Any, Any]], Any, int]:
    """(parameters, metrics, compiled training steps) of a Model whose last batch of three is smaller."""
    graphc.set_seed(3)
    data = graphc.dataset.NumpySlicesDataset((floats(22, 8), tokens(22) % 3), ["x", "label"], shuffle=False).batch(8)
    net = nn.SequentialCell(nn.Dense(8, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Dense(6, 3))
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
    given = {} if buckets is None else {"buckets": buckets}
    model = train.Model(net, loss, optimizer, metrics={"loss", "acc"}, **given)
    model.train(2, data, dataset_sink_mode=sink)
    return [p.asnumpy() for p in net.get_parameters()], model.eval(data), compiled_times(model.train_network)


@pytest.mark.parametrize("sink", [False, True])
def test_a_smaller_last_batch_of_a_model_is_padded_in_sinks_too(sink: bool, caplog: Any) -> None:
    plain, metrics, times = trained_by(None, sink)
    assert times == 2
    caplog.clear()
    padded, same, times = trained_by((8,), sink)
    assert times == 1
    assert not caplog.records
    for a, b in zip(padded, plain, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-5, atol=2e-6)
    assert same == pytest.approx(metrics, rel=1e-4)


def test_a_sink_of_padded_batches_keeps_what_has_their_size() -> None:
    """Results of the size of a batch are cut, those of a size of 1 come from a step of their own."""
    data = graphc.dataset.NumpySlicesDataset((floats(9, 4),), ["x"], shuffle=False).batch(4)
    net = Net(lambda self, x: (x * x).sum(-1))
    sink = train.data_sink(net, data, sink_size=3, buckets=(4,))
    last = sink()
    want = (floats(9, 4) ** 2).sum(-1)
    np.testing.assert_allclose(last.asnumpy(), want[8:], rtol=1e-5)
    np.testing.assert_allclose(sink.losses, [want[:4].mean(), want[4:8].mean(), want[8:].mean()], rtol=1e-5)
    data = graphc.dataset.NumpySlicesDataset((floats(10, 4),), ["x"], shuffle=False).batch(4)
    sink = train.data_sink(net, data, sink_size=3, buckets=(4,))
    np.testing.assert_allclose(sink().asnumpy(), (floats(10, 4)[8:] ** 2).sum(-1), rtol=1e-5)
    assert sink.losses[2] == pytest.approx((floats(10, 4)[8:] ** 2).sum(-1).mean())


class Scaled(nn.Cell):
    """x [n, 3] by a weight, and the mean over n."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Dense(3, 2)

    def construct(self, x: Tensor, k: Tensor | None = None) -> tuple[Tensor, Tensor]:
        y = self.layer(x) if k is None else self.layer(x) * k
        return y, y.mean(0)


@pytest.mark.filterwarnings("error::graphc.RecompileWarning")
def test_a_called_cell_pads_where_set_inputs_lets_an_axis_vary() -> None:
    net, plain = Scaled(), Scaled()
    for p, q in zip(net.get_parameters(), plain.get_parameters(), strict=True):
        q.set_data(p.asnumpy())
    net.set_inputs(Tensor(shape=[None, 3], dtype=graphc.float32))
    assert repr(net.get_inputs()[0].open_shape) == "(None, 3)"
    assert str(net.get_inputs()[0]) == "Tensor(shape=[-1, 3], dtype=Float32, value= )"
    for n in (1, 2, 3, 5, 6, 7, 8, 5):
        close(net(Tensor(floats(n, 3))), graphc.compile(plain, floats(n, 3))(floats(n, 3)))
    assert compiled_times(net) == 3
    for x, why in (
        (floats(5, 4), r"f32\[None,3\]"),
        (floats(5, 3).astype(np.float64), r"f32\[None,3\]"),
        (floats(3), "None,3"),
    ):
        with pytest.raises(SignatureError, match=why):
            net(Tensor(x))
    net.set_inputs(x=Tensor(shape=[None, 3], dtype=graphc.float32), k=Tensor(floats(2)))
    close(
        net(Tensor(floats(5, 3)), Tensor(floats(2))),
        graphc.compile(plain, floats(5, 3), floats(2))(floats(5, 3), floats(2)),
    )


def test_a_tensor_with_an_open_shape_is_for_set_inputs_only() -> None:
    x = Tensor(shape=[None, 3], dtype=graphc.float32)
    with pytest.raises(ArgumentTypeError, match="set_inputs"):
        Scaled()(x)
    with pytest.raises(ArgumentValueError):
        Scaled().set_inputs(x, x, x)


def test_an_axis_left_open_of_which_the_cell_takes_one_size_is_to_be_a_number() -> None:
    for size in (2, 3):
        weight = Tensor(floats(2, size))
        net = Net(lambda _, x, w=weight: x * w)
        net.set_inputs(Tensor(shape=[2, None], dtype=graphc.float32))
        with pytest.raises(PaddingError, match="help: leave no axis open of which the cell takes one size only"):
            net(weight)
