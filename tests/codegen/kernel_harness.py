"""Compiles one function written by a `Writer` and calls it on arrays that stand between canaries."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from graphc_codegen.declarations import Declarations
from graphc_codegen.kernels import emitter as emitter_of
from graphc_codegen.kernels.narrow import NarrowWriter
from graphc_codegen.program import Instr, NamedKernel, divisible, written
from graphc_codegen.scalars.halves import numpy_dtype
from graphc_codegen.target import host
from graphc_codegen.writer import Writer
from tests.codegen.threaded import Runner, same

Array = np.ndarray[Any, np.dtype[Any]]
Body = Callable[[Writer, Sequence[str]], None]

#: An epilogue: the larger of 0 and the result times operand 1 plus operand 2; value 6 is that, value 0 the result.
AFFINE_RELU = (
    Instr("input", (), "float32", 0),
    Instr("input", (), "float32", 1),
    Instr("mul", (0, 1)),
    Instr("input", (), "float32", 2),
    Instr("add", (2, 3)),
    Instr("const", (), "float32", 0.0),
    Instr("max", (4, 5)),
)
_CANARY = 0xA5
_GUARD = 256
_names = itertools.count()


@dataclass(frozen=True)
class Compiled:
    """A loaded function; `keep` holds what must outlive it."""

    call: Callable[..., None]
    text: str
    keep: tuple[Any, ...]


@cache
def _machine(lanes: int) -> llvm.TargetMachine:
    """This processor, but 8 lanes on x86 mean AVX2 without the masks of AVX-512."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    if lanes == 8 and llvm.get_process_triple().startswith("x86_64"):
        cpu, features = "haswell", ""
    else:
        cpu, features = llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=cpu, features=features, opt=1, reloc="pic", jit=True)


def ir_text(body: Body, pointers: int, lanes: int, *, bfloat16: bool = False, tiles: bool = False) -> str:
    """The module text of `void f(ptr, ...)` whose lines `body` writes."""
    declarations = Declarations()
    writer = NarrowWriter(declarations, lanes, bfloat16=bfloat16)
    writer.tiles = tiles
    names = [f"%p{i}" for i in range(pointers)]
    body(writer, names)
    arguments = ", ".join(f"ptr {n}" for n in names)
    functions = [(f"define void @f({arguments})", writer.lines)]
    for stage in writer.stages.values():
        declarations.update(stage.declarations)
        functions.append((stage.head, list(stage.lines)))
    kind = f'nounwind "prefer-vector-width"="{32 * lanes}"'
    written = [line for head, lines in functions for line in (f"{head} {kind} {{", "body:", *lines, "  ret void", "}")]
    return "\n".join([*declarations, *written]) + "\n"


def compile_text(text: str, pointers: int, lanes: int) -> Compiled:
    """Verify, compile at codegen level 1 without passes, load."""
    machine = _machine(lanes)
    module = llvm.parse_assembly(text)
    module.triple = llvm.get_process_triple()
    module.verify()
    code = machine.emit_object(module)
    engine = llvm.create_lljit_compiler(machine)
    builder = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
    library = builder.export_symbol("f").link(engine, f"kernel{next(_names)}")
    function = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * pointers)(library["f"])
    return Compiled(function, text, (engine, library))


@cache
def _compiled(name: str, params: tuple[tuple[str, Any], ...], lanes: int, bfloat16: bool) -> Compiled:
    values = dict(params)
    emitter = emitter_of(NamedKernel(name, params))
    count = len(emitter.operands(values))
    tiles = lanes == 16 and host().tiles
    text = ir_text(lambda w, p: emitter.emit(w, values, p), count, lanes, bfloat16=bfloat16, tiles=tiles)
    return compile_text(text, count, lanes)


def kernel(name: str, params: Mapping[str, Any], lanes: int = 16, *, bfloat16: bool = False) -> Compiled:
    """The named kernel compiled for `lanes`, and with `bfloat16` for a processor with instructions for that."""
    return _compiled(name, tuple(sorted(params.items())), lanes, bfloat16)


class Guarded:
    """A copy of an array surrounded by bytes that no kernel may touch.

    It starts one element past a vector boundary: kernels may assume the alignment of an element and no more.
    """

    def __init__(self, data: Array) -> None:
        self._raw = np.full(data.nbytes + 2 * _GUARD + 64, _CANARY, np.uint8)
        start = -self._raw.ctypes.data % 64 + _GUARD + data.dtype.itemsize
        self._span = (start, start + data.nbytes)
        self.array = self._raw[start : start + data.nbytes].view(data.dtype)
        self.array[:] = data

    def check(self) -> None:
        low, high = self._span
        assert (self._raw[:low] == _CANARY).all(), "wrote before the array"
        assert (self._raw[high:] == _CANARY).all(), "wrote after the array"


