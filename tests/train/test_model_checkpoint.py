"""Files that callbacks write while a model trains: when, under which names, which are kept, and how a training goes on."""

from __future__ import annotations

import json
import os
import signal
import threading
import time

import pytest

import graphc
from graphc import train
from graphc.errors import ArgumentValueError
from tests.train.conftest import Data, Events, make, same, samples, weights


@pytest.fixture(scope="module")
def model():
    """Compiled once; trained further and further."""
    return make(metrics={"acc"})


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
    graphc.load_param_into_net(
        rest.train_network, graphc.load_checkpoint(saved.latest_ckpt_file_name), strict_load=True
    )
    events = Events()
    rest.train(4, samples(), callbacks=events, initial_epoch=2)
    assert same(weights(whole), weights(rest))
    assert events.events[2] == "step_end 3/1"


def test_what_is_appended_is_none_where_nothing_is():
    assert train.CheckpointConfig().append_dict is None
    assert train.CheckpointConfig(append_info=["epoch_num"]).append_dict == {"epoch_num": 0}


def test_append_info(tmp_path, monkeypatch):
    """What goes into the file beside the parameters: counted on from what an earlier training had."""
    written = []
    monkeypatch.setattr(
        "graphc.train.callbacks.checkpoint.save_checkpoint",
        lambda network, path, integrated, async_save, append, *_, **options: written.append(
            (path.name, {**options, **append, "async_save": async_save})
        ),
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


class Counted(Data):
    """A data set that says where it is, and goes on from there."""

    epoch = position = 0

    def create_tuple_iterator(self, num_epochs=-1):
        owner = self

        class Iterator:
            def __iter__(self):
                for batch in [*Data.__iter__(owner)][owner.position :]:
                    owner.position += 1
                    yield batch
                owner.epoch, owner.position = owner.epoch + 1, 0

            def state_dict(self):
                return {"epoch": owner.epoch, "position": owner.position}

        return Iterator()


@pytest.mark.parametrize("every", [3, 4])
def test_the_data_set_goes_on_where_the_file_was_written(tmp_path, every):
    """A training that ended in the middle of an epoch, or at its end, and one that goes on: the bits of one without end."""
    columns = samples().columns
    whole, half, rest = make(), make(), make()
    whole.train(3, Counted(*columns))
    config = train.CheckpointConfig(every, append_info=["dataset_state", "random_state"])
    half.train(2, Counted(*columns), callbacks=train.ModelCheckpoint("net", tmp_path, config))
    file = graphc.load_checkpoint(tmp_path / {3: "net-1_3.ckpt", 4: "net-2_1.ckpt"}[every])
    state = file.pop("dataset_state")
    assert state == {"epoch": 1, "position": every - 3}
    assert (file.pop("random_state") == graphc.get_rng_state()).all()
    graphc.load_param_into_net(rest.train_network, file, strict_load=True)
    data = Counted(*columns)
    data.position = state["position"]
    rest.train(3, data, initial_epoch=state["epoch"])
    assert same(weights(whole), weights(rest))


def test_a_data_set_that_cannot_say_where_it_is(tmp_path):
    config = train.CheckpointConfig(1, append_info=["dataset_state"])
    with pytest.raises(ValueError, match="dataset_state, but the iterators of this data set"):
        make().train(1, samples(), callbacks=train.ModelCheckpoint("net", tmp_path, config))
    assert names(tmp_path) == []
