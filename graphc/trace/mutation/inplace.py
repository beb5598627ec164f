"""Lists and other containers that a program changes in place, in a branch or for good, while it is traced.

Python's containers hold what was put into them while tracing, whichever way the step takes later. So a local list is copied for
each way, as a tensor would be; any other container that a way changes is an error, and so is one that keeps a traced tensor
when tracing is over.
"""

from __future__ import annotations

import collections
import contextlib
import dis
import functools
import inspect
import operator
import re
import sys
import types
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

import numpy as np

from graphc.attached import KEY, behind
from graphc.errors import SOURCE_MAPS, Loc, TraceError, user_loc
from graphc.nn.cell.cell import Cell
from graphc.ops.tensor.deferred import Deferred
from graphc.ops.tensor.tensor import Tensor, TracedTensor
from graphc.trace.conversion.code_names import is_users_file
from graphc.trace.conversion.truth import active_recorder
from graphc.trace.flow import merging
from graphc.trace.flow.dynamic_lists import Listed
from graphc.trace.mutation.attributes import Again, Attributes, attributes_of_trace
from graphc.trace.mutation.containers import iter_of
from graphc.trace.recorder import GraphRecorder
from graphc.trace.standins import Appended, Joined, Opened

#: How deep objects and containers are looked into.
_DEPTH = 3
#: What Python changes in place.
_CHANGEABLE = (list, dict, set, collections.deque, bytearray, np.ndarray, Iterator, Listed)
#: The names of functions that malt makes of blocks, tests and the like.
_BLOCK = re.compile(r"(if_body|else_body|loop_body|loop_test|extra_test|get_state|set_state)(_\d+)?")
#: What has nothing in it.
_ATOMS = (int, float, bool, str, bytes, complex, types.NoneType)


def changed(target: Any, method: str, *args: Any, **options: Any) -> Any:
    """`target.append(value)`, and the like, as an expression: what the name holds afterwards."""
    if isinstance(target, Joined):
        raise target.error()
    called = getattr(target, method)
    if not isinstance(target, _CHANGEABLE):
        called = active_recorder().prepared(called)  # An object's own method of this name.
    called(*args, **options)
    return target


def own(state: tuple[Any, ...]) -> tuple[Any, ...]:
    """The values of names for one way: lists and dicts are copies, one for all names of one."""
    copies: dict[int, Any] = {}
    for x in state:
        if is_owned(x) and id(x) not in copies:
            copies[id(x)] = _copied(x)
    return tuple(copies.get(id(x), x) if is_owned(x) else x for x in state)


def _copied(x: Any) -> Any:
    if isinstance(x, Appended):
        return x.copied()
    if isinstance(x, Opened):
        return Opened((k, _copied(v) if is_owned(v) else v) for k, v in x.items())
    return x.copy() if isinstance(x, Listed) else type(x)(x)


def rebound(mine: tuple[Any, ...], after: tuple[Any, ...]) -> list[int]:
    """Which names of lists and dicts stand for another object after a way than they were given: what they were given stays as it
    is for whoever else holds it.
    """
    return [i for i, (x, y) in enumerate(zip(mine, after, strict=False)) if is_owned(x) and y is not x]


def is_owned(x: Any) -> bool:
    """Whether each way through the program has its own copy of a container."""
    return type(x) in (list, dict, Appended, Listed, Opened)


def refuse_two_names(changed: Collection[Any]) -> None:
    """TraceError GC124 where a loop changes one list or dict by two names."""
    held = [id(x) for x in changed if is_owned(x)]
    if len(held) > len(set(held)):
        raise TraceError(
            "a list or dict that has two names is changed by both in a loop of as many turns as only the run tells",
            code="GC124",
            loc=user_loc(),
            help="use one of the names, or make a copy",
        )


def refuse_setters(names: Iterable[str], around: Any) -> None:
    """TraceError GC124 for attributes that a user's property or `__setattr__` sets: what both ways leave in one would be set by
    it once more. names: of what a branch or loop changes, `m.value` among them; around: a function with these variables.
    """
    for name, owner, attribute in owners(names, around):
        found = inspect.getattr_static(type(owner), attribute, None)
        setter = found.fset if isinstance(found, property) else type(owner).__setattr__
        if isinstance(setter, types.FunctionType) and is_users_file(setter.__code__.co_filename):
            raise TraceError(
                f"{name} is set by {setter.__qualname__} under a condition that is known only when the step runs",
                code="GC124",
                loc=user_loc(),
                help="set it behind the `if` or loop, to a local name that both ways set",
            )


