"""Handwritten digits: 1797 scans that come with the package. Origin and licence: ATTRIBUTION.md beside this file."""

from __future__ import annotations

from importlib import resources
from typing import Any, NamedTuple

import numpy as np

from graphc.errors import ArgumentValueError, user_loc
from graphc.validation.checks import integer

Array = np.ndarray[Any, np.dtype[Any]]

#: Side of a stored scan, and the ink value of a full cell: each counts the dark dots of a 4x4 block.
_SIDE, _FULL = 8, 16

#: Of each class, every fifth scan in file order is held out.
_HOLD_OUT = 5


class Digits(NamedTuple):
    """Images float32 [n, 1, size, size] in 0..1 (0 is paper), labels int32 [n] in 0..9; for training and held out."""

    train_images: Array
    train_labels: Array
    test_images: Array
    test_labels: Array


def load_digits(size: int = 32) -> Digits:
    """The UCI optical digits, scaled up for LeNet-5: 1442 scans to train on, 355 to test with.

    size: side of the images in pixels, 8 or more. A margin of size // 16 pixels stays empty on each side, as around
    the 28-pixel digits that LeNet-5 was made for; the 8x8 scan fills the rest by bilinear interpolation between cell
    centres. The split is fixed and stratified: of each class every fifth scan, in the order of the file, is a test
    scan. Nothing is downloaded. Raises ArgumentTypeError or ArgumentValueError for a bad size.
    """
    integer("load_digits", "size", size)
    if size < _SIDE:
        raise ArgumentValueError(
            f"load_digits: size is {size}, the scans are {_SIDE}x{_SIDE} and are only scaled up",
            loc=user_loc(),
            help="LeNet-5 takes size=32",
        )
    with resources.as_file(resources.files(__package__) / "digits.npz") as path, np.load(path) as stored:
        scans, labels = stored["images"], stored["labels"].astype(np.int32)
    images = _scale_up(scans, int(size))[:, None]
    held_out = _held_out(labels)
    return Digits(images[~held_out], labels[~held_out], images[held_out], labels[held_out])


def _held_out(labels: Array) -> Array:
    """bool [n]: every fifth scan of each class."""
    mask = np.zeros(labels.shape, bool)
    for digit in range(10):
        mask[np.flatnonzero(labels == digit)[_HOLD_OUT - 1 :: _HOLD_OUT]] = True
    return mask


def _scale_up(scans: Array, size: int) -> Array:
    """uint8 [n, 8, 8] as float32 [n, size, size] in 0..1."""
    margin = size // 16
    weights = _interpolation(_SIDE, size - 2 * margin)
    inner = weights @ (scans.astype(np.float32) / _FULL) @ weights.T
    return np.pad(inner, ((0, 0), (margin, margin), (margin, margin)))


def _interpolation(source: int, target: int) -> Array:
    """float32 [target, source]: bilinear weights along one axis; pixels are squares, the outermost centre is
    continued.
    """
    position = np.clip((np.arange(target) + 0.5) * source / target - 0.5, 0, source - 1)
    low = np.minimum(position.astype(int), source - 2)
    weights = np.zeros((target, source), np.float32)
    rows = np.arange(target)
    weights[rows, low] = 1 - (position - low)
    weights[rows, low + 1] = position - low
    return weights
