"""The page about a step as a file: its size, its data, hostile names, the command. tests/page/test_browser.py looks at it."""

from __future__ import annotations

import dataclasses
import html
import re
from importlib.resources import files

import pytest

from graphc import nn
from graphc.cli.main import main
from graphc.inspect.record import Record, record
from graphc.page import Material, embedded, page_of, write_page
from graphc.page.excerpts import excerpts
from graphc.page.packing import aligned, deltas, digits, indexed, ragged
from tests.page.steps import HOSTILE, blocks, compiled, data_of, workload


@pytest.mark.parametrize(("layers", "nodes", "most"), [(4, 2000, 100_000), (24, 12_500, 500_000)])
def test_a_page_can_be_mailed(layers, nodes, most, tmp_path):
    step = workload("gpt", layers)
    page = step.page(tmp_path / "deep" / "step.html")
    assert page.stat().st_size <= most
    data = data_of(page.read_text())
    assert len(data["nodes"]["id"]) > nodes
    assert sum(len(text) for text in data["kernels"]["text"]) > 10_000


def test_the_script_can_be_read():
    for file in (files("graphc.page") / "script").iterdir():
        assert [line for line in file.read_text().splitlines() if len(line) > 130] == [], file.name


def test_the_page_loads_nothing(tmp_path):
    page = page_of(blocks().record(), Material())
    assert set(re.findall(r"https?://[^\s\"'<]+", page)) == set()
    assert re.findall(r"<(script|link|img|iframe|style)[ >]", page) == ["style", *["script"] * 4]
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1]
    assert re.sub(r"'sha256-[^']+'", "HASH", policy) == (
        "default-src 'none'; style-src HASH HASH; script-src HASH HASH; base-uri 'none'; form-action 'none'"
    )
    assert page_of(blocks().record(), Material()) == page


def test_the_columns_say_what_the_record_says():
    step = blocks()
    document, data = step.record().to_document(), data_of(page_of(step.record(), step._material()))
    nodes, ids, total = data["nodes"], [], 0
    for change in nodes["id"]:
        total += change
        ids.append(total)
    assert ids == document["nodes"]["id"]
    assert [nodes["op"]["t"][k] for k in nodes["op"]["k"]] == document["nodes"]["op"]
    flat = iter(nodes["inputs"]["v"])
    inputs = [[[id - next(flat), 0] for _ in range(n)] for id, n in zip(ids, nodes["inputs"]["n"], strict=True)]
    for row, place, slot in zip(*nodes["slots"], strict=True):
        inputs[row][place][1] = slot
    texts = [[f"%{id}#{slot}" if slot else f"%{id}" for id, slot in row] for row in inputs]
    assert texts == [list(row) for row in document["nodes"]["inputs"]]
    # Attributes come from the text, the lines of source from the files.
    attrs = {
        op: nodes["attrs"]["t"][k]
        for op, k in zip(document["nodes"]["op"], nodes["attrs"]["k"], strict=True)
        if nodes["attrs"]["t"][k]
    }
    assert "transpose_" in attrs["MatMul"]
    assert "return x + y" in " ".join(line for pieces in data["source"] for _, lines in pieces for line in lines)
    assert data["kernels"]["name"]
    assert data["step"]["text"]
    assert data["profile"] is None


def test_packing():
    assert indexed("abca") == {"t": ["a", "b", "c"], "k": [0, 1, 2, 0]}
    assert deltas([3, 5, 4]) == [3, 2, -1]
    assert ragged([[], [3, 5], [4]]) == {"n": [0, 2, 1], "v": [3, 2, -1]}
    assert aligned([[1], [], [1, 2]], [2, 3, 4]) == {"n": [1, 0, 2], "v": [1, 3, 2]}
    assert digits([1.0, 0.123456, 1e-9, 0]) == [1, 0.1235, 1e-09, 0]


def test_only_source_is_read_for_excerpts(tmp_path):
    secret, source = tmp_path / "id_rsa", tmp_path / "net.py"
    secret.write_text("secret\n")
    source.write_text("".join(f"line {n}\n" for n in range(1, 31)))
    files = [str(secret), str(source), str(tmp_path / "gone.py")]
    found = excerpts(files, [(0, 1), (1, 2), (1, 20), (1, 400), (2, 1)])
    assert found == [
        [],
        [(1, [f"line {n}" for n in range(1, 6)]), (17, [f"line {n}" for n in range(17, 24)])],
        [],
    ]


def hostile(step) -> Record:
    """The record with every name replaced by one that tries to get out."""
    made = record(step)

    def renamed(rows, **names):
        return tuple(dataclasses.replace(row, **{k: f"{HOSTILE}{n}" for k in names}) for n, row in enumerate(rows))

    return dataclasses.replace(
        made,
        name=HOSTILE,
        files=tuple(HOSTILE for _ in made.files),
        cells=renamed(made.cells, path=1, class_=1),
        nodes=tuple(dataclasses.replace(n, name=HOSTILE, param=n.param and HOSTILE) for n in made.nodes),
        buffers=renamed(made.buffers, name=1),
        passes=renamed(made.passes, name=1),
        calls=renamed(made.calls, family=1),
    )


def test_hostile_names_are_data():
    page = page_of(hostile(blocks()), Material(HOSTILE, HOSTILE, {1: HOSTILE}))
    assert "<img" not in page
    assert page.count("<script") == page.count("</script>") == 4
    assert page.count(html.escape(HOSTILE)) == 2
    assert data_of(page)["name"] == HOSTILE


def test_a_notebook_gets_a_frame_that_can_do_nothing_but_run_itself():
    frame = blocks()._repr_html_()
    assert frame == embedded(blocks().record(), blocks()._material())
    assert 'sandbox="allow-scripts"' in frame
    inner = html.unescape(re.search(r'srcdoc="([^"]*)"', frame)[1])
    assert inner == page_of(blocks().record(), blocks()._material())


def test_the_command(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks().dump(tmp_path / "dump")
    assert main(["page", "dump"]) == 0
    assert capsys.readouterr().out == "dump/step.html\n"
    assert main(["page", "dump", "-o", "new/page.html"]) == 0
    assert (tmp_path / "new" / "page.html").read_bytes() == (tmp_path / "dump" / "step.html").read_bytes()
    assert data_of((tmp_path / "dump" / "step.html").read_text())["passes"]["gone"]["text"]
    assert main(["page", "dump/step.ir", "-o", "graph.html"]) == 0
    (tmp_path / "mine.py").write_text("def build():\n    from tests.page.steps import blocks\n    return blocks()\n")
    assert main(["page", "mine.py:build", "-o", "built.html"]) == 0
    assert data_of((tmp_path / "built.html").read_text())["calls"]["flops"]
    capsys.readouterr()
    assert main(["page", "mine.py"]) == 2
    assert "mine.py:build" in capsys.readouterr().err
    assert main(["page", "nothing"]) == 2
    assert main(["page", "dump", "-o", "mine.py/page.html"]) == 2
    assert len(capsys.readouterr().err.splitlines()) <= 6


def test_a_network_that_is_not_trained(tmp_path):
    import numpy as np

    step = compiled(nn.Dense(3, 2), np.ones((4, 3), np.float32))
    assert write_page(step.record(), tmp_path / "dense.html", Material()).stat().st_size < 60_000
