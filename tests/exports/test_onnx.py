"""ONNX models: every op's samples, networks and training steps, in onnxruntime; what is refused."""

from __future__ import annotations

import importlib
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, nn, ops
from graphc.cli.main import main
from graphc.dataset import load_digits
from graphc.errors import ArgumentTypeError, ArgumentValueError, ExportError, GraphcError
from graphc.examples.lenet import LeNet5
from graphc.ir import Graph, TensorType
from graphc.ir.op import all_ops

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")
ort = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
reference_evaluator = pytest.importorskip("onnx.reference")

from graphc.exports.named import export as named  # noqa: E402
from graphc.exports.onnx_model.control import ROOMS  # noqa: E402
from graphc.exports.onnx_model.model import model_of  # noqa: E402
from graphc.exports.onnx_model.table import RULES  # noqa: E402
from graphc.ops.declared import reference  # noqa: E402

#: Ops that have no ONNX: no operator, or one that no runtime has.
REFUSED = {
    "AllGatherStart", "AllGatherWait", "AllReduceStart", "AllReduceWait", "AllToAllStart", "AllToAllWait",
    "ReduceScatterStart", "ReduceScatterWait",
    "AppendLog", "Assignment", "Atan2", "Betainc", "Complex", "Conj", "CsrMatMul", "DiagonalForm", "Eig", "Eigh",
    "EighComplex", "Erfc", "Erfinv", "FFT", "MatrixLogarithm",
    "GammaPath", "GammaSlope",
    "IRFFT", "RFFT", "Igamma",
    "IgammaGradA", "Igammac", "Imag", "LogGamma", "MatrixExp", "NextAfter", "Pinv", "Polygamma", "Qr", "RandomPoisson",
    "Real", "Receive", "Send", "SendEnd", "SendWait", "Svd", "Zeta",
}  # fmt: skip
BESSEL = {name for name in all_ops() if name.startswith("Bessel")}
#: Requests that autodiff replaces, what a pass makes that exports leave out, the outermost graph's, and functions of the user's.
STRUCTURE = {
    "Attention",
    "AttentionGrad",
    "Call",
    "CustomGrad",
    "Grad",
    "HostCall",
    "Input",
    "Jvp",
    "Param",
    "PythonCall",
    "PythonEffect",
    "Vmap",
}
RNG = np.random.default_rng(2)
TOLERANCES = {"float32": 2e-5, "float64": 1e-9, "float16": 4e-3}


def session(model):
    options = ort.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 2
    return ort.InferenceSession(model if isinstance(model, bytes) else str(model), options)


def run_model(model, feed):
    """By onnxruntime; by ONNX's own evaluator where that has no kernel for a dtype."""
    try:
        return session(model.SerializeToString()).run(None, feed)
    except Exception as error:
        if "NOT_IMPLEMENTED" not in str(error) or not any(x.dtype == np.float64 for x in feed.values()):
            raise
    return reference_evaluator.ReferenceEvaluator(model).run(None, feed)


def variants(sample):
    """Operands and attributes of a sample, then in other dtypes."""
    operands, attrs = [np.asarray(x) for x in sample.operands], dict(sample.attrs)
    yield operands, attrs
    kinds = {x.dtype.name for x in operands}
    others = {
        "float32": ("float64", "float16"),
        "int32": ("uint8", "int16", "uint32") if "float32" not in kinds else (),
    }
    for dtype in kinds & others.keys():
        for other in others[dtype]:
            with np.errstate(over="ignore"):
                yield (
                    [x.astype(other) if x.dtype == dtype else x for x in operands],
                    {k: other if v == dtype and k == "dtype" and dtype == "float32" else v for k, v in attrs.items()},
                )


def one_op(name, operands, attrs):
    """A graph of one op, and its inputs; None for dtypes that it does not take."""
    graph = Graph("one")
    try:
        inputs = [
            graph.add("Input", types=(TensorType(x.dtype.name, x.shape),), name=f"x{k}") for k, x in enumerate(operands)
        ]
        node = graph.add(name, [i.outputs[0] for i in inputs], attrs)
    except GraphcError:
        return None
    graph.set_results((f"y{k}", value) for k, value in enumerate(node.outputs))
    return graph


