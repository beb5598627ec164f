"""What model zoos import of MindSpore beside its public names, and that it means what they expect."""

from __future__ import annotations

import importlib
import logging

import numpy as np
import pytest

import graphc
from graphc import compat, nn, ops
from graphc.compat.aliases import ALIASES

#: Lines as zoos write them.
IMPORTS = """
from mindspore import Layout, Parameter, ParameterTuple, RowTensor, SummaryRecord, Tensor, boost, nn, ops
from mindspore._c_expression import MSContext
from mindspore._c_expression.typing import BFloat, Float
from mindspore._checkparam import args_type_check, check_subclass, check_type_name
from mindspore._extends import cell_attr_register
from mindspore import Profiler, Symbol
from mindspore._c_expression import swap_cache
from mindspore.dataset.transforms import py_transforms
from mindspore.dataset.transforms.py_transforms import PyTensorOperation
from mindspore.dataset import MappableDataset, MindDataset, SourceDataset, TFRecordDataset, VisionBaseDataset
from mindspore.profiler import Profiler as _, ProfilerActivity, ProfilerLevel
from mindspore.train.callback import _CallbackManager, _InternalCallbackParam
from mindspore.train.callback._callback import CallbackManager, InternalCallbackParam
from mindspore.train.callback._callback import set_cur_net
from mindspore.train.serialization import _get_merged_param_data
from mindspore.boost.grad_accumulation import gradient_accumulation_op, gradient_clear_op
from mindspore.common.dtype import Float as _, all_types, number_type
from mindspore.common.initializer import Tensor as _, initializer
from mindspore.common.initializer import _INITIALIZER_ALIAS, _assignment, _calculate_correct_fan, _init_random_uniform, _register
from mindspore.log import _LogActionOnce, _get_logger, logging as _
from mindspore.nn.layer.activation import _activation
from mindspore.nn.layer.conv import _Conv
from mindspore.nn.layer.normalization import _BatchNorm
from mindspore.nn.loss.loss import _Loss
from mindspore.nn.layer.rnn_cells import RNNCellBase, _gru_cell, _lstm_cell, _rnn_relu_cell, _rnn_tanh_cell
from mindspore.train.callback._callback import _handle_loss
from mindspore.common.seed import _get_graph_seed, get_seed
from mindspore.nn import Top1CategoricalAccuracy, Top5CategoricalAccuracy
from mindspore.nn.optim.optimizer import Optimizer, opt_init_args_register
from mindspore.ops.auto_generate import SplitWithSize
from mindspore.ops.functional import mixed_precision_cast
from mindspore.ops.operations import DropoutDoMask, DropoutGenMask, RmsNorm
from mindspore.ops.operations._sequence_ops import TensorToScalar
from mindspore.ops.operations.nn_ops import FlashAttentionScore
from mindspore.ops.primitive import _run_op
from mindspore.parallel.shard import Layout as _
from mindspore.train import SummaryRecord as _
from mindspore import FileReader, FileWriter, Int, MindPage, context, device_context, hal, multiprocessing, runtime
from mindspore._c_expression import TensorPy
from mindspore.common._stub_tensor import StubTensor
from mindspore.common.api import _no_grad
from mindspore.common.dtype import _issubclass_, complex_type, type_size_in_bytes
from mindspore.common.hook_handle import HookHandle
from mindspore.communication._comm_helper import _get_group_ranks, _is_initialized, _is_mpi_available
from mindspore.communication.comm_func import irecv, isend, recv, send
from mindspore.dataset import RepeatDataset, TextBaseDataset
from mindspore.hal import Event, Stream, StreamCtx, current_stream, get_device_properties
from mindspore.mint import Tensor as _, functional as _
from mindspore.mint.nn import Cell as _
from mindspore.nn.optim.optimizer import Parameter as _, ParameterTuple as _
from mindspore.mint.distributed import all_gather, all_to_all_single, new_group
from mindspore.nn.probability.distribution.distribution import Distribution
from mindspore.nn.probability.distribution.normal import Normal
from mindspore.ops.function.random_func import _get_seed
from mindspore.train._utils import _make_directory, check_value_type
from mindspore.train.model import ParallelMode, _StepSync, _transfer_tensor_to_tuple
from mindspore.train.serialization import tensor_to_ms_type, tensor_to_np_type
"""


@pytest.fixture
def ms():
    compat.install()
    yield importlib.import_module("mindspore")
    compat.uninstall()


