"""`minimize`: least values of functions of a vector, by the method that is named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from graphc import dispatch
from graphc.errors import ArgumentTypeError, ArgumentValueError, user_loc
from graphc.ops.tensor.tensor import Tensor
from graphc.scipy.optimize.functions import called, evaluated, run, vector
from graphc.scipy.optimize.lagrange import LagrangeResults, found, problem
from graphc.scipy.optimize.quasi_newton import BFGS, Options, lbfgs, minimized
from graphc.validation.unused_arguments import only, refusal


class OptimizeResults(NamedTuple):
    """What `minimize` has found by BFGS or LBFGS; inside a Cell all of it tensors.

    x               where the function is least
    success         whether its gradient is small there
    status          0; 1 after maxiter directions; 3 where an interval got too small, 5 where a line had too many steps
    fun, jac        the value and the gradient there
    hess_inv        what BFGS takes for the inverse of the Hessian, None of LBFGS
    nfev, njev      how often the function and its gradient were computed
    nit             how many directions there were
    """

    x: Tensor
    success: bool
    status: int
    fun: float
    jac: Tensor
    hess_inv: Tensor | None
    nfev: int
    njev: int
    nit: int


def minimize(
    func: Callable[..., Any],
    x0: Tensor,
    args: tuple[Any, ...] = (),
    method: str | None = None,
    jac: Callable[..., Any] | None = None,
    hess: Any = None,
    hessp: Any = None,
    bounds: Any = None,
    constraints: Sequence[Callable[..., Any]] = (),
    tol: Any = None,
    callback: Any = None,
    options: dict[str, Any] | None = None,
) -> Any:
    """Where func(x, *args), one number, is least, from x0 [n] on (MindSpore: mindspore.scipy.optimize.minimize).

    method: "BFGS", "LBFGS" or "LAGRANGE", in any case.
    jac: the gradient, jac(x, *args), by default graphc's; not for LAGRANGE.
    options of BFGS and LBFGS: maxiter (200 for each number of x0), norm, gtol, line_search_maxiter; history_size of LBFGS.
    constraints: functions g(x) that shall be less than 0; tol: for each of them what is near enough. Both are LAGRANGE's, whose
    options are obj_weight, lower and upper (bounds of x, of its shape), learning_rate, rounds, steps, and coincide_fun, whose
    result func and the constraints are given, too. x0 is where its variable starts, of which bounds make a place between them.
    hess, hessp, bounds and callback must be None.
    """
    owner = "minimize"
    if method is None:
        raise ArgumentValueError(f"{owner}: method must be 'BFGS', 'LBFGS' or 'LAGRANGE'", loc=user_loc())
    if not isinstance(args, tuple):
        raise ArgumentTypeError(f"{owner}: args must be a tuple, got {type(args).__name__}", loc=user_loc())
    called(owner, "func", func)
    for name, value in (("hess", hess), ("hessp", hessp), ("bounds", bounds), ("callback", callback)):
        if value is not None:
            raise refusal(owner, name, value, None)
    x = vector(owner, "x0", x0)
    kind = method.lower() if isinstance(method, str) else method
    if kind == "lagrange":
        return _lagrange(owner, func, x, args, jac, constraints, tol, options or {})
    if kind not in ("bfgs", "lbfgs"):
        raise refusal(owner, "method", method, "BFGS", "LBFGS", "LAGRANGE")
    only(owner, "tol", tol, None)
    if tuple(constraints):
        raise refusal(owner, "constraints", constraints, ())
    if jac is not None:
        called(owner, "jac", jac)
    known = _options(owner, kind, x, options or {})

    def least(x: Tensor, *args: Any) -> tuple[Tensor, ...]:
        made = BFGS if kind == "bfgs" else lbfgs(known.history_size)
        return minimized(evaluated(owner, func, jac, args), x, made, known)

    place, success, status, value, gradient, inverse, count, turns = run(least, x, *args)
    return OptimizeResults(
        place, success, status, value, gradient, inverse if kind == "bfgs" else None, count, count, turns
    )


def _lagrange(owner: str, func: Any, x: Tensor, args: Any, jac: Any, constraints: Any, tol: Any, options: Any) -> Any:
    if args:
        raise refusal(owner, "args", args, ())
    only(owner, "jac", jac, None)
    given = problem(x, func, constraints, tol, options)
    made = run(lambda x: found(given, x), x)
    if dispatch.recorder.get() is None:
        made = (
            made[0],
            *(v.asnumpy() if isinstance(v, Tensor) else np.asarray(v, x.tensor_type.numpy) for v in made[1:]),
        )
    return LagrangeResults(*made)


def _options(owner: str, kind: str, x: Tensor, given: dict[str, Any]) -> Options:
    names = Options._fields if kind == "lbfgs" else Options._fields[:-1]
    for name in given:
        if name not in names:
            raise ArgumentTypeError(
                f"{owner}: {name!r} is no option of {kind.upper()}, but {', '.join(names)}", loc=user_loc()
            )
    made = Options(**{"maxiter": None, **given})
    for name in ("maxiter", "line_search_maxiter", "history_size"):
        value, least = getattr(made, name), int(name == "history_size")
        if name == "maxiter" and value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
            raise ArgumentValueError(f"{owner}: {name} must be an int from {least} on, got {value!r}", loc=user_loc())
    return made._replace(maxiter=x.size * 200 if made.maxiter is None else int(made.maxiter))