@pytest.mark.parametrize("name", sorted(name for name in RULES if all_ops()[name].samples))
def test_every_op_is_what_its_reference_is(name):
    for sample in all_ops()[name].samples():
        for operands, attrs in variants(sample):
            graph = one_op(name, operands, attrs)
            if graph is None or (name == "ReduceProd" and operands[0].dtype.kind != "f"):
                continue
            if any(type.is_complex for node in graph for type in node.types):
                continue
            if name == "Argmax" and operands[0].dtype.kind == "f" and np.isnan(operands[0]).any():
                continue  # ONNX does not say which element of a vector with NaN is the largest.
            if name in ("Erf", "GroupedConv2DBackpropInput") and operands[0].dtype == np.float64:
                continue  # ONNX's own evaluator computes the one in float32, and cannot do the other.
            if name == "SearchSorted":  # What was sorted may not be any more in another dtype.
                operands[0] = np.sort(operands[0])
            feed = {f"x{k}": x for k, x in enumerate(operands)}
            wanted = reference.run(graph, dict(zip(graph.inputs, operands, strict=True)), exact=False).results
            with np.errstate(all="ignore"):
                got = run_model(model_of(graph, {}, "test"), feed)
            for want, have in zip(wanted, got, strict=True):
                have = np.asarray(have)
                assert (have.dtype, have.shape) == (want.dtype, want.shape)
                tolerance = TOLERANCES.get(want.dtype.name, 0)
                # Of a transform every number is a sum of all.
                size = max(1, np.abs(want).max(initial=1)) if "Fourier" in name else 1
                np.testing.assert_allclose(have, want, rtol=tolerance, atol=tolerance * size, err_msg=f"{attrs}")


@pytest.mark.parametrize("axis", [0, 1])
def test_indices_far_out_of_range(axis):
    """ONNX would count them from the end, or fail."""
    x, places = np.arange(1, 13, dtype=np.float32).reshape(3, 4), np.array([-9, -2, 1, 40, 7, -1], np.int32)
    rows = RNG.standard_normal((6, 4) if axis == 0 else (3, 6)).astype(np.float32)
    cases = [
        ("Gather", (x, places), {}),
        ("GatherGrad", (rows, places), {"shape": (3, 4)}),
        ("OneHot", (places,), {"depth": 3}),
    ]
    cases += [("Scatter", (x, places, rows), {"mode": mode}) for mode in ("update", "add", "mul", "max", "min")]
    for name, operands, attrs in cases:
        graph = one_op(name, operands, {**attrs, **({} if name == "OneHot" else {"axis": axis})})
        wanted = reference.run(graph, dict(zip(graph.inputs, operands, strict=True)), exact=False).results[0]
        (got,) = run_model(model_of(graph, {}, "test"), {f"x{k}": v for k, v in enumerate(operands)})
        np.testing.assert_allclose(got, wanted, rtol=1e-6, err_msg=name)


def test_every_op_has_a_rule_or_is_refused():
    assert ROOMS
    assert set(RULES) | REFUSED | BESSEL | STRUCTURE == set(all_ops())
    assert not set(RULES) & (REFUSED | BESSEL | STRUCTURE)
    page = (Path(__file__).parents[2] / "docs" / "exporting.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w+)`", page.partition("These are: ")[2].partition("So are")[0]))
    assert named <= REFUSED
    assert all(re.search("Start|Wait|Send|Receive", name) for name in REFUSED - named)


# ---- networks


