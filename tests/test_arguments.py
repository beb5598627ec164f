"""No argument is ignored: every parameter of what users call is read, or stands here with the reason why it need not be."""

from __future__ import annotations

import ast
import logging
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import graphc
from graphc import Tensor, nn, ops
from graphc.errors import ArgumentTypeError, ArgumentValueError
from graphc.ops import primitives
from graphc.ops.tensor.primitive import REQUIRED, Hint, Only, Primitive
from graphc.validation import unused_arguments

ROOT = Path(__file__).parent.parent
#: Whose functions and methods users call.
PUBLIC = (
    "ops",
    "nn",
    "amp",
    "parallel",
    "train",
    "dataset",
    "mindrecord",
    "experimental",
    "mint",
    "compat",
    "numpy",
    "steps/compiled_step.py",
    "steps/jit.py",
    "checkpoint",
    "context.py",
)

_ABSTRACT = "the base of those that read it"
_HOW = "says how, not what: any value gives the same result"
_SAID = "that it has no effect is said once"
_ONE = "with one process every group is this process"
_COMMON = "what all samplers are asked, this one needs less"
_SHAPE = "Python's or MindSpore's protocol gives it"
_OTHERS = "an argument for other sources"
_HOOK = "a hook gets the run, whether it looks at it or not"
#: Arguments that all samplers have, by name: the methods that need not read them.
_SAMPLERS = {
    "labels": (
        "DistributedSampler.count DistributedSampler.plan RandomSampler.plan Sampler.count "
        "Sampler.plan SequentialSampler.count SubsetRandomSampler.plan SubsetSampler.count "
        "SubsetSampler.plan WeightedRandomSampler.plan "
    ),
    "size": ("PKSampler.count PKSampler.plan SubsetRandomSampler.plan SubsetSampler.count SubsetSampler.plan "),
    "seed": ("Sampler.plan SequentialSampler.plan SubsetSampler.plan "),
}
_STREAMS = (
    "Follower.pass_begins epoch", "Pool.submit task", "Stream.read count", "Worked.do task", "Worked.leave_out count",
    "Worked.task count",
)  # fmt: skip
_HOOKS = ("begin", "epoch_begin", "epoch_end", "step_begin", "step_end")
_SYNC = [f"{hook}_begin {whose}_run_context" for hook in ("epoch", "step") for whose in ("ds", "train")]
#: Parameters that nothing reads, by file, function and name.
UNREAD = {
    "dataset/vision/filters.py RandomErasing.on_pil image": "it refuses every image of Pillow's",
    "dataset/vision/tones.py OnBytes.on_bytes image": _ABSTRACT,
    "dataset/vision/tones.py _Blended.other image": _ABSTRACT,
    "dataset/dataloader/datasets.py Dataset.__getitem__ index": _ABSTRACT,
    "dataset/dataloader/samplers.py Sampler.__init__ data_source": "bases of samplers are given it, as in MindSpore",
    "dataset/debug.py DebugHook.compute args": _ABSTRACT,
    **{f"dataset/callbacks.py DSCallback.ds_{hook} ds_run_context": _ABSTRACT for hook in _HOOKS},
    **{f"dataset/waited_callbacks.py WaitedDSCallback.sync_{hook}": _ABSTRACT for hook in _SYNC},
    "amp/managers.py LossScaleManager.update_loss_scale overflow": _ABSTRACT,
    "amp/managers.py FixedLossScaleManager.update_loss_scale overflow": "a fixed scale stays, whatever happens",
    "amp/scalers.py LossScaler.scale inputs": _ABSTRACT,
    "amp/scalers.py LossScaler.unscale inputs": _ABSTRACT,
    "amp/scalers.py LossScaler.adjust grads_finite": _ABSTRACT,
    "amp/scalers.py StaticLossScaler.adjust grads_finite": "a fixed scale stays, whatever happens",
    "compat/aliases.py AliasFinder.exec_module module": _SHAPE,
    "compat/aliases.py AliasFinder.find_spec path": _SHAPE,
    "compat/aliases.py AliasFinder.find_spec target": _SHAPE,
    "compat/checkparam.py check value_name": _SHAPE,
    "compat/executor.py _CellGraphExecutor.compile options": _HOW,
    "compat/executor.py _CellGraphExecutor.__call__ phase": _SHAPE,
    "compat/executor.py _PyNativeExecutor.set_grad_flag flag": "gradients are known where they are asked for",
    "compat/attention.py multi_head_attention_forward dtype": "results have the dtype of the operands",
    **{f"compat/gradients.py _Function.{n}": _ABSTRACT for n in ("forward ctx", "forward args", "forward kwargs")},
    **{f"compat/gradients.py _Function.{n}": _ABSTRACT for n in ("backward ctx", "backward grad_outputs")},
    **{f"compat/gradients.py _Function.setup_context {n}": _ABSTRACT for n in ("ctx", "inputs", "output")},
    "compat/gradients.py _Function.set_materialize_grads value": "gradients are zeros where nothing depends on a result",
    "compat/gradients.py _no_grad.__exit__ exc": _SHAPE,
    "ops/communication/tensors.py barrier device_ids": _HOW,
    **{f"ops/communication/objects.py {n}_object_list device": _HOW for n in ("broadcast", "send", "recv")},
    **{f"compat/native_amp.py create_amp_strategy {n}": "it refuses all" for n in ("args", "kwargs")},
    "compat/modules.py _Finder.find_spec path": _SHAPE,
    "compat/modules.py _Finder.find_spec target": _SHAPE,
    "compat/lacking.py _Lacking.__init__ args": "there is nothing to make",
    "compat/lacking.py _Lacking.__init__ kwargs": "there is nothing to make",
    **dict.fromkeys(
        (
            "compat/saving.py set_cur_net net",
            "compat/saving.py _get_merged_param_data net",
            "compat/saving.py _get_merged_param_data parameter_layout_dict",
            "compat/saving.py _get_merged_param_data param_name",
            "compat/saving.py _get_merged_param_data integrated_save",
            "compat/saving.py _exec_save remove_redundancy",
        ),
        "every process has the whole of a parameter",
    ),
    **{f"compat/auto_parallel.py _setting.method {n}": _SAID for n in ("args", "kwargs")},
    **dict.fromkeys(
        (
            "compat/devices.py Event.elapsed_time other",
            "compat/devices.py Event.record stream",
            "compat/devices.py Event.wait stream",
            "compat/devices.py Stream.__init__ options",
            "compat/devices.py Stream.wait_event event",
            "compat/devices.py Stream.wait_stream stream",
            "compat/devices.py StreamCtx.__exit__ error",
            "compat/devices.py dispatch_threads_num threads_num",
            "compat/devices.py set_cur_stream stream",
        ),
        "every call is done when it returns",
    ),
    "mint/optim.py SGD.prepare group": _SHAPE,
    "mint/batch_norms.py batch_norm_elemt eps": "as in MindSpore it is in invstd",
    **{
        f"ops/primitives/resizing.py _resize_v2 {n}": "as in MindSpore it counts for nothing" for n in ("roi", "scales")
    },
    **{
        f"ops/primitives/pulled_norms.py _group_norm_grad {n}": "as in MindSpore all are given"
        for n in ("dx_is_require", "dgamma_is_require", "dbeta_is_require")
    },
    **{f"ops/primitives/pulled_rows.py _lu_unpack_grad {n}_grad_flag": "as in MindSpore both are given" for n in "LU"},
    "ops/primitives/pulled.py _extreme_second.second _": "as in MindSpore both are given",
    "ops/primitives/pulled_windows.py _at_places.taken _": "argmax says where",
    "compat/toplevel.py _without_effect.function args": _SAID,
    "compat/toplevel.py _without_effect.function kwargs": _SAID,
    "compat/toplevel.py _marker options": _HOW,
    "compat/toplevel.py constexpr get_instance": _HOW,
    "compat/toplevel.py constexpr name": _HOW,
    "compat/toplevel.py constexpr _": _HOW,
    "dataset/audio/base.py Sound.computed sound": _ABSTRACT,
    "dataset/core/dataset.py Dataset.open run": _ABSTRACT,
    **{f"dataset/core/iterators.py DatasetIterator.__exit__ {n}": _SHAPE for n in ("error", "kind", "trace")},
    "dataset/core/iterators.py DatasetIterator._given values": _ABSTRACT,
    **{f"dataset/core/streams.py {name}": _ABSTRACT for name in _STREAMS},
    "dataset/nodes/batches.py _FunctionBatchStream.task count": "batches come one at a time",
    "dataset/nodes/buckets.py _BucketStream.read count": "batches come one at a time",
    "dataset/orders/files.py FilesSampler.count labels": _COMMON,
    "dataset/orders/files.py FilesSampler.count size": _COMMON,
    "dataset/orders/files.py FilesSampler.plan labels": _COMMON,
    "dataset/orders/mersenne.py Engine.peek count": _ABSTRACT,
    "dataset/orders/mersenne.py Engine.use count": _ABSTRACT,
    "dataset/orders/records.py _Random.count labels": _COMMON,
    "dataset/orders/records.py _Shares.plan labels": _COMMON,
    "dataset/orders/samplers.py BuiltinSampler.count labels": _ABSTRACT,
    **{f"dataset/orders/samplers.py BuiltinSampler.plan {n}": _ABSTRACT for n in ("labels", "seed", "size")},
    **{f"dataset/orders/samplers.py {f} {n}": _COMMON for n, all in _SAMPLERS.items() for f in all.split()},
    "dataset/sources/generator.py _BatchedStream.task count": "batches come one at a time",
    **{
        f"dataset/sources/line_files.py LinesDataset.{n}": _ABSTRACT for n in ("paths given", "rows path", "rows given")
    },
    "dataset/sources/line_files.py LinesDataset.fields given": _ABSTRACT,
    **{f"dataset/sources/line_files.py {n} name": _COMMON for n in ("_mixed", "_paths")},
    **{f"dataset/sources/listed.py {n}": _ABSTRACT for n in ("ListedDataset.columns given", "Read.value i")},
    **{
        f"dataset/sources/parameters.py Described.{n}": _ABSTRACT
        for n in ("__init__ args", "__init__ given", "build given")
    },
    # tests/dataset/test_sources.py looks whether each argument of a source is read.
    **{
        f"dataset/sources/published/{name}.{method} given": _OTHERS
        for name in (
            "lines.py CoNLL2000Dataset",
            "lines.py SQuADDataset",
            "small.py USPSDataset",
            "tables.py _CsvDataset",
        )
        for method in ("fields", "rows")
    },
    **{f"dataset/sources/published/lines.py {name}Dataset.rows given": _OTHERS for name in ("EnWik9", "PennTreebank")},
    "dataset/sources/published/lines.py _PairsDataset.fields given": _OTHERS,
    "dataset/sources/text.py TextFileDataset.rows given": _OTHERS,
    "dataset/text/base.py EachText.of_text text": _ABSTRACT,
    "dataset/text/base.py Tokenizer.tokens text": _ABSTRACT,
    "dataset/transforms/base.py Transform.apply value": _ABSTRACT,
    "dataset/transforms/base.py WholeTransform.whole values": _ABSTRACT,
    "dataset/vision/augment.py _Augment.augmented image": _ABSTRACT,
    "dataset/vision/base.py ImageTransform.on_array image": _ABSTRACT,
    "dataset/vision/boxes.py _WithBoxes.boxed boxes": _ABSTRACT,
    "dataset/vision/boxes.py _WithBoxes.boxed image": _ABSTRACT,
    **{f"dataset/vision/hsv.py _OfColours.channels {n}": _ABSTRACT for n in ("first", "second", "third")},
    "experimental/optim/adam.py AdamW.decays group": "its decay is no part of the gradient",
    "experimental/optim/adaptive.py Rprop.prepare group": "the rate is all that a step of it shares",
    "experimental/optim/optimizer.py Optimizer.check group": _ABSTRACT,
    "experimental/optim/optimizer.py Optimizer.construct gradients": _ABSTRACT,
    "experimental/optim/optimizer.py Stepping.prepare group": _ABSTRACT,
    "experimental/optim/optimizer.py Stepping.prepare step": _ABSTRACT,
    "experimental/optim/optimizer.py Stepping.update gradient": _ABSTRACT,
    "experimental/optim/optimizer.py Stepping.update group": _ABSTRACT,
    "experimental/optim/optimizer.py Stepping.update index": _ABSTRACT,
    "experimental/optim/optimizer.py Stepping.update numbers": _ABSTRACT,
    "nn/cell/cell.py Cell.construct inputs": _ABSTRACT,
    "nn/cell/cell.py Cell.construct kwargs": _ABSTRACT,
    "nn/cell/cell.py Cell._get_attr_from_cell network": _SHAPE,
    "nn/cell/cell.py Cell.set_param_ps recurse": _SAID,
    "nn/cell/cell.py Cell.set_param_ps init_in_server": _SAID,
    "nn/cell/cell.py Cell.recompute options": _SAID,
    "nn/cell/cell.py Cell.set_jit_config jit_config": _SAID,
    "nn/cell/cell.py Cell.set_boost boost_type": _SAID,
    "nn/cell/cell.py Cell.init_parameters_data auto_parallel_mode": _ONE,
    "nn/cell/state.py StateDict._save_to_state_dict keep_vars": "for methods that override it",
    "nn/layer/inner.py Inner.__get__ owner": _SHAPE,
    "nn/layer/inner.py Inner.__set_name__ owner": _SHAPE,
    "ops/functional/attention.py flash_attention_score inner_precise": _HOW,
    "train/callbacks/finite.py FindNan.__exit__ kind": _SHAPE,
    "train/callbacks/finite.py FindNan.__exit__ trace": _SHAPE,
    "train/callbacks/summary_record.py SummaryRecord.__exit__ ended": _SHAPE,
    "nn/layer/linear.py Identity.__init__ args": "MindSpore's Identity takes anything and gives back its operand",
    "nn/layer/linear.py Identity.__init__ kwargs": "MindSpore's Identity takes anything and gives back its operand",
    "nn/layer/container.py CellList.construct inputs": "refused, whatever it is given",
    "nn/layer/container.py CellList.construct kwargs": "refused, whatever it is given",
    "nn/layer/container.py CellDict.construct inputs": "refused, whatever it is given",
    "nn/layer/container.py CellDict.construct kwargs": "refused, whatever it is given",
    "nn/layer/recurrent.py _Recurrent.step x": _ABSTRACT,
    "nn/layer/recurrent.py _Recurrent.step state": _ABSTRACT,
    "nn/layer/recurrent.py _Recurrent.step weights": _ABSTRACT,
    "nn/metrics/base.py Metric.update inputs": _ABSTRACT,
    "nn/probability/bijector/base.py Bijector._forward x": _ABSTRACT,
    "nn/probability/bijector/base.py Bijector._forward_log_jacobian x": _ABSTRACT,
    "nn/probability/bijector/base.py Bijector._inverse y": _ABSTRACT,
    "nn/probability/bijector/base.py Bijector._inverse_log_jacobian y": _ABSTRACT,
    "nn/metrics/classification.py _Share._count prediction": _ABSTRACT,
    "nn/metrics/classification.py _Share._count truth": _ABSTRACT,
    "nn/metrics/classification.py Precision._count truth": "precision is a share of what is predicted",
    "nn/metrics/classification.py Recall._count prediction": "recall is a share of what is true",
    "nn/metrics/numbers.py _MeanError._errors difference": _ABSTRACT,
    "nn/optim/base.py Optimizer.update index": _ABSTRACT,
    "nn/optim/base.py Optimizer.update gradient": _ABSTRACT,
    "nn/optim/base.py Optimizer.update lr": _ABSTRACT,
    "nn/optim/base.py Optimizer._hold_decays weight_decay": _ABSTRACT,
    "nn/optim/decoupled.py _Decoupled.moved weight": _ABSTRACT,
    "nn/optim/decoupled.py _Decoupled.moved m": _ABSTRACT,
    "nn/optim/decoupled.py _Decoupled.moved v": _ABSTRACT,
    "nn/optim/decoupled.py _Decoupled.moved shared": _ABSTRACT,
    "nn/optim/rates.py FixedRate.construct global_step": "a fixed rate",
    "nn/rates/schedules.py LearningRateSchedule.construct global_step": _ABSTRACT,
    "nn/rates/warmup.py _WarmUp.after step": _ABSTRACT,
    "nn/train/grad_reducer.py DistributedGradReducer.__init__ fusion_type": _HOW,
    "nn/train/loss_scale.py FixedLossScaleUpdateCell.construct loss_scale": "a fixed scale stays, whatever happens",
    "ops/functional/create.py range_ maxlen": _HOW,
    "ops/functional/index.py index_add use_lock": _HOW,
    "ops/functional/index.py index_add check_index_bound": _HOW,
    "ops/functional/methods.py Methods.astype copy": _HOW,
    "ops/functional/overloads.py Overloads.argsort stable": "equal elements always keep their order",
    "ops/functional/overloads.py Overloads.sort stable": "equal elements always keep their order",
    "ops/functional/overloads.py Overloads.unique sorted": "what is asked for with False is any order",
    "ops/functional/one_op.py Unary.__call__ input": _ABSTRACT,
    "ops/functional/one_op.py Binary.__call__ input": _ABSTRACT,
    "ops/functional/one_op.py Binary.__call__ other": _ABSTRACT,
    "ops/functional/one_op.py promoted op": "other ways of preparing name it in errors",
    "ops/functional/one_op.py truth op": "other ways of preparing name it in errors",
    "ops/functional/one_op.py pair_of_truths op": "other ways of preparing name it in errors",
    "ops/functional/scattering.py scatter_nd_add use_locking": _HOW,
    "ops/functional/scattering.py scatter_nd_div use_locking": _HOW,
    "ops/functional/scattering.py scatter_nd_max use_locking": _HOW,
    "ops/functional/scattering.py scatter_nd_min use_locking": _HOW,
    "ops/functional/scattering.py scatter_nd_mul use_locking": _HOW,
    "ops/functional/scattering.py scatter_nd_sub use_locking": _HOW,
    "ops/functional/scattering.py scatter_nd_update use_locking": _HOW,
    "ops/functional/sorting.py topk sorted": "without, the order is anyone's choice: here it is sorted all the same",
    "ops/gradients/hypermap.py MultitypeFuncGraph.__init__ read_value": _HOW,
    "ops/gradients/hypermap.py MultitypeFuncGraph.__init__ need_raise": _HOW,
    "ops/gradients/hypermap.py MultitypeFuncGraph.__init__ doc_url": _HOW,
    "ops/primitives/state.py _load state": "what it orders is ordered already: a read sees the last write",
    "ops/tensor/primitive.py Primitive.__call__ operands": _ABSTRACT,
    "ops/tensor/tensor.py Tensor.__init__ const_arg": _HOW,
    "ops/tensor/tensor.py Tensor.__getattr__ name": "for type checkers",
    "ops/tensor/tensor.py Tensor.__array_function__ types": _SHAPE,
    "ops/tensor/parameter.py Parameter.set_data slice_shape": _HOW,
    "ops/tensor/parameter.py Parameter.__deepcopy__ memodict": _SHAPE,
    "ops/tensor/tensor.py Tensor.__deepcopy__ memodict": _SHAPE,
    "parallel/communication.py init backend_name": _ONE,
    "parallel/communication.py create_group options": _ONE,
    "parallel/settings.py _set_cost values": _HOW,
    "train/callbacks/checkpoint.py ModelCheckpoint.begin run_context": _HOOK,
    "train/callbacks/base.py Callback.joint_work network": _ABSTRACT,
    "train/callbacks/exit.py OnRequestExit.joint_work network": _HOOK,
    "train/callbacks/plateau.py _Watch.joint_work network": _HOOK,
    "train/callbacks/exit.py OnRequestExit._handle_signal frame": _SHAPE,
    "train/callbacks/exit.py OnRequestExit._handle_signal signum": _SHAPE,
    "train/callbacks/monitors.py LossMonitor.begin run_context": _HOOK,
    "train/callbacks/monitors.py TimeMonitor.epoch_begin run_context": _HOOK,
    "train/callbacks/monitors.py TimeMonitor.on_eval_epoch_begin run_context": _HOOK,
    "train/callbacks/plateau.py _Watch.on_train_begin run_context": _HOOK,
    "train/callbacks/record.py History.begin run_context": _HOOK,
    "train/callbacks/summary.py SummaryCollector.on_train_epoch_begin run_context": _HOOK,
    "train/sink_function.py _any_batch batch": "any batch will do",
    **{
        f"train/callbacks/{file}.__exit__ ended": _SHAPE
        for file in ("exit.py OnRequestExit", "progress.py ProgressBar", "summary.py SummaryCollector")
    },
    **{f"train/callbacks/base.py Callback.__exit__ {n}": _SHAPE for n in ("kind", "error", "trace")},
    **{
        f"train/callbacks/base.py Callback.{hook} run_context": _ABSTRACT
        for hook in ("begin", "epoch_begin", "step_begin", "step_end", "epoch_end", "end")
    },
}


