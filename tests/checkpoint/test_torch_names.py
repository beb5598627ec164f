"""State dicts of torch in safetensors files: networks that load them compute what NumPy computes by torch's formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view
from safetensors.numpy import save_file

from graphc import Parameter, Tensor, load_checkpoint, load_param_into_net, nn, ops
from graphc.checkpoint import TORCH_NAMES, Rule, rename_torch
from graphc.errors import ArgumentTypeError, ArgumentValueError
from graphc.examples.lenet import LeNet5

DRAW = np.random.RandomState(4)


def state(**shapes):
    """A state dict; names with __ for a dot, 1-d "running_var" positive."""
    arrays = {n.replace("__", "."): DRAW.standard_normal(s).astype(np.float32) * 0.3 for n, s in shapes.items()}
    return {n: np.abs(a) + 0.5 if n.endswith("running_var") else a for n, a in arrays.items()}


def linear(x, s, name):
    return x @ s[f"{name}.weight"].T.astype(float) + s[f"{name}.bias"]


def conv(x, weight, pad=0, stride=1):
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    windows = sliding_window_view(x, weight.shape[2:], (2, 3))[:, :, ::stride, ::stride]
    return np.einsum("nchwij,ocij->nohw", windows, weight.astype(float))


def batch_norm(x, s, name):
    mean, var, gamma, beta = (
        s[f"{name}.{n}"].reshape(-1, 1, 1).astype(float) for n in ("running_mean", "running_var", "weight", "bias")
    )
    return (x - mean) / np.sqrt(var + 1e-5) * gamma + beta


def layer_norm(x, s, name):
    normal = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    return normal * s[f"{name}.weight"] + s[f"{name}.bias"]


def pooled(x):
    return x.reshape(*x.shape[:2], x.shape[2] // 2, 2, x.shape[3] // 2, 2).max((3, 5))


def relu(x):
    return np.maximum(x, 0)


def loaded(path, arrays, names, net):
    save_file(arrays, path / "torch.safetensors", {"format": "pt"})
    renamed = rename_torch(load_checkpoint(path / "torch.safetensors"), names)
    assert load_param_into_net(net, renamed, strict_load=True) == ([], [])
    return net.set_train(False)


def test_lenet(tmp_path):
    s = state(
        conv1__weight=(6, 1, 5, 5), conv1__bias=6, conv2__weight=(16, 6, 5, 5), conv2__bias=16,
        fc1__weight=(120, 400), fc1__bias=120, fc2__weight=(84, 120), fc2__bias=84, fc3__weight=(10, 84), fc3__bias=10,
    )  # fmt: skip
    x = DRAW.standard_normal((2, 1, 32, 32)).astype(np.float32)
    y = pooled(relu(conv(x, s["conv1.weight"]) + s["conv1.bias"].reshape(-1, 1, 1)))
    y = pooled(relu(conv(y, s["conv2.weight"]) + s["conv2.bias"].reshape(-1, 1, 1))).reshape(2, -1)
    y = linear(relu(linear(relu(linear(y, s, "fc1")), s, "fc2")), s, "fc3")
    net = loaded(tmp_path, s, "lenet", LeNet5())
    np.testing.assert_allclose(net(Tensor(x)).asnumpy(), y, rtol=2e-4, atol=2e-4)


class Block(nn.Cell):
    """torchvision's BasicBlock with a projection."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(4, 8, 3, 2, pad_mode="pad", padding=1)
        self.bn1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 8, 3, 1, pad_mode="pad", padding=1)
        self.bn2 = nn.BatchNorm2d(8)
        self.downsample = nn.SequentialCell(nn.Conv2d(4, 8, 1, 2, pad_mode="valid"), nn.BatchNorm2d(8))

    def construct(self, x):
        y = self.bn2(self.conv2(ops.relu(self.bn1(self.conv1(x)))))
        return ops.relu(y + self.downsample(x))


