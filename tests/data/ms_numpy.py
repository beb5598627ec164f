"""Numbers and dtypes of mindspore.numpy, for tests/ops/test_mindspore_numpy.py.

Run with MindSpore's Python in an empty folder: python ms_numpy.py OUTPUT.json
"""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np


def array(*shape: int, seed: int = 0, low: float = -2.0, high: float = 2.0) -> Any:
    """float32 numbers between two bounds."""
    return np.random.default_rng(seed + sum(shape)).uniform(low, high, shape).astype(np.float32)


NAN = float("nan")
#: The tensors that cases speak of.
TENSORS = {
    "A": array(3, 4),
    "B": array(3, 4, seed=1),
    "C": array(4, 3, seed=2),
    "D": array(2, 3, 4),
    "P": array(3, 4, seed=3, low=0.2, high=3.0),
    "U": array(3, 4, seed=4, low=-0.9, high=0.9),
    "N": np.array([[1, NAN, 3], [-2, 5, NAN], [0.5, 4, -1]], np.float32),
    "V": array(5),
    "W": array(5, seed=5),
    "S": np.sort(array(5, seed=6)),
    "T": np.array([[-3, 0, 5], [7, -8, 0]], np.int32),
    "I": np.array([0, 2, 1, -1], np.int32),
    "J": np.array([4, 9, 2, 2, 0], np.int32),
    "K": np.array([[1, 0, 2], [0, 2, 1], [2, 1, 0]], np.int32),
    "M": np.array([[True, False, True, False], [False, False, True, True], [True, True, False, False]]),
    "R": np.array([True, False, True, True]),
    "O": np.array([0, 1.5, 4, 8, 7, 1], np.float32),
    "X": np.array([-1, 0, 0.5, 1, np.inf, -np.inf, NAN], np.float32),
    "Y": array(3, seed=7),
    "Z": array(3, seed=8),
    "z": np.float32(2.5),
    "H": np.array([[1, 2], [3, 4]], np.float16),
    "L": np.array([7, -7, 12], np.int64),
    "u": np.array([2, 5, 4], np.uint8),
}
#: What is computed of them, with the names of mindspore.numpy. None of the shapes depends on values.
CASES = """
copy(A); copy([[1, 2]]); around(A); around(A, 1); around(T, 1); round(X); matrix_power(A[:, :3], 3); matrix_power(H, 0)
array(A); array([1, 2, 3]); array([1.5, 2]); array(True); array(A, ndmin=4); array([1, 2], float16, ndmin=2)
asarray([[1, 2], [3, 4]]); asarray(7); asarray([1, 2], int64); asarray([True, False]); asfarray([1, 2]); asfarray(T, float16)
asfarray(T, int32); ones((2, 3)); zeros(3, int8); empty((2, 2)); full((2, 3), 7); full((2,), 1.5); full((2, 2), True)
full((2, 4), I); ones_like(A); zeros_like(T); zeros_like(A, int32, (2, 2)); full_like(A, 3); full_like(T, 2.7)
ones_like([[1, 2]]); empty_like(A); arange(5); arange(2.5); arange(1, 7, 2); arange(5, 0, -2); arange(0, 1, 0.3)
arange(0, 3, dtype=float16); linspace(0, 1, 5); linspace(0, 1, 5, endpoint=False); linspace(2, 3, 1)
linspace(Y, Z, 3, axis=1); linspace(0, 9, 4, dtype=int32); linspace(0, 1, 5, retstep=True)[1]; linspace(Y, Z, 3, axis=-1)
logspace(0, 2, 3); logspace(0, 2, 4, base=2, endpoint=False); geomspace(1, 256, 9); geomspace(1, 8, 3, endpoint=False); eye(3)
eye(2, 4, 1); eye(3, 2, -1, int32); eye(2, 2, 5); identity(3); tri(3); tri(2, 4, 1); tri(3, 3, -1, int32); tril(A); tril(A, 1)
tril(T, -1); triu(A); triu(D, 1); triu(V); tril(V); diag(V); diag(V, 2); diag(V, -1); diag(A); diag(A, 1); diag(A, -2)
diagflat(K); diagflat(V, -2); diagonal(A); diagonal(D, 1, 1, 2); diagonal(D, -1, 2, 0); trace(A); trace(K, 1)
trace(D, 0, 2, 1); trace(K, dtype=float32); meshgrid(V, Y)[0]; meshgrid(V, Y)[1]; meshgrid(V, Y, indexing='ij')[0]
meshgrid(V, Y, Z)[2]; meshgrid(V, Y, sparse=True)[1]; mgrid[0:3]; mgrid[0:2, 1:4]; mgrid[0:1:3j]; ogrid[0:2, 0:3][0]
ogrid[0:6:2, 0:3][1]; indices((2, 3))[1]; indices((2, 3), sparse=True)[0]; ix_(V, I)[0]; ix_(V, I)[1]; diag_indices(3)[1]
tril_indices(3)[0]; tril_indices(3, 1, 4)[1]; triu_indices(3)[1]; triu_indices(2, -1, 3)[0]; tril_indices_from(A)[1]
triu_indices_from(A, 1)[0]; bartlett(5); bartlett(6); bartlett(1); blackman(7); hamming(5); hanning(6); hanning(0)
reshape(A, (2, -1)); ravel(A); transpose(D); transpose(D, (2, 0, 1)); expand_dims(A, 1); expand_dims(A, (0, 3))
squeeze(ones((1, 3, 1))); squeeze(ones((1, 3, 1)), 0); moveaxis(D, 0, -1); moveaxis(D, (0, 1), (2, 0)); rollaxis(D, 2)
rollaxis(D, 0, 3); rollaxis(D, -1, 1); swapaxes(D, 0, 2); flip(A); flip(D, (0, 2)); flipud(T); fliplr(A); rot90(A)
rot90(A, 2); rot90(D, -1, (1, 2)); rot90(D, 3, (2, 0)); roll(A, 2); roll(A, 1, 0); roll(A, (1, -2), (0, 1))
roll(D, 1, (0, 2)); roll(T, -1, 1); broadcast_to(Y, (2, 3)); broadcast_arrays(A, I)[1]; atleast_1d(asarray(2.0))
atleast_2d(V); atleast_3d(V); atleast_3d(A); tile(A, 2); tile(A, (2, 1, 2)); tile(V, (2, 0)); repeat(A, 2); repeat(A, 2, 1)
repeat(A, [1, 0, 2], 0); concatenate((A, B)); concatenate((A, V), None); concatenate((A, B), 1)
concatenate((T, T.astype(float32))); concatenate(D, 1); append(A, B); append(A, B, 1); append(V, J); stack((A, B))
stack((A, B), -1); stack(D, 1); stack((I, V[:4])); hstack((A, B)); hstack((V, W)); vstack((V, W)); vstack((A, B))
dstack((V, W)); dstack((A, B)); column_stack((V, W)); column_stack((A, B)); split(A, 3)[1]; split(A, 2, 1)[1]
split(A, [1, 3], -1)[1]; split(V, [-2])[1]; array_split(V, 3)[0]; array_split(V, 3)[2]; hsplit(A, 2)[0]; vsplit(A, [1])[1]
dsplit(D, 2)[1]; where(M, A, B); where(R, I, 2.5); where(A, 1, 0); where(M, True, False); select([M, M], [A, B])
select([[True, False], [True, True]], [[1, 2.0], [3, 4]]); select([R], [I], 7); piecewise(V, [V < 0, V > 1], [-1.0, 2.0])
take(V, I); take(V, J); take(A, I, 1); take(A, K, 0); take(V, J - 6, mode='wrap'); take(T, asarray([0, -9, 9]))
take_along_axis(A[:, :3], K, 0); take_along_axis(A[:, :3], K, 1); take_along_axis(A, I, None); choose(K, [Y, Z, [1, 2, 3]])
choose(I, [[1, 2, 3, 4], [5, 6, 7, 8]]); choose(I, [[1, 2, 3, 4], [5, 6, 7, 8]], 'wrap'); choose(K, D.reshape(2, 12)[:, :3])
unravel_index(J, (2, 5))[0]; unravel_index(J, (2, 5))[1]; unravel_index(J, (2, 5), 'F')[1]
unravel_index([-3, 100], (7, 6))[0]; unravel_index(5, (7, 6))[1]; ravel_multi_index([[3, 6, 6], [4, 5, 9]], (7, 6))
ravel_multi_index([[3, 6, 8], [4, 5, -1]], (7, 6), 'wrap'); ravel_multi_index([[3, 6], [4, 5]], (7, 6), order='F')
apply_along_axis(lambda v: v[0] + v[1], 0, A); apply_along_axis(lambda v: v * 2, 1, A)
apply_along_axis(lambda v: v[:2], 1, D); apply_over_axes(sum, D, [0, 2]); size(A); size(A, 1); isscalar(3); isscalar([3])
isscalar('a'); sum(A); sum(A, 1); sum(T, 0); sum(A, (0, 1), keepdims=True); sum(A, 1, float16); sum(T, initial=3)
sum(T, 1, initial=2.5); sum(M); mean(A); mean(A, 0, True); mean(T); mean(T, 1); mean(A, dtype=float16); std(A); std(A, 1, 1)
var(A, 0, 0, True); var([1, 2, 3]); average(A); average(A, 1); average(A, 1, I + 2.0); average(A, None, P)
average(A, 0, P, True)[1]; average(A, (0, 1), returned=True)[1]; amax(A); amax(A, 1); max(T, 0, True); max(A, initial=1.5)
amin(A, 1, initial=-0.5, where=M); min(T); min(A, (0, 1)); max(T, 1, initial=2.5); max(A, 1, where=M, initial=-9.0); ptp(A)
ptp(A, 1, True); argmax(A); argmax(A, 1); argmin(A); argmin(A, 0); argmax(K, 1); argmin(R); count_nonzero(T)
count_nonzero(T, 1, True); cumsum(A); cumsum(A, 1); cumsum(T, 0); cumsum(A, dtype=float16); cumprod(A, 1); cumprod(T)
cumprod([1, 2, 3]); nansum(N); nansum(N, 1); nansum(N, 0, float16, True); nanmax(N); nanmax(N, 0); nanmin(N, 1, keepdims=True)
nanmax([NAN, NAN]); nanmin([NAN]); nanmax(T); nanmean(N); nanmean(N, 0); nanmean(T); nanvar(N); nanvar(N, 0, ddof=1)
nanstd(N, 1, keepdims=True); nancumsum(N); nancumsum(N, 1); nanmean([NAN]); nanstd([1, 3, 4])
nanmean(T, dtype=int32); nanmean(T, 0, int16); nanmean(T, 1, float16); nanmean(N, dtype=int32); nanmean(M, 0, int64)
isclose([1, 2.0], [1, 2.1])
isclose(A, A + 1e-6); isclose(X, X); isclose(X, X, equal_nan=True); isclose(A, B, 0.5, 0.1); array_equal(A, A)
array_equal(X, X, True); array_equal(X, X); array_equal(A, V); array_equiv([1, 1], 1); array_equiv(A, V); sometrue(T, 1)
sometrue(T, keepdims=True); in1d(J, [2, 9]); in1d(J, I, True); isin(K, [1]); isin(K, [1], invert=True); isneginf(X)
isposinf(X); isinf(X); isnan(X); isfinite(X); dot(A, C); dot(V, W); dot(A, V[:4]); dot(A, z); dot(D, C)
dot(A, transpose(D, (0, 2, 1))); inner(A, B); inner(V, W); inner(D, A); outer(V, Y); outer(K, I); matmul(A, C); matmul(D, C)
matmul(A, V[:4]); matmul(A, C, float16); matmul(K, K); tensordot(A, B); tensordot(A, C, 1); tensordot(D, A, ([1, 2], [0, 1]))
tensordot(z, z, 0); kron(V, Y); kron(A, C); kron([1, 10], [5, 6]); cross(Y, Z); cross(C, C[::-1]); cross(C, Y)
cross([1, 2], [4, 5, 6]); cross(A[:, :2], B[:, :2], axis=0); cross(A, B, 0, 0, 0); cross(A, B, 0, 0)
cross(A[:, :2], B[:, :2]); multi_dot([A, C, A]); multi_dot([V[:4], C, Y]); multi_dot([A, C, A, V[:4]]); multi_dot((A, C))
cov(A); cov(V, W); cov(A, rowvar=False, bias=True); cov(A, ddof=2); cov(A, fweights=[1, 2, 1, 3])
cov(A, fweights=[1, 2, 1, 3], aweights=[2, 1, 1, 2]); cov(V); corrcoef(A); corrcoef(V, W); corrcoef(V)
corrcoef(A, rowvar=False, dtype=float16); diff(A); diff(A, 2, 0); diff(V, prepend=0.0, append=asarray(9.0)); diff(T, 1, 0)
diff(V, 0); ediff1d(T); ediff1d(V, [5, 6], -9); gradient(V); gradient(A)[0]; gradient(A)[1]; gradient(A, 2.0, axis=1)
gradient(A, 2.0, 0.5)[1]; gradient(V[:2]); gradient(J); trapz(A); trapz(V, S); trapz(A, dx=0.5, axis=0); trapz([1, 2, 3])
trapz(A, I); unwrap(O); unwrap(O, 4.0); unwrap(A * 5, axis=0); unwrap([0, 9, 3]); interp(W, S, V); interp(W, S, V, -7.0, 7.0)
interp(A, S, V); interp([2.5, 0, 9], [1, 2, 3], [3, 2, 0]); convolve(V, Y); convolve(Y, V, 'same'); convolve(V, Y, 'valid')
convolve(V, A[0], 'same'); convolve([1, 2], [3, 4, 5]); convolve(V, 2.0); correlate(V, Y); correlate(V, Y, 'full')
correlate(Y, V, 'full'); correlate(V, Y, 'same'); correlate(V, A[0], 'same'); correlate([1, 2, 3, 4], [0, 1], 'same')
searchsorted(S, W); searchsorted(S, S); searchsorted(S, S, 'right'); searchsorted([1, 2, 3], 2)
searchsorted(S[::-1], 0.3, sorter=asarray([4, 3, 2, 1, 0])); searchsorted(S, A); digitize(W, S); digitize(W, S[::-1])
digitize([1, 2.5], [0.0, 1, 2.5, 4, 10], True); digitize([1, 2.5], [10, 4, 2.5, 1]); bincount(J, length=12)
bincount(J, length=3); bincount(I, length=3); bincount(J, V, length=10); histogram(A, [-2.0, -1, 0, 0.5, 2])[0]
histogram(A, 4)[0]; histogram(A, 4)[1]; histogram(J, 3, (0, 6))[0]; histogram(A, 3, weights=P)[0]
histogram(V, 3, density=True)[0]; histogram_bin_edges([1, 1, 1], 3); histogram_bin_edges(A, 2, (0, 3))
histogram_bin_edges(A, [1, 2]); histogram2d(V, W, 2)[0]; histogram2d(V, W, 2)[1]; histogram2d(V, W, [2, S])[2]
histogramdd(C, (2, 3, 2))[0]; histogramdd(C, 2, density=True)[0]; histogramdd(C, 2, [(0, 2), None, (-1, 1)])[1][2]
histogramdd(C, 2, weights=I + 2.0)[0]; polyadd([1, 2], [3, 4, 5]); polyadd(V, Y); polysub(Y, V); polysub(V, W); polymul(V, Y)
polymul([1, 2], [3, 4]); polyval(Y, A); polyval([3, 0, 1], 5); polyval(Y, J); polyder(V); polyder([3, 2, 1], 2); polyder(Y, 3)
polyder(Y, 0); polyint([3, 2, 1]); polyint(V, 2, [1, 2]); polyint(Y, 2, 3.0); polyint(Y, 0); pad(V, 2)
pad(A, ((1, 0), (0, 2)), constant_values=((1, 2), (3, 4))); pad(T, (1, 2), 'edge'); pad(V, (7, 8), 'wrap')
pad(A, 1, 'reflect'); pad(V, (6, 2), 'symmetric'); pad(V, (2, 3), 'reflect', reflect_type='odd')
pad(T, (1, 1), 'symmetric', reflect_type='odd'); pad(A, 2, 'linear_ramp', end_values=(1, -1)); pad(T, (1, 2), 'linear_ramp')
pad(A, 2, 'maximum'); pad(A, 1, 'minimum', stat_length=2); pad(A, ((1, 2), (2, 1)), 'mean'); pad(T, 1, 'mean')
pad(V, 1, 'empty')[1:-1]; pad(asarray(2.0), 1); clip(A, -1, 1); clip(A, None, B); clip(T, 0.5, None)
clip(A, 0.5, 1.0, float16); divmod(L, u)[0]; divmod(A, P)[1]; divmod(T, 3)[1]; signbit([-0.0, -1.0, 2])
copysign([1.0, 2], [-0.0, -1]); copysign(T, -1.0); heaviside(X, 0.5); heaviside(A, B); fix(A * 3); reciprocal([2, -2, 1, -1])
maximum(X, 0.0); minimum(X, X[::-1]); maximum(T, 1.7); minimum(2.5, J); maximum(2, 3.5); remainder(L, [0, 2, -5])
remainder([7.5, -7.5], [2, -3.0]); fmod(L, [0, 2, -5]); fmod([7.5, -7.5], [2, -3.0]); floor_divide([7, -7, 7], [2, 2, -3])
lcm([4, 0, -6], [6, 3, 4]); sign([-2, 0, 3]); cbrt([-8.0, 27]); exp2(T)
hypot([3, 5], [4, 12]); float_power(J, asarray(0.5)); logaddexp2(A, B); arctan2(A, B); sin(A, float16); equal(A, A, int32)
square(T, float32); add(A, B, dtype=float16); add(1, 2); add(A, [1, 2, 3, 4]); multiply(A, I); logical_xor(T, T > 0)
invert(J); absolute(T); fabs(A); rint([0.5, 1.5, -2.5]); trunc(A * 3); ceil(A); floor(A); sqrt([4, 9]); power([2, 3], [3, 2])
power(2.0, A); deg2rad(A); rad2deg(A); bitwise_and(J, 6); bitwise_or(J, u[:1]); bitwise_xor([5, 3], [1, 2]); divide(J, 4)
divide(7, 2); true_divide(A, P); negative(T); positive(A); subtract(3.5, I)
vander(V); vander(V, 3); vander([1, 2, 3], 2, True); norm(V); norm(A); norm(D); norm(T); norm(A, axis=1)
norm(A, 'fro', (1, 0), True)
norm(V, 3); norm(V, inf); norm(A, -inf, 0); norm(A, 0, 1, True); norm(A, 1); norm(A, -1, (1, 0)); norm(A, inf, keepdims=True)
norm(D, -inf, (0, 2)); norm(D, 1, (2, 0), True); norm(A, 2.5, 1); norm(D, keepdims=True)
"""
#: What MindSpore refuses, and graphc too.
REFUSED = """
array([[1, 2], [3]]); zeros((-1, 2)); ones('a'); ones(2.5); arange(0); arange(5, 2); linspace(0, 1, 0); linspace(0, 1, 2.5)
eye(2.5); identity('a'); clip(A, None, None); amax(A, where=M); max(A, 5); sum(A, (0, 0)); transpose(A, (0, 0))
concatenate((A, V)); concatenate((A, B), 2); append(A, V, 0); stack((A, V)); split(V, 2); split(V, [3, 3]); split(V, 2.5)
hsplit(V, 5); rot90(A, 1, (0, 0)); rot90(A, 1.5); roll(A, (1, 2, 3), (0, 1)); rollaxis(D, 0, 5); moveaxis(A, 0, (0, 1))
where(M); take(V, I, mode='raise'); choose(V, [V, W]); choose(I, [V, W], 'raise'); take_along_axis(A, I, 0)
unravel_index(3, (2, 2), 'X'); select([R], [I, I]); average(A, None, V); signbit(A, float32); copysign(R, A); sign(R)
dot(A, A); inner(A, V); cross(A, V); multi_dot([A]); multi_dot([A, B, C]); cov(D); diff(V, -1); diff(V, 5)
gradient(V, edge_order=2); gradient(V, V); convolve(A, V); convolve(V, W, 'x'); searchsorted(A, V)
searchsorted(S, V, 'middle'); digitize(V, A); bincount(A); bincount(V); histogram(A, 'auto'); histogram(A, 3, (2, 1))
histogram(A, 3, weights=V); histogramdd(V); histogramdd(C, (2, 2)); polyadd(A, V); polyder(V, -1); polyint(V, -1)
interp(W, A, V); interp(W, S, Y); pad(A, 1, 'median'); pad(A, 1, 'x'); pad(A, ((1, 1), (1, 1), (1, 1)))
meshgrid(V, Y, indexing='x'); meshgrid(V, sparse=1); indices(3); ix_(A); diag(D); tril(asarray(1.0)); bartlett(2.5); rand('a')
randint(0); randint(5, 2); randint(2.5); rand(2, dtype=int32); randint(5, dtype=float32); full((2,), None); asarray(None)
result_type(); promote_types(None, int32); isclose(A, V); array_equal(A, A, 1); intersect1d([1], [1], 1)
setdiff1d([1], [1], 1); expand_dims(A, 'a'); array_str(3); broadcast_to(A, (2, 2)); broadcast_arrays(A, V); tril_indices('a')
triu_indices_from(V); ravel_multi_index([[1], [2]], (2,)); ravel_multi_index([[1.5]], (2,)); argmax(A, 3); mgrid[0.5:2]
linspace(0, 1, endpoint=1); logspace(0, 1, base='a'); bitwise_and(A, 1); cumsum(A, 5); cumprod(A, (0, 1)); size(A, 1.5)
apply_along_axis(sum, 3, A); unwrap(V, 'a')
vander(A); vander(V, -1); vander(V, 2.5); vander(V, 2, 1); norm(D, 2); norm(V, 'fro'); norm(A, 'x')
norm(A, 3); norm(D, axis=(0, 1, 2))
"""
DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")
#: Functions whose results' dtypes are recorded for every dtype, and for every pair of them.
UNARY = (
    "abs absolute arccos arccosh arcsin arcsinh arctan arctanh cbrt ceil cos cosh deg2rad exp exp2 expm1 fabs floor invert"
    " bitwise_not isfinite isinf isnan log log10 log1p log2 logical_not negative positive rad2deg radians reciprocal rint"
    " sign signbit sin sinh sqrt square tan tanh trunc fix isneginf isposinf sum mean std var amax amin ptp average cumsum"
    " cumprod nanmax nanmin nansum nanmean nanvar nanstd nancumsum argmax argmin count_nonzero trapz diff ediff1d gradient"
    " unwrap cov corrcoef diag diagflat flip sometrue polyder polyint tril zeros_like full_like array repeat"
)
BINARY = (
    "add subtract multiply divide true_divide power float_power floor_divide remainder mod fmod hypot arctan2 logaddexp2"
    " heaviside copysign gcd lcm maximum minimum equal not_equal less less_equal greater greater_equal logical_and"
    " logical_or logical_xor bitwise_and bitwise_or bitwise_xor kron convolve append where concatenate polyadd polymul"
    " polyval in1d searchsorted stack"
)
_MORE = {
    "where": "where([True, False, True], {}, {})",
    "concatenate": "concatenate(({}, {}))",
    "stack": "stack(({}, {}))",
}
_ONE = {"full_like": "full_like({}, 1)", "repeat": "repeat({}, 2)"}


