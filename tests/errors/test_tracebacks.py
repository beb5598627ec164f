"""Tracebacks as Python, IPython and pytest print them: a user's own exception keeps its own frames, and has none of graphc's."""

from __future__ import annotations

import io
import os
import pickle
import pkgutil
import signal
import subprocess
import sys
import traceback
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import graphc
from graphc import nn, passes
from graphc.cli.main import main
from graphc.debug import debug
from graphc.errors import MOST_LINES, ArgumentValueError, GraphcError
from tests.errors.messages import X, cell, compiled

ROOT = Path(__file__).parents[2]

SCRIPT = """
import sys
import numpy as np
import graphc
from graphc import nn, ops

class Inner(nn.Cell):
    def construct(self, x):
        if x.sum() > 0:
            y = helper(x)
        else:
            y = x
        return y

class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def construct(self, x):
        return self.inner(x)

def helper(x):
    if KIND == "own":
        return {}["mine"]
    if KIND == "shape":
        return x.reshape(7)
    return broken(x)

def broken(x):
    return ops.softplus(x, 1, (0, 0))

KIND = sys.argv[1]
x = np.ones((2, 3), np.float32)
if len(sys.argv) > 2:
    graphc.compile(Net(), x)
Net()(x)
"""
FRAMES = ["<module>", "construct", "construct", "helper"]


def frames(lines: list[str]) -> list[str]:
    return [line.rpartition(" in ")[2] for line in lines if line.startswith("  File ")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("scripts")
    (made / "train.py").write_text(SCRIPT)
    return made


def test_python(folder: Path) -> None:
    lines = run("train.py", "own", folder=folder).stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert frames(lines) == FRAMES
    assert lines[-1] == "KeyError: 'mine'"
    assert not any("graphc/" in line for line in lines)
    assert "y = helper(x)" in map(str.strip, lines)


def test_data_sets(tmp_path: Path) -> None:
    script = """
import graphc.dataset as ds

def broken(x):
    raise KeyError("mine")

for row in ds.NumpySlicesDataset({"a": [1, 2]}).map(broken, "a").create_dict_iterator():
    pass
"""
    (tmp_path / "read.py").write_text(script)
    lines = run("read.py", folder=tmp_path).stderr.splitlines()
    assert frames(lines) == ["broken", "<module>"]
    assert not any("graphc/" in line for line in lines)


def test_graphc_run(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "argv", [])
    for kind, last in (
        ("own", "KeyError: 'mine'"),
        ("shape", "  help: one size may be -1: it follows from the others"),
    ):
        assert main(["run", "train.py", kind]) == 1
        lines = capsys.readouterr().err.splitlines()
        assert frames(lines) == FRAMES
        assert lines[-1] == last
    at = next(i for i, line in enumerate(lines) if line.startswith("graphc.ShapeError: [GC103] Reshape"))
    assert lines[at + 1] == "  train.py:27  return x.reshape(7)"
    assert main(["run", "train.py", "insides", "compile"]) == 1
    lines = capsys.readouterr().err.splitlines()
    message = lines[next(i for i, line in enumerate(lines) if "[GC100]" in line) :]
    assert len(message) <= MOST_LINES
    assert message[1] == "  train.py:31  return ops.softplus(x, 1, (0, 0))"
    # Of a deep chain of calls its ends.
    assert frames(lines) == ["<module>", "construct", "helper", "broken"]
    assert not any("During handling" in line or "direct cause" in line for line in lines)


def test_pytest(folder: Path) -> None:
    test = SCRIPT.replace("KIND = sys.argv[1]", 'KIND = "own"').partition("if len(sys.argv)")[0]
    (folder / "test_it.py").write_text(f"{test}\ndef test_it():\n    Net()(x)\n")
    printed = run("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_it.py", folder=folder).stdout
    places = [line for line in printed.splitlines() if line.startswith("test_it.py:")]
    assert [p.split(":")[1] for p in places] == ["37", "21", "10", "25"], printed
    assert "graphc/" not in printed


def run(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A Python process that fails."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'codegen'}"}
    environment.pop("GRAPHC_TRACEBACK", None)
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    return done


def test_ipython() -> None:
    """IPython prints the very frames that the traceback has, with the source around them."""
    shell = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell.instance()
    shell.run_line_magic("colors", "nocolor")
    shell.user_ns.update({"nn": nn, "np": np, "cell": cell, "X": X})
    out = io.StringIO()
    with redirect_stdout(out):
        shell.run_cell("def construct(self, x):\n    if x.sum() > 0:\n        y = x['a']\n    else:\n        y = {}['mine']\n"
                       "    return y\ncell(construct)(X)")  # fmt: skip
    text = out.getvalue()
    assert "y = x['a']" in text
    assert "graphc/" not in text, text
    with redirect_stdout(io.StringIO()):
        shell.run_cell("step = __import__('graphc').compile(cell(lambda self, x: x + 1), X)")
    shown, _ = shell.display_formatter.format(shell.user_ns["step"].graph)
    assert shown["text/plain"] == str(shell.user_ns["step"].graph)


def test_an_exception_of_converted_code_has_its_lines() -> None:
    def construct(self, x):
        if x.sum() > 0:
            y = {}["mine"]
        else:
            y = x
        return y

    with pytest.raises(KeyError) as caught:
        cell(construct)(X)
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.filename, last.lineno) == (__file__, construct.__code__.co_firstlineno + 2)
    assert last.line == 'y = {}["mine"]'
    assert last.name == "construct"


