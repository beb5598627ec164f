"""Random transforms of images against how often each result came in MindSpore 2.10 (tests/data/ms_vision.py wrote it), mixed
batches, boxes, files, and where graphc does otherwise."""

from __future__ import annotations

import itertools
import json
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import graphc.dataset as ds
from graphc import DataError
from graphc.dataset import vision as V
from graphc.dataset.vision.affine import inverse_affine
from graphc.dataset.vision.policies import changed, magnitudes, pairs
from graphc.dataset.vision.warping import warped
from tests.recorders import recorder

DATA = Path(__file__).parents[1] / "data"
RECORDED = json.loads((DATA / "ms_vision.json").read_text())
BLACK, BLUE = (0, 0, 0), (0, 0, 255)


probe = recorder("ms_vision")
KNOWN = probe.names({"np": np, "V": V})
PIXELS = probe.PIXELS
PIL = Image.fromarray(PIXELS)


@pytest.fixture(autouse=True)
def seeded():
    ds.config.set_seed(20)


def moved_as_mindspore_does(image, name, magnitude, interpolation, fill):
    """MindSpore moves by as many widths or heights as pixels are meant."""
    if not name.startswith("Translate"):
        return changed(image, name, magnitude, interpolation, fill)
    height, width = image.shape[:2]
    move = (magnitude * width, 0.0) if name.endswith("X") else (0.0, magnitude * height)
    matrix = inverse_affine(((width - 1) / 2, (height - 1) / 2), 0, move, 1, (0, 0))
    return warped(image, matrix, (height, width), interpolation, fill)


@pytest.mark.parametrize("text", RECORDED["drawn"])
def test_results_of_policies_come_as_often(text, monkeypatch):
    monkeypatch.setattr("graphc.dataset.vision.augment.changed", moved_as_mindspore_does)
    expected, got = RECORDED["drawn"][text], probe.drawn(text, KNOWN, probe.DRAWN[text])
    for result in expected.keys() | got.keys():
        once, again = expected.get(result, 0), got.get(result, 0)
        assert abs(once - again) <= 6 * max(once, again) ** 0.5 + 3


def test_changes_of_policies_by_name():
    known = magnitudes(31, 0.3, (150 / 331 * 12, 150 / 331 * 9), 30, 0.9, 4, 255)
    same = {
        "ShearX": V.Affine(0, (0, 0), 1, (np.degrees(0.1), 0)),
        "ShearY": V.Affine(0, (0, 0), 1, (0, np.degrees(0.1))),
        "TranslateX": V.Affine(0, (1 / 12, 0), 1, 0),
        "TranslateY": V.Affine(0, (0, 1 / 9), 1, 0),
        "Rotate": V.Rotate(10),
        "Brightness": V.AdjustBrightness(1.3),
        "Color": V.AdjustSaturation(1.3),
        "Contrast": V.AdjustContrast(1.3),
        "Sharpness": V.AdjustSharpness(1.3),
        "Posterize": V.Posterize(7),
        "Solarize": V.Solarize(170),
    }
    assert set(known) == set(same)
    for name, transform in same.items():
        got = changed(PIXELS, name, float(known[name][10]), V.Inter.NEAREST, BLACK)
        assert np.abs(got.astype(int) - transform(PIXELS)).max() <= (1 if name in ("Contrast", "Color") else 0), name


def test_a_learned_pair_is_one_of_25():
    for policy in V.AutoAugmentPolicy:
        assert len(pairs(policy)) == 25
        assert {len(pair) for pair in pairs(policy)} == {2}
        assert V.AutoAugment(policy, V.Inter.BILINEAR, BLUE)(PIL).shape == PIXELS.shape
    with pytest.raises(ValueError, match="AutoAugment: interpolation="):
        V.AutoAugment(interpolation=V.Inter.PILCUBIC)
    for way in (V.Inter.BICUBIC, V.Inter.AREA):
        assert V.RandAugment(interpolation=way)(PIL).shape == V.TrivialAugmentWide(interpolation=way)(PIL).shape
        turned = V.Rotate(10, way)(PIXELS)
        np.testing.assert_array_equal(changed(PIXELS, "Rotate", 10.0, way, BLACK), turned)
    with pytest.raises(DataError, match="RandAugment: an image must be uint8"):
        V.RandAugment()(PIXELS.astype(np.float32))


