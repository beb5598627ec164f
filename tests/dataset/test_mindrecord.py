"""MindRecord files: MindSpore's are read, with its orders (tests/data/ms_records.py recorded them), and so are those that graphc
writes."""

from __future__ import annotations

import base64
import contextlib
import json
import sqlite3
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import graphc.dataset as ds
from graphc import ArgumentTypeError, ArgumentValueError, DataError
from graphc.mindrecord import FileReader, FileWriter, MindPage, set_dec_mode, set_enc_key, set_enc_mode
from graphc.mindrecord.layout import read_header
from tests.recorders import recorder

RECORDED = json.loads((Path(__file__).parents[1] / "data/ms_records.json").read_text())
probe = recorder("ms_records")
CASES = probe.mind_cases()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("records")
    for name, packed in RECORDED["files"].items():
        for file, data in zip((name, f"{name}.db"), packed, strict=True):
            (made / file).write_bytes(zlib.decompress(base64.b64decode(data)))
    return made


@pytest.fixture
def known(folder, monkeypatch):
    monkeypatch.chdir(folder)
    return probe.names(ds, folder)


def as_json(value):
    return json.loads(json.dumps(value))


def same(got, wanted):
    """Whether a row that was read is the one that was written."""
    return set(got) == set(wanted) and all(
        np.array_equal(got[k], v) and np.asarray(got[k]).dtype == np.asarray(v).dtype for k, v in wanted.items()
    )


# ---- MindSpore's files


@pytest.mark.parametrize("name", RECORDED["rows"])
def test_files_of_mindspore(name, folder):
    assert as_json(probe.rows_of(ds.MindDataset(str(folder / name), shuffle=False))) == RECORDED["rows"][name]
    rows = list(FileReader(str(folder / name)).get_next())
    assert all(same(got, row) for got, row in zip(rows, CASES[name][1], strict=True))
    # MindSpore's reader gives whole numbers for floats that are whole.
    recorded = [{k: v[1:] for k, v in row.items()} for row in RECORDED["read"][name]]
    assert as_json([{k: probe.plain(v)[1:] for k, v in row.items()} for row in rows]) == recorded


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("pages", "raw")])
def test_files_are_mindspores_to_the_byte(name, folder, tmp_path):
    """Where there is one page of each kind. Of several MindSpore numbers those of one write by their kind."""
    schema, rows, index = CASES[name]
    probe.write_mind(FileWriter, tmp_path / name, schema, rows, index)
    theirs, ours = read_header("test", folder / name), read_header("test", tmp_path / name)
    assert ours == theirs
    data, written = ((path / name).read_bytes() for path in (folder, tmp_path))
    # The fields of the head stand in another order.
    assert written[theirs.header_size :] == data[theirs.header_size :]


@pytest.mark.parametrize("kind", ["orders", "first"])
@pytest.mark.parametrize("seed", [1, 7])
def test_orders(kind, seed, known):
    for text in probe.ORDERS[kind]:
        expected = RECORDED[kind][f"{seed}: {text}"]
        if isinstance(expected, str):
            with pytest.raises((DataError, ArgumentValueError)):
                probe.order(known, kind, text, seed)
        else:
            got = probe.order(known, kind, text, seed)
            assert (got if kind == "orders" else got[0]) == (expected if kind == "orders" else expected[0]), text


def test_later_passes_keep_files_together_and_draw_anew(folder):
    files = [str(folder / f"q{k}") for k in range(5)]
    ds.config.set_seed(7)
    for rows in probe.passes(ds.MindDataset(files, ["i"], shuffle=ds.Shuffle.FILES)):
        for file in (range(3), range(10, 15), range(30, 34)):
            at = rows.index(file[0])
            assert rows[at : at + len(file)] == list(file)
    drawn = probe.passes(ds.MindDataset(files, ["i"], num_samples=40))
    assert all(len(set(rows)) > 4 for rows in drawn)


def test_samples_of_each_class(folder):
    files = [str(folder / f"q{k}") for k in range(5)]
    rows = ds.MindDataset(files, ["c"], sampler=ds.PKSampler(2, class_column="c"))
    got = [row[0].item() for row in rows.create_tuple_iterator(num_epochs=1, output_numpy=True)]
    assert got == ["a", "a", "b", "b", "c", "c"]
    with pytest.raises(ArgumentValueError, match="does not know column 'b'"):
        ds.MindDataset(files, sampler=ds.PKSampler(2, class_column="b")).get_dataset_size()


