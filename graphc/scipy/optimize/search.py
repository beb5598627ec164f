"""A step along a line that satisfies the strong Wolfe conditions (Nocedal and Wright, "Numerical Optimization", 1999, 3.5).

Turns and their order are MindSpore's, so that counts of evaluations are, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from graphc import ops
from graphc.ops.functional.control import choose
from graphc.ops.functional.core import cast_to
from graphc.ops.tensor.tensor import Tensor, as_tensor
from graphc.scipy.optimize.functions import called, evaluated, number, run, vector

State = dict[str, Tensor]
#: A place on the line: the value there, the gradient, and the slope along the line.
Along = Callable[[Tensor], tuple[Tensor, Tensor, Tensor]]

_ZOOMS = 10


class LineSearchResults(NamedTuple):
    """What `line_search` has found; inside a Cell all of it tensors.

    failed          whether the conditions are not satisfied
    nit, k          how many steps were tried, and that plus one
    nfev, ngev      how often the function and its gradient were computed
    a_k             how far to go along the direction
    f_k, g_k        the value and the gradient there
    status          0; 1 where an interval got too small, 3 where there were too many steps
    """

    failed: bool
    nit: int
    nfev: int
    ngev: int
    k: int
    a_k: float
    f_k: float
    g_k: Tensor
    status: int


class Wolfe(NamedTuple):
    """The start of a search and its conditions: the value, the gradient and the slope there."""

    value: Tensor
    gradient: Tensor
    slope: Tensor
    c1: float
    c2: float

    def is_higher(self, a: Tensor, value: Tensor) -> Tensor:
        """Whether a value has not come down enough."""
        return ops.greater(value, self.value + self.slope * a * self.c1)

    def is_flat(self, slope: Tensor) -> Tensor:
        return ops.less_equal(ops.abs(slope), ops.neg(self.slope * self.c2))


def chosen(condition: Tensor, new: State, old: State) -> State:
    """The old state, with some of it new where a condition holds."""
    return {**old, **{name: ops.where(condition, value, old[name]) for name, value in new.items()}}


def _both(*conditions: Tensor) -> Tensor:
    made = conditions[0]
    for other in conditions[1:]:
        made = ops.logical_and(made, other)
    return made


def _not(condition: Tensor) -> Tensor:
    return ops.logical_not(condition)


# ---- an interval


def _least_of_cubic(s: State) -> Tensor:
    """Where the cubic through three points with the slope of the first is least."""
    near, far = s["a_high"] - s["a_low"], s["a_rec"] - s["a_low"]
    scale = ops.square(near * far) * (near - far)
    high = s["phi_high"] - s["phi_low"] - s["dphi_low"] * near
    rec = s["phi_rec"] - s["phi_low"] - s["dphi_low"] * far
    a = (ops.square(far) * high - ops.square(near) * rec) / scale
    b = (near * ops.square(near) * rec - far * ops.square(far) * high) / scale
    root = ops.sqrt(b * b - a * s["dphi_low"] * 3.0)
    return s["a_low"] + (root - b) / (a * 3.0)


def _least_of_parabola(s: State) -> Tensor:
    """Where the parabola through two points with the slope of the first is least."""
    across = s["a_high"] - s["a_low"]
    bend = (s["phi_high"] - s["phi_low"] - s["dphi_low"] * across) / ops.square(across)
    return s["a_low"] - s["dphi_low"] / (bend * 2.0)


def _next_place(s: State) -> Tensor:
    """The least place of the cubic, of the parabola, or the middle: the first that is inside and not near the ends."""
    across = s["a_high"] - s["a_low"]
    low, high = ops.minimum(s["a_low"], s["a_high"]), ops.maximum(s["a_low"], s["a_high"])

    def inside(a: Tensor, share: float) -> Tensor:
        border = across * share
        return _both(ops.isfinite(a), ops.greater(a, low + border), ops.less(a, high - border))

    cubic, parabola = _least_of_cubic(s), _least_of_parabola(s)
    middle = (s["a_low"] + s["a_high"]) / 2.0
    made = ops.where(inside(parabola, 0.1), parabola, middle)
    return ops.where(_both(ops.greater(s["j"], 0), inside(cubic, 0.2)), cubic, made)


def _zoom(at: Along, w: Wolfe, low: tuple[Tensor, ...], high: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Algorithm 3.6: an interval that has a good step gets smaller until one is found. (done in time, a, value, gradient, how
    many values were computed); low and high are places with value and slope.
    """
    first = dict(zip(("a_low", "phi_low", "dphi_low"), low, strict=True))
    start = {
        **first,
        **dict(zip(("a_high", "phi_high", "dphi_high"), high, strict=True)),
        "a_rec": (low[0] + high[0]) / 2.0,
        "phi_rec": (low[1] + high[1]) / 2.0,
        "a_star": ops.ones_like(low[0]),
        "phi_star": low[1],
        "g_star": w.gradient,
        "done": Tensor(False),
        "j": cast_to(Tensor(0), "int32"),
    }

    def body(s: State) -> State:
        a = _next_place(s)
        phi, g, dphi = at(a)
        high_now = {"a_rec": s["a_high"], "phi_rec": s["phi_high"]}
        is_high = ops.logical_or(w.is_higher(a, phi), ops.greater_equal(phi, s["phi_low"]))
        is_star = _both(_not(is_high), w.is_flat(dphi))
        is_low = _both(_not(is_high), _not(is_star))
        turns = _both(is_low, ops.greater_equal(dphi * (s["a_high"] - s["a_low"]), 0.0))
        # The other end becomes the first low one, and not the last, as in MindSpore.
        ends = {name.replace("low", "high"): value for name, value in first.items()}
        made = chosen(is_high, {**high_now, "a_high": a, "phi_high": phi, "dphi_high": dphi}, s)
        made = chosen(turns, ends, made)
        lows = {"a_rec": s["a_low"], "phi_rec": s["phi_low"], "a_low": a, "phi_low": phi, "dphi_low": dphi}
        made = chosen(is_low, lows, made)
        made = chosen(is_star, {"a_star": a, "phi_star": phi, "g_star": g}, made)
        return {**made, "done": is_star, "j": s["j"] + 1}

    end = ops.while_loop(lambda s: _both(_not(s["done"]), ops.less(s["j"], _ZOOMS)), body, start)
    return ops.less(end["j"], _ZOOMS), end["a_star"], end["phi_star"], end["g_star"], end["j"]


