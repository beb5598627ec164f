"""Record MindSpore's primitives and functions: `python ms_primitives.py > ms_primitives.json`, with MindSpore 2.10.

Each case is an expression over tensors x, y, ..., evaluated op by op. Its record holds every tensor of the result and, where
the result is one float tensor, the gradients for the float inputs, taken in graph mode, with the weights of `weights`.
`tests/ops/test_primitives.py` evaluates the same expressions. A case that MindSpore cannot run on a CPU is left out, with
a line on stderr.
"""

import json
import sys

import numpy as np

X = ("float32", [[3.25, 1.0, 2.0], [5.5, -5.0, 0.5]])
Y = ("float32", [[0.5, -1.5, 1.75], [1.25, 2.75, -0.75]])
V = ("float32", [0.3, -0.6, 0.9, 0.1])
B = ("bool", [[True, False, True], [False, True, True]])
I = ("int32", [[3, -1, 2], [5, 5, 0]])
J = ("int32", [[2, 3, -2], [1, 4, 7]])
N = ("int32", [0, 2, 1])
IMAGE = ("float32", (np.arange(64).reshape(1, 4, 4, 4) * 37 % 23 / 7 - 1.5).tolist())
LABEL = ("int32", [2, 0])
P3 = ("float32", [[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]])


def _cases():
    unary = "Abs Neg Sign Square Exp Expm1 Sin Cos Atan Sinh Cosh Asinh Tanh Sigmoid Erf Erfc Floor Ceil Rint ReLU ReLU6 Elu SeLU"
    unary += " GeLU FastGeLU HSigmoid HSwish HShrink SoftShrink Mish Softplus Softsign IsFinite Trunc ZerosLike OnesLike Identity"
    for name in unary.split():
        yield f"P.{name}()(x)", {"x": Y}
    for name in ["Log", "Log1p", "Sqrt", "Rsqrt", "Reciprocal", "Inv"]:
        yield f"P.{name}()(ops.abs(x) + 0.5)", {"x": Y}
    for name in ["Asin", "ACos", "Atanh", "Tan", "Erfinv"]:
        yield f"P.{name}()(x)", {"x": V}
    yield "P.Acosh()(ops.abs(x) + 1.25)", {"x": Y}
    binary = (
        "Add Sub Mul RealDiv Div DivNoNan Maximum Minimum Atan2 SquaredDifference Equal NotEqual Less LessEqual Greater"
    )
    binary += " GreaterEqual FloorDiv FloorMod Mod TruncateDiv TruncateMod Xdivy ApproximateEqual"
    for name in binary.split():
        yield f"P.{name}()(x, y)", {"x": X, "y": Y}
    for name in [
        "Add",
        "Sub",
        "Mul",
        "Maximum",
        "Minimum",
        "Equal",
        "Less",
        "FloorDiv",
        "FloorMod",
        "TruncateDiv",
        "BitwiseAnd",
        "BitwiseOr",
        "BitwiseXor",
    ]:
        yield f"P.{name}()(x, y)", {"x": I, "y": J}
    yield "P.Pow()(ops.abs(x), y)", {"x": X, "y": Y}
    yield "P.Xlogy()(x, ops.abs(y))", {"x": X, "y": Y}
    for name in ["LogicalAnd", "LogicalOr"]:
        yield f"P.{name}()(b, x > 1)", {"b": B, "x": X}
    yield "P.LogicalNot()(b)", {"b": B}
    yield "P.Lerp()(x, y, 0.25)", {"x": X, "y": Y}
    yield "P.AddN()((x, y, x))", {"x": X, "y": Y}
    yield "P.EqualCount()(x, y)", {"x": X, "y": X}
    yield from _reductions()
    yield from _arrays()
    yield from _networks()
    yield from _functions()
    yield from _methods()
    yield from _more()


