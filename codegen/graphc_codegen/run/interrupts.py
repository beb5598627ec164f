"""Ctrl-C ends a compiled loop.

Python's handler of a signal runs in the main thread, which cannot be while that is inside a compiled step. But Python writes
the signal's number to a file at once, if there is one (`signal.set_wakeup_fd`). So it gets one while a step with loops runs in
the main thread, and a thread that reads it sets the step's flag, at which loops look in each turn.
"""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np

from graphc_codegen.forks import renew

Array = np.ndarray[Any, np.dtype[Any]]
Made = TypeVar("Made")
#: No file.
_NONE = -1


class Watch:
    """Calls steps with loops. Whoever had a file for signals before gets theirs meanwhile, and has it back afterwards."""

    def __init__(self) -> None:
        self._sockets: tuple[socket.socket, socket.socket] | None = None
        self._flag: Array | None = None
        self._before = _NONE
        renew(self)

    def call(self, entry: Callable[[int], Made], context: int, flag: Array) -> Made:
        """entry(context); flag[0] becomes 1 when SIGINT arrives meanwhile, if this is the main thread.

        Python writes no number of a signal that it does not handle, such as one that is ignored.
        """
        if threading.current_thread() is not threading.main_thread():
            return entry(context)
        if self._sockets is None:
            self._sockets = self._start()
        self._before = signal.set_wakeup_fd(self._sockets[1].fileno(), warn_on_full_buffer=False)
        try:
            self._flag = flag
            return entry(context)
        finally:
            self._flag = None
            signal.set_wakeup_fd(self._before, warn_on_full_buffer=False)

    def _start(self) -> tuple[socket.socket, socket.socket]:
        read, write = socket.socketpair()
        write.setblocking(False)
        threading.Thread(target=self._read, args=(read,), daemon=True, name="graphc-interrupts").start()
        return read, write

    def _read(self, end: socket.socket) -> None:
        while signals := end.recv(4096):
            flag = self._flag
            if flag is not None and signal.SIGINT in signals:
                flag[0] = 1
            if self._before != _NONE:
                with suppress(OSError):
                    os.write(self._before, signals)

    def forget(self) -> None:
        """In the child of a fork: the thread exists no more, and the file is the parent's."""
        if self._flag is not None:  # The parent's main thread was in a step; another one forked.
            signal.set_wakeup_fd(self._before, warn_on_full_buffer=False)
        for end in self._sockets or ():
            end.close()
        self._sockets = self._flag = None


watch = Watch()
