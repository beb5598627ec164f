"""`serialize`, `deserialize`, `compare` and `show`: what is read of a pipeline's JSON gives the rows of the pipeline."""

from __future__ import annotations

import ast
import json
import logging
import re

import numpy as np
import pytest

import graphc.dataset as ds
from graphc import ArgumentTypeError, ArgumentValueError, DataError
from graphc.dataset import audio, text, transforms, vision
from graphc.dataset.transforms.base import Transform
from graphc.dataset.written.values import Writer, read
from tests.dataset.folders import mnists
from tests.recorders import recorder

V, T, X, A = vision, transforms, text, audio


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    mnists(tmp_path)
    (tmp_path / "t.txt").write_text("a b\nc\nab c\n")
    (tmp_path / "t.csv").write_text("1,a\n2,b\n")
    monkeypatch.chdir(tmp_path)
    ds.config.set_seed(3)


def digits(**given):
    return ds.KMnistDataset("kmnist", **given)


def lines(**given):
    return ds.TextFileDataset("t.txt", **given)


def rows(dataset):
    ds.config.set_seed(3)
    iterator = dataset.create_tuple_iterator(num_epochs=2, output_numpy=True)
    return [[[(c.dtype, c.tolist()) for c in row] for row in iterator] for _ in range(2)]


def chained(outer, *inner):
    sampler = outer
    for below in inner:
        sampler.add_child(below)
        sampler = below
    return outer


def shared():
    both = digits(shuffle=False) + digits()
    both.use_sampler(ds.DistributedSampler(2, 1, shuffle=False))
    return both


def added():
    dataset = lines()
    dataset.add_sampler(ds.SequentialSampler(1, 2))
    return dataset


def schema():
    made = ds.Schema()
    made.add_column("a", "int8", [2])
    made.add_column("b", "float32", [])
    return made


