"""The callbacks that come with graphc: what they print, write, keep and change; and what they refuse."""

from __future__ import annotations

import io
import logging
import re
import signal
import sys

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, train
from graphc.errors import ArgumentValueError, GraphcWarning
from graphc.train.callbacks import progress, summary
from graphc.train.context import CallbackParams
from tests.train.conftest import Data, Events, make, noise, parts, same, samples, weights


@pytest.fixture(scope="module")
def model():
    """Compiled once; trained further and further."""
    return make(metrics={"acc"})


def scaled(loss_scale=1024.0, lr=0.1):
    """A Model with loss scale and overflow check."""
    net, loss, optimizer = parts(lr)
    manager = nn.DynamicLossScaleUpdateCell(loss_scale, 2, 3)
    cell = nn.TrainOneStepWithLossScaleCell(nn.WithLossCell(net, loss), optimizer, manager)
    return train.Model(cell)


def run_of(**params):
    """A run context in the middle of a training, as callbacks see it."""
    usual = {"cur_epoch_num": 1, "cur_step_num": 1, "batch_num": 3, "mode": "train"}
    return train.RunContext(CallbackParams({**usual, **params}))


# ---- printing


def test_loss_monitor(capsys):
    """MindSpore's line: the loss as a float; of a tuple its first item as the tensor is printed."""
    events = Events()
    make().train(2, samples(), callbacks=[events, train.LossMonitor(2)])
    steps = [(1, 2), (2, 1), (2, 3)]
    shown = [f"epoch: {e} step: {s}, loss is {events.losses[3 * e + s - 4]}" for e, s in steps]
    assert capsys.readouterr().out.splitlines() == shown
    make().train(1, samples(), callbacks=train.LossMonitor(0))
    assert capsys.readouterr().out == ""
    scaled().train(1, samples(), callbacks=train.LossMonitor(3))
    assert capsys.readouterr().out == f"epoch: 1 step: 3, loss is {np.float32(events.losses[2])!s}\n"


def test_loss_monitor_ends_a_training_that_has_failed():
    broken = noise(1, 12, 4)
    broken[5] = np.nan
    events = Events()
    with pytest.raises(ArgumentValueError, match=r"\[GC212\] In epoch: 1 step: 2, loss is NAN or INF") as caught:
        make().train(2, Data(broken, samples().columns[1]), callbacks=[events, train.LossMonitor()])
    assert caught.value.__notes__ == ["raised by LossMonitor.on_train_step_end in epoch 1, step 2"]
    assert events.events[-1] == "train_end"


def test_time_monitor(model, capsys):
    model.fit(1, samples(), samples(), callbacks=train.TimeMonitor(data_time=True))
    lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"Eval epoch time: \d+\.\d{3} ms, per step time: \d+\.\d{3} ms", lines[0])
    time_ = r"(\d+\.\d{3}) ms"
    took = re.fullmatch(rf"Train epoch time: {time_}, per step time: {time_} \(data time: {time_}\)", lines[1])
    assert float(took[1]) == pytest.approx(3 * float(took[2]), abs=0.01)
    monitor = train.TimeMonitor(data_size=5)
    monitor.epoch_begin(run_of())
    monitor.epoch_end(run_of(batch_num=None))
    with pytest.raises(ValueError, match="data_size must be given where the data set has no size"):
        train.TimeMonitor().epoch_end(run_of(batch_num=None))


def test_progress_lines(model, capsys):
    model.fit(2, samples(), samples(), callbacks=train.ProgressBar())
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert re.fullmatch(r"epoch 2/2  step 6  loss \d+\.\d{4}  [\d,]+ steps/s  acc \d\.\d{4}", lines[1])