def _reductions():
    for name in ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd"]:
        yield f"P.{name}()(x)", {"x": X}
        yield f"P.{name}(keep_dims=True)(x, 1)", {"x": X}
        yield f"P.{name}()(x, (0, 1))", {"x": X}
    for name in ["ReduceAll", "ReduceAny"]:
        yield f"P.{name}()(b, 1)", {"b": B}
    yield "P.ReduceProd()(x - 2, 0)", {"x": X}
    yield "P.ReduceStd(axis=1)(x)", {"x": X}
    yield "P.LpNorm([1], 2)(x)", {"x": X}
    yield "P.LpNorm([0], 3, True)(x)", {"x": X}
    yield "P.SquareSumAll()(x, y)", {"x": X, "y": Y}
    yield "P.L2Loss()(x)", {"x": X}
    yield "P.Argmax()(x)", {"x": X}
    yield "P.Argmax(axis=0)(x)", {"x": X}
    yield "P.Argmin(axis=1)(x)", {"x": X}
    yield "P.ArgMaxWithValue(1)(x)", {"x": X}
    yield "P.ArgMaxWithValue(1)(x)[1]", {"x": X}
    yield "P.ArgMinWithValue(0, True)(x)", {"x": X}
    for flags in ("", "exclusive=True", "reverse=True", "exclusive=True, reverse=True"):
        yield f"P.CumSum({flags})(x, 1)", {"x": X}
        yield f"P.CumProd({flags})(x, 1)", {"x": X}
    yield "P.TopK()(x, 2)", {"x": X}
    yield "P.TopK()(x, 2)[0]", {"x": X}
    yield "P.Sort()(x)", {"x": X}
    yield "P.Sort(axis=0, descending=True)(x)", {"x": X}
    yield "P.Sort()(x)[0]", {"x": X}
    yield "P.InTopK(2)(x, l)", {"x": X, "l": LABEL}
    yield "ops.cummax(x, 1)", {"x": X}
    yield "ops.cummin(x, 0)", {"x": X}


