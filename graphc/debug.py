"""The switches. The only place of graphc that reads environment variables.

GRAPHC_JIT=0               run the generated step as plain Python over NumPy twins (checked mode)
GRAPHC_VERIFY=0|1|2        verify never / before and after all passes, in checked mode after each and rewrites too (default) /
                           after each of both, and what graphs mean
GRAPHC_DEBUG=1..3          print times / counts / the IR or statements after each pass and rewrite, to stderr
GRAPHC_DUMP=dir            write what there is to see of the first step there, of the second into dir.2, and so on
MS_DEV_SAVE_GRAPHS=1..3    what set_context(save_graphs=) says, instead of it: 1 graphs, 2 everything, 3 drawings too
MS_DEV_SAVE_GRAPHS_PATH=dir  where that is written, a folder for each step (default: the working directory)
GRAPHC_CACHE_DIR=dir       where compiled objects are kept ("0" or "" switches the cache off)
GRAPHC_CANARY=1            debug build: no buffer reuse, canaries between buffers, checked after each step
GRAPHC_TRACEBACK=full      keep graphc's own frames in tracebacks
GRAPHC_NUM_THREADS=n       the most threads of a step (default: the cores this process may use, fewer where they are far apart)
GRAPHC_PROFILE=1           profiling build: every kernel call counts its time, see `CompiledStep.timings`
GRAPHC_FIND_NAN=1          find the first infinity or NaN of a step and where it comes from (docs/debugging.md)
GRAPHC_RANK_TIMEOUT=s      after so many seconds without a sign of life of a process all others end (default: 60; 0: never)
GRAPHC_SHARED_MEMORY=0     processes on one machine do not reduce in memory that they share, MPI carries everything
GRAPHC_TILES=0|1           no products by AMX' registers / more of them than those of bfloat16, see docs/performance.md
GRAPHC_SIGNATURES=n        compiled steps that a Cell keeps (default: 128), the one that was not called for longest goes
GRAPHC_STEPS_MB=n          what the steps of all Cells may hold together before such go, too (default: a quarter of the memory)
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from graphc.errors import ArgumentValueError
from graphc_codegen.cores import first_of_cores

#: Linux: the microseconds of CPU time that the cgroup of this process has in a period, or "max", and the period.
_QUOTA = Path("/sys/fs/cgroup/cpu.max")
_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


#: How many processes mpiexec has started on this machine.
_LOCAL = ("MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE")


@dataclass(frozen=True, slots=True)
class Switches:
    jit: bool = True
    verify: int = 1
    debug: int = 0
    dump: Path | None = None
    save_graphs: int | None = None
    save_graphs_path: Path | None = None
    cache_dir: Path | None = None
    cache: bool = True
    canary: bool = False
    full_traceback: bool = False
    threads: int = 0
    profile: bool = False
    find_nan: bool = False
    signatures: int = 128
    steps_mb: int = 0
    rank_timeout: float = 60.0
    shared_memory: bool = True
    tiles: bool | None = None


def _from_environment() -> Switches:
    env = os.environ
    cache_dir = env.get("GRAPHC_CACHE_DIR")
    return Switches(
        jit=_jit_from_environment(),
        verify=_integer("GRAPHC_VERIFY", 1),
        debug=_integer("GRAPHC_DEBUG", 0),
        dump=Path(env["GRAPHC_DUMP"]) if env.get("GRAPHC_DUMP") else None,
        save_graphs=_integer("MS_DEV_SAVE_GRAPHS", 0) if env.get("MS_DEV_SAVE_GRAPHS") else None,
        save_graphs_path=Path(env["MS_DEV_SAVE_GRAPHS_PATH"]) if env.get("MS_DEV_SAVE_GRAPHS_PATH") else None,
        cache_dir=Path(cache_dir) if cache_dir not in (None, "", "0") else None,
        cache=cache_dir not in ("", "0"),
        canary=env.get("GRAPHC_CANARY", "0") not in ("", "0"),
        full_traceback=env.get("GRAPHC_TRACEBACK") == "full",
        threads=_integer("GRAPHC_NUM_THREADS", 0),
        profile=env.get("GRAPHC_PROFILE", "0") not in ("", "0"),
        find_nan=env.get("GRAPHC_FIND_NAN", "0") not in ("", "0"),
        signatures=_integer("GRAPHC_SIGNATURES", 128),
        steps_mb=_integer("GRAPHC_STEPS_MB", 0),
        rank_timeout=float(_integer("GRAPHC_RANK_TIMEOUT", 60)),
        shared_memory=env.get("GRAPHC_SHARED_MEMORY", "1") != "0",
        tiles=env["GRAPHC_TILES"] != "0" if env.get("GRAPHC_TILES") else None,
    )


def jit() -> bool:
    """Whether steps run natively; quicker than all of `switches`."""
    return _override.jit if _override is not None else _jit_from_environment()


def finds_nan() -> bool:
    """Whether a `debug` block wants steps that find bad values; quicker than `switches`. The variable holds for a process."""
    return _override is not None and _override.find_nan


def _jit_from_environment() -> bool:
    get = os.environ.get
    return get("GRAPHC_JIT", "1") != "0" and get("NUMBA_DISABLE_JIT", "0") in ("", "0")


def _integer(name: str, default: int) -> int:
    text = os.environ.get(name, "")
    try:
        return int(text) if text else default
    except ValueError:
        raise ArgumentValueError(f"{name} must be an integer, got {text!r}") from None


def threads() -> int:
    """How many threads a step may have: GRAPHC_NUM_THREADS, else the cores of this process and what its cgroup grants.

    Where mpiexec has started several processes on this machine and has bound none to CPUs of its own, these are divided.
    Raises ArgumentValueError for a number below 1.
    """
    wanted = switches().threads
    if wanted < 0:
        raise ArgumentValueError(f"GRAPHC_NUM_THREADS must be positive, got {wanted}")
    return wanted or max(1, min(cpus(), cores()) // _sharing())


@cache
def _sharing() -> int:
    """How many processes that mpiexec has started share the CPUs of this one."""
    told = next((n for v in _LOCAL if (n := os.environ.get(v, "")).isdigit()), "1")
    bound = hasattr(os, "sched_getaffinity") and len(os.sched_getaffinity(0)) < (os.cpu_count() or 1)
    return 1 if bound else max(1, int(told))


@cache
def cpus() -> int:
    """How many CPUs this process may use: those it is bound to, or fewer where its cgroup grants less time."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = _QUOTA.read_text().split()
        granted = int(quota) // int(period)
    except (OSError, ValueError):  # No quota, or another system.
        return count
    return max(1, min(count, granted))


@cache
def cores() -> int:
    """How many cores the CPUs are that this process may use: fewer where a core has two threads, and the system says so."""
    return len(first_of_cores())


@cache
def second_cache() -> int:
    """Bytes of a CPU's second cache, 0 where Linux does not say."""
    try:
        for index in sorted(_CACHES.glob("index*")):
            if (index / "level").read_text().strip() == "2":
                return int((index / "size").read_text().strip().removesuffix("K")) * 1024
    except (OSError, ValueError):
        pass
    return 0


_override: Switches | None = None


def switches() -> Switches:
    """The switches in force."""
    return _override if _override is not None else _from_environment()


@contextmanager
def debug(**changes: object) -> Iterator[Switches]:
    """Set switches for a `with` block, by the field names of `Switches`."""
    global _override
    before = _override
    _override = replace(switches(), **changes)  # type: ignore[arg-type]
    try:
        yield _override
    finally:
        _override = before
