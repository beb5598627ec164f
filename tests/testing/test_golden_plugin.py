"""The pytest plugin and golden files: what is collected, what fails, what is written anew."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from graphc.errors import ArgumentTypeError, ArgumentValueError, ParseError, VerifyError
from graphc.testing import golden

PASSES = Path(__file__).parents[1] / "passes"
ORIGINAL = PASSES / "prune" / "dead_nodes.ir"

MINE = """
from graphc.ir import get_op

def keep(graph):
    return graph

def wrong(graph):
    made = graph.copy()
    node = next(n for n in made if n.op.name == "Neg")
    made.set_node(node.id, op=get_op("Exp"))
    return made

value = 3
"""
PLAIN = """\
graph @g {
  forward:
    %0 x: f32[2] = Input()
    %1: f32[2] = Neg(%0)
  return y=%1
}"""


@pytest.fixture
def project(tmp_path):
    """A folder with one golden file of `prune`."""
    (tmp_path / "golden.toml").write_text("")
    (tmp_path / "prune").mkdir()
    (tmp_path / "prune" / "x.ir").write_text(ORIGINAL.read_text())
    return tmp_path


def test_a_golden_file_can_fail(project):
    path = project / "prune" / "x.ir"
    text, _, after = path.read_text().partition(golden.SEPARATOR)
    found = golden.at(path)
    assert str(found) == "prune/x"
    assert found.mismatch() is None
    path.write_text(text + golden.SEPARATOR + after.replace("f32", "f64", 1))
    assert "prune/x gives\ngraph @" in str(found.mismatch())
    path.write_text(text + golden.SEPARATOR)
    assert found.mismatch() is not None
    found.update()
    assert path.read_text() == ORIGINAL.read_text()
    path.write_text(text.replace(" = ", "  = ", 1) + golden.SEPARATOR + after)
    with pytest.raises(ParseError):
        found.output()


def test_the_input_must_be_what_its_graph_prints(project):
    path = project / "prune" / "x.ir"
    path.write_text(PLAIN.replace("    %1", "     %1") + golden.SEPARATOR)
    with pytest.raises(ParseError, match="the input prints differently"):
        golden.at(path).output()


def test_passes_of_ones_own(project):
    (project / "mine.py").write_text(MINE)
    folder = project / "own"
    folder.mkdir()
    (folder / "golden.toml").write_text('passes = ["../mine.py:keep", "cse"]\nimports = ["../mine.py"]\n')
    (folder / "x.ir").write_text(PLAIN + golden.SEPARATOR + PLAIN + "\n")
    found = golden.at(folder / "x.ir")
    assert [p.__name__ for p in found.transforms()] == ["keep", "cse"]
    assert found.mismatch() is None
    (folder / "golden.toml").write_text('passes = ["../mine.py:wrong"]\n')
    with pytest.raises(VerifyError, match="pass wrong changed what the graph computes"):
        golden.at(folder / "x.ir").output()


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("passes = [", ParseError, "is no TOML"),
        ("passes = 3", ArgumentTypeError, "each a list of strings"),
        ("pases = []", ArgumentTypeError, "pases"),
        ('passes = ["prun"]', ArgumentValueError, "did you mean prune"),
        ('passes = ["../mine.py:kep"]', ArgumentValueError, "did you mean .*mine.py:keep"),
        ('passes = ["../mine.py:value"]', ArgumentTypeError, "is int, a pass is a function"),
        ('passes = ["../none.py:keep"]', ArgumentValueError, "there is no file"),
        ('passes = ["nowhere.at_all:keep"]', ArgumentValueError, "there is no module 'nowhere.at_all'"),
    ],
)
def test_a_wrong_golden_toml(project, text, error, message):
    (project / "mine.py").write_text(MINE)
    (project / "prune" / "golden.toml").write_text(text)
    with pytest.raises(error, match=message):
        golden.at(project / "prune" / "x.ir").transforms()


@pytest.fixture
def pytester(pytester):
    pytester.makepyfile(test_own="def test_nothing():\n    pass\n")
    return pytester


def collected(pytester, project, *options):
    (pytester.path / "goldens").symlink_to(project)
    return pytester.runpytest_inprocess("-p", "graphc.testing.plugin", *options)


def test_the_plugin_collects_and_updates(pytester, project):
    result = collected(pytester, project, "-v")
    result.assert_outcomes(passed=2)
    path = project / "prune" / "x.ir"
    text, _, after = path.read_text().partition(golden.SEPARATOR)
    path.write_text(text + golden.SEPARATOR + after.replace("f32", "f64", 1))
    result = pytester.runpytest_inprocess("-p", "graphc.testing.plugin")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["prune/x gives", "pytest --update-golden writes it anew"])
    assert "Traceback" not in result.stdout.str()
    pytester.runpytest_inprocess("-p", "graphc.testing.plugin", "--update-golden").assert_outcomes(passed=2)
    assert path.read_text() == ORIGINAL.read_text()


def test_the_plugin_shows_errors_of_passes(pytester, project):
    (project / "prune" / "golden.toml").write_text('passes = ["prun"]')
    result = collected(pytester, project)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*there is no pass named 'prun'*"])


def test_the_plugin_is_inert_without_a_marker(pytester, project):
    (project / "golden.toml").unlink()
    collected(pytester, project).assert_outcomes(passed=1)


def test_the_plugin_loads_nothing_of_the_compiler(pytester, monkeypatch):
    root = PASSES.parents[1]
    monkeypatch.setenv("PYTHONPATH", f"{root}{os.pathsep}{root / 'codegen'}")
    pytester.makepyfile(
        test_own="import sys\n\ndef test_light():\n    assert not {'graphc.ir', 'numpy', 'networkx'} & set(sys.modules)\n"
    )
    pytester.runpytest_subprocess("-p", "graphc.testing.plugin").assert_outcomes(passed=1)
