"""MindSpore's modules of data sets are found under its names, light where nothing is read."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import graphc.dataset as ds
from graphc import DataError, compat
from graphc.paths.table import MODULES

ROOT = Path(__file__).parents[2]


@pytest.fixture
def _mindspore():
    compat.install()
    yield
    compat.uninstall()


@pytest.mark.usefixtures("_mindspore")
@pytest.mark.parametrize("module", [m for m in MODULES if m.startswith("mindspore.dataset")])
def test_modules_of_mindspore(module):
    assert dir(import_module(module))


@pytest.mark.usefixtures("_mindspore")
def test_imports_of_scripts():
    namespace = {}
    exec(
        "import mindspore.dataset as ds\n"
        "import mindspore.dataset.vision as vision\n"
        "import mindspore.dataset.transforms as transforms\n"
        "import mindspore.dataset.vision.c_transforms as CV\n"
        "import mindspore.dataset.transforms.c_transforms as C\n"
        "from mindspore.dataset.vision import Inter\n"
        "import mindspore.dataset.text as text\n"
        "from mindspore.dataset import text as again\n"
        "from mindspore.dataset.text.transforms import BertTokenizer, TextTensorOperation\n"
        "from mindspore.dataset.text.utils import JiebaMode, NormalizeForm, Vocab, to_str\n"
        "import mindspore.dataset.audio as audio\n"
        "from mindspore.dataset.audio import utils\n"
        "from mindspore.dataset.audio.transforms import AudioTensorOperation, LowpassBiquad\n"
        "from mindspore.dataset import GeneratorDataset\n"
        "from mindspore.dataset.engine.datasets import Dataset, MappableDataset\n"
        "from mindspore.dataset.engine.samplers import Sampler, BuiltinSampler\n"
        "from mindspore.dataset.samplers import DistributedSampler\n",
        namespace,
    )
    assert namespace["ds"].GeneratorDataset is ds.GeneratorDataset is namespace["GeneratorDataset"]
    assert namespace["CV"].Resize is ds.vision.Resize
    assert namespace["text"].Vocab is namespace["again"].Vocab is namespace["Vocab"] is ds.text.Vocab
    assert namespace["BertTokenizer"] is ds.text.BertTokenizer
    assert namespace["audio"].LowpassBiquad is ds.audio.LowpassBiquad is namespace["LowpassBiquad"]
    assert namespace["utils"].WindowType is ds.audio.WindowType


@pytest.mark.parametrize("module", [ds, ds.audio, ds.text, ds.transforms, ds.vision, ds.config])
def test_public_names_are_there_and_described(module):
    for name in getattr(module, "__all__", ()):
        member = getattr(module, name)
        assert inspect.getdoc(member) or inspect.ismodule(member), name


def test_settings_that_are_remembered(monkeypatch):
    monkeypatch.setattr(ds.config, "_settings", dict(ds.config._settings))
    for name, given in (("multiprocessing_timeout_interval", {"interval": 30}), ("auto_offload", {"offload": True})):
        read = getattr(ds.config, f"get_{name}")
        getattr(ds.config, f"set_{name}")(read())
        getattr(ds.config, f"set_{name}")(**given)
        assert [read()] == list(given.values())
    ds.config.set_enable_autotune(True)
    assert ds.config.get_enable_autotune()
    assert ds.config.get_iterator_mode() == {"do_copy": False, "parallel_convert": False}
    ds.config.set_iterator_mode(parallel_convert=True)
    assert ds.config.get_iterator_mode() == {"do_copy": False, "parallel_convert": True}
    for call in (
        lambda: ds.config.set_multiprocessing_timeout_interval("1"),
        lambda: ds.config.set_fast_recovery(enable=True),
    ):
        with pytest.raises(TypeError):
            call()


def test_lines_by_their_numbers(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_bytes("a\nb\u00e9\r\n\nlast".encode())
    reader = ds.LineReader(str(path))
    assert len(reader) == reader.len() == 4
    assert [reader.readline(4), *(reader[k] for k in (1, 2, 3))] == ["last", "a", "b\u00e9", ""]
    reader.close()
    assert reader.readline(1) == "a"
    reader.close()
    for line, error in ((0, ValueError), (5, ValueError), ("1", TypeError)):
        with pytest.raises(error):
            reader.readline(line)
    with pytest.raises(DataError, match="there is no file"):
        ds.LineReader(str(tmp_path / "nothing"))


def test_a_sampler_of_the_users_own_that_has_no_base():
    class Backwards:
        def __iter__(self):
            return iter((2, 1, 0))

    data = ds.NumpySlicesDataset([10, 11, 12], ["x"], sampler=ds.IterSampler(Backwards()))
    assert [int(x) for (x,) in data.create_tuple_iterator(num_epochs=1, output_numpy=True)] == [12, 11, 10]


def test_importing_data_sets_loads_no_images_and_no_workers():
    code = "import sys, graphc.dataset as ds; ds.NumpySlicesDataset; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60,
        env={"PYTHONPATH": f"{ROOT}:{ROOT / 'codegen'}", "PATH": ""},
    )  # fmt: skip
    assert not {"PIL", "numba", "PIL.Image"} & set(done.stdout.split())
