"""Model: a network with its loss, optimizer and metrics, to train, evaluate and predict with."""

from __future__ import annotations

import warnings
from typing import Any

from graphc import context
from graphc.amp import LossScaleManager, build_train_network
from graphc.errors import ArgumentTypeError, ArgumentValueError, GraphcError, UntrainedWarning, stacklevel, user_loc
from graphc.nn import Optimizer, WithEvalCell, WithLossCell, checks
from graphc.nn.cell.cell import Cell
from graphc.nn.metrics.by_name import get_metrics
from graphc.nn.metrics.numbers import Loss
from graphc.ops.tensor.tensor import Tensor
from graphc.steps.buckets import pad_calls
from graphc.steps.calls import step_of
from graphc.steps.rank_agreement import agree_on_batches
from graphc.train.batches import Batches, size_of
from graphc.train.callbacks.base import Callback, CallbackList, as_list, refuse_old_hooks
from graphc.train.context import CallbackParams, RunContext
from graphc.train.loop import Training, evaluate
from graphc.train.rank_callbacks import Stopping, agree_on_callbacks
from graphc.validation.unused_arguments import only

_OPTIONS = ("loss_scale_manager", "keep_batchnorm_fp32", "buckets", "boost_config_dict", "acc_level")


class Model:
    """A network with what it is trained and measured by (MindSpore: train.Model).

    network: a Cell; without optimizer it trains itself, as a TrainOneStepCell does, and without loss_fn it returns its loss.
    metrics: a dict of Metrics by name, or a set of names. eval_network: what an evaluation calls, by default
    nn.WithEvalCell(network, loss_fn), whose (loss, output, label) the metrics get: "loss" the first, others the other two.
    eval_indexes: a list of three places of these in what eval_network returns; without, metrics get all that it returns.
    amp_level: see amp.auto_mixed_precision; keyword arguments loss_scale_manager and keep_batchnorm_fp32: see
    amp.build_train_network. buckets: sizes to which batches are padded in training and evaluation, as for `graphc.compile`
    (docs/shapes.md): a smaller last batch is then no further compilation. boost_level is "O0". Raises ArgumentTypeError or
    ArgumentValueError for other arguments.
    """

    def __init__(
        self,
        network: Cell,
        loss_fn: Cell | None = None,
        optimizer: Any = None,
        metrics: Any = None,
        eval_network: Cell | None = None,
        eval_indexes: list[int] | None = None,
        amp_level: str = "O0",
        boost_level: str = "O0",
        **kwargs: Any,
    ) -> None:
        for name in kwargs:
            if name not in _OPTIONS:
                raise ArgumentValueError(
                    f"Model has no argument {name!r}", loc=user_loc(), help=f"further ones are {', '.join(_OPTIONS)}"
                )
        only("Model", "boost_config_dict", kwargs.pop("boost_config_dict", None), None, "")
        only("Model", "boost_level", kwargs.pop("acc_level", boost_level), "O0")
        for name, cell in (("network", network), ("loss_fn", loss_fn), ("eval_network", eval_network)):
            if not isinstance(cell, Cell) and (cell is not None or name == "network"):
                raise checks.wrong_type("Model", name, "a Cell" if name == "network" else "a Cell or None", cell)
        self._network, self._loss_fn, self._optimizer = network, loss_fn, optimizer
        buckets = kwargs.pop("buckets", None)
        self._amp_level, self._keep_bn_fp32 = amp_level, kwargs.get("keep_batchnorm_fp32")
        self._loss_scale_manager: LossScaleManager | None = kwargs.get("loss_scale_manager")
        self._loss_scale_manager_set = "loss_scale_manager" in kwargs
        self._train_network = self._build_train_network()
        self._metric_fns = get_metrics(metrics) or {}
        self._said: set[str] = set()
        #: Whether an evaluation or a prediction has put the network into its mode.
        self._left_training = False
        self._eval_network, self._eval_indexes = self._build_eval_network(eval_network, eval_indexes, amp_level)
        if buckets is not None:
            for each in filter(None, (self._train_network, self._eval_network)):
                pad_calls(each, buckets)
            self._said.add("partial")  # Of no smaller batch is to be said that it is compiled for itself.

    def _build_train_network(self) -> Cell:
        """The Cell that a training step calls. Published models override it: its name and what it reads are MindSpore's."""
        if self._optimizer is not None:
            if not isinstance(self._optimizer, Optimizer):
                raise checks.wrong_type("Model", "optimizer", "an Optimizer", self._optimizer)
            options: dict[str, Any] = {}
            if self._loss_scale_manager_set:
                options["loss_scale_manager"] = self._loss_scale_manager
            if self._keep_bn_fp32 is not None:
                options["keep_batchnorm_fp32"] = self._keep_bn_fp32
            return build_train_network(self._network, self._optimizer, self._loss_fn, level=self._amp_level, **options)
        for name, value, usual in (
            ("amp_level", self._amp_level, "O0"),
            ("loss_scale_manager", self._loss_scale_manager, None),
            ("keep_batchnorm_fp32", self._keep_bn_fp32, None),
        ):
            if value != usual:
                raise ArgumentValueError(
                    f"Model: {name}={value!r} needs an optimizer",
                    code="GC210",
                    loc=user_loc(),
                    help=f"leave out {name}",
                )
        return self._network if self._loss_fn is None else WithLossCell(self._network, self._loss_fn)

    def _build_eval_network(
        self, given: Cell | None, indexes: list[int] | None, amp_level: str
    ) -> tuple[Cell | None, list[int] | None]:
        if indexes is not None and not (
            isinstance(indexes, list) and len(indexes) == 3 and all(checks.is_int(i) and i >= 0 for i in indexes)
        ):
            raise checks.wrong_value("Model", "eval_indexes", "a list of three ints >= 0 or None", indexes)
        if given is not None:
            return given, indexes
        if not self._metric_fns:
            return None, None
        if self._loss_fn is None:
            raise ArgumentValueError(
                "Model: metrics need a loss_fn, with which the network is evaluated, or an eval_network",
                code="GC210",
                loc=user_loc(),
            )
        return WithEvalCell(self._network, self._loss_fn, amp_level in ("O2", "O3")), [0, 1, 2]

    @property
    def train_network(self) -> Cell:
        """The Cell that a training step calls."""
        return self._train_network

    @property
    def eval_network(self) -> Cell | None:
        """The Cell that an evaluation calls, None without metrics."""
        return self._eval_network

    @property
    def predict_network(self) -> Cell:
        """The Cell that `predict` calls."""
        return self._network

    # ---- training

    def train(
        self,
        epoch: int,
        train_dataset: Any,
        callbacks: Any = None,
        dataset_sink_mode: bool = False,
        sink_size: int = -1,
        initial_epoch: int = 0,
    ) -> None:
        """Train until epoch number `epoch`, from number initial_epoch + 1 on (MindSpore: Model.train).

        train_dataset: gives (data, label), or without loss_fn what the network takes; see docs/training.md for data sets that
        are not graphc's. callbacks: a Callback or a list of them. dataset_sink_mode: many steps in one native loop; an epoch is
        then a sink of sink_size steps, -1 for as many as the data set has, and callbacks see its last step. The next sink goes
        on where the last one ended. The bits are the same as without. sink_size is not read otherwise.
        Raises ArgumentTypeError or ArgumentValueError for other arguments and for an empty data set; what a step, the data set
        or a callback raises, after `on_train_end` of all callbacks.
        """
        params = self._params("train", epoch, train_dataset, callbacks, dataset_sink_mode, sink_size, initial_epoch)
        self._run(params, train_dataset, None, 1)

    def fit(
        self,
        epoch: int,
        train_dataset: Any,
        valid_dataset: Any = None,
        valid_frequency: int | list[int] = 1,
        callbacks: Any = None,
        dataset_sink_mode: bool = False,
        valid_dataset_sink_mode: bool = False,
        sink_size: int = -1,
        initial_epoch: int = 0,
    ) -> None:
        """`train`, with an evaluation after every valid_frequency-th epoch, or after those of a list (MindSpore: Model.fit).

        Callbacks find its results in `cb_params.metrics` and, with the mean loss as "eval_loss", in `cb_params.eval_results`.
        valid_dataset_sink_mode: as dataset_sink_mode of `eval`. Raises as `train` and `eval`; ArgumentValueError for a user's
        callback with hooks such as `step_end`, which training and evaluation would both call.
        """
        params = self._params("fit", epoch, train_dataset, callbacks, dataset_sink_mode, sink_size, initial_epoch)
        checks.boolean("Model.fit", "valid_dataset_sink_mode", valid_dataset_sink_mode)
        listed = valid_frequency if isinstance(valid_frequency, list) else [valid_frequency]
        for each in listed:
            checks.integer("Model.fit", "valid_frequency", each)
        if valid_dataset is not None:
            self._measurable("Model.fit")
            size_of("Model.fit", "valid_dataset", valid_dataset)
        refuse_old_hooks(params.list_callback)
        self._run(params, train_dataset, valid_dataset, valid_frequency)

    def _params(
        self, name: str, epoch: Any, dataset: Any, callbacks: Any, sink: Any, sink_size: Any, initial_epoch: Any
    ) -> CallbackParams:
        """The arguments of `train` and `fit`, checked."""
        owner = f"Model.{name}"
        checks.integer(owner, "epoch", epoch)
        checks.integer(owner, "initial_epoch", initial_epoch, least=0)
        if initial_epoch >= epoch:
            raise ArgumentValueError(
                f"{owner}: epoch must be greater than initial_epoch, got {epoch} and {initial_epoch}",
                loc=user_loc(),
                help="epoch is the number of the last epoch, counted from 1",
            )
        checks.boolean(owner, "dataset_sink_mode", sink)
        if not checks.is_int(sink_size) or (sink_size < 1 and sink_size != -1):
            kind = checks.wrong_value if checks.is_int(sink_size) else checks.wrong_type
            raise kind(owner, "sink_size", "an int >= 1, or -1 for the whole data set", sink_size)
        if self._optimizer is None and self._loss_fn is not None:
            text = GraphcError(
                f"{owner}: the Model has a loss_fn and no optimizer, so that losses are computed and nothing is trained",
                code="GC210",
                loc=user_loc(),
                help="Model(network, loss_fn, optimizer)",
            )
            warnings.warn(str(text), UntrainedWarning, stacklevel=stacklevel())
        size = size_of(owner, "train_dataset", dataset)
        settings = context.parallel_settings()
        return CallbackParams(
            cur_step_num=0,
            cur_epoch_num=initial_epoch,
            train_network=self._train_network,
            epoch_num=epoch - initial_epoch,
            initial_epoch=initial_epoch,
            batch_num=sink_size if sink and sink_size > 0 else size,
            mode="train",
            loss_fn=self._loss_fn,
            optimizer=getattr(self._network, "optimizer", None) if self._optimizer is None else self._optimizer,
            parallel_mode=settings.parallel_mode,
            device_number=settings.device_num,
            train_dataset=dataset,
            list_callback=as_list(callbacks),
            train_dataset_element=None,
            network=self._network,
            last_save_ckpt_step=None,
            latest_ckpt_file=None,
            loss_scale_mananger=self._loss_scale_manager,
            dataset_sink_mode=sink,
            sink_size=sink_size if sink_size > 0 else size,
            net_outputs=None,
        )

    def _run(self, params: CallbackParams, dataset: Any, valid: Any, frequency: int | list[int]) -> None:
        first, last = params.initial_epoch, params.initial_epoch + params.epoch_num
        sink = params.sink_size if params.dataset_sink_mode else None
        size = size_of("Model.train", "train_dataset", dataset)
        agree_on_batches(size)
        agree_on_callbacks(params.list_callback, self._train_network)
        # Counted from the first epoch of all: a data set may go on from a state that was loaded.
        passes = last if sink is None else -(-last * sink // size)
        manager = self._loss_scale_manager
        drops = manager is not None and getattr(manager, "get_drop_overflow_update", lambda: False)()

        def evaluates(epoch: int) -> bool:
            if valid is None:
                return False
            return epoch in frequency if isinstance(frequency, list) else epoch % frequency == 0

        with CallbackList(params.list_callback) as callbacks:
            Training(
                network=self._train_network,
                batches=Batches(dataset, passes),
                params=params,
                callbacks=callbacks,
                context=RunContext(params),
                first_epoch=first,
                last_epoch=last,
                pairs=self._loss_fn is not None,
                evaluates=evaluates,
                evaluate=lambda: self._eval_in_fit(valid, params),
                resume=self._resume,
                said=self._said,
                stopping=Stopping(params.list_callback),
                update_scale=manager.update_loss_scale if manager is not None and drops else None,
            ).run(sink)

    def _resume(self) -> None:
        """Put the network into training mode again if an evaluation or a prediction, a callback's perhaps, took it out."""
        if self._left_training:
            self._train_network.set_train(True)
            self._left_training = False

    def _eval_in_fit(self, dataset: Any, params: CallbackParams) -> None:
        """An evaluation within a training: what it changes of the parameters of the run is put back."""
        before = {name: params.get(name) for name in ("cur_step_num", "batch_num", "dataset_sink_mode", "net_outputs")}
        chosen = [each for each in params.list_callback if each.in_fit_eval]
        params.update(self._eval_params(dataset), mode="eval")
        try:
            self._evaluate(dataset, params, chosen, self._eval_indexes)
        finally:
            params.update(before, mode="train")

    # ---- evaluation

    def eval(self, valid_dataset: Any, callbacks: Any = None, dataset_sink_mode: bool = False) -> dict[str, Any]:
        """The metrics over a data set, by name (MindSpore: Model.eval).

        The metrics see every batch on the host, so dataset_sink_mode changes nothing, as in MindSpore on a CPU. Raises
        ArgumentTypeError or ArgumentValueError, also for a Model without metrics and for an empty data set; what the
        network, the data set or a callback raises, after `on_eval_end` of all callbacks.
        """
        owner = "Model.eval"
        checks.boolean(owner, "dataset_sink_mode", dataset_sink_mode)
        self._measurable(owner)
        chosen = as_list(callbacks)
        params = CallbackParams(
            self._eval_params(valid_dataset), mode="eval", list_callback=chosen, network=self._network
        )
        return self._evaluate(valid_dataset, params, chosen, None)

    def _measurable(self, owner: str) -> None:
        if not self._metric_fns:
            raise ArgumentValueError(
                f"{owner}: the Model has no metrics",
                code="GC210",
                loc=user_loc(),
                help='Model(..., metrics={"acc"}), or {"accuracy": nn.Accuracy()}',
            )

    def _eval_params(self, dataset: Any) -> dict[str, Any]:
        return {
            "eval_network": self._eval_network,
            "valid_dataset": dataset,
            "batch_num": size_of("Model.eval", "valid_dataset", dataset),
            "cur_step_num": 0,
            "dataset_sink_mode": False,
        }

    def _evaluate(
        self, dataset: Any, params: CallbackParams, callbacks: list[Callback], loss_of: list[int] | None
    ) -> dict[str, Any]:
        assert self._eval_network is not None
        self._left_training = True
        for metric in self._metric_fns.values():
            metric.clear()
        in_fit = loss_of is not None
        with CallbackList(callbacks) as entered:
            return evaluate(
                self._eval_network,
                dataset,
                params,
                entered,
                self._update_metrics,
                lambda: {name: metric.eval() for name, metric in self._metric_fns.items()},
                loss_of[0] if in_fit and loss_of else None,
            )

    def _update_metrics(self, outputs: Any) -> None:
        """Give the metrics what the evaluation returned for a batch."""
        results = (outputs,) if isinstance(outputs, Tensor) else outputs
        indexes = self._eval_indexes
        if not isinstance(results, tuple) or (indexes is not None and len(results) <= max(indexes)):
            held = f"{len(results)} results" if isinstance(results, tuple) else type(results).__name__
            raise ArgumentValueError(
                f"the eval_network returns {held}, a tuple with the places {indexes} is needed"
                if indexes is not None
                else f"the eval_network returns {held}, a tensor or a tuple is needed",
                code="GC210",
                loc=user_loc(),
            )
        for metric in self._metric_fns.values():
            if indexes is None:
                metric.update(*results)
            elif isinstance(metric, Loss):
                metric.update(results[indexes[0]])
            else:
                metric.update(results[indexes[1]], results[indexes[2]])

    # ---- the rest

    def predict(self, *predict_data: Any, backend: str | None = None, config: Any = None) -> Any:
        """What the network returns for these inputs, in evaluation mode (MindSpore: Model.predict).

        predict_data: Tensors, numbers, strings, None, and nests of them. backend and config are None. Raises ArgumentTypeError
        for other inputs, ArgumentValueError for an empty Tensor.
        """
        only("Model.predict", "backend", backend, None)
        only("Model.predict", "config", config, None)
        for item in predict_data:
            _check_predicted(item)
        self._left_training = True
        self._network.set_train(False)
        return self._network(*predict_data)

    def build(
        self,
        train_dataset: Any = None,
        valid_dataset: Any = None,
        sink_size: int = -1,
        epoch: int = 1,
        sink_mode: bool = True,
    ) -> None:
        """Compile for the first batch of the data sets, without running anything (MindSpore: Model.build).

        sink_size, epoch, sink_mode: of the training to come, which compiles no other step for them. Raises ArgumentTypeError or
        ArgumentValueError, also for valid_dataset in a Model without metrics, or without a data set.
        """
        owner = "Model.build"
        checks.integer(owner, "epoch", epoch)
        checks.boolean(owner, "sink_mode", sink_mode)
        if sink_size != -1:
            checks.integer(owner, "sink_size", sink_size)
        if train_dataset is None and valid_dataset is None:
            raise ArgumentTypeError(f"{owner}: a train_dataset or a valid_dataset is needed", loc=user_loc())
        if valid_dataset is not None:
            self._measurable(owner)
        for name, dataset, network, mode in (
            ("train_dataset", train_dataset, self._train_network, True),
            ("valid_dataset", valid_dataset, self._eval_network, False),
        ):
            if dataset is None or network is None:
                continue
            size_of(owner, name, dataset)
            batches = Batches(dataset, 1)
            network.set_train(mode)
            for batch in batches.one_pass():
                step_of(network, batch)
                break
            batches.close()


def _check_predicted(item: Any) -> None:
    if isinstance(item, Tensor) and item.size == 0:
        raise ArgumentValueError("Model.predict: an input has no elements", loc=user_loc())
    if isinstance(item, (tuple, list, dict)):
        for each in item.values() if isinstance(item, dict) else item:
            _check_predicted(each)
    elif item is not None and not isinstance(item, (Tensor, int, float, str)):
        raise ArgumentTypeError(
            f"Model.predict: inputs must be Tensors, numbers, strings or None, got {type(item).__name__}",
            loc=user_loc(),
            help="graphc.Tensor(...) makes one of an array",
        )


__all__ = ["Model"]
