"""The step record: of real steps, against what is known of them otherwise; read back whole, or refused."""

from __future__ import annotations

import copy
import json
import random
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, ops
from graphc.debug import debug
from graphc.errors import ArgumentTypeError, ParseError
from graphc.inspect.record import Record, load_record, record, schema
from graphc.ir import to_text, walk
from graphc.recording.work import bytes_of, flops_of
from graphc.testing import graph_of
from graphc_codegen.program import Call

ROOT = Path(__file__).parents[2]
HERE = "tests/inspect/test_record.py"


class Block(nn.Cell):
    def __init__(self):
        super().__init__()
        self.inner = nn.Dense(8, 8)

    def construct(self, x):
        return helped(self.inner(x))


def helped(x):
    return ops.tanh(x)


class Quiet(nn.Cell):
    """Without parameters: those of layers in a plain list are not trained."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Tanh()

    def construct(self, x):
        return self.inner(x) * 2.0


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.blocks = nn.CellList([Block(), Block()])
        self.named = nn.CellDict({"a": Block()})
        self.plain = [Quiet(), (nn.Sigmoid(), nn.ReLU())]
        self.tail = nn.SequentialCell(nn.Dense(8, 8), nn.ReLU())  # The layers' own line.
        self.table = {"x": nn.Tanh()}

    def construct(self, x):
        for block in self.blocks:
            x = block(x)
        x = self.plain[0](self.named["a"](x))
        x = self.plain[1][1](self.plain[1][0](x))
        return self.table["x"](self.tail(x))


class Loss(nn.Cell):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def construct(self, x):
        return ops.reduce_mean(ops.square(self.net(x)))


def line_of(text):
    """The number of the only line of this file that has a text, behind this function's own."""
    return next(k for k, line in enumerate(Path(__file__).read_text().splitlines(), 1) if text in line)


@pytest.fixture(scope="module")
def step():
    graphc.set_seed(1)
    loss = Loss(Net())
    optimizer = nn.Momentum(loss.trainable_params(), 0.1, 0.9)  # The optimizer's own line.
    scale = nn.DynamicLossScaleUpdateCell(1024.0, 2, 100)
    train = nn.TrainOneStepWithLossScaleCell(loss, optimizer, scale)
    return graphc.compile(train, Tensor(np.ones((4, 8), np.float32)))  # The line that compiles.


@pytest.fixture(scope="module")
def found(step):
    return record(step)


def frames(found, node):
    return [(found.files[found.locs[i].file], found.locs[i].line) for i in node.locs]


# ---- the network


def test_cells_in_containers_have_the_paths_of_cells_and_names(step, found):
    paths = [c.path for c in found.cells]
    inside = {p for p, _ in step.cell.cells_and_names()}
    prefix = "network.net."
    wanted = {"blocks.0", "blocks.0.inner", "blocks.1.inner", "named.a", "tail", "tail.0", "tail.1"}
    assert {prefix + w for w in wanted} <= set(paths) & inside
    # What is in plain lists and dicts is not in cells_and_names.
    assert {prefix + w for w in ("plain.0", "plain.0.inner", "plain.1.0", "plain.1.1", "table.x")} <= set(
        paths
    ) - inside
    assert all(found.cells[c.parent].path == c.path.rpartition(".")[0] for c in found.cells[1:])
    assert {n.scope for _, n in walk(step.graph)} <= set(paths)


def test_cells_say_their_class_and_where_construct_stands(found):
    cells = {c.path: c for c in found.cells}
    block = cells["network.net.blocks.1"]
    at = found.locs[block.loc]
    assert (block.class_, found.files[at.file]) == ("Block", HERE)
    assert at.line == line_of("return helped") - 1
    assert cells["network.net.blocks"].class_ == "CellList"
    assert (cells[""].class_, cells[""].parent) == ("TrainOneStepWithLossScaleCell", -1)
    made = found.locs[cells["network.net.tail.0"].made]
    assert (found.files[made.file], made.line) == (HERE, line_of("The layers' own line"))


