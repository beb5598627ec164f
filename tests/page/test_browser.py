"""The page about a step as a reader uses it, in a headless Chromium."""

from __future__ import annotations

import base64
import dataclasses
import re

import numpy as np
import pytest

from graphc import nn
from graphc.inspect.record import CallTime, Profile
from graphc.page import Material, write_page
from tests.page import pictures
from tests.page.control import control
from tests.page.looking import click, follow, opened, panel, press, row, texts, wait_until_ready
from tests.page.steps import HOSTILE, blocks, compiled, trained, workload
from tests.page.test_page import hostile
from tests.report.browser import Browser, chromium


@pytest.fixture(scope="module")
def browser():
    if chromium() is None:
        pytest.skip("there is no Chromium")
    with Browser() as window:
        yield window


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return blocks().page(tmp_path_factory.mktemp("page") / "blocks.html")


@pytest.fixture(autouse=True)
def nothing_is_said_or_asked_for(request):
    yield
    window = request.node.funcargs.get("browser")
    if window is not None:
        assert window.said == []
        assert [url for url in window.asked if not url.startswith(("file:", "about:"))] == []


def test_the_first_glance(page, browser):
    opened(browser, page)
    rows = texts(browser, ".row .tree")
    assert 10 <= len(rows) <= 40
    folded = next(text for text in rows if "blocks.0–3" in text)
    assert "×4" in folded
    assert "Block" in folded
    assert not [text for text in rows if "blocks.1" in text]
    # Weight, gradient, optimizer side by side; averages that the forward part writes beside them, without a crossing.
    norm = f"({row('average')})"
    assert browser.run(f"{norm}.querySelector('.box.up').textContent").startswith("2 weights")
    assert browser.run(f"{norm}.querySelectorAll('.box.state').length") == 1
    crossings = browser.run("document.querySelectorAll('line.cross').length")
    assert crossings == browser.run("document.querySelectorAll('.box.up:not(.shared)').length") > 3
    assert browser.run("document.querySelector('.gatehead').textContent") == "finite? tests 30"
    assert texts(browser, ".pill")[0] == "1 loss"
    assert "holds: 30 of 30 tested gradients" in panel(browser)
    # A residual of each block is an arc; what is next to each other has none.
    assert browser.run("document.querySelectorAll('path.arc.fw').length") >= 1
    assert browser.run("document.querySelectorAll('path.arc').length") < len(rows)


def test_folding(page, browser):
    opened(browser, page)
    before = len(texts(browser, ".row"))
    name = row("blocks.0–3")
    assert browser.run(f"({name}).getAttribute('aria-expanded')") == "true"
    inside = texts(browser, ".row .box.up")
    assert any(text.startswith("8 weights") for text in inside)
    click(browser, f"({name}).querySelector('.toggle')")
    assert browser.run(f"({name}).getAttribute('aria-expanded')") == "false"
    assert len(texts(browser, ".row")) < before
    box = browser.run(f"({name}).querySelector('.box.fw').textContent")
    assert re.match(r"\d+ nodes ×4f32\[6,8\]", box)
    assert browser.run(f"({name}).querySelector('.box.up').textContent").startswith("24 weights")
    click(browser, f"({name}).querySelector('.times')")
    assert [t for t in texts(browser, ".row .label") if t.startswith("blocks.")] == [f"blocks.{k}" for k in range(4)]
    one = browser.run(f"({row('blocks.2')}).querySelector('.box.up').textContent")
    assert one.startswith("6 weights")
    click(browser, f"({row('blocks.0')}).querySelector('.times')")
    assert "blocks.0–3" in texts(browser, ".row .label")


