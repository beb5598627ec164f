"""Elementwise functions of the values that a CSRTensor or a COOTensor holds, a pair a line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphc.ops.functional import activation, arithmetic, elementwise
from graphc.ops.functional.sparse import COOTensor, CSRTensor, require_kind


def _of_values(
    name: str, fn: Callable[..., Any]
) -> tuple[Callable[[CSRTensor], CSRTensor], Callable[[COOTensor], COOTensor]]:
    """csr_NAME and coo_NAME: the same places with fn of the values. ArgumentTypeError for what is no such tensor."""

    def csr(x: CSRTensor) -> CSRTensor:
        require_kind(f"csr_{name}", "x", x, CSRTensor)
        return x.with_values(fn(x.values))

    def coo(x: COOTensor) -> COOTensor:
        require_kind(f"coo_{name}", "x", x, COOTensor)
        return x.with_values(fn(x.values))

    for function, prefix in ((csr, "csr"), (coo, "coo")):
        function.__name__ = function.__qualname__ = f"{prefix}_{name}"
        function.__doc__ = f"`{name}` of the values that are held"
    return csr, coo


csr_abs, coo_abs = _of_values("abs", elementwise.abs_)
csr_acos, coo_acos = _of_values("acos", elementwise.acos)
csr_acosh, coo_acosh = _of_values("acosh", elementwise.acosh)
csr_asin, coo_asin = _of_values("asin", elementwise.asin)
csr_asinh, coo_asinh = _of_values("asinh", elementwise.asinh)
csr_atan, coo_atan = _of_values("atan", elementwise.atan)
csr_atanh, coo_atanh = _of_values("atanh", elementwise.atanh)
csr_ceil, coo_ceil = _of_values("ceil", elementwise.ceil)
csr_cos, coo_cos = _of_values("cos", elementwise.cos)
csr_cosh, coo_cosh = _of_values("cosh", elementwise.cosh)
csr_exp, coo_exp = _of_values("exp", elementwise.exp)
csr_expm1, coo_expm1 = _of_values("expm1", elementwise.expm1)
csr_floor, coo_floor = _of_values("floor", elementwise.floor)
csr_inv, coo_inv = _of_values("inv", arithmetic.inv)
csr_isfinite, coo_isfinite = _of_values("isfinite", elementwise.isfinite)
csr_isinf, coo_isinf = _of_values("isinf", elementwise.isinf)
csr_isnan, coo_isnan = _of_values("isnan", elementwise.isnan)
csr_log, coo_log = _of_values("log", elementwise.log)
csr_log1p, coo_log1p = _of_values("log1p", elementwise.log1p)
csr_neg, coo_neg = _of_values("neg", elementwise.neg)
csr_relu, coo_relu = _of_values("relu", elementwise.relu)
csr_relu6, coo_relu6 = _of_values("relu6", activation.relu6)
csr_round, coo_round = _of_values("round", arithmetic.round_)
csr_sigmoid, coo_sigmoid = _of_values("sigmoid", elementwise.sigmoid)
csr_sin, coo_sin = _of_values("sin", elementwise.sin)
csr_sinh, coo_sinh = _of_values("sinh", elementwise.sinh)
csr_softsign, coo_softsign = _of_values("softsign", activation.softsign)
csr_sqrt, coo_sqrt = _of_values("sqrt", elementwise.sqrt)
csr_square, coo_square = _of_values("square", elementwise.square)
csr_tan, coo_tan = _of_values("tan", elementwise.tan)
csr_tanh, coo_tanh = _of_values("tanh", elementwise.tanh)

__all__ = [
    "coo_abs",
    "coo_acos",
    "coo_acosh",
    "coo_asin",
    "coo_asinh",
    "coo_atan",
    "coo_atanh",
    "coo_ceil",
    "coo_cos",
    "coo_cosh",
    "coo_exp",
    "coo_expm1",
    "coo_floor",
    "coo_inv",
    "coo_isfinite",
    "coo_isinf",
    "coo_isnan",
    "coo_log",
    "coo_log1p",
    "coo_neg",
    "coo_relu",
    "coo_relu6",
    "coo_round",
    "coo_sigmoid",
    "coo_sin",
    "coo_sinh",
    "coo_softsign",
    "coo_sqrt",
    "coo_square",
    "coo_tan",
    "coo_tanh",
    "csr_abs",
    "csr_acos",
    "csr_acosh",
    "csr_asin",
    "csr_asinh",
    "csr_atan",
    "csr_atanh",
    "csr_ceil",
    "csr_cos",
    "csr_cosh",
    "csr_exp",
    "csr_expm1",
    "csr_floor",
    "csr_inv",
    "csr_isfinite",
    "csr_isinf",
    "csr_isnan",
    "csr_log",
    "csr_log1p",
    "csr_neg",
    "csr_relu",
    "csr_relu6",
    "csr_round",
    "csr_sigmoid",
    "csr_sin",
    "csr_sinh",
    "csr_softsign",
    "csr_sqrt",
    "csr_square",
    "csr_tan",
    "csr_tanh",
]
