"""MindSpore in graph mode on the CPU.

`TrainOneStepWithLossScaleCell` asks for an NPU operator there and fails. The two switches that `build` sets make it
look at the gradients with IsFinite instead, which has CPU kernels; without them there would be no number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mindspore as ms
from cells import training_cell
from mindspore import Tensor, nn, ops
from workloads import EPS, Array

ms.set_context(mode=ms.GRAPH_MODE, device_target="CPU")


class AdamW(nn.Optimizer):
    """AdamW with corrected moments, by MindSpore's fused operator, which does not correct them.

    With a = sqrt(1 - beta2^t), c = a / (1 - beta1^t): lr * m / (1 - beta1^t) / (sqrt(v) / a + eps) is
    lr * c * m / (sqrt(v) + eps * a), so rate, eps and decay of the operator depend on the step t.
    """

    def __init__(self, parameters: Any, rate: float, betas: tuple[float, float], weight_decay: float) -> None:
        super().__init__(rate, parameters)
        self.rate, self.decay = rate, weight_decay
        self.beta1, self.beta2 = betas
        self.first, self.second = (self._parameters.clone(prefix, init="zeros") for prefix in ("adam_m", "adam_v"))
        self.fused = ops.AdamWeightDecay()
        self.t = ms.Parameter(Tensor(0.0, ms.float32), name="adam_t")

    def construct(self, gradients: Any) -> Any:
        t = ops.assign_add(self.t, Tensor(1.0, ms.float32))
        a = ops.sqrt(1 - ops.pow(Tensor(self.beta2, ms.float32), t))
        c = a / (1 - ops.pow(Tensor(self.beta1, ms.float32), t))
        done = ()
        for i in range(len(gradients)):
            w, m, v = self._parameters[i], self.first[i], self.second[i]
            rate, eps, decay = self.rate * c, EPS * a, self.decay / c
            done += (self.fused(w, m, v, rate, self.beta1, self.beta2, eps, decay, gradients[i]),)
        return done


def version() -> str:
    return f"mindspore {ms.__version__}"


class _Nothing(nn.Cell):
    def construct(self, x: Any) -> Any:
        return x + 1


def start() -> None:
    _Nothing()(Tensor([1.0])).asnumpy()


def build(workload: str, variant: str, weights: dict[str, Array], x: Array, y: Array) -> Callable[[], Any]:
    cell = training_cell(workload, variant, weights, AdamW)
    if variant == "scaled":
        cell.ascend_910b_target, cell.enable_allfinite = True, False
    inputs = Tensor(x), Tensor(y)

    def compile() -> Callable[..., float]:
        if variant == "scaled":
            return lambda *fresh: float(cell(*(map(Tensor, fresh) if fresh else inputs))[0].asnumpy())
        return lambda *fresh: float(cell(*(map(Tensor, fresh) if fresh else inputs)).asnumpy())

    return compile