def functions(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.FunctionDef]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef):
            yield prefix + child.name, child
        named = isinstance(child, (ast.FunctionDef, ast.ClassDef))
        yield from functions(child, f"{prefix}{child.name}." if named else prefix)


def unread(source: str) -> Iterator[str]:
    """Function and parameter of all that is never read."""
    for title, function in functions(ast.parse(source)):
        a = function.args
        taken = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]
        read = {n.id for s in function.body for n in ast.walk(s) if isinstance(n, ast.Name)}
        yield from (f"{title} {p.arg}" for p in taken if p.arg not in read | {"self", "cls"})


def test_every_parameter_is_read_or_has_a_reason_not_to_be():
    found = set()
    for part in PUBLIC:
        start = ROOT / "graphc" / part
        for path in sorted(start.rglob("*.py")) if start.is_dir() else [start]:
            if "declared" in path.parts:
                continue
            place = path.relative_to(ROOT / "graphc").as_posix()
            found |= {f"{place} {name}" for name in unread(path.read_text(encoding="utf-8"))}
    assert found == set(UNREAD)


def test_an_unread_parameter_is_found():
    assert list(unread("class A:\n  def f(self, x, *, y=1, **z):\n    return x")) == ["A.f y", "A.f z"]


PRIMITIVES = {
    name: made
    for name in primitives.__all__
    if isinstance(made := getattr(primitives, name), type)
    and issubclass(made, Primitive)
    and hasattr(made, "attributes")
}
OTHERS = {9: 7, None: 7, False: True, 1: 0, 3: 2, (1, 1): (1, 0), -1.0: 2.0}  # Of texts any other.


