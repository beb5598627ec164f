"""MindSpore reads what graphc writes, and the other way round: files that it has written, and itself where it is installed."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from graphc import CheckpointError, Parameter, Tensor, load_checkpoint, load_param_into_net, nn, save_checkpoint

DATA = Path(__file__).parent / "data"
#: Names a Python that has MindSpore 2.10.
SWITCH = "GRAPHC_TEST_MINDSPORE"
DTYPES = ("float16", "float32", "float64", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "bool_")
#: What MindSpore can make a CRC of in a safetensors file.
CHECKED = tuple(n for n in DTYPES if n != "bfloat16")
VALUES = np.array([[1, 0, 2], [3, 1, 0]])


def numpy_of(name):
    return np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)


def check(loaded, names=DTYPES):
    """The parameters that data/with_mindspore.py makes."""
    for name in names:
        array = loaded[name].storage
        assert (array.dtype, array.shape, loaded[name].name) == (numpy_of(name), (2, 3), name)
        np.testing.assert_array_equal(array, VALUES.astype(numpy_of(name)))


@pytest.mark.parametrize("crc_check", [False, True])
@pytest.mark.parametrize("file", ["mindspore.ckpt", "crc.ckpt", "mindspore.safetensors", "crc.safetensors"])
def test_files_of_mindspore(file, crc_check, caplog):
    loaded = load_checkpoint(DATA / file, crc_check=crc_check)
    check(loaded, CHECKED if file == "crc.safetensors" else DTYPES)
    assert ("has no CRC" in caplog.text) == (crc_check and not file.startswith("crc"))
    if file.endswith(".ckpt"):
        assert (loaded["scalar"].shape, loaded["scalar"].item()) == ((), 2.5)
        assert loaded["text"] == "häß 权"
    if file == "mindspore.ckpt":
        numbers = {n: (str(p.dtype), p.shape, p.item()) for n in ("epoch_num", "lr", "flag") for p in [loaded[n]]}
        assert numbers == {
            "epoch_num": ("Int64", (), 3),
            "lr": ("Float32", (), pytest.approx(0.1)),
            "flag": ("Bool", (), True),
        }
        assert loaded["name"] == "résumé"


def test_what_graphc_writes_is_what_mindspore_wrote(tmp_path):
    """To the byte: names, dtypes, shapes and CRC."""
    for file, crc in (("mindspore.ckpt", False), ("crc.ckpt", True)):
        path = save_checkpoint(load_checkpoint(DATA / file), tmp_path / file, crc_check=crc)
        # MindSpore's appended texts stand behind the tensors; graphc's stand behind all tensors.
        ours, theirs = load_checkpoint(path, crc_check=crc), load_checkpoint(DATA / file)
        assert ours.keys() == theirs.keys()
        assert path.stat().st_size == (DATA / file).stat().st_size
    named = load_checkpoint(DATA / "mindspore.safetensors")
    save_checkpoint({n: named[n] for n in DTYPES}, tmp_path / "plain.ckpt")
    start = (tmp_path / "plain.ckpt").read_bytes()
    assert (DATA / "mindspore.ckpt").read_bytes().startswith(start)


def training():
    """As in data/with_mindspore.py."""
    net = nn.SequentialCell(nn.Dense(3, 2), nn.BatchNorm1d(2), nn.LayerNorm((2,)), nn.Embedding(5, 2))
    loss = nn.WithLossCell(net, nn.MSELoss())
    optimizer = nn.Adam(net.trainable_params(), 0.01)
    return nn.TrainOneStepWithLossScaleCell(loss, optimizer, nn.DynamicLossScaleUpdateCell(1024.0, 2, 100))


def test_a_training_cell_of_mindspore_loads_whole():
    """Parameters, optimizer's state, loss scale and counters have the same names, shapes and dtypes."""
    state, step = load_checkpoint(DATA / "training.ckpt"), training()
    assert load_param_into_net(step, state, strict_load=True) == ([], [])
    assert {"moment1.0.weight", "scale_sense", "global_step", "1.moving_mean", "3.embedding_table"} <= state.keys()
    np.testing.assert_array_equal(step.parameters_dict()["0.weight"].asnumpy(), state["0.weight"].asnumpy())


def test_unsigned_integers_of_mindspore_load_and_are_written_as_it_does(tmp_path):
    loaded = load_checkpoint(DATA / "foreign.ckpt")
    assert [loaded[n].tensor_type.dtype for n in ("uint16", "uint32", "uint64")] == ["uint16", "uint32", "uint64"]
    check(loaded, ["float32"])
    save_checkpoint(loaded, tmp_path / "again.ckpt")
    assert (tmp_path / "again.ckpt").read_bytes() == (DATA / "foreign.ckpt").read_bytes()


