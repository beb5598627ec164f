"""From object code to functions that can be called."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphc_codegen.errors import CodegenError
from graphc_codegen.target import Target, machine


@dataclass(frozen=True)
class Loaded:
    """Object code in memory, of `size` bytes, and the `addresses` of its exported symbols; unloaded with the last reference."""

    addresses: dict[str, int]
    size: int
    _keep: tuple[Any, ...]

    def function(self, name: str, *, words: int = 1) -> Callable[..., int]:
        """A callable int32 (int64, ...) for a symbol; it releases the GIL."""
        return ctypes.CFUNCTYPE(ctypes.c_int32, *[ctypes.c_int64] * words)(self.addresses[name])


@dataclass(frozen=True)
class Imported:
    """Machine code of Numba's in this process, as long as it is referred to."""

    address: int
    _keep: Any


def load(
    objects: Sequence[bytes], exported: Sequence[str], target: Target, functions: Mapping[str, Imported] | None = None
) -> Loaded:
    """Link objects into this process, which may call `functions`. Raises CodegenError when they need what does not exist."""
    import llvmlite.binding as llvm

    try:
        # ARM's code reaches what lies 4 GB from it. LLVM's newer linker puts all parts of an object next to each other, the older
        # one where the system has room, and it ends the process where that is too far away.
        jit = llvm.create_lljit_compiler(machine(target), use_jit_link=target.arm)
        builder = llvm.JITLibraryBuilder().add_current_process()
        for code in objects:
            builder = builder.add_object_img(code)
        for name in exported:
            builder = builder.export_symbol(name)
        for name, function in (functions or {}).items():
            builder = builder.import_symbol(name, function.address)
        tracker = builder.link(jit, "graphc")
        addresses = {name: tracker[name] for name in exported}
    except RuntimeError as error:
        raise CodegenError(f"cannot load the compiled step: {error}") from None
    return Loaded(addresses, sum(map(len, objects)), (tracker, jit, functions))
