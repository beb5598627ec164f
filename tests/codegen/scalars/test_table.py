"""A row of the table is all that a scalar operation needs."""

from __future__ import annotations

import numpy as np
import pytest

from graphc_codegen.dtypes import ITEMSIZE
from graphc_codegen.errors import CodegenError
from graphc_codegen.program import SCALAR_OPS, Access, Instr, LoopKernel, Output
from graphc_codegen.scalars.arithmetic import Operand
from graphc_codegen.scalars.table import ScalarOp
from graphc_codegen.target import Target
from graphc_codegen.writer import Writer
from tests.codegen.loop_harness import AVX2, HOST, as_the_twin, pointwise, run


def cube(w: Writer, args: list[Operand]) -> str:
    return w.binary("fmul", w.binary("fmul", args[0].name, args[0].name), args[0].name)


@pytest.fixture
def new_row(monkeypatch: pytest.MonkeyPatch) -> None:
    row = ScalarOp("cube", 1, lambda x: x * x * x, weight=2, floats=cube)
    monkeypatch.setitem(SCALAR_OPS, "cube", row)


@pytest.mark.parametrize("target", [HOST, AVX2])
@pytest.mark.usefixtures("new_row")
def test_a_loop_with_a_new_operation_runs_as_its_twin(target: Target) -> None:
    access = Access("float32", (1,), 0, 37)
    body = (Instr("input", imm=0), Instr("cube", (0,)), Instr("add", (1, 0)))
    kernel = LoopKernel((37,), (False,), (access,), body, (Output(access, 2),))
    values = np.linspace(-2, 2, 37, dtype=np.float32)
    as_the_twin([(kernel, [values, np.empty_like(values)])], target)
    made = run(kernel, [values, np.empty_like(values)], target)[1]
    np.testing.assert_allclose(made, values**3 + values, rtol=1e-6)


@pytest.mark.usefixtures("new_row")
def test_what_a_row_leaves_out_is_refused() -> None:
    with pytest.raises(CodegenError, match="'cube' is not defined for int32"):
        run(pointwise("cube", ["int32"], "int32", 5), [np.zeros(5, np.int32)] * 2, HOST)


def test_every_row_has_a_twin_and_emitters_or_belongs_to_the_loop() -> None:
    for row in SCALAR_OPS.values():
        defined = [dtype for dtype in ITEMSIZE if row.emitter(dtype) is not None]
        assert (row.twin is None) == (row.result == "own") == (not defined)
        assert row.weight > 0 or row.name in ("input", "const")


def test_the_dtype_of_a_result() -> None:
    assert SCALAR_OPS["add"].result_dtype(["int8", "int8"]) == "int8"
    assert SCALAR_OPS["lt"].result_dtype(["int8", "int8"]) == "bool"
    assert SCALAR_OPS["select"].result_dtype(["bool", "float16", "float16"]) == "float16"
    with pytest.raises(ValueError, match="'cast'"):
        SCALAR_OPS["cast"].result_dtype(["int8"])
