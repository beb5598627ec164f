"""Calling a Cell, or a gradient function, outside a trace: compiled once for all that a step depends on."""

from __future__ import annotations

import warnings
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, suppress
from types import CodeType, FunctionType, MethodType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, WeakSet

from graphc import context, dispatch, passes
from graphc.attached import attached
from graphc.debug import finds_nan, jit, switches
from graphc.errors import ArgumentValueError, GraphcError, RecompileWarning, TraceError, stacklevel, user_loc
from graphc.guards import arguments
from graphc.guards.float_arguments import Numbers
from graphc.guards.integer_arguments import ToldInputs
from graphc.guards.iterators import Taken
from graphc.guards.state import State
from graphc.guards.walk import Names, walk
from graphc.guards.watch import Watch
from graphc.internal_errors import failing
from graphc.ir import TensorType
from graphc.nn.cell.cell import Cell
from graphc.ops.gradients.reverse import GradFunction, name_of
from graphc.ops.tensor.inputs import as_inputs
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor
from graphc.ops.tensor.tree import Structure, flatten
from graphc.steps import cached_steps, profile_hooks
from graphc.steps.buckets import PaddedStep, varying_in
from graphc.steps.compile_context import compilation
from graphc.steps.compiled_step import CompiledStep
from graphc.steps.jit import FunctionCell, referenced_cells
from graphc.steps.nested_calls import Call, call_of
from graphc.steps.python_fallback import Left
from graphc.trace import eager
from graphc.trace.mutation.attributes import Known
from graphc.trace.mutation.outliving import Outliving
from graphc_codegen.forks import lock, rlock

#: The recompilation because of one thing that is announced; for shapes: the third shape is the second recompilation.
_ANNOUNCED, _ANNOUNCED_SHAPE = 3, 2
#: Attributes of Cells that are modes: there are a few of each.
_MODES = (".training", ".compute_dtype", ".result_dtype", ".low_dtype")
#: How many things an announcement names.
_SAID = 3


class Key(NamedTuple):
    """All that a step is compiled for.

    taken: None, or the names of iterators of which tracing has taken an item, beside what is equal to nothing else: such a
    step is right for one call. told: what tensors hold of which axes and sizes are made, by their places.
    """

    types: tuple[Any, ...]
    references: tuple[int, ...]
    nesting: Any
    values: State | None
    state: State
    settings: tuple[Any, ...]
    taken: tuple[tuple[str, ...], object] | None = None
    told: tuple[tuple[int, bytes], ...] = ()


#: Why a cell is compiled again, and what can be done. What is not here is not announced.
_HELP = {
    "types": "each shape and dtype has a step of its own. Where a size varies: graphc.compile(cell, ..., buckets=(16, 32, 64))"
    " pads to a few sizes, cell.set_inputs(Tensor(shape=[None, ...], dtype=...)) lets an axis vary,"
    " batch(..., drop_remainder=True) leaves out a smaller last batch",
    "values": "Python values are constants of a compiled step: pass what varies as a tensor, or marked by graphc.mutable",
    "state": "what varies from call to call can be a Parameter, or an argument of the call",
    "told": "axes, sizes and shapes are constants of a compiled step. Where a size varies, buckets have a step for a few sizes",
    "taken": "take the item before the call, and give it as an argument",
}