@pytest.mark.parametrize("alpha", RECORDED["staying"])
def test_what_stays_of_images_is_as_much(alpha):
    assert abs(probe.staying(KNOWN, alpha) - RECORDED["staying"][alpha]) < 0.012


@pytest.mark.parametrize("form", V.ImageBatchFormat)
def test_labels_are_mixed_by_area(form):
    images = np.stack([np.full((7, 9, 3), k, np.uint8) for k in range(6)])
    labels = np.eye(6, dtype=np.int32)
    given = images if form is V.ImageBatchFormat.NHWC else images.transpose(0, 3, 1, 2)
    for kind in (labels, np.stack([labels, labels], 1)):
        mixed, targets = V.CutMixBatch(form)(given, kind)
        assert (mixed.dtype, mixed.shape, targets.dtype, targets.shape) == (
            np.uint8,
            given.shape,
            np.float32,
            kind.shape,
        )
        shares = (mixed.reshape(6, -1)[..., None] == np.arange(6)).mean(1)
        assert np.allclose(targets.reshape(6, -1, 6), shares[:, None], atol=1e-6)
    assert np.array_equal(given[:, 0, 0].max(), 5)


def test_images_mixed_with_the_next():
    images, labels = np.stack([PIXELS, PIXELS[::-1], PIXELS[:, ::-1]]), np.eye(3, 4)
    mixed, targets = V.MixUp(3, 0.5)(images, labels)
    share = targets[np.arange(3), np.arange(3)]
    assert (mixed.dtype, targets.dtype, len(set(share))) == (np.float64, np.float64, 3)
    own = share.reshape(3, 1, 1, 1)
    assert np.allclose(mixed, own * images + (1 - own) * images[[1, 2, 0]])
    assert np.allclose(targets, share[:, None] * labels + (1 - share[:, None]) * labels[[1, 2, 0]])
    with pytest.raises(ValueError, match="MixUp: is_single=False"):
        V.MixUp(3, 0.5, False)


def test_mixed_batches_of_a_data_set():
    source = ds.NumpySlicesDataset((np.stack([PIXELS] * 4), np.eye(4, dtype=np.int32)), ["x", "y"], shuffle=False)
    for mix in (V.CutMixBatch(V.ImageBatchFormat.NHWC), V.MixUp(2, 1.0)):
        for x, y in source.batch(2).map(mix, ["x", "y"]).create_tuple_iterator(output_numpy=True, num_epochs=1):
            assert x.shape == (2, *PIXELS.shape)
            assert np.allclose(y.sum(1), 1)


def test_light_is_added_along_main_directions():
    gray = np.full((2, 2, 3), 128, np.uint8)
    drawn = np.array([V.RandomLighting(0.5)(gray)[0, 0] for _ in range(2000)]) - 128.0
    assert np.allclose(drawn.std(0), [15.84, 16.12, 16.29], rtol=0.08)
    assert np.corrcoef(drawn.T).min() > 0.97
    light = np.asarray(V.RandomLighting(0.5)(Image.fromarray(gray[..., 0])))
    assert light.shape == (2, 2, 3)
    with pytest.raises(DataError, match="RandomLighting: an image must be uint8"):
        V.RandomLighting()(gray.astype(np.float32))


def test_ways_of_resizing_at_random():
    ways = [V.Inter.BILINEAR, V.Inter.NEAREST, V.Inter.BICUBIC, V.Inter.AREA]
    wanted = {V.Resize((5, 17), way)(PIXELS).tobytes() for way in ways}
    resize = V.RandomResize((5, 17))
    assert {resize(PIXELS).tobytes() for _ in range(60)} == {resize(PIL).tobytes() for _ in range(60)} == wanted
    first, second = resize(PIXELS, PIXELS)
    assert np.array_equal(first, second)
    boxes = probe.BOXES
    assert {V.RandomResizeWithBBox((5, 17))(PIXELS, boxes)[0].tobytes() for _ in range(60)} == wanted


def test_random_perspectives_are_of_corners_moved_inwards():
    transform = V.RandomPerspective(0.25, 1.0, V.Inter.NEAREST)
    x, y = ((0, 1), (0, 1))
    ends = itertools.product(
        itertools.product(x, y), itertools.product((10, 11), y), itertools.product((10, 11), (7, 8))
    )
    known = {
        np.asarray(V.Perspective(probe.CORNERS, [*three, last], V.Inter.NEAREST)(PIL)).tobytes()
        for three in ends
        for last in itertools.product(x, (7, 8))
    }
    found = {np.asarray(transform(PIL)).tobytes() for _ in range(300)}
    assert found <= known
    assert len(found) > 60
    assert sum(np.array_equal(V.RandomPerspective()(PIL), PIXELS) for _ in range(200)) in range(70, 130)


