"""Function transforms: vmap, products of Jacobians with vectors, Jacobians, Hessians, Taylor series.

Each gives a function that can be transformed again, called in a Cell or outside, compiled or op by op.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from graphc.errors import ArgumentTypeError, ArgumentValueError, TransformError, user_loc
from graphc.ops import functional as F
from graphc.ops.gradients.reverse import GradFunction, ValueAndGrad, function
from graphc.ops.gradients.transforms import Axes, Jacobian, Mapping, Series, Tangents
from graphc.ops.tensor.tensor import Tensor
from graphc.ops.tensor.tree import flatten
from graphc.validation.checks import boolean, exact_int

# ---- vmap


def vmap(fn: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> GradFunction:
    """A function that does what fn does for each index of an axis of its arguments, all at once (MindSpore: mindspore.vmap).

    fn: a Cell or function of tensors, or nests of them, that returns such; or a CellList of as many cells as the axis is long,
    of which each takes its index. in_axes: the mapped axis of every argument, or a tuple with an entry for each, which is an
    axis, None (the same for all indices) or a tuple for what a tuple holds. out_axes: likewise where the axis stands in the
    results; None for a result that is the same for all indices.
    Random draws are the same for every index. fn must write no parameters and print nothing.
    Raises ArgumentTypeError for axes that are no ints; when called, TransformError for axes that do not fit, and for what fn
    must not do.
    """
    axes = [_axes(name, value) for name, value in (("in_axes", in_axes), ("out_axes", out_axes))]
    return Mapping(*axes)(function("vmap", fn))


def _axes(name: str, value: Any) -> Axes:
    if isinstance(value, (tuple, list)):
        return tuple(_axes(name, x) for x in value)
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise ArgumentTypeError(f"vmap: {name} must hold ints and None, got {type(value).__name__}", loc=user_loc())


# ---- products with Jacobians


def _aux(results: tuple[Any, ...]) -> Any:
    """The auxiliary outputs: one alone, several in a tuple."""
    return results[1] if len(results) == 2 else results[1:]


def _tensors(owner: str, name: str, value: Any) -> tuple[Tensor, ...]:
    """A tensor, or a tuple or list of them, as a tuple; ArgumentTypeError for anything else."""
    made = tuple(value) if isinstance(value, (tuple, list)) else (value,)
    for x in made:
        if not isinstance(x, Tensor):
            raise ArgumentTypeError(
                f"{owner}: {name} must be a tensor or a tuple or list of them, got {_said(x, value)}", loc=user_loc()
            )
    return made


def _said(x: Any, value: Any) -> str:
    return type(x).__name__ if x is value else f"a {type(value).__name__} with a {type(x).__name__} in it"


def vjp(fn: Callable[..., Any], *inputs: Tensor, weights: Any = None, has_aux: bool = False) -> tuple[Any, ...]:
    """(fn(*inputs), pull): pull(*v), with one v for each output, is v times the Jacobian: a tuple with one tensor per input.

    With `weights`, a Parameter or tuple or list of them, pull gives (by input, by weight). With has_aux only the first output
    is differentiated, and the others follow as a third item: one alone, several in a tuple (MindSpore: mindspore.vjp).
    Raises ArgumentTypeError for inputs that are no tensors; pull raises it for v that do not fit the outputs (GC152).
    """
    owner = "vjp"
    boolean(owner, "has_aux", has_aux)
    inputs = _tensors(owner, "inputs", inputs)
    outputs = function(owner, fn)(*inputs)
    options = ValueAndGrad(tuple(range(len(inputs))), has_aux=has_aux, sens_param=True)
    backward = options(fn, weights)

    def pull(*v: Any) -> Any:
        made = backward(*inputs, v[0] if len(v) == 1 else tuple(v))
        made = made[0] if has_aux else made
        by_input = made if weights is None else made[0]
        by_input = (by_input,) if len(inputs) == 1 else by_input
        return by_input if weights is None else (by_input, made[1])

    return (outputs[0], pull, _aux(outputs)) if has_aux else (outputs, pull)


def jvp(fn: Callable[..., Any], inputs: Any, v: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """(fn(*inputs), the Jacobian times v), by forward mode (MindSpore: mindspore.jvp).

    inputs, v: a tensor or tuples or lists of tensors of the same types. With has_aux only the first output is differentiated,
    and the others follow as a third item: one alone, several in a tuple. bool outputs have tangents of zeros.
    Raises ArgumentTypeError for other arguments or if their numbers differ, TransformError for a v of another type.
    """
    owner = "jvp"
    boolean(owner, "has_aux", has_aux)
    xs, vs = _tensors(owner, "inputs", inputs), _tensors(owner, "v", v)
    if len(xs) != len(vs):
        raise ArgumentTypeError(f"jvp: {len(xs)} inputs, {len(vs)} tangents", loc=user_loc())
    for k, (x, t) in enumerate(zip(xs, vs, strict=True)):
        if x.tensor_type != t.tensor_type or x.tensor_type.dtype == "bool":
            raise TransformError(
                f"jvp: input {k} is {x.tensor_type}, its tangent {t.tensor_type}",
                loc=user_loc(),
                help="a bool has no tangent"
                if x.tensor_type.dtype == "bool"
                else "a tangent has the shape and dtype of its input",
            )
    made: tuple[Any, ...] = Tangents(len(xs), has_aux)(function(owner, fn))(*xs, *vs)
    return made


def linearize(fn: Callable[..., Any], inputs: Any) -> tuple[Any, Callable[[Any], Any]]:
    """(fn(*inputs), push): push(v) is the Jacobian times v (MindSpore: ops.linearize).

    inputs, v: a tensor or tuples or lists of tensors of the same types. Raises as `jvp` does.
    """
    xs = _tensors("linearize", "inputs", inputs)
    outputs = function("linearize", fn)(*xs)
    return outputs, lambda v: jvp(fn, xs, v)[1]


# ---- Jacobians


def jacrev(fn: Callable[..., Any], grad_position: int | tuple[int, ...] = 0, has_aux: bool = False) -> GradFunction:
    """A function that gives the Jacobian of fn, each of shape output + input, by reverse mode (MindSpore: mindspore.jacrev).

    Good where there are fewer output elements than input elements. grad_position: an input, or a tuple of inputs. Several
    inputs give a tuple over them, several outputs a tuple over these, both a tuple over outputs of tuples over inputs. With
    has_aux only the first output is differentiated, and (Jacobian, others) is returned: one alone, several in a tuple.
    fn runs once for what it writes; the rows are made together, as by `vmap`.
    Raises ArgumentTypeError or ArgumentValueError for such arguments; when called, for inputs and outputs that are no tensors
    of numbers.
    """
    return _jacobian("jacrev", fn, grad_position, has_aux, forward=False)


def jacfwd(fn: Callable[..., Any], grad_position: int | tuple[int, ...] = 0, has_aux: bool = False) -> GradFunction:
    """As `jacrev`, by forward mode: good where inputs are smaller than outputs (MindSpore: mindspore.jacfwd)."""
    return _jacobian("jacfwd", fn, grad_position, has_aux, forward=True)


def hessian(fn: Callable[..., Any], grad_position: int | tuple[int, ...] = 0, has_aux: bool = False) -> GradFunction:
    """A function that gives the second derivatives of fn, each of shape output + input + input: `jacfwd` of `jacrev`.

    Arguments as those of `jacrev`; for a tuple of inputs a tuple of tuples over them, by fn's one output.
    """
    return jacfwd(jacrev(fn, grad_position, has_aux), grad_position, has_aux)


def _jacobian(owner: str, fn: Callable[..., Any], grad_position: Any, has_aux: Any, forward: bool) -> GradFunction:
    boolean(owner, "has_aux", has_aux)
    positions = grad_position if isinstance(grad_position, tuple) else (grad_position,)
    for p in positions:
        if isinstance(p, bool) or not isinstance(p, int):
            raise ArgumentTypeError(
                f"{owner}: grad_position must be an int or a tuple of ints, got {type(p).__name__}", loc=user_loc()
            )
        if p < 0:
            raise ArgumentValueError(f"{owner}: grad_position must be at least 0, got {p}", loc=user_loc())
    if not positions or len(set(positions)) != len(positions):
        raise ArgumentValueError(f"{owner}: grad_position {grad_position} names none, or one twice", loc=user_loc())
    return Jacobian(positions, forward, has_aux)(function(owner, fn))


# ---- derivatives of higher order


def jet(fn: Callable[..., Any], primals: Any, series: Any) -> tuple[Any, Any]:
    """(fn(*primals), derivatives): those of fn along a curve through primals whose derivatives are `series` (MindSpore: ops.jet).

    primals: a tensor or a tuple or list of them; series: for each a tensor whose first axis counts the curve's derivatives
    from the first on. Derivative k of an output stands at index k - 1 of a first axis. Integers become float32. Several outputs
    give lists. The cost grows with 2 to the number of derivatives. Raises ArgumentTypeError for other arguments,
    ArgumentValueError for series of other shapes or lengths.
    """
    owner = "jet"
    xs, curves = _curves(owner, primals), _curves(owner, series)
    if len(xs) != len(curves):
        raise ArgumentValueError(f"jet: {len(xs)} primals, {len(curves)} series", loc=user_loc())
    orders = {c.shape[0] for c in curves if c.ndim}
    fits = all(
        c.ndim and c.shape[1:] == x.shape and c.tensor_type.dtype == x.tensor_type.dtype
        for x, c in zip(xs, curves, strict=True)
    )
    if not fits or len(orders) != 1 or not min(orders):
        raise ArgumentValueError(
            f"jet: primals are {', '.join(str(x.tensor_type) for x in xs)}, series"
            f" {', '.join(str(c.tensor_type) for c in curves)}",
            loc=user_loc(),
            help="a series has its primal's shape behind a first axis, equally long for all",
        )
    results = Series(len(xs))(function(owner, fn))(*xs, *curves)
    return _arranged(results, lambda rows: F.stack(rows, 0))


def derivative(fn: Callable[..., Any], primals: Any, order: int) -> tuple[Any, Any]:
    """(fn(*primals), its derivative of this order where all primals move with speed 1) (MindSpore: ops.derivative).

    primals: a tensor or a tuple or list of them; integers become float32. Several outputs give lists. Raises ArgumentTypeError
    for other arguments, ArgumentValueError for an order below 1.
    """
    owner = "derivative"
    exact_int("derivative", "order", order)
    if order < 1:
        raise ArgumentValueError(f"derivative: order must be at least 1, got {order}", loc=user_loc())
    xs = _curves(owner, primals)
    lines = [F.concat([F.ones_like(F.expand_dims(x, 0)), F.zeros((order - 1, *x.shape), x.dtype)], 0) for x in xs]
    results = Series(len(xs))(function(owner, fn))(*xs, *lines)
    return _arranged(results, lambda rows: rows[-1])


def _curves(owner: str, value: Any) -> tuple[Tensor, ...]:
    return tuple(
        x if x.tensor_type.is_float else F.cast(x, "float32") for x in _tensors(owner, "primals and series", value)
    )


def _arranged(results: Sequence[Any], join: Callable[[list[Tensor]], Tensor]) -> tuple[Any, Any]:
    """(outputs, joined derivatives) of outputs and their derivatives; lists for several outputs."""
    by_order = [flatten(r)[0] for r in results]
    joined = [join([row[i] for row in by_order[1:]]) for i in range(len(by_order[0]))]
    if len(joined) == 1:
        return by_order[0][0], joined[0]
    return by_order[0], joined


def derivatives_along(fn: Callable[..., Any], primals: Sequence[Tensor], series: Sequence[Tensor]) -> tuple[Any, ...]:
    """fn(*primals) and its derivatives along the curve, one for each entry of the series: tangents of tangents in time."""
    order = series[0].shape[0]

    def at(time: Tensor) -> Any:
        moved = []
        for x, rows in zip(primals, series, strict=True):
            t = F.cast(time, x.dtype)
            way = F.zeros_like(x)
            for k in range(order, 0, -1):
                way = (way + rows[k - 1] * (1 / math.factorial(k))) * t
            moved.append(x + way)
        return fn(*moved)

    def next_of(curve: Callable[[Tensor], Any]) -> Callable[[Tensor], Any]:
        return lambda time: jvp(curve, time, F.ones_like(time))[1]

    curve: Callable[[Tensor], Any] = at
    zero, results = Tensor(0.0, primals[0].dtype), [fn(*primals)]
    for _ in range(order):
        curve = next_of(curve)
        results.append(curve(zero))
    return tuple(results)


__all__ = [
    "derivative",
    "hessian",
    "jacfwd",
    "jacrev",
    "jet",
    "jvp",
    "linearize",
    "vjp",
    "vmap",
]
