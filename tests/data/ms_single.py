"""Record primitives and functions that MindSpore has in files of `mindspore.ops` alone, with MindSpore 2.10:
`python -m tests.data.ms_single tests/data/ms_single.json`.

`tests/ops/test_single_recorded.py` evaluates the same texts, which are cases of ms_cases.py.
"""

from __future__ import annotations

import sys

from tests.data.ms_cases import Names, lines, record_cases

#: A line that begins with spaces goes on with the one before.
TEXT = """
CropAndResizeGradImage(float32) | g(3, 3, 2, 2), T([[0.1, 0.2, 0.7, 0.9], [0.9, 0.05, 0.2, 0.95], [-0.3, 0.1, 0.6,
    1.2]]), i(0, 1, 1), i(2, 4, 5, 2)
CropAndResizeGradImage(float64, "nearest") | g(3, 3, 2, 2), T([[0.1, 0.2, 0.7, 0.9], [0.9, 0.05, 0.2, 0.95],
    [-0.3, 0.1, 0.6, 1.2]]), i(0, 1, 1), i(2, 4, 5, 2)
CropAndResizeGradImage(float16) | g(1, 1, 1, 2), T([[0.1, 0.2, 0.7, 0.9]]), i(1), i(2, 4, 5, 2)
CropAndResizeGradBoxes() | g(3, 3, 2, 2), f(2, 4, 5, 2), T([[0.1, 0.2, 0.7, 0.9], [0.9, 0.05, 0.2, 0.95], [-0.3,
    0.1, 0.6, 1.2]]), i(0, 1, 1)
CropAndResizeGradBoxes() | g(1, 1, 1, 2), f(2, 4, 5, 2), T([[0.1, 0.2, 0.7, 0.9]]), i(1)
CTCLossV2Grad(0) | g(2), LogSoftmax(2)(f(5, 2, 4)), i([1, 2, 2], [3, 1, 0]), i(5, 4), i(3, 2),
    *CTCLossV2(0)(LogSoftmax(2)(f(5, 2, 4)), i([1, 2, 2], [3, 1, 0]), i(5, 4), i(3, 2))
CTCLossV2Grad(1, "none", True) | p(2), LogSoftmax(2)(f(5, 2, 4)), i([0, 2, 2], [3, 0, 1]), i(3, 4), i(3, 2),
    *CTCLossV2(1)(LogSoftmax(2)(f(5, 2, 4)), i([0, 2, 2], [3, 0, 1]), i(3, 4), i(3, 2))
PSROIPooling(1.0, 2, 2) | f(1, 8, 4, 4), T([[[0.0], [0], [1], [3], [3]]])
PSROIPooling(0.5, 2, 1) | f(1, 4, 5, 6), T([[[0.0], [1], [0], [9], [7]]])
ResizeV2() | f(1, 3, 1, 3), f(8), f(4), l(1, 3, 1, 6)
ResizeV2("half_pixel", "linear") | f(1, 3, 1, 3), f(8), f(4), l(1, 3, 1, 5)
ResizeV2("align_corners", "linear") | f(1, 3, 1, 3), f(8), f(4), i(1, 3, 1, 5)
ResizeV2("half_pixel", "cubic") | f(1, 2, 4, 3), f(8), f(4), l(1, 2, 6, 5)
ResizeV2("align_corners", "cubic") | f(1, 2, 4, 3), f(8), f(4), l(1, 2, 6, 5)
ResizeV2() | i([[[1, 2, 3]]]), f(8), f(4), l(1, 1, 1, 5)
AdjustContrastv2() | f(2, 3, 4, 3), T(1.5)
AdjustContrastv2() | f(3, 4, 3).astype("float16"), T(0.5)
InstanceNormV2() | f(2, 3, 2, 2), p(2, 3, 1, 1), f(2, 3, 1, 1), f(2, 3, 1, 1), p(2, 3, 1, 1)
InstanceNormV2(False, 0.2, 1e-3) | f(2, 3, 2, 2), p(2, 3, 1, 1), f(2, 3, 1, 1), f(2, 3, 1, 1), p(2, 3, 1, 1)
InstanceNormV2(True, 0.3) | f(2, 3, 2, 2, 2), p(2, 3, 1, 1, 2), f(2, 3, 1, 1, 2), f(2, 3, 1, 1, 2), p(2, 3, 1,
    1, 2)
TridiagonalSolve() | p(3, 4) + 1, f(4, 2)
TridiagonalSolve(False) | p(2, 3, 4) + 1, f(2, 4, 2)
SparseSegmentSum() | f(5, 3), i(0, 2, 3), i(0, 0, 1)
SparseSegmentSum() | i([1, 2], [3, 4]), l(0, 1, 1), l(0, 0, 1)
SparseSegmentMean() | f(5, 3), i(0, 2, 3), i(0, 0, 1)
SparseSegmentMean() | f(5, 3), i(0, 2, 3), i(1, 2, 2)
SparseSegmentSqrtN() | f(5, 3), i(0, 2, 3), i(0, 0, 1)
SparseSegmentSqrtN() | f(5, 3, 2).astype("float16"), i(0, 2, 3), i(0, 0, 1)
SparseSegmentSumWithNumSegments() | f(5, 3), i(0, 2, 3), i(0, 0, 2), i(4)
SparseSegmentMeanWithNumSegments() | f(5, 3), i(0, 2, 3), i(0, 0, 2), i(4)
SparseSegmentSqrtNWithNumSegments() | f(5, 3), i(0, 2, 3), i(0, 0, 2), scalar(4)
SparseSoftmax() | l([0, 0], [0, 3], [1, 2], [1, 5], [2, 0]), f(5), l(6, 6)
SparseSoftmax() | l([0, 0, 1], [0, 0, 3], [0, 2, 2], [1, 0, 1]), f(4).astype("float64"), l(2, 3, 4)
SparseDenseCwiseAdd() | l([0, 0], [1, 2]), f(2), l(2, 3), g(2, 3)
SparseDenseCwiseAdd() | l([0, 0], [1, 2]), f(2), l(2, 3), g(3)
SparseDenseCwiseMul() | l([0, 0], [1, 2]), f(2), l(2, 3), g(2, 1)
SparseDenseCwiseMul() | l([0, 0], [1, 2]), i(2, 3), l(2, 3), i([1, 2, 3], [4, 5, 6])
SparseToDenseV2() | l([0, 0], [1, 2]), l(2, 3), f(2), T(0.5)
SparseToDenseV2() | i(1, 3), i(5), f(2), T(0.5)
SparseToDenseV2(False) | i([1], [3], [1]), i(5), i(2, 3, 4), scalar(9)
SparseReorder() | l([2, 1], [0, 3], [0, 1], [2, 0]), f(4), l(3, 4)
SparseReshape() | l([0, 0], [1, 2], [1, 0]), l(2, 3), l(-1)
SparseConcat() | (l([0, 0], [1, 2]), l([0, 1])), (f(2), g(1)), (l(2, 3), l(2, 3))
SparseConcat(1) | (l([0, 0], [1, 2]), l([0, 1])), (f(2), g(1)), (l(2, 3), l(2, 2))
SparseSparseMaximum() | l([0, 1], [1, 2]), f(2), l(3, 3), l([0, 1], [1, 1]), g(2), l(3, 3)
SparseSparseMinimum() | l([0, 1], [1, 2]), f(2), l(3, 3), l([0, 1], [1, 1]), g(2), l(3, 3)
SparseAdd() | l([0, 1], [1, 2]), f(2), l(3, 4), l([0, 1], [1, 1]), g(2), l(3, 4), T(0.0)
SparseAdd() | l([0, 1], [1, 2]), f(2), l(3, 4), l([0, 1], [1, 1]), g(2), l(3, 4), T(0.7)
SparseAddGrad() | g(3), l([0, 1], [1, 2]), l([0, 1], [1, 1]), l([0, 1], [1, 1], [1, 2])
SparseAddmm() | l([0, 1], [1, 2]), f(2), l(3, 4), g(4, 2), f(3, 2), T([1.5]), T([0.5])
SparseFillEmptyRows() | l([0, 1], [2, 0]), f(2), l(4, 3), T(0.5)
SparseMatrixSoftmax(float32) | l(3, 3), i(0, 4), i(0, 1, 3, 4), i(0, 0, 2, 1), f(4)
SparseMatrixAdd() | i(3, 3), i(0, 4), i(0, 1, 3, 4), i(0, 0, 2, 1), f(4), i(3, 3), i(0, 3), i(0, 1, 2, 3), i(1,
    0, 1), g(3), T(1.5), T(0.5)
SparseMatrixMatMul() | i(3, 3), i(0, 4), i(0, 1, 3, 4), i(0, 0, 2, 1), f(4), f(3, 2)
SparseMatrixMatMul(False, True) | i(3, 3), i(0, 4), i(0, 1, 3, 4), i(0, 0, 2, 1), f(4), f(2, 3)
DenseToCSRSparseMatrix() | f(3, 3), l([0, 0], [1, 0], [1, 2], [2, 1])
CSRSparseMatrixToDense() | i(3, 3), i(0, 4), i(0, 1, 3, 4), i(0, 0, 2, 1), f(4)
CSRSparseMatrixToSparseTensor() | l(3, 3), l(0, 4), l(0, 1, 3, 4), l(0, 0, 2, 1), f(4)
SparseTensorToCSRSparseMatrix() | i([0, 0], [1, 0], [1, 2], [2, 1]), f(4), i(3, 3)
SparseMatrixNNZ() | i(3, 3), i(0, 4), i(0, 1, 3, 4), i(0, 0, 2, 1), f(4)
SparseMatrixNNZ() | i(2, 2, 3), i(0, 2, 3), i(0, 1, 2, 0, 1, 1), i(0, 0, 2), f(3)
SparseMatrixTranspose() | i(2, 3), i(0, 3), i(0, 1, 3), i(0, 0, 2), f(3)
SparseMatrixMatMul(True) | i(2, 3), i(0, 3), i(0, 1, 3), i(0, 0, 2), f(3), f(2, 4)
SparseReshape() | l([0, 0], [1, 2], [1, 0]), l(2, 3), l(6)
SparseReshape() | l([0], [4], [3]), l(6), l(-1)
SparseMatrixSoftmax(float32) | i(3, 3), scalar(4), i(0, 1, 3, 4), i(0, 0, 2, 1), f(4)
SparseTensorToCSRSparseMatrix() | l([0, 0, 1], [0, 2, 3], [2, 0, 1], [2, 1, 2], [2, 1, 3]), f(5), l(3, 3, 4)
spared((3, 2, 1, True, False)) | f(4, 2, 3), f(1, 2, 2), g(1, 2, 2), f(56, 1, 1)
spared((3, 2, 1, True, True)) | f(4, 2, 3), f(2, 2, 2), g(2, 2, 2), f(112, 1, 1)
spared((2, 2, 2, True, False)) | f(4, 2, 2), f(2, 2, 2), g(2, 2, 2), f(96, 1, 1)
AddV2() | f(2, 3), g(2, 3)
chunk_ext | f(5, 3), 2
chunk_ext | f(2, 3), 2, 1
split_ext | f(5, 3), 2
split_ext | f(2, 3), [1, 2], 1
max_ext | f(2, 3)
max_ext | f(2, 3), 1
min_ext | f(2, 3)
min_ext | i([3, 1, 2], [6, 5, 4]), 0, True
mean_ext | f(2, 3)
mean_ext | f(2, 3), 1, True
mean_ext | i([3, 1, 2], [6, 5, 4])
mean_ext | i([3, 1, 2], [6, 5, 4]), (0, 1), False, float32
mul_ext | f(2, 3), g(3)
new_ones | f(2), (2, 3)
new_zeros | i(2), 3
"""
CASES = lines(TEXT)


def main() -> None:
    """Record all cases."""
    import mindspore as ms
    from mindspore import ops
    from mindspore.ops.function import array_func, math_func
    from mindspore.ops.operations import _grad_ops, _sparse_grad_ops, image_ops, math_ops, nn_ops, sparse_ops

    ms.set_context(mode=ms.PYNATIVE_MODE)
    places = [_grad_ops, ops, nn_ops, sparse_ops, math_ops, image_ops, _sparse_grad_ops, ms, array_func, math_func]
    record_cases(CASES, Names(ms.Tensor, places), sys.argv[1])


if __name__ == "__main__":
    main()
