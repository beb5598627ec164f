"""MindSpore's modules: which there are, and the modules of graphc that have their names."""

from __future__ import annotations

_TOP = "graphc.compat.toplevel"
_TENSORS = (
    _TOP,
    "graphc",
    "graphc.ops",
    "graphc.ops.tensor.dtype",
    "graphc.ops.tensor.tensor",
    "graphc.ops.tensor.parameter",
)
_NN = ("graphc.nn",)
_OPS = ("graphc.ops", "graphc.ops.gradients.reverse", _TOP)
_PRIMITIVES = ("graphc.ops", "graphc.ops.primitives", _TOP)
_DATASETS = (
    "graphc.dataset",
    "graphc.dataset.sources.source",
    "graphc.dataset.orders.samplers",
    "graphc.dataset.core.iterators",
    "graphc.dataset.nodes.concat",
    "graphc.dataset.nodes.sequence",
    "graphc.dataset.nodes.mapping",
    "graphc.dataset.nodes.zipping",
)
_MINDRECORD = ("graphc.mindrecord", "graphc.compat.mindrecord_errors")
_TRANSFORMS = ("graphc.dataset.transforms", "graphc.compat.transforms")
_VISION = ("graphc.dataset.vision", "graphc.compat.transforms")
_TEXT = ("graphc.dataset.text", "graphc.compat.transforms")
_AUDIO = ("graphc.dataset.audio", "graphc.compat.transforms")
_PARALLEL = ("graphc.parallel", _TOP)
_DTYPES = ("graphc.ops.tensor.dtype", "graphc.compat.type_classes", _TOP)
_INSIDE = ("graphc.compat.primitives",)
_FUNCTIONS = ("graphc.compat.functions",)
_GENERATED = (
    "graphc.compat.generated",
    "graphc.compat.generated_classes",
    *_PRIMITIVES,
    "graphc.compat.extended.auto_generate",
)
_SPARSE = (
    "graphc.compat.sparse_coordinates",
    "graphc.compat.sparse_rows",
    "graphc.compat.sparse_segments",
    *_PRIMITIVES,
)
_LAYERS = "graphc.compat.extended.layers"
_DEVICES = ("graphc.compat.devices",)
_OPTIMIZE = ("minimize", "line_search", "linear_sum_assignment")
_PROFILER = ("graphc.profiling.profiler", "graphc.profiling.settings")
_STUBS = ("graphc.compat.stubs",)