def test_one_of_several_files_stands_for_all(tmp_path):
    schema, rows, _ = CASES["q1"]
    probe.write_mind(FileWriter, tmp_path / "x", schema, rows * 3, None, 3)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x0", "x0.db", "x1", "x1.db", "x2", "x2.db"]
    assert [len(list(FileReader(str(tmp_path / f"x{k}")).get_next())) for k in range(3)] == [15] * 3
    assert len(list(FileReader([str(tmp_path / "x1")]).get_next())) == 5
    assert ds.MindDataset(str(tmp_path / "x2")).get_dataset_size() == 15
    (tmp_path / "x1").rename(tmp_path / "y1")
    with pytest.raises(ArgumentValueError, match=r"there is no file .*x1"):
        FileReader(str(tmp_path / "x0"))
    with pytest.raises(DataError, match="it was renamed"):
        FileReader(str(tmp_path / "y1"))


def test_a_file_that_stands_alone_may_be_renamed(tmp_path, folder):
    for ending in ("", ".db"):
        (tmp_path / f"other{ending}").write_bytes((folder / f"all{ending}").read_bytes())
    assert FileReader(str(tmp_path / "other")).len() == 5


def test_reading_again_from_the_middle_and_by_threads(folder):
    files = [str(folder / f"q{k}") for k in range(5)]
    ds.config.set_seed(1)
    dataset = ds.MindDataset(files, ["i"], num_parallel_workers=3).batch(4)
    whole = [row[0].tolist() for row in dataset.create_tuple_iterator(num_epochs=2, output_numpy=True)]
    iterator = dataset.create_tuple_iterator(num_epochs=2, output_numpy=True)
    next(iterator)
    dataset.load_state_dict(iterator.state_dict())
    assert [r[0].tolist() for r in dataset.create_tuple_iterator(num_epochs=2, output_numpy=True)] == whole[1:]
    parts = ds.MindDataset(files, ["i"]).split([10, 5])
    both = [int(r[0]) for p in parts for r in p.create_tuple_iterator(num_epochs=1, output_numpy=True)]
    assert len(set(both)) == 15
    assert [a.tolist() for a in ds.MindDataset(files)[4]] == [[b"x"], "c", 11]
    with pytest.raises(IndexError):
        ds.MindDataset(files)[15]


def test_bytes_are_decoded_as_they_are(tmp_path):
    pytest.importorskip("PIL")
    image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
    data = ds.vision.encode_png(image).tobytes()
    probe.write_mind(FileWriter, tmp_path / "x", {"image": {"type": "bytes"}}, [{"image": data + bytes(3)}], None)
    (row,) = (
        ds.MindDataset(str(tmp_path / "x"))
        .map(ds.vision.Decode(), "image")
        .create_tuple_iterator(num_epochs=1, output_numpy=True)
    )
    assert np.array_equal(row[0], image)


# ---- pages of a group


def test_pages_by_what_a_field_holds(folder):
    pages = MindPage([str(folder / f"q{k}") for k in range(3)])
    assert (pages.candidate_fields, pages.category_field) == (["c", "i"], None)
    pages.category_field = "c"
    categories = [{"count": k + 2, "id": k, "name": c} for k, c in enumerate("abc")]
    assert json.loads(pages.read_category_info()) == {"categories": categories, "key": "c_0"}
    assert [row["i"] for row in pages.read_at_page_by_id(1, 0, 2)] == [1, 10]
    assert [row["i"] for row in pages.read_at_page_by_name("b", 1, 2)] == [13]
    with pytest.raises(DataError, match="no page 2"):
        pages.read_at_page_by_name("b", 2, 2)
    with pytest.raises(DataError, match="no group 3"):
        pages.read_at_page_by_id(3, 0, 2)
    with pytest.raises(ArgumentValueError, match="'b' is no index field"):
        pages.category_field = "b"
    pages.category_field = "i"
    assert pages.read_at_page_by_name("11", 0, 1)[0]["i"] == 11


