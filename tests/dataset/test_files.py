"""Data sets from files that the test writes: what they give, and what they say of files that are not right."""

from __future__ import annotations

import struct
import sys

import numpy as np
import pytest

import graphc.dataset as ds
from graphc import ArgumentValueError, DataError, MissingPackageError


def idx(magic, shape, data):
    return struct.pack(f">{1 + len(shape)}I", magic, *shape) + data


@pytest.fixture
def mnist(tmp_path):
    for name, count in (("train", 6), ("t10k", 3)):
        images = bytes(range(256)) * (count * 784 // 256 + 1)
        (tmp_path / f"{name}-images-idx3-ubyte").write_bytes(idx(2051, (count, 28, 28), images[: count * 784]))
        (tmp_path / f"{name}-labels-idx1-ubyte").write_bytes(idx(2049, (count,), bytes(k % 3 for k in range(count))))
    return tmp_path


def labels(dataset, name="label"):
    return [int(row[name]) for row in dataset.create_dict_iterator(num_epochs=1, output_numpy=True)]


def test_mnist(mnist):
    whole = ds.MnistDataset(str(mnist), shuffle=False)
    row = next(whole.create_dict_iterator(output_numpy=True))
    assert (row["image"].shape, row["image"].dtype, row["label"].dtype, row["label"].shape) == (
        (28, 28, 1),
        np.uint8,
        np.uint32,
        (),
    )
    assert np.array_equal(row["image"].reshape(-1), np.arange(784) % 256)
    assert labels(whole) == [0, 1, 2, 0, 1, 2, 0, 1, 2]
    assert [ds.MnistDataset(mnist, u).get_dataset_size() for u in ("train", "test", "all")] == [6, 3, 9]
    assert ds.FashionMnistDataset(mnist, usage="test").get_col_names() == ["image", "label"]


def test_a_number_of_samples_of_each_class(mnist):
    """Recorded from MindSpore 2.10, three passes."""
    ds.config.set_seed(1)
    for shuffle, expected in (
        (
            False,
            [0, 48, 48, 64, 16, 16, 32, 80, 32, 0, 0, 0, 64, 64, 64, 32, 32, 32, 48, 0, 48, 64, 16, 16, 80, 80, 80],
        ),
        (True, [64, 64, 64, 0, 0, 0, 80, 32, 32, 16, 16, 16, 48, 48, 48, 32, 32, 32, 64, 16, 64, 48, 0, 0, 80, 80, 80]),
    ):
        dataset = ds.MnistDataset(mnist, usage="train", sampler=ds.PKSampler(3, shuffle=shuffle)).repeat(3)
        rows = dataset.create_dict_iterator(num_epochs=1, output_numpy=True)
        assert [int(row["image"][0, 0, 0]) for row in rows] == expected


def test_broken_mnist_files(mnist):
    path = mnist / "train-images-idx3-ubyte"
    whole = path.read_bytes()
    for data, message in (
        (whole[:-1], "4719 bytes, its head says 4720"),
        (whole[:10], "no IDX file"),
        (b"<html>not found</html>", "no IDX file"),
        (whole[:4] + b"\xff" * 12 + whole[16:], "its head says"),
        (idx(2051, (5, 28, 28), whole[16 : 16 + 5 * 784]), "5 images and 6 labels"),
    ):
        path.write_bytes(data)
        with pytest.raises(DataError, match=message) as caught:
            ds.MnistDataset(mnist, usage="train")
        assert caught.value.code == "GC205"
    path.unlink()
    with pytest.raises(DataError, match="has 'train-images' in its name"):
        ds.MnistDataset(mnist, usage="train")
    with pytest.raises(DataError, match="3 images and 9 labels"):
        ds.MnistDataset(mnist)


@pytest.mark.parametrize(("only", "usage", "other"), [("train", "train", "test"), ("t10k", "test", "train")])
def test_a_folder_with_one_part_of_mnist(mnist, only, usage, other):
    """As tutorials have them: train and test in folders of their own. Files may have a little other names, as in MindSpore."""
    for path in mnist.iterdir():
        if only not in path.name:
            path.unlink()
        else:
            path.rename(mnist / path.name.replace("-idx", ".idx"))
    whole = labels(ds.MnistDataset(mnist, shuffle=False))
    assert (
        whole
        == labels(ds.MnistDataset(mnist, usage, shuffle=False))
        == labels(ds.MnistDataset(mnist, "all", shuffle=False))
    )
    with pytest.raises(DataError, match="no file in"):
        ds.MnistDataset(mnist, other)


def test_cifar(tmp_path):
    planes = np.arange(3072, dtype=np.uint8)
    for k in range(1, 6):
        (tmp_path / f"data_batch_{k}.bin").write_bytes((bytes([k]) + planes.tobytes()) * 2)
    (tmp_path / "test_batch.bin").write_bytes(bytes([9]) + planes.tobytes())
    assert labels(ds.Cifar10Dataset(tmp_path, shuffle=False)) == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 9]
    row = next(ds.Cifar10Dataset(tmp_path, "test").create_dict_iterator(output_numpy=True))
    assert np.array_equal(row["image"], planes.reshape(3, 32, 32).transpose(1, 2, 0))
    (tmp_path / "data_batch_1.bin").unlink()
    assert labels(ds.Cifar10Dataset(tmp_path, shuffle=False)) == [2, 2, 3, 3, 4, 4, 5, 5, 9]
    (tmp_path / "test_batch.bin").write_bytes(planes.tobytes())
    with pytest.raises(DataError, match="no multiple of 3073"):
        ds.Cifar10Dataset(tmp_path)
    (tmp_path / "test_batch.bin").unlink()
    with pytest.raises(DataError, match=r"'test_batch' in its name and ends in '\.bin'"):
        ds.Cifar10Dataset(tmp_path, "test")


