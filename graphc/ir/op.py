"""OpDef: the one declaration of an op, and the registry of all of them.

The mechanism lives here; the ops that fill it live in `graphc.ops`. Everything the compiler knows of an op stands in its
declaration: type rule, NumPy reference, gradient, lowering and the samples that test them.
"""

from __future__ import annotations

import marshal
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from graphc import dispatch
from graphc.errors import ArgumentTypeError, ArgumentValueError, GraphcError
from graphc.errors.suggestions import nearest, question
from graphc.ir.lowering import Binary, CallBuilder, Operand, ScalarRule, Ternary, Unary, WithAttributes
from graphc.ir.types import TensorType

if TYPE_CHECKING:
    from graphc.ir.builder import Gradient
    from graphc.ir.graph import Graph, Node

Attrs = Mapping[str, Any]
Types = Sequence[TensorType]
Operands = tuple[Operand, ...]
#: The types of an op's results.
TypeRule = Callable[[Types, Attrs], tuple[TensorType, ...]]
#: Forward rule: (g, n, the tangent of each operand or None) -> the tangent of each result, None where it is zero.
ForwardRule = Callable[..., Sequence[Any]]
#: Batching rule: (g, m) over a builder and a `graphc.ops.declared.batching.Mapped` -> the results, batch axis in front.
BatchRule = Callable[..., Sequence[Any]]
#: Padding rule: (a `graphc.ops.declared.padding.Padded`) -> the axes of each result.
PadRule = Callable[..., Sequence[Any]]
#: Makes the calls that compute results: (k, inputs, outputs, attributes).
KernelRule = Callable[[CallBuilder, Operands, Operands, Attrs], None]


class _Required:
    def __repr__(self) -> str:
        return "REQUIRED"


#: Default of an attribute that must be given.
REQUIRED = _Required()


# ---- lowering: how an op becomes kernels. `graphc.lower` interprets these records.


Align = Callable[[Types, Attrs], tuple[tuple[int | None, ...], ...]]


class Scalar:
    """Elementwise: `fn(e, *operands, **attrs)` builds the result of one element over the expression builder `e`.

    `align(types, attrs)` gives, for every operand, the operand axis that each axis of the result walks (None: broadcast);
    without it operands are aligned at their last axis, as NumPy does.
    """

    __slots__ = ("align", "fn")

    # By number of operands, so that a type checker knows what a lambda's parameters are. A rule that takes none, or
    # attributes, is a function with annotations of its own.
    @overload
    def __init__(self, fn: Unary, align: Align | None = None) -> None: ...
    @overload
    def __init__(self, fn: Binary, align: Align | None = None) -> None: ...
    @overload
    def __init__(self, fn: Ternary, align: Align | None = None) -> None: ...
    @overload
    def __init__(self, fn: WithAttributes, align: Align | None = None) -> None: ...
    def __init__(self, fn: ScalarRule, align: Align | None = None) -> None:
        self.fn = fn
        self.align = align


class Strided(NamedTuple):
    """A rearranged copy of operand 0: `access(type, attrs)` gives (offset, stride per axis of the result) in elements."""

    access: Callable[[TensorType, Attrs], tuple[int, tuple[int, ...]]]


class Reduce(NamedTuple):
    """`combine` ("sum", "max", "min", "prod", "any", "all") over attribute `axis`; `mean` divides by the count."""

    combine: str
    mean: bool = False


class Kernel(NamedTuple):
    """Calls of named kernels: `fn(k, inputs, outputs, attrs)` over the call builder `k` that lower passes in.

    `dtypes` are the dtypes that operand 0 may have; `double`, if there is one, is what to do for float64. With `in_place` the
    result is operand 0's memory, which the calls write. `over` says of which attributes the result may be written over operand 0,
    where nobody else needs that any more: the rule then finds one buffer in both places. With `waits` one call begins what
    another ends, in the same memory meanwhile: operands that are halves are float32 for all calls together, not for each.
    """

    fn: KernelRule
    dtypes: tuple[str, ...] = ("float32",)
    double: KernelRule | None = None
    in_place: bool = False
    over: Callable[[Attrs], bool] | None = None
    waits: bool = False


class Alias:
    """The result is operand 0's memory; no code."""