def test_pages_of_rows_without_a_number(tmp_path):
    """SQLite has NULL for NaN."""
    writer = FileWriter(str(tmp_path / "x"))
    writer.add_schema({"f": {"type": "float64"}})
    writer.write_raw_data([{"f": value} for value in (float("nan"), 1.5, float("nan"))])
    writer.commit()
    pages = MindPage(str(tmp_path / "x"))
    pages.category_field = "f"
    groups = json.loads(pages.read_category_info())["categories"]
    assert [(g["name"], g["count"]) for g in groups] == [("1.5", 1), ("nan", 2)]
    assert len(pages.read_at_page_by_name("nan", 0, 5)) == 2
    with contextlib.closing(sqlite3.connect(tmp_path / "x.db")) as base, base:
        base.execute("UPDATE INDEXES SET f_0 = 'text' WHERE ROW_ID = 1")
    pages = MindPage(str(tmp_path / "x"))
    pages.category_field = "f"
    with pytest.raises(DataError, match="a value of the field 'f' that is no float64"):
        pages.read_category_info()


# ---- writing


def test_rows_are_dealt_out_evenly(tmp_path):
    writer = FileWriter(str(tmp_path / "x"), 3)
    writer.add_schema({"i": {"type": "int32"}})
    for k in range(8):
        writer.write_raw_data([{"i": k}])
    writer.commit()
    assert [len(list(FileReader([str(tmp_path / f"x{k}")]).get_next())) for k in range(3)] == [3, 3, 2]


def test_parallel_writing_fills_one_file_after_the_other(tmp_path):
    writer = FileWriter(str(tmp_path / "x"), 2)
    writer.add_schema({"i": {"type": "int32"}})
    for part in ([0, 1], [2, 3, 4], [5]):
        writer.write_raw_data([{"i": k} for k in part], parallel_writer=True)
    with pytest.raises(DataError, match="must be the same in all calls"):
        writer.write_raw_data([{"i": 6}])
    writer.commit()
    assert [[row["i"] for row in FileReader([str(tmp_path / f"x{k}")]).get_next()] for k in (0, 1)] == [
        [0, 1, 5],
        [2, 3, 4],
    ]


def test_files_appear_when_they_are_complete(tmp_path):
    path = tmp_path / "x"
    writer = FileWriter(str(path))
    writer.add_schema({"i": {"type": "int32"}})
    writer.write_raw_data([{"i": 1}])
    assert not path.exists()
    with pytest.raises(DataError, match="field 'i' of row 1 is str 'a', it must be int32"):
        writer.write_raw_data([{"i": "a"}])
    writer.write_raw_data([{"i": 2}])
    writer.commit()
    writer.commit()
    assert [row["i"] for row in FileReader(str(path)).get_next()] == [1, 2]
    with pytest.raises(DataError, match="cannot be written after commit"):
        writer.write_raw_data([{"i": 3}])
    again = FileWriter(str(path))
    again.add_schema({"i": {"type": "int32"}})
    with pytest.raises(DataError, match="is there already"):
        again.write_raw_data([{"i": 1}])
    over = FileWriter(str(path), overwrite=True)
    over.add_schema({"j": {"type": "int64"}})
    over.write_raw_data([{"j": 1}])
    del over
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x", "x.db"]
    assert FileReader(str(path)).schema() == {"i": {"type": "int32"}}


def test_a_file_without_rows(tmp_path):
    writer = FileWriter(str(tmp_path / "x"))
    writer.add_schema({"i": {"type": "int32"}})
    writer.commit()
    assert FileReader(str(tmp_path / "x")).len() == 0
    with pytest.raises(DataError, match="empty"):
        ds.MindDataset(str(tmp_path / "x")).get_dataset_size()


@pytest.mark.parametrize("name", ["all", "pages", "raw"])
def test_rows_are_added_to_files_of_mindspore(name, folder, tmp_path):
    for file in (name, f"{name}.db"):
        (tmp_path / file).write_bytes((folder / file).read_bytes())
    rows = CASES[name][1]
    writer = FileWriter.open_for_append(str(tmp_path / name))
    writer.write_raw_data(rows[:2])
    writer.write_raw_data(rows[2:])
    writer.commit()
    got = list(FileReader(str(tmp_path / name)).get_next())
    assert all(same(g, r) for g, r in zip(got, rows + rows, strict=True))
    with pytest.raises(DataError, match="add_schema comes before the first row"):
        FileWriter.open_for_append(str(tmp_path / name)).add_schema({"i": {"type": "int32"}})


