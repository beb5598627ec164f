"""A training step, an optimizer and a schedule written for MindSpore, with the imports and the habits of MindFormers' files.

Imported with graphc under the name of MindSpore.
"""

from copy import deepcopy

import mindspore._checkparam as Rel
import mindspore._checkparam as validator
import mindspore.common.dtype as mstype
import numpy as np
from mindspore import ParallelMode, Parameter, ParameterTuple, mint, nn, ops
from mindspore.common import RowTensor
from mindspore.common.initializer import initializer
from mindspore.common.tensor import Tensor
from mindspore.communication import comm_func
from mindspore.communication.management import create_group, get_group_size, get_rank
from mindspore.nn.learning_rate_schedule import LearningRateSchedule
from mindspore.nn.optim.optimizer import Optimizer, opt_init_args_register
from mindspore.nn.wrap.cell_wrapper import _MicroBatch
from mindspore.ops import composite as C
from mindspore.ops import functional as F
from mindspore.ops import operations as P
from mindspore.ops.auto_generate import Scatter
from mindspore.parallel._auto_parallel_context import auto_parallel_context
from mindspore.parallel._utils import _get_enable_parallel_optimizer

unscale = C.MultitypeFuncGraph("unscale")
take = C.MultitypeFuncGraph("take")
energy = C.MultitypeFuncGraph("energy")
shrink = C.MultitypeFuncGraph("shrink")
move = C.MultitypeFuncGraph("move")
inverse, addcmul = P.Reciprocal(), P.Addcmul()
as_vector = P.ExpandDims().add_prim_attr("grad_scale", True)


@unscale.register("Tensor", "Tensor")
def _unscale(scale, grad):
    return F.cast(grad, mstype.float32) * inverse(scale)


@unscale.register("Tensor", "RowTensor")
def _unscale_rows(scale, grad):
    return RowTensor(grad.indices, grad.values * inverse(scale), grad.dense_shape)


@take.register("Tensor", "Tensor", "Tensor", "Tensor")
def _take(scale, count, grad, total):
    """The accumulated gradient, which is set to zeros after it has been read."""
    mean = F.depend(total, grad) / (scale * count)
    return F.depend(mean, F.assign(F.depend(total, mean), F.zeros_like(total)))


@energy.register("Tensor")
def _energy(x):
    return as_vector(P.ReduceSum(False)(F.square(x), ()), 0)


@shrink.register("Tensor", "Tensor", "Tensor")
def _shrink(limit, norm, x):
    lowest, highest = Tensor(float("-inf"), mstype.float32), Tensor(1.0, mstype.float32)
    return x * ops.clip_by_value(limit / norm, lowest, highest)


@move.register(
    "Tensor", "Tensor", "Tensor", "Tensor", "Tensor", "Tensor", "Tensor", "Tensor", "Tensor", "Tensor", "Bool"
)
def _move(beta1, beta2, eps, step, lr, decay, param, grad, m, v, chosen):
    if not chosen:
        return grad
    one = P.Cast()(F.tuple_to_array((1.0,)), mstype.float32)
    grad, weight = P.Cast()(grad, mstype.float32), P.Cast()(param, mstype.float32)
    first = F.assign(m, m + (grad - m) * (one - beta1))
    second = F.assign(v, addcmul(P.Mul()(v, beta2), grad, grad, one - beta2))
    first, second = first / (1 - P.Pow()(beta1, step)), second / (1 - P.Pow()(beta2, step))
    made = weight - lr * (decay * weight + first / (P.Sqrt()(second) + eps))
    return F.depend(made, F.assign(param, P.Cast()(made, F.dtype(param))))


class Clip(nn.Cell):
    def __init__(self, limit):
        super().__init__()
        validator.check_number("limit", limit, 0.0, Rel.GT, self.cls_name)
        self.limit = Tensor([limit], mstype.float32)
        self.hyper_map = C.HyperMap()
        self.at_least = P.GreaterEqual()

    def construct(self, x):
        norm = F.sqrt(F.addn(self.hyper_map(energy, x)))
        above = F.select(self.at_least(norm, self.limit), norm, self.limit)
        return self.hyper_map(F.partial(shrink, self.limit, above), x), norm


class Step(nn.TrainOneStepWithLossScaleCell):
    """Returns loss, overflow, scale, learning rate, norm, and the sums of squares of the gradients."""

    def __init__(self, network, optimizer, scale_sense=1.0, limit=None):
        if isinstance(scale_sense, (int, float)):
            scale_sense = Tensor(scale_sense)
        super().__init__(network, optimizer, scale_sense)
        self.clip = None if limit is None else Clip(limit)
        self.learning_rate = deepcopy(self.optimizer.learning_rate)
        self.concat = P.Concat()

    def rate(self):
        step = self.optimizer.global_step
        if not self.optimizer.dynamic_lr:
            return self.learning_rate
        last = self.learning_rate[-1] if self.optimizer.is_group_lr else self.learning_rate
        return last(step).reshape(())

    def construct(self, *inputs):
        loss = self.network(*inputs)
        status, scale = self.start_overflow_check(loss, self.scale_sense)
        sens = C.ones_like(loss) * F.cast(scale, F.dtype(loss))
        grads = self.hyper_map(F.partial(unscale, scale), self.grad(self.network, self.weights)(*inputs, sens))
        squares = self.concat(self.hyper_map(energy, grads))
        grads = self.grad_reducer(grads)
        overflow = self.process_loss_scale(self.get_overflow_status(status, grads))
        norm = None
        if self.clip is not None:
            grads, norm = self.clip(grads)
        rate = self.rate()
        if not overflow:
            loss = F.depend(loss, self.optimizer(grads))
        return loss, overflow, scale, rate, norm, squares


