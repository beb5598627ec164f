"""Converted `and`, `or`, comparisons and calls of Python's functions, where tensors decide what Python would."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from functools import partial, reduce
from typing import Any

from graphc.ops import functional as F
from graphc.ops.functional.traced_numbers import as_number, python_number
from graphc.ops.tensor.deferred import Deferred, Stacked
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.tensor import Tensor, as_tensor
from graphc.trace.conversion.rewrite import is_
from graphc.trace.conversion.truth import active_recorder, held, is_flag, is_traced, not_, one_element, shape_of, truth
from graphc.trace.dynamic.counted_places import may_raise
from graphc.trace.dynamic.size_numbers import Size, decided, is_size
from graphc.trace.dynamic.size_numbers import extreme as extreme_size
from graphc.trace.flow.branches import if_exp
from graphc.trace.flow.dynamic_ranges import stacked
from graphc.trace.flow.merging import kind_of
from graphc.trace.mutation import inplace


def and_(a: Callable[[], Any], b: Callable[[], Any]) -> Any:
    """`a and b`: b counts, and is computed, only if a is true."""
    first = decided(a())
    if not is_traced(first):
        return first and b()
    return _short(first, b, F.logical_and, lambda rest: if_exp(first, rest, lambda: first, "`and`"))


def or_(a: Callable[[], Any], b: Callable[[], Any]) -> Any:
    """`a or b`: b counts, and is computed, only if a is false."""
    first = decided(a())
    if not is_traced(first):
        return first or b()
    return _short(first, b, F.logical_or, lambda rest: if_exp(first, lambda: first, rest, "`or`"))


def _short(
    first: Tensor, rest: Callable[[], Any], both: Callable[..., Any], chosen: Callable[[Callable[[], Any]], Any]
) -> Any:
    """The second operand, where the first is known only when the step runs: `both` of two flags of which neither writes
    or raises anything, else what is chosen.
    """
    one_element(first)
    recorder = active_recorder()
    if may_raise(recorder):
        return chosen(rest)
    before = recorder.mark()
    second = decided(inplace.unchanged(rest)())
    if is_flag(first) and is_flag(second) and not recorder.written_since(before):
        return both(first, second)
    recorder.rewind(before)
    return chosen(rest)


def chained(left: Any, *links: tuple[str, Callable[[], Any]]) -> Any:
    """`left < b < c`, where links are ("<", lambda: b), ...: each operand is computed at most once."""
    (sign, operand), *rest = links
    right = operand()
    first = COMPARISONS[sign](left, right)
    return and_(lambda: first, lambda: chained(right, *rest)) if rest else first


def in_(item: Any, container: Any) -> Any:
    """`item in container`."""
    container = container.tensor if isinstance(container, Stacked) else container
    if isinstance(container, Tensor):
        known = not (is_traced(item) or is_traced(container)) or not isinstance(item, _COMPARED)
        return item in container if known else F.equal(container, item).any()
    if not isinstance(container, (list, tuple, set, frozenset, dict)):
        return item in container
    item, *items = map(decided, (item, *container))
    if not any(map(is_traced, (item, *items))):
        return item in container
    if any(each is item for each in items):
        return True
    return any_(truth(each == item) for each in items if isinstance(each, _COMPARED) and isinstance(item, _COMPARED))


#: What `in` compares with tensors.
_COMPARED = (Tensor, bool, int, float)

COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is": is_,
    "is not": lambda a, b: not is_(a, b),
    "in": in_,
    "not in": lambda a, b: not_(in_(a, b)),
}


# ---- Python's functions


def any_(items: Iterable[Any]) -> Any:
    """`any(items)`."""
    counted = stacked(items)
    if counted is not None:
        return as_number(F.cast(counted.tensor, "bool").any(), "bool")
    found: Any = False
    for x in items:
        found = or_(partial(_itself, found), partial(truth, x))
        if not is_traced(found) and found:
            return True
    return as_number(found, "bool") if is_traced(found) else bool(found)


def all_(items: Iterable[Any]) -> Any:
    """`all(items)`."""
    counted = stacked(items)
    if counted is not None:
        return as_number(F.cast(counted.tensor, "bool").all(), "bool")
    found: Any = True
    for x in items:
        found = and_(partial(_itself, found), partial(truth, x))
        if not is_traced(found) and not found:
            return False
    return as_number(found, "bool") if is_traced(found) else bool(found)


def _itself(x: Any) -> Any:
    return x


def _extreme(plain: Callable[..., Any], before: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    """`max` or `min`: the first of those that are `before` all others; of a tensor with one axis its largest element."""

    def extreme(*items: Any, **options: Any) -> Any:
        if len(items) == 1 and isinstance(items[0], Iterator):
            items = (list(items[0]),)  # Looked at more than once.
        if len(items) == 1 and isinstance(items[0], Tensor) and items[0].ndim == 1 and not options:
            return getattr(items[0], plain.__name__)() if is_traced(items[0]) else plain(items[0])
        counted = stacked(items[0]) if len(items) == 1 and not options else None
        if counted is not None and counted.tensor.ndim == 1:
            best = getattr(counted.tensor, plain.__name__)()
            return as_number(best, best.tensor_type.dtype) if counted.are_numbers else best
        found, *others = items if len(items) > 1 else (list(items[0]) or [None])
        if not options and any(isinstance(x, Size) for x in (found, *others)) and all(map(is_size, (found, *others))):
            return reduce(partial(extreme_size, largest=plain is max), (found, *others))
        if not options:
            found, *others = map(decided, (found, *others))
        if options or not any(map(is_traced, (found, *others))):
            return plain(*items, **options)
        for x in others:
            found = _chosen(truth(before(x, found)), x, found)
        return found

    return extreme


def _chosen(cond: Any, a: Any, b: Any) -> Any:
    """`a if cond else b` of two numbers or tensors of one element."""
    if is_traced(cond) and as_tensor(a).tensor_type == as_tensor(b).tensor_type:
        return F.select(cond, as_tensor(a), as_tensor(b))
    return if_exp(cond, partial(_itself, a), partial(_itself, b), "the result")


def _number(plain: type, dtype: str) -> Callable[..., Any]:
    """`int`, `float` or `bool`, of one element."""

    def number(*args: Any) -> Any:
        x = args[0] if len(args) == 1 else None
        if plain is int and isinstance(x, Size):
            return x
        if plain is bool and isinstance(x, Stacked):
            return held(x)
        x = decided(x)
        if not is_traced(x):
            return plain(*args)
        x = one_element(x)
        return python_number(x, "float64" if (plain, x.tensor_type.dtype) == (float, "float64") else dtype)

    return number


def type_(*args: Any) -> Any:
    """`type(x)`: what is traced is a Tensor, or the number that it stands for, as it is without a compiler."""
    (x, *others) = args
    if not others and isinstance(x, Deferred):
        return int if isinstance(x, Size) else bool
    if others or isinstance(x, Parameter) or not is_traced(x):
        return type(*args)
    return _KINDS[kind_of(x)] if x.is_number else Tensor


def isinstance_(x: Any, kinds: Any) -> bool:
    """`isinstance(x, kinds)`: what stands for a number is one."""
    if is_traced(x) and x.is_number:
        return issubclass(_KINDS[kind_of(x)], kinds)
    if isinstance(x, Deferred):
        return issubclass(type_(x), kinds)
    return isinstance(x, kinds)


def len_(x: Any) -> int:
    """`len(x)`: a size that may be counted."""
    x = x.rows[0] if isinstance(x, Stacked) else x
    return shape_of(x)[0] if isinstance(x, Tensor) and x.shape else len(x)


_KINDS: dict[str, type] = {"bool": bool, "int": int, "float": float}

#: Functions of Python's that ask for values, and what is called for them.
BUILT_IN: dict[Any, Callable[..., Any]] = {
    any: any_,
    all: all_,
    max: _extreme(max, operator.gt),
    min: _extreme(min, operator.lt),
    int: _number(int, "int64"),
    float: _number(float, "float32"),
    bool: _number(bool, "bool"),
    type: type_,
    isinstance: isinstance_,
    len: len_,
}
