"""Record which tensors share memory in MindSpore's PYNATIVE_MODE: `python ms_views.py > ms_views.json`, with MindSpore 2.10.

VIEWS are expressions of a tensor x [3, 2, 4], which is in row-major order, a transposed one, or a parameter. The record of each
is a word for each of these: "both" where y[0] = v writes x, and x[i] = v writes y; "back" where only the first does; "none".
A line of PROGRAMS is the body of `construct`, of an x [3, 3]; `self.p` is a parameter of ten times its numbers. Its record is
what it returns, what self.p holds then, and what the caller's x does, in each of the two modes. Each runs in a process of its
own, as what fails in MindSpore changes what it does afterwards; where it fails, the record is "".
`tests/ops/test_views.py` does the same.
"""

import contextlib
import importlib.util
import json
import os
import pathlib
import sys
import tempfile

import numpy as np

VIEWS = """x; x[...]; x[:]; x[1]; x[-1]; x[1:3]; x[::2]; x[:, 1]; x[:, 1:2]; x[None]; x[:, None]; x[..., 0]; x[..., 1:]
x[()]; x[True]; x[slice(0, 2), 1]; x[1][0]; x[1:][0]; x[1:3][:, 1:]; x[[0, 1]]; x[Tensor([0, 1])]
x[Tensor([True, False, True])]; x[x > 3]; x[[True, False, True]]; x[1:3, [0, 1]]; list(x)[1]; next(iter(x))
x.T[1]; x[1].T; x.reshape(-1)[8:16]; x.reshape(24); x.reshape((6, 4)); x.reshape(3, 2, 4)
ops.reshape(x, (6, 4)); ops.Reshape()(x, (6, 4)); mint.reshape(x, (6, 4)); x.view(6, 4); x.view(3, 2, 4)
x.view_as(ops.zeros((6, 4))); x.reshape_as(ops.zeros((6, 4))); x.ravel(); ops.ravel(x); x.flatten()
mint.flatten(x); mint.flatten(x, 1); x.resize(4, 6); x.transpose(1, 0, 2); x.transpose((2, 1, 0))
ops.transpose(x, (1, 0, 2)); ops.transpose(x, (0, 1, 2)); ops.Transpose()(x, (1, 0, 2)); mint.transpose(x, 0, 1)
mint.permute(x, (1, 0, 2)); x.permute(1, 0, 2); ops.permute(x, (1, 0, 2)); x.T; x.mT; x[0].H; x[0].t()
mint.t(x[0]); ops.t(x[0]); x.swapaxes(0, 1); x.swapdims(0, 1); ops.swapaxes(x, 0, 1); x.moveaxis(0, 1)
ops.movedim(x, 0, 1); x.expand_dims(0); ops.expand_dims(x, 0); ops.ExpandDims()(x, 0); ops.unsqueeze(x, 0)
mint.unsqueeze(x, 0); x.unsqueeze(1); x[0:1].squeeze(); x[0:1].squeeze(0); x.squeeze(); ops.squeeze(x[0:1])
ops.Squeeze(0)(x[0:1]); mint.squeeze(x[0:1], 0); x.split(1)[1]; x.split([1, 2])[1]; x.split(2, 1)[0]
ops.split(x, 1)[1]; ops.split(x, 2, 2)[1]; ops.Split(0, 3)(x)[1]; mint.split(x, 1)[1]; mint.split(x, [1, 2])[1]
mint.split(x, 3)[0]; x.chunk(3)[1]; ops.chunk(x, 2, 2)[1]; mint.chunk(x, 3)[1]; x.unbind()[1]; x.unbind(1)[1]
ops.unbind(x)[1]; mint.unbind(x, 1)[1]; ops.unstack(x)[1]; ops.Unstack(0)(x)[1]; x.tensor_split(3)[1]
ops.tensor_split(x, (1, 2))[1]; x.vsplit(3)[1]; x.hsplit(2)[1]; x.dsplit(2)[1]; ops.vsplit(x, 3)[1]
ops.hsplit(x, 2)[1]; ops.dsplit(x, 2)[1]; x.narrow(0, 1, 2); ops.narrow(x, 0, 1, 2); mint.narrow(x, 0, 1, 2)
x.narrow(0, 0, 3); x.select(0, 1); mint.select(x, 1, 1); x.diagonal(); x.diagonal(1, 0, 1); ops.diagonal(x)
x.contiguous(); x.data
ops.stop_gradient(x); ops.identity(x); ops.depend(x, x); ops.squeeze(x, ()); ops.slice(x, (1, 0, 0), (2, 2, 4))
ops.Slice()(x, (1, 0, 0), (2, 2, 4)); ops.strided_slice(x, (1, 0, 0), (3, 2, 4), (1, 1, 1))
ops.StridedSlice()(x, (1, 0, 0), (3, 2, 4), (1, 1, 1)); ops.atleast_2d(x[0]); mindspore.numpy.reshape(x, (6, 4))
mindspore.numpy.transpose(x); mindspore.numpy.ravel(x); mindspore.numpy.expand_dims(x, 0)
mindspore.numpy.squeeze(x[0:1]); mindspore.numpy.swapaxes(x, 0, 1); mindspore.numpy.moveaxis(x, 0, 1)
mindspore.numpy.rollaxis(x, 1); mindspore.numpy.split(x, 3)[1]; mindspore.numpy.array_split(x, 3)[1]
mindspore.numpy.vsplit(x, 3)[1]; mindspore.numpy.asarray(x); mindspore.numpy.diagonal(x)
mindspore.numpy.array(x, copy=False); x + 0; x * 1; abs(x); x.copy(); x.half(); ops.relu(x); ops.Flatten()(x)
ops.diag(x[0]); ops.Identity()(x); ops.tile(x, (1, 1, 1)); ops.concat((x,)); ops.stack((x,)); ops.flip(x, (0,))
ops.index_select(x, 0, Tensor([1])); ops.gather(x, Tensor([1]), 0); ops.where(x > -1, x, x)
mindspore.numpy.array(x); mindspore.numpy.copy(x); mindspore.numpy.flip(x, 0); (x.T + 1).T; x.T.copy()"""