def _arrays():
    one = {"x": X}
    yield "P.Fill()(ms.float32, (2, 2), 1.5)", {}
    yield "P.Eye()(2, 3, ms.int32)", {}
    yield "P.Range()(0, 6, 2)", {}
    yield "P.ScalarToTensor()(3)", {}
    yield "P.TupleToArray()((1, 2, 3))", {}
    yield "P.Cast()(x, ms.int32)", one
    yield "P.Reshape()(x, (3, -1))", one
    yield "P.Transpose()(x, (1, 0))", one
    yield "P.ExpandDims()(x, 1)", one
    yield "P.Squeeze(0)(P.ExpandDims()(x, 0))", one
    yield "P.Squeeze()(P.ExpandDims()(x, 0))", one
    yield "P.Flatten()(x)", {"x": IMAGE}
    yield "P.Tile()(x, (2, 1))", one
    yield "P.BroadcastTo((2, 2, 3))(x)", one
    yield "P.Concat(1)((x, y))", {"x": X, "y": Y}
    yield "P.Stack(1)((x, y))", {"x": X, "y": Y}
    yield "P.Unstack(axis=1)(x)", one
    yield "P.Unstack()(x)[1]", one
    yield "P.Split(1, 3)(x)", one
    yield "P.Split(0, 2)(x)[0]", one
    yield "P.Slice()(x, (0, 1), (2, 2))", one
    yield "P.StridedSlice()(x, (0, 0), (2, 3), (1, 2))", one
    yield "P.StridedSlice(begin_mask=1, shrink_axis_mask=2)(x, (1, 1), (2, 2), (1, 1))", one
    yield "P.ReverseV2([1])(x)", one
    yield "P.Meshgrid(indexing='ij')((x[0], y[1]))", {"x": X, "y": Y}
    yield "P.Tril()(x)", one
    yield "P.Diag()(v)", {"v": V}
    yield "P.Trace()(x[:, :2])", one
    yield "P.DepthToSpace(2)(x)", {"x": IMAGE}
    yield "P.SpaceToDepth(2)(x)", {"x": IMAGE}
    yield "P.Pad(((1, 0), (0, 2)))(x)", one
    yield "P.MirrorPad('SYMMETRIC')(x, Tensor([[1, 0], [0, 2]]))", one
    yield "P.MirrorPad('REFLECT')(x, Tensor([[1, 0], [0, 2]]))", one
    yield "P.Select()(b, x, y)", {"b": B, "x": X, "y": Y}
    yield "P.MaskedFill()(x, b, 0.5)", {"b": B, "x": X}
    yield "P.OneHot()(n, 3, Tensor(1.0), Tensor(0.0))", {"n": N}
    yield "P.OneHot(axis=0)(n, 4, Tensor(2.0), Tensor(-1.0))", {"n": N}
    yield "P.Gather()(x, n, 1)", {"x": X, "n": N}
    yield "P.GatherD()(x, 1, Tensor([[0, 1, 1], [2, 0, 2]]))", one
    yield "P.GatherNd()(x, Tensor([[0, 1], [1, 2]]))", one
    yield "P.GatherNd()(x, Tensor([[1], [0], [1]]))", one
    yield "P.ScatterNd()(Tensor([[1], [3]], ms.int32), x, (4, 3))", one
    yield "P.ScatterNd()(Tensor([[1], [1]], ms.int32), x, (4, 3))", one
    at, new = "Tensor([[0, 1], [1, 2]], ms.int32)", "x[0, :2]"
    for name in ["Update", "Add", "Sub", "Mul", "Max", "Min"]:
        yield f"P.TensorScatter{name}()(x, {at}, {new})", one
    yield "P.TensorScatterElements(axis=1)(x, Tensor([[0, 2], [1, 0]]), y[:, :2])", {"x": X, "y": Y}
    yield "P.TensorScatterElements(axis=0, reduction='add')(x, Tensor([[0, 1, 1], [1, 1, 0]]), y)", {"x": X, "y": Y}
    yield "P.UnsortedSegmentSum()(x, Tensor([1, 1], ms.int32), 3)", one
    yield "P.UnsortedSegmentSum()(x, Tensor([[0, 2, 0], [1, 1, 0]], ms.int32), 3)", one
    yield "P.UnsortedSegmentMax()(x, Tensor([1, 0], ms.int32), 2)", one
    yield "P.UnsortedSegmentMin()(x, Tensor([1, 0], ms.int32), 2)", one
    yield "P.EmbeddingLookup()(x, Tensor([[1, 0], [0, 1]], ms.int32), 0)", one