NUMBERS = {"int32": st.integers(-(2**31), 2**31 - 1), "int64": st.integers(-(2**63), 2**63 - 1)}
FLOATS = {"float32": st.floats(width=32, allow_nan=False), "float64": st.floats(allow_nan=False)}
PLAIN = {**NUMBERS, **FLOATS, "string": st.text(max_size=40), "bytes": st.binary(max_size=40)}


@st.composite
def sets(draw):
    """A schema, and rows of it in parts."""
    kinds = draw(st.lists(st.tuples(st.sampled_from(sorted(PLAIN)), st.booleans()), min_size=1, max_size=5))
    schema = {}
    for k, (kind, array) in enumerate(kinds):
        schema[f"f{k}"] = (
            {"type": kind, "shape": [-1, 2]} if array and kind not in ("string", "bytes") else {"type": kind}
        )

    def value(field):
        if "shape" not in field:
            return draw(PLAIN[field["type"]])
        size = draw(st.integers(0, 4)) * 2
        numbers = draw(st.lists(PLAIN[field["type"]], min_size=size, max_size=size))
        return np.array(numbers, field["type"]).reshape(-1, 2)

    parts = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    return schema, [[{n: value(f) for n, f in schema.items()} for _ in range(count)] for count in parts]


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(sets(), st.integers(1, 3), st.booleans())
def test_what_is_written_is_read(tmp_path, made, shards, append):
    schema, parts = made
    path = tmp_path / "x"
    writer = FileWriter(str(path), shards, overwrite=True)
    writer.set_header_size(1 << 14)
    writer.set_page_size(1 << 15)
    writer.add_schema(schema)
    for k, part in enumerate(parts):
        if k and append:
            writer.commit()
            writer = FileWriter.open_for_append(f"{path}0" if shards > 1 else str(path))
        writer.write_raw_data(part)
    writer.commit()
    wanted = [row for part in parts for row in part]
    got = list(FileReader(f"{path}0" if shards > 1 else str(path)).get_next())
    assert len(got) == len(wanted)
    left = list(wanted)
    for row in got:
        left.pop(next(k for k, other in enumerate(left) if same(row, other)))
    columns = ds.MindDataset(f"{path}0" if shards > 1 else str(path), shuffle=False)
    for row, other in zip(columns.create_dict_iterator(num_epochs=1, output_numpy=True), got, strict=True):
        for name, field in schema.items():
            if field["type"] == "bytes":
                assert row[name].tobytes() == (other[name] or b"\0")
            elif field["type"] == "string":
                assert row[name].item() == other[name].rstrip("\0")
            else:
                assert np.array_equal(row[name], np.array(other[name], field["type"]))


