"""The .ckpt format against the library of Protocol Buffers; files that are cut off, mutated or made to do harm."""

from __future__ import annotations

import contextlib
import random
import tracemalloc

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from graphc import ArgumentValueError, CheckpointError, Parameter, Tensor, load_checkpoint, save_checkpoint
from graphc.errors import ArgumentTypeError

from .messages import Checkpoint

TENSORS = {
    "a": Tensor(np.array([1.0, 2.0], np.float32)),
    "b": Tensor(np.array([[True]])),
    "n": Tensor(np.array(3, np.int64)),
    "h": Tensor(np.ones((2, 0, 3), np.float16)),
}


def saved(path, **options):
    return save_checkpoint(TENSORS, path / "a.ckpt", append_dict={"text": "häß 权"}, **options)


def message(**values):
    """A Checkpoint of tensors: dims, type, content by name."""
    made = Checkpoint()
    for name, (dims, kind, content) in values.items():
        value = made.value.add(tag=name)
        value.tensor.dims.extend(dims)
        value.tensor.tensor_type, value.tensor.tensor_content = kind, content
    return made


def load(path, data):
    (path / "x.ckpt").write_bytes(data)
    return load_checkpoint(path / "x.ckpt")


def test_the_library_reads_what_is_written(tmp_path):
    read = Checkpoint.FromString(saved(tmp_path).read_bytes())
    assert {v.tag: (list(v.tensor.dims), v.tensor.tensor_type, v.tensor.tensor_content) for v in read.value} == {
        "a": ([2], "Float32", np.array([1, 2], np.float32).tobytes()),
        "b": ([1, 1], "Bool", b"\x01"),
        "n": ([], "Int64", b"\x03" + bytes(7)),
        "h": ([2, 0, 3], "Float16", b""),
        "text": ([0], "str", "häß 权".encode("utf-32-le")),
    }


def test_what_the_library_writes_is_read(tmp_path):
    written = message(
        x=([2], "Int8", b"\x01\x02"), empty=([0], "Float32", b""), one=([0], "Int8", b"\x07"), t=([0], "str", b"")
    )
    loaded = load(tmp_path, written.SerializeToString())
    assert {n: v if isinstance(v, str) else v.asnumpy().tolist() for n, v in loaded.items()} == {
        "x": [1, 2], "empty": [], "one": 7, "t": "",
    }  # fmt: skip
    assert isinstance(loaded["x"], Parameter)
    # Fields in another order, dims in one field, and fields of later versions.
    tensor = b"\x1a\x02\x01\x02" + b"\x12\x04Int8" + b"\x0a\x02\x02\x01" + b"\x20\x05" + b"\x2d1234"
    value = b"\x12" + bytes([len(tensor)]) + tensor + b"\x0a\x01x" + b"\x31" + bytes(8)
    data = b"\x0a" + bytes([len(value)]) + value + b"\x12\x01z"
    assert list(Checkpoint.FromString(data).value[0].tensor.dims) == [2, 1]
    assert load(tmp_path, data)["x"].asnumpy().tolist() == [[1], [2]]


TEXTS = ["", "plain", "a\0b", "ends\0", "json:5", "json:", "\ud800", "\0"]


@pytest.mark.parametrize("suffix", ["ckpt", "safetensors"])
def test_texts_and_json_come_back_as_they_were(tmp_path, suffix):
    given = {str(i): text for i, text in enumerate(TEXTS)}
    given |= {"state": {"epoch": 3, "order": [1, 2.5, None, True], "": {}}, "empty": {}}
    path = save_checkpoint({}, tmp_path / f"a.{suffix}", append_dict=given)
    assert load_checkpoint(path) == given
    assert load(tmp_path, message(x=([0], "str", "json:{".encode("utf-32-le"))).SerializeToString()) == {"x": "json:{"}


def test_entries_stand_in_the_order_in_which_they_were_given(tmp_path):
    appended = {"note": "text", "epoch": 3, "state": {"a": 1}, "rate": 0.5}
    path = save_checkpoint(TENSORS, tmp_path / "a.ckpt", append_dict=appended)
    assert list(load_checkpoint(path)) == [*TENSORS, *appended]


