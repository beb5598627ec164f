"""The commands that look at a graph: `show`, `passes`, `diff`, `why-order`. For what is on disk they need no compiler."""

from __future__ import annotations

import os
import shutil
import sys
from argparse import Namespace
from collections.abc import Iterable
from typing import Any

from graphc.cli.targets import Target, target, targets
from graphc.errors.suggestions import nearest, question
from graphc.grammar import REGIONS
from graphc.inspect import columns, flow, plainjson
from graphc.inspect import diff as differences
from graphc.inspect import show as printing
from graphc.inspect.document import CallRow, document
from graphc.inspect.layout import folded
from graphc.inspect.listing import Line, Listing, short_dtype
from graphc.inspect.saved import saved_record
from graphc.inspect.why import schedule_text
from graphc.scripts import TargetError


def show(args: Namespace) -> int:
    """Print a graph, a slice of it, its overflow order, its schedule or its counts."""
    found = targets(args.target, args)
    documents = []
    for each in found:
        listing = each.listing()
        if args.json:
            documents.append(_show_json(args, each, listing))
            continue
        if len(found) > 1:
            emit(f"# {each.name}: {each.step!r}", colour=False)
        text, colour = _show_text(args, each, listing)
        emit(text, colour=colour)
    if args.json:
        emit(plainjson.dumps(documents[0] if len(found) == 1 else documents), colour=False)
    return 0


def _selection(args: Namespace, listing: Listing) -> flow.Selection:
    start, end, grad_of = (
        None if node is None else flow.find(listing, node) for node in (args.start, args.end, args.grad_of)
    )
    wanted = flow.Selection(
        args.region,
        args.scope,
        args.op,
        start,
        end,
        grad_of,
        args.at,
        args.dtype,
    )
    if wanted.region is not None and wanted.region not in REGIONS:
        raise TargetError(f"there is no region {wanted.region!r}", help=f"the regions are {', '.join(REGIONS)}")
    whole = next((option for option in ("order", "stats") if getattr(args, option)), None)
    if whole and not wanted.everything:
        raise TargetError(f"--{whole} is about the whole graph; it takes no {wanted}")
    return wanted


def _show_json(args: Namespace, each: Target, listing: Listing) -> Any:
    wanted = _selection(args, listing)
    if args.order:
        return document(order=printing.order_json(flow.overflow_order(listing)))
    if args.stats:
        return document(stats=flow.stats(listing))
    if args.schedule:
        return document(calls=columns.encode_table(CallRow, tuple(_scheduled(each, listing, wanted))))
    if wanted.everything:
        return each.record().to_document()
    return each.record().only(line.id for line in _slice(each, listing, wanted)).to_document()


def _show_text(args: Namespace, each: Target, listing: Listing) -> tuple[str, bool]:
    """What to print, and whether in colours."""
    wanted = _selection(args, listing)
    if args.order:
        return printing.order_text(listing, flow.overflow_order(listing)), False
    if args.stats:
        return printing.stats_text(flow.stats(listing)), False
    if args.schedule:
        return schedule_text(each.record(), _scheduled(each, listing, wanted)), False
    if wanted.everything:
        return listing.text, True
    return printing.slice_text(listing, _slice(each, listing, wanted), wanted), True


def _scheduled(each: Target, listing: Listing, wanted: flow.Selection) -> list[CallRow]:
    """The calls that compute something of a selection, in the order in which they run."""
    record = each.record()
    if not record.calls:
        raise TargetError(f"{each.name!r} has no schedule: it is a graph, no compiled step")
    if wanted.everything:
        return list(record.calls)
    chosen = {line.id for line in _slice(each, listing, wanted)}
    return [call for call in record.calls if chosen & set(call.nodes)]


def _frames(each: Target) -> flow.Frames:
    """The lines that led to each node, by its id; of a file of text nothing but its own is known."""
    record = each.record() if each.step is not None else saved_record(each.path)
    if record is None:
        return {}
    at = [(record.files[line.file], line.line) for line in record.locs]
    return {node.id: [at[k] for k in node.locs] for node in record.nodes}


