"""Names of MindSpore's packages `mindspore`, `.context`, `.common` that scripts set and that mean little or nothing here.

Settings of devices, dumps and parallel training are accepted and remembered; the compiler has no use for them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from graphc import context as _context
from graphc import parallel
from graphc.compat.log import get_level as get_level
from graphc.compat.log import get_log_config as get_log_config
from graphc.errors import ArgumentValueError, user_loc
from graphc.errors.suggestions import nearest, question
from graphc.ir.types import COMPLEX, FLOATS, numpy_dtype
from graphc.nn.cell.cell import Cell
from graphc.ops.functional.attributes import from_numpy as from_numpy
from graphc.ops.functional.memory import frombuffer as frombuffer
from graphc.ops.functional.memory import swap_tensors as swap_tensors
from graphc.ops.functional.sparse import COOTensor as COOTensor
from graphc.ops.functional.sparse import CSRTensor as CSRTensor
from graphc.ops.functional.sparse import SparseTensor as SparseTensor
from graphc.ops.tensor.dtype import BY_NAME, DType, to_name
from graphc.ops.tensor.row_tensor import RowTensor
from graphc.ops.tensor.tensor import Tensor
from graphc.ops.tensor.tensor import tensor as tensor
from graphc.validation.checks import one_of
from graphc.validation.unused_arguments import no_effect, only

GRAPH_MODE, PYNATIVE_MODE = _context.GRAPH_MODE, _context.PYNATIVE_MODE
STRICT, COMPATIBLE, LAX = 0, 1, 2
RELEASE, DEBUG = 0, 1

#: The version of MindSpore whose names and values these are; scripts compare it. graphc's own is `graphc.__version__`.
__version__ = "2.10.0"

#: What MindSpore 2.10 says on a CPU of settings that nobody has set.
_accepted: dict[str, Any] = {
    "aoe_config": {}, "aoe_tune_mode": "", "ascend_config": {}, "check_bprop": False, "compile_cache_path": "",
    "debug_level": 0, "deterministic": "OFF", "device_id": 0, "disable_format_transform": False,
    "enable_compile_cache": None, "enable_graph_kernel": False, "enable_reduce_precision": True, "env_config_path": "",
    "exec_order": "bfs", "graph_kernel_flags": "", "inter_op_parallel_num": 0, "jit_config": {}, "jit_syntax_level": LAX,
    "max_call_depth": 1000, "max_device_memory": 1024.0, "memory_optimize_level": 0, "mempool_block_size": 1.0,
    "op_timeout": 900, "pynative_synchronize": False, "reserve_class_name_in_scope": True,
    "support_binary": False, "variable_memory_max_size": "0",
}  # fmt: skip
#: The same of settings of parallel training that graphc has no counterpart of.
_PARALLEL_UNSET: dict[str, Any] = {
    "auto_parallel_search_mode": "recursive_programming", "auto_pipeline": False, "comm_fusion": None,
    "communi_parallel_mode": "all_group_parallel", "dataset_strategy": "data_parallel", "dump_local_norm": False,
    "enable_alltoall": False, "force_fp32_communication": False, "grad_accumulation_step": 1, "gradient_fp32_sync": True,
    "group_ckpt_save_file": "", "loss_repeated_mean": True, "optimizer_weight_shard_aggregated_save": False,
    "optimizer_weight_shard_size": -1, "pipeline_config": None, "pipeline_interleave": False,
    "search_mode": "recursive_programming", "sharding_propagation": False, "strategy_ckpt_config": None,
    "strategy_ckpt_load_file": "", "strategy_ckpt_save_file": "",
}  # fmt: skip
_parallel_accepted: dict[str, Any] = {}
#: Settings of MindSpore's, older ones too, that mean nothing here.
_WITHOUT_EFFECT = frozenset((
    "aoe_config", "aoe_tune_mode", "ascend_config", "auto_tune_mode", "check_bprop", "compile_cache_path", "debug_level",
    "deterministic", "device_id", "disable_format_transform", "enable_auto_mixed_precision", "enable_compile_cache",
    "enable_dump", "enable_graph_kernel", "enable_profiling", "enable_reduce_precision", "enable_sparse",
    "env_config_path", "exec_order", "gpu_config", "grad_for_scalar", "graph_kernel_flags", "inter_op_parallel_num",
    "jit_config", "jit_enable_inplace_ops", "jit_level", "jit_syntax_level", "max_call_depth", "max_device_memory",
    "memory_offload", "memory_optimize_level", "mempool_block_size", "op_timeout", "precompile_only", "print_file_path",
    "profiling_options", "pynative_synchronize", "reserve_class_name_in_scope", "runtime_num_threads", "save_dump_path",
    "support_binary", "topo_order", "variable_memory_max_size",
))  # fmt: skip
_OURS = ("mode", "device_target", "save_graphs", "save_graphs_path")
#: As set_context names them.
_DEVICES = ("CPU", "GPU", "Ascend", "Davinci")
_logger = logging.getLogger("graphc")

_SETTINGS = {
    "device_id": "there is one device",
    "max_call_depth": "Python's own limit holds",
    "runtime_num_threads": "GRAPHC_NUM_THREADS says how many threads a step has",
}


def set_context(**settings: Any) -> None:
    """`mode` chooses how Cells run, `save_graphs` and `save_graphs_path` what is written of each step. MindSpore's other settings
    are remembered for get_context, and said once to have no effect; devices other than a CPU are not there: the script runs on
    the CPU, with a warning in the log.

    Raises ArgumentValueError for what is no setting, or no device, of MindSpore's.
    """
    for name in settings:
        if name not in _WITHOUT_EFFECT and name not in _OURS:
            known = (*_OURS, *_WITHOUT_EFFECT)
            raise ArgumentValueError(
                f"set_context has no setting {name!r}", loc=user_loc(), help=question(nearest(name, sorted(known)))
            )
    target = settings.pop("device_target", "CPU")
    one_of("set_context", "device_target", target, _DEVICES)
    written = {name: settings.pop(name) for name in ("save_graphs", "save_graphs_path") if name in settings}
    if written:
        _context.set_context(**written)
    mode = settings.pop("mode", None)
    if mode is not None:
        _context.set_context(mode=mode)
    if target != "CPU":
        _logger.warning("device_target %r is not there: running on the CPU", target)
    for name in settings:
        no_effect("set_context", name, _SETTINGS.get(name, "how a step is compiled and run is decided by the compiler"))
    _accepted.update(settings)


def get_context(attr_key: str) -> Any:
    """A setting; ArgumentValueError if it was never set and has no default. The mode that nobody has set is MindSpore's: what
    cannot be compiled runs op by op.
    """
    if attr_key == "mode" and _context.leaves_to_python():
        return _context.PYNATIVE_MODE
    return _accepted[attr_key] if attr_key in _accepted else _context.get_context(attr_key)


def set_auto_parallel_context(**settings: Any) -> None:
    """As graphc's own; MindSpore's other settings are remembered for get_auto_parallel_context, and said once to mean nothing."""
    others = {name: settings.pop(name) for name in list(settings) if name in _PARALLEL_UNSET}
    parallel.set_auto_parallel_context(**settings)
    for name in others:
        no_effect("set_auto_parallel_context", name, "there is data parallel training, and layers with shard=")
    _parallel_accepted.update(others)


def get_auto_parallel_context(attr_key: str) -> Any:
    """A setting by name; ArgumentValueError if there is none of that name."""
    if attr_key in _PARALLEL_UNSET:
        return _parallel_accepted.get(attr_key, _PARALLEL_UNSET[attr_key])
    return parallel.get_auto_parallel_context(attr_key)


def _get_mode() -> int:
    """The mode of the context."""
    return int(get_context("mode"))


def reset_auto_parallel_context() -> None:
    """All settings as they are at the start."""
    _parallel_accepted.clear()
    parallel.reset_auto_parallel_context()


def set_device(device_target: str, device_id: int | None = None) -> None:
    """As set_context(device_target=...); there is one device, number 0."""
    only("set_device", "device_id", device_id, None, 0)
    set_context(device_target=device_target)


def _without_effect(name: str, why: str) -> Callable[..., None]:
    """A function that takes anything, and says once that it does nothing."""

    def function(*args: Any, **kwargs: Any) -> None:
        no_effect("mindspore", name, why)

    function.__name__ = name
    function.__doc__ = f"Nothing, said once: {why}."
    return function


_ONE_PLAN = "how a step is compiled is decided by the compiler"
set_deterministic = _without_effect("set_deterministic", "a step of a number of threads always gives the same bits")
set_recursion_limit = _without_effect("set_recursion_limit", "Python's own limit holds")
set_algo_parameters = _without_effect("set_algo_parameters", _ONE_PLAN)
reset_algo_parameters = _without_effect("reset_algo_parameters", _ONE_PLAN)
set_ps_context = _without_effect("set_ps_context", "there are no parameter servers")
reset_ps_context = _without_effect("reset_ps_context", "there are no parameter servers")
set_dump = _without_effect("set_dump", "step.dump() writes what there is to see")
set_cpu_affinity = _without_effect("set_cpu_affinity", "the process's own affinity holds")
set_memory = _without_effect("set_memory", "a step's memory is planned when it is compiled")
empty_cache = _without_effect("empty_cache", "a step's memory is freed with it")
synchronize = _without_effect("synchronize", "a call returns when it is done")


def run_check() -> None:
    """Print that the installation works, after adding two tensors."""
    assert (Tensor([1.0]) + Tensor([1.0])).item() == 2.0
    print("graphc computes.")


class JitConfig:
    """Accepted: how MindSpore should compile. `jit_config_dict` holds what was given."""

    def __init__(self, jit_level: str = "", exc_mode: str = "auto", jit_syntax_level: str = "", **kwargs: Any) -> None:
        levels = ("", "O0", "O1", "O2")
        one_of("JitConfig", "jit_level", jit_level, levels)
        self.jit_config_dict = {
            "jit_level": jit_level,
            "exc_mode": exc_mode,
            "jit_syntax_level": jit_syntax_level,
            **kwargs,
        }


def _marker(fn: Callable[..., Any] | None = None, **options: Any) -> Any:
    """A decorator, with or without arguments, that returns what it decorates."""
    return fn if fn is not None else lambda function: function


lazy_inline = no_inline = _marker


def add_flags(fn: Any = None, **flags: Any) -> Any:
    """A decorator that returns what it decorates; a Cell gets the flags as attributes."""
    if isinstance(fn, Cell):
        return fn.add_flags(**flags)
    return _marker(fn)


core = add_flags


def constexpr(
    fn: Callable[..., Any] | None = None, get_instance: bool = True, name: str | None = None, **_: Any
) -> Any:
    """A decorator for functions of Python values that run when a Cell is compiled: here every such function does."""
    return fn if fn is not None else lambda function: function


_primexpr = constexpr


def recompute(block: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """block(*args): what to keep for the gradient is decided by the compiler."""
    return block(*args, **kwargs)


# ---- dtypes


def dtype_to_nptype(type_: Any) -> Any:
    """The NumPy type of a dtype."""
    return numpy_dtype(to_name(type_)).type


def dtype_to_pytype(type_: Any) -> Any:
    """The Python type of a dtype: bool, int, float or complex."""
    name = to_name(type_)
    return bool if name == "bool" else complex if name in COMPLEX else float if name in FLOATS else int


def pytype_to_dtype(obj: Any) -> DType:
    """The dtype of a Python or NumPy type."""
    if obj is int:
        return BY_NAME["int64"]
    if obj is float:
        return BY_NAME["float64"]
    return BY_NAME[to_name(obj)]


def get_py_obj_dtype(obj: Any) -> Any:
    """The dtype of a tensor or number, the type of anything else."""
    if isinstance(obj, Tensor):
        return obj.dtype
    return pytype_to_dtype(type(obj)) if isinstance(obj, (bool, int, float)) else type(obj)


#: Without a number of bits they are these where a tensor gets them.
int_, float_ = BY_NAME["int32"], BY_NAME["float32"]
string, list_, tuple_, type_none, number = str, list, tuple, type(None), (int, float)
Type, TensorType = DType, Tensor
tensor_type = Tensor


#: Dtypes with the names of Python's types, which as variables would hide these from this module.
_PYTHONS = {"bool": "bool", "int": "int32", "float": "float32"}


def __getattr__(name: str) -> DType:
    """A dtype with the name of a type of Python's."""
    if name in _PYTHONS:
        return BY_NAME[_PYTHONS[name]]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


