"""Ops whose kernel is a user's own function, jitted by Numba: `ops.custom` declares one, and gives what applies it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from graphc.debug import jit
from graphc.errors import ArgumentTypeError, ArgumentValueError, ShapeError, user_loc
from graphc.ir import OpDef, Sample, TensorType, op
from graphc.ir.lowering import CallBuilder
from graphc.ir.op import _REGISTRY, Attrs, Kernel, Operands, Types
from graphc.ops.tensor.call import call
from graphc.ops.tensor.tensor import as_tensor

#: The dtypes of arrays that a kernel gets. Halves come to it as float32, and are rounded again afterwards.
DTYPES = ("float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool")


def custom(
    name: str,
    kernel: Callable[..., Any],
    *,
    infer: Callable[..., Any] | None = None,
    grad: Any = None,
    reference: Callable[..., Any] | None = None,
    attrs: Mapping[str, Any] | None = None,
    writes: int = 0,
    samples: Callable[[], Iterable[Sample]] | None = None,
    doc: str = "",
) -> Callable[..., Any]:
    """Declare an op whose kernel is the user's own `@numba.njit` function; returns the function of tensors that applies it.

    name        of the op, in graphs and errors, and as `g.Name(...)` in gradient rules: an identifier with a capital first
    kernel      takes an array per operand, read-only and C-contiguous, then the attributes, and returns its result, or a tuple
                of them. With `writes` it writes its last arrays in place instead: `kernel(*operands, *results, *attributes)`.
                Its result must depend on its arguments alone: equal calls are made once, unused ones not at all
    infer       type rule: (*types, **attributes) -> TensorType, or a tuple of them; by default the first operand's type
    grad        gradient rule as in `graphc.ir.op`: (g, n, *dys) -> one Value or None per operand; NO_GRAD; None: an error
    reference   the same in NumPy, (*arrays, **attributes) -> array or tuple; by default the kernel's Python function
    attrs       attributes, which are compile-time constants, with their defaults: the kernel's last parameters
    samples     what `graphc.testing.check_op` tries

    In a compiled step the first thread calls the kernel while the others wait; checked mode calls its Python function. Steps
    with such an op are compiled anew in every process. Raises ArgumentTypeError for a kernel that Numba has not jitted or
    whose parameters do not fit, ArgumentValueError for a name that cannot be used.
    """
    if not (name.isidentifier() and name.isascii() and name[0].isupper()):
        raise ArgumentValueError(f"{name!r} is no name of an op: an identifier with a capital first", loc=user_loc())
    if name in _REGISTRY:
        raise ArgumentValueError(f"op {name!r} is already declared", loc=user_loc(), help="choose another name")
    python = getattr(kernel, "py_func", kernel)
    if not callable(python) or (python is kernel and jit()):
        raise ArgumentTypeError(
            f"the kernel of {name} is {type(kernel).__name__}, expected a function that Numba has jitted",
            loc=user_loc(),
            help="decorate it with @numba.njit",
        )
    attrs = dict(attrs or {})
    operands = _operands(name, python, tuple(attrs), writes)
    rule = _TypeRule(name, infer, writes)
    function = _Function(name, kernel, python, rule, writes)
    declared = op(
        name,
        " ".join(operands),
        infer=rule,
        ref=reference or function.reference,
        grad=grad,
        lower=Kernel(function.lower, DTYPES),
        attrs=attrs,
        samples=samples,
        doc=doc or (python.__doc__ or "").strip() or f"{python.__name__}, a kernel of the user's",
    )
    return _applied(declared, python)


def is_users(definition: OpDef) -> bool:
    """Whether an op is one of `custom`'s, whose kernel takes what its author had in mind."""
    return isinstance(definition.infer, _TypeRule)


def python_kernel(definition: OpDef) -> tuple[Callable[..., Any], int] | None:
    """The Python function of a user's kernel, and how many arrays it writes; None for an op with a reference of its own."""
    function = getattr(definition.ref, "__self__", None)
    return (function.python, function.writes) if isinstance(function, _Function) else None


