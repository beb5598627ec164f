"""Renders the runtime in C around a step's object code, and links both to a shared object."""

from __future__ import annotations

import hashlib
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from graphc_codegen.dtypes import ITEMSIZE
from graphc_codegen.errors import CodegenError
from graphc_codegen.program import ALIGNMENT, Buffer, NamedKernel
from graphc_codegen.run.threads import WORDS as POOL
from graphc_codegen.run.threads import apart
from graphc_codegen.shared_object.processor import needed
from graphc_codegen.text.render import Rendered, template, version
from graphc_codegen.thread_context import CONTEXT, SCRATCH, WORDS

#: Version of the functions in the header; to be counted up when one of them changes.
ABI = 1
#: Statuses from 1 on, and what they mean.
CODES = (
    ("MEMORY", "not enough memory"),
    ("CPU", "this processor lacks a feature that the step was compiled for"),
    ("VERSION", "header and library do not belong together"),
    ("ARGUMENT", "a pointer is NULL or not aligned, or there is no such parameter"),
    ("BUSY", "another thread is using the step"),
    ("THREAD", "a thread or semaphore cannot be had"),
    ("FILE", "the parameter file cannot be read or written, or is another step's"),
    ("FAILED", "an index or a label is out of range: the run ended there"),
)
_C_TYPES = {
    "float32": "float", "float64": "double", "float16": "uint16_t", "bfloat16": "uint16_t", "bool": "uint8_t",
    "int8": "int8_t", "int16": "int16_t", "int32": "int32_t", "int64": "int64_t",
    "uint8": "uint8_t", "uint16": "uint16_t", "uint32": "uint32_t", "uint64": "uint64_t",
}  # fmt: skip
#: Words of C and C++, and what the header calls its own.
_KEYWORDS = """
    auto break case char const continue default do double else enum extern float for goto if inline int long register
    restrict return short signed sizeof static step struct switch typedef union unsigned void volatile while
    alignas alignof and asm bool catch class compl constexpr decltype delete explicit export false friend mutable
    namespace new noexcept not nullptr operator or private protected public template this throw true try typeid
    typename using virtual xor NULL inputs_ results_
"""
_FLAGS = (
    "-std=c11", "-O2", "-fPIC", "-shared", "-pthread", "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror",
    "-Wl,-z,defs", "-Wl,-z,text", "-Wl,-z,relro", "-Wl,-z,noexecstack", "-Wl,--version-script=exported.map",
)  # fmt: skip


class Array(NamedTuple):
    """An input, result or parameter as the header shows it: the user's name, dtype and shape."""

    name: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def nbytes(self) -> int:
        count = ITEMSIZE[self.dtype]
        for size in self.shape:
            count *= size
        return count


@dataclass(frozen=True)
class Exported:
    """What goes into a shared object called `name`, a C identifier.

    `inputs` and `params` are in the order of the program's buffers of these spaces, `results` have the ids of their buffers.
    `head` begins a parameter file, in which the parameters' bytes follow in the order `in_file`. Without `values` the
    library has no parameters of its own.
    """

    name: str
    inputs: tuple[Array, ...]
    results: tuple[tuple[Array, int], ...]
    params: tuple[Array, ...]
    constants: tuple[bytes, ...]
    values: tuple[bytes, ...] | None
    head: bytes
    in_file: tuple[int, ...]

    def signature(self) -> str:
        """64 bits, hexadecimal: of all that a caller has to know."""
        said = (self.inputs, [array for array, _ in self.results], self.params)
        return hashlib.sha256(repr(said).encode()).hexdigest()[:16]


def identifier(text: str) -> str:
    """A C identifier made of any text; texts may share one."""
    made = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_") or "value"
    return f"_{made}" if made[0].isdigit() or made in _KEYWORDS.split() else made


def identifiers(texts: Sequence[str]) -> list[str]:
    """Distinct identifiers."""
    made: list[str] = []
    for text in texts:
        base = found = identifier(text)
        count = 2
        while found in made:
            found, count = f"{base}_{count}", count + 1
        made.append(found)
    return made