def _networks():
    image = {"x": IMAGE}
    yield "P.Softmax()(x)", {"x": X}
    yield "P.Softmax(0)(x)", {"x": X}
    yield "P.LogSoftmax()(x)", {"x": X}
    yield "P.CeLU(2.0)(x)", {"x": Y}
    yield "P.PReLU()(x, v)", {"x": IMAGE, "v": V}
    yield "P.MatMul(transpose_b=True)(x, y)", {"x": X, "y": Y}
    yield "P.MatMul(transpose_a=True)(x, y)", {"x": X, "y": Y}
    yield "P.BatchMatMul()(x, y)", {"x": IMAGE, "y": IMAGE}
    yield "P.BiasAdd()(x, v)", {"x": IMAGE, "v": V}
    yield "P.Conv2D(1, 2)(x, w)", {"x": IMAGE, "w": ("float32", [[[[0.5, -1.0], [0.25, 2.0]]] * 4])}
    yield (
        "P.Conv2D(1, 2, pad_mode='same', stride=2)(x, w)",
        {"x": IMAGE, "w": ("float32", [[[[0.5, -1.0], [0.25, 2.0]]] * 4])},
    )
    yield "P.MaxPool(2, 2)(x)", image
    yield "P.MaxPool(3, 2, 'same')(x)", image
    yield "P.AvgPool(2, 2)(x)", image
    yield "P.AvgPool(3, 2, 'same')(x)", image
    yield "P.L2Normalize(axis=1)(x)", {"x": X}
    yield "P.LayerNorm(1, 1)(x, y[0], y[1])[0]", {"x": X, "y": Y}
    yield "P.LayerNorm(1, 1)(x, y[0], y[1])", {"x": X, "y": Y}
    yield "P.BatchNorm()(x, v, v, v, ops.abs(v))[0]", {"x": IMAGE, "v": V}
    yield "P.SoftmaxCrossEntropyWithLogits()(x, p)", {"x": X, "p": P3}
    yield "P.SoftmaxCrossEntropyWithLogits()(x, p)[0]", {"x": X, "p": P3}
    yield "P.SparseSoftmaxCrossEntropyWithLogits()(x, l)", {"x": X, "l": LABEL}
    yield "ops.stop_gradient(P.SparseSoftmaxCrossEntropyWithLogits(is_grad=True)(x, l))", {"x": X, "l": LABEL}
    yield "P.SigmoidCrossEntropyWithLogits()(x, y)", {"x": X, "y": P3}
    yield "P.SmoothL1Loss()(x, y)", {"x": X, "y": Y}
    yield "P.SmoothL1Loss(0.5, 'mean')(x, y)", {"x": X, "y": Y}
    yield "P.BinaryCrossEntropy()(p, q)", {"p": P3, "q": P3}
    yield "P.BCEWithLogitsLoss()(x, p, ops.ones((2, 3)), ops.ones((2, 3)))", {"x": X, "p": P3}
    yield "P.KLDivLoss()(x, p)", {"x": X, "p": P3}
    yield "P.NLLLoss()(x, l, ops.ones(3) * 2)", {"x": X, "l": LABEL}
    yield "P.NLLLoss('sum')(x, l, v[:3])[0]", {"x": X, "l": LABEL, "v": V}


