"""Keeps object code between processes: `KEY.o`, objects in a row, and their description `KEY.json` in a directory.

The key is a hash of all that the objects are made from. The directory, and each file in it, must belong to the user alone,
since what lies in it is run. Nothing is pickled.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import json
import os
import stat
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, ClassVar

from graphc_codegen.errors import CacheWarning
from graphc_codegen.object_code.sources import fingerprint
from graphc_codegen.text.render import version as own_version

#: Bytes of objects that a directory may hold; the oldest go first. No single file is read that has more.
LIMIT = 512 * 2**20
#: Bytes of a description; there is no longer one.
_DESCRIPTION = 2**20
#: Seconds after which a file that is being written is what a killed process has left.
_ABANDONED = 600
#: Whose lines a warning does not name: this package, and the compiler that it is a part of.
_COMPILER = ("graphc_codegen", "graphc")


def default_directory() -> Path | None:
    """`graphc` in XDG_CACHE_HOME, else in ~/.cache; None, and a CacheWarning once, where there is no home."""
    base = os.environ.get("XDG_CACHE_HOME")
    if base:
        return Path(base) / "graphc"
    try:
        return Path.home() / ".cache" / "graphc"
    except RuntimeError:
        _warn_once("this user has no home directory: name another one by XDG_CACHE_HOME or GRAPHC_CACHE_DIR")
        return None


@functools.cache
def versions() -> dict[str, str]:
    """Versions of everything that takes part in making an object; nothing is imported to find out."""
    found = {"graphc": own_version()}
    for name in ("numba", "llvmlite"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "missing"
    return found


def key(material: tuple[str, ...], target_key: str) -> str:
    """SHA-256 over what is compiled, the target, the versions, and this package's own files."""
    digest = hashlib.sha256()
    for part in (*material, target_key, json.dumps(versions(), sort_keys=True), str(fingerprint())):
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def _digest(name: str, sizes: Any, code: bytes) -> str:
    """Of contents and of the key that they are for: one entry's files are of no use as another's."""
    return hashlib.sha256(json.dumps([name, sizes]).encode() + code).hexdigest()


def _read(path: Path, most: int) -> bytes:
    """A file of the user's own that nobody else can write. Raises OSError for another one, and ValueError for a longer one."""
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.getuid() or status.st_mode & 0o022:
            raise PermissionError(f"{path.name} is not the user's own")
        if status.st_size > most:
            raise ValueError(f"{path.name} is too long")
        return file.read(most)


def _warn_once(reason: str) -> None:
    if reason not in ObjectCache._warned:
        ObjectCache._warned.add(reason)
        warnings.warn(f"object cache not used: {reason}", CacheWarning, stacklevel=_level_of_users())


def _level_of_users() -> int:
    """For warnings.warn: how many frames, from the caller's, lie below the line that has called the compiler."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _COMPILER:
        frame, level = frame.f_back, level + 1
    return level


class ObjectCache:
    """A directory of objects. An unsafe or unusable one gives a CacheWarning once and is as if empty."""

    _warned: ClassVar[set[str]] = set()

    def __init__(self, directory: Path, limit: int = LIMIT) -> None:
        self.directory = directory
        self.limit = limit
        self.usable = self._prepare()

    def load(self, name: str) -> list[bytes] | None:
        """The objects stored under a key; None if there are none or they are damaged."""
        found = self.described(name)
        return None if found is None else found[1]

    def described(self, name: str) -> tuple[dict[str, Any], list[bytes]] | None:
        """The description of what is stored under a key, and the objects; None if there are none or they are damaged."""
        if not self.usable:
            return None
        try:
            about = json.loads(_read(self._path(name, "json"), _DESCRIPTION))
            code = _read(self._path(name, "o"), LIMIT)
            return (about, self.parts(about["sizes"], code)) if self.is_sound(name, about, code) else None
        except (OSError, ValueError, TypeError, LookupError, RecursionError):
            return None

    @staticmethod
    def is_sound(name: str, described: dict[str, Any], code: bytes) -> bool:
        """Whether contents are those that a description was made for. Raises TypeError, LookupError for none."""
        return bool(_digest(name, described["sizes"], code) == described["sha256"])

    @staticmethod
    def parts(sizes: Sequence[int], code: bytes) -> list[bytes]:
        """Contents as the objects that they are."""
        file = io.BytesIO(code)
        return [file.read(size) for size in sizes]

    def names(self) -> list[str]:
        """The keys under which something lies."""
        return sorted(path.stem for path in self.directory.glob("*.o")) if self.usable else []

    def store(self, name: str, objects: Sequence[bytes], entry: str) -> None:
        """Keep objects; readers see all of it or nothing. A full disk and the like give a CacheWarning."""
        if not self.usable:
            return
        sizes, code = [len(each) for each in objects], b"".join(objects)
        described = {"entry": entry, "sizes": sizes, "sha256": _digest(name, sizes, code), "versions": versions()}
        try:
            self._write(self._path(name, "o"), code)
            self._write(self._path(name, "json"), json.dumps(described, indent=1).encode())
            self._evict()
        except OSError as error:
            self._warn(f"cannot write to {self.directory}: {error.strerror or error}")

    def _path(self, name: str, suffix: str) -> Path:
        return self.directory / f"{name}.{suffix}"

    def _prepare(self) -> bool:
        if fingerprint() is None:
            return self._warn("graphc_codegen has been changed since it was imported")
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            status = self.directory.stat()
        except OSError as error:
            return self._warn(f"cannot use {self.directory}: {error}")
        if status.st_uid != os.getuid():
            return self._warn(f"{self.directory} belongs to another user")
        if stat.S_IMODE(status.st_mode) & 0o022:
            return self._warn(f"other users may write to {self.directory}, and may have put files there: remove it")
        return True

    def _warn(self, reason: str) -> bool:
        _warn_once(reason)
        return False

    def _write(self, path: Path, data: bytes) -> None:
        handle, temporary = tempfile.mkstemp(prefix=".", suffix=".part", dir=self.directory)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(temporary, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
            raise

    def _evict(self) -> None:
        """Remove the oldest objects until the rest fits, and what killed processes have left; another process may be doing the
        same.
        """
        for path in self.directory.glob(".*.part"):
            with contextlib.suppress(OSError):
                if path.stat().st_mtime < time.time() - _ABANDONED:
                    path.unlink()
        found: list[tuple[float, int, Path]] = []
        for path in self.directory.glob("*.o"):
            with contextlib.suppress(OSError):
                status = path.stat()
                found.append((status.st_mtime, status.st_size, path))
        total = sum(size for _, size, _ in found)
        for _, size, path in sorted(found)[:-1]:
            if total <= self.limit:
                return
            for old in (path.with_suffix(".json"), path):
                with contextlib.suppress(OSError):
                    old.unlink()
            total -= size
