"""`graphc opt`, `graphc lower` and `graphc run` on graphs: what they print and write, and how they refuse."""

from __future__ import annotations

import io
import re
import sys
from unittest.mock import patch

import numpy as np
import pytest

from graphc.cli.main import main
from graphc.lower import REWRITES, chains, lower
from graphc.passes import run
from graphc.testing import seeded_graph

GRAPH = """\
graph @g {
  state:
    %0 w: f32[3] = Param()
  forward:
    %1 x: f32[3] = Input()
    %2: f32[3] = Mul(%0, %1)
    %3: f32[3] = Mul(%0, %1)
    %4: f32[3] = Add(%2, %3)
    %5: f32[] = ReduceSum(%4) {axis=(0,)}
    %6: f32[3] = Assign(%0, %4)
  return y=%5
  update %0 = %6  ; w
}
"""
SIMPLER = """\
graph @g {
  state:
    %0 w: f32[3] = Param()
  forward:
    %1 x: f32[3] = Input()
    %2: f32[3] = Mul(%0, %1)
    %4: f32[3] = Add(%2, %2)
    %5: f32[] = ReduceSum(%4) {axis=(0,)}
    %6: f32[3] = Assign(%0, %4)
  return y=%5
  update %0 = %6  ; w
}
"""
MINE = """
from graphc.ir import get_op

def spoil(graph):
    made = graph.copy()
    made.set_node(4, op=get_op("Sub"))
    return made

def nothing(graph):
    return graph
"""
W, X = np.arange(3, dtype=np.float32), np.array([1, 2, 3], np.float32)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A working directory with g.ir, x.npz and mine.py; everything runs in checked mode."""
    monkeypatch.setenv("GRAPHC_JIT", "0")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "g.ir").write_text(GRAPH)
    (tmp_path / "mine.py").write_text(MINE)
    np.savez(tmp_path / "x.npz", x=X, w=W)
    return tmp_path


def refused(capsys, *args):
    assert main(args) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    return err


# ---- opt


def test_opt_prints_what_the_passes_make(place, capsys):
    assert main(["opt", "g.ir"]) == 0
    assert capsys.readouterr().out == SIMPLER
    assert main(["opt", "g.ir", "--passes", "simplify"]) == 0
    assert capsys.readouterr().out == GRAPH
    assert main(["opt", "g.ir", "--stop-after", "simplify"]) == 0
    assert capsys.readouterr().out == GRAPH
    assert main(["opt", "g.ir", "--passes", "cse,mine.py:nothing", "--stop-after", "nothing", "-o", "after.ir"]) == 0
    assert capsys.readouterr().out == ""
    assert (place / "after.ir").read_text() == SIMPLER


def test_opt_reads_standard_input(place, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO(GRAPH))
    assert main(["opt", "-", "--passes", "cse"]) == 0
    assert capsys.readouterr().out == SIMPLER
    monkeypatch.setattr(sys, "stdin", io.StringIO("graph"))
    assert "in the text on standard input" in refused(capsys, "opt", "-")


def test_opt_times_to_stderr(place, capsys):
    assert main(["opt", "g.ir", "--passes", "cse,prune", "--timing"]) == 0
    out, err = capsys.readouterr()
    assert out == SIMPLER
    assert re.fullmatch(r" *[\d.]+ ms      6 nodes  cse\n *[\d.]+ ms    unchanged  prune\n", err)


def test_opt_compares_meanings(place, capsys):
    assert main(["opt", "g.ir", "--passes", "mine.py:spoil"]) == 0
    capsys.readouterr()
    assert "pass spoil changed what the graph computes" in refused(
        capsys, "opt", "g.ir", "--passes", "mine.py:spoil", "--verify"
    )


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["g.ir", "--passes", "prun"], "did you mean prune"),
        (["g.ir", "--passes", "mine.py:nothin"], "did you mean mine.py:nothing"),
        (["g.ir", "--passes", "cse", "--stop-after", "prune"], "pass 'prune' is not among those that run: cse"),
        (["h.ir"], "cannot be read"),
        (["mine.py:nothing"], "is no graph"),
        (["g.ir", "--load", "none.py"], "there is no file 'none.py'"),
    ],
)
def test_opt_refuses(place, capsys, args, message):
    assert message in refused(capsys, "opt", *args)


def test_an_invalid_graph_is_refused_before_any_pass(place, capsys):
    (place / "g.ir").write_text(GRAPH.replace("%3: f32[3] = Mul(%0, %1)", "%3: f32[3] = Mul(%0, %1) after(%4)"))
    assert "[GC16" in refused(capsys, "opt", "g.ir")


# ---- lower


def test_lower_prints_the_program(place, capsys):
    assert main(["lower", "g.ir", "--threads", "1"]) == 0
    out = capsys.readouterr().out
    assert (
        out
        == """\