def owners(names: Iterable[str], around: Any) -> Iterator[tuple[str, Any, str]]:
    """Of the names of attributes among those that a branch or loop changes: each, the object, and the attribute of it. around: a
    function with the variables.
    """
    for name in names:
        root, *path = name.split(".")
        if path:
            owner = dict(_variables(around)).get(root)
            for attribute in path[:-1]:
                owner = getattr(owner, attribute, None)
            yield name, owner, path[-1]


def refuse_kept(changed: Collection[Any], items: Any) -> None:
    """TraceError GC124 where an item of a list is a list or dict that is changed afterwards, as a later turn of a loop does."""
    held = {id(x) for x in changed if is_owned(x)}
    if held and holds(items, held):
        raise TraceError(
            "a list or dict that each turn changes is put into a list, which would hold the same one many times",
            code="GC124",
            loc=user_loc(),
            help="put a copy into it: list(x) or dict(x)",
        )


def holds(items: Any, objects: Collection[int]) -> bool:
    """Whether a nest of containers has one of these ids."""
    if id(items) in objects:
        return True
    if isinstance(items, dict):
        return any(holds(x, objects) for x in items.values())
    return isinstance(items, (tuple, list)) and any(holds(x, objects) for x in iter_of(items))


def given_back(entry: tuple[Any, ...], results: tuple[Any, ...], rebound: Collection[int] = ()) -> tuple[Any, ...]:
    """The values of names after both ways, or after a loop; a list or dict stays the one that it was, for whoever else holds it,
    unless it has been `rebound`. Where it is of several kinds now, it holds that alone.
    """
    made = list(results)
    for i, (before, after) in enumerate(zip(entry, results, strict=False)):
        if not is_owned(before) or before is after or (i in rebound and not isinstance(before, (Appended, Opened))):
            continue
        whole = _put_into(before, after)
        made[i] = before if whole else after
    return tuple(made)


def _put_into(before: Any, after: Any) -> bool:
    """Let a container hold what another one of its kind does, whether it is one; what is of another kind it holds alone."""
    if isinstance(before, Listed):
        if isinstance(after, Listed):
            before.become(after)
        return isinstance(after, Listed)
    if isinstance(before, Opened) and isinstance(after, dict):
        for k, value in after.items():
            if not (isinstance(before.get(k), Appended) and _put_into(before[k], value)):
                before[k] = value
        return True
    if isinstance(before, dict):
        whole = type(after) is dict
        held = dict(after) if whole else {"": after}
        before.clear()
        before.update(held)
        return whole
    whole = type(after) in (list, Appended)
    before[:] = after if whole else [after]
    return whole


def unchanged(
    part: Callable[..., Any],
    kept: tuple[Any, ...] = (),
    reset: Callable[[], None] = lambda: None,
    entry: tuple[Any, ...] = (),
) -> Callable[..., Any]:
    """A way through the program; TraceError GC124 if it changes in place what it reaches: containers, arrays, objects and
    iterators, but for the lists and dicts among `kept`, which are its own. `reset` gives names back what they held at first,
    attributes among them. entry: what its own are copies of, which it may reach by another name: as they are, if at all.
    """

    def run(*args: Any) -> Any:
        ours = {id(x) for each in kept if is_owned(each) for x in (each, *_opened(each))}
        attributes = attributes_of_trace()
        held_by_cells = attributes.changeable() if attributes is not None else ()
        found = [(n, x) for n, x in (*reached("", (part, args), set()), *held_by_cells) if id(x) not in ours]
        copies = {id(x): y for x, y in zip(entry, kept, strict=False) if is_owned(x)} if found else {}
        before = [items_of(x) for _, x in found]
        mark = attributes.mark() if attributes is not None else None
        result = part(*args)
        reset()
        if attributes is not None and mark is not None:
            attributes.refuse_changed(mark)
        for (name, held), items in zip(found, before, strict=True):
            if not all(is_unchanged(x, items) for x in (held, copies.get(id(held), held))):
                if attributes is not None:
                    attributes.change(held)
                raise TraceError(
                    f"{name} is changed in place under a condition that is known only when the step runs",
                    code="GC124",
                    loc=user_loc(),
                    help="collect tensors in a local list, the same number on both ways; or use a Parameter and ops.assign",
                )
        return result

    return run


