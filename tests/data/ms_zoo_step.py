"""A training step as model zoos write their own: loss scale, clipping, gradients accumulated over steps, moving averages.

`python ms_zoo_step.py > ms_zoo_step.json` records its cases with MindSpore 2.10; tests/compat/test_zoo_step.py runs them with
graphc and compares.

MindSpore cannot run its overflow detection on a CPU as it is; `Library.step` switches it to one that has kernels. In PyNative
mode MindSpore refuses the assignment of an int to a Parameter: the cases are recorded in graph mode.
"""

import importlib
import json
import sys

import numpy as np

STEPS, ROWS = 6, 4
#: Options of the step, how the loss is scaled, whether the rates are a list.
CASES = {
    "scale": ({}, "number", False),
    "manager": ({}, "manager", False),
    "clip": ({"clip": 0.2}, "manager", False),
    "average": ({"average": 0.9}, "manager", True),
    "accumulate": ({"every": 3}, "number", False),
    "accumulate with a manager": ({"every": 3}, "manager", True),
    "all": ({"every": 2, "average": 0.9, "clip": 0.2}, "manager", True),
}


def rnd(seed, *shape):
    return np.random.RandomState(seed).randn(*shape).astype(np.float32)


class Library:
    """The step over a module `mindspore`, graphc's or its own."""

    def __init__(self, ms):
        nn, ops, Parameter, Tensor = ms.nn, ms.ops, ms.Parameter, ms.Tensor
        boost = importlib.import_module("mindspore.boost")
        accumulation = importlib.import_module("mindspore.boost.grad_accumulation")
        F = importlib.import_module("mindspore.ops.functional")
        self.ms, self.nn = ms, nn

        unscale = ops.MultitypeFuncGraph("unscale")
        move = ops.MultitypeFuncGraph("move")

        @unscale.register("Tensor", "Tensor")
        def _unscale(scale, gradient):
            return gradient * F.cast(ops.Reciprocal()(scale), F.dtype(gradient))

        @move.register("Tensor", "Tensor", "Tensor")
        def _move(share, average, weight):
            return F.assign(average, average * share + weight * (1 - share))

        class Accumulation(boost.GradientAccumulation):
            """Reduces what it has summed, not every gradient; the rates move on with every call."""

            def __init__(self, every, optimizer, reducer):
                super().__init__(every, optimizer)
                self.reducer = reducer

            def construct(self, loss, gradients):
                add = F.partial(accumulation.gradient_accumulation_op, self._max_accumulation_step)
                loss = F.depend(loss, self.hyper_map(add, self._grad_accumulation, gradients))
                self._accumulation_step += 1
                if self._accumulation_step >= self._max_accumulation_step:
                    reduced = self.reducer(self._grad_accumulation)
                    loss = F.depend(loss, self.optimizer(reduced))
                    clear = F.partial(accumulation.gradient_clear_op)
                    loss = F.depend(loss, self.hyper_map(clear, self._grad_accumulation))
                    self._accumulation_step = 0
                else:
                    loss = F.depend(loss, self.optimizer.get_lr())
                return loss

        class Step(nn.TrainOneStepWithLossScaleCell):
            def __init__(self, network, optimizer, scale, every=1, average=0.0, clip=0.0):
                super().__init__(network, optimizer, scale)
                self.every, self.share, self.clip = every, average, clip
                self.updates = Parameter(Tensor(0.0, ms.float32))
                if average:
                    self.all_weights = ms.ParameterTuple(list(network.get_parameters()))
                    self.averages = self.all_weights.clone("ema", init="same")
                if every > 1:
                    self.accumulation = Accumulation(every, optimizer, self.grad_reducer)

            def follow(self):
                self.updates += 1
                share = self.share * (1 - F.exp(-self.updates / 3))
                return self.hyper_map(F.partial(move, share), self.averages, self.all_weights)

            def apply(self, loss, gradients):
                if self.every > 1:
                    return self.accumulation(loss, gradients)
                return F.depend(loss, self.optimizer(self.grad_reducer(gradients)))

            def construct(self, *inputs):
                loss = self.network(*inputs)
                scale = self.scale_sense
                status, scale = self.start_overflow_check(loss, scale)
                sense = ops.ones_like(loss) * F.cast(scale, F.dtype(loss))
                gradients = self.grad(self.network, self.weights)(*inputs, sense)
                gradients = self.hyper_map(F.partial(unscale, scale), gradients)
                if self.clip:
                    gradients = ops.clip_by_global_norm(gradients, clip_norm=self.clip)
                if self.loss_scaling_manager:
                    overflow = self.process_loss_scale(self.get_overflow_status(status, gradients))
                    if not overflow:
                        loss = self.apply(loss, gradients)
                        if self.share:
                            loss = F.depend(loss, self.follow())
                else:
                    loss = self.apply(loss, gradients)
                    if self.share:
                        loss = F.depend(loss, self.follow())
                return loss

        self.Step = Step

    def step(self, case):
        """The step of a case, with fixed weights."""
        options, scaling, listed = CASES[case]
        ms, nn = self.ms, self.nn
        net = nn.SequentialCell(nn.Dense(5, 6, activation="relu"), nn.Dense(6, 3))
        for i, p in enumerate(net.get_parameters()):
            p.set_data(ms.Tensor(rnd(i, *p.shape) * np.float32(0.4)))
        rates = [0.1, 0.09, 0.08, 0.07, 0.06, 0.05, 0.04] if listed else 0.1
        optimizer = nn.Momentum(net.trainable_params(), rates, 0.9, weight_decay=0.01)
        scale = ms.Tensor(8.0, ms.float32) if scaling == "number" else nn.DynamicLossScaleUpdateCell(64.0, 2, 2)
        made = self.Step(nn.WithLossCell(net, nn.CrossEntropyLoss()), optimizer, scale, **options)
        made.ascend_910b_target, made.enable_allfinite = True, False
        return made.set_train()

    def run(self, case):
        """Losses of the steps, the third of which overflows where a manager is there to see it; the state behind them."""
        step, ms = self.step(case), self.ms
        losses = []
        for i in range(STEPS):
            x, y = rnd(10 + i, ROWS, 5), (np.arange(ROWS) * (i + 1) % 3).astype(np.int32)
            if i == 2 and CASES[case][1] == "manager":
                x[0, 0] = np.inf
            losses.append(float(step(ms.Tensor(x), ms.Tensor(y)).asnumpy()))
        state = {p.name: p.asnumpy().reshape(-1).tolist() for p in step.get_parameters()}
        return {"losses": [x if np.isfinite(x) else str(x) for x in losses], "state": state}


if __name__ == "__main__":
    import mindspore

    mindspore.set_context(mode=mindspore.GRAPH_MODE)
    library = Library(mindspore)
    cases = {case: library.run(case) for case in CASES}
    json.dump({"mindspore": mindspore.__version__, "numpy": np.__version__, "cases": cases}, sys.stdout)
