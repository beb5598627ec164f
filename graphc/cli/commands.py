"""What each command of `graphc` does; graphc.cli.main parses. Each takes the parsed arguments and returns the exit
code.
"""

from __future__ import annotations

import difflib
import os
import sys
from argparse import Namespace
from collections.abc import Iterable
from typing import Any

from graphc.cli import doctor as health
from graphc.cli import ranks
from graphc.cli.targets import compiled, graph_of, is_source, passes_of
from graphc.errors import CODES
from graphc.frames import clean
from graphc.inspect import diff as differences
from graphc.inspect import export, flow, jsonform
from graphc.inspect import show as printing
from graphc.ir import REGIONS, Graph, to_text, walk
from graphc.scripts import TargetError
from graphc.suggest import nearest, question


def train(args: Namespace) -> int:
    """Train, print progress, write checkpoint and dump; with --ranks in processes that mpiexec starts."""
    if args.ranks > 1:
        return ranks.train(args)
    from graphc.examples.train_digits import Options, train

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
    step = compiled(args.target) if is_source(args.target) else None
    if args.out is not None and step is None:
        raise TargetError(
            f"--out writes the dump of a compiled step, {args.target!r} is none", help="name it as FILE.py:ATTR"
        )
    if args.form is None and step is None:
        raise TargetError(
            f"{args.target!r} is on disk already; say how to print it",
            help="graphc dump TARGET --as text, json, dot or mermaid",
        )
    if args.form is not None:
        graph: Graph = step.graph if step is not None else graph_of(args.target)
        print(_as_form(graph, args.form))
    if step is not None and (args.out is not None or args.form is None):
        written = step.dump(args.out or os.path.join("out", args.target.rpartition(":")[2]))
        # With --as, stdout is the graph and nothing else.
        print("\n".join(map(str, written)), file=sys.stderr if args.form else sys.stdout)
    return 0


def _as_form(graph: Graph, form: str) -> str:
    if form == "json":
        return jsonform.dumps(jsonform.to_document(graph)).rstrip("\n")
    return to_text(graph) if form == "text" else export.FORMS[form](graph)


def show(args: Namespace) -> int:
    """Print a graph, a slice of it, its overflow order or its counts."""
    wanted = flow.Selection(args.region, args.scope, args.op, args.start, args.end)
    if wanted.region is not None and wanted.region not in REGIONS:
        raise TargetError(f"there is no region {wanted.region!r}", help=f"the regions are {', '.join(REGIONS)}")
    if (args.order or args.stats) and not wanted.everything:
        raise TargetError(f"--{'order' if args.order else 'stats'} is about the whole graph; it takes no {wanted}")
    graph = graph_of(args.target)
    if args.order:
        spines = flow.overflow_order(graph)
        _print(
            jsonform.dumps(printing.order_json(spines)) if args.json else printing.order_text(graph, spines),
            colour=False,
        )
    elif args.stats:
        counts = flow.stats(graph)
        _print(jsonform.dumps(counts) if args.json else printing.stats_text(counts), colour=False)
    elif wanted.everything:
        _print(jsonform.dumps(jsonform.to_document(graph)) if args.json else to_text(graph), colour=not args.json)
    else:
        _show_slice(graph, wanted, args.json)
    return 0


def _show_slice(graph: Graph, wanted: flow.Selection, as_json: bool) -> None:
    found = flow.select(graph, wanted)
    everything = [n for _, n in walk(graph)]
    if not found and wanted.op is not None:
        _refuse_unknown("op", wanted.op, graph, (n.op.name for n in everything))
    if not found and wanted.scope is not None:
        _refuse_unknown("scope", wanted.scope, graph, (n.scope for n in everything))
    if as_json:
        nodes = [jsonform.node_json(p.node) | {"path": [{"id": i, "attr": a} for i, a in p.path]} for p in found]
        _print(jsonform.dumps(nodes), colour=False)
    else:
        _print(printing.slice_text(graph, found, wanted, len(everything)), colour=True)


