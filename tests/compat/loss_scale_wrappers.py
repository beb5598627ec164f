"""Loss-scale wrappers in the styles in which they are published for MindSpore 0.5 to 2.0, imported under its name.

Each class takes (network, optimizer, manager) and returns a tuple that begins (loss, overflow, scale), unless it says so.
"""

import mindspore.common.dtype as mstype
import mindspore.nn as nn
from mindspore.common.parameter import Parameter
from mindspore.common.tensor import Tensor
from mindspore.ops import composite as C
from mindspore.ops import functional as F
from mindspore.ops import operations as P

grad_scale = C.MultitypeFuncGraph("grad_scale")
reciprocal = P.Reciprocal()


@grad_scale.register("Tensor", "Tensor")
def tensor_grad_scale(scale, grad):
    return grad * F.cast(reciprocal(scale), F.dtype(grad))


class Base(nn.Cell):
    """What all of them hold."""

    def __init__(self, network, optimizer, scale_update_cell):
        super(Base, self).__init__(auto_prefix=False)  # noqa: UP008
        self.network = network
        self.network.set_grad()
        self.network.add_flags(defer_inline=True)
        self.weights = optimizer.parameters
        self.optimizer = optimizer
        self.grad = C.GradOperation(get_by_list=True, sens_param=True)
        self.alloc_status = P.NPUAllocFloatStatus()
        self.get_status = P.NPUGetFloatStatus()
        self.clear_status = P.NPUClearFloatStatus()
        self.reduce_sum = P.ReduceSum(keep_dims=False)
        self.base = Tensor(1, mstype.float32)
        self.less_equal = P.LessEqual()
        self.hyper_map = C.HyperMap()
        self.cast = P.Cast()
        self.loss_scaling_manager = scale_update_cell
        self.loss_scale = Parameter(Tensor(scale_update_cell.get_loss_scale(), dtype=mstype.float32), name="loss_scale")

    def gradients(self, inputs, scale, loss):
        """Unscaled, between clearing and reading by statements alone."""
        init = self.alloc_status()
        self.clear_status(init)
        grads = self.grad(self.network, self.weights)(*inputs, self.cast(scale, F.dtype(loss)))
        grads = self.hyper_map(F.partial(grad_scale, scale), grads)
        self.get_status(init)
        return grads, self.less_equal(self.base, self.reduce_sum(init, (0,)))


class Statements(Base):
    """MindSpore 1.0: status by statements, `succ` on both ways."""

    @C.add_flags(has_effect=True)
    def construct(self, *inputs, sens=None):
        weights = self.weights
        loss = self.network(*inputs)
        init = self.alloc_status()
        self.clear_status(init)
        scaling_sens = self.loss_scale if sens is None else sens
        grads = self.grad(self.network, weights)(*inputs, self.cast(scaling_sens, F.dtype(loss)))
        grads = self.hyper_map(F.partial(grad_scale, scaling_sens), grads)
        self.get_status(init)
        flag_sum = self.reduce_sum(init, (0,))
        cond = self.less_equal(self.base, flag_sum)
        overflow = cond
        if sens is None:
            overflow = self.loss_scaling_manager(self.loss_scale, cond)
        if overflow:
            succ = False
        else:
            succ = self.optimizer(grads)
        ret = (loss, cond, scaling_sens)
        return F.depend(ret, succ)


class Depends(Base):
    """MindSpore 1.1: everything ordered by depend, the loss alone waits for `succ`."""

    def construct(self, *inputs):
        loss = self.network(*inputs)
        scaling_sens = self.loss_scale
        init = F.depend(self.alloc_status(), loss)
        clear_status = self.clear_status(init)
        scaling_sens = F.depend(scaling_sens, clear_status)
        grads = self.grad(self.network, self.weights)(*inputs, self.cast(scaling_sens, F.dtype(loss)))
        grads = self.hyper_map(F.partial(grad_scale, scaling_sens), grads)
        init = F.depend(init, grads)
        get_status = self.get_status(init)
        init = F.depend(init, get_status)
        flag_sum = self.reduce_sum(init, (0,))
        cond = self.less_equal(self.base, flag_sum)
        overflow = self.loss_scaling_manager(self.loss_scale, cond)
        if overflow:
            succ = False
        else:
            succ = self.optimizer(grads)
        return F.depend(loss, succ), cond, scaling_sens


class SuccFirst(Base):
    """`succ` has a value before the branch."""

    def construct(self, *inputs):
        loss = self.network(*inputs)
        grads, cond = self.gradients(inputs, self.loss_scale, loss)
        overflow = self.loss_scaling_manager(self.loss_scale, cond)
        succ = True
        if not overflow:
            succ = self.optimizer(grads)
        ret = (loss, cond, self.loss_scale)
        return F.depend(ret, succ)


