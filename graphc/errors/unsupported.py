"""Names of MindSpore's that graphc leaves out on purpose, and what to use: for the errors, and for a table in docs/mindspore.md.

A part is the module, or the class, that lacks the name. An entry says what to use instead, as the end of a sentence; a name
that comes to exist loses its entry (a test says which).
"""

from __future__ import annotations


def _names(use: str, names: str) -> dict[str, str]:
    """One sentence for names with spaces between."""
    return dict.fromkeys(names.split(), use)


_GROUPS = "use graphc.parallel, ops.AllReduce and the like, and nn.DistributedGradReducer (docs/parallel.md)"
_MPI = "use mpiexec, which starts the processes and tells them about each other (docs/parallel.md)"
_COMPILED = "use the function written out: the compiler fuses it"
_GENERATED = "use @ops.custom for a kernel of your own (docs/custom-ops.md)"
_PYTHON = "use Python's own statement inside construct: it is traced"
_CACHES = "use tensors of full size: there are no caches on a host or a server"
_OPTIMIZER = "use the optimizer of graphc.nn: a compiled step fuses its update"
_INTERNAL = "use graphc.ops: it is one of MindSpore's own devices"
_DATA = "use graphc.dataset: data sets are read outside of a step"

#: What of `mindspore.ops` and `mindspore.ops.operations` is left out.
OPS = {
    **_names(_CACHES, "MapCacheIdx MapUniform Merge make_map_parameter"),
    **_names(_INTERNAL, "_infer_ops _rl_inner_ops _utils"),
    "_csr_ops": "use CSRTensor, its methods, and ops.csr_add and the like",
    "FusedWeightScaleApplyMomentum": _OPTIMIZER,
    # ---- more than one process
    **_names(
        _GROUPS,
        "NeighborExchange NeighborExchangeV2 Pull Push Reshard _AllSwap all_gather_matmul distribute matmul_reduce_scatter"
        " reshard ring_attention_update MoveTo move_to",
    ),
    **_names(
        "use the functions of ops.communication, which take parts of unequal sizes (docs/parallel.md)",
        "AllGatherV AlltoAllV AlltoAllVC BatchISendIRecv CollectiveGather CollectiveScatter ReduceScatterV",
    ),
    "TCPStore": _MPI,
    # ---- kernels of one device
    **_names(
        "use ops.softmax(q k^T) v: the compiler fuses it",
        "PagedAttention PagedAttentionMask ReshapeAndCache fused_infer_attention_score"
        " incre_flash_attention lightning_indexer nsa_compress nsa_compress_attention nsa_select_attention"
        " prompt_flash_attention sparse_flash_attention speed_fusion_attention multi_scale_deformable_attn_function",
    ),
    **_names(
        _COMPILED,
        "ApplyRotaryPosEmb GroupTopk moe_distribute_combine moe_distribute_dispatch",
    ),
    **_names("use the layer of graphc.nn: nn.LSTM, nn.GRU, nn.RNN", "BasicLSTMCell"),
    # ---- kernels and compilers of one's own
    **_names(
        _GENERATED,
        "AiCPURegOp AkgAscendRegOp AkgGpuRegOp CpuRegOp CustomOpBuilder CustomRegOp DataType PyExecute TBERegOp"
        " _ms_pyfunc custom_info_register get_vm_impl_fn kernel ms_kernel vm_impl_registry",
    ),
    **_names(_PYTHON, "GeSwitch geswitch switch switch_layer"),
    **_names(_DATA, "GetNext ms_hasnext ms_next"),
    **_names(
        _INTERNAL,
        "CopyWithSlice DtypeToEnum J Morph Reusing SelectView SliceGetItem TransposeExtView TransposeView"
        " _add_attr _ones_like_for_grad broadcast_gradient_args env_get environ_add environ_create environ_get environ_set"
        " hyper_add"
        " is_dynamic_sequence_element_unknown is_sequence_shape_unknown is_sequence_value_unknown is_tensor_bool_cond"
        " iter_converter hastype mixed_precision_cast prim_arg_register recompute_block ref_to_embed"
        " tensor_operator_registry array_reduce reduced_shape",
    ),
    # ---- others
    "DumpGradient": "use ops.HookBackward or step.dump()",
    "TensorDump": "use step.dump(), or ops.Print",
    "RNNTLoss": "use ops.ctc_loss: there is no loss of a transducer",
    "rotated_iou": "use ops.iou: boxes stand upright",
    "SampleDistortedBoundingBoxV2": "use dataset.vision.RandomResizedCrop",
    "merge": _PYTHON,
    "tensordump": "use step.dump(), or ops.Print",
    **_names("use ops.grad, ops.GradOperation, or ops.vmap", "_Grad _Vmap"),
    **_names("use ops.matmul for each group", "GroupedMatmul"),
    **_names("use ops.softmax(q k^T) v: the compiler fuses it", "PromptFlashAttention FlashAttentionScoreGrad"),
}

