"""Gradients, composite functions, training cells and loss scaling: the same cases for MindSpore and for graphc.

`python ms_training_cells.py > ms_training_cells.json` records them with MindSpore 2.10 (NumPy 1.26);
tests/nn/test_training_cells_recorded.py runs them with graphc and compares.

MindSpore cannot run TrainOneStepWithLossScaleCell on a CPU as it is; `on_cpu` switches it to a detection that has kernels.
The networks have no tanh: MindSpore's CPU kernel for it is off by 1e-4.
"""

import json
import sys

import numpy as np


def rnd(seed, *shape):
    return np.random.RandomState(seed).randn(*shape).astype(np.float32)


def on_cpu(cell):
    """The cell, with the overflow detection that MindSpore has CPU kernels for."""
    cell.ascend_910b_target = True
    cell.enable_allfinite = False
    return cell


class Library:
    """Cells and functions over one module, `mindspore` or `graphc`."""

    def __init__(self, ms):
        nn, ops, Tensor, Parameter = ms.nn, ms.ops, ms.Tensor, ms.Parameter
        self.ms, self.nn, self.ops, self.tensor = ms, nn, ops, Tensor

        class Linear(nn.Cell):
            def __init__(self):
                super().__init__()
                self.weight = Parameter(Tensor(rnd(1, 4, 3)), name="weight")
                self.bias = Parameter(Tensor(rnd(2, 3)), name="bias")
                self.unused = Parameter(Tensor(rnd(3, 2)), name="unused")

            def construct(self, x):
                return ops.matmul(x, self.weight) + self.bias

        class Deep(nn.Cell):
            def __init__(self):
                super().__init__()
                self.fc1 = nn.Dense(4, 5, weight_init=Tensor(rnd(4, 5, 4)), bias_init="zeros", activation="relu")
                self.fc2 = nn.Dense(5, 3, weight_init=Tensor(rnd(5, 3, 5)), bias_init="zeros")

            def construct(self, x):
                return self.fc2(self.fc1(x))

        class Gradient(nn.Cell):
            def __init__(self, function, weights, by_list, **flags):
                super().__init__()
                self.function = function
                self.weights = weights
                self.by_list = by_list
                self.gradient = ops.GradOperation(get_by_list=by_list, **flags)

            def construct(self, *args):
                if self.by_list:
                    return self.gradient(self.function, self.weights)(*args)
                return self.gradient(self.function)(*args)

        class OwnGradient(nn.Cell):
            def __init__(self):
                super().__init__()
                self.w = Parameter(Tensor(rnd(6, 3)), name="w")

            def construct(self, x, y):
                return x * y * self.w, x - y

            def bprop(self, x, y, out, dout):
                return x * 100 + dout[0], out[0] * dout[1] + y

        class Apply(nn.Cell):
            def __init__(self, function):
                super().__init__()
                self.function = function

            def construct(self, *args):
                return self.function(*args)

        self.Linear, self.Deep, self.Gradient, self.OwnGradient, self.Apply = Linear, Deep, Gradient, OwnGradient, Apply

    # ---- gradients

    def grad_operation(self):
        """All flags, over a network with an unused parameter."""
        x, sens = self.tensor(rnd(7, 2, 4)), self.tensor(rnd(8, 2, 3))
        made = {}
        for get_all in (False, True):
            for by_list in (False, True):
                for with_sens in (False, True):
                    net = self.Linear()
                    weights = self.ms.ParameterTuple(net.trainable_params())
                    cell = self.Gradient(net, weights, by_list, get_all=get_all, sens_param=with_sens)
                    made[f"{get_all:d}{by_list:d}{with_sens:d}"] = cell(x, sens) if with_sens else cell(x)
        net = self.Linear()
        made["one parameter"] = self.Gradient(net, net.weight, True)(x)
        made["one in a tuple"] = self.Gradient(net, self.ms.ParameterTuple([net.weight]), True)(x)
        return made

    def kinds_of_arguments(self):
        """Integers, bools, Python values, containers, and containers marked mutable."""
        ops, mutable = self.ops, self.ms.mutable
        x, i, b = (
            self.tensor(rnd(9, 3)),
            self.tensor(np.array([2, 3, 4], np.int32)),
            self.tensor(np.array([True, False, True])),
        )
        get_all, first = ops.GradOperation(get_all=True), ops.GradOperation()

        def products(i, x):
            return i * i * x

        def choice(b, x):
            return ops.select(b, x, x * 2)

        def scaled(x, k):
            return x * k

        def of_pair(pair, y):
            return pair[0] * pair[1] * y

        def of_dict(d):
            return d["a"] * d["b"]

        def to_int(x):
            return ops.cast(x, self.ms.int32)

        def to_bool(x):
            return x > 1

        def constant(x):
            return 3

        def mixed(x):
            return x * 2, 3, None

        return {
            "int": get_all(products)(i, x),
            "bool": get_all(choice)(b, x),
            "number": get_all(scaled)(x, 3.0),
            "tuple": get_all(of_pair)((x, x), x),
            "mutable tuple": get_all(of_pair)(mutable((x, x)), x),
            "first tuple": first(of_pair)((x, x), x),
            "first mutable tuple": first(of_pair)(mutable((x, x)), x),
            "dict": get_all(of_dict)({"a": x, "b": x}),
            "mutable dict": get_all(of_dict)(mutable({"a": x, "b": x})),
            "int output": first(to_int)(x),
            "bool output": first(to_bool)(x),
            "constant output": first(constant)(x),
            "mixed outputs": first(mixed)(x),
        }

    def grad_functions(self):
        """grad and value_and_grad."""
        ms = self.ms
        x, y = self.tensor(rnd(10, 3)), self.tensor(rnd(11, 3))
        w = ms.Parameter(self.tensor(rnd(12, 3)), name="w")

        def both(x, y):
            return x * y * w

        def several(x, y):
            return x * y + x, x - y, 3

        return {
            "default": ms.grad(both)(x, y),
            "second": ms.grad(both, 1)(x, y),
            "two": ms.grad(both, (0, 1))(x, y),
            "one in a tuple": ms.grad(both, (1,))(x, y),
            "parameter": ms.grad(both, None, w)(x, y),
            "parameter in a tuple": ms.grad(both, None, ms.ParameterTuple([w]))(x, y),
            "both": ms.grad(both, 0, [w])(x, y),
            "ids": ms.grad(both, (0, 1), [w], return_ids=True)(x, y),
            "several outputs": ms.grad(several)(x, y),
            "aux": ms.grad(several, 0, has_aux=True)(x, y),
            "value": ms.value_and_grad(both, 0, w)(x, y),
            "value and aux": ms.value_and_grad(several, (0, 1), None, has_aux=True)(x, y),
        }

    def own_gradients(self):
        """bprop, InsertGradientOf, stop_gradient, second order."""
        ops = self.ops
        x, y = self.tensor(rnd(13, 3)), self.tensor(rnd(14, 3))
        sens = (self.tensor(rnd(15, 3)), self.tensor(rnd(16, 3)))
        cell = self.OwnGradient()
        weights = self.ms.ParameterTuple([cell.w])

        def times_hundred(dx):
            return dx * 100

        insert = ops.InsertGradientOf(times_hundred)

        def inserted(x, y):
            return insert(x) * y

        def stopped(x):
            return ops.stop_gradient(x * x) * x

        def cube(x):
            return x * x * x

        def slope(x):
            return ops.GradOperation()(cube)(x)

        def curvature(x):
            return ops.GradOperation()(slope)(x)

        return {
            "bprop": self.Gradient(cell, weights, True, get_all=True, sens_param=True)(x, y, sens),
            "insert": ops.GradOperation(get_all=True)(inserted)(x, y),
            "stop": ops.GradOperation()(stopped)(x),
            "second": ops.GradOperation()(slope)(x),
            "third": ops.GradOperation()(curvature)(x),
        }

    def forward_value_and_grad(self):
        """All flags; several outputs; a method."""
        nn, ms = self.nn, self.ms
        x, y, sens = self.tensor(rnd(17, 2, 4)), self.tensor(rnd(18, 2, 3)), self.tensor(np.float32(2.5))
        made = {}
        for get_all in (False, True):
            for by_list in (False, True):
                for with_sens in (False, True):
                    net = nn.WithLossCell(self.Linear(), nn.MSELoss())
                    weights = ms.ParameterTuple(net.trainable_params())
                    cell = nn.ForwardValueAndGrad(net, weights, get_all, by_list, with_sens)
                    made[f"{get_all:d}{by_list:d}{with_sens:d}"] = cell(x, y, sens) if with_sens else cell(x, y)
        own = self.OwnGradient()
        pair = (self.tensor(rnd(19, 3)), self.tensor(rnd(20, 3)))
        made["outputs"] = nn.ForwardValueAndGrad(own, get_all=True, sens_param=True)(*pair, pair)
        made["method"] = nn.ForwardValueAndGrad(own.construct, get_all=True)(*pair)
        return made

    # ---- functions over nests

    def nests(self):
        """HyperMap, Map, MultitypeFuncGraph, partial."""
        ops = self.ops
        x = self.tensor(rnd(21, 2))
        one = ops.MultitypeFuncGraph("one")

        @one.register("Tensor")
        def _tensor(a):
            return a * 2

        @one.register("Number")
        def _number(a):
            return a * 3

        @one.register("Bool")
        def _bool(a):
            return "bool"

        @one.register("String")
        def _string(a):
            return "string"

        @one.register("None")
        def _none(a):
            return "none"

        @one.register("Tuple")
        def _tuple(a):
            return 7

        two = ops.MultitypeFuncGraph("two")

        @two.register("Number", "Tensor")
        def _scaled(a, b):
            return b * a

        @two.register("Tensor", "Tensor")
        def _difference(a, b):
            return b - a

        @two.register("Function", "Tensor")
        def _applied(a, b):
            return a(b)

        def double(a):
            return a + a

        deep, flat = ops.HyperMap(), ops.Map()

        def hyper(a):
            return deep(one, a)

        def shallow(a):
            return flat(one, a)

        def doubled(a):
            return deep(double, a)

        def partials(a):
            number, tensor = deep(ops.partial(two, 2.0), a), deep(ops.partial(two, a[0]), a)
            return number, tensor, deep(ops.partial(two, double), a)

        return {
            "hyper": self.Apply(hyper)((x, 3, (x, 2.5), True, "a", None)),
            "list": self.Apply(hyper)([x, 3]),
            "dict": self.Apply(hyper)({"a": x}),
            "leaf": self.Apply(hyper)(x),
            "map": self.Apply(shallow)((x, 3, (x, 2.5))),
            "function": self.Apply(doubled)((x, 3, (x, 2.5))),
            "partial": self.Apply(partials)((x, x * 3)),
            "given at first": ops.HyperMap(one)((x, 3))
            if self.ms.__name__ != "mindspore"
            else self.Apply(hyper)((x, 3)),
        }

    def mutables(self):
        """What comes in as a mutable number goes out as a number."""
        mutable = self.ms.mutable

        def same(a):
            return a

        def arithmetic(a):
            return a + 1, a * 2, a > 2

        return {
            "int": self.Apply(same)(mutable(3)),
            "tuple": self.Apply(same)(mutable((1, self.tensor(rnd(22, 2))))),
            "dict": self.Apply(same)(mutable({"a": 1, "b": self.tensor(rnd(22, 2))})),
            "arithmetic": self.Apply(arithmetic)(mutable(3)),
        }

    # ---- training

    def train_one_step(self):
        """Three steps: plain, with sens, with return_grad, with a batch in parts."""
        nn = self.nn
        x, y = self.tensor(rnd(23, 4, 4)), self.tensor(rnd(24, 4, 3))
        made = {}
        for name, options in (("plain", {}), ("sens", {"sens": 2.0}), ("gradients", {"return_grad": True})):
            net = self.Deep()
            step = nn.TrainOneStepCell(
                nn.WithLossCell(net, nn.MSELoss()), nn.Momentum(net.trainable_params(), 0.05, 0.9), **options
            )
            made[name] = [step.set_train()(x, y) for _ in range(3)], net.fc1.weight.value()
        net = self.Deep()
        parts = nn.GradAccumulationCell(nn.WithLossCell(net, nn.MSELoss()), 2)
        step = nn.TrainOneStepCell(parts, nn.SGD(net.trainable_params(), 0.05))
        made["parts"] = [step(x, y) for _ in range(3)], net.fc1.weight.value()
        net = nn.WithLossCell(self.Deep(), nn.MSELoss())
        made["with grad"] = nn.WithGradCell(net)(x, y)
        return made

    def loss_scale(self):
        """(loss, overflow, returned scale, steps made) of each step, and the weights at the end."""
        nn, T = self.nn, self.tensor
        flags = (0, 0, 1, 0, 0, 0, 1, 1, 1, 1, 1, 0)
        senses = {
            "dynamic": (nn.DynamicLossScaleUpdateCell(8.0, 2, 2), flags),
            "factor 4": (nn.DynamicLossScaleUpdateCell(16.0, 4, 3), flags),
            "fixed": (nn.FixedLossScaleUpdateCell(1024.0), flags[:4]),
            "tensor": (T(np.float32(1024.0)), flags[:4]),
            "tensor of one": (T(np.array([1024.0], np.float32)), flags[:4]),
            "int": (T(np.int64(1024)), flags[:4]),
        }
        return {name: self.scaled_steps(sense, which) for name, (sense, which) in senses.items()}

    def scaled_steps(self, sense, flags):
        nn, T = self.nn, self.tensor
        net = self.Deep()
        optimizer = nn.Momentum(net.trainable_params(), 0.05, 0.9)
        step = on_cpu(
            nn.TrainOneStepWithLossScaleCell(nn.WithLossCell(net, nn.MSELoss()), optimizer, sense)
        ).set_train()
        good, bad, y = T(rnd(25, 2, 4)), T(np.full((2, 4), np.inf, np.float32)), T(rnd(26, 2, 3))
        rows = []
        for flag in flags:
            loss, overflow, scale = step(bad if flag else good, y)
            rows.append(
                [None if flag else loss, overflow, scale, step.scale_sense.value(), optimizer.global_step.value()]
            )
        return rows, [p.value() for p in net.trainable_params()]

    def update_cells(self):
        """(flag, scale, counters) of the dynamic manager called by itself."""
        made = {}
        for first, factor, window in ((4096.0, 2, 3), (16.0, 4, 2), (1.0, 2, 1)):
            manager = self.nn.DynamicLossScaleUpdateCell(first, factor, window)
            scale = self.ms.Parameter(self.tensor(np.float32(first)), name="scale")
            rows = []
            for flag in (0, 0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 1, 0):
                overflow = manager(scale, self.tensor(np.bool_(flag)))
                rows.append([overflow, scale.value(), manager.cur_iter.value(), manager.last_overflow_iter.value()])
            made[f"{first} {factor} {window}"] = rows
        return made

    def amp(self):
        """Managers on the host, and scalers."""
        amp, T = self.ms.amp, self.tensor
        rows, manager = [], amp.DynamicLossScaleManager(16, 2, 3)
        for flag in (0, 0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 1, 0):
            manager.update_loss_scale(bool(flag))
            rows.append(float(manager.get_loss_scale()))
        adjusted, scaler = [], amp.DynamicLossScaler(16.0, 2, 2)
        for flag in (1, 1, 1, 1, 0, 1, 1, 0, 0, 0, 0, 0, 0, 1):
            moves = scaler.adjust(T(np.bool_(flag)))
            adjusted.append([moves, scaler.scale_value.value(), scaler.counter.value()])
        huge = amp.DynamicLossScaler(3e38, 2, 1)
        huge.adjust(T(np.bool_(True)))
        static, gradients = amp.StaticLossScaler(4), (T(rnd(27, 3)), T(rnd(28, 2)))
        return {
            "manager": rows,
            "defaults": [
                float(amp.DynamicLossScaleManager().get_loss_scale()),
                float(amp.FixedLossScaleManager().get_loss_scale()),
            ],
            "scaler": adjusted,
            "huge": [huge.scale_value.value(), huge.counter.value()],
            "static": [static.scale(gradients), static.unscale(gradients), static.adjust(T(np.bool_(False)))],
            "finite": [amp.all_finite(gradients), amp.all_finite((gradients[0], T(np.array([np.inf, 1], np.float32))))],
        }


CASES = (
    "grad_operation", "kinds_of_arguments", "grad_functions", "own_gradients", "forward_value_and_grad", "nests", "mutables",
    "train_one_step", "loss_scale", "update_cells", "amp",
)  # fmt: skip


def plain(x):
    """Results as JSON: a tensor is {"dtype", "shape", "data"}, tuples and lists are lists."""
    if hasattr(x, "asnumpy"):
        array = x.asnumpy()
        return {"dtype": str(x.dtype), "shape": list(array.shape), "data": array.reshape(-1).tolist()}
    if isinstance(x, dict):
        return {str(k): plain(v) for k, v in x.items()}
    return [plain(v) for v in x] if isinstance(x, (tuple, list)) else x


if __name__ == "__main__":
    import mindspore
    import mindspore.amp

    mindspore.set_context(mode=mindspore.GRAPH_MODE)
    library = Library(mindspore)
    recorded = {name: plain(getattr(library, name)()) for name in CASES}
    json.dump({"mindspore": mindspore.__version__, "numpy": np.__version__, "cases": recorded}, sys.stdout, indent=None)