def _flat(data: Array, dtype: str, size: int) -> Array:
    assert data.dtype == numpy_dtype(dtype), (data.dtype, dtype)
    assert data.size == size, (data.size, size)
    return np.ascontiguousarray(data).reshape(-1)


@cache
def _runner(name: str, params: tuple[tuple[str, Any], ...]) -> Runner:
    return Runner([NamedKernel(name, params)], host())


def run_kernel(
    name: str,
    params: Mapping[str, Any],
    *inputs: Array,
    lanes: int = 16,
    before: Sequence[Array] = (),
    divided: bool = False,
    bfloat16: bool = False,
) -> list[Array]:
    """Call a named kernel on copies of `inputs`; returns its outputs, flat.

    Checks that nothing outside the outputs changed. Outputs hold `before`, or else bytes 0xff (NaN, -1). With `divided`
    several threads of this processor share the work; else `bfloat16` says that it has instructions for that.
    """
    operands = emitter_of(NamedKernel(name, tuple(params.items()))).operands(params)
    count = written(NamedKernel(name, tuple(params.items())))
    assert (
        [o.role for o in operands[len(operands) - count :]]
        == ["out"] * count
        == [o.role for o in operands if o.role == "out"]
    )
    given, initial = iter(inputs), iter(before)
    guarded: list[Guarded] = []
    for o in operands:
        if o.role == "out" and not before:
            data = np.frombuffer(b"\xff" * (numpy_dtype(o.dtype).itemsize * o.size), numpy_dtype(o.dtype))
        else:
            data = _flat(next(given if o.role == "in" else initial), o.dtype, o.size)
        guarded.append(Guarded(data))
    assert next(given, None) is None, "more inputs than operands"
    old = [g.array.tobytes() for g in guarded]
    addresses = [g.array.ctypes.data for g in guarded]
    if divided:
        known = tuple(sorted(params.items()))
        _runner(name, known).call(NamedKernel(name, known), addresses)
    else:
        kernel(name, params, lanes, bfloat16=bfloat16).call(*addresses)
    for o, g, bytes_before in zip(operands, guarded, old, strict=True):
        g.check()
        assert o.role == "out" or g.array.tobytes() == bytes_before, "an input was modified"
    return [g.array.copy() for o, g in zip(operands, guarded, strict=True) if o.role == "out"]


def run_twin(name: str, params: Mapping[str, Any], *inputs: Array, before: Sequence[Array] = ()) -> list[Array]:
    """The kernel's NumPy twin on the same operands. Outputs hold `before`, or else ones."""
    emitter = emitter_of(NamedKernel(name, tuple(params.items())))
    given, initial = iter(inputs), iter(before)
    arrays: list[Array] = []
    outputs: list[Array] = []
    for o in emitter.operands(params):
        if o.role == "in":
            arrays.append(_flat(next(given), o.dtype, o.size))
            arrays[-1].setflags(write=False)
        else:
            arrays.append(
                _flat(next(initial), o.dtype, o.size).copy() if before else np.ones(o.size, numpy_dtype(o.dtype))
            )
            outputs.append(arrays[-1])
    emitter.twin(params, *arrays)
    return outputs


def run_all(
    name: str, params: Mapping[str, Any], *inputs: Array, before: Sequence[Array] = ()
) -> dict[str, list[Array]]:
    """The outputs of the kernel with 16 lanes, with 8, and of its twin. Several threads must do what one does."""
    adds_up = params.get("accumulate") or (params.get("in_place") and params.get("mode") in ("add", "mul"))
    if divisible(NamedKernel(name, tuple(params.items()))) and not adds_up:  # They run twice.
        alone = run_kernel(name, params, *inputs, lanes=host().lanes, before=before)
        for got, want in zip(run_kernel(name, params, *inputs, before=before, divided=True), alone, strict=True):
            same(got, want)
    return {
        "16 lanes": run_kernel(name, params, *inputs, lanes=16, before=before),
        "8 lanes": run_kernel(name, params, *inputs, lanes=8, before=before),
        "twin": run_twin(name, params, *inputs, before=before),
    }


def random(seed: int, *shape: int) -> Array:
    """Standard normal float32."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
