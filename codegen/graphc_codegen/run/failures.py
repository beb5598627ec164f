"""What went wrong in a call of a kernel that has ended a step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphc_codegen.errors import KernelError
from graphc_codegen.kernels import EMITTERS
from graphc_codegen.kernels.custom import apply
from graphc_codegen.program import Call, NamedKernel, is_custom


def failed(call: Call, arrays: Sequence[Any]) -> KernelError:
    """What a call fails with: it is made again, from Python, on the same inputs.

    `arrays` are those of its operands; the results go elsewhere.
    """
    kernel = call.kernel
    assert isinstance(kernel, NamedKernel)
    p: dict[str, Any] = dict(kernel.params)
    emitter = EMITTERS[kernel.name]
    roles = [want.role for want in emitter.operands(p)]
    apart = [a if role == "in" else np.zeros_like(a) for a, role in zip(arrays, roles, strict=True)]
    try:
        if is_custom(kernel):
            if p["function"].python:
                raise p["function"].function.failure
            apply(p["function"], p["function"].function, p, apart)
        else:
            emitter.twin(p, *apart)
    except KernelError as error:
        error.note = call.note
        return error
    name = p["function"].name if is_custom(kernel) else kernel.name
    return KernelError(name, "failed, but not when it was called once more on the same arrays", call.note)
