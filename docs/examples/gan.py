"""A GAN of convolutions on handwritten digits: two networks, two optimizers, one compiled step.

The pattern is that of MindSpore's DCGAN tutorial: `value_and_grad` for each side, a train step as a function.

    python docs/examples/gan.py                 # about a minute on two CPUs
    python docs/examples/gan.py --steps 50
"""

from __future__ import annotations

import argparse

import numpy as np

import graphc
from graphc import Tensor, nn, ops
from graphc.dataset import load_digits

NOISE, BATCH = 32, 64


class Generator(nn.Cell):
    """Noise [batch, NOISE, 1, 1] to images [batch, 1, 8, 8] between -1 and 1."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.SequentialCell(
            nn.Conv2dTranspose(NOISE, 64, 2, 1, pad_mode="valid"),
            nn.BatchNorm2d(64),
            nn.ReLU(),
            nn.Conv2dTranspose(64, 32, 4, 2, pad_mode="pad", padding=1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.Conv2dTranspose(32, 1, 4, 2, pad_mode="pad", padding=1, has_bias=True),
            nn.Tanh(),
        )

    def construct(self, noise: Tensor) -> Tensor:
        return self.layers(noise)


class Discriminator(nn.Cell):
    """Images [batch, 1, 8, 8] to logits [batch, 1]: positive for those taken for real."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.SequentialCell(
            nn.Conv2d(1, 32, 4, 2, pad_mode="pad", padding=1, has_bias=True),
            nn.LeakyReLU(0.2),
            nn.Conv2d(32, 64, 4, 2, pad_mode="pad", padding=1),
            nn.BatchNorm2d(64),
            nn.LeakyReLU(0.2),
            nn.Flatten(),
            nn.Dense(64 * 2 * 2, 1),
        )

    def construct(self, images: Tensor) -> Tensor:
        return self.layers(images)


class Game(nn.Cell):
    """One step of both: `construct(images)` returns the losses of generator and discriminator."""

    def __init__(self, generator: Generator, discriminator: Discriminator) -> None:
        super().__init__()
        self.generator, self.discriminator = generator, discriminator
        self.optimizer_g = nn.Adam(generator.trainable_params(), learning_rate=2e-4, beta1=0.5)
        self.optimizer_d = nn.Adam(discriminator.trainable_params(), learning_rate=2e-4, beta1=0.5)
        self.loss = nn.BCEWithLogitsLoss()
        self.improve_g = ops.value_and_grad(self.fooling, None, self.optimizer_g.parameters, has_aux=True)
        self.improve_d = ops.value_and_grad(self.telling, None, self.optimizer_d.parameters)

    def fooling(self, noise: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
        """The generator's loss, which falls when its images are taken for real, and the images."""
        made = self.generator(noise)
        return self.loss(self.discriminator(made), real), made

    def telling(self, images: Tensor, made: Tensor, real: Tensor, fake: Tensor) -> Tensor:
        """The discriminator's loss: the mean over true images and made ones."""
        return (self.loss(self.discriminator(images), real) + self.loss(self.discriminator(made), fake)) / 2

    def construct(self, images: Tensor) -> tuple[Tensor, Tensor]:
        batch = images.shape[0]
        real, fake = ops.ones((batch, 1)), ops.zeros((batch, 1))
        (loss_g, made), gradients = self.improve_g(ops.randn(batch, NOISE, 1, 1), real)
        self.optimizer_g(gradients)
        loss_d, gradients = self.improve_d(images, ops.stop_gradient(made), real, fake)
        self.optimizer_d(gradients)
        return loss_g, loss_d


def drawn(image: np.ndarray) -> list[str]:
    """An image as text, two characters a pixel."""
    shades = " .:-=+*#%@"
    return ["".join(shades[int((v + 1) / 2 * 9.99)] * 2 for v in row) for row in image]


def main() -> tuple[float, float]:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=3000)
    options = parser.parse_args()
    graphc.set_seed(1)
    images = load_digits(8).train_images * 2 - 1
    generator, discriminator = Generator(), Discriminator()
    game = Game(generator, discriminator).set_train()
    step = graphc.compile(game, images[:BATCH])
    rng = np.random.default_rng(0)
    losses = (Tensor(0.0), Tensor(0.0))
    for i in range(1, options.steps + 1):
        losses = step(images[rng.integers(0, len(images), BATCH)])
        if i % max(1, options.steps // 5) == 0:
            print(f"step {i:5}  generator {float(losses[0]):.3f}  discriminator {float(losses[1]):.3f}")
    made = generator.set_train(False)(ops.randn(6, NOISE, 1, 1)).asnumpy()[:, 0]
    print("\n".join("   ".join(row) for row in zip(*map(drawn, made), strict=True)))
    return float(losses[0]), float(losses[1])


if __name__ == "__main__":
    main()
