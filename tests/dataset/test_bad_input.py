"""What cannot be a data set says so: the user's line, the sample, the columns."""

from __future__ import annotations

import itertools
from collections import namedtuple

import numpy as np
import pytest

import graphc
import graphc.dataset as ds
from graphc import ArgumentTypeError, ArgumentValueError, DataError, DTypeError, Tensor
from graphc.errors import DataKindError
from tests.dataset.sources import Samples

X = ds.NumpySlicesDataset({"a": np.arange(4), "b": np.ones((4, 2))}, shuffle=False)


def read(dataset, **options):
    return list(dataset.create_dict_iterator(num_epochs=1, **options))


def of(rows, columns=("x",), **options):
    return ds.GeneratorDataset(rows, list(columns), shuffle=False, **options)


def numbered(**options):
    return ds.GeneratorDataset(Samples(), ["x", "y"], **options)


def breaks_off():
    yield 1
    yield 2
    raise OSError("the disk is gone")


@pytest.mark.parametrize(
    ("action", "message"),
    [
        (lambda: read(of([(1, 2)])), "gave 2 values for 1 column, x, at sample 0"),
        (lambda: read(of([(1,), (1, 2)])), "gave 2 values for 1 column, .* at sample 1"),
        (lambda: read(of([1, None])), "column 'x': .* got None, at sample 1"),
        (lambda: read(of([{1}])), "got set"),
        (lambda: read(of([object()])), "got object of dtype object"),
        (lambda: read(of([([1, [2, 3]],)])), "different lengths"),
        (lambda: read(of([np.ma.masked_equal([1, 2], 1)])), "column 'x': a value has no mask: .*, at sample 0"),
        (lambda: read(of([np.complex64(1)])), "complex64"),
        (
            lambda: read(of([1, 2.5], column_types=[np.int64])),
            "float64 for column 'x', column_types says int64, at sample 1",
        ),
        (lambda: read(of([np.ones(2), np.ones(3)]).batch(2)), r"column 'x' .* shapes, \[2\] and \[3\]"),
        (lambda: read(of([np.ones(2), np.ones(2, np.float32)]).batch(2)), "dtypes, float64 and float32"),
        (lambda: read(of(breaks_off)), "at sample 2 raised OSError: the disk is gone"),
        (lambda: read(of([])), "the data set is empty"),
        (lambda: ds.GeneratorDataset(Samples(0), ["x", "y"]).get_dataset_size(), "the data set is empty"),
        (lambda: read(X.map(lambda a: None, "a")), "map of column 'a' at sample 0: .* got None"),
        (lambda: read(X.map(lambda a: (a, a), "a")), "gave 2 values for 1 column, a"),
        (lambda: X.map(len, "c"), "no column 'c', there are a, b"),
        (lambda: X.rename("a", "b"), "two columns 'b'"),
        (lambda: X.zip(X), "two data sets have a column 'a'"),
        (lambda: X.concat(X.project("a")), "different columns"),
        (
            lambda: read(X.concat(X.map(lambda a: a * 0.5, "a"))),
            "column 'a' is int64 with 0 axes in one data set and float64 with 0 axes in the next",
        ),
        (lambda: read(X.concat(X.batch(2))), "int64 with 0 axes in one data set and int64 with 1 axes in the next"),
        (lambda: X.project(["c"]), "no column 'c'"),
        (lambda: X.create_tuple_iterator(columns=["c"]), "no column 'c'"),
        (lambda: X.create_tuple_iterator().blocks(["c"], 1), "no column 'c'"),
        (lambda: read(X.filter(lambda a, b: "yes")), "must give a bool, it gave str at sample 0"),
        (lambda: read(X.filter(lambda a, b: 1 / 0)), "predicate at sample 0 raised ZeroDivisionError"),
        (lambda: read(X.batch(lambda info: 0)), "must give an int of 1 or more, it gave 0"),
        (lambda: read(X.batch(2, per_batch_map=lambda a, b, info: a)), "gave 1 value for 2 columns, a, b"),
        (lambda: read(X.batch(2, per_batch_map=lambda a, b, info: 1 / 0)), "at sample 0, 1 raised ZeroDivisionError"),
        (
            lambda: read(ds.NumpySlicesDataset([1, 2], sampler=[0, 2])),
            "index 2 lies outside of the data set, which has 2",
        ),
        (lambda: read(ds.NumpySlicesDataset([1, 2], sampler=ds.SequentialSampler(2))), "start_index is 2"),
        (lambda: X.split([1, 1]), "sum of sizes is 2, the data set has 4"),
    ],
)
def test_runtime_errors(action, message):
    with pytest.raises(DataError, match=message) as caught:
        action()
    assert isinstance(caught.value, RuntimeError)
    lines = str(caught.value).splitlines()
    assert len(lines) <= 15
    assert caught.value.loc is not None
    assert "tests" in lines[1]