@pytest.mark.parametrize("name", RECORDED["saved"])
def test_saved(name, known, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    expected = RECORDED["saved"][name]
    if isinstance(expected, str):
        with pytest.raises(DataError, match="is an array of texts"):
            probe.saved(known, name)
        assert list(tmp_path.iterdir()) == []
    else:
        assert as_json(probe.saved(known, name)) == expected


def test_saved_rows_of_different_lengths(tmp_path):
    source = ds.GeneratorDataset(
        [(np.arange(k), np.ones((k, 2), np.float16), k) for k in range(1, 5)], ["a", "b", "c"], shuffle=False
    )
    source.save(str(tmp_path / "x"), 2)
    rows = sorted(FileReader(str(tmp_path / "x0")).get_next(), key=lambda row: row["c"])
    assert [row["b"].shape for row in rows] == [(k, 2) for k in range(1, 5)]
    assert FileReader(str(tmp_path / "x0")).schema()["b"] == {"type": "float32", "shape": [-1, 2]}
    with pytest.raises(DataError, match="is there already"):
        source.save(str(tmp_path / "x"), 2)
    with pytest.raises(DataError, match=r"column 'a' of row 1 is .*, the first row has another dtype or shape"):
        ds.GeneratorDataset([np.ones((2, k)) for k in (1, 2)], ["a"], shuffle=False).save(str(tmp_path / "y"))
    with pytest.raises(DataError, match="beyond int64"):
        ds.NumpySlicesDataset({"a": np.array([2**63], np.uint64)}).save(str(tmp_path / "y"))
    with pytest.raises(DataError, match="has no rows"):
        ds.NumpySlicesDataset({"a": [1]}).filter(lambda a: a > 1).save(str(tmp_path / "y"))


# ---- what is refused


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({}, "must be a dict that is not empty"),
        ([], "must be a dict that is not empty"),
        ({"a b": {"type": "int32"}}, "'a b' is no name of a field"),
        ({1: {"type": "int32"}}, "1 is no name of a field"),
        ({"a": {"type": "int8"}}, "field 'a' is of 'int8', allowed are int32"),
        ({"a": {"type": "string", "shape": [-1]}}, "field 'a' is of 'string'"),
        ({"a": {"type": "int32", "shape": []}}, "must be a list of sizes"),
        ({"a": {"type": "int32", "shape": [-1, -1]}}, "one of which may be -1"),
        ({"a": {"type": "int32", "size": 1}}, 'with "shape" if it is an array'),
        ({"a": "int32"}, r'must be \{"type"'),
    ],
)
def test_schemas_that_are_none(schema, message, tmp_path):
    with pytest.raises((ArgumentTypeError, ArgumentValueError), match=message):
        FileWriter(str(tmp_path / "x")).add_schema(schema)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({}, "field 'a' of row 0 is missing"),
        ({"a": 2**31}, "is 2147483648, which is beyond int32"),
        ({"a": True}, "is bool True"),
        ({"a": np.int64(1)}, "is int64"),
        ({"a": 1.0}, "is float 1.0"),
        ({"a": 1, "x": [1]}, "is list"),
        ({"a": 1, "x": np.ones(2)}, "an array of float64"),
        ({"a": 1, "x": np.ones(3, np.int32)}, r"has the shape \[3\], the schema says \[2\]"),
        ({"a": 1, "x": np.ones(2, np.int32), "s": "\ud800"}, "has characters that UTF-8 has not"),
        ({"a": 1, "x": np.ones(2, np.int32), "s": "", "f": 1}, "is int 1"),
    ],
)
def test_rows_that_do_not_fit(row, message, tmp_path):
    writer = FileWriter(str(tmp_path / "x"))
    writer.add_schema({
        "a": {"type": "int32"}, "x": {"type": "int32", "shape": [2]}, "s": {"type": "string"}, "f": {"type": "float64"},
    })  # fmt: skip
    good = {"a": 1, "x": np.ones(2, np.int32), "s": "", "f": 1.0}
    with pytest.raises(DataError, match=message):
        writer.write_raw_data([good | row if row else {}])


@pytest.mark.parametrize(
    ("action", "error", "message"),
    [
        (lambda w: w.write_raw_data({"a": 1}), ArgumentTypeError, "must be a list of dicts, got dict"),
        (lambda w: w.write_raw_data([1]), ArgumentTypeError, "it holds int"),
        (lambda w: w.write_raw_data([]), DataError, "there is no row"),
        (lambda w: w.write_raw_data([{"a": "x" * 33000}]), DataError, "a row has 33.* bytes, pages have 32768"),
        (lambda w: w.add_index(["q"]), ArgumentValueError, "'q' is no field of one number or text"),
        (lambda w: w.add_index(["b"]), ArgumentValueError, "'b' is no field of one number or text"),
        (lambda w: w.add_index("a"), ArgumentTypeError, "must be a list of names"),
        (lambda w: w.add_schema({"c": {"type": "int32"}}), ArgumentValueError, "there is a schema already"),
        (lambda w: w.set_page_size(100), ArgumentValueError, "page_size must be from 32768"),
        (lambda w: w.set_header_size(1 << 30), ArgumentValueError, "header_size must be from 16384"),
    ],
)
def test_writers_refuse(action, error, message, tmp_path):
    writer = FileWriter(str(tmp_path / "x"))
    writer.set_page_size(1 << 15)
    writer.add_schema({"a": {"type": "string"}, "b": {"type": "bytes"}})
    with pytest.raises(error, match=message):
        action(writer) if "33" not in message else writer.write_raw_data([{"a": "x" * 33000, "b": b""}])