def _within(parent: str, names: str, providers: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    return {f"{parent}.{name}": providers for name in names.split()}


#: MindSpore's module -> graphc's modules that are searched for its names, in order.
MODULES: dict[str, tuple[str, ...]] = {
    "mindspore": (
        _TOP,
        "graphc",
        "graphc.context",
        "graphc.ops.tensor.dtype",
        "graphc.amp",
        "graphc.train",
        "graphc.ops",
        "graphc.parallel",
        "graphc.compat.gradients",
        "graphc.compat.devices",
        "graphc.compat.lacking",
        # MindSpore has all of MindRecord's names, and kinds of dtypes, in its package itself, too.
        *_MINDRECORD,
        "graphc.compat.type_classes",
    ),
    "mindspore.context": (_TOP, "graphc.context", "graphc.parallel"),
    "mindspore.version": (_TOP,),
    "mindspore._checkparam": ("graphc.compat.checkparam", "graphc.compat.checkparam_shapes"),
    **dict.fromkeys(("mindspore._extends", "mindspore._extends.utils"), _INSIDE),
    "mindspore._c_expression": ("graphc.compat.native",),
    "mindspore._c_expression.amp": ("graphc.compat.native_amp",),
    "mindspore._c_expression.typing": ("graphc.compat.type_classes",),
    **dict.fromkeys(("mindspore.boost", "mindspore.boost.grad_accumulation"), ("graphc.compat.boost",)),
    # Tensors are pickled.
    **dict.fromkeys(("mindspore.multiprocessing", "mindspore.multiprocessing.queue"), ("multiprocessing",)),
    "mindspore.log": ("graphc.compat.log",),
    # ---- devices, of which there is one
    "mindspore.hal": _DEVICES,
    **_within("mindspore.hal", "device event memory stream", _DEVICES),
    "mindspore.runtime": _DEVICES,
    **_within("mindspore.runtime", "device event memory stream executor thread_bind_core", _DEVICES),
    "mindspore.device_context": (),
    "mindspore.device_context.cpu": ("graphc.compat.cpu_context",),
    **_within("mindspore.device_context.cpu", "device op_tuning", ("graphc.compat.cpu_context",)),
    **_within("mindspore.device_context", "ascend gpu", ("graphc.compat.no_context",)),
    **_within(
        "mindspore.device_context.ascend", "device op_debug op_precision op_tuning", ("graphc.compat.no_context",)
    ),
    **_within("mindspore.device_context.gpu", "device op_precision op_tuning", ("graphc.compat.no_context",)),
    "mindspore.mint": ("graphc.mint", "graphc.ops.tensor.tensor"),
    "mindspore.mint.distributed": ("graphc.compat.mint_distributed",),
    "mindspore.mint.distributed.distributed": ("graphc.compat.mint_distributed",),
    "mindspore.mint.linalg": ("graphc.mint.linalg",),
    "mindspore.mint.special": ("graphc.mint.special",),
    "mindspore.mint.nn": ("graphc.mint.nn", "graphc.nn.cell"),
    **dict.fromkeys(("mindspore.mint.functional", "mindspore.mint.nn.functional"), ("graphc.mint.nn.functional",)),
    "mindspore.mint.optim": ("graphc.mint.optim",),
    **_within("mindspore.mint.optim", "adam adamw sgd fused_adamw", ("graphc.mint.optim",)),
    "mindspore.mint.nn.layer": ("graphc.mint.nn",),
    **_within("mindspore.mint.nn.layer", "activation basic conv normalization padding pooling", ("graphc.mint.nn",)),
    "mindspore.numpy": ("graphc.numpy",),
    "mindspore.numpy.fft": ("graphc.numpy.fft",),
    **_within("mindspore.numpy", "array_creations array_ops logic_ops dtypes", ("graphc.numpy",)),
    "mindspore.numpy.math_ops": ("graphc.numpy", "graphc.numpy.elementwise", "graphc.numpy.reductions"),
    **{f"mindspore.{name}": (f"graphc.{name}",) for name in ("scipy", "scipy.linalg", "scipy.fft", "scipy.ops")},
    **dict.fromkeys(
        ("mindspore.scipy.optimize", *(f"mindspore.scipy.optimize.{name}" for name in _OPTIMIZE)),
        ("graphc.scipy.optimize",),
    ),
    # ---- data sets
    "mindspore.mindrecord": _MINDRECORD,
    **_within(
        "mindspore.mindrecord", "config filewriter filereader mindpage tools common common.exceptions", _MINDRECORD
    ),
    **_within(
        "mindspore.mindrecord.tools",
        "cifar10_to_mr cifar100_to_mr csv_to_mr imagenet_to_mr mnist_to_mr tfrecord_to_mr",
        _MINDRECORD,
    ),
    "mindspore.dataset": (
        "graphc.dataset",
        "graphc.dataset.sources.source",
        "graphc.compat.lacking",
        "graphc.dataset.nodes.concat",
        "graphc.dataset.nodes.sequence",
    ),
    "mindspore.dataset.config": ("graphc.dataset.config",),
    "mindspore.dataset.core.config": ("graphc.dataset.config",),
    "mindspore.dataset.core": ("graphc.dataset",),
    "mindspore.dataset.dataloader": ("graphc.dataset.dataloader",),
    **_within("mindspore.dataset.dataloader", "dataloader dataset sampler distributed", ("graphc.dataset.dataloader",)),
    "mindspore.dataset.debug": ("graphc.dataset.debug",),
    "mindspore.dataset.utils": ("graphc.dataset.lines",),
    "mindspore.dataset.utils.line_reader": ("graphc.dataset.lines",),
    "mindspore.dataset.callback": ("graphc.dataset.callbacks", "graphc.dataset.waited_callbacks"),
    "mindspore.dataset.callback.ds_callback": ("graphc.dataset.callbacks", "graphc.dataset.waited_callbacks"),
    "mindspore.dataset.transforms": ("graphc.dataset.transforms",),
    **_within("mindspore.dataset.transforms", "transforms py_transforms", _TRANSFORMS),
    **_within("mindspore.dataset.vision", "transforms utils", _VISION),
    "mindspore.dataset.vision": ("graphc.dataset.vision",),
    "mindspore.dataset.text": ("graphc.dataset.text",),
    **_within("mindspore.dataset.text", "transforms utils", _TEXT),
    # The names before MindSpore 2: those that are there mean the same.
    "mindspore.dataset.transforms.c_transforms": ("graphc.dataset.transforms",),
    "mindspore.dataset.vision.c_transforms": ("graphc.dataset.vision",),
    **_within(
        "mindspore.dataset.engine",
        "datasets_user_defined datasets_vision datasets_text datasets_audio datasets_standard_format samplers iterators",
        _DATASETS,
    ),
    "mindspore.dataset.engine": _DATASETS,
    "mindspore.dataset.engine.datasets": (*_DATASETS, "graphc.compat.data_recovery"),
    "mindspore.dataset.audio": ("graphc.dataset.audio",),
    **_within("mindspore.dataset.audio", "transforms utils", _AUDIO),
    **_within("mindspore.dataset", "samplers", _DATASETS),
    # ---- networks
    "mindspore.nn": _NN,
    **_within("mindspore.nn", "grad grad.cell_grad", ("graphc.nn.train.products",)),
    **_within("mindspore.nn", "sparse sparse.sparse", ("graphc.nn.layer.sparse",)),
    **_within("mindspore.nn", "utils utils.init", ("graphc.nn.cell.uninitialized",)),
    "mindspore.nn.wrap": (
        *(f"graphc.nn.train.{part}" for part in ("wrap", "loss_scale", "accumulate", "grad_reducer")),
        "graphc.compat.wrappers",
    ),
    "mindspore.nn.cell": ("graphc.nn.cell",),
    **_within("mindspore.nn", "layer layer.math", ("graphc.compat.layers", *_NN)),
    "mindspore.nn.probability": ("graphc.nn.probability",),
    "mindspore.nn.probability.distribution": ("graphc.nn.probability.distribution",),
    **_within(
        "mindspore.nn.probability.distribution",
        "distribution bernoulli beta categorical cauchy exponential gamma geometric gumbel half_normal laplace log_normal"
        " logistic normal poisson student_t transformed_distribution uniform",
        ("graphc.nn.probability.distribution",),
    ),
    "mindspore.nn.probability.bnn_layers": ("graphc.nn.probability.bnn_layers",),
    **_within(
        "mindspore.nn.probability.bnn_layers",
        "conv_variational dense_variational layer_distribution bnn_cell_wrapper",
        ("graphc.nn.probability.bnn_layers",),
    ),
    "mindspore.nn.probability.bijector": ("graphc.nn.probability.bijector",),
    **_within(
        "mindspore.nn.probability.bijector",
        "bijector exp gumbel_cdf invert power_transform scalar_affine softplus",
        ("graphc.nn.probability.bijector",),
    ),
    "mindspore.nn.metrics": ("graphc.nn.metrics", "graphc.compat.metrics"),
    "mindspore.nn.learning_rate_schedule": ("graphc.nn.rates.schedules",),
    "mindspore.nn.dynamic_lr": ("graphc.nn.rates.lists",),
    **_within(
        "mindspore.nn.layer",
        "pooling embedding combined padding image rnns channel_shuffle dense timedistributed transformer",
        _NN,
    ),
    "mindspore.nn.layer.basic": (*_NN, _LAYERS),
    "mindspore.nn.layer.container": (*_NN, "graphc.compat.containers"),
    # Scripts derive from what layers and losses have in common there, and ask for it.
    "mindspore.nn.layer.activation": (*_NN, "graphc.nn.layer.activation", _LAYERS),
    **{f"mindspore.nn.layer.{part}": (*_NN, f"graphc.nn.layer.{part}") for part in ("conv", "normalization")},
    # Modules of which all is left out: what to use instead is said by name.
    **_within("mindspore.nn", "layer.thor_layer optim.tft_wrapper", _NN),
    **_within("mindspore.train", "train_thor callback._landscape callback._flops_collector", ("graphc.train",)),
    "mindspore.train.callback._train_fault_tolerance": ("graphc.train",),
    **_within("mindspore", "common.symbol graph.symbol", ("graphc.compat.lacking",)),
    **_within(
        "mindspore.boost",
        "adasum base boost boost_cell_wrapper dim_reduce grad_freeze group_loss_scale_manager less_batch_normalization",
        ("graphc.compat.boost",),
    ),
    **_within("mindspore.parallel", "checkpoint_transform checkpoint_convert transform_safetensors", _PARALLEL),
    "mindspore.dataset.engine.cache_client": _DATASETS,
    "mindspore.nn.layer.rnn_cells": (*_NN, "graphc.compat.recurrent"),
    "mindspore.nn.loss": ("graphc.nn.loss",),
    "mindspore.nn.loss.loss": ("graphc.nn.loss", "graphc.nn.loss.base"),
    "mindspore.nn.optim": ("graphc.nn.optim",),
    "mindspore.nn.optim.optimizer": ("graphc.nn.optim", "graphc.nn.optim.mindspore_base"),
    **_within(
        "mindspore.nn.optim",
        "momentum sgd adam lamb lars rmsprop adagrad ftrl lazyadam proximal_ada_grad asgd rprop adamax adadelta"
        " adasum thor adafactor ada_grad",
        ("graphc.nn.optim",),
    ),
    "mindspore.experimental": ("graphc.experimental",),
    "mindspore.experimental.optim": ("graphc.experimental.optim",),
    "mindspore.experimental.optim.optimizer": ("graphc.experimental.optim.optimizer",),
    "mindspore.experimental.optim.lr_scheduler": ("graphc.experimental.optim.lr_scheduler",),
    **_within(
        "mindspore.experimental.optim",
        "sgd adam adamw adamax adadelta adagrad asgd nadam radam rmsprop rprop",
        ("graphc.experimental.optim",),
    ),
    **_within("mindspore.nn.wrap", "cell_wrapper loss_scale grad_reducer", (*_NN, "graphc.compat.wrappers")),
    # ---- ops
    "mindspore.ops": _OPS,
    **_within("mindspore.ops", "operations op_info_register", _PRIMITIVES),
    **_within(
        "mindspore.ops.operations",
        "nn_ops array_ops debug_ops other_ops random_ops control_ops comm_ops inner_ops image_ops"
        " spectral_ops custom_ops _grad_ops _tensor_array",
        _PRIMITIVES,
    ),
    **_within(
        "mindspore.ops.operations",
        "_scalar_ops _sequence_ops manually_defined manually_defined.ops_def manually_defined._inner",
        (*_PRIMITIVES, "graphc.compat.sequences"),
    ),
    "mindspore.ops.operations.linalg_ops": ("graphc.compat.linalg_ops", *_PRIMITIVES),
    **_within("mindspore.ops.operations", "sparse_ops _sparse_grad_ops", _SPARSE),
    "mindspore.ops.operations.math_ops": (*_PRIMITIVES, "graphc.compat.sparse_segments", "graphc.compat.math_ops"),
    "mindspore.ops.operations._inner_ops": ("graphc.compat.inner", *_PRIMITIVES),
    "mindspore.ops.functional": ("graphc.ops.functional", *_OPS, *_INSIDE),
    "mindspore.ops.function": (*_OPS, "graphc.compat.extended.function"),
    "mindspore.ops.function.math_func": (*_OPS, "graphc.compat.extended.math_func", *_FUNCTIONS),
    "mindspore.ops.function.array_func": (*_OPS, "graphc.compat.extended.array_func", *_FUNCTIONS),
    **_within(
        "mindspore.ops.function",
        "clip_func debug_func grad linalg_func fft_func image_func other_func"
        " parameter_func spectral_func vmap_func sparse_func sparse_unary_func",
        _OPS,
    ),
    "mindspore.ops.function.nn_func": (*_OPS, "graphc.compat.attention", "graphc.compat.extended.nn_func", *_FUNCTIONS),
    "mindspore.ops.function.random_func": (*_OPS, *_INSIDE, "graphc.compat.extended.random_func", *_FUNCTIONS),
    **_within("mindspore.ops.function.grad", "grad_func", _OPS),
    "mindspore.ops.composite": ("graphc.ops.gradients", *_OPS),
    **_within("mindspore.ops.composite", "base math_ops multitype_ops env_ops", ("graphc.ops.gradients", *_OPS)),
    **_within(
        "mindspore.ops.composite.multitype_ops",
        "zeros_like_impl ones_like_impl add_impl _constexpr_utils",
        ("graphc.ops.gradients", *_OPS),
    ),
    "mindspore.ops.primitive": (*_PRIMITIVES, "graphc.ops.gradients", *_INSIDE),
    **_within("mindspore.ops", "auto_generate auto_generate.gen_ops_def auto_generate.gen_ops_prim", _GENERATED),
    "mindspore.ops.functional_overload": ("graphc.compat.extended.functional_overload",),
    "mindspore.ops._primitive_cache": (_TOP,),
    "mindspore.ops.signature": ("graphc.compat.signature",),
    # ---- tensors and compilation
    "mindspore.common": (*_TENSORS, "graphc.compat.executor", "graphc.compat.gradients"),
    "mindspore.common._grad_function": ("graphc.compat.gradients",),
    "mindspore.common.api": ("graphc.compat.executor", "graphc", _TOP, "graphc.compat.gradients"),
    **dict.fromkeys(("mindspore.dtype", "mindspore.common.dtype"), _DTYPES),
    "mindspore.common.initializer": (
        "graphc.nn.initializer",
        "graphc.nn.initializer.distributions",
        "graphc.compat.initializers",
        "graphc.ops.tensor.tensor",
    ),
    **_within(
        "mindspore.common",
        "parameter tensor sparse_tensor jit_config mutable generator recompute lazy_inline",
        _TENSORS,
    ),
    "mindspore.graph": (),
    "mindspore.graph.api": ("graphc.compat.executor", "graphc", _TOP, "graphc.compat.gradients"),
    **_within("mindspore.graph", "jit_config mutable lazy_inline no_inline", _TENSORS),
    "mindspore.common.np_dtype": ("graphc.compat.np_dtype",),
    **_within("mindspore.common", "_stub_tensor hook_handle", _STUBS),
    "mindspore.common.no_inline": (_TOP,),
    "mindspore.common.seed": (*_TENSORS, *_INSIDE),
    # ---- training
    "mindspore.amp": ("graphc.amp", "graphc.amp.scalers"),
    "mindspore.train": ("graphc", "graphc.train", "graphc.amp", "graphc.checkpoint"),
    "mindspore.train.callback": ("graphc.train", "graphc.compat.callbacks"),
    "mindspore.train.callback._callback": ("graphc.train", "graphc.compat.callbacks", "graphc.compat.saving"),
    **_within(
        "mindspore.train.callback",
        "_checkpoint _early_stop _history _lambda_callback _loss_monitor _lr_scheduler_callback _on_request_exit"
        " _reduce_lr_on_plateau _summary_collector _time_monitor _backup_and_restore",
        ("graphc.train",),
    ),
    "mindspore.train.model": ("graphc.train", "graphc.compat.training", "graphc.compat.data_recovery"),
    **_within("mindspore.train", "data_sink dataset_helper", ("graphc.train", "graphc.compat.training")),
    "mindspore.train._utils": ("graphc.compat.training",),
    "mindspore.train.metrics": ("graphc.nn.metrics", "graphc.compat.metrics"),
    **_within(
        "mindspore.train.metrics",
        "accuracy auc bleu_score confusion_matrix cosine_similarity dice error fbeta hausdorff_distance loss"
        " mean_surface_distance metric occlusion_sensitivity perplexity precision recall roc"
        " root_mean_square_surface_distance topk",
        ("graphc.nn.metrics", "graphc.compat.metrics"),
    ),
    "mindspore.train.amp": ("graphc.amp", "graphc.compat.amp_lists"),
    "mindspore.train.loss_scale_manager": ("graphc.amp",),
    "mindspore.train.serialization": ("graphc.checkpoint", "graphc.compat.saving", "graphc.compat.training", "graphc"),
    **_within("mindspore.train", "summary summary.summary_record", ("graphc.train",)),
    **dict.fromkeys(("mindspore.onnx", "mindspore.onnx.onnx_export"), ("graphc.exports.named",)),
    **dict.fromkeys(("mindspore.utils", "mindspore.utils.dlpack"), ("graphc.compat.exchange",)),
    **_within("mindspore", "profiler profiler.profiler profiler.common profiler.common.constant", _PROFILER),
    "mindspore.communication": _PARALLEL,
    "mindspore.communication.management": _PARALLEL,
    "mindspore.communication._comm_helper": (*_PARALLEL, "graphc.compat.comm_helper"),
    **dict.fromkeys(
        ("mindspore.ops.communication", "mindspore.ops.function.comm_func"),
        ("graphc.ops.communication", "graphc.compat.communication"),
    ),
    "mindspore.communication.comm_func": ("graphc.parallel.comm_func",),
    "mindspore.parallel": _PARALLEL,
    "mindspore.parallel.auto_parallel": ("graphc.compat.auto_parallel",),
    **_within("mindspore.parallel", "nn nn.parallel_cell_wrapper", ("graphc.compat.parallel_nn",)),
    **_within(
        "mindspore.parallel",
        "_auto_parallel_context _utils _cost_model_context _ps_context _tensor shard",
        (*_PARALLEL, "graphc.parallel.settings"),
    ),
}


def mindspore_name(name: str) -> str:
    """MindSpore's name of a module that has the same path beneath graphc; of its own modules their name."""
    return "mindspore" + name.removeprefix("graphc") if name.partition(".")[0] == "graphc" else name


def is_module(name: str) -> bool:
    """Whether MODULES has a module of this path, in `mindspore` or beneath `graphc`."""
    return mindspore_name(name) in MODULES