@pytest.mark.parametrize(
    ("action", "error", "message"),
    [
        (
            lambda: numbered(num_shards=2, shard_id=2),
            ArgumentValueError,
            "below num_shards, 2",
        ),
        (
            lambda: numbered(num_shards=2, shard_id=-1),
            ArgumentValueError,
            "must be 0 or more",
        ),
        (
            lambda: numbered(sampler=[1], shuffle=True),
            ArgumentValueError,
            "exclude each other",
        ),
        (lambda: numbered(sampler=ds.PKSampler(1)), ArgumentValueError, "PKSampler"),
        (
            lambda: ds.GeneratorDataset(Samples(), ["x"], column_types=[np.int32] * 2),
            ArgumentValueError,
            "2 dtypes, there are 1",
        ),
        (lambda: X.map(ds.transforms.OneHot, "a"), ArgumentValueError, r"help: OneHot\(\) makes one"),
        (lambda: X.map(len, "a", cache=1), ArgumentTypeError, "GC112"),
        (lambda: X.batch(2, input_columns=["a"]), ArgumentValueError, "goes with per_batch_map only"),
        (lambda: X.padded_batch(2, pad_info={"a": 1}), ArgumentTypeError, "tuple of a shape and a value"),
        (
            lambda: X.padded_batch(2, pad_info={"a": (None, [])}),
            ArgumentTypeError,
            "a number or a text as its value, got list",
        ),
        (lambda: X.padded_batch(2, pad_info={"a": ([10**30], 0)}), ArgumentValueError, "must be from 1 to 2147483647"),
        (lambda: ds.RandomDataset(3, ds.Schema()), ArgumentValueError, "the schema has no columns"),
        (lambda: X.create_dict_iterator(num_epochs=0), ArgumentValueError, "num_epochs must be -1 or more than 0"),
        (lambda: X.create_dict_iterator(output_numpy=1), ArgumentTypeError, "output_numpy must be a bool"),
        (lambda: numbered(sampler=ds.RandomSampler(shuffle=ds.Shuffle.FILES)), ArgumentValueError, "GC112"),
        (lambda: ds.config.set_multiprocessing_start_method("thread"), ArgumentValueError, "GC112"),
        (lambda: ds.MnistDataset("/no/such/folder"), ArgumentValueError, "GC205"),
        (
            lambda: next(iter(ds.NumpySlicesDataset(np.ones(2, np.longdouble)))),
            DTypeError,
            "column_0' is float128, .*\n.*\n.*\n  help: map it",
        ),
    ],
)
def test_arguments(action, error, message):
    with pytest.raises(error, match=message) as caught:
        action()
    assert caught.value.loc is not None


def test_a_row_that_does_not_fit_is_told_of_once():
    with pytest.raises(DataError) as caught:
        read(ds.GeneratorDataset(Samples(), ["x", "y", "z"]))
    assert caught.value.__context__ is None


