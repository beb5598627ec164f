"""Record gradients that are primitives of their own, and functions of `mindspore.ops.auto_generate`, with MindSpore 2.10:
`python -m tests.data.ms_generated tests/data/ms_generated.json`.

`tests/ops/test_generated_recorded.py` evaluates the same texts, which are cases of ms_cases.py.
"""

from __future__ import annotations

import sys

from tests.data.ms_cases import Names, lines, record_cases

#: A line that begins with spaces goes on with the one before.
TEXT = """
AdaptiveAvgPool2DGrad() | g(2, 3, 2, 2), l(2, 3, 5, 4)
AdaptiveAvgPool2DGrad() | g(3, 2, 3), (3, 5, 4)
AdaptiveAvgPool3DGrad() | g(1, 2, 2, 1, 2), i(1, 2, 3, 4, 4)
AdaptiveAvgPool3DGrad() | g(2, 2, 2, 2), i(2, 3, 3, 4)
AdaptiveMaxPool2DGrad() | g(2, 2, 2, 3), f(2, 2, 4, 5), AdaptiveMaxPool2D((2, 3))(f(2, 2, 4, 5))[1]
AdaptiveMaxPool2DGrad() | g(2, 2, 3), f(2, 4, 5), AdaptiveMaxPool2D((2, 3))(f(2, 4, 5))[1]
AdaptiveMaxPool3DGrad() | g(2, 2, 2, 2), f(2, 3, 3, 4), AdaptiveMaxPool3D()(f(2, 3, 3, 4), i(2, 2, 2))[1]
AdaptiveMaxPool3DGrad() | g(1, 2, 2, 1, 2), f(1, 2, 3, 3, 4), AdaptiveMaxPool3D()(f(1, 2, 3, 3, 4), i(2, 1, 2))[1]
AffineGridGrad() | g(2, 3, 4, 2), (2, 1, 3, 4)
AffineGridGrad(True) | g(2, 2, 3, 4, 3), (2, 1, 2, 3, 4)
BatchNormGradGrad(True) | f(2, 3, 2, 2), g(2, 3, 2, 2), f(3), mean(f(2, 3, 2, 2)), var(f(2, 3, 2, 2)), p(2, 3, 2, 2),
    g(3), p(3)
BatchNormGradGrad(False, 1e-3) | f(2, 3, 2, 2), g(2, 3, 2, 2), f(3), f(3), p(3), p(2, 3, 2, 2), g(3), p(3)
BiasAddGrad("NHWC") | g(2, 3, 2, 2)
BiasAddGrad("NCDHW") | g(2, 3, 2, 1, 2)
BiasAddGrad() | g(2, 3)
CdistGrad(2.0) | g(2, 3), f(2, 4), f(3, 4), Cdist(2.0)(f(2, 4), f(3, 4))
CdistGrad(1.0) | g(2, 3), f(2, 4), f(3, 4), Cdist(1.0)(f(2, 4), f(3, 4))
CdistGrad(3.0) | g(2, 3), f(2, 4), f(3, 4), Cdist(3.0)(f(2, 4), f(3, 4))
CdistGrad(1.5) | g(2, 3), f(2, 4), p(3, 4), Cdist(1.5)(f(2, 4), p(3, 4))
CdistGrad(0.0) | g(2, 3), f(2, 4), p(3, 4), Cdist(0.0)(f(2, 4), p(3, 4))
CdistGrad(inf) | g(2, 2, 3), f(2, 2, 4), p(2, 3, 4), Cdist(inf)(f(2, 2, 4), p(2, 3, 4))
CdistGrad(inf) | g(2, 3), ties(2, 4), ties(3, 4), Cdist(inf)(ties(2, 4), ties(3, 4))
ConcatOffset(2, 0) | (f(2, 3), f(4, 3))
ConcatOffset(3, -1) | (f(2, 3), f(2, 4), f(2, 1))
Conv3DBackpropFilter(2, 2) | f(2, 3, 3, 3, 3), g(2, 2, 2, 2, 2), (2, 3, 2, 2, 2)
Conv3DBackpropFilter(2, (1, 2, 2), 1, "pad", (0, 0, 1, 0, 1, 1), (1, 1, 1, 2, 1)) | f(1, 2, 2, 3, 3), g(1, 2, 2, 2,
    4), (2, 2, 1, 2, 2)
Conv3DBackpropFilter(2, 3, 1, "same", 0, 2) | f(1, 2, 3, 3, 3), g(1, 2, 2, 2, 2), (2, 2, 3, 3, 3)
Conv3DBackpropFilter(2, 2) | f(1, 2, 3, 3, 3).astype("float16"), g(1, 2, 2, 2, 2).astype("float16"), (2, 2, 2, 2, 2)
Conv3DBackpropInput(2, 2) | f(2, 3, 2, 2, 2), g(2, 2, 2, 2, 2), (2, 3, 3, 3, 3)
Conv3DBackpropInput(2, 3, 1, "same", 0, 2) | f(2, 2, 3, 3, 3), g(1, 2, 2, 2, 2), (1, 2, 3, 3, 3)
DeformableOffsetsGrad((1, 1, 1, 1), (0, 0, 0, 0), (2, 2)) | g(1, 2, 4, 4), f(1, 2, 3, 3), f(1, 12, 2, 2)
DeformableOffsetsGrad((1, 1, 2, 1), (1, 0, 1, 0), (2, 2), (1, 1, 1, 1), "NCHW", 2) | g(1, 2, 4, 6), f(1, 2, 3, 3),
    f(1, 24, 2, 3)
FractionalAvgPoolGrad() | l(1, 4, 5, 2), g(1, 2, 2, 2).astype("float64"), l(0, 1, 4), l(0, 3, 5)
FractionalAvgPoolGrad(True) | l(1, 4, 5, 2), g(1, 2, 2, 2), l(0, 1, 4), l(0, 3, 5)
FractionalMaxPoolGrad() | f(1, 4, 5, 2), maxima(f(1, 4, 5, 2), (0, 1, 4), (0, 3, 5), 0), g(1, 2, 2, 2), l(0, 1, 4),
    l(0, 3, 5)
FractionalMaxPoolGrad(True) | f(1, 4, 5, 2), maxima(f(1, 4, 5, 2), (0, 1, 4), (0, 3, 5), 1), g(1, 2, 2, 2), l(0, 1,
    4), l(0, 3, 5)
FractionalMaxPoolGrad() | ties(1, 4, 5, 2), maxima(ties(1, 4, 5, 2), (0, 2, 4), (0, 3, 5), 0), g(1, 2, 2, 2), l(0, 2,
    4), l(0, 3, 5)
FractionalMaxPoolGradWithFixedKsize() | i(*[7] * 32).reshape((1, 2, 4, 4)), g(1, 2, 2, 2), l(0, 3, 9, 13, 1, 1, 15,
    2).reshape((1, 2, 2, 2))
FractionalMaxPool3DGradWithFixedKsize() | f(1, 1, 3, 4, 4), g(1, 1, 2, 2, 2), l(0, 3, 9, 13, 21, 21, 47,
    2).reshape((1, 1, 2, 2, 2))
GluGrad(-1) | g(2, 3), f(2, 6)
GluGrad(0) | g(2, 3), f(4, 3)
GroupNormGrad() | g(2, 4, 3), f(2, 4, 3), f(2, 2), p(2, 2), f(4), 2, True, True, True
GroupNormGrad() | g(2, 4, 2, 2), f(2, 4, 2, 2), f(2, 4), p(2, 4), f(4), 4
IgammaGradA() | p(4) * 3, p(4)
IgammaGradA() | p(2, 1), p(3) * 4
InstanceNormV2Grad() | g(2, 3, 2, 2), f(2, 3, 2, 2), f(2, 3, 1, 1), f(2, 3, 1, 1), p(2, 3, 1, 1), g(2, 3, 1, 1), p(2,
    3, 1, 1)
InstanceNormV2Grad(False, 1e-3) | g(2, 3, 2, 2), f(2, 3, 2, 2), f(2, 3, 1, 1), f(2, 3, 1, 1), p(2, 3, 1, 1), g(2, 3,
    1, 1), p(2, 3, 1, 1) * 2
LayerNormGradGrad() | f(2, 4), g(2, 4), var(f(2, 4), 1), mean(f(2, 4), 1), f(4), p(2, 4), g(4), p(4)
LayerNormGradGrad(-1, -1) | f(2, 2, 4), g(2, 2, 4), var(f(2, 2, 4), 2), mean(f(2, 2, 4), 2), f(4), p(2, 2, 4), g(4),
    p(4)
LSTMGrad(3, 2, 1, True, False, 0.0) | *lstm((3, 2, 1, True, False), f(4, 2, 3), f(1, 2, 2), g(1, 2, 2), f(48, 1, 1)),
    g(4, 2, 2), g(1, 2, 2), p(1, 2, 2), spare((3, 2, 1, True, False), f(4, 2, 3), f(1, 2, 2), g(1, 2, 2), f(48, 1, 1))
LSTMGrad(3, 2, 1, False, True, 0.0) | *lstm((3, 2, 1, False, True), f(4, 2, 3), f(2, 2, 2), g(2, 2, 2), f(80, 1, 1)),
    g(4, 2, 4), g(2, 2, 2), p(2, 2, 2), spare((3, 2, 1, False, True), f(4, 2, 3), f(2, 2, 2), g(2, 2, 2), f(80, 1, 1))
LstsqV2Grad() | g(3, 2), tall(4, 3), f(4, 2)
LstsqV2Grad() | g(3, 1).astype("float64"), tall(4, 3).astype("float64"), f(4, 1).astype("float64")
LuUnpackGrad(True, True) | g(3, 3), f(3, 3), f(3, 3)
LuUnpackGrad(True, True) | g(2, 4, 3), f(2, 3, 3), f(2, 4, 3)
LuUnpackGrad(False, True) | g(3, 3), f(3, 3), f(3, 3)
LuUnpackGrad(True, False) | g(3, 3), f(3, 5), f(3, 5)
MaskedSelectGrad() | f(2, 3), truth(2, 3), g(4)
MaskedSelectGrad() | f(2, 3), truth(3), g(4)
MaximumGradGrad() | f(2, 3), g(2, 3), g(2, 3), p(2, 3)
MaximumGradGrad() | f(2, 3), f(2, 3), g(2, 3), p(2, 3)
MinimumGradGrad() | f(2, 3), g(2, 3), g(2, 3), p(2, 3)
MaximumGrad(False, True) | f(2, 3), g(2, 3), p(2, 3)
MinimumGrad(True, False) | f(2, 3), g(3), p(2, 3)
MaxPoolGradGrad(2, 2) | f(2, 3, 4, 4), MaxPool(2, 2)(f(2, 3, 4, 4)), g(2, 3, 4, 4)
MaxPoolGradGrad((2, 3), (1, 2), "SAME") | f(1, 2, 4, 5), MaxPool((2, 3), (1, 2), "SAME")(f(1, 2, 4, 5)), g(1, 2, 4, 5)
MaxPoolGradGrad((1, 1, 2, 2), (1, 1, 2, 2)) | f(1, 2, 4, 4), MaxPool(2, 2)(f(1, 2, 4, 4)), g(1, 2, 4, 4)
MaxPool3DGradGrad(2, 2) | f(1, 2, 4, 4, 4), MaxPool3D(2, 2)(f(1, 2, 4, 4, 4)), g(1, 2, 4, 4, 4)
MaxPool3DGradGrad((1, 1, 2, 1, 2), (1, 1, 1, 1, 2), "SAME") | f(1, 1, 3, 2, 4), MaxPool3D((2, 1, 2), (1, 1, 2),
    "SAME")(f(1, 1, 3, 2, 4)), g(1, 1, 3, 2, 4)
MaxPool3DGradWithArgmax(2, 2, 0) | f(1, 2, 4, 4, 4), g(1, 2, 2, 2, 2), MaxPool3DWithArgmax(2, 2, 0)(f(1, 2, 4, 4,
    4))[1]
MaxPool3DGradWithArgmax((2, 1, 2), (1, 1, 2), (1, 0, 1)) | f(1, 1, 2, 3, 4), g(1, 1, 3, 3, 3), MaxPool3DWithArgmax((2,
    1, 2), (1, 1, 2), (1, 0, 1))(f(1, 1, 2, 3, 4))[1]
MaxPoolGradWithArgmaxV2(2, 2) | f(2, 3, 4, 4), g(2, 3, 2, 2), MaxPoolWithArgmaxV2(2, 2)(f(2, 3, 4, 4))[1]
MaxPoolGradWithArgmaxV2((2, 3), (2, 1), (1, 1), (1, 1), True) | f(2, 3, 4, 4), g(2, 3, 3, 4), MaxPoolWithArgmaxV2((2,
    3), (2, 1), (1, 1), (1, 1), True)(f(2, 3, 4, 4))[1]
MaxPoolGradGradWithArgmax(2, 2) | f(2, 3, 4, 4), g(2, 3, 4, 4), MaxPoolWithArgmaxV2(2, 2)(f(2, 3, 4, 4))[1]
MaxPoolGradGradWithArgmax(3, 2, "SAME") | f(1, 2, 4, 4), g(1, 2, 4, 4), i(5, 6, 10, 11, 0, 3, 12, 15).reshape((1, 2,
    2, 2))
MaxUnpool2DGrad((1, 1, 2, 2), (1, 1, 2, 2), (0, 0, 0, 0)) | f(1, 2, 2, 2), g(1, 2, 4, 4), l(0, 3, 9, 13, 1, 1, 15,
    2).reshape((1, 2, 2, 2))
MaxUnpool2DGrad((1, 1, 2, 2), (1, 1, 2, 2), (0, 0, 0, 0), (1, 2, 5, 4)) | f(1, 2, 2, 2), g(1, 2, 5, 4), l(0, 3, 9, 13,
    1, 1, 15, 2).reshape((1, 2, 2, 2))
MaxUnpool3DGrad((1, 1, 2, 2, 2), (1, 1, 2, 2, 2), (0, 0, 0, 0, 0)) | f(1, 1, 2, 2, 2), g(1, 1, 4, 4, 4), l(0, 3, 9,
    13, 63, 1, 15, 2).reshape((1, 1, 2, 2, 2))
MedianGrad(False, 1, False) | g(2), f(2, 3), *Median(False, 1, False)(f(2, 3))
MedianGrad(False, 0, True) | g(1, 5), f(4, 5), *Median(False, 0, True)(f(4, 5))
MedianGrad(True) | g(1)[0], f(2, 3), *Median(True)(f(2, 3))
MedianGrad(True) | g(1)[0], i(3, 1, 3, 7, 3).astype("float32"), *Median(True)(i(3, 1, 3, 7, 3).astype("float32"))
MedianGrad(False, 0) | g(1)[0], i(3, 1, 3, 7, 3).astype("float64"), *Median(False, 0)(i(3, 1, 3, 7,
    3).astype("float64"))
MvlgammaGrad(2) | g(2, 3), p(2, 3) + 2
PadV3Grad("reflect") | g(1, 2, 6, 6), l(1, 1, 1, 1)
PadV3Grad("edge") | g(1, 2, 6, 6), l(2, 1, 1, 1)
PadV3Grad("circular") | g(1, 2, 6, 6), l(1, 1, 2, 1)
PadV3Grad("reflect", False) | g(1, 2, 6, 7), l(1, 1, 2, 1)
PadV3Grad("reflect") | g(2, 3, 6), l(1, 2)
PadV3Grad("edge") | g(1, 1, 4, 4, 4), l(1, 1, 1, 0, 0, 1)
PdistGrad(2.0) | g(6), f(4, 3), Pdist(2.0)(f(4, 3))
PdistGrad(1.0) | g(6), f(4, 3), Pdist(1.0)(f(4, 3))
PdistGrad(3.0) | g(6), f(4, 3), Pdist(3.0)(f(4, 3))
PdistGrad(0.5) | g(6), f(4, 3), Pdist(0.5)(f(4, 3))
PdistGrad(0.0) | g(6), f(4, 3), Pdist(0.0)(f(4, 3))
PdistGrad(inf) | g(6), f(4, 3), Pdist(inf)(f(4, 3))
PdistGrad(inf) | g(3), ties(3, 4), Pdist(inf)(ties(3, 4))
PdistGrad(0.5) | g(3), ties(3, 4), Pdist(0.5)(ties(3, 4))
PSROIPoolingGrad((4, 4), 1.0, 2, 2) | g(2, 2, 2, 2), f(1, 5, 2) * 0 + T([[[0.0, 0], [0, 1], [0, 1], [3, 2], [3, 3]]])
PSROIPoolingGrad((5, 6), 0.5, 2, 1) | g(2, 1, 2, 2), T([[[0.0], [0], [2], [7], [9]], [[1.0], [1], [1], [8], [4]]])
ResizeLinear1DGrad() | g(2, 3, 6), f(2, 3, 4)
ResizeLinear1DGrad("half_pixel") | g(2, 3, 6), f(2, 3, 4)
ResizeNearestNeighborV2Grad() | g(1, 2, 6, 5), l(4, 3)
ResizeNearestNeighborV2Grad(True) | g(1, 2, 6, 5), (4, 3)
ResizeNearestNeighborV2Grad(False, True) | g(1, 2, 3, 5), l(4, 3)
ResizeV2Grad() | g(1, 3, 1, 6), f(8), f(4), l(1, 3, 1, 3)
ResizeV2Grad("align_corners") | g(1, 3, 1, 7), f(8), f(4), l(1, 3, 1, 3)
ResizeV2Grad("half_pixel", "linear") | g(1, 3, 1, 5), f(8), f(4), l(1, 3, 1, 3)
ResizeV2Grad("align_corners", "linear") | g(1, 3, 1, 5), f(8), f(4), l(1, 3, 1, 3)
ResizeV2Grad("half_pixel", "cubic") | g(1, 2, 6, 5), f(8), f(4), l(1, 2, 4, 3)
ResizeV2Grad("align_corners", "cubic") | g(1, 2, 6, 5), f(8), f(4), l(1, 2, 4, 3)
ROIAlignGrad(2, 2, 0.5, 2) | g(2, 2, 2, 2), T([[0.0, 1, 1, 5, 6], [0, 0, 2, 7, 3]]), (1, 2, 4, 4)
ROIAlignGrad(1, 3, 1.0, 3) | g(1, 2, 1, 3), T([[0.0, 1, 1, 3, 3]]), (1, 2, 4, 4)
ScaleAndTranslateGrad("triangle") | g(1, 2, 3, 2), f(1, 4, 4, 2), p(2) + 0.5, f(2)
ScaleAndTranslateGrad() | g(1, 5, 3, 1), f(1, 4, 4, 1), p(2) + 0.5, f(2)
ScaleAndTranslateGrad("keyscubic", False) | g(1, 2, 3, 1), f(1, 4, 4, 1), p(2) * 0.4 + 0.1, f(2)
SparseFillEmptyRowsGrad() | l(0, 2), g(3)
SparseFillEmptyRowsGrad() | l(3, 1, 0), g(5)
SparseSegmentMeanGrad() | g(2, 3), i(0, 2, 3), i(0, 0, 1), scalar(4)
SparseSegmentMeanGrad() | g(3, 2).astype("float64"), i(0, 2, 2, 1), i(0, 0, 0, 2), scalar(5)
SparseSegmentSqrtNGrad() | g(2, 3), i(0, 2, 3), i(0, 0, 1), scalar(4)
SparseSliceGrad() | g(2), l([0, 0], [1, 1], [1, 2]), l(0, 1), l([1, 0], [1, 1])
SparseSliceGrad() | g(2), l([0, 0], [1, 1], [1, 2], [2, 0]), l(0, 0), l([0, 0], [1, 2])
TraceGrad() | g(1)[0], l(2, 3)
TraceV2Grad() | g(1)[0], l(2, 3)
TraceV2Grad() | g(2), l(2, 3, 4), 1, 1, 2
TraceV2Grad() | g(2), l(3, 2, 4), -1, 0, 2
UpsampleNearest1DGrad() | g(1, 2, 5), (1, 2, 3), (5,), None
UpsampleNearest1DGrad() | g(1, 2, 4), (1, 2, 3), None, (1.5,)
UpsampleNearest2DGrad() | g(1, 2, 5, 4), (1, 2, 3, 3), (5, 4), None
UpsampleNearest2DGrad() | g(1, 2, 4, 5), (1, 2, 3, 3), None, (1.5, 1.7)
UpsampleNearest3DGrad() | g(1, 1, 4, 2, 5), (1, 1, 2, 3, 3), (4, 2, 5)
UpsampleNearest3DGrad() | g(1, 1, 4, 4, 5), (1, 1, 2, 3, 3), None, (2.0, 1.5, 1.7)
UpsampleTrilinear3DGrad() | g(1, 1, 4, 2, 5), (1, 1, 2, 3, 3), (4, 2, 5)
UpsampleTrilinear3DGrad(True) | g(1, 1, 4, 2, 5), (1, 1, 2, 3, 3), (4, 2, 5)
UpsampleTrilinear3DGrad() | g(1, 1, 4, 4, 5), (1, 1, 2, 3, 3), None, (2.0, 1.5, 1.7)
AbsGrad() | f(2, 3), g(2, 3)
ACosGrad() | f(2, 3), g(2, 3)
AcoshGrad() | p(2, 3), g(2, 3)
AsinGrad() | f(2, 3), g(2, 3)
AsinhGrad() | f(2, 3), g(2, 3)
AtanGrad() | f(2, 3), g(2, 3)
AvgPoolGrad(2, 2) | f(1, 2, 4, 4), g(1, 2, 2, 2), g(1, 2, 2, 2)
BatchNormGrad(True) | g(2, 3, 2, 2), f(2, 3, 2, 2), f(3), mean(f(2, 3, 2, 2)), var(f(2, 3, 2, 2)), g(3)
BatchNormGrad(False) | g(2, 3, 2, 2), f(2, 3, 2, 2), f(3), f(3), p(3), g(3)
BinaryCrossEntropyGrad("mean") | p(2, 3) * 0.8, p(3, 2).reshape((2, 3)) * 0.5, g(1)[0], p(2, 3)
BinaryCrossEntropyGrad("none") | p(2, 3) * 0.8, p(3, 2).reshape((2, 3)) * 0.5, g(2, 3), p(2, 3)
Conv2DBackpropFilter(2, 2, "pad", 0, (0, 0, 0, 0), 1, (1, 1)) | g(1, 2, 3, 3), f(1, 2, 4, 4), (2, 2, 2, 2)
Conv2DBackpropInput(2, 2) | g(1, 2, 3, 3), f(2, 2, 2, 2), (1, 2, 4, 4)
DropoutGrad(0.4) | g(2, 3), truth(2, 3).astype("float32")
EluGrad() | g(2, 3), f(2, 3)
FastGeLUGrad() | g(2, 3), f(2, 3)
FlattenGrad() | g(2, 6), (2, 3, 2)
GatherDGradV2() | f(2, 3), 1, i([0, 1], [2, 2]), g(2, 2)
GeLUGrad() | g(2, 3), f(2, 3), f(2, 3)
HShrinkGrad(0.5) | g(2, 3), f(2, 3)
HSigmoidGrad() | g(2, 3), f(2, 3) * 4
HSwishGrad() | g(2, 3), f(2, 3) * 4
InvGrad() | p(2, 3), g(2, 3)
KLDivLossGrad("mean") | g(1)[0], f(2, 3), p(2, 3)
KLDivLossGrad("batchmean") | g(1)[0], f(2, 3), p(2, 3)
KLDivLossGrad("none") | g(2, 3), f(2, 3), p(2, 3)
L2NormalizeGrad(1, 1e-4) | f(2, 3), L2Normalize(1, 1e-4)(f(2, 3)), g(2, 3)
LayerNormGrad() | f(2, 4), g(2, 4), var(f(2, 4), 1), mean(f(2, 4), 1), f(4)
LayerNormGrad() | f(2, 4) * 0.0001, g(2, 4), var(f(2, 4) * 0.0001, 1), mean(f(2, 4) * 0.0001, 1), f(4)
LayerNormGrad() | f(2, 4), g(2, 4), p(2, 1), f(2, 1), f(4)
LayerNormGradGrad() | f(2, 4) * 0.0001, g(2, 4), var(f(2, 4) * 0.0001, 1), mean(f(2, 4) * 0.0001, 1), f(4), p(2, 4),
    g(4), p(4)
LayerNormGrad(-1, -1) | f(2, 2, 4), g(2, 2, 4), var(f(2, 2, 4), 2), mean(f(2, 2, 4), 2), f(4)
LogitGrad() | g(2, 3), p(2, 3) * 0.8
LogitGrad(0.2) | g(2, 3), p(2, 3) * 0.8
LogitGrad() | g(5), T([-0.5, 0.0, 0.3, 1.0, 1.5])
LogitGrad(0.1) | g(5), T([0.05, 0.1, 0.3, 0.9, 0.95])
LogSoftmaxGrad() | f(2, 3), g(2, 3)
LogSoftmaxGrad(0) | f(2, 3), g(2, 3)
LRNGrad() | g(1, 4, 2, 2), f(1, 4, 2, 2), LRN()(f(1, 4, 2, 2))
MaxPoolGrad(2, 2) | f(1, 2, 4, 4), MaxPool(2, 2)(f(1, 2, 4, 4)), g(1, 2, 2, 2)
MaxPoolGrad((2, 3), (1, 2), "SAME") | f(1, 2, 4, 5), MaxPool((2, 3), (1, 2), "SAME")(f(1, 2, 4, 5)), g(1, 2, 4, 3)
MaxPool3DGrad((1, 1, 2, 2, 2), (1, 1, 2, 2, 2), "VALID", 0) | f(1, 2, 4, 4, 4), MaxPool3D(2, 2)(f(1, 2, 4, 4, 4)),
    g(1, 2, 2, 2, 2)
MaximumGrad() | f(2, 3), g(2, 3), p(2, 3)
MinimumGrad() | f(2, 3), g(2, 3), p(2, 3)
MultiMarginLossGrad() | g(1)[0], f(2, 3), l(1, 0), p(3)
NLLLossGrad("sum") | f(2, 3), g(1)[0], i(0, 2), p(3), p(1)[0]
NLLLossGrad("none") | f(2, 3), g(2), i(0, 2), p(3), p(1)[0]
PReLUGrad() | g(2, 3, 4), f(2, 3, 4), f(3)
ReciprocalGrad() | p(2, 3), g(2, 3)
ReluGrad() | g(2, 3), f(2, 3)
ReLU6Grad() | g(2, 3), f(2, 3) * 8
ResizeBicubicGrad() | g(1, 2, 5, 6), f(1, 2, 3, 4)
ResizeBicubicGrad(False, True) | g(1, 2, 5, 6), f(1, 2, 3, 4)
ResizeBilinearGrad() | g(1, 2, 5, 6), f(1, 2, 3, 4)
ResizeBilinearGrad(False, True) | g(1, 2, 5, 6), f(1, 2, 3, 4)
ResizeNearestNeighborGrad() | g(1, 2, 5, 6), (3, 4)
RsqrtGrad() | p(2, 3), g(2, 3)
SigmoidCrossEntropyWithLogitsGrad() | f(2, 3), p(2, 3), g(2, 3)
SigmoidGrad() | p(2, 3), g(2, 3)
SiLUGrad() | g(2, 3), f(2, 3)
SmoothL1LossGrad(0.5, "mean") | f(2, 3), g(2, 3), g(1)[0]
SmoothL1LossGrad(0.5, "none") | f(2, 3), g(2, 3), p(2, 3)
SoftplusGrad() | g(2, 3), f(2, 3)
SoftShrinkGrad(0.5) | g(2, 3), f(2, 3)
SqrtGrad() | p(2, 3), g(2, 3)
StridedSliceGrad() | g(1, 2), (2, 3), (0, 0), (1, 2), (1, 1)
SliceGrad() | g(1, 2), f(2, 3), (0, 1), (1, 2)
TanhGrad() | f(2, 3), g(2, 3)
MirrorPadGrad("SYMMETRIC") | g(4, 5), l([1, 1], [1, 1])
adaptive_max_pool2d_grad | g(2, 2, 2, 3), f(2, 2, 4, 5), AdaptiveMaxPool2D((2, 3))(f(2, 2, 4, 5))[1]
add_ext | f(2, 3), g(2, 3), 2
add_ext | i(2, 3), i(4, 5)
add_ext | i(2, 3), f(2), 0.5
as_strided | f(2, 3), (2, 2), (1, 2), 1
as_strided | f(2, 3), (3,), (1,)
bmm_ext | f(2, 3, 4), g(2, 4, 3)
broadcast_to_view | f(1, 3), (2, 3)
broadcast_to_view | f(1, 3), (2, -1, 3)
cast_op | f(2, 3), float16
cast_op | f(2, 3) * 3, int64
clamp_scalar | f(2, 3), 0.0, 0.5
clamp_scalar | f(2, 3), None, 0.5
clamp_scalar | i(2, 5), 3
clamp_tensor | f(2, 3), g(2, 3), p(2, 3)
clamp_tensor | f(2, 3), None, p(3)
contiguous | f(2, 3)
copy | f(2, 3)
correlate | f(5), f(3)
correlate | f(3), f(5), "same"
correlate | f(5), f(3), "full"
correlate | i(5, 2, 3), i(3, 1)
divs | f(2, 3), 2.0
divs | i(2, 3), 2
flatten_ext | f(2, 3, 4)
flatten_ext | f(2, 3, 4), 1
gather_nd_ext | f(2, 3), l([0, 1], [1, 2])
inplace_copy | f(2, 3), g(3)
inplace_copy | i(2, 3), f(2)
matmul_ext | f(2, 3), f(3, 2)
matmul_ext | f(3), f(2, 3, 4)
max_ | f(2, 3)
max_ | i(2, 3)
min_ | f(2, 3)
narrow_view | f(2, 3), 1, 1, 2
prod_ext | f(2, 3)
prod_ext | f(2, 3), 1, True
prod_ext | i(2, 3), 0
prod_ext | f(2, 3), 1, False, float64
scalar_to_tensor_op | 2.5
scalar_to_tensor_op | 2, int64
select_ext_view | f(2, 3), 1, -1
softplus_ext | f(2, 3)
softplus_ext | f(2, 3), 2, 0.5
softshrink_grad | g(2, 3), f(2, 3)
softshrink_grad | g(2, 3), f(2, 3), 0.7
solve_triangular | tall(3, 3), f(3, 2)
solve_triangular | tall(3, 3), f(3), 1, True, True
sub_ext | f(2, 3), g(2, 3), 2
sub_ext | 2.0, g(2, 3)
sum_ext | f(2, 3)
sum_ext | i(2, 3)
sum_ext | f(2, 3), (0, 1), True
sum_ext | truth(2, 3), 1
sum_ext | f(2, 3), 0, False, float64
t_ext | f(2, 3)
t_ext | f(3)
transpose_ext_view | f(2, 3, 4), 0, 2
transpose_view | f(2, 3, 4), (2, 0, 1)
tuple_to_tensor | (1, 2)
tuple_to_tensor | (1.5, 2.0)
tuple_to_tensor | (1, 2), float32
view | f(2, 3), (3, 2)
view | f(2, 3), (-1,)
flip | f(2, 3), (0,)
narrow | f(2, 3), 1, 0, 2
smooth_l1_loss | f(2, 3), g(2, 3)
smooth_l1_loss | f(2, 3), g(2, 3), 0.5, "mean"
tensor_scatter_elements | f(2, 3), l([0, 1, 0]), g(1, 3), 0, "add"
AddExt() | f(2, 3), g(2, 3), 2
AsStrided() | f(2, 3), (2, 2), (1, 2), 1
BatchMatMulExt() | f(2, 3, 4), g(2, 4, 3)
BroadcastToView() | f(1, 3), (2, 3)
Chunk() | f(5, 3), 2
Chunk() | f(2, 3), 2, 1
ClampScalar() | f(2, 3), 0.0, 0.5
ClampTensor() | f(2, 3), g(2, 3), p(2, 3)
Contiguous() | f(2, 3)
Copy() | f(2, 3)
Correlate() | f(5), f(3)
Correlate("full") | f(5), f(3)
Diagonal() | f(2, 3)
Diagonal(1, 2, 1) | f(2, 3, 4)
Divs() | f(2, 3), 2.0
ExpandAs() | f(1, 3), f(2, 3)
FFTFreq() | 4, 2.0, float32
FFTShift() | f(2, 5)
FFTShift() | f(2, 5), 1
FlattenExt() | f(2, 3, 4), 1
GatherNdExt() | f(2, 3), l([0, 1], [1, 2])
GroupNorm() | f(2, 4, 3), 2, f(4), g(4)
GroupNorm() | f(2, 4, 2, 2), 4, f(4), g(4), 0.1
HFFT() | f(4)
HFFT() | f(4), 5, -1, "forward"
IFFTShift() | f(5)
IRFFT() | f(2, 4), 5, 0
InplaceCopy() | f(2, 3), g(3)
Lerp() | f(2, 3), g(2, 3), p(2, 3)
MatMulExt() | f(2, 3), f(3, 2)
Max() | f(2, 3)
MaxDim() | f(2, 3), 0
MaxDim() | f(2, 3), 1, True
Min() | f(2, 3)
MinDim() | f(2, 3), 0
Narrow() | f(2, 3), 1, 1, 2
NarrowView() | f(2, 3), 1, 0, 2
NewOnes() | f(2, 3), (2, 2)
NewZeros() | f(2, 3), (2, 2), int64
PixelShuffle() | f(1, 4, 2, 2), 2
PowTensorScalar() | f(2, 3), 2.0
PowTensorScalar() | i(2, 3), 2
ProdExt() | f(2, 3), 1, True
RFFTFreq() | 5, 1.0, float32
SelectExtView() | f(2, 3), 1, -1
SliceExt() | f(4, 3), 0, 1, 4, 2
SliceExt() | f(4, 3), 1, -2, 9, 1
SoftplusExt() | f(2, 3), 2, 0.5
SolveTriangular() | tall(3, 3), f(3, 2), 1, True
SplitTensor() | f(5, 3), 2
SubExt() | f(2, 3), g(2, 3), 2
SumExt() | f(2, 3), (0,), True
TExt() | f(2, 3)
TraceV2() | f(2, 3)
TraceV2() | f(2, 3, 4), 1, 1, 2
TraceV2() | i([1, 2], [3, 4])
TransposeExtView() | f(2, 3, 4), 0, 2
TransposeView() | f(2, 3, 4), (2, 0, 1)
TupleToTensor() | (1, 2), int64
UpsampleNearest1D() | f(1, 2, 3), (5,)
UpsampleNearest1D() | f(1, 2, 3), None, (1.5,)
UpsampleNearest2D() | f(1, 2, 3, 3), (5, 4)
UpsampleNearest2D() | f(1, 2, 3, 3), None, (1.5, 1.7)
View() | f(2, 3), (3, 2)
ViewAs() | f(2, 3), f(3, 2)
ClipByNorm() | f(2, 3), T([1.0])
ClipByNorm((0, 1)) | f(2, 3), p(2, 3)
ClipByNorm() | f(2, 3).astype("float16"), T([0.5])
ClipByNorm() | i(0, 0).astype("float32"), T([0.0])
DynamicBroadcastGradientArgs() | (2, 3), (3,)
DynamicBroadcastGradientArgs() | l(2, 1, 4), l(1, 3, 4)
DynamicBroadcastGradientArgs() | l(2, 3), l(2, 3)
DynamicBroadcastTo() | f(1, 3), (2, 3)
DynamicBroadcastTo() | i(1, 3), l(4, 2)
MixedPrecisionCast() | float16, f(2, 3)
SameTypeShape() | f(2, 3), g(2, 3)
view_dtype | f(2, 3), int32
view_dtype | i(2, 3), float32
"""
CASES = lines(TEXT)


def main() -> None:
    """Record all cases."""
    import mindspore as ms
    from mindspore import ops
    from mindspore.ops.auto_generate import gen_ops_def, gen_ops_prim
    from mindspore.ops.operations import _grad_ops, _inner_ops, nn_ops

    ms.set_context(mode=ms.PYNATIVE_MODE)
    names = Names(ms.Tensor, [_grad_ops, gen_ops_prim, gen_ops_def, ops, nn_ops, _inner_ops, ms])
    record_cases(CASES, names, sys.argv[1])


if __name__ == "__main__":
    main()