def _functions():
    one, two = {"x": X}, {"x": X, "y": Y}
    for text in (
        "ops.max(x)", "ops.max(x, 1)", "ops.max(x, 1)[0]", "ops.min(x, 0, True)", "ops.argmax(x)", "ops.argmax(x, 1, True)",
        "ops.argmin(x, 1)", "ops.amax(x, 1)", "ops.amin(x, (0, 1))", "ops.prod(x, 1)", "ops.logsumexp(x, 1)",
        "ops.logsumexp(x, (0, 1), True)", "ops.count_nonzero(x, 1)", "ops.topk(x, 2, 0, False)", "ops.sort(x, 0)",
        "ops.argsort(x)", "ops.var_mean(x, 1)", "ops.std(x, 1)", "ops.var(x, 0, 1)", "ops.norm(x)", "ops.norm(x, dim=1)",
        "ops.arange(0, 1, 0.25)", "ops.linspace(0, 1, 5)", "ops.eye(2, 3)", "ops.flip(x, (0,))", "ops.full_like(x, 2)",
        "ops.unstack(x)", "ops.tensor_split(x, 2, 1)", "ops.repeat_interleave(x, 2, 1)", "ops.repeat_elements(x, 2, 0)",
        "ops.diag(x[0])", "ops.tril(x, 1)", "ops.triu(x)", "ops.strided_slice(x, (0, 1), (2, 3), (1, 1))",
        "ops.permute(x, (1, 0))", "ops.movedim(ops.expand_dims(x, 0), 0, 2)", "ops.rot90(x, 1, (0, 1))",
        "ops.gather_elements(x, 0, Tensor([[0, 1, 1]]))", "ops.index_select(x, 1, Tensor([2, 0]))", "ops.trunc(x)",
        "ops.frac(x)", "ops.log2(ops.abs(x))", "ops.log10(ops.abs(x))", "ops.exp2(x)", "ops.sinc(x)", "ops.deg2rad(x)",
        "ops.nan_to_num(x / 0.0, 1.0, 2.0, 3.0)", "ops.clamp(x, -1, 2)", "ops.clip(x, 0.5)", "ops.signbit(x)",
        "ops.pixel_shuffle(ops.ones((1, 4, 1, 1)) * x[0, 0], 2)", "ops.one_hot(Tensor([0, 2], ms.int32), 3)",
        "ops.pad(x, (1, 2))", "ops.pad(x, (1, 0, 0, 1), 'constant', 0.5)", "ops.hstack((x, x))", "ops.vstack((x, x))",
        "ops.tensor_scatter_add(x, Tensor([[0], [0]]), x)", "ops.scatter_nd(Tensor([[0], [2]]), x, (3, 3))",
        "ops.unsorted_segment_sum(x, Tensor([0, 0]), 2)", "ops.cumprod(x, 1)", "ops.cumsum(x, 0)", "ops.roll(x, 1, 0)",
        "ops.meshgrid(x[0], x[1])", "ops.narrow(x, 1, 1, 2)", "ops.swapdims(x, 0, 1)", "ops.numel(x)", "ops.rank(x)",
        "ops.median(x)", "ops.median(x, 1)", "ops.column_stack((x, x))", "ops.expand(x, (2, 2, 3))", "ops.fliplr(x)",
        "ops.atleast_2d(x[0])", "ops.ravel(x)", "ops.addcmul(x, x, x, Tensor(0.5))", "ops.trace(x[:, :2])",
        "ops.masked_fill(x, x > 2, Tensor(0.5))", "ops.stack((x, x), 2)", "ops.select(x > 1, x, x * 2)",
        "ops.index_fill(x, 1, Tensor([1], ms.int32), 9.0)", "ops.nansum(x)", "ops.diagonal(x, 1)", "ops.kron(x, x)",
    ):  # fmt: skip
        yield text, one
    for text in (
        "ops.outer(x[0], y[1])", "ops.dot(x, y.T)", "ops.inner(x, y)", "ops.tensor_dot(x, y, ((1,), (1,)))",
        "ops.addmm(y[:, :2], x, y.T)", "ops.hypot(x, y)", "ops.logaddexp(x, y)", "ops.copysign(x, y)", "ops.fmod(x, y)",
        "ops.remainder(x, y)", "ops.heaviside(x, y)", "ops.isclose(x, y)", "ops.lerp(x, y, 0.25)", "ops.atan2(x, y)",
        "ops.xlogy(ops.abs(x), ops.abs(y))", "ops.xdivy(x, y)", "ops.floor_divide(x, y)", "ops.addcdiv(x, x, y, Tensor(0.5))",
        "ops.einsum('ij,kj->ik', x, y)", "ops.einsum('ij,ij->j', x, y)", "ops.cdist(x, y)",
        "ops.bmm(ops.expand_dims(x, 0), ops.expand_dims(y.T, 0))", "ops.addbmm(ops.ones((2, 2)), x[None], y.T[None])",
        "ops.tensor_add(x, y)", "ops.eq(x, y)", "ops.ge(x, y)", "ops.cross(x, y, 1)", "ops.addr(ops.ones((3, 3)), x[0], y[0])",
    ):  # fmt: skip
        yield text, two


