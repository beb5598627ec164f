"""Steps in which sizes depend on values, as of `x[mask]`: places are counted while the step runs, and results are cut.

The graph has room for all there can be, and is masked by the counts as that of a bucket is by lengths
(`graphc/passes/padding.py`). Python sees the room as the size; traces with none, one, some and all of each show whether it does
anything else for them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from graphc.errors import ArgumentValueError, ExportError, GraphcError, PaddingError, TraceError, user_loc
from graphc.ir import Graph, Node, walk
from graphc.nn.cell.cell import Cell
from graphc.ops.declared.padding import Axes
from graphc.ops.tensor.tensor import Tensor, require_array
from graphc.ops.tensor.tree import Structure, fixed_values
from graphc.passes.padded_arrays import real_part
from graphc.passes.padded_graph import Known, Masked, Sizes, counting_nodes
from graphc.passes.padded_view import HELP
from graphc.passes.padding import masked
from graphc.steps.size_trials import Rooms, Takes, Trials
from graphc.trace import Counting, Traced, trace
from graphc.trace.dynamic.counted_places import Begun, Coincidence, Found, Key
from graphc.trace.mutation.attributes import Attributes
from graphc.tracebacks import place

#: Makes a graph that is right for all counts, given what traces have shown.
Mask = Callable[[Known], Masked]


@dataclass(frozen=True)
class Wrong:
    """What the cell raises for some lengths: those that it is about, by symbol; in front of which node; inside of which
    branch, -1 for none.
    """

    lengths: Mapping[int, int]
    error: Exception
    at: int
    inside: int = -1

    def is_of(self, lengths: Sequence[int]) -> bool:
        """Whether it is raised for these lengths of all symbols."""
        return all(lengths[symbol] == count for symbol, count in self.lengths.items())

    def covers(self, other: Wrong) -> bool:
        """Whether it is raised wherever the other one is."""
        return self.inside == other.inside and self.lengths.items() <= other.lengths.items()


@dataclass
class Counted:
    """How a step with counts cuts its results. `wrong`: what it raises where there are few; `fewer`: where there are fewer of a
    symbol than so many, at which node.
    """

    masked: Masked
    wrong: list[Wrong] = field(default_factory=list)
    fewer: list[tuple[int, int, int, Exception]] = field(default_factory=list)

    @classmethod
    def tried(cls, mask: Mask, trials: Trials) -> Counted:
        """With what the cell raises for few.

        mask: makes the graph. Raises PaddingError where Python does something else for other counts.
        """
        made = cls(mask(Known()))
        while capped := made._look_at_needs(trials):
            made.masked = mask(Known(capped=made.masked.known.capped | capped))
        seen: set[tuple[int, ...]] = set()
        for counts in trials.counts():
            made._try(trials, counts, seen)
        made._settle(mask, trials)
        made._require_alone()
        return made

    def _look_at_needs(self, trials: Trials) -> frozenset[int]:
        """Note what the cell raises where there are fewer than some nodes need. Which of these take what there is instead.

        PaddingError for one that cannot.
        """
        masked, begin, capped = self.masked, len(trials.given), set()
        self.fewer = []
        for id, symbol, least, error in masked.needs:
            _, own = masked.source(symbol)
            if own < begin:
                if trials.takes and takes_fewer(
                    trials.nodes[id], trials.takes(own, least - 1, trials.made.sizes), error
                ):
                    capped.add(id)
                continue
            few = [least - 1 if s == own - begin else size for s, size in enumerate(trials.sizes)]
            raised, counting = _tried(trials, few, masked)
            here = next((e for _, e, at in counting.errors if at == id), raised)
            if here is None and trials.nodes[id].op.name != "Slice":
                raise error
            if here is None:
                capped.add(id)
                continue
            self.fewer.append((symbol, least, id if here is not raised else counting.at, here))
        for symbol, least in self.least.items():
            if least > 1:
                self._look_at_none(trials, symbol)
        return frozenset(capped)

    @property
    def least(self) -> dict[int, int]:
        """By symbol, how many there must be for all nodes."""
        made: dict[int, int] = {}
        for symbol, least, _, _ in self.fewer:
            made[symbol] = max(least, made.get(symbol, 0))
        return made

    def _look_at_none(self, trials: Trials, symbol: int) -> None:
        """Note what comes first where there is nothing at all of a symbol of which some node needs several."""
        masked, made = self.masked, trials.made
        branch, own = masked.source(symbol)
        own -= len(trials.given)
        if own >= len(trials.owners):
            return
        none = [0 if s == own else size for s, size in enumerate(trials.sizes)]
        raised, counting = _tried(trials, none, masked)
        for inside, error, at in counting.errors:
            if inside == trials.owners[own] if branch is None else made.entered[inside].graph is branch:
                self.fewer.append((symbol, 1, at, error))
                return
        if raised is not None and branch is None and trials.owners[own] == counting.inside:
            self.fewer.append((symbol, 1, counting.at, raised))

    @property
    def results(self) -> int:
        """How many results are the cell's own; the counts follow."""
        return len(self.masked.results)

    def check(self, counts: Sequence[Any], given: Sequence[int] = ()) -> list[int]:
        """All lengths: those that the call brought, and the counts, which come last among the outputs of a step.

        Raises what the cell raises for these counts.
        """
        lengths = [*given, *(int(x.item()) for x in counts)]
        raised = [(w.at, w.error) for w in self.wrong if w.is_of(lengths)]
        raised += [(at, error) for symbol, least, at, error in self.fewer if lengths[symbol] < least]
        if raised:
            raise min(raised, key=lambda each: each[0])[1].with_traceback(None)
        return lengths

    def cut(self, outputs: Sequence[Any], given: Sequence[int] = ()) -> list[Any]:
        """The cell's results as large as they are."""
        return cut(outputs[: self.results], self.masked.results, self.check(outputs[self.results :], given))

    def refuse_kept(self, kept: Sequence[int], given: int = 0) -> None:
        """ArgumentValueError where results are to be kept of every step whose sizes differ from step to step."""
        for k in kept:
            if any(f.symbol >= given for axis in self.masked.results[k] for f in axis):
                raise ArgumentValueError(
                    f"result {k} has another size in every step, so the results of several are no array",
                    loc=user_loc(),
                    help="call the step for each batch",
                )

    def refuse_export(self) -> None:
        """ExportError where results would have to be cut outside of graphc."""
        for k, axes in enumerate(self.masked.results):
            if any(f.symbol >= 0 for axis in axes for f in axis):
                raise ExportError(
                    f"result {k} has another size in every step, which files cannot say",
                    loc=user_loc(),
                    help="return what has a fixed size: a sum, or ops.where(mask, x, 0)",
                )

    def _try(self, trials: Trials, counts: Sequence[int], seen: set[tuple[int, ...]]) -> None:
        """Note what the cell raises for these counts; PaddingError where it does something else, or raises for many.

        What a branch counts has no effect where it is not taken. So the trace goes on behind what an op raises there; where
        Python raises, it is seen with more in the branch what the rest of the cell does.
        """
        begin, masked = len(trials.given), self.masked
        least = [self.least.get(s + begin, 0) for s in range(len(counts))]
        counts = tuple(max(n, m) if o >= 0 else n for n, m, o in zip(counts, least, trials.owners, strict=True))
        if counts in seen or any(n < m for n, m in zip(counts, least, strict=True)):
            return
        seen.add(counts)
        counting = trials.counting(counts, masked)
        lengths = (*trials.given, *counts)
        failed: Exception | None = None
        try:
            traced = trials.again(counting)
        except TraceError:
            raise  # What cannot be compiled for these counts is nothing that the cell raises.
        except Exception as error:
            failed = error
        _require_uncaught(counting)
        for inside, raised, at in counting.errors:
            self._note(trials, lengths, inside, raised, at)
        if failed is None:
            same_values(trials.first, traced)
            masked.check(traced.graph, lengths)
            return
        self._note(trials, lengths, counting.inside, failed, counting.at)
        more = trials.more(counts, counting.inside)
        if more != counts:
            self._try(trials, more, seen)
        elif counting.inside >= 0:
            raise PaddingError(
                f"inside of a branch or loop construct raises {type(failed).__name__} for few of what is counted outside"
                f" of it: {_said(failed)}",
                loc=user_loc(),
                help="keep the shape there: ops.where(mask, x, 0)",
            ) from failed

    def _note(self, trials: Trials, lengths: Sequence[int], inside: int, error: Exception, at: int) -> None:
        """That the cell raises this for these lengths. PaddingError if there are many of each."""
        begin = len(trials.given)
        if self._needs_more(trials, lengths, inside):
            return
        few = {
            s: n
            for s, n in enumerate(lengths)
            if s >= begin and trials.is_few(s - begin, n) and trials.visible(s - begin, inside)
        }
        wrong = Wrong(few, error, at, inside)
        if any(known.covers(wrong) for known in self.wrong):
            return
        if not few:
            if isinstance(error, GraphcError):
                raise error
            raise PaddingError(
                f"construct cannot be traced for {lengths[begin:]} elements: {_said(error)}", loc=user_loc()
            ) from error
        self.wrong.append(wrong)

    def _needs_more(self, trials: Trials, lengths: Sequence[int], inside: int) -> bool:
        """Whether a node needs more than these lengths: of a symbol, or of what the branch in which something is raised sees."""
        masked, entered = self.masked, trials.made.entered
        around = [entered[n].graph for n in trials.made.around(inside) if n >= 0]
        for s, least in self.least.items():
            branch, own = masked.source(s)
            if own < len(lengths) and lengths[own] < least and (branch is None or any(g is branch for g in around)):
                return True
        return False

    def _settle(self, mask: Mask, trials: Trials) -> None:
        """Let the graph tell what branches see in which something is raised, for what is counted around them."""
        begin, entered = len(trials.given), trials.made.entered
        # Of a branch that nobody needs nothing is left, so that it raises nothing.
        left = {id(graph) for graph, _ in walk(trials.first.graph)}
        self.wrong = [w for w in self.wrong if w.inside < 0 or id(entered[w.inside].graph) in left]
        self.wrong = [w for w in self.wrong if not any(v is not w and v.covers(w) for v in self.wrong)]
        asked = [
            (entered[w.inside].graph, s)
            for w in self.wrong
            for s in w.lengths
            if w.inside >= 0 and trials.owners[s - begin] != w.inside
        ]
        seen, floors = tuple(dict.fromkeys([*self.masked.seen, *asked])), self.masked.floors
        if asked or floors:
            self.masked = mask(replace(self.masked.known, seen=seen, floors=floors))
        self.wrong = [
            replace(w, lengths={self._seen(s, w, entered): n for s, n in w.lengths.items()}) for w in self.wrong
        ]

    def _seen(self, symbol: int, wrong: Wrong, entered: Sequence[Any]) -> int:
        """Where it is told how many of a symbol the branch sees in which something is raised."""
        each = (entered[wrong.inside].graph, symbol) if wrong.inside >= 0 else None
        return len(self.masked.names) + self.masked.seen.index(each) if each in self.masked.seen else symbol

    def _require_alone(self) -> None:
        """PaddingError where a loop raises for few of several: it is known how many there were at least, not in which turn."""
        turning = self.masked.turning
        exact = [w for w in self.wrong if len(w.lengths.keys() & turning) <= 1]
        none = {s for w in exact for s, n in w.lengths.items() if n == 0 and len(w.lengths) == 1}
        for wrong in self.wrong:
            implied = any(w.lengths.items() <= wrong.lengths.items() for w in exact)
            ones = [s for s in wrong.lengths.keys() & turning if wrong.lengths[s] == 1 and s not in none]
            if not implied or ones:
                raise PaddingError(
                    f"a loop raises {type(wrong.error).__name__} for few of several things that it counts: {_said(wrong.error)}",
                    loc=user_loc(),
                    help="keep the shape in the loop: ops.where(mask, x, 0)",
                ) from wrong.error


