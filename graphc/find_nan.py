"""`find_nan`: a compiled step that keeps what it began with, looks at what it has made, and finds the first bad value.

Before each step the parameters that it writes are copied. After it, its results, what it has written and the flags of its
overflow checks are looked at; if something is bad, every node is looked at (`graphc.inspect.nonfinite`), as a build of the step
that keeps what each of them makes has it (`graphc.steps.value_build`), from the same inputs and state. A skipped update is said
by a warning, a bad result or parameter is an error.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from graphc.errors import NonFiniteError, NonFiniteWarning, stacklevel
from graphc.inspect.nonfinite import Found, Range, Search, search
from graphc.inspect.numpy_step import write_numpy
from graphc.ir import Builder, Graph, Node, Value, walk
from graphc.lower import Lowered
from graphc.ops.tensor.parameter import Parameter
from graphc.steps.value_build import EveryValue, every_value
from graphc_codegen import compile_program
from graphc_codegen.program import Call
from graphc_codegen.run.checked import CheckedBound

if TYPE_CHECKING:
    from graphc_codegen import Bound

Array = np.ndarray[Any, np.dtype[Any]]
#: The largest float16.
HALF = 65504.0
#: So many nodes between the first bad value and its harm are named, so many operands, so many places of harm.
_NAMED = 4
_ADVICE = {
    "Log": "its operand holds a 0 or a negative number: ops.log(ops.maximum(x, eps)) keeps it away from there",
    "Div": "its divisor holds a 0: add a small number to it, or choose another one where it is 0 before dividing",
    "Reciprocal": "its operand holds a 0: add a small number to it",
    "Sqrt": "its operand holds a negative number",
    "Rsqrt": "its operand holds a 0 or a negative number: add a small number to it",
    "Exp": "its operand is too large: subtract the maximum first, as ops.softmax and ops.logsumexp do",
    "Pow": "a negative number to a fraction, 0 to a negative one, or a power too large",
}


@dataclass(frozen=True)
class NonFinite:
    """What is known of a step that was not finite.

    graph, step     the graph of the step, and which of its runs it was, from 1
    skipped         an overflow check has seen it and no parameter has changed: what a loss scale does on purpose
    first           where it began (`graphc.inspect.nonfinite.Found`); None if every node, computed by itself, stays finite
    above, bound    the first value above the bound, if one was asked for and passed
    kernel          where first is None although there is harm: the first call of the generated step that makes it, if its
                    NumPy twins do
    harm            where it came to: results, parameters, overflow checks
    loss_scale      name and value of the loss scale before the step, None if there is none
    inputs, state   the arrays that the step began with, by Input and Param node id
    """

    graph: Graph
    step: int
    skipped: bool
    first: Found | None
    above: Found | None
    bound: float | None
    harm: tuple[str, ...]
    loss_scale: tuple[str, float] | None
    inputs: dict[int, Array] = field(repr=False)
    state: dict[int, Array] = field(repr=False)
    kernel: str | None = None

    def save(self, path: str | Path) -> list[Path]:
        """Write the step as a Python file of NumPy only, with its inputs and state beside it: see `write_numpy`."""
        about = f"Step {self.step}, in which a value is not finite. {self._message()}"
        return write_numpy(path, self.graph, self.state, self.inputs, about)

    def _message(self) -> str:
        """The cause in one sentence."""
        if self.first is None and self.harm:
            return f"step {self.step} of {self.graph.name} is not finite, but node by node it is"
        if self.first is None:
            return f"a value of step {self.step} of {self.graph.name} is above {self.bound:g}, all are finite"
        node, what = self.first.node, "NaN" if self.first.is_nan else "infinity"
        if node.op.name in ("Input", "Param"):
            kind = "input" if node.op.name == "Input" else "parameter"
            return f"{kind} {node.name or f'%{node.id}'} holds {what} before step {self.step} of {self.graph.name}"
        skipped = ", skipped by the overflow check" if self.skipped else ""
        return f"{node.op.name} makes the first {what} in the {node.region} part of step {self.step}{skipped}"

    def describe(self) -> NonFiniteError:
        """It as an error in graphc's form, also where it is none."""
        details = [] if self.first is None else list(_found_lines(self.first, self.graph))
        if self.kernel is not None:
            details.append(f"the first call of the generated step that is not finite: {self.kernel}")
        if self.harm:
            way = self.first.through if self.first is not None else ()
            passed = [f"%{n.id} {n.op.name}" for n in way]
            if len(passed) > _NAMED:
                passed[2:-1] = [f"... {len(passed) - 3} nodes ..."]
            through = f" through {', '.join(passed)}" if passed else ""
            details.append(f"it comes{through} to {_listed(self.harm)}")
        if self.loss_scale is not None:
            details.append(f"loss scale: {self.loss_scale[0]} = {self.loss_scale[1]:g}")
        if self.above is not None and (self.first is None or self.above.node is not self.first.node):
            node = self.above.node
            ranges = "; ".join(str(r) for _, r in self.above.results)
            at = "  ".join(str(x) for x in (node.scope, node.loc) if x)
            details.append(
                f"first value above {self.bound:g}: %{node.id} {node.op.name} ({node.region}): {ranges}  {at}"
            )
        if self.skipped:
            details.append("no parameter has changed: the update was skipped, as a loss scale does on purpose")
        shown = self.first or self.above
        return NonFiniteError(
            self._message(),
            loc=None if shown is None else shown.node.loc,
            details=details,
            help=self._help(),
            nodes=[] if shown is None else [shown.node.id],
        )

    def _help(self) -> str:
        node = None if self.first is None else self.first.node
        if node is not None and node.op.name in _ADVICE:
            return _ADVICE[node.op.name]
        if self.skipped and self.loss_scale is not None:
            return "a dynamic loss scale falls until this stops; at its floor the network itself overflows"
        return "graphc.find_nan.reports[-1].save('bad_step.py') writes this very step as a NumPy file"

    def to_json(self) -> dict[str, Any]:
        """The report as plain data, without the arrays."""
        return {
            "graph": self.graph.name,
            "step": self.step,
            "skipped": self.skipped,
            "first": _found_json(self.first),
            "above": _found_json(self.above),
            "bound": self.bound,
            "kernel": self.kernel,
            "harm": list(self.harm),
            "loss_scale": None
            if self.loss_scale is None
            else dict(zip(("name", "value"), self.loss_scale, strict=True)),
        }

    def __str__(self) -> str:
        return str(self.describe())


