"""ResNet-20 with a loss scale, from CIFAR-10's binary files, or from the digits that graphc brings.

    python docs/examples/resnet20.py --data FOLDER        # with data_batch_1.bin and the others
    python docs/examples/resnet20.py --epochs 3           # the digits: about half a minute on two CPUs

The network is that of He et al., "Deep residual learning for image recognition", 2015, section 4.2, with projections where the
number of channels changes.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import graphc as ms
from graphc import dataset as ds
from graphc import nn
from graphc.dataset import load_digits, transforms, vision
from graphc.train import LossMonitor, Model, TimeMonitor

MEAN, DEVIATION = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)


def convolution(channels: int, out: int, size: int, stride: int) -> nn.Cell:
    return nn.Conv2d(channels, out, size, stride, pad_mode="pad", padding=size // 2)


class Residual(nn.Cell):
    """Two convolutions, whose result is added to what they were given."""

    def __init__(self, channels: int, out: int, stride: int) -> None:
        super().__init__()
        self.inside = nn.SequentialCell(
            convolution(channels, out, 3, stride), nn.BatchNorm2d(out), nn.ReLU(),
            convolution(out, out, 3, 1), nn.BatchNorm2d(out),
        )  # fmt: skip
        self.beside = None
        if stride > 1 or channels != out:
            self.beside = nn.SequentialCell(convolution(channels, out, 1, stride), nn.BatchNorm2d(out))
        self.relu = nn.ReLU()

    def construct(self, x: ms.Tensor) -> ms.Tensor:
        return self.relu(self.inside(x) + (x if self.beside is None else self.beside(x)))


class ResNet20(nn.Cell):
    """Images float32 [batch, 3, height, width] to logits [batch, 10]."""

    def __init__(self) -> None:
        super().__init__()
        stages = [(16, 16, 1), (16, 32, 2), (32, 64, 2)]
        blocks = [
            Residual(out if i else before, out, 1 if i else stride) for before, out, stride in stages for i in range(3)
        ]
        self.first = nn.SequentialCell(convolution(3, 16, 3, 1), nn.BatchNorm2d(16), nn.ReLU())
        self.blocks = nn.SequentialCell(blocks)
        self.head = nn.Dense(64, 10)

    def construct(self, x: ms.Tensor) -> ms.Tensor:
        return self.head(self.blocks(self.first(x)).mean((2, 3)))


def cifar(folder: Path, usage: str) -> ds.Dataset:
    data = ds.Cifar10Dataset(str(folder), usage=usage, shuffle=usage == "train")
    varied = [vision.RandomCrop((32, 32), (4, 4, 4, 4)), vision.RandomHorizontalFlip()] if usage == "train" else []
    change = [*varied, vision.Rescale(1 / 255, 0), vision.Normalize(MEAN, DEVIATION), vision.HWC2CHW()]
    return data.map(change, "image").map(transforms.TypeCast(ms.int32), "label")


def digits(usage: str) -> ds.Dataset:
    """16x16 pixels in three colors that are the same."""
    made = load_digits(16)
    images, labels = (
        (made.train_images, made.train_labels) if usage == "train" else (made.test_images, made.test_labels)
    )
    columns = {"image": np.repeat(images, 3, axis=1), "label": labels}
    return ds.NumpySlicesDataset(columns, shuffle=usage == "train")


def main() -> float:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch", type=int, default=32)
    options = parser.parse_args()
    ms.set_seed(1)
    train, test = (
        (cifar(options.data, usage) if options.data else digits(usage)).batch(options.batch, drop_remainder=True)
        for usage in ("train", "test")
    )
    steps = train.get_dataset_size()
    network = ResNet20()
    rate = nn.cosine_decay_lr(0.0, 0.1, steps * options.epochs, steps, options.epochs)
    optimizer = nn.Momentum(network.trainable_params(), rate, 0.9, weight_decay=1e-4)
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    scale = ms.amp.DynamicLossScaleManager(init_loss_scale=1024, scale_factor=2, scale_window=500)
    model = Model(network, loss, optimizer, metrics={"accuracy"}, loss_scale_manager=scale)
    model.train(options.epochs, train, callbacks=[LossMonitor(steps), TimeMonitor(steps)])
    accuracy = model.eval(test)["accuracy"]
    print(f"accuracy {accuracy:.4f}")
    return float(accuracy)


if __name__ == "__main__":
    main()
