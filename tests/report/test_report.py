"""`graphc report`: what is read of records, what is refused, and the page, also as a browser shows it."""

from __future__ import annotations

import json
import math
import re
import sys
import tracemalloc

import pytest

from graphc import RecordError
from graphc.cli.main import main
from graphc.errors import MissingPackageError
from graphc.report import read_run, write_events, write_report
from graphc.report.page import page_of

from .browser import Browser, chromium

FIRST = {
    "kind": "run",
    "schema": 1,
    "name": "plain",
    "network": "LeNet5",
    "parameters": 61706,
    "sink": True,
    "extra": [1],
}
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&@data@\u202e"


def lines(steps=20, name="plain", **first):
    """A run with an overflow at step 3, NaN at 5, infinity at 7."""
    yield {**FIRST, "name": name, **first}
    for n in range(1, steps + 1):
        loss = {5: "nan", 7: "inf"}.get(n, 2.0 / n)
        yield {
            "kind": "step", "epoch": 1 + n // 11, "step": n, "loss": loss, "overflow": n == 3, "scale": 1024.0 if n < 3
            else 512.0, "learning_rate": [0.1 / n, 0.01], "seconds": 1.5 if n == 1 else 0.002, "memory": 3 << 20,
            "unknown": None,
        }  # fmt: skip
    yield {"kind": "epoch", "epoch": 1, "step": steps // 2, "metrics": {"Accuracy": 0.5, "F1": [0.1, "nan"]}}
    yield {"kind": "eval", "epoch": 2, "step": steps, "metrics": {"Accuracy": 0.75, "matrix": [[1, 2], [3, 4]]}}
    yield {"kind": "end", "reason": "done", "error": None}


def record(path, given):
    path.write_text("".join(json.dumps(line) + "\n" for line in given))
    return path


def test_a_run(tmp_path):
    run = read_run(record(tmp_path / "a.jsonl", lines()))
    assert (run.name, run.ended, run.epoch) == ("plain", "done", 2)
    assert run.facts == {"schema": "1", "network": "LeNet5", "parameters": "61,706", "sink": ""}
    assert [s.first for s in run.steps] == list(range(1, 21))
    assert [s.loss for s in run.steps[:4]] == [2.0 / n for n in range(1, 5)]
    assert [n for n, s in enumerate(run.steps, 1) if s.nans or s.infinities or s.overflows] == [3, 5, 7]
    assert (run.steps[4].losses, run.steps[4].nans, run.steps[6].infinities) == (0, 1, 1)
    assert (run.steps[2].scale, run.steps[3].rates, run.steps[0].seconds) == (512.0, (0.025, 0.01), 1.5)
    assert run.metrics["Accuracy"] == [(10, 0.5), (20, 0.75)]
    assert run.metrics["F1 [0]"] == [(10, 0.1)]
    assert math.isnan(run.metrics["F1 [1]"][0][1])
    assert run.notes == ["matrix is more than 8 numbers, and is not drawn."]


def test_a_run_of_any_length_takes_little_memory(tmp_path):
    """Neighbouring steps are merged; sums, extremes and counts stay."""
    path, count = tmp_path / "long.jsonl", 10_000
    with open(path, "w") as file:
        file.write('{"kind": "run", "format": 1}\n')
        for n in range(count):
            file.write(
                f'{{"kind":"step","step":{n},"loss":{n % 100},"overflow":{"true" if n % 50 == 0 else "false"},"memory":{n}}}\n'
            )
    tracemalloc.start()
    try:
        run = read_run(path)
        assert tracemalloc.get_traced_memory()[1] < 2 << 20
    finally:
        tracemalloc.stop()
    assert len(run.steps) <= 1600
    assert (run.name, run.width) == (f"{tmp_path.name}/long", 8)
    assert [s.first for s in run.steps[1:]] == [s.last + 1 for s in run.steps[:-1]]
    assert sum(s.count for s in run.steps) == sum(s.losses for s in run.steps) == count
    assert sum(s.loss for s in run.steps) == sum(n % 100 for n in range(count))
    assert (min(s.least for s in run.steps), max(s.most for s in run.steps)) == (0, 99)
    assert sum(s.overflows for s in run.steps) == count / 50
    assert max(s.memory for s in run.steps) == count - 1
    assert len(page_of([run])) < 300_000


STEP = '{"kind": "step", "step": 1}\n'


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "records no run: it is empty"),
        ("\n\n", "records no run: it is empty"),
        (STEP, "line 1 .* the first line is of the kind"),
        ('{"kind": "run"}\n', "line 1 .* its schema is not 1"),
        ('{"kind": "run", "schema": 2}\n', "line 1 .* its schema is not 1"),
        ("RUNx\n", "line 2 .* it is no JSON"),
        ("RUN" + "[" * 50_000 + "\n", "line 2 .* it is no JSON"),
        ("RUN5\n", "line 2 .* it is no object"),
        ("RUNRUN", "line 2 .* begins a second run"),
        ('RUN{"kind": "batch"}\n', "line 2 .* there is no kind 'batch'"),
        ('RUN{"kind": []}\n', "line 2 .* there is no kind"),
        ('RUN{"kind": "step"}\n', "line 2 .* step is no count"),
        ('RUN{"kind": "step", "step": -1}\n', "line 2 .* step is no count"),
        ('RUN{"kind": "step", "step": 1e3}\n', "line 2 .* step is no count"),
        ('RUN{"kind": "step", "step": 2}\n{"kind": "step", "step": 1}\n', "line 3 .* step 1 stands behind step 2"),
        ('RUN{"kind": "step", "step": 1, "loss": "low"}\n', "line 2 .* loss is no number"),
        ('RUN{"kind": "step", "step": 1, "loss": true}\n', "line 2 .* loss is no number"),
        ('RUN{"kind": "step", "step": 1, "loss": 1' + "0" * 400 + "}\n", "line 2 .*too large"),
        ('RUN{"kind": "step", "step": 1, "overflow": 1}\n', "line 2 .* overflow is neither"),
        ('RUN{"kind": "step", "step": 1, "learning_rate": {}}\n', "line 2 .* learning_rate is no number"),
        ('RUN{"kind": "step", "step": 1, "seconds": -1}\n', "line 2 .* seconds is less than nothing"),
        ('RUN{"kind": "epoch", "epoch": 1, "metrics": [1]}\n', "line 2 .* metrics is no object"),
        ('RUN{"kind": "epoch", "epoch": 1, "metrics": {"x": "y"}}\n', "line 2 .* metric x is no number"),
        ("RUN" + " " * (1 << 20) + "\n", "line 2 .* longer than 1048576 bytes"),
        ("RUN\udcff\n", "line 2 .* it is no UTF-8"),
    ],
)
def test_bad_lines_are_errors_with_their_number(tmp_path, text, reason):
    path = tmp_path / "a.jsonl"
    path.write_bytes(text.replace("RUN", '{"kind": "run", "schema": 1}\n').encode(errors="surrogateescape"))
    with pytest.raises(RecordError, match=reason) as caught:
        read_run(path)
    assert caught.value.code == "GC192"
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("end", ['{"kind": "st', '{"kind": "step", "name": "\udcc3'])
def test_a_last_line_that_is_cut_off_is_noted(tmp_path, end):
    path = tmp_path / "a.jsonl"
    path.write_bytes(('{"kind": "run", "schema": 1}\n' + STEP + end).encode(errors="surrogateescape"))
    run = read_run(path)
    assert (len(run.steps), run.ended) == (1, "has not ended")
    assert run.notes == ["The last line is cut off, as a run that was killed leaves it."]


