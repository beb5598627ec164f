"""Keeps object code between processes: `KEY.o`, objects in a row, and their description `KEY.json` in a directory.

The key is a hash of all that the objects are made from. The directory must belong to the user alone, since what lies
in it is run. Nothing is pickled.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import json
import os
import stat
import tempfile
import warnings
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, ClassVar

from graphc_codegen.errors import CacheWarning
from graphc_codegen.object_code.sources import fingerprint
from graphc_codegen.text.render import version as own_version

#: Bytes of objects that a directory may hold; the oldest go first.
LIMIT = 512 * 2**20


def default_directory() -> Path:
    """`graphc` in XDG_CACHE_HOME, else in ~/.cache."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "graphc"


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


def _digest(sizes: Any, code: bytes) -> str:
    return hashlib.sha256(json.dumps(sizes).encode() + code).hexdigest()


class ObjectCache:
    """A directory of objects. An unsafe or unusable one gives a CacheWarning once and is as if empty."""

    _warned: ClassVar[set[str]] = set()

    def __init__(self, directory: Path, limit: int = LIMIT) -> None:
        self.directory = directory
        self.limit = limit
        self.usable = self._prepare()

    def load(self, name: str) -> list[bytes] | None:
        """The objects stored under a key; None if there are none or they are damaged."""
        if not self.usable:
            return None
        try:
            described = json.loads(self._path(name, "json").read_text())
            sizes, wanted = described["sizes"], described["sha256"]
            code = self._path(name, "o").read_bytes()
            if _digest(sizes, code) != wanted:
                return None
            file = io.BytesIO(code)
            return [file.read(size) for size in sizes]
        except (OSError, ValueError, TypeError, LookupError):
            return None

    def store(self, name: str, objects: Sequence[bytes], entry: str) -> None:
        """Keep objects; readers see all of it or nothing. A full disk and the like give a CacheWarning."""
        if not self.usable:
            return
        sizes, code = [len(each) for each in objects], b"".join(objects)
        described = {"entry": entry, "sizes": sizes, "sha256": _digest(sizes, code), "versions": versions()}
        try:
            self._write(self._path(name, "o"), code)
            self._write(self._path(name, "json"), json.dumps(described, indent=1).encode())
            self._evict()
        except OSError as error:
            self._warn(f"cannot write to {self.directory}: {error}")

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
        if stat.S_IMODE(status.st_mode) & 0o077:
            return self._warn(f"{self.directory} is open to other users (chmod 700 makes it private)")
        return True

    def _warn(self, reason: str) -> bool:
        if reason not in ObjectCache._warned:
            ObjectCache._warned.add(reason)
            warnings.warn(f"object cache not used: {reason}", CacheWarning, stacklevel=4)
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
        """Remove the oldest objects until the rest fits; another process may be doing the same."""
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