def test_augmentations_chosen_uniformly():
    add = [lambda x: x + 1, lambda x: x + 10, lambda x: x + 100]
    counts = np.unique([V.UniformAugment(add)(0) for _ in range(3000)], return_counts=True)
    assert counts[0].tolist() == [0, 1, 10, 11, 100, 101, 110]
    # Each is one of the two with probability 2/3, and then done with 1/2.
    assert np.allclose(counts[1] / 3000, [1 / 4, 1 / 6, 1 / 6, 1 / 12, 1 / 6, 1 / 12, 1 / 12], atol=0.03)
    in_order = V.UniformAugment([V.Crop((0, 0), 3), V.Resize((8, 8))])
    assert {in_order(PIXELS).shape[:2] for _ in range(60)} == {PIXELS.shape[:2], (3, 3), (8, 8)}
    either = {np.asarray(in_order(PIL)).shape[:2] for _ in range(60)}
    assert either == {PIXELS.shape[:2], (3, 3), (8, 8)}


def test_subpolicies_chosen_at_random():
    policy = V.RandomSelectSubpolicy([[(lambda x: x + 1, 0.5), (lambda x: x * 2, 1)], [(lambda x: x + 100, 0.25)]])
    values, counts = np.unique([policy(5) for _ in range(3000)], return_counts=True)
    assert values.tolist() == [5, 10, 12, 105]
    assert np.allclose(counts / 3000, [3 / 8, 1 / 4, 1 / 4, 1 / 8], atol=0.03)


@pytest.mark.parametrize(("dtype", "wanted"), [("float32", 254.5), ("int8", 127), ("int32", 255), ("uint16", 255)])
def test_other_numbers_than_bytes_are_inverted(dtype, wanted):
    """As MindSpore 2.10 does it."""
    made = V.Invert()(np.full((2, 1, 3), 0.5).astype(dtype))
    assert (made.dtype, made.tolist()) == (dtype, [[[wanted] * 3]] * 2)


def test_boxes_go_with_their_image():
    image = np.zeros((9, 12), np.uint8)
    image[3:5, 4:9] = 255
    box = np.array([[4, 3, 5, 2]], np.float32)
    transforms = [
        V.RandomHorizontalFlipWithBBox(), V.RandomVerticalFlipWithBBox(), V.RandomCropWithBBox(7, [3, 1, 2, 4]),
        V.RandomCropWithBBox((11, 9), None, True), V.RandomCropWithBBox((20, 30), 2, True, 0, V.Border.CONSTANT),
        V.RandomResizedCropWithBBox((9, 12), (0.3, 0.9), (1, 1.5), V.Inter.NEAREST), V.ResizeWithBBox((18, 24), V.Inter.NEAREST),
    ]  # fmt: skip
    for transform in transforms:
        for _ in range(20):
            changed_image, boxes = transform(image, box)
            rows, columns = np.nonzero(changed_image)
            if not len(rows):
                assert not (boxes[:, 2:] > 1).all(1).any()
                continue
            ((x, y, width, height),) = boxes
            assert np.allclose([x, y], [columns.min(), rows.min()], atol=1)
            assert np.allclose([x + width, y + height], [columns.max() + 1, rows.max() + 1], atol=1)
    assert box.tolist() == [[4, 3, 5, 2]]


def test_boxes_that_are_changed():
    counts = [int((V.BoundingBoxAugment(V.Invert())(PIXELS, probe.BOXES)[0] != PIXELS).any()) for _ in range(400)]
    assert 400 * 0.51 - 60 < sum(counts) < 400 * 0.51 + 60
    with pytest.raises(DataError, match="BoundingBoxAugment: Rescale made float32"):
        V.BoundingBoxAugment(V.Rescale(1, 0), 1.0)(PIXELS, probe.BOXES)
    source = ds.NumpySlicesDataset((np.stack([PIXELS] * 3), np.stack([probe.BOXES] * 3)), ["image", "boxes"])
    (image, boxes) = next(
        iter(source.map(V.RandomCropWithBBox(8), ["image", "boxes"]).create_tuple_iterator(output_numpy=True))
    )
    assert image.shape == (8, 8, 3)
    assert boxes.shape[1] == 7