def test_metrics_and_names_are_bounded(tmp_path):
    many = {f"{k} {'x' * 300}": k for k in range(100)}
    path = record(tmp_path / "a.jsonl", [{**FIRST, "name": "n" * 1000}, {"kind": "eval", "epoch": 1, "metrics": many}])
    run = read_run(path)
    assert (len(run.metrics), max(map(len, run.metrics)), len(run.name)) == (64, 200, 200)
    assert run.notes == ["Only 64 metrics are drawn."]
    record(path, [FIRST, *({"kind": "eval", "step": n, "metrics": {"x": n}} for n in range(7000))])
    points = read_run(path).metrics["x"]
    assert len(points) < 3200
    assert points[-1] == (6999, 6999.0)


# ---- the page


def test_the_page_loads_nothing_and_names_are_text(tmp_path):
    path = record(tmp_path / "a.jsonl", lines(name=HOSTILE, network=HOSTILE, custom={HOSTILE: HOSTILE}))
    page = write_report([path, path], tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("<script") == page.count("</script>") == 2
    assert "<img" not in page
    assert set(re.findall(r"https?://[^\s\"'<]+", page)) == {"http://www.w3.org/2000/svg"}
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1]
    assert re.sub(r"'sha256-[^']+'", "HASH", policy) == (
        "default-src 'none'; style-src HASH; script-src HASH; base-uri 'none'; form-action 'none'"
    )
    data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1])
    assert [run["name"] for run in data["runs"]] == [HOSTILE, f"{HOSTILE} (2)"]
    assert data["runs"][0]["loss"][:5] == [2.0, 1.0, 0.6666667, 0.5, None]