def _slice(each: Target, listing: Listing, wanted: flow.Selection) -> list[Line]:
    frames = {} if wanted.at is None else _frames(each)
    found = flow.select(listing, wanted, frames)
    if not found:
        known = {"op": (wanted.op, {n.op for n in listing}), "scope": (wanted.scope, {n.scope for n in listing})}
        known["dtype"] = wanted.dtype, {t.partition("[")[0] for n in listing for t in n.types}
        lines = {place for n in listing for place in flow.places(n, frames)}
        known["at"] = wanted.at, {f"{file}:{line}" for file, line in lines if file}
        for what, (name, names) in known.items():
            if name is not None:
                _refuse_unknown(what, name, listing, names)
    return found


def _refuse_unknown(what: str, name: str, listing: Listing, known: Iterable[str]) -> None:
    """TargetError if no node at all has that op, scope, dtype or place; otherwise the slice is just empty."""
    names = sorted(set(filter(None, known)))
    same = {
        "scope": lambda n: n == name or n.startswith(name + "."),
        "dtype": lambda n: n == short_dtype(name),
        "at": lambda n: flow.made_at(name, n.rpartition(":")[0], int(n.rpartition(":")[2])),
    }.get(what, lambda n: n == name)
    if not any(map(same, names)):
        said = "was made at" if what == "at" else f"has {what}"
        raise TargetError(
            f"no node of graph @{flow.shown(listing.name)} {said} {name!r}", help=question(nearest(name, names, 3))
        )


def why_order(args: Namespace) -> int:
    """Print what guarantees that one node runs before another; 1 if nothing does."""
    listing = target(args.target, args).listing()
    first, second = (flow.find(listing, reference) for reference in (args.a, args.b))
    links = flow.why_order(listing, first, second)
    back = not links and bool(flow.why_order(listing, second, first))
    if args.json:
        path = [{"link": link.link, "id": link.line.id, "text": link.line.text} for link in links]
        found = {"before": first, "after": second, "ordered": bool(links), "reverse": back, "path": path}
        emit(plainjson.dumps(document(why_order=found)), colour=False)
    else:
        emit(printing.why_order_text(listing, first, second, links, back), colour=False)
    return 0 if links else 1


def passes(args: Namespace) -> int:
    """List the passes with what each did."""
    found = target(args.target, args)
    if args.json:
        emit(plainjson.dumps(document(passes=found.record().to_document()["passes"])), colour=False)
        return 0
    rows: list[dict[str, Any]] = []
    before: Listing | None = None
    for index, (name, listing) in enumerate(found.passes()):
        row: dict[str, Any] = {"index": index, "name": name, "removed": 0, "added": 0, "changed": 0}
        after = listing or before
        if after is None:
            raise TargetError(f"{args.target!r} lacks the graph of its first pass")
        if before is not None and after is not before:
            difference = differences.compare(before, after, by_id=True)
            row |= {
                "removed": len(difference.removed),
                "added": len(difference.added),
                "changed": len(difference.changed) + len(difference.structure),
            }
        rows.append(row | {"nodes": len(after)})
        before = after
    emit(_passes_text(rows), colour=False)
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
    a, b = target(args.a, args), target(args.b, args)
    difference = differences.compare(a.listing(), b.listing(), classes=(_classes(a), _classes(b)))
    text = differences.diff_text(difference, nodes=args.nodes) if not args.json else ""
    emit(plainjson.dumps(document(diff=difference.to_json())) if args.json else text, colour=False)
    return 1 if difference else 0


def _classes(found: Target) -> dict[str, str]:
    """The class by Cell path, where that is known: text alone does not tell."""
    record = found.step.record() if found.step is not None else saved_record(found.path)
    return {} if record is None else {c.path: c.class_ for c in record.cells}


def width() -> int | None:
    """The columns of the terminal that is printed to; None where it is none."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def emit(text: str, *, colour: bool) -> None:
    """Print; on a terminal in colours if asked for, long lines folded."""
    text = text.rstrip("\n")
    if (columns := width()) is not None:
        text = folded(text, columns)
    # https://no-color.org: any value that is not empty switches colour off.
    if colour and sys.stdout.isatty() and not os.environ.get("NO_COLOR"):
        text = printing.paint(text)
    print(text)
