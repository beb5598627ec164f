"""Loads MindFormers' own files, unchanged, without running the `__init__` of its packages, which import everything.

`files(folder)` takes all of them from the folder of an unpacked MindFormers; `wrappers(folder)` takes the wrappers alone and
puts stand-ins in place of what they import from MindFormers. Both need a module `mindspore`: MindSpore's, or graphc's after
`graphc.compat.install()`.
"""

import importlib
import importlib.util
import logging
import sys
import types
from pathlib import Path


def forget():
    """Unload everything that calls itself MindFormers."""
    for name in [n for n in sys.modules if n.partition(".")[0] == "mindformers"]:
        del sys.modules[name]


def _module(name, folder=None, **contents):
    made = types.ModuleType(name)
    made.__path__ = [] if folder is None else [str(folder)]
    made.__dict__.update(contents)
    sys.modules[name] = made


def _file(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made
    spec.loader.exec_module(made)
    return made


def files(folder):
    """A namespace with the wrappers, optimizers and schedules of MindFormers. It needs the packages yaml and psutil."""
    forget()
    root = Path(folder)
    for package in ("", "core", "tools", "tools/hub"):
        name = ".".join(["mindformers", *filter(None, package.split("/"))])
        _module(name, root / package)
    _module("mindformers.tools.hub.dynamic_module_utils", get_class_from_dynamic_module=None)
    found = {}
    for name in ("wrapper.wrapper", "wrapper.adaptive_loss_scale", "core.optim", "core.lr", "core.clip_grad"):
        module = importlib.import_module(f"mindformers.{name}")
        found.update({k: v for k, v in vars(module).items() if not k.startswith("__")})
    return types.SimpleNamespace(**found)


def wrappers(folder):
    """A namespace with the wrappers, over stand-ins for the clipping, the registry, the logger and the fused optimizer."""
    forget()
    mindspore = importlib.import_module("mindspore")
    nn, ops = mindspore.nn, mindspore.ops

    class ClipGradNorm(nn.Cell):
        def __init__(self, max_norm=1.0):
            super().__init__()
            self.max_norm = max_norm

        def construct(self, gradients):
            norm = ops.sqrt(ops.addn([ops.reduce_sum(ops.square(g)) for g in gradients])).reshape((1,))
            factor = self.max_norm / (ops.maximum(norm, self.max_norm) + 1e-6)
            return tuple([g * ops.minimum(factor, 1.0) for g in gradients]), norm

    class Register:
        @classmethod
        def register(cls, module_type, alias=None):
            return lambda component: component

    for package in ("", ".core", ".tools"):
        _module(f"mindformers{package}")
    _module("mindformers.core.clip_grad", ClipGradNorm=ClipGradNorm)
    _module("mindformers.core.optim", FusedCastAdamWeightDecay=type("FusedCastAdamWeightDecay", (nn.Optimizer,), {}))
    _module(
        "mindformers.tools.register", MindFormerRegister=Register, MindFormerModuleType=types.SimpleNamespace(WRAPPER=0)
    )
    _module("mindformers.tools.logger", logger=logging.getLogger("mindformers"))
    _module("mindformers.version_control", get_identity=nn.Identity)
    found = {}
    for name in ("wrapper", "adaptive_loss_scale"):
        found.update(vars(_file(f"mindformers_{name}", Path(folder) / "wrapper" / f"{name}.py")))
    return types.SimpleNamespace(**{k: v for k, v in found.items() if not k.startswith("__")})
