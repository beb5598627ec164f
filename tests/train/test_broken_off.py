"""Runs that are broken off, in every phase: the ends of callbacks are called, workers let go, and the error is clear."""

from __future__ import annotations

import errno
import os
import signal
import threading
import time

import numpy as np
import pytest

import graphc
from graphc import train
from tests.train.conftest import Data, make, samples


@pytest.fixture(scope="module")
def model():
    """Compiled once; trained further and further."""
    return make(metrics={"acc"})


class Hooks(train.Callback):
    """Writes down which ends are called, and with which error."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def on_train_end(self, run_context):
        self.calls.append(("end", run_context.error))

    def on_eval_end(self, run_context):
        self.calls.append(("eval end", run_context.error))

    def __exit__(self, *ended):
        self.calls.append(("exit", ended[1]))


STAGES = [n for n in dir(train.Callback) if n.startswith("on_")]


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("kind", [KeyboardInterrupt, RuntimeError])
def test_a_callback_that_raises(model, stage, kind):
    """In every phase the ends of all callbacks are called, once, and the error says where it comes from."""

    def fail(run_context):
        raise kind("halt")

    first, last = Hooks(), Hooks()
    callbacks = [first, train.LambdaCallback(**{stage: fail}), last]
    with pytest.raises(kind, match="halt") as caught:
        model.fit(2, samples(rows=4), samples(rows=4), callbacks=callbacks)
    assert caught.value.__notes__[0].startswith(f"raised by LambdaCallback.{stage}")
    for hooks in (first, last):
        calls = [name for name, _ in hooks.calls]
        assert calls.count("end") == 1
        assert calls[-1] == "exit"
        assert calls.count("eval end") <= 1 + (stage == "on_train_end")
    assert last.calls[-1] == ("exit", caught.value)
    assert dict(last.calls)["end"] is caught.value


def test_errors_of_ends_do_not_hide_the_first():
    class Bad(train.Callback):
        def on_train_end(self, run_context):
            raise OSError("disk full")

    hooks = Hooks()
    stop = train.LambdaCallback(on_train_begin=lambda c: 1 / 0)
    with pytest.raises(ZeroDivisionError) as caught:
        make().train(1, samples(), callbacks=[Bad(), stop, hooks])
    assert "Bad.on_train_end has failed, too: OSError: disk full" in caught.value.__notes__
    assert hooks.calls[0][0] == "end"
    with pytest.raises(OSError, match="disk full"):
        make().train(1, samples(rows=4), callbacks=[Bad(), hooks])


class Raises(Data):
    """A data set that fails at its second batch, and says when its workers are let go."""

    def __init__(self, error):
        super().__init__(*samples().columns)
        self.error, self.released = error, 0

    def create_tuple_iterator(self, num_epochs):
        owner = self

        class Iterator:
            def __iter__(self):
                for i, batch in enumerate(Data.__iter__(owner)):
                    if i == 1:
                        raise owner.error
                    yield batch

            def release(self):
                owner.released += 1

        return Iterator()


@pytest.mark.parametrize("sink", [False, True])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("sample 7")])
def test_a_data_set_that_raises(error, sink):
    hooks, data = Hooks(), Raises(error)
    with pytest.raises(type(error)) as caught:
        make().train(1, data, callbacks=hooks, dataset_sink_mode=sink)
    assert caught.value is error
    assert error.__notes__ == [f"broken off in epoch 1 at step {3 if sink else 1}"]
    error.__notes__.clear()
    assert [name for name, _ in hooks.calls] == ["end", "exit"]
    assert data.released == 1


def test_a_second_entering_that_fails_leaves_the_first():
    class Refuses(train.Callback):
        def __enter__(self):
            raise RuntimeError("not now")

    hooks = Hooks()
    with pytest.raises(RuntimeError, match="not now"):
        make().train(1, samples(), callbacks=[hooks, Refuses()])
    assert [name for name, _ in hooks.calls] == ["exit"]


def test_ctrl_c_in_a_sink_is_seen_at_its_end():
    """The block that runs is finished; then callbacks end, and nothing is half-done."""
    count = 20_000
    x, y = np.tile(samples().columns[0][:4], (count, 1, 1)), np.tile(samples().columns[1][:4], (count, 1))

    class Blocks(Data):
        def get_dataset_size(self):
            return count

        def create_tuple_iterator(self, num_epochs=-1):
            class Iterator:
                at = 0

                def blocks(self, columns, steps):
                    begin, self.at = self.at, min(self.at + steps, count)
                    return (x[begin : self.at], y[begin : self.at]) if begin < count else None

            return Iterator()

    hooks, model = Hooks(), make(lr=1e-3)
    model.train(1, samples(rows=4))
    interrupt = train.LambdaCallback(
        on_train_step_begin=lambda c: threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGINT)).start(),
        on_train_step_end=lambda c: time.sleep(5),
    )
    with pytest.raises(KeyboardInterrupt):
        model.train(1, Blocks(), callbacks=[interrupt, hooks], dataset_sink_mode=True)
    assert [name for name, _ in hooks.calls] == ["end", "exit"]
    made = int(model.train_network.optimizer.global_step.asnumpy()[0]) - 1
    assert made in (0, 1, count)


def test_a_full_disk(tmp_path, monkeypatch):
    """The file before is whole, the error says what was written, and nothing is tried again."""
    save, calls = graphc.save_checkpoint, []

    def full(network, path, *arguments, **options):
        calls.append(path.name)
        if len(calls) == 2:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        return save(network, path, *arguments, **options)

    monkeypatch.setattr("graphc.train.callbacks.checkpoint.save_checkpoint", full)
    hooks = Hooks()
    with pytest.raises(OSError, match="No space left") as caught:
        make().train(2, samples(), callbacks=[train.ModelCheckpoint("net", tmp_path), hooks])
    assert caught.value.__notes__ == ["raised by ModelCheckpoint.on_train_step_end in epoch 1, step 2"]
    assert calls == ["net-1_1.ckpt", "net-1_2.ckpt"]
    assert [p.name for p in tmp_path.iterdir()] == ["net-1_1.ckpt"]
    assert graphc.load_checkpoint(tmp_path / "net-1_1.ckpt")["global_step"].asnumpy() == 1
    assert [name for name, _ in hooks.calls] == ["end", "exit"]