class Mixed(nn.Cell):
    """Layers in common use; dropout does nothing in inference."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, stride=2, has_bias=True)
        self.transposed = nn.Conv2dTranspose(4, 2, 3, stride=2)
        self.norm, self.groups = nn.BatchNorm2d(4), nn.GroupNorm(2, 4)
        self.max, self.average = nn.MaxPool2d(2, 2, pad_mode="same"), nn.AvgPool2d(3, 2, pad_mode="same")
        self.dropout, self.dense, self.layer_norm = nn.Dropout(p=0.5), nn.Dense(8, 5), nn.LayerNorm((5,))
        self.activations = nn.CellList(
            [nn.GELU(), nn.LeakyReLU(), nn.HSwish(), nn.ELU(), nn.SiLU(), nn.Softmax(), nn.Tanh()]
        )

    def construct(self, x):
        y = self.groups(self.norm(self.conv(x)))
        wide = self.transposed(y)
        y = ops.concat((self.max(y), self.average(y)), 1).mean((2, 3))
        y = self.layer_norm(self.dense(self.dropout(y)))
        for activation in self.activations:
            y = y + activation(y)
        return y, wide, y.argmax(-1)


class Tokens(nn.Cell):
    """Embedding and LSTM; some token is counted from the end."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(11, 6)
        self.lstm = nn.LSTM(6, 7, batch_first=True, bidirectional=True)

    def construct(self, tokens):
        y, (h, c) = self.lstm(self.table(tokens))
        return y, h, c


class Searching(nn.Cell):
    """A loop whose turns depend on its data, and a condition in it."""

    def construct(self, x):
        count = ops.zeros((), graphc.int32)
        while x.sum() > 1:
            if x.max() > 4:
                x = x - 1
            else:
                x = x * 0.5
            count = count + 1
        return x, count


class Spectra(nn.Cell):
    """Transforms of real numbers and back, along several axes, of a large prime's size, and of complex numbers."""

    def construct(self, x):
        spectrum = ops.rfft(x, norm="ortho")
        kept = spectrum * ops.exp(-ops.arange(spectrum.shape[-1]).astype(graphc.float32))
        both = ops.ifft2(ops.fft2(ops.Complex()(x, x * x)) * Tensor(0.5 + 1j))
        large = ops.fft(x, 37, 1, "ortho")
        return (
            ops.irfft(kept, x.shape[-1], norm="ortho"),
            ops.abs(spectrum),
            ops.real(both),
            ops.imag(large),
            ops.irfft(x, 7, 1),
        )


NETWORKS = {
    "spectra": (Spectra, RNG.standard_normal((2, 6, 15)).astype(np.float32)),
    "lenet": (LeNet5, RNG.standard_normal((2, 1, 32, 32)).astype(np.float32)),
    "mixed": (Mixed, RNG.standard_normal((2, 3, 10, 12)).astype(np.float32)),
    "tokens": (Tokens, np.array([[0, 3, 10, -11], [-1, 5, 5, 2]], np.int32)),
    "searching": (Searching, np.full((3, 2), 7, np.float32)),
    "attention": (
        lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True),
        RNG.standard_normal((2, 5, 8)).astype(np.float32),
    ),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_networks_in_onnxruntime(name, tmp_path):
    make, x = NETWORKS[name]
    graphc.set_seed(1)
    net = make().set_train()
    path = graphc.export(net, Tensor(x), file_name=str(tmp_path / name), file_format="ONNX")
    assert path == tmp_path / f"{name}.onnx"
    assert all(cell.training for _, cell in net.cells_and_names())
    net.set_train(False)
    wanted = net(Tensor(x))
    flat = []
    for each in wanted if isinstance(wanted, tuple) else (wanted,):
        flat += each if isinstance(each, tuple) else [each]
    run = session(path)
    assert [i.name for i in run.get_inputs()] == [run.get_inputs()[0].name], "in inference parameters are constants"
    for want, have in zip(flat, run.run(None, {run.get_inputs()[0].name: x}), strict=True):
        np.testing.assert_allclose(have, want.asnumpy(), rtol=2e-5, atol=2e-5)


