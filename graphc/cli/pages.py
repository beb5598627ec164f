"""What `graphc page` does."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from graphc.cli.targets import compiled, is_source
from graphc.inspect.record import load_record
from graphc.page import read_material, write_page
from graphc.scripts import TargetError


def page(args: Namespace) -> int:
    """Write the page about a step, and print where it is."""
    target = args.target
    if is_source(target):
        step = compiled(target)
        print(step.page(args.output or "step.html"))
        return 0
    if target.endswith(".py"):
        raise TargetError(
            f"{target!r} does not say what to compile", help=f"name a function of the file, for example {target}:build"
        )
    folder = Path(target) if Path(target).is_dir() else Path()
    print(write_page(load_record(target), args.output or folder / "step.html", read_material(target)))
    return 0
