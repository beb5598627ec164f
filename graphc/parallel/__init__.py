"""Parallel training: MindSpore's settings, and the group functions of its communication module. A process that no launcher has
started is rank 0 of 1. What processes tell each other are ops, such as `graphc.ops.AllReduce`, and `graphc.ops.communication`.
"""

from graphc.parallel.communication import (
    HCCL_WORLD_COMM_GROUP,
    MCCL_WORLD_COMM_GROUP,
    NCCL_WORLD_COMM_GROUP,
    GlobalComm,
    create_group,
    destroy_group,
    get_group_rank_from_world_rank,
    get_group_size,
    get_local_rank,
    get_local_rank_size,
    get_process_group_ranks,
    get_rank,
    get_world_rank_from_group_rank,
    init,
    release,
)
from graphc.parallel.layout import Layout
from graphc.parallel.settings import (  # noqa: F401, training cells written for MindSpore import all of these
    ParallelMode,
    _get_device_num,
    _get_enable_parallel_optimizer,
    _get_full_batch,
    _get_global_rank,
    _get_gradients_mean,
    _get_parallel_mode,
    _get_parameter_broadcast,
    _get_pipeline_stages,
    _get_stage_device_num,
    _is_in_auto_parallel_mode,
    _is_pynative_parallel,
    _is_sharding_propagation,
    _parallel_predict_check,
    _set_cost,
    _set_multi_subgraphs,
    _set_rp_matmul_mem_coef,
    auto_parallel_context,
    get_auto_parallel_context,
    reset_auto_parallel_context,
    set_auto_parallel_context,
)
from graphc.validation.signatures import accept

__all__ = [
    "HCCL_WORLD_COMM_GROUP",
    "MCCL_WORLD_COMM_GROUP",
    "NCCL_WORLD_COMM_GROUP",
    "GlobalComm",
    "Layout",
    "ParallelMode",
    "create_group",
    "destroy_group",
    "get_auto_parallel_context",
    "get_group_rank_from_world_rank",
    "get_group_size",
    "get_local_rank",
    "get_local_rank_size",
    "get_process_group_ranks",
    "get_rank",
    "get_world_rank_from_group_rank",
    "init",
    "release",
    "reset_auto_parallel_context",
    "set_auto_parallel_context",
]

accept(globals(), __all__, __name__)
