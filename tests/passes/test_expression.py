"""The expression builder and the cost model take any scalar operation that the code generator has a row for."""

from __future__ import annotations

import numpy as np
import pytest

from graphc.lower.cost import price
from graphc.lower.expression import Expression
from graphc_codegen.program import SCALAR_OPS, Access, Instr
from graphc_codegen.scalars.table import ScalarOp


def test_an_operation_without_a_method(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SCALAR_OPS, "cbrt", ScalarOp("cbrt", 1, np.cbrt, weight=20))
    e = Expression(1)
    x = e.input(Access("float64", (1,), 0, 5), 0)
    y = e.apply("cbrt", x)
    assert e.apply("cbrt", x) == y
    assert e.add(y, x) == 2
    assert e.body[y] == Instr("cbrt", (0,), "float64")
    assert price(e.body) == 21


def test_the_dtype_of_a_result_follows_from_the_row() -> None:
    e = Expression(1)
    x = e.input(Access("int8", (1,), 0, 5), 0)
    test = e.apply("lt", x, x)
    assert [e.dtype(k) for k in (test, e.apply("select", test, x, x), e.apply("neg", x))] == ["bool", "int8", "int8"]
