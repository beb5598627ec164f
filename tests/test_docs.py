"""The examples of README and docs run, print what the page shows, and the generated tables are up to date.

These fenced blocks are executed, in order and in one namespace per page:

python    runs. If it prints, an `output` block must follow. A first line `# name.py` makes it a file of that name.
py        a file, named in the first line; a later `console` block runs it
output    what the block before printed; `...` stands for anything
console   lines `$ graphc ...` or `$ .venv/bin/graphc ...` run, followed by what they print

`python needs=onnx` and `output needs=onnx` run where onnx and onnxruntime are installed.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib.util
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from sybil import Document, Example
from sybil.parsers.myst import CodeBlockParser

from graphc.ir.op import _REGISTRY

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "codegen" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
CHECKER = doctest.OutputChecker()


def compare(want: str, got: str) -> str | None:
    """None if the text is what the page shows, else the difference."""
    if CHECKER.check_output(want, got, doctest.ELLIPSIS):
        return None
    return CHECKER.output_difference(doctest.Example("", want), got, doctest.REPORT_UDIFF)


def run_python(example: Example) -> str | None:
    source = str(example.parsed)
    file = example.path
    saved = re.match(r"# (\w+\.py)\n", source)
    if saved:
        file = str(Path(saved[1]).absolute())
        Path(file).write_text(source)
    else:
        # Padded, so that lines of errors and graphs are those of the page.
        source = "\n" * (example.line + example.parsed.line_offset) + source
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(source, file, "exec", dont_inherit=True), example.namespace)
    example.namespace["printed"] = printed.getvalue()
    if printed.getvalue() and not re.match(
        r"```\s*```output( needs=\w+)?\n", example.document.text[example.end - 4 :].lstrip()
    ):
        return f"it prints, but no output block follows:\n{printed.getvalue()}"
    return None


def save_file(example: Example) -> str | None:
    named = re.match(r"# (\w+\.py)\n", str(example.parsed))
    if not named:
        return "it has no name"
    Path(named[1]).write_text(str(example.parsed))
    return None


def check_output(example: Example) -> str | None:
    return compare(str(example.parsed), example.namespace.pop("printed"))


def run_console(example: Example) -> str | None:
    commands = re.split(r"^\$ ", str(example.parsed), flags=re.MULTILINE)[1:]
    for command in commands:
        line, _, want = command.partition("\n")
        program, *arguments = shlex.split(line)
        # Where no environment is activated, a page gives the program's place.
        assert program in ("graphc", ".venv/bin/graphc"), f"only graphc commands run in a console block, not {line!r}"
        done = subprocess.run(
            [sys.executable, "-m", "graphc", *arguments],
            env={**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "codegen")))},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        difference = compare(want, done.stdout)
        if difference is not None:
            return f"$ {line}\n{difference}"
    return None


def parse(path: Path) -> Document:
    kinds = {"python": run_python, "py": save_file, "output": check_output, "console": run_console}
    if all(map(importlib.util.find_spec, ("onnx", "onnxruntime"))):
        kinds |= {"python needs=onnx": run_python, "output needs=onnx": check_output}
    return Document.parse(str(path), *(CodeBlockParser(language, function) for language, function in kinds.items()))


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    """An empty working directory and object cache; ops and modules that a page makes are gone afterwards."""
    for name in ("GRAPHC_JIT", "GRAPHC_DEBUG", "GRAPHC_DUMP", "GRAPHC_CANARY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GRAPHC_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name, declared in list(_REGISTRY.items()):
        # The reference of an op with a user's kernel runs the kernel.
        kernel = getattr(getattr(declared.ref, "__self__", None), "python", declared.ref)
        code = getattr(kernel, "__code__", None)
        if code is not None and code.co_filename.startswith((str(tmp_path), str(ROOT / "docs"))):
            del _REGISTRY[name]
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


def evaluate(page: Path) -> None:
    for example in parse(page).examples():
        example.evaluate()


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_examples(page, workplace):
    evaluate(page)


@pytest.mark.parametrize(
    "text",
    [
        "```python\nprint(1)\n```\n\n```output\n2\n```\n",
        "```python\nprint(1)\n```\n\nnothing\n",
        "```console\n$ graphc explain GC101\nnonsense\n```\n",
        "```python\nassert False\n```\n",
    ],
)
def test_a_wrong_example_fails(text, workplace):
    page = workplace / "page.md"
    page.write_text(text)
    with pytest.raises(AssertionError):
        evaluate(page)


def tables():
    spec = importlib.util.spec_from_file_location("docs_tables", ROOT / "docs" / "tables.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def anchors(text: str) -> set[str]:
    """The anchors of a page's headings."""
    module = tables()
    return {module.anchor(h) for h in module.headings(text, "#+")}


def test_long_pages_begin_with_what_is_in_them():
    for page in (page for page in PAGES if page.parent.name == "docs" and len(page.read_text().splitlines()) > 300):
        text, module = page.read_text(), tables()
        begin = text.partition("\n## ")[0]
        assert [h for h in module.headings(text) if f"](#{module.anchor(h)})" not in begin] == [], page.name
        assert "<!-- begin contents -->" not in text or module.fill(text, "contents") == text, (
            "run `python docs/tables.py`"
        )


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links(page):
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"https?:", target):
            continue
        name, _, anchor = target.partition("#")
        file = page.parent / name if name else page
        assert file.exists(), f"{page.name} links to {target}"
        assert not anchor or anchor in anchors(file.read_text()), f"{page.name} links to {target}"


@pytest.mark.parametrize("name", tables().PAGES)
def test_generated_tables(name):
    module = tables()
    page = ROOT / "docs" / module.PAGES[name]
    text = page.read_text()
    assert module.fill(text, name) == text, f"docs/{page.name} is out of date: run `python docs/tables.py`"
    assert module.fill(text.replace("| `", "| "), name) != text.replace("| `", "| ")