@pytest.mark.parametrize("name", PRIMITIVES)
def test_attributes_of_primitives(name):
    """Each is given to the function, is a hint, or is refused by name for any other value than the one with a meaning."""
    made = PRIMITIVES[name]
    required = {k: 1 for k, v in made.attributes.items() if v is REQUIRED}
    for key, default in made.attributes.items():
        if isinstance(default, Only):
            with pytest.raises(ArgumentValueError, match=rf"\[GC112\] {name}: {key}="):
                made(**required, **{key: OTHERS.get(default.value, "other")})
            made(**required, **{key: default.value})
        elif isinstance(default, Hint):
            made(**required, **{key: not default.value if isinstance(default.value, bool) else default.value + 1})


@pytest.mark.parametrize("name", PRIMITIVES)
def test_attributes_of_primitives_are_of_their_kind(name):
    """What MindSpore refuses in constructors, or at the latest in a call: ints for bools, floats and texts for ints, ..."""
    made = PRIMITIVES[name]
    required = {k: 1 for k, v in made.attributes.items() if v is REQUIRED}
    unlike = {bool: (1, "a", None, ()), int: (1.5, "a", True), float: ("a", True), str: (1, True, ())}
    for key, default in made.attributes.items():
        for value in unlike.get(type(default.value if isinstance(default, Hint) else default), ()):
            with pytest.raises(ArgumentTypeError, match=rf"{name}: {key} must be "):
                made(**required, **{key: value})


