"""One step of optimizer rules of which the gradient is given for some rows: those of equal index are added up.

What MindSpore merges leaves indices out of range out, as there (`FusedSparse...`, SparseApplyAdagrad); elsewhere they are an
IndexError.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphc.errors import ArgumentTypeError, ArgumentValueError, ShapeError, user_loc
from graphc.ops import functional as F
from graphc.ops.functional.bounds import in_bounds
from graphc.ops.functional.core import Operand, call
from graphc.ops.functional.table_rows import merged_rows
from graphc.ops.primitives.optimizers import (
    _adadelta,
    _adagrad,
    _adam,
    _centered_rms,
    _dual_averaging,
    _ftrl,
    _momentum,
    _proximal_adagrad,
    _proximal_descent,
    _rms,
)
from graphc.ops.tensor.parameter import Parameter
from graphc.ops.tensor.primitive import REQUIRED, Hint, declare
from graphc.ops.tensor.row_tensor import RowTensor
from graphc.ops.tensor.tensor import Tensor, as_tensor


def _rows(owner: str, var: Tensor, grad: Any, indices: Any, checked: bool) -> RowTensor:
    """The gradient of `var` of which `grad` [n, ...] stands in the rows `indices`, int32 or int64 [n], none twice.

    Indices out of range are an IndexError if `checked`, else they are left out. ShapeError for what does not fit.
    """
    gradient, index = as_tensor(grad, f"{owner}: grad"), as_tensor(indices, f"{owner}: indices")
    kind = index.tensor_type
    if kind.dtype not in ("int32", "int64"):
        raise ArgumentTypeError(f"{owner}: indices are {kind}, expected int32 or int64", loc=user_loc())
    if not var.ndim or kind.rank != 1 or gradient.shape != (kind.size, *var.shape[1:]):
        raise ShapeError(
            f"{owner}: grad is {gradient.tensor_type} with indices {kind}, for a variable that is {var.tensor_type}:"
            " expected one row of it per index",
            loc=user_loc(),
        )
    if checked:
        index = in_bounds(owner, index, var.shape[0])
    return merged_rows(RowTensor(index, F.cast(gradient, var.tensor_type.dtype), var.shape))


def _in_rows(
    owner: str,
    states: tuple[Parameter, ...],
    grad: Any,
    indices: Any,
    rule: Callable[..., Any],
    *,
    checked: bool = False,
) -> tuple[Tensor, ...]:
    """Let a rule move rows of a variable and its states: `rule(*states, grad)`, where each holds these rows alone."""
    for state in states[1:]:
        if state.shape != states[0].shape:
            raise ShapeError(
                f"{owner}: a state is {state.tensor_type}, the variable {states[0].tensor_type}", loc=user_loc()
            )
    rows = _rows(owner, states[0], grad, indices, checked)
    held = tuple(call("Gather", state, rows.indices, axis=0) for state in states)
    rule(*held, rows.values)
    pairs = zip(states, held, strict=True)
    return tuple(F.assign(s, call("Scatter", s, rows.indices, h, axis=0, mode="update")) for s, h in pairs)


def _fixed(owner: str, positive: str = "", **numbers: Any) -> None:
    """Attributes that must be floats: 0 or more, that which is named more than 0, lr_power 0 or less."""
    for name, value in numbers.items():
        if type(value) is not float:
            raise ArgumentTypeError(f"{owner}: {name} must be a float, got {type(value).__name__}", loc=user_loc())
        wrong = value > 0 if name == "lr_power" else value <= 0 if name == positive else value < 0
        if wrong:
            bound = "at most 0" if name == "lr_power" else "positive" if name == positive else "0 or more"
            raise ArgumentValueError(f"{owner}: {name} must be {bound}, got {value}", loc=user_loc())


# ---- Adagrad


def _sparse_adagrad(
    var: Parameter, accum: Parameter, grad: Tensor, indices: Tensor, lr: float, update_slots: bool
) -> tuple[Tensor, ...]:
    """accum += grad^2; var -= lr grad / sqrt(accum), in rows of a variable. Indices out of range are left out."""
    _fixed("SparseApplyAdagrad", lr=lr)

    def rule(v: Parameter, a: Parameter, g: Tensor) -> None:
        _adagrad(v, a, lr, g, update_slots)

    return _in_rows("SparseApplyAdagrad", (var, accum), grad, indices, rule)


SparseApplyAdagrad = declare(
    "SparseApplyAdagrad", _sparse_adagrad, lr=REQUIRED, update_slots=True, use_locking=Hint(False)
)


def _sparse_adagrad_v2(
    var: Parameter, accum: Parameter, grad: Tensor, indices: Tensor, lr: float, epsilon: float, update_slots: bool
) -> tuple[Tensor, ...]:
    """accum += grad^2; var -= lr grad / sqrt(accum + epsilon), as MindSpore computes it, in rows of a variable; its
    documentation has epsilon beside the root. An index out of range is an error.
    """
    _fixed("SparseApplyAdagradV2", lr=lr, epsilon=epsilon)

    def rule(v: Parameter, a: Parameter, g: Tensor) -> None:
        total = F.assign_add(a, F.square(g)) if update_slots else a
        F.assign_sub(v, F.div(F.mul(g, lr), F.sqrt(F.add(total, epsilon))))

    return _in_rows("SparseApplyAdagradV2", (var, accum), grad, indices, rule, checked=True)


SparseApplyAdagradV2 = declare(
    "SparseApplyAdagradV2",
    _sparse_adagrad_v2,
    lr=REQUIRED,
    epsilon=REQUIRED,
    use_locking=Hint(False),
    update_slots=True,
)


def _sparse_proximal(owner: str, checked: bool) -> Callable[..., Any]:
    def update(
        var: Parameter, accum: Parameter, lr: Operand, l1: Operand, l2: Operand, grad: Tensor, indices: Tensor
    ) -> tuple[Tensor, ...]:
        """A proximal step of Adagrad, as ApplyProximalAdagrad, in rows of a variable."""

        def rule(v: Parameter, a: Parameter, g: Tensor) -> None:
            _proximal_adagrad(v, a, lr, l1, l2, g)

        return _in_rows(owner, (var, accum), grad, indices, rule, checked=checked)

    return update


SparseApplyProximalAdagrad, FusedSparseProximalAdagrad = (
    declare(name, _sparse_proximal(name, checked), use_locking=Hint(False))
    for name, checked in (("SparseApplyProximalAdagrad", True), ("FusedSparseProximalAdagrad", False))
)

# ---- FTRL


def _sparse_ftrl(owner: str, checked: bool) -> Callable[..., Any]:
    def update(
        var: Parameter,
        accum: Parameter,
        linear: Parameter,
        grad: Tensor,
        indices: Tensor,
        lr: float,
        l1: float,
        l2: float,
        lr_power: float,
    ) -> tuple[Tensor, ...]:
        """Follow the regularized leader, as ApplyFtrl, in rows of a variable."""
        _fixed(owner, "lr", lr=lr, l1=l1, l2=l2, lr_power=lr_power)

        def rule(v: Parameter, a: Parameter, line: Parameter, g: Tensor) -> None:
            _ftrl(v, a, line, g, lr, l1, l2, lr_power)

        return _in_rows(owner, (var, accum, linear), grad, indices, rule, checked=checked)

    return update


SparseApplyFtrl, FusedSparseFtrl = (
    declare(
        name,
        _sparse_ftrl(name, checked),
        lr=REQUIRED,
        l1=REQUIRED,
        l2=REQUIRED,
        lr_power=REQUIRED,
        use_locking=Hint(False),
    )
    for name, checked in (("SparseApplyFtrl", True), ("FusedSparseFtrl", False))
)


def _sparse_ftrl_v2(
    var: Parameter,
    accum: Parameter,
    linear: Parameter,
    grad: Tensor,
    indices: Tensor,
    lr: float,
    l1: float,
    l2: float,
    l2_shrinkage: float,
    lr_power: float,
) -> tuple[Tensor, ...]:
    """As SparseApplyFtrl, with 2 l2_shrinkage var added to the gradient, but not to its square."""
    owner = "SparseApplyFtrlV2"
    _fixed(owner, "lr", lr=lr, l1=l1, l2=l2, l2_shrinkage=l2_shrinkage, lr_power=lr_power)

    def rule(v: Parameter, a: Parameter, line: Parameter, g: Tensor) -> None:
        _ftrl(v, a, line, g, lr, l1, l2, lr_power, l2_shrinkage)

    return _in_rows(owner, (var, accum, linear), grad, indices, rule, checked=True)


SparseApplyFtrlV2 = declare(
    "SparseApplyFtrlV2",
    _sparse_ftrl_v2,
    lr=REQUIRED,
    l1=REQUIRED,
    l2=REQUIRED,
    l2_shrinkage=REQUIRED,
    lr_power=REQUIRED,
    use_locking=Hint(False),
)

# ---- others


def _sparse_adadelta(
    var: Parameter,
    accum: Parameter,
    accum_update: Parameter,
    lr: Operand,
    rho: Operand,
    grad: Tensor,
    indices: Tensor,
    epsilon: float,
) -> tuple[Tensor, ...]:
    """As ApplyAdadelta, in rows of a variable. An index out of range is an error."""
    _fixed("SparseApplyAdadelta", epsilon=epsilon)

    def rule(v: Parameter, a: Parameter, u: Parameter, g: Tensor) -> None:
        _adadelta(v, a, u, lr, rho, epsilon, g)

    states = (var, accum, accum_update)
    return _in_rows("SparseApplyAdadelta", states, grad, indices, rule, checked=True)


SparseApplyAdadelta = declare("SparseApplyAdadelta", _sparse_adadelta, epsilon=REQUIRED, use_locking=Hint(False))


def _sparse_rms(
    var: Parameter,
    ms: Parameter,
    mom: Parameter,
    lr: Operand,
    grad: Tensor,
    indices: Tensor,
    rho: float,
    momentum: float,
    epsilon: float,
) -> tuple[Tensor, ...]:
    """As ApplyRMSProp, in rows of a variable. An index out of range is an error."""
    owner = "SparseApplyRMSProp"
    _fixed(owner, "epsilon", rho=rho, momentum=momentum, epsilon=epsilon)
    if rho > 1:
        raise ArgumentValueError(f"{owner}: rho must be at most 1, got {rho}", loc=user_loc())

    def rule(v: Parameter, square: Parameter, moment: Parameter, g: Tensor) -> None:
        _rms(v, square, moment, lr, g, rho, momentum, epsilon)

    return _in_rows(owner, (var, ms, mom), grad, indices, rule, checked=True)


SparseApplyRMSProp = declare(
    "SparseApplyRMSProp",
    _sparse_rms,
    rho=REQUIRED,
    momentum=REQUIRED,
    epsilon=REQUIRED,
    use_locking=Hint(False),
)


def _sparse_centered_rms(
    var: Parameter,
    mg: Parameter,
    ms: Parameter,
    mom: Parameter,
    lr: Any,
    rho: Any,
    momentum: Any,
    epsilon: Any,
    grad: Tensor,
    indices: Tensor,
) -> Tensor:
    """As ApplyCenteredRMSProp, in rows of a variable, which is returned. An index out of range is an error."""

    def rule(v: Parameter, mean: Parameter, square: Parameter, moment: Parameter, g: Tensor) -> None:
        _centered_rms(v, mean, square, moment, g, lr, rho, momentum, epsilon)

    return _in_rows("SparseApplyCenteredRMSProp", (var, mg, ms, mom), grad, indices, rule, checked=True)[0]


SparseApplyCenteredRMSProp = declare("SparseApplyCenteredRMSProp", _sparse_centered_rms, use_locking=Hint(False))


def _sparse_momentum(
    var: Parameter, accum: Parameter, lr: Any, grad: Tensor, indices: Tensor, momentum: Any, use_nesterov: bool
) -> Tensor:
    """As ApplyMomentum, in rows of a variable, which is returned. An index out of range is an error."""

    def rule(v: Parameter, a: Parameter, g: Tensor) -> None:
        _momentum(v, a, lr, g, momentum, use_nesterov, 1.0)

    return _in_rows("SparseApplyMomentum", (var, accum), grad, indices, rule, checked=True)[0]


SparseApplyMomentum = declare("SparseApplyMomentum", _sparse_momentum, use_locking=Hint(False), use_nesterov=False)


def _sparse_dual_averaging(
    var: Parameter,
    grad_accum: Parameter,
    grad_square_accum: Parameter,
    grad: Tensor,
    indices: Tensor,
    lr: Any,
    l1: Any,
    l2: Any,
    global_step: Any,
) -> Tensor:
    """As ApplyAdagradDA, in rows of a variable, which is returned. An index out of range is an error."""

    def rule(v: Parameter, total: Parameter, squares: Parameter, g: Tensor) -> None:
        _dual_averaging(v, total, squares, g, lr, l1, l2, global_step)

    states = (var, grad_accum, grad_square_accum)
    return _in_rows("SparseApplyAdagradDA", states, grad, indices, rule, checked=True)[0]


SparseApplyAdagradDA = declare("SparseApplyAdagradDA", _sparse_dual_averaging, use_locking=Hint(False))


def _sparse_proximal_descent(var: Parameter, alpha: Any, l1: Any, l2: Any, grad: Tensor, indices: Tensor) -> Tensor:
    """As ApplyProximalGradientDescent, in rows of a variable, which is returned. An index out of range is an error."""

    def rule(v: Parameter, g: Tensor) -> None:
        _proximal_descent(v, alpha, l1, l2, g)

    return _in_rows("SparseApplyProximalGradientDescent", (var,), grad, indices, rule, checked=True)[0]


SparseApplyProximalGradientDescent = declare(
    "SparseApplyProximalGradientDescent", _sparse_proximal_descent, use_locking=Hint(False)
)


def _sparse_adam(
    var: Parameter,
    m: Parameter,
    v: Parameter,
    beta1_power: Operand,
    beta2_power: Operand,
    lr: Operand,
    beta1: Operand,
    beta2: Operand,
    epsilon: Operand,
    gradient: Tensor,
    indices: Tensor,
    use_nesterov: bool,
) -> tuple[Tensor, ...]:
    """Adam with a gradient that is zero but for some rows: all of var, m and v move. Indices out of range are left out."""
    grad = _rows("FusedSparseAdam", var, gradient, indices, checked=False).dense()
    return _adam(var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad, use_nesterov)


FusedSparseAdam = declare("FusedSparseAdam", _sparse_adam, use_locking=Hint(False), use_nesterov=False)


def _lazy_adam(
    var: Parameter,
    m: Parameter,
    v: Parameter,
    beta1_power: Operand,
    beta2_power: Operand,
    lr: Operand,
    beta1: Operand,
    beta2: Operand,
    epsilon: Operand,
    gradient: Tensor,
    indices: Tensor,
    use_nesterov: bool,
) -> tuple[Tensor, ...]:
    """Adam in rows of a variable; others, and what belongs to them in m and v, stay. Indices out of range are left out."""

    def rule(weight: Parameter, first: Parameter, second: Parameter, g: Tensor) -> None:
        _adam(weight, first, second, beta1_power, beta2_power, lr, beta1, beta2, epsilon, g, use_nesterov)

    return _in_rows("FusedSparseLazyAdam", (var, m, v), gradient, indices, rule)


FusedSparseLazyAdam = declare("FusedSparseLazyAdam", _lazy_adam, use_locking=Hint(False), use_nesterov=False)
