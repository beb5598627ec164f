"""TFRecord files: rows, dtypes, shapes and orders as MindSpore's (tests/data/ms_records.py wrote them), and what damage does."""

from __future__ import annotations

import gzip
import itertools
import json
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import graphc.dataset as ds
from graphc import ArgumentTypeError, ArgumentValueError, DataError, GraphcError
from graphc.mindrecord.crc import crc32c, masked, masked_of_lengths
from graphc.mindrecord.examples import DamagedExample, features, floats, integers
from graphc.mindrecord.tfrecords import framed
from tests.recorders import recorder

RECORDED = json.loads((Path(__file__).parents[1] / "data/ms_records.json").read_text())
probe = recorder("ms_records")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("records")
    probe.make_tf_files(made)
    probe.make_texts(made)
    return made


@pytest.fixture
def known(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return probe.names(ds, folder)


def numbers(path, **options):
    rows = ds.TFRecordDataset(str(path), **{"shuffle": False, **options})
    return [int(row[0][0]) for row in rows.create_tuple_iterator(num_epochs=1, output_numpy=True)]


def write(path, rows):
    path.write_bytes(b"".join(map(framed, rows)))
    return path


# ---- as recorded


@pytest.mark.parametrize("text", RECORDED["tf"])
def test_rows(text, known):
    expected = RECORDED["tf"][text]
    if isinstance(expected, str):
        with pytest.raises((DataError, ArgumentValueError)):
            probe.read_tf(known, text)
    else:
        assert json.loads(json.dumps(probe.read_tf(known, text))) == expected


@pytest.mark.parametrize("title", RECORDED["tf_orders"])
def test_orders(title, known):
    check_order("tf_orders", title, known)


@pytest.mark.parametrize("title", RECORDED["text_orders"])
def test_orders_of_text_files(title, known):
    check_order("text_orders", title, known)


def check_order(kind, title, known):
    seed, _, text = title.partition(": ")
    expected = RECORDED[kind][title]
    if isinstance(expected, str):
        with pytest.raises((DataError, ArgumentValueError)):
            probe.order(known, kind, text, int(seed))
    else:
        assert probe.order(known, kind, text, int(seed)) == expected


def test_many_rows_go_through_a_buffer_of_ten_thousand(tmp_path):
    """What MindSpore 2.10 gives of three files of 4000 rows with seed 3."""
    for k in range(3):
        write(tmp_path / f"{k}.tf", [probe.example({"i": [4000 * k + j]}) for j in range(4000)])
    ds.config.set_seed(3)
    order = numbers(tmp_path / "?.tf", shuffle=True)
    assert (order[:5], order[10000:10003]) == ([9467, 10167, 9475, 229, 101], [4274, 3130, 2879])
    assert order[-3:] == [1347, 3732, 5840]
    assert sorted(order) == list(range(12000))


def test_shares_of_mixed_files_of_different_sizes(tmp_path):
    """Rows of passes as MindSpore 2.10 has them, and its size."""
    for k, rows in enumerate((1, 5, 2)):
        write(tmp_path / f"{k}.tf", [probe.example({"i": [10 * k + j]}) for j in range(rows)])
    made = ds.TFRecordDataset(str(tmp_path / "?.tf"), num_shards=2, shard_id=0)
    assert (made.get_dataset_size(), made.repeat(4).get_dataset_size()) == (3, 12)
    iterator = made.create_tuple_iterator(num_epochs=4, output_numpy=True)
    assert [len(list(iterator)) for _ in range(4)] == [7, 3, 3, 3]
    # A share of the share, and its parts.
    both = made.concat(made)
    both.use_sampler(ds.DistributedSampler(2, 0, shuffle=False))
    iterator = both.create_tuple_iterator(num_epochs=2, output_numpy=True)
    assert [len(list(iterator)) for _ in range(2)] == [7, 3]
    parts = [
        list(p.create_tuple_iterator(num_epochs=2, output_numpy=True)) for p in made.split([1, 2], randomize=False)
    ]
    assert [len(p) for p in parts] == [1, 2]


# ---- files and arguments


def test_reading_again_from_the_middle_and_by_threads(folder):
    ds.config.set_seed(1)
    dataset = ds.TFRecordDataset(str(folder / "q?.tf"), num_parallel_workers=3).batch(4)
    whole = [row[0].tolist() for row in dataset.create_tuple_iterator(num_epochs=2, output_numpy=True)]
    iterator = dataset.create_tuple_iterator(num_epochs=2, output_numpy=True)
    next(iterator)
    dataset.load_state_dict(iterator.state_dict())
    rest = [row[0].tolist() for row in dataset.create_tuple_iterator(num_epochs=2, output_numpy=True)]
    assert rest == whole[1:]
    assert dataset.get_dataset_size() == 4


def test_packed_files_of_several_members(tmp_path, folder):
    data = (folder / "q1.tf").read_bytes()
    path = tmp_path / "two.gz"
    path.write_bytes(gzip.compress(data) + gzip.compress(data))
    assert numbers(path, compression_type="GZIP") == [10, 11, 12, 13, 14] * 2
    for cut in (5, len(data) // 2, 20):
        path.write_bytes(gzip.compress(data)[:-cut])
        with pytest.raises(DataError, match="cut off"):
            numbers(path, compression_type="GZIP")
    path.write_bytes(zlib.compress(data))
    with pytest.raises(DataError, match="not packed as GZIP, or damaged"):
        numbers(path, compression_type="GZIP")


def test_packed_files_give_as_many_rows_as_are_asked_for(tmp_path, folder):
    for k in range(3):
        (tmp_path / f"{k}.gz").write_bytes(gzip.compress((folder / f"q{k}.tf").read_bytes()))
    options = {"compression_type": "GZIP", "num_samples": 4}
    assert numbers(tmp_path / "?.gz", **options) == [0, 1, 2, 10]
    assert numbers(tmp_path / "?.gz", num_shards=2, shard_id=1, **options) == [12, 13, 14, 20]
    with pytest.raises(ArgumentValueError, match="as many files as shares, there are 3 for 4"):
        numbers(tmp_path / "?.gz", num_shards=4, shard_id=1, **options)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"cache": 1}, ArgumentTypeError, "GC112"),
        ({"compression_type": "LZ4"}, ArgumentValueError, "compression_type must be '', 'GZIP' or 'ZLIB'"),
        ({"shuffle": ds.Shuffle.INFILE}, ArgumentValueError, "Shuffle.GLOBAL or Shuffle.FILES"),
        ({"shuffle": 1}, ArgumentTypeError, "shuffle must be a bool or a Shuffle"),
        ({"schema": 1}, ArgumentTypeError, "schema must be a Schema or a path, got int"),
        ({"schema": "no/such.json"}, ArgumentValueError, "cannot be read"),
        ({"schema": ds.Schema()}, ArgumentValueError, "the schema has no columns"),
        ({"columns_list": ["a", "a"]}, ArgumentValueError, "has 'a' twice"),
        ({"columns_list": [1]}, ArgumentTypeError, "must be column names"),
        ({"num_shards": 2}, ArgumentValueError, "go together"),
        ({"num_shards": 2, "shard_id": 0}, ArgumentValueError, "without shard_equal_rows there must be as many files"),
        ({"shard_equal_rows": 1}, ArgumentTypeError, "shard_equal_rows must be a bool"),
        ({"num_samples": -1}, ArgumentValueError, "num_samples must be 0 or more"),
    ],
)
def test_arguments(options, error, message, folder):
    with pytest.raises(error, match=message):
        ds.TFRecordDataset(str(folder / "a.tf"), **options)