class SuccNone(Base):
    """`succ` is None on the other way."""

    def construct(self, *inputs):
        loss = self.network(*inputs)
        grads, cond = self.gradients(inputs, self.loss_scale, loss)
        succ = None
        if not self.loss_scaling_manager(self.loss_scale, cond):
            succ = self.optimizer(grads)
        loss = F.depend(loss, succ)
        return loss, cond, self.loss_scale


class CondFirst(Base):
    """The flag is the first result, the whole tuple waits."""

    def construct(self, *inputs):
        loss = self.network(*inputs)
        grads, cond = self.gradients(inputs, self.loss_scale, loss)
        overflow = self.loss_scaling_manager(self.loss_scale, cond)
        if overflow:
            succ = (False,)
        else:
            succ = self.optimizer(grads)
        cond, scale, loss = F.depend((cond, self.loss_scale, loss), succ)
        return loss, cond, scale


class Method(Base):
    """The update in a method that returns on either way."""

    def update(self, overflow, grads):
        if overflow:
            return False
        return self.optimizer(grads)

    def construct(self, *inputs):
        loss = self.network(*inputs)
        grads, cond = self.gradients(inputs, self.loss_scale, loss)
        succ = self.update(self.loss_scaling_manager(self.loss_scale, cond), grads)
        return F.depend((loss, cond, self.loss_scale), succ)


class Expression(Base):
    """The update in a conditional expression."""

    def construct(self, *inputs):
        loss = self.network(*inputs)
        grads, cond = self.gradients(inputs, self.loss_scale, loss)
        overflow = self.loss_scaling_manager(self.loss_scale, cond)
        succ = False if overflow else self.optimizer(grads)
        return F.depend(loss, succ), cond, self.loss_scale


class Nested(Base):
    """A second condition around the first one; both names are waited for."""

    def construct(self, *inputs):
        loss = self.network(*inputs)
        grads, cond = self.gradients(inputs, self.loss_scale, loss)
        overflow = self.loss_scaling_manager(self.loss_scale, cond)
        done = None
        if loss >= 0 or cond:
            if overflow:
                succ = False
            else:
                succ = self.optimizer(grads)
            done = succ
        else:
            succ = (True, None)
        return F.depend(F.depend(loss, succ), done), cond, self.loss_scale


class Unused(Base):
    """The results of the optimizer are not waited for at all: in 1.0 effects happen in the order of the program."""

    def construct(self, *inputs):
        loss = self.network(*inputs)
        grads, cond = self.gradients(inputs, self.loss_scale, loss)
        if self.loss_scaling_manager(self.loss_scale, cond):
            pass
        else:
            self.optimizer(grads)
        return loss, cond, self.loss_scale


class Early(Base):
    """The skipped step returns early."""

    def construct(self, *inputs):
        loss = self.network(*inputs)
        grads, cond = self.gradients(inputs, self.loss_scale, loss)
        if self.loss_scaling_manager(self.loss_scale, cond):
            return loss, cond, self.loss_scale
        succ = self.optimizer(grads)
        return F.depend(loss, succ), cond, self.loss_scale


class Hooks(nn.TrainOneStepWithLossScaleCell):
    """A subclass of MindSpore 1.2 to 2.0, with `succ` on both ways."""

    def construct(self, *inputs):
        loss = self.network(*inputs)
        scaling_sens = self.scale_sense
        status, scaling_sens = self.start_overflow_check(loss, scaling_sens)
        scaling_sens_filled = C.ones_like(loss) * F.cast(scaling_sens, F.dtype(loss))
        grads = self.grad(self.network, self.weights)(*inputs, scaling_sens_filled)
        grads = self.hyper_map(F.partial(grad_scale, scaling_sens), grads)
        grads = self.grad_reducer(grads)
        cond = self.get_overflow_status(status, grads)
        overflow = self.process_loss_scale(cond)
        if overflow:
            succ = False
        else:
            succ = self.optimizer(grads)
        ret = (loss, cond, scaling_sens)
        return F.depend(ret, succ)


class HooksWithSuccInTheResult(Hooks):
    """Returns `succ` as well, which is a bool on one way and a tuple on the other: no result can be both."""

    def construct(self, *inputs):
        loss = self.network(*inputs)
        status, scale = self.start_overflow_check(loss, self.scale_sense)
        grads = self.grad(self.network, self.weights)(*inputs, C.ones_like(loss) * scale)
        cond = self.get_overflow_status(status, grads)
        if self.process_loss_scale(cond):
            succ = False
        else:
            succ = self.optimizer(grads)
        return loss, cond, scale, succ


STYLES = (
    Statements, Depends, SuccFirst, SuccNone, CondFirst, Method, Expression, Nested, Unused, Early, Hooks,
)  # fmt: skip
