"""From a program to one that can be bound to memory: compiled, found in the cache, or checked."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from graphc_codegen.errors import CodegenError
from graphc_codegen.forks import unforked
from graphc_codegen.links import require_group, require_window
from graphc_codegen.object_code.loading import Imported, Loaded, load
from graphc_codegen.object_code.numba_step import ENTRY
from graphc_codegen.program import Program, collective_groups, is_custom, windows
from graphc_codegen.run.bound import Array, Bound
from graphc_codegen.run.native import NativeBound
from graphc_codegen.run.threads import Pool, pool, pool_objects
from graphc_codegen.target import Target, host
from graphc_codegen.text.render import Rendered, render


@dataclass(frozen=True)
class Executable:
    """A compiled program and how it came to be.

    `cache_hit` says that the object code was found in the cache; `compile_seconds` the time of every stage.
    With `checked` the step runs as plain Python on NumPy kernels.
    """

    program: Program
    checked: bool
    cache_hit: bool
    compile_seconds: dict[str, float]
    _rendered: Rendered = field(repr=False)
    _loaded: Loaded | None = field(repr=False)
    _cache_dir: Path | None = field(repr=False, default=None)

    @property
    def target(self) -> Target:
        """The machine that it was compiled for."""
        return self._rendered.target

    @property
    def source(self) -> str:
        """The generated step, Python for Numba."""
        return self._rendered.source

    @property
    def kernels(self) -> str:
        """The generated kernels, LLVM IR."""
        return self._rendered.kernels

    @property
    def held(self) -> int:
        """Bytes of its machine code, and of its texts if they have been made."""
        return self._rendered.held + (self._loaded.size if self._loaded else 0)

    @property
    def entry_address(self) -> int:
        """Address of the C entry `int32 (int64 ctx)`, for a user's njit loop: see `NativeBound.context`.

        Raises CodegenError in checked mode, which has no native code.
        """
        return self._native().addresses[ENTRY]

    def bind(self, params: Sequence[Array], consts: Sequence[Array]) -> Bound:
        """Allocate the arena and tie the program to its parameters and constants.

        Arrays of bfloat16 buffers, here, as inputs and as read, have the dtype `ml_dtypes.bfloat16`.
        Raises ValueError when an array does not have its buffer's dtype and size, is not C-contiguous, or is
        a parameter that cannot be written; CodegenError when it is made for processes that this one does not know.
        """
        for group in collective_groups(self.program.kernels().values()):
            require_group(group)
        for group, end in windows(self.program.kernels().values()).items():
            require_window(group, end)
        if self.checked:
            from graphc_codegen.run.checked import CheckedBound  # A step from the object cache needs no emitter.

            return CheckedBound(self._rendered, params, consts)
        return NativeBound(self._rendered, self._native(), self._pool(), params, consts, self._cache_dir)

    def objects(self) -> list[bytes]:
        """The object code of the step and, if it has several threads, of their pool; compiled again where no cache has it.

        Raises CodegenError in checked mode, and for a program with users' functions, whose code is in this process only.
        """
        self._native()
        if any(map(is_custom, self.program.kernels().values())):
            raise CodegenError("users' functions have no object code")
        objects, _ = _objects(self._rendered, self._cache_dir, 1, {}, {})
        return [*objects, *(pool_objects(self._cache_dir) if self.program.threads > 1 else [])]

    @property
    def rendered(self) -> Rendered:
        """The program laid out."""
        return self._rendered

    def _native(self) -> Loaded:
        if self._loaded is None:
            raise CodegenError("a checked program has no native entry")
        return self._loaded

    def _pool(self) -> Pool | None:
        threads = self.program.threads
        return pool(threads, self._cache_dir) if threads > 1 else None


def compile_program(
    program: Program,
    *,
    cache_dir: Path | None,
    checked: bool = False,
    target: Target | None = None,
    compile_threads: int = 1,
) -> Executable:
    """Compile a program for this machine (or `target`).

    `cache_dir` is the directory of the object cache, None for no cache. With `checked` nothing is compiled:
    the step runs in Python, every kernel as its NumPy twin, and every access is checked. LLVM works on
    `compile_threads` threads, beside the caller's. Raises CodegenError when the program contradicts itself or a
    compiler refuses it, KernelError when Numba refuses a user's function.
    """
    seconds: dict[str, float] = {}
    started = time.perf_counter()
    with unforked:
        target = target or host()
        rendered = render(program, target)
        seconds["layout"] = time.perf_counter() - started
        if checked:
            from graphc_codegen.validate import validate  # A step from the object cache needs no emitter.

            validate(program)
            return Executable(program, checked, False, seconds, rendered, None, cache_dir)
        loaded, hit = _load(rendered, cache_dir, compile_threads, seconds)
    return Executable(program, checked, hit, seconds, rendered, loaded, cache_dir)


def _load(
    rendered: Rendered, cache_dir: Path | None, compile_threads: int, seconds: dict[str, float]
) -> tuple[Loaded, bool]:
    functions: Mapping[str, Imported] = {}
    if any(map(is_custom, rendered.program.kernels().values())):
        functions = _functions(rendered.program, seconds)
    objects, hit = _objects(rendered, cache_dir, compile_threads, seconds, functions)
    started = time.perf_counter()
    loaded = load(objects, [ENTRY], rendered.target, functions)
    seconds["load"] = time.perf_counter() - started
    return loaded, hit


def _objects(
    rendered: Rendered,
    cache_dir: Path | None,
    compile_threads: int,
    seconds: dict[str, float],
    functions: Mapping[str, Imported],
) -> tuple[list[bytes], bool]:
    """The object code of a program, and whether it was in the cache."""
    from graphc_codegen.object_code import cache  # A step from the object cache needs no emitter.

    # What a user's function does, its globals and what it calls, is in no key: such programs stay out of the cache.
    store = cache.ObjectCache(cache_dir) if cache_dir is not None and not functions else None
    name = cache.key(rendered.key_material, rendered.target.key)
    objects = store.load(name) if store else None
    hit = objects is not None
    if objects is None:
        # A step from the object cache needs no emitter.
        from graphc_codegen.object_code.compiling import compile_objects
        from graphc_codegen.validate import validate

        validate(rendered.program)  # A hit is a program that has been valid before.
        threads = rendered.program.threads
        # Its code may have to be compiled, too.
        beside = partial(pool, threads, cache_dir) if threads > 1 else None
        objects = compile_objects(rendered, seconds, compile_threads, beside, functions)
        if store:
            store.store(name, objects, ENTRY)
    return objects, hit


def _functions(program: Program, seconds: dict[str, float]) -> Mapping[str, Imported]:
    """The users' functions of a valid program, compiled. Raises CodegenError, KernelError."""
    # A step from the object cache needs no emitter.
    from graphc_codegen.object_code.user_functions import compile_functions
    from graphc_codegen.validate import validate

    validate(program)
    started = time.perf_counter()
    found = compile_functions(program)
    seconds["functions"] = time.perf_counter() - started
    return found
