"""The `graphc` command: what it prints, its exit codes, and that it stays light."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from graphc.cli.main import main
from graphc.inspect.dump import write_dump
from graphc.inspect.record import Record, load_record
from graphc.ir import to_text
from graphc.lower import Apart

ROOT = Path(__file__).parents[2]

MODEL = """
import numpy as np
from graphc import Tensor, nn, ops, Parameter

class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = Parameter(np.ones((3, 2), np.float32), name="w")

    def construct(self, x):
        return ops.relu(ops.matmul(x, self.w))

def build():
    return Net(), (Tensor(np.ones((4, 3), np.float32)),)

def lone():
    return Net(), Tensor(np.ones((4, 3), np.float32))

def wrong():
    return 42

def misfit():
    return Net(), (Tensor(np.ones((4, 5), np.float32)),)

def broken():
    return 1 / 0

def needs(x):
    return x
"""


@pytest.fixture
def dumped(tmp_path, step_graph):
    """The dump of step_graph after a second pass dropped a result."""
    after = step_graph.copy()
    after.set_results(list(step_graph.results)[:2], step_graph.updates)
    after.prune()
    write_dump(
        tmp_path / "dump",
        graph=after,
        passes=[("trace", step_graph), ("same", step_graph.copy()), ("prune", after)],
        source="",
        kernels="",
        memory={},
    )
    return str(tmp_path / "dump")


@pytest.fixture
def model(tmp_path, monkeypatch):
    """A user's file; everything is compiled in checked mode, without numba."""
    monkeypatch.setenv("GRAPHC_JIT", "0")
    (tmp_path / "model.py").write_text(MODEL)
    return str(tmp_path / "model.py")


def _refused(capsys, *args: str) -> str:
    """stderr of a command that must fail with exit code 2 and no traceback."""
    assert main(args) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("graphc: ")
    assert "Traceback" not in err
    return err


def _usage_error(capsys, *args: str) -> str:
    with pytest.raises(SystemExit) as caught:
        main(args)
    assert caught.value.code == 2
    return capsys.readouterr().err


# ---- show


def test_show_prints_the_text_ir(capsys, dumped):
    assert main(["show", dumped]) == 0
    assert capsys.readouterr().out == Path(dumped, "step.ir").read_text()
    assert main(["show", f"{dumped}/passes/00_trace.ir"]) == 0
    assert capsys.readouterr().out == Path(dumped, "passes", "00_trace.ir").read_text()