def link(
    exported: Exported, rendered: Rendered, objects: Sequence[bytes], folder: Path, header: str, compiler: str
) -> tuple[bytes, str]:
    """The shared object and its header's text; `folder` is an empty one to work in. `objects` are the step's and, for several
    threads, the pool's.

    Raises CodegenError with the compiler's words where it refuses, and OSError where it cannot be run.
    """
    data, values = _laid_out(exported, rendered, header)
    head = template("shared.h.j2").render(**values)
    names = [f"{k}.o" for k in range(len(objects))]
    for name, code in zip(names, objects, strict=True):
        (folder / name).write_bytes(code)
    (folder / header).write_text(head, encoding="ascii")
    (folder / "runtime.c").write_text(template("shared.c.j2").render(**values), encoding="ascii")
    (folder / "data.bin").write_bytes(data)
    (folder / "exported.map").write_text(f"{{ global: {exported.name}_*; local: *; }};\n", encoding="ascii")
    soname = Path(header).with_suffix(".so").name
    command = [compiler, *_FLAGS, f"-Wl,-soname,{soname}", "runtime.c", *names, "-o", "linked.so"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        raise CodegenError(done.stderr.strip() or f"{compiler} ended with status {done.returncode}")
    return (folder / "linked.so").read_bytes(), head


def _laid_out(exported: Exported, rendered: Rendered, header: str) -> tuple[bytes, dict[str, Any]]:
    """The bytes of data.bin (constants, parameters, the head of a parameter file) and all that the templates show."""
    program, target = rendered.program, rendered.target
    constants, constants_at = _packed(exported.constants)
    _, places = _packed([b"\0" * p.nbytes for p in exported.params]) if exported.values is None else (b"", [])
    values, value_places = _packed(exported.values or ())
    places = places or value_places
    params_bytes = _up(places[-1] + exported.params[-1].nbytes) if exported.params else 0
    data = constants + values + exported.head
    buffers = {b.id: b for b in program.buffers}
    spaces = {"param": places, "const": constants_at}

    def place(buffer: Buffer) -> dict[str, Any]:
        at = spaces[buffer.space][buffer.position] if buffer.space in spaces else buffer.position
        return {"space": buffer.space.upper(), "at": at, "nbytes": buffer.nbytes}

    results = [array for array, _ in exported.results]
    arguments = identifiers([a.name for a in exported.inputs] + [a.name for a in results])
    members = identifiers([p.name for p in exported.params])
    params = [
        {"number": k, "ident": member, "text": _text(p), "literal": _literal(p.name), "dtype": p.dtype, "shape": p.shape,
         "nbytes": p.nbytes, "place": places[k]}
        for k, (p, member) in enumerate(zip(exported.params, members, strict=True))
    ]  # fmt: skip
    return data, {
        "name": exported.name,
        "prefix": exported.name.upper(),
        "header": header,
        "version": version(),
        "triple": _plain(target.triple),
        "cpu": _plain(target.cpu),
        "embedded": exported.values is not None,
        "abi": ABI,
        "signature": exported.signature(),
        "threads": program.threads,
        "codes": [{"name": name, "text": text} for name, text in CODES],
        "inputs": [_shown(a, i) for a, i in zip(exported.inputs, arguments, strict=False)],
        "results": [
            _shown(a, i) | place(buffers[id])
            for (a, id), i in zip(exported.results, arguments[len(exported.inputs) :], strict=True)
        ],
        "params": params,
        "slots": [place(buffers[id]) for id in rendered.slots],
        "loops": rendered.loops,
        "tables": program.threads if rendered.loops else 1,
        "features": needed(target),
        "tiles": any("tiles" in dict(k.params) for k in program.kernels().values() if isinstance(k, NamedKernel)),
        "alignment": ALIGNMENT,
        "context": CONTEXT,
        "scratch": SCRATCH,
        "words": WORDS,
        "pool": POOL,
        "apart": apart(program.threads),
        "pool_words": POOL["first"] + POOL["stride"] * program.threads + 8,
        "arena": program.arena,
        "params_at": len(constants),
        "params_bytes": params_bytes,
        "head_at": len(constants) + len(values),
        "head_bytes": len(exported.head),
        "file_bytes": sum(p.nbytes for p in exported.params),
        "in_file": exported.in_file,
    }


def _up(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT


def _packed(parts: Sequence[bytes]) -> tuple[bytes, list[int]]:
    """Bytes one after the other, each at a multiple of ALIGNMENT, and where."""
    data, places = bytearray(), []
    for part in parts:
        places.append(len(data))
        data += part + bytes(_up(len(part)) - len(part))
    return bytes(data), places


def _shown(array: Array, ident: str) -> dict[str, Any]:
    return {
        "ident": ident,
        "ctype": _C_TYPES[array.dtype],
        "text": _text(array),
        "itemsize": ITEMSIZE[array.dtype],
    }


def _text(array: Array) -> str:
    """Name, dtype and shape for a comment: nothing in it ends one."""
    return f"{_plain(array.name)}, {array.dtype}{list(array.shape)}"


def _plain(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.,+\- ]", "?", text)


def _literal(text: str) -> str:
    """What stands between the quotes of a C string."""
    return "".join(
        c if re.fullmatch(r"[A-Za-z0-9_.\-/ ]", c) else f"\\{ord(c):03o}" for c in text.encode().decode("latin-1")
    )
