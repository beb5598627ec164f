"""graphc: compile a MindSpore-style training cell into one fused CPU step, and see every node of it.

import graphc as ms
from graphc import nn, ops, Tensor

step = graphc.compile(train_cell, x, y)
loss, overflow, scale = step(x, y)
print(step.graph)
"""

from __future__ import annotations

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from graphc import dispatch
from graphc.collector import importing
from graphc.debug import debug as debug
from graphc.errors import (
    ArgumentTypeError,
    ArgumentValueError,
    CheckpointError,
    CompileError,
    DataError,
    DTypeError,
    ExportError,
    GradientError,
    GraphcError,
    GraphcWarning,
    InternalError,
    KernelError,
    LossScaleError,
    LossScaleWarning,
    LoweringError,
    MissingPackageError,
    NestingError,
    NonFiniteError,
    NonFiniteWarning,
    OpByOpWarning,
    PaddingError,
    ParseError,
    RecompileWarning,
    RecordError,
    ShapeError,
    SignatureError,
    StepMemoryError,
    TraceAttributeError,
    TraceError,
    TraceTypeError,
    TransformError,
    UntrainedWarning,
    VerifyError,
)  # fmt: skip
from graphc.errors.suggestions import no_member, provider
from graphc.paths import finders
from graphc.tracebacks import clean

if sys.platform == "win32":
    raise ImportError(
        "graphc: Windows is not supported: threads, processes and files work as on Linux"
        "\n  use: Windows Subsystem for Linux (wsl --install), with Python and pip inside of it"
    )

if TYPE_CHECKING:
    from graphc import amp as amp
    from graphc import common as common
    from graphc import compat as compat
    from graphc import dataset as dataset
    from graphc import experimental as experimental
    from graphc import ir as ir
    from graphc import mindrecord as mindrecord
    from graphc import mint as mint
    from graphc import nn as nn
    from graphc import numpy as numpy
    from graphc import ops as ops
    from graphc import parallel as parallel
    from graphc import passes as passes
    from graphc import scipy as scipy
    from graphc import testing as testing
    from graphc import train as train
    from graphc.amp import DynamicLossScaleManager, FixedLossScaleManager, LossScaleManager, build_train_network
    from graphc.checkpoint import (
        async_ckpt_thread_status,
        ckpt_to_safetensors,
        load_checkpoint,
        load_checkpoint_async,
        load_param_into_net,
        safetensors_to_ckpt,
        save_checkpoint,
    )
    from graphc.context import GRAPH_MODE, PYNATIVE_MODE, ParallelMode, get_context, set_context
    from graphc.exports.function import export
    from graphc.ops.functional.attributes import from_numpy
    from graphc.ops.functional.memory import frombuffer, swap_tensors
    from graphc.ops.functional.sparse import COOTensor, CSRTensor, SparseTensor
    from graphc.ops.gradients.derivatives import hessian, jacfwd, jacrev, jvp, vjp, vmap
    from graphc.ops.gradients.reverse import get_grad, grad, value_and_grad
    from graphc.ops.tensor.dtype import (
        DType,
        bfloat16,
        bool_,
        byte,
        cdouble,
        cfloat,
        complex64,
        complex128,
        double,
        float16,
        float32,
        float64,
        half,
        int8,
        int16,
        int32,
        int64,
        intc,
        intp,
        long,
        short,
        single,
        ubyte,
        uint8,
        uint16,
        uint32,
        uint64,
        uintc,
        uintp,
        ushort,
    )
    from graphc.ops.tensor.generator import Generator, default_generator, initial_seed, manual_seed, seed
    from graphc.ops.tensor.mutable import mutable
    from graphc.ops.tensor.parameter import Parameter, ParameterTuple
    from graphc.ops.tensor.row_tensor import RowTensor
    from graphc.ops.tensor.seed import get_rng_state, get_seed, set_rng_state, set_seed
    from graphc.ops.tensor.tensor import Tensor, tensor
    from graphc.parallel import get_auto_parallel_context, reset_auto_parallel_context, set_auto_parallel_context
    from graphc.profiling.profiler import Profiler
    from graphc.steps.buckets import BucketedStep
    from graphc.steps.compile import compile
    from graphc.steps.compiled_step import CompiledStep
    from graphc.steps.jit import jit, jit_class, ms_function
    from graphc.train import (
        BackupAndRestore,
        Callback,
        CheckpointConfig,
        DatasetHelper,
        EarlyStopping,
        History,
        LambdaCallback,
        LearningRateScheduler,
        LossMonitor,
        Model,
        ModelCheckpoint,
        OnRequestExit,
        ReduceLROnPlateau,
        RunContext,
        SummaryCollector,
        SummaryRecord,
        TimeMonitor,
        connect_network_with_dataset,
        data_sink,
    )

__version__ = "0.1.0"