def test_a_node(page, browser):
    opened(browser, page)
    dense = f"({row('first')})"
    click(browser, f"{dense}.querySelector('.toggle')")
    click(browser, "[...document.querySelectorAll('.box.fw')].find((b) => b.textContent.startsWith('MatMul'))")
    text = panel(browser)
    id = int(re.match(r"%(\d+) MatMul", text)[1])
    assert browser.run("location.hash") == f"#%{id}"
    assert f"%{id}: f32[6,8] = MatMul(" in text
    assert "tests/page/steps.py:" in text
    assert "x = self.first(x)" in text
    for part in ("gradient", "data", "history", "kernel", "memory"):
        assert f"\n{part}" in text, part
    assert re.search(r"alive from call \d+ to \d+", text)
    assert browser.run("document.querySelectorAll('path.edge').length") >= 1
    # The gradient, by its link; the IR of its kernel.
    click(
        browser,
        "[...document.querySelectorAll('#side section')]"
        ".find((s) => s.querySelector('h3').textContent === 'gradient').querySelector('a')",
    )
    assert "gradient of\n" in panel(browser)
    click(browser, "document.querySelector('#side .kernel summary')")
    assert "define void @" in panel(browser)
    # Of a closed Cell its box is marked.
    click(browser, "document.querySelector('.pill')")
    assert (
        browser.run("document.querySelector('.box.chosen').closest('.row').querySelector('.label').textContent")
        == "_loss_fn"
    )
    # Who waits for whom: the gradient's scale waits for the cleared status.
    click(browser, "document.querySelectorAll('.pill')[2]")
    assert re.search(r"order\nwaits for\n?\s*%\d+ ClearFloatStatus", panel(browser))
    press(browser, "Escape")
    assert panel(browser).startswith("At a glance")
    assert browser.run("location.hash") == ""


def test_a_constant_that_many_gradients_read_has_no_arcs(browser, tmp_path):
    """Each tanh's gradient reads the same 1."""
    net = nn.SequentialCell(*(layer for _ in range(6) for layer in (nn.Dense(4, 4), nn.Tanh())))
    opened(browser, trained(net, np.ones((6, 4), np.float32)).page(tmp_path / "tanh.html"))
    press(browser, "e")
    heights = "[...document.querySelectorAll('path.arc.bw')].map((e) => e.getBoundingClientRect().height)"
    assert 0 < browser.run(f"Math.max(...{heights})") < 100


def test_at_every_width_the_heads_stand_apart(page, browser):
    for width in (390, 640, 800, 1000, 1440):
        opened(browser, page, width=width)
        left, right = browser.run(
            "[document.querySelector('.h-gradient'), document.querySelector('.gatehead')].map((e, i) => {"
            " const range = document.createRange(); range.selectNodeContents(e);"
            " const box = range.getBoundingClientRect(); return i ? box.left - 3 : box.right })"
        )
        assert left <= right, width
        # Arcs stand between the lines of the source and the boxes.
        sources = "[...document.querySelectorAll('.file bdi')].map((e) => e.getBoundingClientRect().right - 34)"
        arcs = "[...document.querySelectorAll('path.arc.fw')].map((e) => e.getBoundingClientRect().left)"
        assert browser.run(
            f"Math.max(0, ...{sources}) <= Math.min(9e9, ...{arcs}) || !document.querySelector('.file').offsetWidth"
        ), width


def test_search(page, browser):
    opened(browser, page)
    press(browser, "/")
    assert browser.run("document.activeElement.id") == "query"

    def search(words):
        browser.run(
            "(() => { const q = document.getElementById('query');"
            f" q.value = {words!r}; q.dispatchEvent(new Event('input')); }})()"
        )
        return int(re.match(r"[\d,]*|", texts(browser, "#results > div")[0])[0].replace(",", "") or 0)

    graph = blocks().record()
    assert search("MatMul") == sum(n.op == "MatMul" for n in graph.nodes)
    assert search("matmul backward") == sum(n.op == "MatMul" and n.region == "backward" for n in graph.nodes)
    inside = {k for k, cell in enumerate(graph.cells) if "blocks.2" in cell.path}
    assert search("blocks.2 forward") == sum(n.cell in inside and n.region == "forward" for n in graph.nodes)
    assert search("i32") == sum(any(t.startswith("i32[") for t in n.types) for n in graph.nodes)
    assert search("steps.py:") > 10
    assert search("f16") == 0
    assert search(HOSTILE) == 0
    wanted = next(n.id for n in graph.nodes if n.op == "MatMul" and n.region == "forward" and n.cell in inside)
    assert search(f"%{wanted}") == 1
    # Enter goes there: the block is unfolded for it.
    press(browser, "Enter")
    assert panel(browser).startswith(f"%{wanted} MatMul")
    assert "blocks.2" in texts(browser, ".row .label")
    assert browser.run("document.querySelectorAll('.row.hit').length") == 1
    press(browser, "Escape")
    assert browser.run("document.querySelectorAll('.row.hit').length") == 0


