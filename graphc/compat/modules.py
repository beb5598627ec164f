"""The modules named `mindspore...`: which there are, and where in graphc their names are found.

A name that graphc lacks is an ImportError or AttributeError that says so and names the nearest thing there is.
"""

from __future__ import annotations

import difflib
import opcode
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_TENSORS = ("graphc", "graphc.ops", "graphc.ops.dtype", "graphc.ops.tensor")
_TRAINING = ("graphc.nn",)

#: MindSpore's module -> graphc's modules that are searched for its names, in order.
MODULES: dict[str, tuple[str, ...]] = {
    "mindspore": (
        "graphc",
        "graphc.context",
        "graphc.ops.dtype",
        "graphc.amp",
        "graphc.ops",
        "graphc.parallel",
        "graphc.train",
    ),
    "mindspore.nn": _TRAINING,
    "mindspore.nn.cell": _TRAINING,
    "mindspore.nn.layer": _TRAINING,
    "mindspore.nn.layer.basic": _TRAINING,
    "mindspore.nn.layer.activation": _TRAINING,
    "mindspore.nn.layer.container": _TRAINING,
    "mindspore.nn.layer.conv": _TRAINING,
    "mindspore.nn.layer.normalization": _TRAINING,
    "mindspore.nn.layer.pooling": _TRAINING,
    "mindspore.nn.loss": _TRAINING,
    "mindspore.nn.loss.loss": _TRAINING,
    "mindspore.nn.optim": _TRAINING,
    "mindspore.nn.optim.optimizer": _TRAINING,
    "mindspore.nn.wrap": _TRAINING,
    "mindspore.nn.wrap.cell_wrapper": _TRAINING,
    "mindspore.nn.wrap.loss_scale": _TRAINING,
    "mindspore.nn.wrap.grad_reducer": _TRAINING,
    "mindspore.nn.learning_rate_schedule": _TRAINING,
    "mindspore.nn.dynamic_lr": _TRAINING,
    "mindspore.ops": ("graphc.ops", "graphc.ops.composite"),
    "mindspore.ops.operations": ("graphc.ops", "graphc.ops.primitives"),
    "mindspore.ops.functional": ("graphc.ops.functional", "graphc.ops", "graphc.ops.composite"),
    "mindspore.ops.function": ("graphc.ops",),
    "mindspore.ops.composite": ("graphc.ops.composite", "graphc.ops"),
    "mindspore.ops.primitive": ("graphc.ops.primitives", "graphc.ops"),
    "mindspore.common": (*_TENSORS, "graphc.compat.executor"),
    "mindspore.common.api": ("graphc.compat.executor", "graphc"),
    "mindspore.common.dtype": ("graphc.ops.dtype",),
    "mindspore.common.initializer": ("graphc.nn.initializer",),
    "mindspore.common.parameter": _TENSORS,
    "mindspore.common.seed": ("graphc",),
    "mindspore.common.tensor": _TENSORS,
    "mindspore.context": ("graphc.context", "graphc.parallel"),
    "mindspore.amp": ("graphc.amp",),
    "mindspore.train": ("graphc", "graphc.train", "graphc.amp", "graphc.checkpoint"),
    "mindspore.train.callback": ("graphc.train",),
    "mindspore.train.amp": ("graphc.amp",),
    "mindspore.train.loss_scale_manager": ("graphc.amp",),
    "mindspore.train.serialization": ("graphc.checkpoint",),
    "mindspore.communication": ("graphc.parallel",),
    "mindspore.communication.management": ("graphc.parallel",),
    "mindspore.parallel": ("graphc.parallel",),
    "mindspore.parallel._auto_parallel_context": ("graphc.parallel",),
    "mindspore.parallel._utils": ("graphc.parallel",),
    "mindspore._checkparam": ("graphc.compat.checkparam",),
    "mindspore.log": ("graphc.compat.log",),
    "mindspore.dataset": ("graphc.dataset",),
}


class Shadow(ModuleType):
    """A module of MindSpore's name whose contents are graphc's."""

    def __init__(self, name: str) -> None:
        super().__init__(name, f"{name}, by graphc")
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if f"{self.__name__}.{name}" in MODULES:
            return import_module(f"{self.__name__}.{name}")
        for provider in _providers(self.__name__):
            if hasattr(provider, name):
                value = getattr(provider, name)
                setattr(self, name, value)
                return value
        message = f"graphc has no {self.__name__}.{name}{_nearest(self.__name__, name)}"
        # `from module import name` hides what an AttributeError says.
        frame = sys._getframe(1)
        importing = frame.f_code.co_code[frame.f_lasti] == opcode.opmap["IMPORT_FROM"]
        raise (
            ImportError(message, name=self.__name__)
            if importing and not name.startswith("__")
            else AttributeError(message)
        )

    def __dir__(self) -> list[str]:
        return sorted({n for provider in _providers(self.__name__) for n in dir(provider) if not n.startswith("_")})

    @property
    def __all__(self) -> list[str]:
        return dir(self)


def _providers(name: str) -> list[ModuleType]:
    found = []
    for path in MODULES[name]:
        try:
            found.append(import_module(path))
        except ModuleNotFoundError as error:
            if error.name is None or not path.startswith(error.name):
                raise
    return found


def _nearest(module: str, name: str) -> str:
    known = [n for provider in _providers(module) for n in dir(provider) if not n.startswith("_")]
    near = difflib.get_close_matches(name, known, n=3)
    return f"; the nearest there is: {', '.join(near)}" if near else ""


class _Finder(MetaPathFinder, Loader):
    """Makes `mindspore` and the modules of MODULES importable."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != "mindspore" and not name.startswith("mindspore."):
            return None
        if name not in MODULES:
            near = difflib.get_close_matches(name, MODULES, n=3)
            hint = f"; the nearest there is: {', '.join(near)}" if near else ""
            raise ModuleNotFoundError(f"graphc has no module {name}{hint}", name=name)
        return ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return Shadow(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Names are looked up when they are asked for."""


_finder: _Finder | None = None


def installed() -> bool:
    """Whether `import mindspore` means graphc."""
    return _finder is not None


def install() -> None:
    """Let `import mindspore` mean graphc in this process. RuntimeError if MindSpore itself has been imported."""
    global _finder
    if _finder is not None:
        return
    real = sys.modules.get("mindspore")
    if real is not None:
        raise RuntimeError("MindSpore itself is imported already; call graphc.compat.install() before it")
    _finder = _Finder()
    sys.meta_path.insert(0, _finder)


def uninstall() -> None:
    """Undo `install`; modules already imported keep what they have."""
    global _finder
    if _finder is None:
        return
    sys.meta_path.remove(_finder)
    for name in [n for n in sys.modules if n == "mindspore" or n.startswith("mindspore.")]:
        if isinstance(sys.modules[name], Shadow):
            del sys.modules[name]
    _finder = None
