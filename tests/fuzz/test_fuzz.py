"""Random programs agree in every way of running them; and the comparison finds what is wrong."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from graphc import ops
from tests.fuzz.compare import Disagreement, check
from tests.fuzz.kinds import KINDS
from tests.fuzz.program import VIEWS, Program, Step, generate
from tests.fuzz.shrink import shrink

BATCH, BATCHES = 20, 15


@pytest.mark.parametrize("batch", range(BATCHES))
def test_random_programs_agree(batch, tmp_path):
    for seed in range(batch * BATCH, (batch + 1) * BATCH):
        program = generate(seed)
        try:
            check(program, tmp_path)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error}\n{program}") from error


def test_every_kind_of_step_is_tried():
    tried = {s.kind for seed in range(BATCH * BATCHES) for s in generate(seed).steps}
    assert set(KINDS) | {"read", "assign"} == tried


def program(*steps: Step, parameter: bool = False) -> Program:
    x = np.random.default_rng(0).standard_normal((5, 17)).astype(np.float32)
    return Program((x,), x * 2 if parameter else None, steps)


def test_a_wrong_kernel_is_found(monkeypatch):
    monkeypatch.setitem(KINDS, "tanh", replace(KINDS["tanh"], graphc=ops.sigmoid))
    with pytest.raises(Disagreement, match="one thread: result v1"):
        check(program(Step("tanh", (0,), {})))


def test_a_wrong_gradient_is_found(monkeypatch):
    monkeypatch.setitem(KINDS, "square", replace(KINDS["square"], graphc=lambda x: ops.stop_gradient(x) * x))
    with pytest.raises(Disagreement, match="gradient of v0"):
        check(program(Step("square", (0,), {})))


def test_a_read_that_sees_a_later_write_is_found(monkeypatch):
    monkeypatch.setitem(VIEWS, "itself", lambda p: p)
    with pytest.raises(Disagreement, match="result v1"):
        check(program(Step("read", (), {"view": "itself"}), Step("assign", (0,), {}), parameter=True))


def test_what_fails_is_made_small():
    whole = generate(4, steps=12)
    assert len(whole.steps) > 1
    wanted = whole.steps[0].kind
    small = shrink(whole, lambda p: any(s.kind == wanted for s in p.steps))
    assert [s.kind for s in small.steps] == [wanted]