def test_a_class_in_place_of_one_of_its_objects():
    with pytest.raises(ArgumentTypeError, match="source is the class Samples, not one of its objects"):
        ds.GeneratorDataset(Samples, ["x", "y"])


def test_reading_beyond_the_last_epoch():
    iterator = X.create_tuple_iterator(num_epochs=2)
    assert [len(list(iterator)), len(list(iterator))] == [4, 4]
    with pytest.raises(DataError, match="GC206"):
        next(iterator)


def test_rows_before_an_error_come_first():
    iterator = iter(of(breaks_off))
    assert [next(iterator)[0].item() for _ in range(2)] == [1, 2]
    with pytest.raises(DataError, match="at sample 2"):
        next(iterator)


def test_an_iterator_can_be_read_once():
    numbers = ds.GeneratorDataset(iter([1, 2]), ["x"])
    assert [value.item() for (value,) in numbers] == [1, 2]
    with pytest.raises(DataError, match="can be read only once, and has been"):
        list(numbers)


def test_rows_of_a_generator_object_are_there_in_each_pass():
    def squares():
        row = np.zeros(1)
        for k in range(300):
            row[0] = k * k
            yield (row,)

    numbers = ds.GeneratorDataset(squares(), ["x"])
    first = iter(numbers)
    assert [next(first)[0].item() for _ in range(2)] == [0, 1]
    assert numbers.get_dataset_size() == 300
    for _ in range(2):
        assert [row["x"].item() for row in read(numbers)] == [k * k for k in range(300)]
    assert len(list(ds.GeneratorDataset(squares(), ["x"], num_samples=2))) == 2
    pairs = ds.GeneratorDataset(zip([1, 2], [3, 4], strict=True), ["x", "y"], shuffle=False)
    assert [read(pairs), read(pairs)] == [[{"x": 1, "y": 3}, {"x": 2, "y": 4}]] * 2


def test_dicts_are_columns():
    samples = of([({"a": np.arange(k + 1), "b": str(k)},) for k in range(3)])
    given = list(samples.create_dict_iterator(output_numpy=True, num_epochs=1))
    assert [(row["x"]["a"].tolist(), row["x"]["b"].item()) for row in given] == [
        ([0], "0"),
        ([0, 1], "1"),
        ([0, 1, 2], "2"),
    ]
    (tensors,) = next(samples.create_tuple_iterator(num_epochs=1))
    assert isinstance(tensors["a"], Tensor)
    assert tensors["b"].item() == "0"
    summed = samples.map(lambda x: {"sum": x["a"].sum()}, ["x"])
    batches = summed.batch(3, per_batch_map=lambda xs, info: (np.array(xs["sum"]),), input_columns=["x"])
    assert [row["x"].tolist() for row in read_arrays(batches)] == [[0, 1, 3]]


def test_a_namedtuple_in_a_dict_stays_one():
    Point = namedtuple("Point", "a b")
    samples = of([({"p": Point(k, [k, k])},) for k in range(2)])
    given = [row["x"]["p"] for row in samples.create_dict_iterator(output_numpy=True, num_epochs=1)]
    assert [(type(p), p.a.item(), p.b[1].item()) for p in given] == [(Point, 0, 0), (Point, 1, 1)]


def test_what_is_in_a_dict_is_given_where_it_lies():
    """Lists and tuples stay, numbers in them are arrays, and what is no number or text is as it was: as in MindSpore."""
    dataset = of([({"a": [1, [2.5, "q"]], "t": (1, {"u": 2}), "n": None, "s": {1}},)])
    (row,) = read_arrays(dataset)
    assert repr(row["x"]) == repr(
        {
            "a": [np.array(1), [np.array(2.5), np.array("q")]],
            "t": (np.array(1), {"u": np.array(2)}),
            "n": None,
            "s": {1},
        }
    )
    (tensors,) = next(dataset.create_tuple_iterator(num_epochs=1))
    assert [type(tensors["a"][0]), type(tensors["a"][1][1]), type(tensors["t"][1]["u"])] == [Tensor, np.ndarray, Tensor]


