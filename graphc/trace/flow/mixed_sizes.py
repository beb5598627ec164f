"""Tensors that have other sizes on the two ways through an `if` that lengths decide: lengths tell as well which one it is."""

from __future__ import annotations

from typing import Any

from graphc.ops import functional as F
from graphc.ops.functional.dynamic_sizes import first_places
from graphc.ops.tensor.deferred import Deferred
from graphc.ops.tensor.tensor import Tensor, as_tensor
from graphc.ops.tensor.tree import flatten, unflatten
from graphc.trace.dynamic.size_numbers import Decision, decided, extreme, is_size
from graphc.trace.dynamic.size_sums import Sum
from graphc.trace.recorder import GraphRecorder

#: Of a tensor: its axes that have other sizes on the two ways, and what they are after both.
Cut = dict[int, int]


def are_sizes(decision: Any, a: Any, b: Any) -> bool:
    """Whether what a name is on two ways is a number that lengths tell, and which way is taken, too."""
    numbers = all(is_size(x) and not isinstance(x, bool) for x in (a, b))
    return numbers and _is_given(decision) and all(_size_is_given(x) for x in (a, b))


def _is_given(decision: Any) -> bool:
    return isinstance(decision, Decision) and decision.is_given


def _size_is_given(x: int) -> bool:
    return Sum.of(x).is_given


def aligned(
    decision: Any, recorders: tuple[GraphRecorder, GraphRecorder], a: Any, b: Any
) -> tuple[tuple[Any, Any], list[Cut]]:
    """Both values with tensors that are as large, and for each of these what `cut` is to leave of it. As they are where lengths
    do not tell that.
    """
    (one, structure), (other, others) = flatten(a), flatten(b)
    if not _is_given(decision) or len(one) != len(other):
        return (a, b), []
    cuts: list[Cut] = []
    for k, pair in enumerate(zip(one, other, strict=True)):
        shapes = [r.shape_of(x) for r, x in zip(recorders, pair, strict=True)]
        axes = _differing(*pair, *shapes)
        cuts.append({axis: decision.chosen(shapes[0][axis], shapes[1][axis]) for axis in axes})
        # Outside of both branches: what one of them counts is known there alone.
        wide = {axis: _places(extreme(shapes[0][axis], shapes[1][axis], largest=True)) for axis in axes}
        one[k], other[k] = (_widened(r, x, wide) for r, x in zip(recorders, pair, strict=True))
    return (unflatten(structure, one), unflatten(others, other)), cuts


def _differing(a: Tensor, b: Tensor, one: tuple[int, ...], other: tuple[int, ...]) -> list[int]:
    """The axes of two tensors whose sizes differ, if lengths tell all of these."""
    if a.tensor_type.dtype != b.tensor_type.dtype or len(one) != len(other):
        return []
    sums = [(axis, Sum.of(m), Sum.of(n)) for axis, (m, n) in enumerate(zip(one, other, strict=True))]
    found = [(axis, m, n) for axis, m, n in sums if m != n]
    return [axis for axis, _, _ in found] if all(m.is_given and n.is_given for _, m, n in found) else []


def _widened(recorder: GraphRecorder, x: Tensor, wide: dict[int, Tensor]) -> Tensor:
    """x in its branch at places of its axes; behind the end of one are copies of its last row."""
    with recorder.active():
        for axis, places in wide.items():
            last = F.maximum(F.sub(as_tensor(decided(recorder.shape_of(x)[axis])), 1), 0)
            x = F.gather(x, F.minimum(places, F.cast(last, "int32")), axis)
    return x


def _places(size: int) -> Tensor:
    return first_places(size) if isinstance(size, Deferred) else F.arange(size, dtype="int32")


def _first(x: Tensor, axis: int, size: int) -> Tensor:
    made: Tensor = x[(*[slice(None)] * axis, slice(None, size))]
    return made


def cut(value: Any, cuts: list[Cut]) -> Any:
    """What there is of a value after both ways."""
    if not any(cuts):
        return value
    leaves, structure = flatten(value)
    for k, sizes in enumerate(cuts):
        for axis, size in sizes.items():
            leaves[k] = _first(leaves[k], axis, size)
    return unflatten(structure, leaves)
