"""CompiledStep: trace -> passes -> lower -> code generation -> a bound step."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from graphc import context, passes, processes
from graphc.debug import second_cache, switches, threads
from graphc.errors import (
    SKIPPED,
    ArgumentValueError,
    Loc,
    SignatureError,
    user_loc,
)
from graphc.guards.walk import Names
from graphc.internal_errors import failing
from graphc.ir import Graph
from graphc.ir import walk as walk_nodes
from graphc.lower import lower
from graphc.nn.cell.cell import Cell
from graphc.ops.functional.printing import PrintLog
from graphc.ops.tensor.inputs import as_inputs
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.seed import drawing
from graphc.ops.tensor.tensor import Tensor
from graphc.ops.tensor.tree import Structure, flatten, unflatten
from graphc.steps import profile_hooks, rank_agreement, run_hooks
from graphc.steps.batch_queue import batches_of
from graphc.steps.build import apart, build, failure, multiplies_bfloat16, notes_of, refuse_gradients, too_large
from graphc.steps.c_entry import Entry
from graphc.steps.dynamic_sizes import Counted, trace_counted
from graphc.steps.inputs import Array, Given, reads
from graphc.steps.pages import Shown
from graphc.steps.retraces import Attempts
from graphc.trace import Traced
from graphc.trace.mutation.attributes import Known
from graphc.trace.mutation.cell_state import refuse_changing, refuse_export
from graphc.tracebacks import clean
from graphc_codegen import errors as generator
from graphc_codegen.forks import rlock
from graphc_codegen.program import symbol

if TYPE_CHECKING:
    from graphc.inspect.record import Profile, Record
    from graphc_codegen import Bound
    from graphc_codegen.run.native import NativeBound

#: The generator's frames are none of the user's.
SKIPPED.add(os.path.dirname(os.path.abspath(generator.__file__)) + os.sep)

#: What a node of a step takes, in all graphs, records and statements that it is in.
_NODE_BYTES = 10_000

#: What is told of every step that has been compiled, such as commands that run a user's script to look at its steps.
watchers: list[Callable[[CompiledStep], None]] = []


class Timing(NamedTuple):
    """One kernel call: its kernel, the nodes it computes, and seconds.

    `seconds` is the working time of the busiest thread, `waited` what the first thread waited for others before it.
    """

    kernel: str
    nodes: str
    seconds: float
    waited: float


class CompiledStep(Shown):
    """A Cell compiled for one signature; call it with tensors of the same shapes and dtypes.

    graph            the IR after the last pass; str() is its text, `.nx` the networkx graph
    passes           (name, graph) after tracing and after each pass
    rewrites         (name, text of the statements) after fusion and after each rewrite of them
    source           the generated step: a Numba njit module
    kernels          the LLVM IR of its kernels
    memory           sizes in bytes of arena, its lower bound, parameters, constants, inputs
    results          types of what it returns, in the nest that `construct` returns
    entry            its C entry with memory of its own, for a loop of one's own; `run_many` is graphc's loop
    compile_seconds  wall seconds by phase
    cache_hit        whether the machine code came from the object cache
    """

    #: Where sizes of results are counted by the step; behind the lengths that a call brings.
    counted: Counted | None = None
    _lengths: Sequence[int] = ()

    def __init__(
        self,
        cell: Cell,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        turns: threading.RLock | None = None,
        names: Names | None = None,
        pipeline: Sequence[passes.Pass] = passes.PIPELINE,
        known: Known | None = None,
    ) -> None:
        """`turns` is held by every run: steps that share it run one at a time. Such a step belongs to the cell, which it does
        not keep alive. `names`: what code that the cell can reach reads of its arguments. `known`: the attributes that are known
        to be set by it, which grows.
        """
        start = time.perf_counter()
        with failing("reading the arguments", outermost=True, deep=True):
            leaves, structure = flatten((as_inputs(args), as_inputs(kwargs)))
        self._kept_cell = cell if turns is None else None
        self._weak_cell = weakref.ref(cell)
        self._structure = structure
        with failing("reading the cell", outermost=True, deep=True):
            self._given = Given(leaves, structure, reads(cell, structure) if names is None else names)
            cell.settle_names()
        self._plain = self._queued = self._given.plain
        with failing(f"tracing {type(cell).__name__}", outermost=True, deep=True, tracing=True):
            traced = self._trace(cell, leaves, structure, known, names)
        if turns is not None:
            # Tracing may have changed what the arguments hold. Who calls the cell knows what the step fits.
            self._given.look_again()
        self._names = traced.names
        traced_at = time.perf_counter()
        with failing("running the passes", outermost=True, deep=True):
            self._stages = passes.run(traced.graph, pipeline)
            refuse_gradients(self.graph)
            self._talks = rank_agreement.meet(
                self.graph,
                passes.before_buckets(self._stages),
                passes.before_stages(self._stages),
                traced.params,
                leaves,
            )
        passed_at = time.perf_counter()
        on = switches()
        with failing("lowering", locations=self._locations, outermost=True, deep=True):
            graph = run_hooks.watched(self.graph)
            self._lowered = lower(
                graph,
                canary=on.canary,
                profile=on.profile and on.jit,
                threads=threads(),
                apart=None if on.threads else apart,
                bfloat16=multiplies_bfloat16,
                cache=second_cache,
            )
        lowered_at = time.perf_counter()
        program = self._lowered.program
        with failing("generating code", locations=self._locations, notes=notes_of(program), outermost=True, deep=True):
            self._executable = build(program, checked=not on.jit, locations=self._locations)
        #: What was traced: the first of the passes, and what belongs to it.
        self.traced = traced
        self._profile: Profile | None = None
        self._nodes = self.graph.count()
        self._outputs = traced.structure
        self._numbers = [i for i, is_number in enumerate(traced.numbers) if is_number]
        self._params = [traced.params[i] for i in self._lowered.params]
        written = {traced.params[u.param] for u in traced.graph.updates}
        self._hunt = run_hooks.hunt(self.graph, self._lowered, self._params)
        self._checks, self._watches = run_hooks.around(cell, written, self._hunt)
        self._checks += [kept.before for kept in traced.kept if kept.is_read]
        self._watches += traced.kept
        self._prints = [p for p in self._params if isinstance(p, PrintLog)]
        # Behind these there is one more with `find_nan`.
        self._results = self._lowered.results[: len(self.graph.results)]
        self._lock = rlock() if turns is None else turns
        #: What steps of other cells, which draw of the same random states, hold too.
        self._drawing = drawing if any(p.is_shared_state for p in written) else nullcontext()
        self._canary = on.canary
        with failing("making room for the step", outermost=True, deep=True):
            self._bind()
        self.compile_seconds = {
            "trace": traced_at - start,
            "passes": passed_at - traced_at,
            "lower": lowered_at - passed_at,
            "codegen": time.perf_counter() - lowered_at,
        }
        if on.dump is not None or on.save_graphs or context.get_context("save_graphs"):
            from graphc.recording.dumping import dump_as_asked  # Dumps are rare.

            dump_as_asked(self)
        for watch in tuple(watchers):
            watch(self)

    # ---- looking inside

    @property
    def cell(self) -> Cell | None:
        """The cell; None if it has been dropped and this step was made by calling it."""
        return self._weak_cell()

    @property
    def graph(self) -> Graph:
        return self._stages[-1].graph

    @property
    def passes(self) -> list[tuple[str, Graph]]:
        return [(s.name, s.graph) for s in self._stages]

    @property
    def rewrites(self) -> list[tuple[str, str]]:
        return self._lowered.texts()

    @property
    def source(self) -> str:
        return self._executable.source

    @property
    def kernels(self) -> str:
        return self._executable.kernels

    @property
    def gives(self) -> tuple[Structure, list[str], list[int]]:
        """The structure of what it returns, dtypes of the tensors in it, and which of these are Python numbers."""
        return self._outputs, [type.dtype for _, type in self._results], self._numbers

    @property
    def memory(self) -> dict[str, int]:
        return dict(self._lowered.memory)

    @property
    def cache_hit(self) -> bool:
        return self._executable.cache_hit

    @property
    def parameters(self) -> list[Parameter]:
        """The parameters it reads or writes."""
        return [p for p in self._params if not isinstance(p, PrintLog)]

    @property
    def state(self) -> dict[int, Parameter]:
        """The same, and the log of prints, by the id of their Param node."""
        return dict(zip(self._lowered.params, self._params, strict=True))

    @property
    def serves_once(self) -> bool:
        """Whether another step has to be compiled after a run, because of what this one leaves in attributes of Cells."""
        return any(kept.changes for kept in self.traced.kept)

    @property
    def names(self) -> tuple[str, ...]:
        """What the inputs are called."""
        return self._names

    @property
    def held(self) -> int:
        """About how many bytes it holds: arena, constants, machine code, texts and graphs; not the parameters."""
        own = sum(self._lowered.memory[k] for k in ("arena", "constants"))
        return own + self._executable.held + _NODE_BYTES * self._nodes

    @property
    def results(self) -> Any:
        """The types of what it returns, nested as `construct` returns it."""
        own = self._results if self.counted is None else self._results[: self.counted.results]
        return unflatten(self._outputs, [type for _, type in own])

    def timings(self) -> list[Timing]:
        """Every kernel call of a profiling build (GRAPHC_PROFILE=1) with the time that all runs so far spent in it.

        Raises ArgumentValueError for a step that was compiled otherwise.
        """
        if not self._lowered.program.profile:
            raise ArgumentValueError(
                "this step does not count its time",
                loc=user_loc(),
                help="compile it with GRAPHC_PROFILE=1 or inside `with graphc.debug.debug(profile=True):`",
            )
        return [
            Timing(symbol(call.kernel), call.note, float(seconds[:, 1].max()), float(seconds[0, 0]))
            for call, seconds in self._bound.timings()
        ]

    def profile(self, *args: Any, runs: int | None = None, **kwargs: Any) -> Record:
        """Measure where the time goes when the step is called so; returns its record with `profile`, as `record` does from now.

        runs: how often it is run; by default as often as fits into a second and a half. Parameters are what they were before
        afterwards. Raises SignatureError as a call does, ArgumentValueError in checked mode.
        """
        from graphc.profiling.measure import measure  # Here, so that a start without measuring is quick.

        self._profile = measure(self, self.arrays(*args, **kwargs), runs)
        return self.record()

    def record(self) -> Record:
        """The step as plain data: graph, history, schedule, memory; see `graphc.inspect.record`."""
        from graphc.recording.make import Parts, make  # Here, so that a start without records is quick.

        return make(
            Parts(self._stages, self.traced.calls, self._lowered, self.source, self._executable.target, self._profile)
        )

    def dump(self, directory: str | Path) -> list[Path]:
        """Write graph, changed passes, statements, generated step and kernels into a directory. Returns the files written."""
        from graphc.recording.dumping import dump  # Here, so that a start without dumps is quick.

        return dump(self, Path(directory))

    def export(self, path: str | Path, *, parameters: str = "embedded", compiler: str | None = None) -> list[Path]:
        """Write this step with the parameters of now: PATH.onnx, or PATH.so and a C header (docs/exporting.md), linked by the C
        `compiler`; parameters="file" puts them beside it. Returns the files written. Raises ExportError GC193."""
        from graphc.exports import steps  # Here, so that a start without exports is quick.

        if self.counted is not None:
            self.counted.refuse_export()
        refuse_export(self.traced.kept)
        self._check_params()
        parts = self.graph, self._lowered, self._executable, self._params
        return steps.export(path, *parts, listed=bool(self._checks), parameters=parameters, compiler=compiler)

    def __repr__(self) -> str:
        inputs = ", ".join(map(str, self._given.types))
        return f"<compiled {self.graph.name}({inputs}): {self._nodes} nodes>"

    # ---- running

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """One step. Returns what `construct` returns, as new tensors; parameters are updated in place.

        Raises SignatureError GC170 for other shapes, dtypes, structure or Python values than it was compiled for.
        """
        try:
            arrays = None if kwargs else self.plain_arrays(args)
            return self.run(self.arrays(*args, **kwargs) if arrays is None else arrays)
        except BaseException as error:
            clean(error)
            raise

    def run(self, arrays: list[Array]) -> Any:
        """One step on checked inputs. What the optimizers in it refuse is refused before anything is changed."""
        began = profile_hooks.now()
        with self._lock, self._drawing:
            if self._talks:
                processes.require_membership()
            for check in self._checks:
                check()
            if self._moves != Parameter.moves:
                self._bind()
            try:
                self._bound.run(arrays)
            except generator.KernelError as error:
                raise failure(error, self.graph) from error.__cause__
            if self._canary:
                self._bound.check_canaries()
            outputs = [Tensor.wrap(read()) for read in self._readers]
            for log in self._prints:
                log.flush()
            for watch in self._watches:
                watch(1)
            if self._talks:
                processes.count_steps(1)
        if began:
            profile_hooks.tell("step", self.graph.name, began, self, arrays)
        return self._returned(outputs)

    def _trace(
        self, cell: Cell, leaves: list[Tensor], structure: Structure, known: Known | None, names: Names | None
    ) -> Traced:
        found = Known() if known is None else known
        traced, self.counted = trace_counted(cell, leaves, structure, Attempts(cell, found, names))
        if known is None:
            refuse_changing(traced.kept)
        return traced

    def _returned(self, outputs: list[Any]) -> Any:
        """What `construct` returns, from its tensors."""
        if self.counted is not None:
            outputs = self.counted.cut(outputs, self._lengths)
        for i in self._numbers:
            outputs[i] = outputs[i].item()
        return unflatten(self._outputs, outputs)

    def run_many(self, queue: list[Array], kept: Sequence[int] = ()) -> tuple[Any, list[Array]]:
        """One step per batch of a queue, in one native loop that does not come back to Python in between.

        queue: for every input an array (steps, *its shape) of its dtype, C-contiguous; the step must take nothing but tensors.
        kept: which results, counted through the nest that `construct` returns, are kept of every step.
        Returns (what the last step returns, for every kept result an array (steps, *its shape)). The same bits as a call per
        step. What ends a step ends the loop: those before it are done. Without native code (GRAPHC_JIT=0), where the step
        prints, or with `find_nan`, the loop is Python's. Raises SignatureError GC170 for a queue that does not fit.
        """
        steps = batches_of(queue, self._queued, self.graph.name, self._given.types)
        if self.counted is not None:
            self.counted.refuse_kept(kept, len(self._lengths))
        inputs = {b.id: queue[b.position] for b in self._lowered.program.buffers if b.space == "input"}
        results = [self._results[i] for i in kept]
        written = [id for id, _ in results if id not in inputs]
        arrays: list[list[Array]] = []
        begin, began = 0, profile_hooks.now()
        with self._lock, self._drawing:
            if self._talks:
                processes.require_membership()
            while begin < steps:
                limits = [check() for check in self._checks] + [watch.limit() for watch in self._watches]
                limits += [1] if self._prints or self.counted is not None else []
                count = min([steps - begin, *(n for n in limits if n is not None)])
                if self._moves != Parameter.moves:
                    self._bind()
                part = [q[begin : begin + count] for q in queue]
                try:
                    arrays.append(self._bound.run_many(part, count, written))
                except generator.KernelError as error:
                    raise failure(error, self.graph) from error.__cause__
                if self._canary:
                    self._bound.check_canaries()
                for log in self._prints:
                    log.flush()
                for watch in self._watches:
                    watch(count)
                if self._talks:
                    processes.count_steps(count)
                if self.counted is not None:
                    self.counted.check([read() for read in self._readers[self.counted.results :]], self._lengths)
                begin += count
            outputs: list[Any] = [Tensor.wrap(read()) for read in self._readers]
        if began:
            profile_hooks.tell("step", self.graph.name, began, self, [q[-1, ...] for q in queue], steps)
        kept_arrays = inputs | {id: np.concatenate([part[k] for part in arrays]) for k, id in enumerate(written)}
        rows = [(kept_arrays[id].view(type.numpy), type.shape) for id, type in results]
        return self._returned(outputs), [array.reshape(steps, *shape) for array, shape in rows]

    @property
    def entry(self) -> Entry:
        """The step for a loop of one's own, jitted or not: a new one each time, with memory of its own; see `Entry`.

        Raises ArgumentValueError where there is no native code (GRAPHC_JIT=0), for a step that prints or counts its time,
        and for one that takes anything but tensors.
        """
        on = switches()
        plain = self._plain if self.counted is None and not self.traced.kept else None
        if self._executable.checked or self._prints or plain is None or on.profile or self._hunt is not None:
            raise ArgumentValueError(
                f"this step of {self.graph.name} cannot be called by address",
                loc=user_loc(),
                help="a step that takes tensors only, prints nothing, counts no places, without GRAPHC_JIT=0, GRAPHC_PROFILE"
                " and find_nan",
            )
        self._check_params()
        return Entry.of(cast("NativeBound", self._bound_anew()), self._executable.entry_address, plain, self._results)

    def _locations(self) -> dict[int, Loc]:
        """The user's lines by node id."""
        return {n.id: n.loc for _, n in walk_nodes(self.graph) if n.loc is not None}

    def _bind(self) -> None:
        """Take the addresses of the parameters. A parameter whose type has changed needs a new compilation."""
        self._check_params()
        self._bound = self._bound_anew()
        if self._hunt is not None:
            self._hunt.bound = self._bound
        # Who hunts looks at results where the program has them.
        self._readers = self._bound.readers(
            [(b, type.shape, type.dtype) for b, type in self._results], kept=self._hunt is not None
        )
        self._moves = Parameter.moves

    def _bound_anew(self) -> Bound:
        """The step with memory of its own. Raises StepMemoryError where it cannot be had."""
        params, constants = [p.storage for p in self._params], list(self._lowered.constants)
        try:
            return self._executable.bind(params, constants)
        except MemoryError:
            raise too_large(self.graph, self._lowered.memory["arena"]) from None

    def _check_params(self) -> None:
        """SignatureError if a parameter has another type than the step was compiled for."""
        for id, p in zip(self._lowered.params, self._params, strict=True):
            compiled = self.graph.node(id).type
            if p.tensor_type != compiled:
                raise SignatureError(
                    f"parameter {p.name!r} is {p.tensor_type} now, this step was compiled for {compiled}",
                    help="compile again: graphc.compile(cell, ...)",
                )

    def plain_arrays(self, args: tuple[Any, ...]) -> list[Array] | None:
        """The inputs' memory where all are contiguous Tensors of the right types: the quick way. Else None."""
        if self._plain is None or len(args) != len(self._plain):
            return None
        arrays = []
        for x, (dtype, shape) in zip(args, self._plain, strict=True):
            a = x._array if type(x) is Tensor else None
            if a is None or a.shape != shape or not (a.dtype is dtype or a.dtype == dtype) or not a.flags.c_contiguous:
                return None
            arrays.append(a)
        return arrays

    def arrays(self, *args: Any, **kwargs: Any) -> list[Array]:
        """What `run` takes, of what the step is called with: an array per Input node. Raises SignatureError."""
        return self._given.arrays(args, kwargs, self.graph.name, self._names)
