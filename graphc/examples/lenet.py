"""LeNet-5 (LeCun et al., 1998) with ReLU and max pooling, as in MindSpore's introductory course."""

from __future__ import annotations

from graphc import Tensor, nn


class LeNet5(nn.Cell):
    """Logits [n, num_class] of images [n, num_channel, 32, 32] float32.

    Two valid 5x5 convolutions (6 and 16 channels), each followed by ReLU and 2x2 max pooling, then Dense 120, 84,
    num_class.
    """

    def __init__(self, num_class: int = 10, num_channel: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(num_channel, 6, 5, pad_mode="valid", has_bias=True)
        self.conv2 = nn.Conv2d(6, 16, 5, pad_mode="valid", has_bias=True)
        self.pool = nn.MaxPool2d(kernel_size=2, stride=2)
        self.relu = nn.ReLU()
        self.flatten = nn.Flatten()
        self.fc1 = nn.Dense(16 * 5 * 5, 120)
        self.fc2 = nn.Dense(120, 84)
        self.fc3 = nn.Dense(84, num_class)

    def construct(self, x: Tensor) -> Tensor:
        x = self.pool(self.relu(self.conv1(x)))
        x = self.pool(self.relu(self.conv2(x)))
        x = self.flatten(x)
        x = self.relu(self.fc1(x))
        x = self.relu(self.fc2(x))
        logits: Tensor = self.fc3(x)
        return logits
