"""Jobs of several processes that measure: whoever starts them, they are asked over a socket. Standard library only.

MPI's processes are started by its mpiexec, others by their commands. The socket is a file, which processes in other network
namespaces find, too.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from processes import LeftOut, Overdue, environment

#: Where a process finds the socket, and what launchers call its number.
SOCKET = "BENCH_SOCKET"
RANKS = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "RANK")


class Job:
    """As many processes as `ranks`, started by these commands, each in an environment with `variables` of its own.

    `ask` sends them all a question and has their answers by rank; nothing may take longer than `limit` seconds.
    """

    def __init__(
        self, commands: Sequence[tuple[Sequence[str], Mapping[str, str]]], ranks: int, cache: str, limit: float
    ) -> None:
        self._limit = limit
        self._folder = tempfile.mkdtemp(prefix="bench")
        self._errors = tempfile.TemporaryFile("w+")  # noqa: SIM115
        path = os.path.join(self._folder, "socket")
        self._files: dict[int, Any] = {}
        self._processes: list[subprocess.Popen[str]] = []
        base = {**environment(cache, 0), SOCKET: path}
        try:
            with contextlib.closing(socket.socket(socket.AF_UNIX)) as listener:
                listener.bind(path)
                listener.listen(ranks)
                for command, own in commands:
                    self._processes.append(self._start(command, {**base, **own}, cache))
                self._accept(listener, ranks)
        except BaseException as error:
            self.close()
            if isinstance(error, OSError):
                raise LeftOut(str(error)) from None
            raise

    def _start(self, command: Sequence[str], variables: Mapping[str, str], cache: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            list(command),
            env=dict(variables),
            cwd=cache,
            stdin=subprocess.DEVNULL,
            stdout=self._errors,
            stderr=self._errors,
            text=True,
            start_new_session=True,
        )

    def _accept(self, listener: socket.socket, ranks: int) -> None:
        listener.settimeout(0.2)
        tries = 0
        while len(self._files) < ranks:
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                tries += 1
                if any(p.poll() for p in self._processes):
                    raise LeftOut(self._last_error()) from None
                if tries * 0.2 > self._limit:
                    raise Overdue(f"more than {self._limit:g} s") from None
                continue
            connection.settimeout(self._limit)
            file = connection.makefile("rw")
            self._files[int(json.loads(file.readline())["rank"])] = file

    def ask(self, **question: Any) -> list[dict[str, Any]]:
        """What all answer, by rank. Raises LeftOut."""
        try:
            for file in self._files.values():
                file.write(json.dumps(question) + "\n")
                file.flush()
            return self.answers()
        except TimeoutError:
            raise Overdue(f"more than {self._limit:g} s") from None
        except (OSError, ValueError):
            raise LeftOut(self._last_error()) from None

    def answers(self) -> list[dict[str, Any]]:
        """What all say next, by rank. Raises LeftOut."""
        try:
            return [json.loads(self._files[rank].readline()) for rank in sorted(self._files)]
        except TimeoutError:
            raise Overdue(f"more than {self._limit:g} s") from None
        except (OSError, ValueError):
            raise LeftOut(self._last_error()) from None

    def close(self) -> None:
        """Let them end; whoever does not within some seconds is killed."""
        for file in self._files.values():
            with contextlib.suppress(OSError):
                file.write("{}\n")
                file.flush()
                file.close()
        for process in self._processes:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        self._errors.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _last_error(self) -> str:
        self._errors.seek(0)
        lines = [line for line in self._errors.read().splitlines() if line.strip()]
        errors = [line for line in lines if "Error" in line]
        return (errors or lines or ["no message"])[-1].strip()[:200]


class Rank:
    """The other end: one process of a job."""

    def __init__(self) -> None:
        self.number = rank()
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(os.environ[SOCKET])
        self._file: Any = connection.makefile("rw")
        self.answer(rank=self.number)

    def answer(self, **found: Any) -> None:
        self._file.write(json.dumps(found) + "\n")
        self._file.flush()

    def questions(self) -> Any:
        """One after the other, until there is an empty one or nobody to ask."""
        for line in self._file:
            question = json.loads(line)
            if not question:
                return
            yield question


def rank() -> int:
    """This process's number, as its launcher has it; 0 without one."""
    return int(next((os.environ[name] for name in RANKS if name in os.environ), "0"))


def mpiexec(python: str, ranks: int) -> list[str]:
    """The mpiexec of an interpreter's environment, for so many processes. Raises LeftOut without one."""
    found = shutil.which(str(Path(python).with_name("mpiexec")))
    if found is None:
        raise LeftOut(f"there is no mpiexec beside {python}")
    return [found, "-n", str(ranks)]


def free_port() -> int:
    """A TCP port that nobody listens to."""
    with contextlib.closing(socket.socket()) as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


#: Open MPI refuses root, and more processes than cores, unless it is told.
OPEN_MPI = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
}
SCRIPT = str(Path(__file__).resolve().with_name("rank.py"))


def together(peer: str, python: str, workload: str, ranks: int, cache: str, limit: float) -> Job:
    """A workload's global batch divided among processes of one thread each; every one on a CPU of its own, while they last."""
    command = [python, SCRIPT, peer, workload, str(ranks), "together"]
    if peer.startswith("graphc"):
        commands = [([*mpiexec(python, ranks), *command], OPEN_MPI)]
    else:
        port = str(free_port())
        shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "WORLD_SIZE": str(ranks), "GLOO_SOCKET_IFNAME": "lo"}
        commands = [(command, {**shared, "RANK": str(rank)}) for rank in range(ranks)]
    return Job(commands, ranks, cache, limit)


def alone(peer: str, python: str, workload: str, parts: int, cache: str, limit: float, threads: int = 1) -> Job:
    """The first of so many parts of the global batch in one process, which knows nothing of others."""
    command = [python, SCRIPT, peer, workload, str(parts), "alone"]
    variables: dict[str, str] = {}
    if threads > 1:
        names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "GRAPHC_NUM_THREADS")
        variables = {**dict.fromkeys(names, str(threads)), "BENCH_CPUS": "all", "XLA_FLAGS": ""}
    return Job([(command, variables)], 1, cache, limit)
