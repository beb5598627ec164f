"""The NumPy form of a step: it runs without graphc, gives the interpreter's bits, and trains as the step does."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import numba
import numpy as np
import pytest

import graphc
from graphc import Parameter, Tensor, nn, ops
from graphc.cli.main import main
from graphc.exports.numpy_file import to_numpy
from graphc.inspect.numpy_step import names_of, write_numpy
from graphc.ir import Graph, TensorType, all_ops
from graphc.ir.op import _REGISTRY
from graphc.ops.declared import reference
from graphc.testing.random_graphs import seeded_graph
from tests.inspect.graphs import HOSTILE, hostile_graph

BENCH = Path(__file__).parents[1] / "bench"
#: Runs an exported file where graphc cannot be imported; writes what it returned, and its state, after each step.
_RUNNER = """
import runpy, sys
import numpy as np

sys.modules["graphc"] = sys.modules["graphc_codegen"] = None
made = runpy.run_path(sys.argv[1])
state, inputs = made["load"]()
kept = {}
for k in range(int(sys.argv[2])):
    for name, value in made["step"](state, *inputs).items():
        kept[f"{k}/{name}"] = value
for i, value in enumerate(state.values()):
    kept[f"state/{i}"] = value if value.dtype.name != "bfloat16" else value.astype(np.float32)
