"""Least values by steps along lines whose directions come of what gradients have changed: BFGS, and with little memory LBFGS
(Nocedal and Wright, "Numerical Optimization", 1999, 6.1 and 7.2).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from graphc import ops
from graphc.ops.functional.control import choose
from graphc.ops.functional.core import cast_to
from graphc.ops.tensor.tensor import Tensor
from graphc.scipy.optimize.functions import At
from graphc.scipy.optimize.search import State, Wolfe, chosen, first_step, line_of, search

#: Curvature from which on a change of the gradient counts.
_CURVED = 1e-10
_HISTORY = ("s", "y", "s_rate", "y_rate")


class Options(NamedTuple):
    """maxiter: how many directions at most. norm: which one of the gradient must be below gtol, infinity for the largest element.
    line_search_maxiter: how many steps along a line. history_size: of how many changes LBFGS makes a direction.
    """

    maxiter: int
    norm: float = np.inf
    gtol: float = 1e-5
    line_search_maxiter: int = 10
    history_size: int = 20


class Method(NamedTuple):
    """How directions are made: what is kept for it at first, the direction, and how a step (s, y, gradient) changes it."""

    start: Callable[[Tensor, Tensor], State]
    direction: Callable[[State], Tensor]
    changed: Callable[[State, Tensor, Tensor], State]


def _size(x: Tensor, norm: float) -> Tensor:
    return ops.reduce_max(ops.abs(x)) if norm == np.inf else ops.sqrt(ops.reduce_sum(ops.square(x)))


def _dot(a: Tensor, b: Tensor) -> Tensor:
    return ops.reduce_sum(a * b)


# ---- BFGS


def _bfgs_start(x: Tensor, g: Tensor) -> State:
    return {"H": ops.eye(x.shape[0], x.shape[0], x.dtype)}


def _bfgs_direction(s: State) -> Tensor:
    return ops.neg(ops.reduce_sum(s["H"] * s["g"], -1))


def _bfgs_changed(state: State, s: Tensor, y: Tensor) -> State:
    rate = 1.0 / _dot(y, s)
    down, across = ops.expand_dims(s, 1), ops.expand_dims(s, 0)
    one = ops.eye(s.shape[0], s.shape[0], s.dtype)
    left = one - down * ops.expand_dims(y, 0) * rate
    right = one - ops.expand_dims(y, 1) * across * rate
    return {"H": ops.matmul(ops.matmul(left, state["H"]), right) + down * across * rate}


BFGS = Method(_bfgs_start, _bfgs_direction, _bfgs_changed)

# ---- LBFGS


def lbfgs(history_size: int) -> Method:
    """The method with so many changes in memory, the last one last; zeros do nothing."""

    def start(x: Tensor, g: Tensor) -> State:
        nothing = ops.zeros((history_size, x.shape[0]), x.dtype)
        return {"d": g, **dict.fromkeys(_HISTORY, nothing)}

    def changed(state: State, s: Tensor, y: Tensor) -> State:
        curve, g = _dot(y, s), state["g"]

        def kept() -> tuple[Tensor, ...]:
            rows = (s, y, s / curve, y / curve)
            history = [
                ops.concat((state[name][1:], ops.expand_dims(row, 0)), 0)
                for name, row in zip(_HISTORY, rows, strict=True)
            ]
            return _two_loops(g, history, curve / _dot(y, y)), *history

        def left() -> tuple[Tensor, ...]:
            return g + 0.0, *(state[name] + 0.0 for name in _HISTORY)

        made = choose(ops.greater(curve, _CURVED), kept, left)
        return dict(zip(("d", *_HISTORY), made, strict=True))

    return Method(start, lambda s: ops.neg(s["d"]), changed)


def _two_loops(q: Tensor, history: list[Tensor], scale: Tensor) -> Tensor:
    s, y, s_rate, y_rate = history

    def back(q: Tensor, at: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        share = _dot(at[0], q)
        return q - at[1] * share, share

    def forth(r: Tensor, at: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
        share = at[2] - _dot(at[0], r)
        return r + at[1] * share, share

    q, shares = ops.scan(back, q, (s_rate, y), None, True)
    made: Tensor = ops.scan(forth, q * scale, (y_rate, s, shares))[0]
    return made


# ---- both


def minimized(at: At, x: Tensor, method: Method, options: Options) -> tuple[Tensor, ...]:
    """(x, success, status, value, gradient, the inverse Hessian or what stands for it, evaluations, directions)."""
    value, gradient = at(x)
    none = cast_to(Tensor(0), "int32")
    start = {
        "x": x + 0.0,
        "f": value,
        "g": gradient,
        "before": value + _size(gradient, 2) / 2.0,
        "converged": ops.less(_size(gradient, np.inf), options.gtol),
        "failed": Tensor(False),
        "ended": Tensor(False),
        "k": none,
        "count": none + 1,
        "reason": none,
        **method.start(x, gradient),
    }

    def body(s: State) -> State:
        p = method.direction(s)
        w = Wolfe(s["f"], s["g"], _dot(s["g"], p), 1e-4, 0.9)
        found = search(line_of(at, s["x"], p), w, first_step(w, s["before"]), options.line_search_maxiter)
        failed = ops.logical_or(found["failed"], ops.logical_not(found["done"]))
        step, g = p * found["a_star"], found["g_star"]
        small = ops.less(_size(g, options.norm), options.gtol)
        moved = {"x": s["x"] + step, "f": found["phi_star"], "g": g, "before": s["f"], "converged": small}
        made = chosen(ops.logical_not(failed), moved, s)
        ended = ops.logical_or(failed, small)
        changed = method.changed({**s, "g": g}, step, g - s["g"])
        made = chosen(ops.logical_not(ended), {**changed, "k": s["k"] + 1}, made)
        count = s["count"] + found["count"]
        return {**made, "failed": failed, "ended": ended, "count": count, "reason": found["status"]}

    def goes_on(s: State) -> Tensor:
        return ops.logical_and(ops.logical_not(s["ended"]), ops.less(s["k"], options.maxiter))

    s = ops.while_loop(goes_on, body, start)
    other = ops.where(s["failed"], s["reason"] + 2, ops.neg(ops.ones_like(none)))
    status = ops.where(s["converged"], none, ops.where(ops.equal(s["k"], options.maxiter), none + 1, other))
    success = ops.logical_and(s["converged"], ops.logical_not(s["failed"]))
    return s["x"], success, status, s["f"], s["g"], s.get("H", none), s["count"], s["k"]