def test_a_schema_file_that_is_no_json(tmp_path, folder):
    path = tmp_path / "schema.json"
    path.write_text("{")
    with pytest.raises(DataError, match="is no JSON"):
        ds.TFRecordDataset(str(folder / "a.tf"), schema=str(path))


def test_errors_name_the_feature_the_sample_and_the_file(folder):
    schema = ds.Schema()
    schema.add_column("b", "string", [4])
    rows = ds.TFRecordDataset(str(folder / "shapes.tf"), schema, shuffle=False).create_tuple_iterator(num_epochs=1)
    next(rows)
    with pytest.raises(DataError, match=r"'b' has 2 values, the schema's shape \[4\] has 4, at sample 1") as caught:
        next(rows)
    assert any("shapes.tf" in line for line in caught.value.details)


# ---- damage


def test_a_file_that_is_cut_off_anywhere(tmp_path):
    rows = [probe.example({"i": [k], "s": [b"ab"]}) for k in range(3)]
    data = write(tmp_path / "x.tf", rows).read_bytes()
    whole = {0, *itertools.accumulate(len(framed(r)) for r in rows)}
    for cut in range(len(data)):
        (tmp_path / "x.tf").write_bytes(data[:cut])
        if cut in whole - {0}:
            assert numbers(tmp_path / "x.tf") == list(range(3))[: sorted(whole).index(cut)]
        else:
            with pytest.raises(DataError, match=r"is cut off|is empty"):
                numbers(tmp_path / "x.tf")


def test_a_byte_that_differs_anywhere(tmp_path):
    data = write(tmp_path / "x.tf", [probe.example({"i": [k]}) for k in range(3)]).read_bytes()
    for place, mask in itertools.product(range(len(data)), (1, 0x80, 0xFF)):
        damaged = bytearray(data)
        damaged[place] ^= mask
        (tmp_path / "x.tf").write_bytes(damaged)
        with pytest.raises(DataError, match="another CRC than it says"):
            numbers(tmp_path / "x.tf")


@pytest.mark.parametrize("data", [b"hello world, no records here", bytes(64), b"\xff" * 40])
def test_files_of_something_else(data, tmp_path):
    (tmp_path / "x.tf").write_bytes(data)
    with pytest.raises(DataError, match="no TFRecord file"):
        numbers(tmp_path / "x.tf")


