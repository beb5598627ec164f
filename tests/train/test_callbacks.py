"""The callbacks that come with graphc: what they print, write, keep and change; and what they refuse."""

from __future__ import annotations

import io
import json
import logging
import os
import re
import signal
import sys
import threading
import time

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, train
from graphc.errors import ArgumentValueError
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


# ---- files


def names(directory):
    return sorted(p.name for p in directory.iterdir())


def test_checkpoints_go_on_counting_beside_older_files(model, tmp_path):
    config = train.CheckpointConfig(save_checkpoint_steps=3, keep_checkpoint_max=10)
    for _ in range(3):
        model.train(1, samples(), callbacks=train.ModelCheckpoint("net", tmp_path / "a", config))
    assert names(tmp_path / "a") == ["net-1_3.ckpt", "net_1-1_3.ckpt", "net_2-1_3.ckpt"]
    once = train.ModelCheckpoint("two", tmp_path / "b", config)
    model.train(1, samples(), callbacks=once)
    model.train(2, samples(), callbacks=once)  # Every training counts its steps from 1.
    assert names(tmp_path / "b") == ["two-1_3.ckpt", "two-2_3.ckpt"]


def test_checkpoints_by_function_and_format(model, tmp_path):
    config = train.CheckpointConfig(save_checkpoint_steps=2, keep_checkpoint_max=2)
    callback = train.ModelCheckpoint(
        lambda params: f"step{params.cur_step_num}", lambda params: tmp_path / f"epoch{params.cur_epoch_num}", config
    )
    model.train(2, samples(), callbacks=callback)
    assert names(tmp_path / "epoch1") == []
    assert names(tmp_path / "epoch2") == ["step4.ckpt", "step6.ckpt"]
    with pytest.raises(ValueError, match="prefix must be a string without '/'"):
        model.train(1, samples(), callbacks=train.ModelCheckpoint(lambda params: "a/b", tmp_path, config))


def test_checkpoints_by_time(model, tmp_path, monkeypatch):
    """Seconds between files, minutes of which one file is kept; the clock is turned by hand."""
    now = [1000.0]
    monkeypatch.setattr(time, "time", lambda: now[0])
    tick = train.LambdaCallback(on_train_step_end=lambda c: now.__setitem__(0, now[0] + 40))
    config = train.CheckpointConfig(0, 70, keep_checkpoint_max=0, keep_checkpoint_per_n_minutes=5)
    model.train(4, samples(), callbacks=[tick, train.ModelCheckpoint("t", tmp_path, config)])
    # Due after 80, 160, ... seconds. That of 80 is the one for the first five minutes, that of 320 for the next.
    assert names(tmp_path) == ["t-1_2.ckpt", "t-3_2.ckpt", "t-4_3.ckpt"]


def test_a_checkpoint_after_an_error(model, tmp_path):
    def fail(run_context):
        if run_context.original_args().cur_step_num == 5:
            raise RuntimeError("lost")

    for wanted in (True, False):
        directory = tmp_path / str(wanted)
        config = train.CheckpointConfig(save_checkpoint_steps=4, exception_save=wanted)
        saved = train.ModelCheckpoint("net", directory, config)
        with pytest.raises(RuntimeError, match="lost"):
            model.train(3, samples(), callbacks=[train.LambdaCallback(on_train_step_end=fail), saved])
        assert names(directory) == (["net-2_1.ckpt", "net-2_2_breakpoint.ckpt"] if wanted else ["net-2_1.ckpt"])
        if wanted:
            found = graphc.load_checkpoint(directory / "net-2_2_breakpoint.ckpt")
            assert same({k: v.asnumpy() for k, v in found.items()}, weights(model))


def test_a_resumed_training_has_the_same_bits(tmp_path):
    """Two epochs, a file, two more from it: weights and optimizer are those of four epochs on end."""
    whole, half, rest = make(), make(), make()
    whole.train(4, samples())
    saved = train.ModelCheckpoint("net", tmp_path)
    half.train(2, samples(), callbacks=saved)
    graphc.load_param_into_net(rest.train_network, graphc.load_checkpoint(saved.latest_ckpt_file_name), strict_load=True)
    events = Events()
    rest.train(4, samples(), callbacks=events, initial_epoch=2)
    assert same(weights(whole), weights(rest))
    assert events.events[2] == "step_end 3/1"