def test_every_node_has_two_frames_and_library_layers_their_own_line(found):
    compiled, entry = line_of("The line that compiles"), []
    for node in found.nodes:
        lines = frames(found, node)
        if node.op in ("Input", "Param", "Constant"):
            continue
        assert len(lines) >= 2, node
        entry += [node.id] if lines[0] == (HERE, compiled) else []
    assert not entry
    own = {found.cells[n.cell].path: frames(found, n)[0] for n in found.nodes if n.region == "forward" and n.locs}
    assert own["network.net.tail.0"] == (HERE, line_of("The layers' own line"))
    optimizer = [n for n in found.nodes if n.region == "optimizer" and found.cells[n.cell].path == "optimizer"]
    assert {frames(found, n)[0] for n in optimizer} == {(HERE, line_of("The optimizer's own line"))}


# ---- owners


def test_nodes_of_the_end_of_a_step_know_their_parameter(step, found):
    weights = {p.name for p in step.parameters if p.requires_grad}
    nodes = {n.id: n for n in found.nodes}
    by = {w: [n for n in found.nodes if n.param == w] for w in weights}
    for weight, own in by.items():
        kinds = {n.region for n in own}
        assert {"backward", "overflow", "optimizer", "state"} <= kinds, weight
        assert any(n.op == "Assign" for n in own)
        state = {n.name for n in own if n.op == "Param"}
        assert state == {weight, f"moments.{weight}"}
    assert {n.param for n in found.nodes} == weights | {None}
    assert next(n for n in nodes.values() if n.name == "learning_rate").param is None


TRAINED = {
    "clip": lambda grads, w: ops.clip_by_global_norm(grads, 1.0),
    "each": lambda grads, w: [ops.clip_by_norm(g, 1.0) for g in grads],
    "value": lambda grads, w: ops.clip_by_value(grads, -1.0, 1.0),
}


@pytest.mark.parametrize("clip", TRAINED)
@pytest.mark.parametrize("make", [nn.Adam, nn.AdamWeightDecay, nn.RMSProp, nn.Lamb], ids=lambda m: m.__name__)
def test_owners_through_clipping_accumulation_and_averages(make, clip):
    class Train(nn.Cell):
        def __init__(self, net):
            super().__init__()
            self.net = net
            self.weights = graphc.ParameterTuple(net.trainable_params())
            self.optimizer = make(self.weights, 0.01)
            self.grad = ops.GradOperation(get_by_list=True)
            self.sums = self.weights.clone("sum", init="zeros")
            self.means = self.weights.clone("ema")

        def construct(self, x):
            grads = TRAINED[clip](self.grad(self.net, self.weights)(x), self.weights)
            kept = []
            for total, g in zip(self.sums, grads, strict=True):
                kept.append(ops.assign(total, total + g * 0.5))
            done = self.optimizer(tuple(kept))
            with_new = ops.depend(self.weights[0], done)
            ops.assign(self.means[0], self.means[0] * 0.9 + with_new * 0.1)
            return done

    net = Loss(nn.Dense(8, 8))
    found = graphc.compile(Train(net), Tensor(np.ones((4, 8), np.float32))).record()
    names = [p.name for p in net.trainable_params()]
    for node in found.nodes:
        if node.op == "Param" and node.name.startswith(("sum.", "moment", "adam", "ema.net.weight")):
            assert node.param == next(n for n in names if node.name.endswith(n)), node
    own = [n for n in found.nodes if n.op == "Assign" and n.name == "" and n.param is None]
    assert len(own) <= 3, own  # Counters: the global step, powers of the betas.
    assert {n.param for n in found.nodes} == {*names, None}


# ---- history


def test_every_node_that_is_gone_has_a_history_and_every_new_one_an_origin(step, found):
    stages = [{n.id for _, n in walk(g)} for _, g in step.passes]
    gone = set().union(*stages) - stages[-1]
    told = {i for h in found.history for i in h.from_}
    assert gone <= told
    new = stages[-1] - stages[0]
    nodes = {n.id: n for n in found.nodes}
    assert all(nodes[i].origin is not None for i in new)
    assert all(nodes[i].origin is None for i in stages[-1] & stages[0])
    known = set().union(*stages)
    assert all(set(nodes[i].origin[2]) <= known for i in new)
    for row, (before, after) in zip(found.passes[1:], pairwise(stages), strict=True):
        assert (set(row.removed), set(row.added)) == (before - after, after - before)
        assert set(row.removed) <= {i for h in found.history if h.pass_ == row.name for i in h.from_}


