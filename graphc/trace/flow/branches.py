"""Converted `if` statements and ternaries: what a tensor chooses becomes an If node, and names one value after it."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, partial
from typing import Any

from graphc.errors import Loc, TraceError, TraceTypeError, user_loc
from graphc.nn.cell.cell import Cell
from graphc.ops import functional as F
from graphc.ops.tensor.tensor import Tensor
from graphc.ops.tensor.tree import flatten, unflatten
from graphc.trace.conversion.truth import active_recorder, held, is_traced, one_element
from graphc.trace.dynamic.size_numbers import decided
from graphc.trace.flow import conditions, merging, mixed_kinds, mixed_sizes, raising
from graphc.trace.mutation import attributes, inplace
from graphc.trace.recorder import GraphRecorder

#: The name of malt's flag for a function that has returned; numbered in functions inside of others.
_LEAVES = re.compile(r"do_return(_\d+)?")


class UnboundError(TraceError, UnboundLocalError):
    """A name that only one branch sets is used after the conditional."""


def undefined(x: Any) -> bool:
    """Whether a symbol has no value yet."""
    return getattr(type(x), "graphc_unset", False) or (
        type(x).__name__ in ("Undefined", "UndefinedReturnValue") and type(x).__module__.startswith("malt.")
    )


@cache
def _unset_class() -> type:
    from malt.operators.variables import Undefined  # It is there by now: such a name stands in converted code.

    class Unset(Undefined):  # type: ignore[misc]
        """A name that has a value on some ways to here; to read it is an error."""

        __slots__ = ("graphc_error",)
        graphc_unset = True

        def read(self) -> Any:
            raise self.graphc_error(user_loc())

    return Unset


def unset(name: str, error: Callable[[Loc | None], TraceError]) -> Any:
    """What stands for a name that some ways leave without a value: reading it raises `error`, made for the line of the use. Of an
    attribute or item, which would be read as it is, it is raised at once.
    """
    if not name.isidentifier():
        raise error(user_loc())
    made = _unset_class()(name)
    made.graphc_error = error
    return made


def _one_way_unset(name: str, branch: str) -> Any:
    at = user_loc()

    def error(use: Loc | None) -> TraceError:
        return UnboundError(
            f"{name!r} is not set in the `{branch}` branch",
            code="GC121",
            loc=use,
            details=[f"the `if` is at {at}"] if at and at != use else [],
            help=f"set {name} before the `if`, or in both branches",
        )

    return unset(name, error)


def if_stmt(
    cond: Any,
    body: Callable[[], Any],
    orelse: Callable[[], Any],
    get_state: Callable[[], tuple[Any, ...]],
    set_state: Callable[[tuple[Any, ...]], None],
    symbol_names: tuple[str, ...],
    nouts: int,
) -> None:
    """An `if` statement. The first `nouts` symbols are used after it."""
    decision = held(cond)
    cond = decided(decision)
    if not is_traced(cond):
        (body if cond else orelse)()
        return
    inplace.refuse_setters(symbol_names, get_state)
    _either_way(decision, (body, orelse), get_state, set_state, symbol_names, nouts)


def _either_way(
    decision: Any,
    ways: tuple[Callable[[], Any], Callable[[], Any]],
    get_state: Callable[[], tuple[Any, ...]],
    set_state: Callable[[tuple[Any, ...]], None],
    names: tuple[str, ...],
    nouts: int,
    returned: str = "the result",
) -> Any:
    """Trace both ways; behind them names hold what either has left, as do the attributes of Cells that either calls. What they
    return, by its name.
    """
    state = get_state()
    beside = attributes.beside(lambda: {(id(owner), name) for _, owner, name in inplace.owners(names, get_state)})
    count = len(beside)
    entry = (*beside.get(), None, *state)
    rebound: set[int] = set()

    def put(values: tuple[Any, ...]) -> None:
        if count:
            beside.put(values[:count])
        set_state(values[count + 1 :])

    def run(part: Callable[[], Any]) -> Callable[[], Any]:
        def way() -> tuple[Any, ...]:
            value = part()
            return (*(beside.get() if count else ()), value, *get_state())

        def traced() -> Any:
            mine = inplace.own(entry)
            put(mine)
            after: tuple[Any, ...] = inplace.unchanged(way, mine, partial(put, mine), entry)()
            rebound.update(inplace.rebound(mine, after))
            return after

        return traced

    then, orelse = map(run, ways)
    made = _joined(decision, then, orelse, (*beside.names, returned, *names), count + 1 + nouts, entry, beside)
    put(inplace.given_back(entry, made, rebound))
    return made[count]


def state_after(part: Callable[[], Any], get_state: Callable[[], tuple[Any, ...]]) -> tuple[Any, ...]:
    """What names hold behind a part of the program."""
    part()
    return get_state()


def _joined(
    decision: Any,
    body: Callable[[], tuple[Any, ...]],
    orelse: Callable[[], tuple[Any, ...]],
    names: tuple[str, ...],
    nouts: int,
    entry: tuple[Any, ...],
    beside: attributes.Beside,
) -> tuple[Any, ...]:
    """The symbols after both branches have been traced: equal Python values stay, tensors become results of an If; sizes that
    lengths tell stay sizes where these decide.
    """
    recorder = active_recorder()
    pred = F.reshape(F.cast(one_element(decided(decision)), "bool"), ())
    parts = (("then", body), ("else", orelse))
    branches = [conditions.trace_branch(recorder, name, raising.caught(part, recorder)) for name, part in parts]
    then, other = raising.settled([unflatten(structure, leaves) for _, leaves, structure in branches], entry)
    if beside:
        then, other = beside.completed(then, other)
    left = _returns(names, then), _returns(names, other)
    results: list[Any] = []
    moved: list[int] = []
    for i, (a, b) in enumerate(zip(then, other, strict=True)):
        # A list or dict may be read by another name that it has.
        if i >= nouts and not (i < len(entry) and inplace.is_owned(entry[i])):
            results.append(entry[i] if i < len(entry) else None)
        elif same(a, b) or (undefined(a) and undefined(b)):
            results.append(a)
        elif not all(_is_given(x, names[i], way) for x, way in ((a, left[0]), (b, left[1]))):
            results.append(_one_way_unset(names[i], "else" if undefined(b) else "if"))
        elif callable(a) and callable(b):
            results.append(_either(pred, a, b))
        elif mixed_sizes.are_sizes(decision, a, b):
            results.append(decision.chosen(a, b))
        else:
            results.append(None)
            moved.append(i)
    recorders = branches[0][0], branches[1][0]
    apart: set[int] = set()
    pairs: list[tuple[Any, Any]] = []
    widths_of: dict[int, list[mixed_sizes.Cut]] = {}
    for i in moved:
        a, b = then[i], other[i]
        pair = _placeholders(a, b) if undefined(a) or undefined(b) else _paired(names[i], recorders, a, b)
        if pair is None:
            apart.add(i)
            pair = mixed_kinds.tokens(recorders[0], a, recorders[1], b)
        elif i not in apart:
            pair, widths_of[i] = mixed_sizes.aligned(decision, recorders, *pair)
        pairs.append(pair)
    flat = [flatten(tuple(p[k] for p in pairs)) for k in (0, 1)]
    merged = conditions.merge(recorder, pred, (recorders[0], *flat[0]), (recorders[1], *flat[1]))
    for i, value in zip(moved, merged, strict=True):
        value = mixed_sizes.cut(value, widths_of.get(i, []))
        results[i] = mixed_kinds.of(names[i], then[i], other[i], value) if i in apart else value
    return tuple(results)


def _either(pred: Tensor, a: Callable[..., Any], b: Callable[..., Any]) -> Callable[..., Any]:
    """What a name holds that is one function or Cell on one way and another one on the other: calling it chooses."""

    def call(*args: Any, **kwargs: Any) -> Any:
        active = active_recorder()
        first, second = (partial(x if isinstance(x, Cell) else active.prepared(x), *args, **kwargs) for x in (a, b))
        return if_exp(pred, first, second, "the result")

    return call


def same(a: Any, b: Any) -> bool:
    """Whether a symbol has one and the same value on both ways."""
    return a is b or (not undefined(a) and merging.same(a, b))


def _is_given(value: Any, name: str, leaves: bool) -> bool:
    """Whether a symbol has a value at the end of a way, or needs none: what stands in for the return value is not read, nor is
    anything on a way that leaves the function.
    """
    return not undefined(value) or mixed_kinds.is_returned(name) or leaves


def _returns(names: tuple[str, ...], values: tuple[Any, ...]) -> bool:
    """Whether a way through an `if` always ends with `return`."""
    return any(_LEAVES.fullmatch(n) and v is True for n, v in zip(names, values, strict=False))


def _placeholders(a: Any, b: Any) -> tuple[Any, Any]:
    """Both values of a symbol of which one way has none that anybody reads."""
    given = b if undefined(a) else a
    placeholder = raising.zeros_of(given)
    return (placeholder, given) if given is b else (given, placeholder)


def _paired(name: str, recorders: tuple[GraphRecorder, GraphRecorder], a: Any, b: Any) -> tuple[Any, Any] | None:
    """Both values of a symbol, made to fit each other; None for values of different kinds that can only be waited for.

    TraceTypeError GC122 for others that do not fit, such as two strings.
    """
    made = merging.paired(recorders[0], a, recorders[1], b)
    if made is None and not (mixed_kinds.can_wait(a) and mixed_kinds.can_wait(b)):
        raise TraceTypeError(
            mixed_kinds.message(name, a, b), code="GC122", loc=user_loc(), help=mixed_kinds.advice(name, a, b)
        )
    return made


def if_exp(cond: Any, if_true: Callable[[], Any], if_false: Callable[[], Any], name: str) -> Any:
    """`a if cond else b`."""
    decision = held(cond)
    cond = decided(decision)
    if not is_traced(cond):
        return if_true() if cond else if_false()
    return _either_way(decision, (if_true, if_false), tuple, lambda state: None, (), 0, name)
