"""Dumps: what is written, what is read back, and that damage is noticed."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import stat
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import graphc
from graphc import nn
from graphc.debug import debug
from graphc.errors import ArgumentValueError, ParseError
from graphc.files import write_atomic
from graphc.inspect.dump import load, load_passes, load_record, write_dump
from graphc.inspect.tables import of_graph
from graphc.ir import Value, to_text
from tests.damage import EDITS, damaged


def _write(directory, graph, passes=None):
    return write_dump(
        directory,
        graph=graph,
        passes=passes if passes is not None else [("trace", graph)],
        source="def step(ctx): ...\n",
        kernels="; kernels\n",
        memory={"arena": np.int64(4096), "peak_lower_bound": 4000},
    )


def test_a_dump_is_complete_and_reads_back(tmp_path, step_graph):
    written = _write(tmp_path / "a" / "dump", step_graph)
    root = tmp_path / "a" / "dump"
    names = {str(p.relative_to(root)) for p in written}
    assert names == {
        "summary.txt", "step.ir", "graph.json", "constants.npz", "step.py", "kernels.ll", "memory.json",
        "passes/00_trace.ir",
    }  # fmt: skip
    assert {str(p.relative_to(root)) for p in root.rglob("*") if p.is_file()} == names
    text = to_text(step_graph)
    for source in (root, root / "step.ir", root / "graph.json", root / "passes" / "00_trace.ir"):
        assert to_text(load(source)) == text
    assert (root / "step.py").read_text() == "def step(ctx): ...\n"
    assert json.loads((root / "memory.json").read_text()) == {"arena": 4096, "peak_lower_bound": 4000}
    assert "20 nodes, 1 parameters (48 bytes)" in (root / "summary.txt").read_text()


def test_large_constants_keep_their_data(tmp_path, step_graph):
    _write(tmp_path, step_graph)
    for source in (tmp_path, tmp_path / "graph.json", tmp_path / "passes" / "00_trace.ir"):
        constant = load(source).node(3).attrs["value"]
        np.testing.assert_array_equal(constant.array, np.arange(20))
    (tmp_path / "constants.npz").unlink()
    assert load(tmp_path).node(3).attrs["value"].array is None


def test_only_passes_that_changed_something_are_written(tmp_path, step_graph):
    changed = step_graph.copy()
    changed.set_results([step_graph.results[0], step_graph.results[1]], step_graph.updates)
    changed.prune()
    passes = [("trace", step_graph), ("../evil name", step_graph.copy()), ("prune", changed), ("prune", changed.copy())]
    _write(tmp_path, changed, passes)
    assert sorted(p.name for p in (tmp_path / "passes").iterdir()) == ["00_trace.ir", "02_prune.ir"]
    read = load_passes(tmp_path)
    assert [name for name, _ in read] == ["trace", "../evil name", "prune", "prune"]
    assert [g is None for _, g in read] == [False, True, False, True]
    assert len(read[2][1]) == len(step_graph) - 1


def test_a_pass_name_cannot_leave_the_directory(tmp_path, step_graph):
    other = step_graph.copy()
    other.set_results(list(step_graph.results)[:1], step_graph.updates)
    _write(tmp_path / "dump", step_graph, [("trace", step_graph), ("../../evil/\n name", other)])
    assert sorted(p.name for p in (tmp_path / "dump" / "passes").iterdir()) == ["00_trace.ir", "01_-evil-name.ir"]
    assert [p.name for p in tmp_path.iterdir()] == ["dump"]


def test_a_second_dump_replaces_the_first(tmp_path, step_graph):
    other = step_graph.copy()
    other.set_results(list(step_graph.results)[:1], step_graph.updates)
    _write(tmp_path, other, [("trace", step_graph), ("second", other)])
    (tmp_path / "passes" / "notes.txt").write_text("mine")
    _write(tmp_path, step_graph)
    assert sorted(p.name for p in (tmp_path / "passes").iterdir()) == ["00_trace.ir", "notes.txt"]


def test_the_same_graph_gives_the_same_bytes(tmp_path, step_graph):
    _write(tmp_path / "a", step_graph)
    _write(tmp_path / "b", step_graph)
    for file in (p for p in (tmp_path / "a").rglob("*") if p.is_file()):
        assert file.read_bytes() == (tmp_path / "b" / file.relative_to(tmp_path / "a")).read_bytes()


def test_hostile_names_survive_every_form(tmp_path, hostile_graph, hostile):
    _write(tmp_path, hostile_graph, [(hostile, hostile_graph)])
    for source in (tmp_path / "step.ir", tmp_path / "graph.json"):
        graph = load(source)
        assert to_text(graph) == to_text(hostile_graph)
        node = graph.node(1)
        assert (graph.name, node.name, node.scope, node.loc.file) == (hostile,) * 4
        assert (node.origin.made_by, node.origin.rule) == (hostile, hostile)
        assert graph.results[0].name == hostile
    assert load_passes(tmp_path)[0][0] == hostile
    assert "<" not in (tmp_path / "graph.json").read_text()
    assert "\n" + hostile.split("\n")[1] not in (tmp_path / "summary.txt").read_text()


def test_a_file_in_the_way_is_refused(tmp_path, step_graph):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(ArgumentValueError, match=r"file' is a file, a directory is needed"):
            _write(path, step_graph)


def test_write_atomic_leaves_nothing_when_it_fails(tmp_path, monkeypatch):
    target = tmp_path / "a"
    write_atomic(target, b"old")
    assert stat.S_IMODE(target.stat().st_mode) & 0o111 == 0

    def fail(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(KeyboardInterrupt):
        write_atomic(target, b"new")
    assert [p.name for p in tmp_path.iterdir()] == ["a"]
    assert target.read_bytes() == b"old"


def test_write_atomic_does_not_replace_a_directory(tmp_path):
    (tmp_path / "d").mkdir()
    with pytest.raises(ArgumentValueError, match="is a directory"):
        write_atomic(tmp_path / "d", b"")


def test_write_atomic_writes_to_a_pipe_and_leaves_it_there(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert write_atomic(tmp_path / "link", b"one ", [b"two"]) == tmp_path / "link"
        assert os.read(reader, 100) == b"one two"
    finally:
        os.close(reader)
    assert (tmp_path / "pipe").is_fifo()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link", "pipe"]


# ---- damage


def test_missing_paths(tmp_path):
    with pytest.raises(ArgumentValueError, match="cannot be read: No such file"):
        load(tmp_path / "none.ir")
    with pytest.raises(ArgumentValueError, match=r"is no dump: it has no step\.ir"):
        load(tmp_path)


def test_a_truncated_dump_is_a_parse_error(tmp_path, step_graph):
    _write(tmp_path, step_graph)
    for name in ("step.ir", "graph.json"):
        whole = (tmp_path / name).read_text()
        for cut in range(0, len(whole) - 3, 97):
            (tmp_path / name).write_text(whole[:cut])
            with pytest.raises(ParseError):
                load(tmp_path / name)


def test_other_json_and_other_versions_are_refused(tmp_path):
    for text, message in (
        ("[]", "is no graph of graphc"),
        ('{"schema": "other"}', "is no graph of graphc"),
        ('{"schema": "graphc.graph", "version": 2}', "has version 2"),
        ('{"schema": "graphc.graph", "version": 1}', "is damaged: it has no text"),
        ('{"schema": "graphc.step", "version": 1}', "has version 1"),
        ('{"schema": "graphc.step", "version": 2}', "is damaged: it has no text"),
        ('{"schema": ["graphc.step"], "version": 2}', "is no graph of graphc"),
        ("{", "is no JSON"),
        ("[" * 100_000, "is no JSON"),
    ):
        (tmp_path / "x.json").write_text(text)
        with pytest.raises(ParseError, match=message):
            load(tmp_path / "x.json")
    (tmp_path / "x.ir").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ParseError, match="is no text file"):
        load(tmp_path / "x.ir")


def test_damaged_constants_are_noticed(tmp_path, step_graph):
    _write(tmp_path, step_graph)
    file = tmp_path / "constants.npz"
    whole = file.read_bytes()
    for data in (whole[: len(whole) // 2], b"", b"PK\x03\x04 nonsense"):
        file.write_bytes(data)
        with pytest.raises(ParseError, match=r"constants\.npz' is damaged"):
            load(tmp_path)
    np.savez(file, ca572774ff5f1c27=np.arange(20) + 1, unrelated=np.zeros(3))
    with pytest.raises(ParseError, match="do not match their hash"):
        load(tmp_path)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(("step.ir", "graph.json", "constants.npz", "passes/00_trace.ir")), EDITS)
def test_whatever_is_done_to_a_dump_it_is_a_graph_or_an_error(tmp_path_factory, step_graph, name, edits):
    root = tmp_path_factory.mktemp("dump")
    _write(root, step_graph)
    file = root / name
    file.write_bytes(damaged(file.read_bytes(), edits))
    tracemalloc.start()
    readers = (load, lambda p: load(p / "graph.json"), load_passes, load_record)
    for read in readers:
        with contextlib.suppress(ParseError, ArgumentValueError):
            read(root)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50e6


def _bomb(name):
    """A member that says it is an array of 2**33 zeros; four megabytes in the file."""
    made = io.BytesIO()
    with (
        zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open(name, "w") as member,
    ):
        np.lib.format.write_array_header_1_0(member, {"descr": "|u1", "fortran_order": False, "shape": (2**33,)})
        for _ in range(64):
            member.write(bytes(2**20))
    return made.getvalue()


def test_constants_are_read_as_far_as_their_types_say(tmp_path, step_graph):
    _write(tmp_path, step_graph)
    (tmp_path / "constants.npz").write_bytes(_bomb("ca572774ff5f1c27.npy"))
    tracemalloc.start()
    try:
        with pytest.raises(ParseError, match=r"ca572774ff5f1c27 is longer than i64\[20\]"):
            load(tmp_path)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()


def test_mutated_constants_load_or_say_so(tmp_path, step_graph):
    _write(tmp_path, step_graph)
    file = tmp_path / "constants.npz"
    whole, draw = file.read_bytes(), random.Random(5)
    for _ in range(400):
        data = bytearray(whole)
        for _ in range(draw.randint(1, 4)):
            data[draw.randrange(len(data))] = draw.randrange(256)
        file.write_bytes(data)
        with contextlib.suppress(ParseError):
            load(tmp_path)


def test_a_listing_that_names_other_files_is_refused(tmp_path, step_graph):
    _write(tmp_path, step_graph)
    document = json.loads((tmp_path / "graph.json").read_text())
    document["passes"]["file"][0] = "../../etc/passwd"
    (tmp_path / "graph.json").write_text(json.dumps(document))
    with pytest.raises(ParseError, match="as a pass file"):
        load_passes(tmp_path)


def test_a_record_says_what_the_graph_says(step_graph):
    record = of_graph(step_graph)
    nodes = {n.id: n for n in record.nodes}
    assert nodes[9].fwd == 4
    assert nodes[9].origin == ("autodiff", "Mul", (4,))
    assert [(record.files[record.locs[i].file], record.locs[i].line) for i in nodes[9].locs] == [("model.py", 41)]
    assert [(g.node, g.attribute) for g in record.graphs] == [(-1, ""), (18, "then"), (18, "else")]
    assert [n.id for n in record.nodes if n.graph == 1] == [13, 14, 15]
    assert record.graphs[0].results[0] == ("loss", str(Value(19)))
    assert to_text(record.graph()) == to_text(step_graph)


def test_graphs_of_the_first_version_are_still_read(tmp_path, step_graph):
    document = {"schema": "graphc.graph", "version": 1, "text": to_text(step_graph), "graph": {}, "passes": []}
    (tmp_path / "graph.json").write_text(json.dumps(document))
    assert to_text(load(tmp_path / "graph.json")) == to_text(step_graph)
    assert load_record(tmp_path) == of_graph(step_graph)


# ---- dumps that nobody writes by hand


class _Doubled(nn.Cell):
    def construct(self, x):
        return x * 2.0


def _folders(root):
    return sorted(p.name for p in root.iterdir())


def test_a_second_step_gets_a_numbered_folder(tmp_path):
    with debug(dump=tmp_path / "out"):
        graphc.compile(_Doubled(), np.ones(3, np.float32))
        graphc.compile(_Doubled(), np.ones(4, np.float32))
    with debug(dump=tmp_path / "out"):
        graphc.compile(_Doubled(), np.ones(5, np.float32))
    assert _folders(tmp_path) == ["out", "out.2", "out.3"]
    assert [load_record(tmp_path / f).nodes[0].types for f in _folders(tmp_path)] == [
        ("f32[3]",),
        ("f32[4]",),
        ("f32[5]",),
    ]


@pytest.mark.parametrize("by", ["context", "environment"])
def test_save_graphs_writes_what_its_level_says(tmp_path, monkeypatch, by):
    counts = []
    for level in (0, 1, 2, 3):
        root = tmp_path / str(level)
        root.mkdir()
        if by == "context":
            graphc.set_context(save_graphs=level, save_graphs_path=str(root))
        else:
            monkeypatch.setenv("MS_DEV_SAVE_GRAPHS", str(level))
            monkeypatch.setenv("MS_DEV_SAVE_GRAPHS_PATH", str(root))
        try:
            for size in (3, 4):
                graphc.compile(_Doubled(), np.ones(size, np.float32))
        finally:
            graphc.set_context(save_graphs=False, save_graphs_path=".")
        assert _folders(root) == ([] if not level else ["00__Doubled", "01__Doubled"])
        counts.append({p.name for p in (root / "00__Doubled").iterdir()} if level else set())
        if level:
            assert len(load_record(root / "01__Doubled").calls) == 1
    least, whole, drawn = counts[1:]
    assert least == {"summary.txt", "step.ir", "graph.json", "constants.npz"}
    assert whole - least == {"passes", "lower", "step.py", "kernels.ll", "memory.json"}
    assert drawn - whole == {"graph.dot", "graph.mmd"}


def test_the_environment_comes_before_the_setting_and_odd_values_are_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("MS_DEV_SAVE_GRAPHS", "0")
    graphc.set_context(save_graphs=2, save_graphs_path=str(tmp_path))
    try:
        graphc.compile(_Doubled(), np.ones(3, np.float32))
        assert _folders(tmp_path) == []
        monkeypatch.setenv("MS_DEV_SAVE_GRAPHS", "7")
        with pytest.raises(ArgumentValueError, match="must be one of 0, 1, 2, 3, got 7"):
            graphc.compile(_Doubled(), np.ones(3, np.float32))
    finally:
        graphc.set_context(save_graphs=False, save_graphs_path=".")
    for wrong in ({"save_graphs": 4}, {"save_graphs": [1]}, {"save_graphs_path": ""}, {"save_graphs_path": 3}):
        with pytest.raises(ArgumentValueError, match="set_context: save_graphs"):
            graphc.set_context(**wrong)