#: What is taken of a tensor of [3, 3].
_TAKEN = """x; x[1]; x[0]; x[1:3]; x[:, 1]; x[::2]; x[...]; x[:]; x[None]; x[[0, 1]]; x[x > 2]; x[Tensor([0, 1])]
x.reshape(-1); x.view(-1); x.T; x.swapaxes(0, 1); x.expand_dims(0); x.split(1)[1]; mint.split(x, 1)[1]
x.chunk(3)[1]; x.unbind()[1]; x.narrow(0, 1, 2); mint.select(x, 0, 1); x.diagonal(); x[0:1].squeeze(0)
ops.stop_gradient(x); x.flatten(); x[1].reshape(3, 1); x[1][1:]; x.T[1]; x.reshape(-1)[3:6]; x.value(); x + 0
x.data; x.copy(); x.contiguous(); ops.depend(x, x)"""
#: What is taken of a parameter.
_HELD = "self.p[0]; self.p.reshape(-1); self.p.T; self.p[1:]; self.p.value(); self.p; self.p.data; self.p[[0, 1]]; self.p * 1"

PROGRAMS = """x = x * 1; y = x; y += 1; return x * y
x = x * 1; y = x[0]; y += 5; return x * 1
x = x * 1; y = x.reshape(-1); y *= 5; return x * 1
x = x * 1; y = x.reshape(-1); y[:] = 7.0; return x * 1
x = x * 1; y = x.T; y[0:1] = 7.0; return x * 1
x = x * 1; y = x.split(1)[1]; y[()] = 7.0; return x * 1
x = x * 1; y = x[1:3]; y[y > 5] = 7.0; return x * 1
x = x * 1; y = x[1:3]; y[[0]] = 7.0; return x * 1
x = x * 1; y = x; y.copy_(y * 2); return x * 1
x = x * 1; y = x.reshape(-1); y.copy_(y * 2); return x * 1
x = x * 1; a = x[1] * 2; y = x[1]; y[0] = 7.0; return x * x + a.sum()
x = x * 1; y = x.reshape(-1); y[0] = x[1, 1] * 3; return x * x
x = x * 1; y = x[1:3]; y[0] = x[0] * 3; return x * x
x = x * 1; z = x.T; y = x[1:3]; y[0] = x[0] * 3; return z * z * x
x = x * 1; y = x[1:3]; z = y[0]; z[1] = x[0, 0] * 3; return x * x + y.sum()
x = x * 1; y = x[0]; y[0] = y[1] * y[2]; y[1] = y[0] * 2; return x * x
y = x[0]; y[0] = y[1] * y[2]; return x * x
x[0] = x[1] * 2; return x * x
y = x; y[0] = 5.0; return x * 1
x = x * 1; x[0][1] = 9.0; return x * 1
x = x * 1; x[0:2][1][2] = 9.0; return x * 1
x = x * 1; x.T[0] = 9.0; return x * 1
x = x * 1; a, b, c = ops.split(x, 1); a[0] = 9.0; b[0] = a[0] * 2; return x * c
x = x * 1; rows = [x[0], x[1]]; rows[0][1] = 9.0; rows[1][1] = 8.0; return x * rows[0]
self.p[0] += 1; return self.p * x
self.p[0][1] = 1.0; return self.p * x
a = self.p; a += x; return self.p * x + a
a = self.p; b = a; a += x; return b * x + a
a = self.p; a = a + x; return self.p * x + a
a = self.p; a.copy_(x); return self.p * x + a
self.p += x; return self.p * x"""


