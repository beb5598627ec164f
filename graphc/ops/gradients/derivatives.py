"""Products of Jacobians with vectors, and Jacobians, over `GradOperation`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphc.errors import ArgumentTypeError, user_loc
from graphc.ops import functional as F
from graphc.ops.gradients.reverse import GradOperation
from graphc.ops.tensor.tensor import Tensor
from graphc.ops.tensor.tree import flatten, unflatten


def _first(outputs: Any, has_aux: bool) -> Any:
    """What is differentiated: the first output where the others are auxiliary."""
    return outputs[0] if has_aux else outputs


def _main(fn: Callable[..., Any], has_aux: bool) -> Callable[..., Any]:
    return (lambda *inputs: fn(*inputs)[0]) if has_aux else fn


def vjp(fn: Callable[..., Any], *inputs: Tensor, weights: Any = None, has_aux: bool = False) -> tuple[Any, ...]:
    """(fn(*inputs), pull): pull(v) is v times the Jacobian, one tensor per input (a tensor alone for one input).

    With `weights` pull gives (by input, by weight); with has_aux only the first output is differentiated and the others
    follow as a third item (MindSpore: mindspore.vjp).
    """
    outputs = fn(*inputs)
    operation = GradOperation(get_all=True, get_by_list=weights is not None, sens_param=True)

    def pull(*v: Any) -> Any:
        sens = v[0] if len(v) == 1 else tuple(v)
        made = operation(_main(fn, has_aux), weights)(*inputs, sens)
        by_input = made if weights is None else made[0]
        by_input = by_input[0] if len(inputs) == 1 else by_input
        return by_input if weights is None else (by_input, made[1])

    return (outputs[0], pull, outputs[1:]) if has_aux else (outputs, pull)


def jvp(fn: Callable[..., Any], inputs: Any, v: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """(fn(*inputs), the Jacobian times v), by differentiating the backward pass, which is linear in its weights.

    inputs, v: a tensor or tuples of tensors of the same shapes. Raises ArgumentTypeError if their numbers differ.
    """
    xs = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    vs = tuple(v) if isinstance(v, (tuple, list)) else (v,)
    if len(xs) != len(vs):
        raise ArgumentTypeError(f"jvp: {len(xs)} inputs, {len(vs)} tangents", loc=user_loc())
    outputs = fn(*xs)
    leaves, structure = flatten(_first(outputs, has_aux))
    backward = GradOperation(get_all=True, sens_param=True)(_main(fn, has_aux))

    def weighted(*sens: Tensor) -> Any:
        return backward(*xs, unflatten(structure, list(sens)))

    start = [F.ones_like(y) for y in leaves]
    made = GradOperation(get_all=True, sens_param=True)(weighted)(*start, vs)
    tangents = unflatten(structure, list(made))
    return (outputs[0], tangents, outputs[1:]) if has_aux else (outputs, tangents)


def jacrev(
    fn: Callable[..., Any], grad_position: int | tuple[int, ...] = 0, has_aux: bool = False
) -> Callable[..., Any]:
    """A function that gives the Jacobian of fn's one output for an input: shape output + input, row by row."""

    def jacobian(*inputs: Any) -> Any:
        outputs = fn(*inputs)
        y = _first(outputs, has_aux)
        if not isinstance(y, Tensor):
            raise ArgumentTypeError("jacrev: fn must return one tensor", loc=user_loc())
        backward = GradOperation(get_all=True, sens_param=True)(_main(fn, has_aux))
        rows = []
        for k in range(y.size):
            unit = np.zeros(y.size, y.type.numpy)
            unit[k] = 1
            rows.append(backward(*inputs, Tensor(unit.reshape(y.shape))))
        positions = (grad_position,) if isinstance(grad_position, int) else grad_position
        made = [F.reshape(F.stack([r[p] for r in rows]), (*y.shape, *inputs[p].shape)) for p in positions]
        result = made[0] if isinstance(grad_position, int) else tuple(made)
        return (result, outputs[1:]) if has_aux else result

    return jacobian


#: The same numbers; MindSpore computes them column by column.
jacfwd = jacrev

__all__ = [
    "jacfwd",
    "jacrev",
    "jvp",
    "vjp",
]