def test_the_table_says_it_without_the_script(tmp_path):
    page = page_of([read_run(record(tmp_path / "a.jsonl", lines()))])
    cells = dict(re.findall(r'<td data-label="([^"]+)">([^<]*)</td>', page))
    assert cells == {
        "Steps": "20", "Epochs": "2", "Last loss": "0.1", "Least loss": "0.1", "Not finite": "2", "Overflows": "1",
        "Loss scale": "512", "Step time": "2 ms", "Peak memory": "3 MiB", "End": "done",
    }  # fmt: skip
    nothing = page_of([read_run(record(tmp_path / "b.jsonl", [FIRST]))])
    assert dict(re.findall(r'<td data-label="([^"]+)">([^<]*)</td>', nothing))["Step time"] == "not recorded"


def test_the_command(tmp_path, capsys):
    path = record(tmp_path / "a.jsonl", lines())
    assert main(["report", str(path)]) == 0
    assert capsys.readouterr().out == f"{tmp_path}/a.html\n"
    assert main(["report", str(path), str(path), "-o", str(tmp_path / "b.html")]) == 0
    assert (tmp_path / "b.html").stat().st_size > (tmp_path / "a.html").stat().st_size
    assert main(["report", *[str(path)] * 9]) == 2
    assert "a page shows 1 to 8 runs, not 9" in capsys.readouterr().err
    before = (tmp_path / "a.html").read_bytes()
    path.write_text("x\n")
    assert main(["report", str(path)]) == 2
    assert capsys.readouterr().err.startswith(
        f"graphc: [GC192] line 1 of '{path}' records nothing of a run: it is no JSON"
    )
    assert (tmp_path / "a.html").read_bytes() == before
    assert main(["report", str(tmp_path / "none.jsonl")]) == 2
    assert capsys.readouterr().err == f"graphc: No such file or directory: {tmp_path}/none.jsonl\n"


# ---- in a browser

CARD = "[...document.querySelectorAll('.card')].find((c) => c.querySelector('h2').textContent === '{}')"


def card(title, rest):
    return f"({CARD.format(title)}).{rest}"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    first, second = (
        record(folder / f"{n}.jsonl", lines(s, name)) for n, s, name in (("a", 20, HOSTILE), ("b", 200, "second"))
    )
    return write_report([first, second], folder / "page.html")


@pytest.fixture(scope="module")
def browser():
    if chromium() is None:
        pytest.skip("there is no Chromium")
    with Browser() as opened:
        yield opened


def count(browser, title, selector):
    return browser.run(card(title, f"querySelectorAll('{selector}').length"))