def test_import_lines(ms):
    exec(IMPORTS, {})


@pytest.mark.usefixtures("ms")
def test_names_left_out_say_what_to_use():
    with pytest.raises(ImportError, match=r"no mindspore\.dataset\.OBSMindDataset; use MindDataset of files"):
        exec("from mindspore.dataset import OBSMindDataset", {})


#: (function, arguments, the sum of the squares, the element in the middle) of MindSpore 2.10.
BANKS = [
    ("create_dct", (5, 8), 96.0, -0.3901806),
    ("create_dct", (5, 8, ("NormMode", "ORTHO")), 5.0, -0.09754516),
    ("linear_fbanks", (9, 50.0, 400.0, 4, 1000), 3.33801, 0.0),
    ("melscale_fbanks", (17, 20.0, 4000.0, 6, 8000, ("NormType", "NONE"), ("MelType", "HTK")), 9.0347, 0.9229035),
    ("melscale_fbanks", (17, 20.0, 4000.0, 6, 8000, ("NormType", "SLANEY"), ("MelType", "HTK")), 3.988225e-05, 0.001237405),
    ("melscale_fbanks", (17, 20.0, 4000.0, 6, 8000, ("NormType", "NONE"), ("MelType", "SLANEY")), 8.63054, 0.9714737),
    ("melscale_fbanks", (17, 20.0, 4000.0, 6, 8000, ("NormType", "SLANEY"), ("MelType", "SLANEY")), 3.469391e-05, 0.001379684),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "squares", "middle"), BANKS)
