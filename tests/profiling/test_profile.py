"""Times of a step: what is measured, whose it is said to be, tables and traces."""

from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pytest

import graphc
from graphc import ArgumentValueError, Parameter, Tensor, nn, ops
from graphc.debug import debug
from graphc.inspect.record import Record
from graphc.profiling.report import chrome_trace, profile_json, profile_text
from graphc.profiling.shares import by_cell, by_kernel, by_op, call_ms, inclusive, work_of


class Net(nn.Cell):
    """A layer, a branch that is taken, one that is not, and a loop of three turns."""

    def __init__(self):
        super().__init__()
        self.größe, self.count = nn.Dense(64, 64), Parameter(np.float32(0), name="count")

    def construct(self, x):
        x = ops.relu(self.größe(x))
        if x.sum() > -1:
            x = ops.matmul(x, x)
        else:
            x = ops.exp(x)
        i = ops.zeros((), graphc.int32)
        while i < 3:
            x = ops.tanh(ops.matmul(x, x))
            i = i + 1
        ops.assign(self.count, self.count + 1)
        return x.sum()


X = np.ones((64, 64), np.float32)


@pytest.fixture(scope="module", params=[1, 2], ids="{} threads".format)
def measured(request):
    net = Net()
    with debug(threads=request.param):
        step = graphc.compile(net, X)
    before = [p.asnumpy().copy() for p in step.parameters]
    record = step.profile(X, runs=5)
    assert [np.array_equal(p.asnumpy(), b) for p, b in zip(step.parameters, before, strict=True)] == [True] * len(
        before
    )
    return step, record


def test_every_call_has_its_times_and_how_often_it_ran(measured):
    step, record = measured
    profile = record.profile
    assert [t.call for t in profile.calls] == list(range(len(record.calls)))
    assert (profile.runs, len(profile.calls[0].ms)) == (5, record.target.threads)
    arms = [record.calls[t.call].branch[-1][1] if record.calls[t.call].branch else "" for t in profile.calls]
    counts = {arm: {t.count for t, a in zip(profile.calls, arms, strict=True) if a == arm} for arm in set(arms)}
    assert counts["then"] == {1}
    assert counts["else"] == {0}
    assert counts["body"] == {3}
    assert counts[""] == {1}
    assert all(max(t.ms) > 0 for t in profile.calls if t.count)
    assert all(max(t.ms) == 0 for t in profile.calls if not t.count)
    assert step.record().profile == profile
    assert profile.gflops > 1
    assert profile.gbs > 0.1
    assert 0 < profile.covered <= 1.01


def test_the_step_itself_has_nothing_of_it(measured):
    step, _ = measured
    assert not step._lowered.program.profile
    assert "graphc_record" not in step.kernels
    with pytest.raises(ArgumentValueError, match="does not count its time"):
        step.timings()


def test_a_record_with_times_survives_its_document(measured):
    _, record = measured
    document = json.loads(json.dumps(record.to_document(), allow_nan=False))
    assert Record.from_document(document) == record
    document["profile"]["timeline"]["call"][0] = 10**6
    with pytest.raises(graphc.ParseError, match=r"profile\.timeline"):
        Record.from_document(document)


def test_the_slices_of_a_thread_follow_each_other(measured):
    _, record = measured
    for thread in range(record.target.threads):
        own = sorted((s for s in record.profile.timeline if s.thread == thread), key=lambda s: s.start)
        once = {t.call for t in record.profile.calls if t.count == 1}
        assert own
        for a, b in pairwise(own):
            if {a.call, b.call} <= once:
                assert a.start + a.waited + a.ms <= b.start + 1e-5


def test_shares_add_up_to_all_there_is(measured):
    _, record = measured
    total = sum(call_ms(record).values())
    for shares in (by_kernel(record), by_op(record), by_cell(record)):
        assert sum(s.ms for s in shares.values()) == pytest.approx(total)
        assert all(0 <= s.estimated <= s.ms * (1 + 1e-9) for s in shares.values())
    tree = inclusive(by_cell(record))
    assert tree[""].ms == pytest.approx(total)
    assert "größe" in tree
    for kernel, share in by_kernel(record).items():
        assert share.calls == sum(c.kernel == kernel for c in record.calls)


def test_only_kernels_of_several_cells_are_estimates(measured):
    _, record = measured
    nodes, ms = {n.id: n for n in record.nodes}, call_ms(record)
    for shares, of in ((by_cell(record), lambda n: n.cell), (by_op(record), lambda n: n.op)):
        mixed = sum(ms[c.index] for c in record.calls if len({of(nodes[i]) for i in c.nodes}) > 1)
        assert sum(s.estimated for s in shares.values()) == pytest.approx(mixed)
        assert mixed < sum(ms.values())


def test_the_work_of_products_counts_multiply_adds(measured):
    _, record = measured
    types = {f"%{n.id}{f'#{k}' if k else ''}": t for n in record.nodes for k, t in enumerate(n.types)}
    product = next(n for n in record.nodes if n.op == "MatMul")
    assert work_of(product, types) == pytest.approx(0.02 * 64**3)


def test_text_names_cells_as_they_are_and_marks_estimates(measured):
    _, record = measured
    text = profile_text(record, width=100)
    assert "größe (Dense)" in text
    assert "this machine's peak: " in text
    assert ("~" in text) == any(s.estimated for s in (*by_op(record).values(), *by_cell(record).values()))
    assert all(len(line) <= 100 for line in text.split("\n")[5:])
    made = profile_json(record)
    assert made["schema"] == "graphc.step"
    assert {row["kernel"] for row in made["shares"]["kernels"]} == {c.kernel for c in record.calls}


def test_a_trace_has_a_slice_for_every_call_that_ran(measured):
    _, record = measured
    events = chrome_trace(record)["traceEvents"]
    assert json.loads(json.dumps(events)) == events
    ran = {(s.call, s.thread) for s in record.profile.timeline}
    slices = [e for e in events if e["ph"] == "X" and e["cat"] != "wait"]
    assert len(slices) == len(ran)
    assert {e["tid"] for e in slices} <= set(range(record.target.threads))
    assert all(e["dur"] >= 0 and e["ts"] >= 0 for e in slices)


def test_what_cannot_be_measured_is_refused():
    step = graphc.compile(nn.Dense(2, 2), np.ones((1, 2), np.float32))
    with pytest.raises(ArgumentValueError, match="at least one run"):
        step.profile(np.ones((1, 2), np.float32), runs=0)
    with pytest.raises(graphc.SignatureError):
        step.profile(np.ones((3, 2), np.float32))
    with pytest.raises(ArgumentValueError, match="has no times"):
        profile_text(step.record())
    with debug(jit=False):
        checked = graphc.compile(nn.Dense(2, 2), Tensor(np.ones((1, 2), np.float32)))
    with pytest.raises(ArgumentValueError, match="checked mode"):
        checked.profile(np.ones((1, 2), np.float32))


def test_a_list_of_learning_rates_is_not_used_up():
    """A step looks its rate up by the number of the step: profiling must not go beyond the list."""
    net = nn.Dense(3, 1)
    optimizer = nn.SGD(net.trainable_params(), learning_rate=[0.1, 0.2])
    cell = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), optimizer)
    inputs = np.ones((2, 3), np.float32), np.ones((2, 1), np.float32)
    step = graphc.compile(cell, *inputs)
    step.profile(*inputs, runs=6)
    for _ in range(2):
        step(*inputs)
    with pytest.raises(graphc.GraphcError):
        step(*inputs)
