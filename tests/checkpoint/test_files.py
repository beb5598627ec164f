"""Files of checkpoints: dtypes, links, modes, names, leftovers, memory, damage, random states."""

from __future__ import annotations

import contextlib
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tracemalloc
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import graphc
from graphc import Parameter, Tensor, nn, ops
from graphc.checkpoint import load_checkpoint, load_param_into_net, save_checkpoint
from graphc.errors import CheckpointError
from graphc.files import write_atomic

ROOT = Path(__file__).parents[2]


def test_bfloat16(tmp_path):
    values = np.array([1.0, -2.5, np.inf], ml_dtypes.bfloat16)
    path = save_checkpoint([Parameter(Tensor(values), name="p")], tmp_path / "a")
    loaded = load_checkpoint(path)["p"]
    assert loaded.tensor_type.dtype == "bfloat16"
    assert loaded.storage.tobytes() == values.tobytes()
    net = nn.Dense(3, 2).to_float(graphc.bfloat16)
    load_param_into_net(net, {"weight": Parameter(Tensor(np.ones((2, 3), ml_dtypes.bfloat16)), name="weight")})
    assert (net.weight.asnumpy() == 1).all()


def test_other_libraries_read_every_dtype(tmp_path):
    from safetensors.numpy import load_file, save_file

    dtypes = ("float64", "float32", "float16", "int64", "int32", "int16", "int8", "uint8", "bool",
        "uint16", "uint32", "uint64", "complex64",
    )  # fmt: skip
    arrays = {d: np.arange(3).astype(d) for d in dtypes}
    arrays |= {"empty": np.zeros((0, 3), np.float32), "number": np.array(5, np.int16), "Ä\n": np.ones(1)}
    ours = save_checkpoint({n: Tensor(a) for n, a in arrays.items()}, tmp_path / "ours.safetensors")
    save_file(arrays, tmp_path / "theirs")
    for read in (load_file(ours), {n: t.asnumpy() for n, t in load_checkpoint(tmp_path / "theirs").items()}):
        assert {n: (a.dtype, a.shape, a.tobytes()) for n, a in read.items()} == {
            n: (a.dtype, a.shape, a.tobytes()) for n, a in arrays.items()
        }


# ---- the file


def test_links_and_modes_stay(tmp_path):
    real, link = tmp_path / "real", tmp_path / "link.safetensors"
    save_checkpoint({"x": Tensor([1.0])}, tmp_path / "real.ckpt").rename(real)
    real.chmod(0o600)
    link.symlink_to("real")
    assert save_checkpoint({"x": Tensor([2.0])}, link) == link
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o600
    assert load_checkpoint(real)["x"].asnumpy() == [2]
    (tmp_path / "dangling.safetensors").symlink_to("folder")
    save_checkpoint({"x": Tensor([3.0])}, tmp_path / "dangling.safetensors")
    assert load_checkpoint(tmp_path / "folder")["x"].asnumpy() == [3]


@pytest.mark.parametrize("name", ["权" * 83 + ".ckpt", "x" * 250 + ".ckpt", "x" * 243 + ".safetensors"])
def test_names_may_be_as_long_as_the_system_allows(tmp_path, name):
    assert list(load_checkpoint(save_checkpoint({"x": Tensor([1.0])}, tmp_path / name))) == ["x"]


def test_a_full_disk_names_the_file(tmp_path):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        with pytest.raises(OSError, match=r"large\.safetensors") as caught:
            save_checkpoint({"x": Tensor(np.zeros(5000))}, tmp_path / "large.safetensors")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert caught.value.filename == str(tmp_path / "large.safetensors")
    assert list(tmp_path.iterdir()) == []


_KILLED = """
import os, sys, time
sys.path[:0] = [{root!r}, {root!r} + "/codegen"]
from pathlib import Path
from graphc.files import write_atomic
def parts():
    yield b"half"
    print("writing", flush=True)
    time.sleep(60)
write_atomic(Path({path!r}), parts())
"""