def test_batches_of_dicts_are_dicts_of_batches():
    samples = [({"a": k, "b": np.arange(2) * k, "w": 1 if k else 0.5}, k) for k in range(4)]
    dataset = ds.GeneratorDataset(samples, ["x", "y"], shuffle=False)
    (row, last) = read_arrays(dataset.batch(3))
    assert (row["x"]["a"].tolist(), row["x"]["b"].tolist()) == ([0, 1, 2], [[0, 0], [0, 1], [0, 2]])
    assert (row["x"]["w"].tolist(), row["x"]["w"].dtype, row["y"].tolist()) == ([0.5, 1, 1], np.float64, [0, 1, 2])
    assert (last["x"]["a"].tolist(), last["x"]["b"].tolist()) == ([3], [[0, 3]])
    assert [r["x"]["a"].tolist() for r in read_arrays(dataset.padded_batch(2))] == [[0, 1], [2, 3]]
    (twice,) = read_arrays(dataset.batch(2).batch(2))
    assert (twice["x"]["a"].tolist(), twice["y"].tolist()) == ([[0, 1], [2, 3]], [[0, 1], [2, 3]])
    sized = dataset.batch(lambda info: 1 + info.get_batch_num())
    assert [r["x"]["a"].tolist() for r in read_arrays(sized)] == [[0], [1, 2], [3]]


def test_per_batch_map_gets_a_dict_of_lists_and_may_keep_it():
    seen = []

    def collate(x, info):
        seen.append(x)
        return {"listed": x["a"], "n": np.arange(2)}, np.array(x["a"])

    dataset = of([({"a": k},) for k in range(4)]).batch(2, per_batch_map=collate, output_columns=["d", "s"])
    rows = read_arrays(dataset)
    assert repr(seen[0]) == "{'a': [array(0), array(1)]}"
    assert repr(rows[1]["d"]) == "{'listed': [array(2), array(3)], 'n': array([0, 1])}"
    assert rows[1]["s"].tolist() == [2, 3]


@pytest.mark.parametrize(
    ("samples", "message"),
    [
        ([{"x": 1}, {"y": 2}], "the dicts of column 'x' have different keys"),
        ([{"x": np.zeros(1)}, {"x": np.zeros(2)}], "what the dicts of column 'x' have under 'x' makes no array"),
        ([{"x": {"y": 1}}, {"x": {"y": 2}}], "under 'x' makes no array"),
        ([{"x": None}, {"x": None}], "under 'x' makes no array"),
    ],
)
def test_dicts_that_make_no_batch(samples, message):
    iterator = of([(s,) for s in samples]).batch(2).create_dict_iterator(num_epochs=1)
    with pytest.raises(DataError, match=message) as caught:
        next(iterator)
    assert (caught.value.code, caught.value.loc is not None) == ("GC203", True)
    iterator.stop()


def read_arrays(dataset):
    return list(dataset.create_dict_iterator(output_numpy=True, num_epochs=1))


def test_the_size_of_a_data_set_is_an_attribute_too():
    numbers = ds.GeneratorDataset(np.arange(8), ["x"]).batch(2).repeat(3)
    assert numbers.dataset_size == numbers.get_dataset_size() == 12
    assert ds.GeneratorDataset(lambda: iter(range(3)), ["x"]).dataset_size is None


def test_a_generator_object_that_breaks_off_does_so_in_each_pass():
    numbers = ds.GeneratorDataset(breaks_off(), ["x"])
    for _ in range(2):
        with pytest.raises(DataError, match="at sample 2"):
            list(numbers)