@pytest.mark.parametrize(
    ("action", "error", "message"),
    [
        (lambda: FileWriter("x", 0), ArgumentValueError, "shard_num must be from 1 to 1000"),
        (lambda: FileWriter("x:y"), ArgumentValueError, "no name of a MindRecord file"),
        (lambda: FileWriter(1), ArgumentTypeError, "a file name must be a str"),
        (lambda: FileWriter("x", overwrite=1), ArgumentTypeError, "overwrite must be a bool"),
        (lambda: FileWriter("x").write_raw_data([{"a": 1}]), DataError, "add_schema comes before"),
        (lambda: FileReader("no/such"), ArgumentValueError, "there is no file"),
        (lambda: FileReader([]), ArgumentValueError, "the list of files is empty"),
        (lambda: set_enc_key("0123456789012345"), ArgumentValueError, "GC112"),
        (lambda: set_enc_mode("SM4-CBC"), ArgumentValueError, "GC112"),
        (lambda: set_dec_mode(len), ArgumentValueError, "GC112"),
    ],
)
def test_arguments(action, error, message):
    with pytest.raises(error, match=message):
        action()


def test_no_key_is_no_encryption():
    set_enc_key(None)
    set_enc_mode()
    set_dec_mode(None)


def test_names_that_no_index_has(tmp_path):
    for fields, message in ((("A", "a"), "in capitals only"), (("0a",), "begins with a digit")):
        writer = FileWriter(str(tmp_path / "x"))
        writer.add_schema({name: {"type": "int32"} for name in fields})
        with pytest.raises(ArgumentValueError, match=message):
            writer.write_raw_data([dict.fromkeys(fields, 1)])


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"columns_list": ["q"]}, DataError, "columns_list has 'q', the fields are"),
        ({"columns_list": "i"}, ArgumentTypeError, "columns_list must be a list"),
        ({"cache": 1}, ArgumentTypeError, "GC112"),
        ({"shuffle": 1}, ArgumentTypeError, "shuffle must be a bool or a Shuffle"),
        ({"sampler": ds.SequentialSampler(), "shuffle": True}, ArgumentValueError, "exclude each other"),
        ({"num_shards": 2, "shard_id": 2}, ArgumentValueError, "below num_shards"),
        (
            {"columns_list": ["i"], "padded_sample": {"i": 2**40}, "num_padded": 1},
            ArgumentValueError,
            "which is no int32",
        ),
        ({"columns_list": ["i"], "padded_sample": 1, "num_padded": 1}, ArgumentTypeError, "must be a dict"),
        (
            {"columns_list": ["i"], "padded_sample": {"i": 1}, "num_padded": 2, "num_shards": 3, "shard_id": 0},
            DataError,
            "no multiple of 3 shares",
        ),
    ],
)
def test_arguments_of_data_sets(options, error, message, folder):
    with pytest.raises(error, match=message):
        ds.MindDataset(str(folder / "all"), **options)


def test_files_that_do_not_belong_together(folder):
    with pytest.raises(DataError, match="has other fields than all"):
        ds.MindDataset([str(folder / "all"), str(folder / "raw")])


def test_samples_that_fill_up():
    padding = ds.PaddedDataset([{"a": 1, "b": np.ones(2)}, {"a": 2, "b": np.ones(3), "c": 0}])
    assert padding.get_col_names() == ["a", "b"]
    whole = ds.NumpySlicesDataset({"a": [5], "b": np.zeros((1, 2))}, shuffle=False) + padding
    assert [int(row[0]) for row in whole.create_tuple_iterator(num_epochs=1, output_numpy=True)] == [5, 1, 2]
    for samples, error, message in (
        ([], ArgumentValueError, "is empty"),
        ((), ArgumentTypeError, "must be a list"),
        ([1], ArgumentTypeError, "must hold dicts"),
        ([{"a": 1}, {"b": 1}], ArgumentValueError, "sample 1 has no 'a'"),
    ):
        with pytest.raises(error, match=message):
            ds.PaddedDataset(samples)