def test_append_info(tmp_path, monkeypatch):
    """What goes into the file beside the parameters: counted on from what an earlier training had."""
    written = []
    monkeypatch.setattr(
        "graphc.train.callbacks.checkpoint.save_checkpoint",
        lambda network, path, **options: written.append((path.name, {**options, **(options.get("append_dict") or {})})),
    )
    config = train.CheckpointConfig(
        2, append_info=["epoch_num", "step_num", {"step_num": 100, "note": "x"}], async_save=True, format="safetensors"
    )
    make().train(1, samples(), callbacks=train.ModelCheckpoint("net", tmp_path, config))
    name, options = written[-1]
    assert name == "net-1_3.safetensors"
    assert (options["epoch_num"], options["step_num"], options["note"]) == (1, 103, "x")
    assert (options["async_save"], options["format"]) == (True, "safetensors")
    assert config.get_checkpoint_policy()["save_checkpoint_steps"] == 2


def test_backup_and_restore(tmp_path):
    stop = train.LambdaCallback(on_train_epoch_end=lambda c: c.original_args().cur_epoch_num == 2 and 1 / 0)
    model = make()
    with pytest.raises(ZeroDivisionError):
        model.train(4, samples(), callbacks=[train.BackupAndRestore(tmp_path), stop])
    assert names(tmp_path) == ["backup.ckpt"]
    other = make()
    at = []
    look = train.LambdaCallback(on_train_epoch_begin=lambda c: at.append(weights(other)))
    other.train(1, samples(), callbacks=[train.BackupAndRestore(tmp_path), look])
    assert same(at[0], weights(model))
    assert names(tmp_path) == []


def test_on_request_exit(tmp_path):
    """A signal ends the training after its step; the next one goes on from the file; the handler is put back."""
    before = signal.getsignal(signal.SIGUSR1)
    events = Events()
    send = train.LambdaCallback(
        on_train_step_begin=lambda c: c.original_args().cur_step_num == 2 and os.kill(os.getpid(), signal.SIGUSR1)
    )
    model = make()
    ask = train.OnRequestExit(save_mindir=False, file_name="Net", directory=tmp_path, sig=signal.SIGUSR1)
    model.train(3, samples(), callbacks=[events, send, ask])
    assert events.events[-3:] == ["step_end 1/2", "epoch_end", "train_end"]
    assert signal.getsignal(signal.SIGUSR1) == before
    other = make()
    at = []
    look = train.LambdaCallback(on_train_epoch_begin=lambda c: at.append(weights(other)))
    again = train.OnRequestExit(save_mindir=False, directory=tmp_path, sig=signal.SIGUSR1, config_file="exit.json")
    with open("exit.json", "w") as file:
        json.dump({"GracefulExit": 1}, file)
    other.train(3, samples(), callbacks=[again, look])
    assert len(at) == 1
    assert same(at[0], weights(model))
    failed = []

    def elsewhere():
        try:
            other.train(1, samples(), callbacks=train.OnRequestExit(save_ckpt=False))
        except ArgumentValueError as error:
            failed.append(str(error))

    thread = threading.Thread(target=elsewhere)
    thread.start()
    thread.join()
    assert "signals reach the main thread only" in failed[0]


# ---- the run as JSON


def lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("sink", [False, True])
def test_summary_collector(tmp_path, sink):
    """Every line: the run, its steps with what they did, its epochs with their metrics, its end."""
    broken = noise(1, 12, 4)
    broken[5] = np.inf
    data = Data(broken, samples().columns[1])
    net, loss, optimizer = parts([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    manager = graphc.DynamicLossScaleManager(1024, 2, 100)
    model = train.Model(net, loss, optimizer, metrics={"acc": nn.Accuracy()}, loss_scale_manager=manager)
    collector = train.SummaryCollector(tmp_path / "runs", collect_freq=1, custom_lineage_data={"note": "a"})
    model.fit(2, data, samples(), callbacks=collector, dataset_sink_mode=sink)
    run, *rest, end = lines(collector.path)
    assert collector.path == tmp_path / "runs" / "run.jsonl"
    assert (run["kind"], run["schema"], run["network"], run["optimizer"]) == ("run", summary.SCHEMA, "Net", "Momentum")
    assert (run["parameters"], run["epochs"], run["steps_per_epoch"], run["custom"]) == (43, 2, 3, {"note": "a"})
    steps = [x for x in rest if x["kind"] == "step"]
    assert [s["step"] for s in steps] == [1, 2, 3, 4, 5, 6]
    assert [s["overflow"] for s in steps] == [False, True, False] * 2
    assert [s["scale"] for s in steps] == [1024, 512, 512, 512, 256, 256]
    # A step that overflows uses up no rate.
    assert [round(s["learning_rate"], 6) for s in steps] == [0.1, 0.2, 0.2, 0.3, 0.4, 0.4]
    assert all(s["seconds"] > 0 and s["memory"] > 10**7 for s in steps)
    epochs_ = [x for x in rest if x["kind"] == "epoch"]
    assert [e["epoch"] for e in epochs_] == [1, 2]
    assert epochs_[0]["metrics"].keys() == {"acc", "eval_loss"}
    assert (end["kind"], end["reason"], end["error"]) == ("end", "done", None)
    again = train.SummaryCollector(tmp_path / "runs", collect_freq=4, keep_default_action=False)
    model.train(1, samples(rows=4), callbacks=again, dataset_sink_mode=sink)
    assert again.path.name == "run-2.jsonl"
    assert [x["kind"] for x in lines(again.path)] == ["run", "epoch", "end"]
    assert lines(again.path)[0].keys() == {"kind", "schema", "time"}


def test_summary_of_a_run_that_fails(tmp_path):
    broken = noise(1, 12, 4) * np.nan
    collector = train.SummaryCollector(tmp_path, collect_freq=1)
    with pytest.raises(ValueError, match="loss is NAN"):
        make(lr=nn.ExponentialDecayLR(0.1, 0.5, 1)).train(
            2, Data(broken, samples().columns[1]), callbacks=[collector, train.LossMonitor()]
        )
    run, step, end = lines(collector.path)
    assert run["sink"] is False
    assert (step["loss"], step["overflow"], step["scale"]) == ("nan", None, None)
    assert step["learning_rate"] == pytest.approx(0.1)
    assert (end["reason"], end["error"][:11]) == ("error", "ValueError:")


def test_summary_of_limited_size(tmp_path, caplog):
    collector = train.SummaryCollector(tmp_path, collect_freq=1, max_file_size=600)
    with caplog.at_level(logging.WARNING, "graphc"):
        make().train(5, samples(), callbacks=collector)
    assert collector.path.stat().st_size < 3000
    assert sum("has reached max_file_size" in r.getMessage() for r in caplog.records) == 1
    assert [x["kind"] for x in lines(collector.path)][-1] == "end"


# ---- broken off


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
        (lambda: train.CheckpointConfig(saved_network=3), "saved_network must be a Cell or None"),
        (lambda: train.CheckpointConfig(append_info="epoch_num"), "append_info must be a list"),
        (lambda: train.CheckpointConfig(append_info=["loss"]), "append_info must be one of 'epoch_num', 'step_num'"),
        (lambda: train.CheckpointConfig(append_info=[{}, {}]), "may hold one dict, it holds 2"),
        (lambda: train.CheckpointConfig(append_info=[{"a": []}]), "maps names to numbers"),
        (lambda: train.CheckpointConfig(remove_redundancy=True), r"\[GC112\] CheckpointConfig: remove_redundancy=True"),
        (lambda: train.CheckpointConfig(format="pt"), "format must be one of 'ckpt', 'safetensors'"),
        (lambda: train.CheckpointConfig(every=3), "has no argument 'every'"),
        (lambda: train.ModelCheckpoint("a/b"), "prefix must be a string without '/'"),
        (lambda: train.ModelCheckpoint(directory=3), "directory must be a path"),
        (lambda: train.ModelCheckpoint(config=3), "config must be a CheckpointConfig"),
        (lambda: train.BackupAndRestore("b", save_freq="step"), "save_freq must be an int"),
        (lambda: train.OnRequestExit(sig=signal.SIGKILL), "a signal that a process can catch, got 'SIGKILL'"),
        (lambda: train.OnRequestExit(sig="TERM"), "sig must be a signal"),
        (lambda: train.OnRequestExit(file_name=3), "file_name must be a string"),
        (lambda: train.SummaryCollector("s", collect_freq=0), "collect_freq must be at least 1"),
        (lambda: train.SummaryCollector(3), "summary_dir must be a path"),
        (lambda: train.SummaryCollector("s", collect_specified_data={"all": True}), "collect_specified_data must be of"),
        (
            lambda: train.SummaryCollector("s", collect_specified_data={"collect_graph": True}),
            r"\[GC112\] SummaryCollector: collect_specified_data\['collect_graph'\]=True",
        ),
        (lambda: train.SummaryCollector("s", collect_tensor_freq=3), r"\[GC112\] SummaryCollector: collect_tensor_freq"),
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