def test_links(page, browser):
    graph = blocks().record()
    node = next(n for n in graph.nodes if n.region == "backward" and "blocks.3" in graph.cells[n.cell].path)
    opened(browser, page, at=f"#%{node.id}")
    assert panel(browser).startswith(f"%{node.id} {node.op}")
    assert browser.run("document.querySelectorAll('.box.chosen').length") == 1
    top, bottom = browser.run(
        "(() => { const r = document.querySelector('.box.chosen').getBoundingClientRect(); return [r.top, r.bottom]; })()"
    )
    assert 80 < top < bottom < 900
    follow(
        browser,
        "#cell/network._backbone.blocks.1"
        if any("_backbone" in c.path for c in graph.cells)
        else "#cell/_backbone.blocks.1",
    )
    assert panel(browser).startswith("blocks.1")
    assert browser.run("document.querySelector('.row.current .label').textContent") == "blocks.1"
    follow(browser, "#memory/5")
    assert panel(browser).startswith("Alive at kernel 5 of ")
    follow(browser, "#passes/1")
    assert browser.run("document.querySelector('[aria-selected=true] b').textContent") == graph.passes[1].name
    for nonsense in (
        "#%999999999",
        "#memory/0",
        "#memory/1e9",
        "#passes/-1",
        "#cell/none",
        "#%E0%A4%A",
        "#<img src=x>",
    ):
        follow(browser, nonsense)
    assert browser.run("document.querySelectorAll('img').length") == 0


def test_memory(page, browser):
    opened(browser, page)
    press(browser, "m")
    record = blocks().record()
    sizes = [0] * len(record.calls)
    for buffer in record.buffers:
        if buffer.space == "arena":
            for k in range(buffer.first, buffer.last + 1):
                sizes[k] += buffer.bytes
    peak = max(range(len(sizes)), key=sizes.__getitem__)
    assert panel(browser).startswith(f"Alive at kernel {peak + 1} of {len(sizes)}")
    left, top, width = browser.run(
        "(() => { const r = document.querySelector('.chart').getBoundingClientRect(); return [r.left, r.top, r.width]; })()"
    )
    k = len(sizes) // 3
    x = left + width * (k + 0.5) / len(sizes)
    browser.mouse("mousePressed", x, top + 60, button="left", buttons=1, clickCount=1)
    browser.mouse("mouseReleased", x, top + 60, button="left", clickCount=1)
    text = panel(browser)
    assert text.startswith(f"Alive at kernel {k + 1} of ")
    assert "by class\n" in text
    assert "by Cell\n" in text
    press(browser, "ArrowRight")
    assert panel(browser).startswith(f"Alive at kernel {k + 2} of ")
    assert browser.run("document.querySelector('[role=slider]').getAttribute('aria-valuenow')") == str(k + 2)
    shown = browser.run("document.querySelector('#side b').textContent")
    number, unit = shown.split()
    exact = sizes[k + 1] / {"B": 1, "kB": 1e3, "MB": 1e6}[unit]
    assert float(number) == pytest.approx(exact, rel=0.06)


def test_passes(page, browser):
    opened(browser, page)
    press(browser, "p")
    record = blocks().record()
    names = texts(browser, ".stepper b")
    assert names == [p.name for p in record.passes]
    follow(browser, "#passes/0")
    for found in record.passes:
        assert browser.run("document.querySelector('[aria-selected=true] b').textContent") == found.name
        changed = [f"changed: {len(found.changed)}"] * bool(found.changed)
        wanted = [f"removed: {len(found.removed)}", f"added: {len(found.added)}", *changed]
        assert sorted(texts(browser, ".changes h3")) == sorted(wanted)
        if found.removed:
            # Nodes that are gone keep their text.
            assert texts(browser, ".changes .minus code")[0].startswith(f"%{found.removed[0]}")
            assert " = " in texts(browser, ".changes .minus code")[0]
        press(browser, "]")
    press(browser, "[", "[")
    assert browser.run("document.querySelector('[aria-selected=true] b').textContent") == record.passes[-3].name


