"""Callbacks of trainings in several processes: what one is asked, all do, and what one cannot do alone is refused."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from graphc.report import read_run
from tests.parallel.launched import needs_mpi, run

SCRIPT = str(Path(__file__).with_name("callbacks.py"))
#: Those after which a training can go on, and those that need parts of a state.
CASES, IN_PARTS = ("signal", "stop", "backup", "clock"), ("plateau", "alone", "otherwise", "missing", "unwritable")


@pytest.fixture(scope="module")
def acted(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What each of two processes has found in the CASES, with shared updates or not."""

    @cache
    def acted(shared: bool) -> tuple[Path, list[dict[str, Any]]]:
        here = tmp_path_factory.mktemp("callbacks")
        cases = (*CASES, *(IN_PARTS if shared else ()))
        done = run(2, SCRIPT, str(shared), *cases, cwd=here, timeout=120)
        assert done.returncode == 0, done.stderr[-3000:]
        return here, [json.loads((here / f"{rank}.json").read_text()) for rank in range(2)]

    return acted


@needs_mpi
@pytest.mark.parametrize("shared", [False, True])
def test_callbacks_of_one_process_act_in_all(acted: Any, shared: bool) -> None:
    """A signal to the second process, or its wish, ends both behind the same step; files hold all parts."""
    here, found = acted(shared)
    for case in CASES:
        first, second = (each[case] for each in found)
        assert first["seen"] == second["seen"] == list(range(1, 4 if case in ("signal", "stop") else 13))
        assert first["state"] == second["state"]
        if case != "stop":
            assert first["after"] == second["after"] == first["before"]
    assert len(list((here / "files").glob("clock*.ckpt"))) > 1


@needs_mpi
def test_each_process_records_its_own_steps(acted: Any) -> None:
    """In files of their own, which say whose they are: the losses are those of different rows."""
    here, _ = acted(False)
    runs = [read_run(here / "files" / "summary" / f"run-rank{rank}.jsonl") for rank in range(2)]
    assert [(run.facts["rank"], run.facts["ranks"]) for run in runs] == [("0", "2"), ("1", "2")]
    assert [len(run.steps) for run in runs] == [12, 12]
    assert [step.loss for step in runs[0].steps] != [step.loss for step in runs[1].steps]


@needs_mpi
def test_what_is_watched_is_the_mean_of_all(acted: Any) -> None:
    """Each process has its own losses: the rate falls, and the training ends, at the same epochs."""
    first, second = (each["plateau"] for each in acted(True)[1])
    assert first == second
    assert first["rate"] < 0.01
    assert 0 < first["epoch"] < 8


@needs_mpi
@pytest.mark.parametrize(
    ("case", "told"),
    [
        ("alone", "[GC191] rank 1 has another list of callbacks than rank 0"),
        ("otherwise", "[GC191] rank 1 has another list of callbacks than rank 0"),
        ("missing", "/backup.ckpt', rank 1 does not"),
    ],
)
def test_what_one_process_cannot_do_alone_is_refused_in_all(acted: Any, case: str, told: str) -> None:
    here, found = acted(True)
    for each in found:
        assert told in each[case]["told"]
        assert each[case]["seen"] == []
    assert not list((here / "files").glob("alone*"))


@needs_mpi
def test_a_file_that_cannot_be_written_is_an_error_in_all(acted: Any) -> None:
    first, second = (each["unwritable"]["told"] for each in acted(True)[1])
    assert first.startswith("ValueError")
    assert second.startswith("CheckpointError")
    assert "rank 0 could not write" in second
    assert "is a directory" in second


@needs_mpi
@pytest.mark.parametrize("shared", [False, True])
def test_a_training_that_one_process_breaks_off(tmp_path: Path, shared: bool) -> None:
    """The state is saved by the one that is broken off; nothing is where it has only a part of it."""
    done = run(2, SCRIPT, str(shared), "raise", cwd=tmp_path, timeout=120)
    assert done.returncode != 0
    assert "graphc: rank 1 raised ValueError after step 3: a bad sample." in done.stderr
    files = sorted(p.name for p in (tmp_path / "files").iterdir())
    assert files == ([] if shared else ["CKP-1_3_breakpoint.ckpt"])
    assert ("exception_save has no effect" in done.stderr) == shared


@needs_mpi
@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("by hand", "rank 0 waits for everybody's part of a tensor, rank 1 for number of batches"),
        ("in a step", r"rank \d has waited 3 s for the others after step 12, and rank \d waits, too"),
    ],
)
def test_saving_alone_what_others_hold_ends_all(tmp_path: Path, case: str, message: str) -> None:
    """While the other one goes into a training, or a step of it."""
    done = run(2, SCRIPT, "True", case, cwd=tmp_path, timeout=120, GRAPHC_RANK_TIMEOUT="3")
    assert done.returncode != 0
    assert re.search(message, done.stderr)
    assert not (tmp_path / "files").exists()
