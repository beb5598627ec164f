"""Transforms beside what is recorded: random ones, many samples at once, and what they refuse."""

from __future__ import annotations

import json

import numpy as np
import pytest

import graphc.dataset as ds
from graphc import DataError
from graphc.dataset import transforms as T
from graphc.dataset import vision as V

IMAGES = np.random.default_rng(0).integers(0, 256, (150, 5, 7, 3)).astype(np.uint8)
WHOLE = [
    V.Rescale(1 / 255, -0.5),
    V.Normalize([120.0, 110.0, 100.0], [60.0, 50.0, 40.0]),
    V.HWC2CHW(),
    V.ToTensor(),
    T.TypeCast("float16"),
    T.Fill(3),
    T.Mask(T.Relational.GT, 100),
    T.PadEnd([6, None, 4], 9),
]


@pytest.mark.parametrize("transform", WHOLE, ids=lambda t: type(t).__name__)
def test_many_samples_at_once_are_samples_one_by_one(transform):
    source = ds.NumpySlicesDataset(IMAGES, ["x"], shuffle=False)
    at_once = source.map(transform, "x").batch(150).create_tuple_iterator(output_numpy=True)
    one_by_one = np.stack([transform(image) for image in IMAGES])
    (got,) = next(at_once)
    assert got.dtype == one_by_one.dtype
    assert np.array_equal(got, one_by_one)


def test_a_python_function_among_them():
    source = ds.NumpySlicesDataset(IMAGES, ["x"], shuffle=False)
    mixed = source.map([lambda x: x[:4], V.Rescale(2.0, 0.0), V.HWC2CHW()], "x").batch(150)
    (got,) = next(mixed.create_tuple_iterator(output_numpy=True))
    assert np.array_equal(got, IMAGES[:, :4].transpose(0, 3, 1, 2).astype(np.float32) * 2)


def test_one_hot_labels_of_batches():
    source = ds.NumpySlicesDataset(np.arange(6), ["x"], shuffle=False)
    (got,) = next(source.batch(6).map(T.OneHot(6), "x").create_tuple_iterator(output_numpy=True))
    assert np.array_equal(got, np.eye(6))
    with pytest.raises(DataError, match=r"at sample 0: OneHot: label 3 does not lie in 0 .. 2"):
        list(source.map(T.OneHot(3), "x"))


@pytest.mark.parametrize(
    "transform", [T.TypeCast("int8"), T.Fill(3), T.Mask(T.Relational.GT, 1)], ids=lambda t: type(t).__name__
)
def test_a_value_without_axes_stays_an_array(transform):
    assert type(transform(np.array(2))) is np.ndarray


def test_texts_as_numbers():
    assert T.TypeCast("int32")(np.array(["12", "-3"])).tolist() == [12, -3]
    with pytest.raises(DataError, match="TypeCast: 'False' is no bool"):
        T.TypeCast("bool")(np.array("False"))
    with pytest.raises(DataError, match="TypeCast: 'a' is no int32"):
        T.TypeCast("int32")(np.array(["1", "a"]))


def test_parts_of_images_at_random():
    ds.config.set_seed(1)
    places = set()
    image = np.arange(48).reshape(6, 8, 1).astype(np.uint8)
    for _ in range(300):
        part = V.RandomCrop((4, 5))(image)
        top, left = divmod(int(part[0, 0, 0]), 8)
        assert np.array_equal(part, image[top : top + 4, left : left + 5])
        places.add((top, left))
    assert places == {(y, x) for y in range(3) for x in range(4)}
    with pytest.raises(DataError, match="smaller than 9x9"):
        V.RandomCrop(9)(image)
    assert V.RandomCrop(9, pad_if_needed=True)(image).shape == (9, 9, 1)
    assert {V.RandomResizedCrop((3, 4))(image).shape for _ in range(20)} == {(3, 4, 1)}


