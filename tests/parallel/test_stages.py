"""A pipeline of stages: two and three of them, and two for four processes with two parts of the data, against one process."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphc.passes.stages import one_forward_one_backward, turns_until_sent
from tests.parallel.launched import found_by, needs_mpi, run

SCRIPT = str(Path(__file__).with_name("stages.py"))

#: (processes, stages); three save a checkpoint, from which the others go on.
JOBS = ((3, 3), (4, 2), (2, 2), (1, 1))


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[int, list[dict[str, Any]]]:
    """What each process has found, by their number."""
    return found_by(SCRIPT, JOBS, tmp_path_factory.mktemp("stages"))


def close(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert one.keys() == other.keys()
    for name, values in one.items():
        np.testing.assert_allclose(values, other[name], 2e-3, 5e-5, err_msg=name)


@needs_mpi
@pytest.mark.parametrize(("ranks", "case"), [(2, "trained"), (3, "trained"), (4, "calm")])
def test_the_same_trajectory_as_one_process(found: Any, ranks: int, case: str) -> None:
    alone, several = found[1][0][case], [each[case] for each in found[ranks]]
    for each in several:
        assert each["weights"] == several[0]["weights"]
        assert [step[1:] for step in each["seen"]] == [step[1:] for step in alone["seen"]]
    close(several[0]["weights"], alone["weights"])
    # A gradient of one parameter, in one stage and micro batch, is infinite: all skip.
    assert [step[1] for step in alone["seen"]] == [False, False, True, False, False]
    losses = [[step[0] for step in each["seen"]] for each in several]
    np.testing.assert_allclose(np.mean(losses, 0), [step[0] for step in alone["seen"]], 1e-5)
    if ranks < 4:
        np.testing.assert_allclose(several[0]["logits"], alone["logits"], 0, 2e-4)
        assert all(each["logits"] == several[0]["logits"] for each in several)


@needs_mpi
@pytest.mark.parametrize("ranks", [2, 3])
def test_other_ways_to_the_same(found: Any, ranks: int) -> None:
    alone, several = found[1][0], found[ranks]
    for each in several:
        assert each["again"] == each["trained"]["weights"]  # To the last bit.
        assert each["goes on"] == several[0]["goes on"]
        assert each["function"] == several[0]["function"]
    close(several[0]["goes on"], alone["goes on"])
    np.testing.assert_allclose(several[0]["function"], alone["function"], 1e-5)
    if ranks == 2:
        close(several[0]["checked"], alone["trained"]["weights"])


@needs_mpi
def test_what_a_stage_holds_and_says(found: Any) -> None:
    alone, several = found[1][0]["trained"], [each["trained"] for each in found[3]]
    held = [set(each["held"]) for each in several]
    assert set().union(*held) == set(alone["held"])
    shared = set.intersection(*held)  # The loss scale, the number of the step, rates.
    assert all(held[a] & held[b] == shared for a, b in ((0, 1), (0, 2), (1, 2)))
    assert not any("net." in name for name in shared)
    assert all(each["arena"] < alone["arena"] for each in several)
    for stage, each in enumerate(several):
        sent = re.findall(r"= Send\(.*?peer=(\d)", each["text"])
        received = re.findall(r"= Receive\(.*?peer=(\d)", each["text"])
        # Forward `up` to the middle, its input and, once, the table to the end; back the same.
        others = [{"1": 4, "2": 5}, {"0": 4, "2": 4}, {"0": 5, "1": 4}][stage]
        assert {peer: sent.count(peer) for peer in set(sent)} == others
        assert {peer: received.count(peer) for peer in set(received)} == others
        marks = re.findall(r"= ToStage\(.*?(?:micro=(\d))?\}", each["text"])
        assert {micro or "0" for micro in marks} == set("0123")


@needs_mpi
def test_memory_does_not_grow_with_micro_batches(found: Any) -> None:
    four, eight = found[1][0]["arenas"]
    assert eight > 1.2 * four
    for each in found[2]:
        four_here, eight_here = each["arenas"]
        assert four_here < four
        assert eight_here < 1.05 * four_here


@needs_mpi
@pytest.mark.parametrize(
    ("case", "told"),
    [
        ("backwards", "a cell of stage 0 that is given what stage 1 makes"),
        ("chosen", "a cell with a pipeline_stage is not available inside a choice or a loop"),
        ("told", "AllReduce over 'hccl_world_group' is not available with pipeline_stages"),
        ("beyond", "pipeline_stage=2, there are 2 stages, from 0"),
        ("few", "micro_size=1 is less than pipeline_stages=2"),
        ("other data", "rank 1 has other data than rank 0: both are stages of one pipeline"),
        ("enable_parallel_optimizer", "not available together with pipeline_stages=2"),
        ("model_parallel", "not available together with pipeline_stages=2"),
        ("pipeline_stages", "pipeline_stages=3 does not divide the 2 processes"),
        ("elsewhere", "of the pipeline, not by this process"),
        ("eager", "a cell with a pipeline_stage is not available op by op"),
        ("no stages", "of a pipeline, and there are no stages any more"),
    ],
)
def test_what_is_refused(found: Any, case: str, told: str) -> None:
    for each in found[2]:
        assert told in each["refused"][case]


@needs_mpi
def test_a_lost_stage_ends_the_job(tmp_path: Path) -> None:
    script = tmp_path / "lost.py"
    script.write_text(
        f"import os, signal, sys\nsys.path.insert(0, {str(Path(SCRIPT).parent)!r})\nimport graphc, stages\n"
        "from graphc.parallel import get_rank, init\ninit()\n"
        "graphc.set_auto_parallel_context(parallel_mode='data_parallel', pipeline_stages=2)\n"
        "step = stages.make()\n"
        "for turn, batch in enumerate(stages.data()):\n"
        "    if turn == 2 and get_rank() == 1:\n        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    step(*stages.own(batch))\n"
    )
    done = run(2, str(script), cwd=tmp_path, timeout=60, GRAPHC_RANK_TIMEOUT="5")
    assert done.returncode != 0


@pytest.mark.parametrize("stages", range(1, 6))
def test_one_forward_one_backward(stages: int) -> None:
    """Each stage computes every micro batch once each way, holds few at a time, and nobody waits for ever: even if what is sent
    has to be received before the turn ends in which it is waited for.
    """
    for count in range(1, 8):
        plans = [one_forward_one_backward(s, stages, range(count)) for s in range(stages)]
        for s, plan in enumerate(plans):
            assert sorted(plan) == [(back, k) for back in (False, True) for k in range(count)]
            assert max(np.cumsum([-1 if turn.backward else 1 for turn in plan])) <= stages - s
        for far in (1, stages):
            assert ends(plans, far, turns_until_sent), (stages, count, far)
    if stages > 3:
        assert not ends(plans, stages, lambda distance: 1)


def ends(plans: Any, far: int, until: Any) -> bool:
    """Whether stages that send to all that are no further than `far` come to the end of their plans."""
    place = [{turn: k for k, turn in enumerate(plan)} for plan in plans]
    begun, done = [0] * len(plans), [0] * len(plans)

    def others(stage: int, behind: bool) -> list[int]:
        reached = range(stage + 1, stage + far + 1) if behind else range(stage - far, stage)
        return [o for o in reached if 0 <= o < len(plans)]

    def has_sent(stage: int, now: int) -> bool:
        return all(
            begun[o] > place[o][turn]
            for k, turn in enumerate(plans[stage][: now + 1])
            for o in others(stage, not turn.backward)
            if k + until(abs(o - stage)) <= now
        )

    moved = True
    while moved:
        moved = False
        for s, plan in enumerate(plans):
            now = done[s]
            if begun[s] == now < len(plan) and all(
                place[o][plan[now]] < begun[o] for o in others(s, plan[now].backward)
            ):
                begun[s], moved = now + 1, True
            if begun[s] > now and has_sent(s, now):
                done[s], moved = now + 1, True
    return done == [len(plan) for plan in plans]