# ---- the search


def search(at: Along, w: Wolfe, first: Tensor, maxiter: int) -> State:
    """Algorithm 3.5: steps that double until one is good, or an interval has a good one."""
    zero, none = ops.zeros_like(first), cast_to(Tensor(0), "int32")
    start = {
        "done": Tensor(False),
        "failed": Tensor(False),
        "i": none + 1,
        "a_i": zero,
        "phi_i": w.value,
        "dphi_i": w.slope,
        "count": none,
        "a_star": zero,
        "phi_star": w.value,
        "g_star": w.gradient,
    }

    def body(s: State) -> State:
        again = ops.greater(s["i"], 1)
        a = ops.where(again, s["a_i"] * 2.0, first)
        phi, g, dphi = at(a)
        is_high = ops.logical_or(w.is_higher(a, phi), _both(ops.greater_equal(phi, s["phi_i"]), again))
        is_good = _both(_not(is_high), w.is_flat(dphi))
        is_up = _both(_not(is_high), _not(is_good), ops.greater_equal(dphi, 0.0))
        before, here = (s["a_i"], s["phi_i"], s["dphi_i"]), (a, phi, dphi)
        low = tuple(ops.where(is_high, b, h) for b, h in zip(before, here, strict=True))
        high = tuple(ops.where(is_high, h, b) for b, h in zip(before, here, strict=True))
        zooms = ops.logical_or(is_high, is_up)
        in_time, *found, count = choose(
            zooms, lambda: _zoom(at, w, low, high), lambda: (Tensor(True), a, phi, g, none + 0)
        )
        done = ops.logical_or(zooms, is_good)
        made = chosen(done, dict(zip(("a_star", "phi_star", "g_star"), found, strict=True)), s)
        made |= {"done": done, "failed": _not(in_time), "i": s["i"] + 1, "count": s["count"] + 1 + count}
        return {**made, "a_i": a, "phi_i": phi, "dphi_i": dphi}

    end = ops.while_loop(lambda s: _both(_not(s["done"]), ops.less_equal(s["i"], maxiter)), body, start)
    a = end["a_star"]
    if a.tensor_type.dtype != "float64":
        a = ops.where(ops.less(ops.abs(a), 1e-8), ops.sign(a) * 1e-8, a)
    late = ops.where(ops.greater(end["i"], maxiter), 3, 0)
    return {**end, "a_star": a, "status": cast_to(ops.where(end["failed"], 1, late), "int32")}


