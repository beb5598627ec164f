"""`dataset.config`: settings of all data sets, read when an iterator is made."""

from __future__ import annotations

import inspect
import json
import os
import random
import secrets
from collections.abc import Callable
from enum import IntEnum
from typing import Any

import numpy as np

from graphc.dataset.checks import INT32_MAX, integer, truth
from graphc.dataset.debug import DebugHook, PrintMetaDataHook
from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.ops.tensor import seed as global_seed
from graphc.validation.checks import exact_int
from graphc.validation.signatures import accept
from graphc.validation.unused_arguments import no_effect, only

#: MindSpore's default, which means: draw a new seed for each iterator.
UNSET = 5489

_settings: dict[str, Any] = {}
_DEFAULTS: dict[str, Any] = {
    "seed": UNSET,
    #: How often graphc.set_seed had been called when the seed was set here: the later of the two counts.
    "after": 0,
    "num_parallel_workers": 1,
    "prefetch_size": 16,
    "multiprocessing_start_method": "spawn",
    "debug_mode": False,
    "debug_hooks": [],
    "enable_shared_mem": True,
    "callback_timeout": 60,
    "error_samples_mode": 0,
    "iterator_mode": {"do_copy": False, "parallel_convert": False},
}
_settings.update(_DEFAULTS)


def set_seed(seed: int) -> None:
    """The seed of shuffles and random transforms: an int from 0 to 2**32 - 1; 5489 stands for a new one each time.

    Python's and NumPy's global generators are seeded with it, as in MindSpore. `graphc.set_seed` sets it, too; the later call
    counts.
    """
    exact_int("set_seed", "the seed", seed)
    if not 0 <= seed < 2**32:
        raise ArgumentValueError(f"set_seed: the seed must lie in [0, 2**32 - 1], got {seed}", loc=user_loc())
    _settings["seed"], _settings["after"] = seed, global_seed.times_set()
    random.seed(seed)
    np.random.seed(seed)


def get_seed() -> int:
    """The seed that was set, else 5489."""
    seed = global_seed.get_seed()
    if seed is not None and global_seed.times_set() > _settings["after"]:
        return seed
    return int(_settings["seed"])


def drawn_seed() -> int:
    """The seed of a new iterator: the one that was set, else a new one of the operating system's."""
    seed = get_seed()
    return secrets.randbits(32) if seed == UNSET else seed


def set_num_parallel_workers(num: int) -> None:
    """How many workers a data set has that was not given a number: 1 or more, at most the cores (8 are always allowed)."""
    _settings["num_parallel_workers"] = integer("set_num_parallel_workers", "num", num, 1, max(os.cpu_count() or 1, 8))


def get_num_parallel_workers() -> int:
    """How many workers a data set has that was not given a number; 1 until it is set."""
    return int(_settings["num_parallel_workers"])


def set_prefetch_size(size: int) -> None:
    """How many rows (batches, after `batch`) an iterator reads ahead, 1 or more; 16 until it is set."""
    _settings["prefetch_size"] = integer("set_prefetch_size", "size", size, 1, INT32_MAX)


def get_prefetch_size() -> int:
    """How many rows an iterator reads ahead."""
    return int(_settings["prefetch_size"])


def set_multiprocessing_start_method(start_method: str = "spawn") -> None:
    """How worker processes begin: "spawn" (they import the main program), or "fork" (they begin as copies of it)."""
    only("set_multiprocessing_start_method", "start_method", start_method, "spawn", "fork")
    _settings["multiprocessing_start_method"] = start_method


def get_multiprocessing_start_method() -> str:
    """How worker processes begin; "spawn" until it is set (MindSpore: "fork")."""
    return str(_settings["multiprocessing_start_method"])


def set_debug_mode(debug_mode_flag: bool, debug_hook_list: list[DebugHook] | None = None) -> None:
    """With True, new iterators do everything in the thread that asks, when it asks: no workers, nothing read ahead.

    debug_hook_list: what is called with the values before and after each operation of `map`; None for [PrintMetaDataHook()],
    as in MindSpore, and [] for nothing.
    """
    hooks = [PrintMetaDataHook()] if debug_hook_list is None else debug_hook_list
    if not isinstance(hooks, list) or not all(isinstance(hook, DebugHook) for hook in hooks):
        raise ArgumentTypeError("set_debug_mode: debug_hook_list must be a list of DebugHooks", loc=user_loc())
    _settings["debug_mode"] = truth("set_debug_mode", "debug_mode_flag", debug_mode_flag)
    _settings["debug_hooks"] = list(hooks)


