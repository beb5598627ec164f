"""MindRecord files of other files: the rows that MindSpore's converters give."""

from __future__ import annotations

import gzip
import io
import pickle
import struct
from types import SimpleNamespace

import numpy as np
import pytest

from graphc import ArgumentTypeError, ArgumentValueError, DataError, compat
from graphc.mindrecord import (
    SUCCESS,
    Cifar10ToMR,
    Cifar100ToMR,
    CsvToMR,
    FileReader,
    ImageNetToMR,
    MnistToMR,
    TFRecordToMR,
)
from graphc.mindrecord.tfrecords import framed
from tests.recorders import recorder

probe = recorder("ms_records")
RNG = np.random.default_rng(0)


def rows(path, *more):
    return list(FileReader(str(path), *more).get_next())


def pixels(data):
    image = pytest.importorskip("PIL.Image")
    return np.asarray(image.open(io.BytesIO(data))).astype(int)


def idx(array):
    return bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.tobytes()


@pytest.fixture
def mnist(tmp_path):
    pytest.importorskip("PIL")
    images = np.tile(np.arange(28, dtype=np.uint8) * 9, (5, 28, 1))
    for prefix, count in (("train", 5), ("t10k", 3)):
        for kind, array in (("images-idx3", images[:count]), ("labels-idx1", np.arange(count, dtype=np.uint8))):
            (tmp_path / f"{prefix}-{kind}-ubyte.gz").write_bytes(gzip.compress(idx(array)))
    return tmp_path


def test_mnist(mnist):
    MnistToMR(str(mnist), str(mnist / "out"), 2).transform()
    train = [row for k in (0, 1) for row in rows([str(mnist / f"out_train.mindrecord{k}")][0])]
    assert sorted(row["label"] for row in train) == sorted([*range(5)] * 2)
    assert [row["label"] for row in rows(mnist / "out_test.mindrecord0")] == [0, 1, 2]
    assert np.abs(pixels(train[0]["data"]) - np.tile(np.arange(28) * 9, (28, 1))).max() <= 4


@pytest.mark.parametrize(
    "damage",
    [
        lambda d: d[:-9],
        lambda d: gzip.compress(b"no"),
        lambda d: b"text",
        lambda d: gzip.compress(gzip.decompress(d)[:-5]),
    ],
)
def test_mnist_that_is_damaged(mnist, damage):
    path = mnist / "train-images-idx3-ubyte.gz"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(DataError, match=r"train-images-idx3-ubyte.gz"):
        MnistToMR(str(mnist), str(mnist / "out")).run()


def batches(folder, names, **labels):
    for name in names:
        images = RNG.integers(0, 255, (2, 3072), np.uint8)
        with (folder / name).open("wb") as file:
            pickle.dump({b"data": images, **{k.encode(): v for k, v in labels.items()}}, file, protocol=2)


def test_cifar(tmp_path):
    pytest.importorskip("PIL")
    batches(tmp_path, ("data_batch_1", "data_batch_2", "test_batch"), labels=[3, 9])
    Cifar10ToMR(str(tmp_path), str(tmp_path / "out")).transform(["label"])
    assert [(r["id"], r["label"]) for r in rows(tmp_path / "out")] == [(0, 3), (1, 9), (2, 3), (3, 9)]
    assert pixels(rows(tmp_path / "out_test")[0]["data"]).shape == (32, 32, 3)
    batches(tmp_path, ("train", "test"), fine_labels=[99, 1], coarse_labels=[4, 5])
    assert Cifar100ToMR(str(tmp_path), str(tmp_path / "hundred")).run() is SUCCESS
    assert [(r["fine_label"], r["coarse_label"]) for r in rows(tmp_path / "hundred")] == [(99, 4), (1, 5)]


class Runs:
    """A pickle that would run something."""

    def __reduce__(self):
        return (exec, ("raise SystemExit",))


