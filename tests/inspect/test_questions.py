"""The table "Questions and answers" of docs/seeing.md: its commands work as they stand, its tests exist."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from graphc.cli.main import main
from graphc.inspect.document import schema

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "seeing.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
    for line in PAGE.partition("## Questions and answers")[2].partition("\n## ")[0].splitlines()
    if line.startswith("| ") and not line.startswith("| question")
]
COMMANDS = list(dict.fromkeys(c for _, answer, _ in ROWS for c in re.findall(r"`(graphc [^`]+)`", answer)))
#: Commands that give a form of their own.
_OWN_FORM = ("graphc dump", "graphc export", "graphc page", "graphc opt")


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with the page's first program and a dump of its step."""
    folder = tmp_path_factory.mktemp("questions")
    program = re.search(r"```python\n(# lenet_step\.py\n.*?)```", PAGE, re.DOTALL)[1]
    (folder / "lenet_step.py").write_text(program)
    assert main(["dump", f"{folder}/lenet_step.py:build", "--out", str(folder / "dump")]) == 0
    return folder


def words(command: str) -> list[str]:
    """The arguments of a command, with a target and a dump for TARGET and DUMP."""
    text = re.sub(r"\bTARGET\b", "lenet_step.py:build", command)
    return shlex.split(re.sub(r"\bDUMP\b", "dump", text))[1:]


def test_every_row_names_tests_that_exist():
    assert len(ROWS) == 22
    for question, answer, shown in ROWS:
        assert question.endswith("?")
        assert "`" in answer, question
        names = re.findall(r"`(tests/\S+\.py)::(\w+)`", shown)
        assert names, question
        for file, name in names:
            assert re.search(rf"^def {name}\(", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE), (
                f"{file}::{name}"
            )


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_works_as_it_stands(command, place, monkeypatch, capsys):
    monkeypatch.chdir(place)
    arguments = words(command)
    changes = command.startswith("graphc diff") and "00_trace" in command
    assert main(arguments) == (1 if changes else 0)
    out = capsys.readouterr().out
    assert len(out) > 5
    if "--at" in arguments:
        assert out.startswith("# ")
    if "-o" in arguments:
        assert (place / arguments[arguments.index("-o") + 1]).stat().st_size > 1000


@pytest.mark.parametrize("command", [c for c in COMMANDS if not c.startswith(_OWN_FORM)])
def test_every_answer_is_data_too(command, place, monkeypatch, capsys):
    monkeypatch.chdir(place)
    assert main([*words(command), "--json"]) in (0, 1)
    made = json.loads(capsys.readouterr().out)
    if not command.startswith("graphc explain"):
        assert (made["schema"], made["version"]) == ("graphc.step", 2)
        assert set(made) <= set(schema()["properties"])