@pytest.mark.parametrize(
    "value", [None, [1], {"x": (1,)}, {1: 2}, {"x": {2: 3}}, {"x": b""}, b"", np.ones(2), object()]
)
def test_what_cannot_be_appended(tmp_path, value):
    with pytest.raises(ArgumentTypeError, match="'x'"):
        save_checkpoint(TENSORS, tmp_path / "a.ckpt", append_dict={"x": value})
    with pytest.raises(ArgumentTypeError, match="append_dict must be a dict"):
        save_checkpoint(TENSORS, tmp_path / "a.ckpt", append_dict=[("x", value)])
    assert list(tmp_path.iterdir()) == []


def test_an_appended_name_that_is_taken(tmp_path):
    with pytest.raises(ArgumentValueError, match="two parameters are named 'a'") as caught:
        save_checkpoint(TENSORS, tmp_path / "x.ckpt", append_dict={"a": 1})
    assert caught.value.code == "GC141"


# ---- damage


def test_every_truncation_is_an_error_or_a_shorter_file(tmp_path):
    """Between two entries nothing tells, except a CRC."""
    whole, crc = saved(tmp_path).read_bytes(), saved(tmp_path, crc_check=True).read_bytes()
    names = [*TENSORS, "text"]
    entries = []
    for length in range(len(whole)):
        with contextlib.suppress(CheckpointError):
            entries.append(list(load(tmp_path, whole[:length])))
    assert entries == [names[:k] for k in range(1, 5)]
    for length in range(len(crc) - 16, len(crc)):
        with pytest.raises(CheckpointError, match="damaged or no ckpt file"):
            load(tmp_path, crc[:length])


@pytest.mark.parametrize("suffix", ["ckpt", "safetensors"])
def test_a_crc_finds_one_other_bit(tmp_path, suffix):
    path = save_checkpoint(TENSORS, tmp_path / f"a.{suffix}", crc_check=True)
    assert list(load_checkpoint(path, crc_check=True)) == [*load_checkpoint(path)]
    data = bytearray(path.read_bytes())
    data[data.index(np.array([1, 2], np.float32).tobytes()) + 2] ^= 1
    path.write_bytes(data)
    load_checkpoint(path)
    with pytest.raises(CheckpointError, match="do not have the CRC that it gives"):
        load_checkpoint(path, crc_check=True)


def _varint(value):
    made = b""
    while value > 0x7F:
        made, value = made + bytes([value & 0x7F | 0x80]), value >> 7
    return made + bytes([value])


def framed(dims, kind, content=b""):
    """A Value with dims in one field."""
    tensor = (
        b"\x0a"
        + _varint(len(dims))
        + dims
        + b"\x12"
        + _varint(len(kind))
        + kind
        + b"\x1a"
        + _varint(len(content))
        + content
    )
    inside = b"\x0a\x01x\x12" + _varint(len(tensor)) + tensor
    return b"\x0a" + _varint(len(inside)) + inside


HOSTILE = {
    "nothing": (b"", "it holds nothing"),
    "pickle": (b"\x80\x04\x95\x0f\x00\x00\x00\x00", "tells of"),
    "unknown fields": (b"\x12\x01z", "it holds nothing"),
    "zip": (b"PK\x03\x04" + bytes(30), "begins no field"),
    "a length of 2**63": (b"\x0a" + b"\xff" * 8 + b"\x7f", "are left"),
    "a number without end": (b"\x0a" + b"\xff" * 20, "begins no number"),
    "a number of 70 bits": (b"\x0a" + b"\xff" * 9 + b"\x7f", "begins no number"),
    "a group": (b"\x0b\x0c", "begins no field"),
    "field 0": (b"\x02\x00", "tells of"),
    "field 2**29": (b"\x82\x80\x80\x80\x10\x00", "tells of"),
    "an empty value": (b"\x0a\x00", "no name or no tensor"),
    "no tensor": (b"\x0a\x03\x0a\x01x", "no name or no tensor"),
    "an empty tensor": (b"\x0a\x05\x0a\x01x\x12\x00", "no type or no content"),
    "two names": (b"\x0a\x06\x0a\x01x\x0a\x01y", "has no entry"),
    "a number for a name": (b"\x0a\x02\x08\x01", "has no entry"),
    "a name of bytes": (message(x=([1], "Int8", b"1")).SerializeToString().replace(b"\x01x", b"\x01\xff"), "no UTF-8"),
    "dims of 2**62": (message(x=([1 << 62] * 2, "Int8", b"")).SerializeToString(), "impossible shape"),
    "dims of 2**40": (message(x=([1 << 40], "Int8", b"1")).SerializeToString(), "its shape needs 1099511627776"),
    "negative dims": (message(x=([-1, -1], "Int8", b"1")).SerializeToString(), "impossible shape"),
    "100 axes": (message(x=([1] * 100, "Int8", b"1")).SerializeToString(), "impossible shape"),
    "a million axes in one field": (framed(b"\x01" * (1 << 20), b"Int8", b"1"), "impossible shape"),
    "fields without end": (b"\x0a\xac\x02" + b"\x28\x01" * 150, "more than 128 fields"),
    "40 axes": (message(x=([1] * 40, "Int8", b"1")).SerializeToString(), "impossible shape"),
    "too little": (message(x=([3], "Int16", b"12345")).SerializeToString(), "has 5 bytes, its shape needs 6"),
    "too much": (message(x=([3], "Int16", b"1234567")).SerializeToString(), "has 7 bytes, its shape needs 6"),
    "another dtype": (message(x=([1], "Int4", b"1")).SerializeToString(), "'x' has dtype Int4"),
    "a long dtype": (message(x=([1], "I" * 65, b"1")).SerializeToString(), "a name of 65 bytes"),
    "a text of three bytes": (message(x=([0], "str", b"123")).SerializeToString(), "'x' is no text"),
    "a text of no characters": (message(x=([0], "str", b"\xff" * 4)).SerializeToString(), "'x' is no text"),
    "another": (
        b"".join(message(**{n: ([1], "Int8", b"1")}).SerializeToString() for n in "xyx"), "two entries named 'x'",
    ),
    "pieces": (
        message(x=([2], "Int8", b"1")).SerializeToString() + message(x=([1], "Int8", b"1")).SerializeToString(), "differ",
    ),
    "a map": (b"\x0a\x05\x0a\x01x\x1a\x00", "'x' is a MapTensor"),
}  # fmt: skip