#: What of the methods and attributes of `mindspore.Tensor` is left out.
TENSOR = {
    **_names(
        "use x.asnumpy(): a tensor's memory is a NumPy array",
        "assign_value_cpp convert_bytes_to_tensor data_sync set_device_address storage untyped_storage",
    ),
    **_names(
        "use nothing in its place: every tensor lies in the memory of the process",
        "flush_from_cache offload offload_file_path pin_memory",
    ),
    **_names(
        "use graphc.ops: it is an attribute of MindSpore's own machinery",
        "delete_ delta_seed getitem_index_info index_of_parent_ init_finished init_flag param_info"
        " parent_tensor_ set_cast_dtype set_init_flag set_param_info setitem_index_info symbolic_shape"
        " virtual_flag wait_pipeline",
    ),
    "remove_hook": "use what register_hook returns",
    "set_": "use x.copy_(source): a tensor keeps its memory",
    "index": "use x[...]: MindSpore has none for a CPU",
}

#: What of `mindspore.nn` is left out.
NN = {
    **_names(
        "use nn.Dense, nn.Conv2d, nn.Embedding and an optimizer such as nn.Lamb: second order is not implemented",
        "Conv2dThor DenseThor EmbeddingLookupThor EmbeddingThor thor",
    ),
    **_names(_GROUPS, "AdaSumByDeltaWeightWrapCell AdaSumByGradWrapCell PipelineGradReducer VirtualDatasetCellTriple"),
    "GetNextSingleOp": _DATA,
    "GraphCell": "use the Cell itself with load_checkpoint: MindIR is not read",
    "ResizeBilinear": "use ops.interpolate(x, size=(h, w), mode='bilinear'), or ops.ResizeBilinearV2",
    "OptTFTWrapper": "use ModelCheckpoint: there is no fault tolerance over processes",
}

#: What of the methods and attributes of `mindspore.nn.Cell` is left out.
CELL = {
    "shard": "use the cell itself: there is one device",
    "offload": "use nothing in its place: there is one memory",
    "register_saved_tensors_hooks": "use nothing in its place: the compiler decides what to keep for the gradient",
    **_names("use step = graphc.compile(cell, ...): step.graph is what was compiled", "compile_cache compile_phase"),
    "get_func_graph_proto": "use print(graphc.compile(cell, ...).graph)",
    **_names("use cell.compile(...): it compiles ahead of the first call", "compiled phase_cache"),
    **_names(
        "use cells_and_names(): nodes of the graph carry these paths",
        "get_scope generate_scope global_cells total_instance_count",
    ),
    **_names("use to_float, and compute_dtype", "get_mixed_precision_type set_mixed_precision_type"),
    "jit_config_dict": "use nothing in its place: there is one way of compiling",
    **_names(
        "use get_parameters(): with one process they are whole",
        "parameter_layout_dict parallel_parameter_name_list parallel_parameter_merge_net_dict",
    ),
    **_names("use attributes of your own", "cell_init_args create_time"),
    **_names("use check_names()", "exist_names exist_objs"),
    **_names("use state_dict: it is MindSpore's own bookkeeping", "IGNORE_LIST T_destination"),
}

#: What of `mindspore.dataset` is left out.
DATASET = {
    "OBSMindDataset": "use MindDataset of files that are on this machine",
    "DatasetCache": "use the data set itself: samples that fit into memory are kept by NumpySlicesDataset",
    "utils": "use LineReader, which stands there: there is nothing that draws samples",
    "sync_wait_for_dataset": "use sync_wait and sync_update: there are no devices to wait for",
}

#: What of `mindspore.dataset.utils` is left out.
DATASET_UTILS = _names("use the samples themselves: there is nothing that draws them", "browse_dataset imshow_det_bbox")