def _found_lines(found: Found, graph: Graph) -> Iterator[str]:
    node = found.node
    of = ""
    if node.fwd is not None:
        of = f", gradient of %{node.fwd}" + (f" {graph.node(node.fwd).op.name}" if node.fwd in graph else "")
    where = f", in {' / '.join(map(str, found.places))}" if found.places else ""
    yield f"%{node.id} {node.op.name}  layer {node.scope or '(none)'}, {node.region}{of}{where}"
    for what, ranges in (("operand", found.operands), ("result", found.results)):
        yield from (f"{what} {name}: {r}" for name, r in ranges[:_NAMED])
        if len(ranges) > _NAMED:
            yield f"... and {len(ranges) - _NAMED} more {what}s, finite"


def _listed(names: Sequence[str]) -> str:
    names = ["the result" if n == "result result" else n for n in names]
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED} more" if len(names) > _NAMED else "")


def _found_json(found: Found | None) -> dict[str, Any] | None:
    if found is None:
        return None
    node = found.node
    return {
        "id": node.id, "op": node.op.name, "cell": node.scope, "region": node.region, "fwd": node.fwd,
        "file": node.loc.file if node.loc else None, "line": node.loc.line if node.loc else None,
        "places": [p._asdict() for p in found.places],
        "operands": [{"value": v, **r.to_json()} for v, r in found.operands],
        "results": [{"value": v, **r.to_json()} for v, r in found.results],
        "through": [n.id for n in found.through],
    }  # fmt: skip


# ---- who is told


def _warn(report: NonFinite) -> None:
    warnings.warn(str(report), NonFiniteWarning, stacklevel=stacklevel())


@dataclass(frozen=True)
class Watching:
    """How steps are watched.

    limit: so many skipped steps of a compiled step are looked into, the rest are counted. bound: look for the first value above
    it, too; None: 65504 where the graph has float16 values. always: look for it in steps that are finite, too. raises: a bad
    result or parameter is a NonFiniteError, and parameters get back what they held before the step. tell: called with each report
    that is not raised.
    """

    limit: int = 3
    bound: float | None = None
    always: bool = False
    raises: bool = True
    tell: Callable[[NonFinite], None] = _warn