def _refuse_unknown(what: str, name: str, graph: Graph, known: Iterable[str]) -> None:
    """TargetError if no node at all has that op or scope; otherwise the slice is just empty."""
    names = sorted(set(filter(None, known)))
    if any(n == name or (what == "scope" and n.startswith(name + ".")) for n in names):
        return
    raise TargetError(
        f"no node of graph @{flow.shown(graph.name)} has {what} {name!r}", help=question(nearest(name, names, 3))
    )


def passes(args: Namespace) -> int:
    """List the passes with what each did."""
    rows: list[dict[str, Any]] = []
    before: Graph | None = None
    for index, (name, graph) in enumerate(passes_of(args.target)):
        row: dict[str, Any] = {"index": index, "name": name, "removed": 0, "added": 0, "changed": 0}
        after = graph or before
        if after is None:
            raise TargetError(f"{args.target!r} lacks the graph of its first pass")
        if before is not None:
            difference = differences.compare(before, after)
            row |= {
                "removed": len(difference.removed),
                "added": len(difference.added),
                "changed": len(difference.changed) + len(difference.structure),
            }
        rows.append(row | {"nodes": sum(1 for _ in walk(after))})
        before = after
    _print(jsonform.dumps(rows) if args.json else _passes_text(rows), colour=False)
    return 0


def _passes_text(rows: list[dict[str, Any]]) -> str:
    lines = ["      removed   added changed   nodes  pass"]
    for r in rows:
        moves = [
            f"{sign}{r[key]}" if r[key] else "." for sign, key in (("-", "removed"), ("+", "added"), ("~", "changed"))
        ]
        lines.append(
            f"  {r['index']:02}  {moves[0]:>7} {moves[1]:>7} {moves[2]:>7} {r['nodes']:>7}  {_plain(r['name'])}"
        )
    return "\n".join(lines)


def _plain(name: str) -> str:
    """A name without anything that a terminal would obey."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in name)


def diff(args: Namespace) -> int:
    """Compare two graphs; 1 if they differ."""
    difference = differences.compare(graph_of(args.a), graph_of(args.b))
    _print(jsonform.dumps(difference.to_json()) if args.json else differences.diff_text(difference), colour=False)
    return 1 if difference else 0


def run(args: Namespace) -> int:
    """Run a script as `python FILE.py` would, with graphc under MindSpore's name if asked for; or a graph on its inputs."""
    import runpy
    from pathlib import Path

    from graphc.cli import graphs

    if graphs.is_graph(args.script):
        if args.mindspore:
            raise TargetError(f"--mindspore is for scripts, {args.script!r} is a graph")
        return graphs.run(args.graph_options(args))
    if args.inputs is not None or args.output is not None or args.threads is not None or args.load:
        raise TargetError(
            "--inputs, --output, --threads and --load are for graphs", help="options of a script stand behind its name"
        )
    if not Path(args.script).is_file():
        raise TargetError(f"there is no file {args.script!r}")
    if args.mindspore:
        from graphc import compat

        compat.install()
    sys.argv = [args.script, *args.arguments]
    sys.path.insert(0, str(Path(args.script).resolve().parent))
    try:
        runpy.run_path(args.script, run_name="__main__")
    except Exception as error:
        # As Python itself would, without the frames that stand between it and the script.
        clean(error)
        sys.excepthook(type(error), error, error.__traceback__)
        return 1
    return 0


def report(args: Namespace) -> int:
    """Write the page about training runs, or their event files, and print where they are."""
    from pathlib import Path

    from graphc.report import write_events, write_report

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
    _print(jsonform.dumps(chosen) if args.json else "\n".join(f"{c}  {m}" for c, m in chosen.items()), colour=False)
    return 0


def doctor(args: Namespace) -> int:
    """Print what a bug report needs."""
    found = health.report()
    _print(jsonform.dumps(found) if args.json else health.report_text(found), colour=False)
    return 0


def _print(text: str, *, colour: bool) -> None:
    text = text.rstrip("\n")
    # https://no-color.org: any value that is not empty switches colour off.
    if colour and sys.stdout.isatty() and not os.environ.get("NO_COLOR"):
        text = printing.paint(text)
    print(text)


__all__ = [
    "diff",
    "doctor",
    "dump",
    "explain",
    "passes",
    "report",
    "run",
    "show",
    "train",
]
