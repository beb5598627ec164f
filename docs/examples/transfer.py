"""Transfer learning: the convolutions of one network in another one, which has other classes and learns them sooner.

python docs/examples/transfer.py              # ten seconds on two CPUs
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import graphc as ms
from graphc import dataset as ds
from graphc import nn
from graphc.dataset import load_digits
from graphc.train import LossMonitor, Model


class Network(nn.Cell):
    """Images float32 [batch, 1, 32, 32] to logits [batch, classes]."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.features = nn.SequentialCell(
            nn.Conv2d(1, 6, 5, pad_mode="valid", has_bias=True), nn.ReLU(), nn.MaxPool2d(2, 2),
            nn.Conv2d(6, 16, 5, pad_mode="valid", has_bias=True), nn.ReLU(), nn.MaxPool2d(2, 2),
            nn.Flatten(), nn.Dense(400, 84), nn.ReLU(),
        )  # fmt: skip
        self.head = nn.Dense(84, classes)

    def construct(self, x: ms.Tensor) -> ms.Tensor:
        return self.head(self.features(x))


def some(wanted: range, rows: int | None = None) -> tuple[ds.Dataset, ds.Dataset]:
    """Batches to train with, of the first `rows` images of some digits, and those held out; labels count from 0."""
    digits, first = load_digits(), wanted[0]
    made = []
    for images, labels, count in (
        (digits.train_images, digits.train_labels, rows),
        (digits.test_images, digits.test_labels, None),
    ):
        hit = np.flatnonzero(np.isin(labels, wanted))[:count]
        columns = {"image": images[hit], "label": labels[hit] - first}
        made.append(ds.NumpySlicesDataset(columns, shuffle=images is digits.train_images).batch(16))
    return made[0], made[1]


def trained(network: Network, data: ds.Dataset, epochs: int) -> Model:
    loss = nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
    optimizer = nn.Adam(network.trainable_params(), 1e-3)
    model = Model(network, loss, optimizer, metrics={"accuracy"})
    model.train(epochs, data, callbacks=LossMonitor(data.get_dataset_size()))
    return model


def main() -> tuple[float, float]:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=9)
    parser.add_argument("--out", type=Path, default=Path("out") / "transfer")
    options = parser.parse_args()
    ms.set_seed(1)
    first, _ = some(range(6))
    known = Network(6)
    trained(known, first, options.epochs)
    ms.save_checkpoint(known, str(options.out / "known.ckpt"))

    # Four other digits. What the head has learned is left out; the convolutions are not trained any more.
    few, held_out = some(range(6, 10), 300)
    parameters = ms.load_checkpoint(str(options.out / "known.ckpt"), filter_prefix="head")
    network = Network(4)
    missing, unused = ms.load_param_into_net(network, parameters)
    print("not in the file:", missing, " not in the network:", unused)
    for parameter in network.features.get_parameters():
        parameter.requires_grad = parameter.ndim != 4
    kept = [p.asnumpy().copy() for p in network.get_parameters() if not p.requires_grad]
    with_features = trained(network, few, 2).eval(held_out)["accuracy"]
    for before, parameter in zip(kept, [p for p in network.get_parameters() if not p.requires_grad], strict=True):
        assert (parameter.asnumpy() == before).all()
    from_nothing = trained(Network(4), few, 2).eval(held_out)["accuracy"]
    print(f"two epochs of 300 images: accuracy {with_features:.3f}, without what was learned before {from_nothing:.3f}")
    return float(with_features), float(from_nothing)


if __name__ == "__main__":
    main()
