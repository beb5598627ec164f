"""`import mindspore` and what is in it: modules whose contents are graphc's, by the table of `graphc.paths`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from importlib.machinery import ModuleSpec
from importlib.metadata import Distribution, DistributionFinder
from pathlib import Path
from types import ModuleType

from graphc import context
from graphc.compat.aliases import Alias, AliasFinder
from graphc.compat.toplevel import __version__
from graphc.errors import printable
from graphc.ops.tensor import dtype
from graphc.paths.finders import LOADER
from graphc.paths.lookup import Shadow, module_hint
from graphc.paths.table import MODULES


class _Package(Distribution):
    """What is installed as MindSpore, for packages that look for its version before they import it."""

    def read_text(self, filename: str) -> str | None:
        return f"Metadata-Version: 2.1\nName: mindspore\nVersion: {__version__}\n" if filename == "METADATA" else None

    def locate_file(self, path: str | os.PathLike[str]) -> Path:
        return Path(__file__).parent / path


class _Finder(DistributionFinder):
    """Makes `mindspore` and the modules of MODULES importable, and its version known."""

    def find_distributions(
        self,
        context: DistributionFinder.Context = DistributionFinder.Context(),  # noqa: B008, as the base class has it
    ) -> Iterable[Distribution]:
        return [_Package()] if context.name is not None and context.name.lower() == "mindspore" else []

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != "mindspore" and not name.startswith("mindspore."):
            return None
        if name not in MODULES:
            raise ModuleNotFoundError(f"graphc has no module {printable(name)}{module_hint(name)}", name=name)
        return ModuleSpec(name, LOADER, is_package=True)


_finder: _Finder | None = None
_alias_finder = AliasFinder()


def installed() -> bool:
    """Whether `import mindspore` means graphc."""
    return _finder is not None


def install() -> None:
    """Let `import mindspore` mean graphc in this process, and the modules of `aliases.ALIASES` what graphc has of MindFormers,
    unless that is installed. Until a mode is set, Cells that only Python can run are run by it, with a warning
    (`graphc.steps.python_fallback`). RuntimeError if MindSpore itself has been imported.
    """
    global _finder
    if _finder is not None:
        return
    real = sys.modules.get("mindspore")
    if real is not None:
        raise RuntimeError("MindSpore itself is imported already; call graphc.compat.install() before it")
    _finder = _Finder()
    sys.meta_path.insert(0, _finder)
    sys.meta_path.append(_alias_finder)
    context.of_mindspore(True)
    dtype.of_package("mindspore")


def uninstall() -> None:
    """Undo `install`; modules already imported keep what they have."""
    global _finder
    if _finder is None:
        return
    sys.meta_path.remove(_finder)
    sys.meta_path.remove(_alias_finder)
    shadows = [n for n, module in sys.modules.items() if isinstance(module, (Shadow, Alias))]
    for name in (n for n in shadows if not n.startswith("graphc.")):
        del sys.modules[name]
    _finder = None
    context.of_mindspore(False)
    dtype.of_package("graphc")