@pytest.mark.parametrize("title", HOSTILE)
def test_files_made_to_do_harm(tmp_path, title):
    data, reason = HOSTILE[title]
    (tmp_path / "x.ckpt").write_bytes(data)
    tracemalloc.start()
    try:
        with pytest.raises(CheckpointError, match=reason) as caught:
            load_checkpoint(tmp_path / "x.ckpt")
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
    assert str(caught.value).count("\n") < 15


def test_a_file_that_memory_cannot_hold(tmp_path):
    """Sparse: it takes no place on the disk."""
    size = 1 << 42
    tensor = b"\x08" + _varint(size) + b"\x12\x05UInt8" + b"\x1a" + _varint(size)
    inside = b"\x0a\x01x" + b"\x12" + _varint(len(tensor) + size) + tensor
    head = b"\x0a" + _varint(len(inside) + size) + inside
    path = tmp_path / "x.ckpt"
    path.write_bytes(head)
    with pytest.raises(CheckpointError, match="damaged or no ckpt file"):
        load_checkpoint(path)
    try:
        with open(path, "r+b") as file:
            file.truncate(len(head) + size)
    except OSError:
        pytest.skip(f"no files of {size} bytes here")
    with pytest.raises(CheckpointError, match="does not fit into memory"):
        load_checkpoint(path)


CORPUS = [
    message(
        x=([2], "Int8", b"12"), y=([], "Float64", bytes(8)), t=([0], "str", "ab".encode("utf-32-le"))
    ).SerializeToString(),
    message(x=([300], "Bool", bytes(300))).SerializeToString(),
    *(data for data, _ in HOSTILE.values() if data),
]


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(which=st.integers(0, len(CORPUS) - 1), seed=st.integers(0, 2**32), count=st.integers(1, 5))
@example(which=0, seed=0, count=1)
def test_mutated_files_are_what_the_library_says_or_an_error(tmp_path, which, seed, count):
    draw = random.Random(seed)
    data = bytearray(CORPUS[which if draw.random() < 0.3 else 0])
    for _ in range(count):
        at = draw.randrange(len(data) + 1)
        data[at : at + draw.randrange(3)] = draw.randbytes(draw.randrange(3))
    try:
        loaded = load(tmp_path, bytes(data))
    except CheckpointError:
        return
    values = Checkpoint.FromString(bytes(data)).value
    contents: dict[str, bytes] = {}
    for v in values:
        contents[v.tag] = contents.get(v.tag, b"") + v.tensor.tensor_content
    assert loaded.keys() == contents.keys()
    for name, value in loaded.items():
        if isinstance(value, Parameter) and str(value.dtype) != "Bool":
            assert value.storage.tobytes() == contents[name]