def test_a_file_that_becomes_shorter(tmp_path):
    path = write(tmp_path / "x.tf", [probe.example({"i": [k]}) for k in range(3)])
    rows = ds.TFRecordDataset(str(path), shuffle=False)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match="has become shorter"):
        list(rows.create_tuple_iterator(num_epochs=1))


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60))
def test_bytes_that_are_no_example(data):
    try:
        held = features(data)
        for feature in held.values():
            {2: floats, 3: integers}.get(feature.kind, len)([feature])
    except DamagedExample:
        pass


@pytest.mark.parametrize(
    "data", [b"\x0b", b"\x00", b"\x0a\x05ab", b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"\x09ab"]
)
def test_messages_that_are_damaged(data):
    with pytest.raises(DamagedExample):
        features(data)


@pytest.mark.parametrize("piece", [b"\x80", b"\xff" * 10 + b"\x01"])
def test_numbers_that_are_damaged(piece):
    inner = probe.field(3, probe.field(1, piece))
    data = probe.field(1, probe.field(1, probe.field(1, b"i") + probe.field(2, inner)))
    with pytest.raises(DamagedExample):
        integers([features(data)[b"i"]])


def test_fields_that_nobody_knows_are_passed_over(tmp_path):
    known = probe.example({"i": [5]})
    others = b"\x78\x07" + b"\x4dabcd" + probe.field(10, b"xx") + b"\x59" + bytes(8)
    assert numbers(write(tmp_path / "x.tf", [known + others])) == [5]
    twice = probe.example({"i": [1]}) + probe.example({"i": [2]})
    assert numbers(write(tmp_path / "x.tf", [twice])) == [2]


# ---- CRCs and round trips


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 5000), st.integers(0, 2**32 - 1))
def test_crcs(size, seed):
    data = np.random.default_rng(seed).bytes(size)
    assert masked(crc32c(data)) == probe.masked_crc(data)


def test_a_known_crc_and_those_of_lengths():
    assert crc32c(b"123456789") == 0xE3069283
    lengths = np.array([0, 1, 300, 2**40], np.uint64)
    assert masked_of_lengths(lengths).tolist() == [probe.masked_crc(struct.pack("<Q", n)) for n in lengths.tolist()]


VALUES = {
    "int64": st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=5),
    "float32": st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=5),
    "string": st.lists(st.text(max_size=6).map(str.encode), min_size=1, max_size=4),
}


def test_a_number_that_looks_like_a_length(tmp_path):
    """A float that is not packed, whose first byte would begin a longer number."""
    path = write(tmp_path / "x.tf", [probe.example({"x": [-8042446520844288.0]}, False)])
    (row,) = ds.TFRecordDataset(str(path), shuffle=False).create_dict_iterator(num_epochs=1, output_numpy=True)
    assert row["x"].tolist() == [-8042446520844288.0]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data(), st.booleans())
def test_what_is_written_is_read(tmp_path, data, packed):
    names = data.draw(st.lists(st.text(min_size=1, max_size=4), min_size=1, max_size=3, unique=True))
    kinds = {n: data.draw(st.sampled_from(sorted(VALUES))) for n in names}
    written = [{n: data.draw(VALUES[kinds[n]]) for n in names} for _ in range(2)]
    path = write(tmp_path / "x.tf", [probe.example(row, packed) for row in written])
    schema = ds.Schema()
    for name in names:
        schema.add_column(name, kinds[name])
    rows = ds.TFRecordDataset(str(path), schema, shuffle=False).create_dict_iterator(num_epochs=1, output_numpy=True)
    for row, expected in zip(rows, written, strict=True):
        for name, values in expected.items():
            # NumPy leaves NULs at the end out of texts.
            wanted = [v.decode().rstrip("\0") for v in values] if kinds[name] == "string" else values
            assert row[name].tolist() == wanted


def test_every_error_of_damage_is_one_of_graphcs(tmp_path, folder):
    data = bytearray((folder / "shapes.tf").read_bytes())
    rng = np.random.default_rng(0)
    for _ in range(100):
        damaged = bytearray(data)
        for place in rng.integers(0, len(data), 3):
            damaged[place] = int(rng.integers(256))
        (tmp_path / "x.tf").write_bytes(damaged)
        try:
            list(ds.TFRecordDataset(str(tmp_path / "x.tf")).create_dict_iterator(num_epochs=1, output_numpy=True))
        except GraphcError as error:
            assert error.code == "GC205"  # noqa: PT017, some damage is none


def test_numbers_in_bfloat16(folder):
    schema = ds.Schema()
    schema.add_column("f", "bfloat16", [4])
    (first, _) = ds.TFRecordDataset(str(folder / "shapes.tf"), schema, shuffle=False).create_tuple_iterator(
        num_epochs=1, output_numpy=True
    )
    assert (first[0].dtype.name, first[0].tolist()) == ("bfloat16", [0.5] * 4)
