"""graphc: compile a MindSpore-style training cell into one fused CPU step, and see every node of it.

import graphc as ms
from graphc import nn, ops, Tensor

step = graphc.compile(train_cell, x, y)
loss, overflow, scale = step(x, y)
print(step.graph)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graphc.collector import importing

with importing:
    from graphc import ir, nn, ops
    from graphc.debug import debug
    from graphc.errors import (
        ArgumentTypeError,
        ArgumentValueError,
        CheckpointError,
        CompileError,
        DTypeError,
        GradientError,
        GraphcError,
        LoweringError,
        ParseError,
        ShapeError,
        SignatureError,
        TraceAttributeError,
        TraceError,
        TraceTypeError,
        VerifyError,
    )  # fmt: skip
    from graphc.ops.dtype import DType, bfloat16, bool_, float16, float32, float64, int8, int16, int32, int64, uint8
    from graphc.ops.tensor import Parameter, ParameterTuple, Tensor

__version__ = "0.1.0"

#: Loaded on first use: what needs the compiler, or libraries beyond the IR's.
_LAZY = {
    "compile": "graphc.api",
    "CompiledStep": "graphc.api",
    "set_seed": "graphc.ops.seed",
    "get_seed": "graphc.ops.seed",
    "save_checkpoint": "graphc.checkpoint",
    "load_checkpoint": "graphc.checkpoint",
    "load_param_into_net": "graphc.checkpoint",
    "Callback": "graphc.train",
    "set_context": "graphc.context",
    "get_context": "graphc.context",
    "GRAPH_MODE": "graphc.context",
    "PYNATIVE_MODE": "graphc.context",
    "jit": "graphc.function",
    "ms_function": "graphc.function",
    "jit_class": "graphc.function",
    "grad": "graphc.ops.composite",
    "value_and_grad": "graphc.ops.composite",
    "get_grad": "graphc.ops.composite",
    "mutable": "graphc.ops.mutable",
    "FixedLossScaleManager": "graphc.amp",
    "DynamicLossScaleManager": "graphc.amp",
    "LossScaleManager": "graphc.amp",
    "build_train_network": "graphc.amp",
    "ParallelMode": "graphc.parallel",
    "set_auto_parallel_context": "graphc.parallel",
    "get_auto_parallel_context": "graphc.parallel",
    "reset_auto_parallel_context": "graphc.parallel",
}
_SUBMODULES = ("amp", "common", "compat", "context", "dataset", "datasets", "parallel", "train")

__all__ = [
    "GRAPH_MODE",
    "PYNATIVE_MODE",
    "ArgumentTypeError",
    "ArgumentValueError",
    "Callback",
    "CheckpointError",
    "CompileError",
    "CompiledStep",
    "DType",
    "DTypeError",
    "DynamicLossScaleManager",
    "FixedLossScaleManager",
    "GradientError",
    "GraphcError",
    "LossScaleManager",
    "LoweringError",
    "ParallelMode",
    "Parameter",
    "ParameterTuple",
    "ParseError",
    "ShapeError",
    "SignatureError",
    "Tensor",
    "TraceAttributeError",
    "TraceError",
    "TraceTypeError",
    "VerifyError",
    "bfloat16",
    "bool_",
    "build_train_network",
    "compile",
    "debug",
    "float16",
    "float32",
    "float64",
    "get_auto_parallel_context",
    "get_context",
    "get_grad",
    "get_seed",
    "grad",
    "int8",
    "int16",
    "int32",
    "int64",
    "ir",
    "jit",
    "jit_class",
    "load_checkpoint",
    "load_param_into_net",
    "ms_function",
    "mutable",
    "nn",
    "ops",
    "reset_auto_parallel_context",
    "save_checkpoint",
    "set_auto_parallel_context",
    "set_context",
    "set_seed",
    "uint8",
    "value_and_grad",
]  # fmt: skip

if TYPE_CHECKING:
    from graphc.amp import DynamicLossScaleManager, FixedLossScaleManager, LossScaleManager, build_train_network
    from graphc.api import CompiledStep, compile
    from graphc.checkpoint import load_checkpoint, load_param_into_net, save_checkpoint
    from graphc.context import GRAPH_MODE, PYNATIVE_MODE, get_context, set_context
    from graphc.function import jit, jit_class, ms_function
    from graphc.ops.composite import get_grad, grad, value_and_grad
    from graphc.ops.mutable import mutable
    from graphc.ops.seed import get_seed, set_seed
    from graphc.parallel import (
        ParallelMode,
        get_auto_parallel_context,
        reset_auto_parallel_context,
        set_auto_parallel_context,
    )
    from graphc.train import Callback


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        from importlib import import_module

        return getattr(import_module(_LAZY[name]), name)
    if name in _SUBMODULES:
        from importlib import import_module

        return import_module(f"graphc.{name}")
    raise AttributeError(f"module 'graphc' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})


def _compiler() -> Any:
    """graphc.api, imported when a Cell or a gradient function is first called."""
    from graphc import api

    return api


ops.dispatch.execute_cell = lambda *call: _compiler().execute_cell(*call)
ops.dispatch.execute_gradient = lambda *call: _compiler().execute_gradient(*call)