class ByAttributes(NamedTuple):
    """One of several lowerings by a node's attributes, see `Node.lower`; mostly `usual`."""

    choose: Callable[[Attrs], Any]
    usual: Any


class Structural:
    """Handled by the lowering itself; a closed list: Input, Param, Constant, Assign, If."""


Lowering = Scalar | Strided | Reduce | Kernel | Alias | Structural | ByAttributes


class NoGrad:
    """The class of NO_GRAD."""

    def __repr__(self) -> str:
        return "NO_GRAD"


#: Said of an op whose result does not depend differentiably on its operands: the gradient stops there.
NO_GRAD = NoGrad()


class Sample(NamedTuple):
    """Operands (arrays) and attributes on which the registry-wide tests try an op.

    `grad` names the operands whose gradient is compared with finite differences; empty where the op has kinks at the
    sample or no gradient.
    """

    operands: tuple[Any, ...]
    attrs: Mapping[str, Any] = MappingProxyType({})
    grad: tuple[int, ...] = ()
    note: str = ""


@dataclass(frozen=True, eq=False, slots=True)
class OpDef:
    """One op.

    operands    names of the operands; a last "*xs" takes any number
    attrs       attribute names with their defaults (REQUIRED where there is none)
    infer       type rule: (types, attrs) -> result types; raises ShapeError, DTypeError. None: types are declared (Input, ...)
    ref         NumPy reference: (*arrays, **attrs) -> array or tuple of arrays; works in the dtype of its operands
    grad        gradient rule: (g, n, *dys) -> one Value or None per operand; NO_GRAD; or None: using it is an error
    lower       how it becomes kernels, or None: compiling it is an error
    samples     what the registry-wide tests try
    check       more rules of the verifier: (graph, node) -> messages, or errors where users can break the rule
    effect      ordered by order edges; never merged with an equal node
    rush        where it stands among nodes that could run: -1 before all others, 1 behind them, 2 behind these
    jvp         forward rule; None: the gradient rule transposed, which is exact for every rule that is linear in its dys
    batch       batching rule of vmap; None: that of its class (elementwise, reduction), else a loop over the axis
    pad         padding rule; None: that of its class (elementwise, reduction), else padded operands are refused
    view        in eager calls the result has operand 0's memory: what is written to one is written to the other
    """

    name: str
    operands: tuple[str, ...]
    attrs: Attrs
    infer: TypeRule | None
    ref: Callable[..., Any] | None
    grad: Gradient | NoGrad | None
    lower: Lowering | None
    samples: Callable[[], Iterable[Sample]] | None
    check: Callable[[Graph, Node], Iterable[str | GraphcError]] | None
    effect: bool
    doc: str
    jvp: ForwardRule | None = None
    batch: BatchRule | None = None
    rush: int = 0
    pad: PadRule | None = None
    view: bool = False

    def __repr__(self) -> str:
        return f"<op {self.name}>"

    @property
    def variadic(self) -> bool:
        return bool(self.operands) and self.operands[-1].startswith("*")

    def check_arity(self, count: int) -> None:
        """Raise ArgumentTypeError unless the op takes `count` operands."""
        if count == len(self.operands):
            return
        fixed = len(self.operands) - self.variadic
        if count < fixed or (count > fixed and not self.variadic):
            raise ArgumentTypeError(
                f"{self.name} takes {'at least ' if self.variadic else ''}{fixed} operands"
                f" ({', '.join(self.operands)}), got {count}"
            )

    def result_types(self, operands: tuple[TensorType, ...], attrs: Attrs) -> tuple[TensorType, ...]:
        """What the type rule says of operands of these types; it must have one. Raises what the rule raises.

        A rule sees nothing else, so what it said is remembered: equal layers ask the same again and again. Attributes are
        told apart by their bytes, in which 1 is not True; those that have none, such as arrays, are asked about anew.
        """
        try:
            key = (self, operands, marshal.dumps(tuple(attrs.values()), _PLAIN) if attrs else b"")
        except ValueError:
            return self.inferred(operands, attrs)
        known = _RULED.get(key)
        if known is None:
            known = self.inferred(operands, attrs)
            if len(_RULED) >= _MOST_RULED:
                _RULED.clear()
            _RULED[key] = known
        return known

    def inferred(self, operands: Types, attrs: Attrs) -> tuple[TensorType, ...]:
        """What the type rule, which it must have, says anew. ArgumentValueError for sizes below 0, which attributes may name."""
        assert self.infer is not None
        made = tuple(self.infer(operands, attrs))
        for type in made:
            if min(type.shape, default=0) < 0:
                raise ArgumentValueError(f"{self.name}: {type.shape} is no shape: a size is negative")
        return made

    def complete(self, attrs: Attrs) -> dict[str, Any]:
        """The attributes in declared order with defaults filled in; ArgumentTypeError for unknown or missing ones.

        NumPy's numbers become Python's, lists tuples: the text form has no others.
        """
        if not attrs and not self.attrs:
            return {}
        if not attrs.keys() <= self.attrs.keys():
            unknown = sorted(attrs.keys() - self.attrs.keys())
            raise ArgumentTypeError(
                f"{self.name} has no attribute {', '.join(map(repr, unknown))}",
                details=[f"its attributes are {', '.join(self.attrs) or 'none'}"],
            )
        full: dict[str, Any] = {}
        for name, default in self.attrs.items():
            value = attrs.get(name, default)
            if value is REQUIRED:
                raise ArgumentTypeError(f"{self.name} needs attribute {name!r}")
            full[name] = _plain(value)
        return full

    def check_known(self, attrs: Attrs) -> None:
        """ArgumentTypeError for an attribute that is a tensor, or has one in it: those of a node are known before it runs."""
        for name, value in attrs.items():
            for each in value if type(value) is tuple else (value,):
                if type(each) not in _PLAIN_KINDS and hasattr(each, "tensor_type"):
                    raise ArgumentTypeError(
                        f"{self.name} needs {name!r} while the Cell is compiled: {each.tensor_type} has its value in the run"
                    )