def test_keys(page, browser):
    opened(browser, page)
    press(browser, "ArrowDown")
    first = browser.run("document.querySelector('.row.current').dataset.row")
    press(browser, "ArrowDown", "ArrowDown")
    assert int(browser.run("document.querySelector('.row.current').dataset.row")) == int(first) + 2
    press(browser, "Home", "ArrowLeft")
    assert browser.run("document.querySelector('.row.current').getAttribute('aria-expanded')") == "false"
    press(browser, "ArrowRight")
    few = int(browser.run("document.querySelector('.rows').getAttribute('aria-rowcount')"))
    press(browser, "e")
    many = int(browser.run("document.querySelector('.rows').getAttribute('aria-rowcount')"))
    assert many > few
    press(browser, "End")
    assert int(browser.run("document.querySelector('.row.current').dataset.row")) == many - 1
    # What a screen reader is told: the current row, the cells of a row, the panel's title; no link is for the mouse alone.
    assert browser.run("document.activeElement.getAttribute('aria-activedescendant')") == f"row-{many - 1}"
    assert browser.run("document.querySelectorAll('.row > span:not([role]):not(:empty)').length") == 0
    assert browser.run("document.querySelectorAll('.link:not(button)').length") == 0
    press(browser, "c", "Home", "?")
    assert panel(browser).startswith("Keys")
    assert browser.run("document.querySelector('[role=status]').textContent") == "Keys"


def timed(step):
    """The record, as if every call took as many microseconds as its number."""
    record = step.record()
    times = tuple(CallTime(k, (1e-3 * (k + 1), 0.0), (0.0, 0.0), 1.0) for k in range(len(record.calls)))
    return dataclasses.replace(record, profile=Profile(10, 2.0, 2.1, 1.0, times, (), 100.0, 20.0))


def test_times(browser, tmp_path):
    opened(browser, write_page(timed(blocks()), tmp_path / "timed.html", Material()))
    press(browser, "t")
    assert browser.run("document.getElementById('colour').getAttribute('aria-pressed')") == "true"
    shares = [t for t in texts(browser, ".row .cost .num") if t]
    assert all(re.fullmatch(r"≈?\d+(\.\d)?%", t) for t in shares)
    assert {t[0] == "≈" for t in shares} == {True, False}
    assert sum(float(t.strip("≈%")) for t in shares) == pytest.approx(100, abs=3)
    record = timed(blocks())
    for words, count in (
        (">0ms", len({n for c in record.calls for n in c.nodes})),
        (">0%", None),
        (">1s", 0),
        (">99%", 0),
    ):
        browser.run(
            f"(() => {{ const q = document.getElementById('query'); q.value = {words!r}; "
            "q.dispatchEvent(new Event('input')); })()"
        )
        said = texts(browser, "#results > div")[0]
        assert (said == "nothing found") if count == 0 else re.match(r"[\d,]+ nodes", said)
        assert count is None or count == 0 or said.startswith(f"{count:,} nodes")
    press(browser, "Escape")
    hot = "[...document.querySelectorAll('.box.warm')].filter((b) => b.classList.contains('estimated')).length"
    assert browser.run(hot) > 0
    click(browser, "document.querySelector('.row.group:not(.open) .box.fw')")
    assert "kernels, exact" in panel(browser)
    assert "µs" in panel(browser)


def test_hostile_names_are_text(browser, tmp_path):
    made = write_page(hostile(blocks()), tmp_path / "hostile.html", Material(HOSTILE, HOSTILE, {1: HOSTILE}))
    opened(browser, made)
    assert browser.run("document.querySelector('h1').textContent") == HOSTILE
    press(browser, "e")
    assert any(HOSTILE in text for text in texts(browser, ".row .tree"))
    for key in "mp":
        press(browser, key)
        click(browser, "document.querySelector('[data-pass]') ?? document.querySelector('.chart')")
    press(browser, "s", "ArrowDown", "ArrowDown", "Enter")
    node = next(n.id for n in blocks().record().nodes if n.op == "MatMul")
    follow(browser, f"#%{node}")
    assert HOSTILE.split("\u202e")[0] in panel(browser)
    assert browser.run("document.querySelectorAll('img, iframe, main script, aside script').length") == 0