buffers
  b0: f32[3] input at 0
  b1: f32[3] param at 0
  b2: f32[3] arena at 0
  b3: f32[] arena at 64
statements
  b2, b3 = reduce(b1, b0)  ; %2 Mul, %3 Mul, %4 Add, %5 ReduceSum
    for [3], axes [0] reduced
      t2: float32 = mul(x0, x1)
      t3: float32 = add(t2, t2)
      b2 <- t3
      b3 <- sum t3
  b1 = map(b2)  (b2 dies)  ; copy
    for [3]
      b1 <- x0
"""
    )


def test_lower_prints_branches_loops_and_rows():
    """The statements of random graphs print, and name every buffer."""
    seen = ""
    for seed in range(40):
        with patch.multiple(chains, SMALLEST=1, _LEAST_ROWS=1, _SHORTEST=1):
            lowered = lower(run(seeded_graph(seed, 25))[-1].graph, threads=1 + seed % 3)
        text = lowered.texts()[-1][1]
        used = {b for call in lowered.program.calls() for b in call.args}
        assert all(f"b{b}: " in text for b in used)
        seen += text
    for word in ("if b", "else\n", "while", " times", "first", "gemm("):
        assert word in seen


def test_lower_prints_every_stage(place, capsys):
    assert main(["lower", "g.ir", "--stages"]) == 0
    printed = capsys.readouterr().out
    assert re.findall(r"^; (\w+)$", printed, re.MULTILINE) == ["fuse", *(r.__name__ for r in REWRITES)]


def test_gradients_are_expanded_first(place, capsys):
    (place / "g.ir").write_text("""\
graph @g {
  forward:
    %0 x: f32[3] = Input()
    %1 s: f32[3] = Input()
    %2: f32[3] = Tanh(%0)
  backward:
    %3: f32[3] = Grad(%2, %1, %0) {ys=1, wrt=(0,)}
  return g=%3
}
""")
    np.savez("x.npz", x=X, s=X)
    for args in (["lower", "g.ir"], ["run", "g.ir", "--inputs", "x.npz"]):
        error = refused(capsys, *args)
        assert "node %3 is a Grad" in error
        assert "graphc opt g.ir runs the passes" in error


# ---- run


def test_run_prints_results_and_updates(place, capsys):
    assert main(["run", "g.ir", "--inputs", "x.npz"]) == 0
    assert capsys.readouterr().out == "y: f32[]\n16.\nupdate w: f32[3]\n[ 0.,  4., 12.]\n"


def test_run_writes_what_run_reads(place, capsys):
    assert main(["run", "--threads", "2", "g.ir", "--inputs", "x.npz", "-o", "y.npz"]) == 0
    assert capsys.readouterr().out == "y.npz\n"
    with np.load("y.npz") as made:
        assert made["y"] == 16
        np.testing.assert_array_equal(made["w"], 2 * W * X)
    with np.load("x.npz") as kept:
        np.testing.assert_array_equal(kept["w"], W)


def test_run_takes_a_dump(place, capsys):
    (place / "dump").mkdir()
    (place / "dump" / "step.ir").write_text(GRAPH)
    assert main(["run", "dump", "--inputs", "x.npz"]) == 0
    assert capsys.readouterr().out.startswith("y: f32[]\n16.\n")
    assert "it has no step.ir" in refused(capsys, "run", ".", "--inputs", "x.npz")


def test_run_in_machine_code(place, capsys, monkeypatch):
    monkeypatch.setenv("GRAPHC_JIT", "1")
    monkeypatch.setenv("GRAPHC_CANARY", "1")
    assert main(["run", "g.ir", "--inputs", "x.npz"]) == 0
    assert capsys.readouterr().out.startswith("y: f32[]\n16.\n")


def test_run_takes_halves_and_unnamed_inputs(place, capsys):
    (place / "g.ir").write_text("""\