def test_a_hint_says_how():
    assert {k for p in PRIMITIVES.values() for k, v in p.attributes.items() if isinstance(v, Hint)} <= {
        "use_locking", "use_lock", "check_index_bound", "maxlen", "inner_precise", "ignore_longer_outputs_than_inputs",
        "is_training", "partial_pivoting",
    }  # fmt: skip


x = Tensor(np.array([10.0, 20.0, 30.0], np.float32))


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: ops.take(x, 0, mode="raise"), "take: mode"),
        (lambda: ops.randperm(3, offset=1), "randperm: offset"),
        (lambda: nn.Upsample(size=2, align_corners=True), "Upsample: align_corners"),
        (lambda: nn.EmbeddingLookup(3, 2, slice_mode="field_slice"), "EmbeddingLookup: slice_mode"),
        (lambda: nn.SyncBatchNorm(3, process_groups=[[0]]), "SyncBatchNorm: process_groups"),
        (lambda: graphc.ms_function(input_signature=x), "ms_function: input_signature"),
    ],
)
def test_values_that_mean_something_else_are_refused_by_name(call, name):
    with pytest.raises(ArgumentValueError, match=rf"\[GC112\] {name}="):
        call()


def test_take_and_choose_beyond_the_ends():
    """Recorded from MindSpore 2.10."""
    places = Tensor([-1, 5, 1, -4])
    assert x.take(places).asnumpy().tolist() == [30, 30, 20, 10]
    assert x.take(places, mode="wrap").asnumpy().tolist() == [30, 30, 20, 30]
    of = [Tensor([1, 2, 3]), Tensor([4, 5, 6])]
    assert Tensor([-1, 5, 1]).choose(of).asnumpy().tolist() == [1, 5, 6]
    assert Tensor([-1, 5, 1]).choose(of, mode="wrap").asnumpy().tolist() == [4, 5, 6]


