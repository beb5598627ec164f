"""Calls of gradients of primitives: name -> (P: where the primitives are, f: floats of a shape, t: integers) -> results.

Imports neither graphc nor MindSpore: what MindSpore makes of them is in test_pulled.py.
"""

PLANES = (2, 3, 6, 6)
CASES = {
    "StridedSliceGrad": lambda P, f, t: P.StridedSliceGrad()(f(1, 2), (2, 3), (0, 0), (1, 2), (1, 1)),
    "SliceGrad": lambda P, f, t: P.SliceGrad()(f(1, 2), f(2, 3), (0, 1), (1, 2)),
    "MaxPoolGrad": lambda P, f, t: P.MaxPoolGrad(3, 2, "SAME")(f(*PLANES), f(2, 3, 3, 3), f(2, 3, 3, 3)),
    "AvgPoolGrad": lambda P, f, t: P.AvgPoolGrad(2, 2)(f(*PLANES), f(2, 3, 3, 3), f(2, 3, 3, 3)),
    "MaxPoolGradWithArgmax": lambda P, f, t: P.MaxPoolGradWithArgmax(2, 2)(
        f(*PLANES), f(2, 3, 3, 3), P.MaxPoolWithArgmax(2, 2)(f(*PLANES))[1]
    ),
    "AvgPool3DGrad": lambda P, f, t: P.AvgPool3DGrad(2, 2)((2, 3, 4, 4, 4), f(2, 3, 2, 2, 2)),
    "Conv2DBackpropFilter": lambda P, f, t: P.Conv2DBackpropFilter(4, 3, "pad", 1, (1, 1, 1, 1), 1, (1, 1))(
        f(2, 4, 6, 6), f(*PLANES), (4, 3, 3, 3)
    ),
    "LayerNormGrad": lambda P, f, t: P.LayerNormGrad(-1, -1)(
        f(2, 3, 8), f(3, 2, 8).reshape((2, 3, 8)), f(2, 3, 8).var(2, keepdims=True), f(2, 3, 8).mean(2, True), f(8)
    ),
    "BatchNormGrad": lambda P, f, t: P.BatchNormGrad(True)(
        f(2, 3, 4, 4),
        f(4, 4, 2, 3).reshape((2, 3, 4, 4)),
        f(3),
        *P.BatchNorm(True)(f(4, 4, 2, 3).reshape((2, 3, 4, 4)), f(3), f(3), f(3), f(3) ** 2)[3:5],
        f(3),
    ),
    "BatchNormGrad, evaluation": lambda P, f, t: P.BatchNormGrad(False)(
        f(2, 3, 4, 4), f(4, 4, 2, 3).reshape((2, 3, 4, 4)), f(3), f(3), f(3) ** 2, f(3)
    ),
    "DropoutGrad": lambda P, f, t: P.DropoutGrad(0.5)(f(2, 3), (f(2, 3) > 0).astype(f(1).dtype)),
    "GeLUGrad": lambda P, f, t: P.GeLUGrad()(f(2, 3), f(3, 2).reshape((2, 3)), f(2, 3)),
    "FastGeLUGrad": lambda P, f, t: P.FastGeLUGrad()(f(2, 3), f(3, 2).reshape((2, 3))),
    "HShrinkGrad": lambda P, f, t: P.HShrinkGrad(0.5)(f(2, 3), f(3, 2).reshape((2, 3))),
    "SoftShrinkGrad": lambda P, f, t: P.SoftShrinkGrad(0.5)(f(2, 3), f(3, 2).reshape((2, 3))),
    "HSwishGrad": lambda P, f, t: P.HSwishGrad()(f(2, 3), f(3, 2).reshape((2, 3)) * 4),
    "LogitGrad": lambda P, f, t: P.LogitGrad()(f(2, 3), f(3, 2).reshape((2, 3)) * 0.3 + 0.5),
    "PReLUGrad": lambda P, f, t: P.PReLUGrad()(f(2, 3, 4), f(4, 3, 2).reshape((2, 3, 4)), f(3)),
    "SmoothL1LossGrad": lambda P, f, t: P.SmoothL1LossGrad(1.0, "none")(f(2, 3) * 2, f(3, 2).reshape((2, 3)), f(2, 3)),
    "BinaryCrossEntropyGrad": lambda P, f, t: P.BinaryCrossEntropyGrad("mean")(
        f(2, 3) * 0.3 + 0.5, f(3, 2).reshape((2, 3)) ** 2, f(1)[0], f(2, 3) ** 2
    ),
    "KLDivLossGrad": lambda P, f, t: P.KLDivLossGrad("mean")(f(1)[0], f(2, 3), f(3, 2).reshape((2, 3)) ** 2),
    "NLLLossGrad": lambda P, f, t: P.NLLLossGrad("mean")(f(2, 3), f(1)[0], t(0, 2), f(3) ** 2, f(2)[1] + 2),
    "MultiMarginLossGrad": lambda P, f, t: P.MultiMarginLossGrad()(
        f(1)[0], f(2, 3), t(1, 0).astype("int64"), f(3) ** 2
    ),
    "L2NormalizeGrad": lambda P, f, t: P.L2NormalizeGrad(1, 1e-4)(
        f(2, 3), P.L2Normalize(1, 1e-4)(f(2, 3)), f(3, 2).reshape((2, 3))
    ),
    "LRNGrad": lambda P, f, t: P.LRNGrad()(f(2, 5, 3, 3), f(3, 3, 2, 5).reshape((2, 5, 3, 3)), f(2, 5, 3, 3)),
    "MirrorPadGrad": lambda P, f, t: P.MirrorPadGrad("REFLECT")(f(4, 5), t(1, 1, 1, 1).reshape((2, 2)).astype("int64")),
    "MaximumGrad": lambda P, f, t: P.MaximumGrad()(f(2, 3), f(3, 2).reshape((2, 3)), f(2, 3)),
    "MinimumGrad": lambda P, f, t: P.MinimumGrad()(f(2, 3), f(3, 2).reshape((2, 3)), f(2, 3)),
    "GatherDGradV2": lambda P, f, t: P.GatherDGradV2()(f(2, 3), 1, t(0, 1, 2, 2).reshape((2, 2)), f(2, 2)),
    "ResizeBilinearGrad": lambda P, f, t: P.ResizeBilinearGrad(True)(f(2, 3, 9, 8), f(*PLANES)),
    "ResizeNearestNeighborGrad": lambda P, f, t: P.ResizeNearestNeighborGrad(True)(f(2, 3, 9, 8), (6, 6)),
    "ResizeBicubicGrad": lambda P, f, t: P.ResizeBicubicGrad()(f(2, 3, 9, 8), f(*PLANES)),
    "GridSampler2DGrad": lambda P, f, t: P.GridSampler2DGrad()(f(2, 3, 4, 4), f(*PLANES), f(2, 4, 4, 2)),
}


def digest(results, np):
    """(shape, sum, a sum with weights) of each result."""
    found = []
    for x in results if isinstance(results, (tuple, list)) else (results,):
        a = x.asnumpy().astype(np.float64)
        found.append(
            (a.shape, round(float(a.sum()), 4), round(float((a.ravel() * np.cos(np.arange(a.size))).sum()), 4))
        )
    return tuple(found)


def maker(tensor, np):
    """`f`: float32 tensors of a shape, the same in each call."""
    return lambda *shape: tensor(
        np.sin(1.7 * np.arange(np.prod(shape)) + 0.3 + shape[0]).reshape(shape).astype(np.float32)
    )