def test_what_a_killed_process_has_left_goes_at_the_next_save(tmp_path):
    path = tmp_path / "a"
    script = _KILLED.format(root=str(ROOT), path=str(path))
    writer = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    assert writer.stdout is not None
    assert writer.stdout.readline() == b"writing\n"
    write_atomic(path, b"other")  # Leaves what is being written alone.
    assert len(list(tmp_path.iterdir())) == 2
    writer.kill()
    writer.communicate()
    assert len(list(tmp_path.iterdir())) == 2
    write_atomic(path, b"next")
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_what_is_no_file_stays_what_it_is(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert write_atomic(pipe, b"a", [b"b", memoryview(b"c")]) == pipe
        assert os.read(reader, 10) == b"abc"
    finally:
        os.close(reader)
    assert pipe.is_fifo()
    assert [p.name for p in tmp_path.iterdir()] == ["pipe"]


# ---- memory


def test_saving_and_loading_take_little_memory(tmp_path):
    count, size = 8, 4 << 20
    params = [Parameter(np.zeros(size // 4, np.float32), name=f"p{i}") for i in range(count)]
    path = tmp_path / "a"
    tracemalloc.start()
    try:
        save_checkpoint(params, path)
        assert tracemalloc.get_traced_memory()[1] < size / 4
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        loaded = load_checkpoint(path)
        assert tracemalloc.get_traced_memory()[1] - before < (count + 3) * size
    finally:
        tracemalloc.stop()
    assert len(loaded) == count


def test_a_file_that_memory_cannot_hold(tmp_path):
    path = tmp_path / "a.safetensors"
    size = 1 << 50
    header = json.dumps({"x": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    with pytest.raises(CheckpointError, match="damaged or no safetensors file"):
        load_checkpoint(path)
    size = 1 << 42  # Sparse: takes no place on the disk.
    header = json.dumps({"x": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    try:
        os.truncate(path, 8 + len(header) + size)
    except OSError:
        pytest.skip("no files of that size here")
    with pytest.raises(CheckpointError, match="does not fit into memory"):
        load_checkpoint(path)


# ---- damage

HEADERS = [
    b"[" * 100_000,
    b"5",
    b"[]",
    b'{"x":5}',
    b'{"x":{"dtype":[],"shape":[1],"data_offsets":[0,4]}}',
    b'{"x":{"dtype":"F32","shape":"1","data_offsets":[0,4]}}',
    b'{"x":{"dtype":"F32","shape":[-1],"data_offsets":[0,-4]}}',
    b'{"x":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}}',
    b'{"x":{"dtype":"F32","shape":[1],"data_offsets":[0]}}',
    b'{"x":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}',
    b'{"x":{"dtype":"F32","shape":[9999999999,9999999999],"data_offsets":[0,4]}}',
    b'{"x":{"dtype":"F32","shape":' + str([1] * 100).encode() + b',"data_offsets":[0,4]}}',
    b'{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"y":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}',
]


@pytest.mark.parametrize("header", HEADERS)
def test_headers_that_are_none(tmp_path, header):
    path = tmp_path / "a"
    path.write_bytes(len(header).to_bytes(8, "little") + header + b"\x00" * 4)
    with pytest.raises(CheckpointError):
        load_checkpoint(path)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32), count=st.integers(1, 6))
@example(seed=0, count=1)
def test_mutated_files_load_or_say_so(tmp_path, seed, count):
    path = save_checkpoint({"a": Tensor([1.0, 2.0]), "b": Tensor([[True]]), "c": Tensor(3)}, tmp_path / "a")
    draw = random.Random(seed)
    data = bytearray(path.read_bytes())
    for _ in range(count):
        at = draw.randrange(len(data))
        data[at : at + draw.randrange(3)] = draw.randbytes(draw.randrange(3))
    path.write_bytes(data)
    with contextlib.suppress(CheckpointError):
        load_checkpoint(path)


# ---- random states


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first = nn.Dense(4, 8)
        self.layers = nn.SequentialCell(nn.Dropout(p=0.5), nn.Dense(8, 1))

    def construct(self, x):
        return ops.reduce_mean(self.layers(self.first(x)) ** 2)


def trained(steps, path=None, save=None):
    graphc.set_seed(3 if path is None else 99)
    net = Net()
    step = nn.TrainOneStepCell(net, nn.Adam(net.trainable_params(), 0.01)).set_train()
    if path is not None:
        missing, unexpected = load_param_into_net(step, load_checkpoint(path), strict_load=True)
        assert (missing, unexpected) == ([], [])
    x = Tensor(np.ones((16, 4), np.float32))
    losses = []
    for i in range(steps):
        if i == save:
            save_checkpoint(step, "checkpoint")
        losses.append(step(x).asnumpy().tobytes())
    return losses, step


def test_a_run_with_dropout_continues_bit_for_bit(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    whole, _ = trained(6, save=3)
    assert set(load_checkpoint("checkpoint")) >= {"first.weight", "network.layers.0.state"}
    assert trained(3, "checkpoint")[0] == whole[3:]


def test_files_without_random_states_load(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    _, step = trained(2)
    older = {p.name: p for p in step.get_parameters()}
    save_checkpoint(older, "older")
    state = step.network.layers[0].state.item()
    assert load_param_into_net(step, load_checkpoint("older"), strict_load=True) == ([], [])
    assert step.network.layers[0].state.item() == state


def test_files_of_torch_and_pickle_are_named(tmp_path):
    for begin in (b"PK\x03\x04", b"\x80\x02", b"\x80\x05"):
        path = tmp_path / "a.ckpt"
        path.write_bytes(begin + b"abcdef")
        with pytest.raises(CheckpointError, match="damaged or no ckpt file") as caught:
            load_checkpoint(path)
        assert "torch.save" in caught.value.help