class ResNet(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 4, 3, pad_mode="pad", padding=1)
        self.bn1 = nn.BatchNorm2d(4)
        self.layer1 = nn.SequentialCell(Block())
        self.fc = nn.Dense(8, 5)

    def construct(self, x):
        x = self.layer1(ops.relu(self.bn1(self.conv1(x))))
        return self.fc(ops.reduce_mean(x, (2, 3)))


def test_resnet(tmp_path):
    norms = {"bn1": 4, "layer1__0__bn1": 8, "layer1__0__bn2": 8, "layer1__0__downsample__1": 8}
    kinds = ("weight", "bias", "running_mean", "running_var")
    s = state(
        **{f"{n}__{k}": c for n, c in norms.items() for k in kinds},
        conv1__weight=(4, 3, 3, 3), layer1__0__conv1__weight=(8, 4, 3, 3), layer1__0__conv2__weight=(8, 8, 3, 3),
        layer1__0__downsample__0__weight=(8, 4, 1, 1), fc__weight=(5, 8), fc__bias=5,
    )  # fmt: skip
    x = DRAW.standard_normal((2, 3, 8, 8)).astype(np.float32)
    y = relu(batch_norm(conv(x, s["conv1.weight"], 1), s, "bn1"))
    b = "layer1.0"
    z = relu(batch_norm(conv(y, s[f"{b}.conv1.weight"], 1, 2), s, f"{b}.bn1"))
    z = batch_norm(conv(z, s[f"{b}.conv2.weight"], 1), s, f"{b}.bn2")
    z = relu(z + batch_norm(conv(y, s[f"{b}.downsample.0.weight"], 0, 2), s, f"{b}.downsample.1"))
    z = linear(z.mean((2, 3)), s, "fc")
    counts = {f"{n.replace('__', '.')}.num_batches_tracked": np.array(7) for n in norms}
    net = loaded(tmp_path, {**s, **counts}, "resnet", ResNet())
    np.testing.assert_allclose(net(Tensor(x)).asnumpy(), z, rtol=2e-4, atol=2e-4)


class Attention(nn.Cell):
    def __init__(self, width):
        super().__init__()
        self.c_attn = nn.Dense(width, 3 * width)
        self.c_proj = nn.Dense(width, width)

    def construct(self, x):
        q, k, v = ops.split(self.c_attn(x), x.shape[-1], 2)
        later = Tensor(np.triu(np.full((x.shape[1],) * 2, -1e9, np.float32), 1))
        scores = ops.matmul(q, k.swapaxes(1, 2)) / math.sqrt(x.shape[-1]) + later
        return self.c_proj(ops.matmul(ops.softmax(scores, -1), v))


class Mlp(nn.Cell):
    def __init__(self, width):
        super().__init__()
        self.c_fc = nn.Dense(width, 4 * width)
        self.c_proj = nn.Dense(4 * width, width)

    def construct(self, x):
        return self.c_proj(ops.gelu(self.c_fc(x), approximate="tanh"))


