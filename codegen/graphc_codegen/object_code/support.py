"""Object code that is the same for every program: the thread pool, the loop over queues, what measures the machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from graphc_codegen.target import Target, host


def compiled_once(name: str, entry: str, cache_dir: Path | None, make: Callable[[Target], list[bytes]]) -> list[bytes]:
    """What `make` compiles for this machine; once per machine where there is an object cache. `entry` is one of its functions."""
    from graphc_codegen.object_code import cache  # A step from the object cache needs no emitter.

    target = host()
    store = cache.ObjectCache(cache_dir) if cache_dir is not None else None
    key = cache.key((name,), target.key)
    code = store.load(key) if store else None
    if code is None:
        code = make(target)
        if store:
            store.store(key, code, entry)
    return code