def cut(outputs: Sequence[Any], results: Sequence[Axes], lengths: Sequence[int]) -> list[Any]:
    """Of outputs with padding what is real."""
    return [
        Tensor.wrap(real_part(require_array(x), axes, lengths)) if any(axes) else x
        for x, axes in zip(outputs, results, strict=True)
    ]


def _said(error: Exception) -> str:
    return error.message if isinstance(error, GraphcError) else str(error)


def _require_uncaught(counting: Counting) -> None:
    """PaddingError where Python may catch what a branch raises, and then does something else."""
    for error in counting.caught:
        raise PaddingError(
            f"inside of a branch or loop `try` may catch {type(error).__name__}, which only the run tells: {_said(error)}",
            loc=getattr(error, "loc", None),
            help="decide by tensors: if mask.any()",
        ) from error


def _tried(trials: Trials, counts: Sequence[int], masked: Masked) -> tuple[Exception | None, Counting]:
    """What the cell raises for these counts wherever it goes, and what it has counted, with what branches raise."""
    counting = trials.counting(counts, masked)
    try:
        trials.again(counting)
    except Exception as error:
        return error, counting
    _require_uncaught(counting)
    return None, counting


def trace_counted(
    cell: Cell, leaves: list[Tensor], structure: Structure, attributes: Callable[[], Attributes]
) -> tuple[Traced, Counted | None]:
    """The trace of a cell; where it counts, with a graph that is right for all counts, and what the step needs to know.

    attributes: as `trace` takes them; where something is counted, none may be set.
    """
    traced = trace_uncounted(partial(trace, cell, leaves, structure, attributes=attributes))
    if traced is not None:
        return traced, None

    def again(counting: Counting) -> Traced:
        return trace(cell, leaves, structure, counting, apart=True)

    def mask_of(traced: Traced, probe: Traced) -> Mask:
        same_values(traced, probe)
        return partial(masked, traced.graph, probe.graph, {}, Sizes())

    traced, counted, _ = trace_all(again, again, mask_of)
    return replace(traced, graph=counted.masked.graph), counted