def test_charts_marks_and_hands(page, browser):
    browser.open(page)
    titles = browser.run("[...document.querySelectorAll('h2')].map((h) => h.textContent)")
    assert titles == [
        "Loss",
        "Loss scale",
        "Learning rate",
        "Step time",
        "Peak memory",
        "Accuracy",
        "F1 [0]",
        "F1 [1]",
    ]
    assert count(browser, "Loss", "g > path.bad") == 4
    assert count(browser, "Loss scale", "g > path.over") == 2
    assert count(browser, "Learning rate", "path.line") == 4
    assert count(browser, "Step time", "path.beyond") == 2
    assert count(browser, "Accuracy", "circle.dot") == 4
    assert browser.run(card("F1 [1]", "querySelector('.empty').hidden")) is False
    assert "Loss of " in browser.run(card("Loss", "querySelector(':scope > svg').getAttribute('aria-label')"))

    # Names are text wherever they are; nothing was run, refused or asked for.
    names = browser.run("[...document.querySelectorAll('.name')].map((n) => n.textContent)")
    assert names == [HOSTILE, "second"]
    left, top, width = browser.run(
        "(() => { const r = "
        + card("Loss", "querySelector(':scope > svg').getBoundingClientRect()")
        + "; return [r.left, r.top, r.width]; })()"
    )
    browser.mouse("mouseMoved", left + width / 3, top + 60)
    browser.frame()
    tip = browser.run("document.getElementById('tip').textContent")
    assert tip.startswith("step 2")
    assert HOSTILE in tip
    assert browser.run("document.querySelectorAll('img, iframe, main script').length") == 0

    # A range of steps, in all charts; and all of them again.
    ticks = (
        "[...document.querySelectorAll('.card')].map((c) => c.querySelectorAll(':scope > svg > text'))"
        ".map((texts) => texts[texts.length - 1]?.textContent)"
    )
    before = browser.run(ticks)
    browser.drag(left + 80, top + 60, left + width / 2)
    assert all(a != b for a, b in zip(before[:5], browser.run(ticks)[:5], strict=True))
    browser.run("[...document.querySelectorAll('#tools button')].find((b) => b.textContent === 'All steps').click()")
    assert browser.run(ticks) == before

    # Without a run; a logarithmic axis; no smoothing; with the keys.
    browser.run("document.querySelectorAll('tbody button')[1].click()")
    assert count(browser, "Loss scale", "g > path.over") == 1
    browser.run("document.querySelectorAll('tbody button')[1].click()")
    browser.run(card("Loss", "querySelector('button').click()"))
    assert browser.run(card("Loss", "querySelector('button').textContent")) == "linear"
    lines_before = count(browser, "Loss", "path.line")
    browser.run(
        "(() => { const s = document.querySelector('input'); s.value = 0; s.dispatchEvent(new Event('input')); })()"
    )
    assert count(browser, "Loss", "path.line") == lines_before - 2
    browser.run(card("Loss", "querySelector(':scope > svg').focus()"))
    browser.call("Input.dispatchKeyEvent", type="keyDown", key="ArrowRight")
    assert browser.run("document.getElementById('tip').textContent").startswith("step ")
    assert browser.run(card("Accuracy", "querySelector('.cross').getAttribute('visibility')")) == "visible"
    assert (browser.said, browser.asked) == ([], [page.absolute().as_uri()])


STRANGE = [1e308, -1e308, 5e-324, 0, -0.0, "nan", "inf", "-inf", None]


def test_strange_numbers_are_drawn_or_left_out(browser, tmp_path):
    steps = []
    for number, x in enumerate([*STRANGE, *STRANGE, 1]):
        size = abs(x) if isinstance(x, float) else x
        step = {"kind": "step", "step": number, "loss": x, "scale": x, "overflow": True, "learning_rate": x}
        steps.append({**step, "seconds": size, "memory": size})
    steps[-1]["step"] = (1 << 53) - 1
    metrics = [{"kind": "eval", "step": 1, "metrics": {f"m{i}": x for i, x in enumerate(STRANGE)}}]
    pages = [
        write_report([record(tmp_path / f"{i}.jsonl", [FIRST, *given])], tmp_path / f"{i}.html")
        for i, given in enumerate([steps, steps[:1], metrics, []])
    ]
    for page in pages:
        browser.open(page)
        browser.run("[...document.querySelectorAll('.card .top button')].forEach((b) => b.click())")
        values = "[...document.querySelectorAll('svg *')].flatMap((e) => [...e.attributes].map((a) => a.value))"
        assert browser.run(f"{values}.filter((v) => /NaN|Infinity/.test(v))") == []
        assert browser.said == []