def test_show_slices(capsys, dumped):
    assert main(["show", dumped, "--op", "Mul", "--region", "backward"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("# 1 of 19 nodes of graph @step: region backward, op Mul\n  backward:\n    %9: ")
    assert main(["show", dumped, "--from", "%7", "--to", "11", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["nodes"]["id"] == [7, 8, 9, 10, 11]
    assert [n.id for n in Record.from_document(found).nodes] == [7, 8, 9, 10, 11]
    assert main(["show", dumped, "--scope", "network", "--region", "backward"]) == 0
    assert capsys.readouterr().out.count("\n") == 1
    name = next(node.name for node in load_record(dumped).nodes if node.name)
    assert main(["show", dumped, "--from", name]) == 0
    assert f"{name}: " in capsys.readouterr().out


def test_show_order_and_stats(capsys, dumped):
    assert main(["show", dumped, "--order"]) == 0
    assert "GetFloatStatus" in capsys.readouterr().out
    assert main(["show", dumped, "--order", "--json"]) == 0
    assert [s["id"] for s in json.loads(capsys.readouterr().out)["order"][0]] == [6, 7, 8, 11, 12, 18, 19]
    assert main(["show", dumped, "--stats", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["stats"]["nodes"] == 19
    assert main(["show", dumped, "--json"]) == 0
    assert Record.from_document(json.loads(capsys.readouterr().out)) == load_record(dumped)


def test_show_refuses_what_is_not_there(capsys, dumped):
    assert "there is no region 'backwards'" in _refused(capsys, "show", dumped, "--region", "backwards")
    assert "did you mean Mul" in _refused(capsys, "show", dumped, "--op", "Mull")
    assert "did you mean network.fc" in _refused(capsys, "show", dumped, "--scope", "netwerk.fc")
    assert "there is no node %99" in _refused(capsys, "show", dumped, "--from", "%99")
    assert "takes no op Mul" in _refused(capsys, "show", dumped, "--stats", "--op", "Mul")
    assert "cannot be read" in _refused(capsys, "show", "no/such/thing")
    assert "is called 'abc'" in _refused(capsys, "show", dumped, "--to", "abc")
    Path(dumped, "step.ir").write_text("graph @x {")
    assert f"in {dumped!r}" in _refused(capsys, "show", dumped)


@pytest.mark.parametrize(("tty", "no_color", "coloured"), [(True, "", True), (True, "1", False), (False, "", False)])
def test_colour_only_on_a_terminal(capsys, dumped, monkeypatch, tty, no_color, coloured):
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: tty)
    main(["show", dumped])
    assert ("\x1b[" in capsys.readouterr().out) == coloured
    main(["show", dumped, "--json"])
    assert "\x1b[" not in capsys.readouterr().out


# ---- dump


@pytest.mark.parametrize(
    ("form", "start"),
    [("text", "graph @step {"), ("json", "{"), ("node-link", "{"), ("dot", "digraph"), ("mermaid", "flowchart")],
)
def test_dump_prints_a_saved_graph(capsys, dumped, form, start):
    assert main(["dump", dumped, "--as", form]) == 0
    assert capsys.readouterr().out.startswith(start)


def test_dump_needs_something_to_do(capsys, dumped, tmp_path):
    assert "say how to print it" in _refused(capsys, "dump", dumped)
    assert "--out writes the dump of a compiled step" in _refused(capsys, "dump", dumped, "--out", str(tmp_path / "x"))
    assert "invalid choice" in _usage_error(capsys, "dump", dumped, "--as", "png")


def test_dump_compiles_and_writes(capsys, model, tmp_path):
    out = tmp_path / "out"
    assert main(["dump", f"{model}:build", "--out", str(out)]) == 0
    written = capsys.readouterr().out.split()
    assert str(out / "step.ir") in written
    assert all(Path(p).is_file() for p in written)
    assert "MatMul" in (out / "step.ir").read_text()
    assert main(["dump", f"{model}:lone", "--out", str(out), "--as", "text"]) == 0
    captured = capsys.readouterr()
    assert captured.out == (out / "step.ir").read_text()
    assert str(out / "step.ir") in captured.err


def test_targets_that_are_source(capsys, model):
    assert main(["show", f"{model}:build", "--op", "MatMul"]) == 0
    assert "MatMul" in capsys.readouterr().out
    assert main(["passes", f"{model}:build", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert (listed["schema"], listed["version"], listed["passes"]["name"][:3]) == (
        "graphc.step",
        2,
        ["trace", "fuse_attention", "fuse_cross_entropy"],
    )


def test_targets_that_fail(capsys, model, tmp_path):
    assert f"did you mean {model}:build" in _refused(capsys, "show", f"{model}:biuld")
    assert "there is no file 'none.py'" in _refused(capsys, "show", "none.py:build")
    assert "does not say what to compile" in _refused(capsys, "show", model)
    assert "gives int; it must give (cell, inputs)" in _refused(capsys, "show", f"{model}:wrong")
    err = _refused(capsys, "show", f"{model}:broken")
    assert "broken failed: ZeroDivisionError: division by zero" in err
    assert "return 1 / 0" in err
    err = _refused(capsys, "show", f"{model}:needs")
    assert "missing 1 required positional argument" in err
    assert "targets.py" not in err
    assert "[GC101]" in _refused(capsys, "show", f"{model}:misfit")
    (tmp_path / "bad.py").write_text("x = = 1\n")
    assert "cannot be imported: SyntaxError" in _refused(capsys, "show", f"{tmp_path}/bad.py:x")
    (tmp_path / "quits.py").write_text("import sys; sys.exit(3)\n")
    assert "cannot be imported: SystemExit" in _refused(capsys, "show", f"{tmp_path}/quits.py:x")


def test_a_file_in_the_way_of_a_dump(capsys, model, tmp_path):
    (tmp_path / "taken").write_text("")
    assert "is a file, a directory is needed" in _refused(
        capsys, "dump", f"{model}:build", "--out", str(tmp_path / "taken")
    )


# ---- passes, diff, explain, doctor


def test_passes(capsys, dumped):
    assert main(["passes", dumped]) == 0
    lines = capsys.readouterr().out.split("\n")
    assert lines[1].split() == ["00", ".", ".", ".", "20", "trace"]
    assert lines[2].split() == ["01", ".", ".", ".", "20", "same"]
    assert lines[3].split() == ["02", "-1", ".", "~1", "19", "prune"]
    assert "is no dump directory" in _refused(capsys, "passes", f"{dumped}/step.ir")
    Path(dumped, "graph.json").unlink()
    assert "cannot be read" in _refused(capsys, "passes", dumped)


def test_diff_exit_codes(capsys, dumped):
    assert main(["diff", dumped, f"{dumped}/graph.json"]) == 0
    assert capsys.readouterr().out == "the structure is the same\n"
    assert main(["diff", f"{dumped}/passes/00_trace.ir", dumped]) == 1
    assert "- %3: i64[20] = Constant" in capsys.readouterr().out
    assert main(["diff", f"{dumped}/passes/00_trace.ir", dumped, "--json"]) == 1
    assert list(json.loads(capsys.readouterr().out)["diff"]["removed"]) == ["%3"]
    assert "cannot be read" in _refused(capsys, "diff", dumped, "none.ir")


def test_explain(capsys):
    assert main(["explain", "gc101"]) == 0
    assert capsys.readouterr().out == "GC101  Shapes of operands do not fit each other.\n"
    assert main(["explain"]) == 0
    assert capsys.readouterr().out.count("\n") > 20
    assert main(["explain", "GC190", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"GC190": "A checkpoint does not match."}
    assert "did you mean GC182" in _refused(capsys, "explain", "GC1822")
    assert "graphc explain lists them all" in _refused(capsys, "explain", "zzz")


def test_doctor(capsys, monkeypatch, tmp_path):
    (tmp_path / "a.o").write_bytes(b"12345")
    monkeypatch.setenv("GRAPHC_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("graphc.cli.doctor.cpus", lambda: 7)
    monkeypatch.setattr("graphc.cli.doctor.cores", lambda: 4)
    monkeypatch.setattr("graphc.steps.build.apart", lambda seconds: Apart(123.4, 1.0))
    assert main(["doctor", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["cache"] == {"directory": str(tmp_path), "files": 1, "bytes": 5}
    assert found["packages"]["numpy"]
    assert (found["cpu"]["cpus"], found["cpu"]["cores"]) == (7, 4)
    assert (found["cpu"]["distance_ns"], found["cpu"]["one_core"]) == (123.4, False)
    monkeypatch.setenv("GRAPHC_CACHE_DIR", "0")
    assert main(["doctor"]) == 0
    text = capsys.readouterr().out
    assert "switched off" in text
    assert "4 cores (7 CPUs) usable" in text
    assert "takes 123 ns from one core to another\n" in text
    monkeypatch.setattr("graphc.steps.build.apart", lambda seconds: Apart(20.0, 1.9))
    assert main(["doctor"]) == 0
    assert "takes 20 ns from one to another of them, which are threads of one core" in capsys.readouterr().out
    monkeypatch.setattr("graphc.cli.doctor.cpus", lambda: 1)
    monkeypatch.setenv("GRAPHC_NUM_THREADS", "two")
    assert "GRAPHC_NUM_THREADS must be an integer, got 'two'" in _refused(capsys, "doctor")
    monkeypatch.delenv("GRAPHC_NUM_THREADS")
    assert main(["doctor"]) == 0
    assert "distance     one core\n" in capsys.readouterr().out


def test_the_cache_moves_as_a_file(capsys, monkeypatch, tmp_path):
    from graphc_codegen.object_code.cache import ObjectCache

    name, other = "a" * 64, "b" * 64
    here, there, file = tmp_path / "here", tmp_path / "there", tmp_path / "objects.zip"
    monkeypatch.setenv("GRAPHC_CACHE_DIR", str(here))
    ObjectCache(here).store(name, [b"one", b"", b"three"], "step")
    ObjectCache(here).store(other, [b"old"], "step")
    described = json.loads((here / f"{other}.json").read_text())
    (here / f"{other}.json").write_text(json.dumps(described | {"versions": {"graphc": "0"}}))
    assert main(["cache", "export", str(file)]) == 0
    assert "2 objects" in capsys.readouterr().out
    monkeypatch.setenv("GRAPHC_CACHE_DIR", str(there))
    assert main(["cache", "import", str(file)]) == 0
    assert "1 object; 1 object of other versions left out" in capsys.readouterr().out
    assert ObjectCache(there).load(name) == [b"one", b"", b"three"]
    assert ObjectCache(there).names() == [name]
    with zipfile.ZipFile(file, "w") as made:
        made.writestr(f"{name}.json", (there / f"{name}.json").read_text())
        made.writestr(f"{name}.o", b"onetwo")
    assert "is damaged" in _refused(capsys, "cache", "import", str(file))
    file.write_bytes(b"nothing")
    assert "is no archive" in _refused(capsys, "cache", "import", str(file))


# ---- the command line itself


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--epochs", "0"), "--epochs: 0 is out of range: at least 1"),
        (("--epochs", "two"), "--epochs: 'two' is no whole number"),
        (("--batch-size", "-1"), "--batch-size: -1 is out of range"),
        (("--lr", "nan"), "--lr: nan is out of range: more than 0"),
        (("--lr", "0"), "--lr: 0 is out of range: more than 0"),
        (("--momentum", "1.5"), "--momentum: 1.5 is out of range: 0 to 1"),
        (("--loss-scale", "0.5"), "--loss-scale: 0.5 is out of range: at least 1"),
        (("--loss-scale", "inf"), "--loss-scale: inf is out of range"),
        (("--seed", "4294967296"), "--seed: 4294967296 is out of range: 0 to 4294967295"),
        (("--limit-steps", "0"), "--limit-steps: 0 is out of range"),
        (("--what",), "unrecognized arguments: --what"),
    ],
)
def test_bad_training_options(capsys, args, message):
    assert message in _usage_error(capsys, "train", *args)


def test_version(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out.startswith("graphc ")


def test_a_file_that_is_no_text(capsys, tmp_path):
    (tmp_path / "binary.py").write_bytes(b"\0\1\2")
    err = _refused(capsys, "show", f"{tmp_path}/binary.py:build")
    assert "binary.py cannot be imported: SyntaxError: source code" in err
    assert "None" not in err


@pytest.mark.parametrize(
    ("where", "code", "said"), [(">&-", 0, ""), (">/dev/full", 2, "graphc: No space left on device\n")]
)
def test_an_output_that_takes_nothing(where, code, said):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "codegen")])}
    command = f"'{sys.executable}' -m graphc explain GC101 {where}"
    done = subprocess.run(["sh", "-c", command], env=env, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (code, said)


def test_a_terminal_that_lacks_a_letter(dumped, tmp_path):
    at = tmp_path / "d\N{LATIN SMALL LETTER U WITH DIAERESIS}mp"
    shutil.copytree(dumped, at)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "codegen")]), "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [sys.executable, "-m", "graphc", "page", str(at)], env=env, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("d\\xfcmp/step.html\n")


def test_the_traceback_of_user_code_on_request(model, monkeypatch):
    monkeypatch.setenv("GRAPHC_TRACEBACK", "full")
    with pytest.raises(ZeroDivisionError):
        main(["show", f"{model}:broken"])


@pytest.mark.parametrize("options", [["--script"], ["--step", "2"], ["--mindspore", "--args", "x"], ["--to-end"]])
def test_options_about_a_script_that_is_none(capsys, dumped, options):
    err = _refused(capsys, "show", str(dumped), *options)
    assert f"{next(o for o in options if o != '--mindspore')} is about a script, and none is run" in err


def test_arguments_of_a_script_that_no_shell_divides(capsys):
    assert "No closing quotation" in _usage_error(capsys, "show", "--script", "a.py", "--args", "'open")


def test_no_command_and_unknown_command(capsys):
    assert main([]) == 2
    assert "graphc train" in capsys.readouterr().err
    assert "invalid choice: 'fly'" in _usage_error(capsys, "fly")


def _python(code: str, *args: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "codegen")])}
    return subprocess.run([sys.executable, "-c", code, *args], env=env, capture_output=True, text=True, timeout=60)


_LIGHT = """
import sys
from graphc.cli.main import main
try:
    code = main(sys.argv[1:])
except SystemExit as stop:
    code = stop.code
heavy = sorted({m.split(".")[0] for m in sys.modules} & {"numba", "llvmlite", "jinja2", "safetensors", *LIGHT})
sys.exit(f"imported {heavy}" if heavy else code)
"""


def test_help_show_and_diff_import_no_compiler(dumped):
    for args in (
        ["--help"],
        ["train", "--help"],
        ["show", dumped, "--stats"],
        ["diff", dumped, dumped],
        ["passes", dumped],
        ["why", dumped, "%4"],
        ["why-order", dumped, "6", "9"],
        ["profile", "--help"],
        ["explain"],
    ):
        # What is on disk is read without NumPy and networkx, whose import takes longer than all the rest.
        done = _python(_LIGHT.replace("*LIGHT", '"numpy", "networkx"'), *args)
        assert done.returncode == 0, done.stderr
        assert done.stdout
        assert done.stderr == ""


def test_run_starts_light_and_ends_as_python_does(tmp_path):
    """What the compiler has made before the script is not walked again; the script's own cycles end as ever."""
    script = tmp_path / "script.py"
    script.write_text(
        "import gc, sys\n"
        "class Own:\n"
        "    def __init__(self):\n"
        "        self.me = self\n"
        "    def __del__(self):\n"
        "        print('the last word')\n"
        "own, file = Own(), open(sys.argv[1], 'w')\n"
        "file.write('written')\n"
        "def typed(x: int): ...\n"
        "dear = {'numpy.ma', 'multiprocessing', 'statistics', 'numba', 'graphc.find_nan', 'graphc.inspect.document'}\n"
        "print(gc.isenabled(), gc.get_freeze_count() > 50_000, sorted(dear & {*sys.modules}), typed.__annotations__['x'])\n"
    )
    done = _python(
        "from graphc.cli.main import main; raise SystemExit(main())", "run", str(script), str(tmp_path / "file")
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "True True [] <class 'int'>\nthe last word\n", "")
    assert (tmp_path / "file").read_text() == "written"


def test_help_names_every_command(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["--help"])
    assert caught.value.code == 0
    out = capsys.readouterr().out
    for command in (
        "train",
        "dump",
        "show",
        "passes",
        "diff",
        "why",
        "why-order",
        "profile",
        "mem",
        "explain",
        "doctor",
    ):
        assert re.search(rf"\n    {command}\s", out)


def test_python_dash_m_and_a_closed_pipe(dumped):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "codegen")])}
    command = f"{sys.executable} -m graphc show {dumped} --json | head -c 5; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], env=env, capture_output=True, text=True, timeout=60, cwd=ROOT)
    # Where all of it fits into the pipe's buffer before the reader closes, nothing is cut off.
    assert done.returncode in (0, 141)
    assert (done.stdout, done.stderr) == ('{\n"sc', "")


def test_hostile_graphs_print(capsys, tmp_path, hostile_graph, hostile):
    write_dump(tmp_path, graph=hostile_graph, passes=[(hostile, hostile_graph)], source="", kernels="", memory={})
    for args in (
        ["show"],
        ["show", "--stats"],
        ["show", "--order"],
        ["passes"],
        ["show", "--scope", hostile],
        ["dump", "--as", "dot"],
    ):
        assert main([args[0], str(tmp_path), *args[1:]]) == 0
        out = capsys.readouterr().out
        assert "\x1b" not in out
        assert "\nd</script>" not in out
    assert main(["show", str(tmp_path)]) == 0
    assert capsys.readouterr().out == to_text(hostile_graph) + "\n"