#: What most attributes are.
_PLAIN_KINDS = frozenset((int, float, bool, str, type(None)))


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and not value.ndim):
        return value.item()
    return tuple(map(_plain, value)) if type(value) in (tuple, list) else value


_REGISTRY: dict[str, OpDef] = {}

#: What type rules said, by op, types of operands and attributes.
_RULED: dict[tuple[OpDef, tuple[TensorType, ...], bytes], tuple[TensorType, ...]] = {}
_MOST_RULED = 4096
#: A version of marshal's format in which equal values have equal bytes, whoever else holds them.
_PLAIN = 2


def op(
    name: str,
    operands: str = "",
    *,
    infer: TypeRule | None,
    ref: Callable[..., Any] | None = None,
    grad: Gradient | NoGrad | None = None,
    lower: Lowering | None = None,
    jvp: ForwardRule | None = None,
    batch: BatchRule | None = None,
    pad: PadRule | None = None,
    attrs: Attrs | None = None,
    samples: Callable[[], Iterable[Sample]] | None = None,
    check: Callable[[Graph, Node], Iterable[str | GraphcError]] | None = None,
    effect: bool = False,
    rush: int = 0,
    view: bool = False,
    doc: str = "",
) -> OpDef:
    """Declare an op and register it. `operands` is a space-separated list of names."""
    if name in _REGISTRY:
        raise ValueError(f"op {name!r} is already declared")
    definition = OpDef(
        name,
        tuple(operands.split()),
        dict(attrs or {}),
        infer,
        ref,
        grad,
        lower,
        samples,
        check,
        effect,
        doc,
        jvp,
        batch,
        rush,
        pad,
        view,
    )
    _REGISTRY[name] = definition
    return definition


def get_op(name: str) -> OpDef:
    """The op of that name; ArgumentValueError with the nearest names if there is none."""
    if name not in _REGISTRY and dispatch.declare_ops is not None:
        dispatch.declare_ops()
    try:
        return _REGISTRY[name]
    except KeyError:
        near = question(nearest(name, _REGISTRY, 3))
        raise ArgumentValueError(f"there is no op named {name!r}", help=near) from None


def all_ops() -> dict[str, OpDef]:
    """Every registered op by name, in order of declaration."""
    if dispatch.declare_ops is not None:
        dispatch.declare_ops()
    return dict(_REGISTRY)