def debug_hooks() -> list[DebugHook] | None:
    """The hooks of debug mode; None without it."""
    return _settings["debug_hooks"] if get_debug_mode() else None


def get_debug_mode() -> bool:
    """Whether new iterators work without threads and processes."""
    return bool(_settings["debug_mode"])


def set_callback_timeout(timeout: int) -> None:
    """How many seconds rows wait for the training, in a WaitedDSCallback or behind sync_wait; 60 until it is set."""
    _settings["callback_timeout"] = integer("set_callback_timeout", "timeout", timeout, 1, INT32_MAX)


def get_callback_timeout() -> int:
    """How many seconds rows wait for the training."""
    return int(_settings["callback_timeout"])


def set_enable_shared_mem(enable: bool) -> None:
    """Whether worker processes hand over arrays in shared memory (True) or through a pipe."""
    _settings["enable_shared_mem"] = truth("set_enable_shared_mem", "enable", enable)


def get_enable_shared_mem() -> bool:
    """Whether worker processes hand over arrays in shared memory."""
    return bool(_settings["enable_shared_mem"])


def _bool(name: str, value: Any) -> bool:
    return truth(f"set_{name}", name, value)


def _count(name: str, value: Any) -> int:
    return integer(f"set_{name}", name, value, 0, INT32_MAX)


def _remembered(name: str, argument: str, default: Any, check: Callable[[str, Any], Any], why: str) -> Any:
    """set_<name>(argument) and get_<name>() of a setting that another value than the default has no effect for."""
    _DEFAULTS[name] = _settings[name] = default
    signature = inspect.Signature([inspect.Parameter(argument, inspect.Parameter.POSITIONAL_OR_KEYWORD)])

    def setter(*given: Any, **named: Any) -> None:
        try:
            value = signature.bind(*given, **named).arguments[argument]
        except TypeError as error:
            raise ArgumentTypeError(f"set_{name}: takes one argument, {argument}: {error}", loc=user_loc()) from None
        _settings[name] = check(name, value)
        if _settings[name] != default:
            no_effect("dataset.config", f"set_{name}", why)

    def getter() -> Any:
        return _settings[name]

    setter.__name__, getter.__name__ = f"set_{name}", f"get_{name}"
    vars(setter)["__signature__"] = signature
    setter.__doc__ = (
        f"Remember a setting of MindSpore's ({default} until it is set). Has no effect, which is said once: {why}."
    )
    getter.__doc__ = f"What set_{name} was given, else {default}."
    return setter, getter


_AS_SET = "workers and prefetching are what is set"
set_auto_num_workers, get_auto_num_workers = _remembered("auto_num_workers", "enable", False, _bool, _AS_SET)
set_enable_watchdog, get_enable_watchdog = _remembered(
    "enable_watchdog", "enable", True, _bool, "a dead worker process is always an error"
)
set_numa_enable, get_numa_enable = _remembered(
    "numa_enable", "numa_enable", False, _bool, "the operating system places threads"
)
set_autotune_interval, get_autotune_interval = _remembered("autotune_interval", "interval", 0, _count, _AS_SET)
set_auto_offload, get_auto_offload = _remembered(
    "auto_offload", "offload", False, _bool, "transforms run where the data set does"
)
set_monitor_sampling_interval, get_monitor_sampling_interval = _remembered(
    "monitor_sampling_interval", "interval", 1000, _count, "`graphc prof` measures"
)
set_multiprocessing_timeout_interval, get_multiprocessing_timeout_interval = _remembered(
    "multiprocessing_timeout_interval", "interval", 300, _count, "a dead worker process is an error at once"
)
set_dynamic_shape, get_dynamic_shape = _remembered(
    "dynamic_shape", "is_dynamic", False, _bool, "rows may have any shape"
)
set_fast_recovery, get_fast_recovery = _remembered(
    "fast_recovery", "fast_recovery", True, _bool, "the order is that of the seed"
)
set_sending_batches, _ = _remembered(
    "sending_batches", "batch_num", 0, _count, "rows are handed over when they are asked for"
)


