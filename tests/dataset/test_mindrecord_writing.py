"""Writing of MindRecord files that fails: nothing of a file is left, or all that was there before."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import sqlite3

import numpy as np
import pytest

from graphc import ArgumentValueError, DataError
from graphc.mindrecord import FileReader, FileWriter

SCHEMA = {"i": {"type": "int32"}, "b": {"type": "bytes"}}


def rows(begin, end):
    return [{"i": k, "b": bytes([k % 256]) * 10} for k in range(begin, end)]


def writer_of(path, **options):
    made = FileWriter(str(path), **options)
    made.set_page_size(1 << 15)
    made.add_schema(SCHEMA)
    return made


def numbers(path):
    return [row["i"] for row in FileReader(str(path)).get_next()]


def full(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def full_at(call, function):
    """A function, whose disk is full when it is called for the so-manyth time only."""
    calls = itertools.count(1)
    return lambda *args: full() if next(calls) == call else function(*args)


def test_many_rows(tmp_path):
    """Their index is written in pieces."""
    writer = writer_of(tmp_path / "x", shard_num=2)
    for begin in range(0, 24000, 8000):
        writer.write_raw_data(rows(begin, begin + 8000))
    writer.commit()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x0", "x0.db", "x1", "x1.db"]
    assert sorted(numbers(tmp_path / "x0")) == list(range(24000))


def test_a_row_that_is_larger_than_a_page(tmp_path):
    writer = writer_of(tmp_path / "x")
    writer.write_raw_data(rows(0, 3))
    with pytest.raises(DataError, match="a row has 40000 bytes, pages have 32768"):
        writer.write_raw_data([*rows(3, 4), {"i": 4, "b": bytes(40000)}])
    writer.write_raw_data(rows(5, 6))
    writer.commit()
    assert numbers(tmp_path / "x") == [0, 1, 2, 5]


def test_a_head_that_is_too_small(tmp_path):
    writer = FileWriter(str(tmp_path / "x"))
    writer.set_header_size(1 << 14)
    writer.set_page_size(1 << 15)
    writer.add_schema({f"a_field_with_a_long_name_{k:04}": {"type": "int32"} for k in range(400)})
    writer.write_raw_data([{f"a_field_with_a_long_name_{k:04}": 1 for k in range(400)}])
    with pytest.raises(DataError, match=r"the head needs .* bytes, there are 16384"):
        writer.commit()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("where", ["fsync", "replace"])
def test_a_disk_that_is_full(where, tmp_path, monkeypatch):
    for overwrite in (False, True):
        writer = writer_of(tmp_path / "x", overwrite=overwrite)
        writer.write_raw_data(rows(0, 3))
        with monkeypatch.context() as patched:
            patched.setattr(os, where, full)
            with pytest.raises(DataError, match="cannot be written: No space left"):
                writer.commit()
        assert sorted(p.name for p in tmp_path.iterdir()) == (["x", "x.db"] if overwrite else [])
        if not overwrite:
            first = writer_of(tmp_path / "x")
            first.write_raw_data(rows(7, 9))
            first.commit()
    assert numbers(tmp_path / "x") == [7, 8]


@pytest.mark.parametrize(("overwrite", "call"), [(False, 1), (False, 4), (False, 6), (True, 5), (True, 11), (True, 12)])
def test_all_files_of_a_set_appear_or_none(overwrite, call, tmp_path, monkeypatch):
    if overwrite:
        first = writer_of(tmp_path / "x", shard_num=3)
        first.write_raw_data(rows(7, 13))
        first.commit()
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    writer = writer_of(tmp_path / "x", shard_num=3, overwrite=overwrite)
    writer.write_raw_data(rows(0, 6))
    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", full_at(call, os.replace))
        with pytest.raises(DataError, match="cannot be written: No space left"):
            writer.commit()
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_files_give_way(tmp_path):
    for begin in (0, 10):
        writer = writer_of(tmp_path / "x", shard_num=2, overwrite=True)
        writer.write_raw_data(rows(begin, begin + 4))
        writer.commit()
        writer.discard()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["x0", "x0.db", "x1", "x1.db"]
    assert numbers(tmp_path / "x0") == [10, 11, 12, 13]


def test_a_writer_that_has_failed(tmp_path, monkeypatch):
    """It does not say that all is well."""
    writer = writer_of(tmp_path / "x")
    writer.write_raw_data(rows(0, 3))
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(DataError, match="No space left"):
            writer.commit()
    for action in (writer.commit, lambda: writer.write_raw_data(rows(3, 4))):
        with pytest.raises(DataError, match="the files were discarded"):
            action()


def test_an_index_that_cannot_be_written(tmp_path, monkeypatch):
    writer = writer_of(tmp_path / "x")
    writer.write_raw_data(rows(0, 3))

    def broken(*_):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr("graphc.mindrecord.writing.write_index", broken)
    with pytest.raises(DataError, match="cannot be written: database or disk is full"):
        writer.commit()
    assert list(tmp_path.iterdir()) == []


def test_rows_that_were_to_be_added(tmp_path):
    first = writer_of(tmp_path / "x")
    first.write_raw_data(rows(0, 5))
    first.commit()
    before = [(tmp_path / name).read_bytes() for name in ("x", "x.db")]
    writer = FileWriter.open_for_append(str(tmp_path / "x"))
    writer.write_raw_data(rows(5, 8))
    del writer
    assert [(tmp_path / name).read_bytes() for name in ("x", "x.db")] == before
    writer = FileWriter.open_for_append(str(tmp_path / "x"))
    with pytest.raises(DataError, match="field 'b' of row 5 is missing"):
        writer.write_raw_data([{"i": 1}])
    writer.commit()
    assert numbers(tmp_path / "x") == list(range(5))


def test_rows_that_cannot_be_added(tmp_path, monkeypatch):
    """The index is locked, or the disk is full when the head of the first or the second file is written."""
    first = writer_of(tmp_path / "x", shard_num=2)
    first.write_raw_data(rows(0, 5))
    first.commit()

    def added():
        writer = FileWriter.open_for_append(str(tmp_path / "x0"))
        writer.write_raw_data(rows(5, 9))
        return writer

    def at_once(path, connect=sqlite3.connect, **options):
        return connect(path, timeout=0, **options)

    with contextlib.closing(sqlite3.connect(tmp_path / "x1.db")) as other, monkeypatch.context() as patched:
        patched.setattr(sqlite3, "connect", at_once)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(DataError, match="cannot be written: database is locked"):
            added().commit()
        other.rollback()
    assert numbers(tmp_path / "x0") == [0, 1, 2, 3, 4]
    for call in (1, 2, 3, 4):
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", full_at(call, os.fsync))
            with pytest.raises(DataError, match="cannot be written: No space left"):
                added().commit()
        assert numbers(tmp_path / "x0") == [0, 1, 2, 3, 4]
    added().commit()
    assert sorted(numbers(tmp_path / "x0")) == list(range(9))


def test_directories(tmp_path):
    with pytest.raises(ArgumentValueError, match="there is no directory"):
        writer_of(tmp_path / "no/x").write_raw_data(rows(0, 1))
    (tmp_path / "x").mkdir()
    with pytest.raises(ArgumentValueError, match="is a directory"):
        writer_of(tmp_path / "x", overwrite=True).write_raw_data(rows(0, 1))
    assert [p.name for p in tmp_path.iterdir()] == ["x"]


def test_what_stays_in_the_index(tmp_path):
    """NaN and infinity, and numbers that MindSpore's own writer ends the process at."""
    writer = FileWriter(str(tmp_path / "x"))
    writer.add_schema({"d": {"type": "float64"}})
    values = [float("nan"), float("inf"), -float("inf"), -0.0, 5e-324, 1e300]
    writer.write_raw_data([{"d": v} for v in values])
    writer.commit()
    got = [row["d"] for row in FileReader(str(tmp_path / "x")).get_next()]
    assert np.array_equal(got, values, equal_nan=True)