_watching = Watching()
#: The last reports, at most 16.
reports: list[NonFinite] = []


@contextmanager
def watching(**changes: Any) -> Iterator[Watching]:
    """Change how steps are watched, for a `with` block, by the field names of `Watching`."""
    global _watching
    before = _watching
    _watching = replace(before, **changes)
    try:
        yield _watching
    finally:
        _watching = before


# ---- watching one step


class Hunt:
    """Watches a compiled step that is bound to `bound`: `before` is called before each run, it itself after it."""

    bound: Bound

    def __init__(self, graph: Graph, lowered: Lowered, params: Sequence[Parameter]) -> None:
        """lowered: of the `watched` graph. params: in the order of its parameters."""
        self._graph, self._params = graph, params
        self._ids = ids = lowered.params
        self._results, self._lowered = lowered.results, lowered
        buffers = {b.position: b.id for b in lowered.program.buffers if b.space == "input"}
        self._inputs = {id: buffers[k] for k, id in enumerate(lowered.inputs) if k in buffers}
        updated = {u.param for u in graph.updates}
        self._written = [k for k, id in enumerate(ids) if id in updated]
        self._kept: list[Array] = []
        self._steps = self._skipped = 0
        #: What has been seen to hold infinities that are meant.
        self._meant: set[str] = set()
        self._every: EveryValue | None = None
        self._half = any(t.dtype == "float16" for _, n in walk(graph) for t in n.types)

    def before(self) -> int:
        """Keep what the step is about to write. One step may follow."""
        if not self._kept:
            self._kept = [np.empty_like(self._params[k].storage) for k in self._written]
        for kept, k in zip(self._kept, self._written, strict=True):
            np.copyto(kept, self._params[k].storage)
        return 1

    def limit(self) -> int:
        """It looks at every step."""
        return 1

    def __call__(self, steps: int) -> None:
        """Look at what a step has made: its results, what it has written, and whether a check has seen something.

        Raises NonFiniteError, after the parameters have got back what they held before.
        """
        self._steps += 1
        on = _watching
        *outputs, flag = [self.bound.memory(id, type.shape, type.dtype) for id, type in self._results]
        seen = bool(flag.reshape(-1)[0])
        results = [
            f"result {r.name}" for r, a in zip(self._graph.results, outputs, strict=True) if self._is_bad(r.name, a)
        ]
        written = [self._params[k] for k in self._written]
        changed = [f"parameter {p.name}" for p in written if self._is_bad(f"parameter {p.name}", p.storage)]
        skipped = seen and not changed
        if not (results or changed or seen or on.always):
            return
        if skipped:
            self._skipped += 1
            if self._skipped > on.limit:
                return
        report = self._report([*changed, *results], seen, skipped, on)
        if report is None:
            return
        reports[:] = [*reports[-15:], report]
        if on.raises and (changed or results) and not skipped:
            for kept, p in zip(self._kept, written, strict=True):
                np.copyto(p.storage, kept)
            error = report.describe()
            error.report = report
            error.add_note("parameters hold what they held before this step")
            raise error
        on.tell(report)

    def _is_bad(self, name: str, array: Array) -> bool:
        if not _holds_bad(array):
            return False
        return name not in self._meant or bool(np.isnan(array).any())

    def _report(self, harm: list[str], seen: bool, skipped: bool, on: Watching) -> NonFinite | None:
        """What the search gives; None if nothing is wrong."""
        state = {id: p.storage.reshape(p.shape) for id, p in zip(self._ids, self._params, strict=True)}
        for kept, k in zip(self._kept, self._written, strict=True):
            state[self._ids[k]] = kept.reshape(self._params[k].shape)
        state = {id: a.copy() for id, a in state.items()}
        inputs = {id: self.bound.read(buffer) for id, buffer in self._inputs.items()}
        bound = on.bound if on.bound is not None else HALF if self._half else None
        found = search(self._graph, {**state, **inputs}, bound, self._made({**state, **inputs}))
        if found.first is None:
            harm = self._without_meant(found, harm)
            if not harm and not seen and (found.above is None or not on.always):
                return None
        checks = [r for r in found.roots if r.kind == "check" and not r.meant]
        harm += dict.fromkeys(f"the overflow check {r.name}" for r in checks)
        if seen and not checks:
            harm.append("an overflow check")
        scale = self._loss_scale(state, inputs)
        kernel = self._kernel(state, inputs) if found.first is None and harm else None
        return NonFinite(
            self._graph,
            self._steps,
            skipped,
            found.first,
            found.above,
            bound,
            tuple(harm),
            scale,
            inputs,
            state,
            kernel,
        )

    def _made(self, given: dict[int, Array]) -> dict[Value, Array]:
        """What nodes make of these arrays, by machine code where it can be had."""
        if self._every is None:
            self._every = every_value(self._graph)
        return {} if self._every is None else self._every(given)

    def _kernel(self, state: dict[int, Array], inputs: dict[int, Array]) -> str | None:
        """The first call in checked mode that writes something bad from what is finite: its nodes, and the ranges."""
        executable = compile_program(self._lowered.program, cache_dir=None, checked=True)
        run = executable.bind([state[i].copy() for i in self._ids], list(self._lowered.constants))
        found: list[str] = []

        def look(call: Call, read: list[Array], written: list[Array]) -> None:
            if not found and not any(map(_holds_bad, read)) and any(map(_holds_bad, written)):
                ranges = "; ".join(str(Range.of(a)) for a in written if _holds_bad(a))
                found.append(f"{call.note} gives {ranges}")

        assert isinstance(run, CheckedBound)
        run.observe = look
        run.run([inputs[i] for i in self._inputs])
        return found[0] if found else None

    def _without_meant(self, found: Search, harm: list[str]) -> list[str]:
        """The harm without what holds infinities that are meant, which is not asked about again."""
        meant = {r.name if r.kind == "result" else f"parameter {r.name}" for r in found.roots if r.meant}
        self._meant |= meant
        return [h for h in harm if h.removeprefix("result ") not in meant]

    def _loss_scale(self, state: dict[int, Array], inputs: dict[int, Array]) -> tuple[str, float] | None:
        """The number that the overflow region reads, if there is one, and its value before the step."""
        for id in (*state, *inputs):
            node = self._graph.node(id)
            if node.type.is_float and node.type.size == 1 and any(map(self._is_of_scale, self._graph.users(id))):
                return node.name or f"%{id}", float({**state, **inputs}[id].reshape(()))
        return None

    def _is_of_scale(self, id: int) -> bool:
        node = self._graph.node(id)
        return node.region == "overflow" and not node.graphs()


