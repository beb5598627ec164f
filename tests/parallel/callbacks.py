"""Trainings of two processes, of which one does what the other does not: see test_callbacks_of_ranks.py."""

import json
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np

import graphc
from graphc import nn, train
from graphc.parallel import get_rank, init

shared, cases = sys.argv[1] == "True", sys.argv[2:]
init()
rank = get_rank()
graphc.set_auto_parallel_context(
    parallel_mode="data_parallel",
    gradients_mean=True,
    enable_parallel_optimizer=shared,
    parallel_optimizer_config={"parallel_optimizer_threshold": 0},
)
rng = np.random.default_rng(rank)
data = graphc.dataset.NumpySlicesDataset(
    (rng.normal(size=(24, 6)).astype(np.float32), rng.integers(0, 3, 24).astype(np.int32)), shuffle=False
).batch(4)


class Disturb(train.Callback):
    def on_train_step_end(self, run_context):
        step = run_context.original_args().cur_step_num
        seen.append(step)
        if case == "clock":
            time.sleep(0.2)
        if rank == 1 and step == 3:
            if case == "signal":
                os.kill(os.getpid(), signal.SIGTERM)
            elif case == "stop":
                run_context.request_stop()
            elif case == "raise":
                raise ValueError("a bad sample")


def make():
    graphc.set_seed(3)
    net = nn.Dense(6, 3)
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    return train.Model(net, loss, nn.Adam(net.trainable_params(), 0.01))


def state(model):
    return {p.name: p.whole().ravel().tolist() for p in model.train_network.get_parameters()}


def files(prefix, *config, **more):
    return train.ModelCheckpoint(prefix, "files", train.CheckpointConfig(*config, **more))


CALLBACKS = {
    "signal": lambda: [train.OnRequestExit(file_name="net", directory="files", save_mindir=False)],
    "stop": lambda: [],
    "raise": lambda: [files("CKP", 5, exception_save=True)],
    "clock": lambda: [files("clock", 0, 1), train.SummaryCollector("files/summary", collect_freq=1)],
    "backup": lambda: [train.BackupAndRestore("files", delete_checkpoint=False)],
    "plateau": lambda: [
        train.ReduceLROnPlateau("loss", patience=1, min_delta=10.0),
        train.EarlyStopping("loss", patience=3, min_delta=10.0),
    ],
    "alone": lambda: [files("alone", 1)] if rank == 0 else [],
    "otherwise": lambda: [files("otherwise", 1 + rank)],
    "missing": lambda: [train.BackupAndRestore("files" if rank == 0 else "elsewhere", delete_checkpoint=False)],
    "unwritable": lambda: [],
    "by hand": lambda: [],
    "in a step": lambda: [],
}
found = {}
for case in cases:
    seen, model, here = [], make(), {}
    try:
        model.train(8 if case == "plateau" else 2, data, callbacks=[Disturb(), *(callbacks := CALLBACKS[case]())])
    except graphc.GraphcError as error:
        here["told"] = str(error)
    if case in ("by hand", "in a step") and rank == 0:
        graphc.save_checkpoint(model.train_network, "files/alone.ckpt")
    elif case == "by hand":
        model.train(1, data)
    elif case == "in a step":
        model.train_network(*next(iter(data)))
    if case == "unwritable":
        Path("files/net.ckpt").mkdir(exist_ok=True)
        try:
            graphc.save_checkpoint(model.train_network, "files/net.ckpt")
        except (graphc.GraphcError, OSError) as error:
            here["told"] = f"{type(error).__name__} {error}"
    if case in ("signal", "backup", "clock"):
        # What is there is whole, in all processes, at once.
        here["before"], other = state(model), make()
        if not shared:
            graphc.ops.Barrier()()
        name = {"signal": "files/rank_0/net_train.ckpt", "backup": "files/backup.ckpt"}.get(case)
        graphc.load_param_into_net(
            other.train_network, graphc.load_checkpoint(name or callbacks[0].latest_ckpt_file_name)
        )
        here["after"] = state(other)
    if case == "plateau":
        here["rate"] = float(model.train_network.optimizer.learning_rate)
        here["epoch"] = callbacks[1].stopped_epoch
    here["seen"], here["state"] = seen, state(model)
    found[case] = here
Path(f"{rank}.json").write_text(json.dumps(found))
