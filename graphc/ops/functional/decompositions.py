"""Decompositions of matrices: QR by Householder's reflections, singular values; functions of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphc.errors import ShapeError, user_loc
from graphc.ops.functional.arithmetic import div
from graphc.ops.functional.complex import conj
from graphc.ops.functional.control import scan
from graphc.ops.functional.core import call, cast
from graphc.ops.functional.create import eye, zeros
from graphc.ops.functional.elementwise import add, equal, less, mul, neg, sqrt, square, sub
from graphc.ops.functional.joining import concat
from graphc.ops.functional.logic import select
from graphc.ops.functional.products import matmul
from graphc.ops.functional.reduce import reduce_sum
from graphc.ops.functional.shapes import broadcast_to, moveaxis, reshape, swapaxes
from graphc.ops.functional.slicing import getitem
from graphc.ops.functional.solve import inverse, matrices, of_parts, whole
from graphc.ops.tensor.call import call as call_op
from graphc.ops.tensor.methods import install, method
from graphc.ops.tensor.tensor import Tensor
from graphc.validation.checks import exact_int
from graphc.validation.unused_arguments import refusal


@method()
def adjoint(x: Tensor) -> Tensor:
    """The last two axes exchanged, of complex matrices the conjugate."""
    turned = swapaxes(x, -1, -2)
    return conj(turned) if x.tensor_type.is_complex else turned


# ---- reflections


def _float_matrices(owner: str, x: Tensor) -> tuple[int, int]:
    if x.ndim < 2 or not x.tensor_type.is_float:
        raise ShapeError(f"{owner}: {x.tensor_type} are no float matrices", loc=user_loc())
    return x.shape[-2], x.shape[-1]


def _reflected(x: Tensor, v: Tensor, tau: Tensor) -> Tensor:
    """(1 - tau v v^T) x; v [..., m, 1], tau [..., 1, 1]."""
    return sub(x, mul(mul(tau, v), matmul(v, x, True, False)))


@method()
def geqrf(input: Tensor) -> tuple[Tensor, Tensor]:
    """(packed, tau): R on and above the diagonal, below it the vectors of the reflections whose product is Q (LAPACK's geqrf).

    The gradient is NaN where a column has zeros only below the diagonal on the way: the sign of R jumps there.
    """
    rows, columns = _float_matrices("geqrf", input)
    least, lead = min(rows, columns), input.shape[:-2]
    if not least:
        return input.value(), zeros((*lead, 0), input.dtype)

    def turn(x: Tensor, at: tuple[Tensor, ...]) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        across, here, behind, last = at
        column = reduce_sum(select(across, x, 0.0), -1, True)
        top = reduce_sum(select(here, column, 0.0), -2, True)
        tail = select(behind, column, 0.0)
        rest = reduce_sum(square(tail), -2, True)
        flat = equal(rest, 0.0)
        length = sqrt(select(flat, 1.0, add(square(top), rest)))
        beta = select(less(top, 0.0), length, neg(length))
        # Without a tail there is no reflection, and with the smallest one there is: no gradient, but of the last row.
        still = mul(sqrt(select(last, 1.0, rest)), 0.0)
        tau = select(flat, still, div(sub(beta, top), beta))
        v = add(div(tail, select(flat, 1.0, sub(top, beta))), cast(here, x.dtype))
        return _reflected(x, v, tau), (v, tau)

    turns, places = np.arange(least)[:, None], np.arange(rows)
    masks = (turns == np.arange(columns))[:, None], (turns == places)[..., None], (turns < places)[..., None]
    x, (vectors, factors) = scan(turn, input.value(), tuple(map(Tensor, (*masks, turns == rows - 1))))
    packed = reshape(moveaxis(vectors, 0, -1), (*lead, rows, least))
    if columns > least:
        packed = concat((packed, zeros((*lead, rows, columns - least), input.dtype)), -1)
    below = Tensor(np.arange(rows)[:, None] > np.arange(columns))
    return select(below, packed, x), reshape(moveaxis(factors, 0, -1), (*lead, least))


def _with_reflections(owner: str, packed: Tensor, tau: Tensor, x: Tensor, first: bool) -> Tensor:
    """Every reflection applied to x [..., m, n]; the first one first, or last."""
    rows, columns = _float_matrices(owner, packed)
    count = tau.shape[-1]
    if tau.shape[:-1] != packed.shape[:-2] or count > columns or x.shape[-2] != rows:
        raise ShapeError(
            f"{owner}: {packed.tensor_type}, tau {tau.tensor_type} and {x.tensor_type} do not fit", loc=user_loc()
        )
    places = np.arange(rows)
    order = range(count) if first else reversed(range(count))
    for k in order:
        column = getitem(packed, (..., slice(k, k + 1)))
        v = select(Tensor((places > k)[:, None]), column, Tensor((places == k).astype(x.tensor_type.numpy)[:, None]))
        factor = getitem(tau, (..., slice(k, k + 1)))
        x = _reflected(x, v, reshape(factor, (*factor.shape, 1)))
    return x


@method()
def orgqr(input: Tensor, input2: Tensor) -> Tensor:
    """The first columns of Q, as many as `input` has, from what `geqrf` gives: packed [..., m, n] and tau [..., k]."""
    rows, columns = _float_matrices("orgqr", input)
    if columns > rows:
        raise ShapeError(f"orgqr: {input.tensor_type} has more columns than rows", loc=user_loc())
    start = broadcast_to(eye(rows, columns, input.dtype), input.shape)
    return _with_reflections("orgqr", input, input2, start, False)


def ormqr(input: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False) -> Tensor:
    """Q other, or Q^T other if `transpose`; other Q, other Q^T unless `left`. input, tau: what `geqrf` gives."""
    if left:
        return _with_reflections("ormqr", input, tau, other, bool(transpose))
    across = _with_reflections("ormqr", input, tau, swapaxes(other, -1, -2), not transpose)
    return swapaxes(across, -1, -2)


def _ormqr_method(self: Tensor, input2: Tensor, input3: Tensor, left: bool = True, transpose: bool = False) -> Tensor:
    """Q input3 by this packed tensor and tau = input2; see ops.ormqr."""
    return ormqr(self, input2, input3, left, transpose)


install("ormqr", _ormqr_method)


def qr(input: Tensor, mode: str = "reduced") -> tuple[Tensor, Tensor]:
    """(Q, R) with orthonormal columns of Q and upper triangular R, whose product is input.

    mode: "reduced", Q [..., m, k] with k the smaller size, or "complete", Q [..., m, m], which has no gradient for more rows
    than columns. The diagonal of R is real. halves are computed in float32. Not in a compiled Cell: there `geqrf` and `orgqr`
    give Q.
    """
    if mode not in ("reduced", "complete"):
        raise refusal("qr", "mode", mode, "reduced", "complete")
    q, r = call_op("Qr", whole(input), full_matrices=mode == "complete")
    return cast(q, input.dtype), cast(r, input.dtype)


def _qr_method(self: Tensor, some: bool = True) -> tuple[Tensor, Tensor]:
    """(Q, R), reduced, or complete unless `some`; see ops.qr."""
    return qr(self, "reduced" if some else "complete")


install("qr", _qr_method)

# ---- singular values


@method()
def svd(input: Tensor, full_matrices: bool = False, compute_uv: bool = True) -> Any:
    """(s, u, v) with input = u diag(s) v^T and s descending; s alone unless `compute_uv`. Not in a compiled Cell.

    full_matrices: u and v are square. Gradients of u and v are not finite where singular values are equal, and those of s are
    one of several there. Of complex matrices all are complex, as in MindSpore, and v^T is the conjugate transpose. A column
    of u, and that of v, may be turned by any angle there: gradients are those of what does not depend on these.
    """
    made = call_op("Svd", input, full_matrices=bool(full_matrices) and bool(compute_uv))
    return made if compute_uv else made[0]


def singular_values(x: Tensor) -> Tensor:
    """The singular values [..., k] alone, descending and real; of halves in float32."""
    # Among those of the parts each stands twice.
    twice = x.tensor_type.is_complex
    values: Tensor = svd(of_parts(x) if twice else whole(x), compute_uv=False)
    return getitem(values, (..., slice(None, None, 2))) if twice else values


# ---- eigenvalues


def eig(A: Tensor) -> tuple[Tensor, Tensor]:
    """(w, v), complex: the eigenvalues [..., n] of matrices [..., n, n], in no order, and as columns their vectors, of length 1.

    A: float32, float64, complex64 or complex128. NaN where A is not finite. Without a gradient; not in a compiled Cell. Raises
    ShapeError, DTypeError.
    """
    made: tuple[Tensor, Tensor] = call_op("Eig", A)
    return made


def eigvals(A: Tensor) -> Tensor:
    """The eigenvalues that `eig` gives: complex [..., n], in no order."""
    return eig(A)[0]


def _eigvals_method(self: Tensor) -> Tensor:
    """The eigenvalues, complex; see ops.eigvals."""
    return eigvals(self)


install("eigvals", _eigvals_method)

# ---- functions of matrices


def matrix_exp(input: Tensor) -> Tensor:
    """1 + x + x x / 2 + ... of square matrices, by scaling and squaring (Higham, 2005). Not in a compiled Cell."""
    return call("MatrixExp", input)


@method()
def matrix_power(input: Tensor, n: int) -> Tensor:
    """Square matrices multiplied with themselves, n times; the inverse for negative n, ones on the diagonal for 0.

    Of integers for n >= 0.
    """
    exact_int("matrix_power", "n", n)
    size = matrices("matrix_power", input, integers=n >= 0, complexes=True)
    if n == 0:
        return broadcast_to(eye(size, size, input.dtype), input.shape)
    power, count = (input, n) if n > 0 else (inverse(input), -n)
    made = None
    while count:
        if count % 2:
            made = power if made is None else matmul(made, power)
        count //= 2
        power = matmul(power, power) if count else power
    assert made is not None
    return made.value()


__all__ = [
    "adjoint",
    "eig",
    "eigvals",
    "geqrf",
    "matrix_exp",
    "matrix_power",
    "orgqr",
    "ormqr",
    "qr",
    "svd",
]
