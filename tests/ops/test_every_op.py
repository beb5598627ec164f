"""Every op of the registry, on the samples of its own declaration: nobody edits this file when an op is added."""

from __future__ import annotations

import pytest

from graphc.ir import all_ops
from graphc.testing import op_cases


@pytest.mark.parametrize("case", op_cases(), ids=str)
def test_op(case):
    case.check()


def test_an_op_with_a_kernel_or_gradient_has_samples():
    requests = {"Grad", "Jvp", "Vmap"}
    structural = {"If", "While", "Scan", "CustomGrad", "Input", "Param", "Constant", "GetFloatStatus", "HostCall"}
    structural |= {"AllToAllWait"}  # It reads what another node begins.
    assert {n for n, d in all_ops().items() if d.samples is None} == structural | requests