def train_in_onnxruntime(path, batches):
    """The first result of each step; the state goes round."""
    run = session(path)
    renewed = json.loads(run.get_modelmeta().custom_metadata_map["graphc.state"])
    data = [i.name for i in run.get_inputs()]
    names = [o.name for o in run.get_outputs()]
    losses, state = [], {}
    for batch in batches:
        made = dict(zip(names, run.run(None, dict(zip(data, batch, strict=False)) | state), strict=True))
        state = {name: made[out] for out, name in renewed.items()}
        losses.append(float(made[names[0]]))
    return losses, state


def digits(overflow):
    """One epoch; one batch overflows."""
    found = load_digits()
    count = len(found.train_images) // 32
    order = np.random.default_rng(0).permutation(len(found.train_images))[: count * 32].reshape(count, 32)
    for k, chosen in enumerate(order):
        scale = np.float32(3e38 if overflow and k == 7 else 1)
        yield found.train_images[chosen] * scale, found.train_labels[chosen].astype(np.int32)


def training_cell(net, optimizer, loss=None, scaled=True):
    with_loss = nn.WithLossCell(net, loss or nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"))
    made = optimizer(with_loss.trainable_params())
    if not scaled:
        return nn.TrainOneStepCell(with_loss, made).set_train()
    manager = nn.DynamicLossScaleUpdateCell(1024.0, 2, 10)
    return nn.TrainOneStepWithLossScaleCell(with_loss, made, manager).set_train()


def test_lenet_is_trained_for_one_epoch_by_onnxruntime(tmp_path):
    """With the loss scale and its overflow: the same losses, and the same parameters afterwards."""
    graphc.set_seed(3)
    cell = training_cell(LeNet5(), lambda p: nn.Adam(p, 0.001))
    batches = list(digits(overflow=True))
    step = graphc.compile(cell, *batches[0])
    (path,) = step.export(tmp_path / "step.onnx")
    losses, state = train_in_onnxruntime(path, batches)
    wanted = [float(step(Tensor(x), Tensor(y))[0]) for x, y in batches]
    assert wanted[0] > 2 * wanted[-1]
    # How large the loss of the seventh batch is depends on how sums are made: in one it is too large for a float.
    assert min(losses[7], np.nan_to_num(wanted[7], nan=np.inf)) > 1e30
    losses[7] = wanted[7] = 0
    np.testing.assert_allclose(losses, wanted, rtol=1e-5)
    for p in step.parameters:
        if p.name in state:
            # Steps of roundings apart: a ReLU or a maximum may choose otherwise once.
            np.testing.assert_allclose(state[p.name], p.asnumpy(), rtol=1e-3, atol=1e-3, err_msg=p.name)
    assert state["global_step"].tolist() == [len(batches) - 1], "the step that overflowed was left out"
    assert state["scale_sense"] == next(p for p in step.parameters if p.name == "scale_sense").asnumpy()


class Norms(nn.Cell):
    """What has state in a forward pass: moving statistics, and the random numbers of dropout."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(1, 3, 3, stride=2), nn.BatchNorm2d(3)
        self.pool, self.dropout, self.dense = nn.MaxPool2d(3, 2), nn.Dropout(p=0.3), nn.Dense(147, 10)
        self.table = nn.Embedding(10, 10)

    def construct(self, x):
        y = self.dropout(self.pool(ops.relu(self.norm(self.conv(x)))).flatten(start_dim=1))
        return self.table(ops.arange(10).astype(graphc.int32))[3] + ops.gelu(self.dense(y))


def test_a_step_with_statistics_dropout_and_adam(tmp_path):
    """The same random numbers, bit by bit: the state of the generator goes round with the rest."""
    graphc.set_seed(5)
    cell = training_cell(Norms(), lambda p: nn.AdamWeightDecay(p, 0.01), scaled=False)
    batches = list(digits(overflow=False))[:6]
    step = graphc.compile(cell, *batches[0])
    (path,) = step.export(str(tmp_path / "step.onnx"))
    losses, state = train_in_onnxruntime(path, batches)
    wanted = [float(step(Tensor(x), Tensor(y))) for x, y in batches]
    np.testing.assert_allclose(losses, wanted, rtol=1e-3)
    assert any("moving_mean" in name for name in state)


@pytest.fixture
def bench(monkeypatch):
    """Imports a module of the benchmark, whose modules find each other by their directory; none stays."""
    modules = ("workloads", "cells")
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "bench"))
    for name in modules:
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield importlib.import_module
    for name in modules:
        sys.modules.pop(name, None)


@pytest.mark.parametrize(("workload", "variant"), [("mlp_small", "plain"), ("resnet20", "scaled"), ("gpt", "scaled")])
def test_steps_of_the_benchmark(workload, variant, bench, tmp_path):
    """One step, on fewer samples: results, and all that the step updates."""
    workloads, cells = bench("workloads"), bench("cells")
    cell = cells.training_cell(workload, variant, workloads.weights(workload), nn.AdamW)
    batch = [array[:2] for array in workloads.batch(workload)]
    step = graphc.compile(cell, *batch)
    (path,) = step.export(tmp_path / "step.onnx")
    losses, state = train_in_onnxruntime(path, [batch])
    made = step(*map(Tensor, batch))
    np.testing.assert_allclose(losses[0], (made[0] if isinstance(made, tuple) else made).asnumpy(), rtol=1e-5)
    parameters = {p.name: p.asnumpy() for p in step.parameters}
    assert {"global_step"} < set(state) <= set(parameters)
    for name, array in state.items():
        # Twenty layers that normalize two samples make much of roundings.
        scale = np.abs(parameters[name]).max()
        np.testing.assert_allclose(array, parameters[name], rtol=1e-3, atol=1e-4 + 1e-2 * scale, err_msg=name)


# ---- what a model says, what is refused


class Scaled(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(np.ones(3, np.float32), name="w")

    def construct(self, x):
        return ops.square(x) * self.w


def test_nodes_tell_of_layers_and_lines(tmp_path):
    path = graphc.export(Scaled(), np.ones((2, 3), np.float32), file_name=tmp_path / "a.onnx")
    model = onnx.load(str(path))
    lines = {node.op_type: node.doc_string for node in model.graph.node}
    assert "test_onnx.py:" in lines["Mul"]
    assert model.producer_name == "graphc"
    assert [i.name for i in model.graph.initializer] == ["w"]


class Refused(nn.Cell):
    def construct(self, x):
        y = x * 2
        return ops.erfinv(y)


def test_an_op_without_onnx_is_refused_with_the_users_line(tmp_path):
    with pytest.raises(ExportError, match="there is no ONNX for Erfinv") as caught:
        graphc.export(Refused(), np.ones(3, np.float32), file_name=tmp_path / "a.onnx")
    assert "return ops.erfinv(y)" in str(caught.value)
    assert caught.value.code == "GC193"

    class Half(nn.Cell):
        def construct(self, x):
            return x.astype(graphc.bfloat16) * 2

    with pytest.raises(ExportError, match="no bfloat16"):
        graphc.export(Half(), np.ones(3, np.float32), file_name=tmp_path / "a.onnx")
    assert list(tmp_path.iterdir()) == []


def test_arguments(tmp_path):
    x = np.ones((2, 3), np.float32)
    for other in ("MINDIR", "AIR", "GEIR", "NCNN"):
        with pytest.raises(ArgumentValueError, match=f"file_format='{other}'"):
            graphc.export(Scaled(), x, file_name="a", file_format=other)
    with pytest.raises(ArgumentValueError, match="no enc_key"):
        graphc.export(Scaled(), x, file_name="a", file_format="ONNX", enc_key=b"1")
    with pytest.raises(ArgumentTypeError, match="needs a Cell"):
        graphc.export(ops.relu, x, file_name="a")
    with pytest.raises(ArgumentTypeError, match="file_name"):
        graphc.export(Scaled(), x, file_name=3)
    step = graphc.compile(Scaled(), x)
    with pytest.raises(ArgumentValueError, match="about shared objects"):
        step.export(tmp_path / "a.onnx", parameters="file")


class TwoDense(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Dense(4, 3), nn.Dense(3, 2)

    def construct(self, x, y):
        hidden = self.first(x)
        return self.second(hidden) + y, hidden


def test_inputs_and_results_have_the_users_names(tmp_path):
    net, x, y = TwoDense(), RNG.normal(size=(2, 4)).astype(np.float32), np.ones((2, 2), np.float32)
    expected = [r.asnumpy() for r in net(Tensor(x), Tensor(y))]
    weights = {p.name: p.asnumpy() for p in net.get_parameters()}

    def written(**options):
        return session(named(net, Tensor(x), Tensor(y), file_name=tmp_path / "named", **options))

    for run, inputs, results, given in (
        (written(), ["x", "y"], ["result0", "result1"], ()),
        (written(input_names=["a"], output_names=["p"]), ["a", "y"], ["p", "result1"], ()),
        (written(input_names=["a", "b"], output_names=["p", "q"]), ["a", "b"], ["p", "q"], ()),
        # A name that another input or result has already gets a number there.
        (written(input_names=["y"]), ["y", "y_2"], ["result0", "result1"], ()),
        (written(keep_initializers_as_inputs=True), ["x", "y"], ["result0", "result1"], ()),
        (written(export_params=False), ["x", "y", *weights], ["result0", "result1"], weights),
    ):
        assert ([i.name for i in run.get_inputs()], [o.name for o in run.get_outputs()]) == (inputs, results)
        made = run.run(None, dict(zip(inputs, (x, y), strict=False)) | {n: weights[n] for n in given})
        for one, other in zip(made, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5)
    kept = written(keep_initializers_as_inputs=True)
    assert [i.name for i in kept.get_overridable_initializers()] == list(weights)
    zeros = {n: np.zeros_like(w) for n, w in weights.items()}
    np.testing.assert_array_equal(kept.run(None, {"x": x, "y": y, **zeros})[0], y)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"input_names": ("a",)}, ArgumentTypeError, "input_names is a list of names, got \\('a',\\)"),
        ({"output_names": [1]}, ArgumentTypeError, "output_names is a list of names"),
        ({"input_names": ["a", "b", "c"]}, ArgumentValueError, "input_names has 3 names, there are 2"),
        ({"input_names": ["a", "a"]}, ArgumentValueError, "'a' names 2"),
        ({"output_names": ["first.weight"]}, ArgumentValueError, "'first.weight' names 2"),
        ({"dynamic_axes": {"x": {0: "n"}}}, ArgumentValueError, "no dynamic_axes"),
    ],
)
def test_names_that_cannot_be(options, error, message, tmp_path):
    with pytest.raises(error, match=message) as caught:
        named(TwoDense(), np.ones((2, 4), np.float32), np.ones((2, 2), np.float32), file_name=tmp_path / "a", **options)
    assert caught.value.loc.file.endswith("test_onnx.py")
    assert list(tmp_path.iterdir()) == []


def test_the_command(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("net.py").write_text(
        "import numpy as np\nfrom graphc import nn\n\ndef build():\n    return nn.Dense(3, 2), (np.ones((4, 3), np.float32),)\n"
    )
    assert main(["export", "net.py:build", "--as", "onnx", "-o", "a"]) == 0
    assert capsys.readouterr().out == "a.onnx\n"
    assert session("a.onnx").run(None, {"x": np.ones((4, 3), np.float32)})[0].shape == (4, 2)
    # Without their values parameters are inputs.
    Path("net.ir").write_text(str(graphc.compile(nn.Dense(3, 2), np.ones((4, 3), np.float32)).graph))
    assert main(["export", "net.ir", "--as", "onnx", "-o", "b.onnx"]) == 0
    assert [i.name for i in session("b.onnx").get_inputs()] == ["x", "weight", "bias"]
    capsys.readouterr()
    assert main(["export", "net.ir", "--as", "so", "-o", "c"]) == 2
    assert "compiled step" in capsys.readouterr().err
