"""`mindspore.hal`, `.runtime`, `.device_context` and dtypes without bits, as MindSpore 2.10 has them on a CPU."""

from __future__ import annotations

import importlib
import logging

import numpy as np
import pytest

import graphc
from graphc import compat, nn


@pytest.fixture
def ms():
    compat.install()
    yield importlib.import_module("mindspore")
    compat.uninstall()


def test_there_is_one_cpu(ms):
    for target, there in (("CPU", True), ("GPU", False), ("Ascend", False)):
        assert ms.hal.is_available(target) is there
        assert not ms.hal.is_initialized(target)
    assert (ms.hal.device_count(), ms.hal.get_device_name(0)) == (1, "CPU")
    assert ms.hal.get_device_properties(0) is ms.hal.get_device_capability(0) is ms.hal.get_arch_list() is None
    for call in (
        lambda: ms.hal.is_available("TPU"),
        lambda: ms.hal.device_count("GPU"),
        lambda: ms.hal.get_device_name(3),
    ):
        with pytest.raises(ValueError, match="GC100"):
            call()
    for module in (ms.hal, ms.runtime, ms):
        assert module.max_memory_allocated() == module.memory_reserved() == 0
        assert module.empty_cache() is module.synchronize() is None
    stats = ms.runtime.memory_stats()
    pools = [stats.pop(f"{pool}_mem_pool_stats") for pool in ("common", "persistent")]
    assert pools == [{"block_unit_size": 0, "block_counts": 0, "blocks_info": {}}] * 2
    assert set(stats.values()) == {0}


def test_streams_and_events_are_over_at_once(ms):
    stream, event = ms.hal.Stream(), ms.hal.Event(enable_timing=True)
    assert stream == ms.hal.current_stream() == ms.runtime.default_stream()
    assert repr(stream) == "Stream(device_name=CPU, device_id:0, stream id:0)"
    event.record(stream)
    assert event.query()
    assert stream.query()
    assert stream.record_event(event) is event
    assert event.elapsed_time(event) == 0.0
    with ms.hal.StreamCtx(stream):
        assert (ms.Tensor([1.0]) + 1).asnumpy() == 2.0
    for done in (event.wait, event.synchronize, stream.synchronize, ms.runtime.launch_blocking):
        assert done() is None


def test_settings_of_devices(ms, caplog):
    devices = ms.device_context
    assert (devices.cpu.is_available(), devices.gpu.is_available(), devices.ascend.is_available()) == (
        True,
        False,
        False,
    )
    assert devices.cpu.device_count() == 1
    with pytest.raises(RuntimeError, match="no such device"):
        devices.ascend.device_count()
    with caplog.at_level(logging.WARNING, "graphc"):
        devices.ascend.op_precision.precision_mode("force_fp32")
        devices.gpu.op_tuning.conv_fprop_algo("normal")
    assert "precision_mode has no effect: there is no such device" in caplog.text
    with pytest.raises(ValueError, match="threads_num: num must be > 0"):
        devices.cpu.op_tuning.threads_num(0)


def test_dtypes_without_a_number_of_bits(ms):
    x = ms.Tensor(np.float32([1.7, 2.5]))
    dtypes = importlib.import_module("mindspore.common.dtype")
    assert ms.ops.cast(x, ms.int_).dtype is ms.int32 is ms.int
    assert ms.ops.zeros(2, ms.int_).dtype == ms.int32
    assert ms.ops.cast(x, ms.float_).dtype is ms.float32 is ms.float
    assert dtypes.complex_type == (ms.complex64, ms.complex128)
    assert dtypes.type_size_in_bytes(ms.float16) == 2
    asked = ((ms.float32, ms.float_), (ms.float32, ms.number), (ms.int32, ms.float_), (ms.tensor_type, ms.number))
    assert [dtypes._issubclass_(a, b) for a, b in asked] == [True, True, False, False]
    assert dtypes._issubclass_(ms.int8, dtypes.Int)


