"""`graphc profile`, `mem`, `why`, `why-order`, `show --schedule`, and scripts that are run for the steps they compile."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from graphc.cli.main import main
from graphc.inspect.document import schema

TRAIN = """
import sys
import numpy as np
import mindspore as ms
from mindspore import Tensor, nn, ops

ms.set_context(mode=ms.GRAPH_MODE)

class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc = nn.Dense(6, 4)

    def construct(self, x):
        return ops.relu(self.fc(x))

net = Net()
x, y = Tensor(np.ones((2, 6), np.float32)), Tensor(np.zeros(2, np.int32))
print("shape", net(x).shape)
network = nn.WithLossCell(net, nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean"))
train = nn.TrainOneStepCell(network, nn.SGD(net.trainable_params(), 0.1))
for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 10**9):
    train(x, y)
print("the end")
"""

GRAPHC = TRAIN.replace("import mindspore as ms", "import graphc as ms").replace("from mindspore", "from graphc")
BUILD = GRAPHC.partition("for _ in range")[0] + "\ndef build():\n    return train, (x, y)\n"


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GRAPHC_JIT", "0")
    (tmp_path / "script.py").write_text(GRAPHC)
    (tmp_path / "build.py").write_text(BUILD)
    return tmp_path


def _json(capsys, *args, code=0):
    """The document that a command prints; its sections are those of the schema."""
    assert main([*args, "--json"]) == code
    made = json.loads(capsys.readouterr().out)
    for document in made if isinstance(made, list) else [made]:
        assert (document["schema"], document["version"]) == ("graphc.step", 2)
        assert set(document) <= set(schema()["properties"])
    return made


# ---- scripts


def test_a_script_is_run_until_its_training_step_is_compiled(capsys, place):
    assert main(["show", "--script", "script.py", "--region", "backward"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("# script.py step 1 of 2: <compiled Net(f32[2,6]): ")
    assert "# script.py step 2 of 2: <compiled TrainOneStepCell(f32[2,6], i32[2]): " in out
    assert "grad.fc.weight" in out
    assert err == "shape (2, 4)\n"  # What it prints is none of the command's output.


def test_one_step_of_a_script(capsys, place):
    assert main(["show", "--script", "script.py", "--step", "1", "--stats"]) == 0
    assert capsys.readouterr().out.startswith("graph @Net: ")
    assert main(["show", "--script", "script.py", "--step", "9", "--args", "2"]) == 2
    assert "script.py compiled 2 steps, there is no step 9" in capsys.readouterr().err
    assert main(["passes", "--script", "script.py", "--to-end", "--args", "2"]) == 0
    assert "the end" in capsys.readouterr().err


def test_scripts_that_give_no_step(capsys, place):
    (place / "none.py").write_text("print(1)\n")
    (place / "bad.py").write_text("1 / 0\n")
    assert main(["show", "--script", "none.py"]) == 2
    assert "none.py compiled no step" in capsys.readouterr().err
    assert main(["show", "--script", "bad.py"]) == 2
    err = capsys.readouterr().err
    assert "bad.py failed: ZeroDivisionError" in err
    assert "Traceback" not in err
    assert main(["show", "script.py"]) == 2
    assert "--script to run it" in capsys.readouterr().err


def test_an_unchanged_script_of_mindspores_is_profiled(tmp_path):
    """In a process of its own, as graphc takes MindSpore's name there; natively, with a trace."""
    (tmp_path / "train.py").write_text(TRAIN)
    command = [sys.executable, "-m", "graphc", "profile", "--mindspore", "train.py", "--runs", "2", "--json"]
    done = subprocess.run(
        [*command, "--trace", "t.json", "--record", "r.json"], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    assert made["profile"]["runs"] == 2
    assert any(row["cell"].endswith("fc") for row in made["shares"]["cells"])
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert main(["profile", str(tmp_path / "r.json"), "--json"]) == 0


# ---- commands


def test_why_leads_back_to_the_line_and_forward_to_the_code(capsys, place):
    assert main(["why", "build.py:build", "grad.fc.weight"]) in (0, 2)
    capsys.readouterr()
    made = _json(capsys, "why", "build.py:build", "%2")["why"]
    assert made["text"].startswith("%2")
    assert main(["dump", "build.py:build", "--out", "out"]) == 0
    capsys.readouterr()
    for where in ("build.py:build", "out"):
        node = next(
            int(line.split()[0][1:].rstrip(":"))
            for line in Path("out", "step.ir").read_text().split("\n")
            if " = MatMul(" in line and "grad" not in line and line.strip()[0] == "%"
            for line in [line.strip()]
        )
        made = _json(capsys, "why", where, f"%{node}")["why"]
        assert made["cell"].endswith("fc")
        assert made["class"] == "Dense"
        assert made["locs"][0]["file"].endswith("build.py")
        (call,) = made["calls"]
        assert call["kernel"] in Path("out", "step.py").read_text().split("\n")[call["line"] - 1]
        assert main(["why", where, f"{node}"]) == 0
        text = capsys.readouterr().out
        assert "return ops.relu(self.fc(x))" in text
        assert f"step.py:{call['line']}  gemm_" in text
    assert main(["why", "out", "%99999"]) == 2
    assert "there is, and was, no node %99999" in capsys.readouterr().err


def test_a_node_that_a_pass_has_removed_is_followed(capsys, place):
    record = _json(capsys, "show", "build.py:build")
    gone = next(
        id for sources, made in zip(record["history"]["from"], record["history"]["to"], strict=True) if made
        for id in sources if id not in record["nodes"]["id"]
    )  # fmt: skip
    made = _json(capsys, "why", "build.py:build", f"%{gone}")["why"]
    assert made["text"] is None
    assert made["forward"]
    assert main(["why", "build.py:build", f"%{gone}"]) == 0
    assert f"%{gone} is gone" in capsys.readouterr().out


def test_mem_adds_up(capsys, place):
    made = _json(capsys, "mem", "build.py:build")
    alive, buffers = made["alive"], made["buffers"]
    sizes = dict(zip(buffers["id"], buffers["bytes"], strict=True))
    assert alive["bytes"] == sum(sizes[b] for b in alive["buffers"]) == sum(alive["classes"].values())
    assert alive["bytes"] == sum(alive["cells"].values()) == max(alive["timeline"])
    assert alive["call"] == made["memory"]["peak_call"]
    assert alive["bytes"] <= made["memory"]["peak"] <= made["memory"]["arena"]
    assert made["process"] is None or min(made["process"].values()) > 10**7
    assert main(["mem", "build.py:build", "--at", "0"]) == 0
    out = capsys.readouterr().out
    assert "alive at call 0 of " in out
    assert main(["mem", "build.py:build", "--at", "9999"]) == 2
    assert "there is no call 9999" in capsys.readouterr().err


def test_the_schedule_is_in_the_order_of_execution(capsys, place):
    whole = _json(capsys, "show", "build.py:build", "--schedule")["calls"]
    assert whole["index"] == list(range(len(whole["index"])))
    part = _json(capsys, "show", "build.py:build", "--schedule", "--region", "backward")["calls"]
    assert 0 < len(part["index"]) < len(whole["index"])
    assert main(["show", "build.py:build", "--schedule"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"# {len(whole['index'])} of {len(whole['index'])} calls of TrainOneStepCell")
    assert "gemm_" in out
    Path("g.ir").write_text("graph @g {\n  forward:\n    %0 x: f32[2] = Input()\n  return y=%0\n}\n")
    assert main(["show", "g.ir", "--schedule"]) == 2
    assert "has no schedule" in capsys.readouterr().err
    assert main(["mem", "g.ir"]) == 2


NESTED = """
import numpy as np
from graphc import nn, ops

class Half(nn.Cell):
    def construct(self, x):
        return ops.tanh(x) * 0.5

class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.half, self.fc = Half(), nn.Dense(6, 6)

    def construct(self, x):
        x = self.half(x)
        x = self.fc(x)
        return self.half(x)

def build():
    net = Net()
    return nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.1)), (np.ones((2, 6), np.float32),)
"""


def test_show_at_a_line_shows_what_is_called_there(capsys, place):
    (place / "nested.py").write_text(NESTED)
    lines = NESTED.split("\n")
    inside, first, dense, last = (
        1 + lines.index(f"        {text}")
        for text in ("return ops.tanh(x) * 0.5", "x = self.half(x)", "x = self.fc(x)", "return self.half(x)")
    )

    def shown(target, line):
        code = main(["show", target, "--at", f"nested.py:{line}", "--json"])
        out = capsys.readouterr()
        return set(json.loads(out.out)["nodes"]["id"]) if code == 0 else out.err

    assert main(["dump", "nested.py:build", "--out", "dump"]) == 0
    capsys.readouterr()
    for target in ("nested.py:build", "dump"):
        both, one, other = (shown(target, line) for line in (inside, first, last))
        assert both == one | other
        assert not one & other
        assert len(one) >= 2
        assert len(other) >= 2
        assert not shown(target, dense) & both
        assert "was made at" in shown(target, 2)
    # Text alone has the innermost line.
    assert "was made at" in shown("dump/step.ir", first)
    assert main(["show", "dump/step.ir", "--at", f"nested.py:{inside}"]) == 0
    assert len(re.findall(r"^ +%", capsys.readouterr().out, re.MULTILINE)) == len(both)


def test_why_order_says_by_its_exit_code(capsys, place):
    assert main(["dump", "build.py:build", "--out", "out"]) == 0
    capsys.readouterr()
    made = _json(capsys, "why-order", "out", "x", "fc.weight", code=1)["why_order"]
    assert (made["ordered"], made["reverse"], made["path"]) == (False, False, [])
    loss = _json(capsys, "show", "out")["graphs"]["results"][0][0][1]
    made = _json(capsys, "why-order", "out", "x", loss)["why_order"]
    assert made["ordered"]
    assert made["path"][0]["link"] == "start"
    assert main(["why-order", "out", loss, "x"]) == 1
    assert f"%{made['before']} is guaranteed to run before {loss}" in capsys.readouterr().out.replace("x ", " ")


def test_a_narrow_terminal_folds_long_lines(capsys, place, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "60")
    assert main(["show", "build.py:build"]) == 0
    whole = capsys.readouterr().out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main(["show", "build.py:build"]) == 0
    narrow = capsys.readouterr().out
    assert max(map(len, whole.split("\n"))) > 60
    assert sum(len(line) > 60 for line in narrow.split("\n")) < sum(len(line) > 60 for line in whole.split("\n"))
    assert narrow.split() == whole.split()
