"""What the zoo of diffusion and language models over `mindspore.mint` imports and calls of MindSpore's inside."""

from __future__ import annotations

import importlib
import importlib.metadata
from typing import Any

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, compat, nn, ops
from graphc.errors import ArgumentTypeError, ArgumentValueError, CheckpointError

#: Lines as its files have them.
IMPORTS = """
from mindspore import _no_grad
from mindspore._c_expression.amp import AmpLevel, create_amp_strategy
from mindspore.common import _Function
from mindspore.common.api import _function_forbid_reuse
from mindspore.mint import functional
from mindspore.mint.nn import Cell
from mindspore.nn.utils import no_init_parameters
from mindspore.ops.function.nn_func import (
    _check_attn_mask_shape, _check_kpm_shape, _check_qkv_shape, _in_projection, _in_projection_packed, _inner_dropout, _inner_pad,
    _interploate_ext_make_tuple, _interpolate_ext_scale_factor_convert_size, linear, multi_head_attention_forward, pad_ext,
)
from mindspore.train.amp import AMP_BLACK_LIST, AMP_WHITE_LIST, _auto_black_list, _auto_mixed_precision_rewrite, _auto_white_list
from mindspore.train.serialization import _load_dismatch_prefix_params, _update_param
import mindspore.mint.distributed as dist
"""


@pytest.fixture
def ms():
    compat.install()
    yield importlib.import_module("mindspore")
    compat.uninstall()


@pytest.fixture
def inside(ms):
    found: dict[str, Any] = {}
    exec(IMPORTS, found)
    return found


def floats(*shape: int) -> Tensor:
    return Tensor(np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32))


def test_the_version_is_known_to_who_looks_for_packages(ms):
    assert importlib.util.find_spec("mindspore") is not None
    assert importlib.metadata.version("mindspore") == ms.__version__
    compat.uninstall()
    try:
        with pytest.raises(importlib.metadata.PackageNotFoundError):
            importlib.metadata.version("mindspore")
    finally:
        compat.install()


def test_one_process_is_a_group(inside):
    dist = inside["dist"]
    assert dist.is_available()
    with pytest.raises(ArgumentValueError, match="world_size=2"):
        dist.init_process_group(world_size=2)
    assert not dist.is_initialized()
    dist.init_process_group("gloo", rank=0)
    assert dist.is_initialized()
    assert (dist.get_rank(), dist.get_world_size()) == (0, 1)
    x, out = floats(3), ops.zeros((3,))
    dist.all_reduce(x)
    dist.broadcast(x, 0)
    dist.all_gather_into_tensor(out, x)
    np.testing.assert_array_equal(out.asnumpy(), floats(3).asnumpy())
    dist.reduce_scatter_tensor(out, x * 2)
    dist.barrier()
    np.testing.assert_array_equal(out.asnumpy(), 2 * floats(3).asnumpy())
    dist.barrier(async_op=True).wait()


def test_a_strategy_that_cells_hold_is_refused(inside):
    assert [level.value for level in inside["AmpLevel"]] == [0, 1, 2, 3, 4]
    with pytest.raises(ArgumentTypeError, match="no strategies") as caught:
        inside["create_amp_strategy"](inside["AmpLevel"].AmpO3, graphc.float16, [], [])
    assert "auto_mixed_precision" in str(caught.value)


# ---- gradients


def both_modes(fn: Any, *args: Tensor) -> list[list[np.ndarray]]:
    """fn's results outside of a compiled function and inside."""
    made = []
    for run in (fn, graphc.jit(fn)):
        found = run(*args)
        made.append([x.asnumpy() for x in (found if isinstance(found, tuple) else (found,))])
    return made