def _methods():
    for text in (
        "x.sum(1)", "x.sum(axis=1, keepdims=True)", "x.mean(1)", "x.max()", "x.max(axis=1)", "x.max(1)", "x.min(axis=0)",
        "x.var(1)", "x.std()", "x.argmax()", "x.argmax(1)", "x.argmin(1)", "x.prod(1)", "x.ptp()", "x.cumsum()",
        "x.cumsum(0)", "x.abs()", "x.pow(2)", "x.T", "x.view(3, 2)", "x.reshape(-1)", "x.flatten()", "x.ravel()",
        "x.swapaxes(0, 1)", "x.expand_dims(0)", "x.squeeze()", "x.astype(ms.int32)", "x.int()", "x.bool()", "x.clip(0, 2)",
        "x.masked_fill(x > 2, 0.0)", "x.tile((1, 2))", "x.split(2, 1)", "x.broadcast_to((2, 2, 3))", "x.copy()",
        "x.resize(2, 2)", "x.diagonal()", "x.trace()", "x.fill(1.5)", "x.take(Tensor([0, 4]))",
        "x.gather_nd(Tensor([[0, 1]]))", "x.index_select(1, Tensor([0, 1]))", "x.select(0, 1)", "x.narrow(1, 0, 2)",
        "x.topk(2)", "x.sort()", "x.argsort()", "x.logical_not()", "x.eq(x)", "x.ge(2)", "x.matmul(x.T)", "x.type_as(x)",
        "x.new_zeros((2,))", "x.tril()", "x.norm()", "x.unbind(0)", "x.repeat_interleave(2, 0)", "x.permute(1, 0)",
        "x.swapdims(0, 1)", "x.itemset(4, 9.0)", "x.where(x > 2, x * 0)", "x.expand_as(x)", "x.addcdiv(x, x)",
        "x[0]", "x[-1, 1:]", "x[..., 0]", "x[None, :, ::2]", "x[Tensor([1, 0])]", "x[Tensor([0, 1]), Tensor([2, -1])]",
        "x[[1, 0, 1]]", "x[:, Tensor([2, 0])]", "x[1, Tensor([0, 2])]", "x[[True, False]]", "x[True]", "x[::-1]",
        "x[Tensor([[0, 1], [1, 1]])]", "x[-x.shape[0]:, -2:]", "x[0, 0]", "x[:, None, 1]", "-x + 2 * x ** 2 - x / 3 % 2",
        "x // 2", "1 - x", "2 / (x + 10)", "abs(x)", "x == None", "(x > 1) & (x < 3)", "(x > 1) | (x < 0)", "x @ x.T",
    ):  # fmt: skip
        yield text, {"x": X}
    yield "~(b & b)", {"b": B}
    yield "x & y", {"x": I, "y": J}
    yield "x | 1", {"x": I}


def _more():
    one, two = {"x": X}, {"x": X, "y": Y}
    for text in (
        "ops.softmin(x)", "ops.hsplit(x, 3)", "ops.vsplit(x, 2)", "ops.diff(x)", "ops.diagflat(x[0])", "ops.msort(x)",
        "ops.trapz(x)", "ops.sequence_mask(Tensor([1, 3]), 4)", "ops.vector_norm(x)", "ops.dense(x, x)", 
        "ops.reverse_sequence(x, Tensor([2, 3]), 1)", "P.ReverseSequence(1, 0)(x, Tensor([3, 2], ms.int32))",
        "ops.tril_indices(3, 2)", "ops.triu_indices(3, 2, 1)", "ops.cross(x, x * 2 + 1, 1)",
        "P.AdaptiveAvgPool2D((2, 2))(x[None, None])", "P.ResizeNearestNeighbor((4, 2))(x[None, None])",
        "ops.adaptive_avg_pool2d(x[None, None], (1, 2))", "ops.interpolate(x[None, None], (4, 6))",
        "P.UnsortedSegmentProd()(x, Tensor([0, 0], ms.int32), 2)", "P.InplaceUpdate((0,))(x, x[1:])",
        "ops.inplace_add(x, x[1:], 0)", "ops.inplace_sub(x, x, (0, 1))", "P.NanToNum()(x / 0)",
        "P.LogSoftmax(0)(x)", "P.Concat()((x, x))", "x.sum_to_size((1, 3))", "x.fliplr()", "x.diff()", "x.cross(x + 1, 1)",
    ):  # fmt: skip
        yield text, one
    for text in (
        "ops.cosine_similarity(x, y)", "P.Hypot()(x, y)", "P.Heaviside()(x, y)", "P.Cdist()(x, y)", "P.Cross(1)(x, y)",
        "ops.vecdot(x, y)", "P.Dense()(x, y, None)", "P.Mul()(x, 2)", "P.Pow()(x, 2)",
    ):  # fmt: skip
        yield text, two
    yield "P.LeftShift()(x, Tensor([1, 2, 3], ms.int32))", {"x": I}
    yield "P.RightShift()(x, Tensor([1, 2, 3], ms.int32))", {"x": I}
    back = "P.Conv2DBackpropInput(4, (2, 2), pad_mode='valid', pad=0, stride=1)"
    yield (
        f"{back}(x, w, (1, 4, 5, 5))",
        {"x": IMAGE, "w": ("float32", (np.arange(64).reshape(4, 4, 2, 2) % 5 - 1.5).tolist())},
    )


