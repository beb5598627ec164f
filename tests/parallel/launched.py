"""Programs in several processes, for the tests: what starts them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def mpiexec() -> str | None:
    """Where it is: beside this Python, or in PATH."""
    own = Path(sys.executable).with_name("mpiexec")
    return str(own) if own.exists() else shutil.which("mpiexec")


needs_mpi = pytest.mark.skipif(
    mpiexec() is None or find_spec("mpi4py") is None,
    reason="mpi4py and an MPI are not installed: pip install graphc[mpi]",
)


def run(
    ranks: int, *arguments: str, cwd: Path, timeout: int = 240, before: tuple[str, ...] = (), **variables: str
) -> subprocess.CompletedProcess[str]:
    """python ARGUMENTS in so many processes; in this one alone where there is just one."""
    start = [str(mpiexec()), "-n", str(ranks)] if ranks > 1 else []
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "codegen")]),
        "GRAPHC_NUM_THREADS": "1",
        # Open MPI refuses both unless it is told.
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
        **variables,
    }
    return subprocess.run(
        [*before, *start, sys.executable, *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def found_by(script: str, jobs: Iterable[tuple[int, int]], here: Path) -> dict[int, list[dict[str, Any]]]:
    """What each process of a script has written to PROCESSES-RANK.json in `here`, by their number. jobs: (processes, how many
    of them hold one network).
    """
    made = {}
    for ranks, parts in jobs:
        done = run(ranks, script, str(here), str(parts), cwd=here, GRAPHC_CACHE_DIR=str(here / "cache"))
        assert done.returncode == 0, done.stderr[-3000:]
        made[ranks] = [json.loads((here / f"{ranks}-{rank}.json").read_text()) for rank in range(ranks)]
    return made
