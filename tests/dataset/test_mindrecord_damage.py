"""MindRecord files that are damaged: an error that names the file, or the right rows; blobs alone have nothing to tell by."""

from __future__ import annotations

import base64
import json
import os
import sqlite3
import zlib
from pathlib import Path

import numpy as np
import pytest

from graphc import DataError, GraphcError
from graphc.mindrecord import FileReader, FileWriter
from graphc.mindrecord.layout import BLOB, read_header
from tests.recorders import recorder

RECORDED = json.loads((Path(__file__).parents[1] / "data/ms_records.json").read_text())["files"]["all"]
DATA, INDEX = (zlib.decompress(base64.b64decode(packed)) for packed in RECORDED)
probe = recorder("ms_records")
#: Bytes that are there, by what they are.
HEAD = range(int.from_bytes(DATA[:8], "little") + 8)


@pytest.fixture
def path(tmp_path):
    (tmp_path / "x").write_bytes(DATA)
    (tmp_path / "x.db").write_bytes(INDEX)
    return tmp_path / "x"


def read(path):
    return [{k: probe.plain(v) for k, v in row.items()} for row in FileReader(str(path)).get_next()]


def outcome(path):
    """The rows, or the code of the error; anything else is raised."""
    try:
        return read(path)
    except GraphcError as error:
        assert "x" in error.message  # noqa: PT017
        return error.code


def parts(path):
    header = read_header("test", path)
    sizes = {p.kind: range(header.place(p.number), header.place(p.number) + p.size) for p in header.pages}
    return sizes[BLOB], sizes["RAW_DATA"]


def flipped(data, place, mask):
    made = bytearray(data)
    made[place] ^= mask
    return bytes(made)


def test_a_byte_of_the_head_that_differs(path):
    right = read(path)
    for place in HEAD:
        path.write_bytes(flipped(DATA, place, (1, 0x80, 0xFF, 3)[place % 4]))
        assert outcome(path) in (right, "GC205"), place


def test_a_byte_of_the_raw_data_that_differs(path):
    """All fields of one value are in the index. The sign of a zero alone makes no difference."""
    right = read(path)
    for place in parts(path)[1]:
        path.write_bytes(flipped(DATA, place, (1, 0x40, 0xFF)[place % 3]))
        assert outcome(path) in (right, "GC205"), place


def test_a_byte_of_the_blobs_that_differs(path):
    """Lengths and packed ints tell; values do not, and stay of their shapes."""
    right = read(path)
    blobs = parts(path)[0]
    got = []
    for place in blobs:
        path.write_bytes(flipped(DATA, place, (1, 0x80, 0xFF)[place % 3]))
        got.append(outcome(path))
    assert any(g == "GC205" for g in got)
    for rows in got:
        if rows != "GC205":
            assert [{k: v[0] for k, v in row.items()} for row in rows] == [
                {k: v[0] for k, v in row.items()} for row in right
            ]


def test_a_file_that_is_cut_off(path):
    blobs, raw = parts(path)
    rng = np.random.default_rng(0)
    for cut in (*range(0, len(HEAD), 7), *blobs[::3], *raw, *rng.integers(0, len(DATA), 20).tolist()):
        path.write_bytes(DATA[:cut])
        with pytest.raises(DataError, match="GC205"):
            read(path)


def test_an_index_with_a_byte_that_differs(path):
    right = read(path)
    there = np.flatnonzero(np.frombuffer(INDEX, np.uint8))
    rng = np.random.default_rng(1)
    for place in there[::4].tolist():
        path.with_name("x.db").write_bytes(flipped(INDEX, place, int(rng.integers(1, 256))))
        assert outcome(path) in (right, "GC205"), place


def test_an_index_that_is_cut_off(path):
    right = read(path)
    for cut in range(0, len(INDEX), 331):
        path.with_name("x.db").write_bytes(INDEX[:cut])
        assert outcome(path) in (right, "GC205"), cut
    path.with_name("x.db").unlink()
    with pytest.raises(DataError, match="is not there, the index of x"):
        read(path)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("DELETE FROM INDEXES WHERE ROW_ID = 1", "has 4 rows, the file has 5"),
        ("UPDATE INDEXES SET ROW_ID = 9 WHERE ROW_ID = 1", "has 5 rows, the file has 5"),
        (
            "UPDATE INDEXES SET PAGE_OFFSET_RAW = 0 WHERE ROW_ID = 1",
            "has row 1 elsewhere than where the one before it ends",
        ),
        ("UPDATE INDEXES SET PAGE_OFFSET_BLOB_END = 9999 WHERE ROW_ID = 4", "row 4 elsewhere than where"),
        ("UPDATE INDEXES SET PAGE_ID_BLOB = 1 WHERE ROW_ID = 0", "in another group|in no page"),
        ("UPDATE INDEXES SET ROW_GROUP_ID = 7", "in another group"),
        ("UPDATE INDEXES SET PAGE_ID_RAW = 'x'", "places that are no numbers"),
        ("UPDATE INDEXES SET PAGE_ID_RAW = 4611686018427387904", "in another group|in no page"),
        ("UPDATE INDEXES SET i_0 = 77 WHERE ROW_ID = 2", "field 'i' is 0, the index says 77"),
        ("UPDATE INDEXES SET s_0 = 'other' WHERE ROW_ID = 2", "field 's' is 't2é', the index says 'other'"),
        ("UPDATE INDEXES SET s_0 = CAST(x'ff' AS TEXT)", "is no index, or damaged"),
        ("UPDATE INDEXES SET d_0 = 'text'", "the index says 'text'"),
        ("DROP TABLE INDEXES", "has no table INDEXES"),
    ],
)
def test_an_index_that_says_something_else(statement, message, path):
    base = sqlite3.connect(path.with_name("x.db"))
    with base:
        base.execute(statement)
    base.close()
    with pytest.raises(DataError, match=message):
        read(path)