def first_step(w: Wolfe, before: Tensor | None) -> Tensor:
    """The first step to try: 1, or less by what the last one has gained."""
    one = ops.ones_like(w.value)
    if before is None:
        return one
    made = (w.value - before) * 2.02 / w.slope
    return ops.where(ops.isfinite(made), ops.minimum(made, one), one)


def line_of(at: Callable[[Tensor], tuple[Tensor, Tensor]], x: Tensor, p: Tensor) -> Along:
    """A function along a line from x in the direction p."""

    def along(a: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        value, gradient = at(x + p * a)
        return value, gradient, ops.reduce_sum(gradient * p)

    return along


def line_search(
    f: Callable[..., Any],
    xk: Tensor,
    pk: Tensor,
    jac: Callable[..., Any] | None = None,
    gfk: Tensor | None = None,
    old_fval: Any = None,
    old_old_fval: Any = None,
    c1: float = 1e-4,
    c2: float = 0.9,
    maxiter: int = 20,
) -> LineSearchResults:
    """A step from xk in the direction pk after which f and its slope have come down enough (MindSpore:
    mindspore.scipy.optimize.line_search).

    jac: the gradient of f, by default graphc's. gfk, old_fval: gradient and value at xk, which are computed unless both are
    given; old_old_fval: the value at the point before, for the size of the first step. c1, c2: how much is enough.
    """
    owner = "line_search"
    called(owner, "f", f)
    if jac is not None:
        called(owner, "jac", jac)
    x, p = vector(owner, "xk", xk), vector(owner, "pk", pk)
    given = [None if v is None else as_tensor(v) for v in (gfk, old_fval, old_old_fval)]
    kept = [k for k, v in enumerate(given) if v is not None]

    def found(x: Tensor, p: Tensor, *rest: Tensor) -> tuple[Tensor, ...]:
        dtype = x.tensor_type.dtype
        known = dict(zip(kept, (cast_to(v, dtype) for v in rest), strict=True))
        at = evaluated(owner, f, jac, ())
        extra = 0
        if 0 in known and 1 in known:
            value, gradient = number(owner, known[1], dtype), known[0]
        else:
            (value, gradient), extra = at(x), 1
        before = number(owner, known[2], dtype) if 2 in known else None
        w = Wolfe(value, gradient, ops.reduce_sum(gradient * p), float(c1), float(c2))
        s = search(line_of(at, x, p), w, first_step(w, before), maxiter)
        failed, count = ops.logical_or(s["failed"], _not(s["done"])), s["count"] + extra
        return failed, s["i"] - 1, count, count, s["i"], s["a_star"], s["phi_star"], s["g_star"], s["status"]

    return LineSearchResults(*run(found, x, cast_to(p, x.tensor_type.dtype), *(v for v in given if v is not None)))
