"""Writing in the background: one thread at a time, whose error is raised where the next checkpoint is written or read, or said
at the end of the process, which waits for it.
"""

from __future__ import annotations

import atexit
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from graphc_codegen.forks import rlock

#: As MindSpore's is called.
_NAME = "asyn_save_ckpt"
#: Held while one waits for the thread, so that no other one is begun meanwhile.
_lock = rlock()


class _Writing:
    """A thread that writes a file."""

    def __init__(self, path: Path, write: Callable[[], object]) -> None:
        self.path = path
        self.error: BaseException | None = None
        self._write = write
        self.thread = threading.Thread(target=self._run, name=_NAME)

    def _run(self) -> None:
        try:
            self._write()
        except BaseException as error:
            self.error = error


_last: _Writing | None = None


def start(path: Path, write: Callable[[], object]) -> None:
    """Call `write`, which writes that file, in a thread; after `finish`."""
    global _last
    with _lock:
        finish()
        _last = _Writing(path, write)
        _last.thread.start()


def finish() -> None:
    """Wait until nothing is being written; raises the error that kept the last file from being written, once."""
    global _last
    with _lock:
        if _last is None:
            return
        _last.thread.join()
        ended, _last = _last, None
    if ended.error is not None:
        ended.error.add_note(f"{str(ended.path)!r} was being saved in the background (async_save)")
        raise ended.error


def is_writing() -> bool:
    """Whether a file is being written."""
    last = _last
    return last is not None and last.thread.is_alive()


@atexit.register
def _report() -> None:
    """Threads have ended before this runs."""
    try:
        finish()
    except BaseException as error:
        print(f"graphc: {'; '.join([str(error), *getattr(error, '__notes__', ())])}", file=sys.stderr)