RowTensorInner = RowTensor


def _get_cache_prim(cls: Any) -> Any:
    """The primitive class itself: making one costs nothing worth keeping."""
    return cls


__all__ = [
    "COMPATIBLE", "DEBUG", "GRAPH_MODE", "LAX", "PYNATIVE_MODE", "RELEASE", "STRICT", "COOTensor", "CSRTensor",
    "JitConfig", "RowTensor", "RowTensorInner", "SparseTensor", "Tensor", "TensorType", "Type", "__version__",
    "add_flags", "bool", "constexpr", "core", "dtype_to_nptype", "dtype_to_pytype", "empty_cache", "float", "float_",
    "from_numpy", "frombuffer", "get_auto_parallel_context", "get_context", "get_level", "get_log_config",
    "get_py_obj_dtype", "int", "int_", "lazy_inline", "list_", "no_inline", "number", "pytype_to_dtype", "recompute",
    "reset_algo_parameters", "reset_auto_parallel_context", "reset_ps_context", "run_check", "set_algo_parameters",
    "set_auto_parallel_context", "set_context", "set_cpu_affinity", "set_deterministic", "set_device", "set_dump",
    "set_memory", "set_ps_context", "set_recursion_limit", "string", "swap_tensors", "synchronize", "tensor",
    "tensor_type", "tuple_", "type_none",
]  # fmt: skip