def _operands(name: str, python: Callable[..., Any], attrs: Sequence[str], writes: int) -> list[str]:
    """The names of the operands: the kernel's parameters before those it writes and its attributes."""
    parameters = inspect.signature(python).parameters.values()
    names = [p.name for p in parameters]
    plain = all(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
    behind = len(names) - len(attrs)
    if not plain or tuple(names[behind:]) != tuple(attrs) or behind < writes or writes < 0:
        raise ArgumentTypeError(
            f"the kernel of {name} takes ({', '.join(map(str, parameters))}), expected operands"
            + (f", then {writes} arrays to write" if writes else "")
            + (f", then {', '.join(attrs)}" if attrs else ""),
            loc=user_loc(),
        )
    return names[: behind - writes]


class _TypeRule:
    """The user's type rule in the form of a declaration. Raises ArgumentTypeError when it gives no types."""

    def __init__(self, name: str, infer: Callable[..., Any] | None, writes: int) -> None:
        self.name = name
        self.infer = infer
        self.writes = writes

    def __call__(self, types: Types, attrs: Attrs) -> tuple[TensorType, ...]:
        if self.infer is None:
            if not types:
                raise ArgumentTypeError(f"{self.name} has no operands: it needs a type rule, infer=")
            return (types[0],)
        made = self.infer(*types, **attrs)
        results = (made,) if isinstance(made, TensorType) else made
        if not isinstance(results, (tuple, list)) or not all(isinstance(t, TensorType) for t in results):
            raise ArgumentTypeError(
                f"{self.name}: its type rule gives {made!r}, expected a TensorType or a tuple of them",
                help='TensorType("float32", (3, 4)) is the type of 3 by 4 floats',
            )
        if self.writes not in (0, len(results)):
            raise ArgumentTypeError(
                f"{self.name}: its type rule gives {len(results)} results, its kernel writes {self.writes}"
            )
        return tuple(results)


class _Function:
    """The user's function as the reference and the lowering of its op."""

    def __init__(
        self, name: str, kernel: Callable[..., Any], python: Callable[..., Any], rule: _TypeRule, writes: int
    ) -> None:
        self.name = name
        self.kernel = kernel
        self.python = python
        self.rule = rule
        self.writes = writes

    def reference(self, *arrays: Any, **attrs: Any) -> tuple[Any, ...]:
        """What the Python function gives. Raises ShapeError when that is something else than the type rule says."""
        types = self.rule([TensorType.of(a) for a in arrays], attrs)
        given = [a.view() for a in arrays]
        for a in given:
            a.flags.writeable = False
        if self.writes:
            results: tuple[Any, ...] = tuple(np.zeros(t.shape, t.numpy) for t in types)
            self.python(*given, *results, *attrs.values())
            return results
        made = self.python(*given, *attrs.values())
        results = tuple(map(np.asarray, made if isinstance(made, tuple) else (made,)))
        if [r.shape for r in results] != [t.shape for t in types]:
            raise ShapeError(
                f"{self.name}: its kernel gives {', '.join(str(list(r.shape)) for r in results)},"
                f" its type rule says {', '.join(map(str, types))}"
            )
        return results

    def lower(self, k: CallBuilder, inputs: Operands, outputs: Operands, attrs: Attrs) -> None:
        """One call of the kernel."""
        k.custom(self.name, self.kernel, not self.writes, tuple(attrs.values()), inputs, outputs)


def _applied(declared: OpDef, python: Callable[..., Any]) -> Callable[..., Any]:
    """The function of tensors: operands by position, attributes by name."""

    def apply(*operands: Any, **attrs: Any) -> Any:
        names = (*declared.operands, *(f"operand {k}" for k in range(len(declared.operands), len(operands))))
        tensors = [as_tensor(x, f"{declared.name}: {n}") for n, x in zip(names, operands, strict=False)]
        return call(declared.name, *tensors, **attrs)

    apply.__name__ = apply.__qualname__ = python.__name__
    apply.__doc__ = declared.doc
    return apply
