"""Buckets: steps for a few sizes, whose inputs are padded and whose results are cut, where sizes vary from call to call.

A step for a bucket gets the real lengths as inputs of its own, and its graph is masked by them (`graphc/passes/padding.py`).
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from graphc import dispatch, passes
from graphc.context import parallel_settings
from graphc.errors import ArgumentValueError, GraphcError, PaddingError, user_loc
from graphc.guards.walk import Names
from graphc.internal_errors import failing
from graphc.ir import walk
from graphc.nn.cell.cell import Cell
from graphc.nn.cell.inputs import open_inputs
from graphc.ops.declared.padding import plain
from graphc.ops.tensor.inputs import as_inputs
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor
from graphc.ops.tensor.tree import Structure, flatten, unflatten
from graphc.passes.padded_arrays import padded_array, real_part
from graphc.passes.padded_graph import Known, Sizes, counting_nodes, said_of
from graphc.passes.padding import masked
from graphc.steps import cached_steps, dynamic_sizes
from graphc.steps.bucket_axes import Plan, Varying, varying_inputs, varying_of
from graphc.steps.compile_context import compilation, told
from graphc.steps.compiled_step import CompiledStep
from graphc.steps.inputs import Array
from graphc.steps.size_trials import Rooms, Takes, far_from
from graphc.trace import Counting, Traced, trace
from graphc.trace.dynamic.counted_places import Coincidence, Found, Key, Lengths
from graphc.trace.mutation import attributes
from graphc.tracebacks import clean
from graphc_codegen.forks import rlock

#: How many lengths' constants are kept.
_KEPT = 256
#: What helps where a cell goes wrong for sizes that are let in.
_ONE_SIZE = "leave no axis open of which the cell takes one size only, or compute with x.shape, not with a number"


class PaddedStep(CompiledStep):
    """A step for all sizes of a bucket: call it with any of them. What it returns has the sizes that the cell would give.

    Its graph has the lengths as further inputs; `results` are the types before they are cut. Lengths are Python's numbers while
    it is traced; where they decide what the cell does, it is traced with numbers of the run. A size of 1 is broadcast: where the
    cell does something else for it, it gets a step of its own.
    """

    _sizes: Found | None = None  # Axes that have to do with what is counted, or with the lengths where these decide.
    _deciding: Found | None = None  # The axes that are as long as a length, where lengths are numbers of the run.

    def __init__(
        self,
        cell: Cell,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        varying: Varying,
        turns: threading.RLock | None = None,
        names: Names | None = None,
        pipeline: Sequence[passes.Pass] = passes.PIPELINE,
    ) -> None:
        self._varying = varying
        if parallel_settings().pipeline_stages > 1:
            raise ArgumentValueError(
                "inputs whose sizes vary are not available with pipeline_stages",
                code="GC112",
                loc=user_loc(),
                help="give the step inputs of one shape: batch(..., drop_remainder=True)",
            )
        leaves, structure = flatten((as_inputs(args), as_inputs(kwargs)))
        with failing("reading the arguments", outermost=True, deep=True):
            self._plan = varying.plan(cell, leaves, structure)
        self._inputs = structure
        self._found: dict[tuple[int, ...], tuple[list[Array], Structure]] = {}
        self._others: dict[tuple[int, ...], CompiledStep] = {}
        self._options = turns, names, pipeline
        args, kwargs = unflatten(structure, self._plan.padded(leaves))
        super().__init__(cell, args, kwargs, turns, names, pipeline)
        if self._plain is not None:
            types = [self.graph.node(i).type for i in self._lowered.inputs]
            self._queued = [(t.numpy, t.shape) for t in types]
        self._plain = None

    @property
    def held(self) -> int:
        """About how many bytes it holds, with the steps for sizes for which the cell does something else."""
        return super().held + sum(step.held for step in {id(s): s for s in self._others.values()}.values())

    def _trace(
        self,
        cell: Cell,
        leaves: list[Tensor],
        structure: Structure,
        known: attributes.Known | None,
        names: Names | None,
    ) -> Traced:
        try:
            return self._traced(cell, leaves, structure)
        except PaddingError as error:
            try:
                traced = self._decided(cell, leaves, structure)
            except GraphcError as other:
                _tell(error, other)
                raise error from None
            if traced is None:
                raise
            return traced
        except Exception as error:
            return self._traced_for_others(cell, leaves, structure, error)

    def _traced_for_others(self, cell: Cell, leaves: list[Tensor], structure: Structure, error: Exception) -> Traced:
        """The trace of a cell that raises an error for as many as there is room for: where lengths decide, it need not for fewer.

        Raises what the cell raises for the lengths of this call, else PaddingError.
        """
        try:
            traced = self._decided(cell, leaves, structure)
        except Exception:
            traced = None
        if traced is not None:
            return traced
        lengths = self._plan.lengths
        if lengths != self._plan.sizes.room:
            trace(
                cell, self._plan.examples(leaves, lengths), structure, Counting(Rooms().room, fixed=False), apart=True
            )
            said = f"{said_of(self._plan.sizes.names, self._plan.sizes.room)}, up to which it is padded"
            raise PaddingError(
                f"construct raises {type(error).__name__} for {said}: {error}", loc=user_loc(), help=_ONE_SIZE
            ) from error
        raise error

    def _decided(self, cell: Cell, leaves: list[Tensor], structure: Structure) -> Traced | None:
        """The trace in which lengths are numbers of the run, which decide when the step runs; None if no axis is as long.

        A trace in which nothing else has these sizes tells which are.
        """
        apart = far_from(self._plan.sizes.room)
        made = Counting(Rooms().room, others=(), fixed=False, lengths=self._told(apart, apart=True))
        trace(cell, self._plan.examples(leaves, apart), structure, made, apart=True)
        self._deciding = made.sizes or None
        return self._traced(cell, leaves, structure) if self._deciding else None

    def _capped(self, takes: Takes) -> frozenset[int]:
        """Which slices that need more than the least of a length take what there is, as the cell raises nothing for few.

        PaddingError for another node than a slice.
        """
        nodes, made = {n.id: n for _, n in walk(self._masked.traced)}, set()
        for id, symbol, least, error in self._masked.needs:
            if dynamic_sizes.takes_fewer(nodes[id], takes(symbol, least - 1, self._sizes), error):
                made.add(id)
        return frozenset(made)

    def _takes(
        self, cell: Cell, leaves: list[Tensor], structure: Structure, symbol: int, count: int, found: Found | None
    ) -> bool:
        """Whether the cell raises nothing for so many of a length, and all there can be of the others."""
        few = [count if s == symbol else room for s, room in enumerate(self._plan.sizes.room)]
        counting = Counting(Rooms().room, sizes=found, fixed=False, lengths=self._told(few))
        try:
            trace(cell, self._plan.examples(leaves, few), structure, counting, apart=True)
        except Exception:
            return False
        return True

    def _told(self, sizes: Sequence[int], apart: bool = False, called: bool = False) -> Lengths:
        """What a trace with these lengths is to know of them."""
        if self._deciding is None and not apart:
            return Lengths()
        of = self._plan.sizes
        return Lengths(sizes, tuple(zip(of.low, of.room, strict=True)), of.names, apart, called)

    def _traced(self, cell: Cell, leaves: list[Tensor], structure: Structure) -> Traced:
        """The trace, with a graph that is right for every length. There may be too few for the cell in the second trace."""
        sizes = self._plan.sizes
        try:
            return self._masked_by(cell, leaves, structure, sizes)
        except PaddingError as error:
            try:
                traced = self._masked_by(cell, leaves, structure, sizes.beyond())
            except Exception:
                raise error from None
            try:
                self._look(cell, leaves, structure, sizes.probe)
            except PaddingError:
                raise error from None
            except Exception:  # What the cell raises for few, a call does that has few.
                pass
            return traced

    def _masked_by(self, cell: Cell, leaves: list[Tensor], structure: Structure, sizes: Sizes) -> Traced:
        def again(counting: Counting) -> Traced:
            counting.fixed, counting.lengths = False, self._told(sizes.room)
            return trace(cell, leaves, structure, counting, apart=True)

        def probe(counting: Counting) -> Traced:
            counting.fixed, counting.lengths = False, self._told(sizes.probe)
            try:
                return trace(cell, self._plan.examples(leaves, sizes.probe), structure, counting, apart=True)
            except Exception as error:  # The cell's own, too: for other sizes it need not raise any.
                said = said_of(sizes.names, sizes.probe)
                what, loc = (error.message, error.loc) if isinstance(error, GraphcError) else (error, user_loc())
                raise PaddingError(
                    f"construct cannot be traced for {said}: {what}",
                    loc=loc,
                    help=_ONE_SIZE,
                ) from error

        def mask_of(traced: Traced, probe: Traced) -> dynamic_sizes.Mask:
            given = [i for i in traced.graph.inputs if traced.graph.node(i).op.name == "Input"]
            held = [a for a, x in zip(self._plan.axes, leaves, strict=True) if not isinstance(x, Parameter)]
            # The lengths follow, where the cell computes with them.
            return partial(masked, traced.graph, probe.graph, dict(zip(given, held, strict=False)), sizes)

        takes = partial(self._takes, cell, leaves, structure)
        others: set[Key] = set()
        self.counted = None
        while True:
            self._sizes = dynamic_sizes.without(self._deciding, others)
            try:
                traced = dynamic_sizes.trace_uncounted(again, self._sizes)
                if traced is None:
                    traced, self.counted, self._sizes = dynamic_sizes.trace_all(
                        again, probe, mask_of, sizes.room, self._deciding, takes
                    )
                    self._masked = self.counted.masked
                else:
                    mask = mask_of(traced, probe(Counting(Rooms().probe, sizes=self._sizes)))
                    self._masked = mask(Known())
                    while capped := self._capped(takes):
                        self._masked = mask(Known(capped=self._masked.known.capped | capped))
                    if self._masked.derived:
                        self.counted = dynamic_sizes.Counted(self._masked)
            except Coincidence as found:
                others.add(found.key)
                continue
            self._examples = self._plan.examples(leaves, sizes.room)
            return replace(traced, graph=self._masked.graph)

    def arrays(self, *args: Any, **kwargs: Any) -> list[Array]:
        """What `run` takes: an array per input, padded, the lengths, and what depends on them. Raises SignatureError."""
        leaves, structure = flatten((as_inputs(args), as_inputs(kwargs)))
        cell = self.cell
        if len(leaves) != len(self._plan.axes) or cell is None:
            return super().arrays(*args, **kwargs)
        return self._padded(cell, leaves, structure, self._varying.plan(cell, leaves, structure))

    def _padded(self, cell: Cell, leaves: list[Tensor], structure: Structure, plan: Plan) -> list[Array]:
        """The arrays of a call that is padded so."""
        args, kwargs = unflatten(structure, plan.padded(leaves))
        lengths = [np.array(n, np.int32) for n in plan.lengths]
        return [*super().arrays(*args, **kwargs), *lengths, *self._constants(cell, plan.lengths)]

    def _constants(self, cell: Cell, lengths: tuple[int, ...]) -> list[Array]:
        """What Python has made of the sizes, as the cell makes it of these: it is traced once for each.

        Kept beside it: what the cell returns, which may be a size.
        """
        if lengths not in self._found:
            with failing(f"tracing {type(cell).__name__}", outermost=True, deep=True, tracing=True):
                found = self._look(cell, self._examples, self._structure, lengths)
            while len(self._found) >= _KEPT:
                self._found.pop(next(iter(self._found)))
            self._found[lengths] = found
        return self._found[lengths][0]

    def _look(
        self, cell: Cell, leaves: list[Tensor], structure: Structure, lengths: tuple[int, ...]
    ) -> tuple[list[Array], Structure]:
        """Constants for these lengths, and the structure of the results. PaddingError where the graph is not right for them."""
        told = self._told(lengths, called=True)
        counting = Counting(Rooms().room, sizes=self._sizes, fixed=False, lengths=told)
        try:
            traced = trace(cell, self._plan.examples(leaves, lengths), structure, counting, apart=True)
        except Coincidence:
            raise PaddingError(
                f"for lengths of {lengths} an axis has no more to do with what is counted", loc=user_loc()
            ) from None
        except Exception as error:
            if isinstance(error, PaddingError) or counting.inside < 0 or error.__dict__.get("in_every_turn"):
                raise
            said = said_of(self._plan.sizes.names, lengths)
            raise PaddingError(
                f"inside of a branch or loop construct raises {type(error).__name__} for {said}, where it need not come: {error}",
                loc=user_loc(),
            ) from error
        graph = traced.graph
        counts = [n.attrs["size"] for n in counting_nodes(graph)]
        self._masked.check(graph, (*lengths, *counts))
        found = [
            np.asarray(padded_array(graph.node(id).attrs["value"].array, axes, lengths), order="C")
            for id, axes in self._masked.constants
        ]
        return found, traced.structure

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """One step, as `CompiledStep` makes it. Raises PaddingError for a size for which the cell does something else."""
        try:
            leaves, structure = flatten((as_inputs(args), as_inputs(kwargs)))
            cell = self.cell
            if cell is None or len(leaves) != len(self._plan.axes):
                return super().__call__(*args, **kwargs)
            plan = self._varying.plan(cell, leaves, structure)
            own = self._other(cell, args, kwargs, plan.lengths)
            return self.run(self._padded(cell, leaves, structure, plan)) if own is None else own(*args, **kwargs)
        except BaseException as error:
            clean(error)
            raise

    def _other(
        self, cell: Cell, args: tuple[Any, ...], kwargs: dict[str, Any], lengths: tuple[int, ...]
    ) -> CompiledStep | None:
        """The step for lengths for which the cell does something else: one in which they decide when it runs, or, for a length of
        1, one of its own. PaddingError where there is none.
        """
        with self._lock:
            if lengths in self._found:
                return None
            if lengths not in self._others:
                try:
                    self._constants(cell, lengths)
                    return None
                except Exception as error:
                    if not isinstance(error, PaddingError) and 1 not in lengths:
                        raise
                    with compilation():
                        self._others[lengths] = self._made_for(cell, args, kwargs, lengths, error)
            return self._others[lengths]

    def _made_for(
        self, cell: Cell, args: tuple[Any, ...], kwargs: dict[str, Any], lengths: tuple[int, ...], error: Exception
    ) -> CompiledStep:
        """The step for lengths for which this one is not right, or for which the cell raises something in a trace."""
        if self._deciding is None and isinstance(error, PaddingError):
            for step in self._others.values():
                if isinstance(step, DecidingStep) and step.takes(cell, lengths):
                    return step
            try:
                made = DecidingStep(cell, args, kwargs, self._varying, *self._options)
                if made.takes(cell, lengths):
                    return made
            except GraphcError as other:
                _tell(error, other)
        if 1 not in lengths:
            raise error
        return CompiledStep(cell, args, kwargs, *self._options)

    def takes(self, cell: Cell, lengths: tuple[int, ...]) -> bool:
        """Whether the cell does for these lengths what the step does."""
        try:
            self._constants(cell, lengths)
        except PaddingError:
            return False
        return True

    def run(self, arrays: list[Array]) -> Any:
        """One step on what `arrays` gives."""
        count = len(self._plan.lengths)
        begin = len(arrays) - len(self._masked.constants) - count
        with self._lock:
            self._at([int(n) for n in arrays[begin : begin + count]])
            return super().run(arrays)

    def _at(self, lengths: Sequence[int]) -> None:
        """These are the lengths of the step that is run."""
        self._lengths = lengths
        found = self._found.get(tuple(lengths))
        if found is not None:
            self._outputs = found[1]

    def run_many(self, queue: list[Array], kept: Sequence[int] = ()) -> tuple[Any, list[Array]]:
        """As `CompiledStep.run_many`, on batches of one size, which are padded together; what is kept is cut.

        Raises SignatureError for batches of another bucket, PaddingError for a size for which the cell does something else.
        """
        cell = self.cell
        first = tuple(Tensor.wrap(q[0, ...]) for q in queue if q.ndim and len(q))
        if cell is None or len(first) != len(self._plan.axes):
            return super().run_many(queue, kept)
        plan, steps = self._varying.plan(cell, first, self._inputs), len(queue[0])
        own = self._other(cell, first, {}, plan.lengths)
        if own is not None:
            return own.run_many(queue, kept)
        made = [
            padded_array(q, (plain(steps), *a), plan.lengths) if a else q for q, a in zip(queue, plan.axes, strict=True)
        ]
        fixed = [np.array(n, np.int32) for n in plan.lengths] + self._constants(cell, plan.lengths)
        for x, (_, shape) in zip(fixed, (self._queued or [])[len(made) :], strict=True):
            made.append(np.broadcast_to(x.reshape(shape), (steps, *shape)))
        with self._lock:
            self._at(plan.lengths)
            outputs, values = super().run_many([np.ascontiguousarray(x) for x in made], kept)
        axes = [self._masked.results[k] for k in kept]
        return outputs, [real_part(v, (plain(steps), *a), plan.lengths) for v, a in zip(values, axes, strict=True)]

    def _returned(self, outputs: list[Any]) -> Any:
        if self.counted is not None:
            return super()._returned(outputs)
        return super()._returned(dynamic_sizes.cut(outputs, self._masked.results, self._lengths))


def _tell(error: PaddingError, other: GraphcError) -> None:
    """Let a refusal say what stands in the way of lengths that decide, where, and what to do, if that is something else."""
    if other.message != error.message:
        at = f" ({other.loc})" if other.loc is not None and other.loc != error.loc else ""
        error.details = (*error.details, f"with sizes as numbers of the run: {other.message}{at}")
        error.help = other.help or error.help


class DecidingStep(PaddedStep):
    """A step for all sizes of a bucket in which lengths are numbers of the run: what they decide is decided when it runs."""

    def _trace(
        self,
        cell: Cell,
        leaves: list[Tensor],
        structure: Structure,
        known: attributes.Known | None,
        names: Names | None,
    ) -> Traced:
        traced = self._decided(cell, leaves, structure)
        if traced is None:
            raise PaddingError("no axis is as long as a length", loc=user_loc())
        return traced


class BucketedStep:
    """A Cell compiled for buckets: each is compiled when the first call needs it. `steps`: what there is, by the sizes."""

    def __init__(self, cell: Cell, varying: Varying, pipeline: Sequence[passes.Pass]) -> None:
        self.cell, self._varying, self._pipeline = cell, varying, pipeline
        self.steps: dict[tuple[int, ...], PaddedStep] = {}
        self._lock = rlock()
        cached_steps.register(self)

    def step(self, *args: Any, **kwargs: Any) -> PaddedStep:
        """The step that a call with these arguments runs."""
        leaves, structure = flatten((as_inputs(args), as_inputs(kwargs)))
        room = self._varying.plan(self.cell, leaves, structure).sizes.room
        with self._lock:
            found = self.steps.get(room)
            new = found is None
            if found is None:
                with told():
                    found = PaddedStep(self.cell, args, kwargs, self._varying, pipeline=self._pipeline)
            else:
                del self.steps[room]
            self.steps[room] = found  # At the end: the one called last.
            cached_steps.called(found)
        if new:
            cached_steps.shrink()
        return found

    def earlier(self) -> Sequence[CompiledStep]:
        """The steps but for the one called last."""
        with self._lock:
            return list(self.steps.values())[:-1]

    def held(self) -> int:
        """About how many bytes the steps hold."""
        with self._lock:
            return sum(step.held for step in self.steps.values())

    def drop(self, step: CompiledStep) -> None:
        """Keep a step no longer: it is compiled again when it is next needed."""
        with self._lock:
            for room in [r for r, s in self.steps.items() if s is step]:
                del self.steps[room]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """One step, as `CompiledStep` makes it. Raises SignatureError for a size beyond the largest bucket."""
        try:
            return self.step(*args, **kwargs)(*args, **kwargs)
        except BaseException as error:
            clean(error)
            raise

    def __repr__(self) -> str:
        return f"<compiled {type(self.cell).__name__} for buckets: {', '.join(map(str, self.steps)) or 'none yet'}>"


def pad_calls(cell: Cell, buckets: Any) -> None:
    """Let calls of a cell pad their inputs to buckets, as `graphc.compile(buckets=...)` has it; None: no more.

    Raises ArgumentTypeError, ArgumentValueError.
    """
    object.__setattr__(cell, "_buckets", None if buckets is None else varying_of(buckets))
    dispatch.touch()


def varying_in(cell: Cell) -> Varying | None:
    """How calls of a cell pad their inputs, if they do: by buckets, or where `set_inputs` has left sizes open."""
    buckets: Varying | None = cell.__dict__.get("_buckets")
    declared = open_inputs(cell)
    return buckets if buckets is not None or not declared else varying_inputs(declared)
