"""Record a training by Model: `python ms_model.py > ms_model.json`, with MindSpore 2.10 and NumPy.

tests/train/test_model.py compares; tests/train/conftest.py has the same network and samples.
"""

import json
import os
import sys
import tempfile

import mindspore
import numpy as np
from mindspore import Tensor, dataset, nn, train


def noise(seed, *shape):
    return np.random.RandomState(seed).randn(*shape).astype(np.float32)


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Dense(4, 5, weight_init=Tensor(noise(1, 5, 4)), bias_init="zeros")
        self.fc2 = nn.Dense(5, 3, weight_init=Tensor(noise(2, 3, 5)), bias_init="zeros")
        self.tanh = nn.Tanh()

    def construct(self, x):
        return self.fc2(self.tanh(self.fc1(x)))


class Events(train.Callback):
    def __init__(self):
        super().__init__()
        self.events, self.losses = [], []

    def on_train_begin(self, run_context):
        self.events.append("train_begin")

    def on_train_epoch_begin(self, run_context):
        self.events.append("epoch_begin")

    def on_train_step_end(self, run_context):
        params = run_context.original_args()
        self.events.append(f"step_end {params.cur_epoch_num}/{params.cur_step_num}")
        self.losses.append(float(params.net_outputs.asnumpy()))

    def on_train_epoch_end(self, run_context):
        self.events.append("epoch_end")

    def on_train_end(self, run_context):
        self.events.append("train_end")


def data():
    x, y = noise(1, 12, 4), (np.arange(12) % 3).astype(np.int32)
    return dataset.GeneratorDataset([(x[i], y[i]) for i in range(12)], ["data", "label"], shuffle=False).batch(4)


def main():
    net, events = Net(), Events()
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    model = train.Model(net, loss, nn.Momentum(net.trainable_params(), 0.1, 0.9), metrics={"Accuracy": nn.Accuracy()})
    with tempfile.TemporaryDirectory() as folder:
        config = train.CheckpointConfig(save_checkpoint_steps=2, keep_checkpoint_max=3)
        model.train(3, data(), callbacks=[events, train.ModelCheckpoint("mlp", folder, config)])
        files = sorted(f for f in os.listdir(folder) if f.endswith(".ckpt"))
        saved = {k: list(v.shape) for k, v in mindspore.load_checkpoint(os.path.join(folder, files[-1])).items()}
    record = {
        "events": events.events,
        "loss": events.losses,
        "ckpt_files": files,
        "ckpt_entries": saved,
        "acc": {k: float(v) for k, v in model.eval(data()).items()},
        "w": net.fc1.weight.asnumpy().astype(np.float64).reshape(-1).tolist(),
    }
    json.dump(record, sys.stdout)


main()