class Parts(nn.Cell):
    """The sums of a network's outputs over parts of the batch."""

    def __init__(self, network, count):
        super().__init__(auto_prefix=False)
        self.network = network
        self.parts, self.adds = nn.CellList(), []
        for i in range(count):
            part = _MicroBatch(count)
            part.strided_slice.add_prim_attr("number", i)
            self.parts.append(part)
            self.adds.append(P.Add().add_prim_attr("number", i))
        self._get_attr_from_cell(network)

    def construct(self, *inputs):
        sums = None
        for i in range(len(self.adds)):
            first, second = self.network(*self.parts[i](i, *inputs))
            sums = (first, second) if sums is None else (self.adds[i](sums[0], first), self.adds[i](sums[1], second))
        return sums


class AddedStep(nn.TrainOneStepWithLossScaleCell):
    """Takes the gradients from accumulators, which automatic parallel modes fill; clears no status."""

    def __init__(self, network, optimizer, scale_sense):
        super().__init__(network, optimizer, scale_sense)
        self.network.add_flags(defer_inline=True)
        self.weights = optimizer.parameters
        self.totals = self.weights.clone(prefix="accu_grads", init="zeros")
        self.status = Tensor([0] * 8, mstype.int32)
        if self.parallel_mode not in [ParallelMode.SEMI_AUTO_PARALLEL, ParallelMode.AUTO_PARALLEL]:
            raise ValueError(f"not in mode {self.parallel_mode}")
        assert get_group_size() == auto_parallel_context().get_pipeline_stages()
        create_group("stages", [get_rank()])
        comm_func.barrier()
        self.over_stages = P.AllReduce(group="stages")
        self.sharded = _get_enable_parallel_optimizer()

    @C.add_flags(has_effect=True)
    def construct(self, *inputs):
        scale = self.scale_sense
        total, count = self.network(*inputs)
        count = self.over_stages(count)
        sens = C.ones_like(total) * scale, C.zeros_like(count)
        grads = self.grad(self.network, self.weights)(*inputs, sens)
        grads = self.hyper_map(F.partial(take, scale, count), grads, self.grad_reducer(self.totals))
        overflow = self.process_loss_scale(F.depend(self.get_overflow_status(self.status, grads), grads))
        loss = total / count
        if not overflow:
            loss = F.depend(loss, self.optimizer(grads))
        return loss, overflow, scale.value()


def wide_state(optimizer, prefix):
    """Zeros in float32 for each parameter, named after it by what MindSpore keeps beside its data."""
    made = []
    for old in optimizer.parameters:
        new = Parameter(initializer("zeros", shape=old.shape, dtype=mstype.float32))
        new.param_info = old.param_info.clone()
        vars(old.param_info).setdefault("cloned_obj", []).append(new)
        new.is_init, new.cache_enable = False, old.cache_enable
        new.name = f"{prefix}.{new.name}"
        made.append(new)
    return ParameterTuple(made)


class Moments(Optimizer):
    """AdamW, from the parts of MindSpore's Optimizer."""

    @opt_init_args_register
    def __init__(self, params, learning_rate=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
        validator.check("number of betas", len(betas), "", [2], validator.IN, self.cls_name)
        validator.check_float_range(betas[0], 0.0, 1.0, Rel.INC_NEITHER, "beta1", self.cls_name)
        validator.check_float(eps, 0.0, Rel.GT, "eps", self.cls_name)
        super().__init__(learning_rate, params, weight_decay=weight_decay)
        self.numbers = tuple(Tensor(np.array([x]).astype(np.float32)) for x in (*betas, eps))
        self.m, self.v = wide_state(self, "adam_m"), wide_state(self, "adam_v")

    def construct(self, gradients):
        gradients = self.flatten_gradients(gradients)
        decay, lr = self.get_weight_decay(), self.get_lr()
        self.assignadd(self.global_step, self.global_step_increase_tensor)
        state = (self._parameters, gradients, self.m, self.v, self.optim_filter)
        fixed = F.partial(move, *self.numbers, self.global_step)
        if self.is_group and self.is_group_lr:
            made = self.hyper_map(fixed, lr, decay, *state)
        elif self.is_group:
            made = self.hyper_map(F.partial(fixed, lr), decay, *state)
        else:
            made = self.map_reverse(F.partial(fixed, lr, decay), *state)
        if self.use_parallel:
            self.broadcast_params(made)
        return made


class WideAdam(nn.AdamWeightDecay):
    """AdamWeightDecay with state in float32: goes past the constructor of its base."""

    def __init__(self, params, learning_rate):
        super(nn.AdamWeightDecay, self).__init__(learning_rate, params, 0.0)
        self.beta1, self.beta2, self.eps = (Tensor(np.array([x], np.float32)) for x in (0.9, 0.999, 1e-6))
        self.moments1, self.moments2 = wide_state(self, "adam_m"), wide_state(self, "adam_v")


class Schedule(LearningRateSchedule):
    """A rate that rises, stays, and is a quarter from then on: out of construct on three ways."""

    @validator.args_type_check(learning_rate=(int, float), warmup=int, total=int)
    def __init__(self, learning_rate, warmup, total):
        super().__init__()
        self.learning_rate = learning_rate
        self.warmup, self.total = Tensor(warmup, mstype.float32), Tensor(total, mstype.float32)
        self.above, self.whole = P.Greater(), Tensor(1.0, mstype.float32)

    def construct(self, global_step):
        if self.above(self.warmup, global_step):
            share = global_step / self.warmup
        elif self.above(global_step, self.total):
            return self.learning_rate * 0.25 * self.whole
        else:
            share = self.whole
        return self.learning_rate * share


def scattered(x, index, source):
    """The same, by a primitive and by a function."""
    return Scatter()(x, 1, index, source), mint.scatter(x, 1, index, source)