def views():
    return [view.strip() for line in VIEWS.split("\n") for view in line.split(";")]


def programs():
    taken = [y.strip() for line in _TAKEN.split("\n") for y in line.split(";")]
    held = [y.strip() for y in _HELD.split(";")]
    made = [f"x = x * 1; y = {y}; y[0] = 7.0; return x * 1" for y in taken]
    made += [f"x = x * 1; y = {y}; x[0] = 7.0; return y * 1" for y in taken]
    made += [f"y = {y}; y[0] = 7.0; return self.p * x" for y in held]
    made += [f"y = {y}; self.p[0] = 7.0; return y * 1" for y in held]
    made += [f"y = {y}; ops.assign(self.p, x); return y * 1" for y in held]
    made += [f"y = {y}; y += 1; return self.p * x" for y in held]
    return made + PROGRAMS.split("\n")


def elements(shape, first):
    return first + np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def shared(view, kind, names):
    """Who sees what is written, as the record says it."""
    Tensor = names["Tensor"]
    raw = elements((3, 2, 4), 0)
    x = Tensor(raw)
    if kind == "transposed":
        x = Tensor(raw.transpose(1, 0, 2).copy()).transpose(1, 0, 2)
    elif kind == "parameter":
        x = names["Parameter"](x, name="p")
    y = eval(view, {**names, "x": x})
    y[0] = -1.0
    if (x.asnumpy() == raw).all():
        return "none"
    for i in range(3):
        x[i] = -3.0
    return "both" if (y.asnumpy() == -3).any() else "back"


HEAD = """import numpy as np
import {name} as mindspore
from {name} import Tensor, ops, mint, nn, Parameter

class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.p = Parameter(Tensor(10 + 10 * np.arange(9, dtype=np.float32).reshape(3, 3)), name="p")

    def construct(self, x):
"""


def network(program, folder, name="mindspore"):
    """The Cell whose `construct` a program is; its source is a file."""
    path = pathlib.Path(folder) / f"program_{len(os.listdir(folder))}.py"
    path.write_text(HEAD.format(name=name) + "".join(f"        {line.strip()}\n" for line in program.split(";")))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module.Net()


def outcome(program, folder, names, name="mindspore"):
    """What a program returns, what its parameter holds then, and what the tensor does that it was given."""
    net, x = network(program, folder, name), names["Tensor"](elements((3, 3), 1))
    y = net(x)
    return [v.asnumpy().tolist() for v in (y, net.p, x)]


def alone(function, *args):
    """The result in a process of its own, "" where it fails."""
    end, begin = os.pipe()
    child = os.fork()
    if child == 0:
        made = ""
        with contextlib.suppress(Exception):
            import mindspore

            mindspore.runtime.launch_blocking()
            made = function(*args)
        os.write(begin, json.dumps(made).encode())
        os._exit(0)
    os.close(begin)
    with os.fdopen(end) as pipe:
        made = json.loads(pipe.read() or '""')
    os.waitpid(child, 0)
    return made


def record():
    import mindspore
    from mindspore import Parameter, Tensor, mint, ops

    names = {"Tensor": Tensor, "Parameter": Parameter, "ops": ops, "mint": mint, "mindspore": mindspore}

    def in_mode(mode, function, *args):
        mindspore.set_context(mode=mode)
        return function(*args)

    made = {"views": {}, "pynative": {}, "graph": {}}
    for view in views():
        made["views"][view] = [
            alone(in_mode, 1, shared, view, kind, names) for kind in ("in order", "transposed", "parameter")
        ]
    for mode, kind in enumerate(("graph", "pynative")):
        for program in programs():
            with tempfile.TemporaryDirectory() as folder:
                made[kind][program] = alone(in_mode, mode, outcome, program, folder, names)
    return made


if __name__ == "__main__":
    json.dump(record(), sys.stdout, indent=0)