@pytest.mark.parametrize("option", ["sampler", "batch_sampler"])
def test_iterators_give_indices_in_each_pass(option):
    chosen = iter([3, 1, 1]) if option == "sampler" else ([k] for k in (3, 1, 1))
    numbers = ds.GeneratorDataset(np.arange(5), ["x"], **{option: chosen})
    assert numbers.get_dataset_size() == 3
    for _ in range(2):
        assert [row["x"].item() for row in read(numbers)] == [3, 1, 1]


def test_endless_samplers_are_read_as_far_as_is_asked():
    class Endless(ds.Sampler):
        def __iter__(self):
            return itertools.cycle([2, 0])

    for dataset in (
        ds.GeneratorDataset(np.arange(5), ["x"], sampler=itertools.cycle([2, 0]), num_samples=3),
        ds.GeneratorDataset(np.arange(5), ["x"], sampler=Endless(3)),
    ):
        assert dataset.get_dataset_size() == 3
        assert [row["x"].item() for row in read(dataset)] == [2, 0, 2]


def test_texts_fill_up_whole():
    texts = ds.GeneratorDataset([(np.array(["a", "b"]),), (np.array(["c"]),)], ["x"], shuffle=False)
    (batch,) = read(texts.padded_batch(2, pad_info={"x": ([3], "<pad>")}))
    assert batch["x"].tolist() == [["a", "b", "<pad>"], ["c", "<pad>", "<pad>"]]


@pytest.mark.parametrize(
    ("rows", "value", "message"),
    [
        ([np.array([1, 2]), np.array([1.5])], 0, "samples of different dtypes, int64 and float64"),
        ([np.array([1, 2]), np.array([1])], "x", "'x' cannot fill up column 'x', which is int64"),
        ([np.array(["a", "b"]), np.array(["a"])], 0, "0 cannot fill up column 'x', which is <U1"),
    ],
)
def test_what_does_not_fill_up(rows, value, message):
    source = ds.GeneratorDataset([(r,) for r in rows], ["x"], shuffle=False)
    with pytest.raises(DataError, match=message):
        read(source.padded_batch(2, pad_info={"x": ([3], value)}))


def test_an_integer_that_no_dtype_holds():
    with pytest.raises(DataError, match="got int of dtype object, at sample 1"):
        list(ds.GeneratorDataset([1, 2**70], ["x"], shuffle=False))


class Restarting:
    """An iterator that begins anew whenever `iter` is called, as in MindSpore's tutorials."""

    def __init__(self, count):
        self.count, self.place, self.begun = count, count, 0

    def __iter__(self):
        self.place = 0
        self.begun += 1
        return self

    def __next__(self):
        if self.place == self.count:
            raise StopIteration
        self.place += 1
        return (np.array(self.place),)


@pytest.mark.parametrize("options", [{}, {"num_samples": 300}])
def test_an_iterator_that_begins_anew_is_read_once_per_pass(options):
    source = Restarting(300)
    numbers = ds.GeneratorDataset(source, ["x"], **options)
    for passes in (1, 2):
        assert [row["x"].item() for row in read(numbers)] == list(range(1, 301))
        assert source.begun == passes


def test_an_iterator_of_the_users_that_stays_at_its_end_is_used_up():
    class Ending(Restarting):
        def __iter__(self):
            return self

    source = Ending(3)
    source.place = 0
    numbers = ds.GeneratorDataset(source, ["x"])
    assert len(read(numbers)) == 3
    with pytest.raises(DataError, match="can be read only once, and has been"):
        read(numbers)


def test_rows_are_memory_of_their_own():
    data = np.zeros((4, 2), np.float32)
    held = [np.zeros(2), np.zeros(3)]
    for dataset in (ds.NumpySlicesDataset(data), ds.NumpySlicesDataset(data).batch(2), of(held)):
        for (value,) in dataset.create_tuple_iterator(num_epochs=1, output_numpy=True):
            value += 1
    assert not data.any()
    assert not np.concatenate(held).any()


