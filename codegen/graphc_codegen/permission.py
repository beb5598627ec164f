"""Asking Linux for the tile registers of AMX, whose state threads may have only when their process has asked for it."""

from __future__ import annotations

import ctypes
import platform
import sys

#: Linux, arch/x86/include/uapi/asm/prctl.h and Documentation/arch/x86/xstate.rst: the system call, what it is asked, the state.
_ARCH_PRCTL, _ARCH_REQ_XCOMP_PERM, _TILE_DATA = 158, 0x1023, 18


def may_use_tiles() -> bool:
    """Whether threads of this process may use tile registers from now on, which is asked for.

    False where the system is not Linux on x86-64, or says no: its kernel is older than 5.16, a sandbox forbids the call, or a
    thread has a stack for signals that is too small for the state.
    """
    if not sys.platform.startswith("linux") or platform.machine() != "x86_64":
        return False
    call = ctypes.CDLL(None).syscall
    call.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_long]
    call.restype = ctypes.c_long
    return int(call(_ARCH_PRCTL, _ARCH_REQ_XCOMP_PERM, _TILE_DATA)) == 0
