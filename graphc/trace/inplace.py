"""Lists and other containers that a program changes in place, in a branch or for good, while it is traced.

Python's containers hold what was put into them while tracing, whichever way the step takes later. So a local list is copied for
each way, as a tensor would be; any other container that a way changes is an error, and so is one that keeps a traced tensor
when tracing is over.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator
from typing import Any

from graphc.attached import behind
from graphc.errors import TraceError, user_loc
from graphc.nn.cell.cell import Cell
from graphc.ops.tensor.tensor import Tensor, TracedTensor
from graphc.trace.recorder import GraphRecorder, Joined

#: How deep objects and containers are looked into.
_DEPTH = 3
#: What has nothing in it.
_ATOMS = (int, float, bool, str, bytes, complex, types.NoneType)


def appended(target: Any, value: Any) -> Any:
    """`target.append(value)` as an expression: what the name holds afterwards."""
    if isinstance(target, Joined):
        raise target.error()
    target.append(value)
    return target


def own(state: tuple[Any, ...]) -> tuple[Any, ...]:
    """The values of names for one way: lists and dicts are copies."""
    return tuple(type(x)(x) if is_owned(x) else x for x in state)


def is_owned(x: Any) -> bool:
    """Whether each way through the program has its own copy of a container."""
    return type(x) in (list, dict)


def given_back(entry: tuple[Any, ...], results: tuple[Any, ...]) -> tuple[Any, ...]:
    """The values of names after both ways; a list or dict stays the one that it was, for whoever else holds it. Where it is of
    several kinds now, it holds that alone.
    """
    made = list(results)
    for i, (before, after) in enumerate(zip(entry, results, strict=False)):
        if not is_owned(before):
            continue
        whole = type(after) is type(before)
        if type(before) is list:
            before[:] = after if whole else [after]
        else:
            before.clear()
            before.update(after if whole else {"": after})
        made[i] = before if whole else after
    return tuple(made)


def unchanged(part: Callable[[], Any], kept: tuple[Any, ...]) -> Callable[[], Any]:
    """A way through the program; TraceError GC124 if it changes a container in place that is not among `kept`."""

    def run() -> Any:
        ours = {id(x) for x in kept}
        before = [(n, c, _items(c)) for n, c in _containers(part) if id(c) not in ours]
        result = part()
        for name, container, items in before:
            now = _items(container)
            if len(now) != len(items) or any(a is not b for a, b in zip(now, items, strict=True)):
                raise TraceError(
                    f"{name} is changed in place under a condition that is known only when the step runs",
                    code="GC124",
                    loc=user_loc(),
                    help="collect tensors in a local list, the same number on both ways; or use a Parameter and ops.assign",
                )
        return result

    return run


def _containers(fn: Any, depth: int = _DEPTH) -> Iterator[tuple[str, Any]]:
    """The containers that a function reaches by its variables, and those in attributes of objects that it reaches; also
    through functions inside it.
    """
    while isinstance(fn, functools.partial):
        fn = fn.func
    for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True):
        try:
            value = cell.cell_contents
        except ValueError:
            continue  # Not assigned yet.
        if isinstance(value, (list, dict, set)):
            yield name, value
        elif isinstance(value, types.FunctionType):
            yield from _containers(value, depth - 1) if depth else ()
        elif not isinstance(value, (Tensor, type, types.ModuleType)):
            yield from ((f"{name}.{n}", x) for n, x in _attributes(value).items() if isinstance(x, (list, dict, set)))


def _items(container: Any) -> list[Any]:
    if isinstance(container, dict):
        return [x for pair in container.items() for x in pair]
    # A set has an order while nobody changes it.
    return list(container)


# ---- what is left when tracing is over


def refuse_leaks(cell: Cell, recorder: GraphRecorder) -> None:
    """TraceError GC133 if an object or container that a cell holds has kept a tensor of its trace."""
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
                    place, (made_in, made) = found
                    raise TraceError(
                        f"{place} is given a tensor that is known only when the step runs, and keeps it",
                        code="GC133",
                        loc=made_in.graph.node(made.node).loc if made.node in made_in.graph else user_loc(),
                        help="return it from construct, or assign it to a Parameter",
                    )


def _leak(name: str, value: Any, recorder: GraphRecorder, depth: int, seen: set[int]) -> tuple[str, Any] | None:
    """The place of such a tensor, and its handle."""
    value = behind(value)
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
        yield from ((f"[{i}]", x) for i, x in enumerate(value))
    elif isinstance(value, (set, frozenset)):
        yield from (("", x) for x in value)
    else:
        yield from ((f".{n}", x) for n, x in _attributes(value).items())


def _attributes(value: Any) -> dict[str, Any]:
    """What an object holds, past whatever its class makes of attributes."""
    try:
        held: dict[str, Any] = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return held