def test_matrices_of_features_of_sounds_are_mindspores(ms, name, arguments, squares, middle):
    audio = importlib.import_module("mindspore.dataset.audio")
    kinds = importlib.import_module("mindspore.dataset.audio.utils")
    found = getattr(audio, name)(
        *[getattr(getattr(kinds, a[0]), a[1]) if isinstance(a, tuple) else a for a in arguments]
    )
    assert found.dtype == np.float32
    flat = found.astype(np.float64).ravel()
    np.testing.assert_allclose([(flat**2).sum(), flat[flat.size // 2 + 1]], [squares, middle], rtol=1e-5, atol=1e-8)


def test_initializers_of_ones_own(ms):
    module = importlib.import_module("mindspore.common.initializer")
    assert module._calculate_correct_fan((4, 3, 5, 5), "fan_out") == 100
    assert module._calculate_gain("leaky_relu", 1) == 1.0

    @module._register("mine")
    class Mine(module.Initializer):
        def _initialize(self, array):
            module._assignment(array, module._init_random_uniform(2.0, 3.0, array.shape))

    made = module.initializer("mine", (3, 4)).asnumpy()
    assert module._INITIALIZER_ALIAS.pop("mine") is Mine
    assert ((made >= 2) & (made < 3)).all()


def test_steps_of_recurrent_layers_are_those_of_cells(ms):
    cells = importlib.import_module("mindspore.nn.layer.rnn_cells")
    x, h = ms.Tensor(np.ones((2, 3), np.float32)), ms.Tensor(np.full((2, 4), 0.5, np.float32))
    for kind, step, state in (
        ("RNNCell", cells._rnn_tanh_cell, h), ("GRUCell", cells._gru_cell, h), ("LSTMCell", cells._lstm_cell, (h, h)),
    ):  # fmt: skip
        cell = getattr(ms.nn, kind)(3, 4)
        assert isinstance(cell, cells.RNNCellBase)
        want, got = cell(x, state), step(x, state, *cell.weights())
        for a, b in zip(*(r if isinstance(r, tuple) else (r,) for r in (want, got)), strict=True):
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-5, atol=1e-6)


def test_the_same_warnings_once(ms, caplog):
    logger = ms.log._get_logger()

    @ms.log._LogActionOnce(logger, key="the same")
    def warned():
        logger.warning("careful")

    with caplog.at_level(logging.WARNING, logger="graphc"):
        warned(), warned()
    assert [r.message for r in caplog.records] == ["careful"]
    callback = importlib.import_module("mindspore.train.callback._callback")
    assert callback._handle_loss(ms.Tensor([1.0, 2.0])) == 1.5


def test_a_loop_of_a_scripts_own_that_calls_callbacks(ms, tmp_path, capsys):
    callback = importlib.import_module("mindspore.train.callback")
    params = callback._InternalCallbackParam()
    params.train_network, params.batch_num = nn.Dense(2, 2), 3
    params.cur_step_num, params.dataset_sink_mode = 0, False
    context = callback.RunContext(params)
    config = callback.CheckpointConfig(save_checkpoint_steps=3, keep_checkpoint_max=1)
    saving = callback.ModelCheckpoint("own", str(tmp_path), config)
    with callback._CallbackManager([saving, callback.LossMonitor(2)]) as both:
        both.begin(context)
        for params.cur_epoch_num in (1, 2):
            both.epoch_begin(context)
            for _ in range(3):
                params.cur_step_num += 1
                both.step_begin(context)
                params.net_outputs = ms.Tensor(float(params.cur_step_num))
                both.step_end(context)
            both.epoch_end(context)
        both.end(context)
    assert [p.name for p in tmp_path.iterdir()] == ["own-2_3.ckpt"]
    printed = [f"epoch: {e} step: {s}, loss is {loss}" for e, s, loss in ((1, 2, 2.0), (2, 1, 4.0), (2, 3, 6.0))]
    assert capsys.readouterr().out.splitlines() == printed


def names(module, *wanted):
    found = importlib.import_module(f"mindspore.{module}")
    return [getattr(found, name) for name in wanted]


def test_groups_and_classes_of_dtypes(ms):
    Float, BFloat, Int, UInt, groups = names("_c_expression.typing", "Float", "BFloat", "Int", "UInt", "number_type")
    kinds = {Float: ["float16", "float32", "float64"], BFloat: ["bfloat16"], Int: ["int8", "int64"], UInt: ["uint8"]}
    for kind, members in kinds.items():
        assert all(isinstance(getattr(ms, name), kind) for name in members)
    assert not isinstance(ms.bfloat16, Float)
    assert not isinstance(ms.bool_, Int)
    assert not isinstance("float32", Float)
    assert Float(16) == ms.float16
    with pytest.raises(ValueError, match=r"no dtype float8, only float16, float32, float64"):
        Float(8)
    every, floats, ints, signed = names("common.dtype", "all_types", "float_type", "int_type", "signed_type")
    assert ms.bool_ in every
    assert ms.bool_ not in groups
    assert set(floats) == {ms.float16, ms.bfloat16, ms.float32, ms.float64}
    assert set(ints) == {ms.int8, ms.int16, ms.int32, ms.int64}
    assert ms.uint8 in groups
    assert ms.uint8 not in signed


def test_checks_of_types(ms):
    check_type_name, check_subclass, groups = *names("_checkparam", "check_type_name", "check_subclass"), None
    groups = names("common.dtype", "number_type")[0]
    assert check_type_name("dtype", ms.float16, [ms.float16, ms.float32], "Layer") == ms.float16
    check_subclass("dtype", ms.float16, groups, "Layer")
    check_subclass("kind", nn.Momentum, nn.Optimizer, "Layer")
    with pytest.raises(TypeError, match="Layer: dtype must be one of Float16, Float32, got Int8"):
        check_type_name("dtype", ms.int8, [ms.float16, ms.float32], "Layer")
    with pytest.raises(TypeError, match="Layer: dtype must be Float16, got Int8 by design"):
        check_subclass("dtype", ms.int8, ms.float16, "Layer", "by design")
    with pytest.raises(TypeError, match="kind must be Optimizer"):
        check_subclass("kind", nn.ReLU, nn.Optimizer, None)


def test_types_of_keyword_arguments(ms):
    (args_type_check,) = names("_checkparam", "args_type_check")

    @args_type_check(size=int, name=(str, list))
    def make(**kwargs):
        return kwargs

    assert make(size=3, name=["a"], other=object)["size"] == 3
    with pytest.raises(TypeError, match="size must be int"):
        make(size="3")


def test_seeds_of_ops_are_mindspores(ms):
    """The numbers are MindSpore 2.10's."""
    (seeds,) = names("common.seed", "_get_graph_seed")
    ms.set_seed(0)
    drawn = [seeds(0, "n"), seeds(0, "n"), seeds(3, "n")]
    assert drawn == [(87654321, 0), (87654321, 533697028), (87654321, 3)]
    ms.set_seed(5)
    assert [seeds(0, "n"), seeds(None, "m"), seeds(2, "m")] == [(5, 0), (5, 0), (5, 2)]
    with pytest.raises(ValueError, match="n: seed must be at least 0"):
        seeds(-1, "n")
    with pytest.raises(TypeError, match="n: seed must be an int"):
        seeds(0.5, "n")


def test_an_op_by_its_name(ms):
    (run,) = names("ops.primitive", "_run_op")

    class Sum(ops.Primitive):
        def __init__(self):
            super().__init__("ReduceSum")
            self.keep_dims, self.own = True, 3

        def __call__(self, x, axis):
            return run(self, self.name, (x, axis))

    np.testing.assert_array_equal(Sum()(ms.Tensor([[1.0, 2.0]]), 1).asnumpy(), [[3.0]])
    with pytest.raises(graphc.TraceError, match=r"\[GC101\] graphc has no primitive 'Summ'"):
        run(Sum(), "Summ", ())


def test_arguments_noted_by_a_cell(ms):
    (note,) = names("_extends", "cell_attr_register")

    class Layer(nn.Cell):
        @note
        def __init__(self, size, act="relu"):
            self.early = size  # Before Cell.__init__, as MindSpore lets one.
            super().__init__()
            self.size = size

    class Other(nn.Cell):
        @note(attrs=["size", "none"])
        def __init__(self, size):
            super().__init__()
            self.size = size + 1

    assert (Layer(3, act="x").cell_init_args, Layer(3).early) == ("Layer[3, 'x']", 3)
    assert Other(3).cell_init_args == "Other[4]"
    with pytest.raises(TypeError, match="attrs must be names"):
        note(attrs=[1])


def test_parts_of_a_cell_are_refused_before_its_init():
    class Early(nn.Cell):
        def __init__(self):
            self.inner = nn.ReLU()

    with pytest.raises(graphc.TraceAttributeError, match=r"'inner' is set before Cell\.__init__"):
        Early()


def test_layouts_of_devices(ms):
    layout = ms.Layout((2, 4, 2), ("dp", "sp", "mp"))
    assert layout("dp", "None", "mp").to_dict() == {
        "device_matrix": (2, 4, 2),
        "tensor_map": (2, -1, 0),
        "interleaved_parallel": False,
        "alias_name": ("dp", "sp", "mp"),
        "rank_list": list(range(16)),
    }
    assert layout(("dp", "sp"), "None").to_dict()["tensor_map"] == ((2, 1), -1)
    assert ms.Layout((1, 1), ("a", "interleaved_parallel"), [3])("a").to_dict()["interleaved_parallel"]
    assert ops.MatMul().shard((layout("dp", "mp"), layout("mp", "sp"))) is not None
    with pytest.raises(ValueError, match="says nothing of a tensor yet"):
        layout.to_dict()
    wrong = [
        (lambda: layout("tp"), "no axis 'tp'"),
        (lambda: layout("dp", "dp"), "'dp' of devices is used twice"),
        (lambda: ms.Layout((2,), ("a", "b")), "2 names for 1 axes"),
        (lambda: ms.Layout((2, 2), ("a", "a")), "distinct names"),
        (lambda: ms.Layout((2, 2), ("interleaved_parallel", "a")), "must be the last"),
        (lambda: ms.Layout((2, 2), ("a", "b"), [0]), "rank_list has 1 devices, device_matrix 4"),
        (lambda: ms.Layout([2], ("a",)), "device_matrix must be a tuple of ints"),
        (lambda: ms.Layout((2,), (3,)), "alias_name must be a tuple of strs"),
        (lambda: ms.Layout((2,), ("a",), (0, 1)), "rank_list must be a list of ints"),
    ]
    for call, message in wrong:
        with pytest.raises((TypeError, ValueError), match=message):
            call()


def test_flags_of_parameters(ms, caplog):
    made = ms.Parameter(ms.Tensor([1.0]), "p", True, False, False, "", "CPU")
    assert made.parallel_optimizer is False
    assert ms.Parameter(ms.Tensor([1.0])).parallel_optimizer is True
    with caplog.at_level(logging.WARNING, logger="graphc"):
        made.add_pipeline_stage(1)
    for call, message in (
        (lambda: ms.Parameter(1.0, parallel_optimizer=1), "parallel_optimizer must be a bool"),
        (lambda: ms.Parameter(1.0, storage_format="NZ"), r"\[GC112\].*storage_format"),
        (lambda: ms.Parameter(1.0, device="Remote"), r"\[GC112\].*device"),
        (lambda: made.add_pipeline_stage(-1), "stage must be an int >= 0"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            call()


def test_small_functions(ms):
    (cast,) = names("ops.functional", "mixed_precision_cast")
    whole, pair = cast(ms.float16, (ms.Tensor([1, 2]), [ms.Tensor([1.0]), "text"]))
    assert (whole.dtype, pair[0].dtype, pair[1]) == (ms.int64, ms.float16, "text")
    x = ms.Tensor(np.arange(12.0, dtype=np.float32).reshape(1, 2, 6))
    assert ops.squeeze(x, ()).shape == x.squeeze(()).shape == (2, 6)
    pieces = ops.SplitWithSize()(x, (1, 3, 2), -1)
    assert [p.shape for p in pieces] == [(1, 2, 1), (1, 2, 3), (1, 2, 2)]
    scalar = ops.TensorToScalar()
    assert (scalar(ms.Tensor(3)), scalar(ms.Tensor(0.5))) == (3, 0.5)
    with pytest.raises(ValueError, match="must have no axes"):
        scalar(x)
    y, factor = ops.RmsNorm(1e-3)(x, ms.Tensor(np.full(6, 2.0, np.float32)))
    want = 1 / np.sqrt((x.asnumpy().astype(np.float64) ** 2).mean(-1, keepdims=True) + 1e-3)
    np.testing.assert_allclose(factor.asnumpy(), want, rtol=1e-6)
    np.testing.assert_allclose(y.asnumpy(), x.asnumpy() * want * 2, rtol=1e-6)
    context = names("_c_expression", "MSContext")[0].get_instance()
    assert (context.get_ascend_soc_version(), context.get_ascend_soc_name()) == ("", "")
    assert names("_c_expression", "is_reboot_node")[0]() is False


class To(nn.Cell):
    """Casts what an inner cell gives, as wrappers for mixed precision do."""

    def __init__(self, inner, dtype):
        super().__init__(auto_prefix=False)
        self.inner, self.dtype = inner, dtype

    def construct(self, x):
        return ops.cast(self.inner(x), self.dtype)


def test_cells_replaced_for_mixed_precision(ms):
    """Products in float16, each wrapped where it stands; names stay."""

    def wrap(network):
        for name, cell in network.name_cells().items():
            if isinstance(cell, nn.Dense):
                network._cells[name] = To(cell.to_float(ms.float16), ms.float32)
            else:
                wrap(cell)
        if isinstance(network, nn.SequentialCell):
            network.cell_list = list(network.cells())

    ms.set_seed(0)
    net = nn.SequentialCell(nn.Dense(5, 8), nn.ReLU(), nn.SequentialCell(nn.Dense(8, 3)))
    x = ms.Tensor(np.random.default_rng(0).standard_normal((4, 5)).astype(np.float32))
    before, keys = net(x).asnumpy(), [p.name for p in net.get_parameters()]
    wrap(net)
    after = net(x).asnumpy()
    assert [p.name for p in net.get_parameters()] == keys
    assert after.dtype == np.float32
    assert 0 < np.abs(after - before).max() < 0.02


def test_an_optimizer_of_ones_own(ms):
    """As zoos write theirs: the counter moves where rates depend on the step."""

    class Signs(nn.Optimizer):
        def __init__(self, params, learning_rate, weight_decay=0.0):
            super().__init__(learning_rate, params, weight_decay)
            self.map = ops.Map()

        def construct(self, gradients):
            gradients = self._grad_sparse_indices_deduplicate(self.decay_weight(gradients))
            rate = self.get_lr()
            if self._is_dynamic_lr_or_weight_decay():
                self.assignadd(self.global_step, self.global_step_increase_tensor)
            return self.map(lambda p, g: ops.assign(p, p - rate * ops.sign(g)), self.parameters, gradients)

    for rates, steps in ((0.5, 0), ([0.5, 0.25], 2)):
        p = ms.Parameter(ms.Tensor([1.0, -1.0]), name="p")
        optimizer = Signs([p], rates)
        for _ in range(2):
            optimizer((ms.Tensor([2.0, -3.0]),))
        assert int(optimizer.global_step) == steps
        moved = 1.0 if steps == 0 else 0.75
        np.testing.assert_allclose(p.asnumpy(), [1 - moved, -1 + moved])


def test_modules_of_mindformers_where_it_is_absent(ms):
    for module, known in ALIASES.items():
        for name in known:
            assert getattr(importlib.import_module(module), name) is getattr(nn, name)
    from mindformers.wrapper import MFTrainOneStepCell

    assert MFTrainOneStepCell is nn.MFTrainOneStepCell
    with pytest.raises(
        ImportError, match=r"no mindformers.wrapper.Trainer, and MindFormers is not installed; there is: MF"
    ):
        from mindformers.wrapper import Trainer  # noqa: F401
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'mindformers\.trainer'"):
        importlib.import_module("mindformers.trainer")
    compat.uninstall()
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("mindformers.wrapper")
    compat.install()


def test_a_real_package_comes_first(ms, tmp_path, monkeypatch):
    (tmp_path / "mindformers").mkdir()
    (tmp_path / "mindformers" / "__init__.py").write_text("real = True\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert importlib.import_module("mindformers").real
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("mindformers.wrapper")
    monkeypatch.delitem(__import__("sys").modules, "mindformers")


def test_what_trainers_and_recipes_of_language_models_import(ms):
    import mindspore
    from mindspore.dataset.engine.datasets import BatchDataset, RepeatDataset
    from mindspore.dataset.vision.transforms import PyTensorOperation
    from mindspore.nn.wrap.cell_wrapper import _VirtualDatasetCell

    class Half(PyTensorOperation):
        def __call__(self, image):
            return image // 2

    images = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    data = mindspore.dataset.NumpySlicesDataset(images, ["x"], shuffle=False).map(Half(), "x").batch(2)
    assert isinstance(data, BatchDataset)
    assert isinstance(data.repeat(2), RepeatDataset)
    (batch,) = next(data.create_tuple_iterator(output_numpy=True))
    assert np.array_equal(batch, images // 2)

    dense = mindspore.nn.Dense(3, 2)
    wrapped = _VirtualDatasetCell(dense)
    x = mindspore.Tensor(np.ones((1, 3), np.float32))
    assert np.array_equal(wrapped(x).asnumpy(), dense(x).asnumpy())
    assert [p.name for p in wrapped.get_parameters()] == ["weight", "bias"]


@pytest.mark.parametrize(
    ("module", "name", "use"),
    [
        ("", "Symbol", "fixed shapes"),
    ],
)
def test_classes_that_are_only_there_to_be_imported_say_what_to_use(ms, module, name, use):
    found = getattr(importlib.import_module(f"mindspore.{module}".rstrip(".")), name)
    with pytest.raises(TypeError, match=f"(?s)graphc has no {name}.*{use}"):
        found("somewhere", output_path="x")


def test_kinds_of_data_sets(ms):
    from mindspore import dataset as ds

    images = ds.NumpySlicesDataset(np.zeros((2, 3)))
    for kind in (ds.VisionBaseDataset, ds.SourceDataset, ds.MappableDataset):
        assert isinstance(images, kind)
        assert not isinstance(images.batch(2), kind)
        assert not isinstance(images, ds.MindDataset)
    assert not isinstance(3, ds.SourceDataset)


def test_swap_cache(ms):
    (swap,) = names("_c_expression", "swap_cache")
    host, device = (
        ms.Tensor(np.zeros((4, 2, 2), np.float32)),
        ms.Tensor(np.arange(12, dtype=np.float32).reshape(3, 2, 2)),
    )
    pairs = ms.Tensor(np.array([[0, 3], [1, 2]]))
    swap(host, device, pairs, True)
    # MindSpore 2.10's.
    assert host.asnumpy().tolist() == [[[0, 0], [0, 0]], [[0, 0], [0, 0]], [[4, 5], [6, 7]], [[0, 1], [2, 3]]]
    swap(host, device, ms.Tensor(np.array([[3, 2]])), False)
    assert device.asnumpy()[2].tolist() == [[0, 1], [2, 3]]
    swap(host, device, ms.Tensor(np.zeros((0, 2), np.int64)), True)
    with pytest.raises(ValueError, match="blocks that are not there: 4 and 3 are"):
        swap(host, device, pairs, False)
    with pytest.raises(ValueError, match=r"expected integers \[n, 2\]"):
        swap(host, device, ms.Tensor([1.0]), True)
    with pytest.raises(ValueError, match="their blocks must be alike"):
        swap(host, ms.Tensor(np.zeros((3, 2))), pairs, True)
    with pytest.raises(TypeError, match="host must be a Tensor, got list"):
        swap([1], device, pairs, True)
