"""What a module of MindSpore's has: names that its providers export; and what is said of a name that none has."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

from graphc.errors import TraceAttributeError, printable, suggestions, user_loc
from graphc.errors.suggestions import HABITS, imports_from, nearest
from graphc.errors.unsupported import instead
from graphc.paths.imported import ALIASES, COMMON, is_file
from graphc.paths.table import MODULES, is_module, mindspore_name
from graphc.tracebacks import clean
from graphc.validation.signatures import wrappers


class Shadow(ModuleType):
    """A module of MindSpore's name, or of that path beneath graphc, whose contents are graphc's."""

    def __init__(self, name: str) -> None:
        super().__init__(name, f"{name}, by graphc")
        self.__path__: list[str] = []

    def __getattr__(self, name: str) -> Any:
        if is_module(f"{self.__name__}.{name}"):
            return suggestions.provider(f"{self.__name__}.{name}")
        key = mindspore_name(self.__name__)
        inside = is_file(key)
        for provider in [*providers(key), *(map(suggestions.provider, COMMON) if inside else ())]:
            # A module that a package of graphc's has stands for nothing in a file.
            if exports(provider, name) and not (inside and isinstance(getattr(provider, name), ModuleType)):
                value = _as_users_know(getattr(provider, name))
                setattr(self, name, value)
                return value
        if name in ALIASES and inside:
            root = self.__name__.partition(".")[0]
            return suggestions.provider(root + ALIASES[name].removeprefix("mindspore"))
        message = f"graphc has no {self.__name__}.{printable(name)}{_nearest(key, name)}"
        if name.startswith("__"):
            raise AttributeError(message)
        if imports_from(sys._getframe(1)):
            raise ImportError(message, name=self.__name__)
        raise TraceAttributeError(message, loc=user_loc(), help=HABITS.get(name))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Modules such as mindspore.common.mutable, which stand for the function of the same name in them."""
        return getattr(self, self.__name__.rpartition(".")[2])(*args, **kwargs)

    def __dir__(self) -> list[str]:
        return sorted(_public(mindspore_name(self.__name__)))

    @property
    def __all__(self) -> list[str]:
        return dir(self)


def providers(name: str) -> list[ModuleType]:
    """The modules of graphc that a module of MODULES has its names of, in order."""
    found = []
    for path in MODULES[name]:
        try:
            found.append(suggestions.provider(path))
        except ModuleNotFoundError as error:
            if error.name is None or not path.startswith(error.name):
                raise
    return found


def others_of(module: str) -> Callable[[str], Any]:
    """`__getattr__` of a module with a file of its own: what MindSpore's module of this path has besides, and graphc has too."""

    def find(name: str) -> Any:
        try:
            return suggestions.no_member(module, name, vars(sys.modules[module]))
        except (AttributeError, ImportError) as error:
            clean(error)
            raise

    return find


def elsewhere(path: str) -> Any:
    """What stands for a name that some module of graphc lacks: a module of MindSpore's, or what a provider of the module's
    other names has; None if there is none.
    """
    if is_module(path):
        return suggestions.provider(path)
    module, _, name = path.rpartition(".")
    key = mindspore_name(module)
    if key == "mindspore" or key not in MODULES or name.startswith("_"):
        return None
    for provider in providers(key):
        if (
            provider.__name__ != module
            and not provider.__name__.startswith("graphc.compat")
            and exports(provider, name)
        ):
            return _as_users_know(getattr(provider, name))
    return None


def _as_users_know(member: Any) -> Any:
    """A function with the wrapper that it has elsewhere: names of one function are names of one object."""
    return wrappers.get(member, member) if isinstance(member, FunctionType) else member


def exports(module: ModuleType, name: str) -> bool:
    """Whether a name is one of those that a provider is for: of `__all__`, a private one of graphc's own, or what Python gives
    every module; not what it has imported for itself.
    """
    if name in module.__all__ or not name.startswith("_"):
        return name in module.__all__
    if name not in vars(module):
        return False
    value = vars(module)[name]
    # A table does not say where it was made; what modules import of others' is functions and classes.
    own = str(getattr(value, "__module__", "graphc")).startswith("graphc") and not isinstance(value, ModuleType)
    return own or name.startswith("__")


def _public(module: str) -> set[str]:
    """The names that a module of MODULES has of its providers."""
    return {n for provider in providers(module) for n in provider.__all__ if not n.startswith("_")}


def complete(module: ModuleType) -> None:
    """Let a module that has a file of its own have the other names and modules of MindSpore's at its path."""
    name = module.__name__
    if "__getattr__" not in vars(module):
        module.__getattr__ = others_of(name)  # type: ignore[method-assign]
    if not hasattr(module, "__path__") and any(m.startswith(f"{mindspore_name(name)}.") for m in MODULES):
        module.__path__ = []  # A package to Python: the finder knows what is in it.


def module_hint(name: str) -> str:
    """What to use for a module that is not there, or the names of modules that are nearly so."""
    parent, _, child = name.rpartition(".")
    if parent in MODULES and (use := left_out(parent, child)):
        return f"; {use}"
    near = nearest(name, MODULES, 3)
    return f"; the nearest there is: {', '.join(near)}" if near else ""


def _nearest(module: str, name: str) -> str:
    parent, _, child = module.rpartition(".")
    # What a module lacks that is itself left out has the same reason.
    if use := left_out(module, name) or (parent and left_out(parent, child)):
        return f"; {use}"
    near = nearest(name, sorted(_public(module)), 3)
    return f"; the nearest there is: {', '.join(near)}" if near else ""


def left_out(module: str, name: str) -> str | None:
    """What to use for a name that a module of MODULES lacks on purpose."""
    own = "graphc" + module.removeprefix("mindspore")
    # A package that its modules' names are left out of says it for them.
    around = [own.rsplit(".", back)[0] for back in range(1, own.count(".") + 1)]
    return next((use for path in (own, *MODULES[module], *around, "graphc") if (use := instead(path, name))), None)
