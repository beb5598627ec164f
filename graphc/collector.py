"""A pause of Python's garbage collector, for imports and compilations."""

from __future__ import annotations

import gc
import threading


class _Pause:
    """Python's cyclic garbage collector is off inside, in all threads; it comes back, if it was on, with the last one out.

    Nearly all that an import or a compilation makes stays. The collector, which goes by what has been made, would walk it, and
    every object of numba's, a few times: a tenth of the time of both.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._was_on = False

    def __enter__(self) -> None:
        with self._lock:
            if not self._inside:
                self._was_on = gc.isenabled()
                gc.disable()
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside and self._was_on:
                gc.enable()


paused = _Pause()