def test_dtypes_that_graphc_has_not_can_be_left_out(tmp_path):
    strange = (DATA / "foreign.ckpt").read_bytes().replace(b"UInt16", b"UInt99")
    (tmp_path / "strange.ckpt").write_bytes(strange)
    with pytest.raises(CheckpointError, match="'uint16' has dtype UInt99") as caught:
        load_checkpoint(tmp_path / "strange.ckpt")
    assert "choice_func" in caught.value.help
    check(load_checkpoint(tmp_path / "strange.ckpt", choice_func=lambda n: not n.startswith("uint")), ["float32"])


@pytest.mark.parametrize("mode", ["AES-GCM", "AES-CBC", "SM4-CBC"])
def test_encrypted_files_are_refused(mode):
    with pytest.raises(CheckpointError, match="it is encrypted"):
        load_checkpoint(DATA / f"{mode}.ckpt")


@pytest.fixture(scope="module")
def mindspore():
    """A function that runs data/with_mindspore.py."""
    python = os.environ.get(SWITCH)
    if not python:
        pytest.skip(f"{SWITCH} names no Python with MindSpore")

    def run(*arguments):
        command = [python, str(DATA / "with_mindspore.py"), *map(str, arguments)]
        # Without this checkout's modules on its path.
        env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=env, timeout=600)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()[-1] if done.stdout else ""

    return run


def shown(value):
    """As in data/with_mindspore.py."""
    if isinstance(value, str):
        return value
    data = value.storage.tobytes()
    size = int(np.frombuffer(data, "u1").sum(dtype=np.int64))
    return [str(value.dtype).lower(), list(value.shape), data[:8].hex(), data[-8:].hex(), size]


def test_mindspore_writes_and_graphc_reads(mindspore, tmp_path):
    mindspore("write", tmp_path)
    check(load_checkpoint(tmp_path / "mindspore.ckpt"))
    check(load_checkpoint(tmp_path / "crc.ckpt", crc_check=True))
    check(load_checkpoint(tmp_path / "mindspore.safetensors"))
    check(load_checkpoint(tmp_path / "crc.safetensors", crc_check=True), CHECKED)


def test_mindspore_loads_a_training_cell_whole(mindspore, tmp_path):
    path = save_checkpoint(training(), tmp_path / "training.ckpt")
    assert json.loads(mindspore("train", path)) == [[], []]


@pytest.mark.parametrize("file", ["crc.ckpt", "all.safetensors", "crc.safetensors"])
def test_graphc_writes_and_mindspore_reads(mindspore, tmp_path, file):
    """With a tensor of more than 512 MiB, which a .ckpt file holds in two pieces."""
    format = file.rpartition(".")[2]
    large = np.arange((513 << 20) // 4 if format == "ckpt" else 12, dtype=np.int32).reshape(3, -1)
    names = CHECKED if file == "crc.safetensors" else DTYPES
    tensors = {name: Parameter(VALUES.astype(numpy_of(name)), name=name) for name in names}
    tensors |= {"scalar": Parameter(np.float32(2.5), name="scalar"), "large": Parameter(large, name="large")}
    appended = {"epoch_num": 3, "lr": 0.1, "flag": True, "text": "häß 权", "position": {"epoch": [1, None]}}
    path = save_checkpoint(tensors, tmp_path / file, append_dict=appended, crc_check="crc" in file, format=format)
    read = json.loads(mindspore("read", path))
    loaded = load_checkpoint(path, crc_check="crc" in file)
    assert loaded.pop("position") == {"epoch": [1, None]}
    assert read.pop("position", None) == ('json:{"epoch": [1, null]}' if format == "ckpt" else None)
    if format == "safetensors":  # MindSpore has no texts there.
        assert loaded.pop("text") == "häß 权"
    assert read == {n: shown(v) for n, v in loaded.items()}
    np.testing.assert_array_equal(loaded["large"].storage, large)
    check(loaded, names)


def test_a_tensor_of_pieces(tmp_path, monkeypatch):
    from graphc.checkpoint import ckpt_file

    monkeypatch.setattr(ckpt_file, "_SLICE", 8)
    values = np.arange(15, dtype=np.float32).reshape(5, 3)
    path = save_checkpoint({"a": Tensor([True]), "x": Tensor(values), "y": Tensor(1)}, tmp_path / "a.ckpt")
    assert path.read_bytes().count(b"\x0a\x01x\x12") == 8
    np.testing.assert_array_equal(load_checkpoint(path)["x"].asnumpy(), values)