def _opened(x: Any) -> Iterable[Any]:
    return x.values() if isinstance(x, Opened) else ()


def is_unchanged(held: Any, items: list[Any]) -> bool:
    now = items_of(held)
    return len(now) == len(items) and all(map(merging.same_object, now, items))


def reached(name: str, value: Any, seen: set[int], depth: int = _DEPTH) -> Iterator[tuple[str, Any]]:
    """What can be changed in place of all that a value holds, or a function reaches by its variables, with the name that it
    has there; also through functions inside it.
    """
    if type(value) in weakref.ProxyTypes:
        value = behind(value)
    if id(value) in seen or isinstance(value, (Tensor, type, types.ModuleType)):
        return
    seen.add(id(value))
    held: Iterable[tuple[str, Any]]
    if isinstance(value, functools.partial):
        held = (("", x) for x in (value.func, value.args, value.keywords))
    elif isinstance(value, types.MethodType):
        held = (("self", value.__self__),)
    elif isinstance(value, types.FunctionType):
        yield from _given_values(value)
        held = _variables(value)
    else:
        changes = isinstance(value, _CHANGEABLE) and not isinstance(value, Opened)
        if changes or (not isinstance(value, Cell) and _is_users(type(value))):
            yield name or type(value).__name__, value
        held = _inside(name, value) if depth else ()
        # Arguments are the function's own.
        depth -= bool(name)
    for part, x in held:
        if type(x) not in _ATOMS:
            yield from reached(part, x, seen, depth)