def trace_uncounted(again: Callable[[Counting], Traced], found: Found | None = None) -> Traced | None:
    """A trace in which nothing is counted. None where something is: that ends it, as sizes are not told apart in it, so that it
    may go on for ever.
    """
    try:
        return again(Counting(Rooms().room, sizes=found, ends=True))
    except Begun:
        return None


def trace_all(
    again: Callable[[Counting], Traced],
    probe: Callable[[Counting], Traced],
    mask_of: Callable[[Traced, Traced], Mask],
    given: Sequence[int] = (),
    found: Found | None = None,
    takes: Takes | None = None,
) -> tuple[Traced, Counted, Found]:
    """Of a cell that counts: its trace, a graph that is right for all counts, and the axes that have to do with them.

    again, probe: trace it, for the sizes of the graph and for other ones. given: the lengths that come with the call. found: axes
    that are known to have to do with these. takes: whether the cell raises nothing for so many of one of them.
    """
    others: set[Key] = set()
    while True:
        rooms = Rooms()
        made = Counting(rooms.room, sizes=without(found, others), others=others)
        try:
            with explaining(made):
                traced = again(made)
            with saying_where(traced.graph):
                mask = mask_of(traced, probe(Counting(rooms.probe, sizes=made.sizes)))
                counted = Counted.tried(mask, Trials.of(again, traced, made, rooms.sizes, given, takes))
        except Coincidence as one:
            others.add(one.key)
            continue
        return traced, counted, made.sizes or {}


