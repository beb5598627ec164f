"""Names of MindSpore that mean little here: settings, markers, dtypes."""

from __future__ import annotations

import importlib
import logging
from logging.handlers import RotatingFileHandler

import numpy as np
import pytest

import graphc
from graphc import compat, nn
from graphc.compat import log, toplevel
from graphc.validation import unused_arguments


@pytest.fixture
def mindspore():
    compat.install()
    yield importlib.import_module("mindspore")
    compat.uninstall()
    graphc.set_context(mode=graphc.GRAPH_MODE, save_graphs=False, save_graphs_path=".")


def test_settings_are_accepted_and_remembered(mindspore, caplog):
    from mindspore import context

    with caplog.at_level(logging.WARNING, "graphc"):
        context.set_context(mode=context.PYNATIVE_MODE, device_target="Ascend", save_graphs=True, jit_level="O0")
    assert "device_target 'Ascend' is not there" in caplog.text
    assert context.get_context("mode") == mindspore.PYNATIVE_MODE
    assert context.get_context("device_target") == "CPU"
    assert (context.get_context("jit_level"), context.get_context("save_graphs")) == ("O0", True)
    with pytest.raises(graphc.ArgumentValueError):
        context.get_context("colour")
    assert (context.get_context("memory_optimize_level"), context.get_context("exec_order")) == (0, "bfs")  # Never set.
    mindspore.set_device("CPU")
    mindspore.set_deterministic(True)
    assert context.get_auto_parallel_context("dataset_strategy") == "data_parallel"
    context.set_auto_parallel_context(gradients_mean=True, dataset_strategy="full_batch")
    assert mindspore.get_auto_parallel_context("dataset_strategy") == "full_batch"
    assert graphc.parallel.get_auto_parallel_context("gradients_mean")
    context.reset_auto_parallel_context()
    assert context.get_auto_parallel_context("dataset_strategy") == "data_parallel"
    with pytest.raises(graphc.ArgumentValueError):
        context.set_auto_parallel_context(colour=3)


def test_settings_that_mean_nothing_are_said_once_and_unknown_ones_refused(mindspore, caplog, monkeypatch):
    monkeypatch.setattr(unused_arguments, "_said", set())
    with caplog.at_level(logging.WARNING, "graphc"):
        for _ in range(2):
            mindspore.set_context(jit_level="O2", max_call_depth=100)
    assert [r.getMessage() for r in caplog.records] == [
        "set_context: jit_level has no effect: how a step is compiled and run is decided by the compiler",
        "set_context: max_call_depth has no effect: Python's own limit holds",
    ]
    with pytest.raises(ValueError, match="set_context has no setting 'save_graph'") as caught:
        mindspore.set_context(save_graph=3, mode=mindspore.PYNATIVE_MODE)
    assert caught.value.help == "did you mean save_graphs?"
    assert graphc.get_context("mode") == graphc.GRAPH_MODE  # Nothing half done.
    for mode in ("GRAPH", "1", 0.5, 2):
        with pytest.raises(ValueError, match=f"mode={mode!r} is not available, only 0 or 1"):
            mindspore.set_context(mode=mode)
    with pytest.raises(ValueError, match="device_target must be one of 'CPU', 'GPU', 'Ascend', 'Davinci', got 'cpu'"):
        mindspore.set_context(mode=mindspore.PYNATIVE_MODE, device_target="cpu")
    assert graphc.get_context("mode") == graphc.GRAPH_MODE
    with pytest.raises(ValueError, match="device_target='cpu' is not available, only 'CPU'") as caught:
        graphc.set_context(device_target="cpu")
    assert caught.value.help == "device_target='CPU', in capitals: there are no other devices"
    with pytest.raises(ValueError, match="no setting 'nonsense'"):
        mindspore.context.set_context(nonsense=3)


def test_the_version_is_that_of_the_names(mindspore):
    assert mindspore.__version__ == "2.10.0"
    assert mindspore.__version__ >= "2.0.0" != graphc.__version__
    assert importlib.import_module("mindspore.version").__version__ == mindspore.version.__version__ == "2.10.0"


