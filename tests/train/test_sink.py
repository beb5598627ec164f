"""Sink mode: the bits of single steps, the callbacks' view of it, and the loops that users write themselves."""

from __future__ import annotations

import numpy as np
import pytest

import graphc
from graphc import Tensor, amp, context, nn, ops, train
from graphc.errors import ArgumentValueError, SignatureError
from graphc.train import batches, sink
from tests.train.conftest import Data, Events, make, noise, parts, same, samples, weights


class Noisy(nn.Cell):
    """A network with random state."""

    def __init__(self):
        super().__init__()
        self.fc1, self.drop, self.fc2 = nn.Dense(4, 6), nn.Dropout(p=0.4), nn.Dense(6, 3)

    def construct(self, x):
        return self.fc2(self.drop(ops.tanh(self.fc1(x))))


def cell(rate=0.1, scaled=True, loss_scale=1024.0):
    """A training step with dropout, a learning rate and, if scaled, a loss scale that moves."""
    graphc.set_seed(3)
    net = Noisy()
    with_loss = nn.WithLossCell(net, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"))
    optimizer = nn.Adam(net.trainable_params(), rate)
    if not scaled:
        return nn.TrainOneStepCell(with_loss, optimizer).set_train()
    manager = nn.DynamicLossScaleUpdateCell(loss_scale, 2, 3)
    return nn.TrainOneStepWithLossScaleCell(with_loss, optimizer, manager).set_train()


X, Y = noise(1, 10, 4, 4), (np.arange(40) % 3).astype(np.int32).reshape(10, 4)
X[4, 0, 0] = np.inf


def state(made):
    """All parameters, and the random states of layers, by name."""
    held = [(f"{n}.{k}", v) for n, c in made.cells_and_names() for k, v in vars(c).items()]
    values = {p.name: p.asnumpy() for p in made.get_parameters()}
    return values | {name: v.asnumpy() for name, v in held if isinstance(v, graphc.Parameter)}


def test_run_many_gives_the_bits_of_single_steps():
    """Learning-rate schedule, dropout, loss scale and overflow move on inside."""
    rate = nn.ExponentialDecayLR(0.1, 0.9, 2)
    one, many = cell(rate), cell(rate)
    step = graphc.compile(one, X[0], Y[0])
    singly = [step(x, y) for x, y in zip(X, Y, strict=True)]
    outputs, (losses, overflows, scales) = graphc.compile(many, X[0], Y[0]).run_many([X, Y], [0, 1, 2])
    assert losses.tolist() == [float(loss) for loss, _, _ in singly]
    assert overflows.tolist() == [bool(o) for _, o, _ in singly]
    assert overflows.sum() == 1
    assert scales.tolist() == [float(s) for _, _, s in singly]
    assert [np.array_equal(a.asnumpy(), b.asnumpy()) for a, b in zip(outputs, singly[-1], strict=True)] == [True] * 3
    assert same(state(one), state(many))


@pytest.mark.parametrize("mode", ["checked", "pynative", "canary"])
def test_sinks_without_a_native_loop(mode):
    """The same results where every step runs in Python, or is looked at."""
    want = Events()
    train.Model(cell()).train(2, [*zip(X, Y, strict=True)], callbacks=want, dataset_sink_mode=True)
    events = Events()
    before = context.get_context("mode")
    try:
        if mode == "pynative":
            graphc.set_context(mode=graphc.PYNATIVE_MODE)
        with graphc.debug(jit=mode != "checked", canary=mode == "canary"):
            train.Model(cell()).train(2, [*zip(X, Y, strict=True)], callbacks=events, dataset_sink_mode=True)
    finally:
        graphc.set_context(mode=before)
    np.testing.assert_allclose(events.losses, want.losses, rtol=1e-4)


@pytest.mark.parametrize(("size", "rows"), [(-1, 12), (2, 12), (5, 12), (-1, 10), (4, 10), (1, 12)])
def test_a_training_in_sinks_has_the_same_bits(size, rows):
    """Sinks go on where the last one ended, over the ends of epochs, and take partial batches."""
    sunk, singly = make(), make()
    events = Events()
    sunk.train(4, samples(rows), callbacks=events, dataset_sink_mode=True, sink_size=size)
    steps = 4 * (3 if size == -1 else size)
    cell = singly.train_network.set_train()
    data = [b for _ in range(steps) for b in samples(rows)][:steps]
    losses = [float(cell(Tensor(x), Tensor(y)).asnumpy()) for x, y in data]
    each = steps // 4
    assert events.losses == losses[each - 1 :: each]
    assert events.events[2:8:3] == [f"step_end 1/{each}", f"step_end 2/{2 * each}"]
    assert same(weights(sunk), weights(singly))


def test_what_callbacks_see_of_a_sink(capsys):
    seen = []
    look = train.LambdaCallback(
        on_train_step_begin=lambda c: seen.append(c.original_args().cur_step_num),
        on_train_step_end=lambda c: seen.append(dict(c.original_args())),
    )
    model = train.Model(cell())
    model.train(2, [*zip(X, Y, strict=True)], callbacks=[look, train.LossMonitor(), train.TimeMonitor(data_time=True)],
                dataset_sink_mode=True, sink_size=5)  # fmt: skip
    assert [seen[0], seen[2]] == [5, 10]
    first, second = seen[1], seen[3]
    assert (first["batch_num"], first["sink_size"], first["dataset_sink_mode"]) == (5, 5, True)
    assert first["sink_overflows"].tolist() == [False] * 4 + [True]
    assert first["sink_scales"].tolist() == [1024, 1024, 2048, 2048, 1024]
    assert second["sink_losses"][-1] == float(second["net_outputs"][0].asnumpy())
    np.testing.assert_array_equal(second["train_dataset_element"][0].asnumpy(), X[9])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("epoch: 1 step: 5, loss is ")
    assert lines[1].startswith("Train epoch time: ")
    assert "(data time: " in lines[1]
    assert lines[2].startswith("epoch: 2 step: 5, loss is ")


def test_the_host_counts_every_overflow_of_a_sink():
    graphc.set_seed(3)
    managers = amp.DynamicLossScaleManager(1024, 2, 3), amp.DynamicLossScaleManager(1024, 2, 3)
    for manager, sunk in zip(managers, (True, False), strict=True):
        net, loss, optimizer = parts()
        train.Model(net, loss, optimizer, loss_scale_manager=manager).train(
            1, [*zip(X, Y, strict=True)], dataset_sink_mode=sunk
        )
    assert managers[0].get_loss_scale() == managers[1].get_loss_scale() != 1024


def test_a_list_of_rates_ends_within_a_sink():
    """As without sinks: the steps that have a rate are made, then it is refused."""
    for sunk in (True, False):
        model = make(lr=[0.1, 0.1, 0.05, 0.05])
        events = Events()
        with pytest.raises(RuntimeError, match="step 4 has no learning rate"):
            model.train(2, samples(), callbacks=events, dataset_sink_mode=sunk)
        assert int(model.train_network.optimizer.global_step.asnumpy()[0]) == 4
        assert events.events[-1] == "train_end"


def test_blocks_are_limited_and_asked_for(monkeypatch):
    """An iterator with `blocks` gives them itself; the first batch tells how many fit into one."""
    asked = []

    class Iterator:
        def __init__(self, data):
            self.at, self.x, self.y = 0, np.stack([x for x, _ in data]), np.stack([y for _, y in data])

        def blocks(self, columns, steps):
            asked.append(steps)
            begin, self.at = self.at, min(self.at + steps, 3)
            if begin == 3:
                self.at = 0
                return []
            return [self.x[begin : self.at], self.y[begin : self.at]]

    class WithBlocks(Data):
        def create_tuple_iterator(self, num_epochs=-1, output_numpy=False):
            assert (num_epochs, output_numpy) == (4, False)
            return Iterator([*self])

    monkeypatch.setattr(sink, "BLOCK", 2 * (4 * 4 * 4 + 4 * 4))
    sunk, singly = make(), make()
    sunk.train(
        3, WithBlocks(noise(1, 12, 4), (np.arange(12) % 3).astype(np.int32)), dataset_sink_mode=True, sink_size=4
    )
    singly.train(4, samples())
    assert same(weights(sunk), weights(singly))
    assert asked[:5] == [1, 2, 1, 1, 2]
    assert max(asked) == 2


def test_batches_that_fill_the_same_memory_again():
    class Reusing(Data):
        def __iter__(self):
            x, y = np.empty((4, 4), np.float32), np.empty(4, np.int32)
            for a, b in super().__iter__():
                x[:], y[:] = a, b
                yield x, y

    sunk, singly = make(), make()
    sunk.train(2, Reusing(*samples().columns), dataset_sink_mode=True)
    singly.train(2, samples())
    assert same(weights(sunk), weights(singly))


def test_data_sink():
    """Of a training cell, and of a function; each call goes on in the data set."""
    net, loss, optimizer = parts()
    made = nn.TrainOneStepCell(nn.WithLossCell(net, loss), optimizer).set_train()
    process = train.data_sink(made, samples(), sink_size=2)
    singly = make()
    stepwise = singly.train_network.set_train()
    losses = [float(stepwise(Tensor(x), Tensor(y)).asnumpy()) for _ in range(2) for x, y in samples()]
    got = []
    for _ in range(3):
        last = process()
        got += process.losses.tolist()
        assert float(last.asnumpy()) == got[-1]
    assert got == losses
    assert same({p.name: p.asnumpy() for p in made.get_parameters()}, weights(singly))

    @graphc.jit
    def total(x, y):
        return ops.reduce_sum(x * 2), y

    process = train.data_sink(total, samples(), 3)
    assert process.__name__ == "total"
    x = samples().columns[0]
    value, labels = process()
    assert float(value.asnumpy()) == pytest.approx(2 * x[8:].sum(), rel=1e-5)
    assert labels.asnumpy().tolist() == [2, 0, 1, 2]
    np.testing.assert_allclose(process.losses, [2 * x[i : i + 4].sum() for i in (0, 4, 8)], rtol=1e-5)
    for call, text in (
        (lambda: train.data_sink(3, samples()), "fn must be a function or a Cell"),
        (lambda: train.data_sink(total, samples(), 0), "sink_size must be at least 1"),
        (lambda: train.data_sink(total, samples(), input_signature=x), r"\[GC112\] data_sink: input_signature"),
        (lambda: train.data_sink(total, None), "dataset must be a data set"),
    ):
        with pytest.raises((ValueError, TypeError), match=text):
            call()


def test_a_jitted_loop_of_ones_own():
    """A function jitted by Numba calls the step's entry; the bits are those of the loop in Python."""
    numba = pytest.importorskip("numba")
    one, own = cell(), cell()
    step = graphc.compile(one, X[0], Y[0])
    losses = [float(step(x, y)[0]) for x, y in zip(X, Y, strict=True)]
    entry = graphc.compile(own, X[0], Y[0]).entry
    call, context_ = entry.call, entry.context

    @numba.njit
    def loop(images, labels, x, y, loss, kept):
        for i in range(len(images)):
            for j in range(x.size):
                x[j] = images[i, j]
            for j in range(y.size):
                y[j] = labels[i, j]
            if call(context_) != 0:
                return i
            kept[i] = loss[0]
        return len(images)

    kept = np.zeros(10, np.float32)
    memory = (a.reshape(-1) for a in (*entry.inputs, entry.results[0]))
    assert loop(X.reshape(10, -1), Y.reshape(10, -1), *memory, kept) == 10
    assert kept.tolist() == losses
    assert same(state(one), state(own))
    assert bool(entry.results[1]) is False
    assert float(entry.results[2]) == float(own.scale_sense.asnumpy())


def test_a_queue_or_step_that_does_not_fit():
    step = graphc.compile(cell(), X[0], Y[0])
    for queue in ([X], [X, Y.astype(np.int64)], [X[:, ::2], Y], [X[:3], Y], [X[:0], Y[:0]], []):
        with pytest.raises(SignatureError, match=r"\[GC170\] a queue of batches does not fit"):
            step.run_many(queue)
    with graphc.debug(jit=False), pytest.raises(ArgumentValueError, match="cannot be called by address"):
        _ = graphc.compile(cell(), X[0], Y[0]).entry


def test_a_step_that_prints_runs_one_at_a_time(capsys):
    class Prints(nn.Cell):
        def construct(self, x):
            ops.Print()(x.sum())
            return x.sum()

    step = graphc.compile(Prints(), X[0])
    _, (sums,) = step.run_many([X[:3]], [0])
    lines = [line for line in capsys.readouterr().out.split() if line]
    assert len(lines) >= 3
    assert sums.shape == (3,)
    with pytest.raises(ArgumentValueError, match="cannot be called by address"):
        _ = step.entry


def test_results_that_are_inputs():
    class Gives(nn.Cell):
        def construct(self, x, y):
            return x, (x * 2, y)

    outputs, (xs, ys) = graphc.compile(Gives(), X[0], Y[0]).run_many([X, Y], [0, 2])
    np.testing.assert_array_equal(xs, X)
    np.testing.assert_array_equal(ys, Y)
    np.testing.assert_array_equal(outputs[1][0].asnumpy(), X[9] * 2)


def test_sizes_of_data_sets():
    assert batches.size_of("it", "data", [1, 2]) == 2
    assert batches.size_of("it", "data", samples()) == 3


def test_a_data_set_that_ends_too_early():
    """One that can be gone through once only is refused where the second pass begins; strings are no column."""

    class Once(Data):
        def __iter__(self):
            yield from [] if self.passes else super().__iter__()

    for sunk in (True, False):
        model = make()
        with pytest.raises(ArgumentValueError, match=r"\[GC210\] the data set has no batch any more"):
            model.train(2, Once(*samples().columns), dataset_sink_mode=sunk)
        assert int(model.train_network.optimizer.global_step.asnumpy()[0]) == 3

    class Blocks(Data):
        def create_tuple_iterator(self, num_epochs):
            owner = self

            class Iterator:
                def blocks(self, columns, steps):
                    return owner.given.pop(0) if owner.given else None

            return Iterator()

    data = Blocks(*samples().columns)
    data.given = [(data.columns[0][None, :4], data.columns[1][None, :4])]
    with pytest.raises(ArgumentValueError, match="no batch any more"):
        make().train(1, data, dataset_sink_mode=True)
    data.given = [(np.array([["a", "b"]]), data.columns[1][None, :4])]
    with pytest.raises(TypeError, match="gives an array of <U1 among its columns"):
        make().train(1, data, dataset_sink_mode=True)