@pytest.mark.parametrize("dark", [False, True])
def test_light_dark_and_a_phone(page, browser, dark, tmp_path):
    light, night = "rgb(246, 247, 249)", "rgb(16, 20, 24)"
    ground = "getComputedStyle(document.body).backgroundColor"
    browser.open(page, 390, 844, dark=dark, mobile=True)
    assert browser.run("document.documentElement.scrollWidth") == 390
    assert browser.run(ground) == (night if dark else light)
    browser.run("document.querySelector('#tools button:last-child').click()")
    assert browser.run(ground) == (light if dark else night)
    browser.call("Emulation.setEmulatedMedia", media="print")
    assert browser.run("getComputedStyle(document.querySelector('h1')).color") == "rgb(27, 31, 36)"
    browser.call("Emulation.setEmulatedMedia", media="")
    widths = browser.run("[...document.querySelectorAll('.card > svg')].map((s) => s.getBoundingClientRect().right)")
    assert max(widths) <= 390
    # A picture is no single colour: something has been drawn.
    assert browser.picture(tmp_path / "phone.png").stat().st_size > 10_000
    assert browser.said == []


# ---- TensorBoard


def events(folder):
    """{tag: [(step, value)]} of the one event file in a folder, read by the format's own messages."""
    from tensorboardX.proto.event_pb2 import Event

    (file,) = folder.iterdir()
    data, found = file.read_bytes(), {}
    while data:
        size = int.from_bytes(data[:8], "little")
        event = Event.FromString(data[12 : 12 + size])
        for value in event.summary.value:
            found.setdefault(value.tag, []).append((event.step, value.simple_value))
        data = data[12 + size + 4 :]
    return found


def test_event_files(tmp_path, capsys):
    first = record(tmp_path / "a.jsonl", lines())
    (tmp_path / "b").mkdir()
    second = record(tmp_path / "b" / "a.jsonl", lines(3, name=HOSTILE))
    out = tmp_path / "events"
    assert main(["report", str(first), str(second), "--tensorboard", str(out)]) == 0
    assert capsys.readouterr().out.split() == [str(out / "a"), str(out / "a-2")]
    assert not list(tmp_path.glob("*.html"))
    found = events(out / "a")
    assert [step for step, _ in found["loss"]] == list(range(1, 21))
    for step, loss in found["loss"]:
        expected = {5: math.nan, 7: math.inf}.get(step, 2.0 / step)
        assert loss == pytest.approx(expected, nan_ok=True)
    assert found["scale"][:4] == [(1, 1024), (2, 1024), (3, 512), (4, 512)]
    assert found["overflows"] == [(3, 1)]
    assert found["learning_rate/1"][0] == (1, pytest.approx(0.01))
    assert found["metrics/Accuracy"] == [(10, 0.5), (20, 0.75)]
    assert len(events(out / "a-2")["loss"]) == 3


def test_event_files_are_not_mixed_with_others_nor_written_for_what_is_no_record(tmp_path):
    good, bad = record(tmp_path / "a.jsonl", lines()), record(tmp_path / "b.jsonl", [{"kind": "step"}])
    with pytest.raises(RecordError, match="records nothing of a run"):
        write_events([good, bad], tmp_path / "events")
    assert not (tmp_path / "events").exists()
    write_events([good], tmp_path / "events")
    with pytest.raises(RecordError, match="is there already"):
        write_events([good], tmp_path / "events")


def test_event_files_without_the_library(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(MissingPackageError, match=r"pip install 'graphc\[tensorboard\]'"):
        write_events([record(tmp_path / "a.jsonl", lines())], tmp_path / "events")
