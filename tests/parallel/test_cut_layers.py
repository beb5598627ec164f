"""Layers that are cut over processes: two of them for four processes with two parts of the data, against one process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.parallel.launched import found_by, needs_mpi

SCRIPT = str(Path(__file__).with_name("layers.py"))

#: (processes, over how many of them layers are cut).
JOBS = ((4, 2), (2, 2), (1, 1))

#: What is cut of the network whose table is.
CUT = {
    "rows": ("table.embedding_table", "up.weight", "up.bias", "down.weight"),
    "columns": ("table.embedding_table", "down.weight"),
}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[int, list[dict[str, Any]]]:
    """What each process has found, by their number. Four save a checkpoint, from which all go on."""
    return found_by(SCRIPT, JOBS, tmp_path_factory.mktemp("layers"))


def close(one: dict[str, Any], other: dict[str, Any], rtol: float = 2e-4, atol: float = 2e-6) -> None:
    assert one.keys() == other.keys()
    for name, values in one.items():
        np.testing.assert_allclose(values, other[name], rtol, atol, err_msg=name)


@needs_mpi
@pytest.mark.parametrize("ranks", [4, 2])
@pytest.mark.parametrize("table", ["rows", "columns"])
def test_the_same_trajectory_as_one_process(found: Any, ranks: int, table: str) -> None:
    alone, several = found[1][0][table], [each[table] for each in found[ranks]]
    for each in several:
        # Start values are those of the whole layers of the first process.
        assert all(each["first"][n] == several[0]["first"][n] for n in each["first"] if n.endswith(CUT[table]))
        assert each["weights"] == several[0]["weights"]  # To the last bit.
        assert each["seen"] == alone["seen"]
        assert each["loss"] == pytest.approx(alone["loss"], rel=2e-2) or ranks == 4  # Of half the batch.
    assert several[0]["first"] == alone["first"]
    close(several[0]["weights"], alone["weights"])
    assert [step[0] for step in alone["seen"]] == [False, False, True, False, False]


@needs_mpi
def test_what_a_process_holds_and_says(found: Any) -> None:
    alone, several = found[1][0]["rows"], found[4][0]["rows"]
    for name, size in alone["held"].items():
        assert several["held"][name] == (size // 2 if name.endswith(CUT["rows"]) else size), name
    model, data = (f"AllReduceStart graphc_{group}_group" for group in ("model", "data"))
    # Forward: rows of the table, the sum behind `down`. Backward: that behind `up`, whose input needs it.
    assert several["ops"].count(model) == 3
    assert several["ops"].count(data) >= 1
    # The flag of an overflow alone is everybody's.
    assert [name for name in several["ops"] if name.endswith("world_group")] == ["AllReduce hccl_world_group"]
    two = found[2][0]["rows"]["ops"]
    assert two.count(model) == 3
    assert data not in two


@needs_mpi
def test_other_ways_to_compute_it(found: Any) -> None:
    first = found[4][0]
    close(first["checked"]["weights"], first["rows"]["weights"])
    # An update of Adam is the sign of a small gradient.
    close(first["wire"]["weights"], first["rows"]["weights"], rtol=0, atol=0.05)
    assert "AllToAllStart graphc_data_group" in first["wire"]["ops"]
    for each in found[4]:
        assert each["wire"]["weights"] == first["wire"]["weights"]
        assert each["checked"]["weights"] == first["checked"]["weights"]
        assert each["eager"] == first["eager"]
    close(first["eager"], first["rows"]["two"])


@needs_mpi
def test_checkpoints_are_whole(found: Any) -> None:
    """What four processes have saved two and one can go on from."""
    for ranks in (4, 2):
        for each in found[ranks]:
            assert each["goes on"] == found[ranks][0]["goes on"]
        close(found[ranks][0]["goes on"], found[1][0]["goes on"])


@needs_mpi
def test_an_overflow_of_one_part_is_everybodys(found: Any) -> None:
    assert [each["own overflow"] for each in found[4]] == [[True, True]] * 4


@needs_mpi
@pytest.mark.parametrize(
    ("case", "told"),
    [
        ("clipped", "[GC164]"),
        ("clipped parts", "is made of this process's parts of layers that are cut, others have another number"),
        ("Lamb", "an update that needs whole parameters is not available for"),
        ("LARS", "the norm of a layer is not available for"),
        ("centralized", "grad_centralization is not available for"),
        ("uneven", "out_channels=9 cannot be cut into 2 equal parts"),
        ("one hot", "use_one_hot"),
        ("other", "shard must be"),
        ("whole operand", "the last axis of x has 8 features, the layer expects 4"),
        ("degree", "degree=4 is not 2, the number of processes with other data"),
        ("other data", "other data than rank"),
        ("parts of parts", "enable_parallel_optimizer=True is not available for"),
        ("stand alone", "needs a data-parallel mode"),
    ],
)
def test_what_is_refused(found: Any, case: str, told: str) -> None:
    for each in found[4]:
        assert told in each["refused"][case]