def test_cifar_of_a_hundred_classes(tmp_path):
    """Both files are read in the order of their names, as MindSpore does: the one for testing first."""
    planes = bytes(3072)
    (tmp_path / "train.bin").write_bytes(bytes([3, 40]) + planes)
    (tmp_path / "test.bin").write_bytes(bytes([4, 50]) + planes)
    hundred = ds.Cifar100Dataset(tmp_path, shuffle=False)
    assert (labels(hundred, "coarse_label"), labels(hundred, "fine_label")) == ([4, 3], [50, 40])
    assert labels(ds.Cifar100Dataset(tmp_path, "train"), "coarse_label") == [3]


@pytest.fixture
def folder(tmp_path):
    image = pytest.importorskip("PIL.Image")
    for name, value in (("b", 98), ("a", 97)):
        (tmp_path / name).mkdir()
        for k in range(2):
            image.fromarray(np.full((4, 5, 3), value + 10 * k, np.uint8)).save(tmp_path / name / f"{k}.png")
    return tmp_path


def test_images_in_folders(folder):
    dataset = ds.ImageFolderDataset(folder, shuffle=False, decode=True, num_parallel_workers=2)
    rows = [
        (int(r["image"][0, 0, 0]), r["image"].shape, int(r["label"]), r["label"].dtype)
        for r in dataset.create_dict_iterator(1, True)
    ]
    assert rows == [(v, (4, 5, 3), c, np.int32) for v, c in ((97, 0), (107, 0), (98, 1), (108, 1))]
    assert (dataset.num_classes(), dataset.get_class_indexing()) == (2, {"a": 0, "b": 1})
    files = ds.ImageFolderDataset(folder, shuffle=False)
    assert next(files.create_dict_iterator(output_numpy=True))["image"].tobytes() == (folder / "a/0.png").read_bytes()
    decoded = files.map(ds.vision.Decode(), "image").batch(4)
    assert next(decoded.create_dict_iterator(output_numpy=True))["image"].shape == (4, 4, 5, 3)
    assert labels(ds.ImageFolderDataset(folder, class_indexing={"b": 7})) == [7, 7]
    with pytest.raises(DataError, match=r"no folder .*z'"):
        ds.ImageFolderDataset(folder, class_indexing={"z": 1})
    with pytest.raises(DataError, match="no images"):
        ds.ImageFolderDataset(folder, extensions=[".jpg"])
    (folder / "a/0.png").write_bytes(b"not an image")
    with pytest.raises(DataError, match=r"0.png at sample 0: .* no image that can be decoded\n"):
        list(ds.ImageFolderDataset(folder, shuffle=False, decode=True))