class Layer(nn.Cell):
    def __init__(self, width):
        super().__init__()
        self.ln_1 = nn.LayerNorm((width,), epsilon=1e-5)
        self.attn = Attention(width)
        self.ln_2 = nn.LayerNorm((width,), epsilon=1e-5)
        self.mlp = Mlp(width)

    def construct(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class Gpt(nn.Cell):
    def __init__(self, width=8, tokens=11, context=6):
        super().__init__()
        self.wte = nn.Embedding(tokens, width)
        self.wpe = nn.Embedding(context, width)
        self.h = nn.CellList([Layer(width)])
        self.ln_f = nn.LayerNorm((width,), epsilon=1e-5)

    def construct(self, ids):
        x = self.wte(ids) + self.wpe(ops.arange(ids.shape[1]))
        x = self.ln_f(self.h[0](x))
        return ops.matmul(x, self.wte.embedding_table.T)


def gpt_oracle(s, ids):
    """One head, one layer; Conv1D computes x @ weight + bias."""

    def conv1d(x, name):
        return x @ s[f"{name}.weight"].astype(float) + s[f"{name}.bias"]

    x = s["wte.weight"].astype(float)[ids] + s["wpe.weight"][: ids.shape[1]]
    q, k, v = np.split(conv1d(layer_norm(x, s, "h.0.ln_1"), "h.0.attn.c_attn"), 3, -1)
    scores = q @ k.swapaxes(1, 2) / math.sqrt(x.shape[-1])
    scores[:, ~np.tri(ids.shape[1], dtype=bool)] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    x = x + conv1d(weights / weights.sum(-1, keepdims=True) @ v, "h.0.attn.c_proj")
    y = conv1d(layer_norm(x, s, "h.0.ln_2"), "h.0.mlp.c_fc")
    y = 0.5 * y * (1 + np.tanh(math.sqrt(2 / math.pi) * (y + 0.044715 * y**3)))
    x = x + conv1d(y, "h.0.mlp.c_proj")
    return layer_norm(x, s, "ln_f") @ s["wte.weight"].T


@pytest.mark.parametrize("prefix", ["", "transformer."])
def test_gpt2(tmp_path, prefix):
    s = state(
        wte__weight=(11, 8), wpe__weight=(6, 8), h__0__attn__c_attn__weight=(8, 24), h__0__attn__c_attn__bias=24,
        h__0__attn__c_proj__weight=(8, 8), h__0__attn__c_proj__bias=8, h__0__mlp__c_fc__weight=(8, 32), h__0__mlp__c_fc__bias=32,
        h__0__mlp__c_proj__weight=(32, 8), h__0__mlp__c_proj__bias=8,
        **{f"{n}__{k}": 8 for n in ("h__0__ln_1", "h__0__ln_2", "ln_f") for k in ("weight", "bias")},
    )  # fmt: skip
    ids = DRAW.randint(0, 11, (2, 5))
    buffers = {
        "h.0.attn.bias": np.tri(6, dtype=np.float32).reshape(1, 1, 6, 6),
        "h.0.attn.masked_bias": np.float32(-1e4),
    }
    arrays = {prefix + n: np.asarray(a) for n, a in {**s, **buffers}.items()}
    if prefix:
        arrays["lm_head.weight"] = s["wte.weight"]
    net = loaded(tmp_path, arrays, "gpt2", Gpt())
    np.testing.assert_allclose(net(Tensor(ids)).asnumpy(), gpt_oracle(s, ids), rtol=2e-4, atol=2e-4)


def test_rules_of_ones_own_and_mistakes():
    rules = (Rule(r"encoder\.(.*)", r"backbone.\1"), Rule(r"head\..*", None))
    given = {"encoder.w": Tensor([1.0]), "head.w": Tensor([1.0]), "b": Parameter([2.0])}
    renamed = rename_torch(given, rules)
    assert {n: (p.name, p.asnumpy().tolist()) for n, p in renamed.items()} == {
        "backbone.w": ("backbone.w", [1.0]),
        "b": ("b", [2.0]),
    }
    with pytest.raises(ArgumentValueError, match="names must be 'lenet', 'resnet', 'gpt2' or rules, got 'gpt3'"):
        rename_torch(given, "gpt3")
    with pytest.raises(ArgumentValueError, match=r"'a\.x' and 'b\.x' would both be 'x'") as caught:
        rename_torch({"a.x": Tensor([1.0]), "b.x": Tensor([1.0])}, [Rule(r"\w\.(\w)", r"\1")])
    assert caught.value.code == "GC141"
    with pytest.raises(ArgumentTypeError, match="'note' is no tensor but str"):
        rename_torch({"note": "text"}, "resnet")
    for wrong in (Rule("(", "x"), Rule(".*", r"\2"), Rule(".*", "x", transpose=True)):
        with pytest.raises(ArgumentValueError, match="a rule cannot be applied to 'b'"):
            rename_torch({"b": Tensor([1.0])}, [wrong])
    with pytest.raises(ArgumentTypeError, match="names must be a family or Rules"):
        rename_torch({"b": Tensor([1.0])}, [("b", "c")])
    assert set(TORCH_NAMES) == {"lenet", "resnet", "gpt2"}