def test_what_is_computed_without_gradients_is_constant(inside, mode_again):
    no_grad = inside["_no_grad"]

    @no_grad()
    def scale(x: Tensor) -> Tensor:
        return x.sum() if x.sum() > 0 else x.max()

    def loss(x: Tensor) -> Tensor:
        with no_grad():
            y = ops.exp(x) * 2
        return (x * y * scale(x)).sum()

    for mode in (graphc.GRAPH_MODE, graphc.PYNATIVE_MODE):
        graphc.set_context(mode=mode)
        x = ops.abs(floats(4)) + 0.1
        (plain,), (compiled,) = both_modes(lambda x: graphc.grad(loss)(x), x)
        wanted = np.exp(x.asnumpy()) * 2 * x.asnumpy().sum()
        np.testing.assert_allclose(plain, wanted, rtol=1e-5)
        np.testing.assert_allclose(compiled, wanted, rtol=1e-5)
    # Behind it gradients flow again.
    np.testing.assert_allclose(graphc.grad(lambda x: (x * x).sum())(x).asnumpy(), 2 * x.asnumpy(), rtol=1e-6)


def test_functions_have_gradients_of_their_own(inside, mode_again):
    class Clipped(inside["_Function"]):
        @staticmethod
        def forward(ctx: Any, x: Tensor, y: Tensor, factor: float) -> tuple[Tensor, Tensor]:
            ctx.save_for_backward(x, y)
            ctx.factor = factor
            made = x * y * factor, ops.sign(x)
            ctx.mark_non_differentiable(made[1])
            return made

        @staticmethod
        def backward(ctx: Any, dout: Tensor, _: Tensor) -> tuple[Any, ...]:
            x, y = ctx.saved_tensors
            return dout * y * 10, dout * x * ctx.factor, None

    class Squared(inside["_Function"]):
        @staticmethod
        def forward(x: Tensor) -> Tensor:
            return x * x

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
            (ctx.x,) = inputs

        @staticmethod
        def backward(ctx: Any, dout: Tensor) -> Tensor:
            return dout * ctx.x * 3

    def loss(x: Tensor, y: Tensor) -> Tensor:
        made, signs = Clipped.apply(x, y, 2.0)
        return (made + signs * x).sum() + Squared.apply(y).sum()

    x, y = floats(3), floats(3) * 2
    for mode in (graphc.GRAPH_MODE, graphc.PYNATIVE_MODE):
        graphc.set_context(mode=mode)
        for dx, dy in both_modes(lambda x, y: graphc.grad(loss, (0, 1))(x, y), x, y):
            a, b = x.asnumpy(), y.asnumpy()
            np.testing.assert_allclose(dx, b * 10 + np.sign(a), rtol=1e-6)
            np.testing.assert_allclose(dy, a * 2 + b * 3, rtol=1e-6)
    assert Squared.apply(x).asnumpy() == pytest.approx(x.asnumpy() ** 2)


# ---- attention, borders, sizes


@pytest.mark.parametrize("zero", [False, True])
@pytest.mark.parametrize("more", [False, True])
@pytest.mark.parametrize("separate", [False, True])
def test_attention_is_that_of_the_layer(inside, separate, more, zero):
    layer = nn.MultiheadAttention(8, 2, add_bias_kv=more, add_zero_attn=zero)
    given = [floats(4, 3, 8), floats(5, 3, 8), floats(5, 3, 8) * 2]
    masks = {"key_padding_mask": Tensor(floats(3, 5).asnumpy() > 1), "attn_mask": floats(4, 5)}
    w = layer.in_proj_weight
    own = {"use_separate_proj_weight": True, **{f"{n}_proj_weight": w[8 * i : 8 * i + 8] for i, n in enumerate("qkv")}}
    made = inside["multi_head_attention_forward"](
        *given, 8, 2, None if separate else w, layer.in_proj_bias, layer.bias_k, layer.bias_v, zero, 0.0, layer.out_proj.weight,
        layer.out_proj.bias, **masks, **(own if separate else {}),
    )  # fmt: skip
    for one, other in zip(made, layer(*given, **masks), strict=True):
        np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-5, atol=1e-6)
    alone = [x[:, 0] for x in given]
    out, shares = inside["multi_head_attention_forward"](
        *alone, 8, 2, w, layer.in_proj_bias, layer.bias_k, layer.bias_v, zero, 0.0, layer.out_proj.weight, None,
        average_attn_weights=False,
    )  # fmt: skip
    assert (out.shape, shares.shape) == ((4, 8), (2, 4, 5 + more + zero))