def test_a_channel_of_zeros_at_the_end():
    normalized, padded = V.Normalize([120.0], [60.0])(PIXELS), V.NormalizePad([120.0], [60.0], "float16")(PIXELS)
    assert (padded.dtype, padded.shape) == (np.float16, (9, 12, 4))
    assert np.array_equal(padded, np.concatenate([normalized, np.zeros((9, 12, 1))], 2).astype(np.float16))
    assert np.array_equal(V.NormalizePad([120.0], [60.0])(PIXELS[:1, :, 0])[..., 0], normalized[:1, :, 0])
    source = ds.NumpySlicesDataset(np.stack([PIXELS] * 150), ["x"], shuffle=False)
    (batch,) = next(
        source.map(V.NormalizePad([9, 8, 7], [6, 5, 4]), "x").batch(150).create_tuple_iterator(output_numpy=True)
    )
    assert np.array_equal(batch[149], V.NormalizePad([9, 8, 7], [6, 5, 4])(PIXELS))


def test_colours_there_and_back():
    shares = probe.SHARES.astype(np.float64)
    assert np.allclose(V.HsvToRgb(True)(V.RgbToHsv(True)(shares)), shares)
    # float64 whatever the first pixel is; MindSpore takes that pixel's dtype for all of them.
    gray = np.zeros((3, 2, 2), np.float32)
    assert V.HsvToRgb()(gray).dtype == np.float64
    source = ds.NumpySlicesDataset(np.stack([PIXELS] * 2), ["x"], shuffle=False)
    with pytest.raises(
        DataError, match=r"map of column 'x' at sample 0: RgbToHsv: an image must be numbers \[3, H, W\]"
    ):
        list(source.map(V.RgbToHsv(), "x"))
    for transform, image in ((V.HsvToRgb(True), shares * np.nan), (V.RgbToHsv(True), np.array([[[0.0, -1, -2]]]))):
        with pytest.raises(DataError, match=r"HsvToRgb: a hue|RgbToHsv: a pixel"):
            transform(image)


def png_of_16_bits(image):
    """The file of an image [H, W, 3] whose bytes are the upper halves of its values."""

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows = b"".join(b"\0" + (row.astype(">u2") * 256 + 129).astype(">u2").tobytes() for row in image)
    header = struct.pack(">IIBBBBB", image.shape[1], image.shape[0], 16, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*c) for c in chunks)


def test_files(tmp_path):
    name = str(tmp_path / "empty")
    V.write_file(name, np.zeros((0, 2), np.uint8))
    assert V.read_file(name).shape == (0,)
    V.write_png(name, PIXELS)
    assert np.array_equal(V.read_image(name), PIXELS)
    assert np.array_equal(V.encode_png(PIXELS), V.read_file(name))
    V.write_jpeg(name, PIXELS, 90)
    assert np.array_equal(V.encode_jpeg(PIXELS, 90), V.read_file(name))
    (tmp_path / "empty").write_bytes((tmp_path / "empty").read_bytes()[:200])
    with pytest.raises(DataError, match=r"read_image: .* is no image that can be decoded"):
        V.read_image(name)
    (tmp_path / "empty").write_bytes(png_of_16_bits(PIXELS))
    assert np.array_equal(V.read_image(name, V.ImageReadMode.COLOR), PIXELS)
    for mode in (V.ImageReadMode.UNCHANGED, V.ImageReadMode.GRAYSCALE):
        with pytest.raises(DataError, match="read_image: Pillow reads colours of 16 bits as bytes"):
            V.read_image(name, mode)
    (tmp_path / "empty").write_bytes(b"P6\n1 1\n100\n\1\2\3")
    with pytest.raises(DataError, match="read_image: PPM files are read whose values go to 255"):
        V.read_image(name)
    Image.fromarray(PIXELS[..., 0].astype(np.float32)).save(name, "TIFF")
    with pytest.raises(DataError, match="read_image: TIFF files are read in"):
        V.read_image(name)


def test_a_mark_that_is_not_asked_for():
    def double(x):
        return x * 2

    assert ds.transforms.not_random(double) is V.not_random(double) is double
    assert double.random is False
    assert V.ToNumpy()(PIL).flags.writeable
