"""What `kernel_facts` says of the named kernels is what their emitters do."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from graphc_codegen.declarations import Declarations
from graphc_codegen.kernel_facts import KERNEL_FACTS
from graphc_codegen.kernels import EMITTERS
from graphc_codegen.program import Instr, NamedKernel, UserFunction, result_domain, written
from graphc_codegen.writer import Writer
from tests.codegen.kernel_harness import kernel, random
from tests.codegen.kernels.winograd import test_batch, test_lines, test_single_images

STEPS = {"stride": (1, 1), "dilation": (1, 1)}
CONV = {"n": 2, "ci": 3, "co": 5, "h": 10, "w": 10, "kh": 3, "kw": 3, "oh": 8, "ow": 8, **STEPS}
POOL = {"planes": 40, "h": 8, "w": 8, "oh": 4, "ow": 4, "kh": 2, "kw": 2, "sh": 2, "sw": 2, "pt": 0, "pl": 0}
ROWS = {"rows": 40, "cols": 24}
ATTENTION = {"axes": (40,), "l": 5, "s": 7, "d": 3, "e": 4, "scale": 0.5, "ahead": -1, "keep": 1.0, "masks": ()}
INDEX = {"outer": 2, "size": 9, "inner": 40, "dtype": "float32"}
COLLECTIVE = {"dtype": "float32", "count": 40, "received": 40}
WINDOW = {"call": "all_reduce", "dtype": "float32", "group": 0, "size": 2, "at": 4096}
INDEXED = INDEX | {"count": 4, "index_dtype": "int32"}
SINGLE, BATCH = test_single_images.Case(1, 4, 5, 9, 9), test_batch.Case(16, 3, 4, 9, 9)
LINES = test_lines.Case(2, 3, 5, 1, 40, 4, 4, 4)
BORDERS = {"outer": 4, "axes": ((9, 2, 1), (40, 3, 3)), "mode": "reflect", "dtype": "float32"}
FOURIER = {
    "size": 6, "outer": 2, "count": 40, "scale": 1.0, "parts": 4, "twisted": False, "inverse": False, "whole": (),
    "radices": (2, 3), "dtype": "float32",
}  # fmt: skip
FOURIER_ROWS = {
    "split": (8, 8), "rows": 40, "parts": 4, "radices": ((8,), (8,)), "inverse": False, "whole": (), "full": False,
    "dtype": "float32",
}  # fmt: skip
TRIANGULAR = {"batch": 3, "size": 9, "dtype": "float32"}

#: Params of a kernel of each name.
PARAMS: dict[str, dict[str, Any]] = {
    "gemm": {"m": 40, "n": 40, "k": 8, "ta": False, "tb": False, "accumulate": False},
    "conv2d": CONV | {"transposed": False},
    "conv2d_channels": CONV | {"lead": 5},
    "pair_channels": {
        "n": 20,
        "c": 3,
        "h": 9,
        "w": 9,
        "top": 1,
        "left": 1,
        "ph": 6,
        "pw": 6,
        "stride": (2, 2),
        "phases": (2, 2),
    },
    "conv2d_filter_grad": CONV,
    "conv2d_line_winograd": LINES.params(False),
    "conv2d_filter_grad_line_winograd": LINES.filter_params(),
    "conv2d_winograd": SINGLE.params(False),
    "conv2d_filter_grad_winograd": SINGLE.filter_params(),
    "conv2d_batch_winograd": BATCH.params(False),
    "conv2d_filter_grad_batch_winograd": BATCH.filter_params(),
    "max_pool": POOL,
    "max_pool_grad": POOL,
    "avg_pool": POOL | {"count_include_pad": True},
    "avg_pool_grad": POOL | {"count_include_pad": True},
    "softmax": ROWS,
    "log_softmax": ROWS,
    "softmax_grad": ROWS,
    "log_softmax_grad": ROWS,
    "softmax_cross_entropy": ROWS | {"sparse": False, "label_dtype": "float32"},
    "attention": ATTENTION,
    "attention_grad": ATTENTION,
    "argmax": INDEX | {"mode": "max", "out_dtype": "int32"},
    "banded": {"outer": 3, "have": 9, "wanted": 40, "width": 2, "inner": 7, "dtype": "float32"},
    "border_pad": BORDERS,
    "border_pad_grad": BORDERS,
    "cumsum": INDEX | {"reverse": False},
    "cumprod": INDEX,
    "cumextremum": INDEX | {"mode": "max"},
    "recurrence": INDEX | {"reverse": False, "own": True},
    "float_status": {"sizes": (1000, 40)},
    "csr_product": {
        "dtype": "float32",
        "pointer_dtype": "int32",
        "index_dtype": "int32",
        "count": 90,
        "rows": 7,
        "columns": 40,
        "width": 3,
    },
    "gather": INDEXED,
    "gather_grad": INDEXED,
    "scatter": INDEXED | {"mode": "add"},
    "list_rows": INDEXED,
    "add_rows": INDEXED | {"zeros": True},
    "gather_elements": INDEXED,
    "scatter_elements": INDEXED | {"mode": "add"},
    "argsort": {"rows": 4, "size": 40, "parts": 4, "dtype": "float32", "descending": False},
    "partial_argsort": {
        "rows": 4,
        "size": 40,
        "count": 10,
        "parts": 4,
        "dtype": "float32",
        "descending": False,
        "last": False,
    },
    "first_places": {"rows": 4, "size": 40, "count": 10, "dtype": "float32", "descending": False},
    "assignment": {"rows": 5, "cols": 20, "maximize": False},
    "eigh": {"batch": 3, "size": 9, "dtype": "float32", "lower": True},
    "pinv": {"batch": 3, "rows": 9, "cols": 5, "dtype": "float32", "atol": 0.0, "rtol": 1e-6},
    "diagonal_form": {"batch": 3, "size": 9, "parts": 2, "dtype": "float32"},
    "exchanges": {"batch": 3, "size": 9},
    "row_order": {"batch": 3, "count": 5, "size": 9},
    "nonzero": {"size": 40, "room": 42},
    "search": {"rows": 2, "size": 9, "count": 40, "dtype": "float32", "right": False},
    "fourier": FOURIER | {"source": (240, 1, 6), "target": (240, 1, 6)},
    "fourier_real": FOURIER | {"source": (240, 1, 6), "target": (160, 1, 4)},
    "fourier_rows": FOURIER_ROWS,
    "fourier_rows_real": FOURIER_ROWS,
    "fourier_rows_half": FOURIER_ROWS,
    "fourier_half": FOURIER | {"source": (160, 1, 4), "target": (240, 1, 6)},
    "cholesky": TRIANGULAR | {"lead": 64},
    "lu": TRIANGULAR | {"parts": 3},
    "lu_solve": TRIANGULAR | {"parts": 3, "cols": 40, "transposed": False},
    "triangular_solve": TRIANGULAR | {"cols": 40, "lower": True, "transposed": False, "unit": False},
    "pack_factor": {"n": 40, "k": 70, "tb": True, "packed": "float32", "rounds": False, "apart": True},
    "pack_panels": {"n": 40, "k": 70, "tb": True, "part": (32, 32)},
    "collective_start": COLLECTIVE
    | {"call": "all_reduce", "reduction": "sum", "group": 0, "size": 2, "root": 0, "tag": 0},
    "collective_move": {"in_place": True},
    "collective_wait": COLLECTIVE | {"in_place": True},
    "message_wait": COLLECTIVE | {"in_place": True},
    "window_put": WINDOW | {"sizes": (40, 7), "pieces": ((0, 0, 0, 40), (1, 2, 40, 5), (-1, 0, 45, 3)), "room": 48},
    "window_open": WINDOW | {"word": "ready"},
    "window_fold": WINDOW | {"word": "ready", "part": 128},
    "window_take": WINDOW | {"word": "ready", "part": 150, "received": 300, "folded": False},
    "window_close": WINDOW | {"received": 300, "in_place": True},
    "log": {"site": 1, "capacity": 64, "dtypes": ("float32",), "sizes": (3,)},
    "in_bounds": {"count": 40, "dtype": "int32", "negative": True, "ignored": None},
    "custom": {
        "function": UserFunction("twice", lambda x: x + x, True, ()),
        "inputs": (("float32", (40,)),),
        "outputs": (("float32", (40,)),),
    },
}
#: x + 1 as an epilogue.
ADD_ONE = (Instr("input", imm=0), Instr("const", imm=1.0), Instr("add", (0, 1)))


def text(name: str, params: dict[str, Any], threads: int = 2) -> str:
    writer = Writer(Declarations(), 16, threads=threads)
    EMITTERS[name].emit(writer, params, [f"%p{k}" for k in range(len(EMITTERS[name].operands(params)))])
    return "\n".join([*writer.lines, *(line for stage in writer.stages.values() for line in stage.lines)])


def test_there_is_a_row_for_every_emitter() -> None:
    assert set(KERNEL_FACTS) == set(EMITTERS) == set(PARAMS)


@pytest.mark.parametrize("name", EMITTERS)
def test_outputs_come_last(name: str) -> None:
    roles = [o.role for o in EMITTERS[name].operands(PARAMS[name])]
    count = written(NamedKernel(name, tuple(PARAMS[name].items())))
    assert roles == ["in"] * (len(roles) - count) + ["out"] * count
    outputs = KERNEL_FACTS[name].outputs
    assert count == (outputs if isinstance(outputs, int) else outputs(PARAMS[name])) + KERNEL_FACTS[name].scratch


@pytest.mark.parametrize("name", EMITTERS)
def test_threads_share_what_is_divisible(name: str) -> None:
    made = text(name, PARAMS[name])
    assert ("%thread" in made and "udiv i64" in made) == KERNEL_FACTS[name].divisible(PARAMS[name])
    assert ("%scratch," in made) == KERNEL_FACTS[name].exchanges


@pytest.mark.parametrize("name", EMITTERS)
def test_who_takes_an_epilogue(name: str) -> None:
    domain = result_domain(NamedKernel(name, tuple(PARAMS[name].items())))
    params = PARAMS[name] | {"epilogue": ADD_ONE, "extras": (), "stores": (2,)}
    plain = [o.size for o in EMITTERS[name].operands(PARAMS[name])]
    assert (text(name, params, 1) != text(name, PARAMS[name], 1)) == (domain is not None)
    assert domain is None or math.prod(domain) == plain[-1]


@pytest.mark.parametrize("name", EMITTERS)
def test_who_watches_what_it_stores(name: str) -> None:
    params = PARAMS[name] | {"marks": (4, 0)}
    assert (text(name, params, 1) != text(name, PARAMS[name], 1)) == KERNEL_FACTS[name].watches


@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_a_product_overwrites_what_its_epilogue_reads(lanes: int) -> None:
    assert [name for name, facts in KERNEL_FACTS.items() if facts.overwrites] == ["gemm"]
    total = (Instr("input", imm=0), Instr("input", imm=1), Instr("add", (0, 1)))
    params = PARAMS["gemm"] | {"epilogue": total, "extras": ((1600, 40, 1),), "stores": (2,)}
    a, b, c = random(1, 40, 8), random(2, 8, 40), random(3, 40, 40)
    wanted = a @ b + c
    kernel("gemm", params, lanes).call(*(x.ctypes.data for x in (a, b, c, c)))
    np.testing.assert_allclose(c, wanted, rtol=1e-4, atol=1e-5)
