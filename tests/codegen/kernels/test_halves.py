"""Kernels on operands that hold halves do what they do on the same numbers in float32, and round the results once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from graphc_codegen.declarations import Declarations
from graphc_codegen.dtypes import HALVES
from graphc_codegen.errors import CodegenError
from graphc_codegen.kernel_facts import KERNEL_FACTS
from graphc_codegen.kernels import EMITTERS
from graphc_codegen.kernels.narrow import NarrowWriter
from graphc_codegen.program import Instr, NamedKernel, divisible
from graphc_codegen.scalars.halves import numpy_dtype
from graphc_codegen.target import host
from tests.codegen.kernel_harness import random, run_kernel, run_twin
from tests.codegen.kernels.test_facts import PARAMS, POOL, ROWS
from tests.codegen.threaded import same

GEMM = {"accumulate": False}
#: Params beside those of `test_facts`: tails, other ways through a kernel.
CASES: dict[str, list[dict[str, Any]]] = {
    "gemm": [
        GEMM | {"m": 7, "n": 37, "k": 19, "ta": ta, "tb": tb, "batch": 3}
        for ta in (False, True)
        for tb in (False, True)
    ]
    + [
        GEMM | {"m": 64, "n": 24, "k": 160, "ta": False, "tb": True},
        GEMM | {"m": 5, "n": 3, "k": 70, "ta": False, "tb": True},
        GEMM | {"m": 33, "n": 33, "k": 33, "ta": True, "tb": False, "triangle": "a"},
    ],
    "add_rows": [{"outer": 2, "size": 5, "inner": 37, "count": 13, "index_dtype": "int32", "zeros": False}],
    "banded": [{"outer": 2, "have": 30, "wanted": 21, "width": 7, "inner": 1, "dtype": "float32"}],
    "softmax": [ROWS | {"cols": 33}, {"rows": 66, "cols": 33, "causal": True}],
    # Exponentials of long rows are made twice.
    "softmax_cross_entropy": [
        {"rows": 7, "cols": cols, "sparse": sparse, "label_dtype": "int32" if sparse else "float32"}
        for cols in (33, 4100)
        for sparse in (False, True)
    ],
    "max_pool": [POOL | {"h": 9, "w": 21, "ow": 9, "kh": 3, "kw": 3}],
    "max_pool_grad": [POOL | {"h": 9, "w": 21, "ow": 10}],
    "softmax_grad": [{"rows": 66, "cols": 33, "causal": True}],
}
TABLE = [
    (name, params)
    for name in EMITTERS
    for params in (PARAMS[name], *CASES.get(name, ()))
    if KERNEL_FACTS[name].halves(params)
]


def operands_of(name: str, params: dict[str, Any], dtype: str) -> tuple[dict[str, Any], list[Any], list[Any]]:
    """Params that say which operands hold halves, inputs as these, and the same in float32."""
    taken = KERNEL_FACTS[name].halves(params)
    inputs = [o for o in EMITTERS[name].operands(params) if o.role == "in"]
    wide, narrow = [], []
    for k, o in enumerate(inputs):
        data = random(k, o.size) if o.dtype == "float32" else (np.arange(o.size) % 7).astype(o.dtype)
        if params.get("triangle") == "a" and k == 0:
            data = np.tril(data.reshape(-1, params["m"], params["m"])).reshape(-1)
        if name == "add_rows" and o.dtype == "int32":
            # Lists of which index stands where.
            EMITTERS["list_rows"].twin(params, (np.arange(params["count"]) % 5).astype(np.int32), data)
        halved = data.astype(numpy_dtype(dtype))
        narrow.append(halved if k in taken else data)
        wide.append(halved.astype(np.float32) if k in taken else data)
    return params | {"halves": ((dtype, taken),)}, narrow, wide


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize(("name", "params"), TABLE, ids=[f"{n}-{k}" for k, (n, _) in enumerate(TABLE)])
def test_on_halves(name: str, params: dict[str, Any], dtype: str) -> None:
    told, narrow, wide = operands_of(name, params, dtype)
    (_, taken), *_ = told["halves"]
    outputs = [k for k, o in enumerate(EMITTERS[name].operands(params)) if o.role == "out"]
    kept = [i for i, k in enumerate(outputs) if not (KERNEL_FACTS[name].scratch and k not in taken)]
    for lanes in (4, 8, 16):
        exact = run_kernel(name, params, *wide, lanes=lanes)
        got = run_kernel(name, told, *narrow, lanes=lanes)
        for i in kept:
            want = exact[i].astype(numpy_dtype(dtype)) if outputs[i] in taken else exact[i]
            np.testing.assert_array_equal(got[i].view(np.uint8), want.view(np.uint8))
    alone = run_kernel(name, told, *narrow, lanes=host().lanes)
    if divisible(NamedKernel(name, tuple(params.items()))):
        several = run_kernel(name, told, *narrow, divided=True)
        for i in kept:
            same(several[i], alone[i])
    twin = run_twin(name, told, *narrow)
    for i in kept:
        if params.get("triangle") != "c":
            same(alone[i], twin[i])


#: round(result) + x, kept in float32 and as a half.
def after(dtype: str) -> dict[str, Any]:
    body = (Instr("input", dtype=dtype, imm=0), Instr("input", dtype=dtype, imm=1), Instr("add", (0, 1), dtype))
    body += (Instr("const", dtype=dtype, imm=0.1), Instr("mul", (2, 3), dtype), Instr("cast", (4,), "float32"))
    return {"epilogue": body, "extras": ((0, 0, 1),), "stores": (4, 5)}


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_epilogues_round_as_loops_do(dtype: str, lanes: int) -> None:
    half = numpy_dtype(dtype)
    params = GEMM | {"m": 9, "n": 21, "k": 12, "ta": False, "tb": False}
    a, b, bias = random(0, 9, 12).astype(half), random(1, 12, 21).astype(half), random(2, 21).astype(half)
    plain = run_kernel("gemm", params, a.astype(np.float32), b.astype(np.float32), lanes=lanes)[0].reshape(9, 21)
    one = plain.astype(half).astype(np.float32) + bias.astype(np.float32)
    want = (one.astype(half).astype(np.float32) * half.type(0.1).astype(np.float32)).astype(half)
    told = params | {"halves": ((dtype, (0, 1)),)} | after(dtype)
    halves, floats = run_kernel("gemm", told, a, b, bias, lanes=lanes)
    np.testing.assert_array_equal(halves.view(np.uint16), want.reshape(-1).view(np.uint16))
    np.testing.assert_array_equal(floats, want.reshape(-1).astype(np.float32))
    twin = run_twin("gemm", told, a, b, bias)
    same(halves, twin[0])


@pytest.mark.parametrize(("value", "overflows"), [(65519.0, False), (65520.0, True)])
def test_marks_see_what_is_stored(value: float, overflows: bool) -> None:
    """A product that is finite in float32 and not as it is stored counts as an overflow: from 65520 on."""
    params = GEMM | {"m": 1, "n": 9, "k": 1, "ta": False, "tb": False, "marks": (4, 0), "halves": (("float16", (2,)),)}
    a, b = np.array([1.0], np.float32), np.full(9, value, np.float32)
    for lanes in (4, 8, 16):
        stored, marks = run_kernel("gemm", params, a, b, lanes=lanes)
        assert np.isinf(stored.astype(np.float32)).all() == overflows
        assert np.isnan(marks).any() == overflows


def test_what_is_stored_as_halves_is_not_read_again() -> None:
    w = NarrowWriter(Declarations(), 8)
    w.declare("%p0", "bfloat16", written=True)
    with pytest.raises(CodegenError, match="reads halves that it has stored"):
        w.vload(w.at("%p0", 8))
    with pytest.raises(CodegenError, match="elements of i8"):
        w.at("%p0", 8, "i8")