def test_rules_say_what_they_did():
    text = """\
graph @g {
  forward:
    %0 x: f32[4,3] = Input()
    %1: f32[4,3] = Reshape(%0) {shape=(4, 3)}
    %2: f32[] = Constant() {value=<f32[] 2.0>}
    %3: f32[] = Neg(%2)
    %4: f32[4,3] = Exp(%1)
    %5: f32[4,3] = Exp(%0)
    %6: f32[4,3] = Mul(%4, %3)
    %7: f32[4,3] = Add(%6, %5)
    %8: f32[4,3] = Log(%0)
  return y=%7
}"""
    from graphc import passes
    from graphc.recording.history import of_passes, origins

    rows = of_passes(passes.run(graph_of(text)))
    done = {(h.pass_, h.rule): (h.from_, h.to) for h in rows}
    assert done["simplify", "same_shape"] == ((1,), (0,))
    assert done["simplify", "known"] == ((3,), (9,))
    assert done["cse", "equal"] == ((5,), (4,))
    assert done["simplify", "unused"] == ((2, 8), ())
    assert origins(rows, 9) == {9: ("simplify", "known", (3,))}


def test_statements_that_are_joined_are_in_the_history(found):
    joined = [h for h in found.history if h.pass_ in ("absorb_loops", "chain_loops", "join_calls")]
    assert joined
    computed = [set(c.nodes) for c in found.calls]
    for h in joined:
        assert any(set(h.from_) | set(h.to) <= nodes for nodes in computed), h


# ---- the schedule


def test_calls_have_all_nodes_and_the_lines_of_step_py(step, found):
    program = step._lowered.program
    calls = list(program.calls())
    assert [c.nodes for c in found.calls] == [c.nodes for c in calls]
    lines = step.source.split("\n")
    for row in found.calls:
        assert lines[row.line - 1].strip().startswith(f"{row.kernel}(ctx")
    # Every node that needs code is somewhere; a joined call has the nodes of all its sets.
    inside = {i for c in found.calls for i in c.nodes}
    assert {n.id for n in found.nodes if n.op in ("MatMul", "Tanh", "ReduceMean")} <= inside
    assert max(len(c.nodes) for c in found.calls) > 6
    assert all(c.branch for c in found.calls if c.index not in _outside(program, calls))


def _outside(program, calls):
    outer = {id(s) for s in program.body if isinstance(s, Call)}
    return {k for k, c in enumerate(calls) if id(c) in outer}


