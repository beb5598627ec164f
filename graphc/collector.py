"""Python's cyclic garbage collector, kept out of the way where much is made that stays."""

from __future__ import annotations

import gc

from graphc_codegen.forks import lock


class Pause:
    """The collector is off inside, in all threads; it comes back, if it was on, with the last one out.

    The collector goes by how much has been made. It would walk what an import or a compilation makes, nearly all of which
    stays, and every object of other libraries, a few times: a tenth of the time of compiling. Afterwards it would walk
    all that is new once more, a good part of the time of the first step; so that becomes old without a walk. But only
    once between two full collections: the little garbage that is old with it waits for the next one.
    """

    def __init__(self) -> None:
        self._lock = lock()
        self._inside = 0
        self._was_on = False
        self._aged_at = -1  # The number of full collections when something became old unseen.

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
                self._age()
                gc.enable()

    def _age(self) -> None:
        """Make what is young old, unless frozen objects would thaw with it."""
        collections = gc.get_stats()[-1]["collections"]
        if collections != self._aged_at and not gc.get_freeze_count():
            gc.freeze()
            gc.unfreeze()  # Into the oldest generation.
            self._aged_at = collections


#: While graphc is imported.
importing = Pause()
#: While a cell is compiled.
compiling = Pause()