#: What of the methods of `mindspore.dataset.Dataset` is left out.
DATASET_METHODS = {
    "use_sampler": "use the samplers of the sources: of data sets that are made of others concat alone has one",
    **_names("use Model.train, or the data set as an iterator: there is one memory", "device_que send recv"),
    **_names(
        "use title(): it is MindSpore's own machinery",
        "copy_batch_size create_ir_tree input_indexs iterator_bootstrap parse parse_tree post_parse pre_parse pre_process",
    ),
}

_FUNCTION = "use a function of the array in map: any callable is a transform"
_VIDEO = "use GeneratorDataset over what reads the frames: videos are not decoded"

#: What of `mindspore.dataset.vision` is left out.
VISION = _names(_VIDEO, "DecodeVideo VideoDecoder read_video read_video_timestamps")

#: What of `mindspore.dataset.transforms` is left out.
TRANSFORMS = {"Plugin": _FUNCTION}

_PIPES = "use save_checkpoint and load_checkpoint: every process has the whole of each parameter"
_SYMBOLS = "use Python's own classes: networks are changed by setting their cells"
_MEMORY = "use `graphc mem`, which says what a step takes: its memory is planned when it is compiled"
_STREAMS = "use nothing in its place: a call returns when it is done, there are no streams"

#: What of `mindspore`, `mindspore.train` and `mindspore.parallel` is left out.
TOP = {
    "FlopsUtilizationCollector": "use `graphc profile`, or step.profile(*inputs) (docs/debugging.md)",
    "flops_collection": "use `graphc profile`, which counts them by kernel",
    "Symbol": "use tensors of fixed shapes: a Cell is compiled anew for each",
    "enable_dynamic": "use the Cell as it is: it is compiled anew for each shape",
    **_names("use ops.stop_gradient: gradients are taken of functions", "saved_tensors_hooks"),
    **_names(_SYMBOLS, "Node NodeType SymbolTree ScopedValue ConvertModelUtils ConvertNetUtils"),
    **_names(
        _STREAMS,
        "DeviceCtx StreamLimitCtx get_stream_limit reset_stream_limit set_stream_limit get_current_device get_device_limit"
        " set_device_limit set_kernel_launch_capture set_kernel_launch_group",
    ),
    **_names(
        _MEMORY,
        "MemPool PluggableAllocator memory_replay ms_memory_recycle use_mem_pool",
    ),
    **_names(
        _PIPES,
        "build_searched_strategy get_ckpt_path_with_strategy load_distributed_checkpoint load_segmented_checkpoints"
        " merge_pipeline_strategys merge_sliced_parameter parameter_broadcast rank_list_for_transform restore_group_info_list"
        " sync_pipeline_shared_parameters transform_checkpoint_by_rank transform_checkpoints unified_safetensors"
        " convert_checkpoint_by_rank convert_checkpoints rank_list_for_convert set_op_strategy_config",
    ),
    **_names(
        "use export, which writes ONNX, and load_checkpoint: MindIR is neither read nor written",
        "load load_mindir save_mindir export_split_mindir obfuscate_ckpt load_obf_params_into_net",
    ),
    "TrainFaultTolerance": "use BackupAndRestore or ModelCheckpoint",
    **_names("use save_checkpoint(..., async_save=True)", "mindio_preload set_mindio_server_info"),
    **_names(
        "use float16, bfloat16 or int8: there are no kernels", "QuantDtype float8_e4m3fn float8_e5m2 hifloat8 qint4x2"
    ),
    "SummaryLandscape": "use SummaryCollector, and `graphc report`",
    "get_algo_parameters": "use get_context: how a step is compiled is decided by the compiler",
    "get_ps_context": "use graphc.parallel: there are no parameter servers",
    **_names("use the module logging, logger 'graphc': mindspore.log has them", "get_level get_log_config"),
    **_names(
        "use it as mindspore's, by `graphc run --mindspore` or graphc.compat.install(): without a device there is nothing to set",
        "set_device run_check synchronize empty_cache set_memory set_cpu_affinity set_deterministic set_dump JitConfig"
        " set_recursion_limit reset_algo_parameters set_algo_parameters reset_ps_context set_ps_context",
    ),
    **_names(
        "use it as mindspore's, by `graphc run --mindspore` or graphc.compat.install(): it has no effect on a compiled step",
        "add_flags constexpr core lazy_inline no_inline recompute",
    ),
    "UntypedStorage": "use x.asnumpy(): a tensor's memory is a NumPy array",
    "register_saved_tensors_hooks": "use nothing in its place: the compiler decides what to keep for the gradient",
    "shard": "use the function itself: every process has the whole of each tensor",
    "MsDispatchMode": "use print(step.graph), which says what was called",
    # ---- whole modules
    "rewrite": _SYMBOLS,
    "safeguard": "use ModelCheckpoint: there is no fault tolerance over processes",
    "tools": "use graphc's own commands (graphc --help)",
}

