"""What a process that forks leaves to its child in order: free locks, and compilers that nobody is inside of.

Of the threads only the one that forks exists in the child. A lock that another one holds would stay locked there, and what
it was in the middle of would never be finished. So all locks are made here, and are free in the child; objects that other
threads work on are told (`renew`); and a fork waits until the compilations of other threads are over, since Numba, LLVM and
Python's imports have locks that nobody can free. It does not wait for steps: parameters that one is just changing are in the
child as they are at that moment.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import Counter
from functools import cache
from typing import Any, Protocol
from weakref import WeakSet

#: Seconds that a fork waits for the compilations of other threads: one of them may itself wait for the thread that forks.
PATIENCE = 30.0


class Forgetful(Protocol):
    """What other threads work on."""

    def forget(self) -> None:
        """In the child: those threads exist no more."""
        ...


_locks: WeakSet[Any] = WeakSet()
_objects: WeakSet[Any] = WeakSet()


def lock() -> threading.Lock:
    """A lock that is free in the child of a fork."""
    made = threading.Lock()
    _locks.add(made)
    return made


def rlock() -> threading.RLock:
    """A reentrant lock that is free in the child of a fork, unless the thread that forks holds it."""
    made = threading.RLock()
    _locks.add(made)
    return made


def renew(each: Forgetful) -> None:
    """Have an object's `forget` called in the child of a fork, as long as it exists."""
    _objects.add(each)


class Gate:
    """Inside, no other thread forks; who is inside may do so."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Open, with nobody inside but this thread's own."""
        me = threading.get_ident()
        count = self._inside[me] if hasattr(self, "_inside") else 0
        self._changed = threading.Condition(threading.Lock())
        self._inside: Counter[int] = Counter({me: count} if count else {})
        self._closed = False

    def __enter__(self) -> None:
        _register()
        me = threading.get_ident()
        with self._changed:
            while self._closed and me not in self._inside:
                self._changed.wait()
            self._inside[me] += 1

    def __exit__(self, *_: object) -> None:
        me = threading.get_ident()
        with self._changed:
            self._inside[me] -= 1
            if not self._inside[me]:
                del self._inside[me]
            self._changed.notify_all()

    def close(self, seconds: float) -> None:
        """Let no other thread in, and wait until those inside are gone, but no longer than so many seconds."""
        me = threading.get_ident()
        with self._changed:
            self._closed = True
            self._changed.wait_for(lambda: self._inside.keys() <= {me}, seconds)

    def open(self) -> None:
        with self._changed:
            self._closed = False
            self._changed.notify_all()


#: Inside are those who compile.
unforked = Gate()
#: One thread forks at a time.
_forking = threading.Lock()
_held: list[Any] = []


def _compilers() -> list[Any]:
    """The locks of Numba and llvmlite, in the order in which they are taken; users' own functions are compiled under them."""
    found = []
    for module, path in (("numba.core.compiler_lock", "global_compiler_lock"), ("llvmlite.binding.ffi", "lib")):
        owner: Any = getattr(sys.modules.get(module), path, None)
        while owner is not None and not hasattr(owner, "_at_fork_reinit"):
            owner = getattr(owner, "_lock", None)  # The lock inside, of Python's own.
        if owner is not None:
            found.append(owner)
    return found


def _before() -> None:
    _forking.acquire()
    end = time.monotonic() + PATIENCE
    unforked.close(PATIENCE)
    for each in _compilers():
        if each.acquire(timeout=max(0.0, end - time.monotonic())):
            _held.append(each)


def _release() -> None:
    while _held:
        _held.pop().release()


def _in_parent() -> None:
    _release()
    unforked.open()
    _forking.release()


def _in_child() -> None:
    _release()
    for each in (*_compilers(), *_locks):
        if not (hasattr(each, "_is_owned") and each._is_owned()):
            each._at_fork_reinit()
    for each in list(_objects):
        each.forget()
    unforked.renew()
    _forking._at_fork_reinit()  # type: ignore[attr-defined]


@cache
def _register() -> None:
    """Tell Python, before anything is compiled.

    What is registered last runs first. These have locks that a compilation needs, too, and take them before a fork: were they
    first, a fork would wait in vain.
    """
    import concurrent.futures.thread  # noqa: F401
    import logging  # noqa: F401

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)