def cases(text: str) -> list[str]:
    """The expressions of a table."""
    return [case.strip() for line in text.strip().splitlines() for case in line.split("; ")]


def names(module: Any, tensor: Any) -> dict[str, Any]:
    """What the cases speak of, in either framework."""
    return {**{n: getattr(module, n) for n in dir(module)}, **{n: tensor(a) for n, a in TENSORS.items()}, "NAN": NAN}


def dtype_of(module: Any, tensor: Any, function: str, *dtypes: str) -> str | None:
    """The dtype of a result for operands of dtypes; None where they are refused."""
    operands = [tensor(np.array([1, 0, 1]).astype(d)) for d in dtypes]
    known = {"abs": "absolute"}.get(function, function)
    call = {**_MORE, **_ONE}.get(function, f"{known}({', '.join(['{}'] * len(dtypes))})")
    try:
        made = eval(call.format(*"ab"), {**vars(module), "a": operands[0], "b": operands[-1]})
        return str(made.asnumpy().dtype)
    except Exception:
        return None


def main() -> None:
    """Record all cases."""
    import mindspore as ms
    import mindspore.numpy as mnp

    known = names(mnp, ms.Tensor)
    results: dict[str, Any] = {}
    for case in cases(CASES):
        made = eval(case, known)
        a = made.asnumpy() if isinstance(made, ms.Tensor) else np.asarray(made)
        results[case] = [str(a.dtype), list(a.shape), [float(f"{v:.6g}") for v in a.ravel().tolist()]]
    for case in cases(REFUSED):
        try:
            made = eval(case, known)
            str(made)  # Some are refused when the result is read.
        except Exception:
            continue
        print("not refused:", case, file=sys.stderr)
    dtypes = {f: [dtype_of(mnp, ms.Tensor, f, d) for d in DTYPES] for f in UNARY.split()}
    pairs = {f: [dtype_of(mnp, ms.Tensor, f, d, e) for d in DTYPES for e in DTYPES] for f in BINARY.split()}
    with open(sys.argv[1], "w") as file:
        json.dump({"results": results, "dtypes": dtypes, "pairs": pairs}, file, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main()
