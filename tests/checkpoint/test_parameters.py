"""Checkpoints: round trip, mismatches, damage."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

from graphc.checkpoint import load_checkpoint, load_param_into_net, save_checkpoint
from graphc.errors import ArgumentTypeError, ArgumentValueError, CheckpointError
from graphc.nn.cell.cell import Cell
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor


class Net(Cell):
    def __init__(self, width: int = 3, dtype=np.float32, **more) -> None:
        super().__init__()
        self.weight = Parameter(np.arange(2 * width).reshape(2, width).astype(dtype), name="fc.weight")
        self.scale = Parameter(np.float32(1024.0), name="scale_sense", requires_grad=False)
        self.step = Parameter(np.int32(7), name="global_step", requires_grad=False)
        for name, value in more.items():
            setattr(self, name, Parameter(value))


def _zeros(net: Cell) -> Cell:
    for p in net.get_parameters():
        p.set_data(np.zeros(p.shape, p.storage.dtype))
    return net


def test_round_trip_of_all_state(tmp_path):
    more = {
        "flag": np.array([True, False]),
        "half": np.ones((0, 2), np.float16),
        "long": np.array(2**40),
        "wide": np.array([1e300]),
    }
    path = save_checkpoint(Net(**more), tmp_path / "new" / "a.safetensors")
    assert path == tmp_path / "new" / "a.safetensors"
    loaded = load_checkpoint(path)
    net = _zeros(Net(**more))
    assert load_param_into_net(net, loaded, strict_load=True) == ([], [])
    for ours, saved in zip(net.get_parameters(), Net(**more).get_parameters(), strict=True):
        assert (ours.name, ours.tensor_type) == (saved.name, saved.tensor_type)
        np.testing.assert_array_equal(ours.asnumpy(), saved.asnumpy())


def test_the_file_is_what_others_read_and_write(tmp_path):
    from safetensors import safe_open
    from safetensors.numpy import save_file

    save_checkpoint(Net(), tmp_path / "a.safetensors")
    with safe_open(tmp_path / "a.safetensors", "np") as file:
        assert file.metadata() == {"format": "ms"}
        assert set(file.keys()) == {"fc.weight", "scale_sense", "global_step"}
        assert file.get_tensor("global_step").shape == ()
    save_file({"x": np.arange(3.0)}, tmp_path / "b.safetensors")
    np.testing.assert_array_equal(load_checkpoint(tmp_path / "b.safetensors")["x"].asnumpy(), np.arange(3.0))


def test_loading_keeps_the_memory_of_the_parameters(tmp_path):
    net = Net()
    storage = net.weight.storage
    load_param_into_net(net, {"fc.weight": Tensor(np.full((2, 3), 5, np.float32))})
    assert net.weight.storage is storage
    assert (storage == 5).all()


def test_what_can_be_saved(tmp_path):
    path = tmp_path / "a.safetensors"
    save_checkpoint({"x": Tensor([1.0])}, path)
    assert list(load_checkpoint(path)) == ["x"]
    save_checkpoint([Parameter(np.ones(2), name="p")], path)
    assert list(load_checkpoint(path)) == ["p"]
    save_checkpoint({}, path)
    assert load_checkpoint(path) == {}
    save_checkpoint({"x": np.ones(2)}, path)
    assert load_checkpoint(path)["x"].shape == (2,)
    for wrong in (Tensor([1.0]), 5, "net", [np.ones(2)], {"x": [1.0]}, {1: Tensor([1.0])}):
        with pytest.raises(ArgumentTypeError):
            save_checkpoint(wrong, tmp_path / "wrong")
    with pytest.raises(ArgumentValueError, match="two parameters are named 'p'") as caught:
        save_checkpoint([Parameter(1.0, name="p"), Parameter(2.0, name="p")], tmp_path / "wrong")
    assert caught.value.code == "GC141"
    for name in ("__metadata__", "half a \ud800 pair"):
        with pytest.raises(ArgumentValueError, match="cannot hold a tensor named"):
            save_checkpoint({name: Tensor([1.0])}, tmp_path / "wrong")
    assert not (tmp_path / "wrong").exists()


def test_a_failed_save_keeps_the_old_file(tmp_path, monkeypatch):
    path = save_checkpoint(Net(), tmp_path / "a.safetensors")
    before = path.read_bytes()

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        save_checkpoint({"x": Tensor([1.0])}, path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["a.safetensors"]


def test_missing_and_unexpected_names_are_returned():
    net = Net()
    given = {"fc.weight": Tensor(np.ones((2, 3), np.float32)), "fc.bias": Tensor([1.0])}
    assert load_param_into_net(net, given) == (["scale_sense", "global_step"], ["fc.bias"])
    assert (net.weight.asnumpy() == 1).all()


def test_strict_loading_lists_everything_and_loads_nothing():
    net = Net()
    given = {
        "fc.weight": Tensor(np.ones((2, 4), np.float32)),
        "scale_senze": Tensor(np.float32(1.0)),
        "global_step": Tensor(np.float32(9.0)),
    }
    with pytest.raises(CheckpointError) as caught:
        load_param_into_net(net, given, strict_load=True)
    assert caught.value.code == "GC190"
    assert str(caught.value).split("\n")[0] == (
        "[GC190] the checkpoint does not match the network: 2 of another shape or dtype, 1 missing, 1 unexpected;"
        " nothing was loaded"
    )
    assert caught.value.details == (
        "shape differs  fc.weight: the net has f32[2,3], the checkpoint f32[2,4]",
        "dtype differs  global_step: the net has i32[], the checkpoint f32[]",
        "missing        scale_sense (the checkpoint has scale_senze)",
        "unexpected     scale_senze (the net has scale_sense)",
    )
    np.testing.assert_array_equal(net.weight.asnumpy(), Net().weight.asnumpy())
    assert net.step.item() == 7


@pytest.mark.parametrize("wrong", [np.ones((3, 2), np.float32), np.ones((2, 3), np.int32), np.ones(6, np.float32)])
def test_a_wrong_shape_or_kind_loads_nothing_even_when_not_strict(wrong):
    net = Net()
    with pytest.raises(CheckpointError, match="1 of another shape or dtype"):
        load_param_into_net(net, {"global_step": Tensor(np.int32(1)), "fc.weight": Tensor(wrong)})
    assert net.step.item() == 7


def test_floats_are_converted_only_when_not_strict():
    net, given = Net(), {**{p.name: p for p in Net(dtype=np.float64).get_parameters()}}
    with pytest.raises(CheckpointError, match="1 of another shape or dtype"):
        load_param_into_net(net, given, strict_load=True)
    assert load_param_into_net(_zeros(net), given) == ([], [])
    assert net.weight.tensor_type.dtype == "float32"
    np.testing.assert_array_equal(net.weight.asnumpy(), Net().weight.asnumpy())


def test_a_long_table_is_cut():
    with pytest.raises(CheckpointError) as caught:
        load_param_into_net(Net(), {f"p{i}": Tensor([1.0]) for i in range(50)}, strict_load=True)
    assert len(caught.value.details) == 11
    assert caught.value.details[-1] == "... and 43 more"


def test_wrong_arguments():
    for net, given in ((3, {}), (Net(), [1]), (Net(), {"fc.weight": np.ones((2, 3))})):
        with pytest.raises(ArgumentTypeError):
            load_param_into_net(net, given)


def test_every_truncation_is_an_error(tmp_path):
    path = save_checkpoint(Net(), tmp_path / "a.safetensors")
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(CheckpointError, match="damaged or no safetensors file"):
            load_checkpoint(path)


def test_other_files_are_errors(tmp_path):
    path = tmp_path / "a.safetensors"
    for data in (b"\x80\x04pickle", b"\xff" * 64, (10**15).to_bytes(8, "little") + b"{}", b"PK\x03\x04"):
        path.write_bytes(data)
        with pytest.raises(CheckpointError, match="damaged or no safetensors file"):
            load_checkpoint(path)
    with pytest.raises(CheckpointError, match="cannot be read: No such file"):
        load_checkpoint(tmp_path / "none")
    with pytest.raises(CheckpointError, match="cannot be read: Is a directory"):
        load_checkpoint(tmp_path)
    header = json.dumps({"x": {"dtype": "F8_E4M3", "shape": [2], "data_offsets": [0, 2]}}).encode()
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(2))
    with pytest.raises(CheckpointError, match="'x' has dtype"):
        load_checkpoint(path)


def test_a_dtype_that_numpy_has_not(tmp_path):
    header = b'{"x":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[0,2]}}'
    (tmp_path / "a").write_bytes(len(header).to_bytes(8, "little") + header + b"\x00" * 2)
    with pytest.raises(CheckpointError, match="'x' has dtype F8_E4M3"):
        load_checkpoint(tmp_path / "a")