def test_an_index_that_would_never_end(path):
    base = sqlite3.connect(path.with_name("x.db"))
    with base:
        base.execute("DROP TABLE INDEXES")
        base.execute(
            "CREATE VIEW INDEXES AS WITH RECURSIVE n(ROW_ID) AS (SELECT 0 UNION ALL SELECT ROW_ID + 1 FROM n) SELECT * FROM n"
        )
    base.close()
    with pytest.raises(DataError, match="has no table INDEXES"):
        read(path)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"version":"3.0"', '"version":"9.0"', "is of version '9.0', graphc reads 2.0 and 3.0"),
        ('"type":"bytes"', '"type":"byteS"', "has a damaged head"),
        ('"header_size":16384', '"header_size":16385', "another length|cannot be unpacked|is damaged|is cut off"),
        ('"page_size":32768', '"page_size":32764', "cannot be"),
        ('"end_row_id":5', '"end_row_id":6', "has 5 rows, the file has 6"),
        ('"end_row_id":5', '"end_row_id":9223372036854775807', "is no size"),
        ('"page_id":1', '"page_id":0', "pages are missing"),
        ('"start_row_id":0', '"start_row_id":1', "cannot be in page"),
        ('"shape":[2,2]', '"shape":[2,3]', "has 4 values, its shape is"),
        ('"blob_fields":["b"', '"blob_fields":["i"', "fields do not match"),
        ('"index_field":"d"', '"index_field":"q"', "fields do not match"),
        ('"shard_id":0', '"shard_id":null', "has a damaged head"),
    ],
)
def test_a_head_that_says_something_else(old, new, message, path):
    head = DATA[8 : len(HEAD)].decode().replace(old, new).encode()
    assert head != DATA[8 : len(HEAD)]
    path.write_bytes(len(head).to_bytes(8, "little") + head + bytes(16384 - 8 - len(head)) + DATA[16384:])
    with pytest.raises(DataError, match=message):
        read(path)


def test_files_of_something_else(path):
    for data in (
        b"",
        b"text " * 20000,
        b"\x02" + bytes(7) + b"{}" + bytes(20000),
        (10**6).to_bytes(8, "little") + b"[" * 10**6,
    ):
        path.write_bytes(data)
        with pytest.raises(DataError, match=r"no MindRecord file|a damaged head"):
            read(path)
    path.write_bytes(DATA + bytes(20) + b"ENCRYPT")
    with pytest.raises(DataError, match="is encrypted"):
        read(path)


def test_files_that_become_shorter_while_they_are_read(path):
    reader = FileReader(str(path))
    os.truncate(path, len(DATA) - 30)
    with pytest.raises(DataError, match="has become shorter"):
        list(reader.get_next())
    path.unlink()
    with pytest.raises(DataError, match="cannot be read"):
        list(reader.get_next())


def test_a_reader_that_is_closed(path):
    reader = FileReader(str(path), columns=["i", "x"])
    assert list(next(reader.get_next())) == ["i", "x"]
    reader.close()
    with pytest.raises(DataError, match="it is closed"):
        next(reader.get_next())


def test_files_of_an_older_version(tmp_path):
    """Their ints are not packed; rows are added to files of version 3.0 only."""
    path = tmp_path / "old"
    floats = {"x": {"type": "float32", "shape": [-1]}, "i": {"type": "int32"}}
    probe.write_mind(FileWriter, path, floats, [{"x": np.ones(3, np.float32), "i": 5}], None)
    data = path.read_bytes().replace(b'"version":"3.0"', b'"version":"2.0"')
    path.write_bytes(data)
    assert [(row["x"].tolist(), row["i"]) for row in FileReader(str(path)).get_next()] == [([1.0] * 3, 5)]
    with pytest.raises(DataError, match=r"added to files of version 3\.0 only"):
        FileWriter.open_for_append(str(path))