#: Names by module: what needs more than the standard library is imported when it is first asked for.
_LAZY = {
    "graphc": "amp common compat context dataset experimental ir mindrecord mint nn numpy ops parallel passes scipy testing"
    " train",
    "graphc.amp": "DynamicLossScaleManager FixedLossScaleManager LossScaleManager build_train_network",
    "graphc.steps.compiled_step": "CompiledStep",
    "graphc.steps.compile": "compile",
    "graphc.steps.buckets": "BucketedStep",
    "graphc.checkpoint": "async_ckpt_thread_status ckpt_to_safetensors load_checkpoint load_checkpoint_async load_param_into_net"
    " safetensors_to_ckpt save_checkpoint",
    "graphc.context": "GRAPH_MODE PYNATIVE_MODE ParallelMode get_context set_context",
    "graphc.exports.function": "export",
    "graphc.steps.jit": "jit jit_class ms_function",
    "graphc.ops.gradients.derivatives": "hessian jacfwd jacrev jvp vjp vmap",
    "graphc.ops.gradients.reverse": "get_grad grad value_and_grad",
    "graphc.ops.tensor.generator": "Generator default_generator initial_seed manual_seed seed",
    "graphc.ops.tensor.dtype": "DType bfloat16 bool_ byte cdouble cfloat complex64 complex128 double float16 float32 float64"
    " half int8 int16 int32 int64 intc intp long short single ubyte uint8 uint16 uint32 uint64 uintc uintp ushort",
    "graphc.ops.tensor.mutable": "mutable",
    "graphc.ops.tensor.seed": "get_rng_state get_seed set_rng_state set_seed",
    "graphc.ops.tensor.parameter": "Parameter ParameterTuple",
    "graphc.ops.tensor.row_tensor": "RowTensor",
    "graphc.ops.functional.attributes": "from_numpy",
    "graphc.ops.functional.memory": "frombuffer swap_tensors",
    "graphc.ops.functional.sparse": "COOTensor CSRTensor SparseTensor",
    "graphc.ops.tensor.tensor": "Tensor tensor",
    "graphc.profiling.profiler": "Profiler",
    "graphc.parallel": "get_auto_parallel_context reset_auto_parallel_context set_auto_parallel_context",
    "graphc.train": (
        "BackupAndRestore Callback CheckpointConfig DatasetHelper EarlyStopping History LambdaCallback LearningRateScheduler"
        " LossMonitor Model ModelCheckpoint OnRequestExit ReduceLROnPlateau RunContext SummaryCollector SummaryRecord TimeMonitor"
        " connect_network_with_dataset data_sink"
    ),
}
_MODULE_OF = {name: module for module, names in _LAZY.items() for name in names.split()}

__all__ = [
    "GRAPH_MODE",
    "PYNATIVE_MODE",
    "ArgumentTypeError",
    "ArgumentValueError",
    "BackupAndRestore",
    "BucketedStep",
    "COOTensor",
    "CSRTensor",
    "Callback",
    "CheckpointConfig",
    "CheckpointError",
    "CompileError",
    "CompiledStep",
    "DType",
    "DTypeError",
    "DataError",
    "DatasetHelper",
    "DynamicLossScaleManager",
    "EarlyStopping",
    "ExportError",
    "FixedLossScaleManager",
    "Generator",
    "GradientError",
    "GraphcError",
    "GraphcWarning",
    "History",
    "InternalError",
    "KernelError",
    "LambdaCallback",
    "LearningRateScheduler",
    "LossMonitor",
    "LossScaleError",
    "LossScaleManager",
    "LossScaleWarning",
    "LoweringError",
    "MissingPackageError",
    "Model",
    "ModelCheckpoint",
    "NestingError",
    "NonFiniteError",
    "NonFiniteWarning",
    "OnRequestExit",
    "OpByOpWarning",
    "PaddingError",
    "ParallelMode",
    "Parameter",
    "ParameterTuple",
    "ParseError",
    "Profiler",
    "RecompileWarning",
    "RecordError",
    "ReduceLROnPlateau",
    "RowTensor",
    "RunContext",
    "ShapeError",
    "SignatureError",
    "SparseTensor",
    "StepMemoryError",
    "SummaryCollector",
    "SummaryRecord",
    "Tensor",
    "TimeMonitor",
    "TraceAttributeError",
    "TraceError",
    "TraceTypeError",
    "TransformError",
    "UntrainedWarning",
    "VerifyError",
    "async_ckpt_thread_status",
    "bfloat16",
    "bool_",
    "build_train_network",
    "byte",
    "cdouble",
    "cfloat",
    "ckpt_to_safetensors",
    "compile",
    "complex64",
    "complex128",
    "connect_network_with_dataset",
    "data_sink",
    "debug",
    "default_generator",
    "double",
    "export",
    "float16",
    "float32",
    "float64",
    "from_numpy",
    "frombuffer",
    "get_auto_parallel_context",
    "get_context",
    "get_grad",
    "get_rng_state",
    "get_seed",
    "grad",
    "half",
    "hessian",
    "initial_seed",
    "int8",
    "int16",
    "int32",
    "int64",
    "intc",
    "intp",
    "ir",
    "jacfwd",
    "jacrev",
    "jit",
    "jit_class",
    "jvp",
    "load_checkpoint",
    "load_checkpoint_async",
    "load_param_into_net",
    "long",
    "manual_seed",
    "ms_function",
    "mutable",
    "nn",
    "ops",
    "reset_auto_parallel_context",
    "safetensors_to_ckpt",
    "save_checkpoint",
    "seed",
    "set_auto_parallel_context",
    "set_context",
    "set_rng_state",
    "set_seed",
    "short",
    "single",
    "swap_tensors",
    "tensor",
    "ubyte",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "uintc",
    "uintp",
    "ushort",
    "value_and_grad",
    "vjp",
    "vmap",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        try:
            return no_member("graphc", name, _MODULE_OF)
        except (AttributeError, ImportError) as error:
            clean(error)
            raise
    module = _MODULE_OF[name]
    with importing:
        value = provider(f"graphc.{name}") if module == "graphc" else getattr(provider(module), name)
        value = import_module("graphc.validation.signatures").accepting(value, __name__)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULE_OF})


def _compiler() -> Any:
    """graphc.steps.calls, imported when a Cell or a gradient function is first called."""
    with importing:
        return import_module("graphc.steps.calls")


finders.install()
dispatch.declare_ops = lambda: import_module("graphc.ops.declared")
dispatch.execute_cell = lambda *call: _compiler().execute_cell(*call)
dispatch.execute_gradient = lambda *call: _compiler().execute_gradient(*call)