def test_parts_erased_at_random():
    ds.config.set_seed(1)
    image = np.arange(96, dtype=np.float32).reshape(2, 6, 8)
    sizes = set()
    for _ in range(100):
        erased = V.RandomErasing(1.0, (0.1, 0.4), (0.5, 2.0), (200, 255))(image)
        gone = erased != image
        assert np.array_equal(gone[0], gone[1])
        rows, columns = np.nonzero(gone[0].any(1))[0], np.nonzero(gone[0].any(0))[0]
        part = erased[:, rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
        assert (part == np.array([200, 255])[:, None, None]).all()
        assert np.array_equal(np.where(gone, image, erased), image)
        sizes.add(part.shape[1:])
    assert {(h, w) for h, w in sizes if not 3 <= h * w <= 24} == set()
    assert len(sizes) > 5
    noise = V.RandomErasing(1.0, (0.3, 0.3), (1.0, 1.0), "random")(image)
    assert len(np.unique(noise[noise != image])) > 10
    assert V.RandomErasing(1.0, (0.3, 0.3), (1.0, 1.0), inplace=True)(image) is image
    assert (image == 0).sum() > 2


def test_two_thresholds_and_the_moves_of_an_affine_map():
    ds.config.set_seed(1)
    every = np.arange(256, dtype=np.uint8).reshape(16, 16, 1)
    for _ in range(50):
        inverted = V.RandomSolarize((10, 200))(every).ravel() != every.ravel()
        places = np.nonzero(inverted)[0]
        # One threshold alone inverts all above it.
        assert places[0] >= 10
        assert places[-1] <= 200 or len(places) == 256 - places[0]
        assert inverted[places[0] : places[-1] + 1].all()
    image = np.zeros((9, 11, 3), np.uint8)
    image[4, 5] = 255
    found = set()
    for _ in range(200):
        moved = V.RandomAffine(0, (-0.2, 0.2, 0.0, 0.3))(image)
        found.add(tuple(np.argwhere(moved[..., 0])[0]))
    assert {y for y, _ in found} == set(range(4, 8))
    assert {x for _, x in found} == set(range(3, 8))


def test_chances():
    ds.config.set_seed(2)
    image = np.arange(6).reshape(2, 3)
    flipped = [np.array_equal(V.RandomHorizontalFlip(0.25)(image), image[:, ::-1]) for _ in range(800)]
    assert 0.2 < np.mean(flipped) < 0.3
    applied = [T.RandomApply([lambda x: x + 1], 0.25)(np.array(0)) for _ in range(800)]
    assert 0.2 < np.mean(applied) < 0.3
    chosen = [T.RandomChoice([lambda x: 0, lambda x: 1, lambda x: 2])(np.array(0)) for _ in range(900)]
    assert min(np.bincount(chosen)) > 240
    orders = {int(T.RandomOrder([lambda x: x * 2, lambda x: x + 1])(np.array(3))) for _ in range(50)}
    assert orders == {7, 8}
    angles = [V.RandomRotation((-90, 90))(np.eye(5, dtype=np.uint8)).sum() for _ in range(5)]
    assert len(angles) == 5


def test_colors_stay_within_their_bounds():
    ds.config.set_seed(3)
    gray = np.full((4, 4, 3), 100, np.uint8)
    seen = [int(V.RandomColorAdjust(brightness=0.5)(gray)[0, 0, 0]) for _ in range(200)]
    assert (min(seen) >= 50, max(seen) <= 150, np.ptp(seen) > 80) == (True, True, True)
    kept = V.RandomColorAdjust(0.0, 0.0, 0.0, 0.0)(IMAGES[0])
    assert np.array_equal(kept, IMAGES[0])


def test_a_gray_mean_between_two_whole_numbers_is_the_even_one():
    # As MindSpore 2.10 computed: the gray image is 1, 4.
    image = np.arange(6, dtype=np.uint8).reshape(1, 2, 3)
    assert np.array_equal(V.AdjustContrast(0.0)(image), np.full_like(image, 2))
    assert V.AdjustContrast(2.0)(image).ravel().tolist() == [0, 0, 2, 4, 6, 8]


def test_cubic_resizing_begins_with_the_rows():
    # As MindSpore 2.10 computed; Pillow itself begins with the columns here.
    image = (np.arange(12 * 6 * 3) * 37 % 256).astype(np.uint8).reshape(12, 6, 3)
    got = V.Resize((3, 5), V.Inter.PILCUBIC)(image)[..., 0]
    assert got.tolist() == [[99, 107, 126, 144, 145], [104, 116, 127, 137, 146], [106, 120, 137, 129, 145]]


def test_there_is_one_device():
    for transform in (V.HorizontalFlip(), V.Decode()):
        assert transform.device() is transform.device("CPU") is transform
        with pytest.raises(ValueError, match="device_target='Ascend' is not supported, only 'CPU'"):
            transform.device("Ascend")


def test_images_of_unusual_dtypes_and_channels():
    """As MindSpore 2.10 computed them."""
    mask = np.arange(20).reshape(4, 5) % 3 == 0
    for transform, wanted in (
        (V.Resize((3, 7)), ["1000100", "0001001", "1000100"]),
        (V.Rotate(30.0, V.Inter.BILINEAR), ["00110", "00000", "00100", "00000"]),
    ):
        got = transform(mask)
        assert got.dtype == np.bool_
        assert ["".join(map(str, row.astype(int))) for row in got] == wanted
    four = V.Affine(0.0, (0.4, 0), 1.0, [0.0, 0.0], V.Inter.NEAREST, (9, 8, 7))(np.full((3, 3, 4), 50, np.uint8))
    assert four[1].tolist() == [[9, 8, 7, 0], [50] * 4, [50] * 4]
    assert V.AdjustBrightness(1.3)(np.array([[15, 35, 135, 40]], np.int32)).tolist() == [[19, 45, 175, 52]]
    assert V.Solarize((30.0, 120.0))(np.array([[-5, 20, 40, 125]], np.int8)).tolist() == [[-5, 20, 127, 125]]


def test_arrays_turned_and_moved_by_cubic_convolution():
    """As MindSpore 2.10 computed it."""
    image = (np.arange(5 * 6 * 3) * 37 % 256).astype(np.uint8).reshape(5, 6, 3)
    turned = V.Rotate(30.0, V.Inter.BICUBIC, fill_value=9)(image)[..., 1]
    assert turned.tolist() == [
        [11, 0, 124, 193, 239, 82], [138, 79, 66, 45, 50, 65], [145, 78, 67, 154, 144, 106], [102, 189, 147, 155, 164, 65],
        [58, 237, 179, 115, 130, 12],
    ]  # fmt: skip
    moved = V.Affine(10.0, (0, 0), 1.2, [5.0, 0.0], V.Inter.BICUBIC)(image.astype(np.float32))[2, :, 1]
    assert moved == pytest.approx([173.45, 167.08, 59.64, 161.4, 41.6, 129.38], abs=0.01)
    assert np.array_equal(V.Rotate(30.0, V.Inter.AREA)(image), V.Rotate(30.0, V.Inter.BILINEAR)(image))
    assert V.RandomAffine(5, resample=V.Inter.BICUBIC)(image).shape == image.shape
    with pytest.raises(ValueError, match=r"resample=<Inter\.PILCUBIC: 5> is not supported"):
        V.RandomRotation(5, V.Inter.PILCUBIC)


def test_squares_cut_out():
    ds.config.set_seed(4)
    counts = {int((V.CutOut(2)(np.ones((8, 8, 3), np.uint8)) == 0).sum()) // 3 for _ in range(200)}
    assert counts == {1, 2, 4}
    assert V.CutOut(3, is_hwc=False)(np.ones((3, 8, 8))).shape == (3, 8, 8)
    with pytest.raises(DataError, match="only 8x8"):
        V.CutOut(9)(np.ones((8, 8, 3)))


def test_batches_mixed_up():
    ds.config.set_seed(5)
    source = ds.NumpySlicesDataset({"x": np.arange(8.0).reshape(8, 1, 1, 1), "y": np.arange(8)}, shuffle=False)
    mixed = source.map(T.OneHot(8), "y").batch(8).map(V.MixUpBatch(0.4), ["x", "y"])
    images, labels = next(mixed.create_tuple_iterator(output_numpy=True))
    assert labels.dtype == np.float32
    assert np.allclose(labels.sum(1), 1)
    # An image is its number: the labels say what was mixed.
    assert np.allclose(images.reshape(-1), labels @ np.arange(8), atol=1e-5)
    several = V.MixUpBatch()(np.zeros((2, 1, 1, 1)), np.eye(4)[[[0, 1], [2, 3]]])[1]
    assert several.shape == (2, 2, 4)
    assert np.allclose(several.sum(2), 1)
    with pytest.raises(DataError, match="one-hot"):
        V.MixUpBatch()(np.zeros((2, 1, 1, 1)), np.zeros(2))


def test_what_is_no_image():
    with pytest.raises(
        DataError, match=r"Resize: an image must be numbers \[H, W\] .* got uint8 \[9\]\n.*help: Decode"
    ):
        V.Resize(3)(np.zeros(9, np.uint8))
    for call in (
        lambda: V.Decode()(np.zeros(9, np.uint8)),
        lambda: V.Decode()(np.zeros((3, 3), np.uint8)),
        lambda: V.ToPIL()(np.zeros((3, 3, 3), np.float32)),
        lambda: V.Normalize([1.0, 2.0], [1.0, 1.0])(IMAGES[0]),
        lambda: V.Resize(3, V.Inter.ANTIALIAS)(IMAGES[0]),
        lambda: V.Invert()(IMAGES[0].astype(np.float32)[..., :1]),
        lambda: V.Equalize()(IMAGES[0][..., :2]),
        lambda: V.RandomErasing(1.0)(IMAGES[0][..., 0]),
        lambda: V.RandomErasing(1.0, value=(1, 2))(IMAGES[0]),
        lambda: V.RandomCropDecodeResize(3)(IMAGES[0]),
        lambda: V.Crop((1, 2), 5)(IMAGES[0]),
        lambda: V.ResizedCrop(0, 0, 6, 1, 2)(IMAGES[0]),
        lambda: V.Erase(0, 0, 6, 1)(IMAGES[0]),
        lambda: V.PadToSize((4, 9))(IMAGES[0]),
        lambda: V.FiveCrop(2)(IMAGES[0]),
        lambda: V.Grayscale()(IMAGES[0]),
        lambda: V.Posterize(3)(IMAGES[0].astype(np.float32)),
        lambda: V.AdjustContrast(0.5)(IMAGES[0][..., 0]),
        lambda: V.AdjustGamma(0.5)(IMAGES[0].astype(np.int16)),
        lambda: V.SlicePatches(6, 1)(IMAGES[0]),
        lambda: V.ConvertColor(V.ConvertMode.COLOR_RGB2GRAY)(IMAGES[0][..., 0]),
        lambda: T.Slice(0, 0)(np.arange(3)),
        lambda: T.Slice([0, 3])(np.arange(3)),
        lambda: T.Mask(T.Relational.EQ, "a")(np.array([1])),
        lambda: T.Concatenate(0, np.array([1.0]))(np.array([1])),
    ):
        with pytest.raises(DataError):
            call()


def test_samples_of_different_lengths():
    """As MindSpore 2.10 gives them."""
    data = ds.NumpySlicesDataset({"a": [[1], [2, 3], [4, 5, 6]], "b": [7, 8, 9]}, shuffle=False)
    rows = [[x.tolist() for x in row] for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]
    assert rows == [[[1], 7], [[2, 3], 8], [[4, 5, 6], 9]]
    (padded,) = data.padded_batch(3, pad_info={"a": ([4], -1)}).create_tuple_iterator(num_epochs=1, output_numpy=True)
    assert padded[0].tolist() == [[1, -1, -1, -1], [2, 3, -1, -1], [4, 5, 6, -1]]


def test_padded_batches_of_sizes_that_a_function_says():
    rows = ds.NumpySlicesDataset([[1], [2, 3], [4], [5, 6], [7]], ["x"], shuffle=False)
    for drop, wanted in ((True, [(1, 1), (2, 2)]), (False, [(1, 1), (2, 2), (2, 2)])):
        data = rows.padded_batch(lambda info: info.get_batch_num() + 1, drop, pad_info={})
        assert [x.shape for (x,) in data.create_tuple_iterator(num_epochs=1, output_numpy=True)] == wanted
        assert data.get_batch_size() == -1
        assert data.get_dataset_size() == len(wanted)
    with pytest.raises(DataError, match="padded_batch: batch_size must give an int of 1 or more, it gave 0"):
        list(rows.padded_batch(lambda info: 0))


def test_sizes_of_several_data_sets_are_those_of_the_last():
    """As MindSpore 2.10 says."""
    first, last = (ds.NumpySlicesDataset({name: [1, 2, 3, 4, 5, 6]}, shuffle=False) for name in "ab")
    both = ds.zip((first.repeat(3).batch(2), last.batch(3).repeat(2)))
    assert (both.get_batch_size(), both.get_repeat_count()) == (3, 2)
    assert (first.batch(2) + last.rename("b", "a")).get_batch_size() == 1


def test_batches_of_different_sizes_are_shuffled():
    batches = ds.NumpySlicesDataset(np.arange(12), ["x"], shuffle=False).batch(
        lambda info: info.get_batch_num() % 3 + 1
    )
    for data in (batches.shuffle(2), batches.batch(1).shuffle(5), batches.shuffle(100)):
        assert data.get_dataset_size() == 6
        rows = [x.ravel().tolist() for (x,) in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]
        assert sorted(rows) == [[0], [1, 2], [3, 4, 5], [6], [7, 8], [9, 10, 11]]


def test_schemas(tmp_path):
    schema = ds.Schema()
    schema.add_column("x", "int64", [2])
    schema.add_column("t", "string")
    path = tmp_path / "schema.json"
    path.write_text(schema.to_json())
    assert json.loads(path.read_text())["columns"][0] == {"name": "x", "rank": 1, "shape": [2], "type": "int64"}
    again = ds.Schema(str(path))
    assert again.columns == schema.columns
    dataset = ds.GeneratorDataset([([1, 2], "a")], schema=again)
    assert dataset.get_col_names() == ["x", "t"]