def test_an_exception_raised_at_run_time_says_where() -> None:
    def construct(self, x):
        if x.sum() > 0:
            raise ValueError("bad batch")
        return x

    with pytest.raises(ValueError, match="bad batch") as caught:
        cell(construct)(X)
    assert caught.value.__notes__ == [
        f'raised at tests/errors/test_tracebacks.py:{construct.__code__.co_firstlineno + 2}  raise ValueError("bad batch")'
    ]


def test_calls_with_wrong_arguments_are_the_users() -> None:
    def helper(x, y):
        return x if x.sum() > y else y

    def construct(self, x):
        if x.sum() > 0:
            x = x + 1
        return helper(x)

    with pytest.raises(TypeError, match="missing 1 required positional argument: 'y'") as caught:
        cell(construct)(X)
    assert type(caught.value) is TypeError
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert last.line == "return helper(x)"


def test_a_pass_of_the_users() -> None:
    def mine(graph):
        raise LookupError("not yet")

    import graphc

    with pytest.raises(LookupError) as caught:
        graphc.compile(cell(lambda self, x: x), X, passes=(*passes.PIPELINE, mine))
    assert caught.value.__notes__[0].startswith("in pass mine, after trace, ")
    assert [f.name for f in traceback.extract_tb(caught.value.__traceback__)][1:] == ["mine"]


def test_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while something compiles shows the line that compiles, and nothing below it."""

    def interrupt(self, x):
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(10**6):
            x = x + 1
        return x

    with pytest.raises(KeyboardInterrupt) as caught:
        cell(interrupt)(X)
    names = [f.name for f in traceback.extract_tb(caught.value.__traceback__)]
    assert names == ["test_interrupted", "interrupt"]


def test_everything_on_demand() -> None:
    def construct(self, x):
        return x.reshape(7)

    assert compiled(construct, X).code == "GC103"
    with debug(full_traceback=True), pytest.raises(ValueError, match="GC103") as caught:
        cell(construct)(X)
    assert len(traceback.extract_tb(caught.value.__traceback__)) > 8


def kinds(base: type) -> set[type]:
    return {base}.union(*map(kinds, base.__subclasses__()))


def test_errors_are_shown_as_graphcs_own_and_can_be_pickled():
    """Wherever their classes stand."""
    for module in pkgutil.walk_packages(graphc.ops.__path__, "graphc.ops."):
        import_module(module.name)
    own = [kind for kind in kinds(GraphcError) if kind._home.startswith("graphc.")]
    assert len(own) > 40
    for kind in own:
        assert traceback.format_exception_only(kind("x"))[0].startswith(f"graphc.{kind.__qualname__}: ")
        error = pickle.loads(pickle.dumps(kind("x", code="GC101", help="y")))
        assert (type(error), str(error), error.help) == (kind, "[GC101] x\n  help: y", "y")


class UsersOwnError(ArgumentValueError):
    pass


def test_errors_of_users_keep_their_module():
    assert type(pickle.loads(pickle.dumps(UsersOwnError("x")))) is UsersOwnError
    assert UsersOwnError.__module__ == __name__


def test_code_in_the_line_that_calls_is_no_code_of_the_library() -> None:
    def calls():
        return graphc.compile(cell(lambda self, x: x.tanh() + 1), X)

    line = calls.__code__.co_firstlineno + 1
    assert {str(n.loc) for n in calls().graph if n.loc} == {f"tests/errors/test_tracebacks.py:{line}"}