def test_names_that_lack_are_refused_without_look_alikes(mindspore):
    with pytest.raises(ImportError, match=r"graphc has no mindspore\.ops\.qwertz_2$"):
        from mindspore.ops import qwertz_2  # noqa: F401
    with pytest.raises(ImportError, match=r"no mindspore\.ops\.operations\.PyExecute; use @ops\.custom"):
        from mindspore.ops.operations import PyExecute  # noqa: F401
    with pytest.raises(ImportError, match=r"no mindspore\.nn\.Module; the nearest there is: Cell"):
        from mindspore.nn import Module  # noqa: F401
    with pytest.raises(ModuleNotFoundError, match=r"graphc has no module mindspore\.qwertz$"):
        importlib.import_module("mindspore.qwertz")
    with pytest.raises(ModuleNotFoundError, match=r"no module mindspore\.rewrite; use Python's own classes"):
        importlib.import_module("mindspore.rewrite.api")
    with pytest.raises(ImportError, match=r"no mindspore\.dataset\.utils\.browse_dataset; use the samples themselves"):
        from mindspore.dataset.utils import browse_dataset  # noqa: F401
    from mindspore.dataset.utils import LineReader

    assert LineReader is mindspore.dataset.LineReader
    with pytest.raises(ImportError, match=r"no mindspore\.dataset\.vision\.VideoDecoder; use GeneratorDataset"):
        from mindspore.dataset.vision import VideoDecoder  # noqa: F401
    with pytest.raises(AttributeError, match=r"\\x1b\[2J"):
        getattr(mindspore, "a\x1b[2J")


def test_markers_return_what_they_mark(mindspore):
    @mindspore.lazy_inline
    def f(x):
        return x

    @mindspore.no_inline()
    def g(x):
        return x

    @mindspore.ops.constexpr
    def h(shape):
        return shape[0]

    class Net(nn.Cell):
        def construct(self, x):
            return mindspore.recompute(f, g(x)) * h(x.shape)

    np.testing.assert_array_equal(Net()(graphc.Tensor([1.0, 2.0])).asnumpy(), [2, 4])


def test_modules_named_like_their_function_can_be_called(mindspore):
    from mindspore.common import mutable

    assert isinstance(mutable((1, 2)), tuple)


def test_dtypes_and_their_types(mindspore):
    from mindspore.common import dtype as mstype

    assert mstype.dtype_to_nptype(mstype.int32) is np.int32
    assert [mstype.dtype_to_pytype(t) for t in (mstype.bool_, mstype.int8, mstype.float16)] == [bool, int, float]
    assert [mstype.pytype_to_dtype(t).name for t in (bool, int, float, np.int32)] == [
        "bool",
        "int64",
        "float64",
        "int32",
    ]
    assert mindspore.get_py_obj_dtype(graphc.Tensor(1.0)) == graphc.float32


def test_tensors(mindspore):
    assert mindspore.tensor([1, 2], mindspore.float32).dtype == graphc.float32
    assert mindspore.from_numpy(np.zeros(3)).shape == (3,)
    for call in (lambda: mindspore.tensor(), lambda: mindspore.from_numpy([1]), lambda: mindspore.RowTensor(1, 2, 3)):
        with pytest.raises(graphc.ArgumentTypeError):
            call()


def test_what_scripts_configure(mindspore, capsys):
    assert mindspore.JitConfig("O1").jit_config_dict["jit_level"] == "O1"
    with pytest.raises(graphc.ArgumentValueError):
        mindspore.JitConfig("O9")
    toplevel.run_check()
    assert "computes" in capsys.readouterr().out


def test_primitives_from_their_modules(mindspore):
    from mindspore.ops._primitive_cache import _get_cache_prim
    from mindspore.ops.function.math_func import tan
    from mindspore.ops.operations.math_ops import ReduceSum

    assert _get_cache_prim(ReduceSum)(True).keep_dims
    assert tan is graphc.ops.tan


def test_how_the_logger_writes_under_mindspores_names(tmp_path, monkeypatch):
    logger = logging.getLogger("graphc")
    monkeypatch.setattr(logger, "handlers", [])
    monkeypatch.setattr(logger, "level", logging.NOTSET)
    logger.manager._clear_cache()
    assert (toplevel.get_level(), toplevel.get_log_config()) == ("2", {"GLOG_v": "2", "GLOG_logtostderr": "1"})
    for level, number in (
        (logging.DEBUG, "0"),
        (logging.INFO, "1"),
        (logging.ERROR, "3"),
        (logging.CRITICAL, "4"),
        (7, None),
    ):
        logger.setLevel(level)
        assert log.get_level() == number
    file = RotatingFileHandler(tmp_path / "x.log", maxBytes=99, backupCount=3)
    console = logging.StreamHandler()
    console.setLevel(logging.ERROR)
    logger.handlers = [file, console]
    assert log.get_log_config() == {
        "GLOG_v": None,
        "GLOG_logtostderr": "0",
        "GLOG_log_dir": str(tmp_path),
        "logger_maxBytes": 99,
        "logger_backupCount": 3,
        "GLOG_stderrthreshold": "3",
    }
    file.close()
    logger.setLevel(logging.NOTSET)
