"""What `graphc page` does."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from graphc.cli.targets import target


def page(args: Namespace) -> int:
    """Write the page about a step, and print where it is."""
    found = target(args.target, args)
    if found.step is not None:
        print(found.step.page(args.output or "step.html"))
        return 0
    from graphc.page import read_material, write_page  # What is on disk is read without the compiler.

    folder = Path(found.path) if Path(found.path).is_dir() else Path()
    print(write_page(found.record(), args.output or folder / "step.html", read_material(found.path)))
    return 0