def _variables(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """The variables around a function that have a value."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):
            yield name, cell.cell_contents


def _given_values(function: types.FunctionType) -> Iterator[tuple[str, types.CellType]]:
    """The variables around a user's function that it gives values. Blocks of converted code are looked after by who runs them."""
    file = function.__code__.co_filename
    is_own = (file in SOURCE_MAPS or is_users_file(file)) and not _BLOCK.fullmatch(function.__name__)
    stored = _stored_outside(function.__code__) if is_own else ()
    if stored:
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        yield from ((name, cell) for name, cell in cells if name in stored)


@functools.cache
def _stored_outside(code: types.CodeType) -> frozenset[str]:
    """The variables around a function of this code, or around the functions in it, that one of them gives values."""
    stored = {i.argval for i in dis.get_instructions(code) if i.opname == "STORE_DEREF"}
    inner = (_stored_outside(c) for c in code.co_consts if isinstance(c, types.CodeType))
    return frozenset(code.co_freevars) & stored.union(*inner)


def _inside(name: str, value: Any) -> Iterable[tuple[str, Any]]:
    """What a container or object holds; of a Cell neither its parameters nor its cells."""
    if isinstance(value, Cell):
        own = ((n, x) for n, x in vars(value).items() if n not in ("_params", "_cells", "_hooks"))
        return ((f"{name}.{n}", x) for n, x in own if not isinstance(behind(x), Cell))
    if isinstance(value, (dict, list, tuple, set, frozenset, collections.deque)) or _is_users(type(value)):
        return ((f"{name}{part}", x) for part, x in _parts(value))
    return ()


def _is_users(kind: type) -> bool:
    """Whether a class is the user's: what others are made of changes as they need it."""
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    if file is None:
        return kind.__module__ == "__main__"
    return is_users_file(file)


def items_of(value: Any) -> list[Any]:
    """What differs once something has been changed in place."""
    if isinstance(value, dict):
        return [x for pair in value.items() for x in pair]
    if isinstance(value, Listed):
        return list(value.rows)
    if isinstance(value, np.ndarray):
        return [value.copy()]
    if isinstance(value, types.CellType):
        with contextlib.suppress(ValueError):
            return [value.cell_contents]
        return []
    if isinstance(value, types.GeneratorType):
        return [value.gi_frame.f_lasti if value.gi_frame else None]
    if isinstance(value, Iterator):
        return [operator.length_hint(value, -1)]
    if isinstance(value, _CHANGEABLE):
        return list(iter_of(value))  # A set has an order while nobody changes it.
    return [x for pair in _attributes(value).items() for x in pair]


def put_back(held: Any, items: list[Any]) -> None:
    """Let a container or object hold what `items_of` has found in it; what cannot go back, such as an iterator, stays."""
    if isinstance(held, dict):
        held.clear()
        held.update(zip(items[::2], items[1::2], strict=True))
    elif isinstance(held, (list, collections.deque, bytearray)):
        held.clear()
        held.extend(items)
    elif isinstance(held, set):
        held.clear()
        held.update(items)
    elif isinstance(held, types.CellType):
        if items:
            held.cell_contents = items[0]
    elif not isinstance(held, _CHANGEABLE):
        before = dict(zip(items[::2], items[1::2], strict=True))
        for name in _attributes(held).keys() - before.keys():
            object.__delattr__(held, name)
        for name, value in before.items():
            object.__setattr__(held, name, value)


# ---- what is left when tracing is over


def refuse_leaks(cell: Cell, recorder: GraphRecorder, attributes: Attributes | None) -> None:
    """TraceError GC133 if an object or container that a cell holds has kept a tensor of its trace. Raises Again where a step can
    change it, which the next trace then knows.
    """
    is_known = True
    for path, each in cell.cells_and_names():
        name = f"self.{path}" if path else "self"
        for attribute, value in ((n, behind(v)) for n, v in vars(each).items()):
            if (
                type(value) not in _ATOMS
                and not isinstance(value, (Tensor, Cell))
                and attribute not in ("_params", "_cells", "_hooks")
            ):
                found = _leak(f"{name}.{attribute}", value, recorder, _DEPTH, set())
                if found is not None:
                    if attributes is not None and attributes.keeps(each, attribute, value):
                        is_known = False
                        continue
                    place, handle = found
                    what = "tensor" if handle else "size"
                    raise TraceError(
                        f"{place} is given a {what} that is known only when the step runs, and keeps it",
                        code="GC133",
                        loc=_line(handle),
                        help="return it from construct, or assign it to a Parameter",
                    )
    if not is_known:
        raise Again


def has_kept(value: Any, recorder: GraphRecorder) -> bool:
    """Whether there is a tensor of a trace in an object or container."""
    return _leak("", value, recorder, _DEPTH, set()) is not None


def opened(recorder: GraphRecorder) -> Callable[[Any], dict[str, Any] | None]:
    """What tells the attributes of an object of the user's that a trace has put tensors into, None of others."""

    def attributes(value: Any) -> dict[str, Any] | None:
        if isinstance(value, (Cell, type, types.ModuleType)) or not _is_users(type(value)):
            return None
        return _attributes(value) if has_kept(value, recorder) else None

    return attributes


def _line(handle: Any) -> Loc | None:
    if handle is None or handle[1].node not in handle[0].graph:
        return user_loc()
    found: Loc | None = handle[0].graph.node(handle[1].node).loc
    return found


def _leak(name: str, value: Any, recorder: GraphRecorder, depth: int, seen: set[int]) -> tuple[str, Any] | None:
    """The place of such a tensor, and its handle; None for that of a size."""
    value = behind(value)
    if isinstance(value, Deferred):
        return name, None
    if isinstance(value, TracedTensor):
        return (name, value.handle) if value.array is None and value.handle[0].root is recorder else None
    if depth == 0 or id(value) in seen or isinstance(value, (Tensor, Cell, type, types.ModuleType, types.FunctionType)):
        return None
    seen.add(id(value))
    for part, x in _parts(value):
        found = None if type(x) in _ATOMS else _leak(f"{name}{part}", x, recorder, depth - 1, seen)
        if found is not None:
            return found
    return None


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from ((f"[{k!r}]", x) for k, x in value.items())
    elif isinstance(value, (list, tuple)):
        yield from ((f"[{i}]", x) for i, x in enumerate(iter_of(value)))
    elif isinstance(value, (set, frozenset)):
        yield from (("", x) for x in value)
    else:
        yield from ((f".{n}", x) for n, x in _attributes(value).items())


def _attributes(value: Any) -> dict[str, Any]:
    """What an object holds, past whatever its class makes of attributes; what it computes once and keeps is no change."""
    kind = type(value)
    slots = [n for k in kind.__mro__ for n in _slots(k) if isinstance(vars(k).get(n), types.MemberDescriptorType)]
    held: dict[str, Any] = {}
    with contextlib.suppress(AttributeError):
        held.update(object.__getattribute__(value, "__dict__"))
    for name in slots:
        with contextlib.suppress(AttributeError):
            held[name] = object.__getattribute__(value, name)
    cached = functools.cached_property
    return {n: x for n, x in held.items() if n != KEY and not isinstance(getattr(kind, n, None), cached)}


def _slots(kind: type) -> tuple[str, ...]:
    names = vars(kind).get("__slots__", ())
    return (names,) if isinstance(names, str) else tuple(names)
