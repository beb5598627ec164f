"""Every op of the registry, on the samples of its own declaration: nobody edits this file when an op is added."""

from __future__ import annotations

import pytest

from graphc.ir import TensorType, all_ops
from graphc.testing import op_cases


@pytest.mark.parametrize("case", op_cases(), ids=str)
def test_op(case):
    case.check()


def test_no_op_makes_a_result_of_a_negative_size():
    """A shape that an attribute names has no negative sizes, whatever the op."""
    tried = 0
    for definition in all_ops().values():
        for sample in definition.samples() if definition.samples else ():
            shape = sample.attrs.get("shape")
            if not isinstance(shape, tuple) or not shape:
                continue
            tried += 1
            types = [TensorType.of(x) for x in sample.operands]
            for wrong in ((-1, *shape[1:]), (-2, *shape), (*shape[:-1], -3)):
                with pytest.raises(ValueError, match="\\["):
                    definition.inferred(types, definition.complete({**sample.attrs, "shape": wrong}))
    assert tried > 10


def test_an_op_with_a_kernel_or_gradient_has_samples():
    requests = {"Grad", "Jvp", "Vmap"}
    structural = {
        "If",
        "While",
        "Scan",
        "CustomGrad",
        "Input",
        "Param",
        "Constant",
        "GetFloatStatus",
        "HostCall",
        "PythonCall",
        "PythonEffect",
        "Call",
    }
    structural |= {"AllToAllWait"}  # It reads what another node begins.
    assert {n for n, d in all_ops().items() if d.samples is None} == structural | requests
