"""What of a checkpoint is loaded, from which file, and into which parameters."""

from __future__ import annotations

import io

import ml_dtypes
import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, load_checkpoint, load_param_into_net, nn, save_checkpoint
from graphc.errors import ArgumentTypeError, ArgumentValueError, CheckpointError

NAMES = ["conv1.weight", "conv2.weight", "fc.weight", "fc.bias"]


@pytest.fixture(params=["ckpt", "safetensors"])
def path(tmp_path, request):
    return save_checkpoint({n: Tensor(np.ones(2, np.float32)) for n in NAMES}, tmp_path / f"a.{request.param}")


@pytest.mark.parametrize(
    ("options", "left"),
    [
        ({"specify_prefix": "conv"}, NAMES[:2]),
        ({"specify_prefix": ["conv1", "fc.w"]}, [NAMES[0], NAMES[2]]),
        ({"filter_prefix": ("conv",)}, NAMES[2:]),
        ({"specify_prefix": "conv", "filter_prefix": "conv1"}, NAMES[1:2]),
        ({"choice_func": lambda n: n.endswith("weight")}, NAMES[:3]),
        ({"choice_func": lambda n: False, "specify_prefix": "fc"}, NAMES[2:]),
    ],
)
def test_which_entries(path, options, left):
    assert sorted(load_checkpoint(path, **options)) == sorted(left)
    if set(options) == {"choice_func"}:
        other = save_checkpoint(load_checkpoint(path), path.with_name(f"b{path.suffix}"), **options)
        assert sorted(load_checkpoint(other)) == sorted(left)


@pytest.mark.parametrize(
    ("options", "error", "reason"),
    [
        ({"specify_prefix": "x"}, ArgumentValueError, "none of its 4 entries are wanted"),
        ({"filter_prefix": 5}, ArgumentTypeError, "filter_prefix must be"),
        ({"filter_prefix": [5]}, ArgumentTypeError, "filter_prefix must be"),
        ({"specify_prefix": ""}, ArgumentValueError, "names no beginning"),
        ({"specify_prefix": []}, ArgumentValueError, "names no beginning"),
        ({"choice_func": "x"}, ArgumentTypeError, "choice_func must be"),
        ({"crc_check": 1}, ArgumentTypeError, "crc_check must be"),
        ({"format": "pickle"}, ArgumentValueError, "format must be"),
        ({"dec_key": b"key"}, ArgumentValueError, r"\[GC112\] load_checkpoint: dec_key="),
        ({"dec_mode": "x"}, ArgumentValueError, r"\[GC112\] load_checkpoint: dec_mode="),
        ({"remove_redundancy": True}, ArgumentValueError, r"\[GC112\] load_checkpoint: remove_redundancy="),
    ],
)
def test_wrong_arguments(path, options, error, reason):
    with pytest.raises(error, match=reason) as caught:
        load_checkpoint(path, **options)
    assert caught.value.loc.file.endswith("test_loading.py")


def test_names_of_files(tmp_path):
    x = {"x": Tensor([1.0])}
    for name, format, written in (
        ("a", "ckpt", "a.ckpt"),
        ("b", "safetensors", "b.safetensors"),
        ("c.ckpt", "safetensors", "c.ckpt.safetensors"),
        ("d.safetensors", "ckpt", "d.safetensors"),
        ("run-1_2", "ckpt", "run-1_2.ckpt"),
        ("v1.5", "ckpt", "v1.5.ckpt"),
    ):
        path = save_checkpoint(x, str(tmp_path / name), format=format)
        assert path == tmp_path / written
        assert (path.read_bytes()[8:9] == b"{") == written.endswith(".safetensors")
        if name != "c.ckpt":
            assert list(load_checkpoint(str(tmp_path / name), format=format)) == ["x"]
    (tmp_path / "a.ckpt").rename(tmp_path / "blob")
    (tmp_path / "b.safetensors").rename(tmp_path / "blub")
    assert list(load_checkpoint(tmp_path / "blob")) == list(load_checkpoint(tmp_path / "blub")) == ["x"]
    with pytest.raises(ArgumentValueError, match="is no file of format='safetensors'"):
        load_checkpoint(tmp_path / "c.ckpt", format="safetensors")
    for name, shown in (("", "''"), (b"x", "b'x'"), (5, "5"), (None, "NoneType"), (nn.Dense(2, 2), "Dense")):
        with pytest.raises(ArgumentTypeError, match=f"ckpt_file_name must be the name of a file, got {shown}\n"):
            save_checkpoint(x, name)
        with pytest.raises(ArgumentTypeError, match="ckpt_file_name must be"):
            load_checkpoint(name)
    for name in ("a\0b", "\ud800.ckpt", "a\0b.safetensors"):
        for call in (lambda name: save_checkpoint(x, name), load_checkpoint):
            with pytest.raises(ArgumentValueError, match=r"ckpt_file_name '.*' cannot be the name of a file"):
                call(name)


