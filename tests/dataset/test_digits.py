"""The digits that come with the package."""

from __future__ import annotations

import numpy as np
import pytest

from graphc.dataset import load_digits
from graphc.dataset.digits import _interpolation, _scale_up
from graphc.errors import ArgumentTypeError, ArgumentValueError


def test_shapes_and_ranges():
    data = load_digits()
    assert (data.train_images.shape, data.test_images.shape) == ((1442, 1, 32, 32), (355, 1, 32, 32))
    assert (data.train_labels.shape, data.test_labels.shape) == ((1442,), (355,))
    for images in (data.train_images, data.test_images):
        assert images.dtype == np.float32
        assert images.flags.c_contiguous
        assert (images.min(), images.max()) == (0, 1)
    assert data.train_labels.dtype == data.test_labels.dtype == np.int32


def test_the_split_is_fixed_and_stratified():
    data = load_digits()
    train, test = np.bincount(data.train_labels), np.bincount(data.test_labels)
    # Of 174 to 183 scans of each digit, every fifth.
    assert (test == (train + test) // 5).all()
    assert (train + test).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]
    again = load_digits()
    assert all((a == b).all() for a, b in zip(data, again, strict=True))
    # No scan is on both sides.
    assert not {x.tobytes() for x in data.test_images} & {x.tobytes() for x in data.train_images}


@pytest.mark.parametrize("size", [8, 16, 28, 32, 33])
def test_other_sizes(size):
    data = load_digits(size)
    assert data.test_images.shape == (355, 1, size, size)
    margin = size // 16
    if margin:
        frame = data.train_images[..., :margin, :]
        assert not frame.any()


def test_bilinear_interpolation():
    weights = _interpolation(8, 28)
    np.testing.assert_allclose(weights.sum(1), 1, rtol=1e-6)
    assert (weights >= 0).all()
    assert ((weights > 0).sum(1) <= 2).all()
    # A linear ramp stays linear between the outermost centres.
    ramp = weights @ np.arange(8, dtype=np.float32)
    np.testing.assert_allclose(ramp, np.clip((np.arange(28) + 0.5) * 8 / 28 - 0.5, 0, 7), atol=1e-6)
    np.testing.assert_array_equal(_interpolation(8, 8), np.eye(8, dtype=np.float32))
    scans = np.random.default_rng(0).integers(0, 17, (3, 8, 8)).astype(np.uint8)
    np.testing.assert_array_equal(_scale_up(scans, 8), (scans / 16).astype(np.float32))


def test_bad_sizes():
    for size in (7, 0, -3):
        with pytest.raises(ArgumentValueError, match=f"size is {size}"):
            load_digits(size)
    for size in (32.0, "32", None, True):
        with pytest.raises(ArgumentTypeError, match="size must be an int"):
            load_digits(size)
