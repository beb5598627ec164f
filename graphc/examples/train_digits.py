"""Trains LeNet-5 on the handwritten digits with dynamic loss scaling. `graphc train` runs it; so does

from graphc.examples.train_digits import Options, train
train(Options(epochs=5), print)
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import graphc
from graphc import Tensor, nn, parallel
from graphc.checkpoint import load_checkpoint, load_param_into_net, save_checkpoint
from graphc.dataset import Digits, load_digits
from graphc.errors import ArgumentValueError
from graphc.examples.lenet import LeNet5

Array = np.ndarray[Any, np.dtype[Any]]

#: Images per call of the compiled evaluation; the last batch is padded to it.
EVALUATION_BATCH = 128
#: Images are moved by up to this many pixels, which is the empty margin around the digits.
SHIFT = 2

#: What a run of several processes leaves behind after each epoch, for one that goes on; gone when it is done.
_LAST = "last.ckpt"


@dataclass(frozen=True)
class Options:
    """How to train.

    epochs: passes over the data. batch_size: images per step; a remainder is left out. lr: learning rate of the first
    epoch, which falls to zero along half a cosine. momentum: of the optimizer. loss_scale: the first scale; it
    doubles after `scale_window` steps without overflow and halves on each overflow. seed: of weights, order and
    shifts. out: directory for the checkpoint and the dump. limit_steps: stop after that many steps. resume: go on behind the
    last epoch that a run with the same options has finished there, if it has; the same numbers come out. Of several processes,
    which mpiexec has started, each takes its part of every batch.
    """

    epochs: int = 20
    batch_size: int = 32
    lr: float = 0.02
    momentum: float = 0.9
    loss_scale: float = 1024.0
    scale_window: int = 200
    seed: int = 1
    out: str | Path = Path("out") / "digits"
    limit_steps: int | None = None
    resume: bool = False


class Result(NamedTuple):
    """What a training run gives: share of test images recognised, mean loss of the last epoch, steps done, steps
    skipped for overflow, loss scale at the end, whether the compiled step came from the object cache, paths
    written.
    """

    accuracy: float
    loss: float
    steps: int
    overflows: int
    scale: float
    cache_hit: bool
    checkpoint: Path
    dump: Path


def build(batch_size: int = 32, options: Options = Options()) -> tuple[nn.Cell, tuple[Tensor, Tensor]]:
    """The training cell and example inputs, for `graphc show graphc/examples/train_digits.py:build`."""
    cell, _ = training_cell(options)
    images, labels = np.zeros((batch_size, 1, 32, 32), np.float32), np.zeros(batch_size, np.int32)
    return cell, (Tensor(images), Tensor(labels))


def training_cell(options: Options) -> tuple[nn.TrainOneStepWithLossScaleCell, LeNet5]:
    """LeNet-5 with its loss, Momentum and a dynamic loss scale, in training mode; and the bare network."""
    network = LeNet5()
    with_loss = nn.WithLossCell(network, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"))
    optimizer = nn.Momentum(network.trainable_params(), options.lr, options.momentum)
    scale = nn.DynamicLossScaleUpdateCell(options.loss_scale, 2, options.scale_window)
    cell = nn.TrainOneStepWithLossScaleCell(with_loss, optimizer, scale)
    cell.set_train()
    return cell, network


def train(options: Options, say: Callable[[str], None]) -> Result:
    """Train, tell `say` about it line by line, write checkpoint and graph dump at the end.

    Raises ArgumentValueError where the batch does not fit the data or `out` cannot be written. An interruption leaves
    no file.
    """
    parallel.init()
    rank, ranks = parallel.get_rank(), parallel.get_group_size()
    if ranks > 1:
        graphc.set_auto_parallel_context(parallel_mode=graphc.ParallelMode.DATA_PARALLEL, gradients_mean=True)
    if rank:
        say = _silent
    data = load_digits()
    out = _checked(options, data, ranks)
    graphc.set_seed(options.seed)
    cell, network = training_cell(options)
    say(
        f"LeNet-5 on {len(data.train_images)} handwritten digits, {len(data.test_images)} held out;"
        f" batches of {options.batch_size}, {options.epochs} epochs" + (f", {ranks} processes" if ranks > 1 else "")
    )
    first = _resumed(cell, options, out, say)
    part = slice(rank * options.batch_size // ranks, (rank + 1) * options.batch_size // ranks)
    example = (
        Tensor(data.train_images[: options.batch_size][part]),
        Tensor(data.train_labels[: options.batch_size][part]),
    )
    step = graphc.compile(cell, *example)
    origin = "from the object cache" if step.cache_hit else "new object code"
    say(
        f"compiled in {sum(step.compile_seconds.values()):.2f} s ({origin}): {step.graph.count()} nodes"
        f" in {len(step.passes)} passes"
    )
    progress = _Progress(options, len(data.train_images) // options.batch_size, say)
    _run(step, cell, data, options, progress, part, first, out)
    accuracy = evaluate(network, data.test_images, data.test_labels)
    right = round(accuracy * len(data.test_images))
    say(f"test accuracy {accuracy:.2%} ({right} of {len(data.test_images)}), {progress.seconds:.1f} s of training")
    # The checkpoint last: a run that was interrupted until here has written none.
    if not rank:
        step.dump(out / "dump")
    checkpoint = save_checkpoint(cell, out / "lenet.safetensors")
    if not rank:
        (out / _LAST).unlink(missing_ok=True)
    say(f"checkpoint  {checkpoint}")
    say(f"graph dump  {out / 'dump'}")
    return Result(
        accuracy,
        progress.mean_loss,
        progress.steps,
        progress.overflows,
        progress.scale,
        step.cache_hit,
        checkpoint,
        out / "dump",
    )


def _silent(line: str) -> None:
    """What processes other than the first have to say."""


def _resumed(cell: nn.Cell, options: Options, out: Path, say: Callable[[str], None]) -> int:
    """The epoch to begin with, the cell being as it was before that."""
    if not options.resume or not (out / _LAST).exists():
        return 0
    held = load_checkpoint(out / _LAST)
    epoch = int(held.pop("epochs_done"))
    load_param_into_net(cell, held, strict_load=True)
    say(f"going on behind epoch {epoch}, from {out / _LAST}")
    return epoch


def _checked(options: Options, data: Digits, ranks: int) -> Path:
    """The output directory, known to be writable before any time is spent."""
    count = len(data.train_images)
    if options.batch_size % ranks:
        raise ArgumentValueError(f"batches of {options.batch_size} cannot be divided among {ranks} processes")
    if not 1 <= options.batch_size <= count:
        raise ArgumentValueError(f"the batch size is {options.batch_size}, there are {count} images to train on")
    out = Path(options.out)
    there = next(p for p in (out, *out.absolute().parents) if p.exists())
    if not there.is_dir():
        raise ArgumentValueError(
            f"{str(there)!r} is a file, the output needs a directory", help="choose another with --out"
        )
    if not os.access(there, os.W_OK | os.X_OK):
        raise ArgumentValueError(f"{str(there)!r} cannot be written to", help="choose another directory with --out")
    return out


def _run(
    step: Any, cell: Any, data: Digits, options: Options, progress: _Progress, part: slice, begin: int, out: Path
) -> None:
    """All epochs from `begin`, or as many steps as `limit_steps` allows, on this part of every batch."""
    rng = np.random.default_rng(options.seed)
    size = options.batch_size
    for epoch in range(options.epochs):
        rate = options.lr * (1 + np.cos(np.pi * epoch / options.epochs)) / 2
        cell.optimizer.learning_rate.set_data(np.float32(rate))
        order = rng.permutation(len(data.train_images))
        progress.start(epoch)
        for first in range(0, len(order) - size + 1, size):
            if options.limit_steps is not None and progress.steps >= options.limit_steps:
                progress.finish()
                return
            batch = order[first : first + size]
            shift = rng.integers(-SHIFT, SHIFT + 1, 2)
            if epoch < begin:
                continue  # Only the random numbers are drawn.
            images = np.roll(data.train_images[batch[part]], shift, (2, 3))
            loss, overflow, scale = step(Tensor.wrap(images), Tensor.wrap(data.train_labels[batch[part]]))
            progress.step(float(loss), bool(overflow), float(scale))
        progress.finish()
        if begin <= epoch < options.epochs - 1 and parallel.get_group_size() > 1:
            save_checkpoint(cell, out / _LAST, append_dict={"epochs_done": epoch + 1})


class _Progress:
    """Counts and reports: a line every now and then, and one per epoch."""

    #: Seconds between two lines within an epoch.
    PAUSE = 2.0

    def __init__(self, options: Options, per_epoch: int, say: Callable[[str], None]) -> None:
        self.options, self.per_epoch, self.say = options, per_epoch, say
        self.steps = self.overflows = 0
        self.scale = options.loss_scale
        self.seconds = self.mean_loss = 0.0

    def start(self, epoch: int) -> None:
        self.epoch = epoch
        self.losses: list[float] = []
        self.started = self.said = time.perf_counter()

    def step(self, loss: float, overflow: bool, scale: float) -> None:
        self.steps += 1
        self.overflows += overflow
        self.scale = scale
        self.losses.append(loss)
        now = time.perf_counter()
        if now - self.said > self.PAUSE:
            self.said = now
            self._line("loss", loss, now)

    def finish(self) -> None:
        now = time.perf_counter()
        if self.losses:
            self.mean_loss = float(np.mean(self.losses))
            self._line("mean loss", self.mean_loss, now)
        self.seconds += now - self.started

    def _line(self, what: str, loss: float, now: float) -> None:
        rate = len(self.losses) * self.options.batch_size / max(now - self.started, 1e-9)
        self.say(
            f"epoch {self.epoch + 1:>3}/{self.options.epochs}  step {len(self.losses):>3}/{self.per_epoch}"
            f"  {what} {loss:.4f}  overflows {self.overflows}  scale {self.scale:g}  {rate:,.0f} samples/s"
        )


def evaluate(network: nn.Cell, images: Array, labels: Array) -> float:
    """The share of images [n, 1, 32, 32] whose largest logit is their label [n]. The network keeps its mode."""
    was_training = network.training
    network.set_train(False)
    forward = graphc.compile(network, Tensor.wrap(images[:1].repeat(EVALUATION_BATCH, 0)))
    right = 0
    for first in range(0, len(images), EVALUATION_BATCH):
        batch = images[first : first + EVALUATION_BATCH]
        padding = ((0, EVALUATION_BATCH - len(batch)), (0, 0), (0, 0), (0, 0))
        logits = forward(Tensor.wrap(np.pad(batch, padding))).asnumpy()[: len(batch)]
        right += int((logits.argmax(1) == labels[first : first + len(batch)]).sum())
    network.set_train(was_training)
    return right / len(images)