def test_bytes_in_memory(path):
    if path.suffix == ".safetensors":
        data = io.BytesIO(path.read_bytes())
        for _ in range(2):
            assert sorted(load_checkpoint(data, format="safetensors")) == sorted(NAMES)
        with pytest.raises(CheckpointError, match="of a BytesIO is damaged"):
            load_checkpoint(io.BytesIO(b"12345678"), format="safetensors")
    with pytest.raises(ArgumentTypeError, match="a dict of Tensors by name"):
        load_param_into_net(nn.Dense(2, 2), {1: Tensor([1.0])})
    with pytest.raises(ArgumentTypeError, match="a BytesIO holds"):
        load_checkpoint(io.BytesIO(path.read_bytes()))


def test_in_a_thread(path):
    loading = graphc.load_checkpoint_async(path, specify_prefix="fc")
    assert sorted(loading.result()) == sorted(NAMES[2:])
    with pytest.raises(CheckpointError, match="cannot be read"):
        graphc.load_checkpoint_async(path.with_name("none.ckpt")).result()


def test_what_is_saved_of_lists(tmp_path):
    p, q = Parameter(np.ones(1), name="p"), Tensor([1.0])
    path = save_checkpoint([{"name": "x", "data": p}, {"name": "y", "data": q}], tmp_path / "a.ckpt")
    assert list(load_checkpoint(path)) == ["x", "y"]
    assert list(load_checkpoint(save_checkpoint(iter([p]), path))) == ["p"]
    for wrong in ([{"name": "x"}], [{"name": 1, "data": p}], [p, {"name": "y", "data": q}]):
        with pytest.raises(ArgumentTypeError):
            save_checkpoint(wrong, path)
    with pytest.raises(ArgumentValueError, match="nothing to write"):
        save_checkpoint([], path)


# ---- into a network


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(3, 2, weight_init="zeros", bias_init="zeros")
        self.count = Parameter(np.zeros((), np.int32), name="count", requires_grad=False)


def values(**arrays):
    return {n.replace("__", "."): Parameter(a, name=n) for n, a in arrays.items()}


ONES, BIAS = np.ones((2, 3), np.float32), np.ones(2, np.float32)


def test_a_checkpoint_is_loaded_at_once(tmp_path):
    path = save_checkpoint(values(fc__weight=ONES, fc__bias=BIAS, count=np.array(3)), tmp_path / "a.ckpt")
    net = Net()
    assert sorted(load_checkpoint(path, net)) == ["count", "fc.bias", "fc.weight"]
    assert (net.fc.weight.asnumpy().sum(), net.count.item()) == (6, 3)
    with pytest.raises(CheckpointError, match="dtype differs  count"):
        load_checkpoint(path, Net(), strict_load=True)


def test_parameters_under_a_prefix(caplog):
    net = Net()
    entries = values(backbone__fc__weight=ONES, backbone__fc__bias=BIAS, count=np.array(3), head__fc__bias=BIAS * 2)
    assert load_param_into_net(net, entries) == ([], ["head.fc.bias"])
    assert net.fc.bias.asnumpy().tolist() == [1, 1]
    assert "2 parameters are loaded from under the prefix 'backbone.'" in caplog.text
    net = Net()
    with pytest.raises(CheckpointError, match="2 missing, 3 unexpected"):
        load_param_into_net(net, entries, strict_load=True)
    # One that does not fit as a whole is none; what has its own place is not taken twice.
    entries = values(fc__bias=BIAS, backbone__fc__weight=np.ones((2, 4), np.float32), x__count=np.array([1, 2]))
    missing, left = load_param_into_net(net, entries)
    assert (sorted(missing), sorted(left)) == (["count", "fc.weight"], ["backbone.fc.weight", "x.count"])
    assert (net.count.item(), net.fc.weight.asnumpy().sum()) == (0, 0)


def test_many_prefixes_are_no_long_search():
    """Each entry ends in the name that is missing, and none fits."""
    net = nn.Cell()
    net.weight = Parameter(np.zeros(3, np.float32), name="weight")
    entries = {f"layer{n}.weight": Tensor([1.0]) for n in range(3000)}
    assert load_param_into_net(net, entries) == (["weight"], list(entries))


def test_what_is_missing_is_logged_as_a_table(caplog):
    load_param_into_net(Net(), values(fc__bias=BIAS, counts=np.array(1)) | {"note": "text", "data": {"epoch": 1}})
    assert caplog.messages == [
        "load_param_into_net: 2 of 3 parameters are not in the checkpoint and stay as they are; 3 of its 4 entries are left\n"
        "  missing        count (the checkpoint has counts)\n"
        "  missing        fc.weight\n"
        "  unexpected     counts (the net has count)\n"
        "  unexpected     note\n"
        "  unexpected     data"
    ]


