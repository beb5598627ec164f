"""LeNet-5 on files in MNIST's format, by Model: data set, training, evaluation, checkpoint, and reading it back.

python docs/examples/mnist_files.py --data FOLDER     # with train-images-idx3-ubyte and the three others
python docs/examples/mnist_files.py                   # writes such files first, of the digits that graphc brings
"""

from __future__ import annotations

import argparse
import struct
from pathlib import Path

import numpy as np

import graphc as ms
from graphc import dataset as ds
from graphc import nn
from graphc.dataset import load_digits, transforms, vision
from graphc.train import CheckpointConfig, LossMonitor, Model, ModelCheckpoint


class LeNet5(nn.Cell):
    """Images float32 [batch, 1, 32, 32] to logits [batch, 10]."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, pad_mode="valid", has_bias=True)
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid", has_bias=True)
        self.fc1, self.fc2, self.fc3 = nn.Dense(400, 120), nn.Dense(120, 84), nn.Dense(84, 10)
        self.relu, self.pool, self.flatten = nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten()

    def construct(self, x: ms.Tensor) -> ms.Tensor:
        x = self.pool(self.relu(self.conv1(x)))
        x = self.flatten(self.pool(self.relu(self.conv2(x))))
        return self.fc3(self.relu(self.fc2(self.relu(self.fc1(x)))))


def write_files(folder: Path) -> None:
    """The digits as 28x28 scans, in files as MNIST comes in: big-endian numbers, then bytes."""
    digits = load_digits(28)
    folder.mkdir(parents=True, exist_ok=True)
    for part, images, labels in (
        ("train", digits.train_images, digits.train_labels),
        ("t10k", digits.test_images, digits.test_labels),
    ):
        scans = np.rint(images[:, 0] * 255).astype(np.uint8)
        header = struct.pack(">4i", 2051, *scans.shape)
        (folder / f"{part}-images-idx3-ubyte").write_bytes(header + scans.tobytes())
        header = struct.pack(">2i", 2049, len(labels))
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(header + labels.astype(np.uint8).tobytes())


def batches(folder: Path, usage: str, size: int = 32) -> ds.Dataset:
    """Batches of images float32 [size, 1, 32, 32] and labels int32 [size]."""
    data: ds.Dataset = ds.MnistDataset(str(folder), usage=usage, shuffle=usage == "train")
    data = data.map([vision.Resize((32, 32)), vision.Rescale(1 / 255, 0), vision.HWC2CHW()], input_columns="image")
    data = data.map(transforms.TypeCast(ms.int32), input_columns="label")
    return data.batch(size, drop_remainder=usage == "train")


def main() -> float:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--out", type=Path, default=Path("out") / "mnist")
    options = parser.parse_args()
    folder = options.data or options.out / "files"
    if options.data is None:
        write_files(folder)
    ms.set_seed(1)
    train, test = batches(folder, "train"), batches(folder, "test")
    network = LeNet5()
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    optimizer = nn.Momentum(network.trainable_params(), 0.02, 0.9)
    model = Model(network, loss, optimizer, metrics={"accuracy"})
    steps = train.get_dataset_size()
    kept = CheckpointConfig(save_checkpoint_steps=steps, keep_checkpoint_max=2)
    saved = ModelCheckpoint("lenet", str(options.out / "checkpoints"), kept)
    model.train(options.epochs, train, callbacks=[LossMonitor(steps), saved])
    accuracy = model.eval(test)["accuracy"]
    print(f"accuracy {accuracy:.4f}")

    # Another program would begin here.
    again = LeNet5()
    ms.load_checkpoint(saved.latest_ckpt_file_name, again)
    read = Model(again, loss, metrics={"accuracy"}).eval(test)["accuracy"]
    print(f"from {Path(saved.latest_ckpt_file_name).name}: {read:.4f}")
    assert read == accuracy
    return float(accuracy)


if __name__ == "__main__":
    main()