def test_a_step_that_computes_nothing(browser, tmp_path):
    class Same(nn.Cell):
        def construct(self, x):
            return x

    opened(browser, compiled(Same(), np.ones(3, np.float32)).page(tmp_path / "same.html"))
    assert browser.run("document.querySelector('.rows').textContent") == "Nothing is computed: what goes in comes out."
    assert browser.run("document.getElementById('facts').textContent").startswith("1 node1 kernel call")
    press(
        browser,
        "ArrowDown",
        "ArrowUp",
        "ArrowRight",
        "Enter",
        "g",
        "u",
        "e",
        "c",
        "t",
        "m",
        "ArrowRight",
        "p",
        "]",
        "s",
    )
    assert "1 node traced, 1 in the end" in panel(browser)


@pytest.mark.parametrize("dark", [False, True])
def test_light_dark_and_a_phone(page, browser, dark, tmp_path):
    opened(browser, page, 390, 844, dark=dark)
    ground = "getComputedStyle(document.body).backgroundColor"
    assert browser.run(ground) == ("rgb(16, 20, 24)" if dark else "rgb(246, 247, 249)")
    assert browser.run("document.documentElement.scrollWidth") == 390
    edges = browser.run(
        "[...document.querySelectorAll('.row > *, header *')].map((e) => e.getBoundingClientRect().right)"
    )
    assert max(edges) <= 390
    assert browser.run("getComputedStyle(document.getElementById('side')).display") == "none"
    click(browser, "[...document.querySelectorAll('.row.node .box.fw')][0]")
    top, bottom = browser.run(
        "(() => { const r = document.getElementById('side').getBoundingClientRect(); return [r.top, r.bottom]; })()"
    )
    assert 300 < top < bottom <= 845
    assert browser.picture(tmp_path / "phone.png", whole=False).stat().st_size > 10_000
    click(browser, "document.querySelector('.close')")
    for key in "mps":
        press(browser, key)
        assert browser.run("document.documentElement.scrollWidth") == 390


@pytest.mark.parametrize("width", [1440, 390])
def test_printing(page, browser, width):
    """All rows, on white paper whatever the reader's theme, as wide as they are, without what only a screen can do."""
    opened(browser, page, width, dark=True)
    press(browser, "e")
    browser.run("document.documentElement.dataset.theme = 'dark'")
    browser.call("Emulation.setEmulatedMedia", media="print")
    browser.run("window.dispatchEvent(new Event('beforeprint'))")
    count = int(browser.run("document.querySelector('.rows').getAttribute('aria-rowcount')"))
    assert len(texts(browser, ".row")) == count > 40
    hidden = "['#views', '#tools', '#side'].map((s) => getComputedStyle(document.querySelector(s)).display)"
    assert browser.run(hidden) == ["none"] * 3
    assert browser.run("getComputedStyle(document.querySelector('.heads')).backgroundColor") == "rgb(255, 255, 255)"
    assert browser.run("getComputedStyle(document.querySelector('h1')).color") == "rgb(27, 31, 36)"
    edges = "[...document.querySelectorAll('.row > *, .heads > *')].map((e) => e.getBoundingClientRect().right)"
    room = browser.run("document.querySelector('.scroller').getBoundingClientRect().right")
    assert max(browser.run(edges)) <= room
    assert browser.run("document.documentElement.scrollHeight") > count * 26
    if width > 1000:
        assert browser.run("document.getElementById('facts').innerText").count("holds") == 1
    browser.run("window.dispatchEvent(new Event('afterprint'))")
    browser.call("Emulation.setEmulatedMedia", media="")
    paper = base64.b64decode(browser.call("Page.printToPDF")["data"])
    assert len(re.findall(rb"/Type\s*/Page\b", paper)) > 1