def test_images_without_pillow(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'graphc\[vision\]'"):
        ds.ImageFolderDataset(folder, decode=True)


def test_lines_of_text(tmp_path):
    for name, text in (("b", "b1\nb2"), ("a", "a1\na2\n\na3 \n"), ("c", "ünï\nc2\n")):
        (tmp_path / f"{name}.txt").write_text(text, encoding="utf-8")

    def lines(**options):
        rows = ds.TextFileDataset(str(tmp_path / "*.txt"), **options).create_dict_iterator(
            num_epochs=1, output_numpy=True
        )
        return [str(row["text"]) for row in rows]

    whole = ["a1", "a2", "a3 ", "b1", "b2", "ünï", "c2"]
    assert lines(shuffle=False) == whole
    assert [lines(shuffle=False, num_shards=2, shard_id=k) for k in (0, 1)] == [whole[:4], [*whole[4:], whole[0]]]
    assert lines(shuffle=False, num_samples=2) == whole[:2]
    ds.config.set_seed(1)
    files = lines(shuffle=ds.Shuffle.FILES)
    assert (files != whole, files[files.index("a1") :][:3]) == (True, whole[:3])
    assert sorted(lines()) == sorted(whole)
    with pytest.raises(ArgumentValueError, match=r"there is no file .*nothing.txt"):
        ds.TextFileDataset(str(tmp_path / "nothing.txt"))
    (tmp_path / "a.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match="no UTF-8 text: invalid start byte at byte 0"):
        ds.TextFileDataset(str(tmp_path / "a.txt"))


def test_csv(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text('id,name,v\n1,"a, b",2.5\n2,c,\n')

    def rows(**options):
        dataset = ds.CSVDataset(str(path), shuffle=False, **options)
        return dataset.get_col_names(), [
            [v.tolist() for v in r] for r in dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)
        ]

    assert rows() == (["id", "name", "v"], [["1", "a, b", "2.5"], ["2", "c", ""]])
    assert rows(column_defaults=[0, "", 0.5])[1] == [[1, "a, b", 2.5], [2, "c", 0.5]]
    types = ds.CSVDataset(str(path), column_defaults=[0, "", 0.5]).output_types()
    assert (types[0], types[1].kind, types[2]) == (np.int32, "U", np.float32)
    with pytest.raises(DataError, match=r"x.csv:2 has '2.5' for 'v', which is no int32"):
        rows(column_defaults=[0, "", 1])
    with pytest.raises(DataError, match=r"x.csv:1 has 3 values, there are 2 columns"):
        rows(column_names=["p", "q"])
    with pytest.raises(ArgumentValueError, match="field_delim"):
        rows(field_delim=";;")
    path.write_text('a,b\n"open,2\n')
    with pytest.raises(DataError, match="is no CSV"):
        rows()


def test_the_digits_as_a_data_set():
    digits = ds.DigitsDataset("test", shuffle=False)
    data = ds.load_digits()
    images, classes = digits.batch(355).create_tuple_iterator(output_numpy=True).blocks(steps=1)
    assert np.array_equal(images[0], data.test_images)
    assert np.array_equal(classes[0], data.test_labels)
    assert ds.DigitsDataset().get_dataset_size() == 1442
    with pytest.raises(ArgumentValueError, match="usage"):
        ds.DigitsDataset("all")
