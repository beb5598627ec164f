"""`import mindspore` means graphc after `graphc.compat.install()`, and only then."""

from __future__ import annotations

import importlib
import subprocess
import sys
import textwrap

import pytest

import graphc
from graphc import compat


@pytest.fixture
def mindspore():
    compat.install()
    yield importlib.import_module("mindspore")
    compat.uninstall()


def test_every_listed_module_imports(mindspore):
    for name in compat.MODULES:
        assert importlib.import_module(name).__name__ == name


def test_modules_have_the_same_paths_beneath_graphc(mindspore):
    functions = {"mindspore.train.data_sink", "mindspore.train.metrics.auc"}  # Of the packages themselves.
    functions |= {f"mindspore.scipy.optimize.{name}" for name in graphc.scipy.optimize.__all__}
    for name in sorted(compat.MODULES.keys() - {"mindspore"} - functions):
        path = name.replace("mindspore", "graphc", 1)
        assert importlib.import_module(path).__name__ == path
    from graphc import dtype
    from graphc.common import Parameter, set_seed
    from graphc.ops import operations

    theirs = importlib.import_module("mindspore.ops.operations")
    assert operations.MatMul is theirs.MatMul is graphc.ops.MatMul
    assert (dtype.float32, Parameter, set_seed) == (graphc.float32, graphc.Parameter, graphc.set_seed)
    assert graphc.nn.dynamic_lr.exponential_decay_lr is graphc.nn.exponential_decay_lr
    # Modules with a file of their own have what MindSpore's have besides.
    assert graphc.context.set_auto_parallel_context is graphc.set_auto_parallel_context
    assert graphc.ops.functional.vmap is graphc.vmap
    assert graphc.ops.composite.clip_by_global_norm is graphc.ops.clip_by_global_norm
    assert not hasattr(graphc.context, "nothing")


def test_a_path_beneath_graphc_that_is_left_out():
    with pytest.raises(ModuleNotFoundError, match=r"graphc has no module graphc\.rewrite; use Python's own classes"):
        importlib.import_module("graphc.rewrite.api")
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'graphc\.nothing'"):
        importlib.import_module("graphc.nothing")
    with pytest.raises(ModuleNotFoundError, match=r"graphc\.train\.data_sink"):
        importlib.import_module("graphc.train.data_sink")
    assert graphc.train.data_sink is graphc.data_sink
    with pytest.raises(ImportError, match=r"graphc\.common has no 'Tensr'; did you mean Tensor"):
        from graphc.common import Tensr  # noqa: F401
    with pytest.raises(AttributeError, match=r"graphc has no graphc\.ops\.operations\.MatMol; the nearest"):
        importlib.import_module("graphc.ops.operations").MatMol  # noqa: B018


def test_names_are_graphcs_own(mindspore):
    from mindspore import Parameter, Tensor, nn
    from mindspore.common.initializer import initializer
    from mindspore.ops import operations as P

    assert (Tensor, Parameter) == (graphc.Tensor, graphc.Parameter)
    assert nn.Dense is graphc.nn.Dense
    assert mindspore.float32 is graphc.float32
    assert P.MatMul is graphc.ops.MatMul
    assert callable(initializer)
    assert mindspore.train.serialization.save_checkpoint is mindspore.save_checkpoint is graphc.save_checkpoint
    assert mindspore.common.generator.get_rng_state is mindspore.get_rng_state is graphc.get_rng_state


def test_a_missing_name_says_what_is_nearest(mindspore):
    with pytest.raises(AttributeError, match=r"graphc has no mindspore.nn.Denze; the nearest there is: Dense"):
        mindspore.nn.Denze  # noqa: B018
    with pytest.raises(ImportError, match=r"graphc has no mindspore.nn.Denze; the nearest there is: Dense"):
        from mindspore.nn import Denze  # noqa: F401
    assert not hasattr(mindspore.nn, "Denze")


def test_a_missing_name_in_construct_is_the_scripts_own_mistake(mindspore):
    """Not one of graphc's insides: code, line and nearest name are those of a missing name anywhere."""

    class Net(mindspore.nn.Cell):
        def construct(self, x):
            return mindspore.ops.ResizeBilinear((2, 2))(x)

    with pytest.raises(
        AttributeError, match=r"GC140.*mindspore.ops.ResizeBilinear; the nearest.*ResizeBilinearV2"
    ) as e:
        graphc.compile(Net(), mindspore.Tensor([1.0]))
    assert not isinstance(e.value, graphc.InternalError)
    assert e.value.loc.file.endswith("test_compat.py")


def test_a_missing_module_says_what_is_nearest(mindspore):
    with pytest.raises(
        ModuleNotFoundError, match=r"graphc has no module mindspore.common.apis; .* mindspore.common.api"
    ):
        importlib.import_module("mindspore.common.apis")


def test_nothing_is_installed_unasked():
    code = "import graphc, sys, importlib.util as u; print('mindspore' in sys.modules, u.find_spec('mindspore'))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "False None"


def test_uninstall_takes_it_back(mindspore):
    compat.uninstall()
    assert not compat.installed()
    assert "mindspore" not in sys.modules
    compat.install()