def set_enable_autotune(enable: bool, filepath_prefix: str | None = None) -> None:
    """MindSpore may tune workers and queues while it runs. Has no effect, which is said once."""
    only("set_enable_autotune", "filepath_prefix", filepath_prefix, None)
    _set_enable_autotune(enable)


_set_enable_autotune, get_enable_autotune = _remembered("enable_autotune", "enable", False, _bool, _AS_SET)


class ErrorSamplesMode(IntEnum):
    """What becomes of a sample that map fails for: the error is raised, another takes its place, or it is left out."""

    RETURN = 0
    REPLACE = 1
    SKIP = 2


def set_error_samples_mode(error_samples_mode: ErrorSamplesMode) -> None:
    """What becomes of samples that map fails for, in iterators that are made later: until it is set, and in debug mode, errors
    are raised (RETURN). SKIP leaves the samples out. With REPLACE others stand in for them, sixteen that went well, in turn, over
    all passes of an iterator: at the end of a pass, or one before each row from then on that there are sixteen.

    Raises ArgumentTypeError.
    """
    if not isinstance(error_samples_mode, ErrorSamplesMode):
        raise ArgumentTypeError(
            f"set_error_samples_mode: must be one of ErrorSamplesMode, got {error_samples_mode!r}", loc=user_loc()
        )
    _settings["error_samples_mode"] = error_samples_mode


def get_error_samples_mode() -> ErrorSamplesMode:
    """What becomes of samples that map fails for; RETURN until it is set: the error is raised."""
    return ErrorSamplesMode(_settings["error_samples_mode"])


def on_errors() -> ErrorSamplesMode:
    """What becomes of samples that map fails for: as it was set, but in debug mode, where errors are raised."""
    return ErrorSamplesMode.RETURN if get_debug_mode() else get_error_samples_mode()


def set_iterator_mode(do_copy: bool = False, parallel_convert: bool = False) -> None:
    """Remember how MindSpore would make Tensors of rows. Has no effect, which is said once: every row is memory of its own."""
    given = {"do_copy": do_copy, "parallel_convert": parallel_convert}
    _settings["iterator_mode"] = {name: truth("set_iterator_mode", name, value) for name, value in given.items()}
    if _settings["iterator_mode"] != _DEFAULTS["iterator_mode"]:
        no_effect("dataset.config", "set_iterator_mode", "every row is memory of its own")


def get_iterator_mode() -> dict[str, bool]:
    """What set_iterator_mode was given, by the names of its arguments."""
    return dict(_settings["iterator_mode"])


def load(file: str) -> None:
    """Set what a JSON file of {"numParallelWorkers", "seed", "prefetchSize"} says; ArgumentValueError for other keys."""
    setters = {
        "numParallelWorkers": set_num_parallel_workers,
        "seed": set_seed,
        "prefetchSize": set_prefetch_size,
    }
    with open(file, encoding="utf-8") as opened:
        stored = json.load(opened)
    unknown = sorted(set(stored) - set(setters))
    if unknown:
        raise ArgumentValueError(
            f"dataset.config.load: {file} has {unknown[0]!r}, known are {', '.join(setters)}", loc=user_loc()
        )
    for name, value in stored.items():
        setters[name](value)


accept(globals(), [name for name in globals() if name.startswith(("get_", "set_"))] + ["load"], __name__)

__all__ = [
    "ErrorSamplesMode", "get_auto_num_workers", "get_auto_offload",
    "get_autotune_interval", "get_callback_timeout", "get_debug_mode", "get_dynamic_shape", "get_enable_autotune",
    "get_enable_shared_mem", "get_enable_watchdog", "get_error_samples_mode", "get_fast_recovery",
    "get_iterator_mode", "get_monitor_sampling_interval", "get_multiprocessing_start_method",
    "get_multiprocessing_timeout_interval", "get_num_parallel_workers", "get_numa_enable", "get_prefetch_size",
    "get_seed", "load", "set_auto_num_workers", "set_auto_offload", "set_autotune_interval", "set_callback_timeout",
    "set_debug_mode", "set_dynamic_shape", "set_enable_autotune", "set_enable_shared_mem", "set_enable_watchdog",
    "set_error_samples_mode", "set_fast_recovery", "set_iterator_mode", "set_monitor_sampling_interval",
    "set_multiprocessing_start_method", "set_multiprocessing_timeout_interval", "set_num_parallel_workers",
    "set_numa_enable", "set_prefetch_size", "set_seed", "set_sending_batches",
]  # fmt: skip