def takes_fewer(node: Node, raises_nothing: bool, error: Exception) -> bool:
    """Whether a node that needs more of a length than there is takes what there is: a slice does, where the cell raises nothing.

    Where it raises something, the call for such a length does, as that is traced then. Raises the error for another node.
    """
    if raises_nothing and node.op.name != "Slice":
        raise error
    return raises_nothing


def without(found: Found | None, others: Collection[Key]) -> Found | None:
    """Axes that have to do with sizes, but for some."""
    return None if found is None else {key: made for key, made in found.items() if key not in others}


def same_values(one: Traced, other: Traced) -> None:
    """PaddingError where the traces return other Python values: of one that depends on counts none is right."""
    for a, b in zip(*(list(fixed_values(t.structure)) for t in (one, other)), strict=False):
        if isinstance(a, (bool, int, float, str, tuple, list)) and a != b:
            raise PaddingError(
                f"construct returns the Python value {a!r}, or {b!r} for other counts, which only the run tells",
                loc=user_loc(),
                help="return the count as a tensor: mask.sum(), or ops.dyn_shape(x[mask])",
            )


@contextmanager
def explaining(counting: Counting) -> Iterator[None]:
    """Let an exception of Python's say that it may come of a size that stands for another one."""
    try:
        yield
    except Exception as error:
        if isinstance(error, GraphcError) or error.__dict__.get("graphc_asked_for") or not counting.nodes:
            raise
        raise TraceError(
            f"{type(error).__name__}: {error}, where sizes stand for those that only the run tells",
            code="GC120",
            loc=place(error.__traceback__),
            details=[f"{n.attrs['size']} for those at {n.loc}" for n in counting.nodes],
            help="take what a size tells from a tensor: table[n] of a Tensor; or decide by it: if n == 1",
        ) from error


@contextmanager
def saying_where(graph: Graph) -> Iterator[None]:
    """Let a PaddingError say where a graph counts."""
    try:
        yield
    except PaddingError as error:
        places = dict.fromkeys(str(n.loc) for n in counting_nodes(graph))
        if places:
            error.details = (*error.details, f"how many elements there are is counted at {', '.join(places)}")
            if error.help == HELP:
                error.help = (
                    "decide by tensors: mask.any(); keep the shape: ops.where(mask, x, 0); or call it outside the Cell"
                )
        raise
