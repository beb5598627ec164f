"""LeNet-5 by PyTorch, eager or compiled. data.npz as for lenet_mindspore.py."""

import argparse

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("data")
parser.add_argument("--epochs", type=int, default=20)
parser.add_argument("--compile", action="store_true")
options = parser.parse_args()
torch.manual_seed(1)

net = nn.Sequential(
    nn.Conv2d(1, 6, 5), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
    nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
)  # fmt: skip
forward = torch.compile(net) if options.compile else net


def batches(images, labels, shuffle):
    data = TensorDataset(torch.from_numpy(images), torch.from_numpy(labels).long())
    return DataLoader(data, 32, shuffle=shuffle, drop_last=True)


data = np.load(options.data)
train = batches(data["train_images"], data["train_labels"], shuffle=True)
test = batches(data["test_images"], data["test_labels"], shuffle=False)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(net.parameters(), 0.01, 0.9)
for epoch in range(1, options.epochs + 1):
    for images, labels in train:
        optimizer.zero_grad()
        loss = criterion(forward(images), labels)
        loss.backward()
        optimizer.step()
    print(f"epoch: {epoch} step: {len(train)}, loss is {loss.item()}")
with torch.no_grad():
    right = [(forward(images).argmax(1) == labels).float().mean().item() for images, labels in test]
print("accuracy", sum(right) / len(right))
