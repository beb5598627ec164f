"""`graphc train --ranks N`: the same command in N processes, which mpiexec starts, and starts again when they fail."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from argparse import Namespace
from importlib.util import find_spec

from graphc.errors import MissingPackageError

#: Not for the processes.
_OWN = ("ranks", "max_restarts", "resume", "run")


def train(args: Namespace) -> int:
    """Run the command in `args.ranks` processes. Returns the exit code of the last run.

    Raises MissingPackageError GC207 without mpi4py or mpiexec.
    """
    mpiexec = _mpiexec()
    options = [f"--{name.replace('_', '-')}={value}" for name, value in vars(args).items() if _is_given(name, value)]
    command = [mpiexec, "-n", str(args.ranks), sys.executable, "-m", "graphc", "train", *options]
    resume = bool(args.resume)
    for attempt in range(args.max_restarts + 1):
        code = subprocess.run([*command, *(["--resume"] if resume else [])], env=_environment(), check=False).returncode
        if code in (0, 2, 130) or attempt == args.max_restarts:
            break
        print(
            f"graphc: the processes have ended with code {code}; restart {attempt + 1} of {args.max_restarts},"
            " behind the last epoch that was finished",
            file=sys.stderr,
            flush=True,
        )
        resume = True
    return code if code >= 0 else 128 - code


def _is_given(name: str, value: object) -> bool:
    return name not in _OWN and value is not None and not callable(value)


def _mpiexec() -> str:
    """The mpiexec that belongs to this Python, else the first in PATH."""
    own = os.path.join(os.path.dirname(sys.executable), "mpiexec")
    found = own if os.access(own, os.X_OK) else shutil.which("mpiexec")
    if found is None or find_spec("mpi4py") is None:
        missing = "mpi4py" if found is not None else "mpiexec"
        raise MissingPackageError(f"--ranks needs {missing}, which is not installed", help="pip install 'graphc[mpi]'")
    return found


def _environment() -> dict[str, str]:
    """The environment of the processes: Open MPI may start more of them than there are cores, and as root where this is root."""
    added = {"PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        added |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return {**added, **os.environ}
