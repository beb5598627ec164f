"""MindSpore's `common` package: initializers, and names that are found at the top of graphc as well."""

from importlib import import_module
from typing import Any

from graphc import tracebacks
from graphc.common import initializer
from graphc.errors import suggestions
from graphc.validation.signatures import accepting

_MODULE_OF = {
    **dict.fromkeys(("jit", "jit_class", "ms_function"), "graphc.steps.jit"),
    **dict.fromkeys(("get_seed", "set_seed"), "graphc.ops.tensor.seed"),
    **dict.fromkeys(("Parameter", "ParameterTuple"), "graphc.ops.tensor.parameter"),
    **dict.fromkeys(("Tensor", "tensor"), "graphc.ops.tensor.tensor"),
    "RowTensor": "graphc.ops.tensor.row_tensor",
    **dict.fromkeys(("COOTensor", "CSRTensor", "SparseTensor"), "graphc.ops.functional.sparse"),
    "mutable": "graphc.ops.tensor.mutable",
}

__all__ = ["initializer"]


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        made = getattr(import_module(_MODULE_OF[name]), name)
        return accepting(made, "graphc")
    try:
        return suggestions.no_member("graphc.common", name, (*__all__, *_MODULE_OF))
    except (AttributeError, ImportError) as error:
        tracebacks.clean(error)
        raise
