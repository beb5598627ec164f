"""The gradient of a function as a primitive: which operands of a call are the function's, and which flow back through it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from graphc.errors import ArgumentTypeError, DTypeError, ShapeError, user_loc
from graphc.ops import functional as F
from graphc.ops.functional.dynamic import known_values
from graphc.ops.functional.shapes import whole_numbers
from graphc.ops.gradients.reverse import ValueAndGrad
from graphc.ops.tensor.primitive import Hint, Only, declare
from graphc.ops.tensor.tensor import Tensor


def pull(forward: Callable[..., Any], dy: Any, *operands: Tensor) -> Any:
    """The gradients for the operands of a function whose result has the gradient dy: one alone, several in a tuple.

    dy is a tuple if the function has several results.
    """
    positions = 0 if len(operands) == 1 else tuple(range(len(operands)))
    return ValueAndGrad(positions, sens_param=True)(forward)(*operands, dy)


def pulled(
    name: str,
    takes: str,
    of: str,
    forward: Callable[..., Any],
    doc: str,
    *,
    flows: str = "dy",
    known: str = "",
    shape: Callable[..., Any] | None = None,
    **attrs: Any,
) -> type[Any]:
    """A primitive that gives the gradient of `forward` for its operands `of`, one or several names with spaces between.

    takes: the names of what a call is given, in order; "name?" may be missing, and is None then. Of these, and of the attributes,
    `forward` gets by name what it has parameters for. flows: those that flow into its results. known: those of which forward
    takes the values, as tuples of integers. An operand that is not among `takes` counts for nothing but its shape: what is given
    as `<name>_shape`, or what `shape` makes of the values that it has parameters for. A call raises ArgumentTypeError where a
    tensor is something else, and what `forward` raises.
    """
    names, wanted, inflow = [n.rstrip("?") for n in takes.split()], of.split(), flows.split()
    signature = inspect.Signature([*map(_parameter, takes.split()), *map(_attribute, _given(attrs))])
    steps = _Steps(name, forward, wanted)

    def gradient(*operands: Any, **others: Any) -> Any:
        values = _bound(name, signature, operands, others)
        for n in {*inflow, *wanted} & {*names}:
            if not isinstance(values[n], Tensor):
                raise ArgumentTypeError(f"{name}: {n} must be a Tensor, got {type(values[n]).__name__}", loc=user_loc())
        values |= {n: numbers(name, values[n]) for n in known.split()}
        dy = [values[n] for n in inflow]
        start = [values[n] if n in values else _zeros(name, n, values, shape, dy[0].dtype) for n in wanted]
        fixed = {k: v for k, v in _of(forward, values).items() if k not in wanted}
        step, others_given = steps.of(fixed, dict(zip(inflow, (v.tensor_type for v in dy), strict=True)))
        positions = 0 if len(wanted) == 1 else tuple(range(len(wanted)))
        back = ValueAndGrad(positions, sens_param=True)(step)
        return back(*start, *others_given, dy[0] if len(dy) == 1 else tuple(dy))

    gradient.__signature__ = signature  # type: ignore[attr-defined]
    return declare(name, gradient, doc, **attrs)


class _Steps:
    """The forward function by what of its arguments is no tensor: the same one again for the same values, so that an eager
    call finds what was compiled for it."""

    #: So many are kept.
    LIMIT = 64

    def __init__(self, owner: str, forward: Callable[..., Any], wanted: Sequence[str]) -> None:
        self.owner, self.forward, self.wanted = owner, forward, wanted
        self.made: dict[Any, Callable[..., Any]] = {}

    def of(self, fixed: Mapping[str, Any], flows: Mapping[str, Any]) -> tuple[Callable[..., Any], list[Tensor]]:
        """(a function of the tensors: those that move, then the others; these others). flows: the types that its results must
        have, by the names of what flows into them."""
        others = {k: v for k, v in fixed.items() if isinstance(v, Tensor)}
        plain = {k: v for k, v in fixed.items() if k not in others}
        names = (*self.wanted, *others)

        def at(*tensors: Tensor) -> Any:
            made = self.forward(**dict(zip(names, tensors, strict=True)), **plain)
            _check(self.owner, flows, made if isinstance(made, tuple) else (made,))
            return made

        if not _is_plain(list(plain.values())):
            return at, list(others.values())
        key = (names, repr(plain), *flows.values())
        if key not in self.made and len(self.made) >= self.LIMIT:
            self.made.clear()
        return self.made.setdefault(key, at), list(others.values())


def _is_plain(value: Any) -> bool:
    """Whether what Python prints of a value says all of it."""
    if isinstance(value, (tuple, list)):
        return all(map(_is_plain, value))
    return value is None or type(value) in (bool, int, float, str)


def _check(owner: str, flows: Mapping[str, Any], results: tuple[Tensor, ...]) -> None:
    """ShapeError or DTypeError unless what flows into the results is like them."""
    for (name, given), result in zip(flows.items(), results, strict=True):
        wanted = result.tensor_type
        if given != wanted:
            kind = ShapeError if given.shape != wanted.shape else DTypeError
            raise kind(f"{owner}: {name} is {given}, expected {wanted}, as the forward result is", loc=user_loc())


def _bound(owner: str, signature: inspect.Signature, operands: Any, others: Mapping[str, Any]) -> dict[str, Any]:
    """What a call is given, by name. ArgumentTypeError for too few, too many or other names."""
    try:
        bound = signature.bind(*operands, **others)
    except TypeError as error:
        names = ", ".join(n for n, p in signature.parameters.items() if p.kind is not p.KEYWORD_ONLY)
        raise ArgumentTypeError(f"{owner}: {error}; its operands are ({names})", loc=user_loc()) from None
    bound.apply_defaults()
    return bound.arguments


def _given(attrs: Mapping[str, Any]) -> list[str]:
    """The attributes that a primitive gives to its function."""
    return [n for n, default in attrs.items() if not isinstance(default, (Only, Hint))]


def _parameter(name: str) -> inspect.Parameter:
    default = None if name.endswith("?") else inspect.Parameter.empty
    return inspect.Parameter(name.rstrip("?"), inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default)


def _attribute(name: str) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY)


def numbers(owner: str, value: Any) -> Any:
    """The numbers of a tensor, as tuples; anything else as it is. TraceError (GC120) for one that is not known."""
    if isinstance(value, Tensor):
        return numbers(owner, known_values(owner, value).tolist())
    return tuple(numbers(owner, v) for v in value) if isinstance(value, (tuple, list)) else value


def _of(function: Callable[..., Any], values: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the values that a function has parameters for."""
    known = inspect.signature(function).parameters
    return {k: v for k, v in values.items() if k in known}


def _zeros(owner: str, name: str, values: Mapping[str, Any], shape: Callable[..., Any] | None, dtype: Any) -> Tensor:
    """What stands for an operand of which the shape alone counts."""
    if shape is not None:
        sizes = tuple(shape(**_of(shape, values)))
    else:
        sizes = whole_numbers(owner, f"{name}_shape", numbers(owner, values[f"{name}_shape"]))
    return F.zeros(sizes, dtype)
