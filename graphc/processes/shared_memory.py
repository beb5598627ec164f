"""Memory that the processes of a group share, where they are on one machine: a window of each, which all others read.

A window is a file without a name, which Linux keeps in memory and forgets with its last process, however that ends. The others
find it by the number of its process and check by a random word that it is the one.
"""

from __future__ import annotations

import ctypes
import logging
import mmap
import os
from typing import Any

from graphc.debug import switches
from graphc_codegen.links import FOLDED, WINDOW_BYTES, WINDOW_DATA, WINDOWS

__all__ = ["FOLDED", "WINDOW_BYTES", "windows_of"]

_logger = logging.getLogger("graphc")
_TOKEN = 16
_SIZE = WINDOW_DATA + WINDOW_BYTES
#: Those that are open, by their addresses.
_open: dict[int, mmap.mmap] = {}


def windows_of(communicator: Any) -> tuple[int, ...]:
    """The addresses of the windows of a communicator's processes, all of which call this, by rank; none, in all of them, where
    one cannot read another's. Pages are taken when they are first written.
    """
    made = _made() if switches().shared_memory and communicator.Get_size() <= WINDOWS else None
    told = communicator.allgather(made and (os.getpid(), made[0], made[1]))
    try:
        found = [_opened(*each) for each in told] if all(told) else None
        why = "one of them has none"
    except OSError as error:
        found, why = None, str(error)
    everybody = communicator.allgather(found is not None)
    if made is not None:
        # All others have opened it by now, or will not.
        os.close(made[0])
    if found is None or not all(everybody):
        if switches().shared_memory:
            _logger.info("processes do not share memory (%s): MPI carries what they reduce", why)
        return ()
    addresses = tuple(ctypes.addressof(ctypes.c_char.from_buffer(window)) for window in found)
    _open.update(zip(addresses, found, strict=True))
    return addresses


def close_windows(addresses: tuple[int, ...]) -> None:
    """Give the memory of windows back: nobody knows their addresses any more."""
    for address in addresses:
        _open.pop(address).close()


def _made() -> tuple[int, bytes] | None:
    """A new window: its file, and the word that it begins its data with. None on a system without such files."""
    if not hasattr(os, "memfd_create"):
        return None
    token = os.urandom(_TOKEN)
    try:
        file = os.memfd_create("graphc-window")
        os.ftruncate(file, _SIZE)
        os.pwrite(file, token, WINDOW_DATA)
    except OSError:
        return None
    return file, token


def _opened(process: int, file: int, token: bytes) -> mmap.mmap:
    """The window of a process on this machine. OSError where it is not that, or not to be read."""
    descriptor = os.open(f"/proc/{process}/fd/{file}", os.O_RDWR)
    try:
        if os.fstat(descriptor).st_size != _SIZE or os.pread(descriptor, _TOKEN, WINDOW_DATA) != token:
            raise OSError("a process is on another machine")
        return mmap.mmap(descriptor, _SIZE)
    finally:
        os.close(descriptor)
