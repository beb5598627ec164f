"""Which of a processor's features code may use, and how a C program asks for them: CPUID's bits, and XCR0 for wide registers."""

from __future__ import annotations

from dataclasses import dataclass

from graphc_codegen.target import Target

_AVX, _AVX512, _AMX = 0x6, 0xE6, 0x60000
_A, _B, _C, _D = range(4)

#: Intel SDM volume 2, CPUID; AMD APM volume 3, appendix E: LLVM's name -> leaf, subleaf, register, bit, bits of XCR0.
#: Privileged and other instructions that a compiler does not choose by itself are left out.
_BITS = {
    "sse2": (1, 0, _D, 26, 0), "sse3": (1, 0, _C, 0, 0), "pclmul": (1, 0, _C, 1, 0), "ssse3": (1, 0, _C, 9, 0),
    "fma": (1, 0, _C, 12, _AVX), "cx16": (1, 0, _C, 13, 0), "sse4.1": (1, 0, _C, 19, 0), "sse4.2": (1, 0, _C, 20, 0),
    "movbe": (1, 0, _C, 22, 0), "popcnt": (1, 0, _C, 23, 0), "aes": (1, 0, _C, 25, 0), "avx": (1, 0, _C, 28, _AVX),
    "f16c": (1, 0, _C, 29, _AVX),
    "bmi": (7, 0, _B, 3, 0), "avx2": (7, 0, _B, 5, _AVX), "bmi2": (7, 0, _B, 8, 0), "adx": (7, 0, _B, 19, 0),
    "sha": (7, 0, _B, 29, 0), "avx512f": (7, 0, _B, 16, _AVX512), "avx512dq": (7, 0, _B, 17, _AVX512),
    "avx512ifma": (7, 0, _B, 21, _AVX512), "avx512cd": (7, 0, _B, 28, _AVX512), "avx512bw": (7, 0, _B, 30, _AVX512),
    "avx512vl": (7, 0, _B, 31, _AVX512), "avx512vbmi": (7, 0, _C, 1, _AVX512), "avx512vbmi2": (7, 0, _C, 6, _AVX512),
    "gfni": (7, 0, _C, 8, 0), "vaes": (7, 0, _C, 9, _AVX), "vpclmulqdq": (7, 0, _C, 10, _AVX),
    "avx512vnni": (7, 0, _C, 11, _AVX512), "avx512bitalg": (7, 0, _C, 12, _AVX512),
    "avx512vpopcntdq": (7, 0, _C, 14, _AVX512), "avx512vp2intersect": (7, 0, _D, 8, _AVX512),
    "amx-bf16": (7, 0, _D, 22, _AMX), "avx512fp16": (7, 0, _D, 23, _AVX512), "amx-tile": (7, 0, _D, 24, _AMX),
    "amx-int8": (7, 0, _D, 25, _AMX), "avxvnni": (7, 1, _A, 4, _AVX), "avx512bf16": (7, 1, _A, 5, _AVX512),
    "amx-fp16": (7, 1, _A, 21, _AMX), "avxifma": (7, 1, _A, 23, _AVX), "avxvnniint8": (7, 1, _D, 4, _AVX),
    "avxneconvert": (7, 1, _D, 5, _AVX), "avxvnniint16": (7, 1, _D, 10, _AVX),
    "sahf": (0x80000001, 0, _C, 0, 0), "lzcnt": (0x80000001, 0, _C, 5, 0), "sse4a": (0x80000001, 0, _C, 6, 0),
    "xop": (0x80000001, 0, _C, 11, _AVX), "fma4": (0x80000001, 0, _C, 16, _AVX), "tbm": (0x80000001, 0, _C, 21, 0),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Feature:
    """A feature by LLVM's name: its bit in a register (0 to 3: EAX to EDX) of a leaf, and the bits of XCR0 it needs."""

    name: str
    leaf: int
    sub: int
    word: int
    bit: int
    saved: int


def needed(target: Target) -> list[Feature]:
    """What a processor must have to run the code of a target; empty where CPUID does not exist."""
    if not target.x86:
        return []
    on = {name[1:] for name in target.features.split(",") if name.startswith("+")}
    return [Feature(name, *bits) for name, bits in _BITS.items() if name in on]