def test_parts_of_attention_and_of_resizing(inside):
    x, w = floats(2, 3, 4), floats(12, 4)
    same = inside["_in_projection_packed"](x, x, x, w, None, True, True)
    for one, other in zip(same, inside["_in_projection_packed"](x, x, x, w, None, False, False), strict=True):
        np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), rtol=1e-6)
    with pytest.raises(ArgumentValueError, match="the weight of the key"):
        inside["_in_projection"](x, x, x, w[:4], w[:3], w[:4])
    assert inside["_check_qkv_shape"](3, 3, 3)
    assert not inside["_check_qkv_shape"](2, 2, 2)
    for name, args in (
        ("_check_qkv_shape", (3, 2, 3)),
        ("_check_qkv_shape", (4, 4, 4)),
        ("_check_kpm_shape", (3, 1)),
        ("_check_attn_mask_shape", (2, (5, 4), (6, 4), 3, (2, 5, 5), 2)),
        ("_check_attn_mask_shape", (3, (5, 1, 4), (6, 1, 4), 1, (5,), 2)),
    ):
        with pytest.raises(ValueError, match="attention"):
            inside[name](*args)
    flags = inside["_inner_pad"](Tensor([[True, False]]), (1, 0), value=0)
    assert flags.dtype == graphc.bool_
    assert flags.asnumpy().tolist() == [[False, True, False]]
    assert inside["_inner_dropout"](x, 0.5, False) is x
    assert inside["_interploate_ext_make_tuple"](floats(1, 1, 4, 6), 2.0) == (2.0, 2.0)
    assert inside["_interpolate_ext_scale_factor_convert_size"](floats(1, 1, 4, 6), (1.6, 0.5)) == (6, 3)


# ---- values and precision of networks


class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.dense, self.norm = nn.Dense(4, 3), nn.LayerNorm((3,))

    def construct(self, x: Tensor) -> Tensor:
        return self.norm(self.dense(x))


def test_networks_by_lists_of_mixed_precision(inside):
    x, wanted = floats(2, 4), Net()
    for make in (
        lambda net: inside["_auto_black_list"](net, inside["AMP_BLACK_LIST"], graphc.bfloat16),
        lambda net: inside["_auto_white_list"](net, inside["AMP_WHITE_LIST"], graphc.bfloat16),
        lambda net: inside["_auto_mixed_precision_rewrite"](net, graphc.bfloat16, black_list=[nn.LayerNorm]),
    ):
        net = Net()
        graphc.load_param_into_net(net, wanted.parameters_dict())
        assert make(net) is net
        np.testing.assert_allclose(net(x).float().asnumpy(), wanted(x).asnumpy(), rtol=0.1, atol=0.1)
        assert net.dense.weight.dtype == graphc.float32


def test_parameters_are_loaded_one_by_one_and_under_a_prefix(inside):
    with inside["no_init_parameters"]():
        net = Net()
    assert np.isfinite(net.dense.weight.asnumpy()).all()
    inside["_update_param"](net.dense.bias, Parameter(Tensor(np.arange(3.0, dtype=np.float64))), False)
    np.testing.assert_array_equal(net.dense.bias.asnumpy(), [0, 1, 2])
    with pytest.raises(CheckpointError, match="shape differs"):
        inside["_update_param"](net.dense.bias, floats(4), False)
    left = ["dense.weight", "norm.gamma"]
    given = {"net.dense.weight": floats(3, 4), "other": floats(2)}
    inside["_load_dismatch_prefix_params"](net, given, left, False)
    assert left == ["norm.gamma"]
    np.testing.assert_array_equal(net.dense.weight.asnumpy(), floats(3, 4).asnumpy())