np.savez(sys.argv[3], **kept)
"""


def run_alone(file: Path, steps: int) -> dict[str, np.ndarray]:
    """The results of each step as "0/loss", and the state after the last as "state/0", by a process without graphc."""
    out = file.with_name(f"{file.stem}_out.npz")
    subprocess.run([sys.executable, "-I", "-c", _RUNNER, file, str(steps), out], check=True)
    with np.load(out) as stored:
        return dict(stored)


def check_trains_alike(cell, inputs, tmp_path, steps=3, rtol=2e-4, share=1e-2):
    """The exported file and the compiled step, from the same state, give the same results and parameters."""
    step = graphc.compile(cell, *inputs)
    file, _ = to_numpy(step, tmp_path / "step.py", *inputs)
    names = [r.name for r in step.graph.results]
    expected = [step(*inputs) for _ in range(steps)]
    alone = run_alone(file, steps)
    for k, results in enumerate(expected):
        results = results if isinstance(results, tuple) else (results,)
        for name, value in zip(names, results, strict=True):
            np.testing.assert_allclose(alone[f"{k}/{name}"], value.asnumpy(), rtol=rtol, atol=1e-6)
    for i, p in enumerate(step.state.values()):
        held = p.asnumpy().astype(np.float64) if p.tensor_type.is_float else p.asnumpy()
        scale = share * np.abs(held).max(initial=1e-3)
        np.testing.assert_allclose(alone[f"state/{i}"].reshape(p.shape), held, rtol=0, atol=scale, err_msg=p.name)
    return file.read_text()


def execute(graph: Graph, given: dict[int, np.ndarray], tmp_path):
    """(results, state) of one step of the file that a graph makes, here."""
    file, _ = write_numpy(tmp_path / "g.py", graph, given, given)
    module = {"__name__": "g", "__file__": str(file)}
    exec(compile(file.read_text(), str(file), "exec"), module)
    state, inputs = module["load"]()
    return module["step"](state, *inputs), state


def same(a, b):
    assert a.dtype == b.dtype
    assert a.shape == b.shape
    np.testing.assert_array_equal(a.astype(np.float32) if a.dtype.name == "bfloat16" else a, b.astype(a.dtype))


#: Each family of the benchmark, with rows of its batch. Normalizations of few rows soon differ.
WORKLOADS = {"mlp_small": 32, "lenet": 4, "resnet20": 4, "gpt": 1}


@pytest.fixture
def bench(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))
    for name in ("workloads", "cells"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield importlib.import_module
    for name in ("workloads", "cells"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize("workload", WORKLOADS)
def test_the_benchmarks_train_without_graphc(bench, tmp_path, workload):
    workloads, cells = bench("workloads"), bench("cells")

    def adamw(parameters, rate, betas, weight_decay):
        return nn.AdamWeightDecay(parameters, rate, *betas, weight_decay=weight_decay)

    cell = cells.training_cell(workload, "scaled", workloads.weights(workload), adamw)
    inputs = [Tensor(a[: WORKLOADS[workload]]) for a in workloads.batch(workload)]
    unlike = {"steps": 2, "share": 0.1} if workload == "resnet20" else {}
    text = check_trains_alike(cell, inputs, tmp_path, **unlike)
    assert "import graphc" not in text
    assert re.search(r"# ---- backward network\.", text)
    assert re.search(r"  # %\d+  f32\[\d+,\d+.*\]  .*cells\.py:\d+", text)


class Everything(nn.Cell):
    """Dropout, a loop and a branch, a weight in half precision, a parameter without a gradient."""

    def __init__(self):
        super().__init__()
        self.fc1, self.fc2 = nn.Dense(6, 8), nn.Dense(8, 1).to_float(graphc.float16)
        self.drop = nn.Dropout(p=0.3)
        self.seen = Parameter(np.zeros((), np.int32), name="seen", requires_grad=False)

    def construct(self, x, turns):
        y = self.drop(ops.tanh(self.fc1(x)))
        i = Tensor(0, "int32")
        while i < turns:
            y = y * 0.9
            if ops.reduce_mean(y) > 0.1:
                y = y - 0.1
            i = i + 1
        ops.assign(self.seen, self.seen + i)
        return ops.reduce_mean(ops.square(ops.cast(self.fc2(y), graphc.float32)))


def test_random_numbers_loops_branches_and_halves(tmp_path):
    graphc.set_seed(3)
    net = Everything()
    cell = nn.TrainOneStepWithLossScaleCell(
        net, nn.Adam(net.trainable_params(), 0.01), nn.DynamicLossScaleUpdateCell(2.0**16, 2, 2)
    ).set_train()
    x = Tensor(np.random.default_rng(0).standard_normal((5, 6)).astype(np.float32))
    text = check_trains_alike(cell, (x, Tensor(3, "int32")), tmp_path, steps=4, rtol=2e-3)
    for part in ("while True:", "if not ", "    else:", "RandomUniform(", "f16("):
        assert part in text


def sampled(op, sample):
    """A graph of one node on a sample of its op, and its inputs."""
    arrays = [np.asarray(a) for a in sample.operands]
    graph = Graph(op.name)
    inputs = [graph.add("Input", types=(TensorType.of(a),), name="x") for a in arrays]
    node = graph.add(op, [n.outputs[0] for n in inputs], dict(sample.attrs))
    graph.set_results((f"y{i}", v) for i, v in enumerate(node.outputs))
    return graph, {n.id: a for n, a in zip(inputs, arrays, strict=True)}


#: Ops that hold Python functions, which cannot be written, and those of several processes.
_UNWRITABLE = (
    "MatrixLogarithm",  # SciPy's, behind an error that says so.
    "Call", "CustomGrad", "HostCall", "AllReduceStart", "AllReduceWait", "ReduceScatterStart", "ReduceScatterWait",
    "AllGatherStart", "AllGatherWait", "AllToAllStart", "AllToAllWait", "Receive", "Send", "SendEnd",
)  # fmt: skip


def test_every_op_to_the_bit(tmp_path):
    seen = 0
    for op in all_ops().values():
        if op.ref is None or op.samples is None or op.name in _UNWRITABLE:
            continue
        for sample in list(op.samples())[:2]:
            graph, given = sampled(op, sample)
            expected = reference.run(graph, given, exact=False).results
            results, _ = execute(graph, given, tmp_path)
            for a, b in zip(expected, results.values(), strict=True):
                same(a, b)
            seen += 1
    assert seen > 150


@pytest.mark.parametrize("seed", range(4))
def test_random_graphs_to_the_bit(tmp_path, seed):
    graph = seeded_graph(seed, 12)
    rng = np.random.default_rng(seed)
    given = {}
    for id in graph.inputs:
        type = graph.node(id).type
        given[id] = rng.integers(0, 2, type.shape).astype(type.numpy) if not type.is_float else (
            rng.standard_normal(type.shape).astype(type.numpy)
        )  # fmt: skip
    expected = reference.run(graph, given, exact=False)
    results, state = execute(graph, given, tmp_path)
    for r, a in zip(graph.results, expected.results, strict=True):
        same(a, results[r.name])
    names = names_of(graph).state
    for id, a in expected.updates.items():
        same(a, state[names[id]])


def test_bfloat16_and_constants_of_every_size(tmp_path):
    class Net(nn.Cell):
        def construct(self, x):
            table = Tensor(np.arange(40, dtype=np.float32))
            return (
                ops.cast(x, graphc.bfloat16) * 1.7 + ops.cast(table, graphc.bfloat16),
                x * np.inf,
                x - Tensor([np.nan]),
            )

    x = np.linspace(-2, 3, 40, dtype=np.float32)
    step = graphc.compile(Net(), x)
    file, data = to_numpy(step, tmp_path / "half.py", x)
    assert "np.inf" in file.read_text()
    module = {"__name__": "g", "__file__": str(file)}
    exec(file.read_text(), module)
    state, inputs = module["load"]()
    results = list(module["step"](state, *inputs).values())
    for a, b in zip(step(x), results, strict=True):
        same(a.asnumpy(), b)
    with np.load(data, allow_pickle=False) as stored:
        assert any(key.startswith("constant_") for key in stored.files)


def test_hostile_names_are_text(tmp_path):
    graph = hostile_graph()
    (id,) = graph.inputs
    given = {id: np.ones(graph.node(id).type.shape, np.float32)}
    results, _ = execute(graph, given, tmp_path)
    assert list(results) == [HOSTILE]
    state = Graph(HOSTILE)
    made = [state.add("Param", types=(TensorType("float32", (2,)),), name=HOSTILE, region="state") for _ in range(2)]
    state.set_results(
        [(HOSTILE, made[0].outputs[0])], [(made[0].id, made[1].outputs[0]), (made[1].id, made[0].outputs[0])]
    )
    given = {made[0].id: np.zeros(2, np.float32), made[1].id: np.ones(2, np.float32)}
    _, after = execute(state, given, tmp_path)
    assert [a.tolist() for a in after.values()] == [[1, 1], [0, 0]], "both are read before one is written"


@pytest.fixture
def registry():
    before = set(_REGISTRY)
    yield
    for name in set(_REGISTRY) - before:
        del _REGISTRY[name]


def _clip(x, low):
    out = np.empty_like(x)
    for i in range(x.size):
        out.flat[i] = max(x.flat[i], low)
    return out


def _double(x, y):
    y[:] = 2 * x


def test_kernels_of_users_are_written_and_others_refused_by_name(tmp_path, registry):
    clip = ops.custom("ClipBelow", numba.njit(_clip), attrs={"low": 0.0})
    double = ops.custom("DoubleInto", numba.njit(_double), writes=1)

    class Net(nn.Cell):
        def construct(self, x):
            return double(clip(x, low=-1.0))

    x = np.linspace(-3, 3, 7, dtype=np.float32)
    step = graphc.compile(Net(), x)
    file, _ = to_numpy(step, tmp_path / "own.py", x)
    np.testing.assert_array_equal(run_alone(file, 1)["0/result"], step(x).asnumpy())

    parallel = ops.custom("Parallel", numba.njit(lambda x: x * numba.float32(2)))

    class Other(nn.Cell):
        def construct(self, x):
            return parallel(x)

    with pytest.raises(graphc.ExportError, match=r"GC193\] Parallel cannot be exported to NumPy: .*numba") as caught:
        to_numpy(graphc.compile(Other(), x), tmp_path / "other.py", x)
    assert caught.value.loc.file.endswith("test_numpy_step.py")
    assert not (tmp_path / "other.py").exists()
    assert not (tmp_path / "other.npz").exists()
    graph = Graph("host")
    a = graph.add("Input", types=(TensorType("float32", (2,)),))
    graph.set_results([("y", a.outputs[0])])
    with pytest.raises(graphc.ArgumentValueError, match=r"does not end in \.py"):
        write_numpy(tmp_path / "x.txt", graph, {}, {a.id: np.ones(2, np.float32)})
    with pytest.raises(graphc.ArgumentValueError, match="given is nothing"):
        write_numpy(tmp_path / "x.py", graph, {}, {})


_MODEL = """
import numpy as np
from graphc import Tensor, nn, ops

