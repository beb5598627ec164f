"""Makes MindSpore's modules importable beneath graphc, and completes those that graphc has files for."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

from graphc.errors import printable, suggestions
from graphc.paths.lookup import Shadow, complete, elsewhere, left_out
from graphc.paths.table import MODULES, is_module, mindspore_name


class _Loader(Loader):
    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return Shadow(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Names are looked up when they are asked for."""


#: What makes the modules, wherever they are found.
LOADER = _Loader()


class _Completing(Loader):
    """Loads a module as another loader does, and completes it."""

    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        if spec is not None:
            spec.loader = module.__loader__ = self.loader
        self.loader.exec_module(module)
        complete(module)


class _Completer(MetaPathFinder):
    """Asked first, for modules of graphc at paths of MindSpore's: what the other finders find, to be completed."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not name.startswith("graphc.") or not is_module(name):
            return None
        others = [f for f in sys.meta_path if f is not self and not isinstance(f, _Finder)]
        spec = next((s for f in others if (s := f.find_spec(name, path, target)) is not None), None)
        if spec is not None and spec.loader is not None:
            spec.loader = _Completing(spec.loader)
        return spec


class _Finder(MetaPathFinder):
    """Asked last, for what no other finder has found."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not name.startswith("graphc."):
            return None
        package, _, child = name.rpartition(".")
        if is_module(name):
            # An import would put the module in the place of what the package has by this name.
            parent = sys.modules.get(package)
            if not isinstance(parent, Shadow) and child in getattr(parent, "__all__", ()):
                return None
            return ModuleSpec(name, LOADER, is_package=True)
        key = mindspore_name(package)
        if key in MODULES and (use := left_out(key, child)):
            raise ModuleNotFoundError(f"graphc has no module {printable(name)}; {use}", name=name)
        return None


def install() -> None:
    """Make them importable, and attributes of the packages that they are in; complete the modules that have files."""
    for name in [n for n in sys.modules if n.startswith("graphc.") and is_module(n)]:
        complete(sys.modules[name])
    sys.meta_path.insert(0, _Completer())
    sys.meta_path.append(_Finder())
    suggestions.member_of = elsewhere