@pytest.mark.parametrize(
    ("name", "array", "strict"),
    [
        ("fc.weight", ONES.astype(np.float64), False),
        ("fc.weight", ONES.astype(np.float16), False),
        ("fc.weight", ONES.astype(ml_dtypes.bfloat16), False),
        ("fc.weight", ONES.reshape(2, 3, 1, 1), True),
        ("count", np.array(3, np.int64), False),
        ("count", np.array([3], np.int32), True),
        ("count", np.array(3, np.int8), False),
    ],
)
def test_dtypes_and_axes_of_size_one_that_fit(name, array, strict):
    net = Net()
    load_param_into_net(net, {name: Parameter(array, name=name)})
    loaded = net.parameters_dict()[name]
    assert loaded.asnumpy().astype(np.float64).sum() == array.astype(np.float64).sum()
    assert loaded.tensor_type == Net().parameters_dict()[name].tensor_type
    whole = {n: p for n, p in Net().parameters_dict().items()} | {name: Parameter(array, name=name)}
    if strict:
        load_param_into_net(net, whole, strict_load=True)
    else:
        with pytest.raises(CheckpointError, match=f"dtype differs  {name}"):
            load_param_into_net(net, whole, strict_load=True)


@pytest.mark.parametrize(
    ("name", "array", "reason"),
    [
        ("count", np.array(1 << 40), "the checkpoint i64.* with 1099511627776 in it"),
        ("count", np.array(3, np.uint8), "dtype differs"),
        ("count", np.array(3.0), "dtype differs"),
        ("fc.bias", BIAS.astype(np.int32), "dtype differs"),
        ("fc.bias", np.ones((1, 2), np.float32), "shape differs"),
        ("fc.bias", np.ones((), np.float32), "shape differs"),
        ("fc.bias", np.ones((2, 1, 2), np.float32), "shape differs"),
    ],
)
def test_nothing_is_loaded_where_one_does_not_fit(name, array, reason):
    net = Net()
    given = values(fc__weight=ONES, fc__bias=BIAS, count=np.array(1)) | {name: Parameter(array, name=name)}
    with pytest.raises(CheckpointError, match=reason):
        load_param_into_net(net, given)
    assert all((p.asnumpy() == 0).all() for p in net.get_parameters())


def test_wrong_arguments_of_loading_into_a_network():
    with pytest.raises(ArgumentTypeError, match="strict_load must be a bool"):
        load_param_into_net(Net(), {}, strict_load="yes")
    with pytest.raises(ArgumentValueError, match=r"\[GC112\] load_param_into_net: remove_redundancy="):
        load_param_into_net(Net(), {}, remove_redundancy=True)
    with pytest.raises(ArgumentTypeError, match="must be a dict of Tensors"):
        load_param_into_net(Net(), {"x": None})


# ---- from one format to the other


def test_converting(tmp_path, caplog):
    there, back = tmp_path / "there", tmp_path / "back"
    files = {
        name: save_checkpoint(values(w=ONES), tmp_path / "in" / f"{name}.ckpt") for name in ("rank_0/a", "rank_1/b")
    }
    graphc.ckpt_to_safetensors(files["rank_0/a"], there, {"w": "weight"})
    assert list(load_checkpoint(there / "a.safetensors")) == ["weight"]
    graphc.ckpt_to_safetensors(files["rank_0/a"])
    assert (tmp_path / "in/rank_0/a.safetensors").is_file()
    graphc.ckpt_to_safetensors(tmp_path / "in", there, processes_num=2)
    assert sorted(p.relative_to(there).as_posix() for p in there.rglob("*.*")) == [
        "a.safetensors", "rank_0/a.safetensors", "rank_1/b.safetensors",
    ]  # fmt: skip
    graphc.safetensors_to_ckpt(there, back, file_name_regex="^b")
    assert [p.relative_to(back).as_posix() for p in back.rglob("*.*")] == ["rank_1/b.ckpt"]
    assert (back / "rank_1/b.ckpt").read_bytes() == files["rank_1/b"].read_bytes()
    for options, reason in (
        ({"file_path": tmp_path}, "nothing to convert"),
        ({"file_name_regex": "x"}, "nothing to convert"),
        ({"file_name_regex": "("}, "file_name_regex '\\(' is none"),
        ({"save_path": "x.ckpt"}, "save_path must be a directory"),
        ({"processes_num": 0}, "processes_num must be at least 1"),
    ):
        with pytest.raises(ArgumentValueError, match=reason):
            graphc.ckpt_to_safetensors(**{"file_path": files["rank_0/a"], **options})
    with pytest.raises(ArgumentTypeError, match="name_map must be a dict"):
        graphc.ckpt_to_safetensors(files["rank_0/a"], name_map=[("w", "x")])