def test_kinds_of_rows():
    row = next(X.create_dict_iterator())
    assert isinstance(row["a"], Tensor)
    assert (row["a"].dtype, row["b"].shape) == (graphc.int64, (2,))
    assert isinstance(next(iter(X)), list)
    assert isinstance(next(X.create_dict_iterator(output_numpy=True))["a"], np.ndarray)
    text = next(iter(ds.NumpySlicesDataset(["one", "two"], shuffle=False)))[0]
    assert text.item() == "one"


def test_the_later_of_two_seeds_counts():
    def order():
        return [int(r[0].item()) for r in ds.NumpySlicesDataset(np.arange(9))]

    ds.config.set_seed(1)
    of_one = order()
    graphc.set_seed(2)
    assert (order() != of_one, ds.config.get_seed()) == (True, 2)
    ds.config.set_seed(1)
    assert order() == of_one


def test_other_questions():
    assert len(X) == 4
    assert X.output_types() == [np.int64, np.float64]
    assert of([np.ones(2), np.ones(3)]).output_shapes(estimate=True) == [[None]]
    assert (X.num_classes(), X.get_class_indexing()) == (None, {})
    assert X.apply(lambda d: d.batch(2)).get_dataset_size() == 2
    assert (ds.SubsetSampler([1, 3]).get_num_samples(), ds.SubsetSampler([1, 3], 1).get_num_samples()) == (2, 1)
    assert (X.is_shuffled(), ds.NumpySlicesDataset([1], num_shards=1, shard_id=0).is_sharded()) == (False, True)


def test_transforms_of_no_image_and_no_sound():
    for empty in (np.zeros((0, 3, 3), np.uint8), np.zeros((3, 0), np.uint8)):
        for transform in (ds.vision.Resize(3), ds.vision.HorizontalFlip(), ds.vision.AdjustBrightness(1.5)):
            with pytest.raises(DataError, match="has no pixels"):
                transform(empty)
    for wrong in (3, "a", None, b"a"):
        with pytest.raises(DataKindError, match="a sound must be an array"):
            ds.audio.Gain()(wrong)
    with pytest.raises(DataKindError, match="got None"):
        ds.transforms.TypeCast("int32")(None)


def test_arguments_of_any_kind_are_named():
    with pytest.raises(ArgumentTypeError, match="MFCC: dct_type is ndarray, of which nothing can be made"):
        ds.audio.MFCC(dct_type=np.array([1, 2]))


def test_schemas_of_nothing():
    with pytest.raises(ArgumentTypeError, match="schema_file must be a string, got int"):
        ds.Schema(0)
    described = ds.Schema()
    described.add_column("a", "int8", [2])
    assert str(described) == described.to_json()


@pytest.mark.parametrize("batch", [1, "a", [None], [1.5], [True], []])
def test_batches_of_a_sampler_are_lists_of_indices(batch):
    with pytest.raises(DataError, match="batch_sampler must give lists of indices"):
        read(ds.GeneratorDataset(Samples(), ["x", "y"], batch_sampler=[[0], batch]))


def test_a_row_to_begin_with():
    def numbers(rows):
        return [r[0].tolist() for r in rows]

    mixed = ds.NumpySlicesDataset(list(range(5))).batch(2)
    ds.config.set_seed(1)
    with mixed.create_tuple_iterator(num_epochs=2, output_numpy=True) as whole:
        expected = numbers(whole) + numbers(whole)
    mixed.set_init_step(4)
    assert (mixed.get_init_step(), mixed.repeat(2).get_init_step()) == (4, 0)
    with mixed.create_tuple_iterator(num_epochs=2, output_numpy=True) as rest:
        assert numbers(rest) == expected[4:]
    with pytest.raises(DataError, match="has given its last epoch"):
        read(mixed)
    endless = X.repeat()
    endless.set_init_step(9)
    assert next(iter(endless))[0].item() == 1
