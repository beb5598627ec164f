"""`graphc nan`: runs a step or a script under `find_nan`."""

from __future__ import annotations

import sys
from argparse import Namespace
from contextlib import nullcontext, redirect_stdout
from typing import Any

from graphc import debug, find_nan
from graphc.cli import run
from graphc.cli.targets import compiled, is_source
from graphc.errors import printable
from graphc.inspect import plainjson
from graphc.inspect.document import document
from graphc.scripts import TargetError


def nan(args: Namespace) -> int:
    """Run, print what was found, and write the failing step if asked for. 1 if there was something."""
    found: list[find_nan.NonFinite] = []
    if is_source(args.target):
        args = args.nan_options(args)
    with debug(find_nan=True), find_nan.watching(bound=args.bound, always=args.bound is not None, raises=False):
        if is_source(args.target):
            said, code = _steps(args, found), 0
        elif args.target.endswith(".py"):
            said, code = f"{args.target}: {_fine(args)}", _script(args, found)
        else:
            raise TargetError(
                f"{args.target!r} cannot be run", help=f"name a script FILE.py, or {args.target}.py:build"
            )
    written = found[-1].save(args.save) if found and args.save is not None else []
    if args.json:
        print(plainjson.dumps(document(nan=[r.to_json() for r in found])).rstrip("\n"))
    else:
        if found or code == 0:  # A script that has failed says so itself, and of the rest of it nothing is known.
            print("\n".join(map(str, found)) if found else printable(said))
        print(*written, sep="\n", end="\n" if written else "")
    return 1 if found else code


def _steps(args: Namespace, found: list[find_nan.NonFinite]) -> str:
    """Run the step until something is found that was not skipped. What can be said if nothing is."""
    step, inputs = compiled(args.target)
    if inputs is None:
        raise TargetError(
            f"{args.target} gives a compiled step, its inputs are not known",
            help="write a function without arguments that returns (cell, inputs)",
        )
    with find_nan.watching(tell=found.append):
        for _ in range(args.steps):
            step(*inputs)
            if any(not r.skipped for r in found):
                break
    return f"{args.steps} {'step' if args.steps == 1 else 'steps'} of {step.graph.name}: {_fine(args)}"


def _fine(args: Namespace) -> str:
    """What holds where nothing is found."""
    what = "finite" if args.bound is None else f"finite and at most {args.bound:g}"
    return f"every value that reaches a result or a parameter is {what}"


def _script(args: Namespace, found: list[find_nan.NonFinite]) -> int:
    """Run a script as `graphc run` does; its exit code."""
    given: dict[str, Any] = {"inputs": None, "output": None, "threads": None, "load": []}
    # With --json, stdout is JSON and nothing else.
    own = redirect_stdout(sys.stderr) if args.json else nullcontext()
    with own, find_nan.watching(tell=found.append):
        code: int = run.run(Namespace(**vars(args) | given, script=args.target))
    return code
