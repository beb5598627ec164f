"""Processes that reduce in memory that they share find what MPI does."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.parallel.launched import needs_mpi, run


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What each of so many processes has found that share memory, or do not."""
    here = tmp_path_factory.mktemp("windows")

    @cache
    def found(ranks: int, share: bool) -> list[dict[str, Any]]:
        script, variable = str(Path(__file__).with_name("windows.py")), str(int(share))
        cache_dir = str(here / "cache")
        done = run(ranks, script, str(here), cwd=here, GRAPHC_SHARED_MEMORY=variable, GRAPHC_CACHE_DIR=cache_dir)
        assert done.returncode == 0, done.stderr[-3000:]
        return [json.loads((here / f"{ranks}-{rank}-{share}.json").read_text()) for rank in range(ranks)]

    return found


@needs_mpi
# From four processes on each adds up a part of the sums.
@pytest.mark.parametrize("ranks", [2, 5])
def test_sums_in_shared_memory_are_those_of_mpi(found: Any, ranks: int) -> None:
    memory, carried = found(ranks, True), found(ranks, False)
    for way in memory[0]:
        want = carried[0][way]["weights"]
        assert set(carried[0][way]["places"]) == {None}
        places = memory[0][way]["places"]
        taken = [at for at in places if at is not None]
        assert len({*taken}) == len(taken) > 0
        # A tensor without elements needs no place, where it is a bucket of its own.
        assert None not in places or way in ("buckets", "shared", "both", "little")
        for each in memory:
            assert each[way]["beside"], way
            assert each[way]["weights"] == memory[0][way]["weights"], way
            if ranks == 2:  # With more, MPI may add up in another order.
                assert each[way]["weights"] == want, way
            apart = {"float64": 1e-14, "wire": 0.05, "both": 0.05}.get(way, 1e-4)
            np.testing.assert_allclose(each[way]["weights"], want, atol=apart, err_msg=way)
    assert memory[0]["little"]["places"] == [0, None, None, None]
    assert memory[0]["threads"]["weights"] == memory[0]["plain"]["weights"]
