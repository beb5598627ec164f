"""Published data sets, read from made-up folders as MindSpore 2.10 reads them (tests/data/ms_sources.py recorded it)."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import graphc.dataset as ds
from graphc import ArgumentTypeError, ArgumentValueError, DataError
from graphc.compat.lacking import SourceDataset, TextBaseDataset, VisionBaseDataset
from graphc.dataset.sources import parameters
from graphc.dataset.sources.matlab import read_matlab
from tests.dataset import folders, sound_folders, text_folders
from tests.recorders import recorder

pytest.importorskip("PIL.Image")
RECORDED = json.loads((Path(__file__).parents[1] / "data" / "ms_sources.json").read_text())
probe = recorder("ms_sources")

#: Where MindSpore counts other rows than it gives: lines for sentences, no empty lines, files of other parts or classes.
MISCOUNTED = (
    "CoNLL2000Dataset",
    "UDPOSDataset",
    "EnWik9Dataset",
    "SpeechCommandsDataset",
    "ImageFolderDataset(R/caltech256, S, class",
)
#: Where it reads folders in an order that nobody has chosen.
UNORDERED = ("GTZANDataset", "LibriTTSDataset")
#: Where it gives silence.
SILENT = "TedliumDataset"
#: Where it has no number of classes.
UNNUMBERED = ("FakeImageDataset", "Caltech101Dataset", "Flowers102Dataset")


def entry(number):
    return json.dumps({"id": number, "sentence1": "a", "sentence2": "b"}) + "\n"


def answer(text, start):
    asked = {"question": "q", "answers": [{"text": text, "answer_start": start}]}
    return json.dumps({"data": [{"paragraphs": [{"context": "c", "qas": [asked]}]}]})


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    made = folders.make(tmp_path_factory.mktemp("sources"), RECORDED["matlab"])
    return sound_folders.make(text_folders.make(made))


def plain(value):
    return json.loads(json.dumps(value))


@pytest.mark.parametrize("text", RECORDED["rows"])
def test_rows(root, text):
    ds.config.set_seed(3)
    (columns, rows), (names, expected) = plain(probe.rows(probe.evaluated(text, ds, root))), RECORDED["rows"][text]
    if text.startswith(UNORDERED):
        rows, expected = sorted(rows), sorted(expected)
    if text.startswith(SILENT):
        rows, expected = ([row[1:] for row in part] for part in (rows, expected))
    assert [columns, rows] == [names, expected]


def test_sources_are_made_again_of_their_json(root):
    for text in RECORDED["rows"]:
        dataset = probe.evaluated(text, ds, root)
        if "decrypt=" in text:
            with pytest.raises(DataError, match="decrypt: first_bytes is Python code"):
                dataset.to_json()
            continue
        again = ds.deserialize(plain(dataset.to_json()))
        assert type(again) is type(dataset)
        assert ds.compare(again, dataset), text


@pytest.mark.parametrize("text", RECORDED["questions"])
def test_questions(root, text):
    ds.config.set_seed(3)
    size, shapes, kinds, classes, indexing = plain(probe.questions(probe.evaluated(text, ds, root)))
    expected = RECORDED["questions"][text]
    assert [shapes, kinds] == expected[1:3]
    if not text.startswith(UNNUMBERED[1]):  # Its classes are those that are there, not a list of all.
        assert indexing == expected[4]
    if not text.startswith(MISCOUNTED):
        assert size == expected[0]
    if not text.startswith(UNNUMBERED):
        assert classes == expected[3]


@pytest.mark.parametrize("text", RECORDED["refused"])
def test_refused_arguments(root, text):
    assert probe.error(lambda: probe.evaluated(text, ds, root)) == RECORDED["refused"][text]


def test_all_sources_are_recorded():
    known = {text.split("(")[0] for text in RECORDED["rows"]} | {"RandomDataset"}
    assert known >= {name for name, module in ds._MODULE_OF.items() if module.startswith("sources.published.")}


def test_every_argument_is_read(root, monkeypatch):
    read = {}

    def noting(owner, parameters, given):
        class Given(SimpleNamespace):
            def __getattribute__(self, name):
                read.setdefault(owner, set()).add(name)
                return super().__getattribute__(name)

        return Given(**vars(checked(owner, parameters, given)))

    checked = parameters._checked
    monkeypatch.setattr(parameters, "_checked", noting)
    for text in [*RECORDED["rows"], "RandomDataset()"]:
        probe.evaluated(text, ds, root)
    for name, arguments in read.items():
        assert arguments >= {p.name for p in getattr(ds, name).parameters} - {"cache"}, name


@pytest.mark.parametrize(
    ("text", "damage", "message"),
    [
        ("EMnistDataset(R/emnist, 'digits')", None, "emnist-digits-test-images-idx3-ubyte cannot be read: No such file"),
        ("SemeionDataset(R/x)", {"semeion.data": "1 2 3\n"}, "semeion.data:1 has 3 numbers, not 266"),
        ("STL10Dataset(R/x, 'test')", {"test_X.bin": "abc"}, "has 3 bytes, which is no multiple of 27648"),
        ("USPSDataset(R/x, 'train')", {"usps": "1 1:a\n"}, "usps:1 has something else than numbers"),
        ("USPSDataset(R/x, 'train')", {"usps": "\n"}, "there is nothing to read in what it was given"),
        ("USPSDataset(R/x, 'train')", {"usps": "0 " + " ".join(f"{k}:0" for k in range(1, 257))}, "has a digit that is none"),
        ("TedliumDataset(R/x, 'release3')", {"data/stm/A.stm": "A 1 s 0 1 <f> words\n"}, "A.sph cannot be read"),
        ("VOCDataset(R/x)", {"ImageSets/Segmentation/train.txt": "a\0b"}, "train.txt is no text"),
        ("CelebADataset(R/x)", {"list_attr_celeba.txt": "1\nBald\na.jpg x\n"}, "list_attr_celeba.txt:3 has something else"),
        (
            "CelebADataset(R/x, usage='train')",
            {"list_attr_celeba.txt": "1\nBald\na.jpg 1\n", "list_eval_partition.txt": "b.jpg 0\n"},
            "does not list the images of list_attr_celeba.txt",
        ),
        ("CelebADataset(R/celeba, extensions=['.JPG'])", None, "there are no images in what it was given"),
        ("FlickrDataset(R/x, R/x/t)", {"t": "a.jpg#0 text\n"}, "t:1 is no name#number, a tab and a caption"),
        ("FlickrDataset(R/x, R/x/t)", {"t": "a.jpg#0\ttext\n"}, "a.jpg cannot be read: No such file"),
        ("LFWDataset(R/x)", {"peopleDevTrain.txt": "2\nAnn 1\n", "lfw-names.txt": "Ann 1\n"}, "is no list of people"),
        ("LFWDataset(R/x, 'pairs', 'test')", {"pairsDevTest.txt": "1\nAnn 1\n"}, "is no list of pairs"),
        ("ManifestDataset(R/x/m)", {"m": "{}\nno\n"}, "m:2 is no entry of a manifest"),
        ("Places365Dataset(R/x, 'val')", {"places365_val.txt": "a.jpg 1 b.jpg"}, "an image without a label at its end"),
        ("SUN397Dataset(R/x)", {"ClassName.txt": "/a/none\n"}, "there is no folder .*a/none"),
        (
            "CityscapesDataset(R/x)",
            {"gtFine/train/a/n": "", "leftImg8bit/train/a/b_leftImg8bit.png": ""},
            "b_gtFine_instanceIds.png is not there",
        ),
        ("DIV2KDataset(R/div2k, 'valid', 'unknown', 2)", None, "there is no folder .*DIV2K_valid_LR_unknown/X2"),
        ("VOCDataset(R/voc, usage='none')", None, "none.txt cannot be read"),
        ("VOCDataset(R/x, 'Detection', 'a')", {"ImageSets/Main/a.txt": "1", "Annotations/1.xml": "<a"}, "1.xml is no XML"),
        ("VOCDataset(R/x, 'Detection', 'a')", {"ImageSets/Main/a.txt": "1", "Annotations/1.xml": "<a/>"}, "has no object"),
        (
            "KITTIDataset(R/x)",
            {"data_object_image_2/training/image_2/a.png": "", "data_object_label_2/training/label_2/000000.txt": "Car 1 2\n"},
            "000000.txt:1 has 2 numbers, not 14",
        ),
        (
            "WIDERFaceDataset(R/x, 'train')",
            {"WIDER_train/images/a/b.jpg": "", "wider_face_split/wider_face_train_bbx_gt.txt": "a/b.jpg\nx\n"},
            "is no list of images and faces",
        ),
        ("PhotoTourDataset(R/x, 'liberty')", {"liberty/info.txt": "1 2 3"}, "has 3 numbers, which is no multiple of 2"),
        ("CocoDataset(R/x, R/x/a)", {"a": "{"}, "a is no JSON"),
        ("CocoDataset(R/x, R/x/a)", {"a": '{"images": []}'}, "a has no annotations of Detection: KeyError: 'categories'"),
        ("CocoDataset(R/coco/images, R/coco/stuff.json)", None, "no annotations of Detection: KeyError: 'categories'"),
        ("SVHNDataset(R/x, 'test')", {"test_32x32.mat": "MATLAB 7.3 MAT-file"}, "of version 7.3, which is not read"),
        ("SVHNDataset(R/x, 'test')", {"test_32x32.mat": "no"}, "is no MATLAB file of version 5 to 7"),
        ("AGNewsDataset(R/x, 'test')", {"test.csv": "1,a\n"}, "test.csv:1 has 2 values, there are 3 columns"),
        ("AGNewsDataset(R/x, 'test')", {"test.csv": '"1,a\n'}, "test.csv:1 is no CSV: unexpected end of data"),
        ("CLUEDataset(R/x/c)", {"c": '{"sentence1": "a"}\n'}, "c:1 is no entry of AFQMC: 'label'"),
        ("CLUEDataset(R/x/c)", {"c": '{"sentence1": "a", "sentence2": "b", "label": 1}\n'}, "c:1 has 1 for 'label'"),
        ("CLUEDataset(R/x/c, usage='test')", {"c": entry(-1)}, "c:1 has -1 for 'id'"),
        ("CLUEDataset(R/x/c, usage='test')", {"c": entry(True)}, "c:1 has True for 'id'"),
        ("CLUEDataset(R/x/c, usage='test')", {"c": entry(2**32)}, "c:1 has 4294967296 for 'id'"),
        ("SQuADDataset(R/x, 'dev')", {"dev-v1.1.json": answer(None, 1)}, "dev-v1.1.json is no file of SQuAD: .* no text"),
        ("SQuADDataset(R/x, 'dev')", {"dev-v1.1.json": answer("a", 1.9)}, "SQuAD: ValueError: answer_start is 1.9"),
        ("SQuADDataset(R/x, 'dev')", {"dev-v1.1.json": answer("a", -1)}, "SQuAD: ValueError: answer_start is -1"),
        ("CoNLL2000Dataset(R/x, 'test')", {"test.txt": "a NN\n"}, "test.txt:1 has 2 values, not 3"),
        ("SQuADDataset(R/x, 'dev')", {"dev-v1.1.json": '{"data": [{}]}'}, "is no file of SQuAD: KeyError: 'paragraphs'"),
        ("SQuADDataset(R/x)", {"train-v1.1.json": '{"data": []}'}, "dev-v1.1.json is not there"),
        ("Multi30kDataset(R/x, 'train')", {"training/train.en": "a\n", "training/train.de": "a\nb\n"}, "has 1 lines .* 2"),
    ],
)  # fmt: skip
def test_files_that_are_not_right(tmp_path, root, text, damage, message):
    if damage is not None:
        folders.put(tmp_path / "x", damage)
        root = tmp_path
    with pytest.raises(DataError, match=message) as caught:
        probe.evaluated(text, ds, root)
    assert caught.value.code == "GC205"


def test_talks_that_are_heard(root):
    """MindSpore 2.10 gives zeros."""
    for talk in ds.TedliumDataset(root / "tedlium3", "release3").create_dict_iterator(1, True):
        line = int(str(talk["transcript"]).split()[1])
        samples = np.arange(16 * line, 16 * line + 16) * len(str(talk["talk_id"]))
        assert np.array_equal(talk["waveform"], samples[None].astype(np.float32) / np.float32(32767))


@pytest.mark.parametrize(
    ("sound", "message"),
    [
        (b"no", "is no WAV file that can be read"),
        (b"", "is no WAV file that can be read"),
        (sound_folders.wav([1, 2, 3, 4])[:-3], "is cut off: it has 2 of 4 samples"),
        (sound_folders.wav([1, 2, 3, 4], channels=2), "has 2 channels of 16 bits; one of 16 is read"),
        (sound_folders.wav([1, 2, 3, 4], bits=8), "has 1 channels of 8 bits; one of 16 is read"),
        (sound_folders.wav([1, 2, 3, 4], rate=8000), "has 8000 samples a second, not 22050"),
    ],
)
def test_sounds_that_are_not_right(tmp_path, sound, message):
    (tmp_path / "rock").mkdir()
    (tmp_path / "rock" / "rock.00000.wav").write_bytes(sound)
    with pytest.raises(DataError, match=f"GTZANDataset: rock.00000.wav at sample 0: .*{message}"):
        next(iter(ds.GTZANDataset(tmp_path)))


def test_chunks_before_the_samples(tmp_path):
    """MindSpore 2.10 takes them for samples."""
    (tmp_path / "1_1_0_0_1_1_0_0.wav").write_bytes(sound_folders.wav([5, 6], 8000, before=b"LIST\4\0\0\0abcd"))
    row = next(ds.YesNoDataset(tmp_path).create_tuple_iterator(output_numpy=True))
    assert (row[0] * 32767).tolist() == [[5, 6]]


def test_files_of_nist_that_are_not_right(tmp_path):
    folders.put(tmp_path, {"test/stm/A.stm": "A 1 s 0.000 0.001 <f> words\n"})
    for sound, message in (
        (b"RIFF", "A.sph is no file of NIST's"),
        (sound_folders.sph(range(9)), "ends before 0.001 s"),
        (sound_folders.sph(range(99), order="1"), "has sample_byte_format 1; one channel of 16 bits"),
    ):
        folders.put(tmp_path, {"test/sph/A.sph": sound})
        with pytest.raises(DataError, match=message):
            list(ds.TedliumDataset(tmp_path, "release1", "test"))
    folders.put(tmp_path, {"test/sph/A.sph": sound_folders.sph(range(99), order="01", head=2048)})
    row = next(ds.TedliumDataset(tmp_path, "release1", "test").create_tuple_iterator(output_numpy=True))
    assert np.rint(row[0] * 32767).tolist() == [list(range(16))]


def test_cut_off_matlab_files(root, tmp_path):
    whole = (root / "svhn" / "train_32x32.mat").read_bytes()
    for length in (127, 140, 200, len(whole) - 20):
        folders.put(tmp_path, {"train_32x32.mat": whole[:length]})
        with pytest.raises(DataError, match="MATLAB"):
            ds.SVHNDataset(tmp_path, "train")


def element(kind, data):
    return struct.pack("<II", kind, len(data)) + data + bytes(-len(data) % 8)


def matrix(kind, shape, *parts, flags=0):
    head = element(6, struct.pack("<II", kind | flags, 0)) + element(5, struct.pack(f"<{len(shape)}i", *shape))
    return element(14, head + element(1, b"x") + b"".join(parts))


def matlab(tmp_path, data):
    folders.put(tmp_path, {"x.mat": bytes(124) + b"\0\1IM" + data})
    return read_matlab("a", tmp_path / "x.mat")["x"]


def test_classes_of_matlab(tmp_path):
    """However few bytes the numbers of a matrix are stored in."""
    for kind, dtype in ((6, "float64"), (7, "float32"), (12, "int32"), (15, "uint64")):
        value = matlab(tmp_path, matrix(kind, (1, 3), element(2, bytes((1, 2, 200)))))
        assert (value.dtype, value.tolist()) == (dtype, [[1, 2, 200]])
    parts = [element(5, struct.pack("<2i", 1, 0)), element(5, struct.pack("<3i", 0, 1, 2)), element(2, b"\3\4")]
    for flags, dtype in ((0, "float64"), (0x200, "uint8")):
        value = matlab(tmp_path, matrix(5, (2, 2), *parts, flags=flags))
        assert (value.dtype, value.tolist()) == (dtype, [[0, 4], [3, 0]])


def test_what_is_not_read_of_matlab(tmp_path):
    numbers = element(2, b"\1")
    with pytest.raises(DataError, match="'x' holds complex numbers, which are not read"):
        matlab(tmp_path, matrix(6, (1, 1), numbers, numbers, flags=0x800))
    deep = matrix(6, (1, 1), numbers)
    for _ in range(2000):
        deep = matrix(1, (1, 1), deep)
    with pytest.raises(DataError, match="cells or structs lie more than 100 deep"):
        matlab(tmp_path, deep)


def test_sheets_of_patches_of_another_size(tmp_path):
    folders.put(tmp_path / "liberty", {"a.bmp": folders.gray_bmp(1, 512), "info.txt": "0 0\n"})
    with pytest.raises(DataError, match=r"a\.bmp is an image of 512 x 512 pixels, not of 1024 x 1024"):
        next(iter(ds.PhotoTourDataset(tmp_path, "liberty")))


def test_kinds_of_sources(root):
    texts = ds.PennTreebankDataset(root / "ptb", "test")
    films, voc = ds.IMDBDataset(root / "imdb", "train"), ds.VOCDataset(root / "voc", "Detection")
    for source, kinds in ((texts, (0, 1)), (films, (0, 1)), (voc, (1, 0)), (ds.NumpySlicesDataset([1]), (1, 1))):
        assert (isinstance(source, VisionBaseDataset), isinstance(source, TextBaseDataset)) == kinds
        assert isinstance(source, SourceDataset)
        assert not isinstance(source.batch(1), (SourceDataset, TextBaseDataset))
    assert not issubclass(ds.GTZANDataset, (VisionBaseDataset, TextBaseDataset))
    assert issubclass(ds.USPSDataset, VisionBaseDataset)
    assert issubclass(ds.CSVDataset, VisionBaseDataset)
    assert issubclass(ds.CSVDataset, TextBaseDataset)


def test_images_that_are_not_right(root, tmp_path):
    """What is wrong with an image is told when its turn comes, whoever reads it."""
    folders.put(tmp_path, {"a.k/1.jpg": folders.bmp(1), "a.k/2.jpg": "no image", "a.k/3.jpg": folders.bmp(3)})
    for workers in (1, 3):
        images = ds.Caltech256Dataset(tmp_path, workers and None, workers, False, decode=True)
        iterator = images.create_tuple_iterator(num_epochs=1, output_numpy=True)
        assert next(iterator)[0].shape == (2, 3, 3)
        with pytest.raises(DataError, match=r"Caltech256Dataset: 2.jpg at sample 1: .*no image that can be decoded"):
            next(iterator)
    broken = ds.CelebADataset(root / "celeba", decrypt=lambda path: path)
    with pytest.raises(DataError, match="decrypt must give bytes, got str"):
        next(iter(broken))


def test_random_rows():
    schema = ds.Schema()
    schema.add_column("image", "uint8", [2, -1])
    schema.add_column("flag", "bool", [3])
    schema.add_column("x", "float32")

    def rows(**options):
        dataset = ds.RandomDataset(7, schema, **options)
        return [[np.asarray(v) for v in row] for row in dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)]

    ds.config.set_seed(5)
    first = rows()
    assert [(v.dtype.name, v.ndim) for v in first[0]] == [("uint8", 2), ("bool", 1), ("float32", 0)]
    assert all(len(np.unique(row[0])) == 1 for row in first)
    assert len({int(row[0][0, 0]) for row in first}) > 1
    again = rows(num_parallel_workers=3, columns_list=["image"])
    assert all(np.array_equal(a[0], b[0]) for a, b in zip(first, again, strict=True))
    assert [len(rows(num_samples=3)), len(rows(num_shards=2, shard_id=0))] == [3, 4]
    assert ds.RandomDataset(columns_list=["a", "b"]).get_col_names() == ["a", "b"]
    with pytest.raises(ArgumentTypeError, match="shuffle"):
        rows(shuffle="no")
    with pytest.raises(ArgumentValueError, match="the schema has no column 'y'"):
        ds.RandomDataset(3, schema, ["y"])


def test_texts_are_not_padded_to_the_longest(tmp_path):
    (tmp_path / "a.txt").write_text("short\n" * 2000 + "x" * 2**20 + "\n")
    lines = ds.TextFileDataset(tmp_path / "a.txt", shuffle=False)
    sizes = [row[0].nbytes for row in lines.create_tuple_iterator(num_epochs=1, output_numpy=True)]
    assert (sizes[0], max(sizes)) == (20, 2**22)


def test_long_values(tmp_path):
    folders.put(tmp_path, {"train.csv": f'"1","{"x" * 200_000}"\n'})
    row = next(ds.YelpReviewDataset(tmp_path, "train").create_tuple_iterator(output_numpy=True))
    assert len(row[1].item()) == 200_000


def test_functions_that_write_to_what_they_get(root):
    """What a source holds is the same in each pass."""

    def moved(boxes):
        boxes += 100
        return boxes

    decoded = ds.VOCDataset(root / "voc", "Detection", shuffle=False)
    ragged = ds.NumpySlicesDataset({"bbox": [[1.0, 2.0], [3.0]]}, shuffle=False)
    for dataset in (decoded, ragged, ds.SVHNDataset(root / "svhn", "test", shuffle=False).rename("label", "bbox")):
        mapped = dataset.map(moved, "bbox").project("bbox").create_tuple_iterator(num_epochs=2, output_numpy=True)
        first, second = ([row[0].tolist() for row in mapped] for _ in range(2))
        assert first == second
    images = ds.DIV2KDataset(root / "div2k", decode=True).map(lambda a: (a.__setitem__(0, 0), a)[1], "hr_image")
    assert all(row[0][0].max() == 0 for row in images.create_tuple_iterator(num_epochs=1, output_numpy=True))
