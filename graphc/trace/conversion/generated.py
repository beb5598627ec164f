"""malt's output, compiled in memory: its own loader writes it to the shared temporary folder and imports it from there."""

from __future__ import annotations

import ast
import itertools
import linecache
import types
from typing import Any

from malt.impl import api
from malt.pyct import origin_info, parser, transpiler

_numbers = itertools.count(1)


class _Factory(transpiler._PythonFnFactory):  # type: ignore[misc]
    """Makes functions of one code object; the module that they come of exists in memory only."""

    def create(self, nodes: Any, namer: Any, *names: str, future_features: Any = ()) -> None:
        inner, outer = (namer.new_symbol(n, ()) for n in ("inner_factory", "outer_factory"))
        nodes = transpiler._wrap_into_factory(
            nodes, self._name, inner, outer, self._freevars, self._extra_locals.keys(), future_features
        )
        source = parser.unparse(nodes)
        self.module = _module(self._name, source)
        self.source_map = origin_info.create_source_map(nodes, source, self.module.__file__)
        self._unbound_factory = getattr(self.module, outer)()


def _module(name: str, source: str) -> types.ModuleType:
    """A module of this source. Its lines are to be had for tracebacks and debuggers under its made-up file name."""
    file = f"<graphc {name} {next(_numbers)}>"
    module = types.ModuleType(file)
    module.__file__ = file
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    exec(compile(source, file, "exec", dont_inherit=True), vars(module))
    return module


class InMemory(api.PyToPy):  # type: ignore[misc]
    """malt's conversion of a function, without files."""

    def transform_function(self, fn: Any, user_context: Any) -> tuple[Any, Any, Any]:
        """The converted function, its module, and the source map: generated line -> where it comes from."""
        key = self.get_caching_key(user_context)
        with self._cache_lock:
            if not self._cache.has(fn, key):
                self._cache[fn][key] = self._factory(fn, user_context)
            factory = self._cache[fn][key]
        made = factory.instantiate(fn.__globals__, fn.__closure__ or (), fn.__defaults__, fn.__kwdefaults__)
        return made, factory.module, factory.source_map

    def _factory(self, fn: Any, user_context: Any) -> _Factory:
        nodes, ctx = transpiler.GenericTranspiler.transform_function(self, fn, user_context)
        if isinstance(nodes, ast.Lambda):
            nodes = ast.Assign(targets=[ast.Name(ctx.info.name, ctx=ast.Store())], value=nodes)
        else:
            nodes.name = ctx.info.name
        factory = _Factory(ctx.info.name, fn.__code__.co_freevars, self.get_extra_locals())
        factory.create(nodes, ctx.namer, future_features=ctx.info.future_features)
        return factory