def test_buffers_are_alive_while_calls_use_them_and_do_not_share_bytes(step, found):
    used: dict[int, list[int]] = {}
    for call in found.calls:
        for b in (*call.reads, *call.writes):
            used.setdefault(b, []).append(call.index)
    for b in found.buffers:
        assert b.first <= min(used.get(b.id, [b.first]))
        assert max(used.get(b.id, [b.last])) <= b.last
    arena = [b for b in found.buffers if b.space == "arena"]
    for a in arena:
        for b in arena:
            if a.id < b.id and a.first <= b.last and b.first <= a.last:
                apart = a.offset + a.bytes <= b.offset or b.offset + b.bytes <= a.offset
                # A buffer that dies in a branch and one that begins behind it meet in the flat order only.
                assert apart or a.last == b.first or b.last == a.first
    assert found.memory.peak <= found.memory.arena == step.memory["arena"]
    at_peak = [b for b in arena if b.first <= found.memory.peak_call <= b.last]
    assert sum(-(-b.bytes // 64) * 64 for b in at_peak) == found.memory.peak


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_the_memory_of_several_threads_is_in_the_plan(threads):
    """Workspaces of threads are buffers of the arena; the tables that a step holds beside it are small."""
    net = nn.SequentialCell(nn.Conv2d(3, 32, 3), nn.ReLU(), nn.Conv2d(32, 32, 3))
    x = Tensor(np.ones((8, 3, 32, 32), np.float32))
    with debug(threads=threads):
        made = graphc.compile(net, x)
    found, held = record(made), {k: v for k, v in vars(made._bound).items() if isinstance(v, np.ndarray)}
    assert made._lowered.program.threads == threads
    assert held.pop("_arena").nbytes == found.memory.arena
    assert max(b.offset + b.bytes for b in found.buffers if b.space == "arena") <= found.memory.arena
    rooms = [b.bytes for b in found.buffers if b.class_ == "workspace" and b.space == "arena"]
    assert sum(rooms) > 1000
    assert sum(v.nbytes for v in held.values()) < 16_384 * threads


def test_buffers_say_what_they_hold(step, found):
    classes = {b.class_ for b in found.buffers}
    assert {"weight", "state", "saved", "gradient", "input", "output"} <= classes
    names = {b.name for b in found.buffers if b.class_ == "weight"}
    assert names == {p.name for p in step.parameters if p.requires_grad}
    nodes = {n.id: n for n in found.nodes}
    for b in found.buffers:
        for value in b.values:
            id, _, slot = value[1:].partition("#")
            assert nodes[int(id)].types[int(slot or 0)].partition("[")[0] == b.type.partition("[")[0]
    saved = next(b for b in found.buffers if b.class_ == "saved")
    readers = [c for c in found.calls if saved.id in c.reads]
    assert any(nodes[i].region == "backward" for c in readers for i in c.nodes)


def test_loops_and_branches_have_their_place_in_the_schedule():
    class Loop(nn.Cell):
        def construct(self, x):
            total, k = x * 0.0, ops.reduce_sum(x) * 0.0
            while k < 3.0:
                total, k = total + ops.matmul(x, x), k + 1.0
            if ops.reduce_sum(total) > 2.0:
                total = ops.exp(total)
            return total

    compiled = graphc.compile(Loop(), Tensor(np.ones((4, 4), np.float32)))
    found = compiled.record()
    ops_of = {n.id: n.op for n in found.nodes}
    branches = {tuple((ops_of[i], arm) for i, arm in c.branch) for c in found.calls}
    assert {(), (("While", "cond"),), (("While", "body"),), (("If", "then"),)} <= branches
    lines = compiled.source.split("\n")
    assert all(lines[c.line - 1].strip().startswith(c.kernel) for c in found.calls)
    assert len(found.graphs) == 1 + len({(g.node, g.attribute) for g in found.graphs[1:]}) > 4


def test_work_is_counted_from_shapes():
    text = """\
graph @g {
  forward:
    %0 x: f32[4,3] = Input()
    %1 w: f32[3,5] = Input()
    %2: f32[4,5] = MatMul(%0, %1)
    %3: f32[4,3] = Exp(%0)
    %4: f32[4,3] = Mul(%3, %0)
    %5: f32[4] = ReduceSum(%4) {axis=(1,)}
  return y=%2, z=%5
}"""
    from graphc.lower import lower

    program = lower(graph_of(text)).program
    buffers = {b.id: b for b in program.buffers}
    work = {c.kernel.family: (flops_of(c.kernel), bytes_of(c, buffers)) for c in program.calls()}
    assert work["gemm"] == (2 * 4 * 3 * 5, 4 * (12 + 15 + 20))
    assert work["reduce"] == (3 * 12, 4 * (12 + 4))


# ---- the same again, and read back


def test_a_warm_step_has_the_same_record(tmp_path):
    def made(jit=True):
        graphc.set_seed(1)
        with debug(cache_dir=tmp_path, jit=jit):
            net = nn.Dense(8, 8)
            train = nn.TrainOneStepCell(Loss(net), nn.SGD(net.trainable_params(), 0.1))
            compiled = graphc.compile(train, np.ones((4, 8), np.float32))
        return compiled, _timeless(compiled.record())

    (cold, first), (warm, second) = made(), made()
    assert (cold.cache_hit, warm.cache_hit) == (False, True)
    assert first == second


def _timeless(found):
    document = found.to_document()
    document["passes"]["ms"] = [0.0] * len(found.passes)
    return Record.from_document(document)


def test_a_record_is_read_back_from_a_dump(step, found, tmp_path):
    step.dump(tmp_path)
    read = load_record(tmp_path)
    document = found.to_document()
    document["passes"]["file"] = [p.file for p in read.passes]
    assert read == Record.from_document(json.loads(json.dumps(document)))
    assert to_text(read.graph()) == to_text(step.graph)
    assert read.passes[0].file == "passes/00_trace.ir"
    with pytest.raises(ArgumentTypeError, match="record needs a compiled step, got int"):
        record(1)


def test_the_schema_is_that_of_the_documentation(found):
    assert json.loads((ROOT / "docs" / "step.schema.json").read_text()) == schema()
    jsonschema = pytest.importorskip("jsonschema")
    jsonschema.validate(json.loads(json.dumps(found.to_document())), schema())


def test_a_record_that_contradicts_itself_is_refused(found):
    whole = json.loads(json.dumps(found.to_document()))
    for change, message in (
        (lambda d: d["nodes"]["cell"].__setitem__(3, 10**6), r"nodes\.cell names 1000000"),
        (lambda d: d["cells"]["parent"].__setitem__(2, 2), r"cells\.parent names 2"),
        (lambda d: d["calls"]["reads"].__setitem__(0, [10**9]), r"calls\.reads names"),
        (lambda d: d["nodes"]["id"].__setitem__(1, 0), "nodes has 0 twice"),
        (lambda d: d["nodes"]["op"].pop(), "columns of nodes differ in length"),
        (lambda d: d["nodes"].pop("op"), r"nodes\.op is None, expected a list"),
        (lambda d: d.pop("memory"), "memory is missing"),
        (lambda d: d["buffers"]["class"].__setitem__(0, "other"), r"buffers\.class is 'other'"),
        (lambda d: d["buffers"]["class"].__setitem__(0, ["x"]), r"buffers\.class is \['x'\]"),
        (lambda d: d["passes"]["ms"].__setitem__(0, float("nan")), r"passes\.ms is nan"),
        (lambda d: d["passes"]["nodes"].__setitem__(0, True), r"passes\.nodes is True, expected an integer"),
        (lambda d: d["calls"]["branch"].__setitem__(0, [[1]]), r"calls\.branch is \[1\], expected a list of 2"),
        (lambda d: d.__setitem__("target", []), r"target is \[\], expected an object"),
        (lambda d: d.__setitem__("version", 3), "version 3"),
    ):
        document = copy.deepcopy(whole)
        change(document)
        with pytest.raises(ParseError, match=message):
            Record.from_document(document)


def test_whatever_stands_in_a_document_it_is_a_record_or_an_error(found):
    whole = json.loads(json.dumps(found.to_document()))
    draw = random.Random(3)
    odd = (None, -1, 10**30, 1e308, "", "x" * 10, [], [[]], {}, True, float("inf"), ["a"], [-5])
    refused = 0
    for _ in range(300):
        document = copy.copy(whole)
        key = draw.choice(list(document))
        part = document[key] = copy.deepcopy(document[key])
        if isinstance(part, dict) and part:
            inner = draw.choice(list(part))
            if isinstance(part[inner], list) and part[inner]:
                part[inner][draw.randrange(len(part[inner]))] = draw.choice(odd)
            else:
                part[inner] = draw.choice(odd)
        else:
            document[key] = draw.choice(odd)
        try:
            assert isinstance(Record.from_document(document), Record)
        except ParseError:
            refused += 1
    assert refused > 150


def test_a_step_that_is_watched_for_nan_has_a_record(tmp_path):
    """Its program computes more than its graph says."""
    cell = Block()
    with debug(find_nan=True, cache=False):
        step = graphc.compile(
            nn.TrainOneStepCell(cell, nn.SGD(cell.trainable_params(), 0.1)), np.ones((2, 8), np.float32)
        )
    found = step.record()
    known = {node.id for node in found.nodes}
    assert known == {node.id for _, node in walk(step.graph)}
    assert all(known.issuperset(call.nodes) for call in found.calls)
    step.dump(tmp_path / "dump")
    assert load_record(tmp_path / "dump").calls == found.calls
    assert step.page(tmp_path / "step.html").exists()