def test_branches_and_loops(browser, tmp_path):
    step = control()
    record = step.record()
    opened(browser, step.page(tmp_path / "control.html"))
    assert [t for t in texts(browser, ".row .label") if t in ("If", "While", "Scan")] == ["If", "While", "Scan"]
    # Open, each stands on its own row with its gradient and its weights; what it holds is below.
    holders = {n.op: n for n in record.nodes if n.op in ("If", "While", "Scan") and n.region == "forward"}
    at_first = texts(browser, ".row .box.up")
    assert at_first == ["2 weights160 B", "4 weights576 B", "2 weights288 B", "2 weights108 B", "23 nodes", "3 nodes"]
    for op, backward in (("If", 2), ("While", 0), ("Scan", 6)):
        own = f"({row(op)})"
        assert browser.run(f"{own}.getAttribute('aria-expanded')") == "true"
        assert browser.run(f"{own}.querySelector('.box.fw').textContent").startswith(op)
        assert browser.run(f"{own}.querySelector('.box.bw')?.textContent ?? ''") == (
            (backward and f"{backward} nodes") or ""
        )
        assert sum(n.fwd == holders[op].id and n.region == "backward" for n in record.nodes) == backward
    assert browser.run(f"({row('Scan')}).querySelector('.class').textContent") == "6 turns"
    assert [t for t in texts(browser, ".row .label") if t in ("then", "else", "cond", "body")] == [
        "then", "else", "cond", "body", "body",
    ]  # fmt: skip
    click(browser, f"({row('then')}).querySelector('.toggle')")
    assert "yes" in texts(browser, ".row .label")
    # Its own box is the node; a node inside its gradient is found where that is.
    click(browser, f"({row('While')}).querySelector('.box.fw')")
    assert panel(browser).startswith(f"%{holders['While'].id} While")
    nested = next(n.id for n in record.nodes if n.region == "backward" and n.graph and n.op == "ReluGrad")
    follow(browser, f"#%{nested}")
    assert panel(browser).startswith(f"%{nested} ReluGrad")
    chosen = "document.querySelector('.box.chosen')"
    assert browser.run(f"{chosen}.closest('.row').querySelector('.label').textContent") == "If"
    inside = next(n.id for n in record.nodes if n.region == "forward" and n.op == "Tanh" and n.graph)
    press(browser, "c")
    follow(browser, f"#%{inside}")
    assert browser.run(f"{chosen}.textContent").startswith("Tanh")
    # Closed, a Cell counts what its branches cost: nothing is left over for the rows of the step itself.
    press(browser, "c", "Home", "ArrowLeft")
    shares = [float(t.strip("≈%")) for t in texts(browser, ".row .cost .num") if t]
    assert shares[0] > 90


def test_a_large_step_draws_what_can_be_seen(browser, tmp_path):
    step = workload("gpt", 24)
    opened(browser, step.page(tmp_path / "gpt.html"))
    assert int(browser.run("document.querySelector('.rows').getAttribute('aria-rowcount')")) < 60
    press(browser, "e")
    browser.run("document.querySelector('.times').click()")
    browser.frame()
    assert int(browser.run("document.querySelector('.rows').getAttribute('aria-rowcount')")) > 1000
    press(browser, "End")
    assert len(texts(browser, ".row")) < 90
    assert texts(browser, ".row .label")[-1] == "shared by all updates"


def test_the_pictures_of_the_documents_are_of_this_page(browser, tmp_path):
    from PIL import Image

    assert {path.stem for path in pictures.FOLDER.glob("*.png")} == set(pictures.PICTURES)
    for name in ("step", "phone"):
        made, shown = (Image.open(pictures.draw(browser, name, tmp_path)), Image.open(pictures.FOLDER / f"{name}.png"))
        assert made.size == shown.size
        # Fonts differ between machines, and so may some pixels; what is where does not.
        small = [image.convert("L").resize((40, 40)).tobytes() for image in (made, shown)]
        assert sum(abs(a - b) for a, b in zip(*small, strict=True)) / 1600 < 6
    assert all(path.stat().st_size <= pictures.MOST for path in pictures.FOLDER.glob("*.png"))


def test_a_step_without_loss_scale_has_no_gate(browser, tmp_path):
    opened(browser, blocks(scaled=False).page(tmp_path / "plain.html"))
    assert browser.run("document.querySelectorAll('.gatehead, .gateline, .pill').length") == 0
    assert browser.run("document.querySelectorAll('line.plaincross').length") > 3
    assert browser.run("document.querySelectorAll('.box.up').length") > 3


def test_a_notebook_shows_it_in_a_frame(browser, tmp_path):
    notebook = tmp_path / "notebook.html"
    notebook.write_text(f"<!doctype html><body>{blocks()._repr_html_()}")
    browser.open(notebook)
    (frame,) = (t for t in browser.call("Target.getTargets")["targetInfos"] if t["type"] == "iframe")
    outside = browser._session
    browser._session = browser.call("Target.attachToTarget", targetId=frame["targetId"], flatten=True)["sessionId"]
    try:
        wait_until_ready(browser)
        assert len(texts(browser, ".row")) > 10
        press(browser, "m")
        assert panel(browser).startswith("Alive at kernel")
    finally:
        browser._session = outside