graph @g {
  forward:
    %0: bf16[2] = Input()
    %1 x: bf16[2] = Input()
    %2 x: bf16[2] = Input()
    %3: bf16[2] = Add(%0, %1)
    %4: bf16[2] = Add(%3, %2)
  return y=%4
}
""")
    ones = np.ones(2, np.float32)
    np.savez("x.npz", **{"%0": ones, "%1": ones, "%2": 2 * ones})
    assert main(["run", "g.ir", "--inputs", "x.npz", "-o", "y.npz"]) == 0
    with np.load("y.npz") as made:
        np.testing.assert_array_equal(made["y"], 4 * ones)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": X}, "missing: w  f32[3]"),
        ({"x": X, "W": W}, "unknown: W"),
        ({"x": X, "w": W, "wx": W}, "unknown: wx  did you mean"),
        ({"x": X[:2], "w": W}, "x is float32[2], wanted float32[3]"),
        ({"x": X.astype(np.float64), "w": W}, "x is float64[3], wanted float32[3]"),
    ],
)
def test_run_names_the_arrays_that_do_not_fit(place, capsys, arrays, message):
    np.savez("x.npz", **arrays)
    assert message in refused(capsys, "run", "g.ir", "--inputs", "x.npz")


def test_run_refuses(place, capsys):
    assert "missing: x  f32[3]" in refused(capsys, "run", "g.ir")
    assert "'z.npz' cannot be read" in refused(capsys, "run", "g.ir", "--inputs", "z.npz")
    (place / "z.npz").write_text("no arrays")
    assert "no file of arrays" in refused(capsys, "run", "g.ir", "--inputs", "z.npz")
    assert "--mindspore is for scripts" in refused(capsys, "run", "--mindspore", "g.ir")
    assert "are for graphs" in refused(capsys, "run", "--inputs", "x.npz", "mine.py")
    np.savez("x.npz", x=X, w=W)
    (place / "g.ir").write_text(GRAPH.replace("return y", "return w"))
    assert "results and updated parameters have the same names: w" in refused(
        capsys, "run", "g.ir", "--inputs", "x.npz", "-o", "y.npz"
    )


def test_run_still_runs_scripts(place, capsys):
    (place / "script.py").write_text("import sys\nprint(sys.argv[1:])\n")
    assert main(["run", "script.py", "--inputs", "3"]) == 0
    assert capsys.readouterr().out == "['--inputs', '3']\n"


def test_ops_of_ones_own_are_loaded(place, capsys):
    (place / "ops.py").write_text(
        "from graphc.ir import get_op, op\nadd = get_op('Add')\n"
        "op('MyAdd', 'x y', infer=add.infer, ref=add.ref, grad=add.grad, lower=add.lower)\n"
    )
    (place / "g.ir").write_text(GRAPH.replace(" Add(", " MyAdd("))
    assert "there is no op named 'MyAdd'" in refused(capsys, "opt", "g.ir")
    try:
        assert main(["opt", "g.ir", "--load", "ops.py", "--passes", "cse"]) == 0
        assert "MyAdd(%2, %2)" in capsys.readouterr().out
        assert main(["run", "--load", "ops.py", "g.ir", "--inputs", "x.npz"]) == 0
        assert capsys.readouterr().out.startswith("y: f32[]\n16.\n")
        assert main(["run", "g.ir", "--inputs", "x.npz", "--load", "ops.py"]) == 0
        assert main(["show", "g.ir", "--load", "ops.py", "--op", "MyAdd"]) == 0
    finally:
        from graphc.ir.op import _REGISTRY

        del _REGISTRY["MyAdd"]
