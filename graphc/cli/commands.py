"""What each command of `graphc` does; graphc.cli.main parses. Each takes the parsed arguments and returns the exit
code.
"""

from __future__ import annotations

import difflib
import os
import sys
from argparse import Namespace

from graphc.cli import doctor as health
from graphc.cli import ranks
from graphc.cli.show_commands import emit
from graphc.cli.targets import Target, target
from graphc.errors import CODES
from graphc.errors.suggestions import question
from graphc.inspect import plainjson
from graphc.scripts import TargetError


def train(args: Namespace) -> int:
    """Train, print progress, write checkpoint and dump; with --ranks in processes that mpiexec starts."""
    if args.ranks > 1:
        return ranks.train(args)
    from graphc.examples.train_digits import Options, train  # Only `train` needs it.

    def say(line: str) -> None:
        print(line, flush=True)

    options = {k: v for k, v in vars(args).items() if k in Options.__dataclass_fields__}
    try:
        train(Options(**options), say)
    except KeyboardInterrupt:
        print("graphc: training interrupted; no checkpoint was written", file=sys.stderr)
        return 130
    return 0


def dump(args: Namespace) -> int:
    """Print the graph in a form, or write the whole dump; both if asked for."""
    found = target(args.target, args)
    if args.out is not None and found.step is None:
        raise TargetError(
            f"--out writes the dump of a compiled step, {args.target!r} is none", help="name it as FILE.py:ATTR"
        )
    if args.form is None and found.step is None:
        raise TargetError(
            f"{args.target!r} is on disk already; say how to print it",
            help="graphc dump TARGET --as text, json, node-link, dot or mermaid",
        )
    if args.form not in ("dot", "mermaid") and (args.scope is not None or args.depth is not None):
        raise TargetError("--scope and --depth are about a drawing: --as dot or --as mermaid")
    if args.form is not None:
        print(_as_form(found, args))
    if found.step is not None and (args.out is not None or args.form is None):
        written = found.step.dump(args.out or os.path.join("out", _short(args.target)))
        # With --as, stdout is the graph and nothing else.
        print("\n".join(map(str, written)), file=sys.stderr if args.form else sys.stdout)
    return 0


def _short(target: str) -> str:
    """What a dump is called if nothing is said: the attribute, or the script without its ending."""
    file, colon, attr = target.rpartition(":")
    return attr if colon and file.endswith(".py") else os.path.basename(target).removesuffix(".py")


def _as_form(found: Target, args: Namespace) -> str:
    if args.form == "text":
        return found.listing().text
    if args.form == "json":
        return plainjson.dumps(found.record().to_document()).rstrip("\n")
    from graphc.inspect import export  # Only `dump --as dot` and the like draw.

    if args.form == "node-link":
        return plainjson.dumps(export.to_node_link(found.graph())).rstrip("\n")
    return export.draw(found.graph(), args.form, args.scope or "", args.depth)


def report(args: Namespace) -> int:
    """Write the page about training runs, or their event files, and print where they are."""
    from pathlib import Path

    from graphc.report import write_events, write_report  # Only `report` needs it.

    records = [Path(name) for name in args.records]
    if args.tensorboard is not None:
        print(*write_events(records, Path(args.tensorboard)), sep="\n")
        if args.output is None:
            return 0
    print(write_report(records, Path(args.output) if args.output is not None else records[0].with_suffix(".html")))
    return 0


def explain(args: Namespace) -> int:
    """Print what one error code, or each, means."""
    code = args.error_code
    if code is not None and code.upper() not in CODES:
        near = difflib.get_close_matches(code.upper(), CODES, n=2)
        raise TargetError(f"there is no error code {code!r}", help=question(near) or "graphc explain lists them all")
    chosen = {code.upper(): CODES[code.upper()]} if code is not None else CODES
    emit(plainjson.dumps(chosen) if args.json else "\n".join(f"{c}  {m}" for c, m in chosen.items()), colour=False)
    return 0


def doctor(args: Namespace) -> int:
    """Print what a bug report needs."""
    found = health.report()
    emit(plainjson.dumps(found) if args.json else health.report_text(found), colour=False)
    return 0


__all__ = [
    "doctor",
    "dump",
    "explain",
    "report",
    "train",
]