def test_least_norm_empty_sum_and_numbers_of_pieces():
    assert ops.LpNorm(axis=[0], p=2, epsilon=40.0)(x).item() == 40.0
    assert ops.ReduceSum(skip_mode=True)(x, ()).shape == (3,)
    assert ops.ReduceSum()(x, ()).item() == 60
    with pytest.raises(ArgumentValueError, match="Unstack: num is 2"):
        ops.Unstack(num=2)(x)


def test_a_weight_of_another_shape_than_the_primitive_says():
    weight = Tensor(np.ones((4, 1, 3, 3), np.float32))
    image = Tensor(np.ones((1, 1, 5, 5), np.float32))
    assert ops.Conv2D(4, 3)(image, weight).shape == (1, 4, 3, 3)
    with pytest.raises(graphc.ShapeError, match="by out_channel and kernel_size"):
        ops.Conv2D(4, 5)(image, weight)


def test_what_has_no_effect_is_said_once(caplog, monkeypatch):
    monkeypatch.setattr(unused_arguments, "_said", set())
    cell = nn.ReLU()
    with caplog.at_level(logging.WARNING, "graphc"):
        cell.recompute()
        cell.recompute(mp_comm_recompute=True)
        cell.set_boost("O1")
    assert [r.getMessage().split(" has")[0] for r in caplog.records] == ["Cell: recompute", "Cell: set_boost"]


def test_arguments_that_are_handed_on_are_missed_by_name():
    for call in (lambda: x.gather(), lambda: x.gather(0), lambda: x.scatter_add(0), lambda: x.gather(1, 2, 3, 4)):
        with pytest.raises(TypeError, match=r"\[GC100\] (gather|scatter_add): (missing|takes)"):
            call()