#: What of `mindspore.boost`, `.profiler` and `.communication` is left out.
BOOST = {
    **_names(
        "use nn.TrainOneStepCell or nn.TrainOneStepWithLossScaleCell: of boost there is GradientAccumulation",
        "AdaSum AutoBoost BoostTrainOneStepCell BoostTrainOneStepWithLossScaleCell DimReduce GroupLossScaleManager LessBN"
        " OptimizerProcess ParameterProcess",
    ),
    **_names("use an optimizer of fewer parameters", "FreezeOpt GradientFreeze freeze_cell"),
}
PROFILER = _names(
    "use `graphc profile`, or step.profile(*inputs) (docs/debugging.md)",
    "DynamicProfilerMonitor EnvProfiler mstx",
)
PARALLEL = {
    "get_comm_name": "use the name of the group: MPI has no other",
    "distributed": "use nn.TrainOneStepCell in a data-parallel mode, and nn.DistributedGradReducer (docs/parallel.md)",
    "function": _GROUPS,
}

#: What of `mindspore.graph` and `mindspore.utils` is left out.
GRAPH = {
    **_names(
        "use a pass of your own (docs/adding-a-pass.md)", "CustomPassType register_custom_pass register_custom_backend"
    ),
    **_names(
        "use @ops.custom for an op of your own (docs/custom-ops.md)",
        "register_op_infer register_op_wrapper clear_op_infer clear_op_wrapper",
    ),
}
_DETECTION = "use nothing in its place: it looks for faults of Ascend devices"
UTILS = {
    **_names(_DETECTION, "sdc_detect sdc_detect_start sdc_detect_stop get_sdc_detect_result stress_detect"),
    **_names(
        "use graphc.parallel: processes that disagree are errors (docs/parallel.md)",
        "runtime_execution_order_check comm_exec_order_check",
    ),
    **_names(
        "use ModelCheckpoint: there is no fault tolerance over processes", "ExitByRequest RSCPluginHandle TFTCommValue"
    ),
    "dryrun": "use `graphc mem`, which says what a step takes, and graphc.compile, which runs nothing",
    "MsDispatchMode": "use print(step.graph), which says what was called",
}

#: By module or class of graphc's: name -> "use ...".
INSTEAD: dict[str, dict[str, str]] = {
    "graphc": TOP,
    "graphc.dataset": DATASET,
    "graphc.dataset.lines": DATASET_UTILS,
    "Dataset": DATASET_METHODS,
    "graphc.dataset.config": _names(_VIDEO, "get_video_backend set_video_backend"),
    "graphc.dataset.transforms": TRANSFORMS,
    "graphc.dataset.vision": VISION,
    "graphc.compat.boost": BOOST,
    "graphc.profiling.profiler": PROFILER,
    "graphc.parallel": PARALLEL,
    "graphc.compat.mint_distributed": {"TCPStore": _MPI},
    "graphc.ops.communication": {"TCPStore": _MPI},
    "graphc.compat.parallel_nn": {"PipelineGradReducer": _GROUPS},
    "graphc.compat.native": {"GroupOptions": "use the name of the group: MPI has no options"},
    "graphc.hal": {"contiguous_tensors_handle": "use the tensors themselves: there is one memory"},
    "graphc.experimental": {"MapParameter": _CACHES},
    "graphc.graph": GRAPH,
    "graphc.utils": UTILS,
    "graphc.nn": NN,
    "Cell": CELL,
    "graphc.ops": OPS,
    "Tensor": TENSOR,
}


def instead(part: str, name: str) -> str | None:
    """What to use for a name that a part lacks on purpose; None if it is none of those."""
    return INSTEAD.get(part, {}).get(name)
