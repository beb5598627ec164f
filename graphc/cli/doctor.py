"""`graphc doctor`: versions, the processor and how far its cores are apart, the switches and the cache, for a bug report."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any

from graphc.debug import cores, cpus, switches

_PACKAGES = ("graphc", "numpy", "networkx", "jinja2", "numba", "llvmlite")

#: The features that decide which code is generated.
_FEATURES = ("avx512f", "avx512vl", "avx512dq", "avx512bw", "avx2", "fma", "f16c", "neon", "sve")
#: Products of halves in hardware: no code is generated for them, but for those of bfloat16 where these are faster.
_UNUSED = ("avx512bf16", "avx512fp16", "amx-bf16", "amx-fp16")


def report() -> dict[str, Any]:
    """All of it as plain data. Versions are read from the installed metadata; numba is not imported."""
    return {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: _version(name) for name in _PACKAGES},
        "cpu": _cpu(),
        "switches": {k: str(v) if isinstance(v, Path) else v for k, v in asdict(switches()).items()},
        "cache": _cache(),
    }


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _cpu() -> dict[str, Any]:
    about: dict[str, Any] = {"machine": platform.machine(), "cpus": cpus(), "cores": min(cpus(), cores())}
    try:
        from llvmlite import binding
    except ImportError as error:
        return about | {"error": f"llvmlite cannot be imported: {error}"}
    have = binding.get_host_cpu_features()
    about |= {
        "name": binding.get_host_cpu_name(),
        "features": [f for f in _FEATURES if have.get(f)],
        "halves": _halves(have),
    }
    return about | _apart(about["cores"])


def _apart(cores: int) -> dict[str, Any]:
    """How far two cores are apart: nanoseconds that a line of the cache takes from one to the other, and whether they are threads
    of one core after all; None if there is but one or they are busy.
    """
    try:
        # `doctor` measures, and tells what fails on the way.
        from graphc.lower import Apart
        from graphc.steps.build import apart

        found = apart(1.0) if cores > 1 else Apart()
    except (ImportError, RuntimeError) as error:  # A CodegenError is one.
        return {"distance_ns": None, "one_core": None, "distance_error": str(error)}
    return {"distance_ns": found.nanoseconds, "one_core": None if found.slowing is None else found.is_one_core}


def _how_computed() -> tuple[bool, str]:
    """Whether float16 is converted by instructions, and by what products of bfloat16 are made; a processor for which no code is
    generated has none of it.
    """
    try:
        # `doctor` measures, and tells what fails on the way.
        from graphc.steps.build import converts_float16, multiplies_bfloat16

        return converts_float16(), multiplies_bfloat16()
    except (ImportError, RuntimeError):  # A CodegenError is one.
        return False, ""


def _halves(have: Mapping[str, bool]) -> dict[str, Any]:
    """How float16 and bfloat16 become float32 and back, and what is there for them besides, which is not used."""
    converts, how = _how_computed()
    more = how == "all by tiles"
    used = {"": (), "pairs": ("avx512bf16",)}.get(how, ("amx-bf16", "avx512bf16"))
    return {
        "float16": "instructions" if converts else "integers",
        "bfloat16": "instructions" if how == "pairs" else "shifts",
        "products": {
            "float16": "AMX tiles, in two pieces of bfloat16" if more else "multiply-adds of float32",
            "bfloat16": {"": "multiply-adds of float32", "pairs": "vdpbf16ps"}.get(how, "AMX tiles"),
            "float32": "AMX tiles, in three pieces of bfloat16" if more else "multiply-adds",
        },
        "unused": [f for f in _UNUSED if have.get(f) and f not in used],
    }


def _cache() -> dict[str, Any]:
    if not switches().cache:
        return {"directory": None, "files": 0, "bytes": 0}
    try:
        # `doctor` tells where the cache is, and what fails on the way.
        from graphc_codegen.object_code.cache import default_directory
    except ImportError as error:
        return {"directory": None, "files": 0, "bytes": 0, "error": f"graphc_codegen cannot be imported: {error}"}
    directory = switches().cache_dir or default_directory()
    if directory is None:
        return {"directory": None, "files": 0, "bytes": 0, "error": "none: there is no home directory"}
    files = [p.stat().st_size for p in directory.rglob("*") if p.is_file()] if directory.is_dir() else []
    return {"directory": str(directory), "files": len(files), "bytes": sum(files)}


def report_text(report: dict[str, Any]) -> str:
    """The report as aligned lines."""
    lines = [f"{'python':<12} {report['python']}", f"{'platform':<12} {report['platform']}"]
    lines += [f"{name:<12} {version or 'not installed'}" for name, version in report["packages"].items()]
    cpu, cache = report["cpu"], report["cache"]
    on = "" if cpu["cpus"] == cpu["cores"] else f" ({cpu['cpus']} CPUs)"
    lines.append(f"{'cpu':<12} {cpu.get('name', cpu['machine'])}, {cpu['cores']} cores{on} usable")
    lines.append(f"{'distance':<12} {_distance_text(cpu)}")
    lines.append(f"{'features':<12} {cpu.get('error') or ' '.join(cpu['features']) or 'none of those that matter'}")
    if "halves" in cpu:
        lines.append(f"{'halves':<12} {_halves_text(cpu['halves'])}")
    lines.append(f"{'switches':<12} {', '.join(f'{k}={v}' for k, v in report['switches'].items())}")
    if cache["directory"] is None:
        lines.append(f"{'cache':<12} {cache.get('error', 'switched off')}")
    else:
        lines.append(f"{'cache':<12} {cache['directory']}: {cache['files']} files, {cache['bytes'] / 1e6:.1f} MB")
    return "\n".join(lines)


def _distance_text(cpu: dict[str, Any]) -> str:
    nanoseconds = cpu.get("distance_ns")
    if nanoseconds is not None:
        whose = "one to another of them, which are threads of one core" if cpu["one_core"] else "one core to another"
        return f"a line of the cache takes {nanoseconds:.0f} ns from {whose}"
    return str(
        cpu.get("distance_error", "one core" if cpu["cores"] < 2 else "not known: no two threads ran at the same time")
    )


def _halves_text(halves: Mapping[str, Any]) -> str:
    how = [f"{t} converted by {halves[t]}, multiplied by {halves['products'][t]}" for t in ("float16", "bfloat16")]
    unused = f"{' '.join(halves['unused'])} not used" if halves["unused"] else "no other products of halves in hardware"
    return "; ".join([*how, f"float32 multiplied by {halves['products']['float32']}", unused])