class Steps:
    """The compiled steps of one cell."""

    def __init__(self) -> None:
        #: Held by every call while it runs and its results are copied: all the steps write the same parameters.
        #: In PYNATIVE_MODE a hook may call the cell that it belongs to.
        self.turns = rlock()
        #: The step of the last call, when it serves the next one, and what to watch; one tuple, so that threads see them
        #: together.
        self.latest: tuple[CompiledStep | None, tuple[Any, ...], Watch] = (None, (), Watch())
        #: Floats among the arguments that keep changing.
        self.numbers = Numbers()
        #: Tensors among them of which sizes are made.
        self.told = ToldInputs()
        #: The attributes of Cells that steps set.
        self.attributes = Known()
        #: Whether Python runs the cell after all.
        self.left = Left()
        self._names = Names()
        self._seen: tuple[tuple[Any, ...], State | None, Watch] = ((), None, Watch())
        self._steps: OrderedDict[Key, CompiledStep] = OrderedDict()
        self._keeping = lock()
        self._recompiled: Counter[tuple[str, str]] = Counter()
        self._announced: set[str] = set()
        cached_steps.register(self)

    def kept(self) -> list[Key]:
        """What there are steps for, the one called last at the end."""
        return list(self._steps)

    def state(self, cell: Cell) -> tuple[State, Watch]:
        """What the cell is now, and what to watch to learn that it has changed."""
        at = (dispatch.version, Parameter.moves, self._names.size)
        seen, state, watch = self._seen
        if state is None or seen != at or watch.changed():
            found = walk(self._names, [("self", cell)], self.attributes)
            made = State(found)
            # One and the same where nothing has changed: it is compared soonest.
            state, watch = state if state == made and state is not None else made, found.watch
            self._seen = (*at[:2], self._names.size), state, watch
        return state, watch

    def step(
        self, cell: Cell, args: tuple[Any, ...], kwargs: dict[str, Any], may_leave: bool = True, may_tell: bool = True
    ) -> tuple[CompiledStep, Watch] | None:
        """The step for such arguments, compiled now if there is none; None where the cell turns out to be left to Python.

        may_tell: whether it may be that of what integers among them hold.
        """
        with failing("reading the cell and its arguments", outermost=True, deep=True):
            leaves, structure = flatten((args, kwargs))
            self.state(cell)  # For the names that are read, of arguments too.
            values = arguments.values(structure, self._names)
            state, watch = self.state(cell)
            varying = varying_in(cell)
            types = varying.plan(cell, leaves, structure).types(leaves) if varying else [x.tensor_type for x in leaves]
            key = _key(leaves, types, structure, values, state, varying and varying.key)
            may_tell = may_tell and not varying and not context.leaves_to_python()
            if may_tell:
                key = key._replace(told=self.told.contents(leaves, key.nesting))
        with self._keeping:
            found = self._steps.get(key)
            if found is not None:
                self._steps.move_to_end(key)
                cached_steps.called(found)
                return found, watch
            before = dict(self._steps)
        self._announce(cell, key, before)
        # Threads that come together each compile one, the first to end is kept.
        taken = Taken({**state.iterators(), **(values.iterators() if values is not None else {})})
        lasting, known = Outliving(), self.attributes.size

        def is_as_it_was() -> bool:
            # With attributes that it turned out to set, other things count.
            return not taken.names and (self.attributes.size > known or self.state(cell)[0] == state)

        with self.left.trying(cell, lasting, is_as_it_was) if may_leave else nullcontext():

            def compiled(args: tuple[Any, ...], kwargs: dict[str, Any]) -> CompiledStep:
                return CompiledStep(cell, args, kwargs, self.turns, self._names, known=self.attributes)

            made: CompiledStep
            with compilation(), taken, lasting:
                if varying:
                    made = PaddedStep(cell, args, kwargs, varying, self.turns, self._names)
                elif may_tell:
                    made = self.told.compiled(compiled, leaves, structure, key.nesting)
                    key = key._replace(told=self.told.contents(leaves, key.nesting))
                else:
                    made = compiled(args, kwargs)
            # Where the next call compiles again, what has changed once changes once more.
            if lasting.changes and is_as_it_was():
                lasting.tell()
        if self.left.now:
            return None
        if self.attributes.size > known:
            state, watch = self.state(cell)
            key = key._replace(state=state)
        if taken.names:
            key, watch = key._replace(taken=(taken.names, object())), Watch.of_what_moves()
            self._announce(cell, key, before)
        with self._keeping:
            found = self._steps.setdefault(key, made)
            cached_steps.called(found)
            while len(self._steps) > max(1, switches().signatures):
                self._steps.popitem(last=False)
        cached_steps.shrink()
        return found, watch

    def step_for_numbers(
        self, cell: Cell, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[CompiledStep, Watch] | None:
        """The step that takes floats which keep changing as inputs; None, from then on, where there is none, or one that gives
        something else than those for which they are constants.
        """
        latest, made = self.latest[0], None
        with suppress(Exception):
            made = self.step(cell, args, kwargs, may_leave=False)
            if made is not None and (latest is None or made[0].gives == latest.gives):
                return made
        self.numbers.refuse()
        if made is not None:
            self.drop(made[0])
        return None

    def earlier(self) -> list[CompiledStep]:
        """The steps but for the one called last."""
        with self._keeping:
            return list(self._steps.values())[:-1]

    def held(self) -> int:
        """Bytes that the steps hold."""
        with self._keeping:
            return sum(step.held for step in self._steps.values())

    def drop(self, step: CompiledStep) -> None:
        """Keep a step no longer."""
        with self._keeping:
            for key in [k for k, s in self._steps.items() if s is step]:
                del self._steps[key]

    def _announce(self, cell: Cell, key: Key, steps: dict[Key, CompiledStep]) -> None:
        """Warn when a cell is compiled again because the same thing has changed once more: a third shape, a fourth value."""
        before = list(steps)
        if not before:
            _announce_anew(cell)
            return
        nearest = max(reversed(before), key=lambda k: sum(a == b for a, b in zip(k, key, strict=True)))
        key.state.share(nearest.state)
        for kind, help in _HELP.items():
            if getattr(key, kind) == getattr(nearest, kind) or (kind == "types" and varying_in(cell)):
                continue
            if kind == "values" and key.nesting != nearest.nesting:
                continue  # Others are tensors.
            changes = dict(_changes(kind, key, nearest, steps[nearest].names, before))
            self._recompiled.update((kind, what) for what in changes)
            limit = _ANNOUNCED_SHAPE if kind == "types" and _shapes(key) != _shapes(nearest) else _ANNOUNCED
            often = [f"{what} {how}" for what, how in changes.items() if self._recompiled[kind, what] >= limit]
            if often and kind not in self._announced:
                self._announced.add(kind)
                text = GraphcError(
                    f"{_name(cell)} is compiled again; it has been {len(before)} times",
                    code="GC171",
                    loc=user_loc(),
                    details=often[:_SAID],
                    help=help,
                )
                warnings.warn(str(text), RecompileWarning, stacklevel=stacklevel())


def _announce_anew(cell: Cell) -> None:
    """Warn when a function that is compiled for the first time is one of many that the same `def` has made, the others being
    gone.
    """
    fn = cell.fn if isinstance(cell, FunctionCell) else cell.gradient_of if isinstance(cell, GradientCell) else None
    while isinstance(fn, GradFunction):
        fn = fn.fn
    if not isinstance(fn, FunctionType):
        return
    with _noting:
        made = _made.setdefault(fn.__code__, _Made())
        made.count += fn not in made.alive
        made.alive.add(fn)
        gone = made.count - len(made.alive)
        if gone < _ANNOUNCED or made.announced:
            return
        made.announced = True
    text = GraphcError(
        f"{_name(cell)} is compiled again; so were {made.count - 1} others that the same definition has made",
        code="GC171",
        loc=user_loc(),
        help="define the function once, outside of the loop, and give it what varies as arguments",
    )
    warnings.warn(str(text), RecompileWarning, stacklevel=stacklevel())


class _Made:
    """How many functions of one code were compiled, and which of them still exist."""

    def __init__(self) -> None:
        self.count, self.announced = 0, False
        self.alive: WeakSet[FunctionType] = WeakSet()


_made: WeakKeyDictionary[CodeType, _Made] = WeakKeyDictionary()
_noting = lock()


def _key(
    leaves: list[Tensor],
    types: Sequence[TensorType],
    structure: Structure,
    values: State | None,
    state: State,
    varying: Any,
) -> Key:
    return Key(
        tuple((type, x.is_number) for x, type in zip(leaves, types, strict=True)),
        tuple(id(x) if isinstance(x, Parameter) else 0 for x in leaves),
        arguments.nesting(structure),
        values,
        state,
        (jit(), finds_nan(), context.parallel_settings(), dispatch.low.get(), varying),
    )


def _changes(
    kind: str, key: Key, nearest: Key, names: Sequence[str], before: Sequence[Key]
) -> Iterator[tuple[str, str]]:
    """What has changed, and how; nothing for a mode. names: of the inputs; before: all that there are steps for."""
    if kind == "types":
        for i, (new, old) in enumerate(zip(key.types, nearest.types, strict=False)):
            if new != old:
                had = dict.fromkeys(str(k.types[i][0]) for k in before if i < len(k.types))
                yield f"input {names[i]!r}", f"was {', '.join(list(had)[-_SAID:])}, is {new[0]}"
        return
    if kind == "told":
        before_it = dict(nearest.told)
        for i, contents in key.told:
            if before_it.get(i, contents) != contents:
                yield f"what input {names[i]!r} holds", "is something else"
        return
    if kind == "taken":
        for name in key.taken[0] if key.taken is not None else ():
            yield name, "gives its next item"
        return
    new, old = getattr(key, kind), getattr(nearest, kind)
    if new is not None and old is not None:
        hooked: set[str] = set()
        for path, how in new.differences(old):
            cell, found, _ = path.partition("._hook")
            if found and cell not in hooked:
                hooked.add(cell)
                yield f"hooks of {cell}", "were registered or removed"
            elif not found and not path.endswith(_MODES):
                yield path, how


def _shapes(key: Key) -> list[tuple[int, ...]]:
    return [type.shape for type, _ in key.types]


def _name(cell: Cell) -> str:
    if isinstance(cell, FunctionCell):
        return name_of(cell.fn)
    return repr(cell.gradient_of) if isinstance(cell, GradientCell) else type(cell).__name__


def execute_cell(cell: Cell, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a cell that is called outside a trace."""
    conditions = _conditions()
    steps: Steps = attached(cell, "steps", Steps)
    step, known, watch = steps.latest
    if step is not None and known == conditions and not kwargs:
        # The quick way: nothing has changed since the last call, and the inputs are like those of the last call.
        arrays = step.plain_arrays(args)
        if arrays is not None and not watch.changed():
            return step.run(arrays)
    callers = args, kwargs
    with failing("reading the arguments", outermost=True, deep=True):
        args, kwargs = as_inputs(callers)
    made = None if _op_by_op(cell, steps) else _step_for(cell, steps, args, kwargs)
    if made is None:
        with steps.left.running(_name(cell)):
            return _run_op_by_op(cell, steps, args, kwargs, callers)
    step, watch, args, kwargs = made
    # Compiling may have touched cells that construct makes.
    steps.latest = step, (dispatch.version, *conditions[1:]), watch
    return step(*args, **kwargs)


def _step_for(
    cell: Cell, steps: Steps, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[CompiledStep, Watch, tuple[Any, ...], dict[str, Any]] | None:
    """The step for a call, what to watch, and the arguments with numbers that are its inputs as tensors; None as for `step`."""
    with failing("reading the arguments", outermost=True, deep=True):
        given = steps.numbers.as_inputs(args, kwargs)
    found = steps.step_for_numbers(cell, *given) if given is not None else None
    if found is not None and given is not None:
        return *found, *given
    plain = steps.step(cell, args, kwargs)
    return None if plain is None else (*plain, args, kwargs)


def _run_op_by_op(cell: Cell, steps: Steps, args: tuple[Any, ...], kwargs: dict[str, Any], callers: Any) -> Any:
    """callers: the arguments as they were given, whose tensors hold what is written to them."""
    _refuse_find_nan()
    with steps.turns, failing(f"running {type(cell).__name__}", outermost=True, deep=True, tracing=True):
        cell.settle_names()
        began = profile_hooks.now()
        results = eager.run(cell, args, kwargs, callers, passes.autodiff, call_inside)
        if began:
            profile_hooks.tell("op by op", _name(cell), began)
        return results


def step_of(cell: Cell, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None) -> CompiledStep | None:
    """The compiled step that a call of the cell with these arguments runs, compiled now if there is none; None where it runs
    op by op: in PYNATIVE_MODE, or left to Python.
    """
    steps: Steps = attached(cell, "steps", Steps)
    if _op_by_op(cell, steps):
        return None
    conditions = _conditions()
    step, known, watch = steps.latest
    if step is None or known != conditions or kwargs or step.plain_arrays(args) is None or watch.changed():
        args, kwargs = as_inputs((args, kwargs or {}))
        found = steps.step(cell, args, kwargs or {}, may_tell=False)
        if found is None:
            return None
        step, watch = found
        steps.latest = step, (dispatch.version, *conditions[1:]), watch
    return step


def call_inside(cell: Cell, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[CompiledStep, Call] | None:
    """The step for a call that is compiled inside of what is not, and how it is called as a function; None where it cannot be:
    it refers to what is computed around it, or as `call_of` has it. args, kwargs: as `as_inputs` makes them.
    """
    steps: Steps = attached(cell, "steps", Steps)
    try:
        found = steps.step(cell, args, kwargs, may_tell=False)
    except TraceError as error:
        if error.code != "GC132":
            raise
        return None
    call = call_of(found[0]) if found is not None else None
    return (found[0], call) if found is not None and call is not None else None


def _op_by_op(cell: Cell, steps: Steps) -> bool:
    return steps.left.now or (context.get_context("mode") == context.PYNATIVE_MODE and not cell.always_compiles)


def _refuse_find_nan() -> None:
    """ArgumentValueError where `find_nan` is asked for without graphs."""
    if not switches().find_nan:
        return
    if context.leaves_to_python():
        why, at = "this Cell cannot be compiled, and runs op by op", None
        help = "change the line for which the OpByOpWarning says so"
    else:
        why, at = "PYNATIVE_MODE runs op by op", context.mode_set_at
        help = "set mode=GRAPH_MODE there, or put @jit on the construct or function that is to be looked at: it is compiled then"
    raise ArgumentValueError(
        f"find_nan looks at compiled steps, {why}",
        loc=user_loc(),
        details=[f"the mode is set at {at}"] if at is not None else [],
        help=help,
    )


def _conditions() -> tuple[Any, ...]:
    """What, together with the cell's own state, decides which step a call runs."""
    return dispatch.version, Parameter.moves, context.version, jit(), finds_nan()


class GradientCell(Cell):
    """The gradient of a function, as a cell."""

    is_network = False

    def __init__(self, fn: Callable[..., Any], weights: Any, options: Any) -> None:
        super().__init__(auto_prefix=False)
        # Children, so that their modes and parameters are part of what the step is compiled for.
        self._cells.update(referenced_cells(fn))
        self.gradient_of = options(fn, weights)

    def construct(self, *inputs: Any) -> Any:
        return self.gradient_of(*inputs)


def execute_gradient(fn: Callable[..., Any], weights: Any, args: tuple[Any, ...], options: Any) -> Any:
    """Run a gradient function that is called outside a trace."""
    owner, name = _place(fn)
    given = tuple(weights) if isinstance(weights, (tuple, list)) else weights
    key = ("gradient", *name, options, _ids(weights))
    cell = attached(owner, key, lambda: GradientCell(fn, given, options))
    return cell(*args)


def _ids(weights: Any) -> Any:
    return tuple(map(id, weights)) if isinstance(weights, (tuple, list)) else id(weights)


def _place(fn: Any) -> tuple[Any, tuple[Any, ...]]:
    """The object that a function lives with, and what tells it from others there."""
    name: tuple[Any, ...] = ()
    while isinstance(fn, GradFunction):
        name = (*name, fn.options, _ids(fn.weights))
        fn = fn.fn
    return (fn.__self__, (*name, fn.__func__)) if isinstance(fn, MethodType) else (fn, name)


dispatch.execute_cell = execute_cell
dispatch.compile_cell = step_of
dispatch.execute_gradient = execute_gradient
