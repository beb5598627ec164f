"""`mindspore.hal` and `mindspore.runtime`: what they say on a CPU. Every call is done when it returns, nothing is counted."""

from __future__ import annotations

from typing import Any

from graphc.compat.toplevel import empty_cache as empty_cache
from graphc.compat.toplevel import set_cpu_affinity as set_cpu_affinity
from graphc.compat.toplevel import set_memory as set_memory
from graphc.compat.toplevel import synchronize as synchronize
from graphc.errors import ArgumentValueError, user_loc
from graphc.validation.checks import one_of

_TARGETS = ("CPU", "GPU", "Ascend")


def _require_cpu(owner: str, device_target: str | None) -> None:
    if device_target not in (None, "CPU"):
        raise ArgumentValueError(f"{owner}: there is no {device_target}, only a CPU", loc=user_loc())


def is_available(device_target: str) -> bool:
    """Whether there are devices of a kind, "CPU", "GPU" or "Ascend": of CPUs alone. ArgumentValueError for other kinds."""
    one_of("is_available", "device_target", device_target, _TARGETS)
    return device_target == "CPU"


def is_initialized(device_target: str) -> bool:
    """Whether a device has been started: False, a CPU needs no start."""
    is_available(device_target)
    return False


def device_count(device_target: str | None = None) -> int:
    """How many devices there are: 1. ArgumentValueError for other kinds than CPUs."""
    _require_cpu("device_count", device_target)
    return 1


def get_device_name(device_id: int, device_target: str | None = None) -> str:
    """The name of the device, "CPU". ArgumentValueError for another number than 0, and for other kinds."""
    _require_cpu("get_device_name", device_target)
    if device_id != 0:
        raise ArgumentValueError(f"get_device_name: there is one device, number 0, got {device_id!r}", loc=user_loc())
    return "CPU"


def get_device_capability(device_id: int, device_target: str | None = None) -> None:
    """None: a CPU has no such version."""
    get_device_name(device_id, device_target)


get_device_properties = get_device_capability


def get_arch_list(device_target: str | None = None) -> None:
    """None: there are no kernels for other devices."""
    _require_cpu("get_arch_list", device_target)


class Event:
    """A mark between calls: it has happened as soon as it is recorded."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False) -> None:
        self.enable_timing, self.blocking = enable_timing, blocking

    def record(self, stream: Any = None) -> None:
        """Nothing to note: all calls before are done."""

    def wait(self, stream: Any = None) -> None:
        """Return at once."""

    def synchronize(self) -> None:
        """Return at once."""

    def query(self) -> bool:
        """Whether it has happened: True."""
        return True

    def elapsed_time(self, other: Event) -> float:
        """0.0, as MindSpore has it on a CPU."""
        return 0.0


class Stream:
    """The order of calls, of which there is one: all streams are equal."""

    def __init__(self, priority: int = 0, **options: Any) -> None:
        self.priority = priority
        self.id = self.device_id = 0
        self.device_name = "CPU"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream)

    def __hash__(self) -> int:
        return hash(Stream)

    def __repr__(self) -> str:
        return "Stream(device_name=CPU, device_id:0, stream id:0)"

    def record_event(self, event: Event | None = None) -> Event:
        """An event that has happened."""
        return Event() if event is None else event

    def wait_event(self, event: Event) -> None:
        """Return at once."""

    def wait_stream(self, stream: Stream) -> None:
        """Return at once."""

    def synchronize(self) -> None:
        """Return at once."""

    def query(self) -> bool:
        """Whether all its calls are done: True."""
        return True


_STREAM = Stream()


def current_stream() -> Stream:
    """The only stream."""
    return _STREAM


default_stream = communication_stream = current_stream


def set_cur_stream(stream: Stream | None) -> None:
    """Nothing: there is one stream."""


class StreamCtx:
    """`with StreamCtx(stream):` runs its body as it is."""

    def __init__(self, ctx_stream: Stream | None) -> None:
        self.stream = ctx_stream

    def __enter__(self) -> None:
        return None

    def __exit__(self, *error: object) -> None:
        return None


def memory_allocated(device_target: str | None = None) -> int:
    """0: MindSpore counts the memory of other devices alone."""
    _require_cpu("memory_allocated", device_target)
    return 0


max_memory_allocated = memory_reserved = max_memory_reserved = memory_allocated


def memory_stats(device_target: str | None = None) -> dict[str, Any]:
    """The numbers of the other functions by name, zeros, and those of two pools without a block."""
    kinds = ("total_reserved", "total_allocated", "total_idle", "total_eager_free", "max_reserved", "max_allocated")
    stats: dict[str, Any] = dict.fromkeys((f"{kind}_memory" for kind in kinds), memory_allocated(device_target))
    stats["common_mem_pool_stats"] = {"block_unit_size": 0, "block_counts": 0, "blocks_info": {}}
    stats["persistent_mem_pool_stats"] = {"block_counts": 0, "block_unit_size": 0, "blocks_info": {}}
    return stats


def memory_summary(device_target: str | None = None) -> str:
    """`memory_stats` as text."""
    stats = memory_stats(device_target)
    return "\n".join(f"{name}: {size} B" for name, size in stats.items() if isinstance(size, int))


def reset_peak_memory_stats(device_target: str | None = None) -> None:
    """Nothing: nothing is counted."""
    _require_cpu("reset_peak_memory_stats", device_target)


reset_max_memory_allocated = reset_max_memory_reserved = reset_peak_memory_stats


def launch_blocking() -> None:
    """Nothing: every call is done when it returns."""


def dispatch_threads_num(threads_num: int) -> None:
    """Nothing: GRAPHC_NUM_THREADS says how many threads a step has."""


__all__ = [
    "Event", "Stream", "StreamCtx", "communication_stream", "current_stream", "default_stream", "device_count",
    "dispatch_threads_num", "empty_cache", "get_arch_list", "get_device_capability", "get_device_name",
    "get_device_properties", "is_available", "is_initialized", "launch_blocking", "max_memory_allocated",
    "max_memory_reserved", "memory_allocated", "memory_reserved", "memory_stats", "memory_summary",
    "reset_max_memory_allocated", "reset_max_memory_reserved", "reset_peak_memory_stats", "set_cpu_affinity",
    "set_cur_stream", "set_memory", "synchronize",
]  # fmt: skip