def test_an_unchanged_script_trains(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(
        textwrap.dedent(
            """
            import numpy as np
            import mindspore as ms
            import mindspore.nn as nn
            from mindspore import Tensor, ops, context
            from mindspore.ops import functional as F
            from mindspore.common.api import _cell_graph_executor

            context.set_context(mode=context.GRAPH_MODE, device_target="CPU")
            ms.set_seed(1)

            class Net(nn.Cell):
                def __init__(self):
                    super(Net, self).__init__()
                    self.fc = nn.Dense(4, 3)
                    self.relu = ops.ReLU()

                def construct(self, x):
                    return self.relu(self.fc(x))

            class Step(nn.TrainOneStepWithLossScaleCell):
                def construct(self, *inputs):
                    loss = self.network(*inputs)
                    scale = self.scale_sense
                    status, scale = self.start_overflow_check(loss, scale)
                    sens = ops.ones_like(loss) * F.cast(scale, loss.dtype)
                    grads = self.grad(self.network, self.weights)(*inputs, sens)
                    grads = tuple([g / scale for g in grads])
                    cond = self.get_overflow_status(status, grads)
                    overflow = self.process_loss_scale(cond)
                    if not overflow:
                        loss = F.depend(loss, self.optimizer(grads))
                    return loss, cond, self.scale_sense

            net = Net()
            optimizer = nn.Momentum(net.trainable_params(), 0.1, 0.9)
            manager = nn.DynamicLossScaleUpdateCell(1024.0, 2, 100)
            step = Step(nn.WithLossCell(net, nn.MSELoss()), optimizer, manager)
            x, y = Tensor(np.ones((2, 4), np.float32)), Tensor(np.ones((2, 3), np.float32))
            _cell_graph_executor.compile(step, x, y)
            first = step(x, y)[0].asnumpy()
            for _ in range(20):
                loss, overflow, scale = step(x, y)
            print(bool(loss.asnumpy() < first), overflow, scale)
            loss, overflow, scale = step(Tensor(np.full((2, 4), np.inf, np.float32)), y)
            print(overflow, scale)
            """
        )
    )
    command = [sys.executable, "-m", "graphc", "run", "--mindspore", str(script)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.stderr == ""
    assert result.stdout.splitlines() == ["True False 1024.0", "True 512.0"]


@pytest.mark.parametrize("chosen", [False, True])
def test_what_python_alone_can_do_is_said_to_need_a_mode(tmp_path, chosen):
    """Where the script sets no mode, which is another one in MindSpore then, and Python cannot run it after all: an item of an
    iterator has been taken.
    """
    script = tmp_path / "keeps.py"
    setting = "mindspore.set_context(mode=mindspore.GRAPH_MODE)" if chosen else ""
    script.write_text(
        textwrap.dedent(
            f"""
            import mindspore
            {setting}
            class Keeps(mindspore.nn.Cell):
                def __init__(self):
                    super().__init__()
                    self.kept = []
                def construct(self, x):
                    self.kept.append(x * next(numbers))
                    return x
            numbers = iter([1, 2])
            Keeps()(mindspore.Tensor([1.0]))
            """
        )
    )
    command = [sys.executable, "-m", "graphc", "run", "--mindspore", str(script)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "[GC133]" in result.stderr
    assert ("note: the script sets no mode; MindSpore's is PYNATIVE_MODE then" in result.stderr) is not chosen


def test_dtype_is_a_module_beside_being_a_function(mindspore):
    from mindspore import Tensor, ops
    from mindspore import dtype as mstype
    from mindspore.ops.composite.multitype_ops.zeros_like_impl import zeros_like

    x = Tensor([1.5], mstype.float16)
    assert x.dtype == mstype.float16 == ops.dtype(x)
    assert zeros_like((x, [x]))[1][0].dtype == mstype.float16


def test_names_of_training_are_found_where_scripts_look(mindspore):
    """In the packages, in the modules within them, and at the top."""
    from mindspore import CheckpointConfig, LossMonitor, Model, ModelCheckpoint
    from mindspore.nn import Accuracy
    from mindspore.nn.metrics import Metric
    from mindspore.train import Callback, RunContext, get_metric_fn
    from mindspore.train.callback import SummaryCollector
    from mindspore.train.callback._checkpoint import ModelCheckpoint as Inner
    from mindspore.train.data_sink import data_sink
    from mindspore.train.dataset_helper import DatasetHelper
    from mindspore.train.metrics import Loss, names
    from mindspore.train.metrics.metric import EvaluationBase, rearrange_inputs
    from mindspore.train.model import Model as InnerModel
    from mindspore.train.serialization import save_checkpoint

    train, nn = graphc.train, graphc.nn
    assert (Model, InnerModel, ModelCheckpoint, Inner) == (train.Model, train.Model, *[train.ModelCheckpoint] * 2)
    assert (CheckpointConfig, LossMonitor, Callback) == (train.CheckpointConfig, train.LossMonitor, train.Callback)
    assert (RunContext, SummaryCollector, DatasetHelper) == (
        train.RunContext,
        train.SummaryCollector,
        train.DatasetHelper,
    )
    assert (Accuracy, Loss, Metric) == (nn.Accuracy, nn.Loss, train.Metric)
    assert (get_metric_fn, names, rearrange_inputs) == (nn.get_metric_fn, nn.names, nn.rearrange_inputs)
    assert issubclass(nn.Recall, EvaluationBase)
    assert data_sink is graphc.data_sink
    assert save_checkpoint is graphc.save_checkpoint