def test_what_training_loops_take_from_the_inside(ms, tmp_path):
    serialization = importlib.import_module("mindspore.train.serialization")
    assert serialization.tensor_to_ms_type["BFloat16"] is ms.bfloat16
    assert serialization.tensor_to_np_type("Int8") is np.int8
    with pytest.raises(TypeError, match="'Int7' is no dtype"):
        serialization.tensor_to_np_type("Int7")
    inside = importlib.import_module("mindspore.train._utils")
    inside.check_value_type("epochs", 3, (int,))
    with pytest.raises(TypeError, match="epochs must be int, got bool"):
        inside.check_value_type("epochs", True, (int,))
    assert inside._make_directory(str(tmp_path / "a" / "b")) == str(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()
    model = importlib.import_module("mindspore.train.model")
    x = ms.Tensor(1.0)
    assert model._transfer_tensor_to_tuple(x) == (x,)
    assert model._transfer_tensor_to_tuple([x]) == [x]
    stub = importlib.import_module("mindspore.common._stub_tensor").StubTensor
    assert not isinstance(x, stub)
    assert isinstance(x, importlib.import_module("mindspore._c_expression").TensorPy)


def test_one_process_tells_itself(ms):
    distributed = importlib.import_module("mindspore.mint.distributed")
    helper = importlib.import_module("mindspore.communication._comm_helper")
    assert (helper._is_initialized(), helper._is_mpi_available(), helper._get_group_ranks()) == (False, False, [0])
    x, held = graphc.Tensor([1.0, 2.0]), [graphc.ops.zeros(2) for _ in range(5)]
    assert distributed.new_group() == graphc.parallel.GlobalComm.WORLD_COMM_GROUP
    alone = distributed.new_group([0])
    assert (distributed.get_rank(alone), distributed.get_process_group_ranks(alone)) == (0, [0])
    distributed.all_gather(held[:1], x)
    distributed.gather(x, held[1:2])
    distributed.scatter(held[2], [x])
    distributed.reduce_scatter(held[3], [x])
    distributed.all_to_all_single(held[4], x)
    assert [h.asnumpy().tolist() for h in held] == [[1.0, 2.0]] * 5
    distributed.reduce(x, 0)
    distributed.all_to_all([held[0]], [x * 2])
    assert held[0].asnumpy().tolist() == [2.0, 4.0]
    assert distributed.get_process_group_ranks() == [0]
    assert (distributed.get_global_rank(None, 0), distributed.get_group_rank(None, 0)) == (0, 0)
    assert distributed.get_backend() == "mpi"
    with pytest.raises(ValueError, match="all_to_all: expected 1 tensors in input_tensor_list, one per process, got 2"):
        distributed.all_to_all(held, [x, x])
    with pytest.raises(ValueError, match=r"output_split_sizes=\[1\] are 1 rows, the tensor has 2"):
        distributed.all_to_all_single(x, x, [1])


class Doubled(nn.Cell):
    def __init__(self):
        super().__init__()
        self.weight = graphc.Parameter(graphc.Tensor([2.0]), name="weight")

    def construct(self, x):
        return self.weight * x


def test_auto_parallel_of_one_process_is_the_network(ms, caplog):
    module = importlib.import_module("mindspore.parallel.auto_parallel")
    cell = module.AutoParallel(Doubled(), parallel_mode="semi_auto")
    assert [p.name for p in cell.trainable_params()] == ["weight"]
    assert cell(graphc.Tensor([3.0])).asnumpy() == 6.0
    assert cell.get_pipeline_stages() == 1
    with caplog.at_level(logging.WARNING, "graphc"):
        cell.hsdp(shard_size=2)
        cell.pipeline(1)
    assert "AutoParallel: hsdp has no effect: there is one process" in caplog.text
    for call, words in (
        (lambda: module.AutoParallel(3), "network must be a Cell, got int"),
        (lambda: module.AutoParallel(Doubled(), "full"), "parallel_mode must be one of"),
        (lambda: cell.pipeline(2), "stages=2 is not supported"),
    ):
        with pytest.raises((TypeError, ValueError), match=words):
            call()