class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(3, 2, weight_init="ones", bias_init="zeros")

    def construct(self, x):
        return ops.reduce_mean(ops.square(self.fc(x)))

def build():
    net = Net()
    return nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.1)), (Tensor(np.ones((2, 3), np.float32)),)
"""


def test_the_command_writes_a_step_or_a_dump(tmp_path, capsys):
    file = tmp_path / "model.py"
    file.write_text(_MODEL)
    assert main(["export", f"{file}:build", "--as", "numpy", "-o", str(tmp_path / "step.py")]) == 0
    assert capsys.readouterr().out.split() == [str(tmp_path / "step.py"), str(tmp_path / "step.npz")]
    first = run_alone(tmp_path / "step.py", 2)
    shown = subprocess.run(
        [sys.executable, "-I", tmp_path / "step.py", "2"], capture_output=True, text=True, check=True
    ).stdout
    assert [line[:7] for line in shown.splitlines()] == ["step 1:", "step 2:"]
    assert main(["dump", f"{file}:build", "--out", str(tmp_path / "dump")]) == 0
    names = {
        "x": np.ones((2, 3), np.float32),
        "fc.weight": np.ones((2, 3), np.float32),
        "fc.bias": np.zeros(2, np.float32),
    }
    names |= {"global_step": np.zeros(1, np.int32), "learning_rate": np.array(0.1, np.float32)}
    np.savez(tmp_path / "x.npz", **names)
    dumped = ["export", str(tmp_path / "dump"), "--as", "numpy", "-o", str(tmp_path / "again.py")]
    assert main([*dumped, "--inputs", str(tmp_path / "x.npz")]) == 0
    again = run_alone(tmp_path / "again.py", 2)
    assert again["1/result"] == first["1/result"]
    capsys.readouterr()
    assert main(dumped) == 2
    assert "missing: fc.weight" in capsys.readouterr().err