def test_progress_bar(model, monkeypatch):
    """With tqdm, one bar per epoch, closed whatever happens; without, True is refused."""
    made = []

    class Bar:
        def __init__(self, total, desc, file, unit):
            self.n, self.total, self.desc, self.closed, self.text = 0, total, desc, False, ""
            made.append(self)

        def set_postfix_str(self, text, refresh):
            self.text = text

        def update(self, more):
            self.n += more

        def close(self):
            self.closed = True

    monkeypatch.setattr(progress, "_tqdm", lambda: Bar)
    model.train(2, samples(), callbacks=train.ProgressBar(io.StringIO(), bar=True))
    assert [(b.n, b.total, b.desc, b.closed) for b in made] == [(3, 3, "epoch 1/2", True), (3, 3, "epoch 2/2", True)]
    assert made[0].text.startswith("loss ")
    model.train(1, samples(), callbacks=train.ProgressBar(bar=True), dataset_sink_mode=True)
    assert (made[2].n, made[2].closed) == (3, True)
    stop = train.LambdaCallback(on_train_step_end=lambda c: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model.train(1, samples(), callbacks=[train.ProgressBar(bar=True), stop])
    assert made[3].closed
    monkeypatch.setattr(progress, "_tqdm", lambda: None)
    with pytest.raises(ValueError, match="without tqdm"):
        train.ProgressBar(bar=True)


# ---- keeping


def test_history(model):
    history, events = train.History(), Events()
    model.fit(2, samples(), samples(), callbacks=[history, events])
    assert history.epoch == {"epoch": [1, 2]}
    assert history.history["net_output"] == [events.losses[2], events.losses[5]]
    assert len(history.history["acc"]) == 2
    history = train.History()
    scaled().train(2, samples(), callbacks=history)
    assert len(history.history["net_output"]) == 2


def test_lambda_callback(model):
    calls = []
    names = [n for n in dir(train.Callback) if n.startswith("on_")]
    assert len(names) == 12
    each = train.LambdaCallback(**{n: lambda c, n=n: calls.append(n) for n in names})
    model.fit(1, samples(rows=4), samples(rows=4), callbacks=each)
    stages = ["begin", "epoch_begin", "step_begin", "step_end", "epoch_end", "end"]
    evaluated = [f"on_eval_{s}" for s in stages]
    assert calls == [*(f"on_train_{s}" for s in stages[:4]), *evaluated, *(f"on_train_{s}" for s in stages[4:])]
    with pytest.raises(TypeError, match="LambdaCallback: on_train_end must be a function or None, got int"):
        train.LambdaCallback(on_train_end=3)


# ---- watching


def epochs(callback, values, **params):
    """Let a callback see one value per epoch; the epoch in which it asks for the end, or None."""
    callback.on_train_begin(run_of())
    for epoch, value in enumerate(values, 1):
        run = run_of(eval_results={"acc": value, "eval_loss": value}, cur_epoch_num=epoch, **params)
        callback.on_train_epoch_end(run)
        if run.get_stop_requested():
            return epoch
    return None


@pytest.mark.parametrize(
    ("options", "values", "stopped"),
    [
        ({"patience": 2}, [3.0, 2.0, 2.5, 2.4, 1.0], 4),
        ({"patience": 2, "monitor": "acc"}, [0.1, 0.2, 0.1, 0.3, 0.1], None),
        ({"patience": 2, "monitor": "acc", "mode": "min"}, [0.1, 0.2, 0.3], 3),
        ({"patience": 1, "min_delta": 0.5}, [3.0, 2.8], 2),
        ({"patience": 0}, [3.0, 2.0, 2.0], 3),
        ({"patience": 2, "baseline": 1.0}, [3.0, 2.0], 2),
        ({"patience": 3}, [0.0, 1.0, 2.0, 0.0], 4),
    ],
)
def test_early_stopping(options, values, stopped):
    callback = train.EarlyStopping(**options)
    assert epochs(callback, values) == stopped
    assert callback.stopped_epoch == (stopped or 0)


def test_early_stopping_restores_the_best(capsys):
    """The parameters of the best epoch come back; a learning rate that is too great makes the second one worse."""
    model = make(lr=0.1, metrics={"acc"})
    at = []
    keep = train.LambdaCallback(on_train_epoch_end=lambda c: at.append(weights(model)))
    worse = train.LambdaCallback(
        on_train_epoch_end=lambda c: model.train_network.optimizer.learning_rate.set_data(Tensor(50.0, "float32"))
    )
    stop = train.EarlyStopping(patience=2, restore_best_weights=True, verbose=True)
    model.fit(6, samples(), samples(), callbacks=[keep, stop, worse])
    assert len(at) == 3
    now, then = ({k: v for k, v in each.items() if k != "learning_rate"} for each in (weights(model), at[0]))
    assert same(now, then)
    lines = ["Restoring model weights from the end of the best epoch.", "Epoch 00003: early stopping"]
    assert capsys.readouterr().out.splitlines() == lines


def test_what_is_watched_must_be_there(caplog):
    with caplog.at_level(logging.WARNING, "graphc"):
        assert epochs(train.EarlyStopping("recall"), [1.0, 1.0]) is None
    assert "watches 'recall', which is not there; there are: loss, acc, eval_loss" in caplog.text
    with pytest.raises(ValueError, match=r"'acc' is an array of shape \(2,\), a number is needed"):
        epochs(train.EarlyStopping("acc"), [np.zeros(2)])
    assert epochs(train.EarlyStopping("loss"), [0, 0], net_outputs=(Tensor(2.0), Tensor(True))) == 2


def test_reduce_lr_on_plateau(capsys):
    net, _, optimizer = parts(0.5)
    callback = train.ReduceLROnPlateau("acc", factor=0.5, patience=2, cooldown=1, min_lr=0.1, verbose=True)
    rates = []
    for values in ([1.0, 1, 1], [1.0, 1, 1, 1, 1, 1, 1, 1]):
        epochs(callback, values, optimizer=optimizer)
        rates.append(optimizer.learning_rate.item())
    assert rates == pytest.approx([0.25, 0.1])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Epoch 00003: ReduceLROnPlateau reducing learning rate to 0.25."
    with pytest.raises(ValueError, match="must have one fixed learning rate, the Model has Momentum with RateList"):
        epochs(callback, [1.0], optimizer=nn.Momentum(net.trainable_params(), [0.1, 0.2], 0.9))
    with pytest.raises(ValueError, match="the Model has no optimizer"):
        epochs(callback, [1.0])


def test_learning_rate_scheduler():
    """The function gets the rate and the step, and its result is the next step's rate."""
    got = []
    model = make(lr=0.1)

    def halve(rate, step):
        got.append((rate, step))
        return rate / 2 if step % 2 == 0 else rate

    model.train(1, samples(), callbacks=train.LearningRateScheduler(halve))
    assert got == [(0.1, 1), (0.1, 2), (0.05, 3)]
    assert model.train_network.optimizer.learning_rate.item() == np.float32(0.05)
    with pytest.raises(TypeError, match="what learning_rate_function returns must be a number, got str"):
        model.train(1, samples(), callbacks=train.LearningRateScheduler(lambda rate, step: "fast"))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: train.LossMonitor("1"), "per_print_times must be an int, got str"),
        (lambda: train.LossMonitor(-1), "per_print_times must be at least 0"),
        (lambda: train.TimeMonitor(0), "data_size must be at least 1"),
        (lambda: train.TimeMonitor(data_time=1), "data_time must be a bool"),
        (lambda: train.EarlyStopping(3), "monitor must be a string"),
        (lambda: train.EarlyStopping(mode="up"), "mode must be 'auto', 'min' or 'max'"),
        (lambda: train.EarlyStopping(patience=-1), "patience must be at least 0"),
        (lambda: train.ReduceLROnPlateau(factor=1.5), "factor must be less than 1"),
        (lambda: train.ReduceLROnPlateau(factor=1), "factor must be a float"),
        (lambda: train.LearningRateScheduler(0.1), "learning_rate_function must be a function"),
        (lambda: train.CheckpointConfig(0, 0, 0, 0), "cannot all be None or 0"),
        (lambda: train.CheckpointConfig(-1), "save_checkpoint_steps must be at least 0"),
        (lambda: train.CheckpointConfig(enc_key="a"), "enc_key must be bytes or None"),
        (lambda: train.CheckpointConfig(enc_mode=3), "enc_mode a string"),
        (lambda: train.CheckpointConfig(crc_check=1), "crc_check must be a bool"),
        (lambda: train.CheckpointConfig(saved_network=3), "saved_network must be a Cell or None"),
        (lambda: train.CheckpointConfig(append_info="epoch_num"), "append_info must be a list"),
        (
            lambda: train.CheckpointConfig(append_info=["loss"]),
            "append_info must be one of 'epoch_num', 'step_num', 'dataset_state'",
        ),
        (lambda: train.CheckpointConfig(append_info=[{}, {}]), "may hold one dict, it holds 2"),
        (lambda: train.CheckpointConfig(append_info=[{"a": []}]), "maps names to numbers"),
        (lambda: train.CheckpointConfig(remove_redundancy=True), r"\[GC112\] CheckpointConfig: remove_redundancy=True"),
        (lambda: train.CheckpointConfig(format="pt"), "format must be one of 'ckpt', 'safetensors'"),
        (lambda: train.CheckpointConfig(every=3), "has no argument 'every'"),
        (lambda: train.CheckpointConfig(save_checkpoint_step=3), "did you mean save_checkpoint_steps?"),
        (lambda: train.ModelCheckpoint("a/b"), "prefix must be a string without '/'"),
        (lambda: train.ModelCheckpoint(directory=3), "directory must be a path"),
        (lambda: train.ModelCheckpoint(config=3), "config must be a CheckpointConfig"),
        (lambda: train.BackupAndRestore("b", save_freq="step"), "save_freq must be an int"),
        (lambda: train.OnRequestExit(sig=signal.SIGKILL), "a signal that a process can catch, got 'SIGKILL'"),
        (lambda: train.OnRequestExit(sig="TERM"), "sig must be a signal"),
        (lambda: train.OnRequestExit(file_name=3), "file_name must be a string"),
        (lambda: train.SummaryCollector("s", collect_freq=0), "collect_freq must be at least 1"),
        (lambda: train.SummaryCollector(3), "summary_dir must be a path"),
        (
            lambda: train.SummaryCollector("s", collect_specified_data={"all": True}),
            "collect_specified_data must be of",
        ),
        (
            lambda: train.SummaryCollector("s", collect_specified_data={"collect_graph": True}),
            r"\[GC112\] SummaryCollector: collect_specified_data\['collect_graph'\]=True",
        ),
        (
            lambda: train.SummaryCollector("s", collect_tensor_freq=3),
            r"\[GC112\] SummaryCollector: collect_tensor_freq",
        ),
        (lambda: train.SummaryCollector("s", custom_lineage_data={"a": []}), "maps names to numbers or strings"),
        (lambda: train.ProgressBar(file=3), "file must be a text file"),
    ],
)
def test_refused(call, text):
    with pytest.raises((ValueError, TypeError), match=text) as caught:
        call()
    assert isinstance(caught.value, graphc.GraphcError)


def test_declined_data_is_accepted(tmp_path):
    train.SummaryCollector(tmp_path, collect_specified_data={"collect_graph": False, "histogram_regular": None})
    assert sys.maxsize > summary.peak_memory() > 10**7


@pytest.mark.parametrize(
    ("name", "help"),
    [
        ("on_train_epoch_ends", "did you mean on_train_epoch_end?"),
        ("on_epoch_end", "did you mean epoch_end?"),
        ("stepend", "did you mean step_end?"),
        ("on_batch_end", "hooks are begin, epoch_begin, epoch_end"),
    ],
)
def test_a_method_that_is_named_like_a_hook(name, help):
    kind = type("Mine", (train.Callback,), {name: lambda self, run_context: None})
    with pytest.warns(GraphcWarning) as caught:
        make().train(1, samples(), callbacks=[kind()])
    (text,) = [str(w.message) for w in caught]
    assert f"Mine.{name} is called by nobody" in text
    assert help in text


def test_methods_that_are_not_named_like_a_hook():
    names = ("ends", "send", "close", "_on_end", "step_count", "plot_epoch")
    kind = type("Mine", (train.Callback,), {name: lambda self, *given: None for name in names})
    make().train(1, samples(), callbacks=[kind()])
