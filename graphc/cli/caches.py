"""`graphc cache`: the object cache as one file, for machines that shall not compile first."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from graphc.debug import switches
from graphc.scripts import TargetError
from graphc_codegen.object_code import archive
from graphc_codegen.object_code.cache import ObjectCache, default_directory


def cache(args: Namespace) -> int:
    """Export all objects of the cache to a file, or take those of a file into it."""
    directory = switches().cache_dir or default_directory()
    if not switches().cache or directory is None:
        raise TargetError("there is no object cache: GRAPHC_CACHE_DIR switches it off, or there is no home directory")
    objects = ObjectCache(directory)
    if not objects.usable:
        raise TargetError(f"{directory} cannot be used as a cache: see the warning")
    path = Path(args.file)
    if args.action == "export":
        count = archive.pack(objects, path)
        print(f"{path}: {_number(count)}, {path.stat().st_size / 1e6:.1f} MB")
        return 0
    try:
        taken, left = archive.unpack(objects, path)
    except ValueError as error:
        raise TargetError(f"{path} is no archive of `graphc cache export`: {error}") from error
    other = f"; {_number(left)} of other versions left out" if left else ""
    print(f"{directory}: {_number(taken)}{other}")
    return 0


def _number(count: int) -> str:
    return f"{count} object" + ("s" if count != 1 else "")


__all__ = ["cache"]
