"""Kills, full disks, and writing in the background."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from graphc import Parameter, Tensor, async_ckpt_thread_status, load_checkpoint, save_checkpoint
from graphc.checkpoint import background, saving
from graphc.errors import ArgumentTypeError, ArgumentValueError

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FORMATS = ["ckpt", "safetensors"]


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_hundred_kills_leave_the_last_good_file(tmp_path, suffix):
    command = [sys.executable, str(HERE / "kills.py"), str(tmp_path / f"a.{suffix}"), "100", "5"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    kills, halves = map(int, done.stdout.split())
    assert kills == 100
    assert halves > 0  # Some have met a file half-written.


@pytest.fixture
def full_disk():
    """Files of at most 16 MiB, as on a disk that is full; pytest itself may be writing to a smaller one."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16 << 20, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize("in_background", [False, True])
@pytest.mark.parametrize("suffix", FORMATS)
def test_a_full_disk_names_the_file_and_leaves_the_old_one(tmp_path, suffix, in_background, full_disk):
    path = save_checkpoint({"x": Tensor([1.0])}, tmp_path / f"a.{suffix}")
    before = path.read_bytes()
    large = {"x": Tensor(np.zeros(5_000_000, np.float32))}
    if in_background:
        save_checkpoint(large, path, async_save=True)
        with pytest.raises(OSError, match=rf"a\.{suffix}") as caught:
            save_checkpoint({"y": Tensor([1.0])}, tmp_path / "other.ckpt")
        assert "async_save" in caught.value.__notes__[0]
    else:
        with pytest.raises(OSError, match=rf"a\.{suffix}") as caught:
            save_checkpoint(large, path)
    assert caught.value.filename == str(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    save_checkpoint({"y": Tensor([1.0])}, path)  # Once said, it is over.
    assert list(load_checkpoint(path)) == ["y"]


# ---- in the background


@pytest.fixture
def held(monkeypatch):
    """Writing waits until this is set."""
    go, write = threading.Event(), saving.ckpt_file.write

    def waiting(*args, **kwargs):
        assert go.wait(60)
        return write(*args, **kwargs)

    monkeypatch.setattr(saving.ckpt_file, "write", waiting)
    yield go
    go.set()
    background.finish()


@pytest.mark.parametrize("how", [True, "thread", "process"])
def test_what_is_saved_is_what_there_was_when_it_was_asked_for(tmp_path, held, how):
    param = Parameter(np.ones(3, np.float32), name="p")
    assert save_checkpoint([param], tmp_path / "new" / "a.ckpt", async_save=how) == tmp_path / "new" / "a.ckpt"
    assert async_ckpt_thread_status()
    param.set_data(np.zeros(3, np.float32))
    assert not (tmp_path / "new" / "a.ckpt").exists()
    held.set()
    assert load_checkpoint(tmp_path / "new" / "a.ckpt")["p"].asnumpy().tolist() == [1, 1, 1]
    assert not async_ckpt_thread_status()


def test_files_are_written_in_the_order_in_which_they_were_asked_for(tmp_path, held):
    save_checkpoint({"x": Tensor([1.0])}, tmp_path / "a.ckpt", async_save=True)
    threading.Timer(0.05, held.set).start()
    save_checkpoint({"y": Tensor([1.0])}, tmp_path / "a.ckpt", async_save=True)
    save_checkpoint({"z": Tensor([1.0])}, tmp_path / "a.safetensors")
    assert list(load_checkpoint(tmp_path / "a.ckpt")) == ["y"]


_AT_EXIT = """
import sys
sys.path[:0] = [{root!r}, {root!r} + "/codegen"]
import resource, signal, numpy as np, graphc
if {full}:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
graphc.save_checkpoint({{"x": graphc.Tensor(np.ones(1 << 20))}}, {path!r}, async_save=True)
"""


@pytest.mark.parametrize("full", [False, True])
def test_the_end_of_the_process_waits_and_says_what_went_wrong(tmp_path, full):
    path = str(tmp_path / "a.ckpt")
    script = _AT_EXIT.format(root=str(ROOT), path=path, full=full)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=120)
    if full:
        assert (
            done.stderr
            == f"graphc: [Errno 27] File too large: '{path}'; '{path}' was being saved in the background"
            + (" (async_save)\n")
        )
        assert os.listdir(tmp_path) == []
    else:
        assert (done.returncode, done.stderr) == (0, "")
        assert load_checkpoint(path)["x"].size == 1 << 20


def test_mistakes_are_raised_at_once(tmp_path):
    x = {"x": Tensor([1.0])}
    (tmp_path / "d.ckpt").mkdir()
    with pytest.raises(ArgumentValueError, match="is a directory"):
        save_checkpoint(x, tmp_path / "d.ckpt", async_save=True)
    for wrong, error in (("both", ArgumentValueError), (1, ArgumentTypeError), (None, ArgumentTypeError)):
        with pytest.raises(error, match="async_save must be"):
            save_checkpoint(x, tmp_path / "a.ckpt", async_save=wrong)
    with pytest.raises(ValueError, match="crc_check must be a bool, got int"):
        save_checkpoint(x, tmp_path / "a.ckpt", crc_check=1)
    for name, value in (("integrated_save", 1), ("crc_check", "yes"), ("choice_func", "x")):
        with pytest.raises(ArgumentTypeError, match=name):
            save_checkpoint(x, tmp_path / "a.ckpt", **{name: value})
    with pytest.raises(ArgumentTypeError, match="takes no argument 'append'"):
        save_checkpoint(x, tmp_path / "a.ckpt", append={})
    for name, value in (("incremental", True), ("remove_redundancy", True), ("enc_key", b"1"), ("enc_mode", "DES")):
        with pytest.raises(ArgumentValueError, match=rf"\[GC112\] save_checkpoint: {name}="):
            save_checkpoint(x, tmp_path / "a.ckpt", **{name: value})
    assert [p.name for p in tmp_path.iterdir()] == ["d.ckpt"]