def _holds_bad(array: Array) -> bool:
    return array.dtype.kind not in "biu" and not np.isfinite(array).all()


def watched(graph: Graph) -> Graph:
    """The graph with one result more, a bool: whether an overflow check has seen something, in branches too.

    A check in a loop is not among them: what it sees is noticed when it comes to a result or a parameter.
    """
    made = graph.copy()
    b = Builder(made, "overflow")
    seen = _seen(made, b)
    made.set_results([*graph.results, ("seen", b.constant(False, "bool") if seen is None else seen)], graph.updates)
    return made


def _seen(graph: Graph, b: Builder) -> Value | None:
    """A value, added to the graph: whether one of its checks has seen something; None if there are none."""
    flags = []
    for node in list(graph):
        if node.op.name == "GetFloatStatus":
            flags.append(node.outputs[0])
        elif node.op.name == "AllFinite":
            flags.append(b.LogicalNot(node.outputs[0]))
        elif node.op.name == "If" and any(n.op.name in ("GetFloatStatus", "AllFinite") for n in _inside(node)):
            flags.append(_seen_in_branches(graph, node))
    seen = flags[0] if flags else None
    for flag in flags[1:]:
        seen = b.LogicalOr(seen, flag)
    return seen


def _inside(node: Node) -> Iterator[Node]:
    return (n for _, sub in node.graphs() for _, n in walk(sub))


def _seen_in_branches(graph: Graph, node: Node) -> Value:
    """Let an If return what the checks of the branch that runs have seen."""
    parts = dict(node.attrs)
    for attr, sub in node.graphs():
        branch = sub.copy()
        b = Builder(branch, "overflow")
        seen = _seen(branch, b)
        value = b.constant(False, "bool") if seen is None else seen
        branch.set_results([*sub.results, ("seen", value)])
        parts[attr] = branch.freeze()
    flag = parts["then"].type(parts["then"].results[-1].value)
    graph.set_node(node.id, attrs=parts, types=(*node.types, flag))
    return Value(node.id, len(node.types))


__all__ = ["HALF", "Hunt", "NonFinite", "Watching", "reports", "watched", "watching"]
