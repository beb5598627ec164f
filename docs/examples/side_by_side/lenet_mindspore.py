"""LeNet-5 by MindSpore's Model, and by graphc's: `graphc run --mindspore lenet_mindspore.py` runs it as it is.

data.npz holds train_images float32 [n, 1, 32, 32], train_labels int32 [n], and test_images, test_labels likewise.
"""

import argparse

import mindspore as ms
import mindspore.dataset as ds
import numpy as np
from mindspore import nn
from mindspore.train import LossMonitor, Model

parser = argparse.ArgumentParser()
parser.add_argument("data")
parser.add_argument("--epochs", type=int, default=20)
parser.add_argument("--sink", action="store_true", help="many steps a call: dataset_sink_mode")
options = parser.parse_args()
ms.set_context(mode=ms.GRAPH_MODE)
ms.set_seed(1)


class LeNet5(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="valid", has_bias=True)
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid", has_bias=True)
        self.fc1, self.fc2, self.fc3 = nn.Dense(400, 120), nn.Dense(120, 84), nn.Dense(84, 10)
        self.relu, self.pool, self.flatten = nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten()

    def construct(self, x):
        x = self.pool(self.relu(self.conv1(x)))
        x = self.flatten(self.pool(self.relu(self.conv2(x))))
        return self.fc3(self.relu(self.fc2(self.relu(self.fc1(x)))))


def batches(images, labels, shuffle):
    data = ds.NumpySlicesDataset({"image": images, "label": labels}, shuffle=shuffle)
    return data.batch(32, drop_remainder=True)


data = np.load(options.data)
train = batches(data["train_images"], data["train_labels"], shuffle=True)
test = batches(data["test_images"], data["test_labels"], shuffle=False)
net = LeNet5()
loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
model = Model(net, loss, nn.Momentum(net.trainable_params(), 0.01, 0.9), metrics={"accuracy"})
steps = train.get_dataset_size()
model.train(options.epochs, train, callbacks=[LossMonitor(steps)], dataset_sink_mode=options.sink)
print("accuracy", model.eval(test, dataset_sink_mode=False)["accuracy"])