@pytest.mark.parametrize("held", [Runs(), {b"data": np.zeros((2, 3072), np.uint8), b"labels": [1]}, {}, [1]])
def test_cifar_that_is_something_else(held, tmp_path):
    batches(tmp_path, ("test_batch",), labels=[1, 2])
    (tmp_path / "data_batch_1").write_bytes(pickle.dumps(held))
    with pytest.raises(DataError, match="data_batch_1 is no file of CIFAR's version for Python"):
        Cifar10ToMR(str(tmp_path), str(tmp_path / "out")).run()
    with pytest.raises(DataError, match="there is no file 'train'"):
        Cifar100ToMR(str(tmp_path), str(tmp_path / "out"))


def test_csv(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('a,b,c,d,e,f\n1,1.5,x,True,5,\n-2,2,"y,z",False,1e3,7\n3,0.25,é,True,7,8\n', encoding="utf-8")
    CsvToMR(str(path), str(tmp_path / "out")).transform()
    got = rows(tmp_path / "out")
    assert [list(map(got[k].get, "abcde")) for k in (0, 1)] == [[1, 1.5, "x", 1, 5.0], [-2, 2.0, "y,z", 0, 1000.0]]
    assert [type(v) for v in map(got[0].get, "abcde")] == [int, float, str, int, float]
    assert [np.isnan(got[0]["f"]), got[1]["f"], got[2]["f"]] == [True, 7.0, 8.0]
    CsvToMR(str(path), str(tmp_path / "some"), ["b", "a"], 2).transform()
    assert FileReader(str(tmp_path / "some1")).schema() == {"a": {"type": "int64"}, "b": {"type": "float64"}}
    long = tmp_path / "long.csv"
    long.write_text("a\n" + "x" * 200_000 + "\n", encoding="utf-8-sig")
    CsvToMR(str(long), str(tmp_path / "long")).transform()
    assert rows(tmp_path / "long") == [{"a": "x" * 200_000}]
    with pytest.raises(DataError, match="columns_list has 'q', the columns are a, b"):
        CsvToMR(str(path), str(tmp_path / "none"), ["q"]).run()
    for text, message in (
        ("a,b\n1\n", "t.csv:2 has 1 values, there are 2 columns"),
        ("a,b\n", "has no rows"),
        ('a\n"x', "is no CSV"),
    ):
        path.write_text(text)
        with pytest.raises(DataError, match=message):
            CsvToMR(str(path), str(tmp_path / "none")).run()


def test_imagenet(tmp_path):
    for name in ("n01", "n02"):
        (tmp_path / name).mkdir()
        for k in range(2):
            (tmp_path / name / f"{k}.JPEG").write_bytes(f"{name} {k}".encode())
    (tmp_path / "n01/notes.txt").write_text("no image")
    labels = tmp_path / "map.txt"
    labels.write_text("n01 0\nn02 5\nn99 7\n")
    ImageNetToMR(str(labels), str(tmp_path), str(tmp_path / "out"), 2).transform()
    got = rows(tmp_path / "out0")
    assert [(r["label"], r["image"], r["file_name"][-10:]) for r in got] == [
        (label, f"{name} {k}".encode(), f"{name}/{k}.JPEG")
        for label, name in ((0, "n01"), (5, "n02"))
        for k in range(2)
    ]
    labels.write_text("n01 3\nn02 3\nn01 3\n")
    ImageNetToMR(str(labels), str(tmp_path), str(tmp_path / "shared")).run()
    got = [(r["label"], r["image"]) for r in rows(tmp_path / "shared")]
    assert got == [(3, f"{name} {k}".encode()) for name in ("n01", "n02") for k in range(2)]
    labels.write_text("n01 x\n")
    with pytest.raises(DataError, match=r"map.txt:1 has 'n01 x'"):
        ImageNetToMR(str(labels), str(tmp_path), str(tmp_path / "none")).run()
    labels.write_text("n99 1\n")
    with pytest.raises(DataError, match=r"no folder of map.txt is there"):
        ImageNetToMR(str(labels), str(tmp_path), str(tmp_path / "none")).run()


def wanted(shape, dtype, default=None):
    """What tf.io.FixedLenFeature has."""
    return SimpleNamespace(shape=shape, dtype=SimpleNamespace(name=dtype), default_value=default)


def test_tfrecord(tmp_path):
    path = tmp_path / "x.tf"
    examples = [{"im/a ge": [b"\xff\0"], "name": ["é".encode()], "n": [k], "list": [0.5, float(k)]} for k in range(3)]
    path.write_bytes(b"".join(framed(probe.example(e)) for e in examples))
    features = {
        "im/a ge": wanted([], "string"), "name": wanted([], "string"), "n": wanted([], "int64"),
        "list": wanted([2], "float32"), "lacks": wanted([], "int64", 7),
    }  # fmt: skip
    TFRecordToMR(str(path), str(tmp_path / "out"), features, ["im/a ge"]).transform()
    got = rows(tmp_path / "out")
    assert [got[2][k] for k in ("im_a_ge", "name", "n", "lacks")] == [b"\xff\0", "é", 2, 7]
    assert got[2]["list"].tolist() == [0.5, 2.0]
    assert FileReader(str(tmp_path / "out")).schema()["list"] == {"shape": [2], "type": "float32"}
    for change, message in (
        ({"list": wanted([3], "float32")}, "record 0: feature 'list' has 2 values, 3 are wanted"),
        ({"n": wanted([], "float32")}, "record 0: feature 'n' is of another kind"),
        ({"more": wanted([], "int64")}, "record 0: feature 'more' is missing"),
    ):
        with pytest.raises(DataError, match=message):
            TFRecordToMR(str(path), str(tmp_path / "none"), features | change, ["im/a ge"]).run()
    for given, kind, error in (
        ([], None, ArgumentTypeError),
        ({"n": 1}, None, ArgumentValueError),
        ({"n": wanted([2, 2], "int64")}, None, ArgumentValueError),
        ({"n": wanted([2], "string")}, None, ArgumentValueError),
        ({"n": wanted([], "int64")}, ["n"], ArgumentValueError),
        ({"a.b": wanted([], "int64"), "a-b": wanted([], "int64")}, None, ArgumentValueError),
    ):
        with pytest.raises(error):
            TFRecordToMR(str(path), str(tmp_path / "none"), given, kind)
    assert not (tmp_path / "none").exists()


def test_names_of_mindspore():
    compat.install()
    try:
        namespace = {}
        exec(
            "from mindspore.mindrecord import FileWriter, FileReader, MindPage, Cifar10ToMR, SUCCESS, FAILED, set_enc_key\n"
            "from mindspore.mindrecord.filewriter import FileWriter as again\n"
            "from mindspore.mindrecord.config import set_enc_mode\n"
            "from mindspore.mindrecord.tools.mnist_to_mr import MnistToMR\n"
            "from mindspore.mindrecord.common.exceptions import MRMOpenError, ParamTypeError\n"
            "import mindspore.mindrecord as mr, mindspore.dataset as ds\n"
            "from mindspore.dataset import MindDataset, TFRecordDataset, PaddedDataset\n"
            "from mindspore.dataset.engine.datasets_standard_format import MindDataset as other\n",
            namespace,
        )
        assert namespace["FileWriter"] is namespace["again"]
        assert namespace["MindDataset"] is namespace["other"]
        assert dir(namespace["mr"])
        with pytest.raises(namespace["ParamTypeError"]):
            namespace["FileReader"](1)
        with pytest.raises(namespace["mr"].MRMOpenError):
            namespace["FileReader"](__file__)
        with pytest.raises(ImportError, match="MindDataset of files that are on this machine"):
            exec("from mindspore.dataset import OBSMindDataset", namespace)
    finally:
        compat.uninstall()
