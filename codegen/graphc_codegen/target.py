"""The machine that code is made for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from graphc_codegen.errors import CodegenError

#: The beginnings of the names of processors whose dot products of bfloat16 make more multiply-adds than instructions for float32:
#: twice as many on Zen 5. On an Emerald Rapids they make less than half.
_MULTIPLY_BFLOAT16 = ("znver",)
_AVX512 = ("avx512f", "avx512vl", "avx512dq", "avx512bw")
_TILES = ("amx-tile", "amx-bf16", "avx512bf16")

#: x86's word of modes, with bits for results and for operands.
_MXCSR = (
    ("declare void @llvm.x86.sse.stmxcsr(ptr)", "declare void @llvm.x86.sse.ldmxcsr(ptr)"),
    (
        "%saved = alloca i32",
        "%flushing = alloca i32",
        "call void @llvm.x86.sse.stmxcsr(ptr %saved)",
        "%mode = load i32, ptr %saved",
        f"%mode.flushing = or i32 %mode, {0x8040}",
        "store i32 %mode.flushing, ptr %flushing",
        "call void @llvm.x86.sse.ldmxcsr(ptr %flushing)",
    ),
    ("call void @llvm.x86.sse.ldmxcsr(ptr %saved)",),
)
#: ARM's, with one bit for both.
_FPCR = (
    ("declare i64 @llvm.aarch64.get.fpcr()", "declare void @llvm.aarch64.set.fpcr(i64)"),
    (
        "%mode = call i64 @llvm.aarch64.get.fpcr()",
        f"%mode.flushing = or i64 %mode, {1 << 24}",
        "call void @llvm.aarch64.set.fpcr(i64 %mode.flushing)",
    ),
    ("call void @llvm.aarch64.set.fpcr(i64 %mode)",),
)


@dataclass(frozen=True, slots=True)
class Target:
    """CPU, its features, and what emitters need to know of them.

    `features` is LLVM's comma-separated list, `lanes` the number of floats in a vector of the emitters,
    `fused` whether there is a fused multiply-add, `wide` whether 512-bit registers are preferred, `bfloat16` whether such
    registers of bfloat16 are multiplied and rounded by instructions, which not all do that have them. `tiles` says whether there
    are AMX' registers for products of bfloat16, for which a process must ask (`permission`).
    """

    triple: str
    cpu: str
    features: str
    lanes: int
    fused: bool
    wide: bool
    bfloat16: bool = False
    tiles: bool = False

    @property
    def x86(self) -> bool:
        return self.triple.split("-")[0] in ("x86_64", "i686", "amd64")

    @property
    def arm(self) -> bool:
        """64 bits of it: Linux says aarch64, Apple arm64."""
        return self.triple.startswith(("aarch64", "arm64"))

    @property
    def converts(self) -> bool:
        """Whether instructions make float16 of floats and back: F16C, AVX-512, all of ARM; else LLVM would call a library."""
        return self.lanes >= 8 or self.arm

    @property
    def pause(self) -> tuple[str, ...]:
        """The intrinsic that tells the processor that a loop waits, and the types of its arguments; maybe none."""
        if self.x86:
            return ("llvm.x86.sse2.pause",)
        return ("llvm.aarch64.hint", "i32") if self.arm else ()

    @property
    def pause_call(self) -> str:
        """The line that calls it."""
        if not self.pause:
            return "; no way to pause is known"
        return f"call void @{self.pause[0]}({'i32 1' if len(self.pause) > 1 else ''})"

    @property
    def clock(self) -> tuple[str, str]:
        """The declaration of the intrinsic that reads a clock of the processor which ticks evenly, and the call of it.

        LLVM's own for such a clock is 0 where a processor's is not known to it, as on AArch64, whose virtual counter has a name.
        """
        if self.arm:
            name = "i64 @llvm.read_register.i64"
            return f"declare {name}(metadata)", f'call {name}(metadata !{{!"cntvct_el0"}})'
        return "declare i64 @llvm.readcyclecounter()", "call i64 @llvm.readcyclecounter()"

    @property
    def flushing(self) -> tuple[tuple[str, ...], ...]:
        """Lines of IR: declarations; what lets denormal operands and results count as zero from there on; what lets them be as
        before. All empty where no way to do that is known.
        """
        if self.x86:
            return _MXCSR
        return _FPCR if self.arm else ((), (), ())

    @property
    def futex(self) -> int:
        """The number of Linux' system call `futex`, 0 where there is none."""
        if "linux" not in self.triple:
            return 0
        return {"x86_64": 202, "amd64": 202, "aarch64": 98}.get(self.triple.split("-")[0], 0)

    @property
    def key(self) -> str:
        """Everything that the object code depends on."""
        return f"{self.triple} {self.cpu} {self.features} {self.lanes} {self.bfloat16} {self.tiles}"


def describe(triple: str, cpu: str, features: dict[str, bool]) -> Target:
    """The target for a CPU with the given features (LLVM's names).

    Raises CodegenError for an x86 processor without SSE4.1: rounding would become calls into the C library.
    """
    text = ",".join(f"{'+' if on else '-'}{name}" for name, on in sorted(features.items()))
    if not triple.startswith(("x86_64", "amd64", "i686")):
        return Target(triple, cpu, text, 4, True, False)
    if not features.get("sse4.1"):
        raise CodegenError(f"processor {cpu} has no SSE4.1, which compiled steps need")
    fused = features.get("fma", False)
    wide = all(features.get(name) for name in _AVX512)
    lanes = 16 if wide else 8 if features.get("avx2") and features.get("f16c") and fused else 4
    pairs = wide and features.get("avx512bf16", False) and cpu.startswith(_MULTIPLY_BFLOAT16)
    tiles = wide and all(features.get(name) for name in _TILES)
    return Target(triple, cpu, text, lanes, fused, wide, pairs, tiles)


@cache
def host() -> Target:
    """The target for this machine. Raises CodegenError when it is not supported."""
    import llvmlite.binding as llvm

    triple = llvm.get_process_triple()
    return describe(triple, llvm.get_host_cpu_name(), dict(llvm.get_host_cpu_features()))


def machine(target: Target, *, jit: bool = True) -> Any:
    """LLVM's target machine: position-independent code at codegen level 1."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    chosen = llvm.Target.from_triple(target.triple)
    return chosen.create_target_machine(
        cpu=target.cpu, features=target.features, opt=1, reloc="pic", codemodel="default", jit=jit
    )