PIPELINES = {
    "order": lambda: digits(shuffle=True, num_samples=2),
    "share": lambda: digits(num_shards=2, shard_id=1),
    "sequential": lambda: digits(sampler=ds.SequentialSampler(1, 2)),
    "random": lambda: digits(sampler=ds.RandomSampler(True, 3)),
    "distributed": lambda: digits(sampler=ds.DistributedSampler(2, 1, False, offset=0)),
    "by class": lambda: digits(sampler=ds.PKSampler(2, None, True)),
    "subset": lambda: digits(sampler=ds.SubsetSampler([1, 0, 1])),
    "random subset": lambda: digits(sampler=ds.SubsetRandomSampler([1, 0, 2])),
    "weighted": lambda: digits(usage="train", sampler=ds.WeightedRandomSampler([0.1, 0.7, 0.2, 0.3], 5)),
    "list": lambda: digits(sampler=[2, 0]),
    "chain": lambda: digits(sampler=chained(ds.SequentialSampler(0, 2), ds.RandomSampler())),
    "part": lambda: digits().split([2, digits().get_dataset_size() - 2])[0],
    "lines": lambda: lines(),
    "files": lambda: lines(shuffle=ds.Shuffle.FILES, num_samples=2),
    "part of lines": lambda: lines().split([1, 2])[1],
    "lines chosen among": added,
    "csv": lambda: ds.CSVDataset(["t.csv"], ",", [0, ""], ["x", "y"], shuffle=False),
    "bundled": lambda: ds.DigitsDataset("test", size=8).take(3),
    "made up": lambda: ds.FakeImageDataset(3, (4, 5, 3)),
    "schema": lambda: ds.RandomDataset(3, schema()),
    "map": lambda: digits().map(
        [V.Resize((8, 9), V.Inter.BICUBIC), V.RandomCrop(5, [1, 1, 2, 2], True, 3, V.Border.EDGE), V.HWC2CHW()],
        "image",
        num_parallel_workers=2,
    ),
    "columns": lambda: digits().map([T.TypeCast(np.int16), T.Fill(np.int16(3)), T.Duplicate()], "label", ["l", "m"]),
    "nested": lambda: digits().map(
        [T.RandomApply([V.RandomHorizontalFlip(), V.RandomRotation(30)], 0.7), T.Compose([V.Rescale(2.0, 1.0)])],
        "image",
    ),
    "policy": lambda: digits().map(V.RandomSelectSubpolicy([[(V.RandomHorizontalFlip(), 0.5)]]), "image"),
    "slices": lambda: digits().map([T.Slice(slice(0, 2), ...), T.Mask(T.Relational.EQ, 3)], "image"),
    "words": lambda: lines().map([X.UnicodeCharTokenizer(), X.Lookup(X.Vocab.from_list(["a", "b"]), "a")], "text"),
    "sequence": lambda: digits().shuffle(4).repeat(2).skip(1).take(3).batch(2, True),
    "padded": lambda: digits().padded_batch(2, True, pad_info={"image": ([30, None, 1], 1)}),
    "padded to the largest": lambda: lines().map(X.UnicodeCharTokenizer()).padded_batch(2, pad_info={}),
    "not padded": lambda: digits().padded_batch(2),
    "buckets": lambda: lines().map(X.UnicodeCharTokenizer()).bucket_batch_by_length(["text"], [2], [1, 2]),
    "concat": lambda: digits().concat([digits()]),
    "shares of concat": shared,
    "side by side": lambda: ds.zip(
        (digits().project("image"), digits().rename(["label", "image"], ["x", "y"]).project("x"))
    ),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_what_is_read_gives_the_same_rows(name, tmp_path):
    dataset = PIPELINES[name]()
    made = ds.serialize(dataset, str(tmp_path / "p.json"))
    assert made == dataset.to_json() == json.loads((tmp_path / "p.json").read_text())
    for again in (ds.deserialize(made), ds.deserialize(json_filepath=str(tmp_path / "p.json"))):
        assert rows(again) == rows(dataset)
        assert ds.compare(again, dataset)
        assert again.to_json() == made


def test_pipelines_differ_where_anything_of_them_does():
    kinds = [make().to_json() for make in PIPELINES.values()]
    assert all(a != b for k, a in enumerate(kinds) for b in kinds[:k])
    assert not ds.compare(digits().map(V.Resize(3), "image"), digits().map(V.Resize(4), "image"))
    assert ds.compare(digits().map(V.Resize(3), "image"), digits().map(V.Resize(size=3), "image"))


def test_numbers_of_other_kinds_are_others_and_nan_is_nan():
    kinds = [1, 1.0, True, 0.0, -0.0, float("nan"), np.float32(1), np.int8(1)]
    for k, value in enumerate(kinds):
        for j, other in enumerate(kinds):
            one, two = (digits().map(T.Fill(v), "label") for v in (value, type(other)(other)))
            assert ds.compare(one, two) == (j == k), (value, other)


def changed_everywhere(made):
    for inside in list(made.values() if isinstance(made, dict) else made):
        if isinstance(inside, (dict, list)):
            changed_everywhere(inside)
    made.update(more=1) if isinstance(made, dict) else made.append("more")


@pytest.mark.parametrize("name", PIPELINES)
def test_what_becomes_of_the_json_reaches_no_pipeline(name):
    dataset = PIPELINES[name]()
    made = dataset.to_json()
    again = ds.deserialize(made)
    changed_everywhere(made)
    assert dataset.to_json() == again.to_json() != made


def test_names_are_those_of_mindspore():
    made = ds.serialize(digits(usage="train").map(V.Resize(3), "image").repeat(2).batch(2))
    assert (made["op_type"], made["batch_size"], made["drop_remainder"]) == ("Batch", 2, False)
    (repeat,) = made["children"]
    (mapped,) = repeat["children"]
    (source,) = mapped["children"]
    assert (repeat["op_type"], repeat["count"], mapped["op_type"]) == ("Repeat", 2, "Map")
    assert (mapped["input_columns"], mapped["output_columns"], mapped["callback"]) == (["image"], ["image"], [])
    params = {"size": 3, "interpolation": {"enum": "Inter.BILINEAR"}}
    assert mapped["operations"] == [{"tensor_op_name": "Resize", "tensor_op_params": params}]
    assert (source["op_type"], source["dataset_dir"], source["usage"]) == ("KMnistDataset", "kmnist", "train")
    assert source["sampler"]["sampler_name"] == "RandomSampler"
    assert source["sampler"]["reshuffle_each_epoch"]
    assert "shuffle" not in source


class OnlyResize(V.Resize):
    pass


class Told(ds.DSCallback):
    def ds_begin(self, ds_run_context):
        pass


def numbered(indices):
    class Own(ds.Sampler):
        def __iter__(self):
            yield from indices

    return Own()


PYTHON = {
    "lambda": (lambda: digits().map([V.HWC2CHW(), lambda x: x], "image"), "map: <lambda> is Python code"),
    "class": (lambda: digits().map(OnlyResize(3), "image"), "map: OnlyResize is Python code"),
    "inside": (lambda: digits().map(T.Compose([len]), "image"), "map: Compose: transforms: len is Python code"),
    "predicate": (lambda: digits().filter(lambda *x: True), "filter: <lambda>"),
    "sizes": (lambda: digits().batch(lambda info: 2), "batch: <lambda>"),
    "batches": (lambda: digits().batch(2, per_batch_map=max), "batch: max"),
    "lengths": (
        lambda: lines().bucket_batch_by_length(["text"], [1], [1, 2], len),
        "bucket_batch_by_length: len is Python code",
    ),
    "callbacks": (lambda: digits().map(V.HWC2CHW(), callbacks=Told()), "map: Told"),
    "arrays": (lambda: ds.NumpySlicesDataset([1]), "NumpySlicesDataset is made of objects of the program"),
    "generator": (lambda: ds.GeneratorDataset([(1,)], ["a"]), "GeneratorDataset is made of objects"),
    "sampler": (lambda: digits(sampler=numbered([1])), "KMnistDataset: numbered.<locals>.Own|Own"),
    "waiting": (lambda: digits().sync_wait("a"), "SyncWaitDataset is made of objects"),
}


@pytest.mark.parametrize("name", PYTHON)
def test_python_code_is_refused_by_name(name, caplog):
    make, said = PYTHON[name]
    for write in (ds.serialize, lambda d: d.to_json()):
        with pytest.raises(DataError, match=f"serialize: {said}|serialize: KMnistDataset: {said}"):
            write(make())
    with caplog.at_level(logging.INFO, "graphc"):
        ds.show(make(), None)
    shown = json.loads(caplog.messages[-1])
    assert "python_module" in caplog.messages[-1]
    with pytest.raises(DataError, match="deserialize: "):
        ds.deserialize(shown)


def test_python_code_and_arrays_are_compared_by_name():
    def rows(count, seen=lambda x: x):
        return ds.NumpySlicesDataset(list(range(count))).map(seen).batch(2)

    assert ds.compare(rows(4), rows(4))
    assert ds.compare(rows(4), rows(5))
    assert not ds.compare(rows(4), rows(4).batch(2))
    assert not ds.compare(rows(4), rows(4, V.Invert()))
    assert ds.compare(ds.GeneratorDataset([1], ["a"]), ds.GeneratorDataset([2, 3], ["a"]))
    assert not ds.compare(ds.GeneratorDataset([1], ["a"]), ds.NumpySlicesDataset([1]))


def test_what_cannot_be_read():
    good = digits().map(V.Resize(3), "image").batch(2).to_json()

    def changed(**fields):
        return {**good, **fields}

    for bad, said in (
        ({"a": 1}, 'no "op_type"'),
        (changed(op_type="Bach"), "no data set 'Bach'"),
        (changed(op_type="NumpySlicesDataset"), "no data set 'NumpySlicesDataset'"),
        (changed(op_type="Dataset"), "no data set 'Dataset'"),
        (changed(op_type="load_digits"), "no data set 'load_digits'"),
        (changed(op_type="Repeat"), "Repeat has no 'count'"),
        (changed(children=[]), "Batch has no 'children'"),
        (changed(children=3), '"children" of Batch is 3'),
        ({"op_type": "KMnistDataset", "dataset_dir": "kmnist", "colour": 3}, "KMnistDataset has no argument 'colour'"),
        ({"op_type": "KMnistDataset", "dataset_dir": "kmnist", "sampler": {"sampler_name": "x"}}, "no sampler 'x'"),
        ({"op_type": "KMnistDataset", "dataset_dir": {"enum": "Inter.NONE"}}, "KMnistDataset: KeyError"),
        ({"op_type": "KMnistDataset", "dataset_dir": {"a": 1}}, "nothing that serialize writes"),
        (changed(op_type="Map", operations=3, input_columns=["image"], output_columns=[]), "Map: TypeError"),
        ({"op_type": "KMnistDataset", "dataset_dir": "kmnist", "sampler": {"sampler_name": "PKSampler"}}, "num_val"),
    ):
        with pytest.raises((DataError, ArgumentTypeError), match=said):
            ds.deserialize(bad)
    with pytest.raises(ArgumentTypeError, match="batch_size"):
        ds.deserialize(changed(batch_size="2"))
    good["children"][0]["operations"][0]["tensor_op_name"] = "Vocab"
    with pytest.raises(DataError, match="no transform 'Vocab'"):
        ds.deserialize(good)


def test_indices_that_are_none_stay_so():
    for bad in ([1.5], [True], ["x"]):
        made = digits(sampler=bad).to_json()
        assert made["sampler"]["indices"] == bad
        with pytest.raises(ArgumentTypeError, match="indices must be ints"):
            rows(ds.deserialize(made))
    with pytest.raises(ArgumentTypeError, match="IterSampler: sampler must be a sampler or give ints"):
        ds.IterSampler(None)
    with pytest.raises(ArgumentValueError, match="num_val must be from 1 to"):
        ds.PKSampler(10**30)


def test_arguments_of_the_functions(tmp_path):
    for call in (ds.serialize, ds.show, lambda d: ds.compare(digits(), d), lambda d: ds.compare(d, digits())):
        with pytest.raises(ArgumentTypeError, match="must be a data set, got int"):
            call(3)
    with pytest.raises(ArgumentTypeError, match="must be a str, got int"):
        digits().to_json(3)
    with pytest.raises(ArgumentTypeError, match="input_dict must be a dict, got str"):
        ds.deserialize("p.json")
    with pytest.raises(ArgumentTypeError, match="json_filepath must be a str"):
        ds.deserialize(json_filepath=3)
    with pytest.raises(ArgumentValueError, match="needs input_dict or json_filepath"):
        ds.deserialize()
    with pytest.raises(OSError, match=r"none\.json"):
        ds.deserialize(json_filepath="none.json")
    with pytest.raises(OSError, match=r"no/p\.json"):
        ds.serialize(digits(), "no/p.json")
    (tmp_path / "bad.json").write_text("{")
    with pytest.raises(DataError, match="is no JSON"):
        ds.deserialize(json_filepath="bad.json")


def test_what_changes_later_is_neither_written_nor_done():
    mean, policy, matrix, index = [1.0], [[(V.RandomHorizontalFlip(1.0), 1.0)]], np.eye(2), [0]
    columns = schema()
    made = [V.Normalize(mean, [2.0]), V.RandomSelectSubpolicy(policy), V.LinearTransformation(matrix, np.zeros(2))]
    made.append(T.Slice(index))
    data = ds.RandomDataset(3, columns)
    written, sliced = [Writer().transform("here", m) for m in made], made[-1](np.arange(3)).tolist()
    described = data.to_json()
    mean[0], matrix[0, 0], index[0] = 5.0, 7.0, 2
    policy[0].append((V.RandomVerticalFlip(), 1.0))
    columns.add_column("c", "int8", [1])
    assert [Writer().transform("here", m) for m in made] == written
    assert made[-1](np.arange(3)).tolist() == sliced == [0]
    assert data.to_json() == described


def test_a_tokenizer_with_more_words_is_not_what_its_arguments_say(tmp_path):
    lists = recorder("ms_text").jieba_files()
    for file, content in lists.items():
        (tmp_path / file).write_text(content)
    cut = X.JiebaTokenizer("model.utf8", "words.utf8")
    assert Writer().transform("here", cut)["tensor_op_params"]["hmm_path"] == "model.utf8"
    cut.add_word("思")
    with pytest.raises(DataError, match="JiebaTokenizer"):
        Writer().transform("here", cut)


def made_in(module, lists):
    """The transforms that are made in the expressions of a module's lists."""
    known = {**vars(module), "np": np, "V": V, "T": T, "A": A, "text": X, "FOLDER": "./"}
    trees = [ast.parse(text) for name in lists for text in getattr(module, name)]
    calls = {ast.unparse(n.func) for tree in trees for n in ast.walk(tree) if isinstance(n, ast.Call)}
    for call in sorted(c for c in calls if c.endswith(")")):
        try:
            made = eval(call, known)
        except Exception:
            continue
        if isinstance(made, Transform):
            yield call, made


@pytest.mark.parametrize(
    ("name", "lists", "least"),
    [
        ("ms_vision", ["TRANSFORMS"], 25),
        ("ms_images", ["TRANSFORMS"], 25),
        ("ms_audio", ["TRANSFORMS"], 100),
        ("ms_text", ["ALL"], 60),
    ],
)
def test_transforms_of_recorded_programs_are_read_as_they_were(name, lists, least):
    found = 0
    for call, made in made_in(recorder(name), lists):
        written = json.loads(json.dumps(Writer().transform("here", made)))
        again = read(written)
        assert type(again) is type(made), call
        assert Writer().transform("here", again) == written, call
        before, after = (repr({k: v for k, v in vars(x).items() if k != "made_with"}) for x in (made, again))
        assert re.sub("0x[0-9a-f]+", "", before) == re.sub("0x[0-9a-f]+", "", after), call
        found += 1
    assert found >= least