CASES = list(_cases())


def weights(shape):
    """The sensitivity with which a result is differentiated."""
    size = int(np.prod(shape))
    return (0.5 + np.arange(size) % 7 / 4).astype(np.float32).reshape(shape)


def _tensors(result):
    items = result if isinstance(result, (tuple, list)) else (result,)
    return [x for item in items for x in (_tensors(item) if isinstance(item, (tuple, list)) else [item])]


def _plain(x):
    array = x.asnumpy() if hasattr(x, "asnumpy") else np.asarray(x)
    values = array.astype(np.float64) if array.dtype.kind == "f" else array
    flat = [repr(v) if v != v or abs(v) == np.inf else v for v in values.reshape(-1).tolist()]
    return {"dtype": array.dtype.name, "shape": list(array.shape), "value": flat}


def _source(cases):
    """A module with one Cell per case: graph mode reads the text of functions."""
    lines = [
        "import mindspore as ms",
        "from mindspore import Tensor, nn, ops",
        "from mindspore.ops import operations as P",
    ]
    for k, (text, inputs) in enumerate(cases):
        lines += [
            f"class Case{k}(nn.Cell):",
            f"    def construct({', '.join(['self', *inputs])}):",
            f"        return {text}",
        ]
    return "\n".join(lines) + "\n"


def _results(cell, inputs):
    mindspore.set_context(mode=mindspore.PYNATIVE_MODE)
    return [_plain(r) for r in _tensors(cell(*(Tensor(np.array(v, d)) for d, v in inputs.values())))]


def _gradients(cell, inputs, shape):
    mindspore.set_context(mode=mindspore.GRAPH_MODE)
    operands = [Tensor(np.array(v, d)) for d, v in inputs.values()]
    grads = ops.GradOperation(get_all=True, sens_param=True)(cell)(*operands, Tensor(weights(shape)))
    return [_plain(g) for g, (dtype, _) in zip(grads, inputs.values(), strict=True) if dtype == "float32"]


def _record(text, inputs, cells):
    results = _results(cells[0], inputs)
    grads = None
    if len(results) == 1 and results[0]["dtype"] == "float32" and any(d == "float32" for d, _ in inputs.values()):
        try:
            grads = _gradients(cells[1], inputs, results[0]["shape"])
        except Exception as error:
            print(f"no gradient of {text}: {type(error).__name__}", file=sys.stderr)
    return {"text": text, "inputs": inputs, "results": results, "grads": grads}


if __name__ == "__main__":
    import importlib.util
    import tempfile
    from pathlib import Path

    import mindspore
    from mindspore import Tensor, ops

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cases.py"
        path.write_text(_source(CASES))
        spec = importlib.util.spec_from_file_location("cases", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules["cases"] = module
        spec.loader.exec_module(module)
        records = []
        for k, (text, inputs) in enumerate(CASES):
            made = getattr(module, f"Case{k}")
            try:
                records.append(_record(text, inputs, (made(), made())))
            except Exception as error:
                print(f"left out {text}: {type(error).__name__} {str(error)[:100]!r}", file=sys.stderr)
    head = {"mindspore": mindspore.__version__, "numpy": np.__version__}
    lines = ",\n".join(json.dumps(r, separators=(",", ":")) for r in records)
    print(json.dumps(head)[:-1] + ', "cases": [\n' + lines + "\n]}")
